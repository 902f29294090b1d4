//! Random bits.

use rxla_hlo::text::{ParseOptions, parse};

use super::{EXACT, Random, check_on, literal};

#[test]
fn random_bits() {
    for algorithm in ["rng_philox", "rng_three_fry", "rng_default"] {
        for (state, values) in [
            ("u64[2]", "u32[33]"),
            ("u64[2]", "u64[33]"),
            ("u64[3]", "u32[5,8]"),
            ("u64[3]", "s64[5,8]"),
            ("u32[4]", "u16[3,5,7]"),
            ("u64[2]", "f32[4,5]"),
            ("u64[2]", "s4[3,6]"),
            ("u64[2]", "u32[]"),
            ("u64[2]", "u8[2,0]"),
        ] {
            let text = format!(
                "HloModule test
                 ENTRY main {{
                   s = {state} parameter(0)
                   ROOT r = ({state}, {values}) rng-bit-generator(s), algorithm={algorithm}
                 }}"
            );
            let module = parse(&text, &ParseOptions::default()).expect("text").module;
            let id = module[module.entry()].root();
            let mut random = Random(7);
            let operand = module[id].operands()[0];
            let operands = vec![literal(&mut random, &module[operand].shape)];
            check_on(&module, id, operands, EXACT);
        }
    }
}
