//! Ops that call a computation for many elements: reduce, windows, scatter, sort, map, scan.

use crate::common::expect;

const ADD: &str =
    "add {\n  a = s32[] parameter(0)\n  b = s32[] parameter(1)\n  ROOT r = s32[] add(a, b)\n}\n";

fn module(computations: &str, body: &str) -> String {
    format!("HloModule m\n{computations}\nENTRY e {{\n{body}\n}}\n")
}

#[test]
fn reduces_nothing_and_everything() {
    expect(
        &module(
            ADD,
            "x = s32[0,2] constant({})\nz = s32[] constant(5)\nROOT r = s32[2] reduce(x, z), dimensions={0}, to_apply=add",
        ),
        "5 5",
    );
    expect(
        &module(
            ADD,
            "x = s32[2,3] constant({{1,2,3},{4,5,6}})\nz = s32[] constant(10)\nROOT r = s32[] reduce(x, z), dimensions={0,1}, to_apply=add",
        ),
        "31",
    );
    expect(
        &module(
            ADD,
            "x = s32[2,2,2] constant({{{1,2},{3,4}},{{5,6},{7,8}}})\nz = s32[] constant(0)\nROOT r = s32[2] reduce(x, z), dimensions={0,2}, to_apply=add",
        ),
        "14 22",
    );
}

#[test]
fn narrow_integers_wrap_and_narrow_floats_sum_in_f32() {
    let add = |t: &str| ADD.replace("s32", t);
    expect(
        &module(
            &add("s8"),
            "x = s8[3] constant({100,100,100})\nz = s8[] constant(0)\nROOT r = s8[] reduce(x, z), dimensions={0}, to_apply=add",
        ),
        "44",
    );
    expect(
        &module(
            &add("bf16"),
            "o = bf16[] constant(1)\nx = bf16[1000] broadcast(o), dimensions={}\nz = bf16[] constant(0)\nROOT r = bf16[] reduce(x, z), dimensions={0}, to_apply=add",
        ),
        "1000",
    );
    expect(
        &module(
            &add("pred"),
            "x = pred[3] constant({0,1,1})\nz = pred[] constant(false)\nROOT r = pred[] reduce(x, z), dimensions={0}, to_apply=add",
        ),
        "true",
    );
}

#[test]
fn reduces_pairs_by_any_computation() {
    // The greatest value and where it is; of equals the first.
    let argmax = "argmax {\n  v = f32[] parameter(0)\n  i = s32[] parameter(1)\n  w = f32[] parameter(2)\n  j = s32[] parameter(3)\n  g = pred[] compare(v, w), direction=GE\n  m = f32[] select(g, v, w)\n  k = s32[] select(g, i, j)\n  ROOT t = (f32[], s32[]) tuple(m, k)\n}\n";
    let body = "x = f32[2,5] constant({{1,7,3,7,2},{9,1,1,1,1}})\ni = s32[2,5] iota(), iota_dimension=1\nn = f32[] constant(-inf)\nz = s32[] constant(0)\nROOT r = (f32[2], s32[2]) reduce(x, i, n, z), dimensions={1}, to_apply=argmax";
    expect(&module(argmax, body), "7 9; 1 0");
}

#[test]
fn reducers_with_control_flow_run_element_by_element() {
    // add, by way of a conditional on the sign, and by a loop.
    let computations = "id {\n  ROOT p = s32[] parameter(0)\n}\nneg {\n  p = s32[] parameter(0)\n  ROOT n = s32[] negate(p)\n}\ncond {\n  s = (s32[], s32[]) parameter(0)\n  a = s32[] get-tuple-element(s), index=0\n  z = s32[] constant(0)\n  ROOT c = pred[] compare(a, z), direction=GT\n}\nbody {\n  s = (s32[], s32[]) parameter(0)\n  a = s32[] get-tuple-element(s), index=0\n  b = s32[] get-tuple-element(s), index=1\n  o = s32[] constant(1)\n  a1 = s32[] subtract(a, o)\n  b1 = s32[] add(b, o)\n  ROOT t = (s32[], s32[]) tuple(a1, b1)\n}\nloop {\n  a = s32[] parameter(0)\n  b = s32[] parameter(1)\n  t = (s32[], s32[]) tuple(a, b)\n  w = (s32[], s32[]) while(t), condition=cond, body=body\n  ROOT r = s32[] get-tuple-element(w), index=1\n}\nbranch {\n  a = s32[] parameter(0)\n  b = s32[] parameter(1)\n  z = s32[] constant(0)\n  c = pred[] compare(b, z), direction=GE\n  m = s32[] conditional(c, b, b), true_computation=id, false_computation=neg\n  ROOT r = s32[] add(a, m)\n}\n";
    expect(
        &module(
            computations,
            "x = s32[4] constant({1,2,3,4})\nz = s32[] constant(0)\nROOT r = s32[] reduce(x, z), dimensions={0}, to_apply=loop",
        ),
        "10",
    );
    expect(
        &module(
            computations,
            "x = s32[2] constant({1,-2})\nz = s32[] constant(0)\nROOT r = s32[2] map(x, x), dimensions={0}, to_apply=branch",
        ),
        "2 0",
    );
}

#[test]
fn windows_with_padding_strides_and_dilation() {
    let x = "x = s32[5] constant({1,2,3,4,5})\nz = s32[] constant(0)\n";
    for (window, size, expected) in [
        ("size=2", 4, "3 5 7 9"),
        ("size=2 stride=2", 2, "3 7"),
        ("size=3 pad=2_0", 5, "1 3 6 9 12"),
        ("size=2 rhs_dilate=3", 2, "5 7"),
        ("size=2 lhs_dilate=2", 8, "1 2 2 3 3 4 4 5"),
    ] {
        let text = module(
            ADD,
            &format!(
                "{x}ROOT r = s32[{size}] reduce-window(x, z), window={{{window}}}, to_apply=add"
            ),
        );
        expect(&text, expected);
    }
    let sub = ADD.replace("add(a, b)", "subtract(a, b)").replace("add {", "sub {");
    expect(
        &module(
            &sub,
            &format!("{x}ROOT r = s32[4] reduce-window(x, z), window={{size=2}}, to_apply=sub"),
        ),
        "-3 -5 -7 -9",
    );
}

#[test]
fn select_and_scatter_takes_the_first_of_equals() {
    let ge = "ge {\n  a = s32[] parameter(0)\n  b = s32[] parameter(1)\n  ROOT r = pred[] compare(a, b), direction=GE\n}\n";
    expect(
        &module(
            &format!("{ADD}{ge}"),
            "x = s32[6] constant({2,5,5,1,1,3})\ns = s32[3] constant({10,20,30})\nz = s32[] constant(0)\nROOT r = s32[6] select-and-scatter(x, s, z), window={size=2 stride=2}, select=ge, scatter=add",
        ),
        "0 10 20 0 0 30",
    );
    // Overlapping windows meet in one element.
    expect(
        &module(
            &format!("{ADD}{ge}"),
            "x = s32[3] constant({1,9,1})\ns = s32[2] constant({10,20})\nz = s32[] constant(0)\nROOT r = s32[3] select-and-scatter(x, s, z), window={size=2}, select=ge, scatter=add",
        ),
        "0 30 0",
    );
}

#[test]
fn scatters_combine_in_order() {
    let sub = ADD.replace("add(a, b)", "subtract(a, b)").replace("add {", "sub {");
    let body = |to_apply: &str| {
        format!(
            "x = s32[3] constant({{0,0,0}})\ni = s32[4,1] constant({{{{1}},{{1}},{{2}},{{1}}}})\nu = s32[4] constant({{1,2,4,8}})\nROOT r = s32[3] scatter(x, i, u), update_window_dims={{}}, inserted_window_dims={{0}}, scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, to_apply={to_apply}"
        )
    };
    expect(&module(ADD, &body("add")), "0 11 4");
    expect(&module(&sub, &body("sub")), "0 -11 -4");
}

#[test]
fn sorts_by_any_comparator() {
    let lt = "lt {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT r = pred[] compare(a, b), direction=LT, type=TOTALORDER\n}\n";
    expect(
        &module(
            lt,
            "x = f32[6] constant({3,nan,-0,0,-inf,1})\nROOT r = f32[6] sort(x), dimensions={0}, to_apply=lt",
        ),
        "-inf -0 0 1 3 nan",
    );
    // By the key in the second operand, descending; ties keep their order.
    let keyed = "by {\n  a = s32[] parameter(0)\n  b = s32[] parameter(1)\n  k = s32[] parameter(2)\n  l = s32[] parameter(3)\n  ROOT r = pred[] compare(k, l), direction=GT\n}\n";
    expect(
        &module(
            keyed,
            "x = s32[5] constant({1,2,3,4,5})\nk = s32[5] constant({7,9,7,8,9})\nROOT r = (s32[5], s32[5]) sort(x, k), dimensions={0}, is_stable=true, to_apply=by",
        ),
        "2 5 4 1 3; 9 9 8 7 7",
    );
    // First by one operand, then by the other.
    let both = "by {\n  a = s32[] parameter(0)\n  b = s32[] parameter(1)\n  k = s32[] parameter(2)\n  l = s32[] parameter(3)\n  first = pred[] compare(a, b), direction=LT\n  same = pred[] compare(a, b), direction=EQ\n  second = pred[] compare(k, l), direction=LT\n  and = pred[] and(same, second)\n  ROOT r = pred[] or(first, and)\n}\n";
    expect(
        &module(
            both,
            "x = s32[4] constant({2,1,2,1})\nk = s32[4] constant({4,3,1,2})\nROOT r = (s32[4], s32[4]) sort(x, k), dimensions={0}, to_apply=by",
        ),
        "1 1 2 2; 2 3 1 4",
    );
    // By the last digit: no recognised form, so by merging.
    let odd = "by {\n  a = s32[] parameter(0)\n  b = s32[] parameter(1)\n  t = s32[] constant(10)\n  c = s32[] remainder(a, t)\n  d = s32[] remainder(b, t)\n  e = s32[] subtract(c, d)\n  z = s32[] constant(0)\n  ROOT r = pred[] compare(e, z), direction=LT\n}\n";
    expect(
        &module(
            odd,
            "x = s32[7] constant({25,13,5,91,42,3,11})\nROOT r = s32[7] sort(x), dimensions={0}, is_stable=true, to_apply=by",
        ),
        "91 11 42 13 3 25 5",
    );
    expect(
        &module(
            odd,
            "x = s32[3,2] constant({{25,1},{13,1},{5,0}})\nROOT r = s32[3,2] sort(x), dimensions={0}, is_stable=true, to_apply=by",
        ),
        "13 0 25 1 5 1",
    );
}

#[test]
fn a_comparator_that_is_no_order_loses_no_element() {
    let odd = "by {\n  a = s32[] parameter(0)\n  b = s32[] parameter(1)\n  s = s32[] add(a, b)\n  t = s32[] constant(3)\n  m = s32[] remainder(s, t)\n  z = s32[] constant(0)\n  ROOT r = pred[] compare(m, z), direction=EQ\n}\n";
    let text = module(
        odd,
        "x = s32[9] iota(), iota_dimension=0\nROOT r = s32[9] sort(x), dimensions={0}, to_apply=by",
    );
    let result = crate::common::run(&text, vec![]);
    let mut values = result.values::<i32>().to_vec();
    values.sort_unstable();
    assert_eq!(values, (0..9).collect::<Vec<_>>());
}

#[test]
fn topk_of_each_row() {
    expect(
        &module(
            "",
            "x = f32[2,4] constant({{1,4,2,4},{nan,-1,5,0}})\nROOT r = (f32[2,2], s32[2,2]) topk(x), k=2, largest=true",
        ),
        "4 4 nan 5; 1 3 0 2",
    );
}

#[test]
fn scans_in_both_directions() {
    let sum = "sum {\n  x = s32[] parameter(0)\n  c = s32[] parameter(1)\n  s = s32[] add(x, c)\n  ROOT t = (s32[], s32[]) tuple(s, s)\n}\n";
    let body = |more: &str| {
        format!(
            "x = s32[4] constant({{1,2,3,4}})\nz = s32[] constant(10)\nROOT r = (s32[4], s32[]) scan(x, z), dimensions={{0}}{more}, num_carries=1, to_apply=sum"
        )
    };
    expect(&module(sum, &body("")), "11 13 16 20; 20");
    expect(&module(sum, &body(", is_reverse=true")), "20 19 17 14; 20");
}

#[test]
fn batch_norms_and_their_gradient() {
    let x = "x = f32[4,1] constant({{1},{3},{5},{7}})\ns = f32[1] constant({2})\no = f32[1] constant({10})\n";
    // Mean 4, variance 5; with epsilon 4 the deviation is 3.
    expect(
        &module(
            "",
            &format!(
                "{x}ROOT r = (f32[4,1], f32[1], f32[1]) batch-norm-training(x, s, o), epsilon=4, feature_index=1"
            ),
        ),
        "8 9.33333302 10.666667 12; 4; 5",
    );
    expect(
        &module(
            "",
            &format!(
                "{x}m = f32[1] constant({{3}})\nv = f32[1] constant({{0}})\nROOT r = f32[4,1] batch-norm-inference(x, s, o, m, v), epsilon=4, feature_index=1"
            ),
        ),
        "8 10 12 14",
    );
    expect(
        &module(
            "",
            &format!(
                "{x}m = f32[1] constant({{4}})\nv = f32[1] constant({{5}})\ng = f32[4,1] constant({{{{1}},{{1}},{{1}},{{1}}}})\nROOT r = (f32[4,1], f32[1], f32[1]) batch-norm-grad(x, s, m, v, g), epsilon=4, feature_index=1"
            ),
        ),
        "0 0 0 0; 0; 4",
    );
}
