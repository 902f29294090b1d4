//! Transfers with the host in compiled programs.

use std::sync::{Arc, Mutex};

use rxla_base::Result;
use rxla_cpu::{Options, compile};
use rxla_hlo::{Literal, Shape};
use rxla_interpreter::{DeviceId, Host, Interpreter, Options as World};

use crate::module;

/// Gives back the last value that was sent, ten times as large.
#[derive(Default)]
struct Tenfold(Mutex<Vec<f32>>);

impl Host for Tenfold {
    fn infeed(&self, _: DeviceId, _: &Shape, _: &[u8]) -> Result<Literal> {
        unreachable!()
    }

    fn outfeed(&self, _: DeviceId, _: Literal, _: &[u8]) -> Result<()> {
        unreachable!()
    }

    fn send(&self, _: DeviceId, channel: Option<i64>, value: Literal) -> Result<()> {
        assert_eq!(channel, Some(3));
        self.0.lock().unwrap().push(value.as_array().unwrap().values::<f32>()[1]);
        Ok(())
    }

    fn recv(&self, _: DeviceId, channel: Option<i64>, shape: &Shape) -> Result<Literal> {
        assert_eq!((channel, shape.to_string().as_str()), (Some(4), "f32[2]"));
        let sent = *self.0.lock().unwrap().last().unwrap();
        Ok(Literal::from_values([2], &[0.5, 10.0 * sent]))
    }
}

#[test]
fn each_step_of_a_loop_asks_the_host() {
    let program = module(
        "HloModule m
body {
  c = (s32[], f32[2]) parameter(0)
  i = s32[] get-tuple-element(c), index=0
  x = f32[2] get-tuple-element(c), index=1
  y = f32[2] add(x, x)
  t = token[] after-all()
  s = (f32[2], u32[], token[]) send(y, t), channel_id=3, is_host_transfer=true
  sd = token[] send-done(s), channel_id=3, is_host_transfer=true
  r = (f32[2], u32[], token[]) recv(sd), channel_id=4, is_host_transfer=true
  rd = (f32[2], token[]) recv-done(r), channel_id=4, is_host_transfer=true
  z = f32[2] get-tuple-element(rd), index=0
  w = f32[2] add(z, y)
  one = s32[] constant(1)
  j = s32[] add(i, one)
  ROOT n = (s32[], f32[2]) tuple(j, w)
}
condition {
  c = (s32[], f32[2]) parameter(0)
  i = s32[] get-tuple-element(c), index=0
  three = s32[] constant(3)
  ROOT less = pred[] compare(i, three), direction=LT
}
ENTRY e {
  zero = s32[] constant(0)
  x = f32[2] parameter(0)
  c = (s32[], f32[2]) tuple(zero, x)
  l = (s32[], f32[2]) while(c), condition=condition, body=body
  ROOT y = f32[2] get-tuple-element(l), index=1
}
",
    );
    let hosts = [Arc::new(Tenfold::default()), Arc::new(Tenfold::default())];
    let world = |host: &Arc<Tenfold>| World { host: Some(host.clone()), ..World::default() };
    let argument = || vec![Literal::from_values([2], &[1.0f32, 2.0])];
    let expected = Interpreter::new(Arc::clone(&program))
        .session(DeviceId::default(), &world(&hosts[0]), |session| session.run(argument()))
        .unwrap();
    let executable = compile(&program, &Options::default()).unwrap();
    // A `send` and a `recv`; their ends are nothing to do.
    assert_eq!(executable.fallbacks().len(), 2);
    let got = executable.run(argument(), || world(&hosts[1])).unwrap();
    assert_eq!(got[0].as_array().unwrap().values::<f32>(), [11.5, 21296.0]);
    assert_eq!(got[0], expected);
    let sent = hosts.map(|host| host.0.lock().unwrap().clone());
    assert_eq!(sent[0], [4.0, 88.0, 1936.0]);
    assert_eq!(sent[0], sent[1]);
}
