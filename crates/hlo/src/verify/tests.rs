//! What cannot be written as text, because the parser would refuse it first. The rest are file
//! tests.

use super::*;
use crate::op::While;
use crate::{ArrayShape, BinaryKind, ElementType, Op, Shape, UnaryKind};

fn messages(module: &Module) -> Vec<String> {
    verify(module).into_iter().map(|finding| finding.message).collect()
}

#[test]
fn an_empty_module_has_no_entry() {
    assert_eq!(messages(&Module::new("m")), ["there is no entry computation"]);
}

#[test]
fn cycles_and_dangling_operands_are_found() {
    let mut module = Module::new("m");
    let entry = module.add_computation("entry");
    module.set_entry(entry);
    let p = module.add_parameter(entry, "p", Shape::scalar(ElementType::F32));
    let a = module.add_binary(entry, BinaryKind::Add, p, p).unwrap();
    let b = module.add_unary(entry, UnaryKind::Negate, a).unwrap();
    module.set_root(b);
    assert_eq!(messages(&module), [""; 0]);
    module.set_operand(a, 1, b);
    assert_eq!(messages(&module), ["`add` needs its own result, by way of `negate`"]);
}

#[test]
fn gaps_between_parameters_are_found() {
    let mut module = Module::new("m");
    let entry = module.add_computation("entry");
    module.set_entry(entry);
    let shape = Shape::scalar(ElementType::F32);
    let p = module.add_instruction(entry, "p", Op::parameter(2), shape, &[]);
    module.set_root(p);
    assert_eq!(
        messages(&module),
        [
            "parameter 0 is missing, but there is a parameter 2",
            "parameter 1 is missing, but there is a parameter 2"
        ]
    );
}

#[test]
fn recursion_is_found() {
    let mut module = Module::new("m");
    let entry = module.add_computation("entry");
    module.set_entry(entry);
    let shape = Shape::scalar(ElementType::Pred);
    let p = module.add_parameter(entry, "p", shape.clone());
    let op = Op::While(While { condition: entry, body: entry });
    let root = module.add_instruction(entry, "while", op, shape, &[p]);
    module.set_root(root);
    let found = messages(&module);
    assert_eq!(found, ["`entry` calls itself by way of this"; 2]);
}

#[test]
fn findings_say_where_the_user_wrote_it() {
    let mut module = Module::new("m");
    let entry = module.add_computation("entry");
    module.set_entry(entry);
    let p = module.add_parameter(entry, "p", ArrayShape::new(ElementType::F32, [2]));
    let wrong = Shape::array(ElementType::F32, [3]);
    let root = module.add_instruction(entry, "n", Op::unary(UnaryKind::Negate), wrong, &[p]);
    module.set_root(root);
    let metadata = &mut module[root].info_mut().metadata;
    metadata.op_name = "jit(f)/neg".into();
    metadata.source_file = "f.py".into();
    metadata.source_line = 7;
    let findings = verify(&module);
    assert_eq!(
        findings[0].render(None),
        "error: declared `f32[3]`, but `negate` gives `f32[2]`\n  \
         in `n = f32[3] negate(p)` of `entry`\n  \
         written at f.py:7 (jit(f)/neg)\n"
    );
}

#[test]
fn stack_frames_go_up() {
    let mut module = Module::new("m");
    let entry = module.add_computation("entry");
    module.set_entry(entry);
    let p = module.add_parameter(entry, "p", Shape::scalar(ElementType::F32));
    module.set_root(p);
    let frame = |parent_frame_id| crate::StackFrame { file_location_id: 0, parent_frame_id };
    module.stack_frames.stack_frames = vec![frame(0), frame(3), frame(2)];
    assert_eq!(messages(&module), ["stack frame 2 is its own parent"]);
}
