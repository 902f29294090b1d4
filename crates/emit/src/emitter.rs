//! The state of emission: the function under construction, the index symbols, the frames of inlined
//! computations, and what has been computed in each open block.

use rustc_hash::FxHashMap;
use rxla_base::Result;
use rxla_hlo::{InstructionId, Module};
use rxla_kernel::{Builder, LoopKind, Statement, Value};

use crate::affine::{Affine, Index, Symbol};
use crate::keep::Keep;
use crate::mask::Probe;
use crate::plan::{Learned, NestId, NestPlan, Origin, Plan};
use crate::transpose::Staging;
use crate::{Element, Source};

pub(crate) struct Emitter<'a> {
    pub(crate) builder: &'a mut Builder,
    pub(crate) module: &'a Module,
    pub(crate) plan: &'a Plan,
    /// `Some` in a run that only looks.
    pub(crate) learned: Option<Learned>,
    pub(crate) symbols: Vec<SymbolInfo>,
    pub(crate) groups: Vec<Group>,
    pub(crate) frames: Vec<Frame>,
    /// What is known in each open block from `base` on.
    pub(crate) caches: Vec<Cache>,
    /// How many blocks were open at the start: nothing is put before them.
    pub(crate) base: usize,
    /// How deep a value stands at least: inside a conditional block nothing leaves it.
    pub(crate) floor: usize,
    /// The block of a turned nest that is being emitted.
    pub(crate) staging: Option<Staging>,
    /// Which of the nests of results is being emitted.
    pub(crate) nest_number: usize,
    /// The frames of calls.
    pub(crate) frame_numbers: FxHashMap<(usize, InstructionId), usize>,
    /// How many evaluations are under way inside each other.
    pub(crate) nesting: usize,
    /// The loop whose border is looked for.
    pub(crate) probe: Option<Probe>,
    /// Rows that are written down where they are first reduced.
    pub(crate) keeps: Vec<Keep>,
    /// What is emitted, if it is no fused computation: it has users that are of no concern here.
    pub(crate) alone: Option<InstructionId>,
}

/// What is known of an index value.
#[derive(Clone, Debug)]
pub(crate) struct SymbolInfo {
    /// Its least and its greatest value.
    pub(crate) low: i64,
    pub(crate) high: i64,
    /// In which block it is defined.
    pub(crate) depth: usize,
    pub(crate) definition: Definition,
    /// For a loop's variable in a run that looks.
    pub(crate) origin: Option<Origin>,
    /// For a column that a mask hides: those after this one are.
    pub(crate) beyond: Option<Affine>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Definition {
    Value(Value),
    /// One of the loops that run as one.
    Member(usize),
}

/// Loops that run as one: the value counts through all members, the last one fastest.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) value: Value,
    pub(crate) depth: usize,
    pub(crate) members: Vec<(Symbol, i64)>,
}

/// A computation inlined at one place: what its parameters (or, for a single instruction, its
/// operands) are.
#[derive(Default)]
pub(crate) struct Frame {
    pub(crate) leaves: FxHashMap<InstructionId, Leaf>,
    /// The deepest block in which one of the leaves is defined.
    pub(crate) depth: usize,
}

#[derive(Clone, Debug)]
pub(crate) enum Leaf {
    /// The leaves of an operand, and the number of the first among those of all operands.
    Sources(Vec<Source>, usize),
    /// An instruction of another frame.
    Outer(usize, InstructionId),
    Elements(Vec<Placed>),
}

/// An element and the depth of the block in which it is defined.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Placed {
    pub(crate) element: Element,
    pub(crate) depth: usize,
}

/// An element of a leaf of an instruction's value.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Node {
    pub(crate) frame: usize,
    pub(crate) id: InstructionId,
    pub(crate) leaf: usize,
    pub(crate) index: Index,
}

#[derive(Default)]
pub(crate) struct Cache {
    pub(crate) elements: FxHashMap<Node, Placed>,
    pub(crate) positions: FxHashMap<Affine, Value>,
    pub(crate) divisions: FxHashMap<(Affine, i64), (Affine, Affine)>,
    pub(crate) clamps: FxHashMap<(Affine, i64), Affine>,
    /// Elements used as indices, between 0 and a limit.
    pub(crate) starts: FxHashMap<(Node, i64), Affine>,
    /// Elements that masks count with.
    pub(crate) numbers: FxHashMap<Node, Affine>,
    /// The loop whose body the block is, in a run that looks.
    pub(crate) origin: Option<Origin>,
}

/// Blocks put aside while something is built before them.
struct Suspended {
    blocks: rxla_kernel::builder::Suspended,
    caches: Vec<Cache>,
}

impl<'a> Emitter<'a> {
    pub(crate) fn new(builder: &'a mut Builder, module: &'a Module, plan: &'a Plan) -> Emitter<'a> {
        let base = builder.depth();
        Emitter {
            builder,
            module,
            plan,
            learned: None,
            symbols: Vec::new(),
            groups: Vec::new(),
            frames: Vec::new(),
            caches: vec![Cache::default()],
            base,
            floor: base,
            staging: None,
            nest_number: 0,
            frame_numbers: FxHashMap::default(),
            nesting: 0,
            probe: None,
            keeps: Vec::new(),
            alone: None,
        }
    }

    /// Builds in the block at `depth`, or in the conditional block around if that is deeper.
    pub(crate) fn at<R>(&mut self, depth: usize, fill: impl FnOnce(&mut Builder) -> R) -> R {
        let suspended = self.builder.suspend(depth.max(self.floor));
        let result = fill(self.builder);
        self.builder.resume(suspended);
        result
    }

    /// As [`Emitter::at`], with all of the emitter.
    pub(crate) fn inside<R>(&mut self, depth: usize, fill: impl FnOnce(&mut Self) -> R) -> R {
        let depth = depth.max(self.floor);
        let suspended = Suspended {
            blocks: self.builder.suspend(depth),
            caches: self.caches.split_off(depth - self.base + 1),
        };
        let result = fill(self);
        self.builder.resume(suspended.blocks);
        self.caches.extend(suspended.caches);
        result
    }

    pub(crate) fn depth(&self) -> usize {
        self.builder.depth()
    }

    /// Where something that stands at `depth` really goes.
    pub(crate) fn placed_at(&self, depth: usize) -> usize {
        depth.max(self.floor)
    }

    pub(crate) fn cache(&mut self, depth: usize) -> &mut Cache {
        let depth = depth.max(self.floor);
        &mut self.caches[depth - self.base]
    }

    /// `for variable in low..high` with carried values. The block is closed also when `body` fails.
    pub(crate) fn for_loop(
        &mut self,
        kind: LoopKind,
        (low, high, step): (Value, Value, i64),
        init: &[Value],
        body: impl FnOnce(&mut Self, Value, &[Value]) -> Result<Vec<Value>>,
    ) -> Result<Vec<Value>> {
        let variable = self.builder.fresh(rxla_kernel::Type::I64);
        let carried: Vec<_> = init
            .iter()
            .map(|&init| {
                let ty = self.builder.ty(init);
                rxla_kernel::Carried {
                    init,
                    param: self.builder.fresh(ty),
                    result: self.builder.fresh(ty),
                }
            })
            .collect();
        let params: Vec<Value> = carried.iter().map(|carried| carried.param).collect();
        let results = carried.iter().map(|carried| carried.result).collect();
        self.open();
        let yields = body(self, variable, &params);
        let (yields, failure) = match yields {
            Ok(yields) => (yields, None),
            Err(error) => (params, Some(error)),
        };
        let body = self.close(yields);
        self.builder.push(Statement::For { kind, variable, low, high, step, carried, body });
        match failure {
            None => Ok(results),
            Some(error) => Err(error),
        }
    }

    /// `if condition`, with the values of either block.
    pub(crate) fn if_else(
        &mut self,
        condition: Value,
        then: impl FnOnce(&mut Self) -> Result<Vec<Value>>,
        otherwise: impl FnOnce(&mut Self) -> Result<Vec<Value>>,
    ) -> Result<Vec<Value>> {
        let floor = self.floor;
        let mut failure = None;
        let mut block =
            |emitter: &mut Self, fill: &mut dyn FnMut(&mut Self) -> Result<Vec<Value>>| {
                emitter.open();
                emitter.floor = emitter.depth();
                let yields = fill(emitter).unwrap_or_else(|error| {
                    failure = Some(error);
                    Vec::new()
                });
                emitter.floor = floor;
                emitter.close(yields)
            };
        let mut then = Some(then);
        let mut otherwise = Some(otherwise);
        let then = block(self, &mut |emitter| then.take().expect("once")(emitter));
        let otherwise = block(self, &mut |emitter| otherwise.take().expect("once")(emitter));
        if let Some(error) = failure {
            return Err(error);
        }
        let results: Vec<Value> = then
            .yields
            .iter()
            .map(|&value| {
                let ty = self.builder.ty(value);
                self.builder.fresh(ty)
            })
            .collect();
        let results_of = results.clone();
        self.builder.push(Statement::If { condition, results, then, otherwise });
        Ok(results_of)
    }

    pub(crate) fn open(&mut self) {
        self.builder.open();
        self.caches.push(Cache::default());
    }

    pub(crate) fn close(&mut self, yields: Vec<Value>) -> rxla_kernel::Block {
        self.caches.pop();
        self.builder.close(yields)
    }

    pub(crate) fn nest_plan(&mut self, id: NestId, dims: &[i64]) -> NestPlan {
        if let Some(learned) = &mut self.learned
            && !learned.nests.iter().any(|nest| nest.0 == id)
        {
            learned.nests.push((id, dims.to_vec()));
        }
        self.plan.nest(id, dims)
    }

    pub(crate) fn symbol(&mut self, info: SymbolInfo) -> Symbol {
        self.symbols.push(info);
        Symbol(self.symbols.len() as u32 - 1)
    }

    /// An index value defined in the block at `depth`.
    pub(crate) fn value_symbol(
        &mut self,
        value: Value,
        low: i64,
        high: i64,
        depth: usize,
    ) -> Symbol {
        let definition = Definition::Value(value);
        self.symbol(SymbolInfo { low, high, depth, definition, origin: None, beyond: None })
    }
}
