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
    /// Counts down iterations beside the variable, which could overflow beyond the high bound;
    /// where it cannot, the variable counts alone.
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
        let overflows = match high {
            Operand::Constant(_, bits) => (bits as i64).checked_add(step).is_none(),
            Operand::Temp(_) => step != 1,
        };
        let (header, exit) = (self.label(), self.label());
        let count = overflows.then(|| {
            let span = emit!(self, "sub i64 {high}, {low}");
            let last = emit!(self, "sub i64 {span}, 1");
            let last = emit!(self, "udiv i64 {last}, {step}");
            emit!(self, "add i64 {last}, 1")
        });
        let enters = emit!(self, "icmp slt i64 {low}, {high}");
        let before = self.block;
        emit_void!(self, "br i1 {enters}, label %b{header}, label %b{exit}");

        self.start(header);
        self.depth += 1;
        let mut phis = self.open_phis(before, carried);
        let at = self.temp();
        phis.params.push(at);
        self.set(variable, at);
        let count = count.map(|count| (count, self.temp()));
        phis.params.extend(count.map(|(_, left)| left));
        self.statements(&body.statements)?;
        self.depth -= 1;
        let flags = if overflows { "" } else { " nsw" };
        let next = emit!(self, "add{flags} i64 {at}, {step}");
        let mut counters = vec![(Type::I64, low, next)];
        let again = match count {
            Some((count, left)) => {
                let next_left = emit!(self, "sub i64 {left}, 1");
                counters.push((Type::I64, count, next_left));
                emit!(self, "icmp ne i64 {next_left}, 0")
            }
            None => emit!(self, "icmp slt i64 {next}, {high}"),
        };
        let latch = self.block;
        emit_void!(self, "br i1 {again}, label %b{header}, label %b{exit}");

        let mut values = self.carried_values(carried, &body.yields)?;
        values.extend(counters);
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
        self.depth += 1;
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
        self.depth -= 1;
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
