//! Steps down gradients of tables: the rows that were read, some of them often and some of them outside, get what
//! they would get of a gradient made as a whole, to the bit.

use rxla_cpu::{Options, compile};
use rxla_hlo::literal::{Tolerance, compare};
use rxla_hlo::{ArrayLiteral, Literal};
use rxla_interpreter::{Interpreter, Options as World};

use crate::{leaves, module};

const TABLES: &str = include_str!("../../../../tests/hlo/passes/sparse-update-rewriter/tables.hlo");

#[test]
fn rows_get_what_the_whole_gradient_gives() {
    let module = module(TABLES);
    let mut state = 1_u32;
    let mut number = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 8
    };
    let parameters = module[module.entry()].parameters().iter();
    let inputs: Vec<Literal> = parameters
        .map(|&parameter| {
            let shape = module[parameter].shape.as_array().unwrap();
            let count = shape.element_count().unwrap();
            if shape.element_type.is_float() {
                let values: Vec<f32> = (0..count).map(|_| number() as f32 / 1e7 - 0.8).collect();
                return Literal::from_values(shape.dims.clone(), &values);
            }
            // The same ones again and again, and some that are in no table.
            let place = |at: usize| match at % 4 {
                0 => (number() % 5003) as i32 - 1,
                _ => 4999 - (at % 3) as i32,
            };
            let values: Vec<i32> = (0..count).map(place).collect();
            Literal::Array(ArrayLiteral::from_values(shape.dims.clone(), &values))
        })
        .collect();
    let expected = Interpreter::new(module.clone()).run(inputs.clone(), &World::default()).unwrap();
    let executable = compile(&module, &Options::default()).unwrap();
    let found = executable.run(inputs, World::default).unwrap();
    let expected = leaves(expected);
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(&expected) {
        compare(expected, found, Tolerance::EXACT).unwrap();
    }
}
