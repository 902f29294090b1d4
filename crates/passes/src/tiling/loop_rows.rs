//! Which rows of what a loop carries come about each by itself, whatever the others are.

use rustc_hash::FxHashMap;
use rxla_hlo::op::{PaddingDimension, SliceDimension};
use rxla_hlo::{ArrayShape, Dims, ElementType, InstructionId, Module, Op};

use super::axes::{Axes, Factor, one, operand_dims, operands, whole};
use super::ending::Ending;
use crate::control::carried::{Loop, element};
use crate::view;

/// Elements of what all rows have in common: each block computes it anew.
const COMMON: i64 = 256;
/// Elements of a matrix that all rows are multiplied with: it stays in the first cache beside a block.
const MATRIX: i64 = 1 << 12;

/// How the values of a body lie in the space that is cut into blocks of rows.
#[derive(Clone)]
pub(super) struct Rows {
    /// How many there are.
    pub(super) count: i64,
    /// Each value of the body as others want it. What all rows have in common is wanted whole.
    pub(super) wanted: FxHashMap<InstructionId, Vec<Axes>>,
    /// The changed elements of the state that are wanted.
    pub(super) state: FxHashMap<usize, Axes>,
}

impl Rows {
    /// The rows along one dimension of an element, with all that they are computed from.
    fn of(m: &Module, found: &Loop, index: usize, dimension: usize) -> Option<Rows> {
        let sizes = &shape(m, found, index)?.dims;
        let mut rows = Rows {
            count: sizes[dimension],
            wanted: FxHashMap::default(),
            state: FxHashMap::default(),
        };
        rows.extend(m, found, index, dimension).then_some(rows)
    }

    /// Takes in one more element by one of its dimensions.
    fn extend(&mut self, m: &Module, found: &Loop, index: usize, dimension: usize) -> bool {
        let Some(shape) = shape(m, found, index) else { return false };
        let mut axes = whole(&shape.dims);
        axes[dimension] = one(Factor::Rows(self.count));
        self.want(m, found, index, axes).is_some()
    }

    /// Everything that an element lying so is computed from.
    fn want(&mut self, m: &Module, found: &Loop, index: usize, axes: Axes) -> Option<()> {
        let state = m[found.body].parameters()[0];
        let mut elements = vec![(index, axes)];
        while let Some((index, axes)) = elements.pop() {
            match self.state.get(&index) {
                Some(known) if *known == axes => continue,
                Some(_) => return None,
                None => {}
            }
            let own = shape(m, found, index)?;
            let packed = own.element_type.bit_width() < 8 && own.element_type != ElementType::Pred;
            if packed || !is_cut(&axes) && count(own) > COMMON {
                return None;
            }
            found.initial(m, index)?;
            self.state.insert(index, axes.clone());
            let mut values = vec![(m[m[found.body].root()].operands()[index], axes)];
            while let Some((id, axes)) = values.pop() {
                let known = self.wanted.entry(id).or_default();
                if known.contains(&axes) {
                    continue;
                }
                known.push(axes.clone());
                if let Some(index) = element(m, id, state) {
                    if !found.passes_through(m, index) {
                        elements.push((index, axes));
                    } else {
                        shape(m, found, index)?;
                        found.initial(m, index)?;
                    }
                    continue;
                }
                // What a step takes of an array that does not change is read where that lies.
                let known = usize::from(match reads(m, found, id, &axes) {
                    Some(index) => found.initial(m, index).map(|_| true)?,
                    None => false,
                });
                let list = operands_of(m, id, &axes)?;
                values.extend(m[id].operands().iter().copied().zip(list).skip(known));
            }
        }
        Some(())
    }

    /// What a step computes for a row, in elements.
    pub(super) fn work(&self, m: &Module) -> i64 {
        let each = self.wanted.iter().map(|(&id, list)| {
            let size = match &m[id].op {
                Op::GetTupleElement(_) | Op::Constant(_) | Op::Broadcast(_) | Op::Reshape(_) => 0,
                Op::DynamicSlice(_) | Op::DynamicUpdateSlice(_) => 0,
                _ => view::elements(m, id),
            };
            list.iter().filter(|axes| is_cut(axes)).count() as i64 * size
        });
        each.sum::<i64>() / self.count
    }

    /// Bytes of a row that a step has at hand: what it is given and leaves, and the widest array between.
    pub(super) fn bytes(&self, m: &Module, found: &Loop) -> i64 {
        let records = |id: InstructionId| matches!(m[id].op, Op::DynamicUpdateSlice(_));
        let width = |id| view::element_type(m, id).map_or(0, |ty| ty.byte_width() as i64);
        let between = self.wanted.iter().filter(|(id, list)| {
            let within = !matches!(m[**id].op, Op::GetTupleElement(_)) && !records(**id);
            within && list.iter().any(is_cut)
        });
        let widest = between.map(|(&id, _)| view::elements(m, id) * width(id)).max().unwrap_or(0);
        let state: i64 = self
            .kept(m, found)
            .map(|(shape, _)| count(shape) * shape.element_type.byte_width() as i64)
            .sum();
        (state + widest + self.count - 1) / self.count
    }

    /// Elements of a row that lie together, where they are fewest, of what steps leave to each other.
    pub(super) fn narrowest(&self, m: &Module, found: &Loop) -> i64 {
        self.kept(m, found).map(|(_, axes)| together(axes)).min().unwrap_or(1)
    }

    /// Bytes of a row that lie together, where they are fewest, in arrays that steps go through.
    pub(super) fn segment(&self, m: &Module, found: &Loop) -> Option<i64> {
        let records = self.state.iter().filter_map(|(&index, axes)| {
            let width = shape(m, found, index)?.element_type.byte_width() as i64;
            is_record(m, found, index, axes).then(|| width * together(axes))
        });
        let parts =
            self.wanted.iter().flat_map(|(&id, list)| list.iter().map(move |axes| (id, axes)));
        let parts = parts.filter(|&(id, axes)| is_cut(axes) && reads(m, found, id, axes).is_some());
        let parts = parts.filter_map(|(id, axes)| {
            Some(view::element_type(m, id)?.byte_width() as i64 * together(axes))
        });
        records.chain(parts).min()
    }

    /// What is cut of the state, without records.
    fn kept<'a>(
        &'a self,
        m: &'a Module,
        found: &'a Loop,
    ) -> impl Iterator<Item = (&'a ArrayShape, &'a Axes)> + 'a {
        let kept = self.state.iter();
        let kept = kept.filter(|(index, axes)| is_cut(axes) && !is_record(m, found, **index, axes));
        kept.filter_map(|(&index, axes)| Some((shape(m, found, index)?, axes)))
    }
}

/// The first rows that suit by which all that is read of a loop can be computed; its counter is not.
pub(super) fn find(
    m: &Module,
    found: &Loop,
    ending: &Ending,
    suits: impl Fn(&Rows) -> bool,
) -> Option<Rows> {
    let read = |index: usize| {
        m[found.site].users().iter().any(|&user| element(m, user, found.site) == Some(index))
    };
    let mut changed: Vec<usize> = (0..found.width(m))
        .filter(|&index| read(index) && !found.passes_through(m, index))
        .collect();
    if ending.counter().is_some_and(|counter| changed.contains(&counter.index)) {
        return None;
    }
    let size = |index: usize| shape(m, found, index).map_or(0, count);
    changed.sort_by_key(|&index| std::cmp::Reverse(size(index)));
    let first = *changed.first()?;
    let rank = shape(m, found, first)?.dims.len();
    (0..rank).find_map(|dimension| {
        let count = shape(m, found, first)?.dims[dimension];
        let mut rows = (count > 1).then(|| Rows::of(m, found, first, dimension)).flatten()?;
        for &index in &changed {
            if rows.state.contains_key(&index) {
                continue;
            }
            let dims = &shape(m, found, index)?.dims;
            let extended = (0..dims.len()).filter(|&dimension| dims[dimension] == count);
            rows = extended.into_iter().find_map(|dimension| {
                let mut more = rows.clone();
                more.extend(m, found, index, dimension).then_some(more)
            })?;
        }
        let all = changed.iter().all(|index| is_cut(&rows.state[index]));
        (all && ending.suits(m, found, &rows) && suits(&rows)).then_some(rows)
    })
}

/// The shape of an element of the state that is an array.
fn shape<'a>(m: &'a Module, found: &Loop, index: usize) -> Option<&'a ArrayShape> {
    m[found.site].shape.as_tuple()?.get(index)?.as_array().filter(|shape| shape.is_static())
}

fn count(shape: &ArrayShape) -> i64 {
    shape.dims.iter().product()
}

/// Elements of a row that lie together.
fn together(axes: &Axes) -> i64 {
    let inside = axes.iter().flatten().rev();
    let inside = inside.take_while(|factor| !matches!(factor, Factor::Rows(_)));
    inside.map(|factor| factor.size()).product()
}

/// Whether blocks have different parts of it.
pub(super) fn is_cut(axes: &Axes) -> bool {
    axes.iter().any(|factors| has_rows(factors))
}

fn has_rows(factors: &[Factor]) -> bool {
    factors.iter().any(|factor| matches!(factor, Factor::Rows(_)))
}

/// Whether an element is only written to, part by part, as what steps leave behind is.
pub(super) fn is_record(m: &Module, found: &Loop, index: usize, axes: &Axes) -> bool {
    let state = m[found.body].parameters()[0];
    let next = m[m[found.body].root()].operands()[index];
    let seen = m[state].users().iter().filter(|&&user| element(m, user, state) == Some(index));
    matches!(m[next].op, Op::DynamicUpdateSlice(_))
        && m[next].users().len() == 1
        && element(m, view::operand(m, next, 0), state) == Some(index)
        && m[view::operand(m, next, 0)].users().len() == 1
        && seen.count() == 1
        && is_simple(axes)
}

/// Whether what is cut of an array is one part of it as it stands.
fn is_simple(axes: &Axes) -> bool {
    is_cut(axes) && axes.iter().all(|factors| !has_rows(factors) || factors.len() == 1)
}

/// The element of the state that does not change of which an instruction takes a part.
pub(super) fn reads(m: &Module, found: &Loop, id: InstructionId, axes: &Axes) -> Option<usize> {
    let Op::DynamicSlice(_) = &m[id].op else { return None };
    let index = element(m, view::operand(m, id, 0), m[found.body].parameters()[0])?;
    ((is_simple(axes) || !is_cut(axes)) && found.passes_through(m, index)).then_some(index)
}

/// How the operands of an op lie if its result lies so.
pub(super) fn operands_of(m: &Module, id: InstructionId, axes: &Axes) -> Option<Vec<Axes>> {
    if is_cut(axes) { cut(m, id, axes) } else { common(m, id) }
}

/// How the operands of an op lie if its result is cut.
fn cut(m: &Module, id: InstructionId, axes: &Axes) -> Option<Vec<Axes>> {
    let instruction = &m[id];
    let dims = |index: usize| operand_dims(m, id, index);
    // The axes of another array of this rank, which has all of what is cut, and its own size in the others.
    let beside = |index: usize| {
        let own = view::dims(m, id)?.iter().zip(dims(index)?).zip(axes);
        let own = own.map(|((&result, &size), factors)| match has_rows(factors) {
            true => (result == size).then(|| factors.clone()),
            false => Some(one(Factor::Whole(size))),
        });
        own.collect::<Option<Axes>>()
    };
    let scalars = |count: usize| std::iter::repeat_n(Axes::new(), count);
    let is_whole = |dimension: usize| !has_rows(&axes[dimension]);
    match &instruction.op {
        Op::Slice(op) => {
            let all = |(dimension, part): (usize, &SliceDimension)| {
                is_whole(dimension) || (part.start, part.stride) == (0, 1)
            };
            op.slice.iter().enumerate().all(all).then(|| Some(vec![beside(0)?]))?
        }
        Op::Pad(op) => {
            let all = |(dimension, part): (usize, &PaddingDimension)| {
                // What is dealt out runs in lanes only where rows are many.
                part.interior == 0 && (is_whole(dimension) || (part.low, part.high) == (0, 0))
            };
            op.padding.iter().enumerate().all(all).then(|| Some(vec![beside(0)?, Axes::new()]))?
        }
        Op::Reverse(op) => {
            op.dimensions.iter().all(|&d| is_whole(d as usize)).then(|| vec![axes.clone()])
        }
        Op::Concatenate(_) => (0..instruction.operands().len()).map(beside).collect(),
        Op::DynamicSlice(_) => {
            let starts = instruction.operands().len() - 1;
            Some(std::iter::once(beside(0)?).chain(scalars(starts)).collect())
        }
        Op::DynamicUpdateSlice(_) => {
            let starts = instruction.operands().len() - 2;
            Some([axes.clone(), beside(1)?].into_iter().chain(scalars(starts)).collect())
        }
        Op::BitcastConvert(_) => (dims(0)? == view::dims(m, id)?).then(|| vec![axes.clone()]),
        Op::Iota(op) => {
            let factors = &axes[op.iota_dimension as usize];
            (factors.len() <= 1).then(Vec::new)
        }
        Op::Constant(_) => Some(Vec::new()),
        Op::Dot(_) => {
            let list = operands(m, id, axes).ok()?;
            let small = list.iter().enumerate().all(|(index, side)| {
                let per_row: i64 = dims(index).map_or(0, |dims| dims.iter().product());
                is_cut(side) || per_row <= MATRIX
            });
            small.then_some(list)
        }
        _ => operands(m, id, axes).ok(),
    }
}

/// The operands of what all rows have in common, which is to be small.
fn common(m: &Module, id: InstructionId) -> Option<Vec<Axes>> {
    match &m[id].op {
        Op::Constant(_) => return Some(Vec::new()),
        Op::Unary(_)
        | Op::Binary(_)
        | Op::Compare(_)
        | Op::Select(_)
        | Op::Clamp(_)
        | Op::Convert(_)
        | Op::BitcastConvert(_)
        | Op::Copy(_)
        | Op::ReducePrecision(_)
        | Op::Iota(_)
        | Op::Broadcast(_)
        | Op::Transpose(_)
        | Op::Reshape(_)
        | Op::Slice(_)
        | Op::Pad(_)
        | Op::Reverse(_)
        | Op::Concatenate(_)
        | Op::DynamicSlice(_)
        | Op::DynamicUpdateSlice(_)
        | Op::Reduce(_)
        | Op::Dot(_) => {}
        _ => return None,
    }
    if view::elements(m, id) > COMMON {
        return None;
    }
    let count = m[id].operands().len();
    (0..count).map(|index| operand_dims(m, id, index).map(|dims| whole(dims))).collect()
}

/// Brings what an op says of sizes to those of its tile.
pub(super) fn cut_op(op: &mut Op, dims: &Dims, axes: &Axes) {
    match op {
        Op::Slice(op) => {
            for ((part, &size), factors) in op.slice.iter_mut().zip(dims).zip(axes) {
                if has_rows(factors) {
                    part.limit = size;
                }
            }
        }
        Op::DynamicSlice(op) => op.dynamic_slice_sizes = dims.clone(),
        _ => {}
    }
}
