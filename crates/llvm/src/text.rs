//! Kernel IR to LLVM IR text.
//!
//! A *unit* is one [`Linkage::Kernel`] function with copies of the inline functions that it calls. Its
//! text, which is an LLVM module, names nothing but what it holds and the other units that it calls,
//! these by names that the caller chooses: equal kernels have equal texts. Several units may share a
//! module ([`together`]).
//!
//! What holds in it:
//! - Truth values are `i1` in registers and bytes in memory and in calls; `f16` and `bf16` are
//!   `i16` everywhere, because arithmetic on them is done in `f32` and rounded by us.
//! - No instruction has a fast-math flag, and none can give poison: what LLVM leaves undefined is
//!   selected away before or after, as the documentation of the kernel IR says.
//! - Each LLVM value is `%tN` and each block `bN`, numbered as they are written, so that equal
//!   functions have equal texts whatever they are called.

mod arithmetic;
mod call;
mod control;
mod convert;
mod division;
mod memory;
mod operand;
mod turns;
mod vector;

use std::collections::BTreeMap;
use std::fmt::Write;

use rustc_hash::FxHashMap;
use rxla_base::{Error, Result};
use rxla_kernel::{
    BinaryOp, Convert, Function, FunctionId, Linkage, Module, Op, Scalar, Statement, Type, UnaryOp,
    Value,
};

use operand::{Abi, Ll, Operand};

/// The name of the unit's own function in its text.
pub const ENTRY: &str = "kernel";

/// Memory that a kernel may have on the stack: small beside the stacks of threads, so that none
/// overflows.
const MOST_STACK_BYTES: u64 = 256 << 10;

/// What the text says about the target; the rest (CPU, features) the target machine knows.
#[derive(Clone, Debug)]
pub struct TargetText {
    pub triple: String,
    pub data_layout: String,
    pub extremes: Extremes,
    pub bf16: Bf16,
    pub turns: Turns,
    /// Whether the code runs where results that are subnormal become zero.
    pub flushes: bool,
}

/// What becomes of iterations that the schedule has laid side by side, operation by operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turns {
    /// LLVM puts their operations into an order that it likes.
    Free,
    /// They stay as they are. Where constants alone fill the registers, which without AVX-512 are
    /// 16, LLVM would run one iteration after the other to need fewer, each a chain that waits.
    Kept,
}

/// What rounds f32 to bf16.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bf16 {
    Integers,
    /// AVX-512's `vcvtneps2bf16`, which loses subnormals: where there is one, integers do it.
    Instruction,
    /// The instruction alone, where subnormal results are lost anyway.
    Flushing,
}

/// What the larger or smaller of two floats is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extremes {
    Comparisons,
    /// AVX-512's `vrange`, which orders zeros by their signs but loses NaNs.
    Range,
}

/// What defines a unit, and what it calls.
pub struct UnitText {
    /// The unit's own names begin with [`OWN`].
    definitions: String,
    /// External functions, by name.
    declared: BTreeMap<String, Signature>,
}

/// Begins the names that are a unit's own until they are given to LLVM.
const OWN: &str = "@.";

impl UnitText {
    /// That of `function`. `name_of` gives the symbol of each other kernel.
    pub fn new(
        module: &Module,
        function: FunctionId,
        target: &TargetText,
        name_of: &dyn Fn(FunctionId) -> String,
    ) -> Result<UnitText> {
        let mut unit = Unit {
            module,
            entry: function,
            extremes: target.extremes,
            bf16: target.bf16,
            turns: target.turns,
            name_of,
            inline: Vec::new(),
            text: UnitText { definitions: String::new(), declared: BTreeMap::new() },
            thunks: FxHashMap::default(),
        };
        unit.define(function)?;
        let mut next = 0;
        while let Some(&inline) = unit.inline.get(next) {
            unit.define(inline)?;
            next += 1;
        }
        Ok(unit.text)
    }

    /// As a module, in which it is called [`ENTRY`].
    pub fn alone(&self, target: &TargetText) -> String {
        module_text(target, &self.definitions.replace(OWN, "@"), &self.declared)
    }

    /// Whether all that it calls is in it.
    pub(crate) fn calls_nobody(&self) -> bool {
        self.declared.is_empty()
    }
}

/// Units that call nobody as one module, each called by its symbol.
pub(crate) fn together(target: &TargetText, units: &[(&UnitText, &str)]) -> String {
    let entry = format!("{OWN}{ENTRY}(");
    let definitions = units.iter().enumerate().map(|(number, (unit, symbol))| {
        let named = unit.definitions.replace(&entry, &format!("@{symbol}("));
        named.replace(OWN, &format!("@u{number}."))
    });
    module_text(target, &definitions.collect::<String>(), &BTreeMap::new())
}

fn module_text(
    target: &TargetText,
    definitions: &str,
    declared: &BTreeMap<String, Signature>,
) -> String {
    let TargetText { triple, data_layout, .. } = target;
    let mut text = String::with_capacity(definitions.len() + 1024);
    let _ = writeln!(text, "target datalayout = \"{data_layout}\"\ntarget triple = \"{triple}\"\n");
    text.push_str(definitions);
    for (name, signature) in declared {
        let _ = writeln!(text, "declare {} @{name}({}) #0", signature.result, signature.parameters);
    }
    // LLVM takes `x - y == 0` for `x == y`, which holds where differences are never flushed.
    let mode = if target.flushes { " \"denormal-fp-math\"=\"preserve-sign,ieee\"" } else { "" };
    let _ = writeln!(text, "attributes #0 = {{ nounwind{mode} }}");
    let _ = writeln!(text, "attributes #1 = {{ nounwind alwaysinline{mode} }}");
    let _ = writeln!(text, "attributes #2 = {{ nounwind \"probe-stack\"=\"inline-asm\"{mode} }}");
    // Of branches that are hardly ever taken.
    text.push_str("!0 = !{!\"branch_weights\", i32 1, i32 1000}\n");
    text
}

/// A unit in the making.
struct Unit<'a> {
    module: &'a Module,
    entry: FunctionId,
    extremes: Extremes,
    bf16: Bf16,
    turns: Turns,
    name_of: &'a dyn Fn(FunctionId) -> String,
    /// The inline functions that are used, in order of first use.
    inline: Vec<FunctionId>,
    text: UnitText,
    /// By what they call.
    thunks: FxHashMap<String, String>,
}

#[derive(PartialEq)]
struct Signature {
    result: String,
    parameters: String,
}

impl Unit<'_> {
    fn define(&mut self, id: FunctionId) -> Result<()> {
        let function = &self.module[id];
        let header = self.header(id);
        let emitter = Emitter {
            unit: self,
            function,
            operands: vec![None; function.types.len()],
            depths: vec![0; function.types.len()],
            ops: vec![None; function.types.len()],
            bitwise: vec![false; function.types.len()],
            depth: 0,
            chunks: Vec::new(),
            out: String::new(),
            allocas: String::new(),
            alloca_bytes: 0,
            temps: 0,
            blocks: 0,
            block: 0,
        };
        let text = emitter
            .function(id, header)
            .map_err(|error| error.context(format!("in kernel {}", function.name)))?;
        self.text.definitions.push_str(&text);
        Ok(())
    }

    /// `define … @name` up to the parameters.
    fn header(&mut self, id: FunctionId) -> String {
        let result = self.result_type(id);
        if id == self.entry {
            format!("define {result} {OWN}{ENTRY}")
        } else {
            format!("define internal {result} {}", self.symbol(id))
        }
    }

    fn result_type(&self, id: FunctionId) -> String {
        self.module[id].result.map_or("void".to_owned(), |ty| Abi(ty).to_string())
    }

    /// How the unit calls a function, which is declared or copied into it.
    fn symbol(&mut self, id: FunctionId) -> String {
        if id == self.entry {
            return format!("{OWN}{ENTRY}");
        }
        match self.module[id].linkage {
            Linkage::Kernel => format!("@{}", (self.name_of)(id)),
            Linkage::Inline => {
                let known = self.inline.iter().position(|&inline| inline == id);
                let index = known.unwrap_or_else(|| {
                    self.inline.push(id);
                    self.inline.len() - 1
                });
                format!("{OWN}inline{index}")
            }
        }
    }

    fn declare(&mut self, name: &str, signature: Signature) -> Result<()> {
        match self.text.declared.get(name) {
            None => {
                self.text.declared.insert(name.to_owned(), signature);
                Ok(())
            }
            Some(known) if *known == signature => Ok(()),
            Some(_) => Err(Error::internal(format!("{name} is called with two signatures"))),
        }
    }
}

/// A function in the making.
struct Emitter<'u, 'a> {
    unit: &'u mut Unit<'a>,
    function: &'a Function,
    /// What each value of the function is in LLVM.
    operands: Vec<Option<Operand>>,
    /// In how many loops each value lies, so that addresses are added up from outside to inside.
    depths: Vec<u16>,
    /// What values are made by.
    ops: Vec<Option<&'a Op>>,
    /// Whether values are made bit by bit from others.
    bitwise: Vec<bool>,
    depth: u16,
    /// Finished text, with chunks left open for the phis of loops, whose operands come later.
    chunks: Vec<String>,
    out: String,
    allocas: String,
    alloca_bytes: u64,
    temps: u32,
    blocks: u32,
    /// The block that is being written.
    block: u32,
}

/// Writes one instruction that gives a value.
macro_rules! emit {
    ($emitter:expr, $($format:tt)*) => {{
        let temp = $emitter.temp();
        let _ = writeln!($emitter.out, "  {temp} = {}", format_args!($($format)*));
        temp
    }};
}
pub(crate) use emit;

/// Writes one instruction that gives none.
macro_rules! emit_void {
    ($emitter:expr, $($format:tt)*) => {{
        let _ = writeln!($emitter.out, "  {}", format_args!($($format)*));
    }};
}
pub(crate) use emit_void;

impl<'a> Emitter<'_, 'a> {
    fn function(mut self, id: FunctionId, header: String) -> Result<String> {
        let mut parameters = String::new();
        for (index, parameter) in self.function.parameters.iter().enumerate() {
            let ty = self.function.ty(parameter.value);
            let separator = if index == 0 { "" } else { ", " };
            let _ = write!(parameters, "{separator}{}", Abi(ty));
            if ty == Type::PTR {
                let noalias = if parameter.noalias { " noalias" } else { "" };
                let _ = write!(parameters, "{noalias}{}", Align(parameter.align));
            }
            let temp = self.temp();
            let _ = write!(parameters, " {temp}");
            let operand = self.from_abi(ty, temp);
            self.set(parameter.value, operand);
        }
        let function = self.function;
        self.statements(&function.body.statements)?;
        match function.result {
            None => emit_void!(self, "ret void"),
            Some(ty) => emit_void!(self, "ret {} {}", Abi(ty), Operand::Constant(abi(ty), 0)),
        }
        if self.alloca_bytes > MOST_STACK_BYTES {
            let bytes = self.alloca_bytes;
            return Err(Error::unimplemented(format!("a kernel with {bytes} bytes on the stack")));
        }
        let attributes = match function.linkage {
            Linkage::Inline if id != self.unit.entry => "#1",
            Linkage::Inline | Linkage::Kernel if self.alloca_bytes >= 4096 => "#2",
            Linkage::Inline | Linkage::Kernel => "#0",
        };
        let body = self.chunks.concat() + &self.out;
        let allocas = &self.allocas;
        Ok(format!("{header}({parameters}) {attributes} {{\nb0:\n{allocas}{body}}}\n\n"))
    }

    fn statements(&mut self, statements: &'a [Statement]) -> Result<()> {
        let mut ends = self.ends_of_turns(statements).into_iter().peekable();
        for (position, statement) in statements.iter().enumerate() {
            self.statement(statement)?;
            if ends.next_if_eq(&position).is_some() {
                self.end_turn(statement)?;
            }
        }
        Ok(())
    }

    fn statement(&mut self, statement: &'a Statement) -> Result<()> {
        match statement {
            Statement::Let { result, op } => {
                let ty = self.function.ty(*result);
                self.ops[result.0 as usize] = Some(op);
                self.bitwise[result.0 as usize] = self.is_bitwise(op);
                let operand = self.op(ty, op)?;
                self.set(*result, operand);
                Ok(())
            }
            Statement::Store { base, index, value, mask } => {
                self.store(*base, *index, *value, *mask)
            }
            Statement::For { kind: _, variable, low, high, step, carried, body } => {
                self.for_loop(*variable, (*low, *high, *step), carried, body)
            }
            Statement::If { condition, results, then, otherwise } => {
                self.if_else(*condition, results, then, otherwise)
            }
            Statement::While { carried, before, body } => self.while_loop(carried, before, body),
            Statement::Call { callee, arguments } => self.call(*callee, arguments),
            Statement::ParallelCall { context, callee, arguments, count, grain } => {
                self.parallel_call(*context, *callee, arguments, *count, *grain)
            }
            Statement::CallRuntime { name, arguments, result } => {
                self.call_runtime(name, arguments, *result)
            }
            Statement::ReturnIfNonzero { value } => self.return_if_nonzero(*value),
        }
    }

    fn op(&mut self, ty: Type, op: &Op) -> Result<Operand> {
        match op {
            Op::Constant { bits } => Ok(Operand::Constant(ty, *bits)),
            Op::Unary(op, a) => {
                let a = self.get(*a)?;
                self.unary(*op, ty, a)
            }
            Op::Binary(op, a, b) => {
                let (a, b) = (self.get(*a)?, self.get(*b)?);
                self.binary(*op, ty, a, b)
            }
            Op::Fma(a, b, c) => {
                let (a, b, c) = (self.get(*a)?, self.get(*b)?, self.get(*c)?);
                Ok(self.fma(ty, a, b, c))
            }
            Op::Compare(predicate, a, b) => {
                let from = self.function.ty(*a);
                let (a, b) = (self.get(*a)?, self.get(*b)?);
                Ok(self.compare(*predicate, from, a, b))
            }
            Op::Select(condition, a, b) => {
                let condition_type = self.function.ty(*condition);
                let condition = self.get(*condition)?;
                let (a, b) = (self.kept_apart(ty, *a)?, self.kept_apart(ty, *b)?);
                Ok(emit!(
                    self,
                    "select {} {condition}, {} {a}, {} {b}",
                    Ll(condition_type),
                    Ll(ty),
                    Ll(ty)
                ))
            }
            Op::Convert(convert, a) => {
                let from = self.function.ty(*a);
                let a = self.get(*a)?;
                Ok(self.convert(*convert, from, ty, a))
            }
            Op::Splat(a) => {
                let from = self.function.ty(*a);
                let a = self.get(*a)?;
                Ok(self.splat(from, ty, a))
            }
            Op::LaneIndex => self.lane_index(ty),
            Op::Extract(a, lane) => {
                let from = self.function.ty(*a);
                let a = self.get(*a)?;
                Ok(self.extract(from, a, *lane))
            }
            Op::Reduce(op, a) => {
                let from = self.function.ty(*a);
                let a = self.get(*a)?;
                self.reduce(*op, from, a)
            }
            Op::Shuffle(a, b, lanes) => {
                let from = self.function.ty(*a);
                let (a, b) = (self.get(*a)?, self.get(*b)?);
                Ok(self.shuffle(from, a, b, lanes))
            }
            Op::Load { base, index, mask } => self.load(ty, *base, *index, *mask),
            Op::Offset { base, bytes } => {
                let (base, bytes) = (self.get(*base)?, self.get(*bytes)?);
                Ok(emit!(self, "getelementptr i8, ptr {base}, i64 {bytes}"))
            }
            Op::Alloca { bytes, align } => Ok(self.alloca(*bytes, *align)),
        }
    }

    fn is_bitwise(&self, op: &Op) -> bool {
        let known = |value: &Value| self.bitwise[value.0 as usize];
        match op {
            Op::Binary(op, ..) => {
                matches!(op, BinaryOp::And | BinaryOp::Or | BinaryOp::Xor | BinaryOp::CopySign)
            }
            Op::Unary(UnaryOp::Not, _) => true,
            Op::Unary(UnaryOp::Neg | UnaryOp::FAbs, a) | Op::Convert(Convert::Bitcast, a) => {
                known(a)
            }
            _ => false,
        }
    }

    /// A value of which LLVM does not see how it was made, if that was bit by bit. It joins a choice
    /// between such a value and another one to AVX-512's `vpternlog` under a mask, and takes its
    /// operands in the wrong order where one is a constant and another the value otherwise (LLVM
    /// 22: `select m, (a & k) | (b & ~k), b`).
    fn kept_apart(&mut self, ty: Type, value: Value) -> Result<Operand> {
        let operand = self.get(value)?;
        let bits = ty.scalar.byte_width() * 8 * usize::from(ty.lanes);
        let joined = self.unit.extremes == Extremes::Range
            && ty.is_vector()
            && matches!(ty.scalar, Scalar::I32 | Scalar::I64 | Scalar::F32 | Scalar::F64)
            && matches!(bits, 128 | 256 | 512)
            && self.bitwise[value.0 as usize];
        if !joined {
            return Ok(operand);
        }
        let ll = Ll(ty);
        Ok(emit!(self, "call {ll} asm \"\", \"=v,0\"({ll} {operand})"))
    }

    fn temp(&mut self) -> Operand {
        self.temps += 1;
        Operand::Temp(self.temps)
    }

    /// A label for a block to come.
    fn label(&mut self) -> u32 {
        self.blocks += 1;
        self.blocks
    }

    /// Starts a block; the one before must have ended.
    fn start(&mut self, label: u32) {
        let _ = writeln!(self.out, "b{label}:");
        self.block = label;
    }

    fn get(&self, value: Value) -> Result<Operand> {
        let operand = self.operands.get(value.0 as usize).copied().flatten();
        operand.ok_or_else(|| Error::internal(format!("kernel value {} is not defined", value.0)))
    }

    fn set(&mut self, value: Value, operand: Operand) {
        self.operands[value.0 as usize] = Some(operand);
        self.depths[value.0 as usize] = self.depth;
    }

    /// A register from what was passed in a call.
    fn from_abi(&mut self, ty: Type, operand: Operand) -> Operand {
        if ty.scalar == Scalar::I1 {
            emit!(self, "icmp ne {} {operand}, {}", Abi(ty), Operand::Constant(abi(ty), 0))
        } else {
            operand
        }
    }

    /// What to pass in a call for a register.
    fn to_abi(&mut self, ty: Type, operand: Operand) -> Operand {
        match operand {
            Operand::Constant(ty, bits) => Operand::Constant(abi(ty), bits),
            Operand::Temp(_) if ty.scalar == Scalar::I1 => {
                emit!(self, "zext {} {operand} to {}", Ll(ty), Abi(ty))
            }
            Operand::Temp(_) => operand,
        }
    }

    fn alloca(&mut self, bytes: u64, align: u32) -> Operand {
        let temp = self.temp();
        self.alloca_bytes = self.alloca_bytes.saturating_add(bytes);
        let align = Align(align);
        let _ = writeln!(self.allocas, "  {temp} = alloca [{bytes} x i8]{}", align.after_comma());
        temp
    }
}

/// The type in memory and in calls.
fn abi(ty: Type) -> Type {
    if ty.scalar == Scalar::I1 { ty.with_scalar(Scalar::I8) } else { ty }
}

/// ` align 16`, or nothing where nothing is known.
struct Align(u32);

impl Align {
    fn after_comma(self) -> String {
        if self.0 > 1 { format!(",{self}") } else { String::new() }
    }
}

impl std::fmt::Display for Align {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0 > 1 { write!(f, " align {}", self.0) } else { Ok(()) }
    }
}

fn not_expanded(op: UnaryOp) -> Error {
    Error::unimplemented(format!("{op:?} in a kernel whose maths were not expanded"))
}

#[cfg(test)]
fn target_for_tests(extremes: Extremes, turns: Turns) -> TargetText {
    TargetText {
        triple: String::new(),
        data_layout: String::new(),
        extremes,
        bf16: Bf16::Integers,
        turns,
        flushes: false,
    }
}
