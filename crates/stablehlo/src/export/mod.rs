//! HLO to StableHLO: [`export`] turns an [`hlo::Module`] into an [`mlir::Module`] of StableHLO and
//! CHLO operations in `func` functions, so that what rxla reads it can also hand on, as text or
//! as bytecode.
//!
//! What holds of the result:
//! - The entry computation is the public function `main`; computations that are called become
//!   private functions. Results that HLO returns in a tuple are several results, as in what
//!   [`import`](crate::import()) reads, except that a tuple of one part is a value of tuple type.
//! - Tuples inside of a computation are taken apart; they are values only where a parameter or a
//!   result is one.
//! - A fusion, or an operation that only starts and ends another, is what it does.
//! - What changes no result and has no word in StableHLO is left out: layouts, control edges,
//!   statistics, backend configuration of anything but custom calls.
//! - What StableHLO cannot say is an error that names the instruction.
//!
//! One file holds one family of operations; `table` says which function exports which.

mod attributes;
mod collectives;
mod contraction;
mod control;
mod custom_call;
mod elementwise;
mod entry;
mod exporter;
mod reductions;
mod shapes;
mod table;
mod types;

use rxla_base::Diagnostic;
use rxla_hlo as hlo;

use crate::mlir;

/// Translates a verified HLO module to StableHLO. Messages about what StableHLO cannot say, or rxla
/// cannot yet put so, start with `unimplemented: `.
pub fn export(source: &hlo::Module) -> Result<mlir::Module, Vec<Diagnostic>> {
    entry::export_module(source).map_err(|diagnostic| vec![*diagnostic])
}
