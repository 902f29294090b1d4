//! Recognises carried values that are reductions: combined with one thing after another by one
//! operation, or chosen from candidates as in the search for a maximum and its place.

use std::collections::{BTreeSet, HashMap};

use crate::ir::{BinaryOp, Block, Carried, Function, Op, Statement, Value};
use crate::types::{Scalar, Type};

/// What a loop does with a carried value.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Reduction {
    /// Nothing.
    Invariant,
    /// Combines it with values that do not depend on it.
    By(BinaryOp),
    /// Keeps it or takes another value in its place; see [`Selection`].
    Selected,
}

/// Carried values chosen together: `(v, i) = better(x, v) ? (x, j) : (v, i)`.
#[derive(Debug, Default)]
pub(super) struct Selection {
    /// Positions of the carried values, with the candidate for each.
    pub(super) members: Vec<(usize, Value)>,
    /// The statements of the body, in order, that make the next values from the carried ones and
    /// the candidates (and constants, and what is defined outside the loop).
    pub(super) statements: Vec<usize>,
}

/// What the loop does with each carried value, or `None` if one is something else.
pub(super) fn recognise(
    function: &Function,
    carried: &[Carried],
    body: &Block,
) -> Option<(Vec<Reduction>, Selection)> {
    let mut uses = vec![0u32; function.types.len()];
    body.for_each_use(&mut |value| uses[value.0 as usize] += 1);
    let mut selected = Vec::new();
    let mut kinds = Vec::new();
    for (position, (carried, &next)) in carried.iter().zip(&body.yields).enumerate() {
        let mut op = None;
        kinds.push(if carried.param == next {
            Reduction::Invariant
        } else if chain(&uses, body, carried.param, next, &mut op) {
            Reduction::By(op?)
        } else {
            selected.push(position);
            Reduction::Selected
        });
    }
    let selection = if selected.is_empty() {
        Selection::default()
    } else {
        selection(function, carried, body, &selected)?
    };
    Some((kinds, selection))
}

/// Whether `to` is `from` combined by one operation with this and that, nothing between them being
/// used elsewhere. Reductions in loops inside the block are part of it.
fn chain(uses: &[u32], block: &Block, from: Value, to: Value, op: &mut Option<BinaryOp>) -> bool {
    let mut at = from;
    for statement in &block.statements {
        let mut touches = false;
        statement.for_each_use(&mut |value| touches |= value == at);
        if !touches {
            continue;
        }
        if uses[at.0 as usize] != 1 {
            return false;
        }
        let mut by = |found: BinaryOp| found.is_reducer() && *op.get_or_insert(found) == found;
        match statement {
            Statement::Let { result, op: Op::Binary(found, ..) } if by(*found) => at = *result,
            Statement::Let { result, op: Op::Fma(_, _, sum) }
                if *sum == at && by(BinaryOp::Add) =>
            {
                at = *result;
            }
            Statement::For { carried, body, .. } => {
                let position = carried.iter().position(|carried| carried.init == at);
                let Some(position) = position else { return false };
                let inner = carried[position];
                if !chain(uses, body, inner.param, body.yields[position], op) {
                    return false;
                }
                at = inner.result;
            }
            _ => return false,
        }
    }
    at == to && op.is_some() && uses[at.0 as usize] == 1
}

fn selection(
    function: &Function,
    carried: &[Carried],
    body: &Block,
    positions: &[usize],
) -> Option<Selection> {
    // Where the body defines what, and what depends on the carried values.
    let mut definitions: HashMap<Value, (usize, &Op)> = HashMap::new();
    let mut dependent: Vec<Value> =
        positions.iter().map(|&position| carried[position].param).collect();
    for (index, statement) in body.statements.iter().enumerate() {
        let mut touched = false;
        statement.for_each_use(&mut |value| touched |= dependent.contains(&value));
        match statement {
            Statement::Let { result, op } => {
                definitions.insert(*result, (index, op));
                if touched && !is_elementwise(op) {
                    return None;
                }
                if touched {
                    dependent.push(*result);
                }
            }
            _ if touched => return None,
            _ => statement.for_each_definition(|value| {
                // Not to be computed again: it stands for something that is not pure.
                definitions.insert(value, (index, &Op::LaneIndex));
            }),
        }
    }
    let mut selection = Selection::default();
    for &position in positions {
        let mut candidates = BTreeSet::new();
        let param = carried[position].param;
        let next = body.yields[position];
        leaves(&definitions, &dependent, param, next, &mut candidates)?;
        let mut candidates = candidates.into_iter();
        let (Some(candidate), None) = (candidates.next(), candidates.next()) else { return None };
        if selection.members.iter().any(|member| member.1 == candidate) {
            return None;
        }
        selection.members.push((position, candidate));
    }
    let mut statements = BTreeSet::new();
    for &position in positions {
        slice(&definitions, &selection.members, body.yields[position], &mut statements)?;
    }
    selection.statements = statements.into_iter().collect();
    _ = function;
    Some(selection)
}

/// Collects what `value`, made from a carried param by selections, may be apart from it.
fn leaves(
    definitions: &HashMap<Value, (usize, &Op)>,
    dependent: &[Value],
    param: Value,
    value: Value,
    candidates: &mut BTreeSet<Value>,
) -> Option<()> {
    if value == param {
        return Some(());
    }
    if !dependent.contains(&value) {
        candidates.insert(value);
        return Some(());
    }
    let (a, b) = match definitions.get(&value)?.1 {
        Op::Select(_, a, b) => (a, b),
        Op::Binary(op, a, b) if op.is_choice() => (a, b),
        _ => return None,
    };
    leaves(definitions, dependent, param, *a, candidates)?;
    leaves(definitions, dependent, param, *b, candidates)
}

/// Collects the statements that `value` needs, back to candidates and carried params.
fn slice(
    definitions: &HashMap<Value, (usize, &Op)>,
    members: &[(usize, Value)],
    value: Value,
    statements: &mut BTreeSet<usize>,
) -> Option<()> {
    if members.iter().any(|member| member.1 == value) {
        return Some(());
    }
    // Params and what is defined outside have no definition in the body.
    let Some((index, op)) = definitions.get(&value) else { return Some(()) };
    if !matches!(op, Op::Constant { .. }) && !is_elementwise(op) {
        return None;
    }
    if !statements.insert(*index) {
        return Some(());
    }
    let mut fine = Some(());
    op.for_each_operand(|operand| {
        if fine.is_some() {
            fine = slice(definitions, members, operand, statements);
        }
    });
    fine
}

fn is_elementwise(op: &Op) -> bool {
    match op {
        Op::Unary(..)
        | Op::Binary(..)
        | Op::Fma(..)
        | Op::Compare(..)
        | Op::Select(..)
        | Op::Convert(..) => true,
        Op::Constant { .. }
        | Op::Splat(_)
        | Op::LaneIndex
        | Op::Extract(..)
        | Op::Reduce(..)
        | Op::Shuffle(..)
        | Op::Load { .. }
        | Op::Offset { .. }
        | Op::Alloca { .. } => false,
    }
}

/// The bits that an operation leaves everything as it is with.
pub(super) fn identity(op: BinaryOp, ty: Type) -> u64 {
    let scalar = ty.scalar;
    let ones = u64::MAX >> (64 - scalar.bits());
    let sign = 1u64 << (scalar.bits() - 1);
    let infinity = match scalar {
        Scalar::F16 => 0x7c00,
        Scalar::BF16 => 0x7f80,
        Scalar::F32 => 0x7f80_0000,
        Scalar::F64 => 0x7ff0_0000_0000_0000,
        Scalar::I1 | Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64 | Scalar::Ptr => 0,
    };
    match op {
        // +0 would turn -0 into +0.
        BinaryOp::Add if scalar.is_float() => sign,
        BinaryOp::Mul if scalar.is_float() => crate::evaluate::float::from_f64(scalar, 1.0),
        BinaryOp::Mul => 1,
        BinaryOp::FMin => infinity,
        BinaryOp::FMax => infinity | sign,
        BinaryOp::SMin => ones & !sign,
        BinaryOp::SMax => sign,
        BinaryOp::UMin | BinaryOp::And => ones,
        BinaryOp::Add | BinaryOp::UMax | BinaryOp::Or | BinaryOp::Xor => 0,
        BinaryOp::Sub
        | BinaryOp::FDiv
        | BinaryOp::FRem
        | BinaryOp::SDiv
        | BinaryOp::UDiv
        | BinaryOp::SRem
        | BinaryOp::URem
        | BinaryOp::Shl
        | BinaryOp::LShr
        | BinaryOp::AShr
        | BinaryOp::CopySign
        | BinaryOp::Atan2
        | BinaryOp::Pow => unreachable!("`{}` reduces nothing", op.name()),
    }
}
