//! Copies, tokens and sizes that are known.

use rxla_hlo::op::{AfterAll, Copy_};
use rxla_hlo::{InstructionId, Module, Op};
use smallvec::SmallVec;

use crate::rewrite::NamedRule;
use crate::{rules, view};

pub(super) const RULES: &[NamedRule] = rules! {
    Copy => [copy_of_copy],
    AfterAll => [after_one, after_the_same, after_joined],
    AddDependency => [dependency_on_nothing],
    GetDimensionSize => [size_known],
    Map => [map_of_parameter],
};

/// `copy(copy(x)) => copy(x)`
fn copy_of_copy(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let Op::Copy(_) = m[i].op else { return None };
    let inner = view::operand(m, i, 0);
    let Op::Copy(_) = m[inner].op else { return None };
    let x = view::operand(m, inner, 0);
    Some(view::add_same(m, i, Copy_ {}, &[x]))
}

fn tokens(m: &Module, i: InstructionId) -> Option<SmallVec<[InstructionId; 4]>> {
    let Op::AfterAll(_) = m[i].op else { return None };
    Some(m[i].operands().into())
}

/// `after-all(t) => t`
fn after_one(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let tokens = tokens(m, i)?;
    let [token] = tokens[..] else { return None };
    Some(token)
}

/// `after-all(t, u, t) => after-all(t, u)`
fn after_the_same(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let tokens = tokens(m, i)?;
    let mut kept: SmallVec<[InstructionId; 4]> = SmallVec::new();
    for &token in &tokens {
        if !kept.contains(&token) {
            kept.push(token);
        }
    }
    (kept.len() < tokens.len()).then(|| view::add_same(m, i, AfterAll {}, &kept))
}

/// `after-all(after-all(t, u), v) => after-all(t, u, v)`, and what is after nothing goes
fn after_joined(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let outer = tokens(m, i)?;
    let mut flat: SmallVec<[InstructionId; 4]> = SmallVec::new();
    for &token in &outer {
        match tokens(m, token) {
            Some(inner) if inner.is_empty() || view::only_user(m, token).is_some() => {
                flat.extend(inner)
            }
            _ => flat.push(token),
        }
    }
    (flat != outer).then(|| view::add_same(m, i, AfterAll {}, &flat))
}

/// `add-dependency(x, after-all()) => x`
fn dependency_on_nothing(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let Op::AddDependency(_) = m[i].op else { return None };
    let [x, token] = *m[i].operands() else { return None };
    tokens(m, token)?.is_empty().then_some(x)
}

/// `get-dimension-size(x) => n` of a static dimension
fn size_known(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let Op::GetDimensionSize(op) = &m[i].op else { return None };
    let shape = m[view::operand(m, i, 0)].shape.as_array()?;
    let dimension = usize::try_from(*op.dimensions.first()?).ok()?;
    (!shape.is_dynamic_dimension(dimension)).then_some(())?;
    let size = shape.dims[dimension];
    super::integers::splat_integer(m, i, size)
}

/// `map(x, f) => x` where `f` returns its parameter
fn map_of_parameter(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let Op::Map(op) = &m[i].op else { return None };
    let root = m[op.to_apply].root();
    let Op::Parameter(parameter) = &m[root].op else { return None };
    m[i].operands().get(usize::try_from(parameter.number).ok()?).copied()
}
