//! Custom calls and transfers with the host that one device makes for all: callbacks above all, which
//! must happen once. The call moves into a branch that only that device takes, and its results go from
//! there to the others.

use rxla_base::Result;
use rxla_hlo::op::{AfterAll, ComparisonDirection, Conditional, PartitionId};
use rxla_hlo::{ComputationId, InstructionId, Literal, Module, Op, Shape, Sharding, ShardingKind};

use crate::error;
use crate::move_parts::{self, Devices};

/// The device that an instruction says to be made on, if it says one.
pub(crate) fn device(module: &Module, call: InstructionId) -> Option<usize> {
    fn of(sharding: &Sharding) -> Option<usize> {
        match sharding {
            Sharding::Tuple(list) => {
                let mut devices = list.iter().map(of);
                let first = devices.next()??;
                devices.all(|device| device == Some(first)).then_some(first)
            }
            Sharding::Single(single) => match single.kind {
                ShardingKind::Maximal { device } => usize::try_from(device).ok(),
                _ => None,
            },
        }
    }
    of(module[call].info()?.sharding.as_ref()?)
}

/// Makes only `device` make the call: an instruction, or several of which each has the one before it
/// as its operand and nobody else has.
pub(crate) fn make(
    module: &mut Module,
    call: &[InstructionId],
    device: usize,
    devices: Devices,
) -> Result<()> {
    let (Some(&first), Some(&last)) = (call.first(), call.last()) else { return Ok(()) };
    let computation = module[first].parent();
    let operands = module[first].operands().to_vec();
    let shapes: Vec<Shape> = operands.iter().map(|&o| module[o].shape.clone()).collect();
    let made = branch(module, "made_here", &shapes, |module, branch, arguments| {
        let mut operands = arguments.to_vec();
        for &id in call {
            let (op, shape) = (module[id].op.clone(), module[id].shape.clone());
            let (info, name) = (module[id].info().cloned(), op.name());
            let copy = module.add_instruction(branch, name, op, shape, &operands);
            if let Some(mut info) = info {
                info.sharding = None;
                *module[copy].info_mut() = info;
            }
            operands = vec![copy];
        }
        Ok(operands[0])
    })?;
    let result = module[last].shape.clone();
    let left = branch(module, "made_elsewhere", &shapes, |module, branch, _| {
        nothing(module, branch, &result)
    })?;
    let id = module.add(computation, Op::PartitionId(PartitionId {}), &[]).map_err(error)?;
    let here = module.add_constant(computation, Literal::scalar(device as u32));
    let compare = Op::compare(ComparisonDirection::Eq);
    let is_here = module.add(computation, compare, &[id, here]).map_err(error)?;
    let arguments = module.add_tuple(computation, &operands).map_err(error)?;
    let conditional = Op::Conditional(Conditional { branch_computations: vec![made, left] });
    let chosen =
        module.add(computation, conditional, &[is_here, arguments, arguments]).map_err(error)?;
    let everywhere = spread(module, chosen, device, devices)?;
    module.replace_all_uses(last, everywhere);
    // They have effects, so they must go and not just be unused.
    call.iter().rev().for_each(|&id| module.remove_instruction(id));
    Ok(())
}

/// A computation over a tuple of such values.
fn branch(
    module: &mut Module,
    name: &str,
    shapes: &[Shape],
    body: impl FnOnce(&mut Module, ComputationId, &[InstructionId]) -> Result<InstructionId>,
) -> Result<ComputationId> {
    let branch = module.add_computation(name);
    let parameter = module.add_parameter(branch, "arguments", Shape::tuple(shapes.to_vec()));
    let arguments = (0..shapes.len() as i64)
        .map(|index| module.add_get_tuple_element(branch, parameter, index).map_err(error))
        .collect::<Result<Vec<_>>>()?;
    let root = body(module, branch, &arguments)?;
    module.set_root(root);
    Ok(branch)
}

/// A value of that shape without meaning.
fn nothing(module: &mut Module, branch: ComputationId, shape: &Shape) -> Result<InstructionId> {
    match shape {
        Shape::Tuple(elements) => {
            let elements = elements
                .iter()
                .map(|element| nothing(module, branch, element))
                .collect::<Result<Vec<_>>>()?;
            module.add_tuple(branch, &elements).map_err(error)
        }
        Shape::Token => module.add(branch, Op::AfterAll(AfterAll {}), &[]).map_err(error),
        other => {
            let zeros = Literal::zeros(&other.without_layout())?;
            let zeros = module.add_constant(branch, zeros);
            // The branches of a conditional agree in layouts too.
            module[zeros].shape = other.clone();
            Ok(zeros)
        }
    }
}

/// The value as `device` has it, on all devices.
fn spread(
    module: &mut Module,
    value: InstructionId,
    device: usize,
    devices: Devices,
) -> Result<InstructionId> {
    match module[value].shape.clone() {
        Shape::Tuple(elements) => {
            let computation = module[value].parent();
            let mut parts = Vec::new();
            for index in 0..elements.len() as i64 {
                let element =
                    module.add_get_tuple_element(computation, value, index).map_err(error)?;
                parts.push(spread(module, element, device, devices)?);
            }
            module.add_tuple(computation, &parts).map_err(error)
        }
        Shape::Array(_) => move_parts::of_device(module, value, device, devices),
        Shape::Token | Shape::Opaque | Shape::Buffer(_) => Ok(value),
    }
}
