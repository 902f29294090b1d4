//! Ops that exchange values between devices.

mod exchange;
mod groups;
mod ragged;
mod rendezvous;
mod transfer;

pub(crate) use exchange::evaluate;
pub(crate) use rendezvous::Collectives;
pub(crate) use transfer::{infeed, outfeed, recv, recv_done, send, send_done};

use rxla_hlo::Op;

/// Whether an op must run on every device that reaches it, even if its result is not used.
pub(crate) fn is_collective(op: &Op) -> bool {
    matches!(
        op,
        Op::AllGather(_)
            | Op::AllGatherStart(_)
            | Op::AllReduce(_)
            | Op::AllReduceStart(_)
            | Op::AllToAll(_)
            | Op::CollectiveBroadcast(_)
            | Op::CollectivePermute(_)
            | Op::CollectivePermuteStart(_)
            | Op::RaggedAllToAll(_)
            | Op::ReduceScatter(_)
            | Op::Send(_)
            | Op::Recv(_)
    )
}
