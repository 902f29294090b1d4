//! Loops whose iterations run at once: the body is a function of its own, which threads run for as many
//! iterations as they take. What is computed there, each computes alone, in memory of its own.

use rustc_hash::FxHashMap;
use rxla_base::Result;
use rxla_emit::Element;
use rxla_kernel::{
    Builder, ComparePredicate, Convert, Linkage, LoopKind, Scalar, Statement, Type, Value,
};

use super::{Driver, Marks, Slots, memory};
use crate::buffers::{Place, in_register};
use crate::plan::{Block, ValueId, While, each_value};

/// What is known in the body of such a loop.
pub(super) struct Shared {
    /// The thread's own memory.
    pub(super) scratch: Value,
    /// Where a status goes that is not 0.
    failure: Value,
}

impl Shared {
    /// Keeps a status that is not 0 for the driver.
    pub(super) fn note(&self, b: &mut Builder, status: Value) {
        note(b, self.failure, status);
    }
}

/// Of several that fail at once any may be the one that is told of.
fn note(b: &mut Builder, failure: Value, status: Value) {
    let zero = b.index(0);
    let failed = b.compare(ComparePredicate::Ne, status, zero);
    b.if_else(
        failed,
        |b| {
            let first = b.index(0);
            b.store(failure, first, status);
            Vec::new()
        },
        |_| Vec::new(),
    );
}

/// What the driver refers to by values of the function that it writes.
struct Known {
    context: Value,
    temp: Value,
    constants: Value,
    arguments: FxHashMap<usize, Value>,
    results: FxHashMap<usize, Value>,
    turned: FxHashMap<Place, Value>,
    slots: Slots,
    registers: Vec<(ValueId, Element)>,
}

/// Bytes of what `rxla_scratch_take` writes.
const TAKEN: u64 = 16;

impl Driver<'_> {
    /// Runs the iterations of a loop at once, each thread with so many bytes of its own.
    pub(super) fn shared_loop(
        &mut self,
        b: &mut Builder,
        step: &While,
        times: u64,
        bytes: u64,
    ) -> Result<()> {
        self.moves(b, step.head);
        let failure = b.alloca(8, 8);
        let (zero, null) = (b.index(0), b.constant(Type::PTR, 0));
        b.store(failure, zero, zero);
        let mut inner = Builder::new("", Linkage::Kernel, None);
        // Several of the addresses may be one, so nothing is said of them.
        let mut arguments = vec![null, self.temp, self.constants, failure];
        let [context, temp, constants, failure_inside] =
            std::array::from_fn(|_| inner.parameter(Type::PTR));
        let mut known = Known {
            context,
            temp,
            constants,
            arguments: FxHashMap::default(),
            results: FxHashMap::default(),
            turned: FxHashMap::default(),
            slots: Slots::default(),
            registers: Vec::new(),
        };
        self.pass(b, &mut inner, step, &mut known, &mut arguments);
        let (begin, end) = (inner.parameter(Type::I64), inner.parameter(Type::I64));
        let taken = inner.alloca(TAKEN, 8);
        let size = inner.index(bytes as i64);
        let status = inner
            .call_runtime("rxla_scratch_take", vec![taken, size], Some(Type::I32))
            .expect("a status");
        let status = inner.convert(Convert::SignExtend, status, Scalar::I64);
        let first = inner.index(0);
        note(&mut inner, failure_inside, status);
        let is_taken = inner.compare(ComparePredicate::Eq, status, first);

        // The driver writes the body with what is known inside.
        self.exchange(&mut known);
        let marking = std::mem::replace(&mut self.marking, Marks::None);
        self.depth += 1;
        let mut outcome = Ok(());
        inner.if_else(
            is_taken,
            |b| {
                let first = b.index(0);
                let scratch = b.load(Type::PTR, taken, first);
                self.shared = Some(Shared { scratch, failure: failure_inside });
                b.for_loop(LoopKind::Sequential, (begin, end, 1), &[], |b, number, _| {
                    outcome = self.iteration(b, step, number);
                    Vec::new()
                });
                b.call_runtime("rxla_scratch_give_back", vec![taken], Some(Type::I32));
                Vec::new()
            },
            |_| Vec::new(),
        );
        self.depth -= 1;
        self.shared = None;
        self.exchange(&mut known);
        self.marking = marking;
        outcome?;

        let callee = self.function(inner.finish());
        self.calls.push((callee, step.instruction));
        let (context, count) = (self.context, b.index(times as i64));
        b.push(Statement::ParallelCall { context, callee, arguments, count, grain: 1 });
        let status = b.load(Type::I64, failure, zero);
        b.return_if_nonzero(status);
        for carry in &step.carries {
            if in_register(self.shape(carry.result)) {
                let ty = memory::scalar(self.shape(carry.result).element_type);
                let end = b.constant(ty, times);
                self.set_register(carry.result, &mut [end].into_iter());
            }
        }
        Ok(())
    }

    /// Passes on what the body uses of outside: values in registers, and addresses.
    fn pass(
        &self,
        b: &mut Builder,
        inner: &mut Builder,
        step: &While,
        known: &mut Known,
        arguments: &mut Vec<Value>,
    ) {
        let mut pass = |ty: Type, value: Value| {
            arguments.push(value);
            inner.parameter(ty)
        };
        let mut places: Vec<Place> = self.turned.keys().copied().collect();
        for value in values(&step.body) {
            match (self.buffers.find(value), self.registers.get(&value)) {
                (Some(Place::Register), Some(&element)) => {
                    let parts: Vec<Value> = memory::parts(element)
                        .into_iter()
                        .map(|part| pass(b.ty(part), part))
                        .collect();
                    let ty = self.shape(value).element_type;
                    known.registers.push((value, memory::take(ty, &mut parts.into_iter())));
                }
                (Some(place), _) => places.push(place),
                (None, _) => {}
            }
        }
        places.sort_unstable();
        places.dedup();
        for place in places {
            if let Some(&address) = self.turned.get(&place) {
                known.turned.insert(place, pass(Type::PTR, address));
                continue;
            }
            match place {
                Place::Argument(number) => {
                    let address = pass(Type::PTR, self.arguments[&number]);
                    known.arguments.insert(number, address);
                }
                Place::Result(number) => {
                    let address = pass(Type::PTR, self.results[&number]);
                    known.results.insert(number, address);
                }
                Place::Register | Place::Constant(_) | Place::Temp(_) | Place::Scratch(_) => {}
            }
        }
    }

    /// Exchanges what the driver knows with what is known on the other side.
    fn exchange(&mut self, known: &mut Known) {
        std::mem::swap(&mut self.context, &mut known.context);
        std::mem::swap(&mut self.temp, &mut known.temp);
        std::mem::swap(&mut self.constants, &mut known.constants);
        std::mem::swap(&mut self.arguments, &mut known.arguments);
        std::mem::swap(&mut self.results, &mut known.results);
        std::mem::swap(&mut self.turned, &mut known.turned);
        std::mem::swap(&mut self.slots, &mut known.slots);
        for (value, element) in &mut known.registers {
            let own = self.registers.insert(*value, *element);
            *element = own.expect("only what is known outside is passed on");
        }
    }

    fn iteration(&mut self, b: &mut Builder, step: &While, number: Value) -> Result<()> {
        for carry in &step.carries {
            if in_register(self.shape(carry.param)) {
                let ty = memory::scalar(self.shape(carry.param).element_type);
                let number = b.convert(Convert::Truncate, number, ty);
                self.set_register(carry.param, &mut [number].into_iter());
            }
        }
        self.block(b, &step.body)?;
        self.moves(b, step.end);
        Ok(())
    }
}

/// All values that a block mentions, each once.
fn values(block: &Block) -> Vec<ValueId> {
    let mut values = Vec::new();
    each_value(&mut block.clone(), &mut |value| values.push(*value));
    values.sort_unstable();
    values.dedup();
    values
}
