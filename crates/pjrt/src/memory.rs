//! `PJRT_Memory`, with the function table that frameworks since API 0.105 keep their own data
//! through.

use std::ffi::c_void;
use std::ptr;
use std::sync::{Mutex, OnceLock, PoisonError};

use rxla::{Memory, Result};

use crate::abi::{self, entry};
use crate::ffi;
use crate::raw::Raw;
use crate::slab::{Share, Slab};

type Destructor = unsafe extern "C" fn(*mut c_void);

/// What a `PJRT_Memory*` points to.
#[repr(C)]
pub(crate) struct MemoryObject {
    /// First, as the C header lays `PJRT_Memory` out.
    vtable: *const ffi::PJRT_Memory_FunctionTable,
    pub(crate) memory: Memory,
    kind: &'static str,
    label: String,
    text: String,
    /// Set once, right after the device has its handle.
    pub(crate) devices: OnceLock<[Raw<ffi::PJRT_Device>; 1]>,
    /// By key. Each framework in the process has one, so there are one or two.
    user_data: Mutex<Vec<(usize, UserData)>>,
}

// SAFETY: the table is a constant; the devices' pointers are never dereferenced here.
unsafe impl Send for MemoryObject {}
// SAFETY: as above.
unsafe impl Sync for MemoryObject {}

/// Something a framework has attached, freed by its destructor.
struct UserData {
    data: Raw<c_void>,
    destructor: Option<Destructor>,
}

impl Drop for UserData {
    fn drop(&mut self) {
        if let Some(destructor) = self.destructor {
            // SAFETY: whoever attached the data gave the function that frees it.
            unsafe { destructor(self.data.0) }
        }
    }
}

pub(crate) static MEMORIES: Slab<ffi::PJRT_Memory, MemoryObject> = Slab::new("PJRT_Memory");

struct Constant<T>(T);

// SAFETY: never written.
unsafe impl<T> Sync for Constant<T> {}

static VTABLE: Constant<ffi::PJRT_Memory_FunctionTable> =
    Constant(ffi::PJRT_Memory_FunctionTable {
        struct_size: size_of::<ffi::PJRT_Memory_FunctionTable>(),
        extension_start: ptr::null_mut(),
        instance_struct_size: size_of::<ffi::PJRT_Memory>(),
        get_user_data: Some(get_user_data),
        set_user_data: Some(set_user_data),
    });

impl MemoryObject {
    pub(crate) fn new(memory: Memory) -> MemoryObject {
        let label = memory.label();
        MemoryObject {
            vtable: &raw const VTABLE.0,
            kind: memory.kind.name(),
            text: label.clone(),
            label,
            memory,
            devices: OnceLock::new(),
            user_data: Mutex::default(),
        }
    }
}

unsafe extern "C" fn get_user_data(
    memory: *mut ffi::PJRT_Memory,
    key: *const c_void,
) -> *mut c_void {
    let Ok(object) = MEMORIES.get(memory) else { return ptr::null_mut() };
    let data = object.user_data.lock().unwrap_or_else(PoisonError::into_inner);
    let found = data.iter().find(|(known, _)| *known == key.addr());
    found.map_or(ptr::null_mut(), |(_, entry)| entry.data.0)
}

unsafe extern "C" fn set_user_data(
    memory: *mut ffi::PJRT_Memory,
    key: *const c_void,
    data: *mut c_void,
    destructor: Option<Destructor>,
) {
    let entry = UserData { data: Raw(data), destructor };
    let Ok(object) = MEMORIES.get(memory) else { return };
    let before = {
        let mut data = object.user_data.lock().unwrap_or_else(PoisonError::into_inner);
        match data.iter_mut().find(|(known, _)| *known == key.addr()) {
            Some((_, known)) => Some(std::mem::replace(known, entry)),
            None => {
                data.push((key.addr(), entry));
                None
            }
        }
    };
    // Its destructor may call back, so it runs without the lock.
    drop(before);
}

/// Makes the handle of a memory.
pub(crate) fn give(memory: &Memory) -> Result<(*mut ffi::PJRT_Memory, Share<MemoryObject>)> {
    let handle = MEMORIES.insert(MemoryObject::new(memory.clone()));
    Ok((handle, MEMORIES.get(handle)?))
}

entry! {
    fn PJRT_Memory_Id(args: PJRT_Memory_Id_Args) {
        args.id = MEMORIES.get(args.memory)?.memory.id as i32;
        Ok(())
    }

    fn PJRT_Memory_Kind(args: PJRT_Memory_Kind_Args) {
        let object = MEMORIES.get(args.memory)?;
        (args.kind, args.kind_size) = abi::out_text(object.kind);
        Ok(())
    }

    fn PJRT_Memory_Kind_Id(args: PJRT_Memory_Kind_Id_Args) {
        args.kind_id = MEMORIES.get(args.memory)?.memory.kind.number() as i32;
        Ok(())
    }

    fn PJRT_Memory_DebugString(args: PJRT_Memory_DebugString_Args) {
        let object = MEMORIES.get(args.memory)?;
        (args.debug_string, args.debug_string_size) = abi::out_text(&object.label);
        Ok(())
    }

    fn PJRT_Memory_ToString(args: PJRT_Memory_ToString_Args) {
        let object = MEMORIES.get(args.memory)?;
        (args.to_string, args.to_string_size) = abi::out_text(&object.text);
        Ok(())
    }

    fn PJRT_Memory_AddressableByDevices(args: PJRT_Memory_AddressableByDevices_Args) {
        let object = MEMORIES.get(args.memory)?;
        let devices = object.devices.get().map_or(&[][..], |devices| devices);
        args.devices = Raw::array(devices);
        args.num_devices = devices.len();
        Ok(())
    }
}
