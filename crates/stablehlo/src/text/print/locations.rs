//! Locations to text, each once under an alias.

use std::fmt::Write;

use rustc_hash::FxHashMap;

use super::attributes::{write_attribute, write_commas, write_string};
use crate::mlir::{Location, LocationKind, Module, OpId};

/// `#loc1` and so on for every location of a module. Locations share their parts, so that
/// expanding them each time could take far more text than there is memory.
#[derive(Default)]
pub(super) struct LocationAliases {
    /// By where the location is kept, to see each only once.
    known: FxHashMap<usize, usize>,
    /// Equal locations kept in different places have one alias.
    by_text: FxHashMap<String, usize>,
    definitions: String,
}

impl LocationAliases {
    /// Of everything in the module.
    pub(super) fn of(module: &Module) -> LocationAliases {
        let mut aliases = LocationAliases::default();
        aliases.add_operation(module, module.root);
        aliases
    }

    /// The operation's, then those of what is in it, in order of the text.
    fn add_operation(&mut self, module: &Module, op: OpId) {
        let operation = &module.operations[op];
        self.add(&operation.location);
        for &region in &operation.regions {
            for &block in &module.regions[region].blocks {
                for &argument in &module.blocks[block].arguments {
                    self.add(&module.values[argument].location);
                }
                for &op in &module.blocks[block].operations {
                    self.add_operation(module, op);
                }
            }
        }
    }

    /// `#loc1 = loc(…)` for each, those mentioned by others first.
    pub(super) fn definitions(&self) -> &str {
        &self.definitions
    }

    pub(super) fn alias(&self, location: &Location) -> String {
        let Some(kind) = location.kind() else { return "unknown".to_owned() };
        match self.known.get(&address(kind)) {
            Some(number) => format!("#loc{number}"),
            None => "unknown".to_owned(),
        }
    }

    fn add(&mut self, location: &Location) {
        let Some(kind) = location.kind() else { return };
        if self.known.contains_key(&address(kind)) {
            return;
        }
        match kind {
            LocationKind::Name { child, .. } => self.add(child),
            LocationKind::CallSite { callee, caller } => {
                self.add(callee);
                self.add(caller);
            }
            LocationKind::Fused { locations, .. } => {
                for location in locations {
                    self.add(location);
                }
            }
            LocationKind::FileLineCol { .. }
            | LocationKind::FileRange { .. }
            | LocationKind::Opaque { .. } => {}
        }
        let mut text = String::new();
        write_kind(&mut text, kind, &|out, location| out.push_str(&self.alias(location)));
        let next = self.by_text.len() + 1;
        let number = *self.by_text.entry(text.clone()).or_insert(next);
        if number == next {
            _ = writeln!(self.definitions, "#loc{number} = loc({text})");
        }
        self.known.insert(address(kind), number);
    }
}

fn address(kind: &LocationKind) -> usize {
    std::ptr::from_ref(kind).addr()
}

/// In full, without aliases.
pub(super) fn write_location(out: &mut String, location: &Location) {
    match location.kind() {
        None => out.push_str("unknown"),
        Some(kind) => write_kind(out, kind, &write_location),
    }
}

fn write_kind(out: &mut String, kind: &LocationKind, part: &dyn Fn(&mut String, &Location)) {
    match kind {
        LocationKind::FileLineCol { file, line, column } => {
            write_string(out, file);
            _ = write!(out, ":{line}:{column}");
        }
        LocationKind::FileRange { file, line, column, end_line, end_column } => {
            write_string(out, file);
            _ = write!(out, ":{line}:{column} to ");
            if line != end_line {
                _ = write!(out, "{end_line}");
            }
            _ = write!(out, ":{end_column}");
        }
        LocationKind::Name { name, child } => {
            write_string(out, name);
            if !child.is_unknown() {
                out.push('(');
                part(out, child);
                out.push(')');
            }
        }
        LocationKind::CallSite { callee, caller } => {
            out.push_str("callsite(");
            part(out, callee);
            out.push_str(" at ");
            part(out, caller);
            out.push(')');
        }
        LocationKind::Fused { locations, metadata } => {
            out.push_str("fused");
            if let Some(metadata) = metadata {
                out.push('<');
                write_attribute(out, metadata);
                out.push('>');
            }
            out.push('[');
            write_commas(out, locations, |out, location| part(out, location));
            out.push(']');
        }
        LocationKind::Opaque { text } => out.push_str(&text.to_string_lossy()),
    }
}
