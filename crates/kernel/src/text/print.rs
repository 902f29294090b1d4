//! Printing.

use std::fmt;

use half::{bf16, f16};

use crate::ir::{
    Block, Carried, Function, FunctionId, Linkage, LoopKind, Module, Op, Statement, Value,
};
use crate::types::{Scalar, Type};

impl fmt::Display for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, function) in self.functions.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            Printer::new(f, function, Some(self)).function()?;
        }
        Ok(())
    }
}

/// The function alone: the functions it calls are named by number, `@#3`.
impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Printer::new(f, self, None).function()
    }
}

impl Function {
    /// The number that text gives to each value: the order of definitions. Values without one have
    /// none.
    pub fn printed_numbers(&self) -> Vec<Option<u32>> {
        let mut numbers = Numbers { of: vec![None; self.types.len()], next: 0 };
        for parameter in &self.parameters {
            numbers.define(parameter.value);
        }
        numbers.block(&self.body);
        numbers.of
    }
}

struct Numbers {
    of: Vec<Option<u32>>,
    next: u32,
}

impl Numbers {
    fn define(&mut self, value: Value) {
        if let Some(number @ None) = self.of.get_mut(value.0 as usize) {
            *number = Some(self.next);
            self.next += 1;
        }
    }

    fn block(&mut self, block: &Block) {
        for statement in &block.statements {
            match statement {
                Statement::Let { result, .. } => self.define(*result),
                Statement::For { variable, carried, body, .. } => {
                    self.results(carried);
                    self.define(*variable);
                    self.params(carried);
                    self.block(body);
                }
                Statement::If { results, then, otherwise, .. } => {
                    results.iter().for_each(|&result| self.define(result));
                    self.block(then);
                    self.block(otherwise);
                }
                Statement::While { carried, before, body } => {
                    self.results(carried);
                    self.params(carried);
                    self.block(before);
                    self.block(body);
                }
                Statement::CallRuntime { result, .. } => {
                    result.iter().for_each(|&result| self.define(result));
                }
                Statement::Store { .. }
                | Statement::Call { .. }
                | Statement::ParallelCall { .. }
                | Statement::ReturnIfNonzero { .. } => {}
            }
        }
    }

    fn results(&mut self, carried: &[Carried]) {
        carried.iter().for_each(|carried| self.define(carried.result));
    }

    fn params(&mut self, carried: &[Carried]) {
        carried.iter().for_each(|carried| self.define(carried.param));
    }
}

struct Printer<'a, 'f> {
    f: &'a mut fmt::Formatter<'f>,
    function: &'a Function,
    module: Option<&'a Module>,
    numbers: Vec<Option<u32>>,
    indent: usize,
}

/// Writes things with commas between them.
macro_rules! list {
    ($printer:expr, $items:expr, |$item:pat_param| $write:expr) => {
        for (position, $item) in $items.iter().enumerate() {
            if position > 0 {
                $printer.f.write_str(", ")?;
            }
            $write?;
        }
    };
}

impl<'a, 'f> Printer<'a, 'f> {
    fn new(
        f: &'a mut fmt::Formatter<'f>,
        function: &'a Function,
        module: Option<&'a Module>,
    ) -> Self {
        Printer { f, function, module, numbers: function.printed_numbers(), indent: 0 }
    }

    fn function(&mut self) -> fmt::Result {
        let word = match self.function.linkage {
            Linkage::Kernel => "kernel",
            Linkage::Inline => "inline",
        };
        write!(self.f, "{word} @{}(", self.function.name)?;
        list!(self, self.function.parameters, |parameter| {
            self.definition(parameter.value)?;
            if parameter.noalias {
                self.f.write_str(" noalias")?;
            }
            if parameter.align != 1 {
                write!(self.f, " align({})", parameter.align)?;
            }
            Ok(())
        });
        self.f.write_str(")")?;
        if let Some(result) = self.function.result {
            write!(self.f, " -> {result}")?;
        }
        self.f.write_str(" ")?;
        self.block(&self.function.body)?;
        self.f.write_str("\n")
    }

    /// A value; one that nothing defines shows its index after `?`.
    fn value(&mut self, value: Value) -> fmt::Result {
        match self.numbers.get(value.0 as usize).copied().flatten() {
            Some(number) => write!(self.f, "%{number}"),
            None => write!(self.f, "%?{}", value.0),
        }
    }

    fn values(&mut self, values: &[Value]) -> fmt::Result {
        list!(self, values, |&value| self.value(value));
        Ok(())
    }

    fn definition(&mut self, value: Value) -> fmt::Result {
        self.value(value)?;
        match self.function.types.get(value.0 as usize) {
            Some(ty) => write!(self.f, ": {ty}"),
            None => self.f.write_str(": ?"),
        }
    }

    /// `%1: f32, %2: i64 = `, or nothing.
    fn results(&mut self, results: &[Value]) -> fmt::Result {
        if results.is_empty() {
            return Ok(());
        }
        list!(self, results, |&result| self.definition(result));
        self.f.write_str(" = ")
    }

    fn carried(&mut self, carried: &[Carried]) -> fmt::Result {
        if carried.is_empty() {
            return Ok(());
        }
        self.f.write_str("carried (")?;
        list!(self, carried, |carried| {
            self.value(carried.param)?;
            self.f.write_str(" = ")?;
            self.value(carried.init)
        });
        self.f.write_str(") ")
    }

    fn line(&mut self) -> fmt::Result {
        write!(self.f, "\n{:1$}", "", self.indent * 2)
    }

    fn block(&mut self, block: &Block) -> fmt::Result {
        self.f.write_str("{")?;
        self.indent += 1;
        for statement in &block.statements {
            self.line()?;
            self.statement(statement)?;
        }
        if !block.yields.is_empty() {
            self.line()?;
            self.f.write_str("yield ")?;
            self.values(&block.yields)?;
        }
        self.indent -= 1;
        self.line()?;
        self.f.write_str("}")
    }

    fn statement(&mut self, statement: &Statement) -> fmt::Result {
        match statement {
            Statement::Let { result, op } => {
                self.definition(*result)?;
                self.f.write_str(" = ")?;
                let ty = self.function.types.get(result.0 as usize).copied();
                self.op(ty.unwrap_or(Type::I64), op)
            }
            Statement::Store { base, index, value, mask } => {
                self.f.write_str("store ")?;
                self.element(*base, *index)?;
                self.f.write_str(", ")?;
                self.value(*value)?;
                self.mask(*mask)
            }
            Statement::For { kind, variable, low, high, step, carried, body } => {
                self.results(&carried.iter().map(|carried| carried.result).collect::<Vec<_>>())?;
                self.f.write_str("for ")?;
                if *kind != LoopKind::Sequential {
                    write!(self.f, "{} ", kind.name())?;
                }
                self.value(*variable)?;
                self.f.write_str(" in ")?;
                self.value(*low)?;
                self.f.write_str("..")?;
                self.value(*high)?;
                write!(self.f, " step {step} ")?;
                self.carried(carried)?;
                self.block(body)
            }
            Statement::If { condition, results, then, otherwise } => {
                self.results(results)?;
                self.f.write_str("if ")?;
                self.value(*condition)?;
                self.f.write_str(" ")?;
                self.block(then)?;
                if *otherwise == Block::default() {
                    return Ok(());
                }
                self.f.write_str(" else ")?;
                self.block(otherwise)
            }
            Statement::While { carried, before, body } => {
                self.results(&carried.iter().map(|carried| carried.result).collect::<Vec<_>>())?;
                self.f.write_str("while ")?;
                self.carried(carried)?;
                self.block(before)?;
                self.f.write_str(" do ")?;
                self.block(body)
            }
            Statement::Call { callee, arguments } => {
                self.f.write_str("call ")?;
                self.call(*callee, arguments)
            }
            Statement::ParallelCall { context, callee, arguments, count, grain } => {
                self.f.write_str("parallel_call ")?;
                self.value(*context)?;
                self.f.write_str(", ")?;
                self.call(*callee, arguments)?;
                self.f.write_str(" count ")?;
                self.value(*count)?;
                write!(self.f, " grain {grain}")
            }
            Statement::CallRuntime { name, arguments, result } => {
                if let Some(result) = result {
                    self.results(&[*result])?;
                }
                write!(self.f, "call_runtime @{name}(")?;
                self.values(arguments)?;
                self.f.write_str(")")
            }
            Statement::ReturnIfNonzero { value } => {
                self.f.write_str("return_if_nonzero ")?;
                self.value(*value)
            }
        }
    }

    fn call(&mut self, callee: FunctionId, arguments: &[Value]) -> fmt::Result {
        let name = self.module.and_then(|module| module.functions.get(callee.0 as usize));
        match name {
            Some(function) => write!(self.f, "@{}(", function.name)?,
            None => write!(self.f, "@#{}(", callee.0)?,
        }
        self.values(arguments)?;
        self.f.write_str(")")
    }

    fn element(&mut self, base: Value, index: Value) -> fmt::Result {
        self.value(base)?;
        self.f.write_str("[")?;
        self.value(index)?;
        self.f.write_str("]")
    }

    fn mask(&mut self, mask: Option<Value>) -> fmt::Result {
        let Some(mask) = mask else { return Ok(()) };
        self.f.write_str(" mask ")?;
        self.value(mask)
    }

    fn op(&mut self, ty: Type, op: &Op) -> fmt::Result {
        match op {
            Op::Constant { bits } => {
                write!(self.f, "constant {}", constant_text(ty.scalar, *bits))
            }
            Op::Unary(unary, a) => self.named(unary.name(), &[*a]),
            Op::Binary(binary, a, b) => self.named(binary.name(), &[*a, *b]),
            Op::Fma(a, b, c) => self.named("fma", &[*a, *b, *c]),
            Op::Compare(predicate, a, b) => {
                self.f.write_str("compare ")?;
                self.named(predicate.name(), &[*a, *b])
            }
            Op::Select(condition, a, b) => self.named("select", &[*condition, *a, *b]),
            Op::Convert(convert, a) => {
                self.f.write_str("convert ")?;
                self.named(convert.name(), &[*a])
            }
            Op::Splat(a) => self.named("splat", &[*a]),
            Op::LaneIndex => self.f.write_str("lane_index"),
            Op::Extract(a, lane) => {
                self.named("extract", &[*a])?;
                write!(self.f, "[{lane}]")
            }
            Op::Reduce(binary, a) => {
                self.f.write_str("reduce ")?;
                self.named(binary.name(), &[*a])
            }
            Op::Shuffle(a, b, lanes) => {
                self.named("shuffle", &[*a, *b])?;
                self.f.write_str(" [")?;
                list!(self, lanes, |lane| write!(self.f, "{lane}"));
                self.f.write_str("]")
            }
            Op::Load { base, index, mask } => {
                self.f.write_str("load ")?;
                self.element(*base, *index)?;
                self.mask(*mask)
            }
            Op::Offset { base, bytes } => self.named("offset", &[*base, *bytes]),
            Op::Alloca { bytes, align } => write!(self.f, "alloca {bytes} align({align})"),
        }
    }

    fn named(&mut self, name: &str, operands: &[Value]) -> fmt::Result {
        write!(self.f, "{name} ")?;
        self.values(operands)
    }
}

/// A lane's bits as a number that reads back as the same bits; hexadecimal where no number does.
fn constant_text(scalar: Scalar, bits: u64) -> String {
    // The shortest decimals that read back as the same float of that type.
    let float = match scalar {
        Scalar::I1 if bits <= 1 => return if bits == 1 { "true" } else { "false" }.to_owned(),
        Scalar::I8 if bits >> 8 == 0 => return (bits as i8).to_string(),
        Scalar::I16 if bits >> 16 == 0 => return (bits as i16).to_string(),
        Scalar::I32 if bits >> 32 == 0 => return (bits as i32).to_string(),
        Scalar::I64 => return (bits as i64).to_string(),
        Scalar::F16 if bits >> 16 == 0 => f16::from_bits(bits as u16).to_f64(),
        Scalar::BF16 if bits >> 16 == 0 => bf16::from_bits(bits as u16).to_f64(),
        Scalar::F32 if bits >> 32 == 0 => {
            let value = f32::from_bits(bits as u32);
            return if value.is_finite() { format!("{value:?}") } else { format!("{bits:#x}") };
        }
        Scalar::F64 => f64::from_bits(bits),
        Scalar::I1
        | Scalar::I8
        | Scalar::I16
        | Scalar::I32
        | Scalar::F16
        | Scalar::BF16
        | Scalar::F32
        | Scalar::Ptr => f64::NAN,
    };
    if float.is_finite() { format!("{float:?}") } else { format!("{bits:#x}") }
}

/// The first line of a statement.
pub(crate) fn head(function: &Function, module: &Module, statement: &Statement) -> String {
    struct Head<'a>(&'a Function, &'a Module, &'a Statement);
    impl fmt::Display for Head<'_> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            Printer::new(f, self.0, Some(self.1)).statement(self.2)
        }
    }
    let text = Head(function, module, statement).to_string();
    text.lines().next().unwrap_or_default().to_owned()
}
