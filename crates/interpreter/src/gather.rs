//! `gather`: slices of the operand at places that an index array names. A start that would leave
//! the operand is moved so that the whole slice lies inside.

use rxla_base::Result;
use rxla_hlo::op::Gather;
use rxla_hlo::{ArrayLiteral, ArrayShape, Dims};

use crate::dot::others;
use crate::movement::to_i64s;
use crate::strided::{CopyPlan, Extents, Odometer, row_major, with_width, words, words_mut};

pub(crate) fn gather(
    operand: &ArrayLiteral,
    indices: &ArrayLiteral,
    op: &Gather,
) -> Result<ArrayLiteral> {
    let starts = to_i64s(indices)?;
    let vector = op.index_vector_dim as usize;
    let batch_dims: Dims =
        (0..indices.dims().len()).filter(|&d| d != vector).map(|d| indices.dims()[d]).collect();
    let elided = [&*op.collapsed_slice_dims, &*op.operand_batching_dims].concat();
    let window = others(operand.dims().len(), &[&elided]);
    let window_dims: Dims = window.iter().map(|&d| op.slice_sizes[d as usize]).collect();

    // The result's dimensions: offset ones at `offset_dims`, the others are batch.
    let rank = batch_dims.len() + window_dims.len();
    let batch_positions = others(rank, &[&op.offset_dims]);
    let mut dims: Dims = Dims::from_elem(0, rank);
    batch_positions.iter().zip(&batch_dims).for_each(|(&p, &size)| dims[p as usize] = size);
    op.offset_dims.iter().zip(&window_dims).for_each(|(&p, &size)| dims[p as usize] = size);
    let shape = ArrayShape::new(operand.element_type(), dims.iter().copied());
    let mut result = ArrayLiteral::zeros(&shape)?;
    if result.is_empty() || operand.is_empty() {
        return Ok(result);
    }

    let own = row_major(operand.dims());
    let to = row_major(&dims);
    let pick = |strides: &[isize], dims: &[i64]| -> Extents {
        dims.iter().map(|&d| strides[d as usize]).collect()
    };
    let plan = CopyPlan::new(&window_dims, &pick(&own, &window), &pick(&to, &op.offset_dims));
    let place = StartPlaces::new(
        indices.dims(),
        vector,
        &op.start_index_map,
        &op.operand_batching_dims,
        &op.start_indices_batching_dims,
        &own,
    );
    let mut batch = Odometer::new(
        &batch_dims,
        [&place.batch_strides, &pick(&to, &batch_positions), &place.steps],
        [0, 0, 0],
    );
    let last: Dims = operand
        .dims()
        .iter()
        .zip(&op.slice_sizes)
        .map(|(size, slice)| (size - slice).max(0))
        .collect();
    with_width!(operand.element_type().byte_width(), T => {
        let source = words::<T>(operand);
        let target = words_mut::<T>(&mut result);
        while let Some([index, to, batching]) = batch.next() {
            let from = batching + place.clamped(&starts, index, &last);
            plan.run(source, from, target, to);
        }
    });
    Ok(result)
}

/// How start indices name places in an operand, for gather and scatter.
pub(crate) struct StartPlaces {
    /// Per component of a start index: operand dimension and its stride.
    components: Vec<(usize, isize)>,
    /// Distance of the components of one start index.
    component_stride: isize,
    /// Strides in the index array per batch dimension.
    pub(crate) batch_strides: Extents,
    /// What one step along a batch dimension adds to the place because of batching dimensions.
    pub(crate) steps: Extents,
}

impl StartPlaces {
    pub(crate) fn new(
        indices_dims: &[i64],
        vector: usize,
        index_map: &[i64],
        operand_batching: &[i64],
        indices_batching: &[i64],
        operand_strides: &[isize],
    ) -> StartPlaces {
        let strides = row_major(indices_dims);
        let batch = (0..indices_dims.len()).filter(|&d| d != vector);
        let steps = batch.clone().map(|d| {
            let position = indices_batching.iter().position(|&b| b as usize == d);
            position.map_or(0, |position| operand_strides[operand_batching[position] as usize])
        });
        StartPlaces {
            components: index_map
                .iter()
                .map(|&d| (d as usize, operand_strides[d as usize]))
                .collect(),
            component_stride: strides.get(vector).copied().unwrap_or(0),
            steps: steps.collect(),
            batch_strides: batch.map(|d| strides[d]).collect(),
        }
    }

    /// The place named by the start index at `index`, each component clamped to `0..=last`.
    pub(crate) fn clamped(&self, starts: &[i64], index: isize, last: &[i64]) -> isize {
        let mut place = 0;
        for (i, &(dimension, stride)) in self.components.iter().enumerate() {
            let start = starts[(index + i as isize * self.component_stride) as usize];
            place += start.clamp(0, last[dimension]) as isize * stride;
        }
        place
    }

    /// The place named by the start index at `index`, unless a component lies outside
    /// `0..=last`.
    pub(crate) fn exact(&self, starts: &[i64], index: isize, last: &[i64]) -> Option<isize> {
        let mut place = 0;
        for (i, &(dimension, stride)) in self.components.iter().enumerate() {
            let start = starts[(index + i as isize * self.component_stride) as usize];
            if !(0..=last[dimension]).contains(&start) {
                return None;
            }
            place += start as isize * stride;
        }
        Some(place)
    }
}
