//! What the plugin says of itself.

use std::sync::OnceLock;

use crate::abi::entry;
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

    fn PJRT_Plugin_Attributes(args: PJRT_Plugin_Attributes_Args) {
        let attributes = attributes();
        args.attributes = attributes.as_ptr();
        args.num_attributes = attributes.len();
        Ok(())
    }
}
