//! The evaluator: runs a function of a module in the plainest way. It is the oracle for the
//! schedules and for the code generator, and it checks what the verifier cannot: that every access
//! lies in its buffer and that loops end.
//!
//! The module must have passed the verifier.

pub mod float;
mod maths;
mod memory;
pub mod scalar;
#[cfg(test)]
mod tests;

use rxla_base::{Error, Result};

use crate::ir::{Block, Carried, Function, FunctionId, Module, Op, Statement, Value};
use crate::types::{Scalar, Type};
pub use memory::Memory;

/// Answers calls to functions of the runtime: name, arguments as bits, memory; the result's bits
/// if it has one.
pub type Runtime<'a> = dyn FnMut(&str, &[u64], &mut Memory) -> Result<u64> + 'a;

/// What a function runs with.
pub struct Environment<'a> {
    pub runtime: &'a mut Runtime<'a>,
    /// Statements to run before it gives up.
    pub fuel: u64,
}

/// Runs a function on scalar arguments, given as bits (addresses are those of `memory`). The
/// result's bits, if it has a result.
pub fn evaluate(
    module: &Module,
    function: FunctionId,
    arguments: &[u64],
    memory: &mut Memory,
    environment: &mut Environment<'_>,
) -> Result<Option<u64>> {
    let arguments = arguments.iter().map(|&bits| vec![bits]).collect();
    let mut evaluation = Evaluation { module, memory, environment };
    evaluation.call(function, arguments)
}

/// Runs a function that calls nothing of the runtime.
pub fn evaluate_alone(
    module: &Module,
    function: FunctionId,
    arguments: &[u64],
    memory: &mut Memory,
) -> Result<Option<u64>> {
    let mut runtime =
        |name: &str, _: &[u64], _: &mut Memory| Err(Error::unimplemented(format!("@{name}")));
    let mut environment = Environment { runtime: &mut runtime, fuel: 100_000_000 };
    evaluate(module, function, arguments, memory, &mut environment)
}

/// The lanes of an operation on values, memory aside: `None` for loads and allocations. Constant
/// folding uses it too.
pub(crate) fn pure_lanes<'v>(
    function: &Function,
    result: Value,
    op: &Op,
    lanes: impl Fn(Value) -> &'v [u64],
) -> Option<Vec<u64>> {
    let ty = function.ty(result);
    let scalar_of = |value: Value| function.ty(value).scalar;
    let count = usize::from(ty.lanes);
    Some(match op {
        Op::Constant { bits } => vec![*bits; count],
        Op::Unary(op, a) => lanes(*a).iter().map(|&a| scalar::unary(*op, ty.scalar, a)).collect(),
        Op::Binary(op, a, b) => {
            let pairs = lanes(*a).iter().zip(lanes(*b));
            pairs.map(|(&a, &b)| scalar::binary(*op, ty.scalar, a, b)).collect()
        }
        Op::Fma(a, b, c) => {
            let [a, b, c] = [a, b, c].map(|&value| lanes(value));
            (0..count).map(|lane| scalar::fma(ty.scalar, [a[lane], b[lane], c[lane]])).collect()
        }
        Op::Compare(predicate, a, b) => {
            let scalar = scalar_of(*a);
            let pairs = lanes(*a).iter().zip(lanes(*b));
            pairs.map(|(&a, &b)| scalar::compare(*predicate, scalar, a, b).into()).collect()
        }
        Op::Select(condition, a, b) => {
            let [condition, a, b] = [condition, a, b].map(|&value| lanes(value));
            let pick = |lane: usize| if condition[lane] != 0 { a[lane] } else { b[lane] };
            (0..count).map(pick).collect()
        }
        Op::Convert(convert, a) => {
            let from = scalar_of(*a);
            lanes(*a).iter().map(|&a| scalar::convert(*convert, from, ty.scalar, a)).collect()
        }
        Op::Splat(a) => vec![lanes(*a)[0]; count],
        Op::LaneIndex => (0..count as u64).map(|lane| lane & scalar::mask(ty.scalar)).collect(),
        Op::Extract(a, lane) => vec![lanes(*a)[usize::from(*lane)]],
        Op::Reduce(op, a) => {
            let combine = |a, b| scalar::binary(*op, ty.scalar, a, b);
            vec![reduce_tree(lanes(*a).to_vec(), combine)]
        }
        Op::Shuffle(a, b, picked) => {
            let both = [lanes(*a), lanes(*b)].concat();
            picked.iter().map(|&lane| both[usize::from(lane)]).collect()
        }
        Op::Offset { base, bytes } => vec![lanes(*base)[0].wrapping_add(lanes(*bytes)[0])],
        Op::Load { .. } | Op::Alloca { .. } => return None,
    })
}

/// Combines the first half with the second until one is left; an odd last one waits.
fn reduce_tree(mut lanes: Vec<u64>, combine: impl Fn(u64, u64) -> u64) -> u64 {
    while lanes.len() > 1 {
        let half = lanes.len() / 2;
        let mut next: Vec<u64> = (0..half).map(|i| combine(lanes[i], lanes[i + half])).collect();
        next.extend_from_slice(&lanes[2 * half..]);
        lanes = next;
    }
    lanes[0]
}

struct Evaluation<'a, 'e> {
    module: &'a Module,
    memory: &'a mut Memory,
    environment: &'a mut Environment<'e>,
}

/// A function that runs.
struct Frame<'a> {
    function: &'a Function,
    lanes: Vec<Vec<u64>>,
    /// Memory of the call, by the value that holds its address.
    allocations: Vec<(Value, u64)>,
}

impl Frame<'_> {
    fn get(&self, value: Value) -> &[u64] {
        &self.lanes[value.0 as usize]
    }

    fn scalar(&self, value: Value) -> u64 {
        self.get(value)[0]
    }

    fn set(&mut self, value: Value, lanes: Vec<u64>) {
        self.lanes[value.0 as usize] = lanes;
    }

    fn all(&self, values: &[Value]) -> Vec<Vec<u64>> {
        values.iter().map(|&value| self.get(value).to_vec()).collect()
    }

    fn set_all(&mut self, values: impl Iterator<Item = Value>, all: Vec<Vec<u64>>) {
        values.zip(all).for_each(|(value, lanes)| self.set(value, lanes));
    }
}

/// How a block ended.
enum Flow {
    On,
    Return(u64),
}

/// What fresh memory of a call holds, so that whoever reads it before writing is found out.
const UNINITIALISED: u8 = 0xa5;

impl<'a> Evaluation<'a, '_> {
    fn call(&mut self, id: FunctionId, arguments: Vec<Vec<u64>>) -> Result<Option<u64>> {
        let function = &self.module[id];
        if arguments.len() != function.parameters.len() {
            let (given, taken) = (arguments.len(), function.parameters.len());
            let message = format!("@{} takes {taken} arguments, not {given}", function.name);
            return Err(Error::invalid_argument(message));
        }
        let lanes = vec![Vec::new(); function.types.len()];
        let mut frame = Frame { function, lanes, allocations: Vec::new() };
        frame.set_all(function.parameters.iter().map(|parameter| parameter.value), arguments);
        let regions = self.memory.region_count();
        let flow = self.block(&mut frame, &function.body);
        self.memory.drop_regions_from(regions);
        let value = match flow.map_err(|error| error.context(format!("in @{}", function.name)))? {
            Flow::On => 0,
            Flow::Return(value) => value,
        };
        Ok(function.result.map(|_| value))
    }

    fn block(&mut self, frame: &mut Frame<'a>, block: &'a Block) -> Result<Flow> {
        for statement in &block.statements {
            let Some(fuel) = self.environment.fuel.checked_sub(1) else {
                return Err(Error::resource_exhausted("the evaluation takes too long"));
            };
            self.environment.fuel = fuel;
            if let Flow::Return(value) = self.statement(frame, statement)? {
                return Ok(Flow::Return(value));
            }
        }
        Ok(Flow::On)
    }

    fn statement(&mut self, frame: &mut Frame<'a>, statement: &'a Statement) -> Result<Flow> {
        match statement {
            Statement::Let { result, op } => {
                let lanes = self.op(frame, *result, op)?;
                frame.set(*result, lanes);
            }
            Statement::Store { base, index, value, mask } => {
                let ty = frame.function.ty(*value);
                for lane in active_lanes(frame, ty, *mask) {
                    let bits = frame.get(*value)[lane];
                    let index = element_index(frame, *index, lane);
                    self.memory.store(ty.scalar, frame.scalar(*base), index, bits)?;
                }
            }
            Statement::For { kind: _, variable, low, high, step, carried, body } => {
                start(frame, carried);
                let (mut at, high) = (frame.scalar(*low) as i64, frame.scalar(*high) as i64);
                while at < high {
                    frame.set(*variable, vec![at as u64]);
                    if let Flow::Return(value) = self.block(frame, body)? {
                        return Ok(Flow::Return(value));
                    }
                    carry(frame, carried, body);
                    let Some(next) = at.checked_add(*step) else { break };
                    at = next;
                }
                finish(frame, carried);
            }
            Statement::If { condition, results, then, otherwise } => {
                let block = if frame.scalar(*condition) != 0 { then } else { otherwise };
                if let Flow::Return(value) = self.block(frame, block)? {
                    return Ok(Flow::Return(value));
                }
                let yields = frame.all(&block.yields);
                frame.set_all(results.iter().copied(), yields);
            }
            Statement::While { carried, before, body } => {
                start(frame, carried);
                loop {
                    if let Flow::Return(value) = self.block(frame, before)? {
                        return Ok(Flow::Return(value));
                    }
                    if frame.scalar(before.yields[0]) == 0 {
                        break;
                    }
                    if let Flow::Return(value) = self.block(frame, body)? {
                        return Ok(Flow::Return(value));
                    }
                    carry(frame, carried, body);
                }
                finish(frame, carried);
            }
            Statement::Call { callee, arguments } => {
                let arguments = frame.all(arguments);
                self.call(*callee, arguments)?;
            }
            Statement::ParallelCall { context: _, callee, arguments, count, grain } => {
                // Three pieces where there are as many: enough to show what depends on the cut.
                let (count, grain) = (frame.scalar(*count) as i64, *grain);
                let grains = count.max(0).div_euclid(grain) + 1;
                let piece = grains.div_euclid(3).max(1).saturating_mul(grain);
                let mut begin = 0;
                while begin < count {
                    let end = begin.saturating_add(piece).min(count);
                    let mut arguments = frame.all(arguments);
                    arguments.extend([vec![begin as u64], vec![end as u64]]);
                    self.call(*callee, arguments)?;
                    begin = end;
                }
            }
            Statement::CallRuntime { name, arguments, result } => {
                let arguments: Vec<u64> =
                    arguments.iter().map(|&value| frame.scalar(value)).collect();
                let value = (self.environment.runtime)(name, &arguments, self.memory)?;
                if let Some(result) = result {
                    frame.set(*result, vec![value]);
                }
            }
            Statement::ReturnIfNonzero { value } => {
                let value = frame.scalar(*value);
                if value != 0 {
                    return Ok(Flow::Return(value));
                }
            }
        }
        Ok(Flow::On)
    }

    fn op(&mut self, frame: &mut Frame<'a>, result: Value, op: &Op) -> Result<Vec<u64>> {
        match op {
            Op::Load { base, index, mask } => {
                let ty = frame.function.ty(result);
                let mut lanes = vec![0; usize::from(ty.lanes)];
                for lane in active_lanes(frame, ty, *mask) {
                    let index = element_index(frame, *index, lane);
                    lanes[lane] = self.memory.load(ty.scalar, frame.scalar(*base), index)?;
                }
                Ok(lanes)
            }
            Op::Alloca { bytes, align: _ } => {
                let known = frame.allocations.iter().find(|(value, _)| *value == result);
                if let Some(&(_, address)) = known {
                    return Ok(vec![address]);
                }
                let bytes = usize::try_from(*bytes).ok().filter(|&bytes| bytes <= 1 << 30);
                let Some(bytes) = bytes else {
                    return Err(Error::resource_exhausted("an `alloca` beyond reason"));
                };
                let address = self.memory.add(vec![UNINITIALISED; bytes]);
                frame.allocations.push((result, address));
                Ok(vec![address])
            }
            Op::Constant { .. }
            | Op::Unary(..)
            | Op::Binary(..)
            | Op::Fma(..)
            | Op::Compare(..)
            | Op::Select(..)
            | Op::Convert(..)
            | Op::Splat(_)
            | Op::LaneIndex
            | Op::Extract(..)
            | Op::Reduce(..)
            | Op::Shuffle(..)
            | Op::Offset { .. } => {
                let lanes = pure_lanes(frame.function, result, op, |value| frame.get(value));
                Ok(lanes.expect("no memory is touched"))
            }
        }
    }
}

fn active_lanes(frame: &Frame<'_>, ty: Type, mask: Option<Value>) -> Vec<usize> {
    let active = |lane: &usize| mask.is_none_or(|mask| frame.get(mask)[*lane] != 0);
    (0..usize::from(ty.lanes)).filter(active).collect()
}

/// The element that a lane of an access touches.
fn element_index(frame: &Frame<'_>, index: Value, lane: usize) -> i64 {
    match frame.function.ty(index) {
        Type { scalar: Scalar::I64, lanes: 1 } => {
            (frame.scalar(index) as i64).wrapping_add(lane as i64)
        }
        _ => frame.get(index)[lane] as i64,
    }
}

fn start(frame: &mut Frame<'_>, carried: &[Carried]) {
    let inits = carried.iter().map(|carried| frame.get(carried.init).to_vec()).collect();
    frame.set_all(carried.iter().map(|carried| carried.param), inits);
}

fn carry(frame: &mut Frame<'_>, carried: &[Carried], body: &Block) {
    let yields = frame.all(&body.yields);
    frame.set_all(carried.iter().map(|carried| carried.param), yields);
}

fn finish(frame: &mut Frame<'_>, carried: &[Carried]) {
    let params = carried.iter().map(|carried| frame.get(carried.param).to_vec()).collect();
    frame.set_all(carried.iter().map(|carried| carried.result), params);
}
