//! An instruction as a whole: its operands bound, its results computed and stored.

use rustc_hash::FxHashMap;
use rxla_base::{Error, Result};
use rxla_hlo::{ArrayShape, InstructionId, Module, Op};
use rxla_kernel::maths::takes_turns;
use rxla_kernel::{self as kernel, Builder, Linkage, Statement, Type, Value};

use crate::affine::Index;
use crate::cost::cost_of;
use crate::emitter::{Emitter, Frame, Leaf, Node};
use crate::job::{Alias, jobs, run_job, units, updates};
use crate::nest::FEW_UNITS;
use crate::plan::{Access, Learned, NestId, Plan, across};
use crate::shapes::{array, leaf_count, leaf_shape};
use crate::{Cost, Destination, Element, Part, Source, Updates, keep, product, rng, scalar};

/// What a run into a scratch function showed.
pub(crate) struct Look {
    pub(crate) plan: Plan,
    pub(crate) cost: Cost,
    learned: Learned,
}

/// Splits are looked for so many times; what is left then is divided for.
const MOST_LOOKS: usize = 6;

pub(crate) fn look(module: &Module, id: InstructionId, aliases: &[Alias]) -> Result<Look> {
    let mut plan = Plan::default();
    for round in 0.. {
        let (learned, function) = scratch(module, id, &plan, aliases)?;
        if round < MOST_LOOKS
            && let Some(next) = plan.split(&learned)
        {
            plan = next;
            continue;
        }
        let mut plan = plan.finished(&learned);
        plan.body_values = function.types.len() as i64;
        function.body.walk(&mut |statement| {
            plan.body_sines += i64::from(is_sine(statement));
            plan.body_functions += i64::from(is_function(statement));
        });
        plan.store_width = learned.stores.iter().map(|store| store.width).min().unwrap_or(0);
        let cost = cost_of(module, id, &function);
        return Ok(Look { plan, cost, learned });
    }
    unreachable!("the loop ends by itself")
}

fn is_sine(statement: &Statement) -> bool {
    let Statement::Let { op: kernel::Op::Unary(op, _), .. } = statement else { return false };
    op.is_maths() && !takes_turns(*op)
}

fn is_function(statement: &Statement) -> bool {
    match statement {
        Statement::Let { op: kernel::Op::Unary(op, _), .. } => op.is_maths(),
        Statement::Let { op: kernel::Op::Binary(op, ..), .. } => op.is_maths(),
        _ => false,
    }
}

fn scratch(
    module: &Module,
    id: InstructionId,
    plan: &Plan,
    aliases: &[Alias],
) -> Result<(Learned, rxla_kernel::Function)> {
    let mut builder = Builder::new("scratch", Linkage::Kernel, None);
    let mut memory =
        |count: usize| -> Vec<Value> { (0..count).map(|_| builder.parameter(Type::PTR)).collect() };
    let sources: usize =
        (0..module[id].operands().len()).map(|k| leaf_count(module.operand_shape(id, k))).sum();
    let sources: Vec<Source> = memory(sources).into_iter().map(Source::Memory).collect();
    let results = memory(leaf_count(&module[id].shape));
    let mut results: Vec<Destination> = results.into_iter().map(Destination::Memory).collect();
    for alias in aliases {
        let Source::Memory(address) = sources[alias.operand] else { continue };
        results[alias.result] = Destination::Memory(address);
    }
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
    let mut look = look(module, id, &aliases(operands, destinations))?;
    look.plan.runs_often = part == Part::Tile;
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
    // What has no results would be computed by no loop at all, effects included.
    if count == 0 || module[id].op.has_side_effect() {
        let name = module[id].op.name();
        return Err(Error::unimplemented(format!("a kernel for the effects of `{name}`")));
    }
    if destinations.len() != count {
        return Err(Error::internal(format!(
            "`{}` has {count} results, not {}",
            module[id].name(),
            destinations.len()
        )));
    }
    let sources: usize = module[id].operands().iter().map(|&o| leaf_count(&module[o].shape)).sum();
    if operands.len() != sources {
        return Err(Error::internal(format!(
            "`{}` has {sources} operands, not {}",
            module[id].name(),
            operands.len()
        )));
    }
    if let Op::RngBitGenerator(op) = &module[id].op {
        let room = Room::new(emitter.builder, destinations, |_| true);
        rng::emit(emitter.builder, module, id, op, operands, &room.destinations, part)?;
        return room.elements(emitter, id, vec![None; count]);
    }
    if let Some(product) = product::of(module, id) {
        return Ok(vec![product::emit(
            emitter.builder,
            &product,
            operands,
            destinations[0],
            part,
        )?]);
    }
    let root = bind(emitter, id, operands)?;
    let aliases = aliases(operands, destinations);
    let mut results: Vec<Option<Element>> = vec![None; count];
    let jobs = jobs(emitter, &root, &aliases)?;
    let scattered = |leaf: usize| jobs.iter().any(|job| job.scatters_to(leaf));
    let room = Room::new(emitter.builder, destinations, scattered);
    for (number, job) in jobs.iter().enumerate() {
        let parted = if number == 0 { part } else { Part::All };
        emitter.nest_number = number;
        run_job(emitter, NestId::Results(number), job, &room.destinations, parted, &mut results)?;
    }
    room.elements(emitter, id, results)
}

/// Memory for results that go to registers but are made in memory.
struct Room {
    destinations: Vec<Destination>,
    /// Results and where they are read from.
    made: Vec<(usize, Value)>,
}

impl Room {
    fn new(
        builder: &mut Builder,
        destinations: &[Destination],
        is_made_in_memory: impl Fn(usize) -> bool,
    ) -> Room {
        let mut room = Room { destinations: destinations.to_vec(), made: Vec::new() };
        for (leaf, destination) in room.destinations.iter_mut().enumerate() {
            if *destination == Destination::Register && is_made_in_memory(leaf) {
                let memory = builder.alloca(16, 16);
                *destination = Destination::Memory(memory);
                room.made.push((leaf, memory));
            }
        }
        room
    }

    /// The results in registers, with those that were made in memory.
    fn elements(
        self,
        emitter: &mut Emitter<'_>,
        id: InstructionId,
        mut results: Vec<Option<Element>>,
    ) -> Result<Vec<Option<Element>>> {
        for (leaf, memory) in self.made {
            let ty = leaf_shape(&emitter.module[id].shape, leaf)?.element_type;
            let first = emitter.builder.index(0);
            results[leaf] = Some(scalar::load(emitter.builder, ty, memory, first));
        }
        Ok(results)
    }
}

/// The results that lie where an operand lies.
fn aliases(operands: &[Source], destinations: &[Destination]) -> Vec<Alias> {
    let mut aliases = Vec::new();
    for (result, destination) in destinations.iter().enumerate() {
        let Destination::Memory(address) = destination else { continue };
        let same = |source: &Source| *source == Source::Memory(*address);
        if let Some(operand) = operands.iter().position(same) {
            aliases.push(Alias { operand, result });
        }
    }
    aliases
}

/// Makes the frame of the instruction, and says what is kept in it; gives the node of its result.
pub(crate) fn bind(
    emitter: &mut Emitter<'_>,
    id: InstructionId,
    operands: &[Source],
) -> Result<Node> {
    let module = emitter.module;
    let mut leaves: FxHashMap<InstructionId, Leaf> = FxHashMap::default();
    let mut first = 0;
    let parameters = match &module[id].op {
        Op::Fusion(fusion) => module[fusion.calls].parameters(),
        _ => module[id].operands(),
    };
    for number in 0..module[id].operands().len() {
        let count = leaf_count(module.operand_shape(id, number));
        let own = operands.get(first..first + count).unwrap_or_default();
        leaves.insert(parameters[number], Leaf::Sources(own.to_vec(), first));
        first += count;
    }
    let depth = emitter.base;
    emitter.frames.push(Frame { leaves, depth });
    let frame = emitter.frames.len() - 1;
    emitter.keeps = keep::find(module, id, frame);
    let id = match &module[id].op {
        Op::Fusion(fusion) => module[fusion.calls].root(),
        _ => {
            emitter.alone = Some(id);
            id
        }
    };
    Ok(Node { frame, id, leaf: 0, index: Index::new() })
}

pub(crate) fn cost(module: &Module, id: InstructionId, kind: Updates) -> Result<Cost> {
    let aliases = match kind {
        Updates::InPlace => updates(module, id),
        Updates::Copied => Vec::new(),
    };
    Ok(look(module, id, &aliases)?.cost)
}

pub(crate) fn extent(module: &Module, id: InstructionId, kind: Updates) -> Result<i64> {
    let look = look(module, id, &[])?;
    if let Op::RngBitGenerator(op) = &module[id].op {
        return rng::extent(module, id, op);
    }
    if let Some(product) = product::of(module, id) {
        return Ok(product::extent(&product));
    }
    // Who updates in place has other work to divide than who copies first.
    if kind == Updates::InPlace && !updates(module, id).is_empty() {
        return Ok(1);
    }
    let mut builder = Builder::new("scratch", Linkage::Kernel, None);
    let mut emitter = Emitter::new(&mut builder, module, &look.plan);
    let root = bind(&mut emitter, id, &[])?;
    let jobs = jobs(&emitter, &root, &[])?;
    let [job] = &jobs[..] else { return Ok(1) };
    Ok(units(&mut emitter, job))
}

/// Which results may lie where operands lie: asked often for one instruction, so what was learned is
/// kept.
pub struct Placement<'m> {
    module: &'m Module,
    id: InstructionId,
    /// Updates of operands.
    updates: Vec<Alias>,
    /// What was learned with no update in place, and with all of them.
    apart: Option<Learned>,
    updated: Option<Learned>,
}

impl<'m> Placement<'m> {
    pub fn new(module: &'m Module, id: InstructionId) -> Placement<'m> {
        let updates = updates(module, id);
        let learned = |aliases: &[Alias]| look(module, id, aliases).ok().map(|look| look.learned);
        let apart = learned(&[]);
        let updated = if updates.is_empty() { None } else { learned(&updates) };
        Placement { module, id, updates, apart, updated }
    }

    /// Nothing of the operand may be read once the element that takes its place is written.
    pub fn allows(&self, operand: usize, result: usize) -> bool {
        let (module, id) = (self.module, self.id);
        let Some(from) = operand_leaf(module, id, operand) else { return false };
        let Ok(to) = leaf_shape(&module[id].shape, result) else { return false };
        let same = from.element_count() == to.element_count()
            && from.element_type.byte_width() == to.element_type.byte_width();
        // The state of a generator is read by each piece of the work and written by one.
        if !same || matches!(module[id].op, Op::RngBitGenerator(_)) {
            return false;
        }
        let own = Alias { operand, result };
        let fits = |learned: &Option<Learned>| {
            learned.as_ref().is_some_and(|learned| reads_before_writes(self, learned, own))
        };
        // Other results may be made in place too, or not: they are computed at another time then.
        if self.updates.is_empty() {
            return fits(&self.apart);
        }
        if self.updates.iter().all(|update| update.result != result) {
            return fits(&self.apart) && fits(&self.updated);
        }
        let mut all = vec![own];
        let other = |other: &&Alias| other.operand != operand && other.result != result;
        all.extend(self.updates.iter().filter(other));
        let fits = |aliases: &[Alias]| {
            look(module, id, aliases)
                .is_ok_and(|look| reads_before_writes(self, &look.learned, own))
        };
        fits(&[own]) && (all.len() == 1 || fits(&all))
    }
}

pub(crate) fn in_place(module: &Module, id: InstructionId, operand: usize, result: usize) -> bool {
    Placement::new(module, id).allows(operand, result)
}

/// Whether each element of an operand is read only for the element that takes its place.
fn reads_before_writes(placement: &Placement<'_>, learned: &Learned, own: Alias) -> bool {
    // The first store: what later ones (updates of updates) would read is written by then.
    let of_result = |access: &&Access| access.leaf == own.result;
    let Some(store) = learned.stores.iter().find(of_result) else {
        let shape = leaf_shape(&placement.module[placement.id].shape, own.result);
        return shape.is_ok_and(|shape| shape.element_count() == Some(0));
    };
    let of_operand = |access: &&Access| access.leaf == own.operand;
    let mut loads = learned.loads.iter().filter(of_operand);
    loads.all(|load| {
        load.nest == store.nest
            && (load.position == store.position || reads_its_row(learned, load, store))
    })
}

/// Whether a load stands outside of the inner loops of the nest, and goes no further than the elements
/// that these write: then all of it is read before any is written, and by the same thread.
fn reads_its_row(learned: &Learned, load: &Access, store: &Access) -> bool {
    let mut strides = store.strides.clone();
    strides.sort_unstable();
    let (count, open) = (strides.len(), load.open);
    // Blocks of turned nests pass by a row several times.
    if open >= count || across(NestId::Results(store.nest), count, learned).is_some() {
        return false;
    }
    // The result is written in order, so that rows do not overlap.
    let mut size = 1;
    let mut row = 1;
    for (place, &(position, stride, last)) in strides.iter().enumerate().rev() {
        if position != place || stride != size {
            return false;
        }
        size *= last + 1;
        if place == open {
            row = size;
        }
    }
    let mut outer = load.strides.clone();
    outer.sort_unstable();
    // With fewer rows threads would share them.
    outer == strides[..open]
        && store.rest == (0, 0)
        && (0 <= load.rest.0 && load.rest.1 < row)
        && size / row >= FEW_UNITS
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
