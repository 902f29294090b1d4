//! Reductions along columns: what is kept runs in lanes, rows are added to a tile that stays in the
//! first cache, several rows at a time.
//!
//! A tile holds the sums of as many columns as it has elements. Rows come in blocks that are combined
//! as a tree before they join the tile, so that the tile is read and written once per block, or join it
//! one by one where they are short and come from memory; the order depends on sizes alone. What is
//! computed from the sums is computed from the tile.

use rustc_hash::FxHashSet;
use rxla_base::Result;
use rxla_hlo::op::Reduce;
use rxla_hlo::{Dims, ElementType, InstructionId, Op};
use rxla_kernel::{BinaryOp, Builder, LoopKind, Value};

use crate::affine::Index;
use crate::emitter::{Emitter, Node, Placed};
use crate::nest::{Loop, Style};
use crate::plan::NestId;
use crate::reduce::{Combine, apply, identity};
use crate::scalar::{load, store};
use crate::shapes::array;
use crate::{Element, ops};

/// Rows that are combined before they join the tile.
const BLOCK: i64 = 8;
/// Bytes of a page of memory, and of an array that caches near a core do not hold.
const PAGE: i64 = 4096;
const FAR: i64 = 4 << 20;
/// Fewer rows are combined without a tile, fewer columns do not fill lanes.
const FEW_ROWS: i64 = 16;
const FEW_COLUMNS: i64 = 8;
/// Columns of a tile.
const LARGEST_TILE: i64 = 2048;
const SMALLEST_TILE: i64 = 64;

/// Reductions of a nest that run along the same columns, by the node of each, index aside.
pub(crate) struct Columns {
    pub(crate) reductions: Vec<Node>,
    /// Sizes of what is reduced, and which dimensions of the operands these are.
    sizes: Vec<i64>,
    reduced: Vec<usize>,
}

/// The reductions that results with these sizes consist of, element by element.
pub(crate) fn columns(emitter: &Emitter<'_>, roots: &[Node], dims: &Dims) -> Option<Columns> {
    let module = emitter.module;
    // What is computed at the index of the results, and nowhere else.
    let mut direct: FxHashSet<InstructionId> = FxHashSet::default();
    let mut found: Vec<Node> = Vec::new();
    let mut open: Vec<InstructionId> = roots.iter().map(|root| root.id).collect();
    let frame = roots.first()?.frame;
    while let Some(id) = open.pop() {
        if emitter.frames[frame].leaves.contains_key(&id) || !direct.insert(id) {
            continue;
        }
        let instruction = &module[id];
        match &instruction.op {
            Op::Unary(_)
            | Op::Binary(_)
            | Op::Compare(_)
            | Op::Select(_)
            | Op::Clamp(_)
            | Op::Convert(_)
            | Op::ReducePrecision(_)
            | Op::Copy(_)
            | Op::Tuple(_)
            | Op::GetTupleElement(_) => open.extend(instruction.operands()),
            Op::Reduce(_) => found.push(Node { frame, id, leaf: 0, index: Index::new() }),
            _ => {}
        }
    }
    let mut same: Option<Columns> = None;
    found.sort_by_key(|node| node.id);
    for node in found {
        let Op::Reduce(op) = &module[node.id].op else { continue };
        let Some(own) = column_shape(emitter, &node, op, dims) else { continue };
        if !only_used_directly(emitter, node.id, &direct) {
            continue;
        }
        match &mut same {
            None => same = Some(Columns { reductions: vec![node], sizes: own.0, reduced: own.1 }),
            Some(columns) if columns.sizes == own.0 && columns.reduced == own.1 => {
                columns.reductions.push(node);
            }
            Some(_) => {}
        }
    }
    same
}

/// Sizes and dimensions that are reduced, if what is kept lies side by side.
fn column_shape(
    emitter: &Emitter<'_>,
    node: &Node,
    op: &Reduce,
    dims: &Dims,
) -> Option<(Vec<i64>, Vec<usize>)> {
    let operand = array(emitter.module.operand_shape(node.id, 0)).ok()?;
    let mut reduced: Vec<usize> =
        op.dimensions.iter().map(|&dimension| dimension as usize).collect();
    reduced.sort_unstable();
    let kept: Dims = (0..operand.rank())
        .filter(|dimension| !reduced.contains(dimension))
        .map(|dimension| operand.dims[dimension])
        .collect();
    let last = *reduced.last()?;
    let columns: i64 = operand.dims[last + 1..].iter().product();
    let sizes: Vec<i64> = reduced.iter().map(|&dimension| operand.dims[dimension]).collect();
    let rows: i64 = sizes.iter().product();
    let fits = kept == *dims && rows > FEW_ROWS && columns >= FEW_COLUMNS;
    fits.then_some((sizes, reduced))
}

/// Whether all that is made of an instruction is computed at the index of the results.
fn only_used_directly(
    emitter: &Emitter<'_>,
    id: InstructionId,
    direct: &FxHashSet<InstructionId>,
) -> bool {
    let mut seen: FxHashSet<InstructionId> = FxHashSet::default();
    let mut open = vec![id];
    while let Some(id) = open.pop() {
        if !direct.contains(&id) {
            return false;
        }
        // Users of what is emitted alone are other kernels.
        if seen.insert(id) && emitter.alone != Some(id) {
            open.extend(emitter.module[id].users());
        }
    }
    true
}

/// What threads share a reduction by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shared {
    /// The tiles themselves.
    Tiles,
    /// Loops around them.
    Groups,
}

impl Shared {
    pub(crate) fn of(outer: &[Loop]) -> Shared {
        if outer.is_empty() { Shared::Tiles } else { Shared::Groups }
    }
}

/// Columns of one tile; a function of the sizes alone, so that pieces agree. Wide tiles read memory
/// in longer runs, narrow ones are more for threads to share.
pub(crate) fn tile(columns: i64, shared: Shared) -> i64 {
    let parts = match shared {
        Shared::Tiles => 4,
        Shared::Groups => (columns + LARGEST_TILE - 1) / LARGEST_TILE,
    };
    let width = (columns / parts.max(1) + SMALLEST_TILE - 1) / SMALLEST_TILE * SMALLEST_TILE;
    width.clamp(SMALLEST_TILE, LARGEST_TILE)
}

/// A reduction whose sums are in a tile.
struct Sums {
    node: Node,
    combine: Combine,
    /// Of the operands, and of what is summed.
    types: Vec<ElementType>,
    wide: Vec<ElementType>,
    initial: Vec<Element>,
    tiles: Vec<Value>,
}

impl Columns {
    /// The sums of `length` columns (of the tile's `width` at most) from `first` on of the row of columns
    /// at `index`, then `finish` for each of them, with the reductions known.
    pub(crate) fn run(
        &self,
        emitter: &mut Emitter<'_>,
        nest: NestId,
        index: &Index,
        last: &Loop,
        (first, length, width): (Value, Value, i64),
        finish: &mut dyn FnMut(&mut Emitter<'_>, &Index) -> Result<()>,
    ) -> Result<()> {
        let mut all = Vec::new();
        for node in &self.reductions {
            all.push(self.sums(emitter, node, width)?);
        }
        // The loops count from 0, so that those of whole tiles have constant bounds.
        let bounds = (emitter.builder.index(0), length, 1);
        emitter.for_loop(LoopKind::Vector, bounds, &[], |emitter, at, _| {
            let b = &mut *emitter.builder;
            for sums in &all {
                for (k, &tile) in sums.tiles.iter().enumerate() {
                    let start = match &sums.combine {
                        Combine::Kind(kind, wide) => identity(b, *kind, *wide),
                        Combine::Computation(_) => sums.initial[k],
                    };
                    store(b, tile, at, start);
                }
            }
            Ok(Vec::new())
        })?;

        let id = NestId::Inner(self.reductions[0].id);
        let mut rows = emitter.loops(id, &self.sizes, LoopKind::Sequential);
        rows.iter_mut().for_each(|each| each.style = Style::Loop(LoopKind::Sequential));
        let innermost = rows.pop().expect("several rows");
        let count = innermost.size();
        let block = if self.is_stream(emitter, width) { 1 } else { BLOCK };
        let whole = count - count % block;
        emitter.nest(id, self.sizes.len(), &rows, &[], &mut |emitter, outer, _| {
            for (low, high, block) in [(0, whole, block), (whole, count, 1)] {
                if low == high {
                    continue;
                }
                let range = (emitter.builder.index(low), emitter.builder.index(high), block);
                emitter.for_loop(LoopKind::Sequential, range, &[], |emitter, row, _| {
                    let rows: Vec<Index> = (0..block)
                        .map(|k| emitter.row_index(id, outer, &innermost, row, k, count))
                        .collect();
                    emitter.for_loop(LoopKind::Vector, bounds, &[], |emitter, at, _| {
                        let column = emitter.builder.add(first, at);
                        let index = emitter.last_index(nest, index, last, column);
                        for sums in &all {
                            self.add_rows(emitter, sums, &index, &rows, at)?;
                        }
                        Ok(Vec::new())
                    })?;
                    Ok(Vec::new())
                })?;
            }
            Ok(Vec::new())
        })?;

        emitter.for_loop(LoopKind::Vector, bounds, &[], |emitter, at, _| {
            let column = emitter.builder.add(first, at);
            let index = emitter.last_index(nest, index, last, column);
            let depth = emitter.depth();
            for sums in &all {
                let b = &mut *emitter.builder;
                let mut elements = Vec::new();
                for (k, &tile) in sums.tiles.iter().enumerate() {
                    let sum = load(b, sums.wide[k], tile, at);
                    elements.push(match &sums.combine {
                        Combine::Kind(kind, wide) => {
                            let first = ops::convert(b, sums.types[k], *wide, sums.initial[k])?;
                            let sum = ops::binary(b, *kind, *wide, first, sum)?;
                            ops::convert(b, *wide, sums.types[k], sum)?
                        }
                        Combine::Computation(_) => sum,
                    });
                }
                for (leaf, element) in elements.into_iter().enumerate() {
                    let node = Node { leaf, index: index.clone(), ..sums.node.clone() };
                    emitter.remember(node, Placed { element, depth });
                }
            }
            finish(emitter, &index)?;
            Ok(Vec::new())
        })?;
        Ok(())
    }

    /// Whether rows come from memory one after the other, and each is shorter than a page. Several side by side would be
    /// as many streams, which end before the processor reads ahead.
    fn is_stream(&self, emitter: &Emitter<'_>, tile: i64) -> bool {
        let Ok(operand) = array(emitter.module.operand_shape(self.reductions[0].id, 0)) else {
            return false;
        };
        let last = self.reduced.last().map_or(0, |last| last + 1);
        let columns: i64 = operand.dims[last..].iter().product();
        let width = operand.element_type.byte_width() as i64;
        let bytes = operand.dims.iter().product::<i64>().saturating_mul(width);
        columns <= tile && columns * width < PAGE && bytes >= FAR
    }

    fn sums(&self, emitter: &mut Emitter<'_>, node: &Node, width: i64) -> Result<Sums> {
        let module = emitter.module;
        let Op::Reduce(op) = &module[node.id].op else { unreachable!("columns are of reductions") };
        let count = module[node.id].operands().len() / 2;
        let types: Vec<ElementType> = (0..count)
            .map(|k| Ok(array(module.operand_shape(node.id, k))?.element_type))
            .collect::<Result<_>>()?;
        let combine = Combine::of(module, &types, op.to_apply);
        let wide = match &combine {
            Combine::Kind(_, wide) => vec![*wide],
            Combine::Computation(_) => types.clone(),
        };
        let mut initial = Vec::new();
        for k in 0..count {
            let placed = emitter.element(&emitter.operand(node, count + k, Index::new()))?;
            initial.push(placed.element);
        }
        let base = emitter.base;
        let tiles = emitter.at(base, |b: &mut Builder| {
            let size = |ty: &ElementType| width as u64 * ty.byte_width() as u64;
            wide.iter().map(|ty| b.alloca(size(ty), 64)).collect()
        });
        Ok(Sums { node: node.clone(), combine, types, wide, initial, tiles })
    }

    /// Combines a block of rows and adds it to the tile.
    fn add_rows(
        &self,
        emitter: &mut Emitter<'_>,
        sums: &Sums,
        index: &Index,
        rows: &[Index],
        at: Value,
    ) -> Result<()> {
        let mut all: Vec<Vec<Element>> = Vec::new();
        for row in rows {
            let (mut kept, mut inner) = (index.iter(), row.iter());
            let place: Index = (0..index.len() + row.len())
                .map(|dimension| {
                    let from =
                        if self.reduced.contains(&dimension) { &mut inner } else { &mut kept };
                    from.next().cloned().unwrap_or_default()
                })
                .collect();
            let mut elements = Vec::new();
            for (k, &ty) in sums.types.iter().enumerate() {
                let operand = emitter.operand(&sums.node, k, place.clone());
                let x = emitter.element(&operand)?.element;
                elements.push(ops::convert(emitter.builder, ty, sums.wide[k], x)?);
            }
            all.push(elements);
        }
        let pair = |emitter: &mut Emitter<'_>, x: Vec<Element>, y: Vec<Element>| match &sums.combine
        {
            Combine::Kind(kind, wide) => {
                Ok(vec![ops::binary(emitter.builder, *kind, *wide, x[0], y[0])?])
            }
            Combine::Computation(to_apply) => apply(emitter, *to_apply, x, y),
        };
        while all.len() > 1 {
            let mut next = Vec::new();
            let mut pairs = all.into_iter();
            while let Some(x) = pairs.next() {
                next.push(match pairs.next() {
                    Some(y) => pair(emitter, x, y)?,
                    None => x,
                });
            }
            all = next;
        }
        let block = all.pop().expect("a block has rows");
        let tiles = sums.tiles.iter().zip(&sums.wide);
        let before = tiles.map(|(&tile, &ty)| load(emitter.builder, ty, tile, at)).collect();
        let after = pair(emitter, before, block)?;
        for (&tile, element) in sums.tiles.iter().zip(after) {
            store(emitter.builder, tile, at, element);
        }
        Ok(())
    }
}

impl Emitter<'_> {
    /// The index of row `first + k` of a loop of `count`.
    fn row_index(
        &mut self,
        nest: NestId,
        index: &Index,
        each: &Loop,
        first: Value,
        k: i64,
        count: i64,
    ) -> Index {
        let k = self.builder.index(k);
        let row = self.builder.add(first, k);
        self.loop_index(nest, index, each, row, (0, count))
    }

    /// The index with the last loop's variable.
    fn last_index(&mut self, nest: NestId, index: &Index, last: &Loop, column: Value) -> Index {
        self.loop_index(nest, index, last, column, (0, last.size()))
    }
}

/// How many columns a tile has that begins with column `first`.
pub(crate) fn tile_length(b: &mut Builder, first: Value, width: i64, columns: i64) -> Value {
    let (width, columns) = (b.index(width), b.index(columns));
    let left = b.sub(columns, first);
    b.binary(BinaryOp::SMin, width, left)
}
