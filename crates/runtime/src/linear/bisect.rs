//! Singular values of two diagonals without vectors, by halving the intervals that they are known to be in. Many are
//! found side by side, and each to its last digits: how many are below a number is told by a factorisation that
//! adds nothing to the elements but the number's square.

use super::number::Real;
use crate::context::Context;
use crate::gemm::Address;
use crate::gemm::sets::for_each_set;
use crate::own::Own;

/// Values that are found side by side.
const LANES: usize = 64;

/// From how many values on this is the faster way.
pub(super) const MANY: usize = 24;

/// Puts the singular values, in ascending order, in the place of the diagonal. `beside` is what is right of it.
pub(super) fn singular_values<P: Real>(context: &Context, diagonal: &mut [P], beside: &[P]) {
    let size = diagonal.len();
    let beside = &beside[..size - 1];
    let mut bound = P::ZERO;
    for i in 0..size {
        let mut sides = [P::ZERO; 2];
        if i > 0 {
            sides[0] = beside[i - 1].size();
        }
        if i + 1 < size {
            sides[1] = beside[i].size();
        }
        for side in sides {
            let sum = diagonal[i].size() + side;
            bound = if sum > bound { sum } else { bound };
        }
    }
    if bound == P::ZERO {
        return diagonal.fill(P::ZERO);
    }
    // Squares must not get out of range, nor what is divided by the least of them.
    let root = P::EPSILON.square_root();
    let fine = bound > root && bound < P::ONE / root;
    let scale = if fine { P::ONE } else { P::ONE / bound };
    // A little more, since the sums are rounded.
    let bound = bound * scale * (P::ONE + P::EPSILON + P::EPSILON);
    let square = |value: P| (value * scale) * (value * scale);
    let mut squares = Own::filled((P::ZERO, P::ZERO), size);
    for (i, place) in squares.iter_mut().enumerate() {
        *place = (square(diagonal[i]), beside.get(i).map_or(P::ZERO, |&value| square(value)));
    }
    let values = Address(diagonal.as_mut_ptr());
    let grain = 1 + (1 << 10) / size;
    context.parallel_for(size.div_ceil(LANES), grain, |begin, end| {
        for first in (begin..end).map(|group| group * LANES) {
            // SAFETY: it asks for nothing but instructions, which it sees to; groups do not overlap.
            unsafe {
                let found = halve(&squares, bound, first);
                for (lane, &value) in found.iter().enumerate().take(size - first) {
                    values.get().add(first + lane).write(value / scale);
                }
            }
        }
    });
}

for_each_set! {
    /// The values from the first of some on, by the squares of the diagonal and of what is right of it.
    ///
    /// # Safety
    ///
    /// None but that of the instruction set, which is seen to.
    unsafe fn halve[P: Real] = halve_body(squares: &[(P, P)], bound: P, first: usize) -> [P; LANES]
}

/// # Safety
///
/// See `halve`.
#[inline(always)]
unsafe fn halve_body<P: Real>(squares: &[(P, P)], bound: P, first: usize) -> [P; LANES] {
    // More than there are numbers between the bound and the least that is told from zero.
    const STEPS: usize = 200;
    let half = P::ONE / (P::ONE + P::ONE);
    let tiny = bound * bound * (P::SMALL * P::SMALL);
    let nothing = bound * P::SMALL;
    let (mut low, mut high, mut middle) = ([P::ZERO; LANES], [bound; LANES], [P::ZERO; LANES]);
    for _ in 0..STEPS {
        let mut open = false;
        for lane in 0..LANES {
            let wide = high[lane] - low[lane] > P::EPSILON * high[lane] && high[lane] > nothing;
            open |= wide;
            middle[lane] = low[lane] + (high[lane] - low[lane]) * half;
        }
        if !open {
            break;
        }
        let below = count(squares, middle, tiny);
        for lane in 0..LANES {
            // Lanes past the last value look for that.
            let index = (first + lane).min(squares.len() - 1);
            let above = below[lane] as usize > index;
            high[lane] = if above { middle[lane] } else { high[lane] };
            low[lane] = if above { low[lane] } else { middle[lane] };
        }
    }
    middle
}

/// How many singular values are below each of some numbers.
#[inline(always)]
fn count<P: Real>(squares: &[(P, P)], numbers: [P; LANES], tiny: P) -> [u32; LANES] {
    let (mut moved, mut shift) = ([P::ZERO; LANES], [P::ZERO; LANES]);
    let mut below = [0; LANES];
    for lane in 0..LANES {
        shift[lane] = numbers[lane] * numbers[lane];
        moved[lane] = -shift[lane];
    }
    for &(diagonal, beside) in squares {
        // Copies become registers; places behind references do not.
        let (mut next, mut counts) = (moved, below);
        for lane in 0..LANES {
            let pivot = diagonal + next[lane];
            let pivot = if pivot.size() < tiny { -tiny } else { pivot };
            counts[lane] += u32::from(pivot < P::ZERO);
            next[lane] = (next[lane] / pivot) * beside - shift[lane];
        }
        (moved, below) = (next, counts);
    }
    below
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::Pool;

    /// Of a matrix of ones on two diagonals the values are known.
    #[test]
    fn values_are_exact_and_do_not_depend_on_threads() {
        for size in [1, 2, 24, 65, 300] {
            for factor in [1.0, 1e-150, 1e150] {
                let find = |threads| {
                    let mut values = vec![factor; size];
                    let beside = vec![-factor; size];
                    let context = Context::new(Some(Pool::with_threads(threads)));
                    singular_values(&context, &mut values, &beside);
                    values
                };
                let values = find(1);
                assert_eq!(values, find(3));
                for (k, value) in values.iter().enumerate() {
                    let angle = (2 * k + 1) as f64 / (4 * size + 2) as f64;
                    let wanted = 2.0 * (std::f64::consts::PI * angle).sin() * factor;
                    assert!((value - wanted).abs() <= 4e-15 * wanted, "{size} {k}");
                }
            }
        }
    }

    #[test]
    fn small_values_keep_their_digits() {
        // The determinant is the product of the diagonal, and all values but the least are near its elements.
        let mut values: Vec<f32> = (0..30).map(|i| 4.0_f32.powi(-i / 2)).collect();
        let exact: f64 = values.iter().map(|&value| f64::from(value).ln()).sum();
        let beside: Vec<f32> = values.iter().map(|value| value * 0.5).collect();
        singular_values(&Context::default(), &mut values, &beside);
        let found: f64 = values.iter().map(|&value| f64::from(value).ln()).sum();
        assert!((found - exact).abs() < 1e-5, "{found} {exact}");
        let mut zeros = [0.0_f32; 30];
        singular_values(&Context::default(), &mut zeros, &[0.0; 30]);
        assert_eq!(zeros, [0.0; 30]);
        // A zero on the diagonal makes one of the values zero.
        let mut values = vec![1.0_f32; 40];
        values[17] = 0.0;
        singular_values(&Context::default(), &mut values, &[1.0; 40]);
        assert!(values[0] < 1e-12 && values[1] > 1e-2);
    }
}
