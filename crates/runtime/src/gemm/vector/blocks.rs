//! Products of a few vectors with a matrix whose lines lie together: squares of results, of some lines and some
//! vectors, each added up along its line.

use super::super::Compute;
use super::ahead::{AHEAD, are_short, ask_for};
use super::{load, total};
use crate::element::Load;

/// Lines, and rows of the other operand, that are multiplied at once where that has a few.
pub(super) const BLOCK: usize = 4;
pub(super) type Block<T> =
    unsafe fn(x: &[T], matrix: *const u8, offset: isize, step: isize) -> Products<T>;

/// By lines.
pub(super) type Products<T> = [[T; BLOCK]; BLOCK];

/// Whether it takes longer to multiply lines with some vectors by kernels, step by step for up to a register of vectors,
/// than each line with each vector, which is added up in the end.
pub(super) fn pays(width: usize, vectors: usize, lines: usize, k: usize) -> bool {
    // Cycles, as measured on a Cascade Lake from 64 to 4096 steps: for each step of a line, for each line and vector, and
    // to put a value of a vector into order.
    const STEP: f64 = 1.9;
    const BETWEEN: f64 = 0.1;
    const SUM: f64 = 40.0;
    const ORDER: f64 = 5.0;
    let steps = (k * width) as f64 / 4.0;
    let vectors = vectors.next_multiple_of(BLOCK) as f64;
    let gain = steps * STEP - vectors * (SUM + steps * BETWEEN);
    gain * lines as f64 > vectors * k as f64 * ORDER
}

/// The function for [`super::Streams::block`].
#[inline(always)]
pub(super) fn block_of<S: Load<T>, T: Compute>() -> Option<Block<T>> {
    #[cfg(target_arch = "x86_64")]
    {
        use super::super::sets::{Set, best};

        /// # Safety
        ///
        /// See [`super::Streams::block`]; the lines are there, and the processor has the instructions.
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,fma")]
        unsafe fn avx512<S: Load<T>, T: Compute>(
            x: &[T],
            matrix: *const u8,
            offset: isize,
            step: isize,
        ) -> Products<T> {
            // SAFETY: the caller's promise.
            unsafe {
                match size_of::<T>() {
                    8 => block_body::<S, T, 8>(x, matrix, offset, step),
                    _ => block_body::<S, T, 16>(x, matrix, offset, step),
                }
            }
        }
        if best() == Set::Avx512 {
            return Some(avx512::<S, T>);
        }
    }
    None
}

/// # Safety
///
/// See [`super::Streams::block`]; the lines are there.
#[inline(always)]
unsafe fn block_body<S: Load<T>, T: Compute, const LANES: usize>(
    x: &[T],
    matrix: *const u8,
    offset: isize,
    step: isize,
) -> Products<T> {
    let k = x.len() / BLOCK;
    let start = matrix.cast::<S>().wrapping_offset(offset);
    let mut sums = [[[T::ZERO; LANES]; BLOCK]; BLOCK];
    let heads = k / LANES * LANES;
    let in_order = are_short(k, step, size_of::<S>());
    for place in (0..heads).step_by(LANES) {
        let mut values = [[T::ZERO; LANES]; BLOCK];
        for line in 0..BLOCK {
            let y = start.wrapping_offset(line as isize * step).wrapping_add(place);
            let next = match in_order {
                true => start.wrapping_add(BLOCK * (k + place) + line * LANES),
                false => y.wrapping_byte_add(AHEAD),
            };
            ask_for(next, LANES * size_of::<S>());
            // SAFETY: the caller's promise.
            values[line] = load(unsafe { y.cast::<[S; LANES]>().read_unaligned() });
        }
        for row in 0..BLOCK {
            // SAFETY: there are `k` values of each row.
            let x: [T; LANES] = unsafe { *x.as_ptr().add(row * k + place).cast() };
            for line in 0..BLOCK {
                for lane in 0..LANES {
                    sums[line][row][lane] =
                        x[lane].multiply_add(values[line][lane], sums[line][row][lane]);
                }
            }
        }
    }
    for line in 0..BLOCK {
        for place in heads..k {
            // SAFETY: the caller's promise.
            let value =
                unsafe { *start.wrapping_offset(line as isize * step).wrapping_add(place) }.load();
            for row in 0..BLOCK {
                let sum = &mut sums[line][row][place - heads];
                *sum = x[row * k + place].multiply_add(value, *sum);
            }
        }
    }
    sums.map(|line| line.map(total))
}
