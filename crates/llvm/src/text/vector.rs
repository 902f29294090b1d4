//! Operations across lanes.

use std::fmt::Write;

use rxla_base::{Error, Result};
use rxla_kernel::{BinaryOp, Type};

use super::operand::{Ll, Operand, scalar_name};
use super::{Emitter, emit};

impl Emitter<'_, '_> {
    pub(super) fn splat(&mut self, from: Type, to: Type, a: Operand) -> Operand {
        if let Operand::Constant(_, bits) = a {
            return Operand::Constant(to, bits);
        }
        if !to.is_vector() {
            return a;
        }
        let first = emit!(self, "insertelement {} poison, {} {a}, i64 0", Ll(to), Ll(from));
        let lanes = to.lanes;
        emit!(
            self,
            "shufflevector {} {first}, {} poison, <{lanes} x i32> zeroinitializer",
            Ll(to),
            Ll(to)
        )
    }

    pub(super) fn lane_index(&mut self, ty: Type) -> Result<Operand> {
        if !ty.scalar.is_integer() {
            return Err(Error::internal(format!("lane indices of type {ty} in a kernel")));
        }
        if !ty.is_vector() {
            return Ok(Operand::Constant(ty, 0));
        }
        let scalar = Type::from(ty.scalar);
        let lane = |lane| format!("{} {}", Ll(scalar), Operand::Constant(scalar, lane));
        let lanes: Vec<String> = (0..u64::from(ty.lanes)).map(lane).collect();
        // A constant needs no instruction; adding nothing gives it a name.
        Ok(emit!(self, "add {} <{}>, zeroinitializer", Ll(ty), lanes.join(", ")))
    }

    pub(super) fn extract(&mut self, from: Type, a: Operand, lane: u16) -> Operand {
        match a {
            Operand::Constant(_, bits) => Operand::Constant(from.scalar.into(), bits),
            Operand::Temp(_) if !from.is_vector() => a,
            Operand::Temp(_) => emit!(self, "extractelement {} {a}, i64 {lane}", Ll(from)),
        }
    }

    pub(super) fn reduce(&mut self, op: BinaryOp, from: Type, a: Operand) -> Result<Operand> {
        let mut vector = (from, a);
        while vector.0.lanes > 1 {
            let (ty, a) = vector;
            let (lanes, half) = (ty.lanes, ty.lanes / 2);
            let low: Vec<u16> = (0..half).collect();
            let high: Vec<u16> = (half..2 * half).collect();
            let low = self.shuffle(ty, a, a, &low);
            let high = self.shuffle(ty, a, a, &high);
            let halves = ty.scalar.vector(half);
            let combined = self.binary(op, halves, low, high)?;
            vector = (halves, combined);
            if lanes % 2 == 1 {
                let last = self.extract(ty, a, lanes - 1);
                vector = self.append(halves, combined, last);
            }
        }
        Ok(vector.1)
    }

    /// A vector with one lane more.
    fn append(&mut self, ty: Type, a: Operand, last: Operand) -> (Type, Operand) {
        let longer = ty.scalar.vector(ty.lanes + 1);
        let lanes: Vec<u16> = (0..ty.lanes).chain([0]).collect();
        let a = self.shuffle(ty, a, a, &lanes);
        let scalar = Type::from(ty.scalar);
        let a = emit!(
            self,
            "insertelement {} {a}, {} {last}, i64 {}",
            Ll(longer),
            Ll(scalar),
            ty.lanes
        );
        (longer, a)
    }

    pub(super) fn shuffle(&mut self, from: Type, a: Operand, b: Operand, lanes: &[u16]) -> Operand {
        if let [lane] = *lanes {
            let (source, lane) = if lane < from.lanes { (a, lane) } else { (b, lane - from.lanes) };
            return self.extract(from, source, lane);
        }
        let name = scalar_name(from.scalar);
        let count = from.lanes;
        let [a, b] = [a, b].map(|x| {
            if from.is_vector() {
                x
            } else {
                emit!(self, "insertelement <1 x {name}> poison, {name} {x}, i64 0")
            }
        });
        let picked: Vec<String> = lanes.iter().map(|lane| format!("i32 {lane}")).collect();
        let mask = format!("<{} x i32> <{}>", lanes.len(), picked.join(", "));
        emit!(self, "shufflevector <{count} x {name}> {a}, <{count} x {name}> {b}, {mask}")
    }
}
