//! Matrix products of any layout: every axis of a matrix may be several dimensions of a tensor, each
//! with a stride of its own in each operand ([`Axis`]).
//!
//! The work is blocked as usual: panels of both operands are packed so that a micro-kernel reads them
//! in order, and threads share the tiles of the result. No sum is ever split between threads, and k is
//! cut into blocks by its length alone, so results are the same for any number of threads.

pub(crate) mod axis;
pub(crate) mod lanes;
pub(crate) mod micro;
pub(crate) mod pack;
pub(crate) mod sets;
mod vector;

use std::sync::atomic::{AtomicBool, Ordering};

use rxla_base::Result;

use crate::allocator::{Allocator, Block};
use crate::context::Context;
use axis::Axis;
use micro::{Kernels, MAX_ROWS, Tile};
use pack::Pack;
use sets::for_each_set;

/// A type that sums are computed in. Integers wrap.
pub(crate) trait Compute: Copy + PartialEq + Send + Sync + 'static {
    const ZERO: Self;
    /// Steps of k that are computed at once.
    const BLOCK: usize;
    /// Steps of k that one packed value holds.
    const STEPS: usize = 1;
    fn multiply_add(self, factor: Self, sum: Self) -> Self;
    fn add(self, other: Self) -> Self;
    fn negate(self) -> Self;
    fn kernels() -> &'static Kernels<Self>;
}

macro_rules! compute_float {
    ($type:ty, $block:literal, $kernels:path) => {
        impl Compute for $type {
            const ZERO: $type = 0.0;
            const BLOCK: usize = $block;

            #[inline(always)]
            fn multiply_add(self, factor: $type, sum: $type) -> $type {
                self.mul_add(factor, sum)
            }

            #[inline(always)]
            fn add(self, other: $type) -> $type {
                self + other
            }

            fn negate(self) -> $type {
                -self
            }

            fn kernels() -> &'static Kernels<$type> {
                $kernels()
            }
        }
    };
}

macro_rules! compute_integer {
    ($type:ty, $block:literal, $kernels:path) => {
        impl Compute for $type {
            const ZERO: $type = 0;
            const BLOCK: usize = $block;

            #[inline(always)]
            fn multiply_add(self, factor: $type, sum: $type) -> $type {
                self.wrapping_mul(factor).wrapping_add(sum)
            }

            #[inline(always)]
            fn add(self, other: $type) -> $type {
                self.wrapping_add(other)
            }

            fn negate(self) -> $type {
                self.wrapping_neg()
            }

            fn kernels() -> &'static Kernels<$type> {
                $kernels()
            }
        }
    };
}

compute_float!(f32, 384, micro::for_f32);
compute_float!(f64, 256, micro::for_f64);
compute_integer!(i32, 384, micro::for_i32);
compute_integer!(i64, 256, micro::for_i64);

/// Two neighbouring steps of small integers in an operand, one after the other in 16 bits each, and a
/// 32-bit sum in the result: processors multiply such pairs at once.
#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(transparent)]
pub(crate) struct Pair(pub i32);

impl Pair {
    pub(crate) fn new(first: i16, second: i16) -> Pair {
        Pair(i32::from(second) << 16 | i32::from(first) & 0xffff)
    }
}

impl Compute for Pair {
    const ZERO: Pair = Pair(0);
    const BLOCK: usize = 768;
    const STEPS: usize = 2;

    #[inline(always)]
    fn multiply_add(self, factor: Pair, sum: Pair) -> Pair {
        let first = i32::from(self.0 as i16) * i32::from(factor.0 as i16);
        let second = (self.0 >> 16) * (factor.0 >> 16);
        Pair(sum.0.wrapping_add(first).wrapping_add(second))
    }

    #[inline(always)]
    fn add(self, other: Pair) -> Pair {
        Pair(self.0.wrapping_add(other.0))
    }

    fn negate(self) -> Pair {
        Pair(self.0.wrapping_neg())
    }

    fn kernels() -> &'static Kernels<Pair> {
        micro::for_pairs()
    }
}

/// An operand in memory.
#[derive(Clone, Copy)]
pub(crate) struct Operand<T> {
    pub data: *const u8,
    pub pack: Pack<T>,
    /// Converts a run of elements, where one element becomes one value.
    pub widen: Option<Widen<T>>,
    /// Whether the elements are `T`s that can be read where they are.
    pub direct: bool,
}

/// Converts `count` elements from an offset on.
///
/// # Safety
///
/// They are inside the matrix, and there is room for so many.
pub(crate) type Widen<T> = unsafe fn(matrix: *const u8, offset: isize, count: usize, into: *mut T);

/// The product `c = a · b`. Strides of `m` are those in `a` and `c`, of `n` those in `b` and `c`, of
/// `k` those in `a` and `b`; all counted in elements.
pub(crate) struct Product<'a, T> {
    pub a: Operand<T>,
    pub b: Operand<T>,
    pub c: *mut T,
    pub m: &'a Axis,
    pub n: &'a Axis,
    pub k: &'a Axis,
}

// SAFETY: the addresses are those of buffers that whoever makes a product lends to it; the parts of the
// result that threads write do not overlap.
unsafe impl<T> Send for Product<'_, T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Product<'_, T> {}

/// Work below which threads cost more than they save, in multiplications.
const SERIAL: usize = 1 << 16;
/// Rows of the left operand packed at once, columns of the right one.
const ROWS_AT_ONCE: usize = 192;
const COLUMNS_AT_ONCE: usize = 2048;
/// Rows up to which packing the right operand does not pay.
const FEW_ROWS: usize = 48;

/// Memory that one product after the other uses, so that small ones need not ask for any.
pub(crate) struct Workspace<T> {
    steps: [Vec<isize>; 2],
    places: Vec<isize>,
    row_places: Vec<isize>,
    column_places: Vec<isize>,
    left: Vec<T>,
    tail_columns: Vec<T>,
    tile: Vec<T>,
}

impl<T> Default for Workspace<T> {
    fn default() -> Workspace<T> {
        Workspace {
            steps: Default::default(),
            places: Vec::new(),
            row_places: Vec::new(),
            column_places: Vec::new(),
            left: Vec::new(),
            tail_columns: Vec::new(),
            tile: Vec::new(),
        }
    }
}

/// Room for so many values, of any value.
fn room<T: Compute>(values: &mut Vec<T>, count: usize) -> Result<*mut T> {
    if values.len() < count {
        values.try_reserve_exact(count - values.len()).map_err(|_| out_of_memory())?;
        values.resize(count, T::ZERO);
    }
    Ok(values.as_mut_ptr())
}

/// # Safety
///
/// The operands are readable, and the result writable by nobody else, at all places that the axes lead to.
pub(crate) unsafe fn multiply<T: Compute>(
    context: &Context,
    product: &Product<'_, T>,
    workspace: &mut Workspace<T>,
) -> Result<()> {
    let (m, n, k) = (product.m.len(), product.n.len(), product.k.len());
    if m == 0 || n == 0 {
        return Ok(());
    }
    // SAFETY: the caller's promise.
    if unsafe { vector::multiply(context, product)? } {
        return Ok(());
    }
    let kernels = T::kernels();
    let width = kernels.lanes * 2;
    let work = m.saturating_mul(n).saturating_mul(k.max(1));
    let threads = if work < SERIAL { 1 } else { context.threads() };
    let direct = product.b.direct
        && m <= FEW_ROWS
        && product.n.dims.iter().all(|dim| dim.strides[0] == 1)
        && product.n.dims.len() <= 1
        && product.k.stride(1).is_some();
    let [mut steps_a, mut steps_b] = std::mem::take(&mut workspace.steps);
    // An empty sum still writes zeros.
    let blocks = k.div_ceil(T::BLOCK).max(1);
    let block = k.div_ceil(blocks).next_multiple_of(2);
    for n0 in (0..n).step_by(COLUMNS_AT_ONCE) {
        let columns = COLUMNS_AT_ONCE.min(n - n0);
        let panels = columns.div_ceil(width);
        let packed = match direct {
            true => None,
            false => Some(scratch::<T>(panels * width * block.min(k))?),
        };
        for k0 in (0..k.max(1)).step_by(block.max(1)) {
            let depth = block.min(k - k0);
            product.k.offsets(0, k0, depth, &mut steps_a);
            product.k.offsets(1, k0, depth, &mut steps_b);
            if let Some(packed) = &packed {
                let into = Address(packed.as_ptr().cast::<T>());
                let grain =
                    if threads > 1 { 1.max(16384 / (width * depth.max(1))) } else { panels };
                context.parallel_for(panels, grain, |begin, end| {
                    let mut places = Vec::new();
                    for panel in begin..end {
                        let first = n0 + panel * width;
                        let count = width.min(n - first);
                        product.n.offsets(0, first, count, &mut places);
                        // SAFETY: the panel is inside the scratch memory and this piece's alone.
                        unsafe {
                            let into = into.get().add(panel * width * depth.div_ceil(T::STEPS));
                            (product.b.pack)(product.b.data, &places, &steps_b, width, into);
                        }
                    }
                });
            }
            // Tasks: blocks of rows, and of panels where there are too few rows for all threads.
            let wanted = if threads > 1 { threads * 3 } else { 1 };
            let rows = m.div_ceil(wanted).next_multiple_of(kernels.rows).min(ROWS_AT_ONCE);
            let row_blocks = m.div_ceil(rows);
            let column_blocks = wanted.div_ceil(row_blocks).min(panels);
            let panels_each = panels.div_ceil(column_blocks);
            let column_blocks = panels.div_ceil(panels_each);
            let failed = AtomicBool::new(false);
            let job = Job {
                product,
                packed: packed.as_ref().map(|packed| Address(packed.as_ptr().cast::<T>())),
                steps_a: &steps_a,
                steps_b: &steps_b,
                n0,
                columns,
                add: k0 > 0,
            };
            let tasks = row_blocks * column_blocks;
            // SAFETY of all calls: the caller's promise; tasks write different tiles.
            let run = |task: usize, workspace: &mut Workspace<T>| {
                let (row, column) = (task / column_blocks, task % column_blocks);
                let rows = row * rows..m.min((row + 1) * rows);
                let panels = column * panels_each..panels.min((column + 1) * panels_each);
                // SAFETY: see above.
                if unsafe { job.compute(rows, panels, workspace) }.is_err() {
                    failed.store(true, Ordering::Relaxed);
                }
            };
            if threads > 1 {
                context.parallel_for(tasks, 1, |begin, end| {
                    let mut workspace = Workspace::default();
                    (begin..end).for_each(|task| run(task, &mut workspace));
                });
            } else {
                (0..tasks).for_each(|task| run(task, workspace));
            }
            if failed.into_inner() {
                return Err(out_of_memory());
            }
        }
    }
    workspace.steps = [steps_a, steps_b];
    Ok(())
}

/// What the tasks of one block of k and of columns share.
struct Job<'a, T> {
    product: &'a Product<'a, T>,
    packed: Option<Address<T>>,
    steps_a: &'a [isize],
    steps_b: &'a [isize],
    n0: usize,
    columns: usize,
    add: bool,
}

impl<T: Compute> Job<'_, T> {
    /// # Safety
    ///
    /// As for [`multiply`].
    unsafe fn compute(
        &self,
        rows: std::ops::Range<usize>,
        panels: std::ops::Range<usize>,
        workspace: &mut Workspace<T>,
    ) -> Result<()> {
        let Workspace { places, row_places, column_places, left, tail_columns, tile, .. } =
            workspace;
        let kernels = T::kernels();
        let width = kernels.lanes * 2;
        let depth = self.steps_a.len().div_ceil(T::STEPS);
        let tiles = rows.len().div_ceil(kernels.rows);
        let left = room(left, tiles * kernels.rows * depth)?;
        // For a tile that cannot be written in place.
        let spare = room(tile, MAX_ROWS * width)?;
        for tile in 0..tiles {
            let first = rows.start + tile * kernels.rows;
            let count = kernels.rows.min(rows.end - first);
            self.product.m.offsets(0, first, count, places);
            // SAFETY: inside the scratch memory; the matrix is the caller's promise.
            unsafe {
                let into = left.add(tile * kernels.rows * depth);
                (self.product.a.pack)(self.product.a.data, places, self.steps_a, count, into);
            }
        }
        for panel in panels {
            let first = panel * width;
            let count = width.min(self.columns - first);
            let vectors = count.div_ceil(kernels.lanes);
            let lanes = vectors * kernels.lanes;
            self.product.n.offsets(1, self.n0 + first, count, column_places);
            let (b, b_step) = match &self.packed {
                Some(packed) => {
                    (packed.get().wrapping_add(first * depth).cast_const(), width as isize)
                }
                None if count == lanes => {
                    let start = self.n0 + first;
                    let data = self.product.b.data.cast::<T>();
                    let step = self.product.k.stride(1).unwrap_or(0);
                    let k0 = self.steps_b.first().copied().unwrap_or(0);
                    (data.wrapping_offset(self.product.n.offset(0, start) + k0), step)
                }
                None => {
                    self.product.n.offsets(0, self.n0 + first, count, places);
                    let into = room(tail_columns, lanes * depth)?;
                    // SAFETY: the room was made above; the matrix is the caller's promise.
                    unsafe {
                        (self.product.b.pack)(
                            self.product.b.data,
                            places,
                            self.steps_b,
                            lanes,
                            into,
                        )
                    };
                    (into.cast_const(), lanes as isize)
                }
            };
            let in_place = count == lanes && is_arithmetic(column_places) == Some(1);
            for tile in 0..tiles {
                let first = rows.start + tile * kernels.rows;
                let height = kernels.rows.min(rows.end - first);
                self.product.m.offsets(1, first, height, row_places);
                let kernel = kernels.table[vectors - 1][height - 1];
                let a = left.wrapping_add(tile * kernels.rows * depth).cast_const();
                let c_step = if in_place { is_arithmetic(row_places) } else { None };
                if let Some(c_step) = c_step {
                    let c = self.product.c.wrapping_offset(row_places[0] + column_places[0]);
                    let tile = Tile { k: depth, a, b, b_step, c, c_step, add: self.add };
                    // SAFETY: packed above; the result is the caller's promise.
                    unsafe { kernel(&tile) };
                    continue;
                }
                let c = spare;
                let tile = Tile { k: depth, a, b, b_step, c, c_step: lanes as isize, add: false };
                // SAFETY: packed above, and the room is enough for the largest tile.
                unsafe { kernel(&tile) };
                for (i, &row) in row_places.iter().enumerate() {
                    for (j, &column) in column_places.iter().enumerate() {
                        // SAFETY: computed just now; the result is the caller's promise.
                        let (value, target) = unsafe {
                            (*spare.add(i * lanes + j), &mut *self.product.c.offset(row + column))
                        };
                        *target = if self.add { target.add(value) } else { value };
                    }
                }
            }
        }
        Ok(())
    }
}

/// The step between places, if it is the same between all.
fn is_arithmetic(places: &[isize]) -> Option<isize> {
    let step = match places {
        [] | [_] => return Some(1),
        [first, second, ..] => second - first,
    };
    places.windows(2).all(|pair| pair[1] - pair[0] == step).then_some(step)
}

/// An address that threads share; who writes where is seen to by those who use it.
pub(crate) struct Address<T>(pub *mut T);

impl<T> Clone for Address<T> {
    fn clone(&self) -> Address<T> {
        *self
    }
}

impl<T> Copy for Address<T> {}

// SAFETY: an address is only a number; uses say why they are safe.
unsafe impl<T> Send for Address<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Address<T> {}

impl<T> Address<T> {
    pub(crate) fn get(self) -> *mut T {
        self.0
    }
}

pub(crate) fn scratch<T>(count: usize) -> Result<Block> {
    let bytes = count.checked_mul(size_of::<T>()).ok_or_else(out_of_memory)?;
    Allocator::shared().allocate(bytes)
}

fn out_of_memory() -> rxla_base::Error {
    rxla_base::Error::new(rxla_base::Code::ResourceExhausted, "out of memory for packed matrices")
}
