//! Convolutions of dilated operands with windows that are not finite.

use rxla_base::Result;

use super::pad::pad;
use super::parts::Plan;
use super::{Convolution, Spatial};
use crate::allocator::Block;
use crate::context::Context;
use crate::element::{Element, Elements};

/// A convolution of an operand with zeros where there was nothing.
pub(super) struct Filled {
    pub(super) convolution: Convolution,
    /// Its left operand.
    pub(super) block: Block,
}

/// The same convolution of an operand that is not dilated, if its own is and if a tap is not finite.
///
/// # Safety
///
/// As for [`super::run`].
pub(super) unsafe fn filled<E: Elements>(
    context: &Context,
    convolution: &Convolution,
    left: *const u8,
    right: *const u8,
) -> Result<Option<Filled>> {
    let has_holes = |dim: &Spatial| dim.left_dilation > 1 && dim.input > 1;
    let spatial = &convolution.spatial;
    if !spatial.iter().any(has_holes) || spatial.iter().any(|dim| dim.input == 0) {
        return Ok(None);
    }
    // SAFETY: the caller's promise; buffers are dense.
    if unsafe { all_finite(convolution.right, right, convolution.right_count()) } {
        return Ok(None);
    }
    let plan = |dim: &Spatial| Plan {
        parts: Vec::new(),
        spread: dim.left_dilation,
        low: 0,
        high: ((dim.input - 1) * dim.left_dilation) as isize,
    };
    let plans: Vec<Plan> = spatial.iter().map(plan).collect();
    // SAFETY: the caller's promise.
    let copy = unsafe { pad::<E>(context, convolution, &plans, left)? };
    let mut convolution = Convolution { left: copy.element, ..convolution.clone() };
    convolution.image_strides[0] = copy.strides[0];
    convolution.left_feature_stride = copy.strides[1];
    for ((dim, plan), &stride) in convolution.spatial.iter_mut().zip(&plans).zip(&copy.strides[2..])
    {
        (dim.input, dim.left_dilation) = (plan.high as usize + 1, 1);
        dim.left_stride = stride;
    }
    Ok(Some(Filled { convolution, block: copy.block }))
}

/// Whether so many elements are all finite, as integers are.
///
/// # Safety
///
/// They can be read.
unsafe fn all_finite(element: Element, from: *const u8, count: usize) -> bool {
    /// # Safety
    ///
    /// So many words can be read.
    unsafe fn none_has_all<W>(from: *const u8, count: usize, bits: W) -> bool
    where
        W: Copy + PartialEq + std::ops::BitAnd<Output = W>,
    {
        // SAFETY: the caller's promise.
        let words = unsafe { std::slice::from_raw_parts(from.cast::<W>(), count) };
        // The bits of an exponent are all set in infinities and NaN only. A piece is gone through to its end, by vectors.
        let has_none =
            |words: &[W]| words.iter().fold(true, |none, &word| none & (word & bits != bits));
        words.chunks(1 << 10).all(has_none)
    }
    // SAFETY: the caller's promise; a complex number is two.
    unsafe {
        match element {
            Element::F16 => none_has_all(from, count, 0x7c00_u16),
            Element::BF16 => none_has_all(from, count, 0x7f80_u16),
            Element::F32 => none_has_all(from, count, 0x7f80_0000_u32),
            Element::C64 => none_has_all(from, 2 * count, 0x7f80_0000_u32),
            Element::F64 => none_has_all(from, count, 0x7ff0_u64 << 48),
            Element::C128 => none_has_all(from, 2 * count, 0x7ff0_u64 << 48),
            _ => true,
        }
    }
}
