use rxla_base::Source;

use super::parse;

/// Every statement and operation, as printed.
const ALL: &str = "\
kernel @all.1(%0: ptr noalias align(64), %1: ptr, %2: i64) -> i64 {
  %3: i64 = constant 0
  %4: i8 = constant -128
  %5: i1 = constant true
  %6: f32 = constant 2.5
  %7: f32 = constant 0x7fc00000
  %8: f16 = constant 0.0999755859375
  %9: bf16 = constant -0.0
  %10: f64 = constant 1e-300
  %11: ptr = alloca 256 align(64)
  %12: ptr = offset %11, %2
  %13: f32, %14: i64 = for %15 in %3..%2 step 2 carried (%16 = %6, %17 = %3) {
    %18: f32 = load %0[%15]
    %19: f32 = fma %18, %16, %6
    %20: i64 = add %17, %15
    yield %19, %20
  }
  for vector %21 in %3..%2 step 1 {
    for unroll %22 in %3..%2 step 1 {
    }
  }
  %23: f32x8 = splat %13
  %24: i64x8 = lane_index
  %25: f32x8 = load %0[%24]
  %26: i1x8 = compare flt %25, %23
  %27: f32x8 = select %26, %25, %23
  %28: f32x8 = load %0[%2] mask %26
  store %1[%2], %28 mask %26
  store %1[%24], %27
  %29: f32x8 = shuffle %27, %28 [0, 8, 1, 9, 2, 10, 3, 11]
  %30: f32 = extract %29[7]
  %31: f32 = reduce fmax %29
  %32: f64 = convert float %31
  %33: f64 = exp %32
  %34: i64 = while carried (%35 = %14) {
    %36: i1 = compare slt %35, %2
    yield %36
  } do {
    %37: i64 = mul %35, %2
    yield %37
  }
  %38: i64 = if %5 {
    yield %34
  } else {
    yield %2
  }
  if %5 {
    call @helper(%1)
  }
  parallel_call %0, @piece(%0, %1) count %2 grain 16
  %39: i64 = call_runtime @rxla_now(%0, %2)
  call_runtime @rxla_trace()
  return_if_nonzero %39
}

inline @helper(%0: ptr) {
}

kernel @piece(%0: ptr, %1: ptr, %2: i64, %3: i64) {
}
";

#[test]
fn everything_prints_as_it_was_read() {
    let module = parse(ALL).unwrap_or_else(|finding| panic!("{}", render(ALL, &finding)));
    assert_eq!(module.to_string(), ALL);
}

#[test]
fn names_of_values_do_not_matter() {
    let named = "kernel @f(%x: i64) { // comment\n %later: i64 = add %x, %x }";
    let numbered = "kernel @f(%0: i64) {\n  %1: i64 = add %0, %0\n}\n";
    assert_eq!(parse(named).unwrap().to_string(), numbered);
}

#[test]
fn constants_keep_their_bits() {
    for (ty, bits, text) in [
        ("f32", "0x1", "1e-45"),
        ("f32", "0x80000000", "-0.0"),
        ("f32", "0x7f800000", "0x7f800000"),
        ("f64", "0x7ff0000000000001", "0x7ff0000000000001"),
        ("f16", "0x7bff", "65504.0"),
        ("bf16", "0x1", "9.183549615799121e-41"),
        ("i16", "0xffff", "-1"),
        ("i64", "0x8000000000000000", "-9223372036854775808"),
        ("i1", "1", "true"),
    ] {
        let source =
            |constant: &str| format!("kernel @f() {{\n  %0: {ty} = constant {constant}\n}}\n");
        let first = parse(&source(bits)).unwrap();
        assert_eq!(first.to_string(), source(text));
        assert_eq!(parse(&source(text)).unwrap(), first);
    }
}

fn render(text: &str, finding: &rxla_base::Diagnostic) -> String {
    finding.render(Some(&Source { name: "k", text }))
}

#[test]
fn findings_point_at_their_place() {
    for (text, expected) in [
        (
            "kernel @f() {\n  %0: f32 = exp %1\n}",
            "error: `%1` is not defined before this place\n  --> k:2:17\n    2 |   %0: f32 = exp %1\n      |                 ^^\n",
        ),
        (
            "kernel @f() {\n  %0: i8 = constant 256\n}",
            "error: `256` is no constant of type i8\n  --> k:2:21\n    2 |   %0: i8 = constant 256\n      |                     ^^^\n",
        ),
    ] {
        assert_eq!(render(text, &parse(text).unwrap_err()), expected);
    }
    for (text, message) in [
        ("kernel", "expected a function such as `@name`, found the end of the text"),
        ("kernel @ () {}", "a function needs a name after `@`"),
        ("module", "`module` starts no function; `kernel` and `inline` do"),
        ("kernel @f() {} kernel @f() {}", "two functions are named `f`"),
        ("kernel @f(%0: f33) {}", "`f33` is no type"),
        ("kernel @f(%0: f32x0) {}", "`f32x0` is no type"),
        ("kernel @f(%0: f32, %0: f32) {}", "`%0` is defined twice"),
        ("kernel @f(%0: f32) { frob %0 }", "an operation has one result, not 0"),
        ("kernel @f(%0: f32) { %1: f32 = frob %0 }", "`frob` is no operation"),
        ("kernel @f(%0: f32) { %1: f32 = add %0 }", "1 operands where 2 belong"),
        ("kernel @f(%0: f32) { %1: f32 = store %0[%0], %0 }", "`store` has no result"),
        ("kernel @f(%0: f32) { %1: f32 = compare big %0, %0 }", "`big` is not a comparison"),
        ("kernel @f() { call @g() }", "no function is named `g`"),
        ("kernel @f(%0: i64) { for fast %1 in %0..%0 step 1 {} }", "`fast` is no kind of loop"),
        (
            "kernel @f(%0: i64) { %2: i64 = for %1 in %0..%0 step 1 {} }",
            "0 carried values, but 1 results",
        ),
        (
            "kernel @f(%0: i64) { # }",
            "expected a statement, found a character that means nothing here",
        ),
        ("kernel @f() { %0: f32 = constant 1e99 }", "`1e99` is no constant of type f32"),
        ("kernel @f() { é }", "expected a statement, found a character that means nothing here"),
        ("kernel @f() {", "expected a statement, found the end of the text"),
    ] {
        assert_eq!(parse(text).unwrap_err().message, message, "{text}");
    }
    let deep = format!("kernel @f(%0: i1) {{ {} ", "if %0 { ".repeat(100_000));
    assert_eq!(parse(&deep).unwrap_err().message, "blocks are nested deeper than 200");
}
