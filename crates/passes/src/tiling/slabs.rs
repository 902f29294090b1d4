//! Loops over tiles in place of what a region computes.

use rustc_hash::FxHashMap;
use rxla_hlo::op::Reshape;
use rxla_hlo::{BinaryKind, ComputationId, ElementType, InstructionId, Module, Op, Shape};

use super::axes::{Axes, Factor, is_spread, operands, tiled, whole};
use super::body::{Body, Iterations, binary, number, sum};
use super::region::{Region, Sink, Use};
use super::tile::{Tile, parts, room, sizes};
use crate::view;

/// Bytes of a large array that a tile may have: one fits a core's second cache with what it is made of.
const TILE_BYTES: i64 = 512 << 10;
/// Rows that a product takes at once; fewer would leave its registers empty.
const FEWEST_ROWS: i64 = 16;

/// How rows are divided: so many blocks of so many, and the rest.
struct Division {
    rows: i64,
    blocks: i64,
    rest: i64,
}

impl Division {
    fn of(m: &Module, region: &Region) -> Division {
        let widest = region.inside.iter().filter(|(id, _)| view::elements(m, *id) == region.size);
        let width = widest.filter_map(|(id, _)| view::element_type(m, *id));
        let width = width.map(ElementType::byte_width).max().unwrap_or(4) as i64;
        let row = region.size / (region.batches * region.rows) * width;
        let most = (TILE_BYTES / row).max(FEWEST_ROWS) / FEWEST_ROWS * FEWEST_ROWS;
        if region.rows <= most {
            return Division { rows: region.rows, blocks: 1, rest: 0 };
        }
        // Blocks that leave no rest, if they are not much smaller.
        let even = (most / 2..=most).rev().find(|rows| region.rows % rows == 0 && rows % 8 == 0);
        let rows = even.unwrap_or(most);
        Division { rows, blocks: region.rows / rows, rest: region.rows % rows }
    }
}

/// What a loop gives: a sink, or something small that is needed elsewhere.
struct Output {
    id: InstructionId,
    axes: Axes,
    sink: Option<usize>,
    rows: Use,
}

/// Puts loops in place of one of the regions.
pub(super) fn build(m: &mut Module, region: &Region, regions: &[Region]) {
    let division = Division::of(m, region);
    let outside = m[region.sinks[0].id].parent();
    let kept = |(id, axes)| Output { id, axes, sink: None, rows: Use::Kept };
    let mut outputs: Vec<Output> = region.outputs(m, regions).into_iter().map(kept).collect();
    outputs.extend(region.sinks.iter().enumerate().map(|(number, sink)| Output {
        id: sink.id,
        axes: sink.result.clone(),
        sink: Some(number),
        rows: sink.rows,
    }));
    let mut arrays: Vec<InstructionId> =
        outputs.iter().map(|output| room(m, outside, output.id, &parts(&output.axes))).collect();
    let sums = outputs.iter().any(|output| output.rows == Use::Summed);
    let nested = sums && (division.blocks > 1 || division.rest > 0);
    if nested {
        batches(m, region, &outputs, &mut arrays, &division);
    } else {
        let Division { rows, blocks, rest } = division;
        tiles(m, region, &outputs, &mut arrays, (0, rows, blocks));
        if rest > 0 {
            tiles(m, region, &outputs, &mut arrays, (rows * blocks, rest, 1));
        }
    }
    for (output, array) in outputs.iter().zip(arrays) {
        let shape = m[output.id].shape.clone();
        let result = match m[array].shape.compatible(&shape) {
            true => array,
            false => m.add_like(output.id, Op::from(Reshape::default()), shape, &[array]),
        };
        m.replace_all_uses(output.id, result);
    }
}

/// One loop over blocks of rows in all batches.
fn tiles(
    m: &mut Module,
    region: &Region,
    outputs: &[Output],
    arrays: &mut [InstructionId],
    (first, rows, blocks): (i64, i64, i64),
) {
    let outside = m[region.sinks[0].id].parent();
    let zero = number(m, outside, 0);
    let mut body = Body::new(m, zero);
    let carried: Vec<(usize, InstructionId)> =
        arrays.iter().map(|&array| body.carry(m, array)).collect();
    let inside = body.computation;
    let (mut batch, mut row) = (body.number(), number(m, inside, first));
    if blocks > 1 {
        let count = number(m, inside, blocks);
        let block = binary(m, inside, BinaryKind::Remainder, batch, count);
        batch = binary(m, inside, BinaryKind::Divide, batch, count);
        let rows = number(m, inside, rows);
        row = binary(m, inside, BinaryKind::Multiply, block, rows);
    }
    let mut slab = Slab::new(m, region, vec![body], batch, (rows, row));
    let mut next = Vec::new();
    for (output, &(place, array)) in outputs.iter().zip(&carried) {
        let ty = view::element_type(slab.tile.m, array).expect("an array");
        let value = slab.output(output, ty);
        next.push((place, slab.tile.put(array, value, &output.axes)));
    }
    let body = slab.tile.bodies.pop().expect("the loop's body");
    let iterations = Iterations::Independent(region.batches * blocks);
    let results = body.close(m, outside, &next, iterations);
    for (array, (place, _)) in arrays.iter_mut().zip(carried) {
        *array = results[place];
    }
}

/// A loop over batches, in which another one goes through the rows in order and sums.
fn batches(
    m: &mut Module,
    region: &Region,
    outputs: &[Output],
    arrays: &mut [InstructionId],
    division: &Division,
) {
    let outside = m[region.sinks[0].id].parent();
    let zero = number(m, outside, 0);
    let mut outer = Body::new(m, zero);
    let carried: Vec<(usize, InstructionId)> =
        arrays.iter().map(|&array| outer.carry(m, array)).collect();
    let (middle, batch) = (outer.computation, outer.number());
    let mut parts_of: Vec<InstructionId> = outputs
        .iter()
        .map(|output| match output.rows {
            Use::Kept => room(m, middle, output.id, &one_batch(&output.axes)),
            Use::Summed => zeros(m, middle, output, region.rows),
        })
        .collect();
    let zero = number(m, middle, 0);
    let mut inner = Body::new(m, zero);
    let inner_carried: Vec<(usize, InstructionId)> =
        parts_of.iter().map(|&part| inner.carry(m, part)).collect();
    let inside = inner.computation;
    let batch_inside = inner.import(m, batch);
    let rows = number(m, inside, division.rows);
    let row = binary(m, inside, BinaryKind::Multiply, inner.number(), rows);
    let rows = (division.rows, row);
    let mut slab = Slab::new(m, region, vec![outer, inner], batch_inside, rows);
    let mut next = Vec::new();
    for (output, &(place, part)) in outputs.iter().zip(&inner_carried) {
        next.push((place, slab.add(output, part)));
    }
    let mut bodies = slab.tile.bodies;
    let inner = bodies.pop().expect("the inner loop's body");
    let results = inner.close(m, middle, &next, Iterations::Ordered(division.blocks));
    for (part, (place, _)) in parts_of.iter_mut().zip(inner_carried) {
        *part = results[place];
    }
    let first = number(m, middle, division.rows * division.blocks);
    let mut slab = Slab::new(m, region, bodies, batch, (division.rest, first));
    if division.rest > 0 {
        for (output, part) in outputs.iter().zip(&mut parts_of) {
            *part = slab.add(output, *part);
        }
    }
    // What was made for all rows of a batch goes to its place at once.
    let tile = &mut slab.tile;
    (tile.rows, tile.row) = (region.rows, number(tile.m, middle, 0));
    let mut next = Vec::new();
    for ((output, &(place, array)), &part) in outputs.iter().zip(&carried).zip(&parts_of) {
        let ty = view::element_type(tile.m, array).expect("an array");
        let part = tile.m.add_convert(middle, part, ty).expect("a sum of numbers");
        next.push((place, tile.put(array, part, &output.axes)));
    }
    let outer = tile.bodies.pop().expect("the outer loop's body");
    let iterations = match region.batches {
        // Each of its steps is shared out then.
        1 => Iterations::Ordered(1),
        batches => Iterations::Independent(batches),
    };
    let results = outer.close(m, outside, &next, iterations);
    for (array, (place, _)) in arrays.iter_mut().zip(carried) {
        *array = results[place];
    }
}

/// A tile of a region.
struct Slab<'a> {
    tile: Tile<'a>,
    region: &'a Region,
    made: FxHashMap<(InstructionId, Axes), InstructionId>,
}

impl<'a> Slab<'a> {
    fn new(
        m: &'a mut Module,
        region: &'a Region,
        bodies: Vec<Body>,
        batch: InstructionId,
        rows: (i64, InstructionId),
    ) -> Slab<'a> {
        let tile = Tile::new(m, bodies, (region.batches, batch), rows);
        Slab { tile, region, made: FxHashMap::default() }
    }

    /// The tile of what a loop gives, in a type of its own.
    fn output(&mut self, output: &Output, ty: ElementType) -> InstructionId {
        let Some(sink) = output.sink else { return self.value(output.id, &output.axes) };
        let Sink { id, operands, .. } = &self.region.sinks[sink];
        let sides = self.tile.m[*id].operands().to_vec();
        let sides = [self.value(sides[0], &operands[0]), self.value(sides[1], &operands[1])];
        let shape = Shape::array(ty, tiled(&output.axes, self.tile.rows));
        self.tile.shaped_like(*id, shape, &sides)
    }

    /// The part of a batch's result with a tile more in it.
    fn add(&mut self, output: &Output, part: InstructionId) -> InstructionId {
        let ty = view::element_type(self.tile.m, part).expect("an array");
        let value = self.output(output, ty);
        match output.rows {
            Use::Kept => self.tile.put(part, value, &one_batch(&output.axes)),
            Use::Summed => {
                let computation = self.tile.computation();
                sum(self.tile.m, computation, part, value)
            }
        }
    }

    /// The tile of a value: computed, if it is from inside or only made of numbers, else read.
    fn value(&mut self, id: InstructionId, axes: &Axes) -> InstructionId {
        let key = (id, axes.clone());
        if let Some(&known) = self.made.get(&key) {
            return known;
        }
        let inside = self.region.axes(id) == Some(axes);
        let value = match operands(self.tile.m, id, axes) {
            Ok(list) if inside || is_made(self.tile.m, id, axes) => {
                let operands = self.tile.m[id].operands().to_vec();
                let operands = operands.iter().zip(&list);
                let operands: Vec<InstructionId> =
                    operands.map(|(&operand, axes)| self.value(operand, axes)).collect();
                match &self.tile.m[id].op {
                    Op::Iota(op) => self.tile.iota(id, axes, op.iota_dimension),
                    _ => self.tile.like(id, axes, &operands),
                }
            }
            _ => self.tile.read(id, axes),
        };
        self.made.insert(key, value);
        value
    }
}

/// The axes of what one batch has of an array.
fn one_batch(axes: &Axes) -> Axes {
    let own = |factors: &Vec<Factor>| {
        let own = factors.iter().filter(|factor| !matches!(factor, Factor::Batch { .. }));
        own.copied().collect::<Vec<_>>()
    };
    parts(axes).iter().map(own).collect()
}

/// Zeros for the sum of a batch, which is rounded to a small type only when it is complete.
fn zeros(m: &mut Module, computation: ComputationId, output: &Output, rows: i64) -> InstructionId {
    let ty = match view::element_type(m, output.id).expect("an array") {
        ty if ty.is_float() && ty.byte_width() < 4 => ElementType::F32,
        ty => ty,
    };
    let shape = Shape::array(ty, tiled(&output.axes, rows));
    let zero = rxla_hlo::ArrayLiteral::zeros(&rxla_hlo::ArrayShape::scalar(ty));
    let zero = m.add_constant(computation, zero.expect("a number takes little memory"));
    m.add_instruction(computation, "zeros", Op::broadcast([]), shape, &[zero])
}

/// Whether a tile is sooner made than read: of numbers and positions, at any place.
fn is_made(m: &Module, id: InstructionId, axes: &Axes) -> bool {
    const DEPTH: u32 = 6;
    fn made(m: &Module, id: InstructionId, depth: u32) -> bool {
        match &m[id].op {
            Op::Iota(_) => true,
            Op::Constant(_) => view::elements(m, id) == 1,
            Op::Broadcast(_) if view::elements(m, m[id].operands()[0]) == 1 => true,
            Op::Unary(_)
            | Op::Binary(_)
            | Op::Compare(_)
            | Op::Select(_)
            | Op::Convert(_)
            | Op::Broadcast(_)
            | Op::Transpose(_)
            | Op::Reshape(_) => {
                depth > 0 && m[id].operands().iter().all(|&operand| made(m, operand, depth - 1))
            }
            _ => false,
        }
    }
    match &m[id].op {
        Op::Iota(_) => true,
        Op::Constant(_) => axes.is_empty(),
        Op::Broadcast(_) if is_spread(m, id) => true,
        _ => !axes.is_empty() && *axes != whole(&sizes(axes)) && made(m, id, DEPTH),
    }
}
