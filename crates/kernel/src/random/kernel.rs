//! Random statements.

use super::ops::{SCALARS, compare, elementwise};
use super::source::Source;
use super::{Argument, Options, Sample};
use crate::builder::Builder;
use crate::ir::{BinaryOp, Convert, Linkage, LoopKind, Module, Op, Statement, Value};
use crate::types::{Scalar, Type};
use crate::verify::op::binary_takes;

/// Elements of each buffer. Indices are below, whatever they come from.
const ELEMENTS: u64 = 256;
/// Variables of loops are below.
const MAX_TRIP: i64 = 64;
const MAX_DEPTH: usize = 3;

/// The kernel of a seed.
pub fn sample(seed: u64, options: &Options) -> Sample {
    let mut source = Source::new(seed);
    let mut builder = Builder::new("random", Linkage::Kernel, None);
    let mut arguments = Vec::new();
    let mut generator = Generator {
        options,
        inputs: Vec::new(),
        outputs: Vec::new(),
        values: Vec::new(),
        indices: Vec::new(),
        lanes: None,
        left: options.size,
        source: &mut source,
    };
    for scalar in SCALARS {
        for written in [false, true] {
            let base = builder.buffer_parameter(64);
            let buffers = if written { &mut generator.outputs } else { &mut generator.inputs };
            buffers.push((scalar, base));
            let width = scalar.byte_width();
            let mut bytes = Vec::new();
            for _ in 0..ELEMENTS {
                let bits = generator.source.value(scalar);
                bytes.extend_from_slice(&bits.to_le_bytes()[..width]);
            }
            arguments.push(Argument::Buffer(scalar, bytes));
        }
    }
    for scalar in [Scalar::I32, Scalar::I64, Scalar::F32, Scalar::F64] {
        let value = builder.parameter(scalar.into());
        generator.values.push(value);
        arguments.push(Argument::Scalar(scalar, generator.source.value(scalar)));
    }
    let count = builder.parameter(Type::I64);
    generator.indices.push(count);
    let trip = generator.source.below(MAX_TRIP as usize + 1) as u64;
    arguments.push(Argument::Scalar(Scalar::I64, trip));
    while generator.left > 0 {
        generator.statement(&mut builder, 0);
    }
    Sample { module: Module { functions: vec![builder.finish()] }, arguments }
}

struct Generator<'a> {
    options: &'a Options,
    inputs: Vec<(Scalar, Value)>,
    outputs: Vec<(Scalar, Value)>,
    /// What can be computed with here.
    values: Vec<Value>,
    /// i64 values from 0 to [`MAX_TRIP`].
    indices: Vec<Value>,
    /// Inside a loop marked `vector`: the one place that an iteration may write to.
    lanes: Option<Place>,
    left: u32,
    source: &'a mut Source,
}

#[derive(Clone, Copy)]
struct Place {
    scalar: Scalar,
    base: Value,
    index: Value,
}

impl Generator<'_> {
    fn statement(&mut self, b: &mut Builder, depth: usize) {
        self.left = self.left.saturating_sub(1);
        let deep = depth >= MAX_DEPTH;
        match self.source.below(16) {
            0..=5 => {
                let ty = self.source.pick(&SCALARS).into();
                let value = self.compute(b, ty);
                self.values.push(value);
            }
            6 | 7 => self.store(b),
            8 if self.lanes.is_none() => self.vectors(b),
            9 if !deep => self.condition(b, depth),
            10 if !deep => self.while_loop(b, depth),
            11 | 12 if !deep => {
                let kind = self.source.pick(&[LoopKind::Sequential, LoopKind::Unroll]);
                self.for_loop(b, kind, depth);
            }
            13..=15 if !deep && self.lanes.is_none() => self.vector_loop(b, depth),
            _ => {
                let (scalar, value) = self.load(b);
                _ = scalar;
                self.values.push(value);
            }
        }
    }

    /// Runs `fill`; what it makes is forgotten afterwards.
    fn scoped<R>(&mut self, fill: impl FnOnce(&mut Self) -> R) -> R {
        let (values, indices, lanes) = (self.values.len(), self.indices.len(), self.lanes);
        let result = fill(self);
        self.values.truncate(values);
        self.indices.truncate(indices);
        self.lanes = lanes;
        result
    }

    fn block(&mut self, b: &mut Builder, depth: usize) {
        for _ in 0..1 + self.source.below(5) {
            self.statement(b, depth + 1);
        }
    }

    fn operand(&mut self, b: &mut Builder, ty: Type) -> Value {
        operand(&self.values, self.source, b, ty)
    }

    fn compute(&mut self, b: &mut Builder, ty: Type) -> Value {
        let values = &self.values;
        elementwise(self.source, self.options.maths, b, ty, |source, b, ty| {
            operand(values, source, b, ty)
        })
    }

    /// An index from loop variables or data, from 0 and below `limit`, a power of two.
    fn index(&mut self, b: &mut Builder, limit: u64) -> Value {
        let variable = self.source.pick(&self.indices);
        let index = match self.source.below(8) {
            0 | 1 if limit > MAX_TRIP as u64 => return variable,
            7 if limit == ELEMENTS => {
                let (factor, constant) = (2 + self.source.below(2), self.source.below(60));
                let (factor, constant) = (b.index(factor as i64), b.index(constant as i64));
                let scaled = b.mul(variable, factor);
                return b.add(scaled, constant);
            }
            2 => {
                let last = b.index(MAX_TRIP);
                b.sub(last, variable)
            }
            3 => {
                let factor = b.index(1 + self.source.below(4) as i64);
                let scaled = b.mul(variable, factor);
                let other = self.source.pick(&self.indices);
                b.add(scaled, other)
            }
            4 => return b.index(self.source.below(limit as usize) as i64),
            5 => self.operand(b, Type::I64),
            _ => {
                let narrow = self.operand(b, Type::I32);
                let wide = Op::Convert(
                    self.source.pick(&[Convert::ZeroExtend, Convert::SignExtend]),
                    narrow,
                );
                let wide = b.op(Type::I64, wide);
                b.add(wide, variable)
            }
        };
        let mask = b.index(limit as i64 - 1);
        b.binary(BinaryOp::And, index, mask)
    }

    fn load(&mut self, b: &mut Builder) -> (Scalar, Value) {
        // In lanes, only the iteration's own place is read of what the loop writes.
        if let Some(place) = self.lanes.filter(|_| self.source.chance(4)) {
            return (place.scalar, b.load(place.scalar, place.base, place.index));
        }
        let outputs = self.lanes.is_none() && self.source.chance(3);
        let buffers = if outputs { &self.outputs } else { &self.inputs };
        let (scalar, base) = self.source.pick(buffers);
        if self.source.chance(4) {
            let byte_index = self.index(b, ELEMENTS / 2);
            let width = b.index(scalar.byte_width() as i64);
            let bytes = b.mul(byte_index, width);
            let moved = b.offset(base, bytes);
            let index = self.index(b, ELEMENTS / 2);
            return (scalar, b.load(scalar, moved, index));
        }
        let index = self.index(b, ELEMENTS);
        (scalar, b.load(scalar, base, index))
    }

    fn store(&mut self, b: &mut Builder) {
        let Place { scalar, base, index } = match self.lanes {
            Some(place) => place,
            None => {
                let (scalar, base) = self.source.pick(&self.outputs);
                Place { scalar, base, index: self.index(b, ELEMENTS) }
            }
        };
        let value = self.operand(b, scalar.into());
        let mask = self.source.chance(5).then(|| self.operand(b, Type::I1));
        b.push(Statement::Store { base, index, value, mask });
    }

    fn condition(&mut self, b: &mut Builder, depth: usize) {
        let condition = self.any_condition(b);
        let types: Vec<Type> =
            (0..self.source.below(3)).map(|_| self.source.pick(&SCALARS).into()).collect();
        let mut side = |b: &mut Builder| {
            self.scoped(|generator| {
                generator.block(b, depth);
                types.iter().map(|&ty| generator.operand(b, ty)).collect()
            })
        };
        let then = b.block(&mut side);
        let otherwise = b.block(&mut side);
        let results: Vec<Value> = types.iter().map(|&ty| b.fresh(ty)).collect();
        self.values.extend_from_slice(&results);
        b.push(Statement::If { condition, results, then, otherwise });
    }

    fn any_condition(&mut self, b: &mut Builder) -> Value {
        let ty = self.source.pick(&SCALARS).into();
        let (x, y) = (self.operand(b, ty), self.operand(b, ty));
        compare(self.source, b, x, y)
    }

    /// A loop that ends after some rounds at the latest.
    fn while_loop(&mut self, b: &mut Builder, depth: usize) {
        let limit = b.index(self.source.below(6) as i64);
        let zero = b.index(0);
        let types: Vec<Type> =
            (0..self.source.below(3)).map(|_| self.source.pick(&SCALARS).into()).collect();
        let mut init = vec![zero];
        init.extend(types.iter().map(|&ty| self.operand(b, ty)).collect::<Vec<_>>());
        let go_on = self.source.chance(2);
        let results = {
            let generator = std::cell::RefCell::new(&mut *self);
            b.while_loop(
                &init,
                |b, params| {
                    let mut generator = generator.borrow_mut();
                    let more = b.compare(crate::ir::ComparePredicate::Slt, params[0], limit);
                    if go_on {
                        return more;
                    }
                    generator.scoped(|generator| {
                        generator.values.extend_from_slice(&params[1..]);
                        let other = generator.any_condition(b);
                        b.binary(BinaryOp::And, more, other)
                    })
                },
                |b, params| {
                    let mut generator = generator.borrow_mut();
                    generator.scoped(|generator| {
                        generator.indices.push(params[0]);
                        generator.values.extend_from_slice(&params[1..]);
                        generator.block(b, depth);
                        let one = b.index(1);
                        let mut next = vec![b.add(params[0], one)];
                        next.extend(types.iter().map(|&ty| generator.operand(b, ty)));
                        next
                    })
                },
            )
        };
        self.values.extend_from_slice(&results[1..]);
        self.indices.push(results[0]);
    }

    /// Bounds below [`MAX_TRIP`], and the step.
    fn bounds(&mut self, b: &mut Builder, kind: LoopKind) -> (Value, Value, i64) {
        let step = self.source.pick(&[1, 1, 1, 2, 3]);
        let low = b.index(self.source.below(4) as i64);
        let high = match kind {
            LoopKind::Unroll => b.index(self.source.below(6) as i64),
            LoopKind::Sequential => match self.source.below(3) {
                0 => self.source.pick(&self.indices),
                _ => b.index(self.source.below(8) as i64),
            },
            LoopKind::Vector => match self.source.below(3) {
                0 => self.source.pick(&self.indices),
                _ => b.index(self.source.below(MAX_TRIP as usize + 1) as i64),
            },
        };
        (low, high, step)
    }

    fn for_loop(&mut self, b: &mut Builder, kind: LoopKind, depth: usize) {
        let bounds = self.bounds(b, kind);
        let types: Vec<Type> =
            (0..self.source.below(3)).map(|_| self.source.pick(&SCALARS).into()).collect();
        let init: Vec<Value> = types.iter().map(|&ty| self.operand(b, ty)).collect();
        let results = b.for_loop(kind, bounds, &init, |b, variable, params| {
            self.scoped(|generator| {
                generator.indices.push(variable);
                generator.values.extend_from_slice(params);
                generator.block(b, depth);
                types.iter().map(|&ty| generator.operand(b, ty)).collect()
            })
        });
        self.values.extend_from_slice(&results);
    }

    /// A loop whose iterations write to a place of their own each, and reduce.
    fn vector_loop(&mut self, b: &mut Builder, depth: usize) {
        let bounds = self.bounds(b, LoopKind::Vector);
        let reductions: Vec<(Type, BinaryOp)> =
            (0..self.source.below(3)).map(|_| self.reduction()).collect();
        let mut init: Vec<Value> = reductions.iter().map(|&(ty, _)| self.operand(b, ty)).collect();
        for (init, &(ty, op)) in init.iter_mut().zip(&reductions) {
            if op == BinaryOp::Add && ty.scalar.is_float() {
                // Sums of few small whole numbers.
                *init = b.constant(ty, crate::evaluate::float::from_f64(ty.scalar, 3.0));
            }
        }
        let search = self.source.chance(4).then(|| self.source.pick(&SCALARS[1..]));
        if let Some(scalar) = search {
            init.push(self.operand(b, scalar.into()));
            let far = b.constant(Scalar::I32, 1000);
            init.push(far);
        }
        let (scalar, base) = self.source.pick(&self.outputs);
        let mut results = b.for_loop(LoopKind::Vector, bounds, &init, |b, variable, params| {
            self.scoped(|generator| {
                generator.indices.push(variable);
                let (index, own) = generator.own_index(b, variable);
                generator.lanes = Some(Place { scalar, base, index });
                generator.block(b, depth);
                let mut next = Vec::new();
                for (&param, &(ty, op)) in params.iter().zip(&reductions) {
                    next.push(generator.reduce(b, param, ty, op));
                }
                if let Some(scalar) = search {
                    let [best, at] = [params[params.len() - 2], params[params.len() - 1]];
                    let candidate = generator.operand(b, scalar.into());
                    next.extend(search_step(b, variable, candidate, best, at));
                }
                if own > 1 && generator.source.chance(2) {
                    for part in 0..own {
                        let value = generator.operand(b, scalar.into());
                        let part = b.index(part);
                        let at = b.add(index, part);
                        b.store(base, at, value);
                    }
                } else if next.is_empty() || generator.source.chance(3) {
                    generator.store(b);
                }
                next
            })
        });
        // A search that met NaN knows no place that all orders agree on.
        if search.is_some_and(Scalar::is_float) {
            results.truncate(results.len() - 2);
        }
        self.values.extend_from_slice(&results);
    }

    /// An index that no other iteration has, and how many there are from it on.
    fn own_index(&mut self, b: &mut Builder, variable: Value) -> (Value, i64) {
        let own = self.source.pick(&[1, 1, 1, 2, 3, -1]);
        let factor = own;
        let constant = if factor < 0 { MAX_TRIP } else { self.source.below(60) as i64 };
        let factor = b.index(factor);
        let scaled = b.mul(variable, factor);
        let constant = b.index(constant);
        (b.add(scaled, constant), own)
    }

    /// A type and an operation that reduces its values to the same in any order.
    fn reduction(&mut self) -> (Type, BinaryOp) {
        let scalar = self.source.pick(&SCALARS);
        let ops: Vec<BinaryOp> = BinaryOp::ALL
            .iter()
            .copied()
            .filter(|op| op.is_reducer() && binary_takes(*op, scalar))
            .filter(|op| *op != BinaryOp::Mul || !scalar.is_float())
            .filter(|op| *op != BinaryOp::Add || !matches!(scalar, Scalar::F16 | Scalar::BF16))
            .collect();
        (scalar.into(), self.source.pick(&ops))
    }

    fn reduce(&mut self, b: &mut Builder, param: Value, ty: Type, op: BinaryOp) -> Value {
        let value = if op == BinaryOp::Add && ty.scalar.is_float() {
            let small = self.operand(b, Type::I8);
            b.convert(Convert::SignedToFloat, small, ty.scalar)
        } else {
            self.operand(b, ty)
        };
        if self.source.chance(2) { b.binary(op, param, value) } else { b.binary(op, value, param) }
    }

    /// Vectors made by hand: loads, computations, reductions, stores.
    fn vectors(&mut self, b: &mut Builder) {
        let lanes = self.source.pick(&[2u16, 3, 4, 8, 16]);
        self.scoped(|generator| {
            for _ in 0..3 + generator.source.below(5) {
                let value = generator.vector_value(b, lanes);
                generator.values.push(value);
            }
            let (scalar, base) = generator.source.pick(&generator.outputs);
            let value = generator.operand(b, scalar.vector(lanes));
            let mask = generator.vector_mask(b, lanes);
            let index = generator.index(b, ELEMENTS / 2);
            let index =
                if generator.source.chance(3) { generator.lane_indices(b, lanes) } else { index };
            b.push(Statement::Store { base, index, value, mask });
        });
        let (scalar, base) = self.source.pick(&self.outputs);
        let index = self.index(b, ELEMENTS / 2);
        let vector = b.load(scalar.vector(lanes), base, index);
        let op = if self.source.chance(2) {
            Op::Extract(vector, self.source.below(usize::from(lanes)) as u16)
        } else {
            let ops: Vec<BinaryOp> = BinaryOp::ALL
                .iter()
                .copied()
                .filter(|op| op.is_reducer() && binary_takes(*op, scalar))
                .collect();
            Op::Reduce(self.source.pick(&ops), vector)
        };
        let one = b.op(scalar.into(), op);
        self.values.push(one);
    }

    fn vector_value(&mut self, b: &mut Builder, lanes: u16) -> Value {
        let ty = self.source.pick(&SCALARS).vector(lanes);
        match self.source.below(8) {
            0 | 1 => {
                let (scalar, base) = self.source.pick(&self.inputs);
                let mask = self.vector_mask(b, lanes);
                let index = self.index(b, ELEMENTS / 2);
                let index = if self.source.chance(3) { self.lane_indices(b, lanes) } else { index };
                b.op(scalar.vector(lanes), Op::Load { base, index, mask })
            }
            2 => {
                let scalar = self.operand(b, ty.scalar.into());
                b.op(ty, Op::Splat(scalar))
            }
            3 if ty.scalar.is_integer() => b.op(ty, Op::LaneIndex),
            4 => {
                let (x, y) = (self.operand(b, ty), self.operand(b, ty));
                let pick = |_| self.source.below(usize::from(lanes) * 2) as u16;
                let picked = (0..lanes).map(pick).collect();
                b.op(ty, Op::Shuffle(x, y, picked))
            }
            _ => self.compute(b, ty),
        }
    }

    fn vector_mask(&mut self, b: &mut Builder, lanes: u16) -> Option<Value> {
        self.source.chance(3).then(|| self.operand(b, Scalar::I1.vector(lanes)))
    }

    fn lane_indices(&mut self, b: &mut Builder, lanes: u16) -> Value {
        let ty = Scalar::I64.vector(lanes);
        let any = self.operand(b, ty);
        let mask = b.constant(ty, ELEMENTS - 1);
        b.binary(BinaryOp::And, any, mask)
    }
}

/// A value of a type that is there, or a constant.
fn operand(values: &[Value], source: &mut Source, b: &mut Builder, ty: Type) -> Value {
    let known: Vec<Value> = values.iter().copied().filter(|&value| b.ty(value) == ty).collect();
    if known.is_empty() || source.chance(5) {
        let bits = source.value(ty.scalar);
        return b.constant(ty, bits);
    }
    // The latest are the most interesting.
    let recent = known.len().saturating_sub(4);
    if source.chance(2) { source.pick(&known[recent..]) } else { source.pick(&known) }
}

/// The greater of two, the earlier of equals, and where it was.
fn search_step(
    b: &mut Builder,
    variable: Value,
    candidate: Value,
    best: Value,
    at: Value,
) -> [Value; 2] {
    use crate::ir::ComparePredicate::{Eq, FEq, FGt, Sgt, Slt};
    let float = b.ty(candidate).scalar.is_float();
    let here = b.convert(Convert::Truncate, variable, Scalar::I32);
    let greater = b.compare(if float { FGt } else { Sgt }, candidate, best);
    let equal = b.compare(if float { FEq } else { Eq }, candidate, best);
    let earlier = b.compare(Slt, here, at);
    let tie = b.binary(BinaryOp::And, equal, earlier);
    let moves = b.binary(BinaryOp::Or, greater, tie);
    [b.select(greater, candidate, best), b.select(moves, here, at)]
}
