//! Products of a matrix and a vector, or a few: the matrix is read once, so that all that counts is to read
//! it in order, and on all threads.
//!
//! Loops here copy what a vector register holds into an array of its own before they compute: else they
//! are not turned into vectors, and four times as slow.

mod ahead;
mod blocks;
mod rows;
mod values;
mod windows;
pub(crate) mod words;

use std::ops::Range;

use rxla_base::Result;

use super::axis::Axis;
use super::pack::Steps;
use super::sets::{self, Set, for_each_set};
use super::units::Pair;
use super::{Address, Compute, Operand, Product, scratch};
use crate::context::Context;
use crate::element::Load;
use ahead::{AHEAD, are_short, ask_for, following};
use blocks::{BLOCK, Block, Products};
use values::Vectors;

/// Columns whose sums are kept near while rows go by.
const STRIP: usize = 4096;
/// Rows that one thread adds up, at most, and at least for each vector; sizes alone decide where sums are cut.
const CHUNK: usize = 512;
const LEAST_CHUNK: usize = 64;
/// Elements of a matrix that are enough for a thread at a time: rows are few where they are long, and read whole.
const PIECE: usize = if cfg!(test) { 1 << 12 } else { 1 << 17 };
/// Lines that are read side by side: one alone does not keep memory busy.
const LINES: usize = 8;
/// Bytes of a matrix that caches near a core do not hold.
const FAR: usize = if cfg!(test) { 1 << 14 } else { 4 << 20 };
/// Rows that are added up side by side.
const ROWS: usize = 4;
/// Rows of the other operand up to which a matrix is read where it is.
const FEW: usize = 16;

/// How the rows of a matrix with elements of some type are read.
pub(crate) struct Streams<T> {
    /// With one vector.
    one: Option<One<T>>,
    /// The products of [`BLOCK`] vectors, one after the other, with as many lines, where the processor has
    /// registers for them.
    block: Option<Block<T>>,
    /// With a few vectors, where rows lie together.
    rows: Option<rows::AddRows<T>>,
}

struct One<T> {
    /// The product of the vector and as many elements from an offset on.
    dot: unsafe fn(x: &[T], matrix: *const u8, offset: isize) -> [T; 1],
    /// The same for several lines that are `step` apart.
    dots: unsafe fn(x: &[T], matrix: *const u8, offset: isize, step: isize) -> [T; LINES],
    /// Adds rows that are `step` apart from an offset on, each times an element of the vector; [`ROWS`] side by side,
    /// or one by one.
    add_rows: unsafe fn(
        x: &[T],
        rows: usize,
        matrix: *const u8,
        offset: isize,
        step: isize,
        sums: &mut [T],
    ),
    /// See [`windows`].
    window: windows::Window<T>,
}

impl<T> Clone for Streams<T> {
    fn clone(&self) -> Streams<T> {
        *self
    }
}

impl<T> Copy for Streams<T> {}

impl<T> Clone for One<T> {
    fn clone(&self) -> One<T> {
        *self
    }
}

impl<T> Copy for One<T> {}

impl<T: Compute> Streams<T> {
    pub(crate) fn of<S: Load<T>>() -> Streams<T> {
        let one = One {
            dot: dot::<S, T>,
            dots: dots::<S, T>,
            add_rows: add_rows::<S, T>,
            window: windows::window_of::<S, T>(),
        };
        Streams {
            one: Some(one),
            block: blocks::block_of::<S, T>(),
            rows: rows::add_rows_of::<S, T>(),
        }
    }
}

impl Streams<Pair> {
    /// Words are read only by blocks.
    pub(crate) fn of_words<S: words::Word>() -> Option<Streams<Pair>> {
        words::block::<S>().map(|block| Streams { one: None, block: Some(block), rows: None })
    }
}

/// Whether a matrix of so many lines side by side, of elements of `width` bytes, where a line's
/// steps are so far apart, is read where it is to be multiplied with some vectors.
pub(crate) fn takes_rows(
    width: usize,
    vectors: usize,
    lines: usize,
    k: usize,
    step: isize,
) -> bool {
    takes(vectors, lines, k) && rows::pays(width, lines, k, step)
}

/// Whether a matrix of so many lines, each together in memory, is read where it is to be multiplied with
/// some vectors.
pub(crate) fn takes(vectors: usize, lines: usize, k: usize) -> bool {
    let large = k >= 64 && lines >= BLOCK && lines.saturating_mul(k) >= 1 << 12;
    (2..=FEW).contains(&vectors) && large && sets::best() == Set::Avx512
}

/// Does the product if one side is a vector and the other is one whose rows or columns lie together, or
/// if one side is a few vectors and the other's lines lie together; false if not.
///
/// # Safety
///
/// As for [`super::multiply`].
pub(super) unsafe fn multiply<T: Compute>(
    context: &Context,
    product: &Product<'_, T>,
) -> Result<bool> {
    let (m, n, k) = (product.m.len(), product.n.len(), product.k.len());
    let count = m.min(n);
    if k == 0 || (count != 1 && !takes(count, m.max(n), k)) {
        return Ok(false);
    }
    // The matrix has `lines` along n (or m) and steps along k.
    let (vector, matrix, lines, rows, side) = match m <= n {
        true => (product.a, product.b, product.n, product.m, 0),
        false => (product.b, product.a, product.m, product.n, 1),
    };
    let Some(streams) = matrix.streams else { return Ok(false) };
    let Some(way) = streams.way(count, lines, product.k, matrix.width, side) else {
        return Ok(false);
    };
    if !k.is_multiple_of(T::STEPS) {
        return Ok(false);
    }
    let mut memory = None;
    // SAFETY: the caller's promise.
    let vectors = unsafe { values::of(&vector, rows, product.k, side, &mut memory)? };
    let x = vectors.values;
    let order = (product.k.stride(1 - side), lines.stride(0));
    let (k_step, line_step) = (order.0.unwrap_or(0), order.1.unwrap_or(0));
    let job = Job { matrix, vectors, lines, rows, c: Address(product.c), line_step, k_step };
    // SAFETY: the caller's promise.
    unsafe {
        match way {
            Way::Dots(one) => job.dots(context, one),
            Way::Blocks(block) => job.blocks(context, block),
            Way::Rows(add_rows) => job.sums(context, &|steps, offset, length, sums| {
                add_rows(&job.vectors, steps, job.data(), offset, k_step, length, sums);
            })?,
            Way::Row(one) => {
                let rows = if job.is_stream(k, k_step, lines.len()) { 1 } else { ROWS };
                job.sums(context, &|steps, offset, length, sums| {
                    (one.add_rows)(
                        &x[steps],
                        rows,
                        job.data(),
                        offset,
                        k_step,
                        &mut sums[..length],
                    );
                })?
            }
            Way::Windows(one) => {
                let mut steps = Steps::default();
                product.k.offsets(1 - side, 0, k, &mut steps.places);
                windows::multiply(context, one.window, x, matrix.data, &steps, lines, product.c);
            }
        }
    }
    Ok(true)
}

/// How a matrix is read.
enum Way<T> {
    /// One vector with lines that lie together.
    Dots(One<T>),
    /// One vector with rows that do.
    Row(One<T>),
    /// One vector with windows of an image.
    Windows(One<T>),
    /// Some vectors with lines that lie together.
    Blocks(Block<T>),
    /// Some vectors with rows that do.
    Rows(rows::AddRows<T>),
}

impl<T: Compute> Streams<T> {
    /// The way for so many vectors and these lines and steps, if there is one.
    fn way(
        &self,
        count: usize,
        lines: &Axis,
        steps: &Axis,
        width: usize,
        side: usize,
    ) -> Option<Way<T>> {
        match (count, steps.stride(1 - side), lines.stride(0)) {
            (1, Some(1), _) if windows::overlap(lines, steps.len()) => self.one.map(Way::Windows),
            // Where a line is one element, both orders are the same.
            (1, Some(1), Some(step)) if step != 1 || steps.len() > 1 => self.one.map(Way::Dots),
            (1, Some(_), Some(1)) => self.one.map(Way::Row),
            (1, ..) if windows::suit(lines) => self.one.map(Way::Windows),
            (1, ..) => None,
            // Kernels take rows as they lie, too, if they are of their type.
            (_, Some(1), Some(_))
                if side == 1
                    && width == size_of::<T>()
                    && !blocks::pays(width, count, lines.len(), steps.len()) =>
            {
                None
            }
            (_, Some(1), Some(_)) => self.block.map(Way::Blocks),
            (_, Some(step), Some(1)) if rows::pays(width, lines.len(), steps.len(), step) => {
                self.rows.map(Way::Rows)
            }
            _ => None,
        }
    }
}

struct Job<'a, T> {
    matrix: Operand<T>,
    vectors: Vectors<'a, T>,
    /// Of the matrix.
    lines: &'a Axis,
    /// The axis of the vectors.
    rows: &'a Axis,
    c: Address<T>,
    line_step: isize,
    k_step: isize,
}

// SAFETY: as for `Product`.
unsafe impl<T> Sync for Job<'_, T> {}

impl<T: Compute> Job<'_, T> {
    fn data(&self) -> *const u8 {
        self.matrix.data
    }

    /// Results in squares, of some lines and some vectors.
    ///
    /// # Safety
    ///
    /// As for [`multiply`].
    unsafe fn blocks(&self, context: &Context, block: Block<T>) {
        let Vectors { values, depth, count } = self.vectors;
        let groups = self.lines.len().div_ceil(BLOCK);
        let grain = (super::SERIAL / (values.len() * BLOCK)).max(1);
        context.parallel_for(groups, grain, |begin, end| {
            for group in begin..end {
                // The last lines may be some of those before, too.
                let first = (group * BLOCK).min(self.lines.len() - BLOCK);
                let offset = first as isize * self.line_step;
                for (part, x) in values.chunks_exact(BLOCK * depth).enumerate() {
                    // SAFETY: the caller's promise; what is written again is not by this group.
                    unsafe {
                        let products = block(x, self.matrix.data, offset, self.line_step);
                        for line in group * BLOCK..self.lines.len().min((group + 1) * BLOCK) {
                            let place = self.lines.offset(1, line);
                            for row in part * BLOCK..count.min((part + 1) * BLOCK) {
                                let value = products[line - first][row - part * BLOCK];
                                *self.c.get().offset(place + self.rows.offset(1, row)) = value;
                            }
                        }
                    }
                }
            }
        });
    }

    /// Whether the matrix, so many lines or rows of some elements that are `step` apart, comes from memory as one
    /// stream: each is shorter than a page and followed by the next. Several side by side would be as many streams,
    /// which end before the processor reads ahead.
    fn is_stream(&self, count: usize, step: isize, length: usize) -> bool {
        let bytes = length * self.matrix.width;
        are_short(length, step, self.matrix.width) && bytes.saturating_mul(count) >= FAR
    }

    /// What lies together are lines: each result is one product of vectors.
    ///
    /// # Safety
    ///
    /// As for [`multiply`].
    unsafe fn dots(&self, context: &Context, one: One<T>) {
        let x = self.vectors.values;
        let grain = (super::SERIAL / x.len()).max(1);
        let by_one = self.is_stream(self.lines.len(), self.line_step, x.len());
        context.parallel_for(self.lines.len(), grain, |begin, end| {
            let mut line = begin;
            while line < end {
                let offset = line as isize * self.line_step;
                let data = self.matrix.data;
                // SAFETY: the caller's promise; every line has a place of its own.
                unsafe {
                    let several;
                    let single;
                    let sums: &[T] = if !by_one && line + LINES <= end {
                        several = (one.dots)(x, data, offset, self.line_step);
                        &several
                    } else {
                        single = (one.dot)(x, data, offset);
                        &single
                    };
                    for &sum in sums {
                        *self.c.get().offset(self.lines.offset(1, line)) = sum;
                        line += 1;
                    }
                }
            }
        });
    }

    /// What lies together are rows of all lines: they are added up side by side, in chunks of rows
    /// that are added in the end. `add` adds as many elements of the rows of some
    /// steps, of which the first begins at an offset, to sums.
    ///
    /// # Safety
    ///
    /// As for [`multiply`].
    unsafe fn sums(
        &self,
        context: &Context,
        add: &(dyn Fn(Range<usize>, isize, usize, &mut [T]) + Sync),
    ) -> Result<()> {
        let Vectors { depth: k, count: vectors, .. } = self.vectors;
        let count = self.lines.len();
        let least = (LEAST_CHUNK * vectors).min(CHUNK);
        let height = (PIECE / count).next_multiple_of(rows::ROWS).clamp(least, CHUNK);
        let chunks = k.div_ceil(height);
        // Enough strips that few rows keep all threads busy, too, but no shorter than a page.
        let wanted = (4 * context.threads()).div_ceil(chunks);
        let strip = (count.div_ceil(wanted).next_multiple_of(64).clamp(1024, STRIP) / vectors)
            .next_multiple_of(64);
        let strips = count.div_ceil(strip);
        // By chunk, vector and line.
        let partial = scratch::<T>(chunks.saturating_mul(vectors).saturating_mul(count))?;
        let sums = Address(partial.as_ptr().cast::<T>());
        let grain = (super::SERIAL / (strip * vectors * height.min(k))).max(1);
        context.parallel_for(chunks * strips, grain, |begin, end| {
            let mut near = Vec::new();
            for piece in begin..end {
                let (chunk, strip_begin) = (piece / strips, piece % strips * strip);
                let steps = chunk * height..k.min((chunk + 1) * height);
                let offset = steps.start as isize * self.k_step + strip_begin as isize;
                let length = strip.min(count - strip_begin);
                near.clear();
                let room = length.next_multiple_of(rows::LANES);
                near.resize(vectors * room, T::ZERO);
                add(steps, offset, length, &mut near);
                for (vector, near) in near.chunks_exact(room).enumerate() {
                    let place = (chunk * vectors + vector) * count + strip_begin;
                    // SAFETY: the piece's part of the sums, which nobody else has.
                    unsafe {
                        sums.get().add(place).copy_from_nonoverlapping(near.as_ptr(), length)
                    };
                }
            }
        });
        let dense = self.lines.stride(1) == Some(1);
        let size = vectors * count;
        context.parallel_for(size, 1 + super::SERIAL / chunks, |begin, end| {
            // SAFETY: written above; every line has a place of its own in the result.
            unsafe {
                let row = |chunk: usize| sums.get().add(chunk * size);
                let first = std::slice::from_raw_parts_mut(row(0).add(begin), end - begin);
                for chunk in 1..chunks {
                    let other = std::slice::from_raw_parts(row(chunk).add(begin), end - begin);
                    first.iter_mut().zip(other).for_each(|(sum, &more)| *sum = sum.add(more));
                }
                let mut place = begin;
                while place < end {
                    let (vector, line) = (place / count, place % count);
                    let length = (count - line).min(end - place);
                    let from = &first[place - begin..place - begin + length];
                    let into = self.c.get().offset(self.rows.offset(1, vector));
                    if dense {
                        let start = into.offset(self.lines.offset(1, line));
                        start.copy_from_nonoverlapping(from.as_ptr(), length);
                    } else {
                        for (next, &sum) in from.iter().enumerate() {
                            *into.offset(self.lines.offset(1, line + next)) = sum;
                        }
                    }
                    place += length;
                }
            }
        });
        Ok(())
    }
}

for_each_set! {
    /// # Safety
    ///
    /// See [`Streams::dot`]; the elements are there.
    unsafe fn dot[S: Load<T>, T: Compute] =
        dot_body(x: &[T], matrix: *const u8, offset: isize) -> [T; 1]
}

for_each_set! {
    /// # Safety
    ///
    /// See [`Streams::dots`]; the elements are there.
    unsafe fn dots[S: Load<T>, T: Compute] =
        dots_body(x: &[T], matrix: *const u8, offset: isize, step: isize) -> [T; LINES]
}

for_each_set! {
    /// # Safety
    ///
    /// See [`Streams::add_rows`]; the elements are there.
    unsafe fn add_rows[S: Load<T>, T: Compute] =
        add_rows_body(
            x: &[T],
            rows: usize,
            matrix: *const u8,
            offset: isize,
            step: isize,
            sums: &mut [T]
        ) -> ()
}

/// # Safety
///
/// See [`dot`].
#[inline(always)]
unsafe fn dot_body<S: Load<T>, T: Compute>(x: &[T], matrix: *const u8, offset: isize) -> [T; 1] {
    // SAFETY: the caller's promise.
    unsafe { lines::<S, T, 1>(x, matrix, offset, 0) }
}

/// # Safety
///
/// See [`dots`].
#[inline(always)]
unsafe fn dots_body<S: Load<T>, T: Compute>(
    x: &[T],
    matrix: *const u8,
    offset: isize,
    step: isize,
) -> [T; LINES] {
    // Lines of narrow elements keep memory less busy, so that more are read side by side.
    if size_of::<S>() < size_of::<T>() {
        // SAFETY: the caller's promise.
        return unsafe { lines::<S, T, LINES>(x, matrix, offset, step) };
    }
    const HALF: usize = LINES / 2;
    let mut sums = [T::ZERO; LINES];
    for (half, sums) in sums.as_chunks_mut::<HALF>().0.iter_mut().enumerate() {
        let offset = offset + (half * HALF) as isize * step;
        // SAFETY: as above.
        *sums = unsafe { lines::<S, T, HALF>(x, matrix, offset, step) };
    }
    sums
}

/// Products of the vector with lines that are `step` apart. However many they are, the sum of each is
/// taken in the same order.
///
/// # Safety
///
/// The lines are there.
#[inline(always)]
unsafe fn lines<S: Load<T>, T: Compute, const COUNT: usize>(
    x: &[T],
    matrix: *const u8,
    offset: isize,
    step: isize,
) -> [T; COUNT] {
    const LANES: usize = 16;
    let start = matrix.cast::<S>().wrapping_offset(offset);
    let lines: [&[S]; COUNT] = std::array::from_fn(|line| {
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts(start.wrapping_offset(line as isize * step), x.len()) }
    });
    let mut sums = [[T::ZERO; LANES]; COUNT];
    let (heads, tail) = x.as_chunks::<LANES>();
    let others = lines.map(|line| line.as_chunks::<LANES>());
    // At its end a line's next elements are those of the line that is read after it.
    let ahead = AHEAD / size_of::<[S; LANES]>();
    let jump = COUNT as isize * step - (heads.len() * LANES) as isize;
    for (place, &x) in heads.iter().enumerate() {
        let jump = if place + ahead < heads.len() { 0 } else { jump };
        for line in 0..COUNT {
            // SAFETY: lines are as long as the vector.
            let y = unsafe { others[line].0.get_unchecked(place) };
            if COUNT > 1 && size_of::<S>() < size_of::<T>() {
                ask_for(y.as_ptr().wrapping_byte_add(AHEAD).wrapping_offset(jump), size_of_val(y));
            }
            let y = load(*y);
            for lane in 0..LANES {
                sums[line][lane] = x[lane].multiply_add(y[lane], sums[line][lane]);
            }
        }
    }
    for line in 0..COUNT {
        for (lane, (&x, &y)) in tail.iter().zip(others[line].1).enumerate() {
            sums[line][lane] = x.multiply_add(y.load(), sums[line][lane]);
        }
    }
    sums.map(total)
}

/// The sum of lanes.
#[inline(always)]
fn total<T: Compute, const LANES: usize>(mut sums: [T; LANES]) -> T {
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            sums[lane] = sums[lane].add(sums[lane + width]);
        }
        width /= 2;
    }
    sums[0]
}

/// What a type's elements are as values.
#[inline(always)]
fn load<S: Load<T>, T: Compute, const COUNT: usize>(elements: [S; COUNT]) -> [T; COUNT] {
    let mut values = [T::ZERO; COUNT];
    for (value, element) in values.iter_mut().zip(elements) {
        *value = element.load();
    }
    values
}

/// # Safety
///
/// See [`add_rows`].
#[inline(always)]
unsafe fn add_rows_body<S: Load<T>, T: Compute>(
    x: &[T],
    rows: usize,
    matrix: *const u8,
    offset: isize,
    step: isize,
    sums: &mut [T],
) {
    const LANES: usize = 64;
    let start = matrix.cast::<S>().wrapping_offset(offset);
    let count = sums.len();
    let row = |p: usize| {
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts(start.wrapping_offset(p as isize * step), count) }
    };
    let (blocks, rest) = if rows == ROWS { x.as_chunks::<ROWS>() } else { (&[][..], x) };
    let (heads, tail) = sums.as_chunks_mut::<LANES>();
    let in_order = are_short(count, step, size_of::<S>());
    for (block, x) in blocks.iter().enumerate() {
        let rows: [&[S]; ROWS] = std::array::from_fn(|r| row(block * ROWS + r));
        let chunks = rows.map(|row| row.as_chunks::<LANES>());
        for (j, sums) in heads.iter_mut().enumerate() {
            let parts: [&[S; LANES]; ROWS] = std::array::from_fn(|r| {
                // SAFETY: rows are as long as the sums.
                unsafe { chunks[r].0.get_unchecked(j) }
            });
            for (r, part) in parts.iter().enumerate() {
                let next = match in_order {
                    true => rows[0].as_ptr().wrapping_add(ROWS * (count + j * LANES) + r * LANES),
                    false => following(part.as_ptr(), j * LANES, count, ROWS as isize * step),
                };
                ask_for(next, size_of_val(*part));
            }
            let parts = parts.map(|part| load(*part));
            let mut new = *sums;
            for r in 0..ROWS {
                for lane in 0..LANES {
                    new[lane] = parts[r][lane].multiply_add(x[r], new[lane]);
                }
            }
            *sums = new;
        }
        for (lane, sum) in tail.iter_mut().enumerate() {
            for r in 0..ROWS {
                *sum = chunks[r].1[lane].load().multiply_add(x[r], *sum);
            }
        }
    }
    for (r, &x) in rest.iter().enumerate() {
        for (sum, value) in sums.iter_mut().zip(row(blocks.len() * ROWS + r)) {
            *sum = value.load().multiply_add(x, *sum);
        }
    }
}
