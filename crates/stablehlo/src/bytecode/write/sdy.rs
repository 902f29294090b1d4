//! Shardy's attributes.

use rxla_base::{Error, Result};

use super::attributes::{Encoded, Encoding};
use super::emitter::Tables;
use crate::mlir::{Attribute, ReductionOp, SdyAttribute, TensorSharding};

/// The parts of an attribute are attributes of their own.
fn parts<T: Clone>(
    tables: &mut Tables,
    items: &[T],
    wrap: fn(T) -> SdyAttribute,
) -> Result<Vec<usize>> {
    items
        .iter()
        .map(|item| tables.attribute(&Attribute::sdy(wrap(item.clone())), Encoding::Plain))
        .collect()
}

pub(super) fn attribute(tables: &mut Tables, attribute: &SdyAttribute) -> Result<Encoded> {
    let new = |code| Encoded::new("sdy", code);
    let mut encoded;
    match attribute {
        SdyAttribute::ManualAxes(axes) => {
            encoded = new(0);
            let axes: Vec<usize> = axes.iter().map(|axis| tables.string_attribute(axis)).collect();
            encoded.data.indices(&axes);
        }
        SdyAttribute::MeshAxis(axis) => {
            encoded = new(1);
            let name = tables.string(&axis.name);
            encoded.data.length(name);
            encoded.data.signed(axis.size);
        }
        SdyAttribute::Mesh(mesh) => {
            encoded = new(2);
            let axes = parts(tables, &mesh.axes, SdyAttribute::MeshAxis)?;
            encoded.data.indices(&axes);
            encoded.data.signed_list(&mesh.device_ids);
        }
        SdyAttribute::SubAxisInfo(part) => {
            encoded = new(3);
            encoded.data.signed(part.pre_size);
            encoded.data.signed(part.size);
        }
        SdyAttribute::AxisRef(axis) => {
            encoded = new(4);
            let name = tables.string(&axis.name);
            encoded.data.length(name);
            match axis.sub_axis {
                None => encoded.data.flagged(0, false),
                Some(part) => {
                    let part = Attribute::sdy(SdyAttribute::SubAxisInfo(part));
                    let part = tables.attribute(&part, Encoding::Plain)?;
                    encoded.data.flagged(part, true);
                }
            }
        }
        SdyAttribute::DimensionSharding(sharding) => {
            encoded = new(5);
            let axes = parts(tables, &sharding.axes, SdyAttribute::AxisRef)?;
            encoded.data.indices(&axes);
            encoded.data.byte(u8::from(sharding.is_closed));
            let priority = sharding.priority.unwrap_or(0) as usize;
            encoded.data.flagged(priority, sharding.priority.is_some());
        }
        SdyAttribute::TensorSharding(sharding) => encoded = tensor_sharding(tables, sharding)?,
        SdyAttribute::TensorShardingPerValue(shardings) => {
            let any_unreduced = shardings.iter().any(|s| !s.unreduced_axes.is_empty());
            encoded = new(if any_unreduced { 16 } else { 7 });
            let shardings = parts(tables, shardings, SdyAttribute::TensorSharding)?;
            encoded.data.indices(&shardings);
        }
        SdyAttribute::DimMapping(factors) => {
            encoded = new(8);
            encoded.data.signed_list(factors);
        }
        SdyAttribute::TensorMapping(dimensions) => {
            encoded = new(9);
            let dimensions = parts(tables, dimensions, SdyAttribute::DimMapping)?;
            encoded.data.indices(&dimensions);
        }
        SdyAttribute::OpShardingRule(rule) => {
            encoded = new(10);
            let operands = parts(tables, &rule.operand_mappings, SdyAttribute::TensorMapping)?;
            let results = parts(tables, &rule.result_mappings, SdyAttribute::TensorMapping)?;
            encoded.data.signed_list(&rule.factor_sizes);
            encoded.data.indices(&operands);
            encoded.data.indices(&results);
            encoded.data.signed_list(&rule.reduction_factors);
            encoded.data.signed_list(&rule.need_replication_factors);
            encoded.data.signed_list(&rule.permutation_factors);
            encoded.data.signed_list(&rule.blocked_propagation_factors);
            encoded.data.byte(u8::from(rule.is_custom_rule));
        }
        SdyAttribute::AxisRefList(axes) => {
            encoded = new(11);
            let axes = parts(tables, axes, SdyAttribute::AxisRef)?;
            encoded.data.indices(&axes);
        }
        SdyAttribute::ListOfAxisRefLists(lists) => {
            encoded = new(12);
            let lists = parts(tables, lists, SdyAttribute::AxisRefList)?;
            encoded.data.indices(&lists);
        }
        SdyAttribute::AllToAllParam(param) => {
            encoded = new(13);
            let axes = parts(tables, &param.axes, SdyAttribute::AxisRef)?;
            encoded.data.indices(&axes);
            encoded.data.signed(param.src_dim);
            encoded.data.signed(param.tgt_dim);
        }
        SdyAttribute::AllToAllParamList(params) => {
            encoded = new(14);
            let params = parts(tables, params, SdyAttribute::AllToAllParam)?;
            encoded.data.indices(&params);
        }
        SdyAttribute::PropagationDirection(_)
        | SdyAttribute::EdgeValueRef(_)
        | SdyAttribute::AxisToPropagationDetails(_)
        | SdyAttribute::PropagationOneStep(_)
        | SdyAttribute::PropagationEdges(_) => {
            return Err(Error::unimplemented(
                "writing Shardy's records of propagation to bytecode, which has no encoding for them",
            ));
        }
    }
    Ok(encoded)
}

fn tensor_sharding(tables: &mut Tables, sharding: &TensorSharding) -> Result<Encoded> {
    let reduction = match sharding.reduction_op {
        ReductionOp::Sum => None,
        ReductionOp::Max | ReductionOp::Min => Some(sharding.reduction_op as i64),
    };
    let code = match (sharding.unreduced_axes.is_empty(), reduction) {
        (true, _) => 6,
        (false, None) => 15,
        (false, Some(_)) => 17,
    };
    let mesh = tables.attribute(&sharding.mesh_or_ref, Encoding::Plain)?;
    let dims = parts(tables, &sharding.dim_shardings, SdyAttribute::DimensionSharding)?;
    let replicated = parts(tables, &sharding.replicated_axes, SdyAttribute::AxisRef)?;
    let mut encoded = Encoded::new("sdy", code);
    encoded.data.length(mesh);
    encoded.data.indices(&dims);
    encoded.data.indices(&replicated);
    if code != 6 {
        let unreduced = parts(tables, &sharding.unreduced_axes, SdyAttribute::AxisRef)?;
        encoded.data.indices(&unreduced);
    }
    if code == 17 {
        encoded.data.signed(reduction.unwrap_or(0));
    }
    Ok(encoded)
}
