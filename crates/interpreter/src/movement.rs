//! Ops that put elements elsewhere: broadcast, transpose, reshape, slice, pad, concatenate,
//! reverse, iota and bitcast.
//!
//! Results have the sizes their operands imply, so a value whose size is dynamic in the module
//! simply has the size it has.

use rxla_base::{Error, Result};
use rxla_hlo::op::{PaddingDimension, SliceDimension};
use rxla_hlo::{ArrayLiteral, ArrayShape, Dims, ElementType, Layout};
use smallvec::SmallVec;

use crate::elementwise;
use crate::strided::{Extents, View, copy, row_major, with_width, words_mut};

/// Operand dimension `i` becomes result dimension `dimensions[i]`; the others repeat.
pub(crate) fn broadcast(
    operand: &ArrayLiteral,
    dimensions: &[i64],
    shape: &ArrayShape,
) -> Result<ArrayLiteral> {
    let mut dims = shape.dims.clone();
    let own = row_major(operand.dims());
    let mut strides: Extents = SmallVec::from_elem(0, dims.len());
    for (dimension, &target) in dimensions.iter().enumerate() {
        let target = target as usize;
        if shape.is_dynamic_dimension(target) {
            dims[target] = operand.dims()[dimension];
        }
        if operand.dims()[dimension] != 1 || dims[target] == 1 {
            strides[target] = own[dimension];
        }
    }
    let mut result = ArrayLiteral::zeros(&ArrayShape::new(operand.element_type(), dims.clone()))?;
    if operand.len() == 1 {
        with_width!(operand.element_type().byte_width(), T => {
            words_mut::<T>(&mut result).fill(crate::strided::words::<T>(operand)[0])
        });
        return Ok(result);
    }
    let to = View::dense(&dims);
    copy(&dims, operand, &View { start: 0, strides }, &mut result, &to);
    Ok(result)
}

/// The scalar repeated.
pub(crate) fn fill(scalar: &ArrayLiteral, dims: &[i64]) -> Result<ArrayLiteral> {
    broadcast(scalar, &[], &ArrayShape::new(scalar.element_type(), dims.iter().copied()))
}

/// Result dimension `i` is operand dimension `dimensions[i]`.
pub(crate) fn transpose(operand: ArrayLiteral, dimensions: &[i64]) -> Result<ArrayLiteral> {
    let dims: Dims = dimensions.iter().map(|&d| operand.dims()[d as usize]).collect();
    let shape = ArrayShape::new(operand.element_type(), dims.clone());
    let mut long = dimensions.iter().filter(|&&d| operand.dims()[d as usize] != 1);
    if long.clone().is_sorted() || long.next().is_none() {
        return operand.with_shape(&shape);
    }
    let own = row_major(operand.dims());
    let strides = dimensions.iter().map(|&d| own[d as usize]).collect();
    let mut result = ArrayLiteral::zeros(&shape)?;
    copy(&dims, &operand, &View { start: 0, strides }, &mut result, &View::dense(&dims));
    Ok(result)
}

/// The elements in row-major order under other dimensions. A dynamic size follows from the
/// number of elements.
pub(crate) fn reshape(operand: ArrayLiteral, shape: &ArrayShape) -> Result<ArrayLiteral> {
    let mut dims = shape.dims.clone();
    let mut dynamic = (0..dims.len()).filter(|&d| shape.is_dynamic_dimension(d));
    if let Some(dimension) = dynamic.next() {
        let others: i64 = dims
            .iter()
            .enumerate()
            .filter(|(d, _)| *d != dimension)
            .map(|(_, size)| size)
            .product();
        if dynamic.next().is_some() && shape.element_count() != Some(operand.len()) {
            return Err(Error::unimplemented(format!(
                "`reshape` to `{shape}`, which has several dynamic dimensions"
            )));
        }
        if others > 0 {
            dims[dimension] = operand.len() as i64 / others;
        }
    }
    operand.with_shape(&ArrayShape::new(shape.element_type, dims))
}

/// `[start:limit:stride]` of each dimension.
pub(crate) fn slice(operand: &ArrayLiteral, slices: &[SliceDimension]) -> Result<ArrayLiteral> {
    let own = row_major(operand.dims());
    let mut dims = Dims::new();
    let mut from = View { start: 0, strides: Extents::new() };
    for (dimension, slice) in slices.iter().enumerate() {
        let size = operand.dims()[dimension];
        let limit = slice.limit.min(size);
        if slice.start < 0 || slice.stride < 1 || slice.start > limit {
            return Err(Error::invalid_argument(format!(
                "`slice` [{}:{}:{}] does not lie in dimension {dimension} of `{}`",
                slice.start,
                slice.limit,
                slice.stride,
                operand.shape()
            )));
        }
        dims.push(
            (limit - slice.start).div_euclid(slice.stride)
                + i64::from((limit - slice.start) % slice.stride != 0),
        );
        from.start += slice.start as isize * own[dimension];
        from.strides.push(own[dimension] * slice.stride as isize);
    }
    let mut result = ArrayLiteral::zeros(&ArrayShape::new(operand.element_type(), dims.clone()))?;
    copy(&dims, operand, &from, &mut result, &View::dense(&dims));
    Ok(result)
}

/// Adds (or, where negative, cuts) elements before, after and between.
pub(crate) fn pad(
    operand: &ArrayLiteral,
    value: &ArrayLiteral,
    padding: &[PaddingDimension],
) -> Result<ArrayLiteral> {
    let overflow = || {
        Error::resource_exhausted(format!("`pad` of `{}` has no size in memory", operand.shape()))
    };
    let mut dims = Dims::new();
    for (&size, padding) in operand.dims().iter().zip(padding) {
        let between = padding.interior.checked_mul((size - 1).max(0)).ok_or_else(overflow)?;
        let padded = size
            .checked_add(between)
            .and_then(|size| size.checked_add(padding.low))
            .and_then(|size| size.checked_add(padding.high))
            .ok_or_else(overflow)?;
        dims.push(padded.max(0));
    }
    let mut result = fill(value, &dims)?;
    let own = row_major(operand.dims());
    let target = row_major(&dims);
    let mut from = View { start: 0, strides: own.clone() };
    let mut to = View { start: 0, strides: Extents::new() };
    let mut kept = Dims::new();
    for (dimension, padding) in padding.iter().enumerate() {
        let spacing = padding.interior + 1;
        // The operand elements k with 0 <= low + k * spacing < size of the result.
        let first = if padding.low < 0 { (-padding.low + spacing - 1) / spacing } else { 0 };
        let room = dims[dimension] - padding.low;
        let end = if room <= 0 { 0 } else { (room + spacing - 1) / spacing };
        let end = end.min(operand.dims()[dimension]);
        kept.push((end - first).max(0));
        from.start += first as isize * own[dimension];
        to.start += (padding.low + first * spacing) as isize * target[dimension];
        to.strides.push(target[dimension] * spacing as isize);
    }
    copy(&kept, operand, &from, &mut result, &to);
    Ok(result)
}

/// The operands joined along one dimension.
pub(crate) fn concatenate(operands: &[ArrayLiteral], dimension: usize) -> Result<ArrayLiteral> {
    let Some(first) = operands.first() else {
        return Err(Error::invalid_argument("`concatenate` needs an operand"));
    };
    let mut dims = first.dims().clone();
    dims[dimension] = operands.iter().map(|operand| operand.dims()[dimension]).sum();
    let mut result = ArrayLiteral::zeros(&ArrayShape::new(first.element_type(), dims.clone()))?;
    let mut to = View::dense(&dims);
    for operand in operands {
        copy(operand.dims(), operand, &View::dense(operand.dims()), &mut result, &to);
        to.start += operand.dims()[dimension] as isize * to.strides[dimension];
    }
    Ok(result)
}

/// The named dimensions back to front.
pub(crate) fn reverse(operand: &ArrayLiteral, dimensions: &[i64]) -> Result<ArrayLiteral> {
    let dims = operand.dims();
    let mut from = View::dense(dims);
    for &dimension in dimensions {
        let dimension = dimension as usize;
        from.start += (dims[dimension] - 1).max(0) as isize * from.strides[dimension];
        from.strides[dimension] = -from.strides[dimension];
    }
    let mut result = ArrayLiteral::zeros(operand.shape())?;
    copy(dims, operand, &from, &mut result, &View::dense(dims));
    Ok(result)
}

/// Each element's index along one dimension.
pub(crate) fn iota(shape: &ArrayShape, dimension: usize) -> Result<ArrayLiteral> {
    // Refuse a size that memory could not hold before the line of indices is made.
    shape.byte_size().ok_or_else(|| {
        Error::resource_exhausted(format!("`{shape}` has no size that memory could hold"))
    })?;
    let line: Vec<i64> = (0..shape.dims[dimension]).collect();
    let line = ArrayLiteral::from_values([shape.dims[dimension]], &line);
    let line = elementwise::convert(line, shape.element_type)?;
    if shape.rank() == 1 {
        return Ok(line);
    }
    broadcast(&line, &[dimension as i64], &ArrayShape::new(shape.element_type, shape.dims.clone()))
}

/// The same memory under another shape and layout: what is physically there stays.
pub(crate) fn bitcast(
    operand: ArrayLiteral,
    from: &ArrayShape,
    to: &ArrayShape,
) -> Result<ArrayLiteral> {
    let order = |layout: &Option<Box<Layout>>| -> Option<Dims> {
        let layout = layout.as_ref().filter(|layout| !layout.is_row_major())?;
        Some(layout.minor_to_major.iter().rev().copied().collect())
    };
    let physical = match order(&from.layout) {
        Some(order) => transpose(operand, &order)?,
        None => operand,
    };
    let to_order = order(&to.layout);
    let physical_dims: Dims = match &to_order {
        Some(order) => order.iter().map(|&d| to.dims[d as usize]).collect(),
        None => to.dims.clone(),
    };
    let physical_shape = ArrayShape::new(to.element_type, physical_dims);
    let physical = if physical.element_type() == to.element_type {
        physical.with_shape(&physical_shape)?
    } else {
        ArrayLiteral::from_bytes(&physical_shape, physical.shared_bytes())?
    };
    match to_order {
        Some(order) => {
            let mut inverse: Dims = order.clone();
            order.iter().enumerate().for_each(|(i, &d)| inverse[d as usize] = i as i64);
            transpose(physical, &inverse)
        }
        None => Ok(physical),
    }
}

/// The actual size of a dimension, as `s32[]`.
pub(crate) fn get_dimension_size(operand: &ArrayLiteral, dimension: usize) -> ArrayLiteral {
    ArrayLiteral::scalar(operand.dims()[dimension] as i32)
}

/// Cuts a dimension to the given size, or grows it again, with zeros, up to the bound.
pub(crate) fn set_dimension_size(
    operand: &ArrayLiteral,
    size: i64,
    dimension: usize,
    bound: i64,
) -> Result<ArrayLiteral> {
    if !(0..=bound).contains(&size) {
        return Err(Error::invalid_argument(format!(
            "`set-dimension-size` to {size} where the bound is {bound}"
        )));
    }
    let mut dims = operand.dims().clone();
    let kept = size.min(dims[dimension]);
    dims[dimension] = size;
    let mut result = ArrayLiteral::zeros(&ArrayShape::new(operand.element_type(), dims.clone()))?;
    let mut region = dims.clone();
    region[dimension] = kept;
    copy(&region, operand, &View::dense(operand.dims()), &mut result, &View::dense(&dims));
    Ok(result)
}

/// An array with the elements at the given row-major positions, as `[n]`.
pub(crate) fn take(operand: &ArrayLiteral, positions: &[usize]) -> Result<ArrayLiteral> {
    let shape = ArrayShape::new(operand.element_type(), [positions.len() as i64]);
    let mut result = ArrayLiteral::zeros(&shape)?;
    with_width!(operand.element_type().byte_width(), T => {
        let source = crate::strided::words::<T>(operand);
        for (element, &position) in words_mut::<T>(&mut result).iter_mut().zip(positions) {
            *element = source[position];
        }
    });
    Ok(result)
}

/// Writes `values[i]` to row-major position `positions[i]` of `target`.
pub(crate) fn put(target: &mut ArrayLiteral, positions: &[usize], values: &ArrayLiteral) {
    with_width!(values.element_type().byte_width(), T => {
        let source = crate::strided::words::<T>(values);
        let target = words_mut::<T>(target);
        for (&position, &value) in positions.iter().zip(source) {
            target[position] = value;
        }
    });
}

/// An integer array as `i64`; unsigned values beyond its range saturate.
pub(crate) fn to_i64s(literal: &ArrayLiteral) -> Result<Vec<i64>> {
    use rxla_hlo::native::{Pred, S1, S2, S4, U1, U2, U4};
    macro_rules! widen {
        ($t:ty, $x:ident => $wide:expr) => {
            literal.values::<$t>().iter().map(|&$x| $wide).collect()
        };
    }
    Ok(match literal.element_type() {
        ElementType::Pred => widen!(Pred, x => i64::from(x.0)),
        ElementType::S1 => widen!(S1, x => i64::from(x.0)),
        ElementType::S2 => widen!(S2, x => i64::from(x.0)),
        ElementType::S4 => widen!(S4, x => i64::from(x.0)),
        ElementType::S8 => widen!(i8, x => i64::from(x)),
        ElementType::S16 => widen!(i16, x => i64::from(x)),
        ElementType::S32 => widen!(i32, x => i64::from(x)),
        ElementType::S64 => literal.values::<i64>().to_vec(),
        ElementType::U1 => widen!(U1, x => i64::from(x.0)),
        ElementType::U2 => widen!(U2, x => i64::from(x.0)),
        ElementType::U4 => widen!(U4, x => i64::from(x.0)),
        ElementType::U8 => widen!(u8, x => i64::from(x)),
        ElementType::U16 => widen!(u16, x => i64::from(x)),
        ElementType::U32 => widen!(u32, x => i64::from(x)),
        ElementType::U64 => widen!(u64, x => i64::try_from(x).unwrap_or(i64::MAX)),
        other => {
            return Err(Error::invalid_argument(format!("indices of type `{other}`")));
        }
    })
}

/// An integer scalar as `i64`.
pub(crate) fn to_i64(literal: &ArrayLiteral) -> Result<i64> {
    match to_i64s(literal)?.as_slice() {
        [value] => Ok(*value),
        _ => Err(Error::invalid_argument(format!("`{}` where a scalar is due", literal.shape()))),
    }
}
