//! MLIR types as HLO element types and shapes.

use rxla_hlo::{ArrayShape, ElementType, Shape};

use crate::mlir::{Attribute, DYNAMIC, Float, QuantizedType, Signedness, TensorType, Type};

/// The element type, or the reason why there is none. A quantised type is its storage type.
pub(super) fn element_type(ty: &Type) -> Result<ElementType, String> {
    let unsupported = || format!("element type `{ty:?}` has no counterpart in HLO");
    Ok(match ty {
        Type::Integer { width, signedness } => {
            integer(*width, *signedness).ok_or_else(unsupported)?
        }
        Type::Index => ElementType::S64,
        Type::Float(float) => match float {
            Float::F4E2M1FN => ElementType::F4e2m1fn,
            Float::F6E2M3FN => ElementType::F6e2m3fn,
            Float::F6E3M2FN => ElementType::F6e3m2fn,
            Float::F8E5M2 => ElementType::F8e5m2,
            Float::F8E4M3 => ElementType::F8e4m3,
            Float::F8E4M3FN => ElementType::F8e4m3fn,
            Float::F8E5M2FNUZ => ElementType::F8e5m2fnuz,
            Float::F8E4M3FNUZ => ElementType::F8e4m3fnuz,
            Float::F8E4M3B11FNUZ => ElementType::F8e4m3b11fnuz,
            Float::F8E3M4 => ElementType::F8e3m4,
            Float::F8E8M0FNU => ElementType::F8e8m0fnu,
            Float::BF16 => ElementType::Bf16,
            Float::F16 => ElementType::F16,
            Float::F32 => ElementType::F32,
            Float::F64 => ElementType::F64,
            Float::TF32 | Float::F80 | Float::F128 => {
                return Err(format!("element type `{}` has no counterpart in HLO", float.name()));
            }
        },
        Type::Complex(part) => match **part {
            Type::Float(Float::F32) => ElementType::C64,
            Type::Float(Float::F64) => ElementType::C128,
            _ => return Err("complex numbers have parts of `f32` or `f64`".to_owned()),
        },
        Type::Quantized(quantized) => match &**quantized {
            QuantizedType::Uniform(uniform) => storage(&uniform.storage, uniform.signed)?,
            QuantizedType::SubChannel(blocks) => storage(&blocks.storage, blocks.signed)?,
            QuantizedType::Any { storage: ty, signed, .. } => storage(ty, *signed)?,
            QuantizedType::Calibrated { .. } => {
                return Err("a `!quant.calibrated` type has no storage".to_owned());
            }
        },
        Type::Tensor(_)
        | Type::UnrankedTensor(_)
        | Type::Vector(_)
        | Type::MemRef(_)
        | Type::UnrankedMemRef(_)
        | Type::Tuple(_)
        | Type::Function(_)
        | Type::None
        | Type::Token
        | Type::Future(_)
        | Type::Opaque(_) => return Err(unsupported()),
    })
}

fn integer(width: u32, signedness: Signedness) -> Option<ElementType> {
    use ElementType::{Pred, S1, S2, S4, S8, S16, S32, S64, U1, U2, U4, U8, U16, U32, U64};
    Some(match (width, signedness) {
        (1, Signedness::Signless) => Pred,
        (1, Signedness::Signed) => S1,
        (1, Signedness::Unsigned) => U1,
        (2, Signedness::Unsigned) => U2,
        (4, Signedness::Unsigned) => U4,
        (8, Signedness::Unsigned) => U8,
        (16, Signedness::Unsigned) => U16,
        (32, Signedness::Unsigned) => U32,
        (64, Signedness::Unsigned) => U64,
        (2, Signedness::Signless | Signedness::Signed) => S2,
        (4, Signedness::Signless | Signedness::Signed) => S4,
        (8, Signedness::Signless | Signedness::Signed) => S8,
        (16, Signedness::Signless | Signedness::Signed) => S16,
        (32, Signedness::Signless | Signedness::Signed) => S32,
        (64, Signedness::Signless | Signedness::Signed) => S64,
        _ => return None,
    })
}

/// The element type of quantised values: the signedness is said beside the storage type.
pub(super) fn storage(ty: &Type, signed: bool) -> Result<ElementType, String> {
    let Type::Integer { width, .. } = ty else {
        return Err("quantised values are stored as integers".to_owned());
    };
    let signedness = if signed { Signedness::Signed } else { Signedness::Unsigned };
    integer(*width, signedness)
        .ok_or_else(|| format!("quantised values of {width} bits have no counterpart in HLO"))
}

/// How many parts a type may have. Types share their parts, so a small one may unfold to any number.
const MAX_PARTS: usize = 1 << 20;

/// The shape, or the reason why there is none.
pub(super) fn shape(ty: &Type) -> Result<Shape, String> {
    shape_within(ty, &mut MAX_PARTS.clone())
}

fn shape_within(ty: &Type, budget: &mut usize) -> Result<Shape, String> {
    let left = budget.checked_sub(1);
    *budget = left.ok_or_else(|| format!("a tuple has more than {MAX_PARTS} parts"))?;
    Ok(match ty {
        Type::Tensor(tensor) => Shape::Array(array(tensor)?),
        Type::Tuple(elements) => Shape::tuple(
            elements.iter().map(|ty| shape_within(ty, budget)).collect::<Result<Vec<_>, _>>()?,
        ),
        // A future is the tuple that an asynchronous operation carries.
        Type::Future(elements) => Shape::tuple(
            elements.iter().map(|ty| shape_within(ty, budget)).collect::<Result<Vec<_>, _>>()?,
        ),
        Type::Token => Shape::Token,
        Type::MemRef(memref) => {
            Shape::Buffer(std::sync::Arc::new(sized(&memref.shape, &memref.element)?))
        }
        Type::UnrankedTensor(_) => {
            return Err("tensors of unknown rank have no counterpart in HLO".to_owned());
        }
        Type::Integer { .. }
        | Type::Index
        | Type::Float(_)
        | Type::Complex(_)
        | Type::Vector(_)
        | Type::UnrankedMemRef(_)
        | Type::Function(_)
        | Type::None
        | Type::Quantized(_)
        | Type::Opaque(_) => return Err(format!("type `{ty:?}` is no type of a value in HLO")),
    })
}

/// The shape of a tensor; bounds of dynamic dimensions come from its encoding.
fn array(tensor: &TensorType) -> Result<ArrayShape, String> {
    let mut shape = sized(&tensor.shape, &tensor.element)?;
    let bounds = match &tensor.encoding {
        None => return Ok(shape),
        Some(Attribute::TypeExtensions(bounds)) => bounds,
        Some(other) => return Err(format!("tensor encoding `{other:?}` is not known")),
    };
    if bounds.is_empty() {
        return Ok(shape);
    }
    if bounds.len() != shape.rank() {
        return Err(format!("{} bounds for a tensor of rank {}", bounds.len(), shape.rank()));
    }
    for (dimension, &bound) in bounds.iter().enumerate() {
        if bound == DYNAMIC {
            continue;
        }
        if bound < 0 || shape.dims[dimension] != ArrayShape::UNBOUNDED {
            return Err(format!("dimension {dimension} cannot have the bound {bound}"));
        }
        shape.dims[dimension] = bound;
        shape.set_dynamic(dimension, true);
    }
    Ok(shape)
}

fn sized(sizes: &[i64], element: &Type) -> Result<ArrayShape, String> {
    // MLIR's marker and ours are the same number; any other negative size is malformed.
    const _: () = assert!(DYNAMIC == ArrayShape::UNBOUNDED);
    if let Some(size) = sizes.iter().find(|&&size| size < 0 && size != DYNAMIC) {
        return Err(format!("a dimension has the size {size}"));
    }
    let shape = ArrayShape::new(element_type(element)?, sizes.iter().copied());
    let static_part: i128 = sizes
        .iter()
        .filter(|&&size| size > 0)
        .try_fold(1i128, |product, &size| {
            product.checked_mul(size.into()).filter(|&product| product <= i64::MAX.into())
        })
        .ok_or("a tensor has more elements than can be counted")?;
    debug_assert!(static_part >= 1);
    Ok(shape)
}

/// As [`shape`], but a quantised tensor has the floats that it expresses.
pub(super) fn expressed_shape(ty: &Type) -> Result<Shape, String> {
    let shape = shape(ty)?;
    match (shape, quantization(ty)) {
        (Shape::Array(array), Some(quantized)) => {
            let expressed = element_type(super::quantized::expressed_type(quantized)?)?;
            Ok(array.with_element_type(expressed).into())
        }
        (shape, _) => Ok(shape),
    }
}

/// Whether a dimension somewhere in the shape may have any size.
pub(super) fn is_unbounded(shape: &Shape) -> bool {
    match shape {
        Shape::Array(array) => array.dims.contains(&ArrayShape::UNBOUNDED),
        Shape::Buffer(array) => array.dims.contains(&ArrayShape::UNBOUNDED),
        Shape::Tuple(elements) => elements.iter().any(is_unbounded),
        Shape::Token | Shape::Opaque => false,
    }
}

/// The uniform quantisation of a tensor's elements, if they are quantised so.
pub(super) fn quantization(ty: &Type) -> Option<&QuantizedType> {
    match ty.element()? {
        Type::Quantized(quantized) => Some(quantized),
        _ => None,
    }
}
