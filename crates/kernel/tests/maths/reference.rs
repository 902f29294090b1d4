//! What results are measured against, and in what: units in the last place of the true result.

use rxla_kernel::UnaryOp;

pub(crate) const UNARY: &[(&str, UnaryOp)] = &[
    ("exp", UnaryOp::Exp),
    ("exp2", UnaryOp::Exp2),
    ("expm1", UnaryOp::Expm1),
    ("log", UnaryOp::Log),
    ("log2", UnaryOp::Log2),
    ("log1p", UnaryOp::Log1p),
    ("sin", UnaryOp::Sin),
    ("cos", UnaryOp::Cos),
    ("tan", UnaryOp::Tan),
    ("asin", UnaryOp::Asin),
    ("acos", UnaryOp::Acos),
    ("atan", UnaryOp::Atan),
    ("sinh", UnaryOp::Sinh),
    ("cosh", UnaryOp::Cosh),
    ("tanh", UnaryOp::Tanh),
    ("asinh", UnaryOp::Asinh),
    ("acosh", UnaryOp::Acosh),
    ("atanh", UnaryOp::Atanh),
    ("erf", UnaryOp::Erf),
    ("erfc", UnaryOp::Erfc),
    ("cbrt", UnaryOp::Cbrt),
    ("rsqrt", UnaryOp::Rsqrt),
    ("logistic", UnaryOp::Logistic),
];

/// The function in double precision, by libraries that share nothing with ours; good to a few
/// units of double precision, so exact for what has single precision.
pub(crate) fn exact(op: UnaryOp, x: f64) -> f64 {
    match op {
        UnaryOp::Exp => x.exp(),
        UnaryOp::Exp2 => x.exp2(),
        UnaryOp::Expm1 => x.exp_m1(),
        UnaryOp::Log => x.ln(),
        UnaryOp::Log2 => x.log2(),
        UnaryOp::Log1p => x.ln_1p(),
        UnaryOp::Sin => x.sin(),
        UnaryOp::Cos => x.cos(),
        UnaryOp::Tan => x.tan(),
        UnaryOp::Asin => x.asin(),
        UnaryOp::Acos => x.acos(),
        UnaryOp::Atan => x.atan(),
        UnaryOp::Sinh => x.sinh(),
        UnaryOp::Cosh => x.cosh(),
        UnaryOp::Tanh => x.tanh(),
        UnaryOp::Asinh => libm::asinh(x),
        // libm's gives a number for some negative ones.
        UnaryOp::Acosh => {
            if x < 1.0 {
                f64::NAN
            } else {
                libm::acosh(x)
            }
        }
        UnaryOp::Atanh => libm::atanh(x),
        UnaryOp::Erf => libm::erf(x),
        UnaryOp::Erfc => libm::erfc(x),
        UnaryOp::Cbrt => x.cbrt(),
        UnaryOp::Rsqrt => 1.0 / x.sqrt(),
        UnaryOp::Logistic => 1.0 / (1.0 + (-x).exp()),
        other => panic!("{other:?} is no mathematical function"),
    }
}

/// A float format by its numbers.
#[derive(Clone, Copy)]
pub(crate) struct Format {
    pub(crate) mantissa: i32,
    pub(crate) least_exponent: i32,
    /// Two to this is the first power that overflows.
    pub(crate) overflow: i32,
}

pub(crate) const F32: Format = Format { mantissa: 23, least_exponent: -126, overflow: 128 };
pub(crate) const F16: Format = Format { mantissa: 10, least_exponent: -14, overflow: 16 };
pub(crate) const BF16: Format = Format { mantissa: 7, least_exponent: -126, overflow: 128 };

/// How far `got`, a number of the format, is from `want` in units of the last place of `want`.
/// Infinite where a special value or the sign of a zero is wrong.
pub(crate) fn ulps(format: Format, got: f64, want: f64) -> f64 {
    if got.is_nan() || want.is_nan() {
        return if got.is_nan() && want.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if got.is_sign_negative() != want.is_sign_negative() {
        return f64::INFINITY;
    }
    if want.is_infinite() || want == 0.0 {
        return if got == want { 0.0 } else { f64::INFINITY };
    }
    // Infinity stands for the power of two that overflows.
    let overflow = power_of_two(format.overflow);
    let got = if got.is_infinite() { overflow } else { got.abs() };
    let want = want.abs().min(overflow);
    let exponent = exponent(want).max(format.least_exponent).min(format.overflow - 1);
    (got - want).abs() * power_of_two(format.mantissa - exponent)
}

fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

fn exponent(x: f64) -> i32 {
    (x.to_bits() >> 52 & 0x7ff) as i32 - 1023
}

/// The same in double precision; the true result is `want + want_rest`.
pub(crate) fn ulps_f64(got: f64, want: f64, want_rest: f64) -> f64 {
    if got.is_nan() || want.is_nan() || got.is_sign_negative() != want.is_sign_negative() {
        return if got.is_nan() && want.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if got == want && (want.is_infinite() || want == 0.0) {
        return 0.0;
    }
    if got.is_infinite() || want.is_infinite() || want == 0.0 {
        return f64::INFINITY;
    }
    // Both scaled out of the subnormal range.
    let exponent = exponent(want).max(-1022);
    let scale = |x: f64| if exponent < -500 { x * power_of_two(600) } else { x };
    let exponent = if exponent < -500 { exponent + 600 } else { exponent };
    let error = scale(got) - scale(want) - scale(want_rest);
    error.abs() / power_of_two(exponent.max(-500)) * power_of_two(52)
}
