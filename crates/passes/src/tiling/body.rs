//! The body of a loop under construction, which takes what it needs from outside as it comes to it.

use rustc_hash::FxHashMap;
use rxla_hlo::op::{Compare, ComparisonDirection, While};
use rxla_hlo::{
    ArrayLiteral, ArrayShape, BinaryKind, ComputationId, ElementType, InstructionId, Literal,
    Module, Op, Shape,
};

/// What says of a loop that its iterations may run in any order, or at once: what one writes no other
/// reads, or writes another value to.
const INDEPENDENT: (&str, &str) = ("rxla_iterations", "independent");

/// Whether a loop is said to be such.
pub fn is_independent(m: &Module, site: InstructionId) -> bool {
    let (name, value) = INDEPENDENT;
    let said = m[site].info().and_then(|info| info.frontend_attributes.get(name));
    said.is_some_and(|said| said == value)
}

/// How many iterations there are, and how they stand to each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Iterations {
    Independent(i64),
    Ordered(i64),
    /// One after the other while the truth value at this place of the state holds.
    While(usize),
}

/// The state is a tuple: the number of the iteration, what the body replaces, and what it only reads.
pub(super) struct Body {
    pub(super) computation: ComputationId,
    state: InstructionId,
    /// What the state is at first, and where the body sees that.
    init: Vec<InstructionId>,
    seen: Vec<InstructionId>,
    /// What the body only reads, by what it is outside.
    imported: FxHashMap<InstructionId, InstructionId>,
}

impl Body {
    /// A loop that counts from zero, which stands at `init` outside.
    pub(super) fn new(m: &mut Module, zero: InstructionId) -> Body {
        let computation = m.add_computation("tile");
        let state = m.add_parameter(computation, "state", Shape::tuple([]));
        let (init, seen, imported) = Default::default();
        let mut body = Body { computation, state, init, seen, imported };
        body.carry(m, zero);
        body
    }

    /// The number of the iteration.
    pub(super) fn number(&self) -> InstructionId {
        self.seen[0]
    }

    /// A value from outside.
    pub(super) fn import(&mut self, m: &mut Module, value: InstructionId) -> InstructionId {
        if let Some(&known) = self.imported.get(&value) {
            return known;
        }
        let seen = self.carry(m, value).1;
        self.imported.insert(value, seen);
        seen
    }

    /// A value that the body is to replace: where it stands in the state, and as the body sees it.
    pub(super) fn carry(&mut self, m: &mut Module, init: InstructionId) -> (usize, InstructionId) {
        let place = self.init.len();
        let shape = m[init].shape.clone();
        let op = Op::get_tuple_element(place as i64);
        let seen = m.add_instruction(self.computation, "given", op, shape, &[self.state]);
        self.init.push(init);
        self.seen.push(seen);
        (place, seen)
    }

    /// The loop, with what comes next of the state by place; and what it is in the end.
    pub(super) fn close(
        self,
        m: &mut Module,
        outside: ComputationId,
        next: &[(usize, InstructionId)],
        iterations: Iterations,
    ) -> Vec<InstructionId> {
        let shape = Shape::tuple(self.init.iter().map(|&init| m[init].shape.clone()));
        m[self.state].shape = shape.clone();
        let mut elements = self.seen.clone();
        let one = number(m, self.computation, 1);
        elements[0] = sum(m, self.computation, self.number(), one);
        for &(place, value) in next {
            elements[place] = value;
        }
        let root = Op::tuple();
        let root = m.add_instruction(self.computation, "next", root, shape.clone(), &elements);
        m.set_root(root);
        let condition = m.add_computation("tiles");
        let state = m.add_parameter(condition, "state", shape.clone());
        let read = |m: &mut Module, place: usize, ty: ElementType| {
            let op = Op::get_tuple_element(place as i64);
            m.add_instruction(condition, "at", op, Shape::scalar(ty), &[state])
        };
        let pred = ElementType::Pred;
        let test = match iterations {
            Iterations::While(place) => read(m, place, pred),
            Iterations::Independent(times) | Iterations::Ordered(times) => {
                let operands = [read(m, 0, ElementType::S32), number(m, condition, times)];
                let op = Compare { direction: ComparisonDirection::Lt, comparison_type: None };
                m.add_instruction(condition, "more", op.into(), Shape::scalar(pred), &operands)
            }
        };
        m.set_root(test);
        let start = m.add_instruction(outside, "start", Op::tuple(), shape.clone(), &self.init);
        let op = While { condition, body: self.computation };
        let site = m.add_instruction(outside, "tiles", op.into(), shape, &[start]);
        if let Iterations::Independent(times) | Iterations::Ordered(times) = iterations {
            m[site].info_mut().backend_config =
                format!("{{\"known_trip_count\":{{\"n\":\"{times}\"}}}}");
        }
        if let Iterations::Independent(_) = iterations {
            let (name, value) = INDEPENDENT;
            m[site].info_mut().frontend_attributes.insert(name.into(), value.into());
        }
        let results = self.init.iter().enumerate().map(|(place, &init)| {
            let shape = m[init].shape.clone();
            let op = Op::get_tuple_element(place as i64);
            m.add_instruction(outside, "tiled", op, shape, &[site])
        });
        results.collect()
    }
}

/// A number as the loops count.
pub(super) fn number(m: &mut Module, computation: ComputationId, value: i64) -> InstructionId {
    constant(m, computation, ElementType::S32, &(value as i32).to_le_bytes())
}

pub(super) fn truth(m: &mut Module, computation: ComputationId, value: bool) -> InstructionId {
    constant(m, computation, ElementType::Pred, &[u8::from(value)])
}

fn constant(
    m: &mut Module,
    computation: ComputationId,
    ty: ElementType,
    bytes: &[u8],
) -> InstructionId {
    let literal = ArrayLiteral::zeros(&ArrayShape::scalar(ty));
    let mut literal = literal.expect("a number takes little memory");
    literal.bytes_mut().copy_from_slice(bytes);
    m.add_constant(computation, Literal::Array(literal))
}

pub(super) fn sum(
    m: &mut Module,
    computation: ComputationId,
    a: InstructionId,
    b: InstructionId,
) -> InstructionId {
    binary(m, computation, BinaryKind::Add, a, b)
}

/// An op on two numbers or arrays of one shape.
pub(super) fn binary(
    m: &mut Module,
    computation: ComputationId,
    kind: BinaryKind,
    a: InstructionId,
    b: InstructionId,
) -> InstructionId {
    let shape = m[a].shape.clone();
    m.add_instruction(computation, kind.name(), Op::binary(kind), shape, &[a, b])
}
