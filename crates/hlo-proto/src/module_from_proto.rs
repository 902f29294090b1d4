//! Modules from protos. Files come from anywhere, so nothing in them is believed: ids may be
//! missing, double or huge, instructions in any order or in a circle.

use rustc_hash::FxHashMap;
use rxla_base::Diagnostic;
use rxla_hlo::{
    AliasKind, BufferDonor, ComputationId, ComputationLayout, CrossProgramPrefetch, FileLocation,
    InputOutputAlias, InstructionId, Module, Op, OriginRecovery, ProgramShape, Shape, StackFrame,
    StackFrameIndex,
};

use crate::order::in_order;
use crate::proto::{
    HloComputationProto, HloInstructionProto, HloModuleProto, StackFrameIndexProto,
};
use crate::shape::dims;
use crate::{metadata, op_from_proto, shape, sharding};

/// The module of a proto. What is structurally wrong is an error; whether shapes and the rest fit
/// together is for the verifier to say.
pub fn from_proto(proto: &HloModuleProto) -> Result<Module, Diagnostic> {
    let mut module = Module::new(proto.name.clone());
    let order = computations_in_order(proto)?;
    let mut computations: FxHashMap<i64, ComputationId> = FxHashMap::default();
    for &index in &order {
        let computation = &proto.computations[index];
        let id = module.add_computation(&computation.name);
        if !computation.execution_thread.is_empty() {
            module[id].execution_thread = Some(computation.execution_thread.clone());
        }
        computations.insert(computation.id, id);
    }
    let scheduled = proto.schedule.as_ref().filter(|schedule| !schedule.sequences.is_empty());
    for &index in &order {
        let computation = &proto.computations[index];
        let into = computations[&computation.id];
        let sequence = scheduled.and_then(|schedule| schedule.sequences.get(&computation.id));
        let sequence = sequence.map(|sequence| &sequence.instruction_ids[..]);
        fill(&mut module, computation, into, sequence, &computations, &proto.payloads)
            .map_err(|error| error.note(format!("in computation `{}`", computation.name)))?;
    }
    let Some(&entry) = computations.get(&proto.entry_computation_id) else {
        return Err(Diagnostic::error(format!(
            "the entry computation has the id {}, which no computation has",
            proto.entry_computation_id
        )));
    };
    module.set_entry(entry);
    module.config.is_scheduled = scheduled.is_some();
    config_from_proto(proto, &mut module)?;
    Ok(module)
}

fn computations_in_order(proto: &HloModuleProto) -> Result<Vec<usize>, Diagnostic> {
    let mut at: FxHashMap<i64, usize> = FxHashMap::default();
    for (index, computation) in proto.computations.iter().enumerate() {
        if at.insert(computation.id, index).is_some() {
            return Err(Diagnostic::error(format!(
                "two computations have the id {}",
                computation.id
            )));
        }
    }
    let mut needs = Vec::with_capacity(proto.computations.len());
    for computation in &proto.computations {
        let mut called = Vec::new();
        for instruction in &computation.instructions {
            for id in &instruction.called_computation_ids {
                let Some(&index) = at.get(id) else {
                    return Err(Diagnostic::error(format!(
                        "`{}` calls a computation with the id {id}, which no computation has",
                        instruction.name
                    )));
                };
                called.push(index);
            }
        }
        needs.push(called);
    }
    in_order(&needs).map_err(|index| {
        let name = &proto.computations[index].name;
        Diagnostic::error(format!("`{name}` calls itself, however indirectly"))
    })
}

/// Only the lower half of an id tells instructions of a computation apart.
fn local_id(id: i64) -> i64 {
    id & 0xffff_ffff
}

fn fill(
    module: &mut Module,
    proto: &HloComputationProto,
    into: ComputationId,
    sequence: Option<&[i64]>,
    computations: &FxHashMap<i64, ComputationId>,
    payloads: &[Vec<u8>],
) -> Result<(), Diagnostic> {
    let instructions = &proto.instructions;
    let mut at: FxHashMap<i64, usize> = FxHashMap::default();
    for (index, instruction) in instructions.iter().enumerate() {
        if at.insert(local_id(instruction.id), index).is_some() {
            return Err(Diagnostic::error(format!(
                "two instructions have the id {}",
                instruction.id
            )));
        }
    }
    let find = |what: &str, id: i64| {
        at.get(&local_id(id)).copied().ok_or_else(|| {
            Diagnostic::error(format!("{what} the id {id}, which no instruction has"))
        })
    };
    let mut needs = Vec::with_capacity(instructions.len());
    for instruction in instructions {
        let mut before = Vec::new();
        for &id in instruction.operand_ids.iter().chain(&instruction.control_predecessor_ids) {
            before.push(find(&format!("`{}` needs", instruction.name), id)?);
        }
        needs.push(before);
    }
    check_parameters(instructions)?;
    let order = in_order(&needs).map_err(|index| {
        Diagnostic::error(format!("`{}` needs its own result", instructions[index].name))
    })?;
    let mut made = vec![InstructionId::default(); instructions.len()];
    for index in order {
        let instruction = &instructions[index];
        let count = instruction.operand_ids.len();
        let operands: Vec<InstructionId> =
            needs[index][..count].iter().map(|&operand| made[operand]).collect();
        let id =
            add(module, instruction, into, &operands, computations, payloads).map_err(|error| {
                error.note(format!("in `{}` ({})", instruction.name, instruction.opcode))
            })?;
        for &before in &needs[index][count..] {
            module.add_control_edge(made[before], id);
        }
        made[index] = id;
    }
    module.set_root(made[find("the root has", proto.root_id)?]);
    if let Some(sequence) = sequence {
        let mut order = Vec::with_capacity(sequence.len());
        let mut seen = vec![false; instructions.len()];
        for &id in sequence {
            let index = find("the schedule has", id)?;
            if std::mem::replace(&mut seen[index], true) {
                return Err(Diagnostic::error(format!("the schedule has the id {id} twice")));
            }
            order.push(made[index]);
        }
        if order.len() != made.len() {
            return Err(Diagnostic::error(format!(
                "the schedule has {} of {} instructions",
                order.len(),
                made.len()
            )));
        }
        module.set_instruction_order(into, order);
    }
    Ok(())
}

/// Numbers from 0 without gaps, so that nothing grows by what a number says.
fn check_parameters(instructions: &[HloInstructionProto]) -> Result<(), Diagnostic> {
    let numbers: Vec<i64> = instructions
        .iter()
        .filter(|instruction| instruction.opcode == "parameter")
        .map(|instruction| instruction.parameter_number)
        .collect();
    let mut seen = vec![false; numbers.len()];
    for number in &numbers {
        match usize::try_from(*number).ok().and_then(|number| seen.get_mut(number)) {
            Some(seen) if !*seen => *seen = true,
            Some(_) => {
                return Err(Diagnostic::error(format!("there are several parameters {number}")));
            }
            None => {
                return Err(Diagnostic::error(format!(
                    "there is a parameter {number}, but there are {} parameters",
                    numbers.len()
                )));
            }
        }
    }
    Ok(())
}

fn add(
    module: &mut Module,
    proto: &HloInstructionProto,
    into: ComputationId,
    operands: &[InstructionId],
    computations: &FxHashMap<i64, ComputationId>,
    payloads: &[Vec<u8>],
) -> Result<InstructionId, Diagnostic> {
    let Some(result) = &proto.shape else {
        return Err(Diagnostic::error("the instruction has no shape"));
    };
    let result = shape::from_proto(result)?;
    let called: Vec<ComputationId> = proto
        .called_computation_ids
        .iter()
        .filter_map(|id| computations.get(id).copied())
        .collect();
    let shapes: Vec<&Shape> = operands.iter().map(|&operand| &module[operand].shape).collect();
    let mut op = op_from_proto::read(proto, &shapes, &called)?;
    if let Op::Constant(constant) = &mut op {
        with_instruction_layout(constant, &result);
    }
    let name = if proto.name.is_empty() { op.name() } else { &proto.name };
    let id = module.add_instruction(into, name, op, result, operands);
    let has_info = proto.metadata.is_some()
        || proto.sharding.is_some()
        || proto.frontend_attributes.is_some()
        || proto.statistics_viz.is_some()
        || proto.original_value.is_some()
        || proto.parameter_replication.is_some()
        || proto.backend_config_payload.is_some()
        || !proto.backend_config.is_empty();
    if has_info {
        let mut info = rxla_hlo::Info::default();
        read_info(proto, payloads, &mut info)?;
        // XLA writes empty messages; nothing said needs no memory.
        if info != rxla_hlo::Info::default() {
            *module[id].info_mut() = info;
        }
    }
    Ok(id)
}

/// Constants of tuples carry the instruction's shape, dynamic sizes and all; arrays compare by
/// sizes alone.
fn with_instruction_layout(constant: &mut rxla_hlo::op::Constant, result: &Shape) {
    if let (rxla_hlo::Literal::Array(literal), Some(shape)) =
        (&*constant.literal, result.as_array())
        && literal.shape().dims == shape.dims
        && !shape.is_static()
        && let Ok(literal) = literal.clone().with_shape(&shape.without_layout())
    {
        constant.literal = std::sync::Arc::new(literal.into());
    }
}

fn read_info(
    proto: &HloInstructionProto,
    payloads: &[Vec<u8>],
    info: &mut rxla_hlo::Info,
) -> Result<(), Diagnostic> {
    info.metadata = proto.metadata.as_deref().map(metadata::from_proto).unwrap_or_default();
    info.sharding = proto.sharding.as_deref().map(sharding::from_proto).transpose()?;
    if let Some(attributes) = &proto.frontend_attributes {
        info.frontend_attributes.clone_from(&attributes.map);
    }
    let mut backend_config = &proto.backend_config;
    if let Some(payload) = &proto.backend_config_payload {
        if let Some(value) = &payload.value {
            backend_config = value;
        } else if let Some(id) = payload.id {
            backend_config =
                usize::try_from(id).ok().and_then(|id| payloads.get(id)).ok_or_else(|| {
                    Diagnostic::error(format!(
                        "the backend configuration is payload {id} of {}",
                        payloads.len()
                    ))
                })?;
        }
    }
    info.backend_config = String::from_utf8_lossy(backend_config).into_owned();
    info.statistics = proto.statistics_viz.as_deref().and_then(metadata::statistics_from_proto);
    info.original_value = proto.original_value.as_deref().map(metadata::original_from_proto);
    if let Some(replication) = &proto.parameter_replication {
        info.parameter_replication.clone_from(&replication.replicated_at_leaf_buffers);
    }
    Ok(())
}

fn config_from_proto(proto: &HloModuleProto, module: &mut Module) -> Result<(), Diagnostic> {
    let config = &mut module.config;
    for alias in proto.input_output_alias.iter().flat_map(|aliases| &aliases.entries) {
        config.input_output_alias.push(InputOutputAlias {
            output_index: dims(&alias.output_shape_index),
            parameter: alias.parameter_number,
            parameter_index: dims(&alias.parameter_shape_index),
            kind: match alias.kind {
                2 => AliasKind::Must,
                _ => AliasKind::May,
            },
        });
    }
    for donor in proto.buffer_donor.iter().flat_map(|donors| &donors.entries) {
        config.buffer_donors.push(BufferDonor {
            parameter: donor.parameter_number,
            parameter_index: dims(&donor.parameter_shape_index),
        });
    }
    for prefetch in &proto.cross_program_prefetches {
        config.cross_program_prefetches.push(CrossProgramPrefetch {
            parameter: prefetch.parameter,
            index: dims(&prefetch.index),
            offset: prefetch.offset,
        });
    }
    if let Some(program) = &proto.host_program_shape {
        let ProgramShape { parameters, result } = shape::program_from_proto(program)?;
        let parameters = parameters.into_iter().map(|(_, shape)| shape).collect();
        config.entry_computation_layout = Some(ComputationLayout { parameters, result });
    }
    config.payloads.clone_from(&proto.payloads);
    config.is_dynamic = proto.is_dynamic;
    config.spmd_output_sharding =
        proto.spmd_output_sharding.as_ref().map(sharding::from_proto).transpose()?;
    config.spmd_parameters_shardings = proto
        .spmd_parameters_shardings
        .iter()
        .map(sharding::from_proto)
        .collect::<Result<_, _>>()?;
    config.use_auto_spmd_partitioning = proto.use_auto_spmd_partitioning;
    config.device_assignment =
        proto.device_assignment.as_ref().map(sharding::assignment_from_proto).transpose()?;
    if let Some(attributes) = &proto.frontend_attributes {
        config.frontend_attributes.clone_from(&attributes.map);
    }
    config.device_type.clone_from(&proto.device_type);
    for entry in proto.original_value_recovery_table.iter().flat_map(|table| &table.entries) {
        let array = |array: &Option<crate::proto::OriginalArrayProto>| {
            array.as_ref().map(metadata::array_from_proto).unwrap_or_default()
        };
        let recovery_module = match &entry.recovery_module {
            Some(module) => rxla_hlo::text::print(
                &from_proto(module)?,
                &rxla_hlo::text::PrintOptions::complete(),
            ),
            None => String::new(),
        };
        config.origin_recovery_table.push(OriginRecovery {
            old: array(&entry.old_original_array),
            new: array(&entry.new_original_array),
            recovery_module,
        });
    }
    if let Some(tables) = &proto.stack_frame_index {
        module.stack_frames = stack_frames(tables);
    }
    Ok(())
}

fn stack_frames(proto: &StackFrameIndexProto) -> StackFrameIndex {
    StackFrameIndex {
        file_names: proto.file_names.clone(),
        function_names: proto.function_names.clone(),
        file_locations: proto
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
        stack_frames: proto
            .stack_frames
            .iter()
            .map(|frame| StackFrame {
                file_location_id: frame.file_location_id,
                parent_frame_id: frame.parent_frame_id,
            })
            .collect(),
    }
}
