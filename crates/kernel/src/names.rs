//! The names of operations in text, one table per kind.

use crate::ir::{BinaryOp, ComparePredicate, Convert, LoopKind, UnaryOp};

/// Lists the variants of an enum with their names.
macro_rules! names {
    ($enum:ident { $($variant:ident = $name:literal),* $(,)? }) => {
        impl $enum {
            pub const ALL: &[$enum] = &[$($enum::$variant),*];

            /// How text spells it.
            pub fn name(self) -> &'static str {
                match self { $($enum::$variant => $name),* }
            }

            pub fn from_name(name: &str) -> Option<$enum> {
                Self::ALL.iter().copied().find(|item| item.name() == name)
            }
        }
    };
}

names!(LoopKind { Sequential = "sequential", Vector = "vector", Unroll = "unroll" });

names!(UnaryOp {
    Neg = "neg",
    Not = "not",
    FAbs = "fabs",
    Sqrt = "sqrt",
    Floor = "floor",
    Ceil = "ceil",
    Trunc = "trunc",
    RoundEven = "round_even",
    PopCount = "pop_count",
    CountLeadingZeros = "count_leading_zeros",
    Exp = "exp",
    Exp2 = "exp2",
    Expm1 = "expm1",
    Log = "log",
    Log2 = "log2",
    Log1p = "log1p",
    Sin = "sin",
    Cos = "cos",
    Tan = "tan",
    Asin = "asin",
    Acos = "acos",
    Atan = "atan",
    Sinh = "sinh",
    Cosh = "cosh",
    Tanh = "tanh",
    Asinh = "asinh",
    Acosh = "acosh",
    Atanh = "atanh",
    Erf = "erf",
    Erfc = "erfc",
    Cbrt = "cbrt",
    Rsqrt = "rsqrt",
    Logistic = "logistic",
});

names!(BinaryOp {
    Add = "add",
    Sub = "sub",
    Mul = "mul",
    FDiv = "fdiv",
    FRem = "frem",
    FMin = "fmin",
    FMax = "fmax",
    SDiv = "sdiv",
    UDiv = "udiv",
    SRem = "srem",
    URem = "urem",
    SMin = "smin",
    SMax = "smax",
    UMin = "umin",
    UMax = "umax",
    And = "and",
    Or = "or",
    Xor = "xor",
    Shl = "shl",
    LShr = "lshr",
    AShr = "ashr",
    CopySign = "copy_sign",
    Atan2 = "atan2",
    Pow = "pow",
});

names!(ComparePredicate {
    Eq = "eq",
    Ne = "ne",
    Slt = "slt",
    Sle = "sle",
    Sgt = "sgt",
    Sge = "sge",
    Ult = "ult",
    Ule = "ule",
    Ugt = "ugt",
    Uge = "uge",
    FEq = "feq",
    FNe = "fne",
    FLt = "flt",
    FLe = "fle",
    FGt = "fgt",
    FGe = "fge",
});

names!(Convert {
    Truncate = "truncate",
    ZeroExtend = "zero_extend",
    SignExtend = "sign_extend",
    SignedToFloat = "signed_to_float",
    UnsignedToFloat = "unsigned_to_float",
    FloatToSigned = "float_to_signed",
    FloatToUnsigned = "float_to_unsigned",
    Float = "float",
    Bitcast = "bitcast",
});
