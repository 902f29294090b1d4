//! HLO modules as one HTML page: graphs, search, passes step by step, costs and buffers.
//!
//! [`page`] takes one module or a series of them, such as a program after each pass, and gives a page
//! that needs nothing else: no network, no other file. [`Builder`] does the same module by module, so
//! that a long series need not be in memory at once.
//!
//! The page is a model as JSON ([`model`]) and the scripts of `assets/`, which draw it. Equal
//! instructions and computations are stored once for the whole series (`store.rs`); what a pass changed
//! (`diff.rs`), what is live when (`liveness.rs`) and costs are worked out here, not in the browser.
//! Nothing from a module reaches the page but inside of that JSON, escaped (`json.rs`), and the scripts
//! make text nodes of it: a dump cannot run script.

mod diff;
mod json;
mod liveness;
pub mod model;
mod page;
mod store;

use rxla_hlo::Module;

pub use self::store::Builder;

/// A module at one point of its way through the compiler.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    /// Which of the series' programs this is: steps of equal name are one after the other.
    pub program: &'a str,
    /// What was done last: `before_optimizations`, a pass's name.
    pub title: &'a str,
    pub module: &'a Module,
}

/// A file that belongs to a program, shown beside it.
#[derive(Clone, Debug)]
pub struct Text {
    /// The program it belongs to, as in [`Step::program`].
    pub program: String,
    /// The file's name.
    pub title: String,
    pub kind: TextKind,
    pub text: String,
}

/// What a text is. Instructions are linked to the first two kinds and to assembly by their names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TextKind {
    KernelIr,
    LlvmIr,
    Assembly,
    /// Anything else, such as a buffer assignment.
    Other,
}

/// What goes into a page besides modules.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The page's title; the first module's name if empty.
    pub title: String,
    pub texts: Vec<Text>,
    /// Measured times of instructions.
    pub times: Vec<Time>,
}

/// What an instruction takes in one run of its program, with all trips of loops.
#[derive(Clone, PartialEq, Debug)]
pub struct Time {
    /// The name of its module; empty if it may be any.
    pub module: String,
    pub instruction: String,
    pub microseconds: f64,
}

/// The page of a series of modules.
///
/// ```
/// use rxla_hlo::text::{ParseOptions, parse};
/// use rxla_view::{Options, Step, page};
///
/// let text = "HloModule m\nENTRY e {\n x = f32[4] parameter(0)\n ROOT y = f32[4] negate(x)\n}";
/// let module = parse(text, &ParseOptions::default()).unwrap().module;
/// let step = Step { program: "m", title: "input", module: &module };
/// let html = page(&[step], &Options::default());
/// assert!(html.starts_with("<!doctype html>"));
/// ```
pub fn page(series: &[Step<'_>], options: &Options) -> String {
    let mut builder = Builder::default();
    for step in series {
        builder.add(step);
    }
    builder.finish(options)
}
