//! One tile of what is computed: where its parts lie in arrays, and how they are read and written.

use rustc_hash::FxHashMap;
use rxla_hlo::op::{CustomCall, DynamicSlice, DynamicUpdateSlice, Reshape};
use rxla_hlo::{BinaryKind, ComputationId, Dims, ElementType, InstructionId, Module, Op, Shape};

use super::axes::{Axes, Factor, tiled};
use super::body::{Body, binary, number, sum};
use crate::view;

/// One tile under construction, in the innermost of some bodies.
pub(super) struct Tile<'a> {
    pub(super) m: &'a mut Module,
    pub(super) bodies: Vec<Body>,
    batches: i64,
    batch: InstructionId,
    pub(super) rows: i64,
    /// The first row.
    pub(super) row: InstructionId,
    starts: FxHashMap<Factor, InstructionId>,
}

impl<'a> Tile<'a> {
    pub(super) fn new(
        m: &'a mut Module,
        bodies: Vec<Body>,
        (batches, batch): (i64, InstructionId),
        (rows, row): (i64, InstructionId),
    ) -> Tile<'a> {
        Tile { m, bodies, batches, batch, rows, row, starts: FxHashMap::default() }
    }

    pub(super) fn computation(&self) -> ComputationId {
        self.bodies[self.bodies.len() - 1].computation
    }

    /// The same op on tiles.
    pub(super) fn like(
        &mut self,
        id: InstructionId,
        axes: &Axes,
        operands: &[InstructionId],
    ) -> InstructionId {
        let shape = self.shape(id, tiled(axes, self.rows));
        self.shaped_like(id, shape, operands)
    }

    pub(super) fn shaped_like(
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

    pub(super) fn shape(&self, id: InstructionId, dims: Dims) -> Shape {
        Shape::array(view::element_type(self.m, id).expect("an array"), dims)
    }

    /// The positions of the tile in the whole array.
    pub(super) fn iota(&mut self, id: InstructionId, axes: &Axes, dimension: i64) -> InstructionId {
        let [factor @ (Factor::Batch { .. } | Factor::Rows(_))] = axes[dimension as usize][..]
        else {
            return self.like(id, axes, &[]);
        };
        let ty = view::element_type(self.m, id).expect("an array");
        // A small float may be far from the sum of two numbers that it holds.
        let counts = if ty.is_float() && ty.byte_width() < 4 { ElementType::S32 } else { ty };
        let shape = Shape::array(counts, tiled(axes, self.rows));
        let made = self.shaped_like(id, shape.clone(), &[]);
        let computation = self.computation();
        let start = self.start(&[factor]);
        let start = self.m.add_convert(computation, start, counts).expect("a number");
        let op = Op::broadcast([]);
        let start = self.m.add_instruction(computation, "start", op, shape, &[start]);
        let sum = sum(self.m, computation, made, start);
        self.m.add_convert(computation, sum, ty).expect("a number")
    }

    /// Reads the tile out of an array from outside.
    pub(super) fn read(&mut self, id: InstructionId, axes: &Axes) -> InstructionId {
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
    pub(super) fn put(
        &mut self,
        array: InstructionId,
        tile: InstructionId,
        axes: &Axes,
    ) -> InstructionId {
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

    pub(super) fn reshape(&mut self, value: InstructionId, dims: Dims) -> InstructionId {
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
                if size * step < self.batches {
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
pub(super) fn parts(axes: &Axes) -> Axes {
    let mut list = Axes::new();
    for factors in axes {
        match factors[..] {
            [] | [_] => list.push(factors.clone()),
            _ => list.extend(factors.iter().map(|&factor| vec![factor])),
        }
    }
    list
}

pub(super) fn sizes(axes: &Axes) -> Dims {
    axes.iter().map(|factors| factors.iter().map(|factor| factor.size()).product()).collect()
}

/// What a custom call that gives memory of any value is called.
const ROOM: &str = "AllocateBuffer";

/// Whether an array is only memory so far.
pub(super) fn is_room(m: &Module, id: InstructionId) -> bool {
    matches!(&m[id].op, Op::CustomCall(op) if op.custom_call_target == ROOM)
}

/// Memory for an array, of any value.
pub(super) fn room(
    m: &mut Module,
    computation: ComputationId,
    like: InstructionId,
    axes: &Axes,
) -> InstructionId {
    let shape = Shape::array(view::element_type(m, like).expect("an array"), sizes(axes));
    let op = CustomCall { custom_call_target: ROOM.into(), ..CustomCall::default() };
    m.add_instruction(computation, "room", Box::new(op).into(), shape, &[])
}
