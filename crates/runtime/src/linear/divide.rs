//! Eigenvalues and eigenvectors of three diagonals by dividing: both halves are solved, but for the element that joins
//! them, and then put together by products. Vectors of values that are the same, or nearly so, stay as they are.

use super::blocks::{Into, product};
use super::eigen::iterate;
use super::number::{Real, Strided};
use super::panel::{Conjugation, Panel, kernels, pack_rows, panel_columns};
use super::secular::{Secular, exact_weights, root, vector};
use super::turns::Vectors;
use crate::context::Context;
use crate::gemm::Address;
use crate::gemm::sets::for_each_set;

/// Values of parts that are not divided any more.
const LEAF: usize = 32;

/// Finds values, which come in no order, in the place of the diagonal, and their vectors, which become the rows of a
/// matrix. Says whether it could.
pub(super) fn solve<P: Real>(
    context: &Context,
    diagonal: &mut [P],
    beside: &[P],
) -> Option<Vec<P>> {
    let size = diagonal.len();
    let sizes =
        |values: &[P]| values.iter().fold(P::ZERO, |a, b| if b.size() > a { b.size() } else { a });
    let (scale, other) = (sizes(diagonal), sizes(&beside[..size - 1]));
    let scale = if other > scale { other } else { scale };
    if scale > P::ZERO {
        diagonal.iter_mut().for_each(|value| *value = *value / scale);
    }
    let factor = if scale > P::ZERO { P::ONE / scale } else { P::ONE };
    let beside: Vec<P> = beside[..size - 1].iter().map(|&value| value * factor).collect();
    // Where the parts end that are not divided any more.
    let mut levels = vec![vec![0, size]];
    while levels.last().is_some_and(|ends| ends.windows(2).any(|pair| pair[1] - pair[0] > LEAF)) {
        let ends = levels.last().expect("there is one");
        let mut next = vec![0];
        for pair in ends.windows(2) {
            next.extend([pair[0].midpoint(pair[1]), pair[1]]);
        }
        levels.push(next);
    }
    let leaves = levels.pop().expect("there is one");
    for &end in &leaves[1..leaves.len() - 1] {
        let join = beside[end - 1].size();
        diagonal[end - 1] = diagonal[end - 1] - join;
        diagonal[end] = diagonal[end] - join;
    }
    let mut vectors = vec![P::ZERO; size * size];
    for pair in leaves.windows(2) {
        let (begin, end) = (pair[0], pair[1]);
        let count = end - begin;
        let mut between = beside[begin..(end - 1).max(begin)].to_vec();
        between.push(P::ZERO);
        let one = |i: usize, j: usize| if i == j { P::ONE } else { P::ZERO };
        let mut part = Vectors::new(count, count, one);
        // SAFETY: it asks for nothing but instructions, which it sees to.
        if !unsafe { leaf(context, &mut diagonal[begin..end], &mut between, &mut part) } {
            return None;
        }
        for i in 0..count {
            for j in 0..count {
                vectors[(begin + i) * size + begin + j] = part.get(i, j);
            }
        }
    }
    let mut other = vec![P::ZERO; size * size];
    for ends in levels.iter().rev() {
        for pair in ends.windows(2) {
            let (begin, end) = (pair[0], pair[1]);
            let middle = begin.midpoint(end);
            let halves = Halves {
                size: end - begin,
                middle: middle - begin,
                stride: size,
                join: beside[middle - 1],
            };
            let start = begin * size + begin;
            halves.merge(
                context,
                &mut diagonal[begin..end],
                &mut vectors[start..],
                &mut other[start..],
            );
        }
        std::mem::swap(&mut vectors, &mut other);
    }
    diagonal.iter_mut().for_each(|value| *value = *value * scale);
    Some(vectors)
}

for_each_set! {
    /// See [`iterate`].
    ///
    /// # Safety
    ///
    /// None but that of the instruction set, which is seen to.
    unsafe fn leaf[P: Real] = leaf_body(
        context: &Context, diagonal: &mut [P], beside: &mut [P], vectors: &mut Vectors<P>
    ) -> bool
}

/// # Safety
///
/// See `leaf`.
#[inline(always)]
unsafe fn leaf_body<P: Real>(
    context: &Context,
    diagonal: &mut [P],
    beside: &mut [P],
    vectors: &mut Vectors<P>,
) -> bool {
    iterate(context, diagonal, beside, Some(vectors))
}

/// Two parts that are solved, and what joins them.
struct Halves<P> {
    size: usize,
    /// Where the second begins.
    middle: usize,
    /// From a vector to the next.
    stride: usize,
    join: P,
}

/// Which elements of a vector are not zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Extent {
    First,
    Both,
    Second,
}

/// A value that is to be changed.
#[derive(Clone, Copy)]
struct Pole<P> {
    value: P,
    /// Its part of what is added.
    z: P,
    /// The row of its vector.
    row: usize,
    extent: Extent,
}

impl<P: Real> Halves<P> {
    /// Puts values and vectors of the whole where those of the halves are, and into other rows.
    fn merge(&self, context: &Context, values: &mut [P], vectors: &mut [P], into: &mut [P]) {
        let &Halves { size, stride, .. } = self;
        let (poles, kept) = self.deflate(values, vectors);
        let count = poles.len();
        for (i, &(value, row)) in kept.iter().enumerate() {
            into[(count + i) * stride..][..size].copy_from_slice(&vectors[row * stride..][..size]);
            values[count + i] = value;
        }
        if count == 0 {
            return;
        }
        let weight = self.join.size() + self.join.size();
        let secular = Secular {
            poles: poles.iter().map(|pole| pole.value).collect(),
            weights: poles.iter().map(|pole| weight * pole.z * pole.z).collect(),
        };
        let mut distances = vec![P::ZERO; count * count];
        let (found, rows) = (Address(values.as_mut_ptr()), Address(distances.as_mut_ptr()));
        context.parallel_for(count, 1 + (1 << 10) / count, |begin, end| {
            for index in begin..end {
                // SAFETY: each value, and its row, is found once.
                unsafe {
                    let row = std::slice::from_raw_parts_mut(rows.get().add(index * count), count);
                    found.get().add(index).write(root(&secular, index, row));
                }
            }
        });
        let mut z = exact_weights(&secular.poles, &distances);
        for (z, pole) in z.iter_mut().zip(&poles) {
            *z = z.with_sign_of(pole.z);
        }
        // Poles whose vectors have zeros at the same end stand together.
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by_key(|&k| poles[k].extent);
        let upper = poles.iter().filter(|pole| pole.extent <= Extent::Both).count();
        let lower = poles.iter().filter(|pole| pole.extent == Extent::First).count();
        let row_of = |k: usize| poles[order[k]].row;
        let parts = [
            Part::new(context, vectors, stride, 0..self.middle, (0..upper).map(row_of)),
            Part::new(context, vectors, stride, self.middle..size, (lower..count).map(row_of)),
        ];
        let firsts = [0, lower];
        let height = kernels::<P>().rows;
        let into = Address(into.as_mut_ptr());
        let grain = 1 + (1 << 15) / (height * size * count).max(1);
        context.parallel_for(count.div_ceil(height), grain, |begin, end| {
            let mut found = vec![P::ZERO; count];
            let mut rows = vec![P::ZERO; height * count];
            let mut left = vec![P::ZERO; height * count];
            let mut room = vec![P::ZERO; Panel::<P>::room(height)];
            for first in (begin..end).map(|task| task * height) {
                let some = height.min(count - first);
                for (index, row) in rows.chunks_mut(count).take(some).enumerate() {
                    vector(&z, &distances[(first + index) * count..][..count], &mut found);
                    for (value, &k) in row.iter_mut().zip(&order) {
                        *value = found[k];
                    }
                }
                for (part, &from) in parts.iter().zip(&firsts) {
                    let start = rows.as_mut_ptr().wrapping_add(from);
                    let matrix = Strided { start, row: count as isize, column: 1 };
                    // SAFETY: there is room; each row is in one task.
                    unsafe {
                        let left = left.as_mut_ptr();
                        pack_rows(matrix, some, part.depth, Conjugation::None, left);
                        let start = into.get().add(first * stride);
                        let into = Strided { start, row: stride as isize, column: 1 };
                        part.multiply(left, some, &mut room, into);
                    }
                }
            }
        });
    }

    /// Finds which values stay as they are, and makes those that differ too little differ not at all, so that one of
    /// each two stays. What stays is the second result: values and rows of vectors.
    fn deflate(&self, values: &[P], vectors: &mut [P]) -> (Vec<Pole<P>>, Vec<(P, usize)>) {
        let &Halves { size, middle, stride, join } = self;
        let half = P::ONE / (P::ONE + P::ONE);
        let root = half.square_root();
        let mut poles: Vec<Pole<P>> = (0..size)
            .map(|row| {
                let vector = &vectors[row * stride..];
                let (z, extent) = match row < middle {
                    true => (vector[middle - 1], Extent::First),
                    false => (vector[middle] * P::ONE.with_sign_of(join), Extent::Second),
                };
                Pole { value: values[row], z: z * root, row, extent }
            })
            .collect();
        poles.sort_by(|a, b| a.value.partial_cmp(&b.value).unwrap_or(std::cmp::Ordering::Equal));
        let most = |a: P, b: P| if b > a { b } else { a };
        let largest =
            poles.iter().fold(P::ZERO, |a, pole| most(most(a, pole.value.size()), pole.z.size()));
        let eight = P::ONE / (half * half * half);
        let nothing = eight * P::EPSILON * largest;
        let weight = join.size() + join.size();
        let (mut changed, mut kept): (Vec<Pole<P>>, Vec<(P, usize)>) = (Vec::new(), Vec::new());
        for mut pole in poles {
            let counts = weight * pole.z.size() > nothing;
            if !counts {
                kept.push((pole.value, pole.row));
                continue;
            }
            let Some(&before) = changed.last() else {
                changed.push(pole);
                continue;
            };
            let length = before.z.hypotenuse(pole.z);
            let (cosine, sine) = (pole.z / length, -before.z / length);
            let between = pole.value - before.value;
            if (between * cosine * sine).size() > nothing {
                changed.push(pole);
                continue;
            }
            // The two are turned so that nothing is added to the first.
            changed.pop();
            pole.z = length;
            if before.extent != pole.extent {
                pole.extent = Extent::Both;
            }
            turn_rows(vectors, [before.row, pole.row].map(|row| row * stride), size, cosine, sine);
            let (a, b) = (before.value, pole.value);
            kept.push((a * cosine * cosine + b * sine * sine, before.row));
            pole.value = a * sine * sine + b * cosine * cosine;
            changed.push(pole);
        }
        (changed, kept)
    }
}

/// `(x, y)` becomes `(c x + s y, c y - s x)`.
fn turn_rows<P: Real>(vectors: &mut [P], [x, y]: [usize; 2], size: usize, cosine: P, sine: P) {
    for i in 0..size {
        let (a, b) = (vectors[x + i], vectors[y + i]);
        vectors[x + i] = cosine * a + sine * b;
        vectors[y + i] = cosine * b - sine * a;
    }
}

/// Some columns of vectors, packed in panels: the right factor of a product.
struct Part<P> {
    depth: usize,
    columns: std::ops::Range<usize>,
    packed: Vec<P>,
}

impl<P: Real> Part<P> {
    fn new(
        context: &Context,
        vectors: &[P],
        stride: usize,
        columns: std::ops::Range<usize>,
        rows: impl Iterator<Item = usize>,
    ) -> Part<P> {
        let rows: Vec<usize> = rows.collect();
        let (depth, across) = (rows.len(), panel_columns::<P>());
        let panels = columns.len().div_ceil(across);
        let room = Panel::<P>::room(depth);
        let mut packed = vec![P::ZERO; panels * room];
        let start = Address(packed.as_mut_ptr());
        let grain = 1 + (1 << 14) / (depth * across).max(1);
        context.parallel_for(panels, grain, |begin, end| {
            for index in begin..end {
                let first = columns.start + index * across;
                let count = across.min(columns.end - first);
                let panel = Panel::new(Address(start.get().wrapping_add(index * room)), count);
                for (i, &row) in rows.iter().enumerate() {
                    let from = &vectors[row * stride + first..][..count];
                    // SAFETY: the panel has so many rows, as long as that at least, and is our own.
                    unsafe {
                        std::ptr::copy_nonoverlapping(from.as_ptr(), panel.row(i), count);
                    }
                }
            }
        });
        Part { depth, columns, packed }
    }

    /// Packed rows, with the sign turned, times the columns.
    ///
    /// # Safety
    ///
    /// There are so many packed rows, no more than kernels take, and there is room for the result.
    unsafe fn multiply(&self, left: *const P, height: usize, room: &mut [P], into: Strided<P>) {
        let across = panel_columns::<P>();
        let step = Panel::<P>::room(self.depth);
        let packed = self.packed.as_ptr().cast_mut();
        for first in (0..self.columns.len()).step_by(across) {
            let count = across.min(self.columns.len() - first);
            let start = packed.wrapping_add(first / across * step);
            let right = Panel::new(Address(start), count);
            let result = Panel::new(Address(room.as_mut_ptr()), count);
            // SAFETY: the caller's promise.
            unsafe {
                let left = std::slice::from_raw_parts(left, height * self.depth);
                product(left, self.depth, &right, 0, &result, height, Into::Empty);
                let into = into.from(0, self.columns.start + first);
                result.store(into, 0..height, count, Conjugation::None);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::Pool;

    /// The largest errors of `T V = V Λ` and of `VᵀV = 1`.
    fn errors(diagonal: &[f64], beside: &[f64]) -> [f64; 2] {
        let size = diagonal.len();
        let find = |threads| {
            let mut values = diagonal.to_vec();
            let context = Context::new(Some(Pool::with_threads(threads)));
            let vectors = solve(&context, &mut values, beside).unwrap();
            (values, vectors)
        };
        let (values, vectors) = find(1);
        assert_eq!((&values, &vectors), (&find(3).0, &find(3).1));
        let mut worst = [0.0_f64; 2];
        for (row, &value) in vectors.chunks(size).zip(&values) {
            for i in 0..size {
                let mut sum = (diagonal[i] - value) * row[i];
                if i > 0 {
                    sum += beside[i - 1] * row[i - 1];
                }
                if i + 1 < size {
                    sum += beside[i] * row[i + 1];
                }
                worst[0] = worst[0].max(sum.abs());
            }
        }
        for i in 0..size {
            for j in 0..=i {
                let (a, b) = (&vectors[i * size..][..size], &vectors[j * size..][..size]);
                let overlap: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
                worst[1] = worst[1].max((overlap - f64::from(i == j)).abs());
            }
        }
        worst
    }

    #[test]
    fn vectors_are_eigenvectors_at_right_angles() {
        let wave = |size: usize, step: f64| -> Vec<f64> {
            (0..size).map(|i| (i as f64 * step).sin()).collect()
        };
        for size in [1, 2, 33, 64, 65, 150, 257] {
            let ones = vec![1.0; size];
            let zeros = vec![0.0; size];
            let graded: Vec<f64> = (0..size).map(|i| 0.5_f64.powi(i as i32 / 2)).collect();
            // Wilkinson's, whose values come in pairs that are nearly the same.
            let pairs: Vec<f64> = (0..size).map(|i| (i as f64 - size as f64 / 2.0).abs()).collect();
            let glued: Vec<f64> =
                (0..size).map(|i| if i % 21 == 20 { 1e-13 } else { 1.0 }).collect();
            let cases = [
                (wave(size, 0.7), wave(size, 1.3)),
                (ones.clone(), zeros.clone()),
                (zeros.clone(), zeros.clone()),
                (zeros, ones.clone()),
                (ones.clone(), graded.clone()),
                (graded.clone(), graded.iter().map(|value| -value * 0.3).collect()),
                (pairs.clone(), ones),
                (pairs, glued),
            ];
            for (case, (diagonal, beside)) in cases.iter().enumerate() {
                let largest = diagonal.iter().chain(beside).fold(0.0_f64, |a, b| a.max(b.abs()));
                let [residue, overlap] = errors(diagonal, beside);
                assert!(residue <= 2e-14 * largest, "{size} {case}: {residue:e}");
                assert!(overlap <= 2e-14, "{size} {case}: {overlap:e}");
            }
        }
    }
}
