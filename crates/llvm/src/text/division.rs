//! Integer division, made total.
//!
//! Vectors of up to 32 bits divide as floats of enough bits, because no CPU divides integers in
//! lanes: the quotient of integers below 2^n lies at least 2^-n (relatively) away from the next
//! integer unless it is one, so that rounding to more than n bits does not cross it.

use std::fmt::Write;

use rxla_kernel::{BinaryOp, Scalar, Type};

use super::operand::{Ll, Operand};
use super::{Emitter, emit};

impl Emitter<'_, '_> {
    pub(super) fn division(&mut self, op: BinaryOp, ty: Type, a: Operand, b: Operand) -> Operand {
        let signed = matches!(op, BinaryOp::SDiv | BinaryOp::SRem);
        let remainder = matches!(op, BinaryOp::SRem | BinaryOp::URem);
        let ll = Ll(ty);
        let instruction = match (signed, remainder) {
            (true, false) => "sdiv",
            (true, true) => "srem",
            (false, false) => "udiv",
            (false, true) => "urem",
        };
        let ones = u64::MAX >> (64 - ty.scalar.bits());
        if let Operand::Constant(_, bits) = b
            && bits & ones != 0
            && !(signed && bits & ones == ones)
        {
            return emit!(self, "{instruction} {ll} {a}, {b}");
        }
        let truth = Ll(ty.with_scalar(Scalar::I1));
        let constant = |bits: u64| Operand::Constant(ty, bits);
        let by_zero = emit!(self, "icmp eq {ll} {b}, {}", constant(0));
        // What would trap divides by one, which is right for the least value by -1.
        let mut traps = by_zero;
        if signed {
            let least = constant(1 << (ty.scalar.bits() - 1));
            let is_least = emit!(self, "icmp eq {ll} {a}, {least}");
            let by_minus_one = emit!(self, "icmp eq {ll} {b}, {}", constant(ones));
            let overflow = emit!(self, "and {truth} {is_least}, {by_minus_one}");
            traps = emit!(self, "or {truth} {by_zero}, {overflow}");
        }
        let divisor = emit!(self, "select {truth} {traps}, {ll} {}, {ll} {b}", constant(1));
        let result = match vector_float(ty) {
            Some(float) => {
                let float = ty.with_scalar(float);
                let quotient = self.divide_as_float(signed, ty, float, a, divisor);
                if remainder {
                    let product = emit!(self, "mul {ll} {quotient}, {divisor}");
                    emit!(self, "sub {ll} {a}, {product}")
                } else {
                    quotient
                }
            }
            None => emit!(self, "{instruction} {ll} {a}, {divisor}"),
        };
        let for_zero = if remainder { a } else { constant(ones) };
        emit!(self, "select {truth} {by_zero}, {ll} {for_zero}, {ll} {result}")
    }

    fn divide_as_float(
        &mut self,
        signed: bool,
        ty: Type,
        float: Type,
        a: Operand,
        b: Operand,
    ) -> Operand {
        let sign = if signed { 's' } else { 'u' };
        let (ll, wide) = (Ll(ty), Ll(float));
        let a = emit!(self, "{sign}itofp {ll} {a} to {wide}");
        let b = emit!(self, "{sign}itofp {ll} {b} to {wide}");
        let quotient = emit!(self, "fdiv {wide} {a}, {b}");
        emit!(self, "fpto{sign}i {wide} {quotient} to {ll}")
    }
}

/// The float to divide vectors of integers in, where there is one.
fn vector_float(ty: Type) -> Option<Scalar> {
    match ty.scalar {
        Scalar::I8 | Scalar::I16 if ty.is_vector() => Some(Scalar::F32),
        Scalar::I32 if ty.is_vector() => Some(Scalar::F64),
        _ => None,
    }
}
