//! Schur's form and eigenvectors of general matrices against the definitions.

use super::factors_test::{adjoint, context, identity, near, product, widen};
use super::tests::{C, Kind, bits, narrow, numbers};
use super::*;
use crate::gemm::sets::forced;

/// Types whose eigenvalues are in one array or in two.
trait General: Kind<Part: Kind> {
    type Wide: Kind;
}

impl General for f32 {
    type Wide = Complex<f32>;
}

impl General for f64 {
    type Wide = C;
}

impl General for Complex<f32> {
    type Wide = Complex<f32>;
}

impl General for C {
    type Wide = C;
}

/// Eigenvalues as two arrays hold them, or as one does.
fn values<T: General>(real: &[T], imaginary: &[T]) -> Vec<C> {
    match T::PARTS {
        1 => real.iter().zip(imaginary).map(|(a, b)| C::new(a.widen().re, b.widen().re)).collect(),
        _ => widen(real),
    }
}

struct Found<T> {
    form: Vec<T>,
    basis: Vec<T>,
    values: Vec<C>,
    failures: Vec<i32>,
}

fn run_schur<T: General>(threads: usize, schur: &Schur, operand: &[T]) -> Found<T> {
    let (context, count) = (context(threads), schur.batch * schur.size);
    let (mut form, mut basis) = (operand.to_vec(), vec![T::NAN; operand.len()]);
    let [mut real, mut imaginary] = [(); 2].map(|()| vec![T::NAN; count]);
    let [mut selected, mut failures] = [(); 2].map(|()| vec![-1; schur.batch]);
    let into = form.as_mut_ptr().cast::<u8>();
    // SAFETY: buffers are as large as the description says; the form takes the operand's place.
    let status = unsafe {
        rxla_gees(
            context.as_ptr(),
            into,
            into,
            basis.as_mut_ptr().cast(),
            real.as_mut_ptr().cast(),
            imaginary.as_mut_ptr().cast(),
            selected.as_mut_ptr(),
            failures.as_mut_ptr(),
            schur.encode().unwrap().as_ptr(),
        )
    };
    assert_eq!(status, 0);
    assert!(selected.iter().all(|&count| count == 0));
    Found { form, basis, values: values(&real, &imaginary), failures }
}

fn length(matrix: &[C]) -> f64 {
    matrix.iter().map(|value| value.norm_sqr()).sum::<f64>().sqrt()
}

fn check_schur<T: General>(batch: usize, matrix: &[C], scale: f64) {
    let size = matrix.len().isqrt();
    let operand: Vec<T> = narrow(&matrix.iter().map(|value| value * scale).collect::<Vec<_>>());
    let matrix = widen(&operand);
    let operand = operand.repeat(batch);
    let schur = Schur { element: T::ELEMENT, batch, size, vectors: true };
    let found = run_schur(2, &schur, &operand);
    let alone = run_schur(1, &schur, &operand);
    assert!(bits(&found.form) == bits(&alone.form) && bits(&found.basis) == bits(&alone.basis));
    let only = run_schur(2, &Schur { vectors: false, ..schur }, &operand);
    assert!(bits(&found.form) == bits(&only.form) && found.values == only.values);
    assert!(found.failures.iter().all(|&failure| failure == 0), "{schur:?}");
    let (form, basis) = (widen(&found.form[..size * size]), widen(&found.basis[..size * size]));
    let at = |i: usize, j: usize| form[i * size + j];
    for i in 0..size {
        assert!((0..i.saturating_sub(1)).all(|j| at(i, j) == C::default()));
        if i > 0 && at(i, i - 1) != C::default() {
            // A block of a pair, and none that overlaps it.
            assert!(at(i, i) == at(i - 1, i - 1));
            assert!(at(i, i - 1).re * at(i - 1, i).re < 0.0);
            assert!(i == 1 || at(i - 1, i - 2) == C::default());
            let root = (-at(i, i - 1).re * at(i - 1, i).re).sqrt();
            let pair = [C::new(at(i, i).re, root), C::new(at(i, i).re, -root)];
            assert!(near::<T>(&found.values[i - 1..=i], &pair, length(&matrix)));
        } else if i + 1 == size || at(i + 1, i) == C::default() {
            assert_eq!(found.values[i], at(i, i));
        }
    }
    let overlaps = product(&adjoint(&basis, size), &basis, size, size);
    assert!(near::<T>(&overlaps, &identity(size), size as f64), "{schur:?}");
    let back = product(&product(&basis, &form, size, size), &adjoint(&basis, size), size, size);
    assert!(near::<T>(&back, &matrix, length(&matrix)), "{schur:?} {scale}");
}

struct Vectors<T: General> {
    values: Vec<C>,
    /// Of products from the left and from the right.
    vectors: [Vec<T::Wide>; 2],
    failures: Vec<i32>,
}

fn run_eigen<T: General>(threads: usize, eigen: &GeneralEigen, operand: &[T]) -> Vectors<T> {
    let (context, count) = (context(threads), eigen.batch * eigen.size);
    let [mut left, mut right] = [(); 2].map(|()| vec![T::Wide::NAN; operand.len()]);
    let [mut real, mut imaginary] = [(); 2].map(|()| vec![T::NAN; count]);
    let mut failures = vec![-1; eigen.batch];
    let code = eigen.encode().unwrap();
    let (from, values_into) = (operand.as_ptr().cast(), real.as_mut_ptr().cast());
    let [left_into, right_into] = [&mut left, &mut right].map(|all| all.as_mut_ptr().cast());
    // SAFETY: buffers are as large as the description says.
    let status = unsafe {
        match T::PARTS {
            1 => rxla_geev_real(
                context.as_ptr(),
                from,
                values_into,
                imaginary.as_mut_ptr().cast(),
                left_into,
                right_into,
                failures.as_mut_ptr(),
                code.as_ptr(),
            ),
            _ => rxla_geev(
                context.as_ptr(),
                from,
                values_into,
                left_into,
                right_into,
                failures.as_mut_ptr(),
                code.as_ptr(),
            ),
        }
    };
    assert_eq!(status, 0);
    Vectors { values: values(&real, &imaginary), vectors: [left, right], failures }
}

fn check_eigen<T: General>(batch: usize, matrix: &[C], scale: f64) {
    let size = matrix.len().isqrt();
    let operand: Vec<T> = narrow(&matrix.iter().map(|value| value * scale).collect::<Vec<_>>());
    let matrix = widen(&operand);
    let operand = operand.repeat(batch);
    let eigen = GeneralEigen { element: T::ELEMENT, batch, size, left: true, right: true };
    let found = run_eigen(2, &eigen, &operand);
    let alone = run_eigen(1, &eigen, &operand);
    assert!([0, 1].iter().all(|&i| bits(&found.vectors[i]) == bits(&alone.vectors[i])));
    assert!(found.values == alone.values && found.failures.iter().all(|&failure| failure == 0));
    for wanted in [[true, false], [false, true]] {
        let one = GeneralEigen { left: wanted[0], right: wanted[1], ..eigen };
        let one = run_eigen(1, &one, &operand);
        let side = usize::from(wanted[1]);
        assert!(bits(&one.vectors[side]) == bits(&found.vectors[side]));
    }
    let [left, right] = found.vectors.map(|all| widen(&all[..size * size]));
    let scaled = |vectors: &[C], conjugate: bool| -> Vec<C> {
        let value = |i: usize| if conjugate { found.values[i].conj() } else { found.values[i] };
        (0..size * size).map(|i| vectors[i] * value(i % size)).collect()
    };
    let near_by = length(&matrix).max(1e-30);
    let from_the_right = product(&matrix, &right, size, size);
    assert!(near::<T>(&from_the_right, &scaled(&right, false), near_by), "{eigen:?} {scale}");
    let from_the_left = product(&adjoint(&matrix, size), &left, size, size);
    assert!(near::<T>(&from_the_left, &scaled(&left, true), near_by), "{eigen:?} {scale}");
    for vectors in [&left, &right] {
        for column in 0..size {
            let vector: Vec<C> = (0..size).map(|i| vectors[i * size + column]).collect();
            assert!((length(&vector) - 1.0).abs() < 1e-4);
            assert!(
                T::PARTS > 1
                    || found.values[column].im != 0.0
                    || vector.iter().all(|x| x.im == 0.0)
            );
            let largest = vector.iter().map(|x| x.norm()).fold(0.0, f64::max);
            assert!(vector.iter().any(|x| x.im == 0.0 && x.norm() > largest - 1e-4));
        }
    }
}

fn check_all(batch: usize, matrix: impl Fn() -> Vec<C>, scale: f64) {
    check_schur::<f32>(batch, &matrix(), scale);
    check_schur::<f64>(batch, &matrix(), scale);
    check_eigen::<f32>(batch, &matrix(), scale);
    check_eigen::<f64>(batch, &matrix(), scale);
    check_eigen::<Complex<f32>>(batch, &matrix(), scale);
    check_eigen::<C>(batch, &matrix(), scale);
}

#[test]
fn general_matrices() {
    for (batch, size) in [(1, 1), (3, 2), (21, 3), (2, 4), (2, 7), (2, 16), (1, 33), (1, 74)] {
        for scale in [1.0, 1e-25, 1e25] {
            check_all(batch, || numbers::<C>(size * size), scale);
        }
    }
    check_all(1, || numbers::<C>(120 * 120), 1.0);
    forced::each(|| check_all(1, || numbers::<C>(19 * 19), 1.0));
}

/// A matrix whose numbers are a function of their place.
fn matrix(size: usize, value: impl Fn(usize, usize) -> f64) -> Vec<C> {
    (0..size * size).map(|place| C::from(value(place / size, place % size))).collect()
}

#[test]
fn special_matrices() {
    let one = |condition: bool| f64::from(u8::from(condition));
    for size in [2, 3, 5, 20] {
        let all: [Vec<C>; 12] = [
            matrix(size, |_, _| 0.0),
            matrix(size, |_, _| 1.0),
            identity(size),
            // Triangles of either kind, Jordan blocks, and one that is neither.
            matrix(size, |i, j| if i > j { 0.3 } else { one(i == j) * i as f64 }),
            matrix(size, |i, j| if i < j { 0.3 } else { one(i == j) * i as f64 }),
            matrix(size, |i, j| one(i == j) + one(j == i + 1)),
            matrix(size, |i, j| one(i == j) * 2.0 + one(i == j + 1)),
            // Steps with the shifts that it suggests leave this as it is.
            matrix(size, |i, j| one(j == (i + 1) % size)),
            // No real eigenvalue but zero.
            matrix(size, |i, j| one(j == i + 1) - one(i == j + 1)),
            // Roots of a polynomial.
            matrix(size, |i, j| if i == 0 { 1.0 / (j + 1) as f64 } else { one(i == j + 1) }),
            // Pairs, of which two are equal.
            matrix(size, |i, j| {
                if i / 2 == j / 2 {
                    one(i == j) + one(j > i) - one(i > j)
                } else {
                    0.1 * one(j > i)
                }
            }),
            // Rows and columns of very unlike lengths.
            matrix(size, |i, j| {
                ((i * 7 + j * 3) as f64).sin() * 10_f64.powi(i as i32 - j as i32).min(1e6)
            }),
        ];
        for (number, special) in all.iter().enumerate() {
            if number < 11 {
                check_all(2, || special.clone(), 1.0);
            } else {
                check_schur::<f64>(1, special, 1.0);
                check_eigen::<f64>(1, special, 1.0);
            }
        }
        // What can be read off is exact.
        let eigen = GeneralEigen { element: Element::F32, batch: 1, size, left: true, right: true };
        for triangle in &all[3..7] {
            let found = run_eigen::<f32>(1, &eigen, &narrow(triangle));
            let mut values: Vec<f64> = found.values.iter().map(|value| value.re).collect();
            values.sort_by(f64::total_cmp);
            let expected: Vec<f64> = (0..size).map(|i| triangle[i * size + i].re).collect();
            assert!(values == expected && found.values.iter().all(|value| value.im == 0.0));
        }
    }
}

#[test]
fn what_is_not_finite_fails() {
    for bad in [f32::NAN, f32::INFINITY] {
        let operand = [1.0_f32, 2.0, bad, 4.0, 2.0, 0.0, 0.0, 3.0];
        let schur = Schur { element: Element::F32, batch: 2, size: 2, vectors: true };
        let found = run_schur(1, &schur, &operand);
        assert_eq!(found.failures, [1, 0]);
        assert!(found.form[0].is_nan() && found.basis[3].is_nan() && found.values[1].is_nan());
        assert_eq!(found.form[4..], [2.0, 0.0, 0.0, 3.0]);
        let eigen =
            GeneralEigen { element: Element::F32, batch: 2, size: 2, left: true, right: true };
        let found = run_eigen(1, &eigen, &operand);
        assert_eq!(found.failures, [1, 0]);
        assert!(found.values[0].is_nan() && found.vectors.iter().all(|all| all[0].is_nan()));
        assert_eq!(found.values[2..], [C::from(2.0), C::from(3.0)]);
    }
}

fn check_hessenberg<T: General>(size: usize, rows: [usize; 2], given: &[C]) {
    let operand: Vec<T> = narrow(given);
    let given = widen(&operand);
    let (context, mut result) = (context(1), operand.clone());
    let (mut taus, mut failures) = (vec![T::NAN; size - 1], vec![-1]);
    let code = Hessenberg { element: T::ELEMENT, batch: 1, size, rows }.encode().unwrap();
    let into = result.as_mut_ptr().cast::<u8>();
    // SAFETY: buffers are as large as the description says; the result takes the operand's place.
    let status = unsafe {
        let taus = taus.as_mut_ptr().cast();
        rxla_gehrd(context.as_ptr(), into, into, taus, failures.as_mut_ptr(), code.as_ptr())
    };
    assert!(status == 0 && failures == [0]);
    let mut basis = identity(size);
    for k in 0..size - 1 {
        let mut v = vec![C::default(); size];
        v[k + 1] = C::from(1.0);
        if (rows[0]..rows[1]).contains(&k) {
            (k + 2..=rows[1]).for_each(|i| v[i] = result[i * size + k].widen());
        } else {
            assert!(taus[k].widen() == C::default());
        }
        let reflection: Vec<C> = (0..size * size)
            .map(|i| identity(size)[i] - taus[k].widen() * v[i / size] * v[i % size].conj())
            .collect();
        basis = product(&basis, &reflection, size, size);
    }
    let form: Vec<C> = (0..size * size)
        .map(|i| if i / size <= i % size + 1 { result[i].widen() } else { C::default() })
        .collect();
    let back = product(&product(&basis, &form, size, size), &adjoint(&basis, size), size, size);
    assert!(near::<T>(&back, &given, length(&given)));
}

#[test]
fn reductions_to_hessenberg_matrices() {
    for size in [1, 2, 3, 8, 30] {
        let given = numbers::<C>(size * size);
        check_hessenberg::<f32>(size, [0, size - 1], &given);
        check_hessenberg::<f64>(size, [0, size - 1], &given);
        check_hessenberg::<Complex<f32>>(size, [0, size - 1], &given);
        check_hessenberg::<C>(size, [0, size - 1], &given);
    }
    // What is triangular already stays.
    let given: Vec<C> = numbers::<C>(64)
        .into_iter()
        .enumerate()
        .map(|(i, x)| if i % 8 < i / 8 && !(i % 8 > 1 && i / 8 < 6) { C::default() } else { x })
        .collect();
    check_hessenberg::<f64>(8, [2, 5], &given);
}
