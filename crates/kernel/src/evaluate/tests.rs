use super::{Environment, Memory, evaluate, evaluate_alone};
use crate::ir::{FunctionId, Module};
use crate::text::parse;
use crate::verify;

fn module(text: &str) -> Module {
    let module = parse(text).unwrap_or_else(|finding| panic!("{finding:?}"));
    verify(&module).unwrap_or_else(|findings| panic!("{findings:?}"));
    module
}

fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

#[test]
fn a_sum_over_a_buffer() {
    let module = module(
        "kernel @sum(%a: ptr, %n: i64, %out: ptr) {
           %zero: i64 = constant 0
           %start: f32 = constant 0.0
           %sum: f32 = for vector %i in %zero..%n step 1 carried (%s = %start) {
             %x: f32 = load %a[%i]
             %next: f32 = add %s, %x
             yield %next
           }
           store %out[%zero], %sum
         }",
    );
    let mut memory = Memory::default();
    let a = memory.add(floats(&[1.0, 2.0, 3.5]));
    let out = memory.add(floats(&[0.0]));
    evaluate_alone(&module, FunctionId(0), &[a, 3, out], &mut memory).unwrap();
    assert_eq!(memory.region(out), floats(&[6.5]));
    let error = evaluate_alone(&module, FunctionId(0), &[a, 4, out], &mut memory).unwrap_err();
    assert_eq!(error.message, "access to 4 bytes at 12 of region 1 is outside");
}

#[test]
fn vectors_with_masks_and_indices() {
    let module = module(
        "kernel @f(%a: ptr, %out: ptr) {
           %zero: i64 = constant 0
           %three: i64x4 = constant 3
           %lane: i64x4 = lane_index
           %back: i64x4 = sub %three, %lane
           %one: i64x4 = constant 1
           %odd: i64x4 = and %lane, %one
           %mask: i1x4 = compare eq %odd, %one
           %x: f32x4 = load %a[%back] mask %mask
           store %out[%zero], %x
           %four: i64 = constant 4
           store %out[%four], %x mask %mask
           %eight: i64x4 = constant 8
           %to: i64x4 = add %back, %eight
           store %out[%to], %x
           %sum: f32 = reduce add %x
           %twelve: i64 = constant 12
           store %out[%twelve], %sum
         }",
    );
    let mut memory = Memory::default();
    let a = memory.add(floats(&[1.0, 2.0, 3.0, 4.0]));
    let out = memory.add(floats(&[9.0; 13]));
    evaluate_alone(&module, FunctionId(0), &[a, out], &mut memory).unwrap();
    let expected = [0.0, 3.0, 0.0, 1.0, 9.0, 3.0, 9.0, 1.0, 1.0, 0.0, 3.0, 0.0, 4.0];
    assert_eq!(memory.region(out), floats(&expected));
}

#[test]
fn control_calls_and_returns() {
    let module = module(
        "kernel @main(%n: i64, %out: ptr) -> i64 {
           %zero: i64 = constant 0
           %one: i64 = constant 1
           parallel_call %out, @piece(%out) count %n grain 2
           %r: i64 = while carried (%x = %n) {
             %more: i1 = compare sgt %x, %one
             yield %more
           } do {
             %y: i64 = sub %x, %one
             yield %y
           }
           %bad: i1 = compare ne %r, %one
           if %bad {
             return_if_nonzero %r
           }
           %code: i64 = call_runtime @status(%r)
           return_if_nonzero %code
           %never: i64 = load %out[%n]
         }
         inline @piece(%out: ptr, %begin: i64, %end: i64) {
           for %i in %begin..%end step 1 { store %out[%i], %end }
         }",
    );
    let mut memory = Memory::default();
    let out = memory.add(vec![0; 8 * 7]);
    let mut runtime = |name: &str, arguments: &[u64], _: &mut Memory| {
        assert_eq!((name, arguments), ("status", &[1][..]));
        Ok(42)
    };
    let mut environment = Environment { runtime: &mut runtime, fuel: 1000 };
    let result =
        evaluate(&module, FunctionId(0), &[7, out], &mut memory, &mut environment).unwrap();
    assert_eq!(result, Some(42));
    let ends: Vec<u8> = memory.region(out).iter().step_by(8).copied().collect();
    assert_eq!(ends, [2, 2, 4, 4, 6, 6, 7]);
}

#[test]
fn loops_without_end_are_left() {
    let module = module("kernel @f(%c: i1) { while { yield %c } do { %x: i1 = and %c, %c } }");
    let mut runtime = |_: &str, _: &[u64], _: &mut Memory| Ok(0);
    let mut environment = Environment { runtime: &mut runtime, fuel: 1000 };
    let memory = &mut Memory::default();
    let error = evaluate(&module, FunctionId(0), &[1], memory, &mut environment).unwrap_err();
    assert_eq!(error.message, "the evaluation takes too long");
}

#[test]
fn a_loop_near_the_end_of_the_integers_ends() {
    let module = module(
        "kernel @f(%out: ptr) {
           %low: i64 = constant 9223372036854775800
           %high: i64 = constant 9223372036854775807
           %zero: i64 = constant 0
           %n: i64 = for %i in %low..%high step 5 carried (%k = %zero) {
             %one: i64 = constant 1
             %next: i64 = add %k, %one
             yield %next
           }
           store %out[%zero], %n
         }",
    );
    let mut memory = Memory::default();
    let out = memory.add(vec![0; 8]);
    evaluate_alone(&module, FunctionId(0), &[out], &mut memory).unwrap();
    assert_eq!(memory.region(out)[0], 2);
}
