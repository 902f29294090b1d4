//! Conversions.

use std::fmt::Write;

use rxla_kernel::{Convert, Scalar, Type};

use super::arithmetic::is_small_float;
use super::operand::{Ll, Operand, Suffix, scalar_name};
use super::{Bf16, Emitter, emit, emit_void};

impl Emitter<'_, '_> {
    pub(super) fn convert(
        &mut self,
        convert: Convert,
        from: Type,
        to: Type,
        a: Operand,
    ) -> Operand {
        let (source, target) = (Ll(from), Ll(to));
        match convert {
            Convert::Truncate => emit!(self, "trunc {source} {a} to {target}"),
            Convert::ZeroExtend => emit!(self, "zext {source} {a} to {target}"),
            Convert::SignExtend => emit!(self, "sext {source} {a} to {target}"),
            Convert::SignedToFloat => self.integer_to_float('s', from, to, a),
            Convert::UnsignedToFloat => self.integer_to_float('u', from, to, a),
            Convert::FloatToSigned => self.float_to_integer('s', from, to, a),
            Convert::FloatToUnsigned => self.float_to_integer('u', from, to, a),
            Convert::Float => self.float_to_float(from, to, a),
            Convert::Bitcast => self.bitcast(from, to, a),
        }
    }

    fn bitcast(&mut self, from: Type, to: Type, a: Operand) -> Operand {
        if let Operand::Constant(_, bits) = a {
            return Operand::Constant(to, bits);
        }
        match (from.scalar, to.scalar) {
            (Scalar::Ptr, Scalar::F64) | (Scalar::F64, Scalar::Ptr) => {
                let integer = from.with_scalar(Scalar::I64);
                let a = self.bitcast(from, integer, a);
                self.bitcast(integer, to, a)
            }
            (Scalar::Ptr, _) => emit!(self, "ptrtoint {} {a} to {}", Ll(from), Ll(to)),
            (_, Scalar::Ptr) => emit!(self, "inttoptr {} {a} to {}", Ll(from), Ll(to)),
            (x, y) if scalar_name(x) == scalar_name(y) => a,
            _ => emit!(self, "bitcast {} {a} to {}", Ll(from), Ll(to)),
        }
    }

    fn integer_to_float(&mut self, sign: char, from: Type, to: Type, a: Operand) -> Operand {
        let through = match (from.scalar, to.scalar) {
            (_, Scalar::F32 | Scalar::F64) => {
                return emit!(self, "{sign}itofp {} {a} to {}", Ll(from), Ll(to));
            }
            // Exact in f32, or beyond all f16.
            (_, Scalar::F16) | (Scalar::I1 | Scalar::I8 | Scalar::I16, _) => Scalar::F32,
            (_, _) => Scalar::F64,
        };
        let a = match from.scalar {
            Scalar::I64 if through == Scalar::F64 => self.squeeze(sign, from, a),
            _ => a,
        };
        let wide = to.with_scalar(through);
        let a = emit!(self, "{sign}itofp {} {a} to {}", Ll(from), Ll(wide));
        self.float_to_float(wide, to, a)
    }

    /// An i64 that an f64 holds, and that rounds to few bits as `a` does: large ones are rounded
    /// to odd multiples of 2^11.
    fn squeeze(&mut self, sign: char, ty: Type, a: Operand) -> Operand {
        let (ll, truth) = (Ll(ty), Ll(ty.with_scalar(Scalar::I1)));
        let suffix = Suffix(ty);
        let constant = |bits: u64| Operand::Constant(ty, bits);
        let low = emit!(self, "and {ll} {a}, {}", constant(0x7ff));
        let sticky = emit!(self, "add {ll} {low}, {}", constant(0x7ff));
        let sticky = emit!(self, "and {ll} {sticky}, {}", constant(0x800));
        let high = emit!(self, "and {ll} {a}, {}", constant(!0x7ff));
        let odd = emit!(self, "or {ll} {high}, {sticky}");
        let magnitude = if sign == 's' {
            emit!(self, "call {ll} @llvm.abs.{suffix}({ll} {a}, i1 false)")
        } else {
            a
        };
        let small = emit!(self, "icmp ult {ll} {magnitude}, {}", constant(1 << 53));
        emit!(self, "select {truth} {small}, {ll} {a}, {ll} {odd}")
    }

    fn float_to_integer(&mut self, sign: char, from: Type, to: Type, a: Operand) -> Operand {
        if is_small_float(from.scalar) {
            let wide = from.with_scalar(Scalar::F32);
            let a = self.float_to_float(from, wide, a);
            return self.float_to_integer(sign, wide, to, a);
        }
        if to.scalar == Scalar::I1 {
            let one = match from.scalar {
                Scalar::F64 => 1f64.to_bits(),
                _ => u64::from(1f32.to_bits()),
            };
            let minus_one = match from.scalar {
                Scalar::F64 => (-1f64).to_bits(),
                _ => u64::from((-1f32).to_bits()),
            };
            let (predicate, bits) = if sign == 's' { ("ole", minus_one) } else { ("oge", one) };
            let bound = Operand::Constant(from, bits);
            return emit!(self, "fcmp {predicate} {} {a}, {bound}", Ll(from));
        }
        if to.is_vector() {
            return self.float_to_integer_lanes(sign, from, to, a);
        }
        let (source, target) = (Ll(from), Ll(to));
        let (to, from) = (Suffix(to), Suffix(from));
        emit!(self, "call {target} @llvm.fpto{sign}i.sat.{to}.{from}({source} {a})")
    }

    /// LLVM takes the saturating conversion apart into lanes. A plain conversion gives poison in
    /// lanes out of range, which are not selected.
    fn float_to_integer_lanes(&mut self, sign: char, from: Type, to: Type, a: Operand) -> Operand {
        let (source, truth) = (Ll(from), Ll(from.with_scalar(Scalar::I1)));
        let bits = to.scalar.bits();
        // Exact in both floats. No instruction converts to narrow integers.
        let (low, high) = match sign {
            's' => (-(2f64.powi(bits as i32 - 1)), 2f64.powi(bits as i32 - 1)),
            _ => (0.0, 2f64.powi(bits as i32)),
        };
        let bound = |value: f64| match from.scalar {
            Scalar::F64 => Operand::Constant(from, value.to_bits()),
            _ => Operand::Constant(from, u64::from((value as f32).to_bits())),
        };
        let ones = u64::MAX >> (64 - bits);
        let (least, most) = match sign {
            's' => (1 << (bits - 1), ones >> 1),
            _ => (0, ones),
        };
        let target = Ll(to);
        let through = to.with_scalar(to.scalar.max(Scalar::I32));
        // Narrow targets fit into the i32 that the conversion gives, with or without a sign.
        let conversion = if bits < 32 { 's' } else { sign };
        let mut result = emit!(self, "fpto{conversion}i {source} {a} to {}", Ll(through));
        if through != to {
            result = emit!(self, "trunc {} {result} to {target}", Ll(through));
        }
        let above = emit!(self, "fcmp oge {source} {a}, {}", bound(high));
        let most = Operand::Constant(to, most);
        let result = emit!(self, "select {truth} {above}, {target} {most}, {target} {result}");
        if sign == 'u' {
            // Zero for NaN too.
            let below = emit!(self, "fcmp ule {source} {a}, {}", bound(low));
            let zero = Operand::Constant(to, 0);
            return emit!(self, "select {truth} {below}, {target} {zero}, {target} {result}");
        }
        let below = emit!(self, "fcmp olt {source} {a}, {}", bound(low));
        let least = Operand::Constant(to, least);
        let result = emit!(self, "select {truth} {below}, {target} {least}, {target} {result}");
        let nan = emit!(self, "fcmp uno {source} {a}, {}", bound(0.0));
        let zero = Operand::Constant(to, 0);
        emit!(self, "select {truth} {nan}, {target} {zero}, {target} {result}")
    }

    fn float_to_float(&mut self, from: Type, to: Type, a: Operand) -> Operand {
        let single = from.with_scalar(Scalar::F32);
        match (from.scalar, to.scalar) {
            (Scalar::F32, Scalar::F64) => emit!(self, "fpext {} {a} to {}", Ll(from), Ll(to)),
            (Scalar::F64, Scalar::F32) => emit!(self, "fptrunc {} {a} to {}", Ll(from), Ll(to)),
            (Scalar::F64, _) => {
                let a = self.single_rounded_to_odd(from, a);
                self.float_to_float(single, to, a)
            }
            (Scalar::F16, Scalar::F32) => {
                let half = Half(from);
                let a = emit!(self, "bitcast {} {a} to {half}", Ll(from));
                emit!(self, "fpext {half} {a} to {}", Ll(to))
            }
            (Scalar::F32, Scalar::F16) => {
                let half = Half(to);
                let a = emit!(self, "fptrunc {} {a} to {half}", Ll(from));
                emit!(self, "bitcast {half} {a} to {}", Ll(to))
            }
            (Scalar::BF16, Scalar::F32) => {
                let bits = from.with_scalar(Scalar::I32);
                let a = emit!(self, "zext {} {a} to {}", Ll(from), Ll(bits));
                let a = emit!(self, "shl {} {a}, {}", Ll(bits), Operand::Constant(bits, 16));
                emit!(self, "bitcast {} {a} to {}", Ll(bits), Ll(to))
            }
            (Scalar::F32, Scalar::BF16) => self.single_to_bf16(from, to, a),
            // Between small floats, and from small ones to f64: f32 holds them all.
            (_, _) => {
                let a = self.float_to_float(from, single, a);
                self.float_to_float(single, to, a)
            }
        }
    }

    /// To f32, but rounded to odd, which a second rounding to fewer bits does not notice.
    fn single_rounded_to_odd(&mut self, from: Type, a: Operand) -> Operand {
        let single = from.with_scalar(Scalar::F32);
        let rounded = emit!(self, "fptrunc {} {a} to {}", Ll(from), Ll(single));
        let back = emit!(self, "fpext {} {rounded} to {}", Ll(single), Ll(from));
        // Infinite where f32 overflowed, which moves it to the greatest finite (and odd) one; NaN
        // where both are infinite, which moves nothing. Its f32 keeps the sign, if it is not zero.
        let lost = emit!(self, "fsub {} {a}, {back}", Ll(from));
        let ones = Operand::Constant(from, 1f64.to_bits());
        let sign = emit!(
            self,
            "call {} @llvm.copysign.{}({} {ones}, {} {lost})",
            Ll(from),
            Suffix(from),
            Ll(from),
            Ll(from)
        );
        let zero = Operand::Constant(from, 0);
        let inexact = emit!(self, "fcmp one {} {lost}, {zero}", Ll(from));
        let truth = Ll(from.with_scalar(Scalar::I1));
        let ll = Ll(from);
        let sign = emit!(self, "select {truth} {inexact}, {ll} {sign}, {ll} {zero}");
        let sign = emit!(self, "fptrunc {} {sign} to {}", Ll(from), Ll(single));
        self.round_to_odd(single, rounded, sign)
    }

    fn single_to_bf16(&mut self, from: Type, to: Type, a: Operand) -> Operand {
        let bits = u32::from(from.lanes) * 32;
        if self.unit.bf16 == Bf16::Integers || !matches!(bits, 256 | 512) {
            return self.single_to_bf16_by_integers(from, to, a);
        }
        let (single, small) = (Ll(from), Ll(to));
        let lanes = from.lanes;
        let rounded = emit!(
            self,
            "call <{lanes} x bfloat> @llvm.x86.avx512bf16.cvtneps2bf16.{bits}({single} {a})"
        );
        let rounded = emit!(self, "bitcast <{lanes} x bfloat> {rounded} to {small}");
        if self.unit.bf16 == Bf16::Flushing {
            return rounded;
        }
        // The instruction takes subnormals for zeros: where there is one, all lanes are done anew.
        const SUBNORMAL: u32 = 0x20;
        let subnormal = emit!(
            self,
            "call <{lanes} x i1> @llvm.x86.avx512.fpclass.ps.{bits}({single} {a}, i32 {SUBNORMAL})"
        );
        let subnormal = emit!(self, "bitcast <{lanes} x i1> {subnormal} to i{lanes}");
        let any = emit!(self, "icmp ne i{lanes} {subnormal}, 0");
        let (again, after) = (self.label(), self.label());
        let before = self.block;
        emit_void!(self, "br i1 {any}, label %b{again}, label %b{after}, !prof !0");
        self.start(again);
        let exact = self.single_to_bf16_by_integers(from, to, a);
        emit_void!(self, "br label %b{after}");
        self.start(after);
        emit!(self, "phi {small} [ {rounded}, %b{before} ], [ {exact}, %b{again} ]")
    }

    fn single_to_bf16_by_integers(&mut self, from: Type, to: Type, a: Operand) -> Operand {
        let bits_type = from.with_scalar(Scalar::I32);
        let (integer, truth) = (Ll(bits_type), Ll(from.with_scalar(Scalar::I1)));
        let constant = |bits: u64| Operand::Constant(bits_type, bits);
        let bits = emit!(self, "bitcast {} {a} to {integer}", Ll(from));
        let high = emit!(self, "lshr {integer} {bits}, {}", constant(16));
        let odd = emit!(self, "and {integer} {high}, {}", constant(1));
        let bias = emit!(self, "add {integer} {odd}, {}", constant(0x7fff));
        let rounded = emit!(self, "add {integer} {bits}, {bias}");
        let quiet = emit!(self, "or {integer} {bits}, {}", constant(0x40_0000));
        let nan = emit!(self, "fcmp uno {} {a}, {}", Ll(from), Operand::Constant(from, 0));
        let result = emit!(self, "select {truth} {nan}, {integer} {quiet}, {integer} {rounded}");
        // The shift last: where the result is widened again, both become one mask.
        let result = emit!(self, "lshr {integer} {result}, {}", constant(16));
        emit!(self, "trunc {integer} {result} to {}", Ll(to))
    }
}

/// LLVM's own type of f16, which is only passed between conversions.
struct Half(Type);

impl std::fmt::Display for Half {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0.is_vector() {
            write!(f, "<{} x half>", self.0.lanes)
        } else {
            f.write_str("half")
        }
    }
}
