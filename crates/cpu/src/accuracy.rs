//! `result-accuracy`, ours: functions that say how accurate they are to be, become functions that
//! are.
//!
//! What nobody said anything of, or what is accurate enough as it is, stays: the fast one. Where it
//! is not, a function of f32 is computed in f64 and rounded once; other types have nothing better.
//! A tolerance that nothing meets is an error. What StableHLO says of tolerances is that for each
//! input the error is at most max(|result| max(rtol, ulps epsilon), atol); we take the first part to
//! be about results that are normal numbers.

use rxla_base::{Error, Result};
use rxla_hlo::op::{Convert, ResultAccuracy, Unary};
use rxla_hlo::{ElementType, InstructionId, Module, Op, Shape, UnaryKind};
use rxla_kernel::UnaryOp;
use rxla_kernel::maths::bounds;
use rxla_passes::{Context, Pass};

pub(crate) struct Accuracy;

impl Pass for Accuracy {
    fn name(&self) -> &'static str {
        "result-accuracy"
    }

    fn class(&self) -> &'static str {
        "ResultAccuracy"
    }

    fn run(&self, module: &mut Module, cx: &Context) -> Result<u64> {
        let mut made = 0;
        let asked: Vec<_> = module
            .instruction_ids()
            .filter_map(|id| match &module[id].op {
                Op::Unary(Unary { result_accuracy: Some(ResultAccuracy::Default), .. }) => None,
                Op::Unary(Unary { kind, result_accuracy: Some(asked) }) => {
                    Some((id, *kind, *asked))
                }
                _other => None,
            })
            .collect();
        for (id, kind, asked) in asked {
            let way = choose(module, id, kind, asked)?;
            if !cx.spend() {
                break;
            }
            made += 1;
            match way {
                Way::Usual => module[id].op = Op::unary(kind),
                Way::Wide(element_type) => widen(module, id, kind, element_type),
            }
        }
        Ok(made)
    }
}

/// How a function is to be computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    Usual,
    /// In this type, rounded once.
    Wide(ElementType),
}

fn choose(
    module: &Module,
    id: InstructionId,
    kind: UnaryKind,
    asked: ResultAccuracy,
) -> Result<Way> {
    let Some(element_type) = module[id].shape.as_array().map(|array| array.element_type) else {
        return Ok(Way::Usual);
    };
    let better = match element_type {
        ElementType::F32 if kind != UnaryKind::Sqrt => Some(Way::Wide(ElementType::F64)),
        ElementType::C64 => Some(Way::Wide(ElementType::C128)),
        _other => None,
    };
    match asked {
        ResultAccuracy::Default => Ok(Way::Usual),
        ResultAccuracy::Highest => Ok(better.unwrap_or(Way::Usual)),
        ResultAccuracy::Tolerance { atol_bits, rtol_bits, ulps } => {
            let tolerance = Tolerance {
                absolute: f64::from_bits(atol_bits),
                relative: f64::from_bits(rtol_bits),
                ulps: ulps as f64,
            };
            let refuse = |best: &str| {
                Error::invalid_argument(format!(
                    "`{}`: no `{kind}` of {} is as accurate as its `result_accuracy` asks for \
                     (atol {:e}, rtol {:e}, ulps {ulps}): {best}",
                    module[id].name(),
                    element_type.name(),
                    tolerance.absolute,
                    tolerance.relative,
                ))
            };
            let Some((usual, wide)) = off(kind, element_type) else {
                return Err(refuse("there is no bound for this type"));
            };
            if tolerance.admits(usual, kind, element_type) {
                return Ok(Way::Usual);
            }
            match (better, wide) {
                (Some(way), Some(off)) if tolerance.admits(off, kind, element_type) => Ok(way),
                _ => Err(refuse(&format!(
                    "the best one is off by up to {:.3} units in the last place",
                    wide.unwrap_or(usual)
                ))),
            }
        }
    }
}

struct Tolerance {
    absolute: f64,
    relative: f64,
    ulps: f64,
}

impl Tolerance {
    /// Whether what is off by so many units in the last place is near enough for all inputs.
    fn admits(&self, off: f64, kind: UnaryKind, element_type: ElementType) -> bool {
        let Some(epsilon) = epsilon(element_type) else { return false };
        // A unit in the last place is at most epsilon of a number.
        let relative = self.relative.max(self.ulps * epsilon);
        relative >= off * epsilon
            || self.absolute >= off * largest_unit(kind, element_type, epsilon)
    }
}

/// By how many units in the last place the function is off: as it is, and at its best.
fn off(kind: UnaryKind, element_type: ElementType) -> Option<(f64, Option<f64>)> {
    if !element_type.is_float() {
        return None;
    }
    if kind == UnaryKind::Sqrt {
        return Some((0.5, None));
    }
    let bound = bounds::of_unary(function(kind)?)?;
    Some(match element_type {
        ElementType::F64 => (bound.double, None),
        ElementType::F32 => (bound.single, Some(bound.single_by_double())),
        // Computed in f32 and rounded once.
        _narrower => (bounds::HALF, None),
    })
}

fn function(kind: UnaryKind) -> Option<UnaryOp> {
    Some(match kind {
        UnaryKind::Acos => UnaryOp::Acos,
        UnaryKind::Acosh => UnaryOp::Acosh,
        UnaryKind::Asin => UnaryOp::Asin,
        UnaryKind::Asinh => UnaryOp::Asinh,
        UnaryKind::Atanh => UnaryOp::Atanh,
        UnaryKind::Cbrt => UnaryOp::Cbrt,
        UnaryKind::Cos => UnaryOp::Cos,
        UnaryKind::Cosh => UnaryOp::Cosh,
        UnaryKind::Erf => UnaryOp::Erf,
        UnaryKind::Exp => UnaryOp::Exp,
        UnaryKind::Expm1 => UnaryOp::Expm1,
        UnaryKind::Log => UnaryOp::Log,
        UnaryKind::Log1p => UnaryOp::Log1p,
        UnaryKind::Logistic => UnaryOp::Logistic,
        UnaryKind::Rsqrt => UnaryOp::Rsqrt,
        UnaryKind::Sin => UnaryOp::Sin,
        UnaryKind::Sinh => UnaryOp::Sinh,
        UnaryKind::Tan => UnaryOp::Tan,
        UnaryKind::Tanh => UnaryOp::Tanh,
        UnaryKind::Abs
        | UnaryKind::Ceil
        | UnaryKind::CountLeadingZeros
        | UnaryKind::Floor
        | UnaryKind::Imag
        | UnaryKind::IsFinite
        | UnaryKind::Negate
        | UnaryKind::Not
        | UnaryKind::PopulationCount
        | UnaryKind::Real
        | UnaryKind::RoundNearestAfz
        | UnaryKind::RoundNearestEven
        | UnaryKind::Sign
        | UnaryKind::Sqrt => return None,
    })
}

/// The distance from one to the next number.
fn epsilon(element_type: ElementType) -> Option<f64> {
    Some(match element_type {
        ElementType::F64 => f64::EPSILON,
        ElementType::F32 => f64::from(f32::EPSILON),
        ElementType::F16 => f64::powi(2.0, -10),
        ElementType::Bf16 => f64::powi(2.0, -7),
        _other => return None,
    })
}

/// The unit in the last place of the largest finite results.
fn largest_unit(kind: UnaryKind, element_type: ElementType, epsilon: f64) -> f64 {
    // Logarithms of the largest and smallest numbers of f64 are below 1024, those of all others below
    // 128; so is what is made of logarithms.
    let logarithm = if element_type == ElementType::F64 { 512.0 } else { 64.0 };
    epsilon
        * match kind {
            UnaryKind::Cos | UnaryKind::Erf | UnaryKind::Logistic | UnaryKind::Sin => 0.5,
            UnaryKind::Tanh => 0.5,
            UnaryKind::Asin => 1.0,
            UnaryKind::Acos => 2.0,
            UnaryKind::Acosh | UnaryKind::Asinh | UnaryKind::Log | UnaryKind::Log1p => logarithm,
            // atanh(1 - epsilon / 2) is below 19 in f64.
            UnaryKind::Atanh => 16.0,
            _unbounded => f64::INFINITY,
        }
}

/// Has a function computed in a wider type.
fn widen(module: &mut Module, id: InstructionId, kind: UnaryKind, element_type: ElementType) {
    let shape = module[id].shape.clone();
    let Shape::Array(mut wide) = shape.clone() else { return };
    wide.element_type = element_type;
    let wide = Shape::Array(wide);
    let operand = module[id].operands()[0];
    let operand = module.add_like(id, Op::Convert(Convert {}), wide.clone(), &[operand]);
    let result = module.add_like(id, Op::unary(kind), wide, &[operand]);
    module.replace_with(id, Op::Convert(Convert {}), shape, &[result]);
    module.remove_instruction(id);
}

#[cfg(test)]
mod tests {
    use rxla_hlo::text::{ParseOptions, parse};

    use super::*;

    /// What `kind[…](p)` with this accuracy becomes: the types that it is computed in.
    fn ways(kind: &str, element_type: &str, accuracy: &str) -> Result<String> {
        let text = format!(
            "HloModule m\nENTRY e {{\n  p = {element_type}[8] parameter(0)\n  \
             ROOT r = {element_type}[8] {kind}(p), result_accuracy={accuracy}\n}}\n"
        );
        let mut module = parse(&text, &ParseOptions::default()).expect("valid").module;
        Accuracy.run(&mut module, &Context::new())?;
        assert!(rxla_hlo::verify(&module).is_empty());
        let entry = &module[module.entry()];
        let of_kind = entry.instructions().iter().find(|&&id| module[id].op.name() == kind);
        let found = &module[*of_kind.expect("the function is there")];
        assert!(matches!(found.op, Op::Unary(Unary { result_accuracy: None, .. })));
        Ok(found.shape.as_array().expect("an array").element_type.name().to_owned())
    }

    #[test]
    fn the_fast_one_is_taken_where_it_will_do() {
        for (kind, element_type, accuracy, computed_in) in [
            ("exponential", "f32", "{mode=highest}", "f64"),
            ("exponential", "f64", "{mode=highest}", "f64"),
            ("exponential", "bf16", "{mode=highest}", "bf16"),
            ("sqrt", "f32", "{mode=highest}", "f32"),
            ("exponential", "c64", "{mode=highest}", "c128"),
            ("exponential", "f32", "{tolerance={atol=0,rtol=0,ulps=2}}", "f32"),
            ("exponential", "f32", "{tolerance={atol=0,rtol=0,ulps=1}}", "f64"),
            ("exponential", "f32", "{tolerance={atol=0,rtol=1e-6,ulps=0}}", "f32"),
            ("exponential", "f32", "{tolerance={atol=0,rtol=1e-7,ulps=1}}", "f64"),
            ("exponential", "f64", "{tolerance={atol=0,rtol=0,ulps=2}}", "f64"),
            ("tanh", "f32", "{tolerance={atol=1e-6,rtol=0,ulps=0}}", "f32"),
            ("tanh", "f32", "{tolerance={atol=3e-8,rtol=0,ulps=0}}", "f64"),
            ("log", "f32", "{tolerance={atol=8e-6,rtol=0,ulps=0}}", "f32"),
            ("log", "f32", "{tolerance={atol=4e-6,rtol=0,ulps=0}}", "f64"),
            ("tanh", "bf16", "{tolerance={atol=0,rtol=0,ulps=1}}", "bf16"),
        ] {
            let found = ways(kind, element_type, accuracy);
            assert_eq!(found.as_deref(), Ok(computed_in), "{kind} {element_type} {accuracy}");
        }
    }

    #[test]
    fn what_cannot_be_is_an_error() {
        for (kind, element_type, accuracy) in [
            ("exponential", "f32", "{tolerance={atol=1e-60,rtol=1e-60,ulps=0}}"),
            ("exponential", "f32", "{tolerance={atol=1e-3,rtol=0,ulps=0}}"),
            ("exponential", "f64", "{tolerance={atol=0,rtol=0,ulps=1}}"),
            ("exponential", "c64", "{tolerance={atol=0,rtol=0,ulps=9}}"),
        ] {
            assert!(
                ways(kind, element_type, accuracy).is_err(),
                "{kind} {element_type} {accuracy}"
            );
        }
        let error = ways("sine", "f64", "{tolerance={atol=0,rtol=1e-17,ulps=0}}").unwrap_err();
        assert_eq!(
            error.message,
            "`r`: no `sine` of f64 is as accurate as its `result_accuracy` asks for (atol 0e0, \
             rtol 1e-17, ulps 0): the best one is off by up to 1.600 units in the last place"
        );
    }
}
