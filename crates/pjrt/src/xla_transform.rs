//! The extension for transformations of modules written in Python: they get each program as a
//! serialized `HloModuleProto` and may give another one back.

use std::sync::Arc;

use rxla::hlo::Module;
use rxla::transforms::{self, Stage, Transform};
use rxla::{Error, Result};
use rxla_hlo_proto::{Message, decode, from_proto, to_proto};

use crate::abi;
use crate::callback_types::{
    ClearTransformArgs, Header, RegisterTransformArgs, Text, TransformArgs, TransformCallbacks,
    TransformExtension,
};
use crate::ffi;
use crate::raw::Raw;

/// The extension's version.
const VERSION: i64 = 1;

/// Callbacks that are told when they are no longer needed.
struct Registered(Raw<TransformCallbacks>);

impl Drop for Registered {
    fn drop(&mut self) {
        // SAFETY: who registered the callbacks keeps them alive until they are told here.
        unsafe {
            if let Some(dtor) = (*self.0.0).dtor {
                dtor(self.0.0);
            }
        }
    }
}

impl Transform for Registered {
    fn transform(&self, module: &Module) -> Result<Option<Module>> {
        let wrong = |what: &str, message: String| Error::internal(format!("{what}: {message}"));
        let proto = to_proto(module)
            .map_err(|finding| wrong("a module cannot be transformed", finding.message))?
            .encode_to_vec();
        let mut args = TransformArgs {
            struct_size: size_of::<TransformArgs>(),
            header: Header::new(VERSION),
            hlo_module: Text::lend(&proto),
            transformed_hlo_module: Text::EMPTY,
            changed: false,
        };
        // SAFETY: the callbacks live as long as this; what the arguments point to lives until the end
        // of this function, and results are read before they are freed.
        unsafe {
            let Some(transform) = (*self.0.0).transform_hlo_module else {
                return Err(Error::internal("transform_hlo_module callback is null"));
            };
            transform(self.0.0, &raw mut args);
            let transformed = args.header.result().and_then(|()| {
                if !args.changed {
                    return Ok(None);
                }
                let broken = "a transformation gave a module that cannot be read";
                let proto = decode(args.transformed_hlo_module.bytes())
                    .map_err(|finding| wrong(broken, finding.message))?;
                from_proto(&proto).map(Some).map_err(|finding| wrong(broken, finding.message))
            });
            args.header.clean_up();
            transformed
        }
    }
}

fn stage(number: u32) -> Result<Stage> {
    match number {
        0 => Ok(Stage::BeforeScheduling),
        1 => Ok(Stage::AfterScheduling),
        _ => Err(Error::invalid_argument("Invalid pipeline stage")),
    }
}

/// The name that the caller gives, or one made of the address.
///
/// # Safety
/// `name` points to `size` bytes, if it is not null and the size is no garbage.
unsafe fn name(
    name: *const std::ffi::c_char,
    size: usize,
    callbacks: *mut TransformCallbacks,
) -> Result<String> {
    if name.is_null() {
        if callbacks.is_null() {
            return Err(Error::invalid_argument("neither a name nor callbacks are given"));
        }
        return Ok(format!("pjrt_c_api_transform_{}", callbacks.addr()));
    }
    // SAFETY: the caller's promise.
    unsafe { abi::text(name, size, "the name of a transformation") }.map(str::to_owned)
}

unsafe extern "C" fn register_xla_transform(
    args: *mut RegisterTransformArgs,
) -> *mut ffi::PJRT_Error {
    fn body(args: &mut RegisterTransformArgs) -> Result<()> {
        let stage = stage(args.stage)?;
        if args.callbacks.is_null() {
            return Err(Error::invalid_argument("Callbacks cannot be null"));
        }
        // SAFETY: the extension makes the caller pass a name of that size, and callbacks that live
        // until they are told otherwise.
        let name = unsafe {
            let name = name(args.name, args.name_size, args.callbacks)?;
            let callbacks = abi::reference(args.callbacks.cast_const(), "callbacks")?;
            if callbacks.version != VERSION {
                return Err(Error::invalid_argument("Invalid callback version"));
            }
            name
        };
        transforms::register(stage, &name, Arc::new(Registered(Raw(args.callbacks))));
        Ok(())
    }
    let least = size_of::<RegisterTransformArgs>();
    // SAFETY: the extension makes the caller pass `struct_size` bytes.
    unsafe { abi::enter("PJRT_Register_Xla_Transform", args, least, body) }
}

unsafe extern "C" fn clear_xla_transform(args: *mut ClearTransformArgs) -> *mut ffi::PJRT_Error {
    fn body(args: &mut ClearTransformArgs) -> Result<()> {
        let stage = stage(args.stage)?;
        // SAFETY: the extension makes the caller pass a name of that size.
        let name = unsafe { name(args.name, args.name_size, args.callbacks) }?;
        args.cleared = transforms::clear(stage, &name);
        Ok(())
    }
    let least = size_of::<ClearTransformArgs>() - 7;
    // SAFETY: the extension makes the caller pass `struct_size` bytes.
    unsafe { abi::enter("PJRT_Clear_Xla_Transform", args, least, body) }
}

/// The extension, to be chained to `next`.
pub(crate) fn extension(next: *mut ffi::PJRT_Extension_Base) -> TransformExtension {
    TransformExtension {
        base: ffi::PJRT_Extension_Base {
            struct_size: size_of::<TransformExtension>(),
            type_: ffi::PJRT_Extension_Type_XlaTransform,
            next,
        },
        register_xla_transform: Some(register_xla_transform),
        clear_xla_transform: Some(clear_xla_transform),
    }
}
