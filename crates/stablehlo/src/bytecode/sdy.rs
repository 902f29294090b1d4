//! Attributes of Shardy. Codes and fields are those of `shardy/dialect/sdy/ir/bytecode.td`.

use std::sync::Arc;

use rxla_base::Result;

use super::entries::Decoder;
use crate::mlir::{
    AllToAllParam, Attribute, AxisRef, DimensionSharding, MeshAxis, OpShardingRule, ReductionOp,
    SdyAttribute, SdyMesh, SubAxisInfo, TensorSharding,
};

pub(super) fn attribute(decoder: &mut Decoder<'_, '_>) -> Result<Attribute> {
    let code = decoder.cursor.varint()?;
    Ok(Attribute::Sdy(Arc::new(match code {
        0 => {
            let axes = decoder.attributes()?;
            decoder.ready()?;
            let axes = axes.into_iter().map(|axis| decoder.expect_string(axis));
            SdyAttribute::ManualAxes(axes.collect::<Result<_>>()?)
        }
        1 => {
            let name = decoder.string()?;
            SdyAttribute::MeshAxis(MeshAxis { name, size: decoder.cursor.signed()? })
        }
        2 => {
            let axes = decoder.attributes()?;
            let device_ids = decoder.cursor.signed_list()?;
            decoder.ready()?;
            let axes = list(decoder, axes, mesh_axis)?;
            SdyAttribute::Mesh(SdyMesh { axes, device_ids })
        }
        3 => {
            let (pre_size, size) = (decoder.cursor.signed()?, decoder.cursor.signed()?);
            SdyAttribute::SubAxisInfo(SubAxisInfo { pre_size, size })
        }
        4 => {
            let name = decoder.string()?;
            let part = decoder.optional_attribute()?;
            decoder.ready()?;
            let sub_axis = part.map(|part| sub_axis_info(decoder, &part)).transpose()?;
            SdyAttribute::AxisRef(AxisRef { name, sub_axis })
        }
        5 => {
            let axes = decoder.attributes()?;
            let is_closed = decoder.cursor.byte()? != 0;
            let (priority, present) = decoder.cursor.flagged()?;
            decoder.ready()?;
            SdyAttribute::DimensionSharding(DimensionSharding {
                axes: list(decoder, axes, axis_ref)?,
                is_closed,
                priority: present.then_some(priority as i64),
            })
        }
        6 | 15 | 17 => tensor_sharding_attribute(decoder, code)?,
        7 | 16 => {
            let shardings = decoder.attributes()?;
            decoder.ready()?;
            SdyAttribute::TensorShardingPerValue(list(decoder, shardings, tensor_sharding)?)
        }
        8 => SdyAttribute::DimMapping(decoder.cursor.signed_list()?),
        9 => {
            let dimensions = decoder.attributes()?;
            decoder.ready()?;
            SdyAttribute::TensorMapping(list(decoder, dimensions, dim_mapping)?)
        }
        10 => sharding_rule(decoder)?,
        11 => {
            let axes = decoder.attributes()?;
            decoder.ready()?;
            SdyAttribute::AxisRefList(list(decoder, axes, axis_ref)?)
        }
        12 => {
            let lists = decoder.attributes()?;
            decoder.ready()?;
            SdyAttribute::ListOfAxisRefLists(list(decoder, lists, axis_ref_list)?)
        }
        13 => {
            let axes = decoder.attributes()?;
            let (src_dim, tgt_dim) = (decoder.cursor.signed()?, decoder.cursor.signed()?);
            decoder.ready()?;
            let axes = list(decoder, axes, axis_ref)?;
            SdyAttribute::AllToAllParam(AllToAllParam { axes, src_dim, tgt_dim })
        }
        14 => {
            let params = decoder.attributes()?;
            decoder.ready()?;
            SdyAttribute::AllToAllParamList(list(decoder, params, all_to_all_param)?)
        }
        _ => return Err(decoder.error(format_args!("there is no Shardy attribute {code}"))),
    })))
}

fn tensor_sharding_attribute(decoder: &mut Decoder<'_, '_>, code: u64) -> Result<SdyAttribute> {
    let mesh_or_ref = decoder.attribute()?;
    let dim_shardings = decoder.attributes()?;
    let replicated_axes = decoder.attributes()?;
    let unreduced_axes = if code == 6 { Vec::new() } else { decoder.attributes()? };
    let reduction_op = match if code == 17 { decoder.cursor.signed()? } else { 0 } {
        0 => ReductionOp::Sum,
        1 => ReductionOp::Max,
        2 => ReductionOp::Min,
        other => return Err(decoder.error(format_args!("there is no reduction {other}"))),
    };
    decoder.ready()?;
    Ok(SdyAttribute::TensorSharding(TensorSharding {
        mesh_or_ref,
        dim_shardings: list(decoder, dim_shardings, dimension_sharding)?,
        replicated_axes: list(decoder, replicated_axes, axis_ref)?,
        unreduced_axes: list(decoder, unreduced_axes, axis_ref)?,
        reduction_op,
    }))
}

fn sharding_rule(decoder: &mut Decoder<'_, '_>) -> Result<SdyAttribute> {
    let factor_sizes = decoder.cursor.signed_list()?;
    let operand_mappings = decoder.attributes()?;
    let result_mappings = decoder.attributes()?;
    let reduction_factors = decoder.cursor.signed_list()?;
    let need_replication_factors = decoder.cursor.signed_list()?;
    let permutation_factors = decoder.cursor.signed_list()?;
    let blocked_propagation_factors = decoder.cursor.signed_list()?;
    let is_custom_rule = decoder.cursor.byte()? != 0;
    decoder.ready()?;
    Ok(SdyAttribute::OpShardingRule(OpShardingRule {
        factor_sizes,
        operand_mappings: list(decoder, operand_mappings, tensor_mapping)?,
        result_mappings: list(decoder, result_mappings, tensor_mapping)?,
        reduction_factors,
        need_replication_factors,
        permutation_factors,
        blocked_propagation_factors,
        is_custom_rule,
    }))
}

type View<T> = fn(&Decoder<'_, '_>, &Attribute) -> Result<T>;

fn list<T>(decoder: &Decoder<'_, '_>, items: Vec<Attribute>, view: View<T>) -> Result<Vec<T>> {
    items.iter().map(|item| view(decoder, item)).collect()
}

macro_rules! views {
    ($($name:ident: $case:ident -> $type:ty, $wanted:literal;)*) => {
        $(fn $name(decoder: &Decoder<'_, '_>, attribute: &Attribute) -> Result<$type> {
            if let Attribute::Sdy(sdy) = attribute
                && let SdyAttribute::$case(value) = &**sdy
            {
                return Ok(value.clone());
            }
            Err(decoder.unexpected($wanted, attribute))
        })*
    };
}

views! {
    mesh_axis: MeshAxis -> MeshAxis, "a mesh axis of Shardy";
    sub_axis_info: SubAxisInfo -> SubAxisInfo, "a part of an axis of Shardy";
    axis_ref: AxisRef -> AxisRef, "an axis of Shardy";
    dimension_sharding: DimensionSharding -> DimensionSharding, "a dimension's sharding";
    tensor_sharding: TensorSharding -> TensorSharding, "a tensor's sharding";
    dim_mapping: DimMapping -> Vec<i64>, "a dimension's factors";
    tensor_mapping: TensorMapping -> Vec<Vec<i64>>, "a tensor's factors";
    axis_ref_list: AxisRefList -> Vec<AxisRef>, "a list of axes";
    all_to_all_param: AllToAllParam -> AllToAllParam, "an all-to-all parameter";
}
