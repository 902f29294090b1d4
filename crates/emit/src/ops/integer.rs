//! Integers: they wrap, and division by zero has a result.

use rxla_hlo::ElementType;
use rxla_hlo::op::{BinaryKind, UnaryKind};
use rxla_kernel::{BinaryOp, Builder, ComparePredicate, Convert, LoopKind, Scalar, UnaryOp, Value};

use super::{extend, like};

/// Brings the value of a type below a byte back to its range.
pub(super) fn wrapped(b: &mut Builder, element_type: ElementType, x: Value) -> Value {
    let width = element_type.bit_width();
    if width >= 8 {
        return x;
    }
    if element_type.is_signed() {
        let unused = b.constant(Scalar::I8, 8 - width as u64);
        let up = b.binary(BinaryOp::Shl, x, unused);
        b.binary(BinaryOp::AShr, up, unused)
    } else {
        low_bits(b, element_type, x)
    }
}

/// The bits of the value, without copies of the sign.
fn low_bits(b: &mut Builder, element_type: ElementType, x: Value) -> Value {
    let width = element_type.bit_width();
    if width >= 8 {
        return x;
    }
    let mask = b.constant(Scalar::I8, (1 << width) - 1);
    b.binary(BinaryOp::And, x, mask)
}

pub(super) fn unary(
    b: &mut Builder,
    kind: UnaryKind,
    element_type: ElementType,
    x: Value,
) -> Option<Value> {
    let signed = element_type.is_signed();
    let value = match kind {
        UnaryKind::Abs if signed => {
            let zero = like(b, x, 0.0);
            let negative = b.compare(ComparePredicate::Slt, x, zero);
            let negated = b.unary(UnaryOp::Neg, x);
            b.select(negative, negated, x)
        }
        UnaryKind::CountLeadingZeros => {
            let bits = low_bits(b, element_type, x);
            let zeros = b.unary(UnaryOp::CountLeadingZeros, bits);
            match element_type.bit_width() {
                width if width < 8 => {
                    let unused = b.constant(Scalar::I8, 8 - width as u64);
                    b.sub(zeros, unused)
                }
                _ => zeros,
            }
        }
        UnaryKind::Negate => b.unary(UnaryOp::Neg, x),
        UnaryKind::Not => b.unary(UnaryOp::Not, x),
        UnaryKind::PopulationCount => {
            let bits = low_bits(b, element_type, x);
            b.unary(UnaryOp::PopCount, bits)
        }
        UnaryKind::Sign if signed => {
            let (one, minus_one) = (like(b, x, 1.0), like(b, x, -1.0));
            let above = b.binary(BinaryOp::SMin, x, one);
            b.binary(BinaryOp::SMax, above, minus_one)
        }
        _ => return None,
    };
    Some(wrapped(b, element_type, value))
}

pub(super) fn binary(
    b: &mut Builder,
    kind: BinaryKind,
    element_type: ElementType,
    x: Value,
    y: Value,
) -> Option<Value> {
    let signed = element_type.is_signed();
    let pick = |if_signed, otherwise| if signed { if_signed } else { otherwise };
    let op = match kind {
        BinaryKind::Add => BinaryOp::Add,
        BinaryKind::And => BinaryOp::And,
        BinaryKind::Divide => pick(BinaryOp::SDiv, BinaryOp::UDiv),
        BinaryKind::Maximum => pick(BinaryOp::SMax, BinaryOp::UMax),
        BinaryKind::Minimum => pick(BinaryOp::SMin, BinaryOp::UMin),
        BinaryKind::Multiply => BinaryOp::Mul,
        BinaryKind::Or => BinaryOp::Or,
        BinaryKind::Remainder => pick(BinaryOp::SRem, BinaryOp::URem),
        BinaryKind::Subtract => BinaryOp::Sub,
        BinaryKind::Xor => BinaryOp::Xor,
        BinaryKind::ShiftLeft
        | BinaryKind::ShiftRightArithmetic
        | BinaryKind::ShiftRightLogical => return Some(shift(b, kind, element_type, x, y)),
        BinaryKind::Mulhi => return Some(multiply_high(b, element_type, x, y)),
        BinaryKind::Power => return Some(power(b, element_type, x, y)),
        BinaryKind::Atan2 | BinaryKind::Complex => return None,
    };
    let value = b.binary(op, x, y);
    Some(wrapped(b, element_type, value))
}

/// Amounts count unsigned; the highest bit is the sign for `shift-right-arithmetic`, of unsigned
/// types too.
fn shift(
    b: &mut Builder,
    kind: BinaryKind,
    element_type: ElementType,
    x: Value,
    amount: Value,
) -> Value {
    let width = element_type.bit_width();
    if width >= 8 {
        let op = match kind {
            BinaryKind::ShiftLeft => BinaryOp::Shl,
            BinaryKind::ShiftRightArithmetic => BinaryOp::AShr,
            _ => BinaryOp::LShr,
        };
        return b.binary(op, x, amount);
    }
    let amount = low_bits(b, element_type, amount);
    let value = match kind {
        BinaryKind::ShiftRightLogical => {
            let bits = low_bits(b, element_type, x);
            b.binary(BinaryOp::LShr, bits, amount)
        }
        BinaryKind::ShiftRightArithmetic => {
            let unused = b.constant(Scalar::I8, 8 - width as u64);
            let up = b.binary(BinaryOp::Shl, x, unused);
            let down = b.binary(BinaryOp::AShr, up, unused);
            b.binary(BinaryOp::AShr, down, amount)
        }
        _ => {
            let shifted = b.binary(BinaryOp::Shl, x, amount);
            let most = b.constant(Scalar::I8, width as u64);
            let far = b.compare(ComparePredicate::Uge, amount, most);
            let zero = like(b, x, 0.0);
            b.select(far, zero, shifted)
        }
    };
    wrapped(b, element_type, value)
}

/// The upper half of the product.
fn multiply_high(b: &mut Builder, element_type: ElementType, x: Value, y: Value) -> Value {
    let width = element_type.bit_width();
    let signed = element_type.is_signed();
    if width < 64 {
        let (wide_x, wide_y) =
            (extend(b, element_type, x, Scalar::I64), extend(b, element_type, y, Scalar::I64));
        let product = b.mul(wide_x, wide_y);
        let amount = b.index(width as i64);
        let op = if signed { BinaryOp::AShr } else { BinaryOp::LShr };
        let high = b.binary(op, product, amount);
        let narrow = b.ty(x).scalar;
        let high = b.convert(Convert::Truncate, high, narrow);
        return wrapped(b, element_type, high);
    }
    // Schoolbook on halves of 32 bits, unsigned.
    let (mask, half) = (b.index(0xffff_ffff), b.index(32));
    let split = |b: &mut Builder, x: Value| {
        (b.binary(BinaryOp::And, x, mask), b.binary(BinaryOp::LShr, x, half))
    };
    let ((xl, xh), (yl, yh)) = (split(b, x), split(b, y));
    let low = b.mul(xl, yl);
    let carry = b.binary(BinaryOp::LShr, low, half);
    let cross = b.mul(xh, yl);
    let cross = b.add(cross, carry);
    let (cross_low, cross_high) = split(b, cross);
    let other = b.mul(xl, yh);
    let other = b.add(other, cross_low);
    let other_high = b.binary(BinaryOp::LShr, other, half);
    let high = b.mul(xh, yh);
    let high = b.add(high, cross_high);
    let mut high = b.add(high, other_high);
    if signed {
        // A negative factor counts as 2^64 too much.
        let sign = b.index(63);
        for (factor, other) in [(x, y), (y, x)] {
            let all = b.binary(BinaryOp::AShr, factor, sign);
            let excess = b.binary(BinaryOp::And, all, other);
            high = b.sub(high, excess);
        }
    }
    high
}

/// By squaring. Negative powers are 0, but those of 1 are 1.
fn power(b: &mut Builder, element_type: ElementType, x: Value, y: Value) -> Value {
    let (zero, one) = (like(b, x, 0.0), like(b, x, 1.0));
    let exponent = low_bits(b, element_type, y);
    let bounds = (b.index(0), b.index(element_type.bit_width() as i64), 1);
    let step = |b: &mut Builder, _: Value, carried: &[Value]| {
        let (result, base, exponent) = (carried[0], carried[1], carried[2]);
        let bit = b.binary(BinaryOp::And, exponent, one);
        let is_set = b.compare(ComparePredicate::Ne, bit, zero);
        let more = b.mul(result, base);
        let result = b.select(is_set, more, result);
        let base = b.mul(base, base);
        vec![result, base, b.binary(BinaryOp::LShr, exponent, one)]
    };
    let result = b.for_loop(LoopKind::Sequential, bounds, &[one, x, exponent], step)[0];
    if !element_type.is_signed() {
        return wrapped(b, element_type, result);
    }
    let negative = b.compare(ComparePredicate::Slt, y, zero);
    let one = wrapped(b, element_type, one);
    let is_one = b.compare(ComparePredicate::Eq, x, one);
    let inverse = b.select(is_one, one, zero);
    let result = b.select(negative, inverse, result);
    wrapped(b, element_type, result)
}
