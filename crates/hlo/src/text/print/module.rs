//! The module: header, tables, computations.

use std::fmt;
use std::fmt::Write;

use super::{PrintOptions, Printer};
use crate::{AliasKind, Module, ModuleConfig};

/// The text of a module.
///
/// Unless the module is scheduled, instructions are printed in the order in which XLA prints them:
/// depth-first from those that nobody uses.
pub fn print(module: &Module, options: &PrintOptions) -> String {
    let mut printer = Printer::new(Some(module), options);
    printer.whole_module();
    printer.finish()
}

impl fmt::Display for Module {
    /// The text with default options: large constants are left out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&print(self, &PrintOptions::default()))
    }
}

impl Printer<'_> {
    fn whole_module(&mut self) {
        let module = self.module();
        let config = &module.config;
        self.push_indent();
        self.push("HloModule ");
        if self.options.ids {
            self.push(&module.name);
        }
        if config.is_scheduled {
            self.push(", is_scheduled=true");
        }
        self.aliases(config);
        self.config(config);
        if !config.frontend_attributes.is_empty() {
            self.push(", frontend_attributes=");
            self.frontend_attributes(&config.frontend_attributes);
        }
        if !config.origin_recovery_table.is_empty() {
            self.origin_recovery_table(config);
        }
        for (name, value) in &config.unknown_attributes {
            let _ = write!(self.out, ", {name}={value}");
        }
        if self.options.metadata {
            self.stack_frame_tables();
        }
        self.push("\n\n");
        self.computations();
    }

    fn aliases(&mut self, config: &ModuleConfig) {
        if !config.input_output_alias.is_empty() {
            self.push(", input_output_alias={ ");
            self.joined(&config.input_output_alias, ", ", |printer, alias| {
                printer.integers(&alias.output_index);
                let _ = write!(printer.out, ": ({}, ", alias.parameter);
                printer.integers(&alias.parameter_index);
                printer.push(match alias.kind {
                    AliasKind::May => ", may-alias)",
                    AliasKind::Must => ", must-alias)",
                });
            });
            self.push(" }");
        }
        if !config.buffer_donors.is_empty() {
            self.push(", buffer_donor={ ");
            self.joined(&config.buffer_donors, ", ", |printer, donor| {
                let _ = write!(printer.out, "({}, ", donor.parameter);
                printer.integers(&donor.parameter_index);
                printer.push(")");
            });
            self.push(" }");
        }
    }

    fn config(&mut self, config: &ModuleConfig) {
        if config.alias_passthrough_params {
            self.push(", alias_passthrough_params=true");
        }
        if let Some(layout) = &config.entry_computation_layout {
            self.push(", entry_computation_layout={(");
            self.annotated(&layout.parameters, |printer, s| printer.shape_with_layout(s));
            self.push(")->");
            self.shape_with_layout(&layout.result);
            self.push("}");
        }
        let lists = [
            (
                "allow_spmd_sharding_propagation_to_parameters",
                &config.allow_spmd_sharding_propagation_to_parameters,
            ),
            (
                "allow_spmd_sharding_propagation_to_output",
                &config.allow_spmd_sharding_propagation_to_output,
            ),
        ];
        for (name, list) in lists {
            // A single `false` is the default.
            if !matches!(&list[..], [] | [false]) {
                let _ = write!(self.out, ", {name}=");
                self.braced(list, ",", |printer, &allowed| {
                    printer.push(if allowed { "true" } else { "false" });
                });
            }
        }
        if config.replica_count != 1 {
            let _ = write!(self.out, ", replica_count={}", config.replica_count);
        }
        if config.num_partitions != 1 {
            let _ = write!(self.out, ", num_partitions={}", config.num_partitions);
        }
    }

    fn origin_recovery_table(&mut self, config: &ModuleConfig) {
        let indent = "  ".repeat(self.options.indent + 1);
        self.push(", origin_recovery_table={\n");
        for entry in &config.origin_recovery_table {
            self.push(&indent);
            self.original_array(&entry.old);
            self.push(" : ");
            self.original_array(&entry.new);
            if !entry.recovery_module.is_empty() {
                let _ = write!(self.out, ",\n{indent}");
                self.quoted(entry.recovery_module.as_bytes());
            }
            self.push("\n");
        }
        self.push("}\n");
    }

    fn stack_frame_tables(&mut self) {
        let tables = &self.module().stack_frames;
        if *tables == crate::StackFrameIndex::default() {
            return;
        }
        self.push("\n\nFileNames\n");
        self.name_table(&tables.file_names);
        self.push("\nFunctionNames\n");
        self.name_table(&tables.function_names);
        self.push("\nFileLocations\n");
        for (index, location) in tables.file_locations.iter().enumerate() {
            let _ = writeln!(
                self.out,
                "{} {{file_name_id={} function_name_id={} line={} end_line={} column={} \
                 end_column={}}}",
                index + 1,
                location.file_name_id,
                location.function_name_id,
                location.line,
                location.end_line,
                location.column,
                location.end_column
            );
        }
        self.push("\nStackFrames\n");
        for (index, frame) in tables.stack_frames.iter().enumerate() {
            let _ = writeln!(
                self.out,
                "{} {{file_location_id={} parent_frame_id={}}}",
                index + 1,
                frame.file_location_id,
                i64::from(frame.parent_frame_id) + 1
            );
        }
    }

    fn name_table(&mut self, names: &[String]) {
        for (index, name) in names.iter().enumerate() {
            let _ = write!(self.out, "{} ", index + 1);
            self.quoted(name.as_bytes());
            self.push("\n");
        }
    }

    pub(super) fn push_indent(&mut self) {
        for _ in 0..self.options.indent {
            self.push("  ");
        }
    }
}
