//! Compilation, and `PJRT_LoadedExecutable`.

use std::sync::Arc;

use rxla::hlo::DeviceAssignment;
use rxla::{Error, Event, ExecuteOptions, LoadedExecutable, Result};

use crate::abi::{self, entry};
use crate::buffer::{self, BUFFERS};
use crate::client::{CLIENTS, ClientObject, DEVICES};
use crate::compile_options;
use crate::event;
use crate::executable::{self, Compiled, EXECUTABLES};
use crate::ffi;
use crate::handle::Table;
use crate::host::{self, CallbackHost};
use crate::program::Source;
use crate::raw::Raw;

/// What a `PJRT_LoadedExecutable*` points to.
pub(crate) struct LoadedObject {
    client: Arc<ClientObject>,
    loaded: LoadedExecutable,
    compiled: Arc<Compiled>,
    devices: Vec<Raw<ffi::PJRT_Device>>,
    logical_ids: Vec<ffi::PJRT_LogicalDeviceIds>,
}

static LOADED: Table<ffi::PJRT_LoadedExecutable, LoadedObject> =
    Table::new("PJRT_LoadedExecutable");

/// Binds a compiled program to devices and hands it out.
fn give(
    client: Arc<ClientObject>,
    compiled: Arc<Compiled>,
) -> Result<*mut ffi::PJRT_LoadedExecutable> {
    let loaded = client.client.load(Arc::clone(&compiled.executable))?;
    let devices = loaded.devices().iter().map(|logical| client.device(logical.device)).collect();
    let logical_ids = loaded
        .devices()
        .iter()
        .map(|logical| {
            Ok(ffi::PJRT_LogicalDeviceIds {
                replica: abi::int(logical.replica)?,
                partition: abi::int(logical.partition)?,
            })
        })
        .collect::<Result<_>>()?;
    Ok(LOADED.insert(LoadedObject { client, loaded, compiled, devices, logical_ids }))
}

fn compile(client: Arc<ClientObject>, source: Source) -> Result<*mut ffi::PJRT_LoadedExecutable> {
    let (program, options) = source.parse()?;
    let executable = client.client.compile_source(program, options)?;
    give(client, Compiled::new(executable, source))
}

entry! {
    fn PJRT_Client_Compile(args: PJRT_Client_Compile_Args) {
        let client = CLIENTS.get(args.client)?;
        // SAFETY: the caller passes a program and options of these sizes.
        let source = unsafe {
            Source::read(args.program, args.compile_options, args.compile_options_size)
        }?;
        args.executable = compile(client, source)?;
        Ok(())
    }

    fn PJRT_Client_Load(args: PJRT_Client_Load_Args) {
        let client = CLIENTS.get(args.client)?;
        let compiled = Arc::clone(&EXECUTABLES.get(args.executable)?.compiled);
        // SAFETY: the caller passes options of this size.
        let options = unsafe {
            abi::slice(args.compile_options.cast::<u8>(), args.compile_options_size, "compile_options")
        }?;
        args.loaded_executable = if options.is_empty() || options == compiled.source.options {
            give(client, compiled)?
        } else {
            compile(client, Source { options: options.to_vec(), ..compiled.source.clone() })?
        };
        Ok(())
    }

    fn PJRT_Executable_DeserializeAndLoad(
        args: PJRT_Executable_DeserializeAndLoad_Args since loaded_executable
    ) {
        let client = CLIENTS.get(args.client)?;
        // SAFETY: the caller passes bytes of these sizes; a client without override options has
        // zeros there.
        let (bytes, options) = unsafe {
            (
                abi::slice(
                    args.serialized_executable.cast::<u8>(),
                    args.serialized_executable_size,
                    "serialized_executable",
                )?,
                abi::slice(
                    args.overridden_serialized_compile_options.cast::<u8>(),
                    args.overridden_serialized_compile_options_size,
                    "overridden_serialized_compile_options",
                )?,
            )
        };
        let mut source = Source::deserialize(bytes)?;
        if !options.is_empty() {
            source.options = options.to_vec();
        }
        args.loaded_executable = compile(client, source)?;
        Ok(())
    }

    fn PJRT_LoadedExecutable_Destroy(args: PJRT_LoadedExecutable_Destroy_Args) {
        LOADED.destroy(args.executable)
    }

    fn PJRT_LoadedExecutable_GetExecutable(args: PJRT_LoadedExecutable_GetExecutable_Args) {
        args.executable = executable::give(Arc::clone(&LOADED.get(args.loaded_executable)?.compiled));
        Ok(())
    }

    fn PJRT_LoadedExecutable_AddressableDevices(
        args: PJRT_LoadedExecutable_AddressableDevices_Args
    ) {
        let object = LOADED.get(args.executable)?;
        args.addressable_devices = Raw::array(&object.devices);
        args.num_addressable_devices = object.devices.len();
        Ok(())
    }

    fn PJRT_LoadedExecutable_AddressableDeviceLogicalIds(
        args: PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args
    ) {
        let object = LOADED.get(args.executable)?;
        args.addressable_device_logical_ids = object.logical_ids.as_ptr().cast_mut();
        args.num_addressable_device_logical_ids = object.logical_ids.len();
        Ok(())
    }

    fn PJRT_LoadedExecutable_GetDeviceAssignment(
        args: PJRT_LoadedExecutable_GetDeviceAssignment_Args
    ) {
        let object = LOADED.get(args.executable)?;
        let options = object.loaded.executable().options();
        let mut devices = vec![vec![0; options.replicas]; options.partitions];
        for logical in object.loaded.devices() {
            devices[logical.partition][logical.replica] = logical.device as i64;
        }
        let bytes = compile_options::write_assignment(&DeviceAssignment {
            replica_count: options.replicas as i64,
            computation_count: options.partitions as i64,
            devices,
        });
        (args.serialized_bytes, args.serialized_bytes_size, args.serialized_device_assignment) =
            abi::out_bytes(bytes);
        args.serialized_device_assignment_deleter =
            Some(abi::free_bytes::<ffi::PJRT_DeviceAssignmentSerialized>);
        Ok(())
    }

    fn PJRT_LoadedExecutable_Delete(args: PJRT_LoadedExecutable_Delete_Args) {
        LOADED.get(args.executable)?.loaded.delete();
        Ok(())
    }

    fn PJRT_LoadedExecutable_IsDeleted(args: PJRT_LoadedExecutable_IsDeleted_Args) {
        args.is_deleted = LOADED.get(args.executable)?.loaded.is_deleted();
        Ok(())
    }

    fn PJRT_LoadedExecutable_Fingerprint(args: PJRT_LoadedExecutable_Fingerprint_Args) {
        let object = LOADED.get(args.executable)?;
        (args.executable_fingerprint, args.executable_fingerprint_size) =
            abi::out_text(&object.compiled.fingerprint);
        Ok(())
    }

    fn PJRT_LoadedExecutable_Execute(args: PJRT_LoadedExecutable_Execute_Args) {
        execute(args)
    }
}

fn execute(args: &mut ffi::PJRT_LoadedExecutable_Execute_Args) -> Result<()> {
    let object = LOADED.get(args.executable)?;
    // SAFETY: the caller passes options with their size, and lists as long as it says.
    let (raw_options, lists) = unsafe {
        (
            abi::versioned(args.options.cast_const(), "options")?
                .ok_or_else(|| Error::invalid_argument("the execute options are null"))?,
            abi::slice(args.argument_lists, args.num_devices, "argument_lists")?,
        )
    };
    let mut arguments = Vec::with_capacity(lists.len());
    for &list in lists {
        // SAFETY: each list has `num_args` handles.
        let handles = unsafe { abi::slice(list, args.num_args, "argument list") }?;
        let list = handles
            .iter()
            .map(|&handle| Ok(Arc::clone(&BUFFERS.get(handle)?.buffer)))
            .collect::<Result<Vec<_>>>()?;
        arguments.push(list);
    }
    let outputs = object.loaded.executable().signature().outputs.len();
    // SAFETY: the caller allocates a list of `num_devices` lists of as many places as the
    // executable has outputs.
    let places = unsafe { abi::slice(args.output_lists, args.num_devices, "output_lists") }?;
    if outputs > 0 && places.iter().any(|list| list.is_null()) {
        return Err(Error::invalid_argument("a list of `output_lists` is null"));
    }
    // SAFETY: the lists of the options are as long as they say.
    let (host, not_donated) = unsafe {
        (
            CallbackHost::new(&object.client.client, &raw_options, object.loaded.devices())?,
            host::not_donated(&raw_options)?,
        )
    };
    let device = DEVICES.get_optional(args.execute_device)?.map(|device| device.device.local_id);
    let options = ExecuteOptions { not_donated, host: Arc::new(host), device };
    let results = object.loaded.execute(&arguments, &options)?;
    // What is not there yet is there when its results are.
    let done: Vec<Event> = results
        .iter()
        .map(|buffers| match buffers.last() {
            Some(buffer) => buffer.ready().clone(),
            None => Event::done(Ok(())),
        })
        .collect();
    for (place, buffers) in places.iter().zip(results) {
        for (index, buffer) in buffers.into_iter().enumerate() {
            let done = buffer::give(&object.client, buffer);
            // SAFETY: `index` is below the number of outputs, the length of the list.
            unsafe { place.add(index).write(done) }
        }
    }
    if !args.device_complete_events.is_null() {
        for (index, done) in done.into_iter().enumerate() {
            // SAFETY: the caller allocates a place per device.
            unsafe { args.device_complete_events.add(index).write(event::give(done)) }
        }
    }
    Ok(())
}
