//! Numbers of a field, as the factorisations use them.

use std::ops::{Add, Div, Mul, Neg, Sub};

use num_complex::Complex;

use crate::gemm::Compute;
use crate::gemm::pack::Source;

/// A real number.
pub(super) trait Real:
    Number<Part = Self>
    + Compute
    + Source<Self>
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    const ONE: Self;
    /// From one to the next number.
    const EPSILON: Self;
    /// Squares of numbers between this and its reciprocal keep all their digits.
    const SMALL: Self;
    fn size(self) -> Self;
    fn square_root(self) -> Self;
    fn with_sign_of(self, other: Self) -> Self;
    /// The root of the sum of squares, which may be out of range.
    fn hypotenuse(self, other: Self) -> Self;
    fn finite(self) -> bool;
}

/// A real or complex number.
pub(super) trait Number: Copy + Default + Send + Sync + 'static {
    /// What products of matrices are computed in.
    type Part: Real;
    /// Parts of a number, in memory one after the other.
    const PARTS: usize;
    const NAN: Self;
    fn plus(self, other: Self) -> Self;
    /// `self - a b`.
    fn minus_product(self, a: Self, b: Self) -> Self;
    /// `self + a b`.
    fn plus_product(self, a: Self, b: Self) -> Self;
    fn times(self, other: Self) -> Self;
    fn scaled(self, factor: Self::Part) -> Self;
    fn negative(self) -> Self;
    fn conjugate(self) -> Self;
    fn over(self, divisor: Self) -> Self;
    /// A number of its parts; real ones ignore the second.
    fn of(real: Self::Part, imaginary: Self::Part) -> Self;
    fn real(self) -> Self::Part;
    /// Zero for real numbers.
    fn imaginary(self) -> Self::Part;
    /// Whether this can be the square on a diagonal: its real part is above zero.
    fn is_positive(self) -> bool;
    /// What pivots are chosen by: the sum of the parts' absolute values.
    fn magnitude(self) -> Self::Part;
    /// The root of the real part.
    fn root(self) -> Self;
    /// The root that is not left of zero; of real numbers, that of those not below zero.
    fn principal_root(self) -> Self;
    /// Times the imaginary unit, for numbers that have two parts.
    fn turned(self) -> Self;
}

macro_rules! numbers {
    ($($real:ident $small:literal)*) => {$(
        impl Real for $real {
            const ONE: $real = 1.0;
            const EPSILON: $real = $real::EPSILON;
            const SMALL: $real = $small;

            #[inline(always)]
            fn size(self) -> $real {
                self.abs()
            }

            #[inline(always)]
            fn square_root(self) -> $real {
                self.sqrt()
            }

            #[inline(always)]
            fn with_sign_of(self, other: $real) -> $real {
                self.copysign(other)
            }

            #[inline(always)]
            fn hypotenuse(self, other: $real) -> $real {
                let sum = self.mul_add(self, other * other);
                if sum > $small * $small * 1e6 && sum < 1e-6 / ($small * $small) {
                    return sum.sqrt();
                }
                self.hypot(other)
            }

            #[inline(always)]
            fn finite(self) -> bool {
                self.is_finite()
            }
        }

        impl Number for $real {
            type Part = $real;
            const PARTS: usize = 1;
            const NAN: $real = $real::NAN;

            #[inline(always)]
            fn plus(self, other: $real) -> $real {
                self + other
            }

            #[inline(always)]
            fn minus_product(self, a: $real, b: $real) -> $real {
                (-a).mul_add(b, self)
            }

            #[inline(always)]
            fn plus_product(self, a: $real, b: $real) -> $real {
                a.mul_add(b, self)
            }

            #[inline(always)]
            fn times(self, other: $real) -> $real {
                self * other
            }

            #[inline(always)]
            fn scaled(self, factor: $real) -> $real {
                self * factor
            }

            #[inline(always)]
            fn of(real: $real, _: $real) -> $real {
                real
            }

            #[inline(always)]
            fn real(self) -> $real {
                self
            }

            #[inline(always)]
            fn imaginary(self) -> $real {
                0.0
            }

            #[inline(always)]
            fn negative(self) -> $real {
                -self
            }

            #[inline(always)]
            fn conjugate(self) -> $real {
                self
            }

            #[inline(always)]
            fn over(self, divisor: $real) -> $real {
                self / divisor
            }

            #[inline(always)]
            fn is_positive(self) -> bool {
                self > 0.0
            }

            #[inline(always)]
            fn magnitude(self) -> $real {
                self.abs()
            }

            #[inline(always)]
            fn root(self) -> $real {
                self.sqrt()
            }

            #[inline(always)]
            fn principal_root(self) -> $real {
                self.sqrt()
            }

            #[inline(always)]
            fn turned(self) -> $real {
                self
            }
        }

        impl Number for Complex<$real> {
            type Part = $real;
            const PARTS: usize = 2;
            const NAN: Complex<$real> = Complex::new($real::NAN, $real::NAN);

            #[inline(always)]
            fn plus(self, other: Complex<$real>) -> Complex<$real> {
                self + other
            }

            #[inline(always)]
            fn minus_product(self, a: Complex<$real>, b: Complex<$real>) -> Complex<$real> {
                Complex::new(
                    a.im.mul_add(b.im, (-a.re).mul_add(b.re, self.re)),
                    (-a.im).mul_add(b.re, (-a.re).mul_add(b.im, self.im)),
                )
            }

            #[inline(always)]
            fn plus_product(self, a: Complex<$real>, b: Complex<$real>) -> Complex<$real> {
                self.minus_product(-a, b)
            }

            #[inline(always)]
            fn times(self, other: Complex<$real>) -> Complex<$real> {
                self * other
            }

            #[inline(always)]
            fn scaled(self, factor: $real) -> Complex<$real> {
                self * factor
            }

            #[inline(always)]
            fn of(real: $real, imaginary: $real) -> Complex<$real> {
                Complex::new(real, imaginary)
            }

            #[inline(always)]
            fn real(self) -> $real {
                self.re
            }

            #[inline(always)]
            fn imaginary(self) -> $real {
                self.im
            }

            #[inline(always)]
            fn negative(self) -> Complex<$real> {
                -self
            }

            #[inline(always)]
            fn conjugate(self) -> Complex<$real> {
                self.conj()
            }

            #[inline(always)]
            fn over(self, divisor: Complex<$real>) -> Complex<$real> {
                self / divisor
            }

            #[inline(always)]
            fn is_positive(self) -> bool {
                self.re > 0.0
            }

            #[inline(always)]
            fn magnitude(self) -> $real {
                self.re.abs() + self.im.abs()
            }

            #[inline(always)]
            fn root(self) -> Complex<$real> {
                Complex::new(self.re.sqrt(), 0.0)
            }

            #[inline(always)]
            fn principal_root(self) -> Complex<$real> {
                self.sqrt()
            }

            #[inline(always)]
            fn turned(self) -> Complex<$real> {
                Complex::new(-self.im, self.re)
            }
        }
    )*};
}

numbers!(f32 1e-15 f64 1e-145);

/// A matrix in memory, with a step between rows and one between columns.
pub(super) struct Strided<T> {
    pub start: *mut T,
    pub row: isize,
    pub column: isize,
}

impl<T> Clone for Strided<T> {
    fn clone(&self) -> Strided<T> {
        *self
    }
}

impl<T> Copy for Strided<T> {}

// SAFETY: addresses and steps are only numbers; uses say why they are safe.
unsafe impl<T> Send for Strided<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Strided<T> {}

impl<T> Strided<T> {
    pub(super) fn at(&self, i: usize, j: usize) -> *mut T {
        self.start.wrapping_offset(i as isize * self.row + j as isize * self.column)
    }

    /// From a place on.
    pub(super) fn from(&self, i: usize, j: usize) -> Strided<T> {
        Strided { start: self.at(i, j), ..*self }
    }
}
