//! What is read and printed, as jaxlib 0.10.2 does it.

use super::*;

fn printed<T: ElementText>(value: T) -> String {
    let mut out = String::new();
    value.print(&mut out);
    out
}

/// Text in, text out, as jaxlib 0.10.2 reads and prints constants; `!` stands for an error.
fn check(element_type: ElementType, cases: &[(&str, &str)]) {
    for &(text, expected) in cases {
        let actual = with_native!(element_type, T => match T::parse(text) {
            Ok(value) => {
                let out = printed(value);
                assert_eq!(T::parse(&out).map(printed), Ok(out.clone()), "again");
                out
            }
            Err(_) => "!".to_owned(),
        });
        assert_eq!(actual, expected, "{element_type} from {text}");
    }
}

#[test]
fn wide_floats() {
    check(
        ElementType::F32,
        &[
            ("0", "0"),
            ("-0.0", "-0"),
            ("0.1", "0.1"),
            ("1e-3", "0.001"),
            ("1e10", "1e+10"),
            ("123456789", "123456792"),
            ("3.14159265358979", "3.14159274"),
            ("nan", "nan"),
            ("-nan", "-nan"),
            ("nan(0x1)", "nan(0x1)"),
            ("-nan(0x7fffff)", "-nan(0x7fffff)"),
            ("nan(0x1234567)", "!"),
            ("inf", "inf"),
            ("-inf", "-inf"),
            ("0.000123", "0.000123"),
            ("1e-5", "1e-05"),
            ("1e-45", "1.4013e-45"),
            ("1e100", "!"),
            ("3.5e38", "!"),
            (".5", "0.5"),
            ("5.", "5"),
            ("infinity", "!"),
            ("+1", "!"),
            ("", "!"),
            ("-", "!"),
            ("nan(1)", "!"),
            ("nan(0x0)", "!"),
            ("true", "!"),
            ("--1", "!"),
        ],
    );
    check(
        ElementType::F64,
        &[
            ("1e10", "10000000000"),
            ("0.1", "0.1"),
            ("3.14159265358979", "3.14159265358979"),
            ("3.141592653589793", "3.1415926535897931"),
            ("1e100", "1e+100"),
            ("1.5e300", "1.5e+300"),
            ("1e15", "1e+15"),
            ("123456789012345", "123456789012345"),
            ("5e-324", "4.94065645841247e-324"),
            ("nan(0x1234567)", "nan(0x1234567)"),
            ("1e400", "!"),
        ],
    );
}

#[test]
fn narrow_floats() {
    check(
        ElementType::F16,
        &[
            ("0.1", "0.099976"),
            ("1e-3", "0.0010004"),
            ("1e-5", "1.0014e-05"),
            ("65504", "65504"),
            ("65519", "65504"),
            ("65520", "!"),
            ("nan(0x1)", "nan(0x1)"),
            ("nan(0x3ff)", "nan(0x3ff)"),
            ("nan(0x400)", "!"),
        ],
    );
    check(
        ElementType::Bf16,
        &[
            ("1e10", "9.999e+09"),
            ("0.1", "0.1001"),
            ("123456789", "1.232e+08"),
            ("65504", "6.554e+04"),
            ("-nan(0x7f)", "-nan(0x7f)"),
            ("1e100", "!"),
        ],
    );
    check(
        ElementType::F8e5m2,
        &[
            ("0.1", "0.094"),
            ("1e-3", "0.00098"),
            ("448", "4.5e+02"),
            ("nan(0x1)", "nan(0x1)"),
            ("65504", "!"),
            ("inf", "inf"),
        ],
    );
    check(
        ElementType::F8e4m3fn,
        &[
            ("0.1", "0.102"),
            ("448", "448"),
            ("inf", "nan"),
            ("-inf", "-nan"),
            ("-nan", "-nan"),
            ("nan(0x1)", "!"),
            ("1e10", "!"),
        ],
    );
    check(ElementType::F8e3m4, &[("0.1", "0.0938"), ("nan(0x1)", "nan(0x1)"), ("448", "!")]);
    check(
        ElementType::F8e4m3fnuz,
        &[("-0.0", "0"), ("nan", "-nan"), ("inf", "-nan"), ("448", "!")],
    );
    check(
        ElementType::F8e8m0fnu,
        &[
            ("0.1", "0.12"),
            ("448", "5.1e+02"),
            ("6", "8"),
            ("0", "!"),
            ("-1", "!"),
            ("-nan", "nan"),
            ("inf", "nan"),
        ],
    );
    check(ElementType::F6e3m2fn, &[("nan", "-0"), ("-nan", "0"), ("1e300", "28")]);
    check(ElementType::F4e2m1fn, &[("0.1", "0"), ("-inf", "-6"), ("nan(0x1)", "!")]);
}

#[test]
fn integers_and_predicates() {
    check(ElementType::S8, &[("127", "127"), ("-128", "-128"), ("128", "!"), ("-129", "!")]);
    check(ElementType::U8, &[("255", "255"), ("256", "!"), ("-1", "!")]);
    check(ElementType::S4, &[("7", "7"), ("-8", "-8"), ("8", "!")]);
    check(ElementType::U4, &[("15", "15"), ("16", "!")]);
    check(ElementType::S1, &[("0", "0"), ("-1", "-1"), ("1", "!")]);
    check(
        ElementType::U64,
        &[
            ("18446744073709551615", "18446744073709551615"),
            ("-1", "18446744073709551615"),
            ("18446744073709551616", "!"),
        ],
    );
    check(
        ElementType::S64,
        &[
            ("-9223372036854775808", "-9223372036854775808"),
            ("9223372036854775808", "!"),
            ("99999999999999999999999999999999999999999999", "!"),
        ],
    );
    check(ElementType::S32, &[("1.5", "!"), ("1e3", "!"), ("", "!"), ("-", "!"), ("+1", "!")]);
    check(ElementType::Pred, &[("true", "true"), ("0", "false"), ("2", "true"), ("1.0", "!")]);
    let mut bits = ArrayLiteral::from_values([2], &[Pred::TRUE, Pred::FALSE]);
    bits.parse_element(1, "true").unwrap();
    let mut out = String::new();
    bits.print_element(1, &mut out);
    assert_eq!(out, "1");
}

#[test]
fn complex_numbers() {
    check(
        ElementType::C64,
        &[
            ("(1,2)", "(1, 2)"),
            ("(inf,-inf)", "(inf, -inf)"),
            ("(0.1, -0.0)", "(0.1, -0)"),
            ("(1, nan)", "(1, nan)"),
            ("(1e39, 1)", "!"),
            ("1", "!"),
            ("(1)", "!"),
        ],
    );
    check(ElementType::C128, &[("(0.1,nan(0x5))", "(0.1, nan(0x5))")]);
}

#[test]
fn messages_say_what_would_fit() {
    let message = |result: Result<()>| result.unwrap_err().to_string();
    assert_eq!(
        message(i8::parse("300").map(drop)),
        "value 300 is out of range for `s8`, which holds -128 to 127"
    );
    assert_eq!(
        message(f16::parse("1e6").map(drop)),
        "value 1e6 is out of range for `f16`, which holds -6.5504e4 to 6.5504e4"
    );
    assert_eq!(
        message(C64::parse("(1, x)").map(drop)),
        "expected a number for `f32`, got `x`\n  in the imaginary part of a `c64`"
    );
}

#[test]
fn every_value_of_two_bytes_reads_back() {
    for bits in 0..=u16::MAX {
        let value = f16::from_bits(bits);
        assert_eq!(f16::parse(&printed(value)).unwrap().to_bits(), bits, "{value}");
        let value = bf16::from_bits(bits);
        assert_eq!(bf16::parse(&printed(value)).unwrap().to_bits(), bits, "{value}");
    }
    for bits in (0..u32::MAX).step_by(100_003) {
        let value = f32::from_bits(bits);
        assert_eq!(f32::parse(&printed(value)).unwrap().to_bits(), bits, "{value}");
    }
}
