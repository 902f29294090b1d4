//! What a program exchanges with the host, and foreign code.

use std::sync::{Arc, Mutex};

use crate::common::{elements, expect, module, try_run};
use rxla_base::{Error, Result};
use rxla_hlo::{Literal, Shape};
use rxla_interpreter::{CustomCallRequest, CustomCalls, DeviceId, Host, Options, evaluate};

#[derive(Default)]
struct Feeds(Mutex<Vec<Literal>>);

impl Host for Feeds {
    fn infeed(&self, _: DeviceId, shape: &Shape, config: &[u8]) -> Result<Literal> {
        assert_eq!(config, b"here");
        Literal::zeros(shape)
    }

    fn outfeed(&self, _: DeviceId, value: Literal, _: &[u8]) -> Result<()> {
        self.0.lock().unwrap().push(value);
        Ok(())
    }

    fn send(&self, _: DeviceId, channel: Option<i64>, value: Literal) -> Result<()> {
        assert_eq!(channel, Some(3));
        self.0.lock().unwrap().push(value);
        Ok(())
    }

    fn recv(&self, _: DeviceId, channel: Option<i64>, shape: &Shape) -> Result<Literal> {
        assert_eq!((channel, shape), (Some(4), &Shape::scalar(rxla_hlo::ElementType::S32)));
        Ok(Literal::scalar(8i32))
    }
}

#[test]
fn feeds_and_host_transfers() {
    let text = "HloModule m
ENTRY e {
  t = token[] after-all()
  i = (s32[2], token[]) infeed(t), infeed_config=\"here\"
  v = s32[2] get-tuple-element(i), index=0
  o = token[] outfeed(v, t), outfeed_shape=s32[2]
  c = s32[] constant(5)
  s = (s32[], u32[], token[]) send(c, o), channel_id=3, is_host_transfer=true
  sd = token[] send-done(s), channel_id=3, is_host_transfer=true
  r = (s32[], u32[], token[]) recv(sd), channel_id=4, is_host_transfer=true
  rd = (s32[], token[]) recv-done(r), channel_id=4, is_host_transfer=true
  ROOT x = s32[] get-tuple-element(rd), index=0
}
";
    let feeds = Arc::new(Feeds::default());
    let host: Arc<dyn Host> = feeds.clone();
    let options = Options { host: Some(host), ..Options::default() };
    let result = evaluate(&module(text), vec![], &options).unwrap();
    assert_eq!(elements(&result), "8");
    let fed: Vec<String> = feeds.0.lock().unwrap().iter().map(elements).collect();
    assert_eq!(fed, ["0 0", "5"]);
    let error = evaluate(&module(text), vec![], &Options::default()).unwrap_err();
    assert_eq!(error.code, rxla_base::Code::Unimplemented);
}

struct Double;

impl CustomCalls for Double {
    fn call(
        &self,
        request: &CustomCallRequest<'_>,
        operands: Vec<Literal>,
    ) -> Option<Result<Literal>> {
        match request.target {
            "double" => Some(Ok(Literal::scalar(operands[0].values::<i32>()[0] * 2))),
            "fail" => Some(Err(Error::invalid_argument(request.backend_config.to_owned()))),
            "lie" => Some(Ok(Literal::Token)),
            _ => None,
        }
    }
}

#[test]
fn custom_calls_come_from_the_registry() {
    let run = |target: &str| {
        let text = format!(
            "HloModule m\nENTRY e {{\n  c = s32[] constant(21)\n  ROOT r = s32[] custom-call(c), custom_call_target=\"{target}\", backend_config=\"why\"\n}}\n"
        );
        let options = Options { custom_calls: Some(Arc::new(Double)), ..Options::default() };
        evaluate(&module(&text), vec![], &options)
    };
    assert_eq!(elements(&run("double").unwrap()), "42");
    assert_eq!(run("fail").unwrap_err().message, "why");
    assert!(run("lie").unwrap_err().message.contains("gives `token[]` where `s32[]` is due"));
    assert_eq!(run("other").unwrap_err().message, "unimplemented: custom call `other`");
    assert_eq!(elements(&run("Sharding").unwrap()), "21");
}

#[test]
fn sizes_become_dynamic_and_static_again() {
    expect(
        "HloModule m
ENTRY e {
  c = s32[2,3] constant({{1,2,3},{4,5,6}})
  a = s32[] constant(2)
  b = s32[] constant(1)
  d = s32[2,<=3] custom-call(c, a, b), custom_call_target=\"SliceToDynamic\"
  n = s32[2,<=3] negate(d)
  s = s32[] get-dimension-size(n), dimensions={1}
  p = (s32[2,3], s32[], s32[]) custom-call(n), custom_call_target=\"PadToStatic\"
  ROOT t = ((s32[2,3], s32[], s32[]), s32[]) tuple(p, s)
}
",
        "-1 0 0 -4 0 0; 2; 1; 1",
    );
    expect(
        "HloModule m
ENTRY e {
  c = f32[4] constant({1,4,2,4})
  ROOT r = (f32[2], s32[2]) custom-call(c), custom_call_target=\"TopK\"
}
",
        "4 4; 1 3",
    );
}

#[test]
fn decompositions_in_a_custom_call() {
    let program = |call: &str| {
        format!(
            "HloModule m\nENTRY e {{\n  a = bf16[2,2] constant({{{{3,0}},{{4,5}}}})\n  t = bf16[3] constant({{1,1,1}})\n  {call}\n}}\n"
        )
    };
    expect(
        &program("ROOT r = (bf16[2,2], bf16[2]) custom-call(a), custom_call_target=\"Qr\""),
        "-5 -4 0.5 3; 1.602 0",
    );
    expect(
        &program(
            "ROOT r = (bf16[2,2], bf16[2]) custom-call(a), custom_call_target=\"Eigh\", backend_config=\"0,1,15,0.01\"",
        ),
        "1 0 0 1; 3 5",
    );
    for (call, message) in [
        (
            "ROOT r = (bf16[2,2], bf16[3]) custom-call(a), custom_call_target=\"Qr\"",
            "custom call `Qr` gives `(bf16[2,2], bf16[2])` where `(bf16[2,2], bf16[3])` is due",
        ),
        (
            "ROOT r = (bf16[3,3], bf16[2]) custom-call(a), custom_call_target=\"Eigh\", backend_config=\"1\"",
            "where `(bf16[3,3], bf16[2])` is due",
        ),
        (
            "ROOT r = (bf16[2,2], bf16[2]) custom-call(a), custom_call_target=\"Eigh\"",
            "`Eigh` with the configuration ``: `1,…` or `0,…` is due, the triangle",
        ),
        (
            "ROOT r = bf16[2,2] custom-call(a, t), custom_call_target=\"ProductOfElementaryHouseholderReflectors\"",
            "`ProductOfElementaryHouseholderReflectors` of `bf16[2,2]` with `bf16[3]`",
        ),
        (
            "ROOT r = bf16[2,2] custom-call(a), custom_call_target=\"ProductOfElementaryHouseholderReflectors\"",
            "operand",
        ),
        (
            "ROOT r = (bf16[3], bf16[2]) custom-call(t), custom_call_target=\"Qr\"",
            "matrices are due",
        ),
        (
            "ROOT r = (bf16[9], s32[9]) custom-call(t), custom_call_target=\"TopK\"",
            "of 9 elements among 3",
        ),
    ] {
        let error = try_run(&program(call), Vec::new()).unwrap_err();
        assert!(error.message.contains(message), "{error}");
    }
}
