//! Structured control as basic blocks.

use std::fmt::Write;

use rxla_base::{Error, Result};
use rxla_kernel::{Block, Carried, Type, Value};

use super::operand::{Abi, Ll, Operand};
use super::{Emitter, emit, emit_void};

/// Where the phis of a loop's header are to be written once all their operands are known.
struct Phis {
    chunk: usize,
    entry: u32,
    params: Vec<Operand>,
}

impl<'a> Emitter<'_, 'a> {
    /// Counts iterations from zero rather than adding up the variable, which could overflow beyond
    /// the high bound.
    pub(super) fn for_loop(
        &mut self,
        variable: Value,
        (low, high, step): (Value, Value, i64),
        carried: &[Carried],
        body: &'a Block,
    ) -> Result<()> {
        if step <= 0 {
            return Err(Error::internal(format!("a kernel's loop has step {step}")));
        }
        let (low, high) = (self.get(low)?, self.get(high)?);
        let (header, exit) = (self.label(), self.label());
        let span = emit!(self, "sub i64 {high}, {low}");
        let last = emit!(self, "sub i64 {span}, 1");
        let last = if step == 1 { last } else { emit!(self, "udiv i64 {last}, {step}") };
        let enters = emit!(self, "icmp slt i64 {low}, {high}");
        let before = self.block;
        emit_void!(self, "br i1 {enters}, label %b{header}, label %b{exit}");

        self.start(header);
        let mut phis = self.open_phis(before, carried);
        let count = self.temp();
        phis.params.push(count);
        let offset = if step == 1 { count } else { emit!(self, "mul i64 {count}, {step}") };
        let value = emit!(self, "add i64 {low}, {offset}");
        self.set(variable, value);
        self.statements(&body.statements)?;
        let next_count = emit!(self, "add nuw i64 {count}, 1");
        let done = emit!(self, "icmp eq i64 {count}, {last}");
        let latch = self.block;
        emit_void!(self, "br i1 {done}, label %b{exit}, label %b{header}");

        let zero = Operand::Constant(Type::I64, 0);
        let mut values = self.carried_values(carried, &body.yields)?;
        values.push((Type::I64, zero, next_count));
        self.close_phis(phis, latch, &values);
        self.start(exit);
        for (carried, (ty, init, next)) in carried.iter().zip(values) {
            let result =
                emit!(self, "phi {} [ {init}, %b{before} ], [ {next}, %b{latch} ]", Ll(ty));
            self.set(carried.result, result);
        }
        Ok(())
    }

    pub(super) fn while_loop(
        &mut self,
        carried: &[Carried],
        before: &'a Block,
        body: &'a Block,
    ) -> Result<()> {
        let (header, inside, exit) = (self.label(), self.label(), self.label());
        let entry = self.block;
        emit_void!(self, "br label %b{header}");

        self.start(header);
        let phis = self.open_phis(entry, carried);
        let params = phis.params.clone();
        self.statements(&before.statements)?;
        let Some(&condition) = before.yields.first() else {
            return Err(Error::internal("a kernel's while loop has no condition"));
        };
        let condition = self.get(condition)?;
        emit_void!(self, "br i1 {condition}, label %b{inside}, label %b{exit}");

        self.start(inside);
        self.statements(&body.statements)?;
        let latch = self.block;
        emit_void!(self, "br label %b{header}");

        let values = self.carried_values(carried, &body.yields)?;
        self.close_phis(phis, latch, &values);
        self.start(exit);
        for (carried, param) in carried.iter().zip(params) {
            self.set(carried.result, param);
        }
        Ok(())
    }

    pub(super) fn if_else(
        &mut self,
        condition: Value,
        results: &[Value],
        then: &'a Block,
        otherwise: &'a Block,
    ) -> Result<()> {
        let condition = self.get(condition)?;
        let (yes, no, after) = (self.label(), self.label(), self.label());
        emit_void!(self, "br i1 {condition}, label %b{yes}, label %b{no}");
        let mut ends = Vec::with_capacity(2);
        for (label, block) in [(yes, then), (no, otherwise)] {
            self.start(label);
            self.statements(&block.statements)?;
            let yields: Vec<Operand> =
                block.yields.iter().map(|&value| self.get(value)).collect::<Result<_>>()?;
            if yields.len() != results.len() {
                return Err(Error::internal("a kernel's branch yields another number of values"));
            }
            ends.push((self.block, yields));
            emit_void!(self, "br label %b{after}");
        }
        self.start(after);
        for (index, &result) in results.iter().enumerate() {
            let ty = self.function.ty(result);
            let (a, b) = (ends[0].1[index], ends[1].1[index]);
            let phi =
                emit!(self, "phi {} [ {a}, %b{} ], [ {b}, %b{} ]", Ll(ty), ends[0].0, ends[1].0);
            self.set(result, phi);
        }
        Ok(())
    }

    pub(super) fn return_if_nonzero(&mut self, value: Value) -> Result<()> {
        let ty = self.function.ty(value);
        let value = self.get(value)?;
        let value = self.to_abi(ty, value);
        let (leave, stay) = (self.label(), self.label());
        let zero = Operand::Constant(super::abi(ty), 0);
        let leaves = emit!(self, "icmp ne {} {value}, {zero}", Abi(ty));
        emit_void!(self, "br i1 {leaves}, label %b{leave}, label %b{stay}");
        self.start(leave);
        emit_void!(self, "ret {} {value}", Abi(ty));
        self.start(stay);
        Ok(())
    }

    /// Leaves room for the phis of the block that was just started.
    fn open_phis(&mut self, entry: u32, carried: &[Carried]) -> Phis {
        self.chunks.push(std::mem::take(&mut self.out));
        let chunk = self.chunks.len();
        self.chunks.push(String::new());
        let params: Vec<Operand> = carried.iter().map(|_| self.temp()).collect();
        for (carried, &param) in carried.iter().zip(&params) {
            self.set(carried.param, param);
        }
        Phis { chunk, entry, params }
    }

    fn close_phis(&mut self, phis: Phis, latch: u32, values: &[(Type, Operand, Operand)]) {
        let entry = phis.entry;
        for (param, (ty, init, next)) in phis.params.iter().zip(values) {
            let chunk = &mut self.chunks[phis.chunk];
            let ll = Ll(*ty);
            let _ = writeln!(
                chunk,
                "  {param} = phi {ll} [ {init}, %b{entry} ], [ {next}, %b{latch} ]"
            );
        }
    }

    /// Type, first and next value of what a loop carries.
    fn carried_values(
        &self,
        carried: &[Carried],
        yields: &[Value],
    ) -> Result<Vec<(Type, Operand, Operand)>> {
        if carried.len() != yields.len() {
            return Err(Error::internal("a kernel's loop yields another number of values"));
        }
        let value = |(carried, &next): (&Carried, &Value)| {
            Ok((self.function.ty(carried.param), self.get(carried.init)?, self.get(next)?))
        };
        carried.iter().zip(yields).map(value).collect()
    }
}
