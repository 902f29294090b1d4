//! The order in which the instructions of a computation run: that of the text, but what overwrites an
//! array in place comes after everything else that reads it, where the data allows, and what may take the
//! place of a large one after who reads few elements of it. What only small results need comes at once.

use rustc_hash::{FxHashMap, FxHashSet};
use rxla_hlo::{ComputationId, InstructionId, Module, Op, Shape};

/// A search for a path that visits more instructions is given up.
const SEARCH_LIMIT: usize = 10_000;

/// Operands, control predecessors and readers of what is overwritten before what needs them.
pub fn order(module: &Module, computation: ComputationId) -> Vec<InstructionId> {
    let order = readers_first(module, computation);
    if computation == module.entry() { small_results_at_once(module, order) } else { order }
}

/// Bytes of a result that may be handed on before the run ends, at most.
pub(crate) const SMALL_RESULT: usize = 1024;

/// Has what is small, and needed by nothing but small results of the program, follow what it needs: a loss is there
/// before the backward pass. A fusion, for one, stands at the end of its computation's text.
fn small_results_at_once(module: &Module, order: Vec<InstructionId>) -> Vec<InstructionId> {
    let root = module[module.entry()].root();
    let is_small =
        |id: InstructionId| module[id].shape.byte_size().is_some_and(|bytes| bytes <= SMALL_RESULT);
    let is_given = |id: InstructionId| module[id].operands().is_empty();
    let mut hasty: FxHashSet<InstructionId> = FxHashSet::default();
    for &id in order.iter().rev() {
        let op = &module[id].op;
        let usual = op.is_elementwise()
            || matches!(
                op,
                Op::Fusion(_)
                    | Op::Reduce(_)
                    | Op::Slice(_)
                    | Op::Reshape(_)
                    | Op::GetTupleElement(_)
            );
        let mut users = module[id].users().iter();
        if usual
            && id != root
            && is_small(id)
            && module[id].control_predecessors().is_empty()
            && !is_given(id)
            && users.all(|user| *user == root || hasty.contains(user))
        {
            hasty.insert(id);
        }
    }
    if hasty.is_empty() {
        return order;
    }
    // By instruction, the operands that are still to come.
    let mut missing: FxHashMap<InstructionId, usize> = FxHashMap::default();
    for &id in &hasty {
        let distinct: FxHashSet<_> = module[id].operands().iter().copied().collect();
        missing.insert(id, distinct.into_iter().filter(|&operand| !is_given(operand)).count());
    }
    let seeds = order.iter().copied().filter(|id| missing.get(id) == Some(&0)).collect::<Vec<_>>();
    let mut hastened = Vec::with_capacity(order.len());
    let mut done: FxHashSet<InstructionId> = FxHashSet::default();
    let mut next = Vec::new();
    for first in seeds.into_iter().chain(order.into_iter().filter(|id| !hasty.contains(id))) {
        next.push(first);
        while let Some(id) = next.pop() {
            let given = module[id].operands().iter().copied().filter(|&operand| is_given(operand));
            hastened.extend(given.filter(|&operand| done.insert(operand)));
            if !done.insert(id) {
                continue;
            }
            hastened.push(id);
            for user in module[id].users() {
                if let Some(missing) = missing.get_mut(user).filter(|_| !is_given(id)) {
                    *missing -= 1;
                    if *missing == 0 {
                        next.push(*user);
                    }
                }
            }
        }
    }
    hastened
}

fn readers_first(module: &Module, computation: ComputationId) -> Vec<InstructionId> {
    let usual = module.post_order(computation);
    let position: FxHashMap<InstructionId, usize> =
        usual.iter().enumerate().map(|(position, &id)| (id, position)).collect();
    let mut later: FxHashMap<InstructionId, Vec<InstructionId>> = FxHashMap::default();
    let mut unusual = Vec::new();
    for &id in &usual {
        let overwritten = overwritten(module, id);
        let readers = overwritten.iter().flat_map(|overwritten| {
            let users = module[overwritten.array].users().iter();
            users.filter(|&&reader| overwritten.comes_first(module, reader))
        });
        for &reader in readers {
            // Edges that agree with the usual order close no circle.
            if position[&reader] < position[&id] {
                later.entry(id).or_default().push(reader);
            } else if reader != id {
                unusual.push((reader, id));
            }
        }
    }
    if unusual.is_empty() {
        return usual;
    }
    for (reader, id) in unusual {
        if !needs(module, &later, reader, id) {
            later.entry(id).or_default().push(reader);
        }
    }
    let mut order = Vec::new();
    let mut done: FxHashSet<InstructionId> = FxHashSet::default();
    let mut stack = Vec::new();
    for &start in module[computation].instructions() {
        stack.push((start, 0));
        while let Some((id, next)) = stack.last_mut() {
            if done.contains(id) {
                stack.pop();
                continue;
            }
            match before(module, &later, *id).nth(*next) {
                Some(earlier) => {
                    *next += 1;
                    if !done.contains(&earlier) {
                        stack.push((earlier, 0));
                    }
                }
                None => {
                    done.insert(*id);
                    order.push(*id);
                    stack.pop();
                }
            }
        }
    }
    order
}

/// An array that an instruction may overwrite.
pub(crate) struct Overwritten {
    pub array: InstructionId,
    /// Bytes of a part of it that is worth being read before, at most; of an update any part is.
    pub part: Option<usize>,
}

impl Overwritten {
    /// Whether somebody who reads the array should have done so before.
    fn comes_first(&self, module: &Module, reader: InstructionId) -> bool {
        let bytes = module[reader].shape.byte_size().unwrap_or(0);
        self.part.is_none_or(|part| bytes <= part)
    }
}

/// Bytes from which on it counts that a result takes the place of an operand.
const LARGE: usize = 1 << 18;
/// Who reads so many times less than all of such an operand reads it before.
const FEW: usize = 16;
/// An operand of more users is not looked at, lest compilation take long.
const MANY_USERS: usize = 64;

/// What an instruction would rather overwrite than copy, and what its result may take the place of.
pub(crate) fn overwritten(module: &Module, id: InstructionId) -> Vec<Overwritten> {
    let updates = |op: &Op| matches!(op, Op::DynamicUpdateSlice(_) | Op::Scatter(_));
    let operands = module[id].operands();
    let updated = match &module[id].op {
        op if updates(op) => operands.first().copied(),
        Op::Fusion(fusion) if updates(&module[module[fusion.calls].root()].op) => {
            let root = module[fusion.calls].root();
            let first = module[root].operands().first().map(|&first| &module[first].op);
            match first {
                Some(Op::Parameter(parameter)) => {
                    usize::try_from(parameter.number).ok().and_then(|at| operands.get(at).copied())
                }
                _ => None,
            }
        }
        op if op.is_elementwise() || matches!(op, Op::Fusion(_)) => {
            return operands.iter().filter_map(|&array| replaced(module, id, array)).collect();
        }
        _ => None,
    };
    updated.map(|array| Overwritten { array, part: None }).into_iter().collect()
}

/// A large operand in whose place a result may lie.
fn replaced(module: &Module, id: InstructionId, operand: InstructionId) -> Option<Overwritten> {
    let shape = &module[operand].shape;
    let few = module[operand].users().len() <= MANY_USERS;
    let bytes = shape.byte_size().filter(|&bytes| few && bytes >= LARGE)?;
    let fits = match &module[id].shape {
        Shape::Tuple(results) => results.contains(shape),
        result => result == shape,
    };
    fits.then_some(Overwritten { array: operand, part: Some(bytes / FEW) })
}

/// What has to stand before an instruction.
fn before<'a>(
    module: &'a Module,
    later: &'a FxHashMap<InstructionId, Vec<InstructionId>>,
    id: InstructionId,
) -> impl Iterator<Item = InstructionId> + 'a {
    let instruction = &module[id];
    let more = later.get(&id).map_or(&[][..], Vec::as_slice);
    instruction.operands().iter().chain(instruction.control_predecessors()).chain(more).copied()
}

/// Whether an instruction has to stand after another.
fn needs(
    module: &Module,
    later: &FxHashMap<InstructionId, Vec<InstructionId>>,
    id: InstructionId,
    other: InstructionId,
) -> bool {
    let mut seen: FxHashSet<InstructionId> = FxHashSet::default();
    let mut stack = vec![id];
    while let Some(id) = stack.pop() {
        if id == other || seen.len() > SEARCH_LIMIT {
            return true;
        }
        if seen.insert(id) {
            stack.extend(before(module, later, id));
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use rxla_hlo::text::{ParseOptions, parse};

    /// Each step reads what it then changes, in an order that is right as it is: nothing is to be searched for.
    #[test]
    fn many_updates_of_one_array() {
        let mut text =
            "HloModule m\nENTRY e {\n  x0 = f32[4] parameter(0)\n  i = s32[] parameter(1)\n"
                .to_owned();
        for step in 0..20_000 {
            let next = step + 1;
            text += &format!("  s{step} = f32[1] slice(x{step}), slice={{[0:1]}}\n");
            text += &format!("  x{next} = f32[4] dynamic-update-slice(x{step}, s{step}, i)\n");
        }
        text += "  ROOT r = f32[4] negate(x20000)\n}";
        let module = parse(&text, &ParseOptions::default()).unwrap().module;
        let names: Vec<&str> =
            order(&module, module.entry()).into_iter().map(|id| module[id].name()).collect();
        assert_eq!(names[..6], ["x0", "i", "s0", "x1", "s1", "x2"]);
    }

    #[test]
    fn small_results_come_at_once() {
        let text = "HloModule m
            add { a = f32[] parameter(0)
              b = f32[] parameter(1)
              ROOT c = f32[] add(a, b) }
            ENTRY e {
              x = f32[400] parameter(0)
              a = f32[400] exponential(x)
              b = f32[400] negate(a)
              c = f32[400] negate(b)
              zero = f32[] constant(0)
              sum = f32[] reduce(a, zero), dimensions={0}, to_apply=add
              half = f32[] constant(0.5)
              loss = f32[] multiply(sum, half)
              both = f32[] add(loss, loss)
              used = f32[] reduce(a, half), dimensions={0}, to_apply=add
              far = f32[400] broadcast(used), dimensions={}
              d = f32[400] add(far, c)
              ROOT t = (f32[400], f32[], f32[], f32[]) tuple(d, loss, both, used)
            }";
        let module = parse(text, &ParseOptions::default()).unwrap().module;
        let names: Vec<&str> =
            order(&module, module.entry()).into_iter().map(|id| module[id].name()).collect();
        let wanted = "x a.1 zero sum half loss both b.1 c.1 used far d t";
        assert_eq!(names, wanted.split(' ').collect::<Vec<_>>());
    }

    #[test]
    fn readers_come_before_what_overwrites() {
        let text = "HloModule m
            ENTRY e {
              x = f32[400] parameter(0)
              i = s32[] parameter(1)
              u = f32[1] parameter(2)
              d = f32[400] dynamic-update-slice(x, u, i)
              n = f32[400] negate(x)
              s = f32[400] add(d, x)
              ROOT t = (f32[400], f32[400], f32[400]) tuple(d, n, s)
            }";
        let module = parse(text, &ParseOptions::default()).unwrap().module;
        let names: Vec<String> = order(&module, module.entry())
            .into_iter()
            .map(|id| module[id].name().to_owned())
            .collect();
        // `s` needs what the update makes, so it stays behind it.
        assert_eq!(names, ["x", "i", "u", "n", "d", "s", "t"]);
    }
}
