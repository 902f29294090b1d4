//! Buffers as text: what memory a program takes, which values share it, and when they need it.

use std::fmt::Write;

use rustc_hash::FxHashMap;
use rxla_hlo::{InstructionId, Module};

use crate::buffers::{Buffers, Place};
use crate::liveness::{FOREVER, Range, ranges};
use crate::marks::label;
use crate::plan::{Block, Leaf, Origin, Plan, Step, ValueId};

/// A line for each value, or for each branch that reads it last: its place, its size, from which half
/// step to which it is needed, its shape, and what computes it.
pub(crate) fn describe(module: &Module, plan: &Plan, buffers: &Buffers) -> String {
    let ranges = ranges(plan);
    let mut makers = FxHashMap::default();
    collect(&plan.entry, &mut makers);
    let mut rows = Vec::new();
    for (value, known) in plan.values.iter() {
        let (Some(place), Some(ranges)) = (buffers.find(value), ranges.get(&value)) else {
            continue;
        };
        let maker = match (&known.origin, makers.get(&value)) {
            (Origin::Parameter(number), _) => format!("parameter leaf {number}"),
            (Origin::Constant(_), _) => "constant".to_owned(),
            (Origin::Step, Some(&id)) => label(module, id),
            (Origin::Step, None) => "carried by a loop".to_owned(),
        };
        let bytes = known.shape.byte_size().unwrap_or(0) as u64;
        for &range in ranges {
            let (shape, maker) = (known.shape.to_string(), maker.clone());
            rows.push((order(place), range, place, bytes, shape, maker));
        }
    }
    rows.sort_by_key(|row| (row.0, row.1.start, row.1.end));
    let peak = rows
        .iter()
        .filter(|row| matches!(row.2, Place::Temp(_)))
        .map(|row| {
            let at = row.1.start;
            let live = rows.iter().filter(|other| {
                matches!(other.2, Place::Temp(_)) && other.1.start <= at && at <= other.1.end
            });
            // Values that share a place count once.
            let mut places: Vec<_> = live.map(|other| (other.0, other.3)).collect();
            places.sort_unstable();
            places.dedup_by_key(|(place, _)| *place);
            places.iter().map(|(_, bytes)| bytes).sum::<u64>()
        })
        .max()
        .unwrap_or(0);
    // Writing to a string cannot fail.
    let mut out = String::from("BufferAssignment:\n");
    let _ = writeln!(out, "temporary memory: {} bytes", buffers.temp_bytes);
    let _ = writeln!(out, "live at the fullest moment: {peak} bytes");
    for (output, aliased) in buffers.aliases.iter().map(|&(argument, output)| (output, argument)) {
        let _ = writeln!(out, "output leaf {output} takes the memory of parameter leaf {aliased}");
    }
    let _ =
        writeln!(out, "\n{:<18} {:>12} {:>15}  {:<24} made by", "place", "bytes", "live", "shape");
    for (_, range, place, bytes, shape, maker) in rows {
        let Range { start, end } = range;
        let end = if end == FOREVER { "end".to_owned() } else { end.to_string() };
        let live = format!("{start}..{end}");
        let _ = writeln!(out, "{:<18} {bytes:>12} {live:>15}  {shape:<24} {maker}", show(place));
    }
    out
}

fn show(place: Place) -> String {
    match place {
        Place::Register => "register".to_owned(),
        Place::Argument(number) => format!("argument {number}"),
        Place::Constant(_) => "constant".to_owned(),
        Place::Result(number) => format!("result {number}"),
        Place::Temp(offset) => format!("temp+{offset}"),
        Place::Scratch(offset) => format!("scratch+{offset}"),
    }
}

fn order(place: Place) -> (u8, u64) {
    match place {
        Place::Argument(number) => (0, number as u64),
        Place::Result(number) => (1, number as u64),
        Place::Temp(offset) => (2, offset),
        Place::Scratch(offset) => (3, offset),
        Place::Constant(value) => (4, value.index() as u64),
        Place::Register => (5, 0),
    }
}

fn collect(block: &Block, makers: &mut FxHashMap<ValueId, InstructionId>) {
    for step in &block.steps {
        match step {
            Step::Compute(compute) => {
                for leaf in &compute.results {
                    if let Leaf::Array(value) = leaf {
                        makers.insert(*value, compute.instruction);
                    }
                }
            }
            Step::While(step) => {
                for carry in &step.carries {
                    makers.insert(carry.result, step.instruction);
                }
                collect(&step.condition, makers);
                collect(&step.body, makers);
            }
            Step::Conditional(step) => {
                makers.extend(step.results.iter().map(|&value| (value, step.instruction)));
                step.branches.iter().for_each(|branch| collect(branch, makers));
            }
        }
    }
}
