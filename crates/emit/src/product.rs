//! Products of small matrices, in blocks: a few rows at a time are kept in registers along the whole
//! sum, so that what is fetched of the right operand serves all of them.
//!
//! Two forms are known. Where the right operand lies along its columns, lanes are columns; where both
//! operands lie along what is summed, lanes are pieces of the sum. The sum runs from the first product
//! to the last in the one, in as many strands as a vector has lanes in the other. Of a matrix with a few columns
//! elements may also lie a few apart, and operands may stand in each other's place.
//!
//! Large products belong to a kernel of the runtime, which packs and shares among threads.

use rxla_base::{Error, Result};
use rxla_hlo::{ArrayShape, ElementType, InstructionId, Module, Op};
use rxla_kernel::{Builder, LoopKind, Scalar, Value};

use crate::{Destination, Element, Part, Source};

/// Products of numbers for one product of matrices, at least and at most: fewer are written out,
/// more are worth the runtime's packing.
const LEAST: i64 = 48;
const MOST: i64 = 1 << 17;
/// Sizes from which on lanes are filled.
const FILLS_LANES: i64 = 8;
/// Sums under way at once, enough to hide how long an addition takes.
const STRANDS: usize = 4;
/// Products of one strand or several that one round of a loop adds.
const ROUND: i64 = 4;
/// Columns of a block whose lanes run along the sum.
const COLUMNS: i64 = 4;
/// Elements that are no further apart are picked from whole vectors.
const FEW: i64 = 4;

/// A dimension, with how far a step along it goes in two of the arrays.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Dim {
    size: i64,
    strides: [i64; 2],
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Lanes {
    Columns,
    Sum,
}

/// Products of matrices, one for each index of a batch.
#[derive(Clone, Debug)]
pub(crate) struct Product {
    scalar: Scalar,
    lanes: Lanes,
    /// Sizes, and steps in the left and right operand and the result.
    batch: Vec<(i64, [i64; 3])>,
    /// Of the left operand and the result.
    rows: Dim,
    /// Of the right operand and the result.
    columns: Dim,
    /// Of the left and the right operand.
    sum: Dim,
    /// Whether left and right stand for the right and the left operand.
    swapped: bool,
}

/// The product that an instruction is, if it has one of the forms.
pub(crate) fn of(module: &Module, id: InstructionId) -> Option<Product> {
    let Op::Dot(op) = &module[id].op else { return None };
    let left = module.operand_shape(id, 0).as_array()?;
    let right = module.operand_shape(id, 1).as_array()?;
    let result = module[id].shape.as_array()?;
    let scalar = match result.element_type {
        ElementType::F32 => Scalar::F32,
        ElementType::F64 => Scalar::F64,
        _ => return None,
    };
    // A single element may be in a register, and what it multiplies is no product of matrices.
    let fits = |shape: &&ArrayShape| {
        shape.element_type == result.element_type && shape.element_count() != Some(1)
    };
    if ![left, right].iter().all(fits) {
        return None;
    }
    let (l, r, o) = (strides(left), strides(right), strides(result));
    let mut out = result.dims.iter().copied().zip(o);
    let mut batch = Vec::new();
    for (&a, &b) in op.lhs_batch_dims.iter().zip(&op.rhs_batch_dims) {
        let (size, step) = out.next()?;
        batch.push((size, [l[a as usize], r[b as usize], step]));
    }
    let mut free = |shape: &ArrayShape, own: &[i64], taken: [&[i64]; 2]| {
        let mut dims = Vec::new();
        for (dimension, &stride) in own.iter().enumerate() {
            if !taken.iter().any(|list| list.contains(&(dimension as i64))) {
                let size = shape.dims[dimension];
                dims.push(Dim { size, strides: [stride, out.next()?.1] });
            }
        }
        one(dims)
    };
    let rows = free(left, &l, [&op.lhs_batch_dims, &op.lhs_contracting_dims])?;
    let columns = free(right, &r, [&op.rhs_batch_dims, &op.rhs_contracting_dims])?;
    let summed = op.lhs_contracting_dims.iter().zip(&op.rhs_contracting_dims);
    let summed = summed.map(|(&a, &b)| Dim {
        size: left.dims[a as usize],
        strides: [l[a as usize], r[b as usize]],
    });
    let sum = one(summed.collect())?;
    let plain =
        Product { scalar, lanes: Lanes::Columns, batch, rows, columns, sum, swapped: false };
    let count = rows.size.checked_mul(columns.size)?.checked_mul(sum.size)?;
    if !(LEAST..=MOST).contains(&count) {
        return None;
    }
    let turned = plain.clone().turned();
    // A matrix times a vector is a vector times the matrix turned.
    let ways = if columns.size == 1 { [turned, plain] } else { [plain, turned] };
    let forms: [fn(&Product) -> Option<Lanes>; 2] = [Product::together, Product::apart];
    forms.iter().find_map(|form| {
        ways.iter().find_map(|way| Some(Product { lanes: form(way)?, ..way.clone() }))
    })
}

impl Product {
    /// The operands in each other's place, and the result the other way round.
    fn turned(mut self) -> Product {
        self.swapped = !self.swapped;
        std::mem::swap(&mut self.rows, &mut self.columns);
        self.sum.strides.reverse();
        self.batch.iter_mut().for_each(|(_, strides)| strides.swap(0, 1));
        self
    }

    /// What lanes may be where the elements of vectors lie together.
    fn together(&self) -> Option<Lanes> {
        let Product { columns, sum, .. } = self;
        if columns.strides == [1, 1] && columns.size >= FILLS_LANES {
            Some(Lanes::Columns)
        } else if sum.strides == [1, 1] && sum.size >= FILLS_LANES {
            Some(Lanes::Sum)
        } else {
            None
        }
    }

    /// The same where one of the matrices has a few columns: elements lie a few apart in it.
    fn apart(&self) -> Option<Lanes> {
        let Product { rows, columns, sum, .. } = self;
        let few = 2..=FEW;
        let fills = few.contains(&rows.size) && rows.strides[1] == 1;
        if columns.strides == [1, rows.size] && fills && columns.size >= FILLS_LANES {
            return Some(Lanes::Columns);
        }
        let near =
            sum.strides.contains(&1) && sum.strides.iter().all(|step| (1..=FEW).contains(step));
        (near && sum.size >= FILLS_LANES).then_some(Lanes::Sum)
    }
}

/// How many units of work there are: the outermost dimension of the batch.
pub(crate) fn extent(product: &Product) -> i64 {
    product.batch.first().map_or(1, |first| first.0)
}

fn strides(shape: &ArrayShape) -> Vec<i64> {
    let mut strides = vec![1; shape.rank()];
    for dimension in (1..shape.rank()).rev() {
        strides[dimension - 1] = strides[dimension] * shape.dims[dimension];
    }
    strides
}

/// Dimensions as one, if they can be passed through in even steps.
fn one(dims: Vec<Dim>) -> Option<Dim> {
    let mut dims = dims.into_iter().filter(|dim| dim.size != 1).rev();
    let Some(mut all) = dims.next() else { return Some(Dim { size: 1, strides: [1, 1] }) };
    for outer in dims {
        if outer.strides != all.strides.map(|stride| stride * all.size) {
            return None;
        }
        all.size *= outer.size;
    }
    Some(all)
}

/// Writes the product.
pub(crate) fn emit(
    builder: &mut Builder,
    product: &Product,
    operands: &[Source],
    destination: Destination,
    part: Part,
) -> Result<Option<Element>> {
    let [Source::Memory(left), Source::Memory(right)] = *operands else {
        return Err(Error::internal("a product of numbers in registers"));
    };
    let (left, right) = if product.swapped { (right, left) } else { (left, right) };
    let one = product.rows.size == 1 && product.columns.size == 1;
    match destination {
        Destination::Memory(result) => {
            let mut batch = product.batch.clone();
            if batch.is_empty() {
                batch.push((1, [0; 3]));
            }
            let zero = builder.index(0);
            Writer { b: builder, product, bases: [left, right, result] }.batch(
                &batch,
                [zero; 3],
                Some(part),
            );
            Ok(None)
        }
        Destination::Register if one && product.batch.iter().all(|dim| dim.0 == 1) => {
            let zero = builder.index(0);
            let mut writer = Writer { b: builder, product, bases: [left, right, left] };
            let sums = writer.along_sum([zero; 3], (zero, 1), (zero, 1));
            Ok(Some(Element::One(sums[0])))
        }
        Destination::Register => Err(Error::internal("a matrix in a register")),
    }
}

struct Writer<'a> {
    b: &'a mut Builder,
    product: &'a Product,
    /// The left and right operand and the result.
    bases: [Value; 3],
}

impl Writer<'_> {
    fn batch(&mut self, dims: &[(i64, [i64; 3])], starts: [Value; 3], part: Option<Part>) {
        let Some((&(size, strides), inner)) = dims.split_first() else {
            return self.blocks(starts);
        };
        let (low, high) = match part {
            Some(Part::Range(begin, end)) => (begin, end),
            Some(Part::All | Part::Tile) | None => (self.b.index(0), self.b.index(size)),
        };
        self.each(low, high, 1, |writer, at| {
            let mut own = starts;
            for (start, stride) in own.iter_mut().zip(strides) {
                *start = writer.along(*start, at, stride);
            }
            writer.batch(inner, own, None);
        });
    }

    /// Block after block of rows, and what is left of them.
    fn blocks(&mut self, starts: [Value; 3]) {
        let rows = self.product.rows.size;
        let height = if rows <= 6 { rows } else { 4 };
        let whole = rows / height * height;
        let (zero, end) = (self.b.index(0), self.b.index(whole));
        self.each(zero, end, height, |writer, row| writer.block(starts, (row, height)));
        if rows > whole {
            self.block(starts, (end, rows - whole));
        }
    }

    fn block(&mut self, starts: [Value; 3], rows: (Value, i64)) {
        let size = self.product.columns.size;
        let zero = self.b.index(0);
        match self.product.lanes {
            Lanes::Columns => {
                let end = self.b.index(size);
                self.kind(LoopKind::Vector, (zero, end, 1), |writer, column| {
                    let sums = writer.along_columns(starts, rows, column);
                    writer.store(starts, rows, (column, 1), &sums);
                });
            }
            Lanes::Sum => {
                let width = COLUMNS.min(size);
                let whole = size / width * width;
                let end = self.b.index(whole);
                self.each(zero, end, width, |writer, column| {
                    let sums = writer.along_sum(starts, rows, (column, width));
                    writer.store(starts, rows, (column, width), &sums);
                });
                if size > whole {
                    let columns = (end, size - whole);
                    let sums = self.along_sum(starts, rows, columns);
                    self.store(starts, rows, columns, &sums);
                }
            }
        }
    }

    /// The sums of a column for a few rows.
    fn along_columns(
        &mut self,
        starts: [Value; 3],
        (row, height): (Value, i64),
        column: Value,
    ) -> Vec<Value> {
        let sum = self.product.sum;
        let height = height as usize;
        let strands = STRANDS.div_ceil(height).min(ROUND as usize);
        let start = self.number(0);
        let right = self.along(starts[1], column, 1);
        let lefts = self.rows_of_left(starts[0], row, height);
        let add = |writer: &mut Writer<'_>, sums: &mut [Value], at: Value, strand: usize| {
            let place = writer.along(right, at, sum.strides[1]);
            let y = writer.b.load(writer.product.scalar, writer.bases[1], place);
            for (number, &left) in lefts.iter().enumerate() {
                let place = writer.along(left, at, sum.strides[0]);
                let x = writer.b.load(writer.product.scalar, writer.bases[0], place);
                let own = &mut sums[strand * height + number];
                *own = writer.b.fma(x, y, *own);
            }
        };
        let whole = sum.size / ROUND * ROUND;
        let (zero, end) = (self.b.index(0), self.b.index(whole));
        let mut sums = vec![start; strands * height];
        if whole > 0 {
            sums = self.carried((zero, end, ROUND), &sums, |writer, at, sums| {
                for step in 0..ROUND {
                    let own = writer.plus(at, step);
                    add(writer, sums, own, step as usize % strands);
                }
            });
        }
        for rest in whole..sum.size {
            let at = self.b.index(rest);
            add(self, &mut sums, at, (rest - whole) as usize % strands);
        }
        while sums.len() > height {
            let half = (sums.len() / height).div_ceil(2) * height;
            for at in half..sums.len() {
                sums[at - half] = self.b.add(sums[at - half], sums[at]);
            }
            sums.truncate(half);
        }
        sums
    }

    /// The sums of a few columns for a few rows, row by row.
    fn along_sum(
        &mut self,
        starts: [Value; 3],
        (row, height): (Value, i64),
        (column, width): (Value, i64),
    ) -> Vec<Value> {
        let (columns, sum) = (self.product.columns, self.product.sum);
        let lefts = self.rows_of_left(starts[0], row, height as usize);
        let rights: Vec<Value> = (0..width)
            .map(|own| {
                let own = self.plus(column, own);
                self.along(starts[1], own, columns.strides[0])
            })
            .collect();
        let zero = self.number(0);
        let inits = vec![zero; lefts.len() * rights.len()];
        let (low, high) = (self.b.index(0), self.b.index(sum.size));
        self.b.for_loop(LoopKind::Vector, (low, high, 1), &inits, |b, at, sums| {
            let scalar = self.product.scalar;
            let load = |b: &mut Builder, side: usize, start: Value| {
                let at = match sum.strides[side] {
                    1 => at,
                    stride => {
                        let stride = b.index(stride);
                        b.mul(at, stride)
                    }
                };
                let place = b.add(start, at);
                b.load(scalar, self.bases[side], place)
            };
            let ys: Vec<Value> = rights.iter().map(|&right| load(b, 1, right)).collect();
            let mut next = Vec::new();
            for &left in &lefts {
                let x = load(b, 0, left);
                for &y in &ys {
                    let product = b.mul(x, y);
                    next.push(b.add(sums[next.len()], product));
                }
            }
            next
        })
    }

    fn rows_of_left(&mut self, start: Value, row: Value, height: usize) -> Vec<Value> {
        let stride = self.product.rows.strides[0];
        (0..height)
            .map(|own| {
                let own = self.plus(row, own as i64);
                self.along(start, own, stride)
            })
            .collect()
    }

    /// Stores the sums of rows and columns, row by row.
    fn store(
        &mut self,
        starts: [Value; 3],
        (row, height): (Value, i64),
        (column, width): (Value, i64),
        sums: &[Value],
    ) {
        let product = self.product;
        let mut sums = sums.iter();
        for own in 0..height {
            let own = self.plus(row, own);
            let line = self.along(starts[2], own, product.rows.strides[1]);
            for (own, &sum) in (0..width).zip(&mut sums) {
                let own = self.plus(column, own);
                let place = self.along(line, own, product.columns.strides[1]);
                self.b.store(self.bases[2], place, sum);
            }
        }
    }

    /// `start + at * stride`.
    fn along(&mut self, start: Value, at: Value, stride: i64) -> Value {
        let step = if stride == 1 {
            at
        } else {
            let stride = self.b.index(stride);
            self.b.mul(at, stride)
        };
        self.b.add(start, step)
    }

    fn plus(&mut self, value: Value, constant: i64) -> Value {
        if constant == 0 {
            return value;
        }
        let constant = self.b.index(constant);
        self.b.add(value, constant)
    }

    fn number(&mut self, bits: u64) -> Value {
        self.b.constant(self.product.scalar, bits)
    }

    fn each(
        &mut self,
        low: Value,
        high: Value,
        step: i64,
        body: impl FnOnce(&mut Writer<'_>, Value),
    ) {
        self.kind(LoopKind::Sequential, (low, high, step), body);
    }

    fn kind(
        &mut self,
        kind: LoopKind,
        bounds: (Value, Value, i64),
        body: impl FnOnce(&mut Writer<'_>, Value),
    ) {
        let (product, bases) = (self.product, self.bases);
        self.b.for_loop(kind, bounds, &[], |b, at, _| {
            body(&mut Writer { b, product, bases }, at);
            Vec::new()
        });
    }

    /// A loop that changes what it carries.
    fn carried(
        &mut self,
        bounds: (Value, Value, i64),
        init: &[Value],
        body: impl FnOnce(&mut Writer<'_>, Value, &mut [Value]),
    ) -> Vec<Value> {
        let (product, bases) = (self.product, self.bases);
        self.b.for_loop(LoopKind::Sequential, bounds, init, |b, at, carried| {
            let mut carried = carried.to_vec();
            body(&mut Writer { b, product, bases }, at, &mut carried);
            carried
        })
    }
}
