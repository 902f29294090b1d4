//! Where elements, taps and results are along each dimension of space, in tables: for what reads the operand where it
//! is.

use super::parts::{Part, Plan};
use super::{Convolution, Spatial};

/// In tables of elements: there is none, but padding, or what dilation puts between elements.
pub(super) const OUTSIDE: isize = isize::MIN;

/// One dimension of space, of one part of the result.
pub(super) struct Line {
    pub(super) places: usize,
    /// By place and tap, where the element is in the operand.
    elements: Vec<isize>,
    /// By tap, where it is in the window.
    pub(super) taps: Vec<isize>,
    /// Where the first place is in the result, and the distance to the next.
    pub(super) result: [isize; 2],
}

impl Line {
    /// The dimensions of each part of the result; see [`super::parts`].
    pub(super) fn of_parts(c: &Convolution, plans: &[Plan]) -> Vec<Vec<Line>> {
        let count: usize = plans.iter().map(|plan| plan.parts.len()).product();
        let lines = |mut number: usize| {
            let line = |(plan, dim): (&Plan, &Spatial)| {
                let part = &plan.parts[number % plan.parts.len()];
                number /= plan.parts.len();
                Line::new(part, plan.spread, dim)
            };
            plans.iter().zip(&c.spatial).map(line).collect()
        };
        (0..count).map(lines).collect()
    }

    fn new(part: &Part, spread: usize, dim: &Spatial) -> Line {
        let (places, taps) = (part.places[2], part.taps[2]);
        let element = |place: usize, tap: usize| {
            let at = part.start + (place * part.steps[0] + tap * part.steps[1]) as isize;
            let (at, between) = (at.div_euclid(spread as isize), at.rem_euclid(spread as isize));
            let inside = between == 0 && (0..dim.input as isize).contains(&at);
            if inside { at * dim.left_stride } else { OUTSIDE }
        };
        let element = &element;
        Line {
            places,
            elements: (0..places)
                .flat_map(|place| (0..taps).map(move |tap| element(place, tap)))
                .collect(),
            taps: (0..taps)
                .map(|tap| (part.taps[0] + tap * part.taps[1]) as isize * dim.right_stride)
                .collect(),
            result: [part.places[0], part.places[1]].map(|at| at as isize * dim.result_stride),
        }
    }

    /// By tap, where the elements of a place are.
    pub(super) fn elements(&self, place: usize) -> &[isize] {
        let taps = self.taps.len();
        &self.elements[place * taps..(place + 1) * taps]
    }

    /// Whether the taps of every place meet elements so far from each other.
    pub(super) fn is_apart(&self, step: isize) -> bool {
        let is_run = |place: usize| {
            let elements = self.elements(place);
            !elements.contains(&OUTSIDE)
                && elements.windows(2).all(|pair| pair[1] - pair[0] == step)
        };
        (0..self.places).all(is_run)
    }

    /// Where a place is in the result.
    pub(super) fn target(&self, place: usize) -> isize {
        self.result[0] + place as isize * self.result[1]
    }

    /// Where all taps are in the window, those of the last dimension next to each other.
    pub(super) fn all_taps(lines: &[Line]) -> Vec<isize> {
        lines.iter().fold(vec![0], |places, line| {
            places.iter().flat_map(|at| line.taps.iter().map(move |tap| at + tap)).collect()
        })
    }
}
