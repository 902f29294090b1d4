//! `simplify-while-loops`, XLA's WhileLoopSimplifier: loops that run never or once are resolved, what
//! they carry for nobody is dropped, and what they hand on as it is is read before them.

use rustc_hash::FxHashSet;
use rxla_base::Result;
use rxla_hlo::{InstructionId, Module, Op, Shape};

use super::carried::{self, Loop, Place};
use super::trip_count::trip_count;
use crate::effects::{Effects, unfused_computations};
use crate::pass::{Context, Pass};
use crate::simplify::call_inliner::{MAX_INSTRUCTIONS, inline};
use crate::view;

pub struct WhileLoopSimplifier;

impl Pass for WhileLoopSimplifier {
    fn name(&self) -> &'static str {
        "simplify-while-loops"
    }

    fn class(&self) -> &'static str {
        "WhileLoopSimplifier"
    }

    fn run(&self, module: &mut Module, cx: &Context) -> Result<u64> {
        let mut made = 0;
        let mut effects = Effects::of(module);
        for computation in unfused_computations(module) {
            for site in module.post_order(computation) {
                // A reading of a loop's result may have gone with the loop.
                if module.is_removed(site) {
                    continue;
                }
                let mut next = Some(site);
                while let Some(site) = next {
                    let Some(rewrite) = rewrite_of(module, &effects, site) else { break };
                    if !cx.spend() {
                        return Ok(made);
                    }
                    made += 1;
                    next = apply(module, &effects, site, rewrite);
                    effects = Effects::of(module);
                }
            }
        }
        Ok(made)
    }
}

enum Rewrite {
    /// `while` that never runs `=> init`
    Never,
    /// `while` that runs once `=> body(init)`
    Once,
    /// Carries these elements of the state only.
    Carry(Loop, Vec<usize>),
    /// `while(init)[i] => init[i]` where the body hands it on; these readings of the result.
    Read(Loop, Vec<(InstructionId, usize)>),
}

fn rewrite_of(m: &Module, effects: &Effects, site: InstructionId) -> Option<Rewrite> {
    let Op::While(op) = &m[site].op else { return None };
    let quiet = !m[op.condition].instructions().iter().any(|&i| effects.has(m, i));
    let size = m.instruction_capacity() + m[op.body].instructions().len();
    let count = if quiet { trip_count(m, site) } else { None };
    match count {
        Some(0) if !view::has_control_edges(m, site) => return Some(Rewrite::Never),
        Some(1) if size <= MAX_INSTRUCTIONS => return Some(Rewrite::Once),
        Some(_) | None => {}
    }
    let found = carried::find(m, site)?;
    let width = found.width(m);
    let through: Vec<bool> = (0..width).map(|index| found.passes_through(m, index)).collect();
    let live = live(m, effects, &found, &through);
    let kept: Vec<usize> = (0..width).filter(|&index| live[index]).collect();
    if kept.len() < width && !kept.is_empty() && size <= MAX_INSTRUCTIONS {
        return Some(Rewrite::Carry(found, kept));
    }
    let readings: Vec<_> = m[site]
        .users()
        .iter()
        .filter_map(|&user| Some((user, carried::element(m, user, site)?)))
        .filter(|&(_, index)| through[index])
        .collect();
    (!readings.is_empty()).then_some(Rewrite::Read(found, readings))
}

/// Which elements anybody needs: the condition, an effect, whoever reads the result, or the body to
/// compute such elements. What is handed on as it is need not be read from the result.
fn live(m: &Module, effects: &Effects, found: &Loop, through: &[bool]) -> Vec<bool> {
    let mut live = vec![false; through.len()];
    let whole = view::is_root(m, found.site)
        || m[found.site].users().iter().any(|&user| !matches!(m[user].op, Op::GetTupleElement(_)));
    let outside = m[found.site].users().iter();
    let read = outside.filter_map(|&user| carried::element(m, user, found.site));
    let read: FxHashSet<usize> = read.collect();
    let tested = m[found.condition].parameters()[0];
    for &user in m[tested].users() {
        if let Some(index) = carried::element(m, user, tested) {
            live[index] |= !m[user].users().is_empty() || view::is_root(m, user);
        }
    }
    for index in 0..live.len() {
        live[index] |= !through[index] && (whole || read.contains(&index));
    }
    let state = m[found.body].parameters()[0];
    let results = m[m[found.body].root()].operands();
    let mut stack: Vec<InstructionId> =
        m[found.body].instructions().iter().copied().filter(|&i| effects.has(m, i)).collect();
    stack.extend((0..live.len()).filter(|&index| live[index]).map(|index| results[index]));
    let mut seen = FxHashSet::default();
    while let Some(i) = stack.pop() {
        if !seen.insert(i) {
            continue;
        }
        stack.extend_from_slice(m[i].operands());
        if let Some(index) = carried::element(m, i, state)
            && !std::mem::replace(&mut live[index], true)
        {
            stack.push(results[index]);
        }
    }
    live
}

/// Returns the loop that is there afterwards, if one is.
fn apply(
    m: &mut Module,
    effects: &Effects,
    site: InstructionId,
    rewrite: Rewrite,
) -> Option<InstructionId> {
    match rewrite {
        Rewrite::Never => {
            let init = view::operand(m, site, 0);
            m.replace_all_uses(site, init);
            m.remove_instruction(site);
            None
        }
        Rewrite::Once => {
            let Op::While(op) = &m[site].op else { unreachable!("a loop was looked at") };
            inline(m, site, op.body);
            None
        }
        Rewrite::Carry(found, kept) => Some(carry(m, effects, &found, &kept)),
        Rewrite::Read(found, readings) => {
            for (user, index) in readings {
                let value = found.take_initial(m, index);
                m.replace_all_uses(user, value);
                m.remove_instruction(user);
            }
            Some(site)
        }
    }
}

fn carry(m: &mut Module, effects: &Effects, found: &Loop, kept: &[usize]) -> InstructionId {
    let mut places = vec![Place::Initial; found.width(m)];
    kept.iter().enumerate().for_each(|(new, &old)| places[old] = Place::Element(new));
    let (condition, _) = carried::copy(m, found.condition);
    let (body, _) = carried::copy(m, found.body);
    let results = m[m[body].root()].operands();
    let results: Vec<InstructionId> = kept.iter().map(|&index| results[index]).collect();
    carried::set_results(m, body, &results);
    for computation in [condition, body] {
        carried::sweep(m, effects, computation);
        let state = m[computation].parameters()[0];
        for user in m[state].users().to_vec() {
            let Some(old) = carried::element(m, user, state) else { continue };
            let Place::Element(new) = places[old] else { unreachable!("what is live is kept") };
            m[user].op = Op::get_tuple_element(new as i64);
        }
        let Some(elements) = m[state].shape.as_tuple() else {
            unreachable!("the state is a tuple")
        };
        m[state].shape = Shape::tuple(kept.iter().map(|&index| elements[index].clone()));
    }
    let elements: Vec<InstructionId> =
        kept.iter().map(|&index| found.take_initial(m, index)).collect();
    found.replace(m, condition, body, &elements, &places)
}
