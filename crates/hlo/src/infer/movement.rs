//! Ops that move elements without computing on them.

use super::check::{
    Result, array, arrays, dimensions, ensure, error, needed, one_dimension, same_size, same_sizes,
    scalar, size_of, sizes_of, with_sizes,
};
use crate::op::{
    Broadcast, Concatenate, DynamicSlice, GetDimensionSize, Iota, Pad, Reverse, SetDimensionSize,
    Slice, Transpose,
};
use crate::{ArrayShape, ElementType, Shape};

pub(super) fn broadcast(
    op: &Broadcast,
    operand: &Shape,
    declared: Option<&Shape>,
) -> Result<Shape> {
    let operand = array(operand, "the operand")?;
    let result = array(needed(declared)?, "the result")?;
    ensure!(
        result.element_type == operand.element_type,
        "(C1) the result `{result}` has another element type than the operand `{operand}`"
    );
    ensure!(
        op.dimensions.len() == operand.rank(),
        "(C2) `dimensions` has {} entries for the operand `{operand}`",
        op.dimensions.len()
    );
    let places = dimensions(&op.dimensions, result.rank(), "`dimensions`")?;
    for (from, &to) in places.iter().enumerate() {
        ensure!(
            same_size(operand.dims[from], result.dims[to]),
            "(C5) dimension {from} of the operand `{operand}` is {}, but dimension {to} of the \
             result `{result}`, where it goes, is {}",
            operand.dims[from],
            result.dims[to]
        );
    }
    Ok(Shape::Array(result.clone()))
}

pub(super) fn iota(op: &Iota, declared: Option<&Shape>) -> Result<Shape> {
    let result = array(needed(declared)?, "the result")?;
    super::check::dimension(op.iota_dimension, result.rank(), "(C1) `iota_dimension`")?;
    ensure!(
        result.element_type != ElementType::Pred,
        "the result has to be numbers, but is `{result}`"
    );
    Ok(Shape::Array(result.clone()))
}

pub(super) fn reshape(operand: &Shape, declared: Option<&Shape>) -> Result<Shape> {
    let operand = array(operand, "the operand")?;
    let result = array(needed(declared)?, "the result")?;
    ensure!(
        result.element_type == operand.element_type,
        "(C1) the result `{result}` has another element type than the operand `{operand}`"
    );
    let unbounded = |shape: &ArrayShape| shape.dims.contains(&ArrayShape::UNBOUNDED);
    if !unbounded(operand) && !unbounded(result) {
        let (from, to) = (operand.element_count(), result.element_count());
        ensure!(
            from.is_some() && from == to,
            "(C2) the result `{result}` has {} elements, but the operand `{operand}` has {}",
            count_words(to),
            count_words(from)
        );
    }
    Ok(Shape::Array(result.clone()))
}

fn count_words(count: Option<usize>) -> String {
    count.map_or("too many".to_owned(), |count| count.to_string())
}

pub(super) fn dynamic_reshape(operands: &[&Shape], declared: Option<&Shape>) -> Result<Shape> {
    let result = reshape(operands[0], declared)?;
    let rank = result.as_array().map_or(0, ArrayShape::rank);
    ensure!(
        operands.len() == rank + 1,
        "{} sizes are given for the result `{result}`",
        operands.len() - 1
    );
    for size in &operands[1..] {
        let size = scalar(size, "each size")?;
        ensure!(size.element_type == ElementType::S32, "each size is `s32[]`, not `{size}`");
    }
    Ok(result)
}

/// A bitcast keeps the bytes, so both shapes take the same number of bits.
pub(super) fn bitcast(operand: &Shape, declared: Option<&Shape>) -> Result<Shape> {
    let result = needed(declared)?;
    let (Some(from), Some(to)) = (operand.as_array(), result.as_array()) else {
        // Only arrays have bits to compare; a token or tuple is a bitcast of itself.
        ensure!(super::check::agree(operand, result), "cannot turn `{operand}` into `{result}`");
        return Ok(result.clone());
    };
    let bits = |shape: &ArrayShape| -> Option<usize> {
        let packed = shape.layout.as_ref().map_or(0, |layout| layout.element_size_in_bits);
        let element = match usize::try_from(packed) {
            Ok(0) | Err(_) => shape.element_type.byte_width() * 8,
            Ok(packed) => packed,
        };
        shape.element_count()?.checked_mul(element)
    };
    let plain = |shape: &ArrayShape| shape.layout.as_ref().is_none_or(|l| l.tiles.is_empty());
    let narrow = |shape: &ArrayShape| shape.element_type.bit_width() < 8;
    if plain(from) && plain(to) && !narrow(from) && !narrow(to) {
        ensure!(
            bits(from) == bits(to),
            "`{result}` does not take as many bytes as the operand `{operand}`"
        );
    }
    Ok(result.clone())
}

pub(super) fn transpose(op: &Transpose, operand: &Shape) -> Result<Shape> {
    let operand = array(operand, "the operand")?;
    let permutation = dimensions(&op.dimensions, operand.rank(), "(C2) `dimensions`")?;
    ensure!(
        permutation.len() == operand.rank(),
        "(C2) `dimensions` has {} entries for the operand `{operand}`",
        permutation.len()
    );
    let sizes = permutation.iter().map(|&from| size_of(operand, from));
    Ok(with_sizes(operand.element_type, sizes).into())
}

pub(super) fn reverse(op: &Reverse, operand: &Shape) -> Result<Shape> {
    let operand = array(operand, "the operand")?;
    dimensions(&op.dimensions, operand.rank(), "(C3) `dimensions`")?;
    Ok(operand.without_layout().into())
}

pub(super) fn slice(op: &Slice, operand: &Shape) -> Result<Shape> {
    let operand = array(operand, "the operand")?;
    ensure!(
        op.slice.len() == operand.rank(),
        "(C2) `slice` has {} entries for the operand `{operand}`",
        op.slice.len()
    );
    let mut sizes = Vec::with_capacity(op.slice.len());
    for (dimension, part) in op.slice.iter().enumerate() {
        let (size, dynamic) = size_of(operand, dimension);
        ensure!(
            part.start >= 0
                && part.start <= part.limit
                && (size == ArrayShape::UNBOUNDED || part.limit <= size),
            "(C3) [{}:{}] is no part of dimension {dimension} of `{operand}`",
            part.start,
            part.limit
        );
        ensure!(part.stride > 0, "(C4) stride {} of dimension {dimension}", part.stride);
        let length = (part.limit - part.start).unsigned_abs().div_ceil(part.stride.unsigned_abs());
        let length = i64::try_from(length).map_err(|_| error("a size overflows"))?;
        // One element of a dynamic dimension is static; what is cut off an unbounded one too.
        sizes.push((length, dynamic && length != 1 && size != ArrayShape::UNBOUNDED));
    }
    Ok(with_sizes(operand.element_type, sizes).into())
}

/// Start indices are one scalar a dimension, or, in old dumps, one vector.
fn start_indices(starts: &[&Shape], operand: &ArrayShape) -> Result<()> {
    let starts = arrays(starts, "start index")?;
    if let [vector] = starts[..]
        && vector.rank() == 1
    {
        ensure!(
            vector.element_type.is_integer() && vector.dims[0] == operand.rank() as i64,
            "start indices `{vector}` do not fit the operand `{operand}`"
        );
        return Ok(());
    }
    ensure!(
        starts.len() == operand.rank(),
        "{} start indices are given for the operand `{operand}`",
        starts.len()
    );
    for start in &starts {
        ensure!(
            start.rank() == 0 && start.element_type.is_integer(),
            "start indices have to be integer scalars, but one is `{start}`"
        );
        ensure!(
            start.element_type == starts[0].element_type,
            "start indices differ in type: `{}` and `{start}`",
            starts[0]
        );
    }
    Ok(())
}

pub(super) fn dynamic_slice(op: &DynamicSlice, operands: &[&Shape]) -> Result<Shape> {
    let operand = array(operands[0], "operand 0")?;
    start_indices(&operands[1..], operand)?;
    ensure!(
        op.dynamic_slice_sizes.len() == operand.rank(),
        "(C2) `dynamic_slice_sizes` has {} entries for the operand `{operand}`",
        op.dynamic_slice_sizes.len()
    );
    let mut sizes = Vec::with_capacity(operand.rank());
    for (dimension, &size) in op.dynamic_slice_sizes.iter().enumerate() {
        let (whole, dynamic) = size_of(operand, dimension);
        ensure!(
            size >= 0 && (whole == ArrayShape::UNBOUNDED || size <= whole),
            "(C4) slice size {size} does not fit dimension {dimension} of `{operand}`"
        );
        sizes.push((size, dynamic && size > 1 && size == whole));
    }
    Ok(with_sizes(operand.element_type, sizes).into())
}

pub(super) fn dynamic_update_slice(operands: &[&Shape]) -> Result<Shape> {
    let Some(operand) = operands[0].as_array() else {
        return Err(error(format!("operand 0 has to be an array, but is `{}`", operands[0])));
    };
    let update = array(operands[1], "operand 1")?;
    start_indices(&operands[2..], operand)?;
    ensure!(
        update.element_type == operand.element_type,
        "(C2) the update `{update}` has another element type than the operand `{operand}`"
    );
    ensure!(
        update.rank() == operand.rank(),
        "(C3) the update `{update}` has another rank than the operand `{operand}`"
    );
    for (dimension, (&size, &whole)) in update.dims.iter().zip(&operand.dims).enumerate() {
        ensure!(
            size == ArrayShape::UNBOUNDED || whole == ArrayShape::UNBOUNDED || size <= whole,
            "(C6) dimension {dimension} of the update `{update}` is larger than the operand's in \
             `{operand}`"
        );
    }
    let sizes = sizes_of(operand)
        .zip(sizes_of(update))
        .map(|((size, dynamic), update)| (size, dynamic || (update.1 && update.0 == size)));
    let result = with_sizes(operand.element_type, sizes);
    Ok(match operands[0] {
        Shape::Buffer(_) => Shape::Buffer(result.into()),
        Shape::Array(_) | Shape::Tuple(_) | Shape::Token | Shape::Opaque => result.into(),
    })
}

pub(super) fn pad(op: &Pad, operand: &Shape, value: &Shape) -> Result<Shape> {
    let operand = array(operand, "operand 0")?;
    let value = scalar(value, "the padding value")?;
    ensure!(
        value.element_type == operand.element_type,
        "(C1) the padding value `{value}` has another element type than the operand `{operand}`"
    );
    ensure!(
        op.padding.len() == operand.rank(),
        "(C2) `padding` has {} entries for the operand `{operand}`",
        op.padding.len()
    );
    let mut sizes = Vec::with_capacity(operand.rank());
    for (dimension, padding) in op.padding.iter().enumerate() {
        let (size, dynamic) = size_of(operand, dimension);
        ensure!(
            padding.interior >= 0,
            "(C3) interior padding of dimension {dimension} is {}",
            padding.interior
        );
        if size == ArrayShape::UNBOUNDED {
            sizes.push((size, dynamic));
            continue;
        }
        let padded = (size - 1)
            .max(0)
            .checked_mul(padding.interior)
            .and_then(|between| between.checked_add(size))
            .and_then(|padded| padded.checked_add(padding.low))
            .and_then(|padded| padded.checked_add(padding.high));
        let Some(padded) = padded else {
            return Err(error(format!("(C4) padding of dimension {dimension} overflows")));
        };
        ensure!(padded >= 0, "(C4) padding makes dimension {dimension} of `{operand}` {padded}");
        sizes.push((padded, dynamic));
    }
    Ok(with_sizes(operand.element_type, sizes).into())
}

pub(super) fn concatenate(op: &Concatenate, operands: &[&Shape]) -> Result<Shape> {
    let operands = arrays(operands, "operand")?;
    let first = operands[0];
    let along = one_dimension(&op.dimensions, first.rank(), "(C4) `dimensions`")?;
    let mut sizes: Vec<(i64, bool)> = sizes_of(first).collect();
    for operand in &operands[1..] {
        ensure!(
            operand.element_type == first.element_type,
            "(C1) operands differ in element type: `{first}` and `{operand}`"
        );
        ensure!(
            operand.rank() == first.rank()
                && (0..first.rank())
                    .all(|d| d == along || same_size(first.dims[d], operand.dims[d])),
            "(C2) operands differ beside dimension {along}: `{first}` and `{operand}`"
        );
        for (dimension, (size, dynamic)) in sizes_of(operand).enumerate() {
            let total = &mut sizes[dimension];
            total.1 |= dynamic;
            if dimension != along {
                if total.0 == ArrayShape::UNBOUNDED {
                    total.0 = size;
                }
            } else if total.0 == ArrayShape::UNBOUNDED || size == ArrayShape::UNBOUNDED {
                total.0 = ArrayShape::UNBOUNDED;
            } else {
                total.0 =
                    total.0.checked_add(size).ok_or_else(|| error("(C6) the size overflows"))?;
            }
        }
    }
    Ok(with_sizes(first.element_type, sizes).into())
}

pub(super) fn get_dimension_size(op: &GetDimensionSize, operand: &Shape) -> Result<Shape> {
    let operand = array(operand, "the operand")?;
    let dimension = one_dimension(&op.dimensions, operand.rank(), "(C1) `dimensions`")?;
    ensure!(
        operand.dims[dimension] <= i64::from(i32::MAX),
        "dimension {dimension} of `{operand}` does not fit `s32`"
    );
    Ok(Shape::scalar(ElementType::S32))
}

pub(super) fn set_dimension_size(
    op: &SetDimensionSize,
    operand: &Shape,
    size: &Shape,
) -> Result<Shape> {
    let operand = array(operand, "operand 0")?;
    let dimension = one_dimension(&op.dimensions, operand.rank(), "`dimensions`")?;
    let size = scalar(size, "the size")?;
    ensure!(size.element_type == ElementType::S32, "the size has to be `s32[]`, not `{size}`");
    ensure!(
        operand.dims[dimension] <= i64::from(i32::MAX),
        "dimension {dimension} of `{operand}` does not fit `s32`"
    );
    let mut result = operand.without_layout();
    result.set_dynamic(dimension, true);
    Ok(result.into())
}

/// Whether a constant's literal is what its instruction says.
pub(super) fn constant(literal: &Shape, declared: Option<&Shape>) -> Result<Shape> {
    let Some(declared) = declared else { return Ok(literal.clone()) };
    let fits = match (declared.as_array(), literal.as_array()) {
        (Some(declared), Some(literal)) => {
            declared.element_type == literal.element_type && same_sizes(declared, literal)
        }
        (Some(_), None) | (None, Some(_)) | (None, None) => super::check::agree(declared, literal),
    };
    ensure!(fits, "declared `{declared}`, but the literal is `{literal}`");
    Ok(declared.clone())
}
