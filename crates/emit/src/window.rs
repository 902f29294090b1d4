//! `reduce-window`: small windows element by element, cumulative ones as scans.
//!
//! A window that grows by one element from each result to the next, such as that of a cumulative sum,
//! is the result before it and one more element: such an op is computed along its dimension, whatever
//! its length.

use rxla_base::{Error, Result};
use rxla_hlo::op::{BinaryKind, PaddingDimension, ReduceWindow, Window, WindowDimension};
use rxla_hlo::{ArrayLiteral, ElementType, Module, Op, TypeClass};
use rxla_kernel::{LoopKind, Value};

use crate::affine::{Affine, Index};
use crate::dynamic::{choose, padded_index};
use crate::emitter::{Emitter, Node, Placed};
use crate::nest::{Loop, Style, restrict_units, split_units};
use crate::plan::{NestId, Origin};
use crate::reduce::{apply, binary_kind, elements_of, operand_count};
use crate::shapes::array;
use crate::{Element, Part};

/// Elements of a window that are combined without a loop, and at all.
const STRAIGHT: i64 = 64;
const MOST: i64 = 1024;

fn types_of(emitter: &Emitter<'_>, node: &Node) -> Result<Vec<ElementType>> {
    let count = operand_count(emitter.module, node.id)?;
    let shape = |k: usize| array(emitter.module.operand_shape(node.id, k));
    (0..count).map(|k| Ok(shape(k)?.element_type)).collect()
}

fn initial(emitter: &mut Emitter<'_>, node: &Node, count: usize) -> Result<Vec<Placed>> {
    (0..count).map(|k| emitter.element(&emitter.operand(node, count + k, Index::new()))).collect()
}

pub(crate) fn element(emitter: &mut Emitter<'_>, node: &Node, op: &ReduceWindow) -> Result<Placed> {
    let module = emitter.module;
    let types = types_of(emitter, node)?;
    let dims = array(module.operand_shape(node.id, 0))?.dims.clone();
    let sizes: Vec<i64> = op.window.dimensions.iter().map(|window| window.size).collect();
    let total = sizes.iter().fold(1i64, |total, &size| total.saturating_mul(size));
    if total > MOST {
        return Err(Error::unimplemented(format!(
            "`reduce-window` of {total} elements each in a kernel"
        )));
    }
    let padding = padding_of(&op.window);
    let neutral = starts_neutral(module, node, op);
    let first = initial(emitter, node, types.len())?;
    let mut depth = emitter.frames[node.frame].depth;
    depth = node.index.iter().map(|index| emitter.depth_of(index)).fold(depth, usize::max);
    depth = first.iter().map(|placed| placed.depth).fold(depth, usize::max);
    let depth = emitter.placed_at(depth);
    let results = emitter.inside(depth, |emitter| {
        let step = |emitter: &mut Emitter<'_>, inner: &Index, sums: Vec<Element>| {
            let place = place_in(&op.window, &node.index, inner);
            let padded = padded_index(emitter, &place, &padding, &dims);
            if padded.outside {
                return Ok(sums);
            }
            let condition = padded.condition(emitter);
            let mut elements = Vec::new();
            for (k, &first) in first.iter().enumerate() {
                let inside = emitter.element(&emitter.operand(node, k, padded.index.clone()))?;
                elements.push(match condition {
                    // To leave it out, or to combine with what changes nothing, is the same, and
                    // the reducer stays the last step, which schedules look for.
                    Some(condition) if neutral => {
                        choose(emitter, condition, inside, first)?.element
                    }
                    Some(_) | None => inside.element,
                });
            }
            let combined = apply(emitter, op.to_apply, sums.clone(), elements)?;
            match condition {
                Some(condition) if !neutral => {
                    let depth = emitter.depth();
                    let here = |element: Element| Placed { element, depth };
                    let pairs = combined.into_iter().zip(sums);
                    pairs
                        .map(|(new, old)| {
                            let chosen = choose(emitter, condition, here(new), here(old))?;
                            Ok::<_, Error>(chosen.element)
                        })
                        .collect()
                }
                Some(_) | None => Ok(combined),
            }
        };
        let id = NestId::Inner(node.id);
        let start: Vec<Element> = first.iter().map(|placed| placed.element).collect();
        if total <= STRAIGHT {
            // In a run that looks, too: only so it shows where loops are to be cut.
            let mut sums = start;
            for inner in positions(&op.window) {
                sums = step(emitter, &inner, sums)?;
            }
            return Ok(sums);
        }
        let loops = emitter.loops(id, &sizes, LoopKind::Sequential);
        let start: Vec<Value> = start.iter().flat_map(|element| element.values()).collect();
        let last =
            emitter.nest(id, sizes.len(), &loops, &start, &mut |emitter, inner, carried| {
                let sums = step(emitter, inner, elements_of(&types, carried))?;
                Ok(sums.iter().flat_map(|element| element.values()).collect())
            })?;
        Ok::<_, Error>(elements_of(&types, &last))
    })?;
    for (leaf, &element) in results.iter().enumerate() {
        emitter.remember(Node { leaf, ..node.clone() }, Placed { element, depth });
    }
    Ok(Placed { element: results[node.leaf], depth })
}

/// What a window's padding makes of an array.
pub(crate) fn padding_of(window: &Window) -> Vec<PaddingDimension> {
    let padding = |window: &WindowDimension| PaddingDimension {
        low: window.padding_low,
        high: window.padding_high,
        interior: window.base_dilation - 1,
    };
    window.dimensions.iter().map(padding).collect()
}

/// The index in the padded array of an element of the window at an index of the result.
pub(crate) fn place_in(window: &Window, index: &Index, inner: &Index) -> Index {
    let place = |((own, inner), window): ((&Affine, &Affine), &WindowDimension)| {
        own.times(window.stride).plus(&inner.times(window.window_dilation))
    };
    index.iter().zip(inner).zip(&window.dimensions).map(place).collect()
}

/// The indices in a window, in order.
pub(crate) fn positions(window: &Window) -> impl Iterator<Item = Index> {
    let sizes: Vec<i64> = window.dimensions.iter().map(|window| window.size).collect();
    let total: i64 = sizes.iter().product();
    (0..total).map(move |place| {
        let mut rest = place;
        let mut inner: Index = sizes.iter().map(|_| Affine::default()).collect();
        for (own, &size) in inner.iter_mut().zip(&sizes).rev() {
            *own = Affine::constant(rest % size);
            rest /= size;
        }
        inner
    })
}

/// Along which dimension a window takes in all elements up to (or, reversed, from) each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Cumulative {
    dimension: usize,
    direction: Direction,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Direction {
    Forward,
    Backward,
}

pub(crate) fn cumulative(
    emitter: &Emitter<'_>,
    node: &Node,
    op: &ReduceWindow,
) -> Option<Cumulative> {
    let operand = array(emitter.module.operand_shape(node.id, 0)).ok()?;
    let dims = &operand.dims;
    let mut found = None;
    for (dimension, (window, &size)) in op.window.dimensions.iter().zip(dims).enumerate() {
        let plain = window.stride == 1 && window.window_dilation == 1 && window.base_dilation == 1;
        let padding = (window.padding_low, window.padding_high);
        if plain && window.size == 1 && padding == (0, 0) {
            continue;
        }
        let direction = match padding {
            (low, 0) if low == size - 1 => Direction::Forward,
            (0, high) if high == size - 1 => Direction::Backward,
            _ => return None,
        };
        if !plain || window.size != size || size <= 4 || found.is_some() {
            return None;
        }
        found = Some(Cumulative { dimension, direction });
    }
    found
}

/// Whether the initial value is known to change nothing that it is combined with.
fn starts_neutral(module: &Module, node: &Node, op: &ReduceWindow) -> bool {
    let &[_, initial] = module[node.id].operands() else { return false };
    let Op::Constant(initial) = &module[initial].op else { return false };
    let kind = binary_kind(module, op.to_apply);
    initial.literal.as_array().zip(kind).is_some_and(|(scalar, kind)| is_identity(scalar, kind))
}

/// Whether a scalar combined with anything by a function gives that thing.
fn is_identity(scalar: &ArrayLiteral, kind: BinaryKind) -> bool {
    let ty = scalar.element_type();
    let bits = ty.bit_width() as u32;
    let number = scalar.complex(0).map(|number| (number.re, number.im));
    let (least, greatest) = match ty.class() {
        TypeClass::Float => (f64::NEG_INFINITY, f64::INFINITY),
        TypeClass::Pred => (0.0, 1.0),
        TypeClass::Signed => (-(2f64.powi(bits as i32 - 1)), 2f64.powi(bits as i32 - 1) - 1.0),
        TypeClass::Unsigned => (0.0, 2f64.powi(bits as i32) - 1.0),
        TypeClass::Complex => (f64::NAN, f64::NAN),
    };
    let ones = if ty.is_signed() { -1.0 } else { greatest };
    let identity = match kind {
        BinaryKind::Add | BinaryKind::Or | BinaryKind::Xor => 0.0,
        BinaryKind::Multiply => 1.0,
        BinaryKind::Maximum => least,
        BinaryKind::Minimum => greatest,
        BinaryKind::And => ones,
        _ => return false,
    };
    // Beyond 53 bits neighbours of the greatest value would look like it.
    let exact = bits <= 32 || ty.is_float() || ty.is_complex() || identity.abs() <= 1.0 || {
        kind == BinaryKind::Maximum && ty.is_signed() && scalar.integer(0) == Some(i64::MIN)
    };
    exact && number == Some((identity, 0.0))
}

impl Cumulative {
    /// Takes the loop along the dimension out of a nest.
    fn taken(self, emitter: &mut Emitter<'_>, nest: NestId, loops: &mut Vec<Loop>) -> Result<Loop> {
        let own =
            |each: &&Loop| each.members.iter().any(|member| member.1.dimension == self.dimension);
        let at = loops.iter().position(|each| own(&each));
        let (1, Some(at)) = (loops.iter().filter(own).count(), at) else {
            return Err(Error::unimplemented("a cumulative reduction of what a reshape splits"));
        };
        let position = loops[at].members[0].0;
        if let Some(learned) = &mut emitter.learned {
            // It must stay a loop of its own.
            let before = position.checked_sub(1);
            for position in before.into_iter().chain([position]) {
                learned.apart.push(Origin { nest, position });
            }
        }
        if loops[at].members.len() > 1 {
            return Err(Error::internal("the loop along a cumulative reduction is not apart"));
        }
        let along = loops.remove(at);
        for each in loops.iter_mut() {
            each.style = Style::Loop(LoopKind::Sequential);
        }
        // What lies side by side beside the dimension runs in lanes.
        if let Some(last) = loops.last_mut()
            && last.members[0].1.dimension > self.dimension
        {
            last.style = Style::Loop(LoopKind::Vector);
        }
        Ok(along)
    }

    /// Units of work: lines along the dimension, or several of them.
    pub(crate) fn units(
        self,
        emitter: &mut Emitter<'_>,
        nest: NestId,
        mut loops: Vec<Loop>,
    ) -> Result<i64> {
        self.taken(emitter, nest, &mut loops)?;
        Ok(split_units(&mut loops).count)
    }

    /// Computes all results, or those of some lines; `finish` stores them, given the index.
    pub(crate) fn run(
        self,
        emitter: &mut Emitter<'_>,
        (nest, rank): (NestId, usize),
        node: &Node,
        op: &ReduceWindow,
        mut loops: Vec<Loop>,
        part: Part,
        finish: &mut dyn FnMut(&mut Emitter<'_>, &Index) -> Result<()>,
    ) -> Result<()> {
        let along = self.taken(emitter, nest, &mut loops)?;
        let size = along.size();
        let types = types_of(emitter, node)?;
        let initial = initial(emitter, node, types.len())?;
        let start: Vec<Value> = initial.iter().flat_map(|placed| placed.element.values()).collect();
        if let Part::Range(begin, end) = part {
            restrict_units(emitter.builder, &mut loops, (begin, end));
        }
        emitter.nest(nest, rank, &loops, &[], &mut |emitter, index, _| {
            let bounds = (emitter.builder.index(0), emitter.builder.index(size), 1);
            emitter.for_loop(LoopKind::Sequential, bounds, &start, |emitter, step, carried| {
                let place = match self.direction {
                    Direction::Forward => step,
                    Direction::Backward => {
                        let last = emitter.builder.index(size - 1);
                        emitter.builder.sub(last, step)
                    }
                };
                let index = emitter.loop_index(nest, index, &along, place, (0, size));
                let mut elements = Vec::new();
                for k in 0..types.len() {
                    let operand = emitter.operand(node, k, index.clone());
                    elements.push(emitter.element(&operand)?.element);
                }
                let sums = elements_of(&types, carried);
                // In the order of the window, whatever combines them.
                let (left, right) = match self.direction {
                    Direction::Forward => (sums, elements),
                    Direction::Backward => (elements, sums),
                };
                let next = apply(emitter, op.to_apply, left, right)?;
                let depth = emitter.depth();
                for (leaf, &element) in next.iter().enumerate() {
                    let node = Node { leaf, index: index.clone(), ..node.clone() };
                    emitter.remember(node, Placed { element, depth });
                }
                finish(emitter, &index)?;
                Ok(next.iter().flat_map(|element| element.values()).collect())
            })?;
            Ok(Vec::new())
        })?;
        Ok(())
    }
}
