//! Reflections, eigenvalues and singular values against the definitions.

use super::tests::{C, Kind, bits, narrow, numbers, square};
use super::*;
use crate::gemm::sets::forced;
use crate::pool::Pool;

pub(super) fn context(threads: usize) -> Context {
    Context::new(Some(Pool::with_threads(threads)))
}

pub(super) fn widen<T: Kind>(values: &[T]) -> Vec<C> {
    values.iter().map(|value| value.widen()).collect()
}

/// `a` times `b`, which has so many columns.
pub(super) fn product(a: &[C], b: &[C], inner: usize, columns: usize) -> Vec<C> {
    let rows = a.len() / inner;
    let at = |i: usize, j: usize| (0..inner).map(|k| a[i * inner + k] * b[k * columns + j]).sum();
    (0..rows * columns).map(|place| at(place / columns, place % columns)).collect()
}

pub(super) fn adjoint(a: &[C], columns: usize) -> Vec<C> {
    let rows = a.len() / columns;
    (0..a.len()).map(|place| a[place % rows * columns + place / rows].conj()).collect()
}

pub(super) fn identity(size: usize) -> Vec<C> {
    (0..size * size).map(|place| C::from(f64::from(place % (size + 1) == 0))).collect()
}

pub(super) fn near<T: Kind>(a: &[C], b: &[C], scale: f64) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).norm() <= T::NEAR * scale)
}

fn run_qr<T: Kind>(threads: usize, qr: &Qr, operand: &[T], wide: usize) -> [Vec<T>; 3] {
    let context = context(threads);
    let mut factors = vec![T::NAN; operand.len()];
    let mut taus = vec![T::NAN; qr.batch * qr.reflections];
    let code = qr.encode().unwrap();
    // SAFETY: buffers are as large as the description says.
    let status = unsafe {
        let (from, into) = (operand.as_ptr().cast(), factors.as_mut_ptr().cast());
        rxla_geqrf(context.as_ptr(), from, into, taus.as_mut_ptr().cast(), code.as_ptr())
    };
    assert_eq!(status, 0);
    let mut basis = vec![T::NAN; qr.batch * qr.rows * wide];
    for (into, from) in basis.chunks_mut(wide).zip(factors.chunks(qr.columns)) {
        let count = wide.min(qr.columns);
        into[..count].copy_from_slice(&from[..count]);
    }
    let given = basis.clone();
    let code = Qr { columns: wide, ..*qr }.encode().unwrap();
    // SAFETY: as above.
    let status = unsafe {
        let (from, into) = (given.as_ptr().cast(), basis.as_mut_ptr().cast());
        rxla_orgqr(context.as_ptr(), from, taus.as_ptr().cast(), into, code.as_ptr())
    };
    assert_eq!(status, 0);
    [factors, taus, basis]
}

fn check_qr<T: Kind>(batch: usize, rows: usize, columns: usize, scale: f64) {
    let matrix: Vec<C> = numbers::<T>(rows * columns).iter().map(|value| value * scale).collect();
    let operand = narrow::<T>(&matrix).repeat(batch);
    let matrix = widen(&operand[..rows * columns]);
    let reflections = rows.min(columns);
    let qr = Qr { element: T::ELEMENT, batch, rows, columns, reflections };
    for wide in [reflections, rows] {
        let results = run_qr(2, &qr, &operand, wide);
        let alone = run_qr(1, &qr, &operand, wide);
        assert!(results.iter().zip(&alone).all(|(a, b)| bits(a) == bits(b)));
        let [factors, _, basis] = results;
        for (factors, basis) in factors.chunks(rows * columns).zip(basis.chunks(rows * wide)) {
            let basis = widen(basis);
            let mut upper = widen(&factors[..reflections * columns]);
            for i in 0..reflections {
                upper[i * columns..][..i.min(columns)].fill(C::default());
                // As in LAPACK, the diagonal is real but for what is the whole of a real row.
                assert!(upper[i * columns + i].im == 0.0);
            }
            upper.resize(wide * columns, C::default());
            let near_by = rows as f64;
            assert!(near::<T>(&product(&basis, &upper, wide, columns), &matrix, near_by * scale));
            let overlaps = product(&adjoint(&basis, wide), &basis, rows, wide);
            assert!(near::<T>(&overlaps, &identity(wide), near_by), "{qr:?}");
        }
    }
}

#[test]
fn reflections_multiply_to_the_matrix() {
    let sizes = [
        (1, 1, 1),
        (3, 4, 4),
        (2, 3, 7),
        (2, 9, 5),
        (1, 1, 6),
        (1, 6, 1),
        (1, 37, 37),
        (1, 70, 50),
        (1, 100, 2),
        (2, 250, 7),
    ];
    for (batch, rows, columns) in sizes {
        for scale in [1.0, 1e-30, 1e30] {
            check_qr::<f32>(batch, rows, columns, scale);
            check_qr::<f64>(batch, rows, columns, scale * scale * scale);
            check_qr::<Complex<f32>>(batch, rows, columns, scale);
            check_qr::<C>(batch, rows, columns, scale);
        }
    }
    forced::each(|| check_qr::<f32>(1, 21, 19, 1.0));
}

#[test]
fn many_reflections_are_applied_at_once() {
    for (batch, rows, columns) in [(1, 64, 64), (3, 97, 70), (1, 70, 131), (1, 300, 65)] {
        for scale in [1.0, 1e-30] {
            check_qr::<f32>(batch, rows, columns, scale);
            check_qr::<C>(batch, rows, columns, scale);
        }
    }
    check_qr::<f64>(1, 120, 110, 1.0);
    check_qr::<Complex<f32>>(1, 120, 110, 1.0);
    forced::each(|| check_qr::<f32>(1, 80, 75, 1.0));
}

/// A column that is done needs no reflection, and otherwise the sign turns.
#[test]
fn signs_are_those_of_lapack() {
    let qr = Qr { element: Element::F64, batch: 1, rows: 2, columns: 2, reflections: 2 };
    let [factors, taus, _] = run_qr(1, &qr, &[3.0_f64, 1.0, 0.0, 2.0], 2);
    assert_eq!((&factors[..], &taus[..]), (&[3.0, 1.0, 0.0, 2.0][..], &[0.0, 0.0][..]));
    let [factors, taus, _] = run_qr(1, &qr, &[3.0_f64, 0.0, 4.0, 0.0], 2);
    assert_eq!((factors[0], factors[2], taus[0]), (-5.0, 0.5, 1.6));
}

fn run_eigen<T: Kind>(
    threads: usize,
    eigen: &Eigen,
    operand: &[T],
) -> (Vec<T>, Vec<T::Part>, Vec<i32>) {
    let context = context(threads);
    let mut vectors = vec![T::NAN; operand.len()];
    let mut values = vec![T::NAN.real(); eigen.batch * eigen.size];
    let mut failures = vec![-1; eigen.batch];
    // SAFETY: buffers are as large as the description says.
    let status = unsafe {
        rxla_syevd(
            context.as_ptr(),
            operand.as_ptr().cast(),
            vectors.as_mut_ptr().cast(),
            values.as_mut_ptr().cast(),
            failures.as_mut_ptr(),
            eigen.encode().unwrap().as_ptr(),
        )
    };
    assert_eq!(status, 0);
    (vectors, values, failures)
}

fn check_eigen<T: Kind<Part: Kind>>(batch: usize, matrix: &[C], scale: f64) {
    let size = matrix.len().isqrt();
    let operand: Vec<T> = narrow(&matrix.iter().map(|value| value * scale).collect::<Vec<_>>());
    let matrix = widen(&operand);
    for triangle in [Triangle::Lower, Triangle::Upper] {
        let mut operand = operand.clone();
        for i in 0..size {
            for j in 0..i {
                let lower = triangle == Triangle::Lower;
                operand[if lower { j * size + i } else { i * size + j }] = T::NAN;
            }
        }
        let operand = operand.repeat(batch);
        let eigen = Eigen { element: T::ELEMENT, batch, size, triangle, vectors: Wanted::Some };
        let (vectors, values, failures) = run_eigen(2, &eigen, &operand);
        let (alone, alone_values, _) = run_eigen(1, &eigen, &operand);
        assert!(bits(&vectors) == bits(&alone) && bits(&values) == bits(&alone_values));
        assert!(failures.iter().all(|&failure| failure == 0), "{eigen:?}");
        let (_, only, _) = run_eigen(2, &Eigen { vectors: Wanted::Nothing, ..eigen }, &operand);
        let (widened, only) = (widen(&values), widen(&only));
        let length = matrix.iter().map(|value| value.norm_sqr()).sum::<f64>().sqrt();
        assert!(near::<T>(&widened, &only, length + scale * 1e-9));
        for (vectors, values) in vectors.chunks(size * size).zip(widened.chunks(size)) {
            assert!(values.is_sorted_by(|a, b| a.re <= b.re));
            let vectors = widen(vectors);
            let left = product(&matrix, &vectors, size, size);
            let right: Vec<C> = (0..size * size).map(|i| vectors[i] * values[i % size]).collect();
            assert!(near::<T>(&left, &right, length.max(1e-30)), "{eigen:?} {scale}");
            let overlaps = product(&adjoint(&vectors, size), &vectors, size, size);
            assert!(near::<T>(&overlaps, &identity(size), size as f64), "{eigen:?}");
        }
    }
}

fn hermitian<T: Kind>(size: usize) -> Vec<C> {
    let root = numbers::<T>(size * size);
    (0..size * size).map(|i| root[i] + root[i % size * size + i / size].conj()).collect()
}

#[test]
fn eigenvectors_are_eigenvectors() {
    for (batch, size) in [(1, 1), (3, 2), (21, 4), (2, 7), (2, 16), (1, 33), (1, 70)] {
        for scale in [1.0, 1e-25, 1e25] {
            check_eigen::<f32>(batch, &hermitian::<f32>(size), scale);
            check_eigen::<f64>(batch, &hermitian::<f64>(size), scale);
            check_eigen::<Complex<f32>>(batch, &hermitian::<Complex<f32>>(size), scale);
            check_eigen::<C>(batch, &hermitian::<C>(size), scale);
        }
    }
    forced::each(|| check_eigen::<f32>(1, &hermitian::<f32>(37), 1.0));
    // Large enough for several threads.
    check_eigen::<f32>(1, &hermitian::<f32>(150), 1.0);
    check_eigen::<Complex<f32>>(1, &hermitian::<Complex<f32>>(140), 1.0);
}

/// Equal values, zeros, matrices that are diagonal, and those of one vector.
#[test]
fn eigenvalues_of_special_matrices() {
    for size in [2, 5, 20] {
        let zero = vec![C::default(); size * size];
        let graded =
            |i: usize| C::from(if i % (size + 1) == 0 { 10_f64.powi(-(i as i32)) } else { 0.0 });
        let graded: Vec<C> = (0..size * size).map(graded).collect();
        let one = square(&numbers::<f32>(size), 1);
        let one = if one.len() == size * size { one } else { vec![C::from(1.0); size * size] };
        for matrix in [&zero, &identity(size), &graded, &one] {
            check_eigen::<f32>(2, matrix, 1.0);
            check_eigen::<C>(1, matrix, 1.0);
        }
    }
    let eigen = Eigen {
        element: Element::F32,
        batch: 2,
        size: 2,
        triangle: Triangle::Lower,
        vectors: Wanted::Some,
    };
    let matrices = [1.0_f32, 0.0, f32::NAN, 1.0, 2.0, 0.0, 0.0, 1.0];
    let (vectors, values, failures) = run_eigen(1, &eigen, &matrices);
    assert!(failures[0] > 0 && failures[1] == 0);
    assert!(vectors[0].is_nan() && values[1].is_nan() && values[2..] == [1.0, 2.0]);
}

type Parts<T> = (Vec<<T as Number>::Part>, Vec<T>, Vec<T>, Vec<i32>);

fn run_singular<T: Kind>(threads: usize, singular: &Singular, operand: &[T]) -> Parts<T> {
    let &Singular { batch, rows, columns, vectors, .. } = singular;
    let (context, least) = (context(threads), rows.min(columns));
    let mut copy = vec![T::NAN; operand.len()];
    let (wide, high) = if vectors == Wanted::All { (rows, columns) } else { (least, least) };
    let mut left = vec![T::NAN; batch * rows * wide];
    let mut right = vec![T::NAN; batch * high * columns];
    let mut values = vec![T::NAN.real(); batch * least];
    let mut failures = vec![-1; batch];
    // SAFETY: buffers are as large as the description says.
    let status = unsafe {
        rxla_gesdd(
            context.as_ptr(),
            operand.as_ptr().cast(),
            copy.as_mut_ptr().cast(),
            values.as_mut_ptr().cast(),
            left.as_mut_ptr().cast(),
            right.as_mut_ptr().cast(),
            failures.as_mut_ptr(),
            singular.encode().unwrap().as_ptr(),
        )
    };
    assert_eq!(status, 0);
    (values, left, right, failures)
}

fn check_singular<T: Kind<Part: Kind>>(batch: usize, columns: usize, matrix: &[C], scale: f64) {
    let rows = matrix.len() / columns;
    let operand: Vec<T> = narrow(&matrix.iter().map(|value| value * scale).collect::<Vec<_>>());
    let matrix = widen(&operand);
    let (operand, least) = (operand.repeat(batch), rows.min(columns));
    let length = matrix.iter().map(|value| value.norm_sqr()).sum::<f64>().sqrt().max(1e-30);
    for vectors in [Wanted::Some, Wanted::All] {
        let singular = Singular { element: T::ELEMENT, batch, rows, columns, vectors };
        let (values, left, right, failures) = run_singular(2, &singular, &operand);
        let alone = run_singular(1, &singular, &operand);
        assert!(bits(&values) == bits(&alone.0) && bits(&left) == bits(&alone.1));
        assert!(bits(&right) == bits(&alone.2) && failures.iter().all(|&failure| failure == 0));
        let (only, ..) =
            run_singular(2, &Singular { vectors: Wanted::Nothing, ..singular }, &operand);
        assert!(near::<T>(&widen(&values), &widen(&only), length));
        let (wide, high) = (left.len() / batch / rows, right.len() / batch / columns);
        let each =
            values.chunks(least).zip(left.chunks(rows * wide)).zip(right.chunks(high * columns));
        for ((values, left), right) in each {
            let (values, left, right) = (widen(values), widen(left), widen(right));
            assert!(values.is_sorted_by(|a, b| a.re >= b.re) && values[least - 1].re >= 0.0);
            let scaled: Vec<C> =
                (0..least * columns).map(|i| values[i / columns] * right[i]).collect();
            let first: Vec<C> =
                (0..rows * least).map(|i| left[i / least * wide + i % least]).collect();
            let whole = product(&first, &scaled, least, columns);
            assert!(near::<T>(&whole, &matrix, length), "{singular:?} {scale}");
            let overlaps = product(&adjoint(&left, wide), &left, rows, wide);
            assert!(near::<T>(&overlaps, &identity(wide), wide as f64), "{singular:?}");
            let overlaps = product(&right, &adjoint(&right, columns), columns, high);
            assert!(near::<T>(&overlaps, &identity(high), high as f64), "{singular:?}");
        }
    }
}

#[test]
fn singular_vectors_multiply_to_the_matrix() {
    let sizes = [
        (1, 1, 1),
        (21, 4, 4),
        (2, 5, 3),
        (2, 3, 8),
        (1, 1, 5),
        (1, 5, 1),
        (1, 16, 16),
        (1, 40, 33),
        (1, 20, 70),
        (2, 30, 9),
        (1, 90, 17),
        (1, 40, 1),
        (2, 100, 3),
        (1, 2, 300),
        (1, 250, 7),
    ];
    for (batch, rows, columns) in sizes {
        for scale in [1.0, 1e-25, 1e25] {
            check_singular::<f32>(batch, columns, &numbers::<f32>(rows * columns), scale);
            check_singular::<f64>(batch, columns, &numbers::<f64>(rows * columns), scale);
            check_singular::<Complex<f32>>(
                batch,
                columns,
                &numbers::<Complex<f32>>(rows * columns),
                scale,
            );
            check_singular::<C>(batch, columns, &numbers::<C>(rows * columns), scale);
        }
    }
    forced::each(|| check_singular::<f32>(1, 11, &numbers::<f32>(17 * 11), 1.0));
    // Large enough for several threads.
    check_singular::<f32>(1, 110, &numbers::<f32>(160 * 110), 1.0);
    check_singular::<C>(1, 150, &numbers::<C>(70 * 150), 1.0);
    check_singular::<f32>(1, 70, &numbers::<f32>(300 * 70), 1.0);
    // A triangle with zeros on its diagonal.
    let mut lacking = numbers::<f64>(64 * 20);
    lacking.chunks_mut(20).for_each(|row| (row[3], row[19]) = (row[2], C::default()));
    check_singular::<f64>(1, 20, &lacking, 1.0);
}

/// Ranks below the size, zeros, and diagonals in either order.
#[test]
fn singular_values_of_special_matrices() {
    for size in [2, 5, 20, 30] {
        let on_diagonal = |value: &dyn Fn(i32) -> f64| -> Vec<C> {
            let at = |i: usize| if i % (size + 1) == 0 { value((i / size) as i32) } else { 0.0 };
            (0..size * size).map(|i| C::from(at(i))).collect()
        };
        let beside = |i: usize| C::from(f64::from(i % size == i / size + 1));
        let matrices = [
            vec![C::default(); size * size],
            vec![C::from(1.0); size * size],
            identity(size),
            on_diagonal(&|i| 10_f64.powi(-i)),
            on_diagonal(&|i| 10_f64.powi(i - 10)),
            on_diagonal(&|i| f64::from(i % 2) - 0.5 * f64::from(i % 3)),
            (0..size * size).map(beside).collect(),
        ];
        for matrix in &matrices {
            check_singular::<f32>(2, size, matrix, 1.0);
            check_singular::<C>(1, size, matrix, 1.0);
        }
        // Two diagonals with a zero in the middle of the first.
        let middle = |i: usize| {
            let on = i % (size + 1) == 0 && i / size != size / 2;
            C::from(f64::from(on) + beside(i).re)
        };
        check_singular::<f64>(1, size, &(0..size * size).map(middle).collect::<Vec<_>>(), 1.0);
    }
    let singular =
        Singular { element: Element::F32, batch: 2, rows: 2, columns: 1, vectors: Wanted::Some };
    let (values, left, _, failures) =
        run_singular(1, &singular, &[1.0_f32, f32::INFINITY, 3.0, 4.0]);
    assert!(failures[0] > 0 && failures[1] == 0);
    assert!(values[0].is_nan() && left[1].is_nan() && (values[1] - 5.0).abs() < 1e-6);
}
