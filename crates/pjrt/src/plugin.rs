//! What the plugin says of itself.

use std::sync::OnceLock;

use crate::abi::entry;
use crate::ffi;
use crate::named_value::{NamedValues, Value};

/// The version of StableHLO that frameworks shall send: they downgrade to it what they have. It is
/// the one our reader was tested with; a newer framework still sends what it reads.
const STABLEHLO_VERSION: [i64; 3] = [1, 17, 0];
/// The oldest version that is read.
const STABLEHLO_MINIMUM_VERSION: [i64; 3] = [1, 0, 0];

fn attributes() -> &'static NamedValues {
    static ATTRIBUTES: OnceLock<NamedValues> = OnceLock::new();
    ATTRIBUTES.get_or_init(|| {
        NamedValues::new(vec![
            ("stablehlo_current_version".to_owned(), Value::Ints(STABLEHLO_VERSION.to_vec())),
            (
                "stablehlo_minimum_version".to_owned(),
                Value::Ints(STABLEHLO_MINIMUM_VERSION.to_vec()),
            ),
        ])
    })
}

entry! {
    fn PJRT_Plugin_Initialize(_args: PJRT_Plugin_Initialize_Args) {
        Ok(())
    }

    fn list_attributes(args: PJRT_Plugin_Attributes_Args since attributes) {
        let attributes = attributes();
        args.attributes = attributes.as_ptr();
        args.num_attributes = attributes.len();
        Ok(())
    }
}

/// The header of older versions (0.54 for one) says a size of the argument struct that ends with
/// `attributes`. The struct never did: clients built with that header have the number behind it, and
/// read it.
#[allow(non_snake_case)]
pub(crate) unsafe extern "C" fn PJRT_Plugin_Attributes(
    args: *mut ffi::PJRT_Plugin_Attributes_Args,
) -> *mut ffi::PJRT_Error {
    // SAFETY: passed on from the caller.
    let error = unsafe { list_attributes(args) };
    if error.is_null() {
        // SAFETY: the call has succeeded, so this is the struct, which has had this field in every
        // version.
        unsafe { (*args).num_attributes = attributes().len() };
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_whose_header_says_too_small_a_size_gets_the_number() {
        let mut args = ffi::PJRT_Plugin_Attributes_Args {
            struct_size: 24,
            extension_start: std::ptr::null_mut(),
            attributes: std::ptr::null(),
            num_attributes: 0,
        };
        // SAFETY: the whole struct is here.
        assert!(unsafe { PJRT_Plugin_Attributes(&mut args) }.is_null());
        assert_eq!(args.num_attributes, 2);
        args.struct_size = 16;
        // SAFETY: as above.
        assert!(!unsafe { PJRT_Plugin_Attributes(&mut args) }.is_null());
    }
}
