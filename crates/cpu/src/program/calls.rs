//! How one instruction is computed: in the driver, in a function of its own, or by the runtime.

use rustc_hash::FxHashMap;
use rxla_base::Result;
use rxla_emit::{Destination, Element, Part, Source, Updates};
use rxla_kernel::{Builder, Linkage, Statement, Type, Value};

use super::{Driver, FALLBACK, SHARED_COPY, is_pure, memory};
use crate::buffers::{ALIGN, Place, in_register, temp_align};
use crate::plan::{Block, Compute, Leaf, Plan, Step, ValueId};

/// Work of an instruction up to which it stands in the driver itself.
const INLINE_WORK: u64 = 4096;
/// Instructions in the driver from which on everything gets a function of its own.
const DRIVER_LIMIT: usize = 2_000;
/// Loops that the driver may have outside of the program's own loops. With more of them each gets a
/// function of its own, so that equal ones are one, several are compiled at a time, and the driver
/// is glue, which is compiled fast: what runs once does not notice a call.
const FEW_LOOPS: usize = 4;
/// As many may stand in the program's own loops. With more of them those get functions whose work is so much that
/// a call does not count.
const FEW_LOOPS_WITHIN: usize = 16;
const CALLED_WORK: u64 = 128;
/// Work of an instruction on scalars that always stands in the driver: simple operations, of which a mathematical
/// function has many.
const LIGHT_WORK: u64 = 4;
/// Instructions on scalars with more work that the driver may have outside of the program's loops.
const FEW_HEAVY: usize = 8;

/// What a function knows of an operand or result, in the order in which it is told.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Given {
    /// Its elements.
    Register,
    /// One more address, of this alignment.
    Memory(u32),
    /// Which address it lies at.
    Parameter(Value),
}

impl Driver<'_> {
    pub(super) fn compute(&mut self, b: &mut Builder, compute: &Compute) -> Result<()> {
        self.slots.free();
        let module = self.module;
        let id = compute.instruction;
        let nothing = compute.results.iter().all(|leaf| match leaf {
            Leaf::Array(value) => self.shape(*value).element_count() == Some(0),
            Leaf::Token => true,
        });
        if nothing && is_pure(&module[id].op) && !compute.results.is_empty() {
            return Ok(());
        }
        if super::is_product(module, id) {
            return self.marked(b, id, |driver, b| driver.product(b, compute).map(drop));
        }
        if super::joins(module, id) {
            return self.marked(b, id, |driver, b| driver.join(b, compute));
        }
        let tokens = compute.operands.iter().chain(&compute.results).any(|l| *l == Leaf::Token);
        let updates = self.updates(compute);
        let cost = if tokens { None } else { self.kernels.cost(id, updates) };
        let Some(cost) = cost else {
            return self.marked(b, id, |driver, b| {
                let runs = !tokens && (driver.runtime(b, compute)? || driver.sort(b, compute)?);
                if runs { Ok(()) } else { driver.fallback(b, compute) }
            });
        };
        let work = cost.work;
        let inline = INLINE_WORK.min(self.parallel_work - 1);
        if work <= inline && self.inlined < DRIVER_LIMIT && self.belongs(compute, work) {
            self.inlined += 1;
            self.heavy += usize::from(self.depth == 0 && work > LIGHT_WORK);
            // In loops, and for scalars, telling would take longer than what is told.
            if self.depth > 0 || is_scalar(self.plan, compute) {
                return self.inline(b, compute);
            }
            return self.marked(b, id, |driver, b| driver.inline(b, compute));
        }
        self.marked(b, id, |driver, b| driver.kernel(b, compute, work, updates))
    }

    /// What becomes of operands that are updated: none is copied if any result lies where an operand is.
    fn updates(&self, compute: &Compute) -> Updates {
        let operands: Vec<Place> =
            values(&compute.operands).map(|value| self.buffers.place(value)).collect();
        let in_place = |value| {
            let place = self.buffers.place(value);
            place != Place::Register && operands.contains(&place)
        };
        let copied = !values(&compute.results).any(in_place)
            && self.kernels.has_updates(compute.instruction);
        if copied { Updates::Copied } else { Updates::InPlace }
    }

    /// Large operands that are copied to where a result goes before it is made of them, and where that is: a
    /// kernel that scatters runs on one thread, which would copy them alone.
    fn copied_before(&self, compute: &Compute, updates: Updates) -> Vec<(ValueId, Place)> {
        let (module, id) = (self.module, compute.instruction);
        if updates == Updates::InPlace || self.kernels.extent(id, Updates::Copied) > 1 {
            return Vec::new();
        }
        let (operands, results): (Vec<_>, Vec<_>) =
            (values(&compute.operands).collect(), values(&compute.results).collect());
        let large =
            |value| self.shape(value).byte_size().is_some_and(|size| size as u64 >= SHARED_COPY);
        let found = rxla_emit::updates(module, id).into_iter().filter_map(|(operand, result)| {
            let (&operand, &result) = (operands.get(operand)?, results.get(result)?);
            let once = operands.iter().filter(|&&other| other == operand).count() == 1;
            (once && large(operand)).then(|| (operand, self.buffers.place(result)))
        });
        found.collect()
    }

    /// Whether small work stands in the driver at this place.
    fn belongs(&self, compute: &Compute, work: u64) -> bool {
        match (self.depth > 0, is_scalar(self.plan, compute)) {
            (true, true) => true,
            (true, false) => work < CALLED_WORK || self.loops.within <= FEW_LOOPS_WITHIN,
            (false, true) => work <= LIGHT_WORK || self.heavy < FEW_HEAVY,
            (false, false) => self.loops.outside <= FEW_LOOPS,
        }
    }

    /// Writes the instruction into the driver.
    fn inline(&mut self, b: &mut Builder, compute: &Compute) -> Result<()> {
        let mut addresses = FxHashMap::default();
        let sources: Vec<Source> =
            values(&compute.operands).map(|v| self.source(b, v, &mut addresses)).collect();
        let destinations: Vec<Destination> =
            values(&compute.results).map(|v| self.destination(b, v, &mut addresses)).collect();
        let elements = rxla_emit::emit(
            b,
            self.module,
            compute.instruction,
            &sources,
            &destinations,
            self.whole(),
        )?;
        for (value, element) in values(&compute.results).zip(elements) {
            if let Some(element) = element {
                self.registers.insert(value, element);
            }
        }
        Ok(())
    }

    /// All of the work, in a loop over tiles or not.
    fn whole(&self) -> Part {
        if self.shared.is_some() { Part::Tile } else { Part::All }
    }

    fn source(
        &mut self,
        b: &mut Builder,
        value: ValueId,
        addresses: &mut FxHashMap<Place, Value>,
    ) -> Source {
        match self.buffers.place(value) {
            Place::Register => Source::Register(self.register(b, value)),
            place => Source::Memory(self.address_once(b, place, addresses)),
        }
    }

    fn destination(
        &mut self,
        b: &mut Builder,
        value: ValueId,
        addresses: &mut FxHashMap<Place, Value>,
    ) -> Destination {
        match self.buffers.place(value) {
            Place::Register => Destination::Register,
            place => Destination::Memory(self.address_once(b, place, addresses)),
        }
    }

    /// The same value for the same place, so that what is computed in place is seen to be.
    fn address_once(
        &mut self,
        b: &mut Builder,
        place: Place,
        addresses: &mut FxHashMap<Place, Value>,
    ) -> Value {
        if let Some(&address) = addresses.get(&place) {
            return address;
        }
        let address = self.address(b, place);
        addresses.insert(place, address);
        address
    }

    /// Writes the instruction into a function of its own and calls it.
    fn kernel(
        &mut self,
        b: &mut Builder,
        compute: &Compute,
        work: u64,
        updates: Updates,
    ) -> Result<()> {
        let mut inner = Builder::new("", Linkage::Kernel, None);
        let mut arguments = Vec::new();
        let mut parameters: FxHashMap<Place, Value> = FxHashMap::default();
        let mut sources = Vec::new();
        let mut given = Vec::new();
        let copied = self.copied_before(compute, updates);
        for &(value, place) in &copied {
            let (to, from) = (self.address(b, place), self.address(b, self.buffers.place(value)));
            let bytes = self.shape(value).byte_size().unwrap_or(0) as u64;
            self.copy(b, to, from, bytes);
        }
        for value in values(&compute.operands) {
            let copy = copied.iter().find(|(operand, _)| *operand == value);
            match copy.map_or_else(|| self.buffers.place(value), |&(_, place)| place) {
                Place::Register => {
                    given.push(Given::Register);
                    let element = self.register(b, value);
                    let mut params = Vec::new();
                    for part in memory::parts(element) {
                        params.push(inner.parameter(b.ty(part)));
                        arguments.push(part);
                    }
                    let ty = self.shape(value).element_type;
                    sources.push(Source::Register(memory::take(ty, &mut params.into_iter())));
                }
                place => {
                    let parameter = match parameters.get(&place) {
                        Some(&parameter) => parameter,
                        None => {
                            arguments.push(self.address(b, place));
                            let align = self.align(place, value);
                            given.push(Given::Memory(align));
                            let parameter = inner.buffer_parameter(align);
                            parameters.insert(place, parameter);
                            parameter
                        }
                    };
                    given.push(Given::Parameter(parameter));
                    sources.push(Source::Memory(parameter));
                }
            }
        }
        let mut destinations = Vec::new();
        let mut loads = Vec::new();
        for value in values(&compute.results) {
            let place = self.buffers.place(value);
            let parameter = match parameters.get(&place) {
                Some(&parameter) => parameter,
                None => {
                    let address = if place == Place::Register {
                        let slot = self.slots.next(b);
                        loads.push((value, slot));
                        slot
                    } else {
                        self.address(b, place)
                    };
                    arguments.push(address);
                    let align = self.align(place, value);
                    given.push(Given::Memory(align));
                    let parameter = inner.buffer_parameter(align);
                    if place != Place::Register {
                        parameters.insert(place, parameter);
                    }
                    parameter
                }
            };
            given.push(Given::Parameter(parameter));
            destinations.push(Destination::Memory(parameter));
        }
        let updates = if copied.is_empty() { updates } else { Updates::InPlace };
        let extent = self.kernels.extent(compute.instruction, updates);
        let parallel = work >= self.parallel_work && extent > 1 && self.shared.is_none();
        let part = if parallel {
            let begin = inner.parameter(Type::I64);
            let end = inner.parameter(Type::I64);
            Part::Range(begin, end)
        } else {
            self.whole()
        };
        let key = (self.kernels.digest(compute.instruction), given);
        let callee = match self.written.get(&key) {
            Some(&written) => written,
            None => {
                rxla_emit::emit(
                    &mut inner,
                    self.module,
                    compute.instruction,
                    &sources,
                    &destinations,
                    part,
                )?;
                let callee = self.function(inner.finish());
                self.written.insert(key, callee);
                callee
            }
        };
        self.calls.push((callee, compute.instruction));
        if parallel {
            // Pieces of a size that is worth a thread's attention.
            let grain = (extent * self.parallel_work.div_ceil(4) / work.max(1)).clamp(1, extent);
            let count = b.index(extent as i64);
            let context = self.context;
            b.push(Statement::ParallelCall {
                context,
                callee,
                arguments,
                count,
                grain: grain as i64,
            });
        } else {
            b.call(callee, arguments);
        }
        for (value, slot) in loads {
            let element = memory::load(b, self.shape(value).element_type, slot);
            self.registers.insert(value, element);
        }
        Ok(())
    }

    /// What divides the address of a place.
    fn align(&self, place: Place, value: ValueId) -> u32 {
        match place {
            // The caller's memory is aligned for its elements and no more.
            Place::Argument(_) => self.shape(value).element_type.byte_width().min(8) as u32,
            Place::Register => 16,
            Place::Temp(_) | Place::Scratch(_) => {
                temp_align(self.shape(value).byte_size().unwrap_or(0) as u64) as u32
            }
            Place::Constant(_) | Place::Result(_) => ALIGN as u32,
        }
    }

    /// Lets the interpreter evaluate the instruction.
    pub(super) fn fallback(&mut self, b: &mut Builder, compute: &Compute) -> Result<()> {
        let number = self.fallbacks.len();
        self.fallbacks.push(compute.instruction);
        let mut operands = Vec::new();
        for value in values(&compute.operands) {
            operands.push(self.spill(b, value));
        }
        let mut results = Vec::new();
        for value in values(&compute.results) {
            results.push(match self.buffers.place(value) {
                Place::Register => self.slots.next(b),
                place => self.address(b, place),
            });
        }
        let operands = list(b, &operands);
        let result_list = list(b, &results);
        let number = b.index(number as i64);
        let arguments = vec![self.context, number, operands, result_list];
        let status = b.call_runtime(FALLBACK, arguments, Some(Type::I64)).expect("a status");
        b.return_if_nonzero(status);
        for (value, address) in values(&compute.results).zip(results) {
            if in_register(self.shape(value)) {
                let element = memory::load(b, self.shape(value).element_type, address);
                self.registers.insert(value, element);
            }
        }
        Ok(())
    }

    /// The address of a value, which is put into memory if it is in registers.
    pub(super) fn spill(&mut self, b: &mut Builder, value: ValueId) -> Value {
        match self.buffers.place(value) {
            Place::Register => {
                let element: Element = self.register(b, value);
                let slot = self.slots.next(b);
                memory::store(b, slot, element);
                slot
            }
            place => self.address(b, place),
        }
    }
}

/// Whether only registers take part.
fn is_scalar(plan: &Plan, compute: &Compute) -> bool {
    let mut all = values(&compute.operands).chain(values(&compute.results));
    all.all(|value| in_register(&plan.values[value].shape))
}

/// How many steps of a program need loops.
#[derive(Clone, Copy, Default)]
pub(super) struct Loops {
    /// Outside of the program's own loops.
    outside: usize,
    /// In those.
    within: usize,
}

impl Loops {
    pub(super) fn of(plan: &Plan) -> Loops {
        let mut loops = Loops::default();
        loops.count(plan, &plan.entry, false);
        loops
    }

    fn count(&mut self, plan: &Plan, block: &Block, within: bool) {
        for step in &block.steps {
            match step {
                Step::Compute(compute) if is_scalar(plan, compute) => {}
                Step::Compute(_) if within => self.within += 1,
                Step::Compute(_) => self.outside += 1,
                Step::While(step) => {
                    self.count(plan, &step.condition, true);
                    self.count(plan, &step.body, true);
                }
                Step::Conditional(step) => {
                    step.branches.iter().for_each(|branch| self.count(plan, branch, within));
                }
            }
        }
    }
}

/// An array of addresses.
pub(super) fn list(b: &mut Builder, addresses: &[Value]) -> Value {
    let list = b.alloca(8 * addresses.len().max(1) as u64, 8);
    for (index, &address) in addresses.iter().enumerate() {
        let index = b.index(index as i64);
        b.store(list, index, address);
    }
    list
}

fn values(leaves: &[Leaf]) -> impl Iterator<Item = ValueId> + use<> {
    crate::plan::arrays(leaves).into_iter()
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use rxla_hlo::text::{ParseOptions, parse};

    /// The functions of a program whose loop computes `count` sines of arrays and as many of numbers.
    fn functions(count: usize, size: usize) -> usize {
        let mut steps = String::new();
        for number in 0..count {
            let next = number + 1;
            write!(
                steps,
                "x{next} = f32[{size}] sine(x{number})
                 y{next} = f32[] sine(y{number})\n"
            )
            .unwrap();
        }
        let state = format!("(s32[], f32[{size}], f32[])");
        let text = format!(
            "HloModule loop
             body {{
               p = {state} parameter(0)
               i = s32[] get-tuple-element(p), index=0
               x0 = f32[{size}] get-tuple-element(p), index=1
               y0 = f32[] get-tuple-element(p), index=2
               one = s32[] constant(1)
               j = s32[] add(i, one)
               {steps}
               ROOT t = {state} tuple(j, x{count}, y{count})
             }}
             condition {{
               p = {state} parameter(0)
               i = s32[] get-tuple-element(p), index=0
               n = s32[] constant(5)
               ROOT c = pred[] compare(i, n), direction=LT
             }}
             ENTRY e {{
               p = {state} parameter(0)
               ROOT w = {state} while(p), condition=condition, body=body
             }}"
        );
        let module = parse(&text, &ParseOptions::default()).unwrap().module;
        crate::lower(&module).unwrap().kernels.functions.len()
    }

    #[test]
    fn a_body_of_many_loops_calls_functions() {
        assert_eq!(functions(10, 100), 1, "a short body stands in the driver");
        // What computes the same is one function.
        assert_eq!(functions(20, 100), 2);
        assert_eq!(functions(20, 2), 1, "less work than a call is worth");
    }
}
