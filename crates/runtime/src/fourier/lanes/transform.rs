//! Steps of transforms of lines side by side, and what goes before and after them, for any vectors.

use num_complex::Complex;
use rxla_fourier::{FftDirection, LARGEST_RADIX, Real, Step, Steps};

use super::butterfly::{Butterfly, Eight, Four, Odd, Two, Value, any_odd};
use super::vector::Vector;

/// Bytes of a part of the lines whose steps are done one after the other, rather than part by part.
const NEAR: usize = 16 << 10;

/// # Safety
///
/// `LANES` complex numbers are at `from`, and room for them at `into`.
#[inline(always)]
pub(super) unsafe fn split<T: Copy + Default, const LANES: usize>(from: *const T, into: *mut T) {
    // SAFETY: the caller's promise.
    unsafe {
        let pairs: [[T; 2]; LANES] = from.cast::<[[T; 2]; LANES]>().read_unaligned();
        let (mut re, mut im) = ([T::default(); LANES], [T::default(); LANES]);
        for lane in 0..LANES {
            (re[lane], im[lane]) = (pairs[lane][0], pairs[lane][1]);
        }
        into.cast::<[T; LANES]>().write_unaligned(re);
        into.add(LANES).cast::<[T; LANES]>().write_unaligned(im);
    }
}

/// # Safety
///
/// As for [`split`].
#[inline(always)]
pub(super) unsafe fn join<T: Copy + Default, const LANES: usize>(from: *const T, into: *mut T) {
    // SAFETY: the caller's promise.
    unsafe {
        let re: [T; LANES] = from.cast::<[T; LANES]>().read_unaligned();
        let im: [T; LANES] = from.add(LANES).cast::<[T; LANES]>().read_unaligned();
        let mut pairs = [[T::default(); 2]; LANES];
        for lane in 0..LANES {
            pairs[lane] = [re[lane], im[lane]];
        }
        into.cast::<[[T; 2]; LANES]>().write_unaligned(pairs);
    }
}

/// Elements in memory; which of their two vectors is taken for the real one is said here, since a transform back
/// is one forward of numbers whose parts are exchanged.
#[derive(Clone, Copy)]
struct Place<T> {
    re: *mut T,
    im: *mut T,
}

impl<T: Copy> Place<T> {
    #[inline(always)]
    fn at<V: Vector<Part = T>>(self, element: usize) -> Place<T> {
        let offset = 2 * V::LANES * element;
        Place { re: self.re.wrapping_add(offset), im: self.im.wrapping_add(offset) }
    }

    /// # Safety
    ///
    /// The element is there, and the processor has the vectors; so for what follows.
    #[inline(always)]
    unsafe fn load<V: Vector<Part = T>>(self) -> Value<V> {
        // SAFETY: the caller's promise.
        unsafe { Value { re: V::load(self.re), im: V::load(self.im) } }
    }

    /// # Safety
    ///
    /// See [`Place::load`].
    #[inline(always)]
    unsafe fn store<V: Vector<Part = T>>(self, value: Value<V>) {
        // SAFETY: the caller's promise.
        unsafe {
            value.re.store(self.re);
            value.im.store(self.im);
        }
    }
}

/// # Safety
///
/// As many elements as the steps say are at `data`, which nobody else uses, and the processor has the vectors.
#[inline(always)]
pub(super) unsafe fn transform<V: Vector<Part: Real>>(
    steps: &Steps<V::Part>,
    data: *mut V::Part,
    direction: FftDirection,
    scale: Option<V::Part>,
) {
    let other = data.wrapping_add(V::LANES);
    let place = match direction {
        FftDirection::Forward => Place { re: data, im: other },
        FftDirection::Inverse => Place { re: other, im: data },
    };
    // First come steps that are done part by part, each when its part begins. Once parts are small, the steps that
    // are left are done one after the other in each.
    let bytes = |elements: usize| 2 * V::LANES * size_of::<V::Part>() * elements;
    let whole = |step: &Step<V::Part>| step.part * step.radix;
    let near = steps.steps.iter().find(|step| bytes(whole(step)) <= NEAR).map_or(1, whole);
    for first in (0..steps.length).step_by(near) {
        for step in &steps.steps {
            let blocks = match near / whole(step) {
                0 if first.is_multiple_of(whole(step)) => 1,
                blocks => blocks,
            };
            // SAFETY: the caller's promise.
            unsafe { butterflies::<V>(step, place.at::<V>(first), blocks, scale) };
        }
    }
}

/// Does a step of so many blocks one after the other; what there is to scale is scaled by the last step.
///
/// # Safety
///
/// The elements are there, nobody else uses them, and the processor has the vectors.
#[inline(always)]
unsafe fn butterflies<V: Vector<Part: Real>>(
    step: &Step<V::Part>,
    place: Place<V::Part>,
    blocks: usize,
    scale: Option<V::Part>,
) {
    // SAFETY: the caller's promise.
    unsafe {
        match step.radix {
            2 => each::<V, 2>(step, place, blocks, scale, Two),
            3 => each::<V, 3>(step, place, blocks, scale, Odd(&step.turns)),
            4 => each::<V, 4>(step, place, blocks, scale, Four),
            5 => each::<V, 5>(step, place, blocks, scale, Odd(&step.turns)),
            7 => each::<V, 7>(step, place, blocks, scale, Odd(&step.turns)),
            8 => {
                let half_root = V::splat(V::Part::rounded(std::f64::consts::FRAC_1_SQRT_2));
                each::<V, 8>(step, place, blocks, scale, Eight(half_root));
            }
            _ => each_odd::<V>(step, place, blocks, scale),
        }
    }
}

/// # Safety
///
/// See [`butterflies`].
#[inline(always)]
unsafe fn each<V: Vector<Part: Real>, const R: usize>(
    step: &Step<V::Part>,
    place: Place<V::Part>,
    blocks: usize,
    scale: Option<V::Part>,
    butterfly: impl Butterfly<V, R>,
) {
    let part = step.part;
    // SAFETY: the caller's promise.
    unsafe {
        if part == 1 {
            let factor = V::splat(scale.unwrap_or(V::Part::one_over(1)));
            for block in 0..blocks {
                let first = place.at::<V>(block * R);
                let y = butterfly.apply(load::<V, R>(first, part));
                for (p, &value) in y.iter().enumerate() {
                    first.at::<V>(p).store(value.scaled(factor));
                }
            }
            return;
        }
        for block in 0..blocks {
            let mut twiddles = step.twiddles.chunks_exact(R - 1);
            for j in 0..part {
                let first = place.at::<V>(block * R * part + j);
                let y = butterfly.apply(load::<V, R>(first, part));
                let factors = twiddles.next().unwrap_unchecked();
                first.store(y[0]);
                for p in 1..R {
                    first.at::<V>(p * part).store(y[p].times(factors[p - 1]));
                }
            }
        }
    }
}

/// # Safety
///
/// See [`butterflies`].
#[inline(always)]
unsafe fn load<V: Vector, const R: usize>(first: Place<V::Part>, part: usize) -> [Value<V>; R] {
    // SAFETY: the caller's promise.
    unsafe {
        let mut x = [first.load(); R];
        for q in 1..R {
            x[q] = first.at::<V>(q * part).load();
        }
        x
    }
}

/// As [`each`], with a radix that is known only here.
///
/// # Safety
///
/// See [`butterflies`].
#[inline(always)]
unsafe fn each_odd<V: Vector<Part: Real>>(
    step: &Step<V::Part>,
    place: Place<V::Part>,
    blocks: usize,
    scale: Option<V::Part>,
) {
    let (part, radix) = (step.part, step.radix);
    let one = V::Part::one_over(1);
    // SAFETY: the caller's promise.
    unsafe {
        let zero = V::splat(V::Part::default());
        let factor = V::splat(scale.unwrap_or(one));
        let mut x = [Value { re: zero, im: zero }; LARGEST_RADIX];
        for block in 0..blocks {
            for j in 0..part {
                let first = place.at::<V>(block * radix * part + j);
                for (q, value) in x[..radix].iter_mut().enumerate() {
                    *value = first.at::<V>(q * part).load();
                }
                any_odd(&mut x, &step.turns);
                for (p, &value) in x[..radix].iter().enumerate() {
                    let value = match (part, p) {
                        (1, _) => value.scaled(factor),
                        (_, 0) => value,
                        _ => value.times(step.twiddles[j * (radix - 1) + p - 1]),
                    };
                    first.at::<V>(p * part).store(value);
                }
            }
        }
    }
}

/// # Safety
///
/// One element more than the steps say is at `data`; else as for [`transform`].
#[inline(always)]
pub(super) unsafe fn take_apart<V: Vector<Part: Real>>(
    steps: &Steps<V::Part>,
    factors: &[Complex<V::Part>],
    data: *mut V::Part,
) {
    let (half, place) = (steps.length, Place { re: data, im: data.wrapping_add(V::LANES) });
    // SAFETY: the caller's promise.
    unsafe {
        let (zero, one_half) = (V::splat(V::Part::default()), V::splat(V::Part::one_over(2)));
        let first: Value<V> = place.load();
        place.store(Value { re: first.re.add(first.im), im: zero });
        place.at::<V>(half).store(Value { re: first.re.sub(first.im), im: zero });
        for k in 1..=half / 2 {
            let here = place.at::<V>(steps.places[k] as usize);
            let there = place.at::<V>(steps.places[half - k] as usize);
            let (a, b): (Value<V>, Value<V>) = (here.load(), there.load());
            let (sum, difference) = (a.add(b), a.sub(b));
            let (re, im) = (V::splat(factors[k].re), V::splat(factors[k].im));
            let along = re.mul(difference.re).minus(im, sum.im);
            let across = re.mul(sum.im).plus(im, difference.re);
            let re = sum.re.mul(one_half);
            let im = difference.im.mul(one_half);
            there.store(Value { re: re.sub(along), im: across.sub(im) });
            here.store(Value { re: re.add(along), im: across.add(im) });
        }
    }
}

/// # Safety
///
/// As many elements as there are factors are at `data`; else as for [`transform`].
#[inline(always)]
pub(super) unsafe fn put_together<V: Vector<Part: Real>>(
    factors: &[Complex<V::Part>],
    data: *mut V::Part,
) {
    let (half, place) = (factors.len() - 1, Place { re: data, im: data.wrapping_add(V::LANES) });
    // SAFETY: the caller's promise.
    unsafe {
        let two = V::splat(V::Part::rounded(2.0));
        // The imaginary parts of the first and the last would make the result complex; they do not count.
        let (first, last) = (place.load::<V>().re, place.at::<V>(half).load::<V>().re);
        place.store(Value { re: first.add(last), im: first.sub(last) });
        for k in 1..=half / 2 {
            let (here, there) = (place.at::<V>(k), place.at::<V>(half - k));
            let (a, b): (Value<V>, Value<V>) = (here.load(), there.load());
            let (sum, difference) = (a.add(b), a.sub(b));
            let (re, im) = (V::splat(factors[k].re), V::splat(factors[k].im));
            let along = re.mul(difference.re).plus(im, sum.im);
            let across = re.mul(sum.im).minus(im, difference.re);
            there.store(Value {
                re: sum.re.minus(two, along),
                im: across.mul(two).sub(difference.im),
            });
            here.store(Value {
                re: sum.re.plus(two, along),
                im: across.mul(two).add(difference.im),
            });
        }
    }
}
