//! Custom calls: targets with their configuration, layouts and aliasing, and the targets that mean
//! something to the compiler itself.

use rxla_hlo::op::{CustomCall, CustomCallApiVersion, OutputOperandAlias};
use rxla_hlo::{ComputationId, Dims, Layout, Op, Shape};

use super::attributes::{View, integers_of};
use super::importer::{Importer, Result, one_or_tuple_shape};
use super::module_attributes::check_permutation;
use super::{calls, collectives, compiler_calls, composite, sdy};
use crate::ffi;
use crate::mlir::Attribute;

/// A custom call of one operand that only marks it.
pub(super) fn marker(target: &str) -> Op {
    CustomCall { custom_call_target: target.to_owned(), ..CustomCall::default() }.into_op()
}

trait IntoOp {
    fn into_op(self) -> Op;
}

impl IntoOp for CustomCall {
    fn into_op(self) -> Op {
        Op::CustomCall(Box::new(self))
    }
}

/// `stablehlo.custom_call`.
pub(super) fn custom_call<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let target = view.str("call_target_name")?;
    if let Some((view, lower)) = composite::known_call(view, target) {
        return lower(cx, view);
    }
    match target {
        "ApproxTopK" => compiler_calls::approx_top_k(cx, view),
        "LayoutConstraint" => layout_constraint(cx, view),
        "annotate_device_placement" => sdy::identity(cx, view),
        "Sharding" if !cx.is_partitioned() => sdy::identity(cx, view),
        "ragged_all_to_all" => collectives::ragged_all_to_all(cx, view),
        "shape_assertion" => compiler_calls::shape_assertion(cx, view),
        "stablehlo.dynamic_approx_top_k" => compiler_calls::dynamic_approx_top_k(cx, view),
        "stablehlo.dynamic_reduce_window" => compiler_calls::dynamic_reduce_window(cx, view),
        "stablehlo.dynamic_rng_bit_generator" => {
            compiler_calls::dynamic_rng_bit_generator(cx, view)
        }
        "stablehlo.dynamic_top_k" => compiler_calls::dynamic_top_k(cx, view),
        target => generic(cx, view, target),
    }
}

/// Version and configuration. JAX marks a call of the typed FFI by a dictionary
/// `mhlo.backend_config` beside the attributes of the older versions; as in XLA the dictionary's
/// text is the configuration then, which [`ffi::attributes`] reads back.
pub(super) fn configuration(view: View<'_>) -> Result<(CustomCallApiVersion, String)> {
    let dictionary = match (view.get("mhlo.backend_config"), view.get("backend_config")) {
        (Some(dictionary @ Attribute::Dictionary(_)), _)
        | (None, Some(dictionary @ Attribute::Dictionary(_))) => Some(dictionary),
        (Some(Attribute::String(_)) | None, _) => None,
        (Some(_), _) => return Err(view.wrong("mhlo.backend_config", "a dictionary")),
    };
    if let Some(dictionary) = dictionary {
        let text = ffi::print(dictionary)
            .map_err(|reason| view.unimplemented(format_args!("configuration with {reason}")))?;
        return Ok((CustomCallApiVersion::TypedFfi, text));
    }
    let version = view.integer_or("api_version", 1)?;
    let version = i32::try_from(version)
        .ok()
        .and_then(CustomCallApiVersion::from_proto_number)
        .ok_or_else(|| view.wrong("api_version", "a version of custom calls"))?;
    let config = match view.get("backend_config").or_else(|| view.get("mhlo.backend_config")) {
        None => String::new(),
        // Configurations are bytes to us; HLO holds them as text.
        Some(Attribute::String(text)) => text.to_string_lossy().into_owned(),
        Some(_) => return Err(view.wrong("backend_config", "a string or a dictionary")),
    };
    Ok((version, config))
}

/// Layouts, one per shape; `None` if the attribute is absent.
fn layouts(view: View<'_>, name: &str, shapes: &[Shape]) -> Result<Option<Vec<Shape>>> {
    let Some(list) = view.get(name) else { return Ok(None) };
    let wrong = || view.wrong(name, "a list with one layout per value");
    let list = list.as_array().ok_or_else(wrong)?;
    if list.len() != shapes.len() {
        return Err(wrong());
    }
    let mut laid_out = Vec::with_capacity(shapes.len());
    for (item, shape) in list.iter().zip(shapes) {
        let order = integers_of(item).ok_or_else(wrong)?;
        laid_out.push(match shape {
            Shape::Array(array) => {
                check_permutation(view, name, &order, array.rank())?;
                let mut array = array.clone();
                array.layout = Some(Box::new(Layout::new(order)));
                array.into()
            }
            other => other.clone(),
        });
    }
    Ok(Some(laid_out))
}

fn aliases(view: View<'_>) -> Result<Vec<OutputOperandAlias>> {
    let Some(list) = view.get("output_operand_aliases") else { return Ok(Vec::new()) };
    let wrong = || view.wrong("output_operand_aliases", "a list of aliases");
    list.as_array()
        .ok_or_else(wrong)?
        .iter()
        .map(|item| match item {
            Attribute::OutputOperandAlias(alias) => Ok(OutputOperandAlias {
                output_index: Dims::from_slice(&alias.output_tuple_indices),
                operand: alias.operand_index,
                operand_index: Dims::from_slice(&alias.operand_tuple_indices),
            }),
            _ => Err(wrong()),
        })
        .collect()
}

/// The computations of the functions in `called_computations`.
pub(super) fn called<'a>(cx: &Importer<'a>, view: View<'a>) -> Result<Vec<ComputationId>> {
    let Some(list) = view.get("called_computations") else { return Ok(Vec::new()) };
    let wrong = || view.wrong("called_computations", "a list of symbols");
    let list = list.as_array().ok_or_else(wrong)?;
    list.iter()
        .map(|item| {
            let symbol = item.as_flat_symbol().ok_or_else(wrong)?;
            Ok(calls::callee(cx, view, symbol.as_bytes())?.1)
        })
        .collect()
}

/// A value whose layout is said. All values are row-major between parameters and results, so only a
/// result whose layout is open shows it.
fn layout_constraint<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let shapes = view.result_shapes()?;
    let laid_out = layouts(view, "result_layouts", &shapes)?.unwrap_or_default();
    for (&operand, shape) in cx.operands(view)?.iter().zip(&laid_out) {
        if let Some(layout) = shape.as_array().and_then(|array| array.layout.as_deref()) {
            cx.layouts.insert(operand, layout.clone());
        }
    }
    sdy::identity(cx, view)
}

/// A custom call passed on as it is.
fn generic<'a>(cx: &mut Importer<'a>, view: View<'a>, target: &str) -> Result {
    let operands = cx.operands(view)?;
    let (api_version, mut backend_config) = configuration(view)?;
    if let ("InspectSharding", Some(Attribute::String(bytes))) =
        (target, view.get("backend_config"))
    {
        // Addresses rather than text: a character for each byte.
        backend_config = bytes.as_bytes().iter().copied().map(char::from).collect();
    }
    let operand_shapes: Vec<Shape> =
        operands.iter().map(|&operand| cx.logical_shape(operand)).collect();
    let operand_layouts = layouts(view, "operand_layouts", &operand_shapes)?;
    let result_shapes = view.result_shapes()?;
    let result_layouts = layouts(view, "result_layouts", &result_shapes)?;
    let called_computations = called(cx, view)?;
    let op = CustomCall {
        custom_call_target: target.to_owned(),
        operand_layout_constraints: operand_layouts.clone(),
        custom_call_has_side_effect: view.bool_or("has_side_effect", false)?,
        called_computations,
        output_to_operand_aliasing: aliases(view)?,
        api_version: (api_version != CustomCallApiVersion::Original).then_some(api_version),
        ..CustomCall::default()
    };
    let shape = one_or_tuple_shape(result_layouts.unwrap_or(result_shapes));
    let instruction = cx.add(op.into_op(), shape, &operands);
    if !backend_config.is_empty() {
        cx.module[instruction].info_mut().backend_config = backend_config;
    }
    if let (true, Some(rule)) = (cx.is_partitioned(), view.get("sdy.sharding_rule")) {
        // Where XLA's export of Shardy puts it too.
        cx.module[instruction]
            .info_mut()
            .frontend_attributes
            .insert("xla.sdy.sharding_rule".to_owned(), crate::text::print_attribute(rule));
    }
    cx.finish_tuple(view, instruction)
}
