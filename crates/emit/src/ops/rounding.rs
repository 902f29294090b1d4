//! `reduce-precision`.

use rxla_base::{Error, Result};
use rxla_hlo::ElementType;
use rxla_hlo::small_float::{Format, Specials};
use rxla_kernel::{BinaryOp, Builder, ComparePredicate, Convert, Scalar};

use super::{convert, undefined};
use crate::Element;
use crate::scalar::scalar_of;

/// Rounds as if the format had fewer exponent and mantissa bits: to nearest even, overflow to
/// infinity, what would be subnormal to zero, NaN as it is.
pub(crate) fn reduce_precision(
    b: &mut Builder,
    element_type: ElementType,
    x: Element,
    exponent_bits: i64,
    mantissa_bits: i64,
) -> Result<Element> {
    let format =
        Format::of(element_type).ok_or_else(|| undefined("reduce-precision", element_type))?;
    if format.specials != Specials::Ieee {
        let wide = convert(b, element_type, ElementType::F32, x)?;
        let wide = reduce_precision(b, ElementType::F32, wide, exponent_bits, mantissa_bits)?;
        return convert(b, ElementType::F32, element_type, wide);
    }
    let (Ok(exponent_bits), Ok(mantissa_bits)) =
        (u32::try_from(exponent_bits), u32::try_from(mantissa_bits))
    else {
        return Err(Error::invalid_argument("`reduce-precision` to a negative number of bits"));
    };
    if exponent_bits == 0 {
        return Err(Error::invalid_argument("`reduce-precision` to no exponent bits"));
    }
    let x = x.one()?;
    let scalar = scalar_of(element_type);
    let int = match scalar {
        Scalar::F64 => Scalar::I64,
        Scalar::F32 => Scalar::I32,
        Scalar::F16 | Scalar::BF16 => Scalar::I16,
        other => other,
    };
    let bits = if int == scalar { x } else { b.convert(Convert::Bitcast, x, int) };
    let sign_mask = b.constant(int, format.sign_bit());
    let magnitude_mask = b.constant(int, format.magnitude_mask());
    let infinity = b.constant(int, format.infinity_bits());
    let zero = b.constant(int, 0);
    let sign = b.binary(BinaryOp::And, bits, sign_mask);
    let original = b.binary(BinaryOp::And, bits, magnitude_mask);
    let is_nan = b.compare(ComparePredicate::Ugt, original, infinity);
    let mut magnitude = original;
    if mantissa_bits < format.mantissa_bits {
        let dropped = format.mantissa_bits - mantissa_bits;
        let amount = b.constant(int, dropped.into());
        let one = b.constant(int, 1);
        let last = b.binary(BinaryOp::LShr, magnitude, amount);
        let last = b.binary(BinaryOp::And, last, one);
        let bias = b.constant(int, (1 << (dropped - 1)) - 1);
        magnitude = b.add(magnitude, bias);
        magnitude = b.add(magnitude, last);
        let keep = b.constant(int, format.magnitude_mask() & !((1u64 << dropped) - 1));
        magnitude = b.binary(BinaryOp::And, magnitude, keep);
    }
    if exponent_bits < format.exponent_bits {
        let bias = (1u64 << (format.exponent_bits - 1)) - 1;
        let reduced_bias = (1u64 << (exponent_bits - 1)) - 1;
        let amount = b.constant(int, format.mantissa_bits.into());
        let exponent = b.binary(BinaryOp::LShr, magnitude, amount);
        let most = b.constant(int, bias + reduced_bias);
        let least = b.constant(int, bias - reduced_bias);
        let above = b.compare(ComparePredicate::Ugt, exponent, most);
        let below = b.compare(ComparePredicate::Ule, exponent, least);
        magnitude = b.select(below, zero, magnitude);
        magnitude = b.select(above, infinity, magnitude);
    }
    let reduced = b.binary(BinaryOp::Or, sign, magnitude);
    let result = b.select(is_nan, bits, reduced);
    Ok(Element::One(if int == scalar {
        result
    } else {
        b.convert(Convert::Bitcast, result, scalar)
    }))
}
