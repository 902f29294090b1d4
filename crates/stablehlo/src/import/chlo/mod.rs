//! CHLO: the operations that frontends emit above StableHLO.
//!
//! What HLO has an op for is lowered in place (see [`super::table`]); the rest is spelled out with
//! the same approximations as StableHLO's own legalisation of CHLO, so that results agree.

mod bits;
mod broadcast;
mod coefficients;
mod error_function;
mod expression;
mod gamma;
mod structured;

pub(super) use bits::next_after;
pub(super) use broadcast::{binary as broadcast_binary, compare, select};
pub(super) use error_function::{bessel_i1e, erf_inv, erfc};
pub(super) use gamma::{digamma, lgamma, polygamma, zeta};
pub(super) use structured::{
    atan, conj, constant, constant_like, is_inf, is_neg_inf, is_pos_inf, ragged_dot, scan, square,
    top_k,
};
