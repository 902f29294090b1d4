//! Modules through protos, and protos that no program would write.

use rxla_hlo::Module;
use rxla_hlo::text::{MissingLayouts, ParseOptions, PrintOptions, parse, print};
use rxla_hlo_proto::proto::{HloModuleProto, HloProto, HloSnapshot};
use rxla_hlo_proto::{Format, Message, decode, from_proto, literal, read_module, to_proto};

fn module(text: &str) -> Module {
    let options =
        ParseOptions { missing_layouts: MissingLayouts::RowMajor, ..ParseOptions::default() };
    parse(text, &options).unwrap().module
}

fn text(module: &Module) -> String {
    print(module, &PrintOptions::complete())
}

const SMALL: &str = r#"HloModule small, is_scheduled=true, input_output_alias={ {0}: (0, {}, must-alias) }, frontend_attributes={a="b"}

add {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y)
}

condition {
  p = (f32[2,3]{0,1}, s32[]) parameter(0)
  ROOT c = pred[] constant(false)
}

body {
  p = (f32[2,3]{0,1}, s32[]) parameter(0)
  ROOT q = (f32[2,3]{0,1}, s32[]) copy(p)
}

ENTRY main {
  a = f32[2,3]{0,1} parameter(0), sharding={devices=[2,1]<=[2]}, metadata={op_name="a" source_file="f.py" source_line=3}
  k = f32[2,3]{0,1} constant({ { 1, 2, 3 }, { 4, 5, 6 } })
  n = s4[3] constant({1, -2, 3}), backend_config={"key":"value"}
  h = bf16[2] constant({1.5, -inf})
  t = (f32[], pred[2]) constant((3, {false, true}))
  zero = f32[] constant(0)
  sum = f32[3] reduce(a, zero), dimensions={0}, to_apply=add, control-predecessors={n}
  one = s32[] constant(1)
  init = (f32[2,3]{0,1}, s32[]) tuple(k, one)
  loop = (f32[2,3]{0,1}, s32[]) while(init), condition=condition, body=body
  call = f32[2] custom-call(a, h), custom_call_target="f", operand_layout_constraints={f32[2,3]{0,1}, bf16[2]{0}}, api_version=API_VERSION_TYPED_FFI
  less = pred[2,3]{0,1} compare(a, k), direction=LT, type=TOTALORDER
  all = f32[2,3]{0,1} all-reduce(a), replica_groups=[2,2]<=[2,2]T(1,0), channel_id=7, use_global_device_ids=true, to_apply=add
  ROOT out = (f32[2,3]{0,1}, f32[3]{0}) tuple(a, sum)
}
"#;

#[test]
fn a_module_is_the_same_after_a_proto() {
    let before = module(SMALL);
    let bytes = to_proto(&before).unwrap().encode_to_vec();
    let proto: HloModuleProto = decode(&bytes).unwrap();
    let after = from_proto(&proto).unwrap();
    assert_eq!(text(&after), text(&before));
    // Another time, so that nothing creeps in.
    assert_eq!(to_proto(&after).unwrap(), proto);
}

#[test]
fn constants_keep_the_order_of_their_layout() {
    let proto = to_proto(&module(SMALL)).unwrap();
    let main = proto.computations.iter().find(|c| c.name == "main").unwrap();
    let find = |name: &str| main.instructions.iter().find(|i| i.name == name).unwrap();
    assert_eq!(find("k").literal.as_ref().unwrap().f32s, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    // One byte for each narrow integer, sign bits beyond its own cleared.
    assert_eq!(find("n").literal.as_ref().unwrap().s4s, [1, 14, 3]);
    // XLA lists the body first.
    let id = |name: &str| proto.computations.iter().find(|c| c.name == name).unwrap().id;
    assert_eq!(find("loop").called_computation_ids, [id("body"), id("condition")]);
}

#[test]
fn formats_are_told_by_content() {
    let proto = to_proto(&module(SMALL)).unwrap();
    let hlo = HloProto { hlo_module: Some(proto.clone()), buffer_assignment: Some(vec![]) };
    let one = rxla_hlo::Literal::scalar(1.5f32);
    let one_proto = literal::to_proto(&one, &one.shape()).unwrap();
    let snapshot = HloSnapshot {
        hlo: Some(hlo.clone()),
        arguments: vec![one_proto.clone()],
        result: Some(one_proto),
        execution_platform: "cpu".to_owned(),
    };
    let with_config = rxla_hlo_proto::to_proto_with_config(&module(SMALL)).unwrap();
    let cases = [
        (SMALL.as_bytes().to_vec(), Format::Text),
        (proto.encode_to_vec(), Format::HloModuleProto),
        (hlo.encode_to_vec(), Format::HloProto),
        (snapshot.encode_to_vec(), Format::HloSnapshot),
        (with_config.encode_to_vec(), Format::HloModuleProtoWithConfig),
    ];
    for (bytes, format) in cases {
        let read = read_module(&bytes).unwrap();
        assert_eq!(read.format, format);
        assert_eq!(read.module.name, "small");
        if format == Format::HloSnapshot {
            assert_eq!((read.arguments, read.result), (vec![one.clone()], Some(one.clone())));
        }
    }
    assert!(read_module(b"\x7fELF").is_err());
    assert!(read_module(b"").is_err());
}

/// What reading says of a proto that was changed.
fn refused(change: impl FnOnce(&mut HloModuleProto)) -> String {
    let mut proto = to_proto(&module(SMALL)).unwrap();
    change(&mut proto);
    from_proto(&proto).unwrap_err().message
}

fn main_of(proto: &mut HloModuleProto) -> &mut rxla_hlo_proto::proto::HloComputationProto {
    proto.computations.iter_mut().find(|c| c.name == "main").unwrap()
}

#[test]
fn broken_protos_are_refused() {
    let double = |proto: &mut HloModuleProto| {
        let main = main_of(proto);
        main.instructions[1].id = main.instructions[0].id;
    };
    assert!(refused(double).starts_with("two instructions have the id "));
    let missing =
        |proto: &mut HloModuleProto| main_of(proto).instructions[6].operand_ids = vec![99];
    assert!(refused(missing).ends_with("needs the id 99, which no instruction has"));
    let cycle = |proto: &mut HloModuleProto| {
        let main = main_of(proto);
        let id = main.root_id;
        let index = main.instructions.iter().position(|i| i.name == "sum").unwrap();
        main.instructions[index].control_predecessor_ids.push(id);
    };
    assert!(refused(cycle).ends_with("needs its own result"));
    let number = |proto: &mut HloModuleProto| {
        let main = main_of(proto);
        main.instructions[0].parameter_number = i64::MAX;
    };
    assert_eq!(
        refused(number),
        "there is a parameter 9223372036854775807, but there are 1 parameters"
    );
    let recursion = |proto: &mut HloModuleProto| {
        let id = proto.entry_computation_id;
        let main = main_of(proto);
        let index = main.instructions.iter().position(|i| i.name == "sum").unwrap();
        main.instructions[index].called_computation_ids = vec![id];
    };
    assert_eq!(refused(recursion), "`main` calls itself, however indirectly");
    let opcode = |proto: &mut HloModuleProto| main_of(proto).instructions[0].opcode = "x".into();
    assert_eq!(refused(opcode), "there is no opcode `x`");
    let entry = |proto: &mut HloModuleProto| proto.entry_computation_id = -5;
    assert_eq!(refused(entry), "the entry computation has the id -5, which no computation has");
    let literal = |proto: &mut HloModuleProto| {
        let main = main_of(proto);
        let k = main.instructions.iter_mut().find(|i| i.name == "k").unwrap();
        k.literal.as_mut().unwrap().shape.as_mut().unwrap().dimensions = vec![1 << 40, 1 << 20];
    };
    assert_eq!(refused(literal), "a literal of `f32[1099511627776,1048576]` has 6 elements");
}

#[test]
fn instructions_may_stand_in_any_order() {
    let mut proto = to_proto(&module(SMALL)).unwrap();
    proto.schedule = None;
    let expected = from_proto(&proto).unwrap();
    for computation in &mut proto.computations {
        computation.instructions.reverse();
    }
    proto.computations.reverse();
    let found = from_proto(&proto).unwrap();
    assert!(rxla_hlo::verify(&found).is_empty());
    let sorted = |module: &Module| {
        let mut lines: Vec<String> = text(module).lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted(&found), sorted(&expected));
}

#[test]
fn every_cut_of_a_proto_is_handled() {
    let bytes = to_proto(&module(SMALL)).unwrap().encode_to_vec();
    for end in 0..bytes.len() {
        // A cut may fall between fields and leave a smaller message; no cut panics.
        if let Ok(read) = read_module(&bytes[..end]) {
            rxla_hlo::verify(&read.module);
        }
    }
}
