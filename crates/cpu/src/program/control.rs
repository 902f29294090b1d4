//! Loops and branches of the driver.

use rxla_base::Result;
use rxla_emit::Element;
use rxla_kernel::builder::Builder;
use rxla_kernel::ir::Carried;
use rxla_kernel::{ComparePredicate, Statement, Value};

use super::{Driver, memory};
use crate::buffers::in_register;
use crate::plan::{Block, Conditional, Leaf, ValueId, While};

impl Driver<'_> {
    pub(super) fn while_loop(&mut self, b: &mut Builder, step: &While) -> Result<()> {
        if let (Some(times), Some(bytes)) = (step.independent, self.buffers.scratch(step.head)) {
            return self.shared_loop(b, step, times, bytes);
        }
        self.moves(b, step.head);
        let mut carried = Vec::new();
        for carry in &step.carries {
            if !in_register(self.shape(carry.param)) {
                continue;
            }
            let init = self.register(b, carry.init);
            let (mut params, mut results) = (Vec::new(), Vec::new());
            for init in memory::parts(init) {
                let ty = b.ty(init);
                let next = Carried { init, param: b.fresh(ty), result: b.fresh(ty) };
                params.push(next.param);
                results.push(next.result);
                carried.push(next);
            }
            self.set_register(carry.param, &mut params.into_iter());
            self.set_register(carry.result, &mut results.into_iter());
        }
        let mut turns = Vec::new();
        for turn in self.buffers.turns(step.end) {
            let turning = self.turn(b, *turn);
            carried.extend(turning.carried());
            turns.push(turning);
        }
        self.depth += 1;
        self.open(step);
        let mut outcome = Ok(());
        let before = b.block(|b| {
            outcome = self.block(b, &step.condition);
            match (&outcome, &step.condition.results[..]) {
                (Ok(()), [Leaf::Array(predicate)]) => memory::parts(self.register(b, *predicate)),
                _ => Vec::new(),
            }
        });
        outcome?;
        let mut outcome = Ok(());
        let body = b.block(|b| {
            outcome = self.block(b, &step.body);
            self.moves(b, step.end);
            let mut next = Vec::new();
            for carry in &step.carries {
                if outcome.is_ok() && in_register(self.shape(carry.param)) {
                    next.extend(memory::parts(self.register(b, carry.next)));
                }
            }
            next.extend(turns.iter().flat_map(|turning| turning.next(b)));
            next
        });
        self.depth -= 1;
        self.close(b);
        outcome?;
        b.push(Statement::While { carried, before, body });
        for turning in turns.into_iter().rev() {
            self.turn_home(b, &turning);
        }
        Ok(())
    }

    pub(super) fn conditional(&mut self, b: &mut Builder, step: &Conditional) -> Result<()> {
        let Element::One(index) = self.register(b, step.index) else {
            return Err(rxla_base::Error::internal("a complex number chooses a branch"));
        };
        let results = if self.shape(step.index).element_type == rxla_hlo::ElementType::Pred {
            let [yes, no] = &step.branches[..] else {
                return Err(rxla_base::Error::internal("a predicate chooses of two branches"));
            };
            self.choose(b, index, &[yes], &[no], 0, index, &step.results)?
        } else {
            let branches: Vec<&Block> = step.branches.iter().collect();
            self.branch(b, index, &branches, 0, &step.results)?
        };
        let mut results = results.into_iter();
        for &result in &step.results {
            if in_register(self.shape(result)) {
                self.set_register(result, &mut results);
            }
        }
        Ok(())
    }

    /// The branch that an index chooses of those from number `first` on. Numbers that are too
    /// large, and so also negative ones, choose the last.
    fn branch(
        &mut self,
        b: &mut Builder,
        index: Value,
        branches: &[&Block],
        first: u64,
        results: &[ValueId],
    ) -> Result<Vec<Value>> {
        if let [branch] = branches {
            self.block(b, branch)?;
            let mut values = Vec::new();
            for (leaf, &result) in branch.results.iter().zip(results) {
                if let (Leaf::Array(value), true) = (*leaf, in_register(self.shape(result))) {
                    values.extend(memory::parts(self.register(b, value)));
                }
            }
            return Ok(values);
        }
        let (low, high) = branches.split_at(branches.len() / 2);
        let border = b.constant(b.ty(index), first + low.len() as u64);
        let is_low = b.compare(ComparePredicate::Ult, index, border);
        self.choose(b, is_low, low, high, first, index, results)
    }

    fn choose(
        &mut self,
        b: &mut Builder,
        condition: Value,
        yes: &[&Block],
        no: &[&Block],
        first: u64,
        index: Value,
        results: &[ValueId],
    ) -> Result<Vec<Value>> {
        let mut outcome: Result<()> = Ok(());
        let mut fill =
            |driver: &mut Self, b: &mut Builder, branches: &[&Block], first: u64| match driver
                .branch(b, index, branches, first, results)
            {
                Ok(values) => values,
                Err(error) => {
                    outcome = Err(error);
                    Vec::new()
                }
            };
        let then = b.block(|b| fill(self, b, yes, first));
        let otherwise = b.block(|b| fill(self, b, no, first + yes.len() as u64));
        outcome?;
        let results: Vec<Value> = then
            .yields
            .iter()
            .map(|&value| {
                let ty = b.ty(value);
                b.fresh(ty)
            })
            .collect();
        b.push(Statement::If { condition, results: results.clone(), then, otherwise });
        Ok(results)
    }

    pub(super) fn set_register(&mut self, value: ValueId, parts: &mut impl Iterator<Item = Value>) {
        let element = memory::take(self.shape(value).element_type, parts);
        self.registers.insert(value, element);
    }
}
