//! `select_and_scatter_expander`, XLA's SelectAndScatterExpander: which element a window selects is the
//! result of a `reduce-window` over values and their places; a `scatter` does the rest.

use rxla_base::Result;
use rxla_hlo::op::{
    Call, ComparisonDirection, Iota, ReduceWindow, Reshape, Scatter, Select, SelectAndScatter,
};
use rxla_hlo::{
    ArrayLiteral, ArrayShape, BinaryKind, ComputationId, ElementType, InstructionId, Module, Op,
    Shape,
};

use crate::pass::{Context, Pass};
use crate::rewrite::{self, NamedRule};
use crate::simplify::call_inliner::inline;
use crate::{rules, view};

pub struct SelectAndScatterExpander;

const RULES: &[NamedRule] = rules! {
    SelectAndScatter => [select_and_scatter],
};

impl Pass for SelectAndScatterExpander {
    fn name(&self) -> &'static str {
        "select_and_scatter_expander"
    }

    fn class(&self) -> &'static str {
        "SelectAndScatterExpander"
    }

    fn run(&self, module: &mut Module, cx: &Context) -> Result<u64> {
        Ok(rewrite::apply(module, cx, &[RULES]))
    }
}

/// `select-and-scatter(x, source, init) => scatter(init, places, source)`, the places by number in the
/// flat array; -1, where a window holds nothing, is outside and so is left out
fn select_and_scatter(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let Op::SelectAndScatter(op) = &m[i].op else { return None };
    let SelectAndScatter { window, select, scatter } = op.clone();
    let [x, source, init] = [0, 1, 2].map(|number| view::operand(m, i, number));
    let shape = view::static_array(m, x)?.clone();
    let windows = view::static_array(m, source)?.clone();
    let result = view::static_array(m, i)?.clone();
    let element_type = shape.element_type;
    let same = [source, init, i].iter().all(|&o| view::element_type(m, o) == Some(element_type));
    let (count, windows_count) = (shape.element_count()? as i64, windows.element_count()? as i64);
    if !same || count == 0 || windows_count == 0 || result.dims != shape.dims {
        return None;
    }
    let of_place = if i32::try_from(count).is_ok() { ElementType::S32 } else { ElementType::S64 };
    let parent = m[i].parent();

    let flat = ArrayShape::new(of_place, [count]);
    let numbers = view::add_with_shape(m, i, Iota { iota_dimension: 0 }, flat, &[]);
    let places = ArrayShape::new(of_place, shape.dims.iter().copied());
    let places = view::add_with_shape(m, i, Reshape::default(), places, &[numbers]);
    let nothing = ArrayLiteral::zeros(&ArrayShape::scalar(element_type)).ok()?;
    let nothing = m.add_constant(parent, nothing);
    let nowhere = m.add_scalar(parent, of_place, -1.0);
    let to_apply = selection(m, select, element_type, of_place);
    let both = [element_type, of_place]
        .map(|element_type| Shape::array(element_type, windows.dims.iter().copied()));
    let found = view::add_with_shape(
        m,
        i,
        ReduceWindow { window, to_apply },
        Shape::tuple(both),
        &[x, places, nothing, nowhere],
    );
    let found = view::add(m, i, Op::get_tuple_element(1), &[found]);

    let indices = ArrayShape::new(of_place, [windows_count, 1]);
    let indices = view::add_with_shape(m, i, Reshape::default(), indices, &[found]);
    let updates = ArrayShape::new(element_type, [windows_count]);
    let updates = view::add_with_shape(m, i, Reshape::default(), updates, &[source]);
    let flat = ArrayShape::new(element_type, [count]);
    let start = view::add_with_shape(m, i, Op::broadcast([]), flat, &[init]);
    let op = Scatter {
        inserted_window_dims: [0].into_iter().collect(),
        scatter_dims_to_operand_dims: [0].into_iter().collect(),
        index_vector_dim: 1,
        to_apply: scatter,
        ..Scatter::default()
    };
    let sums = view::add(m, i, Box::new(op), &[start, indices, updates]);
    Some(view::add_same(m, i, Reshape::default(), &[sums]))
}

/// Of two values with their places the one that `select` prefers, or that is there.
fn selection(
    m: &mut Module,
    select: ComputationId,
    element_type: ElementType,
    of_place: ElementType,
) -> ComputationId {
    let computation = m.add_computation("selection");
    let [value, place] = [element_type, of_place].map(Shape::scalar);
    let held = m.add_parameter(computation, "held", value.clone());
    let held_place = m.add_parameter(computation, "held_place", place.clone());
    let offered = m.add_parameter(computation, "offered", value);
    let offered_place = m.add_parameter(computation, "offered_place", place);
    let nowhere = m.add_scalar(computation, of_place, -1.0);
    let is = |m: &mut Module, place, direction| {
        view::add(m, held, Op::compare(direction), &[place, nowhere])
    };
    let there = is(m, held_place, ComparisonDirection::Ne);
    let alone = is(m, offered_place, ComparisonDirection::Eq);
    let call = Call { to_apply: select, is_composite: false };
    let preferred = view::add(m, held, call, &[held, offered]);
    let kept = view::add(m, held, Op::binary(BinaryKind::And), &[there, preferred]);
    inline(m, preferred, select);
    let kept = view::add(m, held, Op::binary(BinaryKind::Or), &[alone, kept]);
    let pairs = [(held, offered), (held_place, offered_place)];
    let chosen = pairs.map(|(held, offered)| view::add(m, held, Select {}, &[kept, held, offered]));
    let root = view::add(m, held, Op::tuple(), &chosen);
    m.set_root(root);
    computation
}

#[cfg(test)]
mod tests {
    use rxla_hlo::literal::{Tolerance, compare};
    use rxla_hlo::text::{ParseOptions, parse};
    use rxla_interpreter::{Options, evaluate};

    use super::*;

    fn check(element_type: &str, direction: &str, window: &str, windows: &str) {
        let ty = element_type;
        let text = format!(
            "HloModule m\npick {{\n  a = {ty}[] parameter(0)\n  b = {ty}[] parameter(1)\n  \
             ROOT c = pred[] compare(a, b), direction={direction}\n}}\n\
             sum {{\n  a = {ty}[] parameter(0)\n  b = {ty}[] parameter(1)\n  \
             ROOT c = {ty}[] add(a, b)\n}}\nENTRY e {{\n  \
             i = s32[5,6] iota(), iota_dimension=1\n  j = s32[5,6] iota(), iota_dimension=0\n  \
             p = s32[5,6] multiply(i, j)\n  seven = s32[] constant(7)\n  \
             b = s32[5,6] broadcast(seven), dimensions={{}}\n  q = s32[5,6] remainder(p, b)\n  \
             x = {ty}[5,6] convert(q)\n  k = s32[{windows}] iota(), iota_dimension=1\n  \
             s = {ty}[{windows}] convert(k)\n  z = {ty}[] constant(3)\n  \
             ROOT r = {ty}[5,6] select-and-scatter(x, s, z), window={{{window}}}, select=pick, \
             scatter=sum\n}}\n"
        );
        let mut module = parse(&text, &ParseOptions::default()).expect("valid").module;
        let expected = evaluate(&module, vec![], &Options::default()).expect("runs");
        assert_eq!(SelectAndScatterExpander.run(&mut module, &Context::new()).expect("fits"), 1);
        assert!(rxla_hlo::verify(&module).is_empty(), "{:?}", rxla_hlo::verify(&module));
        let found = evaluate(&module, vec![], &Options::default()).expect("runs");
        let agreed = compare(&expected, &found, Tolerance::EXACT);
        assert!(agreed.is_ok(), "{text}: {}", agreed.err().expect("wrong"));
    }

    #[test]
    fn expansions_compute_what_the_op_does() {
        for element_type in ["f32", "s32", "bf16"] {
            for direction in ["GE", "LT"] {
                check(element_type, direction, "size=2x2 stride=2x2", "2,3");
                check(element_type, direction, "size=3x3 stride=1x2", "3,2");
                check(element_type, direction, "size=2x3 stride=3x2 pad=1_0x1_1", "2,3");
                // The first window holds padding only.
                check(element_type, direction, "size=1x2 stride=2x2 pad=1_1x2_0", "4,4");
            }
        }
    }
}
