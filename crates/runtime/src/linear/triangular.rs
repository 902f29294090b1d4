//! Triangular systems: `L X = B` with a lower triangle, which is what all kinds become by the steps between
//! rows and columns; upper triangles are read from their end.
//!
//! Many small systems are solved side by side ([`super::lanes`]), a line or two by sums over rows or
//! columns ([`super::line`]), everything else in panels: the triangle is packed once, and panels are
//! solved independently of each other, some rows at a time, then subtracted from all rows after them.

use rxla_base::Result;

use super::number::{Number, Strided};
use super::panel::{Conjugation, Panel, Triangle, kernels, panel_columns};
use super::{Diagonal, each, lanes, line};
use crate::context::Context;
use crate::gemm::{Address, scratch};

/// A system, and those after it in a batch.
pub(super) struct System<T> {
    pub size: usize,
    pub lines: usize,
    /// The lower triangle, the first row of which has one element.
    pub triangle: Strided<T>,
    /// B, and then X.
    pub unknowns: Strided<T>,
    pub conjugation: Conjugation,
    pub diagonal: Diagonal,
}

impl<T: Number> System<T> {
    /// The system at a place of the batch.
    pub(super) fn of_batch(&self, index: usize) -> System<T> {
        let moved = |matrix: Strided<T>, count: usize| Strided {
            start: matrix.start.wrapping_add(index * count),
            ..matrix
        };
        System {
            triangle: moved(self.triangle, self.size * self.size),
            unknowns: moved(self.unknowns, self.size * self.lines),
            ..*self
        }
    }
}

/// Solves a batch of systems in place.
///
/// # Safety
///
/// The matrices are where the first system says, each after the one before, and nobody else uses the
/// unknowns.
pub(super) unsafe fn solve_all<T: Number>(
    context: &Context,
    batch: usize,
    first: &System<T>,
) -> Result<()> {
    let (size, lines) = (first.size, first.lines);
    if lanes::suits(batch, size) && lines <= lanes::SMALL {
        // SAFETY: the caller's promise.
        return unsafe { lanes::solve_all(context, batch, first) };
    }
    if lines <= line::FEW {
        let grain = 1 + (1 << 16) / (size * size);
        context.parallel_for(batch * lines, grain, |begin, end| {
            let mut room = Vec::new();
            for task in begin..end {
                // SAFETY: the caller's promise; each line is in one piece.
                unsafe { line::solve(&first.of_batch(task / lines), task % lines, &mut room) };
            }
        });
        return Ok(());
    }
    each(context, batch, size * size * lines, |context, index| {
        // SAFETY: the caller's promise; each system is in one piece.
        unsafe { solve(context, &first.of_batch(index)) }
    })
}

/// Rows that are solved before what they mean for the rows after them is subtracted there.
fn rows_at_once<T: Number>() -> usize {
    let rows = kernels::<T>().rows;
    rows * (256 / T::PARTS / rows)
}

/// # Safety
///
/// As for [`solve_all`].
unsafe fn solve<T: Number>(context: &Context, system: &System<T>) -> Result<()> {
    let triangle = Triangle::new(system.size, system.diagonal)?;
    // SAFETY: the caller's promise.
    unsafe {
        triangle.pack(context, system.triangle, system.conjugation);
        solve_packed(context, &triangle, system.unknowns, system.lines)
    }
}

/// # Safety
///
/// There are so many lines, as long as the triangle, which nobody else uses.
unsafe fn solve_packed<T: Number>(
    context: &Context,
    triangle: &Triangle<T>,
    unknowns: Strided<T>,
    lines: usize,
) -> Result<()> {
    let size = triangle.size;
    let columns = panel_columns::<T>();
    let room = Panel::<T>::room(size);
    let panels = lines.div_ceil(columns);
    let memory = scratch::<T>(panels * room)?;
    let start = Address(memory.as_ptr().cast::<T>());
    let count = |index: usize| columns.min(lines - index * columns);
    let panel =
        |index: usize| Panel::new(Address(start.get().wrapping_add(index * room)), count(index));
    let (rows, at_once) = (kernels::<T>().rows, rows_at_once::<T>());
    // Blocks of rows that stay in the cache while panels are updated.
    let together = 16 * rows;
    for begin in (0..size).step_by(at_once) {
        let end = size.min(begin + at_once);
        let grain = 1 + (1 << 15) / (at_once * (end - begin) * columns);
        context.parallel_for(panels, grain, |first, last| {
            for index in first..last {
                let (panel, unknowns) = (panel(index), unknowns.from(0, index * columns));
                // SAFETY: the caller's promise; each panel is in one piece.
                unsafe {
                    if begin == 0 {
                        panel.load(unknowns, size, count(index), Conjugation::None);
                    }
                    triangle.solve(&panel, begin, end);
                    panel.store(
                        unknowns.from(begin, 0),
                        begin..end,
                        count(index),
                        Conjugation::None,
                    );
                }
            }
        });
        let blocks = (size - end).div_ceil(together);
        context.parallel_for(blocks * panels, 1, |first, last| {
            for task in first..last {
                let (block, panel) = (task / panels, panel(task % panels));
                let top = end + block * together;
                for row in (top..size.min(top + together)).step_by(rows) {
                    // SAFETY: the rows of a panel are each in one piece.
                    unsafe { triangle.subtract(&panel, begin, end, row) };
                }
            }
        });
    }
    Ok(())
}
