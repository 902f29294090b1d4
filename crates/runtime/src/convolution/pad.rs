//! Copies of operands: with the zeros around and between elements that windows meet, or in another type.

use rxla_base::{Error, Result};

use super::Convolution;
use super::parts::Plan;
use crate::allocator::{Allocator, Block};
use crate::context::Context;
use crate::element::{Element, Elements, Load, Store};
use crate::gemm::Address;

/// A copy of the left operand in which every window lies.
pub(super) struct Padded {
    pub(super) block: Block,
    pub(super) element: Element,
    /// Of images, features, and each dimension of space, in elements.
    pub(super) strides: Vec<isize>,
}

/// A dimension being copied.
#[derive(Clone, Copy)]
struct Copied {
    size: usize,
    left_stride: isize,
    /// Where the copy starts, how far neighbours are in it, and how long it is.
    low: isize,
    spread: usize,
    into: usize,
    stride: usize,
}

impl Copied {
    /// Where an element goes, if it is not left out.
    fn place(&self, index: usize) -> Option<usize> {
        let place = (index * self.spread) as isize - self.low;
        (0..self.into as isize).contains(&place).then_some(place as usize)
    }

    /// This dimension and one inside it as one, if that is copied whole and nothing lies between.
    fn with(&self, inner: &Copied) -> Option<Copied> {
        let whole = inner.low == 0 && inner.spread == 1 && inner.into == inner.size;
        let together = self.spread == 1
            && self.left_stride == inner.left_stride * inner.size as isize
            && self.stride == inner.stride * inner.size;
        (whole && together).then_some(Copied {
            size: self.size * inner.size,
            low: self.low * inner.size as isize,
            into: self.into * inner.size,
            ..*inner
        })
    }
}

/// # Safety
///
/// As for [`super::run`].
pub(super) unsafe fn pad<E: Elements>(
    context: &Context,
    convolution: &Convolution,
    plans: &[Plan],
    left: *const u8,
) -> Result<Padded> {
    let whole = |size: usize, left_stride: isize| Copied {
        size,
        left_stride,
        low: 0,
        spread: 1,
        into: size,
        stride: 0,
    };
    let mut dims = vec![
        whole(convolution.images, convolution.image_strides[0]),
        whole(convolution.features, convolution.left_feature_stride),
    ];
    dims.extend(plans.iter().zip(&convolution.spatial).map(|(plan, dim)| Copied {
        low: plan.low,
        spread: plan.spread,
        into: (plan.high - plan.low + 1) as usize,
        ..whole(dim.input, dim.left_stride)
    }));
    // The copy has the order of the original.
    let mut order: Vec<usize> = (0..dims.len()).collect();
    order.sort_by_key(|&dim| std::cmp::Reverse(dims[dim].left_stride.unsigned_abs()));
    let mut total = 1_usize;
    for &dim in order.iter().rev() {
        dims[dim].stride = total;
        total = total.saturating_mul(dims[dim].into);
    }
    let left_element = E::known(convolution.left);
    let element = match left_element {
        Element::F16 | Element::BF16 => Element::F32,
        other => other,
    };
    let bytes = total.saturating_mul(element.byte_width());
    if bytes > crate::system::memory_limit() / 2 {
        let message = format!("out of memory padding the operand of a convolution: {bytes} bytes");
        return Err(Error::new(rxla_base::Code::ResourceExhausted, message));
    }
    let block = Allocator::shared().allocate(bytes)?;
    let into = Address(block.as_ptr());
    context.parallel_for(bytes, 1 << 18, |begin, end| {
        // SAFETY: inside the block, and each byte in one piece.
        unsafe { into.get().add(begin).write_bytes(0, end - begin) };
    });
    let mut ordered: Vec<Copied> = Vec::new();
    for &dim in &order {
        match ordered.last().and_then(|outer| outer.with(&dims[dim])) {
            Some(both) => {
                ordered.pop();
                ordered.push(both);
            }
            None => ordered.push(dims[dim]),
        }
    }
    // SAFETY: the caller's promise; the copy is as large as the dimensions say.
    unsafe {
        match left_element {
            Element::F16 => {
                copy::<half::f16, f32>(context, &ordered, left, block.as_ptr(), Load::load)
            }
            Element::BF16 => {
                copy::<half::bf16, f32>(context, &ordered, left, block.as_ptr(), Load::load)
            }
            other => match other.byte_width() {
                1 => copy::<u8, u8>(context, &ordered, left, block.as_ptr(), |x| x),
                2 => copy::<u16, u16>(context, &ordered, left, block.as_ptr(), |x| x),
                4 => copy::<u32, u32>(context, &ordered, left, block.as_ptr(), |x| x),
                8 => copy::<u64, u64>(context, &ordered, left, block.as_ptr(), |x| x),
                _ => copy::<[u64; 2], [u64; 2]>(context, &ordered, left, block.as_ptr(), |x| x),
            },
        }
    }
    let strides = dims.iter().map(|dim| dim.stride as isize).collect();
    Ok(Padded { block, element, strides })
}

/// Copies all elements that are not left out to their places.
///
/// # Safety
///
/// The operand and the copy are as large as the dimensions say.
unsafe fn copy<S: Copy, T: Copy>(
    context: &Context,
    dims: &[Copied],
    from: *const u8,
    into: *mut u8,
    convert: impl Fn(S) -> T + Sync,
) {
    let Some((inner, outer)) = dims.split_last() else { return };
    let rows: usize = outer.iter().map(|dim| dim.size).product();
    let (from, into) = (Address(from.cast_mut().cast::<S>()), Address(into.cast::<T>()));
    let indices = (0..inner.size).filter(|&index| inner.place(index).is_some());
    let (first, count) = (indices.clone().next().unwrap_or(0), indices.count());
    let Some(start) = inner.place(first) else { return };
    context.parallel_for(rows, 1 + (1 << 14) / inner.size.max(1), |begin, end| {
        'rows: for row in begin..end {
            let (mut rest, mut source, mut target) = (row, 0, 0);
            for dim in outer.iter().rev() {
                let index = rest % dim.size;
                rest /= dim.size;
                let Some(place) = dim.place(index) else { continue 'rows };
                source += index as isize * dim.left_stride;
                target += place * dim.stride;
            }
            let source = from.get().wrapping_offset(source + first as isize * inner.left_stride);
            let target = into.get().wrapping_add(target + start * inner.stride);
            let step = inner.spread * inner.stride;
            // SAFETY: the caller's promise; each element has a place of its own.
            unsafe {
                if inner.left_stride == 1 && step == 1 {
                    for i in 0..count {
                        target.add(i).write(convert(source.add(i).read()));
                    }
                } else {
                    for i in 0..count {
                        let element = source.offset(i as isize * inner.left_stride).read();
                        target.add(i * step).write(convert(element));
                    }
                }
            }
        }
    });
}

/// # Safety
///
/// Both buffers hold `count` elements.
pub(super) unsafe fn convert<S: Load<T>, T: Copy>(
    context: &Context,
    from: *const u8,
    into: *mut u8,
    count: usize,
) {
    let (from, into) = (Address(from.cast_mut().cast::<S>()), Address(into.cast::<T>()));
    context.parallel_for(count, 1 << 14, |begin, end| {
        for i in begin..end {
            // SAFETY: the caller's promise.
            unsafe { into.get().add(i).write((*from.get().add(i)).load()) };
        }
    });
}

/// # Safety
///
/// Both buffers hold `count` elements.
pub(super) unsafe fn narrow<S: Store<f32>>(
    context: &Context,
    from: *const u8,
    into: *mut u8,
    count: usize,
) {
    let (from, into) = (Address(from.cast_mut().cast::<f32>()), Address(into.cast::<S>()));
    context.parallel_for(count, 1 << 14, |begin, end| {
        for i in begin..end {
            // SAFETY: the caller's promise.
            unsafe { into.get().add(i).write(S::store(*from.get().add(i))) };
        }
    });
}
