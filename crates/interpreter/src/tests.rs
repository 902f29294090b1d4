//! Modules built by hand and run.

use rxla_hlo::op::*;
use rxla_hlo::{ComputationId, ElementType, InstructionId, Literal, Module, Op, Shape};

use crate::{Options, evaluate};

fn constant(module: &mut Module, computation: ComputationId, value: Literal) -> InstructionId {
    let shape = value.shape();
    module.add_instruction(computation, "constant", Op::constant(value), shape, &[])
}

fn adder(module: &mut Module, element_type: ElementType) -> ComputationId {
    let add = module.add_computation("add");
    let scalar = Shape::scalar(element_type);
    let x = module.add_instruction(add, "x", Op::parameter(0), scalar.clone(), &[]);
    let y = module.add_instruction(add, "y", Op::parameter(1), scalar.clone(), &[]);
    let sum = module.add_instruction(add, "sum", Op::binary(BinaryKind::Add), scalar, &[x, y]);
    module.set_root(sum);
    add
}

#[test]
fn sums_rows_and_columns() {
    for (dimensions, dims, expected) in [
        (vec![0], vec![3], vec![5.0f32, 7.0, 9.0]),
        (vec![1], vec![2], vec![6.0, 15.0]),
        (vec![0, 1], vec![], vec![21.0]),
        (vec![], vec![2, 3], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
    ] {
        let mut module = Module::new("m");
        let to_apply = adder(&mut module, ElementType::F32);
        let entry = module.add_computation("entry");
        let shape = Shape::array(ElementType::F32, [2, 3]);
        let x = module.add_instruction(entry, "x", Op::parameter(0), shape, &[]);
        let zero = constant(&mut module, entry, Literal::scalar(0f32));
        let op = Reduce { dimensions: dimensions.as_slice().into(), to_apply };
        let shape = Shape::array(ElementType::F32, dims.clone());
        let root = module.add_instruction(entry, "reduce", op.into(), shape, &[x, zero]);
        module.set_root(root);
        module.set_entry(entry);
        let x = Literal::from_values([2, 3], &[1f32, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let result = evaluate(&module, vec![x], &Options::default()).unwrap();
        assert_eq!(result, Literal::from_values(dims, &expected));
    }
}

/// `while i < limit { x[i] = x[i] + i; i += 1 }` over a long array: quadratic if the state were
/// copied.
#[test]
fn loops_update_in_place() {
    const N: i64 = 100_000;
    let mut module = Module::new("m");
    let int = Shape::scalar(ElementType::S32);
    let line = Shape::array(ElementType::S32, [N]);
    let state = Shape::tuple([int.clone(), line.clone()]);
    let predicate = Shape::scalar(ElementType::Pred);

    let condition = module.add_computation("condition");
    let s = module.add_instruction(condition, "s", Op::parameter(0), state.clone(), &[]);
    let gte = Op::get_tuple_element(0);
    let i = module.add_instruction(condition, "i", gte, int.clone(), &[s]);
    let limit = constant(&mut module, condition, Literal::scalar(N as i32));
    let compare = Op::compare(ComparisonDirection::Lt);
    let root = module.add_instruction(condition, "lt", compare, predicate, &[i, limit]);
    module.set_root(root);

    let body = module.add_computation("body");
    let s = module.add_instruction(body, "s", Op::parameter(0), state.clone(), &[]);
    let i = module.add_instruction(body, "i", Op::get_tuple_element(0), int.clone(), &[s]);
    let x = module.add_instruction(body, "x", Op::get_tuple_element(1), line.clone(), &[s]);
    let one = constant(&mut module, body, Literal::scalar(1i32));
    let short = Shape::array(ElementType::S32, [1]);
    let slice = DynamicSlice { dynamic_slice_sizes: [1].as_slice().into() };
    let old = module.add_instruction(body, "old", slice.into(), short.clone(), &[x, i]);
    let broadcast = Op::broadcast([]);
    let step = module.add_instruction(body, "step", broadcast, short.clone(), &[i]);
    let new = module.add_instruction(body, "new", Op::binary(BinaryKind::Add), short, &[old, step]);
    let update = Op::DynamicUpdateSlice(DynamicUpdateSlice {});
    let x = module.add_instruction(body, "dus", update, line.clone(), &[x, new, i]);
    let next = Op::binary(BinaryKind::Add);
    let i = module.add_instruction(body, "next", next, int.clone(), &[i, one]);
    let root = module.add_instruction(body, "tuple", Op::tuple(), state.clone(), &[i, x]);
    module.set_root(root);

    let entry = module.add_computation("entry");
    let x = module.add_instruction(entry, "x", Op::parameter(0), line, &[]);
    let zero = constant(&mut module, entry, Literal::scalar(0i32));
    let start = module.add_instruction(entry, "start", Op::tuple(), state.clone(), &[zero, x]);
    let op = While { condition, body };
    let root = module.add_instruction(entry, "while", op.into(), state, &[start]);
    module.set_root(root);
    module.set_entry(entry);

    let x = Literal::from_values([N], &vec![1i32; N as usize]);
    let started = std::time::Instant::now();
    let result = evaluate(&module, vec![x.clone()], &Options::default()).unwrap();
    assert!(started.elapsed().as_secs() < 5, "the state is copied");
    let Literal::Tuple(parts) = result else { panic!("a tuple") };
    let expected: Vec<i32> = (0..N as i32).map(|i| i + 1).collect();
    assert_eq!(parts[1].values::<i32>(), expected);
    assert_eq!(x.values::<i32>()[5], 1, "the caller's value stays");

    let options = Options { step_limit: Some(1000), ..Options::default() };
    let error = evaluate(&module, vec![x], &options).unwrap_err();
    assert_eq!(error.code, rxla_base::Code::DeadlineExceeded);
}
