//! Random kernels with inputs, for tests that compare one way to run a kernel with another. They
//! verify, stay inside their buffers, end, and do not let the payload or sign of a NaN be seen, so
//! that all ways have to agree. Loops marked `vector` keep the promise of that mark, and their sums
//! of floats are exact in any order.

mod kernel;
mod ops;
mod source;

pub use kernel::sample;

use crate::ir::Module;
use crate::types::Scalar;

/// What random kernels are made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    pub maths: Maths,
    /// About how many statements the body has, those of inner blocks included.
    pub size: u32,
}

/// Whether there are mathematical functions, which evaluator and compiled code round differently.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Maths {
    With,
    Without,
}

/// A module whose first function is the kernel, and what to call it with.
#[derive(Clone, Debug)]
pub struct Sample {
    pub module: Module,
    pub arguments: Vec<Argument>,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Argument {
    /// The address of these bytes, aligned to 64, which hold elements of one type.
    Buffer(Scalar, Vec<u8>),
    /// A value's bits.
    Scalar(Scalar, u64),
}

/// Whether two buffers hold the same elements, a NaN being the same as any other.
pub fn same_elements(scalar: Scalar, a: &[u8], b: &[u8]) -> bool {
    let width = scalar.byte_width();
    let bits = |bytes: &[u8]| {
        let mut all = [0; 8];
        all[..width].copy_from_slice(bytes);
        u64::from_le_bytes(all)
    };
    let is_nan = |bits| scalar.is_float() && crate::evaluate::float::to_f64(scalar, bits).is_nan();
    a.len() == b.len()
        && a.chunks_exact(width).zip(b.chunks_exact(width)).all(|(a, b)| {
            let (a, b) = (bits(a), bits(b));
            a == b || is_nan(a) && is_nan(b)
        })
}
