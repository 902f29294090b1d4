//! Executions that run apart from their caller. What holds them up is an argument that the test
//! gives when it likes.

use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rxla::flags::Flags;
use rxla::hlo::{Literal, Module};
use rxla::{
    Backend, Buffer, Client, ClientOptions, Code, CompileOptions, Error, Forecast, Format,
    LoadedExecutable, Program, ReadOptions, Result, Run, read_module,
};

const TWICE: &str = "
HloModule twice

ENTRY main {
  x = f32[2] parameter(0)
  ROOT twice = f32[2] add(x, x)
}
";

const TAKES: &str = "
HloModule takes, input_output_alias={ {}: (0, {}) }

ENTRY main {
  x = f32[2] parameter(0)
  y = f32[2] parameter(1)
  ROOT sum = f32[2] add(x, y)
}
";

/// A client that runs everything apart.
fn client() -> Client {
    let flags = Arc::new(Flags { rxla_inline_us: 0, ..Flags::default() });
    Client::new(ClientOptions { flags, memory_limit: 1 << 20, ..ClientOptions::default() }).unwrap()
}

fn compile(client: &Client, text: &str) -> LoadedExecutable {
    let module = read_module(Format::HloText, text.as_bytes(), ReadOptions::default()).unwrap();
    client.compile(module, CompileOptions::default()).unwrap()
}

fn value(values: [f32; 2]) -> Literal {
    Literal::from_values([2], &values)
}

fn pending(client: &Client) -> Arc<Buffer> {
    let device = &client.devices()[0];
    Arc::new(Buffer::pending(value([0.0; 2]).shape(), device, device.default_memory()).unwrap())
}

fn values(buffer: &Buffer) -> Vec<f32> {
    buffer.array().unwrap().values::<f32>().to_vec()
}

fn one(program: &LoadedExecutable, arguments: &[&Arc<Buffer>]) -> Arc<Buffer> {
    let arguments: Vec<_> = arguments.iter().map(|&buffer| Arc::clone(buffer)).collect();
    program.run(&arguments).unwrap().pop().unwrap()
}

#[test]
fn what_waits_holds_up_nothing_else_and_chains() {
    let client = client();
    let twice = compile(&client, TWICE);
    let x = pending(&client);
    let y = one(&twice, &[&x]);
    let z = one(&twice, &[&y]);
    let other = one(&twice, &[&client.buffer(value([1.0, 2.0])).unwrap()]);
    assert_eq!(values(&other), [2.0, 4.0]);
    assert!(!y.ready().is_ready() && !z.ready().is_ready());
    // What asked for the contents gets them although the buffers go.
    x.delete();
    y.delete();
    x.fulfil(Ok(value([1.0, 3.0]))).unwrap();
    assert_eq!(values(&z), [4.0, 12.0]);
    assert!(y.ready().wait().is_ok() && y.literal().is_err());
}

#[test]
fn donated_buffers_are_gone_before_they_have_contents() {
    let client = client();
    let (twice, takes) = (compile(&client, TWICE), compile(&client, TAKES));
    let (x, y) = (pending(&client), pending(&client));
    let read = one(&twice, &[&x]);
    let sum = one(&takes, &[&x, &y]);
    assert!(x.is_deleted() && !y.is_deleted());
    assert!(takes.run(&[Arc::clone(&x), Arc::clone(&y)]).is_err());
    x.fulfil(Ok(value([1.0, 2.0]))).unwrap();
    assert_eq!(values(&read), [2.0, 4.0]);
    assert!(!sum.ready().is_ready());
    y.fulfil(Ok(value([10.0, 20.0]))).unwrap();
    assert_eq!(values(&sum), [11.0, 22.0]);
    assert!(x.literal().is_err());
    // The buffers that are left: read, sum and y.
    assert_eq!(client.devices()[0].usage.stats().bytes_in_use, 3 * 8);
}

#[test]
fn donated_memory_is_used_again_after_who_read_it_before() {
    let client = client();
    let (twice, takes) = (compile(&client, TWICE), compile(&client, TAKES));
    let (x, y) = (pending(&client), client.buffer(value([1.0, 1.0])).unwrap());
    let read = one(&twice, &[&x]);
    let sum = one(&takes, &[&x, &y]);
    let literal = value([1.0, 2.0]);
    let address = literal.as_array().unwrap().bytes().as_ptr();
    x.fulfil(Ok(literal)).unwrap();
    assert_eq!(values(&read), [2.0, 4.0]);
    assert_eq!(values(&sum), [2.0, 3.0]);
    assert_eq!(sum.array().unwrap().bytes().as_ptr(), address);
}

#[test]
fn errors_reach_everything_that_hangs_on_them() {
    let client = client();
    let (twice, takes) = (compile(&client, TWICE), compile(&client, TAKES));
    let (x, y) = (pending(&client), client.buffer(value([1.0, 1.0])).unwrap());
    let first = one(&twice, &[&x]);
    let second = one(&takes, &[&y, &first]);
    let mut last = Arc::clone(&second);
    for _ in 0..10_000 {
        last = one(&twice, &[&last]);
    }
    x.fulfil(Err(Error::internal("no data"))).unwrap();
    for buffer in [&first, &second, &last] {
        assert_eq!(buffer.ready().wait().unwrap_err(), Error::internal("no data"));
        assert_eq!(buffer.literal().unwrap_err(), Error::internal("no data"));
    }
}

#[test]
fn results_that_do_not_fit_are_errors_of_their_buffers() {
    let client = client();
    let program = compile(
        &client,
        "
HloModule large

ENTRY main {
  x = f32[] parameter(0)
  ROOT many = f32[1000,1000] broadcast(x), dimensions={}
}
",
    );
    let result = one(&program, &[&client.buffer(Literal::scalar(1f32)).unwrap()]);
    assert_eq!(result.literal().unwrap_err().code, Code::ResourceExhausted);
}

#[test]
fn work_that_is_dropped_says_so() {
    let client = client();
    let twice = compile(&client, TWICE);
    let x = pending(&client);
    let y = one(&twice, &[&x]);
    drop(x);
    assert_eq!(y.literal().unwrap_err().code, Code::Cancelled);
    client.stop();
    let z = one(&twice, &[&client.buffer(value([1.0, 2.0])).unwrap()]);
    assert_eq!(values(&z), [2.0, 4.0]);
}

/// A backend whose programs tell their first result and end when, and as, the test says.
struct Slow(Arc<Mutex<Receiver<Result<Vec<Literal>>>>>);

impl Backend for Slow {
    fn name(&self) -> &'static str {
        "slow"
    }

    fn priority(&self) -> i32 {
        0
    }

    fn compile(&self, _: &Arc<Module>, _: &CompileOptions) -> Result<Box<dyn Program>> {
        Ok(Box::new(Slow(Arc::clone(&self.0))))
    }
}

impl Program for Slow {
    fn execute(&self, run: Run<'_>) -> Result<Vec<Vec<Literal>>> {
        run.tell.unwrap()(0, value([1.0, 2.0]));
        let end = self.0.lock().unwrap().recv_timeout(Duration::from_secs(60));
        end.unwrap().map(|leaves| vec![leaves])
    }

    fn forecast(&self) -> Forecast {
        Forecast { calls_host: false, nanoseconds: None }
    }
}

#[test]
fn what_is_there_early_is_not_waited_for() {
    let (end, ended) = channel();
    let slow: Arc<dyn Backend> = Arc::new(Slow(Arc::new(Mutex::new(ended))));
    let flags = Arc::new(Flags { rxla_inline_us: 0, ..Flags::default() });
    let options = ClientOptions { backends: vec![slow], flags, ..ClientOptions::default() };
    let client = Client::new(options).unwrap();
    let pair = "
HloModule pair

ENTRY main {
  x = f32[2] parameter(0)
  ROOT pair = (f32[2], f32[2]) tuple(x, x)
}
";
    let program = compile(&client, pair);
    let x = client.buffer(value([0.0; 2])).unwrap();
    for fails in [false, true] {
        let outputs = program.run(&[Arc::clone(&x)]).unwrap();
        assert_eq!(values(&outputs[0]), [1.0, 2.0]);
        assert!(!outputs[1].ready().is_ready());
        let leaves = vec![value([1.0, 2.0]), value([3.0, 4.0])];
        end.send(if fails { Err(Error::internal("too late")) } else { Ok(leaves) }).unwrap();
        if fails {
            assert_eq!(outputs[1].literal().unwrap_err(), Error::internal("too late"));
        } else {
            assert_eq!(values(&outputs[1]), [3.0, 4.0]);
        }
        // What was told stays.
        assert_eq!(values(&outputs[0]), [1.0, 2.0]);
    }
    // Whoever ran it holds nothing any more.
    client.stop();
    // Nothing counts twice: the argument, and nothing of results that are gone.
    assert_eq!(client.devices()[0].usage.stats().bytes_in_use, 8);
}
