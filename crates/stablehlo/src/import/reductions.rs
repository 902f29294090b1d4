//! Operations that call a computation on elements: reduce, reduce_window, sort, map.

use rxla_hlo::op::{Map, Reduce, ReduceWindow, SelectAndScatter, Sort, Window, WindowDimension};
use rxla_hlo::{ArrayShape, Dims, Shape};

use super::attributes::View;
use super::importer::{Importer, Result, one_or_tuple_shape};
use super::shapes::check_dimension;

/// Inputs and then as many initial values: half the operands each.
fn halves<T>(view: View<'_>, operands: &[T]) -> Result<usize> {
    match operands.len() {
        0 => Err(view.error("has no operands")),
        n if n % 2 == 1 => Err(view.error(format_args!(
            "has {n} operands, which are not inputs and as many initial values"
        ))),
        n => Ok(n / 2),
    }
}

/// `stablehlo.reduce`.
pub(super) fn reduce<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let operands = cx.operands(view)?;
    let count = halves(view, &operands)?;
    view.expect_results(count)?;
    let array = cx.array(view, operands[0])?;
    let dimensions = view.integers("dimensions")?;
    for &dimension in &dimensions {
        check_dimension(view, "dimensions", dimension, array.rank())?;
    }
    let kept: Dims = (0..array.rank())
        .filter(|&d| !dimensions.contains(&(d as i64)))
        .map(|d| array.dims[d])
        .collect();
    let shapes = (0..count)
        .map(|index| cx.declared(view, index, |_| Some(kept.clone())))
        .collect::<Result<Vec<_>>>()?;
    let to_apply = cx.region(view, 0)?;
    let op = Reduce { dimensions, to_apply };
    let instruction = cx.add(op, one_or_tuple_shape(shapes), &operands);
    cx.finish_tuple(view, instruction)
}

/// The window that the attributes of a windowed operation say.
pub(super) fn window(
    view: View<'_>,
    sizes: &[i64],
    strides: &Dims,
    padding: &[(i64, i64)],
    base_dilations: &Dims,
    window_dilations: &Dims,
) -> Result<Window> {
    let dimensions = (0..sizes.len())
        .map(|d| {
            let dimension = WindowDimension {
                size: sizes[d],
                stride: strides[d],
                padding_low: padding[d].0,
                padding_high: padding[d].1,
                window_dilation: window_dilations[d],
                base_dilation: base_dilations[d],
                window_reversal: false,
            };
            let positive = [
                ("size", dimension.size),
                ("stride", dimension.stride),
                ("window dilation", dimension.window_dilation),
                ("base dilation", dimension.base_dilation),
            ];
            match positive.iter().find(|(_, value)| *value < 1) {
                None => Ok(dimension),
                Some((what, value)) => Err(view
                    .error(format_args!("the {what} of the window in dimension {d} is {value}"))),
            }
        })
        .collect::<Result<_>>()?;
    Ok(Window { dimensions })
}

/// Low and high padding per dimension; none at all means zeros.
pub(super) fn padding_pairs(view: View<'_>, count: usize) -> Result<Vec<(i64, i64)>> {
    if view.get("padding").is_none() {
        return Ok(vec![(0, 0); count]);
    }
    let rows = view.rows("padding")?;
    if rows.len() != count || rows.iter().any(|row| row.len() != 2) {
        return Err(view.wrong("padding", "a low and a high number per dimension"));
    }
    Ok(rows.iter().map(|row| (row[0], row[1])).collect())
}

/// Sizes of what a window gives when it moves over an array.
pub(super) fn windowed_dims(array: &ArrayShape, window: &Window) -> Option<Dims> {
    array
        .dims
        .iter()
        .zip(&window.dimensions)
        .map(|(&size, w)| {
            let dilate = |size: i64, by: i64| match size {
                0 => Some(0),
                _ => (size - 1).checked_mul(by)?.checked_add(1),
            };
            let padded = dilate(size, w.base_dilation)?
                .checked_add(w.padding_low)?
                .checked_add(w.padding_high)?;
            let reach = dilate(w.size, w.window_dilation)?;
            match padded < reach || padded <= 0 {
                true => Some(0),
                false => Some((padded - reach) / w.stride + 1),
            }
        })
        .collect()
}

/// `stablehlo.reduce_window`.
pub(super) fn reduce_window<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let operands = cx.operands(view)?;
    let count = halves(view, &operands)?;
    view.expect_results(count)?;
    let array = cx.array(view, operands[0])?;
    let rank = array.rank();
    let sizes = view.integers("window_dimensions")?;
    if sizes.len() != rank {
        return Err(view.wrong("window_dimensions", "one size per dimension"));
    }
    let window = window(
        view,
        &sizes,
        &view.integers_or("window_strides", rank, 1)?,
        &padding_pairs(view, rank)?,
        &view.integers_or("base_dilations", rank, 1)?,
        &view.integers_or("window_dilations", rank, 1)?,
    )?;
    let dims = windowed_dims(&array, &window);
    let shapes = (0..count)
        .map(|index| cx.declared(view, index, |_| dims.clone()))
        .collect::<Result<Vec<_>>>()?;
    let to_apply = cx.region(view, 0)?;
    let op = ReduceWindow { window, to_apply };
    let instruction = cx.add(op, one_or_tuple_shape(shapes), &operands);
    cx.finish_tuple(view, instruction)
}

/// `stablehlo.select_and_scatter`.
pub(super) fn select_and_scatter<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let [operand, source, init] = cx.exactly(view)?;
    let array = cx.array(view, operand)?;
    let rank = array.rank();
    let ones = Dims::from_elem(1, rank);
    let window = window(
        view,
        &view.integers_or("window_dimensions", rank, 1)?,
        &view.integers_or("window_strides", rank, 1)?,
        &padding_pairs(view, rank)?,
        &ones,
        &ones,
    )?;
    let select = cx.region(view, 0)?;
    let scatter = cx.region(view, 1)?;
    // The sum may be wider than the operand, as the result's type then says.
    let shape = cx.declared(view, 0, |_| Some(array.dims.clone()))?;
    let op = SelectAndScatter { window, select, scatter };
    let instruction = cx.add(op, shape, &[operand, source, init]);
    cx.finish(view, instruction)
}

/// `stablehlo.sort`.
pub(super) fn sort<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let operands = cx.operands(view)?;
    view.expect_results(operands.len())?;
    let Some(&first) = operands.first() else {
        return Err(view.error("has no operands"));
    };
    let rank = cx.array(view, first)?.rank();
    let mut dimension = view.integer_or("dimension", -1)?;
    if dimension < 0 {
        dimension += rank as i64;
    }
    check_dimension(view, "dimension", dimension, rank)?;
    let is_stable = view.bool_or("is_stable", false)?;
    let shapes: Vec<Shape> = operands.iter().map(|&operand| cx.logical_shape(operand)).collect();
    let to_apply = cx.region(view, 0)?;
    let op = Sort { dimensions: Dims::from_slice(&[dimension]), is_stable, to_apply };
    let instruction = cx.add(op, one_or_tuple_shape(shapes), &operands);
    cx.finish_tuple(view, instruction)
}

/// `stablehlo.map`.
pub(super) fn map<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let operands = cx.operands(view)?;
    let Some(&first) = operands.first() else {
        return Err(view.error("has no operands"));
    };
    let dims = cx.array(view, first)?.dims;
    let dimensions = view.integers("dimensions")?;
    let shape = cx.declared(view, 0, |_| Some(dims))?;
    let to_apply = cx.region(view, 0)?;
    let instruction = cx.add(Map { dimensions, to_apply }, shape, &operands);
    cx.finish(view, instruction)
}
