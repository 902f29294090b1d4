//! Factors and solutions against the definitions.

use super::*;
use crate::pool::Pool;

pub(super) type C = Complex<f64>;

/// Types of numbers, to and from the widest one.
pub(super) trait Kind: Number {
    const ELEMENT: Element;
    /// How far results may be off.
    const NEAR: f64;
    fn narrow(value: C) -> Self;
    fn widen(self) -> C;
}

macro_rules! kinds {
    ($($type:ty, $element:ident, $near:literal, $real:ty, $narrow:expr, $widen:expr;)*) => {$(
        impl Kind for $type {
            const ELEMENT: Element = Element::$element;
            const NEAR: f64 = $near;

            fn narrow(value: C) -> $type {
                let narrow: fn(C) -> $type = $narrow;
                narrow(value)
            }

            fn widen(self) -> C {
                let widen: fn($type) -> C = $widen;
                widen(self)
            }
        }
    )*};
}

kinds! {
    f32, F32, 1e-4, f32, |x| x.re as f32, |x| C::from(f64::from(x));
    f64, F64, 1e-11, f64, |x| x.re, C::from;
    Complex<f32>, C64, 1e-4, f32, |x| Complex::new(x.re as f32, x.im as f32),
        |x| C::new(x.re.into(), x.im.into());
    C, C128, 1e-11, f64, |x| x, |x| x;
}

/// Numbers as they are in a type.
pub(super) fn numbers<T: Kind>(count: usize) -> Vec<C> {
    let value = |i: usize| {
        let x = (i * i % 1013) as f64;
        C::new((x * 0.7 + 0.3).sin(), (x * 1.3).cos())
    };
    (0..count).map(|i| T::narrow(value(i)).widen()).collect()
}

pub(super) fn narrow<T: Kind>(values: &[C]) -> Vec<T> {
    values.iter().map(|&value| T::narrow(value)).collect()
}

/// `matrix` times its adjoint.
pub(super) fn square(matrix: &[C], size: usize) -> Vec<C> {
    let mut result = vec![C::default(); size * size];
    for i in 0..size {
        for j in 0..=i {
            let rows = matrix[i * size..][..size].iter().zip(&matrix[j * size..][..size]);
            let sum: C = rows.map(|(x, y)| x * y.conj()).sum();
            (result[i * size + j], result[j * size + i]) = (sum, sum.conj());
        }
    }
    result
}

fn adjoint(matrix: &[C], size: usize) -> Vec<C> {
    (0..size * size).map(|place| matrix[place % size * size + place / size].conj()).collect()
}

fn run_cholesky<T: Kind>(threads: usize, batch: usize, half: Triangle, operand: &[T]) -> Vec<T> {
    let size = (operand.len() / batch).isqrt();
    let context = Context::new(Some(Pool::with_threads(threads)));
    let code = Cholesky { element: T::ELEMENT, batch, size, triangle: half }.encode().unwrap();
    let run = |operand: *const T, result: *mut T| {
        // SAFETY: buffers are as large as the description says.
        let status = unsafe {
            rxla_cholesky(context.as_ptr(), operand.cast(), result.cast(), code.as_ptr())
        };
        assert_eq!(status, 0);
    };
    let mut result = vec![T::NAN; operand.len()];
    run(operand.as_ptr(), result.as_mut_ptr());
    let mut in_place = operand.to_vec();
    run(in_place.as_ptr(), in_place.as_mut_ptr());
    assert!(bits(&result) == bits(&in_place));
    result
}

pub(super) fn bits<T>(values: &[T]) -> &[u8] {
    // SAFETY: numbers have no padding.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

fn check_factors<T: Kind>(batch: usize, size: usize) {
    let root = numbers::<T>(size * size);
    let mut matrix = square(&root, size);
    (0..size).for_each(|i| matrix[i * size + i] += size as f64);
    for half in [Triangle::Lower, Triangle::Upper] {
        // What is in the other triangle does not count.
        let mut operand = narrow::<T>(&matrix);
        for i in 0..size {
            for j in 0..i {
                let place = if half == Triangle::Lower { j * size + i } else { i * size + j };
                operand[place] = T::NAN;
            }
        }
        let operand = operand.repeat(batch);
        let result = run_cholesky(2, batch, half, &operand);
        assert!(bits(&result) == bits(&run_cholesky(1, batch, half, &operand)));
        // A matrix has the same factor whatever others are beside it.
        let alone = run_cholesky(1, 1, half, &operand[..size * size]).repeat(batch);
        assert!(result.iter().zip(&alone).all(|(a, b)| a.widen() == b.widen()));
        for factor in result.chunks(size * size) {
            let factor: Vec<C> = factor.iter().map(|value| value.widen()).collect();
            let lower = if half == Triangle::Lower { factor } else { adjoint(&factor, size) };
            let above = |i: usize| i % size > i / size;
            assert!((0..size * size).all(|i| !above(i) || lower[i] == C::default()));
            let product = square(&lower, size);
            let near = |(a, b): (&C, &C)| (a - b).norm() < T::NEAR * size as f64;
            assert!(product.iter().zip(&matrix).all(near), "{:?} {size} {half:?}", T::ELEMENT);
        }
    }
}

#[test]
fn factors_multiply_to_the_matrix() {
    for (batch, size) in [(1, 1), (2, 7), (21, 5), (9, 32), (3, 33), (2, 70), (1, 150)] {
        check_factors::<f32>(batch, size);
        check_factors::<f64>(batch, size);
        check_factors::<Complex<f32>>(batch, size);
        check_factors::<C>(batch, size);
    }
    check_factors::<f32>(1, 300);
}

#[test]
fn matrices_that_are_not_positive_definite() {
    for (batch, size) in [(1, 3), (9, 3), (2, 150)] {
        for bad in [-1.0, f32::NAN] {
            let mut matrix = vec![0.0_f32; batch * size * size];
            let end = size * size;
            (0..batch * size).for_each(|i| matrix[i / size * end + i % size * (size + 1)] = 4.0);
            matrix[end - 1] = bad;
            let result = run_cholesky(2, batch, Triangle::Lower, &matrix);
            assert!(result[..end].iter().all(|value| value.is_nan()));
            let fine = |i: usize| if i % end % (size + 1) == 0 { 2.0 } else { 0.0 };
            assert!((end..result.len()).all(|i| result[i] == fine(i)));
        }
    }
    let half = Cholesky { element: Element::F16, batch: 1, size: 1, triangle: Triangle::Lower };
    assert!(half.encode().is_err());
}

fn run_solve<T: Kind>(threads: usize, solve: &TriangularSolve, a: &[T], b: &[T]) -> Vec<T> {
    let context = Context::new(Some(Pool::with_threads(threads)));
    let mut x = vec![T::NAN; b.len()];
    let code = solve.encode().unwrap();
    // SAFETY: buffers are as large as the description says.
    let status = unsafe {
        rxla_triangular_solve(
            context.as_ptr(),
            a.as_ptr().cast(),
            b.as_ptr().cast(),
            x.as_mut_ptr().cast(),
            code.as_ptr(),
        )
    };
    assert_eq!(status, 0);
    x
}

/// Whether `x` solves the first system.
fn check_solution<T: Kind>(solve: &TriangularSolve, a: &[C], b: &[C], x: &[T]) {
    let &TriangularSolve { size, lines, side, triangle, form, diagonal, .. } = solve;
    let at = |i: usize, j: usize| {
        let (r, c) = if form == Form::Plain { (i, j) } else { (j, i) };
        let inside = if triangle == Triangle::Lower { c <= r } else { r <= c };
        let value = a[r * size + c];
        match () {
            _ if r == c && diagonal == Diagonal::Unit => C::from(1.0),
            _ if !inside => C::default(),
            _ if form == Form::Adjoint => value.conj(),
            _ => value,
        }
    };
    let place = |i: usize, line: usize| match side {
        Side::Left => i * lines + line,
        Side::Right => line * size + i,
    };
    for i in 0..size {
        for line in 0..lines {
            let term = |k: usize| {
                let factor = if side == Side::Left { at(i, k) } else { at(k, i) };
                factor * x[place(k, line)].widen()
            };
            let (mut sum, mut scale) = (C::default(), 1.0);
            for k in 0..size {
                sum += term(k);
                scale += term(k).norm();
            }
            assert!((sum - b[place(i, line)]).norm() < T::NEAR * scale, "{solve:?}");
        }
    }
}

fn check_solutions<T: Kind>(batch: usize, size: usize, lines: usize) {
    let mut a = numbers::<T>(size * size);
    // So that unknowns do not grow without end.
    a.iter_mut().for_each(|value| *value /= size as f64);
    (0..size).for_each(|i| a[i * (size + 1)] += 2.0);
    let a: Vec<C> = narrow::<T>(&a).into_iter().map(T::widen).collect();
    let b = numbers::<T>(size * lines);
    let (all_a, all_b) = (narrow::<T>(&a).repeat(batch), narrow::<T>(&b).repeat(batch));
    for side in [Side::Left, Side::Right] {
        for triangle in [Triangle::Lower, Triangle::Upper] {
            for form in [Form::Plain, Form::Transpose, Form::Adjoint] {
                for diagonal in [Diagonal::Stored, Diagonal::Unit] {
                    let element = T::ELEMENT;
                    let solve = TriangularSolve {
                        element,
                        batch,
                        size,
                        lines,
                        side,
                        triangle,
                        form,
                        diagonal,
                    };
                    let x = run_solve(2, &solve, &all_a, &all_b);
                    assert!(bits(&x) == bits(&run_solve(1, &solve, &all_a, &all_b)));
                    check_solution(&solve, &a, &b, &x[..size * lines]);
                    let equal = |other: &[T]| bits(other) == bits(&x[..size * lines]);
                    assert!(x.chunks(size * lines).all(equal), "{solve:?}");
                }
            }
        }
    }
}

#[test]
fn solutions_solve() {
    let small = [(1, 1, 1), (2, 3, 2), (2, 5, 40), (2, 40, 5), (9, 6, 4), (17, 4, 1), (9, 6, 50)];
    for (batch, size, lines) in small {
        check_solutions::<f32>(batch, size, lines);
        check_solutions::<f64>(batch, size, lines);
        check_solutions::<Complex<f32>>(batch, size, lines);
        check_solutions::<C>(batch, size, lines);
    }
}

/// More rows than are solved at once.
#[test]
fn large_systems() {
    for (size, lines) in [(300, 5), (270, 70), (131, 2)] {
        check_solutions::<f32>(1, size, lines);
        check_solutions::<C>(1, size / 2, lines);
    }
}

fn run_lu<T: Kind>(threads: usize, lu: &Lu, operand: &[T]) -> (Vec<T>, Vec<i32>, Vec<i32>) {
    let context = Context::new(Some(Pool::with_threads(threads)));
    let mut result = vec![T::NAN; operand.len()];
    let mut pivots = vec![-1; lu.batch * lu.rows.min(lu.columns)];
    let mut failures = vec![-1; lu.batch];
    // SAFETY: buffers are as large as the description says.
    let status = unsafe {
        rxla_getrf(
            context.as_ptr(),
            operand.as_ptr().cast(),
            result.as_mut_ptr().cast(),
            pivots.as_mut_ptr(),
            failures.as_mut_ptr(),
            lu.encode().unwrap().as_ptr(),
        )
    };
    assert_eq!(status, 0);
    (result, pivots, failures)
}

fn check_lu<T: Kind>(batch: usize, rows: usize, columns: usize) {
    let matrix = numbers::<T>(rows * columns);
    let lu = Lu { element: T::ELEMENT, batch, rows, columns };
    let operand = narrow::<T>(&matrix).repeat(batch);
    let (result, pivots, failures) = run_lu(2, &lu, &operand);
    let (alone, alone_pivots, _) = run_lu(1, &lu, &operand);
    assert!(bits(&result) == bits(&alone) && pivots == alone_pivots);
    assert!(failures.iter().all(|&failure| failure == 0));
    let least = rows.min(columns);
    for (factors, pivots) in result.chunks(rows * columns).zip(pivots.chunks(least)) {
        let factors: Vec<C> = factors.iter().map(|value| value.widen()).collect();
        let mut exchanged = matrix.clone();
        for (i, &pivot) in pivots.iter().enumerate() {
            for j in 0..columns {
                exchanged.swap(i * columns + j, (pivot as usize - 1) * columns + j);
            }
        }
        for i in 0..rows {
            for j in 0..columns {
                let lower = |k: usize| if k == i { C::from(1.0) } else { factors[i * columns + k] };
                let sum: C = (0..least.min(i + 1).min(j + 1))
                    .map(|k| lower(k) * factors[k * columns + j])
                    .sum();
                let scale = least as f64;
                assert!((sum - exchanged[i * columns + j]).norm() < T::NEAR * scale, "{lu:?}");
                // No factor is above one by what pivots are chosen by.
                assert!(i <= j || factors[i * columns + j].norm() < 1.5);
            }
        }
    }
}

#[test]
fn triangles_multiply_to_the_matrix() {
    let sizes =
        [(2, 1, 1), (3, 4, 4), (2, 3, 7), (2, 9, 5), (1, 40, 40), (1, 90, 50), (1, 50, 130)];
    for (batch, rows, columns) in sizes {
        check_lu::<f32>(batch, rows, columns);
        check_lu::<f64>(batch, rows, columns);
        check_lu::<Complex<f32>>(batch, rows, columns);
        check_lu::<C>(batch, rows, columns);
    }
    check_lu::<f64>(1, 290, 270);
}

#[test]
fn singular_matrices_are_told() {
    for size in [3, 100] {
        // The last column that is not zero is the one before the last but one.
        let mut matrix = vec![0.0_f64; size * size];
        (0..size).for_each(|i| matrix[i * (size + 1)] = if i < size - 2 { 1.0 } else { 0.0 });
        let lu = Lu { element: Element::F64, batch: 1, rows: size, columns: size };
        let (result, pivots, failures) = run_lu(2, &lu, &matrix);
        assert_eq!(failures, [size as i32 - 1]);
        assert!(result == matrix && pivots.iter().enumerate().all(|(i, &p)| p == i as i32 + 1));
    }
}

/// LAPACK's way: the other triangle stays, and the column that fails is told.
#[test]
fn failures_of_cholesky_have_numbers() {
    let context = Context::new(Some(Pool::with_threads(2)));
    for (batch, size) in [(1, 4), (9, 4), (1, 150)] {
        for half in [Triangle::Lower, Triangle::Upper] {
            let one = |i: usize| if i % (size + 1) == 0 { 4.0 } else { 0.0 };
            let mut matrix: Vec<f32> =
                (0..batch * size * size).map(|i| one(i % (size * size))).collect();
            let corner = if half == Triangle::Lower { size - 1 } else { size * (size - 1) };
            matrix[corner] = 7.0;
            let run = |matrix: &[f32]| {
                let mut result = vec![0.0_f32; matrix.len()];
                let mut failures = vec![-1; batch];
                let code = Cholesky { element: Element::F32, batch, size, triangle: half };
                // SAFETY: buffers are as large as the description says.
                let status = unsafe {
                    rxla_potrf(
                        context.as_ptr(),
                        matrix.as_ptr().cast(),
                        result.as_mut_ptr().cast(),
                        failures.as_mut_ptr(),
                        code.encode().unwrap().as_ptr(),
                    )
                };
                assert_eq!(status, 0);
                (result, failures)
            };
            let (result, failures) = run(&matrix);
            assert!(failures.iter().all(|&failure| failure == 0));
            assert_eq!((result[corner], result[0], result[size + 1]), (7.0, 2.0, 2.0));
            matrix[(size - 2) * (size + 1)] = -4.0;
            let (result, failures) = run(&matrix);
            assert_eq!(failures[0], size as i32 - 1);
            assert!(result[0].is_nan() && failures[1..].iter().all(|&failure| failure == 0));
        }
    }
}
