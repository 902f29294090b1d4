//! What compiled programs call while they run: threads ([`pool`]), memory ([`allocator`]), and the
//! kernels that are better written than generated.
//!
//! # The contract between compiled code and this crate
//!
//! Compiled code knows functions of this crate by name; [`symbols::address`] says where they are.
//! All of them use the C calling convention, and none of them unwinds: a panic inside becomes a
//! status. A kernel returns an `i32`, which is 0 or the number of a [`rxla_base::Code`];
//! [`status::error`] makes an error of it.
//!
//! The first argument of whatever may use threads is the address of a [`Context`], or null for
//! none. Then come addresses of buffers, then the address of an array of i64 that describes the
//! work and that is a constant of the compiled program. The module of each kernel has a type for
//! the description that is checked when it is built and that encodes itself; nobody else writes
//! such arrays. Kernels believe what the array says: that the buffers are as large as it implies,
//! aligned for their elements, and that results overlap nothing else, is the caller's to keep.
//!
//! Results depend neither on the number of threads nor on the run.

#![allow(unsafe_code)]

pub mod allocator;
pub mod combine;
pub mod context;
pub mod convolution;
pub mod copy;
pub mod dot;
pub mod element;
pub mod fourier;
mod gemm;
pub mod linear;
mod neighbours;
mod own;
pub mod pool;
pub mod scratch;
mod seats;
pub mod sort;
pub mod status;
pub mod symbols;
mod system;

pub use allocator::{Allocator, Block};
pub use context::Context;
pub use pool::{Pool, available_threads};
pub use rxla_base::subnormals::Subnormals;
