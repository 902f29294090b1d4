//! Copies between dense row-major bytes and memory with strides or another dimension order: the
//! form in which hosts hand arrays over and want them back.

use rxla_base::{Error, Result};
use rxla_hlo::literal::Bytes;

/// Where the elements of a strided array lie, in bytes from its element at index zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extent {
    /// Not above zero: how far below the first element the lowest byte is.
    pub lowest: i64,
    /// One past the highest byte.
    pub end: i64,
}

/// The bytes that an array with these byte strides touches; `None` on overflow or a negative size.
pub fn extent(dims: &[i64], strides: &[i64], width: usize) -> Option<Extent> {
    let mut lowest = 0i64;
    let mut highest = 0i64;
    if dims.contains(&0) {
        return Some(Extent { lowest: 0, end: 0 });
    }
    for (&dim, &stride) in dims.iter().zip(strides) {
        let reach = stride.checked_mul(dim.checked_sub(1).filter(|&last| last >= 0)?)?;
        if reach < 0 {
            lowest = lowest.checked_add(reach)?;
        } else {
            highest = highest.checked_add(reach)?;
        }
    }
    Some(Extent { lowest, end: highest.checked_add(i64::try_from(width).ok()?)? })
}

/// Byte strides of a dense array whose dimensions lie in the given order; `None` on overflow or if
/// the order is no permutation.
pub fn dense_strides(dims: &[i64], minor_to_major: &[i64], width: usize) -> Option<Vec<i64>> {
    if minor_to_major.len() != dims.len() {
        return None;
    }
    let mut strides = vec![None; dims.len()];
    let mut stride = i64::try_from(width).ok()?;
    for &dimension in minor_to_major {
        let dimension = usize::try_from(dimension).ok()?;
        let slot = strides.get_mut(dimension)?;
        if slot.replace(stride).is_some() {
            return None;
        }
        stride = stride.checked_mul(dims[dimension].max(1))?;
    }
    strides.into_iter().collect()
}

/// Row-major byte strides; `None` on overflow.
pub fn row_major_strides(dims: &[i64], width: usize) -> Option<Vec<i64>> {
    let order: Vec<i64> = (0..dims.len() as i64).rev().collect();
    dense_strides(dims, &order, width)
}

/// Whether these strides are those of a dense row-major array. Dimensions of size one may have any.
pub fn is_row_major(dims: &[i64], strides: &[i64], width: usize) -> bool {
    dims.contains(&0)
        || row_major_strides(dims, width).is_some_and(|expected| {
            dims.iter()
                .zip(strides)
                .zip(expected)
                .all(|((&dim, &stride), e)| dim == 1 || stride == e)
        })
}

/// Runs `$body` with `$w` a constant for the usual widths, so that copies of elements are single moves.
macro_rules! with_width {
    ($width:expr, |$w:ident| $body:expr) => {
        with_width!($width, $w, $body, 1 2 4 8 16)
    };
    ($width:expr, $w:ident, $body:expr, $($usual:literal)*) => {
        match $width {
            $($usual => {
                #[allow(non_upper_case_globals)]
                const $w: usize = $usual;
                $body
            })*
            $w => $body,
        }
    };
}

/// Copies strided memory into dense row-major bytes. `source` starts at the array's lowest byte,
/// as [`extent`] tells it.
pub fn read_strided(source: &[u8], dims: &[i64], strides: &[i64], width: usize) -> Result<Bytes> {
    let (count, _) = checked(source.len(), dims, strides, width)?;
    let mut bytes = Bytes::zeroed(count.checked_mul(width).ok_or_else(too_large)?)?;
    read_strided_into(source, bytes.make_mut(), dims, strides, width)?;
    Ok(bytes)
}

/// As [`read_strided`], into bytes that are there.
pub fn read_strided_into(
    source: &[u8],
    target: &mut [u8],
    dims: &[i64],
    strides: &[i64],
    width: usize,
) -> Result<()> {
    let (count, extent) = checked(source.len(), dims, strides, width)?;
    is_as_long(target.len(), count, width)?;
    // In bounds: `checked` has compared the extent with the slice.
    with_width!(width, |w| for_each_run(dims, strides, |run| {
        let mut from = run.offset - extent.lowest;
        for element in target[run.place * w..][..run.count * w].chunks_exact_mut(w) {
            element.copy_from_slice(&source[from as usize..][..w]);
            from += run.stride;
        }
    }));
    Ok(())
}

/// Copies dense row-major bytes into strided memory; `target` starts at the lowest byte.
pub fn write_strided(
    source: &[u8],
    target: &mut [u8],
    dims: &[i64],
    strides: &[i64],
    width: usize,
) -> Result<()> {
    let (count, extent) = checked(target.len(), dims, strides, width)?;
    is_as_long(source.len(), count, width)?;
    with_width!(width, |w| for_each_run(dims, strides, |run| {
        let mut to = run.offset - extent.lowest;
        for element in source[run.place * w..][..run.count * w].chunks_exact(w) {
            target[to as usize..][..w].copy_from_slice(element);
            to += run.stride;
        }
    }));
    Ok(())
}

fn is_as_long(bytes: usize, count: usize, width: usize) -> Result<()> {
    match count.checked_mul(width) == Some(bytes) {
        true => Ok(()),
        false => Err(Error::internal(format!(
            "{bytes} bytes given for {count} elements of {width} bytes"
        ))),
    }
}

fn too_large() -> Error {
    Error::invalid_argument("the sizes or strides of a strided array overflow")
}

fn checked(
    available: usize,
    dims: &[i64],
    strides: &[i64],
    width: usize,
) -> Result<(usize, Extent)> {
    if dims.len() != strides.len() {
        return Err(Error::invalid_argument(format!(
            "an array of rank {} has {} strides",
            dims.len(),
            strides.len()
        )));
    }
    let mut count = 1usize;
    for &dim in dims {
        let dim = usize::try_from(dim).map_err(|_| {
            Error::invalid_argument(format!("a dimension has the negative size {dim}"))
        })?;
        count = count.checked_mul(dim).ok_or_else(too_large)?;
    }
    let extent = extent(dims, strides, width).ok_or_else(too_large)?;
    let needed = extent.end.checked_sub(extent.lowest).ok_or_else(too_large)?;
    if needed > i64::try_from(available).map_err(|_| too_large())? {
        return Err(Error::invalid_argument(format!(
            "a strided array touches {needed} bytes, {available} are there"
        )));
    }
    Ok((count, extent))
}

/// Elements that follow each other in row-major order.
struct Run {
    /// Of the first of them in that order.
    place: usize,
    count: usize,
    /// Where the first one is, in bytes, and how far from it the next one.
    offset: i64,
    stride: i64,
}

/// Visits all elements. The last two dimensions are visited by tiles, so that both sides stay in the cache when
/// one is the other transposed.
fn for_each_run(dims: &[i64], strides: &[i64], mut visit: impl FnMut(Run)) {
    const TILE: usize = 16;
    let [outer @ .., rows, columns] = dims else {
        let count = dims.first().map_or(1, |&size| size as usize);
        let stride = strides.first().copied().unwrap_or(0);
        return visit(Run { place: 0, count, offset: 0, stride });
    };
    let (rows, columns) = (*rows as usize, *columns as usize);
    let [outer_strides @ .., down, across] = strides else { return };
    let mut first = 0;
    for_each_offset(outer, outer_strides, |start| {
        for top in (0..rows).step_by(TILE) {
            for left in (0..columns).step_by(TILE) {
                let count = TILE.min(columns - left);
                for i in top..rows.min(top + TILE) {
                    let place = first + i * columns + left;
                    let offset = start + i as i64 * down + left as i64 * across;
                    visit(Run { place, count, offset, stride: *across });
                }
            }
        }
        first += rows * columns;
    });
}

/// Visits the byte offset of each element in row-major order.
fn for_each_offset(dims: &[i64], strides: &[i64], mut visit: impl FnMut(i64)) {
    if dims.contains(&0) {
        return;
    }
    let mut index = vec![0i64; dims.len()];
    let mut offset = 0i64;
    loop {
        visit(offset);
        let mut dimension = dims.len();
        loop {
            if dimension == 0 {
                return;
            }
            dimension -= 1;
            index[dimension] += 1;
            offset += strides[dimension];
            if index[dimension] < dims[dimension] {
                break;
            }
            offset -= strides[dimension] * index[dimension];
            index[dimension] = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn column_major_is_read_and_written() {
        // [[1, 2, 3], [4, 5, 6]] with columns together.
        let memory = [1u8, 4, 2, 5, 3, 6];
        let strides = dense_strides(&[2, 3], &[0, 1], 1).unwrap();
        assert_eq!(strides, [1, 2]);
        let bytes = read_strided(&memory, &[2, 3], &strides, 1).unwrap();
        assert_eq!(bytes.as_slice(), [1, 2, 3, 4, 5, 6]);
        let mut back = [0; 6];
        write_strided(bytes.as_slice(), &mut back, &[2, 3], &strides, 1).unwrap();
        assert_eq!(back, memory);
    }

    #[test]
    fn negative_and_zero_strides_are_read() {
        // The array starts at its last element and walks down.
        let bytes = read_strided(&[1, 2, 3], &[2, 3], &[0, -1], 1).unwrap();
        assert_eq!(bytes.as_slice(), [3, 2, 1, 3, 2, 1]);
    }

    #[test]
    fn tiles_cover_everything() {
        for width in [1, 2, 3, 4, 8, 16] {
            for dims in [vec![2, 3, 37], vec![40, 17], vec![5], vec![], vec![3, 0, 2]] {
                let count: i64 = dims.iter().product();
                let bytes: Vec<u8> =
                    (0..count as usize * width).map(|i| (i * 7 % 251) as u8).collect();
                let order: Vec<i64> = (0..dims.len() as i64).collect();
                let strides = dense_strides(&dims, &order, width).unwrap();
                let mut turned = vec![0; bytes.len()];
                write_strided(&bytes, &mut turned, &dims, &strides, width).unwrap();
                let mut at = 0;
                for_each_offset(&dims, &strides, |offset| {
                    let from = offset as usize;
                    assert_eq!(turned[from..from + width], bytes[at..at + width]);
                    at += width;
                });
                let back = read_strided(&turned, &dims, &strides, width).unwrap();
                assert_eq!(back.as_slice(), bytes);
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let error = read_strided(&[0; 5], &[2, 3], &[3, 1], 1).unwrap_err();
        assert_eq!(error.message, "a strided array touches 6 bytes, 5 are there");
        assert!(read_strided(&[0; 5], &[i64::MAX, 2], &[i64::MAX, 1], 1).is_err());
        assert!(read_strided(&[0; 5], &[-1], &[1], 1).is_err());
        assert!(read_strided(&[0; 5], &[1], &[], 1).is_err());
        assert_eq!(dense_strides(&[2, 2], &[0, 0], 4), None);
        assert_eq!(dense_strides(&[2, 2], &[0, 5], 4), None);
    }

    #[test]
    fn row_major_ignores_strides_of_unit_dimensions() {
        assert!(is_row_major(&[2, 1, 3], &[12, 999, 4], 4));
        assert!(!is_row_major(&[2, 3], &[4, 8], 4));
        assert!(is_row_major(&[0, 3], &[1, 1], 4));
    }
}
