//! Schur's form of complex Hessenberg matrices, an upper triangle, by implicit steps with Wilkinson's shift.

use std::ops::Range;

use super::eigen::half;
use super::number::{Number, Real};
use super::reflect::reflection;
use super::steps::{EXCEPTIONAL, STEPS, block, reflect_columns};
use crate::gemm::Compute;

/// Brings the active rows of a Hessenberg matrix to Schur's form; the basis is multiplied with what that takes. Says
/// whether it could. If not the `whole` is wanted, only the diagonal is right.
#[inline(always)]
pub(super) fn triangularise<T: Number>(
    matrix: &mut [T],
    size: usize,
    active: Range<usize>,
    mut basis: Option<&mut [T]>,
    whole: bool,
) -> bool {
    let mut end = active.end;
    let mut steps = 0;
    while end > active.start {
        let begin = block(matrix, size, active.start, end);
        if begin > active.start {
            matrix[begin * size + begin - 1] = T::default();
        }
        if end - begin == 1 {
            end = begin;
            steps = 0;
            continue;
        }
        if steps == STEPS {
            return false;
        }
        steps += 1;
        let beside = |on: usize, row: usize| {
            let four = T::Part::ONE + T::Part::ONE + T::Part::ONE + T::Part::ONE;
            let distance = matrix[row * size + row - 1].magnitude();
            let more = T::of(distance * (four - T::Part::ONE) / four, T::Part::ZERO);
            matrix[on * size + on].plus(more)
        };
        let shift = match steps % (2 * EXCEPTIONAL) {
            EXCEPTIONAL => beside(begin, begin + 1),
            0 => beside(end - 1, end - 1),
            _ => nearer(matrix, size, end),
        };
        let (start, mut vector) = start(matrix, size, begin, end, shift);
        for k in start..end - 1 {
            if k > start {
                vector = [matrix[k * size + k - 1], matrix[(k + 1) * size + k - 1]];
            }
            let [first, mut second] = vector;
            let (multiple, tau) = reflection(first, std::slice::from_mut(&mut second));
            if k > start {
                matrix[k * size + k - 1] = T::of(multiple, T::Part::ZERO);
                matrix[(k + 1) * size + k - 1] = T::default();
            } else if k > begin {
                let above = &mut matrix[k * size + k - 1];
                *above = above.minus_product(tau.conjugate(), *above);
            }
            let columns = k..if whole { size } else { end };
            let above = if whole { 0 } else { begin };
            let last = (k + 3).min(end);
            let weights = [tau.conjugate(), tau.conjugate().times(second)];
            let (row, next) = matrix[k * size..].split_at_mut(size);
            for (x, y) in row[columns.clone()].iter_mut().zip(&mut next[columns]) {
                let sum = x.plus_product(second.conjugate(), *y);
                *x = x.minus_product(weights[0], sum);
                *y = y.minus_product(weights[1], sum);
            }
            reflect_columns(&mut matrix[above * size..last * size], size, k, second, tau);
            if let Some(basis) = basis.as_deref_mut() {
                reflect_columns(basis, size, k, second, tau);
            }
        }
        // The last number below the diagonal is made real, as the others are.
        let (i, below) = (end - 1, matrix[(end - 1) * size + end - 2]);
        let length = below.real().hypotenuse(below.imaginary());
        if below.imaginary() == T::Part::ZERO || length == T::Part::ZERO {
            continue;
        }
        let turn = below.scaled(T::Part::ONE / length);
        let (columns, above) = if whole { (end..size, 0) } else { (end..end, begin) };
        for value in &mut matrix[i * size..][columns] {
            *value = value.times(turn.conjugate());
        }
        matrix[i * size + i - 1] = T::of(length, T::Part::ZERO);
        for row in matrix[above * size..i * size].chunks_mut(size) {
            row[i] = row[i].times(turn);
        }
        for row in basis.iter_mut().flat_map(|basis| basis.chunks_mut(size)) {
            row[i] = row[i].times(turn);
        }
    }
    true
}

/// The eigenvalue of the last two rows that is nearer to the last number.
#[inline(always)]
fn nearer<T: Number>(matrix: &[T], size: usize, end: usize) -> T {
    let at = |i: usize, j: usize| matrix[i * size + j];
    let (a, last) = (at(end - 2, end - 2), at(end - 1, end - 1));
    let beside = at(end - 2, end - 1).principal_root().times(at(end - 1, end - 2).principal_root());
    let mut scale = beside.magnitude();
    if scale == T::Part::ZERO {
        return last;
    }
    let middle = a.plus(last.negative()).scaled(half());
    let distance = middle.magnitude();
    scale = if distance > scale { distance } else { scale };
    let one = T::Part::ONE;
    let [x, u] = [middle, beside].map(|value| value.scaled(one / scale));
    let mut root = x.times(x).plus_product(u, u).principal_root();
    if x.real() * root.real() + x.imaginary() * root.imaginary() < T::Part::ZERO {
        root = root.negative();
    }
    // Both are at most about one, and the sum is not near zero.
    last.minus_product(beside, u.over(x.plus(root)))
}

/// Where a step begins, which is below two small numbers in a row if there are such, and the first column of the
/// shifted matrix there.
#[inline(always)]
fn start<T: Number>(
    matrix: &[T],
    size: usize,
    begin: usize,
    end: usize,
    shift: T,
) -> (usize, [T; 2]) {
    let at = |i: usize, j: usize| matrix[i * size + j];
    let mut m = end - 2;
    loop {
        let (first, second) = (at(m, m), at(m + 1, m + 1));
        let shifted = first.plus(shift.negative());
        let length = shifted.magnitude() + at(m + 1, m).magnitude();
        let vector = [shifted, at(m + 1, m)].map(|value| value.scaled(T::Part::ONE / length));
        if m == begin {
            return (m, vector);
        }
        let above = at(m, m - 1).magnitude() * vector[1].magnitude();
        let around = first.magnitude() + second.magnitude();
        if above <= T::Part::EPSILON * vector[0].magnitude() * around {
            return (m, vector);
        }
        m -= 1;
    }
}
