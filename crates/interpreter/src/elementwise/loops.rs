//! The loops around kernels. A kernel works on a slice, so that an op is chosen once per array.

use rxla_base::Result;
use rxla_hlo::ArrayLiteral;
use rxla_hlo::literal::Element;
use rxla_hlo::native::NativeType;

/// Replaces each element.
pub(super) type Unary<T> = fn(&mut [T]);
/// Replaces each element of the first slice by its combination with the second's.
pub(super) type Binary<T> = fn(&mut [T], &[T]);

pub(super) fn map<T: Copy>(values: &mut [T], f: impl Fn(T) -> T) {
    for value in values {
        *value = f(*value);
    }
}

pub(super) fn zip<T: Copy>(lhs: &mut [T], rhs: &[T], f: impl Fn(T, T) -> T) {
    for (a, &b) in lhs.iter_mut().zip(rhs) {
        *a = f(*a, b);
    }
}

/// An array of another element type, made element by element.
pub(super) fn map_to<S: NativeType, T: NativeType>(
    operand: &ArrayLiteral,
    f: impl Fn(S) -> T,
) -> Result<ArrayLiteral> {
    let mut result = ArrayLiteral::zeros(&operand.shape().with_element_type(T::TYPE))?;
    for (out, &value) in result.values_mut::<T>().iter_mut().zip(operand.values::<S>()) {
        *out = f(value);
    }
    Ok(result)
}

/// An array of another element type from two, element by element.
pub(super) fn zip_to<S: NativeType, T: NativeType>(
    lhs: &ArrayLiteral,
    rhs: &ArrayLiteral,
    f: impl Fn(S, S) -> T,
) -> Result<ArrayLiteral> {
    let mut result = ArrayLiteral::zeros(&lhs.shape().with_element_type(T::TYPE))?;
    let pairs = lhs.values::<S>().iter().zip(rhs.values::<S>());
    for (out, (&a, &b)) in result.values_mut::<T>().iter_mut().zip(pairs) {
        *out = f(a, b);
    }
    Ok(result)
}

/// Floats narrower than `f32` pass through `f64`, so many at a time, and are rounded once per op.
/// For arithmetic that is exact, because `f64` has more than twice their digits.
const CHUNK: usize = 256;

pub(super) fn map_narrow<T: Element<Wide = f64>>(values: &mut [T], kernel: Unary<f64>) {
    let mut buffer = [0.0; CHUNK];
    for values in values.chunks_mut(CHUNK) {
        let buffer = &mut buffer[..values.len()];
        widen(values, buffer);
        kernel(buffer);
        narrow(buffer, values);
    }
}

pub(super) fn zip_narrow<T: Element<Wide = f64>>(lhs: &mut [T], rhs: &[T], kernel: Binary<f64>) {
    let (mut left, mut right) = ([0.0; CHUNK], [0.0; CHUNK]);
    for (lhs, rhs) in lhs.chunks_mut(CHUNK).zip(rhs.chunks(CHUNK)) {
        let (left, right) = (&mut left[..lhs.len()], &mut right[..rhs.len()]);
        widen(lhs, left);
        widen(rhs, right);
        kernel(left, right);
        narrow(left, lhs);
    }
}

fn widen<T: Element<Wide = f64>>(values: &[T], out: &mut [f64]) {
    for (out, value) in out.iter_mut().zip(values) {
        *out = value.widen();
    }
}

fn narrow<T: Element<Wide = f64>>(values: &[f64], out: &mut [T]) {
    for (out, &value) in out.iter_mut().zip(values) {
        *out = T::from_f64(value);
    }
}
