//! `rxla stats`.

use std::collections::BTreeMap;
use std::fmt::Write;

use clap::Args;
use rxla_base::Result;
use rxla_hlo::cost::Costs;
use rxla_hlo::{Module, Op, verify};
use rxla_passes::control::trip_count::trip_count;

use crate::input::{self, Layouts};
use crate::{Answer, output};

#[derive(Args)]
pub(crate) struct Arguments {
    /// Files with modules; `-` is standard input
    #[arg(required = true)]
    files: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Answer> {
    for file in &arguments.files {
        let input = input::read(file, Layouts::Keep)?;
        output::result(&describe(&input.module))?;
    }
    Ok(Answer::Yes)
}

fn describe(module: &Module) -> String {
    let mut counts: BTreeMap<&str, (usize, f64)> = BTreeMap::new();
    let costs = if verify(module).is_empty() {
        Costs::with_trips(module, &|id| trip_count(module, id))
    } else {
        Costs::of(module)
    };
    let mut constant_bytes = 0;
    for id in module.instruction_ids() {
        let instruction = &module[id];
        let entry = counts.entry(instruction.op.name()).or_default();
        entry.0 += 1;
        // What is called has rows of its own.
        let calls = matches!(
            instruction.op,
            Op::Fusion(_) | Op::While(_) | Op::Call(_) | Op::Conditional(_) | Op::AsyncStart(_)
        );
        if !calls {
            entry.1 += costs.instruction(id).flops;
        }
        if matches!(instruction.op, Op::Constant(_)) {
            constant_bytes =
                instruction.shape.byte_size().unwrap_or(0).saturating_add(constant_bytes);
        }
    }
    let shapes = module.program_shape(module.entry());
    let parameter_bytes = shapes
        .parameters
        .iter()
        .try_fold(0usize, |sum, (_, shape)| sum.checked_add(shape.byte_size()?));
    let size = |bytes: Option<usize>| bytes.map_or("unknown".to_owned(), human_bytes);
    let instructions: usize = counts.values().map(|(count, _)| count).sum();
    let total = costs.computation(module.entry());
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(out, "module {}", module.name);
    let _ = writeln!(out, "  computations  {}", module.computations().len());
    let _ = writeln!(out, "  instructions  {instructions}");
    let _ =
        writeln!(out, "  parameters    {} ({})", shapes.parameters.len(), size(parameter_bytes));
    let _ = writeln!(out, "  result        {}", size(shapes.result.byte_size()));
    let _ = writeln!(out, "  constants     {}", human_bytes(constant_bytes));
    let _ = writeln!(out, "  flops         {:.0} (a loop of unknown length once)", total.flops);
    let _ = writeln!(out, "  functions     {:.0} (such as exp)", total.transcendentals);
    let _ = writeln!(out, "  bytes moved   {:.0}", total.bytes);
    let mut rows: Vec<_> = counts.into_iter().collect();
    rows.sort_by_key(|(name, (count, _))| (std::cmp::Reverse(*count), *name));
    for (name, (count, flops)) in rows {
        let _ = writeln!(out, "  {count:>8}  {name:<28} {flops:>16.0}");
    }
    out
}

fn human_bytes(bytes: usize) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{bytes} B") } else { format!("{value:.1} {}", UNITS[unit]) }
}
