//! Convolutions whose places lie side by side, as in NCHW, but not those that products take or make together: under
//! strides and dilation, neighbours in memory belong to different products. Operands are copied into pictures whose
//! lanes lie together, and results made there.

use rxla_base::Result;

use super::parts::Plan;
use super::pictures::{Pictures, Turned};
use super::{Convolution, plan, run_in_parts};
use crate::context::Context;
use crate::element::{Element, Elements};
use crate::gemm::Address;

/// Lanes from which on it pays.
const LEAST: usize = if cfg!(test) { 1 } else { 8 };

/// Runs the convolution if it is one of those; says whether the result is there.
///
/// # Safety
///
/// As for [`super::run`].
pub(super) unsafe fn run<E: Elements>(
    context: &Context,
    c: &Convolution,
    left: *const u8,
    right: *const u8,
    result: *mut u8,
) -> Result<bool> {
    let [y, x] = c.spatial[..] else { return Ok(false) };
    let elements = [c.left, c.right, c.result].map(E::known);
    if elements != [Element::F32; 3] || [c.feature_groups, c.batch_groups] != [1; 2] {
        return Ok(false);
    }
    let plans = [plan(&y), plan(&x)];
    let mut inner = c.clone();
    let mut left = left;
    let copied = match elements_to_copy(c, &plans) {
        None => None,
        Some((pictures, stride, lanes)) => {
            let pictures = Pictures { data: Address(left.cast_mut().cast()), ..pictures };
            let ranges = [0, 1].map(|dim| plans[dim].low..plans[dim].high + 1);
            // SAFETY: the caller's promise.
            let (copy, block) = unsafe { pictures.copy(context, stride, ranges)? };
            left = block.as_ptr();
            [inner.image_strides[0], inner.left_feature_stride] = match lanes {
                Lanes::Features => [copy.strides[0], 1],
                Lanes::Images => [1, copy.strides[0]],
            };
            for (i, dim) in inner.spatial.iter_mut().enumerate() {
                dim.input = copy.size[i];
                dim.pad_low += plans[i].low * dim.left_dilation as isize;
                dim.left_stride = copy.strides[1 + i];
            }
            Some(block)
        }
    };
    let turned = match is_scattered(c, &plans) {
        false => None,
        true => Some(Turned::new(Pictures {
            data: Address(result.cast()),
            count: c.images,
            size: [y.output, x.output],
            strides: [c.image_strides[1], y.result_stride, x.result_stride],
            lanes: c.outputs,
        })?),
    };
    let mut into = result;
    if let Some(Turned { made, .. }) = &turned {
        into = made.data.get().cast();
        (inner.image_strides[1], inner.output_strides[1]) = (made.strides[0], 1);
        for (dim, stride) in inner.spatial.iter_mut().zip(&made.strides[1..]) {
            dim.result_stride = *stride;
        }
    }
    if copied.is_none() && turned.is_none() {
        return Ok(false);
    }
    // SAFETY: the caller's promise, and what was copied or is made is as large as the description says.
    unsafe {
        run_in_parts::<E>(context, &inner, left, right, into)?;
        if let Some(turned) = turned {
            turned.put(context);
        }
    }
    Ok(true)
}

/// What lies side by side in the copy of an operand.
enum Lanes {
    Features,
    Images,
}

/// The pictures of the left operand and how far their lanes are apart, if its places lie together and strides leave
/// some of them out.
fn elements_to_copy(c: &Convolution, plans: &[Plan; 2]) -> Option<(Pictures, isize, Lanes)> {
    let [y, x] = c.spatial[..] else { return None };
    let leaves_out = x.stride > 1 || x.right_dilation > 1;
    if x.left_stride != 1 || !leaves_out || plans.iter().any(|plan| plan.spread != 1) {
        return None;
    }
    // Those that are nearer to each other, so that less is read at once.
    let images = (c.images, c.image_strides[0], Lanes::Images);
    let features = (c.features, c.left_feature_stride, Lanes::Features);
    let (inner, outer) = match c.image_strides[0] < c.left_feature_stride {
        true => (images, features),
        false => (features, images),
    };
    let pictures = Pictures {
        data: Address(std::ptr::null_mut()),
        count: outer.0,
        size: [y.input, x.input],
        strides: [outer.1, y.left_stride, x.left_stride],
        lanes: inner.0,
    };
    (inner.0 >= LEAST).then_some((pictures, inner.1, inner.2))
}

/// Whether the places of a part of the result are apart from each other, and its outputs, too.
fn is_scattered(c: &Convolution, plans: &[Plan; 2]) -> bool {
    let [y, x] = c.spatial[..] else { return false };
    plans[1].parts.len() > 1
        && c.outputs >= LEAST
        && Turned::suits(
            [y.output, x.output],
            c.output_strides[1],
            y.result_stride,
            x.result_stride,
        )
}
