//! How far results may be from the true ones, in units in the last place. Tests hold the functions
//! to it, compilers choose by it, and `docs/accuracy.md` is made from it.
//!
//! The bounds are a little above what was measured (`examples/ulp.rs`): in f32 over all inputs for
//! exp, expm1, log, tanh, erf, rsqrt and logistic, and over each 37th for the others; in f64 over
//! 16000 inputs a function, with results from mpmath (`tools/maths/reference.py`).

use crate::ir::{BinaryOp, UnaryOp};

/// A function and its bounds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bound {
    pub name: &'static str,
    pub function: Function,
    /// In f32.
    pub single: f64,
    /// In f64.
    pub double: f64,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Function {
    Unary(UnaryOp),
    Binary(BinaryOp),
}

/// The bound in formats of 16 bits, whatever the function: computed in f32 and rounded once.
pub const HALF: f64 = 0.51;

macro_rules! bounds {
    ($($name:literal $kind:ident $op:ident $single:literal $double:literal;)*) => {
        &[$(Bound {
            name: $name,
            function: bounds!(@$kind $op),
            single: $single,
            double: $double,
        },)*]
    };
    (@unary $op:ident) => { Function::Unary(UnaryOp::$op) };
    (@binary $op:ident) => { Function::Binary(BinaryOp::$op) };
}

/// All functions.
pub const BOUNDS: &[Bound] = bounds! {
    "exp" unary Exp 1.7 1.5;
    "exp2" unary Exp2 1.7 1.5;
    "expm1" unary Expm1 1.6 1.8;
    "log" unary Log 1.0 1.0;
    "log2" unary Log2 1.3 1.3;
    "log1p" unary Log1p 1.6 1.2;
    "sin" unary Sin 1.6 1.6;
    "cos" unary Cos 1.6 1.6;
    "tan" unary Tan 2.9 2.6;
    "asin" unary Asin 1.5 1.7;
    "acos" unary Acos 1.2 1.3;
    "atan" unary Atan 2.0 1.9;
    "atan2" binary Atan2 2.0 2.0;
    "sinh" unary Sinh 1.8 1.7;
    "cosh" unary Cosh 1.6 1.5;
    "tanh" unary Tanh 1.5 1.5;
    "asinh" unary Asinh 2.0 1.6;
    "acosh" unary Acosh 2.4 2.3;
    "atanh" unary Atanh 2.3 2.0;
    "erf" unary Erf 1.4 1.3;
    "erfc" unary Erfc 4.5 3.5;
    "cbrt" unary Cbrt 1.0 1.1;
    "rsqrt" unary Rsqrt 1.5 1.6;
    "logistic" unary Logistic 2.5 2.3;
    "pow" binary Pow 0.6 1.6;
};

/// The bounds of a function of one operand; `None` for operations that are none.
pub fn of_unary(op: UnaryOp) -> Option<&'static Bound> {
    BOUNDS.iter().find(|bound| bound.function == Function::Unary(op))
}

impl Bound {
    /// In f32, where the function is computed in f64 and rounded once.
    pub fn single_by_double(&self) -> f64 {
        // A unit of f64 is 2^-29 of one of f32.
        0.5 + self.double * f64::powi(2.0, -29)
    }
}
