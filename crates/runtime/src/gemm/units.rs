//! Values of 32 bits that hold several neighbouring steps of small numbers: processors multiply and sum
//! them at once. In a result such a value is a sum of 32 bits.

use super::Compute;
use super::micro::{self, Kernels};
use super::pack::{Source, Steps, pack_panels};
use super::sets::for_each_set;
use crate::element::{narrow_bf16, widen_bf16};

/// Two steps of integers, in 16 bits each.
#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(transparent)]
pub(crate) struct Pair(pub i32);

/// Four steps of bytes. Those of a left operand are without a sign, those of a right one with.
#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(transparent)]
pub(crate) struct Quad(pub i32);

/// Two steps of bf16. Sums are f32: the processor rounds the first product added, and then the
/// second, to nearest, and takes numbers below the normal ones for zeros.
#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(transparent)]
pub(crate) struct Halves(pub u32);

impl Pair {
    #[inline(always)]
    pub(crate) fn new(first: i16, second: i16) -> Pair {
        Pair(i32::from(second) << 16 | i32::from(first) & 0xffff)
    }
}

impl Quad {
    /// Shifts and not bytes in memory, so that loops over it become vectors.
    #[inline(always)]
    pub(crate) fn new(bytes: [u8; 4]) -> Quad {
        let [a, b, c, d] = bytes;
        let (a, b, c, d) = (u32::from(a), u32::from(b), u32::from(c), u32::from(d));
        Quad((a | b << 8 | c << 16 | d << 24) as i32)
    }

    #[inline(always)]
    fn signed([a, b, c, d]: [i8; 4]) -> Quad {
        Quad::new([a as u8, b as u8, c as u8, d as u8])
    }
}

impl Halves {
    #[inline(always)]
    pub(crate) fn new(halves: [u16; 2]) -> Halves {
        Halves(u32::from(halves[1]) << 16 | u32::from(halves[0]))
    }
}

impl Compute for Pair {
    const ZERO: Pair = Pair(0);
    const BLOCK: usize = 1024;
    const STEPS: usize = 2;

    #[inline(always)]
    fn multiply_add(self, factor: Pair, sum: Pair) -> Pair {
        let first = i32::from(self.0 as i16) * i32::from(factor.0 as i16);
        let second = (self.0 >> 16) * (factor.0 >> 16);
        Pair(sum.0.wrapping_add(first).wrapping_add(second))
    }

    #[inline(always)]
    fn add(self, other: Pair) -> Pair {
        Pair(self.0.wrapping_add(other.0))
    }

    fn negate(self) -> Pair {
        Pair(self.0.wrapping_neg())
    }

    fn kernels() -> &'static Kernels<Pair> {
        micro::for_pairs()
    }
}

impl Compute for Quad {
    const ZERO: Quad = Quad(0);
    const BLOCK: usize = 2048;
    const STEPS: usize = 4;
    const HEAD: usize = 1;

    #[inline(always)]
    fn multiply_add(self, factor: Quad, sum: Quad) -> Quad {
        let (left, right) = (self.0.to_le_bytes(), factor.0.to_le_bytes());
        let product = |part: usize| i32::from(left[part]) * i32::from(right[part] as i8);
        Quad((0..4).fold(sum.0, |sum, part| sum.wrapping_add(product(part))))
    }

    #[inline(always)]
    fn add(self, other: Quad) -> Quad {
        Quad(self.0.wrapping_add(other.0))
    }

    fn negate(self) -> Quad {
        Quad(self.0.wrapping_neg())
    }

    fn kernels() -> &'static Kernels<Quad> {
        micro::for_quads()
    }
}

/// Four steps of bytes for processors that multiply any of them with any.
macro_rules! bytes {
    ($(#[$doc:meta])* $name:ident, $left:ty, $kernels:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Debug)]
        #[repr(transparent)]
        pub(crate) struct $name(pub i32);

        impl Compute for $name {
            const ZERO: $name = $name(0);
            const BLOCK: usize = 2048;
            const STEPS: usize = 4;

            #[inline(always)]
            fn multiply_add(self, factor: $name, sum: $name) -> $name {
                let (left, right) = (self.0.to_le_bytes(), factor.0.to_le_bytes());
                let product = |part: usize| i32::from(left[part] as $left) * i32::from(right[part] as i8);
                $name((0..4).fold(sum.0, |sum, part| sum.wrapping_add(product(part))))
            }

            #[inline(always)]
            fn add(self, other: $name) -> $name {
                $name(self.0.wrapping_add(other.0))
            }

            fn negate(self) -> $name {
                $name(self.0.wrapping_neg())
            }

            fn kernels() -> &'static Kernels<$name> {
                micro::$kernels()
            }
        }
    };
}

bytes!(
    /// Both operands' bytes are with a sign.
    SignedBytes,
    i8,
    for_signed_bytes
);
bytes!(
    /// A left operand's bytes are without a sign, a right one's with one.
    MixedBytes,
    u8,
    for_mixed_bytes
);

impl Compute for Halves {
    const ZERO: Halves = Halves(0);
    const BLOCK: usize = 1024;
    const STEPS: usize = 2;

    #[inline(always)]
    fn multiply_add(self, factor: Halves, sum: Halves) -> Halves {
        let part = |halves: Halves, shift: u32| {
            widen_bf16(half::bf16::from_bits((halves.0 >> shift) as u16))
        };
        let high = part(self, 16).mul_add(part(factor, 16), f32::from_bits(sum.0));
        Halves(part(self, 0).mul_add(part(factor, 0), high).to_bits())
    }

    #[inline(always)]
    fn add(self, other: Halves) -> Halves {
        Halves((f32::from_bits(self.0) + f32::from_bits(other.0)).to_bits())
    }

    fn negate(self) -> Halves {
        Halves((-f32::from_bits(self.0)).to_bits())
    }

    fn kernels() -> &'static Kernels<Halves> {
        micro::for_halves()
    }
}

/// What is added to the bytes of a left operand with signs, which turns their upper bits.
const RAISE: i32 = 0x8080_8080_u32 as i32;

/// A byte with a sign in a left operand: 128 is added to it, and the right operand sees to it that the
/// sums are what they should be.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Raised(i8);

macro_rules! sources {
    ($($part:ty => $value:ident, $steps:literal, $zero:expr, |$parts:ident| $join:expr;)*) => {$(
        impl Source<$value> for $part {
            const STEPS: usize = $steps;

            #[inline(always)]
            unsafe fn values<const COUNT: usize>(from: *const $part) -> [$value; COUNT] {
                // SAFETY: the caller's promise; arrays are aligned as their elements are.
                let parts = unsafe { from.cast::<[[$part; $steps]; COUNT]>().read() };
                parts.map(|$parts| $join)
            }

            #[inline(always)]
            fn join(parts: [$part; 4]) -> $value {
                let $parts = parts;
                $join
            }

            #[inline(always)]
            unsafe fn gather(matrix: *const $part, steps: &[isize]) -> $value {
                let part = |place: usize| {
                    // SAFETY: the caller's promise.
                    steps.get(place).map_or($zero, |&step| unsafe { matrix.offset(step).read() })
                };
                <$part as Source<$value>>::join(std::array::from_fn(part))
            }
        }
    )*};
}

sources! {
    i8 => Pair, 2, 0, |parts| Pair::new(i16::from(parts[0]), i16::from(parts[1]));
    u8 => Pair, 2, 0, |parts| Pair::new(i16::from(parts[0]), i16::from(parts[1]));
    i16 => Pair, 2, 0, |parts| Pair::new(parts[0], parts[1]);
    i8 => Quad, 4, 0, |parts| Quad::signed(parts);
    u8 => Quad, 4, 0, |parts| Quad::new(parts);
    Raised => Quad, 4, Raised(0), |parts|
        Quad(Quad::signed([parts[0].0, parts[1].0, parts[2].0, parts[3].0]).0 ^ RAISE);
    i8 => SignedBytes, 4, 0, |parts| SignedBytes(Quad::signed(parts).0);
    i8 => MixedBytes, 4, 0, |parts| MixedBytes(Quad::signed(parts).0);
    u8 => MixedBytes, 4, 0, |parts| MixedBytes(Quad::new(parts).0);
    f32 => Halves, 2, 0.0,
        |parts| Halves::new([narrow_bf16(parts[0]).to_bits(), narrow_bf16(parts[1]).to_bits()]);
    half::bf16 => Halves, 2, half::bf16::ZERO,
        |parts| Halves::new([parts[0].to_bits(), parts[1].to_bits()]);
}

/// Packs bytes with a sign as a right operand. What adding 128 to each of the left operand's bytes adds
/// to the sums stands, with its sign turned, before the rest: it is what sums start from.
///
/// # Safety
///
/// See [`super::pack::Pack`], with a row more.
pub(crate) unsafe fn pack_right_quads(
    matrix: *const u8,
    rows: &[isize],
    steps: &Steps,
    width: usize,
    panel: usize,
    into: *mut Quad,
) {
    // SAFETY: the caller's promise.
    unsafe {
        pack_panels::<i8, Quad>(matrix, rows, steps, width, panel, into.add(width));
        for number in 0..rows.len().div_ceil(width) {
            let into = into.add(number * panel);
            let count = steps.places.len().div_ceil(4) * width;
            let values = std::slice::from_raw_parts(into.add(width), count);
            start_quads(values, std::slice::from_raw_parts_mut(into, width));
        }
    }
}

/// The same for a left operand of bytes that have no sign: sums start from zero.
///
/// # Safety
///
/// As for [`pack_right_quads`].
pub(crate) unsafe fn pack_right_quads_alone(
    matrix: *const u8,
    rows: &[isize],
    steps: &Steps,
    width: usize,
    panel: usize,
    into: *mut Quad,
) {
    // SAFETY: the caller's promise.
    unsafe {
        for number in 0..rows.len().div_ceil(width) {
            let start = into.add(number * panel).cast::<std::mem::MaybeUninit<Quad>>();
            std::slice::from_raw_parts_mut(start, width)
                .fill(std::mem::MaybeUninit::new(Quad::ZERO));
        }
        pack_panels::<i8, Quad>(matrix, rows, steps, width, panel, into.add(width));
    }
}

for_each_set! {
    /// # Safety
    ///
    /// None is asked for.
    unsafe fn start_quads[] = start_quads_body(values: &[Quad], into: &mut [Quad]) -> ()
}

/// # Safety
///
/// None is asked for.
#[inline(always)]
unsafe fn start_quads_body(values: &[Quad], into: &mut [Quad]) {
    into.fill(Quad::ZERO);
    for row in values.chunks_exact(into.len()) {
        for (sum, &Quad(quad)) in into.iter_mut().zip(row) {
            // The four bytes of each, with their signs.
            let bytes = (quad << 24 >> 24) + (quad << 16 >> 24) + (quad << 8 >> 24) + (quad >> 24);
            sum.0 = sum.0.wrapping_sub(bytes.wrapping_mul(128));
        }
    }
}
