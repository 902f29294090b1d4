//! Windows, cumulative reductions, scatters.

use rxla_hlo::literal::Tolerance;

use super::{EXACT, check, check_within};

const SUMS: Tolerance = Tolerance { absolute: 1e-4, relative: 1e-5, ..EXACT };

fn window(ty: &str, dims: &str, result: &str, window: &str, reducer: &str) -> String {
    format!(
        "HloModule test
         f {{
           a = {ty}[] parameter(0)
           b = {ty}[] parameter(1)
           ROOT r = {ty}[] {reducer}(a, b)
         }}
         ENTRY main {{
           p = {ty}[{dims}] parameter(0)
           i = {ty}[] parameter(1)
           ROOT r = {ty}[{result}] reduce-window(p, i), window={{{window}}}, to_apply=f
         }}"
    )
}

#[test]
fn windows() {
    for reducer in ["add", "maximum"] {
        for ty in ["f32", "s32", "bf16"] {
            let check = |dims: &str, result: &str, text: &str| {
                let tolerance = if ty == "f32" { SUMS } else { EXACT };
                check_within(&window(ty, dims, result, text, reducer), tolerance);
            };
            check("20,30", "19,28", "size=2x3");
            check("20,30", "10,15", "size=2x2 stride=2x2");
            check("20,30", "10,15", "size=3x3 stride=2x2 pad=1_0x0_1");
            check("20,30", "20,30", "size=3x3 pad=1_1x1_1");
            check("20,30", "18,26", "size=2x3 rhs_dilate=2x2");
            check("20,30", "38,57", "size=2x3 lhs_dilate=2x2");
            check("9,12", "9,1", "size=1x12");
            check("3,80", "3,11", "size=1x70");
        }
    }
}

#[test]
fn cumulative_windows() {
    for (dims, text) in [
        ("50", "size=50 pad=49_0"),
        ("50", "size=50 pad=0_49"),
        ("7,40", "size=1x40 pad=0_0x39_0"),
        ("40,17", "size=40x1 pad=39_0x0_0"),
        ("3,20,9", "size=1x20x1 pad=0_0x0_19x0_0"),
    ] {
        check_within(&window("f32", dims, dims, text, "add"), SUMS);
        let fixed = |ty: &str, reducer: &str, initial: &str| {
            let text = window(ty, dims, dims, text, reducer);
            let initial = format!("i = {ty}[] constant({initial})");
            text.replacen(&format!("i = {ty}[] parameter(1)"), &initial, 1)
        };
        check_within(&fixed("f32", "add", "0"), SUMS);
        check(&fixed("s32", "maximum", "-2147483648"));
        check(&fixed("f32", "minimum", "inf"));
        // Reducers that have no name; the second one's operands must not change sides.
        let ours = |body: &str, ty: &str, initial: &str| {
            let text = fixed(ty, "add", initial);
            text.replacen(&format!("ROOT r = {ty}[] add(a, b)"), body, 1)
        };
        let log_add_exp = "m = f32[] maximum(a, b)
            d = f32[] subtract(a, b)
            n = pred[] compare(d, d), direction=NE
            s = f32[] add(a, b)
            p = f32[] abs(d)
            o = f32[] negate(p)
            e = f32[] exponential(o)
            l = f32[] log-plus-one(e)
            t = f32[] add(m, l)
            ROOT r = f32[] select(n, s, t)";
        check_within(&ours(log_add_exp, "f32", "-inf"), SUMS);
        let last_that_is_not_zero = "z = s32[] constant(0)
            c = pred[] compare(b, z), direction=EQ
            ROOT r = s32[] select(c, a, b)";
        check(&ours(last_that_is_not_zero, "s32", "0"));
    }
}

fn scatter(reducer: &str, shapes: [&str; 3], attributes: &str) -> String {
    let [operand, indices, updates] = shapes;
    let body = match reducer {
        "" => "ROOT r = s32[] copy(b)".to_owned(),
        reducer => format!("ROOT r = s32[] {reducer}(a, b)"),
    };
    format!(
        "HloModule test
         f {{
           a = s32[] parameter(0)
           b = s32[] parameter(1)
           {body}
         }}
         ENTRY main {{
           p = s32[{operand}] parameter(0)
           i = {indices} parameter(1)
           u = s32[{updates}] parameter(2)
           ROOT r = s32[{operand}] scatter(p, i, u), {attributes}, to_apply=f
         }}"
    )
}

#[test]
fn scatters() {
    let rows = "update_window_dims={1}, inserted_window_dims={0}, \
                scatter_dims_to_operand_dims={0}, index_vector_dim=1";
    let elements = "update_window_dims={}, inserted_window_dims={0}, \
                    scatter_dims_to_operand_dims={0}, index_vector_dim=1";
    let windows = "update_window_dims={0,2}, inserted_window_dims={}, \
                   scatter_dims_to_operand_dims={1,0}, index_vector_dim=0";
    let batched = "update_window_dims={2}, inserted_window_dims={1}, \
                   scatter_dims_to_operand_dims={1}, input_batching_dims={0}, \
                   scatter_indices_batching_dims={1}, index_vector_dim=2";
    for reducer in ["", "add", "maximum"] {
        check(&scatter(reducer, ["12,30", "s32[9,1]", "9,30"], rows));
        check(&scatter(reducer, ["12,30", "s64[9,1]", "9,20"], rows));
        check(&scatter(reducer, ["12", "u8[40,1]", "40"], elements));
        check(&scatter(reducer, ["8,7", "s32[2,9]", "2,9,3"], windows));
        check(&scatter(reducer, ["4,7,6", "s32[5,4,1]", "5,4,6"], batched));
        check(&scatter(reducer, ["12", "s32[0,1]", "0"], elements));
    }
    let text = scatter("add", ["12,30", "s32[9,1]", "9,30"], rows);
    let (module, id) = super::fused(&text);
    assert!(crate::in_place(&module, id, 0, 0) && !crate::in_place(&module, id, 2, 0));
    // The updates are computed from what the operand was.
    check(
        "HloModule test
         f {
           a = s32[] parameter(0)
           b = s32[] parameter(1)
           ROOT r = s32[] add(a, b)
         }
         ENTRY main {
           p = s32[12] parameter(0)
           i = s32[9,1] parameter(1)
           u = s32[9] slice(p), slice={[3:12]}
           ROOT r = s32[12] scatter(p, i, u), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=f
         }",
    );
}

#[test]
fn gradients_of_windows() {
    for (dims, source, window) in [
        ("20,30", "10,15", "size=2x2 stride=2x2"),
        ("20,30", "10,15", "size=3x3 stride=2x2 pad=1_0x0_1"),
        ("2,9,9", "2,9,9", "size=1x3x3 pad=0_0x1_1x1_1"),
        ("9", "11", "size=1 pad=1_1"),
        ("2,9,12,40", "2,5,6,40", "size=1x3x3x1 stride=1x2x2x1 pad=0_0x1_1x0_1x0_0"),
        ("4,40", "4,13", "size=1x2 stride=1x3"),
    ] {
        check(&format!(
            "HloModule test
             ge {{
               a = s32[] parameter(0)
               b = s32[] parameter(1)
               ROOT r = pred[] compare(a, b), direction=GE
             }}
             add {{
               a = s32[] parameter(0)
               b = s32[] parameter(1)
               ROOT r = s32[] add(a, b)
             }}
             ENTRY main {{
               p = s32[{dims}] parameter(0)
               s = s32[{source}] parameter(1)
               i = s32[] parameter(2)
               ROOT r = s32[{dims}] select-and-scatter(p, s, i), window={{{window}}}, select=ge, scatter=add
             }}"
        ));
    }
}
