//! Computations: the order of their instructions, and the names by which things are called.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{PrintOrder, Printer, Subcomputations};
use crate::{ComputationId, InstructionId, Module, Op};

/// Numbers of instructions in the order in which they are named.
#[derive(Default)]
pub(super) struct CanonicalNames {
    numbers: FxHashMap<InstructionId, usize>,
    /// How many computations are open that were printed where they are called.
    depth: usize,
}

/// Bodies within bodies are printed to this depth, and while the text is not longer than this;
/// beyond, names stand in their place. Printed in full, calls can repeat exponentially.
const MAX_BODY_DEPTH: usize = 100;
const MAX_BODY_LENGTH: usize = 1 << 30;

impl Printer<'_> {
    /// All computations, callees first.
    pub(super) fn computations(&mut self) {
        let module = self.module();
        let mut order = match self.options.order {
            PrintOrder::DepthFirst => computation_order(module),
            PrintOrder::Kept => kept_computation_order(module),
        };
        if self.options.canonical_computations {
            order = self.by_content(order);
        }
        let wrapped = wrapped_computations(module);
        for computation in order {
            if self.options.async_sugar
                && wrapped.contains(&computation)
                && is_single_op(module, computation)
            {
                continue;
            }
            self.push_indent();
            if module.try_entry() == Some(computation) {
                self.push("ENTRY ");
            }
            self.computation(computation);
            self.push("\n\n");
        }
    }

    /// Few instructions first, then by text.
    fn by_content(&mut self, order: Vec<ComputationId>) -> Vec<ComputationId> {
        let module = self.module();
        let mut keyed: Vec<(usize, String, ComputationId)> = order
            .into_iter()
            .map(|computation| {
                let mut printer = Printer::new(Some(module), &self.options);
                printer.computation(computation);
                let count = module[computation].instructions().len();
                (count, printer.finish(), computation)
            })
            .collect();
        keyed.sort();
        keyed.into_iter().map(|(_, _, computation)| computation).collect()
    }

    pub(super) fn computation(&mut self, id: ComputationId) {
        let module = self.module();
        let computation = &module[id];
        if !self.is_nested {
            if self.options.percent {
                self.push("%");
            }
            if self.options.ids {
                self.push(computation.name());
                self.push(" ");
            }
        }
        if self.options.program_shape && computation.try_root().is_some() {
            self.program_shape(&module.program_shape(id));
            self.push(" ");
        }
        self.push("{\n");
        let outer_names = std::mem::take(&mut self.names);
        self.names.depth = outer_names.depth;
        let was_nested = std::mem::replace(&mut self.is_nested, true);
        self.options.indent += 1;
        let order = if module.config.is_scheduled {
            computation.instructions().to_vec()
        } else {
            instruction_order(module, id, self.options.order)
        };
        for instruction in order {
            let is_root = computation.try_root() == Some(instruction);
            if self.options.compact_tuple_elements
                && !is_root
                && matches!(module[instruction].op, Op::GetTupleElement(_))
            {
                continue;
            }
            self.push_indent();
            if is_root {
                self.push("ROOT ");
            }
            self.instruction(instruction);
            self.push("\n");
        }
        self.options.indent -= 1;
        self.is_nested = was_nested;
        self.names = outer_names;
        self.push_indent();
        self.push("}");
        if self.options.ids
            && let Some(thread) = &computation.execution_thread
        {
            self.push(", execution_thread=\"");
            self.push(thread);
            self.push("\"");
        }
        if self.options.name_after_closing_brace && computation.instructions().len() > 5 {
            self.push(" // ");
            self.push(computation.name());
        }
    }

    /// A computation where it is called: its name or its body.
    pub(in crate::text) fn called_computation(&mut self, id: ComputationId) {
        let Some(module) = self.module else {
            self.push("?");
            return;
        };
        if self.prints_bodies()
            && self.names.depth < MAX_BODY_DEPTH
            && self.out.len() < MAX_BODY_LENGTH
        {
            self.push("\n");
            self.push_indent();
            self.names.depth += 1;
            let was_nested = std::mem::replace(&mut self.is_nested, true);
            self.computation(id);
            self.is_nested = was_nested;
            self.names.depth -= 1;
        } else {
            self.named(module[id].name());
        }
    }

    pub(in crate::text) fn called_computations(&mut self, list: &[ComputationId]) {
        let bodies = self.prints_bodies();
        let separator = if bodies { "," } else { ", " };
        self.push("{");
        self.joined(list, separator, |printer, &id| printer.called_computation(id));
        self.push(if bodies { "\n}" } else { "}" });
    }

    fn prints_bodies(&self) -> bool {
        match self.options.subcomputations {
            Subcomputations::Off | Subcomputations::NameOnly => false,
            Subcomputations::FullBodies | Subcomputations::NonSequentialBodies => true,
        }
    }

    /// The name of an instruction or computation, with or without `%` and number.
    pub(super) fn named(&mut self, name: &str) {
        if self.options.percent {
            self.push("%");
        }
        let shown = if self.options.ids { name } else { name.split('.').next().unwrap_or(name) };
        self.push(shown);
    }

    /// The name up to its first `.`, if numbers are left out.
    pub(super) fn without_id<'n>(&self, name: &'n str) -> &'n str {
        if self.options.ids { name } else { name.split('.').next().unwrap_or(name) }
    }

    /// An instruction by name or canonical number.
    pub(super) fn instruction_name(&mut self, instruction: InstructionId) {
        if self.options.canonical_names {
            let next = self.names.numbers.len();
            let number = *self.names.numbers.entry(instruction).or_insert(next);
            self.push("tmp_");
            self.integer(number as i64);
        } else {
            self.named(self.module()[instruction].name());
        }
    }
}

/// The computations that asynchronous starts call.
fn wrapped_computations(module: &Module) -> FxHashSet<ComputationId> {
    module
        .instruction_ids()
        .filter_map(|instruction| match &module[instruction].op {
            Op::AsyncStart(start) => Some(start.calls),
            _ => None,
        })
        .collect()
}

/// Whether a computation consists of parameters and a root whose `…-start` means just this
/// computation.
pub(super) fn is_single_op(module: &Module, computation: ComputationId) -> bool {
    let computation = &module[computation];
    let Some(root) = computation.try_root() else { return false };
    crate::text::parse::can_be_wrapped(&module[root].op)
        && computation.instructions().iter().all(|&instruction| {
            instruction == root || matches!(module[instruction].op, Op::Parameter(_))
        })
}

/// The computations an instruction calls, in the order in which XLA keeps them.
fn callees(module: &Module, instruction: InstructionId) -> Vec<ComputationId> {
    match &module[instruction].op {
        // XLA lists the body first.
        Op::While(op) => vec![op.body, op.condition],
        op => op.called_computations().to_vec(),
    }
}

/// Depth-first post-order from the computations that nobody calls, visiting callees in the order
/// of instructions: XLA's order of printing.
fn computation_order(module: &Module) -> Vec<ComputationId> {
    let called: FxHashSet<ComputationId> =
        module.instruction_ids().flat_map(|i| module[i].op.called_computations()).collect();
    let mut seen = FxHashSet::default();
    let mut order = Vec::new();
    let mut stack: Vec<(ComputationId, usize)> = Vec::new();
    for &start in module.computations() {
        if called.contains(&start) {
            continue;
        }
        stack.push((start, 0));
        while let Some((computation, next)) = stack.last_mut() {
            let Some(&instruction) = module[*computation].instructions().get(*next) else {
                order.push(*computation);
                stack.pop();
                continue;
            };
            *next += 1;
            // The first callee is printed first, so it is pushed last; each stands once on the
            // stack, where the first caller put it.
            for callee in callees(module, instruction).into_iter().rev() {
                if seen.insert(callee) {
                    stack.push((callee, 0));
                }
            }
        }
    }
    // Callers and callees in a circle have no start; they are still printed.
    let printed: FxHashSet<ComputationId> = order.iter().copied().collect();
    order.extend(module.computations().iter().filter(|c| !printed.contains(c)));
    order
}

/// The order of the module, but callees before callers.
fn kept_computation_order(module: &Module) -> Vec<ComputationId> {
    let called = |computation: ComputationId| {
        let instructions = module[computation].instructions().iter();
        let called = instructions.flat_map(|&i| module[i].op.called_computations());
        called.collect::<Vec<_>>().into_iter()
    };
    let mut seen = FxHashSet::default();
    let mut order = Vec::new();
    for &start in module.computations() {
        if !seen.insert(start) {
            continue;
        }
        let mut stack = vec![(start, called(start))];
        while let Some((computation, rest)) = stack.last_mut() {
            match rest.next() {
                Some(callee) if seen.insert(callee) => stack.push((callee, called(callee))),
                Some(_) => {}
                None => {
                    order.push(*computation);
                    stack.pop();
                }
            }
        }
    }
    order
}

/// Depth-first post-order: XLA's starts from the instructions that nobody uses, the one that is
/// kept from all in text order.
fn instruction_order(
    module: &Module,
    computation: ComputationId,
    order: PrintOrder,
) -> Vec<InstructionId> {
    let instructions = module[computation].instructions();
    let starts: Vec<InstructionId> = match order {
        PrintOrder::DepthFirst => {
            let unused = instructions.iter().filter(|&&i| module[i].users().is_empty());
            // Instructions on a cycle are all used; they come last, in text order.
            unused.chain(instructions).copied().collect()
        }
        PrintOrder::Kept => instructions.to_vec(),
    };
    let mut order = Vec::with_capacity(instructions.len());
    // `false` while operands are being visited, `true` when printed.
    let mut visited: FxHashMap<InstructionId, bool> = FxHashMap::default();
    let mut stack = Vec::new();
    for start in starts {
        stack.push(start);
        while let Some(&current) = stack.last() {
            match visited.get(&current) {
                None => {
                    visited.insert(current, false);
                    let instruction = &module[current];
                    let open = |id: &&InstructionId| visited.get(id) != Some(&true);
                    stack.extend(instruction.operands().iter().rev().filter(open));
                    stack.extend(instruction.control_predecessors().iter().filter(open));
                }
                Some(done) => {
                    if !done {
                        visited.insert(current, true);
                        order.push(current);
                    }
                    stack.pop();
                }
            }
        }
    }
    order
}
