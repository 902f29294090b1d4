//! Fused HLO to kernel IR: the loops that compute an instruction, for every backend that runs
//! kernels.
//!
//! [`emit`] appends to a function under construction what computes one instruction: a `fusion` as
//! a whole, or an op that stands alone, which is a fusion of one. It neither knows nor decides where
//! values live: the caller says where the operands are and where the results go, and whether this is
//! a piece of the work or all of it. So the same code makes a kernel of its own, a piece that threads
//! share, or a few instructions inside a loop that is compiled whole.
//!
//! Elements lie as in literals: row-major, one per byte width of the element type, `pred` as a byte
//! that is 0 or 1, integers below a byte in a byte each, complex numbers as real and imaginary part.
//!
//! # How it works
//!
//! An instruction is seen as a function from an index to an element (`element.rs`). Indices are
//! symbolic: affine expressions of loop variables with known ranges (`affine.rs`, `position.rs`), so
//! that broadcasts, reshapes, slices and the like cost nothing. A first run into a scratch function
//! learns how the loops should be (`plan.rs`): where to split them so that reshapes need no division,
//! which may run as one, where to cut them so that pads and concatenations need no conditions. What
//! does not depend on a loop is put before it: a reduction whose consumer runs along its rows is
//! computed once per row though nobody says so.

mod affine;
mod calls;
mod column;
mod condition;
mod cost;
mod dot;
mod dynamic;
mod element;
mod emitter;
mod job;
mod keep;
mod mask;
mod nest;
mod ops;
mod plan;
mod position;
mod product;
mod reduce;
mod rng;
mod root;
mod scalar;
mod scatter;
mod select_and_scatter;
mod shapes;
mod support;
#[cfg(test)]
mod tests;
mod trace;
mod transpose;
mod window;

pub use keep::keeping_reduction;
pub use reduce::binary_kind;
pub use root::Placement;

use rxla_base::Result;
use rxla_hlo::{InstructionId, Module};
use rxla_kernel::{Builder, Value};

/// One element in registers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Element {
    One(Value),
    /// Real and imaginary part of a complex number.
    Complex(Value, Value),
}

/// Where an operand is. Tuples do not occur: their leaves are operands of their own.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Source {
    /// The address of its first element.
    Memory(Value),
    /// An array of one element, in registers.
    Register(Element),
}

/// Where a result (a leaf of the result, if that is a tuple) goes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Destination {
    /// From this address on. It may be an operand's own address where [`in_place`] says so; the
    /// same `Value` says that it is.
    Memory(Value),
    /// An array of one element: `emit` returns it.
    Register,
}

/// How much of the work to emit.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Part {
    All,
    /// All, for one of many tiles: what is small runs often.
    Tile,
    /// Units `begin..end` (i64 values) of the [`extent`]. Pieces that cover it, in any order or at
    /// once, do what `All` does, to the bit.
    Range(Value, Value),
}

/// Roughly what an instruction takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cost {
    /// Scalar operations; a mathematical function counts as several.
    pub operations: i64,
    /// Bytes read and written.
    pub bytes: i64,
}

/// Appends what computes `id` from `operands` (one per leaf of the operands, in order) into
/// `destinations` (one per leaf of the result). Gives the elements that go to registers.
///
/// Where this fails, what was appended is of no use, but blocks are closed; ask [`supports`] first.
pub fn emit(
    builder: &mut Builder,
    module: &Module,
    id: InstructionId,
    operands: &[Source],
    destinations: &[Destination],
    part: Part,
) -> Result<Vec<Option<Element>>> {
    root::emit(builder, module, id, operands, destinations, part)
}

/// Whether [`emit`] can do it; else an error that names what is not implemented.
pub fn supports(module: &Module, id: InstructionId) -> Result<()> {
    root::look(module, id, &[]).map(|_| ())
}

/// What becomes of operands of which a result is an update.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Updates {
    /// The result takes their place.
    InPlace,
    /// They are copied on the way, which is then most of the work.
    Copied,
}

/// Whether a result is an update of an operand; else it is the same which [`Updates`] are asked for.
pub fn has_updates(module: &Module, id: InstructionId) -> bool {
    !job::updates(module, id).is_empty()
}

/// Leaves of operands and of results that are updates of these, and may be made where those are.
pub fn updates(module: &Module, id: InstructionId) -> Vec<(usize, usize)> {
    let pairs = job::updates(module, id).into_iter().map(|alias| (alias.operand, alias.result));
    pairs.filter(|&(operand, result)| in_place(module, id, operand, result)).collect()
}

/// How many units of work there are that may be done apart; 1 if it cannot be divided.
pub fn extent(module: &Module, id: InstructionId, updates: Updates) -> i64 {
    root::extent(module, id, updates).unwrap_or(1)
}

pub fn cost(module: &Module, id: InstructionId, updates: Updates) -> Cost {
    root::cost(module, id, updates).unwrap_or_default()
}

/// Whether leaf `result` of the result may be written to the memory of operand leaf `operand`,
/// element by element as it is computed: each element of the operand is read only for the element
/// that takes its place. [`Placement`] answers several such questions.
pub fn in_place(module: &Module, id: InstructionId, operand: usize, result: usize) -> bool {
    root::in_place(module, id, operand, result)
}
