//! Parts of arrays by number, read and updated.

use rxla_hlo::op::{DynamicSlice, DynamicUpdateSlice, Gather, Scatter, Select};
use rxla_hlo::{ArrayShape, Dims, ElementType, InstructionId, Op, Shape};

use super::steps::REDUCERS;
use super::{Generator, Scope};

impl Generator {
    /// Places that slices start at, not all of them inside.
    fn starts(&mut self, scope: &mut Scope, count: usize) -> Option<Vec<InstructionId>> {
        let scalar = ArrayShape::scalar(ElementType::S32);
        (0..count)
            .map(|_| {
                if self.random.once_in(3) {
                    return self.of_shape(scope, &scalar);
                }
                let start = self.random.between(-1, 4) as f64;
                Some(self.module.add_scalar(scope.computation, ElementType::S32, start))
            })
            .collect()
    }
}

pub(super) fn dynamic_slice(g: &mut Generator, scope: &mut Scope) -> Option<InstructionId> {
    let x = g.any_where(scope, |shape| shape.rank() > 0)?;
    let dims = g.shape_of(x).dims;
    let dynamic_slice_sizes = dims.iter().map(|&size| g.random.between(0, size + 1)).collect();
    let mut operands = vec![x];
    operands.extend(g.starts(scope, dims.len())?);
    g.add(scope, DynamicSlice { dynamic_slice_sizes }, &operands)
}

pub(super) fn dynamic_update_slice(g: &mut Generator, scope: &mut Scope) -> Option<InstructionId> {
    let x = g.any_where(scope, |shape| shape.rank() > 0)?;
    let mut shape = g.shape_of(x);
    let rank = shape.rank();
    for size in &mut shape.dims {
        *size = g.random.between(0, *size + 1);
    }
    let update = g.of_shape_or_constant(scope, &shape)?;
    let mut operands = vec![x, update];
    operands.extend(g.starts(scope, rank)?);
    g.add(scope, DynamicUpdateSlice {}, &operands)
}

/// Rows of a matrix or elements of a vector by number.
pub(super) fn gather(g: &mut Generator, scope: &mut Scope) -> Option<InstructionId> {
    let x = g.any_where(scope, |shape| shape.rank() > 0 && shape.dims[0] > 0)?;
    let shape = g.shape_of(x);
    let count = g.random.between(1, 4);
    let indices = g.of_shape_or_constant(scope, &ArrayShape::new(ElementType::S32, [count]))?;
    let mut slice_sizes = shape.dims.clone();
    slice_sizes[0] = 1;
    let op = Gather {
        offset_dims: (1..shape.rank() as i64).collect(),
        collapsed_slice_dims: [0].into_iter().collect(),
        start_index_map: [0].into_iter().collect(),
        index_vector_dim: 1,
        slice_sizes,
        ..Gather::default()
    };
    g.add(scope, Box::new(op), &[x, indices])
}

/// Rows added at numbers, or updates that are wanted or not.
pub(super) fn scatter(g: &mut Generator, scope: &mut Scope) -> Option<InstructionId> {
    if g.random.once_in(2) {
        return updated_rows(g, scope);
    }
    let x = g.any_where(scope, |shape| shape.rank() > 0)?;
    let shape = g.shape_of(x);
    let count = g.random.between(1, 4);
    let indices = g.of_shape_or_constant(scope, &ArrayShape::new(ElementType::S32, [count]))?;
    let mut updates = shape.clone();
    updates.dims[0] = count;
    let updates = g.of_shape_or_constant(scope, &updates)?;
    combined_at(g, scope, 0, [].into_iter().collect(), [x, indices, updates])
}

/// Something in each row that is updated, once or twice, or not at all in rows of which it is not wanted, as loops under
/// `vmap` have it.
fn updated_rows(g: &mut Generator, scope: &mut Scope) -> Option<InstructionId> {
    let x = g.any_where(scope, |shape| shape.rank() > 1 && shape.dims[1] > 1)?;
    let shape = g.shape_of(x);
    let along: Dims = if g.random.once_in(3) { Dims::new() } else { [0].into_iter().collect() };
    let sizes: Dims = along.iter().map(|_| shape.dims[0]).collect();
    let choice = g.of_shape_or_constant(scope, &ArrayShape::new(ElementType::Pred, sizes))?;
    let all = Shape::array(ElementType::Pred, shape.dims.clone());
    let choice = g.add_shaped(scope, Op::broadcast(along), all, &[choice])?;
    let mut updated = updated_row(g, scope, x)?;
    // What calls is there from here on.
    if g.random.once_in(2) {
        updated = updated_row(g, scope, updated).unwrap_or(updated);
    }
    let sides = if g.random.once_in(2) { [updated, x] } else { [x, updated] };
    g.add(scope, Select {}, &[choice, sides[0], sides[1]]).or(Some(updated))
}

/// One element of each row updated, at the same place or not.
fn updated_row(g: &mut Generator, scope: &mut Scope, x: InstructionId) -> Option<InstructionId> {
    let shape = g.shape_of(x);
    let mut part = shape.clone();
    part.dims[1] = 1;
    if g.random.once_in(3) {
        let part = g.of_shape_or_constant(scope, &part)?;
        let mut operands = vec![x, part];
        operands.extend(g.starts(scope, shape.rank())?);
        return g.add(scope, DynamicUpdateSlice {}, &operands);
    }
    part.dims.remove(1);
    let part = g.of_shape_or_constant(scope, &part)?;
    let indices = ArrayShape::new(ElementType::S32, [shape.dims[0], 1]);
    let indices = g.of_shape_or_constant(scope, &indices)?;
    combined_at(g, scope, 1, [0].into_iter().collect(), [x, indices, part])
}

/// What is put at numbers along a dimension, each combined somehow with what is there, with the `batch` of its own.
fn combined_at(
    g: &mut Generator,
    scope: &mut Scope,
    dimension: i64,
    batch: Dims,
    operands: [InstructionId; 3],
) -> Option<InstructionId> {
    let shape = g.shape_of(operands[0]);
    let kind = g.random.pick(REDUCERS);
    let to_apply = g.module.add_scalar_computation(kind, shape.element_type).ok()?;
    let op = Scatter {
        update_window_dims: (1..(shape.rank() - batch.len()) as i64).collect(),
        inserted_window_dims: [dimension].into_iter().collect(),
        scatter_dims_to_operand_dims: [dimension].into_iter().collect(),
        scatter_indices_batching_dims: batch.clone(),
        input_batching_dims: batch,
        index_vector_dim: 1,
        to_apply,
        ..Scatter::default()
    };
    g.add(scope, Box::new(op), &operands)
}
