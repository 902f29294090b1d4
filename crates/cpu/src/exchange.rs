//! Collectives of compiled programs on large arrays. Devices meet without bringing copies: each takes
//! what it needs from where it lies with the others, and of what all want alike (reductions) each does a
//! part, for all.

use std::sync::Arc;

use rxla_base::Result;
use rxla_emit::binary_kind;
use rxla_hlo::{
    ArrayShape, BinaryKind, ComputationId, ElementType, InstructionId, Module, Op, Shape,
};
use rxla_interpreter::{Places, Session};
use rxla_runtime::combine::{Function, combine};
use rxla_runtime::element::Element;

use crate::program::number;

/// Bytes of a device's operands from which on copies take longer than waiting for each other once more.
const LARGE: usize = 1 << 16;

/// What devices exchange at an instruction.
pub(crate) struct Exchange<'a> {
    kind: Kind<'a>,
    operands: Vec<&'a ArrayShape>,
    /// How many must meet for the shapes to be right, if they tell.
    members: Option<usize>,
}

enum Kind<'a> {
    AllReduce(Vec<(Function, Element)>),
    ReduceScatter(Vec<(Function, Element)>, usize),
    AllGather(usize),
    /// Parts along a dimension change places, or operands do.
    AllToAll(Option<usize>),
    Broadcast,
    Permute(&'a [(i64, i64)]),
}

impl<'a> Exchange<'a> {
    /// What is exchanged, if it is large and known here.
    pub(crate) fn of(module: &'a Module, id: InstructionId) -> Option<Exchange<'a>> {
        if !module[id].op.is_collective() {
            return None;
        }
        let shapes = module[id].operands().iter().map(|&operand| module[operand].shape.as_array());
        let operands = shapes.collect::<Option<Vec<_>>>()?;
        let bytes: usize = operands.iter().map(|shape| shape.byte_size()).sum::<Option<_>>()?;
        if bytes < LARGE || operands.iter().any(|shape| !shape.is_static()) {
            return None;
        }
        let results: Vec<&ArrayShape> = match &module[id].shape {
            Shape::Array(array) => vec![array],
            shape => shape.as_tuple()?.iter().map(Shape::as_array).collect::<Option<_>>()?,
        };
        if results.len() != operands.len() {
            return None;
        }
        // The sizes of a dimension before and after.
        let sizes = |dimension: usize| {
            let pairs = operands.iter().zip(&results);
            pairs.map(move |(from, to)| {
                let size = |shape: &ArrayShape| usize::try_from(*shape.dims.get(dimension)?).ok();
                Some((size(from)?, size(to)?))
            })
        };
        // How often one goes into the other, the same for all.
        let ratio = |pairs: &mut dyn Iterator<Item = Option<(usize, usize)>>| {
            let mut ratios = pairs.map(|pair| {
                let (small, large) = pair?;
                let ratio = large.checked_div(small)?;
                (ratio * small == large).then_some(ratio)
            });
            let first = ratios.next()??;
            ratios.all(|ratio| ratio == Some(first)).then_some(first)
        };
        let functions = |to_apply: ComputationId| {
            let functions =
                operands.iter().map(|shape| function(module, to_apply, shape.element_type));
            functions.collect::<Option<Vec<_>>>()
        };
        let (kind, members) = match &module[id].op {
            Op::AllReduce(op) => (Kind::AllReduce(functions(op.to_apply)?), None),
            Op::ReduceScatter(op) => {
                let axis = dimension(&op.dimensions)?;
                let members =
                    ratio(&mut sizes(axis).map(|pair| pair.map(|(from, to)| (to, from))))?;
                (Kind::ReduceScatter(functions(op.to_apply)?, axis), Some(members))
            }
            Op::AllGather(op) => {
                let axis = dimension(&op.dimensions)?;
                (Kind::AllGather(axis), Some(ratio(&mut sizes(axis))?))
            }
            Op::AllToAll(op) if op.dimensions.is_empty() => {
                let alike = operands.iter().all(|shape| shape.same_dims(operands[0]));
                (alike.then_some(Kind::AllToAll(None))?, Some(operands.len()))
            }
            Op::AllToAll(op) => (Kind::AllToAll(Some(dimension(&op.dimensions)?)), None),
            Op::CollectiveBroadcast(op) if !op.has_dynamic_root => (Kind::Broadcast, None),
            Op::CollectivePermute(op) if op.slice_sizes.is_empty() => {
                (Kind::Permute(&op.source_target_pairs), None)
            }
            _ => return None,
        };
        Some(Exchange { kind, operands, members })
    }

    /// Whether the shapes go with so many devices.
    fn fits(&self, members: usize) -> bool {
        let split = match self.kind {
            Kind::AllToAll(Some(axis)) => {
                let size = |shape: &&ArrayShape| shape.dims.get(axis).copied();
                self.operands.iter().all(|s| size(s).is_some_and(|size| size % members as i64 == 0))
            }
            Kind::Permute(pairs) => {
                pairs.iter().all(|&(source, _)| (0..members as i64).contains(&source))
            }
            _ => true,
        };
        split && self.members.is_none_or(|expected| expected == members)
    }

    /// Meets the others and does this device's share; `false` if that is nothing for here.
    ///
    /// # Safety
    ///
    /// The lists have an address for each operand and result, of arrays of the shapes that the instruction
    /// says. Nobody else uses the results, which overlap nothing else.
    pub(crate) unsafe fn run(
        &self,
        session: &Session<'_>,
        (module, id): (&Module, InstructionId),
        operands: *const *const u8,
        results: *const *mut u8,
    ) -> Result<bool> {
        // Who is alone meets nobody, whatever groups there are.
        if session.is_alone() {
            return Ok(false);
        }
        let group = session.group(id)?;
        if !self.fits(group.members.len()) {
            return Ok(false);
        }
        let count = self.operands.len();
        let places = Places {
            what: self.describe(module[id].op.name()),
            // SAFETY: the caller's promise.
            operands: (0..count).map(|i| unsafe { *operands.add(i) }.expose_provenance()).collect(),
            // SAFETY: the caller's promise.
            results: (0..count).map(|i| unsafe { *results.add(i) }.expose_provenance()).collect(),
        };
        session.meet(id, &group, places, |all, own| {
            // SAFETY: each device brings what its caller promises, of the same shapes, and stays until all
            // have returned from here. What one writes no other one does.
            unsafe { self.share(all, own) }
        })?;
        Ok(true)
    }

    fn describe(&self, name: &str) -> String {
        let shapes: Vec<String> = self.operands.iter().map(|shape| shape.to_string()).collect();
        let functions = match &self.kind {
            Kind::AllReduce(functions) | Kind::ReduceScatter(functions, _) => {
                format!(" by {:?}", functions[0].0)
            }
            _ => String::new(),
        };
        format!("{name} of {}{functions}", shapes.join(", "))
    }

    /// # Safety
    ///
    /// The places are those of arrays of these shapes that stay; this device is the only one that does this
    /// share, and nobody does anything else with the results.
    unsafe fn share(&self, all: &[Arc<Places>], own: usize) {
        let members = all.len();
        for (index, shape) in self.operands.iter().enumerate() {
            let from = |member: usize| {
                std::ptr::with_exposed_provenance::<u8>(all[member].operands[index])
            };
            let into = |member: usize| {
                std::ptr::with_exposed_provenance_mut::<u8>(all[member].results[index])
            };
            let width = shape.element_type.byte_width();
            let bytes = shape.byte_size().unwrap_or(0);
            // Rows of a dimension: how many there are and what each takes of one operand.
            let rows = |axis: usize| {
                let count: usize = shape.dims[..axis].iter().map(|&dim| dim as usize).product();
                (count, bytes.checked_div(count).unwrap_or(0))
            };
            // SAFETY: all of these stay within the arrays, as the shapes have been checked.
            unsafe {
                match &self.kind {
                    Kind::AllReduce(functions) => {
                        let (function, element) = functions[index];
                        let elements = bytes / width;
                        let share = elements.div_ceil(members).next_multiple_of(64 / width);
                        let begin = (own * share).min(elements);
                        let count = share.min(elements - begin);
                        let sources: Vec<_> =
                            (0..members).map(|m| from(m).add(begin * width)).collect();
                        let targets: Vec<_> =
                            (0..members).map(|m| into(m).add(begin * width)).collect();
                        combine(function, element, &sources, &targets, count);
                    }
                    Kind::ReduceScatter(functions, axis) => {
                        let (function, element) = functions[index];
                        let (count, row) = rows(*axis);
                        let part = row / members;
                        let mut sources: Vec<_> =
                            (0..members).map(|m| from(m).add(own * part)).collect();
                        for r in 0..count {
                            let target = into(own).add(r * part);
                            combine(function, element, &sources, &[target], part / width);
                            sources
                                .iter_mut()
                                .for_each(|source| *source = source.wrapping_add(row));
                        }
                    }
                    Kind::AllGather(axis) => {
                        let (count, row) = rows(*axis);
                        for r in 0..count {
                            for m in 0..members {
                                let target = into(own).add((r * members + m) * row);
                                target.copy_from_nonoverlapping(from(m).add(r * row), row);
                            }
                        }
                    }
                    Kind::AllToAll(Some(axis)) => {
                        let (count, row) = rows(*axis);
                        let part = row / members;
                        for r in 0..count {
                            for m in 0..members {
                                let target = into(own).add(r * row + m * part);
                                target.copy_from_nonoverlapping(
                                    from(m).add(r * row + own * part),
                                    part,
                                );
                            }
                        }
                    }
                    Kind::AllToAll(None) => {
                        let from =
                            std::ptr::with_exposed_provenance::<u8>(all[index].operands[own]);
                        into(own).copy_from_nonoverlapping(from, bytes);
                    }
                    Kind::Broadcast => into(own).copy_from_nonoverlapping(from(0), bytes),
                    Kind::Permute(pairs) => {
                        match pairs.iter().find(|&&(_, target)| target == own as i64) {
                            Some(&(source, _)) => {
                                into(own).copy_from_nonoverlapping(from(source as usize), bytes);
                            }
                            None => into(own).write_bytes(0, bytes),
                        }
                    }
                }
            }
        }
    }
}

fn dimension(dimensions: &[i64]) -> Option<usize> {
    let &[dimension] = dimensions else { return None };
    usize::try_from(dimension).ok()
}

/// How elements are combined. Truth values are bytes of 0 and 1.
fn function(
    module: &Module,
    to_apply: ComputationId,
    element_type: ElementType,
) -> Option<(Function, Element)> {
    let kind = binary_kind(module, to_apply)?;
    let of_truth = element_type == ElementType::Pred;
    let function = match kind {
        BinaryKind::Add | BinaryKind::Maximum if of_truth => Function::Or,
        BinaryKind::Multiply | BinaryKind::Minimum if of_truth => Function::And,
        BinaryKind::Add => Function::Add,
        BinaryKind::Multiply => Function::Multiply,
        BinaryKind::Maximum => Function::Maximum,
        BinaryKind::Minimum => Function::Minimum,
        BinaryKind::And => Function::And,
        BinaryKind::Or => Function::Or,
        BinaryKind::Xor => Function::Xor,
        _ => return None,
    };
    let element = if of_truth { Element::U8 } else { number(element_type)? };
    function.takes(element).then_some((function, element))
}
