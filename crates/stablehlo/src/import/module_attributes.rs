//! Attributes of the module and what they configure.

use rxla_hlo::{ComputationLayout, CrossProgramPrefetch, Layout, Shape, Tile};

use super::attributes::{View, integers_of};
use super::importer::{Importer, Result};
use super::{block, sharding};
use crate::mlir::Attribute;

/// Reads what does not depend on the entry computation.
pub(super) fn read<'a>(cx: &mut Importer<'a>, root: View<'a>) -> Result {
    cx.module.name = super::functions::sanitized(root.str_or("sym_name", "main")?);
    let config = &mut cx.module.config;
    config.num_partitions = count(root, "mhlo.num_partitions")?;
    config.replica_count = count(root, "mhlo.num_replicas")?;
    config.is_dynamic = root.bool_or("mhlo.is_dynamic", false)?;
    config.use_auto_spmd_partitioning = root.bool_or("mhlo.use_auto_spmd_partitioning", false)?;
    if let Some(dictionary) = root.get("mhlo.frontend_attributes") {
        config.frontend_attributes =
            block::string_dictionary(root, "mhlo.frontend_attributes", dictionary)?;
    }
    if root.get("mhlo.spmd_output_sharding").is_some() {
        let text = root.str("mhlo.spmd_output_sharding")?;
        config.spmd_output_sharding = Some(sharding::parse(root, text)?);
    }
    if let Some(list) = root.get("mhlo.spmd_parameters_shardings") {
        let wrong = || root.wrong("mhlo.spmd_parameters_shardings", "a list of strings");
        for item in list.as_array().ok_or_else(wrong)? {
            let text = item.as_str().ok_or_else(wrong)?;
            config.spmd_parameters_shardings.push(sharding::parse(root, text)?);
        }
    }
    if let Some(list) = root.get("mhlo.cross_program_prefetches") {
        let items =
            list.as_array().ok_or_else(|| root.wrong("mhlo.cross_program_prefetches", "a list"))?;
        // The entries are attributes of a dialect whose text only compilers of one target write.
        if !items.is_empty() {
            return Err(root.unimplemented("the attribute `mhlo.cross_program_prefetches`"));
        }
        config.cross_program_prefetches = Vec::<CrossProgramPrefetch>::new();
    }
    if let Some(list) = root.get("mhlo.input_output_alias") {
        super::entry::alias_list(cx, root, list)?;
    }
    Ok(())
}

fn count(root: View<'_>, name: &str) -> Result<i64> {
    let count = root.integer_or(name, 1)?;
    if count < 1 {
        return Err(root.error(format_args!("attribute `{name}` is {count}")));
    }
    Ok(count)
}

/// Reads layouts of the entry computation, which exists now. They are always said in the end, since
/// the root may have a layout of its own that is not the result's.
pub(super) fn finish<'a>(cx: &mut Importer<'a>, root: View<'a>) -> Result {
    let shape = cx.module.program_shape(cx.module.entry());
    let mut layout =
        cx.module.config.entry_computation_layout.take().unwrap_or_else(|| ComputationLayout {
            parameters: shape.parameters.iter().map(|(_, shape)| shape.clone()).collect(),
            result: shape.result.clone(),
        });
    let parts: [(&str, fn(View<'_>, &str, &Attribute, &mut Shape) -> Result); 2] =
        [("layouts", set_layout), ("tiles", set_tiles)];
    for (what, set) in parts {
        let name = format!("mhlo.xla_entry_computation_parameter_{what}");
        if let Some(attribute) = root.get(&name) {
            let wrong = || root.wrong(&name, "a list with one entry per parameter");
            let items = attribute.as_array().ok_or_else(wrong)?;
            if items.len() != layout.parameters.len() {
                return Err(wrong());
            }
            for (item, shape) in items.iter().zip(&mut layout.parameters) {
                set(root, &name, item, shape)?;
            }
        }
        let name = format!("mhlo.xla_entry_computation_result_{}", what.trim_end_matches('s'));
        let plural = format!("mhlo.xla_entry_computation_result_{what}");
        for name in [&name, &plural] {
            let Some(attribute) = root.get(name) else { continue };
            match attribute.as_array() {
                Some([single]) if !matches!(layout.result, Shape::Tuple(_)) => {
                    set(root, name, single, &mut layout.result)?;
                }
                _ => set(root, name, attribute, &mut layout.result)?,
            }
        }
    }
    layout.parameters = layout.parameters.iter().map(Shape::with_default_layout).collect();
    layout.result = layout.result.with_default_layout();
    cx.module.config.entry_computation_layout = Some(layout);
    Ok(())
}

fn tuple_parts(
    root: View<'_>,
    name: &str,
    items: &[Attribute],
    shape: &Shape,
) -> Result<Vec<Shape>> {
    match shape.as_tuple() {
        Some(parts) if parts.len() == items.len() => Ok(parts.to_vec()),
        _ => Err(root
            .error(format_args!("attribute `{name}` has {} entries for `{shape}`", items.len()))),
    }
}

/// A layout is minor-to-major dimension numbers; an empty list means the default.
fn set_layout(root: View<'_>, name: &str, attribute: &Attribute, shape: &mut Shape) -> Result {
    if let (Attribute::Array(items), Shape::Tuple(_)) = (attribute, &*shape) {
        let mut parts = tuple_parts(root, name, items, shape)?;
        for (item, part) in items.iter().zip(&mut parts) {
            set_layout(root, name, item, part)?;
        }
        *shape = Shape::tuple(parts);
        return Ok(());
    }
    let order = integers_of(attribute).ok_or_else(|| root.wrong(name, "a list of layouts"))?;
    let Shape::Array(array) = shape else { return Ok(()) };
    if !order.is_empty() {
        check_permutation(root, name, &order, array.rank())?;
        array.layout = Some(Box::new(Layout::new(order)));
    }
    Ok(())
}

/// Tilings: a list of lists of sizes.
fn set_tiles(root: View<'_>, name: &str, attribute: &Attribute, shape: &mut Shape) -> Result {
    let wrong = || root.wrong(name, "a list of tilings");
    if let (Attribute::Array(items), Shape::Tuple(_)) = (attribute, &*shape) {
        let mut parts = tuple_parts(root, name, items, shape)?;
        for (item, part) in items.iter().zip(&mut parts) {
            set_tiles(root, name, item, part)?;
        }
        *shape = Shape::tuple(parts);
        return Ok(());
    }
    let items = match attribute {
        Attribute::Array(items) => items.to_vec(),
        single => vec![single.clone()],
    };
    let Shape::Array(array) = shape else { return Ok(()) };
    for item in &items {
        let dimensions = integers_of(item).ok_or_else(wrong)?;
        if dimensions.is_empty() {
            continue;
        }
        let rank = array.rank();
        let layout = array.layout.get_or_insert_with(|| Box::new(Layout::row_major(rank)));
        layout.tiles.push(Tile { dimensions });
    }
    Ok(())
}

/// Refuses what is no permutation of `0..rank`.
pub(super) fn check_permutation(view: View<'_>, name: &str, order: &[i64], rank: usize) -> Result {
    let mut seen = vec![false; rank];
    let fits = order.len() == rank
        && order.iter().all(|&dimension| {
            usize::try_from(dimension)
                .ok()
                .and_then(|dimension| seen.get_mut(dimension))
                .is_some_and(|seen| !std::mem::replace(seen, true))
        });
    match fits {
        true => Ok(()),
        false => Err(view
            .error(format_args!("attribute `{name}` is {order:?}, no order of {rank} dimensions"))),
    }
}
