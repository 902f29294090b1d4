//! Programs compiled and run through the public API.

use std::sync::Arc;

use rxla::hlo::Literal;
use rxla::{Client, ClientOptions, Code, CompileOptions, Donation, ExecuteOptions, Format};

const ADD: &str = "
HloModule add, input_output_alias={ {0}: (0, {}, may-alias) }

ENTRY main {
  x = f32[2] parameter(0)
  y = f32[2] parameter(1)
  sum = f32[2] add(x, y)
  ROOT result = (f32[2], f32[2]) tuple(sum, y)
}
";

fn vector(values: [f32; 2]) -> Literal {
    Literal::from_values([2], &values)
}

#[test]
fn a_tuple_comes_back_as_its_leaves_and_a_donated_argument_is_gone() {
    let client = Client::cpu().unwrap();
    let program = client.compile_bytes(Format::HloText, ADD.as_bytes()).unwrap();
    let signature = program.executable().signature();
    assert_eq!(signature.parameters[0].donation, Donation::Alias(0));
    assert_eq!(signature.parameters[1].donation, Donation::Kept);
    let x = client.buffer(vector([1.0, 2.0])).unwrap();
    let y = client.buffer(vector([10.0, 20.0])).unwrap();
    let outputs = program.run(&[Arc::clone(&x), Arc::clone(&y)]).unwrap();
    assert_eq!(outputs.len(), 2);
    assert_eq!(outputs[0].literal().unwrap(), vector([11.0, 22.0]));
    assert_eq!(outputs[1].literal().unwrap(), vector([10.0, 20.0]));
    assert!(x.is_deleted() && !y.is_deleted());
}

/// The first donor has room for the result, the second is not needed for it, the third has another size.
#[test]
fn a_donor_that_no_output_can_use_stays_the_callers() {
    let client = Client::cpu().unwrap();
    let text = "
HloModule twice, buffer_donor={ (0, {}), (1, {}), (2, {}) }

ENTRY main {
  x = f32[2] parameter(0)
  y = f32[2] parameter(1)
  z = f32[3] parameter(2)
  ROOT sum = f32[2] add(x, y)
}
";
    let program = client.compile_bytes(Format::HloText, text.as_bytes()).unwrap();
    let x = client.buffer(vector([1.0, 2.0])).unwrap();
    let y = client.buffer(vector([10.0, 20.0])).unwrap();
    let z = client.buffer(Literal::from_values([3], &[0f32; 3])).unwrap();
    let outputs = program.run(&[Arc::clone(&x), Arc::clone(&y), Arc::clone(&z)]).unwrap();
    assert_eq!(outputs[0].literal().unwrap(), vector([11.0, 22.0]));
    assert!(x.is_deleted() && !y.is_deleted() && !z.is_deleted());
}

#[test]
fn a_donation_that_the_caller_forbids_does_not_happen() {
    let client = Client::cpu().unwrap();
    let program = client.compile_bytes(Format::HloText, ADD.as_bytes()).unwrap();
    let x = client.buffer(vector([1.0, 2.0])).unwrap();
    let options = ExecuteOptions { not_donated: vec![0], ..ExecuteOptions::default() };
    // The same buffer twice is fine then, and an error else.
    let arguments = vec![Arc::clone(&x), Arc::clone(&x)];
    let outputs = program.execute(&[arguments.clone()], &options).unwrap();
    assert_eq!(outputs[0][0].literal().unwrap(), vector([2.0, 4.0]));
    assert_eq!(x.literal().unwrap(), vector([1.0, 2.0]));
    let error = program.run(&arguments).unwrap_err();
    assert_eq!(error.code, Code::InvalidArgument);
    assert!(error.message.contains("previously donated"), "{error}");
}

#[test]
fn wrong_arguments_are_named() {
    let client = Client::cpu().unwrap();
    let program = client.compile_bytes(Format::HloText, ADD.as_bytes()).unwrap();
    let x = client.buffer(Literal::scalar(1i32)).unwrap();
    let error = program.run(&[Arc::clone(&x), x]).unwrap_err();
    assert!(error.message.contains("argument 0 of `add` must be"), "{error}");
    let error = program.run(&[]).unwrap_err();
    assert_eq!(error.message, "`add` takes 2 arguments and was given 0");
}

#[test]
fn replicas_meet_in_a_collective() {
    let text = "
HloModule sum

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}

ENTRY main {
  x = f32[2] parameter(0)
  ROOT sum = f32[2] all-reduce(x), replica_groups={}, to_apply=add
}
";
    let options = ClientOptions { device_count: 2, ..ClientOptions::default() };
    let client = Client::new(options).unwrap();
    let module =
        rxla::read_module(Format::HloText, text.as_bytes(), rxla::ReadOptions::default()).unwrap();
    let options = CompileOptions { replicas: 2, ..CompileOptions::default() };
    let program = client.compile(module, options).unwrap();
    let arguments: Vec<_> = client
        .devices()
        .iter()
        .zip([vector([1.0, 2.0]), vector([3.0, 4.0])])
        .map(|(device, value)| vec![client.buffer_in(value, device.default_memory()).unwrap()])
        .collect();
    let outputs = program.execute(&arguments, &ExecuteOptions::default()).unwrap();
    for (device, list) in outputs.iter().enumerate() {
        assert_eq!(list[0].literal().unwrap(), vector([4.0, 6.0]));
        assert_eq!(list[0].device().local_id, device);
    }
}

/// The expected values are JAX's own.
#[test]
fn a_model_exported_by_jax_runs() {
    let client = Client::cpu().unwrap();
    let model = include_bytes!("data/mlp.jax_export");
    let program = client.compile_bytes(Format::JaxExport, model).unwrap();
    let even = |count: usize, from: f32, to: f32| -> Vec<f32> {
        (0..count).map(|i| from + (to - from) * i as f32 / (count - 1) as f32).collect()
    };
    let arguments: Vec<_> = [
        Literal::from_values([3, 4], &even(12, -1.0, 1.0)),
        Literal::from_values([4], &[0.0f32, 0.1, 0.2, 0.3]),
        Literal::from_values([4, 2], &even(8, -0.5, 0.5)),
        Literal::from_values([2, 3], &[1.0f32, 2.0, 3.0, -1.0, 0.0, 1.0]),
    ]
    .into_iter()
    .map(|value| client.buffer(value).unwrap())
    .collect();
    let outputs = program.run(&arguments).unwrap();
    let result = outputs[0].array().unwrap();
    let expected = [0.40961078f32, 0.59038925, 0.37143397, 0.628566];
    for (value, expected) in result.values::<f32>().iter().zip(expected) {
        assert!((value - expected).abs() < 1e-6, "{result:?}");
    }
}

#[test]
fn partitions_take_and_give_their_parts() {
    let text = "
HloModule twice, num_partitions=2

ENTRY main {
  x = f32[4] parameter(0), sharding={devices=[2]<=[2]}
  y = f32[4] reverse(x), dimensions={0}
  ROOT sum = f32[4] add(x, y)
}
";
    let client =
        Client::new(ClientOptions { device_count: 2, ..ClientOptions::default() }).unwrap();
    let module =
        rxla::read_module(Format::HloText, text.as_bytes(), rxla::ReadOptions::default()).unwrap();
    let options =
        CompileOptions { partitions: 2, spmd_partitioning: true, ..CompileOptions::default() };
    let program = client.compile(module, options).unwrap();
    let arguments: Vec<_> = client
        .devices()
        .iter()
        .zip([vector([1.0, 2.0]), vector([3.0, 5.0])])
        .map(|(device, value)| vec![client.buffer_in(value, device.default_memory()).unwrap()])
        .collect();
    let outputs = program.execute(&arguments, &ExecuteOptions::default()).unwrap();
    // The whole sum is [6, 5, 5, 6]; its sharding is that of the parameter.
    assert_eq!(outputs[0][0].literal().unwrap(), vector([6.0, 5.0]));
    assert_eq!(outputs[1][0].literal().unwrap(), vector([5.0, 6.0]));
}

#[test]
fn copies_for_buffers_are_written_in_place_and_may_be_empty() {
    let client = Client::cpu().unwrap();
    for size in [0, 5, 3 << 20] {
        let source: Vec<u8> = (0..size).map(|index| index as u8).collect();
        let mut copy = client.copy_of(&source).unwrap();
        assert_eq!(copy.as_slice(), source);
        let address = copy.as_slice().as_ptr();
        assert!(copy.is_unique() && address.addr().is_multiple_of(64));
        assert_eq!(copy.make_mut().as_ptr(), address);
    }
}
