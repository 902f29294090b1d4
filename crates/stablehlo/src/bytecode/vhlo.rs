//! Attributes and types of VHLO, put into StableHLO's form. Codes and fields are those of
//! `stablehlo/dialect/VhloBytecode.cpp`.

use std::sync::Arc;

use rxla_base::Result;

use super::builtin;
use super::entries::Decoder;
use crate::mlir::{
    Attribute, AxisRef, ComparisonDirection, ComparisonType, CustomCallApiVersion, EnumAttribute,
    EnumValue, FftType, Float, FunctionType, MemRefType, Mesh, MeshAxis, NamedAttribute,
    OutputOperandAlias, Precision, QuantizedType, ReplicaGroupMeshAxes, ResultAccuracy,
    ResultAccuracyMode, RngAlgorithm, RngDistribution, SubAxisInfo, Transpose, Type, UniformType,
    dictionary,
};

pub(super) fn attribute(decoder: &mut Decoder<'_, '_>) -> Result<Attribute> {
    let code = decoder.cursor.varint()?;
    match code {
        1 => Ok(Attribute::array(decoder.attributes()?)),
        2 => Ok(Attribute::Bool(decoder.cursor.varint()? != 0)),
        3 => enumeration(decoder, ComparisonDirection::from_number, EnumValue::ComparisonDirection),
        4 => enumeration(decoder, ComparisonType::from_number, EnumValue::ComparisonType),
        5 => {
            let number = decoder.cursor.varint()?;
            match CustomCallApiVersion::from_number(number) {
                Some(version) => Ok(Attribute::i32(version.number() as i32)),
                None => Err(decoder.error(format_args!("there is no custom call API {number}"))),
            }
        }
        6 => dictionary_attribute(decoder),
        7 => enumeration(decoder, FftType::from_number, EnumValue::FftType),
        8 => {
            let ty = decoder.ty()?;
            decoder.ready()?;
            builtin::float(decoder, &ty)
        }
        9 => {
            let ty = decoder.ty()?;
            decoder.ready()?;
            builtin::integer(decoder, ty)
        }
        10 => Ok(Attribute::OutputOperandAlias(Arc::new(OutputOperandAlias {
            output_tuple_indices: decoder.cursor.signed_list()?,
            operand_index: decoder.cursor.signed()?,
            operand_tuple_indices: decoder.cursor.signed_list()?,
        }))),
        11 => enumeration(decoder, Precision::from_number, EnumValue::Precision),
        12 => enumeration(decoder, RngAlgorithm::from_number, EnumValue::RngAlgorithm),
        13 => enumeration(decoder, RngDistribution::from_number, EnumValue::RngDistribution),
        14 => Ok(Attribute::String(decoder.string()?)),
        15 => {
            let ty = decoder.ty()?;
            let blob = decoder.blob()?;
            decoder.ready()?;
            builtin::dense_elements(decoder, ty, blob.bytes)
        }
        16 => enumeration(decoder, Transpose::from_number, EnumValue::Transpose),
        17 => Ok(Attribute::Type(decoder.ty()?)),
        18 => Ok(Attribute::TypeExtensions(decoder.cursor.signed_list()?.into())),
        19 => enumeration(decoder, ResultAccuracyMode::from_number, EnumValue::ResultAccuracyMode),
        20 => result_accuracy(decoder),
        21 => {
            let (pre_size, size) = (decoder.cursor.signed()?, decoder.cursor.signed()?);
            Ok(Attribute::SubAxisInfo(SubAxisInfo { pre_size, size }))
        }
        22 => axis_ref(decoder),
        23 => replica_group_mesh_axes(decoder),
        24 => {
            let name = decoder.attribute()?;
            let size = decoder.cursor.signed()?;
            decoder.ready()?;
            let name = decoder.expect_string(name)?;
            Ok(Attribute::MeshAxis(Arc::new(MeshAxis { name, size })))
        }
        25 => {
            let axes = decoder.attribute()?;
            let device_ids = decoder.optional_attribute()?;
            decoder.ready()?;
            mesh(decoder, &axes, device_ids)
        }
        _ => Err(decoder.error(format_args!("there is no VHLO attribute {code}"))),
    }
}

/// A value of one of StableHLO's enumerations.
pub(super) fn enumeration<T>(
    decoder: &mut Decoder<'_, '_>,
    from_number: fn(u64) -> Option<T>,
    wrap: fn(T) -> EnumValue,
) -> Result<Attribute> {
    let number = decoder.cursor.varint()?;
    match from_number(number) {
        Some(value) => Ok(Attribute::Enum(EnumAttribute::stablehlo(wrap(value)))),
        None => {
            let name = std::any::type_name::<T>().rsplit(':').next().unwrap_or_default();
            Err(decoder.error(format_args!("{name} has no value {number}")))
        }
    }
}

fn dictionary_attribute(decoder: &mut Decoder<'_, '_>) -> Result<Attribute> {
    let count = decoder.cursor.count()?;
    let mut parts = Vec::with_capacity(count);
    for _ in 0..count {
        parts.push((decoder.attribute()?, decoder.attribute()?));
    }
    decoder.ready()?;
    let entries = parts
        .into_iter()
        .map(|(name, value)| Ok(NamedAttribute { name: decoder.expect_string(name)?, value }))
        .collect::<Result<Vec<_>>>()?;
    Ok(dictionary(entries))
}

fn result_accuracy(decoder: &mut Decoder<'_, '_>) -> Result<Attribute> {
    let (atol, rtol) = (decoder.double()?, decoder.double()?);
    let ulps = decoder.cursor.signed()?;
    let mode = decoder.attribute()?;
    decoder.ready()?;
    let Attribute::Enum(EnumAttribute { value: EnumValue::ResultAccuracyMode(mode), .. }) = mode
    else {
        return Err(decoder.unexpected("a result accuracy mode", &mode));
    };
    Ok(Attribute::ResultAccuracy(Arc::new(ResultAccuracy { atol, rtol, ulps, mode })))
}

fn axis_ref(decoder: &mut Decoder<'_, '_>) -> Result<Attribute> {
    let name = decoder.attribute()?;
    let part = if decoder.cursor.varint()? != 0 { Some(decoder.attribute()?) } else { None };
    decoder.ready()?;
    let sub_axis = match part {
        None => None,
        Some(Attribute::SubAxisInfo(part)) => Some(part),
        Some(other) => return Err(decoder.unexpected("a part of an axis", &other)),
    };
    let name = decoder.expect_string(name)?;
    Ok(Attribute::AxisRef(Arc::new(AxisRef { name, sub_axis })))
}

fn replica_group_mesh_axes(decoder: &mut Decoder<'_, '_>) -> Result<Attribute> {
    let mesh = decoder.attribute()?;
    let axes = decoder.attribute()?;
    decoder.ready()?;
    // VHLO has no symbols; a mesh's name is a string there.
    let mesh = match mesh {
        Attribute::String(name) => Attribute::symbol(name),
        other => other,
    };
    let Attribute::Array(axes) = axes else {
        return Err(decoder.unexpected("an array of axes", &axes));
    };
    Ok(Attribute::ReplicaGroupMeshAxes(Arc::new(ReplicaGroupMeshAxes { mesh, axes })))
}

/// A mesh from its parts.
pub(super) fn mesh(
    decoder: &Decoder<'_, '_>,
    axes: &Attribute,
    device_ids: Option<Attribute>,
) -> Result<Attribute> {
    let axes = axes.as_array().ok_or_else(|| decoder.unexpected("an array of axes", axes))?;
    let axes = axes
        .iter()
        .map(|axis| match axis {
            Attribute::MeshAxis(axis) => Ok(MeshAxis::clone(axis)),
            other => Err(decoder.unexpected("a mesh axis", other)),
        })
        .collect::<Result<_>>()?;
    let device_ids = match device_ids {
        None => None,
        Some(Attribute::DenseElements(ids)) => Some(ids),
        Some(other) => return Err(decoder.unexpected("a dense constant", &other)),
    };
    Ok(Attribute::Mesh(Arc::new(Mesh { axes, device_ids })))
}

pub(super) fn ty(decoder: &mut Decoder<'_, '_>) -> Result<Type> {
    let code = decoder.cursor.varint()?;
    let float = |float| Ok(Type::Float(float));
    match code {
        0 => Ok(Type::I1),
        1 => Ok(Type::complex(decoder.ty()?)),
        2 => float(Float::BF16),
        3 => float(Float::F16),
        4 => float(Float::F32),
        5 => float(Float::F64),
        6 => float(Float::F8E4M3FN),
        7 => float(Float::F8E5M2),
        8 => Ok(Type::Function(Arc::new(FunctionType {
            inputs: decoder.types()?,
            results: decoder.types()?,
        }))),
        9 => Ok(Type::Index),
        10 => Ok(Type::signless(4)),
        11 => Ok(Type::signless(8)),
        12 => Ok(Type::signless(16)),
        13 => Ok(Type::signless(32)),
        14 => Ok(Type::signless(64)),
        15 => Ok(Type::unsigned(4)),
        16 => Ok(Type::unsigned(8)),
        17 => Ok(Type::unsigned(16)),
        18 => Ok(Type::unsigned(32)),
        19 => Ok(Type::unsigned(64)),
        20 => builtin::tensor(decoder, None),
        21 => {
            let encoding = decoder.attribute()?;
            builtin::tensor(decoder, Some(encoding))
        }
        22 => Ok(Type::Token),
        23 => Ok(Type::Tuple(decoder.types()?.into())),
        24 => uniform(decoder),
        25 => Ok(Type::UnrankedTensor(Arc::new(decoder.ty()?))),
        26 => Ok(Type::opaque("shape", "witness")),
        27 => float(Float::F8E4M3FNUZ),
        28 => float(Float::F8E5M2FNUZ),
        29 => float(Float::F8E4M3B11FNUZ),
        30 => uniform_per_axis(decoder),
        31 => Ok(Type::signless(2)),
        32 => Ok(Type::unsigned(2)),
        33 => Ok(Type::None),
        34 => float(Float::TF32),
        35 => float(Float::F8E4M3),
        36 => float(Float::F8E3M4),
        37 => float(Float::F4E2M1FN),
        38 => float(Float::F6E2M3FN),
        39 => float(Float::F6E3M2FN),
        40 => float(Float::F8E8M0FNU),
        41 => Ok(Type::MemRef(Arc::new(MemRefType {
            shape: decoder.cursor.signed_list()?,
            element: decoder.ty()?,
            layout: None,
            memory_space: None,
        }))),
        42 => Ok(Type::Future(decoder.types()?.into())),
        _ => Err(decoder.error(format_args!("there is no VHLO type {code}"))),
    }
}

fn uniform(decoder: &mut Decoder<'_, '_>) -> Result<Type> {
    let flags = decoder.cursor.varint()?;
    let (storage, expressed) = (decoder.ty()?, decoder.ty()?);
    let scales = vec![decoder.double()?];
    let zero_points = vec![decoder.cursor.signed()?];
    let (storage_min, storage_max) = (decoder.cursor.signed()?, decoder.cursor.signed()?);
    Ok(Type::Quantized(Arc::new(QuantizedType::Uniform(UniformType {
        signed: flags & 1 == 1,
        storage: signless(storage),
        expressed,
        storage_min,
        storage_max,
        axis: None,
        scales,
        zero_points,
    }))))
}

fn uniform_per_axis(decoder: &mut Decoder<'_, '_>) -> Result<Type> {
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
        return Err(decoder.error(format_args!(
            "a quantised type has {} scales but {} zero points",
            scales.len(),
            zero_points.len()
        )));
    }
    Ok(Type::Quantized(Arc::new(QuantizedType::Uniform(UniformType {
        signed: flags & 1 == 1,
        storage: signless(storage),
        expressed,
        storage_min,
        storage_max,
        axis: Some(axis),
        scales,
        zero_points,
    }))))
}

/// Storage of a quantised type is signless; whether it is signed stands in the type's flags.
fn signless(ty: Type) -> Type {
    match ty {
        Type::Integer { width, .. } => Type::signless(width),
        other => other,
    }
}
