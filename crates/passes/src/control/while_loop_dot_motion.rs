//! `while-loop-dot-motion`: products that a counting loop takes of a row at each step are taken of all
//! rows at once, before the loop or after it.
//!
//! Recurrent networks and their gradients are made of three kinds of them:
//!
//! * A row of an array times what does not change is a row of the product of the whole array, which
//!   stands before the loop.
//! * A product with what does not change that only becomes a row of a result: what it is made from is
//!   kept row by row, and the product stands after the loop.
//! * A product that is only added to a sum over all steps: its factors are kept row by row, and one
//!   product after the loop sums over the steps, too. The order of that sum is another one then, and
//!   depends on sizes alone.
//!
//! So large matrices are read once, not at each step, and products have many rows. What is kept for that
//! is bounded, since it is memory that the program did not ask for.

use rustc_hash::FxHashMap;
use rxla_base::Result;
use rxla_hlo::op::{Dot, DynamicSlice, DynamicUpdateSlice, Reshape};
use rxla_hlo::{ArrayLiteral, ArrayShape, BinaryKind, Dims, InstructionId, Module, Op, Shape};

use super::carried::{self, Loop, Place};
use super::trip_count::{Counter, counter_of, range, scalar};
use super::while_loop_invariant_code_motion::copy_outside;
use crate::canonicalize::dot_decomposer::others;
use crate::effects::{Effects, unfused_computations};
use crate::pass::{Context, Pass};
use crate::simplify::call_inliner::MAX_INSTRUCTIONS;
use crate::view;

pub struct WhileLoopDotMotion;

/// Steps from which on it pays.
const FEWEST_STEPS: u64 = 4;
/// Elements of the matrix that is read at each step, or of the sum, from which on it pays.
const SMALLEST_MATRIX: i64 = 1 << 15;
/// A product with more rows at each step is fast as it is.
const MOST_ROWS: i64 = 64;
/// Bytes of an array that is made for this.
const MOST_BYTES: usize = 32 << 20;

impl Pass for WhileLoopDotMotion {
    fn name(&self) -> &'static str {
        "while-loop-dot-motion"
    }

    fn class(&self) -> &'static str {
        "WhileLoopDotMotion"
    }

    fn run(&self, module: &mut Module, cx: &Context) -> Result<u64> {
        let mut made = 0;
        for computation in unfused_computations(module) {
            for site in module.post_order(computation) {
                // What belonged to a loop that was made anew is gone.
                if module.get_instruction(site).is_none() {
                    continue;
                }
                let Some(steps) = Steps::of(module, site) else { continue };
                let moves = moves(module, &steps);
                if moves.is_empty() || module.instruction_capacity() > MAX_INSTRUCTIONS {
                    continue;
                }
                if !cx.spend() {
                    return Ok(made);
                }
                apply(module, &steps, &moves);
                made += 1;
            }
        }
        Ok(made)
    }
}

/// A loop that counts.
struct Steps {
    found: Loop,
    state: InstructionId,
    counter: Counter,
}

/// In which order steps go through rows.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Order {
    Forward,
    Backward,
}

/// A row of an element of the state that does not change.
#[derive(Clone, Copy)]
struct Row {
    element: usize,
    index: InstructionId,
    order: Order,
}

/// What is kept of a value of each step: all of them, as rows of one array.
#[derive(Clone, Copy)]
struct Kept {
    value: InstructionId,
    index: InstructionId,
    order: Order,
}

#[derive(Clone, Copy)]
enum Factor {
    Row(Row),
    Kept(Kept),
}

enum Move {
    /// A row, operand number `side` of the product, times what does not change.
    Before { dot: InstructionId, side: usize, row: Row },
    /// What becomes a row of an element, made of operand number `side`.
    After { element: usize, dot: InstructionId, side: usize, kept: Kept },
    /// What is added to an element; `path` leads from the product to what is added.
    Sum { element: usize, dot: InstructionId, path: Vec<InstructionId>, factors: [Factor; 2] },
}

impl Steps {
    fn of(m: &Module, site: InstructionId) -> Option<Steps> {
        let found = carried::find(m, site)?;
        let counter = counter_of(m, site)?;
        let state = m[found.body].parameters()[0];
        let counts = counter.times >= FEWEST_STEPS && i64::try_from(counter.times).is_ok();
        counts.then_some(Steps { found, state, counter })
    }

    fn times(&self) -> i64 {
        self.counter.times as i64
    }

    /// The value of an index as `first + step * number`, in integers without end.
    fn linear(&self, m: &Module, i: InstructionId, depth: u32) -> Option<(i128, i128)> {
        if let Some(index) = carried::element(m, i, self.state) {
            return (index == self.counter.index)
                .then_some((self.counter.start, self.counter.step));
        }
        if let Some(value) = scalar(m, i) {
            return Some((value, 0));
        }
        let (kind, [left, right]) = view::any_binary(m, i)?;
        let depth = depth.checked_sub(1)?;
        let (a, b) = (self.linear(m, left, depth)?, self.linear(m, right, depth)?);
        match kind {
            BinaryKind::Add => Some((a.0 + b.0, a.1 + b.1)),
            BinaryKind::Subtract => Some((a.0 - b.0, a.1 - b.1)),
            _ => None,
        }
    }

    /// The order in which an index goes through all rows of as many as there are steps.
    fn order(&self, m: &Module, index: InstructionId) -> Option<Order> {
        const DEPTH: u32 = 8;
        let (first, step) = self.linear(m, index, DEPTH)?;
        let last = i128::from(self.counter.times) - 1;
        if last > range(view::element_type(m, index)?)?.1 {
            return None;
        }
        match (first, step) {
            (0, 1) => Some(Order::Forward),
            (first, -1) if first == last => Some(Order::Backward),
            _ => None,
        }
    }

    /// What a value is a row of.
    fn row(&self, m: &Module, i: InstructionId) -> Option<Row> {
        let slice = match &m[i].op {
            Op::Reshape(_) => view::operand(m, i, 0),
            _ => i,
        };
        let Op::DynamicSlice(_) = &m[slice].op else { return None };
        let element = carried::element(m, view::operand(m, slice, 0), self.state)?;
        let whole = view::dims(m, view::operand(m, slice, 0))?;
        if !self.found.passes_through(m, element) || !self.is_row(whole, view::dims(m, slice)?) {
            return None;
        }
        let index = view::operand(m, slice, 1);
        Some(Row { element, index, order: self.order(m, index)? })
    }

    /// Whether an array has a row for each step, of this shape.
    fn is_row(&self, whole: &Dims, row: &Dims) -> bool {
        whole.first() == Some(&self.times()) && row.first() == Some(&1) && whole[1..] == row[1..]
    }

    /// Whether a value is one that does not change, perhaps in another form.
    fn is_fixed(&self, m: &Module, mut i: InstructionId) -> bool {
        loop {
            if let Some(index) = carried::element(m, i, self.state) {
                return self.found.passes_through(m, index) && view::dims(m, i).is_some();
            }
            match &m[i].op {
                Op::Reshape(_) | Op::Transpose(_) | Op::Convert(_)
                    if !view::has_control_edges(m, i) =>
                {
                    i = view::operand(m, i, 0);
                }
                _ => return false,
            }
        }
    }

    /// Values of all steps side by side.
    fn stacked(&self, m: &Module, value: InstructionId) -> Option<ArrayShape> {
        let shape = view::static_array(m, value)?;
        let mut dims: Dims = [self.times()].as_slice().into();
        dims.extend(shape.dims.iter().copied());
        let Shape::Array(whole) = Shape::array(shape.element_type, dims) else { return None };
        let fits = whole.byte_size().is_some_and(|size| size <= MOST_BYTES);
        fits.then_some(whole)
    }
}

/// A product without batches, and for each operand what is contracted and what is not.
fn product(m: &Module, i: InstructionId) -> Option<(&Dot, [Dims; 2])> {
    let Op::Dot(op) = &m[i].op else { return None };
    let plain = op.lhs_batch_dims.is_empty() && !view::has_control_edges(m, i);
    let free = |side: usize, contracted: &Dims| {
        let rank = view::dims(m, view::operand(m, i, side))?.len();
        Some(others(rank, &[], contracted))
    };
    let free = [free(0, &op.lhs_contracting_dims)?, free(1, &op.rhs_contracting_dims)?];
    (plain && view::dims(m, i).is_some()).then_some((op, free))
}

/// Whether one operand of a product is of few rows, the other a matrix that does not change, and the
/// result begins with what the former leaves.
fn has_few_rows(m: &Module, steps: &Steps, dot: InstructionId, side: usize) -> bool {
    let Some((_, free)) = product(m, dot) else { return false };
    let other = view::operand(m, dot, 1 - side);
    let dims = view::dims(m, view::operand(m, dot, side)).expect("products are of arrays");
    let rows: i64 = free[side].iter().map(|&d| dims[d as usize]).product();
    rows <= MOST_ROWS
        && view::elements(m, other) >= SMALLEST_MATRIX
        && steps.is_fixed(m, other)
        && (side == 0 || free.iter().any(|dims| dims.is_empty()))
}

/// What can be moved, each product once.
fn moves(m: &Module, steps: &Steps) -> Vec<Move> {
    let mut moves = Vec::new();
    let body = m.post_order(steps.found.body);
    let before = |dot: InstructionId| {
        steps.stacked(m, dot)?;
        (0..2).find_map(|side| {
            let row = steps.row(m, view::operand(m, dot, side))?;
            has_few_rows(m, steps, dot, side).then_some(Move::Before { dot, side, row })
        })
    };
    let mut taken = Vec::new();
    for &i in &body {
        if product(m, i).is_some()
            && let Some(found) = before(i)
        {
            taken.push(i);
            moves.push(found);
        }
    }
    let results = m[m[steps.found.body].root()].operands();
    for (element, &next) in results.iter().enumerate() {
        let again = results.iter().filter(|&&result| result == next).count() > 1;
        if again || is_tested(m, steps, element) || view::only_user(m, next).is_none() {
            continue;
        }
        let found = after(m, steps, element, next).or_else(|| sum(m, steps, element, next));
        let dot = match &found {
            Some(Move::After { dot, .. } | Move::Sum { dot, .. }) => *dot,
            Some(Move::Before { .. }) | None => continue,
        };
        if !taken.contains(&dot) {
            moves.extend(found);
        }
    }
    moves
}

/// Whether the condition looks at an element.
fn is_tested(m: &Module, steps: &Steps, element: usize) -> bool {
    let state = m[steps.found.condition].parameters()[0];
    m[state].users().iter().any(|&user| carried::element(m, user, state) == Some(element))
}

/// Whether `value` is an element of the state that is read here and nowhere else.
fn is_only_reading(m: &Module, steps: &Steps, value: InstructionId, element: usize) -> bool {
    let reads = |i: InstructionId| carried::element(m, i, steps.state) == Some(element);
    reads(value)
        && view::only_user(m, value).is_some()
        && m[steps.state].users().iter().filter(|&&user| reads(user)).count() == 1
}

/// The product that a value is, in another form perhaps, and the steps to that form. Nobody else uses
/// any of it.
fn path(
    m: &Module,
    value: InstructionId,
    is_form: fn(&Op) -> bool,
) -> Option<(InstructionId, Vec<InstructionId>)> {
    let (mut i, mut path) = (value, Vec::new());
    loop {
        view::only_user(m, i)?;
        if view::has_control_edges(m, i) {
            return None;
        }
        if product(m, i).is_some() {
            path.reverse();
            return Some((i, path));
        }
        if !is_form(&m[i].op) {
            return None;
        }
        path.push(i);
        i = view::operand(m, i, 0);
    }
}

/// `element = dynamic-update-slice(element, reshape(dot(…)), step)`
fn after(m: &Module, steps: &Steps, element: usize, next: InstructionId) -> Option<Move> {
    let Op::DynamicUpdateSlice(_) = &m[next].op else { return None };
    let [array, update, index] = [0, 1, 2].map(|n| m[next].operands().get(n).copied());
    let (array, update, index) = (array?, update?, index?);
    if !is_only_reading(m, steps, array, element)
        || view::has_control_edges(m, next)
        || !steps.is_row(view::dims(m, array)?, view::dims(m, update)?)
    {
        return None;
    }
    let order = steps.order(m, index)?;
    let (dot, _) = path(m, update, |op| matches!(op, Op::Reshape(_)))?;
    let side = (0..2).find(|&side| has_few_rows(m, steps, dot, side))?;
    let value = view::operand(m, dot, side);
    steps.stacked(m, value)?;
    // Not much more may be kept than what is made of it.
    let small = view::elements(m, value) <= 8 * view::elements(m, dot);
    small.then_some(Move::After { element, dot, side, kept: Kept { value, index, order } })
}

/// `element = element + transpose(dot(…))`
fn sum(m: &Module, steps: &Steps, element: usize, next: InstructionId) -> Option<Move> {
    let [left, right] = view::binary(m, next, BinaryKind::Add)?;
    let added = match (left, right) {
        (sum, added) | (added, sum) if is_only_reading(m, steps, sum, element) => added,
        _ if is_only_reading(m, steps, right, element) => left,
        _ => return None,
    };
    if left == right || view::has_control_edges(m, next) {
        return None;
    }
    let (dot, path) = path(m, added, |op| matches!(op, Op::Reshape(_) | Op::Transpose(_)))?;
    let operands = [0, 1].map(|side| view::operand(m, dot, side));
    let rows = operands.map(|operand| steps.row(m, operand));
    let (index, order) = match rows {
        [Some(row), _] | [None, Some(row)] => (row.index, row.order),
        [None, None] => {
            let mut readings = m[steps.state].users().iter().copied();
            let counter = readings
                .find(|&i| carried::element(m, i, steps.state) == Some(steps.counter.index))?;
            (counter, steps.order(m, counter)?)
        }
    };
    if view::elements(m, dot) < SMALLEST_MATRIX {
        return None;
    }
    let mut factors = Vec::new();
    for (row, value) in rows.into_iter().zip(operands) {
        factors.push(match row {
            Some(row) if row.order == order => Factor::Row(row),
            _ => {
                steps.stacked(m, value)?;
                if view::elements(m, value) > view::elements(m, dot) || steps.is_fixed(m, value) {
                    return None;
                }
                Factor::Kept(Kept { value, index, order })
            }
        });
    }
    Some(Move::Sum { element, dot, path, factors: factors.try_into().ok()? })
}

/// What a new loop is made with.
struct Made {
    /// The state before the loop.
    elements: Vec<InstructionId>,
    /// Which element keeps the values of an instruction.
    kept: FxHashMap<(InstructionId, Order), usize>,
    /// Copies of what does not change, outside of the loop.
    outside: FxHashMap<InstructionId, InstructionId>,
}

fn apply(m: &mut Module, steps: &Steps, moves: &[Move]) {
    let Steps { found, .. } = steps;
    let width = found.width(m);
    let elements: Vec<InstructionId> = (0..width).map(|i| found.take_initial(m, i)).collect();
    let mut made = Made { elements, kept: FxHashMap::default(), outside: FxHashMap::default() };
    // What does not change is taken out while the old loop stands.
    let mut products = Vec::new();
    for step in moves {
        let (dot, side) = match step {
            Move::Before { dot, side, .. } | Move::After { dot, side, .. } => (*dot, *side),
            Move::Sum { .. } => continue,
        };
        let other = view::operand(m, dot, 1 - side);
        copy_outside(m, found, other, &made.elements[..width], &mut made.outside);
        if let Move::Before { row, .. } = step {
            let array = made.elements[row.element];
            let array = rows_of(m, steps, found.site, dot, side, array);
            products.push(whole(m, steps, found.site, dot, side, array, &made));
        }
    }
    let first_kept = width + products.len();
    made.elements.extend(products);
    let mut keep = Vec::new();
    for step in moves {
        let wanted: Vec<Kept> = match step {
            Move::Before { .. } => Vec::new(),
            Move::After { kept, .. } => vec![*kept],
            Move::Sum { factors, .. } => {
                let kept = factors.iter().filter_map(|factor| match factor {
                    Factor::Kept(kept) => Some(*kept),
                    Factor::Row(_) => None,
                });
                kept.collect()
            }
        };
        for kept in wanted {
            if made.kept.contains_key(&(kept.value, kept.order)) {
                continue;
            }
            let shape = steps.stacked(m, kept.value).expect("looked at before");
            let zero = zero(m, found.site, &ArrayShape::scalar(shape.element_type));
            let empty = view::add_with_shape(m, found.site, Op::broadcast([]), shape, &[zero]);
            made.kept.insert((kept.value, kept.order), made.elements.len());
            made.elements.push(empty);
            keep.push(kept);
        }
    }
    let (condition, _) = carried::copy(m, found.condition);
    let (body, copies) = carried::copy(m, found.body);
    let mut copies: FxHashMap<InstructionId, InstructionId> = copies.into_iter().collect();
    let shape = Shape::tuple(made.elements.iter().map(|&i| m[i].shape.clone()));
    for computation in [condition, body] {
        let state = m[computation].parameters()[0];
        m[state].shape = shape.clone();
    }
    let state = m[body].parameters()[0];
    let read = |m: &mut Module, index: usize| {
        view::add(m, state, Op::get_tuple_element(index as i64), &[state])
    };
    let mut results = m[m[body].root()].operands().to_vec();
    let mut next_product = width;
    for step in moves {
        match step {
            Move::Before { dot, row, .. } => {
                let carried = read(m, next_product);
                next_product += 1;
                let computed = copies[dot];
                let row = row_of(m, carried, copies[&row.index], computed);
                for result in results.iter_mut().filter(|result| **result == computed) {
                    *result = row;
                }
                m.replace_all_uses(computed, row);
                copies.insert(*dot, row);
                results.push(carried);
            }
            // Handed on as it was; nobody will ask for it.
            Move::After { element, .. } | Move::Sum { element, .. } => {
                results[*element] = read(m, *element);
            }
        }
    }
    for (number, kept) in keep.iter().enumerate() {
        let carried = read(m, first_kept + number);
        let (value, index) = (copies[&kept.value], copies[&kept.index]);
        results.push(with_row(m, carried, index, value));
    }
    carried::set_results(m, body, &results);
    let effects = Effects::of(m);
    carried::sweep(m, &effects, body);
    let places: Vec<Place> = (0..width).map(Place::Element).collect();
    // The products after the loop are made like those in it, which goes with its site.
    let site = found.replace(m, condition, body, &made.elements, &places);
    for step in moves {
        let (element, value) = match step {
            Move::Before { .. } => continue,
            Move::After { element, dot, side, kept } => {
                let index = made.kept[&(kept.value, kept.order)];
                let rows = view::add(m, site, Op::get_tuple_element(index as i64), &[site]);
                (*element, whole(m, steps, site, *dot, *side, rows, &made))
            }
            Move::Sum { element, dot, path, factors } => {
                (*element, total(m, steps, site, *element, *dot, path, factors, &made))
            }
        };
        let old = made.elements[element];
        let value = match view::same_shape(m, value, old) {
            true => value,
            false => view::add_same(m, old, Reshape::default(), &[value]),
        };
        for user in m[site].users().to_vec() {
            if carried::element(m, user, site) == Some(element) {
                m.replace_all_uses(user, value);
                m.remove_instruction(user);
            }
        }
    }
}

fn zero(m: &mut Module, beside: InstructionId, shape: &ArrayShape) -> InstructionId {
    let zero = ArrayLiteral::zeros(shape).expect("one element has room");
    view::add(m, beside, Op::constant(zero), &[])
}

/// The indices of a row: its number, and zeros.
fn indices(m: &mut Module, index: InstructionId, rank: usize) -> Vec<InstructionId> {
    let element_type = view::element_type(m, index).expect("an index is an integer");
    let zero = zero(m, index, &ArrayShape::scalar(element_type));
    let mut indices = vec![index];
    indices.resize(rank, zero);
    indices
}

/// A row of an array, with the shape of `like`.
fn row_of(
    m: &mut Module,
    array: InstructionId,
    index: InstructionId,
    like: InstructionId,
) -> InstructionId {
    let mut dynamic_slice_sizes = view::dims(m, array).expect("rows are of arrays").clone();
    dynamic_slice_sizes[0] = 1;
    let mut operands = vec![array];
    operands.extend(indices(m, index, dynamic_slice_sizes.len()));
    let row = view::add(m, array, DynamicSlice { dynamic_slice_sizes }, &operands);
    view::add_same(m, like, Reshape::default(), &[row])
}

/// An array with one row set.
fn with_row(
    m: &mut Module,
    array: InstructionId,
    index: InstructionId,
    value: InstructionId,
) -> InstructionId {
    let mut row = view::static_array(m, array).expect("rows are of arrays").clone();
    row.dims[0] = 1;
    let rank = row.dims.len();
    let row = view::add_with_shape(m, value, Reshape::default(), row, &[value]);
    let mut operands = vec![array, row];
    operands.extend(indices(m, index, rank));
    view::add(m, array, DynamicUpdateSlice {}, &operands)
}

/// An array in a form where each row has the shape of an operand of a product.
fn rows_of(
    m: &mut Module,
    steps: &Steps,
    beside: InstructionId,
    dot: InstructionId,
    side: usize,
    array: InstructionId,
) -> InstructionId {
    let operand = view::static_array(m, view::operand(m, dot, side)).expect("looked at before");
    let mut dims: Dims = [steps.times()].as_slice().into();
    dims.extend(operand.dims.iter().copied());
    if view::dims(m, array) == Some(&dims) {
        return array;
    }
    let shape = Shape::array(operand.element_type, dims);
    view::add_with_shape(m, beside, Reshape::default(), shape, &[array])
}

/// The product of all rows, `rows` being in place of operand number `side`.
fn whole(
    m: &mut Module,
    steps: &Steps,
    beside: InstructionId,
    dot: InstructionId,
    side: usize,
    rows: InstructionId,
    made: &Made,
) -> InstructionId {
    let other = made.outside[&view::operand(m, dot, 1 - side)];
    let (op, _) = product(m, dot).expect("looked at before");
    let mut op = op.clone();
    if side == 1 {
        // Products of one row or one column are the same either way.
        std::mem::swap(&mut op.lhs_contracting_dims, &mut op.rhs_contracting_dims);
        op.operand_precision.reverse();
    }
    op.lhs_contracting_dims.iter_mut().for_each(|d| *d += 1);
    let mut dims: Dims = [steps.times()].as_slice().into();
    dims.extend(view::dims(m, dot).expect("looked at before").iter().copied());
    let shape = Shape::array(view::element_type(m, dot).expect("an array"), dims);
    view::add_with_shape(m, beside, Op::from(Box::new(op)), shape, &[rows, other])
}

/// The sum of an element before the loop and the products of all steps.
fn total(
    m: &mut Module,
    steps: &Steps,
    site: InstructionId,
    element: usize,
    dot: InstructionId,
    path: &[InstructionId],
    factors: &[Factor; 2],
    made: &Made,
) -> InstructionId {
    let operands: Vec<InstructionId> = factors
        .iter()
        .enumerate()
        .map(|(side, factor)| match factor {
            Factor::Row(row) => rows_of(m, steps, site, dot, side, made.elements[row.element]),
            Factor::Kept(kept) => {
                let index = made.kept[&(kept.value, kept.order)];
                view::add(m, site, Op::get_tuple_element(index as i64), &[site])
            }
        })
        .collect();
    let (op, _) = product(m, dot).expect("looked at before");
    let mut op = op.clone();
    for dims in [&mut op.lhs_contracting_dims, &mut op.rhs_contracting_dims] {
        *dims = std::iter::once(0).chain(dims.iter().map(|d| d + 1)).collect();
    }
    let shape = m[dot].shape.clone();
    let mut value = view::add_with_shape(m, site, Op::from(Box::new(op)), shape, &operands);
    for &form in path {
        let (op, shape) = (m[form].op.clone(), m[form].shape.clone());
        value = view::add_with_shape(m, site, op, shape, &[value]);
    }
    let start = made.elements[element];
    view::add(m, site, Op::binary(BinaryKind::Add), &[start, value])
}
