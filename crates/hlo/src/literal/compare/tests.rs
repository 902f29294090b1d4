//! Measures, exceptions and reports of comparisons.

use super::*;
use crate::native::{C64, F8e4m3fn, bf16};

fn array<T: NativeType>(values: &[T]) -> Literal {
    Literal::from_values([values.len() as i64], values)
}

fn agrees<T: NativeType>(expected: T, actual: T, tolerance: Tolerance) -> bool {
    compare(&array(&[expected]), &array(&[actual]), tolerance).is_ok()
}

#[test]
fn exact() {
    assert!(agrees(1.0, 1.0, Tolerance::EXACT));
    assert!(!agrees(1.0, 1.0f64.next_up(), Tolerance::EXACT));
    assert!(!agrees(0.0, -0.0, Tolerance::EXACT));
    assert!(agrees(f32::NAN, f32::from_bits(0xffc0_0001), Tolerance::EXACT));
    assert!(!agrees(f32::NAN, 1.0, Tolerance::EXACT));
    assert!(!agrees(1.0, f32::NAN, Tolerance::EXACT));
    assert!(!agrees(3i32, 4, Tolerance::EXACT));
}

#[test]
fn near() {
    let near = Tolerance::within(1e-3, 1e-2);
    assert!(agrees(0.0, 1e-3, near));
    assert!(!agrees(0.0, 1.1e-3, near));
    assert!(agrees(100.0, 101.0, near));
    assert!(!agrees(100.0, 101.1, near));
    assert!(agrees(0.0, -0.0, near));
    assert!(!agrees(f64::INFINITY, 1e308, near));
    assert!(!agrees(f64::INFINITY, f64::NEG_INFINITY, Tolerance::within(1e300, 1e300)));
    assert!(agrees(1000i64, 1009, near));
    assert!(agrees(i64::MIN, i64::MIN + 1, near));
    let z = C64::new(3.0, 4.0);
    assert!(agrees(z, C64::new(3.03, 4.0), near));
    assert!(!agrees(z, C64::new(3.06, 4.0), near));
    assert!(!agrees(C64::new(f32::NAN, 1.0), C64::new(f32::NAN, 2.0), near));
    assert!(agrees(C64::new(f32::NAN, 1.0), C64::new(f32::NAN, 1.001), near));
}

#[test]
fn ulps() {
    let two = Tolerance::within_ulps(2);
    assert!(agrees(1.0f32, 1.0 + 2.0 * f32::EPSILON, two));
    assert!(!agrees(1.0f32, 1.0 + 3.0 * f32::EPSILON, two));
    assert!(agrees(-1e-45f32, 1e-45, two));
    assert!(agrees(bf16::from_f32(1.0), bf16::from_f32(1.015625), two));
    assert!(agrees(F8e4m3fn(0x81), F8e4m3fn(0x01), two));
    assert!(!agrees(F8e4m3fn(0x7e), F8e4m3fn(0x7f), two), "a NaN is not near");
    assert!(agrees(C64::new(1.0, 0.0), C64::new(1.0 + f32::EPSILON, 1e-45), two));
}

#[test]
fn nans() {
    let other = f64::from_bits(0x7ff8_0000_0000_0001);
    let with = |nans| Tolerance { nans, ..Tolerance::EXACT };
    assert!(!agrees(f64::NAN, other, with(Nans::SameBits)));
    assert!(agrees(f64::NAN, f64::NAN, with(Nans::SameBits)));
    assert!(agrees(f64::NAN, 7.0, with(Nans::Anything)));
    assert!(!agrees(7.0, f64::NAN, with(Nans::Anything)));
}

#[test]
fn report_shows_the_worst() {
    let expected = Literal::Tuple(vec![
        Literal::from_values([2, 2], &[1.0f32, 2.0, 3.0, 4.0]),
        array(&[1i32]),
    ]);
    let actual = Literal::Tuple(vec![
        Literal::from_values([2, 2], &[1.0f32, 2.5, 3.0, 8.0]),
        array(&[2i32]),
    ]);
    let report = compare(&expected, &actual, Tolerance::within(0.0, 0.1)).unwrap_err();
    assert_eq!(
        report.to_string(),
        "2 of 4 elements of `f32[2,2]` at {0} differ\n  \
         {1,1}: expected 4, got 8 (off by 4.000e0, relative 1.000e0, 8388608 ulps)\n  \
         {0,1}: expected 2, got 2.5 (off by 5.000e-1, relative 2.500e-1, 2097152 ulps)\n\
         1 of 1 elements of `s32[1]` at {1} differ\n  \
         {0}: expected 1, got 2"
    );
    let many = compare(&array(&[0u8; 9]), &array(&[1u8; 9]), Tolerance::EXACT).unwrap_err();
    assert!(many.to_string().ends_with("{4}: expected 0, got 1\n  and 4 more"), "{many}");
    let shapes = compare(&array(&[1u8]), &array(&[1i8]), Tolerance::EXACT).unwrap_err();
    assert_eq!(shapes.to_string(), "expected shape `u8[1]`, got `s8[1]`");
}

#[test]
fn agreement_says_how_near() {
    let found = compare(
        &array(&[1.0f64, 2.0, 3.0]),
        &array(&[1.0, 2.0f64.next_up(), 3.0]),
        Tolerance::within_ulps(1),
    );
    let found = found.unwrap();
    assert_eq!((found.elements, found.inexact, found.max_ulps), (3, 1, 1));
}
