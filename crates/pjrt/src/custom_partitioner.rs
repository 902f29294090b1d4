//! The custom partitioner extension: Python says how calls of a target are divided over devices; and
//! the callback of `InspectSharding`, which learns how a value is spread.

use std::ffi::{CStr, c_char};
use std::sync::Arc;

use rxla::hlo::{Module, Shape, Sharding};
use rxla::partitioners::{self, Call, Divided, Partitioner, Registration};
use rxla::{ArgumentForm, Error, Format, ReadOptions, Result};
use rxla_hlo_proto::{Message, decode, shape, sharding};

use crate::abi;
use crate::callback_types::{
    Aval, Header, InferArgs, InspectArgs, InspectCallback, PartitionArgs, PartitionerCallbacks,
    PartitionerExtension, RegisterBatchArgs, RegisterPartitionerArgs, Text,
};
use crate::ffi;
use crate::mapped::{Use, is_mapped};
use crate::raw::Raw;

/// The callbacks of one target; they live as long as the process.
struct Registered(Raw<PartitionerCallbacks>);

/// The bytes that arguments of a callback point to.
struct Lent {
    strings: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Lent {
    fn new(call: &Call<'_>) -> Lent {
        let values = call.operands.iter().chain([&call.result]);
        Lent { strings: values.map(|(shape, sharding)| encoded(shape, sharding)).collect() }
    }

    /// The operands and, last, the result.
    fn avals(&self) -> Vec<Aval> {
        let aval = |(shape, sharding): &(Vec<u8>, Vec<u8>)| Aval {
            shape: Text::lend(shape),
            has_sharding: true,
            sharding: Text::lend(sharding),
        };
        self.strings.iter().map(aval).collect()
    }
}

fn encoded(of_shape: &Shape, of_sharding: &Sharding) -> (Vec<u8>, Vec<u8>) {
    let of_shape = shape::to_proto(&of_shape.with_default_layout());
    (of_shape.encode_to_vec(), sharding::to_proto(of_sharding).encode_to_vec())
}

fn read_sharding(bytes: &[u8]) -> Result<Sharding> {
    let proto = decode(bytes).map_err(|finding| Error::invalid_argument(finding.message))?;
    sharding::from_proto(&proto).map_err(|finding| Error::invalid_argument(finding.message))
}

impl Partitioner for Registered {
    fn infer(&self, call: &Call<'_>) -> Result<Option<Sharding>> {
        let lent = Lent::new(call);
        let avals = lent.avals();
        let Some((result, operands)) = avals.split_last() else { return Ok(None) };
        let mut args = InferArgs {
            header: Header::new(0),
            num_args: operands.len(),
            op_args: operands.as_ptr(),
            result_shape: result.shape,
            backend_config: Text::lend(call.config.as_bytes()),
            has_result_sharding: false,
            result_sharding: Text::EMPTY,
        };
        // SAFETY: who registered the callbacks keeps them alive; what the arguments point to lives
        // until the end of this function, and results are read before they are freed.
        unsafe {
            let Some(infer) = (*self.0.0).infer_sharding else { return Ok(None) };
            infer(self.0.0, &raw mut args);
            let inferred = args.header.result().and_then(|()| {
                let sharding = args.has_result_sharding.then(|| args.result_sharding.bytes());
                sharding.map(read_sharding).transpose()
            });
            args.header.clean_up();
            inferred
        }
    }

    fn partition(&self, call: &Call<'_>) -> Result<Divided> {
        let lent = Lent::new(call);
        let avals = lent.avals();
        let Some((result, operands)) = avals.split_last() else {
            return Err(Error::internal("a call without a result"));
        };
        let mut args = PartitionArgs {
            header: Header::new(0),
            num_args: operands.len(),
            op_args: operands.as_ptr(),
            op_result: *result,
            backend_config: Text::lend(call.config.as_bytes()),
            mlir_module: Text::EMPTY,
            args_sharding: std::ptr::null(),
            result_sharding: Text::EMPTY,
        };
        // SAFETY: as in `infer`.
        unsafe {
            let Some(partition) = (*self.0.0).partition else {
                return Err(Error::invalid_argument("a partitioner cannot partition"));
            };
            partition(self.0.0, &raw mut args);
            let divided = args.header.result().and_then(|()| divided(&args));
            args.header.clean_up();
            divided
        }
    }
}

/// # Safety
/// A callback has filled `args` in without an error.
unsafe fn divided(args: &PartitionArgs) -> Result<Divided> {
    if args.args_sharding.is_null() && args.num_args > 0 {
        return Err(Error::invalid_argument("a partitioner gave no shardings of operands"));
    }
    let operands = match args.num_args {
        0 => &[][..],
        // SAFETY: the caller's promise.
        count => unsafe { std::slice::from_raw_parts(args.args_sharding, count) },
    };
    // SAFETY: the caller's promise.
    let operands = operands.iter().map(|text| read_sharding(unsafe { text.bytes() }));
    let options = ReadOptions { arguments: ArgumentForm::default() };
    // SAFETY: the caller's promise.
    let (module, result): (Module, Sharding) = unsafe {
        (
            rxla::read_module(Format::StableHlo, args.mlir_module.bytes(), options)?,
            read_sharding(args.result_sharding.bytes())?,
        )
    };
    Ok(Divided { module, operands: operands.collect::<Result<_>>()?, result })
}

/// # Safety
/// `name` points to `size` bytes, if it is not null and the size is no garbage.
unsafe fn target(name: *const c_char, size: usize) -> Result<String> {
    // SAFETY: the caller's promise.
    let name = unsafe { abi::text(name, size, "the name of a custom call") }?;
    if name.is_empty() {
        return Err(Error::invalid_argument("a custom call without a name"));
    }
    Ok(name.to_owned())
}

unsafe extern "C" fn register_custom_partitioner(
    args: *mut RegisterPartitionerArgs,
) -> *mut ffi::PJRT_Error {
    fn body(args: &mut RegisterPartitionerArgs) -> Result<()> {
        if args.callbacks.is_null() {
            return Err(Error::invalid_argument("a partitioner without callbacks"));
        }
        // SAFETY: the extension makes the caller pass a name of that size.
        let target = unsafe { target(args.name, args.name_size) }?;
        let partitioner = Arc::new(Registered(Raw(args.callbacks)));
        partitioners::register(&target, Registration::Partitioner(partitioner));
        Ok(())
    }
    let least = size_of::<RegisterPartitionerArgs>();
    // SAFETY: the extension makes the caller pass `struct_size` bytes.
    unsafe { abi::enter("PJRT_Register_Custom_Partitioner", args, least, body) }
}

unsafe extern "C" fn register_batch_partitionable(
    args: *mut RegisterBatchArgs,
) -> *mut ffi::PJRT_Error {
    fn body(args: &mut RegisterBatchArgs) -> Result<()> {
        // SAFETY: the extension makes the caller pass a name of that size.
        let target = unsafe { target(args.name, args.name_size) }?;
        partitioners::register(&target, Registration::Batch);
        Ok(())
    }
    let least = size_of::<RegisterBatchArgs>();
    // SAFETY: the extension makes the caller pass `struct_size` bytes.
    unsafe { abi::enter("PJRT_Register_Batch_Partitionable", args, least, body) }
}

/// Calls the function whose address is in the configuration of an `InspectSharding`, a byte for each
/// character: JAX puts it there and keeps it alive while it compiles.
fn inspect(config: &str, of_value: &Sharding) -> Result<()> {
    const SIZE: usize = size_of::<InspectCallback>();
    let bytes: Option<Vec<u8>> = config.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect();
    let bytes: [u8; SIZE] =
        bytes.and_then(|bytes| bytes.try_into().ok()).ok_or_else(invalid_callback)?;
    // SAFETY: numbers may have any bits.
    let [call, data]: [usize; 2] = unsafe { std::mem::transmute(bytes) };
    if !is_mapped(call, Use::Call) || !(data == 0 || is_mapped(data, Use::Read)) {
        return Err(invalid_callback());
    }
    let spec = sharding::to_proto(of_value).encode_to_vec();
    let mut args = InspectArgs {
        sharding_spec: spec.as_ptr().cast(),
        sharding_spec_size: spec.len(),
        error_txt: std::ptr::null(),
        error_scratch: std::ptr::null_mut(),
        free_error: None,
    };
    // SAFETY: whoever wrote the program vouches for the address, as XLA demands of them; that it is one
    // of code, and not left over from another process, was looked up. The arguments live until the end of this function.
    unsafe {
        let callback: InspectCallback = std::mem::transmute(bytes);
        (callback.call)(callback.data, &raw mut args);
        if args.error_txt.is_null() {
            return Ok(());
        }
        let text = CStr::from_ptr(args.error_txt).to_string_lossy().into_owned();
        if let Some(free) = args.free_error {
            free(&raw mut args);
        }
        Err(Error::internal(format!("Error calling inspect_sharding: {text}")))
    }
}

fn invalid_callback() -> Error {
    Error::internal("Invalid config string for inspect sharding.")
}

/// The extension, to be chained to `next`.
pub(crate) fn extension(next: *mut ffi::PJRT_Extension_Base) -> PartitionerExtension {
    partitioners::set_inspector(inspect);
    PartitionerExtension {
        base: ffi::PJRT_Extension_Base {
            struct_size: size_of::<PartitionerExtension>(),
            type_: ffi::PJRT_Extension_Type_Custom_Partitioner,
            next,
        },
        register_custom_partitioner: Some(register_custom_partitioner),
        register_batch_partitionable: Some(register_batch_partitionable),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_lead_nowhere_are_errors() {
        let small = "\u{8}\0\0\0\0\0\0\0".repeat(2);
        for config in [String::new(), "\0".repeat(16), small, "ÿ".repeat(16)] {
            let error = inspect(&config, &Sharding::replicated()).unwrap_err();
            assert_eq!(error.message, invalid_callback().message);
        }
    }
}
