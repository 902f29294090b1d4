//! `cse`, XLA's HloCSE: of instructions that compute the same from the same operands one is kept.
//!
//! Computations that say the same count as the same, since programs carry a reducer of their own
//! for every reduction. What has an effect, waits for or is waited for by another, or exists to
//! keep things apart (barriers, asynchronous pairs) is left alone.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use rxla_base::{Result, SecondaryMap};
use rxla_hlo::op::Constant;
use rxla_hlo::{BinaryKind, Computation, ComputationId, InstructionId, Module, Op};

use crate::effects::{Effects, unfused_computations};
use crate::pass::{Context, Pass};

pub struct HloCse;

impl Pass for HloCse {
    fn name(&self) -> &'static str {
        "cse"
    }

    fn class(&self) -> &'static str {
        "HloCSE"
    }

    fn run(&self, module: &mut Module, cx: &Context) -> Result<u64> {
        let effects = Effects::of(module);
        let mut same = SameComputations::default();
        let mut made = 0;
        let unfused: FxHashSet<ComputationId> = unfused_computations(module).into_iter().collect();
        for computation in module.computation_post_order() {
            if unfused.contains(&computation) {
                made += merge(module, cx, &effects, &same, computation);
            }
            same.enter(module, computation);
        }
        Ok(made)
    }
}

/// Merges within one computation, operands before users.
fn merge(
    module: &mut Module,
    cx: &Context,
    effects: &Effects,
    same: &SameComputations,
    computation: ComputationId,
) -> u64 {
    let mut seen: FxHashMap<u64, Vec<InstructionId>> = FxHashMap::default();
    let order = module.post_order(computation);
    let mut tied: FxHashSet<InstructionId> = FxHashSet::default();
    for &i in &order {
        let before = module[i].control_predecessors();
        if !before.is_empty() {
            tied.extend(before);
            tied.insert(i);
        }
    }
    let mut merged = Vec::new();
    for i in order {
        if tied.contains(&i) || effects.has(module, i) || keeps_apart(&module[i].op) {
            continue;
        }
        let candidates = seen.entry(hash(module, same, i)).or_default();
        let Some(&kept) = candidates.iter().find(|&&kept| equal(module, same, kept, i)) else {
            candidates.push(i);
            continue;
        };
        if !cx.spend() {
            break;
        }
        module.replace_all_uses(i, kept);
        merged.push(i);
    }
    // The last ones first: none is used by one that stays.
    merged.reverse();
    module.remove_instructions(computation, &merged);
    merged.len() as u64
}

/// Ops whose being there twice means something.
fn keeps_apart(op: &Op) -> bool {
    matches!(
        op,
        Op::Parameter(_)
            | Op::OptimizationBarrier(_)
            | Op::Domain(_)
            | Op::Copy(_)
            | Op::CopyStart(_)
            | Op::CopyDone(_)
            | Op::AsyncStart(_)
            | Op::AsyncUpdate(_)
            | Op::AsyncDone(_)
            | Op::AfterAll(_)
            | Op::AddDependency(_)
    )
}

/// Whether operands may be exchanged to the bit. Minimum and maximum of floats may give a zero of
/// either sign.
fn is_exchangeable(module: &Module, i: InstructionId) -> bool {
    let Op::Binary(op) = &module[i].op else { return false };
    let float = module[i]
        .shape
        .as_array()
        .is_none_or(|shape| shape.element_type.is_float() || shape.element_type.is_complex());
    module[i].op.is_commutative()
        && (!float || matches!(op.kind, BinaryKind::Add | BinaryKind::Multiply))
}

fn operands_of(module: &Module, i: InstructionId) -> Vec<InstructionId> {
    let mut operands = module[i].operands().to_vec();
    if is_exchangeable(module, i) {
        operands.sort_unstable();
    }
    operands
}

fn hash(module: &Module, same: &SameComputations, i: InstructionId) -> u64 {
    let mut hasher = FxHasher::default();
    let instruction = &module[i];
    instruction.op.name().hash(&mut hasher);
    operands_of(module, i).hash(&mut hasher);
    instruction.op.called_computations().iter().for_each(|&c| same.of(c).hash(&mut hasher));
    if let Some(array) = instruction.shape.as_array() {
        array.dims.hash(&mut hasher);
    }
    // Attributes are left to the comparison, but for ops of which there are many that differ in
    // nothing else. A part of a literal is enough to tell most apart.
    if let Op::GetTupleElement(op) = &instruction.op {
        op.index.hash(&mut hasher);
    }
    if let Op::Constant(Constant { literal }) = &instruction.op
        && let Some(array) = literal.as_array()
    {
        array.bytes()[..array.bytes().len().min(256)].hash(&mut hasher);
    }
    hasher.finish()
}

fn equal(module: &Module, same: &SameComputations, a: InstructionId, b: InstructionId) -> bool {
    let info = |i: InstructionId| {
        module[i].info().map(|info| {
            (
                info.sharding.as_ref(),
                &info.frontend_attributes,
                info.backend_config.as_str(),
                &info.unknown_attributes,
            )
        })
    };
    let plain = |i: InstructionId| {
        info(i).is_none_or(|(sharding, attributes, config, unknown)| {
            sharding.is_none() && attributes.is_empty() && config.is_empty() && unknown.is_empty()
        })
    };
    // Layouts included: where there are some, they matter.
    module[a].shape == module[b].shape
        && operands_of(module, a) == operands_of(module, b)
        && same.ops(&module[a].op, &module[b].op)
        && (info(a) == info(b) || (plain(a) && plain(b)))
}

/// For each computation the first one that says the same.
#[derive(Default)]
pub(super) struct SameComputations {
    first: SecondaryMap<Computation, Option<ComputationId>>,
    by_size: FxHashMap<usize, Vec<ComputationId>>,
}

impl SameComputations {
    pub(super) fn in_module(module: &Module) -> SameComputations {
        let mut same = SameComputations::default();
        for computation in module.computation_post_order() {
            same.enter(module, computation);
        }
        same
    }

    fn of(&self, computation: ComputationId) -> ComputationId {
        self.first[computation].unwrap_or(computation)
    }

    /// Equal ops, of which the called computations are those that say the same.
    pub(super) fn ops(&self, a: &Op, b: &Op) -> bool {
        if a.called_computations().is_empty() {
            return a == b;
        }
        let mapped = |op: &Op| {
            let mut op = op.clone();
            op.map_computations(&mut |computation| self.of(computation));
            op
        };
        mapped(a) == mapped(b)
    }

    /// Callees have been entered before.
    fn enter(&mut self, module: &Module, computation: ComputationId) {
        let size = module[computation].instructions().len();
        let known = self.by_size.get(&size).map_or(&[][..], Vec::as_slice);
        let found =
            known.iter().copied().find(|&known| self.say_the_same(module, known, computation));
        self.first[computation] = Some(found.unwrap_or(computation));
        if found.is_none() {
            self.by_size.entry(size).or_default().push(computation);
        }
    }

    fn say_the_same(&self, module: &Module, a: ComputationId, b: ComputationId) -> bool {
        let (orders, threads) = (
            [module.post_order(a), module.post_order(b)],
            [&module[a].execution_thread, &module[b].execution_thread],
        );
        if orders[0].len() != orders[1].len() || threads[0] != threads[1] {
            return false;
        }
        let mut partner: FxHashMap<InstructionId, InstructionId> = FxHashMap::default();
        for (&x, &y) in orders[0].iter().zip(&orders[1]) {
            let (left, right) = (&module[x], &module[y]);
            let operands = left.operands().iter().map(|operand| partner[operand]);
            let matches = left.shape == right.shape
                && operands.eq(right.operands().iter().copied())
                && left.control_predecessors().is_empty()
                && right.control_predecessors().is_empty()
                && self.ops(&left.op, &right.op);
            if !matches {
                return false;
            }
            partner.insert(x, y);
        }
        partner[&module[a].root()] == module[b].root()
    }
}
