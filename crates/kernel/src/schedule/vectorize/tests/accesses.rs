//! Elements that do not lie side by side: a few apart, in short rows, taking turns, anywhere.

use super::super::vectorize;
use super::{over_input, same, same_over};
use crate::schedule::{Copies, Target};

#[test]
fn elements_that_lie_a_few_apart() {
    for step in 2..=5 {
        let body = format!(
            "%step: i64 = constant {step}
             %small: i64 = constant 9
             %short: i64 = smin %n, %small
             for vector %i in %zero..%short step 1 {{
               %k: i64 = mul %i, %step
               %x: f32 = load %in[%k]
               %a: f32 = mul %x, %half
               %b: f32 = sqrt %a
               store %out[%i], %b
             }}"
        );
        same(&over_input(&body), true);
    }
    // The very last element of the buffer is the last one read: nothing behind it is.
    for (step, high) in [(2, 32), (3, 21), (4, 16)] {
        let body = format!(
            "%step: i64 = constant {step}
             %high: i64 = constant {high}
             %rest: i64 = constant {}
             for vector %i in %zero..%high step 1 {{
               %k0: i64 = mul %i, %step
               %k: i64 = add %k0, %rest
               %x: f32 = load %in[%k]
               store %out[%i], %x
             }}",
            63 - (high - 1) * step
        );
        same(&over_input(&body), true);
    }
}

#[test]
fn short_rows_are_read_whole() {
    for step in 2..=17i64 {
        let all: Vec<i64> = (0..step).rev().collect();
        for places in [&all[..], &[0, step - 1], &[step / 2, 0], &[0], &[step - 2, 1, 1]] {
            // The last place read is the last of the buffer.
            let rows = 37;
            let count = (rows - 1) * step + places.iter().max().unwrap() + 1;
            let loads: String = places
                .iter()
                .enumerate()
                .map(|(k, place)| {
                    format!(
                        "%c{k}: i64 = constant {place}
                         %k{k}: i64 = add %c{k}, %k
                         %x{k}: f32 = load %in[%k{k}]
                         %s{}: f32 = sub %x{k}, %s{k}\n",
                        k + 1
                    )
                })
                .collect();
            let body = format!(
                "%step: i64 = constant {step}
                 %rows: i64 = constant {rows}
                 for vector %i in %zero..%rows step 1 {{
                   %k: i64 = mul %i, %step
                   %s0: f32 = mul %half, %half
                   {loads}
                   store %out[%i], %s{}
                 }}",
                places.len()
            );
            let apart = step > 8 && places.len() == 1 || step > 16;
            if !apart {
                same_over(count as i32, &over_input(&body), true);
                let mut module = crate::text::parse(&over_input(&body)).unwrap();
                vectorize(
                    &mut module.functions[0],
                    &Target { vector_bits: 512, copies: Copies::Few },
                );
                let text = module.to_string();
                assert!(text.contains("shuffle") && !text.contains("x16 = lane_index"), "{text}");
            }
        }
    }
}

/// In a loop inside as well, where each row is read once.
#[test]
fn short_rows_are_read_whole_in_a_loop_inside() {
    let text = over_input(
        "%three: i64 = constant 3
         %fifteen: i64 = constant 15
         %most: i64 = constant 16
         %zerof: f32 = constant 0.0
         for vector %i in %zero..%most step 1 {
           %k: i64 = mul %i, %three
           %a: f32, %b: f32 = for %j in %zero..%fifteen step 1 carried (%s = %zerof, %t = %zerof) {
             %k0: i64 = add %k, %j
             %k1: i64 = add %k0, %one
             %k2: i64 = add %k0, %two
             %x: f32 = load %in[%k0]
             %y: f32 = load %in[%k1]
             %z: f32 = load %in[%k2]
             %xy: f32 = mul %x, %y
             %u: f32 = add %s, %xy
             %v: f32 = sub %t, %z
             yield %u, %v
           }
           %c: f32 = sub %a, %b
           store %out[%i], %c
         }",
    );
    same(&text, true);
    let mut module = crate::text::parse(&text).unwrap();
    vectorize(&mut module.functions[0], &Target { vector_bits: 512, copies: Copies::Few });
    let text = module.to_string();
    assert_eq!(text.matches("load").count(), 3, "{text}");
}

#[test]
fn what_is_stored_between_loads_is_loaded_after() {
    same(
        &over_input(
            "%thirty: i64 = constant 30
             %short: i64 = smin %n, %thirty
             for vector %i in %zero..%short step 1 {
               %k: i64 = mul %i, %two
               %k1: i64 = add %k, %one
               %x: f32 = load %in[%k]
               %a: f32 = sub %x, %half
               %b: f32 = mul %a, %x
               store %in[%k1], %b
               %y: f32 = load %in[%k1]
               %c: f32 = add %y, %x
               %d: f32 = sub %c, %half
               %e: f32 = add %d, %y
               store %out[%i], %e
             }",
        ),
        true,
    );
}

#[test]
fn stores_that_take_turns() {
    // A product of complex numbers, where the parts of what is stored do not come in order.
    let complex = "for vector %i in %zero..%n step 1 {
           %k: i64 = mul %i, %two
           %k1: i64 = add %k, %one
           %j: i64 = and %k, %last
           %re: f32 = load %in[%i]
           %im: f32 = load %in[%zero]
           %a: f32 = mul %re, %re
           %b: f32 = mul %im, %im
           %c: f32 = mul %re, %im
           %x: f32 = sub %a, %b
           store %out[%k1], %c
           store %out[%k], %x
         }";
    same(&over_input(complex), true);
    for step in 3..=17 {
        let stores: String = (0..step)
            .map(|part| {
                format!(
                    "%c{part}: i64 = constant {part}
                     %k{part}: i64 = add %c{part}, %k
                     %d{part}: f32 = add %x, %f
                     %e{part}: f32 = mul %d{part}, %f
                     %f{part}: f32 = sub %e{part}, %x
                     %g{part}: f32 = mul %f{part}, %d{part}
                     %h{part}: f32 = add %g{part}, %d{part}
                     store %out[%k{part}], %h{part}"
                )
            })
            .collect();
        let body = format!(
            "%step: i64 = constant {step}
             %f: f32 = constant 7.0
             %most: i64 = constant 37
             %short: i64 = smin %n, %most
             for vector %i in %zero..%short step 1 {{
               %k: i64 = mul %i, %step
               %x: f32 = load %in[%i]
               {stores}
             }}"
        );
        same(&over_input(&body), true);
        let mut module = crate::text::parse(&over_input(&body)).unwrap();
        vectorize(&mut module.functions[0], &Target { vector_bits: 512, copies: Copies::Few });
        assert_eq!(module.to_string().contains("shuffle"), step <= 16, "{step}");
    }
    // Loops between the stores that read elsewhere.
    let text = over_input(
        "%zerof: f32 = constant 0.0
         for vector %i in %zero..%n step 1 {
           %k: i64 = mul %i, %two
           %k1: i64 = add %k, %one
           %x: f32 = load %in[%i]
           store %out[%k], %x
           %sum: f32 = for %j in %zero..%four step 1 carried (%s = %zerof) {
             %y: f32 = load %in[%j]
             %t: f32 = mul %y, %x
             %u: f32 = add %t, %s
             yield %u
           }
           store %out[%k1], %sum
         }",
    );
    same(&text.replace("ptr, %out: ptr", "ptr noalias, %out: ptr noalias"), true);
    // What is read between two stores of a group may be what they write.
    same(
        &over_input(
            "for vector %i in %zero..%n step 1 {
               %k: i64 = mul %i, %two
               %k1: i64 = add %k, %one
               store %out[%k], %half
               %x: f32 = load %out[%k]
               store %out[%k1], %x
             }",
        ),
        false,
    );
}

/// Places of what is gathered are computed in eight bytes: small numbers are in fewer lanes than fit into a vector.
#[test]
fn gathers_of_small_numbers_are_in_few_lanes() {
    let lanes = |place: &str| {
        let text = format!(
            "kernel @f(%0: ptr, %1: ptr, %end: i64) {{
               %zero: i64 = constant 0
               %three: i64 = constant 3
               %seven: i8 = constant 7
               for vector %i in %zero..%end step 1 {{
                 %far: i64 = mul %i, %i
                 %x: i8 = load %0[{place}]
                 %a: i8 = add %x, %seven
                 %b: i8 = mul %a, %x
                 %c: i8 = xor %b, %a
                 store %1[%i], %c
               }}
             }}"
        );
        let mut module = crate::text::parse(&text).unwrap();
        vectorize(&mut module.functions[0], &Target { vector_bits: 512, copies: Copies::Few });
        let text = module.to_string();
        [64, 16].map(|lanes| text.contains(&format!("i8x{lanes} = load")))
    };
    assert_eq!(lanes("%i"), [true, false]);
    assert_eq!(lanes("%far"), [false, true]);
}

#[test]
fn what_is_stored_a_few_apart_leaves_what_lies_between() {
    // By an index, and by an address; up and down.
    for place in [
        "%k: i64 = mul %i, %three %to: ptr = offset %out, %zero",
        "%m: i64 = mul %i, %three %k: i64 = sub %last4, %m %to: ptr = offset %out, %zero",
        "%b: i64 = mul %i, %twelve %to: ptr = offset %out, %b %k: i64 = add %one, %zero",
    ] {
        same(
            &over_input(&format!(
                "%three: i64 = constant 3
                 %twelve: i64 = constant 12
                 %last4: i64 = constant 256
                 for vector %i in %zero..%n step 1 {{
                   %x: f32 = load %in[%i]
                   %a: f32 = mul %x, %half
                   %b0: f32 = sqrt %a
                   %b1: f32 = add %b0, %a
                   %b2: f32 = mul %b1, %b0
                   %c: f32 = sub %b2, %x
                   {place}
                   store %to[%k], %c
                 }}"
            )),
            true,
        );
    }
}
