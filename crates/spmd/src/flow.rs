//! How shardings flow from parameters to results, for results that say none. Only the entry
//! computation is looked at, and only ops that leave dimensions as they are or move them.

use rxla_base::{Result, SecondaryMap};
use rxla_hlo::{Instruction, InstructionId, Module, Op, Shape};

use crate::calls::target;
use crate::tiles::Tiles;

/// The tiles that each value of the entry computation would have, where something is known.
pub(crate) struct Flow(SecondaryMap<Instruction, Option<Tiles>>);

impl Flow {
    pub(crate) fn new(module: &Module, partitions: usize) -> Result<Flow> {
        let mut flow = Flow(SecondaryMap::default());
        for id in module.post_order(module.entry()) {
            let tiles = flow.of(module, id, partitions)?;
            // What is done with a value is done after its summands were added.
            flow.0[id] = tiles.map(Tiles::reduced).filter(|tiles| !tiles.is_whole());
        }
        Ok(flow)
    }

    pub(crate) fn tiles(&self, instruction: InstructionId) -> Option<&Tiles> {
        self.0[instruction].as_ref()
    }

    fn of(&self, module: &Module, id: InstructionId, partitions: usize) -> Result<Option<Tiles>> {
        let instruction = &module[id];
        let Shape::Array(array) = &instruction.shape else { return Ok(None) };
        let speaks = matches!(instruction.op, Op::Parameter(_))
            || matches!(target(module, id), Some("Sharding" | "SPMDShardToFullShape"));
        if speaks {
            let sharding = instruction.info().and_then(|info| info.sharding.as_ref());
            return sharding.map(|s| Tiles::of(s, array.rank(), partitions)).transpose();
        }
        let operands = instruction.operands();
        let operand = |index: usize| self.0[*operands.get(index)?].as_ref();
        let same_dims = |operand: InstructionId| {
            module[operand].shape.as_array().is_some_and(|other| other.dims == array.dims)
        };
        let number = |dimension: i64| usize::try_from(dimension).unwrap_or(usize::MAX);
        Ok(match &instruction.op {
            op if op.is_elementwise() => {
                let mut sharded = operands.iter().filter(|&&operand| same_dims(operand));
                sharded.find_map(|&operand| self.0[operand].clone())
            }
            Op::Copy(_) | Op::Reverse(_) | Op::OptimizationBarrier(_) => operand(0).cloned(),
            Op::Transpose(transpose) => operand(0).map(|tiles| {
                let sources: Vec<_> =
                    transpose.dimensions.iter().map(|&dimension| Some(number(dimension))).collect();
                tiles.rearranged(&sources)
            }),
            Op::Broadcast(broadcast) => operand(0).map(|tiles| {
                let mut sources = vec![None; array.rank()];
                for (source, &dimension) in broadcast.dimensions.iter().enumerate() {
                    sources[number(dimension)] = Some(source);
                }
                tiles.rearranged(&sources)
            }),
            Op::Reduce(reduce) => operand(0).map(|tiles| {
                let kept: Vec<_> = (0..tiles.counts.len())
                    .filter(|&d| !reduce.dimensions.contains(&(d as i64)))
                    .map(Some)
                    .collect();
                tiles.rearranged(&kept)
            }),
            Op::Reshape(_) => operand(0).and_then(|tiles| {
                let before = module.operand_shape(id, 0).as_array()?;
                Some(tiles.rearranged(&kept_by_reshape(&before.dims, &array.dims)))
            }),
            // Dimensions of another size are whole in the result.
            Op::Slice(_)
            | Op::Pad(_)
            | Op::DynamicSlice(_)
            | Op::Concatenate(_)
            | Op::DynamicUpdateSlice(_) => operand(0).and_then(|tiles| {
                let before = module.operand_shape(id, 0).as_array()?;
                let sources: Vec<_> = (0..array.rank())
                    .map(|d| (before.dims[d] == array.dims[d]).then_some(d))
                    .collect();
                Some(tiles.rearranged(&sources))
            }),
            Op::Dot(dot) => {
                let free = |index: usize, used: [&[i64]; 2]| -> Vec<Option<usize>> {
                    let rank = module.operand_shape(id, index).as_array().map_or(0, |a| a.rank());
                    let is_used = |d: usize| used.iter().any(|list| list.contains(&(d as i64)));
                    (0..rank).filter(|&d| !is_used(d)).map(Some).collect()
                };
                let batch: Vec<_> = dot.lhs_batch_dims.iter().map(|&d| Some(number(d))).collect();
                let lhs = free(0, [&dot.lhs_batch_dims, &dot.lhs_contracting_dims]);
                let rhs = free(1, [&dot.rhs_batch_dims, &dot.rhs_contracting_dims]);
                let from_lhs = operand(0).map(|tiles| {
                    let mut sources = [batch.clone(), lhs.clone()].concat();
                    sources.resize(array.rank(), None);
                    tiles.rearranged(&sources)
                });
                let from_rhs = operand(1).map(|tiles| {
                    let mut sources: Vec<_> =
                        dot.rhs_batch_dims.iter().map(|&d| Some(number(d))).collect();
                    sources.resize(batch.len() + lhs.len(), None);
                    sources.extend(rhs.iter().copied());
                    tiles.rearranged(&sources)
                });
                match (from_lhs, from_rhs) {
                    (Some(lhs), Some(rhs)) if !lhs.is_whole() && !rhs.is_whole() => {
                        Some(lhs.joined(&rhs).unwrap_or(lhs))
                    }
                    (Some(lhs), _) if !lhs.is_whole() => Some(lhs),
                    (_, rhs) => rhs,
                }
            }
            _ => None,
        })
    }
}

/// For each dimension after a reshape, the one before that it is: those that stand alone between
/// equal products of sizes.
fn kept_by_reshape(before: &[i64], after: &[i64]) -> Vec<Option<usize>> {
    let mut sources = vec![None; after.len()];
    let (mut b, mut a) = (0, 0);
    let (mut before_product, mut after_product) = (1i64, 1i64);
    while b < before.len() && a < after.len() {
        if before_product == after_product && before[b] == after[a] {
            sources[a] = Some(b);
            b += 1;
            a += 1;
        } else if before_product <= after_product {
            before_product = before_product.saturating_mul(before[b]);
            b += 1;
        } else {
            after_product = after_product.saturating_mul(after[a]);
            a += 1;
        }
    }
    sources
}
