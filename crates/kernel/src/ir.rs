//! The IR itself: modules, functions, statements, operations.

use crate::types::{Scalar, Type};

/// An SSA value: an index into [`Function::types`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Value(pub u32);

/// A function of a module: an index into [`Module::functions`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct FunctionId(pub u32);

#[derive(Clone, PartialEq, Debug, Default)]
pub struct Module {
    pub functions: Vec<Function>,
}

/// Who may call a function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Linkage {
    /// A unit of compilation and of caching; seen by others by its name.
    Kernel,
    /// Compiled together with (a copy in) each function that calls it, to be inlined there.
    Inline,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Function {
    /// Unique in the module; letters, digits, `_`, `.`.
    pub name: String,
    pub linkage: Linkage,
    pub parameters: Vec<Parameter>,
    /// `Some`: every path ends in a `return` or runs off the end, which returns zero. `None`: the
    /// function returns nothing.
    pub result: Option<Type>,
    pub body: Block,
    /// The type of each value.
    pub types: Vec<Type>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Parameter {
    pub value: Value,
    /// For addresses: no access through another address touches what is accessed through this one,
    /// unless neither writes.
    pub noalias: bool,
    /// For addresses: a power of two that divides the address; 1 says nothing.
    pub align: u32,
}

/// Statements in order, and the values that the block gives to the statement that owns it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Block {
    pub statements: Vec<Statement>,
    pub yields: Vec<Value>,
}

/// How a loop may be run. The order of iterations is that of `Sequential` unless said otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LoopKind {
    Sequential,
    /// Iterations do not depend on each other, carried reductions (a value combined with itself by
    /// one associative and commutative operation, or chosen from candidates) aside, which may be
    /// combined in another order. To be run in lanes.
    Vector,
    /// To be unrolled wholly; the bounds are constants.
    Unroll,
}

/// A value carried around a loop: enters as `init`, is `param` in the body, which yields the next
/// one, and is `result` after the loop. All have one type.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Carried {
    pub init: Value,
    pub param: Value,
    pub result: Value,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Statement {
    /// `result = op`.
    Let { result: Value, op: Op },
    /// Stores `value` (scalar or vector) at element `index` of `base`, counted in `value`'s
    /// scalars. A scalar `index` stores lanes side by side; a vector `index` (i64 lanes) scatters
    /// lane by lane in order. `mask` (i1 lanes) picks the lanes that are stored.
    Store { base: Value, index: Value, value: Value, mask: Option<Value> },
    /// `for variable in (low..high).step_by(step)`; `step` is positive. The bounds and the variable
    /// are i64.
    For {
        kind: LoopKind,
        variable: Value,
        low: Value,
        high: Value,
        step: i64,
        carried: Vec<Carried>,
        body: Block,
    },
    /// Runs one of two blocks; their yields become `results`.
    If { condition: Value, results: Vec<Value>, then: Block, otherwise: Block },
    /// `before` computes the condition (an i1, its first yield) from the carried params, `body`
    /// yields the next ones. Both see the params.
    While { carried: Vec<Carried>, before: Block, body: Block },
    /// Calls a function of the module that returns nothing.
    Call { callee: FunctionId, arguments: Vec<Value> },
    /// Runs `callee(arguments…, begin, end)` for pieces that cover `0..count`, perhaps on several
    /// threads; pieces but the last are multiples of `grain`. `context` is passed to the runtime.
    ParallelCall {
        context: Value,
        callee: FunctionId,
        arguments: Vec<Value>,
        count: Value,
        grain: i64,
    },
    /// Calls a function of the runtime by name (C calling convention; arguments are i8..i64, f32, f64 or ptr).
    CallRuntime { name: String, arguments: Vec<Value>, result: Option<Value> },
    /// Leaves the function with `value` if it is not zero. The function's result has its type.
    ReturnIfNonzero { value: Value },
}

/// What a `let` computes. Operands of an elementwise operation have as many lanes as the result.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    /// A scalar, or a vector with all lanes equal; `bits` are the lane's, zero-extended.
    Constant {
        bits: u64,
    },
    Unary(UnaryOp, Value),
    Binary(BinaryOp, Value, Value),
    /// `a * b + c` rounded once. Floats only. For the inside of approximations, where it is wanted.
    Fma(Value, Value, Value),
    /// Gives i1 lanes.
    Compare(ComparePredicate, Value, Value),
    /// Lane by lane `condition ? a : b`.
    Select(Value, Value, Value),
    Convert(Convert, Value),
    /// All lanes equal to a scalar.
    Splat(Value),
    /// The integers 0, 1, … of the result's lanes.
    LaneIndex,
    /// One lane of a vector as a scalar.
    Extract(Value, u16),
    /// The lanes of a vector combined as a balanced tree: halves are combined until one is left.
    /// (An odd count leaves its last lane to the next level.)
    Reduce(BinaryOp, Value),
    /// Lanes picked from the concatenation of two vectors of one type.
    Shuffle(Value, Value, Vec<u16>),
    /// Loads the result's type at element `index` of `base`, counted in its scalars: a scalar
    /// index loads lanes side by side, a vector index (i64 lanes) gathers. Lanes masked out are 0.
    Load {
        base: Value,
        index: Value,
        mask: Option<Value>,
    },
    /// `base` moved by `bytes` (i64).
    Offset {
        base: Value,
        bytes: Value,
    },
    /// Memory of this call of the function, uninitialised, the same each time the statement runs.
    Alloca {
        bytes: u64,
        align: u32,
    },
}

/// Operations on one operand. Those from `Exp` on are mathematical functions, which the maths
/// pass expands before code is generated.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum UnaryOp {
    /// Sign flip of floats; two's complement of integers.
    Neg,
    /// Bits inverted.
    Not,
    /// Clears the sign of floats.
    FAbs,
    Sqrt,
    Floor,
    Ceil,
    /// Towards zero.
    Trunc,
    /// To nearest, ties to even.
    RoundEven,
    PopCount,
    /// Leading zero bits; the width for 0.
    CountLeadingZeros,
    Exp,
    Exp2,
    Expm1,
    Log,
    Log2,
    Log1p,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Tanh,
    Asinh,
    Acosh,
    Atanh,
    Erf,
    Erfc,
    Cbrt,
    Rsqrt,
    /// 1 / (1 + exp(-x)).
    Logistic,
}

/// Operations on two operands of one type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum BinaryOp {
    /// Floats rounded; integers wrapped; the same for the next two.
    Add,
    Sub,
    Mul,
    /// Floats.
    FDiv,
    /// Floats: the remainder of truncated division, with the sign of the dividend (C's fmod).
    FRem,
    /// Floats: NaN if either is; -0 < +0.
    FMin,
    FMax,
    /// By zero: -1. The least value by -1: the least value.
    SDiv,
    /// By zero: all ones.
    UDiv,
    /// By zero: the dividend. The least value by -1: 0.
    SRem,
    /// By zero: the dividend.
    URem,
    SMin,
    SMax,
    UMin,
    UMax,
    And,
    Or,
    Xor,
    /// A shift by the width or more (counted unsigned) gives 0, or copies of the sign for `AShr`.
    Shl,
    LShr,
    AShr,
    /// `a` with the sign of `b`. Floats.
    CopySign,
    /// Mathematical functions; see [`UnaryOp`].
    Atan2,
    Pow,
}

/// Comparisons. Float comparisons with NaN are false, `FNe` true.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum ComparePredicate {
    /// Integers and addresses.
    Eq,
    Ne,
    Slt,
    Sle,
    Sgt,
    Sge,
    Ult,
    Ule,
    Ugt,
    Uge,
    FEq,
    FNe,
    FLt,
    FLe,
    FGt,
    FGe,
}

/// Conversions; source and target scalars are those of the operand and the result.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Convert {
    /// Integer to a narrower one.
    Truncate,
    /// Integer to a wider one.
    ZeroExtend,
    SignExtend,
    /// Integer to float, rounded to nearest even.
    SignedToFloat,
    UnsignedToFloat,
    /// Float to integer towards zero; out of range goes to the nearest representable, NaN to 0.
    FloatToSigned,
    FloatToUnsigned,
    /// Float to float, rounded to nearest even, NaN to quiet NaN.
    Float,
    /// The same bits as another type of the same width.
    Bitcast,
}

impl Function {
    pub fn ty(&self, value: Value) -> Type {
        self.types[value.0 as usize]
    }

    pub fn new_value(&mut self, ty: Type) -> Value {
        let value = Value(self.types.len() as u32);
        self.types.push(ty);
        value
    }
}

impl Module {
    pub fn function(&self, name: &str) -> Option<FunctionId> {
        let index = self.functions.iter().position(|function| function.name == name)?;
        Some(FunctionId(index as u32))
    }
}

impl std::ops::Index<FunctionId> for Module {
    type Output = Function;
    fn index(&self, id: FunctionId) -> &Function {
        &self.functions[id.0 as usize]
    }
}

impl Convert {
    /// Whether a conversion goes from `from` to `to`.
    pub fn accepts(self, from: Scalar, to: Scalar) -> bool {
        match self {
            Convert::Truncate => from.is_integer() && to.is_integer() && to.bits() < from.bits(),
            Convert::ZeroExtend | Convert::SignExtend => {
                from.is_integer() && to.is_integer() && to.bits() > from.bits()
            }
            Convert::SignedToFloat | Convert::UnsignedToFloat => from.is_integer() && to.is_float(),
            Convert::FloatToSigned | Convert::FloatToUnsigned => from.is_float() && to.is_integer(),
            Convert::Float => from.is_float() && to.is_float() && from != to,
            Convert::Bitcast => from != to && from.bits() == to.bits(),
        }
    }
}
