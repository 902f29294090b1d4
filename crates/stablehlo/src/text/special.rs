//! Pretty forms that need code of their own, from text.

use rxla_base::Diagnostic;

use super::cursor::Result;
use super::operations::Reading;
use super::parser::Parser;
use super::pieces::{attribute_array, string};
use super::regions::Argument;
use crate::mlir::{
    Attribute, AttributeKind, Block, DenseArray, Location, Operation, OperationAttribute, Type,
};

/// Operations that may stand alone for the region of `stablehlo.reduce`: binary, commutative and
/// without regions.
pub(super) const COMMUTATIVE: &[&str] = &[
    "stablehlo.add",
    "stablehlo.and",
    "stablehlo.maximum",
    "stablehlo.minimum",
    "stablehlo.multiply",
    "stablehlo.or",
    "stablehlo.xor",
];

impl<'a> Parser<'a> {
    /// `module @name attributes {…} {…}`.
    pub(super) fn module_operation(&mut self, reading: &mut Reading<'a>) -> Result<()> {
        if self.sees("@") {
            let name = self.symbol_name()?;
            reading.set("sym_name", string(name));
        }
        if self.eat_word("attributes") {
            self.attribute_dictionary(reading)?;
        }
        let region = self.new_region(reading.op);
        self.region(region, &reading.name.clone(), Vec::new())?;
        if self.module.regions[region].blocks.is_empty() {
            self.module.add_block(region);
        }
        Ok(())
    }

    /// `func.func public @name(%arg0: type {…}) -> (type {…}) attributes {…} {…}`.
    pub(super) fn function(&mut self, reading: &mut Reading<'a>) -> Result<()> {
        for visibility in ["public", "private", "nested"] {
            if self.eat_word(visibility) {
                reading.set("sym_visibility", string(visibility));
                break;
            }
        }
        let name = self.symbol_name()?;
        reading.set("sym_name", string(name));
        let (mut named, mut inputs, mut input_attributes) = (Vec::new(), Vec::new(), Vec::new());
        self.skip_space();
        let start = self.offset();
        for (argument, ty, attributes) in
            self.list("(", ")", |parser| parser.function_argument())?
        {
            named.extend(argument);
            inputs.push(ty);
            input_attributes.push(attributes);
        }
        let span = self.span_from(start);
        if !named.is_empty() && named.len() != inputs.len() {
            return Err(self.error(span, "either all arguments are named or none"));
        }
        let (mut results, mut result_attributes) = (Vec::new(), Vec::new());
        if self.eat("->") {
            if self.sees("(") {
                for (ty, attributes) in self.list("(", ")", |parser| {
                    let ty = parser.ty()?;
                    Ok((ty, parser.optional_dictionary()?))
                })? {
                    results.push(ty);
                    result_attributes.push(attributes);
                }
            } else {
                results.push(self.ty()?);
            }
        }
        reading.set("function_type", Attribute::Type(Type::function(inputs, results)));
        if let Some(attributes) = attribute_array(input_attributes) {
            reading.set("arg_attrs", attributes);
        }
        if let Some(attributes) = attribute_array(result_attributes) {
            reading.set("res_attrs", attributes);
        }
        if self.eat_word("attributes") {
            self.attribute_dictionary(reading)?;
        }
        let region = self.new_region(reading.op);
        if self.sees("{") && !self.sees("{-#") {
            self.region(region, "func.func", named)?;
        }
        Ok(())
    }

    /// `{…} value`, whose type is the result's; or the generic form without the quoted name.
    pub(super) fn constant(&mut self, reading: &mut Reading<'a>) -> Result<()> {
        if self.eat("(") {
            self.expect(")")?;
            if self.eat("<") {
                for entry in self.dictionary_entries()? {
                    let kind = AttributeKind::Inherent;
                    let (name, value) = (entry.name, entry.value);
                    reading.attributes.push(OperationAttribute { name, kind, value });
                }
                self.expect(">")?;
            }
            self.attribute_dictionary(reading)?;
            self.expect(":")?;
            return self.functional_types(reading);
        }
        self.attribute_dictionary(reading)?;
        self.skip_space();
        let start = self.offset();
        let value = self.attribute()?;
        let ty = match &value {
            Attribute::DenseElements(elements) => elements.ty().clone(),
            Attribute::DenseStrings(strings) => strings.ty.clone(),
            Attribute::DenseResource(resource) => resource.ty.clone(),
            Attribute::Bool(_) => Type::I1,
            Attribute::Integer { ty, .. } => ty.clone(),
            Attribute::Float { ty, .. } => Type::Float(*ty),
            _ => {
                let span = self.span_from(start);
                return Err(Box::new(
                    Diagnostic::error("expected the elements of a tensor")
                        .at(span)
                        .hint("write `dense<…> : tensor<…>`"),
                ));
            }
        };
        reading.result_types = vec![ty];
        reading.set("value", value);
        Ok(())
    }

    /// `(%x init: %y), … across dimensions = […] : types` with `applies op` before or a region
    /// after.
    pub(super) fn reduce(&mut self, reading: &mut Reading<'a>) -> Result<()> {
        let mut inits = Vec::new();
        if self.sees("(") {
            loop {
                self.expect("(")?;
                let operand = self.value_use()?;
                reading.operands.push(operand);
                self.expect_keyword("init")?;
                self.expect(":")?;
                inits.push(self.value_use()?);
                self.expect(")")?;
                if !self.eat(",") {
                    break;
                }
            }
        }
        reading.operands.append(&mut inits);
        let mut applied = None;
        if self.eat_word("applies") {
            self.skip_space();
            let start = self.offset();
            let name = if self.sees("\"") {
                String::from_utf8_lossy(&self.string()?).into_owned()
            } else {
                self.expect_word("an operation")?.to_owned()
            };
            let name = super::mhlo::same_as(&name).unwrap_or(name);
            let span = self.span_from(start);
            if !COMMUTATIVE.contains(&name.as_str()) {
                return Err(Box::new(
                    Diagnostic::error(format!("`{name}` cannot stand for a whole reduction"))
                        .at(span)
                        .hint(format!("use one of {}, or a region", COMMUTATIVE.join(", "))),
                ));
            }
            applied = Some(name);
        }
        self.expect_keyword("across")?;
        self.expect_keyword("dimensions")?;
        self.expect("=")?;
        let dimensions = self.integer_list()?;
        self.attribute_dictionary(reading)?;
        reading.set("dimensions", Attribute::i64_array(dimensions));
        self.expect(":")?;
        self.skip_space();
        let start = self.offset();
        self.functional_types(reading)?;
        let types_span = self.span_from(start);
        let Some(name) = applied else { return self.reducer(reading) };
        let location = self.optional_location()?;
        reading.location = location.clone();
        let Some(first) = reading.operand_types.first().cloned() else {
            return Err(self.error(types_span, "a reduction needs operands"));
        };
        let element = self.tensor_element(&first, types_span)?;
        self.applied_region(
            reading,
            &name,
            Type::tensor([], element),
            location.unwrap_or_default(),
        );
        Ok(())
    }

    /// `reducer(%a: type, %b: type) (…) {…}`: pairs of elements, then the body.
    fn reducer(&mut self, reading: &mut Reading<'a>) -> Result<()> {
        self.expect_keyword("reducer")?;
        let (mut arguments, mut accumulators): (Vec<Argument<'_>>, Vec<_>) = Default::default();
        while self.eat("(") {
            arguments.push(self.block_argument()?);
            self.expect(",")?;
            accumulators.push(self.block_argument()?);
            self.expect(")")?;
        }
        arguments.append(&mut accumulators);
        let region = self.new_region(reading.op);
        self.region(region, &reading.name.clone(), arguments)
    }

    /// The region that applies one operation to its two arguments and returns the result.
    fn applied_region(
        &mut self,
        reading: &mut Reading<'a>,
        name: &str,
        ty: Type,
        location: Location,
    ) {
        let region = self.new_region(reading.op);
        let module = &mut self.module;
        let block = module.blocks.push(Block { parent: Some(region), ..Block::default() });
        module.regions[region].blocks.push(block);
        let lhs = module.add_argument(block, ty.clone(), location.clone());
        let rhs = module.add_argument(block, ty.clone(), location.clone());
        let mut operation = Operation::new(name, location.clone());
        operation.operands = vec![lhs, rhs];
        let op = module.add_operation(block, operation, [ty]);
        let mut operation = Operation::new("stablehlo.return", location);
        operation.operands = module.operations[op].results.clone();
        module.add_operation(block, operation, []);
    }

    /// `(%iterArg = %init, …) : types attributes {…} cond {…} do {…}`.
    pub(super) fn while_loop(&mut self, reading: &mut Reading<'a>) -> Result<()> {
        let mut names = Vec::new();
        for (name, operand) in self.list("(", ")", |parser| {
            let name = parser.value_name()?;
            parser.expect("=")?;
            Ok((name, parser.value_use()?))
        })? {
            names.push(name);
            reading.operands.push(operand);
        }
        if !names.is_empty() {
            self.expect(":")?;
            self.skip_space();
            let start = self.offset();
            let types = self.type_list()?;
            let span = self.span_from(start);
            if types.len() != names.len() {
                let message = format!("{} types are given for {} values", types.len(), names.len());
                return Err(self.error(span, message));
            }
            reading.operand_types = types.clone();
            reading.result_types = types;
        }
        if self.eat_word("attributes") {
            self.attribute_dictionary(reading)?;
        }
        for keyword in ["cond", "do"] {
            self.expect_keyword(keyword)?;
            let arguments = names.iter().zip(&reading.result_types);
            let arguments = arguments
                .map(|(&(name, span), ty)| Argument {
                    name,
                    span,
                    ty: ty.clone(),
                    location: Location::UNKNOWN,
                })
                .collect();
            let region = self.new_region(reading.op);
            self.region(region, &reading.name.clone(), arguments)?;
        }
        Ok(())
    }

    /// `(%x) inits (%y) dimension=0 attributes {…} {…} : types`.
    pub(super) fn scan(&mut self, reading: &mut Reading<'a>) -> Result<()> {
        let inputs = self.list("(", ")", |parser| parser.value_use())?;
        self.expect_keyword("inits")?;
        let inits = self.list("(", ")", |parser| parser.value_use())?;
        let (input_count, init_count) = (inputs.len(), inits.len());
        reading.operands = inputs;
        reading.operands.extend(inits);
        self.expect_keyword("dimension")?;
        self.expect("=")?;
        let dimension = self.integer()?;
        if self.eat_word("attributes") {
            self.attribute_dictionary(reading)?;
        }
        let region = self.new_region(reading.op);
        self.region(region, &reading.name.clone(), Vec::new())?;
        self.expect(":")?;
        self.functional_types(reading)?;
        let Some(outputs) = reading.result_types.len().checked_sub(init_count) else {
            return Err(self.error(reading.name_span, "a scan has a result for each init at least"));
        };
        reading.set("dimension", Attribute::i64(dimension));
        let segments = |first: usize, second: usize| {
            Attribute::DenseArray(DenseArray::I32([first as i32, second as i32].into()))
        };
        reading.set("operandSegmentSizes", segments(input_count, init_count));
        reading.set("resultSegmentSizes", segments(outputs, init_count));
        Ok(())
    }
}
