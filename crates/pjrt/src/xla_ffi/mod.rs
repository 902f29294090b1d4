//! Custom calls by XLA's typed FFI: the registry of handlers, the calls, and the extension through
//! which frameworks pass data to them.

mod api;
mod attributes;
mod frame;
mod python;
mod site;
mod types;

use std::ffi::{c_char, c_void};
use std::sync::{Mutex, PoisonError, RwLock};

use rustc_hash::FxHashMap;
use rxla::hlo::literal::Bytes;
use rxla::hlo::{ArrayLiteral, Literal, Shape};
use rxla::host::CustomCall;
use rxla::{Client, Error, Result};

use crate::abi::{self, entry};
use crate::ffi;
use crate::handle::Table;
use crate::raw::Raw;
pub use python::{RXLA_HoldOperand, RXLA_ReleaseOperand, RXLA_SetPythonCallback};
use site::{Instantiated, Site};
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

/// The handlers of this process.
pub(crate) struct Registry;

static HANDLERS: RwLock<Option<FxHashMap<String, ffi::XLA_FFI_Handler_Bundle>>> = RwLock::new(None);

impl Registry {
    /// Registers a handler. A target may be registered again with another one, as happens when a
    /// library is loaded anew; calls that have been executed keep theirs.
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
        operands: &[Literal],
    ) -> Option<Result<Literal>> {
        if let Some(result) = python::call(client, execution, call, operands) {
            return Some(result);
        }
        let site = site::of(call, || Registry::find(call.target))?;
        let done =
            site.and_then(|site| Registry::call_on_values(site, client, execution, call, operands));
        Some(done.map_err(|error| within(call, error)))
    }

    /// The same where the arrays lie; `None` also if Python is who is called.
    pub(crate) fn call_in_place(
        execution: Option<&ContextObject>,
        call: &CustomCall<'_>,
        operands: &[&[u8]],
        results: &mut [&mut [u8]],
    ) -> Option<Result<()>> {
        let find = || (!python::takes(call.target)).then(|| Registry::find(call.target))?;
        let site = site::of(call, find)?;
        let done = site.and_then(|site| site.run(execution, call, operands, results));
        Some(done.map_err(|error| within(call, error)))
    }

    fn call_on_values(
        site: &Site,
        client: &Client,
        execution: Option<&ContextObject>,
        call: &CustomCall<'_>,
        operands: &[Literal],
    ) -> Result<Literal> {
        let arrays = operands.iter().filter_map(Literal::as_array);
        let operands: Vec<&[u8]> = arrays.map(ArrayLiteral::bytes).collect();
        let shapes = site::result_shapes(call.result_shape);
        let mut results = Vec::new();
        for array in shapes.iter().filter_map(Shape::as_array) {
            results.push(client.zeroed(site::size(array)?)?);
        }
        let mut places: Vec<&mut [u8]> = results.iter_mut().map(Bytes::make_mut).collect();
        site.run(execution, call, &operands, &mut places)?;
        let mut results = results.into_iter();
        let mut literals = shapes.iter().map(|shape| match (shape, shape.as_array()) {
            (_, Some(array)) => {
                let bytes = results.next().ok_or_else(|| Error::internal("a result is missing"))?;
                Ok(Literal::Array(ArrayLiteral::from_bytes(&array.without_layout(), bytes)?))
            }
            _ => Ok(Literal::Token),
        });
        match call.result_shape {
            Shape::Tuple(_) => Ok(Literal::Tuple(literals.collect::<Result<_>>()?)),
            _ => literals.next().unwrap_or_else(|| Err(Error::internal("a call without result"))),
        }
    }
}

fn within(call: &CustomCall<'_>, error: Error) -> Error {
    error.context(format!("in custom call `{}`", call.target))
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
    let message = match message.is_null() {
        true => c"",
        // SAFETY: the caller's promise.
        false => unsafe { std::ffi::CStr::from_ptr(message) },
    };
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
