//! Householder's reflections `1 - tau v vᴴ`, with LAPACK's signs: the first element of `v` is one, and what
//! a column becomes is a real number of the sign opposite to that of its first element's real part.

use super::number::{Number, Real};
use crate::gemm::Compute;

/// The reflection whose adjoint takes a column to a multiple of the first unit vector: the multiple, and
/// `tau`. What follows the first element becomes the rest of `v`.
#[inline(always)]
pub(super) fn reflection<T: Number>(first: T, rest: &mut [T]) -> (T::Part, T) {
    let zero = T::Part::ZERO;
    let mut length = norm(rest);
    if length == zero && first.imaginary() == zero {
        return (first.real(), T::default());
    }
    let mut first = first;
    let long =
        |first: T, length: T::Part| first.real().hypotenuse(first.imaginary()).hypotenuse(length);
    let mut multiple = long(first, length);
    // Where the reciprocal of so small a number might be out of range, the column is made larger.
    let (mut times, up) = (0, T::Part::ONE / T::Part::SMALL);
    while multiple < T::Part::SMALL && times < 4 {
        rest.iter_mut().for_each(|value| *value = value.scaled(up));
        first = first.scaled(up);
        length = norm(rest);
        multiple = long(first, length);
        times += 1;
    }
    let multiple = -multiple.with_sign_of(first.real());
    let tau = T::of((multiple - first.real()) / multiple, -first.imaginary() / multiple);
    let divisor = T::of(first.real() - multiple, first.imaginary());
    let one = T::of(T::Part::ONE, zero);
    // The square of a complex divisor may be out of range.
    let factor = match T::PARTS {
        1 => one.over(divisor),
        _ => one.over(divisor.scaled(T::Part::ONE / multiple)).scaled(T::Part::ONE / multiple),
    };
    rest.iter_mut().for_each(|value| *value = value.times(factor));
    ((0..times).fold(multiple, |value, _| value * T::Part::SMALL), tau)
}

/// The root of the sum of squared magnitudes.
#[inline(always)]
pub(super) fn norm<T: Number>(values: &[T]) -> T::Part {
    let small = T::Part::SMALL;
    let sum = squares(values, T::Part::ONE);
    if sum > small && sum < T::Part::ONE / small {
        return sum.square_root();
    }
    let largest = largest(values);
    if largest == T::Part::ZERO {
        return largest;
    }
    let factor = reciprocal(largest);
    squares(values, factor).square_root() / factor
}

/// The largest magnitude of a part; not a number if any is not.
#[inline(always)]
#[allow(clippy::eq_op)] // What is not a number is unlike itself.
pub(super) fn largest<T: Number>(values: &[T]) -> T::Part {
    let mut largest = T::Part::ZERO;
    for value in values {
        for part in [value.real().size(), value.imaginary().size()] {
            largest = if part <= largest || !(largest == largest) { largest } else { part };
        }
    }
    largest
}

/// A factor that brings a number near one, though the number's reciprocal may be out of range.
#[inline(always)]
pub(super) fn reciprocal<P: Real>(number: P) -> P {
    let inverse = P::ONE / number;
    if inverse.finite() { inverse } else { P::ONE / P::SMALL / P::SMALL }
}

/// A factor for numbers of which this is the largest, if what is computed of them might get out of range.
#[inline(always)]
pub(super) fn scaling<P: Real>(largest: P) -> Option<P> {
    let fine = largest == P::ZERO || (largest > P::SMALL && largest < P::ONE / P::SMALL);
    if fine { None } else { Some(reciprocal(largest)) }
}

const LANES: usize = 16;

#[inline(always)]
fn squares<T: Number>(values: &[T], factor: T::Part) -> T::Part {
    let mut sums = [T::Part::ZERO; LANES];
    let (pieces, tail) = values.as_chunks::<LANES>();
    let add = |sum: T::Part, value: T| {
        let (re, im) = (value.real() * factor, value.imaginary() * factor);
        let sum = sum.plus_product(re, re);
        if T::PARTS > 1 { sum.plus_product(im, im) } else { sum }
    };
    for (sum, &value) in sums.iter_mut().zip(tail) {
        *sum = add(*sum, value);
    }
    // Copies become registers; places behind references do not.
    for &piece in pieces {
        for lane in 0..LANES {
            sums[lane] = add(sums[lane], piece[lane]);
        }
    }
    if values.len() < 4 {
        return sums[0] + sums[1] + sums[2];
    }
    sum(sums)
}

#[inline(always)]
fn sum<T: Number>(mut sums: [T; LANES]) -> T {
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            sums[lane] = sums[lane].plus(sums[lane + half]);
        }
        half /= 2;
    }
    sums[0]
}

/// The sum of `a conj(b)`.
#[inline(always)]
pub(super) fn inner<T: Number>(a: &[T], b: &[T]) -> T {
    sum_of(a, b, |a, b| (a, b.conjugate()))
}

/// The sum of `a b`.
#[inline(always)]
pub(super) fn transposed_inner<T: Number>(a: &[T], b: &[T]) -> T {
    sum_of(a, b, |a, b| (a, b))
}

#[inline(always)]
fn sum_of<T: Number>(a: &[T], b: &[T], factors: impl Fn(T, T) -> (T, T)) -> T {
    let mut sums = [T::default(); LANES];
    let ((left, left_tail), (right, right_tail)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    for (sum, (&a, &b)) in sums.iter_mut().zip(left_tail.iter().zip(right_tail)) {
        let (a, b) = factors(a, b);
        *sum = a.times(b);
    }
    for (&x, &y) in left.iter().zip(right) {
        for lane in 0..LANES {
            let (a, b) = factors(x[lane], y[lane]);
            sums[lane] = sums[lane].plus_product(a, b);
        }
    }
    sum(sums)
}

/// `row -= factor other`.
#[inline(always)]
pub(super) fn subtract<T: Number>(row: &mut [T], factor: T, other: &[T]) {
    for (value, &other) in row.iter_mut().zip(other) {
        *value = value.minus_product(factor, other);
    }
}

/// `sum += factor row`.
#[inline(always)]
pub(super) fn accumulate<T: Number>(sum: &mut [T], factor: T, row: &[T]) {
    for (sum, &value) in sum.iter_mut().zip(row) {
        *sum = sum.plus_product(factor, value);
    }
}

/// `vᴴ` times rows of a matrix, which `rows` begins with and which are `stride` apart, from a column on.
#[inline(always)]
pub(super) fn project<T: Number>(
    v: &[T],
    rows: &[T],
    stride: usize,
    column: usize,
    into: &mut [T],
) {
    into.fill(T::default());
    let width = into.len();
    let row = |i: usize| &rows[i * stride + column..][..width];
    let mut i = 0;
    // Four at a time, so that sums are read and written less often.
    while i + 4 <= v.len() {
        let (a, b, c, d) = (row(i), row(i + 1), row(i + 2), row(i + 3));
        let factor = |k: usize| v[i + k].conjugate();
        let factors = [factor(0), factor(1), factor(2), factor(3)];
        for (j, sum) in into.iter_mut().enumerate() {
            let first = sum.plus_product(factors[0], a[j]).plus_product(factors[1], b[j]);
            *sum = first.plus_product(factors[2], c[j]).plus_product(factors[3], d[j]);
        }
        i += 4;
    }
    for (i, value) in v.iter().enumerate().skip(i) {
        accumulate(into, value.conjugate(), row(i));
    }
}

/// Takes `tau v w` from rows of a matrix, as in [`project`].
#[inline(always)]
pub(super) fn reflect<T: Number>(
    tau: T,
    v: &[T],
    w: &[T],
    rows: &mut [T],
    stride: usize,
    column: usize,
) {
    for (&v, row) in v.iter().zip(rows.chunks_mut(stride)) {
        subtract(&mut row[column..][..w.len()], tau.times(v), w);
    }
}
