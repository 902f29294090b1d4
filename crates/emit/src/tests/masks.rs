//! Rows of which a mask hides the end: the values are those of the whole row, wherever the border is.

use rxla_hlo::Literal;
use rxla_hlo::literal::Tolerance;

use super::{EXACT, Random, check_on, fused, literal};

const SUMS: Tolerance = Tolerance { absolute: 1e-5, relative: 1e-5, ..EXACT };

/// A softmax of rows of scores; `number` is a parameter of the mask.
fn softmax(ty: &str, number: &str, mask: &str, hidden: &str) -> String {
    format!(
        "HloModule test
         max {{
           a = {ty}[] parameter(0)
           b = {ty}[] parameter(1)
           ROOT r = {ty}[] maximum(a, b)
         }}
         sum {{
           a = {ty}[] parameter(0)
           b = {ty}[] parameter(1)
           ROOT r = {ty}[] add(a, b)
         }}
         ENTRY main {{
           scores = {ty}[6,300] parameter(0)
           number = {number} parameter(1)
           {mask}
           low = {ty}[] constant({hidden})
           lows = {ty}[6,300] broadcast(low), dimensions={{}}
           masked = {ty}[6,300] select(mask, scores, lows)
           least = {ty}[] constant(-inf)
           zero = {ty}[] constant(0)
           most = {ty}[6] reduce(masked, least), dimensions={{1}}, to_apply=max
           mosts = {ty}[6,300] broadcast(most), dimensions={{0}}
           difference = {ty}[6,300] subtract(masked, mosts)
           e = {ty}[6,300] exponential(difference)
           total = {ty}[6] reduce(e, zero), dimensions={{1}}, to_apply=sum
           totals = {ty}[6,300] broadcast(total), dimensions={{0}}
           quotients = {ty}[6,300] divide(e, totals)
           ROOT both = ({ty}[6,300], {ty}[6]) tuple(quotients, most)
         }}"
    )
}

/// `row + number >= column`, in one of the ways to say it.
fn causal(integer: &str, compare: &str) -> String {
    format!(
        "i = {integer}[6,300] iota(), iota_dimension=0
         n = {integer}[6,300] broadcast(number), dimensions={{}}
         row = {integer}[6,300] add(i, n)
         column = {integer}[6,300] iota(), iota_dimension=1
         {compare}"
    )
}

fn scores(text: &str) -> (rxla_hlo::Module, rxla_hlo::InstructionId, Literal) {
    let (module, id) = fused(text);
    let shape = module.operand_shape(id, 0).clone();
    let mut scores = literal(&mut Random(7), &shape);
    // As they come from a product: finite.
    let ty = shape.as_array().unwrap().element_type;
    let values: Vec<f64> = (0..1800).map(|at| scores.array().float(at).unwrap()).collect();
    let tame: Vec<f64> = values.iter().map(|x| if x.is_finite() { *x } else { 0.5 }).collect();
    let dims = [6, 300];
    scores = Literal::Array(rxla_hlo::ArrayLiteral::from_values(dims, &tame).convert(ty).unwrap());
    (module, id, scores)
}

#[test]
fn borders_anywhere() {
    let ways = [
        "mask = pred[6,300] compare(row, column), direction=GE",
        "less = pred[6,300] compare(row, column), direction=LT
         mask = pred[6,300] not(less)",
        "mask = pred[6,300] compare(column, row), direction=LT",
    ];
    for (integer, compare) in [("s32", ways[0]), ("s64", ways[1]), ("s32", ways[2])] {
        let text = softmax("f32", &format!("{integer}[]"), &causal(integer, compare), "-1e30");
        let (module, id, scores) = scores(&text);
        // Rows that see nothing, some, and all; and numbers with which the mask's own wrap.
        for number in [
            -400,
            -3,
            0,
            1,
            62,
            63,
            64,
            120,
            128,
            190,
            255,
            256,
            299,
            400,
            1 << 29,
            i32::MAX,
            i32::MIN,
        ] {
            let number = match integer {
                "s32" => Literal::scalar(number),
                _ => Literal::scalar(i64::from(number)),
            };
            check_on(&module, id, vec![scores.clone(), number], SUMS);
        }
    }
}

#[test]
fn rows_that_see_nothing() {
    // The largest is the hidden one, and exponentials of the hidden are not zero but one or no number.
    for hidden in ["-inf", "-1e30", "3"] {
        let mask = causal("s32", "mask = pred[6,300] compare(row, column), direction=GE");
        let (module, id, scores) = scores(&softmax("f32", "s32[]", &mask, hidden));
        for number in [-400, -3, 100] {
            check_on(&module, id, vec![scores.clone(), Literal::scalar(number)], SUMS);
        }
    }
}

#[test]
fn lengths_of_rows() {
    let mask = "n = s32[6,300] broadcast(number), dimensions={0}
         column = s32[6,300] iota(), iota_dimension=1
         mask = pred[6,300] compare(column, n), direction=LT";
    let (module, id, scores) = scores(&softmax("f32", "s32[6]", mask, "-inf"));
    let lengths = Literal::from_values([6], &[300, 1, 64, 65, 0, 200]);
    check_on(&module, id, vec![scores, lengths], SUMS);
}

#[test]
fn two_masks() {
    // Those before a window, too, which is no border; and where both are asked for at once.
    let mask = causal(
        "s32",
        "causal = pred[6,300] compare(row, column), direction=GE
         width = s32[] constant(70)
         widths = s32[6,300] broadcast(width), dimensions={}
         after = s32[6,300] add(column, widths)
         window = pred[6,300] compare(after, row), direction=GT
         mask = pred[6,300] and(window, causal)",
    );
    for ty in ["f32", "bf16", "f64"] {
        let (module, id, scores) = scores(&softmax(ty, "s32[]", &mask, "-1e30"));
        let within = match ty {
            "bf16" => Tolerance { absolute: 1e-2, relative: 2e-2, ..EXACT },
            _ => SUMS,
        };
        for number in [0, 64, 150, 290] {
            check_on(&module, id, vec![scores.clone(), Literal::scalar(number)], within);
        }
    }
}

#[test]
fn triangles() {
    for direction in ["GE", "LT", "GT", "LE"] {
        let text = format!(
            "HloModule test
             ENTRY main {{
               x = f32[7,200] parameter(0)
               row = s32[7,200] iota(), iota_dimension=0
               column = s32[7,200] iota(), iota_dimension=1
               mask = pred[7,200] compare(row, column), direction={direction}
               zero = f32[] constant(0)
               zeros = f32[7,200] broadcast(zero), dimensions={{}}
               ROOT r = f32[7,200] select(mask, x, zeros)
             }}"
        );
        super::check(&text);
    }
}
