//! Pipelines: which passes run in which order, as plain functions, and the constraints on that
//! order with their reasons.

use crate::pass::Pass;
use crate::registry::lookup;

/// Passes in order.
pub struct Pipeline {
    pub name: &'static str,
    pub steps: Vec<Step>,
}

/// One step of a pipeline.
pub enum Step {
    Pass(Box<dyn Pass + Send>),
    /// All of them again and again until none rewrites anything.
    Fixpoint {
        name: &'static str,
        steps: Vec<Step>,
    },
}

impl Step {
    pub fn pass(pass: impl Pass + Send + 'static) -> Step {
        Step::Pass(Box::new(pass))
    }

    /// The passes of the step, in order.
    pub fn names(&self) -> Vec<&'static str> {
        match self {
            Step::Pass(pass) => vec![pass.name()],
            Step::Fixpoint { steps, .. } => steps.iter().flat_map(Step::names).collect(),
        }
    }
}

impl Pipeline {
    /// Passes one after the other, once each. An error names the one that does not exist.
    pub fn of_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Pipeline, UnknownPass> {
        let step = |name: &str| match lookup(name) {
            Some(pass) => Ok(Step::pass(pass)),
            None => Err(UnknownPass(name.to_owned())),
        };
        let steps = names.into_iter().map(step).collect::<Result<_, _>>()?;
        Ok(Pipeline { name: "passes", steps })
    }

    /// The steps as an indented list.
    pub fn describe(&self) -> String {
        fn write(steps: &[Step], indent: usize, out: &mut String) {
            for step in steps {
                out.push_str(&"  ".repeat(indent));
                match step {
                    Step::Pass(pass) => {
                        out.push_str(pass.name());
                        out.push('\n');
                    }
                    Step::Fixpoint { name, steps } => {
                        out.push_str(name);
                        out.push_str(", until nothing changes:\n");
                        write(steps, indent + 1, out);
                    }
                }
            }
        }
        let mut out = String::new();
        write(&self.steps, 0, &mut out);
        out
    }
}

/// A name that no pass has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownPass(pub String);

impl std::fmt::Display for UnknownPass {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "there is no pass `{}`", self.0)
    }
}

fn by_name(name: &str) -> Step {
    match lookup(name) {
        Some(pass) => Step::pass(pass),
        None => panic!("the registry has no pass `{name}`"),
    }
}

/// What every backend runs first: calls inlined, then simplifications until nothing changes.
pub fn simplify() -> Pipeline {
    Pipeline { name: "simplify", steps: simplify_steps() }
}

/// The steps of [`simplify`], for backends to put theirs round.
pub fn simplify_steps() -> Vec<Step> {
    let mut steps: Vec<Step> = ["call-inliner", "map-inline", "dce"].map(by_name).into();
    steps.push(simplification());
    steps
}

/// Simplifications until nothing changes, each making room for others.
pub fn simplification() -> Step {
    let passes = [
        "tuple-simplifier",
        "simplify-conditional",
        "while-loop-constant-sinking",
        "simplify-while-loops",
        "while-loop-unroller",
        "zero_sized_hlo_elimination",
        "simplify-sorts",
        "algsimp",
        "slice-hoister",
        "reshape-mover",
        "constant_folding",
        "cse",
        "dce",
    ];
    Step::Fixpoint { name: "simplification", steps: passes.map(by_name).into() }
}

/// What the CPU backend does before it assigns layouts and fuses: all of [`simplify`], then dots in
/// the form that there are kernels for, and nothing left that only kept passes in check.
pub fn cpu() -> Pipeline {
    let expanders = ["batchnorm_expander", "uniform_quantization_expander"];
    let mut steps: Vec<Step> = ["call-inliner", "map-inline"].map(by_name).into();
    steps.extend(expanders.map(by_name));
    // Before weights that are constants are folded into floats, and once more when arithmetic that
    // others wrote is in the form that it looks for.
    steps.push(by_name("quantized-dot-rewriter"));
    steps.push(by_name("dce"));
    steps.push(simplification());
    steps.push(by_name("quantized-dot-rewriter"));
    steps.extend(["while-loop-dot-motion", "while-loop-invariant-code-motion"].map(by_name));
    steps.push(by_name("convolution-stencil"));
    steps.extend(["batch-dot-simplification", "dot_decomposer", "transpose-folding"].map(by_name));
    steps.extend(["dot-strength-reduction", "broadcast_canonicalizer"].map(by_name));
    steps.push(by_name("sparse-update-rewriter"));
    // What the dots were brought into form with is simplified in turn, and steps down gradients of zero.
    steps.push(simplification());
    steps.push(by_name("tree-reduction-rewriter"));
    steps.extend(
        ["transpose-folding", "cse", "cse_barrier_expander", "tuple-simplifier", "dce"]
            .map(by_name),
    );
    steps.push(by_name("while-loop-operand-turning"));
    steps.extend(
        ["dot-chain-tiling", "softmax-divide-sinking", "while-loop-row-tiling", "dce"].map(by_name),
    );
    steps.extend(["all-reduce-combiner", "flatten-call-graph"].map(by_name));
    Pipeline { name: "cpu", steps }
}

/// An order that pipelines have to keep where both passes are in them.
pub struct Order {
    pub before: &'static str,
    pub after: &'static str,
    pub how: How,
    pub why: &'static str,
}

/// Which occurrences an order is about, where a pass stands in a pipeline more than once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum How {
    /// What comes first is `before`.
    FirstBeforeFirst,
    /// What comes last is `after`.
    LastBeforeLast,
    /// Once there was an `after`, there is no `before` any more.
    AllBeforeAny,
}

pub const ORDER: &[Order] = &[
    Order {
        before: "call-inliner",
        after: "algsimp",
        how: How::FirstBeforeFirst,
        why: "rules see no further than a call",
    },
    Order {
        before: "call-inliner",
        after: "flatten-call-graph",
        how: How::FirstBeforeFirst,
        why: "flattening copies each callee that inlining would have dissolved",
    },
    Order {
        before: "tuple-simplifier",
        after: "algsimp",
        how: How::FirstBeforeFirst,
        why: "a value that goes through a tuple hides its producer from rules",
    },
    Order {
        before: "tuple-simplifier",
        after: "simplify-while-loops",
        how: How::FirstBeforeFirst,
        why: "what a loop starts from is seen where its tuple is made",
    },
    Order {
        before: "while-loop-constant-sinking",
        after: "simplify-while-loops",
        how: How::FirstBeforeFirst,
        why: "what became a constant of the body need not be carried",
    },
    Order {
        before: "simplify-while-loops",
        after: "while-loop-unroller",
        how: How::FirstBeforeFirst,
        why: "what nobody needs is not written out",
    },
    Order {
        before: "algsimp",
        after: "cse",
        how: How::FirstBeforeFirst,
        why: "rules bring equal values into one form, and only equal forms are merged",
    },
    Order {
        before: "algsimp",
        after: "constant_folding",
        how: How::FirstBeforeFirst,
        why: "a rule that drops an operand spares computing it",
    },
    Order {
        before: "constant_folding",
        after: "cse",
        how: How::FirstBeforeFirst,
        why: "values computed from different constants may turn out equal",
    },
    Order {
        before: "map-inline",
        after: "algsimp",
        how: How::FirstBeforeFirst,
        why: "rules see no further than a map",
    },
    Order {
        before: "batchnorm_expander",
        after: "algsimp",
        how: How::FirstBeforeFirst,
        why: "what scales by one, as norms of rows do, is seen when the op is arithmetic",
    },
    Order {
        before: "uniform_quantization_expander",
        after: "algsimp",
        how: How::FirstBeforeFirst,
        why: "scales of one and zero points of zero are seen when the calls are arithmetic",
    },
    Order {
        before: "uniform_quantization_expander",
        after: "quantized-dot-rewriter",
        how: How::FirstBeforeFirst,
        why: "what was dequantised is known by its arithmetic",
    },
    Order {
        before: "quantized-dot-rewriter",
        after: "constant_folding",
        how: How::FirstBeforeFirst,
        why: "weights that were folded are floats",
    },
    Order {
        before: "algsimp",
        after: "while-loop-dot-motion",
        how: How::FirstBeforeFirst,
        why: "rows are seen where their index is what the loop counts, without checks of it",
    },
    Order {
        before: "while-loop-invariant-code-motion",
        after: "convolution-stencil",
        how: How::FirstBeforeFirst,
        why: "a convolution moves as a whole",
    },
    Order {
        before: "quantized-dot-rewriter",
        after: "convolution-stencil",
        how: How::LastBeforeLast,
        why: "products of small integers are known by their op",
    },
    Order {
        before: "while-loop-dot-motion",
        after: "while-loop-invariant-code-motion",
        how: How::FirstBeforeFirst,
        why: "what a row is multiplied with stands in the body as it was written",
    },
    Order {
        before: "while-loop-dot-motion",
        after: "dot_decomposer",
        how: How::FirstBeforeFirst,
        why: "it makes products that sum over two dimensions",
    },
    Order {
        before: "dot_decomposer",
        after: "dot-strength-reduction",
        how: How::FirstBeforeFirst,
        why: "vectors are seen where dots are products of matrices",
    },
    Order {
        before: "transpose-folding",
        after: "dot-strength-reduction",
        how: How::FirstBeforeFirst,
        why: "products take matrices as they lie",
    },
    Order {
        before: "dot-strength-reduction",
        after: "tree-reduction-rewriter",
        how: How::FirstBeforeFirst,
        why: "it makes long reductions",
    },
    Order {
        before: "dot_decomposer",
        after: "transpose-folding",
        how: How::FirstBeforeFirst,
        why: "only products of matrices take their operands transposed",
    },
    Order {
        before: "transpose-folding",
        after: "while-loop-operand-turning",
        how: How::AllBeforeAny,
        why: "it would have products read what was turned as it was before",
    },
    Order {
        before: "transpose-folding",
        after: "dot-chain-tiling",
        how: How::LastBeforeLast,
        why: "rows are followed through products as they will run",
    },
    Order {
        before: "cse",
        after: "all-reduce-combiner",
        how: How::AllBeforeAny,
        why: "what is reduced twice is seen where each reduction stands by itself",
    },
    Order {
        before: "dot-chain-tiling",
        after: "flatten-call-graph",
        how: How::LastBeforeLast,
        why: "what reductions call is called from the loops too",
    },
    Order {
        before: "algsimp",
        after: "dot-chain-tiling",
        how: How::AllBeforeAny,
        why: "it would merge what is computed once more to save memory",
    },
    Order { before: "cse", after: "dot-chain-tiling", how: How::AllBeforeAny, why: "as above" },
    Order {
        before: "sparse-update-rewriter",
        after: "algsimp",
        how: How::LastBeforeLast,
        why: "a step down a gradient of zero is often none",
    },
    Order {
        before: "dot-chain-tiling",
        after: "softmax-divide-sinking",
        how: How::LastBeforeLast,
        why: "a tile divides its own rows; after the whole product sums would have to be kept for it",
    },
    Order {
        before: "algsimp",
        after: "tree-reduction-rewriter",
        how: How::AllBeforeAny,
        why: "rules would make one reduction of the two again",
    },
    Order {
        before: "cse",
        after: "cse_barrier_expander",
        how: How::AllBeforeAny,
        why: "without its barrier, what is computed anew to save memory would be merged again",
    },
    Order {
        before: "cse",
        after: "dce",
        how: How::LastBeforeLast,
        why: "what was merged is dead, and dead users keep rules for single uses from matching",
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::PIPELINES;

    #[test]
    fn every_pipeline_keeps_the_order() {
        for named in PIPELINES {
            let names: Vec<&str> = (named.build)().steps.iter().flat_map(Step::names).collect();
            let first = |name: &str| names.iter().position(|found| *found == name);
            let last = |name: &str| names.iter().rposition(|found| *found == name);
            for order in ORDER {
                let (before, after) = match order.how {
                    How::FirstBeforeFirst => (first(order.before), first(order.after)),
                    How::LastBeforeLast => (last(order.before), last(order.after)),
                    How::AllBeforeAny => (last(order.before), first(order.after)),
                };
                if let (Some(before), Some(after)) = (before, after) {
                    assert!(
                        before < after,
                        "{}: `{}` has to stand before `{}`: {}",
                        named.name,
                        order.before,
                        order.after,
                        order.why
                    );
                }
            }
        }
    }

    #[test]
    fn orders_name_passes_that_exist() {
        for order in ORDER {
            for name in [order.before, order.after] {
                assert!(lookup(name).is_some(), "`{name}` in an order constraint is no pass");
            }
        }
    }

    #[test]
    fn unknown_names_are_errors() {
        let error = Pipeline::of_names(["dce", "nonsense"]).err();
        assert_eq!(error, Some(UnknownPass("nonsense".to_owned())));
    }
}
