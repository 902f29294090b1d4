//! The plan of a program: what is computed in which order, with tuples gone.
//!
//! Every computation that control flow calls stands in the plan at the place where it is called, so
//! a step occurs once and has one position in the order of the whole program. Values are arrays;
//! tuples exist only while the plan is made. Ops that only rename bytes (tuples, reshapes, copies)
//! are no steps: their result *is* the operand's value. So is what gives memory without anything in it. Where a copy is needed after all, the
//! buffers say so.

use rustc_hash::FxHashMap;
use rxla_base::{Arena, Code, Error, Id, Result};
use rxla_hlo::op::BitcastConvert;
use rxla_hlo::{
    ArrayLiteral, ArrayShape, ComputationId, ElementType, InstructionId, Literal, Module, Op, Shape,
};

pub type ValueId = Id<Value>;

/// An array that the program computes or is given.
#[derive(Clone, Debug)]
pub struct Value {
    pub shape: ArrayShape,
    pub origin: Origin,
}

#[derive(Clone, Debug)]
pub enum Origin {
    /// A leaf of the entry's parameters, counted over all parameters.
    Parameter(usize),
    Constant(ArrayLiteral),
    /// A result of a step, or what a loop carries.
    Step,
}

/// A leaf of a shape: an array, or a token, which is nothing at run time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Leaf {
    Array(ValueId),
    Token,
}

/// Steps in order of execution.
#[derive(Clone, Debug, Default)]
pub struct Block {
    pub steps: Vec<Step>,
    /// The leaves of the root.
    pub results: Vec<Leaf>,
    /// The position just after the last step.
    pub end: u32,
}

#[derive(Clone, Debug)]
pub enum Step {
    Compute(Compute),
    While(Box<While>),
    Conditional(Box<Conditional>),
}

/// One instruction that computes something.
#[derive(Clone, Debug)]
pub struct Compute {
    pub instruction: InstructionId,
    pub position: u32,
    /// The leaves of the operands, one operand after another.
    pub operands: Vec<Leaf>,
    pub results: Vec<Leaf>,
}

#[derive(Clone, Debug)]
pub struct While {
    pub instruction: InstructionId,
    /// Where the loop begins: initial values are read here.
    pub head: u32,
    /// Where an iteration ends and the next values are in place.
    pub end: u32,
    pub carries: Vec<Carry>,
    /// How often it runs, if its iterations may run at once.
    pub independent: Option<u64>,
    /// Its only result is the predicate.
    pub condition: Block,
    pub body: Block,
}

/// An array that changes from iteration to iteration.
#[derive(Clone, Copy, Debug)]
pub struct Carry {
    pub init: ValueId,
    /// What condition and body see.
    pub param: ValueId,
    /// What the body makes of it.
    pub next: ValueId,
    /// What is seen after the loop.
    pub result: ValueId,
}

#[derive(Clone, Debug)]
pub struct Conditional {
    pub instruction: InstructionId,
    pub head: u32,
    pub end: u32,
    /// A predicate (the first branch is for true) or a number.
    pub index: ValueId,
    /// The results of each stand in the order of `results`; tokens are left out.
    pub branches: Vec<Block>,
    pub results: Vec<ValueId>,
}

/// A whole program.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    pub values: Arena<Value>,
    pub entry: Block,
    /// Leaves of the entry's parameters. Those that nothing reads are here too.
    pub parameters: Vec<Leaf>,
}

/// Computations that call each other deeper than this are left to the interpreter.
const DEPTH_LIMIT: u32 = 200;

/// Calls may be copied, which grows programs; one that grows beyond this is not compiled.
const STEP_LIMIT: u32 = 1 << 20;

impl Plan {
    /// `order` says in which order the instructions of a computation run.
    pub fn new(
        module: &Module,
        order: &dyn Fn(ComputationId) -> Vec<InstructionId>,
    ) -> Result<Plan> {
        let mut planner = Planner {
            module,
            order,
            values: Arena::default(),
            forward: FxHashMap::default(),
            effects: FxHashMap::default(),
            position: 0,
            depth: 0,
        };
        let mut parameters = Vec::new();
        let mut arguments = Vec::new();
        for &parameter in module[module.entry()].parameters() {
            let leaves = planner.parameter(&module[parameter].shape, parameters.len())?;
            parameters.extend(leaves.iter().copied());
            arguments.push(leaves);
        }
        let entry = planner.block(module.entry(), &arguments)?;
        let mut plan = Plan { values: planner.values, entry, parameters };
        if !planner.forward.is_empty() {
            let forward = planner.forward;
            each_value(&mut plan.entry, &mut |value| {
                while let Some(&target) = forward.get(value) {
                    *value = target;
                }
            });
        }
        Ok(plan)
    }
}

struct Planner<'a> {
    module: &'a Module,
    order: &'a dyn Fn(ComputationId) -> Vec<InstructionId>,
    values: Arena<Value>,
    /// Values that turned out to be others: what a loop carries unchanged.
    forward: FxHashMap<ValueId, ValueId>,
    /// Whether running a computation has effects beside its result.
    effects: FxHashMap<ComputationId, bool>,
    position: u32,
    depth: u32,
}

impl Planner<'_> {
    fn parameter(&mut self, shape: &Shape, first: usize) -> Result<Vec<Leaf>> {
        let mut leaves = Vec::new();
        for (_, leaf) in shape.leaves() {
            let number = first + leaves.len();
            leaves.push(self.leaf(leaf, Origin::Parameter(number))?);
        }
        Ok(leaves)
    }

    fn leaf(&mut self, shape: &Shape, origin: Origin) -> Result<Leaf> {
        match shape {
            Shape::Array(array) => Ok(Leaf::Array(self.value(array, origin)?)),
            Shape::Token => Ok(Leaf::Token),
            Shape::Tuple(_) | Shape::Opaque | Shape::Buffer(_) => {
                Err(Error::unimplemented(format!("compiled code with values of `{shape}`")))
            }
        }
    }

    fn value(&mut self, shape: &ArrayShape, origin: Origin) -> Result<ValueId> {
        if !shape.is_static() {
            return Err(Error::unimplemented(format!("compiled code of dynamic shape `{shape}`")));
        }
        if shape.byte_size().is_none_or(|size| size > MAX_BYTES) {
            return Err(Error::new(
                Code::ResourceExhausted,
                format!("`{shape}` takes more memory than there can be"),
            ));
        }
        Ok(self.values.push(Value { shape: shape.without_layout(), origin }))
    }

    fn results(&mut self, shape: &Shape) -> Result<Vec<Leaf>> {
        shape.leaves().into_iter().map(|(_, leaf)| self.leaf(leaf, Origin::Step)).collect()
    }

    fn next_position(&mut self) -> Result<u32> {
        self.position += 1;
        if self.position > STEP_LIMIT {
            return Err(Error::unimplemented("compiled code of so large a program"));
        }
        Ok(self.position)
    }

    fn block(&mut self, computation: ComputationId, arguments: &[Vec<Leaf>]) -> Result<Block> {
        let mut steps = Vec::new();
        let results = self.run(computation, arguments, &mut steps)?;
        let end = self.next_position()?;
        Ok(Block { steps, results, end })
    }

    /// Appends what a computation does to `steps` and returns the leaves of its root.
    fn run(
        &mut self,
        computation: ComputationId,
        arguments: &[Vec<Leaf>],
        steps: &mut Vec<Step>,
    ) -> Result<Vec<Leaf>> {
        if self.depth >= DEPTH_LIMIT {
            return Err(Error::unimplemented("compiled code of calls so deep"));
        }
        self.depth += 1;
        let module = self.module;
        let order = (self.order)(computation);
        let root = module[computation].root();
        let live = self.live(&order, root);
        let mut leaves: FxHashMap<InstructionId, Vec<Leaf>> = FxHashMap::default();
        for (&id, live) in order.iter().zip(live) {
            if live {
                let result = self.instruction(id, &leaves, arguments, steps)?;
                leaves.insert(id, result);
            }
        }
        self.depth -= 1;
        leaves.remove(&root).ok_or_else(|| Error::internal("the root was not planned"))
    }

    fn instruction(
        &mut self,
        id: InstructionId,
        leaves: &FxHashMap<InstructionId, Vec<Leaf>>,
        arguments: &[Vec<Leaf>],
        steps: &mut Vec<Step>,
    ) -> Result<Vec<Leaf>> {
        let module = self.module;
        let instruction = &module[id];
        let operands = instruction.operands();
        let of = |index: usize| leaves[&operands[index]].clone();
        let all = || operands.iter().flat_map(|operand| leaves[operand].iter().copied());
        match &instruction.op {
            Op::Parameter(parameter) => Ok(arguments[parameter.number as usize].clone()),
            Op::Constant(constant) => self.constant(&constant.literal),
            Op::Tuple(_) => Ok(all().collect()),
            Op::GetTupleElement(element) => {
                let shape = &module[operands[0]].shape;
                let elements = shape.as_tuple().unwrap_or_default();
                let index = element.index as usize;
                let count = |shape: &Shape| shape.leaves().len();
                let first: usize = elements[..index].iter().map(count).sum();
                Ok(of(0)[first..first + count(&elements[index])].to_vec())
            }
            Op::AfterAll(_) => Ok(vec![Leaf::Token]),
            Op::Reshape(_)
            | Op::Copy(_)
            | Op::OptimizationBarrier(_)
            | Op::Domain(_)
            | Op::AddDependency(_) => Ok(of(0)),
            Op::Bitcast(_) if is_row_major(module, id) => Ok(of(0)),
            Op::BitcastConvert(BitcastConvert {}) if keeps_bytes(module, id) => Ok(of(0)),
            _ if is_room(module, id) => self.results(&instruction.shape),
            // Its value is never looked at again.
            Op::Send(_) => {
                let position = self.next_position()?;
                let operands = all().collect();
                let results = vec![Leaf::Token];
                steps.push(Step::Compute(Compute { instruction: id, position, operands, results }));
                let mut leaves = of(0);
                leaves.extend(self.constant(&Literal::scalar(0u32))?);
                leaves.push(Leaf::Token);
                Ok(leaves)
            }
            Op::SendDone(_) => Ok(vec![Leaf::Token]),
            // The value and the token, not what is between them.
            Op::RecvDone(_) => {
                let mut leaves = of(0);
                leaves.remove(leaves.len().saturating_sub(2));
                Ok(leaves)
            }
            Op::Call(call) => {
                let arguments: Vec<Vec<Leaf>> = (0..operands.len()).map(of).collect();
                self.run(call.to_apply, &arguments, steps)
            }
            Op::While(op) => self.while_loop(id, op.condition, op.body, of(0), steps),
            Op::Conditional(op) => {
                let [Leaf::Array(index)] = of(0)[..] else {
                    return Err(Error::internal("a conditional without index"));
                };
                let head = self.next_position()?;
                let mut branches = Vec::new();
                for (number, &branch) in op.branch_computations.iter().enumerate() {
                    let mut block = self.block(branch, &[of(number + 1)])?;
                    block.results.retain(|leaf| *leaf != Leaf::Token);
                    branches.push(block);
                }
                let all = self.results(&instruction.shape)?;
                let results = arrays(&all);
                let end = self.next_position()?;
                let step = Conditional { instruction: id, head, end, index, branches, results };
                steps.push(Step::Conditional(Box::new(step)));
                Ok(all)
            }
            _ => {
                let position = self.next_position()?;
                let results = self.results(&instruction.shape)?;
                let compute = Compute {
                    instruction: id,
                    position,
                    operands: all().collect(),
                    results: results.clone(),
                };
                steps.push(Step::Compute(compute));
                Ok(results)
            }
        }
    }

    fn while_loop(
        &mut self,
        id: InstructionId,
        condition: ComputationId,
        body: ComputationId,
        init: Vec<Leaf>,
        steps: &mut Vec<Step>,
    ) -> Result<Vec<Leaf>> {
        let shape = &self.module[id].shape;
        let head = self.next_position()?;
        let params = self.results(shape)?;
        let condition = self.block(condition, std::slice::from_ref(&params))?;
        let body = self.block(body, std::slice::from_ref(&params))?;
        let results = self.results(shape)?;
        let end = self.next_position()?;
        let mut carries = Vec::new();
        let mut after = Vec::new();
        for (index, &leaf) in results.iter().enumerate() {
            let (Leaf::Array(init), Leaf::Array(param), Leaf::Array(next), Leaf::Array(result)) =
                (init[index], params[index], body.results[index], leaf)
            else {
                after.push(Leaf::Token);
                continue;
            };
            if next == param {
                // Nothing is carried: the loop only reads it.
                self.forward.insert(param, init);
                after.push(Leaf::Array(init));
            } else {
                carries.push(Carry { init, param, next, result });
                after.push(leaf);
            }
        }
        let independent = crate::independent::promised(self.module, id);
        let step = While { instruction: id, head, end, carries, independent, condition, body };
        steps.push(Step::While(Box::new(step)));
        Ok(after)
    }

    fn constant(&mut self, literal: &Literal) -> Result<Vec<Leaf>> {
        match literal {
            Literal::Array(array) => {
                let origin = Origin::Constant(array.clone());
                Ok(vec![Leaf::Array(self.value(array.shape(), origin)?)])
            }
            Literal::Tuple(elements) => {
                let mut leaves = Vec::new();
                for element in elements {
                    leaves.extend(self.constant(element)?);
                }
                Ok(leaves)
            }
            Literal::Token => Ok(vec![Leaf::Token]),
        }
    }

    /// Which instructions must run: what the root needs and what has effects.
    fn live(&mut self, order: &[InstructionId], root: InstructionId) -> Vec<bool> {
        let module = self.module;
        let mut needed: rustc_hash::FxHashSet<InstructionId> = [root].into_iter().collect();
        let mut live = vec![false; order.len()];
        for (slot, &id) in order.iter().enumerate().rev() {
            live[slot] = needed.contains(&id) || self.has_effects(&module[id].op);
            if live[slot] {
                needed.extend(module[id].operands().iter().copied());
            }
        }
        live
    }

    fn has_effects(&mut self, op: &Op) -> bool {
        op.has_side_effect()
            || op.called_computations().iter().any(|&computation| {
                if let Some(&known) = self.effects.get(&computation) {
                    return known;
                }
                let module = self.module;
                let instructions = module[computation].instructions();
                let has = instructions.iter().any(|&i| self.has_effects(&module[i].op));
                self.effects.insert(computation, has);
                has
            })
    }
}

/// The custom call that gives memory which is written before it is read; XLA's name for it.
pub(crate) const ROOM: &str = "AllocateBuffer";

/// Whether an instruction gives memory and nothing in it. Its value begins where it is used.
fn is_room(module: &Module, id: InstructionId) -> bool {
    let Op::CustomCall(call) = &module[id].op else { return false };
    let in_memory =
        |shape: &Shape| shape.as_array().is_some_and(|array| !crate::buffers::in_register(array));
    call.custom_call_target == ROOM
        && module[id].operands().is_empty()
        && in_memory(&module[id].shape)
}

/// More than any allocation can be.
const MAX_BYTES: usize = 1 << 46;

pub fn arrays(leaves: &[Leaf]) -> Vec<ValueId> {
    leaves
        .iter()
        .filter_map(|leaf| match leaf {
            Leaf::Array(value) => Some(*value),
            Leaf::Token => None,
        })
        .collect()
}

/// Whether operand and result of a bitcast lie row-major, so that it changes nothing.
fn is_row_major(module: &Module, id: InstructionId) -> bool {
    let plain = |shape: &Shape| {
        shape.as_array().is_some_and(|array| {
            array
                .layout
                .as_ref()
                .is_none_or(|layout| **layout == rxla_hlo::Layout::row_major(array.rank()))
        })
    };
    let element_type = |shape: &Shape| shape.as_array().map(|array| array.element_type);
    let from = module.operand_shape(id, 0);
    let to = &module[id].shape;
    plain(from) && plain(to) && element_type(from) == element_type(to)
}

/// Whether a bitcast-convert leaves every byte where it is. Single elements are excepted: they
/// live in registers, where the two types differ.
fn keeps_bytes(module: &Module, id: InstructionId) -> bool {
    let (Some(from), Some(to)) =
        (module.operand_shape(id, 0).as_array(), module[id].shape.as_array())
    else {
        return false;
    };
    let fills_bytes = |ty: ElementType| ty.bit_width() == 8 * ty.byte_width();
    fills_bytes(from.element_type)
        && fills_bytes(to.element_type)
        && from.element_count() != Some(1)
        && to.element_count() != Some(1)
}

/// Visits every mention of a value in a block.
pub fn each_value(block: &mut Block, f: &mut dyn FnMut(&mut ValueId)) {
    let leaves = |leaves: &mut [Leaf], f: &mut dyn FnMut(&mut ValueId)| {
        for leaf in leaves {
            if let Leaf::Array(value) = leaf {
                f(value);
            }
        }
    };
    for step in &mut block.steps {
        match step {
            Step::Compute(compute) => {
                leaves(&mut compute.operands, f);
                leaves(&mut compute.results, f);
            }
            Step::While(step) => {
                for carry in &mut step.carries {
                    [&mut carry.init, &mut carry.param, &mut carry.next, &mut carry.result]
                        .into_iter()
                        .for_each(&mut *f);
                }
                each_value(&mut step.condition, f);
                each_value(&mut step.body, f);
            }
            Step::Conditional(step) => {
                f(&mut step.index);
                step.results.iter_mut().for_each(&mut *f);
                step.branches.iter_mut().for_each(|branch| each_value(branch, f));
            }
        }
    }
    leaves(&mut block.results, f);
}
