//! How each array of the program shall lie: shardings flow from where they are said through the
//! ops and computations, forwards first, then backwards, until nothing more is learnt. What is
//! learnt only grows finer, so this ends.

mod regions;

use std::ops::Range;

use rustc_hash::FxHashMap;
use rxla_base::{Result, SecondaryMap};
use rxla_hlo::op::While;
use rxla_hlo::{
    ComputationId, Dims, Instruction, InstructionId, Module, Op, Shape, ShardGroup, Sharding,
    ShardingKind,
};

use crate::border::Border;
use crate::calls::leaves_open;
use crate::custom::{Call, CustomCalls};
use crate::factors::Rule;
use crate::move_parts::Devices;
use crate::rules::{self, Dividers};
use crate::tiles::Tiles;
use regions::{ALL, Region, Regions};

/// How often the program is walked at most.
const ROUNDS: usize = 32;

pub(crate) struct Plan {
    devices: Devices,
    regions: Regions,
    /// By instruction its leaves' slots.
    leaves: SecondaryMap<Instruction, Range<u32>>,
    slots: Vec<Slot>,
    rules: FxHashMap<InstructionId, Rule>,
    /// By way into or out of a manual region, the parts that are seen inside of it.
    borders: FxHashMap<InstructionId, Tiles>,
    /// Computations of loops and branches, whose arguments lie as planned, and the instruction that
    /// their results lie like; those of conditions are whole.
    bound: FxHashMap<ComputationId, Option<InstructionId>>,
}

/// What is known of a leaf.
struct Slot {
    /// The slot that stands for this one.
    same_as: u32,
    /// Sizes, of arrays that can be cut.
    dims: Option<Dims>,
    region: Region,
    tiles: Option<Tiles>,
    /// The program says it, so it does not change.
    is_said: bool,
}

/// How knowledge moves.
enum Edge {
    Rule(InstructionId, Rule),
    /// Both lie alike if nothing else is said.
    Alike(u32, u32),
    /// `outer` is cut into the parts that `inner` is one of; what is known outside goes in that way.
    Border {
        inwards: Direction,
        outer: u32,
        inner: u32,
        cut: Tiles,
    },
    /// A call whose partitioner is asked how results lie.
    Asked(InstructionId),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Forward,
    Backward,
}

impl Plan {
    /// Plans the program; `declared` says how the entry's results have to lie, leaf by leaf.
    pub(crate) fn new(
        module: &Module,
        declared: &[Option<Tiles>],
        devices: Devices,
        custom: &dyn CustomCalls,
    ) -> Result<Plan> {
        let mut plan = Plan {
            devices,
            regions: Regions::new(devices.partitions),
            leaves: SecondaryMap::default(),
            slots: Vec::new(),
            rules: FxHashMap::default(),
            borders: FxHashMap::default(),
            bound: FxHashMap::default(),
        };
        let mut order = module.computation_post_order();
        order.reverse();
        for &computation in &order {
            for &id in module[computation].instructions() {
                plan.add_slots(module, id);
            }
        }
        for &computation in &order {
            for &id in module[computation].instructions() {
                plan.unite_same(module, id);
            }
        }
        plan.find_regions(module, &order)?;
        let mut edges = Vec::new();
        let mut groups = FxHashMap::default();
        for &computation in &order {
            for id in module.post_order(computation) {
                plan.connect(module, id, custom, &mut edges, &mut groups)?;
            }
        }
        let root = module[module.entry()].root();
        for (leaf, tiles) in declared.iter().enumerate() {
            let (Some(tiles), Some(slot)) = (tiles, plan.slot(root, leaf)) else { continue };
            let result = plan.new_slot(plan.slots[slot as usize].dims.clone());
            plan.say(result, tiles.clone());
            edges.push(Edge::Alike(slot, result));
        }
        plan.settle(module, &edges, custom)?;
        for edge in edges {
            if let Edge::Rule(id, rule) = edge {
                plan.rules.insert(id, rule);
            }
        }
        Ok(plan)
    }

    /// How an instruction may be divided, if it may.
    pub(crate) fn rule(&self, id: InstructionId) -> Option<&Rule> {
        self.rules.get(&id)
    }

    /// How a leaf of an instruction's value shall lie; `None` if it stays whole.
    pub(crate) fn tiles(&self, id: InstructionId, leaf: usize) -> Option<&Tiles> {
        self.slots[self.find(self.slot(id, leaf)?) as usize].tiles.as_ref()
    }

    /// By partition the group of devices that it works with on an instruction.
    pub(crate) fn groups(&self, id: InstructionId) -> &[i64] {
        self.regions.groups(self.slot(id, 0).map_or(ALL, |slot| self.region(slot)))
    }

    /// Whether all devices work on an instruction together.
    pub(crate) fn is_of_one_group(&self, id: InstructionId) -> bool {
        self.slot(id, 0).is_none_or(|slot| self.region(slot) == ALL)
    }

    fn region(&self, slot: u32) -> Region {
        self.slots[self.find(slot) as usize].region
    }

    /// How a way into or out of a manual region cuts what is outside; `None` if parts are of
    /// several sizes.
    pub(crate) fn border(&self, id: InstructionId) -> Option<&Tiles> {
        self.borders.get(&id)
    }

    /// Whether arguments and results of a computation lie as planned rather than whole.
    pub(crate) fn is_bound(&self, computation: ComputationId) -> bool {
        self.bound.contains_key(&computation)
    }

    /// How a computation that is bound gives its results: as its caller has them.
    pub(crate) fn results(
        &self,
        module: &Module,
        computation: ComputationId,
    ) -> Vec<Option<Tiles>> {
        let Some(&caller) = self.bound.get(&computation) else { return Vec::new() };
        (0..module[module[computation].root()].shape.leaves().len())
            .map(|leaf| caller.and_then(|caller| self.tiles(caller, leaf).cloned()))
            .collect()
    }

    fn slot(&self, id: InstructionId, leaf: usize) -> Option<u32> {
        self.leaves[id].clone().nth(leaf)
    }

    fn new_slot(&mut self, dims: Option<Dims>) -> u32 {
        let number = self.slots.len() as u32;
        self.slots.push(Slot { same_as: number, dims, region: ALL, tiles: None, is_said: false });
        number
    }

    fn add_slots(&mut self, module: &Module, id: InstructionId) {
        let first = self.slots.len() as u32;
        for (_, leaf) in module[id].shape.leaves() {
            let dims = leaf.as_array().filter(|array| array.is_static());
            self.new_slot(dims.map(|array| array.dims.clone()));
        }
        self.leaves[id] = first..self.slots.len() as u32;
    }

    fn find(&self, mut slot: u32) -> u32 {
        while self.slots[slot as usize].same_as != slot {
            slot = self.slots[slot as usize].same_as;
        }
        slot
    }

    fn unite(&mut self, one: u32, other: u32) {
        let (one, other) = (self.find(one), self.find(other));
        if one == other {
            return;
        }
        let absorbed = &mut self.slots[other as usize];
        absorbed.same_as = one;
        let (tiles, is_said) = (absorbed.tiles.take(), absorbed.is_said);
        let kept = &mut self.slots[one as usize];
        if !kept.is_said && (is_said || kept.tiles.is_none()) {
            (kept.tiles, kept.is_said) = (tiles, is_said);
        }
    }

    fn unite_all(&mut self, module: &Module, one: InstructionId, other: InstructionId) {
        let leaves = module[one].shape.leaves().len();
        if leaves != module[other].shape.leaves().len() {
            return;
        }
        for leaf in 0..leaves {
            if let (Some(one), Some(other)) = (self.slot(one, leaf), self.slot(other, leaf)) {
                self.unite(one, other);
            }
        }
    }

    /// Fixes how a slot lies, if it can lie so.
    fn say(&mut self, slot: u32, tiles: Tiles) {
        let slot = self.find(slot);
        let slot = &mut self.slots[slot as usize];
        if slot.is_said {
            return;
        }
        let tiles = tiles.in_groups(self.regions.groups(slot.region));
        let fits = slot.dims.as_ref().is_some_and(|dims| tiles.fits(dims));
        if tiles.is_whole() || fits {
            slot.tiles = Some(tiles).filter(|tiles| !tiles.is_whole());
            slot.is_said = true;
        }
    }

    /// Learns that a slot may lie so. Whether that was news.
    fn learn(&mut self, slot: u32, tiles: &Tiles) -> bool {
        let slot = self.find(slot);
        let slot = &mut self.slots[slot as usize];
        let Some(dims) = slot.dims.as_ref() else { return false };
        if slot.is_said || tiles.is_whole() {
            return false;
        }
        let tiles = tiles.clone().in_groups(self.regions.groups(slot.region));
        if !tiles.fits(dims) {
            return false;
        }
        let finer = match &slot.tiles {
            None => tiles,
            Some(known) => match known.joined(&tiles) {
                Some(joined) if joined != *known => joined,
                Some(_) | None => return false,
            },
        };
        slot.tiles = Some(finer);
        true
    }

    fn known(&self, slot: u32) -> Option<Tiles> {
        // What is done with a value is done after its summands were added.
        self.slots[self.find(slot) as usize].tiles.clone().map(Tiles::reduced)
    }

    /// Unites the slots of what holds the same values.
    fn unite_same(&mut self, module: &Module, id: InstructionId) {
        let instruction = &module[id];
        let operands = instruction.operands();
        match &instruction.op {
            Op::Tuple(_) => {
                let mut leaf = 0;
                for &operand in operands {
                    for of_operand in 0..module[operand].shape.leaves().len() {
                        let slots = (self.slot(operand, of_operand), self.slot(id, leaf));
                        if let (Some(one), Some(other)) = slots {
                            self.unite(one, other);
                        }
                        leaf += 1;
                    }
                }
            }
            Op::GetTupleElement(get) => {
                let elements = module.operand_shape(id, 0).as_tuple().unwrap_or_default();
                let index = usize::try_from(get.index).unwrap_or(usize::MAX);
                let count = |shape: &Shape| shape.leaves().len();
                let start: usize = elements.iter().take(index).map(count).sum();
                for leaf in 0..instruction.shape.leaves().len() {
                    let slots = (self.slot(operands[0], start + leaf), self.slot(id, leaf));
                    if let (Some(one), Some(other)) = slots {
                        self.unite(one, other);
                    }
                }
            }
            Op::OptimizationBarrier(_) => self.unite_all(module, operands[0], id),
            Op::While(While { condition, body }) if is_flat(&instruction.shape) => {
                let parameters = [*condition, *body].map(|c| module[c].parameters()[0]);
                for other in [parameters[0], parameters[1], module[*body].root()] {
                    self.unite_all(module, id, other);
                }
            }
            Op::CustomCall(_) if crate::calls::target(module, id) == Some("InspectSharding") => {
                self.unite_all(module, operands[0], id);
            }
            _ => {}
        }
    }

    /// Says what an instruction says of itself, and enters what it connects.
    fn connect(
        &mut self,
        module: &Module,
        id: InstructionId,
        custom: &dyn CustomCalls,
        edges: &mut Vec<Edge>,
        groups: &mut FxHashMap<(i64, Dims, Region), u32>,
    ) -> Result<()> {
        let instruction = &module[id];
        let operands = instruction.operands();
        let alike =
            |plan: &Plan, one: InstructionId, other: InstructionId, edges: &mut Vec<Edge>| {
                let leaves = module[one].shape.leaves().len();
                if leaves == module[other].shape.leaves().len() {
                    for leaf in 0..leaves {
                        if let (Some(one), Some(other)) =
                            (plan.slot(one, leaf), plan.slot(other, leaf))
                        {
                            edges.push(Edge::Alike(one, other));
                        }
                    }
                }
            };
        match &instruction.op {
            Op::Parameter(_) if instruction.parent() == module.entry() => {
                let said = crate::said(module, id, self.devices.partitions)?;
                for (leaf, tiles) in said.into_iter().enumerate() {
                    if let Some(slot) = self.slot(id, leaf) {
                        self.say(slot, tiles);
                        // What lies unevenly is not cut anywhere else.
                        let slot = self.find(slot);
                        self.slots[slot as usize].is_said = true;
                    }
                }
            }
            Op::Tuple(_) | Op::GetTupleElement(_) | Op::OptimizationBarrier(_) => {}
            Op::While(While { condition, body }) if is_flat(&instruction.shape) => {
                alike(self, operands[0], id, edges);
                self.bound.insert(*condition, None);
                self.bound.insert(*body, Some(id));
            }
            Op::Conditional(conditional) if is_flat(&instruction.shape) => {
                let branches = &conditional.branch_computations;
                let arguments = operands.iter().skip(1);
                let flat = arguments.clone().all(|&argument| is_flat(&module[argument].shape));
                for (&branch, &argument) in branches.iter().zip(arguments) {
                    if flat {
                        alike(self, argument, module[branch].parameters()[0], edges);
                        alike(self, module[branch].root(), id, edges);
                        self.bound.insert(branch, Some(id));
                    }
                }
            }
            Op::CustomCall(call) => {
                let (target, rank) = (
                    &*call.custom_call_target,
                    instruction.shape.as_array().map_or(0, |array| array.rank()),
                );
                let sharding = instruction.info().and_then(|info| info.sharding.as_ref());
                match (target, sharding, self.slot(id, 0)) {
                    ("Sharding", Some(Sharding::Single(single)), Some(slot))
                        if single.kind == ShardingKind::Unknown =>
                    {
                        let group = match single.group {
                            Some(ShardGroup::As(group) | ShardGroup::Like(group)) => Some(group),
                            None => None,
                        };
                        if let (Some(group), Some(array)) = (group, instruction.shape.as_array()) {
                            let region = self.region(slot);
                            let key = (group, array.dims.clone(), region);
                            let first = *groups.entry(key).or_insert(slot);
                            self.unite(first, slot);
                        }
                        alike(self, operands[0], id, edges);
                    }
                    ("Sharding", Some(sharding), Some(slot)) if leaves_open(module, id) => {
                        self.learn(slot, &Tiles::of(sharding, rank, self.devices.partitions)?);
                        alike(self, operands[0], id, edges);
                    }
                    ("Sharding", Some(sharding), Some(slot)) => {
                        let tiles = Tiles::of(sharding, rank, self.devices.partitions)?;
                        let known = !tiles.is_whole();
                        self.say(slot, tiles);
                        if known {
                            alike(self, operands[0], id, edges);
                        }
                    }
                    ("Sharding", None, _) => alike(self, operands[0], id, edges),
                    ("InspectSharding", _, _) => {}
                    (
                        "SPMDFullToShardShape" | "SPMDShardToFullShape",
                        Some(sharding),
                        Some(slot),
                    ) => {
                        let tiles = Tiles::of(sharding, rank, self.devices.partitions)?;
                        match leaves_open(module, id) || sharding.is_unknown() {
                            true => {
                                self.learn(slot, &tiles);
                            }
                            false => self.say(slot, tiles),
                        }
                        self.connect_border(module, id, edges)?;
                    }
                    ("SPMDFullToShardShape" | "SPMDShardToFullShape", _, _) => {}
                    (_, _, _) => match self.rule_of(module, id, custom) {
                        Some(rule) => edges.push(Edge::Rule(id, rule)),
                        // Partitioners know nothing of groups.
                        None if custom.partitioner(target).is_some()
                            && self.is_of_one_group(id) =>
                        {
                            edges.push(Edge::Asked(id));
                        }
                        None => {}
                    },
                }
            }
            _ => {
                if let Some(rule) = self.rule_of(module, id, custom) {
                    edges.push(Edge::Rule(id, rule));
                }
            }
        }
        Ok(())
    }

    fn rule_of(
        &self,
        module: &Module,
        id: InstructionId,
        custom: &dyn CustomCalls,
    ) -> Option<Rule> {
        let by = Dividers { devices: self.devices, groups: self.groups(id), custom };
        rules::rule(module, id, &by)
    }

    /// Connects what is outside of a manual region with what is inside, at a way in or out.
    fn connect_border(
        &mut self,
        module: &Module,
        id: InstructionId,
        edges: &mut Vec<Edge>,
    ) -> Result<()> {
        let Some(border) = Border::of(module, id) else { return Ok(()) };
        let (Some(outer), Some(inner)) = (self.slot(border.outer, 0), self.slot(border.inner, 0))
        else {
            return Ok(());
        };
        let groups = self.regions.groups(self.region(outer));
        if let Some(cut) = border.cut(module, groups)? {
            self.borders.insert(id, cut.clone());
            let inwards = match border.leads_in {
                true => Direction::Forward,
                false => Direction::Backward,
            };
            edges.push(Edge::Border { inwards, outer, inner, cut: cut.reduced() });
        }
        Ok(())
    }

    fn settle(&mut self, module: &Module, edges: &[Edge], custom: &dyn CustomCalls) -> Result<()> {
        for _ in 0..ROUNDS {
            // What is known goes forwards as far as it goes before anything goes back.
            for _ in 0..ROUNDS {
                let mut news = false;
                for edge in edges {
                    news |= self.follow(module, edge, Direction::Forward, custom)?;
                }
                if !news {
                    break;
                }
            }
            let mut news = false;
            for edge in edges.iter().rev() {
                news |= self.follow(module, edge, Direction::Backward, custom)?;
            }
            if !news {
                break;
            }
        }
        Ok(())
    }

    fn follow(
        &mut self,
        module: &Module,
        edge: &Edge,
        direction: Direction,
        custom: &dyn CustomCalls,
    ) -> Result<bool> {
        match edge {
            Edge::Alike(before, after) => {
                let (from, to) = match direction {
                    Direction::Forward => (*before, *after),
                    Direction::Backward => (*after, *before),
                };
                let tiles = self.slots[self.find(from) as usize].tiles.clone();
                Ok(tiles.is_some_and(|tiles| self.learn(to, &tiles)))
            }
            Edge::Rule(id, rule) => Ok(self.apply(module, *id, rule, direction)),
            Edge::Border { inwards, outer, inner, cut } => {
                let tiles = match *inwards == direction {
                    true => self.known(*outer).map(|outer| {
                        (*inner, cut.inner_cut(&outer, self.regions.groups(self.region(*inner))))
                    }),
                    false => {
                        let whole = || Tiles::whole(cut.counts.len(), self.devices.partitions);
                        let known = self.known(*inner).unwrap_or_else(whole);
                        Some((*outer, cut.cut_further(&known)))
                    }
                };
                Ok(tiles.is_some_and(|(slot, tiles)| self.learn(slot, &tiles)))
            }
            Edge::Asked(id) => match direction {
                Direction::Forward => self.ask(module, *id, custom),
                Direction::Backward => Ok(false),
            },
        }
    }

    fn apply(
        &mut self,
        module: &Module,
        id: InstructionId,
        rule: &Rule,
        direction: Direction,
    ) -> bool {
        let operands = module[id].operands();
        let results: Vec<_> = (0..rule.results.len())
            .map(|leaf| self.slot(id, leaf).and_then(|slot| self.known(slot)))
            .collect();
        let given: Vec<_> = operands
            .iter()
            .map(|&operand| self.slot(operand, 0).and_then(|slot| self.known(slot)))
            .collect();
        let is_none = |list: &[Option<Tiles>]| list.iter().all(Option::is_none);
        match direction {
            Direction::Forward if is_none(&given) => return false,
            Direction::Backward if is_none(&results) => return false,
            Direction::Forward | Direction::Backward => {}
        }
        let none = vec![None; operands.len()];
        let groups = self.groups(id).to_vec();
        let choice = match direction {
            Direction::Forward => rule.choose(&results, &given, &groups),
            // What operands say of each other goes forwards only.
            Direction::Backward => rule.choose(&results, &none, &groups),
        };
        let mut news = false;
        match direction {
            Direction::Forward => {
                for (leaf, value) in rule.results.iter().enumerate() {
                    if let Some(slot) = self.slot(id, leaf) {
                        news |= self.learn(slot, &value.tiles(&choice, &groups));
                    }
                }
            }
            Direction::Backward => {
                for (&operand, value) in operands.iter().zip(&rule.operands) {
                    if let Some(slot) = self.slot(operand, 0) {
                        news |= self.learn(slot, &value.tiles(&choice, &groups));
                    }
                }
            }
        }
        news
    }

    fn ask(
        &mut self,
        module: &Module,
        id: InstructionId,
        custom: &dyn CustomCalls,
    ) -> Result<bool> {
        let target = crate::calls::target(module, id).unwrap_or_default();
        let Some(partitioner) = custom.partitioner(target) else { return Ok(false) };
        let knows = |plan: &Plan, id| plan.tiles(id, 0).is_some();
        if knows(self, id) || !module[id].operands().iter().any(|&operand| knows(self, operand)) {
            return Ok(false);
        }
        let call = self.call(module, id);
        let Some(sharding) = partitioner.infer(&call)? else { return Ok(false) };
        let mut news = false;
        for (leaf, (_, shape)) in module[id].shape.leaves().into_iter().enumerate() {
            let of_leaf = match &sharding {
                Sharding::Tuple(list) => list.get(leaf),
                Sharding::Single(_) => Some(&sharding),
            };
            let rank = shape.as_array().map_or(0, |array| array.rank());
            if let (Some(of_leaf), Some(slot)) = (of_leaf, self.slot(id, leaf)) {
                news |= self.learn(slot, &Tiles::of(of_leaf, rank, self.devices.partitions)?);
            }
        }
        Ok(news)
    }

    /// A call with the plan's shardings, for its partitioner.
    pub(crate) fn call<'m>(&self, module: &'m Module, id: InstructionId) -> Call<'m> {
        // Partitioners know nothing of groups, so what has some is whole for them.
        let is_one_group = self.is_of_one_group(id);
        let sharding = |id: InstructionId, leaf: usize| {
            let tiles = self.tiles(id, leaf).filter(|_| is_one_group);
            tiles.map_or_else(Sharding::replicated, Tiles::to_sharding)
        };
        let shape = &module[id].shape;
        let result = match shape {
            Shape::Tuple(elements) => {
                Sharding::Tuple((0..elements.len()).map(|leaf| sharding(id, leaf)).collect())
            }
            _ => sharding(id, 0),
        };
        let operands = module[id].operands().iter();
        Call {
            operands: operands
                .map(|&operand| (module[operand].shape.clone(), sharding(operand, 0)))
                .collect(),
            result: (shape.clone(), result),
            config: module[id].info().map_or("", |info| &info.backend_config),
        }
    }
}

/// Whether a value is an array or a tuple of such, or of tokens.
pub(crate) fn is_flat(shape: &Shape) -> bool {
    match shape {
        Shape::Tuple(elements) => elements.iter().all(|element| element.as_tuple().is_none()),
        _ => true,
    }
}
