//! Approximations as operations of a kernel: values of a function are lanes, and calling an
//! operation on them appends it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::marker::PhantomData;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Sub};

use super::lanes::{Bits, Float, Mask};
use super::precision::{Double, Precision};
use crate::ir::{BinaryOp, Block, ComparePredicate, Convert, Op, Statement, UnaryOp, Value};
use crate::types::Type;

/// Where operations are appended. Shared by the values, since operators take nothing but values.
pub(super) struct Emitter(RefCell<State>);

struct State {
    types: Vec<Type>,
    /// The blocks that are open, the innermost last.
    open: Vec<Open>,
}

#[derive(Default)]
struct Open {
    statements: Vec<Statement>,
    /// What has been computed in the block: it is not computed again, so that the sine and the
    /// cosine of a value share their reduction.
    known: HashMap<(Type, Op), Value>,
    /// The results of rare branches, by their condition and their common values.
    branches: HashMap<(Value, [Value; 2]), [Value; 2]>,
}

impl Emitter {
    /// Continues with the values of a function.
    pub(super) fn new(types: Vec<Type>) -> Emitter {
        Emitter(RefCell::new(State { types, open: Vec::new() }))
    }

    pub(super) fn into_types(self) -> Vec<Type> {
        self.0.into_inner().types
    }

    pub(super) fn block(&self, fill: impl FnOnce()) -> Vec<Statement> {
        self.0.borrow_mut().open.push(Open::default());
        fill();
        self.0.borrow_mut().open.pop().expect("it was opened").statements
    }

    pub(super) fn ty(&self, value: Value) -> Type {
        self.0.borrow().types[value.0 as usize]
    }

    pub(super) fn push(&self, statement: Statement) {
        self.with_innermost(|open| open.statements.push(statement));
    }

    fn with_innermost<R>(&self, f: impl FnOnce(&mut Open) -> R) -> R {
        f(self.0.borrow_mut().open.last_mut().expect("a block is open"))
    }

    fn fresh(&self, ty: Type) -> Value {
        let types = &mut self.0.borrow_mut().types;
        types.push(ty);
        Value(types.len() as u32 - 1)
    }

    pub(super) fn op(&self, ty: Type, op: Op) -> Value {
        let key = (ty, op);
        let known = self.find(|open| open.known.get(&key).copied());
        known.unwrap_or_else(|| {
            let result = self.fresh(ty);
            self.push(Statement::Let { result, op: key.1.clone() });
            self.with_innermost(|open| open.known.insert(key, result));
            result
        })
    }

    /// Finds something in the open blocks, which all are before this place.
    fn find<R>(&self, f: impl Fn(&Open) -> Option<R>) -> Option<R> {
        self.0.borrow().open.iter().rev().find_map(f)
    }

    fn constant(&self, ty: Type, bits: u64) -> Value {
        self.op(ty, Op::Constant { bits })
    }
}

/// A value of floats, integers or truth values; P is the format, for integers that of floats as
/// wide.
pub(super) struct Lanes<'a, P, Kind> {
    emitter: &'a Emitter,
    pub(super) value: Value,
    kind: PhantomData<(P, Kind)>,
}

pub(super) struct Floats;
pub(super) struct Integers;
pub(super) struct Truths;

impl<P, Kind> Clone for Lanes<'_, P, Kind> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P, Kind> Copy for Lanes<'_, P, Kind> {}

impl<'a, P, Kind> Lanes<'a, P, Kind> {
    pub(super) fn new(emitter: &'a Emitter, value: Value) -> Self {
        Lanes { emitter, value, kind: PhantomData }
    }

    fn unary(self, op: UnaryOp) -> Self {
        Lanes::new(self.emitter, self.emitter.op(self.ty(), Op::Unary(op, self.value)))
    }

    fn binary(self, op: BinaryOp, other: Self) -> Self {
        let op = Op::Binary(op, self.value, other.value);
        Lanes::new(self.emitter, self.emitter.op(self.ty(), op))
    }

    fn compare(self, predicate: ComparePredicate, other: Self) -> Lanes<'a, P, Truths> {
        let ty = self.ty().with_scalar(crate::Scalar::I1);
        let op = Op::Compare(predicate, self.value, other.value);
        Lanes::new(self.emitter, self.emitter.op(ty, op))
    }

    fn choose(mask: Lanes<'a, P, Truths>, a: Self, b: Self) -> Self {
        let op = Op::Select(mask.value, a.value, b.value);
        Lanes::new(a.emitter, a.emitter.op(a.ty(), op))
    }

    /// No operation if the type is the same.
    fn convert<P2, Kind2>(self, convert: Convert, scalar: crate::Scalar) -> Lanes<'a, P2, Kind2> {
        let (from, to) = (self.ty(), self.ty().with_scalar(scalar));
        let op = || self.emitter.op(to, Op::Convert(convert, self.value));
        Lanes::new(self.emitter, if from == to { self.value } else { op() })
    }

    fn ty(self) -> Type {
        self.emitter.ty(self.value)
    }
}

macro_rules! operators {
    ($kind:ident: $($operator:ident $method:ident $op:ident),*) => {
        $(impl<P> $operator for Lanes<'_, P, $kind> {
            type Output = Self;
            fn $method(self, other: Self) -> Self {
                self.binary(BinaryOp::$op, other)
            }
        })*
    };
}

operators!(Floats: Add add Add, Sub sub Sub, Mul mul Mul, Div div FDiv);
operators!(Integers: Add add Add, Sub sub Sub, Mul mul Mul);
operators!(Integers: BitAnd bitand And, BitOr bitor Or, BitXor bitxor Xor);
operators!(Truths: BitAnd bitand And, BitOr bitor Or, BitXor bitxor Xor);

impl<P> Neg for Lanes<'_, P, Floats> {
    type Output = Self;
    fn neg(self) -> Self {
        self.unary(UnaryOp::Neg)
    }
}

impl<P> Not for Lanes<'_, P, Truths> {
    type Output = Self;
    fn not(self) -> Self {
        self.unary(UnaryOp::Not)
    }
}

impl<P> Mask for Lanes<'_, P, Truths> {}

impl<'a, P: Precision> Bits for Lanes<'a, P, Integers> {
    type Mask = Lanes<'a, P, Truths>;

    fn constant(self, value: i64) -> Self {
        let unused = 64 - P::INTEGER.bits();
        let bits = (value as u64) << unused >> unused;
        Lanes::new(self.emitter, self.emitter.constant(self.ty(), bits))
    }
    fn shl(self, count: Self) -> Self {
        self.binary(BinaryOp::Shl, count)
    }
    fn lshr(self, count: Self) -> Self {
        self.binary(BinaryOp::LShr, count)
    }
    fn ashr(self, count: Self) -> Self {
        self.binary(BinaryOp::AShr, count)
    }
    fn equals(self, other: Self) -> Self::Mask {
        self.compare(ComparePredicate::Eq, other)
    }
    fn below(self, other: Self) -> Self::Mask {
        self.compare(ComparePredicate::Slt, other)
    }
    fn select(mask: Self::Mask, a: Self, b: Self) -> Self {
        Self::choose(mask, a, b)
    }
}

impl<'a, P: Precision> Float for Lanes<'a, P, Floats> {
    type Precision = P;
    type Bits = Lanes<'a, P, Integers>;
    type Mask = Lanes<'a, P, Truths>;
    type Wide = Lanes<'a, Double, Floats>;

    fn constant(self, value: f64) -> Self {
        Lanes::new(self.emitter, self.emitter.constant(self.ty(), P::bits_of(value)))
    }
    fn integer(self, value: i64) -> Self::Bits {
        let unused = 64 - P::INTEGER.bits();
        let bits = (value as u64) << unused >> unused;
        let ty = self.ty().with_scalar(P::INTEGER);
        Lanes::new(self.emitter, self.emitter.constant(ty, bits))
    }
    fn fma(self, factor: Self, addend: Self) -> Self {
        let op = Op::Fma(self.value, factor.value, addend.value);
        Lanes::new(self.emitter, self.emitter.op(self.ty(), op))
    }
    fn abs(self) -> Self {
        self.unary(UnaryOp::FAbs)
    }
    fn sqrt(self) -> Self {
        self.unary(UnaryOp::Sqrt)
    }
    fn floor(self) -> Self {
        self.unary(UnaryOp::Floor)
    }
    fn copy_sign(self, sign: Self) -> Self {
        self.binary(BinaryOp::CopySign, sign)
    }
    fn below(self, other: Self) -> Self::Mask {
        self.compare(ComparePredicate::FLt, other)
    }
    fn equals(self, other: Self) -> Self::Mask {
        self.compare(ComparePredicate::FEq, other)
    }
    fn differs(self, other: Self) -> Self::Mask {
        self.compare(ComparePredicate::FNe, other)
    }
    fn select(mask: Self::Mask, a: Self, b: Self) -> Self {
        Self::choose(mask, a, b)
    }
    fn bits(self) -> Self::Bits {
        self.convert(Convert::Bitcast, P::INTEGER)
    }
    fn from_bits(bits: Self::Bits) -> Self {
        bits.convert(Convert::Bitcast, P::FLOAT)
    }
    fn from_integer(bits: Self::Bits) -> Self {
        bits.convert(Convert::SignedToFloat, P::FLOAT)
    }
    fn widen(self) -> Self::Wide {
        self.convert(Convert::Float, Double::FLOAT)
    }
    fn narrow(wide: Self::Wide) -> Self {
        wide.convert(Convert::Float, P::FLOAT)
    }
    fn widen_bits(bits: Self::Bits) -> Lanes<'a, Double, Integers> {
        bits.convert(Convert::ZeroExtend, Double::INTEGER)
    }
    fn narrow_bits(wide: Lanes<'a, Double, Integers>) -> Self::Bits {
        wide.convert(Convert::Truncate, P::INTEGER)
    }

    /// A branch on whether any lane is marked.
    fn rarely(
        mask: Self::Mask,
        common: (Self, Self::Bits),
        rare: impl FnOnce() -> (Self, Self::Bits),
    ) -> (Self, Self::Bits) {
        let emitter = mask.emitter;
        let key = (mask.value, [common.0.value, common.1.value]);
        let known = emitter.find(|open| open.branches.get(&key).copied());
        let [float, bits] = known.unwrap_or_else(|| {
            let results = branch(mask, common, rare);
            emitter.with_innermost(|open| open.branches.insert(key, results));
            results
        });
        (Lanes::new(emitter, float), Lanes::new(emitter, bits))
    }
}

fn branch<'a, P: Precision>(
    mask: Lanes<'a, P, Truths>,
    common: (Lanes<'a, P, Floats>, Lanes<'a, P, Integers>),
    rare: impl FnOnce() -> (Lanes<'a, P, Floats>, Lanes<'a, P, Integers>),
) -> [Value; 2] {
    let emitter = mask.emitter;
    let condition = match mask.ty().is_vector() {
        true => emitter.op(Type::I1, Op::Reduce(BinaryOp::Or, mask.value)),
        false => mask.value,
    };
    let mut yields = [common.0.value, common.1.value];
    let otherwise = Block { statements: Vec::new(), yields: yields.to_vec() };
    let statements = emitter.block(|| {
        let (float, bits) = rare();
        let float = Float::select(mask, float, common.0);
        let bits = Bits::select(mask, bits, common.1);
        yields = [float.value, bits.value];
    });
    let then = Block { statements, yields: yields.to_vec() };
    let results = yields.map(|value| emitter.fresh(emitter.ty(value)));
    let statement = Statement::If { condition, results: results.to_vec(), then, otherwise };
    emitter.push(statement);
    results
}
