//! Compiled programs against the interpreter.

use std::sync::Arc;

use rxla_cpu::{Options, compile};
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
    let module = module(text);
    let inputs: Vec<Literal> = inputs.iter().map(|text| parse_literal(text).unwrap()).collect();
    let expected = Interpreter::new(module.clone()).run(inputs.clone(), &World::default()).unwrap();
    let expected = leaves(expected);
    let executable = compile(&module, &Options::default()).unwrap();
    for _ in 0..2 {
        let found = executable.run(inputs.clone(), World::default).unwrap();
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(&expected) {
            if let Err(difference) = compare(expected, found, Tolerance::within_ulps(4)) {
                panic!("{difference:?}\n{text}");
            }
        }
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

const COUNT: &str = "HloModule m
    body {
      s = (s32[], s32[], f32[3]) parameter(0)
      i = s32[] get-tuple-element(s), index=0
      n = s32[] get-tuple-element(s), index=1
      x = f32[3] get-tuple-element(s), index=2
      one = s32[] constant(1)
      j = s32[] add(i, one)
      y = f32[3] add(x, x)
      ROOT t = (s32[], s32[], f32[3]) tuple(j, n, y)
    }
    cond {
      s = (s32[], s32[], f32[3]) parameter(0)
      i = s32[] get-tuple-element(s), index=0
      n = s32[] get-tuple-element(s), index=1
      ROOT c = pred[] compare(i, n), direction=LT
    }
    ENTRY e {
      n = s32[] parameter(0)
      x = f32[3] parameter(1)
      zero = s32[] constant(0)
      t = (s32[], s32[], f32[3]) tuple(zero, n, x)
      ROOT w = (s32[], s32[], f32[3]) while(t), condition=cond, body=body
    }";

#[test]
fn loops() {
    check(COUNT, &["s32[] 5", "f32[3]{0} {1, 2, 3}"]);
    check(COUNT, &["s32[] 0", "f32[3]{0} {1, 2, 3}"]);
}

#[test]
fn loops_that_exchange_what_they_carry() {
    check(
        "HloModule m
        body {
          s = (s32[], f32[2], f32[2], f32[2], f32[], f32[]) parameter(0)
          i = s32[] get-tuple-element(s), index=0
          a = f32[2] get-tuple-element(s), index=1
          b = f32[2] get-tuple-element(s), index=2
          c = f32[2] get-tuple-element(s), index=3
          p = f32[] get-tuple-element(s), index=4
          q = f32[] get-tuple-element(s), index=5
          one = s32[] constant(1)
          j = s32[] add(i, one)
          d = f32[2] add(b, c)
          pq = f32[] add(p, q)
          ROOT t = (s32[], f32[2], f32[2], f32[2], f32[], f32[]) tuple(j, b, a, d, q, pq)
        }
        cond {
          s = (s32[], f32[2], f32[2], f32[2], f32[], f32[]) parameter(0)
          i = s32[] get-tuple-element(s), index=0
          n = s32[] constant(7)
          ROOT c = pred[] compare(i, n), direction=LT
        }
        ENTRY e {
          a = f32[2] parameter(0)
          b = f32[2] parameter(1)
          p = f32[] parameter(2)
          zero = s32[] constant(0)
          t = (s32[], f32[2], f32[2], f32[2], f32[], f32[]) tuple(zero, a, b, a, p, p)
          w = (s32[], f32[2], f32[2], f32[2], f32[], f32[]) while(t), condition=cond, body=body
          x = f32[2] get-tuple-element(w), index=1
          ROOT r = ((s32[], f32[2], f32[2], f32[2], f32[], f32[]), f32[2]) tuple(w, x)
        }",
        &["f32[2]{0} {1, 2}", "f32[2]{0} {10, 20}", "f32[] 1"],
    );
}

#[test]
fn branches() {
    let text = |index: &str| {
        format!(
            "HloModule m
            one {{
              p = (f32[2], f32[]) parameter(0)
              x = f32[2] get-tuple-element(p), index=0
              y = f32[] get-tuple-element(p), index=1
              d = f32[2] add(x, x)
              ROOT r = (f32[], f32[2]) tuple(y, d)
            }}
            two {{
              x = f32[2] parameter(0)
              k = f32[] constant(7)
              ROOT r = (f32[], f32[2]) tuple(k, x)
            }}
            three {{
              x = f32[2] parameter(0)
              k = f32[] constant(9)
              n = f32[2] negate(x)
              m = f32[2] multiply(n, n)
              ROOT r = (f32[], f32[2]) tuple(k, m)
            }}
            ENTRY e {{
              i = {index} parameter(0)
              x = f32[2] parameter(1)
              y = f32[] parameter(2)
              t = (f32[2], f32[]) tuple(x, y)
              ROOT r = (f32[], f32[2]) conditional(i, t, x{}), {}
            }}",
            if index == "s32[]" { ", x" } else { "" },
            if index == "s32[]" {
                "branch_computations={one, two, three}"
            } else {
                "true_computation=one, false_computation=two"
            }
        )
    };
    for number in ["-1", "0", "1", "2", "3"] {
        let index = format!("s32[] {number}");
        check(&text("s32[]"), &[&index, "f32[2]{0} {1, 2}", "f32[] 5"]);
    }
    for truth in ["true", "false"] {
        let index = format!("pred[] {truth}");
        check(&text("pred[]"), &[&index, "f32[2]{0} {1, 2}", "f32[] 5"]);
    }
}
