//! `reduce-window` and `select-and-scatter`: a window that moves over an array.

use bytemuck::Pod;
use rxla_base::Result;
use rxla_hlo::native::Pred;
use rxla_hlo::op::{PaddingDimension, SelectAndScatter, Window};
use rxla_hlo::{ArrayLiteral, ArrayShape, ComputationId, Dims, ElementType};

use crate::context::Context;
use crate::elementwise;
use crate::lift::apply;
use crate::matmul::to_type;
use crate::movement::{fill, pad, take};
use crate::reducer::{Fold, FoldVisitor, Reducer};
use crate::scatter::combine_pairs;
use crate::strided::{CopyPlan, Extents, Odometer, for_each_run, row_major, with_width};
use crate::strided::{words, words_mut};

/// One result per operand: the initial value combined with the elements of each window, in
/// row-major order. Where a window reaches into padding there is no element, as in XLA. StableHLO
/// has the initial value there, which is the same for one that changes nothing.
pub(crate) fn reduce_window(
    cx: &Context<'_>,
    operands: Vec<ArrayLiteral>,
    initial: &[ArrayLiteral],
    window: &Window,
    to_apply: ComputationId,
) -> Result<Vec<ArrayLiteral>> {
    if let ([operand], Reducer::Binary(kind)) = (&*operands, cx.plans.reducer(cx.module, to_apply))
        && let Some(fold) = Fold::stepwise(kind, operand.element_type())
        && let Some(identity) = fold.identity()
    {
        let element_type = operand.element_type();
        let initial = fold.widen(initial[0].clone())?;
        let [operand] = crate::lift::take(operands)?;
        let padded = pad_for(&fold.widen(operand)?, &identity, window)?;
        let views = Views::new(padded.dims(), window);
        let mut result = fill(&initial, &views.out_dims)?;
        if !result.is_empty() {
            fold.visit(Slide { padded: &padded, result: &mut result, views: &views });
        }
        return Ok(vec![to_type(result, element_type)?]);
    }
    let everywhere = fill(&ArrayLiteral::scalar(Pred::TRUE), operands[0].dims())?;
    let inside = pad_for(&everywhere, &ArrayLiteral::scalar(Pred::FALSE), window)?;
    let padded: Vec<ArrayLiteral> = operands
        .iter()
        .zip(initial)
        .map(|(operand, initial)| pad_for(operand, initial, window))
        .collect::<Result<_>>()?;
    let views = Views::new(padded[0].dims(), window);
    let n: usize = views.out_dims.iter().map(|&size| size as usize).product();
    let mut sums: Vec<ArrayLiteral> =
        initial.iter().map(|value| fill(value, &[n as i64])).collect::<Result<_>>()?;
    if n > 0 {
        let mut positions = views.positions();
        while let Some([from]) = positions.next() {
            cx.check_limits()?;
            let inside = views.view(&inside, from)?;
            let mut arguments = sums.clone();
            for operand in &padded {
                arguments.push(views.view(operand, from)?);
            }
            let combined = apply(cx, to_apply, arguments, n)?;
            sums = combined
                .into_iter()
                .zip(sums)
                .map(|(new, old)| elementwise::select(&inside, new, old))
                .collect::<Result<_>>()?;
        }
    }
    sums.into_iter()
        .map(|sum| {
            let shape = ArrayShape::new(sum.element_type(), views.out_dims.iter().copied());
            sum.with_shape(&shape)
        })
        .collect()
}

fn pad_for(
    operand: &ArrayLiteral,
    initial: &ArrayLiteral,
    window: &Window,
) -> Result<ArrayLiteral> {
    let padding: Vec<PaddingDimension> = window
        .dimensions
        .iter()
        .map(|window| PaddingDimension {
            low: window.padding_low,
            high: window.padding_high,
            interior: window.base_dilation - 1,
        })
        .collect();
    if padding.iter().all(|padding| *padding == PaddingDimension::default()) {
        return Ok(operand.clone());
    }
    pad(operand, initial, &padding)
}

/// The strided views of a padded operand, one per position in the window.
struct Views {
    out_dims: Dims,
    /// Strides of a view, and of the positions.
    strides: Extents,
    steps: Extents,
    window_dims: Dims,
}

impl Views {
    fn new(padded: &[i64], window: &Window) -> Views {
        let own = row_major(padded);
        let windows = || window.dimensions.iter().zip(padded).zip(&own);
        Views {
            out_dims: windows()
                .map(|((window, &size), _)| {
                    let span = (window.size - 1) * window.window_dilation + 1;
                    if window.size == 0 || size < span {
                        0
                    } else {
                        (size - span) / window.stride + 1
                    }
                })
                .collect(),
            strides: windows().map(|((window, _), own)| own * window.stride as isize).collect(),
            steps: windows()
                .map(|((window, _), own)| own * window.window_dilation as isize)
                .collect(),
            window_dims: window.dimensions.iter().map(|window| window.size).collect(),
        }
    }

    fn positions(&self) -> Odometer<1> {
        Odometer::new(&self.window_dims, [&self.steps], [0])
    }

    /// What all windows see at one position, flat.
    fn view(&self, padded: &ArrayLiteral, from: isize) -> Result<ArrayLiteral> {
        let n: i64 = self.out_dims.iter().product();
        let mut result = ArrayLiteral::zeros(&ArrayShape::new(padded.element_type(), [n]))?;
        let plan = CopyPlan::new(&self.out_dims, &self.strides, &row_major(&self.out_dims));
        with_width!(padded.element_type().byte_width(), T => {
            plan.run::<T>(words(padded), from, words_mut(&mut result), 0)
        });
        Ok(result)
    }
}

struct Slide<'a> {
    padded: &'a ArrayLiteral,
    result: &'a mut ArrayLiteral,
    views: &'a Views,
}

impl FoldVisitor for Slide<'_> {
    type Output = ();

    fn visit<T: Pod, F: Fn(T, T) -> T + Copy>(self, function: F) {
        let views = self.views;
        let source = words::<T>(self.padded);
        let target = words_mut::<T>(self.result);
        let to = row_major(&views.out_dims);
        let mut positions = views.positions();
        while let Some([start]) = positions.next() {
            for_each_run(&views.out_dims, &views.strides, &to, |from, to, run| {
                let target = &mut target[to as usize..][..run.size as usize];
                let mut from = start + from;
                if run.from == 1 {
                    for (target, &x) in target.iter_mut().zip(&source[from as usize..]) {
                        *target = function(*target, x);
                    }
                } else {
                    for target in target {
                        *target = function(*target, source[from as usize]);
                        from += run.from;
                    }
                }
            });
        }
    }
}

/// Each element of `source` is combined into the element of the result that its window selects.
/// Padding is never selected; of equals, `select` keeps the one it prefers by its first argument.
pub(crate) fn select_and_scatter(
    cx: &Context<'_>,
    operand: &ArrayLiteral,
    source: ArrayLiteral,
    initial: &ArrayLiteral,
    op: &SelectAndScatter,
) -> Result<ArrayLiteral> {
    let result = fill(initial, operand.dims())?;
    if source.is_empty() || operand.is_empty() {
        return Ok(result);
    }
    let best = select(cx, operand, source.dims(), &op.window, op.select)?;
    let pairs: Vec<(usize, usize)> = best
        .iter()
        .enumerate()
        .filter_map(|(element, place)| place.map(|place| (element, place)))
        .collect();
    let mut results = vec![result];
    combine_pairs(cx, &mut results, vec![source], &pairs, op.scatter)?;
    let [result] = crate::lift::take(results)?;
    Ok(result)
}

/// For each window the row-major position of the operand's element that it selects, if it holds
/// any.
fn select(
    cx: &Context<'_>,
    operand: &ArrayLiteral,
    out_dims: &[i64],
    window: &Window,
    select: ComputationId,
) -> Result<Vec<Option<usize>>> {
    let own = row_major(operand.dims());
    let n: usize = out_dims.iter().map(|&size| size as usize).product();
    let mut best: Vec<Option<usize>> = vec![None; n];
    let window_dims: Dims = window.dimensions.iter().map(|window| window.size).collect();
    let mut position: Dims = Dims::from_elem(0, window_dims.len());
    let count: i64 = window_dims.iter().product();
    for step in 0..count {
        cx.check_limits()?;
        let mut rest = step;
        for dimension in (0..window_dims.len()).rev() {
            position[dimension] = rest % window_dims[dimension];
            rest /= window_dims[dimension];
        }
        let candidates = candidates(operand.dims(), &own, out_dims, window, &position);
        // Those that meet a rival.
        let (mut elements, mut held, mut offered) = (Vec::new(), Vec::new(), Vec::new());
        for (element, candidate) in candidates.into_iter().enumerate() {
            match (best[element], candidate) {
                (_, None) => {}
                (None, candidate) => best[element] = candidate,
                (Some(current), Some(candidate)) => {
                    elements.push(element);
                    held.push(current);
                    offered.push(candidate);
                }
            }
        }
        let arguments = vec![take(operand, &held)?, take(operand, &offered)?];
        let kept = apply(cx, select, arguments, elements.len())?;
        let [kept] = crate::lift::take(kept)?;
        debug_assert_eq!(kept.element_type(), ElementType::Pred);
        for ((&element, &candidate), &keep) in elements.iter().zip(&offered).zip(kept.bytes()) {
            if keep == 0 {
                best[element] = Some(candidate);
            }
        }
    }
    Ok(best)
}

/// Where each window finds its element at one position, `None` in the padding.
fn candidates(
    dims: &[i64],
    own: &[isize],
    out_dims: &[i64],
    window: &Window,
    position: &[i64],
) -> Vec<Option<usize>> {
    // Per dimension: the offset of each output index, or None.
    let lines: Vec<Vec<Option<isize>>> = window
        .dimensions
        .iter()
        .enumerate()
        .map(|(d, window)| {
            (0..out_dims[d])
                .map(|out| {
                    let at = out * window.stride + position[d] * window.window_dilation
                        - window.padding_low;
                    // Between dilated elements there is nothing.
                    let index =
                        (at % window.base_dilation == 0).then(|| at / window.base_dilation)?;
                    (0..dims[d]).contains(&index).then(|| index as isize * own[d])
                })
                .collect()
        })
        .collect();
    let mut offsets: Vec<Option<isize>> = vec![Some(0)];
    for line in &lines {
        offsets = offsets
            .iter()
            .flat_map(|&base| {
                line.iter().map(move |&offset| base.zip(offset).map(|(base, offset)| base + offset))
            })
            .collect();
    }
    offsets.into_iter().map(|offset| offset.map(|offset| offset as usize)).collect()
}
