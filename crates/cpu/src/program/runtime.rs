//! Instructions that kernels of the runtime compute: calls of them, with their descriptions among
//! the constants.

use rxla_base::{Error, Result};
use rxla_hlo::op::{self, FftType, TransposeKind, WindowDimension};
use rxla_hlo::{ArrayShape, ElementType, InstructionId, Module, Op};
use rxla_kernel::{Builder, Type, Value};
use rxla_runtime::convolution::{Convolution, Method, Spatial};
use rxla_runtime::dot::{BatchDim, Dim, Dot, KEPT};
use rxla_runtime::element::Element;
use rxla_runtime::fourier::{Kind, Precision, Transform};
use rxla_runtime::linear::{Cholesky, Diagonal, Form, Side, Triangle, TriangularSolve};
use rxla_runtime::sort::{Direction, TopK};

use super::{Callees, Driver};
use crate::plan::{Compute, Leaf, ValueId};

/// A call of the runtime: `name(context, operands…, results…, description)`.
pub(super) struct Call {
    pub(super) name: &'static str,
    pub(super) description: Vec<i64>,
}

impl Driver<'_> {
    /// Calls the runtime if it has a kernel; says whether it did.
    pub(super) fn runtime(&mut self, b: &mut Builder, compute: &Compute) -> Result<bool> {
        let Some(mut call) = call(self.module, compute) else { return Ok(false) };
        let mut arguments = vec![self.context];
        let operands = crate::plan::arrays(&compute.operands);
        if let ("rxla_dot", &[left, right]) = (call.name, &operands[..]) {
            call.description[KEPT] = self.keep([Some(left), Some(right)]);
        }
        for &value in &operands {
            arguments.push(self.spill(b, value));
        }
        let (addresses, loads) = self.result_addresses(b, compute);
        arguments.extend(addresses);
        let offset = self.pool.words(&call.description);
        let offset = b.index(offset as i64);
        arguments.push(b.offset(self.constants, offset));
        self.call(b, &call, arguments);
        self.load_results(b, loads);
        Ok(true)
    }

    pub(super) fn call(&mut self, b: &mut Builder, call: &Call, arguments: Vec<Value>) {
        let name = match self.callees {
            Callees::General => call.name.to_owned(),
            Callees::Typed => typed(call),
        };
        self.check(b, &name, arguments);
    }

    /// Calls a kernel and leaves the driver if it fails. What runs on several threads notes it instead.
    pub(super) fn check(&mut self, b: &mut Builder, name: &str, arguments: Vec<Value>) {
        let status = b.call_runtime(name, arguments, Some(Type::I32)).expect("a status");
        let status = b.convert(rxla_kernel::Convert::SignExtend, status, rxla_kernel::Scalar::I64);
        match &self.shared {
            None => b.return_if_nonzero(status),
            Some(shared) => shared.note(b, status),
        }
    }

    /// Where the results go, and which of them are then to be fetched into registers.
    pub(super) fn result_addresses(
        &mut self,
        b: &mut Builder,
        compute: &Compute,
    ) -> (Vec<Value>, Vec<(ValueId, Value)>) {
        let mut loads = Vec::new();
        let mut addresses = Vec::new();
        for &value in &crate::plan::arrays(&compute.results) {
            addresses.push(match self.buffers.place(value) {
                crate::buffers::Place::Register => {
                    let slot = self.slots.next(b);
                    loads.push((value, slot));
                    slot
                }
                place => self.address(b, place),
            });
        }
        (addresses, loads)
    }

    pub(super) fn load_results(&mut self, b: &mut Builder, loads: Vec<(ValueId, Value)>) {
        for (value, slot) in loads {
            let element = super::memory::load(b, self.shape(value).element_type, slot);
            self.registers.insert(value, element);
        }
    }
}

/// Whether the runtime has a kernel for what is computed.
pub(super) fn has_kernel(module: &Module, compute: &Compute) -> bool {
    call(module, compute).is_some()
}

/// The kernel for the type of all operands and the result, if they have one and it has a kernel.
fn typed(call: &Call) -> String {
    // Descriptions of products begin with the types.
    let types = call.description.get(..3).unwrap_or_default();
    let all = |element: Element| types.iter().all(|&number| number == element as i64);
    let known: &[(Element, &str)] = match call.name {
        "rxla_dot" => &[
            (Element::BF16, "bf16"),
            (Element::F16, "f16"),
            (Element::F32, "f32"),
            (Element::F64, "f64"),
            (Element::I32, "i32"),
        ],
        "rxla_convolution" => &[(Element::F32, "f32"), (Element::F64, "f64")],
        _ => &[],
    };
    match known.iter().find(|&&(element, _)| all(element)) {
        Some((_, suffix)) => format!("{}.{suffix}", call.name),
        None => call.name.to_owned(),
    }
}

/// Whether a kernel of the runtime may write a result where an operand lies.
pub(crate) fn in_place(module: &Module, id: InstructionId, operand: usize, result: usize) -> bool {
    match &module[id].op {
        Op::Fusion(_) => super::product::in_place(module, id, operand),
        Op::Cholesky(_) => (operand, result) == (0, 0),
        Op::TriangularSolve(_) => (operand, result) == (1, 0),
        Op::Sort(_) => operand == result && super::sort::sorts(module, id),
        Op::CustomCall(op) => {
            let solves = (operand, result) == (1, 0);
            solves
                && super::lapack::call(module, id, op)
                    .is_some_and(|(name, code)| name == TRIANGULAR_SOLVE && code.is_ok())
        }
        _ => false,
    }
}

pub(super) const TRIANGULAR_SOLVE: &str = "rxla_triangular_solve";

fn call(module: &Module, compute: &Compute) -> Option<Call> {
    let id = compute.instruction;
    if compute.operands.contains(&Leaf::Token) {
        return None;
    }
    let shape = |index: usize| module.operand_shape(id, index).as_array();
    let result = || module[id].shape.as_array();
    let (name, description) = match &module[id].op {
        Op::Dot(dot) => ("rxla_dot", product(dot, shape(0)?, shape(1)?, result()?)?.encode()),
        Op::Convolution(op) => {
            let convolution = convolution(op, shape(0)?, shape(1)?, result()?)?;
            ("rxla_convolution", convolution.encode())
        }
        Op::Fft(op) => ("rxla_fft", transform(op, shape(0)?, result()?)?.encode()),
        Op::Cholesky(op) => ("rxla_cholesky", cholesky(op, shape(0)?)?.encode()),
        Op::TriangularSolve(op) => {
            (TRIANGULAR_SOLVE, triangular_solve(op, shape(0)?, shape(1)?)?.encode())
        }
        Op::TopK(op) => ("rxla_topk", top_k(op, shape(0)?)?.encode()),
        Op::CustomCall(op) => super::lapack::call(module, id, op)?,
        _ => return None,
    };
    // What the runtime has no kernel for is left to the interpreter.
    let description: Result<Vec<i64>, Error> = description;
    Some(Call { name, description: description.ok()? })
}

pub(super) fn element(element_type: ElementType) -> Option<Element> {
    use ElementType::*;
    Some(match element_type {
        S1 | S2 | S4 | S8 => Element::I8,
        S16 => Element::I16,
        S32 => Element::I32,
        S64 => Element::I64,
        Pred | U1 | U2 | U4 | U8 => Element::U8,
        U16 => Element::U16,
        U32 => Element::U32,
        U64 => Element::U64,
        F16 => Element::F16,
        Bf16 => Element::BF16,
        F32 => Element::F32,
        F64 => Element::F64,
        C64 => Element::C64,
        C128 => Element::C128,
        F8e5m2 | F8e4m3 | F8e4m3fn | F8e4m3b11fnuz | F8e3m4 | F8e5m2fnuz | F8e4m3fnuz
        | F8e8m0fnu | F6e3m2fn | F6e2m3fn | F4e2m1fn => return None,
    })
}

/// The type of a number in a product: truth values and integers below a byte wrap elsewhere.
pub(crate) fn number(element_type: ElementType) -> Option<Element> {
    let fills_bytes = element_type.bit_width() == 8 * element_type.byte_width();
    if fills_bytes { element(element_type) } else { None }
}

pub(super) fn strides(shape: &ArrayShape) -> Vec<isize> {
    let mut strides = vec![1isize; shape.rank()];
    for dimension in (1..shape.rank()).rev() {
        strides[dimension - 1] = strides[dimension] * shape.dims[dimension] as isize;
    }
    strides
}

fn product(
    op: &op::Dot,
    left: &ArrayShape,
    right: &ArrayShape,
    result: &ArrayShape,
) -> Option<Dot> {
    let own = [strides(left), strides(right), strides(result)];
    strided_product(op, left, right, result, own)
}

/// A product of arrays whose elements lie so far apart.
pub(super) fn strided_product(
    op: &op::Dot,
    left: &ArrayShape,
    right: &ArrayShape,
    result: &ArrayShape,
    [l, r, out]: [Vec<isize>; 3],
) -> Option<Dot> {
    let mut next = out.into_iter();
    let mut batch = Vec::new();
    for (&a, &b) in op.lhs_batch_dims.iter().zip(&op.rhs_batch_dims) {
        let size = left.dims[a as usize] as usize;
        let strides = [l[a as usize], r[b as usize], next.next()?];
        batch.push(BatchDim { size, strides });
    }
    let mut free = |shape: &ArrayShape, own: &[isize], taken: [&[i64]; 2]| -> Option<Vec<Dim>> {
        let mut dims = Vec::new();
        for dimension in 0..shape.rank() {
            if !taken.iter().any(|list| list.contains(&(dimension as i64))) {
                let size = shape.dims[dimension] as usize;
                dims.push(Dim { size, strides: [own[dimension], next.next()?] });
            }
        }
        Some(dims)
    };
    let rows = free(left, &l, [&op.lhs_batch_dims, &op.lhs_contracting_dims])?;
    let columns = free(right, &r, [&op.rhs_batch_dims, &op.rhs_contracting_dims])?;
    let summed = op
        .lhs_contracting_dims
        .iter()
        .zip(&op.rhs_contracting_dims)
        .map(|(&a, &b)| Dim {
            size: left.dims[a as usize] as usize,
            strides: [l[a as usize], r[b as usize]],
        })
        .collect();
    Some(Dot {
        left: number(left.element_type)?,
        right: number(right.element_type)?,
        result: number(result.element_type)?,
        rounded: op.algorithm == Some(op::DotAlgorithm::Bf16Bf16F32),
        batch,
        rows,
        columns,
        summed,
    })
}

fn convolution(
    op: &op::Convolution,
    left: &ArrayShape,
    right: &ArrayShape,
    result: &ArrayShape,
) -> Option<Convolution> {
    let labels = &op.dim_labels;
    let (l, r, out) = (strides(left), strides(right), strides(result));
    let at = |list: &[isize], dimension: i64| list[dimension as usize];
    let size = |shape: &ArrayShape, dimension: i64| shape.dims[dimension as usize] as usize;
    let direct = op.operand_precision.iter().any(|precision| *precision != op::Precision::Default);
    let method = if direct { Method::Direct } else { Method::Fastest };
    let mut spatial = Vec::new();
    let mut right_start = 0;
    for number in 0..labels.input_spatial.len() {
        let window = op.window.dimensions.get(number).copied().unwrap_or(WindowDimension::new(1));
        let kernel = size(right, labels.kernel_spatial[number]);
        let mut right_stride = at(&r, labels.kernel_spatial[number]);
        if window.window_reversal {
            right_start += (kernel.max(1) - 1) as isize * right_stride;
            right_stride = -right_stride;
        }
        spatial.push(Spatial {
            input: size(left, labels.input_spatial[number]),
            kernel,
            output: size(result, labels.output_spatial[number]),
            stride: usize::try_from(window.stride).ok()?,
            pad_low: window.padding_low as isize,
            left_dilation: usize::try_from(window.base_dilation).ok()?,
            right_dilation: usize::try_from(window.window_dilation).ok()?,
            left_stride: at(&l, labels.input_spatial[number]),
            right_stride,
            result_stride: at(&out, labels.output_spatial[number]),
        });
    }
    Some(Convolution {
        left: number(left.element_type)?,
        right: number(right.element_type)?,
        result: number(result.element_type)?,
        images: size(left, labels.input_batch),
        image_strides: [at(&l, labels.input_batch), at(&out, labels.output_batch)],
        features: size(left, labels.input_feature),
        left_feature_stride: at(&l, labels.input_feature),
        right_feature_stride: at(&r, labels.kernel_input_feature),
        outputs: size(right, labels.kernel_output_feature),
        output_strides: [at(&r, labels.kernel_output_feature), at(&out, labels.output_feature)],
        feature_groups: usize::try_from(op.feature_group_count.0).ok()?,
        batch_groups: usize::try_from(op.batch_group_count.0).ok()?,
        right_start,
        spatial,
        method,
    })
}

fn transform(op: &op::Fft, operand: &ArrayShape, result: &ArrayShape) -> Option<Transform> {
    let kind = match op.fft_type {
        FftType::Fft => Kind::Forward,
        FftType::Ifft => Kind::Inverse,
        FftType::Rfft => Kind::RealForward,
        FftType::Irfft => Kind::RealInverse,
    };
    let precision = match result.element_type.real_part() {
        ElementType::F32 => Precision::F32,
        ElementType::F64 => Precision::F64,
        _ => return None,
    };
    let outer = operand.rank().checked_sub(op.fft_length.len())?;
    Some(Transform {
        kind,
        precision,
        batch: operand.dims[..outer].iter().product::<i64>() as usize,
        lengths: op.fft_length.iter().map(|&length| length as usize).collect(),
    })
}

/// The number of matrices in an array and the sizes of each.
pub(super) fn matrices(shape: &ArrayShape) -> Option<(usize, usize, usize)> {
    let outer = shape.rank().checked_sub(2)?;
    let batch = shape.dims[..outer].iter().product::<i64>() as usize;
    Some((batch, shape.dims[outer] as usize, shape.dims[outer + 1] as usize))
}

fn triangle(lower: bool) -> Triangle {
    if lower { Triangle::Lower } else { Triangle::Upper }
}

fn cholesky(op: &op::Cholesky, operand: &ArrayShape) -> Option<Cholesky> {
    let (batch, size, _) = matrices(operand)?;
    let element = number(operand.element_type)?;
    Some(Cholesky { element, batch, size, triangle: triangle(op.lower) })
}

fn triangular_solve(
    op: &op::TriangularSolve,
    coefficients: &ArrayShape,
    known: &ArrayShape,
) -> Option<TriangularSolve> {
    let (batch, size, _) = matrices(coefficients)?;
    let (_, rows, columns) = matrices(known)?;
    Some(TriangularSolve {
        element: number(coefficients.element_type)?,
        batch,
        size,
        lines: if op.left_side { columns } else { rows },
        side: if op.left_side { Side::Left } else { Side::Right },
        triangle: triangle(op.lower),
        form: match op.transpose_a {
            TransposeKind::NoTranspose => Form::Plain,
            TransposeKind::Transpose => Form::Transpose,
            TransposeKind::Adjoint => Form::Adjoint,
        },
        diagonal: if op.unit_diagonal { Diagonal::Unit } else { Diagonal::Stored },
    })
}

fn top_k(op: &op::TopK, operand: &ArrayShape) -> Option<TopK> {
    let (&length, outer) = operand.dims.split_last()?;
    Some(TopK {
        element: element(operand.element_type).filter(|element| !element.is_complex())?,
        lines: outer.iter().product::<i64>() as usize,
        length: length as usize,
        count: usize::try_from(op.k).ok()?,
        which: if op.largest.0 { Direction::Descending } else { Direction::Ascending },
    })
}
