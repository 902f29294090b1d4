//! Devices of one program that are run one at a time, as clients with a thread per device do.

use std::sync::Arc;
use std::time::Duration;

use rxla::hlo::Literal;
use rxla::{
    Buffer, Client, ClientOptions, Code, CompileOptions, ExecuteOptions, Format, LoadedExecutable,
    ReadOptions, Result, backends, read_module,
};

const SUM: &str = "
HloModule sum, buffer_donor={ (0, {}) }

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}

ENTRY main {
  x = f32[2] parameter(0)
  twice = f32[2] add(x, x)
  sum = f32[2] all-reduce(twice), replica_groups={}, to_apply=add
  one = f32[] constant(1)
  ones = f32[2] broadcast(one), dimensions={}
  ROOT result = (f32[2], f32[2]) tuple(sum, ones)
}
";

const NUMBER: &str = "
HloModule number

ENTRY main {
  x = f32[2] parameter(0)
  id = u32[] replica-id()
  number = f32[] convert(id)
  numbers = f32[2] broadcast(number), dimensions={}
  ROOT sum = f32[2] add(x, numbers)
}
";

fn client(backend: &str, timeout: Duration) -> Client {
    Client::new(ClientOptions {
        device_count: 2,
        meeting_timeout: timeout,
        backends: backends(backend, None).unwrap(),
        ..ClientOptions::default()
    })
    .unwrap()
}

fn compile(client: &Client, text: &str) -> LoadedExecutable {
    let module = read_module(Format::HloText, text.as_bytes(), ReadOptions::default()).unwrap();
    client.compile(module, CompileOptions { replicas: 2, ..CompileOptions::default() }).unwrap()
}

fn buffer(client: &Client, device: usize, values: [f32; 2]) -> Arc<Buffer> {
    let literal = Literal::from_values([2], &values);
    client.buffer_in(literal, client.devices()[device].default_memory()).unwrap()
}

fn run_on(
    program: &LoadedExecutable,
    device: usize,
    argument: &Arc<Buffer>,
) -> Result<Vec<Arc<Buffer>>> {
    let options = ExecuteOptions { device: Some(device), ..ExecuteOptions::default() };
    let mut outputs = program.execute(&[vec![Arc::clone(argument)]], &options)?;
    Ok(outputs.pop().unwrap())
}

fn values(buffer: &Buffer) -> Vec<f32> {
    buffer.array().unwrap().values::<f32>().to_vec()
}

const LONG: Duration = Duration::from_secs(60);

#[test]
fn devices_meet_whoever_comes_first_and_no_call_waits() {
    for backend in ["cpu", "interpreter"] {
        let client = client(backend, LONG);
        // Each device has compiled the program for itself.
        let programs = [compile(&client, SUM), compile(&client, SUM)];
        for order in [[0, 1], [1, 0]] {
            let arguments = [buffer(&client, 0, [1.0, 2.0]), buffer(&client, 1, [10.0, 20.0])];
            // Two rounds in a row: the second takes over what the first is still to give.
            let outputs = order.map(|device| {
                let first = run_on(&programs[device], device, &arguments[device]).unwrap();
                run_on(&programs[device], device, &first[0]).unwrap()
            });
            for output in &outputs {
                assert_eq!(values(&output[0]), [88.0, 176.0], "{backend}");
                assert_eq!(values(&output[1]), [1.0, 1.0]);
            }
            assert!(arguments.iter().all(|argument| argument.is_deleted()));
        }
    }
}

#[test]
fn a_program_that_meets_nobody_runs_alone_and_knows_its_device() {
    for backend in ["cpu", "interpreter"] {
        let client = client(backend, LONG);
        let (number, sum) = (compile(&client, NUMBER), compile(&client, SUM));
        assert_eq!(number.executable().backend(), backend);
        let output = run_on(&number, 1, &buffer(&client, 1, [5.0, 6.0])).unwrap();
        assert!(output[0].ready().is_ready());
        assert_eq!(values(&output[0]), [6.0, 7.0]);
        // What hangs on a meeting comes after it.
        let first = run_on(&sum, 1, &output[0]).unwrap();
        let after = run_on(&number, 1, &first[0]).unwrap();
        assert!(!after[0].ready().is_ready());
        run_on(&sum, 0, &buffer(&client, 0, [0.0, 0.0])).unwrap();
        assert_eq!(values(&after[0]), [13.0, 15.0]);
    }
}

#[test]
fn who_does_not_come_is_named() {
    let client = client("cpu", Duration::from_millis(50));
    let program = compile(&client, SUM);
    let output = run_on(&program, 1, &buffer(&client, 1, [1.0, 2.0])).unwrap();
    let error = output[0].literal().unwrap_err();
    assert_eq!(error.code, Code::DeadlineExceeded);
    assert_eq!(
        error.message,
        "waited 0 s: devices [1] are in `sum` and wait for device 0, which has not called for it"
    );
    // Too late for that one; the next goes well.
    let error = run_on(&program, 0, &buffer(&client, 0, [1.0, 2.0])).unwrap_err();
    assert!(error.message.contains("when the others have given up"), "{error}");
    let client = self::client("cpu", LONG);
    let program = compile(&client, SUM);
    let failed = Buffer::failed(
        Literal::from_values([2], &[0f32; 2]).shape(),
        &client.devices()[0],
        client.devices()[0].default_memory(),
        rxla::Error::internal("no data"),
    );
    let first = run_on(&program, 1, &buffer(&client, 1, [1.0, 2.0])).unwrap();
    let _ = run_on(&program, 0, &Arc::new(failed.unwrap())).unwrap();
    let error = first[0].literal().unwrap_err();
    assert_eq!(error.message, "device 0 failed: no data");
}
