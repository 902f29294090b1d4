//! `constant_folding`, XLA's HloConstantFolding: what depends on constants only is computed now, by
//! the interpreter.
//!
//! A fold has to pay: it may neither take long ([`WORK_AT_ONCE`], [`WORK_IN_ALL`]) nor blow up the
//! module ([`GROWTH`]). A broadcast or an iota says in a few bytes what a literal says in many and
//! costs nothing to compute, so they never become literals; an elementwise op of such splats is
//! folded below the broadcast instead, and a literal of equal elements becomes a broadcast, in which
//! rules see the value without reading all of it. So it is with elementwise ops and moves of these, patterns all of
//! them, until an op that is more work than that comes: a sort, a sum, a gather.

use rustc_hash::FxHashMap;
use rxla_base::Result;
use rxla_hlo::{ArrayLiteral, ComputationId, InstructionId, Literal, Module, Op};
use rxla_interpreter::{Options, evaluate_instruction};

use crate::effects::unfused_computations;
use crate::pass::{Context, Pass};
use crate::view;

/// The steps that one fold may take: about a hundredth of a second.
pub const WORK_AT_ONCE: u64 = 1 << 22;

/// The steps that a fold of patterns alone may take, these included.
pub const WORK_OF_PATTERNS: u64 = 1 << 18;

/// What an op of a pattern is taken for besides its elements, which bounds how deep a pattern is.
const WORK_OF_OP: u64 = 1 << 8;

/// The steps that one run of the pass may take.
pub const WORK_IN_ALL: u64 = 1 << 26;

/// The bytes that a folded value may have where the constants it came from have fewer.
pub const GROWTH: usize = 1 << 16;

pub struct HloConstantFolding;

impl Pass for HloConstantFolding {
    fn name(&self) -> &'static str {
        "constant_folding"
    }

    fn class(&self) -> &'static str {
        "HloConstantFolding"
    }

    fn run(&self, module: &mut Module, cx: &Context) -> Result<u64> {
        let mut left = WORK_IN_ALL;
        let mut made = 0;
        for computation in unfused_computations(module) {
            made += fold_computation(module, cx, computation, &mut left);
        }
        Ok(made)
    }
}

fn fold_computation(
    module: &mut Module,
    cx: &Context,
    computation: ComputationId,
    left: &mut u64,
) -> u64 {
    let mut folded = Vec::new();
    let mut patterns = Patterns::default();
    // Operands come first, so chains fold in one sweep.
    for i in module.post_order(computation) {
        if cx.exhausted() {
            break;
        }
        if module[i].users().is_empty() && !view::is_root(module, i) {
            continue;
        }
        let replacement = if let Some(splat) = literal_to_splat(module, i) {
            splat
        } else if let Some(splat) = fold_splat(module, i) {
            splat
        } else if let Some(literal) = fold(module, i, &patterns, left) {
            let shape = module[i].shape.clone();
            let made = module.add_like(i, Op::constant(literal), shape, &[]);
            // What was written for the op says nothing about a constant.
            let info = module[made].info_mut();
            info.backend_config.clear();
            info.unknown_attributes.clear();
            made
        } else {
            patterns.add(module, i);
            continue;
        };
        assert!(cx.spend(), "the limit was looked at");
        module.replace_all_uses(i, replacement);
        folded.push(i);
    }
    let made = folded.len() as u64;
    folded.reverse();
    module.remove_instructions(computation, &folded);
    made
}

/// `constant({c, c, …}) => broadcast(c)`
fn literal_to_splat(module: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let literal = view::constant(module, i).filter(|literal| literal.len() > 1)?;
    let scalar = view::splat_of(literal)?;
    view::static_array(module, i)?;
    let (parent, whole) = (module[i].parent(), module[i].shape.clone());
    let scalar = module.add_constant(parent, Literal::Array(scalar));
    Some(module.add_like(i, Op::broadcast([]), whole, &[scalar]))
}

/// `f(broadcast(a), broadcast(b), …) => broadcast(f(a, b, …))` for elementwise `f` and constant
/// scalars, with the scalar `f` computed.
fn fold_splat(module: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let op = &module[i].op;
    let pure = matches!(
        op,
        Op::Unary(_)
            | Op::Binary(_)
            | Op::Compare(_)
            | Op::Convert(_)
            | Op::Select(_)
            | Op::Clamp(_)
            | Op::ReducePrecision(_)
    );
    let shape = view::static_array(module, i)?;
    if !pure || shape.rank() == 0 {
        return None;
    }
    let element_type = shape.element_type;
    let values: Vec<ArrayLiteral> = module[i]
        .operands()
        .iter()
        .map(|&operand| view::splat(module, operand))
        .collect::<Option<_>>()?;
    let (op, parent) = (module[i].op.clone(), module[i].parent());
    let scalars: Vec<InstructionId> = values
        .iter()
        .map(|value| module.add_constant(parent, Literal::Array(value.clone())))
        .collect();
    let shape = rxla_hlo::Shape::scalar(element_type);
    let scalar = view::add_with_shape(module, i, op, shape.clone(), &scalars);
    let values = values.into_iter().map(Literal::Array).collect();
    let result = evaluate_instruction(module, scalar, values, &options());
    let made = result.ok().map(|literal| {
        let constant = module.add_constant(parent, literal);
        let whole = module[i].shape.clone();
        module.add_like(i, Op::broadcast([]), whole, &[constant])
    });
    let mut spare = vec![scalar];
    spare.extend(scalars);
    module.remove_instructions(parent, &spare);
    made
}

/// The value of an instruction whose operands are constants, if computing it now pays.
fn fold(module: &Module, i: InstructionId, patterns: &Patterns, left: &mut u64) -> Option<Literal> {
    let shape = view::static_array(module, i)?;
    // Of what gives several arrays each is computed where it is read.
    let (computed, element) = match &module[i].op {
        Op::GetTupleElement(op) => (view::operand(module, i, 0), Some(op.index as usize)),
        _ => (i, None),
    };
    let operands = module[computed].operands();
    if operands.is_empty() {
        return None;
    }
    let mut bytes = 0usize;
    let mut given = false;
    let mut steps = work(module, computed)?;
    for &operand in operands {
        let size = view::static_array(module, operand)?.byte_size()?;
        if view::constant(module, operand).is_some() {
            given = true;
            bytes = bytes.saturating_add(size);
        } else {
            // Made for the moment of the fold.
            steps = steps.checked_add(patterns.work(operand)?)?;
        }
    }
    let limit = match given {
        true => WORK_AT_ONCE,
        false if is_light(&module[computed].op) => return None,
        false => WORK_OF_PATTERNS,
    };
    if shape.byte_size()? > bytes.max(GROWTH) || steps > limit.min(*left) {
        return None;
    }
    *left -= steps;
    // What the interpreter cannot do is left for the backend to report.
    match (evaluate(module, computed, &mut FxHashMap::default())?, element) {
        (Literal::Tuple(elements), Some(element)) => elements.into_iter().nth(element),
        (literal, None) => Some(literal),
        (_, Some(_)) => None,
    }
}

/// What costs little to compute whenever it is needed: broadcasts of literals, iotas, and what is made of these
/// by light ops; with the steps that it takes.
#[derive(Default)]
struct Patterns {
    work: FxHashMap<InstructionId, u64>,
}

impl Patterns {
    fn work(&self, i: InstructionId) -> Option<u64> {
        self.work.get(&i).copied()
    }

    /// Remembers an instruction if it is one; its operands were asked before.
    fn add(&mut self, module: &Module, i: InstructionId) {
        if let Some(work) = self.of(module, i) {
            self.work.insert(i, work);
        }
    }

    fn of(&self, module: &Module, i: InstructionId) -> Option<u64> {
        let shape = view::static_array(module, i)?;
        let op = &module[i].op;
        if shape.byte_size()? > GROWTH || !(is_light(op) || matches!(op, Op::Iota(_))) {
            return None;
        }
        let mut steps = WORK_OF_OP + shape.element_count()? as u64;
        for &operand in module[i].operands() {
            if view::constant(module, operand).is_none() {
                steps = steps.checked_add(self.work(operand)?)?;
            }
        }
        (steps <= WORK_OF_PATTERNS).then_some(steps)
    }
}

/// Whether each element of an op is made of one of each operand, with little work.
fn is_light(op: &Op) -> bool {
    matches!(
        op,
        Op::Unary(_)
            | Op::Binary(_)
            | Op::Broadcast(_)
            | Op::Clamp(_)
            | Op::Compare(_)
            | Op::Concatenate(_)
            | Op::Convert(_)
            | Op::Pad(_)
            | Op::Reshape(_)
            | Op::Reverse(_)
            | Op::Select(_)
            | Op::Slice(_)
            | Op::Transpose(_)
    )
}

/// The value of an instruction that depends on constants only.
fn evaluate(
    module: &Module,
    i: InstructionId,
    known: &mut FxHashMap<InstructionId, Literal>,
) -> Option<Literal> {
    if let Op::Constant(constant) = &module[i].op {
        return Some((*constant.literal).clone());
    }
    if let Some(literal) = known.get(&i) {
        return Some(literal.clone());
    }
    let operands = module[i].operands().iter();
    let operands = operands.map(|&operand| evaluate(module, operand, known));
    let operands = operands.collect::<Option<_>>()?;
    let literal = evaluate_instruction(module, i, operands, &options()).ok()?;
    known.insert(i, literal.clone());
    Some(literal)
}

fn options() -> Options {
    Options { memory_limit: 1 << 30, step_limit: Some(WORK_AT_ONCE), ..Options::default() }
}

/// About how many steps computing an instruction takes; `None` for what is never folded.
fn work(module: &Module, i: InstructionId) -> Option<u64> {
    let count = |i: InstructionId| -> Option<u64> {
        Some(view::static_array(module, i)?.element_count()? as u64)
    };
    let result = match &module[i].op {
        // Several results, perhaps.
        Op::Reduce(_) | Op::Sort(_) => count(view::operand(module, i, 0))?,
        _ => count(i)?,
    };
    let first = || count(view::operand(module, i, 0));
    // Steps of a called computation, once.
    let body = |computation: ComputationId| module[computation].instructions().len() as u64;
    let steps = match &module[i].op {
        Op::Unary(_)
        | Op::Binary(_)
        | Op::BitcastConvert(_)
        | Op::Clamp(_)
        | Op::Compare(_)
        | Op::Concatenate(_)
        | Op::Convert(_)
        | Op::DynamicSlice(_)
        | Op::DynamicUpdateSlice(_)
        | Op::Gather(_)
        | Op::GetDimensionSize(_)
        | Op::Pad(_)
        | Op::ReducePrecision(_)
        | Op::Reshape(_)
        | Op::Reverse(_)
        | Op::Select(_)
        | Op::Slice(_)
        | Op::StochasticConvert(_)
        | Op::Transpose(_) => result,
        Op::Map(op) => result.checked_mul(body(op.to_apply))?,
        Op::Dot(op) => {
            let lhs = view::dims(module, view::operand(module, i, 0))?;
            let mut contracted = op.lhs_contracting_dims.iter().map(|&d| lhs[d as usize] as u64);
            contracted.try_fold(result, |steps, size| steps.checked_mul(size.max(1)))?
        }
        Op::Convolution(_) => {
            let kernel = count(view::operand(module, i, 1))?;
            result.checked_mul(kernel)?
        }
        Op::Reduce(op) => first()?.checked_mul(body(op.to_apply))?,
        Op::ReduceWindow(op) => {
            let mut window = op.window.dimensions.iter().map(|dimension| dimension.size as u64);
            let steps = window.try_fold(result, |steps, size| steps.checked_mul(size));
            steps?.checked_mul(body(op.to_apply))?
        }
        Op::Scatter(op) => {
            let updates = count(*module[i].operands().last()?)?;
            result.checked_add(updates.checked_mul(body(op.to_apply))?)?
        }
        Op::SelectAndScatter(op) => first()?.checked_mul(body(op.select) + body(op.scatter))?,
        Op::Sort(op) => {
            let elements = first()?;
            let levels = u64::from(elements.max(2).ilog2());
            elements.checked_mul(levels * body(op.to_apply))?
        }
        Op::Cholesky(_) | Op::TriangularSolve(_) | Op::Fft(_) => {
            // Cubic in the last size at worst.
            let size = *view::static_array(module, i)?.dims.last()? as u64;
            result.checked_mul(size)?
        }
        // A pattern is worth more than a literal; see above.
        Op::Broadcast(_) | Op::Iota(_) => return None,
        // Nothing to compute, or something that only a run knows.
        Op::Constant(_)
        | Op::Parameter(_)
        | Op::PartitionId(_)
        | Op::ReplicaId(_)
        | Op::Tuple(_)
        | Op::GetTupleElement(_)
        | Op::Infeed(_)
        | Op::Outfeed(_)
        | Op::Rng(_)
        | Op::RngBitGenerator(_)
        | Op::RngGetAndUpdateState(_)
        | Op::AddDependency(_)
        | Op::AfterAll(_)
        | Op::AllGather(_)
        | Op::AllGatherDone(_)
        | Op::AllGatherStart(_)
        | Op::AllReduce(_)
        | Op::AllReduceDone(_)
        | Op::AllReduceStart(_)
        | Op::AllToAll(_)
        | Op::AsyncDone(_)
        | Op::AsyncStart(_)
        | Op::AsyncUpdate(_)
        | Op::CollectiveBroadcast(_)
        | Op::CollectivePermute(_)
        | Op::CollectivePermuteDone(_)
        | Op::CollectivePermuteStart(_)
        | Op::CopyDone(_)
        | Op::CopyStart(_)
        | Op::RaggedAllToAll(_)
        | Op::Recv(_)
        | Op::RecvDone(_)
        | Op::ReduceScatter(_)
        | Op::Send(_)
        | Op::SendDone(_) => return None,
        // Put there so that it is not looked through, or to have a buffer of its own.
        Op::OptimizationBarrier(_) | Op::Copy(_) | Op::Domain(_) => return None,
        // A layout is needed to read it.
        Op::Bitcast(_) => return None,
        // Whole programs: how long they run is not known before they have.
        Op::Call(_)
        | Op::Conditional(_)
        | Op::CustomCall(_)
        | Op::Fusion(_)
        | Op::Scan(_)
        | Op::While(_) => return None,
        // Several results, or sizes that are not known, or too rare to have a cost here.
        Op::BatchNormGrad(_)
        | Op::BatchNormInference(_)
        | Op::BatchNormTraining(_)
        | Op::DynamicReshape(_)
        | Op::RaggedDot(_)
        | Op::ScaledDot(_)
        | Op::SetDimensionSize(_)
        | Op::TopK(_) => return None,
    };
    Some(steps)
}
