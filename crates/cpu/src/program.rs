//! From plan and buffers to kernel IR: one driver function for the whole program.
//!
//! The driver is `main(context, arguments, results, temp, constants) -> status`: straight-line code
//! with structured loops. What is small is computed in it, the rest by functions of their own that it
//! calls, on several threads where that pays, or by the runtime. Arrays of one element are values in
//! registers, so that a loop over scalars is a loop over registers.
//!
//! Whatever has no kernel is evaluated by the interpreter through `rxla_fallback`, one instruction
//! at a time, on literals made from the memory.

mod calls;
mod control;
mod early;
mod join;
mod kept;
mod lapack;
mod memory;
mod product;
mod runtime;
mod shared;
mod slots;
mod sort;
mod turns;

pub(crate) use early::EARLY;
pub(crate) use join::joins;
pub(crate) use product::{is_product, lies_evenly};
pub(crate) use runtime::{in_place, number};

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;
use rxla_base::Result;
use rxla_emit::Element;
use rxla_hlo::{ArrayShape, InstructionId, Module, Op, Shape};
use rxla_kernel::{Builder, Function, FunctionId, Linkage, Type, Value};

use crate::Lower;
use crate::buffers::{Buffers, Output, Place, in_register};
use crate::digest::Digest;
use crate::kernels::Kernels;
use crate::marks;
use crate::plan::{Block, Leaf, Origin, Plan, Step, ValueId};
use memory::Pool;
use slots::Slots;

/// The name of the driver function.
pub const MAIN: &str = "main";

/// Bytes from which on threads share a copy.
const SHARED_COPY: u64 = 1 << 18;

/// The function of [`crate::fallback`] that the driver calls.
pub const FALLBACK: &str = "rxla_fallback";

/// A program ready for the code generator.
#[derive(Clone, Debug)]
pub struct Program {
    /// The driver is called [`MAIN`].
    pub kernels: rxla_kernel::Module,
    /// What the driver gets as `constants`.
    pub constants: Vec<u8>,
    pub temp_bytes: u64,
    pub outputs: Vec<(Shape, Output)>,
    /// Arguments whose memory becomes an output's.
    pub aliases: Vec<(usize, usize)>,
    /// What the interpreter evaluates, by the number that the driver passes.
    pub fallbacks: Vec<InstructionId>,
    /// What the driver tells that it runs, by the number that it passes.
    pub marks: Vec<InstructionId>,
    /// Which functions compute which instructions; several where equal ones share a function.
    pub calls: Vec<(FunctionId, InstructionId)>,
}

/// Which kernels of the runtime the driver calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Callees {
    /// Those that look at the types themselves.
    #[default]
    General,
    /// Those for one type, where there are such: less for a linker to take along. They compute the
    /// same.
    Typed,
}

/// Whether the driver tells what it runs when.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Marks {
    #[default]
    None,
    /// Of every call, and of loops as a whole.
    Steps,
}

/// Writes the driver and its kernels.
pub(crate) fn generate(
    kernels: &Kernels<'_>,
    module: &Module,
    plan: &Plan,
    buffers: &Buffers,
    options: &Lower,
) -> Result<Program> {
    let mut builder = Builder::new(MAIN, Linkage::Kernel, Some(Type::I64));
    let context = builder.parameter(Type::PTR);
    let arguments = builder.buffer_parameter(8);
    let results = builder.buffer_parameter(8);
    let temp = builder.buffer_parameter(crate::buffers::ALIGN as u32);
    let constants = builder.buffer_parameter(crate::buffers::ALIGN as u32);
    let mut driver = Driver {
        kernels,
        module,
        plan,
        buffers,
        context,
        temp,
        constants,
        arguments: FxHashMap::default(),
        results: FxHashMap::default(),
        registers: FxHashMap::default(),
        turned: FxHashMap::default(),
        slots: Slots::default(),
        pool: Pool::default(),
        functions: Vec::new(),
        known: FxHashMap::default(),
        written: FxHashMap::default(),
        fallbacks: Vec::new(),
        marking: options.marks,
        callees: options.callees,
        parallel_work: options.parallel_work.max(1),
        marks: Vec::new(),
        calls: Vec::new(),
        shared: None,
        inlined: 0,
        heavy: 0,
        depth: 0,
        open: Vec::new(),
        kept_slots: 0,
        loops: calls::Loops::of(plan),
    };
    driver.prologue(&mut builder, arguments, results);
    let early = match options.early {
        true => early::outputs(module, plan, buffers),
        false => FxHashMap::default(),
    };
    for (number, step) in plan.entry.steps.iter().enumerate() {
        driver.step(&mut builder, step)?;
        for &output in early.get(&number).into_iter().flatten() {
            driver.tell(&mut builder, output);
        }
    }
    driver.moves(&mut builder, plan.entry.end);
    driver.epilogue(&mut builder);
    let mut functions = driver.functions;
    functions.push(builder.finish());
    let root = &module[module[module.entry()].root()].shape;
    let outputs = root
        .leaves()
        .into_iter()
        .map(|(_, leaf)| leaf.without_layout())
        .zip(buffers.outputs.iter().copied())
        .collect();
    Ok(Program {
        kernels: rxla_kernel::Module { functions },
        constants: driver.pool.into_bytes(),
        temp_bytes: buffers.temp_bytes,
        outputs,
        aliases: buffers.aliases.clone(),
        fallbacks: driver.fallbacks,
        marks: driver.marks,
        calls: driver.calls,
    })
}

struct Driver<'a> {
    kernels: &'a Kernels<'a>,
    module: &'a Module,
    plan: &'a Plan,
    buffers: &'a Buffers,
    context: Value,
    temp: Value,
    constants: Value,
    /// Addresses of argument and result leaves.
    arguments: FxHashMap<usize, Value>,
    results: FxHashMap<usize, Value>,
    /// Arrays of one element.
    registers: FxHashMap<ValueId, Element>,
    /// Where places are that take turns in an open loop.
    turned: FxHashMap<Place, Value>,
    slots: Slots,
    pool: Pool,
    functions: Vec<Function>,
    /// Functions by what is in them, so that equal ones are one.
    known: FxHashMap<String, FunctionId>,
    /// Functions by what they compute and what they are given, so that equal ones are emitted once.
    written: FxHashMap<(Digest, Vec<calls::Given>), FunctionId>,
    fallbacks: Vec<InstructionId>,
    marking: Marks,
    callees: Callees,
    /// Work from which on threads share it.
    parallel_work: u64,
    marks: Vec<InstructionId>,
    calls: Vec<(FunctionId, InstructionId)>,
    /// In the body of a loop whose iterations run at once, what is known there.
    shared: Option<shared::Shared>,
    /// How much work of the driver's own has been written so far.
    inlined: usize,
    /// How much of it stands outside of the program's loops and is more than a few operations.
    heavy: usize,
    /// How many loops of the program are open.
    depth: usize,
    /// Loops that are open and run one iteration after the other.
    open: Vec<kept::Open>,
    /// How many products have a slot for what stays packed.
    kept_slots: u32,
    /// How much there is to loop over.
    loops: calls::Loops,
}

impl Driver<'_> {
    /// Fetches the addresses that were passed and the arguments that live in registers.
    fn prologue(&mut self, b: &mut Builder, arguments: Value, results: Value) {
        let used = used_parameters(&self.plan.entry, self.plan);
        let fetch = |b: &mut Builder, base: Value, number: usize| {
            let index = b.index(number as i64);
            b.load(Type::PTR, base, index)
        };
        for (number, output) in self.buffers.outputs.iter().enumerate() {
            if *output == Output::Computed {
                let address = fetch(b, results, number);
                self.results.insert(number, address);
            }
        }
        for leaf in &self.plan.parameters {
            let Leaf::Array(value) = *leaf else { continue };
            let known = &self.plan.values[value];
            let Origin::Parameter(number) = known.origin else { continue };
            if !used.contains(&value) {
                continue;
            }
            let address = fetch(b, arguments, number);
            self.arguments.insert(number, address);
            if in_register(&known.shape) {
                let element = memory::load(b, known.shape.element_type, address);
                self.registers.insert(value, element);
            }
        }
    }

    /// Stores the outputs that are in registers.
    fn epilogue(&mut self, b: &mut Builder) {
        for (number, leaf) in self.plan.entry.results.iter().enumerate() {
            let (Leaf::Array(value), Output::Computed) = (*leaf, self.buffers.outputs[number])
            else {
                continue;
            };
            if in_register(&self.plan.values[value].shape) {
                let element = self.register(b, value);
                memory::store(b, self.results[&number], element);
            }
        }
    }

    fn block(&mut self, b: &mut Builder, block: &Block) -> Result<()> {
        for step in &block.steps {
            self.step(b, step)?;
        }
        self.moves(b, block.end);
        Ok(())
    }

    fn step(&mut self, b: &mut Builder, step: &Step) -> Result<()> {
        match step {
            Step::Compute(compute) => self.compute(b, compute),
            Step::While(step) if self.depth == 0 => {
                self.marked(b, step.instruction, |driver, b| driver.while_loop(b, step))
            }
            Step::While(step) => self.while_loop(b, step),
            Step::Conditional(step) => self.conditional(b, step),
        }
    }

    /// Does what writes the code for an instruction, so that the code tells when it runs, if it is
    /// to tell.
    fn marked<T>(
        &mut self,
        b: &mut Builder,
        id: InstructionId,
        write: impl FnOnce(&mut Self, &mut Builder) -> Result<T>,
    ) -> Result<T> {
        if self.marking == Marks::None {
            return write(self, b);
        }
        let number = self.marks.len() as i64;
        self.marks.push(id);
        let start = b.call_runtime(marks::BEGIN, vec![self.context], Some(Type::I64));
        let written = write(self, b)?;
        let number = b.index(number);
        let start = start.expect("the time");
        b.call_runtime(marks::END, vec![self.context, number, start], None);
        Ok(written)
    }

    fn shape(&self, value: ValueId) -> &ArrayShape {
        &self.plan.values[value].shape
    }

    /// The element of an array that lives in registers.
    fn register(&mut self, b: &mut Builder, value: ValueId) -> Element {
        match &self.plan.values[value].origin {
            // Made anew in each block, since the builder knows where it is visible.
            Origin::Constant(literal) => memory::immediate(b, literal),
            Origin::Parameter(_) | Origin::Step => self.registers[&value],
        }
    }

    /// The address of a place in memory.
    fn address(&mut self, b: &mut Builder, place: Place) -> Value {
        if let Some(&address) = self.turned.get(&place) {
            return address;
        }
        match place {
            Place::Register => unreachable!("registers have no address"),
            Place::Argument(number) => self.arguments[&number],
            Place::Result(number) => self.results[&number],
            Place::Temp(offset) => {
                let offset = b.index(offset as i64);
                b.offset(self.temp, offset)
            }
            Place::Scratch(offset) => {
                let shared = self.shared.as_ref().expect("only a shared loop has such places");
                let (scratch, offset) = (shared.scratch, b.index(offset as i64));
                b.offset(scratch, offset)
            }
            Place::Constant(value) => {
                let Origin::Constant(literal) = &self.plan.values[value].origin else {
                    unreachable!("only constants have this place")
                };
                let offset = self.pool.offset(literal);
                let offset = b.index(offset as i64);
                b.offset(self.constants, offset)
            }
        }
    }

    fn moves(&mut self, b: &mut Builder, position: u32) {
        let buffers = self.buffers;
        for step in buffers.moves(position) {
            let (to, from) = (self.address(b, step.to), self.address(b, step.from));
            self.copy(b, to, from, step.bytes);
        }
    }

    fn copy(&mut self, b: &mut Builder, to: Value, from: Value, bytes: u64) {
        let large = bytes >= SHARED_COPY;
        let bytes = b.index(bytes as i64);
        if large {
            self.check(b, "rxla_copy", vec![self.context, to, from, bytes]);
        } else {
            b.call_runtime("memcpy", vec![to, from, bytes], Some(Type::PTR));
        }
    }

    /// Adds a function, or finds an equal one.
    fn function(&mut self, function: Function) -> FunctionId {
        let next = FunctionId(self.functions.len() as u32);
        let mut anonymous = function;
        anonymous.name = String::new();
        match self.known.entry(format!("{anonymous:?}")) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(vacant) => {
                vacant.insert(next);
                anonymous.name = format!("kernel.{}", next.0);
                self.functions.push(anonymous);
                next
            }
        }
    }
}

/// Whether the program computes something itself, without the interpreter.
pub(crate) fn has_kernel(
    kernels: &Kernels<'_>,
    module: &Module,
    compute: &crate::plan::Compute,
) -> bool {
    let id = compute.instruction;
    let tokens = compute.operands.iter().chain(&compute.results).any(|l| *l == Leaf::Token);
    !tokens
        && (is_product(module, id)
            || kernels.cost(id, rxla_emit::Updates::InPlace).is_some()
            || runtime::has_kernel(module, compute)
            || sort::sorts(module, id))
}

/// The values of parameters that the program reads somewhere.
fn used_parameters(block: &Block, plan: &Plan) -> rustc_hash::FxHashSet<ValueId> {
    let mut used = rustc_hash::FxHashSet::default();
    let mut block = block.clone();
    crate::plan::each_value(&mut block, &mut |value| {
        if matches!(plan.values[*value].origin, Origin::Parameter(_)) {
            used.insert(*value);
        }
    });
    used
}

/// Whether an instruction may be left out if its results take no memory.
fn is_pure(op: &Op) -> bool {
    !op.has_side_effect()
}
