//! What the results of an instruction need: nests, each with what it computes and where that goes.

use rxla_base::{Error, Result};
use rxla_hlo::{Dims, InstructionId, Module, Op};
use rxla_kernel::{BinaryOp, Builder, ComparePredicate, Linkage, LoopKind, Value};

use crate::affine::{Index, linear};
use crate::column::{Columns, Shared, columns, tile, tile_length};
use crate::dynamic::update_start;
use crate::emitter::{Emitter, Node, Placed};
use crate::nest::{FEW_UNITS, Loop, Style, restrict_units, split_units};
use crate::plan::{NestId, Plan};
use crate::root::bind;
use crate::scalar::store;
use crate::shapes::{array, leaf_count, leaf_shape};
use crate::trace::{maker, scatter_of, select_and_scatter_of, source, updates_of};
use crate::transpose::crossing;
use crate::window::{Cumulative, cumulative};
use crate::{Destination, Element, Part};

/// A result in the memory of an operand, by leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Alias {
    pub(crate) operand: usize,
    pub(crate) result: usize,
}

/// One nest.
pub(crate) struct Job {
    /// What the nest runs over.
    dims: Dims,
    targets: Vec<Target>,
    kind: Kind,
}

impl Job {
    /// Whether it updates what lies in a result already.
    pub(crate) fn scatters_to(&self, leaf: usize) -> bool {
        match self.kind {
            Kind::Elements => false,
            Kind::Scatter(_) => self.targets.iter().any(|target| target.leaf == leaf),
        }
    }

    /// Whether some results have an element for each row of the nest.
    fn has_rows(&self) -> bool {
        self.targets.iter().any(|target| target.is_of_rows(&self.dims))
    }
}

enum Kind {
    /// Each element for itself.
    Elements,
    /// Updates of what lies in the targets already: a `scatter` or a `select-and-scatter`.
    Scatter(Node),
}

/// A result that a nest computes, or a part of it.
struct Target {
    /// Of all results.
    leaf: usize,
    /// What is computed, index aside.
    node: Node,
    /// The sizes of the result.
    dims: Dims,
    /// For an update in place the `dynamic-update-slice`.
    update: Option<Node>,
}

impl Target {
    /// Whether it has an element for each row of a nest over so many.
    fn is_of_rows(&self, dims: &Dims) -> bool {
        self.update.is_none() && self.dims.len() < dims.len()
    }
}

/// The nests in their order. Results of equal sizes are computed together.
pub(crate) fn jobs(emitter: &Emitter<'_>, root: &Node, aliases: &[Alias]) -> Result<Vec<Job>> {
    let module = emitter.module;
    let mut jobs: Vec<Job> = Vec::new();
    let mut last = Vec::new();
    for leaf in 0..leaf_count(&module[root.id].shape) {
        let node = Node { leaf, ..root.clone() };
        let dims = leaf_shape(&module[root.id].shape, leaf)?.dims.clone();
        let alias = aliases.iter().find(|alias| alias.result == leaf);
        if let Some(alias) = alias
            && let Some(updates) = updates_of(emitter, &node, alias.operand)
        {
            for update in updates {
                let node = emitter.operand(&update, 1, Default::default());
                let own = array(&module[node.id].shape)?.dims.clone();
                let target = Target { leaf, node, dims: dims.clone(), update: Some(update) };
                last.push(Job { dims: own, targets: vec![target], kind: Kind::Elements });
            }
            continue;
        }
        let mut node = node;
        if let Some(scatter) = select_and_scatter_of(emitter, &node) {
            let own = array(module.operand_shape(scatter.id, 1))?.dims.clone();
            let target = Target { leaf, node: scatter.clone(), dims: Dims::new(), update: None };
            node = emitter.operand(&scatter, 2, Default::default());
            last.push(Job { dims: own, targets: vec![target], kind: Kind::Scatter(scatter) });
        } else if let Some(scatter) = scatter_of(emitter, &node) {
            let old = emitter.operand(&scatter, scatter.leaf, Default::default());
            let in_place = alias.is_some_and(|alias| source(emitter, &old) == Some(alias.operand));
            scattered(emitter, &mut last, leaf, &scatter)?;
            if in_place {
                continue;
            }
            // Else the operand is copied first.
            node = old;
        }
        let target = Target { leaf, node, dims: dims.clone(), update: None };
        match jobs.iter_mut().find(|job| job.dims == dims) {
            Some(job) => job.targets.push(target),
            None => jobs.push(Job { dims, targets: vec![target], kind: Kind::Elements }),
        }
    }
    join_rows(emitter, &mut jobs);
    // Other results may read what is about to be overwritten.
    jobs.extend(last);
    Ok(jobs)
}

/// Leaves what reduces rows to a nest that goes through these rows anyway, element by element.
fn join_rows(emitter: &Emitter<'_>, jobs: &mut Vec<Job>) {
    let mut number = 0;
    while number < jobs.len() {
        let nest = rows_of(emitter, &jobs[number]).and_then(|rows| {
            let suits = |other: &Job| other.dims == rows && cumulative_of(emitter, other).is_none();
            jobs.iter().position(suits)
        });
        let Some(nest) = nest else {
            number += 1;
            continue;
        };
        let reductions = std::mem::take(&mut jobs[number].targets);
        jobs[nest].targets.extend(reductions);
        jobs.remove(number);
    }
}

/// The sizes of the array of which a nest reduces rows, if that is all it does, and threads can share them row by row.
fn rows_of(emitter: &Emitter<'_>, job: &Job) -> Option<Dims> {
    let reduced = |target: &Target| {
        let node = maker(emitter, &target.node);
        let Op::Reduce(op) = &emitter.module[node.id].op else { return None };
        let own = !emitter.frames[node.frame].leaves.contains_key(&node.id);
        let inner = op.dimensions.iter().all(|&dimension| dimension >= target.dims.len() as i64);
        let shape = emitter.module.operand_shape(node.id, 0).as_array()?;
        (own && inner).then(|| shape.dims.clone())
    };
    let rows = reduced(job.targets.first()?)?;
    let all = job.targets.iter().all(|target| reduced(target).as_ref() == Some(&rows));
    (all && job.dims.iter().product::<i64>() >= FEW_UNITS).then_some(rows)
}

/// Adds a result to the nest of its `scatter`.
fn scattered(emitter: &Emitter<'_>, jobs: &mut Vec<Job>, leaf: usize, node: &Node) -> Result<()> {
    let module = emitter.module;
    let known = jobs.iter_mut().find(|job| match &job.kind {
        Kind::Scatter(other) => other.id == node.id,
        Kind::Elements => false,
    });
    let target = Target { leaf, node: node.clone(), dims: Dims::new(), update: None };
    match known {
        Some(job) => job.targets.push(target),
        None => {
            let count = module[node.id].operands().len() / 2;
            let dims = array(module.operand_shape(node.id, count + 1))?.dims.clone();
            jobs.push(Job { dims, targets: vec![target], kind: Kind::Scatter(node.clone()) });
        }
    }
    Ok(())
}

fn run_scatter(
    emitter: &mut Emitter<'_>,
    nest: NestId,
    job: &Job,
    node: &Node,
    destinations: &[Destination],
) -> Result<()> {
    for target in &job.targets {
        let mut access = emitter.access(target.leaf, &Default::default(), 0);
        // No load of the operand may come after any store.
        access.nest = usize::MAX;
        if let Some(learned) = &mut emitter.learned {
            learned.stores.push(access);
        }
    }
    let op = match &emitter.module[node.id].op {
        Op::Scatter(op) => op,
        Op::SelectAndScatter(op) => {
            let destination = destinations[job.targets[0].leaf];
            return crate::select_and_scatter::run(emitter, nest, node, op, destination);
        }
        _ => return Err(Error::internal("a scatter that is none")),
    };
    let count = emitter.module[node.id].operands().len() / 2;
    let mut own = Vec::new();
    for k in 0..count {
        // Each of its arrays once: the reducer makes all of them.
        let mut targets = job.targets.iter().filter(|target| target.node.leaf == k);
        match (targets.next(), targets.next()) {
            (Some(target), None) => own.push(destinations[target.leaf]),
            _ => return Err(Error::unimplemented("a `scatter` of which results are left out")),
        }
    }
    crate::scatter::run(emitter, nest, node, op, &own)
}

/// The cumulative reduction that a nest consists of.
fn cumulative_of(emitter: &Emitter<'_>, job: &Job) -> Option<(Node, Cumulative)> {
    let found = job.targets.iter().find_map(|target| {
        let node = maker(emitter, &target.node);
        if emitter.frames[node.frame].leaves.contains_key(&node.id) {
            return None;
        }
        let Op::ReduceWindow(op) = &emitter.module[node.id].op else { return None };
        Some((cumulative(emitter, &node, op)?, node))
    });
    found.map(|(cumulative, node)| (Node { leaf: 0, ..node }, cumulative))
}

/// Which results are updates of operands, and so may be made in place.
pub(crate) fn updates(module: &Module, id: InstructionId) -> Vec<Alias> {
    let mut builder = Builder::new("scratch", Linkage::Kernel, None);
    let plan = Plan::default();
    let mut emitter = Emitter::new(&mut builder, module, &plan);
    let Ok(root) = bind(&mut emitter, id, &[]) else { return Vec::new() };
    let operands = module[id].operands().iter();
    let operands: usize = operands.map(|&operand| leaf_count(&module[operand].shape)).sum();
    let mut aliases: Vec<Alias> = Vec::new();
    for result in 0..leaf_count(&module[id].shape) {
        let node = Node { leaf: result, ..root.clone() };
        let free = |operand: &usize| aliases.iter().all(|alias| alias.operand != *operand);
        let scattered = scatter_of(&emitter, &node)
            .and_then(|node| source(&emitter, &emitter.operand(&node, node.leaf, Index::new())));
        let found = (0..operands).filter(free).find(|&operand| {
            scattered == Some(operand) || updates_of(&emitter, &node, operand).is_some()
        });
        aliases.extend(found.map(|operand| Alias { operand, result }));
    }
    aliases
}

/// How many units a nest can be split into.
pub(crate) fn units(emitter: &mut Emitter<'_>, job: &Job) -> i64 {
    let whole = match &job.kind {
        Kind::Elements => job.dims.contains(&0),
        Kind::Scatter(_) => true,
    };
    if whole {
        return 1;
    }
    let mut loops = loops_of(emitter, NestId::Results(0), &job.dims);
    if let Some((_, cumulative)) = cumulative_of(emitter, job) {
        return cumulative.units(emitter, NestId::Results(0), loops).unwrap_or(1);
    }
    if columns_of(emitter, job, &loops).is_some() {
        let columns = loops.pop().map_or(1, |last| last.size());
        let width = tile(columns, Shared::of(&loops));
        return if loops.is_empty() {
            (columns + width - 1) / width
        } else {
            split_units(&mut loops).count
        };
    }
    match crossing(emitter, NestId::Results(0), &loops) {
        Some(crossing) => crossing.units(&loops),
        None => split_units(&mut loops).count,
    }
}

/// The loops over the elements of a nest.
fn loops_of(emitter: &mut Emitter<'_>, nest: NestId, dims: &Dims) -> Vec<Loop> {
    // Rows that are kept one after the other cannot be lanes.
    let kind = if emitter.keeps_rows_of(dims) { LoopKind::Sequential } else { LoopKind::Vector };
    emitter.loops(nest, dims, kind)
}

/// Computes and stores what a nest computes.
pub(crate) fn run_job(
    emitter: &mut Emitter<'_>,
    nest: NestId,
    job: &Job,
    destinations: &[Destination],
    part: Part,
    results: &mut [Option<Element>],
) -> Result<()> {
    let dims = &job.dims;
    if dims.contains(&0) {
        return Ok(());
    }
    if let Kind::Scatter(node) = &job.kind {
        return once(emitter, part, &mut |emitter| {
            run_scatter(emitter, nest, job, node, destinations)
        });
    }
    let mut loops = loops_of(emitter, nest, dims);
    let mut starts = Vec::new();
    for target in &job.targets {
        starts.push(match &target.update {
            Some(update) => Some(update_start(emitter, update)?),
            None => None,
        });
    }
    let mut compute = |emitter: &mut Emitter<'_>, index: &Index, stores: &mut Vec<Store>| {
        compute_targets(emitter, job, &starts, index, destinations, results, stores)
    };
    let mut finish = |emitter: &mut Emitter<'_>, index: &Index| {
        let mut stores = Vec::new();
        compute(emitter, index, &mut stores)?;
        run_stores(emitter, stores);
        Ok(())
    };
    if let Some((node, cumulative)) = cumulative_of(emitter, job) {
        let Op::ReduceWindow(op) = &emitter.module[node.id].op else {
            return Err(Error::internal("a window that is none"));
        };
        let nest = (nest, dims.len());
        // One line is one unit.
        if dims.iter().filter(|&&size| size > 1).count() > 1 {
            return cumulative.run(emitter, nest, &node, op, loops, part, &mut finish);
        }
        return once(emitter, part, &mut |emitter| {
            cumulative.run(emitter, nest, &node, op, loops.clone(), Part::All, &mut finish)
        });
    }
    if let Some(columns) = columns_of(emitter, job, &loops) {
        return run_columns(emitter, (nest, dims.len()), loops, &columns, part, &mut finish);
    }
    if let Some(crossing) = crossing(emitter, nest, &loops) {
        let range = match part {
            Part::All | Part::Tile => None,
            Part::Range(begin, end) => Some((begin, end)),
        };
        return crossing.run(emitter, (nest, dims.len()), loops, range, &mut finish);
    }
    if let Part::Range(begin, end) = part {
        restrict_units(emitter.builder, &mut loops, (begin, end));
    }
    let written_out = loops.iter().rev().take_while(|each| each.style == Style::Straight).count();
    let (around, copies) = loops.split_at(loops.len() - written_out);
    emitter.nest(nest, dims.len(), around, &[], &mut |emitter, index, _| {
        let mut stores = Vec::new();
        emitter.nest_inside(nest, index.clone(), copies, &[], &mut |emitter, index, _| {
            compute(emitter, index, &mut stores)?;
            Ok(Vec::new())
        })?;
        run_stores(emitter, stores);
        Ok(Vec::new())
    })?;
    Ok(())
}

/// Work that cannot be divided is the piece's that begins with unit 0.
fn once(
    emitter: &mut Emitter<'_>,
    part: Part,
    run: &mut dyn FnMut(&mut Emitter<'_>) -> Result<()>,
) -> Result<()> {
    let Part::Range(begin, _) = part else { return run(emitter) };
    let zero = emitter.builder.index(0);
    let first = emitter.builder.compare(ComparePredicate::Eq, begin, zero);
    emitter.if_else(first, |emitter| run(emitter).map(|()| Vec::new()), |_| Ok(Vec::new()))?;
    Ok(())
}

/// The reductions along columns that a nest consists of, if its loops suit them.
fn columns_of(emitter: &Emitter<'_>, job: &Job, loops: &[Loop]) -> Option<Columns> {
    let last = loops.last()?;
    let suits = emitter.learned.is_none()
        && last.style != Style::Straight
        && last.cuts.is_empty()
        && !job.has_rows();
    if !suits {
        return None;
    }
    let roots: Vec<Node> = job.targets.iter().map(|target| target.node.clone()).collect();
    columns(emitter, &roots, &job.dims)
}

/// Tile by tile of columns.
fn run_columns(
    emitter: &mut Emitter<'_>,
    (nest, rank): (NestId, usize),
    mut loops: Vec<Loop>,
    columns: &Columns,
    part: Part,
    finish: &mut dyn FnMut(&mut Emitter<'_>, &Index) -> Result<()>,
) -> Result<()> {
    let last = loops.pop().expect("the columns");
    let count = last.size();
    let width = tile(count, Shared::of(&loops));
    let mut range = None;
    if let Part::Range(begin, end) = part {
        if loops.is_empty() {
            let width = emitter.builder.index(width);
            let first = emitter.builder.mul(begin, width);
            let end = emitter.builder.mul(end, width);
            let most = emitter.builder.index(count);
            range = Some((first, emitter.builder.binary(BinaryOp::SMin, end, most)));
        } else {
            restrict_units(emitter.builder, &mut loops, (begin, end));
        }
    }
    let whole = count - count % width;
    emitter.nest(nest, rank, &loops, &[], &mut |emitter, index, _| {
        let (low, high) = match range {
            Some(range) => range,
            None => (emitter.builder.index(0), emitter.builder.index(whole)),
        };
        if whole > 0 || range.is_some() {
            let bounds = (low, high, width);
            emitter.for_loop(LoopKind::Sequential, bounds, &[], |emitter, first, _| {
                // Only a piece may end with a tile that is not whole.
                let length = match range {
                    Some(_) if whole < count => tile_length(emitter.builder, first, width, count),
                    Some(_) | None => emitter.builder.index(width),
                };
                columns.run(emitter, nest, index, &last, (first, length, width), finish)?;
                Ok(Vec::new())
            })?;
        }
        if whole < count && range.is_none() {
            let rest = (emitter.builder.index(whole), emitter.builder.index(count - whole), width);
            columns.run(emitter, nest, index, &last, rest, finish)?;
        }
        Ok(Vec::new())
    })?;
    Ok(())
}

/// An element of a result and where it goes.
struct Store {
    leaf: usize,
    base: Value,
    position: Value,
    element: Element,
}

/// Stores elements, result by result: those of a row that is written out stand together then, after all loads, and
/// rows can be lanes.
fn run_stores(emitter: &mut Emitter<'_>, mut stores: Vec<Store>) {
    stores.sort_by_key(|store| store.leaf);
    for Store { base, position, element, .. } in stores {
        store(emitter.builder, base, position, element);
    }
}

/// Computes the elements at an index. Only then are they to be stored: a result may take the place of what another
/// is computed from.
fn compute_targets(
    emitter: &mut Emitter<'_>,
    job: &Job,
    starts: &[Option<Index>],
    index: &Index,
    destinations: &[Destination],
    results: &mut [Option<Element>],
    stores: &mut Vec<Store>,
) -> Result<()> {
    let one = job.dims.iter().all(|&size| size == 1);
    let mut elements = Vec::new();
    let (of_rows, targets): (Vec<_>, Vec<_>) =
        job.targets.iter().zip(starts).partition(|(target, _)| target.is_of_rows(&job.dims));
    for (target, _) in of_rows {
        store_of_row(emitter, target, index, destinations)?;
    }
    for (target, _) in &targets {
        let shape = leaf_shape(&emitter.module[target.node.id].shape, target.node.leaf)?;
        // A scalar is the same everywhere.
        let index = if shape.rank() == 0 { Index::new() } else { index.clone() };
        let node = Node { index, ..target.node.clone() };
        elements.push(emitter.element(&node)?.element);
    }
    for ((target, start), element) in targets.into_iter().zip(elements) {
        let base = match destinations[target.leaf] {
            Destination::Memory(base) => base,
            Destination::Register if one => {
                results[target.leaf] = Some(element);
                continue;
            }
            Destination::Register => {
                return Err(Error::internal("an array of several elements in a register"));
            }
        };
        let at = match start {
            Some(start) => index.iter().zip(start).map(|(own, start)| own.plus(start)).collect(),
            None => index.clone(),
        };
        let at = linear(&at, &target.dims);
        let position = emitter.position(&at);
        stores.push(Store { leaf: target.leaf, base, position, element });
        let width = width_of(emitter.builder, element);
        let access = emitter.access(target.leaf, &at, width);
        if let Some(learned) = &mut emitter.learned {
            learned.stores.push(access);
        }
    }
    Ok(())
}

/// Bytes of an element, of a part of which nothing is known.
fn width_of(b: &Builder, element: Element) -> usize {
    match element {
        Element::One(value) => b.ty(value).scalar.byte_width(),
        _ => 0,
    }
}

/// Leaves that no value has, from here downwards, mark which elements of a row have been stored.
const STORED: usize = usize::MAX - 2;

/// Computes and stores what a row has one of, before what is inside of the row.
fn store_of_row(
    emitter: &mut Emitter<'_>,
    target: &Target,
    index: &Index,
    destinations: &[Destination],
) -> Result<()> {
    let index: Index = index[..target.dims.len()].iter().cloned().collect();
    let node = Node { index, ..target.node.clone() };
    let mark = Node { leaf: STORED - target.leaf, ..node.clone() };
    if emitter.known(&mark).is_some() {
        return Ok(());
    }
    let Destination::Memory(base) = destinations[target.leaf] else {
        return Err(Error::internal("an array of several elements in a register"));
    };
    let Placed { element, depth } = emitter.element(&node)?;
    let at = linear(&node.index, &target.dims);
    let position = emitter.position(&at);
    let depth = emitter.placed_at(depth.max(emitter.depth_of(&at)));
    emitter.at(depth, |b| store(b, base, position, element));
    emitter.remember(mark, Placed { element, depth });
    let mut access = emitter.access(target.leaf, &at, width_of(emitter.builder, element));
    // Elements of other rows may be loaded after it.
    access.nest = usize::MAX;
    if let Some(learned) = &mut emitter.learned {
        learned.stores.push(access);
    }
    Ok(())
}
