//! Chains of products that are computed tile by tile: the values are those of the chain as it stands, and
//! what lies between the products takes no memory as a whole.

use std::sync::Arc;

use rxla_cpu::{Options, compile};
use rxla_hlo::literal::{Tolerance, compare};
use rxla_hlo::{Literal, Module};
use rxla_interpreter::{Interpreter, Options as World};

use crate::{leaves, module};

const ATTENTION: &str = include_str!("../../../../tests/hlo/passes/dot-chain-tiling/attention.hlo");
const GRADIENT: &str = include_str!("../../../../tests/hlo/passes/dot-chain-tiling/gradient.hlo");
const GROUPED: &str = include_str!("../../../../tests/hlo/passes/dot-chain-tiling/grouped.hlo");
const RETURNED: &str = include_str!("../../../../tests/hlo/passes/dot-chain-tiling/returned.hlo");

pub(crate) fn values(dims: &[i64], seed: u32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(2_654_435_761) | 1;
    let next = |_| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state as f32 / u32::MAX as f32 - 0.5
    };
    (0..dims.iter().product()).map(next).collect()
}

/// Compares a program on changed values with the interpreter and itself; gives its temporary memory.
fn check(text: &str, change: impl Fn(usize, &mut Vec<f32>)) -> usize {
    let module = module(text);
    let parameters = module[module.entry()].parameters().iter().enumerate();
    let inputs: Vec<Literal> = parameters
        .map(|(number, &parameter)| {
            let dims = module[parameter].shape.as_array().unwrap().dims.clone();
            let mut values = values(&dims, number as u32 + 1);
            change(number, &mut values);
            Literal::from_values(dims, &values)
        })
        .collect();
    agrees_and_repeats(&module, inputs)
}

/// Compares a program with the interpreter and itself; gives its temporary memory.
pub(crate) fn agrees_and_repeats(module: &Arc<Module>, inputs: Vec<Literal>) -> usize {
    let expected = Interpreter::new(module.clone()).run(inputs.clone(), &World::default()).unwrap();
    let executable = compile(module, &Options::default()).unwrap();
    let found = executable.run(inputs.clone(), World::default).unwrap();
    for (found, expected) in found.iter().zip(&leaves(expected)) {
        compare(expected, found, Tolerance::within(2e-6, 1e-4)).unwrap();
    }
    let again = executable.run(inputs, World::default).unwrap();
    for (found, again) in found.iter().zip(&again) {
        compare(found, again, Tolerance::EXACT).unwrap();
    }
    executable.temp_bytes()
}

#[test]
fn scores_take_no_memory_as_a_whole() {
    let scores = 2 * 700 * 500 * 4;
    assert!(check(RETURNED, |_, _| {}) < 2 * scores);
    assert!(check(ATTENTION, |_, _| {}) < scores / 8);
    assert!(check(GRADIENT, |_, _| {}) < scores / 4);
    assert!(check(GROUPED, |_, _| {}) < 3 * 4096 * 64 * 4 / 4);
}

#[test]
fn rows_without_anything_to_see_are_nan() {
    // The first row sees nothing.
    check(&ATTENTION.replace("direction=GE", "direction=GT"), |_, _| {});
    check(&GRADIENT.replace("direction=GE", "direction=GT"), |_, _| {});
}

#[test]
fn nan_and_infinity_go_where_they_go() {
    for text in [ATTENTION, GRADIENT, RETURNED] {
        for parameter in 0..3 {
            check(text, |number, values| {
                if number == parameter {
                    values[40 * 16 + 3] = f32::NAN;
                    values[430 * 16 + 5] = f32::INFINITY;
                }
            });
        }
    }
}
