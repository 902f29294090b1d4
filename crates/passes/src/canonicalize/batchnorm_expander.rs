//! `batchnorm_expander`, XLA's BatchNormExpander: normalisation over a batch, its inference and its
//! gradient as sums and arithmetic. Types narrower than `f32` are computed in `f32`. What there is once
//! for a feature is divided there, so that elements are only multiplied.

use rxla_base::Result;
use rxla_hlo::op::Reduce;
use rxla_hlo::{
    ArrayShape, BinaryKind, Dims, ElementType, InstructionId, Module, Op, Shape, UnaryKind,
};

use crate::pass::{Context, Pass};
use crate::rewrite::{self, NamedRule};
use crate::{rules, view};

pub struct BatchNormExpander;

const RULES: &[NamedRule] = rules! {
    BatchNormTraining => [training],
    BatchNormInference => [inference],
    BatchNormGrad => [gradient],
};

impl Pass for BatchNormExpander {
    fn name(&self) -> &'static str {
        "batchnorm_expander"
    }

    fn class(&self) -> &'static str {
        "BatchNormExpander"
    }

    fn run(&self, module: &mut Module, cx: &Context) -> Result<u64> {
        Ok(rewrite::apply(module, cx, &[RULES]))
    }
}

/// `mean = sum(x) / n`, `variance = sum((x - mean)²) / n`, and the inference with them
fn training(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let Op::BatchNormTraining(op) = &m[i].op else { return None };
    let (epsilon, feature) = (op.epsilon, op.feature_index);
    let mut e = Expansion::of(m, i, feature)?;
    let [x, scale, offset] = [0, 1, 2].map(|number| e.operand(number));
    let total = e.sum(x);
    let mean = e.per_element(total);
    let centered = e.centered(x, mean);
    let squares = e.binary(BinaryKind::Multiply, centered, centered);
    let total = e.sum(squares);
    let variance = e.per_element(total);
    let normal = e.normalized(centered, variance, epsilon, scale, offset);
    Some(e.results(&[normal, mean, variance]))
}

/// `(x - mean) * (scale / sqrt(variance + epsilon)) + offset`
fn inference(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let Op::BatchNormInference(op) = &m[i].op else { return None };
    let (epsilon, feature) = (op.epsilon, op.feature_index);
    let mut e = Expansion::of(m, i, feature)?;
    let [x, scale, offset, mean, variance] = [0, 1, 2, 3, 4].map(|number| e.operand(number));
    let centered = e.centered(x, mean);
    let normal = e.normalized(centered, variance, epsilon, scale, offset);
    let shape = m[i].shape.clone();
    Some(view::convert(m, i, normal, &shape))
}

/// With `d = sqrt(variance + epsilon)`, `b = sum(dy)` and `p = sum(dy * (x - mean))`: the gradients
/// `scale / d / n * (n * dy - b - p / d² * (x - mean))`, `p / d` and `b`
fn gradient(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    use BinaryKind::{Divide, Multiply, Subtract};
    let Op::BatchNormGrad(op) = &m[i].op else { return None };
    let (epsilon, feature) = (op.epsilon, op.feature_index);
    let mut e = Expansion::of(m, i, feature)?;
    let [x, scale, mean, variance, dy] = [0, 1, 2, 3, 4].map(|number| e.operand(number));
    let centered = e.centered(x, mean);
    let products = e.binary(Multiply, dy, centered);
    let (offset_gradient, products) = (e.sum(dy), e.sum(products));
    let square = e.shifted(variance, epsilon);
    let deviation = view::add(e.m, i, Op::unary(UnaryKind::Sqrt), &[square]);
    let scale_gradient = e.binary(Divide, products, deviation);
    let count = e.number_like(dy, e.count);
    let whole = e.binary(Multiply, count, dy);
    let slope = e.binary(Divide, products, square);
    let (wide_offset, wide_slope) = (e.wide(offset_gradient), e.wide(slope));
    let tilt = e.binary(Multiply, wide_slope, centered);
    let rest = e.binary(Subtract, whole, wide_offset);
    let rest = e.binary(Subtract, rest, tilt);
    let factor = e.binary(Divide, scale, deviation);
    let factor = e.per_element(factor);
    let factor = e.wide(factor);
    let operand_gradient = e.binary(Multiply, factor, rest);
    Some(e.results(&[operand_gradient, scale_gradient, offset_gradient]))
}

/// What all three are made with: the op, the type to compute in, and the other dimensions.
struct Expansion<'a> {
    m: &'a mut Module,
    i: InstructionId,
    element_type: ElementType,
    dims: Dims,
    feature: i64,
    count: f64,
}

impl Expansion<'_> {
    /// `None` if an operand is no static array of floats, or if there is nothing to sum.
    fn of(m: &mut Module, i: InstructionId, feature: i64) -> Option<Expansion<'_>> {
        let mut element_type = ElementType::F32;
        for &operand in m[i].operands() {
            let shape = view::static_array(m, operand)?;
            if !shape.element_type.is_float() || shape.element_count()? == 0 {
                return None;
            }
            if shape.element_type == ElementType::F64 {
                element_type = ElementType::F64;
            }
        }
        let dims = view::dims(m, view::operand(m, i, 0))?.clone();
        let others = dims.iter().enumerate().filter(|(d, _)| *d as i64 != feature);
        let count = others.map(|(_, &size)| size as f64).product();
        Some(Expansion { m, i, element_type, dims, feature, count })
    }

    fn operand(&mut self, number: usize) -> InstructionId {
        let operand = view::operand(self.m, self.i, number);
        let dims = view::dims(self.m, operand).cloned().unwrap_or_default();
        let shape = Shape::array(self.element_type, dims);
        view::convert(self.m, self.i, operand, &shape)
    }

    fn binary(&mut self, kind: BinaryKind, a: InstructionId, b: InstructionId) -> InstructionId {
        view::add(self.m, self.i, Op::binary(kind), &[a, b])
    }

    /// A value of each feature at all its places.
    fn wide(&mut self, value: InstructionId) -> InstructionId {
        let shape = Shape::array(self.element_type, self.dims.iter().copied());
        view::add_with_shape(self.m, self.i, Op::broadcast([self.feature]), shape, &[value])
    }

    fn number_like(&mut self, like: InstructionId, number: f64) -> InstructionId {
        let dims = view::dims(self.m, like).cloned().unwrap_or_default();
        let parent = self.m[self.i].parent();
        let scalar = self.m.add_scalar(parent, self.element_type, number);
        let shape = ArrayShape::new(self.element_type, dims);
        self.m.add_splat(parent, scalar, &shape).expect("a scalar fits everywhere")
    }

    /// The sums over all places of each feature.
    fn sum(&mut self, value: InstructionId) -> InstructionId {
        let to_apply = self.m.add_scalar_computation(BinaryKind::Add, self.element_type);
        let to_apply = to_apply.expect("floats are added");
        let parent = self.m[self.i].parent();
        let zero = self.m.add_scalar(parent, self.element_type, 0.0);
        let dimensions = (0..self.dims.len() as i64).filter(|&d| d != self.feature).collect();
        view::add(self.m, self.i, Reduce { dimensions, to_apply }, &[value, zero])
    }

    /// A value of each feature, divided by the number of its places.
    fn per_element(&mut self, value: InstructionId) -> InstructionId {
        let count = self.number_like(value, self.count);
        self.binary(BinaryKind::Divide, value, count)
    }

    fn centered(&mut self, x: InstructionId, mean: InstructionId) -> InstructionId {
        let mean = self.wide(mean);
        self.binary(BinaryKind::Subtract, x, mean)
    }

    fn shifted(&mut self, variance: InstructionId, epsilon: f32) -> InstructionId {
        let epsilon = self.number_like(variance, f64::from(epsilon));
        self.binary(BinaryKind::Add, variance, epsilon)
    }

    fn normalized(
        &mut self,
        centered: InstructionId,
        variance: InstructionId,
        epsilon: f32,
        scale: InstructionId,
        offset: InstructionId,
    ) -> InstructionId {
        let square = self.shifted(variance, epsilon);
        let deviation = view::add(self.m, self.i, Op::unary(UnaryKind::Sqrt), &[square]);
        let factor = self.binary(BinaryKind::Divide, scale, deviation);
        let [factor, offset] = [factor, offset].map(|value| self.wide(value));
        let scaled = self.binary(BinaryKind::Multiply, centered, factor);
        self.binary(BinaryKind::Add, scaled, offset)
    }

    /// The tuple of the results, each in the type that the op gives it.
    fn results(&mut self, values: &[InstructionId]) -> InstructionId {
        let shapes = self.m[self.i].shape.as_tuple().unwrap_or_default().to_vec();
        let values: Vec<InstructionId> = values
            .iter()
            .zip(&shapes)
            .map(|(&value, shape)| view::convert(self.m, self.i, value, shape))
            .collect();
        view::add(self.m, self.i, Op::tuple(), &values)
    }
}

#[cfg(test)]
mod tests {
    use rxla_hlo::literal::{Tolerance, compare};
    use rxla_hlo::text::{ParseOptions, parse};
    use rxla_interpreter::{Options, evaluate};

    use super::*;

    /// Summation in another type and order rounds otherwise; anything beyond that is wrong.
    fn check(kind: &str, element_type: &str, tolerance: f64) {
        let (t, wide) =
            (element_type, "{{{0.5, -1}, {2, 3}, {-4, 0.25}}, {{1, 5}, {0, -2}, {7, 1}}}");
        let results = match kind {
            "inference" => format!("{t}[2,3,2]"),
            _ => format!("({t}[2,3,2], {t}[3], {t}[3])"),
        };
        let operands = match kind {
            "training" => "x, s, o",
            "inference" => "x, s, o, a, v",
            _ => "x, s, a, v, g",
        };
        let text = format!(
            "HloModule m\nENTRY e {{\n  x = {t}[2,3,2] constant({wide})\n  \
             n = {t}[2,3,2] negate(x)\n  g = {t}[2,3,2] exponential(n)\n  \
             s = {t}[3] constant({{1, 2, -0.5}})\n  o = {t}[3] constant({{0, -3, 4}})\n  \
             a = {t}[3] constant({{0.25, 1, -2}})\n  v = {t}[3] constant({{1, 0.5, 3}})\n  \
             ROOT r = {results} batch-norm-{kind}({operands}), epsilon=0.125, feature_index=1\n}}\n"
        );
        let mut module = parse(&text, &ParseOptions::default()).expect("valid").module;
        let expected = evaluate(&module, vec![], &Options::default()).expect("runs");
        assert_eq!(BatchNormExpander.run(&mut module, &Context::new()).expect("fits"), 1);
        assert!(rxla_hlo::verify(&module).is_empty());
        let found = evaluate(&module, vec![], &Options::default()).expect("runs");
        let agreed = compare(&expected, &found, Tolerance::within(tolerance, tolerance));
        assert!(agreed.is_ok(), "{kind} of {t}: {}", agreed.err().expect("wrong"));
    }

    #[test]
    fn expansions_compute_what_the_ops_do() {
        for kind in ["training", "inference", "grad"] {
            check(kind, "f64", 1e-12);
            check(kind, "f32", 1e-4);
            check(kind, "bf16", 2e-2);
        }
    }
}
