//! Powers, roots and complex numbers.

use rxla_hlo::BinaryKind::{Complex, Divide, Multiply, Power};
use rxla_hlo::UnaryKind::{Abs, Cos, Cosh, Imag, Negate, Real};
use rxla_hlo::{InstructionId, Module, Op, UnaryKind};

use crate::rewrite::NamedRule;
use crate::{rules, view};

pub(super) const RULES: &[NamedRule] = rules! {
    Binary(Power) => [power_of_zero, power_of_one, power_of_two, power_of_minus_one],
    Unary(Cos | Cosh) => [even_function_of_negated],
    Unary(Real) => [real_of_complex],
    Unary(Imag) => [imag_of_complex],
    Binary(Complex) => [complex_of_parts],
    Unary(Real | Imag) => [negate_in_real_part],
    Binary(Multiply) => [square_of_abs],
};

/// `x ^ 0 => 1`, of NaN too
fn power_of_zero(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [_, zero] = view::binary(m, i, Power)?;
    let real = !view::element_type(m, i)?.is_complex();
    (real && view::is_number(m, zero, 0.0)).then_some(())?;
    view::splat_number(m, i, 1.0)
}

/// `x ^ 1 => x`
fn power_of_one(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [x, one] = view::binary(m, i, Power)?;
    let real = !view::element_type(m, i)?.is_complex();
    (real && view::is_number(m, one, 1.0)).then_some(x)
}

/// `x ^ 2 => x * x`
fn power_of_two(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [x, two] = view::binary(m, i, Power)?;
    let real = !view::element_type(m, i)?.is_complex();
    let applies = real && view::is_number(m, two, 2.0);
    applies.then(|| view::add_same(m, i, Op::binary(Multiply), &[x, x]))
}

/// `x ^ -1 => 1 / x`, of floats
fn power_of_minus_one(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [x, minus_one] = view::binary(m, i, Power)?;
    (view::element_type(m, i)?.is_float() && view::is_number(m, minus_one, -1.0)).then_some(())?;
    let one = view::splat_number(m, i, 1.0)?;
    Some(view::add_same(m, i, Op::binary(Divide), &[one, x]))
}

/// `cos(-x) => cos(x)`, `cosh(-x) => cosh(x)`, and of `abs(x)`
fn even_function_of_negated(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (Cos | Cosh, inner) = view::any_unary(m, i)? else { return None };
    let (Negate | Abs, x) = view::any_unary(m, inner)? else { return None };
    let op = m[i].op.clone();
    (view::element_type(m, x)?.is_float()).then(|| view::add_same(m, i, op, &[x]))
}

fn part(m: &Module, i: InstructionId, kind: UnaryKind, index: usize) -> Option<InstructionId> {
    let number = view::unary(m, i, kind)?;
    Some(view::binary(m, number, Complex)?[index])
}

/// `real(complex(x, y)) => x`
fn real_of_complex(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    part(m, i, Real, 0)
}

/// `imag(complex(x, y)) => y`
fn imag_of_complex(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    part(m, i, Imag, 1)
}

/// `complex(real(z), imag(z)) => z`
fn complex_of_parts(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [x, y] = view::binary(m, i, Complex)?;
    let (z, other) = (view::unary(m, x, Real)?, view::unary(m, y, Imag)?);
    (z == other && view::same_shape(m, z, i)).then_some(z)
}

/// `real(-z) => -real(z)`, and `imag`
fn negate_in_real_part(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (kind @ (Real | Imag), negated) = view::any_unary(m, i)? else { return None };
    let z = view::unary(m, negated, Negate)?;
    view::element_type(m, z)?.is_complex().then_some(())?;
    let part = view::add_same(m, i, Op::unary(kind), &[z]);
    Some(view::add_same(m, i, Op::unary(Negate), &[part]))
}

/// `abs(x) * abs(x) => x * x`, of integers and floats
fn square_of_abs(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [a, b] = view::binary(m, i, Multiply)?;
    let x = view::unary(m, a, Abs)?;
    (a == b && view::same_shape(m, x, i))
        .then(|| view::add_same(m, i, Op::binary(Multiply), &[x, x]))
}
