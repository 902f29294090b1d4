//! [`Real`]: formulas over arrays of one shape, written shortly.

use rxla_hlo::op::{BinaryKind, ComparisonDirection, UnaryKind};
use rxla_hlo::{ElementType, InstructionId};

use super::super::attributes::View;
use super::super::importer::{Importer, Result};
use super::broadcast::spread;

/// A builder of elementwise formulas; all operands have the shape of `like`.
pub(super) struct Real<'c, 'a> {
    pub(super) cx: &'c mut Importer<'a>,
    pub(super) like: InstructionId,
}

type Value = InstructionId;

impl Real<'_, '_> {
    pub(super) fn c(&mut self, value: f64) -> Value {
        self.cx.full_like(self.like, value)
    }

    pub(super) fn add(&mut self, a: Value, b: Value) -> Value {
        self.cx.binary(BinaryKind::Add, a, b)
    }

    pub(super) fn sub(&mut self, a: Value, b: Value) -> Value {
        self.cx.binary(BinaryKind::Subtract, a, b)
    }

    pub(super) fn mul(&mut self, a: Value, b: Value) -> Value {
        self.cx.binary(BinaryKind::Multiply, a, b)
    }

    pub(super) fn div(&mut self, a: Value, b: Value) -> Value {
        self.cx.binary(BinaryKind::Divide, a, b)
    }

    pub(super) fn pow(&mut self, a: Value, b: Value) -> Value {
        self.cx.binary(BinaryKind::Power, a, b)
    }

    pub(super) fn rem(&mut self, a: Value, b: Value) -> Value {
        self.cx.binary(BinaryKind::Remainder, a, b)
    }

    pub(super) fn and(&mut self, a: Value, b: Value) -> Value {
        self.cx.binary(BinaryKind::And, a, b)
    }

    pub(super) fn or(&mut self, a: Value, b: Value) -> Value {
        self.cx.binary(BinaryKind::Or, a, b)
    }

    pub(super) fn unary(&mut self, kind: UnaryKind, a: Value) -> Value {
        self.cx.unary(kind, a)
    }

    pub(super) fn neg(&mut self, a: Value) -> Value {
        self.unary(UnaryKind::Negate, a)
    }

    pub(super) fn abs(&mut self, a: Value) -> Value {
        self.unary(UnaryKind::Abs, a)
    }

    pub(super) fn floor(&mut self, a: Value) -> Value {
        self.unary(UnaryKind::Floor, a)
    }

    pub(super) fn exp(&mut self, a: Value) -> Value {
        self.unary(UnaryKind::Exp, a)
    }

    pub(super) fn log(&mut self, a: Value) -> Value {
        self.unary(UnaryKind::Log, a)
    }

    pub(super) fn log1p(&mut self, a: Value) -> Value {
        self.unary(UnaryKind::Log1p, a)
    }

    pub(super) fn compare(&mut self, direction: ComparisonDirection, a: Value, b: Value) -> Value {
        self.cx.compare(direction, a, b)
    }

    pub(super) fn less(&mut self, a: Value, b: Value) -> Value {
        self.compare(ComparisonDirection::Lt, a, b)
    }

    pub(super) fn equal(&mut self, a: Value, b: Value) -> Value {
        self.compare(ComparisonDirection::Eq, a, b)
    }

    pub(super) fn select(&mut self, condition: Value, then: Value, otherwise: Value) -> Value {
        self.cx.select(condition, then, otherwise)
    }

    /// A polynomial by Horner's rule, highest power first.
    pub(super) fn polynomial(&mut self, x: Value, coefficients: &[f64]) -> Value {
        let mut sum = self.c(coefficients[0]);
        for &coefficient in &coefficients[1..] {
            let coefficient = self.c(coefficient);
            sum = self.cx.multiply_add(sum, x, coefficient);
        }
        sum
    }

    /// A Chebyshev series by Clenshaw's recurrence, highest term first, the constant term halved.
    pub(super) fn chebyshev(&mut self, x: Value, coefficients: &[f64]) -> Value {
        let mut b0 = self.c(0.0);
        let mut b1 = b0;
        let mut b2 = b0;
        for &coefficient in coefficients {
            b2 = b1;
            b1 = b0;
            let product = self.mul(x, b1);
            let rest = self.sub(product, b2);
            let coefficient = self.c(coefficient);
            b0 = self.add(rest, coefficient);
        }
        let half = self.c(0.5);
        let difference = self.sub(b0, b2);
        self.mul(difference, half)
    }
}

/// Lowers a function of real arrays that is computed in `f32` at least.
pub(super) fn with_f32_at_least<'a, const N: usize>(
    cx: &mut Importer<'a>,
    view: View<'a>,
    formula: impl FnOnce(&mut Real<'_, 'a>, [InstructionId; N]) -> InstructionId,
) -> Result {
    let mut operands = cx.exactly::<N>(view)?;
    if view.name.starts_with("chlo.broadcast_") {
        spread(cx, view, &mut operands)?;
    }
    let element_type = cx.array(view, operands[0])?.element_type;
    if !element_type.is_float() {
        return Err(view.error(format_args!("takes floats, not `{element_type}`")));
    }
    for &operand in &operands[1..] {
        let (first, other) = (cx.array(view, operands[0])?, cx.array(view, operand)?);
        if !first.compatible(&other) {
            return Err(
                view.error(format_args!("takes operands of one type, not `{first}` and `{other}`"))
            );
        }
    }
    let narrow = element_type.bit_width() < 32;
    if narrow {
        for operand in &mut operands {
            *operand = cx.convert(*operand, ElementType::F32);
        }
    }
    let like = operands[0];
    let result = formula(&mut Real { cx, like }, operands);
    let result = if narrow { cx.convert(result, element_type) } else { result };
    cx.finish(view, result)
}
