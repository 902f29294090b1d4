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
    check_within(text, inputs, Tolerance::within_ulps(4));
}

fn check_within(text: &str, inputs: &[&str], tolerance: Tolerance) {
    let module = module(text);
    let inputs: Vec<Literal> = inputs.iter().map(|text| parse_literal(text).unwrap()).collect();
    let expected = Interpreter::new(module.clone()).run(inputs.clone(), &World::default()).unwrap();
    let expected = leaves(expected);
    let executable = compile(&module, &Options::default()).unwrap();
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

#[test]
fn scans_write_their_rows_in_place() {
    check(
        "HloModule m
        body {
          s = (s32[], f32[5,3], f32[3], f32[5,3]) parameter(0)
          i = s32[] get-tuple-element(s), index=0
          ys = f32[5,3] get-tuple-element(s), index=1
          c = f32[3] get-tuple-element(s), index=2
          xs = f32[5,3] get-tuple-element(s), index=3
          zero = s32[] constant(0)
          one = s32[] constant(1)
          x = f32[1,3] dynamic-slice(xs, i, zero), dynamic_slice_sizes={1,3}
          x1 = f32[3] reshape(x)
          half = f32[] constant(0.5)
          h = f32[3] broadcast(half), dimensions={}
          d = f32[3] multiply(c, h)
          n = f32[3] add(d, x1)
          t = f32[3] tanh(n)
          row = f32[1,3] reshape(t)
          ys1 = f32[5,3] dynamic-update-slice(ys, row, i, zero)
          j = s32[] add(i, one)
          ROOT t1 = (s32[], f32[5,3], f32[3], f32[5,3]) tuple(j, ys1, t, xs)
        }
        cond {
          s = (s32[], f32[5,3], f32[3], f32[5,3]) parameter(0)
          i = s32[] get-tuple-element(s), index=0
          n = s32[] constant(5)
          ROOT c = pred[] compare(i, n), direction=LT
        }
        ENTRY e {
          xs = f32[5,3] parameter(0)
          c = f32[3] parameter(1)
          zero = s32[] constant(0)
          z = f32[] constant(0)
          ys = f32[5,3] broadcast(z), dimensions={}
          t = (s32[], f32[5,3], f32[3], f32[5,3]) tuple(zero, ys, c, xs)
          w = (s32[], f32[5,3], f32[3], f32[5,3]) while(t), condition=cond, body=body
          a = f32[5,3] get-tuple-element(w), index=1
          b = f32[3] get-tuple-element(w), index=2
          ROOT r = (f32[5,3], f32[3]) tuple(a, b)
        }",
        &["f32[5,3] {{1,2,3},{4,5,6},{7,8,9},{1,1,1},{0,1,0}}", "f32[3]{0} {0.1, 0.2, 0.3}"],
    );
}

#[test]
fn products_and_convolutions_of_the_runtime() {
    check(
        "HloModule m
        ENTRY e {
          i = f32[2,40,3] iota(), iota_dimension=1
          j = f32[3,5,40] iota(), iota_dimension=2
          d = f32[2,3,3,5] dot(i, j), lhs_contracting_dims={1}, rhs_contracting_dims={2}
          x = f32[1,8,8,2] iota(), iota_dimension=1
          k = f32[3,3,2,4] iota(), iota_dimension=0
          c = f32[1,4,4,4] convolution(x, k), window={size=3x3 stride=2x2 pad=1_0x0_1}, dim_labels=b01f_01io->b01f
          ROOT r = (f32[2,3,3,5], f32[1,4,4,4]) tuple(d, c)
        }",
        &[],
    );
}

/// As JAX writes it.
const SORT: &str = "HloModule m
    less {
      x = f32[] parameter(0)
      y = f32[] parameter(1)
      a = s32[] parameter(2)
      b = s32[] parameter(3)
      zero = f32[] constant(0)
      nan = f32[] constant(nan)
      xz = pred[] compare(x, zero), direction=EQ
      xs = f32[] select(xz, zero, x)
      xn = pred[] compare(x, x), direction=NE
      xk = f32[] select(xn, nan, xs)
      yz = pred[] compare(y, zero), direction=EQ
      ys = f32[] select(yz, zero, y)
      yn = pred[] compare(y, y), direction=NE
      yk = f32[] select(yn, nan, ys)
      ROOT l = pred[] compare(xk, yk), direction=LT, type=TOTALORDER
    }
    ENTRY e {
      x = f32[2,6] parameter(0)
      i = s32[2,6] iota(), iota_dimension=1
      ROOT s = (f32[2,6], s32[2,6]) sort(x, i), dimensions={1}, is_stable=true, to_apply=less
    }";

#[test]
fn sorts_by_keys_run_in_the_runtime() {
    check(SORT, &["f32[2,6] {{3,-0,0,nan,-inf,1},{2,2,1,1,-5,0}}"]);
    let executable = compile(&module(SORT), &Options::default()).unwrap();
    assert_eq!(executable.fallbacks().len(), 0);
}

#[test]
fn donated_memory_becomes_the_result() {
    let text = "HloModule m, input_output_alias={ {0}: (0, {}, may-alias) }
        ENTRY e {
          x = f32[64] parameter(0)
          y = f32[64] parameter(1)
          z = f32[64] add(x, y)
          ROOT r = (f32[64]) tuple(z)
        }";
    let module = module(text);
    let executable = compile(&module, &Options::default()).unwrap();
    let values = |start: f32| {
        let values: Vec<f32> = (0..64).map(|i| start + i as f32).collect();
        Literal::from_values([64], &values)
    };
    let expected: Vec<f32> = (0..64).map(|i| 101.0 + 2.0 * i as f32).collect();
    let donated = values(1.0);
    let address = donated.array().bytes().as_ptr();
    let results = executable.run(vec![donated, values(100.0)], World::default).unwrap();
    assert_eq!(results[0].array().bytes().as_ptr(), address);
    assert_eq!(results[0].values::<f32>(), expected);
    // What somebody else holds too stays as it is.
    let kept = values(1.0);
    let results = executable.run(vec![kept.clone(), values(100.0)], World::default).unwrap();
    assert_eq!(results[0].values::<f32>(), expected);
    assert_eq!(kept, values(1.0));
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

#[test]
fn transforms_and_linear_algebra_of_the_runtime() {
    let text = "HloModule m
        ENTRY e {
          x = f32[2,6] parameter(0)
          a = f32[3,3] parameter(1)
          b = f32[3,2] parameter(2)
          f = c64[2,4] fft(x), fft_type=RFFT, fft_length={6}
          g = f32[2,6] fft(f), fft_type=IRFFT, fft_length={6}
          h = c64[2,4] fft(f), fft_type=IFFT, fft_length={4}
          l = f32[3,3] cholesky(a), lower=true
          s = f32[3,2] triangular-solve(a, b), left_side=true, lower=true, transpose_a=TRANSPOSE
          c = f32[2,3] transpose(b), dimensions={1,0}
          u = f32[2,3] triangular-solve(a, c), unit_diagonal=true, transpose_a=NO_TRANSPOSE
          ROOT r = (f32[2,6], c64[2,4], f32[3,3], f32[3,2], f32[2,3]) tuple(g, h, l, s, u)
        }";
    let inputs = [
        "f32[2,6] {{1,2,4,-1,0.5,3},{3,0,0,1,2,-2}}",
        "f32[3,3] {{4,1,0.5},{1,5,1},{0.5,1,6}}",
        "f32[3,2] {{1,2},{3,-4},{5,6}}",
    ];
    let module = module(text);
    assert_eq!(compile(&module, &Options::default()).unwrap().fallbacks().len(), 0);
    check_within(text, &inputs, Tolerance::within(1e-5, 1e-5));
}

/// A loop of five rounds over two arrays, with an index, and what the body makes of them.
fn two_carried(body: &str) -> String {
    format!(
        "HloModule m
        add {{
          x = f32[] parameter(0)
          y = f32[] parameter(1)
          ROOT s = f32[] add(x, y)
        }}
        update {{
          u = (f32[6,4], s32[]) parameter(0)
          ux = f32[6,4] get-tuple-element(u), index=0
          ui = s32[] get-tuple-element(u), index=1
          uz = s32[] constant(0)
          ur = f32[1,4] dynamic-slice(ux, ui, uz), dynamic_slice_sizes={{1,4}}
          un = f32[1,4] negate(ur)
          ROOT v = f32[6,4] dynamic-update-slice(ux, un, uz, uz)
        }}
        keep {{
          k = (f32[6,4], s32[]) parameter(0)
          ROOT kx = f32[6,4] get-tuple-element(k), index=0
        }}
        inner_cond {{
          s = (s32[], f32[6,4], s32[]) parameter(0)
          i = s32[] get-tuple-element(s), index=0
          n = s32[] constant(3)
          ROOT c = pred[] compare(i, n), direction=LT
        }}
        inner_body {{
          s = (s32[], f32[6,4], s32[]) parameter(0)
          i = s32[] get-tuple-element(s), index=0
          x = f32[6,4] get-tuple-element(s), index=1
          j = s32[] get-tuple-element(s), index=2
          one = s32[] constant(1)
          zero = s32[] constant(0)
          next = s32[] add(i, one)
          row = f32[1,4] dynamic-slice(x, j, zero), dynamic_slice_sizes={{1,4}}
          twice = f32[1,4] add(row, row)
          u = f32[6,4] dynamic-update-slice(x, twice, next, zero)
          ROOT t = (s32[], f32[6,4], s32[]) tuple(next, u, j)
        }}
        body {{
          s = (s32[], f32[6,4], f32[6,4]) parameter(0)
          i = s32[] get-tuple-element(s), index=0
          x = f32[6,4] get-tuple-element(s), index=1
          y = f32[6,4] get-tuple-element(s), index=2
          zero = s32[] constant(0)
          one = s32[] constant(1)
          j = s32[] add(i, one)
          row = f32[1,4] dynamic-slice(x, i, zero), dynamic_slice_sizes={{1,4}}
          more = f32[1,4] add(row, row)
          {body}
        }}
        cond {{
          s = (s32[], f32[6,4], f32[6,4]) parameter(0)
          i = s32[] get-tuple-element(s), index=0
          n = s32[] constant(5)
          ROOT c = pred[] compare(i, n), direction=LT
        }}
        ENTRY e {{
          x = f32[6,4] parameter(0)
          y = f32[6,4] parameter(1)
          zero = s32[] constant(0)
          t = (s32[], f32[6,4], f32[6,4]) tuple(zero, x, y)
          ROOT w = (s32[], f32[6,4], f32[6,4]) while(t), condition=cond, body=body
        }}"
    )
}

/// Where arrays are overwritten in place, and where that would lose what is still read.
#[test]
fn loops_that_update_what_they_carry() {
    let tuple = "ROOT t = (s32[], f32[6,4], f32[6,4]) tuple";
    let update = "u = f32[6,4] dynamic-update-slice(x, more, j, zero)";
    for body in [
        // A row from another row, and from itself.
        format!("{update} {tuple}(j, u, y)"),
        format!("u = f32[6,4] dynamic-update-slice(x, more, i, zero) {tuple}(j, u, y)"),
        // What was there before is read after, or kept, or handed on to the other.
        format!("{update} v = f32[6,4] add(u, x) {tuple}(j, u, v)"),
        format!("{update} {tuple}(j, u, x)"),
        format!("{update} {tuple}(j, x, u)"),
        // Both take turns, with and without an update; both become one array.
        format!("{tuple}(j, y, x)"),
        format!("{update} {tuple}(j, y, u)"),
        format!("{update} {tuple}(j, u, u)"),
        // Two updates of one array, and one after the other.
        format!("{update} v = f32[6,4] dynamic-update-slice(x, row, zero, zero) {tuple}(j, u, v)"),
        format!("{update} v = f32[6,4] dynamic-update-slice(u, row, zero, zero) {tuple}(j, v, y)"),
        format!(
            "{update} again = f32[1,4] dynamic-slice(u, j, zero), dynamic_slice_sizes={{1,4}}
             v = f32[6,4] dynamic-update-slice(u, again, zero, zero) {tuple}(j, v, y)"
        ),
        // The row is read under another shape.
        format!(
            "flat = f32[24] reshape(x)
             part = f32[4] slice(flat), slice={{[3:7]}}
             new = f32[1,4] reshape(part)
             u = f32[6,4] dynamic-update-slice(x, new, j, zero) {tuple}(j, u, y)"
        ),
        // A sum over all of it goes into a row.
        format!(
            "none = f32[] constant(0)
             sums = f32[4] reduce(x, none), dimensions={{0}}, to_apply=add
             new = f32[1,4] reshape(sums)
             u = f32[6,4] dynamic-update-slice(x, new, j, zero) {tuple}(j, u, y)"
        ),
        // Updates in a branch and in a loop inside.
        format!(
            "two = s32[] constant(2)
             c = pred[] compare(i, two), direction=LT
             a = (f32[6,4], s32[]) tuple(x, i)
             u = f32[6,4] conditional(c, a, a), true_computation=update, false_computation=keep
             {tuple}(j, u, y)"
        ),
        format!(
            "two = s32[] constant(2)
             c = pred[] compare(i, two), direction=LT
             a = (f32[6,4], s32[]) tuple(x, i)
             u = f32[6,4] conditional(c, a, a), true_computation=update, false_computation=keep
             v = f32[6,4] add(x, y)
             {tuple}(j, u, v)"
        ),
        format!(
            "a = (s32[], f32[6,4], s32[]) tuple(zero, x, i)
             w = (s32[], f32[6,4], s32[]) while(a), condition=inner_cond, body=inner_body
             u = f32[6,4] get-tuple-element(w), index=1
             {tuple}(j, y, u)"
        ),
    ] {
        check(
            &two_carried(&body),
            &[
                "f32[6,4] {{1,2,3,4},{5,6,7,8},{9,1,2,3},{4,5,6,7},{8,9,1,2},{3,4,5,6}}",
                "f32[6,4] {{2,4,3,1},{5,2,1,0},{3,3,3,7},{0,1,0,1},{6,6,1,8},{2,7,1,8}}",
            ],
        );
    }
}

/// The gradient of weights: what a step adds is computed where the sum lies.
#[test]
fn products_added_in_a_loop() {
    let row: Vec<String> = (0..40).map(|i| format!("{}", i % 7 - 3)).collect();
    let rows =
        [row.join(","), row[8..].join(",") + ",1,2,3,4,5,6,7,8"].map(|row| format!("{{{row}}}"));
    check(
        "HloModule m
        body {
          s = (s32[], f32[40,40], f32[2,40]) parameter(0)
          i = s32[] get-tuple-element(s), index=0
          w = f32[40,40] get-tuple-element(s), index=1
          x = f32[2,40] get-tuple-element(s), index=2
          one = s32[] constant(1)
          j = s32[] add(i, one)
          d = f32[40,40] dot(x, x), lhs_contracting_dims={0}, rhs_contracting_dims={0}
          u = f32[40,40] add(w, d)
          y = f32[2,40] negate(x)
          ROOT t = (s32[], f32[40,40], f32[2,40]) tuple(j, u, y)
        }
        cond {
          s = (s32[], f32[40,40], f32[2,40]) parameter(0)
          i = s32[] get-tuple-element(s), index=0
          n = s32[] constant(3)
          ROOT c = pred[] compare(i, n), direction=LT
        }
        ENTRY e {
          x = f32[2,40] parameter(0)
          zero = s32[] constant(0)
          none = f32[] constant(0)
          w = f32[40,40] broadcast(none), dimensions={}
          t = (s32[], f32[40,40], f32[2,40]) tuple(zero, w, x)
          ROOT r = (s32[], f32[40,40], f32[2,40]) while(t), condition=cond, body=body
        }",
        &[&format!("f32[2,40] {{{}}}", rows.join(","))],
    );
}

/// Whole numbers, so that every order of a sum gives the same.
#[test]
fn products_of_rows_move_out_of_loops() {
    check(
        "HloModule m
        body {
          state = (s32[], f32[8,2,256], f32[256,128], f32[256,128], f32[8,2,256], f32[2,128]) parameter(0)
          n = s32[] get-tuple-element(state), index=0
          xs = f32[8,2,256] get-tuple-element(state), index=1
          w = f32[256,128] get-tuple-element(state), index=2
          dw = f32[256,128] get-tuple-element(state), index=3
          dxs = f32[8,2,256] get-tuple-element(state), index=4
          g = f32[2,128] get-tuple-element(state), index=5
          one = s32[] constant(1)
          zero = s32[] constant(0)
          last = s32[] constant(7)
          next = s32[] add(n, one)
          step = s32[] subtract(last, n)
          row = f32[1,2,256] dynamic-slice(xs, step, zero, zero), dynamic_slice_sizes={1,2,256}
          x = f32[2,256] reshape(row)
          xw = f32[2,128] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
          sum = f32[2,128] add(g, xw)
          five = f32[] constant(5)
          fives = f32[2,128] broadcast(five), dimensions={}
          d = f32[2,128] remainder(sum, fives)
          outer = f32[128,256] dot(d, x), lhs_contracting_dims={0}, rhs_contracting_dims={0}
          turned = f32[256,128] transpose(outer), dimensions={1,0}
          total = f32[256,128] add(dw, turned)
          dx = f32[2,256] dot(d, w), lhs_contracting_dims={1}, rhs_contracting_dims={1}
          dx_row = f32[1,2,256] reshape(dx)
          rows = f32[8,2,256] dynamic-update-slice(dxs, dx_row, step, zero, zero)
          ROOT out = (s32[], f32[8,2,256], f32[256,128], f32[256,128], f32[8,2,256], f32[2,128]) tuple(next, xs, w, total, rows, d)
        }
        condition {
          state = (s32[], f32[8,2,256], f32[256,128], f32[256,128], f32[8,2,256], f32[2,128]) parameter(0)
          n = s32[] get-tuple-element(state), index=0
          bound = s32[] constant(8)
          ROOT go = pred[] compare(n, bound), direction=LT
        }
        ENTRY e {
          some = f32[] parameter(0)
          seven = f32[] constant(7)
          xi = f32[4096] iota(), iota_dimension=0
          sevens = f32[4096] broadcast(seven), dimensions={}
          xm = f32[4096] remainder(xi, sevens)
          somes = f32[4096] broadcast(some), dimensions={}
          xp = f32[4096] add(xm, somes)
          xs = f32[8,2,256] reshape(xp)
          wi = f32[32768] iota(), iota_dimension=0
          w7 = f32[32768] broadcast(seven), dimensions={}
          wm = f32[32768] remainder(wi, w7)
          ws = f32[32768] broadcast(some), dimensions={}
          wp = f32[32768] subtract(wm, ws)
          w = f32[256,128] reshape(wp)
          g = f32[2,128] broadcast(some), dimensions={}
          dw = f32[256,128] broadcast(some), dimensions={}
          dxs = f32[8,2,256] broadcast(some), dimensions={}
          zero = s32[] constant(0)
          init = (s32[], f32[8,2,256], f32[256,128], f32[256,128], f32[8,2,256], f32[2,128]) tuple(zero, xs, w, dw, dxs, g)
          loop = (s32[], f32[8,2,256], f32[256,128], f32[256,128], f32[8,2,256], f32[2,128]) while(init), condition=condition, body=body
          a = f32[256,128] get-tuple-element(loop), index=3
          b = f32[8,2,256] get-tuple-element(loop), index=4
          c = f32[2,128] get-tuple-element(loop), index=5
          ROOT all = (f32[256,128], f32[8,2,256], f32[2,128]) tuple(a, b, c)
        }",
        &["f32[] 3"],
    );
}

/// Statistics of rows are computed where the rows are gone through, and what is normalised takes the place of
/// what it is made from.
#[test]
fn rows_are_normalised_in_place() {
    check_within(
        "HloModule m, input_output_alias={ {0}: (0, {}, may-alias) }
        add { a = f32[] parameter(0)
          b = f32[] parameter(1)
          ROOT c = f32[] add(a, b) }
        max { a = f32[] parameter(0)
          b = f32[] parameter(1)
          ROOT c = f32[] maximum(a, b) }
        ENTRY e {
          given = f32[70,2,100] parameter(0)
          some = f32[] parameter(1)
          at = s32[70,2,100] iota(), iota_dimension=2
          row = s32[70,2,100] iota(), iota_dimension=0
          both = s32[70,2,100] multiply(at, row)
          seven = s32[] constant(7)
          sevens = s32[70,2,100] broadcast(seven), dimensions={}
          rest = s32[70,2,100] remainder(both, sevens)
          made = f32[70,2,100] convert(rest)
          x = f32[70,2,100] add(given, made)
          low = f32[] constant(-inf)
          zero = f32[] constant(0)
          most = f32[70,2] reduce(x, low), dimensions={2}, to_apply=max
          wide = f32[70,2,100] broadcast(most), dimensions={0,1}
          less = f32[70,2,100] subtract(x, wide)
          power = f32[70,2,100] exponential(less)
          sum = f32[70,2] reduce(power, zero), dimensions={2}, to_apply=add
          sums = f32[70,2,100] broadcast(sum), dimensions={0,1}
          softmax = f32[70,2,100] divide(power, sums)
          whole = f32[70] reduce(x, zero), dimensions={1,2}, to_apply=add
          whole_wide = f32[70,2,100] broadcast(whole), dimensions={0}
          shifted = f32[70,2,100] subtract(x, whole_wide)
          squares = f32[70,2,100] multiply(shifted, shifted)
          square = f32[70,2] reduce(squares, zero), dimensions={2}, to_apply=add
          one_square = f32[70,2,1] reshape(square)
          one_root = f32[70,2,1] sqrt(one_square)
          root = f32[70,2] reshape(one_root)
          root_wide = f32[70,2,100] broadcast(root), dimensions={0,1}
          normal = f32[70,2,100] divide(shifted, root_wide)
          turned = f32[100,2,70] transpose(normal), dimensions={2,1,0}
          ROOT r = (f32[70,2,100], f32[70,2,100], f32[100,2,70]) tuple(softmax, normal, turned)
        }",
        &[&zeros("f32[70,2,100]"), "f32[] 3"],
        Tolerance::within_ulps(64),
    );
}

/// A literal of zeros.
fn zeros(shape: &str) -> String {
    fn nested(dims: &[usize]) -> String {
        let Some((&size, inner)) = dims.split_first() else { return "0".to_owned() };
        format!("{{{}}}", vec![nested(inner); size].join(","))
    }
    let dims = shape.split(['[', ']']).nth(1).unwrap_or_default();
    let dims: Vec<usize> = dims.split(',').map(|size| size.parse().unwrap()).collect();
    format!("{shape} {}", nested(&dims))
}

/// The program's temporary memory, after it gave what the interpreter gives.
fn temporaries(text: &str, inputs: &[&str]) -> usize {
    check(text, inputs);
    compile(&module(text), &Options::default()).unwrap().temp_bytes()
}

#[test]
fn what_dies_before_a_result_is_written_lies_there() {
    let square = "f32[4,4] {{1,0.5,0,-1},{0.25,1,-0.5,0},{0,0.125,1,0.5},{-0.5,0,0.75,1}}";
    let text = "HloModule m
        ENTRY e {
          a = f32[4,4] parameter(0)
          b = f32[4,4] dot(a, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}
          c = f32[4,4] dot(b, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}
          d = f32[4,4] dot(c, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}
          ROOT f = f32[4,4] dot(d, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}
        }";
    assert_eq!(temporaries(text, &[square]), 64);
}

#[test]
fn sorts_where_the_operands_are() {
    let text = "HloModule m
        before {
          a = f32[] parameter(0)
          b = f32[] parameter(1)
          c = s32[] parameter(2)
          d = s32[] parameter(3)
          ROOT l = pred[] compare(a, b), direction=LT
        }
        ENTRY e {
          x = f32[2,8] parameter(0)
          keys = f32[2,8] abs(x)
          places = s32[2,8] iota(), iota_dimension=1
          s = (f32[2,8], s32[2,8]) sort(keys, places), dimensions={1}, is_stable=true, to_apply=before
          ROOT p = s32[2,8] get-tuple-element(s), index=1
        }";
    let x = "f32[2,8] {{3,-1,nan,0,-0,2,-2,1},{5,4,3,2,1,0,-1,-2}}";
    assert_eq!(temporaries(text, &[x]), 64);
}
