use super::{remove_dead_code, simplify};
use crate::schedule::check;

#[test]
fn constants_and_what_does_nothing() {
    check(
        simplify,
        "kernel @f(%0: ptr, %1: i64, %2: f32) {
           %zero: i64 = constant 0
           %one: i64 = constant 1
           %three: i64 = constant 3
           %six: i64 = constant 6
           %a: i64 = add %1, %zero
           %b: i64 = mul %one, %a
           %c: i64 = add %b, %three
           %d: i64 = sub %c, %one
           %e: i64 = mul %d, %six
           %f: i64 = mul %e, %three
           store %0[%f], %2
           %x: f32 = constant 1.0
           %m: f32 = mul %x, %2
           %nz: f32 = constant -0.0
           %n: f32 = add %m, %nz
           %pz: f32 = constant 0.0
           %p: f32 = add %n, %pz
           store %0[%three], %p
           %g: i64 = sdiv %six, %zero
           store %0[%g], %pz
           %nan: f32 = fdiv %pz, %pz
           store %0[%zero], %nan
           %exp: f32 = exp %pz
           store %0[%zero], %exp
           %v: f32x4 = splat %pz
           store %0[%zero], %v
         }",
        "kernel @f(%0: ptr, %1: i64, %2: f32) {
  %3: i64 = constant 0
  %4: i64 = constant 3
  %5: i64 = constant 18
  %6: i64 = mul %1, %5
  %7: i64 = constant 36
  %8: i64 = add %6, %7
  store %0[%8], %2
  %9: f32 = constant 0.0
  %10: f32 = add %2, %9
  store %0[%4], %10
  %11: i64 = constant -1
  store %0[%11], %9
  %12: f32 = fdiv %9, %9
  store %0[%3], %12
  %13: f32 = exp %9
  store %0[%3], %13
  %14: f32x4 = constant 0.0
  store %0[%3], %14
}
",
    );
}

#[test]
fn what_was_computed_is_seen_in_its_block_only() {
    check(
        simplify,
        "kernel @f(%0: ptr, %1: i64, %2: i1) {
           %a: i64 = mul %1, %1
           if %2 {
             %b: i64 = mul %1, %1
             %c: i64 = xor %b, %1
             store %0[%b], %c
           } else {
             %d: i64 = xor %1, %a
             store %0[%d], %d
           }
           %e: i64 = xor %1, %a
           store %0[%a], %e
         }",
        "kernel @f(%0: ptr, %1: i64, %2: i1) {
  %3: i64 = mul %1, %1
  if %2 {
    %4: i64 = xor %3, %1
    store %0[%3], %4
  } else {
    %5: i64 = xor %1, %3
    store %0[%5], %5
  }
  %6: i64 = xor %1, %3
  store %0[%3], %6
}
",
    );
}

#[test]
fn ways_that_are_known() {
    check(
        simplify,
        "kernel @f(%0: ptr, %1: i64, %2: i1) {
           %zero: i64 = constant 0
           %one: i64 = constant 1
           %none: i64 = for %i in %one..%zero step 1 carried (%p = %1) { yield %i }
           store %0[%zero], %none
           %once: i64 = for %i1 in %zero..%one step 3 carried (%q = %1) {
             %r: i64 = add %q, %i1
             %s: i64 = xor %r, %one
             yield %s
           }
           store %0[%one], %once
           %true: i1 = constant true
           %t: i64 = if %true {
             store %0[%1], %1
             yield %one
           } else {
             yield %zero
           }
           store %0[%1], %t
           %same: i64, %other: i64 = if %2 { yield %one, %1 } else { yield %one, %zero }
           store %0[%same], %other
           %kept: i64 = while carried (%k = %1) {
             %c: i1 = compare eq %k, %one
             yield %c
           } do {
             yield %k
           }
           store %0[%kept], %one
         }",
        "kernel @f(%0: ptr, %1: i64, %2: i1) {
  %3: i64 = constant 0
  %4: i64 = constant 1
  store %0[%3], %1
  %5: i64 = xor %1, %4
  store %0[%4], %5
  store %0[%1], %1
  store %0[%1], %4
  %6: i64 = select %2, %1, %3
  store %0[%4], %6
  %7: i1 = compare eq %1, %4
  while {
    yield %7
  } do {
  }
  store %0[%1], %4
}
",
    );
}

#[test]
fn what_loops_do_not_change_leaves_them() {
    check(
        simplify,
        "kernel @f(%0: ptr noalias, %1: ptr noalias, %2: i64, %3: f32) {
           %zero: i64 = constant 0
           %four: i64 = constant 4
           for %i in %zero..%four step 1 {
             %row: i64 = mul %i, %2
             for %j in %zero..%2 step 1 {
               %square: f32 = mul %3, %3
               %x: f32 = load %0[%2]
               %twice: i64 = add %row, %row
               %at: i64 = add %twice, %j
               %y: f32 = mul %x, %square
               store %1[%at], %y
             }
             %z: f32 = load %0[%zero]
             %own: f32 = load %1[%zero]
             %w: f32 = add %z, %own
             store %1[%i], %w
           }
         }",
        "kernel @f(%0: ptr noalias, %1: ptr noalias, %2: i64, %3: f32) {
  %4: i64 = constant 0
  %5: i64 = constant 4
  %6: f32 = mul %3, %3
  %7: f32 = load %0[%4]
  for %8 in %4..%5 step 1 {
    %9: i64 = mul %8, %2
    %10: i64 = add %9, %9
    for %11 in %4..%2 step 1 {
      %12: f32 = load %0[%2]
      %13: i64 = add %10, %11
      %14: f32 = mul %12, %6
      store %1[%13], %14
    }
    %15: f32 = load %1[%4]
    %16: f32 = add %7, %15
    store %1[%8], %16
  }
}
",
    );
}

#[test]
fn dead_values_of_loops() {
    check(
        remove_dead_code,
        "kernel @f(%0: ptr, %1: i64, %2: i1) {
           %a: i64, %b: i64, %c: i64 = for %i in %1..%1 step 1 carried (%p = %1, %q = %1, %r = %1) {
             %x: i64 = add %p, %i
             %y: i64 = mul %q, %r
             %z: i64 = add %r, %i
             yield %x, %y, %z
           }
           %d: i64 = if %2 { yield %a } else { yield %b }
           %e: i64, %g: i64 = if %2 { yield %a, %b } else { yield %b, %a }
           store %0[%1], %g
           %h: i64 = for %k in %1..%1 step 1 carried (%l = %1) { yield %k }
         }",
        "kernel @f(%0: ptr, %1: i64, %2: i1) {
  %3: i64, %4: i64, %5: i64 = for %6 in %1..%1 step 1 carried (%7 = %1, %8 = %1, %9 = %1) {
    %10: i64 = add %7, %6
    %11: i64 = mul %8, %9
    %12: i64 = add %9, %6
    yield %10, %11, %12
  }
  %13: i64 = if %2 {
    yield %4
  } else {
    yield %3
  }
  store %0[%1], %13
}
",
    );
    check(
        remove_dead_code,
        "kernel @f(%0: ptr, %1: i64) {
           %a: i64, %b: i64 = for %i in %1..%1 step 1 carried (%p = %1, %q = %1) {
             %x: i64 = add %p, %i
             %y: i64 = mul %q, %p
             yield %x, %y
           }
           store %0[%1], %a
         }",
        "kernel @f(%0: ptr, %1: i64) {
  %2: i64 = for %3 in %1..%1 step 1 carried (%4 = %1) {
    %5: i64 = add %4, %3
    yield %5
  }
  store %0[%1], %2
}
",
    );
}

#[test]
fn what_a_loop_in_a_loop_needs_lives() {
    let text = "kernel @f(%0: ptr, %1: i64) {
  %2: i64 = for %3 in %1..%1 step 1 carried (%4 = %1) {
    for %5 in %1..%1 step 1 {
      store %0[%5], %4
    }
    %6: i64 = add %4, %3
    yield %6
  }
}
";
    check(remove_dead_code, text, text);
}
