//! [`Type`]: builtin, StableHLO and quantised types.

use std::sync::Arc;

use super::{Attribute, ByteString};

/// The size of a dimension that is not known: `?` in text.
pub const DYNAMIC: i64 = i64::MIN;

/// A type. Clones share their parts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Type {
    /// `i32`, `si32`, `ui32`. StableHLO spells signed integers `i32` and unsigned ones `ui32`.
    Integer {
        width: u32,
        signedness: Signedness,
    },
    Index,
    Float(Float),
    Complex(Arc<Type>),
    Tensor(Arc<TensorType>),
    UnrankedTensor(Arc<Type>),
    Vector(Arc<VectorType>),
    MemRef(Arc<MemRefType>),
    UnrankedMemRef(Arc<(Type, Option<Attribute>)>),
    Tuple(Arc<[Type]>),
    Function(Arc<FunctionType>),
    None,
    /// `!stablehlo.token`.
    Token,
    /// `!stablehlo.future<…>`.
    Future(Arc<[Type]>),
    /// `!quant.uniform<…>` and the rest of the quant dialect.
    Quantized(Arc<QuantizedType>),
    /// Any other type, as text.
    Opaque(Arc<Opaque>),
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Signedness {
    Signless,
    Signed,
    Unsigned,
}

macro_rules! floats {
    ($($name:ident $spelling:literal $bits:literal,)*) => {
        /// A floating point format.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Float { $($name,)* }

        impl Float {
            pub const ALL: &[Float] = &[$(Float::$name,)*];

            /// The spelling in MLIR text, such as `bf16`.
            pub fn name(self) -> &'static str {
                match self { $(Float::$name => $spelling,)* }
            }

            /// Bits of one value; `tf32` has 19.
            pub fn bits(self) -> u32 {
                match self { $(Float::$name => $bits,)* }
            }

            pub fn from_name(name: &str) -> Option<Float> {
                match name { $($spelling => Some(Float::$name),)* _ => None }
            }
        }
    };
}

floats! {
    F4E2M1FN "f4E2M1FN" 4,
    F6E2M3FN "f6E2M3FN" 6,
    F6E3M2FN "f6E3M2FN" 6,
    F8E5M2 "f8E5M2" 8,
    F8E4M3 "f8E4M3" 8,
    F8E4M3FN "f8E4M3FN" 8,
    F8E5M2FNUZ "f8E5M2FNUZ" 8,
    F8E4M3FNUZ "f8E4M3FNUZ" 8,
    F8E4M3B11FNUZ "f8E4M3B11FNUZ" 8,
    F8E3M4 "f8E3M4" 8,
    F8E8M0FNU "f8E8M0FNU" 8,
    BF16 "bf16" 16,
    F16 "f16" 16,
    TF32 "tf32" 19,
    F32 "f32" 32,
    F64 "f64" 64,
    F80 "f80" 80,
    F128 "f128" 128,
}

/// `tensor<2x?xf32, encoding>`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TensorType {
    /// Sizes, [`DYNAMIC`] where unknown.
    pub shape: Vec<i64>,
    pub element: Type,
    /// Such as [`Attribute::TypeExtensions`], the bounds of dynamic dimensions.
    pub encoding: Option<Attribute>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VectorType {
    pub shape: Vec<i64>,
    /// One a dimension, or empty if none is scalable.
    pub scalable: Vec<bool>,
    pub element: Type,
}

/// A buffer, as custom calls take it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemRefType {
    pub shape: Vec<i64>,
    pub element: Type,
    /// `None` is the identity layout.
    pub layout: Option<Attribute>,
    pub memory_space: Option<Attribute>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FunctionType {
    pub inputs: Vec<Type>,
    pub results: Vec<Type>,
}

/// A type or attribute of a dialect that is not modelled: `!dialect.text` or `#dialect.text`
/// (with an empty dialect, `text` is the whole spelling).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Opaque {
    pub dialect: ByteString,
    pub text: ByteString,
}

/// Types of the quant dialect.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum QuantizedType {
    /// `!quant.any<i8<-8:7>:f32>`.
    Any { signed: bool, storage: Type, expressed: Option<Type>, storage_min: i64, storage_max: i64 },
    /// `!quant.uniform<i8:f32, 2.0:1>` and, with an axis, `!quant.uniform<i8:f32:0, {2.0:1, 3.0}>`.
    Uniform(UniformType),
    /// `!quant.uniform<i8:f32:{0:2, 1:4}, {…}>`: blocks of several dimensions.
    SubChannel(SubChannelType),
    /// `!quant.calibrated<f32<-1.0:1.0>>`; minimum and maximum are bits of doubles.
    Calibrated { expressed: Type, min: u64, max: u64 },
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UniformType {
    /// Whether the storage holds signed integers (the only flag there is).
    pub signed: bool,
    /// Signless integer type.
    pub storage: Type,
    pub expressed: Type,
    pub storage_min: i64,
    pub storage_max: i64,
    /// The quantised dimension, if scales are per axis.
    pub axis: Option<i32>,
    /// Bits of doubles; one unless per axis.
    pub scales: Vec<u64>,
    /// As many as scales.
    pub zero_points: Vec<i64>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SubChannelType {
    pub signed: bool,
    pub storage: Type,
    pub expressed: Type,
    pub storage_min: i64,
    pub storage_max: i64,
    pub dimensions: Vec<i32>,
    pub block_sizes: Vec<i64>,
    /// [`Attribute::DenseElements`] of floats.
    pub scales: Attribute,
    /// [`Attribute::DenseElements`] of integers.
    pub zero_points: Attribute,
}

impl Type {
    /// `i1`.
    pub const I1: Type = Type::Integer { width: 1, signedness: Signedness::Signless };
    /// `i8`.
    pub const I8: Type = Type::Integer { width: 8, signedness: Signedness::Signless };
    /// `i32`.
    pub const I32: Type = Type::Integer { width: 32, signedness: Signedness::Signless };
    /// `i64`.
    pub const I64: Type = Type::Integer { width: 64, signedness: Signedness::Signless };

    /// `i<width>`.
    pub fn signless(width: u32) -> Type {
        Type::Integer { width, signedness: Signedness::Signless }
    }

    /// `ui<width>`.
    pub fn unsigned(width: u32) -> Type {
        Type::Integer { width, signedness: Signedness::Unsigned }
    }

    pub fn complex(element: Type) -> Type {
        Type::Complex(Arc::new(element))
    }

    /// A ranked tensor without encoding.
    pub fn tensor(shape: impl Into<Vec<i64>>, element: Type) -> Type {
        Type::Tensor(Arc::new(TensorType { shape: shape.into(), element, encoding: None }))
    }

    pub fn function(inputs: Vec<Type>, results: Vec<Type>) -> Type {
        Type::Function(Arc::new(FunctionType { inputs, results }))
    }

    pub fn opaque(dialect: impl Into<ByteString>, text: impl Into<ByteString>) -> Type {
        Type::Opaque(Arc::new(Opaque { dialect: dialect.into(), text: text.into() }))
    }

    pub fn as_tensor(&self) -> Option<&TensorType> {
        match self {
            Type::Tensor(tensor) => Some(tensor),
            _ => None,
        }
    }

    pub fn as_function(&self) -> Option<&FunctionType> {
        match self {
            Type::Function(function) => Some(function),
            _ => None,
        }
    }

    /// Shape and element type of a ranked tensor, vector or buffer.
    pub fn shaped(&self) -> Option<(&[i64], &Type)> {
        match self {
            Type::Tensor(tensor) => Some((&tensor.shape, &tensor.element)),
            Type::Vector(vector) => Some((&vector.shape, &vector.element)),
            Type::MemRef(memref) => Some((&memref.shape, &memref.element)),
            _ => None,
        }
    }

    /// Element type of a tensor, ranked or not, vector or buffer.
    pub fn element(&self) -> Option<&Type> {
        match self {
            Type::UnrankedTensor(element) => Some(element),
            Type::UnrankedMemRef(parts) => Some(&parts.0),
            _ => self.shaped().map(|(_, element)| element),
        }
    }

    /// Number of elements of a ranked shape with known sizes that fits in 63 bits.
    pub fn element_count(&self) -> Option<u64> {
        let (shape, _) = self.shaped()?;
        if shape.contains(&0) {
            return shape.iter().all(|&size| size >= 0).then_some(0);
        }
        shape.iter().try_fold(1u64, |count, &size| {
            let count = count.checked_mul(u64::try_from(size).ok()?)?;
            (count <= i64::MAX as u64).then_some(count)
        })
    }

    /// Bytes that one element takes in [`super::DenseElements`]: whole bytes for every real part, so
    /// `i1` and `i4` take one, `complex<f32>` eight.
    pub fn dense_element_bytes(&self) -> Option<usize> {
        match self {
            Type::Integer { width, .. } => Some(width.div_ceil(8).max(1) as usize),
            Type::Index => Some(8),
            Type::Float(float) => Some(float.bits().div_ceil(8) as usize),
            Type::Complex(element) => Some(2 * element.dense_element_bytes()?),
            _ => None,
        }
    }
}
