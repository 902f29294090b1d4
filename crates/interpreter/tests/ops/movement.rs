//! Ops that move elements, at their edges: rank 0, no elements, negative padding, clamped starts,
//! every element width.

use crate::common::{elements, expect, run, try_run};
use rxla_hlo::Literal;

fn entry(body: &str) -> String {
    format!("HloModule m\nENTRY e {{\n{body}\n}}\n")
}

#[test]
fn broadcasts_of_every_width() {
    for (element_type, value) in [
        ("pred", "true"),
        ("s4", "-3"),
        ("u2", "3"),
        ("bf16", "1.5"),
        ("f8e4m3fn", "0.5"),
        ("f32", "2.5"),
        ("f64", "2.5"),
        ("c64", "(1, 2)"),
        ("c128", "(1, -2)"),
    ] {
        let text = entry(&format!(
            "c = {element_type}[] constant({value})\nROOT r = {element_type}[2,2] broadcast(c), dimensions={{}}"
        ));
        let value = if element_type == "pred" { "1" } else { value };
        expect(&text, &[value; 4].join(" "));
    }
}

#[test]
fn broadcasts_along_named_dimensions() {
    let text = |dimension, size| {
        entry(&format!(
            "c = s32[{size}] constant({{{}}})\nROOT r = s32[2,3] broadcast(c), dimensions={{{dimension}}}",
            (1..=size).map(|i| i.to_string()).collect::<Vec<_>>().join(",")
        ))
    };
    expect(&text(0, 2), "1 1 1 2 2 2");
    expect(&text(1, 3), "1 2 3 1 2 3");
}

#[test]
fn transposes_reshapes_and_bitcasts() {
    let start = "i = s32[6] iota(), iota_dimension=0\nx = s32[2,3] reshape(i)\n";
    expect(
        &entry(&format!("{start}ROOT r = s32[3,2] transpose(x), dimensions={{1,0}}")),
        "0 3 1 4 2 5",
    );
    let text = "HloModule m\nENTRY e {\n  i = s32[2,3]{0,1} iota(), iota_dimension=1\n  ROOT r = s32[6]{0} bitcast(i)\n}\n";
    expect(text, "0 0 1 1 2 2");
    expect(&entry("c = s32[] constant(7)\nROOT r = s32[1,1] reshape(c)"), "7");
}

#[test]
fn slices_with_strides_and_reverses() {
    let start = "i = s32[10] iota(), iota_dimension=0\n";
    expect(&entry(&format!("{start}ROOT r = s32[3] slice(i), slice={{[1:9:3]}}")), "1 4 7");
    expect(&entry(&format!("{start}ROOT r = s32[0] slice(i), slice={{[4:4]}}")), "");
    expect(
        &entry(
            "i = s32[2,2] iota(), iota_dimension=1\nROOT r = s32[2,2] reverse(i), dimensions={1}",
        ),
        "1 0 1 0",
    );
}

#[test]
fn pads_negatively_and_inside() {
    let start = "c = s32[3] constant({1,2,3})\nz = s32[] constant(9)\n";
    for (padding, size, expected) in [
        ("1_2", 6, "9 1 2 3 9 9"),
        ("-1_0", 2, "2 3"),
        ("0_-2", 1, "1"),
        ("0_0_2", 7, "1 9 9 2 9 9 3"),
        ("-1_-1_2", 5, "9 9 2 9 9"),
        ("-4_1_2", 4, "9 9 3 9"),
        ("2_-5", 0, ""),
        ("-5_3", 1, "9"),
    ] {
        let text = entry(&format!("{start}ROOT r = s32[{size}] pad(c, z), padding={padding}"));
        expect(&text, expected);
    }
    expect(
        &entry(
            "c = s32[0] constant({})\nz = s32[] constant(4)\nROOT r = s32[3] pad(c, z), padding=1_2_5",
        ),
        "4 4 4",
    );
}

#[test]
fn concatenates_with_empty_parts() {
    expect(
        &entry(
            "a = s8[2,1] constant({{1},{2}})\nb = s8[2,0] constant({{},{}})\nc = s8[2,2] constant({{3,4},{5,6}})\nROOT r = s8[2,3] concatenate(a, b, c), dimensions={1}",
        ),
        "1 3 4 2 5 6",
    );
}

#[test]
fn iota_of_narrow_types_wraps() {
    expect(&entry("ROOT r = s4[10] iota(), iota_dimension=0"), "0 1 2 3 4 5 6 7 -8 -7");
    expect(&entry("ROOT r = c64[2] iota(), iota_dimension=0"), "(0, 0) (1, 0)");
}

#[test]
fn dynamic_slices_stay_inside() {
    for (start, expected) in [(-5, "0 1"), (1, "1 2"), (9, "2 3")] {
        let text = entry(&format!(
            "i = s32[4] iota(), iota_dimension=0\ns = s32[] constant({start})\nROOT r = s32[2] dynamic-slice(i, s), dynamic_slice_sizes={{2}}"
        ));
        expect(&text, expected);
    }
    let text = entry(
        "i = s32[4] iota(), iota_dimension=0\ns = u64[] constant(18446744073709551615)\nu = s32[2] constant({8,9})\nROOT r = s32[4] dynamic-update-slice(i, u, s)",
    );
    expect(&text, "0 1 8 9");
}

#[test]
fn the_callers_values_stay() {
    let text = entry(
        "p = s32[3] parameter(0)\nu = s32[1] constant({7})\nz = s32[] constant(0)\nROOT r = s32[3] dynamic-update-slice(p, u, z)",
    );
    let argument = Literal::from_values([3], &[1i32, 2, 3]);
    assert_eq!(elements(&run(&text, vec![argument.clone()])), "7 2 3");
    assert_eq!(elements(&argument), "1 2 3");
}

#[test]
fn gathers_clamp_and_scatters_skip() {
    let gather = |index: i32| {
        entry(&format!(
            "x = s32[3,2] constant({{{{1,2}},{{3,4}},{{5,6}}}})\ni = s32[1] constant({{{index}}})\nROOT r = s32[1,2] gather(x, i), offset_dims={{1}}, collapsed_slice_dims={{0}}, start_index_map={{0}}, index_vector_dim=1, slice_sizes={{1,2}}"
        ))
    };
    expect(&gather(-1), "1 2");
    expect(&gather(1), "3 4");
    expect(&gather(7), "5 6");
    let scatter = |index: i32| {
        format!(
            "HloModule m\nsecond {{\n  a = s32[] parameter(0)\n  ROOT b = s32[] parameter(1)\n}}\nENTRY e {{\n  x = s32[3] constant({{1,2,3}})\n  i = s32[1] constant({{{index}}})\n  u = s32[1,2] constant({{{{8,9}}}})\n  ROOT r = s32[3] scatter(x, i, u), update_window_dims={{1}}, inserted_window_dims={{}}, scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, to_apply=second\n}}\n"
        )
    };
    expect(&scatter(0), "8 9 3");
    expect(&scatter(1), "1 8 9");
    // A window that does not fit is skipped as a whole.
    expect(&scatter(2), "1 2 3");
    expect(&scatter(-1), "1 2 3");
}

#[test]
fn gathers_with_batching_dimensions() {
    // Row b of the operand at the index in row b.
    expect(
        &entry(
            "x = s32[2,3] constant({{1,2,3},{4,5,6}})\ni = s32[2,1] constant({{2},{0}})\nROOT r = s32[2] gather(x, i), offset_dims={}, collapsed_slice_dims={1}, start_index_map={1}, operand_batching_dims={0}, start_indices_batching_dims={0}, index_vector_dim=1, slice_sizes={1,1}",
        ),
        "3 4",
    );
}

#[test]
fn absurd_sizes_are_refused() {
    let text = entry("ROOT r = f32[1000000,1000000] iota(), iota_dimension=0");
    let error = try_run(&text, vec![]);
    let error = error.unwrap_err();
    assert_eq!(error.code, rxla_base::Code::ResourceExhausted, "{error}");
    assert!(error.context[0].contains("%r = f32[1000000,1000000] iota"), "{error}");
}
