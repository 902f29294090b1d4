//! Attributes and types of StableHLO, CHLO and quant in their own encodings, which programs that
//! are not versioned hold. Codes and fields are those of `stablehlo/dialect/StablehloBytecode.cpp`,
//! `ChloBytecode.cpp` and LLVM's `QuantDialectBytecode.td`.

use std::sync::Arc;

use rxla_base::Result;

use super::entries::Decoder;
use super::vhlo::{self, enumeration};
use crate::mlir::{
    Attribute, AxisRef, ComparisonDirection, ComparisonType, ConvDimensionNumbers, DotAlgorithm,
    DotDimensionNumbers, EnumAttribute, EnumDialect, EnumValue, FftType, GatherDimensionNumbers,
    MeshAxis, OutputOperandAlias, Precision, QuantizedType, ReplicaGroupMeshAxes, ResultAccuracy,
    ResultAccuracyMode, RngAlgorithm, RngDistribution, ScatterDimensionNumbers, SubAxisInfo,
    SubChannelType, Transpose, Type, UniformType,
};

pub(super) fn attribute(decoder: &mut Decoder<'_, '_>) -> Result<Attribute> {
    let code = decoder.cursor.varint()?;
    let cursor = &mut decoder.cursor;
    Ok(match code {
        1 => Attribute::ChannelHandle { handle: cursor.signed()?, ty: cursor.signed()? },
        2 => {
            let wrap = EnumValue::ComparisonDirection;
            enumeration(decoder, ComparisonDirection::from_number, wrap)?
        }
        3 => enumeration(decoder, ComparisonType::from_number, EnumValue::ComparisonType)?,
        4 => Attribute::ConvDimensionNumbers(Arc::new(ConvDimensionNumbers {
            input_batch_dimension: cursor.signed()?,
            input_feature_dimension: cursor.signed()?,
            input_spatial_dimensions: cursor.signed_list()?,
            kernel_input_feature_dimension: cursor.signed()?,
            kernel_output_feature_dimension: cursor.signed()?,
            kernel_spatial_dimensions: cursor.signed_list()?,
            output_batch_dimension: cursor.signed()?,
            output_feature_dimension: cursor.signed()?,
            output_spatial_dimensions: cursor.signed_list()?,
        })),
        5 => Attribute::DotDimensionNumbers(Arc::new(DotDimensionNumbers {
            lhs_batching_dimensions: cursor.signed_list()?,
            rhs_batching_dimensions: cursor.signed_list()?,
            lhs_contracting_dimensions: cursor.signed_list()?,
            rhs_contracting_dimensions: cursor.signed_list()?,
        })),
        6 => enumeration(decoder, FftType::from_number, EnumValue::FftType)?,
        7 => Attribute::GatherDimensionNumbers(Arc::new(GatherDimensionNumbers {
            offset_dims: cursor.signed_list()?,
            collapsed_slice_dims: cursor.signed_list()?,
            operand_batching_dims: cursor.signed_list()?,
            start_indices_batching_dims: cursor.signed_list()?,
            start_index_map: cursor.signed_list()?,
            index_vector_dim: cursor.signed()?,
        })),
        8 => enumeration(decoder, Precision::from_number, EnumValue::Precision)?,
        9 => enumeration(decoder, RngAlgorithm::from_number, EnumValue::RngAlgorithm)?,
        10 => enumeration(decoder, RngDistribution::from_number, EnumValue::RngDistribution)?,
        11 => Attribute::ScatterDimensionNumbers(Arc::new(ScatterDimensionNumbers {
            update_window_dims: cursor.signed_list()?,
            inserted_window_dims: cursor.signed_list()?,
            input_batching_dims: cursor.signed_list()?,
            scatter_indices_batching_dims: cursor.signed_list()?,
            scatter_dims_to_operand_dims: cursor.signed_list()?,
            index_vector_dim: cursor.signed()?,
        })),
        12 => enumeration(decoder, Transpose::from_number, EnumValue::Transpose)?,
        13 => Attribute::TypeExtensions(cursor.signed_list()?.into()),
        14 => Attribute::OutputOperandAlias(Arc::new(OutputOperandAlias {
            output_tuple_indices: cursor.signed_list()?,
            operand_index: cursor.signed()?,
            operand_tuple_indices: cursor.signed_list()?,
        })),
        15 => Attribute::DotAlgorithm(Arc::new(DotAlgorithm {
            lhs_precision_type: decoder.ty()?,
            rhs_precision_type: decoder.ty()?,
            accumulation_type: decoder.ty()?,
            lhs_component_count: decoder.cursor.signed()?,
            rhs_component_count: decoder.cursor.signed()?,
            num_primitive_operations: decoder.cursor.signed()?,
            allow_imprecise_accumulation: decoder.cursor.byte()? != 0,
        })),
        16 => enumeration(decoder, ResultAccuracyMode::from_number, EnumValue::ResultAccuracyMode)?,
        17 => {
            let (atol, rtol) = (decoder.double()?, decoder.double()?);
            let ulps = decoder.cursor.signed()?;
            let mode = decoder.attribute()?;
            decoder.ready()?;
            let Attribute::Enum(EnumAttribute {
                value: EnumValue::ResultAccuracyMode(mode), ..
            }) = mode
            else {
                return Err(decoder.unexpected("a result accuracy mode", &mode));
            };
            Attribute::ResultAccuracy(Arc::new(ResultAccuracy { atol, rtol, ulps, mode }))
        }
        18 => {
            let mesh = decoder.attribute()?;
            let axes = decoder.attributes()?.into();
            Attribute::ReplicaGroupMeshAxes(Arc::new(ReplicaGroupMeshAxes { mesh, axes }))
        }
        19 => Attribute::SubAxisInfo(SubAxisInfo {
            pre_size: cursor.signed()?,
            size: cursor.signed()?,
        }),
        20 => {
            let name = decoder.string()?;
            let part = if decoder.cursor.byte()? != 0 { Some(decoder.attribute()?) } else { None };
            decoder.ready()?;
            let sub_axis = match part {
                None => None,
                Some(Attribute::SubAxisInfo(part)) => Some(part),
                Some(other) => return Err(decoder.unexpected("a part of an axis", &other)),
            };
            Attribute::AxisRef(Arc::new(AxisRef { name, sub_axis }))
        }
        21 => {
            let name = decoder.string()?;
            Attribute::MeshAxis(Arc::new(MeshAxis { name, size: decoder.cursor.signed()? }))
        }
        22 => {
            let axes = decoder.attribute()?;
            let ids = if decoder.cursor.byte()? != 0 { Some(decoder.attribute()?) } else { None };
            decoder.ready()?;
            vhlo::mesh(decoder, &axes, ids)?
        }
        _ => return Err(decoder.error(format_args!("there is no StableHLO attribute {code}"))),
    })
}

/// CHLO's other attributes are written as text.
pub(super) fn chlo_attribute(decoder: &mut Decoder<'_, '_>) -> Result<Attribute> {
    let code = decoder.cursor.varint()?;
    let attribute = match code {
        0 => {
            let wrap = EnumValue::ComparisonDirection;
            enumeration(decoder, ComparisonDirection::from_number, wrap)?
        }
        1 => enumeration(decoder, ComparisonType::from_number, EnumValue::ComparisonType)?,
        _ => return Err(decoder.error(format_args!("there is no CHLO attribute {code}"))),
    };
    Ok(match attribute {
        Attribute::Enum(EnumAttribute { value, .. }) => {
            Attribute::Enum(EnumAttribute { dialect: EnumDialect::Chlo, value })
        }
        other => other,
    })
}

pub(super) fn ty(decoder: &mut Decoder<'_, '_>) -> Result<Type> {
    match decoder.cursor.varint()? {
        0 => Ok(Type::Token),
        1 => Ok(Type::Future(decoder.types()?.into())),
        code => Err(decoder.error(format_args!("there is no StableHLO type {code}"))),
    }
}

pub(super) fn quant_type(decoder: &mut Decoder<'_, '_>) -> Result<Type> {
    let code = decoder.cursor.varint()?;
    let quantized = match code {
        0 | 1 => {
            let flags = decoder.cursor.varint()?;
            let storage = decoder.ty()?;
            let expressed = if code == 1 { Some(decoder.ty()?) } else { None };
            QuantizedType::Any {
                signed: flags & 1 == 1,
                storage,
                expressed,
                storage_min: decoder.cursor.signed()?,
                storage_max: decoder.cursor.signed()?,
            }
        }
        2 => QuantizedType::Calibrated {
            expressed: decoder.ty()?,
            min: decoder.double()?,
            max: decoder.double()?,
        },
        3 => {
            let flags = decoder.cursor.varint()?;
            let (storage, expressed) = (decoder.ty()?, decoder.ty()?);
            let scales = vec![decoder.double()?];
            let zero_points = vec![decoder.cursor.signed()?];
            QuantizedType::Uniform(UniformType {
                signed: flags & 1 == 1,
                storage,
                expressed,
                storage_min: decoder.cursor.signed()?,
                storage_max: decoder.cursor.signed()?,
                axis: None,
                scales,
                zero_points,
            })
        }
        4 => {
            let flags = decoder.cursor.varint()?;
            let (storage, expressed) = (decoder.ty()?, decoder.ty()?);
            let axis = decoder.cursor.varint()?;
            let axis = i32::try_from(axis)
                .map_err(|_| decoder.error(format_args!("the quantised dimension is {axis}")))?;
            let (storage_min, storage_max) = (decoder.cursor.signed()?, decoder.cursor.signed()?);
            let count = decoder.cursor.count()?;
            let scales = (0..count).map(|_| decoder.double()).collect::<Result<Vec<_>>>()?;
            let zero_points = decoder.cursor.signed_list()?;
            if scales.len() != zero_points.len() {
                return Err(decoder.error("a quantised type has not as many scales as zero points"));
            }
            QuantizedType::Uniform(UniformType {
                signed: flags & 1 == 1,
                storage,
                expressed,
                storage_min,
                storage_max,
                axis: Some(axis),
                scales,
                zero_points,
            })
        }
        5 => sub_channel(decoder)?,
        _ => return Err(decoder.error(format_args!("there is no quantised type {code}"))),
    };
    Ok(Type::Quantized(Arc::new(quantized)))
}

fn sub_channel(decoder: &mut Decoder<'_, '_>) -> Result<QuantizedType> {
    let flags = decoder.cursor.varint()?;
    let (storage, expressed) = (decoder.ty()?, decoder.ty()?);
    let (storage_min, storage_max) = (decoder.cursor.signed()?, decoder.cursor.signed()?);
    let dimensions = decoder.cursor.signed_list()?;
    let block_sizes = decoder.cursor.signed_list()?;
    let (scales, zero_points) = (decoder.attribute()?, decoder.attribute()?);
    decoder.ready()?;
    let dimensions = dimensions
        .into_iter()
        .map(|dimension| {
            i32::try_from(dimension)
                .map_err(|_| decoder.error(format_args!("a quantised dimension is {dimension}")))
        })
        .collect::<Result<_>>()?;
    Ok(QuantizedType::SubChannel(SubChannelType {
        signed: flags & 1 == 1,
        storage,
        expressed,
        storage_min,
        storage_max,
        dimensions,
        block_sizes,
        scales,
        zero_points,
    }))
}
