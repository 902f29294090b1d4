//! Edge values of every family.

use rxla_hlo::native::NativeType;

use super::*;

fn array<T: NativeType>(values: &[T]) -> ArrayLiteral {
    ArrayLiteral::from_values([values.len() as i64], values)
}

fn applied<T: NativeType>(kind: UnaryKind, values: &[T]) -> Vec<T> {
    unary(kind, array(values)).unwrap().values::<T>().to_vec()
}

/// The function of each pair.
fn combined<T: NativeType>(kind: BinaryKind, pairs: &[(T, T)]) -> Vec<T> {
    let lhs: Vec<T> = pairs.iter().map(|pair| pair.0).collect();
    let rhs: Vec<T> = pairs.iter().map(|pair| pair.1).collect();
    binary(kind, array(&lhs), array(&rhs)).unwrap().values::<T>().to_vec()
}

/// Zeros with their signs, infinities and NaN exactly, other numbers within a few units in the
/// last place.
fn assert_same(actual: &[f64], expected: &[f64], what: &str) {
    let agrees = |(a, b): (&f64, &f64)| {
        let near = *a != 0.0 && a.is_finite() && (a - b).abs() <= 4.0 * f64::EPSILON * b.abs();
        a.to_bits() == b.to_bits() || near || (a.is_nan() && b.is_nan())
    };
    let same = actual.len() == expected.len() && actual.iter().zip(expected).all(agrees);
    assert!(same, "{what}: {actual:?}, expected {expected:?}");
}

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

#[test]
fn integer_division_never_traps() {
    assert_eq!(
        combined(BinaryKind::Divide, &[(7i32, 0), (i32::MIN, -1), (-7, 2), (7, -2), (0, 0)]),
        [-1, i32::MIN, -3, -3, -1]
    );
    assert_eq!(combined(BinaryKind::Divide, &[(7u8, 0), (0, 0), (200, 7)]), [255, 255, 28]);
    assert_eq!(
        combined(BinaryKind::Remainder, &[(7i64, 0), (i64::MIN, -1), (-7, 2), (7, -2)]),
        [7, 0, -1, 1]
    );
    assert_eq!(combined(BinaryKind::Remainder, &[(7u16, 0), (7, 4)]), [7, 3]);
    assert_eq!(
        combined(BinaryKind::Divide, &[(S4(-8), S4(-1)), (S4(5), S4(0)), (S4(7), S4(2))]),
        [S4(-8), S4(-1), S4(3)]
    );
    assert_eq!(combined(BinaryKind::Divide, &[(U2(3), U2(0)), (U2(3), U2(2))]), [U2(3), U2(1)]);
}

#[test]
fn integer_arithmetic_wraps() {
    assert_eq!(combined(BinaryKind::Add, &[(i8::MAX, 1)]), [i8::MIN]);
    assert_eq!(combined(BinaryKind::Subtract, &[(0u32, 1)]), [u32::MAX]);
    assert_eq!(combined(BinaryKind::Multiply, &[(S4(5), S4(5))]), [S4(-7)]);
    assert_eq!(combined(BinaryKind::Add, &[(U4(15), U4(2))]), [U4(1)]);
    assert_eq!(combined(BinaryKind::Add, &[(S1(-1), S1(-1)), (S1(-1), S1(0))]), [S1(0), S1(-1)]);
    assert_eq!(combined(BinaryKind::Mulhi, &[(i32::MIN, i32::MIN), (-1, 1)]), [1 << 30, -1]);
    assert_eq!(combined(BinaryKind::Mulhi, &[(u64::MAX, u64::MAX)]), [u64::MAX - 1]);
    assert_eq!(combined(BinaryKind::Mulhi, &[(S4(-8), S4(-8)), (S4(-1), S4(1))]), [S4(4), S4(-1)]);
    assert_eq!(applied(UnaryKind::Abs, &[i16::MIN, -3, 3]), [i16::MIN, 3, 3]);
    assert_eq!(applied(UnaryKind::Negate, &[1u8, 0, 255]), [255, 0, 1]);
    assert_eq!(applied(UnaryKind::Sign, &[-9i64, 0, 9]), [-1, 0, 1]);
}

#[test]
fn integer_powers() {
    assert_eq!(
        combined(BinaryKind::Power, &[(3i32, 4), (0, 0), (1, -5), (-1, -1), (2, -1), (-2, 3)]),
        [81, 1, 1, 0, 0, -8]
    );
    assert_eq!(combined(BinaryKind::Power, &[(3u8, 200), (2, 8)]), [161, 0]);
}

#[test]
fn shifts_past_the_width() {
    let pairs = [(-5i8, 1), (-5, 7), (-5, 8), (-5, -1), (5, 100)];
    assert_eq!(combined(BinaryKind::ShiftLeft, &pairs), [-10, -128, 0, 0, 0]);
    assert_eq!(combined(BinaryKind::ShiftRightArithmetic, &pairs), [-3, -1, -1, -1, 0]);
    assert_eq!(combined(BinaryKind::ShiftRightLogical, &pairs), [125, 1, 0, 0, 0]);
    let pairs = [(0x80u8, 1), (0x80, 9)];
    assert_eq!(combined(BinaryKind::ShiftRightArithmetic, &pairs), [0xc0, 0xff]);
    assert_eq!(combined(BinaryKind::ShiftRightLogical, &[(S4(-8), S4(3))]), [S4(1)]);
    assert_eq!(
        combined(BinaryKind::ShiftLeft, &[(U4(15), U4(2)), (U4(1), U4(4))]),
        [U4(12), U4(0)]
    );
}

#[test]
fn bit_counts() {
    assert_eq!(applied(UnaryKind::CountLeadingZeros, &[0i32, 1, -1]), [32, 31, 0]);
    assert_eq!(applied(UnaryKind::CountLeadingZeros, &[U4(0), U4(2)]), [U4(4), U4(2)]);
    assert_eq!(applied(UnaryKind::PopulationCount, &[0u64, u64::MAX, 5]), [0, 64, 2]);
    assert_eq!(applied(UnaryKind::PopulationCount, &[S4(-1)]), [S4(4)]);
    assert_eq!(applied(UnaryKind::Not, &[0u8, 0xf0]), [0xff, 0x0f]);
    assert_eq!(applied(UnaryKind::Not, &[U2(1)]), [U2(2)]);
    assert_eq!(applied(UnaryKind::Not, &[Pred::TRUE, Pred::FALSE]), [Pred::FALSE, Pred::TRUE]);
}

#[test]
fn extrema_of_floats() {
    let pairs = [(NAN, 1.0), (1.0, NAN), (-0.0, 0.0), (0.0, -0.0), (INF, 1.0), (2.0, 3.0)];
    let max = combined(BinaryKind::Maximum, &pairs);
    assert_same(&max, &[NAN, NAN, 0.0, 0.0, INF, 3.0], "maximum");
    let min = combined(BinaryKind::Minimum, &pairs);
    assert_same(&min, &[NAN, NAN, -0.0, -0.0, 1.0, 2.0], "minimum");
}

#[test]
fn rounding_of_floats() {
    let values = [0.5, -0.5, 1.5, 2.5, -2.5, INF, NAN, -0.0, 2251799813685249.5];
    for (kind, expected) in [
        (
            UnaryKind::RoundNearestAfz,
            [1.0, -1.0, 2.0, 3.0, -3.0, INF, NAN, -0.0, 2251799813685250.0],
        ),
        (
            UnaryKind::RoundNearestEven,
            [0.0, -0.0, 2.0, 2.0, -2.0, INF, NAN, -0.0, 2251799813685250.0],
        ),
        (UnaryKind::Floor, [0.0, -1.0, 1.0, 2.0, -3.0, INF, NAN, -0.0, 2251799813685249.0]),
        (UnaryKind::Ceil, [1.0, -0.0, 2.0, 3.0, -2.0, INF, NAN, -0.0, 2251799813685250.0]),
        (UnaryKind::Sign, [1.0, -1.0, 1.0, 1.0, -1.0, 1.0, NAN, -0.0, 1.0]),
        (UnaryKind::Abs, [0.5, 0.5, 1.5, 2.5, 2.5, INF, NAN, 0.0, 2251799813685249.5]),
    ] {
        assert_same(&applied(kind, &values), &expected, kind.name());
    }
}

#[test]
fn functions_at_their_ends() {
    let values = [0.0, -0.0, INF, -INF, NAN, -1.0, 1.0];
    let half_pi = std::f64::consts::FRAC_PI_2;
    let pi = std::f64::consts::PI;
    let e = std::f64::consts::E;
    for (kind, expected) in [
        (UnaryKind::Sqrt, [0.0, -0.0, INF, NAN, NAN, NAN, 1.0]),
        (UnaryKind::Rsqrt, [INF, -INF, 0.0, NAN, NAN, NAN, 1.0]),
        (UnaryKind::Cbrt, [0.0, -0.0, INF, -INF, NAN, -1.0, 1.0]),
        (UnaryKind::Log, [-INF, -INF, INF, NAN, NAN, NAN, 0.0]),
        (UnaryKind::Log1p, [0.0, -0.0, INF, NAN, NAN, -INF, 2f64.ln()]),
        (UnaryKind::Exp, [1.0, 1.0, INF, 0.0, NAN, 1.0 / e, e]),
        (UnaryKind::Logistic, [0.5, 0.5, 1.0, 0.0, NAN, 0.2689414213699951, 0.7310585786300049]),
        (UnaryKind::Acos, [half_pi, half_pi, NAN, NAN, NAN, pi, 0.0]),
        (UnaryKind::Asin, [0.0, -0.0, NAN, NAN, NAN, -half_pi, half_pi]),
        (UnaryKind::Acosh, [NAN, NAN, INF, NAN, NAN, NAN, 0.0]),
        (UnaryKind::Atanh, [0.0, -0.0, NAN, NAN, NAN, -INF, INF]),
        (UnaryKind::Erf, [0.0, -0.0, 1.0, -1.0, NAN, -0.8427007929497149, 0.8427007929497149]),
        (UnaryKind::Imag, [0.0; 7]),
        (UnaryKind::Real, values),
    ] {
        assert_same(&applied(kind, &values), &expected, kind.name());
    }
    assert_same(&applied(UnaryKind::Acosh, &[-1e7, 0.5, 2.0]), &[NAN, NAN, 2f64.acosh()], "acosh");
    assert_eq!(applied(UnaryKind::Sin, &[1e22f64]), [-0.8522008497671888]);
    assert_eq!(applied(UnaryKind::Logistic, &[-745f64]), [4.94e-324]);
}

#[test]
fn powers_of_floats() {
    let pairs = [(0.0, 0.0), (NAN, 0.0), (1.0, NAN), (-8.0, 1.0 / 3.0), (-2.0, 3.0), (0.0, -1.0)];
    let powers = combined(BinaryKind::Power, &pairs);
    assert_same(&powers, &[1.0, 1.0, 1.0, NAN, -8.0, INF], "power");
    let pairs = [(5.5, 2.0), (-5.5, 2.0), (5.5, -2.0), (1.0, 0.0), (INF, 2.0), (2.0, INF)];
    let rest = combined(BinaryKind::Remainder, &pairs);
    assert_same(&rest, &[1.5, -1.5, 1.5, NAN, NAN, 2.0], "remainder");
    let pairs = [(0.0, -0.0), (-0.0, -1.0), (INF, -INF), (1.0, 0.0)];
    let pi = std::f64::consts::PI;
    assert_same(&combined(BinaryKind::Atan2, &pairs), &[pi, -pi, 0.75 * pi, pi / 2.0], "atan2");
}

#[test]
fn narrow_floats_round_once() {
    let bf = bf16::from_f32;
    assert_eq!(
        combined(BinaryKind::Add, &[(bf(1.0), bf(0.00390625)), (bf(256.0), bf(1.0))]),
        [bf(1.0), bf(256.0)]
    );
    let f = |x: f32| F8e4m3fn::from_f32(x);
    assert_eq!(
        combined(BinaryKind::Multiply, &[(f(20.0), f(20.0)), (f(30.0), f(30.0))]),
        [f(400.0), F8e4m3fn(0x7f)]
    );
    assert_eq!(applied(UnaryKind::Sqrt, &[f16::from_f32(3.0)]), [f16::from_f32(1.7320508)]);
    let many: Vec<bf16> = (0..2000).map(|i| bf16::from_f32(i as f32)).collect();
    let doubled = binary(BinaryKind::Add, array(&many), array(&many)).unwrap();
    assert!(
        doubled.values::<bf16>().iter().zip(&many).all(|(a, b)| a.to_f32() == 2.0 * b.to_f32())
    );
}

#[test]
fn finiteness() {
    let finite =
        |literal: ArrayLiteral| unary(UnaryKind::IsFinite, literal).unwrap().bytes().to_vec();
    assert_eq!(finite(array(&[1.0, INF, -INF, NAN])), [1, 0, 0, 0]);
    assert_eq!(finite(array(&[F8e5m2(0x7c), F8e5m2(0x7b)])), [0, 1]);
    assert_eq!(finite(array(&[F8e4m3fnuz(0x80), F8e4m3fnuz(0x7f)])), [0, 1]);
}

fn compared<T: NativeType>(
    direction: ComparisonDirection,
    comparison_type: Option<ComparisonType>,
    lhs: &[T],
    rhs: &[T],
) -> Vec<u8> {
    compare(direction, comparison_type, &array(lhs), &array(rhs)).unwrap().bytes().to_vec()
}

#[test]
fn comparisons_and_nan() {
    let (lhs, rhs) = ([1.0, NAN, -0.0, 2.0], [NAN, NAN, 0.0, 1.0]);
    for (direction, expected) in [
        (ComparisonDirection::Eq, [0, 0, 1, 0]),
        (ComparisonDirection::Ne, [1, 1, 0, 1]),
        (ComparisonDirection::Lt, [0, 0, 0, 0]),
        (ComparisonDirection::Le, [0, 0, 1, 0]),
        (ComparisonDirection::Gt, [0, 0, 0, 1]),
        (ComparisonDirection::Ge, [0, 0, 1, 1]),
    ] {
        assert_eq!(compared(direction, None, &lhs, &rhs), expected, "{direction}");
        let narrow = |v: &[f64]| v.iter().map(|&v| F8e5m2::from_f32(v as f32)).collect::<Vec<_>>();
        assert_eq!(compared(direction, None, &narrow(&lhs), &narrow(&rhs)), expected);
    }
    assert_eq!(compared(ComparisonDirection::Lt, None, &[-1i8, 1], &[1, -1]), [1, 0]);
    assert_eq!(compared(ComparisonDirection::Lt, None, &[255u8], &[1]), [0]);
    assert_eq!(compared(ComparisonDirection::Gt, None, &[S4(-1), S4(3)], &[S4(0), S4(2)]), [0, 1]);
    assert_eq!(compared(ComparisonDirection::Lt, None, &[Pred::FALSE], &[Pred::TRUE]), [1]);
    let z = C64::new(1.0, f32::NAN);
    assert_eq!(compared(ComparisonDirection::Ne, None, &[z], &[z]), [1]);
    let lt = compare(ComparisonDirection::Lt, None, &array(&[z]), &array(&[z]));
    assert!(lt.unwrap_err().message.contains("complex numbers are only equal or not"));
}

#[test]
fn total_order() {
    let total = Some(ComparisonType::TotalOrder);
    let increasing = [-NAN, -INF, -1.0, -0.0, 0.0, 1e-310, 1.0, INF, NAN];
    let (lower, upper) = (&increasing[..8], &increasing[1..]);
    assert_eq!(compared(ComparisonDirection::Lt, total, lower, upper), [1; 8]);
    assert_eq!(compared(ComparisonDirection::Eq, total, lower, lower), [1; 8]);
    assert_eq!(compared(ComparisonDirection::Ge, total, lower, upper), [0; 8]);
    let narrow: Vec<bf16> = increasing.iter().map(|&v| bf16_of(v)).collect();
    assert_eq!(compared(ComparisonDirection::Lt, total, &narrow[..3], &narrow[1..4]), [1; 3]);
    let fnuz = [F8e4m3fnuz(0x80), F8e4m3fnuz(0xff), F8e4m3fnuz(0x81), F8e4m3fnuz(0)];
    assert_eq!(compared(ComparisonDirection::Lt, total, &fnuz[..3], &fnuz[1..]), [1; 3]);
    assert_eq!(compared(ComparisonDirection::Lt, total, &[-1i32], &[1]), [1]);
}

fn bf16_of(value: f64) -> bf16 {
    rxla_hlo::small_float::bf16_from_f64(value)
}

#[test]
fn choices() {
    let predicate = array(&[Pred::TRUE, Pred::FALSE, Pred::TRUE]);
    let chosen = select(&predicate, array(&[1, 2, 3]), array(&[4, 5, 6])).unwrap();
    assert_eq!(chosen.values::<i32>(), [1, 5, 3]);
    let scalar = ArrayLiteral::scalar(Pred::FALSE);
    let chosen = select(&scalar, array(&[1, 2, 3]), array(&[4, 5, 6])).unwrap();
    assert_eq!(chosen.values::<i32>(), [4, 5, 6]);
    assert!(select(&array(&[1u8]), array(&[1]), array(&[2])).is_err());

    let low = ArrayLiteral::scalar(-1.0);
    let clamped = clamp(&low, array(&[-2.0, 0.5, NAN, 3.0]), &array(&[1.0, 1.0, 1.0, 2.0]));
    assert_same(clamped.unwrap().values(), &[-1.0, 0.5, NAN, 2.0], "clamp");
    let low = ArrayLiteral::scalar(5u8);
    let high = ArrayLiteral::scalar(3u8);
    let clamped = clamp(&low, array(&[0u8, 4, 9]), &high).unwrap();
    assert_eq!(clamped.values::<u8>(), [3, 3, 3], "the upper bound wins");
}

#[test]
fn reduced_precision() {
    let reduced = |values: &[f32], e, m| {
        reduce_precision(array(values), e, m).unwrap().values::<f32>().to_vec()
    };
    // As f16, but what would be subnormal is zero.
    assert_eq!(
        reduced(&[1.0009766, 1.0004883, 65520.0, 65519.0, 6e-5, 6.2e-5, -1e-8], 5, 10),
        [1.0009766, 1.0, f32::INFINITY, 65504.0, 0.0, 6.198883e-5, -0.0]
    );
    assert_eq!(reduced(&[f32::INFINITY], 8, 0), [f32::INFINITY]);
    assert!(reduced(&[f32::NAN], 8, 0)[0].is_nan());
    assert_eq!(reduced(&[3.0, 1.5, 5.0], 8, 0), [2.0, 2.0, 4.0]);
    assert!(reduced(&[f32::NAN], 3, 3)[0].is_nan());
    let half = reduce_precision(array(&[f16::from_bits(1)]), 5, 10).unwrap();
    assert_eq!(half.values::<f16>()[0].to_bits(), 1, "nothing to reduce");
    assert!(reduce_precision(array(&[1.0]), 0, 3).is_err());
    assert!(reduce_precision(array(&[1.0]), 3, -1).is_err());
    assert!(reduce_precision(array(&[1]), 3, 3).is_err());
}

#[test]
fn stochastic_rounding() {
    let convert = |value: f32, random: u32| {
        let converted = stochastic_convert(array(&[value]), &array(&[random]), ElementType::S8);
        converted.unwrap().values::<i8>()[0]
    };
    assert_eq!(convert(1.25, (1 << 30) - 1), 2);
    assert_eq!(convert(1.25, 1 << 30), 1);
    assert_eq!(convert(-1.25, 0), -2);
    assert_eq!(convert(3.0, 0), 3);
    assert_eq!(convert(f32::NAN, 0), 0);
    assert_eq!(convert(f32::NEG_INFINITY, 0), -128);
    assert_eq!(convert(127.5, 0), 127);
    let small = |random: u8| {
        let value = array(&[F8e5m2::from_f32(1.25)]);
        stochastic_convert(value, &array(&[random]), ElementType::S8).unwrap().values::<i8>()[0]
    };
    assert_eq!((small(63), small(64)), (2, 1));
    let wrong = stochastic_convert(array(&[1f32]), &array(&[1u16]), ElementType::S8).unwrap_err();
    assert_eq!(
        wrong.message,
        "`stochastic-convert` of `f32` needs random bits of type `u32`, got `u16`"
    );
    let missing = stochastic_convert(array(&[1f32]), &array(&[1u32]), ElementType::Bf16);
    assert_eq!(
        missing.unwrap_err().message,
        "unimplemented: `stochastic-convert` from `f32` to `bf16`"
    );
}

#[test]
fn what_a_type_does_not_have_is_an_error() {
    let message = |result: Result<ArrayLiteral>| result.unwrap_err().message;
    assert_eq!(
        message(unary(UnaryKind::Cos, array(&[1i32]))),
        "`cosine` is not defined for element type `s32`"
    );
    assert_eq!(
        message(binary(BinaryKind::And, array(&[1f32]), array(&[1f32]))),
        "`and` is not defined for element type `f32`"
    );
    assert_eq!(
        message(binary(BinaryKind::Add, array(&[1f32]), array(&[1i32]))),
        "`add` of `f32[1]` and `s32[1]`: the element types differ"
    );
    assert!(unary(UnaryKind::Abs, array(&[1u32])).is_err());
    assert!(unary(UnaryKind::Cbrt, array(&[C64::new(1.0, 0.0)])).is_err());
    assert!(binary(BinaryKind::Complex, array(&[1i32]), array(&[1i32])).is_err());
}

#[test]
fn parts_of_complex_numbers() {
    let z = binary(BinaryKind::Complex, array(&[3f32, INF as f32]), array(&[4f32, 1.0])).unwrap();
    assert_eq!(unary(UnaryKind::Abs, z.clone()).unwrap().values::<f32>(), [5.0, f32::INFINITY]);
    assert_eq!(unary(UnaryKind::Real, z.clone()).unwrap().values::<f32>(), [3.0, f32::INFINITY]);
    assert_eq!(unary(UnaryKind::Imag, z).unwrap().values::<f32>(), [4.0, 1.0]);
}
