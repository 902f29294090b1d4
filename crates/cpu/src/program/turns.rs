//! Places of a loop that take turns: addresses change hands where bytes would be copied.
//!
//! After the loop the values are wanted where they live outside of it. How far the places have turned
//! is counted, so that what is not there is copied, once.

use rxla_kernel::builder::Builder;
use rxla_kernel::ir::Carried;
use rxla_kernel::{BinaryOp, ComparePredicate, Type, Value};

use super::Driver;
use crate::buffers::{Place, Turn};

/// A [`Turn`] in an open loop.
pub(super) struct Turning {
    turn: Turn,
    /// The addresses of first, second and spare.
    addresses: Vec<Carried>,
    /// How far they have turned.
    phase: Carried,
    /// What the places were before.
    outside: Vec<(Place, Option<Value>)>,
}

impl Turning {
    pub(super) fn carried(&self) -> impl Iterator<Item = Carried> + '_ {
        self.addresses.iter().copied().chain([self.phase])
    }

    /// What the next iteration finds.
    pub(super) fn next(&self, b: &mut Builder) -> Vec<Value> {
        let mut next: Vec<Value> = self.addresses.iter().map(|address| address.param).collect();
        next.rotate_right(1);
        let one = b.index(1);
        let count = b.binary(BinaryOp::Add, self.phase.param, one);
        let places = b.index(next.len() as i64);
        let around = b.compare(ComparePredicate::Eq, count, places);
        let zero = b.index(0);
        next.push(b.select(around, zero, count));
        next
    }
}

impl Driver<'_> {
    /// Has places take turns from now on.
    pub(super) fn turn(&mut self, b: &mut Builder, turn: Turn) -> Turning {
        let carry = |b: &mut Builder, init: Value| {
            let ty = b.ty(init);
            Carried { init, param: b.fresh(ty), result: b.fresh(ty) }
        };
        let places = [Some(turn.first), turn.second, Some(turn.spare)];
        let (mut addresses, mut outside) = (Vec::new(), Vec::new());
        for place in places.into_iter().flatten() {
            let address = self.address(b, place);
            let address = carry(b, address);
            outside.push((place, self.turned.insert(place, address.param)));
            addresses.push(address);
        }
        let zero = b.constant(Type::I64, 0);
        let phase = carry(b, zero);
        Turning { turn, addresses, phase, outside }
    }

    /// After the loop: has every place what it held at the end of the loop.
    pub(super) fn turn_home(&mut self, b: &mut Builder, turning: &Turning) {
        for &(place, before) in turning.outside.iter().rev() {
            match before {
                Some(address) => self.turned.insert(place, address),
                None => self.turned.remove(&place),
            };
        }
        let bytes = turning.turn.bytes;
        let homes: Vec<Value> = turning.addresses.iter().map(|address| address.init).collect();
        for phase in 1..homes.len() {
            let number = b.index(phase as i64);
            let here = b.compare(ComparePredicate::Eq, turning.phase.result, number);
            b.if_else(
                here,
                |b| {
                    for (to, from) in way_home(homes.len(), phase) {
                        self.copy(b, homes[to], homes[from], bytes);
                    }
                    Vec::new()
                },
                |_| Vec::new(),
            );
        }
    }
}

/// The copies by which all but the last, which is spare, come home of two or three that have turned so
/// far: what is at home at `i` lies `phase` places before it.
fn way_home(count: usize, phase: usize) -> Vec<(usize, usize)> {
    let lies = |index: usize| (index + count - phase) % count;
    let mut left: Vec<usize> = (0..count - 1).collect();
    let mut out = Vec::new();
    // There is a free place throughout, so some home is always free.
    while let Some(at) = left.iter().position(|&to| left.iter().all(|&other| lies(other) != to)) {
        let to = left.remove(at);
        out.push((to, lies(to)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::way_home;

    #[test]
    fn everything_comes_home() {
        for count in [2, 3] {
            for phase in 1..count {
                let mut places: Vec<usize> = (0..count).map(|at| (at + phase) % count).collect();
                for (to, from) in way_home(count, phase) {
                    places[to] = places[from];
                }
                assert_eq!(places[..count - 1], (0..count - 1).collect::<Vec<_>>(), "{phase}");
            }
        }
    }
}
