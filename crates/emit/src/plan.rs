//! What a first run of the emitter finds out about the loops, for the run that counts: which
//! dimensions to split so that reshapes need no division, which neighbours run as one loop, and where
//! to cut a loop so that what is padded or concatenated is known in each piece.

use rustc_hash::FxHashMap;
use rxla_hlo::InstructionId;

use crate::affine::Affine;

/// A loop nest: that of a group of results, or one inside, such as a reduction's.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) enum NestId {
    Results(usize),
    Inner(InstructionId),
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    /// How many values the body of a first run had.
    pub(crate) body_values: i64,
    /// How many of them are sines and their like, each of which LLVM takes as long for as for dozens of others.
    pub(crate) body_sines: i64,
    /// However few the elements are, there are many in all.
    pub(crate) runs_often: bool,
    /// How many of them are functions that are approximated.
    pub(crate) body_functions: i64,
    /// Bytes of the narrowest element that is stored.
    pub(crate) store_width: usize,
    nests: FxHashMap<NestId, NestPlan>,
    across: FxHashMap<NestId, Across>,
}

#[derive(Clone, Debug)]
pub(crate) struct NestPlan {
    /// Per dimension the sizes of the loops that run through it, the outermost first.
    pub(crate) factors: Vec<Vec<i64>>,
    /// Per loop whether it stays apart from the next.
    pub(crate) apart: Vec<bool>,
    /// Per loop the values at which it is cut.
    pub(crate) cuts: Vec<Vec<i64>>,
    /// Whether the last loop runs along a row of which a mask hides the end.
    pub(crate) has_border: bool,
}

impl NestPlan {
    pub(crate) fn new(dims: &[i64]) -> NestPlan {
        // A dimension of one element needs no loop.
        let factors: Vec<Vec<i64>> =
            dims.iter().map(|&size| if size == 1 { Vec::new() } else { vec![size] }).collect();
        let count = factors.iter().map(Vec::len).sum();
        NestPlan {
            factors,
            apart: vec![true; count],
            cuts: vec![Vec::new(); count],
            has_border: false,
        }
    }

    /// All loops in order, each with its dimension and how far one step of it goes there.
    pub(crate) fn loops(&self) -> Vec<PlannedLoop> {
        let mut loops = Vec::new();
        for (dimension, factors) in self.factors.iter().enumerate() {
            for (at, &size) in factors.iter().enumerate() {
                let stride = factors[at + 1..].iter().product();
                loops.push(PlannedLoop { dimension, size, stride });
            }
        }
        loops
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct PlannedLoop {
    pub(crate) dimension: usize,
    pub(crate) size: i64,
    pub(crate) stride: i64,
}

/// Loop number `position` of a nest.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct Origin {
    pub(crate) nest: NestId,
    pub(crate) position: usize,
}

/// What a run has seen.
#[derive(Default, Debug)]
pub(crate) struct Learned {
    /// A loop and what its inner part should count.
    pub(crate) splits: Vec<(Origin, i64)>,
    pub(crate) cuts: Vec<(Origin, i64)>,
    /// Loops along rows of which a mask hides the end.
    pub(crate) borders: Vec<Origin>,
    /// Loops that may not be one with the next.
    pub(crate) apart: Vec<Origin>,
    /// The nests that were run, with their dimensions.
    pub(crate) nests: Vec<(NestId, Vec<i64>)>,
    pub(crate) loads: Vec<Access>,
    pub(crate) stores: Vec<Access>,
}

/// A load of an operand or a store of a result.
#[derive(Debug)]
pub(crate) struct Access {
    /// The leaf of the operands or results.
    pub(crate) leaf: usize,
    pub(crate) position: Affine,
    /// In which of the nests of results.
    pub(crate) nest: usize,
    /// How far a step of each loop of that nest goes, by position, and the loop's last value.
    pub(crate) strides: Vec<(usize, i64, i64)>,
    /// Between which values the part of the position lies that is not of these loops.
    pub(crate) rest: (i64, i64),
    /// How many loops of that nest the access stands in.
    pub(crate) open: usize,
    /// Bytes of an element.
    pub(crate) width: usize,
}

/// A loop along which loads are contiguous that lie across what is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Across {
    pub(crate) position: usize,
    /// Bytes of the widest element that is loaded so.
    pub(crate) widest: usize,
}

/// A nest is not cut into more pieces than this: each is a copy of the code.
const MOST_PIECES: usize = 12;
/// Nor is one of which a single loop is cut, as where operands of a concatenation end: a piece has code for its own.
const MOST_PIECES_OF_LOOP: usize = 64;

impl Plan {
    pub(crate) fn nest(&self, id: NestId, dims: &[i64]) -> NestPlan {
        self.nests.get(&id).cloned().unwrap_or_else(|| NestPlan::new(dims))
    }

    /// Applies the splits, after which another run must look again; `None` if there are none.
    pub(crate) fn split(&self, learned: &Learned) -> Option<Plan> {
        let mut plan = self.clone();
        let mut changed = false;
        let mut seen: Vec<Origin> = Vec::new();
        for &(origin, inner) in &learned.splits {
            // Positions count the loops of this run, so one split per nest at a time.
            if seen.iter().any(|known| known.nest == origin.nest) {
                continue;
            }
            seen.push(origin);
            let Some((_, dims)) = learned.nests.iter().find(|nest| nest.0 == origin.nest) else {
                continue;
            };
            let mut nest = plan.nest(origin.nest, dims);
            let mut position = 0;
            'found: for factors in &mut nest.factors {
                for at in 0..factors.len() {
                    if position == origin.position {
                        if factors[at] % inner == 0 && inner > 1 && inner < factors[at] {
                            factors[at] /= inner;
                            factors.insert(at + 1, inner);
                            changed = true;
                        }
                        break 'found;
                    }
                    position += 1;
                }
            }
            let count = nest.factors.iter().map(Vec::len).sum();
            nest.apart = vec![true; count];
            nest.cuts = vec![Vec::new(); count];
            plan.nests.insert(origin.nest, nest);
        }
        changed.then_some(plan)
    }

    /// The plan with neighbours joined and loops cut as a run without splits has shown.
    pub(crate) fn finished(&self, learned: &Learned) -> Plan {
        let mut plan = self.clone();
        for (id, dims) in &learned.nests {
            let mut nest = plan.nest(*id, dims);
            let loops = nest.loops();
            nest.apart = vec![false; loops.len()];
            nest.cuts = vec![Vec::new(); loops.len()];
            let last = loops.len().wrapping_sub(1);
            let ends = |origin: &Origin| origin.nest == *id && origin.position == last;
            nest.has_border = learned.borders.iter().any(ends);
            let of_nest = |origin: &Origin| origin.nest == *id && origin.position < loops.len();
            for origin in learned.apart.iter().filter(|origin| of_nest(origin)) {
                nest.apart[origin.position] = true;
            }
            for (origin, at) in learned.cuts.iter().filter(|cut| of_nest(&cut.0)) {
                let cuts = &mut nest.cuts[origin.position];
                if *at > 0 && *at < loops[origin.position].size && !cuts.contains(at) {
                    cuts.push(*at);
                }
            }
            let most = match nest.cuts.iter().filter(|cuts| !cuts.is_empty()).count() {
                0 | 1 => MOST_PIECES_OF_LOOP,
                _ => MOST_PIECES,
            };
            let mut pieces = 1;
            // The last loop first: what is not known in its pieces is chosen for each element.
            for (position, cuts) in nest.cuts.iter_mut().enumerate().rev() {
                cuts.sort_unstable();
                thin(cuts, loops[position].size, most / pieces);
                pieces *= cuts.len() + 1;
                if !cuts.is_empty() && position > 0 {
                    nest.apart[position - 1] = true;
                }
            }
            plan.nests.insert(*id, nest);
            if let Some(across) = across(*id, loops.len(), learned) {
                plan.across.insert(*id, across);
            }
        }
        plan
    }

    pub(crate) fn across(&self, nest: NestId) -> Option<Across> {
        self.across.get(&nest).copied()
    }
}

/// Leaves out cuts of a loop until there are so many pieces. An element chooses among all that lie in its piece, as
/// among the operands of a concatenation, so pieces are joined where that costs the fewest choices.
fn thin(cuts: &mut Vec<i64>, size: i64, most: usize) {
    /// To begin with, of many cuts one in so many is left out without a look at what it costs.
    const MANY: usize = 512;
    if cuts.len() > MANY {
        let count = cuts.len();
        *cuts = (0..MANY).map(|number| cuts[number * count / MANY]).collect();
    }
    if cuts.len() < most {
        return;
    }
    let starts = std::iter::once(0).chain(cuts.iter().copied());
    let ends = cuts.iter().copied().chain([size]);
    // Each with where it starts, its length and how many parts are in it.
    let mut pieces: Vec<(i64, i64, i64)> =
        starts.zip(ends).map(|(start, end)| (start, end - start, 1)).collect();
    while pieces.len() > most.max(1) {
        let cost = |pair: &[(i64, i64, i64)]| pair[0].1 * pair[1].2 + pair[1].1 * pair[0].2;
        let pairs = pieces.windows(2).enumerate();
        let Some((at, _)) = pairs.min_by_key(|(_, pair)| cost(pair)) else { break };
        let (_, length, parts) = pieces.remove(at + 1);
        pieces[at].1 += length;
        pieces[at].2 += parts;
    }
    *cuts = pieces[1..].iter().map(|piece| piece.0).collect();
}

/// The loop of a nest of so many along which some load is contiguous, though the last loop, along
/// which results are stored, takes it far away.
pub(crate) fn across(nest: NestId, loops: usize, learned: &Learned) -> Option<Across> {
    let NestId::Results(number) = nest else { return None };
    let last = loops.checked_sub(1)?;
    let mut found: Option<Across> = None;
    for load in learned.loads.iter().filter(|load| load.nest == number) {
        let stride = |position: usize| {
            load.strides.iter().find(|stride| stride.0 == position).map_or(0, |stride| stride.1)
        };
        if stride(last).abs() <= 1 {
            continue;
        }
        let Some(position) = (0..last).find(|&position| stride(position) == 1) else { continue };
        match &mut found {
            None => found = Some(Across { position, widest: load.width }),
            Some(found) if found.position == position => {
                found.widest = found.widest.max(load.width)
            }
            Some(_) => {}
        }
    }
    found
}
