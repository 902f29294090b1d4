//! Results that are too small for normal numbers: zero, unless the options keep them. Operands are kept anyway.

use std::sync::Arc;

use rxla_cpu::{Options, compile};
use rxla_flags::Flags;
use rxla_hlo::Literal;
use rxla_hlo::text::{parse_literal, print_literal};
use rxla_interpreter::Options as World;

use crate::{leaves, module};

/// What a program of one parameter makes of `input`, with and without flushing.
fn both(text: &str, input: &str, parallel_work: i64) -> [Vec<Literal>; 2] {
    let flags = Flags { rxla_parallel_work: parallel_work, ..Flags::default() };
    let options = Options { flags: Arc::new(flags), ..Options::default() };
    let input = parse_literal(input).unwrap();
    [options.clone(), options.with_subnormals()].map(|options| {
        let executable = compile(&module(text), &options).unwrap();
        executable
            .run(vec![input.clone()], World::default)
            .unwrap()
            .into_iter()
            .flat_map(leaves)
            .collect()
    })
}

#[test]
#[cfg(target_arch = "x86_64")]
fn of_all_threads() {
    const COUNT: usize = 5000;
    let text = format!(
        "HloModule m
        ENTRY e {{
          x = f32[{COUNT}] parameter(0)
          s = f32[] constant(0.5)
          half = f32[{COUNT}] broadcast(s), dimensions={{}}
          product = f32[{COUNT}] multiply(x, half)
          zero = f32[] constant(0)
          zeros = f32[{COUNT}] broadcast(zero), dimensions={{}}
          is_zero = pred[{COUNT}] compare(product, zeros), direction=EQ
          ROOT bytes = u8[{COUNT}] convert(is_zero)
        }}"
    );
    let input = format!("f32[{COUNT}]{{0}} {{{}}}", vec!["1.5e-38"; COUNT].join(","));
    // In one piece, and in as many as there can be.
    for parallel_work in [i64::MAX, 1] {
        let [flushed, kept] = both(&text, &input, parallel_work);
        assert_eq!(flushed[0].as_array().unwrap().bytes(), [1; COUNT]);
        assert_eq!(kept[0].as_array().unwrap().bytes(), [0; COUNT]);
    }
}

/// Narrow types have subnormal numbers that are normal ones of the type in which they are computed.
#[test]
fn narrow_types_and_copies_keep_theirs() {
    let text = "HloModule m
        ENTRY e {
          bits = u8[4] parameter(0)
          wide = u16[4] convert(bits)
          wider = u32[4] convert(bits)
          half = f16[4] bitcast-convert(wide)
          a = f32[4] convert(half)
          small = f8e4m3fn[4] bitcast-convert(bits)
          b = f32[4] convert(small)
          tiny = f8e5m2[4] bitcast-convert(bits)
          c = f32[4] convert(tiny)
          back = f16[4] convert(a)
          d = u16[4] bitcast-convert(back)
          single = f32[4] bitcast-convert(wider)
          turned = f32[4] reverse(single), dimensions={0}
          f = u32[4] bitcast-convert(turned)
          ROOT all = (f32[4], f32[4], f32[4], u16[4], u32[4]) tuple(a, b, c, d, f)
        }";
    let [flushed, kept] = both(text, "u8[4]{0} {0, 1, 2, 3}", i64::MAX);
    let shown = |results: &[Literal]| results.iter().map(print_literal).collect::<Vec<_>>();
    assert_eq!(shown(&flushed), shown(&kept));
    assert!(shown(&kept)[3].contains("{0, 1, 2, 3}"), "{:?}", shown(&kept));
    assert!(shown(&kept)[4].contains("{3, 2, 1, 0}"), "{:?}", shown(&kept));
}

/// Where the processor rounds to bf16 by itself, subnormals are lost, which only the options allow.
/// Everywhere else they are kept.
#[test]
fn what_is_rounded_to_bf16() {
    const COUNT: usize = 70;
    let text = format!(
        "HloModule m
        ENTRY e {{
          x = f32[{COUNT}] parameter(0)
          small = bf16[{COUNT}] convert(x)
          ROOT bits = u16[{COUNT}] bitcast-convert(small)
        }}"
    );
    // 3 times the smallest of bf16, a NaN, the smallest that is normal.
    let values: Vec<&str> =
        (0..COUNT).map(|i| ["2.7550648e-40", "nan", "1.17549435e-38"][i % 3]).collect();
    let input = format!("f32[{COUNT}]{{0}} {{{}}}", values.join(","));
    let [flushed, kept] = both(&text, &input, i64::MAX);
    let bits = |results: &[Literal]| -> Vec<u16> {
        let bytes = results[0].as_array().unwrap().bytes().to_vec();
        bytes.chunks(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect()
    };
    for (index, (flushed, kept)) in bits(&flushed).into_iter().zip(bits(&kept)).enumerate() {
        let (small, normal) = match index % 3 {
            0 => (3, false),
            1 => (0x7fc0, true),
            _ => (0x80, true),
        };
        assert_eq!(kept, small, "at {index}");
        assert!(flushed == small || flushed == 0 && !normal, "{flushed:#x} at {index}");
    }
}

/// What is asked of a difference is asked of what it was flushed to, not of its operands: LLVM took `x - y == 0`
/// for `x == y`, which made `jnp.spacing(0.)` zero.
#[test]
#[cfg(target_arch = "x86_64")]
fn differences_that_are_flushed_are_zero() {
    let text = "HloModule m
        ENTRY e {
          x = f32[8] parameter(0)
          zero = f32[] constant(0)
          zeros = f32[8] broadcast(zero), dimensions={}
          least = f32[] constant(1e-45)
          leasts = f32[8] broadcast(least), dimensions={}
          difference = f32[8] subtract(x, leasts)
          is_zero = pred[8] compare(difference, zeros), direction=EQ
          ROOT chosen = f32[8] select(is_zero, leasts, difference)
        }";
    let [flushed, kept] = both(text, "f32[8]{0} {0, 1e-45, 3e-45, 0, 0, 0, 0, 2}", i64::MAX);
    let shown = |results: &[Literal]| print_literal(&results[0]);
    assert_eq!(
        shown(&flushed),
        "f32[8]{0} {1.4013e-45, 1.4013e-45, 1.4013e-45, 1.4013e-45, 1.4013e-45, 1.4013e-45, 1.4013e-45, 2}"
    );
    assert_eq!(
        shown(&kept),
        "f32[8]{0} {-1.4013e-45, 1.4013e-45, 1.4013e-45, -1.4013e-45, -1.4013e-45, -1.4013e-45, -1.4013e-45, 2}"
    );
}
