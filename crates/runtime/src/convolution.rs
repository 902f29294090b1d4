//! `rxla_convolution`: convolutions with any strides, padding, dilation, groups and layouts.
//!
//! A convolution is a product of matrices whose left operand is read through overlapping windows.
//! Where a place is in the operand is a sum of a term of the result's place and one of the window's,
//! so [`crate::dot`] does the work once every window lies inside the operand: where padding or
//! dilation make it leave, the operand is first copied into one that is larger.
//!
//! A window of stride one over a dilated operand (a transposed convolution, or the gradient of one
//! with strides) meets zeros most of the time. It is taken apart by the remainder of the result's place:
//! each part is a convolution of the operand as it is, with the taps that meet elements.

use rxla_base::{Error, Result};

use crate::allocator::{Allocator, Block};
use crate::context::Context;
use crate::dot::{self, BatchDim, Decoder, Dim, Dot};
use crate::element::{Any, Element, Elements, Load, Store};
use crate::gemm::Address;
use crate::status::{Status, guard};

/// One spatial dimension. Strides are in elements of the operand they belong to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spatial {
    pub input: usize,
    pub kernel: usize,
    pub output: usize,
    pub stride: usize,
    /// Zeros before the first element; negative: elements left out.
    pub pad_low: isize,
    /// Distance between neighbours of the left operand, with zeros between them.
    pub left_dilation: usize,
    /// Distance between taps of the window.
    pub right_dilation: usize,
    pub left_stride: isize,
    /// Negative, with [`Convolution::right_start`] at the last tap, if the window is reversed.
    pub right_stride: isize,
    pub result_stride: isize,
}

/// A convolution. At most one of the two counts of groups is not one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Convolution {
    pub left: Element,
    pub right: Element,
    pub result: Element,
    /// Images of the left operand, those of all batch groups, with the stride there and in the result.
    pub images: usize,
    pub image_strides: [isize; 2],
    /// Features of the left operand, those of all feature groups.
    pub features: usize,
    pub left_feature_stride: isize,
    /// The stride of input features in the right operand.
    pub right_feature_stride: isize,
    /// Features of the result, with the stride in the right operand and the result.
    pub outputs: usize,
    pub output_strides: [isize; 2],
    pub feature_groups: usize,
    pub batch_groups: usize,
    /// Where the right operand starts, in elements.
    pub right_start: isize,
    pub spatial: Vec<Spatial>,
}

impl Convolution {
    /// The array for [`rxla_convolution`].
    pub fn encode(&self) -> Result<Vec<i64>> {
        let (groups, images) = (self.feature_groups, self.batch_groups);
        let whole = |count: usize, groups: usize| groups > 0 && count.is_multiple_of(groups);
        if !whole(self.features, groups)
            || !whole(self.images, images)
            || !whole(self.outputs, groups.max(images))
            || (groups > 1 && images > 1)
        {
            return Err(Error::invalid_argument(format!(
                "a convolution of {} images, {} features, {} outputs in {groups} feature groups and \
                 {images} batch groups",
                self.images, self.features, self.outputs
            )));
        }
        // The types are checked as those of the product.
        self.product(self.left, [0; 2], Vec::new(), Vec::new()).encode()?;
        let mut code = vec![self.left as i64, self.right as i64, self.result as i64];
        code.extend([self.images, self.features, self.outputs].map(|size| size as i64));
        code.extend([groups as i64, images as i64]);
        let strides = [
            self.image_strides[0],
            self.image_strides[1],
            self.left_feature_stride,
            self.right_feature_stride,
            self.output_strides[0],
            self.output_strides[1],
            self.right_start,
        ];
        code.extend(strides.map(|stride| stride as i64));
        code.push(self.spatial.len() as i64);
        for dim in &self.spatial {
            let sizes = [
                dim.input,
                dim.kernel,
                dim.output,
                dim.stride,
                dim.left_dilation,
                dim.right_dilation,
            ];
            code.extend(sizes.map(|size| size as i64));
            let strides = [dim.pad_low, dim.left_stride, dim.right_stride, dim.result_stride];
            code.extend(strides.map(|stride| stride as i64));
        }
        Ok(code)
    }

    fn decode(code: &mut Decoder) -> Result<Convolution> {
        let (left, right, result) = (code.element()?, code.element()?, code.element()?);
        let (images, features, outputs) = (code.size(), code.size(), code.size());
        let (feature_groups, batch_groups) = (code.size(), code.size());
        let mut stride = || code.next() as isize;
        let (image_strides, left_feature_stride) = ([stride(), stride()], stride());
        let (right_feature_stride, output_strides) = (stride(), [stride(), stride()]);
        let right_start = stride();
        let count = code.size();
        let spatial = (0..count)
            .map(|_| {
                let [input, kernel, output, stride, left_dilation, right_dilation] =
                    std::array::from_fn(|_| code.size());
                let [pad_low, left_stride, right_stride, result_stride] =
                    std::array::from_fn(|_| code.next() as isize);
                Spatial {
                    input,
                    kernel,
                    output,
                    stride,
                    pad_low,
                    left_dilation,
                    right_dilation,
                    left_stride,
                    right_stride,
                    result_stride,
                }
            })
            .collect();
        Ok(Convolution {
            left,
            right,
            result,
            images,
            image_strides,
            features,
            left_feature_stride,
            right_feature_stride,
            outputs,
            output_strides,
            feature_groups,
            batch_groups,
            right_start,
            spatial,
        })
    }

    /// The product that the convolution is, for a left operand with elements of this type and strides of
    /// images and features: rows by `places`, steps by `taps`.
    fn product(
        &self,
        left: Element,
        [image_stride, feature_stride]: [isize; 2],
        places: Vec<Dim>,
        taps: Vec<Dim>,
    ) -> Dot {
        let groups = self.feature_groups.max(self.batch_groups).max(1);
        let outputs = self.outputs / groups;
        let (images, features) =
            (self.images / self.batch_groups.max(1), self.features / self.feature_groups.max(1));
        let group_stride = if self.batch_groups > 1 {
            images as isize * image_stride
        } else {
            features as isize * feature_stride
        };
        let by_group = self.output_strides.map(|stride| stride * outputs as isize);
        let mut rows = vec![Dim { size: images, strides: [image_stride, self.image_strides[1]] }];
        rows.extend(places);
        let mut summed = taps;
        summed.push(Dim { size: features, strides: [feature_stride, self.right_feature_stride] });
        Dot {
            left,
            right: self.right,
            result: self.result,
            batch: vec![BatchDim {
                size: groups,
                strides: [group_stride, by_group[0], by_group[1]],
            }],
            rows,
            columns: vec![Dim { size: outputs, strides: self.output_strides }],
            summed,
        }
    }
}

/// The convolution that the array describes, of `left` and `right`, into `result`.
///
/// # Safety
///
/// The context is null or a [`Context`], `code` the array of a [`Convolution`], and the other addresses
/// those of buffers that hold what it says; nobody else uses the result.
pub unsafe extern "C" fn rxla_convolution(
    context: *const Context,
    left: *const u8,
    right: *const u8,
    result: *mut u8,
    code: *const i64,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe { rxla_convolution_of::<Any>(context, left, right, result, code) }
}

/// [`rxla_convolution`] for such elements, which are no halves.
///
/// # Safety
///
/// As for [`rxla_convolution`]; the elements are such.
pub unsafe extern "C" fn rxla_convolution_of<E: Elements>(
    context: *const Context,
    left: *const u8,
    right: *const u8,
    result: *mut u8,
    code: *const i64,
) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let (context, mut code) = unsafe { (Context::from_ptr(context), Decoder::new(code)) };
        let convolution = Convolution::decode(&mut code)?;
        // SAFETY: the caller's promise.
        unsafe { run::<E>(context, &convolution, left, right, result) }
    })
}

/// # Safety
///
/// The addresses are those of buffers that hold what `convolution` says; nobody else uses the result.
unsafe fn run<E: Elements>(
    context: &Context,
    convolution: &Convolution,
    left: *const u8,
    right: *const u8,
    result: *mut u8,
) -> Result<()> {
    let groups = convolution.feature_groups.max(convolution.batch_groups);
    let half = match E::known(convolution.result) {
        Element::F16 | Element::BF16 => groups > 1,
        _ => false,
    };
    if !half {
        // SAFETY: the caller's promise.
        return unsafe { run_in_parts::<E>(context, convolution, left, right, result) };
    }
    // Groups are fast where all is of the type that is computed in.
    let kernel: usize = convolution.spatial.iter().map(|dim| dim.kernel).product();
    let places: usize = convolution.spatial.iter().map(|dim| dim.output).product();
    let right_count =
        convolution.outputs * (convolution.features / convolution.feature_groups) * kernel;
    let result_count =
        convolution.outputs * (convolution.images / convolution.batch_groups) * places;
    let wide_right = Allocator::shared().allocate(right_count.saturating_mul(4))?;
    let wide_result = Allocator::shared().allocate(result_count.saturating_mul(4))?;
    let wide = Convolution { right: Element::F32, result: Element::F32, ..convolution.clone() };
    // SAFETY: buffers are dense, so that there are so many elements; the rest is the caller's promise.
    unsafe {
        match convolution.right {
            Element::F16 => {
                convert::<half::f16, f32>(context, right, wide_right.as_ptr(), right_count)
            }
            Element::BF16 => {
                convert::<half::bf16, f32>(context, right, wide_right.as_ptr(), right_count)
            }
            other => {
                return Err(Error::unimplemented(format!(
                    "a convolution with {other:?} as a half"
                )));
            }
        }
        run_in_parts::<E>(context, &wide, left, wide_right.as_ptr(), wide_result.as_ptr())?;
        match convolution.result {
            Element::F16 => {
                narrow::<half::f16>(context, wide_result.as_ptr(), result, result_count)
            }
            _ => narrow::<half::bf16>(context, wide_result.as_ptr(), result, result_count),
        }
    }
    Ok(())
}

/// A part of the result along one dimension, and the taps that it needs.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// The first place, the distance to the next, how many.
    places: [usize; 3],
    /// The same for taps.
    taps: [usize; 3],
    /// Where the first tap of the first place is in the operand.
    start: isize,
    /// How far the next place and the next tap are in the operand.
    steps: [usize; 2],
}

impl Part {
    /// The first and the last place in the operand that is read.
    fn reach(&self) -> Option<(isize, isize)> {
        if self.places[2] == 0 || self.taps[2] == 0 {
            return None;
        }
        let last = (self.places[2] - 1) * self.steps[0] + (self.taps[2] - 1) * self.steps[1];
        Some((self.start, self.start + last as isize))
    }
}

/// How one dimension is done: its parts, the distance that elements are spread to in the operand, and
/// which of its places are read.
struct Plan {
    parts: Vec<Part>,
    spread: usize,
    low: isize,
    high: isize,
}

fn plan(dim: &Spatial) -> Plan {
    let (dilation, pad) = (dim.left_dilation.max(1), dim.pad_low);
    let taken_apart = dilation > 1 && dim.stride == 1 && dim.right_dilation == 1;
    let parts: Vec<Part> = if taken_apart {
        let part = |first: usize| {
            let tap = (pad - first as isize).rem_euclid(dilation as isize) as usize;
            Part {
                places: [first, dilation, (dim.output - first).div_ceil(dilation)],
                taps: [tap, dilation, dim.kernel.saturating_sub(tap).div_ceil(dilation)],
                start: (first as isize + tap as isize - pad) / dilation as isize,
                steps: [1, 1],
            }
        };
        (0..dilation.min(dim.output)).map(part).collect()
    } else {
        vec![Part {
            places: [0, 1, dim.output],
            taps: [0, 1, dim.kernel],
            start: -pad,
            steps: [dim.stride, dim.right_dilation],
        }]
    };
    let reaches: Vec<(isize, isize)> = parts.iter().filter_map(Part::reach).collect();
    Plan {
        spread: if taken_apart { 1 } else { dilation },
        low: reaches.iter().map(|reach| reach.0).min().unwrap_or(0),
        high: reaches.iter().map(|reach| reach.1).max().unwrap_or(0),
        parts,
    }
}

impl Plan {
    /// Whether all that is read are elements of the operand, side by side as they are.
    fn fits(&self, dim: &Spatial) -> bool {
        self.spread == 1 && self.low >= 0 && self.high < dim.input as isize
    }
}

/// # Safety
///
/// As for [`run`].
unsafe fn run_in_parts<E: Elements>(
    context: &Context,
    convolution: &Convolution,
    left: *const u8,
    right: *const u8,
    result: *mut u8,
) -> Result<()> {
    let plans: Vec<Plan> = convolution.spatial.iter().map(plan).collect();
    let fits = plans.iter().zip(&convolution.spatial).all(|(plan, dim)| plan.fits(dim));
    let grouped = convolution.feature_groups.max(convolution.batch_groups) > 1;
    let padded;
    let mut element = convolution.left;
    let (mut left, mut strides, mut spatial_strides) = (
        left,
        [convolution.image_strides[0], convolution.left_feature_stride],
        convolution.spatial.iter().map(|dim| dim.left_stride).collect::<Vec<_>>(),
    );
    let mut lows = vec![0; plans.len()];
    if !fits || (grouped && matches!(element, Element::F16 | Element::BF16)) {
        // SAFETY: the caller's promise.
        padded = unsafe { pad::<E>(context, convolution, &plans, left)? };
        left = padded.block.as_ptr();
        element = padded.element;
        strides = [padded.strides[0], padded.strides[1]];
        spatial_strides = padded.strides[2..].to_vec();
        lows = plans.iter().map(|plan| plan.low).collect();
    }
    let mut choice = vec![0; plans.len()];
    if plans.iter().any(|plan| plan.parts.is_empty()) {
        return Ok(());
    }
    loop {
        let (mut left_start, mut right_start, mut result_start) = (0, convolution.right_start, 0);
        let (mut places, mut taps) = (Vec::new(), Vec::new());
        for (i, dim) in convolution.spatial.iter().enumerate() {
            let part = &plans[i].parts[choice[i]];
            let stride = spatial_strides[i];
            if part.reach().is_some() {
                left_start += (part.start - lows[i]) * stride;
            }
            right_start += part.taps[0] as isize * dim.right_stride;
            result_start += part.places[0] as isize * dim.result_stride;
            places.push(Dim {
                size: part.places[2],
                strides: [
                    part.steps[0] as isize * stride,
                    part.places[1] as isize * dim.result_stride,
                ],
            });
            taps.push(Dim {
                size: part.taps[2],
                strides: [
                    part.steps[1] as isize * stride,
                    part.taps[1] as isize * dim.right_stride,
                ],
            });
        }
        let dot = convolution.product(element, strides, places, taps);
        let left = left.wrapping_offset(left_start * element.byte_width() as isize);
        let right = right.wrapping_offset(right_start * convolution.right.byte_width() as isize);
        let result =
            result.wrapping_offset(result_start * convolution.result.byte_width() as isize);
        // SAFETY: the caller's promise; what is read of the left operand lies inside it.
        unsafe { dot::run::<E>(context, &dot, left, right, result)? };
        // The next choice of parts, the last dimension first.
        let Some(i) = (0..plans.len()).rev().find(|&i| choice[i] + 1 < plans[i].parts.len()) else {
            return Ok(());
        };
        choice[i] += 1;
        choice[i + 1..].fill(0);
    }
}

/// A copy of the left operand in which every window lies.
struct Padded {
    block: Block,
    element: Element,
    /// Of images, features, and each dimension of space, in elements.
    strides: Vec<isize>,
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
}

/// # Safety
///
/// As for [`run`].
unsafe fn pad<E: Elements>(
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
    let ordered: Vec<Copied> = order.iter().map(|&dim| dims[dim]).collect();
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
unsafe fn convert<S: Load<T>, T: Copy>(
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
unsafe fn narrow<S: Store<f32>>(context: &Context, from: *const u8, into: *mut u8, count: usize) {
    let (from, into) = (Address(from.cast_mut().cast::<f32>()), Address(into.cast::<S>()));
    context.parallel_for(count, 1 << 14, |begin, end| {
        for i in begin..end {
            // SAFETY: the caller's promise.
            unsafe { into.get().add(i).write(S::store(*from.get().add(i))) };
        }
    });
}

#[cfg(test)]
#[path = "convolution_test.rs"]
mod tests;
