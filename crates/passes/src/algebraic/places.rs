//! Places that reductions carry along with values, as `argmax` does.

use rustc_hash::FxHashMap;
use rxla_hlo::op::{Convert, Reduce};
use rxla_hlo::{
    ArrayLiteral, BinaryKind, ComputationId, ElementType, InstructionId, Literal, Module, Op, Shape,
};

use crate::rewrite::NamedRule;
use crate::{rules, view};

pub(super) const RULES: &[NamedRule] = rules! {
    Reduce => [narrow_places],
};

/// `reduce(x, s64 iota) => convert(reduce(x, s32 iota))`, where the iota counts no further and is only compared and
/// chosen from: as many of its elements as of `f32` fit a vector
fn narrow_places(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let Op::Reduce(op) = &m[i].op else { return None };
    let count = m[i].operands().len() / 2;
    let is_place = |&k: &usize| is_short_iota(m, view::operand(m, i, k)).is_some();
    let k = (0..count).find(is_place)?;
    let init = view::constant(m, view::operand(m, i, count + k))?.integer(0)?;
    i32::try_from(init).ok()?;
    let dimensions = op.dimensions.clone();
    let reducer = Reducer::of(m, op.to_apply, [k, count + k])?;
    let to_apply = reducer.narrow(m);
    let mut operands = m[i].operands().to_vec();
    for number in [k, count + k] {
        let shape = narrow(&m[operands[number]].shape);
        operands[number] = view::convert(m, i, operands[number], &shape);
    }
    let reduced = view::add(m, i, Reduce { dimensions, to_apply }, &operands);
    let mut results = Vec::new();
    for number in 0..count {
        let result = view::add(m, i, Op::get_tuple_element(number as i64), &[reduced]);
        results.push(match number == k {
            true => {
                let wide = m[i].shape.as_tuple()?[number].clone();
                view::add_with_shape(m, i, Convert {}, wide, &[result])
            }
            false => result,
        });
    }
    Some(view::add(m, i, Op::tuple(), &results))
}

/// Whether an array counts from 0 along a dimension, to no more than an `s32` holds.
fn is_short_iota(m: &Module, mut x: InstructionId) -> Option<()> {
    (view::element_type(m, x)? == ElementType::S64).then_some(())?;
    if let Op::Broadcast(_) = &m[x].op {
        x = view::operand(m, x, 0);
    }
    let Op::Iota(op) = &m[x].op else { return None };
    let length = view::dims(m, x)?[usize::try_from(op.iota_dimension).ok()?];
    i32::try_from(length).ok().map(|_| ())
}

fn narrow(shape: &Shape) -> Shape {
    let mut shape = shape.clone();
    if let Shape::Array(array) = &mut shape {
        array.element_type = ElementType::S32;
    }
    shape
}

/// A reducer that does nothing with some of its parameters but compare them and choose from them.
struct Reducer {
    computation: ComputationId,
    order: Vec<InstructionId>,
    /// What is one of these parameters, or a number that they are compared with.
    places: Vec<InstructionId>,
}

impl Reducer {
    fn of(m: &Module, computation: ComputationId, parameters: [usize; 2]) -> Option<Reducer> {
        let order = m.post_order(computation);
        let mut places: Vec<InstructionId> =
            parameters.map(|number| m[computation].parameters()[number]).to_vec();
        let is_number = |x: InstructionId| {
            let number = view::constant(m, x).and_then(|value| value.integer(0));
            view::element_type(m, x) == Some(ElementType::S64)
                && number.is_some_and(|number| i32::try_from(number).is_ok())
        };
        let root = m[computation].root();
        for &x in &order {
            let is_place = |&operand: &InstructionId| places.contains(&operand);
            let operands = m[x].operands();
            if !operands.iter().any(is_place) {
                continue;
            }
            let fits = |operand: &InstructionId| is_place(operand) || is_number(*operand);
            match &m[x].op {
                Op::Compare(_) if operands.iter().all(fits) => {}
                Op::Select(_) if operands[1..].iter().all(fits) => places.push(x),
                Op::Binary(op)
                    if matches!(op.kind, BinaryKind::Minimum | BinaryKind::Maximum)
                        && operands.iter().all(fits) =>
                {
                    places.push(x);
                }
                Op::Tuple(_) if x == root => {
                    let mut others = operands.iter().enumerate();
                    let is_there = |(at, operand)| is_place(operand) == (at == parameters[0]);
                    others.all(is_there).then_some(())?;
                }
                _ => return None,
            }
        }
        // Otherwise the result is a number that is no place.
        let is_result = places.contains(m[root].operands().get(parameters[0])?);
        matches!(m[root].op, Op::Tuple(_)).then_some(())?;
        is_result.then_some(Reducer { computation, order, places })
    }

    /// The same on `s32`.
    fn narrow(&self, m: &mut Module) -> ComputationId {
        let name = m[self.computation].name().to_owned();
        let copy = m.add_computation(&name);
        let mut copies: FxHashMap<InstructionId, InstructionId> = FxHashMap::default();
        for &parameter in &m[self.computation].parameters().to_vec() {
            let name = m[parameter].name().to_owned();
            let shape = self.shape(m, parameter);
            copies.insert(parameter, m.add_parameter(copy, &name, shape));
        }
        for &x in &self.order {
            if copies.contains_key(&x) {
                continue;
            }
            let among = m[x].operands().iter().any(|operand| self.places.contains(operand));
            let mut operands = Vec::new();
            for operand in m[x].operands().to_vec() {
                let number = view::constant(m, operand).and_then(|value| value.integer(0));
                operands.push(match number {
                    Some(number) if among && self.is_wide(m, operand) => {
                        let number = ArrayLiteral::scalar(number as i32);
                        m.add_constant(copy, Literal::Array(number))
                    }
                    _ => copies[&operand],
                });
            }
            let op = m[x].op.clone();
            let made = match op {
                Op::Tuple(_) => m.add(copy, op, &operands),
                op => m.add_with_shape(copy, op, self.shape(m, x), &operands),
            };
            copies.insert(x, made.expect("as the one that it is a copy of"));
        }
        m.set_root(copies[&m[self.computation].root()]);
        copy
    }

    fn is_wide(&self, m: &Module, x: InstructionId) -> bool {
        view::element_type(m, x) == Some(ElementType::S64)
    }

    fn shape(&self, m: &Module, x: InstructionId) -> Shape {
        if self.places.contains(&x) { narrow(&m[x].shape) } else { m[x].shape.clone() }
    }
}
