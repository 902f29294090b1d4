//! Schedules: transformations that turn what loops say about themselves into code. Each takes IR
//! that verifies to IR that verifies and evaluates to the same bits, reductions that a loop's mark
//! allows to be reassociated aside.

pub mod simplify;
#[cfg(test)]
mod tests;
pub mod unroll;
pub mod vectorize;

pub use simplify::simplify;
pub use unroll::unroll;
pub use vectorize::vectorize;

use crate::ir::{Function, Statement};

/// What the schedules need to know of a machine.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Target {
    /// Bits of the vectors to compute with: 128, 256 or 512.
    pub vector_bits: u32,
    pub copies: Copies,
}

/// How many copies of a long body may lie side by side.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Copies {
    /// One, since compiling more may take longer than what they save.
    Few,
    /// As many as keep a processor busy: for functions whose loops run long.
    Many,
}

/// All schedules in their order. The function must have passed the verifier.
pub fn pipeline(function: &mut Function, target: &Target) {
    // Constant bounds and strides show themselves once they are folded.
    simplify(function);
    vectorize(function, target);
    unroll(function);
    // Lanes' constants leave their loops, and iterations laid side by side share what they can.
    simplify(function);
}

/// One statement of each list after the other, so that what does not wait for each other lies side
/// by side.
pub(crate) fn in_turns(lists: Vec<Vec<Statement>>) -> Vec<Statement> {
    let mut lists: Vec<_> = lists.into_iter().map(Vec::into_iter).collect();
    let mut all = Vec::with_capacity(lists.iter().map(ExactSizeIterator::len).sum());
    loop {
        let before = all.len();
        all.extend(lists.iter_mut().filter_map(Iterator::next));
        if all.len() == before {
            return all;
        }
    }
}

/// Applies a schedule to the functions of a text and compares with another text.
#[cfg(test)]
fn check(schedule: impl Fn(&mut Function), before: &str, after: &str) {
    let mut module = crate::text::parse(before).unwrap_or_else(|finding| panic!("{finding:?}"));
    crate::verify(&module).unwrap_or_else(|findings| panic!("{findings:?}"));
    module.functions.iter_mut().for_each(schedule);
    let text = module.to_string();
    assert_eq!(text, after, "found:\n{text}");
    crate::verify(&module).unwrap_or_else(|findings| panic!("{findings:?}\n{text}"));
}
