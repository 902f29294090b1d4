//! Calls: of functions of the module, in pieces on several threads, and of the runtime.

use std::fmt::Write;

use rxla_base::{Error, Result};
use rxla_kernel::{FunctionId, Linkage, Scalar, Type, Value};

use super::operand::Abi;
use super::{Align, Emitter, OWN, Signature, Unit, abi, emit, emit_void};

/// `void rxla_parallel_for(context, thunk, arguments, count, grain)`: calls
/// `thunk(arguments, begin, end)` for pieces that cover `0..count`.
pub(crate) const PARALLEL_FOR: &str = "rxla_parallel_for";

impl Emitter<'_, '_> {
    pub(super) fn call(&mut self, callee: FunctionId, arguments: &[Value]) -> Result<()> {
        let symbol = self.unit.callee(callee, arguments.len())?;
        let mut list = String::new();
        for (index, &argument) in arguments.iter().enumerate() {
            let ty = self.function.ty(argument);
            let operand = self.get(argument)?;
            let operand = self.to_abi(ty, operand);
            let separator = if index == 0 { "" } else { ", " };
            let _ = write!(list, "{separator}{} {operand}", Abi(ty));
        }
        emit_void!(self, "call void {symbol}({list})");
        Ok(())
    }

    /// Arguments go to the thunk as an array of words.
    pub(super) fn parallel_call(
        &mut self,
        context: Value,
        callee: FunctionId,
        arguments: &[Value],
        count: Value,
        grain: i64,
    ) -> Result<()> {
        let types: Vec<Type> = arguments.iter().map(|&value| self.function.ty(value)).collect();
        if let Some(ty) = types.iter().find(|ty| ty.is_vector()) {
            return Err(Error::unimplemented(format!("an argument {ty} of a parallel call")));
        }
        let symbol = self.unit.callee(callee, arguments.len() + 2)?;
        let thunk = self.unit.thunk(&symbol, &types);
        let words = self.alloca(8 * arguments.len().max(1) as u64, 8);
        for (index, (&argument, &ty)) in arguments.iter().zip(&types).enumerate() {
            let operand = self.get(argument)?;
            let operand = self.to_abi(ty, operand);
            let slot = emit!(self, "getelementptr i64, ptr {words}, i64 {index}");
            emit_void!(self, "store {} {operand}, ptr {slot}, align 8", Abi(ty));
        }
        let (context, count) = (self.get(context)?, self.get(count)?);
        let signature = Signature {
            result: "void".to_owned(),
            parameters: "ptr, ptr, ptr, i64, i64".to_owned(),
        };
        self.unit.declare(PARALLEL_FOR, signature)?;
        emit_void!(
            self,
            "call void @{PARALLEL_FOR}(ptr {context}, ptr {thunk}, ptr {words}, i64 {count}, i64 {grain})"
        );
        Ok(())
    }

    /// C leaves the upper bits of narrow arguments to the caller, who extends them with zeros.
    pub(super) fn call_runtime(
        &mut self,
        name: &str,
        arguments: &[Value],
        result: Option<Value>,
    ) -> Result<()> {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        if name.is_empty()
            || !name.chars().all(plain)
            || name.starts_with("llvm.")
            || name.starts_with('.')
        {
            return Err(Error::internal(format!("{name:?} is no name of a runtime function")));
        }
        let (mut parameters, mut list) = (String::new(), String::new());
        for (index, &argument) in arguments.iter().enumerate() {
            let ty = self.function.ty(argument);
            if ty.is_vector() {
                return Err(Error::internal(format!("{name} is called with an argument {ty}")));
            }
            let operand = self.get(argument)?;
            let operand = self.to_abi(ty, operand);
            let separator = if index == 0 { "" } else { ", " };
            let _ = write!(parameters, "{separator}{}", extended(ty));
            let _ = write!(list, "{separator}{} {operand}", extended(ty));
        }
        let result_type = result.map(|result| self.function.ty(result));
        let returned = result_type.map_or("void".to_owned(), |ty| Abi(ty).to_string());
        let call = format!("call {returned} @{name}({list})");
        self.unit.declare(name, Signature { result: returned, parameters })?;
        match (result, result_type) {
            (Some(result), Some(ty)) => {
                let operand = emit!(self, "{call}");
                let operand = self.from_abi(ty, operand);
                self.set(result, operand);
            }
            _ => emit_void!(self, "{call}"),
        }
        Ok(())
    }
}

impl Unit<'_> {
    /// How a function is called that takes `arguments` arguments; it is declared if need be.
    fn callee(&mut self, callee: FunctionId, arguments: usize) -> Result<String> {
        let function = &self.module[callee];
        if function.result.is_some() || function.parameters.len() != arguments {
            return Err(Error::internal(format!("{} cannot be called so", function.name)));
        }
        let symbol = self.symbol(callee);
        if function.linkage == Linkage::Kernel && callee != self.entry {
            let parameters = function.parameters.iter().map(|parameter| {
                let ty = function.ty(parameter.value);
                let noalias = if parameter.noalias { " noalias" } else { "" };
                let align = Align(if ty == Type::PTR { parameter.align } else { 1 });
                format!("{}{noalias}{align}", Abi(ty))
            });
            let parameters: Vec<String> = parameters.collect();
            let signature =
                Signature { result: "void".to_owned(), parameters: parameters.join(", ") };
            self.declare(&(self.name_of)(callee), signature)?;
        }
        Ok(symbol)
    }

    /// Defines the function that unpacks the words and calls `symbol`, once.
    fn thunk(&mut self, symbol: &str, types: &[Type]) -> String {
        if let Some(known) = self.thunks.get(symbol) {
            return known.clone();
        }
        let name = format!("{OWN}thunk{}", self.thunks.len());
        self.thunks.insert(symbol.to_owned(), name.clone());
        let mut body = String::new();
        let mut list = String::new();
        for (index, &ty) in types.iter().enumerate() {
            let abi = Abi(abi(ty));
            let _ = writeln!(body, "  %p{index} = getelementptr i64, ptr %words, i64 {index}");
            let _ = writeln!(body, "  %a{index} = load {abi}, ptr %p{index}, align 8");
            let _ = write!(list, "{abi} %a{index}, ");
        }
        let _ = write!(
            self.text.definitions,
            "define internal void {name}(ptr %words, i64 %begin, i64 %end) #0 {{\n{body}  \
             call void {symbol}({list}i64 %begin, i64 %end)\n  ret void\n}}\n\n"
        );
        name
    }
}

/// The type of an argument in C.
fn extended(ty: Type) -> String {
    match ty.scalar {
        Scalar::I1 | Scalar::I8 | Scalar::I16 => format!("{} zeroext", Abi(ty)),
        Scalar::F16
        | Scalar::BF16
        | Scalar::I32
        | Scalar::I64
        | Scalar::F32
        | Scalar::F64
        | Scalar::Ptr => Abi(ty).to_string(),
    }
}
