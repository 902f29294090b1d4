//! Constants and operations that move elements.

use rxla_hlo::op::{
    Broadcast, Concatenate, DynamicSlice, GetDimensionSize, Iota, Pad, Reverse, SetDimensionSize,
    Slice, Transpose,
};
use rxla_hlo::{ArrayShape, Literal, Shape};

use super::attributes::Declared;
use super::exporter::{Exported, Exporter, Result, Scope, View};
use super::types;
use crate::mlir::{Type, ValueId};

pub(super) fn constant<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
    literal: &Literal,
) -> Result<Exported> {
    match literal {
        Literal::Array(array) => {
            let Some(value) = types::dense(array) else {
                return Err(view.unimplemented("of dynamic size has no form"));
            };
            let ty = types::tensor(array.shape());
            let attributes = Declared::new().with("value", value);
            let name = "stablehlo.constant";
            let results = cx.add(scope.block, view, name, &[], vec![ty], attributes)?;
            Ok(Exported::Value(results[0]))
        }
        Literal::Tuple(parts) => Ok(Exported::Tuple(
            parts.iter().map(|part| constant(cx, scope, view, part)).collect::<Result<Vec<_>>>()?,
        )),
        Literal::Token => {
            let name = "stablehlo.create_token";
            let results =
                cx.add(scope.block, view, name, &[], vec![Type::Token], Declared::new())?;
            Ok(Exported::Value(results[0]))
        }
    }
}

pub(super) fn iota<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
    op: &Iota,
) -> Result<Exported> {
    let attributes = Declared::new().integer("iota_dimension", op.iota_dimension);
    cx.add_alike(scope, view, "stablehlo.iota", attributes)
}

/// A bitcast between row-major arrays is a reshape, or a conversion of bits.
pub(super) fn bitcast<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
) -> Result<Exported> {
    let operand = cx.operand_shape(view, 0)?;
    let (Shape::Array(from), Shape::Array(to)) = (operand, view.shape()) else {
        return Err(view.unimplemented("of anything but arrays has no form"));
    };
    if !is_row_major(from) || !is_row_major(to) {
        return Err(view.unimplemented("between other than row-major layouts has no form"));
    }
    if from.element_type == to.element_type {
        return cx.add_alike(scope, view, "stablehlo.reshape", Declared::new());
    }
    if from.element_type.bit_width() == to.element_type.bit_width() && from.dims == to.dims {
        return cx.add_alike(scope, view, "stablehlo.bitcast_convert", Declared::new());
    }
    Err(view.unimplemented(format_args!("from `{from}` to `{to}` has no form")))
}

fn is_row_major(array: &ArrayShape) -> bool {
    array.layout.as_ref().is_none_or(|layout| {
        layout.tiles.is_empty()
            && layout.minor_to_major.iter().rev().copied().eq(0..array.rank() as i64)
    })
}

pub(super) fn broadcast<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
    op: &Broadcast,
) -> Result<Exported> {
    let attributes = Declared::new().dims("broadcast_dimensions", &op.dimensions);
    cx.add_alike(scope, view, "stablehlo.broadcast_in_dim", attributes)
}

/// The one dimension that an op has in a list.
fn only(view: View<'_>, dimensions: &[i64]) -> Result<i64> {
    match dimensions {
        &[dimension] => Ok(dimension),
        _ => Err(view.error(format_args!("has {} dimensions, not one", dimensions.len()))),
    }
}

pub(super) fn concatenate<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
    op: &Concatenate,
) -> Result<Exported> {
    let attributes = Declared::new().integer("dimension", only(view, &op.dimensions)?);
    cx.add_alike(scope, view, "stablehlo.concatenate", attributes)
}

/// The sizes are operands of HLO's, but one vector in StableHLO.
pub(super) fn dynamic_reshape<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
) -> Result<Exported> {
    let values = cx.values(scope, view)?;
    let Some((&operand, sizes)) = values.split_first() else {
        return Err(view.error("has no operand"));
    };
    let mut vectors: Vec<ValueId> = Vec::new();
    for &size in sizes {
        let Some((_, element)) = cx.out.values[size].ty.shaped() else {
            return Err(view.error("takes sizes that are no numbers"));
        };
        let ty = Type::tensor([1], element.clone());
        let name = "stablehlo.reshape";
        vectors.extend(cx.add(scope.block, view, name, &[size], vec![ty], Declared::new())?);
    }
    let Some(element) = sizes.first().and_then(|&size| cx.out.values[size].ty.element()) else {
        return Err(view.unimplemented("to a scalar has no form"));
    };
    let ty = Type::tensor([sizes.len() as i64], element.clone());
    let attributes = Declared::new().integer("dimension", 0);
    let name = "stablehlo.concatenate";
    let vector = cx.add(scope.block, view, name, &vectors, vec![ty], attributes)?;
    let operands = [operand, vector[0]];
    cx.add_with(scope, view, "stablehlo.dynamic_reshape", &operands, Declared::new())
}

/// Start indices must be scalars, one each; an older form has them in a vector.
fn check_scalar_indices<'m>(cx: &Exporter<'m>, view: View<'m>, first: usize) -> Result {
    let rank = cx.operand_shape(view, 0)?.as_array().map_or(0, ArrayShape::rank);
    let count = view.instruction.operands().len();
    if count != first + rank {
        return Err(view.unimplemented("with its indices in a vector has no form"));
    }
    Ok(())
}

pub(super) fn dynamic_slice<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
    op: &DynamicSlice,
) -> Result<Exported> {
    check_scalar_indices(cx, view, 1)?;
    let attributes = Declared::new().dims("slice_sizes", &op.dynamic_slice_sizes);
    cx.add_alike(scope, view, "stablehlo.dynamic_slice", attributes)
}

pub(super) fn dynamic_update_slice<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
) -> Result<Exported> {
    check_scalar_indices(cx, view, 2)?;
    cx.add_alike(scope, view, "stablehlo.dynamic_update_slice", Declared::new())
}

pub(super) fn get_dimension_size<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
    op: &GetDimensionSize,
) -> Result<Exported> {
    let attributes = Declared::new().integer("dimension", only(view, &op.dimensions)?);
    cx.add_alike(scope, view, "stablehlo.get_dimension_size", attributes)
}

pub(super) fn set_dimension_size<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
    op: &SetDimensionSize,
) -> Result<Exported> {
    let attributes = Declared::new().integer("dimension", only(view, &op.dimensions)?);
    cx.add_alike(scope, view, "stablehlo.set_dimension_size", attributes)
}

pub(super) fn pad<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
    op: &Pad,
) -> Result<Exported> {
    let of = |part: fn(&rxla_hlo::op::PaddingDimension) -> i64| -> Vec<i64> {
        op.padding.iter().map(part).collect()
    };
    let attributes = Declared::new()
        .dims("edge_padding_low", &of(|padding| padding.low))
        .dims("edge_padding_high", &of(|padding| padding.high))
        .dims("interior_padding", &of(|padding| padding.interior));
    cx.add_alike(scope, view, "stablehlo.pad", attributes)
}

pub(super) fn reverse<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
    op: &Reverse,
) -> Result<Exported> {
    let attributes = Declared::new().dims("dimensions", &op.dimensions);
    cx.add_alike(scope, view, "stablehlo.reverse", attributes)
}

pub(super) fn slice<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
    op: &Slice,
) -> Result<Exported> {
    let of = |part: fn(&rxla_hlo::op::SliceDimension) -> i64| -> Vec<i64> {
        op.slice.iter().map(part).collect()
    };
    let attributes = Declared::new()
        .dims("start_indices", &of(|slice| slice.start))
        .dims("limit_indices", &of(|slice| slice.limit))
        .dims("strides", &of(|slice| slice.stride));
    cx.add_alike(scope, view, "stablehlo.slice", attributes)
}

pub(super) fn transpose<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
    op: &Transpose,
) -> Result<Exported> {
    let attributes = Declared::new().dims("permutation", &op.dimensions);
    cx.add_alike(scope, view, "stablehlo.transpose", attributes)
}
