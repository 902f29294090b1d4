//! What the page shows, as plain data: the scripts' side of it is `assets/model.js`.
//!
//! Strings stand once in a table and everything else points there. An instruction points to its
//! operands by name, so that one which no pass touched stays equal to itself through the whole series.

use crate::Time;

/// The place of a string in [`Model::strings`].
pub type StringId = u32;
/// The place of an instruction in [`Model::instructions`].
pub type InstructionId = u32;
/// The place of a computation in [`Model::computations`].
pub type ComputationId = u32;

#[derive(Clone, PartialEq, Debug, Default)]
pub struct Model {
    pub title: String,
    pub strings: Vec<String>,
    pub instructions: Vec<Instruction>,
    pub computations: Vec<Computation>,
    pub programs: Vec<Program>,
    pub texts: Vec<TextFile>,
    pub times: Vec<Time>,
}

/// An instruction as it stands in some computation.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Instruction {
    pub name: StringId,
    pub opcode: StringId,
    pub shape: StringId,
    /// Names, in order.
    pub operands: Vec<StringId>,
    /// Names of instructions that must run before.
    pub after: Vec<StringId>,
    /// Everything that text prints after the operands, but for metadata.
    pub attributes: StringId,
    /// What stands between the parentheses of constants and parameters.
    pub value: StringId,
    pub op_name: StringId,
    /// `file:line`.
    pub source: StringId,
    /// Other metadata, as text.
    pub metadata: StringId,
    /// Names of called computations.
    pub calls: Vec<StringId>,
}

/// A computation at some step. Equal ones of several steps are one.
#[derive(Clone, PartialEq, Debug)]
pub struct Computation {
    pub name: StringId,
    /// In execution order if the module is scheduled, operands before users in any case.
    pub instructions: Vec<InstructionId>,
    /// The place of the root among them.
    pub root: Option<u32>,
    /// The computations of the same step that are called.
    pub calls: Vec<ComputationId>,
    pub flops: Vec<f64>,
    pub transcendentals: Vec<f64>,
    pub bytes: Vec<f64>,
    pub liveness: Liveness,
}

/// When the values of a computation are in memory.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Liveness {
    pub buffers: Vec<Buffer>,
    /// The most bytes at any time, with what called computations need meanwhile.
    pub peak: u64,
    /// Where the peak is.
    pub peak_at: u32,
    /// Bytes that called computations need while an instruction runs: place and size, where not 0.
    pub called: Vec<(u32, u64)>,
}

/// Memory for one value, from its definition to its last use. Places are those of the schedule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Buffer {
    pub defined: u32,
    pub first: u32,
    pub last: u32,
    pub bytes: u64,
}

#[derive(Clone, PartialEq, Debug, Default)]
pub struct Program {
    pub name: String,
    /// The name of its modules.
    pub module: String,
    pub steps: Vec<StepModel>,
}

#[derive(Clone, PartialEq, Debug, Default)]
pub struct StepModel {
    pub title: String,
    pub is_scheduled: bool,
    pub computations: Vec<ComputationId>,
    /// How often each of them runs when the program does.
    pub runs: Vec<f64>,
    pub entry: Option<ComputationId>,
    /// Against the step before; empty for the first.
    pub changes: Vec<Change>,
    /// Instructions and computations that have another name than in the step before: old, new.
    pub renamed: Vec<(StringId, StringId)>,
    pub renamed_computations: Vec<(StringId, StringId)>,
}

/// What happened to a computation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// As it is called in the step, or was in the one before if it is gone.
    pub computation: StringId,
    pub kind: ChangeKind,
    /// Instructions, by name, that were not there, each in text order.
    pub added: Vec<StringId>,
    pub removed: Vec<StringId>,
    /// The same one, but with another op, shape, operand or attribute; by the name that it has now.
    pub changed: Vec<StringId>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChangeKind {
    Added,
    Removed,
    Changed,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TextFile {
    pub program: String,
    pub title: String,
    pub kind: &'static str,
    pub text: String,
}
