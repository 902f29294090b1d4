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

fn floats(dims: [i64; 2], scale: f32) -> Literal {
    let values: Vec<f32> = (0..dims[0] * dims[1]).map(|i| scale * i as f32 - 1.0).collect();
    Literal::from_values(dims, &values)
}

/// What is computed of a gradient of zero is the table itself, which stays where it is if it is given away.
#[test]
fn tables_that_are_given_away_are_not_copied() {
    // Also if all of it changes, as with momentum: its rows are read before that.
    table_is_updated_in_place("reshape(table)");
    table_is_updated_in_place("multiply(table, rates)");
}

fn table_is_updated_in_place(kept: &str) {
    let text = "HloModule m, input_output_alias={ {}: (0, {}, may-alias) }
        add {
          a = f32[] parameter(0)
          b = f32[] parameter(1)
          ROOT c = f32[] add(a, b)
        }
        ENTRY e {
          table = f32[4096,32] parameter(0)
          rows = s32[6,1] parameter(1)
          updates = f32[6,32] parameter(2)
          zero = f32[] constant(0)
          zeros = f32[4096,32] broadcast(zero), dimensions={}
          gradient = f32[4096,32] scatter(zeros, rows, updates), update_window_dims={1},
              inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add
          rate = f32[] constant(0.1)
          rates = f32[4096,32] broadcast(rate), dimensions={}
          step = f32[4096,32] multiply(gradient, rates)
          kept = f32[4096,32] KEPT
          ROOT next = f32[4096,32] subtract(kept, step)
        }";
    let module = module(&text.replace("KEPT", kept));
    let rows = ArrayLiteral::from_values([6, 1], &[7, 4095, 7, -1, 4096, 0]);
    let inputs = [floats([4096, 32], 1e-4), Literal::Array(rows), floats([6, 32], 0.03)];
    let expected =
        Interpreter::new(module.clone()).run(inputs.to_vec(), &World::default()).unwrap();
    let executable = compile(&module, &Options::default()).unwrap();
    assert!(executable.temp_bytes() < 4096 * 32 * 4, "{} bytes", executable.temp_bytes());
    let [table, rows, updates] = inputs;
    let address = table.array().bytes().as_ptr();
    let found = executable.run(vec![table.clone(), rows.clone(), updates.clone()], World::default);
    compare(&leaves(expected)[0], &found.unwrap()[0], Tolerance::EXACT).unwrap();
    // Nobody else holds it now.
    let found = executable.run(vec![table, rows, updates], World::default).unwrap();
    assert_eq!(found[0].array().bytes().as_ptr(), address);
}

/// All threads copy a large table that is kept, before one adds to the copy.
#[test]
fn tables_that_are_kept_are_copied() {
    let text = "HloModule m
        add {
          a = f32[] parameter(0)
          b = f32[] parameter(1)
          ROOT c = f32[] add(a, b)
        }
        ENTRY e {
          table = f32[4096,32] parameter(0)
          rows = s32[4,1] parameter(1)
          updates = f32[4,32] parameter(2)
          next = f32[4096,32] scatter(table, rows, updates), update_window_dims={1},
              inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add
          ROOT both = (f32[4096,32], f32[4096,32]) tuple(next, table)
        }";
    let module = module(text);
    let rows = Literal::Array(ArrayLiteral::from_values([4, 1], &[7, 4095, 7, -1]));
    let inputs = vec![floats([4096, 32], 1e-4), rows, floats([4, 32], 1e-4)];
    let expected = Interpreter::new(module.clone()).run(inputs.clone(), &World::default()).unwrap();
    let found = compile(&module, &Options::default()).unwrap().run(inputs, World::default).unwrap();
    for (expected, found) in leaves(expected).iter().zip(&found) {
        compare(expected, found, Tolerance::EXACT).unwrap();
    }
}
