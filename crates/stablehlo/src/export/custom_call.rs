//! Custom calls, infeed and outfeed, send and receive.

use std::sync::Arc;

use rxla_hlo::Shape;
use rxla_hlo::op::{CustomCall, CustomCallApiVersion, Infeed, Outfeed, Recv, Send};

use super::attributes::Declared;
use super::collectives::channel;
use super::exporter::{Exported, Exporter, Result, Scope, View, tree};
use super::types;
use crate::mlir::{Attribute, OutputOperandAlias, Type};

/// Layouts as vectors of dimension numbers; scalars and tokens have empty ones.
fn layouts(view: View<'_>, shapes: &[Shape]) -> Result<Attribute> {
    let each = |shape: &Shape| match shape {
        Shape::Array(array) => match &array.layout {
            Some(layout) => types::index_vector(&layout.minor_to_major),
            None => types::index_vector(&(0..array.rank() as i64).rev().collect::<Vec<_>>()),
        },
        Shape::Token | Shape::Buffer(_) => types::index_vector(&[]),
        Shape::Tuple(_) | Shape::Opaque => None,
    };
    let list = shapes.iter().map(each).collect::<Option<Vec<_>>>();
    list.map(Attribute::array)
        .ok_or_else(|| view.unimplemented("with layouts of tuples has no form"))
}

pub(super) fn custom_call<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
    op: &CustomCall,
) -> Result<Exported> {
    if op.literal.is_some() || op.window.is_some() || op.dim_labels.is_some() {
        return Err(view.unimplemented("with a literal or a convolution's window has no form"));
    }
    let mut attributes = Declared::new()
        .with("call_target_name", Attribute::string(op.custom_call_target.as_str()))
        .bool("has_side_effect", op.custom_call_has_side_effect);
    let version = op.api_version.unwrap_or(CustomCallApiVersion::Original);
    attributes = attributes.with("api_version", Attribute::i32(version.proto_number()));
    let config = view.instruction.info().map_or("", |info| info.backend_config.as_str());
    if version == CustomCallApiVersion::TypedFfi {
        if !config.is_empty() {
            let dictionary = crate::text::parse_attribute(config).ok();
            let Some(dictionary @ Attribute::Dictionary(_)) = dictionary else {
                return Err(view.error("has a configuration that is no dictionary"));
            };
            attributes = attributes.with("backend_config", dictionary);
        }
    } else {
        attributes = attributes.with("backend_config", Attribute::string(config));
    }
    let called = op.to_apply.iter().chain(&op.called_computations);
    let called: Vec<Attribute> =
        called.map(|&computation| Attribute::symbol(cx.function(computation))).collect();
    attributes = attributes.with("called_computations", Attribute::array(called));
    let aliases = op.output_to_operand_aliasing.iter().map(|alias| {
        Attribute::OutputOperandAlias(Arc::new(OutputOperandAlias {
            output_tuple_indices: alias.output_index.to_vec(),
            operand_index: alias.operand,
            operand_tuple_indices: alias.operand_index.to_vec(),
        }))
    });
    attributes = attributes.with("output_operand_aliases", Attribute::array(aliases.collect()));
    if let Some(operands) = &op.operand_layout_constraints {
        let results = match view.shape() {
            Shape::Tuple(parts) => parts.to_vec(),
            shape => vec![shape.clone()],
        };
        attributes = attributes
            .with("operand_layouts", layouts(view, operands)?)
            .with("result_layouts", layouts(view, &results)?);
    }
    cx.add_alike(scope, view, "stablehlo.custom_call", attributes)
}

/// A configuration that is not text has no form that all readers take.
fn config(bytes: &[u8]) -> Attribute {
    Attribute::String(bytes.into())
}

/// The data's parts and the token are results; together they have the instruction's shape.
pub(super) fn infeed<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
    op: &Infeed,
) -> Result<Exported> {
    let attributes = Declared::new().with("infeed_config", config(&op.infeed_config));
    received(cx, scope, view, "stablehlo.infeed", view.shape(), attributes)
}

fn received<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
    name: &str,
    shape: &Shape,
    attributes: Declared,
) -> Result<Exported> {
    let types = shape
        .leaves()
        .into_iter()
        .map(|(_, leaf)| cx.ty(view, leaf))
        .collect::<Result<Vec<_>>>()?;
    let operands = cx.values(scope, view)?;
    let (op, results) = cx.add_operation(scope.block, view, name, &operands, types, attributes)?;
    cx.annotate(op, view);
    tree(shape, &mut results.into_iter()).ok_or_else(|| view.error("gives too few values"))
}

/// The leaves of the data, then the token.
fn sent<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
    name: &str,
    attributes: Declared,
) -> Result<Exported> {
    let data = cx.operand(scope, view, 0)?;
    let mut operands = cx.leaves(scope.block, &data, view)?;
    operands.push(cx.value(scope, view, 1)?);
    let types = vec![Type::Token];
    let (op, results) = cx.add_operation(scope.block, view, name, &operands, types, attributes)?;
    cx.annotate(op, view);
    Ok(Exported::Value(results[0]))
}

pub(super) fn outfeed<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
    op: &Outfeed,
) -> Result<Exported> {
    let attributes = Declared::new().with("outfeed_config", config(&op.outfeed_config));
    sent(cx, scope, view, "stablehlo.outfeed", attributes)
}

/// Numbers of the kinds of channels: between devices, to the host, from the host.
fn channel_type(is_host_transfer: bool, host: i64) -> i64 {
    if is_host_transfer { host } else { 1 }
}

/// The token that comes out is that of the end, which adds nothing.
pub(super) fn send<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
    op: &Send,
) -> Result<Exported> {
    let handle = Some(op.channel_id.unwrap_or(0));
    let attributes = Declared::new()
        .maybe("channel_handle", channel(handle, channel_type(op.is_host_transfer, 2)))
        .bool("is_host_transfer", op.is_host_transfer);
    sent(cx, scope, view, "stablehlo.send", attributes)
}

/// Data and token, as the end gives them.
pub(super) fn recv<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
    op: &Recv,
) -> Result<Exported> {
    let (Some(data), Some(token)) = (view.shape().subshape(&[0]), view.shape().subshape(&[2]))
    else {
        return Err(view.error("has not the shape of data, a number and a token"));
    };
    let handle = Some(op.channel_id.unwrap_or(0));
    let attributes = Declared::new()
        .maybe("channel_handle", channel(handle, channel_type(op.is_host_transfer, 3)))
        .bool("is_host_transfer", op.is_host_transfer);
    let shape = Shape::tuple([data.clone(), token.clone()]);
    received(cx, scope, view, "stablehlo.recv", &shape, attributes)
}
