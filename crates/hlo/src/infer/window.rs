//! Ops that slide a window: convolution, reduce-window, select-and-scatter.

use super::check::{
    Result, agree, array, callee, dimensions, ensure, error, same_but_precision, same_size, scalar,
    size_of, sizes_of, with_sizes,
};
use super::contraction::{precisions, product_type};
use super::reduce::{inputs_and_inits, reducer, tuple_like, types};
use crate::op::{
    Convolution, ConvolutionDimensions, ReduceWindow, SelectAndScatter, Window, WindowDimension,
};
use crate::{ArrayShape, Dims, ElementType, Module, Shape};

/// How many places a window has along a dimension. Everything is checked against overflow.
pub(super) fn window_count(size: i64, window: &WindowDimension) -> Option<i64> {
    let dilated = |size: i64, by: i64| {
        if size == 0 { Some(0) } else { (size - 1).checked_mul(by)?.checked_add(1) }
    };
    let padded = dilated(size, window.base_dilation)?
        .checked_add(window.padding_low)?
        .checked_add(window.padding_high)?;
    let reach = dilated(window.size, window.window_dilation)?;
    if padded <= 0 || reach > padded { Some(0) } else { Some((padded - reach) / window.stride + 1) }
}

/// Checks one dimension's window and gives the size of the result there.
fn slide(size: (i64, bool), window: &WindowDimension, dimension: usize) -> Result<(i64, bool)> {
    ensure!(window.size > 0, "the window's size in dimension {dimension} is {}", window.size);
    slide_any(size, window, dimension)
}

/// As [`slide`], for kernels, which may be empty.
fn slide_any(size: (i64, bool), window: &WindowDimension, dimension: usize) -> Result<(i64, bool)> {
    for (what, value) in [
        ("stride", window.stride),
        ("base dilation", window.base_dilation),
        ("window dilation", window.window_dilation),
    ] {
        ensure!(value > 0, "the window's {what} in dimension {dimension} is {value}, below 1");
    }
    if size.0 == ArrayShape::UNBOUNDED {
        return Ok(size);
    }
    let count = window_count(size.0, window)
        .ok_or_else(|| error(format!("the window in dimension {dimension} overflows")))?;
    Ok((count, size.1))
}

fn slide_all(shape: &ArrayShape, window: &Window, constraint: &str) -> Result<Vec<(i64, bool)>> {
    ensure!(
        window.dimensions.len() == shape.rank(),
        "{constraint} the window has {} dimensions for `{shape}`",
        window.dimensions.len()
    );
    sizes_of(shape)
        .zip(&window.dimensions)
        .enumerate()
        .map(|(dimension, (size, window))| slide(size, window, dimension))
        .collect()
}

pub(super) fn reduce_window(
    module: &Module,
    op: &ReduceWindow,
    operands: &[&Shape],
) -> Result<Shape> {
    let (inputs, inits) = inputs_and_inits(operands)?;
    let sizes = slide_all(inputs[0], &op.window, "(C4)")?;
    let callee = callee(module, op.to_apply, "`to_apply`")?;
    let accumulators = reducer(&callee, &types(&inputs), &types(&inits), "(C13)")?;
    let results = accumulators.iter().map(|&t| with_sizes(t, sizes.iter().copied()).into());
    Ok(tuple_like(callee.result, results.collect()))
}

pub(super) fn select_and_scatter(
    module: &Module,
    op: &SelectAndScatter,
    operands: &[&Shape],
) -> Result<Shape> {
    let operand = array(operands[0], "operand 0")?;
    let source = array(operands[1], "operand 1")?;
    let init = scalar(operands[2], "(C3) the initial value")?;
    let select = callee(module, op.select, "`select`")?;
    select.expect_parameters(2)?;
    let element = ArrayShape::scalar(operand.element_type);
    for parameter in &select.parameters {
        ensure!(
            parameter.as_array().is_some_and(|p| same_but_precision(p, &element)),
            "(C9) `{}` has to compare elements of `{operand}`, but takes `{parameter}`",
            select.name
        );
    }
    ensure!(
        agree(select.result, &Shape::scalar(ElementType::Pred)),
        "(C9) `{}` has to give `pred[]`, but gives `{}`",
        select.name,
        select.result
    );
    let scatter = callee(module, op.scatter, "`scatter`")?;
    reducer(&scatter, &[source.element_type], &[init.element_type], "(C10)")?;
    let windows = with_sizes(operand.element_type, slide_all(operand, &op.window, "(C4)")?);
    ensure!(
        same_but_precision(source, &windows),
        "(C2) the source is `{source}`, but the window has `{windows}` places in `{operand}`"
    );
    Ok(operand.without_layout().into())
}

/// The places of batch, feature and spatial dimensions, which together are all of them.
fn places(spatial: &Dims, others: [i64; 2], rank: usize, constraint: &str, of: &str) -> Result<()> {
    let mut all = spatial.clone();
    all.extend(others);
    ensure!(
        all.len() == rank,
        "{constraint} `dim_labels` says {} dimensions of the {of}, but it has {rank}",
        all.len()
    );
    dimensions(&all, rank, &format!("{constraint} `dim_labels` of the {of}"))?;
    Ok(())
}

pub(super) fn convolution(op: &Convolution, lhs: &Shape, rhs: &Shape) -> Result<Shape> {
    // A sparse kernel comes with its metadata.
    let rhs = match rhs {
        Shape::Tuple(parts) if parts.len() == 2 => &parts[0],
        Shape::Tuple(_) | Shape::Array(_) | Shape::Buffer(_) | Shape::Token | Shape::Opaque => rhs,
    };
    let (lhs, rhs) = (array(lhs, "operand 0")?, array(rhs, "operand 1")?);
    precisions(&op.operand_precision)?;
    let numbers = &op.dim_labels;
    let spatial = op.window.dimensions.len();
    let rank = spatial + 2;
    ensure!(
        lhs.rank() == rank && rhs.rank() == rank,
        "(C1) a window of {spatial} dimensions needs operands of rank {rank}, not `{lhs}` and `{rhs}`"
    );
    check_places(numbers, rank)?;
    let (features, batches) = (op.feature_group_count.0, op.batch_group_count.0);
    ensure!(features > 0, "(C21) `feature_group_count` is {features}");
    ensure!(batches > 0, "(C22) `batch_group_count` is {batches}");
    ensure!(
        features == 1 || batches == 1,
        "(C23) both features and batches are grouped, by {features} and {batches}"
    );
    // All numbers below were checked to be dimensions.
    let size = |shape: &ArrayShape, number: i64| size_of(shape, number as usize);
    let divides = |size: i64, by: i64| size == ArrayShape::UNBOUNDED || size % by == 0;

    let batch = size(lhs, numbers.input_batch);
    ensure!(divides(batch.0, batches), "(C10) batch {} is no multiple of {batches}", batch.0);
    let feature = size(lhs, numbers.input_feature);
    ensure!(
        divides(feature.0, features),
        "(C11) {} features are no multiple of {features}",
        feature.0
    );
    let mut kernel_feature = size(rhs, numbers.kernel_input_feature).0;
    if let Some(sparsity) = op.sparsity_config.as_ref().and_then(|config| config.rhs) {
        kernel_feature = super::check::multiply(kernel_feature, sparsity.block_size)?;
    }
    if feature.0 != ArrayShape::UNBOUNDED {
        ensure!(
            same_size(kernel_feature, feature.0 / features),
            "(C14) the kernel `{rhs}` takes {kernel_feature} features, but `{lhs}` has {} a group",
            feature.0 / features
        );
    }
    let out = size(rhs, numbers.kernel_output_feature);
    ensure!(
        divides(out.0, batches),
        "(C15) {} output features are no multiple of {batches}",
        out.0
    );
    ensure!(
        divides(out.0, features),
        "(C16) {} output features are no multiple of {features}",
        out.0
    );

    let mut sizes = vec![(0, false); rank];
    let batch_size = if batch.0 == ArrayShape::UNBOUNDED { batch.0 } else { batch.0 / batches };
    sizes[numbers.output_batch as usize] = (batch_size, batch.1);
    sizes[numbers.output_feature as usize] = out;
    for (index, window) in op.window.dimensions.iter().enumerate() {
        let base = size(lhs, numbers.input_spatial[index]);
        let kernel = size(rhs, numbers.kernel_spatial[index]);
        ensure!(
            same_size(kernel.0, window.size),
            "(C25) the window's size {index} is {}, but the kernel `{rhs}` has {} there",
            window.size,
            kernel.0
        );
        ensure!(window.size >= 0, "the window's size {index} is {}", window.size);
        let (count, dynamic) = slide_any(base, window, index)?;
        sizes[numbers.output_spatial[index] as usize] = (count, dynamic || kernel.1);
    }
    let element_type = product_type(lhs.element_type, rhs.element_type);
    Ok(with_sizes(element_type, sizes).into())
}

fn check_places(numbers: &ConvolutionDimensions, rank: usize) -> Result<()> {
    let ConvolutionDimensions { input_batch, input_feature, input_spatial, .. } = numbers;
    places(input_spatial, [*input_batch, *input_feature], rank, "(C13)", "input")?;
    let kernel = [numbers.kernel_input_feature, numbers.kernel_output_feature];
    places(&numbers.kernel_spatial, kernel, rank, "(C18)", "kernel")?;
    let output = [numbers.output_batch, numbers.output_feature];
    places(&numbers.output_spatial, output, rank, "(C20)", "output")
}
