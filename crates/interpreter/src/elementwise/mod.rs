//! Ops that compute each element of the result from the same element of their operands.
//!
//! Every function works on arrays of any rank; operands have the same dimensions unless said
//! otherwise, which callers have checked. Operands come by value so that one whose storage nobody
//! else holds may be overwritten by the result.
//!
//! A kernel is chosen once per array and works on slices: [`integer`], [`real`], [`complex`] and
//! [`predicate`] hold those of their types. Floats narrower than `f32` are computed in `f64` and
//! rounded once per op. What a type does not have is an error as XLA's verifier would give.

mod choice;
mod comparison;
mod complex;
mod integer;
mod loops;
mod predicate;
pub(crate) mod real;
mod rounding;
#[cfg(test)]
mod tests;

use rxla_base::{Error, Result};
use rxla_hlo::literal::Element;
use rxla_hlo::native::{
    C64, C128, F4e2m1fn, F6e2m3fn, F6e3m2fn, F8e3m4, F8e4m3, F8e4m3b11fnuz, F8e4m3fn, F8e4m3fnuz,
    F8e5m2, F8e5m2fnuz, F8e8m0fnu, NativeType, Pred, S1, S2, S4, U1, U2, U4, bf16, f16,
};
use rxla_hlo::op::{BinaryKind, ComparisonDirection, ComparisonType, UnaryKind};
use rxla_hlo::small_float::{Format, SmallFloat};
use rxla_hlo::{ArrayLiteral, ArrayShape, ElementType, TypeClass, with_native};

use loops::{map_narrow, map_to, zip_narrow};

/// Runs a block for the native type `$T` of an element type, with one block per family.
macro_rules! by_family {
    ($element_type:expr, $T:ident, pred $pred:block, integer $integer:block,
     narrow $narrow:block, real $real:block, complex $complex:block) => {
        by_family!(@ $element_type, $T,
            [Pred] $pred,
            [S1 S2 S4 S8 S16 S32 S64 U1 U2 U4 U8 U16 U32 U64] $integer,
            [F16 Bf16 F8e5m2 F8e4m3 F8e4m3fn F8e4m3b11fnuz F8e3m4 F8e5m2fnuz F8e4m3fnuz F8e8m0fnu
             F6e3m2fn F6e2m3fn F4e2m1fn] $narrow,
            [F32 F64] $real,
            [C64 C128] $complex)
    };
    (@ $element_type:expr, $T:ident, $([$($variant:ident)+] $block:block),+) => {
        match $element_type { $($(
            ElementType::$variant => { type $T = by_family!(type $variant); $block }
        )+)+ }
    };
    (type S8) => { i8 };
    (type S16) => { i16 };
    (type S32) => { i32 };
    (type S64) => { i64 };
    (type U8) => { u8 };
    (type U16) => { u16 };
    (type U32) => { u32 };
    (type U64) => { u64 };
    (type F16) => { f16 };
    (type Bf16) => { bf16 };
    (type F32) => { f32 };
    (type F64) => { f64 };
    (type $same:ident) => { $same };
}

/// `abs`, `cosine`, ….
pub fn unary(kind: UnaryKind, mut operand: ArrayLiteral) -> Result<ArrayLiteral> {
    let element_type = operand.element_type();
    match (kind, element_type.class()) {
        (UnaryKind::IsFinite, TypeClass::Float) => return is_finite(&operand),
        (UnaryKind::Abs | UnaryKind::Real | UnaryKind::Imag, TypeClass::Complex) => {
            return complex_to_real(kind, &operand);
        }
        _ => {}
    }
    let undefined = || undefined(kind.name(), element_type);
    by_family!(element_type, T,
        pred { (predicate::unary(kind).ok_or_else(undefined)?)(operand.values_mut::<T>()) },
        integer { (integer::unary(kind).ok_or_else(undefined)?)(operand.values_mut::<T>()) },
        narrow {
            let kernel = real::unary(kind).ok_or_else(undefined)?;
            map_narrow(operand.values_mut::<T>(), kernel);
        },
        real { (real::unary(kind).ok_or_else(undefined)?)(operand.values_mut::<T>()) },
        complex { (complex::unary(kind).ok_or_else(undefined)?)(operand.values_mut::<T>()) }
    );
    Ok(operand)
}

/// `add`, `power`, `complex`, ….
pub fn binary(kind: BinaryKind, mut lhs: ArrayLiteral, rhs: ArrayLiteral) -> Result<ArrayLiteral> {
    check_types(kind.name(), &lhs, &rhs)?;
    let element_type = lhs.element_type();
    if kind == BinaryKind::Complex {
        return compose(&lhs, &rhs);
    }
    let undefined = || undefined(kind.name(), element_type);
    by_family!(element_type, T,
        pred {
            (predicate::binary(kind).ok_or_else(undefined)?)(lhs.values_mut(), rhs.values::<T>());
        },
        integer {
            (integer::binary(kind).ok_or_else(undefined)?)(lhs.values_mut(), rhs.values::<T>());
        },
        narrow {
            let kernel = real::binary(kind).ok_or_else(undefined)?;
            zip_narrow(lhs.values_mut::<T>(), rhs.values::<T>(), kernel);
        },
        real { (real::binary(kind).ok_or_else(undefined)?)(lhs.values_mut(), rhs.values::<T>()) },
        complex {
            (complex::binary(kind).ok_or_else(undefined)?)(lhs.values_mut(), rhs.values::<T>());
        }
    );
    Ok(lhs)
}

/// A `pred` array. `comparison_type` is the element type's own when it is `None`.
pub fn compare(
    direction: ComparisonDirection,
    comparison_type: Option<ComparisonType>,
    lhs: &ArrayLiteral,
    rhs: &ArrayLiteral,
) -> Result<ArrayLiteral> {
    check_types("compare", lhs, rhs)?;
    let element_type = lhs.element_type();
    // The other types only repeat what the element type says.
    let total = comparison_type == Some(ComparisonType::TotalOrder);
    if let (true, Some(format)) = (total, Format::of(element_type)) {
        return total_order(format, direction, lhs, rhs);
    }
    by_family!(element_type, T,
        pred { comparison::by_value::<T>(direction, lhs, rhs) },
        integer { comparison::ordered::<T>(direction, lhs, rhs) },
        narrow { comparison::by_value::<T>(direction, lhs, rhs) },
        real { comparison::ordered::<T>(direction, lhs, rhs) },
        complex { comparison::complex::<T>(direction, lhs, rhs) }
    )
}

/// `predicate` has the dimensions of the others or is a scalar.
pub fn select(
    predicate: &ArrayLiteral,
    on_true: ArrayLiteral,
    on_false: ArrayLiteral,
) -> Result<ArrayLiteral> {
    check_types("select", &on_true, &on_false)?;
    if predicate.element_type() != ElementType::Pred {
        return Err(Error::invalid_argument(format!(
            "the predicate of `select` is a `pred`, got `{}`",
            predicate.element_type()
        )));
    }
    Ok(with_native!(on_true.element_type(), T => {
        choice::select::<T>(predicate, on_true, on_false)
    }))
}

/// `min` and `max` have the dimensions of `operand` or are scalars.
pub fn clamp(
    min: &ArrayLiteral,
    operand: ArrayLiteral,
    max: &ArrayLiteral,
) -> Result<ArrayLiteral> {
    check_types("clamp", min, &operand)?;
    check_types("clamp", max, &operand)?;
    let element_type = operand.element_type();
    by_family!(element_type, T,
        pred {
            choice::clamp(min, operand, max, |low: T, x: T, high: T| Pred((x.0 | low.0) & high.0))
        },
        integer {
            choice::clamp(min, operand, max, |low: T, x: T, high: T| x.max(low).min(high))
        },
        narrow {
            choice::clamp(min, operand, max, |low: T, x: T, high: T| {
                let raised = real::maximum(x.widen(), low.widen());
                <T as Element>::from_f64(real::minimum(raised, high.widen()))
            })
        },
        real {
            choice::clamp(min, operand, max, |low: T, x: T, high: T| {
                real::minimum(real::maximum(x, low), high)
            })
        },
        complex { Err(undefined("clamp", T::TYPE)) }
    )
}

/// Each element as the nearest value of another type.
pub fn convert(operand: ArrayLiteral, to: ElementType) -> Result<ArrayLiteral> {
    operand.convert(to)
}

/// The same bits seen as `shape`, whose last dimension makes up for a different width.
pub fn bitcast_convert(operand: ArrayLiteral, shape: &ArrayShape) -> Result<ArrayLiteral> {
    if operand.element_type() == shape.element_type {
        operand.with_shape(shape)
    } else {
        operand.bitcast_convert(shape)
    }
}

/// Each element rounded as if its type had that many exponent and mantissa bits.
pub fn reduce_precision(
    mut operand: ArrayLiteral,
    exponent_bits: i64,
    mantissa_bits: i64,
) -> Result<ArrayLiteral> {
    let element_type = operand.element_type();
    let (exponent, mantissa) = match (u32::try_from(exponent_bits), u32::try_from(mantissa_bits)) {
        (Ok(exponent), Ok(mantissa)) if exponent >= 1 => (exponent, mantissa),
        _ => {
            return Err(Error::invalid_argument(format!(
                "`reduce-precision` to {exponent_bits} exponent and {mantissa_bits} mantissa \
                 bits: there is at least one exponent bit and no negative number of either"
            )));
        }
    };
    macro_rules! round_bits {
        ($t:ty, $bits:ty) => {{
            let format = format_of(element_type)?;
            for value in operand.values_mut::<$t>() {
                let bits = u64::from(value.to_bits());
                let reduced = rounding::reduced(format, bits, exponent, mantissa);
                *value = <$t>::from_bits(reduced as $bits);
            }
        }};
    }
    match element_type {
        ElementType::F64 => round_bits!(f64, u64),
        ElementType::F32 => round_bits!(f32, u32),
        ElementType::F16 => round_bits!(f16, u16),
        ElementType::Bf16 => round_bits!(bf16, u16),
        ElementType::F8e5m2 => round_bits!(F8e5m2, u8),
        ElementType::F8e4m3 => round_bits!(F8e4m3, u8),
        ElementType::F8e3m4 => round_bits!(F8e3m4, u8),
        _ if element_type.is_float() => {
            // The formats differ at their ends, so these are rounded as `f32`.
            let wide = operand.convert(ElementType::F32)?;
            return reduce_precision(wide, exponent_bits, mantissa_bits)?.convert(element_type);
        }
        _ => return Err(undefined("reduce-precision", element_type)),
    }
    Ok(operand)
}

/// Conversion that rounds away from zero with a probability given by `random` bits.
pub fn stochastic_convert(
    operand: ArrayLiteral,
    random: &ArrayLiteral,
    to: ElementType,
) -> Result<ArrayLiteral> {
    let unimplemented =
        |from| Err(Error::unimplemented(format!("`stochastic-convert` from `{from}` to `{to}`")));
    macro_rules! from {
        ($float:ty, $random:ty) => {
            match to {
                ElementType::S2 => rounding::stochastic::<$float, $random, S2>(&operand, random),
                ElementType::S4 => rounding::stochastic::<$float, $random, S4>(&operand, random),
                ElementType::S8 => rounding::stochastic::<$float, $random, i8>(&operand, random),
                ElementType::S16 => rounding::stochastic::<$float, $random, i16>(&operand, random),
                ElementType::S32 => rounding::stochastic::<$float, $random, i32>(&operand, random),
                ElementType::S64 => rounding::stochastic::<$float, $random, i64>(&operand, random),
                // XLA has no others either.
                _ => unimplemented(operand.element_type()),
            }
        };
    }
    match operand.element_type() {
        ElementType::F8e5m2 => from!(F8e5m2, u8),
        ElementType::F8e4m3 => from!(F8e4m3, u8),
        ElementType::F8e4m3fn => from!(F8e4m3fn, u8),
        ElementType::F8e4m3b11fnuz => from!(F8e4m3b11fnuz, u8),
        ElementType::F8e3m4 => from!(F8e3m4, u8),
        ElementType::F8e5m2fnuz => from!(F8e5m2fnuz, u8),
        ElementType::F8e4m3fnuz => from!(F8e4m3fnuz, u8),
        ElementType::F8e8m0fnu => from!(F8e8m0fnu, u8),
        ElementType::F16 => from!(f16, u16),
        ElementType::Bf16 => from!(bf16, u16),
        ElementType::F32 => from!(f32, u32),
        ElementType::F64 => from!(f64, u64),
        from => unimplemented(from),
    }
}

fn is_finite(operand: &ArrayLiteral) -> Result<ArrayLiteral> {
    by_family!(operand.element_type(), T,
        pred { Err(undefined("is-finite", T::TYPE)) },
        integer { Err(undefined("is-finite", T::TYPE)) },
        narrow { map_to(operand, |x: T| Pred::from(x.widen().is_finite())) },
        real { map_to(operand, |x: T| Pred::from(x.is_finite())) },
        complex { Err(undefined("is-finite", T::TYPE)) }
    )
}

/// `abs`, `real` and `imag` of complex numbers.
fn complex_to_real(kind: UnaryKind, operand: &ArrayLiteral) -> Result<ArrayLiteral> {
    match (operand.element_type(), kind) {
        (ElementType::C64, UnaryKind::Abs) => {
            map_to(operand, |z: C64| complex::magnitude(z.widen()) as f32)
        }
        (ElementType::C64, UnaryKind::Real) => map_to(operand, |z: C64| z.re),
        (ElementType::C64, UnaryKind::Imag) => map_to(operand, |z: C64| z.im),
        (ElementType::C128, UnaryKind::Abs) => map_to(operand, complex::magnitude),
        (ElementType::C128, UnaryKind::Real) => map_to(operand, |z: C128| z.re),
        (ElementType::C128, UnaryKind::Imag) => map_to(operand, |z: C128| z.im),
        (element_type, kind) => Err(undefined(kind.name(), element_type)),
    }
}

/// Complex numbers from their parts.
fn compose(re: &ArrayLiteral, im: &ArrayLiteral) -> Result<ArrayLiteral> {
    match re.element_type() {
        ElementType::F32 => loops::zip_to(re, im, C64::new),
        ElementType::F64 => loops::zip_to(re, im, C128::new),
        element_type => Err(undefined("complex", element_type)),
    }
}

fn total_order(
    format: Format,
    direction: ComparisonDirection,
    lhs: &ArrayLiteral,
    rhs: &ArrayLiteral,
) -> Result<ArrayLiteral> {
    macro_rules! total {
        ($($wide:ident: $t:ty),+; $($small:ident),+) => {
            match lhs.element_type() {
                $(ElementType::$wide => {
                    let bits = |value: $t| u64::from(value.to_bits());
                    comparison::total(format, bits, direction, lhs, rhs)
                })+
                $(ElementType::$small => {
                    let bits = |value: $small| u64::from(SmallFloat::to_bits(value));
                    comparison::total(format, bits, direction, lhs, rhs)
                })+
                other => Err(undefined("compare", other)),
            }
        };
    }
    total!(
        F16: f16, Bf16: bf16, F32: f32, F64: f64;
        F8e5m2, F8e4m3, F8e4m3fn, F8e4m3b11fnuz, F8e3m4, F8e5m2fnuz, F8e4m3fnuz, F8e8m0fnu,
        F6e3m2fn, F6e2m3fn, F4e2m1fn
    )
}

fn format_of(element_type: ElementType) -> Result<Format> {
    Format::of(element_type).ok_or_else(|| undefined("reduce-precision", element_type))
}

fn check_types(op: &str, lhs: &ArrayLiteral, rhs: &ArrayLiteral) -> Result<()> {
    if lhs.element_type() == rhs.element_type() {
        return Ok(());
    }
    Err(Error::invalid_argument(format!(
        "`{op}` of `{}` and `{}`: the element types differ",
        lhs.shape(),
        rhs.shape()
    )))
}

fn undefined(op: &str, element_type: ElementType) -> Error {
    Error::invalid_argument(format!("`{op}` is not defined for element type `{element_type}`"))
}
