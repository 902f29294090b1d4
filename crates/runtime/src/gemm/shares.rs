//! Products of few rows and columns that are long sums, as gradients of weights are: k is cut into shares, by the sizes
//! alone. Each has sums of its own, in its cache, and packs what nobody else needs; at the end they are added in order.
//!
//! With no share there would be a few tiles for all threads, or as many waits for each other as there are blocks of k.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use rxla_base::Result;

use super::axis::Axis;
use super::grid::Grid;
use super::{Address, Compute, Job, Product, Workspace, out_of_memory, scratch, strips};
use crate::context::Context;

/// Steps of a share, at least, and shares of which no sum is worth fewer.
const LEAST_STEPS: usize = if cfg!(test) { 64 } else { 512 };
const LEAST_SHARES: usize = 8;
const MOST_SHARES: usize = 16;
/// Elements of the result, at most.
const MOST_SUMS: usize = 1 << 17;
/// Multiplications from which on it pays.
const LEAST_WORK: usize = if cfg!(test) { 1 << 14 } else { 1 << 22 };
/// Sums that are added at once.
const PIECE: usize = 1 << 11;

/// How many shares there are to be, if it pays.
pub(super) fn count<T: Compute>(job: &Job<'_, T>) -> Option<usize> {
    let product = job.product;
    let [m, n, k] = [product.m, product.n, product.k].map(Axis::len);
    let suits = !job.direct
        && product.round.is_none()
        && k >= LEAST_SHARES * LEAST_STEPS
        && k / 4 >= m.max(n)
        && m.saturating_mul(n) <= MOST_SUMS
        && m.saturating_mul(n).saturating_mul(k) >= LEAST_WORK
        // The result's places are all there is between the first and the last.
        && span(product).is_some()
        && !strips::pays_for_long_sums(job);
    suits.then(|| (k / LEAST_STEPS).min(k.div_ceil(job.depth)).min(MOST_SHARES))
}

/// Where the first place of the result is, if there are as many from it to the last as there are elements.
fn span<T>(product: &Product<'_, T>) -> Option<isize> {
    let dims = product.m.dims.iter().chain(&product.n.dims);
    let (mut low, mut high) = (0, 0);
    for dim in dims {
        let reach = (dim.size as isize - 1).checked_mul(dim.strides[1])?;
        if reach < 0 { low += reach } else { high += reach }
    }
    let elements = product.m.len() * product.n.len();
    (high - low + 1 == elements as isize).then_some(low)
}

/// # Safety
///
/// As for [`super::multiply`]; there are so many shares as [`count`] says.
pub(super) unsafe fn multiply<T: Compute>(
    context: &Context,
    job: &Job<'_, T>,
    shares: usize,
) -> Result<()> {
    let Job { product, kernels, depth, .. } = *job;
    let [m, n, k] = [product.m, product.n, product.k].map(Axis::len);
    let low = span(product).unwrap_or(0);
    let size = m * n;
    let others = scratch::<T>((shares - 1) * size)?;
    let first = Address(product.c.wrapping_offset(low));
    let others = Address(others.as_ptr().cast::<T>());
    let sums = |share: usize| match share {
        0 => first.get(),
        _ => others.get().wrapping_add((share - 1) * size),
    };
    let blocks = k.div_ceil(depth);
    let edge = |share: usize| (share * blocks / shares * depth).min(k);
    let grid = Grid::new([m, n, depth.div_ceil(T::STEPS)], 1, kernels, size_of::<T>());
    let failed = AtomicBool::new(false);
    context.parallel_for(shares, 1, |begin, end| {
        let mut workspace = Workspace::default();
        for share in begin..end {
            let c = sums(share).wrapping_offset(low.wrapping_neg());
            let product = Product { c, ..*product };
            let job = Job { product: &product, ..*job };
            let steps: Range<usize> = edge(share)..edge(share + 1);
            for task in 0..grid.tasks() {
                let (rows, columns) = (grid.rows(task), grid.columns(task));
                // SAFETY: the caller's promise; every share has sums of its own.
                let done = unsafe { job.compute(rows, columns, steps.clone(), &mut workspace) };
                if done.is_err() {
                    failed.store(true, Ordering::Relaxed);
                }
            }
        }
    });
    if failed.into_inner() {
        return Err(out_of_memory());
    }
    context.parallel_for(size.div_ceil(PIECE), 1 + (1 << 14) / (PIECE * shares), |begin, end| {
        for piece in begin..end {
            let places = piece * PIECE..size.min((piece + 1) * PIECE);
            for share in 1..shares {
                // SAFETY: all sums are there, every one of them is written; pieces do not overlap.
                let (into, from) = unsafe {
                    let from = sums(share).add(places.start).cast_const();
                    let into = sums(0).add(places.start);
                    let into = std::slice::from_raw_parts_mut(into, places.len());
                    (into, std::slice::from_raw_parts(from, places.len()))
                };
                into.iter_mut().zip(from).for_each(|(sum, more)| *sum = sum.add(*more));
            }
        }
    });
    Ok(())
}
