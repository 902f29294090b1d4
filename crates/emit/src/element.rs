//! The lazy evaluator: one element of an instruction, from the elements it needs.
//!
//! A node is an element of an instruction at a symbolic index. What a node needs ([`needs`]) and
//! how it is computed from that ([`compute`]) are apart, so that chains of any length run on a stack
//! of nodes, not on the program's. A node is computed once per block, and as far out as its index
//! allows: what does not depend on a loop stands before it.

use rxla_base::{Error, Result};
use rxla_hlo::{Dims, Op};

use crate::affine::{Affine, Index, linear};
use crate::emitter::{Emitter, Leaf, Node, Placed};
use crate::shapes::{
    array, check_plain, leaf_shape, leaves_before, operand_of_leaf, unimplemented,
};
use crate::{Element, Source, dot, dynamic, ops, reduce, scalar, support, window};

/// What an op needs before it can be computed.
type Needs = Vec<Node>;

/// More evaluations inside each other than this would end the stack.
const MOST_NESTED: usize = 64;

impl Emitter<'_> {
    pub(crate) fn element(&mut self, node: &Node) -> Result<Placed> {
        if self.nesting >= MOST_NESTED {
            return Err(Error::unimplemented("a fusion with indices of indices this deep"));
        }
        self.nesting += 1;
        let result = self.evaluate(node);
        self.nesting -= 1;
        result
    }

    fn evaluate(&mut self, node: &Node) -> Result<Placed> {
        let mut stack = vec![node.clone()];
        while let Some(top) = stack.last().cloned() {
            if self.known(&top).is_some() {
                stack.pop();
                continue;
            }
            let needs = self.needs(&top)?;
            let before = stack.len();
            for need in needs.iter().rev() {
                if self.known(need).is_none() {
                    stack.push(need.clone());
                }
            }
            if stack.len() == before {
                let placed = self.compute(&top, &needs)?;
                self.remember(top, placed);
                stack.pop();
            }
        }
        self.known(node).ok_or_else(|| Error::internal("an element that was computed is gone"))
    }

    pub(crate) fn known(&self, node: &Node) -> Option<Placed> {
        self.caches.iter().rev().find_map(|cache| cache.elements.get(node)).copied()
    }

    pub(crate) fn remember(&mut self, node: Node, placed: Placed) {
        self.cache(placed.depth).elements.insert(node, placed);
    }

    /// The node of an operand at an index.
    pub(crate) fn operand(&self, node: &Node, number: usize, index: Index) -> Node {
        let id = self.module[node.id].operands()[number];
        Node { frame: node.frame, id, leaf: 0, index }
    }

    pub(crate) fn needs(&mut self, node: &Node) -> Result<Needs> {
        if let Some(leaf) = self.frames[node.frame].leaves.get(&node.id) {
            return Ok(match leaf {
                Leaf::Outer(frame, id) => vec![Node { frame: *frame, id: *id, ..node.clone() }],
                Leaf::Sources(..) | Leaf::Elements(_) => Vec::new(),
            });
        }
        if let Some(keeper) = self.keeper(node) {
            return Ok(vec![keeper]);
        }
        let module = self.module;
        let instruction = &module[node.id];
        support::check(&instruction.op)?;
        let same = |emitter: &Self, number: usize| {
            // Predicates and bounds may be scalars.
            let rank = array(module.operand_shape(node.id, number))?.rank();
            let index = if rank == 0 { Index::new() } else { node.index.clone() };
            Ok::<Node, Error>(emitter.operand(node, number, index))
        };
        let through = |emitter: &Self, index: Index| vec![emitter.operand(node, 0, index)];
        Ok(match &instruction.op {
            Op::Unary(_)
            | Op::Binary(_)
            | Op::Compare(_)
            | Op::Clamp(_)
            | Op::Convert(_)
            | Op::ReducePrecision(_)
            | Op::Map(_) => {
                let count = instruction.operands().len();
                (0..count).map(|number| same(self, number)).collect::<Result<_>>()?
            }
            Op::Select(_) => match self.choice(node)? {
                Some(number) => vec![same(self, number)?],
                None => (0..3).map(|number| same(self, number)).collect::<Result<_>>()?,
            },
            Op::Copy(_) | Op::AddDependency(_) | Op::OptimizationBarrier(_) | Op::Domain(_) => {
                vec![Node { leaf: node.leaf, ..self.operand(node, 0, node.index.clone()) }]
            }
            Op::Broadcast(op) => {
                let operand = array(module.operand_shape(node.id, 0))?;
                let pick = |(&size, &dimension): (&i64, &i64)| {
                    if size == 1 {
                        Affine::default()
                    } else {
                        node.index[dimension as usize].clone()
                    }
                };
                through(self, operand.dims.iter().zip(&op.dimensions).map(pick).collect())
            }
            Op::Reshape(_) | Op::Bitcast(_) => {
                let from = array(module.operand_shape(node.id, 0))?;
                let to = array(&instruction.shape)?;
                check_plain(from)?;
                check_plain(to)?;
                if from.element_type != to.element_type {
                    return Err(unimplemented("bitcast", "to another element type"));
                }
                let index = self.reshaped(&node.index, &to.dims, &from.dims);
                through(self, index)
            }
            Op::Transpose(op) => {
                let mut index = node.index.clone();
                for (own, &dimension) in node.index.iter().zip(&op.dimensions) {
                    index[dimension as usize] = own.clone();
                }
                through(self, index)
            }
            Op::Slice(op) => {
                let pick = |(own, slice): (&Affine, &rxla_hlo::op::SliceDimension)| {
                    own.times(slice.stride).plus_constant(slice.start)
                };
                through(self, node.index.iter().zip(&op.slice).map(pick).collect())
            }
            Op::Reverse(op) => {
                let dims = &array(&instruction.shape)?.dims;
                let mut index = node.index.clone();
                for &dimension in &op.dimensions {
                    let own = &mut index[dimension as usize];
                    *own = own.times(-1).plus_constant(dims[dimension as usize] - 1);
                }
                through(self, index)
            }
            Op::BitcastConvert(_) => {
                let from = array(module.operand_shape(node.id, 0))?.element_type;
                let to = array(&instruction.shape)?.element_type;
                let (narrow, wide) = (from.bit_width(), to.bit_width());
                if narrow > wide {
                    through(self, node.index[..node.index.len() - 1].into())
                } else if narrow < wide {
                    let part = |at| {
                        let mut index = node.index.clone();
                        index.push(Affine::constant(at));
                        self.operand(node, 0, index)
                    };
                    (0..(wide / narrow) as i64).map(part).collect()
                } else {
                    through(self, node.index.clone())
                }
            }
            Op::GetTupleElement(op) => {
                let tuple = module.operand_shape(node.id, 0);
                let before = leaves_before(tuple, op.index as usize)?;
                vec![Node { leaf: before + node.leaf, ..self.operand(node, 0, node.index.clone()) }]
            }
            Op::Tuple(_) => {
                let (number, leaf) = operand_of_leaf(module, node.id, node.leaf)?;
                vec![Node { leaf, ..self.operand(node, number, node.index.clone()) }]
            }
            Op::Fusion(op) => vec![self.called(node, op.calls)?],
            Op::Call(op) => vec![self.called(node, op.to_apply)?],
            Op::Concatenate(op) => dynamic::concatenate_needs(self, node, op)?,
            Op::Pad(op) => dynamic::pad_needs(self, node, op)?,
            Op::DynamicSlice(_) => dynamic::slice_needs(self, node)?,
            Op::Gather(op) => dynamic::gather_needs(self, node, op)?,
            Op::Constant(_)
            | Op::Iota(_)
            | Op::DynamicUpdateSlice(_)
            | Op::Reduce(_)
            | Op::ReduceWindow(_)
            | Op::Dot(_) => Vec::new(),
            other => return Err(Error::internal(format!("`{}` has no needs", other.name()))),
        })
    }

    fn compute(&mut self, node: &Node, needs: &[Node]) -> Result<Placed> {
        if let Some(leaf) = self.frames[node.frame].leaves.get(&node.id).cloned() {
            return match leaf {
                Leaf::Sources(sources, first) => {
                    self.leaf(node, sources[node.leaf], first + node.leaf)
                }
                Leaf::Elements(elements) => Ok(elements[node.leaf]),
                Leaf::Outer(..) => self.forwarded(&needs[0]),
            };
        }
        if let Some(kept) = self.kept(node)? {
            return Ok(kept);
        }
        let operands: Vec<Placed> = needs
            .iter()
            .map(|need| self.known(need).ok_or_else(|| Error::internal("an operand is gone")))
            .collect::<Result<_>>()?;
        let depth = operands.iter().map(|operand| operand.depth).max().unwrap_or(self.base);
        let depth = self.placed_at(depth);
        let x: Vec<Element> = operands.iter().map(|operand| operand.element).collect();
        let module = self.module;
        let instruction = &module[node.id];
        let element_type = |number: usize| {
            array(module.operand_shape(node.id, number)).map(|shape| shape.element_type)
        };
        let own_type = || array(&instruction.shape).map(|shape| shape.element_type);
        let element = match &instruction.op {
            Op::Unary(op) => {
                let ty = element_type(0)?;
                self.at(depth, |b| ops::unary(b, op.kind, ty, x[0]))?
            }
            Op::Binary(op) => {
                let ty = element_type(0)?;
                self.at(depth, |b| ops::binary(b, op.kind, ty, x[0], x[1]))?
            }
            Op::Compare(op) => {
                let ty = element_type(0)?;
                self.at(depth, |b| ops::compare(b, op, ty, x[0], x[1]))?
            }
            // Where a mask leaves no choice.
            Op::Select(_) if operands.len() == 1 => return Ok(operands[0]),
            Op::Select(_) => {
                let condition = x[0].one()?;
                self.at(depth, |b| ops::select(b, condition, x[1], x[2]))?
            }
            Op::Clamp(_) => {
                let ty = own_type()?;
                self.at(depth, |b| ops::clamp(b, ty, [x[0], x[1], x[2]]))?
            }
            Op::Convert(_) => {
                let (from, to) = (element_type(0)?, own_type()?);
                self.at(depth, |b| ops::convert(b, from, to, x[0]))?
            }
            Op::ReducePrecision(op) => {
                let ty = own_type()?;
                let (exponent, mantissa) = (op.exponent_bits, op.mantissa_bits);
                self.at(depth, |b| ops::reduce_precision(b, ty, x[0], exponent, mantissa))?
            }
            Op::BitcastConvert(_) => {
                let last = node.index.last().cloned().unwrap_or_default();
                let depth = self.placed_at(depth.max(self.depth_of(&last)));
                let element = self.bitcast(node, depth, &x)?;
                return Ok(Placed { element, depth });
            }
            Op::Map(op) => return self.applied(op.to_apply, operands, 0),
            Op::Copy(_)
            | Op::AddDependency(_)
            | Op::OptimizationBarrier(_)
            | Op::Domain(_)
            | Op::Broadcast(_)
            | Op::Reshape(_)
            | Op::Bitcast(_)
            | Op::Transpose(_)
            | Op::Slice(_)
            | Op::Reverse(_)
            | Op::GetTupleElement(_)
            | Op::Tuple(_)
            | Op::Fusion(_)
            | Op::Call(_) => return Ok(operands[0]),
            // Their last need is the element itself; those before it say where it is.
            Op::DynamicSlice(_) | Op::Gather(_) => {
                return operands.last().copied().ok_or_else(|| Error::internal("nothing to slice"));
            }
            Op::Constant(op) => return self.constant(node, op.literal.array()),
            Op::Iota(op) => return self.iota(node, op.iota_dimension as usize),
            Op::Concatenate(op) => return dynamic::concatenate(self, node, op, &operands),
            Op::Pad(op) => return dynamic::pad(self, node, op, &operands),
            Op::DynamicUpdateSlice(_) => return dynamic::update_slice(self, node),
            Op::Reduce(op) => return reduce::element(self, node, op),
            Op::ReduceWindow(op) => return window::element(self, node, op),
            Op::Dot(op) => return dot::element(self, node, op),
            other => return Err(Error::internal(format!("`{}` has no elements", other.name()))),
        };
        Ok(Placed { element, depth })
    }

    fn forwarded(&self, need: &Node) -> Result<Placed> {
        self.known(need).ok_or_else(|| Error::internal("an operand is gone"))
    }

    fn leaf(&mut self, node: &Node, source: Source, number: usize) -> Result<Placed> {
        let shape = leaf_shape(&self.module[node.id].shape, node.leaf)?.clone();
        match source {
            Source::Register(element) => Ok(Placed { element, depth: self.base }),
            Source::Memory(base) => {
                let at = linear(&node.index, &shape.dims);
                let access = self.access(number, &at, shape.element_type.byte_width());
                if let Some(learned) = &mut self.learned {
                    learned.loads.push(access);
                }
                if let Some(placed) = self.staged(&shape, base, &at)? {
                    return Ok(placed);
                }
                let position = self.position(&at);
                let depth = self.placed_at(self.depth_of(&at));
                let element =
                    self.at(depth, |b| scalar::load(b, shape.element_type, base, position));
                Ok(Placed { element, depth })
            }
        }
    }

    fn constant(&mut self, node: &Node, literal: &rxla_hlo::ArrayLiteral) -> Result<Placed> {
        let base = self.placed_at(self.base);
        let width = literal.element_type().byte_width();
        let mut elements = literal.bytes().chunks_exact(width);
        let first = elements.next();
        let at = linear(&node.index, literal.dims());
        let place = match at.as_constant() {
            Some(at) => usize::try_from(at).unwrap_or(usize::MAX),
            None if elements.all(|element| Some(element) == first) => 0,
            None => return self.constant_table(node, literal, &at),
        };
        if place >= literal.len() {
            return Err(Error::internal("an index lies outside a constant"));
        }
        let element = self.at(base, |b| scalar::constant(b, literal, place));
        Ok(Placed { element, depth: base })
    }

    /// A few different elements, written to the stack once and read from there.
    fn constant_table(
        &mut self,
        node: &Node,
        literal: &rxla_hlo::ArrayLiteral,
        at: &Affine,
    ) -> Result<Placed> {
        const LARGEST: usize = 64;
        if literal.len() > LARGEST {
            let shape = literal.shape();
            return Err(Error::unimplemented(format!("a `constant` of `{shape}` in a kernel")));
        }
        let key = Node { index: Index::new(), leaf: usize::MAX, ..node.clone() };
        let base = self.placed_at(self.base);
        let table = match self.known(&key) {
            Some(known) => known.element.one()?,
            None => {
                let table = self.at(base, |b| {
                    let table = b.alloca(literal.bytes().len() as u64, 64);
                    for place in 0..literal.len() {
                        let element = scalar::constant(b, literal, place);
                        let index = b.index(place as i64);
                        scalar::store(b, table, index, element);
                    }
                    table
                });
                self.remember(key, Placed { element: Element::One(table), depth: base });
                table
            }
        };
        let position = self.position(at);
        let depth = self.placed_at(self.depth_of(at));
        let ty = literal.element_type();
        let element = self.at(depth, |b| scalar::load(b, ty, table, position));
        Ok(Placed { element, depth })
    }

    fn iota(&mut self, node: &Node, dimension: usize) -> Result<Placed> {
        let element_type = array(&self.module[node.id].shape)?.element_type;
        let position = self.position(&node.index[dimension]);
        let depth = self.placed_at(self.depth_of(&node.index[dimension]));
        let from = rxla_hlo::ElementType::S64;
        let element =
            self.at(depth, |b| ops::convert(b, from, element_type, Element::One(position)))?;
        Ok(Placed { element, depth })
    }

    fn bitcast(&mut self, node: &Node, depth: usize, x: &[Element]) -> Result<Element> {
        let from = array(self.module.operand_shape(node.id, 0))?.element_type;
        let to = array(&self.module[node.id].shape)?.element_type;
        if from.bit_width() == to.bit_width() {
            return self.at(depth, |b| ops::bitcast_bits(b, from, to, x[0]));
        }
        let last = node.index.last().cloned().unwrap_or_default();
        dynamic::bitcast_parts(self, (from, to), depth, x, &last)
    }

    /// The index in an array of `from` of the element at `index` of its reshape to `to`. Runs of
    /// dimensions with equal counts are taken on their own, and so is what is equal in both.
    fn reshaped(&mut self, index: &Index, to: &Dims, from: &Dims) -> Index {
        let mut result: Index = from.iter().map(|_| Affine::default()).collect();
        let (mut i, mut j) = (to.len(), from.len());
        while i > 0 || j > 0 {
            let (end_i, end_j) = (i, j);
            let (mut count_i, mut count_j) = (1i64, 1i64);
            loop {
                if count_i <= count_j && i > 0 && !(count_i == count_j && count_i > 1) {
                    i -= 1;
                    count_i *= to[i];
                } else if j > 0 && !(count_i == count_j && count_j > 1) {
                    j -= 1;
                    count_j *= from[j];
                } else {
                    break;
                }
            }
            let flat = linear(&index[i..end_i], &to[i..end_i]);
            let own = self.delinearized(&flat, &from[j..end_j]);
            for (result, own) in result[j..end_j].iter_mut().zip(own) {
                *result = own;
            }
        }
        result
    }
}
