//! Rules that single ops have beside their shapes.

use super::{Findings, each_instruction};
use crate::op::ResultAccuracy;
use crate::{Info, InstructionId, Module, Op, Sharding, UnaryKind};

pub(super) fn check(module: &Module, findings: &mut Findings) {
    let mut constrained: Option<(bool, &str)> = None;
    for (id, instruction) in each_instruction(module) {
        match &instruction.op {
            Op::Unary(op) => {
                if let Some(accuracy) = op.result_accuracy {
                    result_accuracy(id, op.kind, accuracy, findings);
                }
            }
            Op::Call(op) if op.is_composite => composite(id, instruction.info(), findings),
            Op::While(op) => {
                let ends = [(op.body, true), (op.condition, false)];
                let mut others = Vec::new();
                for (computation, with_root) in ends {
                    let Some(computation) = module.get_computation(computation) else { continue };
                    others.extend(computation.parameters().first().copied());
                    others.extend(computation.try_root().filter(|_| with_root));
                }
                same_sharding(module, id, &others, findings);
            }
            Op::Conditional(op) => {
                let roots = op.branch_computations.iter().filter_map(|&branch| {
                    module.get_computation(branch).and_then(|branch| branch.try_root())
                });
                same_sharding(module, id, &roots.collect::<Vec<_>>(), findings);
            }
            Op::AllReduce(op) => {
                mixed(id, instruction.name(), op.constrain_layout, &mut constrained, findings);
            }
            Op::AllReduceStart(op) => {
                mixed(id, instruction.name(), op.constrain_layout, &mut constrained, findings);
            }
            _other => {}
        }
    }
}

/// Only functions that are approximated have an accuracy to choose.
fn result_accuracy(
    id: InstructionId,
    kind: UnaryKind,
    accuracy: ResultAccuracy,
    findings: &mut Findings,
) {
    use UnaryKind::*;
    let exact = match kind {
        Acos | Acosh | Asin | Asinh | Atanh | Cbrt | Cos | Cosh | Erf | Exp | Expm1 | Log
        | Log1p | Logistic | Rsqrt | Sin | Sinh | Sqrt | Tan | Tanh => false,
        Abs | Ceil | CountLeadingZeros | Floor | Imag | IsFinite | Negate | Not
        | PopulationCount | Real | RoundNearestAfz | RoundNearestEven | Sign => true,
    };
    if exact && accuracy != ResultAccuracy::Default {
        findings
            .instruction(id, format!("`{kind}` is exact, `result_accuracy` says nothing of it"));
    }
    if let ResultAccuracy::Tolerance { atol_bits, rtol_bits, ulps } = accuracy {
        let bad = |bits: u64| f64::from_bits(bits) < 0.0 || f64::from_bits(bits).is_nan();
        if bad(atol_bits) || bad(rtol_bits) || ulps < 0 {
            findings.instruction(id, "`result_accuracy` has a negative tolerance");
        }
    }
}

/// A composite says which op it stands for.
fn composite(id: InstructionId, info: Option<&Info>, findings: &mut Findings) {
    let attribute = |name: &str| info.and_then(|info| info.frontend_attributes.get(name));
    if attribute("composite.name").is_none_or(|name| name.is_empty()) {
        findings.instruction(id, "a composite call has no frontend attribute `composite.name`");
    }
    if attribute("composite.attributes").is_some_and(|attributes| attributes.is_empty()) {
        findings.instruction(id, "the frontend attribute `composite.attributes` is empty");
    }
    let version = attribute("composite.version").map(|version| version.parse::<i64>());
    if version.is_some_and(|version| version.is_err() || version.is_ok_and(|number| number < 0)) {
        findings.instruction(id, "the frontend attribute `composite.version` is no number");
    }
}

/// Where shardings are given on the way round a loop or out of branches, they are one. What custom
/// calls say is for the partitioner, which has values lie as they have to.
fn same_sharding(
    module: &Module,
    id: InstructionId,
    others: &[InstructionId],
    findings: &mut Findings,
) {
    let sharding = |id: InstructionId| -> Option<&Sharding> {
        let instruction = module.get_instruction(id)?;
        let is_call = matches!(instruction.op, Op::CustomCall(_));
        instruction.info()?.sharding.as_ref().filter(|_| !is_call)
    };
    let mut first: Option<(InstructionId, &Sharding)> = sharding(id).map(|found| (id, found));
    for &other in others {
        let Some(found) = sharding(other) else { continue };
        match first {
            None => first = Some((other, found)),
            Some((at, expected)) if expected != found => {
                let name = |id: InstructionId| {
                    module.get_instruction(id).map_or("?", |instruction| instruction.name())
                };
                findings.instruction(
                    id,
                    format!("`{}` and `{}` differ in sharding", name(at), name(other)),
                );
                return;
            }
            Some(_) => {}
        }
    }
}

/// All-reduces of a module have fixed layouts either all or none.
fn mixed<'m>(
    id: InstructionId,
    name: &'m str,
    constrain: bool,
    seen: &mut Option<(bool, &'m str)>,
    findings: &mut Findings,
) {
    let (expected, first) = *seen.get_or_insert((constrain, name));
    if expected != constrain {
        findings.instruction(id, format!("only one of this and `{first}` has `constrain_layout`"));
    }
}
