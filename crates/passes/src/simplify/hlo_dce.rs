//! `dce`, XLA's HloDCE: removes instructions whose value nobody uses, and computations that nothing
//! calls. What has an effect stays, and so do parameters, which are part of a signature.

use rxla_base::{Result, SecondaryMap};
use rxla_hlo::{ComputationId, Instruction, InstructionId, Module, Op};

use crate::effects::Effects;
use crate::pass::{Context, Pass};

pub struct HloDce;

impl Pass for HloDce {
    fn name(&self) -> &'static str {
        "dce"
    }

    fn class(&self) -> &'static str {
        "HloDCE"
    }

    fn run(&self, module: &mut Module, cx: &Context) -> Result<u64> {
        let effects = Effects::of(module);
        let mut made = 0;
        for computation in module.computation_post_order() {
            let mut dead = dead_instructions(module, &effects, computation);
            let allowed = dead.iter().take_while(|_| cx.spend()).count();
            // Users stand first, so what is left out has no users among the removed only.
            dead.truncate(allowed);
            module.remove_instructions(computation, &dead);
            made += allowed as u64;
        }
        Ok(made + remove_uncalled(module, cx))
    }
}

/// The dead instructions of a computation, users before operands.
fn dead_instructions(
    module: &Module,
    effects: &Effects,
    computation: ComputationId,
) -> Vec<InstructionId> {
    let mut live: SecondaryMap<Instruction, bool> = SecondaryMap::default();
    let root = module[computation].root();
    let mut order = module.post_order(computation);
    order.reverse();
    for &i in &order {
        live[i] |= i == root || matches!(module[i].op, Op::Parameter(_)) || effects.has(module, i);
        if live[i] {
            module[i].operands().iter().for_each(|&operand| live[operand] = true);
        }
    }
    order.retain(|&i| !live[i]);
    order
}

/// Removes computations that the entry does not reach, callers first.
fn remove_uncalled(module: &mut Module, cx: &Context) -> u64 {
    let mut called = module.computation_post_order();
    called.sort_unstable();
    let mut made = 0;
    let uncalled: Vec<ComputationId> = module
        .computations()
        .iter()
        .rev()
        .copied()
        .filter(|computation| called.binary_search(computation).is_err())
        .collect();
    for computation in callers_first(module, uncalled) {
        if !cx.spend() {
            break;
        }
        module.remove_computation(computation);
        made += 1;
    }
    made
}

/// Orders computations so that none is called by a later one.
fn callers_first(module: &Module, computations: Vec<ComputationId>) -> Vec<ComputationId> {
    let mut order = Vec::with_capacity(computations.len());
    let mut waiting = computations;
    while !waiting.is_empty() {
        let mut called: Vec<ComputationId> = waiting
            .iter()
            .flat_map(|&computation| module[computation].instructions())
            .flat_map(|&i| module[i].op.called_computations())
            .collect();
        called.sort_unstable();
        let (ready, rest): (Vec<_>, Vec<_>) =
            waiting.into_iter().partition(|c| called.binary_search(c).is_err());
        assert!(!ready.is_empty(), "computations that call each other in a circle");
        order.extend(ready);
        waiting = rest;
    }
    order
}
