//! Ops that choose between their operands' elements.

use rxla_base::Result;
use rxla_hlo::ArrayLiteral;
use rxla_hlo::native::NativeType;

/// A scalar predicate chooses whole arrays.
pub(super) fn select<T: NativeType>(
    predicate: &ArrayLiteral,
    mut on_true: ArrayLiteral,
    on_false: ArrayLiteral,
) -> ArrayLiteral {
    if predicate.shape().rank() == 0 && on_true.shape().rank() != 0 {
        return if predicate.bytes()[0] != 0 { on_true } else { on_false };
    }
    let choices = predicate.bytes().iter().zip(on_false.values::<T>());
    for (out, (&predicate, &otherwise)) in on_true.values_mut::<T>().iter_mut().zip(choices) {
        if predicate == 0 {
            *out = otherwise;
        }
    }
    on_true
}

/// min(max(x, low), high), each bound an array or a scalar.
pub(super) fn clamp<T: NativeType>(
    low: &ArrayLiteral,
    mut operand: ArrayLiteral,
    high: &ArrayLiteral,
    clamped: impl Fn(T, T, T) -> T,
) -> Result<ArrayLiteral> {
    // A scalar's only value is repeated; an array's values end when the operand's do.
    let (low, high) = (low.values::<T>().iter().cycle(), high.values::<T>().iter().cycle());
    for (x, (&low, &high)) in operand.values_mut::<T>().iter_mut().zip(low.zip(high)) {
        *x = clamped(low, *x, high);
    }
    Ok(operand)
}
