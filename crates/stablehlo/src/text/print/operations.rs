//! Operations, regions and blocks to text.

use super::attributes::{write_hexadecimal, write_key, write_named, write_string};
use super::{Form, Printer};
use crate::mlir::{
    AttributeKind, BlockId, ByteString, OpId, OperationAttribute, RegionId, ResourceValue, ValueId,
};
use crate::text::formats::{self, Format, Special};

/// Whether the arguments of a region's first block are printed with it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Head {
    Printed,
    /// They have been printed before.
    Left,
}

impl Printer<'_> {
    /// The operation with its results; `default_dialect` may be left out of its name.
    pub(super) fn operation(&mut self, op: OpId, default_dialect: &str) {
        let module = self.module;
        let operation = &module.operations[op];
        if let Some(name) = self.names.results(module, op) {
            let name = format!("%{name}");
            self.text(&name);
            if operation.results.len() > 1 {
                self.text(&format!(":{}", operation.results.len()));
            }
            self.text(" = ");
        }
        let spelling = formats::spelling(&operation.name).filter(|_| self.can_be_pretty(op));
        let pretty = match spelling {
            Some(spelling) if self.options.form == Form::Pretty => &spelling.format,
            _ => &Format::Generic,
        };
        match pretty {
            Format::Generic => {
                write_string(&mut self.out, &ByteString::from(&*operation.name));
                self.generic(op);
            }
            Format::Pieces(pieces) => {
                self.pretty_name(op, default_dialect);
                self.pieces(op, pieces);
            }
            Format::Special(special) => {
                self.pretty_name(op, default_dialect);
                match special {
                    Special::Module => self.module_operation(op),
                    Special::Function => self.function(op),
                    Special::Constant => self.constant(op),
                    Special::Reduce => self.reduce(op),
                    Special::While => self.while_loop(op),
                    Special::Scan => self.scan(op),
                }
            }
        }
        self.location(&operation.location);
    }

    fn pretty_name(&mut self, op: OpId, default_dialect: &str) {
        let name = &*self.module.operations[op].name;
        let short = name.split_once('.').filter(|(dialect, _)| *dialect == default_dialect);
        match short {
            Some((_, short)) => self.text(short),
            None => self.text(name),
        }
    }

    /// What follows the name in the generic form.
    pub(super) fn generic(&mut self, op: OpId) {
        let operation = &self.module.operations[op];
        self.text("(");
        self.values(&operation.operands);
        self.text(")");
        if !operation.successors.is_empty() {
            self.text("[");
            self.commas(&operation.successors, |printer, &block| {
                let name = printer.names.block(block);
                printer.text(&name);
            });
            self.text("]");
        }
        let of_kind = |kind| operation.attributes.iter().filter(move |a| a.kind == kind);
        if of_kind(AttributeKind::Inherent).next().is_some() {
            self.text(" <");
            self.attributes_in_braces(of_kind(AttributeKind::Inherent));
            self.text(">");
        }
        if !operation.regions.is_empty() {
            self.text(" (");
            self.commas(&operation.regions, |printer, &region| {
                printer.region(region, Head::Printed, "");
            });
            self.text(")");
        }
        if of_kind(AttributeKind::Discardable).next().is_some() {
            self.text(" ");
            self.attributes_in_braces(of_kind(AttributeKind::Discardable));
        }
        self.text(" : ");
        self.functional_type(op);
    }

    pub(super) fn attributes_in_braces<'a>(
        &mut self,
        attributes: impl Iterator<Item = &'a OperationAttribute>,
    ) {
        self.text("{");
        self.commas(attributes, |printer, attribute| {
            write_named(&mut printer.out, &attribute.name, &attribute.value);
        });
        self.text("}");
    }

    /// ` {…}` of what is not told otherwise, or nothing.
    pub(super) fn dictionary(&mut self, op: OpId, keyword: &str, told: &[&str]) {
        let attributes = &self.module.operations[op].attributes;
        let rest = || attributes.iter().filter(|a| !told.iter().any(|name| a.name == *name));
        if rest().next().is_some() {
            self.text(keyword);
            self.text(" ");
            self.attributes_in_braces(rest());
        }
    }

    pub(super) fn values(&mut self, values: &[ValueId]) {
        self.commas(values, |printer, &value| printer.value(value));
    }

    pub(super) fn value(&mut self, value: ValueId) {
        let name = self.names.value(self.module, value);
        self.text(&name);
    }

    /// `%arg0: type loc(…)`.
    pub(super) fn argument(&mut self, value: ValueId) {
        let module = self.module;
        self.value(value);
        self.text(": ");
        self.ty(&module.values[value].ty);
        self.location(&module.values[value].location);
    }

    /// `{…}`.
    pub(super) fn region(&mut self, region: RegionId, head: Head, default_dialect: &str) {
        self.text("{");
        let blocks = &self.module.regions[region].blocks;
        for (index, &block) in blocks.iter().enumerate() {
            let arguments = &self.module.blocks[block].arguments;
            let headless = index == 0 && (head == Head::Left || arguments.is_empty());
            // A lone empty block can only be told from no block by its head.
            let empty = self.module.blocks[block].operations.is_empty() && head == Head::Printed;
            if !headless || empty && blocks.len() == 1 {
                self.newline();
                self.block_head(block);
            }
            self.indent += 2;
            for &op in &self.module.blocks[block].operations {
                self.newline();
                self.operation(op, default_dialect);
            }
            self.indent -= 2;
        }
        self.newline();
        self.text("}");
    }

    fn block_head(&mut self, block: BlockId) {
        let name = self.names.block(block);
        self.text(&name);
        let arguments = &self.module.blocks[block].arguments;
        if !arguments.is_empty() {
            self.text("(");
            self.commas(arguments, |printer, &argument| printer.argument(argument));
            self.text(")");
        }
        self.text(":");
    }

    /// The section of resources, if there are any.
    pub(super) fn resources(&mut self) {
        let module = self.module;
        if module.resources.is_empty() {
            return;
        }
        self.text("\n{-#");
        let mut first = true;
        for external in [false, true] {
            let mut entries: Vec<_> =
                module.resources.iter().filter(|resource| resource.external == external).collect();
            if entries.is_empty() {
                continue;
            }
            // Stable, so entries of a dialect stay in order.
            entries.sort_by(|a, b| a.dialect.cmp(&b.dialect));
            let section = if external { "external_resources" } else { "dialect_resources" };
            self.text(if first { "\n  " } else { ",\n  " });
            first = false;
            self.text(section);
            self.text(": {");
            let groups = entries.chunk_by(|a, b| a.dialect == b.dialect);
            self.commas(groups, |printer, group| {
                printer.text("\n    ");
                match group.first() {
                    Some(resource) if !external => write_key(&mut printer.out, &resource.dialect),
                    _ => printer.text("external"),
                }
                printer.text(": {");
                printer.commas(group, |printer, resource| {
                    printer.text("\n      ");
                    write_key(&mut printer.out, &resource.key);
                    printer.text(": ");
                    printer.resource_value(&resource.value);
                });
                printer.text("\n    }");
            });
            self.text("\n  }");
        }
        self.text("\n#-}\n");
    }

    fn resource_value(&mut self, value: &ResourceValue) {
        match value {
            ResourceValue::Bool(value) => self.text(if *value { "true" } else { "false" }),
            ResourceValue::String(text) => write_string(&mut self.out, text),
            ResourceValue::Blob { alignment, bytes } => {
                self.text("\"0x");
                let alignment = u32::try_from(*alignment).unwrap_or(1);
                write_hexadecimal(&mut self.out, &alignment.to_le_bytes());
                write_hexadecimal(&mut self.out, bytes);
                self.text("\"");
            }
        }
    }
}
