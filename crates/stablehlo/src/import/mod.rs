//! StableHLO to HLO: [`import`] turns an [`mlir::Module`](crate::mlir::Module) of StableHLO, CHLO,
//! Shardy and `func` operations into an [`hlo::Module`].
//!
//! What holds of the result:
//! - The function [`Options::entry`], `main` unless said otherwise, is the entry computation. Every other function becomes one computation
//!   if it is called, and calls of it share that.
//! - A computation returns a tuple if and only if its function has not exactly one result. The same
//!   goes for instructions: an operation with one result is an instruction of that shape, one with
//!   none or several is a tuple whose parts are taken apart by `get-tuple-element`.
//! - Parameters are the function's arguments, one each, unless [`ArgumentForm::Tupled`] asks for
//!   one parameter that holds them all.
//! - Regions may use values of their surroundings; in HLO they become operands (of `while` and
//!   `conditional`) or are computed again inside (constants and what depends on nothing else).
//! - Values of quantised type are their storage integers; arithmetic on them is spelled out.
//!
//! One file holds one family of operations; [`table`] says which function lowers which.

mod attributes;
mod auto_layout;
mod block;
mod build;
mod calls;
mod check;
mod chlo;
mod collectives;
mod communication;
mod compiler_calls;
mod composite;
mod contraction;
mod control;
mod convolution;
mod custom_call;
mod deprecated;
mod dynamic;
mod elementwise;
mod entry;
mod fold;
mod functions;
mod gather_scatter;
mod importer;
mod linear;
mod literals;
mod locations;
mod mesh;
mod module_attributes;
mod quantized;
mod random;
mod reductions;
mod sdy;
mod shapes;
mod sharding;
mod table;
mod types;

use rxla_base::Diagnostic;
use rxla_hlo as hlo;

use crate::mlir;

/// How the entry computation takes its arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ArgumentForm {
    /// One parameter per argument of `main`.
    #[default]
    Separate,
    /// One parameter, a tuple of all arguments.
    Tupled,
}

/// What the caller may choose about the translation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    pub arguments: ArgumentForm,
    /// The name of the function to run.
    pub entry: String,
    /// Shapes of the arguments, where the program leaves sizes open; `None` as declared.
    pub argument_shapes: Option<Vec<hlo::Shape>>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            arguments: ArgumentForm::default(),
            entry: "main".to_owned(),
            argument_shapes: None,
        }
    }
}

/// Translates a StableHLO module to HLO. Each diagnostic names the operation, the reason and, where
/// the module has locations, the user's source line; messages about things rxla cannot do yet
/// start with `unimplemented: `.
pub fn import(source: &mlir::Module, options: &Options) -> Result<hlo::Module, Vec<Diagnostic>> {
    functions::import_module(source, options)
}
