//! When each value of a plan is alive.
//!
//! Time runs in half steps: what happens at position `p` reads its operands at `2p` and `2p + 1`
//! and writes its results from `2p` on. So an operand that dies and a result that is born at one
//! step overlap, as they must unless the step may work in place.
//!
//! A value that a loop reads but does not make lives until the loop's end.
//!
//! Of the branches of a conditional one runs, though they stand one after the other in time. A value that
//! is read in branches and not after them lives up to them, and in each until its last reader there.

use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

use crate::plan::{Block, Leaf, Origin, Plan, Step, ValueId};

/// A span of time, both ends included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Range {
    pub start: u32,
    pub end: u32,
}

/// After everything.
pub const FOREVER: u32 = u32::MAX;

/// When a value is alive: one range, or a part up to a conditional and one for each branch that reads the value last.
pub type Ranges = SmallVec<[Range; 1]>;

/// The ranges of each value that the plan mentions.
pub fn ranges(plan: &Plan) -> FxHashMap<ValueId, Ranges> {
    let walk = Walk::through(plan);
    let known = walk.known.iter();
    known.map(|(&value, known)| (value, known.ranges(&walk.forks))).collect()
}

struct Walk<'a> {
    plan: &'a Plan,
    /// Where the loops that are open end.
    loops: Vec<u32>,
    known: FxHashMap<ValueId, Known>,
    /// By their heads, so that what stands in a branch comes after the conditional it stands in.
    forks: Vec<Fork>,
}

/// Where a conditional begins, and where its branches end.
struct Fork {
    head: u32,
    ends: Vec<u32>,
}

struct Known {
    /// From first to last.
    range: Range,
    /// When it is read.
    reads: SmallVec<[u32; 2]>,
    /// How many loops were open where it was defined.
    depth: usize,
}

impl Known {
    fn ranges(&self, forks: &[Fork]) -> Ranges {
        let mut parts: Ranges = smallvec![self.range];
        let first = forks.partition_point(|fork| 2 * fork.head < self.range.start);
        for fork in forks[first..].iter().take_while(|fork| 2 * fork.head + 1 < self.range.end) {
            let Some(&last) = fork.ends.last() else { continue };
            let ends_there = |part: &Range| {
                let before = part.start <= 2 * fork.head && 2 * fork.head + 1 < part.end;
                before && part.end <= 2 * last + 1
            };
            let Some(at) = parts.iter().position(ends_there) else { continue };
            parts[at].end = 2 * fork.head + 1;
            let mut begin = fork.head + 1;
            for &end in &fork.ends {
                let branch = 2 * begin..=2 * end + 1;
                let reads = self.reads.iter().filter(|read| branch.contains(read));
                parts.extend(reads.max().map(|&end| Range { start: 2 * begin, end }));
                begin = end + 1;
            }
        }
        parts
    }
}

impl<'a> Walk<'a> {
    fn through(plan: &'a Plan) -> Walk<'a> {
        let (loops, known, forks) = (Vec::new(), FxHashMap::default(), Vec::new());
        let mut walk = Walk { plan, loops, known, forks };
        for leaf in &plan.parameters {
            if let Leaf::Array(value) = leaf {
                walk.define(*value, 0);
            }
        }
        walk.block(&plan.entry);
        walk
    }

    fn define(&mut self, value: ValueId, time: u32) {
        let range = Range { start: time, end: time + 1 };
        let depth = self.loops.len();
        self.known.entry(value).or_insert(Known { range, reads: SmallVec::new(), depth });
    }

    fn read(&mut self, value: ValueId, time: u32) {
        // What is not defined anywhere is there from the start, if it is a constant, or else memory
        // without anything in it.
        let (start, depth) = match self.plan.values[value].origin {
            Origin::Constant(_) | Origin::Parameter(_) => (0, 0),
            Origin::Step => (time & !1, self.loops.len()),
        };
        let range = Range { start, end: start };
        let unread = Known { range, reads: SmallVec::new(), depth };
        let known = self.known.entry(value).or_insert(unread);
        let time = match self.loops.get(known.depth) {
            Some(&end) => time.max(2 * end + 1),
            None => time,
        };
        known.range.end = known.range.end.max(time);
        known.reads.push(time);
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
                    let ends = step.branches.iter().map(|branch| branch.end).collect();
                    self.forks.push(Fork { head: step.head, ends });
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
