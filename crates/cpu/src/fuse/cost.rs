//! What it costs to compute, store and load elements, in cycles of a vectorised loop.

use rxla_hlo::op::{Binary, Gather, Unary};
use rxla_hlo::{ArrayShape, BinaryKind, ElementType, InstructionId, Module, Op, Shape, UnaryKind};

use crate::program::joins;

/// Cycles to store or load a byte that the cache holds.
pub(super) const BYTE: f64 = 0.1;

/// Cycles that a kernel of its own costs beside its work.
pub(super) const KERNEL: f64 = 30.0;

/// A `dot` whose elements take no more products than this is computed where it is needed, if it has
/// many elements: few are no trouble to store.
const FEW_PRODUCTS: i64 = 4;
const MANY_RESULTS: usize = 1024;

/// How an instruction takes part in a fusion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// Computes any element when asked.
    Lazy,
    /// Runs a loop of its own, so that it can only be what others are fused into.
    Root,
    /// Takes no part.
    Alone,
}

pub(super) fn role(module: &Module, id: InstructionId) -> Role {
    let role = match products(module, id) {
        // The gradient of weights in a loop: what few products make is added where the sum lies.
        Some(count) if count <= FEW_PRODUCTS && elements(module, id) >= MANY_RESULTS => Role::Lazy,
        None if joins(module, id) => Role::Alone,
        _ => role_of(&module[id].op),
    };
    let array = module[id].shape.as_array().is_some_and(|array| array.is_static());
    let fits = match role {
        Role::Lazy => array,
        Role::Root | Role::Alone => true,
    };
    if role == Role::Alone || (fits && crate::kernels::supports(module, id)) {
        role
    } else {
        Role::Alone
    }
}

/// Of how many products each element of a `dot` is the sum.
fn products(module: &Module, id: InstructionId) -> Option<i64> {
    let Op::Dot(dot) = &module[id].op else { return None };
    let left = module.operand_shape(id, 0).as_array()?;
    Some(dot.lhs_contracting_dims.iter().map(|&dimension| left.dims[dimension as usize]).product())
}

fn role_of(op: &Op) -> Role {
    match op {
        Op::Unary(_)
        | Op::Binary(_)
        | Op::BitcastConvert(_)
        | Op::Broadcast(_)
        | Op::Clamp(_)
        | Op::Compare(_)
        | Op::Concatenate(_)
        | Op::Convert(_)
        | Op::DynamicSlice(_)
        | Op::Gather(_)
        | Op::Iota(_)
        | Op::Pad(_)
        | Op::ReducePrecision(_)
        | Op::Reshape(_)
        | Op::Reverse(_)
        | Op::Select(_)
        | Op::Slice(_)
        | Op::Transpose(_) => Role::Lazy,
        Op::DynamicUpdateSlice(_) | Op::Reduce(_) => Role::Root,
        Op::AddDependency(_)
        | Op::AfterAll(_)
        | Op::AllGather(_)
        | Op::AllGatherStart(_)
        | Op::AllGatherDone(_)
        | Op::AllReduce(_)
        | Op::AllReduceStart(_)
        | Op::AllReduceDone(_)
        | Op::AllToAll(_)
        | Op::AsyncStart(_)
        | Op::AsyncUpdate(_)
        | Op::AsyncDone(_)
        | Op::BatchNormGrad(_)
        | Op::BatchNormInference(_)
        | Op::BatchNormTraining(_)
        | Op::Bitcast(_)
        | Op::Call(_)
        | Op::Cholesky(_)
        | Op::CollectiveBroadcast(_)
        | Op::CollectivePermute(_)
        | Op::CollectivePermuteStart(_)
        | Op::CollectivePermuteDone(_)
        | Op::Conditional(_)
        | Op::Constant(_)
        | Op::Convolution(_)
        | Op::Copy(_)
        | Op::CopyStart(_)
        | Op::CopyDone(_)
        | Op::CustomCall(_)
        | Op::Domain(_)
        | Op::Dot(_)
        | Op::DynamicReshape(_)
        | Op::Fft(_)
        | Op::Fusion(_)
        | Op::GetDimensionSize(_)
        | Op::GetTupleElement(_)
        | Op::Infeed(_)
        | Op::Map(_)
        | Op::OptimizationBarrier(_)
        | Op::Outfeed(_)
        | Op::Parameter(_)
        | Op::PartitionId(_)
        | Op::RaggedAllToAll(_)
        | Op::RaggedDot(_)
        | Op::Recv(_)
        | Op::RecvDone(_)
        | Op::ReduceScatter(_)
        | Op::ReduceWindow(_)
        | Op::ReplicaId(_)
        | Op::Rng(_)
        | Op::RngBitGenerator(_)
        | Op::RngGetAndUpdateState(_)
        | Op::ScaledDot(_)
        | Op::Scan(_)
        | Op::Scatter(_)
        | Op::SelectAndScatter(_)
        | Op::Send(_)
        | Op::SendDone(_)
        | Op::SetDimensionSize(_)
        | Op::Sort(_)
        | Op::StochasticConvert(_)
        | Op::TopK(_)
        | Op::TriangularSolve(_)
        | Op::Tuple(_)
        | Op::While(_) => Role::Alone,
    }
}

/// Cycles to compute one element from its operands' elements.
pub(super) fn work(module: &Module, id: InstructionId) -> f64 {
    let cycles = match &module[id].op {
        Op::Unary(Unary { kind, .. }) => unary(*kind),
        Op::Binary(Binary { kind }) => {
            let ty = module.operand_shape(id, 0).as_array().map(|array| array.element_type);
            binary(*kind, ty.is_some_and(ElementType::is_integer))
        }
        Op::Gather(_) => 3.0,
        Op::Reduce(_) => {
            let operand = elements(module, module[id].operands()[0]);
            operand as f64 / elements(module, id).max(1) as f64 * 0.3
        }
        Op::Dot(_) => products(module, id).unwrap_or(0) as f64 * 0.6,
        Op::Pad(_) | Op::Concatenate(_) | Op::DynamicSlice(_) => 0.5,
        // No more than to load it.
        Op::Iota(_) => 0.0,
        // A mask, made of indices, perhaps beside a number of each row: where it hides the end of a row, nothing is
        // computed there.
        Op::Compare(_)
            if module[id].operands().iter().all(|&operand| {
                matches!(module[operand].op, Op::Broadcast(_))
                    || is_made(module, operand, MADE_DEPTH)
            }) =>
        {
            0.1
        }
        Op::Broadcast(_) | Op::Reshape(_) | Op::Slice(_) => 0.1,
        Op::ReducePrecision(_) | Op::Transpose(_) => 1.0,
        _ => 0.3,
    };
    let complex = module[id].shape.as_array().is_some_and(|a| a.element_type.is_complex());
    if complex { cycles * 4.0 } else { cycles }
}

fn unary(kind: UnaryKind) -> f64 {
    use UnaryKind::*;
    match kind {
        Abs | Ceil | Floor | Imag | IsFinite | Negate | Not | Real | RoundNearestEven | Sign => 0.3,
        RoundNearestAfz | CountLeadingZeros | PopulationCount => 1.0,
        Sqrt => 1.5,
        Rsqrt => 2.0,
        Exp => 2.5,
        Log | Logistic | Tanh | Expm1 | Erf => 4.0,
        Log1p | Sin | Cos | Tan | Cosh | Sinh | Cbrt => 6.0,
        Acos | Acosh | Asin | Asinh | Atanh => 8.0,
    }
}

fn binary(kind: BinaryKind, integer: bool) -> f64 {
    use BinaryKind::*;
    match kind {
        Add | And | Complex | Maximum | Minimum | Multiply | Or | ShiftLeft
        | ShiftRightArithmetic | ShiftRightLogical | Subtract | Xor => 0.3,
        Mulhi => 1.0,
        Divide if integer => 6.0,
        Divide => 1.5,
        Remainder => 8.0,
        Atan2 | Power => 10.0,
    }
}

/// Whether an operand of a fused instruction may be computed on demand.
pub(super) fn may_fuse_operand(module: &Module, user: InstructionId, index: usize) -> bool {
    match &module[user].op {
        // What is updated in place has to be there, and indices are scalars.
        Op::DynamicUpdateSlice(_) => index == 1,
        // Initial values are scalars.
        Op::Reduce(_) => index < module[user].operands().len() / 2,
        _ => true,
    }
}

/// How many elements of an operand are computed where `count` elements of the user are.
pub(super) fn operand_count(module: &Module, user: InstructionId, index: usize, count: f64) -> f64 {
    let elements = |id: InstructionId| elements(module, id) as f64;
    let operand = module[user].operands()[index];
    let share = count / elements(user).max(1.0);
    match &module[user].op {
        Op::DynamicUpdateSlice(_) | Op::Reduce(_) => elements(operand),
        // Each element of the result comes from one operand.
        Op::Concatenate(_) | Op::Pad(_) => share * elements(operand),
        // Where a slice is copied in the innermost loop, its place is found before that.
        Op::Gather(gather) if index == 1 && copies_slices(gather, &module[user].shape) => {
            share * elements(operand)
        }
        Op::Dot(_) => count * products(module, user).unwrap_or(1) as f64,
        _ => count,
    }
}

/// Whether the last dimensions of a gather's result are those of its slices.
fn copies_slices(gather: &Gather, result: &Shape) -> bool {
    let rank = result.as_array().map_or(0, ArrayShape::rank) as i64;
    let first = rank - gather.offset_dims.len() as i64;
    !gather.offset_dims.is_empty() && gather.offset_dims.iter().copied().eq(first..rank)
}

/// Elements of an array; 0 for what is none.
pub(super) fn elements(module: &Module, id: InstructionId) -> usize {
    module[id].shape.as_array().and_then(|array| array.element_count()).unwrap_or(0)
}

pub(super) fn bytes(module: &Module, id: InstructionId) -> usize {
    module[id].shape.byte_size().unwrap_or(0)
}

/// Whether an operand's elements are needed at the places of the user's own.
pub(super) fn same_place(module: &Module, user: InstructionId, index: usize) -> bool {
    let op = &module[user].op;
    (op.is_elementwise() || matches!(op, Op::BitcastConvert(_)))
        && elements(module, module[user].operands()[index]) == elements(module, user)
}

/// How many instructions are looked at one after the other to see where elements come from.
pub(super) const MADE_DEPTH: u32 = 6;

/// Whether elements are made from indices and single values, with no array to be read.
pub(super) fn is_made(module: &Module, id: InstructionId, depth: u32) -> bool {
    let op = &module[id].op;
    if elements(module, id) == 1 || matches!(op, Op::Iota(_)) {
        return true;
    }
    let passes = op.is_elementwise() || matches!(op, Op::Broadcast(_));
    passes
        && depth > 0
        && module[id].operands().iter().all(|&operand| is_made(module, operand, depth - 1))
}
