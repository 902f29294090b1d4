//! Layouts of results that are left to the compiler: the one in which the elements stand in memory as
//! they do in the parameter that they come from, so that a transposition need not move them.

use rustc_hash::FxHashMap;
use rxla_hlo::{Dims, InstructionId, Layout, Module, Op, Shape};

/// How far a result is followed back.
const FAR: usize = 256;

/// The layout for `value`, a result of the entry, given those of parameters and of values of which
/// the program says it; `None` if row-major.
pub(super) fn of_result(
    module: &Module,
    value: InstructionId,
    parameters: &[Shape],
    said: &FxHashMap<InstructionId, Layout>,
) -> Option<Layout> {
    let rank = module[value].shape.as_array()?.rank();
    let order = order(module, value, parameters, said)?;
    let row_major: Dims = (0..rank as i64).rev().collect();
    (order != row_major).then(|| Layout::new(order))
}

/// Dimensions from minor to major; `None` where nothing speaks for one order.
fn order(
    module: &Module,
    value: InstructionId,
    parameters: &[Shape],
    said: &FxHashMap<InstructionId, Layout>,
) -> Option<Dims> {
    // For each dimension of the value at hand, the result's that it is.
    let rank = module[value].shape.as_array()?.rank();
    let mut is_of_result: Vec<usize> = (0..rank).collect();
    let mut value = value;
    // Calls round the value, to find arguments by.
    let mut callers: Vec<InstructionId> = Vec::new();
    for _ in 0..FAR {
        let instruction = &module[value];
        let array = instruction.shape.as_array()?;
        let operands = instruction.operands();
        let of_result = |layout: &Layout| -> Option<Dims> {
            let order = layout.minor_to_major.iter();
            order.map(|&d| is_of_result.get(d as usize).map(|&d| d as i64)).collect()
        };
        if let Some(layout) = said.get(&value) {
            return of_result(layout);
        }
        match &instruction.op {
            Op::Parameter(parameter) => {
                let number = usize::try_from(parameter.number).ok()?;
                let Some(caller) = callers.pop() else {
                    let layout = parameters.get(number)?.as_array()?.layout.as_deref();
                    return of_result(&layout.cloned().unwrap_or_else(|| Layout::row_major(rank)));
                };
                value = *module[caller].operands().get(number)?;
            }
            Op::Transpose(transpose) => {
                let mut before = vec![0; rank];
                for (d, &source) in transpose.dimensions.iter().enumerate() {
                    *before.get_mut(usize::try_from(source).ok()?)? = is_of_result[d];
                }
                is_of_result = before;
                value = operands[0];
            }
            Op::CustomCall(call) if call.custom_call_target == "Sharding" => value = operands[0],
            Op::Call(call) => {
                callers.push(value);
                value = module[call.to_apply].root();
            }
            Op::GetTupleElement(get) => {
                let index = usize::try_from(get.index).ok()?;
                match &module[operands[0]].op {
                    Op::Tuple(_) => value = module[operands[0]].operands()[index],
                    Op::Call(call) => {
                        let root = module[call.to_apply].root();
                        let Op::Tuple(_) = &module[root].op else { return None };
                        callers.push(operands[0]);
                        value = module[root].operands()[index];
                    }
                    _ => return None,
                }
            }
            op if op.is_elementwise() => {
                value = operands.iter().copied().find(|&operand| {
                    // What is the same everywhere has no order.
                    !matches!(module[operand].op, Op::Broadcast(_) | Op::Constant(_))
                        && module[operand].shape.as_array().is_some_and(|o| o.dims == array.dims)
                })?;
            }
            _ => return None,
        }
    }
    None
}
