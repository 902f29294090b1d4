//! Times products of matrices beside what the machine can do: multiply-adds that stay in registers, and
//! memory read in order. Best of many runs; arguments pick shapes by a part of their names, or name others of
//! f32 by their sizes, as `tn:128x512x1024`: 128 rows and 512 columns of 1024 steps, the left operand turned; a number
//! before them is the batch.
//!
//! `turns=N` has N right operands, which take turns, as the weights of a network's layers do; `fresh=1` has the left one
//! written anew before each run, by all threads, as the operation before it in a program does.
//!
//!     cargo run --release -p rxla-runtime --example products [threads=N] [turns=N] [fresh=1] [NAME…]

#![allow(unsafe_code, clippy::print_stdout)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use rxla_runtime::dot::{BatchDim, Dim, Dot, rxla_dot};
use rxla_runtime::element::Element;
use rxla_runtime::{Allocator, Block, Context, Pool};

/// Which of the matrix's two dimensions lies together.
#[derive(Clone, Copy, PartialEq)]
enum Order {
    Rows,
    Columns,
}

use Order::{Columns, Rows};

#[derive(Clone, Copy)]
struct Case {
    name: &'static str,
    element: Element,
    /// Batch, rows, columns, steps.
    sizes: [usize; 4],
    orders: [Order; 2],
}

const fn case(
    name: &'static str,
    element: Element,
    sizes: [usize; 4],
    left: Order,
    right: Order,
) -> Case {
    Case { name, element, sizes, orders: [left, right] }
}

const CASES: &[Case] = &[
    case("nn_64", Element::F32, [1, 64, 64, 64], Rows, Rows),
    case("nn_128", Element::F32, [1, 128, 128, 128], Rows, Rows),
    case("nn_256", Element::F32, [1, 256, 256, 256], Rows, Rows),
    case("nn_512", Element::F32, [1, 512, 512, 512], Rows, Rows),
    case("nn_1024", Element::F32, [1, 1024, 1024, 1024], Rows, Rows),
    case("tn_1024", Element::F32, [1, 1024, 1024, 1024], Columns, Rows),
    case("nt_1024", Element::F32, [1, 1024, 1024, 1024], Rows, Columns),
    case("tt_1024", Element::F32, [1, 1024, 1024, 1024], Columns, Columns),
    case("nn_2048", Element::F32, [1, 2048, 2048, 2048], Rows, Rows),
    case("odd_517x333x211", Element::F32, [1, 517, 333, 211], Rows, Rows),
    case("tall_16384x64x64", Element::F32, [1, 16384, 64, 64], Rows, Rows),
    case("deep_64x64x16384", Element::F32, [1, 64, 64, 16384], Columns, Rows),
    case("mlp_128x512x784", Element::F32, [1, 128, 512, 784], Rows, Rows),
    case("few_rows_8x3072x768", Element::F32, [1, 8, 768, 3072], Rows, Rows),
    case("few_rows_16x3072x768", Element::F32, [1, 16, 768, 3072], Rows, Rows),
    case("few_rows_8x768x3072", Element::F32, [1, 8, 3072, 768], Rows, Rows),
    case("few_rows_24x768x3072", Element::F32, [1, 24, 3072, 768], Rows, Rows),
    case("few_rows_48x768x3072", Element::F32, [1, 48, 3072, 768], Rows, Rows),
    case("few_rows_2x4096x4096", Element::F32, [1, 2, 4096, 4096], Rows, Rows),
    case("few_rows_8x4096x4096", Element::F32, [1, 8, 4096, 4096], Rows, Rows),
    case("few_rows_bf16_4x4096x4096", Element::BF16, [1, 4, 4096, 4096], Rows, Rows),
    case("few_rows_nt_8x3072x768", Element::F32, [1, 8, 768, 3072], Rows, Columns),
    case("vector_matrix_4096", Element::F32, [1, 1, 4096, 4096], Rows, Rows),
    case("matrix_vector_4096", Element::F32, [1, 4096, 1, 4096], Rows, Rows),
    case("vector_matrix_bf16_4096", Element::BF16, [1, 1, 4096, 4096], Rows, Rows),
    case("matrix_vector_bf16_4096", Element::BF16, [1, 4096, 1, 4096], Rows, Rows),
    case("head_nt_768x50257", Element::F32, [1, 1, 50257, 768], Rows, Columns),
    case("head_nn_768x50257", Element::F32, [1, 1, 50257, 768], Rows, Rows),
    case("head_nt_bf16_768x50257", Element::BF16, [1, 1, 50257, 768], Rows, Columns),
    case("outer_2048", Element::F32, [1, 2048, 2048, 1], Rows, Rows),
    case("batched_1000x16", Element::F32, [1000, 16, 16, 16], Rows, Rows),
    case("batched_256x64", Element::F32, [256, 64, 64, 64], Rows, Rows),
    case("attention_scores", Element::F32, [24, 256, 256, 64], Rows, Columns),
    case("vit_197x2304x768", Element::F32, [1, 197, 2304, 768], Rows, Rows),
    case("vit_197x3072x768", Element::F32, [1, 197, 3072, 768], Rows, Rows),
    case("vit_197x768x3072", Element::F32, [1, 197, 768, 3072], Rows, Rows),
    case("cold_197x49152x768", Element::F32, [1, 197, 49152, 768], Rows, Rows),
    case("cold_nt_197x49152x768", Element::F32, [1, 197, 49152, 768], Rows, Columns),
    case("grad_tn_768x3072x1024", Element::F32, [1, 768, 3072, 1024], Columns, Rows),
    case("grad_tn_3072x768x1024", Element::F32, [1, 3072, 768, 1024], Columns, Rows),
    case("grad_nt_1024x768x3072", Element::F32, [1, 1024, 768, 3072], Rows, Columns),
    case("grad_nt_1024x3072x768", Element::F32, [1, 1024, 3072, 768], Rows, Columns),
    case("grad_nn_128x768x50257", Element::F32, [1, 128, 768, 50257], Rows, Rows),
    case("grad_nt_128x768x3072", Element::F32, [1, 128, 768, 3072], Rows, Columns),
    case("grad_nt_128x3072x768", Element::F32, [1, 128, 3072, 768], Rows, Columns),
    case("long_tn_256x256x16384", Element::F32, [1, 256, 256, 16384], Columns, Rows),
    case("long_nn_128x512x32768", Element::F32, [1, 128, 512, 32768], Rows, Rows),
    case("grad_nn_1024x768x3072", Element::F32, [1, 1024, 768, 3072], Rows, Rows),
    case("grad_nn_1024x768x768", Element::F32, [1, 1024, 768, 768], Rows, Rows),
    case("grad_nn_4096x256x256", Element::F32, [1, 4096, 256, 256], Rows, Rows),
    case("attention_values", Element::F32, [24, 256, 64, 256], Rows, Rows),
    case("nn_512_f64", Element::F64, [1, 512, 512, 512], Rows, Rows),
    case("nn_512_bf16", Element::BF16, [1, 512, 512, 512], Rows, Rows),
    case("nt_512_bf16", Element::BF16, [1, 512, 512, 512], Rows, Columns),
    case("nn_512_f16", Element::F16, [1, 512, 512, 512], Rows, Rows),
    case("nn_512_c64", Element::C64, [1, 512, 512, 512], Rows, Rows),
    case("nn_512_i8", Element::I8, [1, 512, 512, 512], Rows, Rows),
    case("nt_512_i8", Element::I8, [1, 512, 512, 512], Rows, Columns),
    case("nn_512_u8", Element::U8, [1, 512, 512, 512], Rows, Rows),
    case("nn_1024_bf16", Element::BF16, [1, 1024, 1024, 1024], Rows, Rows),
    case("tt_1024_bf16", Element::BF16, [1, 1024, 1024, 1024], Columns, Columns),
    case("nn_1024_i8", Element::I8, [1, 1024, 1024, 1024], Rows, Rows),
    case("prefill_64x3072x768_bf16", Element::BF16, [1, 64, 3072, 768], Rows, Rows),
    case("prefill_512x3072x768_bf16", Element::BF16, [1, 512, 3072, 768], Rows, Rows),
    case("prefill_64x3072x768_i8", Element::I8, [1, 64, 3072, 768], Rows, Rows),
    case("prefill_512x3072x768_i8", Element::I8, [1, 512, 3072, 768], Rows, Rows),
    case("cold_256x49152x768_bf16", Element::BF16, [1, 256, 49152, 768], Rows, Rows),
    case("cold_256x12288x3072_bf16", Element::BF16, [1, 256, 12288, 3072], Rows, Rows),
    case("tall_4096x256x256_bf16", Element::BF16, [1, 4096, 256, 256], Rows, Rows),
    case("nn_512_i32", Element::I32, [1, 512, 512, 512], Rows, Rows),
];

/// A case that an argument describes.
fn described(argument: &'static str) -> Option<Case> {
    let (orders, sizes) = argument.split_once(':')?;
    let [m, n, k, batch] =
        match sizes.split('x').map(|size| size.parse()).collect::<Result<Vec<_>, _>>().ok()?[..] {
            [m, n, k] => [m, n, k, 1],
            [batch, m, n, k] => [m, n, k, batch],
            _ => return None,
        };
    let order = |letter| if letter == b't' { Columns } else { Rows };
    let &[left, right] = orders.as_bytes() else { return None };
    Some(case(argument, Element::F32, [batch, m, n, k], order(left), order(right)))
}

/// Keeps going for a while and tells the best time. On one thread the time that the thread had counts,
/// so that other programs disturb less.
fn best(threads: usize, run: impl FnMut()) -> Duration {
    best_after(threads, || (), run)
}

/// The same for what something goes before each time, which does not count.
fn best_after(threads: usize, mut before: impl FnMut(), mut run: impl FnMut()) -> Duration {
    let clock = if threads == 1 { libc::CLOCK_THREAD_CPUTIME_ID } else { libc::CLOCK_MONOTONIC };
    let now = || {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the time is written where it has room.
        unsafe { libc::clock_gettime(clock, &raw mut time) };
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    };
    let (mut best, start) = (Duration::MAX, now());
    let mut runs = 0;
    while runs < 5 || now() - start < Duration::from_millis(300) {
        before();
        let begin = now();
        run();
        best = best.min(now() - begin);
        runs += 1;
    }
    best
}

/// Multiply-adds on values in registers, as many as the processor has room for; the number of them.
#[inline(always)]
fn multiply_adds<const LANES: usize>(rounds: usize) -> usize {
    let mut sums = [0.5_f32; LANES];
    let factor = black_box(0.999_f32);
    for _ in 0..rounds {
        for sum in &mut sums {
            *sum = sum.mul_add(factor, 0.001);
        }
    }
    black_box(sums);
    rounds * LANES
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,fma")]
fn multiply_adds_avx512(rounds: usize) -> usize {
    multiply_adds::<192>(rounds)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn multiply_adds_avx2(rounds: usize) -> usize {
    multiply_adds::<96>(rounds)
}

fn multiply_adds_best(rounds: usize) -> usize {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: just detected.
            return unsafe { multiply_adds_avx512(rounds) };
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: just detected.
            return unsafe { multiply_adds_avx2(rounds) };
        }
    }
    multiply_adds::<48>(rounds)
}

/// Memory of ones, whatever the type makes of them.
fn filled(bytes: usize) -> Block {
    let block = Allocator::shared().allocate(bytes).expect("memory");
    // SAFETY: the block is so long, and nobody else has it.
    unsafe { block.as_ptr().write_bytes(1, bytes) };
    block
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn sum_avx2(words: &[u64]) -> u64 {
    sum(words)
}

#[inline(always)]
fn sum(words: &[u64]) -> u64 {
    let mut sums = [0; 32];
    for chunk in words.as_chunks::<32>().0 {
        for lane in 0..32 {
            sums[lane] ^= chunk[lane];
        }
    }
    sums.iter().fold(0, |sum, word| sum ^ word)
}

/// Bytes a second of reading, all threads together.
fn read_bandwidth(context: &Context, bytes: usize) -> f64 {
    let block = filled(bytes);
    // SAFETY: so many bytes, written just now, and aligned to 64.
    let words = unsafe { std::slice::from_raw_parts(block.as_ptr().cast::<u64>(), bytes / 8) };
    let time = best(context.threads(), || {
        context.parallel_for(words.len(), 1 << 15, |begin, end| {
            let words = &words[begin..end];
            #[cfg(target_arch = "x86_64")]
            if is_x86_feature_detected!("avx2") {
                // SAFETY: just detected.
                black_box(unsafe { sum_avx2(words) });
                return;
            }
            black_box(sum(words));
        });
    });
    bytes as f64 / time.as_secs_f64()
}

fn strides(order: Order, rows: usize, columns: usize) -> [isize; 2] {
    match order {
        Rows => [columns as isize, 1],
        Columns => [1, rows as isize],
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |name: &str, usual: usize| {
        let given = arguments.iter().find_map(|argument| argument.strip_prefix(name));
        given.map_or(usual, |given| given.parse().expect("a number"))
    };
    let (threads, turns) = (number("threads=", 2), number("turns=", 1));
    let fresh = number("fresh=", 0) > 0;
    let names: Vec<&'static str> = arguments
        .into_iter()
        .filter(|name| !name.contains('='))
        .map(|name| &*name.leak())
        .collect();
    let named =
        |case: &&Case| names.is_empty() || names.iter().any(|name| case.name.contains(name));
    let cases =
        CASES.iter().filter(named).copied().chain(names.iter().copied().filter_map(described));
    let context = Context::new(Some(Arc::clone(&Pool::with_threads(threads))));
    let peak = {
        let rounds = 1 << 16;
        let time = best(context.threads(), || {
            context.parallel_for(threads, 1, |begin, end| {
                for _ in begin..end {
                    black_box(multiply_adds_best(black_box(rounds)));
                }
            });
        });
        2.0 * (threads * multiply_adds_best(rounds)) as f64 / time.as_secs_f64()
    };
    println!("peak {:.0} GFLOP/s of f32 on {threads} threads", peak / 1e9);
    for (name, bytes) in [("512 MB", 512 << 20), ("64 MB", 64 << 20), ("8 MB", 8 << 20)] {
        println!("reading {name}: {:.1} GB/s", read_bandwidth(&context, bytes) / 1e9);
    }
    println!("{:28} {:>9} {:>9} {:>7} {:>8}", "", "ms", "GFLOP/s", "of peak", "GB/s");
    for case in cases {
        let [batch, m, n, k] = case.sizes;
        let result = match case.element {
            Element::I8 | Element::U8 => Element::I32,
            other => other,
        };
        let (l, r) = (strides(case.orders[0], m, k), strides(case.orders[1], k, n));
        let dot = Dot {
            rounded: false,
            left: case.element,
            right: case.element,
            result,
            batch: vec![BatchDim {
                size: batch,
                strides: [m * k, k * n, m * n].map(|s| s as isize),
            }],
            rows: vec![Dim { size: m, strides: [l[0], n as isize] }],
            columns: vec![Dim { size: n, strides: [r[1], 1] }],
            summed: vec![Dim { size: k, strides: [l[1], r[0]] }],
        };
        let width = case.element.byte_width();
        let left = filled(batch * m * k * width);
        let rights: Vec<Block> = (0..turns).map(|_| filled(batch * k * n * width)).collect();
        let mut right = rights.iter().cycle();
        let target = filled(batch * m * n * result.byte_width());
        let code = dot.encode().expect("a product");
        let write = || {
            let count = if fresh { left.len() } else { 0 };
            context.parallel_for(count, 1 << 14, |begin, end| {
                // SAFETY: bytes of the block, of each piece those that no other has.
                unsafe { left.as_ptr().wrapping_add(begin).write_bytes(1, end - begin) };
            });
        };
        let time = best_after(context.threads(), write, || {
            let right = right.next().expect("one at least");
            // SAFETY: the blocks are as large as the description says.
            let status = unsafe {
                rxla_dot(
                    context.as_ptr(),
                    left.as_ptr(),
                    right.as_ptr(),
                    target.as_ptr(),
                    code.as_ptr(),
                )
            };
            assert_eq!(status, 0);
        });
        let work = 2.0 * (batch * m * n * k) as f64 * if result.is_complex() { 4.0 } else { 1.0 };
        let bytes = (batch * (m * k + k * n) * width + batch * m * n * result.byte_width()) as f64;
        let seconds = time.as_secs_f64();
        println!(
            "{:28} {:9.4} {:9.1} {:6.0}% {:8.1}",
            case.name,
            seconds * 1e3,
            work / seconds / 1e9,
            100.0 * work / seconds / peak,
            bytes / seconds / 1e9
        );
    }
}
