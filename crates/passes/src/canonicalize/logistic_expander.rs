//! `logistic-expander`, XLA's LogisticExpander: the logistic function as an exponential and a quotient.
//! Types narrower than `f32` are computed in `f32`.

use rxla_base::Result;
use rxla_hlo::op::Convert;
use rxla_hlo::{
    ArrayLiteral, BinaryKind, ElementType, InstructionId, Module, Op, Shape, UnaryKind,
};

use crate::pass::{Context, Pass};
use crate::rewrite::{self, NamedRule};
use crate::{rules, view};

pub struct LogisticExpander;

const RULES: &[NamedRule] = rules! {
    Unary(UnaryKind::Logistic) => [logistic],
};

impl Pass for LogisticExpander {
    fn name(&self) -> &'static str {
        "logistic-expander"
    }

    fn class(&self) -> &'static str {
        "LogisticExpander"
    }

    fn run(&self, module: &mut Module, cx: &Context) -> Result<u64> {
        Ok(rewrite::apply(module, cx, &[RULES]))
    }
}

/// `logistic(x) => 1 / (1 + exp(-x))`
fn logistic(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let x = view::unary(m, i, UnaryKind::Logistic)?;
    let shape = view::static_array(m, i)?.clone();
    let narrow = shape.element_type.is_float() && shape.element_type.bit_width() < 32;
    let mut wide = shape.clone();
    if narrow {
        wide.element_type = ElementType::F32;
    }
    let one = ArrayLiteral::scalar(1.0).convert(wide.element_type).ok()?;
    let wide = Shape::Array(wide);
    let x = if narrow { view::add_with_shape(m, i, Convert {}, wide.clone(), &[x]) } else { x };
    let parent = m[i].parent();
    let one = m.add_constant(parent, one);
    let one = if shape.rank() == 0 {
        one
    } else {
        view::add_with_shape(m, i, Op::broadcast([]), wide, &[one])
    };
    let negative = view::add(m, i, Op::unary(UnaryKind::Negate), &[x]);
    let exponential = view::add(m, i, Op::unary(UnaryKind::Exp), &[negative]);
    let sum = view::add(m, i, Op::binary(BinaryKind::Add), &[one, exponential]);
    let result = view::add(m, i, Op::binary(BinaryKind::Divide), &[one, sum]);
    Some(if narrow { view::add_same(m, i, Convert {}, &[result]) } else { result })
}

#[cfg(test)]
mod tests {
    use rxla_hlo::literal::{Tolerance, compare};
    use rxla_hlo::text::{ParseOptions, parse};
    use rxla_interpreter::{Options, evaluate};

    use super::*;

    /// The quotient rounds more often than the function; anything beyond that is wrong.
    #[test]
    fn the_quotient_is_the_function() {
        for (element_type, tolerance) in
            [("f64", 1e-15), ("f32", 3e-7), ("bf16", 0.0), ("f16", 1e-3)]
        {
            let text = format!(
                "HloModule m\nENTRY e {{\n  i = s32[401] iota(), iota_dimension=0\n  \
                 h = s32[] constant(200)\n  b = s32[401] broadcast(h), dimensions={{}}\n  \
                 d = s32[401] subtract(i, b)\n  f = {element_type}[401] convert(d)\n  \
                 q = {element_type}[] constant(4)\n  \
                 w = {element_type}[401] broadcast(q), dimensions={{}}\n  \
                 x = {element_type}[401] divide(f, w)\n  \
                 ROOT r = {element_type}[401] logistic(x)\n}}\n"
            );
            let mut module = parse(&text, &ParseOptions::default()).expect("valid").module;
            let expected = evaluate(&module, vec![], &Options::default()).expect("runs");
            assert_eq!(LogisticExpander.run(&mut module, &Context::new()).expect("fits"), 1);
            assert!(rxla_hlo::verify(&module).is_empty());
            let found = evaluate(&module, vec![], &Options::default()).expect("runs");
            let agreed = compare(&expected, &found, Tolerance::within(1e-37, tolerance));
            assert!(agreed.is_ok(), "{element_type}: {}", agreed.err().expect("wrong"));
        }
    }
}
