//! Shardy's operations. On one partition they all mean nothing; on several, constraints become
//! `Sharding` calls and manual computations are bracketed by `SPMDFullToShardShape` and
//! `SPMDShardToFullShape`, as in XLA.

use rxla_hlo::{InstructionId, Shape, ShardGroup, Sharding, ShardingKind, SingleSharding};

use super::attributes::View;
use super::importer::{Importer, Result};
use super::{custom_call, sharding};
use crate::mlir::{Attribute, BlockId, ByteString, SdyAttribute, TensorSharding};

impl<'a> Importer<'a> {
    /// Lowers the operations of a block here, its arguments being these values.
    pub(super) fn inline_block(
        &mut self,
        view: View<'a>,
        block: BlockId,
        arguments: &[InstructionId],
    ) -> Result<Vec<InstructionId>> {
        let declared = &view.source.blocks[block].arguments;
        if declared.len() != arguments.len() {
            return Err(view.error(format_args!(
                "has a region of {} arguments for {} operands",
                declared.len(),
                arguments.len()
            )));
        }
        for (&argument, &value) in declared.iter().zip(arguments) {
            self.bind(argument, value);
        }
        self.inline_depth += 1;
        let info = self.info.clone();
        let terminator = self.lower_block(view, block);
        self.info = info;
        self.inline_depth -= 1;
        self.returned(terminator?)
    }

    /// Whether the program is spread over several devices.
    pub(super) fn is_partitioned(&self) -> bool {
        self.module.config.num_partitions > 1
    }
}

/// Operations whose results are their operands: `sdy.propagation_barrier`,
/// `sdy.data_flow_edge`, `builtin.unrealized_conversion_cast` and annotations.
pub(super) fn identity<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let operands = cx.operands(view)?;
    for (index, &operand) in operands.iter().enumerate() {
        let declared = view.result_shape(index)?;
        if !cx.shape(operand).compatible(&declared) && !super::types::is_unbounded(&declared) {
            return Err(view.error(format_args!(
                "has a result `{declared}` for the operand `{}`",
                cx.shape(operand)
            )));
        }
    }
    cx.finish_all(view, &operands)
}

/// `sdy.sharding_group`: its members are to be spread alike. It has no result, so from here on the
/// value is one that says so.
pub(super) fn group<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let [operand] = cx.exactly(view)?;
    if cx.is_partitioned() && cx.scalar_depth == 0 && cx.shape(operand).as_array().is_some() {
        let group = Some(ShardGroup::Like(view.integer("group_id")?));
        let single = SingleSharding { kind: ShardingKind::Unknown, group, metadata: Vec::new() };
        let member = sharding::constrain(cx, operand, Sharding::Single(Box::new(single)));
        cx.bind(view.operand_id(0)?, member);
    }
    view.expect_results(0)
}

/// `sdy.sharding_constraint` and `sdy.reshard`.
pub(super) fn constraint<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let [operand] = cx.exactly(view)?;
    // What combines single elements is not spread over devices, whatever it says.
    if !cx.is_partitioned() || cx.scalar_depth > 0 {
        return cx.finish_all(view, &[operand]);
    }
    let manual = cx.manual_axes.clone();
    let attribute = view.require("sharding")?;
    let sharding = sharding::from_sdy(cx, view, attribute, &manual)?;
    let open = sharding::open_dimensions(attribute);
    let instruction = sharding::constrain(cx, operand, sharding);
    leave_open(cx, instruction, &open);
    cx.finish_all(view, &[instruction])
}

/// Says which dimensions may be cut further, as JAX writes it in HLO.
fn leave_open(cx: &mut Importer<'_>, instruction: InstructionId, open: &[usize]) {
    if !open.is_empty() {
        let open: Vec<String> = open.iter().map(usize::to_string).collect();
        let config = format!("unspecified_dims=[{}]", open.join(","));
        cx.module[instruction].info_mut().backend_config = config;
    }
}

/// `sdy.named_computation`: the region stands for itself.
pub(super) fn named_computation<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let operands = cx.operands(view)?;
    let block = view.block(0)?;
    let results = cx.inline_block(view, block, &operands)?;
    cx.finish_all(view, &results)
}

/// The shardings, one per operand or result.
fn shardings<'a>(view: View<'a>, name: &str, count: usize) -> Result<&'a [TensorSharding]> {
    if let Attribute::Sdy(attribute) = view.require(name)?
        && let SdyAttribute::TensorShardingPerValue(list) = &**attribute
        && list.len() == count
    {
        return Ok(list);
    }
    Err(view.wrong(name, "a list with one sharding per value"))
}

fn manual_axes(view: View<'_>) -> Result<Vec<ByteString>> {
    let wrong = || view.wrong("manual_axes", "a list of axes");
    match view.require("manual_axes")? {
        Attribute::Sdy(attribute) => match &**attribute {
            SdyAttribute::ManualAxes(axes) => Ok(axes.clone()),
            _ => Err(wrong()),
        },
        Attribute::Array(items) => items
            .iter()
            .map(|item| item.as_string().cloned())
            .collect::<Option<_>>()
            .ok_or_else(wrong),
        _ => Err(wrong()),
    }
}

/// A sharding as it is inside: without the axes that are manual there.
fn inside(sharding: &TensorSharding, manual: &[ByteString]) -> TensorSharding {
    let mut inner = sharding.clone();
    for dimension in &mut inner.dim_shardings {
        dimension.axes.retain(|axis| !manual.contains(&axis.name));
    }
    inner.replicated_axes.retain(|axis| !manual.contains(&axis.name));
    inner.unreduced_axes.retain(|axis| !manual.contains(&axis.name));
    inner
}

/// A sharding, and the dimensions that may be cut further than it says.
type Spread = (Sharding, Vec<usize>);

fn to_hlo<'a>(
    cx: &Importer<'a>,
    view: View<'a>,
    sharding: &TensorSharding,
    manual: &[ByteString],
) -> Result<Spread> {
    let attribute = Attribute::sdy(SdyAttribute::TensorSharding(sharding.clone()));
    let open = sharding::open_dimensions(&attribute);
    Ok((sharding::from_sdy(cx, view, &attribute, manual)?, open))
}

/// Says how a value is spread and then sees it under another shape.
fn cross_border(
    cx: &mut Importer<'_>,
    value: InstructionId,
    (before, open_before): Spread,
    target: &str,
    (after, open_after): Spread,
    shape: Shape,
) -> InstructionId {
    let spread = sharding::constrain(cx, value, before);
    leave_open(cx, spread, &open_before);
    let crossing = cx.add(custom_call::marker(target), shape, &[spread]);
    cx.module[crossing].info_mut().sharding = Some(after);
    leave_open(cx, crossing, &open_after);
    crossing
}

/// `sdy.manual_computation`: the region computes with each device's own part.
pub(super) fn manual_computation<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let operands = cx.operands(view)?;
    let block = view.block(0)?;
    let arguments = &view.source.blocks[block].arguments;
    if !cx.is_partitioned() {
        let results = cx.inline_block(view, block, &operands)?;
        for (index, &result) in results.iter().enumerate() {
            let declared = view.result_shape(index)?;
            if !cx.shape(result).compatible(&declared) {
                return Err(view.unimplemented(format_args!(
                    "parts `{}` of `{declared}` on several devices in a program of one partition",
                    cx.shape(result)
                )));
            }
        }
        return cx.finish_all(view, &results);
    }
    let outer = cx.manual_axes.clone();
    let mut inner = outer.clone();
    inner.extend(manual_axes(view)?);
    let in_shardings = shardings(view, "in_shardings", operands.len())?;
    let out_shardings = shardings(view, "out_shardings", view.op.results.len())?;
    if arguments.len() != operands.len() {
        return Err(view.error("has another number of arguments than operands"));
    }
    let mut parts = Vec::new();
    for ((&operand, &argument), given) in operands.iter().zip(arguments).zip(in_shardings) {
        if cx.shape(operand) == &Shape::Token {
            parts.push(operand);
            continue;
        }
        let shape = view.shape_of(&view.source.values[argument].ty)?;
        let before = to_hlo(cx, view, given, &outer)?;
        let after = to_hlo(cx, view, &inside(given, &inner), &inner)?;
        parts.push(cross_border(cx, operand, before, "SPMDFullToShardShape", after, shape));
    }
    cx.manual_axes = inner.clone();
    let results = cx.inline_block(view, block, &parts);
    cx.manual_axes = outer.clone();
    let results = results?;
    view.expect_results(results.len())?;
    let mut whole = Vec::new();
    for (index, (&result, given)) in results.iter().zip(out_shardings).enumerate() {
        if cx.shape(result) == &Shape::Token {
            whole.push(result);
            continue;
        }
        let before = to_hlo(cx, view, &inside(given, &inner), &inner)?;
        let after = to_hlo(cx, view, given, &outer)?;
        let shape = view.result_shape(index)?;
        whole.push(cross_border(cx, result, before, "SPMDShardToFullShape", after, shape));
    }
    cx.finish_all(view, &whole)
}
