//! Every operation on one lane, as bits in, bits out. All are total.

use super::float::{fma as fused, from_f64, from_integer, to_f64};
use super::maths;
use crate::ir::{BinaryOp, ComparePredicate, Convert, UnaryOp};
use crate::types::Scalar;

/// The low bits of a lane.
pub fn mask(scalar: Scalar) -> u64 {
    u64::MAX >> (64 - scalar.bits())
}

fn signed(scalar: Scalar, bits: u64) -> i64 {
    let unused = 64 - scalar.bits();
    ((bits << unused) as i64) >> unused
}

pub fn unary(op: UnaryOp, scalar: Scalar, a: u64) -> u64 {
    if scalar.is_float() { float_unary(op, scalar, a) } else { integer_unary(op, scalar, a) }
}

pub fn binary(op: BinaryOp, scalar: Scalar, a: u64, b: u64) -> u64 {
    if scalar.is_float() {
        float_binary(op, scalar, a, b)
    } else {
        integer_binary(op, scalar, a, b)
    }
}

pub fn fma(scalar: Scalar, operands: [u64; 3]) -> u64 {
    fused(scalar, operands)
}

fn float_unary(op: UnaryOp, scalar: Scalar, a: u64) -> u64 {
    let sign = 1u64 << (scalar.bits() - 1);
    let rounded = |f: fn(f64) -> f64| from_f64(scalar, f(to_f64(scalar, a)));
    match op {
        UnaryOp::Neg => a ^ sign,
        UnaryOp::FAbs => a & !sign,
        // f64 has more than twice the bits of the others: rounding again changes nothing.
        UnaryOp::Sqrt => rounded(f64::sqrt),
        UnaryOp::Floor => rounded(f64::floor),
        UnaryOp::Ceil => rounded(f64::ceil),
        UnaryOp::Trunc => rounded(f64::trunc),
        UnaryOp::RoundEven => rounded(f64::round_ties_even),
        UnaryOp::Not | UnaryOp::PopCount | UnaryOp::CountLeadingZeros => {
            unreachable!("`{}` takes integers", op.name())
        }
        UnaryOp::Exp
        | UnaryOp::Exp2
        | UnaryOp::Expm1
        | UnaryOp::Log
        | UnaryOp::Log2
        | UnaryOp::Log1p
        | UnaryOp::Sin
        | UnaryOp::Cos
        | UnaryOp::Tan
        | UnaryOp::Asin
        | UnaryOp::Acos
        | UnaryOp::Atan
        | UnaryOp::Sinh
        | UnaryOp::Cosh
        | UnaryOp::Tanh
        | UnaryOp::Asinh
        | UnaryOp::Acosh
        | UnaryOp::Atanh
        | UnaryOp::Erf
        | UnaryOp::Erfc
        | UnaryOp::Cbrt
        | UnaryOp::Rsqrt
        | UnaryOp::Logistic => rounded(maths::unary(op)),
    }
}

fn integer_unary(op: UnaryOp, scalar: Scalar, a: u64) -> u64 {
    match op {
        UnaryOp::Neg => a.wrapping_neg() & mask(scalar),
        UnaryOp::Not => !a & mask(scalar),
        UnaryOp::PopCount => u64::from(a.count_ones()) & mask(scalar),
        UnaryOp::CountLeadingZeros => {
            u64::from(a.leading_zeros() - (64 - scalar.bits())) & mask(scalar)
        }
        UnaryOp::FAbs
        | UnaryOp::Sqrt
        | UnaryOp::Floor
        | UnaryOp::Ceil
        | UnaryOp::Trunc
        | UnaryOp::RoundEven
        | UnaryOp::Exp
        | UnaryOp::Exp2
        | UnaryOp::Expm1
        | UnaryOp::Log
        | UnaryOp::Log2
        | UnaryOp::Log1p
        | UnaryOp::Sin
        | UnaryOp::Cos
        | UnaryOp::Tan
        | UnaryOp::Asin
        | UnaryOp::Acos
        | UnaryOp::Atan
        | UnaryOp::Sinh
        | UnaryOp::Cosh
        | UnaryOp::Tanh
        | UnaryOp::Asinh
        | UnaryOp::Acosh
        | UnaryOp::Atanh
        | UnaryOp::Erf
        | UnaryOp::Erfc
        | UnaryOp::Cbrt
        | UnaryOp::Rsqrt
        | UnaryOp::Logistic => unreachable!("`{}` takes floats", op.name()),
    }
}

fn float_binary(op: BinaryOp, scalar: Scalar, a: u64, b: u64) -> u64 {
    let sign = 1u64 << (scalar.bits() - 1);
    let (x, y) = (to_f64(scalar, a), to_f64(scalar, b));
    let value = match op {
        // f64 has more than twice the bits of the others: rounding again changes nothing.
        BinaryOp::Add => x + y,
        BinaryOp::Sub => x - y,
        BinaryOp::Mul => x * y,
        BinaryOp::FDiv => x / y,
        BinaryOp::FRem => x % y,
        BinaryOp::FMin | BinaryOp::FMax => {
            if x.is_nan() || y.is_nan() {
                return from_f64(scalar, f64::NAN);
            }
            let less = x < y || (x == y && a & sign != 0);
            return if less == (op == BinaryOp::FMin) { a } else { b };
        }
        BinaryOp::CopySign => return (a & !sign) | (b & sign),
        BinaryOp::Atan2 => libm::atan2(x, y),
        BinaryOp::Pow => libm::pow(x, y),
        BinaryOp::SDiv
        | BinaryOp::UDiv
        | BinaryOp::SRem
        | BinaryOp::URem
        | BinaryOp::SMin
        | BinaryOp::SMax
        | BinaryOp::UMin
        | BinaryOp::UMax
        | BinaryOp::And
        | BinaryOp::Or
        | BinaryOp::Xor
        | BinaryOp::Shl
        | BinaryOp::LShr
        | BinaryOp::AShr => unreachable!("`{}` takes integers", op.name()),
    };
    from_f64(scalar, value)
}

fn integer_binary(op: BinaryOp, scalar: Scalar, a: u64, b: u64) -> u64 {
    let (x, y) = (signed(scalar, a), signed(scalar, b));
    let width = u64::from(scalar.bits());
    let bits = match op {
        BinaryOp::Add => a.wrapping_add(b),
        BinaryOp::Sub => a.wrapping_sub(b),
        BinaryOp::Mul => a.wrapping_mul(b),
        BinaryOp::SDiv => match y {
            0 => u64::MAX,
            _ => x.wrapping_div(y) as u64,
        },
        BinaryOp::UDiv => a.checked_div(b).unwrap_or(u64::MAX),
        BinaryOp::SRem => match y {
            0 => a,
            _ => x.wrapping_rem(y) as u64,
        },
        BinaryOp::URem => a.checked_rem(b).unwrap_or(a),
        BinaryOp::SMin => x.min(y) as u64,
        BinaryOp::SMax => x.max(y) as u64,
        BinaryOp::UMin => a.min(b),
        BinaryOp::UMax => a.max(b),
        BinaryOp::And => a & b,
        BinaryOp::Or => a | b,
        BinaryOp::Xor => a ^ b,
        BinaryOp::Shl => {
            if b >= width {
                0
            } else {
                a << b
            }
        }
        BinaryOp::LShr => {
            if b >= width {
                0
            } else {
                a >> b
            }
        }
        BinaryOp::AShr => (x >> b.min(63)) as u64,
        BinaryOp::FDiv
        | BinaryOp::FRem
        | BinaryOp::FMin
        | BinaryOp::FMax
        | BinaryOp::CopySign
        | BinaryOp::Atan2
        | BinaryOp::Pow => unreachable!("`{}` takes floats", op.name()),
    };
    bits & mask(scalar)
}

pub fn compare(predicate: ComparePredicate, scalar: Scalar, a: u64, b: u64) -> bool {
    let (x, y) = (signed(scalar, a), signed(scalar, b));
    let float = |bits| to_f64(scalar, bits);
    match predicate {
        ComparePredicate::Eq => a == b,
        ComparePredicate::Ne => a != b,
        ComparePredicate::Slt => x < y,
        ComparePredicate::Sle => x <= y,
        ComparePredicate::Sgt => x > y,
        ComparePredicate::Sge => x >= y,
        ComparePredicate::Ult => a < b,
        ComparePredicate::Ule => a <= b,
        ComparePredicate::Ugt => a > b,
        ComparePredicate::Uge => a >= b,
        ComparePredicate::FEq => float(a) == float(b),
        ComparePredicate::FNe => float(a) != float(b),
        ComparePredicate::FLt => float(a) < float(b),
        ComparePredicate::FLe => float(a) <= float(b),
        ComparePredicate::FGt => float(a) > float(b),
        ComparePredicate::FGe => float(a) >= float(b),
    }
}

pub fn convert(op: Convert, from: Scalar, to: Scalar, a: u64) -> u64 {
    match op {
        Convert::Truncate => a & mask(to),
        Convert::ZeroExtend | Convert::Bitcast => a,
        Convert::SignExtend => signed(from, a) as u64 & mask(to),
        Convert::SignedToFloat => from_integer(to, i128::from(signed(from, a))),
        Convert::UnsignedToFloat => from_integer(to, i128::from(a)),
        Convert::FloatToSigned => {
            let limit = 1i128 << (to.bits() - 1);
            // A cast takes NaN to 0 and what is out of range to the nearest.
            let value = (to_f64(from, a) as i128).clamp(-limit, limit - 1);
            value as u64 & mask(to)
        }
        Convert::FloatToUnsigned => (to_f64(from, a) as u64).min(mask(to)),
        Convert::Float => from_f64(to, to_f64(from, a)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn division_is_total() {
        for scalar in [Scalar::I1, Scalar::I8, Scalar::I16, Scalar::I32, Scalar::I64] {
            let ones = mask(scalar);
            let least = 1u64 << (scalar.bits() - 1);
            assert_eq!(binary(BinaryOp::SDiv, scalar, 1, 0), ones);
            assert_eq!(binary(BinaryOp::UDiv, scalar, 1, 0), ones);
            assert_eq!(binary(BinaryOp::SRem, scalar, 1, 0), 1);
            assert_eq!(binary(BinaryOp::URem, scalar, 1, 0), 1);
            assert_eq!(binary(BinaryOp::SDiv, scalar, least, ones), least);
            assert_eq!(binary(BinaryOp::SRem, scalar, least, ones), 0);
        }
        assert_eq!(binary(BinaryOp::SDiv, Scalar::I8, 0xf9, 2), 0xfd);
        assert_eq!(binary(BinaryOp::SRem, Scalar::I8, 0xf9, 2), 0xff);
    }

    #[test]
    fn shifts_are_total() {
        for amount in [8, 9, 64, 200, 255] {
            assert_eq!(binary(BinaryOp::Shl, Scalar::I8, 0x81, amount), 0);
            assert_eq!(binary(BinaryOp::LShr, Scalar::I8, 0x81, amount), 0);
            assert_eq!(binary(BinaryOp::AShr, Scalar::I8, 0x81, amount), 0xff);
            assert_eq!(binary(BinaryOp::AShr, Scalar::I8, 0x71, amount), 0);
        }
        assert_eq!(binary(BinaryOp::AShr, Scalar::I64, u64::MAX - 1, u64::MAX), u64::MAX);
        assert_eq!(binary(BinaryOp::Shl, Scalar::I1, 1, 1), 0);
    }

    #[test]
    fn minimum_and_maximum() {
        let f = |value: f32| u64::from(value.to_bits());
        let min = |a, b| binary(BinaryOp::FMin, Scalar::F32, f(a), f(b));
        let max = |a, b| binary(BinaryOp::FMax, Scalar::F32, f(a), f(b));
        assert_eq!(min(0.0, -0.0), f(-0.0));
        assert_eq!(min(-0.0, 0.0), f(-0.0));
        assert_eq!(max(0.0, -0.0), f(0.0));
        assert_eq!(max(-0.0, 0.0), f(0.0));
        assert!(f32::from_bits(min(f32::NAN, 1.0) as u32).is_nan());
        assert!(f32::from_bits(max(1.0, f32::NAN) as u32).is_nan());
        assert_eq!(min(-1.0, 2.0), f(-1.0));
        // One bit, signed: true is -1.
        assert_eq!(binary(BinaryOp::SMin, Scalar::I1, 1, 0), 1);
        assert_eq!(binary(BinaryOp::UMin, Scalar::I1, 1, 0), 0);
    }

    #[test]
    fn conversions_saturate() {
        let f = |value: f32| u64::from(value.to_bits());
        let signed = |value, to| convert(Convert::FloatToSigned, Scalar::F32, to, f(value));
        let unsigned = |value, to| convert(Convert::FloatToUnsigned, Scalar::F32, to, f(value));
        assert_eq!(signed(f32::NAN, Scalar::I32), 0);
        assert_eq!(signed(-1.9, Scalar::I32), 0xffff_ffff);
        assert_eq!(signed(1e30, Scalar::I64), i64::MAX as u64);
        assert_eq!(signed(-1e30, Scalar::I8), 0x80);
        assert_eq!(unsigned(-1e30, Scalar::I8), 0);
        assert_eq!(unsigned(256.0, Scalar::I8), 255);
        assert_eq!(unsigned(f32::INFINITY, Scalar::I64), u64::MAX);
        assert_eq!(unsigned(f32::NAN, Scalar::I1), 0);
        assert_eq!(convert(Convert::SignedToFloat, Scalar::I1, Scalar::F32, 1), f(-1.0));
        assert_eq!(convert(Convert::SignExtend, Scalar::I8, Scalar::I16, 0x80), 0xff80);
        assert_eq!(convert(Convert::Float, Scalar::F32, Scalar::BF16, 0x3f80_8000), 0x3f80);
        assert_eq!(convert(Convert::Float, Scalar::F32, Scalar::BF16, 0x3f81_8000), 0x3f82);
    }

    #[test]
    fn bits_are_counted_in_their_width() {
        assert_eq!(unary(UnaryOp::CountLeadingZeros, Scalar::I16, 0), 16);
        assert_eq!(unary(UnaryOp::CountLeadingZeros, Scalar::I16, 1), 15);
        assert_eq!(unary(UnaryOp::PopCount, Scalar::I64, u64::MAX), 64);
        assert_eq!(unary(UnaryOp::Not, Scalar::I1, 1), 0);
        assert_eq!(unary(UnaryOp::Neg, Scalar::I8, 0x80), 0x80);
    }
}
