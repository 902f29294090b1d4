//! Arrays of a loop that change places with what becomes of them, where they would be copied.
//!
//! An array that a loop carries is read while its next value is made, so the two need memory of their
//! own, and at the end of an iteration one would be copied to the other. Instead they are exchanged:
//! what the array had is where its next value will be made. So it is with two arrays of which one is
//! next what the other was. While the loop runs nobody else may have any of that memory.

use super::{Assignment, Place, apart};
use crate::liveness::Range;

/// What is smaller is copied as fast as places are exchanged.
const TURNING_BYTES: u64 = 1 << 10;

/// A [`super::Turn`], of classes.
pub(super) struct Turning {
    pub(super) end: u32,
    pub(super) spare: u32,
    pub(super) first: u32,
    pub(super) second: Option<u32>,
}

impl Turning {
    /// Whether it takes the place of a copy.
    pub(super) fn replaces(&self, position: u32, source: Option<u32>, target: u32) -> bool {
        position == self.end
            && ((source, target) == (Some(self.spare), self.first)
                || (source == Some(self.first) && self.second == Some(target)))
    }
}

impl Assignment<'_> {
    /// Has a loop's arrays and what becomes of them change places rather than be copied.
    pub(super) fn take_turns(&mut self) {
        for (head, end) in std::mem::take(&mut self.loops) {
            let wants = self.wants.iter().filter(|want| want.position == end);
            let moves: Vec<(Option<u32>, u32)> = wants
                .map(|want| {
                    let source = self.piece_of.get(&want.value).map(|&piece| self.class(piece));
                    (source, self.class(want.target))
                })
                .filter(|&(source, target)| source != Some(target))
                .collect();
            let reads = |class: u32| moves.iter().filter(move |(source, _)| *source == Some(class));
            let mut turns: Vec<Turning> = Vec::new();
            for &(source, first) in &moves {
                let Some(spare) = source else { continue };
                let bytes = self.classes[spare as usize].bytes;
                let may_turn = |class: u32| {
                    let class = &self.classes[class as usize];
                    let movable = matches!(class.fixed, None | Some(Place::Result(_)));
                    movable && class.bytes == bytes && bytes >= TURNING_BYTES
                };
                let free = self.is_made_in(spare, head, end) && reads(spare).count() == 1;
                if !free || !may_turn(spare) || !may_turn(first) {
                    continue;
                }
                let mut others = reads(first);
                let second = match (others.next(), others.next()) {
                    (Some(&(_, second)), None) => Some(second).filter(|&class| may_turn(class)),
                    (Some(_) | None, _) => None,
                };
                turns.push(Turning { end, spare, first, second });
            }
            for turn in &turns {
                for class in [Some(turn.spare), Some(turn.first), turn.second].into_iter().flatten()
                {
                    let range = Range { start: 2 * head, end: 2 * end + 1 };
                    let piece = self.classes[class as usize].pieces[0];
                    let whole = self.new_piece(range, self.classes[class as usize].bytes);
                    // The larger of two keeps its number, and this is the smallest there is.
                    self.unite(piece, whole);
                }
            }
            self.turns.extend(turns);
        }
    }

    /// Whether what a class holds in a loop is made anew in each iteration.
    fn is_made_in(&self, class: u32, head: u32, end: u32) -> bool {
        let whole = Range { start: 2 * head, end: 2 * end + 1 };
        self.classes[class as usize].pieces.iter().all(|&piece| {
            let range = self.pieces[piece as usize].range;
            apart(range, whole) || (range.start > whole.start && range.end <= whole.end)
        })
    }
}
