//! Elementwise arithmetic and comparisons.
//!
//! `f16` and `bf16` are computed in `f32` and rounded: its 24 bits are at least twice theirs and
//! two, so that sums, products, quotients and roots rounded twice are rounded as if once.

use std::fmt::Write;

use rxla_base::{Error, Result};
use rxla_kernel::{BinaryOp, ComparePredicate, Convert, Scalar, Type, UnaryOp};

use super::operand::{Ll, Operand, Suffix};
use super::{Emitter, Extremes, emit, not_expanded};

impl Emitter<'_, '_> {
    pub(super) fn unary(&mut self, op: UnaryOp, ty: Type, a: Operand) -> Result<Operand> {
        if is_small_float(ty.scalar) && !matches!(op, UnaryOp::Neg | UnaryOp::FAbs) {
            let wide = ty.with_scalar(Scalar::F32);
            let a = self.convert(Convert::Float, ty, wide, a);
            let result = self.unary(op, wide, a)?;
            return Ok(self.convert(Convert::Float, wide, ty, result));
        }
        let (ll, suffix) = (Ll(ty), Suffix(ty));
        let float = matches!(ty.scalar, Scalar::F32 | Scalar::F64);
        Ok(match op {
            UnaryOp::Neg if float => emit!(self, "fneg {ll} {a}"),
            UnaryOp::Neg if is_small_float(ty.scalar) => {
                emit!(self, "xor {ll} {a}, {}", Operand::Constant(ty, 0x8000))
            }
            UnaryOp::Neg => emit!(self, "sub {ll} {}, {a}", Operand::Constant(ty, 0)),
            UnaryOp::Not => emit!(self, "xor {ll} {a}, {}", Operand::Constant(ty, u64::MAX)),
            UnaryOp::FAbs if float => emit!(self, "call {ll} @llvm.fabs.{suffix}({ll} {a})"),
            UnaryOp::FAbs => emit!(self, "and {ll} {a}, {}", Operand::Constant(ty, 0x7fff)),
            UnaryOp::Sqrt => emit!(self, "call {ll} @llvm.sqrt.{suffix}({ll} {a})"),
            UnaryOp::Floor => emit!(self, "call {ll} @llvm.floor.{suffix}({ll} {a})"),
            UnaryOp::Ceil => emit!(self, "call {ll} @llvm.ceil.{suffix}({ll} {a})"),
            UnaryOp::Trunc => emit!(self, "call {ll} @llvm.trunc.{suffix}({ll} {a})"),
            UnaryOp::RoundEven => emit!(self, "call {ll} @llvm.roundeven.{suffix}({ll} {a})"),
            UnaryOp::PopCount if ty.scalar == Scalar::I1 => a,
            UnaryOp::PopCount => emit!(self, "call {ll} @llvm.ctpop.{suffix}({ll} {a})"),
            UnaryOp::CountLeadingZeros if ty.scalar == Scalar::I1 => self.not(ty, a),
            UnaryOp::CountLeadingZeros => {
                emit!(self, "call {ll} @llvm.ctlz.{suffix}({ll} {a}, i1 false)")
            }
            UnaryOp::Exp
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
            | UnaryOp::Logistic => return Err(not_expanded(op)),
        })
    }

    pub(super) fn binary(
        &mut self,
        op: BinaryOp,
        ty: Type,
        a: Operand,
        b: Operand,
    ) -> Result<Operand> {
        if ty.scalar == Scalar::I1 {
            return self.binary_truth(op, ty, a, b);
        }
        if is_small_float(ty.scalar) && op != BinaryOp::CopySign {
            let wide = ty.with_scalar(Scalar::F32);
            let a = self.convert(Convert::Float, ty, wide, a);
            let b = self.convert(Convert::Float, ty, wide, b);
            let result = self.binary(op, wide, a, b)?;
            return Ok(self.convert(Convert::Float, wide, ty, result));
        }
        let (ll, suffix) = (Ll(ty), Suffix(ty));
        let float = matches!(ty.scalar, Scalar::F32 | Scalar::F64);
        let width = Operand::Constant(ty, u64::from(ty.scalar.bits()));
        Ok(match op {
            BinaryOp::Add if float => emit!(self, "fadd {ll} {a}, {b}"),
            BinaryOp::Sub if float => emit!(self, "fsub {ll} {a}, {b}"),
            BinaryOp::Mul if float => emit!(self, "fmul {ll} {a}, {b}"),
            BinaryOp::Add => emit!(self, "add {ll} {a}, {b}"),
            BinaryOp::Sub => emit!(self, "sub {ll} {a}, {b}"),
            BinaryOp::Mul => emit!(self, "mul {ll} {a}, {b}"),
            BinaryOp::FDiv => emit!(self, "fdiv {ll} {a}, {b}"),
            BinaryOp::FRem => emit!(self, "frem {ll} {a}, {b}"),
            BinaryOp::FMin | BinaryOp::FMax => self.extremum(op, ty, a, b),
            BinaryOp::SDiv | BinaryOp::UDiv | BinaryOp::SRem | BinaryOp::URem => {
                self.division(op, ty, a, b)
            }
            BinaryOp::SMin => emit!(self, "call {ll} @llvm.smin.{suffix}({ll} {a}, {ll} {b})"),
            BinaryOp::SMax => emit!(self, "call {ll} @llvm.smax.{suffix}({ll} {a}, {ll} {b})"),
            BinaryOp::UMin => emit!(self, "call {ll} @llvm.umin.{suffix}({ll} {a}, {ll} {b})"),
            BinaryOp::UMax => emit!(self, "call {ll} @llvm.umax.{suffix}({ll} {a}, {ll} {b})"),
            BinaryOp::And => emit!(self, "and {ll} {a}, {b}"),
            BinaryOp::Or => emit!(self, "or {ll} {a}, {b}"),
            BinaryOp::Xor => emit!(self, "xor {ll} {a}, {b}"),
            BinaryOp::Shl | BinaryOp::LShr => {
                let name = if op == BinaryOp::Shl { "shl" } else { "lshr" };
                let fits = emit!(self, "icmp ult {ll} {b}, {width}");
                let shifted = emit!(self, "{name} {ll} {a}, {b}");
                let condition = Ll(ty.with_scalar(Scalar::I1));
                let zero = Operand::Constant(ty, 0);
                emit!(self, "select {condition} {fits}, {ll} {shifted}, {ll} {zero}")
            }
            BinaryOp::AShr => {
                let most = Operand::Constant(ty, u64::from(ty.scalar.bits() - 1));
                let by = emit!(self, "call {ll} @llvm.umin.{suffix}({ll} {b}, {ll} {most})");
                emit!(self, "ashr {ll} {a}, {by}")
            }
            BinaryOp::CopySign if float => {
                emit!(self, "call {ll} @llvm.copysign.{suffix}({ll} {a}, {ll} {b})")
            }
            BinaryOp::CopySign => {
                let magnitude = emit!(self, "and {ll} {a}, {}", Operand::Constant(ty, 0x7fff));
                let sign = emit!(self, "and {ll} {b}, {}", Operand::Constant(ty, 0x8000));
                emit!(self, "or {ll} {magnitude}, {sign}")
            }
            BinaryOp::Atan2 | BinaryOp::Pow => {
                let what = format!("{op:?} in a kernel whose maths were not expanded");
                return Err(Error::unimplemented(what));
            }
        })
    }

    /// As IEEE 754's `maximum`: zeros are ordered by their signs, and a NaN wins.
    fn extremum(&mut self, op: BinaryOp, ty: Type, a: Operand, b: Operand) -> Operand {
        match self.unit.extremes {
            Extremes::Comparisons => match (a, b) {
                // What is compared with a number becomes one or two comparisons.
                (Operand::Constant(..), _) | (_, Operand::Constant(..)) => {
                    self.compared_extremum(op, ty, a, b)
                }
                _ => self.combined_extremum(op, ty, a, b),
            },
            Extremes::Range => {
                let result = match range(op, ty) {
                    Some(range) => self.ranged_extremum(&range, ty, a, b),
                    None => self.ordered_extremum(op, ty, a, b),
                };
                // The same for scalars as for vectors: which of them an element meets is no matter.
                let (ll, truth) = (Ll(ty), Ll(ty.with_scalar(Scalar::I1)));
                let nan = emit!(self, "fcmp uno {ll} {a}, {b}");
                let sum = emit!(self, "fadd {ll} {b}, {a}");
                emit!(self, "select {truth} {nan}, {ll} {sum}, {ll} {result}")
            }
        }
    }

    fn ranged_extremum(&mut self, range: &Range, ty: Type, a: Operand, b: Operand) -> Operand {
        let (ll, Range { name, choice, lanes, rounding }) = (Ll(ty), range);
        emit!(
            self,
            "call {ll} @{name}({ll} {a}, {ll} {b}, i32 {choice}, {ll} poison, i{lanes} -1{rounding})"
        )
    }

    /// As x86 has it but that equal operands may be zeros of two signs, whose bits combined are the
    /// right zero, and change no other pair.
    fn ordered_extremum(&mut self, op: BinaryOp, ty: Type, a: Operand, b: Operand) -> Operand {
        let (ll, truth) = (Ll(ty), Ll(ty.with_scalar(Scalar::I1)));
        let (predicate, combine) = comparison(op);
        let beyond = emit!(self, "fcmp {predicate} {ll} {b}, {a}");
        let result = emit!(self, "select {truth} {beyond}, {ll} {b}, {ll} {a}");
        let bits = Ll(integers(ty));
        let [a_bits, b_bits] = [a, b].map(|x| emit!(self, "bitcast {ll} {x} to {bits}"));
        let both = emit!(self, "{combine} {bits} {a_bits}, {b_bits}");
        let both = emit!(self, "bitcast {bits} {both} to {ll}");
        let equal = emit!(self, "fcmp oeq {ll} {a}, {b}");
        emit!(self, "select {truth} {equal}, {ll} {both}, {ll} {result}")
    }

    /// For what LLVM knows one operand of. A NaN in `b` must be put back.
    fn compared_extremum(&mut self, op: BinaryOp, ty: Type, a: Operand, b: Operand) -> Operand {
        let (ll, truth) = (Ll(ty), Ll(ty.with_scalar(Scalar::I1)));
        let result = self.ordered_extremum(op, ty, a, b);
        let nan = emit!(self, "fcmp uno {ll} {b}, {}", Operand::Constant(ty, 0));
        emit!(self, "select {truth} {nan}, {ll} {b}, {ll} {result}")
    }

    /// x86 takes the second of two operands that are equal. Taken both ways round, that is the same value
    /// twice, or zeros of two signs, whose bits combined are the right zero. A NaN is the one without a sign
    /// that programs write: top-k and total orders tell signs of NaNs apart.
    fn combined_extremum(&mut self, op: BinaryOp, ty: Type, a: Operand, b: Operand) -> Operand {
        let (ll, truth) = (Ll(ty), Ll(ty.with_scalar(Scalar::I1)));
        let (predicate, combine) = comparison(op);
        let bits = Ll(integers(ty));
        let [x, y] = [(a, b), (b, a)].map(|(a, b)| {
            let beyond = emit!(self, "fcmp {predicate} {ll} {b}, {a}");
            let result = emit!(self, "select {truth} {beyond}, {ll} {b}, {ll} {a}");
            emit!(self, "bitcast {ll} {result} to {bits}")
        });
        let both = emit!(self, "{combine} {bits} {x}, {y}");
        let nan = emit!(self, "fcmp uno {ll} {a}, {b}");
        let both = emit!(self, "bitcast {bits} {both} to {ll}");
        let number = Operand::Constant(ty, quiet_nan(ty));
        emit!(self, "select {truth} {nan}, {ll} {number}, {ll} {both}")
    }

    /// Integers of one bit, where true is 1 without a sign and -1 with one.
    fn binary_truth(&mut self, op: BinaryOp, ty: Type, a: Operand, b: Operand) -> Result<Operand> {
        let ll = Ll(ty);
        Ok(match op {
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Xor => emit!(self, "xor {ll} {a}, {b}"),
            BinaryOp::Mul | BinaryOp::And | BinaryOp::SMax | BinaryOp::UMin => {
                emit!(self, "and {ll} {a}, {b}")
            }
            BinaryOp::Or | BinaryOp::SMin | BinaryOp::UMax => emit!(self, "or {ll} {a}, {b}"),
            BinaryOp::SDiv | BinaryOp::UDiv => {
                let by_zero = self.not(ty, b);
                emit!(self, "or {ll} {a}, {by_zero}")
            }
            BinaryOp::SRem | BinaryOp::URem | BinaryOp::Shl | BinaryOp::LShr => {
                let unchanged = self.not(ty, b);
                emit!(self, "and {ll} {a}, {unchanged}")
            }
            BinaryOp::AShr => a,
            BinaryOp::FDiv
            | BinaryOp::FRem
            | BinaryOp::FMin
            | BinaryOp::FMax
            | BinaryOp::CopySign
            | BinaryOp::Atan2
            | BinaryOp::Pow => {
                return Err(Error::internal(format!("{op:?} of truth values in a kernel")));
            }
        })
    }

    pub(super) fn not(&mut self, ty: Type, a: Operand) -> Operand {
        emit!(self, "xor {} {a}, {}", Ll(ty), Operand::Constant(ty, u64::MAX))
    }

    pub(super) fn fma(&mut self, ty: Type, a: Operand, b: Operand, c: Operand) -> Operand {
        let (ll, suffix) = (Ll(ty), Suffix(ty));
        if !is_small_float(ty.scalar) {
            return emit!(self, "call {ll} @llvm.fma.{suffix}({ll} {a}, {ll} {b}, {ll} {c})");
        }
        // The product is exact in f64; the sum is rounded to odd, which a second rounding to so
        // few bits does not notice.
        let wide = ty.with_scalar(Scalar::F64);
        let ll = Ll(wide);
        let [a, b, c] = [a, b, c].map(|x| self.convert(Convert::Float, ty, wide, x));
        let product = emit!(self, "fmul {ll} {a}, {b}");
        let sum = emit!(self, "fadd {ll} {product}, {c}");
        // What the sum lost, exactly (Knuth).
        let c_part = emit!(self, "fsub {ll} {sum}, {product}");
        let product_part = emit!(self, "fsub {ll} {sum}, {c_part}");
        let c_lost = emit!(self, "fsub {ll} {c}, {c_part}");
        let product_lost = emit!(self, "fsub {ll} {product}, {product_part}");
        let lost = emit!(self, "fadd {ll} {product_lost}, {c_lost}");
        let odd = self.round_to_odd(wide, sum, lost);
        self.convert(Convert::Float, wide, ty, odd)
    }

    /// Moves `rounded` to its odd neighbour on the side of `rounded + lost`, where `lost` is not
    /// zero and `rounded` is even. NaN in `lost` changes nothing.
    pub(super) fn round_to_odd(&mut self, ty: Type, rounded: Operand, lost: Operand) -> Operand {
        let bits_type = ty.with_scalar(match ty.scalar {
            Scalar::F64 => Scalar::I64,
            _ => Scalar::I32,
        });
        let (ll, integer) = (Ll(ty), Ll(bits_type));
        let truth = Ll(ty.with_scalar(Scalar::I1));
        let constant = |bits: u64| Operand::Constant(bits_type, bits);
        let zero = Operand::Constant(ty, 0);
        let bits = emit!(self, "bitcast {ll} {rounded} to {integer}");
        let inexact = emit!(self, "fcmp one {ll} {lost}, {zero}");
        let low_bit = emit!(self, "and {integer} {bits}, {}", constant(1));
        let even = emit!(self, "icmp eq {integer} {low_bit}, {}", constant(0));
        let moves = emit!(self, "and {truth} {inexact}, {even}");
        // Away from zero, where the signs agree, is one more in the bits; else one less.
        let up = emit!(self, "fcmp ogt {ll} {lost}, {zero}");
        let negative = emit!(self, "icmp slt {integer} {bits}, {}", constant(0));
        let away = emit!(self, "xor {truth} {up}, {negative}");
        let (one, minus_one) = (constant(1), constant(u64::MAX));
        let step = emit!(self, "select {truth} {away}, {integer} {one}, {integer} {minus_one}");
        let step =
            emit!(self, "select {truth} {moves}, {integer} {step}, {integer} {}", constant(0));
        let odd = emit!(self, "add {integer} {bits}, {step}");
        emit!(self, "bitcast {integer} {odd} to {ll}")
    }

    pub(super) fn compare(
        &mut self,
        predicate: ComparePredicate,
        from: Type,
        a: Operand,
        b: Operand,
    ) -> Operand {
        let (kind, name) = match predicate {
            ComparePredicate::Eq => ("icmp", "eq"),
            ComparePredicate::Ne => ("icmp", "ne"),
            ComparePredicate::Slt => ("icmp", "slt"),
            ComparePredicate::Sle => ("icmp", "sle"),
            ComparePredicate::Sgt => ("icmp", "sgt"),
            ComparePredicate::Sge => ("icmp", "sge"),
            ComparePredicate::Ult => ("icmp", "ult"),
            ComparePredicate::Ule => ("icmp", "ule"),
            ComparePredicate::Ugt => ("icmp", "ugt"),
            ComparePredicate::Uge => ("icmp", "uge"),
            ComparePredicate::FEq => ("fcmp", "oeq"),
            ComparePredicate::FNe => ("fcmp", "une"),
            ComparePredicate::FLt => ("fcmp", "olt"),
            ComparePredicate::FLe => ("fcmp", "ole"),
            ComparePredicate::FGt => ("fcmp", "ogt"),
            ComparePredicate::FGe => ("fcmp", "oge"),
        };
        if is_small_float(from.scalar) && kind == "fcmp" {
            let wide = from.with_scalar(Scalar::F32);
            let a = self.convert(Convert::Float, from, wide, a);
            let b = self.convert(Convert::Float, from, wide, b);
            return self.compare(predicate, wide, a, b);
        }
        emit!(self, "{kind} {name} {} {a}, {b}", Ll(from))
    }
}

pub(super) fn is_small_float(scalar: Scalar) -> bool {
    matches!(scalar, Scalar::F16 | Scalar::BF16)
}

/// A call of `vrange`.
struct Range {
    name: String,
    /// Which of two it gives, signs as compared.
    choice: u32,
    /// Bits of the mask.
    lanes: u16,
    rounding: &'static str,
}

/// When the second operand is beyond the first, and what bits of zeros are combined with.
fn comparison(op: BinaryOp) -> (&'static str, &'static str) {
    match op {
        BinaryOp::FMin => ("olt", "or"),
        _ => ("ogt", "and"),
    }
}

/// The bits of the NaN that programs write.
fn quiet_nan(ty: Type) -> u64 {
    match ty.scalar {
        Scalar::F64 => f64::NAN.to_bits(),
        _ => u64::from(f32::NAN.to_bits()),
    }
}

/// Integers as wide as the floats.
fn integers(ty: Type) -> Type {
    ty.with_scalar(match ty.scalar {
        Scalar::F64 => Scalar::I64,
        _ => Scalar::I32,
    })
}

/// `None` for what no register holds as it is.
fn range(op: BinaryOp, ty: Type) -> Option<Range> {
    let (suffix, width) = match ty.scalar {
        Scalar::F32 => ("ps", 32),
        Scalar::F64 => ("pd", 64),
        _ => return None,
    };
    let bits @ (128 | 256 | 512) = width * u32::from(ty.lanes) else { return None };
    let choice = match op {
        BinaryOp::FMin => 4,
        _ => 5,
    };
    Some(Range {
        name: format!("llvm.x86.avx512.mask.range.{suffix}.{bits}"),
        choice,
        lanes: ty.lanes.max(8),
        rounding: if bits == 512 { ", i32 4" } else { "" },
    })
}
