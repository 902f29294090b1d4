//! Compiled programs against the interpreter.

mod attention;
mod bits;
mod early;
mod extremes;
mod large;
mod loops;
mod masked;
mod meetings;
mod memory;
mod runtime;
mod side_by_side;
mod sparse;
mod stacks;
mod subnormals;
mod transfers;

use std::sync::Arc;

use loops::COUNT;
use rxla_cpu::{Executable, Options, compile};
use rxla_hlo::literal::{Tolerance, compare};
use rxla_hlo::text::{ParseOptions, parse, parse_literal};
use rxla_hlo::{Literal, Module};
use rxla_interpreter::{Interpreter, Options as World};

fn module(text: &str) -> Arc<Module> {
    let parsed = parse(text, &ParseOptions::default()).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    let findings = rxla_hlo::verify(&parsed.module);
    assert!(findings.is_empty(), "{findings:?}");
    Arc::new(parsed.module)
}

fn leaves(literal: Literal) -> Vec<Literal> {
    match literal {
        Literal::Tuple(elements) => elements.into_iter().flat_map(leaves).collect(),
        leaf => vec![leaf],
    }
}

/// Runs a module both ways on values in HLO text, twice compiled, and compares.
fn check(text: &str, inputs: &[&str]) {
    check_within(text, inputs, Tolerance::within_ulps(4));
}

fn check_within(text: &str, inputs: &[&str], tolerance: Tolerance) {
    let module = module(text);
    let inputs: Vec<Literal> = inputs.iter().map(|text| parse_literal(text).unwrap()).collect();
    let expected = Interpreter::new(module.clone()).run(inputs.clone(), &World::default()).unwrap();
    let expected = leaves(expected);
    let executable = compile(&module, &Options::default().with_subnormals()).unwrap();
    for _ in 0..2 {
        let found = executable.run(inputs.clone(), World::default).unwrap();
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(&expected) {
            if let Err(difference) = compare(expected, found, tolerance) {
                panic!("{difference:?}\n{text}");
            }
        }
    }
}

/// Runs a program once and compares with the interpreter.
fn agrees(module: &Arc<Module>, program: &Executable, inputs: Vec<Literal>, tolerance: Tolerance) {
    let expected = Interpreter::new(module.clone()).run(inputs.clone(), &World::default()).unwrap();
    let found = program.run(inputs, World::default).unwrap();
    for (found, expected) in found.iter().zip(&leaves(expected)) {
        compare(expected, found, tolerance).unwrap();
    }
}

#[test]
fn elementwise() {
    check(
        "HloModule m
        ENTRY e {
          a = f32[2,3] parameter(0)
          b = f32[2,3] parameter(1)
          c = f32[2,3] add(a, b)
          d = f32[2,3] multiply(c, a)
          s = f32[] constant(2)
          t = f32[2,3] broadcast(s), dimensions={}
          u = f32[2,3] divide(d, t)
          ROOT r = (f32[2,3], f32[2,3]) tuple(u, c)
        }",
        &["f32[2,3] {{1,2,3},{4,5,6}}", "f32[2,3] {{0.5,1,2},{3,4,-5}}"],
    );
}

#[test]
fn scalars_and_what_only_passes_through() {
    check(
        "HloModule m
        ENTRY e {
          a = s32[] parameter(0)
          b = f32[4] parameter(1)
          c = s32[] constant(3)
          d = s32[] add(a, c)
          k = f32[2] constant({1, 2})
          z = c64[] parameter(2)
          y = c64[] multiply(z, z)
          ROOT r = (s32[], f32[4], s32[], s32[], f32[2], c64[], s32[]) tuple(d, b, a, c, k, y, d)
        }",
        &["s32[] 4", "f32[4]{0} {1,2,3,4}", "c64[] (1, 2)"],
    );
}

#[test]
fn errors_of_what_is_interpreted_end_the_run() {
    let text = "HloModule m
        ENTRY e {
          x = f32[2] parameter(0)
          y = f32[2] add(x, x)
          ROOT c = f32[2] custom-call(y), custom_call_target=\"nobody knows it\"
        }";
    let executable = compile(&module(text), &Options::default()).unwrap();
    let error =
        executable.run(vec![Literal::from_values([2], &[1f32, 2.0])], World::default).unwrap_err();
    assert!(error.message.contains("nobody knows it"), "{error}");
}

#[test]
fn arguments_that_do_not_fit_are_refused() {
    let executable = compile(&module(COUNT), &Options::default()).unwrap();
    let error = executable.run(vec![Literal::scalar(1i32)], World::default).unwrap_err();
    assert_eq!(error.message, "`m` takes 2 arguments, 1 are given");
    let short = Literal::from_values([2], &[1f32, 2.0]);
    let error = executable.run(vec![Literal::scalar(1i32), short], World::default).unwrap_err();
    assert_eq!(error.message, "argument 1 is `f32[2]` where `f32[3]` is expected");
}

#[test]
fn large_arrays_are_shared_among_threads() {
    let text = "HloModule m
        ENTRY e {
          x = f32[1000,1000] parameter(0)
          y = f32[1000,1000] tanh(x)
          z = f32[1000,1000] multiply(y, x)
          ROOT t = f32[1000,1000] add(z, y)
        }";
    let module = module(text);
    let values: Vec<f32> = (0..1_000_000).map(|i| (i % 1013) as f32 / 100.0 - 5.0).collect();
    let x = Literal::from_values([1000, 1000], &values);
    let expected =
        Interpreter::new(module.clone()).run(vec![x.clone()], &World::default()).unwrap();
    let executable = compile(&module, &Options::default()).unwrap();
    let found = executable.run(vec![x], World::default).unwrap();
    compare(&expected, &found[0], Tolerance::within_ulps(4)).unwrap();
}
