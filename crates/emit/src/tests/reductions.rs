//! Reductions, small dots, and what is fused around them.

use rxla_hlo::literal::Tolerance;

use super::{EXACT, check, check_within, kernel};

/// The interpreter sums in another order.
const SUMS: Tolerance = Tolerance { absolute: 1e-4, relative: 1e-5, ..EXACT };

fn reduce(ty: &str, dims: &str, result: &str, reduced: &str, reducer: &str) -> String {
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
           ROOT r = {ty}[{result}] reduce(p, i), dimensions={{{reduced}}}, to_apply=f
         }}"
    )
}

#[test]
fn sums_of_rows_and_columns() {
    for (dims, result, reduced) in [
        ("5,70", "5", "1"),
        ("5,70", "70", "0"),
        ("5,70", "", "0,1"),
        ("3,40,50", "40", "0,2"),
        ("3,40,50", "3,50", "1"),
        ("6,3", "6", "1"),
        ("0,4", "4", "0"),
        ("9000", "", "0"),
        ("3,9001", "3", "1"),
        ("1,1,1", "", "0,1,2"),
        ("4", "4", ""),
        ("", "", ""),
        ("33,70", "70", "0"),
        ("40,1030", "1030", "0"),
        ("3,37,4,50", "3,4,50", "1"),
        ("5,3,37,50", "3,50", "0,2"),
        ("100,3", "3", "0"),
        ("40,50,3", "40,3", "1"),
        ("40,50,3", "50,3", "0"),
        ("50,60,3", "3", "0,1"),
        ("2,9001,2", "2,2", "1"),
        ("20,70,8", "20,8", "1"),
    ] {
        check_within(&reduce("f32", dims, result, reduced, "add"), SUMS);
    }
}

/// Sums of coordinates, as of forces between points, are made together.
#[test]
fn coordinates_are_reduced_in_one_loop() {
    for (result, reduced) in [("40,3", "1"), ("3", "0,1")] {
        let text = reduce("f32", "40,50,3", result, reduced, "add");
        let kernel = kernel(&text);
        assert_eq!(kernel.matches("yield").count(), 1, "{kernel}");
        assert_eq!(kernel.matches("load %0").count(), 3, "{kernel}");
    }
}

#[test]
fn reducers_and_types() {
    for ty in ["s4", "s8", "u8", "s32", "u32", "s64", "u64", "bf16", "f16", "f32", "f64", "c64"] {
        for reducer in ["add", "multiply", "maximum", "minimum", "and", "or", "xor"] {
            let integer = ty.starts_with(['s', 'u']);
            let defined = match reducer {
                "add" | "multiply" => true,
                "maximum" | "minimum" => ty != "c64",
                _ => integer,
            };
            if !defined {
                continue;
            }
            // Products of many would leave the type.
            let dims = if reducer == "multiply" { "9,20" } else { "40,5" };
            let (result, reduced) = if reducer == "multiply" { ("20", "0") } else { ("5", "0") };
            let tolerance = match ty {
                "bf16" | "f16" => Tolerance { absolute: 1e-4, relative: 1e-2, ..EXACT },
                "c64" | "f32" | "f64" => SUMS,
                _ => EXACT,
            };
            check_within(&reduce(ty, dims, result, reduced, reducer), tolerance);
        }
    }
    for reducer in ["and", "or", "xor"] {
        check(&reduce("pred", "5,70", "5", "1", reducer));
    }
}

const ARGMAX: &str = "
    f {
      v0 = f32[] parameter(0)
      i0 = s32[] parameter(1)
      v1 = f32[] parameter(2)
      i1 = s32[] parameter(3)
      gt = pred[] compare(v0, v1), direction=GT
      nan = pred[] compare(v0, v0), direction=NE
      first = pred[] or(gt, nan)
      same = pred[] compare(v0, v1), direction=EQ
      lower = pred[] compare(i0, i1), direction=LT
      tie = pred[] and(same, lower)
      take = pred[] or(first, tie)
      v = f32[] select(first, v0, v1)
      i = s32[] select(take, i0, i1)
      ROOT r = (f32[], s32[]) tuple(v, i)
    }";

#[test]
fn several_arrays_at_once() {
    for (dims, result, dimension) in
        [("5,70", "5", 1), ("70,5", "5", 0), ("6,7", "6", 1), ("70,30", "30", 0)]
    {
        check(&format!(
            "HloModule test
             {ARGMAX}
             ENTRY main {{
               p = f32[{dims}] parameter(0)
               i = s32[{dims}] iota(), iota_dimension={dimension}
               low = f32[] constant(-inf)
               zero = s32[] constant(0)
               ROOT r = (f32[{result}], s32[{result}]) reduce(p, i, low, zero), dimensions={{{dimension}}}, to_apply=f
             }}"
        ));
    }
}

#[test]
fn normalisation_in_one_kernel() {
    check_within(
        "HloModule test
         sum { a = f32[] parameter(0)
               b = f32[] parameter(1)
               ROOT r = f32[] add(a, b) }
         max { a = f32[] parameter(0)
               b = f32[] parameter(1)
               ROOT r = f32[] maximum(a, b) }
         ENTRY main {
           q = s32[6,40] parameter(0)
           p = f32[6,40] convert(q)
           low = f32[] constant(-inf)
           m = f32[6] reduce(p, low), dimensions={1}, to_apply=max
           mb = f32[6,40] broadcast(m), dimensions={0}
           d = f32[6,40] subtract(p, mb)
           e = f32[6,40] exponential(d)
           zero = f32[] constant(0)
           s = f32[6] reduce(e, zero), dimensions={1}, to_apply=sum
           sb = f32[6,40] broadcast(s), dimensions={0}
           ROOT r = f32[6,40] divide(e, sb)
         }",
        SUMS,
    );
}

#[test]
fn sums_with_what_follows() {
    // Mean and variance of columns in one pass, and a reduction that another column needs.
    check_within(
        "HloModule test
         sum { a = f32[] parameter(0)
               b = f32[] parameter(1)
               ROOT r = f32[] add(a, b) }
         ENTRY main {
           q = s8[90,70] parameter(0)
           p = bf16[90,70] convert(q)
           w = f32[90,70] convert(p)
           zero = f32[] constant(0)
           s = f32[70] reduce(w, zero), dimensions={0}, to_apply=sum
           ww = f32[90,70] multiply(w, w)
           ss = f32[70] reduce(ww, zero), dimensions={0}, to_apply=sum
           n = f32[] constant(90)
           nb = f32[70] broadcast(n), dimensions={}
           mean = f32[70] divide(s, nb)
           square = f32[70] divide(ss, nb)
           mm = f32[70] multiply(mean, mean)
           v = f32[70] subtract(square, mm)
           ROOT r = (f32[70], f32[70]) tuple(mean, v)
         }",
        SUMS,
    );
    check_within(
        "HloModule test
         sum { a = f32[] parameter(0)
               b = f32[] parameter(1)
               ROOT r = f32[] add(a, b) }
         ENTRY main {
           q = s8[90,70] parameter(0)
           w = f32[90,70] convert(q)
           zero = f32[] constant(0)
           s = f32[70] reduce(w, zero), dimensions={0}, to_apply=sum
           back = f32[70] reverse(s), dimensions={0}
           ROOT r = f32[70] add(s, back)
         }",
        SUMS,
    );
}

#[test]
fn small_dots() {
    for (lhs, rhs, result, numbers) in [
        ("f32[3,3]", "f32[3,3]", "f32[3,3]", "lhs_contracting_dims={1}, rhs_contracting_dims={0}"),
        (
            "f32[5,20]",
            "f32[20,7]",
            "f32[5,7]",
            "lhs_contracting_dims={1}, rhs_contracting_dims={0}",
        ),
        ("s8[5,20]", "s8[7,20]", "s32[5,7]", "lhs_contracting_dims={1}, rhs_contracting_dims={1}"),
        ("f32[3]", "f32[3]", "f32[]", "lhs_contracting_dims={0}, rhs_contracting_dims={0}"),
        ("c64[3,4]", "c64[4]", "c64[3]", "lhs_contracting_dims={1}, rhs_contracting_dims={0}"),
        // Many results, but short rows of them.
        (
            "f32[300,8]",
            "f32[8,8]",
            "f32[300,8]",
            "lhs_contracting_dims={1}, rhs_contracting_dims={0}",
        ),
        (
            "f32[16,130]",
            "f32[9,16]",
            "f32[130,9]",
            "lhs_contracting_dims={0}, rhs_contracting_dims={1}",
        ),
        (
            "bf16[2,0]",
            "bf16[0,3]",
            "bf16[2,3]",
            "lhs_contracting_dims={1}, rhs_contracting_dims={0}",
        ),
        (
            "f32[9,3,4]",
            "f32[9,4,2]",
            "f32[9,3,2]",
            "lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={1}",
        ),
    ] {
        check_within(
            &format!(
                "HloModule test
                 ENTRY main {{
                   a = {lhs} parameter(0)
                   b = {rhs} parameter(1)
                   ROOT r = {result} dot(a, b), {numbers}
                 }}"
            ),
            Tolerance { absolute: 1e-4, relative: 1e-5, ..EXACT },
        );
    }
}

/// Pieces of a loop end where its chunks do not.
#[test]
fn long_sums_of_concatenations() {
    let part = |i: i64| format!("p{i} = f32[{}] parameter({i})", 300 + 200 * i);
    let parts: Vec<String> = (0..8).map(part).collect();
    let text = format!(
        "HloModule test
         f {{
           a = f32[] parameter(0)
           b = f32[] parameter(1)
           ROOT r = f32[] add(a, b)
         }}
         ENTRY main {{
           {}
           all = f32[8000] concatenate(p0, p1, p2, p3, p4, p5, p6, p7), dimensions={{0}}
           squares = f32[8000] multiply(all, all)
           zero = f32[] constant(0)
           ROOT r = f32[] reduce(squares, zero), dimensions={{0}}, to_apply=f
         }}",
        parts.join("\n")
    );
    check_within(&text, SUMS);
}
