//! Kernels for the unit that Intel's servers have for products since 2023 (AMX): an instruction multiplies sixteen rows
//! of sixteen values of four bytes with sixteen rows more, and adds the products to tiles of sums. That is sixteen times
//! as many bf16 in a cycle as fused multiply-adds of f32, and twice as many bytes.
//!
//! Left operands are packed in blocks of steps for it ([`pack_left`]). Of bf16, a block's products are summed by
//! themselves before they are added to what came before, and numbers below the normal ones count as zeros.
//! How k is cut into blocks depends on its length alone, so results are the same for every shape of tiles.

use std::arch::asm;
use std::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};
use std::cell::Cell;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::sync::OnceLock;

use super::{Ask, Kernels, Tile};
use crate::gemm::Compute;
use crate::gemm::pack::{Source, Steps, pack};
use crate::gemm::transpose;
use crate::gemm::units::{Halves, MixedBytes, SignedBytes};

/// Rows of a tile, and values in one of them.
const SIDE: usize = 16;
/// Bytes in a row of a tile.
const LINE: usize = 4 * SIDE;
/// Rows of the sums that a kernel computes at most: two tiles one above the other.
const ROWS: usize = 2 * SIDE;

/// Whether there is such a unit, and the system lets this process use it: asked for once, for all threads.
pub(crate) fn is_there() -> bool {
    static KNOWN: OnceLock<bool> = OnceLock::new();
    *KNOWN.get_or_init(|| has_instructions() && may_be_used())
}

/// Bits of leaf 7 of `cpuid`: products of bf16, tiles, products of bytes.
fn has_instructions() -> bool {
    const ALL: u32 = 1 << 22 | 1 << 24 | 1 << 25;
    use std::arch::x86_64::{__cpuid, __cpuid_count};
    __cpuid(0).eax >= 7 && __cpuid_count(7, 0).edx & ALL == ALL
}

/// Linux keeps room for the tiles of a process's threads from when it is asked to (5.16 and later), and refuses if
/// a thread's stack for signals is too small for them.
fn may_be_used() -> bool {
    #[cfg(target_os = "linux")]
    {
        // Numbers of Linux's `asm/prctl.h` and of the state's part for tiles.
        const ARCH_REQ_XCOMP_PERM: libc::c_long = 0x1023;
        const XFEATURE_XTILEDATA: libc::c_long = 18;
        // SAFETY: asks for a permission.
        unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0 }
    }
    #[cfg(not(target_os = "linux"))]
    false
}

/// How large tiles are, as `ldtilecfg` wants it. Tiles 0 to 3 are sums, two by two; 4 and 5 the left operand's rows, 6
/// and 7 the right one's columns.
#[repr(C, align(64))]
struct Shapes([u8; 64]);

impl Shapes {
    /// For so many rows, vectors of columns, and values along k.
    const fn new(rows: usize, vectors: usize, values: usize) -> Shapes {
        let upper = if rows < SIDE { rows } else { SIDE };
        let (lower, right) = (rows - upper, vectors > 1);
        let mut shapes = [0; 64];
        let tiles = [
            (upper, LINE, true),
            (upper, LINE, right),
            (lower, LINE, true),
            (lower, LINE, right),
            (upper, 4 * values, true),
            (lower, 4 * values, true),
            (values, LINE, true),
            (values, LINE, right),
        ];
        shapes[0] = 1;
        let mut tile = 0;
        while tile < tiles.len() {
            let (rows, bytes, used) = tiles[tile];
            if rows > 0 && used {
                shapes[16 + 2 * tile] = bytes as u8;
                shapes[48 + tile] = rows as u8;
            }
            tile += 1;
        }
        Shapes(shapes)
    }

    /// # Safety
    ///
    /// [`is_there`].
    #[inline(always)]
    unsafe fn load(&self) {
        // SAFETY: the caller's promise; there are 64 bytes of a valid shape.
        unsafe { asm!("ldtilecfg [{}]", in(reg) self, options(nostack, readonly)) };
    }
}

thread_local! {
    /// Which shapes this thread has loaded since it began a [`Session`]: none outside of any.
    static LOADED: Cell<Option<[u8; 3]>> = const { Cell::new(None) };
}

/// While there is one, kernels leave the shapes of tiles as they are for the next ones, since loading them takes
/// as long as a few products; at its end nothing is left in tiles, which takes other threads' time otherwise.
pub(crate) struct Session(PhantomData<*const ()>);

impl Session {
    pub(crate) fn begin() -> Session {
        LOADED.set(Some([0; 3]));
        Session(PhantomData)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if LOADED.take().is_some_and(|shape| shape != [0; 3]) {
            // SAFETY: shapes were loaded, so there are tiles.
            unsafe { release() };
        }
    }
}

/// # Safety
///
/// [`is_there`].
unsafe fn release() {
    // SAFETY: the caller's promise.
    unsafe { asm!("tilerelease", options(nostack)) };
}

/// Has tiles shaped for so many rows, vectors and values.
///
/// # Safety
///
/// [`is_there`]. What tiles hold may be lost.
#[inline(always)]
unsafe fn shape(rows: usize, vectors: usize, values: usize) {
    let wanted = [rows as u8, vectors as u8, values as u8];
    let loaded = LOADED.get();
    if loaded == Some(wanted) {
        return;
    }
    // SAFETY: the caller's promise.
    unsafe { Shapes::new(rows, vectors, values).load() };
    if loaded.is_some() {
        LOADED.set(Some(wanted));
    }
}

/// An instruction that needs no more than these, or not even them.
macro_rules! one_tile {
    ($instruction:literal, $sums:ident, $step:ident) => {
        asm!(
            $instruction,
            "/* {sums} {step} */",
            sums = in(reg) $sums,
            step = in(reg) $step,
            options(nostack)
        )
    };
}

/// Sets the sums to zero, or moves them between tiles and memory, where rows are so many bytes apart: one or two tiles
/// high, one or two wide.
macro_rules! move_sums {
    ($name:ident, $pointer:ty, $first:literal, $second:literal, $third:literal, $fourth:literal) => {
        /// # Safety
        ///
        /// The sums are there; shapes are loaded.
        #[inline(always)]
        unsafe fn $name<const HEIGHT: usize, const VECTORS: usize>(sums: $pointer, step: usize) {
            let (tall, wide) = (HEIGHT > SIDE, VECTORS > 1);
            let lower = sums.wrapping_byte_add(SIDE * step);
            // SAFETY: the caller's promise.
            unsafe {
                one_tile!($first, sums, step);
                if wide {
                    one_tile!($second, sums, step);
                }
                if tall {
                    one_tile!($third, lower, step);
                }
                if tall && wide {
                    one_tile!($fourth, lower, step);
                }
            }
        }
    };
}

move_sums!(
    clear_sums,
    *const u8,
    "tilezero tmm0",
    "tilezero tmm1",
    "tilezero tmm2",
    "tilezero tmm3"
);
move_sums!(
    load_sums,
    *const u8,
    "tileloadd tmm0, [{sums} + {step}]",
    "tileloadd tmm1, [{sums} + {step} + 64]",
    "tileloadd tmm2, [{sums} + {step}]",
    "tileloadd tmm3, [{sums} + {step} + 64]"
);
move_sums!(
    store_sums,
    *mut u8,
    "tilestored [{sums} + {step}], tmm0",
    "tilestored [{sums} + {step} + 64], tmm1",
    "tilestored [{sums} + {step}], tmm2",
    "tilestored [{sums} + {step} + 64], tmm3"
);

/// Blocks of steps that are multiplied.
struct Blocks {
    a: *const u8,
    /// Bytes from one row of a block to the next, and from one block to the next.
    a_row: usize,
    a_block: usize,
    b: *const u8,
    b_row: usize,
    count: usize,
    /// What memory is asked for meanwhile: [`ASKED`] lines in each block.
    ask: Ask,
}

/// Lines of memory asked for in a block.
const ASKED: usize = SIDE / super::ASKING_IN_BLOCKS;
const _: () = assert!(ASKED == 8);

/// Goes through blocks, at least one, with these instructions for each.
macro_rules! for_each_block {
    ($blocks:ident, $($instruction:expr),*) => {
        asm!(
            "2:",
            $($instruction,)*
            "prefetcht1 [{ask}]",
            "prefetcht1 [{ask} + {ask_step}]",
            "lea {ask}, [{ask} + 2*{ask_step}]",
            "prefetcht1 [{ask}]",
            "prefetcht1 [{ask} + {ask_step}]",
            "lea {ask}, [{ask} + 2*{ask_step}]",
            "prefetcht1 [{ask}]",
            "prefetcht1 [{ask} + {ask_step}]",
            "lea {ask}, [{ask} + 2*{ask_step}]",
            "prefetcht1 [{ask}]",
            "prefetcht1 [{ask} + {ask_step}]",
            "lea {ask}, [{ask} + 2*{ask_step}]",
            "add {a}, {a_block}",
            "add {lower}, {a_block}",
            "add {b}, {b_block}",
            "dec {count}",
            "jnz 2b",
            a = inout(reg) $blocks.a => _,
            lower = inout(reg) $blocks.a.wrapping_add(SIDE * $blocks.a_row) => _,
            a_row = in(reg) $blocks.a_row,
            a_block = in(reg) $blocks.a_block,
            b = inout(reg) $blocks.b => _,
            b_row = in(reg) $blocks.b_row,
            b_block = in(reg) SIDE * $blocks.b_row,
            count = inout(reg) $blocks.count => _,
            ask = inout(reg) $blocks.ask.from => _,
            ask_step = in(reg) $blocks.ask.step,
            options(nostack, readonly),
        )
    };
}

/// The kernels for a type, whose blocks an instruction multiplies.
macro_rules! kernels {
    ($kernels:ident, $name:ident, $value:ty, $multiply:literal) => {
        /// # Safety
        ///
        /// See [`super::Kernel`].
        #[target_feature(enable = "avx512f")]
        unsafe fn $name<const HEIGHT: usize, const VECTORS: usize>(tile: &Tile<$value>) {
            let multiply = |blocks: &Blocks| {
                // SAFETY: the tile's promise; shapes are loaded.
                unsafe {
                    match (HEIGHT > SIDE, VECTORS > 1) {
                        (true, true) => for_each_block!(
                            blocks,
                            "tileloadd tmm4, [{a} + {a_row}]",
                            "tileloadd tmm6, [{b} + {b_row}]",
                            "tileloadd tmm7, [{b} + {b_row} + 64]",
                            concat!($multiply, " tmm0, tmm4, tmm6"),
                            "tileloadd tmm5, [{lower} + {a_row}]",
                            concat!($multiply, " tmm1, tmm4, tmm7"),
                            concat!($multiply, " tmm2, tmm5, tmm6"),
                            concat!($multiply, " tmm3, tmm5, tmm7")
                        ),
                        (true, false) => for_each_block!(
                            blocks,
                            "tileloadd tmm6, [{b} + {b_row}]",
                            "tileloadd tmm4, [{a} + {a_row}]",
                            "tileloadd tmm5, [{lower} + {a_row}]",
                            concat!($multiply, " tmm0, tmm4, tmm6"),
                            concat!($multiply, " tmm2, tmm5, tmm6")
                        ),
                        (false, true) => for_each_block!(
                            blocks,
                            "tileloadd tmm4, [{a} + {a_row}]",
                            "tileloadd tmm6, [{b} + {b_row}]",
                            "tileloadd tmm7, [{b} + {b_row} + 64]",
                            concat!($multiply, " tmm0, tmm4, tmm6"),
                            concat!($multiply, " tmm1, tmm4, tmm7")
                        ),
                        (false, false) => for_each_block!(
                            blocks,
                            "tileloadd tmm4, [{a} + {a_row}]",
                            "tileloadd tmm6, [{b} + {b_row}]",
                            concat!($multiply, " tmm0, tmm4, tmm6")
                        ),
                    }
                }
            };
            // SAFETY: the caller's promise.
            unsafe { compute::<$value, HEIGHT, VECTORS>(tile, multiply) };
        }

        pub(super) static $kernels: Kernels<$value> = Kernels {
            lanes: SIDE,
            rows: ROWS,
    table: table!($name, thirty-two rows),
            blocks: true,
        };
    };
}

kernels!(HALVES, halves, Halves, "tdpbf16ps");
kernels!(SIGNED_BYTES, signed_bytes, SignedBytes, "tdpbssd");
kernels!(MIXED_BYTES, mixed_bytes, MixedBytes, "tdpbusd");

/// Computes a tile; `multiply` goes through some blocks.
///
/// # Safety
///
/// See [`super::Kernel`]; the left operand is packed by [`pack_left`].
#[inline(always)]
unsafe fn compute<T: Compute, const HEIGHT: usize, const VECTORS: usize>(
    tile: &Tile<T>,
    multiply: impl Fn(&Blocks),
) {
    #[repr(C, align(64))]
    struct Room<T>([T; ROWS * 2 * SIDE]);
    let mut room = MaybeUninit::<Room<T>>::uninit();
    // Rows that cross lines of memory take several times as long.
    let in_place = tile.c.addr().is_multiple_of(LINE)
        && usize::try_from(tile.c_step).is_ok_and(|step| step.is_multiple_of(SIDE));
    let (sums, step) = match in_place {
        true => (tile.c.cast::<u8>(), tile.c_step as usize * size_of::<T>()),
        false => (room.as_mut_ptr().cast::<u8>(), VECTORS * LINE),
    };
    for i in 0..HEIGHT {
        let row = tile.c.wrapping_offset(i as isize * tile.c_step);
        for j in 0..VECTORS {
            // SAFETY: what is asked for ahead may lie anywhere.
            unsafe { _mm_prefetch::<_MM_HINT_ET0>(row.wrapping_add(j * SIDE).cast()) };
        }
    }
    let (whole, rest) = (tile.k / SIDE, tile.k % SIDE);
    let b_row = tile.b_step as usize * size_of::<T>();
    let at_hand = Ask { from: tile.a.cast(), step: 0 };
    // SAFETY: the caller's promise; the room is large enough for the sums.
    unsafe {
        shape(HEIGHT, VECTORS, if whole > 0 { SIDE } else { rest.max(1) });
        match tile.add && in_place {
            true => load_sums::<HEIGHT, VECTORS>(sums, step),
            false => clear_sums::<HEIGHT, VECTORS>(sums, step),
        }
        if whole > 0 {
            let (a, b, ask) = (tile.a.cast(), tile.b.cast(), tile.ask.unwrap_or(at_hand));
            let a_block = HEIGHT * LINE;
            multiply(&Blocks { a, a_row: LINE, a_block, b, b_row, count: whole, ask });
            if rest > 0 {
                store_sums::<HEIGHT, VECTORS>(sums, step);
                shape(HEIGHT, VECTORS, rest);
                load_sums::<HEIGHT, VECTORS>(sums, step);
            }
        }
        if rest > 0 {
            let a = tile.a.add(whole * SIDE * HEIGHT).cast();
            let b = tile.b.offset((whole * SIDE) as isize * tile.b_step).cast();
            let (a_row, ask) = (rest * size_of::<T>(), at_hand);
            multiply(&Blocks { a, a_row, a_block: 0, b, b_row, count: 1, ask });
        }
        store_sums::<HEIGHT, VECTORS>(sums, step);
        if LOADED.get().is_none() {
            release();
        }
        if !in_place {
            for i in 0..HEIGHT {
                let from = sums.cast::<[T; SIDE]>().add(i * VECTORS);
                let into = tile.c.offset(i as isize * tile.c_step).cast::<[T; SIDE]>();
                for j in 0..VECTORS {
                    let mut values = from.add(j).read();
                    if tile.add {
                        let there = into.add(j).read();
                        for lane in 0..SIDE {
                            values[lane] = there[lane].add(values[lane]);
                        }
                    }
                    into.add(j).write(values);
                }
            }
        }
    }
}

/// Packs a left operand in blocks of [`SIDE`] values along k, the last one of as many as are left: of each block all
/// rows, the values of a row together. `width` is the number of rows.
///
/// # Safety
///
/// See [`crate::gemm::pack::Pack`]; this processor has AVX-512.
pub(crate) unsafe fn pack_left<S: Source<T>, T: Compute>(
    matrix: *const u8,
    rows: &[isize],
    steps: &Steps,
    width: usize,
    _panel: usize,
    into: *mut T,
) {
    // SAFETY: the caller's promise.
    unsafe {
        if steps.is_one_run() {
            let from = matrix.cast::<S>().wrapping_offset(steps.places[0]);
            pack_lines(from, rows, steps.places.len(), into);
        } else {
            pack_turned::<S, T>(matrix, rows, steps, width, into);
        }
    }
}

/// Packs rows whose elements lie together.
///
/// # Safety
///
/// As for [`pack_left`].
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn pack_lines<S: Source<T>, T: Compute>(
    from: *const S,
    rows: &[isize],
    steps: usize,
    into: *mut T,
) {
    let whole = steps / (SIDE * S::STEPS);
    let mut to = into;
    for block in 0..whole {
        for &row in rows {
            let from = from.wrapping_offset(row).wrapping_add(block * SIDE * S::STEPS);
            // SAFETY: the caller's promise.
            unsafe {
                let values: [T; SIDE] = S::values(from);
                to.cast::<[T; SIDE]>().write(values);
                to = to.add(SIDE);
            }
        }
    }
    let first = whole * SIDE * S::STEPS;
    for &row in rows {
        let from = from.wrapping_offset(row);
        for step in (first..steps).step_by(S::STEPS) {
            let places = [0, 1, 2, 3].map(|part| (step + part) as isize);
            let count = S::STEPS.min(steps - step);
            // SAFETY: the caller's promise.
            unsafe {
                to.write(S::gather(from, &places[..count]));
                to = to.add(1);
            }
        }
    }
}

/// Packs rows as those of a right operand, and turns each block of that.
///
/// # Safety
///
/// As for [`pack_left`].
unsafe fn pack_turned<S: Source<T>, T: Compute>(
    matrix: *const u8,
    rows: &[isize],
    steps: &Steps,
    width: usize,
    into: *mut T,
) {
    const { assert!(size_of::<T>() == size_of::<i32>()) };
    let (side, turn) = transpose::best::<i32, i32>();
    assert!(side == SIDE && width <= ROWS);
    // SAFETY: the caller's promise.
    unsafe { pack::<S, T>(matrix, rows, steps, width, into) };
    let values = steps.places.len().div_ceil(S::STEPS);
    let mut block = [0_i32; SIDE * ROWS + SIDE];
    let mut turned = [0_i32; SIDE * SIDE];
    for first in (0..values).step_by(SIDE) {
        let count = SIDE.min(values - first);
        let to = into.wrapping_add(first * width).cast::<i32>();
        let places: [isize; SIDE] = std::array::from_fn(|value| (value * width) as isize);
        // SAFETY: there are so many values; blocks have room for a vector past the last row.
        unsafe {
            block.as_mut_ptr().copy_from_nonoverlapping(to, count * width);
            for row in (0..width).step_by(SIDE) {
                let height = SIDE.min(width - row);
                let from = block.as_ptr().add(row);
                let to = to.add(row * count);
                if count == SIDE && height == SIDE {
                    turn(from, &places, SIDE, to);
                } else {
                    turn(from, &places[..count], SIDE, turned.as_mut_ptr());
                    for (i, line) in turned.chunks_exact(SIDE).enumerate().take(height) {
                        to.add(i * count).copy_from_nonoverlapping(line.as_ptr(), count);
                    }
                }
            }
        }
    }
}
