//! `convolution` with every attribute: strides, padding (negative too), dilation of both sides,
//! window reversal, feature and batch groups, any order of dimensions.
//!
//! The input is brought into the order batch, space, feature and padded; then each position of the
//! window adds the product of a strided view of it with that position's slice of the kernel.

use rxla_base::Result;
use rxla_hlo::op::{Convolution, PaddingDimension};
use rxla_hlo::{ArrayLiteral, ArrayShape, Dims, ElementType};
use smallvec::SmallVec;

use crate::matmul::{multiply_add, multiply_add_transposed, term_type, to_type, with_term};
use crate::movement::{pad, reverse, transpose};
use crate::strided::{CopyPlan, Extents, Odometer, row_major};

pub(crate) fn convolution(
    input: ArrayLiteral,
    kernel: ArrayLiteral,
    op: &Convolution,
    result: ElementType,
) -> Result<ArrayLiteral> {
    let term = term_type(result, input.element_type(), kernel.element_type());
    let labels = &op.dim_labels;
    let input = in_order(input, labels.input_batch, &labels.input_spatial, labels.input_feature)?;
    let input = pad_input(to_type(input, term)?, op)?;
    // Kernel as space, input feature, output feature.
    let mut order: Vec<i64> = labels.kernel_spatial.to_vec();
    order.extend([labels.kernel_input_feature, labels.kernel_output_feature]);
    let kernel = reverse_window(transpose(to_type(kernel, term)?, &order)?, op)?;

    let spatial = op.window.dimensions.len();
    let out_space: Dims = op
        .window
        .dimensions
        .iter()
        .zip(&input.dims()[1..])
        .map(|(window, &size)| {
            let span = (window.size - 1) * window.window_dilation + 1;
            if window.size == 0 || size < span { 0 } else { (size - span) / window.stride + 1 }
        })
        .collect();
    let groups =
        Groups { feature: op.feature_group_count.0.max(1), batch: op.batch_group_count.0.max(1) };
    let batch = input.dims()[0] / groups.batch;
    let out_features = kernel.dims()[spatial + 1];
    let mut out_dims: Dims = [batch].into_iter().chain(out_space.iter().copied()).collect();
    out_dims.push(out_features);
    let mut sums = ArrayLiteral::zeros(&ArrayShape::new(term, out_dims.iter().copied()))?;
    if !sums.is_empty() && !input.is_empty() && !kernel.is_empty() {
        with_term!(term, T => {
            accumulate::<T>(
                input.values(), input.dims(), kernel.values(), kernel.dims(), sums.values_mut(),
                &out_dims, groups, op,
            )
        });
    }
    let sums = to_type(sums, result)?;
    // Back to the order that the result asks for.
    let mut position: Vec<i64> = vec![0; spatial + 2];
    position[labels.output_batch as usize] = 0;
    position[labels.output_feature as usize] = spatial as i64 + 1;
    for (i, &dimension) in labels.output_spatial.iter().enumerate() {
        position[dimension as usize] = i as i64 + 1;
    }
    transpose(sums, &position)
}

#[derive(Clone, Copy)]
struct Groups {
    feature: i64,
    batch: i64,
}

fn in_order(operand: ArrayLiteral, first: i64, spatial: &[i64], last: i64) -> Result<ArrayLiteral> {
    let mut order = vec![first];
    order.extend_from_slice(spatial);
    order.push(last);
    transpose(operand, &order)
}

fn pad_input(input: ArrayLiteral, op: &Convolution) -> Result<ArrayLiteral> {
    let mut padding = vec![PaddingDimension::default()];
    padding.extend(op.window.dimensions.iter().map(|window| PaddingDimension {
        low: window.padding_low,
        high: window.padding_high,
        interior: window.base_dilation - 1,
    }));
    padding.push(PaddingDimension::default());
    if padding.iter().all(|padding| *padding == PaddingDimension::default()) {
        return Ok(input);
    }
    let zero = ArrayLiteral::zeros(&ArrayShape::scalar(input.element_type()))?;
    pad(&input, &zero, &padding)
}

fn reverse_window(kernel: ArrayLiteral, op: &Convolution) -> Result<ArrayLiteral> {
    let reversed: Vec<i64> = (0..)
        .zip(&op.window.dimensions)
        .filter(|(_, window)| window.window_reversal)
        .map(|(dimension, _)| dimension)
        .collect();
    if reversed.is_empty() { Ok(kernel) } else { reverse(&kernel, &reversed) }
}

/// Adds all products to `out`, group by group and window position by window position.
fn accumulate<T: crate::matmul::Term>(
    input: &[T],
    input_dims: &[i64],
    kernel: &[T],
    kernel_dims: &[i64],
    out: &mut [T],
    out_dims: &[i64],
    groups: Groups,
    op: &Convolution,
) {
    let spatial = op.window.dimensions.len();
    let count = groups.feature * groups.batch;
    let in_group = kernel_dims[spatial];
    let out_features = kernel_dims[spatial + 1];
    let out_group = out_features / count;
    let rows: i64 = out_dims[..=spatial].iter().product();
    let input_strides = row_major(input_dims);
    let kernel_strides = row_major(kernel_dims);

    // A view of the input that one window position sees: batch, output space, features.
    let mut view_dims: Dims = out_dims[..=spatial].iter().copied().collect();
    view_dims.push(in_group);
    let mut view_strides: Extents = SmallVec::from_slice(&input_strides);
    for (dimension, window) in op.window.dimensions.iter().enumerate() {
        view_strides[dimension + 1] *= window.stride as isize;
    }
    let view = CopyPlan::new(&view_dims, &view_strides, &row_major(&view_dims));
    let kernel_block = CopyPlan::new(
        &[in_group, out_group],
        &kernel_strides[spatial..],
        &row_major(&[in_group, out_group]),
    );
    let out_block = CopyPlan::new(
        &[rows, out_group],
        &row_major(&[rows, out_group]),
        &[out_features as isize, 1],
    );

    let window_sizes: Dims = kernel_dims[..spatial].iter().copied().collect();
    let steps: Extents = op
        .window
        .dimensions
        .iter()
        .enumerate()
        .map(|(dimension, window)| input_strides[dimension + 1] * window.window_dilation as isize)
        .collect();
    let size = (rows as usize, in_group as usize, out_group as usize);
    let mut patch = vec![T::default(); size.0 * size.1];
    let mut weights = vec![T::default(); size.1 * size.2];
    let mut sums = vec![T::default(); size.0 * size.2];
    for group in 0..count {
        // With batch groups, group g of the output features sees group g of the batch.
        let start = if groups.batch > 1 {
            (group * out_dims[0]) as isize * input_strides[0]
        } else {
            (group * in_group) as isize
        };
        let out_start = (group * out_group) as isize;
        sums.fill(T::default());
        let mut positions =
            Odometer::new(&window_sizes, [&steps, &kernel_strides[..spatial]], [start, out_start]);
        while let Some([from, kernel_from]) = positions.next() {
            view.run(input, from, &mut patch, 0);
            kernel_block.run(kernel, kernel_from, &mut weights, 0);
            if size.2 == 1 {
                multiply_add_transposed(&patch, &weights, &mut sums, size);
            } else {
                multiply_add(&patch, &weights, &mut sums, size);
            }
        }
        out_block.run(&sums, 0, out, out_start);
    }
}
