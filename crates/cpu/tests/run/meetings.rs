//! Collectives of arrays that are too large to be copied around, against the interpreter.

use std::time::Duration;

use rxla_base::Code;
use rxla_cpu::{Executable, Options, compile};
use rxla_hlo::{ArrayLiteral, ElementType, Literal};
use rxla_interpreter::{Options as World, evaluate_spmd};

use crate::module;

/// Other values on each device and of each parameter.
fn argument(element_type: ElementType, dims: &[i64], device: usize, parameter: usize) -> Literal {
    let count = dims.iter().product::<i64>() as usize;
    let value = |i: usize| ((i * 7 + device * 5 + parameter * 3) % 11) as f32 / 4.0 - 1.25;
    let values: Vec<f32> = (0..count).map(value).collect();
    let values = ArrayLiteral::from_values(dims.iter().copied(), &values);
    values.convert(element_type).unwrap().into()
}

/// Runs on all devices by both. All parameters have the same shape.
fn check(
    devices: &str,
    body: &str,
    element_type: ElementType,
    dims: &[i64],
    parameters: usize,
    reducer: &str,
) {
    let scalar = element_type.name();
    let text = format!(
        "HloModule m, {devices}
f {{
  a = {scalar}[] parameter(0)
  b = {scalar}[] parameter(1)
  ROOT r = {scalar}[] {reducer}(a, b)
}}
ENTRY e {{
{body}
}}
"
    );
    let module = module(&text);
    let devices = (module.config.replica_count * module.config.num_partitions) as usize;
    let arguments: Vec<Vec<Literal>> = (0..devices)
        .map(|device| (0..parameters).map(|p| argument(element_type, dims, device, p)).collect())
        .collect();
    let expected = evaluate_spmd(&module, arguments.clone(), &World::default()).unwrap();
    let executable = compile(&module, &Options::default().with_subnormals()).unwrap();
    assert_eq!(executable.fallbacks().len(), 1, "{text}");
    let programs: Vec<&Executable> = vec![&executable; devices];
    for _ in 0..2 {
        let found =
            Executable::run_all(&programs, arguments.clone(), |_| World::default()).unwrap();
        for (found, expected) in found.into_iter().zip(&expected) {
            let expected = match expected {
                Literal::Tuple(elements) => elements.clone(),
                array => vec![array.clone()],
            };
            assert!(found == expected, "{text}");
        }
    }
}

const FOUR: &str = "replica_count=2, num_partitions=2";

#[test]
fn reductions_of_all_types() {
    use ElementType::*;
    let numbers = [
        Pred, S2, S4, S8, S16, S32, S64, U2, U4, U8, U16, U32, U64, F16, Bf16, F32, F64, C64, C128,
        F8e4m3fn,
    ];
    for element_type in numbers {
        for reducer in ["add", "multiply", "maximum", "minimum", "and", "or", "xor"] {
            let is_float = element_type.is_float() || element_type.is_complex();
            if element_type.is_complex() && matches!(reducer, "maximum" | "minimum")
                || is_float && matches!(reducer, "and" | "or" | "xor")
            {
                continue;
            }
            // Neither a multiple of vectors nor of devices.
            let name = element_type.name();
            let body = format!(
                "  p = {name}[66001] parameter(0)
  ROOT r = {name}[66001] all-reduce(p), channel_id=1, replica_groups={{{{0,1,2,3}}}}, use_global_device_ids=true, to_apply=f"
            );
            check(FOUR, &body, element_type, &[66001], 1, reducer);
        }
    }
}

#[test]
fn groups_are_in_their_order() {
    for groups in
        ["replica_groups={}", "channel_id=1, replica_groups={{1},{0}}", "replica_groups={{1,0}}"]
    {
        let body = format!(
            "  p = f32[333,100] parameter(0)
  q = f32[333,100] parameter(1)
  ROOT r = (f32[333,100], f32[333,100]) all-reduce(p, q), {groups}, to_apply=f"
        );
        check(FOUR, &body, ElementType::F32, &[333, 100], 2, "add");
    }
}

#[test]
fn parts_of_dimensions() {
    let four = "channel_id=1, replica_groups={{2,0,1,3}}, use_global_device_ids=true";
    for (op, results) in [
        ("reduce-scatter", ["6,40,100", "24,10,100", "24,40,25"]),
        ("all-gather", ["96,40,100", "24,160,100", "24,40,400"]),
    ] {
        for (dimension, dims) in results.into_iter().enumerate() {
            let function = if op == "all-gather" { "" } else { ", to_apply=f" };
            for (name, element_type) in [("f32", ElementType::F32), ("s8", ElementType::S8)] {
                let body = format!(
                    "  p = {name}[24,40,100] parameter(0)
  ROOT r = {name}[{dims}] {op}(p), {four}, dimensions={{{dimension}}}{function}"
                );
                check(FOUR, &body, element_type, &[24, 40, 100], 1, "add");
            }
        }
    }
    for dimension in 0..3 {
        let body = format!(
            "  p = f32[24,40,100] parameter(0)
  ROOT r = f32[24,40,100] all-to-all(p), replica_groups={{{{3,1}},{{0,2}}}}, dimensions={{{dimension}}}"
        );
        check("replica_count=4", &body, ElementType::F32, &[24, 40, 100], 1, "add");
    }
}

#[test]
fn whole_operands() {
    let body = "  p = bf16[50000] parameter(0)
  q = bf16[50000] parameter(1)
  ROOT r = (bf16[50000], bf16[50000]) all-to-all(p, q), replica_groups={{3,1},{0,2}}";
    check("replica_count=4", body, ElementType::Bf16, &[50000], 2, "add");
    let body = "  p = f64[50000] parameter(0)
  ROOT r = f64[50000] collective-broadcast(p), replica_groups={{3,1},{0,2}}";
    check("replica_count=4", body, ElementType::F64, &[50000], 1, "add");
    for channel in ["", "channel_id=1, "] {
        let body = format!(
            "  p = f64[50000] parameter(0)
  ROOT r = f64[50000] collective-permute(p), {channel}source_target_pairs={{{{0,1}},{{1,0}}}}"
        );
        check("replica_count=2, num_partitions=3", &body, ElementType::F64, &[50000], 1, "add");
    }
}

#[test]
fn one_device_alone_is_in_no_group() {
    let body = "  p = f32[50000] parameter(0)
  ROOT r = f32[50000] all-reduce(p), replica_groups={{0,1},{2,3}}, to_apply=f";
    let module = module(&format!(
        "HloModule m
f {{
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b)
}}
ENTRY e {{
{body}
}}
"
    ));
    let executable = compile(&module, &Options::default()).unwrap();
    let argument = argument(ElementType::F32, &[50000], 0, 0);
    let found = executable.run(vec![argument.clone()], World::default).unwrap();
    assert!(found == [argument]);
}

/// What two devices of programs of their own end with.
fn apart(texts: [&str; 2], timeout: Duration) -> rxla_base::Error {
    let programs = texts.map(|text| {
        let text = format!(
            "HloModule m, replica_count=2
f {{
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b)
}}
ENTRY e {{
  p = f32[50000] parameter(0)
  {text}
}}
"
        );
        compile(&module(&text), &Options::default()).unwrap()
    });
    let programs: Vec<&Executable> = programs.iter().collect();
    let arguments = (0..2).map(|device| vec![argument(ElementType::F32, &[50000], device, 0)]);
    let world = |_| World { collective_timeout: timeout, ..World::default() };
    Executable::run_all(&programs, arguments.collect(), world).unwrap_err()
}

#[test]
fn devices_that_do_not_fit_together() {
    let minute = Duration::from_secs(60);
    let sum = "ROOT r = f32[50000] all-reduce(p), to_apply=f";
    let error = apart([sum, "ROOT r = f32[100000] all-gather(p), dimensions={0}"], minute);
    assert_eq!(error.code, Code::InvalidArgument, "{error}");
    assert!(error.message.contains("do not fit together"), "{error}");
    assert!(error.message.contains("all-gather of f32[50000]"), "{error}");
    let error = apart(
        [
            sum,
            "s = f32[25000] slice(p), slice={[0:25000]}\nROOT r = f32[25000] all-reduce(s), to_apply=f",
        ],
        minute,
    );
    assert_eq!(error.code, Code::InvalidArgument, "{error}");
    // One that never comes.
    let error = apart([sum, "ROOT r = f32[50000] negate(p)"], minute);
    assert_eq!(error.code, Code::Aborted, "{error}");
    assert!(error.message.contains("waits for another"), "{error}");
}
