//! Schur's form of real Hessenberg matrices, by Francis' implicit steps with two shifts at once: an upper triangle, but
//! that a pair of complex eigenvalues is a block of two rows whose diagonal is one number, and whose other two have
//! unlike signs.
//!
//! Shifts, and the use of two small numbers in a row, are those of Golub and Van Loan, "Matrix Computations", 7.5.

use std::ops::Range;

use super::eigen::half;
use super::number::Real;
use super::steps::{EXCEPTIONAL, STEPS, block, in_order, reflect_columns};

/// A matrix on its way, of which all that is wanted is changed.
struct State<'a, P> {
    matrix: &'a mut [P],
    size: usize,
    /// The product of all that was done, if it is wanted.
    basis: Option<&'a mut [P]>,
    /// Whether the whole triangle is wanted, or only what is on the diagonal.
    whole: bool,
}

/// Brings the active rows of a Hessenberg matrix to Schur's form; the basis is multiplied with what that takes. Says
/// whether it could. If not the `whole` is wanted, only the blocks on the diagonal are right.
#[inline(always)]
pub(super) fn triangularise<P: Real>(
    matrix: &mut [P],
    size: usize,
    active: Range<usize>,
    basis: Option<&mut [P]>,
    whole: bool,
) -> bool {
    let mut state = State { matrix, size, basis, whole };
    let mut end = active.end;
    let mut steps = 0;
    while end > active.start {
        let begin = block(state.matrix, size, active.start, end);
        if begin > active.start {
            state.set(begin, begin - 1, P::ZERO);
        }
        match end - begin {
            1 => {
                end = begin;
                steps = 0;
            }
            2 => {
                state.split_pair(begin);
                end = begin;
                steps = 0;
            }
            _ if steps == STEPS => return false,
            _ => {
                steps += 1;
                let shifts = match steps % (2 * EXCEPTIONAL) {
                    EXCEPTIONAL => state.exceptional(begin, begin + 1),
                    0 => state.exceptional(end - 1, end - 1),
                    _ => state.shifts(end),
                };
                state.step(begin, end, shifts);
            }
        }
    }
    true
}

/// The eigenvalues of a matrix of two rows: real parts and imaginary ones.
struct Pair<P> {
    real: [P; 2],
    /// That of the first; the second's is its opposite.
    imaginary: P,
}

impl<P: Real> State<'_, P> {
    #[inline(always)]
    fn at(&self, i: usize, j: usize) -> P {
        self.matrix[i * self.size + j]
    }

    #[inline(always)]
    fn set(&mut self, i: usize, j: usize, value: P) {
        self.matrix[i * self.size + j] = value;
    }

    /// The eigenvalues of the last two rows; if they are real, twice the one that is nearer to the last number.
    #[inline(always)]
    fn shifts(&self, end: usize) -> Pair<P> {
        let (a, b) = (self.at(end - 2, end - 2), self.at(end - 2, end - 1));
        let (c, d) = (self.at(end - 1, end - 2), self.at(end - 1, end - 1));
        let scale = a.size() + b.size() + c.size() + d.size();
        if scale == P::ZERO {
            return Pair { real: [P::ZERO; 2], imaginary: P::ZERO };
        }
        let (a, b, c, d) = (a / scale, b / scale, c / scale, d / scale);
        let middle = (a + d) * half();
        let determinant = (a - middle) * (d - middle) - b * c;
        let root = determinant.size().square_root();
        if determinant >= P::ZERO {
            return Pair { real: [middle * scale; 2], imaginary: root * scale };
        }
        let (one, other) = (middle + root, middle - root);
        let nearer = if (one - d).size() <= (other - d).size() { one } else { other };
        Pair { real: [nearer * scale; 2], imaginary: P::ZERO }
    }

    /// Shifts that break a cycle: a pair that is about as far from a number on the diagonal as the one below the diagonal
    /// in that row is large, by the factors that LAPACK's `lahqr` has, 3/4 and the root of 7/16.
    #[inline(always)]
    fn exceptional(&self, on: usize, row: usize) -> Pair<P> {
        let four = P::ONE + P::ONE + P::ONE + P::ONE;
        let distance = self.at(row, row - 1).size();
        let real = self.at(on, on) + distance * (four - P::ONE) / four;
        let part = (four + four - P::ONE).square_root() / four;
        Pair { real: [real; 2], imaginary: distance * part }
    }

    /// A step in the block: a reflection begins what the shifts ask for, others chase what that puts below the
    /// diagonal to the end.
    #[inline(always)]
    fn step(&mut self, begin: usize, end: usize, shifts: Pair<P>) {
        let (start, mut vector) = self.start(begin, end, &shifts);
        for k in start..end - 1 {
            let rows = (end - k).min(3);
            if k > start {
                for (i, value) in vector.iter_mut().enumerate() {
                    *value = if i < rows { self.at(k + i, k - 1) } else { P::ZERO };
                }
            }
            let (multiple, tau, v) = reflection(vector);
            if k > start {
                self.set(k, k - 1, multiple);
                (1..rows).for_each(|i| self.set(k + i, k - 1, P::ZERO));
            } else if k > begin {
                // What is left of it is negligible but for its sign.
                self.set(k, k - 1, self.at(k, k - 1) * (P::ONE - tau));
            }
            let weights = [tau, tau * v[0], tau * v[1]];
            let size = self.size;
            let columns = k..if self.whole { size } else { end };
            let above = if self.whole { 0 } else { begin };
            let last = (k + 4).min(end);
            if rows == 3 {
                let (first, rest) = self.matrix[k * size..].split_at_mut(size);
                let (second, third) = rest.split_at_mut(size);
                let lines = first[columns.clone()].iter_mut().zip(&mut second[columns.clone()]);
                for ((x, y), z) in lines.zip(&mut third[columns]) {
                    let sum = x.plus_product(v[0], *y).plus_product(v[1], *z);
                    *x = x.minus_product(weights[0], sum);
                    *y = y.minus_product(weights[1], sum);
                    *z = z.minus_product(weights[2], sum);
                }
                from_the_right(&mut self.matrix[above * size..last * size], size, k, v, weights);
                if let Some(basis) = self.basis.as_deref_mut() {
                    from_the_right(basis, size, k, v, weights);
                }
            } else {
                let (first, second) = self.matrix[k * size..].split_at_mut(size);
                for (x, y) in first[columns.clone()].iter_mut().zip(&mut second[columns]) {
                    let sum = x.plus_product(v[0], *y);
                    *x = x.minus_product(weights[0], sum);
                    *y = y.minus_product(weights[1], sum);
                }
                reflect_columns(&mut self.matrix[above * size..last * size], size, k, v[0], tau);
                if let Some(basis) = self.basis.as_deref_mut() {
                    reflect_columns(basis, size, k, v[0], tau);
                }
            }
        }
    }

    /// Where a step begins, which is below two small numbers in a row if there are such, and the first column of the
    /// product of the shifted matrices there.
    #[inline(always)]
    fn start(&self, begin: usize, end: usize, shifts: &Pair<P>) -> (usize, [P; 3]) {
        let Pair { real: [one, other], imaginary } = *shifts;
        let mut m = end - 3;
        loop {
            let (first, second, below) = (self.at(m, m), self.at(m + 1, m + 1), self.at(m + 1, m));
            let scale = (first - other).size() + imaginary.size() + below.size();
            let relative = below / scale;
            let vector = [
                relative * self.at(m, m + 1)
                    + (first - one) * ((first - other) / scale)
                    + imaginary * (imaginary / scale),
                relative * (first + second - one - other),
                relative * self.at(m + 2, m + 1),
            ];
            let length = vector[0].size() + vector[1].size() + vector[2].size();
            let vector = vector.map(|value| value / length);
            if m == begin {
                return (m, vector);
            }
            let above = self.at(m, m - 1).size() * (vector[1].size() + vector[2].size());
            let around = self.at(m - 1, m - 1).size() + first.size() + second.size();
            if above <= P::EPSILON * vector[0].size() * around {
                return (m, vector);
            }
            m -= 1;
        }
    }

    /// Turns two rows so that they are in Schur's form: real eigenvalues on the diagonal, or a block of a pair.
    #[inline(always)]
    fn split_pair(&mut self, k: usize) {
        let (size, l) = (self.size, k + 1);
        let block = [self.at(k, k), self.at(k, l), self.at(l, k), self.at(l, l)];
        let (block, cosine, sine) = standard(block);
        if self.whole {
            let (first, second) = self.matrix[k * size..].split_at_mut(size);
            for (x, y) in first[l + 1..].iter_mut().zip(&mut second[l + 1..size]) {
                (*x, *y) = (*x * cosine + *y * sine, *y * cosine - *x * sine);
            }
            turn_columns(&mut self.matrix[..k * size], size, k, cosine, sine);
        }
        if let Some(basis) = self.basis.as_deref_mut() {
            turn_columns(basis, size, k, cosine, sine);
        }
        for (place, value) in [(k, k), (k, l), (l, k), (l, l)].into_iter().zip(block) {
            self.set(place.0, place.1, value);
        }
    }
}

/// The reflection that takes a vector to a multiple of the first unit vector: the multiple, `tau`, and what follows the
/// one in `v`.
#[inline(always)]
fn reflection<P: Real>([x, y, z]: [P; 3]) -> (P, P, [P; 2]) {
    if y == P::ZERO && z == P::ZERO {
        return (x, P::ZERO, [P::ZERO; 2]);
    }
    let multiple = -x.hypotenuse(y.hypotenuse(z)).with_sign_of(x);
    let divisor = x - multiple;
    (multiple, (multiple - x) / multiple, [y / divisor, z / divisor])
}

/// Takes `tau w vᵀ` from three columns of rows, where `w` is the columns times `v`.
#[inline(always)]
fn from_the_right<P: Real>(rows: &mut [P], size: usize, k: usize, v: [P; 2], weights: [P; 3]) {
    for row in rows.chunks_mut(size) {
        let row = &mut row[k..k + 3];
        let sum = row[0].plus_product(v[0], row[1]).plus_product(v[1], row[2]);
        row[0] = row[0].minus_product(weights[0], sum);
        row[1] = row[1].minus_product(weights[1], sum);
        row[2] = row[2].minus_product(weights[2], sum);
    }
}

#[inline(always)]
fn turn_columns<P: Real>(rows: &mut [P], size: usize, k: usize, cosine: P, sine: P) {
    for row in rows.chunks_mut(size) {
        let (x, y) = (row[k], row[k + 1]);
        (row[k], row[k + 1]) = (x * cosine + y * sine, y * cosine - x * sine);
    }
}

/// A block of two rows in Schur's form, and the turn that makes it that: cosine and sine of
/// `[c s; -s c] block [c -s; s c]`.
#[inline(always)]
fn standard<P: Real>(block: [P; 4]) -> ([P; 4], P, P) {
    let [a, b, c, d] = block;
    let (zero, one) = (P::ZERO, P::ONE);
    if c == zero {
        return (block, one, zero);
    }
    if b == zero {
        return ([d, -c, zero, a], zero, one);
    }
    let unlike = (b > zero) != (c > zero);
    if a == d && unlike {
        return (block, one, zero);
    }
    let difference = a - d;
    let p = difference * half();
    let [more, less] = in_order(b.size(), c.size());
    let product = if unlike { -less } else { less };
    let scale = if p.size() > more { p.size() } else { more };
    let discriminant = (p / scale) * p + (more / scale) * product;
    let four = one + one + one + one;
    if discriminant >= four * P::EPSILON {
        let z = p + (scale.square_root() * discriminant.square_root()).with_sign_of(p);
        let length = c.hypotenuse(z);
        return ([d + z, b - c, zero, d - (more / z) * product], z / length, c / length);
    }
    // Complex, or real and almost equal: both numbers on the diagonal are made the same.
    let sigma = b + c;
    let length = sigma.hypotenuse(difference);
    let cosine = ((one + sigma.size() / length) * half()).square_root();
    let sine = -(p / (length * cosine)) * one.with_sign_of(sigma);
    let columns = [
        a * cosine + b * sine,
        b * cosine - a * sine,
        c * cosine + d * sine,
        d * cosine - c * sine,
    ];
    let a = columns[0] * cosine + columns[2] * sine;
    let b = columns[1] * cosine + columns[3] * sine;
    let c = columns[2] * cosine - columns[0] * sine;
    let d = columns[3] * cosine - columns[1] * sine;
    let middle = (a + d) * half();
    if c == zero {
        return ([middle, b, c, middle], cosine, sine);
    }
    if b == zero {
        return ([middle, -c, zero, middle], -sine, cosine);
    }
    if (b > zero) != (c > zero) {
        return ([middle, b, c, middle], cosine, sine);
    }
    let roots = [b.size().square_root(), c.size().square_root()];
    let p = (roots[0] * roots[1]).with_sign_of(c);
    let length = one / (b + c).size().square_root();
    let (more_cosine, more_sine) = (roots[0] * length, roots[1] * length);
    (
        [middle + p, b - c, zero, middle - p],
        cosine * more_cosine - sine * more_sine,
        cosine * more_sine + sine * more_cosine,
    )
}
