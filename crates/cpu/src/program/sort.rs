//! Sorts whose comparator compares keys, for the runtime. Others are left to the interpreter.

use rxla_base::Result;
use rxla_hlo::op::{BinaryKind, Compare, ComparisonDirection, ComparisonType};
use rxla_hlo::{ComputationId, InstructionId, Module, Op};
use rxla_kernel::{Builder, Type};
use rxla_passes::view;
use rxla_runtime::element::Element;
use rxla_runtime::sort::{Direction, FloatOrder, Role, Sort, SortKey};

use super::runtime::element;
use super::{Driver, calls};
use crate::plan::{Compute, arrays};

impl Driver<'_> {
    /// Sorts by the runtime if it can; says whether it does.
    pub(super) fn sort(&mut self, b: &mut Builder, compute: &Compute) -> Result<bool> {
        let Some(code) =
            describe(self.module, compute.instruction).and_then(|sort| sort.encode().ok())
        else {
            return Ok(false);
        };
        let operands: Vec<_> =
            arrays(&compute.operands).into_iter().map(|value| self.spill(b, value)).collect();
        let (results, loads) = self.result_addresses(b, compute);
        let (operands, results) = (calls::list(b, &operands), calls::list(b, &results));
        let null = b.constant(Type::PTR, 0);
        let offset = self.pool.words(&code);
        let offset = b.index(offset as i64);
        let code = b.offset(self.constants, offset);
        let arguments = vec![self.context, operands, results, null, null, code];
        self.check(b, "rxla_sort", arguments);
        self.load_results(b, loads);
        Ok(true)
    }
}

/// Whether the runtime sorts this: each operand where it is, if need be.
pub(crate) fn sorts(module: &Module, id: InstructionId) -> bool {
    describe(module, id).is_some_and(|sort| sort.encode().is_ok())
}

fn describe(module: &Module, id: InstructionId) -> Option<Sort> {
    let Op::Sort(op) = &module[id].op else { return None };
    let operands = module[id].operands();
    let shape = module[operands[0]].shape.as_array()?;
    let dimension = usize::try_from(*op.dimensions.first()?).ok()?;
    let product = |dims: &[i64]| dims.iter().product::<i64>() as usize;
    let mut list = Vec::new();
    for (index, &operand) in operands.iter().enumerate() {
        let element = element(module[operand].shape.as_array()?.element_type)?;
        let role = match &module[operand].op {
            _ if !is_read(module, id, index) => Role::Unread,
            Op::Iota(iota) if iota.iota_dimension == op.dimensions[0] && counts(element) => {
                Role::Places
            }
            _ => Role::Moved,
        };
        list.push((element, role));
    }
    let keys = keys(module, op.to_apply)?;
    if keys.iter().any(|key| list[key.operand].0.is_complex()) {
        return None;
    }
    Some(Sort {
        outer: product(&shape.dims[..dimension]),
        length: shape.dims[dimension] as usize,
        inner: product(&shape.dims[dimension + 1..]),
        operands: list,
        keys,
    })
}

/// Whether somebody reads a result of a sort.
fn is_read(module: &Module, sort: InstructionId, index: usize) -> bool {
    let reads = |user: &InstructionId| match &module[*user].op {
        Op::GetTupleElement(get) => usize::try_from(get.index) == Ok(index),
        _ => true,
    };
    let users = module[sort].users();
    module[sort].operands().len() == 1 || view::is_root(module, sort) || users.iter().any(reads)
}

/// Whether elements hold places of any dimension, as the runtime writes them.
fn counts(element: Element) -> bool {
    element.is_integer() && element.byte_width() >= 4
}

/// The keys of a comparator `less(k0) | (equal(k0) & (less(k1) | …))`.
fn keys(module: &Module, comparator: ComputationId) -> Option<Vec<SortKey>> {
    let mut keys = Vec::new();
    let mut rest = module[comparator].root();
    loop {
        match &module[rest].op {
            Op::Compare(compare) => {
                keys.push(key(module, rest, compare)?);
                return Some(keys);
            }
            Op::Binary(or) if or.kind == BinaryKind::Or => {
                let [a, b] = *module[rest].operands() else { return None };
                let (less, and) =
                    if matches!(module[a].op, Op::Compare(_)) { (a, b) } else { (b, a) };
                let Op::Compare(compare) = &module[less].op else { return None };
                let first = key(module, less, compare)?;
                let Op::Binary(binary) = &module[and].op else { return None };
                if binary.kind != BinaryKind::And {
                    return None;
                }
                let [a, b] = *module[and].operands() else { return None };
                let (equal, next) = if is_equality(module, a) { (a, b) } else { (b, a) };
                let Op::Compare(equality) = &module[equal].op else { return None };
                let [left, right] = *module[equal].operands() else { return None };
                let sides = [operand(module, left)?, operand(module, right)?];
                let own = (first.operand, first.order);
                if !is_equality(module, equal)
                    || equality.comparison_type != compare.comparison_type
                    || sides.iter().any(|side| (side.operand, side.order) != own)
                    || sides[0].right == sides[1].right
                {
                    return None;
                }
                keys.push(first);
                rest = next;
            }
            _ => return None,
        }
    }
}

fn is_equality(module: &Module, id: InstructionId) -> bool {
    matches!(&module[id].op, Op::Compare(compare) if compare.direction == ComparisonDirection::Eq)
}

fn key(module: &Module, id: InstructionId, compare: &Compare) -> Option<SortKey> {
    let less = match compare.direction {
        ComparisonDirection::Lt => true,
        ComparisonDirection::Gt => false,
        ComparisonDirection::Eq
        | ComparisonDirection::Ne
        | ComparisonDirection::Ge
        | ComparisonDirection::Le => return None,
    };
    let [left, right] = *module[id].operands() else { return None };
    let (first, second) = (operand(module, left)?, operand(module, right)?);
    if first.operand != second.operand || first.order != second.order || first.right == second.right
    {
        return None;
    }
    let element_type = module[left].shape.as_array()?.element_type;
    let total = compare.comparison_type == Some(ComparisonType::TotalOrder);
    let order = match (element_type.is_float(), total, first.order) {
        // As numbers; where the NaN go nobody says.
        (true, false, _) => FloatOrder::Value,
        (true, true, order) => order,
        (false, false, _) => FloatOrder::Total,
        (false, true, _) => return None,
    };
    // The parameters of the left side are those that are asked whether they come first.
    let ascending = less != first.right;
    let direction = if ascending { Direction::Ascending } else { Direction::Descending };
    Some(SortKey { operand: first.operand, order, direction })
}

/// A side of a comparison: an element of an operand, perhaps with zeros and NaN made one each.
struct Side {
    operand: usize,
    right: bool,
    order: FloatOrder,
}

fn operand(module: &Module, id: InstructionId) -> Option<Side> {
    let (mut zeros, mut nans) = (false, false);
    let mut inner = id;
    loop {
        match &module[inner].op {
            Op::Parameter(parameter) => {
                let order = match (zeros, nans) {
                    (false, false) => FloatOrder::Total,
                    (true, true) => FloatOrder::Value,
                    (true, false) | (false, true) => return None,
                };
                let number = usize::try_from(parameter.number).ok()?;
                return Some(Side { operand: number / 2, right: number % 2 == 1, order });
            }
            Op::Select(_) => {
                let [condition, one, other] = *module[inner].operands() else { return None };
                let number = scalar(module, one)?;
                let Op::Compare(compare) = &module[condition].op else { return None };
                let [a, b] = *module[condition].operands() else { return None };
                let parameter = root_parameter(module, other)?;
                let of_it = |id| root_parameter(module, id) == Some(parameter);
                match compare.direction {
                    ComparisonDirection::Eq if number == 0.0 && of_it(a) => {
                        if scalar(module, b)? != 0.0 {
                            return None;
                        }
                        zeros = true;
                    }
                    ComparisonDirection::Ne if number.is_nan() && of_it(a) && of_it(b) => {
                        nans = true;
                    }
                    _ => return None,
                }
                if compare.comparison_type == Some(ComparisonType::TotalOrder) {
                    return None;
                }
                inner = other;
            }
            _ => return None,
        }
    }
}

/// The parameter that a chain of selections is of.
fn root_parameter(module: &Module, mut id: InstructionId) -> Option<InstructionId> {
    loop {
        match &module[id].op {
            Op::Parameter(_) => return Some(id),
            Op::Select(_) => id = *module[id].operands().get(2)?,
            _ => return None,
        }
    }
}

/// The value of a constant.
fn scalar(module: &Module, id: InstructionId) -> Option<f64> {
    let Op::Constant(constant) = &module[id].op else { return None };
    let array = constant.literal.as_array()?;
    if array.len() != 1 || !array.element_type().is_float() {
        return None;
    }
    let wide = array.convert(rxla_hlo::ElementType::F64).ok()?;
    Some(wide.values::<f64>()[0])
}
