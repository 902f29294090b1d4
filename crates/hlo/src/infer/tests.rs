//! What [`super::infer`] gives and refuses, built by hand. Cases of whole programs are file tests.

use smallvec::smallvec;

use crate::op::*;
use crate::{ArrayShape, BinaryKind, ElementType, Module, Op, Shape, UnaryKind, infer};

use ElementType::*;

fn shape(element_type: ElementType, dims: &[i64]) -> Shape {
    Shape::array(element_type, dims.iter().copied())
}

fn given(op: impl Into<Op>, operands: &[&Shape], declared: Option<&Shape>) -> String {
    match infer(&Module::new("m"), &op.into(), operands, declared) {
        Ok(shape) => shape.to_string(),
        Err(diagnostic) => diagnostic.message,
    }
}

fn inferred(op: impl Into<Op>, operands: &[&Shape]) -> String {
    given(op, operands, None)
}

#[test]
fn elementwise() {
    let f = shape(F32, &[2, 3]);
    assert_eq!(inferred(Op::unary(UnaryKind::Exp), &[&f]), "f32[2,3]");
    assert_eq!(inferred(Op::unary(UnaryKind::Abs), &[&shape(C64, &[2])]), "f32[2]");
    assert_eq!(inferred(Op::unary(UnaryKind::IsFinite), &[&f]), "pred[2,3]");
    assert_eq!(
        inferred(Op::unary(UnaryKind::Not), &[&f]),
        "not: operands have to be `pred` or integers, but are `f32`"
    );
    let add = Op::binary(BinaryKind::Add);
    assert_eq!(inferred(add.clone(), &[&f, &f]), "f32[2,3]");
    assert_eq!(
        inferred(add.clone(), &[&f, &shape(F32, &[3])]),
        "add: operands differ in size: `f32[2,3]` and `f32[3]`"
    );
    assert_eq!(inferred(add.clone(), &[&f]), "add: 2 operands needed, but 1 given");
    assert_eq!(
        given(add, &[&f, &f], Some(&shape(F32, &[3, 2]))),
        "declared `f32[3,2]`, but `add` gives `f32[2,3]`"
    );
    assert_eq!(inferred(Op::binary(BinaryKind::Complex), &[&f, &f]), "c64[2,3]");
}

#[test]
fn dynamic_sizes_go_through() {
    let mut bounded = ArrayShape::new(F32, [4, 3]);
    bounded.set_dynamic(0, true);
    let bounded = Shape::Array(bounded);
    let fixed = shape(F32, &[4, 3]);
    let add = Op::binary(BinaryKind::Add);
    assert_eq!(inferred(add, &[&bounded, &fixed]), "f32[<=4,3]");
    assert_eq!(inferred(Transpose { dimensions: smallvec![1, 0] }, &[&bounded]), "f32[3,<=4]");
    let first = SliceDimension { start: 0, limit: 1, stride: 1 };
    let all = SliceDimension { start: 0, limit: 3, stride: 2 };
    assert_eq!(inferred(Slice { slice: vec![first, all] }, &[&bounded]), "f32[1,2]");
}

#[test]
fn sizes_beyond_64_bits_are_refused() {
    let huge = shape(S8, &[i64::MAX]);
    let interior = PaddingDimension { low: 0, high: 0, interior: 2 };
    assert_eq!(
        inferred(Pad { padding: vec![interior] }, &[&huge, &shape(S8, &[])]),
        "pad: (C4) padding of dimension 0 overflows"
    );
    assert_eq!(
        inferred(Concatenate { dimensions: smallvec![0] }, &[&huge, &huge]),
        "concatenate: (C6) the size overflows"
    );
    let wide = shape(F32, &[1 << 40, 1 << 40]);
    assert_eq!(
        given(Iota { iota_dimension: 0 }, &[], Some(&wide)),
        "iota: `f32[1099511627776,1099511627776]` has more bytes than memory can hold"
    );
    assert_eq!(
        given(Iota { iota_dimension: 0 }, &[], Some(&shape(F32, &[-3]))),
        "iota: `f32[-3]` has a negative size"
    );
}

#[test]
fn dimension_numbers_are_checked() {
    let f = shape(F32, &[2, 3]);
    assert_eq!(
        inferred(Transpose { dimensions: smallvec![0, 2] }, &[&f]),
        "transpose: (C2) `dimensions` names dimension 2, but there are 2 dimensions"
    );
    assert_eq!(
        inferred(Transpose { dimensions: smallvec![1, 1] }, &[&f]),
        "transpose: (C2) `dimensions` names dimension 1 twice"
    );
    assert_eq!(
        inferred(Reverse { dimensions: smallvec![-1] }, &[&f]),
        "reverse: (C3) `dimensions` names dimension -1, but there are 2 dimensions"
    );
    assert_eq!(
        inferred(GetTupleElement { index: 2 }, &[&Shape::tuple([f.clone(), f])]),
        "get-tuple-element: (C1) index 2 is not in a tuple of 2"
    );
}

#[test]
fn dots() {
    let dot = Dot {
        lhs_batch_dims: smallvec![0],
        lhs_contracting_dims: smallvec![2],
        rhs_batch_dims: smallvec![0],
        rhs_contracting_dims: smallvec![1],
        ..Dot::default()
    };
    let (lhs, rhs) = (shape(Bf16, &[7, 2, 3]), shape(Bf16, &[7, 3, 5]));
    let dot = Op::Dot(Box::new(dot));
    assert_eq!(inferred(dot.clone(), &[&lhs, &rhs]), "bf16[7,2,5]");
    let wider = shape(F32, &[7, 2, 5]);
    assert_eq!(given(dot.clone(), &[&lhs, &rhs], Some(&wider)), "f32[7,2,5]");
    assert_eq!(
        inferred(dot, &[&lhs, &shape(Bf16, &[7, 4, 5])]),
        "dot: (C10) contracting dimension 2 of `bf16[7,2,3]` is 3, but 1 of `bf16[7,4,5]` is 4"
    );
}

#[test]
fn windows() {
    let mut window = WindowDimension::new(3);
    window.padding_low = 1;
    window.padding_high = 1;
    window.stride = 2;
    let op = Convolution {
        window: Window { dimensions: vec![window] },
        dim_labels: ConvolutionDimensions {
            input_batch: 0,
            input_spatial: smallvec![1],
            input_feature: 2,
            kernel_spatial: smallvec![0],
            kernel_input_feature: 1,
            kernel_output_feature: 2,
            output_batch: 0,
            output_spatial: smallvec![1],
            output_feature: 2,
        },
        ..Convolution::default()
    };
    let (lhs, rhs) = (shape(F32, &[8, 10, 4]), shape(F32, &[3, 4, 6]));
    let conv = |op: &Convolution| Op::Convolution(Box::new(op.clone()));
    assert_eq!(inferred(conv(&op), &[&lhs, &rhs]), "f32[8,5,6]");
    let mut wrong = op.clone();
    wrong.feature_group_count = GroupCount(3);
    assert_eq!(
        inferred(conv(&wrong), &[&lhs, &rhs]),
        "convolution: (C11) 4 features are no multiple of 3"
    );
    let mut wrong = op;
    wrong.window.dimensions[0].padding_low = i64::MAX;
    assert_eq!(
        inferred(conv(&wrong), &[&lhs, &rhs]),
        "convolution: the window in dimension 0 overflows"
    );
}

#[test]
fn gathers() {
    let gather = Gather {
        offset_dims: smallvec![1, 2],
        collapsed_slice_dims: smallvec![0],
        start_index_map: smallvec![0, 2],
        index_vector_dim: 1,
        slice_sizes: smallvec![1, 4, 2],
        ..Gather::default()
    };
    let (operand, indices) = (shape(F32, &[9, 4, 5]), shape(S32, &[6, 2]));
    let op = |gather: &Gather| Op::Gather(Box::new(gather.clone()));
    assert_eq!(inferred(op(&gather), &[&operand, &indices]), "f32[6,4,2]");
    let mut wrong = gather.clone();
    wrong.slice_sizes[0] = 2;
    assert_eq!(
        inferred(op(&wrong), &[&operand, &indices]),
        "gather: (C9, C12) dimension 0 is left out of the result, but its slice size is 2"
    );
    let mut wrong = gather;
    wrong.index_vector_dim = -1;
    assert_eq!(
        inferred(op(&wrong), &[&operand, &indices]),
        "gather: (C2) `index_vector_dim` is -1, but indices are `s32[6,2]`"
    );
}

#[test]
fn reductions_call_computations() {
    let mut module = Module::new("m");
    let sum = module.add_scalar_computation(BinaryKind::Add, F32).unwrap();
    assert_eq!(module.add_scalar_computation(BinaryKind::Add, F32).unwrap(), sum);
    let entry = module.add_computation("entry");
    let p = module.add_parameter(entry, "p", ArrayShape::new(F32, [2, 3, 5]));
    let zero = module.add_scalar(entry, F32, 0.0);
    let reduced = module.add_reduce(entry, p, zero, [0, 2], sum).unwrap();
    assert_eq!(module[reduced].shape.to_string(), "f32[3]");
    let wrong = module.add_scalar(entry, S32, 0.0);
    let error = module.add_reduce(entry, p, wrong, [0], sum).unwrap_err();
    assert_eq!(
        error.message,
        "reduce: (C6) initial value 0 is `s32`, but `add_f32` accumulates `f32[]`"
    );
    let op = Reduce { dimensions: smallvec![0], to_apply: Default::default() };
    let error = module.add(entry, op, &[p, zero]).unwrap_err();
    assert_eq!(error.message, "reduce: `to_apply` names no computation of the module");
}

#[test]
fn builder_refuses_what_is_elsewhere() {
    let mut module = Module::new("m");
    let first = module.add_computation("first");
    let second = module.add_computation("second");
    let p = module.add_parameter(first, "p", Shape::scalar(F32));
    let error = module.add_unary(second, UnaryKind::Exp, p).unwrap_err();
    assert_eq!(error.message, "exponential: operand `p` is not in `second`");
    let error = module.add_with_shape(first, Op::parameter(i64::MAX), Shape::scalar(F32), &[]);
    assert_eq!(
        error.unwrap_err().message,
        "parameter: `first` cannot have a parameter 9223372036854775807"
    );
}

#[test]
fn groups_are_written_out() {
    let iota =
        IotaGroups { dims: smallvec![2, 4], reshape: smallvec![4, 2], transpose: smallvec![1, 0] };
    let groups = ReplicaGroups::Iota(Box::new(iota));
    assert_eq!(groups.expand().unwrap(), [[0, 2, 4, 6], [1, 3, 5, 7]]);
    let huge = IotaGroups {
        dims: smallvec![1 << 40, 1 << 40],
        reshape: smallvec![],
        transpose: smallvec![],
    };
    let error = ReplicaGroups::Iota(Box::new(huge)).expand().unwrap_err();
    assert_eq!(error, "replica groups have more than 4194304 members");
    let axis = |name: &str, size| crate::MeshAxis { name: name.into(), size };
    let mesh = crate::Mesh { axes: vec![axis("x", 2), axis("y", 4)], ..Default::default() };
    let sub = crate::AxisRef { axis: 1, sub_axis: Some((2, 2)) };
    let groups =
        MeshAxesGroups { mesh, axes: vec![sub, crate::AxisRef { axis: 0, sub_axis: None }] };
    let groups = ReplicaGroups::MeshAxes(Box::new(groups)).expand().unwrap();
    assert_eq!(groups, [[0, 4, 1, 5], [2, 6, 3, 7]]);
}
