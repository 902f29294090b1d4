//! The table of functions that a handler of XLA's FFI gets with its call frame.

use std::alloc::{GlobalAlloc, Layout, System, alloc, dealloc};
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_void};
use std::ptr;
use std::sync::{Mutex, PoisonError};

use rustc_hash::FxHashMap;
use rxla::{Code, Error, Event, Result};

use super::{ContextObject, Instantiated, TypeId, types};
use crate::abi;
use crate::error::code;
use crate::ffi;
use crate::handle::Table;
use crate::raw::Raw;

/// What an `XLA_FFI_ExecutionContext*` points to during a call.
pub(crate) struct CallContext<'a> {
    pub(crate) execution: Option<&'a ContextObject>,
    pub(crate) run_id: u64,
    pub(crate) device: usize,
    /// The state from the call's instantiation, except during the instantiation.
    instantiated: Option<&'a Instantiated>,
    /// Per stage the state a handler has set.
    states: Mutex<[Option<(TypeId, Raw<c_void>)>; STAGES]>,
    /// Memory lent to the handler, by address.
    allocations: Mutex<BTreeMap<usize, Layout>>,
}

const STAGES: usize = ffi::XLA_FFI_ExecutionStage_EXECUTE as usize + 1;

impl<'a> CallContext<'a> {
    pub(crate) fn new(
        execution: Option<&'a ContextObject>,
        run_id: u64,
        device: usize,
        instantiated: Option<&'a Instantiated>,
    ) -> CallContext<'a> {
        CallContext {
            execution,
            run_id,
            device,
            instantiated,
            states: Mutex::default(),
            allocations: Mutex::default(),
        }
    }
}

impl CallContext<'_> {
    /// Takes the state that the instantiation has set.
    pub(crate) fn take_instantiated(&mut self) -> Instantiated {
        let states = self.states.get_mut().unwrap_or_else(PoisonError::into_inner);
        Instantiated(states[ffi::XLA_FFI_ExecutionStage_INSTANTIATE as usize].take())
    }

    fn state(&self, stage: ffi::XLA_FFI_ExecutionStage) -> Option<(TypeId, Raw<c_void>)> {
        let states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        match (stage, self.instantiated) {
            (ffi::XLA_FFI_ExecutionStage_INSTANTIATE, Some(instantiated)) => instantiated.0,
            (stage, _) => states.get(stage as usize).copied().flatten(),
        }
    }
}

impl Drop for CallContext<'_> {
    fn drop(&mut self) {
        let states = self.states.get_mut().unwrap_or_else(PoisonError::into_inner);
        for (type_id, state) in states.iter_mut().filter_map(Option::take) {
            types::delete(type_id, state);
        }
        let allocations = self.allocations.get_mut().unwrap_or_else(PoisonError::into_inner);
        while let Some((address, layout)) = allocations.pop_first() {
            // SAFETY: allocated with this layout and not freed since.
            unsafe { dealloc(ptr::with_exposed_provenance_mut(address), layout) }
        }
    }
}

/// An error in the FFI's form; its message ends in a null byte.
struct FfiError {
    error: Error,
    message: CString,
}

/// The errors that handlers hold, by address. Handlers inside jaxlib destroy an error not by the
/// table's function but as the C++ object that it is in XLA: one `absl::Status`, from `malloc`. So
/// an address of ours is such an object too, a status with a code and without a text.
static ERRORS: Mutex<Option<FxHashMap<usize, FfiError>>> = Mutex::new(None);

/// The memory of a `Status`.
const STATUS: Layout = Layout::new::<usize>();

fn errors<T>(body: impl FnOnce(&mut FxHashMap<usize, FfiError>) -> T) -> T {
    body(ERRORS.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default())
}

/// Takes an error of ours back and frees its memory.
fn remove_error(error: *mut ffi::XLA_FFI_Error) -> Option<FfiError> {
    let found = errors(|errors| errors.remove(&error.addr()))?;
    // SAFETY: allocated in `raise` with this layout; the entry says that nobody has freed it.
    unsafe { System.dealloc(error.cast(), STATUS) };
    Some(found)
}
static FUTURES: Table<ffi::XLA_FFI_Future, Event> = Table::new("XLA_FFI_Future");

pub(super) fn raise(error: Error) -> *mut ffi::XLA_FFI_Error {
    let message = CString::new(error.to_string().replace('\0', " ")).unwrap_or_default();
    // SAFETY: the size is not zero.
    let status = unsafe { System.alloc(STATUS) }.cast::<usize>();
    if !status.is_null() {
        // Abseil keeps a code without text inside the word, shifted by two and with the lowest bit
        // set.
        // SAFETY: just allocated with this size and alignment.
        unsafe { status.write((error.code as usize) << 2 | 1) };
        errors(|errors| errors.insert(status.addr(), FfiError { error, message }));
    }
    status.cast()
}

/// The error that a handler has returned.
pub(crate) fn take_error(error: *mut ffi::XLA_FFI_Error) -> Result<()> {
    if error.is_null() {
        return Ok(());
    }
    Err(match remove_error(error) {
        Some(found) => found.error,
        None => Error::internal("a handler returned an error that it did not make with our table"),
    })
}

/// Waits for what a handler has left running.
pub(crate) fn wait(future: *mut ffi::XLA_FFI_Future) -> Result<()> {
    if future.is_null() { Ok(()) } else { FUTURES.remove(future)?.wait() }
}

/// The table, which lives as long as the library.
pub(crate) fn table() -> *const ffi::XLA_FFI_Api {
    &raw const TABLE.0
}

struct Constant<T>(T);

// SAFETY: never written.
unsafe impl<T> Sync for Constant<T> {}

static TABLE: Constant<ffi::XLA_FFI_Api> = Constant(ffi::XLA_FFI_Api {
    struct_size: ffi::XLA_FFI_Api_STRUCT_SIZE as usize,
    extension_start: ptr::null_mut(),
    api_version: ffi::XLA_FFI_Api_Version {
        struct_size: ffi::XLA_FFI_Api_Version_STRUCT_SIZE as usize,
        extension_start: ptr::null_mut(),
        major_version: ffi::XLA_FFI_API_MAJOR as i32,
        minor_version: ffi::XLA_FFI_API_MINOR as i32,
    },
    internal_api: ptr::null(),
    XLA_FFI_Error_Create: Some(error_create),
    XLA_FFI_Error_GetMessage: Some(error_get_message),
    XLA_FFI_Error_Destroy: Some(error_destroy),
    XLA_FFI_Handler_Register: Some(handler_register),
    XLA_FFI_Stream_Get: Some(stream_get),
    XLA_FFI_Type_Register: Some(type_register),
    XLA_FFI_ExecutionContext_Get: Some(execution_context_get),
    XLA_FFI_State_Set: Some(state_set),
    XLA_FFI_State_Get: Some(state_get),
    XLA_FFI_DeviceMemory_Allocate: Some(device_memory_allocate),
    XLA_FFI_DeviceMemory_Free: Some(device_memory_free),
    XLA_FFI_ThreadPool_Schedule: Some(thread_pool_schedule),
    XLA_FFI_ThreadPool_NumThreads: Some(thread_pool_num_threads),
    XLA_FFI_Future_Create: Some(future_create),
    XLA_FFI_Future_SetAvailable: Some(future_set_available),
    XLA_FFI_Future_SetError: Some(future_set_error),
    XLA_FFI_RunId_Get: Some(run_id_get),
    XLA_FFI_DeviceOrdinal_Get: Some(device_ordinal_get),
});

/// Declares functions of the table: `fn name(args: ARGS) { body }` with a body that returns
/// `Result<()>`; null arguments and panics become errors.
macro_rules! table_entry {
    ($($(#[$doc:meta])* fn $name:ident($args:ident: $type:ident) $body:block)+) => { $(
        $(#[$doc])*
        unsafe extern "C" fn $name(args: *mut ffi::$type) -> *mut ffi::XLA_FFI_Error {
            let result = abi::contain(stringify!($name), || {
                if args.is_null() || !args.is_aligned() {
                    return Err(Error::invalid_argument(concat!(stringify!($type), " is null")));
                }
                // SAFETY: handlers pass the struct of the function they call, all of it since
                // version 0.1 of the FFI.
                let $args = unsafe { &mut *args };
                $body
            });
            match result {
                Ok(()) => ptr::null_mut(),
                Err(error) => raise(error),
            }
        }
    )+ };
}

/// # Safety
/// `context` is null or the context of a call that is under way.
unsafe fn context<'a>(context: *mut ffi::XLA_FFI_ExecutionContext) -> Result<&'a CallContext<'a>> {
    // SAFETY: the caller's promise: handlers get the pointer from their call frame.
    unsafe { abi::reference(context.cast_const().cast::<CallContext<'a>>(), "ctx") }
}

/// # Safety
/// `type_id` is null or points to a type id.
unsafe fn type_id(type_id: *mut ffi::XLA_FFI_TypeId) -> Result<TypeId> {
    // SAFETY: the caller's promise.
    Ok(unsafe { abi::reference(type_id.cast_const(), "type_id") }?.type_id)
}

fn cpu_has_no_streams() -> Error {
    Error::unimplemented("XLA FFI GPU context is not available: CPU devices have no streams")
}

table_entry! {
    fn handler_register(args: XLA_FFI_Handler_Register_Args) {
        // SAFETY: the spans are strings.
        let name = unsafe { abi::text(args.name.ptr, args.name.len, "name") }?;
        super::Registry::register(name, args.bundle)
    }

    fn stream_get(_args: XLA_FFI_Stream_Get_Args) {
        Err(cpu_has_no_streams())
    }

    fn type_register(args: XLA_FFI_Type_Register_Args) {
        // SAFETY: the span is a string; the type info, where the struct is long enough to have
        // it, lives as long as the program.
        unsafe {
            let name = abi::text(args.name.ptr, args.name.len, "name")?;
            let has_info = args.struct_size >= ffi::XLA_FFI_Type_Register_Args_STRUCT_SIZE as usize + 8;
            let deleter = if has_info && !args.type_info.is_null() {
                (*args.type_info).deleter
            } else {
                None
            };
            let place = args.type_id;
            let given = type_id(place)?;
            (*place).type_id = types::register(name, given, deleter)?;
        }
        Ok(())
    }

    fn execution_context_get(args: XLA_FFI_ExecutionContext_Get_Args) {
        // SAFETY: what a handler got with its frame.
        let (context, wanted) = unsafe { (context(args.ctx)?, type_id(args.type_id)?) };
        let data = context.execution.and_then(|execution| execution.get(wanted)).ok_or_else(|| {
            Error::new(
                Code::NotFound,
                format!("the execution carries no user data of type id {wanted}"),
            )
        })?;
        args.data = data.0;
        Ok(())
    }

    fn state_set(args: XLA_FFI_State_Set_Args) {
        // SAFETY: what a handler got with its frame.
        let (context, type_id) = unsafe { (context(args.ctx)?, type_id(args.type_id)?) };
        let mut states = context.states.lock().unwrap_or_else(PoisonError::into_inner);
        let state = states
            .get_mut(args.stage as usize)
            .ok_or_else(|| Error::invalid_argument(format!("there is no stage {}", args.stage)))?;
        if state.is_some() {
            return Err(Error::new(Code::FailedPrecondition, "the state of the stage is set already"));
        }
        *state = Some((type_id, Raw(args.state)));
        Ok(())
    }

    fn state_get(args: XLA_FFI_State_Get_Args) {
        // SAFETY: what a handler got with its frame.
        let (context, wanted) = unsafe { (context(args.ctx)?, type_id(args.type_id)?) };
        match context.state(args.stage) {
            Some((type_id, state)) if type_id == wanted => {
                args.state = state.0;
                Ok(())
            }
            Some((type_id, _)) => Err(Error::invalid_argument(format!(
                "the state of the stage has type id {type_id}, not {wanted}"
            ))),
            None => Err(Error::new(Code::NotFound, "the stage has no state")),
        }
    }

    fn device_memory_allocate(args: XLA_FFI_DeviceMemory_Allocate_Args) {
        // SAFETY: what a handler got with its frame.
        let context = unsafe { context(args.ctx) }?;
        let layout = Layout::from_size_align(args.size.max(1), args.alignment.max(64))
            .map_err(|_| Error::invalid_argument(format!(
                "no memory of {} bytes aligned to {}", args.size, args.alignment
            )))?;
        // SAFETY: the size is not zero.
        let data = unsafe { alloc(layout) };
        if data.is_null() {
            return Err(Error::resource_exhausted(format!(
                "out of memory allocating {} bytes for a custom call", args.size
            )));
        }
        let mut allocations = context.allocations.lock().unwrap_or_else(PoisonError::into_inner);
        allocations.insert(data.expose_provenance(), layout);
        args.data = data.cast();
        Ok(())
    }

    fn device_memory_free(args: XLA_FFI_DeviceMemory_Free_Args) {
        // SAFETY: what a handler got with its frame.
        let context = unsafe { context(args.ctx) }?;
        if args.data.is_null() {
            return Ok(());
        }
        let mut allocations = context.allocations.lock().unwrap_or_else(PoisonError::into_inner);
        let layout = allocations.remove(&args.data.addr()).ok_or_else(|| {
            Error::invalid_argument("memory is freed that this call has not allocated")
        })?;
        // SAFETY: allocated above with this layout and taken out of the table.
        unsafe { dealloc(args.data.cast(), layout) };
        Ok(())
    }

    /// Tasks run at once, which the FFI allows: handlers must not rely on concurrency.
    fn thread_pool_schedule(args: XLA_FFI_ThreadPool_Schedule_Args) {
        let task = args.task.ok_or_else(|| Error::invalid_argument("`task` is null"))?;
        // SAFETY: the handler's own function and data.
        unsafe { task(args.data) };
        Ok(())
    }

    fn thread_pool_num_threads(args: XLA_FFI_ThreadPool_NumThreads_Args) {
        if args.num_threads.is_null() {
            return Err(Error::invalid_argument("`num_threads` is null"));
        }
        // SAFETY: not null; the handler passes a place to write to.
        unsafe { args.num_threads.write(1) };
        Ok(())
    }

    fn future_create(args: XLA_FFI_Future_Create_Args) {
        args.future = FUTURES.insert(Event::new());
        Ok(())
    }

    fn future_set_available(args: XLA_FFI_Future_SetAvailable_Args) {
        FUTURES.get(args.future)?.complete(Ok(()));
        Ok(())
    }

    fn future_set_error(args: XLA_FFI_Future_SetError_Args) {
        let future = FUTURES.get(args.future)?;
        future.complete(take_error(args.error));
        Ok(())
    }

    fn run_id_get(args: XLA_FFI_RunId_Get_Args) {
        // SAFETY: what a handler got with its frame.
        args.run_id = unsafe { context(args.ctx) }?.run_id as i64;
        Ok(())
    }

    fn device_ordinal_get(args: XLA_FFI_DeviceOrdinal_Get_Args) {
        // SAFETY: what a handler got with its frame.
        args.device_ordinal = abi::int(unsafe { context(args.ctx) }?.device)?;
        Ok(())
    }
}

unsafe extern "C" fn error_create(
    args: *mut ffi::XLA_FFI_Error_Create_Args,
) -> *mut ffi::XLA_FFI_Error {
    // SAFETY: handlers pass their arguments with a message that ends in a null byte.
    let (code, message) = unsafe {
        let Ok(args) = abi::reference(args.cast_const(), "args") else {
            return raise(Error::internal("an error was made without arguments"));
        };
        let message = if args.message.is_null() { c"" } else { CStr::from_ptr(args.message) };
        (code(args.errc), message.to_string_lossy().into_owned())
    };
    raise(Error::new(code, message))
}

unsafe extern "C" fn error_get_message(args: *mut ffi::XLA_FFI_Error_GetMessage_Args) {
    if args.is_null() {
        return;
    }
    // SAFETY: handlers pass their arguments; the error they hold keeps the message.
    unsafe {
        // The text is on the heap, where it stays until the error is destroyed.
        (*args).message = errors(|errors| {
            errors.get(&(*args).error.addr()).map_or(c"".as_ptr(), |error| error.message.as_ptr())
        });
    }
}

unsafe extern "C" fn error_destroy(args: *mut ffi::XLA_FFI_Error_Destroy_Args) {
    if !args.is_null() {
        // SAFETY: handlers pass their arguments.
        remove_error(unsafe { (*args).error });
    }
}
