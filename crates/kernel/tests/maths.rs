//! How accurate the mathematical functions are, on samples: the bounds that `maths` states.
//! `examples/ulp.rs` measures over all inputs.

#[path = "maths/reference.rs"]
mod reference;

use half::{bf16, f16};
use reference::{BF16, F16, F32, UNARY, exact, ulps, ulps_f64};
use rxla_kernel::{BinaryOp, UnaryOp, maths};

/// Units in the last place in f32 and in f64.
fn bounds(name: &str) -> (f64, f64) {
    let bound = maths::bounds::BOUNDS.iter().find(|bound| bound.name == name);
    let bound = bound.expect("each function has bounds");
    (bound.single, bound.double)
}

/// Numbers where functions have their edges: each also with the other sign, and its neighbours.
fn edges() -> Vec<f64> {
    let numbers = [
        0.0,
        f64::from_bits(1),
        1e-310,
        f64::MIN_POSITIVE,
        1e-45,
        1e-40,
        1.1754943508222875e-38,
        1e-20,
        1e-9,
        0.25,
        0.5,
        0.55,
        0.75,
        1.0,
        1.5,
        2.0,
        3.0,
        4.0,
        9.011,
        10.0,
        18.0,
        19.1,
        27.3,
        88.72,
        88.73,
        89.4,
        103.9,
        104.0,
        126.0,
        127.0,
        128.0,
        149.0,
        150.0,
        151.0,
        709.78,
        709.79,
        710.4,
        745.13,
        745.2,
        1022.0,
        1024.0,
        1074.0,
        1075.0,
        65536.5,
        1e6,
        16777215.0,
        16777216.0,
        1099511627777.5,
        9007199254740991.0,
        9007199254740992.0,
        1e22,
        3.4028234663852886e38,
        1e300,
        f64::MAX,
        f64::INFINITY,
    ];
    let neighbours = |x: f64| [x, x.next_down(), x.next_up(), f64::from((x as f32).next_up())];
    let all = numbers.into_iter().flat_map(neighbours).flat_map(|x| [x, -x]);
    all.chain([f64::NAN]).collect()
}

#[test]
fn unary_functions_in_single_precision() {
    let dense = (0..=u32::MAX).step_by(100_003).map(f32::from_bits);
    let inputs: Vec<f32> = dense.chain(edges().into_iter().map(|x| x as f32)).collect();
    for &(name, op) in UNARY {
        let (bound, _) = bounds(name);
        for &x in &inputs {
            let got = maths::unary(op, x).unwrap();
            let want = exact(op, f64::from(x));
            let error = ulps(F32, f64::from(got), want);
            assert!(error <= bound, "{name} of {x:e}: {got:e}, not {want:e}: {error} ulp");
        }
    }
}

/// The table is written by `tools/maths/reference.py 100 7`.
#[test]
fn functions_in_double_precision() {
    for line in include_str!("maths/f64.txt").lines() {
        let (name, numbers) = line.split_once(' ').unwrap();
        let number = |word| f64::from_bits(u64::from_str_radix(word, 16).unwrap());
        let numbers: Vec<f64> = numbers.split(' ').map(number).collect();
        let (arguments, result) = numbers.split_at(numbers.len() - 2);
        let got = match name {
            "pow" => maths::binary(BinaryOp::Pow, arguments[0], arguments[1]),
            "atan2" => maths::binary(BinaryOp::Atan2, arguments[0], arguments[1]),
            _ => maths::unary(op(name), arguments[0]),
        };
        let error = ulps_f64(got.unwrap(), result[0], result[1]);
        let (_, bound) = bounds(name);
        assert!(error <= bound, "{name} of {arguments:?}: {got:?}, not {result:?}: {error} ulp");
    }
}

fn op(name: &str) -> UnaryOp {
    UNARY.iter().find(|unary| unary.0 == name).expect("a known name").1
}

/// Special values and signs are right; libraries are trusted to three units.
#[test]
fn edges_in_double_precision() {
    for &(name, op) in UNARY {
        for x in edges() {
            // Subtracting from infinity in the plain formula loses what is subnormal.
            let want = match op {
                UnaryOp::Logistic if x < -700.0 => x.exp(),
                _ => exact(op, x),
            };
            let got = maths::unary(op, x).unwrap();
            let error = ulps_f64(got, want, 0.0);
            assert!(error <= 4.0, "{name} of {x:e}: {got:e}, not {want:e}: {error} ulp");
        }
    }
}

#[test]
fn all_inputs_of_sixteen_bits() {
    for &(name, op) in UNARY {
        for bits in 0..=u16::MAX {
            let x = f16::from_bits(bits);
            let got = f16::from_f32(maths::unary(op, x.to_f32()).unwrap());
            let want = exact(op, x.to_f64());
            let error = ulps(F16, got.to_f64(), want);
            assert!(
                error <= maths::bounds::HALF,
                "{name} of {x:e} in f16: {got:e}, not {want:e}: {error} ulp"
            );

            let x = bf16::from_bits(bits);
            let got = bf16::from_f32(maths::unary(op, x.to_f32()).unwrap());
            let want = exact(op, x.to_f64());
            let error = ulps(BF16, got.to_f64(), want);
            assert!(
                error <= maths::bounds::HALF,
                "{name} of {x:e} in bf16: {got:e}, not {want:e}: {error} ulp"
            );
        }
    }
}

#[test]
fn powers_and_angles_in_single_precision() {
    // A sequence that fills the square of bit patterns evenly.
    let mut state = 1u64;
    let mut any = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 32) as u32
    };
    let [pow_bound, atan2_bound] = ["pow", "atan2"].map(|name| bounds(name).0);
    for i in 0..100_000 {
        let [mut a, mut b] = [any(), any()].map(f32::from_bits);
        // Half of them where powers are neither zero nor infinite.
        if i % 2 == 0 {
            a = 0.5 + (a.to_bits() >> 8) as f32 * 1e-7;
            b = (b.to_bits() as i32 >> 8) as f32 * 1e-5;
        }
        let cases = [
            ("pow", BinaryOp::Pow, f64::from(a).powf(b.into())),
            ("atan2", BinaryOp::Atan2, f64::from(a).atan2(b.into())),
        ];
        for (name, op, want) in cases {
            let got = maths::binary(op, a, b).unwrap();
            let error = ulps(F32, f64::from(got), want);
            let bound = if name == "pow" { pow_bound } else { atan2_bound };
            assert!(error <= bound, "{name} of {a:e}, {b:e}: {got:e}, not {want:e}: {error} ulp");
        }
    }
}

/// IEEE 754's special cases, which C's functions have too: each pair of edges.
#[test]
fn special_cases_of_powers_and_angles() {
    let edges = edges();
    let (atan2_bound, _) = bounds("atan2");
    for &a in &edges {
        for &b in &edges {
            let got = maths::binary(BinaryOp::Pow, a, b).unwrap();
            let error = ulps_f64(got, a.powf(b), 0.0);
            assert!(error <= 2.0, "pow of {a:e}, {b:e}: {got:e}, not {:e}", a.powf(b));
            let got = maths::binary(BinaryOp::Atan2, a, b).unwrap();
            let error = ulps_f64(got, a.atan2(b), 0.0);
            assert!(error <= 2.0, "atan2 of {a:e}, {b:e}: {got:e}, not {:e}", a.atan2(b));

            let [a, b] = [a, b].map(|x| x as f32);
            let [wide_a, wide_b] = [a, b].map(f64::from);
            let got = maths::binary(BinaryOp::Pow, a, b).unwrap();
            let want = wide_a.powf(wide_b);
            let error = ulps(F32, got.into(), want);
            assert!(error <= 0.6, "pow of {a:e}, {b:e} in f32: {got:e}, not {want:e}");
            let got = maths::binary(BinaryOp::Atan2, a, b).unwrap();
            let want = wide_a.atan2(wide_b);
            let error = ulps(F32, got.into(), want);
            assert!(error <= atan2_bound, "atan2 of {a:e}, {b:e} in f32: {got:e}, not {want:e}");
        }
    }
}

#[test]
fn the_page_says_what_the_bounds_are_and_keeps_them() {
    let page = include_str!("../../../docs/accuracy.md");
    for bound in maths::bounds::BOUNDS {
        let start = format!("| {} |", bound.name);
        let row = page.lines().find_map(|line| line.strip_prefix(&start));
        let row = row.unwrap_or_else(|| panic!("{} is not on the page", bound.name));
        let cells: Vec<Option<f64>> = row.split('|').map(|cell| cell.trim().parse().ok()).collect();
        assert_eq!(
            (cells[3], cells[5]),
            (Some(bound.single), Some(bound.double)),
            "{}",
            bound.name
        );
        assert!(cells[2] <= cells[3] && cells[4] <= cells[5], "{}", bound.name);
    }
}
