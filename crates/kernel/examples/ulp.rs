//! Measures a mathematical function: the largest error in units in the last place, and where.
//!
//!     cargo run --release -p rxla-kernel --example ulp -- NAME f32 [STEP]
//!     cargo run --release -p rxla-kernel --example ulp -- NAME f32-by-libraries [STEP]
//!     cargo run --release -p rxla-kernel --example ulp -- NAME f64 TABLE
//!
//! In f32 over all inputs (or each STEPth), against our own functions of double precision, which
//! run in lanes, or against those of libraries. In f64 over a table that
//! `tools/maths/reference.py` writes. The name `all` measures each function, and
//!
//!     cargo run --release -p rxla-kernel --example ulp -- all page [STEP] > docs/accuracy.md
//!
//! writes the page of all formats, with the table of the tests for f64. It is many times
//! faster with RUSTFLAGS="-C target-cpu=native -C llvm-args=-inline-threshold=3000".

#![allow(clippy::print_stdout)]

// The tests use more of it.
#[allow(dead_code)]
#[path = "../tests/maths/reference.rs"]
mod reference;

use half::{bf16, f16};
use reference::{BF16, F16, F32, UNARY, exact, ulps, ulps_f64};
use rxla_kernel::maths::bounds::{BOUNDS, Bound, Function};
use rxla_kernel::{BinaryOp, UnaryOp, maths};

/// The largest error so far.
#[derive(Default)]
struct Worst {
    error: f64,
    at: Vec<f64>,
    got: f64,
    want: f64,
    above_one: u64,
}

impl Worst {
    fn see(&mut self, error: f64, at: &[f64], got: f64, want: f64) {
        self.above_one += u64::from(error > 1.0);
        if error > self.error {
            *self = Worst { error, at: at.to_vec(), got, want, above_one: self.above_one };
        }
    }

    fn print(&self, name: &str, format: &str) {
        let Worst { error, at, got, want, above_one } = self;
        println!(
            "{name} {format}: {error:.3} ulp at {at:?}: {got:e}, not {want:e}; {above_one} above one"
        );
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (name, format) = match &arguments[..] {
        [name, format, ..] => (name.as_str(), format.as_str()),
        _ => panic!("usage: ulp NAME f32 [STEP] | NAME f64 TABLE"),
    };
    match format {
        "f32" => {
            let step = arguments.get(2).map_or(1, |step| step.parse().expect("a step"));
            for &(known, op) in UNARY.iter().filter(|known| name == "all" || known.0 == name) {
                over_singles(op, step).print(known, format);
            }
        }
        "f32-by-libraries" => {
            let step = arguments.get(2).map_or(1, |step| step.parse().expect("a step"));
            for &(known, op) in UNARY.iter().filter(|known| name == "all" || known.0 == name) {
                over_singles_by_libraries(op, step).print(known, format);
            }
        }
        "page" => {
            let step = arguments.get(2).map_or(30_011, |step| step.parse().expect("a step"));
            page(step);
        }
        "f64" => {
            let path = arguments.get(2).expect("a table");
            let table = std::fs::read_to_string(path).expect("the table can be read");
            over_table(name, &table);
        }
        other => panic!("no format {other}"),
    }
}

/// Against libraries of double precision.
fn over_singles_by_libraries(op: UnaryOp, step: usize) -> Worst {
    let mut worst = Worst::default();
    for bits in (0..=u32::MAX).step_by(step) {
        let x = f32::from_bits(bits);
        let got = maths::unary(op, x).expect("a mathematical function");
        let want = exact(op, f64::from(x));
        let error = ulps(F32, f64::from(got), want);
        if error > 0.5 {
            worst.see(error, &[f64::from(x)], f64::from(got), want);
        }
    }
    worst
}

/// Against our own functions of double precision, in lanes. Those are measured against tables.
fn over_singles(op: UnaryOp, step: u32) -> Worst {
    let last = if positive_is_enough(op) { i32::MAX as u32 } else { u32::MAX };
    macro_rules! pick {
        ($($name:ident)*) => {
            match op {
                $(UnaryOp::$name => over_lanes(
                    last,
                    step,
                    |x| maths::unary(UnaryOp::$name, x),
                    |x| maths::unary(UnaryOp::$name, x),
                ),)*
                other => panic!("{other:?} is no mathematical function"),
            }
        };
    }
    pick!(Exp Exp2 Expm1 Log Log2 Log1p Sin Cos Tan Asin Acos Atan Sinh Cosh Tanh Asinh Acosh Atanh
        Erf Erfc Cbrt Rsqrt Logistic)
}

/// Whether negative inputs only change the sign of the result, which is done on its bit, or have
/// no result. They are left to the tests' samples.
fn positive_is_enough(op: UnaryOp) -> bool {
    !matches!(
        op,
        UnaryOp::Exp
            | UnaryOp::Exp2
            | UnaryOp::Expm1
            | UnaryOp::Log1p
            | UnaryOp::Acos
            | UnaryOp::Erfc
            | UnaryOp::Logistic
    )
}

const CHUNK: usize = 1024;

fn over_lanes(
    last: u32,
    step: u32,
    single: impl Fn(f32) -> Option<f32>,
    double: impl Fn(f64) -> Option<f64>,
) -> Worst {
    let mut worst = Worst::default();
    let mut got = [0f32; CHUNK];
    let mut want = [0f64; CHUNK];
    for first in (0..=last).step_by(CHUNK * step as usize) {
        let number = |i: usize| f32::from_bits(first.saturating_add(i as u32 * step));
        for i in 0..CHUNK {
            got[i] = single(number(i)).unwrap_or(f32::NAN);
        }
        for i in 0..CHUNK {
            want[i] = double(f64::from(number(i))).unwrap_or(f64::NAN);
        }
        // A unit in the last place is at least 2^-24 of a number, so this may be looked at
        // closely without need, but never passes what is worse. NaN is looked at.
        let bound = worst.error.clamp(0.5, 1.0) * f64::powi(2.0, -24);
        for i in 0..CHUNK {
            let (got, want) = (f64::from(got[i]), want[i]);
            let is_near = (got - want).abs() <= want.abs() * bound;
            if !is_near || want == 0.0 {
                let error = ulps(F32, got, want);
                if error > 0.5 {
                    worst.see(error, &[f64::from(number(i))], got, want);
                }
            }
        }
    }
    worst
}

/// Lines of a name and numbers as bits: arguments, the result, and what it lost to rounding.
fn over_table(name: &str, table: &str) {
    let known = UNARY.iter().map(|known| known.0).chain(["pow", "atan2"]);
    for known in known.filter(|&known| name == "all" || known == name) {
        worst_of_table(known, table).print(known, "f64");
    }
}

fn worst_of_table(known: &str, table: &str) -> Worst {
    let mut worst = Worst::default();
    {
        for line in table.lines().filter(|line| line.split(' ').next() == Some(known)) {
            let number = |word| f64::from_bits(u64::from_str_radix(word, 16).expect("bits"));
            let numbers: Vec<f64> = line.split(' ').skip(1).map(number).collect();
            let (arguments, result) = numbers.split_at(numbers.len() - 2);
            let unary = UNARY.iter().find(|unary| unary.0 == known);
            let got = match (unary, known) {
                (Some(&(_, op)), _) => maths::unary(op, arguments[0]),
                (None, "pow") => maths::binary(BinaryOp::Pow, arguments[0], arguments[1]),
                (None, _) => maths::binary(BinaryOp::Atan2, arguments[0], arguments[1]),
            };
            let got = got.expect("a mathematical function");
            worst.see(ulps_f64(got, result[0], result[1]), arguments, got, result[0]);
        }
    }
    worst
}

/// Formats of 16 bits over all inputs.
fn over_halves(op: UnaryOp) -> [f64; 2] {
    let single = |x: f32| maths::unary(op, x).expect("a mathematical function");
    let mut worst = [0.5f64; 2];
    for bits in 0..=u16::MAX {
        let x = f16::from_bits(bits);
        let got = f16::from_f32(single(x.to_f32())).to_f64();
        worst[0] = worst[0].max(ulps(F16, got, exact(op, x.to_f64())));
        let x = bf16::from_bits(bits);
        let got = bf16::from_f32(single(x.to_f32())).to_f64();
        worst[1] = worst[1].max(ulps(BF16, got, exact(op, x.to_f64())));
    }
    worst
}

/// `docs/accuracy.md`.
fn page(step: u32) {
    print!("{INTRODUCTION}");
    let table = include_str!("../tests/maths/f64.txt");
    for bound in BOUNDS {
        let Bound { name, single, double, .. } = bound;
        let in_double = worst_of_table(name, table).error.max(0.5);
        match bound.function {
            Function::Unary(op) => {
                let [half, brain] = over_halves(op);
                let in_single = over_singles(op, step).error.max(0.5);
                println!(
                    "| {name} | {half:.3} | {brain:.3} | {in_single:.3} | {single} | {in_double:.3} \
                     | {double} |"
                );
            }
            Function::Binary(_) => {
                println!("| {name} |  |  |  | {single} | {in_double:.3} | {double} |");
            }
        }
    }
    let inputs = match step {
        1 => "all inputs".to_owned(),
        step => format!("each {step}th input, of both signs where they differ"),
    };
    println!(
        "\nMeasured in f16 and bf16 over all inputs, in f32 over {inputs},\n\
         in f64 over the table of the crate's tests, whose results come from mpmath. The bounds come from\n\
         longer runs. `cargo run --release -p rxla-kernel --example ulp -- all page` writes this page; a\n\
         step of 1 behind it takes every input of f32."
    );
}

const INTRODUCTION: &str = "\
# Accuracy of functions

How far results are from the true ones, in units in the last place (ulp) of the format: the largest that was
measured, and the bound that the tests hold the functions to. 0.5 is what rounding alone costs. Square
roots are rounded exactly. Formats of 16 bits are computed in f32 and rounded once, so that they stay below
0.51.

## Asking for another accuracy

StableHLO's and HLO's `result_accuracy`, in JAX `jax.lax.exp(x, accuracy=…)` and its like, is honoured:

- `DEFAULT`, or nothing: what the table says.
- `HIGHEST`: f32 is computed in f64 and rounded once (0.501 ulp), which takes two to three times as long;
  the other formats have nothing better.
- A tolerance (`jax.lax.Tolerance(atol, rtol, ulps)`) asks that the error be at most
  max(|result| max(rtol, ulps epsilon), atol) for every input. The fast function is taken if its bound below
  is good enough, the one of `HIGHEST` if that is; else compiling ends with an error. As no format has a
  fixed absolute precision, `atol` alone only helps functions whose results are bounded, as `tanh` and
  `log`. Numbers below the smallest normal one have no relative precision; they are rounded as well as the
  others.

## Table

| function | f16 | bf16 | f32 | bound | f64 | bound |
|---|---|---|---|---|---|---|
";
