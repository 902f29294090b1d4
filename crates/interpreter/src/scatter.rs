//! `scatter`: combines slices of updates into the operand at places that an index array names.
//!
//! An update whose slice would leave the operand in any dimension is skipped as a whole, as XLA
//! does. Updates of one place are combined in the order in which they stand.

use bytemuck::Pod;
use rxla_base::Result;
use rxla_hlo::op::Scatter;
use rxla_hlo::{ArrayLiteral, ComputationId, Dims};

use crate::context::Context;
use crate::dot::others;
use crate::gather::StartPlaces;
use crate::lift::apply;
use crate::matmul::to_type;
use crate::movement::{put, take, to_i64s};
use crate::reducer::{Fold, FoldVisitor, Reducer};
use crate::strided::{CopyPlan, Extents, Odometer, for_each_run, row_major, with_width};
use crate::strided::{words, words_mut};

/// One result per operand; an operand nobody else holds is written in place.
pub(crate) fn scatter(
    cx: &Context<'_>,
    mut operands: Vec<ArrayLiteral>,
    indices: &ArrayLiteral,
    updates: Vec<ArrayLiteral>,
    op: &Scatter,
) -> Result<Vec<ArrayLiteral>> {
    if updates[0].is_empty() || operands[0].is_empty() {
        return Ok(operands);
    }
    let places = Places::new(&operands[0], indices, &updates[0], op)?;
    let reducer = if operands.len() == 1 {
        cx.plans.reducer(cx.module, op.to_apply)
    } else {
        Reducer::General
    };
    match reducer {
        Reducer::First => {}
        Reducer::Second => places.overwrite(&mut operands[0], &updates[0]),
        Reducer::Binary(kind) if Fold::stepwise(kind, operands[0].element_type()).is_some() => {
            let element_type = operands[0].element_type();
            let fold = Fold::stepwise(kind, element_type).expect("checked above");
            let mut target = fold.widen(operands.remove(0))?;
            let [update] = crate::lift::take(updates)?;
            fold.visit(Combine {
                places: &places,
                target: &mut target,
                update: fold.widen(update)?,
            });
            operands.push(to_type(target, element_type)?);
        }
        Reducer::Binary(_) | Reducer::General => {
            let mut pairs = Vec::new();
            places.for_each(|from, to| pairs.push((from, to)));
            combine_pairs(cx, &mut operands, updates, &pairs, op.to_apply)?;
        }
    }
    Ok(operands)
}

/// Where the windows of updates go.
struct Places {
    /// Start of a window in the updates and in the operand.
    starts: Vec<(isize, isize)>,
    window_dims: Dims,
    from: Extents,
    to: Extents,
}

impl Places {
    fn new(
        operand: &ArrayLiteral,
        indices: &ArrayLiteral,
        update: &ArrayLiteral,
        op: &Scatter,
    ) -> Result<Places> {
        let own = row_major(operand.dims());
        let update_strides = row_major(update.dims());
        let elided = [&*op.inserted_window_dims, &*op.input_batching_dims].concat();
        let window = others(operand.dims().len(), &[&elided]);
        let window_dims: Dims =
            op.update_window_dims.iter().map(|&d| update.dims()[d as usize]).collect();
        let mut last = operand.dims().clone();
        last.iter_mut().for_each(|size| *size -= 1);
        for (&dimension, &size) in window.iter().zip(&window_dims) {
            last[dimension as usize] = operand.dims()[dimension as usize] - size;
        }
        let vector = op.index_vector_dim as usize;
        let starts = to_i64s(indices)?;
        let place = StartPlaces::new(
            indices.dims(),
            vector,
            &op.scatter_dims_to_operand_dims,
            &op.input_batching_dims,
            &op.scatter_indices_batching_dims,
            &own,
        );
        let batch_positions = others(update.dims().len(), &[&op.update_window_dims]);
        let batch_dims: Dims = batch_positions.iter().map(|&d| update.dims()[d as usize]).collect();
        let pick = |strides: &[isize], dims: &[i64]| -> Extents {
            dims.iter().map(|&d| strides[d as usize]).collect()
        };
        let mut batch = Odometer::new(
            &batch_dims,
            [&place.batch_strides, &pick(&update_strides, &batch_positions), &place.steps],
            [0, 0, 0],
        );
        let mut found = Vec::new();
        while let Some([index, from, batching]) = batch.next() {
            if let Some(to) = place.exact(&starts, index, &last) {
                found.push((from, to + batching));
            }
        }
        Ok(Places {
            starts: found,
            from: pick(&update_strides, &op.update_window_dims),
            to: pick(&own, &window),
            window_dims,
        })
    }

    fn overwrite(&self, operand: &mut ArrayLiteral, update: &ArrayLiteral) {
        let plan = CopyPlan::new(&self.window_dims, &self.from, &self.to);
        with_width!(operand.element_type().byte_width(), T => {
            let target = words_mut::<T>(operand);
            for &(from, to) in &self.starts {
                plan.run(words::<T>(update), from, target, to);
            }
        });
    }

    /// Calls `f` with every position of an update and the operand's position it goes to.
    fn for_each(&self, mut f: impl FnMut(usize, usize)) {
        for &(from_start, to_start) in &self.starts {
            let mut window =
                Odometer::new(&self.window_dims, [&self.from, &self.to], [from_start, to_start]);
            while let Some([from, to]) = window.next() {
                f(from as usize, to as usize);
            }
        }
    }
}

struct Combine<'a> {
    places: &'a Places,
    target: &'a mut ArrayLiteral,
    update: ArrayLiteral,
}

impl FoldVisitor for Combine<'_> {
    type Output = ();

    fn visit<T: Pod, F: Fn(T, T) -> T + Copy>(self, function: F) {
        let source = words::<T>(&self.update);
        let target = words_mut::<T>(self.target);
        let places = self.places;
        if places.window_dims.iter().all(|&size| size == 1) {
            for &(from, to) in &places.starts {
                let target = &mut target[to as usize];
                *target = function(*target, source[from as usize]);
            }
            return;
        }
        for &(from_start, to_start) in &places.starts {
            for_each_run(&places.window_dims, &places.from, &places.to, |from, to, run| {
                let (mut from, mut to) = (from_start + from, to_start + to);
                for _ in 0..run.size {
                    let target = &mut target[to as usize];
                    *target = function(*target, source[from as usize]);
                    from += run.from;
                    to += run.to;
                }
            });
        }
    }
}

/// Combines update `from` into position `to` of the operand, pair by pair in order.
pub(crate) fn combine_pairs(
    cx: &Context<'_>,
    operands: &mut Vec<ArrayLiteral>,
    updates: Vec<ArrayLiteral>,
    pairs: &[(usize, usize)],
    to_apply: ComputationId,
) -> Result<()> {
    if let ([operand], Reducer::Binary(kind)) = (&**operands, cx.plans.reducer(cx.module, to_apply))
        && let Some(fold) = Fold::stepwise(kind, operand.element_type())
    {
        let element_type = operand.element_type();
        let mut target = fold.widen(operands.remove(0))?;
        let [update] = crate::lift::take(updates)?;
        let update = fold.widen(update)?;
        fold.visit(CombinePairs { pairs, target: &mut target, update: &update });
        operands.push(to_type(target, element_type)?);
        return Ok(());
    }
    // In rounds: round k applies the k-th update of every place, all places at once.
    let mut times = vec![0usize; operands[0].len()];
    let mut rounds: Vec<(Vec<usize>, Vec<usize>)> = Vec::new();
    for &(from, to) in pairs {
        let round = times[to];
        times[to] += 1;
        if rounds.len() <= round {
            rounds.push(Default::default());
        }
        rounds[round].0.push(from);
        rounds[round].1.push(to);
    }
    for (from, to) in rounds {
        cx.check_limits()?;
        let mut arguments = Vec::with_capacity(2 * operands.len());
        for operand in &*operands {
            arguments.push(take(operand, &to)?);
        }
        for update in &updates {
            arguments.push(take(update, &from)?);
        }
        let results = apply(cx, to_apply, arguments, to.len())?;
        for (operand, result) in operands.iter_mut().zip(&results) {
            put(operand, &to, result);
        }
    }
    Ok(())
}

struct CombinePairs<'a> {
    pairs: &'a [(usize, usize)],
    target: &'a mut ArrayLiteral,
    update: &'a ArrayLiteral,
}

impl FoldVisitor for CombinePairs<'_> {
    type Output = ();

    fn visit<T: Pod, F: Fn(T, T) -> T + Copy>(self, function: F) {
        let source = words::<T>(self.update);
        let target = words_mut::<T>(self.target);
        for &(from, to) in self.pairs {
            target[to] = function(target[to], source[from]);
        }
    }
}
