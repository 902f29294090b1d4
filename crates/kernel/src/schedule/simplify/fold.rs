//! What an operation comes to, given what its operands are known to be.

use crate::evaluate::scalar;
use crate::ir::{BinaryOp, Convert, Op, UnaryOp, Value};
use crate::types::{Scalar, Type};

/// What is known about values.
pub(super) trait Known {
    fn ty(&self, value: Value) -> Type;

    /// The bits of all lanes, if they are equal constants.
    fn constant(&self, value: Value) -> Option<u64>;

    /// The operation that made it.
    fn definition(&self, value: Value) -> Option<&Op>;
}

/// What stands for an operation.
#[derive(Debug, PartialEq)]
pub(super) enum Folded {
    /// Itself.
    No,
    Value(Value),
    /// All lanes hold these bits.
    Constant(u64),
    /// Another operation.
    Op(Op),
    /// An operation with a constant of the result's type as its second operand.
    WithConstant(BinaryOp, Value, u64),
    /// A value times a constant plus another.
    Linear(Value, u64, u64),
    /// The same for addresses, with a distance.
    Offset(Value, u64),
}

pub(super) fn fold(known: &impl Known, ty: Type, op: &Op) -> Folded {
    if let Some(bits) = constant_result(known, ty, op) {
        return Folded::Constant(bits);
    }
    match op {
        Op::Unary(op @ (UnaryOp::Neg | UnaryOp::Not), a) => match known.definition(*a) {
            Some(Op::Unary(inner, original)) if inner == op => Folded::Value(*original),
            _ => Folded::No,
        },
        Op::Binary(op, a, b) if ty.scalar.is_float() => float(known, ty, *op, *a, *b),
        Op::Binary(op, a, b) => integer(known, ty, *op, *a, *b),
        Op::Select(condition, a, b) => match known.constant(*condition) {
            Some(0) => Folded::Value(*b),
            Some(_) => Folded::Value(*a),
            None if a == b => Folded::Value(*a),
            None if ty.scalar == Scalar::I1
                && (known.constant(*a), known.constant(*b)) == (Some(1), Some(0)) =>
            {
                Folded::Value(*condition)
            }
            None => Folded::No,
        },
        Op::Convert(convert, a) => {
            let Some(Op::Convert(first, original)) = known.definition(*a) else {
                return Folded::No;
            };
            let undone = match (first, convert) {
                (Convert::ZeroExtend | Convert::SignExtend, Convert::Truncate)
                | (Convert::Bitcast, Convert::Bitcast) => known.ty(*original) == ty,
                _ => false,
            };
            if undone { Folded::Value(*original) } else { Folded::No }
        }
        Op::Extract(a, _) => match known.definition(*a) {
            Some(Op::Splat(scalar)) => Folded::Value(*scalar),
            _ => Folded::No,
        },
        Op::Offset { base, bytes } => match (known.constant(*bytes), known.definition(*base)) {
            (Some(0), _) => Folded::Value(*base),
            (Some(more), Some(Op::Offset { base, bytes })) => match known.constant(*bytes) {
                Some(first) => Folded::Offset(*base, first.wrapping_add(more)),
                None => Folded::No,
            },
            (Some(_) | None, _) => Folded::No,
        },
        Op::Load { base, index, mask: Some(mask) } => match known.constant(*mask) {
            Some(0) => Folded::Constant(0),
            Some(_) => Folded::Op(Op::Load { base: *base, index: *index, mask: None }),
            None => Folded::No,
        },
        Op::Constant { .. }
        | Op::Unary(..)
        | Op::Fma(..)
        | Op::Compare(..)
        | Op::Splat(_)
        | Op::LaneIndex
        | Op::Reduce(..)
        | Op::Shuffle(..)
        | Op::Load { .. }
        | Op::Alloca { .. } => Folded::No,
    }
}

/// The bits of each lane, if the operands are constants.
fn constant_result(known: &impl Known, ty: Type, op: &Op) -> Option<u64> {
    let constant = |value: &Value| known.constant(*value);
    let bits = match op {
        Op::Unary(op, _) if op.is_maths() => return None,
        Op::Binary(op, ..) if op.is_maths() => return None,
        Op::Unary(op, a) => scalar::unary(*op, ty.scalar, constant(a)?),
        Op::Binary(op, a, b) => scalar::binary(*op, ty.scalar, constant(a)?, constant(b)?),
        Op::Fma(a, b, c) => scalar::fma(ty.scalar, [constant(a)?, constant(b)?, constant(c)?]),
        Op::Compare(predicate, a, b) => {
            let compared = known.ty(*a).scalar;
            scalar::compare(*predicate, compared, constant(a)?, constant(b)?).into()
        }
        Op::Convert(op, a) => scalar::convert(*op, known.ty(*a).scalar, ty.scalar, constant(a)?),
        Op::Splat(a) | Op::Extract(a, _) => constant(a)?,
        Op::Shuffle(a, b, _) if constant(a)? == constant(b)? => constant(a)?,
        Op::Shuffle(..)
        | Op::Constant { .. }
        | Op::Select(..)
        | Op::LaneIndex
        | Op::Reduce(..)
        | Op::Load { .. }
        | Op::Offset { .. }
        | Op::Alloca { .. } => return None,
    };
    // Which NaN a machine makes is its own affair.
    let is_nan = ty.scalar.is_float()
        && crate::evaluate::float::to_f64(ty.scalar, bits).is_nan()
        && !matches!(op, Op::Splat(_) | Op::Extract(..) | Op::Shuffle(..));
    (!is_nan).then_some(bits)
}

fn float(known: &impl Known, ty: Type, op: BinaryOp, a: Value, b: Value) -> Folded {
    let float = |value| {
        let bits = known.constant(value)?;
        Some(crate::evaluate::float::to_f64(ty.scalar, bits))
    };
    let is =
        |value: Value, wanted: f64| float(value).is_some_and(|x| x.to_bits() == wanted.to_bits());
    match op {
        // x + +0 is not x for -0.
        BinaryOp::Add if is(b, -0.0) => Folded::Value(a),
        BinaryOp::Add if is(a, -0.0) => Folded::Value(b),
        BinaryOp::Sub if is(b, 0.0) => Folded::Value(a),
        BinaryOp::Mul | BinaryOp::FDiv if is(b, 1.0) => Folded::Value(a),
        BinaryOp::Mul if is(a, 1.0) => Folded::Value(b),
        BinaryOp::FMin | BinaryOp::FMax if a == b => Folded::Value(a),
        BinaryOp::FMin if is(b, f64::INFINITY) => Folded::Value(a),
        BinaryOp::FMin if is(a, f64::INFINITY) => Folded::Value(b),
        BinaryOp::FMax if is(b, f64::NEG_INFINITY) => Folded::Value(a),
        BinaryOp::FMax if is(a, f64::NEG_INFINITY) => Folded::Value(b),
        _ => Folded::No,
    }
}

fn integer(known: &impl Known, ty: Type, op: BinaryOp, a: Value, b: Value) -> Folded {
    let ones = scalar::mask(ty.scalar);
    let (constant_a, constant_b) = (known.constant(a), known.constant(b));
    if a == b {
        match op {
            BinaryOp::Sub | BinaryOp::Xor => return Folded::Constant(0),
            BinaryOp::And
            | BinaryOp::Or
            | BinaryOp::SMin
            | BinaryOp::SMax
            | BinaryOp::UMin
            | BinaryOp::UMax => return Folded::Value(a),
            _ => {}
        }
    }
    let commutes =
        matches!(op, BinaryOp::Add | BinaryOp::Mul | BinaryOp::And | BinaryOp::Or | BinaryOp::Xor);
    if let (Some(_), None, true) = (constant_a, constant_b, commutes) {
        // Constants stand on the right.
        return match integer(known, ty, op, b, a) {
            Folded::No => Folded::Op(Op::Binary(op, b, a)),
            folded => folded,
        };
    }
    let Some(constant) = constant_b else { return Folded::No };
    match (op, constant) {
        (
            BinaryOp::Add
            | BinaryOp::Sub
            | BinaryOp::Or
            | BinaryOp::Xor
            | BinaryOp::Shl
            | BinaryOp::LShr
            | BinaryOp::AShr,
            0,
        )
        | (BinaryOp::Mul | BinaryOp::UDiv, 1) => return Folded::Value(a),
        // As a number of one bit, 1 is -1 to signed division, and -1 divided by it is -1.
        (BinaryOp::SDiv, 1) if ty.scalar != Scalar::I1 => return Folded::Value(a),
        (BinaryOp::Mul | BinaryOp::And, 0) | (BinaryOp::URem, 1) => return Folded::Constant(0),
        (BinaryOp::And, all) if all == ones => return Folded::Value(a),
        (BinaryOp::Or, all) if all == ones => return Folded::Constant(ones),
        (BinaryOp::Sub, _) => {
            // Differences are sums, so that sums of sums come together.
            return integer_sum(known, ty, a, constant.wrapping_neg() & ones)
                .unwrap_or(Folded::WithConstant(BinaryOp::Add, a, constant.wrapping_neg() & ones));
        }
        _ => {}
    }
    match op {
        BinaryOp::Add => integer_sum(known, ty, a, constant).unwrap_or(Folded::No),
        BinaryOp::Mul => match known.definition(a) {
            Some(Op::Binary(BinaryOp::Mul, x, first)) => match known.constant(*first) {
                Some(first) => {
                    Folded::WithConstant(BinaryOp::Mul, *x, first.wrapping_mul(constant) & ones)
                }
                None => Folded::No,
            },
            // Rows some way apart are the same product, and a distance that costs an address nothing.
            Some(Op::Binary(BinaryOp::Add, x, first)) if ty == Type::I64 => {
                match known.constant(*first) {
                    Some(first) => Folded::Linear(*x, constant, first.wrapping_mul(constant)),
                    None => Folded::No,
                }
            }
            _ => Folded::No,
        },
        _ => Folded::No,
    }
}

/// `(x + first) + more` as one sum.
fn integer_sum(known: &impl Known, ty: Type, a: Value, more: u64) -> Option<Folded> {
    let Some(Op::Binary(BinaryOp::Add, x, first)) = known.definition(a) else { return None };
    let sum = known.constant(*first)?.wrapping_add(more) & scalar::mask(ty.scalar);
    Some(if sum == 0 { Folded::Value(*x) } else { Folded::WithConstant(BinaryOp::Add, *x, sum) })
}
