//! Running the instructions of a computation, with limits and with places in errors.

use std::cell::{Cell, RefCell};
use std::sync::atomic::Ordering;

use rxla_base::{Code, Error, Result};
use rxla_hlo::{ComputationId, InstructionId, Literal, Module, Op};

use crate::collective::Collectives;
use crate::options::{DeviceId, Options};
use crate::plan::{Plans, Step};
use crate::rng::DeviceRandom;

/// Computations calling computations deeper than this are refused, before the stack ends.
pub(crate) const DEPTH_LIMIT: u32 = 200;

/// One device's run of a module.
pub(crate) struct Context<'a> {
    pub(crate) module: &'a Module,
    pub(crate) plans: &'a Plans,
    pub(crate) options: &'a Options,
    pub(crate) device: DeviceId,
    /// The way to the other devices.
    pub(crate) collectives: &'a Collectives,
    pub(crate) random: RefCell<DeviceRandom>,
    depth: Cell<u32>,
    steps: Cell<u64>,
}

impl<'a> Context<'a> {
    pub(crate) fn new(
        module: &'a Module,
        plans: &'a Plans,
        options: &'a Options,
        device: DeviceId,
        collectives: &'a Collectives,
    ) -> Context<'a> {
        let random = RefCell::new(DeviceRandom::new(options.seed, device));
        let (depth, steps) = (Cell::new(0), Cell::new(0));
        Context { module, plans, options, device, collectives, random, depth, steps }
    }

    /// Runs a computation on its arguments.
    pub(crate) fn run(
        &self,
        computation: ComputationId,
        arguments: Vec<Literal>,
    ) -> Result<Literal> {
        self.run_steps(computation, arguments, |cx, id, operands| cx.evaluate(id, operands))
    }

    /// Runs a computation, each instruction by `step`. Values are moved into their last use.
    pub(crate) fn run_steps(
        &self,
        computation: ComputationId,
        arguments: Vec<Literal>,
        step: impl Fn(&Self, InstructionId, Vec<Literal>) -> Result<Literal>,
    ) -> Result<Literal> {
        if self.depth.get() >= DEPTH_LIMIT {
            return Err(Error::resource_exhausted(format!(
                "computations call each other more than {DEPTH_LIMIT} deep at `{}`",
                self.module[computation].name()
            )));
        }
        self.depth.set(self.depth.get() + 1);
        let result = self.run_plan(computation, arguments, step);
        self.depth.set(self.depth.get() - 1);
        result
    }

    fn run_plan(
        &self,
        computation: ComputationId,
        arguments: Vec<Literal>,
        step: impl Fn(&Self, InstructionId, Vec<Literal>) -> Result<Literal>,
    ) -> Result<Literal> {
        let plan = self.plans.plan(self.module, computation);
        if arguments.len() != plan.parameters.len() {
            return Err(Error::invalid_argument(format!(
                "`{}` has {} parameters but is given {} arguments",
                self.module[computation].name(),
                plan.parameters.len(),
                arguments.len()
            )));
        }
        let mut values: Vec<Option<Literal>> = Vec::new();
        values.resize_with(plan.slots, || None);
        for (argument, slot) in arguments.into_iter().zip(&plan.parameters) {
            if let Some(slot) = *slot {
                values[slot] = Some(argument);
            }
        }
        for planned in &plan.steps {
            let value = match (&planned.constant, &self.module[planned.instruction].op) {
                (Some(constant), _) => constant.clone(),
                (None, Op::GetTupleElement(element)) => {
                    get_tuple_element(&mut values, planned, element.index)
                        .map_err(|error| self.located(error, planned.instruction))?
                }
                _ => {
                    let operands = operands(&mut values, planned);
                    self.check_limits()?;
                    if planned.bytes.is_none_or(|bytes| bytes > self.options.memory_limit) {
                        return Err(self.too_large(planned));
                    }
                    step(self, planned.instruction, operands)?
                }
            };
            if !planned.unread {
                values[planned.slot] = Some(value);
            }
        }
        values[plan.root].take().ok_or_else(|| Error::internal("the root was not computed"))
    }

    /// Computes one instruction.
    pub(crate) fn evaluate(&self, id: InstructionId, operands: Vec<Literal>) -> Result<Literal> {
        crate::dispatch::evaluate(self, id, operands).map_err(|error| self.located(error, id))
    }

    #[cold]
    fn too_large(&self, planned: &Step) -> Error {
        let error = Error::resource_exhausted(format!(
            "a value of `{}` takes {} bytes where {} are allowed",
            self.module[planned.instruction].shape,
            planned.bytes.map_or("too many".to_owned(), |size| size.to_string()),
            self.options.memory_limit
        ));
        self.located(error, planned.instruction)
    }

    /// Cancellation and the limit of steps.
    pub(crate) fn check_limits(&self) -> Result<()> {
        let steps = self.steps.get() + 1;
        self.steps.set(steps);
        if self.options.step_limit.is_some_and(|limit| steps > limit) {
            return Err(Error::new(
                Code::DeadlineExceeded,
                format!("more than {} instructions executed", steps - 1),
            ));
        }
        if let Some(cancelled) = &self.options.cancelled
            && cancelled.load(Ordering::Relaxed)
        {
            return Err(Error::new(Code::Cancelled, "the run was cancelled"));
        }
        Ok(())
    }

    /// The error with the instruction and the user's source line, if it has no place yet.
    pub(crate) fn located(&self, error: Error, id: InstructionId) -> Error {
        if error.context.is_empty() { error.context(place(self.module, id)) } else { error }
    }
}

/// Where an instruction stands, for people.
pub(crate) fn place(module: &Module, id: InstructionId) -> String {
    let instruction = &module[id];
    let mut place =
        format!("in `%{} = {} {}`", instruction.name(), instruction.shape, instruction.op.name());
    if let Some(metadata) = instruction.metadata() {
        if !metadata.op_name.is_empty() {
            place += &format!(", `{}`", metadata.op_name);
        }
        if let Some((file, line)) = source_line(module, metadata) {
            place += &format!(", {file}:{line}");
        }
        if let Some(caller) = module.stack_frames.caller_of_library(metadata.stack_frame_id) {
            place += &format!(", called from {}:{}", caller.file, caller.line);
        }
    }
    place
}

fn source_line<'m>(module: &'m Module, metadata: &'m rxla_hlo::Metadata) -> Option<(&'m str, i32)> {
    if !metadata.source_file.is_empty() {
        return Some((&metadata.source_file, metadata.source_line));
    }
    let frame = module.stack_frames.frames(metadata.stack_frame_id).next()?;
    Some((frame.file, frame.line))
}

fn operands(values: &mut [Option<Literal>], step: &Step) -> Vec<Literal> {
    step.operands
        .iter()
        .map(|operand| {
            let value = &mut values[operand.slot];
            let value = if operand.last { value.take() } else { value.clone() };
            value.expect("operands are computed before their users")
        })
        .collect()
}

/// One element; moved out of the tuple where nobody asks for it again.
fn get_tuple_element(values: &mut [Option<Literal>], step: &Step, index: i64) -> Result<Literal> {
    let operand = step.operands[0];
    let value = &mut values[operand.slot];
    let Some(Literal::Tuple(elements)) = value else {
        return Err(Error::invalid_argument("an element is asked of what is no tuple"));
    };
    let count = elements.len();
    let element = usize::try_from(index).ok().and_then(|index| elements.get_mut(index));
    let Some(element) = element else {
        return Err(Error::invalid_argument(format!(
            "element {index} is asked of a tuple of {count}"
        )));
    };
    let element = if operand.last_of_element || operand.last {
        std::mem::replace(element, Literal::Token)
    } else {
        element.clone()
    };
    if operand.last {
        *value = None;
    }
    Ok(element)
}
