//! The larger and the smaller of two floats, bit by bit: zeros have an order, and a NaN keeps its sign.

use crate::check;

const VALUES: [&str; 8] = ["nan", "-0", "0", "1", "-1.5", "inf", "-inf", "7"];

/// Each value with each, and some more, so that vectors do not hold them all.
fn pairs() -> [String; 2] {
    let list = |value: &dyn Fn(usize) -> usize| {
        let values: Vec<&str> = (0..67).map(|at| VALUES[value(at) % VALUES.len()]).collect();
        format!("{{{}}}", values.join(", "))
    };
    [list(&|at| at), list(&|at| at / VALUES.len())]
}

#[test]
fn zeros_and_nans_keep_their_signs() {
    let [a, b] = pairs();
    for (float, bits) in [("f32", "u32"), ("f64", "u64")] {
        let text = format!(
            "HloModule m
            ENTRY e {{
              a = {float}[67] parameter(0)
              b = {float}[67] parameter(1)
              max = {float}[67] maximum(a, b)
              min = {float}[67] minimum(a, b)
              max_bits = {bits}[67] bitcast-convert(max)
              min_bits = {bits}[67] bitcast-convert(min)
              ROOT both = ({bits}[67], {bits}[67]) tuple(max_bits, min_bits)
            }}"
        );
        let inputs = [&a, &b].map(|values| format!("{float}[67]{{0}} {values}"));
        check(&text, &[&inputs[0], &inputs[1]]);
    }
}
