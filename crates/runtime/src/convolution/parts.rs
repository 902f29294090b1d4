//! What is computed along one dimension of space: parts of the result, each with the taps that meet
//! elements.

use super::Spatial;

/// A part of the result along one dimension, and the taps that it needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// The first place, the distance to the next, how many.
    pub(super) places: [usize; 3],
    /// The same for taps.
    pub(super) taps: [usize; 3],
    /// Where the first tap of the first place is in the operand.
    pub(super) start: isize,
    /// How far the next place and the next tap are in the operand.
    pub(super) steps: [usize; 2],
}

impl Part {
    /// The first and the last place in the operand that is read.
    pub(super) fn reach(&self) -> Option<(isize, isize)> {
        if self.places[2] == 0 || self.taps[2] == 0 {
            return None;
        }
        let last = (self.places[2] - 1) * self.steps[0] + (self.taps[2] - 1) * self.steps[1];
        Some((self.start, self.start + last as isize))
    }
}

/// How one dimension is done: its parts, the distance that elements are spread to in the operand, and
/// which of its places are read.
pub(super) struct Plan {
    pub(super) parts: Vec<Part>,
    pub(super) spread: usize,
    pub(super) low: isize,
    pub(super) high: isize,
}

pub(super) fn plan(dim: &Spatial) -> Plan {
    let (dilation, pad) = (dim.left_dilation.max(1), dim.pad_low);
    let taken_apart = dilation > 1 && dim.stride == 1 && dim.right_dilation == 1;
    let parts: Vec<Part> = if taken_apart {
        let part = |first: usize| {
            let tap = (pad - first as isize).rem_euclid(dilation as isize) as usize;
            Part {
                places: [first, dilation, (dim.output - first).div_ceil(dilation)],
                taps: [tap, dilation, dim.kernel.saturating_sub(tap).div_ceil(dilation)],
                start: (first as isize + tap as isize - pad) / dilation as isize,
                steps: [1, 1],
            }
        };
        (0..dilation.min(dim.output)).map(part).collect()
    } else {
        vec![Part {
            places: [0, 1, dim.output],
            taps: [0, 1, dim.kernel],
            start: -pad,
            steps: [dim.stride, dim.right_dilation],
        }]
    };
    let reaches: Vec<(isize, isize)> = parts.iter().filter_map(Part::reach).collect();
    Plan {
        spread: if taken_apart { 1 } else { dilation },
        low: reaches.iter().map(|reach| reach.0).min().unwrap_or(0),
        high: reaches.iter().map(|reach| reach.1).max().unwrap_or(0),
        parts,
    }
}

impl Plan {
    /// Whether all that is read are elements of the operand, side by side as they are.
    pub(super) fn fits(&self, dim: &Spatial) -> bool {
        self.spread == 1 && self.low >= 0 && self.high < dim.input as isize
    }
}
