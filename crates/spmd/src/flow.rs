//! How shardings flow from parameters to results, for results that say none: through ops that leave
//! dimensions as they are or move them, and through the computations that are called.

use rustc_hash::FxHashMap;
use rxla_base::{Result, SecondaryMap};
use rxla_hlo::op::While;
use rxla_hlo::{
    ComputationId, Instruction, InstructionId, Module, Op, Shape, ShardGroup, Sharding,
    ShardingKind,
};

use crate::calls::target;
use crate::tiles::Tiles;

/// What is known of the leaves of a value.
type Leaves = Vec<Option<Tiles>>;

/// The tiles that each array of the program would have, where something is known.
pub(crate) struct Flow(SecondaryMap<Instruction, Known>);

#[derive(Clone, Default)]
enum Known {
    #[default]
    Nothing,
    /// The same whenever the instruction runs.
    Tiles(Tiles),
    /// The computation is called with values spread in different ways.
    Differs,
}

impl Flow {
    pub(crate) fn new(module: &Module, partitions: usize) -> Result<Flow> {
        let first = Walk::over(module, partitions, FxHashMap::default())?;
        if first.groups.is_empty() {
            return Ok(first.flow);
        }
        // The second time all members of a group of shardings know what one of them is.
        Ok(Walk::over(module, partitions, first.groups)?.flow)
    }

    pub(crate) fn tiles(&self, instruction: InstructionId) -> Option<&Tiles> {
        match &self.0[instruction] {
            Known::Tiles(tiles) => Some(tiles),
            Known::Nothing | Known::Differs => None,
        }
    }

    /// Notes what one run of an instruction knows.
    fn note(&mut self, id: InstructionId, tiles: Option<&Tiles>) {
        let known = &mut self.0[id];
        *known = match (&*known, tiles) {
            (Known::Nothing, Some(tiles)) => Known::Tiles(tiles.clone()),
            (Known::Tiles(before), Some(tiles)) if before == tiles => return,
            (Known::Nothing, None) => return,
            (_, _) => Known::Differs,
        };
    }
}

/// How many instructions are looked at: calls within calls are followed each time.
const BUDGET: usize = 1 << 20;

/// One pass over the program.
struct Walk<'m> {
    module: &'m Module,
    partitions: usize,
    /// Arrays that shall be spread alike, by their group's number.
    groups: FxHashMap<i64, Tiles>,
    flow: Flow,
    budget: usize,
}

impl Walk<'_> {
    fn over(module: &Module, partitions: usize, groups: FxHashMap<i64, Tiles>) -> Result<Walk<'_>> {
        let flow = Flow(SecondaryMap::default());
        let mut walk = Walk { module, partitions, groups, flow, budget: BUDGET };
        walk.computation(module.entry(), None)?;
        Ok(walk)
    }

    /// What is known of a computation's root, given its arguments; the entry's parameters speak for
    /// themselves.
    fn computation(&mut self, id: ComputationId, arguments: Option<&[Leaves]>) -> Result<Leaves> {
        let module = self.module;
        let mut values: FxHashMap<InstructionId, Leaves> = FxHashMap::default();
        for instruction in module.post_order(id) {
            let count = module[instruction].shape.leaves().len();
            let Some(budget) = self.budget.checked_sub(1) else { return Ok(Vec::new()) };
            self.budget = budget;
            let argument = match (&module[instruction].op, arguments) {
                (Op::Parameter(parameter), Some(arguments)) => usize::try_from(parameter.number)
                    .ok()
                    .and_then(|number| arguments.get(number).cloned())
                    .or(Some(Vec::new())),
                _ => None,
            };
            let mut leaves = match argument {
                Some(leaves) => leaves,
                None => self.leaves(instruction, &values)?,
            };
            leaves.resize(count, None);
            for leaf in &mut leaves {
                *leaf = leaf.take().filter(|tiles| !tiles.is_whole());
            }
            if let (Shape::Array(_), [tiles]) = (&module[instruction].shape, &leaves[..]) {
                self.flow.note(instruction, tiles.as_ref());
            }
            values.insert(instruction, leaves);
        }
        Ok(values.remove(&module[id].root()).unwrap_or_default())
    }

    /// What is known of an instruction's value, given that of its operands.
    fn leaves(
        &mut self,
        id: InstructionId,
        values: &FxHashMap<InstructionId, Leaves>,
    ) -> Result<Leaves> {
        let module = self.module;
        let of = |operand: InstructionId| values.get(&operand).cloned().unwrap_or_default();
        let operands = module[id].operands();
        match &module[id].op {
            Op::Tuple(_) => Ok(operands.iter().flat_map(|&operand| of(operand)).collect()),
            Op::GetTupleElement(get) => {
                let Some(elements) = operands.first().and_then(|&o| module[o].shape.as_tuple())
                else {
                    return Ok(Vec::new());
                };
                let index = usize::try_from(get.index).unwrap_or(usize::MAX);
                let count = |shape: &Shape| shape.leaves().len();
                let first = elements.iter().take(index).map(count).sum::<usize>();
                let count = elements.get(index).map_or(0, count);
                Ok(of(operands[0]).into_iter().skip(first).take(count).collect())
            }
            Op::Call(call) => {
                let arguments: Vec<Leaves> = operands.iter().map(|&operand| of(operand)).collect();
                self.computation(call.to_apply, Some(&arguments))
            }
            Op::Conditional(conditional) => {
                let mut result: Option<Leaves> = None;
                for (&branch, &operand) in
                    conditional.branch_computations.iter().zip(operands.iter().skip(1))
                {
                    let leaves = self.computation(branch, Some(&[of(operand)]))?;
                    result = Some(match result {
                        None => leaves,
                        Some(others) => or_else(others, leaves),
                    });
                }
                Ok(result.unwrap_or_default())
            }
            Op::While(While { body, .. }) => {
                // What an iteration learns, the next ones start with.
                let start = operands.first().map(|&operand| of(operand)).unwrap_or_default();
                let after = self.computation(*body, Some(&[start.clone()]))?;
                let start = or_else(start, after);
                let after = self.computation(*body, Some(&[start.clone()]))?;
                Ok(or_else(start, after))
            }
            Op::OptimizationBarrier(_) => Ok(operands.first().map(|&o| of(o)).unwrap_or_default()),
            _ => {
                let first = |operand: &InstructionId| of(*operand).into_iter().next().flatten();
                let known: Vec<Option<Tiles>> = operands.iter().map(first).collect();
                Ok(vec![self.array(id, &known)?])
            }
        }
    }

    /// The tiles of an array, given those of the operands.
    fn array(&mut self, id: InstructionId, known: &[Option<Tiles>]) -> Result<Option<Tiles>> {
        let (module, partitions) = (self.module, self.partitions);
        let instruction = &module[id];
        let Shape::Array(array) = &instruction.shape else { return Ok(None) };
        let operand = |index: usize| known.get(index)?.as_ref();
        let sharding = instruction.info().and_then(|info| info.sharding.as_ref());
        let is_marker = target(module, id) == Some("Sharding");
        if is_marker
            && let Some(Sharding::Single(single)) = sharding
            && single.kind == ShardingKind::Unknown
        {
            let Some(ShardGroup::As(group) | ShardGroup::Like(group)) = single.group else {
                return Ok(operand(0).cloned());
            };
            let tiles = operand(0).or_else(|| self.groups.get(&group)).cloned();
            if let Some(tiles) = tiles.as_ref().filter(|tiles| tiles.counts.len() == array.rank()) {
                self.groups.entry(group).or_insert_with(|| tiles.clone());
            }
            return Ok(tiles.filter(|tiles| tiles.counts.len() == array.rank()));
        }
        let speaks = is_marker
            || matches!(instruction.op, Op::Parameter(_))
            || target(module, id) == Some("SPMDShardToFullShape");
        if speaks {
            return sharding.map(|s| Tiles::of(s, array.rank(), partitions)).transpose();
        }
        let operands = instruction.operands();
        // What is done with a value is done after its summands were added.
        let known: Vec<_> = known.iter().map(|t| t.clone().map(Tiles::reduced)).collect();
        let operand = |index: usize| known.get(index)?.as_ref();
        let same_dims = |operand: InstructionId| {
            module[operand].shape.as_array().is_some_and(|other| other.dims == array.dims)
        };
        let number = |dimension: i64| usize::try_from(dimension).unwrap_or(usize::MAX);
        Ok(match &instruction.op {
            op if op.is_elementwise() => {
                let mut sharded = operands.iter().zip(&known).filter(|&(&o, _)| same_dims(o));
                sharded.find_map(|(_, tiles)| tiles.clone())
            }
            Op::Copy(_) | Op::Reverse(_) => operand(0).cloned(),
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

/// What one of the two knows, the first one if both do.
fn or_else(leaves: Leaves, others: Leaves) -> Leaves {
    if leaves.is_empty() {
        return others;
    }
    let others = others.into_iter().chain(std::iter::repeat(None));
    leaves.into_iter().zip(others).map(|(leaf, other)| leaf.or(other)).collect()
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
