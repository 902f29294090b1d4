//! How types and operands are spelled.

use std::fmt;

use rxla_kernel::{Scalar, Type};

/// What stands for a kernel value in an instruction.
#[derive(Clone, Copy, Debug)]
pub(super) enum Operand {
    Temp(u32),
    /// Bits of each lane, with the kernel's type.
    Constant(Type, u64),
}

/// The type of a register.
pub(super) struct Ll(pub(super) Type);

/// The type of a parameter or result, and of memory.
pub(super) struct Abi(pub(super) Type);

/// The suffix of an intrinsic's name: `f32`, `v8i32`.
pub(super) struct Suffix(pub(super) Type);

impl fmt::Display for Ll {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_type(f, self.0.lanes, scalar_name(self.0.scalar))
    }
}

impl fmt::Display for Abi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.0.scalar {
            Scalar::I1 => "i8",
            other => scalar_name(other),
        };
        write_type(f, self.0.lanes, name)
    }
}

fn write_type(f: &mut fmt::Formatter<'_>, lanes: u16, name: &str) -> fmt::Result {
    if lanes > 1 { write!(f, "<{lanes} x {name}>") } else { f.write_str(name) }
}

pub(super) fn scalar_name(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::I1 => "i1",
        Scalar::I8 => "i8",
        Scalar::I16 | Scalar::F16 | Scalar::BF16 => "i16",
        Scalar::I32 => "i32",
        Scalar::I64 => "i64",
        Scalar::F32 => "float",
        Scalar::F64 => "double",
        Scalar::Ptr => "ptr",
    }
}

impl fmt::Display for Suffix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.lanes > 1 {
            write!(f, "v{}", self.0.lanes)?;
        }
        f.write_str(match self.0.scalar {
            Scalar::I1 => "i1",
            Scalar::I8 => "i8",
            Scalar::I16 | Scalar::F16 | Scalar::BF16 => "i16",
            Scalar::I32 => "i32",
            Scalar::I64 => "i64",
            Scalar::F32 => "f32",
            Scalar::F64 => "f64",
            Scalar::Ptr => "p0",
        })
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Operand::Temp(number) => write!(f, "%t{number}"),
            Operand::Constant(ty, bits) if ty.is_vector() => {
                if bits == 0 {
                    return f.write_str("zeroinitializer");
                }
                write!(f, "splat ({} ", scalar_name(ty.scalar))?;
                write_scalar(f, ty.scalar, bits)?;
                f.write_str(")")
            }
            Operand::Constant(ty, bits) => write_scalar(f, ty.scalar, bits),
        }
    }
}

fn write_scalar(f: &mut fmt::Formatter<'_>, scalar: Scalar, bits: u64) -> fmt::Result {
    match scalar {
        Scalar::I1 => f.write_str(if bits & 1 == 1 { "true" } else { "false" }),
        Scalar::I8 => write!(f, "{}", bits as u8 as i8),
        Scalar::I16 | Scalar::F16 | Scalar::BF16 => write!(f, "{}", bits as u16 as i16),
        Scalar::I32 => write!(f, "{}", bits as u32 as i32),
        Scalar::I64 => write!(f, "{}", bits as i64),
        Scalar::F32 => {
            // LLVM spells floats as doubles, which keeps all but signalling NaNs.
            let value = f32::from_bits(bits as u32);
            if value.is_nan() {
                write!(f, "bitcast (i32 {} to float)", bits as u32)
            } else {
                write!(f, "0x{:016X}", f64::from(value).to_bits())
            }
        }
        Scalar::F64 => write!(f, "0x{bits:016X}"),
        Scalar::Ptr if bits == 0 => f.write_str("null"),
        Scalar::Ptr => write!(f, "inttoptr (i64 {} to ptr)", bits as i64),
    }
}
