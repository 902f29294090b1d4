//! Modules into protos, as XLA writes them: computations and instructions in an order in which
//! each comes after what it needs, ids with the computation's in the upper half, row-major layouts
//! where none is given.

use rustc_hash::FxHashMap;
use rxla_base::Diagnostic;
use rxla_hlo::op::Op;
use rxla_hlo::{
    AliasKind, ComputationId, InstructionId, Module, ProgramShape, Shape, StackFrameIndex,
};

use crate::order::in_order;
use crate::proto::*;
use crate::{metadata, op_to_proto, shape, sharding};

/// The proto of a module. An error says why there is none, such as a missing root or a cycle.
pub fn to_proto(module: &Module) -> Result<HloModuleProto, Diagnostic> {
    let Some(entry) = module.try_entry() else {
        return Err(Diagnostic::error("the module has no entry computation"));
    };
    let order = computations_in_order(module)?;
    let mut ids: FxHashMap<ComputationId, i64> = FxHashMap::default();
    for (index, &computation) in order.iter().enumerate() {
        ids.insert(computation, index as i64 + 1);
    }
    let fused = fused_computations(module);
    let mut proto = HloModuleProto {
        name: module.name.clone(),
        entry_computation_name: module[entry].name().to_owned(),
        entry_computation_id: ids.get(&entry).copied().unwrap_or(0),
        host_program_shape: Some(host_program_shape(module, entry)?),
        ..HloModuleProto::default()
    };
    for &computation in &order {
        let is_fused = fused.contains(&computation);
        proto.computations.push(computation_to_proto(module, computation, &ids, is_fused)?);
    }
    if module.config.is_scheduled {
        proto.schedule = Some(schedule(&proto.computations));
    }
    config_to_proto(module, &mut proto)?;
    Ok(proto)
}

fn computations_in_order(module: &Module) -> Result<Vec<ComputationId>, Diagnostic> {
    let listed = module.computations();
    let at: FxHashMap<ComputationId, usize> =
        listed.iter().enumerate().map(|(index, &computation)| (computation, index)).collect();
    let mut needs: Vec<Vec<usize>> = Vec::with_capacity(listed.len());
    for &computation in listed {
        let mut called = Vec::new();
        for &id in module[computation].instructions() {
            for callee in module[id].op.called_computations() {
                let Some(&index) = at.get(&callee) else {
                    return Err(Diagnostic::error(format!(
                        "`{}` calls a computation that is not in the module",
                        module[id].name()
                    )));
                };
                called.push(index);
            }
        }
        needs.push(called);
    }
    match in_order(&needs) {
        Ok(order) => Ok(order.into_iter().map(|index| listed[index]).collect()),
        Err(index) => Err(Diagnostic::error(format!(
            "`{}` calls itself, however indirectly",
            module[listed[index]].name()
        ))),
    }
}

fn fused_computations(module: &Module) -> rustc_hash::FxHashSet<ComputationId> {
    let calls = module.instruction_ids().filter_map(|id| match &module[id].op {
        Op::Fusion(fusion) => Some(fusion.calls),
        _ => None,
    });
    calls.collect()
}

fn host_program_shape(
    module: &Module,
    entry: ComputationId,
) -> Result<ProgramShapeProto, Diagnostic> {
    let mut program = program_shape(module, entry)?;
    if let Some(layout) = &module.config.entry_computation_layout {
        for ((_, shape), said) in program.parameters.iter_mut().zip(&layout.parameters) {
            shape.clone_from(said);
        }
        program.result.clone_from(&layout.result);
    }
    Ok(shape::program_to_proto(&program))
}

fn program_shape(module: &Module, id: ComputationId) -> Result<ProgramShape, Diagnostic> {
    let computation = &module[id];
    let failed = |what: &str| Diagnostic::error(format!("`{}` has no {what}", computation.name()));
    let root = computation.try_root().and_then(|root| module.get_instruction(root));
    let mut parameters = Vec::with_capacity(computation.parameters().len());
    for (number, &parameter) in computation.parameters().iter().enumerate() {
        let Some(parameter) = module.get_instruction(parameter) else {
            return Err(failed(&format!("parameter {number}")));
        };
        parameters.push((parameter.name().to_owned(), parameter.shape.with_default_layout()));
    }
    let result = root.ok_or_else(|| failed("root"))?.shape.with_default_layout();
    Ok(ProgramShape { parameters, result })
}

fn computation_to_proto(
    module: &Module,
    id: ComputationId,
    computation_ids: &FxHashMap<ComputationId, i64>,
    is_fusion_computation: bool,
) -> Result<HloComputationProto, Diagnostic> {
    let computation = &module[id];
    let computation_id = computation_ids.get(&id).copied().unwrap_or(0);
    let order = instructions_in_order(module, id)?;
    let mut ids: FxHashMap<InstructionId, i64> = FxHashMap::default();
    for (index, &instruction) in order.iter().enumerate() {
        ids.insert(instruction, computation_id << 32 | index as i64);
    }
    let mut proto = HloComputationProto {
        name: computation.name().to_owned(),
        id: computation_id,
        program_shape: Some(shape::program_to_proto(&program_shape(module, id)?)),
        is_fusion_computation,
        execution_thread: computation.execution_thread.clone().unwrap_or_default(),
        ..HloComputationProto::default()
    };
    proto.root_id = computation.try_root().and_then(|root| ids.get(&root).copied()).unwrap_or(-1);
    for &instruction in &order {
        proto.instructions.push(instruction_to_proto(module, instruction, &ids, computation_ids)?);
    }
    Ok(proto)
}

fn instructions_in_order(
    module: &Module,
    id: ComputationId,
) -> Result<Vec<InstructionId>, Diagnostic> {
    let listed = module[id].instructions();
    let at: FxHashMap<InstructionId, usize> =
        listed.iter().enumerate().map(|(index, &instruction)| (instruction, index)).collect();
    let mut needs: Vec<Vec<usize>> = Vec::with_capacity(listed.len());
    for &instruction in listed {
        let instruction = &module[instruction];
        let before = instruction.operands().iter().chain(instruction.control_predecessors());
        let before: Option<Vec<usize>> = before.map(|before| at.get(before).copied()).collect();
        needs.push(before.ok_or_else(|| {
            Diagnostic::error(format!(
                "`{}` needs what is not in `{}`",
                instruction.name(),
                module[id].name()
            ))
        })?);
    }
    match in_order(&needs) {
        Ok(order) => Ok(order.into_iter().map(|index| listed[index]).collect()),
        Err(index) => {
            let name = module[listed[index]].name();
            Err(Diagnostic::error(format!("`{name}` needs its own result")))
        }
    }
}

fn instruction_to_proto(
    module: &Module,
    id: InstructionId,
    ids: &FxHashMap<InstructionId, i64>,
    computation_ids: &FxHashMap<ComputationId, i64>,
) -> Result<HloInstructionProto, Diagnostic> {
    let instruction = &module[id];
    let id_of = |id: &InstructionId| ids.get(id).copied().unwrap_or(-1);
    let result = instruction.shape.with_default_layout();
    let operands: Vec<&Shape> =
        instruction.operands().iter().map(|&operand| &module[operand].shape).collect();
    let mut called = instruction.op.called_computations();
    if let Op::While(op) = &instruction.op {
        // XLA keeps the body first.
        called = [op.body, op.condition].into_iter().collect();
    }
    let mut proto = HloInstructionProto {
        name: instruction.name().to_owned(),
        opcode: instruction.op.name().to_owned(),
        shape: Some(shape::to_proto(&result)),
        id: id_of(&id),
        operand_ids: instruction.operands().iter().map(id_of).collect(),
        control_predecessor_ids: instruction.control_predecessors().iter().map(id_of).collect(),
        called_computation_ids: called
            .iter()
            .map(|computation| computation_ids.get(computation).copied().unwrap_or(-1))
            .collect(),
        ..HloInstructionProto::default()
    };
    op_to_proto::write(&instruction.op, &result, &operands, &mut proto).map_err(|error| {
        error.note(format!("in `{}` of `{}`", instruction.name(), instruction.op.name()))
    })?;
    if let Some(info) = instruction.info() {
        metadata::info_to_proto(info, &mut proto);
        proto.sharding = info.sharding.as_ref().map(sharding::to_proto).map(Box::new);
    }
    Ok(proto)
}

/// The instructions stand in execution order already.
fn schedule(computations: &[HloComputationProto]) -> HloScheduleProto {
    let sequences = computations.iter().filter(|computation| !computation.is_fusion_computation);
    let sequences = sequences.map(|computation| {
        let instruction_ids = computation.instructions.iter().map(|i| i.id).collect();
        (computation.id, InstructionSequence { instruction_ids })
    });
    HloScheduleProto { sequences: sequences.collect() }
}

fn config_to_proto(module: &Module, proto: &mut HloModuleProto) -> Result<(), Diagnostic> {
    let config = &module.config;
    if !config.input_output_alias.is_empty() {
        let entries = config.input_output_alias.iter().map(|alias| AliasEntryProto {
            output_shape_index: alias.output_index.to_vec(),
            parameter_number: alias.parameter,
            parameter_shape_index: alias.parameter_index.to_vec(),
            kind: match alias.kind {
                AliasKind::May => 1,
                AliasKind::Must => 2,
            },
        });
        proto.input_output_alias = Some(HloInputOutputAliasProto { entries: entries.collect() });
    }
    if !config.buffer_donors.is_empty() {
        let entries = config.buffer_donors.iter().map(|donor| BufferDonorEntryProto {
            parameter_number: donor.parameter,
            parameter_shape_index: donor.parameter_index.to_vec(),
        });
        proto.buffer_donor = Some(HloBufferDonorProto { entries: entries.collect() });
    }
    let prefetches = config.cross_program_prefetches.iter().map(|prefetch| CrossProgramPrefetch {
        parameter: prefetch.parameter,
        index: prefetch.index.to_vec(),
        offset: prefetch.offset,
    });
    proto.cross_program_prefetches = prefetches.collect();
    proto.payloads.clone_from(&config.payloads);
    proto.is_dynamic = config.is_dynamic;
    proto.spmd_output_sharding = config.spmd_output_sharding.as_ref().map(sharding::to_proto);
    proto.spmd_parameters_shardings =
        config.spmd_parameters_shardings.iter().map(sharding::to_proto).collect();
    proto.use_auto_spmd_partitioning = config.use_auto_spmd_partitioning;
    proto.device_assignment = config.device_assignment.as_ref().map(sharding::assignment_to_proto);
    if module.stack_frames != StackFrameIndex::default() {
        proto.stack_frame_index = Some(stack_frames(&module.stack_frames));
    }
    if !config.frontend_attributes.is_empty() {
        proto.frontend_attributes =
            Some(FrontendAttributes { map: config.frontend_attributes.clone() });
    }
    proto.device_type.clone_from(&config.device_type);
    if !config.origin_recovery_table.is_empty() {
        let mut entries = Vec::new();
        for entry in &config.origin_recovery_table {
            let recovery_module = if entry.recovery_module.is_empty() {
                None
            } else {
                let parsed = rxla_hlo::text::parse(&entry.recovery_module, &Default::default());
                let parsed = parsed.map_err(|mut errors| {
                    errors.pop().unwrap_or_else(|| Diagnostic::error("bad recovery module"))
                })?;
                Some(to_proto(&parsed.module)?)
            };
            entries.push(Entry {
                old_original_array: Some(metadata::array_to_proto(&entry.old)),
                new_original_array: Some(metadata::array_to_proto(&entry.new)),
                recovery_module,
            });
        }
        proto.original_value_recovery_table = Some(OriginalValueRecoveryTableProto { entries });
    }
    Ok(())
}

fn stack_frames(tables: &StackFrameIndex) -> StackFrameIndexProto {
    StackFrameIndexProto {
        file_names: tables.file_names.clone(),
        function_names: tables.function_names.clone(),
        file_locations: tables
            .file_locations
            .iter()
            .map(|location| FileLocation {
                file_name_id: location.file_name_id,
                function_name_id: location.function_name_id,
                line: location.line,
                end_line: location.end_line,
                column: location.column,
                end_column: location.end_column,
            })
            .collect(),
        stack_frames: tables
            .stack_frames
            .iter()
            .map(|frame| StackFrame {
                file_location_id: frame.file_location_id,
                parent_frame_id: frame.parent_frame_id,
            })
            .collect(),
    }
}
