//! Expressions of doubles, short to write.

use rxla_kernel::{BinaryOp, Builder, ComparePredicate, UnaryOp, Value};

/// A complex number in `f64` parts.
pub(super) type Z = (Value, Value);

/// A builder of values of type `f64` and conditions on them, and where the values come from.
pub(super) struct Maths<'a>(pub(super) &'a mut Builder, pub(super) Width);

/// The type that values were converted from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Width {
    /// Or narrower: neither squares of such numbers nor their squares leave `f64`.
    F32,
    F64,
}

impl Maths<'_> {
    pub(super) fn number(&mut self, value: f64) -> Value {
        self.0.f64(value)
    }

    pub(super) fn of(&mut self, op: UnaryOp, x: Value) -> Value {
        self.0.unary(op, x)
    }

    pub(super) fn add(&mut self, x: Value, y: Value) -> Value {
        self.0.add(x, y)
    }

    pub(super) fn sub(&mut self, x: Value, y: Value) -> Value {
        self.0.sub(x, y)
    }

    pub(super) fn mul(&mut self, x: Value, y: Value) -> Value {
        self.0.mul(x, y)
    }

    pub(super) fn scaled(&mut self, factor: f64, x: Value) -> Value {
        let factor = self.number(factor);
        self.mul(factor, x)
    }

    pub(super) fn plus(&mut self, x: Value, y: f64) -> Value {
        let y = self.number(y);
        self.add(x, y)
    }

    pub(super) fn div(&mut self, x: Value, y: Value) -> Value {
        self.0.binary(BinaryOp::FDiv, x, y)
    }

    pub(super) fn neg(&mut self, x: Value) -> Value {
        self.of(UnaryOp::Neg, x)
    }

    pub(super) fn abs(&mut self, x: Value) -> Value {
        self.of(UnaryOp::FAbs, x)
    }

    pub(super) fn sqrt(&mut self, x: Value) -> Value {
        self.of(UnaryOp::Sqrt, x)
    }

    pub(super) fn copysign(&mut self, x: Value, sign: Value) -> Value {
        self.0.binary(BinaryOp::CopySign, x, sign)
    }

    pub(super) fn atan2(&mut self, y: Value, x: Value) -> Value {
        self.0.binary(BinaryOp::Atan2, y, x)
    }

    pub(super) fn larger(&mut self, x: Value, y: Value) -> Value {
        self.0.binary(BinaryOp::FMax, x, y)
    }

    pub(super) fn smaller(&mut self, x: Value, y: Value) -> Value {
        self.0.binary(BinaryOp::FMin, x, y)
    }

    pub(super) fn is(&mut self, predicate: ComparePredicate, x: Value, y: f64) -> Value {
        let y = self.number(y);
        self.0.compare(predicate, x, y)
    }

    pub(super) fn is_zero(&mut self, x: Value) -> Value {
        self.is(ComparePredicate::FEq, x, 0.0)
    }

    pub(super) fn is_nan(&mut self, x: Value) -> Value {
        self.0.compare(ComparePredicate::FNe, x, x)
    }

    pub(super) fn is_infinite(&mut self, x: Value) -> Value {
        let size = self.abs(x);
        self.is(ComparePredicate::FEq, size, f64::INFINITY)
    }

    pub(super) fn is_finite(&mut self, x: Value) -> Value {
        let size = self.abs(x);
        self.is(ComparePredicate::FLt, size, f64::INFINITY)
    }

    /// As the sign bit says, of zeros too.
    pub(super) fn is_negative(&mut self, x: Value) -> Value {
        let one = self.number(1.0);
        let sign = self.copysign(one, x);
        self.is(ComparePredicate::FLt, sign, 0.0)
    }

    pub(super) fn and(&mut self, x: Value, y: Value) -> Value {
        self.0.binary(BinaryOp::And, x, y)
    }

    pub(super) fn or(&mut self, x: Value, y: Value) -> Value {
        self.0.binary(BinaryOp::Or, x, y)
    }

    pub(super) fn not(&mut self, x: Value) -> Value {
        self.of(UnaryOp::Not, x)
    }

    pub(super) fn select(&mut self, condition: Value, x: Value, y: Value) -> Value {
        self.0.select(condition, x, y)
    }

    pub(super) fn choose(&mut self, condition: Value, x: Z, y: Z) -> Z {
        (self.select(condition, x.0, y.0), self.select(condition, x.1, y.1))
    }

    /// √(x² + y²), scaled by a power of two where squares would leave the type.
    pub(super) fn hypot(&mut self, x: Value, y: Value) -> Value {
        let (a, b) = (self.abs(x), self.abs(y));
        let result = match self.1 {
            Width::F32 => self.root_of_squares(a, b),
            Width::F64 => self.scaled_hypot(a, b),
        };
        // Also beside a NaN.
        let (ia, ib) = (self.is_infinite(a), self.is_infinite(b));
        let infinite = self.or(ia, ib);
        let infinity = self.number(f64::INFINITY);
        self.select(infinite, infinity, result)
    }

    fn scaled_hypot(&mut self, a: Value, b: Value) -> Value {
        let large = self.larger(a, b);
        let huge = self.is(ComparePredicate::FGt, large, 1e150);
        let tiny = self.is(ComparePredicate::FLt, large, 1e-140);
        let (one, down, up) =
            (self.number(1.0), self.number(2f64.powi(-600)), self.number(2f64.powi(600)));
        let scale = self.select(tiny, up, one);
        let scale = self.select(huge, down, scale);
        let back = self.select(tiny, down, one);
        let back = self.select(huge, up, back);
        let (sa, sb) = (self.mul(a, scale), self.mul(b, scale));
        let root = self.root_of_squares(sa, sb);
        self.mul(root, back)
    }

    fn root_of_squares(&mut self, a: Value, b: Value) -> Value {
        let (aa, bb) = (self.mul(a, a), self.mul(b, b));
        let sum = self.add(aa, bb);
        self.sqrt(sum)
    }
}
