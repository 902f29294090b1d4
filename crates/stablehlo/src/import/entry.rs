//! What the attributes of `main`'s arguments and results say about the entry computation:
//! aliasing and donation, layouts and memories, shardings.

use rxla_hlo::{
    AliasKind, BufferDonor, ComputationLayout, Dims, InputOutputAlias, InstructionId, Layout, Shape,
};

use super::attributes::View;
use super::importer::{Importer, Result};
use super::{ArgumentForm, auto_layout, block, sharding};
use crate::mlir::{Attribute, FunctionType};

/// XLA's number of the memory space of each memory kind.
const MEMORY_KINDS: [(&str, i64); 3] = [("device", 0), ("pinned_host", 5), ("unpinned_host", 7)];

/// The dictionary of one argument or result.
fn dictionary<'a>(
    view: View<'a>,
    name: &str,
    index: usize,
    count: usize,
) -> Result<Option<&'a Attribute>> {
    let Some(list) = view.get(name) else { return Ok(None) };
    let wrong = || view.wrong(name, "a list with one dictionary each");
    let items = list.as_array().ok_or_else(wrong)?;
    if items.len() != count || items[index].as_dictionary().is_none() {
        return Err(wrong());
    }
    Ok(Some(&items[index]))
}

fn flag(view: View<'_>, dictionary: &Attribute, name: &str) -> Result<bool> {
    match dictionary.entry(name) {
        None => Ok(false),
        Some(Attribute::Unit) => Ok(true),
        Some(other) => other.as_bool().ok_or_else(|| view.wrong(name, "a boolean")),
    }
}

/// Parameter number and tuple index of an argument.
fn place(cx: &Importer<'_>, argument: usize) -> (i64, Dims) {
    match cx.options.arguments {
        ArgumentForm::Separate => (argument as i64, Dims::new()),
        ArgumentForm::Tupled => (0, Dims::from_slice(&[argument as i64])),
    }
}

/// Reads the arguments' attributes; the computation is complete.
pub(super) fn arguments<'a>(cx: &mut Importer<'a>, view: View<'a>, ty: &FunctionType) -> Result {
    let count = ty.inputs.len();
    let computation = cx.computation();
    let program = cx.module.program_shape(computation);
    let mut parameters: Vec<Shape> =
        program.parameters.into_iter().map(|(_, s)| s.without_layout()).collect();
    let mut result = program.result.without_layout();
    let mut shardings = Vec::new();
    for index in 0..count {
        let Some(attributes) = dictionary(view, "arg_attrs", index, count)? else { break };
        let (parameter, parameter_index) = place(cx, index);
        if let Some(output) = attributes.entry("tf.aliasing_output") {
            let output = output
                .as_integer()
                .filter(|&output| output >= 0 && (output as usize) < ty.results.len())
                .ok_or_else(|| view.wrong("tf.aliasing_output", "the number of a result"))?;
            let output_index = match ty.results.len() {
                1 => Dims::new(),
                _ => Dims::from_slice(&[output]),
            };
            cx.module.config.input_output_alias.push(InputOutputAlias {
                output_index,
                parameter,
                parameter_index: parameter_index.clone(),
                kind: AliasKind::May,
            });
        }
        if flag(view, attributes, "jax.buffer_donor")? {
            let parameter_index = parameter_index.clone();
            cx.module.config.buffer_donors.push(BufferDonor { parameter, parameter_index });
        }
        let part = match cx.options.arguments {
            ArgumentForm::Separate => &mut parameters[index],
            ArgumentForm::Tupled => &mut parameters[0],
        };
        place_in_memory(view, attributes, part, &parameter_index)?;
        if let Some(sharding) = sharding::of_dictionary(cx, view, attributes)? {
            shardings.push((index, sharding));
        }
        let instruction = cx.module[computation].parameters()[parameter as usize];
        if let Some(list) = attributes.entry("mhlo.frontend_attributes")
            && cx.options.arguments == ArgumentForm::Separate
        {
            let list = block::string_dictionary(view, "mhlo.frontend_attributes", list)?;
            cx.module[instruction].info_mut().frontend_attributes = list;
        }
        if let Some(list) = attributes.entry("mhlo.parameter_replication")
            && cx.options.arguments == ArgumentForm::Separate
        {
            let wrong = || view.wrong("mhlo.parameter_replication", "a list of booleans");
            let list: Option<Vec<bool>> =
                list.as_array().ok_or_else(wrong)?.iter().map(Attribute::as_bool).collect();
            cx.module[instruction].info_mut().parameter_replication = list.ok_or_else(wrong)?;
        } else if flag(view, attributes, "mhlo.is_same_data_across_replicas")? {
            let leaves = cx.shape(instruction).leaves().len();
            cx.module[instruction].info_mut().parameter_replication = vec![true; leaves];
        }
    }
    attach_shardings(cx, count, shardings);
    for index in 0..ty.results.len() {
        let Some(attributes) = dictionary(view, "res_attrs", index, ty.results.len())? else {
            break;
        };
        let path = match ty.results.len() {
            1 => Dims::new(),
            _ => Dims::from_slice(&[index as i64]),
        };
        place_in_memory(view, attributes, &mut result, &path)?;
        let is_auto = attributes.entry("mhlo.layout_mode").and_then(Attribute::as_str);
        if is_auto == Some("auto") {
            choose_layout(cx, &mut result, &path, &parameters);
        }
    }
    cx.module.config.entry_computation_layout = Some(ComputationLayout { parameters, result });
    Ok(())
}

/// Gives the result at `path` the layout that costs least.
fn choose_layout(cx: &Importer<'_>, result: &mut Shape, path: &Dims, parameters: &[Shape]) {
    if cx.options.arguments == ArgumentForm::Tupled {
        return;
    }
    let root = cx.module[cx.computation()].root();
    let value = match path[..] {
        [index] => cx.module[root].operands()[index as usize],
        _ => root,
    };
    let Some(mut chosen) = auto_layout::of_result(&cx.module, value, parameters, &cx.layouts)
    else {
        return;
    };
    let place = |shape: &mut Shape| {
        if let Shape::Array(array) = shape {
            chosen.memory_space = array.layout.as_ref().map_or(0, |layout| layout.memory_space);
            array.layout = Some(Box::new(chosen));
        }
    };
    match result {
        Shape::Tuple(parts) => {
            let mut parts = parts.to_vec();
            place(&mut parts[path[0] as usize]);
            *result = Shape::tuple(parts);
        }
        single => place(single),
    }
}

/// Puts shardings on parameters: each its own, or all as one tuple.
fn attach_shardings(
    cx: &mut Importer<'_>,
    count: usize,
    shardings: Vec<(usize, rxla_hlo::Sharding)>,
) {
    if shardings.is_empty() {
        return;
    }
    let parameters = cx.module[cx.computation()].parameters().to_vec();
    match cx.options.arguments {
        ArgumentForm::Separate => {
            for (index, sharding) in shardings {
                cx.module[parameters[index]].info_mut().sharding = Some(sharding);
            }
        }
        ArgumentForm::Tupled => {
            let mut all = vec![rxla_hlo::Sharding::replicated(); count];
            for (index, sharding) in shardings {
                all[index] = sharding;
            }
            cx.module[parameters[0]].info_mut().sharding = Some(rxla_hlo::Sharding::Tuple(all));
        }
    }
}

/// `mhlo.layout_mode` and `mhlo.memory_kind` of the part at `path`.
fn place_in_memory(
    view: View<'_>,
    attributes: &Attribute,
    shape: &mut Shape,
    path: &Dims,
) -> Result {
    let layout = match attributes.entry("mhlo.layout_mode") {
        None => None,
        Some(mode) => {
            let wrong = || view.wrong("mhlo.layout_mode", "`default`, `auto` or a layout");
            match mode.as_str().ok_or_else(wrong)? {
                // Parameters are taken as they are by default; results are looked at later.
                "default" | "auto" => None,
                text => Some(rxla_hlo::text::parse_layout(text).map_err(|findings| {
                    let reason = sharding::reason(&findings);
                    view.error(format_args!("the layout `{text}` cannot be read{reason}"))
                })?),
            }
        }
    };
    let memory_space = match attributes.entry("mhlo.memory_kind") {
        None => 0,
        Some(kind) => {
            let kind = kind.as_str().ok_or_else(|| view.wrong("mhlo.memory_kind", "a string"))?;
            let known = MEMORY_KINDS.iter().find(|(name, _)| *name == kind);
            known
                .ok_or_else(|| {
                    view.error(format_args!("memory kind `{kind}` is not known"))
                        .hint("memory kinds are `device`, `pinned_host` and `unpinned_host`")
                })?
                .1
        }
    };
    if layout.is_none() && memory_space == 0 {
        return Ok(());
    }
    let part = match path[..] {
        [] => shape,
        _ => {
            let Shape::Tuple(parts) = shape else {
                return Err(view.error("the entry computation's shape is no tuple"));
            };
            let mut parts = parts.to_vec();
            place_in_memory(view, attributes, &mut parts[path[0] as usize], &Dims::new())?;
            *shape = Shape::tuple(parts);
            return Ok(());
        }
    };
    let Shape::Array(array) = part else {
        return Err(view.error(format_args!("`{part}` has no layout to choose")));
    };
    let rank = array.rank();
    if let Some(layout) = layout {
        super::module_attributes::check_permutation(
            view,
            "mhlo.layout_mode",
            &layout.minor_to_major,
            rank,
        )?;
        array.layout = Some(Box::new(layout));
    }
    let layout = array.layout.get_or_insert_with(|| Box::new(Layout::row_major(rank)));
    if memory_space != 0 {
        layout.memory_space = memory_space;
    }
    Ok(())
}

/// The results with their shardings: each sharded result gets an instruction of its own, so that
/// one value returned twice may be spread in two ways.
pub(super) fn results<'a>(
    cx: &mut Importer<'a>,
    view: View<'a>,
    values: &[InstructionId],
) -> Result<Vec<InstructionId>> {
    let mut results = values.to_vec();
    if !cx.is_partitioned() {
        return Ok(results);
    }
    for (index, result) in results.iter_mut().enumerate() {
        let Some(attributes) = dictionary(view, "res_attrs", index, values.len())? else { break };
        if let Some(sharding) = sharding::of_dictionary(cx, view, attributes)? {
            *result = sharding::constrain(cx, *result, sharding);
        }
    }
    Ok(results)
}

/// `mhlo.input_output_alias`: a list of dictionaries as XLA's importer of HLO writes them.
pub(super) fn alias_list(cx: &mut Importer<'_>, root: View<'_>, list: &Attribute) -> Result {
    let wrong = || root.wrong("mhlo.input_output_alias", "a list of aliases");
    for item in list.as_array().ok_or_else(wrong)? {
        let index = |dictionary: &Attribute, name: &str| {
            dictionary.entry(name).and_then(super::attributes::integers_of)
        };
        let alias = item.entry("alias").ok_or_else(wrong)?;
        let kind = match alias.entry("kind").and_then(Attribute::as_str) {
            Some("may_alias") => AliasKind::May,
            Some("must_alias") => AliasKind::Must,
            _ => return Err(wrong()),
        };
        cx.module.config.input_output_alias.push(InputOutputAlias {
            output_index: index(item, "output_index").ok_or_else(wrong)?,
            parameter: alias
                .entry("parameter_number")
                .and_then(Attribute::as_integer)
                .ok_or_else(wrong)?,
            parameter_index: index(alias, "parameter_index").ok_or_else(wrong)?,
            kind,
        });
    }
    Ok(())
}
