//! Operations that move or select elements by static dimension numbers.

use rxla_hlo::op::{
    Broadcast, Concatenate, DynamicSlice, DynamicUpdateSlice, Iota, Pad, PaddingDimension, Reverse,
    Slice, SliceDimension, Transpose,
};
use rxla_hlo::{ArrayShape, Dims, InstructionId, Op, Shape};

use super::attributes::View;
use super::importer::{Importer, Result};
use super::module_attributes::check_permutation;

/// `stablehlo.iota`.
pub(super) fn iota<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let shape = cx.declared(view, 0, |_| None)?;
    let instruction = iota_of(cx, view, shape)?;
    cx.finish(view, instruction)
}

pub(super) fn iota_of(
    cx: &mut Importer<'_>,
    view: View<'_>,
    shape: Shape,
) -> Result<InstructionId> {
    let iota_dimension = view.integer("iota_dimension")?;
    let rank = shape.as_array().map_or(0, ArrayShape::rank);
    check_dimension(view, "iota_dimension", iota_dimension, rank)?;
    Ok(cx.add(Iota { iota_dimension }, shape, &[]))
}

/// Refuses a dimension number that the rank does not have, and gives it as an index.
pub(super) fn check_dimension(
    view: View<'_>,
    name: &str,
    dimension: i64,
    rank: usize,
) -> Result<usize> {
    match usize::try_from(dimension) {
        Ok(index) if index < rank => Ok(index),
        _ => Err(view.error(format_args!(
            "attribute `{name}` names dimension {dimension} of an array of rank {rank}"
        ))),
    }
}

/// `stablehlo.reshape`.
pub(super) fn reshape<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let [operand] = cx.exactly(view)?;
    let array = cx.array(view, operand)?;
    let shape = cx.declared(view, 0, |declared| one_open_size(&array, declared))?;
    let instruction = reshape_to(cx, view, operand, shape)?;
    cx.finish(view, instruction)
}

/// The sizes of a reshape of which only one is not said.
fn one_open_size(operand: &ArrayShape, declared: &ArrayShape) -> Option<Dims> {
    let count = operand.element_count()? as i64;
    let open = declared.dims.iter().position(|&size| size == ArrayShape::UNBOUNDED)?;
    let mut dims = declared.dims.clone();
    dims.remove(open);
    let rest = dims
        .iter()
        .try_fold(1i64, |product, &size| (size > 0).then(|| product.checked_mul(size)).flatten())?;
    dims.insert(open, (count % rest == 0).then_some(count / rest)?);
    Some(dims)
}

pub(super) fn reshape_to(
    cx: &mut Importer<'_>,
    view: View<'_>,
    operand: InstructionId,
    shape: Shape,
) -> Result<InstructionId> {
    let array = cx.array(view, operand)?;
    let Shape::Array(result) = &shape else {
        return Err(view.error("has a result that is no array"));
    };
    if array.element_count() != result.element_count() || array.element_type != result.element_type
    {
        return Err(view.error(format_args!("cannot reshape `{array}` to `{result}`")));
    }
    let op = if array.is_static() && result.is_static() {
        Op::Reshape(rxla_hlo::op::Reshape { inferred_dimension: None })
    } else {
        Op::Reshape(rxla_hlo::op::Reshape {
            inferred_dimension: (0..result.rank())
                .find(|&dimension| result.is_dynamic_dimension(dimension))
                .map(|dimension| dimension as i64),
        })
    };
    Ok(cx.add(op, shape, &[operand]))
}

/// `stablehlo.transpose`.
pub(super) fn transpose<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let [operand] = cx.exactly(view)?;
    let array = cx.array(view, operand)?;
    let dimensions = view.integers("permutation")?;
    check_permutation(view, "permutation", &dimensions, array.rank())?;
    let dims: Dims = dimensions.iter().map(|&d| array.dims[d as usize]).collect();
    let shape = cx.declared(view, 0, |_| Some(dims))?;
    let instruction = cx.add(Transpose { dimensions }, shape, &[operand]);
    cx.finish(view, instruction)
}

/// `stablehlo.broadcast_in_dim`.
pub(super) fn broadcast_in_dim<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let [operand] = cx.exactly(view)?;
    let dimensions = view.integers("broadcast_dimensions")?;
    let shape = cx.declared(view, 0, |_| None)?;
    let instruction = broadcast_to(cx, view, operand, shape, &dimensions)?;
    cx.finish(view, instruction)
}

/// Broadcasts where dimensions of size 1 may grow: HLO's broadcast only adds dimensions, so those
/// are dropped first.
pub(super) fn broadcast_to(
    cx: &mut Importer<'_>,
    view: View<'_>,
    operand: InstructionId,
    shape: Shape,
    dimensions: &[i64],
) -> Result<InstructionId> {
    let array = cx.array(view, operand)?;
    let Shape::Array(result) = &shape else {
        return Err(view.error("has a result that is no array"));
    };
    if dimensions.len() != array.rank() {
        return Err(view.error(format_args!(
            "names {} dimensions for an operand of rank {}",
            dimensions.len(),
            array.rank()
        )));
    }
    let mut kept_dims = Dims::new();
    let mut kept_dimensions = Dims::new();
    for (index, &dimension) in dimensions.iter().enumerate() {
        let place = check_dimension(view, "broadcast_dimensions", dimension, result.rank())?;
        if dimensions[..index].contains(&dimension) {
            return Err(view.error(format_args!("names dimension {dimension} twice")));
        }
        let (from, to) = (array.dims[index], result.dims[place]);
        if from == to {
            kept_dims.push(from);
            kept_dimensions.push(dimension);
        } else if from != 1 {
            return Err(view.error(format_args!(
                "cannot broadcast dimension {index} of `{array}` to dimension {place} of `{result}`"
            )));
        }
    }
    let operand = match kept_dims.len() == array.rank() {
        true => operand,
        false => cx.reshape(operand, kept_dims),
    };
    // HLO wants ascending dimensions of a broadcast only by habit; any order is allowed.
    Ok(cx.add(Broadcast { dimensions: kept_dimensions }, shape.clone(), &[operand]))
}

/// `stablehlo.broadcast`: new dimensions in front.
pub(super) fn broadcast<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let [operand] = cx.exactly(view)?;
    let array = cx.array(view, operand)?;
    let sizes = view.integers("broadcast_sizes")?;
    let first = sizes.len() as i64;
    let dims: Dims = sizes.iter().chain(&array.dims).copied().collect();
    let shape = cx.declared(view, 0, |_| Some(dims))?;
    let dimensions: Dims = (0..array.rank() as i64).map(|d| d + first).collect();
    let instruction = broadcast_to(cx, view, operand, shape, &dimensions)?;
    cx.finish(view, instruction)
}

/// `stablehlo.concatenate`.
pub(super) fn concatenate<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let operands = cx.operands(view)?;
    let Some(&first) = operands.first() else {
        return Err(view.error("has no operands"));
    };
    let dimension = view.integer("dimension")?;
    let mut dims = cx.array(view, first)?.dims;
    let at = check_dimension(view, "dimension", dimension, dims.len())?;
    dims[at] = 0;
    for &operand in &operands {
        let array = cx.array(view, operand)?;
        if array.rank() != dims.len() {
            return Err(view.error("has operands of different rank"));
        }
        dims[at] = dims[at]
            .checked_add(array.dims[at].max(0))
            .ok_or_else(|| view.error("the result is too large"))?;
    }
    let shape = cx.declared(view, 0, |_| Some(dims))?;
    let op = Concatenate { dimensions: Dims::from_slice(&[dimension]) };
    let instruction = cx.add(op, shape, &operands);
    cx.finish(view, instruction)
}

/// `stablehlo.slice`.
pub(super) fn slice<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let [operand] = cx.exactly(view)?;
    let array = cx.array(view, operand)?;
    let rank = array.rank();
    let starts = view.integers_or("start_indices", rank, 0)?;
    let limits = view.integers_or("limit_indices", rank, 0)?;
    let strides = view.integers_or("strides", rank, 1)?;
    let instruction = slice_of(cx, view, operand, &starts, &limits, &strides)?;
    cx.finish(view, instruction)
}

/// A slice with checked bounds.
pub(super) fn slice_of(
    cx: &mut Importer<'_>,
    view: View<'_>,
    operand: InstructionId,
    starts: &[i64],
    limits: &[i64],
    strides: &[i64],
) -> Result<InstructionId> {
    let array = cx.array(view, operand)?;
    let mut dims = Dims::new();
    let mut slice = Vec::with_capacity(array.rank());
    for dimension in 0..array.rank() {
        let (start, limit, stride) = (starts[dimension], limits[dimension], strides[dimension]);
        let size = array.dims[dimension];
        if start < 0 || limit < start || limit > size || stride < 1 {
            return Err(view.error(format_args!(
                "[{start}:{limit}:{stride}] is no slice of dimension {dimension} of `{array}`"
            )));
        }
        dims.push((limit - start).unsigned_abs().div_ceil(stride.unsigned_abs()) as i64);
        slice.push(SliceDimension { start, limit, stride });
    }
    let mut shape = ArrayShape::new(array.element_type, dims);
    for dimension in 0..array.rank() {
        if array.is_dynamic_dimension(dimension) {
            shape.set_dynamic(dimension, true);
        }
    }
    Ok(cx.add(Slice { slice }, shape.into(), &[operand]))
}

/// `stablehlo.reverse`.
pub(super) fn reverse<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let [operand] = cx.exactly(view)?;
    let array = cx.array(view, operand)?;
    let dimensions = view.integers("dimensions")?;
    for &dimension in &dimensions {
        check_dimension(view, "dimensions", dimension, array.rank())?;
    }
    let instruction = cx.add(Reverse { dimensions }, array.into(), &[operand]);
    cx.finish(view, instruction)
}

/// `stablehlo.pad`.
pub(super) fn pad<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let [operand, value] = cx.exactly(view)?;
    let rank = cx.array(view, operand)?.rank();
    let low = view.integers_or("edge_padding_low", rank, 0)?;
    let high = view.integers_or("edge_padding_high", rank, 0)?;
    let interior = view.integers_or("interior_padding", rank, 0)?;
    let instruction = pad_of(cx, view, operand, value, &low, &high, &interior)?;
    cx.finish(view, instruction)
}

/// A pad with checked sizes.
pub(super) fn pad_of(
    cx: &mut Importer<'_>,
    view: View<'_>,
    operand: InstructionId,
    value: InstructionId,
    low: &[i64],
    high: &[i64],
    interior: &[i64],
) -> Result<InstructionId> {
    let array = cx.array(view, operand)?;
    let mut dims = Dims::new();
    let mut padding = Vec::with_capacity(array.rank());
    for dimension in 0..array.rank() {
        let size = i128::from(array.dims[dimension]);
        let (low, high, interior) = (low[dimension], high[dimension], interior[dimension]);
        let grown = size + (size - 1).max(0) * i128::from(interior);
        let grown = grown + i128::from(low) + i128::from(high);
        let Some(grown) = i64::try_from(grown).ok().filter(|&n| n >= 0 && interior >= 0) else {
            return Err(view.error(format_args!(
                "padding {low}, {high} and {interior} between does not fit dimension \
                 {dimension} of `{array}`"
            )));
        };
        dims.push(grown);
        padding.push(PaddingDimension { low, high, interior });
    }
    let shape = ArrayShape::new(array.element_type, dims);
    Ok(cx.add(Pad { padding }, shape.into(), &[operand, value]))
}

/// `stablehlo.dynamic_slice`.
pub(super) fn dynamic_slice<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let operands = cx.operands(view)?;
    let Some(&operand) = operands.first() else {
        return Err(view.error("has no operands"));
    };
    let array = cx.array(view, operand)?;
    let sizes = view.integers("slice_sizes")?;
    if sizes.len() != array.rank() || operands.len() != array.rank() + 1 {
        return Err(view.error(format_args!(
            "has {} sizes and {} start indices for an operand of rank {}",
            sizes.len(),
            operands.len() - 1,
            array.rank()
        )));
    }
    if let Some(d) = (0..sizes.len()).find(|&d| sizes[d] < 0 || sizes[d] > array.dims[d]) {
        return Err(
            view.error(format_args!("slice size {} exceeds dimension {d} of `{array}`", sizes[d]))
        );
    }
    let shape = Shape::array(array.element_type, sizes.iter().copied());
    let instruction = cx.add(DynamicSlice { dynamic_slice_sizes: sizes }, shape, &operands);
    cx.finish(view, instruction)
}

/// `stablehlo.dynamic_update_slice`.
pub(super) fn dynamic_update_slice<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let operands = cx.operands(view)?;
    let Some(&operand) = operands.first() else {
        return Err(view.error("has no operands"));
    };
    let array = cx.array(view, operand)?;
    if operands.len() != array.rank() + 2 {
        return Err(view.error(format_args!(
            "has {} operands where an array of rank {} needs {}",
            operands.len(),
            array.rank(),
            array.rank() + 2
        )));
    }
    let instruction = cx.add(DynamicUpdateSlice {}, array.into(), &operands);
    cx.finish(view, instruction)
}
