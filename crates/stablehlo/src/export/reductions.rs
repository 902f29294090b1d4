//! Operations that apply a computation to elements.

use std::sync::Arc;

use rxla_hlo::op::{
    Map, Reduce, ReduceWindow, Scan, Scatter, SelectAndScatter, Sort, TopK, WindowDimension,
};
use rxla_hlo::{ArrayShape, Shape};

use super::attributes::Declared;
use super::contraction::window;
use super::exporter::{Exported, Exporter, Result, Scope, View};
use crate::mlir::{self, Attribute, DenseArray};

pub(super) fn reduce<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
    op: &Reduce,
) -> Result<Exported> {
    let operands = cx.values(scope, view)?;
    let attributes = Declared::new().dims("dimensions", &op.dimensions);
    cx.add_with_regions(scope, view, "stablehlo.reduce", &operands, attributes, &[op.to_apply])
}

pub(super) fn map<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
    op: &Map,
) -> Result<Exported> {
    let operands = cx.values(scope, view)?;
    let attributes = Declared::new().dims("dimensions", &op.dimensions);
    cx.add_with_regions(scope, view, "stablehlo.map", &operands, attributes, &[op.to_apply])
}

fn sizes(window: &[WindowDimension]) -> Vec<i64> {
    window.iter().map(|window| window.size).collect()
}

pub(super) fn reduce_window<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
    op: &ReduceWindow,
) -> Result<Exported> {
    let dimensions = full_window(cx, view, &op.window.dimensions)?;
    if dimensions.iter().any(|window| window.window_reversal) {
        return Err(view.unimplemented("with a reversed window has no form"));
    }
    let attributes = Declared::new().dims("window_dimensions", &sizes(&dimensions));
    let attributes = window(view, attributes, &dimensions, "base_dilations", "window_dilations")?;
    let operands = cx.values(scope, view)?;
    let computations = [op.to_apply];
    cx.add_with_regions(
        scope,
        view,
        "stablehlo.reduce_window",
        &operands,
        attributes,
        &computations,
    )
}

/// A window that is not given has one element in every dimension.
fn full_window<'m>(
    cx: &Exporter<'m>,
    view: View<'m>,
    window: &[WindowDimension],
) -> Result<Vec<WindowDimension>> {
    let rank = cx.operand_shape(view, 0)?.as_array().map_or(0, ArrayShape::rank);
    match window.is_empty() {
        true => Ok(vec![WindowDimension::new(1); rank]),
        false => Ok(window.to_vec()),
    }
}

pub(super) fn select_and_scatter<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
    op: &SelectAndScatter,
) -> Result<Exported> {
    let dimensions = full_window(cx, view, &op.window.dimensions)?;
    let dilated = |window: &WindowDimension| {
        window.base_dilation != 1 || window.window_dilation != 1 || window.window_reversal
    };
    if dimensions.iter().any(dilated) {
        return Err(view.unimplemented("with a dilated or reversed window has no form"));
    }
    let attributes = Declared::new().dims("window_dimensions", &sizes(&dimensions));
    let mut attributes =
        window(view, attributes, &dimensions, "base_dilations", "window_dilations")?;
    attributes.0.remove("base_dilations");
    attributes.0.remove("window_dilations");
    let operands = cx.values(scope, view)?;
    let computations = [op.select, op.scatter];
    let name = "stablehlo.select_and_scatter";
    cx.add_with_regions(scope, view, name, &operands, attributes, &computations)
}

pub(super) fn scatter<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
    op: &Scatter,
) -> Result<Exported> {
    let numbers = mlir::ScatterDimensionNumbers {
        update_window_dims: op.update_window_dims.to_vec(),
        inserted_window_dims: op.inserted_window_dims.to_vec(),
        input_batching_dims: op.input_batching_dims.to_vec(),
        scatter_indices_batching_dims: op.scatter_indices_batching_dims.to_vec(),
        scatter_dims_to_operand_dims: op.scatter_dims_to_operand_dims.to_vec(),
        index_vector_dim: op.index_vector_dim,
    };
    let numbers = Attribute::ScatterDimensionNumbers(Arc::new(numbers));
    let attributes = Declared::new()
        .with("scatter_dimension_numbers", numbers)
        .bool("indices_are_sorted", op.indices_are_sorted)
        .bool("unique_indices", op.unique_indices);
    let operands = cx.values(scope, view)?;
    cx.add_with_regions(scope, view, "stablehlo.scatter", &operands, attributes, &[op.to_apply])
}

pub(super) fn sort<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
    op: &Sort,
) -> Result<Exported> {
    let &[dimension] = &op.dimensions[..] else {
        return Err(view.error("sorts along one dimension"));
    };
    let attributes =
        Declared::new().integer("dimension", dimension).bool("is_stable", op.is_stable);
    let operands = cx.values(scope, view)?;
    cx.add_with_regions(scope, view, "stablehlo.sort", &operands, attributes, &[op.to_apply])
}

pub(super) fn scan<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
    op: &Scan,
) -> Result<Exported> {
    let &[dimension] = &op.dimensions[..] else {
        return Err(view.error("goes along one dimension"));
    };
    let operands = cx.values(scope, view)?;
    let results = view.shape().as_tuple().map_or(1, <[Shape]>::len) as i64;
    let segments = |total: i64| {
        let first = total - op.num_carries;
        let both = [i32::try_from(first).ok()?, i32::try_from(op.num_carries).ok()?];
        (first >= 0).then(|| Attribute::DenseArray(DenseArray::I32(both.into())))
    };
    let (Some(inputs), Some(outputs)) = (segments(operands.len() as i64), segments(results)) else {
        return Err(view.error(format_args!("cannot carry {} values", op.num_carries)));
    };
    let attributes = Declared::new()
        .integer("dimension", dimension)
        .bool("is_reverse", op.is_reverse)
        .maybe("is_associative", op.is_associative.map(Attribute::Bool))
        .with("operandSegmentSizes", inputs)
        .with("resultSegmentSizes", outputs);
    cx.add_with_regions(scope, view, "chlo.scan", &operands, attributes, &[op.to_apply])
}

pub(super) fn top_k<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
    op: &TopK,
) -> Result<Exported> {
    if !op.largest.0 {
        return Err(view.unimplemented("of the smallest elements has no form"));
    }
    let attributes = Declared::new().integer("k", op.k).bool("is_stable", op.is_stable);
    cx.add_alike(scope, view, "chlo.top_k", attributes)
}
