//! Eigenvalues and eigenvectors of a diagonal matrix to which a column times itself is added: each value is the zero of
//! a sum of poles between two of them.

use super::number::Real;
use super::reflect::norm;
use crate::gemm::sets::for_each_set;

/// `diag(poles) + z zᵀ`: poles in ascending order, and well apart from each other; no weight is zero.
pub(super) struct Secular<P> {
    pub poles: Vec<P>,
    /// The squares of `z`.
    pub weights: Vec<P>,
}

for_each_set! {
    /// See [`root`].
    ///
    /// # Safety
    ///
    /// None but that of the instruction set, which is seen to.
    unsafe fn root_set[P: Real] =
        root_body(secular: &Secular<P>, index: usize, distances: &mut [P]) -> P
}

/// Finds a value; `distances` become those from it to all poles, each with all its digits.
pub(super) fn root<P: Real>(secular: &Secular<P>, index: usize, distances: &mut [P]) -> P {
    // SAFETY: it asks for nothing but instructions, which it sees to.
    unsafe { root_set(secular, index, distances) }
}

/// The magnitudes of `z` for which the values found are exact, by the distances of poles from all of them: from
/// those, vectors are at right angles whatever the errors of the values.
pub(super) fn exact_weights<P: Real>(poles: &[P], distances: &[P]) -> Vec<P> {
    // SAFETY: as above.
    unsafe { exact_weights_set(poles, distances) }
}

/// An eigenvector of length one, by the distances of poles from its value.
pub(super) fn vector<P: Real>(z: &[P], distances: &[P], into: &mut [P]) {
    // SAFETY: as above.
    unsafe { vector_set(z, distances, into) };
}

/// What one side of a value has: the sum of poles, and its slope.
#[derive(Clone, Copy)]
struct Side<P> {
    sum: P,
    slope: P,
}

const LANES: usize = 32;

/// The poles of one side, seen from `shift` beyond `origin`.
#[inline(always)]
fn side<P: Real>(poles: &[P], weights: &[P], origin: P, shift: P) -> Side<P> {
    let (mut sums, mut slopes) = ([P::ZERO; LANES], [P::ZERO; LANES]);
    let ((poles, pole_tail), (weights, weight_tail)) =
        (poles.as_chunks::<LANES>(), weights.as_chunks::<LANES>());
    for (&poles, &weights) in poles.iter().zip(weights) {
        for lane in 0..LANES {
            let inverse = P::ONE / ((poles[lane] - origin) - shift);
            let term = weights[lane] * inverse;
            sums[lane] = sums[lane] + term;
            slopes[lane] = slopes[lane].plus_product(term, inverse);
        }
    }
    for (lane, (&pole, &weight)) in pole_tail.iter().zip(weight_tail).enumerate() {
        let inverse = P::ONE / ((pole - origin) - shift);
        let term = weight * inverse;
        sums[lane] = sums[lane] + term;
        slopes[lane] = slopes[lane].plus_product(term, inverse);
    }
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            sums[lane] = sums[lane] + sums[lane + width];
            slopes[lane] = slopes[lane] + slopes[lane + width];
        }
        width /= 2;
    }
    Side { sum: sums[0], slope: slopes[0] }
}

/// # Safety
///
/// See `root_set`.
#[inline(always)]
unsafe fn root_body<P: Real>(secular: &Secular<P>, index: usize, distances: &mut [P]) -> P {
    /// Halving alone would do with fewer.
    const STEPS: usize = 200;
    let Secular { poles, weights } = secular;
    let count = poles.len();
    let half = P::ONE / (P::ONE + P::ONE);
    let two = P::ONE + P::ONE;
    let last = index + 1 == count;
    // The poles that the sum is thought to consist of, as far as it varies.
    let [left, right] = if last { [count.max(2) - 2, count - 1] } else { [index, index + 1] };
    let reach = match last {
        true => weights.iter().fold(P::ZERO, |sum, &weight| sum + weight),
        false => poles[index + 1] - poles[index],
    };
    let mut origin = poles[index];
    let mut shift = reach * half;
    let (mut low, mut high) = (P::ZERO, reach);
    if count == 1 {
        distances[0] = -weights[0];
        return poles[0] + weights[0];
    }
    if last {
        // The bound itself may be the value, but for rounding.
        high = high + high * P::EPSILON * (two + two);
    }
    // Where the poles of both sides part.
    let split = if last { count - 1 } else { index + 1 };
    for step in 0..STEPS {
        let below = side(&poles[..split], &weights[..split], origin, shift);
        let above = side(&poles[split..], &weights[split..], origin, shift);
        let sum = P::ONE + below.sum + above.sum;
        if step == 0 && !last && sum < P::ZERO {
            // Nearer to the other pole.
            origin = poles[index + 1];
            (low, high, shift) = (-shift, P::ZERO, -shift);
        } else if step == 0 && !last {
            high = shift;
        } else if sum < P::ZERO {
            low = shift;
        } else {
            high = shift;
        }
        let size = P::ONE + below.sum.size() + above.sum.size();
        if sum.size() <= P::EPSILON * size {
            break;
        }
        let far = if low.size() > high.size() { low.size() } else { high.size() };
        if high - low <= P::EPSILON * far {
            break;
        }
        let (a, b) = ((poles[left] - origin) - shift, (poles[right] - origin) - shift);
        let c = sum - a * below.slope - b * above.slope;
        let linear = (a + b) * sum - a * b * (below.slope + above.slope);
        let constant = a * b * sum;
        let square = linear * linear - two * two * constant * c;
        let square = if square > P::ZERO { square.square_root() } else { P::ZERO };
        let move_by = match (last, linear > P::ZERO) {
            (false, false) => (linear - square) / (two * c),
            (false, true) => two * constant / (linear + square),
            (true, true) => (linear + square) / (two * c),
            (true, false) => two * constant / (linear - square),
        };
        let next = shift + move_by;
        // What is not a number is not inside, either.
        let inside = next > low && next < high;
        let next = if inside && step % 8 != 7 { next } else { low + (high - low) * half };
        if next == shift || next == low || next == high {
            break;
        }
        shift = next;
    }
    for (distance, &pole) in distances.iter_mut().zip(poles) {
        *distance = (pole - origin) - shift;
    }
    origin + shift
}

for_each_set! {
    /// See [`exact_weights`].
    ///
    /// # Safety
    ///
    /// None but that of the instruction set, which is seen to.
    unsafe fn exact_weights_set[P: Real] =
        exact_weights_body(poles: &[P], distances: &[P]) -> Vec<P>
}

/// # Safety
///
/// See `exact_weights_set`.
#[inline(always)]
unsafe fn exact_weights_body<P: Real>(poles: &[P], distances: &[P]) -> Vec<P> {
    let count = poles.len();
    let mut products = vec![P::ONE; count];
    for (j, (row, &pole)) in distances.chunks(count).zip(poles).enumerate() {
        let (before, after) = products.split_at_mut(j);
        for ((product, &distance), &other) in before.iter_mut().zip(row).zip(poles) {
            *product = *product * (distance / (other - pole));
        }
        after[0] = after[0] * row[j];
        let rest = row[j + 1..].iter().zip(&poles[j + 1..]);
        for (product, (&distance, &other)) in after[1..].iter_mut().zip(rest) {
            *product = *product * (distance / (other - pole));
        }
    }
    products.iter().map(|product| product.size().square_root()).collect()
}

for_each_set! {
    /// See [`vector`].
    ///
    /// # Safety
    ///
    /// None but that of the instruction set, which is seen to.
    unsafe fn vector_set[P: Real] = vector_body(z: &[P], distances: &[P], into: &mut [P]) -> ()
}

/// # Safety
///
/// See `vector_set`.
#[inline(always)]
unsafe fn vector_body<P: Real>(z: &[P], distances: &[P], into: &mut [P]) {
    for ((value, &z), &distance) in into.iter_mut().zip(z).zip(distances) {
        *value = z / distance;
    }
    let factor = P::ONE / norm(into);
    into.iter_mut().for_each(|value| *value = *value * factor);
}
