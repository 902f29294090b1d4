//! Products that read their operands out of larger arrays, or write their result into one: fusions of a
//! `dot` with slices and an update, and reshapes between, for which the runtime is told where the parts lie, and
//! how many columns are shown.

use rxla_base::Result;
use rxla_hlo::op::{self, FusionKind};
use rxla_hlo::{ArrayShape, ElementType, InstructionId, Module, Op};
use rxla_kernel::{BinaryOp, Builder, ComparePredicate, Convert, Scalar, Type, Value};
use rxla_runtime::dot::{KEPT, SHOWN};

use super::Driver;
use super::runtime::{Call, strided_product, strides};
use crate::fuse::masked;
use crate::plan::{Compute, arrays};

/// A part of an operand of the fusion.
struct Part<'m> {
    /// The operand.
    operand: usize,
    whole: &'m ArrayShape,
    /// Where the part begins in each dimension of the operand.
    starts: Vec<Start>,
    /// What the product sees of it, and how far its elements lie apart.
    seen: &'m ArrayShape,
    strides: Vec<isize>,
}

/// Where a part begins in a dimension.
#[derive(Clone, Copy)]
enum Start {
    At(i64),
    /// An operand of the fusion says so, where so many places are free.
    Operand {
        number: usize,
        room: i64,
    },
}

struct Product<'m> {
    dot: &'m op::Dot,
    sides: [Part<'m>; 2],
    /// Where the result goes; if nowhere, it is the fusion's.
    result: &'m ArrayShape,
    update: Option<Part<'m>>,
    /// The operand that says how many columns are shown, and how many more there are; others are zero.
    seen: Option<(usize, i64)>,
}

/// Whether an instruction is such a fusion.
pub(crate) fn is_product(module: &Module, id: InstructionId) -> bool {
    read(module, id).is_some()
}

/// Whether the result may lie where an operand lies: that which it is an update of.
pub(super) fn in_place(module: &Module, id: InstructionId, operand: usize) -> bool {
    let update = read(module, id).and_then(|product| product.update);
    update.is_some_and(|update| update.operand == operand)
}

fn read(module: &Module, id: InstructionId) -> Option<Product<'_>> {
    let Op::Fusion(fusion) = &module[id].op else { return None };
    if fusion.kind != FusionKind::Output {
        return None;
    }
    let number = |id: InstructionId| match &module[id].op {
        Op::Parameter(parameter) => usize::try_from(parameter.number).ok(),
        _ => None,
    };
    let shape = |id: InstructionId| module[id].shape.as_array().filter(|shape| shape.is_static());
    let root = module[fusion.calls].root();
    let operands = |id: InstructionId| module[id].operands();
    let (dot, update) = match &module[root].op {
        Op::DynamicUpdateSlice(_) => {
            let [whole, part, starts @ ..] = operands(root) else { return None };
            let dot = behind_reshapes(module, *part);
            let (whole, operand) = (shape(*whole)?, number(*whole)?);
            let (seen, sizes) = (shape(dot)?, &shape(*part)?.dims);
            let starts = dynamic_starts(module, whole, sizes, starts)?;
            let strides = part_strides(module, root, dot)?;
            (dot, Some(Part { operand, whole, starts, seen, strides }))
        }
        _ => (root, None),
    };
    let (dot, seen) = match masked::shown(module, dot) {
        Some((dot, before, more)) => (dot, Some((number(before)?, more))),
        None => (dot, None),
    };
    let Op::Dot(op) = &module[dot].op else { return None };
    let side = |index: usize| {
        let id = operands(dot)[index];
        let seen = shape(id)?;
        if let Some(operand) = number(id) {
            let strides = strides(seen);
            return Some(Part { operand, whole: seen, starts: Vec::new(), seen, strides });
        }
        let slice = behind_reshapes(module, id);
        let (&whole, starts) = operands(slice).split_first()?;
        let (whole, operand) = (shape(whole)?, number(whole)?);
        let starts = match &module[slice].op {
            Op::DynamicSlice(_) => dynamic_starts(module, whole, &shape(slice)?.dims, starts)?,
            Op::Slice(op) => op.slice.iter().map(|slice| Start::At(slice.start)).collect(),
            _ => return None,
        };
        Some(Part { operand, whole, starts, seen, strides: part_strides(module, slice, id)? })
    };
    let (sides, result) = ([side(0)?, side(1)?], shape(dot)?);
    let product = Product { dot: op, sides, result, update, seen };
    description(&product).is_some().then_some(product)
}

/// Where parts of such sizes begin, of which parameters of a fused computation tell.
fn dynamic_starts(
    module: &Module,
    whole: &ArrayShape,
    sizes: &[i64],
    starts: &[InstructionId],
) -> Option<Vec<Start>> {
    let start = |(dimension, &id): (usize, &InstructionId)| match &module[id].op {
        Op::Parameter(parameter) => {
            let number = usize::try_from(parameter.number).ok()?;
            Some(Start::Operand { number, room: whole.dims[dimension] - sizes[dimension] })
        }
        _ => None,
    };
    starts.iter().enumerate().map(start).collect()
}

fn behind_reshapes(module: &Module, mut id: InstructionId) -> InstructionId {
    while let Op::Reshape(_) = module[id].op {
        id = module[id].operands()[0];
    }
    id
}

/// Whether the elements of what a slice is reshaped to, or the part of an update from, lie evenly in the array,
/// dimension by dimension.
pub(crate) fn lies_evenly(module: &Module, part: InstructionId, seen: InstructionId) -> bool {
    part_strides(module, part, seen).is_some()
}

fn part_strides(module: &Module, part: InstructionId, seen: InstructionId) -> Option<Vec<isize>> {
    let shape = |id: InstructionId| module[id].shape.as_array().filter(|shape| shape.is_static());
    let operands = module[part].operands();
    let mut strides = strides(shape(*operands.first()?)?);
    let sizes = match &module[part].op {
        Op::DynamicSlice(_) => shape(part)?,
        Op::DynamicUpdateSlice(_) => shape(operands[1])?,
        Op::Slice(op) => {
            for (stride, slice) in strides.iter_mut().zip(&op.slice) {
                *stride *= isize::try_from(slice.stride).ok()?;
            }
            shape(part)?
        }
        _ => return None,
    };
    reshaped(&sizes.dims, &strides, &shape(seen)?.dims)
}

/// How far the elements of an array lie apart that is another shape of one with these sizes and strides; `None` if
/// not evenly.
fn reshaped(sizes: &[i64], strides: &[isize], to: &[i64]) -> Option<Vec<isize>> {
    let mut from = sizes.iter().zip(strides).rev().filter(|&(&size, _)| size != 1).peekable();
    let mut result = vec![1; to.len()];
    // How many elements of the dimension at hand are left to be given to others, and their stride.
    let (mut left, mut stride) = (1, 1);
    for (&size, own) in to.iter().zip(&mut result).rev().filter(|&(&size, _)| size != 1) {
        if left == 1 {
            let (&size, &next) = from.next()?;
            (left, stride) = (size, next);
        }
        // Dimensions that lie as one.
        while left.checked_rem(size)? != 0 {
            let (&more, _) = from.next_if(|&(_, &next)| next == stride * left as isize)?;
            left *= more;
        }
        *own = stride;
        left /= size;
        stride *= size as isize;
    }
    (left == 1 && from.next().is_none()).then_some(result)
}

fn description(product: &Product<'_>) -> Option<Vec<i64>> {
    let Product { dot, sides: [left, right], result, update, .. } = product;
    let out = update.as_ref().map_or_else(|| strides(result), |update| update.strides.clone());
    let strides = [left.strides.clone(), right.strides.clone(), out];
    strided_product(dot, left.seen, right.seen, result, strides)?.encode().ok()
}

impl Driver<'_> {
    /// Calls the runtime if the instruction is such a fusion; says whether it is.
    pub(super) fn product(&mut self, b: &mut Builder, compute: &Compute) -> Result<bool> {
        let module = self.module;
        let Some(product) = read(module, compute.instruction) else { return Ok(false) };
        let Some(mut description) = description(&product) else { return Ok(false) };
        let operands = arrays(&compute.operands);
        // What is sliced elsewhere each time is another part each time.
        let moves = |start: &Start| matches!(start, Start::Operand { .. });
        let whole =
            |side: &Part<'_>| (!side.starts.iter().any(moves)).then(|| operands[side.operand]);
        description[KEPT] = self.keep(product.sides.each_ref().map(whole));
        let mut arguments = vec![self.context];
        for side in &product.sides {
            let base = self.spill(b, operands[side.operand]);
            arguments.push(self.part_address(b, base, side, compute));
        }
        let (addresses, loads) = self.result_addresses(b, compute);
        let mut result = addresses[0];
        if let Some(update) = &product.update {
            let value = operands[update.operand];
            let from = self.buffers.place(value);
            if from != self.buffers.place(arrays(&compute.results)[0]) {
                let from = self.spill(b, value);
                self.copy(b, result, from, update.whole.byte_size().unwrap_or(0) as u64);
            }
            result = self.part_address(b, result, update, compute);
        }
        arguments.push(result);
        let offset = self.pool.words(&description);
        let offset = b.index(offset as i64);
        let mut code = b.offset(self.constants, offset);
        if let Some(columns) = self.seen_columns(b, &product, compute) {
            // The same description, but for how many columns are shown.
            let bytes = 8 * description.len() as u64;
            let own = b.alloca(bytes, 8);
            let count = b.index(bytes as i64);
            b.call_runtime("memcpy", vec![own, code, count], Some(Type::PTR));
            let at = b.index(SHOWN as i64);
            b.store(own, at, columns);
            code = own;
        }
        arguments.push(code);
        self.call(b, &Call { name: "rxla_dot", description }, arguments);
        self.load_results(b, loads);
        Ok(true)
    }

    /// How many columns are shown, if a mask hides some.
    fn seen_columns(
        &mut self,
        b: &mut Builder,
        product: &Product<'_>,
        compute: &Compute,
    ) -> Option<Value> {
        let (operand, more) = product.seen?;
        let value = *arrays(&compute.operands).get(operand)?;
        let rxla_emit::Element::One(before) = self.register(b, value) else { return None };
        let before = match self.shape(value).element_type {
            ElementType::S64 => before,
            _ => b.convert(Convert::SignExtend, before, Scalar::I64),
        };
        let (zero, more) = (b.index(0), b.index(more));
        let all = b.index(*product.result.dims.last()?);
        let columns = b.binary(BinaryOp::Add, before, more);
        let columns = b.binary(BinaryOp::SMax, columns, zero);
        let columns = b.binary(BinaryOp::SMin, columns, all);
        // The mask's own numbers might wrap.
        let limit = b.index(masked::LARGEST);
        let distance = b.binary(BinaryOp::Add, before, limit);
        let twice = b.index(2 * masked::LARGEST);
        let tame = b.compare(ComparePredicate::Ult, distance, twice);
        Some(b.select(tame, columns, all))
    }

    /// Where a part begins. One that would reach out of the array is moved into it.
    fn part_address(
        &mut self,
        b: &mut Builder,
        base: Value,
        part: &Part<'_>,
        compute: &Compute,
    ) -> Value {
        let operands = arrays(&compute.operands);
        let mut address = base;
        let width = part.whole.element_type.byte_width() as i64;
        for (&start, stride) in part.starts.iter().zip(strides(part.whole)) {
            let step = stride as i64 * width;
            let (start, room) = match start {
                Start::At(start) => {
                    let bytes = b.index(start * step);
                    address = b.offset(address, bytes);
                    continue;
                }
                Start::Operand { room: 0, .. } => continue,
                Start::Operand { number, room } => (number, room),
            };
            let value = operands[start];
            let signed = self.shape(value).element_type.is_signed();
            let rxla_emit::Element::One(start) = self.register(b, value) else { continue };
            let extend = if signed { Convert::SignExtend } else { Convert::ZeroExtend };
            let start = b.convert(extend, start, Scalar::I64);
            let (zero, room) = (b.index(0), b.index(room));
            let (least, most) = match signed {
                true => (BinaryOp::SMax, BinaryOp::SMin),
                false => (BinaryOp::UMax, BinaryOp::UMin),
            };
            let start = b.binary(least, start, zero);
            let start = b.binary(most, start, room);
            let step = b.index(step);
            let bytes = b.mul(start, step);
            address = b.offset(address, bytes);
        }
        debug_assert_eq!(b.ty(address), Type::PTR);
        address
    }
}
