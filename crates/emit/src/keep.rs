//! Rows that are kept: what a reduction of rows computes of each element, and others need again, is written
//! down where it is reduced and read from there, not computed once more.
//!
//! As the exponentials of a softmax, which are added up first and divided then.

use rustc_hash::FxHashSet;
use rxla_base::Result;
use rxla_hlo::op::Unary;
use rxla_hlo::{BinaryKind, Dims, InstructionId, Module, Op, UnaryKind};
use rxla_kernel::Value;

use crate::affine::{Index, linear};
use crate::emitter::{Emitter, Node, Placed};
use crate::shapes::array;
use crate::{Element, scalar};

/// A row that stays in a near cache, beside what is read and written.
const MOST_BYTES: usize = 64 << 10;
/// All rows that a kernel keeps lie on its stack.
const MOST_ROWS: usize = 2;
/// What takes less is computed again as soon as it is loaded.
const LEAST_WORK: usize = 4;

/// Elements that are kept by a reduction of the same frame.
#[derive(Clone, Debug)]
pub(crate) struct Keep {
    pub(crate) frame: usize,
    pub(crate) kept: InstructionId,
    pub(crate) reduction: InstructionId,
    /// Dimensions before those of a row.
    outer: usize,
    bytes: u64,
    /// Whether a mask may hide the end of rows, which is to be seen where elements are read, too.
    masked: bool,
    /// While the reduction computes them.
    filling: Filling,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Filling {
    No,
    /// What a mask hides is all the same, and written down after the rest.
    Shown,
    All,
}

/// The reduction that comes to each element of `id` before all others that need it, if that is one of rows and
/// another needs them row by row, too: among `members`, whose values are stored where `is_root` says so.
pub fn keeping_reduction(
    module: &Module,
    id: InstructionId,
    is_member: &dyn Fn(InstructionId) -> bool,
    is_root: &dyn Fn(InstructionId) -> bool,
) -> Option<InstructionId> {
    let shape = module[id].shape.as_array()?;
    let ty = shape.element_type;
    if ty.is_complex() || ty.bit_width() < 8 {
        return None;
    }
    let mut reductions: Vec<InstructionId> = Vec::new();
    let mut ends = 0;
    let (mut waiting, mut seen) = (vec![id], FxHashSet::default());
    let mut next = 0;
    while let Some(&own) = waiting.get(next) {
        next += 1;
        ends += usize::from(is_root(own));
        for &user in module[own].users() {
            let same = module[user].shape.as_array().is_some_and(|other| other.dims == shape.dims);
            match &module[user].op {
                Op::Tuple(_) => {}
                _ if !is_member(user) => return None,
                op if op.is_elementwise() && same => {
                    if seen.insert(user) {
                        waiting.push(user);
                    }
                }
                Op::Reduce(_)
                    if rows(module, user).is_some() && module[user].operands()[0] == own =>
                {
                    if !reductions.contains(&user) {
                        reductions.push(user);
                    }
                }
                _ => return None,
            }
        }
    }
    if reductions.len() + ends < 2 {
        return None;
    }
    // One that needs no other's result first.
    reductions.iter().copied().find(|&reduction| !needs_other(module, reduction, id, &reductions))
}

/// How many dimensions stand before those of the rows that an instruction reduces, and the elements of a row.
fn rows(module: &Module, id: InstructionId) -> Option<(usize, usize)> {
    let Op::Reduce(reduce) = &module[id].op else { return None };
    let shape = module.operand_shape(id, 0).as_array()?;
    let outer = shape.rank() - reduce.dimensions.len();
    let last = reduce.dimensions.iter().all(|&dimension| dimension >= outer as i64);
    let one = module[id].operands().len() == 2;
    let length: i64 = shape.dims[outer..].iter().product();
    (one && last && outer > 0 && length > 0).then_some((outer, length as usize))
}

/// Whether a reduction's operand, `kept` aside, is computed from another of the reductions.
fn needs_other(
    module: &Module,
    reduction: InstructionId,
    kept: InstructionId,
    reductions: &[InstructionId],
) -> bool {
    let (mut waiting, mut seen) = (vec![reduction], FxHashSet::default());
    while let Some(own) = waiting.pop() {
        for &operand in module[own].operands() {
            if reductions.contains(&operand) {
                return true;
            }
            if operand != kept && seen.insert(operand) {
                waiting.push(operand);
            }
        }
    }
    false
}

/// What of a fused computation is kept, in this frame.
pub(crate) fn find(module: &Module, fusion: InstructionId, frame: usize) -> Vec<Keep> {
    let Op::Fusion(op) = &module[fusion].op else { return Vec::new() };
    let computation = &module[op.calls];
    let root = computation.root();
    let roots = match &module[root].op {
        Op::Tuple(_) => module[root].operands(),
        _ => std::slice::from_ref(&root),
    };
    let mut keeps: Vec<Keep> = Vec::new();
    if !computation.instructions().iter().any(|&id| rows(module, id).is_some()) {
        return keeps;
    }
    for &id in computation.instructions() {
        if module[id].users().len() < 2 || keeps.len() == MOST_ROWS {
            continue;
        }
        let found = keeping_reduction(module, id, &|_| true, &|other| roots.contains(&other));
        let Some(reduction) = found else { continue };
        let Some((outer, length)) = rows(module, reduction) else { continue };
        let Ok(shape) = array(&module[id].shape) else { continue };
        let bytes = length * shape.element_type.byte_width();
        let work = Work::of(module, id, &keeps);
        if bytes <= MOST_BYTES && work.total >= LEAST_WORK {
            let (kept, bytes, masked, filling) = (id, bytes as u64, work.selects, Filling::No);
            keeps.push(Keep { frame, kept, reduction, outer, bytes, masked, filling });
        }
    }
    keeps
}

/// Roughly what an element takes, from what is loaded or kept.
#[derive(Default)]
struct Work {
    /// Functions count as [`LEAST_WORK`] operations.
    total: usize,
    /// Whether there is a choice.
    selects: bool,
}

impl Work {
    fn of(module: &Module, id: InstructionId, keeps: &[Keep]) -> Work {
        let (mut waiting, mut seen) = (vec![id], FxHashSet::default());
        let mut work = Work::default();
        while let Some(own) = waiting.pop() {
            work.selects |= matches!(module[own].op, Op::Select(_));
            work.total += match &module[own].op {
                Op::Unary(Unary { kind, .. }) => {
                    use UnaryKind::*;
                    match kind {
                        Abs | Ceil | Floor | Imag | IsFinite | Negate | Not | Real
                        | RoundNearestEven | Sign => 1,
                        _ => LEAST_WORK,
                    }
                }
                Op::Binary(op) => match op.kind {
                    BinaryKind::Divide
                    | BinaryKind::Remainder
                    | BinaryKind::Power
                    | BinaryKind::Atan2 => LEAST_WORK,
                    _ => 1,
                },
                op if op.is_elementwise() => 1,
                _ => continue,
            };
            for &operand in module[own].operands() {
                if keeps.iter().all(|keep| keep.kept != operand) && seen.insert(operand) {
                    waiting.push(operand);
                }
            }
        }
        work
    }
}

impl Emitter<'_> {
    /// The keep whose row an element is read from.
    fn keep_of(&self, node: &Node) -> Option<&Keep> {
        let own = |keep: &&Keep| keep.frame == node.frame && keep.kept == node.id;
        let keep = self.keeps.iter().find(own)?;
        let looks = keep.masked && (self.learned.is_some() || self.probes(&node.index));
        let reads = keep.filling == Filling::No && !looks && !self.is_beyond(&node.index);
        reads.then_some(keep)
    }

    /// Whether rows are kept in a nest over elements of these sizes, one of which stands for a row.
    pub(crate) fn keeps_rows_of(&self, dims: &Dims) -> bool {
        let mut kept = self.keeps.iter().map(|keep| self.module[keep.kept].shape.as_array());
        kept.any(|shape| shape.is_some_and(|shape| shape.dims != *dims))
    }

    /// Has what reduces the row computed first, for an element that is kept.
    pub(crate) fn keeper(&self, node: &Node) -> Option<Node> {
        let keep = self.keep_of(node)?;
        let index = node.index[..keep.outer].iter().cloned().collect();
        Some(Node { frame: node.frame, id: keep.reduction, leaf: 0, index })
    }

    /// An element that is kept, from its row.
    pub(crate) fn kept(&mut self, node: &Node) -> Result<Option<Placed>> {
        let Some(keep) = self.keep_of(node) else { return Ok(None) };
        let (outer, bytes) = (keep.outer, keep.bytes);
        let shape = array(&self.module[node.id].shape)?;
        let row = self.row(node, bytes)?;
        let at = linear(&node.index[outer..], &shape.dims[outer..]);
        let position = self.position(&at);
        let depth = node.index.iter().map(|index| self.depth_of(index)).max().unwrap_or(self.base);
        let depth = self.placed_at(depth);
        let ty = shape.element_type;
        let element = self.at(depth, |b| scalar::load(b, ty, row, position));
        Ok(Some(Placed { element, depth }))
    }

    /// Says what of a reduction's rows is written down from now on.
    pub(crate) fn fill(&mut self, reduction: InstructionId, filling: Filling) {
        for keep in self.keeps.iter_mut().filter(|keep| keep.reduction == reduction) {
            keep.filling = filling;
        }
    }

    /// Whether a reduction writes something down.
    pub(crate) fn fills(&self, reduction: InstructionId) -> bool {
        self.keeps.iter().any(|keep| keep.reduction == reduction && keep.filling != Filling::No)
    }

    /// Writes down what a reduction keeps of the elements at an index.
    pub(crate) fn keep(&mut self, reduction: &Node, index: &Index) -> Result<()> {
        for number in 0..self.keeps.len() {
            let Keep { frame, kept, outer, bytes, filling, .. } = self.keeps[number];
            let own = self.keeps[number].reduction == reduction.id && frame == reduction.frame;
            let wanted = match filling {
                Filling::No => false,
                Filling::Shown => !self.is_beyond(index),
                Filling::All => true,
            };
            if !own || !wanted {
                continue;
            }
            let node = Node { frame, id: kept, leaf: 0, index: index.clone() };
            let element = self.element(&node)?.element;
            let shape = array(&self.module[kept].shape)?;
            let row = self.row(&node, bytes)?;
            let at = linear(&index[outer..], &shape.dims[outer..]);
            let position = self.position(&at);
            scalar::store(self.builder, row, position, element);
        }
        Ok(())
    }

    /// Where the row lies.
    fn row(&mut self, node: &Node, bytes: u64) -> Result<Value> {
        let key = Node { index: Index::new(), leaf: usize::MAX, ..node.clone() };
        if let Some(known) = self.known(&key) {
            return known.element.one();
        }
        let depth = self.placed_at(self.base);
        let row = self.at(depth, |b| b.alloca(bytes, 64));
        self.remember(key, Placed { element: Element::One(row), depth });
        Ok(row)
    }
}
