//! Pretty forms that need code of their own, to text.

use super::Printer;
use super::attributes::{write_dictionary, write_integers, write_symbol};
use super::operations::Head;
use crate::mlir::{Attribute, DenseArray, NamedAttribute, OpId, RegionId, Type};
use crate::text::special::COMMUTATIVE;

impl Printer<'_> {
    pub(super) fn module_operation(&mut self, op: OpId) {
        let operation = &self.module.operations[op];
        if let Some(name) = operation.attributes.get("sym_name").and_then(Attribute::as_string) {
            self.text(" ");
            write_symbol(&mut self.out, name);
        }
        self.dictionary(op, " attributes", &["sym_name"]);
        self.text(" ");
        if let Some(&region) = operation.regions.first() {
            self.region(region, Head::Left, "builtin");
        }
    }

    pub(super) fn function_fits(&self, op: OpId) -> bool {
        let module = self.module;
        let operation = &module.operations[op];
        let get = |name| operation.attributes.get(name);
        let Some(function) = get("function_type").and_then(Attribute::as_type) else {
            return false;
        };
        let Some(function) = function.as_function() else { return false };
        let dictionaries = |name, count: usize| {
            get(name).is_none_or(|value| {
                value.as_array().is_some_and(|items| {
                    items.len() == count && items.iter().all(|i| i.as_dictionary().is_some())
                })
            })
        };
        let &[region] = &operation.regions[..] else { return false };
        let visibility = get("sym_visibility")
            .is_none_or(|value| matches!(value.as_str(), Some("public" | "private" | "nested")));
        let body = module.regions[region].blocks.first().is_none_or(|&block| {
            let arguments = &module.blocks[block].arguments;
            arguments.iter().map(|&a| &module.values[a].ty).eq(function.inputs.iter())
        });
        operation.operands.is_empty()
            && operation.results.is_empty()
            && get("sym_name").is_some_and(|name| name.as_string().is_some())
            && visibility
            && dictionaries("arg_attrs", function.inputs.len())
            && dictionaries("res_attrs", function.results.len())
            && body
    }

    pub(super) fn function(&mut self, op: OpId) {
        let module = self.module;
        let operation = &module.operations[op];
        let get = |name| operation.attributes.get(name);
        if let Some(visibility) = get("sym_visibility").and_then(Attribute::as_str) {
            self.text(" ");
            self.text(visibility);
        }
        self.text(" ");
        if let Some(name) = get("sym_name").and_then(Attribute::as_string) {
            write_symbol(&mut self.out, name);
        }
        let Some(Type::Function(function)) = get("function_type").and_then(Attribute::as_type)
        else {
            return;
        };
        let of = |name: &'static str, index: usize| -> &[NamedAttribute] {
            let items = operation.attributes.get(name).and_then(Attribute::as_array).unwrap_or(&[]);
            items.get(index).and_then(Attribute::as_dictionary).unwrap_or(&[])
        };
        let region = operation.regions.first();
        let block = region.and_then(|&region| module.regions[region].blocks.first());
        let arguments = block.map_or(&[][..], |&block| &module.blocks[block].arguments);
        self.text("(");
        self.commas(function.inputs.iter().enumerate(), |printer, (index, ty)| {
            if let Some(&argument) = arguments.get(index) {
                printer.value(argument);
                printer.text(": ");
            }
            printer.ty(ty);
            printer.entries(of("arg_attrs", index));
            if let Some(&argument) = arguments.get(index) {
                printer.location(&module.values[argument].location);
            }
        });
        self.text(")");
        let results = &function.results;
        if !results.is_empty() {
            self.text(" -> ");
            let bare = results.len() == 1
                && results[0].as_function().is_none()
                && of("res_attrs", 0).is_empty();
            self.text(if bare { "" } else { "(" });
            self.commas(results.iter().enumerate(), |printer, (index, ty)| {
                printer.ty(ty);
                printer.entries(of("res_attrs", index));
            });
            self.text(if bare { "" } else { ")" });
        }
        self.dictionary(
            op,
            " attributes",
            &["sym_name", "function_type", "sym_visibility", "arg_attrs", "res_attrs"],
        );
        if let (Some(&region), Some(_)) = (region, block) {
            self.text(" ");
            self.region(region, Head::Left, "func");
        }
    }

    /// ` {…}`, or nothing.
    fn entries(&mut self, entries: &[NamedAttribute]) {
        if !entries.is_empty() {
            self.text(" ");
            write_dictionary(&mut self.out, entries);
        }
    }

    pub(super) fn constant(&mut self, op: OpId) {
        self.dictionary(op, "", &["value"]);
        self.text(" ");
        if let Some(value) = self.module.operations[op].attributes.get("value") {
            self.attribute(value);
        }
    }

    pub(super) fn reduce(&mut self, op: OpId) {
        let module = self.module;
        let operation = &module.operations[op];
        let (inputs, inits) = operation.operands.split_at(operation.operands.len() / 2);
        self.commas(inputs.iter().zip(inits), |printer, (&input, &init)| {
            printer.text("(");
            printer.value(input);
            printer.text(" init: ");
            printer.value(init);
            printer.text(")");
        });
        let Some(&region) = operation.regions.first() else { return };
        let applied = self.applied(op, region);
        if let Some(name) = applied {
            self.text(" applies ");
            self.text(name);
        }
        self.text(" across dimensions = [");
        let dimensions = operation.attributes.get("dimensions").and_then(Attribute::as_i64_array);
        write_integers(&mut self.out, dimensions.unwrap_or(&[]));
        self.text("]");
        self.dictionary(op, "", &["dimensions"]);
        self.text(" : ");
        self.functional_type(op);
        if applied.is_some() {
            return;
        }
        self.newline();
        self.text(" reducer");
        let block = module.regions[region].blocks[0];
        let (elements, accumulators) =
            module.blocks[block].arguments.split_at(operation.operands.len() / 2);
        for (&element, &accumulator) in elements.iter().zip(accumulators) {
            self.text("(");
            self.argument(element);
            self.text(", ");
            self.argument(accumulator);
            self.text(") ");
        }
        self.text(" ");
        self.region(region, Head::Left, "");
    }

    /// The operation that the region does nothing but apply to its arguments.
    fn applied(&self, op: OpId, region: RegionId) -> Option<&'static str> {
        let module = self.module;
        let block = &module.blocks[*module.regions[region].blocks.first()?];
        let &[inner, end] = &block.operations[..] else { return None };
        let (inner, end) = (&module.operations[inner], &module.operations[end]);
        let name = COMMUTATIVE.iter().find(|name| **name == &*inner.name)?;
        let element = module.operand_types(op).next()?.element()?.clone();
        let ty = Type::tensor([], element);
        let forwarded = inner.operands == block.arguments
            && inner.attributes.is_empty()
            && &*end.name == "stablehlo.return"
            && end.attributes.is_empty()
            && end.operands == inner.results;
        let mut values = inner.operands.iter().chain(&inner.results);
        (forwarded && values.all(|&value| module.values[value].ty == ty)).then_some(name)
    }

    pub(super) fn while_loop(&mut self, op: OpId) {
        let module = self.module;
        let operation = &module.operations[op];
        let &[condition, body] = &operation.regions[..] else { return };
        let arguments = &module.blocks[module.regions[body].blocks[0]].arguments;
        self.text("(");
        self.commas(arguments.iter().zip(&operation.operands), |printer, (&argument, &operand)| {
            printer.value(argument);
            printer.text(" = ");
            printer.value(operand);
        });
        self.text(")");
        if !operation.operands.is_empty() {
            self.text(" : ");
            self.commas(module.operand_types(op), |printer, ty| printer.ty(ty));
        }
        self.dictionary(op, " attributes", &[]);
        self.newline();
        self.text("cond ");
        self.region(condition, Head::Left, "");
        self.text(" do ");
        self.region(body, Head::Left, "");
    }

    pub(super) fn scan(&mut self, op: OpId) {
        let operation = &self.module.operations[op];
        let get = |name| operation.attributes.get(name);
        let count = match get("operandSegmentSizes") {
            Some(Attribute::DenseArray(DenseArray::I32(sizes))) => sizes.first().copied(),
            _ => None,
        };
        let count = count.and_then(|count| usize::try_from(count).ok()).unwrap_or(0);
        let (inputs, inits) = operation.operands.split_at(count.min(operation.operands.len()));
        self.text("(");
        self.values(inputs);
        self.text(") inits (");
        self.values(inits);
        self.text(") dimension=");
        let dimension = get("dimension").and_then(Attribute::as_integer).unwrap_or(0);
        self.text(&format!("{dimension} "));
        self.dictionary(
            op,
            " attributes",
            &["dimension", "operandSegmentSizes", "resultSegmentSizes"],
        );
        self.text(" ");
        if let Some(&region) = operation.regions.first() {
            self.region(region, Head::Printed, "");
        }
        self.text(" : ");
        self.functional_type(op);
    }
}
