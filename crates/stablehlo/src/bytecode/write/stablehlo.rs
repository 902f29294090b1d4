//! StableHLO's and CHLO's attributes in their own encodings.

use rxla_base::{Error, Result};

use super::attributes::{Encoded, Encoding};
use super::emitter::Tables;
use crate::mlir::{Attribute, EnumAttribute, EnumDialect, EnumValue, Opaque};

const PLAIN: Encoding = Encoding::Plain;

pub(super) fn attribute(tables: &mut Tables, attribute: &Attribute) -> Result<Encoded> {
    let new = |code| Encoded::new("stablehlo", code);
    let mut encoded;
    match attribute {
        Attribute::ChannelHandle { handle, ty } => {
            encoded = new(1);
            encoded.data.signed(*handle);
            encoded.data.signed(*ty);
        }
        Attribute::Enum(value) => return enumeration(*value),
        Attribute::ConvDimensionNumbers(conv) => {
            encoded = new(4);
            let data = &mut encoded.data;
            data.signed(conv.input_batch_dimension);
            data.signed(conv.input_feature_dimension);
            data.signed_list(&conv.input_spatial_dimensions);
            data.signed(conv.kernel_input_feature_dimension);
            data.signed(conv.kernel_output_feature_dimension);
            data.signed_list(&conv.kernel_spatial_dimensions);
            data.signed(conv.output_batch_dimension);
            data.signed(conv.output_feature_dimension);
            data.signed_list(&conv.output_spatial_dimensions);
        }
        Attribute::DotDimensionNumbers(dot) => {
            encoded = new(5);
            encoded.data.signed_list(&dot.lhs_batching_dimensions);
            encoded.data.signed_list(&dot.rhs_batching_dimensions);
            encoded.data.signed_list(&dot.lhs_contracting_dimensions);
            encoded.data.signed_list(&dot.rhs_contracting_dimensions);
        }
        Attribute::GatherDimensionNumbers(gather) => {
            encoded = new(7);
            encoded.data.signed_list(&gather.offset_dims);
            encoded.data.signed_list(&gather.collapsed_slice_dims);
            encoded.data.signed_list(&gather.operand_batching_dims);
            encoded.data.signed_list(&gather.start_indices_batching_dims);
            encoded.data.signed_list(&gather.start_index_map);
            encoded.data.signed(gather.index_vector_dim);
        }
        Attribute::ScatterDimensionNumbers(scatter) => {
            encoded = new(11);
            encoded.data.signed_list(&scatter.update_window_dims);
            encoded.data.signed_list(&scatter.inserted_window_dims);
            encoded.data.signed_list(&scatter.input_batching_dims);
            encoded.data.signed_list(&scatter.scatter_indices_batching_dims);
            encoded.data.signed_list(&scatter.scatter_dims_to_operand_dims);
            encoded.data.signed(scatter.index_vector_dim);
        }
        Attribute::TypeExtensions(bounds) => {
            encoded = new(13);
            encoded.data.signed_list(bounds);
        }
        Attribute::OutputOperandAlias(alias) => {
            encoded = new(14);
            encoded.data.signed_list(&alias.output_tuple_indices);
            encoded.data.signed(alias.operand_index);
            encoded.data.signed_list(&alias.operand_tuple_indices);
        }
        Attribute::DotAlgorithm(algorithm) => {
            encoded = new(15);
            let types = [
                &algorithm.lhs_precision_type,
                &algorithm.rhs_precision_type,
                &algorithm.accumulation_type,
            ];
            for ty in types {
                let ty = tables.ty(ty, PLAIN)?;
                encoded.data.length(ty);
            }
            encoded.data.signed(algorithm.lhs_component_count);
            encoded.data.signed(algorithm.rhs_component_count);
            encoded.data.signed(algorithm.num_primitive_operations);
            encoded.data.byte(u8::from(algorithm.allow_imprecise_accumulation));
        }
        Attribute::ResultAccuracy(accuracy) => {
            encoded = new(17);
            encoded.data.signed(accuracy.atol as i64);
            encoded.data.signed(accuracy.rtol as i64);
            encoded.data.signed(accuracy.ulps);
            let mode = EnumValue::ResultAccuracyMode(accuracy.mode);
            let mode = Attribute::Enum(EnumAttribute::stablehlo(mode));
            let mode = tables.attribute(&mode, PLAIN)?;
            encoded.data.length(mode);
        }
        Attribute::ReplicaGroupMeshAxes(groups) => {
            encoded = new(18);
            let mesh = tables.attribute(&groups.mesh, PLAIN)?;
            let axes = tables.attribute_list(&groups.axes, PLAIN)?;
            encoded.data.length(mesh);
            encoded.data.indices(&axes);
        }
        Attribute::SubAxisInfo(part) => {
            encoded = new(19);
            encoded.data.signed(part.pre_size);
            encoded.data.signed(part.size);
        }
        Attribute::AxisRef(axis) => {
            encoded = new(20);
            let name = tables.string(&axis.name);
            encoded.data.length(name);
            encoded.data.byte(u8::from(axis.sub_axis.is_some()));
            if let Some(part) = axis.sub_axis {
                let part = tables.attribute(&Attribute::SubAxisInfo(part), PLAIN)?;
                encoded.data.length(part);
            }
        }
        Attribute::MeshAxis(axis) => {
            encoded = new(21);
            let name = tables.string(&axis.name);
            encoded.data.length(name);
            encoded.data.signed(axis.size);
        }
        Attribute::Mesh(mesh) => {
            encoded = new(22);
            let axes = mesh.axes.iter().map(|axis| Attribute::MeshAxis(axis.clone().into()));
            let axes = tables.attribute(&Attribute::array(axes.collect()), PLAIN)?;
            encoded.data.length(axes);
            encoded.data.byte(u8::from(mesh.device_ids.is_some()));
            if let Some(ids) = &mesh.device_ids {
                let ids = tables.attribute(&Attribute::DenseElements(ids.clone()), PLAIN)?;
                encoded.data.length(ids);
            }
        }
        _ => {
            return Err(Error::unimplemented(format_args!(
                "writing this attribute to bytecode: {attribute:?}"
            )));
        }
    }
    Ok(encoded)
}

fn enumeration(attribute: EnumAttribute) -> Result<Encoded> {
    let (stablehlo, chlo, number) = match attribute.value {
        EnumValue::ComparisonDirection(value) => (Some(2), Some(0), value.number()),
        EnumValue::ComparisonType(value) => (Some(3), Some(1), value.number()),
        EnumValue::FftType(value) => (Some(6), None, value.number()),
        EnumValue::Precision(value) => (Some(8), None, value.number()),
        EnumValue::RngAlgorithm(value) => (Some(9), None, value.number()),
        EnumValue::RngDistribution(value) => (Some(10), None, value.number()),
        EnumValue::Transpose(value) => (Some(12), None, value.number()),
        EnumValue::ResultAccuracyMode(value) => (Some(16), None, value.number()),
        EnumValue::CustomCallApiVersion(value) => (None, None, value.number()),
    };
    let (dialect, code) = match attribute.dialect {
        EnumDialect::Stablehlo => ("stablehlo", stablehlo),
        EnumDialect::Chlo => ("chlo", chlo),
    };
    let Some(code) = code else {
        return Err(Error::unimplemented(format_args!(
            "writing `#{dialect}<{} {}>` to bytecode",
            attribute.value.kind(),
            attribute.value.name()
        )));
    };
    let mut encoded = Encoded::new(dialect, code);
    encoded.data.varint(u64::from(number));
    Ok(encoded)
}

/// CHLO's attributes without an encoding, as text.
pub(super) fn chlo_text(attribute: &Attribute) -> Option<Opaque> {
    let Attribute::Enum(EnumAttribute { dialect: EnumDialect::Chlo, value }) = attribute else {
        return None;
    };
    let EnumValue::Precision(precision) = value else { return None };
    let text = format!("#chlo<precision {}>", precision.name());
    Some(Opaque { dialect: "".into(), text: text.into() })
}
