//! Rows that one reduction writes down and others read.

use rxla_hlo::literal::Tolerance;

use super::{EXACT, check_within, fused};
use crate::keep;

const REDUCERS: &str = "
    max {
      a = TY[] parameter(0)
      b = TY[] parameter(1)
      ROOT r = TY[] maximum(a, b)
    }
    sum {
      a = TY[] parameter(0)
      b = TY[] parameter(1)
      ROOT r = TY[] add(a, b)
    }
    ENTRY main {
      p = TY[DIMS] parameter(0)
      none = TY[] parameter(1)
      finite = pred[DIMS] is-finite(p)
      nones = TY[DIMS] broadcast(none), dimensions={}
      x = TY[DIMS] select(finite, p, nones)
      least = TY[] constant(-inf)
      zero = TY[] constant(0)
";

/// A module of rows of these dimensions, the last `inner` of which make up a row, that keeps so many of them.
fn module(ty: &str, dims: &str, inner: usize, body: &str, kept: usize) -> String {
    let rank = dims.split(',').count();
    let list = |range: std::ops::Range<usize>| {
        range.map(|at| at.to_string()).collect::<Vec<_>>().join(",")
    };
    let rows: Vec<&str> = dims.split(',').take(rank - inner).collect();
    let text = format!("HloModule test {REDUCERS} {body} }}")
        .replace("TY", ty)
        .replace("DIMS", dims)
        .replace("ROWS", &rows.join(","))
        .replace("OUTER", &list(0..rank - inner))
        .replace("INNER", &list(rank - inner..rank));
    let (module, id) = fused(&text);
    assert_eq!(keep::find(&module, id, 0).len(), kept, "{text}");
    text
}

fn close(ty: &str) -> Tolerance {
    let relative = match ty {
        "bf16" => 2e-2,
        "f16" => 2e-3,
        _ => 1e-5,
    };
    Tolerance { absolute: 1e-5, relative, ..EXACT }
}

const SOFTMAX: &str = "
    most = TY[ROWS] reduce(x, least), dimensions={INNER}, to_apply=max
    mosts = TY[DIMS] broadcast(most), dimensions={OUTER}
    less = TY[DIMS] subtract(x, mosts)
    e = TY[DIMS] exponential(less)
    total = TY[ROWS] reduce(e, zero), dimensions={INNER}, to_apply=sum
    totals = TY[DIMS] broadcast(total), dimensions={OUTER}";

#[test]
fn exponentials_of_a_softmax() {
    let body = format!("{SOFTMAX} ROOT r = TY[DIMS] divide(e, totals)");
    for ty in ["bf16", "f16", "f32", "f64"] {
        for (dims, inner) in [("5,70", 1), ("3,2,90", 1), ("4,7,33", 2), ("2,5000", 1), ("3,1", 1)]
        {
            check_within(&module(ty, dims, inner, &body, 1), close(ty));
        }
    }
}

#[test]
fn what_rows_have_one_of_is_a_result_too() {
    let body = format!(
        "{SOFTMAX} divided = TY[DIMS] divide(e, totals)
         ROOT r = (TY[ROWS], TY[DIMS], TY[ROWS]) tuple(most, divided, total)"
    );
    for ty in ["bf16", "f32", "f64"] {
        // Enough rows to be shared, or too few; in more dimensions, and of more.
        for (dims, inner) in
            [("70,90", 1), ("64,5000", 1), ("5,70", 1), ("8,9,33", 1), ("2,40,7,33", 2)]
        {
            check_within(&module(ty, dims, inner, &body, 1), close(ty));
        }
    }
}

#[test]
fn rows_too_long_to_keep() {
    let body = format!("{SOFTMAX} ROOT r = TY[DIMS] divide(e, totals)");
    check_within(&module("f32", "2,20000", 1, &body, 0), close("f32"));
}

/// The largest is found where functions are computed, and both are read for the sum.
#[test]
fn two_reductions_of_what_is_kept() {
    let body = "
        f = TY[DIMS] tanh(x)
        most = TY[ROWS] reduce(f, least), dimensions={INNER}, to_apply=max
        mosts = TY[DIMS] broadcast(most), dimensions={OUTER}
        less = TY[DIMS] subtract(f, mosts)
        e = TY[DIMS] exponential(less)
        total = TY[ROWS] reduce(e, zero), dimensions={INNER}, to_apply=sum
        totals = TY[DIMS] broadcast(total), dimensions={OUTER}
        quotient = TY[DIMS] divide(e, totals)
        ROOT r = TY[DIMS] add(quotient, f)";
    check_within(&module("f32", "6,70", 1, body, 2), close("f32"));
}

/// One element for a row: rows come one after the other then, not side by side in lanes.
#[test]
fn results_of_rows_alone() {
    let body = "
        f = TY[DIMS] tanh(x)
        most = TY[ROWS] reduce(f, least), dimensions={INNER}, to_apply=max
        mosts = TY[DIMS] broadcast(most), dimensions={OUTER}
        less = TY[DIMS] subtract(f, mosts)
        e = TY[DIMS] exponential(less)
        total = TY[ROWS] reduce(e, zero), dimensions={INNER}, to_apply=sum
        log = TY[ROWS] log(total)
        ROOT r = TY[ROWS] add(log, most)";
    for dims in ["70,9", "33,200", "256,9"] {
        check_within(&module("f32", dims, 1, body, 1), close("f32"));
    }
}

#[test]
fn rows_and_elements_together() {
    let body = format!(
        "{SOFTMAX} q = TY[DIMS] divide(e, totals)
         log = TY[ROWS] log(total)
         ROOT r = (TY[DIMS], TY[ROWS]) tuple(q, log)"
    );
    check_within(&module("f32", "40,70", 1, &body, 1), close("f32"));
}

/// What is cheap is computed again, and what is turned has no rows.
#[test]
fn what_is_not_kept() {
    let body = "
        f = TY[DIMS] add(x, x)
        total = TY[ROWS] reduce(f, zero), dimensions={INNER}, to_apply=sum
        totals = TY[DIMS] broadcast(total), dimensions={OUTER}
        ROOT r = TY[DIMS] subtract(f, totals)";
    check_within(&module("f32", "6,70", 1, body, 0), close("f32"));
    let body = "
        f = TY[DIMS] tanh(x)
        total = TY[ROWS] reduce(f, zero), dimensions={INNER}, to_apply=sum
        totals = TY[DIMS] broadcast(total), dimensions={OUTER}
        turned = TY[DIMS] transpose(f), dimensions={1,0}
        ROOT r = TY[DIMS] subtract(turned, totals)";
    check_within(&module("f32", "70,70", 1, body, 0), close("f32"));
}
