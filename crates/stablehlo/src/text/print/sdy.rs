//! Shardy's attributes to text.

use std::fmt::Write;

use super::attributes::{
    write_attribute, write_commas, write_integers, write_string, write_symbol,
};
use super::dialects::write_sub_axis;
use crate::mlir::{
    Attribute, AxisRef, AxisToPropagationDetails, DimensionSharding, EdgeNodeType, EdgeValueRef,
    MeshAxis, OpShardingRule, PropagationDirection, PropagationOneStep, ReductionOp, SdyAttribute,
    TensorSharding,
};

/// With `#sdy.` and the attribute's name.
pub(super) fn write_sdy_attribute(out: &mut String, attribute: &SdyAttribute) {
    let name = match attribute {
        SdyAttribute::ManualAxes(_) => "manual_axes",
        SdyAttribute::MeshAxis(_) => "mesh_axis",
        SdyAttribute::Mesh(_) => "mesh",
        SdyAttribute::SubAxisInfo(_) => "sub_axis_info",
        SdyAttribute::AxisRef(_) => "axis_ref",
        SdyAttribute::DimensionSharding(_) => "dimension_sharding",
        SdyAttribute::TensorSharding(_) => "sharding",
        SdyAttribute::TensorShardingPerValue(_) => "sharding_per_value",
        SdyAttribute::DimMapping(_) => "dim_mapping",
        SdyAttribute::TensorMapping(_) => "tensor_mapping",
        SdyAttribute::OpShardingRule(_) => "op_sharding_rule",
        SdyAttribute::AxisRefList(_) => "axis_ref_list",
        SdyAttribute::ListOfAxisRefLists(_) => "list_of_axis_ref_lists",
        SdyAttribute::AllToAllParam(_) => "all_to_all_param",
        SdyAttribute::AllToAllParamList(_) => "all_to_all_param_list",
        SdyAttribute::PropagationDirection(_) => "propagation_direction",
        SdyAttribute::EdgeValueRef(_) => "edge_value_ref",
        SdyAttribute::AxisToPropagationDetails(_) => "axis_to_propagation_details",
        SdyAttribute::PropagationOneStep(_) => "propagation_one_step",
        SdyAttribute::PropagationEdges(_) => "propagation_edges",
    };
    let mut body = String::new();
    write_sdy_body(&mut body, attribute);
    if body.starts_with('<') {
        _ = write!(out, "#sdy.{name}{body}");
    } else {
        let space = if body.starts_with(|c: char| c.is_ascii_alphanumeric()) { " " } else { "" };
        _ = write!(out, "#sdy<{name}{space}{body}>");
    }
}

/// Without `#sdy.` and the attribute's name, as operations print it.
pub(super) fn write_sdy_body(out: &mut String, attribute: &SdyAttribute) {
    match attribute {
        SdyAttribute::ManualAxes(axes) => {
            out.push('{');
            write_commas(out, axes, write_string);
            out.push('}');
        }
        SdyAttribute::MeshAxis(axis) => write_sdy_mesh_axis(out, axis),
        SdyAttribute::Mesh(mesh) => {
            out.push_str("<[");
            write_commas(out, &mesh.axes, write_sdy_mesh_axis);
            out.push(']');
            if !mesh.device_ids.is_empty() {
                out.push_str(", device_ids=[");
                write_integers(out, &mesh.device_ids);
                out.push(']');
            }
            out.push('>');
        }
        SdyAttribute::SubAxisInfo(info) => write_sub_axis(out, info),
        SdyAttribute::AxisRef(axis) => write_sdy_axis(out, axis),
        SdyAttribute::DimensionSharding(sharding) => write_dimension_sharding(out, sharding),
        SdyAttribute::TensorSharding(sharding) => write_sharding(out, sharding),
        SdyAttribute::TensorShardingPerValue(shardings) => {
            out.push('<');
            write_shardings(out, shardings);
            out.push('>');
        }
        SdyAttribute::DimMapping(factors) => write_factors(out, factors),
        SdyAttribute::TensorMapping(mapping) => write_mapping(out, mapping),
        SdyAttribute::OpShardingRule(rule) => write_rule(out, rule),
        SdyAttribute::AxisRefList(axes) => write_axes(out, axes),
        SdyAttribute::ListOfAxisRefLists(lists) => {
            out.push('[');
            write_commas(out, lists, |out, axes| write_axes(out, axes));
            out.push(']');
        }
        SdyAttribute::AllToAllParam(param) => {
            write_axes(out, &param.axes);
            _ = write!(out, ": {}->{}", param.src_dim, param.tgt_dim);
        }
        SdyAttribute::AllToAllParamList(params) => {
            out.push('[');
            write_commas(out, params, |out, param| {
                write_axes(out, &param.axes);
                _ = write!(out, ": {}->{}", param.src_dim, param.tgt_dim);
            });
            out.push(']');
        }
        SdyAttribute::PropagationDirection(direction) => out.push_str(match direction {
            PropagationDirection::None => "NONE",
            PropagationDirection::Forward => "FORWARD",
            PropagationDirection::Backward => "BACKWARD",
            PropagationDirection::Both => "BOTH",
        }),
        SdyAttribute::EdgeValueRef(edge) => write_edge(out, edge),
        SdyAttribute::AxisToPropagationDetails(details) => {
            write_sdy_axis_details(out, details);
        }
        SdyAttribute::PropagationOneStep(step) => write_step(out, step),
        SdyAttribute::PropagationEdges(steps) => {
            out.push_str("<[");
            write_commas(out, steps, write_step);
            out.push_str("]>");
        }
    }
}

fn write_sdy_mesh_axis(out: &mut String, axis: &MeshAxis) {
    write_string(out, &axis.name);
    _ = write!(out, "={}", axis.size);
}

fn write_sdy_axis(out: &mut String, axis: &AxisRef) {
    write_string(out, &axis.name);
    if let Some(info) = &axis.sub_axis {
        out.push(':');
        write_sub_axis(out, info);
    }
}

fn write_axes(out: &mut String, axes: &[AxisRef]) {
    out.push('{');
    write_commas(out, axes, write_sdy_axis);
    out.push('}');
}

fn write_dimension_sharding(out: &mut String, sharding: &DimensionSharding) {
    out.push('{');
    write_commas(out, &sharding.axes, write_sdy_axis);
    if !sharding.is_closed {
        out.push_str(if sharding.axes.is_empty() { "?" } else { ", ?" });
    }
    out.push('}');
    if let Some(priority) = sharding.priority {
        _ = write!(out, "p{priority}");
    }
}

fn write_sharding(out: &mut String, sharding: &TensorSharding) {
    out.push('<');
    match &sharding.mesh_or_ref {
        Attribute::Sdy(mesh) => {
            out.push_str("mesh");
            write_sdy_body(out, mesh);
        }
        Attribute::SymbolRef(symbol) => write_symbol(out, &symbol.root),
        other => write_attribute(out, other),
    }
    out.push_str(", [");
    write_commas(out, &sharding.dim_shardings, write_dimension_sharding);
    out.push(']');
    if !sharding.replicated_axes.is_empty() {
        out.push_str(", replicated=");
        write_axes(out, &sharding.replicated_axes);
    }
    if !sharding.unreduced_axes.is_empty() {
        out.push_str(", unreduced=");
        if sharding.reduction_op != ReductionOp::Sum {
            out.push_str(sharding.reduction_op.name());
        }
        write_axes(out, &sharding.unreduced_axes);
    }
    out.push('>');
}

/// `[<@mesh, …>, …]`.
pub(super) fn write_shardings(out: &mut String, shardings: &[TensorSharding]) {
    out.push('[');
    write_commas(out, shardings, write_sharding);
    out.push(']');
}

/// `ij`, with `z_1` and so on after `z`.
fn write_factors(out: &mut String, factors: &[i64]) {
    for &factor in factors {
        match u8::try_from(factor) {
            Ok(small @ 0..=17) => out.push(char::from(b'i' + small)),
            _ => _ = write!(out, "z_{}", factor.saturating_sub(17)),
        }
    }
}

fn write_mapping(out: &mut String, mapping: &[Vec<i64>]) {
    out.push('[');
    write_commas(out, mapping, |out, factors| write_factors(out, factors));
    out.push(']');
}

fn write_rule(out: &mut String, rule: &OpShardingRule) {
    out.push_str("<(");
    write_commas(out, &rule.operand_mappings, |out, mapping| write_mapping(out, mapping));
    out.push_str(")->(");
    write_commas(out, &rule.result_mappings, |out, mapping| write_mapping(out, mapping));
    out.push(')');
    if !rule.factor_sizes.is_empty() {
        out.push_str(" {");
        for (index, size) in rule.factor_sizes.iter().enumerate() {
            if index > 0 {
                out.push_str(", ");
            }
            write_factors(out, &[index as i64]);
            _ = write!(out, "={size}");
        }
        out.push('}');
    }
    for (name, factors) in [
        ("reduction", &rule.reduction_factors),
        ("need_replication", &rule.need_replication_factors),
        ("permutation", &rule.permutation_factors),
        ("blocked_propagation", &rule.blocked_propagation_factors),
    ] {
        if !factors.is_empty() {
            _ = write!(out, " {name}={{");
            write_commas(out, factors, |out, &factor| write_factors(out, &[factor]));
            out.push('}');
        }
    }
    if rule.is_custom_rule {
        out.push_str(", custom");
    }
    out.push('>');
}

fn write_edge(out: &mut String, edge: &EdgeValueRef) {
    let node = match edge.ty {
        EdgeNodeType::Operand => "operand",
        EdgeNodeType::Result => "result",
    };
    _ = write!(out, "{node}-{}", edge.index);
}

fn write_sdy_axis_details(out: &mut String, details: &AxisToPropagationDetails) {
    out.push('{');
    write_sdy_axis(out, &details.axis_name);
    out.push_str(" = ");
    write_edge(out, &details.source);
    out.push_str(" -> [");
    write_commas(out, &details.targets, write_edge);
    out.push_str("]}");
}

fn write_step(out: &mut String, step: &PropagationOneStep) {
    _ = write!(out, "{{step-{} = [", step.step_index);
    write_commas(out, &step.axis_entries, write_sdy_axis_details);
    out.push_str("]}");
}
