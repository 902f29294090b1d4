//! Element types of arrays, with XLA's spellings and proto numbers. One table lists them; all
//! properties are exhaustive matches.

use std::fmt;

macro_rules! element_types {
    ($($variant:ident = $number:literal, $name:literal, $bits:literal;)+) => {
        /// What one element of an array is. Tuples, tokens and opaque values are [`crate::Shape`]s.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum ElementType { $(#[doc = $name] $variant,)+ }

        impl ElementType {
            /// Every element type, in the order of the table.
            pub const ALL: &[ElementType] = &[$(ElementType::$variant,)+];

            /// The spelling in HLO text.
            pub const fn name(self) -> &'static str {
                match self { $(ElementType::$variant => $name,)+ }
            }

            /// The number in XLA's `PrimitiveType` proto enum, which is also PJRT's order of facts.
            pub const fn proto_number(self) -> i32 {
                match self { $(ElementType::$variant => $number,)+ }
            }

            pub const fn from_proto_number(number: i32) -> Option<ElementType> {
                match number { $($number => Some(ElementType::$variant),)+ _ => None }
            }

            pub fn from_name(name: &str) -> Option<ElementType> {
                match name { $($name => Some(ElementType::$variant),)+ _ => None }
            }

            /// Width of the value in bits: 1 for `pred`, 4 for `s4`, 64 for `c64`.
            pub const fn bit_width(self) -> usize {
                match self { $(ElementType::$variant => $bits,)+ }
            }
        }
    };
}

element_types! {
    Pred = 1, "pred", 1;
    S1 = 30, "s1", 1;
    S2 = 26, "s2", 2;
    S4 = 21, "s4", 4;
    S8 = 2, "s8", 8;
    S16 = 3, "s16", 16;
    S32 = 4, "s32", 32;
    S64 = 5, "s64", 64;
    U1 = 31, "u1", 1;
    U2 = 27, "u2", 2;
    U4 = 22, "u4", 4;
    U8 = 6, "u8", 8;
    U16 = 7, "u16", 16;
    U32 = 8, "u32", 32;
    U64 = 9, "u64", 64;
    F16 = 10, "f16", 16;
    Bf16 = 16, "bf16", 16;
    F32 = 11, "f32", 32;
    F64 = 12, "f64", 64;
    F8e5m2 = 19, "f8e5m2", 8;
    F8e4m3 = 28, "f8e4m3", 8;
    F8e4m3fn = 20, "f8e4m3fn", 8;
    F8e4m3b11fnuz = 23, "f8e4m3b11fnuz", 8;
    F8e3m4 = 29, "f8e3m4", 8;
    F8e5m2fnuz = 24, "f8e5m2fnuz", 8;
    F8e4m3fnuz = 25, "f8e4m3fnuz", 8;
    F8e8m0fnu = 33, "f8e8m0fnu", 8;
    F6e3m2fn = 35, "f6e3m2fn", 6;
    F6e2m3fn = 36, "f6e2m3fn", 6;
    F4e2m1fn = 32, "f4e2m1fn", 4;
    C64 = 15, "c64", 64;
    C128 = 18, "c128", 128;
}

/// The families that semantics distinguish.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TypeClass {
    Pred,
    Signed,
    Unsigned,
    Float,
    Complex,
}

impl ElementType {
    pub const fn class(self) -> TypeClass {
        use ElementType::*;
        match self {
            Pred => TypeClass::Pred,
            S1 | S2 | S4 | S8 | S16 | S32 | S64 => TypeClass::Signed,
            U1 | U2 | U4 | U8 | U16 | U32 | U64 => TypeClass::Unsigned,
            F16 | Bf16 | F32 | F64 | F8e5m2 | F8e4m3 | F8e4m3fn | F8e4m3b11fnuz | F8e3m4
            | F8e5m2fnuz | F8e4m3fnuz | F8e8m0fnu | F6e3m2fn | F6e2m3fn | F4e2m1fn => {
                TypeClass::Float
            }
            C64 | C128 => TypeClass::Complex,
        }
    }

    pub const fn is_signed(self) -> bool {
        matches!(self.class(), TypeClass::Signed)
    }

    pub const fn is_unsigned(self) -> bool {
        matches!(self.class(), TypeClass::Unsigned)
    }

    /// Signed or unsigned; `pred` is not an integer.
    pub const fn is_integer(self) -> bool {
        self.is_signed() || self.is_unsigned()
    }

    pub const fn is_float(self) -> bool {
        matches!(self.class(), TypeClass::Float)
    }

    pub const fn is_complex(self) -> bool {
        matches!(self.class(), TypeClass::Complex)
    }

    /// Bytes of one element as literals and buffers hold it: sub-byte types take one byte.
    pub const fn byte_width(self) -> usize {
        self.bit_width().div_ceil(8)
    }

    /// The type of `real` and `imag` parts; the type itself unless complex.
    pub const fn real_part(self) -> ElementType {
        match self {
            ElementType::C64 => ElementType::F32,
            ElementType::C128 => ElementType::F64,
            other => other,
        }
    }

    /// The complex type with these parts: defined for `f32` and `f64`.
    pub const fn complex_of(self) -> Option<ElementType> {
        match self {
            ElementType::F32 => Some(ElementType::C64),
            ElementType::F64 => Some(ElementType::C128),
            _ => None,
        }
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
