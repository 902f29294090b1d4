//! Offsets for pieces of memory that are needed at certain times: the largest first, each where it
//! leaves the smallest gap.

use crate::liveness::Range;

/// The offset of each request (its size and the ranges in which it is needed, sorted by start),
/// and the size of the whole.
pub(crate) fn place(requests: &[(u64, &[Range])]) -> (Vec<u64>, u64) {
    let mut order: Vec<usize> = (0..requests.len()).collect();
    order.sort_by_key(|&index| (std::cmp::Reverse(requests[index].0), start(requests[index].1)));
    let mut offsets = vec![0; requests.len()];
    let mut placed: Vec<usize> = Vec::new();
    let mut total = 0;
    let mut taken: Vec<(u64, u64)> = Vec::new();
    for index in order {
        let (bytes, ranges) = requests[index];
        taken.clear();
        for &other in &placed {
            if overlap(ranges, requests[other].1) {
                taken.push((offsets[other], offsets[other] + requests[other].0));
            }
        }
        taken.sort_unstable();
        let offset = best_gap(bytes, &taken);
        offsets[index] = offset;
        total = total.max(offset + bytes);
        placed.push(index);
    }
    (offsets, total)
}

fn start(ranges: &[Range]) -> u32 {
    ranges.first().map_or(0, |range| range.start)
}

/// The start of the smallest gap between what is taken that has room, else the end of it all.
fn best_gap(bytes: u64, taken: &[(u64, u64)]) -> u64 {
    let mut end = 0;
    let mut best: Option<(u64, u64)> = None;
    for &(from, to) in taken {
        if from >= end + bytes {
            let gap = from - end;
            if best.is_none_or(|(size, _)| gap < size) {
                best = Some((gap, end));
            }
        }
        end = end.max(to);
    }
    best.map_or(end, |(_, offset)| offset)
}

fn overlap(a: &[Range], b: &[Range]) -> bool {
    let (Some(a_first), Some(b_first)) = (a.first(), b.first()) else { return false };
    let end = |ranges: &[Range]| ranges.iter().map(|range| range.end).max().unwrap_or(0);
    // Most are far apart.
    if end(a) < b_first.start || end(b) < a_first.start {
        return false;
    }
    a.iter().any(|x| b.iter().any(|y| x.start <= y.end && y.start <= x.end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(start: u32, end: u32) -> [Range; 1] {
        [Range { start, end }]
    }

    #[test]
    fn those_that_never_meet_share() {
        let [a, b, c] = [range(0, 3), range(4, 7), range(2, 5)];
        let (offsets, total) = place(&[(64, &a), (64, &b), (128, &c)]);
        assert_eq!((offsets, total), (vec![128, 128, 0], 192));
    }

    #[test]
    fn the_smallest_gap_is_taken() {
        let [a, b, c, d] = [range(0, 9), range(0, 4), range(0, 9), range(5, 9)];
        let (offsets, total) = place(&[(256, &a), (192, &b), (128, &c), (64, &d)]);
        assert_eq!(offsets, [0, 256, 448, 256]);
        assert_eq!(total, 576);
    }

    #[test]
    fn a_request_with_several_ranges_leaves_room_between_them() {
        let holes = [Range { start: 0, end: 1 }, Range { start: 8, end: 9 }];
        let (offsets, total) = place(&[(64, &holes), (64, &range(3, 5))]);
        assert_eq!((offsets, total), (vec![0, 0], 64));
    }
}
