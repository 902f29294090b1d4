//! `rxla_gesdd`: singular values and vectors, by reflections to two diagonals and implicit QR steps; many values
//! without vectors by halving intervals. Matrices much higher than wide, or wider than high, are made triangles first.

use num_complex::Complex;
use rxla_base::{Error, Result};

use super::change::{Change, multiply_rows};
use super::columns::Columns;
use super::eigen::Wanted;
use super::number::{Number, Real, Strided};
use super::qr::{expand_matrix, factor_matrix, reflect_columns};
use super::reflect::{largest, reflection, scaling, transposed_inner};
use super::turns::{Turn, Vectors, turn};
use super::{bisect, check, copied, each, with_number};
use crate::context::Context;
use crate::dot::Decoder;
use crate::element::Element;
use crate::gemm::sets::for_each_set;
use crate::gemm::{Address, Compute};
use crate::own::Own;
use crate::status::{Status, guard};

/// Dense row-major matrices, of which singular values are asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Singular {
    pub element: Element,
    pub batch: usize,
    pub rows: usize,
    pub columns: usize,
    pub vectors: Wanted,
}

impl Singular {
    /// The array for [`rxla_gesdd`].
    pub fn encode(&self) -> Result<Vec<i64>> {
        check(self.element)?;
        let sizes = [self.batch, self.rows, self.columns].map(|size| size as i64);
        Ok([&[self.element as i64], &sizes[..], &[self.vectors as i64]].concat())
    }
}

/// What LAPACK calls `gesdd`: singular values in descending order, left vectors in columns, and right ones,
/// conjugated, in rows. `failures` gets 0 for each matrix, or another number where it is not finite or nothing
/// converges; then results are NaN. What is in `left` and `right` when no vectors are wanted means nothing.
///
/// # Safety
///
/// The context is null or a [`Context`], `code` the array of a [`Singular`], and the buffers hold what it
/// says; nobody else uses the results, of which the first, a copy of the operand that means nothing after,
/// may be the operand.
pub unsafe extern "C" fn rxla_gesdd(
    context: *const Context,
    operand: *const u8,
    copy: *mut u8,
    values: *mut u8,
    left: *mut u8,
    right: *mut u8,
    failures: *mut i32,
    code: *const i64,
) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let (context, mut code) = unsafe { (Context::from_ptr(context), Decoder::new(code)) };
        let element = code.element()?;
        let [batch, rows, columns] = [(); 3].map(|()| code.size());
        let wanted = match code.next() {
            0 => Wanted::Nothing,
            1 => Wanted::Some,
            _ => Wanted::All,
        };
        let least = rows.min(columns);
        with_number!(element, T => {
            type P = <T as Number>::Part;
            let operand = Address(operand.cast::<T>().cast_mut());
            let (copy, values) = (Address(copy.cast::<T>()), Address(values.cast::<P>()));
            let (left, right) = (Address(left.cast::<T>()), Address(right.cast::<T>()));
            let failures = Address(failures);
            let count = rows * columns;
            let [wide, high] = match wanted {
                Wanted::Nothing => [0, 0],
                Wanted::Some => [least, least],
                Wanted::All => [rows, columns],
            };
            each(context, batch, 4 * count * least, |context, index| {
                // SAFETY: the caller's promise; each matrix is in one piece.
                unsafe {
                    let matrix = copied(operand, copy, index, count);
                    let piece = |start: *mut T, count: usize| {
                        std::slice::from_raw_parts_mut(start.add(index * count), count)
                    };
                    let (left, right) = (piece(left.get(), rows * wide), piece(right.get(), high * columns));
                    let values = values.get().add(index * least);
                    let values = std::slice::from_raw_parts_mut(values, least);
                    let sizes = [rows, columns];
                    let converged = solve(context, matrix, sizes, values, left, right);
                    if !converged {
                        values.fill(P::NAN);
                        left.fill(T::NAN);
                        right.fill(T::NAN);
                    }
                    failures.get().add(index).write(i32::from(!converged));
                }
                Ok(())
            })
        })
    })
}

for_each_set! {
    /// Puts singular vectors into places; says whether it could. No vectors are wanted where no place is.
    ///
    /// # Safety
    ///
    /// None but that of the instruction set, which is seen to.
    unsafe fn solve[Number] = solve_body(
        context: &Context, matrix: &[T], sizes: [usize; 2], values: &mut [T::Part], left: &mut [T],
        right: &mut [T]
    ) -> bool
}

/// # Safety
///
/// See `solve`.
#[inline(always)]
unsafe fn solve_body<T: Number>(
    context: &Context,
    matrix: &[T],
    [rows, columns]: [usize; 2],
    values: &mut [T::Part],
    left: &mut [T],
    right: &mut [T],
) -> bool {
    let scale = largest(matrix);
    if !scale.finite() {
        return false;
    }
    // As high as wide at least: its adjoint if it is not.
    let turned = rows < columns;
    let (high, wide) = if turned { (columns, rows) } else { (rows, columns) };
    let mut tall = Own::filled(T::default(), rows * columns);
    if turned {
        for (j, row) in tall.chunks_mut(wide).enumerate() {
            for (i, value) in row.iter_mut().enumerate() {
                *value = matrix[i * columns + j].conjugate();
            }
        }
    } else {
        tall.copy_from_slice(matrix);
    }
    let factor = scaling(scale);
    if let Some(factor) = factor {
        tall.iter_mut().for_each(|value| *value = value.scaled(factor));
    }
    let wanted = !left.is_empty() || !right.is_empty();
    // Columns of the basis that the longer vectors make.
    let breadth = if turned { right.len() / columns.max(1) } else { left.len() / rows.max(1) };
    // Much higher than wide, it is a basis times a triangle, which has the same values and shorter vectors.
    let (mut factors, mut columns_of_few) = (None, None);
    if suits_columns(high, wide) && breadth <= wide {
        let mut few = Columns::copied(&tall, wide, 0..wide);
        let mut taus = Own::filled(T::default(), wide);
        few.factor(&mut taus);
        tall = few.triangle();
        columns_of_few = Some((few, taus));
    } else if suits_triangle(high, wide) {
        let mut taus = Own::filled(T::default(), wide);
        factor_matrix(context, &mut tall, wide, &mut taus);
        let triangle = triangle_of(&tall, wide);
        factors = Some((std::mem::replace(&mut tall, triangle), taus));
    }
    let is_triangle = factors.is_some() || columns_of_few.is_some();
    let (height, across) = if is_triangle { (wide, wide) } else { (high, breadth) };
    let mut beside = Own::filled(T::Part::ZERO, wide);
    let mut taus = Own::filled(T::default(), 2 * wide);
    let (left_taus, right_taus) = taus.split_at_mut(wide);
    if wide > 0 {
        bidiagonalise(context, &mut tall, wide, values, &mut beside, left_taus, right_taus);
    }
    let mut vectors = None;
    if wanted {
        let long = long_basis(context, &tall, height, wide, across, left_taus);
        let short = short_basis(context, &tall, wide, right_taus);
        vectors = Some([
            Vectors::new(across, height, |vector, element| long[element * across + vector]),
            Vectors::new(wide, wide, |vector, element| short[element * wide + vector]),
        ]);
    }
    if !wanted && wide >= bisect::MANY {
        bisect::singular_values(context, values, &beside);
    } else if !iterate(context, values, &mut beside, vectors.as_mut()) {
        return false;
    }
    let mut order = Own::new(wide, |i| i);
    let size = |index: usize| values[index].size();
    order.sort_by(|&a, &b| size(b).partial_cmp(&size(a)).unwrap_or(std::cmp::Ordering::Equal));
    let found = Own::copied(values);
    for (value, &from) in values.iter_mut().zip(order.iter()) {
        *value = factor.map_or(found[from].size(), |factor| found[from].size() / factor);
    }
    let Some([long, short]) = vectors else { return true };
    let sign = |place: usize| match order.get(place) {
        Some(&from) if found[from] < T::Part::ZERO => -T::Part::ONE,
        _ => T::Part::ONE,
    };
    let from = |place: usize| order.get(place).copied().unwrap_or(place);
    // With A = U S Vᴴ, the adjoint is V S Uᴴ.
    let mut room = Own::filled(T::default(), if turned { high * breadth } else { 0 });
    let basis = if turned { &mut room[..] } else { &mut *left };
    if let Some((mut few, taus)) = columns_of_few {
        few.expand(&taus);
        few.multiply(|element, place| long.get(from(place), element));
        few.store(basis, breadth, 0);
    } else {
        for (element, row) in basis.chunks_mut(breadth).enumerate() {
            if element < height {
                for (place, value) in row[..across].iter_mut().enumerate() {
                    *value = long.get(from(place), element);
                }
                row[across..].fill(T::default());
            } else {
                row.fill(T::default());
                if let Some(value) = row.get_mut(element) {
                    *value = T::of(T::Part::ONE, T::Part::ZERO);
                }
            }
        }
    }
    if let Some((reflections, taus)) = factors {
        let start = basis.as_mut_ptr();
        let reflected = Strided { start, row: breadth as isize, column: 1 };
        // SAFETY: the basis, which is as high as the reflections, is ours.
        unsafe { reflect_columns(context, &reflections, wide, &taus, reflected, breadth) };
    }
    if turned {
        for (place, row) in right.chunks_mut(columns).enumerate() {
            for (element, value) in row.iter_mut().enumerate() {
                *value = room[element * breadth + place].conjugate();
            }
        }
        for (element, row) in left.chunks_mut(wide).enumerate() {
            for (place, value) in row.iter_mut().enumerate() {
                *value = short.get::<T>(from(place), element).scaled(sign(place));
            }
        }
    } else {
        for (place, row) in right.chunks_mut(columns).enumerate() {
            for (element, value) in row.iter_mut().enumerate() {
                *value = short.get::<T>(from(place), element).conjugate().scaled(sign(place));
            }
        }
    }
    true
}

/// Whether a matrix is so much higher than wide that it is made a triangle first: half of the arithmetic with two
/// diagonals, and all of the turns of rows that are not in the triangle, become products of blocks.
fn suits_triangle(high: usize, wide: usize) -> bool {
    wide > FEW && 3 * high >= 5 * wide
}

/// Columns that are better left as columns where they are much longer than many.
const FEW: usize = 7;

/// Whether a matrix is made a triangle column by column.
fn suits_columns(high: usize, wide: usize) -> bool {
    (1..=FEW).contains(&wide) && high >= 32 * wide
}

/// The triangle of a factored matrix.
fn triangle_of<T: Number>(factored: &[T], wide: usize) -> Own<T> {
    let mut triangle = Own::filled(T::default(), wide * wide);
    for (i, (into, from)) in triangle.chunks_mut(wide).zip(factored.chunks(wide)).enumerate() {
        into[i..].copy_from_slice(&from[i..]);
    }
    triangle
}

/// The first columns of the product of the reflections on the left.
fn long_basis<T: Number>(
    context: &Context,
    tall: &[T],
    high: usize,
    wide: usize,
    breadth: usize,
    taus: &[T],
) -> Own<T> {
    let mut basis = Own::filled(T::default(), high * breadth);
    for (into, row) in basis.chunks_mut(breadth).zip(tall.chunks(wide)) {
        into[..wide].copy_from_slice(row);
    }
    expand_matrix(context, &mut basis, breadth, taus);
    basis
}

/// The product of the reflections on the right, which act on all but the first element.
fn short_basis<T: Number>(context: &Context, tall: &[T], wide: usize, taus: &[T]) -> Own<T> {
    let mut basis = Own::filled(T::default(), wide * wide);
    basis[0] = T::of(T::Part::ONE, T::Part::ZERO);
    let less = wide - 1;
    if less == 0 {
        return basis;
    }
    let mut rest = Own::filled(T::default(), less * less);
    for j in 0..less {
        for i in j + 1..less {
            rest[i * less + j] = tall[j * wide + i + 1];
        }
    }
    expand_matrix(context, &mut rest, less, &taus[..less]);
    for (into, row) in basis[wide..].chunks_mut(wide).zip(rest.chunks(less)) {
        into[1..].copy_from_slice(row);
    }
    basis
}

/// Reduces a matrix, at least as high as wide, to its diagonal and what is right of it. The reflections on the
/// left end up below the diagonal, those on the right beyond what is right of it.
#[inline(always)]
fn bidiagonalise<T: Number>(
    context: &Context,
    matrix: &mut [T],
    wide: usize,
    diagonal: &mut [T::Part],
    beside: &mut [T::Part],
    left_taus: &mut [T],
    right_taus: &mut [T],
) {
    let high = matrix.len() / wide;
    let one = T::of(T::Part::ONE, T::Part::ZERO);
    let mut room = Own::filled(T::default(), 3 * high + 4 * wide);
    // What the matrix is still to be changed by, `- v x - sums y`; the next column, and the next row's adjoint.
    let (v, room) = room.split_at_mut(high);
    let (sums, room) = room.split_at_mut(high);
    let (next, room) = room.split_at_mut(high);
    let (x, room) = room.split_at_mut(wide);
    let (y, room) = room.split_at_mut(wide);
    let (w, u) = room.split_at_mut(wide);
    for j in 0..wide {
        let below = &mut matrix[j * wide..];
        let (x_j, y_j) = (x[j], y[j]);
        for (i, row) in below.chunks(wide).enumerate() {
            let value = row[j].minus_product(v[j + i], x_j);
            next[j + i] = value.minus_product(sums[j + i], y_j);
        }
        let first = next[j];
        let (multiple, tau) = reflection(first, &mut next[j + 1..]);
        (diagonal[j], left_taus[j]) = (multiple, tau);
        next[j] = one;
        for (&value, row) in next[j..].iter().zip(below.chunks_mut(wide)) {
            row[j] = value;
        }
        if j + 1 == wide {
            break;
        }
        let begin = j + 1;
        let change =
            Change { begin, columns: [&v[j..], &sums[j..]], rows: [&x[begin..], &y[begin..]] };
        change.all_columns(context, below, wide, &next[j..], &mut w[begin..]);
        let tau = tau.conjugate();
        for (x, &w) in x[begin..].iter_mut().zip(&w[begin..]) {
            *x = tau.times(w);
        }
        // The row's adjoint is reflected as a column is: u, so that (A (1 - tau u uᴴ)) is its multiple.
        let (row, below) = below.split_at_mut(wide);
        for ((u, &value), &x) in u[begin..].iter_mut().zip(&row[begin..]).zip(&x[begin..]) {
            *u = value.plus(x.negative()).conjugate();
        }
        let first = u[begin];
        let (multiple, turn) = reflection(first, &mut u[begin + 1..]);
        (beside[j], right_taus[j]) = (multiple, turn);
        u[begin] = one;
        row[begin..].copy_from_slice(&u[begin..]);
        v[begin..].copy_from_slice(&next[begin..]);
        // What the rows are times u, as they are once changed.
        let change = transposed_inner(&x[begin..], &u[begin..]);
        multiply_rows(context, below, wide, &u[begin..], &mut sums[begin..]);
        for (sum, &v) in sums[begin..].iter_mut().zip(&v[begin..]) {
            *sum = sum.minus_product(v, change).times(turn);
        }
        for (y, &u) in y[begin..].iter_mut().zip(&u[begin..]) {
            *y = u.conjugate();
        }
    }
}

/// Finds the singular values of two diagonals, with signs; vectors are turned along. Says whether it could.
#[inline(always)]
fn iterate<P: Real>(
    context: &Context,
    diagonal: &mut [P],
    beside: &mut [P],
    mut vectors: Option<&mut [Vectors<P>; 2]>,
) -> bool {
    let size = diagonal.len();
    if size == 0 {
        return true;
    }
    let (scale, other) = (largest(diagonal), largest(&beside[..size - 1]));
    let scale = if other > scale { other } else { scale };
    let nothing = scale * P::EPSILON * P::EPSILON;
    let mut left = 6 * size * size + 60;
    let mut high = size - 1;
    while high > 0 {
        let negligible = |i: usize| {
            let beside = beside[i].size();
            beside <= P::EPSILON * (diagonal[i].size() + diagonal[i + 1].size())
                || beside <= nothing
        };
        if negligible(high - 1) {
            beside[high - 1] = P::ZERO;
            high -= 1;
            continue;
        }
        if left == 0 {
            return false;
        }
        left -= 1;
        let low = (0..high - 1).rev().find(|&i| negligible(i)).map_or(0, |i| i + 1);
        // Steps go from the larger end to the smaller one: upwards, the transpose in the other order is done.
        let upwards = diagonal[low].size() < diagonal[high].size();
        let (at, between) = places(low, high, upwards);
        let shift = shift(diagonal[at(high - 1)], diagonal[at(high)], beside[between(high - 1)]);
        let first = diagonal[at(low)];
        let ratio = shift / first.size();
        let mut push = |which: bool, k: usize, cosine: P, sine: P| {
            if let Some(vectors) = vectors.as_deref_mut() {
                // Downwards the first kind of turn is of right vectors, which come second.
                let which = usize::from(which != upwards);
                vectors[which]
                    .push(context, Turn { first: at(k), second: at(k + 1), cosine, sine });
            }
        };
        // A zero on the diagonal is at its end after a step without a shift.
        let singular = diagonal[low..=high].iter().any(|value| value.size() <= nothing);
        let shifts = ratio * ratio > P::EPSILON;
        if singular || !shifts {
            // No shift, which keeps small values exact.
            let (mut c, mut old_c, mut old_s) = (P::ONE, P::ONE, P::ZERO);
            for k in low..high {
                let (cosine, sine, r) = turn(diagonal[at(k)] * c, beside[between(k)]);
                c = cosine;
                push(true, k, cosine, sine);
                if k > low {
                    beside[between(k - 1)] = old_s * r;
                }
                let (cosine_2, sine_2, r) = turn(old_c * r, diagonal[at(k + 1)] * sine);
                (old_c, old_s) = (cosine_2, sine_2);
                diagonal[at(k)] = r;
                push(false, k, cosine_2, sine_2);
            }
            let h = diagonal[at(high)] * c;
            diagonal[at(high)] = h * old_c;
            beside[between(high - 1)] = h * old_s;
            continue;
        }
        let mut f = (first.size() - shift) * (P::ONE.with_sign_of(first) + shift / first);
        let mut g = beside[between(low)];
        for k in low..high {
            let (c, s, r) = turn(f, g);
            if k > low {
                beside[between(k - 1)] = r;
            }
            push(true, k, c, s);
            let (d, e, next) = (diagonal[at(k)], beside[between(k)], diagonal[at(k + 1)]);
            f = c * d + s * e;
            let e = c * e - s * d;
            g = s * next;
            let next = c * next;
            let (c, s, r) = turn(f, g);
            push(false, k, c, s);
            diagonal[at(k)] = r;
            f = c * e + s * next;
            diagonal[at(k + 1)] = c * next - s * e;
            if k + 1 < high {
                g = s * beside[between(k + 1)];
                beside[between(k + 1)] = c * beside[between(k + 1)];
            }
            beside[between(k)] = f;
        }
        beside[between(high - 1)] = f;
    }
    if let Some(vectors) = vectors {
        vectors.iter_mut().for_each(|vectors| vectors.finish(context));
    }
    true
}

/// Where elements `low..=high` of a diagonal are, and those between two of them, in one order or the other.
fn places(
    low: usize,
    high: usize,
    upwards: bool,
) -> (impl Fn(usize) -> usize + Copy, impl Fn(usize) -> usize + Copy) {
    let (sum, turned) = (low + high, upwards);
    let at = move |k: usize| if turned { sum - k } else { k };
    let between = move |k: usize| if turned { sum - k - 1 } else { k };
    (at, between)
}

/// The smaller singular value of `[f h; 0 g]`.
#[inline(always)]
fn shift<P: Real>(f: P, g: P, h: P) -> P {
    let (f, g, h) = (f.size(), g.size(), h.size());
    let (least, most) = if f < g { (f, g) } else { (g, f) };
    if least == P::ZERO {
        return P::ZERO;
    }
    // The product of both values is that of the diagonal; their squares add up to the squares here.
    let sum = (most + least).hypotenuse(h);
    let difference = (most - least).hypotenuse(h);
    let larger = (sum + difference) * super::eigen::half();
    least * (most / larger)
}
