//! Numbers outside of literals: six significant digits, as C's `%g` prints them.

use std::fmt::Write;

/// Appends `value` with up to six digits, in exponent form where that is shorter.
pub(super) fn print_number(value: f64, out: &mut String) {
    const DIGITS: i32 = 6;
    if value.is_nan() {
        out.push_str("nan");
        return;
    }
    if value.is_infinite() {
        out.push_str(if value < 0.0 { "-inf" } else { "inf" });
        return;
    }
    let scientific = format!("{value:.5e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    // Writing to a string cannot fail.
    if (-4..DIGITS).contains(&exponent) {
        let places = (DIGITS - 1 - exponent) as usize;
        let fixed = format!("{value:.places$}");
        out.push_str(without_zeros(&fixed));
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        let _ = write!(out, "{}e{sign}{:02}", without_zeros(mantissa), exponent.abs());
    }
}

fn without_zeros(digits: &str) -> &str {
    if !digits.contains('.') {
        return digits;
    }
    digits.trim_end_matches('0').trim_end_matches('.')
}

#[cfg(test)]
mod tests {
    #[test]
    fn prints_like_c() {
        let cases = [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (0.001, "0.001"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (44.5, "44.5"),
            (123456.0, "123456"),
            (1234567.0, "1.23457e+06"),
            (999999.5, "1e+06"),
            (1.0 / 3.0, "0.333333"),
            (-2.5e-100, "-2.5e-100"),
            (f64::INFINITY, "inf"),
        ];
        for (value, text) in cases {
            let mut out = String::new();
            super::print_number(value, &mut out);
            assert_eq!(out, text);
        }
    }
}
