//! Bits put together from two numbers, and a choice between the result and one of the two: LLVM makes one
//! instruction of it, and one version of LLVM the wrong one.

use std::fmt::Display;

use crate::check;

fn list<T: Display>(value: impl Fn(u32) -> T) -> String {
    let values: Vec<String> = (0..64).map(|at| value(at).to_string()).collect();
    format!("{{{}}}", values.join(", "))
}

#[test]
fn bits_of_two_or_one_of_the_two() {
    let inputs = [
        format!("u32[64]{{0}} {}", list(|at| at.wrapping_mul(2_654_435_761))),
        format!("u32[64]{{0}} {}", list(|at| (at + 7).wrapping_mul(2_246_822_519))),
        format!("pred[64]{{0}} {}", list(|at| at % 3 % 2)),
    ];
    let inputs = [0, 1, 2].map(|at: usize| inputs[at].as_str());
    for (of_true, of_false) in [("either", "a"), ("either", "b"), ("a", "either"), ("b", "either")]
    {
        check(
            &format!(
                "HloModule m
                ENTRY e {{
                  a = u32[64] parameter(0)
                  b = u32[64] parameter(1)
                  c = pred[64] parameter(2)
                  k = u32[] constant(16711920)
                  these = u32[64] broadcast(k), dimensions={{}}
                  others = u32[64] not(these)
                  left = u32[64] and(a, these)
                  right = u32[64] and(b, others)
                  either = u32[64] or(left, right)
                  ROOT chosen = u32[64] select(c, {of_true}, {of_false})
                }}"
            ),
            &inputs,
        );
    }
}

#[test]
fn angles_in_all_their_precision() {
    let input = format!("f32[64]{{0}} {}", list(|at| at as f32 - 31.5));
    check(
        "HloModule m
        ENTRY e {
          x = f32[64] parameter(0)
          zero = f32[64] subtract(x, x)
          angle = f32[64] atan2(zero, x)
          ROOT rounded = f32[64] reduce-precision(angle), exponent_bits=11, mantissa_bits=52
        }",
        &[&input],
    );
}
