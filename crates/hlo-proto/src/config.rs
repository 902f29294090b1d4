//! Modules with their configuration, which `HloModuleProto` alone leaves out: how many replicas and
//! partitions there are, and what sharding propagation may change.

use rxla_base::Diagnostic;
use rxla_hlo::{ComputationLayout, Module, ProgramShape};

use crate::proto::{HloModuleConfigProto, HloModuleProtoWithConfig};
use crate::{module_from_proto, module_to_proto, shape, sharding};

pub fn to_proto_with_config(module: &Module) -> Result<HloModuleProtoWithConfig, Diagnostic> {
    let hlo_module = module_to_proto::to_proto(module)?;
    let config = &module.config;
    let proto = HloModuleConfigProto {
        entry_computation_layout: hlo_module.host_program_shape.clone(),
        replica_count: config.replica_count,
        num_partitions: config.num_partitions,
        use_auto_spmd_partitioning: config.use_auto_spmd_partitioning,
        device_type: config.device_type.clone(),
        static_device_assignment: hlo_module.device_assignment.clone(),
        alias_passthrough_params: config.alias_passthrough_params,
        allow_spmd_sharding_propagation_to_parameters: config
            .allow_spmd_sharding_propagation_to_parameters
            .clone(),
        allow_spmd_sharding_propagation_to_output: config
            .allow_spmd_sharding_propagation_to_output
            .clone(),
        ..HloModuleConfigProto::default()
    };
    Ok(HloModuleProtoWithConfig { hlo_module: Some(hlo_module), config: Some(proto) })
}

pub fn from_proto_with_config(proto: &HloModuleProtoWithConfig) -> Result<Module, Diagnostic> {
    let Some(hlo_module) = &proto.hlo_module else {
        return Err(Diagnostic::error("the proto has no module"));
    };
    let mut module = module_from_proto::from_proto(hlo_module)?;
    if let Some(proto) = &proto.config {
        apply_config(proto, &mut module)?;
    }
    Ok(module)
}

/// Sets what a configuration says of a module.
pub fn apply_config(proto: &HloModuleConfigProto, module: &mut Module) -> Result<(), Diagnostic> {
    let config = &mut module.config;
    if let Some(program) = &proto.entry_computation_layout {
        let ProgramShape { parameters, result } = shape::program_from_proto(program)?;
        let parameters = parameters.into_iter().map(|(_, shape)| shape).collect();
        config.entry_computation_layout = Some(ComputationLayout { parameters, result });
    }
    config.replica_count = proto.replica_count.max(1);
    config.num_partitions = proto.num_partitions.max(1);
    config.use_auto_spmd_partitioning |= proto.use_auto_spmd_partitioning;
    if !proto.device_type.is_empty() {
        config.device_type.clone_from(&proto.device_type);
    }
    if let Some(assignment) = &proto.static_device_assignment {
        config.device_assignment = Some(sharding::assignment_from_proto(assignment)?);
    }
    config.alias_passthrough_params = proto.alias_passthrough_params;
    config
        .allow_spmd_sharding_propagation_to_parameters
        .clone_from(&proto.allow_spmd_sharding_propagation_to_parameters);
    config
        .allow_spmd_sharding_propagation_to_output
        .clone_from(&proto.allow_spmd_sharding_propagation_to_output);
    Ok(())
}
