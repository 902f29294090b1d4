//! `uniform_quantization_expander`: the custom calls by which PyTorch/XLA quantises arrays and brings
//! them back, as arithmetic. It is done in `f32`, or in `f64` where the values are.

use rxla_base::Result;
use rxla_hlo::op::Clamp;
use rxla_hlo::{
    ArrayLiteral, ArrayShape, BinaryKind, ElementType, InstructionId, Literal, Module, Op, Shape,
    UnaryKind,
};
use rxla_interpreter::quantize::{Direction, Quantization, direction};

use crate::pass::{Context, Pass};
use crate::rewrite::{self, NamedRule};
use crate::{rules, view};

pub struct UniformQuantizationExpander;

const RULES: &[NamedRule] = rules! {
    CustomCall => [quantize, dequantize],
};

impl Pass for UniformQuantizationExpander {
    fn name(&self) -> &'static str {
        "uniform_quantization_expander"
    }

    fn class(&self) -> &'static str {
        "UniformQuantizationExpander"
    }

    fn run(&self, module: &mut Module, cx: &Context) -> Result<u64> {
        Ok(rewrite::apply(module, cx, &[RULES]))
    }
}

/// `round_nearest_even(clamp(least, x / scale + zero_point, most))`
fn quantize(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (x, how) = call(m, i, Direction::Quantize)?;
    let bounds = how.storage?;
    let (from, to) = (view::static_array(m, x)?.clone(), view::static_array(m, i)?.clone());
    if !from.element_type.is_float() || !to.element_type.is_integer() {
        return None;
    }
    let mut e = Expansion { m, i, shape: ArrayShape::new(wide(&from, &to), from.dims) };
    let x = e.convert(x);
    let (scales, zero_points) = (e.numbers(&how, &how.scales), e.numbers(&how, &how.zero_points));
    let scaled = e.binary(BinaryKind::Divide, x, scales);
    let moved = e.binary(BinaryKind::Add, scaled, zero_points);
    let [least, most] = bounds.map(|bound| e.number(bound));
    let shape = e.shape.clone();
    let held = view::add_with_shape(e.m, i, Clamp {}, shape, &[least, moved, most]);
    let rounded = view::add(e.m, i, Op::unary(UnaryKind::RoundNearestEven), &[held]);
    Some(view::convert(m, i, rounded, &Shape::Array(to)))
}

/// `(x - zero_point) * scale`
fn dequantize(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (x, how) = call(m, i, Direction::Dequantize)?;
    let (from, to) = (view::static_array(m, x)?.clone(), view::static_array(m, i)?.clone());
    if !from.element_type.is_integer() || !to.element_type.is_float() {
        return None;
    }
    let element_type = wide(&from, &to);
    let shape = |element_type| ArrayShape::new(element_type, from.dims.iter().copied());
    // The difference is rounded once, however many digits the integers have.
    let exact = if from.element_type.bit_width() > 16 { ElementType::F64 } else { element_type };
    let mut e = Expansion { m, i, shape: shape(exact) };
    let x = e.convert(x);
    let zero_points = e.numbers(&how, &how.zero_points);
    let moved = e.binary(BinaryKind::Subtract, x, zero_points);
    e.shape = shape(element_type);
    let moved = e.convert(moved);
    let scales = e.numbers(&how, &how.scales);
    let scaled = e.binary(BinaryKind::Multiply, moved, scales);
    Some(view::convert(m, i, scaled, &Shape::Array(to)))
}

/// Operand and configuration of such a call; `None` also of one that is wrong, which is reported when
/// it runs.
fn call(m: &Module, i: InstructionId, kind: Direction) -> Option<(InstructionId, Quantization)> {
    let Op::CustomCall(op) = &m[i].op else { return None };
    let &[x] = m[i].operands() else { return None };
    let dims = view::dims(m, i)?;
    if direction(&op.custom_call_target) != Some(kind) || view::dims(m, x)? != dims {
        return None;
    }
    let config = m[i].info().map_or("", |info| &info.backend_config);
    Some((x, Quantization::read(config, dims).ok()?))
}

/// The type that is computed in.
fn wide(from: &ArrayShape, to: &ArrayShape) -> ElementType {
    let is_wide = [from, to].iter().any(|shape| shape.element_type == ElementType::F64);
    if is_wide { ElementType::F64 } else { ElementType::F32 }
}

struct Expansion<'a> {
    m: &'a mut Module,
    i: InstructionId,
    /// Of what is computed.
    shape: ArrayShape,
}

impl Expansion<'_> {
    fn convert(&mut self, value: InstructionId) -> InstructionId {
        view::convert(self.m, self.i, value, &Shape::Array(self.shape.clone()))
    }

    fn binary(&mut self, kind: BinaryKind, a: InstructionId, b: InstructionId) -> InstructionId {
        view::add(self.m, self.i, Op::binary(kind), &[a, b])
    }

    fn number(&mut self, number: f64) -> InstructionId {
        let parent = self.m[self.i].parent();
        let scalar = self.m.add_scalar(parent, self.shape.element_type, number);
        self.m.add_splat(parent, scalar, &self.shape).expect("a scalar fits everywhere")
    }

    /// What each element is scaled or moved by.
    fn numbers(&mut self, how: &Quantization, numbers: &[f64]) -> InstructionId {
        let Some(dimension) = how.dimension else { return self.number(numbers[0]) };
        let literal = ArrayLiteral::from_values([numbers.len() as i64], numbers);
        let literal = literal.convert(self.shape.element_type).expect("floats are converted");
        let parent = self.m[self.i].parent();
        let constant = self.m.add_constant(parent, Literal::Array(literal));
        let op = Op::broadcast([dimension as i64]);
        view::add_with_shape(self.m, self.i, op, self.shape.clone(), &[constant])
    }
}

#[cfg(test)]
mod tests {
    use rxla_hlo::text::{ParseOptions, parse};
    use rxla_interpreter::{Options, evaluate};

    use super::*;

    /// Both ways, as the interpreter takes the calls and as it takes what they become.
    fn check(float: &str, stored: &str, config: &str) {
        let text = format!(
            "HloModule m\nENTRY e {{\n  \
             x = {float}[2,3] constant({{{{0.25, -0.75, 1e9}}, {{-inf, 0.1, 7.3}}}})\n  \
             q = {stored}[2,3] custom-call(x), custom_call_target=\"mhlo.uniform_quantize\", \
             backend_config={config}\n  \
             b = {float}[2,3] custom-call(q), custom_call_target=\"stablehlo.uniform_dequantize\", \
             backend_config={config}\n  \
             ROOT r = ({stored}[2,3], {float}[2,3]) tuple(q, b)\n}}\n"
        );
        let mut module = parse(&text, &ParseOptions::default()).expect("valid").module;
        let expected = evaluate(&module, vec![], &Options::default()).expect("runs");
        let made = UniformQuantizationExpander.run(&mut module, &Context::new());
        assert_eq!(made.expect("fits"), 2, "{text}");
        assert!(rxla_hlo::verify(&module).is_empty());
        let found = evaluate(&module, vec![], &Options::default()).expect("runs");
        assert_eq!(expected, found, "{text}");
    }

    #[test]
    fn expansions_compute_what_the_calls_do() {
        let one = "{scale=[0.3],zero_point=[3],storage_min=-128,storage_max=127}";
        let channels = "{quantization_dimension=1,scale=[0.3,1,0.01],zero_point=[0,10,1],\
                        storage_min=0,storage_max=255}";
        let many = "{scale=[1e-3],zero_point=[7],storage_min=-2147483648,storage_max=2147483647}";
        for float in ["f32", "f64", "bf16"] {
            check(float, "s8", one);
            check(float, "u8", channels);
            check(float, "s16", channels);
            check(float, "s32", many);
        }
    }

    #[test]
    fn what_is_wrong_stays() {
        let text = "HloModule m\nENTRY e {\n  x = f32[3] parameter(0)\n  \
                    ROOT q = s8[3] custom-call(x), custom_call_target=\"mhlo.uniform_quantize\", \
                    backend_config={scale=[0.5,1],zero_point=[1]}\n}\n";
        let mut module = parse(text, &ParseOptions::default()).expect("valid").module;
        assert_eq!(UniformQuantizationExpander.run(&mut module, &Context::new()).expect("fits"), 0);
    }
}
