//! What a program costs, estimated from its HLO: the numbers frameworks show as cost analysis.

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
            let elements = elements(&instruction.shape);
            match &instruction.op {
                Op::Parameter(_) | Op::Constant(_) | Op::Tuple(_) | Op::GetTupleElement(_) => {
                    continue;
                }
                Op::Dot(dot) => {
                    let contracted: f64 = dot
                        .dimension_numbers
                        .lhs_contracting_dimensions
                        .iter()
                        .filter_map(|&dimension| {
                            let lhs = module.operand_shape(id, 0).as_array()?;
                            lhs.dims.get(usize::try_from(dimension).ok()?).map(|&dim| dim as f64)
                        })
                        .product();
                    self.flops += 2.0 * elements * contracted;
                }
                _ => {}
            }
            self.bytes += bytes(&instruction.shape);
            for &operand in instruction.operands() {
                self.bytes += bytes(&module[operand].shape);
            }
        }
    }
}

fn elements(shape: &Shape) -> f64 {
    let leaves = shape.leaves();
    leaves.iter().filter_map(|(_, leaf)| leaf.as_array()?.element_count()).sum::<usize>() as f64
}

fn bytes(shape: &Shape) -> f64 {
    shape.byte_size().unwrap_or(0) as f64
}
