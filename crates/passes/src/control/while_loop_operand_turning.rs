//! `while-loop-operand-turning`: a matrix that a loop multiplies some rows with at each step, and that does not
//! change, is turned once before the loop where its lines lie along the sum.
//!
//! Products of a few rows read a matrix where it is if its columns lie together; otherwise they turn it while
//! they pack it, and so does every step: gradients of recurrent networks, whose steps multiply with the transpose of
//! the weights, spent a tenth of their time with that. Sums are taken in another order then, by sizes alone.

use rustc_hash::FxHashMap;
use rxla_base::Result;
use rxla_hlo::op::{Transpose, While};
use rxla_hlo::{ElementType, InstructionId, Module, Op};

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

/// Products of some rows with an element of the state that stays, along the lines of which they sum.
fn products(m: &Module, found: &Loop) -> Vec<InstructionId> {
    let order = m.post_order(found.body);
    order.into_iter().filter(|&i| sums_along_lines(m, found, i).unwrap_or(false)).collect()
}

fn sums_along_lines(m: &Module, found: &Loop, i: InstructionId) -> Option<bool> {
    let Op::Dot(dot) = &m[i].op else { return None };
    let state = m[found.body].parameters()[0];
    let [rows, matrix] = [0, 1].map(|side| view::operand(m, i, side));
    let stays = found.passes_through(m, carried::element(m, matrix, state)?);
    let (rows, matrix) = (view::static_array(m, rows)?, view::static_array(m, matrix)?);
    let [lines, depth] = matrix.dims[..] else { return None };
    let [_, _] = rows.dims[..] else { return None };
    let [contracted] = dot.lhs_contracting_dims[..] else { return None };
    let count = rows.dims[1 - contracted as usize];
    let known = [ElementType::F32, ElementType::F64].contains(&matrix.element_type);
    Some(
        stays
            && dot.rhs_contracting_dims[..] == [1]
            && known
            && rows.element_type == matrix.element_type
            && view::element_type(m, i) == Some(matrix.element_type)
            && ROWS.contains(&count)
            && lines > 1
            && depth > 1
            && ELEMENTS.contains(&lines.saturating_mul(depth)),
    )
}

fn turn(m: &mut Module, mut found: Loop) {
    // Another loop may have the same body.
    (found.body, _) = carried::copy(m, found.body);
    m[found.site].op = Op::from(While { condition: found.condition, body: found.body });
    let mut turned = FxHashMap::default();
    let mut moved = Vec::new();
    for product in products(m, &found) {
        let [rows, matrix] = [0, 1].map(|side| view::operand(m, product, side));
        let Op::Dot(dot) = &m[product].op else { continue };
        let mut dot = dot.clone();
        dot.rhs_contracting_dims = [0].into_iter().collect();
        let matrix = *turned.entry(matrix).or_insert_with(|| {
            let order = Transpose { dimensions: [1, 0].into_iter().collect() };
            moved.push(view::add(m, product, order, &[matrix]));
            moved[moved.len() - 1]
        });
        let made = view::add_same(m, product, Op::from(dot), &[rows, matrix]);
        m.replace_all_uses(product, made);
        m.remove_instruction(product);
    }
    hoist(m, &found, &moved);
}
