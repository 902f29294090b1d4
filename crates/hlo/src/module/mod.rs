//! Modules: the computations of a program and the instructions in them.
//!
//! A module owns all instructions and computations in two arenas; ids are never reused. Operands
//! and users are two views of the same links, and only the functions of this file edit them, so
//! they never disagree. What a rewrite makes goes through [`Module::add_like`] or
//! [`Module::replace_with`], which carry metadata, sharding and control edges over.

mod config;
mod control_edges;
mod copy;
mod frames;
mod order;

pub use config::*;
pub use frames::SourceFrame;

use std::ops::{Index, IndexMut};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use rxla_base::{Arena, Id};
use smallvec::SmallVec;

use self::control_edges::ControlEdges;
use crate::metadata::Info;
use crate::{Metadata, Op, ProgramShape, Shape};

pub type InstructionId = Id<Instruction>;
pub type ComputationId = Id<Computation>;

/// How far a module has been compiled; it only moves forward, and the verifier knows what each
/// phase allows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Phase {
    #[default]
    Input,
    Simplified,
    LayoutAssigned,
    Fused,
    Scheduled,
}

/// One operation of a computation.
#[derive(Clone, Debug)]
pub struct Instruction {
    name: Arc<str>,
    pub op: Op,
    pub shape: Shape,
    operands: SmallVec<[InstructionId; 2]>,
    /// One entry per user, however often it uses this.
    users: SmallVec<[InstructionId; 2]>,
    parent: ComputationId,
    removed: bool,
    info: Option<Box<Info>>,
    /// Rare, and so apart.
    control: Option<Box<ControlEdges>>,
}

impl Instruction {
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn operands(&self) -> &[InstructionId] {
        &self.operands
    }

    pub fn users(&self) -> &[InstructionId] {
        &self.users
    }

    pub fn parent(&self) -> ComputationId {
        self.parent
    }

    pub fn is_removed(&self) -> bool {
        self.removed
    }

    pub fn info(&self) -> Option<&Info> {
        self.info.as_deref()
    }

    /// The info for writing, made if there was none.
    pub fn info_mut(&mut self) -> &mut Info {
        self.info.get_or_insert_default()
    }

    pub fn metadata(&self) -> Option<&Metadata> {
        self.info.as_ref().map(|info| &info.metadata)
    }

    pub fn control_predecessors(&self) -> &[InstructionId] {
        self.control.as_ref().map_or(&[], |control| &control.predecessors)
    }

    pub fn control_successors(&self) -> &[InstructionId] {
        self.control.as_ref().map_or(&[], |control| &control.successors)
    }

    pub fn has_control_edges(&self) -> bool {
        !self.control_predecessors().is_empty() || !self.control_successors().is_empty()
    }
}

/// A function: parameters, instructions in text order, and the root whose value it returns.
#[derive(Clone, Debug)]
pub struct Computation {
    name: Arc<str>,
    instructions: Vec<InstructionId>,
    parameters: Vec<InstructionId>,
    root: Option<InstructionId>,
    /// `execution_thread="…"`; `None` is the main thread.
    pub execution_thread: Option<String>,
    removed: bool,
}

impl Computation {
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Live instructions in text order.
    pub fn instructions(&self) -> &[InstructionId] {
        &self.instructions
    }

    /// Parameters by number. While a module is being read, a gap is a default id.
    pub fn parameters(&self) -> &[InstructionId] {
        &self.parameters
    }

    /// The root. Panics while a computation is being built and has none yet.
    pub fn root(&self) -> InstructionId {
        self.root.expect("a finished computation has a root")
    }

    pub fn try_root(&self) -> Option<InstructionId> {
        self.root
    }
}

/// A program.
#[derive(Clone, Debug, Default)]
pub struct Module {
    pub name: String,
    pub config: ModuleConfig,
    pub stack_frames: StackFrameIndex,
    pub phase: Phase,
    instructions: Arena<Instruction>,
    computations: Arena<Computation>,
    /// Live computations in text order: called ones before their callers.
    computation_order: Vec<ComputationId>,
    entry: Option<ComputationId>,
    /// How many names of each stem were given out, per kind of thing named.
    instruction_names: FxHashMap<Arc<str>, u32>,
    computation_names: FxHashMap<Arc<str>, u32>,
}

impl Module {
    pub fn new(name: impl Into<String>) -> Module {
        Module { name: name.into(), ..Module::default() }
    }

    /// The computation that runs. Panics while a module is being built and has none yet.
    pub fn entry(&self) -> ComputationId {
        self.entry.expect("a finished module has an entry computation")
    }

    pub fn try_entry(&self) -> Option<ComputationId> {
        self.entry
    }

    pub fn set_entry(&mut self, computation: ComputationId) {
        self.entry = Some(computation);
    }

    /// A live computation, or `None`: for ids that come from outside or while a module is read.
    pub fn get_computation(&self, id: ComputationId) -> Option<&Computation> {
        self.computations.get(id).filter(|computation| !computation.removed)
    }

    /// A live instruction, or `None`: for ids that come from outside or while a module is read.
    pub fn get_instruction(&self, id: InstructionId) -> Option<&Instruction> {
        self.instructions.get(id).filter(|instruction| !instruction.removed)
    }

    /// Live computations in text order.
    pub fn computations(&self) -> &[ComputationId] {
        &self.computation_order
    }

    /// Puts computations in another text order. Panics if `order` does not list the same ones.
    pub fn set_computation_order(&mut self, order: Vec<ComputationId>) {
        let sorted = |list: &[ComputationId]| {
            let mut list = list.to_vec();
            list.sort_unstable();
            list
        };
        assert_eq!(sorted(&order), sorted(&self.computation_order), "the same computations");
        self.computation_order = order;
    }

    /// Puts the instructions of a computation in another text order (a schedule). Panics if
    /// `order` does not list the same ones.
    pub fn set_instruction_order(&mut self, computation: ComputationId, order: Vec<InstructionId>) {
        let sorted = |list: &[InstructionId]| {
            let mut list = list.to_vec();
            list.sort_unstable();
            list
        };
        let instructions = &mut self.computations[computation].instructions;
        assert_eq!(sorted(&order), sorted(instructions), "the same instructions");
        *instructions = order;
    }

    /// All live instructions, computation by computation.
    pub fn instruction_ids(&self) -> impl Iterator<Item = InstructionId> + '_ {
        self.computation_order
            .iter()
            .flat_map(|&c| self.computations[c].instructions.iter().copied())
    }

    /// Source locations go from the tables of stack frames, which are then empty, to the instructions: what a module
    /// wants that is a small part of another.
    pub fn inline_stack_frames(&mut self) {
        let tables = std::mem::take(&mut self.stack_frames);
        let all: Vec<InstructionId> = self.instruction_ids().collect();
        for id in all {
            let Some(metadata) = self[id].metadata() else { continue };
            if metadata.stack_frame_id == 0 {
                continue;
            }
            let without = || Metadata { stack_frame_id: 0, ..metadata.clone() };
            let metadata = metadata.inlined(&tables).unwrap_or_else(without);
            self[id].info_mut().metadata = metadata;
        }
    }

    /// An upper bound for instruction indices, to size side tables.
    pub fn instruction_capacity(&self) -> usize {
        self.instructions.len()
    }

    /// A new, empty computation at the end of the text order. The name is made unique.
    pub fn add_computation(&mut self, name: &str) -> ComputationId {
        let name = unique(&mut self.computation_names, name);
        let id = self.computations.push(Computation {
            name,
            instructions: Vec::new(),
            parameters: Vec::new(),
            root: None,
            execution_thread: None,
            removed: false,
        });
        self.computation_order.push(id);
        id
    }

    /// Removes a computation with all its instructions. Nothing may call it any more.
    pub fn remove_computation(&mut self, computation: ComputationId) {
        assert_ne!(self.entry, Some(computation), "the entry computation stays");
        let removed = &mut self.computations[computation];
        removed.removed = true;
        removed.root = None;
        removed.parameters.clear();
        for instruction in std::mem::take(&mut removed.instructions) {
            let instruction = &mut self.instructions[instruction];
            instruction.removed = true;
            instruction.operands.clear();
            instruction.users.clear();
            instruction.control = None;
        }
        self.computation_order.retain(|&c| c != computation);
    }

    /// A new instruction at the end of the computation's text order. The name is made unique.
    ///
    /// Parameters are entered under their number. Panics if an operand was removed or stands in
    /// another computation.
    pub fn add_instruction(
        &mut self,
        computation: ComputationId,
        name: &str,
        op: Op,
        shape: Shape,
        operands: &[InstructionId],
    ) -> InstructionId {
        let name = unique(&mut self.instruction_names, name);
        let id = self.instructions.next_id();
        for &operand in operands {
            let operand = &mut self.instructions[operand];
            assert!(
                !operand.removed && operand.parent == computation,
                "operand `{}` of `{name}` is not in its computation",
                operand.name
            );
            // Only this instruction adds itself, so it stands last if it stands there.
            if operand.users.last() != Some(&id) {
                operand.users.push(id);
            }
        }
        let parent = &mut self.computations[computation];
        if let Op::Parameter(parameter) = &op {
            // A reader checks the number before it gets here; an absurd one would take memory.
            let number = usize::try_from(parameter.number).expect("parameter number");
            if parent.parameters.len() <= number {
                parent.parameters.resize(number + 1, InstructionId::default());
            }
            parent.parameters[number] = id;
        }
        parent.instructions.push(id);
        self.instructions.push(Instruction {
            name,
            op,
            shape,
            operands: operands.into(),
            users: SmallVec::new(),
            parent: computation,
            removed: false,
            info: None,
            control: None,
        })
    }

    /// A new instruction that takes the place of `like` for its reader: same computation, name
    /// stem and info (metadata, sharding, …) but for control edges.
    pub fn add_like(
        &mut self,
        like: InstructionId,
        op: Op,
        shape: Shape,
        operands: &[InstructionId],
    ) -> InstructionId {
        let model = &self.instructions[like];
        let name = if model.op.name() == op.name() { model.name.clone() } else { op.name().into() };
        let info = model.info.clone();
        let id = self.add_instruction(model.parent, &name, op, shape, operands);
        self.instructions[id].info = info;
        id
    }

    /// Makes a new instruction like `old` and puts it in `old`'s place: users, root and control
    /// edges move over. `old` stays, unused, until it is removed as dead.
    pub fn replace_with(
        &mut self,
        old: InstructionId,
        op: Op,
        shape: Shape,
        operands: &[InstructionId],
    ) -> InstructionId {
        let new = self.add_like(old, op, shape, operands);
        self.replace_all_uses(old, new);
        new
    }

    /// Makes every user of `old` use `new` instead (but for `new` itself), also as root and in
    /// control edges.
    pub fn replace_all_uses(&mut self, old: InstructionId, new: InstructionId) {
        assert_ne!(old, new, "an instruction cannot replace itself");
        assert_eq!(
            self.instructions[old].parent, self.instructions[new].parent,
            "a replacement stands in the same computation"
        );
        let users = std::mem::take(&mut self.instructions[old].users);
        for user in users {
            if user == new {
                self.instructions[old].users.push(user);
                continue;
            }
            for operand in &mut self.instructions[user].operands {
                if *operand == old {
                    *operand = new;
                }
            }
            if !self.instructions[new].users.contains(&user) {
                self.instructions[new].users.push(user);
            }
        }
        let parent = self.instructions[old].parent;
        if self.computations[parent].root == Some(old) {
            self.computations[parent].root = Some(new);
        }
        self.move_control_edges(old, new);
    }

    /// Replaces operand `index` of an instruction.
    pub fn set_operand(&mut self, instruction: InstructionId, index: usize, new: InstructionId) {
        let old = std::mem::replace(&mut self.instructions[instruction].operands[index], new);
        if old == new {
            return;
        }
        if !self.instructions[instruction].operands.contains(&old) {
            self.instructions[old].users.retain(|user| *user != instruction);
        }
        if !self.instructions[new].users.contains(&instruction) {
            self.instructions[new].users.push(instruction);
        }
    }

    /// Replaces all operands of an instruction.
    pub fn set_operands(&mut self, instruction: InstructionId, operands: &[InstructionId]) {
        for old in std::mem::take(&mut self.instructions[instruction].operands) {
            self.instructions[old].users.retain(|user| *user != instruction);
        }
        for &new in operands {
            if !self.instructions[new].users.contains(&instruction) {
                self.instructions[new].users.push(instruction);
            }
        }
        self.instructions[instruction].operands = operands.into();
    }

    /// Makes `instruction` the root of its computation.
    pub fn set_root(&mut self, instruction: InstructionId) {
        let parent = self.instructions[instruction].parent;
        self.computations[parent].root = Some(instruction);
    }

    /// Removes an instruction. Panics if it has users, or is the root.
    ///
    /// A parameter may be removed only with [`Module::remove_parameter`].
    pub fn remove_instruction(&mut self, instruction: InstructionId) {
        let removed = &mut self.instructions[instruction];
        assert!(removed.users.is_empty(), "`{}` is still used", removed.name);
        assert!(!matches!(removed.op, Op::Parameter(_)), "parameters have their own removal");
        let parent = removed.parent;
        assert_ne!(self.computations[parent].root, Some(instruction), "the root stays");
        self.unlink(instruction);
        let siblings = &mut self.computations[parent].instructions;
        // Most lists are in the order in which their instructions were made, and ids grow.
        let place = siblings.binary_search(&instruction).ok();
        let place = place.or_else(|| siblings.iter().position(|&i| i == instruction));
        siblings.remove(place.expect("an instruction stands in its computation"));
    }

    /// Removes many unused instructions of one computation at the cost of one sweep. Users among
    /// the removed themselves do not count.
    pub fn remove_instructions(&mut self, computation: ComputationId, dead: &[InstructionId]) {
        for &instruction in dead {
            assert!(!matches!(self.instructions[instruction].op, Op::Parameter(_)));
            assert_ne!(self.computations[computation].root, Some(instruction), "the root stays");
            self.unlink(instruction);
        }
        for &instruction in dead {
            let removed = &mut self.instructions[instruction];
            assert!(removed.users.is_empty(), "`{}` is still used", removed.name);
        }
        let instructions = &self.instructions;
        self.computations[computation].instructions.retain(|&i| !instructions[i].removed);
    }

    /// Removes an unused parameter; later ones move down by one. Callers must be changed too.
    pub fn remove_parameter(&mut self, computation: ComputationId, number: usize) {
        let parameter = self.computations[computation].parameters.remove(number);
        assert!(self.instructions[parameter].users.is_empty(), "the parameter is still used");
        self.unlink(parameter);
        self.computations[computation].instructions.retain(|&i| i != parameter);
        for (number, &later) in self.computations[computation].parameters.iter().enumerate() {
            self.instructions[later].op = Op::parameter(number as i64);
        }
    }

    /// Gives an instruction another name, made unique.
    pub fn rename_instruction(&mut self, instruction: InstructionId, name: &str) {
        if self.instructions[instruction].name() != name {
            self.instructions[instruction].name = unique(&mut self.instruction_names, name);
        }
    }

    /// Parameter and result shapes of a computation.
    pub fn program_shape(&self, computation: ComputationId) -> ProgramShape {
        let computation = &self.computations[computation];
        ProgramShape {
            parameters: computation
                .parameters
                .iter()
                .map(|&p| (self[p].name.to_string(), self[p].shape.clone()))
                .collect(),
            result: self[computation.root()].shape.clone(),
        }
    }

    /// Whether the instruction was removed; other questions must not be asked of such a one.
    pub fn is_removed(&self, instruction: InstructionId) -> bool {
        self.instructions[instruction].removed
    }

    /// The shape of an operand.
    pub fn operand_shape(&self, instruction: InstructionId, index: usize) -> &Shape {
        &self[self[instruction].operands[index]].shape
    }

    fn unlink(&mut self, instruction: InstructionId) {
        let operands = std::mem::take(&mut self.instructions[instruction].operands);
        for operand in operands {
            self.instructions[operand].users.retain(|user| *user != instruction);
        }
        self.instructions[instruction].removed = true;
        // What waited for the removed one waits for its predecessors.
        let (predecessors, successors) = self.take_control_edges(instruction);
        for &after in &successors {
            for &before in &predecessors {
                self.add_control_edge(before, after);
            }
        }
    }
}

/// A name not given out before: `stem`, else `stem.1`, `stem.2`, … as XLA numbers them.
fn unique(names: &mut FxHashMap<Arc<str>, u32>, name: &str) -> Arc<str> {
    if !names.contains_key(name) {
        let name: Arc<str> = name.into();
        names.insert(name.clone(), 0);
        return name;
    }
    // `add.3` taken again becomes `add.4`, not `add.3.1`.
    let stem = match name.rsplit_once('.') {
        Some((stem, digits)) if digits.parse::<u32>().is_ok() => stem,
        _ => name,
    };
    let mut count = names.get(stem).copied().unwrap_or(0);
    loop {
        count += 1;
        let candidate: Arc<str> = format!("{stem}.{count}").into();
        if !names.contains_key(&candidate) {
            names.insert(stem.into(), count);
            names.insert(candidate.clone(), 0);
            return candidate;
        }
    }
}

impl Index<InstructionId> for Module {
    type Output = Instruction;
    fn index(&self, id: InstructionId) -> &Instruction {
        let instruction = &self.instructions[id];
        debug_assert!(!instruction.removed, "`{}` was removed", instruction.name);
        instruction
    }
}

impl IndexMut<InstructionId> for Module {
    fn index_mut(&mut self, id: InstructionId) -> &mut Instruction {
        &mut self.instructions[id]
    }
}

impl Index<ComputationId> for Module {
    type Output = Computation;
    fn index(&self, id: ComputationId) -> &Computation {
        let computation = &self.computations[id];
        debug_assert!(!computation.removed, "`{}` was removed", computation.name);
        computation
    }
}

impl IndexMut<ComputationId> for Module {
    fn index_mut(&mut self, id: ComputationId) -> &mut Computation {
        &mut self.computations[id]
    }
}
