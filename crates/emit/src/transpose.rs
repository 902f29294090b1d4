//! Nests in which what is loaded lies across what is stored: blocks of elements are turned in
//! registers.
//!
//! The loop along which loads are contiguous, and the one along which stores are, are cut into blocks.
//! Before the loops of a block run, each load that lies across is done for the whole block: rows are
//! loaded side by side, turned by shuffles, and put into a small buffer from which the loops read.
//! Whatever else is computed does not notice. What is left over at the edges is done plainly.

use rxla_base::Result;
use rxla_hlo::{ArrayShape, ElementType};
use rxla_kernel::{BinaryOp, Builder, LoopKind, Op, Scalar, Type, Value};

use crate::affine::{Affine, Index};
use crate::emitter::{Emitter, Placed};
use crate::nest::{Loop, Style};
use crate::plan::NestId;
use crate::scalar::scalar_of;

/// Shorter loops are not worth blocks.
const SHORTEST: i64 = 16;

/// Blocks that are turned one after the other before the next rows are read.
const SIDE_BY_SIDE: i64 = 16;

/// The loops of a nest that lie across each other.
pub(crate) struct Crossing {
    /// Along which loads are contiguous, by place in the loops; stores are along the last.
    across: usize,
    /// Rows and columns of a block.
    block: i64,
}

/// A block under way: loads that lie across are taken from it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Staging {
    /// The variables of both loops inside the block, and where the block begins.
    across: Value,
    along: Value,
    across_start: Value,
    along_start: Value,
    /// The same counted from the block's beginning.
    across_inside: Value,
    along_inside: Value,
    block: i64,
    /// The block in which the block's loops stand.
    depth: usize,
}

/// How many of the loops are to be run in blocks, if loads lie across.
pub(crate) fn crossing(emitter: &Emitter<'_>, nest: NestId, loops: &[Loop]) -> Option<Crossing> {
    let plan = emitter.plan.across(nest)?;
    let last = loops.len().checked_sub(1)?;
    // A row of a block fills a line of the cache, if its type has shuffles that wide.
    let block = match plan.widest {
        8.. => 8,
        2 => 32,
        _ => 16,
    };
    let suits = |each: &Loop| {
        each.size() >= SHORTEST.max(block) && each.cuts.is_empty() && each.style != Style::Straight
    };
    let across = loops
        .iter()
        .position(|each| each.members.last().is_some_and(|member| member.0 == plan.position))?;
    (across < last && suits(&loops[across]) && suits(&loops[last]))
        .then_some(Crossing { across, block })
}

impl Crossing {
    /// Units of work: blocks of the loop across.
    pub(crate) fn units(&self, loops: &[Loop]) -> i64 {
        (loops[self.across].size() + self.block - 1) / self.block
    }

    /// Runs `body` for each index, of the blocks in `range` if there is one.
    pub(crate) fn run(
        &self,
        emitter: &mut Emitter<'_>,
        (nest, rank): (NestId, usize),
        mut loops: Vec<Loop>,
        range: Option<(Value, Value)>,
        body: &mut dyn FnMut(&mut Emitter<'_>, &Index) -> Result<()>,
    ) -> Result<()> {
        let along = loops.pop().expect("two loops");
        let across = loops.remove(self.across);
        let block = self.block;
        let whole = |size: i64| size - size % block;
        let (rows, columns) = (across.size(), along.size());
        let (first, end) = match range {
            None => (emitter.builder.index(0), emitter.builder.index(rows)),
            Some((first, end)) => {
                let b = &mut *emitter.builder;
                let (block, rows) = (b.index(block), b.index(rows));
                let first = b.mul(first, block);
                let end = b.mul(end, block);
                (first, b.binary(BinaryOp::SMin, end, rows))
            }
        };
        let plain = Style::Loop(LoopKind::Sequential);
        loops
            .iter_mut()
            .filter(|each| each.style != Style::Straight)
            .for_each(|each| each.style = plain);
        emitter.nest(nest, rank, &loops, &[], &mut |emitter, index, _| {
            // Whole blocks.
            let b = &mut *emitter.builder;
            let last_row = b.index(whole(rows));
            let row_end = b.binary(BinaryOp::SMin, end, last_row);
            // A few blocks side by side read whole pieces of a page before they go to the next one.
            let bounds = (first, row_end, block * SIDE_BY_SIDE);
            emitter.for_loop(LoopKind::Sequential, bounds, &[], |emitter, group, _| {
                let b = &mut *emitter.builder;
                let width = b.index(block * SIDE_BY_SIDE);
                let group_end = b.add(group, width);
                let group_end = b.binary(BinaryOp::SMin, group_end, row_end);
                let bounds = (b.index(0), b.index(whole(columns)), block);
                emitter.for_loop(LoopKind::Sequential, bounds, &[], |emitter, column, _| {
                    let bounds = (group, group_end, block);
                    emitter.for_loop(LoopKind::Sequential, bounds, &[], |emitter, row, _| {
                        self.block(emitter, nest, index, (&across, row), (&along, column), body)?;
                        Ok(Vec::new())
                    })
                })
            })?;
            // Columns that are left over beside the blocks, and rows below them.
            let b = &mut *emitter.builder;
            let row_start = b.binary(BinaryOp::SMax, first, last_row);
            let (zero, last_column, columns) =
                (b.index(0), b.index(whole(columns)), b.index(columns));
            let rest = [
                (first, row_end, last_column, columns, along.size() % block),
                (row_start, end, zero, columns, rows % block),
            ];
            for (row, row_end, column, column_end, some) in rest {
                if some == 0 {
                    continue;
                }
                emitter.for_loop(
                    LoopKind::Sequential,
                    (row, row_end, 1),
                    &[],
                    |emitter, row, _| {
                        let index = emitter.loop_index(nest, index, &across, row, (0, rows));
                        let bounds = (column, column_end, 1);
                        emitter.for_loop(LoopKind::Vector, bounds, &[], |emitter, column, _| {
                            let size = along.size();
                            let index = emitter.loop_index(nest, &index, &along, column, (0, size));
                            body(emitter, &index)?;
                            Ok(Vec::new())
                        })
                    },
                )?;
            }
            Ok(Vec::new())
        })?;
        Ok(())
    }

    fn block(
        &self,
        emitter: &mut Emitter<'_>,
        nest: NestId,
        index: &Index,
        (across, across_start): (&Loop, Value),
        (along, along_start): (&Loop, Value),
        body: &mut dyn FnMut(&mut Emitter<'_>, &Index) -> Result<()>,
    ) -> Result<()> {
        let depth = emitter.depth();
        let bounds = (emitter.builder.index(0), emitter.builder.index(self.block), 1);
        emitter.for_loop(LoopKind::Sequential, bounds, &[], |emitter, across_inside, _| {
            let row = emitter.builder.add(across_start, across_inside);
            let index = emitter.loop_index(nest, index, across, row, (0, across.size()));
            let bounds = (emitter.builder.index(0), emitter.builder.index(self.block), 1);
            emitter.for_loop(LoopKind::Vector, bounds, &[], |emitter, along_inside, _| {
                let column = emitter.builder.add(along_start, along_inside);
                let index = emitter.loop_index(nest, &index, along, column, (0, along.size()));
                emitter.staging = Some(Staging {
                    across: row,
                    along: column,
                    across_start,
                    along_start,
                    across_inside,
                    along_inside,
                    block: self.block,
                    depth,
                });
                let result = body(emitter, &index);
                emitter.staging = None;
                result.map(|()| Vec::new())
            })
        })?;
        Ok(())
    }
}

impl Emitter<'_> {
    /// An element of an operand by way of the block under way, if the load lies across it.
    pub(crate) fn staged(
        &mut self,
        shape: &ArrayShape,
        base: Value,
        at: &Affine,
    ) -> Result<Option<Placed>> {
        let Some(staging) = self.staging else { return Ok(None) };
        if self.floor > self.base {
            return Ok(None);
        }
        let terms = self.value_terms(at);
        let factor = |value: Value| terms.iter().find(|term| term.0 == value).map(|term| term.1);
        let (Some(1), along) = (factor(staging.across), factor(staging.along)) else {
            return Ok(None);
        };
        let along = along.unwrap_or(0);
        let rest: Vec<_> = terms
            .iter()
            .copied()
            .filter(|term| term.0 != staging.across && term.0 != staging.along)
            .collect();
        if along == 1 || along == 0 || rest.iter().any(|term| term.2 > staging.depth) {
            return Ok(None);
        }
        let key = self.block_key(&rest, base, along, at.constant);
        let block = match self.known_position(&key) {
            Some(block) => block,
            None => {
                let ty = shape.element_type;
                let start = self.sum(&rest, at.constant);
                let floor = self.placed_at(self.base);
                let bytes = (staging.block * staging.block) as u64 * ty.byte_width() as u64;
                let block = self.at(floor, |b| b.alloca(bytes, 64));
                self.at(staging.depth, |b| turn(b, staging, ty, (base, start, along), block));
                self.cache(staging.depth).positions.insert(key, block);
                block
            }
        };
        let depth = self.depth();
        let size = staging.block;
        let element = self.at(depth, |b| {
            let size = b.index(size);
            let row = b.mul(staging.across_inside, size);
            let at = b.add(row, staging.along_inside);
            crate::scalar::load(b, shape.element_type, block, at)
        });
        Ok(Some(Placed { element, depth }))
    }

    /// What tells blocks apart: values are marked as in sums, the operand's address and the distance
    /// of rows by two more bits.
    fn block_key(
        &self,
        rest: &[(Value, i64, usize)],
        base: Value,
        along: i64,
        constant: i64,
    ) -> Affine {
        let symbol = |value: Value, mark: u32| {
            Affine::symbol(crate::affine::Symbol(value.0 | 1 << 31 | mark << 29))
        };
        let mut key = Affine::constant(constant).plus(&symbol(base, 1).times(along));
        for &(value, factor, _) in rest {
            key = key.plus(&symbol(value, 2).times(factor));
        }
        key
    }
}

/// Loads a block whose rows are `along` elements apart, turns it, and stores it.
fn turn(
    b: &mut Builder,
    staging: Staging,
    element_type: ElementType,
    (base, start, along): (Value, Value, i64),
    block: Value,
) {
    let size = staging.block as usize;
    let (scalar, parts) = moved_as(element_type);
    let row_type = scalar.vector((size * parts) as u16);
    let distance = b.index(along);
    let first = b.mul(staging.along_start, distance);
    let first = b.add(first, staging.across_start);
    let first = b.add(first, start);
    let mut rows: Vec<Value> = (0..size)
        .map(|row| {
            let offset = b.index(along * row as i64);
            let at = b.add(first, offset);
            let count = b.index(parts as i64);
            let at = b.mul(at, count);
            b.load(row_type, base, at)
        })
        .collect();
    // First the little blocks in each 16 bytes, of so many elements, across which shuffles are slow; then these.
    let within = (16 / (scalar.byte_width() * parts)).min(size);
    riffle(b, row_type, &mut rows, within, parts);
    let mut blocks = Vec::with_capacity(size);
    for column in 0..within {
        let mut same: Vec<Value> = rows.iter().skip(column).step_by(within).copied().collect();
        riffle(b, row_type, &mut same, size / within, within * parts);
        blocks.push(same);
    }
    let rows = (0..size).map(|row| blocks[row % within][row / within]);
    for (row, value) in rows.enumerate() {
        let at = b.index((row * size * parts) as i64);
        b.store(block, at, value);
    }
}

/// Turns blocks of so many rows and columns, one beside the other in rows, each column of so many lanes: riffling the
/// rows as often as their number has bits does it.
fn riffle(b: &mut Builder, row_type: Type, rows: &mut [Value], size: usize, lanes: usize) {
    let width = row_type.lanes as usize;
    for group in rows.chunks_mut(size) {
        for _ in 0..size.trailing_zeros() {
            let half = size / 2;
            let mut next = Vec::with_capacity(size);
            for row in 0..half {
                for part in 0..2 {
                    // Of each block the columns of one half, by turns from one row and the other.
                    let from = |lane: usize| {
                        let (block, column) = (lane / lanes / size, lane / lanes % size);
                        let element = block * size + part * half + column / 2;
                        (column % 2 * width + element * lanes + lane % lanes) as u16
                    };
                    let shuffle =
                        Op::Shuffle(group[row], group[row + half], (0..width).map(from).collect());
                    next.push(b.op(row_type, shuffle));
                }
            }
            group.copy_from_slice(&next);
        }
    }
}

/// As what elements are moved, and how many of these one is. Truth values are bytes in memory; vectors of them are
/// not. Both parts of a complex number go together.
fn moved_as(element_type: ElementType) -> (Scalar, usize) {
    match element_type {
        ElementType::C64 => (Scalar::I64, 1),
        ElementType::C128 => (Scalar::I64, 2),
        _ => match scalar_of(element_type) {
            Scalar::I1 => (Scalar::I8, 1),
            scalar => (scalar, 1),
        },
    }
}
