//! Formulas of more operations than fit on a few pages: one loop over their elements, which stores nothing between.

use std::fmt::Write;

use rxla_cpu::{Options, compile};
use rxla_hlo::Op;

use crate::{check, module};

/// Each of so many values is made of two of the forty before it, and the last of them are added up.
fn formula(operations: usize) -> String {
    let mut text =
        "HloModule m\nENTRY e {\n  v0 = f32[70] parameter(0)\n  v1 = f32[70] parameter(1)\n"
            .to_owned();
    let name = |at: usize, back: usize| format!("v{}", at - 1 - (at * back) % at.min(40));
    for at in 2..operations + 2 {
        let op = ["add", "maximum", "subtract", "minimum"][at % 4];
        writeln!(text, "  v{at} = f32[70] {op}({}, {})", name(at, 7), name(at, 13)).unwrap();
    }
    let last = operations + 1;
    writeln!(text, "  s0 = f32[70] tanh(v{last})").unwrap();
    for number in 1..40 {
        writeln!(text, "  s{number} = f32[70] add(s{}, v{})", number - 1, last - number).unwrap();
    }
    text + "  ROOT r = f32[70] negate(s39)\n}\n"
}

#[test]
fn a_formula_of_a_thousand_operations_is_one_loop() {
    let text = formula(1000);
    let executable = compile(&module(&text), &Options::default()).unwrap();
    let module = executable.module();
    let entry = &module[module.entry()];
    let fusions = entry.instructions().iter().filter(|&&id| matches!(module[id].op, Op::Fusion(_)));
    assert_eq!(fusions.count(), 1);
    assert_eq!(executable.temp_bytes(), 0);
    let values = |step: usize| {
        let values: Vec<String> = (0..70).map(|at| ((at * step) % 9).to_string()).collect();
        format!("f32[70]{{0}} {{{}}}", values.join(", "))
    };
    check(&text, &[&values(2), &values(5)]);
}
