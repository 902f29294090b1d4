//! What a program costs, estimated from its HLO: the numbers frameworks show as cost analysis.

use rxla_hlo::op::UnaryKind;
use rxla_hlo::{ComputationId, Module, Op, Shape};

/// Names and values as XLA calls them: `flops`, `transcendentals`, `bytes accessed`.
pub fn costs(module: &Module) -> Vec<(String, f64)> {
    let mut cost = Cost::default();
    if let Some(entry) = module.try_entry() {
        cost.add_computation(module, entry, 0);
    }
    vec![
        ("flops".to_owned(), cost.flops),
        ("transcendentals".to_owned(), cost.transcendentals),
        ("bytes accessed".to_owned(), cost.bytes),
    ]
}

#[derive(Default)]
struct Cost {
    flops: f64,
    transcendentals: f64,
    bytes: f64,
}

/// Computations nest no deeper in modules that passed the verifier.
const DEEPEST: usize = 1000;

impl Cost {
    fn add_computation(&mut self, module: &Module, computation: ComputationId, depth: usize) {
        if depth > DEEPEST {
            return;
        }
        for &id in module[computation].instructions() {
            let instruction = &module[id];
            let results = elements(&instruction.shape);
            let free = matches!(
                instruction.op,
                Op::Parameter(_) | Op::Constant(_) | Op::Tuple(_) | Op::GetTupleElement(_)
            );
            if free {
                continue;
            }
            self.bytes += bytes(&instruction.shape);
            self.bytes +=
                instruction.operands().iter().map(|&o| bytes(&module[o].shape)).sum::<f64>();
            if let Op::Unary(unary) = &instruction.op
                && is_transcendental(unary.kind)
            {
                self.transcendentals += results;
            } else if instruction.op.is_elementwise() {
                self.flops += results;
            }
            if let Op::Dot(dot) = &instruction.op {
                self.flops +=
                    2.0 * results * sizes(module.operand_shape(id, 0), &dot.lhs_contracting_dims);
            }
            // A while or a conditional counts its computations once: how often they run is not
            // known. A reduction runs its computation once per element that goes in.
            let per_element = matches!(
                instruction.op,
                Op::Reduce(_) | Op::ReduceWindow(_) | Op::Scatter(_) | Op::SelectAndScatter(_)
            );
            for called in instruction.op.called_computations() {
                let mut inner = Cost::default();
                inner.add_computation(module, called, depth + 1);
                let times = if per_element { elements(module.operand_shape(id, 0)) } else { 1.0 };
                self.flops += inner.flops * times;
                self.transcendentals += inner.transcendentals * times;
                if !per_element {
                    self.bytes += inner.bytes;
                }
            }
        }
    }
}

/// The product of an array's sizes in these dimensions.
fn sizes(shape: &Shape, dimensions: &[i64]) -> f64 {
    let size = |&dimension: &i64| {
        let dims = &shape.as_array()?.dims;
        dims.get(usize::try_from(dimension).ok()?).map(|&dim| dim as f64)
    };
    dimensions.iter().filter_map(size).product()
}

fn is_transcendental(kind: UnaryKind) -> bool {
    use UnaryKind::*;
    match kind {
        Acos | Acosh | Asin | Asinh | Atanh | Cbrt | Cos | Cosh | Erf | Exp | Expm1 | Log
        | Log1p | Logistic | Rsqrt | Sin | Sinh | Sqrt | Tan | Tanh => true,
        Abs | Ceil | CountLeadingZeros | Floor | Imag | IsFinite | Negate | Not
        | PopulationCount | Real | RoundNearestAfz | RoundNearestEven | Sign => false,
    }
}

fn elements(shape: &Shape) -> f64 {
    let leaves = shape.leaves();
    leaves.iter().filter_map(|(_, leaf)| leaf.as_array()?.element_count()).sum::<usize>() as f64
}

fn bytes(shape: &Shape) -> f64 {
    shape.byte_size().unwrap_or(0) as f64
}
