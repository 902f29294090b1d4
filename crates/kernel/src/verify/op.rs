//! What holds for each operation.

use super::Verifier;
use crate::ir::{BinaryOp, ComparePredicate, Op, UnaryOp, Value};
use crate::types::{Scalar, Type};

impl Verifier<'_> {
    pub(super) fn op(&mut self, result: Value, op: &Op) {
        let ty = self.ty(result);
        match op {
            Op::Constant { bits } => {
                if ty.scalar.bits() < 64 && bits >> ty.scalar.bits() != 0 {
                    self.error(format!("{bits:#x} has more bits than {}", ty.scalar.name()));
                }
            }
            Op::Unary(unary, a) => {
                self.expect_type("the operand", *a, ty);
                self.expect(unary_takes(*unary, ty.scalar), unary.name(), ty);
            }
            Op::Binary(binary, a, b) => {
                self.expect_type("the first operand", *a, ty);
                self.expect_type("the second operand", *b, ty);
                self.expect(binary_takes(*binary, ty.scalar), binary.name(), ty);
            }
            Op::Fma(a, b, c) => {
                [a, b, c].into_iter().for_each(|&value| self.expect_type("an operand", value, ty));
                self.expect(ty.scalar.is_float(), "fma", ty);
            }
            Op::Compare(predicate, a, b) => {
                let compared = self.ty(*a);
                self.expect_type("the second operand", *b, compared);
                self.expect_type("the result", result, compared.with_scalar(Scalar::I1));
                let takes = is_float_comparison(*predicate) == compared.scalar.is_float();
                self.expect(takes, predicate.name(), compared);
            }
            Op::Select(condition, a, b) => {
                self.expect_type("the condition", *condition, ty.with_scalar(Scalar::I1));
                self.expect_type("the second operand", *a, ty);
                self.expect_type("the third operand", *b, ty);
            }
            Op::Convert(convert, a) => {
                let from = self.ty(*a);
                if from.lanes != ty.lanes || !convert.accepts(from.scalar, ty.scalar) {
                    self.error(format!("`{}` does not lead from {from} to {ty}", convert.name()));
                }
            }
            Op::Splat(a) => {
                self.expect_type("the operand", *a, ty.scalar.into());
                self.expect(ty.is_vector(), "splat", ty);
            }
            Op::LaneIndex => self.expect(ty.scalar.is_integer(), "lane_index", ty),
            Op::Extract(a, lane) => {
                let from = self.ty(*a);
                self.expect_type("the result", result, from.scalar.into());
                if *lane >= from.lanes {
                    self.error(format!("{from} has no lane {lane}"));
                }
            }
            Op::Reduce(binary, a) => {
                let from = self.ty(*a);
                self.expect_type("the result", result, from.scalar.into());
                let takes = binary.is_reducer() && binary_takes(*binary, ty.scalar);
                self.expect(takes, &format!("reduce {}", binary.name()), from);
            }
            Op::Shuffle(a, b, lanes) => {
                let from = self.ty(*a);
                self.expect_type("the second operand", *b, from);
                if lanes.len() != usize::from(ty.lanes) || from.scalar != ty.scalar {
                    self.error(format!("{} lanes of {from} do not make {ty}", lanes.len()));
                }
                let count = u32::from(from.lanes) * 2;
                if let Some(lane) = lanes.iter().find(|&&lane| u32::from(lane) >= count) {
                    self.error(format!("two {from} have no lane {lane}"));
                }
            }
            Op::Load { base, index, mask } => self.access(*base, *index, ty, *mask),
            Op::Offset { base, bytes } => {
                self.expect_type("the base", *base, Type::PTR);
                self.expect_type("the distance", *bytes, Type::I64);
                self.expect_type("the result", result, Type::PTR);
            }
            Op::Alloca { bytes: _, align } => {
                self.expect_type("the result", result, Type::PTR);
                if !align.is_power_of_two() {
                    self.error(format!("{align} is no alignment"));
                }
            }
        }
    }

    fn expect(&mut self, takes: bool, name: &str, ty: Type) {
        if !takes {
            self.error(format!("`{name}` is not defined for {ty}"));
        }
    }
}

/// Whether an operation is defined for values of a type.
pub fn unary_takes(op: UnaryOp, scalar: Scalar) -> bool {
    match op {
        UnaryOp::Neg => scalar != Scalar::Ptr,
        UnaryOp::Not | UnaryOp::PopCount | UnaryOp::CountLeadingZeros => scalar.is_integer(),
        UnaryOp::FAbs
        | UnaryOp::Sqrt
        | UnaryOp::Floor
        | UnaryOp::Ceil
        | UnaryOp::Trunc
        | UnaryOp::RoundEven
        | UnaryOp::Exp
        | UnaryOp::Exp2
        | UnaryOp::Expm1
        | UnaryOp::Log
        | UnaryOp::Log2
        | UnaryOp::Log1p
        | UnaryOp::Sin
        | UnaryOp::Cos
        | UnaryOp::Tan
        | UnaryOp::Asin
        | UnaryOp::Acos
        | UnaryOp::Atan
        | UnaryOp::Sinh
        | UnaryOp::Cosh
        | UnaryOp::Tanh
        | UnaryOp::Asinh
        | UnaryOp::Acosh
        | UnaryOp::Atanh
        | UnaryOp::Erf
        | UnaryOp::Erfc
        | UnaryOp::Cbrt
        | UnaryOp::Rsqrt
        | UnaryOp::Logistic => scalar.is_float(),
    }
}

/// Whether an operation is defined for values of a type.
pub fn binary_takes(op: BinaryOp, scalar: Scalar) -> bool {
    match op {
        BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul => scalar != Scalar::Ptr,
        BinaryOp::FDiv
        | BinaryOp::FRem
        | BinaryOp::FMin
        | BinaryOp::FMax
        | BinaryOp::CopySign
        | BinaryOp::Atan2
        | BinaryOp::Pow => scalar.is_float(),
        BinaryOp::SDiv
        | BinaryOp::UDiv
        | BinaryOp::SRem
        | BinaryOp::URem
        | BinaryOp::SMin
        | BinaryOp::SMax
        | BinaryOp::UMin
        | BinaryOp::UMax
        | BinaryOp::And
        | BinaryOp::Or
        | BinaryOp::Xor
        | BinaryOp::Shl
        | BinaryOp::LShr
        | BinaryOp::AShr => scalar.is_integer(),
    }
}

/// Whether it compares floats; the others compare integers and addresses.
pub fn is_float_comparison(predicate: ComparePredicate) -> bool {
    predicate >= ComparePredicate::FEq
}
