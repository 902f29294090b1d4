//! MLIR text from a module, spelled as MLIR spells it.

mod attributes;
mod dialects;
mod fits;
mod locations;
mod names;
mod operations;
mod pieces;
mod sdy;
mod special;
mod types;

pub(super) use types::type_text;

use crate::mlir::{Attribute, Location, Module, OpId, Type};
use locations::LocationAliases;
use names::Names;

/// How to print.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PrintOptions {
    pub form: Form,
    pub locations: Locations,
}

/// Which of its forms an operation gets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Form {
    /// The pretty one where there is one.
    #[default]
    Pretty,
    /// `"dialect.name"(operands) <{…}> ({…}) {…} : types`.
    Generic,
}

/// Whether `loc(…)` is printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Locations {
    #[default]
    Left,
    Printed,
}

/// The module as text, with a newline at the end.
pub fn print(module: &Module, options: PrintOptions) -> String {
    let mut printer = Printer {
        module,
        options,
        out: String::new(),
        indent: 0,
        names: Names::of(module),
        locations: LocationAliases::default(),
    };
    if options.locations == Locations::Printed {
        printer.locations = LocationAliases::of(module);
        printer.out.push_str(printer.locations.definitions());
    }
    printer.operation(module.root, "builtin");
    printer.out.push('\n');
    printer.resources();
    printer.out
}

/// The attribute as text.
pub fn print_attribute(attribute: &Attribute) -> String {
    let mut out = String::new();
    attributes::write_attribute(&mut out, attribute);
    out
}

/// The type as text.
pub fn print_type(ty: &Type) -> String {
    type_text(ty)
}

pub(super) struct Printer<'m> {
    module: &'m Module,
    options: PrintOptions,
    out: String,
    indent: usize,
    names: Names,
    locations: LocationAliases,
}

impl Printer<'_> {
    fn text(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn newline(&mut self) {
        self.out.push('\n');
        for _ in 0..self.indent {
            self.out.push(' ');
        }
    }

    fn ty(&mut self, ty: &Type) {
        types::write_type(&mut self.out, ty);
    }

    fn attribute(&mut self, attribute: &Attribute) {
        attributes::write_attribute(&mut self.out, attribute);
    }

    /// ` loc(#loc1)` if locations are printed.
    fn location(&mut self, location: &Location) {
        if self.options.locations == Locations::Printed {
            let alias = self.locations.alias(location);
            self.out.push_str(" loc(");
            self.out.push_str(&alias);
            self.out.push(')');
        }
    }

    /// Items with commas between.
    fn commas<T>(
        &mut self,
        items: impl IntoIterator<Item = T>,
        mut print: impl FnMut(&mut Self, T),
    ) {
        for (index, item) in items.into_iter().enumerate() {
            if index > 0 {
                self.text(", ");
            }
            print(self, item);
        }
    }

    /// `(types) -> types` of the operation.
    fn functional_type(&mut self, op: OpId) {
        let module = self.module;
        self.text("(");
        self.commas(module.operand_types(op), |printer, ty| printer.ty(ty));
        self.text(") -> ");
        let results: Vec<&Type> = module.result_types(op).collect();
        types::write_results(&mut self.out, &results);
    }
}
