//! HLO element types, shapes and literals as MLIR types and attributes.

use std::sync::Arc;

use rxla_hlo::{ArrayLiteral, ArrayShape, ElementType, Shape};

use crate::mlir::{Attribute, DYNAMIC, DenseElements, Float, MemRefType, TensorType, Type};

pub(super) fn element_type(element_type: ElementType) -> Type {
    use crate::mlir::Signedness::Signed;
    let float = Type::Float;
    match element_type {
        ElementType::Pred => Type::I1,
        ElementType::S1 => Type::Integer { width: 1, signedness: Signed },
        ElementType::S2 => Type::signless(2),
        ElementType::S4 => Type::signless(4),
        ElementType::S8 => Type::I8,
        ElementType::S16 => Type::signless(16),
        ElementType::S32 => Type::I32,
        ElementType::S64 => Type::I64,
        ElementType::U1 => Type::unsigned(1),
        ElementType::U2 => Type::unsigned(2),
        ElementType::U4 => Type::unsigned(4),
        ElementType::U8 => Type::unsigned(8),
        ElementType::U16 => Type::unsigned(16),
        ElementType::U32 => Type::unsigned(32),
        ElementType::U64 => Type::unsigned(64),
        ElementType::F16 => float(Float::F16),
        ElementType::Bf16 => float(Float::BF16),
        ElementType::F32 => float(Float::F32),
        ElementType::F64 => float(Float::F64),
        ElementType::F8e5m2 => float(Float::F8E5M2),
        ElementType::F8e4m3 => float(Float::F8E4M3),
        ElementType::F8e4m3fn => float(Float::F8E4M3FN),
        ElementType::F8e4m3b11fnuz => float(Float::F8E4M3B11FNUZ),
        ElementType::F8e3m4 => float(Float::F8E3M4),
        ElementType::F8e5m2fnuz => float(Float::F8E5M2FNUZ),
        ElementType::F8e4m3fnuz => float(Float::F8E4M3FNUZ),
        ElementType::F8e8m0fnu => float(Float::F8E8M0FNU),
        ElementType::F6e3m2fn => float(Float::F6E3M2FN),
        ElementType::F6e2m3fn => float(Float::F6E2M3FN),
        ElementType::F4e2m1fn => float(Float::F4E2M1FN),
        ElementType::C64 => Type::complex(float(Float::F32)),
        ElementType::C128 => Type::complex(float(Float::F64)),
    }
}

/// The type of a value of this shape; `None` for what only custom calls know.
pub(super) fn ty(shape: &Shape) -> Option<Type> {
    Some(match shape {
        Shape::Array(array) => tensor(array),
        Shape::Tuple(parts) => Type::Tuple(parts.iter().map(ty).collect::<Option<_>>()?),
        Shape::Token => Type::Token,
        Shape::Buffer(array) => Type::MemRef(Arc::new(MemRefType {
            shape: array.dims.to_vec(),
            element: element_type(array.element_type),
            layout: None,
            memory_space: None,
        })),
        Shape::Opaque => return None,
    })
}

/// A dimension that is bounded is `?` with its bound in the encoding.
pub(super) fn tensor(array: &ArrayShape) -> Type {
    let mut bounds = vec![DYNAMIC; array.rank()];
    let mut shape = array.dims.to_vec();
    for dimension in 0..array.rank() {
        if array.is_dynamic_dimension(dimension) {
            bounds[dimension] = std::mem::replace(&mut shape[dimension], DYNAMIC);
        }
    }
    let bounded = bounds.iter().any(|&bound| bound != DYNAMIC);
    let encoding = bounded.then(|| Attribute::TypeExtensions(bounds.into()));
    let element = element_type(array.element_type);
    Type::Tensor(Arc::new(TensorType { shape, element, encoding }))
}

/// The elements as a dense constant; `None` if the shape has dynamic dimensions.
pub(super) fn dense(literal: &ArrayLiteral) -> Option<Attribute> {
    let ty = tensor(literal.shape());
    // Literals extend the sign of small integers, MLIR leaves those bits zero.
    let bits = literal.element_type().bit_width();
    let bytes: Vec<u8> = match bits {
        1..8 => literal.bytes().iter().map(|byte| byte & (0xff >> (8 - bits))).collect(),
        _ => literal.bytes().to_vec(),
    };
    Some(Attribute::DenseElements(Arc::new(DenseElements::new(ty, bytes)?)))
}

/// A tensor of `i64` as an attribute.
pub(super) fn matrix(rows: i64, columns: i64, values: &[i64]) -> Option<Attribute> {
    let ty = Type::tensor([rows, columns], Type::I64);
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    Some(Attribute::DenseElements(Arc::new(DenseElements::new(ty, bytes)?)))
}

/// A vector of `index` as an attribute, which is how layouts are given.
pub(super) fn index_vector(values: &[i64]) -> Option<Attribute> {
    let ty = Type::tensor([values.len() as i64], Type::Index);
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    Some(Attribute::DenseElements(Arc::new(DenseElements::new(ty, bytes)?)))
}
