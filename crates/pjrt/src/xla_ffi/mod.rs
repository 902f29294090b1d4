//! Custom calls by XLA's typed FFI: the registry of handlers, the calls, and the extension through
//! which frameworks pass data to them.

mod api;
mod attributes;
mod frame;
mod python;
mod types;

use std::ffi::{c_char, c_void};
use std::ptr;
use std::sync::{Mutex, PoisonError, RwLock};

use rustc_hash::FxHashMap;
use rxla::hlo::Literal;
use rxla::hlo::op::CustomCallApiVersion;
use rxla::host::CustomCall;
use rxla::{Client, Error, Result};

use crate::abi::{self, entry};
use crate::ffi;
use crate::handle::Table;
use crate::raw::Raw;
use api::CallContext;
use attributes::Attribute;
use frame::Frame;
pub use python::{RXLA_HoldOperand, RXLA_ReleaseOperand, RXLA_SetPythonCallback};
pub(crate) use types::TypeId;

/// What a `PJRT_ExecuteContext*` points to: data of a framework for handlers, by type.
#[derive(Default)]
pub(crate) struct ContextObject {
    data: Mutex<FxHashMap<TypeId, Raw<c_void>>>,
}

impl ContextObject {
    fn get(&self, type_id: TypeId) -> Option<Raw<c_void>> {
        self.data.lock().unwrap_or_else(PoisonError::into_inner).get(&type_id).copied()
    }
}

pub(crate) static CONTEXTS: Table<ffi::PJRT_ExecuteContext, ContextObject> =
    Table::new("PJRT_ExecuteContext");

/// The state of a call that its handler has made at the first execution, for all of them.
pub(crate) struct Instantiated(Option<(TypeId, Raw<c_void>)>);

impl Instantiated {
    fn make(
        bundle: &ffi::XLA_FFI_Handler_Bundle,
        call: &CustomCall<'_>,
        frame: &mut Frame,
        attributes: &[(String, Attribute)],
    ) -> Result<Instantiated> {
        let Some(handler) = bundle.instantiate else { return Ok(Instantiated(None)) };
        let mut context = CallContext::new(None, call.run_id, call.device, None);
        let stage = ffi::XLA_FFI_ExecutionStage_INSTANTIATE;
        // SAFETY: whoever registered the handler vouched for it; the context is ours.
        unsafe { frame.call(handler, stage, ptr::from_mut(&mut context).cast(), attributes) }?;
        Ok(context.take_instantiated())
    }
}

impl Drop for Instantiated {
    fn drop(&mut self) {
        if let Some((type_id, state)) = self.0.take() {
            types::delete(type_id, state);
        }
    }
}

/// The handlers of this process.
pub(crate) struct Registry;

static HANDLERS: RwLock<Option<FxHashMap<String, ffi::XLA_FFI_Handler_Bundle>>> = RwLock::new(None);

impl Registry {
    /// Registers a handler. A target may be registered again with another one, as happens when a
    /// library is loaded anew.
    pub(crate) fn register(name: &str, bundle: ffi::XLA_FFI_Handler_Bundle) -> Result<()> {
        if bundle.execute.is_none() {
            return Err(Error::invalid_argument(format!(
                "the custom call target `{name}` has no handler to execute"
            )));
        }
        let mut handlers = HANDLERS.write().unwrap_or_else(PoisonError::into_inner);
        handlers.get_or_insert_default().insert(name.to_owned(), bundle);
        Ok(())
    }

    fn find(name: &str) -> Option<ffi::XLA_FFI_Handler_Bundle> {
        HANDLERS.read().unwrap_or_else(PoisonError::into_inner).as_ref()?.get(name).copied()
    }

    /// Runs a custom call with the handler of its target; `None` if there is none.
    pub(crate) fn call(
        client: &Client,
        execution: Option<&ContextObject>,
        call: &CustomCall<'_>,
    ) -> Option<Result<Literal>> {
        if let Some(result) = python::call(client, execution, call) {
            return Some(result);
        }
        let bundle = Registry::find(call.target)?;
        Some(Registry::run(bundle, client, execution, call))
    }

    fn run(
        bundle: ffi::XLA_FFI_Handler_Bundle,
        client: &Client,
        execution: Option<&ContextObject>,
        call: &CustomCall<'_>,
    ) -> Result<Literal> {
        if call.api_version != CustomCallApiVersion::TypedFfi {
            return Err(Error::invalid_argument(format!(
                "`{}` is registered as a handler of the typed FFI, but the program calls it with \
                 {}",
                call.target,
                call.api_version.name()
            )));
        }
        let attributes = attributes::parse(call.config)?;
        let mut frame = Frame::new(client, call)?;
        let within = |error: Error| error.context(format!("in custom call `{}`", call.target));
        let instantiated = call
            .kept
            .get_or_make(|| Instantiated::make(&bundle, call, &mut frame, &attributes))
            .map_err(within)?;
        let mut context =
            CallContext::new(execution, call.run_id, call.device, Some(&instantiated));
        let stages = [
            (bundle.prepare, ffi::XLA_FFI_ExecutionStage_PREPARE),
            (bundle.initialize, ffi::XLA_FFI_ExecutionStage_INITIALIZE),
            (bundle.execute, ffi::XLA_FFI_ExecutionStage_EXECUTE),
        ];
        for (handler, stage) in stages {
            let Some(handler) = handler else { continue };
            // SAFETY: whoever registered the handler vouched for it; the context is ours.
            unsafe { frame.call(handler, stage, ptr::from_mut(&mut context).cast(), &attributes) }
                .map_err(within)?;
        }
        drop(context);
        frame.into_literal(call.result_shape)
    }
}

entry! {
    fn PJRT_ExecuteContext_Create(args: PJRT_ExecuteContext_Create_Args) {
        args.context = CONTEXTS.insert(ContextObject::default());
        Ok(())
    }

    fn PJRT_ExecuteContext_Destroy(args: PJRT_ExecuteContext_Destroy_Args) {
        CONTEXTS.destroy(args.context)
    }

    fn PJRT_FFI_Type_Register(args: PJRT_FFI_Type_Register_Args) {
        // SAFETY: the caller passes a string of that size and, if any, its type's functions.
        let (name, deleter) = unsafe {
            let name = abi::text(args.type_name, args.type_name_size, "type_name")?;
            let info = args.type_info.cast_const();
            let deleter = if info.is_null() { None } else { abi::reference(info, "type_info")?.deleter };
            (name, deleter)
        };
        args.type_id = types::register(name, args.type_id, deleter)?;
        Ok(())
    }

    fn PJRT_FFI_UserData_Add(args: PJRT_FFI_UserData_Add_Args) {
        let context = CONTEXTS.get(args.context)?;
        let mut data = context.data.lock().unwrap_or_else(PoisonError::into_inner);
        data.insert(args.user_data.type_id, Raw(args.user_data.data));
        Ok(())
    }

    fn PJRT_FFI_Register_Handler(args: PJRT_FFI_Register_Handler_Args) {
        // SAFETY: the caller passes a string of that size.
        let name = unsafe { abi::text(args.target_name, args.target_name_size, "target_name") }?;
        // SAFETY: the caller passes an `XLA_FFI_Handler*` or null, which is how `Option` spells it.
        let execute = unsafe { std::mem::transmute::<*mut c_void, ffi::XLA_FFI_Handler>(args.handler) };
        Registry::register(name, ffi::XLA_FFI_Handler_Bundle {
            instantiate: None, prepare: None, initialize: None, execute,
        })
    }
}

/// Registers a handler with all its stages, for loaders that are no PJRT client (the Python
/// package). Returns whether that was possible.
///
/// # Safety
/// `name` ends in a null byte; the handlers are null or functions of XLA's FFI.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn RXLA_RegisterFfiHandler(
    name: *const c_char,
    instantiate: ffi::XLA_FFI_Handler,
    prepare: ffi::XLA_FFI_Handler,
    initialize: ffi::XLA_FFI_Handler,
    execute: ffi::XLA_FFI_Handler,
) -> bool {
    if name.is_null() {
        return false;
    }
    // SAFETY: the caller's promise.
    let name = unsafe { std::ffi::CStr::from_ptr(name) };
    let bundle = ffi::XLA_FFI_Handler_Bundle { instantiate, prepare, initialize, execute };
    abi::contain("RXLA_RegisterFfiHandler", || {
        let name = name.to_str().map_err(|_| Error::invalid_argument("the name is not UTF-8"))?;
        Registry::register(name, bundle)
    })
    .is_ok()
}

/// An error for a handler to return that is written in a language without the FFI's headers.
///
/// # Safety
/// `message` is null or ends in a null byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn RXLA_MakeFfiError(message: *const c_char) -> *mut ffi::XLA_FFI_Error {
    // SAFETY: the caller's promise.
    let message =
        if message.is_null() { c"" } else { unsafe { std::ffi::CStr::from_ptr(message) } };
    api::raise(Error::internal(message.to_string_lossy()))
}

/// The extension, to be chained to `next`.
pub(crate) fn extension(next: *mut ffi::PJRT_Extension_Base) -> ffi::PJRT_FFI_Extension {
    ffi::PJRT_FFI_Extension {
        base: ffi::PJRT_Extension_Base {
            struct_size: size_of::<ffi::PJRT_FFI_Extension>(),
            type_: ffi::PJRT_Extension_Type_FFI,
            next,
        },
        type_register: Some(PJRT_FFI_Type_Register),
        user_data_add: Some(PJRT_FFI_UserData_Add),
        register_handler: Some(PJRT_FFI_Register_Handler),
    }
}

/// Registers a type of handlers' state or data, for loaders that are no PJRT client. The id is read
/// from and written to `type_id`. Returns whether that was possible.
///
/// # Safety
/// `name` ends in a null byte; `type_id` points to a type id; `type_info` is null or points to one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn RXLA_RegisterFfiType(
    name: *const c_char,
    type_id: *mut ffi::XLA_FFI_TypeId,
    type_info: *const ffi::XLA_FFI_TypeInfo,
) -> bool {
    if name.is_null() || type_id.is_null() {
        return false;
    }
    // SAFETY: the caller's promise.
    let (name, given, deleter) = unsafe {
        let deleter = if type_info.is_null() { None } else { (*type_info).deleter };
        (std::ffi::CStr::from_ptr(name), (*type_id).type_id, deleter)
    };
    let id = abi::contain("RXLA_RegisterFfiType", || {
        let name = name.to_str().map_err(|_| Error::invalid_argument("the name is not UTF-8"))?;
        types::register(name, given, deleter)
    });
    let Ok(id) = id else { return false };
    // SAFETY: as above.
    unsafe { (*type_id).type_id = id };
    true
}
