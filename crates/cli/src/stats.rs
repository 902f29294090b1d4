//! `rxla stats`.

use std::collections::BTreeMap;
use std::fmt::Write;

use clap::Args;
use rxla_base::Result;
use rxla_hlo::{Instruction, Module, Op, Shape};

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
    let mut counts: BTreeMap<&str, (usize, u128)> = BTreeMap::new();
    let mut constant_bytes = 0;
    for id in module.instruction_ids() {
        let instruction = &module[id];
        let entry = counts.entry(instruction.op.name()).or_default();
        entry.0 += 1;
        entry.1 = entry.1.saturating_add(flops(module, instruction));
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
    let total = counts.values().fold(0u128, |sum, (_, flops)| sum.saturating_add(*flops));
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(out, "module {}", module.name);
    let _ = writeln!(out, "  computations  {}", module.computations().len());
    let _ = writeln!(out, "  instructions  {instructions}");
    let _ =
        writeln!(out, "  parameters    {} ({})", shapes.parameters.len(), size(parameter_bytes));
    let _ = writeln!(out, "  result        {}", size(shapes.result.byte_size()));
    let _ = writeln!(out, "  constants     {}", human_bytes(constant_bytes));
    let _ = writeln!(out, "  flops         {total} (each instruction once)");
    let mut rows: Vec<_> = counts.into_iter().collect();
    rows.sort_by_key(|(name, (count, _))| (std::cmp::Reverse(*count), *name));
    for (name, (count, flops)) in rows {
        let _ = writeln!(out, "  {count:>8}  {name:<28} {flops:>16}");
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

/// Elements of the first array in a shape.
fn elements(shape: &Shape) -> u128 {
    match shape {
        Shape::Tuple(elements_) => elements_.first().map_or(0, elements),
        _ => shape.as_array().and_then(|array| array.element_count()).unwrap_or(0) as u128,
    }
}

/// The product of sizes; too much is as much as there is.
fn product(sizes: impl Iterator<Item = i64>) -> u128 {
    sizes.fold(1, |product: u128, size| product.saturating_mul(size.max(0) as u128))
}

/// Multiplications and additions, or applications of a function, for ops that do arithmetic.
fn flops(module: &Module, instruction: &Instruction) -> u128 {
    let result = elements(&instruction.shape);
    let operand =
        |index: usize| instruction.operands().get(index).map(|&operand| &module[operand].shape);
    let size = |index: usize, dimension: i64| {
        let dims = operand(index).and_then(Shape::as_array).map(|array| &array.dims[..]);
        let dimension = usize::try_from(dimension).ok();
        dimension.and_then(|d| dims.unwrap_or_default().get(d).copied()).unwrap_or(0)
    };
    match &instruction.op {
        Op::Dot(dot) => {
            let depth = product(dot.lhs_contracting_dims.iter().map(|&d| size(0, d)));
            result.saturating_mul(2).saturating_mul(depth)
        }
        Op::Convolution(convolution) => {
            let window = product(convolution.window.dimensions.iter().map(|d| d.size));
            let features =
                product([size(1, convolution.dim_labels.kernel_input_feature)].into_iter());
            result.saturating_mul(2).saturating_mul(window).saturating_mul(features)
        }
        Op::Reduce(_) => operand(0).map_or(0, elements),
        Op::ReduceWindow(reduce) => {
            result.saturating_mul(product(reduce.window.dimensions.iter().map(|d| d.size)))
        }
        op if op.is_elementwise() && !matches!(op, Op::Copy(_)) => result,
        _ => 0,
    }
}
