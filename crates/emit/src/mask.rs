//! Masks that hide the end of each row, `select(column <= row + number, x, y)`, as that of causal attention.
//!
//! A loop along the row is run in two pieces: up to the border, which the row sets, and beyond it, where what
//! the mask hides is not computed. Of a reduction the second piece is one element, if they are all the same; a sum
//! leaves it out only where it is zero. So every bit is as without pieces: the border is moved to where
//! vectors end, and so elements meet in the same lanes.

use rxla_base::Result;
use rxla_hlo::op::ComparisonDirection;
use rxla_hlo::{BinaryKind, ElementType, Op, UnaryKind};
use rxla_kernel::{
    BinaryOp, Block, ComparePredicate, Convert, LoopKind, Op as KernelOp, Scalar, Statement, Type,
    Value,
};

use crate::affine::{Affine, Index, Symbol};
use crate::emitter::{Definition, Emitter, Leaf, Node};
use crate::keep::Filling;
use crate::nest::{Body, Loop};
use crate::plan::NestId;
use crate::shapes::array;

/// Numbers of a magnitude up to this cannot wrap in a mask.
const LARGEST: i64 = 1 << 29;
/// Steps of a search.
const SEARCH: usize = 64;
/// A border stands at a multiple of so many elements, which whole rounds of vectors divide.
const BLOCK: i64 = 64;
/// Shorter rows are not worth two loops.
pub(crate) const SHORTEST: i64 = 2 * BLOCK;

/// A search for the border of the row that a loop runs along.
pub(crate) struct Probe {
    symbol: Symbol,
    depth: usize,
    border: Option<Affine>,
}

impl Emitter<'_> {
    /// Which operand of a `select` it is at this index, if the mask leaves no choice there.
    pub(crate) fn choice(&mut self, node: &Node) -> Result<Option<usize>> {
        let predicate = self.module[node.id].operands()[0];
        if array(&self.module[predicate].shape)?.rank() == 0 {
            return Ok(None);
        }
        let mask = self.operand(node, 0, node.index.clone());
        for (value, other) in [(true, 2), (false, 1)] {
            for reach in self.implied(&mask, value, &mut { SEARCH })? {
                if self.is_negative(&reach) {
                    return Ok(Some(other));
                }
            }
        }
        Ok(None)
    }

    /// Whether an expression is below zero because a column in it lies beyond its border. Else notes what can be
    /// made of it.
    fn is_negative(&mut self, reach: &Affine) -> bool {
        for &(symbol, factor) in &reach.terms {
            if factor != -1 {
                continue;
            }
            let border = reach.plus(&Affine::symbol(symbol));
            let info = &self.symbols[symbol.0 as usize];
            if let Some(beyond) = &info.beyond {
                let further = border.plus(&beyond.times(-1));
                return further.as_constant().is_some_and(|further| further <= 0);
            }
            if let (Some(learned), Some(origin)) = (&mut self.learned, info.origin)
                && !learned.borders.contains(&origin)
            {
                learned.borders.push(origin);
            }
            let depth = self.depth_of(&border);
            if let Some(probe) = &mut self.probe
                && probe.symbol == symbol
                && depth < probe.depth
            {
                probe.border.get_or_insert(border);
            }
        }
        false
    }

    /// What is at least zero where a predicate has this value.
    fn implied(&mut self, node: &Node, value: bool, left: &mut usize) -> Result<Vec<Affine>> {
        let Some(less) = left.checked_sub(1) else { return Ok(Vec::new()) };
        *left = less;
        if let Some(inner) = self.passed(node)? {
            return self.implied(&inner, value, left);
        }
        if self.frames[node.frame].leaves.contains_key(&node.id) {
            return Ok(Vec::new());
        }
        let operand = |emitter: &Self, k: usize| emitter.operand(node, k, node.index.clone());
        let module = self.module;
        match &module[node.id].op {
            Op::Unary(op) if op.kind == UnaryKind::Not => {
                let inner = operand(self, 0);
                self.implied(&inner, !value, left)
            }
            // Where both hold, each does; where neither holds, the same.
            Op::Binary(op)
                if (op.kind, value) == (BinaryKind::And, true)
                    || (op.kind, value) == (BinaryKind::Or, false) =>
            {
                let [a, b] = [operand(self, 0), operand(self, 1)];
                let mut found = self.implied(&a, value, left)?;
                found.extend(self.implied(&b, value, left)?);
                Ok(found)
            }
            Op::Compare(op) => {
                use ComparisonDirection::{Eq, Ge, Gt, Le, Lt, Ne};
                let (sign, strict) = match (op.direction, value) {
                    (Ge, true) | (Lt, false) => (1, 0),
                    (Gt, true) | (Le, false) => (1, 1),
                    (Le, true) | (Gt, false) => (-1, 0),
                    (Lt, true) | (Ge, false) => (-1, 1),
                    (Eq | Ne, _) => return Ok(Vec::new()),
                };
                let [a, b] = [operand(self, 0), operand(self, 1)];
                let Some(a) = self.counted(&a, left)? else { return Ok(Vec::new()) };
                let Some(b) = self.counted(&b, left)? else { return Ok(Vec::new()) };
                let difference = a.plus(&b.times(-1)).times(sign).plus_constant(-strict);
                Ok(self.is_tame(&difference).then_some(difference).into_iter().collect())
            }
            _ => Ok(Vec::new()),
        }
    }

    /// The node that this one only passes on.
    fn passed(&mut self, node: &Node) -> Result<Option<Node>> {
        let passes = match self.frames[node.frame].leaves.get(&node.id) {
            Some(Leaf::Outer(..)) => true,
            Some(Leaf::Sources(..) | Leaf::Elements(_)) => false,
            None => matches!(
                self.module[node.id].op,
                Op::Broadcast(_) | Op::Reshape(_) | Op::Bitcast(_) | Op::Copy(_)
            ),
        };
        Ok(if passes { self.needs(node)?.into_iter().next() } else { None })
    }

    /// An integer element as an expression of indices and of numbers.
    fn counted(&mut self, node: &Node, left: &mut usize) -> Result<Option<Affine>> {
        let Some(less) = left.checked_sub(1) else { return Ok(None) };
        *left = less;
        let shape = array(&self.module[node.id].shape)?;
        if !matches!(shape.element_type, ElementType::S32 | ElementType::S64) {
            return Ok(None);
        }
        let scalar = shape.rank() == 0;
        if let Some(inner) = self.passed(node)? {
            return self.counted(&inner, left);
        }
        let is_leaf = self.frames[node.frame].leaves.contains_key(&node.id);
        let module = self.module;
        let found = match &module[node.id].op {
            _ if is_leaf => None,
            Op::Constant(constant) => {
                let literal = constant.literal.array();
                let first = literal.integer(0);
                let same = (1..literal.len()).all(|at| literal.integer(at) == first);
                first.filter(|_| same).map(Affine::constant)
            }
            Op::Iota(op) => Some(node.index[op.iota_dimension as usize].clone()),
            Op::Convert(_) if !scalar => {
                let inner = self.operand(node, 0, node.index.clone());
                return self.counted(&inner, left);
            }
            Op::Binary(op) if !scalar => {
                let sign = match op.kind {
                    BinaryKind::Add => 1,
                    BinaryKind::Subtract => -1,
                    _ => return Ok(None),
                };
                let [a, b] = [0, 1].map(|k| self.operand(node, k, node.index.clone()));
                let Some(a) = self.counted(&a, left)? else { return Ok(None) };
                let Some(b) = self.counted(&b, left)? else { return Ok(None) };
                Some(a.plus(&b.times(sign)))
            }
            _ => None,
        };
        let found = match found {
            // That it is the same along the row shows when it is looked for.
            None if scalar || is_leaf => Some(self.number(node)?),
            found => found,
        };
        Ok(found.filter(|found| self.is_tame(found)))
    }

    /// Whether nothing can have wrapped on the way to an expression, also not in 32 bits.
    fn is_tame(&self, expression: &Affine) -> bool {
        let (low, high) = self.range(expression);
        -2 * LARGEST <= low && high <= 2 * LARGEST
    }

    /// A number that only the run knows. Borders made of it are no borders if it is large; see [`Emitter::end`].
    fn number(&mut self, node: &Node) -> Result<Affine> {
        let known = self.caches.iter().rev().find_map(|cache| cache.numbers.get(node));
        if let Some(known) = known {
            return Ok(known.clone());
        }
        let placed = self.element(node)?;
        let value = placed.element.one()?;
        let depth = self.placed_at(placed.depth);
        let value = match array(&self.module[node.id].shape)?.element_type {
            ElementType::S64 => value,
            _ => self.at(depth, |b| b.convert(Convert::SignExtend, value, Scalar::I64)),
        };
        let number = Affine::symbol(self.value_symbol(value, -LARGEST, LARGEST, depth));
        self.cache(depth).numbers.insert(node.clone(), number.clone());
        Ok(number)
    }

    /// Runs a loop in two pieces, if there is a mask in it that has a border: gives what is carried.
    pub(crate) fn bordered(
        &mut self,
        (nest, index): (NestId, &Index),
        (each, kind): (&Loop, LoopKind),
        carried: &[Value],
        body: &mut Body<'_>,
    ) -> Result<Option<Vec<Value>>> {
        let size = each.size();
        let Some(border) = self.border(nest, index, each, carried, body)? else { return Ok(None) };
        let hidden = match carried {
            [] => None,
            [sum] => match self.hidden(nest, index, each, &border, *sum, body)? {
                Some(hidden) => Some(hidden),
                None => return Ok(None),
            },
            [_, _, ..] => return Ok(None),
        };
        let end = self.end(&border, size);
        let (first, last) = (self.builder.index(0), self.builder.index(size));
        let is_less = self.builder.compare(ComparePredicate::Slt, end, last);
        let (high, used) = match hidden {
            Some((BinaryOp::Add, element)) => {
                let zero = self.builder.ty(element);
                let zero = self.builder.constant(zero, 0);
                let is_zero = self.builder.compare(ComparePredicate::FEq, element, zero);
                let high = self.builder.select(is_zero, end, last);
                (high, self.builder.binary(BinaryOp::And, is_less, is_zero))
            }
            _ => (end, is_less),
        };
        let sums =
            self.for_loop(kind, (first, high, 1), carried, |emitter, variable, carried| {
                let index = emitter.loop_index(nest, index, each, variable, (0, size));
                body(emitter, &index, carried)
            })?;
        if let (Some((op, element)), [sum]) = (hidden, &sums[..]) {
            self.keep_hidden(nest, index, (each, kind, high), &border, &sums, body)?;
            let all = self.builder.binary(op, *sum, element);
            return Ok(Some(vec![self.builder.select(used, all, *sum)]));
        }
        self.for_loop(kind, (end, last, 1), &[], |emitter, variable, _| {
            let index = emitter.index_beyond(nest, index, each, variable, &border);
            body(emitter, &index, &[])
        })?;
        Ok(Some(Vec::new()))
    }

    /// Writes down what a reduction keeps of the end of its row.
    fn keep_hidden(
        &mut self,
        nest: NestId,
        index: &Index,
        (each, kind, end): (&Loop, LoopKind, Value),
        border: &Affine,
        sums: &[Value],
        body: &mut Body<'_>,
    ) -> Result<()> {
        let NestId::Inner(reduction) = nest else { return Ok(()) };
        if !self.fills(reduction) {
            return Ok(());
        }
        let last = self.builder.index(each.size());
        self.fill(reduction, Filling::All);
        let stored = self.for_loop(kind, (end, last, 1), &[], |emitter, variable, _| {
            let index = emitter.index_beyond(nest, index, each, variable, border);
            body(emitter, &index, sums).map(|_| Vec::new())
        });
        self.fill(reduction, Filling::Shown);
        stored.map(drop)
    }

    /// Whether a column lies beyond its border.
    pub(crate) fn is_beyond(&self, index: &Index) -> bool {
        let symbols = index.iter().flat_map(|own| &own.terms);
        symbols.into_iter().any(|term| self.symbols[term.0.0 as usize].beyond.is_some())
    }

    /// Whether the border of the loop that an index runs along is looked for.
    pub(crate) fn probes(&self, index: &Index) -> bool {
        let Some(probe) = &self.probe else { return false };
        index.iter().any(|own| own.factor(probe.symbol) != 0)
    }

    /// The last column that is shown, by a look at what the loop would do.
    fn border(
        &mut self,
        nest: NestId,
        index: &Index,
        each: &Loop,
        carried: &[Value],
        body: &mut Body<'_>,
    ) -> Result<Option<Affine>> {
        let (_, probe) = self.tried(carried, |emitter, variable, sums| {
            let index = emitter.loop_index(nest, index, each, variable, (0, each.size()));
            let symbol = Symbol(emitter.symbols.len() as u32 - 1);
            let probe = Probe { symbol, depth: emitter.depth(), border: None };
            let outer = emitter.probe.replace(probe);
            let result = body(emitter, &index, sums);
            let probe = std::mem::replace(&mut emitter.probe, outer);
            result.map(|next| (next, probe))
        })?;
        Ok(probe.and_then(|probe| probe.border))
    }

    /// How a reduction takes what is hidden, and the element that all of that is.
    fn hidden(
        &mut self,
        nest: NestId,
        index: &Index,
        each: &Loop,
        border: &Affine,
        sum: Value,
        body: &mut Body<'_>,
    ) -> Result<Option<(BinaryOp, Value)>> {
        let (block, varying) = self.tried(&[sum], |emitter, variable, sums| {
            let index = emitter.index_beyond(nest, index, each, variable, border);
            Ok((body(emitter, &index, sums)?, [variable, sums[0]]))
        })?;
        let Some((Statement::Let { result, op }, before)) = block.statements.split_last() else {
            return Ok(None);
        };
        let KernelOp::Binary(op, a, b) = *op else { return Ok(None) };
        let element = match varying.contains(&a) {
            true => b,
            false => a,
        };
        let combines = block.yields == [*result]
            && [a, b].contains(&varying[1])
            && !varying.contains(&element);
        let takes = match op {
            BinaryOp::Add => self.builder.ty(element).scalar.is_float(),
            // Once is as good as often.
            _ => op.is_choice() || matches!(op, BinaryOp::And | BinaryOp::Or),
        };
        let same = before.iter().all(|statement| match statement {
            Statement::Let { op, .. } => {
                let mut same = op.is_pure();
                op.for_each_operand(|operand| same &= !varying.contains(&operand));
                same
            }
            _ => false,
        });
        if !combines || !takes || !same {
            return Ok(None);
        }
        for statement in before {
            self.builder.push(statement.clone());
        }
        Ok(Some((op, element)))
    }

    /// What a loop's body would be. What it puts before the loop stays there.
    fn tried<R>(
        &mut self,
        carried: &[Value],
        fill: impl FnOnce(&mut Self, Value, &[Value]) -> Result<(Vec<Value>, R)>,
    ) -> Result<(Block, R)> {
        let variable = self.builder.fresh(Type::I64);
        let sums: Vec<Value> = carried
            .iter()
            .map(|&value| {
                let ty = self.builder.ty(value);
                self.builder.fresh(ty)
            })
            .collect();
        self.open();
        let filled = fill(self, variable, &sums);
        let (yields, rest) = match filled {
            Ok((yields, rest)) => (yields, Ok(rest)),
            Err(error) => (Vec::new(), Err(error)),
        };
        let block = self.close(yields);
        Ok((block, rest?))
    }

    /// The index with a loop's variable that is past a border.
    fn index_beyond(
        &mut self,
        nest: NestId,
        index: &Index,
        each: &Loop,
        variable: Value,
        border: &Affine,
    ) -> Index {
        let index = self.loop_index(nest, index, each, variable, (0, each.size()));
        let symbol = self.symbols.last_mut().expect("that of the loop");
        symbol.beyond = Some(border.clone());
        index
    }

    /// Where what is hidden begins, in whole blocks.
    fn end(&mut self, border: &Affine, size: i64) -> Value {
        let last = self.position(border);
        let b = &mut *self.builder;
        let (zero, all) = (b.index(0), b.index(size));
        // One more, and up to where a block ends.
        let more = b.index(BLOCK);
        let end = b.add(last, more);
        let end = b.binary(BinaryOp::SMax, end, zero);
        let blocks = b.index(!(BLOCK - 1));
        let end = b.binary(BinaryOp::And, end, blocks);
        let mut end = b.binary(BinaryOp::SMin, end, all);
        for &(symbol, _) in &border.terms {
            let info = &self.symbols[symbol.0 as usize];
            let Definition::Value(value) = info.definition else { continue };
            if (info.low, info.high) != (-LARGEST, LARGEST) {
                continue;
            }
            // The mask's own numbers might wrap.
            let limit = b.index(LARGEST);
            let distance = b.add(value, limit);
            let twice = b.index(2 * LARGEST);
            let tame = b.compare(ComparePredicate::Ult, distance, twice);
            end = b.select(tame, end, all);
        }
        end
    }
}
