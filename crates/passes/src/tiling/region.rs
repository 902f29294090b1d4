//! What is computed tile by tile: the products that a large array goes into, and what lies between them and
//! the products that it comes from.

use rustc_hash::{FxHashMap, FxHashSet};
use rxla_hlo::{ComputationId, InstructionId, Module, Op};

use super::axes::{Axes, Factor, Refusal, Sides, is_spread, one, operands, whole};
use crate::view;

/// Elements from which on an array is large. What is smaller stays in a cache as it is.
const LARGE: i64 = 1 << 19;
/// Elements from which on it is also computed once more for gradients.
const VERY_LARGE: i64 = 1 << 21;
/// How wide what goes into products with what is large may be: beyond it they compute so much with each
/// element that it does not matter where that lies, but that what they multiply it with is read for each
/// tile.
const WIDEST: i64 = 256;
/// The loops count in 32 bits.
const MOST: i64 = 1 << 40;
/// Neither rows nor what is summed over are fewer in what is large.
const LEAST: i64 = 32;
/// A search that comes to more instructions takes the others for given.
const SEARCH_LIMIT: usize = 400;

/// A product that a large array goes into.
#[derive(Clone, Debug)]
pub(super) struct Sink {
    pub(super) id: InstructionId,
    pub(super) operands: [Axes; 2],
    pub(super) result: Axes,
    pub(super) rows: Use,
}

/// What a product does with the rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Use {
    /// Each gives something of its own.
    Kept,
    /// They are summed over.
    Summed,
}

/// What one loop computes.
#[derive(Clone, Debug)]
pub(super) struct Region {
    pub(super) sinks: Vec<Sink>,
    /// What is computed for each tile and how it lies there, operands before users.
    pub(super) inside: Vec<(InstructionId, Axes)>,
    known: FxHashMap<InstructionId, usize>,
    /// What is read, each once.
    given: Vec<InstructionId>,
    pub(super) batches: i64,
    pub(super) rows: i64,
    /// Elements of each large array.
    pub(super) size: i64,
}

impl Region {
    pub(super) fn contains(&self, id: InstructionId) -> bool {
        self.known.contains_key(&id)
    }

    pub(super) fn axes(&self, id: InstructionId) -> Option<&Axes> {
        self.known.get(&id).map(|&place| &self.inside[place].1)
    }

    fn is_sink(&self, id: InstructionId) -> bool {
        self.sinks.iter().any(|sink| sink.id == id)
    }

    fn takes(&self, user: InstructionId) -> bool {
        self.contains(user) || self.is_sink(user)
    }

    /// What is computed on the way and needed elsewhere too, by other regions or whoever: one number for
    /// each row, or the like.
    pub(super) fn outputs(&self, m: &Module, regions: &[Region]) -> Vec<(InstructionId, Axes)> {
        let needed = |id: InstructionId| {
            view::is_root(m, id)
                || m[id].users().iter().any(|&user| !self.takes(user))
                || regions.iter().any(|region| region.given.contains(&id))
        };
        self.small(m).filter(|(id, _)| needed(*id)).cloned().collect()
    }

    fn small(&self, m: &Module) -> impl Iterator<Item = &(InstructionId, Axes)> {
        self.inside.iter().filter(|(id, _)| view::elements(m, *id) < self.size)
    }

    fn merge(&mut self, other: Region) {
        for (id, axes) in other.inside {
            if !self.contains(id) {
                self.known.insert(id, self.inside.len());
                self.inside.push((id, axes));
            }
        }
        for id in other.given {
            if !self.given.contains(&id) {
                self.given.push(id);
            }
        }
        self.sinks.extend(other.sinks);
    }

    /// Whether both compute some large array, and all that both compute in the same way.
    fn fits(&self, m: &Module, other: &Region) -> bool {
        let mut shares = false;
        let same = other.inside.iter().all(|(id, axes)| match self.axes(*id) {
            Some(own) => {
                shares |= view::elements(m, *id) == self.size;
                own == axes
            }
            None => true,
        });
        let sizes = |region: &Region| (region.batches, region.rows, region.size);
        shares && same && sizes(self) == sizes(other)
    }

    /// Whether what is read needs nothing that the loop makes.
    fn is_closed(&self, m: &Module, order: &FxHashMap<InstructionId, usize>) -> bool {
        let small = self.small(m).map(|(id, _)| *id);
        let made: FxHashSet<InstructionId> =
            self.sinks.iter().map(|sink| sink.id).chain(small).collect();
        if self.given.iter().any(|id| self.contains(*id)) {
            return false;
        }
        let first = made.iter().map(|id| order[id]).min().unwrap_or(0);
        let mut stack = self.given.clone();
        let mut seen: FxHashSet<InstructionId> = FxHashSet::default();
        while let Some(id) = stack.pop() {
            if order[&id] < first || !seen.insert(id) {
                continue;
            }
            if made.contains(&id) {
                return false;
            }
            stack.extend(m[id].operands().iter().chain(m[id].control_predecessors()));
        }
        true
    }
}

/// The regions of a computation, those before others that read what they make.
pub(super) fn find(m: &Module, computation: ComputationId) -> Vec<Region> {
    let list = m.post_order(computation);
    let order: FxHashMap<InstructionId, usize> =
        list.iter().enumerate().map(|(place, &id)| (id, place)).collect();
    let mut regions: Vec<Region> = Vec::new();
    for &id in &list {
        for side in [0, 1] {
            if enter(m, &mut regions, &order, id, side) {
                break;
            }
        }
    }
    // What is large and needed elsewhere has to be there as a whole, so that nothing is won.
    loop {
        let stays = |region: &Region| {
            region.inside.iter().any(|(id, _)| {
                let served = |user: &InstructionId| {
                    let has = |region: &Region| region.contains(*id) || is_spread(m, *id);
                    regions.iter().any(|region| has(region) && region.takes(*user))
                };
                view::elements(m, *id) == region.size
                    && (view::is_root(m, *id) || !m[*id].users().iter().all(served))
            })
        };
        let is_again = |region: &Region| {
            let shared = |id: &InstructionId| {
                let owners = regions.iter().filter(|region| region.contains(*id)).count();
                view::elements(m, *id) == region.size && !is_spread(m, *id) && owners > 1
            };
            region.size < VERY_LARGE && region.inside.iter().any(|(id, _)| shared(id))
        };
        let kept: Vec<Region> =
            regions.iter().filter(|&region| !stays(region) && !is_again(region)).cloned().collect();
        if kept.len() == regions.len() {
            return kept;
        }
        regions = kept;
    }
}

/// Puts a product that an operand goes into into a region, if it is such a product.
fn enter(
    m: &Module,
    regions: &mut Vec<Region>,
    order: &FxHashMap<InstructionId, usize>,
    id: InstructionId,
    side: usize,
) -> bool {
    let uses = [Use::Kept, Use::Summed];
    let found = uses.iter().find_map(|&rows| Some((rows, trace(m, id, side, rows, &[])?)));
    let Some((rows, found)) = found else { return false };
    for place in (0..regions.len()).rev() {
        if !regions[place].fits(m, &found) {
            continue;
        }
        let others: Vec<&Region> =
            regions.iter().enumerate().filter(|(other, _)| *other != place).map(|r| r.1).collect();
        let found = trace(m, id, side, rows, &others);
        let Some(found) = found.filter(|found| regions[place].fits(m, found)) else { continue };
        let mut merged = regions[place].clone();
        merged.merge(found);
        if merged.is_closed(m, order) {
            regions[place] = merged;
            return true;
        }
    }
    let others: Vec<&Region> = regions.iter().collect();
    match trace(m, id, side, rows, &others) {
        Some(found) if found.is_closed(m, order) => {
            regions.push(found);
            true
        }
        _ => false,
    }
}

/// What leads to a product by way of the operand, if that is large and comes from products. Small things
/// that the others make are read.
fn trace(
    m: &Module,
    id: InstructionId,
    side: usize,
    rows: Use,
    others: &[&Region],
) -> Option<Region> {
    let Op::Dot(dot) = &m[id].op else { return None };
    if view::has_control_edges(m, id) {
        return None;
    }
    let operand = view::operand(m, id, side);
    let size = view::elements(m, operand);
    let sides = Sides::of(dot).0;
    let (batch, summed) = sides[side];
    let [summed] = summed[..] else { return None };
    let dims = view::dims(m, operand)?;
    if size < LARGE
        || view::elements(m, id) >= size
        || dims.contains(&0)
        || view::operand(m, id, 1 - side) == operand
    {
        return None;
    }
    let free: Vec<i64> =
        (0..dims.len() as i64).filter(|d| !batch.contains(d) && *d != summed).collect();
    let [free] = free[..] else { return None };
    let width = view::elements(m, id) / (size / dims[summed as usize]);
    let least = dims[free as usize].min(dims[summed as usize]);
    let batched = batch.iter().any(|&d| dims[d as usize] > 1);
    // Layers of a network without batches look alike, but there is as much in as between them.
    let widest = WIDEST.min(least / if batched { 2 } else { 8 });
    if least < LEAST || width > widest || size > MOST {
        return None;
    }
    let dimension = match rows {
        Use::Kept => free,
        Use::Summed => summed,
    };
    let mut factors = vec![Factor::Rows(dims[dimension as usize])];
    // Once as they are, and once as two factors.
    for _ in 0..2 {
        let axes = operand_axes(dims, batch, dimension, &factors);
        let mut walk = Walk {
            m,
            size,
            widest,
            others,
            inside: Vec::new(),
            known: FxHashMap::default(),
            given: Vec::new(),
            left: SEARCH_LIMIT,
        };
        match walk.visit(operand, &axes) {
            Ok(true) => {
                let (batches, row_count) = sizes(&axes);
                let sink = sink(m, id, side, axes, rows)?;
                walk.give(view::operand(m, id, 1 - side));
                let known = walk.known.into_iter();
                return Some(Region {
                    sinks: vec![sink],
                    inside: walk.inside,
                    known: known.filter_map(|(id, place)| Some((id, place?))).collect(),
                    given: walk.given,
                    batches,
                    rows: row_count,
                    size,
                });
            }
            Err(Refusal::Split(slow, fast)) if factors.len() == 1 => {
                factors = match slow > fast {
                    true => vec![Factor::Rows(slow), Factor::Whole(fast)],
                    false => vec![Factor::Whole(slow), Factor::Rows(fast)],
                };
            }
            Ok(false) | Err(_) => return None,
        }
    }
    None
}

/// The axes of an operand of which a dimension holds the rows.
fn operand_axes(dims: &[i64], batch: &[i64], rows_at: i64, rows: &[Factor]) -> Axes {
    let mut axes = whole(dims);
    let mut step = 1;
    for &dimension in batch.iter().rev() {
        let size = dims[dimension as usize];
        axes[dimension as usize] = one(Factor::Batch { size, step });
        step *= size;
    }
    axes[rows_at as usize] = rows.to_vec();
    axes
}

/// How many batches and rows there are.
fn sizes(axes: &Axes) -> (i64, i64) {
    let (mut batches, mut rows) = (1, 1);
    for factor in axes.iter().flatten() {
        match *factor {
            Factor::Batch { size, .. } => batches *= size,
            Factor::Rows(size) => rows *= size,
            Factor::Whole(_) => {}
        }
    }
    (batches, rows)
}

/// How the operands and the result of a product lie if one operand lies so.
fn sink(m: &Module, id: InstructionId, side: usize, axes: Axes, rows: Use) -> Option<Sink> {
    let Op::Dot(dot) = &m[id].op else { return None };
    let sides = Sides::of(dot).0;
    let mut other = whole(view::dims(m, view::operand(m, id, 1 - side))?);
    for (&own, &its) in sides[side].0.iter().zip(sides[1 - side].0) {
        other[its as usize] = axes[own as usize].clone();
    }
    for (&own, &its) in sides[side].1.iter().zip(sides[1 - side].1) {
        other[its as usize] = axes[own as usize].clone();
    }
    let operands = if side == 0 { [axes, other] } else { [other, axes] };
    let mut result: Axes = sides[0].0.iter().map(|&d| operands[0][d as usize].clone()).collect();
    for (axes, (batch, summed)) in operands.iter().zip(sides) {
        let free = axes.iter().enumerate();
        let free =
            free.filter(|(d, _)| !batch.contains(&(*d as i64)) && !summed.contains(&(*d as i64)));
        result.extend(free.map(|(_, factors)| factors.clone()));
    }
    Some(Sink { id, operands, result, rows })
}

struct Walk<'a> {
    m: &'a Module,
    size: i64,
    widest: i64,
    others: &'a [&'a Region],
    inside: Vec<(InstructionId, Axes)>,
    /// Where what was seen stands inside, if it does.
    known: FxHashMap<InstructionId, Option<usize>>,
    given: Vec<InstructionId>,
    left: usize,
}

impl Walk<'_> {
    fn give(&mut self, id: InstructionId) {
        if is_spread(self.m, id) {
            return self.give(view::operand(self.m, id, 0));
        }
        if !self.given.contains(&id) {
            self.given.push(id);
        }
    }

    /// Whether a value is inside: it comes from a product, tile by tile.
    fn visit(&mut self, id: InstructionId, axes: &Axes) -> Result<bool, Refusal> {
        let m = self.m;
        match self.known.get(&id) {
            Some(Some(place)) if self.inside[*place].1 == *axes => return Ok(true),
            Some(Some(_)) => return Err(Refusal::Never),
            Some(None) => return Ok(false),
            None => {}
        }
        let large = view::elements(m, id) == self.size;
        let made_elsewhere = !large && self.others.iter().any(|other| other.contains(id));
        if self.left == 0 || made_elsewhere || view::has_control_edges(m, id) {
            self.known.insert(id, None);
            return Ok(false);
        }
        self.left -= 1;
        let is_inside = if let Op::Dot(_) = &m[id].op {
            large && self.is_source(id, axes)
        } else {
            match operands(m, id, axes) {
                Err(Refusal::Split(slow, fast)) if large => return Err(Refusal::Split(slow, fast)),
                Err(_) => false,
                Ok(list) => {
                    let mut any = false;
                    for (&operand, axes) in m[id].operands().iter().zip(&list) {
                        any |= self.visit(operand, axes)?;
                    }
                    any
                }
            }
        };
        if !is_inside {
            self.known.insert(id, None);
            return Ok(false);
        }
        for &operand in m[id].operands() {
            if !self.known.get(&operand).is_some_and(Option::is_some) {
                self.give(operand);
            }
        }
        self.known.insert(id, Some(self.inside.len()));
        self.inside.push((id, axes.clone()));
        Ok(true)
    }

    /// Whether a product makes more than it reads, without much work, and a tile of it from tiles.
    fn is_source(&self, id: InstructionId, axes: &Axes) -> bool {
        let m = self.m;
        let grows = m[id].operands().iter().all(|&operand| view::elements(m, operand) <= self.size);
        let has_rows = axes.iter().flatten().any(|factor| matches!(factor, Factor::Rows(_)));
        let Op::Dot(dot) = &m[id].op else { return false };
        let left = view::dims(m, view::operand(m, id, 0));
        let width = left.map(|dims| {
            dot.lhs_contracting_dims.iter().map(|&d| dims[d as usize]).product::<i64>()
        });
        let narrow = width.is_some_and(|width| width <= self.widest);
        grows && narrow && has_rows && operands(m, id, axes).is_ok()
    }
}
