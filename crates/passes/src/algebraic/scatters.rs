//! Scatters that put one element into each row, as gradients of picking one do.

use rxla_hlo::op::{
    ComparisonDirection, Convert, Iota, Reshape, Scatter, Select, Slice, SliceDimension,
};
use rxla_hlo::{Dims, ElementType, InstructionId, Module, Op, Shape};

use super::dynamic::combiner;
use crate::rewrite::NamedRule;
use crate::{rules, view};

pub(super) const RULES: &[NamedRule] = rules! {
    Scatter => [scatter_one_per_row],
};

/// `scatter(broadcast(s), at, y) => select(iota == at, f(s, y), s)`, where each row gets one element: a choice is
/// computed along with what it is needed for
fn scatter_one_per_row(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let Op::Scatter(op) = &m[i].op else { return None };
    let &[x, indices, updates] = m[i].operands() else { return None };
    let scalar = view::broadcast_scalar(m, x)?;
    let ty = view::element_type(m, x)?;
    let array = view::static_array(m, i)?.clone();
    view::static_array(m, indices)?;
    view::static_array(m, updates)?;
    if view::element_type(m, updates) != Some(ty) || array.element_count()? == 0 {
        return None;
    }
    let combine = combiner(m, op.to_apply)?;
    let rows = Rows::of(m, i, op, indices)?;
    let number = counting_type(view::element_type(m, indices)?, array.dims[rows.along])?;
    let taken = op.index_vector_dim;
    // One of each row.
    let sizes: Dims =
        rows.dimensions.iter().map(|&dimension| array.dims[dimension as usize]).collect();
    let of_rows = |ty: ElementType| Shape::array(ty, sizes.clone());
    let mut place = component(m, i, indices, taken, rows.component);
    place = view::add_with_shape(
        m,
        i,
        Reshape::default(),
        of_rows(view::element_type(m, place)?),
        &[place],
    );
    if view::element_type(m, place) != Some(number) {
        place = view::add_with_shape(m, i, Convert {}, of_rows(number), &[place]);
    }
    let mut put = view::add_with_shape(m, i, Reshape::default(), of_rows(ty), &[updates]);
    if let Some((kind, turned)) = combine {
        let there = view::add_with_shape(m, i, Op::broadcast([]), of_rows(ty), &[scalar]);
        let operands = if turned { [put, there] } else { [there, put] };
        put = view::add_with_shape(m, i, Op::binary(kind), of_rows(ty), &operands);
    }
    // The same all along it.
    let everywhere = |ty: ElementType| Shape::array(ty, array.dims.clone());
    let repeat = Op::broadcast(rows.dimensions.iter().copied());
    let place = view::add_with_shape(m, i, repeat.clone(), everywhere(number), &[place]);
    let put = view::add_with_shape(m, i, repeat, everywhere(ty), &[put]);
    let iota = Iota { iota_dimension: rows.along as i64 };
    let own = view::add_with_shape(m, i, iota, everywhere(number), &[]);
    let equal = Op::compare(ComparisonDirection::Eq);
    let is_there = view::add_with_shape(m, i, equal, everywhere(ElementType::Pred), &[own, place]);
    Some(view::add_same(m, i, Select {}, &[is_there, put, x]))
}

/// How one update after the other goes into the rows of an array.
struct Rows {
    /// All dimensions but that of the rows, and but such of size 1, in order.
    dimensions: Dims,
    /// The dimension along which the updates choose.
    along: usize,
    /// Which component of the indices says where.
    component: usize,
}

impl Rows {
    fn of(m: &Module, i: InstructionId, op: &Scatter, indices: InstructionId) -> Option<Rows> {
        let single = view::scatter_window(m, i)?.iter().all(|&size| size == 1);
        let updates = view::dims(m, view::operand(m, i, 2))?;
        let counts: Vec<i64> = (0..updates.len() as i64)
            .filter(|dimension| !op.update_window_dims.contains(dimension))
            .map(|dimension| updates[dimension as usize])
            .collect();
        let mut rows = Dims::new();
        // Which dimension of the updates goes along each of those.
        let mut sources: Vec<usize> = Vec::new();
        let mut chosen = None;
        for (dimension, &size) in view::dims(m, i)?.iter().enumerate() {
            let own = |among: &[i64]| among.iter().position(|&other| other == dimension as i64);
            let source = match (own(&op.input_batching_dims), own(&op.scatter_dims_to_operand_dims))
            {
                (Some(batch), _) => {
                    Some(without(op.scatter_indices_batching_dims[batch], op.index_vector_dim))
                }
                (_, Some(component)) => {
                    let counted = counted(m, indices, op.index_vector_dim, component)
                        .map(|along| without(along, op.index_vector_dim))
                        .filter(|&source| counts[source] == size && !sources.contains(&source));
                    if counted.is_none() && chosen.replace((dimension, component)).is_some() {
                        return None;
                    }
                    counted
                }
                (None, None) if size == 1 => None,
                (None, None) => return None,
            };
            if let Some(source) = source {
                rows.push(dimension as i64);
                sources.push(source);
            }
        }
        let (along, component) = chosen?;
        let mut others = (0..counts.len()).filter(|source| !sources.contains(source));
        let one_each = others.all(|source| counts[source] == 1);
        (single && one_each && sources.is_sorted()).then_some(())?;
        Some(Rows { dimensions: rows, along, component })
    }
}

/// A dimension of indices as one of those that are left without their vectors.
fn without(dimension: i64, vector: i64) -> usize {
    (dimension - i64::from(dimension > vector)) as usize
}

/// The dimension along which a component of indices counts from 0, if that is not the one of their vectors.
pub(super) fn counted(
    m: &Module,
    indices: InstructionId,
    vector: i64,
    component: usize,
) -> Option<i64> {
    let mut part = indices;
    if let Op::Concatenate(op) = &m[indices].op {
        let parts = m[indices].operands();
        let single = |&part: &InstructionId| Some(view::dims(m, part)?[vector as usize] == 1);
        let all =
            op.dimensions[..] == [vector] && parts.iter().all(|part| single(part) == Some(true));
        part = *parts.get(component).filter(|_| all)?;
    } else if component > 0 {
        return None;
    }
    let dimension = counting_dimension(m, part)?;
    (dimension != vector).then_some(dimension)
}

/// The dimension along which the elements of an array are 0, 1, ….
fn counting_dimension(m: &Module, x: InstructionId) -> Option<i64> {
    match &m[x].op {
        Op::Iota(op) => {
            let size = view::dims(m, x)?[op.iota_dimension as usize];
            (counting_type(view::element_type(m, x)?, size)? == view::element_type(m, x)?)
                .then_some(op.iota_dimension)
        }
        Op::Broadcast(op) => {
            let dimension = counting_dimension(m, view::operand(m, x, 0))?;
            Some(op.dimensions[dimension as usize])
        }
        // Only with ones more or fewer.
        Op::Reshape(_) => {
            let inner = view::operand(m, x, 0);
            let dimension = counting_dimension(m, inner)?;
            let (from, to) = (view::dims(m, inner)?, view::dims(m, x)?);
            let long = |sizes: &Dims| -> Vec<usize> {
                (0..sizes.len()).filter(|&dimension| sizes[dimension] != 1).collect()
            };
            let (from_long, to_long) = (long(from), long(to));
            let sizes = |dims: &Dims, of: &[usize]| of.iter().map(|&d| dims[d]).collect::<Dims>();
            (sizes(from, &from_long) == sizes(to, &to_long)).then_some(())?;
            let at = from_long.iter().position(|&long| long as i64 == dimension)?;
            Some(to_long[at] as i64)
        }
        _ => None,
    }
}

/// A type of integers for all of so many places and whatever else an index may be: its own if it holds them.
fn counting_type(ty: ElementType, places: i64) -> Option<ElementType> {
    let bits = ty.bit_width() - usize::from(ty.is_signed());
    match bits {
        63.. => Some(ty),
        _ if places <= 1 << bits => Some(ty),
        ..31 if places <= 1 << 31 => Some(ElementType::S32),
        _ => None,
    }
}

/// A component of all indices.
fn component(
    m: &mut Module,
    i: InstructionId,
    indices: InstructionId,
    vector: i64,
    component: usize,
) -> InstructionId {
    let shape = m[indices].shape.as_array().expect("indices are an array").clone();
    let whole = |(dimension, &limit): (usize, &i64)| match dimension as i64 == vector {
        true => SliceDimension { start: component as i64, limit: component as i64 + 1, stride: 1 },
        false => SliceDimension { start: 0, limit, stride: 1 },
    };
    if shape.dims.get(vector as usize).is_none_or(|&components| components == 1) {
        return indices;
    }
    let slice: Vec<_> = shape.dims.iter().enumerate().map(whole).collect();
    let sizes = slice.iter().map(|dimension| dimension.limit - dimension.start);
    let shape = Shape::array(shape.element_type, sizes);
    view::add_with_shape(m, i, Slice { slice }, shape, &[indices])
}
