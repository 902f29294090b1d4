//! `map-inline`, XLA's MapInliner: a map whose function is made of elementwise ops is those ops on
//! whole arrays.

use rustc_hash::FxHashMap;
use rxla_base::Result;
use rxla_hlo::{ComputationId, InstructionId, Module, Op, Shape};

use crate::pass::{Context, Pass};
use crate::rewrite::{self, NamedRule};
use crate::{rules, view};

pub struct MapInliner;

const RULES: &[NamedRule] = rules! {
    Map => [map_of_elementwise],
};

impl Pass for MapInliner {
    fn name(&self) -> &'static str {
        "map-inline"
    }

    fn class(&self) -> &'static str {
        "MapInliner"
    }

    fn run(&self, module: &mut Module, cx: &Context) -> Result<u64> {
        Ok(rewrite::apply(module, cx, &[RULES]))
    }
}

/// `map(x, y, …, f) => f(x, y, …)` with scalars of `f` broadcast
fn map_of_elementwise(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let Op::Map(op) = &m[i].op else { return None };
    let function = op.to_apply;
    let sizes = view::static_array(m, i)?.clone();
    if !(parameters_fit(m, i, function) && is_liftable(m, function)) {
        return None;
    }
    let mut lifted: FxHashMap<InstructionId, InstructionId> = FxHashMap::default();
    for scalar in m.post_order(function) {
        let element_type = view::element_type(m, scalar)?;
        let shape = Shape::array(element_type, sizes.dims.iter().copied());
        let value = match &m[scalar].op {
            Op::Parameter(parameter) => view::operand(m, i, parameter.number as usize),
            Op::Constant(_) => {
                let op = m[scalar].op.clone();
                let constant = view::add_with_shape(m, i, op, Shape::scalar(element_type), &[]);
                if sizes.rank() == 0 {
                    constant
                } else {
                    view::add_with_shape(m, i, Op::broadcast([]), shape, &[constant])
                }
            }
            op => {
                let op = op.clone();
                let operands: Vec<_> = m[scalar].operands().iter().map(|o| lifted[o]).collect();
                view::add_with_shape(m, i, op, shape, &operands)
            }
        };
        lifted.insert(scalar, value);
    }
    Some(lifted[&m[function].root()])
}

/// Whether operands have the very types that the function takes: a map may widen them, too.
fn parameters_fit(m: &Module, i: InstructionId, function: ComputationId) -> bool {
    let parameters = m[function].parameters().iter();
    parameters.zip(m[i].operands()).all(|(&parameter, &operand)| {
        view::element_type(m, parameter) == view::element_type(m, operand)
            && view::static_array(m, operand).is_some()
    }) && view::element_type(m, m[function].root()) == view::element_type(m, i)
}

/// Whether the function is made of scalars and of ops that mean the same on arrays.
fn is_liftable(m: &Module, function: ComputationId) -> bool {
    m[function].instructions().iter().all(|&scalar| {
        let leaf = matches!(m[scalar].op, Op::Parameter(_) | Op::Constant(_));
        let elementwise = m[scalar].op.is_elementwise() && !matches!(m[scalar].op, Op::Map(_));
        view::dims(m, scalar).is_some_and(|dims| dims.is_empty())
            && (leaf || elementwise)
            && m[scalar].control_predecessors().is_empty()
    })
}
