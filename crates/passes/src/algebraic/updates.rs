//! Choices between an array and the same with a few elements updated, as loops and branches under `vmap` make them:
//! rows that are done stay as they are. Only what is updated is chosen, and the rest of the array need not be gone
//! through.

use rxla_hlo::op::{DynamicSlice, Scatter, Select};
use rxla_hlo::{ArrayLiteral, Dims, ElementType, InstructionId, Module, Op, Shape};

use super::scatters::counted;
use crate::rewrite::NamedRule;
use crate::{rules, view};

pub(super) const RULES: &[NamedRule] = rules! {
    Select => [select_of_updates],
};

/// `select(p, scatter(x, at, y), x) => scatter(x, select(p, at, nowhere), y)`, if `p` is the same all over each window;
/// `select(p, dynamic-update-slice(x, y, at), x) => dynamic-update-slice(x, select(p, y, dynamic-slice(x, at)), at)`, if
/// `p` is the same wherever that is; so with several updates one after the other, and of either side
fn select_of_updates(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let Op::Select(_) = m[i].op else { return None };
    let &[p, a, b] = m[i].operands() else { return None };
    let choice = Choice::by(m, p)?;
    let ((base, mut updates), (other, more)) =
        (chain(m, i, a, (&choice, true)), chain(m, i, b, (&choice, false)));
    updates.extend(more);
    (base == other && !updates.is_empty()).then_some(())?;
    // Rows of a few numbers, of which one has its place: the choice stays where it is, since that is how loops are
    // known whose rows stay as they are (`tiling/ending.rs`).
    let is_fixed = |update: &Update| update.is_fixed(m) && !choice.dimensions.is_empty();
    (!updates.iter().any(is_fixed)).then_some(())?;
    let updated: i64 = updates.iter().map(|update| view::elements(m, update.values(m))).sum();
    // Else it is as much to choose of all.
    (2 * updated <= view::elements(m, base)).then_some(())?;
    Some(updates.iter().fold(base, |x, update| update.chosen(m, x, choice.condition)))
}

/// By what is chosen, and along which dimensions of the array that lies.
struct Choice {
    condition: InstructionId,
    dimensions: Dims,
}

impl Choice {
    fn by(m: &Module, p: InstructionId) -> Option<Choice> {
        let (condition, dimensions) = match &m[p].op {
            Op::Broadcast(op) => (view::operand(m, p, 0), op.dimensions.clone()),
            _ => (p, Dims::new()),
        };
        (view::dims(m, condition)?.len() == dimensions.len()).then_some(())?;
        Some(Choice { condition, dimensions })
    }
}

/// An update that is to take place only where a condition holds, or does not.
struct Update {
    id: InstructionId,
    is_wanted: bool,
    /// Along which dimensions the condition lies of what is chosen: of the indices, or of what is put.
    dimensions: Dims,
}

/// What `x`, which only `user` needs, is an update of, and the updates, the first one first.
fn chain(
    m: &Module,
    mut user: InstructionId,
    mut x: InstructionId,
    (choice, is_wanted): (&Choice, bool),
) -> (InstructionId, Vec<Update>) {
    let mut updates = Vec::new();
    while view::only_user(m, x) == Some(user) {
        let Some(dimensions) = dimensions(m, x, choice) else { break };
        updates.push(Update { id: x, is_wanted, dimensions });
        (user, x) = (x, view::operand(m, x, 0));
    }
    updates.reverse();
    (x, updates)
}

/// Along which dimensions a choice lies of what is to be chosen of an update, if that is one that can be.
fn dimensions(m: &Module, update: InstructionId, choice: &Choice) -> Option<Dims> {
    view::static_array(m, update)?;
    match (&m[update].op, m[update].operands()) {
        (Op::Scatter(op), &[_, indices, updates]) => {
            view::static_array(m, updates)?;
            of_indices(m, op, indices, choice)
        }
        (Op::DynamicUpdateSlice(_), [x, part, starts @ ..]) => {
            let (sizes, own) = (view::dims(m, *x)?, &view::static_array(m, *part)?.dims);
            let mut along = choice.dimensions.iter().map(|&dimension| dimension as usize);
            let is_whole = along.all(|dimension| sizes[dimension] == own[dimension]);
            (is_whole && starts.len() == own.len()).then(|| choice.dimensions.clone())
        }
        _ => None,
    }
}

/// Along which dimensions of the indices a choice lies that is the same all over each window.
fn of_indices(m: &Module, op: &Scatter, indices: InstructionId, choice: &Choice) -> Option<Dims> {
    let array = view::static_array(m, indices)?;
    nowhere(array.element_type)?;
    let along = |dimension: &i64| {
        let own = |among: &[i64]| among.iter().position(|other| other == dimension);
        if let Some(batch) = own(&op.input_batching_dims) {
            return Some(op.scatter_indices_batching_dims[batch]);
        }
        own(&op.inserted_window_dims)?;
        let component = own(&op.scatter_dims_to_operand_dims)?;
        counted(m, indices, op.index_vector_dim, component)
    };
    let dimensions = choice.dimensions.iter().map(along).collect::<Option<Dims>>()?;
    let sizes = view::dims(m, choice.condition)?.iter();
    let alike = |(&size, &dimension): (&i64, &i64)| array.dims[dimension as usize] == size;
    let fits = dimensions.is_sorted() && sizes.zip(&dimensions).all(alike);
    fits.then_some(dimensions)
}

/// A number that is the index of nothing. A window that begins there is left out.
fn nowhere(ty: ElementType) -> Option<ArrayLiteral> {
    match ty {
        ElementType::S32 => Some(ArrayLiteral::scalar(i32::MIN)),
        ElementType::S64 => Some(ArrayLiteral::scalar(i64::MIN)),
        _ => None,
    }
}

impl Update {
    /// What is put.
    fn values(&self, m: &Module) -> InstructionId {
        let index = if let Op::Scatter(_) = m[self.id].op { 2 } else { 1 };
        view::operand(m, self.id, index)
    }

    /// Whether it goes to one place always.
    fn is_fixed(&self, m: &Module) -> bool {
        let Op::DynamicUpdateSlice(_) = m[self.id].op else { return false };
        m[self.id].operands()[2..].iter().all(|&start| view::constant(m, start).is_some())
    }

    /// The update of `x` where it is wanted.
    fn chosen(&self, m: &mut Module, x: InstructionId, condition: InstructionId) -> InstructionId {
        let mut operands = m[self.id].operands().to_vec();
        operands[0] = x;
        let mut op = m[self.id].op.clone();
        match &mut op {
            Op::Scatter(op) => {
                op.indices_are_sorted = false;
                let ty = view::element_type(m, operands[1]).and_then(nowhere);
                let nowhere = view::splat_value(m, operands[1], ty.expect("it was looked at"));
                operands[1] = self.choice(m, condition, operands[1], nowhere);
            }
            _ => {
                let sizes = view::dims(m, operands[1]).expect("an array").clone();
                let mut place = operands.clone();
                place.remove(1);
                let slice = DynamicSlice { dynamic_slice_sizes: sizes };
                let there = view::add_same(m, operands[1], slice, &place);
                operands[1] = self.choice(m, condition, operands[1], there);
            }
        }
        view::add_same(m, self.id, op, &operands)
    }

    fn choice(
        &self,
        m: &mut Module,
        condition: InstructionId,
        wanted: InstructionId,
        other: InstructionId,
    ) -> InstructionId {
        let shape =
            Shape::array(ElementType::Pred, view::dims(m, wanted).expect("an array").clone());
        let repeat = Op::broadcast(self.dimensions.iter().copied());
        let condition = view::add_with_shape(m, wanted, repeat, shape, &[condition]);
        let [a, b] = if self.is_wanted { [wanted, other] } else { [other, wanted] };
        view::add_same(m, wanted, Select {}, &[condition, a, b])
    }
}
