//! Micro-kernels: a small tile of the result in registers, for each instruction set.
//!
//! Each element of the result is one chain of fused multiply-adds over k in ascending order, whatever
//! the tile ([`amx`] sums by blocks); so neither the shape of tiles nor who computes them shows in the result.

use super::Compute;
use super::sets::{self, Set};
use super::units::{Halves, MixedBytes, Pair, Quad, SignedBytes};

/// What a tile is computed from and where it goes. `a` holds a value of every row for each step of k, rows and steps so
/// many values apart ([`Kernels::blocks`] say otherwise; rows lie together but for the kernels of [`strided`]); `b` one
/// row of the tile for each step, `b_step` values apart. Every row of the sums begins as `start`, or as zeros if that is
/// null. With `add` the tile is added to what is there.
pub(crate) struct Tile<T> {
    pub k: usize,
    pub a: *const T,
    pub a_row: usize,
    pub a_step: usize,
    pub b: *const T,
    pub b_step: isize,
    pub start: *const T,
    /// Where the rows of `b` are written as they are read, one after the other, if not null. Not with [`Kernels::blocks`].
    pub keep: *mut T,
    pub c: *mut T,
    pub c_step: isize,
    pub add: bool,
    /// What memory is asked for meanwhile.
    pub ask: Option<Ask>,
    /// What kernels of [`strided`] ask for at each step: the next tile's rows, which may come from far away.
    pub soon: Ask,
}

/// Values along k in which one line of memory is asked for, at least: kernels that do fewer at once ask each time.
pub(crate) const ASKING: usize = 4;
/// The same for the kernels of [`amx`], of whose calls there are fewer.
pub(crate) const ASKING_IN_BLOCKS: usize = 2;

/// Lines of memory that are wanted later: from one on, so many bytes from one to the next. They may
/// be anywhere.
#[derive(Clone, Copy)]
pub(crate) struct Ask {
    pub from: *const u8,
    pub step: isize,
}

impl<T> Tile<T> {
    /// A tile that replaces what is there, of operands and into rows whose steps are given with them; the left operand's
    /// rows lie together.
    pub(crate) fn new(
        k: usize,
        (a, a_step): (*const T, usize),
        (b, b_step): (*const T, isize),
        (c, c_step): (*mut T, isize),
    ) -> Tile<T> {
        let (start, keep) = (std::ptr::null(), std::ptr::null_mut());
        // At hand.
        let soon = Ask { from: a.cast(), step: 0 };
        let (a_row, add, ask) = (1, false, None);
        Tile { k, a, a_row, a_step, b, b_step, start, keep, c, c_step, add, ask, soon }
    }
}

/// # Safety
///
/// The addresses may be accessed as [`Tile`] says, `c` by nobody else, and the processor has the
/// instruction set for which the kernel was chosen.
pub(crate) type Kernel<T> = unsafe fn(&Tile<T>);

/// The kernels of one instruction set: `table[vectors - 1][rows - 1]` computes `rows` rows of
/// `vectors` times `lanes` columns.
pub(crate) struct Kernels<T: 'static> {
    pub lanes: usize,
    pub rows: usize,
    pub table: [&'static [Kernel<T>]; 2],
    /// Whether they are those of [`amx`], which want the left operand in blocks.
    pub blocks: bool,
}

impl<T> Kernels<T> {
    /// Computes a tile of so many vectors and rows, at most as many as the kernels have.
    ///
    /// # Safety
    ///
    /// See [`Kernel`]; the kernels are those of this processor.
    #[inline(always)]
    pub(crate) unsafe fn run(&self, vectors: usize, rows: usize, tile: &Tile<T>) {
        // SAFETY: the caller's promise.
        unsafe { self.table[vectors - 1][rows - 1](tile) };
    }

    /// Values along k in which one line of memory is asked for.
    pub(crate) fn asking(&self) -> usize {
        if self.blocks { ASKING_IN_BLOCKS } else { ASKING }
    }

    /// For as long as kernels are called one after the other.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn session(&self) -> Option<amx::Session> {
        self.blocks.then(amx::Session::begin)
    }

    /// For as long as kernels are called one after the other.
    #[cfg(not(target_arch = "x86_64"))]
    pub(crate) fn session(&self) {}
}

macro_rules! table {
    ($kernel:ident, thirty-two rows) => {
        table!(
            $kernel, 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16
            17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32
        )
    };
    ($kernel:ident, twelve rows) => {
        table!(
            $kernel, 1 2 3 4 5 6 7 8 9 10 11 12
        )
    };
    ($kernel:ident, six rows) => {
        table!(
            $kernel, 1 2 3 4 5 6
        )
    };
    ($kernel:ident, four rows) => {
        table!(
            $kernel, 1 2 3 4
        )
    };
    ($kernel:ident, $($rows:literal)*) => {
        [&[$($kernel::<$rows, 1>),*], &[$($kernel::<$rows, 2>),*]]
    };
}

/// The plain kernel, which every instruction set can be compiled for.
///
/// # Safety
///
/// See [`Kernel`].
#[inline(always)]
unsafe fn plain<T: Compute, const LANES: usize, const ROWS: usize, const VECTORS: usize>(
    tile: &Tile<T>,
) {
    let mut sums = [[[T::ZERO; LANES]; VECTORS]; ROWS];
    if !tile.start.is_null() {
        // SAFETY: the tile's promise: as many values as it has columns.
        sums = [unsafe { *tile.start.cast::<[[T; LANES]; VECTORS]>() }; ROWS];
    }
    let (mut a, mut b, mut keep) = (tile.a, tile.b, tile.keep);
    for _ in 0..tile.k {
        // SAFETY: the tile's promise: so many values at each step.
        let row = unsafe { &*b.cast::<[[T; LANES]; VECTORS]>() };
        if !keep.is_null() {
            // SAFETY: the tile's promise: there is room for all rows.
            unsafe { keep.cast::<[[T; LANES]; VECTORS]>().write(*row) };
            keep = keep.wrapping_add(LANES * VECTORS);
        }
        for i in 0..ROWS {
            // SAFETY: as above.
            let x = unsafe { *a.add(i * tile.a_row) };
            for j in 0..VECTORS {
                for l in 0..LANES {
                    sums[i][j][l] = x.multiply_add(row[j][l], sums[i][j][l]);
                }
            }
        }
        a = a.wrapping_add(tile.a_step);
        b = b.wrapping_offset(tile.b_step);
    }
    for i in 0..ROWS {
        // SAFETY: as above, for `c`, which is ours alone.
        let row = unsafe {
            &mut *tile.c.offset(i as isize * tile.c_step).cast::<[[T; LANES]; VECTORS]>()
        };
        for j in 0..VECTORS {
            for l in 0..LANES {
                row[j][l] = if tile.add { row[j][l].add(sums[i][j][l]) } else { sums[i][j][l] };
            }
        }
    }
}

/// Calls a macro with a name, features, and what vectors need, for each set and type of floats.
#[cfg(target_arch = "x86_64")]
macro_rules! floats {
    ($kernel:ident) => {
        $kernel!(
            f32_avx512,
            "avx512f",
            f32,
            16,
            __m512,
            _mm512_setzero_ps,
            _mm512_loadu_ps,
            _mm512_storeu_ps,
            _mm512_set1_ps,
            _mm512_fmadd_ps,
            _mm512_add_ps
        );
        $kernel!(
            f64_avx512,
            "avx512f",
            f64,
            8,
            __m512d,
            _mm512_setzero_pd,
            _mm512_loadu_pd,
            _mm512_storeu_pd,
            _mm512_set1_pd,
            _mm512_fmadd_pd,
            _mm512_add_pd
        );
        $kernel!(
            f32_avx2,
            "avx2,fma",
            f32,
            8,
            __m256,
            _mm256_setzero_ps,
            _mm256_loadu_ps,
            _mm256_storeu_ps,
            _mm256_set1_ps,
            _mm256_fmadd_ps,
            _mm256_add_ps
        );
        $kernel!(
            f64_avx2,
            "avx2,fma",
            f64,
            4,
            __m256d,
            _mm256_setzero_pd,
            _mm256_loadu_pd,
            _mm256_storeu_pd,
            _mm256_set1_pd,
            _mm256_fmadd_pd,
            _mm256_add_pd
        );
    };
}

#[cfg(target_arch = "x86_64")]
pub(crate) mod amx;
pub(crate) mod strided;
#[cfg(target_arch = "x86_64")]
mod x86;

macro_rules! choose {
    ($function:ident, $scalar:ty, $lanes:literal, $($has:expr => $kernels:path),*) => {
        /// The best kernels that this processor can run.
        pub(super) fn $function() -> &'static Kernels<$scalar> {
            $(
                #[cfg(target_arch = "x86_64")]
                if $has {
                    return &$kernels;
                }
            )*
            /// # Safety
            ///
            /// See [`Kernel`].
            unsafe fn baseline<const ROWS: usize, const VECTORS: usize>(tile: &Tile<$scalar>) {
                // SAFETY: the caller's promise.
                unsafe { plain::<$scalar, $lanes, ROWS, VECTORS>(tile) }
            }
            static BASELINE: Kernels<$scalar> = Kernels {
                lanes: $lanes,
                rows: 4,
                table: table!(baseline, four rows),
                blocks: false,
            };
            &BASELINE
        }
    };
}

choose!(for_f32, f32, 4, avx512() => x86::F32_AVX512, avx2() => x86::F32_AVX2);
choose!(for_f64, f64, 2, avx512() => x86::F64_AVX512, avx2() => x86::F64_AVX2);
choose!(for_i32, i32, 4, avx512() => x86::I32_AVX512, avx2() => x86::I32_AVX2);
choose!(for_i64, i64, 2, avx512() => x86::I64_AVX512, avx2() => x86::I64_AVX2);
choose!(for_pairs, Pair, 4, sets::has_vnni() => x86::PAIRS_VNNI, avx2() => x86::PAIRS_AVX2);
choose!(for_quads, Quad, 4, sets::has_vnni() => x86::QUADS_VNNI);
choose!(
    for_halves, Halves, 4,
    sets::has_amx() => amx::HALVES, sets::has_fast_bf16() => x86::HALVES_BF16
);
choose!(for_signed_bytes, SignedBytes, 4, sets::has_amx() => amx::SIGNED_BYTES);
choose!(for_mixed_bytes, MixedBytes, 4, sets::has_amx() => amx::MIXED_BYTES);

#[cfg(target_arch = "x86_64")]
fn avx512() -> bool {
    sets::best() == Set::Avx512
}

#[cfg(target_arch = "x86_64")]
fn avx2() -> bool {
    sets::best() >= Set::Avx2
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every tile of a set against sums one by one.
    fn check<T: Compute + std::fmt::Debug>(
        kernels: &Kernels<T>,
        number: impl Fn(usize) -> T,
        sum: impl Fn(usize) -> T,
    ) {
        for depth in [5, 16, 37] {
            check_depth(kernels, &number, &sum, depth);
        }
    }

    /// The left operand, which lies step by step, as the kernels want it, and how far apart steps are.
    fn packed<T: Compute>(kernels: &Kernels<T>, a: &[T], rows: usize) -> (Vec<T>, usize) {
        if !kernels.blocks {
            let apart = |step: &[T]| [step, &[T::ZERO; 3]].concat();
            return (a.chunks(rows).flat_map(apart).collect(), rows + 3);
        }
        let blocks = a.chunks(16 * rows);
        let line = |block: &[T], i: usize| block.iter().skip(i).step_by(rows).copied().collect();
        let line_by_line = |block| (0..rows).flat_map(move |i| -> Vec<T> { line(block, i) });
        (blocks.flat_map(line_by_line).collect(), rows)
    }

    fn check_depth<T: Compute + std::fmt::Debug>(
        kernels: &Kernels<T>,
        number: &impl Fn(usize) -> T,
        sum: &impl Fn(usize) -> T,
        depth: usize,
    ) {
        for vectors in 1..=2 {
            for rows in 1..=kernels.rows {
                let width = vectors * kernels.lanes;
                let a: Vec<T> = (0..depth * rows).map(number).collect();
                let (packed, a_step) = packed(kernels, &a, rows);
                let b: Vec<T> = (0..depth * width).map(|i| number(i * 3 + 1)).collect();
                let first: Vec<T> = (0..width).map(|i| sum(i * 5 + 2)).collect();
                for (add, begun) in [(false, false), (true, false), (false, true), (true, true)] {
                    // Sums that start somewhere are those of `Quad` alone.
                    if begun && kernels.blocks {
                        continue;
                    }
                    let mut c: Vec<T> = (0..rows * width).map(sum).collect();
                    let start = c.clone();
                    let begins = if begun { first.as_ptr() } else { std::ptr::null() };
                    let (from, into) =
                        ((b.as_ptr(), width as isize), (c.as_mut_ptr(), width as isize));
                    let tile = Tile::new(depth, (packed.as_ptr(), a_step), from, into);
                    let tile = Tile { start: begins, add, ..tile };
                    // SAFETY: all is as large as the tile, and the processor has the set.
                    unsafe { kernels.run(vectors, rows, &tile) };
                    for (place, &value) in c.iter().enumerate() {
                        let (i, j) = (place / width, place % width);
                        let zero = if begun { first[j] } else { T::ZERO };
                        let sum = (0..depth).fold(zero, |sum, p| {
                            a[p * rows + i].multiply_add(b[p * width + j], sum)
                        });
                        let wanted = if add { start[place].add(sum) } else { sum };
                        assert_eq!(value, wanted, "{rows} rows, {vectors} vectors");
                    }
                }
            }
        }
    }

    /// Columns that are read where they are, with others beside them, are packed on the way.
    fn check_kept<T: Compute + std::fmt::Debug>(
        kernels: &Kernels<T>,
        number: impl Fn(usize) -> T,
        depth: usize,
    ) {
        for (vectors, rows) in (1..=2).flat_map(|v| (1..=kernels.rows).map(move |rows| (v, rows))) {
            let width = vectors * kernels.lanes;
            let b_step = width + 3;
            let a: Vec<T> = (0..depth * rows).map(&number).collect();
            let b: Vec<T> = (0..depth * b_step).map(|i| number(i * 3 + 1)).collect();
            let [mut sums, mut again] = [vec![T::ZERO; rows * width], vec![T::ZERO; rows * width]];
            let mut kept = vec![T::ZERO; depth * width + 1];
            let tile = |b: *const T, b_step: usize, keep: *mut T, c: &mut [T]| {
                let (a, c) = ((a.as_ptr(), rows), (c.as_mut_ptr(), width as isize));
                Tile { keep, ..Tile::new(depth, a, (b, b_step as isize), c) }
            };
            let kernel = kernels.table[vectors - 1][rows - 1];
            // SAFETY: all is as large as the tile, and the processor has the set.
            unsafe {
                kernel(&tile(b.as_ptr(), b_step, kept.as_mut_ptr(), &mut sums));
                kernel(&tile(kept.as_ptr(), width, std::ptr::null_mut(), &mut again));
            }
            assert_eq!(kept.pop(), Some(T::ZERO), "past the last row");
            let wanted: Vec<T> = b.chunks(b_step).flat_map(|row| &row[..width]).copied().collect();
            assert_eq!(kept, wanted, "{rows} rows, {vectors} vectors");
            assert_eq!(sums, again, "{rows} rows, {vectors} vectors");
        }
    }

    #[test]
    fn columns_are_kept() {
        let small = |i: usize| (i * 7 % 11) as i16 - 5;
        sets::forced::each(|| {
            for depth in [1, 37] {
                check_kept(for_f32(), |i| f32::from(small(i)), depth);
                check_kept(for_f64(), |i| f64::from(small(i)), depth);
                check_kept(strided::for_f32(), |i| f32::from(small(i)), depth);
                check_kept(strided::for_f64(), |i| f64::from(small(i)), depth);
                check_kept(for_i32(), |i| i32::from(small(i)), depth);
                check_kept(for_i64(), |i| i64::from(small(i)), depth);
            }
        });
    }

    #[test]
    fn tiles_of_every_set() {
        let small = |i: usize| (i * 7 % 11) as i16 - 5;
        sets::forced::each(|| {
            check(for_f32(), |i| f32::from(small(i)), |i| f32::from(small(i)));
            check(for_f64(), |i| f64::from(small(i)), |i| f64::from(small(i)));
            check(for_i32(), |i| i32::from(small(i)), |i| i32::from(small(i)));
            check(for_i64(), |i| i64::from(small(i)), |i| i64::from(small(i)));
            check(for_pairs(), |i| Pair::new(small(i), small(i + 1)), |i| Pair(small(i).into()));
            let quad = |i: usize| Quad::new(std::array::from_fn(|part| small(i + part) as u8));
            check(for_quads(), quad, |i| Quad(small(i).into()));
            let signed = |i: usize| SignedBytes(quad(i).0);
            check(for_signed_bytes(), signed, |i| SignedBytes(small(i).into()));
            let mixed = |i: usize| MixedBytes(quad(i).0);
            check(for_mixed_bytes(), mixed, |i| MixedBytes(small(i).into()));
            let half = |i: usize| half::bf16::from_f32(f32::from(small(i)));
            let pair = |i: usize| Halves::new([half(i).to_bits(), half(i + 1).to_bits()]);
            check(for_halves(), pair, |i| Halves(f32::from(small(i)).to_bits()));
        });
    }
}
