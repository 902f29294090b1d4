//! Smaller modules that still show a fault.
//!
//! A candidate is a module with arguments. Each step makes one that is smaller and asks whether it
//! still shows the fault: another root, instructions that become parameters with the values that
//! they had, operands in place of what is computed from them, bodies in place of calls and loops, elements in
//! place of tuples.

use std::sync::Arc;

use rustc_hash::FxHashSet;
use rxla_base::Result;
use rxla_diff::{Computation, Details, Graph, Node};
use rxla_hlo::{ComputationId, InstructionId, Literal, Module, Op, Shape};
use rxla_interpreter::{Interpreter, Options};

use crate::isolate::become_entry;

#[derive(Clone)]
pub(crate) struct Candidate {
    pub(crate) module: Module,
    /// One value a parameter.
    pub(crate) values: Vec<Literal>,
}

impl Candidate {
    /// Parameters count half.
    fn size(&self) -> usize {
        let size =
            |id: InstructionId| if matches!(self.module[id].op, Op::Parameter(_)) { 1 } else { 2 };
        self.module.instruction_ids().map(size).sum()
    }

    /// The entry's instructions, operands first.
    fn order(&self) -> Vec<InstructionId> {
        self.module.post_order(self.module.entry())
    }

    fn root(&self) -> InstructionId {
        self.module[self.module.entry()].root()
    }

    /// What is left when the module was changed: only what the root needs.
    fn tidy(mut self) -> Result<Candidate> {
        let entry = self.module.entry();
        become_entry(&mut self.module, entry)?;
        for number in (0..self.values.len()).rev() {
            let parameter = self.module[entry].parameters()[number];
            if self.module[parameter].users().is_empty() && self.root() != parameter {
                self.module.remove_parameter(entry, number);
                self.values.remove(number);
            }
        }
        Ok(self)
    }
}

/// Whether a candidate shows the fault.
pub(crate) type Shows<'a> = &'a mut dyn FnMut(&Candidate) -> Result<bool>;

/// What is known of the candidate to begin with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Begins {
    WithFault,
    /// Only parts of it may show one.
    Unsure,
}

/// A small candidate that shows the fault. `None` if what is said of the signature is part of the fault, or if
/// no part of it shows one.
pub(crate) fn reduce(
    start: Candidate,
    begins: Begins,
    shows: Shows<'_>,
) -> Result<Option<Candidate>> {
    let mut best = start;
    // What was said of the signature, such as which parameters are donated, is part of the fault or
    // it is not.
    let mut plain = best.clone();
    let entry = plain.module.entry();
    become_entry(&mut plain.module, entry)?;
    match (shows(&plain)?, begins) {
        (true, _) => best = plain,
        (false, Begins::WithFault) => return Ok(None),
        (false, Begins::Unsure) => {}
    }
    let mut any = begins == Begins::WithFault;
    loop {
        let before = best.size();
        for step in [roots, bodies, elements, cuts, operands, twins, others] {
            while let Some(smaller) = step(&best, shows)? {
                best = smaller;
                any = true;
            }
        }
        if best.size() >= before {
            return Ok(any.then_some(best));
        }
    }
}

/// The candidate, if it is smaller than another and shows the fault.
fn accept(
    made: Result<Candidate>,
    than: &Candidate,
    shows: Shows<'_>,
) -> Result<Option<Candidate>> {
    // What cannot be made is no candidate.
    let Ok(made) = made else { return Ok(None) };
    Ok((made.size() < than.size() && shows(&made)?).then_some(made))
}

/// Another root, the less above it the better.
fn roots(best: &Candidate, shows: Shows<'_>) -> Result<Option<Candidate>> {
    /// With more candidates than this, only some are asked for.
    const FEW: usize = 48;
    let order = best.order();
    let mut above: Vec<(usize, InstructionId)> = Vec::new();
    for &id in &order {
        let array = matches!(best.module[id].shape, Shape::Array(_));
        let computed = !matches!(best.module[id].op, Op::Parameter(_) | Op::Constant(_));
        if array && computed && id != best.root() {
            above.push((cone(&best.module, id), id));
        }
    }
    above.sort_unstable();
    let step = above.len().div_ceil(FEW).max(1);
    for (_, id) in above.into_iter().step_by(step) {
        let mut made = best.clone();
        made.module.set_root(id);
        if let Some(found) = accept(made.tidy(), best, shows)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// How many instructions one needs, itself among them.
fn cone(module: &Module, id: InstructionId) -> usize {
    let mut seen = FxHashSet::default();
    let mut stack = vec![id];
    while let Some(id) = stack.pop() {
        if seen.insert(id) {
            stack.extend_from_slice(module[id].operands());
        }
    }
    seen.len()
}

/// Bodies in place of what calls them: of loops once, of conditionals the first.
fn bodies(best: &Candidate, shows: Shows<'_>) -> Result<Option<Candidate>> {
    for id in best.order() {
        let operands = best.module[id].operands();
        let called = best.module[id].op.called_computations();
        let (callee, arguments) = match &best.module[id].op {
            Op::Call(_) | Op::Fusion(_) => (called.first(), operands),
            Op::While(op) => (Some(&op.body), operands),
            Op::Conditional(_) => (called.first(), operands.get(1..2).unwrap_or_default()),
            _ => continue,
        };
        let Some(&callee) = callee else { continue };
        let arguments = arguments.to_vec();
        let mut made = best.clone();
        let body = made.module.inline_at(id, callee, &arguments);
        if made.module[body].shape.compatible(&made.module[id].shape) {
            made.module.replace_all_uses(id, body);
            // It may be larger, when others take over; here it is enough that a call is gone.
            if let Ok(made) = made.tidy()
                && shows(&made)?
            {
                return Ok(Some(made));
            }
        }
    }
    Ok(None)
}

/// What was put into tuples in place of what is taken out of them.
fn elements(best: &Candidate, shows: Shows<'_>) -> Result<Option<Candidate>> {
    let mut made = best.clone();
    for id in best.order() {
        if let Op::GetTupleElement(get) = &made.module[id].op
            && let [tuple] = *made.module[id].operands()
            && matches!(made.module[tuple].op, Op::Tuple(_))
            && let Ok(index) = usize::try_from(get.index)
            && let Some(&element) = made.module[tuple].operands().get(index)
        {
            made.module.replace_all_uses(id, element);
        }
    }
    accept(made.tidy(), best, shows)
}

/// Instructions that become parameters, first many at a time.
fn cuts(best: &Candidate, shows: Shows<'_>) -> Result<Option<Candidate>> {
    let order: Vec<InstructionId> = best
        .order()
        .into_iter()
        .filter(|&id| id != best.root() && matches!(best.module[id].shape, Shape::Array(_)))
        .filter(|&id| !matches!(best.module[id].op, Op::Parameter(_)))
        .collect();
    let Ok(values) = values(best, &order) else { return Ok(None) };
    let mut chunk = order.len().div_ceil(2);
    while chunk > 0 {
        for start in (0..order.len()).step_by(chunk) {
            let end = order.len().min(start + chunk);
            let made = cut(best, &order[start..end], &values[start..end]);
            if let Some(found) = accept(made, best, shows)? {
                return Ok(Some(found));
            }
        }
        chunk /= 2;
    }
    Ok(None)
}

fn cut(best: &Candidate, ids: &[InstructionId], values: &[Literal]) -> Result<Candidate> {
    let mut made = best.clone();
    let entry = made.module.entry();
    for (&id, value) in ids.iter().zip(values) {
        let number = made.values.len() as i64;
        let (name, shape) = (best.module[id].name(), best.module[id].shape.clone());
        let op = Op::parameter(number);
        let parameter = made.module.add_instruction(entry, name, op, shape, &[]);
        made.module.replace_all_uses(id, parameter);
        made.values.push(value.clone());
    }
    made.tidy()
}

/// The values of instructions, by the interpreter.
fn values(best: &Candidate, ids: &[InstructionId]) -> Result<Vec<Literal>> {
    let mut module = best.module.clone();
    let shape = Shape::tuple(ids.iter().map(|&id| module[id].shape.clone()));
    let entry = module.entry();
    let root = module.add_instruction(entry, "values", Op::tuple(), shape, ids);
    module.set_root(root);
    become_entry(&mut module, entry)?;
    let interpreter = Interpreter::new(Arc::new(module));
    match interpreter.run(best.values.clone(), &Options::default())? {
        Literal::Tuple(values) => Ok(values),
        other => Ok(vec![other]),
    }
}

/// One computation in place of several that are equal.
fn twins(best: &Candidate, shows: Shows<'_>) -> Result<Option<Candidate>> {
    let graph = Graph::new(&best.module, Details::Meaning);
    let equal = |a: &Computation, b: &Computation| {
        let node = |a: &Node, b: &Node| {
            (a.opcode, &a.shape, &a.attributes) == (b.opcode, &b.shape, &b.attributes)
                && (&a.operands, &a.calls) == (&b.operands, &b.calls)
        };
        a.root == b.root
            && a.nodes.len() == b.nodes.len()
            && a.nodes.iter().zip(&b.nodes).all(|(a, b)| node(a, b))
    };
    let ids = best.module.computations().to_vec();
    let first = |id: ComputationId| {
        let place = ids.iter().position(|&other| other == id)?;
        let twin = |other: &Computation| equal(other, &graph.computations[place]);
        Some(ids[graph.computations.iter().position(twin)?])
    };
    let mut made = best.clone();
    for id in best.module.instruction_ids() {
        let op = &mut made.module[id].op;
        op.map_computations(&mut |called| first(called).unwrap_or(called));
    }
    accept(made.tidy(), best, shows)
}

/// Another value in place of one of its shape, where few are left: any that is computed before it.
fn others(best: &Candidate, shows: Shows<'_>) -> Result<Option<Candidate>> {
    const MOST: usize = 100;
    let order = best.order();
    if order.len() > MOST {
        return Ok(None);
    }
    for (place, &id) in order.iter().enumerate().rev() {
        for &other in &order[..place] {
            if best.module[other].shape.compatible(&best.module[id].shape) {
                let mut made = best.clone();
                made.module.replace_all_uses(id, other);
                if let Some(found) = accept(made.tidy(), best, shows)? {
                    return Ok(Some(found));
                }
            }
        }
    }
    Ok(None)
}

/// An operand in place of what is computed from it.
fn operands(best: &Candidate, shows: Shows<'_>) -> Result<Option<Candidate>> {
    for id in best.order() {
        for &operand in best.module[id].operands() {
            if best.module[operand].shape.compatible(&best.module[id].shape) {
                let mut made = best.clone();
                made.module.replace_all_uses(id, operand);
                if let Some(found) = accept(made.tidy(), best, shows)? {
                    return Ok(Some(found));
                }
            }
        }
    }
    Ok(None)
}
