//! Which elements products take and give as they are, and how others are packed, streamed and rounded.

use half::{bf16, f16};

use super::Dim;
use crate::context::Context;
use crate::element::{Element, Store, with_element};
use crate::gemm::axis::Axis;
use crate::gemm::pack::{Pack, Source, pack_panels};
use crate::gemm::sets::for_each_set;
use crate::gemm::units::{
    Halves, MixedBytes, Pair, Quad, Raised, SignedBytes, pack_right_quads, pack_right_quads_alone,
};
use crate::gemm::vector::Streams;
use crate::gemm::{Address, Compute, Round};
#[cfg(target_arch = "x86_64")]
use crate::gemm::{micro, sets};

/// Types computed in, and which elements are such as they are.
pub(crate) trait Native: Compute {
    fn is_native(element: Element) -> bool;
    /// How operands with such elements are packed, the left and the right one. Complex numbers count as
    /// numbers twice as many; see [`crate::gemm::pack::pack_complex`] for the right operand.
    fn packers(elements: [Element; 2]) -> [Pack<Self>; 2];
    /// Whether operands with such elements have to change sides, if that is not left to others.
    fn must_swap(_elements: [Element; 2]) -> Option<bool> {
        None
    }
    /// Whether operands with such elements can be read where they are.
    fn is_direct(element: Element) -> bool;
    /// How rows of such elements are read by products with vectors: those that programs have such products of. Others
    /// are packed, as for any product; code of its own for each would be a seventh of this crate's.
    fn streams(element: Element) -> Option<Streams<Self>>;
    /// How sums are rounded to such elements where products write them, if they may.
    fn rounds(_element: Element) -> Option<Round<Self>> {
        None
    }
    /// Rounds dense sums into a result with such elements.
    ///
    /// # Safety
    ///
    /// The sums and the result are as large as the dimensions say.
    unsafe fn round(
        element: Element,
        context: &Context,
        sums: *const Self,
        rows: &[Dim],
        columns: &[Dim],
        result: *mut u8,
    );
}

macro_rules! native {
    ($($type:ty => $($element:ident)|*, streams $($stream:ident: $source:ty),*;)*) => {$(
        impl Native for $type {
            #[inline(always)]
            fn is_native(element: Element) -> bool {
                matches!(element, $(Element::$element)|*)
            }

            #[inline(always)]
            fn packers(elements: [Element; 2]) -> [Pack<$type>; 2] {
                elements.map(|element| with_element!(element, S => pack_panels::<S, $type>))
            }

            #[inline(always)]
            fn is_direct(element: Element) -> bool {
                <$type>::is_native(element) && !element.is_complex()
            }

            #[inline(always)]
            fn streams(element: Element) -> Option<Streams<$type>> {
                match element {
                    $(Element::$stream => Some(Streams::of::<$source>()),)*
                    _ => None,
                }
            }

            #[inline(always)]
            unsafe fn round(
                element: Element,
                context: &Context,
                sums: *const $type,
                rows: &[Dim],
                columns: &[Dim],
                result: *mut u8,
            ) {
                // SAFETY: the caller's promise.
                with_element!(element, S => unsafe {
                    round::<S, $type>(context, sums, rows, columns, result.cast())
                });
            }
        }
    )*};
}

native! {
    f32 => F32 | C64, streams F32: f32, F16: f16, BF16: bf16, I8: i8, U8: u8;
    f64 => F64 | C128, streams F64: f64, F32: f32;
    i32 => I32 | U32, streams I32: i32, U32: u32, I16: i16, U16: u16, I8: i8, U8: u8;
    i64 => I64 | U64, streams I64: i64, U64: u64, I32: i32, U32: u32;
}

/// Whether such integers are those of 16 bits, of which two are multiplied at once.
pub(super) fn fits_i16(element: Element) -> bool {
    matches!(element, Element::I8 | Element::U8 | Element::I16)
}

pub(super) fn fits_bytes(element: Element) -> bool {
    matches!(element, Element::I8 | Element::U8)
}

/// Implements [`Native`] for values of several steps, of which only sums are elements.
macro_rules! units {
    ($type:ty, $sum:ty, $sums:pat, { $($items:item)* }) => {
        impl Native for $type {
            fn is_native(element: Element) -> bool {
                matches!(element, $sums)
            }

            $($items)*

            fn is_direct(_element: Element) -> bool {
                false
            }

            unsafe fn round(
                element: Element,
                context: &Context,
                sums: *const $type,
                rows: &[Dim],
                columns: &[Dim],
                result: *mut u8,
            ) {
                // SAFETY: the caller's promise; a value that is a sum has the bits of one.
                unsafe {
                    <$sum as Native>::round(element, context, sums.cast(), rows, columns, result);
                }
            }
        }
    };
}

units!(Pair, i32, Element::I32 | Element::U32, {
    fn packers(elements: [Element; 2]) -> [Pack<Pair>; 2] {
        elements.map(|element| match element {
            Element::U8 => pack_panels::<u8, Pair>,
            Element::I16 => pack_panels::<i16, Pair>,
            _ => pack_panels::<i8, Pair>,
        })
    }

    fn streams(element: Element) -> Option<Streams<Pair>> {
        match element {
            Element::U8 => Streams::of_words::<u8>(),
            Element::I16 => Streams::of_words::<i16>(),
            _ => Streams::of_words::<i8>(),
        }
    }
});
units!(Quad, i32, Element::I32 | Element::U32, {
    fn packers(elements: [Element; 2]) -> [Pack<Quad>; 2] {
        match elements[0] {
            Element::U8 => [pack_panels::<u8, Quad>, pack_right_quads_alone],
            _ => [pack_panels::<Raised, Quad>, pack_right_quads],
        }
    }

    fn must_swap(elements: [Element; 2]) -> Option<bool> {
        elements.contains(&Element::U8).then_some(elements[1] == Element::U8)
    }

    fn streams(_element: Element) -> Option<Streams<Quad>> {
        None
    }
});
units!(SignedBytes, i32, Element::I32 | Element::U32, {
    fn packers(_elements: [Element; 2]) -> [Pack<SignedBytes>; 2] {
        [left::<i8, SignedBytes>(), pack_panels::<i8, SignedBytes>]
    }

    fn streams(_element: Element) -> Option<Streams<SignedBytes>> {
        None
    }
});
units!(MixedBytes, i32, Element::I32 | Element::U32, {
    fn packers(_elements: [Element; 2]) -> [Pack<MixedBytes>; 2] {
        [left::<u8, MixedBytes>(), pack_panels::<i8, MixedBytes>]
    }

    fn must_swap(elements: [Element; 2]) -> Option<bool> {
        Quad::must_swap(elements)
    }

    fn streams(_element: Element) -> Option<Streams<MixedBytes>> {
        None
    }
});
units!(Halves, f32, Element::F32, {
    fn packers(elements: [Element; 2]) -> [Pack<Halves>; 2] {
        match elements[0] {
            Element::F32 => [left::<f32, Halves>(), pack_panels::<f32, Halves>],
            _ => [left::<bf16, Halves>(), pack_panels::<bf16, Halves>],
        }
    }

    fn streams(_element: Element) -> Option<Streams<Halves>> {
        None
    }

    fn rounds(element: Element) -> Option<Round<Halves>> {
        /// # Safety
        ///
        /// See [`round_row`].
        unsafe fn row<S: Store<f32>>(sums: *const Halves, into: *mut u8, count: usize) {
            // SAFETY: the caller's promise; a value that is a sum has the bits of one.
            unsafe { round_row::<S, f32>(sums.cast(), into.cast(), count) };
        }
        match element {
            Element::BF16 => Some(Round { width: 2, row: row::<bf16> }),
            Element::F16 => Some(Round { width: 2, row: row::<f16> }),
            _ => None,
        }
    }
});

/// How the processor's kernels for values of several steps want left operands packed.
fn left<S: Source<T>, T: Compute>() -> Pack<T> {
    #[cfg(target_arch = "x86_64")]
    if sets::has_amx() {
        return micro::amx::pack_left::<S, T>;
    }
    pack_panels::<S, T>
}

/// Rounds dense sums into the result.
///
/// # Safety
///
/// The sums and the result are as large as the dimensions say.
unsafe fn round<S: Store<T>, T: Copy>(
    context: &Context,
    sums: *const T,
    rows: &[Dim],
    columns: &[Dim],
    result: *mut S,
) {
    let (rows, columns) = (Axis::new(rows.iter().copied()), Axis::new(columns.iter().copied()));
    let width = columns.len();
    let lie_together = columns.stride(1) == Some(1);
    let (sums, result) = (Address(sums.cast_mut()), Address(result));
    context.parallel_for(rows.len(), 1 + (1 << 15) / width.max(1), |begin, end| {
        let mut places = Vec::new();
        if !lie_together {
            columns.offsets(1, 0, width, &mut places);
        }
        for row in begin..end {
            let target = result.get().wrapping_offset(rows.offset(1, row));
            let source = sums.get().wrapping_add(row * width);
            if lie_together {
                // SAFETY: the caller's promise.
                unsafe { round_row::<S, T>(source, target, width) };
                continue;
            }
            for (column, &place) in places.iter().enumerate() {
                // SAFETY: the caller's promise.
                unsafe { *target.offset(place) = S::store(*source.add(column)) };
            }
        }
    });
}

for_each_set! {
    /// # Safety
    ///
    /// There are as many sums as `width` says, and room for what they are rounded to.
    unsafe fn round_row[S: Store<T>, T: Copy] =
        round_row_body(sums: *const T, result: *mut S, width: usize) -> ()
}

/// # Safety
///
/// See [`round_row`].
#[inline(always)]
unsafe fn round_row_body<S: Store<T>, T: Copy>(sums: *const T, result: *mut S, width: usize) {
    for place in 0..width {
        // SAFETY: the caller's promise.
        unsafe { *result.add(place) = S::store(*sums.add(place)) };
    }
}
