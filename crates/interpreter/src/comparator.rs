//! Comparators of `sort` that compare keys, recognised so that the keys are computed once.
//!
//! A key is any function of one operand's element: the comparator applies it to both sides and
//! compares with `LT` or `GT`. Several keys in order of weight are
//! `lt(k0) | (eq(k0) & (lt(k1) | …))`.

use std::cell::Cell;

use rxla_hlo::op::{BinaryKind, Compare, ComparisonDirection, ComparisonType};
use rxla_hlo::{ComputationId, InstructionId, Module, Op};

/// What is known about a comparator.
pub(crate) enum Comparator {
    /// By keys, the first one weighing most.
    Keys(Vec<Key>),
    General,
}

/// One key of a comparator.
pub(crate) struct Key {
    /// The instruction that computes it from the parameters of the left side.
    pub(crate) root: InstructionId,
    pub(crate) descending: bool,
    pub(crate) comparison_type: Option<ComparisonType>,
}

/// Comparators beyond this size are not looked into, and no more pairs of instructions than this
/// are compared: shared subexpressions could make them many.
const MAX_INSTRUCTIONS: usize = 200;
const MAX_PAIRS: u32 = 10_000;

/// A module and how many pairs may still be compared.
struct Search<'m> {
    module: &'m Module,
    pairs: Cell<u32>,
}

impl Search<'_> {
    /// Whether another pair may be looked at.
    fn go_on(&self) -> bool {
        let pairs = self.pairs.get();
        self.pairs.set(pairs.saturating_sub(1));
        pairs > 0
    }
}

impl Comparator {
    pub(crate) fn of(module: &Module, computation: ComputationId) -> Comparator {
        if module[computation].instructions().len() > MAX_INSTRUCTIONS {
            return Comparator::General;
        }
        let mut keys = Vec::new();
        let search = Search { module, pairs: Cell::new(MAX_PAIRS) };
        match collect(&search, module[computation].root(), &mut keys) {
            Some(()) => Comparator::Keys(keys),
            None => Comparator::General,
        }
    }
}

/// Adds the keys of `root`, or gives up.
fn collect(search: &Search<'_>, root: InstructionId, keys: &mut Vec<Key>) -> Option<()> {
    let module = search.module;
    match &module[root].op {
        Op::Compare(compare) => {
            keys.push(key(search, root, compare)?);
            Some(())
        }
        Op::Binary(or) if or.kind == BinaryKind::Or => {
            let [a, b] = *module[root].operands() else { return None };
            let (less, and) = if matches!(module[a].op, Op::Compare(_)) { (a, b) } else { (b, a) };
            let Op::Compare(compare) = &module[less].op else { return None };
            let first = key(search, less, compare)?;
            match &module[and].op {
                Op::Binary(binary) if binary.kind == BinaryKind::And => {}
                _ => return None,
            }
            let [a, b] = *module[and].operands() else { return None };
            let (equal, rest) = if is_equality(module, a) { (a, b) } else { (b, a) };
            let same = is_equality(module, equal) && {
                let [left, right] = *module[equal].operands() else { return None };
                let [first_left, first_right] = *module[less].operands() else { return None };
                same(search, left, first_left) && same(search, right, first_right)
                    || same(search, left, first_right) && same(search, right, first_left)
            };
            if !same {
                return None;
            }
            keys.push(first);
            collect(search, rest, keys)
        }
        _ => None,
    }
}

fn is_equality(module: &Module, id: InstructionId) -> bool {
    matches!(&module[id].op, Op::Compare(compare) if compare.direction == ComparisonDirection::Eq)
}

fn key(search: &Search<'_>, id: InstructionId, compare: &Compare) -> Option<Key> {
    let module = search.module;
    let less = match compare.direction {
        ComparisonDirection::Lt => true,
        ComparisonDirection::Gt => false,
        ComparisonDirection::Eq
        | ComparisonDirection::Ne
        | ComparisonDirection::Ge
        | ComparisonDirection::Le => return None,
    };
    let [left, right] = *module[id].operands() else { return None };
    let comparison_type = compare.comparison_type;
    if mirrored(search, left, right) {
        Some(Key { root: left, descending: !less, comparison_type })
    } else if mirrored(search, right, left) {
        Some(Key { root: right, descending: less, comparison_type })
    } else {
        None
    }
}

/// Whether `right` is `left` with the right side's parameters (odd numbers) for the left side's.
fn mirrored(search: &Search<'_>, left: InstructionId, right: InstructionId) -> bool {
    let module = search.module;
    if !search.go_on() {
        return false;
    }
    match (&module[left].op, &module[right].op) {
        (Op::Parameter(left), Op::Parameter(right)) => {
            left.number % 2 == 0 && right.number == left.number + 1
        }
        (left_op, right_op) => {
            (left_op.is_elementwise() || matches!(left_op, Op::Constant(_)))
                && left_op.called_computations().is_empty()
                && left_op == right_op
                && module[left].shape.compatible(&module[right].shape)
                && module[left].operands().len() == module[right].operands().len()
                && std::iter::zip(module[left].operands(), module[right].operands())
                    .all(|(&left, &right)| mirrored(search, left, right))
        }
    }
}

/// Whether two instructions compute the same.
fn same(search: &Search<'_>, a: InstructionId, b: InstructionId) -> bool {
    let module = search.module;
    if !search.go_on() {
        return false;
    }
    a == b
        || !matches!(module[a].op, Op::Parameter(_))
            && module[a].op == module[b].op
            && module[a].shape.compatible(&module[b].shape)
            && module[a].operands().len() == module[b].operands().len()
            && std::iter::zip(module[a].operands(), module[b].operands())
                .all(|(&a, &b)| same(search, a, b))
}
