//! Products of which a mask hides the last columns: `select(row + start >= column, f(product), …)`, as in causal
//! attention. Columns that no row of a tile looks at are zero instead: `select` drops them anyway.

use rxla_hlo::op::{Compare, ComparisonDirection, Dot, Iota, Select};
use rxla_hlo::{
    ArrayLiteral, ArrayShape, BinaryKind, ComputationId, ElementType, InstructionId, Literal,
    Module, Op, Shape, UnaryKind,
};
use rxla_passes::view;

/// The columns that are looked at: those before a number and so many more.
pub(crate) struct Seen {
    /// A number of the same computation.
    pub(super) before: InstructionId,
    pub(super) more: i64,
}

/// Numbers of a magnitude up to this cannot wrap in a mask, sizes and constants included.
pub(crate) const LARGEST: i64 = 1 << 29;
/// Instructions that a search may go through.
const SEARCH: usize = 64;

/// Writes zeros for the other columns of a product, in a computation with the number.
pub(super) fn hide(
    module: &mut Module,
    computation: ComputationId,
    product: InstructionId,
    before: InstructionId,
    more: i64,
) -> InstructionId {
    let number = view::element_type(module, before).expect("a number");
    let value = ArrayShape::scalar(view::element_type(module, product).expect("an array"));
    let dims = view::dims(module, product).expect("an array").clone();
    let array = |ty: ElementType| Shape::array(ty, dims.clone());
    let more = module.add_constant(
        computation,
        match number {
            ElementType::S32 => Literal::scalar(more as i32),
            _ => Literal::scalar(more),
        },
    );
    let zero = ArrayLiteral::zeros(&value).expect("a number takes little memory");
    let zero = module.add_constant(computation, Literal::Array(zero));
    let mut add = |name: &str, op: Op, shape: Shape, operands: &[InstructionId]| {
        module.add_instruction(computation, name, op, shape, operands)
    };
    let sum = Op::binary(BinaryKind::Add);
    let end = add("end", sum, Shape::array(number, []), &[before, more]);
    let iota = Iota { iota_dimension: dims.len() as i64 - 1 };
    let columns = add("columns", iota.into(), array(number), &[]);
    let ends = add("ends", Op::broadcast([]), array(number), &[end]);
    let less = Compare { direction: ComparisonDirection::Lt, comparison_type: None };
    let shown = add("shown", less.into(), array(ElementType::Pred), &[columns, ends]);
    let zeros = add("zeros", Op::broadcast([]), array(value.element_type), &[zero]);
    let select = Op::Select(Select {});
    add("seen", select, array(value.element_type), &[shown, product, zeros])
}

/// What [`hide`] wrote: the product, the number, and how many more columns than that are shown.
pub(crate) fn shown(
    module: &Module,
    seen: InstructionId,
) -> Option<(InstructionId, InstructionId, i64)> {
    let operands = |id: InstructionId| module[id].operands();
    let (Op::Select(_), [shown, product, zeros]) = (&module[seen].op, operands(seen)) else {
        return None;
    };
    let Op::Compare(compare) = &module[*shown].op else { return None };
    let [columns, ends] = [operands(*shown)[0], operands(*shown)[1]];
    let end = view::broadcast_scalar(module, ends)?;
    let [before, more] = view::binary(module, end, BinaryKind::Add)?;
    let last = view::dims(module, seen)?.len() as i64 - 1;
    let counts = matches!(&module[columns].op, Op::Iota(iota) if iota.iota_dimension == last);
    let (is_less, more) =
        (compare.direction == ComparisonDirection::Lt, view::splat(module, more)?);
    let hides = is_less && counts && view::is_positive_zero(module, *zeros);
    hides.then_some((*product, before, more.integer(0)?))
}

/// The columns of a product that are looked at, if those are not all by a comparison of rows and columns.
pub(super) fn seen_columns(module: &Module, dot: InstructionId) -> Option<Seen> {
    let Op::Dot(op) = &module[dot].op else { return None };
    let dims = view::dims(module, dot)?;
    let [.., rows, _] = dims[..] else { return None };
    // One dimension of rows, one of columns.
    let free = |side: usize, op: &Dot| {
        let (batch, summed) = match side {
            0 => (&op.lhs_batch_dims, &op.lhs_contracting_dims),
            _ => (&op.rhs_batch_dims, &op.rhs_contracting_dims),
        };
        let rank = view::dims(module, view::operand(module, dot, side)).map_or(0, |d| d.len());
        rank - batch.len() - summed.len()
    };
    if [free(0, op), free(1, op)] != [1, 1] {
        return None;
    }
    let mut value = dot;
    for _ in 0..SEARCH {
        let user = view::only_user(module, value)?;
        if view::is_root(module, value) {
            return None;
        }
        let rank = view::dims(module, user)?.len();
        let axes = [rank.checked_sub(2), rank.checked_sub(1)];
        if let Op::Reshape(_) = &module[user].op {
            reshaped(module, value, user, axes)?;
            value = user;
            continue;
        }
        if let (Op::Select(_), [mask, on_true, on_false]) =
            (&module[user].op, module[user].operands())
        {
            let shown = match (*on_true == value, *on_false == value) {
                (true, false) => Some(true),
                (false, true) => Some(false),
                _ => None,
            };
            let bound = shown.and_then(|shown| bound(module, *mask, axes, shown, SEARCH));
            if let Some(Place { number: Some(before), constant, .. }) = bound
                && !reads(module, before, dot)
            {
                return Some(Seen { before, more: rows + constant });
            }
        }
        if !module[user].op.is_elementwise() {
            return None;
        }
        value = user;
    }
    None
}

/// Whether a value is made of another one, as far as can be told.
fn reads(module: &Module, value: InstructionId, other: InstructionId) -> bool {
    let mut stack = vec![value];
    for _ in 0..SEARCH {
        let Some(id) = stack.pop() else { return false };
        if id == other {
            return true;
        }
        stack.extend(module[id].operands());
        stack.extend(module[id].control_predecessors());
    }
    true
}

/// `row · rows + column · columns + number + constant`, the number with a sign.
#[derive(Clone, Copy, Default)]
struct Place {
    rows: i64,
    columns: i64,
    number: Option<InstructionId>,
    sign: i64,
    constant: i64,
}

impl Place {
    fn minus(self, other: Place) -> Option<Place> {
        let (number, sign) = match (self.number, other.number) {
            (Some(_), Some(_)) => return None,
            (Some(number), None) => (Some(number), self.sign),
            (None, Some(number)) => (Some(number), -other.sign),
            (None, None) => (None, 0),
        };
        Some(Place {
            rows: self.rows - other.rows,
            columns: self.columns - other.columns,
            number,
            sign,
            constant: self.constant.checked_sub(other.constant)?,
        })
    }

    fn negated(self) -> Option<Place> {
        Place::default().minus(self)
    }
}

/// Where a mask has this value, `column < row + 1 + number + constant`: the last two.
fn bound(
    module: &Module,
    mask: InstructionId,
    axes: [Option<usize>; 2],
    shown: bool,
    left: usize,
) -> Option<Place> {
    let left = left.checked_sub(1)?;
    let operands = module[mask].operands();
    match &module[mask].op {
        Op::Broadcast(op) => bound(module, operands[0], inside(&op.dimensions, axes), shown, left),
        Op::Reshape(_) => {
            bound(module, operands[0], reshaped(module, operands[0], mask, axes)?, shown, left)
        }
        Op::Unary(op) if op.kind == UnaryKind::Not => {
            bound(module, operands[0], axes, !shown, left)
        }
        // Where both hold, each does; where neither holds, the same.
        Op::Binary(op) if (op.kind, shown) == (BinaryKind::And, true) => {
            operands.iter().find_map(|&part| bound(module, part, axes, shown, left))
        }
        Op::Binary(op) if (op.kind, shown) == (BinaryKind::Or, false) => {
            operands.iter().find_map(|&part| bound(module, part, axes, shown, left))
        }
        Op::Compare(op) => {
            use ComparisonDirection::{Ge, Gt, Le, Lt};
            let direction = match (op.direction, shown) {
                (Ge, true) | (Lt, false) => Ge,
                (Gt, true) | (Le, false) => Gt,
                (Le, true) | (Gt, false) => Le,
                (Lt, true) | (Ge, false) => Lt,
                _ => return None,
            };
            let [a, b] = [operands[0], operands[1]].map(|id| place(module, id, axes, left));
            let difference = a?.minus(b?)?;
            // As something that is at least, or above, zero.
            let (place, strict) = match direction {
                Ge => (difference, false),
                Gt => (difference, true),
                Le => (difference.negated()?, false),
                _ => (difference.negated()?, true),
            };
            let is_bound = (place.rows, place.columns, place.sign) == (1, -1, 1)
                && place.constant.abs() < LARGEST;
            let constant = place.constant - i64::from(strict);
            is_bound.then_some(Place { constant, ..place })
        }
        _ => None,
    }
}

/// The axes of what is reshaped, if those and what is inside of them stay as they are.
fn reshaped(
    module: &Module,
    from: InstructionId,
    to: InstructionId,
    axes: [Option<usize>; 2],
) -> Option<[Option<usize>; 2]> {
    let (from, to) = (view::dims(module, from)?, view::dims(module, to)?);
    let mut found = [None; 2];
    for (axis, found) in axes.into_iter().zip(&mut found) {
        let Some(axis) = axis else { continue };
        let place = (from.len() + axis).checked_sub(to.len())?;
        *found = (from[place..] == to[axis..]).then_some(place);
        (*found)?;
    }
    Some(found)
}

/// Where the axes of a broadcast come from.
fn inside(dimensions: &[i64], axes: [Option<usize>; 2]) -> [Option<usize>; 2] {
    axes.map(|axis| {
        let axis = axis?;
        dimensions.iter().position(|&dimension| dimension as usize == axis)
    })
}

fn place(
    module: &Module,
    id: InstructionId,
    axes: [Option<usize>; 2],
    left: usize,
) -> Option<Place> {
    let left = left.checked_sub(1)?;
    // Narrow ones might wrap.
    let ty = view::element_type(module, id)?;
    if !matches!(ty, ElementType::S32 | ElementType::S64) {
        return None;
    }
    if view::dims(module, id)?.is_empty() {
        let known = view::splat(module, id).and_then(|value| value.integer(0));
        return Some(match known {
            Some(constant) => Place { constant, ..Place::default() },
            None => Place { number: Some(id), sign: 1, ..Place::default() },
        });
    }
    let operands = module[id].operands();
    match &module[id].op {
        Op::Iota(op) => {
            let at = |axis: Option<usize>| i64::from(axis == Some(op.iota_dimension as usize));
            let (rows, columns) = (at(axes[0]), at(axes[1]));
            (rows + columns == 1).then_some(Place { rows, columns, ..Place::default() })
        }
        Op::Broadcast(op) => place(module, operands[0], inside(&op.dimensions, axes), left),
        Op::Convert(_) => place(module, operands[0], axes, left),
        Op::Binary(op) => {
            let [a, b] = [operands[0], operands[1]].map(|id| place(module, id, axes, left));
            match op.kind {
                BinaryKind::Subtract => a?.minus(b?),
                BinaryKind::Add => a?.minus(b?.negated()?),
                _ => None,
            }
        }
        Op::Constant(_) => {
            let constant = view::splat(module, id)?.integer(0)?;
            Some(Place { constant, ..Place::default() })
        }
        _ => None,
    }
}
