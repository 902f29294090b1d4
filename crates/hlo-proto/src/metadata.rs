//! What instructions carry beside their op: metadata, statistics, original values.

use rxla_hlo::{
    Info, Metadata, MetadataPayload, OriginalArray, OriginalElement, OriginalValue, Statistics,
};

use crate::proto::{
    FrontendAttributes, HloInstructionProto, OpMetadata, OriginalArrayProto,
    OriginalValueElementProto, OriginalValueProto, ParameterReplication, Payload, Statistic,
    StatisticsViz,
};
use crate::shape::dims;

pub fn to_proto(metadata: &Metadata) -> OpMetadata {
    OpMetadata {
        op_type: metadata.op_type.clone(),
        op_name: metadata.op_name.clone(),
        source_file: metadata.source_file.clone(),
        source_line: metadata.source_line,
        source_end_line: metadata.source_end_line,
        source_column: metadata.source_column,
        source_end_column: metadata.source_end_column,
        profile_type: metadata.profile_type.iter().map(|&kind| kind as i32).collect(),
        size_of_generated_code_in_bytes: metadata.size_of_generated_code_in_bytes,
        size_of_memory_working_set_in_bytes: metadata.size_of_memory_working_set_in_bytes,
        profile_info: None,
        deduplicated_name: metadata.deduplicated_name.clone(),
        stack_frame_id: metadata.stack_frame_id,
        scheduling_name: metadata.scheduling_name.clone(),
        metadata_payload: metadata.payload.as_ref().map(|payload| match payload {
            MetadataPayload::Value(value) => Payload { value: Some(value.clone()), id: None },
            MetadataPayload::Id(id) => Payload { value: None, id: Some(*id) },
        }),
    }
}

pub fn from_proto(proto: &OpMetadata) -> Metadata {
    Metadata {
        op_type: proto.op_type.clone(),
        op_name: proto.op_name.clone(),
        source_file: proto.source_file.clone(),
        source_line: proto.source_line,
        source_end_line: proto.source_end_line,
        source_column: proto.source_column,
        source_end_column: proto.source_end_column,
        profile_type: proto.profile_type.iter().map(|&kind| i64::from(kind)).collect(),
        deduplicated_name: proto.deduplicated_name.clone(),
        scheduling_name: proto.scheduling_name.clone(),
        stack_frame_id: proto.stack_frame_id,
        size_of_generated_code_in_bytes: proto.size_of_generated_code_in_bytes,
        size_of_memory_working_set_in_bytes: proto.size_of_memory_working_set_in_bytes,
        payload: proto.metadata_payload.as_ref().and_then(|payload| {
            let value = payload.value.clone().map(MetadataPayload::Value);
            value.or(payload.id.map(MetadataPayload::Id))
        }),
    }
}

/// Everything of `info` but the sharding and the control predecessors, which need more than this.
pub(crate) fn info_to_proto(info: &Info, proto: &mut HloInstructionProto) {
    if info.metadata != Metadata::default() {
        proto.metadata = Some(Box::new(to_proto(&info.metadata)));
    }
    if !info.frontend_attributes.is_empty() {
        proto.frontend_attributes =
            Some(FrontendAttributes { map: info.frontend_attributes.clone() });
    }
    proto.backend_config = info.backend_config.clone().into();
    proto.statistics_viz = info.statistics.as_ref().map(|statistics| {
        Box::new(StatisticsViz {
            stat_index_to_visualize: statistics.visualizing_index,
            statistics: statistics
                .values
                .iter()
                .map(|(name, bits)| Statistic {
                    stat_name: name.clone(),
                    stat_val: f64::from_bits(*bits),
                })
                .collect(),
        })
    });
    proto.original_value = info.original_value.as_ref().map(original_to_proto).map(Box::new);
    if !info.parameter_replication.is_empty() {
        proto.parameter_replication = Some(ParameterReplication {
            replicated_at_leaf_buffers: info.parameter_replication.clone(),
        });
    }
}

fn original_to_proto(original: &OriginalValue) -> OriginalValueProto {
    match original {
        OriginalValue::SyntheticCall => {
            OriginalValueProto { elements: Vec::new(), is_synthetic_call: true }
        }
        OriginalValue::Leaves(leaves) => OriginalValueProto {
            elements: leaves
                .iter()
                .map(|leaf| OriginalValueElementProto {
                    shape_index: leaf.index.to_vec(),
                    original_array: leaf.array.as_ref().map(array_to_proto),
                })
                .collect(),
            is_synthetic_call: false,
        },
    }
}

pub(crate) fn array_to_proto(array: &OriginalArray) -> OriginalArrayProto {
    OriginalArrayProto {
        instruction_name: array.instruction_name.clone(),
        shape_index: array.index.to_vec(),
    }
}

pub(crate) fn array_from_proto(proto: &OriginalArrayProto) -> OriginalArray {
    OriginalArray {
        instruction_name: proto.instruction_name.clone(),
        index: dims(&proto.shape_index),
    }
}

pub(crate) fn original_from_proto(proto: &OriginalValueProto) -> OriginalValue {
    if proto.is_synthetic_call {
        return OriginalValue::SyntheticCall;
    }
    let leaves = proto.elements.iter().map(|leaf| OriginalElement {
        index: dims(&leaf.shape_index),
        array: leaf.original_array.as_ref().map(array_from_proto),
    });
    OriginalValue::Leaves(leaves.collect())
}

pub(crate) fn statistics_from_proto(proto: &StatisticsViz) -> Option<Statistics> {
    if proto.statistics.is_empty() && proto.stat_index_to_visualize == 0 {
        return None;
    }
    let values = proto.statistics.iter();
    Some(Statistics {
        visualizing_index: proto.stat_index_to_visualize,
        values: values.map(|stat| (stat.stat_name.clone(), stat.stat_val.to_bits())).collect(),
    })
}
