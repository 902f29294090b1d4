//! When each value of a plan is alive.
//!
//! Time runs in half steps: what happens at position `p` reads its operands at `2p` and `2p + 1`
//! and writes its results from `2p` on. So an operand that dies and a result that is born at one
//! step overlap, as they must unless the step may work in place.
//!
//! A value that a loop reads but does not make lives until the loop's end.

use rustc_hash::FxHashMap;

use crate::plan::{Block, Leaf, Origin, Plan, Step, ValueId};

/// A span of time, both ends included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Range {
    pub start: u32,
    pub end: u32,
}

/// After everything.
pub const FOREVER: u32 = u32::MAX;

/// The range of each value that the plan mentions.
pub fn ranges(plan: &Plan) -> FxHashMap<ValueId, Range> {
    let mut walk = Walk { plan, loops: Vec::new(), known: FxHashMap::default() };
    for leaf in &plan.parameters {
        if let Leaf::Array(value) = leaf {
            walk.define(*value, 0);
        }
    }
    walk.block(&plan.entry);
    walk.known.into_iter().map(|(value, known)| (value, known.range)).collect()
}

struct Walk<'a> {
    plan: &'a Plan,
    /// Where the loops that are open end.
    loops: Vec<u32>,
    known: FxHashMap<ValueId, Known>,
}

struct Known {
    range: Range,
    /// How many loops were open where it was defined.
    depth: usize,
}

impl Walk<'_> {
    fn define(&mut self, value: ValueId, time: u32) {
        let range = Range { start: time, end: time + 1 };
        self.known.entry(value).or_insert(Known { range, depth: self.loops.len() });
    }

    fn read(&mut self, value: ValueId, time: u32) {
        // What is not defined anywhere is there from the start, if it is a constant, or else memory
        // without anything in it.
        let (start, depth) = match self.plan.values[value].origin {
            Origin::Constant(_) | Origin::Parameter(_) => (0, 0),
            Origin::Step => (time & !1, self.loops.len()),
        };
        let range = Range { start, end: start };
        let known = self.known.entry(value).or_insert(Known { range, depth });
        let time = match self.loops.get(known.depth) {
            Some(&end) => time.max(2 * end + 1),
            None => time,
        };
        known.range.end = known.range.end.max(time);
    }

    fn block(&mut self, block: &Block) {
        for step in &block.steps {
            match step {
                Step::Compute(compute) => {
                    for leaf in &compute.operands {
                        if let Leaf::Array(value) = leaf {
                            self.read(*value, 2 * compute.position + 1);
                        }
                    }
                    for leaf in &compute.results {
                        if let Leaf::Array(value) = leaf {
                            self.define(*value, 2 * compute.position);
                        }
                    }
                }
                Step::While(step) => {
                    for carry in &step.carries {
                        self.read(carry.init, 2 * step.head + 1);
                    }
                    self.loops.push(step.end);
                    for carry in &step.carries {
                        self.define(carry.param, 2 * step.head);
                    }
                    self.block(&step.condition);
                    for carry in &step.carries {
                        // Where the loop ends, this is what is seen after it.
                        self.read(carry.param, 2 * step.condition.end + 1);
                    }
                    self.block(&step.body);
                    for carry in &step.carries {
                        self.read(carry.next, 2 * step.end + 1);
                    }
                    self.loops.pop();
                    for carry in &step.carries {
                        self.define(carry.result, 2 * step.end + 2);
                    }
                }
                Step::Conditional(step) => {
                    self.read(step.index, 2 * step.head + 1);
                    step.branches.iter().for_each(|branch| self.block(branch));
                    for &result in &step.results {
                        self.define(result, 2 * step.end);
                    }
                }
            }
        }
        for leaf in &block.results {
            if let Leaf::Array(value) = leaf {
                self.read(*value, 2 * block.end + 1);
            }
        }
    }
}
