//! Passes on loops and branches: what they carry, how often they run, what need not be in them.

pub(crate) mod carried;
pub mod conditional_simplifier;
pub mod trip_count;
pub mod while_loop_constant_sinking;
pub mod while_loop_dot_motion;
pub mod while_loop_invariant_code_motion;
pub mod while_loop_operand_turning;
pub mod while_loop_simplifier;
pub mod while_loop_unroller;
