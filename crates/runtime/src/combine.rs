//! Arrays combined element by element, for devices that reduce what all of them have.

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use num_complex::Complex;

use crate::element::{Element, narrow_bf16, widen_bf16};
use crate::gemm::sets::for_each_set;

/// What is done with two elements.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Function {
    Add,
    Multiply,
    /// NaN if either is, and -0 < +0.
    Maximum,
    /// NaN if either is, and -0 < +0.
    Minimum,
    And,
    Or,
    Xor,
}

impl Function {
    pub fn takes(self, element: Element) -> bool {
        match self {
            Function::Add | Function::Multiply => true,
            Function::Maximum | Function::Minimum => !element.is_complex(),
            Function::And | Function::Or | Function::Xor => element.is_integer(),
        }
    }
}

/// Bytes of a result that are made at a time: they and their sources stay in the first cache.
const BLOCK: usize = 4096;

for_each_set! {
    /// Combines sources in their order, the first with the second, the result with the third, and so on,
    /// each step rounded to the element's type. All targets get the result. The function
    /// [takes](Function::takes) the element, else nothing is done.
    ///
    /// # Safety
    ///
    /// At each address are so many elements, aligned for such. There is a source and a target. Nobody else uses
    /// the targets or writes to the sources, and no target overlaps anything else.
    pub unsafe fn combine[] = combine_body(
        function: Function, element: Element, sources: &[*const u8], targets: &[*mut u8], elements: usize
    ) -> ()
}

/// # Safety
///
/// As for [`combine`].
#[inline(always)]
unsafe fn combine_body(
    function: Function,
    element: Element,
    sources: &[*const u8],
    targets: &[*mut u8],
    elements: usize,
) {
    macro_rules! each {
        ($t:ty, $step:expr) => {
            // SAFETY: passed on from the caller; the type is that of the elements.
            unsafe { in_blocks::<$t>(sources, targets, elements, |sum, x| step(sum, x, $step)) }
        };
    }
    macro_rules! integer {
        ($t:ty) => {
            match function {
                Function::Add => each!($t, |a: $t, b: $t| a.wrapping_add(b)),
                Function::Multiply => each!($t, |a: $t, b: $t| a.wrapping_mul(b)),
                Function::Maximum => each!($t, |a: $t, b: $t| a.max(b)),
                Function::Minimum => each!($t, |a: $t, b: $t| a.min(b)),
                Function::And => each!($t, |a: $t, b: $t| a & b),
                Function::Or => each!($t, |a: $t, b: $t| a | b),
                Function::Xor => each!($t, |a: $t, b: $t| a ^ b),
            }
        };
    }
    // Both ways round they are the same but for zeros of two signs, whose bits decide, and for NaN.
    macro_rules! maximum {
        ($t:ty) => {
            |a: $t, b: $t| {
                let (x, y) = (if a > b { a } else { b }, if b > a { b } else { a });
                let number = <$t>::from_bits(x.to_bits() & y.to_bits());
                if a.is_nan() | b.is_nan() { a + b } else { number }
            }
        };
    }
    macro_rules! minimum {
        ($t:ty) => {
            |a: $t, b: $t| {
                let (x, y) = (if a < b { a } else { b }, if b < a { b } else { a });
                let number = <$t>::from_bits(x.to_bits() | y.to_bits());
                if a.is_nan() | b.is_nan() { a + b } else { number }
            }
        };
    }
    macro_rules! float {
        ($t:ty) => {
            match function {
                Function::Add => each!($t, |a: $t, b: $t| a + b),
                Function::Multiply => each!($t, |a: $t, b: $t| a * b),
                Function::Maximum => each!($t, maximum!($t)),
                Function::Minimum => each!($t, minimum!($t)),
                Function::And | Function::Or | Function::Xor => (),
            }
        };
    }
    macro_rules! narrow {
        ($step:ident) => {
            match function {
                Function::Add => $step!(|a: f32, b: f32| a + b),
                Function::Multiply => $step!(|a: f32, b: f32| a * b),
                Function::Maximum => $step!(maximum!(f32)),
                Function::Minimum => $step!(minimum!(f32)),
                Function::And | Function::Or | Function::Xor => (),
            }
        };
    }
    macro_rules! brain {
        ($step:expr) => {
            each!(bf16, |a: bf16, b: bf16| narrow_bf16($step(widen_bf16(a), widen_bf16(b))))
        };
    }
    macro_rules! half {
        ($step:expr) => {
            // SAFETY: passed on from the caller; the type is that of the elements.
            unsafe {
                in_blocks::<f16>(sources, targets, elements, |sum, x| {
                    let (mut wide, mut other) = ([0f32; BLOCK / 2], [0f32; BLOCK / 2]);
                    let (wide, other) = (&mut wide[..sum.len()], &mut other[..x.len()]);
                    sum.convert_to_f32_slice(wide);
                    x.convert_to_f32_slice(other);
                    step(wide, other, $step);
                    sum.convert_from_f32_slice(wide);
                })
            }
        };
    }
    macro_rules! complex {
        ($t:ty) => {
            match function {
                Function::Add => each!(Complex<$t>, |a: Complex<$t>, b: Complex<$t>| a + b),
                Function::Multiply => each!(Complex<$t>, |a: Complex<$t>, b: Complex<$t>| a * b),
                Function::Maximum
                | Function::Minimum
                | Function::And
                | Function::Or
                | Function::Xor => (),
            }
        };
    }
    match element {
        Element::I8 => integer!(i8),
        Element::I16 => integer!(i16),
        Element::I32 => integer!(i32),
        Element::I64 => integer!(i64),
        Element::U8 => integer!(u8),
        Element::U16 => integer!(u16),
        Element::U32 => integer!(u32),
        Element::U64 => integer!(u64),
        Element::F16 => narrow!(half),
        Element::BF16 => narrow!(brain),
        Element::F32 => float!(f32),
        Element::F64 => float!(f64),
        Element::C64 => complex!(f32),
        Element::C128 => complex!(f64),
    }
}

/// # Safety
///
/// As for [`combine`]; elements are of type `T`, any bits of which are a value.
#[inline(always)]
unsafe fn in_blocks<T: Copy>(
    sources: &[*const u8],
    targets: &[*mut u8],
    elements: usize,
    step: impl Fn(&mut [T], &[T]),
) {
    let ([first, rest @ ..], [target, others @ ..]) = (sources, targets) else { return };
    let most = BLOCK / size_of::<T>();
    for begin in (0..elements).step_by(most) {
        let count = most.min(elements - begin);
        // SAFETY: the block lies within the elements; the target is ours alone.
        unsafe {
            let sum = target.cast::<T>().add(begin);
            sum.copy_from_nonoverlapping(first.cast::<T>().add(begin), count);
            let sum = std::slice::from_raw_parts_mut(sum, count);
            for source in rest {
                let x = std::slice::from_raw_parts(source.cast::<T>().add(begin), count);
                step(sum, x);
            }
            for other in others {
                other.cast::<T>().add(begin).copy_from_nonoverlapping(sum.as_ptr(), count);
            }
        }
    }
}

#[inline(always)]
fn step<T: Copy>(sum: &mut [T], x: &[T], function: impl Fn(T, T) -> T) {
    for (sum, &x) in sum.iter_mut().zip(x) {
        *sum = function(*sum, x);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gemm::sets::forced;

    fn combined<T: Copy + Default>(
        function: Function,
        element: Element,
        sources: &[Vec<T>],
    ) -> Vec<T> {
        let elements = sources[0].len();
        let mut results = [vec![T::default(); elements], vec![T::default(); elements]];
        let sources: Vec<*const u8> = sources.iter().map(|s| s.as_ptr().cast()).collect();
        let targets = results.each_mut().map(|r| r.as_mut_ptr().cast::<u8>());
        // SAFETY: all are as long, and apart.
        unsafe { combine(function, element, &sources, &targets, elements) };
        let [first, second] = results;
        // SAFETY: all bits of the types used here are values, and so are bytes.
        let bytes = |v: &[T]| unsafe {
            std::slice::from_raw_parts(v.as_ptr().cast::<u8>(), size_of_val(v)).to_vec()
        };
        assert_eq!(bytes(&first), bytes(&second));
        first
    }

    #[test]
    fn blocks_and_rests() {
        forced::each(|| check_blocks(&[0, 1, 511, 512, 513, 5000]));
    }

    fn check_blocks(sizes: &[i32]) {
        for &elements in sizes {
            let source = |k: i32| -> Vec<i32> { (0..elements).map(|i| i * k + k).collect() };
            let sum = combined(Function::Add, Element::I32, &[source(1), source(10), source(100)]);
            assert_eq!(sum, source(111), "{elements}");
            assert_eq!(combined(Function::Add, Element::I32, &[source(7)]), source(7));
        }
    }

    #[test]
    fn extremes_of_floats() {
        forced::each(check_extremes);
    }

    fn check_extremes() {
        let values = [f32::NAN, f32::NEG_INFINITY, -1.0, -0.0, 0.0, 1.0, f32::INFINITY];
        let mut left = Vec::new();
        let mut right = Vec::new();
        for a in values {
            for b in values {
                left.push(a);
                right.push(b);
            }
        }
        let sources = [left.clone(), right.clone()];
        let greatest = combined(Function::Maximum, Element::F32, &sources);
        let least = combined(Function::Minimum, Element::F32, &sources);
        for (index, (a, b)) in left.into_iter().zip(right).enumerate() {
            let mut pair = [a, b];
            pair.sort_by(f32::total_cmp);
            let is_nan = a.is_nan() || b.is_nan();
            let found = [least[index], greatest[index]];
            for (found, expected) in found.into_iter().zip(pair) {
                let same = found.to_bits() == expected.to_bits();
                assert!(if is_nan { found.is_nan() } else { same }, "{a} {b}: {found}");
            }
        }
    }

    #[test]
    fn narrow_floats_are_rounded_at_each_step() {
        // Halves of the last place are lost at each step, where a sum in f32 would keep them.
        let brain = |x: f32| vec![bf16::from_f32(x); 3];
        let sources = [brain(256.0), brain(1.0), brain(1.0)];
        assert_eq!(combined(Function::Add, Element::BF16, &sources), brain(256.0));
        let half = |x: f32| vec![f16::from_f32(x); 3];
        let sources = [half(2048.0), half(1.0), half(1.0)];
        assert_eq!(combined(Function::Add, Element::F16, &sources), half(2048.0));
    }
}
