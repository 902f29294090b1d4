use super::verify;
use crate::text::parse;

/// The first finding's message in a function with some parameters and this body.
fn finding(body: &str) -> String {
    let text = format!(
        "kernel @f(%p: ptr, %i: i64, %x: f32, %c: i1, %v: f32x4) -> i64 {{ {body} }}
         kernel @g(%a: i64) {{}}
         kernel @r(%a: i64) -> i64 {{}}
         kernel @a(%a: i64) {{ call @b(%a) }}
         inline @b(%a: i64) {{}}"
    );
    let module = parse(&text).unwrap_or_else(|finding| panic!("{body}: {finding:?}"));
    verify(&module).map_or_else(|findings| findings[0].message.clone(), |()| "fine".to_owned())
}

#[test]
fn what_is_wrong_is_found() {
    for (body, message) in [
        ("", "fine"),
        ("%y: f32 = add %x, %x", "fine"),
        ("%y: f32 = add %x, %i", "the second operand `%1` is i64, not f32"),
        ("%y: f32 = and %x, %x", "`and` is not defined for f32"),
        ("%y: i64 = fdiv %i, %i", "`fdiv` is not defined for i64"),
        ("%y: i64 = exp %i", "`exp` is not defined for i64"),
        ("%y: f32 = not %x", "`not` is not defined for f32"),
        ("%y: i8 = constant 1 %z: f32 = splat %x", "`splat` is not defined for f32"),
        ("%y: i1 = compare flt %i, %i", "`flt` is not defined for i64"),
        ("%y: i1x4 = compare flt %x, %x", "the result `%5` is i1x4, not i1"),
        ("%y: f32x4 = select %c, %v, %v", "the condition `%3` is i1, not i1x4"),
        ("%y: f64 = convert sign_extend %x", "`sign_extend` does not lead from f32 to f64"),
        ("%y: f32 = extract %v[4]", "f32x4 has no lane 4"),
        ("%y: f32 = reduce sub %v", "`reduce sub` is not defined for f32x4"),
        ("%y: f32x2 = shuffle %v, %v [0, 8]", "two f32x4 have no lane 8"),
        ("%y: f32x3 = shuffle %v, %v [0, 7]", "2 lanes of f32x4 do not make f32x3"),
        ("%y: f32 = load %i[%i]", "the base `%1` is i64, not ptr"),
        ("%y: f32x4 = load %p[%v]", "the index `%4` is f32x4, not i64x4"),
        ("%y: f32x4 = load %p[%i] mask %c", "the mask `%3` is i1, not i1x4"),
        ("store %p[%x], %x", "the index `%2` is f32, not i64"),
        ("%y: ptr = alloca 8 align(3)", "3 is no alignment"),
        ("for %j in %i..%i step 0 {}", "a step of 0"),
        ("for %j in %i..%x step 1 {}", "the upper bound `%2` is f32, not i64"),
        ("for unroll %j in %i..%i step 1 {}", "a loop to be unrolled has constant bounds"),
        ("for %j in %i..%i step 1 {} store %p[%j], %x", "`%5` is used outside its block"),
        (
            "%r: f32 = for %j in %i..%i step 1 carried (%y = %x) { yield %r }",
            "`%5` is used before it is defined",
        ),
        (
            "%r: f32 = for %j in %i..%i step 1 carried (%y = %i) { yield %y }",
            "the first value `%1` is i64, not f32",
        ),
        (
            "%r: f32 = for %j in %i..%i step 1 carried (%y = %x) {}",
            "the body yields 0 values where 1 belong",
        ),
        ("%r: f32 = if %c { yield %x }", "the second block yields 0 values where 1 belong"),
        (
            "%r: f32 = if %c { yield %x } else { yield %i }",
            "the second block yields `%1` is i64, not f32",
        ),
        ("if %i {}", "the condition `%1` is i64, not i1"),
        ("while { yield %i } do {}", "the condition `%1` is i64, not i1"),
        ("while {} do {}", "0 conditions"),
        ("call @g(%x)", "@g takes (i64), not (f32)"),
        ("call @r(%i)", "@r returns a value, which a call leaves"),
        ("call @f(%p, %i, %x, %c, %v)", "@f returns a value, which a call leaves"),
        ("parallel_call %p, @g() count %i grain 1", "@g takes (i64), not (i64, i64)"),
        ("call_runtime @h(%c)", "`%3` of type i1 passes no C call"),
        ("return_if_nonzero %x", "the function returns on f32, no integer"),
        ("yield %x", "a function's body yields nothing"),
    ] {
        assert_eq!(finding(body), message, "{body}");
    }
}

#[test]
fn calls_that_come_back() {
    let text = "kernel @a() { call @b() } inline @b() { call @c() } inline @c() { call @b() }";
    let findings = verify(&parse(text).unwrap()).unwrap_err();
    assert_eq!(findings[0].message, "@b calls itself");
}

#[test]
fn findings_show_the_statement() {
    let text = "kernel @f(%x: f32) { %i: i64 = constant 0 for %j in %i..%i step -1 { } }";
    let findings = verify(&parse(text).unwrap()).unwrap_err();
    let expected = "error: a step of -1\n  for %2 in %1..%1 step -1 {\n  in @f\n";
    assert_eq!(findings[0].render(None), expected);
}
