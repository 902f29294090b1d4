//! Which version of VHLO has a type.

use super::Version;
use crate::mlir::{Attribute, Float, QuantizedType, Type};

/// The first version of VHLO that can say the type.
pub fn required_version(ty: &Type) -> Version {
    match ty {
        Type::Integer { width: 2, .. } => Version::new(1, 2),
        Type::Integer { .. }
        | Type::Index
        | Type::Token
        | Type::UnrankedMemRef(_)
        | Type::Vector(_)
        | Type::Opaque(_) => Version::MINIMUM,
        Type::Float(float) => match float {
            Float::F8E4M3FNUZ | Float::F8E5M2FNUZ => Version::new(0, 10),
            Float::F8E4M3B11FNUZ => Version::new(0, 11),
            Float::TF32 => Version::new(1, 6),
            Float::F8E4M3 | Float::F8E3M4 => Version::new(1, 7),
            Float::F4E2M1FN | Float::F6E2M3FN | Float::F6E3M2FN | Float::F8E8M0FNU => {
                Version::new(1, 8)
            }
            Float::F8E5M2
            | Float::F8E4M3FN
            | Float::BF16
            | Float::F16
            | Float::F32
            | Float::F64
            | Float::F80
            | Float::F128 => Version::MINIMUM,
        },
        Type::Complex(element) | Type::UnrankedTensor(element) => required_version(element),
        Type::Tensor(tensor) => {
            let encoding = match &tensor.encoding {
                Some(Attribute::Type(ty)) => required_version(ty),
                _ => Version::MINIMUM,
            };
            encoding.max(required_version(&tensor.element))
        }
        Type::MemRef(memref) => Version::new(1, 13).max(required_version(&memref.element)),
        Type::Tuple(types) => all(types),
        Type::Future(types) => Version::new(1, 15).max(all(types)),
        Type::Function(function) => all(&function.inputs).max(all(&function.results)),
        Type::None => Version::new(1, 6),
        Type::Quantized(quantized) => match &**quantized {
            QuantizedType::Uniform(uniform) if uniform.axis.is_some() => Version::new(0, 18),
            QuantizedType::Uniform(_)
            | QuantizedType::Any { .. }
            | QuantizedType::SubChannel(_)
            | QuantizedType::Calibrated { .. } => Version::MINIMUM,
        },
    }
}

fn all(types: &[Type]) -> Version {
    types.iter().map(required_version).max().unwrap_or(Version::MINIMUM)
}
