//! Convolutions whose places lie side by side, as in NCHW, but not those that products take or make together: under
//! strides and dilation, neighbours in memory belong to different products, and groups are products too thin to pay for
//! their packing. Operands are copied into pictures whose lanes lie together, and results made there.

use rxla_base::Result;

use super::parts::Plan;
use super::pictures::{Lanes, Pictures, Turned};
use super::{Convolution, Spatial, direct, plan, run_in_parts};
use crate::context::Context;
use crate::element::Elements;

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
    if !c.is_f32::<E>() || c.batch_groups != 1 {
        return Ok(false);
    }
    let (dims, plans) = ([y, x], [plan(&y), plan(&x)]);
    let (lanes, scattered) = match c.feature_groups {
        1 => (lanes_to_copy(c, &plans), is_scattered(c, dims, &plans)),
        _ if has_thin_groups(c, dims, &plans) => (Some(Lanes::Features), true),
        _ => (None, false),
    };
    if lanes.is_none() && !scattered {
        return Ok(false);
    }
    let mut inner = c.clone();
    let mut left = left;
    let _copy = match lanes {
        None => None,
        Some(lanes) => {
            let (pictures, stride) = Pictures::of_left(c, dims, left.cast(), lanes);
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
    let turned = match scattered {
        false => None,
        true => Some(Turned::new(Pictures::of_result(c, dims, result.cast()))?),
    };
    let mut into = result;
    if let Some(Turned { made, .. }) = &turned {
        into = made.data.get().cast();
        (inner.image_strides[1], inner.output_strides[1]) = (made.strides[0], 1);
        for (dim, stride) in inner.spatial.iter_mut().zip(&made.strides[1..]) {
            dim.result_stride = *stride;
        }
    }
    // SAFETY: the caller's promise, and what was copied or is made is as large as the description says.
    unsafe {
        if !direct::run::<E>(context, &inner, left, right, into)? {
            run_in_parts::<E>(context, &inner, left, right, into)?;
        }
        if let Some(turned) = turned {
            turned.put(context);
        }
    }
    Ok(true)
}

/// What lies side by side in a copy of the left operand, if its places lie together and strides leave some of them out.
fn lanes_to_copy(c: &Convolution, plans: &[Plan; 2]) -> Option<Lanes> {
    let x = c.spatial.last()?;
    let leaves_out = x.stride > 1 || x.right_dilation > 1;
    if x.left_stride != 1 || !leaves_out || plans.iter().any(|plan| plan.spread != 1) {
        return None;
    }
    // Those that are nearer to each other, so that less is read at once.
    let (lanes, count) = match c.image_strides[0] < c.left_feature_stride {
        true => (Lanes::Images, c.images),
        false => (Lanes::Features, c.features),
    };
    (count >= LEAST).then_some(lanes)
}

/// Whether the places of a part of the result are apart from each other, and its outputs, too.
fn is_scattered(c: &Convolution, dims: [Spatial; 2], plans: &[Plan; 2]) -> bool {
    plans[1].parts.len() > 1 && c.outputs >= LEAST && Turned::suits(c, dims)
}

/// Whether groups have so few outputs that turning the operand and the result is less work than packing for products,
/// and enough that lanes of outputs are full.
fn has_thin_groups(c: &Convolution, dims: [Spatial; 2], plans: &[Plan; 2]) -> bool {
    let thin = if cfg!(test) { 2..=32 } else { 8..=32 };
    thin.contains(&(c.outputs / c.feature_groups))
        && dims[1].left_stride == 1
        && plans.iter().all(|plan| plan.spread == 1)
        && Turned::suits(c, dims)
}
