//! Vectors turned in pairs, as iterations for eigenvalues and singular values ask for: turns are collected, and
//! then done in columns so narrow that all vectors stay in the first cache.

use super::number::{Number, Real};
use crate::context::Context;
use crate::gemm::Address;
use crate::gemm::sets::for_each_set;
use crate::own::Own;

/// `(x, y)` becomes `(c x + s y, c y - s x)`, where `x` is a vector, `y` the one `step` after it.
#[derive(Clone, Copy)]
pub(super) struct Turn<P> {
    pub first: usize,
    pub second: usize,
    pub cosine: P,
    pub sine: P,
}

/// The turn that makes `(f, g)` `(r, 0)`: cosine, sine and `r`.
#[inline(always)]
pub(super) fn turn<P: Real>(f: P, g: P) -> (P, P, P) {
    if g == P::ZERO {
        return (P::ONE, P::ZERO, f);
    }
    let length = f.hypotenuse(g);
    let inverse = P::ONE / length;
    if inverse.finite() {
        (f * inverse, g * inverse, length)
    } else {
        (f / length, g / length, length)
    }
}

const WIDTH: usize = 16;
/// Pieces that are turned at once.
const TOGETHER: usize = 4;
/// Turns that are collected, at most for each vector and at most of all.
const MANY: [usize; 2] = [16, 1 << 12];

/// Vectors in rows, cut into columns of some parts of numbers, each of them in one piece.
pub(super) struct Vectors<P> {
    count: usize,
    data: Own<[P; WIDTH]>,
    turns: Own<Turn<P>>,
    /// How many of them are waiting.
    waiting: usize,
}

impl<P: Real> Vectors<P> {
    /// `count` vectors of so many numbers, `value` of the number of a vector and that of an element.
    #[inline(always)]
    pub(super) fn new<T: Number<Part = P>>(
        count: usize,
        length: usize,
        value: impl Fn(usize, usize) -> T,
    ) -> Vectors<P> {
        let pieces = (length * T::PARTS).div_ceil(WIDTH);
        let mut data = Own::filled([P::ZERO; WIDTH], pieces * count);
        for vector in 0..count {
            for element in 0..length {
                let value = value(vector, element);
                let place = element * T::PARTS;
                let piece = &mut data[place / WIDTH * count + vector];
                piece[place % WIDTH] = value.real();
                if T::PARTS > 1 {
                    piece[place % WIDTH + 1] = value.imaginary();
                }
            }
        }
        let none = Turn { first: 0, second: 0, cosine: P::ONE, sine: P::ZERO };
        let turns = Own::filled(none, MANY[1].min(MANY[0] * count.max(1)));
        Vectors { count, data, turns, waiting: 0 }
    }

    #[inline(always)]
    pub(super) fn get<T: Number<Part = P>>(&self, vector: usize, element: usize) -> T {
        let place = element * T::PARTS;
        let piece = &self.data[place / WIDTH * self.count + vector];
        T::of(piece[place % WIDTH], if T::PARTS > 1 { piece[place % WIDTH + 1] } else { P::ZERO })
    }

    /// Notes a turn; [`Vectors::finish`] does those that are left.
    #[inline(always)]
    pub(super) fn push(&mut self, context: &Context, turn: Turn<P>) {
        self.turns[self.waiting] = turn;
        self.waiting += 1;
        if self.waiting == self.turns.len() {
            self.finish(context);
        }
    }

    pub(super) fn finish(&mut self, context: &Context) {
        let count = self.count;
        let waiting = &self.turns[..std::mem::take(&mut self.waiting)];
        if waiting.is_empty() || count == 0 {
            return;
        }
        let tasks = self.data.len().div_ceil(TOGETHER * count);
        let data = Address(self.data.as_mut_ptr());
        let length = self.data.len();
        context.parallel_for(tasks, 1 + (1 << 12) / (waiting.len() + 1), |begin, end| {
            for task in begin..end {
                let first = task * TOGETHER * count;
                let rows = (TOGETHER * count).min(length - first);
                // SAFETY: each piece is turned once.
                unsafe {
                    let rows = std::slice::from_raw_parts_mut(data.get().add(first), rows);
                    run::<P>(rows, count, waiting);
                }
            }
        });
    }
}

for_each_set! {
    /// Does turns one after the other, in some pieces of so many vectors.
    ///
    /// # Safety
    ///
    /// None but that of the instruction set, which is seen to.
    unsafe fn run[P: Real] = run_body(
        rows: &mut [[P; WIDTH]], count: usize, turns: &[Turn<P>]
    ) -> ()
}

/// # Safety
///
/// See `run`.
#[inline(always)]
unsafe fn run_body<P: Real>(rows: &mut [[P; WIDTH]], count: usize, turns: &[Turn<P>]) {
    match rows.len() / count {
        1 => together::<P, 1>(rows, count, turns),
        2 => together::<P, 2>(rows, count, turns),
        3 => together::<P, 3>(rows, count, turns),
        _ => together::<P, TOGETHER>(rows, count, turns),
    }
}

/// Each turn waits for the one before it, but not for that in another piece. Most turns begin with what the one before
/// them ended with, which stays in registers.
#[inline(always)]
fn together<P: Real, const PIECES: usize>(
    rows: &mut [[P; WIDTH]],
    count: usize,
    turns: &[Turn<P>],
) {
    let Some(first) = turns.first() else { return };
    assert!(rows.len() == PIECES * count);
    let mut pieces = rows.chunks_exact_mut(count);
    let pieces: [&mut [[P; WIDTH]]; PIECES] =
        std::array::from_fn(|_| pieces.next().expect("there are as many"));
    let mut at = first.first;
    let mut held = [[P::ZERO; WIDTH]; PIECES];
    for piece in 0..PIECES {
        held[piece] = pieces[piece][at];
    }
    for turn in turns {
        if turn.first != at {
            for piece in 0..PIECES {
                pieces[piece][at] = held[piece];
                held[piece] = pieces[piece][turn.first];
            }
        }
        for piece in 0..PIECES {
            let (mut x, mut y) = (held[piece], pieces[piece][turn.second]);
            for lane in 0..WIDTH {
                let (a, b) = (x[lane], y[lane]);
                x[lane] = (turn.cosine * a).plus_product(turn.sine, b);
                y[lane] = (turn.cosine * b).minus_product(turn.sine, a);
            }
            pieces[piece][turn.first] = x;
            held[piece] = y;
        }
        at = turn.second;
    }
    for piece in 0..PIECES {
        pieces[piece][at] = held[piece];
    }
}
