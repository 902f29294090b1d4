//! Types of kernel values: a scalar, or a vector of equal scalars.

use std::fmt;

/// The type of one lane. Integers have no sign; operations do.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Scalar {
    /// A truth value. In memory it takes a byte that is 0 or 1.
    I1,
    I8,
    I16,
    I32,
    I64,
    F16,
    BF16,
    F32,
    F64,
    /// An address.
    Ptr,
}

impl Scalar {
    pub const ALL: [Scalar; 10] = [
        Scalar::I1,
        Scalar::I8,
        Scalar::I16,
        Scalar::I32,
        Scalar::I64,
        Scalar::F16,
        Scalar::BF16,
        Scalar::F32,
        Scalar::F64,
        Scalar::Ptr,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Scalar::I1 => "i1",
            Scalar::I8 => "i8",
            Scalar::I16 => "i16",
            Scalar::I32 => "i32",
            Scalar::I64 => "i64",
            Scalar::F16 => "f16",
            Scalar::BF16 => "bf16",
            Scalar::F32 => "f32",
            Scalar::F64 => "f64",
            Scalar::Ptr => "ptr",
        }
    }

    /// Bytes that a value takes in memory.
    pub fn byte_width(self) -> usize {
        match self {
            Scalar::I1 | Scalar::I8 => 1,
            Scalar::I16 | Scalar::F16 | Scalar::BF16 => 2,
            Scalar::I32 | Scalar::F32 => 4,
            Scalar::I64 | Scalar::F64 | Scalar::Ptr => 8,
        }
    }

    /// Bits of a value: 1 for truth values, else eight times the byte width.
    pub fn bits(self) -> u32 {
        match self {
            Scalar::I1 => 1,
            other => other.byte_width() as u32 * 8,
        }
    }

    pub fn is_float(self) -> bool {
        matches!(self, Scalar::F16 | Scalar::BF16 | Scalar::F32 | Scalar::F64)
    }

    pub fn is_integer(self) -> bool {
        matches!(self, Scalar::I1 | Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64)
    }

    pub const fn vector(self, lanes: u16) -> Type {
        Type { scalar: self, lanes }
    }
}

/// The type of a value. One lane means a scalar.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Type {
    pub scalar: Scalar,
    pub lanes: u16,
}

impl Type {
    pub const I1: Type = Scalar::I1.vector(1);
    pub const I8: Type = Scalar::I8.vector(1);
    pub const I16: Type = Scalar::I16.vector(1);
    pub const I32: Type = Scalar::I32.vector(1);
    pub const I64: Type = Scalar::I64.vector(1);
    pub const F16: Type = Scalar::F16.vector(1);
    pub const BF16: Type = Scalar::BF16.vector(1);
    pub const F32: Type = Scalar::F32.vector(1);
    pub const F64: Type = Scalar::F64.vector(1);
    pub const PTR: Type = Scalar::Ptr.vector(1);

    /// The same lanes with another scalar.
    pub fn with_scalar(self, scalar: Scalar) -> Type {
        Type { scalar, lanes: self.lanes }
    }

    pub fn is_vector(self) -> bool {
        self.lanes > 1
    }
}

impl From<Scalar> for Type {
    fn from(scalar: Scalar) -> Type {
        scalar.vector(1)
    }
}

/// `f32`, or `f32x16` for a vector.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.scalar.name())?;
        if self.is_vector() { write!(f, "x{}", self.lanes) } else { Ok(()) }
    }
}
