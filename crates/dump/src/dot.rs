//! A module as a graph for Graphviz: a cluster for each computation, a node for each instruction.

use std::fmt::Write;

use rxla_hlo::Module;

/// The text of the graph.
pub fn dot(module: &Module) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(out, "digraph {} {{", quoted(&module.name));
    out.push_str("  node [shape=box, fontname=monospace, fontsize=10];\n");
    for computation in module.computation_post_order() {
        let _ = writeln!(out, "  subgraph cluster_{} {{", computation.index());
        let _ = writeln!(out, "    label={};", quoted(module[computation].name()));
        for &id in module[computation].instructions() {
            let instruction = &module[id];
            let mut label = format!(
                "{} = {}\n{}",
                instruction.name(),
                instruction.op.name(),
                instruction.shape
            );
            let called: Vec<&str> = instruction
                .op
                .called_computations()
                .iter()
                .map(|&called| module[called].name())
                .collect();
            if !called.is_empty() {
                let _ = write!(label, "\ncalls {}", called.join(", "));
            }
            if let Some(info) = instruction.info()
                && !info.metadata.op_name.is_empty()
            {
                let _ = write!(label, "\n{}", info.metadata.op_name);
            }
            let root = module[computation].try_root() == Some(id);
            let style = if root { ", style=bold" } else { "" };
            let _ = writeln!(out, "    n{} [label={}{style}];", id.index(), quoted(&label));
        }
        out.push_str("  }\n");
    }
    for computation in module.computation_post_order() {
        for &id in module[computation].instructions() {
            for &operand in module[id].operands() {
                let _ = writeln!(out, "  n{} -> n{};", operand.index(), id.index());
            }
        }
    }
    out.push_str("}\n");
    out
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}
