//! Ops that exchange values between devices.

mod exchange;
mod ragged;
mod rendezvous;
mod transfer;

pub use exchange::Group;
pub(crate) use exchange::evaluate;
pub use rendezvous::Places;
pub(crate) use rendezvous::{Collectives, Programs};
pub(crate) use transfer::{infeed, outfeed, recv, recv_done, send, send_done};

use rxla_hlo::Op;

/// Whether an op must run on every device that reaches it, even if its result is not used.
pub(crate) fn is_collective(op: &Op) -> bool {
    op.is_collective() || matches!(op, Op::Send(_) | Op::Recv(_))
}
