//! `rxla check`: runs programs that check themselves, as StableHLO's test suites do with custom
//! calls `check.expect_eq`, `check.expect_almost_eq` and `check.expect_close`.
//!
//! In a StableHLO file every public function without arguments is a program; a file may hold
//! several modules between lines that start with `// -----`.
//!
//! The expected values come from one implementation, which adds in one order. Where a program adds
//! or multiplies many numbers in an order that no specification fixes, small results of large terms
//! differ by more than a few units in their last place; there, a difference that is small beside
//! the largest element is let pass, and the report counts such programs.

use std::sync::{Arc, Mutex};

use clap::Args;
use rxla_base::{Error, Result, Severity, render_all};
use rxla_hlo::literal::{Nans, Tolerance, Zeros, compare};
use rxla_hlo::{ElementType, Literal, Module, Op, verify};
use rxla_interpreter::{CustomCallRequest, CustomCalls, Options};
use rxla_passes::simplify::call_inliner::CallInliner;
use rxla_passes::{RunOptions, Step};
use rxla_stablehlo::import::{self, import};
use rxla_stablehlo::mlir;

use crate::backend::{Backend, Program};
use crate::{Answer, output};

#[derive(Args)]
pub(crate) struct Arguments {
    /// Files with StableHLO as text or bytecode
    #[arg(required = true)]
    files: Vec<String>,
    /// What runs the programs
    #[arg(long, value_enum, default_value_t)]
    backend: Backend,
    /// Name each program that passes, too
    #[arg(long)]
    verbose: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Answer> {
    let (mut passed, mut rounded, mut failed) = (0, 0, 0);
    let mut report = |name: &str, result: Result<Verdict>| -> Result<()> {
        match result {
            Ok(verdict) => {
                passed += 1;
                rounded += usize::from(verdict == Verdict::WithinRounding);
                if arguments.verbose {
                    output::result(&format!("pass {name}\n"))?;
                }
            }
            Err(error) => {
                failed += 1;
                output::result(&format!("FAIL {name}: {error}\n"))?;
            }
        }
        Ok(())
    };
    for file in &arguments.files {
        let bytes = std::fs::read(file)
            .map_err(|error| Error::invalid_argument(format!("cannot read `{file}`: {error}")))?;
        for (name, part) in parts(file, &bytes) {
            match rxla_stablehlo::read(&name, &part) {
                Err(error) => report(&name, Err(error))?,
                Ok(module) => {
                    for entry in entries(&module) {
                        report(
                            &format!("{name} @{entry}"),
                            check(&module, &entry, arguments.backend),
                        )?;
                    }
                }
            }
        }
    }
    output::result(&format!(
        "{passed} passed ({rounded} of them within the rounding of sums), {failed} failed\n"
    ))?;
    Ok(if failed == 0 { Answer::Yes } else { Answer::No })
}

/// The modules of a file, each with a name.
fn parts(file: &str, bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    match std::str::from_utf8(bytes) {
        Ok(text) => {
            let parts = rxla_stablehlo::text::split(text);
            let line = |start: usize| text[..start].matches('\n').count() + 1;
            parts
                .into_iter()
                .map(|(start, part)| (format!("{file}:{}", line(start)), part.into()))
                .collect()
        }
        Err(_) => vec![(file.to_owned(), bytes.to_vec())],
    }
}

/// The names of the functions that can run by themselves: public, without arguments.
fn entries(module: &mlir::Module) -> Vec<String> {
    let Some(body) = module.body() else { return Vec::new() };
    let functions = module.blocks[body].operations.iter().map(|&op| &module.operations[op]);
    functions
        .filter(|function| &*function.name == "func.func")
        .filter(|function| {
            let visibility = function.attributes.get("sym_visibility");
            let ty = function.attributes.get("function_type").and_then(mlir::Attribute::as_type);
            visibility.and_then(mlir::Attribute::as_str) != Some("private")
                && ty.and_then(mlir::Type::as_function).is_some_and(|ty| ty.inputs.is_empty())
        })
        .filter_map(|function| function.attributes.get("sym_name")?.as_str().map(str::to_owned))
        .collect()
}

/// How a program passed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    AsChecked,
    /// Only because its sums may be in another order.
    WithinRounding,
}

fn check(source: &mlir::Module, entry: &str, backend: Backend) -> Result<Verdict> {
    let options = import::Options { entry: entry.to_owned(), ..import::Options::default() };
    let mut module =
        import(source, &options).map_err(|findings| rxla_stablehlo::error_of(&findings, None))?;
    let findings = verify(&module);
    if findings.iter().any(|finding| finding.severity == Severity::Error) {
        let text = render_all(&findings, None);
        return Err(Error::internal(format!("invalid HLO: {}", text.trim_end())));
    }
    let order = match module.instruction_ids().any(|id| combines_many(&module[id].op)) {
        true => Order::Unspecified,
        false => Order::Fixed,
    };
    let checks = Arc::new(Checks { order, found: Mutex::default() });
    let options = || Options { custom_calls: Some(checks.clone()), ..Options::default() };
    let arguments = match backend {
        Backend::Interpreter => Vec::new(),
        Backend::Cpu => constants_to_parameters(&mut module)?,
    };
    let compile = rxla_cpu::Options::default().with_subnormals();
    Program::with_options(module, backend, &compile)?.run(&arguments, options)?;
    let found = checks.found.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    match (&found.failure, found.count) {
        (Some(failure), _) => Err(Error::invalid_argument(failure.clone())),
        (None, 0) => Err(Error::invalid_argument("nothing was checked")),
        (None, _) if found.rounded => Ok(Verdict::WithinRounding),
        (None, _) => Ok(Verdict::AsChecked),
    }
}

/// Makes the constants of the entry and of what it calls parameters of the entry, and gives their
/// values. A compiler would compute a program without inputs itself, and leave nothing to check.
fn constants_to_parameters(module: &mut Module) -> Result<Vec<Literal>> {
    rxla_passes::run(module, &[Step::pass(CallInliner)], RunOptions::default())?;
    let entry = module.entry();
    let mut values = Vec::new();
    for instruction in module[entry].instructions().to_vec() {
        let Op::Constant(constant) = &module[instruction].op else { continue };
        let value = Literal::clone(&constant.literal);
        let shape = module[instruction].shape.clone();
        module.replace_with(instruction, Op::parameter(values.len() as i64), shape, &[]);
        module.remove_instruction(instruction);
        values.push(value);
    }
    module.config.entry_computation_layout = None;
    Ok(values)
}

/// Whether an op combines many numbers in an order of its own.
fn combines_many(op: &Op) -> bool {
    matches!(
        op,
        Op::Cholesky(_)
            | Op::Convolution(_)
            | Op::Dot(_)
            | Op::Fft(_)
            | Op::RaggedDot(_)
            | Op::Reduce(_)
            | Op::ReduceWindow(_)
            | Op::Scatter(_)
            | Op::SelectAndScatter(_)
            | Op::TriangularSolve(_)
    )
}

/// What the checks of one run have found.
struct Checks {
    order: Order,
    found: Mutex<Found>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    Fixed,
    Unspecified,
}

#[derive(Default)]
struct Found {
    count: usize,
    rounded: bool,
    failure: Option<String>,
}

impl CustomCalls for Checks {
    fn call(
        &self,
        request: &CustomCallRequest<'_>,
        operands: Vec<Literal>,
    ) -> Option<Result<Literal>> {
        let tolerance = match tolerance(request.target, request.backend_config)? {
            Ok(tolerance) => tolerance,
            Err(error) => return Some(Err(error)),
        };
        let [actual, expected] = &operands[..] else {
            return Some(Err(Error::invalid_argument("a check takes two operands")));
        };
        let mut found = self.found.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        found.count += 1;
        if let Err(disagreement) = compare(expected, actual, tolerance) {
            let absolute = tolerance.absolute.max(rounding(expected));
            let loose = Tolerance { absolute, ..tolerance };
            if self.order == Order::Unspecified && compare(expected, actual, loose).is_ok() {
                found.rounded = true;
            } else {
                found.failure.get_or_insert(format!("{}: {disagreement}", request.target));
            }
        }
        Some(Ok(Literal::Tuple(Vec::new())))
    }
}

/// A few units in the last place of the largest finite element.
fn rounding(expected: &Literal) -> f64 {
    const UNITS: f64 = 16.0;
    let Some(array) = expected.as_array() else { return 0.0 };
    let epsilon = match array.element_type().real_part() {
        ElementType::F64 => f64::EPSILON,
        ElementType::F32 => f32::EPSILON.into(),
        ElementType::F16 => 2f64.powi(-10),
        ElementType::Bf16 => 2f64.powi(-7),
        _ => return 0.0,
    };
    let size = |index| match array.complex(index) {
        Some(value) => value.norm(),
        None => array.float(index).map_or(0.0, f64::abs),
    };
    let largest = (0..array.len()).map(size).filter(|size| size.is_finite());
    UNITS * epsilon * largest.fold(0.0, f64::max)
}

/// How close a check wants its operands. The defaults are those of StableHLO's own interpreter.
fn tolerance(target: &str, config: &str) -> Option<Result<Tolerance>> {
    let number = |default: f64| match config {
        "" => Ok(default),
        text => text.parse::<f64>().map_err(|_| {
            Error::invalid_argument(format!("`{text}` is no tolerance of `{target}`"))
        }),
    };
    let exact = Tolerance { zeros: Zeros::AnySign, nans: Nans::AnyNan, ..Tolerance::EXACT };
    Some(match target {
        "check.expect_eq" => Ok(exact),
        "check.expect_almost_eq" => number(0.001).map(|absolute| Tolerance { absolute, ..exact }),
        "check.expect_close" => number(3.0).map(|ulps| Tolerance { ulps: ulps as u64, ..exact }),
        _ => return None,
    })
}
