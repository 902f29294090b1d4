//! How many lanes a loop is run in, and how many times its body is repeated.

use super::class::{Class, Classes, address};
use super::stride::{Group, LoadGroup, is_short};
use crate::ir::{BinaryOp, Block, Carried, Function, Op, Statement, UnaryOp, Value};
use crate::maths::takes_turns;
use crate::schedule::Copies;
use crate::types::Scalar;

/// Bytes of a vector that a lane takes at least where elements are gathered or scattered. Their places are computed
/// in eight: with a lane for every byte of a vector they would be in eight vectors each, and one by one code without end.
pub(super) const BYTES_OF_PLACE: u16 = 4;

/// The width in bytes of the widest data in a loop: what is stored, carried or decided on, and
/// what that is made of, indices aside.
pub(super) fn data_width(
    function: &Function,
    classes: &Classes<'_>,
    carried: &[Carried],
    body: &Block,
) -> usize {
    let mut data = vec![false; function.types.len()];
    for (carried, &next) in carried.iter().zip(&body.yields) {
        data[next.0 as usize] = true;
        data[carried.param.0 as usize] = true;
    }
    // Backwards, again as long as loops carry the mark round.
    let mut width = 1;
    loop {
        let before = data.clone();
        mark(function, classes, body, &mut data, &mut width);
        if data == before {
            return width;
        }
    }
}

fn mark(
    function: &Function,
    classes: &Classes<'_>,
    block: &Block,
    data: &mut Vec<bool>,
    width: &mut usize,
) {
    let both = |data: &mut Vec<bool>, a: Value, b: Value| {
        let either = data[a.0 as usize] || data[b.0 as usize];
        data[a.0 as usize] = either;
        data[b.0 as usize] = either;
    };
    for statement in block.statements.iter().rev() {
        match statement {
            Statement::Let { result, op } => {
                if !data[result.0 as usize] {
                    continue;
                }
                let scalar = function.ty(*result).scalar;
                *width = (*width).max(computed_width(scalar, op));
                // What is the same in all lanes, or a step apart, is made from a scalar.
                if classes.get(*result) != Class::Varying {
                    continue;
                }
                let skip = match op {
                    Op::Load { base, index, .. } => [Some(*base), Some(*index)],
                    _ => [None, None],
                };
                op.for_each_operand(|operand| {
                    if !skip.contains(&Some(operand)) {
                        data[operand.0 as usize] = true;
                    }
                });
            }
            Statement::Store { value, mask, .. } => {
                *width = (*width).max(computed_width(function.ty(*value).scalar, &Op::LaneIndex));
                data[value.0 as usize] = true;
                mask.iter().for_each(|mask| data[mask.0 as usize] = true);
            }
            Statement::For { carried, body, .. } | Statement::While { carried, body, .. } => {
                for (carried, &next) in carried.iter().zip(&body.yields) {
                    both(data, carried.result, carried.param);
                    both(data, carried.param, next);
                    both(data, carried.param, carried.init);
                }
                statement.blocks().for_each(|block| mark(function, classes, block, data, width));
            }
            Statement::If { condition, results, then, otherwise } => {
                data[condition.0 as usize] = true;
                for (position, result) in results.iter().enumerate() {
                    both(data, *result, then.yields[position]);
                    both(data, *result, otherwise.yields[position]);
                }
                statement.blocks().for_each(|block| mark(function, classes, block, data, width));
            }
            Statement::Call { .. }
            | Statement::ParallelCall { .. }
            | Statement::CallRuntime { .. }
            | Statement::ReturnIfNonzero { .. } => {}
        }
    }
}

/// Bytes that a lane takes while it is computed: small floats are computed with as f32.
fn computed_width(scalar: Scalar, op: &Op) -> usize {
    let arithmetic = matches!(op, Op::Unary(..) | Op::Binary(..) | Op::Fma(..));
    match scalar {
        Scalar::F16 | Scalar::BF16 if arithmetic => 4,
        other => other.byte_width(),
    }
}

/// What a body does, as far as it matters for its shape as a loop.
#[derive(Default, Debug)]
pub(super) struct Weight {
    /// Operations on data.
    pub(super) operations: usize,
    /// Elements that are read and written.
    pub(super) accesses: usize,
    /// Fused multiplications and additions.
    pub(super) fmas: usize,
    /// Calls of mathematical functions.
    pub(super) functions: usize,
    /// Whether the approximation of one of them cannot take turns with its like.
    pub(super) alone: bool,
    pub(super) inner_loops: bool,
    /// Whether something varies that is narrower than four bytes and no truth value.
    pub(super) is_narrow: bool,
    /// Whether accesses are vectors side by side whose elements are dealt out.
    pub(super) is_dealt: bool,
    /// The most values that one of the loops inside carries.
    pub(super) inner_carried: usize,
    /// Accesses that gather or scatter, and how many of them are narrower than four bytes.
    pub(super) gathers: usize,
    pub(super) scatters: usize,
    pub(super) narrow: usize,
}

impl Weight {
    /// Whether lanes may be any number, of which a register has some that are nobody's: vectors of other numbers
    /// than powers of two are not dealt out, and small numbers are converted in whole registers only.
    pub(super) fn suits_any_lanes(&self) -> bool {
        self.gathers + self.scatters == 0 && !self.is_dealt && !self.is_narrow
    }

    /// Whether lanes are to be twice as many as a register has. The sums of a product are then in pairs of
    /// registers, for which what is the same in all lanes is loaded once, and enough of them to hide how long an
    /// addition takes.
    pub(super) fn is_product(&self) -> bool {
        const MOST_CARRIED: usize = 6;
        let sums = (1..=MOST_CARRIED).contains(&self.inner_carried);
        sums && self.fmas >= self.inner_carried && self.functions == 0
    }

    /// Whether a processor, which looks some hundred instructions ahead, sees so few of these
    /// bodies at once that it waits for most of what it sees, if each is a chain.
    pub(super) fn is_long(&self) -> bool {
        const LONG: usize = 32;
        self.operations >= LONG
    }

    /// How many copies of a long body are to lie side by side. Where memory is what the loop waits
    /// for, they gain nothing. A second copy is worth compiling of much longer bodies, since the processor does not
    /// look ahead as far as to the next one.
    pub(super) fn copies_of_long_body(&self, copies: Copies) -> u16 {
        const MOST_OPERATIONS: usize = 400;
        const MOST_OPERATIONS_OF_TWO: usize = 1000;
        let waits_for_memory = self.operations < 6 * self.accesses;
        // Results of a row are chains side by side as it is.
        if copies == Copies::Few || !self.is_long() || waits_for_memory || self.is_dealt {
            return 1;
        }
        match MOST_OPERATIONS / self.operations {
            0..=1 if self.operations <= MOST_OPERATIONS_OF_TWO => 2,
            0..=1 => 1,
            copies => 1 << copies.min(8).ilog2(),
        }
    }

    /// How many copies of a body that calls functions are to lie side by side: their approximations
    /// are long chains.
    pub(super) fn copies_of_functions(&self, copies: Copies) -> u16 {
        const MOST_OPERATIONS: usize = 1000;
        if copies == Copies::Few || self.alone {
            return 1;
        }
        1 << (MOST_OPERATIONS / self.all_operations()).clamp(1, 4).ilog2()
    }

    /// Operations, those of functions' approximations included.
    pub(super) fn all_operations(&self) -> usize {
        const OPERATIONS_OF_FUNCTION: usize = 40;
        self.operations + OPERATIONS_OF_FUNCTION * self.functions
    }
}

pub(super) fn weight(
    function: &Function,
    classes: &Classes<'_>,
    groups: &[Group],
    load_groups: &[LoadGroup],
    body: &Block,
) -> Weight {
    let mut weight = Weight::default();
    let dealt = |value: Value| load_groups.iter().any(|group| group.has(value));
    // A group's stores take turns: no scatters, but shuffles.
    let grouped: usize = groups.iter().map(|group| group.stores.len()).sum();
    body.walk(&mut |statement| match statement {
        Statement::Let { result, op } => {
            if classes.get(*result) != Class::Varying {
                return;
            }
            let ty = function.ty(*result);
            weight.is_narrow |= ty.scalar != Scalar::I1 && ty.scalar.byte_width() < 4;
            weight.accesses += usize::from(matches!(op, Op::Load { .. }));
            match op {
                Op::Load { base, index, .. } => {
                    let class = address(classes.get(*base), classes.get(*index), ty);
                    if dealt(*result) {
                        // Counted with its group.
                        weight.is_dealt = true;
                    } else if matches!(class, Some(Class::Affine(step)) if is_short(step)) {
                        weight.operations += 1;
                        weight.is_dealt = true;
                    } else if !is_contiguous(class) {
                        weight.gathers += 1;
                        weight.narrow += usize::from(ty.scalar.byte_width() < 4);
                    }
                }
                Op::Unary(op, _) => {
                    weight.operations += 1;
                    weight.functions += usize::from(op.is_maths() && *op != UnaryOp::Rsqrt);
                    weight.alone |= op.is_maths() && !takes_turns(*op);
                }
                Op::Binary(op, ..) => {
                    weight.operations += 1;
                    let function = op.is_maths() || *op == BinaryOp::FRem;
                    weight.functions += usize::from(function);
                    weight.alone |= function;
                }
                Op::Fma(..) => {
                    weight.operations += 1;
                    weight.fmas += 1;
                }
                _ => weight.operations += 1,
            }
        }
        Statement::Store { base, index, value, .. } => {
            let ty = function.ty(*value);
            weight.accesses += 1;
            let class = address(classes.get(*base), classes.get(*index), ty);
            if !is_contiguous(class) {
                weight.scatters += 1;
                weight.narrow += usize::from(ty.scalar.byte_width() < 4);
            }
        }
        Statement::For { carried, .. } | Statement::While { carried, .. } => {
            weight.inner_loops = true;
            weight.inner_carried = weight.inner_carried.max(carried.len());
        }
        Statement::If { .. }
        | Statement::Call { .. }
        | Statement::ParallelCall { .. }
        | Statement::CallRuntime { .. }
        | Statement::ReturnIfNonzero { .. } => {}
    });
    weight.is_dealt |= grouped > 0;
    weight.scatters -= grouped;
    weight.operations += grouped;
    weight.operations += load_groups.iter().map(LoadGroup::shuffles).sum::<usize>();
    weight
}

/// Whether an access is one of vectors side by side, or made of few of them.
fn is_contiguous(class: Option<Class>) -> bool {
    matches!(class, Some(Class::Affine(1 | -1) | Class::Uniform))
}
