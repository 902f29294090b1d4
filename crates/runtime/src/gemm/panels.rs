//! A tile's rows times panels of packed columns, one panel after the other; with kernels so fast that all but the first
//! cache is too far for them, some steps of several panels at a time, whose sums stay near until they are whole.

use std::ops::Range;

use super::micro::{Ask, Kernels, Tile};
use super::{Compute, Job, Rows, is_arithmetic};

/// Columns of the right operand that lie together where they are.
#[derive(Clone, Copy)]
pub(super) struct InPlace<T> {
    pub from: *const T,
    /// From one step of k to the next.
    pub step: isize,
}

/// Packed columns of the right operand.
pub(super) struct Packed<'a, T> {
    /// The first panel, and how far it is from one to the next.
    pub b: *mut T,
    pub size: usize,
    /// Where the columns are, if the panels that are filled are yet to be packed: kernels do so while they multiply. Not
    /// with [`Kernels::blocks`] or [`Compute::HEAD`].
    pub fresh: Option<InPlace<T>>,
    /// Values along k.
    pub values: usize,
    /// Where the columns go in the result, of all panels, and whether they lie together there.
    pub places: &'a [isize],
    pub dense: bool,
    /// Whether the products are added to what is there.
    pub add: bool,
}

/// Panels whose sums stay near.
const GROUP: usize = 4;
/// Values along k of the rows and of a panel that do, too.
const CHUNK: usize = 128;

/// Values that there has to be room for beside tiles.
pub(super) fn spare<T>(kernels: &Kernels<T>) -> usize {
    GROUP * kernels.rows * 2 * kernels.lanes
}

impl<T: Compute> Job<'_, T> {
    /// Multiplies rows of the left operand, which go to these places, with some of the panels. `before` is told of each
    /// panel before it is read, and says what to ask memory for meanwhile.
    ///
    /// # Safety
    ///
    /// As for [`super::multiply`]; the rows and panels are there, and at `spare` there is room for [`spare`] values.
    #[inline(always)]
    pub(super) unsafe fn put_panels(
        &self,
        (a, how): (*const T, Rows),
        rows: &[isize],
        packed: &Packed<'_, T>,
        panels: Range<usize>,
        spare: *mut T,
        mut before: impl FnMut(usize) -> Option<Ask>,
    ) {
        let lanes = self.kernels.lanes;
        let width = 2 * lanes;
        let row_step = is_arithmetic(rows);
        let task = |panel: usize, ask: Option<Ask>| {
            let columns = panel * width..packed.places.len().min((panel + 1) * width);
            let columns = &packed.places[columns];
            let kept = packed.b.wrapping_add(panel * packed.size);
            let (b, b_step, keep) = match packed.fresh.filter(|_| columns.len() == width) {
                Some(InPlace { from, step }) => (from.wrapping_add(panel * width), step, kept),
                None => {
                    let b = kept.wrapping_add(T::HEAD * width).cast_const();
                    (b, width as isize, std::ptr::null_mut())
                }
            };
            let a_step = match how {
                Rows::Together(step) => step,
                Rows::Apart(_) => 1,
            };
            let c = (spare, columns.len().next_multiple_of(lanes) as isize);
            let start = if T::HEAD > 0 { kept } else { std::ptr::null() };
            let task = Tile::new(packed.values, (a, a_step), (b, b_step), c);
            let task = Tile { start, keep, add: packed.add, ask, ..task };
            (task, columns, packed.dense || is_arithmetic(columns) == Some(1))
        };
        if !self.kernels.blocks || packed.values <= CHUNK {
            for panel in panels {
                let (task, columns, dense) = task(panel, before(panel));
                // SAFETY: the caller's promise.
                unsafe { self.put(task, how, rows, row_step, columns, dense) };
            }
            return;
        }
        for first in panels.clone().step_by(GROUP) {
            let group = first..panels.end.min(first + GROUP);
            let mut asks = [None; GROUP];
            asks.iter_mut().zip(group.clone()).for_each(|(ask, panel)| *ask = before(panel));
            for begin in (0..packed.values).step_by(CHUNK) {
                let end = packed.values.min(begin + CHUNK);
                for panel in group.clone() {
                    let asked = (begin / self.kernels.asking()) as isize;
                    let ask = asks[panel - first].map(|Ask { from, step }| Ask {
                        from: from.wrapping_offset(asked * step),
                        step,
                    });
                    let (mut task, columns, _) = task(panel, ask);
                    let sums = spare.wrapping_add((panel - first) * rows.len() * width);
                    task.k = end - begin;
                    task.a = a.wrapping_add(begin * rows.len());
                    task.b = task.b.wrapping_add(begin * width);
                    task.c = sums;
                    task.add = begin > 0;
                    let kernel =
                        self.kernels.table[task.c_step as usize / lanes - 1][rows.len() - 1];
                    // SAFETY: the caller's promise.
                    unsafe {
                        kernel(&task);
                        if end == packed.values {
                            let width = task.c_step as usize;
                            self.write(sums, width, rows, columns, packed.add);
                        }
                    }
                }
            }
        }
    }
}
