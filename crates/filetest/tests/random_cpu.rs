//! Random modules give the same compiled and interpreted.
//!
//! `RXLA_RANDOM_MODULES=5000` tries more modules than usual, `RXLA_RANDOM_SEED=17` starts at another
//! one.

use std::sync::Arc;

use rxla_filetest::generate::{Size, arguments, module};
use rxla_filetest::run::{agree, compiled};
use rxla_flags::Flags;
use rxla_hlo::op::{Binary, BinaryKind, ComparisonType};
use rxla_hlo::text::{PrintOptions, print};
use rxla_hlo::{ElementType, Literal, Module, Op};
use rxla_interpreter::{Options, evaluate};

fn setting(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(otherwise)
}

/// How a module is made and compiled.
#[derive(Clone, Copy)]
struct Way {
    size: Size,
    /// Whether threads share all that they can, however small.
    shared: bool,
}

impl Way {
    /// By turns, so that all come up with every length.
    fn of(number: u64) -> Way {
        let usual = Size { instructions: 4 + (number / 8).min(30) as usize, ..Size::default() };
        let size = if number % 8 == 7 { Size::LARGE } else { usual };
        Way { size, shared: number % 2 == 1 }
    }
}

fn check(seed: u64, Way { size, shared }: Way) -> Result<(), String> {
    let module = Arc::new(module(seed, size));
    let inputs = arguments(&module, seed).map_err(|error| error.to_string())?;
    let options = Options { step_limit: Some(1 << 20), ..Options::default() };
    let expected = evaluate(&module, inputs.clone(), &options);
    if expected.is_err() {
        // Such as a loop without end.
        return Ok(());
    }
    let mut flags = Flags::default();
    if shared {
        flags.rxla_parallel_work = 1;
    }
    let options = rxla_cpu::Options { flags: Arc::new(flags), ..Default::default() };
    let found = compiled(&module, inputs, &options);
    let [expected, found] = [expected, found].map(|result| result.map(|it| rounded(&module, it)));
    let text = || print(&module, &PrintOptions { layouts: false, ..PrintOptions::complete() });
    agree(&expected, &found).map_err(|why| format!("{why}\n{}", text()))
}

/// What numbers of a type are made of.
fn part(element_type: ElementType) -> ElementType {
    match element_type {
        ElementType::C64 => ElementType::F32,
        ElementType::C128 => ElementType::F64,
        other => other,
    }
}

/// The value with arrays of a type to which the module widens a narrower one in the narrowest of those, in
/// whose precision they may have been computed.
fn rounded(module: &Module, value: Literal) -> Literal {
    match value {
        Literal::Array(array) => {
            let wide = array.element_type();
            let widened = module.instruction_ids().filter_map(|id| {
                let Op::Convert(_) = module[id].op else { return None };
                let to = module[id].shape.as_array()?.element_type;
                let from = module[module[id].operands()[0]].shape.as_array()?.element_type;
                let floats = part(from).is_float() && part(to).is_float();
                (to == wide && floats && part(from).bit_width() < part(to).bit_width())
                    .then_some(part(from))
            });
            let narrowest = match widened.min_by_key(|from| from.bit_width()) {
                Some(ElementType::F32) if wide.is_complex() => ElementType::C64,
                Some(from) if wide.is_float() => from,
                _ => wide,
            };
            Literal::Array(array.convert(narrowest).expect("floats are converted"))
        }
        Literal::Tuple(parts) => {
            Literal::Tuple(parts.into_iter().map(|part| rounded(module, part)).collect())
        }
        Literal::Token => Literal::Token,
    }
}

/// Whether what was found may rest on what no operation promises: the sign of a NaN, which a total
/// order and a bitcast show, or where NaNs end up that have been compared, in a sort or among the
/// largest of complex numbers.
fn looks_at_nans(found: &str, seed: u64, size: Size) -> bool {
    let module = module(seed, size);
    module.instruction_ids().any(|id| match &module[id].op {
        Op::Compare(compare) => compare.comparison_type == Some(ComparisonType::TotalOrder),
        Op::BitcastConvert(_) | Op::Sort(_) | Op::TopK(_) => found.contains("nan"),
        Op::Binary(Binary { kind: BinaryKind::Maximum | BinaryKind::Minimum, .. }) => {
            module[id].shape.as_array().is_some_and(|shape| shape.element_type.is_complex())
        }
        _ => false,
    })
}

#[test]
fn compiled_code_gives_what_the_interpreter_gives() {
    let count = setting("RXLA_RANDOM_MODULES", 300);
    let first = setting("RXLA_RANDOM_SEED", 0);
    let mut wrong = Vec::new();
    let mut doubtful = 0;
    for number in 0..count {
        let seed = first + number;
        let way = Way::of(number);
        if let Err(found) = check(seed, way) {
            if looks_at_nans(&found, seed, way.size) {
                doubtful += 1;
                continue;
            }
            let smaller = (1..way.size.instructions).find_map(|instructions| {
                check(seed, Way { size: Size { instructions, ..way.size }, ..way }).err()
            });
            wrong.push(format!("seed {seed}: {}", smaller.unwrap_or(found)));
        }
    }
    assert!(doubtful * 20 <= count, "{doubtful} of {count} modules depend on NaNs");
    assert!(wrong.is_empty(), "{} of {count} modules differ\n{}", wrong.len(), wrong.join("\n"));
}
