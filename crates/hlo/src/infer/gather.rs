//! Gather and scatter, whose dimension numbers mirror each other.

use smallvec::SmallVec;

use super::check::{
    Result, array, arrays, callee, dimensions, ensure, error, one_or_tuple, same_size, same_sizes,
    size_of, sizes_of, with_sizes,
};
use super::reduce::{reducer, types};
use crate::op::{Gather, Scatter};
use crate::{ArrayShape, Dims, Module, Shape};

type Indices = SmallVec<[usize; 4]>;

fn sorted(numbers: &[usize], what: &str) -> Result<()> {
    ensure!(numbers.is_sorted(), "{what} has to be sorted");
    Ok(())
}

/// The sizes of an index array, with a last dimension of one index if it has none.
fn index_sizes(
    indices: &ArrayShape,
    vector_dim: i64,
    constraint: &str,
) -> Result<(Vec<(i64, bool)>, usize)> {
    ensure!(indices.element_type.is_integer(), "indices have to be integers, but are `{indices}`");
    let mut sizes: Vec<_> = sizes_of(indices).collect();
    let dim = usize::try_from(vector_dim).ok().filter(|&dim| dim <= sizes.len());
    let Some(dim) = dim else {
        return Err(error(format!(
            "{constraint} `index_vector_dim` is {vector_dim}, but indices are `{indices}`"
        )));
    };
    if dim == sizes.len() {
        sizes.push((1, false));
    }
    Ok((sizes, dim))
}

/// What gather calls operand and scatter input, with the dimensions that windows do not show.
struct Skipped {
    slice: Indices,
    batching: Indices,
}

/// Constraints that both ops have on the dimensions of the operand and of the indices.
fn check_operand(
    operand: &ArrayShape,
    indices: &[(i64, bool)],
    vector_dim: usize,
    numbers: [&Dims; 4],
    names: [&str; 4],
) -> Result<Skipped> {
    let [slice, batching, indices_batching, map] = numbers;
    let [slice_name, batching_name, indices_batching_name, map_name] = names;
    let mut both = slice.clone();
    both.extend_from_slice(batching);
    let mut slice_dims =
        dimensions(&both, operand.rank(), &format!("`{slice_name}` with `{batching_name}`"))?;
    let batching_dims: Indices = slice_dims.drain(slice.len()..).collect();
    sorted(&slice_dims, &format!("`{slice_name}`"))?;
    sorted(&batching_dims, &format!("`{batching_name}`"))?;
    let index_batching =
        dimensions(indices_batching, indices.len(), &format!("`{indices_batching_name}`"))?;
    ensure!(
        !index_batching.contains(&vector_dim),
        "`{indices_batching_name}` names the index vector's dimension {vector_dim}"
    );
    ensure!(
        batching_dims.len() == index_batching.len(),
        "`{batching_name}` names {} dimensions, `{indices_batching_name}` {}",
        batching_dims.len(),
        index_batching.len()
    );
    for (&from, &to) in batching_dims.iter().zip(&index_batching) {
        ensure!(
            same_size(operand.dims[from], indices[to].0),
            "batching dimension {from} of `{operand}` is {}, but {to} of the indices is {}",
            operand.dims[from],
            indices[to].0
        );
    }
    ensure!(
        same_size(indices[vector_dim].0, map.len() as i64),
        "`{map_name}` maps {} indices, but each index vector has {}",
        map.len(),
        indices[vector_dim].0
    );
    let mut mapped = map.clone();
    mapped.extend_from_slice(batching);
    dimensions(&mapped, operand.rank(), &format!("`{map_name}` with `{batching_name}`"))?;
    Ok(Skipped { slice: slice_dims, batching: batching_dims })
}

pub(super) fn gather(op: &Gather, operand: &Shape, indices: &Shape) -> Result<Shape> {
    let (operand, indices) = (array(operand, "operand 0")?, array(indices, "operand 1")?);
    let (index_sizes, vector_dim) = index_sizes(indices, op.index_vector_dim, "(C2)")?;
    let skipped = check_operand(
        operand,
        &index_sizes,
        vector_dim,
        [
            &op.collapsed_slice_dims,
            &op.operand_batching_dims,
            &op.start_indices_batching_dims,
            &op.start_index_map,
        ],
        [
            "collapsed_slice_dims",
            "operand_batching_dims",
            "start_indices_batching_dims",
            "start_index_map",
        ],
    )?;
    ensure!(
        op.slice_sizes.len() == operand.rank(),
        "(C20) `slice_sizes` has {} entries for the operand `{operand}`",
        op.slice_sizes.len()
    );
    let shown = op.offset_dims.len() + skipped.slice.len() + skipped.batching.len();
    ensure!(
        shown == operand.rank(),
        "(C1) `offset_dims`, `collapsed_slice_dims` and `operand_batching_dims` name {shown} \
         dimensions of the operand `{operand}`"
    );
    for (dimension, (&slice, &size)) in op.slice_sizes.iter().zip(&operand.dims).enumerate() {
        ensure!(
            slice >= 0 && (size == ArrayShape::UNBOUNDED || slice <= size),
            "(C21) slice size {slice} does not fit dimension {dimension} of `{operand}`"
        );
        if skipped.slice.contains(&dimension) || skipped.batching.contains(&dimension) {
            ensure!(
                slice <= 1,
                "(C9, C12) dimension {dimension} is left out of the result, but its slice size is \
                 {slice}"
            );
        }
    }
    let result_rank = op.offset_dims.len() + index_sizes.len() - 1;
    let offsets = dimensions(&op.offset_dims, result_rank, "(C5) `offset_dims`")?;
    sorted(&offsets, "(C4) `offset_dims`")?;
    let mut windows = (0..operand.rank())
        .filter(|d| !skipped.slice.contains(d) && !skipped.batching.contains(d))
        .map(|d| {
            let (size, dynamic) = size_of(operand, d);
            (op.slice_sizes[d], dynamic && op.slice_sizes[d] == size)
        });
    let mut batches =
        index_sizes.iter().enumerate().filter(|&(d, _)| d != vector_dim).map(|(_, &size)| size);
    let sizes: Option<Vec<_>> = (0..result_rank)
        .map(|d| if offsets.contains(&d) { windows.next() } else { batches.next() })
        .collect();
    let sizes = sizes.ok_or_else(|| error("(C22) dimension numbers do not add up"))?;
    Ok(with_sizes(operand.element_type, sizes).into())
}

pub(super) fn scatter(module: &Module, op: &Scatter, operands: &[&Shape]) -> Result<Shape> {
    ensure!(
        operands.len() % 2 == 1,
        "(C5) inputs, indices and as many updates as inputs are needed, but there are {} operands",
        operands.len()
    );
    let operands = arrays(operands, "operand")?;
    let count = operands.len() / 2;
    let (inputs, indices, updates) = (&operands[..count], operands[count], &operands[count + 1..]);
    let (index_sizes, vector_dim) = index_sizes(indices, op.index_vector_dim, "(C22)")?;
    for (input, update) in inputs.iter().zip(updates) {
        ensure!(same_sizes(input, inputs[0]), "(C1) inputs differ: `{}` and `{input}`", inputs[0]);
        ensure!(
            same_sizes(update, updates[0]),
            "(C3) updates differ: `{}` and `{update}`",
            updates[0]
        );
    }
    let (input, update) = (inputs[0], updates[0]);
    let skipped = check_operand(
        input,
        &index_sizes,
        vector_dim,
        [
            &op.inserted_window_dims,
            &op.input_batching_dims,
            &op.scatter_indices_batching_dims,
            &op.scatter_dims_to_operand_dims,
        ],
        [
            "inserted_window_dims",
            "input_batching_dims",
            "scatter_indices_batching_dims",
            "scatter_dims_to_operand_dims",
        ],
    )?;
    let windows = dimensions(&op.update_window_dims, update.rank(), "(C8) `update_window_dims`")?;
    sorted(&windows, "(C7) `update_window_dims`")?;
    let shown = windows.len() + skipped.slice.len() + skipped.batching.len();
    ensure!(
        shown == input.rank(),
        "(C2) `update_window_dims`, `inserted_window_dims` and `input_batching_dims` name {shown} \
         dimensions of the input `{input}`"
    );
    ensure!(
        update.rank() == windows.len() + index_sizes.len() - 1,
        "(C4) the updates `{update}` have to have {} dimensions: {} of windows, {} of indices",
        windows.len() + index_sizes.len() - 1,
        windows.len(),
        index_sizes.len() - 1
    );
    let mut input_dims =
        (0..input.rank()).filter(|d| !skipped.slice.contains(d) && !skipped.batching.contains(d));
    let mut index_dims = (0..index_sizes.len()).filter(|&d| d != vector_dim);
    for (dimension, &size) in update.dims.iter().enumerate() {
        if windows.contains(&dimension) {
            let whole = input_dims.next().map_or(0, |d| input.dims[d]);
            ensure!(
                size == ArrayShape::UNBOUNDED || whole == ArrayShape::UNBOUNDED || size <= whole,
                "(C4) dimension {dimension} of the updates `{update}` is larger than the window \
                 of {whole} in `{input}`"
            );
        } else {
            let steps = index_dims.next().map_or(0, |d| index_sizes[d].0);
            ensure!(
                same_size(size, steps),
                "(C4) dimension {dimension} of the updates `{update}` has to be {steps}, as in \
                 the indices `{indices}`"
            );
        }
    }
    let callee = callee(module, op.to_apply, "`to_apply`")?;
    reducer(&callee, &types(updates), &types(inputs), "(C23)")?;
    Ok(one_or_tuple(inputs.iter().map(|input| input.without_layout().into()).collect()))
}
