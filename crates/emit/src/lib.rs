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
    /// From this address on. It may be an operand's own address where [`in_place`] says so.
    Memory(Value),
    /// An array of one element: `emit` returns it.
    Register,
}

/// How much of the work to emit.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Part {
    All,
    /// Units `begin..end` (i64 values) of the [`extent`].
    Range(Value, Value),
}

