//! Operations that StableHLO keeps only for old programs: einsum and torch_index_select.

use rxla_hlo::op::{Gather, Transpose};
use rxla_hlo::{ArrayShape, Dims, InstructionId, Shape};

use super::attributes::View;
use super::collectives::binary_computation;
use super::contraction::dot_of;
use super::importer::{Importer, Result};
use super::shapes::check_dimension;
use crate::mlir::DotDimensionNumbers;

/// The letters of each operand and of the result, from `ab,bc->ac`. Ellipses are not known.
fn equation(view: View<'_>, operands: usize) -> Result<(Vec<Vec<char>>, Vec<char>)> {
    let config = view.str("einsum_config")?;
    let wrong = || view.wrong("einsum_config", "an equation such as `ab,bc->ac`");
    if config.contains("...") {
        return Err(view.unimplemented("an ellipsis in `einsum_config`"));
    }
    let (inputs, output) = config.split_once("->").ok_or_else(wrong)?;
    let letters = |text: &str| -> Result<Vec<char>> {
        let list: Vec<char> = text.trim().chars().collect();
        match list.iter().all(char::is_ascii_alphabetic) {
            true => Ok(list),
            false => Err(wrong()),
        }
    };
    let inputs = inputs.split(',').map(letters).collect::<Result<Vec<_>>>()?;
    let output = letters(output)?;
    let known = |c: &char| inputs.iter().any(|list| list.contains(c));
    if inputs.len() != operands || !output.iter().all(known) {
        return Err(wrong());
    }
    let distinct = |list: &[char]| (0..list.len()).all(|i| !list[..i].contains(&list[i]));
    if !distinct(&output) {
        return Err(wrong());
    }
    if !inputs.iter().all(|list| distinct(list)) {
        return Err(view.unimplemented("a letter twice in one operand, which takes a diagonal"));
    }
    Ok((inputs, output))
}

/// Sums over the dimensions whose letters are not kept.
fn sum_out<'a>(
    cx: &mut Importer<'a>,
    view: View<'a>,
    operand: InstructionId,
    letters: &mut Vec<char>,
    kept: &[&[char]],
) -> Result<InstructionId> {
    let array = cx.array(view, operand)?;
    if array.rank() != letters.len() {
        return Err(view.wrong("einsum_config", "a letter per dimension"));
    }
    let gone = |c: &char| !kept.iter().any(|list| list.contains(c));
    let dimensions: Dims =
        (0..letters.len()).filter(|&d| gone(&letters[d])).map(|d| d as i64).collect();
    if dimensions.is_empty() {
        return Ok(operand);
    }
    let dims: Dims =
        (0..letters.len()).filter(|&d| !gone(&letters[d])).map(|d| array.dims[d]).collect();
    letters.retain(|c| !gone(c));
    let to_apply = binary_computation(cx, array.element_type, rxla_hlo::BinaryKind::Add);
    let zero = cx.scalar(array.element_type, 0.0);
    let shape = Shape::array(array.element_type, dims);
    Ok(cx.add(rxla_hlo::op::Reduce { dimensions, to_apply }, shape, &[operand, zero]))
}

/// Puts dimensions in the order of the result's letters.
fn arranged(
    cx: &mut Importer<'_>,
    operand: InstructionId,
    letters: &[char],
    output: &[char],
) -> InstructionId {
    let array = cx.dims_of(operand);
    let dimensions: Dims = output
        .iter()
        .filter_map(|c| letters.iter().position(|other| other == c))
        .map(|d| d as i64)
        .collect();
    if dimensions.iter().copied().eq(0..dimensions.len() as i64) {
        return operand;
    }
    let dims: Dims = dimensions.iter().map(|&d| array.dims[d as usize]).collect();
    let shape = Shape::array(array.element_type, dims);
    cx.add(Transpose { dimensions }, shape, &[operand])
}

/// `stablehlo.unary_einsum`: a sum and a transposition.
pub(super) fn unary_einsum<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let [operand] = cx.exactly(view)?;
    let (mut inputs, output) = equation(view, 1)?;
    let summed = sum_out(cx, view, operand, &mut inputs[0], &[&output])?;
    let instruction = arranged(cx, summed, &inputs[0], &output);
    cx.finish(view, instruction)
}

/// `stablehlo.einsum`: a dot between sums and a transposition.
pub(super) fn einsum<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let [left, right] = cx.exactly(view)?;
    let (mut inputs, output) = equation(view, 2)?;
    let mut right_letters = inputs.pop().unwrap_or_default();
    let mut left_letters = inputs.pop().unwrap_or_default();
    let left = sum_out(cx, view, left, &mut left_letters, &[&right_letters, &output])?;
    let right = sum_out(cx, view, right, &mut right_letters, &[&left_letters, &output])?;
    let mut numbers = DotDimensionNumbers::default();
    for (l, c) in left_letters.iter().enumerate() {
        let Some(r) = right_letters.iter().position(|other| other == c) else { continue };
        if output.contains(c) {
            numbers.lhs_batching_dimensions.push(l as i64);
            numbers.rhs_batching_dimensions.push(r as i64);
        } else {
            numbers.lhs_contracting_dimensions.push(l as i64);
            numbers.rhs_contracting_dimensions.push(r as i64);
        }
    }
    let both = |c: &&char| left_letters.contains(c) && right_letters.contains(c);
    let batch = left_letters.iter().filter(both).filter(|c| output.contains(c));
    let left_only = left_letters.iter().filter(|c| !right_letters.contains(c));
    let right_only = right_letters.iter().filter(|c| !left_letters.contains(c));
    let letters: Vec<char> = batch.chain(left_only).chain(right_only).copied().collect();
    let dims: Dims = letters
        .iter()
        .map(|c| {
            let at = |list: &[char], id| list.iter().position(|other| other == c).map(|d| (id, d));
            let (operand, d) = at(&left_letters, left).or_else(|| at(&right_letters, right))?;
            Some(cx.dims_of(operand).dims[d])
        })
        .collect::<Option<_>>()
        .unwrap_or_default();
    let result_type = match view.result_shape(0)? {
        Shape::Array(array) => array.element_type,
        other => return Err(view.error(format_args!("has the type `{other}`"))),
    };
    let shape = ArrayShape::new(result_type, dims);
    let dot = dot_of(cx, view, left, right, &numbers, shape.into())?;
    let instruction = arranged(cx, dot, &letters, &output);
    cx.finish(view, instruction)
}

/// `stablehlo.torch_index_select`: slices of the operand at the indices along `dim`, the first
/// `batch_dims` dimensions being shared.
pub(super) fn torch_index_select<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let [operand, index] = cx.exactly(view)?;
    let (array, indices) = (cx.array(view, operand)?, cx.array(view, index)?);
    let mut dim = view.integer("dim")?;
    let batch = view.integer_or("batch_dims", 0)?;
    if dim < 0 {
        dim += array.rank() as i64;
    }
    let at = check_dimension(view, "dim", dim, array.rank())?;
    let batch = usize::try_from(batch)
        .ok()
        .filter(|&batch| batch <= at && batch <= indices.rank())
        .ok_or_else(|| view.wrong("batch_dims", "below `dim` and the rank of the indices"))?;
    // Result: dimensions before `dim`, then the rest of the indices, then those after `dim`.
    let index_rank = indices.rank() - batch;
    let mut dims: Dims = array.dims[..at].into();
    dims.extend(indices.dims[batch..].iter().copied());
    dims.extend(array.dims[at + 1..].iter().copied());
    let mut slice_sizes = array.dims.clone();
    slice_sizes[at] = 1;
    slice_sizes[..batch].fill(1);
    let offset_dims: Dims = (batch..at)
        .chain(at + index_rank..at + index_rank + (array.rank() - at - 1))
        .map(|d| d as i64)
        .collect();
    // Batch dimensions of a gather come first, the indices' own may stand further back.
    let op = Gather {
        offset_dims,
        collapsed_slice_dims: Dims::from_slice(&[dim]),
        start_index_map: Dims::from_slice(&[dim]),
        operand_batching_dims: (0..batch as i64).collect(),
        start_indices_batching_dims: (0..batch as i64).collect(),
        index_vector_dim: indices.rank() as i64,
        slice_sizes,
        indices_are_sorted: false,
    };
    let shape = cx.declared(view, 0, |_| Some(dims))?;
    let instruction = cx.add(Box::new(op), shape, &[operand, index]);
    cx.finish(view, instruction)
}
