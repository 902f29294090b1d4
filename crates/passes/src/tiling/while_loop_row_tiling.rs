//! `while-loop-row-tiling`: a loop over large arrays whose rows have nothing to do with each other runs all
//! its steps for some rows, then for the next. XLA has no pass of this kind.
//!
//! Many simulations, solvers or environments side by side, as `vmap` makes them, are such: step by step
//! each array comes from memory and goes back there, and the threads wait for each other after each; block
//! by block all stays in the first cache, and the blocks are shared out once. What a row becomes is computed
//! by the same ops as before; blocks are divided by sizes alone. All have as many rows, so that they are one
//! program; where those do not add up, the last two have some in common.
//!
//! Rows are found from what is read of the loop, back over everything that it is computed from
//! (`loop_rows.rs`). What all rows have in common, such as the number of the step, each block computes
//! for itself, so it has to be small.

use rustc_hash::FxHashMap;
use rxla_base::Result;
use rxla_hlo::op::Reduce;
use rxla_hlo::{BinaryKind, InstructionId, Module, Op};

use super::axes::{Axes, Factor, tiled, whole};
use super::body::{Body, Iterations, binary, is_independent, number, truth};
use super::ending::Ending;
use super::loop_rows::{self, Rows};
use super::tile::{Tile, is_room, parts, room};
use crate::control::carried::{self, Loop, element};
use crate::effects::{Effects, unfused_computations};
use crate::pass::{Context, Pass};
use crate::simplify::call_inliner::MAX_INSTRUCTIONS;
use crate::view;

pub struct WhileLoopRowTiling;

/// Steps from which on it pays.
const FEWEST_STEPS: i32 = 4;
/// As many are taken for granted where the rows tell.
const SUPPOSED_STEPS: u64 = 16;
/// Elements that all steps compute together: for less, blocks are not worth their loop.
const LEAST_WORK: i64 = 1 << 18;
/// What the steps leave to each other for one block: half of a first cache.
const BLOCK_BYTES: i64 = 16 << 10;
/// As much may it be if fewer rows would not fill vectors, or be too little of an array to come from memory in time.
const MOST_BYTES: i64 = 64 << 10;
/// Elements of a vector.
const LANES: i64 = 16;
/// Blocks that there are to be, so that many threads have their share.
const BLOCKS: i64 = 16;
/// With fewer blocks, which may be fewer than threads, a step has to compute so much for each.
const FEWEST_BLOCKS: i64 = 4;
const MUCH_WORK: i64 = 1 << 13;
/// Bytes that each step reads or writes of an array that steps go through, for it to come from memory in time: each
/// step begins at another page.
const SEGMENT_BYTES: i64 = 1 << 10;
/// Elements that a step computes for a block: fewer are no work beside what the step costs itself.
const STEP_WORK: i64 = 1 << 10;

impl Pass for WhileLoopRowTiling {
    fn name(&self) -> &'static str {
        "while-loop-row-tiling"
    }

    fn class(&self) -> &'static str {
        "WhileLoopRowTiling"
    }

    fn run(&self, module: &mut Module, cx: &Context) -> Result<u64> {
        let mut made = 0;
        let effects = Effects::of(module);
        let computations = unfused_computations(module);
        // What is in the body of a loop that is shared out runs beside others already.
        let tiles = carried::bodies(module, &computations, |site| is_independent(module, site));
        for computation in computations {
            if tiles.contains(&computation) {
                continue;
            }
            for site in module.post_order(computation) {
                if module.instruction_capacity() > MAX_INSTRUCTIONS || effects.has(module, site) {
                    continue;
                }
                let Some(found) = carried::find(module, site) else { continue };
                let Some((rows, ending)) = rows(module, &found) else { continue };
                if !cx.spend() {
                    return Ok(made);
                }
                build(module, &found, &rows, &ending);
                made += 1;
            }
        }
        Ok(made)
    }
}

/// How a loop is cut, if that pays.
fn rows(m: &Module, found: &Loop) -> Option<(Rows, Ending)> {
    let apart = |&user: &InstructionId| element(m, user, found.site).is_some();
    if view::is_root(m, found.site) || !m[found.site].users().iter().all(apart) {
        return None;
    }
    let ending = Ending::of(m, found)?;
    let steps = ending.counter().map_or(SUPPOSED_STEPS, |counter| counter.times);
    let steps = i64::from(i32::try_from(steps).ok().filter(|&steps| steps >= FEWEST_STEPS)?);
    let suits = |rows: &Rows| {
        let work = rows.work(m).saturating_mul(rows.count).saturating_mul(steps);
        let (size, _) = division(m, found, rows);
        // Those with rows of their own only.
        let blocks = rows.count / size;
        let enough = blocks >= FEWEST_BLOCKS || (blocks > 1 && size * rows.work(m) >= MUCH_WORK);
        rows.count <= i64::from(i32::MAX)
            && work >= LEAST_WORK
            && enough
            && size * rows.bytes(m, found) <= MOST_BYTES
    };
    let rows = loop_rows::find(m, found, &ending, suits)?;
    Some((rows, ending))
}

/// Rows of a block, and how many blocks.
fn division(m: &Module, found: &Loop, rows: &Rows) -> (i64, i64) {
    // Rows side by side fill vectors where they are narrow.
    let lanes = if rows.narrowest(m, found) < LANES { LANES } else { 1 };
    let segment = rows.segment(m, found).map_or(0, |segment| SEGMENT_BYTES / segment.max(1));
    let fewest = (STEP_WORK / rows.work(m).max(1)).max(2 * lanes).max(segment);
    let most = BLOCK_BYTES / rows.bytes(m, found).max(1);
    let filled = |size: i64| (size + lanes - 1) / lanes * lanes;
    let most = filled((rows.count / BLOCKS).min(most).max(fewest));
    let parts = |number: i64| (rows.count + number - 1) / number;
    // So many blocks have as little in common as they can.
    let size = filled(parts(parts(most))).min(rows.count);
    (size, parts(size))
}

/// Puts loops over blocks in place of what is read of a loop.
fn build(m: &mut Module, found: &Loop, rows: &Rows, ending: &Ending) {
    let outside = m[found.site].parent();
    let users: Vec<(InstructionId, usize)> = m[found.site]
        .users()
        .iter()
        .filter_map(|&user| Some((user, element(m, user, found.site)?)))
        .collect();
    let mut outputs: Vec<Output> = Vec::new();
    for &(user, index) in &users {
        if found.passes_through(m, index) || outputs.iter().any(|output| output.index == index) {
            continue;
        }
        let axes = rows.state[&index].clone();
        let array = match loop_rows::is_record(m, found, index, &axes) {
            true => found.initial(m, index).expect("it was asked for"),
            false => room(m, outside, user, &parts(&axes)),
        };
        outputs.push(Output { index, axes, array });
    }
    run(m, found, rows, ending, &mut outputs);
    for (user, index) in users {
        let value = match outputs.iter().find(|output| output.index == index) {
            None => found.initial(m, index).expect("it was asked for"),
            Some(output) => {
                let shape = m[user].shape.clone();
                match m[output.array].shape.compatible(&shape) {
                    true => output.array,
                    false => {
                        let op = Op::from(rxla_hlo::op::Reshape::default());
                        m.add_like(user, op, shape, &[output.array])
                    }
                }
            }
        };
        m.replace_all_uses(user, value);
    }
}

/// What is read of a loop, and where it is put together.
struct Output {
    index: usize,
    axes: Axes,
    array: InstructionId,
}

/// The loop over blocks.
fn run(m: &mut Module, found: &Loop, rows: &Rows, ending: &Ending, outputs: &mut [Output]) {
    let (size, blocks) = division(m, found, rows);
    let outside = m[found.site].parent();
    let zero = number(m, outside, 0);
    let mut outer = Body::new(m, zero);
    let carried: Vec<(usize, InstructionId)> =
        outputs.iter().map(|output| outer.carry(m, output.array)).collect();
    let middle = outer.computation;
    let number_of_rows = number(m, middle, size);
    let mut row = binary(m, middle, BinaryKind::Multiply, outer.number(), number_of_rows);
    if size * blocks > rows.count {
        // The last block has rows of the one before it, too, of which both make the same.
        let last = number(m, middle, rows.count - size);
        row = binary(m, middle, BinaryKind::Minimum, row, last);
    }
    let mut tile = Tile::new(m, vec![outer], (1, row), (size, row));
    let records = outputs.iter().zip(&carried);
    let records = records
        .filter(|(output, _)| loop_rows::is_record(tile.m, found, output.index, &output.axes))
        .map(|(output, &(_, array))| (output.index, array))
        .collect();
    let results = steps(&mut tile, found, rows, ending, &records);
    let mut next = Vec::new();
    for (output, &(place, array)) in outputs.iter().zip(&carried) {
        let result = results[&output.index];
        let result = match records.contains_key(&output.index) {
            true => result,
            false => tile.put(array, result, &output.axes),
        };
        next.push((place, result));
    }
    let outer = tile.bodies.pop().expect("the outer loop's body");
    let results = outer.close(m, outside, &next, Iterations::Independent(blocks));
    for (output, (place, _)) in outputs.iter_mut().zip(carried) {
        output.array = results[place];
    }
}

/// All steps for one block: the elements of the state at the end. What is a record is one for all blocks,
/// and each writes its rows into it.
fn steps(
    block: &mut Tile<'_>,
    found: &Loop,
    rows: &Rows,
    ending: &Ending,
    records: &FxHashMap<usize, InstructionId>,
) -> FxHashMap<usize, InstructionId> {
    let middle = block.computation();
    let mut state: Vec<(usize, &Axes)> = rows.state.iter().map(|(&k, axes)| (k, axes)).collect();
    state.sort_by_key(|&(index, _)| index);
    let mut initial = Vec::new();
    for &(index, axes) in &state {
        let value = match records.get(&index) {
            Some(&record) => record,
            None => {
                let value = found.initial(block.m, index).expect("it was asked for");
                start(block, value, axes)
            }
        };
        initial.push((index, value));
    }
    let order = block.m.post_order(found.body);
    let given = given(block, found, rows, &order);
    let zero = number(block.m, middle, 0);
    let mut inner = Body::new(block.m, zero);
    let mut places: FxHashMap<usize, (usize, InstructionId)> = FxHashMap::default();
    for (index, value) in initial {
        // The loop has its own counter from zero by ones.
        let is_number = ending.counter().is_some_and(|counter| {
            index == counter.index && (counter.start, counter.step) == (0, 1)
        });
        if is_number && block.m[value].shape == block.m[inner.number()].shape {
            places.insert(index, (0, inner.number()));
        } else {
            places.insert(index, inner.carry(block.m, value));
        }
    }
    // A step more than rows need does nothing, and the step itself knows which rows go on.
    let more = match ending {
        Ending::Counted(_) => None,
        Ending::Rows(_) => {
            let first = truth(block.m, middle, true);
            Some(inner.carry(block.m, first))
        }
    };
    let row = inner.import(block.m, block.row);
    let outer = block.bodies.pop().expect("the outer loop's body");
    let tile = Tile::new(block.m, vec![outer, inner], (1, row), (block.rows, row));
    let mut records_at = FxHashMap::default();
    for &index in records.keys() {
        let value = tile.m[tile.m[found.body].root()].operands()[index];
        records_at.insert(value, index);
    }
    let made = Made::default();
    let mut step = Step { tile, found, places: &places, records: records_at, given, made };
    for id in order {
        for axes in rows.wanted.get(&id).into_iter().flatten() {
            let value = step.value(id, axes);
            step.made.insert((id, axes.clone()), value);
        }
    }
    let Step { tile, made, .. } = step;
    let mut bodies = tile.bodies;
    let inner = bodies.pop().expect("the inner loop's body");
    block.bodies = bodies;
    let root = block.m[found.body].root();
    let next = state.iter().filter(|(index, _)| places[index].0 != 0).map(|&(index, axes)| {
        let value = block.m[root].operands()[index];
        (places[&index].0, made[&(value, axes.clone())])
    });
    let mut next: Vec<(usize, InstructionId)> = next.collect();
    let iterations = match ending {
        Ending::Counted(counter) => {
            Iterations::Ordered(i64::try_from(counter.times).expect("it was compared with a bound"))
        }
        Ending::Rows(going) => {
            let (place, _) = more.expect("the loop asks for it");
            let Op::Reduce(any) = &block.m[block.m[found.condition].root()].op else {
                unreachable!("the condition asks for any row")
            };
            let axes = &rows.wanted[going][0];
            let dimensions = (0..axes.len() as i64).collect();
            let op = Reduce { dimensions, to_apply: any.to_apply };
            let none = truth(block.m, inner.computation, false);
            let shape = block.m[none].shape.clone();
            let operands = [made[&(*going, axes.clone())], none];
            let any =
                block.m.add_instruction(inner.computation, "any", op.into(), shape, &operands);
            next.push((place, any));
            Iterations::While(place)
        }
    };
    let results = inner.close(block.m, middle, &next, iterations);
    places.into_iter().map(|(index, (place, _))| (index, results[place])).collect()
}

/// What an element of the state is before the first step.
fn start(block: &mut Tile<'_>, value: InstructionId, axes: &Axes) -> InstructionId {
    if let Some(scalar) = view::broadcast_scalar(block.m, value) {
        let scalar = block.read(scalar, &Axes::new());
        return block.like(value, axes, &[scalar]);
    }
    match is_room(block.m, value) {
        true => block.like(value, axes, &[]),
        false => block.read(value, axes),
    }
}

type Made = FxHashMap<(InstructionId, Axes), InstructionId>;

/// What steps do not change, cut before the first one; what only repeats a number is left as it is.
fn given(block: &mut Tile<'_>, found: &Loop, rows: &Rows, order: &[InstructionId]) -> Made {
    let state = block.m[found.body].parameters()[0];
    let outside = block.m[found.site].parent();
    let mut given = Made::default();
    for &id in order {
        let Some(list) = rows.wanted.get(&id) else { continue };
        let same = match element(block.m, id, state) {
            Some(index) if found.passes_through(block.m, index) => {
                found.initial(block.m, index).expect("it was asked for")
            }
            Some(_) => continue,
            None => match view::constant(block.m, id) {
                Some(literal) if view::elements(block.m, id) > 1 => {
                    let literal = literal.clone();
                    block.m.add_constant(outside, literal)
                }
                _ => continue,
            },
        };
        for axes in list {
            let value = match view::broadcast_scalar(block.m, same) {
                Some(_) => same,
                None => block.read(same, axes),
            };
            given.insert((id, axes.clone()), value);
        }
    }
    given
}

/// One step for one block, in the body of the inner loop.
struct Step<'a> {
    tile: Tile<'a>,
    found: &'a Loop,
    places: &'a FxHashMap<usize, (usize, InstructionId)>,
    /// What the records become, and which they are.
    records: FxHashMap<InstructionId, usize>,
    given: Made,
    made: Made,
}

impl Step<'_> {
    fn value(&mut self, id: InstructionId, axes: &Axes) -> InstructionId {
        let state = self.tile.m[self.found.body].parameters()[0];
        if let Some(index) = element(self.tile.m, id, state)
            && let Some(&(_, value)) = self.places.get(&index)
        {
            return value;
        }
        if let Some(&value) = self.given.get(&(id, axes.clone())) {
            if let Some(number) = view::broadcast_scalar(self.tile.m, value) {
                let number = self.tile.read(number, &Axes::new());
                return self.tile.like(value, axes, &[number]);
            }
            let tile = &mut self.tile;
            return tile.bodies[1].import(tile.m, value);
        }
        if let Some(index) = loop_rows::reads(self.tile.m, self.found, id, axes) {
            let array = self.found.initial(self.tile.m, index).expect("it was asked for");
            let dims = view::dims(self.tile.m, array).expect("an array").clone();
            let array = self.tile.read(array, &whole(&dims));
            let mut operands = vec![array];
            operands.extend(self.starts(id, 1, axes));
            return self.like(id, axes, &operands);
        }
        let lists = loop_rows::operands_of(self.tile.m, id, axes).expect("it was asked for");
        let operands = self.tile.m[id].operands().to_vec();
        let mut given = operands.into_iter().zip(lists).map(|part| self.made[&part]);
        if let Some(&index) = self.records.get(&id) {
            let update = given.nth(1).expect("what is written");
            let mut operands = vec![self.places[&index].1, update];
            operands.extend(self.starts(id, 2, axes));
            let shape = self.tile.m[id].shape.clone();
            return self.tile.shaped_like(id, shape, &operands);
        }
        let operands: Vec<InstructionId> = given.collect();
        if let Op::Iota(op) = &self.tile.m[id].op {
            let dimension = op.iota_dimension;
            return self.tile.iota(id, axes, dimension);
        }
        self.like(id, axes, &operands)
    }

    /// Where a block's part of what an instruction reads or writes begins; those are the operands from
    /// `first` on.
    fn starts(&mut self, id: InstructionId, first: usize, axes: &Axes) -> Vec<InstructionId> {
        let starts = self.tile.m[id].operands()[first..].to_vec();
        let starts = starts.into_iter().zip(axes).map(|(start, factors)| match factors[..] {
            [Factor::Rows(_)] => {
                let ty = view::element_type(self.tile.m, start).expect("a number");
                let computation = self.tile.computation();
                self.tile.m.add_convert(computation, self.tile.row, ty).expect("a number")
            }
            _ => self.made[&(start, Axes::new())],
        });
        starts.collect()
    }

    fn like(
        &mut self,
        id: InstructionId,
        axes: &Axes,
        operands: &[InstructionId],
    ) -> InstructionId {
        let made = self.tile.like(id, axes, operands);
        let dims = tiled(axes, self.tile.rows);
        loop_rows::cut_op(&mut self.tile.m[made].op, &dims, axes);
        made
    }
}
