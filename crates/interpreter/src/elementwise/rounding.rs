//! Ops that only round: `reduce-precision` and `stochastic-convert`.

use rxla_base::{Error, Result};
use rxla_hlo::ArrayLiteral;
use rxla_hlo::literal::Element;
use rxla_hlo::small_float::{Format, Specials};

/// The bits of `value` of an IEEE format, rounded as if the format had fewer exponent and mantissa
/// bits: to nearest even, overflow to infinity, what would be subnormal to zero, as XLA does.
pub(super) fn reduced(format: Format, bits: u64, exponent_bits: u32, mantissa_bits: u32) -> u64 {
    debug_assert_eq!(format.specials, Specials::Ieee);
    if format.is_nan(bits) {
        return bits;
    }
    let sign = bits & format.sign_bit();
    let mut magnitude = bits & format.magnitude_mask();
    if mantissa_bits < format.mantissa_bits {
        let dropped = format.mantissa_bits - mantissa_bits;
        let last = (magnitude >> dropped) & 1;
        magnitude += (1 << (dropped - 1)) - 1 + last;
        magnitude &= !((1 << dropped) - 1);
    }
    if exponent_bits < format.exponent_bits {
        let bias = (1u64 << (format.exponent_bits - 1)) - 1;
        let reduced_bias = (1u64 << (exponent_bits - 1)) - 1;
        let exponent = magnitude >> format.mantissa_bits;
        if exponent > bias + reduced_bias {
            magnitude = format.infinity_bits();
        } else if exponent <= bias - reduced_bias {
            magnitude = 0;
        }
    }
    sign | magnitude
}

/// Rounds away from zero with the probability that the fraction says: up if the random number,
/// seen as a fraction of its range, is below it. NaN gives 0, what does not fit the nearest end.
pub(super) fn stochastic<F, R, T>(
    operand: &ArrayLiteral,
    random: &ArrayLiteral,
) -> Result<ArrayLiteral>
where
    F: Element<Wide = f64>,
    R: Element<Wide = u64>,
    T: Element<Wide = i64>,
{
    if random.element_type() != R::TYPE {
        return Err(Error::invalid_argument(format!(
            "`stochastic-convert` of `{}` needs random bits of type `{}`, got `{}`",
            F::TYPE,
            R::TYPE,
            random.element_type()
        )));
    }
    let range = 2f64.powi(R::TYPE.bit_width() as i32);
    let mut result = ArrayLiteral::zeros(&operand.shape().with_element_type(T::TYPE))?;
    let pairs = operand.values::<F>().iter().zip(random.values::<R>());
    for (out, (value, random)) in result.values_mut::<T>().iter_mut().zip(pairs) {
        let value = value.widen();
        let whole = value.trunc();
        let threshold = ((value - whole).abs() * range) as u64;
        let up = value.is_finite() && random.widen() < threshold;
        // Saturates, and gives 0 for NaN.
        *out = T::from_f64(if up { whole + 1f64.copysign(value) } else { value });
    }
    Ok(result)
}
