//! Dots, convolutions, transforms, linear algebra and random bits against known values.

use crate::common::{elements, expect, run};
use rxla_hlo::Literal;

fn entry(body: &str) -> String {
    format!("HloModule m\nENTRY e {{\n{body}\n}}\n")
}

#[test]
fn dots_of_any_form() {
    let ab =
        "a = s32[2,3] constant({{1,2,3},{4,5,6}})\nb = s32[3,2] constant({{1,0},{0,1},{1,1}})\n";
    expect(
        &entry(&format!(
            "{ab}ROOT r = s32[2,2] dot(a, b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}"
        )),
        "4 5 10 11",
    );
    expect(
        &entry(&format!(
            "{ab}ROOT r = s32[3,3] dot(a, b), lhs_contracting_dims={{0}}, rhs_contracting_dims={{1}}"
        )),
        "1 4 5 2 5 7 3 6 9",
    );
    expect(
        &entry(&format!(
            "{ab}ROOT r = s32[] dot(a, a), lhs_contracting_dims={{0,1}}, rhs_contracting_dims={{0,1}}"
        )),
        "91",
    );
    expect(
        &entry(&format!(
            "{ab}ROOT r = s32[2] dot(a, a), lhs_batch_dims={{0}}, lhs_contracting_dims={{1}}, rhs_batch_dims={{0}}, rhs_contracting_dims={{1}}"
        )),
        "14 77",
    );
    // Nothing to sum.
    expect(
        &entry(
            "a = f32[2,0] constant({{},{}})\nb = f32[0,1] constant({})\nROOT r = f32[2,1] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
        ),
        "0 0",
    );
    // A wider result.
    expect(
        &entry(
            "a = s8[2] constant({100,100})\nROOT r = s32[] dot(a, a), lhs_contracting_dims={0}, rhs_contracting_dims={0}",
        ),
        "20000",
    );
    expect(
        &entry(
            "a = pred[2] constant({0,1})\nROOT r = pred[] dot(a, a), lhs_contracting_dims={0}, rhs_contracting_dims={0}",
        ),
        "true",
    );
    expect(
        &entry(
            "a = c64[2] constant({(1,2),(3,-1)})\nROOT r = c64[] dot(a, a), lhs_contracting_dims={0}, rhs_contracting_dims={0}",
        ),
        "(5, -2)",
    );
}

#[test]
fn large_dots_agree_with_the_definition() {
    let (m, k, n) = (37usize, 300usize, 530usize);
    let a: Vec<f64> = (0..m * k).map(|i| ((i * 7919) % 13) as f64 - 6.0).collect();
    let b: Vec<f64> = (0..k * n).map(|i| ((i * 104_729) % 11) as f64 - 5.0).collect();
    let text = entry(&format!(
        "a = f64[{m},{k}] parameter(0)\nb = f64[{k},{n}] parameter(1)\nROOT r = f64[{m},{n}] dot(a, b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}"
    ));
    let result = run(
        &text,
        vec![
            Literal::from_values([m as i64, k as i64], &a),
            Literal::from_values([k as i64, n as i64], &b),
        ],
    );
    for (i, j) in [(0, 0), (36, 529), (17, 511), (5, 512)] {
        let sum: f64 = (0..k).map(|p| a[i * k + p] * b[p * n + j]).sum();
        assert_eq!(result.values::<f64>()[i * n + j], sum);
    }
}

#[test]
fn convolutions_with_every_attribute() {
    let x = "x = s32[1,5,1] constant({{{1},{2},{3},{4},{5}}})\nk = s32[2,1,1] constant({{{1}},{{10}}})\n";
    for (window, size, expected) in [
        ("size=2", 4, "21 32 43 54"),
        ("size=2 stride=2", 2, "21 43"),
        ("size=2 pad=1_1", 6, "10 21 32 43 54 5"),
        ("size=2 pad=-1_-1", 2, "32 43"),
        ("size=2 rhs_dilate=2", 3, "31 42 53"),
        ("size=2 lhs_dilate=2", 8, "1 20 2 30 3 40 4 50"),
        ("size=2 rhs_reversal=1", 4, "12 23 34 45"),
    ] {
        let text = entry(&format!(
            "{x}ROOT r = s32[1,{size},1] convolution(x, k), window={{{window}}}, dim_labels=b0f_0io->b0f"
        ));
        expect(&text, expected);
    }
    // Two groups of features, each with a kernel of its own.
    expect(
        &entry(
            "x = s32[1,2,2] constant({{{1,2},{3,4}}})\nk = s32[1,1,2] constant({{{1,10}}})\nROOT r = s32[1,2,2] convolution(x, k), window={size=1}, dim_labels=b0f_0io->b0f, feature_group_count=2",
        ),
        "1 20 3 40",
    );
    // Two groups of the batch.
    expect(
        &entry(
            "x = s32[2,2,1] constant({{{1},{2}},{{3},{4}}})\nk = s32[1,1,2] constant({{{1,10}}})\nROOT r = s32[1,2,2] convolution(x, k), window={size=1}, dim_labels=b0f_0io->b0f, batch_group_count=2",
        ),
        "1 30 2 40",
    );
    // Another order of dimensions.
    expect(
        &entry(
            "x = f32[1,2,3] constant({{{1,2,3},{4,5,6}}})\nk = f32[1,2,2] constant({{{1,1},{2,2}}})\nROOT r = f32[2,1,1] convolution(x, k), window={size=2}, dim_labels=bf0_oi0->0bf",
        ),
        "21 27",
    );
}

#[test]
fn fourier_transforms_of_any_length() {
    for n in [1usize, 2, 3, 5, 8, 12, 17] {
        let values: Vec<f64> = (0..n).map(|i| ((i * i * 31) % 17) as f64 - 8.0).collect();
        let half = n / 2 + 1;
        let text = entry(&format!(
            "x = f64[{n}] parameter(0)\ny = c128[{half}] fft(x), fft_type=RFFT, fft_length={{{n}}}\nz = f64[{n}] fft(y), fft_type=IRFFT, fft_length={{{n}}}\nROOT t = (c128[{half}], f64[{n}]) tuple(y, z)"
        ));
        let result = run(&text, vec![Literal::from_values([n as i64], &values)]);
        let Literal::Tuple(parts) = result else { panic!("a tuple") };
        for (k, found) in parts[0].values::<rxla_hlo::native::C128>().iter().enumerate() {
            let angle = |i: usize| -std::f64::consts::TAU * (i * k) as f64 / n as f64;
            let re: f64 = values.iter().enumerate().map(|(i, x)| x * angle(i).cos()).sum();
            let im: f64 = values.iter().enumerate().map(|(i, x)| x * angle(i).sin()).sum();
            assert!((found.re - re).abs() < 1e-11 && (found.im - im).abs() < 1e-11, "{n} {k}");
        }
        for (x, y) in values.iter().zip(parts[1].values::<f64>()) {
            assert!((x - y).abs() < 1e-12, "{n}");
        }
    }
}

#[test]
fn factors_and_solves() {
    let a = "a = f32[2,2] constant({{4,2},{2,5}})\n";
    expect(&entry(&format!("{a}ROOT r = f32[2,2] cholesky(a), lower=true")), "2 0 1 2");
    expect(&entry(&format!("{a}ROOT r = f32[2,2] cholesky(a)")), "2 1 0 2");
    expect(
        &entry("a = f32[1,1] constant({{-1}})\nROOT r = f32[1,1] cholesky(a), lower=true"),
        "nan",
    );
    let l = "l = f32[2,2] constant({{2,9},{4,8}})\nb = f32[2,2] constant({{2,4},{12,16}})\n";
    for (attributes, expected) in [
        ("left_side=true, lower=true, transpose_a=NO_TRANSPOSE", "1 2 1 1"),
        ("left_side=true, lower=true, unit_diagonal=true, transpose_a=NO_TRANSPOSE", "2 4 4 0"),
        ("left_side=true, lower=true, transpose_a=TRANSPOSE", "-2 -2 1.5 2"),
        ("lower=true, transpose_a=NO_TRANSPOSE", "0 0.5 2 2"),
        ("lower=true, transpose_a=TRANSPOSE", "1 0 6 -1"),
    ] {
        expect(
            &entry(&format!("{l}ROOT r = f32[2,2] triangular-solve(l, b), {attributes}")),
            expected,
        );
    }
}

#[test]
fn random_bits_are_those_of_xla() {
    // Computed by XLA's CPU backend.
    expect(
        &entry(
            "s = u64[2] constant({1, 2})\nROOT r = (u64[2], u32[5]) rng-bit-generator(s), algorithm=rng_three_fry",
        ),
        "1 5; 43444564 2150618427 3979645651 3745730563 1672743891",
    );
    expect(
        &entry(
            "s = u64[2] constant({1, 2})\nROOT r = (u64[2], u64[3]) rng-bit-generator(s), algorithm=rng_three_fry",
        ),
        "1 5; 9236835810183407956 16087790271692313299 18212823393184779219",
    );
    expect(
        &entry(
            "s = u64[2] constant({1, 2})\nROOT r = (u64[2], u32[5]) rng-bit-generator(s), algorithm=rng_philox",
        ),
        "1 4; 2100602697 2847456232 2074354647 800269529 1828267006",
    );
    expect(
        &entry(
            "s = u64[3] constant({1, 2, 3})\nROOT r = (u64[3], u64[3]) rng-bit-generator(s), algorithm=rng_philox",
        ),
        "1 4 3; 5869932932755744586 13107052260063114245 8234580641674714347",
    );
    expect(
        &entry(
            "s = u64[2] constant({1, 2})\nROOT r = (u64[2], u32[3,5]) rng-bit-generator(s), algorithm=rng_three_fry",
        ),
        "1 11; 43444564 2150618427 3979645651 3745730563 1672743891 2109414752 618976052 2534981805 3824176357 2868795927 2915202000 3844842626 3159807845 3120200270 299673330",
    );
    // The counter carries over into its upper half.
    expect(
        &entry(
            "s = u64[2] constant({5, 18446744073709551615})\nROOT r = (u64[2], u32[6]) rng-bit-generator(s), algorithm=rng_philox",
        ),
        "5 1; 1314562490 4035658752 2543735481 4162936588 64677483 3635105107",
    );
    expect(
        &entry(
            "s = u64[2] constant({1, 2})\nROOT r = (u64[2], u8[3,3]) rng-bit-generator(s), algorithm=rng_default",
        ),
        "1 5; 73 232 215 217 254 195 215 76 99",
    );
}

#[test]
fn random_numbers_repeat_and_differ() {
    let text = entry(
        "a = f32[] constant(2)\nb = f32[] constant(3)\nx = f32[1000] rng(a, b), distribution=rng_uniform\ny = f32[1000] rng(a, b), distribution=rng_normal\nROOT t = (f32[1000], f32[1000]) tuple(x, y)",
    );
    let first = run(&text, vec![]);
    assert_eq!(elements(&first), elements(&run(&text, vec![])));
    let Literal::Tuple(parts) = first else { panic!("a tuple") };
    let uniform = parts[0].values::<f32>();
    assert!(uniform.iter().all(|x| (2.0..3.0).contains(x)));
    let mean = |values: &[f32]| values.iter().sum::<f32>() / 1000.0;
    assert!((mean(uniform) - 2.5).abs() < 0.05);
    assert!((mean(parts[1].values::<f32>()) - 2.0).abs() < 0.4);
}

#[test]
fn ragged_dots_in_each_mode() {
    let common = "l = s32[3,2] constant({{1,2},{3,4},{5,6}})\ng = s32[2] constant({1,1})\n";
    // Rows 0 and 1 belong to the groups, row 2 to none.
    expect(
        &entry(&format!(
            "{common}r = s32[2,2,1] constant({{{{{{1}},{{10}}}},{{{{100}},{{1000}}}}}})\nROOT d = s32[3,1] ragged-dot(l, r, g), lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}}, lhs_ragged_dims={{0}}, rhs_group_dims={{0}}"
        )),
        "21 4300 0",
    );
    expect(
        &entry(&format!(
            "{common}r = s32[3,1] constant({{{{1}},{{10}},{{100}}}})\nROOT d = s32[2,2,1] ragged-dot(l, r, g), lhs_contracting_dims={{0}}, rhs_contracting_dims={{0}}, lhs_ragged_dims={{0}}"
        )),
        "1 2 30 40",
    );
}
