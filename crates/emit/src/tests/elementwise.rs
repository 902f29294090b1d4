//! Each elementwise op on each type that has it.

use rxla_hlo::literal::Tolerance;
use rxla_hlo::op::{BinaryKind, UnaryKind};
use rxla_hlo::{ElementType, TypeClass};
use rxla_kernel::{Builder, Linkage, Type};

use super::{EXACT, NUMBERS, check, check_within, fused, kernel, one};
use crate::{Destination, Part, Source};

/// What results may differ by: mathematical functions are approximated, and sums of narrow floats
/// rounded through `f32` rather than `f64`.
fn tolerance(element_type: ElementType, ulps: u64) -> Tolerance {
    match element_type.class() {
        TypeClass::Float | TypeClass::Complex => Tolerance { ulps, ..EXACT },
        TypeClass::Pred | TypeClass::Signed | TypeClass::Unsigned => EXACT,
    }
}

#[test]
fn binary_ops() {
    use BinaryKind::*;
    for &ty in
        NUMBERS.iter().chain(&[ElementType::Pred, ElementType::F8e5m2, ElementType::F8e4m3fn])
    {
        let class = ty.class();
        for &kind in BinaryKind::ALL {
            let defined = match (class, kind) {
                (_, Complex) => matches!(ty, ElementType::F32 | ElementType::F64),
                (TypeClass::Pred, _) => {
                    matches!(kind, Add | Maximum | Or | Multiply | Minimum | And | Xor)
                }
                (TypeClass::Signed | TypeClass::Unsigned, _) => kind != Atan2,
                (TypeClass::Float, _) => !matches!(
                    kind,
                    And | Or | Xor | Mulhi | ShiftLeft | ShiftRightArithmetic | ShiftRightLogical
                ),
                (TypeClass::Complex, _) => matches!(
                    kind,
                    Add | Subtract | Multiply | Divide | Power | Atan2 | Maximum | Minimum
                ),
            };
            if !defined {
                continue;
            }
            let shape = format!("{ty}[67]");
            let result = match kind {
                Complex => format!("{}[67]", ty.complex_of().expect("a float")),
                _ => shape.clone(),
            };
            let ulps = if matches!(kind, Atan2 | Power) { 4 } else { 0 };
            let mut tolerance = tolerance(ty, ulps);
            if ty.is_complex() && ulps > 0 {
                tolerance.relative = if ty == ElementType::C64 { 1e-5 } else { 1e-13 };
                tolerance.absolute = tolerance.relative;
            }
            check_within(&one(&result, kind.name(), &[&shape, &shape]), tolerance);
        }
    }
}

#[test]
fn unary_ops() {
    use UnaryKind::*;
    for &ty in NUMBERS.iter().chain(&[ElementType::Pred, ElementType::F8e4m3b11fnuz]) {
        for &kind in UnaryKind::ALL {
            let integers = matches!(kind, CountLeadingZeros | Negate | Not | PopulationCount);
            let exact = matches!(
                kind,
                Abs | Ceil
                    | Floor
                    | Imag
                    | IsFinite
                    | Negate
                    | Real
                    | RoundNearestAfz
                    | RoundNearestEven
                    | Sign
                    | Sqrt
            );
            let defined = match ty.class() {
                TypeClass::Pred => kind == Not,
                TypeClass::Signed => integers || matches!(kind, Abs | Sign),
                TypeClass::Unsigned => integers,
                TypeClass::Float => !matches!(kind, CountLeadingZeros | Not | PopulationCount),
                TypeClass::Complex => !matches!(
                    kind,
                    Cbrt | Ceil
                        | CountLeadingZeros
                        | Erf
                        | Floor
                        | IsFinite
                        | Not
                        | PopulationCount
                        | RoundNearestAfz
                        | RoundNearestEven
                ),
            };
            if !defined {
                continue;
            }
            let operand = format!("{ty}[67]");
            let result = match kind {
                IsFinite => "pred[67]".to_owned(),
                Real | Imag | Abs => format!("{}[67]", ty.real_part()),
                _ => operand.clone(),
            };
            let ulps = if exact { 0 } else { 4 };
            let mut tolerance = tolerance(ty, ulps);
            if ty.is_complex() && !matches!(kind, Real | Imag | Negate) {
                // Parts that nearly vanish are as precise as the whole.
                tolerance.absolute = if ty == ElementType::C64 { 1e-6 } else { 1e-14 };
                tolerance.relative = tolerance.absolute;
            }
            check_within(&one(&result, kind.name(), &[&operand]), tolerance);
        }
    }
}

#[test]
fn comparisons() {
    for &ty in NUMBERS.iter().chain(&[ElementType::Pred, ElementType::F8e4m3fnuz]) {
        for direction in ["EQ", "NE", "GE", "GT", "LE", "LT"] {
            if ty.is_complex() && !matches!(direction, "EQ" | "NE") {
                continue;
            }
            let shape = format!("{ty}[67]");
            let op = format!("compare direction={direction}");
            check(&one("pred[67]", &op, &[&shape, &shape]));
            if ty.is_float() {
                let op = format!("compare direction={direction}, type=TOTALORDER");
                check(&one("pred[67]", &op, &[&shape, &shape]));
            }
        }
    }
}

#[test]
fn conversions() {
    let small = [
        ElementType::Pred,
        ElementType::S1,
        ElementType::U1,
        ElementType::F8e5m2,
        ElementType::F8e4m3,
        ElementType::F8e4m3fn,
        ElementType::F8e4m3b11fnuz,
        ElementType::F8e3m4,
        ElementType::F8e5m2fnuz,
        ElementType::F8e4m3fnuz,
        ElementType::F8e8m0fnu,
        ElementType::F6e3m2fn,
        ElementType::F6e2m3fn,
        ElementType::F4e2m1fn,
    ];
    let all: Vec<ElementType> = NUMBERS.iter().chain(&small).copied().collect();
    for &from in &all {
        for &to in &all {
            let scalar_float = to.is_float() && to.bit_width() <= 8;
            if scalar_float && from.is_integer() && from.bit_width() > 32 {
                continue;
            }
            check(&one(&format!("{to}[67]"), "convert", &[&format!("{from}[67]")]));
        }
    }
}

#[test]
fn selection() {
    for &ty in &NUMBERS {
        let shape = format!("{ty}[5,7]");
        check(&one(&shape, "select", &["pred[5,7]", &shape, &shape]));
        if !ty.is_complex() {
            let scalar = format!("{ty}[]");
            check(&one(&shape, "clamp", &[&scalar, &shape, &scalar]));
            check(&one(&shape, "clamp", &[&shape, &shape, &shape]));
        }
    }
    check(&one("f32[5,7]", "select", &["pred[]", "f32[5,7]", "f32[5,7]"]));
}

#[test]
fn reduced_precision() {
    for ty in ["f64", "f32", "f16", "bf16", "f8e5m2"] {
        for (exponent, mantissa) in [(5, 10), (8, 7), (8, 23), (2, 3), (11, 52), (3, 0)] {
            let op = format!("reduce-precision exponent_bits={exponent}, mantissa_bits={mantissa}");
            let shape = format!("{ty}[67]");
            check(&one(&shape, &op, &[&shape]));
        }
    }
}

#[test]
fn bitcasts() {
    for (from, to) in
        [("f32", "s32"), ("u64", "f64"), ("bf16", "u16"), ("f16", "s16"), ("s4", "u4")]
    {
        check(&one(&format!("{to}[9]"), "bitcast-convert", &[&format!("{from}[9]")]));
    }
    check(&one("u8[9,4]", "bitcast-convert", &["f32[9]"]));
    check(&one("f32[9]", "bitcast-convert", &["u8[9,4]"]));
    check(&one("u32[3,9,2]", "bitcast-convert", &["f64[3,9]"]));
    check(&one("s64[3,9]", "bitcast-convert", &["u16[3,9,4]"]));
}

#[test]
fn shapes_without_many_elements() {
    for dims in ["", "0", "3,0", "1", "1,1", "2,3,1"] {
        let shape = format!("f32[{dims}]");
        check(&one(&shape, "multiply", &[&shape, &shape]));
    }
}

/// Eight channels of a group are the lanes of a vector, not the groups, whose elements are apart.
#[test]
fn short_lines_of_groups() {
    for lanes in [4, 8] {
        let text = format!(
            "HloModule test
             ENTRY main {{
               p0 = f32[5,6,{lanes}] parameter(0)
               p1 = f32[6] parameter(1)
               b = f32[5,6,{lanes}] broadcast(p1), dimensions={{1}}
               ROOT r = f32[5,6,{lanes}] multiply(p0, b)
             }}"
        );
        check(&text);
        assert_eq!(kernel(&text).matches("store").count(), 1, "{text}");
    }
}

/// Short lines are written out for the sake of speed, but sines only where there are many lines.
#[test]
fn few_copies_of_sines() {
    for (rows, sines) in [(7, 1), (2000, 5)] {
        let text = format!(
            "HloModule test
             ENTRY main {{
               p0 = f32[{rows},5] parameter(0)
               p1 = f32[5] parameter(1)
               b = f32[{rows},5] broadcast(p1), dimensions={{1}}
               a = f32[{rows},5] add(p0, b)
               ROOT r = f32[{rows},5] sine(a)
             }}"
        );
        assert_eq!(kernel(&text).matches(" sin ").count(), sines, "{text}");
    }
}

/// A function takes as long for one element as for all lanes; what is a single instruction is written out.
#[test]
fn functions_of_a_few_elements_run_in_lanes() {
    for (op, word, count) in [("exponential", "exp", 1), ("negate", "neg", 8)] {
        let text = format!(
            "HloModule test
             ENTRY main {{
               p0 = f32[8] parameter(0)
               p1 = f32[8] parameter(1)
               a = f32[8] add(p0, p1)
               ROOT r = f32[8] {op}(a)
             }}"
        );
        check(&text);
        assert_eq!(kernel(&text).matches(&format!(" {word} ")).count(), count, "{text}");
    }
}

/// Few units of work are more if they take in the next loop, but not one that is to run in lanes.
#[test]
fn lanes_are_not_given_up_for_units() {
    let text = "HloModule test
         ENTRY main {
           p0 = f32[51,51,7] parameter(0)
           p1 = f32[51,51,7] parameter(1)
           a = f32[47,48,6] slice(p0), slice={[2:49], [1:49], [1:7]}
           b = f32[47,48,6] slice(p1), slice={[2:49], [1:49], [0:6]}
           ROOT r = f32[47,48,6] divide(a, b)
         }";
    check(text);
    let (module, id) = fused(text);
    let mut builder = Builder::new("kernel", Linkage::Kernel, None);
    let sources = [0, 1].map(|_| Source::Memory(builder.buffer_parameter(1)));
    let destination = Destination::Memory(builder.buffer_parameter(1));
    let part = Part::Range(builder.parameter(Type::I64), builder.parameter(Type::I64));
    crate::emit(&mut builder, &module, id, &sources, &[destination], part).unwrap();
    let kernel = rxla_kernel::Module { functions: vec![builder.finish()] }.to_string();
    assert_eq!(kernel.matches("for vector").count(), 1, "{kernel}");
}

/// Coordinates side by side that are computed one by one: rows are lanes, and are stored when all of a row is known.
#[test]
fn rows_of_parts_are_stored_whole() {
    let text = "HloModule test
         ENTRY main {
           p0 = f32[70,3] parameter(0)
           p1 = f32[70,3] parameter(1)
           x0 = f32[70,1] slice(p0), slice={[0:70], [0:1]}
           y0 = f32[70,1] slice(p0), slice={[0:70], [1:2]}
           z0 = f32[70,1] slice(p0), slice={[0:70], [2:3]}
           x1 = f32[70,1] slice(p1), slice={[0:70], [0:1]}
           y1 = f32[70,1] slice(p1), slice={[0:70], [1:2]}
           z1 = f32[70,1] slice(p1), slice={[0:70], [2:3]}
           yz = f32[70,1] multiply(y0, z1)
           zx = f32[70,1] multiply(z0, x1)
           xy = f32[70,1] multiply(x0, y1)
           one = f32[] constant(1)
           ones = f32[70,1] broadcast(one), dimensions={}
           ROOT r = f32[70,4] concatenate(yz, zx, xy, ones), dimensions={1}
         }";
    check(text);
    let kernel = kernel(text);
    assert_eq!(kernel.matches("for vector").count(), 1, "{kernel}");
    let stores = &kernel[kernel.find("store").expect("a store")..];
    assert_eq!(
        (stores.matches("store").count(), stores.matches("load").count()),
        (4, 0),
        "{kernel}"
    );
}

#[test]
fn several_results() {
    check(
        "HloModule test
         ENTRY main {
           p0 = f32[5,7] parameter(0)
           p1 = s32[5,7] parameter(1)
           a = f32[5,7] add(p0, p0)
           b = s32[5,7] multiply(p1, p1)
           c = f32[5,7] convert(b)
           d = f32[5,7] add(a, c)
           one = f32[] constant(1)
           e = f32[3] broadcast(one), dimensions={}
           ROOT r = (f32[5,7], s32[5,7], (f32[5,7], f32[3])) tuple(a, b, (d, e))
         }"
        .replace("(d, e))", "inner)")
        .replace("ROOT", "inner = (f32[5,7], f32[3]) tuple(d, e)\n           ROOT")
        .as_str(),
    );
}

#[test]
fn pieces_of_one_loop_are_of_whole_vectors() {
    let extent = |shape: &str| {
        let text = one(shape, "negate", &[shape]);
        check(&text);
        let (module, id) = fused(&text);
        crate::extent(&module, id, crate::Updates::Copied)
    };
    // Enough units come first.
    assert_eq!(extent("f32[100,64]"), 100);
    assert_eq!(extent("f32[1024,64]"), 256);
    assert_eq!(extent("f32[63,3]"), 189);
    // Rows of a loop in lanes do not come one by one, except those that are left for the last.
    assert_eq!(extent("f32[1001]"), 63);
}
