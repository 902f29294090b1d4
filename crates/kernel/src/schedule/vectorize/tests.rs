mod accesses;

use super::vectorize;
use crate::evaluate::{Memory, evaluate_alone};
use crate::ir::FunctionId;
use crate::schedule::{Copies, Target, check};

fn check_128(before: &str, after: &str) {
    check(
        |function| vectorize(function, &Target { vector_bits: 128, copies: Copies::Few }),
        before,
        after,
    );
}

/// Runs a kernel over 64 numbers and an empty buffer before and after, for each width and for some
/// lengths.
fn same(text: &str, is_in_lanes: bool) {
    same_over(64, text, is_in_lanes);
}

/// As [`same`], over so many numbers.
fn same_over(count: i32, text: &str, is_in_lanes: bool) {
    let plain = crate::text::parse(text).unwrap_or_else(|finding| panic!("{finding:?}"));
    crate::verify(&plain).unwrap_or_else(|findings| panic!("{findings:?}"));
    for vector_bits in [128, 256, 512] {
        let mut module = plain.clone();
        vectorize(&mut module.functions[0], &Target { vector_bits, copies: Copies::Many });
        let text = module.to_string();
        crate::verify(&module).unwrap_or_else(|findings| panic!("{findings:?}\n{text}"));
        assert!(!text.contains("for vector"));
        let lanes =
            crate::types::Scalar::ALL.iter().any(|s| text.contains(&format!(": {}x", s.name())));
        assert_eq!(lanes, is_in_lanes, "{text}");
        for length in [0i64, 1, 3, 4, 15, 16, 17, 64] {
            let run = |module| {
                let mut memory = Memory::default();
                // Small whole numbers: sums of them are exact in any order.
                let numbers = (0..count).map(|i| ((i * 37 + 11) % 64) as f32);
                let input = memory.add(numbers.flat_map(f32::to_le_bytes).collect());
                let output = memory.add(vec![0; 4096]);
                let arguments = [input, output, length as u64];
                let result = evaluate_alone(module, FunctionId(0), &arguments, &mut memory);
                result.unwrap_or_else(|error| panic!("{error}\n{text}"));
                memory.region(output).to_vec()
            };
            assert_eq!(run(&plain), run(&module), "length {length}, {vector_bits} bits\n{text}");
        }
    }
}

#[test]
fn elementwise() {
    check_128(
        "kernel @f(%0: ptr, %1: ptr, %2: i64, %3: f32) {
           %zero: i64 = constant 0
           for vector %i in %zero..%2 step 1 {
             %x: f32 = load %0[%i]
             %y: f32 = exp %x
             %z: f32 = mul %y, %3
             store %1[%i], %z
           }
         }",
        "kernel @f(%0: ptr, %1: ptr, %2: i64, %3: f32) {
  %4: i64 = constant 0
  %5: i64 = sub %2, %4
  %6: i64 = constant 1
  %7: i64 = constant -4
  %8: i64 = and %5, %7
  %9: i64 = constant 0
  %10: i64 = smax %8, %9
  %11: i64 = add %4, %10
  %12: f32x4 = splat %3
  for %13 in %4..%11 step 4 {
    %14: f32x4 = load %0[%13]
    %15: f32x4 = exp %14
    %16: f32x4 = mul %15, %12
    store %1[%13], %16
  }
  for %17 in %11..%2 step 1 {
    %18: f32 = load %0[%17]
    %19: f32 = exp %18
    %20: f32 = mul %19, %3
    store %1[%17], %20
  }
}
",
    );
}

#[test]
fn a_sum_of_constant_length() {
    check_128(
        "kernel @f(%0: ptr, %1: ptr) {
           %low: i64 = constant 2
           %high: i64 = constant 11
           %start: f64 = constant 1.0
           %sum: f64 = for vector %i in %low..%high step 2 carried (%p = %start) {
             %x: f64 = load %0[%i]
             %y: f64 = sqrt %x
             %next: f64 = add %p, %y
             yield %next
           }
           store %1[%low], %sum
         }",
        "kernel @f(%0: ptr, %1: ptr) {
  %2: i64 = constant 2
  %3: i64 = constant 11
  %4: f64 = constant 1.0
  %5: i64 = constant 10
  %6: f64x2 = constant -0.0
  %7: i64x2 = lane_index
  %8: i64x2 = constant 2
  %9: i64x2 = mul %7, %8
  %10: f64x2 = for %11 in %2..%5 step 4 carried (%12 = %6) {
    %13: i64x2 = splat %11
    %14: i64x2 = add %13, %9
    %15: f64x2 = load %0[%14]
    %16: f64x2 = sqrt %15
    %17: f64x2 = add %12, %16
    yield %17
  }
  %18: f64 = reduce add %10
  %19: f64 = add %4, %18
  %20: f64 = for %21 in %5..%3 step 2 carried (%22 = %19) {
    %23: f64 = load %0[%21]
    %24: f64 = sqrt %23
    %25: f64 = add %22, %24
    yield %25
  }
  store %1[%2], %20
}
",
    );
}

/// A kernel with a loop over the input whose body is this, and constants.
fn over_input(body: &str) -> String {
    format!(
        "kernel @f(%in: ptr, %out: ptr, %n: i64) {{
           %zero: i64 = constant 0
           %one: i64 = constant 1
           %two: i64 = constant 2
           %four: i64 = constant 4
           %last: i64 = constant 63
           %zero32: i32 = constant 0
           %half: f32 = constant 31.5
           %least: f32 = constant -1.0
           {body}
         }}"
    )
}

#[test]
fn accesses_of_all_kinds() {
    let kinds = [
        // In order, reversed, every second, one for all.
        ("%k: i64 = add %i, %zero", true),
        ("%k: i64 = sub %last, %i", true),
        ("%k: i64 = and %i, %last %z: i64 = mul %i, %zero", true),
        ("%k: i64 = add %zero, %four", true),
    ];
    for (index, in_lanes) in kinds {
        let body = format!(
            "for vector %i in %zero..%n step 1 {{
               {index}
               %x: f32 = load %in[%k]
               %a: f32 = mul %x, %half
               %b: f32 = sqrt %a
               %c: f32 = add %b, %a
               %d: f32 = sub %c, %x
               %e: f32 = add %d, %half
               store %out[%i], %e
             }}"
        );
        same(&over_input(&body), in_lanes);
    }
    // An address that moves.
    same(
        &over_input(
            "for vector %i in %zero..%n step 1 {
               %bytes: i64 = mul %i, %four
               %from: ptr = offset %in, %bytes
               %x: f32 = load %from[%zero]
               %to: ptr = offset %out, %bytes
               store %to[%zero], %x
               store %to[%last], %x
             }",
        ),
        true,
    );
}

#[test]
fn conditions_become_masks() {
    same(
        &over_input(
            "for vector %i in %zero..%n step 1 {
               %x: f32 = load %in[%i]
               %big: i1 = compare fgt %x, %half
               %y: f32 = if %big {
                 %even: i64 = urem %i, %two
                 %is: i1 = compare eq %even, %zero
                 if %is { store %out[%i], %x }
                 %j: i64 = sub %last, %i
                 %z: f32 = load %in[%j]
                 yield %z
               } else {
                 %s: f32 = mul %x, %x
                 yield %s
               }
               %to: i64 = add %i, %last
               store %out[%to], %y
             }",
        ),
        true,
    );
    // What is read only under a condition is read under a mask: elsewhere it is outside.
    same(
        &over_input(
            "for vector %i in %zero..%n step 1 {
               %k: i64 = sub %i, %four
               %in_bounds: i1 = compare sge %k, %zero
               %y: f32 = if %in_bounds {
                 %z: f32 = load %in[%k]
                 yield %z
               } else {
                 yield %half
               }
               store %out[%i], %y
             }",
        ),
        true,
    );
}

#[test]
fn loops_inside_run_on_vectors() {
    same(
        &over_input(
            "for vector %i in %zero..%n step 1 {
               %zerof: f32 = constant 0.0
               %sum: f32 = for %j in %zero..%four step 1 carried (%s = %zerof) {
                 %k0: i64 = mul %j, %four
                 %k1: i64 = add %k0, %i
                 %k: i64 = and %k1, %last
                 %x: f32 = load %in[%j]
                 %y: f32 = load %in[%i]
                 %p: f32 = mul %x, %y
                 %t: f32 = add %s, %p
                 yield %t
               }
               store %out[%i], %sum
             }",
        ),
        true,
    );
    // Both loops belong to one reduction.
    same(
        &over_input(
            "%zerof: f32 = constant 0.0
             %sum: f32 = for vector %i in %zero..%n step 1 carried (%s = %zerof) {
               %inner: f32 = for %j in %zero..%four step 1 carried (%t = %s) {
                 %x: f32 = load %in[%i]
                 %u: f32 = add %t, %x
                 yield %u
               }
               yield %inner
             }
             store %out[%zero], %sum",
        ),
        true,
    );
}

#[test]
fn reductions() {
    for (op, start) in [
        ("add", "%half"),
        ("fmax", "%half"),
        ("fmin", "%half"),
        ("fmin", "%least"),
        ("mul", "%least"),
    ] {
        let body = format!(
            "%two_f: f32 = constant 2.0
             %r: f32 = for vector %i in %zero..%n step 1 carried (%p = {start}) {{
               %x: f32 = load %in[%i]
               %big: i1 = compare fgt %x, %half
               %y: f32 = select %big, %two_f, %half
               %z: f32 = {op} %y, %p
               yield %z
             }}
             store %out[%zero], %r"
        );
        same(&over_input(&body), true);
    }
    for op in ["add", "mul", "smin", "smax", "umin", "umax", "and", "or", "xor"] {
        let body = format!(
            "%start: i32 = constant 77
             %r: i32 = for vector %i in %zero..%n step 1 carried (%p = %start) {{
               %x: i32 = load %in[%i]
               %z: i32 = {op} %p, %x
               yield %z
             }}
             store %out[%zero], %r"
        );
        same(&over_input(&body), true);
    }
}

#[test]
fn the_maximum_and_its_place() {
    same(
        &over_input(
            "%max: f32, %at: i32, %count: i64 = for vector %i in %zero..%n step 1 carried (%p = %least, %pi = %zero32, %c = %zero) {
               %x: f32 = load %in[%i]
               %j: i32 = convert truncate %i
               %nan: i1 = compare fne %x, %x
               %gt: i1 = compare fgt %x, %p
               %eq: i1 = compare feq %x, %p
               %lt: i1 = compare slt %j, %pi
               %tie: i1 = and %eq, %lt
               %take: i1 = or %gt, %nan
               %take_j: i1 = or %take, %tie
               %y: f32 = select %take, %x, %p
               %yi: i32 = select %take_j, %j, %pi
               %next: i64 = add %c, %one
               yield %y, %yi, %next
             }
             store %out[%zero], %max
             store %out[%one], %at
             store %out[%one], %count",
        ),
        true,
    );
}

#[test]
fn what_depends_on_its_order_keeps_it() {
    for body in [
        // A running sum is used on the way.
        "%r: f32 = for vector %i in %zero..%n step 1 carried (%p = %half) {
           %x: f32 = load %in[%i]
           %y: f32 = add %p, %x
           store %out[%i], %y
           yield %y
         }",
        // Two operations.
        "%r: f32 = for vector %i in %zero..%n step 1 carried (%p = %half) {
           %x: f32 = load %in[%i]
           %y: f32 = add %p, %x
           %z: f32 = mul %y, %x
           yield %z
         }
         store %out[%zero], %r",
        // The last one wins.
        "for vector %i in %zero..%n step 1 {
           %x: f32 = load %in[%i]
           store %out[%zero], %x
         }",
        // The number of rounds differs.
        "for vector %i in %zero..%n step 1 {
           for %j in %zero..%i step 1 { store %out[%i], %half }
         }",
        // A call.
        "for vector %i in %zero..%zero step 1 { call_runtime @f(%i) }",
    ] {
        same(&over_input(body), false);
    }
}

/// A loop over a chain of so many multiplications and as many additions, scheduled for vectors of sixteen.
fn long_body(steps: usize, copies: Copies) -> String {
    let chain: String = (0..steps)
        .map(|step| {
            format!("%p{step}: f32 = mul %x{step}, %a\n%x{}: f32 = add %p{step}, %b\n", step + 1)
        })
        .collect();
    let text = format!(
        "kernel @f(%in: ptr noalias, %out: ptr noalias, %begin: i64, %end: i64) {{
           %a: f32 = constant 0.9
           %b: f32 = constant 0.1
           for vector %i in %begin..%end step 1 {{
             %x0: f32 = load %in[%i]
             {chain}
             store %out[%i], %x{steps}
           }}
         }}"
    );
    let mut module = crate::text::parse(&text).unwrap();
    vectorize(&mut module.functions[0], &Target { vector_bits: 512, copies });
    crate::verify(&module).unwrap();
    module.to_string()
}

#[test]
fn a_body_of_hundreds_of_operations_has_a_second_copy() {
    for (steps, step) in [(120, 32), (490, 32), (510, 16)] {
        let text = long_body(steps, Copies::Many);
        let (_, first) = text.split_once(" step ").unwrap();
        assert!(first.starts_with(&format!("{step} ")), "{steps}");
    }
}

#[test]
fn copies_of_a_long_body_take_turns() {
    let scheduled = |copies| long_body(20, copies);
    let [few, many] = [Copies::Few, Copies::Many].map(scheduled);
    assert!(few.contains("step 16 {") && !few.contains("step 128 {"), "{few}");
    assert!(many.contains("step 128 {"), "{many}");
    // All loads come before one of the chains is at its end.
    let lines = many.lines().skip_while(|line| !line.contains(" = load "));
    let loads =
        lines.take_while(|line| !line.contains("store")).filter(|line| line.contains(" = load "));
    assert_eq!(loads.count(), 8, "{many}");
}

#[test]
fn functions_take_turns() {
    let text = |function: &str| {
        format!(
            "kernel @f(%in: ptr noalias, %out: ptr noalias, %begin: i64, %end: i64) {{
               for vector %i in %begin..%end step 1 {{
                 %x: f32 = load %in[%i]
                 %y: f32 = {function} %x
                 store %out[%i], %y
               }}
             }}"
        )
    };
    let step = |function, vector_bits, copies| {
        let mut module = crate::text::parse(&text(function)).unwrap();
        vectorize(&mut module.functions[0], &Target { vector_bits, copies });
        crate::verify(&module).unwrap();
        let text = module.to_string();
        let (_, step) = text.split_once(" step ").unwrap();
        step.split_once(' ').unwrap().0.parse::<u32>().unwrap()
    };
    assert_eq!(step("erf", 256, Copies::Many), 32);
    assert_eq!(step("erf", 256, Copies::Few), 8);
    assert_eq!(step("erf", 512, Copies::Many), 64);
    // Its approximation branches.
    assert_eq!(step("sin", 256, Copies::Many), 8);
}

#[test]
fn sums_of_products_are_in_pairs_of_registers() {
    let text = "kernel @f(%x: ptr noalias, %y: ptr noalias, %out: ptr noalias) {
           %zero: i64 = constant 0
           %count: i64 = constant 60
           %start: f32 = constant 0.0
           for vector %i in %zero..%count step 1 {
             %sum: f32 = for %k in %zero..%count step 1 carried (%s = %start) {
               %a: f32 = load %x[%k]
               %row: i64 = mul %k, %count
               %at: i64 = add %row, %i
               %b: f32 = load %y[%at]
               %next: f32 = fma %a, %b, %s
               yield %next
             }
             store %out[%i], %sum
           }
         }";
    let mut module = crate::text::parse(text).unwrap();
    vectorize(&mut module.functions[0], &Target { vector_bits: 256, copies: Copies::Few });
    crate::verify(&module).unwrap();
    let text = module.to_string();
    // 48 columns, eight, and four; each sum adds up what it did before.
    for (lanes, step) in [(16, 16), (8, 8), (4, 4)] {
        assert!(text.contains(&format!(": f32x{lanes} = fma ")), "{text}");
        assert!(text.contains(&format!(" step {step} {{")), "{text}");
    }
}

#[test]
fn bounds_of_whole_vectors_leave_nothing() {
    let text = |factor: i64| {
        format!(
            "kernel @f(%in: ptr noalias, %out: ptr noalias, %begin: i64, %end: i64) {{
               %factor: i64 = constant {factor}
               %low: i64 = mul %begin, %factor
               %high: i64 = mul %end, %factor
               for vector %i in %low..%high step 1 {{
                 %x: f32 = load %in[%i]
                 %y: f32 = add %x, %x
                 store %out[%i], %y
               }}
             }}"
        )
    };
    let steps = |factor| {
        let mut module = crate::text::parse(&text(factor)).unwrap();
        let plain = module.clone();
        vectorize(&mut module.functions[0], &Target { vector_bits: 256, copies: Copies::Many });
        crate::verify(&module).unwrap();
        let run = |module| {
            let mut memory = Memory::default();
            let input = memory.add((0..192).flat_map(|i| (i as f32).to_le_bytes()).collect());
            let output = memory.add(vec![0; 4 * 192]);
            evaluate_alone(module, FunctionId(0), &[input, output, 1, 2], &mut memory).unwrap();
            memory.region(output).to_vec()
        };
        assert_eq!(run(&plain), run(&module));
        let text = module.to_string();
        let steps = text.split(" step ").skip(1);
        steps.map(|rest| rest.split_once(' ').unwrap().0.parse().unwrap()).collect::<Vec<u32>>()
    };
    assert_eq!(steps(96), [32]);
    assert_eq!(steps(72), [32, 8]);
    assert_eq!(steps(77), [32, 8, 1]);
    assert_eq!(steps(0), [32]);
}

/// Seven, and what is left of nineteen, are a vector of as many lanes and not several that get narrower.
#[test]
fn the_last_few_are_one_vector() {
    for count in [3, 5, 6, 7, 11, 13, 14, 15, 19, 23, 31] {
        let text = format!(
            "kernel @f(%0: ptr, %1: ptr, %2: i64) {{
               %zero: i64 = constant 0
               %count: i64 = constant {count}
               %limit: f32 = constant 9.0
               for vector %i in %zero..%count step 1 {{
                 %x: f32 = load %0[%i]
                 %y: f32 = mul %x, %x
                 %low: i1 = compare flt %x, %limit
                 %z: f32 = select %low, %y, %x
                 store %1[%i], %z
               }}
             }}"
        );
        same(&text, true);
    }
    let of_seven = |width: &str| {
        let text = format!(
            "kernel @f(%0: ptr, %1: ptr) {{
               %zero: i64 = constant 0
               %count: i64 = constant 7
               for vector %i in %zero..%count step 1 {{
                 %x: {width} = load %0[%i]
                 %y: {width} = add %x, %x
                 store %1[%i], %y
               }}
             }}"
        );
        let mut module = crate::text::parse(&text).unwrap();
        vectorize(&mut module.functions[0], &Target { vector_bits: 512, copies: Copies::Few });
        module.to_string()
    };
    assert_eq!(of_seven("f32").matches("f32x7 = load").count(), 1);
    // Registers of small numbers are not filled up.
    assert_eq!(of_seven("f16").matches("f16x7").count(), 0);
}
