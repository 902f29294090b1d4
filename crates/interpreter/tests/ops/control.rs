//! Control flow, errors and limits.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::common::{expect, module, run, try_run};
use rxla_base::Code;
use rxla_hlo::Literal;
use rxla_interpreter::{Options, evaluate};

const FOREVER: &str = "HloModule m\ncondition {\n  s = s32[] parameter(0)\n  ROOT t = pred[] constant(true)\n}\nbody {\n  ROOT s = s32[] parameter(0)\n}\nENTRY e {\n  p = s32[] parameter(0)\n  ROOT w = s32[] while(p), condition=condition, body=body\n}\n";

#[test]
fn loops_that_do_not_end_are_stopped() {
    let module = module(FOREVER);
    let arguments = || vec![Literal::scalar(1i32)];
    let options = Options { step_limit: Some(1000), ..Options::default() };
    let error = evaluate(&module, arguments(), &options).unwrap_err();
    assert_eq!(error.code, Code::DeadlineExceeded);
    let cancelled = Some(Arc::new(AtomicBool::new(true)));
    let options = Options { cancelled, ..Options::default() };
    assert_eq!(evaluate(&module, arguments(), &options).unwrap_err().code, Code::Cancelled);
}

#[test]
fn conditionals_choose_by_number_and_by_predicate() {
    let text = |index: &str| {
        format!(
            "HloModule m\na {{\n  p = s32[] parameter(0)\n  ROOT n = s32[] negate(p)\n}}\nb {{\n  ROOT p = s32[] parameter(0)\n}}\nENTRY e {{\n  i = {index}\n  x = s32[] constant(5)\n  y = s32[] constant(6)\n  ROOT r = s32[] conditional(i, x, y), {}\n}}\n",
            if index.starts_with("pred") {
                "true_computation=a, false_computation=b"
            } else {
                "branch_computations={a, b}"
            }
        )
    };
    expect(&text("s32[] constant(0)"), "-5");
    expect(&text("s32[] constant(1)"), "6");
    expect(&text("s32[] constant(-1)"), "6");
    expect(&text("s32[] constant(99)"), "6");
    expect(&text("pred[] constant(true)"), "-5");
    expect(&text("pred[] constant(false)"), "6");
}

#[test]
fn calls_nest_deeply_without_ending_the_stack() {
    let mut text = "HloModule m\nf0 {\n  ROOT p = s32[] parameter(0)\n}\n".to_owned();
    for i in 1..=2000 {
        text += &format!(
            "f{i} {{\n  p = s32[] parameter(0)\n  ROOT r = s32[] call(p), to_apply=f{}\n}}\n",
            i - 1
        );
    }
    let deep = format!(
        "{text}ENTRY e {{\n  p = s32[] parameter(0)\n  ROOT r = s32[] call(p), to_apply=f2000\n}}\n"
    );
    let error = try_run(&deep, vec![Literal::scalar(3i32)]).unwrap_err();
    assert_eq!(error.code, Code::ResourceExhausted, "{error}");
    let fine = format!(
        "{text}ENTRY e {{\n  p = s32[] parameter(0)\n  ROOT r = s32[] call(p), to_apply=f150\n}}\n"
    );
    assert_eq!(run(&fine, vec![Literal::scalar(3i32)]), Literal::scalar(3i32));
}

#[test]
fn errors_name_the_instruction_and_the_users_line() {
    let text = "HloModule m\nENTRY e {\n  p = s32[] parameter(0)\n  ROOT r = s32[] custom-call(p), custom_call_target=\"nothing\", metadata={op_name=\"jit(f)/nothing\" source_file=\"model.py\" source_line=12}\n}\n";
    let error = try_run(text, vec![Literal::scalar(3i32)]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "unimplemented: custom call `nothing`\n  in `%r = s32[] custom-call`, `jit(f)/nothing`, model.py:12"
    );
}

#[test]
fn arguments_are_checked() {
    let text = "HloModule m\nENTRY e {\n  ROOT p = s32[2] parameter(0)\n}\n";
    assert_eq!(try_run(text, vec![]).unwrap_err().code, Code::InvalidArgument);
    let error = try_run(text, vec![Literal::scalar(1i32)]).unwrap_err();
    assert_eq!(error.message, "argument 0 is `s32[]` where `s32[2]` is expected");
}

#[test]
fn async_forms_compute_at_their_start() {
    let text = "HloModule m\nf {\n  p = s32[] parameter(0)\n  ROOT n = s32[] negate(p)\n}\nENTRY e {\n  p = s32[] constant(4)\n  s = ((s32[]), s32[], s32[]) async-start(p), calls=f\n  u = ((s32[]), s32[], s32[]) async-update(s)\n  d = s32[] async-done(u)\n  c = (s32[], s32[], u32[]) copy-start(d)\n  ROOT r = s32[] copy-done(c)\n}\n";
    expect(text, "-4");
}

#[test]
fn reducers_that_call_each_other_deeply_do_not_end_the_stack() {
    let parameters = "  a = s32[] parameter(0)\n  b = s32[] parameter(1)\n";
    let mut text = format!("HloModule m\nf0 {{\n{parameters}  ROOT r = s32[] add(a, b)\n}}\n");
    for i in 1..=20_000 {
        let callee = i - 1;
        text +=
            &format!("f{i} {{\n{parameters}  ROOT r = s32[] call(a, b), to_apply=f{callee}\n}}\n");
    }
    let reduce = |name: &str| {
        format!(
            "{text}ENTRY e {{\n  p = s32[2] constant({{1,2}})\n  z = s32[] constant(0)\n  ROOT r = s32[] reduce(p, z), dimensions={{0}}, to_apply={name}\n}}\n"
        )
    };
    let error = try_run(&reduce("f20000"), vec![]).unwrap_err();
    assert_eq!(error.code, Code::ResourceExhausted, "{error}");
    assert_eq!(run(&reduce("f100"), vec![]), Literal::scalar(3i32));
}
