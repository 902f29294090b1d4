//! `simplify-conditional`, XLA's ConditionalSimplifier: a branch that is known is put in place of the
//! choice, and results that nobody reads are not computed.

use rxla_base::Result;
use rxla_hlo::op::Conditional;
use rxla_hlo::{ComputationId, ElementType, InstructionId, Module, Op};

use super::carried;
use crate::effects::{Effects, unfused_computations};
use crate::pass::{Context, Pass};
use crate::simplify::call_inliner::{MAX_INSTRUCTIONS, inline_with};
use crate::view;

pub struct ConditionalSimplifier;

impl Pass for ConditionalSimplifier {
    fn name(&self) -> &'static str {
        "simplify-conditional"
    }

    fn class(&self) -> &'static str {
        "ConditionalSimplifier"
    }

    fn run(&self, module: &mut Module, cx: &Context) -> Result<u64> {
        let mut made = 0;
        for computation in unfused_computations(module) {
            for site in module.post_order(computation) {
                let Op::Conditional(_) = &module[site].op else { continue };
                if module.instruction_capacity() > MAX_INSTRUCTIONS {
                    return Ok(made);
                }
                let branch = known_branch(module, site);
                let kept = kept_results(module, site);
                if branch.is_none() && kept.is_none() {
                    continue;
                }
                if !cx.spend() {
                    return Ok(made);
                }
                made += 1;
                match (branch, kept) {
                    (Some((callee, argument)), _) => inline_with(module, site, callee, &[argument]),
                    (None, Some(kept)) => narrow(module, site, &kept),
                    (None, None) => {}
                }
            }
        }
        Ok(made)
    }
}

/// The branch that is taken, with its argument: the only one, or the one that a constant names. An
/// index that names none takes the last.
fn known_branch(m: &Module, site: InstructionId) -> Option<(ComputationId, InstructionId)> {
    let Op::Conditional(op) = &m[site].op else { return None };
    let branches = &op.branch_computations;
    let last = branches.len().checked_sub(1)?;
    let selector = view::operand(m, site, 0);
    let branch = if last == 0 {
        0
    } else if view::element_type(m, selector) == Some(ElementType::Pred) {
        usize::from(view::constant(m, selector)?.integer(0)? == 0)
    } else {
        let index = view::constant(m, selector)?.integer(0)?;
        usize::try_from(index).map_or(last, |index| index.min(last))
    };
    Some((branches[branch], view::operand(m, site, branch + 1)))
}

/// The results that are read, if some are not, and if all branches say which those are.
fn kept_results(m: &Module, site: InstructionId) -> Option<Vec<usize>> {
    let Op::Conditional(op) = &m[site].op else { return None };
    let width = m[site].shape.as_tuple()?.len();
    let plain = |i: InstructionId| {
        !view::has_control_edges(m, i) && m[i].info().is_none_or(|info| info.sharding.is_none())
    };
    let roots = op.branch_computations.iter().map(|&branch| m[branch].root());
    let tuples = roots.into_iter().all(|root| plain(root) && matches!(m[root].op, Op::Tuple(_)));
    if !tuples || !plain(site) || view::is_root(m, site) {
        return None;
    }
    let mut read = vec![false; width];
    for &user in m[site].users() {
        read[carried::element(m, user, site)?] = true;
    }
    let kept: Vec<usize> = (0..width).filter(|&index| read[index]).collect();
    (!kept.is_empty() && kept.len() < width).then_some(kept)
}

fn narrow(m: &mut Module, site: InstructionId, kept: &[usize]) {
    let Op::Conditional(op) = &m[site].op else { unreachable!("a choice was looked at") };
    let branches = op.branch_computations.clone();
    let effects = Effects::of(m);
    let mut branch_computations = Vec::with_capacity(branches.len());
    for branch in branches {
        let (branch, _) = carried::copy(m, branch);
        let results = m[m[branch].root()].operands();
        let results: Vec<InstructionId> = kept.iter().map(|&index| results[index]).collect();
        carried::set_results(m, branch, &results);
        carried::sweep(m, &effects, branch);
        branch_computations.push(branch);
    }
    let shape = m[m[branch_computations[0]].root()].shape.clone();
    let operands = m[site].operands().to_vec();
    let op = Op::Conditional(Conditional { branch_computations });
    let new = m.add_like(site, op, shape, &operands);
    if m[new].info().is_some() {
        m[new].info_mut().original_value = None;
    }
    for user in m[site].users().to_vec() {
        let old = carried::element(m, user, site);
        let place = kept.iter().position(|&index| Some(index) == old);
        let place = place.expect("all readings are of kept results");
        m[user].op = Op::get_tuple_element(place as i64);
        m.set_operand(user, 0, new);
    }
    m.remove_instruction(site);
}
