//! Lines that lie in order, brought side by side and back. Those that are fewer than there are lanes share them with
//! whatever was there before.

use num_complex::Complex;
use rxla_fourier::{FftDirection, Steps};

use super::grain;
use super::lanes::{self, Line, Lines};
use crate::context::Context;
use crate::gemm::Address;

/// As many lines as there are lanes at most, so many numbers apart.
#[derive(Clone, Copy)]
pub(super) struct Group<T> {
    pub start: *mut T,
    pub step: usize,
    pub count: usize,
}

impl<T> Group<T> {
    /// The groups of lines that lie one after the other.
    fn of(start: Address<T>, step: usize, lines: usize, lanes: usize, index: usize) -> Group<T> {
        let first = index * lanes;
        Group {
            start: start.get().wrapping_add(first * step),
            step,
            count: lanes.min(lines - first),
        }
    }
}

/// Runs `work(from, into, lines)` for all groups of so many lines; `from` and `into` say where the first is and how
/// far apart they are.
pub(super) fn each_group<A: Line>(
    context: &Context,
    lines: usize,
    length: usize,
    (from, from_step): (Address<A>, usize),
    (into, into_step): (Address<A>, usize),
    work: impl Fn(Group<A>, Group<A>, &mut Lines<A>) + Sync,
) {
    let lanes = A::side_by_side().lanes;
    context.parallel_for(lines.div_ceil(lanes), 1 + grain(length) / lanes, |begin, end| {
        // A place more, for what real numbers have at the end.
        let mut side = Lines::new(length + 1);
        for index in begin..end {
            let from = Group::of(from, from_step, lines, lanes, index);
            let into = Group::of(into, into_step, lines, lanes, index);
            work(from, into, &mut side);
        }
    });
}

/// Transforms lines of complex numbers.
///
/// # Safety
///
/// Both places hold so many lines of a length, and nobody else uses the second.
pub(super) unsafe fn transform_all<T: Line>(
    context: &Context,
    operand: Address<Complex<T>>,
    result: Address<Complex<T>>,
    lines: usize,
    length: usize,
    direction: FftDirection,
    scale: Option<T>,
) {
    if let Some(steps) = lanes::steps::<T>(lines, length) {
        // SAFETY: the caller's promise.
        unsafe { transform(context, operand, result, lines, &steps, direction, scale) };
        return;
    }
    let plan = T::plan(length, direction);
    context.parallel_for(lines, grain(length), |begin, end| {
        let mut room = vec![Complex::default(); plan.get_immutable_scratch_len()];
        for line in begin..end {
            // SAFETY: the caller's promise; each line is in one piece.
            let (from, into) = unsafe {
                let from = operand.get().add(line * length).cast_const();
                let into = result.get().add(line * length);
                (
                    std::slice::from_raw_parts(from, length),
                    std::slice::from_raw_parts_mut(into, length),
                )
            };
            plan.process_immutable_with_scratch(from, into, &mut room);
            if let Some(scale) = scale {
                into.iter_mut().for_each(|value| *value = *value * scale);
            }
        }
    });
}

/// Transforms lines of complex numbers side by side.
///
/// # Safety
///
/// As for [`transform_all`].
unsafe fn transform<T: Line>(
    context: &Context,
    operand: Address<Complex<T>>,
    result: Address<Complex<T>>,
    lines: usize,
    steps: &Steps<T>,
    direction: FftDirection,
    scale: Option<T>,
) {
    let numbers = 2 * steps.length;
    let numbers_of = |place: Address<Complex<T>>| (Address(place.get().cast::<T>()), numbers);
    let (from, into) = (numbers_of(operand), numbers_of(result));
    each_group(context, lines, steps.length, from, into, |from, into, side| {
        // SAFETY: the caller's promise; each line is in one group.
        unsafe {
            read(from, numbers, 1, side);
            side.transform(steps, direction, scale);
            write(into, numbers, side, |i| 2 * steps.places[i / 2] as usize + i % 2);
        }
    });
}

/// Brings so many numbers of lines side by side, in every `spread`-th vector.
///
/// # Safety
///
/// The lines have so many numbers.
pub(super) unsafe fn read<T: Line>(
    group: Group<T>,
    numbers: usize,
    spread: usize,
    side: &mut Lines<T>,
) {
    let (lanes, turn) = (side.kernels.lanes, side.kernels.turn);
    let rows: [isize; 16] = std::array::from_fn(|line| (line * group.step) as isize);
    let data = side.data();
    assert!(data.len() >= ((numbers - 1) * spread + 1) * lanes && group.count <= lanes);
    let mut first = 0;
    while numbers >= lanes && first < numbers {
        // The last square may begin in the one before it.
        let here = first.min(numbers - lanes);
        // SAFETY: the caller's promise, and there is room.
        unsafe {
            let into = data.as_mut_ptr().add(here * spread * lanes);
            turn(group.start.add(here), &rows[..group.count], spread * lanes, into);
        }
        first += lanes;
    }
    if numbers < lanes {
        for line in 0..group.count {
            for i in 0..numbers {
                // SAFETY: the caller's promise.
                data[i * spread * lanes + line] =
                    unsafe { *group.start.add(line * group.step + i) };
            }
        }
    }
}

/// Writes so many numbers of lines that are side by side; `vector` says which vector each of them is in.
///
/// # Safety
///
/// There is room for so many numbers of each line, which nobody else uses.
pub(super) unsafe fn write<T: Line>(
    group: Group<T>,
    numbers: usize,
    side: &mut Lines<T>,
    vector: impl Fn(usize) -> usize,
) {
    let (lanes, turn) = (side.kernels.lanes, side.kernels.turn);
    let data = &*side.data();
    let mut square = [T::default(); 16 * 16];
    for first in (0..numbers).step_by(lanes) {
        let width = lanes.min(numbers - first);
        let rows: [isize; 16] = std::array::from_fn(|i| match i < width {
            true => (vector(first + i) * lanes) as isize,
            false => 0,
        });
        assert!(rows.iter().all(|&row| row as usize + lanes <= data.len()));
        // SAFETY: the vectors are there, by the assertion; the caller's promise for the lines.
        unsafe {
            if group.count == lanes {
                turn(data.as_ptr(), &rows[..width], group.step, group.start.add(first));
                continue;
            }
            turn(data.as_ptr(), &rows[..width], lanes, square.as_mut_ptr());
            for line in 0..group.count {
                let into = group.start.add(line * group.step + first);
                std::ptr::copy_nonoverlapping(square[line * lanes..].as_ptr(), into, width);
            }
        }
    }
}
