//! StableHLO in and out of rxla.
//!
//! A program arrives as MLIR bytecode (what JAX sends) or as MLIR text (what people write and keep
//! in tests). Both readers fill the same small model of MLIR, [`mlir`]: operations, regions, types
//! and attributes, without C++'s machinery of dialect registration. A versioned VHLO module is
//! brought up to date first, so that behind the readers a module looks the same however it came.

pub mod bytecode;
pub mod mlir;
pub mod vhlo;
pub mod ffi;
pub mod import;
pub mod mlir;

pub use import::import;
