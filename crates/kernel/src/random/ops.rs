//! Random operations on values at hand.

use super::Maths;
use super::source::Source;
use crate::builder::Builder;
use crate::ir::{BinaryOp, ComparePredicate, Convert, Op, UnaryOp, Value};
use crate::types::{Scalar, Type};
use crate::verify::op::{binary_takes, is_float_comparison, unary_takes};

/// The types that operations compute on.
pub(super) const SCALARS: [Scalar; 9] = [
    Scalar::I1,
    Scalar::I8,
    Scalar::I16,
    Scalar::I32,
    Scalar::I64,
    Scalar::F16,
    Scalar::BF16,
    Scalar::F32,
    Scalar::F64,
];

/// A value of type `ty`, made from values that `operand` gives by type.
pub(super) fn elementwise(
    source: &mut Source,
    maths: Maths,
    b: &mut Builder,
    ty: Type,
    mut operand: impl FnMut(&mut Source, &mut Builder, Type) -> Value,
) -> Value {
    let scalar = ty.scalar;
    match source.below(8) {
        0 => {
            let allowed: Vec<UnaryOp> = UnaryOp::ALL
                .iter()
                .copied()
                .filter(|op| unary_takes(*op, scalar) && (maths == Maths::With || !op.is_maths()))
                .collect();
            let a = operand(source, b, ty);
            b.unary(source.pick(&allowed), a)
        }
        1..=3 => {
            let allowed: Vec<BinaryOp> = BinaryOp::ALL
                .iter()
                .copied()
                .filter(|op| binary_takes(*op, scalar) && (maths == Maths::With || !op.is_maths()))
                .collect();
            let (a, mut c) = (operand(source, b, ty), operand(source, b, ty));
            let op = source.pick(&allowed);
            if op == BinaryOp::CopySign {
                c = without_nan(b, ty, c);
            }
            b.binary(op, a, c)
        }
        4 if scalar.is_float() => {
            let [x, y, z] = [(); 3].map(|()| operand(source, b, ty));
            b.fma(x, y, z)
        }
        4 | 5 => {
            let compared = Type { scalar: source.pick(&SCALARS), lanes: ty.lanes };
            let (x, y) = (operand(source, b, compared), operand(source, b, compared));
            let condition = compare(source, b, x, y);
            if scalar == Scalar::I1 {
                return condition;
            }
            let (x, y) = (operand(source, b, ty), operand(source, b, ty));
            b.select(condition, x, y)
        }
        _ => {
            let from = source.pick(&SCALARS);
            let Some(convert) = conversion(source, from, scalar) else {
                return operand(source, b, ty);
            };
            let a = operand(source, b, ty.with_scalar(from));
            b.op(ty, Op::Convert(convert, a))
        }
    }
}

pub(super) fn compare(source: &mut Source, b: &mut Builder, x: Value, y: Value) -> Value {
    let float = b.ty(x).scalar.is_float();
    let allowed: Vec<ComparePredicate> = ComparePredicate::ALL
        .iter()
        .copied()
        .filter(|predicate| is_float_comparison(*predicate) == float)
        .collect();
    b.compare(source.pick(&allowed), x, y)
}

/// A conversion between two types; none that shows a NaN's bits.
fn conversion(source: &mut Source, from: Scalar, to: Scalar) -> Option<Convert> {
    let allowed: Vec<Convert> = Convert::ALL
        .iter()
        .copied()
        .filter(|convert| convert.accepts(from, to))
        .filter(|convert| *convert != Convert::Bitcast || !from.is_float())
        .collect();
    if allowed.is_empty() { None } else { Some(source.pick(&allowed)) }
}

/// The value, or 1 where it is NaN.
fn without_nan(b: &mut Builder, ty: Type, value: Value) -> Value {
    let one = b.constant(ty, crate::evaluate::float::from_f64(ty.scalar, 1.0));
    let is_number = b.compare(ComparePredicate::FEq, value, value);
    b.select(is_number, value, one)
}
