//! The rewrite: every instruction that has a rule and lies in parts is computed in parts, all others
//! see the whole of what they take.

use rustc_hash::FxHashMap;
use rxla_base::{Error, Result};
use rxla_hlo::op::{BinaryKind, Broadcast, Conditional, Iota, UnaryKind, While};
use rxla_hlo::{ComputationId, Dims, ElementType, InstructionId, Literal, Module, Op, Shape};

use crate::custom::CustomCalls;
use crate::error;
use crate::factors::{Choice, Rule};
use crate::move_parts::{self, Devices};
use crate::plan::{Plan, is_flat};
use crate::tiles::Tiles;

/// A leaf of a value, as devices have it.
#[derive(Clone)]
pub(crate) struct Placed {
    pub(crate) value: InstructionId,
    pub(crate) tiles: Tiles,
    /// Sizes of the whole.
    pub(crate) dims: Dims,
}

pub(crate) struct Divider<'d> {
    pub(crate) module: &'d mut Module,
    pub(crate) plan: &'d Plan,
    pub(crate) devices: Devices,
    pub(crate) custom: &'d dyn CustomCalls,
    /// The leaves of values that are not simply the instruction itself, whole.
    placed: FxHashMap<InstructionId, Vec<Placed>>,
    /// Moves that were made before.
    moved: FxHashMap<InstructionId, Vec<(Placed, Tiles, InstructionId)>>,
}

/// Divides the work of a computation. `parameters` and `results` say how its arguments and its root
/// lie, leaf by leaf; they are whole if nothing is said.
pub(crate) fn computation(
    module: &mut Module,
    id: ComputationId,
    plan: &Plan,
    parameters: &[Vec<Option<Tiles>>],
    results: &[Option<Tiles>],
    devices: Devices,
    custom: &dyn CustomCalls,
) -> Result<()> {
    let mut divider = Divider {
        module,
        plan,
        devices,
        custom,
        placed: FxHashMap::default(),
        moved: FxHashMap::default(),
    };
    let order = divider.module.post_order(id);
    for (number, tiles) in parameters.iter().enumerate() {
        divider.parameter(id, number, tiles)?;
    }
    for instruction in order {
        divider.instruction(instruction)?;
    }
    divider.root(id, results)
}

impl Divider<'_> {
    pub(crate) fn nothing_cut(&self, rank: usize) -> Tiles {
        Tiles::whole(rank, self.devices.partitions)
    }

    /// A value that devices have whole.
    pub(crate) fn as_whole(&self, value: InstructionId) -> Placed {
        let dims = self.module[value].shape.as_array().map(|array| array.dims.clone());
        let dims = dims.unwrap_or_default();
        Placed { value, tiles: self.nothing_cut(dims.len()), dims }
    }

    /// How devices have an array.
    pub(crate) fn placed(&self, id: InstructionId) -> Placed {
        match self.placed.get(&id).map(|leaves| &leaves[..]) {
            Some([leaf]) => leaf.clone(),
            Some(_) | None => self.as_whole(id),
        }
    }

    pub(crate) fn place(&mut self, id: InstructionId, leaves: Vec<Placed>) {
        self.placed.insert(id, leaves);
    }

    /// The value as `tiles` says.
    pub(crate) fn moved(&mut self, placed: &Placed, tiles: &Tiles) -> Result<InstructionId> {
        if placed.tiles.are_parts_of(tiles) {
            return Ok(placed.value);
        }
        // At the borders of manual regions a value becomes a part of another array.
        let is_same = |(from, to, _): &&(Placed, Tiles, InstructionId)| {
            from.tiles == placed.tiles && from.dims == placed.dims && to.are_parts_of(tiles)
        };
        let mut before = self.moved.get(&placed.value).into_iter().flatten();
        if let Some((_, _, moved)) = before.find(is_same) {
            return Ok(*moved);
        }
        let Placed { value, tiles: have, dims } = placed;
        let moved = move_parts::reshard(self.module, *value, have, tiles, dims, self.devices)?;
        self.moved.entry(*value).or_default().push((placed.clone(), tiles.clone(), moved));
        Ok(moved)
    }

    /// The whole of a value.
    pub(crate) fn whole(&mut self, id: InstructionId) -> Result<InstructionId> {
        let Some(leaves) = self.placed.get(&id).cloned() else { return Ok(id) };
        let values = leaves
            .iter()
            .map(|leaf| self.moved(leaf, &self.nothing_cut(leaf.dims.len())))
            .collect::<Result<Vec<_>>>()?;
        match (&self.module[id].shape, &values[..]) {
            (Shape::Tuple(_), _) => {
                let computation = self.module[id].parent();
                let tuple = self.module.add_tuple(computation, &values).map_err(error)?;
                let leaves = values.iter().map(|&value| self.as_whole(value)).collect();
                self.placed.insert(id, leaves);
                Ok(tuple)
            }
            (_, [value]) => Ok(*value),
            (_, _) => Err(Error::internal("an array of several leaves")),
        }
    }

    /// Makes an instruction see the whole of its operands.
    pub(crate) fn whole_operands(&mut self, id: InstructionId) -> Result<()> {
        for (index, operand) in self.module[id].operands().to_vec().into_iter().enumerate() {
            let whole = self.whole(operand)?;
            if whole != operand {
                self.module.set_operand(id, index, whole);
            }
        }
        Ok(())
    }

    /// Makes a parameter take parts.
    fn parameter(
        &mut self,
        computation: ComputationId,
        number: usize,
        tiles: &[Option<Tiles>],
    ) -> Result<()> {
        if tiles.iter().all(Option::is_none) {
            return Ok(());
        }
        let parameter = self.module[computation].parameters()[number];
        let shape = self.module[parameter].shape.clone();
        let part = parts_of(&shape, tiles);
        self.module[parameter].shape = part;
        let leaves = match &shape {
            Shape::Tuple(elements) => {
                let elements = elements.clone();
                self.elements(parameter, &elements, tiles)?
            }
            _ => vec![self.leaf(parameter, &shape, tiles.first().and_then(Option::as_ref))],
        };
        self.placed.insert(parameter, leaves);
        Ok(())
    }

    fn leaf(&self, value: InstructionId, whole: &Shape, tiles: Option<&Tiles>) -> Placed {
        let dims = whole.as_array().map(|array| array.dims.clone()).unwrap_or_default();
        let tiles = tiles.cloned().unwrap_or_else(|| self.nothing_cut(dims.len()));
        Placed { value, tiles, dims }
    }

    /// The elements of a tuple whose whole ones have these shapes.
    fn elements(
        &mut self,
        tuple: InstructionId,
        whole: &[Shape],
        tiles: &[Option<Tiles>],
    ) -> Result<Vec<Placed>> {
        let computation = self.module[tuple].parent();
        let mut leaves = Vec::new();
        for (index, shape) in whole.iter().enumerate() {
            let element = self.module.add_get_tuple_element(computation, tuple, index as i64);
            let element = element.map_err(error)?;
            leaves.push(self.leaf(element, shape, tiles.get(index).and_then(Option::as_ref)));
        }
        Ok(leaves)
    }

    fn instruction(&mut self, id: InstructionId) -> Result<()> {
        let operands = self.module[id].operands().to_vec();
        match self.module[id].op.clone() {
            Op::Tuple(_) => {
                let moved = operands.iter().any(|operand| self.placed.contains_key(operand));
                if moved && is_flat(&self.module[id].shape) {
                    let leaves = operands.iter().map(|&operand| self.placed(operand)).collect();
                    self.place(id, leaves);
                    return Ok(());
                }
                self.whole_operands(id)
            }
            Op::GetTupleElement(get) => {
                let index = usize::try_from(get.index).unwrap_or(usize::MAX);
                let leaf = self.placed.get(&operands[0]).and_then(|leaves| leaves.get(index));
                if let Some(leaf) = leaf.cloned() {
                    self.place(id, vec![leaf]);
                }
                Ok(())
            }
            Op::OptimizationBarrier(_) => self.barrier(id, operands[0]),
            Op::While(op) => self.repeat(id, operands[0], op),
            Op::Conditional(op) => self.branch(id, &operands, &op),
            Op::CustomCall(_) => crate::calls::rewrite(self, id),
            Op::SendDone(_) | Op::RecvDone(_) => crate::calls::transfer(self, id),
            _ => self.by_rule(id),
        }
    }

    fn barrier(&mut self, id: InstructionId, operand: InstructionId) -> Result<()> {
        let Some(leaves) = self.placed.get(&operand).cloned() else { return Ok(()) };
        let computation = self.module[id].parent();
        let op = self.module[id].op.clone();
        let values: Vec<_> = leaves.iter().map(|leaf| leaf.value).collect();
        let barrier = match (&self.module[id].shape, &values[..]) {
            (Shape::Tuple(_), _) => {
                let tuple = self.module.add_tuple(computation, &values).map_err(error)?;
                self.module.add(computation, op, &[tuple]).map_err(error)?
            }
            (_, &[value]) => self.module.add(computation, op, &[value]).map_err(error)?,
            (_, _) => return Err(Error::internal("an array of several leaves")),
        };
        let mut after = Vec::new();
        for (index, leaf) in leaves.into_iter().enumerate() {
            let value = match self.module[id].shape {
                Shape::Tuple(_) => {
                    let index = index as i64;
                    self.module.add_get_tuple_element(computation, barrier, index).map_err(error)?
                }
                _ => barrier,
            };
            after.push(Placed { value, ..leaf });
        }
        self.place(id, after);
        Ok(())
    }

    /// What the plan says of the leaves of a value.
    fn planned(&self, id: InstructionId) -> Vec<Option<Tiles>> {
        (0..self.module[id].shape.leaves().len())
            .map(|leaf| self.plan.tiles(id, leaf).cloned())
            .collect()
    }

    /// The value with its leaves as said, as one value again.
    fn arranged(&mut self, id: InstructionId, tiles: &[Option<Tiles>]) -> Result<InstructionId> {
        let computation = self.module[id].parent();
        let leaves = match (self.placed.get(&id).cloned(), self.module[id].shape.clone()) {
            (Some(leaves), _) => leaves,
            (None, Shape::Tuple(_)) if tiles.iter().all(Option::is_none) => return Ok(id),
            (None, Shape::Tuple(elements)) => self.elements(id, &elements, &[])?,
            (None, _) => vec![self.as_whole(id)],
        };
        let mut values = Vec::new();
        for (index, leaf) in leaves.iter().enumerate() {
            let whole = self.nothing_cut(leaf.dims.len());
            let to = tiles.get(index).and_then(Option::as_ref).unwrap_or(&whole);
            values.push(self.moved(leaf, to)?);
        }
        match (&self.module[id].shape, &values[..]) {
            (Shape::Tuple(_), _) => self.module.add_tuple(computation, &values).map_err(error),
            (_, &[value]) => Ok(value),
            (_, _) => Err(Error::internal("an array of several leaves")),
        }
    }

    fn repeat(&mut self, id: InstructionId, start: InstructionId, op: While) -> Result<()> {
        let tiles = self.planned(id);
        if !self.plan.is_bound(op.body) || tiles.iter().all(Option::is_none) {
            return self.whole_operands(id);
        }
        let start = self.arranged(start, &tiles)?;
        let whole = self.module[id].shape.clone();
        let shape = self.module[start].shape.clone();
        let repeat = self.module.add_like(id, Op::While(op), shape, &[start]);
        self.module[repeat].info_mut().sharding = None;
        self.finish(id, repeat, &whole, &tiles)
    }

    fn branch(
        &mut self,
        id: InstructionId,
        operands: &[InstructionId],
        op: &Conditional,
    ) -> Result<()> {
        let branches = &op.branch_computations;
        if !branches.iter().all(|&branch| self.plan.is_bound(branch)) {
            return self.whole_operands(id);
        }
        let mut arranged = vec![self.whole(operands[0])?];
        for (&operand, &branch) in operands[1..].iter().zip(branches) {
            let parameter = self.module[branch].parameters()[0];
            let tiles = self.planned(parameter);
            arranged.push(self.arranged(operand, &tiles)?);
        }
        let whole = self.module[id].shape.clone();
        let tiles = self.planned(id);
        let shape = parts_of(&whole, &tiles);
        let chosen = self.module.add_like(id, Op::Conditional(op.clone()), shape, &arranged);
        self.module[chosen].info_mut().sharding = None;
        self.finish(id, chosen, &whole, &tiles)
    }

    /// Enters `value`, whose leaves lie as said, in place of `id`.
    fn finish(
        &mut self,
        id: InstructionId,
        value: InstructionId,
        whole: &Shape,
        tiles: &[Option<Tiles>],
    ) -> Result<()> {
        let leaves = match whole {
            Shape::Tuple(elements) => self.elements(value, elements, tiles)?,
            _ => vec![self.leaf(value, whole, tiles.first().and_then(Option::as_ref))],
        };
        self.place(id, leaves);
        self.retire(id);
        Ok(())
    }

    /// Makes an instruction whose place another one took do nothing: it goes with what is unused.
    pub(crate) fn retire(&mut self, id: InstructionId) {
        self.module.take_control_edges(id);
        self.module.set_operands(id, &[]);
        self.module[id].op = Op::CustomCall(Box::default());
    }

    /// Divides an instruction by its rule, if it has one and there is something to divide.
    pub(crate) fn by_rule(&mut self, id: InstructionId) -> Result<()> {
        let plan = self.plan;
        if self.on_summands(id)? {
            return Ok(());
        }
        let Some(rule) = plan.rule(id) else { return self.whole_operands(id) };
        let results = self.planned(id);
        let results: Vec<_> = results.into_iter().map(|tiles| tiles.map(Tiles::reduced)).collect();
        let operands = self.module[id].operands().to_vec();
        let given: Vec<_> = operands
            .iter()
            .map(|&operand| {
                let placed = self.placed(operand);
                Some(placed.tiles)
                    .filter(|t| !t.is_whole() && t.fits(&placed.dims))
                    .map(Tiles::reduced)
            })
            .collect();
        let groups = plan.groups(id);
        let choice = rule.choose(&results, &given, groups);
        if choice.iter().all(Option::is_none) {
            return self.whole_operands(id);
        }
        let mut parts = Vec::new();
        for (&operand, value) in operands.iter().zip(&rule.operands) {
            let placed = self.placed(operand);
            parts.push(self.moved(&placed, &value.tiles(&choice, groups))?);
        }
        let tiles: Vec<_> =
            rule.results.iter().map(|value| Some(value.tiles(&choice, groups))).collect();
        let whole = self.module[id].shape.clone();
        let divided = self.divided(id, rule, &choice, &parts, &tiles)?;
        let divided = match rule.combined(&choice) {
            None => divided,
            Some((kind, along)) => {
                let Some(Some(tiles)) = tiles.first() else { return Ok(()) };
                if let Some(summands) = self.wanted_summands(id)
                    && kind == BinaryKind::Add
                    && tiles.sums_to(&summands, &along)
                {
                    return self.finish(id, divided, &whole, &[Some(summands)]);
                }
                move_parts::combine(self.module, divided, kind, tiles, &along, self.devices)?
            }
        };
        self.finish(id, divided, &whole, &tiles)
    }

    /// Computes on summands what may be computed before they are added, if they are wanted so. Whether it was.
    fn on_summands(&mut self, id: InstructionId) -> Result<bool> {
        let Some(wanted) = self.wanted_summands(id) else { return Ok(false) };
        let op = self.module[id].op.clone();
        let operands: Vec<Placed> =
            self.module[id].operands().iter().map(|&operand| self.placed(operand)).collect();
        // How many operands are summands; the others say where something is.
        let Some(count) = linear_operands(&op, operands.len()) else { return Ok(false) };
        let (summands, places) = operands.split_at(count);
        let fits = |placed: &Placed| match &op {
            Op::Transpose(transpose) => placed.tiles.transposed(&transpose.dimensions) == wanted,
            Op::Copy(_) | Op::Unary(_) | Op::Binary(_) | Op::Convert(_) => placed.tiles == wanted,
            _ => placed.tiles.is_uncut_as(&wanted),
        };
        let is_float = |id: InstructionId| {
            self.module[id].shape.as_array().is_some_and(|array| array.element_type.is_float())
        };
        let both_float = || is_float(id) && summands.iter().all(|placed| is_float(placed.value));
        if !summands.iter().all(fits) || matches!(op, Op::Convert(_)) && !both_float() {
            return Ok(false);
        }
        let mut parts: Vec<_> = summands.iter().map(|placed| placed.value).collect();
        for place in places {
            parts.push(self.moved(place, &self.nothing_cut(place.dims.len()))?);
        }
        let whole = self.module[id].shape.clone();
        let tiles = [Some(wanted)];
        let divided = self.module.add_like(id, op, parts_of(&whole, &tiles), &parts);
        self.module[divided].info_mut().sharding = None;
        self.finish(id, divided, &whole, &tiles)?;
        Ok(true)
    }

    /// The tiles of summands in which the only user of a value wants it, if it does.
    fn wanted_summands(&self, id: InstructionId) -> Option<Tiles> {
        let &[user] = self.module[id].users() else { return None };
        let is_marker = matches!(
            &self.module[user].op, Op::CustomCall(call) if *call.custom_call_target == *"Sharding"
        );
        // Markers have one leaf; what else uses a value may have none.
        let wanted = is_marker.then(|| self.plan.tiles(user, 0)).flatten()?;
        (wanted.summand_count() > 1).then(|| wanted.clone())
    }

    /// What each device computes of an instruction.
    fn divided(
        &mut self,
        id: InstructionId,
        rule: &Rule,
        choice: &Choice,
        parts: &[InstructionId],
        tiles: &[Option<Tiles>],
    ) -> Result<InstructionId> {
        let computation = self.module[id].parent();
        let shape = parts_of(&self.module[id].shape, tiles);
        let groups = self.plan.groups(id);
        let operand_parts: Vec<Dims> = rule
            .operands
            .iter()
            .map(|value| value.tiles(choice, groups).part_dims(&value.dims))
            .collect();
        let mut op = self.module[id].op.clone();
        match &mut op {
            Op::Constant(constant) => {
                let Some(literal) = constant.literal.as_array() else {
                    return Err(Error::internal("a constant tuple is divided"));
                };
                // All elements are equal.
                let width = literal.bytes().len() / literal.len().max(1);
                let mut scalar = rxla_hlo::ArrayLiteral::zeros(&rxla_hlo::ArrayShape::scalar(
                    literal.element_type(),
                ))?;
                scalar.bytes_mut().copy_from_slice(&literal.bytes()[..width]);
                let scalar = self.module.add_constant(computation, Literal::Array(scalar));
                let everywhere = Op::Broadcast(Broadcast::default());
                return Ok(self.module.add_like(id, everywhere, shape, &[scalar]));
            }
            Op::Iota(Iota { iota_dimension }) => {
                let dimension = usize::try_from(*iota_dimension).unwrap_or(usize::MAX);
                let part = self.module.add_like(id, op.clone(), shape.clone(), &[]);
                let (Some(Some(tiles)), Some(array)) = (tiles.first(), shape.as_array()) else {
                    return Ok(part);
                };
                if tiles.counts[dimension] == 1 {
                    return Ok(part);
                }
                let starts: Vec<i32> = tiles
                    .places
                    .iter()
                    .map(|place| (place[dimension] * array.dims[dimension]) as i32)
                    .collect();
                let table = Literal::from_values([starts.len() as i64], &starts);
                let start =
                    move_parts::of_this_device(self.module, computation, table, ElementType::S32)?;
                let start = self
                    .module
                    .add_convert(computation, start, array.element_type)
                    .map_err(error)?;
                let start = self.module.add_splat(computation, start, array).map_err(error)?;
                return self
                    .module
                    .add_binary(computation, BinaryKind::Add, part, start)
                    .map_err(error);
            }
            Op::Slice(slice) => {
                for (d, slice) in slice.slice.iter_mut().enumerate() {
                    if operand_parts[0][d] != rule.operands[0].dims[d] {
                        slice.limit = operand_parts[0][d];
                    }
                }
            }
            Op::DynamicSlice(slice) => {
                for (d, size) in slice.dynamic_slice_sizes.iter_mut().enumerate() {
                    if operand_parts[0][d] != rule.operands[0].dims[d] {
                        *size = operand_parts[0][d];
                    }
                }
            }
            Op::Gather(gather) => {
                for (d, size) in gather.slice_sizes.iter_mut().enumerate() {
                    let (part, whole) = (operand_parts[0][d], rule.operands[0].dims[d]);
                    if part != whole && *size == whole {
                        *size = part;
                    }
                }
            }
            Op::Reshape(reshape) => reshape.inferred_dimension = None,
            Op::CustomCall(call) => {
                for (constraint, part) in
                    call.operand_layout_constraints.iter_mut().flatten().zip(&operand_parts)
                {
                    if let Shape::Array(array) = constraint {
                        array.dims = part.clone();
                    }
                }
            }
            _ => {}
        }
        let reversed = match &op {
            Op::Reverse(reverse) => Some(reverse.dimensions.clone()),
            _ => None,
        };
        let divided = self.module.add_like(id, op, shape, parts);
        self.module[divided].info_mut().sharding = None;
        match (reversed, tiles.first()) {
            (Some(dimensions), Some(Some(tiles))) => {
                move_parts::mirrored(self.module, divided, tiles, &dimensions, self.devices)
            }
            _ => Ok(divided),
        }
    }

    fn root(&mut self, computation: ComputationId, results: &[Option<Tiles>]) -> Result<()> {
        let root = self.module[computation].root();
        if results.iter().all(Option::is_none) && !self.placed.contains_key(&root) {
            return Ok(());
        }
        let arranged = self.arranged(root, results)?;
        if arranged != root {
            self.module.set_root(arranged);
        }
        Ok(())
    }
}

/// Of how many operands, the first ones, the op takes each element, or the sum of two, to a place that does not depend on
/// them: it may be done before summands are added. Rounding to a narrower type may, too, if that is asked for.
fn linear_operands(op: &Op, operands: usize) -> Option<usize> {
    match op {
        Op::Transpose(_)
        | Op::Copy(_)
        | Op::Convert(_)
        | Op::Reshape(_)
        | Op::Broadcast(_)
        | Op::Slice(_)
        | Op::Reverse(_)
        | Op::DynamicSlice(_) => Some(1),
        Op::Unary(unary) => (unary.kind == UnaryKind::Negate).then_some(1),
        Op::Binary(binary) => {
            matches!(binary.kind, BinaryKind::Add | BinaryKind::Subtract).then_some(2)
        }
        Op::DynamicUpdateSlice(_) => Some(2),
        Op::Concatenate(_) => Some(operands),
        _ => None,
    }
}

/// The shape of a value's parts.
fn parts_of(whole: &Shape, tiles: &[Option<Tiles>]) -> Shape {
    let part = |shape: &Shape, tiles: Option<&Tiles>| match (shape, tiles) {
        (Shape::Array(array), Some(tiles)) => {
            let mut array = array.clone();
            array.dims = tiles.part_dims(&array.dims);
            Shape::Array(array)
        }
        (other, _) => other.clone(),
    };
    let of = |index: usize| tiles.get(index).and_then(Option::as_ref);
    match whole {
        Shape::Tuple(elements) => {
            Shape::tuple(elements.iter().enumerate().map(|(index, shape)| part(shape, of(index))))
        }
        other => part(other, of(0)),
    }
}
