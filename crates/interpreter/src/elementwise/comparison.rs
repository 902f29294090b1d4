//! Comparisons, in the order of numbers or in IEEE 754's total order.

use std::cmp::Ordering;

use rxla_base::{Error, Result};
use rxla_hlo::ArrayLiteral;
use rxla_hlo::literal::Element;
use rxla_hlo::native::Pred;
use rxla_hlo::op::ComparisonDirection;
use rxla_hlo::small_float::{Format, Specials};

use super::complex::ComplexNumber;
use super::loops::zip_to;

/// Numbers in their own order, in which a NaN is unordered.
pub(super) fn ordered<T: Element + PartialOrd>(
    direction: ComparisonDirection,
    lhs: &ArrayLiteral,
    rhs: &ArrayLiteral,
) -> Result<ArrayLiteral> {
    by::<T, T>(direction, lhs, rhs, |value| value)
}

/// Types that are stored otherwise than they are ordered, by their values.
pub(super) fn by_value<T: Element<Wide: PartialOrd>>(
    direction: ComparisonDirection,
    lhs: &ArrayLiteral,
    rhs: &ArrayLiteral,
) -> Result<ArrayLiteral> {
    by::<T, T::Wide>(direction, lhs, rhs, T::widen)
}

/// -NaN < -∞ < … < -0 < +0 < … < +∞ < NaN. `bits` gives a value's bits in the format.
pub(super) fn total<T: Element>(
    format: Format,
    bits: impl Fn(T) -> u64,
    direction: ComparisonDirection,
    lhs: &ArrayLiteral,
    rhs: &ArrayLiteral,
) -> Result<ArrayLiteral> {
    by::<T, i128>(direction, lhs, rhs, |value| {
        let bits = bits(value);
        let magnitude = i128::from(bits & format.magnitude_mask());
        if bits & format.sign_bit() == 0 {
            magnitude
        } else if format.specials == Specials::NanIsNegativeZero && magnitude == 0 {
            // The only NaN of these formats has the sign bit: it is below everything.
            i128::MIN
        } else {
            -magnitude - 1
        }
    })
}

/// Complex numbers are equal or not; they have no order.
pub(super) fn complex<Z: ComplexNumber + Element>(
    direction: ComparisonDirection,
    lhs: &ArrayLiteral,
    rhs: &ArrayLiteral,
) -> Result<ArrayLiteral> {
    let equal = |x: Z, y: Z| {
        let (x, y) = (x.parts(), y.parts());
        x.re == y.re && x.im == y.im
    };
    match direction {
        ComparisonDirection::Eq => zip_to(lhs, rhs, |x, y| Pred::from(equal(x, y))),
        ComparisonDirection::Ne => zip_to(lhs, rhs, |x, y| Pred::from(!equal(x, y))),
        ComparisonDirection::Ge
        | ComparisonDirection::Gt
        | ComparisonDirection::Le
        | ComparisonDirection::Lt => Err(Error::invalid_argument(format!(
            "`compare` of `{}` has no direction `{direction}`: complex numbers are only equal or \
             not",
            lhs.element_type()
        ))),
    }
}

fn by<T: Element, K: PartialOrd>(
    direction: ComparisonDirection,
    lhs: &ArrayLiteral,
    rhs: &ArrayLiteral,
    key: impl Fn(T) -> K,
) -> Result<ArrayLiteral> {
    let holds = |test: fn(Option<Ordering>) -> bool| {
        zip_to(lhs, rhs, |x, y| Pred::from(test(key(x).partial_cmp(&key(y)))))
    };
    match direction {
        ComparisonDirection::Eq => holds(|order| order == Some(Ordering::Equal)),
        ComparisonDirection::Ne => holds(|order| order != Some(Ordering::Equal)),
        ComparisonDirection::Ge => holds(|order| order.is_some_and(Ordering::is_ge)),
        ComparisonDirection::Gt => holds(|order| order.is_some_and(Ordering::is_gt)),
        ComparisonDirection::Le => holds(|order| order.is_some_and(Ordering::is_le)),
        ComparisonDirection::Lt => holds(|order| order.is_some_and(Ordering::is_lt)),
    }
}
