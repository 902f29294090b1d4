//! Loop nests over the dimensions of an array: which loops run as one, which are written out, which
//! run in lanes, and where they are cut.

use rxla_base::Result;
use rxla_kernel::{BinaryOp, Builder, LoopKind, Value};

use crate::affine::{Affine, Index};
use crate::emitter::{Definition, Emitter, Group, SymbolInfo};
use crate::mask;
use crate::plan::{NestId, Origin, PlannedLoop};

/// One loop of a nest, or several planned ones that run as one.
#[derive(Clone, Debug)]
pub(crate) struct Loop {
    /// Each with its position in the plan; the last one runs fastest.
    pub(crate) members: Vec<(usize, PlannedLoop)>,
    pub(crate) style: Style,
    /// Values of the first member at which the loop is cut, times the size of the others.
    pub(crate) cuts: Vec<i64>,
    /// What part of it runs, if not all.
    pub(crate) bounds: Option<(Value, Value)>,
    /// Whether it runs along a row of which a mask hides the end.
    pub(crate) has_border: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Style {
    Loop(LoopKind),
    /// One copy of the body per value.
    Straight,
}

impl Loop {
    pub(crate) fn size(&self) -> i64 {
        self.members.iter().map(|member| member.1.size).product()
    }

    /// Where each piece starts and ends.
    fn pieces(&self) -> impl Iterator<Item = (i64, i64)> {
        let starts = std::iter::once(0).chain(self.cuts.iter().copied());
        starts.zip(self.cuts.iter().copied().chain([self.size()]))
    }
}

/// The body of a nest: the index per dimension and the carried values; gives the next ones.
pub(crate) type Body<'b> = dyn FnMut(&mut Emitter<'_>, &Index, &[Value]) -> Result<Vec<Value>> + 'b;

/// Up to this size a loop is written out if its body is small, and one whose loads lie along the loop around it.
const STRAIGHT: i64 = 9;
const STRAIGHT_ACROSS: i64 = 15;
/// Lanes of vectors: a loop of so many inside of others is one, whose elements lie together, where in the lanes of
/// an outer loop they would be apart, but four that functions are made of: they are worth more lanes, if the outer
/// loops have so many. So are those of wide elements that nearly fill registers. One that is alone is written out,
/// unless it has functions, which take as long for one element as for all lanes.
const VECTORS: [i64; 2] = [4, 8];
const MORE_LANES: i64 = 16;
const WIDE: usize = 8;
const VECTORS_OF_WIDE: std::ops::RangeInclusive<i64> = 5..=7;
/// As many copies of a body, and values in all copies together, at most.
const MOST_COPIES: i64 = 16;
const MOST_VALUES: i64 = 1500;
const MOST_VALUES_OF_PIECES: i64 = 3000;
/// As many sines in all copies together where elements are too few to make good for compiling them.
const MOST_SINES: i64 = 4;
const FEW_ELEMENTS: i64 = 4096;
/// A loop that is split among threads has at least so many units, if dimensions allow.
pub(crate) const FEW_UNITS: i64 = 64;
/// Rounds of a loop in a unit are not fewer than the lanes of a vector of `f32`, if there are so many units then: where
/// rows are lanes, others run one by one.
const LANES: i64 = 16;
const FEW_UNITS_OF_LANES: i64 = 16;
/// The most rounds of a loop in a unit: four vectors of 64 lanes.
const MOST_ROUNDS: i64 = 256;

impl Emitter<'_> {
    /// The loops over an array's dimensions as the plan has them; the innermost runs as `kind`.
    pub(crate) fn loops(&mut self, id: NestId, dims: &[i64], kind: LoopKind) -> Vec<Loop> {
        let plan = self.nest_plan(id, dims);
        let mut loops: Vec<Loop> = Vec::new();
        let looking = self.learned.is_some();
        for (position, planned) in plan.loops().into_iter().enumerate() {
            let joined = position > 0 && !looking && !plan.apart[position - 1];
            match loops.last_mut() {
                Some(last) if joined => {
                    last.members.push((position, planned));
                    last.cuts.iter_mut().for_each(|cut| *cut *= planned.size);
                }
                _ => loops.push(Loop {
                    members: vec![(position, planned)],
                    style: Style::Loop(LoopKind::Sequential),
                    cuts: if looking { Vec::new() } else { plan.cuts[position].clone() },
                    bounds: None,
                    has_border: false,
                }),
            }
        }
        if looking {
            return loops;
        }
        let mut copies = 1;
        let alone = loops.len() == 1;
        let elements = dims.iter().product::<i64>();
        let is_small = elements < FEW_ELEMENTS && !self.plan.runs_often;
        let wide = self.plan.store_width >= WIDE;
        let lies_across = self.plan.across(id).is_some_and(|across| {
            let around = loops.len().checked_sub(2).and_then(|around| loops[around].members.last());
            around.is_some_and(|member| member.0 == across.position)
        });
        for (inside, each) in loops.iter_mut().rev().enumerate() {
            let size = each.size();
            let lies_across = lies_across && inside == 0;
            let pieces = each.cuts.len() as i64 + 1;
            let longest = each.pieces().map(|(start, end)| end - start).max().unwrap_or(size);
            let fills = VECTORS.contains(&size) || (wide && VECTORS_OF_WIDE.contains(&size));
            let is_narrow = size == VECTORS[0]
                && elements >= size * MORE_LANES
                && !wide
                && self.plan.body_functions > 0;
            let is_vector =
                kind == LoopKind::Vector && fills && !is_narrow && !lies_across && pieces == 1;
            let most = if longest < VECTORS[0] {
                MOST_COPIES
            } else if lies_across {
                STRAIGHT_ACROSS
            } else {
                STRAIGHT
            };
            // Of what is cut there are copies anyway.
            let most_values = if pieces > 1 { MOST_VALUES_OF_PIECES } else { MOST_VALUES };
            if size > most
                || (is_vector && copies == 1 && (!alone || self.plan.body_functions > 0))
                || copies * size > MOST_COPIES
                || (size > pieces && copies * size / pieces * self.plan.body_values > most_values)
                || (is_small && copies * size * self.plan.body_sines > MOST_SINES)
            {
                break;
            }
            each.style = Style::Straight;
            copies *= size;
        }
        let innermost = loops.iter_mut().rev().find(|each| each.style != Style::Straight);
        if let Some(innermost) = innermost {
            innermost.style = Style::Loop(kind);
        }
        if let Some(last) = loops.last_mut() {
            let plain = last.style != Style::Straight && last.members.len() == 1;
            let long = last.size() >= mask::SHORTEST;
            last.has_border = plan.has_border && plain && long && last.cuts.is_empty();
        }
        loops
    }

    /// Runs a body for each index.
    pub(crate) fn nest(
        &mut self,
        id: NestId,
        rank: usize,
        loops: &[Loop],
        carried: &[Value],
        body: &mut Body<'_>,
    ) -> Result<Vec<Value>> {
        let index: Index = (0..rank).map(|_| Affine::default()).collect();
        self.nest_inside(id, index, loops, carried, body)
    }

    /// The same inside of loops that give an index.
    pub(crate) fn nest_inside(
        &mut self,
        id: NestId,
        index: Index,
        loops: &[Loop],
        carried: &[Value],
        body: &mut Body<'_>,
    ) -> Result<Vec<Value>> {
        let Some((first, inner)) = loops.split_first() else {
            return body(self, &index, carried);
        };
        let mut carried = carried.to_vec();
        let kind = match first.style {
            Style::Loop(kind) => kind,
            Style::Straight => {
                for value in 0..first.size() {
                    let index = constant_index(&index, first, value);
                    carried = self.nest_inside(id, index, inner, &carried, body)?;
                }
                return Ok(carried);
            }
        };
        if first.has_border
            && inner.is_empty()
            && first.bounds.is_none()
            && let Some(carried) = self.bordered((id, &index), (first, kind), &carried, body)?
        {
            return Ok(carried);
        }
        for (start, end) in first.pieces() {
            let bounds = self.bounds(first, start, end);
            carried = self.for_loop(kind, bounds, &carried, |emitter, variable, carried| {
                let index = emitter.loop_index(id, &index, first, variable, (start, end));
                emitter.nest_inside(id, index, inner, carried, body)
            })?;
        }
        Ok(carried)
    }

    pub(crate) fn bounds(&mut self, each: &Loop, start: i64, end: i64) -> (Value, Value, i64) {
        let (low, high) = (self.builder.index(start), self.builder.index(end));
        let Some((begin, finish)) = each.bounds else { return (low, high, 1) };
        if each.cuts.is_empty() {
            return (begin, finish, 1);
        }
        let low = self.builder.binary(BinaryOp::SMax, low, begin);
        let high = self.builder.binary(BinaryOp::SMin, high, finish);
        (low, high, 1)
    }

    /// The index with a loop's variable, which runs from `start` to `end`, in its dimensions.
    pub(crate) fn loop_index(
        &mut self,
        nest: NestId,
        index: &Index,
        each: &Loop,
        variable: Value,
        (start, end): (i64, i64),
    ) -> Index {
        let depth = self.depth();
        let mut index = index.clone();
        let looking = self.learned.is_some();
        if let [(position, planned)] = &each.members[..] {
            let origin = looking.then_some(Origin { nest, position: *position });
            if let Some(block) = self.caches.last_mut() {
                block.origin = origin;
            }
            let definition = Definition::Value(variable);
            let info =
                SymbolInfo { low: start, high: end - 1, depth, definition, origin, beyond: None };
            let symbol = self.symbol(info);
            add_to(&mut index, planned, &Affine::symbol(symbol));
            return index;
        }
        let number = self.groups.len();
        let inner: i64 = each.members[1..].iter().map(|member| member.1.size).product();
        let mut members = Vec::new();
        for (at, (_, planned)) in each.members.iter().enumerate() {
            let (low, high) = match at {
                0 => (start / inner, (end - 1) / inner),
                _ => (0, planned.size - 1),
            };
            let definition = Definition::Member(number);
            let symbol = self.symbol(SymbolInfo {
                low,
                high,
                depth,
                definition,
                origin: None,
                beyond: None,
            });
            members.push((symbol, planned.size));
            add_to(&mut index, planned, &Affine::symbol(symbol));
        }
        self.groups.push(Group { value: variable, depth, members });
        index
    }
}

fn add_to(index: &mut Index, planned: &PlannedLoop, value: &Affine) {
    let own = &mut index[planned.dimension];
    *own = own.plus(&value.times(planned.stride));
}

fn constant_index(index: &Index, each: &Loop, value: i64) -> Index {
    let mut index = index.clone();
    let mut rest = value;
    for (_, planned) in each.members.iter().rev() {
        add_to(&mut index, planned, &Affine::constant(rest % planned.size));
        rest /= planned.size;
    }
    index
}

/// What threads share of a nest: so many units, each of so many rounds of the outermost loop, the last one of what
/// is left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Units {
    pub(crate) count: i64,
    pub(crate) rounds: i64,
}

impl Units {
    const ONE: Units = Units { count: 1, rounds: 1 };
}

/// Makes the outermost loops one that counts the units of work, enough of them to be shared. Loops
/// stay as they are if there is only one unit.
pub(crate) fn split_units(loops: &mut Vec<Loop>) -> Units {
    let Some(first) = loops.first() else { return Units::ONE };
    let mut units = first.size();
    let mut joined = 1;
    if first.cuts.is_empty() {
        // A loop in lanes stays one, though what is inside of it is written out.
        let joins =
            |each: &Loop| each.cuts.is_empty() && each.style != Style::Loop(LoopKind::Vector);
        while units < FEW_UNITS && joined + 1 < loops.len() && joins(&loops[joined]) {
            units *= loops[joined].size();
            joined += 1;
        }
    }
    let members = loops[..joined].iter().flat_map(|each| each.members.clone()).collect();
    let kind = match loops[0].style {
        Style::Loop(kind) if joined == 1 => kind,
        Style::Loop(_) | Style::Straight => LoopKind::Sequential,
    };
    let cuts = loops[0].cuts.clone();
    let unit = Loop { members, style: Style::Loop(kind), cuts, bounds: None, has_border: false };
    let mut rounds = 1;
    // Pieces of whole vectors, whatever their lanes, leave nothing to a narrower loop.
    if unit.style == Style::Loop(LoopKind::Vector) && unit.cuts.is_empty() {
        let divides = |rounds: &i64| units % rounds == 0 && units / rounds >= FEW_UNITS;
        rounds = (0..=MOST_ROUNDS.ilog2()).map(|log| 1 << log).filter(divides).max().unwrap_or(1);
        if rounds < LANES && units >= LANES * FEW_UNITS_OF_LANES {
            rounds = LANES;
        }
    }
    loops.splice(..joined, [unit]);
    Units { count: (units + rounds - 1) / rounds, rounds }
}

/// Makes the outermost loops one over the units from `begin` to `end`, as [`split_units`] counts them.
pub(crate) fn restrict_units(b: &mut Builder, loops: &mut Vec<Loop>, (begin, end): (Value, Value)) {
    let Units { rounds, .. } = split_units(loops);
    let Some(first) = loops.first_mut() else { return };
    let [begin, mut end] = [begin, end].map(|bound| match rounds {
        1 => bound,
        _ => {
            let rounds = b.index(rounds);
            b.mul(bound, rounds)
        }
    });
    if first.size() % rounds != 0 {
        let size = b.index(first.size());
        end = b.binary(BinaryOp::SMin, end, size);
    }
    first.bounds = Some((begin, end));
}
