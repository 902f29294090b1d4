//! Numbers of a field, as the factorisations use them.

use num_complex::Complex;

use crate::gemm::Compute;

/// A real or complex number.
pub(super) trait Number: Copy + Default + Send + Sync + 'static {
    /// What products of matrices are computed in.
    type Part: Compute + PartialOrd;
    /// Parts of a number, in memory one after the other.
    const PARTS: usize;
    const NAN: Self;
    fn plus(self, other: Self) -> Self;
    /// `self - a b`.
    fn minus_product(self, a: Self, b: Self) -> Self;
    fn negative(self) -> Self;
    fn conjugate(self) -> Self;
    fn over(self, divisor: Self) -> Self;
    /// Whether this can be the square on a diagonal: its real part is above zero.
    fn is_positive(self) -> bool;
    /// What pivots are chosen by: the sum of the parts' absolute values.
    fn magnitude(self) -> Self::Part;
    /// The root of the real part.
    fn root(self) -> Self;
    /// Times the imaginary unit, for numbers that have two parts.
    fn turned(self) -> Self;
}

macro_rules! numbers {
    ($($real:ident)*) => {$(
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
            fn turned(self) -> Complex<$real> {
                Complex::new(-self.im, self.re)
            }
        }
    )*};
}

numbers!(f32 f64);

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
