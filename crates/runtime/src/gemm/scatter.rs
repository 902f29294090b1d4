//! Tiles written to where their rows and columns are in the result, which need not lie in lines.

use super::sets::for_each_set;
use super::{Compute, is_arithmetic};

for_each_set! {
    /// Writes a tile to its places in the result, or adds it to what is there.
    ///
    /// # Safety
    ///
    /// The tile has a row of so many lanes for each row of the result; its places are writable.
    pub(super) unsafe fn scatter[T: Compute] = scatter_body(
        tile: *const T, lanes: usize, c: *mut T, rows: &[isize], columns: &[isize], add: bool
    ) -> ()
}

/// # Safety
///
/// See [`scatter`].
#[inline(always)]
unsafe fn scatter_body<T: Compute>(
    tile: *const T,
    lanes: usize,
    c: *mut T,
    rows: &[isize],
    columns: &[isize],
    add: bool,
) {
    let dense = is_arithmetic(columns) == Some(1);
    for (i, &row) in rows.iter().enumerate() {
        // SAFETY: the caller's promise.
        unsafe {
            let values = std::slice::from_raw_parts(tile.add(i * lanes), columns.len());
            if dense {
                let into = c.offset(row + columns[0]);
                let into = std::slice::from_raw_parts_mut(into, values.len());
                for (target, &value) in into.iter_mut().zip(values) {
                    *target = if add { target.add(value) } else { value };
                }
            } else {
                for (&column, &value) in columns.iter().zip(values) {
                    let target = &mut *c.offset(row + column);
                    *target = if add { target.add(value) } else { value };
                }
            }
        }
    }
}
