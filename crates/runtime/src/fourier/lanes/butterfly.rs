//! Transforms of a few elements, each a vector of lines, in registers.

use num_complex::Complex;
use rxla_fourier::LARGEST_RADIX;

use super::vector::Vector;

/// An element of as many lines as a vector has lanes.
#[derive(Clone, Copy)]
pub(super) struct Value<V> {
    pub re: V,
    pub im: V,
}

impl<V: Vector> Value<V> {
    #[inline(always)]
    pub(super) fn add(self, other: Self) -> Self {
        Value { re: self.re.add(other.re), im: self.im.add(other.im) }
    }

    #[inline(always)]
    pub(super) fn sub(self, other: Self) -> Self {
        Value { re: self.re.sub(other.re), im: self.im.sub(other.im) }
    }

    /// `self - i other`.
    #[inline(always)]
    fn sub_turned(self, other: Self) -> Self {
        Value { re: self.re.add(other.im), im: self.im.sub(other.re) }
    }

    /// `self + i other`.
    #[inline(always)]
    fn add_turned(self, other: Self) -> Self {
        Value { re: self.re.sub(other.im), im: self.im.add(other.re) }
    }

    /// # Safety
    ///
    /// The processor has the vectors.
    #[inline(always)]
    pub(super) unsafe fn times(self, factor: Complex<V::Part>) -> Self {
        // SAFETY: the caller's promise.
        let (re, im) = unsafe { (V::splat(factor.re), V::splat(factor.im)) };
        Value { re: self.re.mul(re).minus(self.im, im), im: self.im.mul(re).plus(self.re, im) }
    }

    #[inline(always)]
    pub(super) fn scaled(self, factor: V) -> Self {
        Value { re: self.re.mul(factor), im: self.im.mul(factor) }
    }

    #[inline(always)]
    fn plus(self, factor: V, other: Self) -> Self {
        Value { re: self.re.plus(factor, other.re), im: self.im.plus(factor, other.im) }
    }

    #[inline(always)]
    fn minus(self, factor: V, other: Self) -> Self {
        Value { re: self.re.minus(factor, other.re), im: self.im.minus(factor, other.im) }
    }

    #[inline(always)]
    fn times_one_less_i(self) -> Self {
        Value { re: self.re.add(self.im), im: self.im.sub(self.re) }
    }
}

/// A transform of so many elements. Not a closure, since those are compiled for the instructions of every processor
/// where they are not inlined.
pub(super) trait Butterfly<V, const N: usize>: Copy {
    /// # Safety
    ///
    /// The processor has the vectors.
    unsafe fn apply(self, x: [Value<V>; N]) -> [Value<V>; N];
}

#[derive(Clone, Copy)]
pub(super) struct Two;
#[derive(Clone, Copy)]
pub(super) struct Four;
/// With the root of a half.
#[derive(Clone, Copy)]
pub(super) struct Eight<V>(pub V);
/// Cosine and sine of each multiple of a turn divided by the number of elements.
#[derive(Clone, Copy)]
pub(super) struct Odd<'a, T>(pub &'a [Complex<T>]);

impl<V: Vector> Butterfly<V, 2> for Two {
    #[inline(always)]
    unsafe fn apply(self, x: [Value<V>; 2]) -> [Value<V>; 2] {
        two(x)
    }
}

impl<V: Vector> Butterfly<V, 4> for Four {
    #[inline(always)]
    unsafe fn apply(self, x: [Value<V>; 4]) -> [Value<V>; 4] {
        four(x)
    }
}

impl<V: Vector> Butterfly<V, 8> for Eight<V> {
    #[inline(always)]
    unsafe fn apply(self, x: [Value<V>; 8]) -> [Value<V>; 8] {
        eight(x, self.0)
    }
}

/// Pairs that are as far from the first on either side share their products.
impl<V: Vector, const N: usize> Butterfly<V, N> for Odd<'_, V::Part> {
    #[inline(always)]
    unsafe fn apply(self, x: [Value<V>; N]) -> [Value<V>; N] {
        let turns = self.0;
        assert!(turns.len() == N);
        let mut y = x;
        let (mut sums, mut differences) = (x, x);
        for q in 1..=N / 2 {
            sums[q] = x[q].add(x[N - q]);
            differences[q] = x[q].sub(x[N - q]);
            y[0] = y[0].add(sums[q]);
        }
        for p in 1..=N / 2 {
            // SAFETY: the caller's promise.
            let (cosine, sine) = unsafe { (V::splat(turns[p].re), V::splat(turns[p].im)) };
            let (mut along, mut across) = (x[0].plus(cosine, sums[1]), differences[1].scaled(sine));
            for q in 2..=N / 2 {
                let turn = turns[p * q % N];
                // SAFETY: the caller's promise.
                let (cosine, sine) = unsafe { (V::splat(turn.re), V::splat(turn.im)) };
                along = along.plus(cosine, sums[q]);
                across = across.plus(sine, differences[q]);
            }
            y[p] = along.sub_turned(across);
            y[N - p] = along.add_turned(across);
        }
        y
    }
}

#[inline(always)]
fn two<V: Vector>([a, b]: [Value<V>; 2]) -> [Value<V>; 2] {
    [a.add(b), a.sub(b)]
}

#[inline(always)]
fn four<V: Vector>([a, b, c, d]: [Value<V>; 4]) -> [Value<V>; 4] {
    let ([even, even_less], [odd, odd_less]) = (two([a, c]), two([b, d]));
    [even.add(odd), even_less.sub_turned(odd_less), even.sub(odd), even_less.add_turned(odd_less)]
}

#[inline(always)]
fn eight<V: Vector>(x: [Value<V>; 8], half_root: V) -> [Value<V>; 8] {
    let a = four([x[0], x[2], x[4], x[6]]);
    let b = four([x[1], x[3], x[5], x[7]]);
    // The length of these factors is made good when they are added.
    let one = b[1].times_one_less_i();
    let three = Value { re: b[3].im.sub(b[3].re), im: b[3].im.add(b[3].re) };
    // The imaginary part of the latter has the other sign.
    let (re, im) = (a[3].re, a[3].im);
    [
        a[0].add(b[0]),
        a[1].plus(half_root, one),
        a[2].sub_turned(b[2]),
        Value { re: re.plus(half_root, three.re), im: im.minus(half_root, three.im) },
        a[0].sub(b[0]),
        a[1].minus(half_root, one),
        a[2].add_turned(b[2]),
        Value { re: re.minus(half_root, three.re), im: im.plus(half_root, three.im) },
    ]
}

/// As [`Odd`], of any odd number of elements up to the largest radix.
///
/// # Safety
///
/// The processor has the vectors.
#[inline(always)]
pub(super) unsafe fn any_odd<V: Vector>(
    x: &mut [Value<V>; LARGEST_RADIX],
    turns: &[Complex<V::Part>],
) {
    let count = turns.len();
    assert!(count <= LARGEST_RADIX);
    let half = count / 2;
    let first = x[0];
    for q in 1..=half {
        (x[q], x[count - q]) = (x[q].add(x[count - q]), x[q].sub(x[count - q]));
        x[0] = x[0].add(x[q]);
    }
    let mut y = *x;
    for p in 1..=half {
        let mut along = first;
        // SAFETY: the caller's promise.
        let zero = unsafe { V::splat(turns[0].im) };
        let mut across = Value { re: zero, im: zero };
        let mut angle = 0;
        for q in 1..=half {
            angle += p;
            if angle >= count {
                angle -= count;
            }
            let turn = turns[angle];
            // SAFETY: the caller's promise.
            let (cosine, sine) = unsafe { (V::splat(turn.re), V::splat(turn.im)) };
            along = along.plus(cosine, x[q]);
            across = across.plus(sine, x[count - q]);
        }
        y[p] = along.sub_turned(across);
        y[count - p] = along.add_turned(across);
    }
    x[1..count].copy_from_slice(&y[1..count]);
}
