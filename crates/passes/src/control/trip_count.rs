//! How often a loop runs, where a counter says it: a constant to start from, a constant step, and a
//! comparison with a constant.

use rxla_hlo::op::ComparisonDirection;
use rxla_hlo::{BinaryKind, ComputationId, ElementType, InstructionId, Module, Op};

use crate::view;

/// The number of times that the body of a `while` runs, if the loop counts. The module has passed the
/// verifier.
pub fn trip_count(m: &Module, site: InstructionId) -> Option<u64> {
    let Op::While(op) = &m[site].op else { return None };
    if view::is_false(m, m[op.condition].root()) {
        return Some(0);
    }
    let test = test(m, site)?;
    if !holds(test.direction, test.start, test.bound) {
        return Some(0);
    }
    Some(counted(m, site, &test)?.0)
}

/// The number of times that a loop runs whose state begins with a counter from zero on by ones.
pub fn counts_from_zero(m: &Module, site: InstructionId) -> Option<u64> {
    let counter = counter_of(m, site)?;
    ((counter.index, counter.start, counter.step) == (0, 0, 1)).then_some(counter.times)
}

/// The counter of a loop that runs a known number of times.
pub(crate) struct Counter {
    /// Where it stands in the state.
    pub(crate) index: usize,
    pub(crate) start: i128,
    pub(crate) step: i128,
    pub(crate) times: u64,
}

/// The counter that says how often a loop with a tuple for its state runs, at least once.
pub(crate) fn counter_of(m: &Module, site: InstructionId) -> Option<Counter> {
    let test = test(m, site)?;
    let index = usize::try_from(test.place.0?).ok()?;
    if !holds(test.direction, test.start, test.bound) {
        return None;
    }
    let (times, step) = counted(m, site, &test)?;
    Some(Counter { index, start: test.start, step, times })
}

/// What decides whether a loop goes on: a comparison of a counter with a bound.
struct Test {
    place: Place,
    start: i128,
    bound: i128,
    direction: ComparisonDirection,
}

fn test(m: &Module, site: InstructionId) -> Option<Test> {
    let Op::While(op) = &m[site].op else { return None };
    let condition = op.condition;
    let test = m[condition].root();
    let Op::Compare(compare) = &m[test].op else { return None };
    let (left, right) = (view::operand(m, test, 0), view::operand(m, test, 1));
    let (place, bound, direction) = match (counter(m, condition, left), scalar(m, right)) {
        (Some(place), Some(bound)) => (place, bound, compare.direction),
        _ => (counter(m, condition, right)?, scalar(m, left)?, swapped(compare.direction)),
    };
    let start = scalar(m, initial(m, site, place)?)?;
    Some(Test { place, start, bound, direction })
}

/// How often a loop runs that begins, and what it adds to its counter.
fn counted(m: &Module, site: InstructionId, test: &Test) -> Option<(u64, i128)> {
    let Op::While(op) = &m[site].op else { return None };
    let state = m[op.body].parameters()[0];
    let counted = m[state].shape.subshape(test.place.as_slice())?.as_array()?;
    let range = range(counted.element_type)?;
    let step = step(m, op.body, test.place)?;
    Some((times(test.direction, test.start, test.bound, step, range)?, step))
}

/// Where in the state a value stands: nowhere in particular if the state is that value.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Place(Option<i64>);

impl Place {
    fn as_slice(&self) -> &[i64] {
        self.0.as_slice()
    }
}

/// The place of a value that is read from the state of the loop as it is.
fn counter(m: &Module, computation: ComputationId, value: InstructionId) -> Option<Place> {
    let state = m[computation].parameters()[0];
    if value == state {
        return Some(Place(None));
    }
    let Op::GetTupleElement(op) = &m[value].op else { return None };
    (view::operand(m, value, 0) == state).then_some(Place(Some(op.index)))
}

/// What stands at the place before the loop.
fn initial(m: &Module, site: InstructionId, place: Place) -> Option<InstructionId> {
    at(m, view::operand(m, site, 0), place)
}

fn at(m: &Module, state: InstructionId, place: Place) -> Option<InstructionId> {
    let Some(index) = place.0 else { return Some(state) };
    let Op::Tuple(_) = &m[state].op else { return None };
    m[state].operands().get(usize::try_from(index).ok()?).copied()
}

/// A constant integer. Booleans do not count.
pub(super) fn scalar(m: &Module, i: InstructionId) -> Option<i128> {
    let literal = view::constant(m, i)?;
    let integral = literal.element_type().is_integer() && literal.len() == 1;
    integral.then(|| literal.integer(0)).flatten().map(i128::from)
}

/// What the body adds to the value at the place.
fn step(m: &Module, body: ComputationId, place: Place) -> Option<i128> {
    let next = at(m, m[body].root(), place)?;
    let (kind, [left, right]) = view::any_binary(m, next)?;
    let is_counter = |i| counter(m, body, i) == Some(place);
    match kind {
        BinaryKind::Add if is_counter(left) => scalar(m, right),
        BinaryKind::Add if is_counter(right) => scalar(m, left),
        BinaryKind::Subtract if is_counter(left) => scalar(m, right).map(|step| -step),
        _ => None,
    }
}

/// The least and the greatest value of an integer type.
pub(super) fn range(element_type: ElementType) -> Option<(i128, i128)> {
    let bits = element_type.bit_width() as u32;
    if element_type.is_signed() {
        Some((-(1 << (bits - 1)), (1 << (bits - 1)) - 1))
    } else if element_type.is_unsigned() {
        Some((0, (1 << bits) - 1))
    } else {
        None
    }
}

fn swapped(direction: ComparisonDirection) -> ComparisonDirection {
    use ComparisonDirection::{Eq, Ge, Gt, Le, Lt, Ne};
    match direction {
        Eq => Eq,
        Ne => Ne,
        Ge => Le,
        Gt => Lt,
        Le => Ge,
        Lt => Gt,
    }
}

fn holds(direction: ComparisonDirection, value: i128, bound: i128) -> bool {
    use ComparisonDirection::{Eq, Ge, Gt, Le, Lt, Ne};
    match direction {
        Eq => value == bound,
        Ne => value != bound,
        Ge => value >= bound,
        Gt => value > bound,
        Le => value <= bound,
        Lt => value < bound,
    }
}

/// How many steps it takes from `start`, where the comparison holds, to where it does not; `None` if
/// the counter would leave its type on the way, or never arrives.
fn times(
    direction: ComparisonDirection,
    start: i128,
    bound: i128,
    step: i128,
    (least, greatest): (i128, i128),
) -> Option<u64> {
    use ComparisonDirection::{Eq, Ge, Gt, Le, Lt, Ne};
    let distance = bound - start;
    let count = match direction {
        Eq if step != 0 => 1,
        Lt if step > 0 => (distance + step - 1) / step,
        Le if step > 0 => distance / step + 1,
        Gt if step < 0 => (distance + step + 1) / step,
        Ge if step < 0 => distance / step + 1,
        Ne if step != 0 && distance % step == 0 && distance / step > 0 => distance / step,
        Eq | Ne | Lt | Le | Gt | Ge => return None,
    };
    let last = start + count * step;
    (least <= last && last <= greatest).then(|| u64::try_from(count).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every small loop of a type of 4 bits, counted by running it.
    #[test]
    fn times_are_those_of_running() {
        for direction in ComparisonDirection::ALL.iter().copied() {
            for (least, greatest) in [(-8, 7), (0, 15)] {
                for start in least..=greatest {
                    for bound in least..=greatest {
                        for step in -8..=7 {
                            check(direction, start, bound, step, (least, greatest));
                        }
                    }
                }
            }
        }
    }

    fn check(
        direction: ComparisonDirection,
        start: i128,
        bound: i128,
        step: i128,
        range: (i128, i128),
    ) {
        if !holds(direction, start, bound) {
            return;
        }
        let (mut value, mut count) = (start, 0);
        while holds(direction, value, bound) && count <= 16 {
            value += step;
            count += 1;
            if value < range.0 || value > range.1 {
                break;
            }
        }
        let ends = !holds(direction, value, bound) && value >= range.0 && value <= range.1;
        let found = times(direction, start, bound, step, range);
        assert_eq!(found, ends.then_some(count), "{start} {direction} {bound} by {step}");
    }
}
