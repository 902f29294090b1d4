//! Builds a function statement by statement. Blocks are opened and closed like brackets; constants
//! are shared within the block where they are made.

use crate::ir::{
    BinaryOp, Block, Carried, ComparePredicate, Convert, Function, FunctionId, Linkage, LoopKind,
    Op, Parameter, Statement, UnaryOp, Value,
};
use crate::types::{Scalar, Type};

/// A function in the making. Types of operands are the caller's duty; the verifier checks them.
pub struct Builder {
    function: Function,
    /// The blocks that are open, the innermost last.
    open: Vec<Open>,
}

/// Blocks put aside by [`Builder::suspend`].
pub struct Suspended {
    inner: Vec<Open>,
    depth: usize,
}

struct Open {
    statements: Vec<Statement>,
    constants: Vec<(Type, u64, Value)>,
}

impl Builder {
    pub fn new(name: impl Into<String>, linkage: Linkage, result: Option<Type>) -> Builder {
        Builder {
            function: Function {
                name: name.into(),
                linkage,
                parameters: Vec::new(),
                result,
                body: Block::default(),
                types: Vec::new(),
            },
            open: vec![Open { statements: Vec::new(), constants: Vec::new() }],
        }
    }

    /// A parameter about which nothing more is known.
    pub fn parameter(&mut self, ty: Type) -> Value {
        let value = self.function.new_value(ty);
        self.function.parameters.push(Parameter { value, noalias: false, align: 1 });
        value
    }

    /// The address of a buffer of its own.
    pub fn buffer_parameter(&mut self, align: u32) -> Value {
        let value = self.function.new_value(Type::PTR);
        self.function.parameters.push(Parameter { value, noalias: true, align });
        value
    }

    pub fn ty(&self, value: Value) -> Type {
        self.function.ty(value)
    }

    pub fn finish(mut self) -> Function {
        assert_eq!(self.open.len(), 1, "every block is closed");
        self.function.body = self.close(Vec::new());
        self.function
    }

    /// Appends a statement made by hand.
    pub fn push(&mut self, statement: Statement) {
        self.open.last_mut().expect("a block is open").statements.push(statement);
    }

    /// A value without definition yet, for statements made by hand.
    pub fn fresh(&mut self, ty: Type) -> Value {
        self.function.new_value(ty)
    }

    pub fn op(&mut self, ty: Type, op: Op) -> Value {
        let result = self.fresh(ty);
        self.push(Statement::Let { result, op });
        result
    }

    pub fn constant(&mut self, ty: impl Into<Type>, bits: u64) -> Value {
        let ty = ty.into();
        for open in self.open.iter().rev() {
            let known = open.constants.iter().find(|known| (known.0, known.1) == (ty, bits));
            if let Some(&(_, _, value)) = known {
                return value;
            }
        }
        let value = self.op(ty, Op::Constant { bits });
        self.open.last_mut().expect("a block is open").constants.push((ty, bits, value));
        value
    }

    pub fn index(&mut self, value: i64) -> Value {
        self.constant(Type::I64, value as u64)
    }

    pub fn f32(&mut self, value: f32) -> Value {
        self.constant(Type::F32, u64::from(value.to_bits()))
    }

    pub fn f64(&mut self, value: f64) -> Value {
        self.constant(Type::F64, value.to_bits())
    }

    pub fn unary(&mut self, op: UnaryOp, a: Value) -> Value {
        self.op(self.ty(a), Op::Unary(op, a))
    }

    pub fn binary(&mut self, op: BinaryOp, a: Value, b: Value) -> Value {
        self.op(self.ty(a), Op::Binary(op, a, b))
    }

    pub fn add(&mut self, a: Value, b: Value) -> Value {
        self.binary(BinaryOp::Add, a, b)
    }

    pub fn sub(&mut self, a: Value, b: Value) -> Value {
        self.binary(BinaryOp::Sub, a, b)
    }

    pub fn mul(&mut self, a: Value, b: Value) -> Value {
        self.binary(BinaryOp::Mul, a, b)
    }

    pub fn fma(&mut self, a: Value, b: Value, c: Value) -> Value {
        self.op(self.ty(a), Op::Fma(a, b, c))
    }

    pub fn compare(&mut self, predicate: ComparePredicate, a: Value, b: Value) -> Value {
        let ty = self.ty(a).with_scalar(Scalar::I1);
        self.op(ty, Op::Compare(predicate, a, b))
    }

    pub fn select(&mut self, condition: Value, a: Value, b: Value) -> Value {
        self.op(self.ty(a), Op::Select(condition, a, b))
    }

    /// Converts to `to`; a conversion to the type it has already is the value itself.
    pub fn convert(&mut self, convert: Convert, a: Value, to: Scalar) -> Value {
        let from = self.ty(a);
        if from.scalar == to { a } else { self.op(from.with_scalar(to), Op::Convert(convert, a)) }
    }

    pub fn load(&mut self, ty: impl Into<Type>, base: Value, index: Value) -> Value {
        self.op(ty.into(), Op::Load { base, index, mask: None })
    }

    pub fn store(&mut self, base: Value, index: Value, value: Value) {
        self.push(Statement::Store { base, index, value, mask: None });
    }

    pub fn offset(&mut self, base: Value, bytes: Value) -> Value {
        self.op(Type::PTR, Op::Offset { base, bytes })
    }

    pub fn alloca(&mut self, bytes: u64, align: u32) -> Value {
        self.op(Type::PTR, Op::Alloca { bytes, align })
    }

    /// `for variable in low..high` with the values that `init` starts and the body's result
    /// carries on; gives their last values.
    pub fn for_loop(
        &mut self,
        kind: LoopKind,
        (low, high, step): (Value, Value, i64),
        init: &[Value],
        body: impl FnOnce(&mut Builder, Value, &[Value]) -> Vec<Value>,
    ) -> Vec<Value> {
        let variable = self.fresh(Type::I64);
        let carried = self.carry(init);
        let params: Vec<Value> = carried.iter().map(|carried| carried.param).collect();
        let body = self.block(|builder| body(builder, variable, &params));
        let results = carried.iter().map(|carried| carried.result).collect();
        self.push(Statement::For { kind, variable, low, high, step, carried, body });
        results
    }

    /// `if condition`, with the values that both blocks give.
    pub fn if_else(
        &mut self,
        condition: Value,
        then: impl FnOnce(&mut Builder) -> Vec<Value>,
        otherwise: impl FnOnce(&mut Builder) -> Vec<Value>,
    ) -> Vec<Value> {
        let then = self.block(then);
        let otherwise = self.block(otherwise);
        let types: Vec<Type> = then.yields.iter().map(|&value| self.ty(value)).collect();
        let results: Vec<Value> = types.into_iter().map(|ty| self.fresh(ty)).collect();
        self.push(Statement::If { condition, results: results.clone(), then, otherwise });
        results
    }

    /// `while before(…)`: `before` gives the condition, `body` the next values.
    pub fn while_loop(
        &mut self,
        init: &[Value],
        before: impl FnOnce(&mut Builder, &[Value]) -> Value,
        body: impl FnOnce(&mut Builder, &[Value]) -> Vec<Value>,
    ) -> Vec<Value> {
        let carried = self.carry(init);
        let params: Vec<Value> = carried.iter().map(|carried| carried.param).collect();
        let before = self.block(|builder| vec![before(builder, &params)]);
        let body = self.block(|builder| body(builder, &params));
        let results = carried.iter().map(|carried| carried.result).collect();
        self.push(Statement::While { carried, before, body });
        results
    }

    pub fn call(&mut self, callee: FunctionId, arguments: Vec<Value>) {
        self.push(Statement::Call { callee, arguments });
    }

    pub fn call_runtime(
        &mut self,
        name: impl Into<String>,
        arguments: Vec<Value>,
        result: Option<Type>,
    ) -> Option<Value> {
        let result = result.map(|ty| self.fresh(ty));
        self.push(Statement::CallRuntime { name: name.into(), arguments, result });
        result
    }

    pub fn return_if_nonzero(&mut self, value: Value) {
        self.push(Statement::ReturnIfNonzero { value });
    }

    /// Collects what `fill` builds into a block of its own that yields what `fill` returns.
    pub fn block(&mut self, fill: impl FnOnce(&mut Builder) -> Vec<Value>) -> Block {
        self.open();
        let yields = fill(self);
        self.close(yields)
    }

    /// Opens a block for callers that cannot use [`Builder::block`]; [`Builder::close`] ends it.
    pub fn open(&mut self) {
        self.open.push(Open { statements: Vec::new(), constants: Vec::new() });
    }

    /// How many blocks are open, the function's body included.
    pub fn depth(&self) -> usize {
        self.open.len()
    }

    /// Puts the blocks inside the outermost `depth` ones aside, so that what is built next stands
    /// before them: what does not change in a loop can be put before it.
    pub fn suspend(&mut self, depth: usize) -> Suspended {
        assert!(depth > 0, "the function's body stays");
        Suspended { inner: self.open.split_off(depth), depth }
    }

    pub fn resume(&mut self, suspended: Suspended) {
        assert_eq!(self.open.len(), suspended.depth, "blocks opened meanwhile are closed");
        self.open.extend(suspended.inner);
    }

    pub fn close(&mut self, yields: Vec<Value>) -> Block {
        let open = self.open.pop().expect("a block is open");
        Block { statements: open.statements, yields }
    }

    fn carry(&mut self, init: &[Value]) -> Vec<Carried> {
        let carry = |builder: &mut Builder, &init: &Value| {
            let ty = builder.ty(init);
            Carried { init, param: builder.fresh(ty), result: builder.fresh(ty) }
        };
        init.iter().map(|init| carry(self, init)).collect()
    }
}
