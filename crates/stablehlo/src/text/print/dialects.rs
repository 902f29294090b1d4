//! Attributes of the dialects `stablehlo`, `chlo` and `sdy` to text.

use std::fmt::Write;

use super::attributes::{
    write_attribute, write_commas, write_dense, write_integers, write_string, write_symbol,
};
use super::types::{write_double, write_type};
use crate::mlir::{
    Attribute, AxisRef, ConvDimensionNumbers, DYNAMIC, DimensionSharding, DotAlgorithm,
    EdgeNodeType, EdgeValueRef, EnumAttribute, EnumDialect, EnumValue, MeshAxis, OpShardingRule,
    Opaque, PropagationDirection, PropagationOneStep, ReductionOp, ResultAccuracy, SdyAttribute,
    SubAxisInfo, TensorSharding,
};

/// An attribute that is not builtin.
pub(super) fn write_dialect_attribute(out: &mut String, attribute: &Attribute) {
    match attribute {
        Attribute::Enum(EnumAttribute { dialect, value }) => {
            _ = write!(out, "#{}<{} {}>", dialect.name(), value.kind(), value.name());
        }
        Attribute::ScatterDimensionNumbers(d) => write_fields(
            out,
            "#stablehlo.scatter",
            &[
                ("update_window_dims", Field::Integers(&d.update_window_dims)),
                ("inserted_window_dims", Field::Integers(&d.inserted_window_dims)),
                ("input_batching_dims", Field::Integers(&d.input_batching_dims)),
                (
                    "scatter_indices_batching_dims",
                    Field::Integers(&d.scatter_indices_batching_dims),
                ),
                ("scatter_dims_to_operand_dims", Field::Integers(&d.scatter_dims_to_operand_dims)),
                ("index_vector_dim", Field::Integer(d.index_vector_dim)),
            ],
        ),
        Attribute::GatherDimensionNumbers(d) => write_fields(
            out,
            "#stablehlo.gather",
            &[
                ("offset_dims", Field::Integers(&d.offset_dims)),
                ("collapsed_slice_dims", Field::Integers(&d.collapsed_slice_dims)),
                ("operand_batching_dims", Field::Integers(&d.operand_batching_dims)),
                ("start_indices_batching_dims", Field::Integers(&d.start_indices_batching_dims)),
                ("start_index_map", Field::Integers(&d.start_index_map)),
                ("index_vector_dim", Field::Integer(d.index_vector_dim)),
            ],
        ),
        Attribute::DotDimensionNumbers(d) => write_fields(
            out,
            "#stablehlo.dot",
            &[
                ("lhs_batching_dimensions", Field::Integers(&d.lhs_batching_dimensions)),
                ("rhs_batching_dimensions", Field::Integers(&d.rhs_batching_dimensions)),
                ("lhs_contracting_dimensions", Field::Integers(&d.lhs_contracting_dimensions)),
                ("rhs_contracting_dimensions", Field::Integers(&d.rhs_contracting_dimensions)),
            ],
        ),
        Attribute::RaggedDotDimensionNumbers(d) => write_fields(
            out,
            "#chlo.ragged_dot",
            &[
                ("lhs_batching_dimensions", Field::Integers(&d.lhs_batching_dimensions)),
                ("rhs_batching_dimensions", Field::Integers(&d.rhs_batching_dimensions)),
                ("lhs_contracting_dimensions", Field::Integers(&d.lhs_contracting_dimensions)),
                ("rhs_contracting_dimensions", Field::Integers(&d.rhs_contracting_dimensions)),
                ("lhs_ragged_dimensions", Field::Integers(&d.lhs_ragged_dimensions)),
                ("rhs_group_dimensions", Field::Integers(&d.rhs_group_dimensions)),
            ],
        ),
        Attribute::DotAlgorithm(algorithm) => {
            out.push_str("#stablehlo.dot_algorithm");
            write_dot_algorithm(out, algorithm);
        }
        Attribute::ConvDimensionNumbers(numbers) => write_convolution_attribute(out, numbers),
        Attribute::OutputOperandAlias(alias) => {
            out.push_str("#stablehlo.output_operand_alias<output_tuple_indices = [");
            write_integers(out, &alias.output_tuple_indices);
            _ = write!(
                out,
                "], operand_index = {}, operand_tuple_indices = [",
                alias.operand_index
            );
            write_integers(out, &alias.operand_tuple_indices);
            out.push_str("]>");
        }
        Attribute::ChannelHandle { handle, ty } => {
            _ = write!(out, "#stablehlo.channel_handle<handle = {handle}, type = {ty}>");
        }
        Attribute::TypeExtensions(bounds) => {
            out.push_str("#stablehlo.bounds<");
            write_commas(out, &bounds[..], |out, &bound| match bound {
                DYNAMIC => out.push('?'),
                _ => _ = write!(out, "{bound}"),
            });
            out.push('>');
        }
        Attribute::ResultAccuracy(accuracy) => write_accuracy(out, accuracy),
        Attribute::ReplicaGroupMeshAxes(parts) => {
            out.push_str("#stablehlo.replica_group_mesh_axes<mesh = ");
            write_attribute(out, &parts.mesh);
            out.push_str(", axes = [");
            write_commas(out, &parts.axes[..], write_attribute);
            out.push_str("]>");
        }
        Attribute::Mesh(mesh) => {
            out.push_str("#stablehlo.mesh<axes=[");
            write_commas(out, &mesh.axes, write_stablehlo_mesh_axis);
            out.push(']');
            if let Some(ids) = &mesh.device_ids {
                out.push_str(", device_ids=");
                write_dense(out, ids);
            }
            out.push('>');
        }
        Attribute::MeshAxis(axis) => {
            out.push_str("#stablehlo.mesh_axis");
            write_stablehlo_mesh_axis(out, axis);
        }
        Attribute::AxisRef(axis) => {
            out.push_str("#stablehlo.axis_ref<name = ");
            write_string(out, &axis.name);
            if let Some(sub_axis) = &axis.sub_axis {
                out.push_str(", sub_axis_info = ");
                write_sub_axis(out, sub_axis);
            }
            out.push('>');
        }
        Attribute::SubAxisInfo(info) => {
            out.push_str("#stablehlo<sub_axis_info");
            write_sub_axis(out, info);
            out.push('>');
        }
        Attribute::Sdy(attribute) => write_sdy_attribute(out, attribute),
        Attribute::Opaque(opaque) => write_opaque(out, '#', opaque),
        Attribute::Unit
        | Attribute::Bool(_)
        | Attribute::Integer { .. }
        | Attribute::Float { .. }
        | Attribute::String(_)
        | Attribute::TypedString(_)
        | Attribute::SymbolRef(_)
        | Attribute::Type(_)
        | Attribute::Array(_)
        | Attribute::Dictionary(_)
        | Attribute::DenseElements(_)
        | Attribute::DenseStrings(_)
        | Attribute::DenseArray(_)
        | Attribute::DenseResource(_)
        | Attribute::Location(_) => write_attribute(out, attribute),
    }
}

/// What another dialect has written.
pub(super) fn write_opaque(out: &mut String, sigil: char, opaque: &Opaque) {
    let dialect = opaque.dialect.to_string_lossy();
    let text = opaque.text.to_string_lossy();
    if dialect.is_empty() {
        return out.push_str(&text);
    }
    let dot = if text.starts_with('<') { "" } else { "." };
    _ = write!(out, "{sigil}{dialect}{dot}{text}");
}

enum Field<'a> {
    Integer(i64),
    Integers(&'a [i64]),
}

/// `name<field = value, …>` without what is zero or empty.
fn write_fields(out: &mut String, name: &str, fields: &[(&str, Field<'_>)]) {
    out.push_str(name);
    out.push('<');
    let mut separator = "";
    for (name, field) in fields {
        match field {
            Field::Integer(0) | Field::Integers([]) => continue,
            Field::Integer(value) => _ = write!(out, "{separator}{name} = {value}"),
            Field::Integers(values) => {
                _ = write!(out, "{separator}{name} = [");
                write_integers(out, values);
                out.push(']');
            }
        }
        separator = ", ";
    }
    out.push('>');
}

pub(super) fn write_dot_algorithm(out: &mut String, algorithm: &DotAlgorithm) {
    out.push_str("<lhs_precision_type = ");
    write_type(out, &algorithm.lhs_precision_type);
    out.push_str(", rhs_precision_type = ");
    write_type(out, &algorithm.rhs_precision_type);
    out.push_str(", accumulation_type = ");
    write_type(out, &algorithm.accumulation_type);
    _ = write!(
        out,
        ", lhs_component_count = {}, rhs_component_count = {}, num_primitive_operations = {}, \
         allow_imprecise_accumulation = {}>",
        algorithm.lhs_component_count,
        algorithm.rhs_component_count,
        algorithm.num_primitive_operations,
        algorithm.allow_imprecise_accumulation
    );
}

fn write_convolution_attribute(out: &mut String, n: &ConvDimensionNumbers) {
    out.push_str("#stablehlo.conv<");
    if let Some(text) = convolution_text(n) {
        out.push_str(&text);
        return out.push('>');
    }
    // Numbers that are no permutation can only be written one by one.
    _ = write!(
        out,
        "raw input_batch_dimension = {}, input_feature_dimension = {}, input_spatial_dimensions = \
         {:?}, kernel_input_feature_dimension = {}, kernel_output_feature_dimension = {}, \
         kernel_spatial_dimensions = {:?}, output_batch_dimension = {}, output_feature_dimension \
         = {}, output_spatial_dimensions = {:?}>",
        n.input_batch_dimension,
        n.input_feature_dimension,
        n.input_spatial_dimensions,
        n.kernel_input_feature_dimension,
        n.kernel_output_feature_dimension,
        n.kernel_spatial_dimensions,
        n.output_batch_dimension,
        n.output_feature_dimension,
        n.output_spatial_dimensions
    );
}

/// `[b, 0, f]x[0, i, o]->[b, 0, f]`; `None` if the numbers are no permutations.
pub(super) fn convolution_text(n: &ConvDimensionNumbers) -> Option<String> {
    let input = labels(
        [(n.input_batch_dimension, "b"), (n.input_feature_dimension, "f")],
        &n.input_spatial_dimensions,
    )?;
    let kernel = labels(
        [(n.kernel_input_feature_dimension, "i"), (n.kernel_output_feature_dimension, "o")],
        &n.kernel_spatial_dimensions,
    )?;
    let output = labels(
        [(n.output_batch_dimension, "b"), (n.output_feature_dimension, "f")],
        &n.output_spatial_dimensions,
    )?;
    Some(format!("{input}x{kernel}->{output}"))
}

fn labels(named: [(i64, &str); 2], spatial: &[i64]) -> Option<String> {
    let mut labels = vec![String::new(); spatial.len() + 2];
    let numbered = spatial.iter().enumerate().map(|(index, &place)| (place, index.to_string()));
    for (place, label) in
        named.map(|(place, label)| (place, label.to_owned())).into_iter().chain(numbered)
    {
        let slot = labels.get_mut(usize::try_from(place).ok()?)?;
        if !slot.is_empty() {
            return None;
        }
        *slot = label;
    }
    Some(format!("[{}]", labels.join(", ")))
}

fn write_accuracy(out: &mut String, accuracy: &ResultAccuracy) {
    out.push_str("#stablehlo.result_accuracy<");
    for (name, bits) in [("atol", accuracy.atol), ("rtol", accuracy.rtol)] {
        if f64::from_bits(bits) != 0.0 {
            _ = write!(out, "{name} = ");
            write_double(out, bits);
            out.push_str(", ");
        }
    }
    if accuracy.ulps != 0 {
        _ = write!(out, "ulps = {}, ", accuracy.ulps);
    }
    out.push_str("mode = ");
    let mode = EnumValue::ResultAccuracyMode(accuracy.mode);
    let mode = EnumAttribute { dialect: EnumDialect::Stablehlo, value: mode };
    write_dialect_attribute(out, &Attribute::Enum(mode));
    out.push('>');
}

fn write_stablehlo_mesh_axis(out: &mut String, axis: &MeshAxis) {
    out.push_str("<name = ");
    write_string(out, &axis.name);
    _ = write!(out, ", size = {}>", axis.size);
}

fn write_sub_axis(out: &mut String, info: &SubAxisInfo) {
    _ = write!(out, "({}){}", info.pre_size, info.size);
}

/// With `#sdy.` and the attribute's name.
fn write_sdy_attribute(out: &mut String, attribute: &SdyAttribute) {
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

fn write_sdy_axis_details(out: &mut String, details: &crate::mlir::AxisToPropagationDetails) {
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
