//! `reshape-mover`, XLA's ReshapeMover: reshapes and transposes sink below elementwise ops, where
//! they meet others that undo them.
//!
//! `f(rearrange(x), rearrange(y)) => rearrange(f(x, y))`, where all operands are rearranged in the
//! same way or can be had in any shape: scalars in a broadcast. A group of elementwise ops moves as
//! one: if everything that uses its rearranged operands is in the group, and if no more results have
//! to be rearranged than operands were before.

use rustc_hash::{FxHashMap, FxHashSet};
use rxla_base::Result;
use rxla_hlo::{ComputationId, Dims, InstructionId, Module, Op, Shape};

use crate::effects::unfused_computations;
use crate::pass::{Context, Pass};
use crate::view;

pub struct ReshapeMover;

impl Pass for ReshapeMover {
    fn name(&self) -> &'static str {
        "reshape-mover"
    }

    fn class(&self) -> &'static str {
        "ReshapeMover"
    }

    fn run(&self, module: &mut Module, cx: &Context) -> Result<u64> {
        let mut made = 0;
        for computation in unfused_computations(module) {
            for group in groups(module, computation) {
                if !cx.spend() {
                    return Ok(made);
                }
                sink(module, &group);
                made += 1;
            }
        }
        Ok(made)
    }
}

/// A way to rearrange an array: from these sizes, by a permutation or into other sizes.
#[derive(Clone, PartialEq)]
struct Rearrangement {
    op: Op,
    from: Dims,
    to: Dims,
}

/// How an instruction rearranges its operand, if it does so to any effect.
fn rearrangement(module: &Module, i: InstructionId) -> Option<Rearrangement> {
    let op = &module[i].op;
    if !matches!(op, Op::Reshape(_) | Op::Transpose(_)) {
        return None;
    }
    let (from, to) = (view::dims(module, view::operand(module, i, 0))?, view::dims(module, i)?);
    // A reshape that only adds or drops dimensions of size 1 costs nothing and would only travel.
    let sizes = |dims: &Dims| -> Dims { dims.iter().copied().filter(|&d| d != 1).collect() };
    let trivial = matches!(op, Op::Reshape(_)) && sizes(from) == sizes(to);
    (!trivial).then(|| Rearrangement { op: op.clone(), from: from.clone(), to: to.clone() })
}

/// Whether the value can be had in any shape.
fn is_shapeless(module: &Module, i: InstructionId) -> bool {
    let Op::Broadcast(_) = &module[i].op else { return false };
    view::dims(module, view::operand(module, i, 0)).is_some_and(|dims| dims.is_empty())
}

/// Elementwise ops that move together.
struct Group {
    how: Rearrangement,
    /// Operands before users.
    members: Vec<InstructionId>,
}

/// Whether the op means the same on rearranged arrays.
fn may_move(module: &Module, i: InstructionId) -> bool {
    let op = &module[i].op;
    op.is_elementwise()
        && !matches!(op, Op::Map(_) | Op::Copy(_))
        && view::dims(module, i).is_some()
        && !view::has_control_edges(module, i)
}

/// How an elementwise op would be rearranged: as all of its operands are, which are rearrangements
/// or move themselves.
fn shared_by_operands(
    module: &Module,
    i: InstructionId,
    moving: &FxHashMap<InstructionId, Rearrangement>,
) -> Option<Rearrangement> {
    let sizes = view::dims(module, i)?;
    let mut shared: Option<Rearrangement> = None;
    for &operand in module[i].operands() {
        if view::dims(module, operand)? != sizes || is_shapeless(module, operand) {
            // A scalar of select or clamp, or a broadcast of one.
            continue;
        }
        let found = match moving.get(&operand) {
            Some(found) => found.clone(),
            None => rearrangement(module, operand)?,
        };
        if *shared.get_or_insert_with(|| found.clone()) != found {
            return None;
        }
    }
    shared
}

/// The groups that pay.
fn groups(module: &Module, computation: ComputationId) -> Vec<Group> {
    let mut candidates = module.post_order(computation);
    candidates.retain(|&i| may_move(module, i));
    loop {
        let mut moving: FxHashMap<InstructionId, Rearrangement> = FxHashMap::default();
        for &i in &candidates {
            if let Some(how) = shared_by_operands(module, i, &moving) {
                moving.insert(i, how);
            }
        }
        candidates.retain(|i| moving.contains_key(i));
        // Who shares a rearrangement with somebody that stays, stays.
        let before = candidates.len();
        candidates.retain(|&i| {
            sources(module, i, &moving).all(|source| {
                !view::is_root(module, source)
                    && module[source].users().iter().all(|user| moving.contains_key(user))
            })
        });
        if candidates.len() == before {
            return connected(module, &candidates, &moving);
        }
    }
}

/// The operands of a moving op that are rearrangements and do not move themselves.
fn sources<'a>(
    module: &'a Module,
    i: InstructionId,
    moving: &'a FxHashMap<InstructionId, Rearrangement>,
) -> impl Iterator<Item = InstructionId> + 'a {
    let sizes = view::dims(module, i);
    module[i].operands().iter().copied().filter(move |&operand| {
        !moving.contains_key(&operand)
            && !is_shapeless(module, operand)
            && view::dims(module, operand) == sizes
    })
}

/// Puts together who uses whom or the same rearrangement, and keeps the groups that pay.
fn connected(
    module: &Module,
    candidates: &[InstructionId],
    moving: &FxHashMap<InstructionId, Rearrangement>,
) -> Vec<Group> {
    let mut number: FxHashMap<InstructionId, usize> = FxHashMap::default();
    let mut groups = Vec::new();
    for &start in candidates {
        if number.contains_key(&start) {
            continue;
        }
        let group = groups.len();
        let mut stack = vec![start];
        number.insert(start, group);
        let mut entries: FxHashSet<InstructionId> = FxHashSet::default();
        let mut results = 0;
        while let Some(i) = stack.pop() {
            let mut near: Vec<InstructionId> = module[i].users().to_vec();
            near.extend(module[i].operands());
            for source in sources(module, i, moving) {
                entries.insert(source);
                near.extend(module[source].users());
            }
            let stays = |user: &InstructionId| !moving.contains_key(user);
            results += usize::from(view::is_root(module, i) || module[i].users().iter().any(stays));
            for next in near {
                if moving.contains_key(&next) && !number.contains_key(&next) {
                    number.insert(next, group);
                    stack.push(next);
                }
            }
        }
        let pays = results <= entries.len();
        groups.push((pays, Group { how: moving[&start].clone(), members: Vec::new() }));
    }
    candidates.iter().for_each(|i| groups[number[i]].1.members.push(*i));
    groups.into_iter().filter(|(pays, _)| *pays).map(|(_, group)| group).collect()
}

fn sink(module: &mut Module, group: &Group) {
    let how = &group.how;
    let mut below: FxHashMap<InstructionId, InstructionId> = FxHashMap::default();
    for &i in &group.members {
        let operands: Vec<InstructionId> = module[i].operands().to_vec();
        let operands: Vec<InstructionId> = operands
            .into_iter()
            .map(|operand| {
                if let Some(&moved) = below.get(&operand) {
                    moved
                } else if view::dims(module, operand) != Some(&how.to) {
                    operand
                } else if is_shapeless(module, operand) {
                    let scalar = view::operand(module, operand, 0);
                    let shape = with_sizes(module, operand, &how.from);
                    view::add_with_shape(module, operand, Op::broadcast([]), shape, &[scalar])
                } else {
                    view::operand(module, operand, 0)
                }
            })
            .collect();
        let shape = with_sizes(module, i, &how.from);
        let op = module[i].op.clone();
        let made = module.add_like(i, op, shape, &operands);
        // A sharding is about the dimensions of the result.
        module[made].info_mut().sharding = None;
        below.insert(i, made);
    }
    // Users first, so that what is replaced has no users left but those that stay.
    for &i in group.members.iter().rev() {
        if !module[i].users().is_empty() || view::is_root(module, i) {
            let whole = module[i].shape.clone();
            let moved = module.add_like(i, how.op.clone(), whole, &[below[&i]]);
            module.replace_all_uses(i, moved);
        }
        module.remove_instruction(i);
    }
}

/// The shape of an array with other sizes.
fn with_sizes(module: &Module, i: InstructionId, dims: &Dims) -> Shape {
    let element_type = view::element_type(module, i).expect("an elementwise value is an array");
    Shape::array(element_type, dims.iter().copied())
}
