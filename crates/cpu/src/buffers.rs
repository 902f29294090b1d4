//! Where values live: registers, arguments, results, or places in one block of temporary memory.
//!
//! Each value starts with memory of its own. Then values are merged into one piece of memory where
//! that saves a copy or a buffer and where their lives do not collide: results with the outputs
//! they become, what a loop's body makes with what the loop carries, an operand that dies with a
//! result that may overwrite it. What could not be merged is copied, and only that, or in loops takes
//! turns with the memory it is wanted in; the copies are part of the result. What dies before a result
//! is written may have that result's memory until then.
//! Other pieces of memory share one block, first the large ones, each at the offset that fits best.
//!
//! Arrays of one element live in registers and have no memory. Parameters are only read, unless
//! the caller gave their memory for an output.

mod scratch;
mod turns;

use rustc_hash::{FxHashMap, FxHashSet};
use rxla_hlo::{ArrayShape, ElementType};

use crate::liveness::{FOREVER, Range, Ranges, ranges};
use crate::place::place;
use crate::plan::{Block, Compute, Leaf, Origin, Plan, Step, ValueId};
use turns::Turning;

/// Where a value lives.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Place {
    Register,
    /// A leaf of the arguments.
    Argument(usize),
    Constant(ValueId),
    /// A leaf of the results.
    Result(usize),
    /// An offset in temporary memory.
    Temp(u64),
    /// An offset in memory that each thread has of its own while it runs a loop with others.
    Scratch(u64),
}

/// What an output is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Output {
    Token,
    /// The program writes it.
    Computed,
    /// It is an argument as it came.
    Argument(usize),
}

/// Bytes to be moved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Move {
    pub from: Place,
    pub to: Place,
    pub bytes: u64,
}

/// Places that take turns: where an iteration ends, what lies in `spare` is the first's next value and
/// what the first held the second's, if there is a second. Nobody else has their memory while the
/// loop runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Turn {
    pub spare: Place,
    pub first: Place,
    pub second: Option<Place>,
    pub bytes: u64,
}

#[derive(Clone, Debug, Default)]
pub struct Buffers {
    places: FxHashMap<ValueId, Place>,
    /// By position: the head or end of a loop, the end of a block.
    moves: FxHashMap<u32, Vec<Move>>,
    /// By the end of the loop; they come after the moves there.
    turns: FxHashMap<u32, Vec<Turn>>,
    pub outputs: Vec<Output>,
    /// Arguments whose memory becomes an output's: (argument, output). The caller must see to it
    /// that the output's memory holds the argument when the program starts.
    pub aliases: Vec<(usize, usize)>,
    /// Size of the temporary memory.
    pub temp_bytes: u64,
    /// By the heads of loops whose iterations run at once: the size of what each thread has.
    scratch: FxHashMap<u32, u64>,
}

/// Whether a result (by number) of a step may lie where an operand (by number) lies.
pub type InPlace<'a> = &'a dyn Fn(&Compute, usize, usize) -> bool;

/// How well memory is kept for its readers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Care {
    #[default]
    Due,
    /// No two values share any, but where one becomes the other without a copy.
    Lavish,
    /// It is given away while its last reader runs, which is wrong: for tests of what finds that.
    Hasty,
}

/// Places start at multiples of this, so that vectors never cross a cache line needlessly.
pub const ALIGN: u64 = 64;

/// What is smaller than a cache line starts at multiples of this.
const SMALL_ALIGN: u64 = 16;

/// What divides the address of something of so many bytes in temporary memory.
pub fn temp_align(bytes: u64) -> u64 {
    if bytes < ALIGN { SMALL_ALIGN } else { ALIGN }
}

impl Buffers {
    /// `donated` lists arguments that may become outputs: (argument, output).
    pub fn new(plan: &Plan, in_place: InPlace<'_>, donated: &[(usize, usize)]) -> Buffers {
        Buffers::with_care(plan, in_place, donated, Care::Due)
    }

    /// As [`Buffers::new`], with so much care.
    pub fn with_care(
        plan: &Plan,
        in_place: InPlace<'_>,
        donated: &[(usize, usize)],
        care: Care,
    ) -> Buffers {
        let mut assignment = Assignment::new(plan, donated, care);
        assignment.enter(plan, in_place);
        assignment.merge_outputs();
        assignment.merge_flow();
        if care != Care::Lavish {
            assignment.merge_in_place();
        }
        assignment.find_shared_loops(&plan.entry);
        if care == Care::Due {
            assignment.take_turns();
            assignment.lodge_in_results();
        }
        assignment.finish()
    }

    pub fn place(&self, value: ValueId) -> Place {
        self.places[&value]
    }

    /// The place of a value; `None` if nothing mentions it.
    pub fn find(&self, value: ValueId) -> Option<Place> {
        self.places.get(&value).copied()
    }

    /// What is moved at a position, in order.
    pub fn moves(&self, position: u32) -> &[Move] {
        self.moves.get(&position).map_or(&[], Vec::as_slice)
    }

    /// The memory of each thread in the loop that begins at a position, if its iterations run at once.
    pub fn scratch(&self, head: u32) -> Option<u64> {
        self.scratch.get(&head).copied()
    }

    /// What takes turns in the loop that ends at a position.
    pub fn turns(&self, position: u32) -> &[Turn] {
        self.turns.get(&position).map_or(&[], Vec::as_slice)
    }
}

/// Whether an array lives in registers.
pub fn in_register(shape: &ArrayShape) -> bool {
    shape.element_count() == Some(1) && has_register(shape.element_type)
}

/// Whether elements of a type have registers: those that kernel IR has scalars for.
pub fn has_register(element_type: ElementType) -> bool {
    use ElementType::*;
    match element_type {
        Pred | S8 | S16 | S32 | S64 | U8 | U16 | U32 | U64 | F16 | Bf16 | F32 | F64 | C64
        | C128 => true,
        S1 | S2 | S4 | U1 | U2 | U4 | F8e5m2 | F8e4m3 | F8e4m3fn | F8e4m3b11fnuz | F8e3m4
        | F8e5m2fnuz | F8e4m3fnuz | F8e8m0fnu | F6e3m2fn | F6e2m3fn | F4e2m1fn => false,
    }
}

/// A stretch of time in which one value needs its memory.
#[derive(Clone, Copy)]
struct Piece {
    range: Range,
    class: u32,
}

/// Values that share memory.
struct Class {
    pieces: Vec<u32>,
    bytes: u64,
    fixed: Option<Place>,
}

/// A place where a value is wanted in another's memory at a certain time.
struct Want {
    position: u32,
    value: ValueId,
    /// The piece that stands for the memory it is wanted in.
    target: u32,
    kind: WantKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum WantKind {
    Init,
    Next,
    Branch,
    Output(usize),
}

struct Assignment<'a> {
    plan: &'a Plan,
    donated: &'a [(usize, usize)],
    care: Care,
    /// When each value is alive.
    ranges: FxHashMap<ValueId, Ranges>,
    pieces: Vec<Piece>,
    classes: Vec<Class>,
    /// The piece of each value that lives in memory which may be merged, its first if it has several. Those have
    /// numbers one after the other.
    piece_of: FxHashMap<ValueId, u32>,
    /// Pairs of pieces, the first of which ends where the second begins, that may share memory
    /// although they meet.
    may_meet: FxHashSet<(u32, u32)>,
    wants: Vec<Want>,
    in_place: Vec<(u32, u32)>,
    /// Heads and ends.
    loops: Vec<(u32, u32)>,
    /// Those of them whose iterations run at once.
    shared: Vec<(u32, u32)>,
    turns: Vec<Turning>,
    outputs: Vec<Output>,
    output_pieces: FxHashMap<usize, u32>,
    aliases: Vec<(usize, usize)>,
}

impl<'a> Assignment<'a> {
    fn new(plan: &'a Plan, donated: &'a [(usize, usize)], care: Care) -> Assignment<'a> {
        Assignment {
            plan,
            donated,
            care,
            ranges: ranges(plan),
            pieces: Vec::new(),
            classes: Vec::new(),
            piece_of: FxHashMap::default(),
            may_meet: FxHashSet::default(),
            wants: Vec::new(),
            in_place: Vec::new(),
            loops: Vec::new(),
            shared: Vec::new(),
            turns: Vec::new(),
            outputs: Vec::new(),
            output_pieces: FxHashMap::default(),
            aliases: Vec::new(),
        }
    }

    fn bytes(&self, value: ValueId) -> u64 {
        self.plan.values[value].shape.byte_size().unwrap_or(0) as u64
    }

    fn new_piece(&mut self, range: Range, bytes: u64) -> u32 {
        let piece = self.pieces.len() as u32;
        let class = self.classes.len() as u32;
        self.pieces.push(Piece { range, class });
        self.classes.push(Class { pieces: vec![piece], bytes, fixed: None });
        piece
    }

    /// The piece of a value, if it lives in memory that may be written.
    fn piece(&mut self, value: ValueId) -> Option<u32> {
        let known = &self.plan.values[value];
        if in_register(&known.shape) {
            return None;
        }
        match known.origin {
            Origin::Constant(_) => return None,
            Origin::Parameter(number)
                if !self.donated.iter().any(|&(parameter, _)| parameter == number) =>
            {
                return None;
            }
            Origin::Parameter(_) | Origin::Step => {}
        }
        if let Some(&piece) = self.piece_of.get(&value) {
            return Some(piece);
        }
        let bytes = self.bytes(value);
        let ranges = self.ranges[&value].clone();
        let piece = self.new_piece(ranges[0], bytes);
        for &range in &ranges[1..] {
            let more = self.new_piece(range, bytes);
            self.unite(piece, more);
        }
        self.piece_of.insert(value, piece);
        Some(piece)
    }

    /// The piece of a value for the time in which something reads it.
    fn piece_at(&mut self, value: ValueId, position: u32) -> Option<u32> {
        let piece = self.piece(value)?;
        let read = 2 * position + 1;
        let holds = |range: &Range| range.start <= read && read <= range.end;
        let number = self.ranges[&value].iter().position(holds).unwrap_or(0);
        Some(piece + number as u32)
    }

    /// Makes pieces of everything and notes what is wanted where.
    fn enter(&mut self, plan: &Plan, in_place: InPlace<'_>) {
        self.enter_block(&plan.entry, in_place);
        let end = plan.entry.end;
        for (number, leaf) in plan.entry.results.iter().enumerate() {
            let Leaf::Array(value) = *leaf else {
                self.outputs.push(Output::Token);
                continue;
            };
            if let Origin::Parameter(parameter) = plan.values[value].origin {
                self.outputs.push(Output::Argument(parameter));
                continue;
            }
            self.outputs.push(Output::Computed);
            if in_register(&plan.values[value].shape) {
                continue;
            }
            let range = Range { start: 2 * end, end: FOREVER };
            let target = self.new_piece(range, self.bytes(value));
            let class = self.pieces[target as usize].class;
            self.classes[class as usize].fixed = Some(Place::Result(number));
            self.output_pieces.insert(number, target);
            self.want(end, value, target, WantKind::Output(number));
        }
    }

    fn want(&mut self, position: u32, value: ValueId, target: u32, kind: WantKind) {
        if let Some(piece) = self.piece_at(value, position) {
            self.may_meet.insert((piece, target));
        }
        self.wants.push(Want { position, value, target, kind });
    }

    fn enter_block(&mut self, block: &Block, in_place: InPlace<'_>) {
        for step in &block.steps {
            match step {
                Step::Compute(compute) => self.enter_compute(compute, in_place),
                Step::While(step) => {
                    self.loops.push((step.head, step.end));
                    for carry in &step.carries {
                        let Some(param) = self.piece(carry.param) else { continue };
                        let range = Range { start: 2 * step.end, end: 2 * step.end + 1 };
                        let back = self.new_piece(range, self.bytes(carry.param));
                        self.unite(param, back);
                        if let Some(result) = self.piece(carry.result) {
                            self.unite(param, result);
                        }
                        self.want(step.head, carry.init, param, WantKind::Init);
                        self.want(step.end, carry.next, back, WantKind::Next);
                    }
                    self.enter_block(&step.condition, in_place);
                    self.enter_block(&step.body, in_place);
                }
                Step::Conditional(step) => {
                    for branch in &step.branches {
                        self.enter_block(branch, in_place);
                        for (leaf, &result) in branch.results.iter().zip(&step.results) {
                            let Leaf::Array(value) = *leaf else { continue };
                            let Some(result) = self.piece(result) else { continue };
                            let range = Range { start: 2 * branch.end, end: 2 * branch.end + 1 };
                            let target = self.new_piece(range, self.bytes(value));
                            self.unite(result, target);
                            self.want(branch.end, value, target, WantKind::Branch);
                        }
                    }
                }
            }
        }
    }

    fn enter_compute(&mut self, compute: &Compute, in_place: InPlace<'_>) {
        for (number, leaf) in compute.results.iter().enumerate() {
            let Leaf::Array(result) = *leaf else { continue };
            let Some(result_piece) = self.piece(result) else { continue };
            for (index, &operand) in compute.operands.iter().enumerate() {
                let Leaf::Array(value) = operand else { continue };
                if self.bytes(value) != self.bytes(result)
                    || compute.operands[..index].contains(&operand)
                {
                    continue;
                }
                let Some(piece) = self.piece_at(value, compute.position) else { continue };
                // One that is read later on is not asked about: asking costs.
                if self.pieces[piece as usize].range.end != 2 * compute.position + 1 {
                    continue;
                }
                // An operand may occur several times; each occurrence must allow it.
                let mut same = (index..compute.operands.len())
                    .filter(|&other| compute.operands[other] == operand);
                if same.all(|other| in_place(compute, other, number)) {
                    self.may_meet.insert((piece, result_piece));
                    self.in_place.push((piece, result_piece));
                }
            }
        }
    }

    fn unite(&mut self, a: u32, b: u32) {
        let (mut into, mut from) = (self.pieces[a as usize].class, self.pieces[b as usize].class);
        if into == from {
            return;
        }
        if self.classes[into as usize].pieces.len() < self.classes[from as usize].pieces.len() {
            std::mem::swap(&mut into, &mut from);
        }
        let moved = std::mem::take(&mut self.classes[from as usize].pieces);
        for &piece in &moved {
            self.pieces[piece as usize].class = into;
        }
        let fixed = self.classes[from as usize].fixed;
        let target = &mut self.classes[into as usize];
        target.pieces.extend(moved);
        target.fixed = target.fixed.or(fixed);
    }

    /// Whether two classes can be one, and if so makes them one.
    fn try_unite(&mut self, a: u32, b: u32) -> bool {
        let (first, second) = (self.pieces[a as usize].class, self.pieces[b as usize].class);
        if first == second {
            return true;
        }
        let (one, other) = (&self.classes[first as usize], &self.classes[second as usize]);
        if one.bytes != other.bytes || (one.fixed.is_some() && other.fixed.is_some()) {
            return false;
        }
        let collide = one.pieces.iter().any(|&x| other.pieces.iter().any(|&y| self.collide(x, y)));
        if !collide {
            self.unite(a, b);
        }
        !collide
    }

    fn collide(&self, x: u32, y: u32) -> bool {
        let (a, b) = (self.pieces[x as usize].range, self.pieces[y as usize].range);
        if apart(a, b) {
            return false;
        }
        let meets = |(first, first_range): (u32, Range), (second, second_range): (u32, Range)| {
            self.may_meet.contains(&(first, second)) && first_range.end == second_range.start + 1
        };
        !meets((x, a), (y, b)) && !meets((y, b), (x, a))
    }

    /// Gives donated arguments to their outputs; those that cannot be used stay arguments.
    fn merge_outputs(&mut self) {
        for &(parameter, output) in self.donated {
            let Some(&Leaf::Array(value)) = self.plan.parameters.get(parameter) else { continue };
            let Some(piece) = self.piece(value) else { continue };
            let target = self.output_pieces.get(&output).copied();
            if target.is_some_and(|target| self.try_unite(piece, target)) {
                self.aliases.push((parameter, output));
                continue;
            }
            self.pieces[piece as usize].range = Range { start: 0, end: FOREVER };
            let class = self.class(piece);
            self.classes[class as usize].fixed = Some(Place::Argument(parameter));
        }
        self.merge_wants(|kind| matches!(kind, WantKind::Output(_)));
    }

    fn merge_flow(&mut self) {
        self.merge_wants(|kind| matches!(kind, WantKind::Next | WantKind::Branch));
        self.merge_wants(|kind| kind == WantKind::Init);
    }

    fn merge_wants(&mut self, which: impl Fn(WantKind) -> bool) {
        let wants = std::mem::take(&mut self.wants);
        for want in wants.iter().filter(|want| which(want.kind)) {
            if let Some(&piece) = self.piece_of.get(&want.value) {
                self.try_unite(piece, want.target);
            }
        }
        self.wants = wants;
    }

    fn merge_in_place(&mut self) {
        for (operand, result) in std::mem::take(&mut self.in_place) {
            self.try_unite(operand, result);
        }
    }

    /// Gives what dies before a result is first written that result's memory, the largest first, each
    /// where least is left over. Of equals the last comes first: in a chain of values that each become the
    /// next every second one then fits.
    fn lodge_in_results(&mut self) {
        let sorted = |class: &Class, pieces: &[Piece]| {
            let mut ranges: Vec<Range> =
                class.pieces.iter().map(|&piece| pieces[piece as usize].range).collect();
            ranges.sort_unstable_by_key(|range| range.start);
            ranges
        };
        let mut hosts: Vec<(u64, Place, Vec<Range>)> = Vec::new();
        let mut guests: Vec<(u64, usize, Vec<Range>)> = Vec::new();
        for (number, class) in self.classes.iter().enumerate() {
            match class.fixed {
                _ if class.pieces.is_empty() || class.bytes == 0 => {}
                Some(place @ Place::Result(_)) => {
                    hosts.push((class.bytes, place, sorted(class, &self.pieces)));
                }
                Some(_) => {}
                // What each thread has of its own is in nobody's result.
                None if self.shared_loop_of(class).is_some() => {}
                None => guests.push((class.bytes, number, sorted(class, &self.pieces))),
            }
        }
        hosts.sort_by_key(|host| host.0);
        let end = |ranges: &[Range]| ranges.last().map_or(0, |range| range.end);
        guests.sort_by_key(|(bytes, _, ranges)| std::cmp::Reverse((*bytes, end(ranges))));
        for (bytes, number, ranges) in guests {
            let first = hosts.partition_point(|host| host.0 < bytes);
            let free = |host: &&mut (u64, Place, Vec<Range>)| {
                host.2.iter().all(|own| ranges.iter().all(|range| apart(*own, *range)))
            };
            if let Some(host) = hosts[first..].iter_mut().find(free) {
                host.2.extend(ranges);
                self.classes[number].fixed = Some(host.1);
            }
        }
    }

    fn finish(mut self) -> Buffers {
        // Copies first, since a ring of them needs memory to turn in.
        let mut by_position: FxHashMap<u32, Vec<(ValueId, u32)>> = FxHashMap::default();
        for want in &self.wants {
            let source = self.piece_of.get(&want.value).map(|&piece| self.class(piece));
            let target = self.class(want.target);
            let turned = self.turns.iter().any(|turn| turn.replaces(want.position, source, target));
            if source != Some(target) && !turned {
                by_position.entry(want.position).or_default().push((want.value, want.target));
            }
        }
        let mut positions: Vec<u32> = by_position.keys().copied().collect();
        positions.sort_unstable();
        let mut ordered: Vec<(u32, Vec<(Source, u32)>)> = Vec::new();
        for position in positions {
            ordered.push((position, self.ordered(position, &by_position[&position])));
        }
        let (class_places, temp_bytes, scratch) = self.place_classes();
        let piece_place = |piece: u32| class_places[self.pieces[piece as usize].class as usize];
        let mut places = FxHashMap::default();
        for (value, known) in self.plan.values.iter() {
            let place = match (self.piece_of.get(&value), &known.origin) {
                _ if in_register(&known.shape) => Place::Register,
                (Some(&piece), _) => piece_place(piece),
                (None, Origin::Constant(_)) => Place::Constant(value),
                (None, Origin::Parameter(number)) => Place::Argument(*number),
                // Never mentioned again: a carry that turned out to be invariant.
                (None, Origin::Step) => continue,
            };
            places.insert(value, place);
        }
        let mut moves: FxHashMap<u32, Vec<Move>> = FxHashMap::default();
        for (position, list) in ordered {
            let list = list.into_iter().map(|(source, target)| {
                let from = match source {
                    Source::Value(value) => places[&value],
                    Source::Piece(piece) => piece_place(piece),
                };
                let class = &self.classes[self.class(target) as usize];
                Move { from, to: piece_place(target), bytes: class.bytes }
            });
            let list = list.filter(|step| step.bytes > 0).collect();
            moves.insert(position, list);
        }
        let mut turns: FxHashMap<u32, Vec<Turn>> = FxHashMap::default();
        for turn in &self.turns {
            let place = |class: u32| class_places[class as usize];
            turns.entry(turn.end).or_default().push(Turn {
                spare: place(turn.spare),
                first: place(turn.first),
                second: turn.second.map(place),
                bytes: self.classes[turn.spare as usize].bytes,
            });
        }
        let (outputs, aliases) = (self.outputs, self.aliases);
        Buffers { places, moves, turns, outputs, aliases, temp_bytes, scratch }
    }

    fn class(&self, piece: u32) -> u32 {
        self.pieces[piece as usize].class
    }

    /// Puts copies that happen at one time in an order in which none overwrites what another still
    /// reads; a ring is opened by a detour.
    fn ordered(&mut self, position: u32, copies: &[(ValueId, u32)]) -> Vec<(Source, u32)> {
        let mut pending: Vec<(Source, u32)> =
            copies.iter().map(|&(value, target)| (Source::Value(value), target)).collect();
        let mut out = Vec::new();
        while !pending.is_empty() {
            let free = (0..pending.len()).find(|&index| {
                let target = self.class(pending[index].1);
                let read = |(other, (source, _)): (usize, &(Source, u32))| {
                    other != index && self.source_class(*source) == Some(target)
                };
                !pending.iter().enumerate().any(read)
            });
            match free {
                Some(index) => out.push(pending.remove(index)),
                None => {
                    let (source, target) = pending[0];
                    let bytes = self.classes[self.class(target) as usize].bytes;
                    let range = Range { start: 2 * position, end: 2 * position + 1 };
                    let detour = self.new_piece(range, bytes);
                    out.push((source, detour));
                    pending[0].0 = Source::Piece(detour);
                }
            }
        }
        out
    }

    fn source_class(&self, source: Source) -> Option<u32> {
        match source {
            Source::Value(value) => self.piece_of.get(&value).map(|&piece| self.class(piece)),
            Source::Piece(piece) => Some(self.class(piece)),
        }
    }

    /// The place of each class, the size of the temporary memory, and that of threads' own by loop.
    fn place_classes(&self) -> (Vec<Place>, u64, FxHashMap<u32, u64>) {
        let mut places = vec![Place::Temp(0); self.classes.len()];
        let mut wanted: Vec<(Option<u32>, usize, u64, Vec<Range>)> = Vec::new();
        for (number, class) in self.classes.iter().enumerate() {
            match class.fixed {
                Some(fixed) => places[number] = fixed,
                None if class.pieces.is_empty() || class.bytes == 0 => {}
                None => {
                    let mut ranges: Vec<Range> =
                        class.pieces.iter().map(|&p| self.pieces[p as usize].range).collect();
                    if self.care == Care::Lavish {
                        ranges = vec![Range { start: 0, end: FOREVER }];
                    }
                    if self.care == Care::Hasty {
                        for range in ranges.iter_mut().filter(|range| range.end != FOREVER) {
                            range.end = range.end.saturating_sub(2).max(range.start);
                        }
                    }
                    ranges.sort_unstable_by_key(|range| range.start);
                    let bytes = class.bytes.next_multiple_of(temp_align(class.bytes));
                    wanted.push((self.shared_loop_of(class), number, bytes, ranges));
                }
            }
        }
        let mut place_those_of = |shared: Option<u32>, at: fn(u64) -> Place| {
            let own = || wanted.iter().filter(|want| want.0 == shared);
            let requests: Vec<(u64, &[Range])> =
                own().map(|(_, _, bytes, ranges)| (*bytes, ranges.as_slice())).collect();
            let (offsets, total) = place(&requests);
            for ((_, number, _, _), offset) in own().zip(offsets) {
                places[*number] = at(offset);
            }
            total
        };
        let total = place_those_of(None, Place::Temp);
        let scratch = self.shared.iter().map(|&(head, _)| {
            let own = place_those_of(Some(head), Place::Scratch);
            (head, own)
        });
        let scratch = scratch.collect();
        (places, total, scratch)
    }
}

fn apart(a: Range, b: Range) -> bool {
    a.end < b.start || b.end < a.start
}

#[derive(Clone, Copy)]
enum Source {
    Value(ValueId),
    Piece(u32),
}
