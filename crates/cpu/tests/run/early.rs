//! Results that are told before the run ends.

use std::cell::RefCell;

use rxla_cpu::{Options, compile};
use rxla_hlo::Literal;
use rxla_hlo::text::parse_literal;
use rxla_interpreter::{DeviceId, Options as World};

use crate::module;

/// What a run tells, and what it gives in the end.
fn run(text: &str, argument: &Literal) -> (Vec<(usize, Literal)>, Vec<Literal>) {
    let executable = compile(&module(text), &Options::default()).unwrap();
    let told = RefCell::new(Vec::new());
    let tell = |leaf: usize, value: Literal| told.borrow_mut().push((leaf, value));
    let arguments = vec![argument.clone()];
    let results =
        executable.run_on(DeviceId::default(), arguments, Some(&tell), World::default).unwrap();
    (told.into_inner(), results)
}

/// A sum of all, a mask of a few and half a number, then products that take far longer.
const STEP: &str = "HloModule step
    add { a = f32[] parameter(0)
      b = f32[] parameter(1)
      ROOT c = f32[] add(a, b) }
    ENTRY e {
      x = f32[SIZE,SIZE] parameter(0)
      zero = f32[] constant(0)
      sum = f32[] reduce(x, zero), dimensions={0,1}, to_apply=add
      column = f32[SIZE] reduce(x, zero), dimensions={1}, to_apply=add
      some = f32[4] slice(column), slice={[0:4]}
      two = f32[4] constant({2, 2, 2, 2})
      mask = pred[4] compare(some, two), direction=GT
      d = f32[SIZE,SIZE] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      e = f32[SIZE,SIZE] dot(d, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      corner = f32[1,1] slice(e), slice={[0:1], [0:1]}
      number = f32[] reshape(corner)
      none = f32[0] slice(column), slice={[0:0]}
      ROOT r = (f32[SIZE,SIZE], f32[], pred[4], f32[], f32[], f32[0]) tuple(e, sum, mask, number, sum, none)
    }";

fn step(size: usize) -> String {
    STEP.replace("SIZE", &size.to_string())
}

/// Ones, but the first row of zeros.
fn ones(size: usize) -> Literal {
    let values: Vec<f32> = (0..size * size).map(|i| f32::from(i >= size)).collect();
    Literal::from_values([size as i64; 2], &values)
}

#[test]
fn small_results_are_told_when_they_are_there() {
    let size = 320;
    let (mut told, results) = run(&step(size), &ones(size));
    told.sort_by_key(|(leaf, _)| *leaf);
    // Neither the large one nor what comes last, nor what has no elements.
    assert_eq!(told.iter().map(|(leaf, _)| *leaf).collect::<Vec<_>>(), [1, 2, 4]);
    for (leaf, value) in told {
        assert_eq!(value, results[leaf]);
    }
    assert_eq!(results[1].values::<f32>(), [(size * size - size) as f32]);
    assert_eq!(results[2], parse_literal("pred[4] {false, true, true, true}").unwrap());
}

#[test]
fn nothing_is_told_where_little_is_still_to_do() {
    let (told, results) = run(&step(16), &ones(16));
    assert!(told.is_empty());
    assert_eq!(results[1].values::<f32>(), [240.0]);
}

#[test]
fn what_lies_in_donated_memory_comes_with_the_others() {
    let text = "HloModule counter, input_output_alias={ {0}: (0, {}, must-alias) }
        ENTRY e {
          n = s32[4] parameter(0)
          one = s32[4] constant({1, 1, 1, 1})
          next = s32[4] add(n, one)
          i = f32[320,320] iota(), iota_dimension=0
          d = f32[320,320] dot(i, i), lhs_contracting_dims={1}, rhs_contracting_dims={0}
          e = f32[320,320] dot(d, i), lhs_contracting_dims={1}, rhs_contracting_dims={0}
          ROOT r = (s32[4], f32[320,320]) tuple(next, e)
        }";
    let (told, results) = run(text, &Literal::from_values([4], &[1, 2, 3, 4]));
    assert!(told.is_empty());
    assert_eq!(results[0].values::<i32>(), [2, 3, 4, 5]);
}

#[test]
fn who_panics_when_told_hurts_nobody() {
    let executable = compile(&module(&step(320)), &Options::default()).unwrap();
    let tell = |_: usize, _: Literal| std::panic::resume_unwind(Box::new("on purpose"));
    let arguments = vec![ones(320)];
    let results =
        executable.run_on(DeviceId::default(), arguments, Some(&tell), World::default).unwrap();
    assert_eq!(results[1].values::<f32>(), [(320 * 320 - 320) as f32]);
}
