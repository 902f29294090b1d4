//! Attributes of the dialects `stablehlo` and `chlo` to text.

use std::fmt::Write;

use super::attributes::{write_attribute, write_commas, write_dense, write_integers, write_string};
use super::sdy::write_sdy_attribute;
use super::types::{write_double, write_type};
use crate::mlir::{
    Attribute, ConvDimensionNumbers, DYNAMIC, DotAlgorithm, EnumAttribute, EnumDialect, EnumValue,
    MeshAxis, Opaque, ResultAccuracy, SubAxisInfo,
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

pub(super) fn write_sub_axis(out: &mut String, info: &SubAxisInfo) {
    _ = write!(out, "({}){}", info.pre_size, info.size);
}
