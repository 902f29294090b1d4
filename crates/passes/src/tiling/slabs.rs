//! Loops over tiles in place of what a region computes.

use rustc_hash::FxHashMap;
use rxla_hlo::op::{CustomCall, DynamicSlice, DynamicUpdateSlice, Reshape};
use rxla_hlo::{BinaryKind, ComputationId, Dims, ElementType, InstructionId, Module, Op, Shape};

use super::axes::{Axes, Factor, elements, is_spread, operands, tiled, whole};
use super::body::{Body, Iterations, binary, number, sum};
use super::region::{Region, Sink, Use};
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
        let widest = region.inside.iter().filter(|(id, _)| elements(m, *id) == region.size);
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
    let mut tile = Tile::new(m, region, vec![body], batch, row, rows);
    let mut next = Vec::new();
    for (output, &(place, array)) in outputs.iter().zip(&carried) {
        let ty = view::element_type(tile.m, array).expect("an array");
        let value = tile.output(output, ty);
        next.push((place, tile.put(array, value, &output.axes)));
    }
    let body = tile.bodies.pop().expect("the loop's body");
    let times = region.batches * blocks;
    let results = body.close(m, outside, times, &next, Iterations::Independent);
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
    let mut tile = Tile::new(m, region, vec![outer, inner], batch_inside, row, division.rows);
    let mut next = Vec::new();
    for (output, &(place, part)) in outputs.iter().zip(&inner_carried) {
        next.push((place, tile.add(output, part)));
    }
    let mut bodies = tile.bodies;
    let inner = bodies.pop().expect("the inner loop's body");
    let results = inner.close(m, middle, division.blocks, &next, Iterations::Ordered);
    for (part, (place, _)) in parts_of.iter_mut().zip(inner_carried) {
        *part = results[place];
    }
    let first = number(m, middle, division.rows * division.blocks);
    let mut tile = Tile::new(m, region, bodies, batch, first, division.rest);
    if division.rest > 0 {
        for (output, part) in outputs.iter().zip(&mut parts_of) {
            *part = tile.add(output, *part);
        }
    }
    // What was made for all rows of a batch goes to its place at once.
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
        1 => Iterations::Ordered,
        _ => Iterations::Independent,
    };
    let results = outer.close(m, outside, region.batches, &next, iterations);
    for (array, (place, _)) in arrays.iter_mut().zip(carried) {
        *array = results[place];
    }
}

/// One tile under construction, in the innermost of some bodies.
struct Tile<'a> {
    m: &'a mut Module,
    region: &'a Region,
    bodies: Vec<Body>,
    batch: InstructionId,
    /// The first row.
    row: InstructionId,
    rows: i64,
    made: FxHashMap<(InstructionId, Axes), InstructionId>,
    starts: FxHashMap<Factor, InstructionId>,
}

impl<'a> Tile<'a> {
    fn new(
        m: &'a mut Module,
        region: &'a Region,
        bodies: Vec<Body>,
        batch: InstructionId,
        row: InstructionId,
        rows: i64,
    ) -> Tile<'a> {
        let (made, starts) = Default::default();
        Tile { m, region, bodies, batch, row, rows, made, starts }
    }

    fn computation(&self) -> ComputationId {
        self.bodies[self.bodies.len() - 1].computation
    }

    /// The tile of what a loop gives, in a type of its own.
    fn output(&mut self, output: &Output, ty: ElementType) -> InstructionId {
        let Some(sink) = output.sink else { return self.value(output.id, &output.axes) };
        let Sink { id, operands, .. } = &self.region.sinks[sink];
        let sides = self.m[*id].operands().to_vec();
        let sides = [self.value(sides[0], &operands[0]), self.value(sides[1], &operands[1])];
        let shape = Shape::array(ty, tiled(&output.axes, self.rows));
        self.shaped_like(*id, shape, &sides)
    }

    /// The part of a batch's result with a tile more in it.
    fn add(&mut self, output: &Output, part: InstructionId) -> InstructionId {
        let ty = view::element_type(self.m, part).expect("an array");
        let value = self.output(output, ty);
        match output.rows {
            Use::Kept => self.put(part, value, &one_batch(&output.axes)),
            Use::Summed => {
                let computation = self.computation();
                sum(self.m, computation, part, value)
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
        let value = match operands(self.m, id, axes) {
            Ok(list) if inside || is_made(self.m, id, axes) => {
                let operands = self.m[id].operands().to_vec();
                let operands = operands.iter().zip(&list);
                let operands: Vec<InstructionId> =
                    operands.map(|(&operand, axes)| self.value(operand, axes)).collect();
                match &self.m[id].op {
                    Op::Iota(op) => self.iota(id, axes, op.iota_dimension),
                    _ => self.like(id, axes, &operands),
                }
            }
            _ => self.read(id, axes),
        };
        self.made.insert(key, value);
        value
    }

    /// The same op on tiles.
    fn like(
        &mut self,
        id: InstructionId,
        axes: &Axes,
        operands: &[InstructionId],
    ) -> InstructionId {
        let shape = self.shape(id, tiled(axes, self.rows));
        self.shaped_like(id, shape, operands)
    }

    fn shaped_like(
        &mut self,
        id: InstructionId,
        shape: Shape,
        operands: &[InstructionId],
    ) -> InstructionId {
        let (op, name) = (self.m[id].op.clone(), self.m[id].name().to_owned());
        let computation = self.computation();
        let made = self.m.add_instruction(computation, &name, op, shape, operands);
        if let Some(metadata) = self.m[id].metadata().cloned() {
            self.m[made].info_mut().metadata = metadata;
        }
        made
    }

    fn shape(&self, id: InstructionId, dims: Dims) -> Shape {
        Shape::array(view::element_type(self.m, id).expect("an array"), dims)
    }

    fn iota(&mut self, id: InstructionId, axes: &Axes, dimension: i64) -> InstructionId {
        let made = self.like(id, axes, &[]);
        let [factor] = axes[dimension as usize][..] else { return made };
        if let Factor::Whole(_) = factor {
            return made;
        }
        let computation = self.computation();
        let start = self.start(&[factor]);
        let scalar = self.shape(id, Dims::new());
        let ty = view::element_type(self.m, id).expect("an array");
        let start = match self.m[start].shape == scalar {
            true => start,
            false => self.m.add_convert(computation, start, ty).expect("a number"),
        };
        let shape = self.m[made].shape.clone();
        let op = Op::broadcast([]);
        let start = self.m.add_instruction(computation, "start", op, shape, &[start]);
        sum(self.m, computation, made, start)
    }

    /// Reads the tile out of an array from outside.
    fn read(&mut self, id: InstructionId, axes: &Axes) -> InstructionId {
        let mut value = id;
        for body in &mut self.bodies {
            value = body.import(self.m, value);
        }
        if axes.iter().flatten().all(|factor| matches!(factor, Factor::Whole(_))) {
            return value;
        }
        let computation = self.computation();
        let parts = parts(axes);
        value = self.reshape(value, sizes(&parts));
        let starts = parts.iter().map(|factors| self.start(factors));
        let mut operands = vec![value];
        operands.extend(starts.collect::<Vec<_>>());
        let dims = tiled(&parts, self.rows);
        let shape = self.shape(id, dims.clone());
        let op = DynamicSlice { dynamic_slice_sizes: dims };
        let slice = self.m.add_instruction(computation, "slice", op.into(), shape, &operands);
        self.reshape(slice, tiled(axes, self.rows))
    }

    /// Writes a tile to its place in an array that has a dimension for each part.
    fn put(&mut self, array: InstructionId, tile: InstructionId, axes: &Axes) -> InstructionId {
        let computation = self.computation();
        let parts = parts(axes);
        let tile = self.reshape(tile, tiled(&parts, self.rows));
        let mut operands = vec![array, tile];
        for factors in &parts {
            operands.push(self.start(factors));
        }
        let shape = self.m[array].shape.clone();
        let op = DynamicUpdateSlice {};
        self.m.add_instruction(computation, "update", op.into(), shape, &operands)
    }

    fn reshape(&mut self, value: InstructionId, dims: Dims) -> InstructionId {
        if view::dims(self.m, value) == Some(&dims) {
            return value;
        }
        let shape = self.shape(value, dims);
        let op = Op::from(Reshape::default());
        let computation = self.computation();
        self.m.add_instruction(computation, "reshape", op, shape, &[value])
    }

    /// Where the tile begins in a dimension of one part.
    fn start(&mut self, factors: &[Factor]) -> InstructionId {
        let factor = factors.first().copied().unwrap_or(Factor::Whole(1));
        if let Factor::Rows(_) = factor {
            return self.row;
        }
        if let Some(&known) = self.starts.get(&factor) {
            return known;
        }
        let computation = self.computation();
        let start = match factor {
            Factor::Batch { size, step } => {
                let mut at = self.batch;
                if step > 1 {
                    let step = number(self.m, computation, step);
                    at = binary(self.m, computation, BinaryKind::Divide, at, step);
                }
                if size * step < self.region.batches {
                    let size = number(self.m, computation, size);
                    at = binary(self.m, computation, BinaryKind::Remainder, at, size);
                }
                at
            }
            Factor::Whole(_) | Factor::Rows(_) => number(self.m, computation, 0),
        };
        self.starts.insert(factor, start);
        start
    }
}

/// The axes with a dimension for each factor: those dimensions that have several are divided.
fn parts(axes: &Axes) -> Axes {
    let mut list = Axes::new();
    for factors in axes {
        match factors[..] {
            [] | [_] => list.push(factors.clone()),
            _ => list.extend(factors.iter().map(|&factor| vec![factor])),
        }
    }
    list
}

/// The axes of what one batch has of an array.
fn one_batch(axes: &Axes) -> Axes {
    let own = |factors: &Vec<Factor>| {
        let own = factors.iter().filter(|factor| !matches!(factor, Factor::Batch { .. }));
        own.copied().collect::<Vec<_>>()
    };
    parts(axes).iter().map(own).collect()
}

fn sizes(axes: &Axes) -> Dims {
    axes.iter().map(|factors| factors.iter().map(|factor| factor.size()).product()).collect()
}

/// Memory for an array, of any value.
fn room(
    m: &mut Module,
    computation: ComputationId,
    like: InstructionId,
    axes: &Axes,
) -> InstructionId {
    let shape = Shape::array(view::element_type(m, like).expect("an array"), sizes(axes));
    let op = CustomCall { custom_call_target: "AllocateBuffer".into(), ..CustomCall::default() };
    m.add_instruction(computation, "room", Box::new(op).into(), shape, &[])
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
            Op::Constant(_) => elements(m, id) == 1,
            Op::Broadcast(_) if elements(m, m[id].operands()[0]) == 1 => true,
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
