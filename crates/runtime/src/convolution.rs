//! `rxla_convolution`: convolutions with any strides, padding, dilation, groups and layouts.
//!
//! A convolution is a product of matrices whose left operand is read through overlapping windows.
//! Where a place is in the operand is a sum of a term of the result's place and one of the window's,
//! so [`crate::dot`] does the work once every window lies inside the operand: where padding or
//! dilation make it leave, the operand is first copied into one that is larger.
//!
//! A window of stride one over a dilated operand (a transposed convolution, or the gradient of one
//! with strides) meets zeros most of the time. It is taken apart by the remainder of the result's place:
//! each part is a convolution of the operand as it is, with the taps that meet elements. Where a tap is no finite number
//! the zeros count, too, since its product with them is NaN: then they are written out ([`holes`]).
//!
//! Where features lie side by side, f32 are not copied: [`direct`] and [`depthwise`] look up where each element is.
//! Where places do, groups of few outputs are copied into planes of lines ([`grouped`]).

mod depthwise;
mod direct;
mod grouped;
mod holes;
mod line;
mod pad;
mod parts;
mod pictures;
mod turned;
mod vector;
mod winograd;

use rxla_base::{Error, Result};

use crate::allocator::{Allocator, Block};
use crate::context::Context;
use crate::dot::{self, BatchDim, Decoder, Dim, Dot};
use crate::element::{Any, Element, Elements};
use crate::status::{Status, guard};
use pad::{convert, narrow, pad};
use parts::{Plan, plan};

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

/// How a convolution of floats may be computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// The fastest way whose rounding is about that of plain sums.
    Fastest = 0,
    /// Every product of its definition, and plain sums of them.
    Direct = 1,
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
    pub method: Method,
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
        code.push(self.method as i64);
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
        let method = if code.next() == 0 { Method::Fastest } else { Method::Direct };
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
            method,
        })
    }

    /// Whether all elements are f32, as most kernels here ask for.
    fn is_f32<E: Elements>(&self) -> bool {
        [self.left, self.right, self.result].map(E::known) == [Element::F32; 3]
    }

    /// Elements of the right operand.
    fn right_count(&self) -> usize {
        let features = self.features / self.feature_groups.max(1);
        self.outputs * features * self.spatial.iter().map(|dim| dim.kernel).product::<usize>()
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
            rounded: false,
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
    // SAFETY: the caller's promise.
    if let Some(filled) = unsafe { holes::filled::<E>(context, convolution, left, right)? } {
        let left = filled.block.as_ptr();
        // SAFETY: as above; the copy is what the other convolution says.
        return unsafe { run::<E>(context, &filled.convolution, left, right, result) };
    }
    let groups = convolution.feature_groups.max(convolution.batch_groups);
    let half = match E::known(convolution.result) {
        Element::F16 | Element::BF16 => groups > 1,
        _ => false,
    };
    if !half {
        // SAFETY: the caller's promise.
        if unsafe { grouped::run::<E>(context, convolution, left, right, result)? } {
            return Ok(());
        }
        // SAFETY: the caller's promise.
        if unsafe { winograd::run::<E>(context, convolution, left, right, result)? } {
            return Ok(());
        }
        // SAFETY: the caller's promise.
        if unsafe { depthwise::run::<E>(context, convolution, left, right, result)? } {
            return Ok(());
        }
        // SAFETY: the caller's promise.
        if unsafe { direct::run::<E>(context, convolution, left, right, result)? } {
            return Ok(());
        }
        // SAFETY: the caller's promise.
        if unsafe { turned::run::<E>(context, convolution, left, right, result)? } {
            return Ok(());
        }
        // SAFETY: the caller's promise.
        return unsafe { run_in_parts::<E>(context, convolution, left, right, result) };
    }
    // Groups are fast where all is of the type that is computed in.
    let size = |of: fn(&Spatial) -> usize| convolution.spatial.iter().map(of).product::<usize>();
    let left_count = convolution.images * convolution.features * size(|dim| dim.input);
    let right_count = convolution.right_count();
    let images = convolution.images / convolution.batch_groups;
    let result_count = convolution.outputs * images * size(|dim| dim.output);
    let wide_result = Allocator::shared().allocate(result_count.saturating_mul(4))?;
    // SAFETY: buffers are dense, so that there are so many elements; the rest is the caller's promise.
    unsafe {
        let wide_left = widen(context, convolution.left, left, left_count)?;
        let wide_right = widen(context, convolution.right, right, right_count)?;
        let [left, right, into] =
            [&wide_left, &wide_right, &wide_result].map(|block| block.as_ptr());
        let f32 = Element::F32;
        let wide = Convolution { left: f32, right: f32, result: f32, ..convolution.clone() };
        run::<Any>(context, &wide, left, right, into)?;
        match convolution.result {
            Element::F16 => narrow::<half::f16>(context, into, result, result_count),
            _ => narrow::<half::bf16>(context, into, result, result_count),
        }
    }
    Ok(())
}

/// Halves, or what is wide already, as f32.
///
/// # Safety
///
/// So many can be read.
unsafe fn widen(
    context: &Context,
    element: Element,
    from: *const u8,
    count: usize,
) -> Result<Block> {
    let block = Allocator::shared().allocate(count.saturating_mul(4))?;
    // SAFETY: the caller's promise; there is room for them.
    unsafe {
        match element {
            Element::F16 => convert::<half::f16, f32>(context, from, block.as_ptr(), count),
            Element::BF16 => convert::<half::bf16, f32>(context, from, block.as_ptr(), count),
            Element::F32 => convert::<f32, f32>(context, from, block.as_ptr(), count),
            other => {
                let message = format!("a convolution with {other:?} as a half");
                return Err(Error::unimplemented(message));
            }
        }
    }
    Ok(block)
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
        unsafe { dot::run::<E>(context, &dot, None, left, right, result)? };
        // The next choice of parts, the last dimension first.
        let Some(i) = (0..plans.len()).rev().find(|&i| choice[i] + 1 < plans[i].parts.len()) else {
            return Ok(());
        };
        choice[i] += 1;
        choice[i + 1..].fill(0);
    }
}

#[cfg(test)]
#[path = "convolution_test.rs"]
mod tests;
