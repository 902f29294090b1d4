//! An instruction as a whole: its operands bound, its results computed and stored.

use rustc_hash::FxHashMap;
use rxla_base::{Error, Result};
use rxla_hlo::{ArrayShape, InstructionId, Module, Op};
use rxla_kernel::{Builder, Linkage, LoopKind, Type};

use crate::affine::{Affine, Index, linear};
use crate::cost::cost_of;
use crate::element::{array, leaf_count, leaf_shape};
use crate::emitter::{Emitter, Frame, Leaf, Node};
use crate::nest::split_units;
use crate::plan::{Learned, NestId, Plan};
use crate::scalar::store;
use crate::{Cost, Destination, Element, Part, Source};

/// What a run into a scratch function showed.
pub(crate) struct Look {
    pub(crate) plan: Plan,
    pub(crate) cost: Cost,
    learned: Learned,
}

/// Splits are looked for so many times; what is left then is divided for.
const MOST_LOOKS: usize = 6;

pub(crate) fn look(module: &Module, id: InstructionId) -> Result<Look> {
    let mut plan = Plan::default();
    for round in 0.. {
        let (learned, function) = scratch(module, id, &plan)?;
        if round < MOST_LOOKS
            && let Some(next) = plan.split(&learned)
        {
            plan = next;
            continue;
        }
        let mut plan = plan.finished(&learned);
        plan.body_values = function.types.len() as i64;
        let cost = cost_of(module, id, &function);
        return Ok(Look { plan, cost, learned });
    }
    unreachable!("the loop ends by itself")
}

fn scratch(
    module: &Module,
    id: InstructionId,
    plan: &Plan,
) -> Result<(Learned, rxla_kernel::Function)> {
    let mut builder = Builder::new("scratch", Linkage::Kernel, None);
    let mut memory = |count: usize| -> Vec<rxla_kernel::Value> {
        (0..count).map(|_| builder.parameter(Type::PTR)).collect()
    };
    let sources: usize =
        (0..module[id].operands().len()).map(|k| leaf_count(module.operand_shape(id, k))).sum();
    let sources: Vec<Source> = memory(sources).into_iter().map(Source::Memory).collect();
    let results = memory(leaf_count(&module[id].shape));
    let results: Vec<Destination> = results.into_iter().map(Destination::Memory).collect();
    let mut emitter = Emitter::new(&mut builder, module, plan);
    emitter.learned = Some(Learned::default());
    run(&mut emitter, id, &sources, &results, Part::All)?;
    let learned = emitter.learned.take().expect("set above");
    Ok((learned, builder.finish()))
}

pub(crate) fn emit(
    builder: &mut Builder,
    module: &Module,
    id: InstructionId,
    operands: &[Source],
    destinations: &[Destination],
    part: Part,
) -> Result<Vec<Option<Element>>> {
    let look = look(module, id)?;
    let mut emitter = Emitter::new(builder, module, &look.plan);
    run(&mut emitter, id, operands, destinations, part)
}

fn run(
    emitter: &mut Emitter<'_>,
    id: InstructionId,
    operands: &[Source],
    destinations: &[Destination],
    part: Part,
) -> Result<Vec<Option<Element>>> {
    let module = emitter.module;
    let count = leaf_count(&module[id].shape);
    if destinations.len() != count {
        return Err(Error::internal(format!(
            "`{}` has {count} results, not {}",
            module[id].name(),
            destinations.len()
        )));
    }
    let root = bind(emitter, id, operands)?;
    let mut results: Vec<Option<Element>> = vec![None; count];
    for (number, group) in groups(module, id)?.iter().enumerate() {
        let parted = if number == 0 { part } else { Part::All };
        let nest = NestId::Results(number);
        results_of(emitter, (nest, &root), group, destinations, parted, &mut results)?;
    }
    Ok(results)
}

/// Makes the frame of the instruction; gives the node of its result.
fn bind(emitter: &mut Emitter<'_>, id: InstructionId, operands: &[Source]) -> Result<Node> {
    let module = emitter.module;
    let mut leaves: FxHashMap<InstructionId, Leaf> = FxHashMap::default();
    let mut first = 0;
    let parameters = match &module[id].op {
        Op::Fusion(fusion) => module[fusion.calls].parameters(),
        _ => module[id].operands(),
    };
    for number in 0..module[id].operands().len() {
        let count = leaf_count(module.operand_shape(id, number));
        let own = operands.get(first..first + count).ok_or_else(|| {
            Error::internal(format!("`{}` has more operands than given", module[id].name()))
        })?;
        leaves.insert(parameters[number], Leaf::Sources(own.to_vec(), first));
        first += count;
    }
    let depth = emitter.base;
    emitter.frames.push(Frame { leaves, depth });
    let id = match &module[id].op {
        Op::Fusion(fusion) => module[fusion.calls].root(),
        _ => id,
    };
    Ok(Node { frame: emitter.frames.len() - 1, id, leaf: 0, index: Index::new() })
}

/// The leaves of the result, those of equal sizes together: they are computed in one nest.
fn groups(module: &Module, id: InstructionId) -> Result<Vec<Vec<(usize, ArrayShape)>>> {
    let shape = &module[id].shape;
    let mut groups: Vec<Vec<(usize, ArrayShape)>> = Vec::new();
    for leaf in 0..leaf_count(shape) {
        let own = leaf_shape(shape, leaf)?.clone();
        match groups.iter_mut().find(|group| group[0].1.dims == own.dims) {
            Some(group) => group.push((leaf, own)),
            None => groups.push(vec![(leaf, own)]),
        }
    }
    Ok(groups)
}

/// Computes the results of a group in one nest.
fn results_of(
    emitter: &mut Emitter<'_>,
    (nest, root): (NestId, &Node),
    group: &[(usize, ArrayShape)],
    destinations: &[Destination],
    part: Part,
    results: &mut [Option<Element>],
) -> Result<()> {
    let dims = group[0].1.dims.clone();
    if dims.contains(&0) {
        return Ok(());
    }
    let mut loops = emitter.loops(nest, &dims, LoopKind::Vector);
    if let Part::Range(begin, end) = part {
        split_units(&mut loops);
        if let Some(first) = loops.first_mut() {
            first.bounds = Some((begin, end));
        }
    }
    let one = dims.iter().all(|&size| size == 1);
    emitter.nest(nest, dims.len(), &loops, &[], &mut |emitter, index, _| {
        let mut elements = Vec::new();
        for (leaf, _) in group {
            let node = Node { leaf: *leaf, index: index.clone(), ..root.clone() };
            elements.push(emitter.element(&node)?.element);
        }
        let at = linear(index, &dims);
        for ((leaf, _), element) in group.iter().zip(elements) {
            match destinations[*leaf] {
                Destination::Memory(base) => {
                    let position = emitter.position(&at);
                    store(emitter.builder, base, position, element);
                    if let Some(learned) = &mut emitter.learned {
                        learned.stores.push((*leaf, at.clone()));
                    }
                }
                Destination::Register if one => results[*leaf] = Some(element),
                Destination::Register => {
                    return Err(Error::internal("an array of several elements in a register"));
                }
            }
        }
        Ok(Vec::new())
    })?;
    Ok(())
}

pub(crate) fn extent(module: &Module, id: InstructionId) -> Result<i64> {
    let look = look(module, id)?;
    let groups = groups(module, id)?;
    let [group] = &groups[..] else { return Ok(1) };
    let dims = &group[0].1.dims;
    if dims.contains(&0) {
        return Ok(1);
    }
    let mut builder = Builder::new("scratch", Linkage::Kernel, None);
    let mut emitter = Emitter::new(&mut builder, module, &look.plan);
    let mut loops = emitter.loops(NestId::Results(0), dims, LoopKind::Vector);
    Ok(split_units(&mut loops))
}

pub(crate) fn in_place(module: &Module, id: InstructionId, operand: usize, result: usize) -> bool {
    let Some(from) = operand_leaf(module, id, operand) else { return false };
    let Ok(to) = leaf_shape(&module[id].shape, result) else { return false };
    let same = from.element_count() == to.element_count()
        && from.element_type.byte_width() == to.element_type.byte_width();
    if !same || groups(module, id).map_or(true, |groups| groups.len() != 1) {
        return false;
    }
    let Ok(look) = look(module, id) else { return false };
    let stores: Vec<&Affine> = look
        .learned
        .stores
        .iter()
        .filter(|store| store.0 == result)
        .map(|store| &store.1)
        .collect();
    let [store] = stores[..] else { return false };
    look.learned.loads.iter().filter(|load| load.0 == operand).all(|load| load.1 == *store)
}

fn operand_leaf(module: &Module, id: InstructionId, leaf: usize) -> Option<&ArrayShape> {
    let mut rest = leaf;
    for number in 0..module[id].operands().len() {
        let shape = module.operand_shape(id, number);
        let count = leaf_count(shape);
        if rest < count {
            return if count == 1 { array(shape).ok() } else { leaf_shape(shape, rest).ok() };
        }
        rest -= count;
    }
    None
}
