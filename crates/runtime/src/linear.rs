//! `rxla_cholesky` and `rxla_triangular_solve`, for batches of matrices of any size.
//!
//! Small matrices are factored by rows, each on one thread. Large ones are cut into blocks of columns,
//! so that most of the work is a product of matrices. Triangular systems are solved for some right-hand
//! sides at a time, side by side in the lanes of vectors.

use num_complex::Complex;
use rxla_base::{Error, Result};

use crate::allocator::Allocator;
use crate::context::Context;
use crate::dot::{self, Decoder, Dim, Dot};
use crate::element::Element;
use crate::gemm::Address;
use crate::status::{Status, guard};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i64)]
pub enum Triangle {
    Lower = 0,
    Upper = 1,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i64)]
pub enum Side {
    /// `op(A) X = B`.
    Left = 0,
    /// `X op(A) = B`.
    Right = 1,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i64)]
pub enum Form {
    Plain = 0,
    Transpose = 1,
    Adjoint = 2,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i64)]
pub enum Diagonal {
    Stored = 0,
    /// All ones; what is stored does not count.
    Unit = 1,
}

/// The factors of dense row-major matrices, of which one triangle is read. The other triangle of the
/// result is zero; a matrix that is not positive definite gives NaN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cholesky {
    pub element: Element,
    pub batch: usize,
    pub size: usize,
    pub triangle: Triangle,
}

/// Triangular systems with dense row-major matrices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TriangularSolve {
    pub element: Element,
    pub batch: usize,
    pub size: usize,
    /// Columns of X on the right of A, rows on its left.
    pub lines: usize,
    pub side: Side,
    pub triangle: Triangle,
    pub form: Form,
    pub diagonal: Diagonal,
}

fn check(element: Element) -> Result<()> {
    match element {
        Element::F32 | Element::F64 | Element::C64 | Element::C128 => Ok(()),
        other => Err(Error::unimplemented(format!("linear algebra of {other:?}"))),
    }
}

impl Cholesky {
    /// The array for [`rxla_cholesky`].
    pub fn encode(&self) -> Result<Vec<i64>> {
        check(self.element)?;
        let sizes = [self.batch, self.size].map(|size| size as i64);
        Ok(vec![self.element as i64, sizes[0], sizes[1], self.triangle as i64])
    }
}

impl TriangularSolve {
    /// The array for [`rxla_triangular_solve`].
    pub fn encode(&self) -> Result<Vec<i64>> {
        check(self.element)?;
        let mut code = vec![self.element as i64];
        code.extend([self.batch, self.size, self.lines].map(|size| size as i64));
        code.extend([self.side as i64, self.triangle as i64]);
        code.extend([self.form as i64, self.diagonal as i64]);
        Ok(code)
    }
}

/// Runs `$body` with `T` standing for the type of numbers.
macro_rules! with_number {
    ($element:expr, $T:ident => $body:expr) => {
        match $element {
            Element::F32 => {
                type $T = f32;
                $body
            }
            Element::F64 => {
                type $T = f64;
                $body
            }
            Element::C64 => {
                type $T = Complex<f32>;
                $body
            }
            Element::C128 => {
                type $T = Complex<f64>;
                $body
            }
            other => Err(Error::internal(format!("linear algebra of {other:?}"))),
        }
    };
}

/// Factors the matrices that the array describes.
///
/// # Safety
///
/// The context is null or a [`Context`], `code` the array of a [`Cholesky`], and the buffers hold what it
/// says; nobody else uses the result, which may be the operand.
pub unsafe extern "C" fn rxla_cholesky(
    context: *const Context,
    operand: *const u8,
    result: *mut u8,
    code: *const i64,
) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let (context, mut code) = unsafe { (Context::from_ptr(context), Decoder::new(code)) };
        let element = code.element()?;
        let (batch, size) = (code.size(), code.size());
        let upper = code.next() != 0;
        if batch == 0 || size == 0 {
            return Ok(());
        }
        let count = batch * size * size;
        with_number!(element, T => {
            // SAFETY: the caller's promise.
            let matrices = unsafe {
                std::ptr::copy(operand.cast::<T>(), result.cast::<T>(), count);
                std::slice::from_raw_parts_mut(result.cast::<T>(), count)
            };
            factor_all(context, element, matrices, size, upper)
        })
    })
}

/// Solves the systems that the array describes: `coefficients` is A, `known` is B.
///
/// # Safety
///
/// The context is null or a [`Context`], `code` the array of a [`TriangularSolve`], and the buffers hold
/// what it says; nobody else uses the result, which may be B.
pub unsafe extern "C" fn rxla_triangular_solve(
    context: *const Context,
    coefficients: *const u8,
    known: *const u8,
    result: *mut u8,
    code: *const i64,
) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let (context, mut code) = unsafe { (Context::from_ptr(context), Decoder::new(code)) };
        let element = code.element()?;
        let (batch, size, lines) = (code.size(), code.size(), code.size());
        let (left, upper) = (code.next() == 0, code.next() != 0);
        let (form, unit) = (code.next(), code.next() != 0);
        if batch == 0 || size == 0 || lines == 0 {
            return Ok(());
        }
        // X on the left of A is solved transposed.
        let transposed = (form != Form::Plain as i64) == left;
        let system = System {
            size,
            lines,
            strides: if left { [lines, 1] } else { [1, size] },
            transposed,
            conjugate: form == Form::Adjoint as i64,
            lower: upper == transposed,
            unit,
        };
        with_number!(element, T => {
            // SAFETY: the caller's promise.
            let coefficients = unsafe {
                std::ptr::copy(known.cast::<T>(), result.cast::<T>(), batch * size * lines);
                std::slice::from_raw_parts(coefficients.cast::<T>(), batch * size * size)
            };
            let result = Address(result.cast::<T>());
            let groups = lines.div_ceil(LANES);
            let grain = 1 + (1 << 15) / (size * size * LANES);
            context.parallel_for(batch * groups, grain, |begin, end| {
                let mut room = Vec::new();
                for task in begin..end {
                    let (matrix, group) = (task / groups, task % groups);
                    let first = group * LANES;
                    let matrix_start = matrix * size * lines;
                    let coefficients = &coefficients[matrix * size * size..][..size * size];
                    // SAFETY: the caller's promise; each group of lines is in one task.
                    unsafe {
                        let unknowns = result.get().add(matrix_start + first * system.strides[1]);
                        system.solve(coefficients, unknowns, LANES.min(lines - first), &mut room);
                    }
                }
            });
            Ok(())
        })
    })
}

/// Numbers of a field.
trait Number: Copy + Default + Send + Sync + 'static {
    const NAN: Self;
    fn minus(self, other: Self) -> Self;
    /// `self - a b`.
    fn minus_product(self, a: Self, b: Self) -> Self;
    fn conjugate(self) -> Self;
    fn over(self, divisor: Self) -> Self;
    /// The root of what should be real and positive.
    fn root(self) -> Option<Self>;
}

macro_rules! numbers {
    ($($real:ident)*) => {$(
        impl Number for $real {
            const NAN: $real = $real::NAN;

            #[inline(always)]
            fn minus(self, other: $real) -> $real {
                self - other
            }

            #[inline(always)]
            fn minus_product(self, a: $real, b: $real) -> $real {
                self - a * b
            }

            #[inline(always)]
            fn conjugate(self) -> $real {
                self
            }

            #[inline(always)]
            fn over(self, divisor: $real) -> $real {
                self / divisor
            }

            fn root(self) -> Option<$real> {
                (self > 0.0).then(|| self.sqrt())
            }
        }

        impl Number for Complex<$real> {
            const NAN: Complex<$real> = Complex::new($real::NAN, $real::NAN);

            #[inline(always)]
            fn minus(self, other: Complex<$real>) -> Complex<$real> {
                self - other
            }

            #[inline(always)]
            fn minus_product(self, a: Complex<$real>, b: Complex<$real>) -> Complex<$real> {
                self - a * b
            }

            #[inline(always)]
            fn conjugate(self) -> Complex<$real> {
                self.conj()
            }

            #[inline(always)]
            fn over(self, divisor: Complex<$real>) -> Complex<$real> {
                self / divisor
            }

            fn root(self) -> Option<Complex<$real>> {
                (self.re > 0.0).then(|| Complex::new(self.re.sqrt(), 0.0))
            }
        }
    )*};
}

numbers!(f32 f64);

/// Columns that a large matrix is factored by.
const BLOCK: usize = 64;
/// Rows of the rest that are updated by one product.
const STRIPE: usize = 256;

fn factor_all<T: Number>(
    context: &Context,
    element: Element,
    matrices: &mut [T],
    size: usize,
    upper: bool,
) -> Result<()> {
    let batch = matrices.len() / (size * size);
    let start = Address(matrices.as_mut_ptr());
    let matrix = |index: usize| {
        // SAFETY: matrices do not overlap, and each is asked for once at a time.
        unsafe { std::slice::from_raw_parts_mut(start.get().add(index * size * size), size * size) }
    };
    let before_and_after = |matrix: &mut [T]| {
        if upper {
            adjoin(matrix, size);
        }
    };
    let finish = |matrix: &mut [T], done: bool| {
        for i in 0..size {
            let row = &mut matrix[i * size..][..size];
            row[i + 1..].fill(T::default());
            if !done {
                row.fill(T::NAN);
            }
        }
        before_and_after(matrix);
    };
    if size <= 2 * BLOCK {
        context.parallel_for(batch, 1 + (1 << 15) / (size * size * size), |begin, end| {
            for index in begin..end {
                let matrix = matrix(index);
                before_and_after(matrix);
                let done = factor(matrix, size, 0..size);
                finish(matrix, done);
            }
        });
        return Ok(());
    }
    for index in 0..batch {
        let matrix = matrix(index);
        before_and_after(matrix);
        let done = factor_by_blocks(context, element, matrix, size)?;
        finish(matrix, done);
    }
    Ok(())
}

/// Factors the rows of a square on the diagonal, the lower triangle of which is read and written. False if
/// it is not positive definite.
fn factor<T: Number>(matrix: &mut [T], stride: usize, square: std::ops::Range<usize>) -> bool {
    for i in square.clone() {
        let (above, below) = matrix.split_at_mut(i * stride);
        let row = &mut below[square.start..=i];
        solve_row(&above[square.start * stride..], row, stride, square.start);
        let (last, row) = row.split_last_mut().expect("at least the diagonal");
        let square = row.iter().fold(*last, |sum, &x| sum.minus_product(x, x.conjugate()));
        let Some(root) = square.root() else { return false };
        *last = root;
    }
    true
}

/// Divides the start of a row by the factor above it, as far as the row before the last element goes.
fn solve_row<T: Number>(factor: &[T], row: &mut [T], stride: usize, first: usize) {
    for k in 0..row.len() - 1 {
        let other = &factor[k * stride + first..][..=k];
        // Four sums at a time, in an order of their own.
        let mut sums = [T::default(); 4];
        let (heads, tail) = row[..k].as_chunks::<4>();
        let (others, other_tail) = other[..k].as_chunks::<4>();
        for (x, y) in heads.iter().zip(others) {
            for lane in 0..4 {
                sums[lane] = sums[lane].minus_product(x[lane], y[lane].conjugate());
            }
        }
        for (lane, (&x, &y)) in tail.iter().zip(other_tail).enumerate() {
            sums[lane] = sums[lane].minus_product(x, y.conjugate());
        }
        let zero = T::default();
        let negative = |x: T| zero.minus(x);
        let sum =
            sums[0].minus(negative(sums[1])).minus(negative(sums[2].minus(negative(sums[3]))));
        row[k] = row[k].minus(negative(sum)).over(other[k]);
    }
}

fn factor_by_blocks<T: Number>(
    context: &Context,
    element: Element,
    matrix: &mut [T],
    size: usize,
) -> Result<bool> {
    let update = Allocator::shared().allocate(STRIPE * size * size_of::<T>())?;
    let panel = Allocator::shared().allocate(BLOCK * size * size_of::<T>())?;
    let (update, panel) =
        (Address(update.as_ptr().cast::<T>()), Address(panel.as_ptr().cast::<T>()));
    let start = Address(matrix.as_mut_ptr());
    for first in (0..size).step_by(BLOCK) {
        let last = size.min(first + BLOCK);
        let width = last - first;
        if !factor(matrix, size, first..last) {
            return Ok(false);
        }
        // The rows below are divided by the factor, and kept conjugated for the product to come.
        context.parallel_for(size - last, 1 + 2048 / width, |begin, end| {
            for i in begin..end {
                // SAFETY: rows below the square are each in one piece; those of the square are only read.
                unsafe {
                    let factor =
                        std::slice::from_raw_parts(start.get().add(first * size), width * size);
                    let row = start.get().add((last + i) * size + first);
                    // One more element, which stays as it is: rows are solved up to their last.
                    let row = std::slice::from_raw_parts_mut(row, width + 1);
                    let kept = row[width];
                    solve_row(factor, row, size, first);
                    row[width] = kept;
                    for k in 0..width {
                        panel.get().add(i * width + k).write(row[k].conjugate());
                    }
                }
            }
        });
        for top in (last..size).step_by(STRIPE) {
            let bottom = size.min(top + STRIPE);
            let (rows, columns) = (bottom - top, bottom - last);
            let product = Dot {
                left: element,
                right: element,
                result: element,
                batch: Vec::new(),
                rows: vec![Dim { size: rows, strides: [size as isize, columns as isize] }],
                columns: vec![Dim { size: columns, strides: [width as isize, 1] }],
                summed: vec![Dim { size: width, strides: [1, 1] }],
            };
            // SAFETY: the stripe and the panel lie in the matrix and its copy; the result has room.
            unsafe {
                let left = start.get().add(top * size + first).cast::<u8>();
                dot::run(context, &product, left, panel.get().cast(), update.get().cast())?;
            }
            context.parallel_for(rows, 1 + (1 << 14) / columns, |begin, end| {
                for i in begin..end {
                    // SAFETY: each row is in one piece.
                    unsafe {
                        let row = start.get().add((top + i) * size + last);
                        for j in 0..columns {
                            let value = *update.get().add(i * columns + j);
                            row.add(j).write((*row.add(j)).minus(value));
                        }
                    }
                }
            });
        }
    }
    Ok(true)
}

/// The adjoint in place.
fn adjoin<T: Number>(matrix: &mut [T], size: usize) {
    for i in 0..size {
        matrix[i * size + i] = matrix[i * size + i].conjugate();
        for j in 0..i {
            let (a, b) = (matrix[i * size + j].conjugate(), matrix[j * size + i].conjugate());
            (matrix[i * size + j], matrix[j * size + i]) = (b, a);
        }
    }
}

/// Lines that are solved side by side.
const LANES: usize = 32;

struct System {
    size: usize,
    lines: usize,
    /// Of unknowns and of lines.
    strides: [usize; 2],
    /// Whether rows of the system are columns of A.
    transposed: bool,
    conjugate: bool,
    lower: bool,
    unit: bool,
}

impl System {
    /// Solves for up to [`LANES`] lines, in place.
    ///
    /// # Safety
    ///
    /// The unknowns are where the strides say, and nobody else uses them.
    unsafe fn solve<T: Number>(
        &self,
        coefficients: &[T],
        unknowns: *mut T,
        lines: usize,
        room: &mut Vec<[T; LANES]>,
    ) {
        debug_assert!(lines <= self.lines.min(LANES));
        let size = self.size;
        room.clear();
        room.resize(size, [T::default(); LANES]);
        for (i, row) in room.iter_mut().enumerate() {
            for (line, value) in row[..lines].iter_mut().enumerate() {
                // SAFETY: the caller's promise.
                *value = unsafe { *unknowns.add(i * self.strides[0] + line * self.strides[1]) };
            }
        }
        let coefficient = |i: usize, j: usize| {
            let value = if self.transposed {
                coefficients[j * size + i]
            } else {
                coefficients[i * size + j]
            };
            if self.conjugate { value.conjugate() } else { value }
        };
        for step in 0..size {
            let i = if self.lower { step } else { size - 1 - step };
            let solved = if self.lower { 0..i } else { i + 1..size };
            let mut row = room[i];
            for k in solved {
                let (factor, known) = (coefficient(i, k), &room[k]);
                for lane in 0..LANES {
                    row[lane] = row[lane].minus_product(factor, known[lane]);
                }
            }
            if !self.unit {
                let diagonal = coefficient(i, i);
                row[..lines].iter_mut().for_each(|value| *value = value.over(diagonal));
            }
            room[i] = row;
        }
        for (i, row) in room.iter().enumerate() {
            for (line, &value) in row[..lines].iter().enumerate() {
                // SAFETY: the caller's promise.
                unsafe { unknowns.add(i * self.strides[0] + line * self.strides[1]).write(value) };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::Pool;

    type C = Complex<f64>;

    fn numbers(count: usize) -> Vec<C> {
        (0..count).map(|i| C::new((i as f64 * 0.7).sin(), (i as f64 * 1.3).cos())).collect()
    }

    /// `left right`, with the right one's adjoint where asked for.
    fn product(left: &[C], right: &[C], size: usize) -> Vec<C> {
        let mut result = vec![C::default(); size * size];
        for i in 0..size {
            for j in 0..size {
                result[i * size + j] =
                    (0..size).map(|k| left[i * size + k] * right[k * size + j]).sum();
            }
        }
        result
    }

    fn adjoint(matrix: &[C], size: usize) -> Vec<C> {
        let mut result = matrix.to_vec();
        adjoin(&mut result, size);
        result
    }

    fn near(a: &[C], b: &[C]) -> bool {
        a.iter().zip(b).all(|(a, b)| (a - b).norm() < 1e-8 * (1.0 + b.norm()))
    }

    #[test]
    fn factors_multiply_to_the_matrix() {
        let context = Context::new(Some(Pool::with_threads(2)));
        for size in [1, 2, 7, 70, 200] {
            let root = numbers(size * size);
            let mut matrix = product(&root, &adjoint(&root, size), size);
            (0..size).for_each(|i| matrix[i * size + i] += size as f64);
            for triangle in [Triangle::Lower, Triangle::Upper] {
                // What is in the other triangle does not count.
                let mut operand = [matrix.clone(), matrix.clone()].concat();
                for i in 0..size {
                    for j in 0..i {
                        let place =
                            if triangle == Triangle::Lower { j * size + i } else { i * size + j };
                        operand[place] = C::new(99.0, 98.0);
                    }
                }
                let description = Cholesky { element: Element::C128, batch: 2, size, triangle };
                let mut result = operand.clone();
                // SAFETY: buffers are as large as the description says.
                let status = unsafe {
                    rxla_cholesky(
                        context.as_ptr(),
                        operand.as_ptr().cast(),
                        result.as_mut_ptr().cast(),
                        description.encode().unwrap().as_ptr(),
                    )
                };
                assert_eq!(status, 0);
                for factor in result.chunks(size * size) {
                    let other = adjoint(factor, size);
                    let (lower, upper) = if triangle == Triangle::Lower {
                        (factor, &other[..])
                    } else {
                        (&other[..], factor)
                    };
                    assert!(
                        (0..size)
                            .all(|i| (i + 1..size).all(|j| lower[i * size + j] == C::default()))
                    );
                    assert!(near(&product(lower, upper, size), &matrix), "{size} {triangle:?}");
                }
            }
        }
    }

    #[test]
    fn real_matrices_and_those_that_are_not_positive_definite() {
        let context = Context::new(Some(Pool::with_threads(2)));
        for size in [3, 150] {
            let mut matrix = vec![0.0_f32; size * size];
            (0..size).for_each(|i| matrix[i * size + i] = 4.0);
            let mut result = matrix.clone();
            let code =
                Cholesky { element: Element::F32, batch: 1, size, triangle: Triangle::Lower }
                    .encode()
                    .unwrap();
            let run = |matrix: &[f32], result: &mut [f32]| {
                // SAFETY: buffers are as large as the description says.
                unsafe {
                    rxla_cholesky(
                        context.as_ptr(),
                        matrix.as_ptr().cast(),
                        result.as_mut_ptr().cast(),
                        code.as_ptr(),
                    )
                }
            };
            assert_eq!(run(&matrix, &mut result), 0);
            assert!(
                (0..size * size).all(|i| result[i] == if i % (size + 1) == 0 { 2.0 } else { 0.0 })
            );
            matrix[size * size - 1] = -1.0;
            assert_eq!(run(&matrix, &mut result), 0);
            assert!(result[0].is_nan() && result[size * size - 1].is_nan());
        }
        assert!(
            Cholesky { element: Element::F16, batch: 1, size: 1, triangle: Triangle::Lower }
                .encode()
                .is_err()
        );
    }

    #[test]
    fn solutions_solve() {
        let context = Context::new(Some(Pool::with_threads(2)));
        for (size, lines) in [(1, 1), (3, 2), (5, 40), (40, 5)] {
            let mut a = numbers(2 * size * size);
            (0..2 * size).for_each(|i| a[i % size * (size + 1) + i / size * size * size] += 3.0);
            let b = numbers(2 * size * lines);
            for side in [Side::Left, Side::Right] {
                for triangle in [Triangle::Lower, Triangle::Upper] {
                    for form in [Form::Plain, Form::Transpose, Form::Adjoint] {
                        for diagonal in [Diagonal::Stored, Diagonal::Unit] {
                            let description = TriangularSolve {
                                element: Element::C128,
                                batch: 2,
                                size,
                                lines,
                                side,
                                triangle,
                                form,
                                diagonal,
                            };
                            let mut x = b.clone();
                            let code = description.encode().unwrap();
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
                            for matrix in 0..2 {
                                let at = |i: usize, j: usize| {
                                    let (r, c) = if form == Form::Plain { (i, j) } else { (j, i) };
                                    let inside =
                                        if triangle == Triangle::Lower { c <= r } else { r <= c };
                                    let value = a[matrix * size * size + r * size + c];
                                    match () {
                                        _ if r == c && diagonal == Diagonal::Unit => C::from(1.0),
                                        _ if !inside => C::default(),
                                        _ if form == Form::Adjoint => value.conj(),
                                        _ => value,
                                    }
                                };
                                let start = matrix * size * lines;
                                for i in 0..size {
                                    for line in 0..lines {
                                        let (sum, wanted) = match side {
                                            Side::Left => (
                                                (0..size)
                                                    .map(|k| at(i, k) * x[start + k * lines + line])
                                                    .sum::<C>(),
                                                b[start + i * lines + line],
                                            ),
                                            Side::Right => (
                                                (0..size)
                                                    .map(|k| x[start + line * size + k] * at(k, i))
                                                    .sum::<C>(),
                                                b[start + line * size + i],
                                            ),
                                        };
                                        let scale: f64 =
                                            x.iter().map(|x| x.norm()).fold(1.0, f64::max);
                                        assert!(
                                            (sum - wanted).norm() < 1e-9 * scale,
                                            "{description:?}"
                                        );
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
