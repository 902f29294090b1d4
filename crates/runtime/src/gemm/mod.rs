//! Matrix products of any layout: every axis of a matrix may be several dimensions of a tensor, each
//! with a stride of its own in each operand ([`Axis`]).
//!
//! The work is blocked as usual: pieces of both operands are packed so that a micro-kernel reads them in
//! order. Threads share rectangles of the result ([`grid`]); each packs what it needs, so that nobody waits
//! for anybody, or, where matrices are large, what all need is packed by all ([`shared`], [`strips`]). Small
//! ones are read where they are ([`near`]), and so are matrices that a few rows are multiplied with ([`stream`]).
//! Sums are split only where they are long and few, and, as k is cut into blocks, by sizes alone ([`shares`]), so
//! results are the same for any number of threads.

pub(crate) mod axis;
pub(crate) mod few;
mod grid;
pub(crate) mod kept;
pub(crate) mod lanes;
mod lines;
pub(crate) mod micro;
mod near;
pub(crate) mod pack;
mod panels;
mod scatter;
pub(crate) mod sets;
mod shared;
mod shares;
mod stream;
mod strips;
pub(crate) mod transpose;
pub(crate) mod units;
pub(crate) mod vector;

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use rxla_base::Result;

use crate::allocator::{Allocator, Block};
use crate::context::Context;
use crate::system;
use axis::Axis;
use grid::Grid;
use lines::{Lines, Panels};
use micro::strided;
use micro::{Kernels, Tile};
use near::Near;
use pack::{Pack, Steps, at_once, is_near, prefetch_rows};
use panels::Packed;
use scatter::scatter;
use sets::Set;
use vector::Streams;

/// A type that sums are computed in. Integers wrap.
pub(crate) trait Compute: Copy + PartialEq + Send + Sync + 'static {
    const ZERO: Self;
    /// Steps of k that are computed at once, at most.
    const BLOCK: usize;
    /// Steps of k that one packed value holds.
    const STEPS: usize = 1;
    /// Whether to multiply and add is one instruction.
    const FUSED: bool = false;
    /// Rows that packing a right operand writes before the others: what sums start from.
    const HEAD: usize = 0;
    fn multiply_add(self, factor: Self, sum: Self) -> Self;
    fn add(self, other: Self) -> Self;
    fn negate(self) -> Self;
    fn kernels() -> &'static Kernels<Self>;

    /// Kernels that read the left operand where it is, if there are such.
    fn strided() -> Option<&'static Kernels<Self>> {
        None
    }
}

macro_rules! compute_float {
    ($type:ty, $block:literal, $kernels:path, $strided:path) => {
        impl Compute for $type {
            const ZERO: $type = 0.0;
            const FUSED: bool = true;
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

            fn strided() -> Option<&'static Kernels<$type>> {
                Some($strided())
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

compute_float!(f32, 512, micro::for_f32, strided::for_f32);
compute_float!(f64, 512, micro::for_f64, strided::for_f64);
compute_integer!(i32, 512, micro::for_i32);
compute_integer!(i64, 256, micro::for_i64);

/// An operand in memory.
#[derive(Clone, Copy)]
pub(crate) struct Operand<T> {
    pub data: *const u8,
    /// Bytes of an element, or of a part if it is complex.
    pub width: usize,
    pub pack: Pack<T>,
    /// How its rows are read by products with vectors, where one element becomes one value.
    pub streams: Option<Streams<T>>,
    /// Whether the elements are `T`s that can be read where they are.
    pub direct: bool,
}

/// The product `c = a · b`. Strides of `m` are those in `a` and `c`, of `n` those in `b` and `c`, of
/// `k` those in `a` and `b`; all counted in elements.
pub(crate) struct Product<'a, T> {
    pub a: Operand<T>,
    pub b: Operand<T>,
    pub c: *mut T,
    pub m: &'a Axis,
    pub n: &'a Axis,
    pub k: &'a Axis,
    /// Where the packed right operand is kept for other products, if it is.
    pub kept: Option<kept::Slot<'a>>,
    /// How sums are rounded where they are written, if the result's elements are others. Then all of k is one block:
    /// it has at most [`Compute::BLOCK`] steps.
    pub round: Option<Round<T>>,
}

/// Elements that sums are rounded to.
#[derive(Clone, Copy)]
pub(crate) struct Round<T> {
    /// Bytes of one.
    pub width: usize,
    /// Rounds so many sums.
    pub row: unsafe fn(sums: *const T, into: *mut u8, count: usize),
}

// SAFETY: the addresses are those of buffers that whoever makes a product lends to it; the parts of the
// result that threads write do not overlap.
unsafe impl<T> Send for Product<'_, T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Product<'_, T> {}

/// Work below which threads cost more than they save, in multiplications.
const SERIAL: usize = 1 << 16;
/// Rows up to which packing the right operand does not pay, where kernels do not do it on the way ([`strips`]).
const FEW_ROWS: usize = 48;

/// Memory that one product after the other uses, so that small ones need not ask for any.
pub(crate) struct Workspace<T> {
    steps: [Steps; 2],
    places: Vec<isize>,
    row_places: Vec<isize>,
    column_places: Vec<isize>,
    next_places: Vec<isize>,
    left: Option<Block>,
    right: Option<Block>,
    tile: Option<Block>,
    values: PhantomData<T>,
}

impl<T> Default for Workspace<T> {
    fn default() -> Workspace<T> {
        Workspace {
            steps: Default::default(),
            places: Vec::new(),
            row_places: Vec::new(),
            column_places: Vec::new(),
            next_places: Vec::new(),
            left: None,
            right: None,
            tile: None,
            values: PhantomData,
        }
    }
}

/// Room for so many values, of any value.
pub(crate) fn room<T>(block: &mut Option<Block>, count: usize) -> Result<*mut T> {
    let bytes = count.checked_mul(size_of::<T>()).ok_or_else(out_of_memory)?;
    if let Some(block) = block
        && block.len() >= bytes
    {
        return Ok(block.as_ptr().cast());
    }
    let new = Allocator::shared().allocate(bytes)?;
    Ok(block.insert(new).as_ptr().cast())
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
    let work = m.saturating_mul(n).saturating_mul(k.max(1));
    let threads = if work < SERIAL { 1 } else { context.threads() };
    let direct = product.b.direct
        && m <= FEW_ROWS
        && k > 0
        && in_panels(product.n, 2 * kernels.lanes)
        && product.k.stride(1).is_some();
    // An empty sum still writes zeros.
    let blocks = k.div_ceil(T::BLOCK).max(1);
    let depth = k.div_ceil(blocks).next_multiple_of(T::STEPS.max(2));
    let job = Job { product, kernels, strided: T::strided(), depth, direct };
    if let Some(shares) = shares::count(&job) {
        // SAFETY: the caller's promise.
        return unsafe { shares::multiply(context, &job, shares) };
    }
    if let Some(slot) = product.kept
        && kept::pays(&job)
    {
        // SAFETY: the caller's promise.
        return unsafe { kept::multiply(context, &job, slot) };
    }
    if let Some(near) = Near::of(&job) {
        // SAFETY: the caller's promise.
        return unsafe { near.multiply(context, workspace) };
    }
    if k > 0 && strips::pays(&job) {
        // SAFETY: the caller's promise.
        return unsafe { strips::multiply(context, &job) };
    }
    if k > 0 && shared::pays(&job, threads) {
        // SAFETY: the caller's promise.
        return unsafe { shared::multiply(context, &job) };
    }
    let grid = Grid::new([m, n, depth.div_ceil(T::STEPS)], threads, kernels, size_of::<T>());
    if threads == 1 {
        for task in 0..grid.tasks() {
            // SAFETY: the caller's promise.
            unsafe { job.part(grid.rows(task), grid.columns(task), workspace)? };
        }
        return Ok(());
    }
    let failed = AtomicBool::new(false);
    context.parallel_for(grid.tasks(), 1, |begin, end| {
        let mut workspace = Workspace::default();
        for task in begin..end {
            let (rows, columns) = (grid.rows(task), grid.columns(task));
            // SAFETY: the caller's promise; tasks write different parts of the result.
            let done = unsafe { job.part(rows, columns, &mut workspace) };
            if done.is_err() {
                failed.store(true, Ordering::Relaxed);
            }
        }
    });
    if failed.into_inner() { Err(out_of_memory()) } else { Ok(()) }
}

/// Whether columns lie together, all of them or so many at a time.
fn in_panels(columns: &Axis, width: usize) -> bool {
    match columns.dims[..] {
        [] => true,
        [inner] => inner.strides[0] == 1,
        [_, inner] => inner.strides[0] == 1 && inner.size.is_multiple_of(width),
        _ => false,
    }
}

/// What the tasks of a product share.
struct Job<'a, T: 'static> {
    product: &'a Product<'a, T>,
    kernels: &'static Kernels<T>,
    strided: Option<&'static Kernels<T>>,
    /// Steps of k in a block, all but the last.
    depth: usize,
    /// Whether the right operand is read where it is.
    direct: bool,
}

/// How a tile's rows of the left operand lie, packed or where they are.
#[derive(Clone, Copy)]
enum Rows {
    /// Step by step, and so far is one step from the next: the number of rows, where they are packed.
    Together(usize),
    /// Each with its steps together, and so far is one row from the next.
    Apart(usize),
}

/// Whether rows of so many bytes, read in place, are over before asking for the next ones pays: not if vectors are long.
fn are_short(bytes: usize) -> bool {
    bytes <= 512 && sets::best() != Set::Avx512
}

impl<T: Compute> Job<'_, T> {
    /// The steps of the block of k that begins there, in both operands.
    fn steps(&self, k0: usize) -> [Steps; 2] {
        let k = self.product.k;
        [0, 1].map(|operand| {
            let mut steps = Steps::default();
            k.offsets(operand, k0, self.depth.min(k.len() - k0), &mut steps.places);
            steps.find_runs();
            steps
        })
    }

    /// Where rows at these places begin, and how they are read there, if they need not be packed.
    fn in_place(&self, rows: &[isize], steps: &Steps) -> Option<(*const T, Rows)> {
        let Product { a, k, .. } = self.product;
        let step = if steps.is_one_run() { 1 } else { k.stride(0)? };
        let how = self.readable(is_arithmetic(rows)?, step)?;
        let start = rows.first()? + steps.places.first()?;
        Some((a.data.cast::<T>().wrapping_offset(start), how))
    }

    /// How the left operand's rows are read where they are, if they, and their steps, are that far apart and need not be
    /// packed: not if what a kernel reads again and again shares a few places in a cache, and so does not stay there.
    fn readable(&self, row: isize, step: isize) -> Option<Rows> {
        let [row, step] = [usize::try_from(row).ok()?, usize::try_from(step).ok()?];
        if !self.product.a.direct {
            return None;
        }
        let is_multiple = |distance: usize, of| (distance * size_of::<T>()).is_multiple_of(of);
        if step == 1 {
            // Rows that far apart have a few places in the first cache.
            let bears = !is_multiple(row, 2048) || self.has_ways_for_rows();
            (bears && self.strided.is_some()).then_some(Rows::Apart(row))
        } else {
            // Steps, of which there are more, have a few in the second one.
            let bears = !is_multiple(step, 4096) && self.has_ways_for_rows();
            (row == 1 && bears).then_some(Rows::Together(step))
        }
    }

    /// Whether the first cache keeps a line of each of a tile's rows, wherever they are.
    fn has_ways_for_rows(&self) -> bool {
        self.kernels.rows <= system::first_cache_ways()
    }

    /// Where some steps of columns begin that can be read in lines without being packed: they lie together, and
    /// are few enough to stay in the first cache beside the rows that go by.
    fn near_columns(&self, columns: &Range<usize>, k0: usize, depth: usize) -> Option<*const T> {
        const MOST_BYTES: usize = 16 << 10;
        let Product { b, n, k, .. } = *self.product;
        let together = n.stride(0) == Some(1) && k.stride(1) == Some(columns.len() as isize);
        let few = columns.len() * depth * size_of::<T>() <= MOST_BYTES;
        let place = n.offset(0, columns.start) + k.offset(1, k0);
        (b.direct && together && few).then(|| b.data.cast::<T>().wrapping_offset(place))
    }

    /// Computes a part of the result.
    ///
    /// # Safety
    ///
    /// As for [`multiply`].
    unsafe fn part(
        &self,
        rows: Range<usize>,
        columns: Range<usize>,
        workspace: &mut Workspace<T>,
    ) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe {
            match self.direct {
                true => self.stream(rows, columns, workspace),
                false => self.compute(rows, columns, 0..self.product.k.len(), workspace),
            }
        }
    }

    /// Computes a part of the result, over some of k. For each block of k, the columns of the right
    /// operand are packed, and then, tile by tile, the rows of the left one: the tile stays in the first
    /// cache while the columns come by from the second.
    ///
    /// # Safety
    ///
    /// As for [`multiply`].
    unsafe fn compute(
        &self,
        rows: Range<usize>,
        columns: Range<usize>,
        sum: Range<usize>,
        workspace: &mut Workspace<T>,
    ) -> Result<()> {
        let Job { product, kernels, .. } = *self;
        let k = sum.end;
        let Workspace { steps, places, row_places, column_places, next_places, .. } = workspace;
        let Workspace { left, right, tile, .. } = workspace;
        let [steps_a, steps_b] = steps;
        let width = kernels.lanes * 2;
        let values = self.depth.min(sum.len()).div_ceil(T::STEPS);
        let left = room::<T>(left, kernels.rows * values)?;
        // For a tile that cannot be written in place.
        let spare = room::<T>(tile, panels::spare(kernels))?;
        let panels = columns.len().div_ceil(width);
        let panel_size = width * (values + T::HEAD);
        let right = room::<T>(right, panels * panel_size)?;
        product.n.offsets(1, columns.start, columns.len(), column_places);
        let all_dense = is_arithmetic(column_places) == Some(1);
        // Tiles of nearly the same height.
        let tiles = rows.len().div_ceil(kernels.rows);
        let edge = |tile: usize| rows.start + tile * rows.len() / tiles;
        if tiles == 0 || panels == 0 {
            return Ok(());
        }
        let _session = kernels.session();
        let blocks = sum.len().div_ceil(self.depth.max(1)).max(1);
        for block in 0..blocks {
            let k0 = sum.start + block * self.depth;
            let depth = self.depth.min(k - k0);
            let values = depth.div_ceil(T::STEPS);
            for (operand, steps) in [(0, &mut *steps_a), (1, &mut *steps_b)] {
                product.k.offsets(operand, k0, depth, &mut steps.places);
                steps.find_runs();
            }
            // So many panels, each as wide as there are lanes.
            let mut pack_panels = |panel: usize, some: usize, lanes: usize, into: *mut T| {
                let first = columns.start + panel * width;
                let count = (some * lanes).min(columns.end - first);
                product.n.offsets(0, first, count, places);
                let data = product.b.data;
                // SAFETY: the room is large enough; the matrix is the caller's promise.
                unsafe { (product.b.pack)(data, places, steps_b, lanes, panel_size, into) };
            };
            let add = block > 0;
            let lines = Lines::of(self, steps_a, column_places, all_dense);
            let near = lines.as_ref().and_then(|_| self.near_columns(&columns, k0, depth));
            if near.is_none() {
                let at_once = at_once(width, product.b.width);
                for panel in (0..panels).step_by(at_once) {
                    let into = right.wrapping_add(panel * panel_size);
                    pack_panels(panel, at_once, width, into);
                }
            }
            if let Some(lines) = lines {
                let b = match near {
                    Some(b) => Panels { b, size: width, step: columns.len(), values, add },
                    None => {
                        Panels { b: right.cast_const(), size: panel_size, step: width, values, add }
                    }
                };
                // SAFETY: the caller's promise; the panels are packed, or all columns there.
                unsafe { lines.multiply(edge, 0..tiles, 0..panels, &b) };
                continue;
            }
            // What is small is in the cache already, or soon read anyway.
            let fetches = panels * depth > 64 && is_near(product.a.width, kernels.rows, steps_a);
            let mut following = edge(0)..edge(1);
            for tile in 0..tiles {
                let (first, height) = (following.start, following.len());
                following = following.end..edge(tiles.min(tile + 2));
                product.m.offsets(0, first, height, row_places);
                let in_place = self.in_place(row_places, steps_a);
                let (a, how) = in_place.unwrap_or_else(|| {
                    // SAFETY: the room is large enough; the matrix is the caller's promise.
                    unsafe {
                        (product.a.pack)(product.a.data, row_places, steps_a, height, 0, left)
                    };
                    (left.cast_const(), Rows::Together(height))
                });
                product.m.offsets(1, first, height, row_places);
                next_places.clear();
                let follows =
                    in_place.is_some() && are_short(steps_a.places.len() * product.a.width);
                if fetches && !follows {
                    product.m.offsets(0, following.start, following.len(), next_places);
                }
                let mut next = next_places.chunks(height.div_ceil(panels));
                let places = column_places.as_slice();
                let (b, size, dense) = (right, panel_size, all_dense);
                let packed = Packed { b, size, fresh: None, values, places, dense, add };
                let before = |_| {
                    prefetch_rows(product.a, next.next().unwrap_or_default(), steps_a);
                    None
                };
                // SAFETY: packed above, and the room is enough; the result is the caller's promise.
                unsafe { self.put_panels((a, how), row_places, &packed, 0..panels, spare, before) };
            }
        }
        Ok(())
    }

    /// Computes a tile and writes it to its places in the result, or adds it to what is there. Where these do not
    /// lie in lines (`row_step` and `dense` tell), or are fewer than the tile is wide, the tile is computed where
    /// the task has it go.
    ///
    /// # Safety
    ///
    /// As for [`multiply`]; the task's operands are packed, and there is room for a tile where it goes.
    #[inline(always)]
    unsafe fn put(
        &self,
        mut task: Tile<T>,
        how: Rows,
        rows: &[isize],
        row_step: Option<isize>,
        columns: &[isize],
        dense: bool,
    ) {
        let (lanes, add, c) = (task.c_step as usize, task.add, self.product.c);
        let vectors = lanes / self.kernels.lanes;
        let run = |task: &Tile<T>| {
            // SAFETY: the caller's promise.
            unsafe {
                match (how, self.strided) {
                    (Rows::Apart(row), Some(strided)) => {
                        strided.run(vectors, rows.len(), &Tile { a_row: row, ..*task })
                    }
                    _ => self.kernels.run(vectors, rows.len(), task),
                }
            }
        };
        let in_place = dense && columns.len() == lanes && self.product.round.is_none();
        if let (true, Some(c_step)) = (in_place, row_step) {
            task.c = c.wrapping_offset(rows[0] + columns[0]);
            task.c_step = c_step;
            run(&task);
            return;
        }
        task.add = false;
        run(&task);
        // SAFETY: the caller's promise.
        unsafe { self.write(task.c, lanes, rows, columns, add) };
    }

    /// Writes a tile to its places in the result, or adds it to what is there.
    ///
    /// # Safety
    ///
    /// See [`scatter`].
    unsafe fn write(
        &self,
        tile: *const T,
        lanes: usize,
        rows: &[isize],
        columns: &[isize],
        add: bool,
    ) {
        let c = self.product.c;
        let Some(Round { width, row: round }) = self.product.round else {
            // SAFETY: the caller's promise.
            return unsafe { scatter(tile, lanes, c, rows, columns, add) };
        };
        let at = |place: isize| c.cast::<u8>().wrapping_offset(place * width as isize);
        let dense = is_arithmetic(columns) == Some(1);
        for (i, &row) in rows.iter().enumerate() {
            let sums = tile.wrapping_add(i * lanes);
            // SAFETY: the caller's promise.
            unsafe {
                if dense {
                    round(sums, at(row + columns[0]), columns.len());
                } else {
                    for (j, &column) in columns.iter().enumerate() {
                        round(sums.add(j), at(row + column), 1);
                    }
                }
            }
        }
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

pub(crate) fn out_of_memory() -> rxla_base::Error {
    rxla_base::Error::new(rxla_base::Code::ResourceExhausted, "out of memory for packed matrices")
}
