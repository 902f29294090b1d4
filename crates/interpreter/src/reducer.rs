//! Reducers that are one function of two values, recognised so that they run as typed loops.

use bytemuck::Pod;
use rxla_base::Result;
use rxla_hlo::op::{Binary, BinaryKind};
use rxla_hlo::{ArrayLiteral, ComputationId, ElementType, InstructionId, Module, Op};

use crate::context::DEPTH_LIMIT;
use crate::elementwise::real;
use crate::matmul::to_type;

/// What a computation of two scalars does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reducer {
    /// One commutative function of both.
    Binary(BinaryKind),
    /// Its first, its second parameter.
    First,
    Second,
    /// Anything else, of any number of parameters.
    General,
}

impl Reducer {
    pub(crate) fn of(module: &Module, computation: ComputationId) -> Reducer {
        Reducer::at(module, computation, 0)
    }

    fn at(module: &Module, computation: ComputationId, depth: u32) -> Reducer {
        if depth >= DEPTH_LIMIT {
            return Reducer::General;
        }
        let parameters = module[computation].parameters();
        let [first, second] = *parameters else {
            return Reducer::General;
        };
        let root = module[computation].root();
        if root == first {
            return Reducer::First;
        }
        if root == second {
            return Reducer::Second;
        }
        let both =
            |operands: &[InstructionId]| operands == [first, second] || operands == [second, first];
        match &module[root].op {
            Op::Binary(Binary { kind }) if both(module[root].operands()) => Reducer::binary(*kind),
            Op::Call(call) if module[root].operands() == parameters => {
                Reducer::at(module, call.to_apply, depth + 1)
            }
            Op::Fusion(fusion) if module[root].operands() == parameters => {
                Reducer::at(module, fusion.calls, depth + 1)
            }
            // A narrow float added in a wider type: what the fold does anyway.
            Op::Convert(_) => {
                let wide = module[root].operands()[0];
                let Op::Binary(Binary { kind }) = &module[wide].op else {
                    return Reducer::General;
                };
                let inner: Vec<_> = module[wide]
                    .operands()
                    .iter()
                    .filter(|&&i| matches!(module[i].op, Op::Convert(_)))
                    .map(|&i| module[i].operands()[0])
                    .collect();
                let narrow = module[root].shape.as_array().map(|shape| shape.element_type);
                let wide = module[wide].shape.as_array().map(|shape| shape.element_type);
                let widens = narrow.is_some_and(|t| t.is_float() && t.bit_width() < 32)
                    && wide == Some(ElementType::F32);
                if widens && both(&inner) { Reducer::binary(*kind) } else { Reducer::General }
            }
            _ => Reducer::General,
        }
    }

    fn binary(kind: BinaryKind) -> Reducer {
        use BinaryKind::*;
        match kind {
            Add | Multiply | Maximum | Minimum | And | Or | Xor => Reducer::Binary(kind),
            Atan2 | Complex | Divide | Mulhi | Power | Remainder | ShiftLeft
            | ShiftRightArithmetic | ShiftRightLogical | Subtract => Reducer::General,
        }
    }
}

/// A binary function on the type it is computed in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fold {
    kind: BinaryKind,
    /// Rounds to a narrower type after each step.
    round: Option<fn(f32) -> f32>,
    /// Elements are converted to this type first; narrow floats accumulate in `f32`.
    pub(crate) element_type: ElementType,
}

impl Fold {
    /// `None` if the function is not defined for the type.
    pub(crate) fn of(kind: BinaryKind, element_type: ElementType) -> Option<Fold> {
        use BinaryKind::*;
        use ElementType as E;
        let wide = match element_type {
            E::Pred => {
                let kind = match kind {
                    Add | Maximum | Or => Or,
                    Multiply | Minimum | And => And,
                    Xor => Xor,
                    _ => return None,
                };
                return Some(Fold { kind, round: None, element_type });
            }
            E::S1
            | E::S2
            | E::S4
            | E::S8
            | E::S16
            | E::S32
            | E::U1
            | E::U2
            | E::U4
            | E::U8
            | E::U16 => E::S32,
            E::S64 => E::S64,
            E::U32 => E::U32,
            E::U64 => E::U64,
            E::F64 => E::F64,
            E::C64 | E::C128 => element_type,
            E::F32
            | E::F16
            | E::Bf16
            | E::F8e5m2
            | E::F8e4m3
            | E::F8e4m3fn
            | E::F8e4m3b11fnuz
            | E::F8e3m4
            | E::F8e5m2fnuz
            | E::F8e4m3fnuz
            | E::F8e8m0fnu
            | E::F6e3m2fn
            | E::F6e2m3fn
            | E::F4e2m1fn => E::F32,
        };
        let allowed = match kind {
            Add | Multiply => true,
            Maximum | Minimum => !wide.is_complex(),
            And | Or | Xor => wide.is_integer(),
            _ => false,
        };
        allowed.then_some(Fold { kind, round: None, element_type: wide })
    }

    /// The same fold, but rounding to the element type after each step.
    pub(crate) fn stepwise(kind: BinaryKind, element_type: ElementType) -> Option<Fold> {
        let fold = Fold::of(kind, element_type)?;
        Some(Fold { round: rounding(element_type), ..fold })
    }

    /// The operand in the type of the fold.
    pub(crate) fn widen(self, operand: ArrayLiteral) -> Result<ArrayLiteral> {
        to_type(operand, self.element_type)
    }

    /// A scalar that changes no value it is combined with, to the bit; `None` for products of complex
    /// numbers, of which 1 times an infinity is a NaN.
    pub(crate) fn identity(self) -> Option<ArrayLiteral> {
        use rxla_hlo::native::{C64, C128, Pred};
        macro_rules! integer {
            ($t:ty) => {
                ArrayLiteral::scalar(match self.kind {
                    BinaryKind::Multiply => 1,
                    BinaryKind::Maximum => <$t>::MIN,
                    BinaryKind::Minimum => <$t>::MAX,
                    BinaryKind::And => !0,
                    _ => <$t>::default(),
                })
            };
        }
        macro_rules! float {
            ($t:ty) => {
                ArrayLiteral::scalar(match self.kind {
                    BinaryKind::Multiply => 1.0,
                    BinaryKind::Maximum => <$t>::NEG_INFINITY,
                    BinaryKind::Minimum => <$t>::INFINITY,
                    // Of the two zeros the one that leaves both as they are.
                    _ => -0.0,
                })
            };
        }
        Some(match self.element_type {
            ElementType::Pred => ArrayLiteral::scalar(Pred::from(self.kind == BinaryKind::And)),
            ElementType::S32 => integer!(i32),
            ElementType::S64 => integer!(i64),
            ElementType::U32 => integer!(u32),
            ElementType::U64 => integer!(u64),
            ElementType::F32 => float!(f32),
            ElementType::F64 => float!(f64),
            ElementType::C64 if self.kind == BinaryKind::Add => {
                ArrayLiteral::scalar(C64::new(-0.0, -0.0))
            }
            ElementType::C128 if self.kind == BinaryKind::Add => {
                ArrayLiteral::scalar(C128::new(-0.0, -0.0))
            }
            _other => return None,
        })
    }

    /// Calls the visitor with the function.
    pub(crate) fn visit<V: FoldVisitor>(self, visitor: V) -> V::Output {
        use rxla_hlo::native::{C64, C128};
        macro_rules! integer {
            ($t:ty) => {
                match self.kind {
                    BinaryKind::Add => visitor.visit(|a: $t, b: $t| a.wrapping_add(b)),
                    BinaryKind::Multiply => visitor.visit(|a: $t, b: $t| a.wrapping_mul(b)),
                    BinaryKind::Maximum => visitor.visit(|a: $t, b: $t| a.max(b)),
                    BinaryKind::Minimum => visitor.visit(|a: $t, b: $t| a.min(b)),
                    BinaryKind::And => visitor.visit(|a: $t, b: $t| a & b),
                    BinaryKind::Or => visitor.visit(|a: $t, b: $t| a | b),
                    _ => visitor.visit(|a: $t, b: $t| a ^ b),
                }
            };
        }
        macro_rules! float {
            ($t:ty) => {
                match self.kind {
                    BinaryKind::Add => visitor.visit(|a: $t, b: $t| a + b),
                    BinaryKind::Multiply => visitor.visit(|a: $t, b: $t| a * b),
                    BinaryKind::Maximum => visitor.visit(real::maximum::<$t>),
                    _ => visitor.visit(real::minimum::<$t>),
                }
            };
        }
        macro_rules! complex {
            ($t:ty) => {
                match self.kind {
                    BinaryKind::Add => visitor.visit(|a: $t, b: $t| a + b),
                    _ => visitor.visit(|a: $t, b: $t| a * b),
                }
            };
        }
        match self.element_type {
            ElementType::Pred => match self.kind {
                BinaryKind::And => visitor.visit(|a: u8, b: u8| a & b),
                BinaryKind::Or => visitor.visit(|a: u8, b: u8| a | b),
                _ => visitor.visit(|a: u8, b: u8| a ^ b),
            },
            ElementType::S32 => integer!(i32),
            ElementType::S64 => integer!(i64),
            ElementType::U32 => integer!(u32),
            ElementType::U64 => integer!(u64),
            ElementType::F32 => match (self.round, self.kind) {
                (Some(round), BinaryKind::Add) => visitor.visit(move |a: f32, b: f32| round(a + b)),
                (Some(round), BinaryKind::Multiply) => {
                    visitor.visit(move |a: f32, b: f32| round(a * b))
                }
                _ => float!(f32),
            },
            ElementType::F64 => float!(f64),
            ElementType::C64 => complex!(C64),
            ElementType::C128 => complex!(C128),
            other => unreachable!("nothing is folded in {other}"),
        }
    }
}

/// How a sum in `f32` is rounded to a narrower float.
fn rounding(element_type: ElementType) -> Option<fn(f32) -> f32> {
    use rxla_hlo::native::*;
    use rxla_hlo::small_float::SmallFloat;
    macro_rules! small {
        ($t:ty) => {
            Some(|x| <$t>::from_f32(x).to_f32())
        };
    }
    match element_type {
        ElementType::F16 => Some(|x| f16::from_f32(x).to_f32()),
        ElementType::Bf16 => Some(|x| bf16::from_f32(x).to_f32()),
        ElementType::F8e5m2 => small!(F8e5m2),
        ElementType::F8e4m3 => small!(F8e4m3),
        ElementType::F8e4m3fn => small!(F8e4m3fn),
        ElementType::F8e4m3b11fnuz => small!(F8e4m3b11fnuz),
        ElementType::F8e3m4 => small!(F8e3m4),
        ElementType::F8e5m2fnuz => small!(F8e5m2fnuz),
        ElementType::F8e4m3fnuz => small!(F8e4m3fnuz),
        ElementType::F8e8m0fnu => small!(F8e8m0fnu),
        ElementType::F6e3m2fn => small!(F6e3m2fn),
        ElementType::F6e2m3fn => small!(F6e2m3fn),
        ElementType::F4e2m1fn => small!(F4e2m1fn),
        _ => None,
    }
}

/// Something done with a fold's function, for its type.
pub(crate) trait FoldVisitor {
    type Output;

    fn visit<T: Pod, F: Fn(T, T) -> T + Copy>(self, function: F) -> Self::Output;
}

/// All elements of a run that is not empty, combined in a tree whose form depends on the length
/// only: halves down to 128 elements, eight lanes in those.
pub(crate) fn fold_run<T: Copy, F: Fn(T, T) -> T + Copy>(run: &[T], function: F) -> T {
    const LANES: usize = 8;
    const LEAF: usize = 128;
    if run.len() > LEAF {
        let middle = (run.len() / 2).next_multiple_of(LEAF).min(run.len() - 1);
        let (left, right) = run.split_at(middle);
        return function(fold_run(left, function), fold_run(right, function));
    }
    if run.len() < LANES {
        let (first, rest) = run.split_first().expect("a run that is not empty");
        return rest.iter().fold(*first, |sum, &x| function(sum, x));
    }
    let mut lanes: [T; LANES] = run[..LANES].try_into().expect("as many as lanes");
    let blocks = run[LANES..].chunks_exact(LANES);
    let rest = blocks.remainder();
    for block in blocks {
        for (lane, &x) in lanes.iter_mut().zip(block) {
            *lane = function(*lane, x);
        }
    }
    for (lane, &x) in lanes.iter_mut().zip(rest) {
        *lane = function(*lane, x);
    }
    let [a, b, c, d, e, f, g, h] = lanes;
    let left = function(function(a, b), function(c, d));
    function(left, function(function(e, f), function(g, h)))
}
