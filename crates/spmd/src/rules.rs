//! The factors of each op. An op without a rule is computed whole on every device.

use rxla_hlo::op::{
    Binary, BinaryKind, Broadcast, Concatenate, Convolution, CustomCall, Dot, DynamicSlice, Fft,
    Gather, GroupCount, Iota, Pad, PaddingDimension, Reduce, ReduceWindow, Reverse, Scatter, Slice,
    Sort, Transpose, WindowDimension,
};
use rxla_hlo::{ArrayShape, ComputationId, Dims, InstructionId, Module, Op};
use rxla_passes::view;

use crate::collectives;
use crate::custom::CustomCalls;
use crate::factors::{Axis, Factor, Rule};
use crate::move_parts::Devices;
use crate::sharding_rule;

/// Who divides an instruction.
pub(crate) struct Dividers<'d> {
    pub(crate) devices: Devices,
    /// By partition the group that it is in.
    pub(crate) groups: &'d [i64],
    pub(crate) custom: &'d dyn CustomCalls,
}

/// How the instruction may be divided, if it may.
pub(crate) fn rule(module: &Module, id: InstructionId, by: &Dividers<'_>) -> Option<Rule> {
    let instruction = &module[id];
    if instruction.has_control_edges() {
        return None;
    }
    let mut operands = Vec::new();
    for &operand in instruction.operands() {
        operands.push(plain(module[operand].shape.as_array()?)?);
    }
    let mut results = Vec::new();
    match instruction.shape.as_tuple() {
        None => results.push(plain(instruction.shape.as_array()?)?),
        Some(elements) => {
            for element in elements {
                results.push(plain(element.as_array()?)?);
            }
        }
    }
    let rule = Rule::new(&operands, &results);
    let rule = of_op(module, id, rule, by)?;
    (!rule.factors.is_empty()).then_some(rule)
}

/// The sizes of an array that may be cut.
fn plain(array: &ArrayShape) -> Option<&[i64]> {
    array.is_static().then_some(&array.dims[..])
}

fn of_op(module: &Module, id: InstructionId, mut rule: Rule, by: &Dividers<'_>) -> Option<Rule> {
    let op = &module[id].op;
    if op.is_elementwise() {
        return elementwise(rule);
    }
    match op {
        Op::BitcastConvert(_) => return elementwise(rule),
        Op::Iota(Iota { iota_dimension }) => {
            let integer = module[id].shape.as_array()?.element_type.is_integer();
            for d in 0..rule.results[0].dims.len() {
                if d as i64 != *iota_dimension || integer {
                    rule.join(Factor::Kept, [], [(0, d)]);
                }
            }
        }
        Op::Constant(constant) => {
            if !is_splat(
                constant.literal.as_array()?.bytes(),
                rule.results[0].dims.iter().product(),
            ) {
                return None;
            }
            for d in 0..rule.results[0].dims.len() {
                rule.join(Factor::Kept, [], [(0, d)]);
            }
        }
        Op::Broadcast(Broadcast { dimensions }) => {
            for d in 0..rule.results[0].dims.len() {
                let source = dimensions.iter().position(|&to| to == d as i64);
                rule.join(Factor::Kept, source.map(|source| (0, source)), [(0, d)]);
            }
        }
        Op::Transpose(Transpose { dimensions }) => {
            for (d, &source) in dimensions.iter().enumerate() {
                rule.join(Factor::Kept, [(0, number(source)?)], [(0, d)]);
            }
        }
        Op::Reshape(_) => {
            for (before, after) in
                outermost_of_groups(&rule.operands[0].dims, &rule.results[0].dims)
            {
                rule.join(Factor::Kept, [(0, before)], [(0, after)]);
            }
        }
        // Parts of what is reversed go to the devices at the other end. All devices have to come for
        // that, and not all groups may.
        Op::Reverse(Reverse { dimensions }) => {
            let is_one_group = Axis::of_groups(by.groups).count == 1;
            same_dims(&mut rule, |d| is_one_group || !dimensions.contains(&(d as i64)));
        }
        Op::Concatenate(Concatenate { dimensions }) => {
            same_dims(&mut rule, |d| !dimensions.contains(&(d as i64)));
        }
        Op::Slice(Slice { slice }) => {
            let before = rule.operands[0].dims.clone();
            same_dims(&mut rule, |d| {
                let s = &slice[d];
                s.start == 0 && s.stride == 1 && s.limit == before[d]
            });
        }
        Op::Pad(Pad { padding }) => {
            let none = PaddingDimension { low: 0, high: 0, interior: 0 };
            for (d, padding) in padding.iter().enumerate() {
                if *padding == none {
                    rule.join(Factor::Kept, [(0, d)], [(0, d)]);
                }
            }
        }
        Op::DynamicSlice(DynamicSlice { dynamic_slice_sizes }) => {
            for (d, size) in dynamic_slice_sizes.iter().enumerate() {
                if *size == rule.operands[0].dims[d] {
                    rule.join(Factor::Kept, [(0, d)], [(0, d)]);
                }
            }
        }
        Op::DynamicUpdateSlice(_) => {
            for d in 0..rule.results[0].dims.len() {
                if rule.operands[1].dims[d] == rule.operands[0].dims[d] {
                    rule.join(Factor::Kept, [(0, d), (1, d)], [(0, d)]);
                }
            }
        }
        Op::Reduce(reduce) => return reduction(module, id, reduce, rule),
        Op::Dot(dot) => return product(dot, rule),
        Op::Convolution(convolution) => return window_product(convolution, rule),
        Op::Sort(Sort { dimensions, .. }) => {
            same_dims(&mut rule, |d| !dimensions.contains(&(d as i64)));
        }
        Op::TopK(_) => {
            let rank = rule.operands[0].dims.len();
            same_dims(&mut rule, |d| d + 1 < rank);
        }
        Op::Fft(Fft { fft_length, .. }) => {
            let batch = rule.operands[0].dims.len().saturating_sub(fft_length.len());
            same_dims(&mut rule, |d| d < batch);
        }
        Op::Cholesky(_) | Op::TriangularSolve(_) => {
            let batch = rule.operands[0].dims.len().saturating_sub(2);
            same_dims(&mut rule, |d| d < batch);
        }
        Op::Gather(gather) => return gathering(gather, rule),
        Op::Scatter(scatter) => return scattering(module, id, scatter, rule),
        Op::ReduceWindow(ReduceWindow { window, .. }) => {
            let trivial = WindowDimension::new(1);
            let arrays = rule.results.len();
            for d in 0..rule.results[0].dims.len() {
                if window.dimensions.get(d) == Some(&trivial) {
                    let each = |value: usize| (value, d);
                    rule.join(Factor::Kept, (0..arrays).map(each), (0..arrays).map(each));
                }
            }
        }
        Op::AllGather(_)
        | Op::AllReduce(_)
        | Op::AllToAll(_)
        | Op::CollectiveBroadcast(_)
        | Op::CollectivePermute(_)
        | Op::ReduceScatter(_) => return collectives::rule(op, rule, by.devices),
        Op::CustomCall(call) => return custom_call(module, id, call, rule, by.custom),
        // All others are whole, as is what has none of the forms above.
        _ => return None,
    }
    Some(rule)
}

fn number(dimension: i64) -> Option<usize> {
    usize::try_from(dimension).ok()
}

/// Scalars go with arrays of any size.
fn elementwise(mut rule: Rule) -> Option<Rule> {
    let dims = rule.results[0].dims.clone();
    let arrays: Vec<usize> =
        (0..rule.operands.len()).filter(|&o| !rule.operands[o].dims.is_empty()).collect();
    if rule.results.len() != 1 || arrays.iter().any(|&o| rule.operands[o].dims != dims) {
        return None;
    }
    for d in 0..dims.len() {
        rule.join(Factor::Kept, arrays.iter().map(|&o| (o, d)), [(0, d)]);
    }
    Some(rule)
}

/// Makes factors of dimensions that all operands and results have alike.
fn same_dims(rule: &mut Rule, is_kept: impl Fn(usize) -> bool) {
    let (operands, results) = (rule.operands.len(), rule.results.len());
    for d in 0..rule.results[0].dims.len() {
        if is_kept(d) {
            let each = |value: usize| (value, d);
            rule.join(Factor::Kept, (0..operands).map(each), (0..results).map(each));
        }
    }
}

fn is_splat(bytes: &[u8], elements: i64) -> bool {
    let Some(width) = usize::try_from(elements).ok().and_then(|n| bytes.len().checked_div(n))
    else {
        return false;
    };
    width > 0 && elements > 1 && bytes.chunks(width).all(|element| *element == bytes[..width])
}

/// Pairs of dimensions before and after a reshape that are outermost in groups of equal products:
/// rows of a row-major array are the same elements in both.
fn outermost_of_groups(before: &[i64], after: &[i64]) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    if before.iter().chain(after).any(|&dim| dim == 0) {
        return pairs;
    }
    let (mut b, mut a) = (0, 0);
    while b < before.len() && a < after.len() {
        // Dimensions of one element are no one's outermost.
        if before[b] == 1 {
            b += 1;
            continue;
        }
        if after[a] == 1 {
            a += 1;
            continue;
        }
        pairs.push((b, a));
        let (mut of_before, mut of_after) = (before[b], after[a]);
        (b, a) = (b + 1, a + 1);
        while of_before != of_after {
            if of_before < of_after {
                let Some(&dim) = before.get(b) else { return pairs };
                of_before = of_before.saturating_mul(dim);
                b += 1;
            } else {
                let Some(&dim) = after.get(a) else { return pairs };
                of_after = of_after.saturating_mul(dim);
                a += 1;
            }
        }
    }
    pairs
}

fn reduction(module: &Module, id: InstructionId, reduce: &Reduce, mut rule: Rule) -> Option<Rule> {
    let arrays = rule.results.len();
    let combination = match arrays {
        1 => combination(module, module[id].operands()[1], reduce.to_apply),
        _ => None,
    };
    let mut kept = 0;
    for d in 0..rule.operands[0].dims.len() {
        let operands = (0..arrays).map(|operand| (operand, d));
        if !reduce.dimensions.contains(&(d as i64)) {
            rule.join(Factor::Kept, operands, (0..arrays).map(|result| (result, kept)));
            kept += 1;
        } else if let Some(kind) = combination {
            rule.join(Factor::Combined(kind), operands, []);
        }
    }
    Some(rule)
}

/// The function of a reduction whose first value, `init`, may come in once for each device.
fn combination(module: &Module, init: InstructionId, apply: ComputationId) -> Option<BinaryKind> {
    use BinaryKind::{Add, And, Maximum, Minimum, Multiply, Or};
    let root = module[apply].try_root()?;
    let Op::Binary(Binary { kind }) = module[root].op else { return None };
    let mut operands = module[root].operands().to_vec();
    operands.sort_unstable();
    let mut parameters = module[apply].parameters().to_vec();
    parameters.sort_unstable();
    if operands != parameters {
        return None;
    }
    let neutral = match kind {
        And | Maximum | Minimum | Or => return Some(kind),
        Add => 0.0,
        Multiply => 1.0,
        // Others are not reductions that devices can share.
        _ => return None,
    };
    is_everywhere(module, init, neutral).then_some(kind)
}

/// Whether a value is this number at every place.
fn is_everywhere(module: &Module, value: InstructionId, number: f64) -> bool {
    match &module[value].op {
        Op::CustomCall(call) if *call.custom_call_target == *"Sharding" => {
            is_everywhere(module, module[value].operands()[0], number)
        }
        _ => view::is_number(module, value, number),
    }
}

fn product(dot: &Dot, mut rule: Rule) -> Option<Rule> {
    let mut at = 0;
    for (&l, &r) in dot.lhs_batch_dims.iter().zip(&dot.rhs_batch_dims) {
        rule.join(Factor::Kept, [(0, number(l)?), (1, number(r)?)], [(0, at)]);
        at += 1;
    }
    let sides = [
        (&dot.lhs_batch_dims, &dot.lhs_contracting_dims),
        (&dot.rhs_batch_dims, &dot.rhs_contracting_dims),
    ];
    for (operand, (batch, contracting)) in sides.into_iter().enumerate() {
        for d in 0..rule.operands[operand].dims.len() {
            if !batch.contains(&(d as i64)) && !contracting.contains(&(d as i64)) {
                rule.join(Factor::Kept, [(operand, d)], [(0, at)]);
                at += 1;
            }
        }
    }
    for (&l, &r) in dot.lhs_contracting_dims.iter().zip(&dot.rhs_contracting_dims) {
        let sum = Factor::Combined(BinaryKind::Add);
        rule.join(sum, [(0, number(l)?), (1, number(r)?)], []);
    }
    Some(rule)
}

fn window_product(convolution: &Convolution, mut rule: Rule) -> Option<Rule> {
    let labels = &convolution.dim_labels;
    if convolution.batch_group_count != GroupCount(1) || convolution.sparsity_config.is_some() {
        return None;
    }
    let (batch, out_batch) = (number(labels.input_batch)?, number(labels.output_batch)?);
    rule.join(Factor::Kept, [(0, batch)], [(0, out_batch)]);
    if convolution.feature_group_count == GroupCount(1) {
        let kernel = number(labels.kernel_output_feature)?;
        rule.join(Factor::Kept, [(1, kernel)], [(0, number(labels.output_feature)?)]);
        let (input, kernel) = (number(labels.input_feature)?, number(labels.kernel_input_feature)?);
        rule.join(Factor::Combined(BinaryKind::Add), [(0, input), (1, kernel)], []);
    }
    Some(rule)
}

fn gathering(gather: &Gather, mut rule: Rule) -> Option<Rule> {
    let rank = rule.results[0].dims.len();
    let batch = (0..rank).filter(|&d| !gather.offset_dims.contains(&(d as i64)));
    let indices = (0..rule.operands[1].dims.len()).filter(|&d| d as i64 != gather.index_vector_dim);
    for (result, index) in batch.zip(indices).collect::<Vec<_>>() {
        let place = gather.start_indices_batching_dims.iter().position(|&d| d == index as i64);
        let operand = place.and_then(|place| number(gather.operand_batching_dims[place]));
        let operands = [Some((1, index)), operand.map(|operand| (0, operand))];
        rule.join(Factor::Kept, operands.into_iter().flatten(), [(0, result)]);
    }
    let windowed = window_dims(
        rule.operands[0].dims.len(),
        &gather.collapsed_slice_dims,
        &gather.operand_batching_dims,
    );
    for (operand, &result) in windowed.into_iter().zip(&gather.offset_dims) {
        if gather.slice_sizes[operand] == rule.operands[0].dims[operand] {
            rule.join(Factor::Kept, [(0, operand)], [(0, number(result)?)]);
        }
    }
    Some(rule)
}

/// The dimensions that windows have.
fn window_dims(rank: usize, without: &Dims, batching: &Dims) -> Vec<usize> {
    let dims = 0..rank;
    dims.filter(|&d| !without.contains(&(d as i64)) && !batching.contains(&(d as i64))).collect()
}

fn scattering(
    module: &Module,
    id: InstructionId,
    scatter: &Scatter,
    mut rule: Rule,
) -> Option<Rule> {
    let arrays = rule.results.len();
    let combination = match arrays {
        1 => combination(module, module[id].operands()[0], scatter.to_apply),
        _ => None,
    };
    let first_update = arrays + 1;
    let rank = rule.operands[first_update].dims.len();
    let batch = (0..rank).filter(|&d| !scatter.update_window_dims.contains(&(d as i64)));
    let indices =
        (0..rule.operands[arrays].dims.len()).filter(|&d| d as i64 != scatter.index_vector_dim);
    for (update, index) in batch.zip(indices).collect::<Vec<_>>() {
        let place = scatter.scatter_indices_batching_dims.iter().position(|&d| d == index as i64);
        let Some(place) = place else {
            // Each device scatters its updates, and what they make of the same place is combined.
            if let Some(kind) = combination {
                let operands = [(arrays, index), (first_update, update)];
                rule.join(Factor::Combined(kind), operands, []);
            }
            continue;
        };
        let input = number(scatter.input_batching_dims[place])?;
        let operands = (0..arrays)
            .map(|array| (array, input))
            .chain([(arrays, index)])
            .chain((0..arrays).map(|array| (first_update + array, update)));
        rule.join(Factor::Kept, operands, (0..arrays).map(|array| (array, input)));
    }
    let windowed = window_dims(
        rule.operands[0].dims.len(),
        &scatter.inserted_window_dims,
        &scatter.input_batching_dims,
    );
    for (input, &update) in windowed.into_iter().zip(&scatter.update_window_dims) {
        let update = number(update)?;
        if rule.operands[0].dims[input] == rule.operands[first_update].dims[update] {
            let operands = (0..arrays)
                .map(|array| (array, input))
                .chain((0..arrays).map(|array| (first_update + array, update)));
            rule.join(Factor::Kept, operands, (0..arrays).map(|array| (array, input)));
        }
    }
    Some(rule)
}

/// Calls that say themselves what of them may be divided, or that are registered as working on
/// each of a batch alone.
fn custom_call(
    module: &Module,
    id: InstructionId,
    call: &CustomCall,
    mut rule: Rule,
    custom: &dyn CustomCalls,
) -> Option<Rule> {
    let attributes = &module[id].info()?.frontend_attributes;
    if custom.partitioner(&call.custom_call_target).is_some() {
        return sharding_rule::read(attributes.get(sharding_rule::ATTRIBUTE)?, rule);
    }
    if !custom.is_batch_partitionable(&call.custom_call_target) {
        return None;
    }
    let batch: usize = attributes.get("num_batch_dims")?.parse().ok()?;
    for d in 0..batch {
        let size = *rule.results.first()?.dims.get(d)?;
        let values = || rule.operands.iter().chain(&rule.results);
        if values().any(|value| value.dims.get(d) != Some(&size)) {
            return None;
        }
    }
    let (operands, results) = (rule.operands.len(), rule.results.len());
    for d in 0..batch {
        let each = |value: usize| (value, d);
        rule.join(Factor::Kept, (0..operands).map(each), (0..results).map(each));
    }
    Some(rule)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reshapes_keep_rows_of_groups() {
        assert_eq!(outermost_of_groups(&[6, 4], &[6, 4]), [(0, 0), (1, 1)]);
        assert_eq!(outermost_of_groups(&[6, 4, 5], &[24, 5]), [(0, 0), (2, 1)]);
        assert_eq!(outermost_of_groups(&[24, 5], &[6, 4, 5]), [(0, 0), (1, 2)]);
        assert_eq!(outermost_of_groups(&[1, 6, 1, 4], &[6, 4, 1]), [(1, 0), (3, 1)]);
        assert_eq!(outermost_of_groups(&[4, 6], &[6, 4]), [(0, 0)]);
        assert_eq!(outermost_of_groups(&[0, 6], &[6, 0]), []);
        assert_eq!(outermost_of_groups(&[1], &[]), []);
    }

    #[test]
    fn splats_have_one_element() {
        assert!(is_splat(&[1, 2, 1, 2, 1, 2], 3));
        assert!(!is_splat(&[1, 2, 1, 2, 1, 3], 3));
        assert!(!is_splat(&[1, 2], 1));
        assert!(!is_splat(&[], 0));
    }
}
