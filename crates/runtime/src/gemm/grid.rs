//! How a product is cut into rectangles of its result.

use std::ops::Range;

use super::micro::Kernels;
use crate::system;

/// Rectangles of nearly the same size, row by row.
pub(super) struct Grid {
    sizes: [usize; 2],
    /// Rectangles along the rows and the columns.
    counts: [usize; 2],
    /// Rectangles begin at multiples of these.
    grains: [usize; 2],
}

/// What it costs to pack a value, and to begin with a rectangle, in vectors multiplied and added.
const PACKING: f64 = 0.5;
const BEGINNING: f64 = 2000.0;

impl Grid {
    /// For so many rows, columns and values along k in one block, of so many bytes each.
    pub(super) fn new<T>(
        [m, n, depth]: [usize; 3],
        threads: usize,
        kernels: &Kernels<T>,
        value: usize,
    ) -> Grid {
        let width = kernels.lanes * 2;
        // Packed columns stay in the second cache.
        let room = system::second_cache() / 2 / (value * depth.max(1));
        let columns = (room / width * width).max(width);
        let grains = [kernels.rows, width];
        let least = n.div_ceil(columns).max(1);
        let mut grid = Grid { sizes: [m, n], counts: [1, least], grains };
        if threads == 1 {
            return grid;
        }
        let most = [m.div_ceil(grains[0]), n.div_ceil(grains[1])];
        let mut best = f64::MAX;
        for rows in 1..=most[0].min(8 * threads) {
            // As few columns as the cache asks for, or enough rectangles for one to four rounds.
            let wanted = (1..=4)
                .map(|rounds| (rounds * threads).div_ceil(rows).clamp(least, most[1].max(least)));
            for columns in std::iter::once(least).chain(wanted) {
                let counts = [rows, columns];
                let time =
                    time(&Grid { sizes: [m, n], counts, grains }, depth, threads, kernels.lanes);
                if time < best {
                    best = time;
                    grid.counts = counts;
                }
            }
        }
        grid
    }

    pub(super) fn tasks(&self) -> usize {
        self.counts[0] * self.counts[1]
    }

    pub(super) fn rows(&self, task: usize) -> Range<usize> {
        self.range(0, task / self.counts[1])
    }

    pub(super) fn columns(&self, task: usize) -> Range<usize> {
        self.range(1, task % self.counts[1])
    }

    fn range(&self, side: usize, index: usize) -> Range<usize> {
        let grains = self.sizes[side].div_ceil(self.grains[side]);
        let edge = |index: usize| {
            self.sizes[side].min(index * grains / self.counts[side] * self.grains[side])
        };
        edge(index)..edge(index + 1)
    }
}

/// A guess at the time for one block of k, in vectors multiplied and added.
fn time(grid: &Grid, depth: usize, threads: usize, lanes: usize) -> f64 {
    let [rows, columns] = [0, 1].map(|side| {
        let grains = grid.sizes[side].div_ceil(grid.grains[side]);
        (grains.div_ceil(grid.counts[side]) * grid.grains[side]) as f64
    });
    let depth = depth.max(1) as f64;
    let task =
        rows * columns * depth / lanes as f64 + PACKING * (rows + columns) * depth + BEGINNING;
    // Threads do not go at the same speed: the last rectangle is waited for.
    let rounds = grid.tasks().div_ceil(threads) as f64;
    task * (rounds + 0.3)
}

#[cfg(test)]
mod tests {
    use super::super::micro;
    use super::*;

    #[test]
    fn rectangles_cover_the_result() {
        for threads in [1, 2, 3, 64] {
            for (m, n, depth) in
                [(1, 1, 1), (7, 5000, 3), (5000, 7, 384), (517, 333, 211), (64, 64, 0)]
            {
                let grid = Grid::new([m, n, depth], threads, micro::for_f32(), 4);
                let mut seen = vec![0_u8; m * n];
                for task in 0..grid.tasks() {
                    for i in grid.rows(task) {
                        for j in grid.columns(task) {
                            seen[i * n + j] += 1;
                        }
                    }
                }
                assert!(seen.iter().all(|&times| times == 1), "{threads} {m} {n} {depth}");
            }
        }
    }
}
