//! `while-loop-operand-turning`: a matrix that a loop multiplies some rows with at each step, and that does not
//! change, is laid out in panels before the loop, as products read them.
//!
//! Otherwise each step reads its columns across all lines, a line of memory from each page, or turns it while it packs it:
//! recurrent networks, whose weights do not fit into the second cache, spend most of their time with that. Sums are
//! taken in another order then, by sizes alone.

use rustc_hash::FxHashMap;
use rxla_base::Result;
use rxla_hlo::op::{Reshape, Transpose, While};
use rxla_hlo::{ArrayShape, ElementType, InstructionId, Module, Op};

use super::carried::{self, Loop};
use super::trip_count::trip_count;
use super::while_loop_invariant_code_motion::hoist;
use crate::effects::unfused_computations;
use crate::pass::{Context, Pass};
use crate::simplify::call_inliner::MAX_INSTRUCTIONS;
use crate::view;

pub struct WhileLoopOperandTurning;

/// Steps from which on it pays.
const FEWEST_STEPS: u64 = 4;
/// Columns of a panel, a multiple of what tiles of any instruction set are wide.
const PANEL: i64 = 32;
/// Fewer rows read lines along the sum where they are; more are worth packing for.
const ROWS: std::ops::RangeInclusive<i64> = 9..=48;
/// Elements of the matrix: smaller ones are no work, larger ones much memory.
const ELEMENTS: std::ops::RangeInclusive<i64> = 1 << 15..=1 << 23;

impl Pass for WhileLoopOperandTurning {
    fn name(&self) -> &'static str {
        "while-loop-operand-turning"
    }

    fn class(&self) -> &'static str {
        "WhileLoopOperandTurning"
    }

    fn run(&self, module: &mut Module, cx: &Context) -> Result<u64> {
        let mut made = 0;
        for computation in unfused_computations(module) {
            for site in module.post_order(computation) {
                let Some(found) = carried::find(module, site) else { continue };
                if products(module, &found).is_empty()
                    || trip_count(module, site).is_none_or(|steps| steps < FEWEST_STEPS)
                    || module.instruction_capacity() > MAX_INSTRUCTIONS
                {
                    continue;
                }
                if !cx.spend() {
                    return Ok(made);
                }
                turn(module, found);
                made += 1;
            }
        }
        Ok(made)
    }
}

/// A product of some rows with an element of the state that stays.
struct Product {
    dot: InstructionId,
    /// The dimension of the matrix that is summed over, and the size of the other one.
    summed: usize,
    columns: i64,
}

impl Product {
    fn of(m: &Module, found: &Loop, dot: InstructionId) -> Option<Product> {
        let Op::Dot(op) = &m[dot].op else { return None };
        let state = m[found.body].parameters()[0];
        let [rows, matrix] = [0, 1].map(|side| view::operand(m, dot, side));
        let stays = found.passes_through(m, carried::element(m, matrix, state)?);
        let (rows, matrix) = (view::static_array(m, rows)?, view::static_array(m, matrix)?);
        let ([_, _], [a, b]) = (&rows.dims[..], &matrix.dims[..]) else { return None };
        let ([1], [summed]) = (&op.lhs_contracting_dims[..], &op.rhs_contracting_dims[..]) else {
            return None;
        };
        let kind = matrix.element_type;
        let alike = rows.element_type == kind && view::element_type(m, dot) == Some(kind);
        let summed = *summed as usize;
        let columns = matrix.dims[1 - summed];
        let fits = stays
            && alike
            && [ElementType::F32, ElementType::F64].contains(&kind)
            && ROWS.contains(&rows.dims[0])
            && ELEMENTS.contains(&a.saturating_mul(*b))
            && columns % PANEL == 0;
        fits.then_some(Product { dot, summed, columns })
    }
}

fn products(m: &Module, found: &Loop) -> Vec<Product> {
    let order = m.post_order(found.body);
    order.into_iter().filter_map(|i| Product::of(m, found, i)).collect()
}

/// Has products read panels, which are made before the loop.
fn turn(m: &mut Module, mut found: Loop) {
    // Another loop may have the same body.
    (found.body, _) = carried::copy(m, found.body);
    m[found.site].op = Op::from(While { condition: found.condition, body: found.body });
    let mut panels = FxHashMap::default();
    let mut moved = Vec::new();
    for Product { dot, summed, columns } in products(m, &found) {
        let [rows, matrix] = [0, 1].map(|side| view::operand(m, dot, side));
        let made = *panels.entry((matrix, summed)).or_insert_with(|| {
            let made = panels_of(m, matrix, summed, columns);
            moved.push(made);
            made
        });
        let Op::Dot(op) = &m[dot].op else { continue };
        let mut op = op.clone();
        op.rhs_contracting_dims = [1].into_iter().collect();
        let product = view::add(m, dot, Op::from(op), &[rows, made]);
        let whole = view::add_same(m, dot, Reshape::default(), &[product]);
        m.replace_all_uses(dot, whole);
        m.remove_instruction(dot);
    }
    hoist(m, &found, &moved);
}

/// The matrix as panels, each with all steps of the sum, and at each step [`PANEL`] columns.
fn panels_of(m: &mut Module, matrix: InstructionId, summed: usize, columns: i64) -> InstructionId {
    let Some(shape) = view::static_array(m, matrix).cloned() else { return matrix };
    let split = [columns / PANEL, PANEL];
    let depth = shape.dims[summed];
    // Columns are rows of the matrix if it is summed along its lines.
    let (dims, order) = match summed {
        0 => ([depth, split[0], split[1]], [1, 0, 2]),
        _ => ([split[0], split[1], depth], [0, 2, 1]),
    };
    let shape = ArrayShape::new(shape.element_type, dims.to_vec());
    let split = view::add_with_shape(m, matrix, Reshape::default(), shape, &[matrix]);
    view::add(m, split, Transpose { dimensions: order.into_iter().collect() }, &[split])
}
