//! Every algebraic rule has an example that it alone rewrites, and no rewrite changes a value: the
//! examples are the tests of `algsimp`, run by the interpreter before and after on values that are
//! hard on rules (NaN, infinities, zeros of both signs, the ends of integer ranges).

use std::path::{Path, PathBuf};

use rxla_hlo::literal::{Tolerance, compare};
use rxla_hlo::text::{ParseOptions, parse};
use rxla_hlo::{ArrayLiteral, ArrayShape, ElementType, Literal, Module, Shape};
use rxla_interpreter::{Options, evaluate};
use rxla_passes::algebraic::TABLES;
use rxla_passes::{Context, rewrite};

fn examples() -> Vec<(PathBuf, Module)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/hlo/passes/algsimp");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the tests of the pass")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).expect("a text");
        let module = text.split("// ---- expect").next().expect("a module");
        let parsed = parse(module, &ParseOptions::default()).expect("a module that parses");
        (path, parsed.module)
    };
    paths.into_iter().map(read).collect()
}

#[test]
fn every_rule_has_an_example() {
    let examples = examples();
    let idle: Vec<&str> = TABLES
        .iter()
        .copied()
        .flatten()
        .filter(|rule| {
            let applies = |module: &Module| {
                let alone: &[&[_]] = &[std::slice::from_ref(*rule)];
                rewrite::apply(&mut module.clone(), &Context::default(), alone) > 0
            };
            !examples.iter().any(|(_, module)| applies(module))
        })
        .map(|rule| rule.name)
        .collect();
    assert!(idle.is_empty(), "rules that no example needs: {idle:?}");
}

/// SplitMix64.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

const FLOATS: [f64; 12] = [
    0.0,
    -0.0,
    1.0,
    -1.5,
    2.5,
    -2.5,
    1e30,
    1e-40,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    -0.5,
];
const INTEGERS: [i64; 10] =
    [0, 1, -1, 2, 7, -8, i32::MIN as i64, i32::MAX as i64, i64::MIN, i64::MAX];

fn hard_values(shape: &Shape, state: &mut u64) -> Literal {
    let Shape::Array(shape) = shape else { return Literal::zeros(shape).expect("a token") };
    let count = shape.element_count().expect("a small array");
    let real = shape.element_type.real_part();
    let mut line = || {
        let values = if real.is_float() {
            let values: Vec<f64> =
                (0..count).map(|_| FLOATS[next(state) as usize % FLOATS.len()]).collect();
            ArrayLiteral::from_values(shape.dims.iter().copied(), &values)
        } else {
            let values: Vec<i64> =
                (0..count).map(|_| INTEGERS[next(state) as usize % INTEGERS.len()]).collect();
            ArrayLiteral::from_values(shape.dims.iter().copied(), &values)
        };
        values.convert(real).expect("little memory")
    };
    if !shape.element_type.is_complex() {
        return Literal::Array(line());
    }
    let (re, im) = (line(), line());
    let complex = ArrayShape::new(ElementType::C64, shape.dims.iter().copied());
    let mut bytes = Vec::new();
    for (re, im) in re.bytes().chunks(4).zip(im.bytes().chunks(4)) {
        bytes.extend_from_slice(re);
        bytes.extend_from_slice(im);
    }
    let mut result = ArrayLiteral::zeros(&complex).expect("little memory");
    result.bytes_mut().copy_from_slice(&bytes);
    Literal::Array(result)
}

#[test]
fn no_rule_changes_a_value() {
    let mut state = 1;
    for (path, module) in examples() {
        let mut simplified = module.clone();
        rewrite::apply(&mut simplified, &Context::default(), TABLES);
        let parameters: Vec<Shape> = module[module.entry()]
            .parameters()
            .iter()
            .map(|&parameter| module[parameter].shape.clone())
            .collect();
        // `power` is allowed an error that the product it becomes does not have.
        let tolerance = match path.file_stem().and_then(|stem| stem.to_str()) {
            Some("functions") => Tolerance::within_ulps(2),
            _ => Tolerance::EXACT,
        };
        for _ in 0..200 {
            let arguments: Vec<Literal> =
                parameters.iter().map(|shape| hard_values(shape, &mut state)).collect();
            let run = |module: &Module| {
                evaluate(module, arguments.clone(), &Options::default()).expect("it runs")
            };
            if let Err(disagreement) = compare(&run(&module), &run(&simplified), tolerance) {
                panic!("{}: {disagreement}\nfor {arguments:?}", path.display());
            }
        }
    }
}
