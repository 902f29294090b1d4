//! How a transform is done in several lines at once, one in each lane of vectors: in place, by steps of a few
//! elements each, after which the elements lie in another order.

use num_complex::Complex;

use crate::Real;

/// A transform `exp(-2πi jk/n)` as steps. The first makes of a line as many parts, one after the other, as it has
/// elements to a butterfly; each part is then transformed by the steps that follow.
pub struct Steps<T> {
    pub length: usize,
    pub steps: Vec<Step<T>>,
    /// Where each element of the result lies after the last step.
    pub places: Vec<u32>,
}

/// Butterflies between as many parts of a line.
pub struct Step<T> {
    pub radix: usize,
    /// Elements of each part.
    pub part: usize,
    /// What the outputs of a butterfly but the first are multiplied with, for each element of a part. None after
    /// the last step, where all would be one.
    pub twiddles: Vec<Complex<T>>,
    /// For radices that are odd: cosine and sine of each multiple of a turn divided by the radix.
    pub turns: Vec<Complex<T>>,
}

/// The largest radix. Larger prime factors cost more by butterflies than by other ways.
pub const LARGEST_RADIX: usize = 47;

impl<T: Real> Steps<T> {
    /// The steps, if the length has small factors only.
    pub(crate) fn new(length: usize) -> Option<Steps<T>> {
        let mut rest = length;
        let mut part = length;
        let mut steps = Vec::new();
        for radix in radices(length)? {
            part /= radix;
            let twiddles = match part {
                1 => Vec::new(),
                _ => (0..part)
                    .flat_map(|j| (1..radix).map(move |p| (j, p)))
                    .map(|(j, p)| root(j * p, rest))
                    .collect(),
            };
            let turns = match radix % 2 {
                1 => (0..radix).map(|k| root::<T>(k, radix).conj()).collect(),
                _ => Vec::new(),
            };
            steps.push(Step { radix, part, twiddles, turns });
            rest = part;
        }
        let place = |mut k: usize| {
            let mut place = 0;
            for step in &steps {
                place += k % step.radix * step.part;
                k /= step.radix;
            }
            place as u32
        };
        let places = (0..length).map(place).collect();
        Some(Steps { length, steps, places })
    }
}

/// `exp(-2πi k/n)`.
fn root<T: Real>(k: usize, n: usize) -> Complex<T> {
    // From the nearest quarter of a turn on, since small angles give the most exact sines and cosines.
    let k = k % n;
    let quarter = (8 * k / n).div_ceil(2);
    let angle = std::f64::consts::FRAC_PI_2 * (4.0 * k as f64 - (quarter * n) as f64) / n as f64;
    let (sin, cos) = angle.sin_cos();
    let (re, im) = match quarter % 4 {
        0 => (cos, -sin),
        1 => (-sin, -cos),
        2 => (-cos, sin),
        _ => (sin, cos),
    };
    Complex::new(T::rounded(re), T::rounded(im))
}

/// The factors of a length, larger ones first so that parts soon fit into the first cache.
fn radices(length: usize) -> Option<Vec<usize>> {
    if length < 2 {
        return None;
    }
    let mut rest = length;
    let mut radices = Vec::new();
    for prime in (3..=LARGEST_RADIX).step_by(2) {
        while rest.is_multiple_of(prime) {
            radices.push(prime);
            rest /= prime;
        }
    }
    if !rest.is_power_of_two() {
        return None;
    }
    // Eights, and fours in place of a two or of an eight and a two.
    let twos = rest.trailing_zeros() as usize;
    let (eights, fours, two) = match twos % 3 {
        0 => (twos / 3, 0, 0),
        1 if twos > 1 => (twos / 3 - 1, 2, 0),
        1 => (0, 0, 1),
        _ => (twos / 3, 1, 0),
    };
    radices.extend(std::iter::repeat_n(8, eights));
    radices.extend(std::iter::repeat_n(4, fours));
    radices.extend(std::iter::repeat_n(2, two));
    radices.sort_unstable_by(|a, b| b.cmp(a));
    Some(radices)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_multiply_to_the_length_and_places_are_an_order() {
        for length in 2..300 {
            let Some(steps) = Steps::<f64>::new(length) else {
                assert!((LARGEST_RADIX + 1..=length).any(|p| length % p == 0), "{length}");
                continue;
            };
            assert_eq!(steps.steps.iter().map(|step| step.radix).product::<usize>(), length);
            let mut places = steps.places.clone();
            places.sort_unstable();
            assert!(places.iter().enumerate().all(|(i, &place)| i == place as usize));
        }
        assert_eq!(radices(1024), Some(vec![8, 8, 4, 4]));
        assert_eq!(radices(500), Some(vec![5, 5, 5, 4]));
        assert_eq!(radices(53), None);
    }

    #[test]
    fn roots_of_one_are_exact_at_quarters_and_near_elsewhere() {
        for n in [1, 2, 3, 4, 7, 8, 12, 1000, 1024] {
            for k in 0..2 * n {
                let angle = -std::f64::consts::TAU * (k % n) as f64 / n as f64;
                let near = Complex::new(angle.cos(), angle.sin());
                assert!((root::<f64>(k, n) - near).norm() < 2e-15, "{k} {n}");
            }
        }
        assert_eq!(root::<f64>(1, 4), Complex::new(0.0, -1.0));
        assert_eq!(root::<f64>(2, 4), Complex::new(-1.0, 0.0));
    }
}
