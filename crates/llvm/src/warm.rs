//! Getting ready before the first program comes: LLVM's code and tables brought into memory, and
//! threads with machines of both efforts.

use std::sync::Once;
use std::thread;

use rxla_kernel::schedule::{self, pipeline};
use rxla_kernel::{Module, maths, text};

use crate::compiler::{Compiler, Options};
use crate::ending::watch_main_thread;
use crate::machine::Output;
use crate::workers::start;

/// Of what kernels are usually made: a row's largest element, sums, a function of each element,
/// loops in lanes; scalars alone; and a driver that calls both.
const SAMPLE: &str = "\
kernel @rows(%0: ptr noalias align(64), %1: ptr noalias align(64), %2: i64, %3: i64) {
  %4: i64 = constant 0
  %5: i64 = constant 1000
  %6: f32 = constant 0xff800000
  %7: f32 = constant -0.0
  for %8 in %2..%3 step 1 {
    %9: i64 = mul %8, %5
    %10: f32 = for vector %11 in %4..%5 step 1 carried (%12 = %6) {
      %13: i64 = add %9, %11
      %14: f32 = load %0[%13]
      %15: f32 = fmax %12, %14
      yield %15
    }
    %16: f32 = for vector %17 in %4..%5 step 1 carried (%18 = %7) {
      %19: i64 = add %9, %17
      %20: f32 = load %0[%19]
      %21: f32 = sub %20, %10
      %22: f32 = exp %21
      store %1[%19], %22
      %23: f32 = add %18, %22
      yield %23
    }
    for vector %24 in %4..%5 step 1 {
      %25: i64 = add %9, %24
      %26: f32 = load %1[%25]
      %27: f32 = fdiv %26, %16
      store %1[%25], %27
    }
  }
}

kernel @scalars(%0: ptr noalias align(8), %1: ptr noalias align(8)) {
  %2: i64 = constant 0
  %3: i64 = constant 1
  %4: ptr = load %0[%2]
  %5: ptr = load %1[%2]
  %6: f32 = load %4[%2]
  %7: i64 = load %4[%3]
  %8: f32 = convert signed_to_float %7
  %9: f32 = add %6, %8
  %10: i1 = compare flt %9, %6
  if %10 {
    store %5[%2], %9
  }
}

kernel @driver(%0: ptr, %1: ptr noalias align(8), %2: ptr noalias align(8)) -> i64 {
  %3: i64 = constant 0
  %4: ptr = load %1[%3]
  %5: ptr = load %2[%3]
  %6: i64 = constant 1000
  parallel_call %0, @rows(%4, %5) count %6 grain 10
  call @scalars(%1, %2)
}
";

/// Has samples compiled on the threads that LLVM runs on, once a process, so that the first program
/// does not wait for what happens once. Does not wait itself.
pub fn warm_up() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        watch_main_thread();
        // Without a thread the first program waits a little longer, nobody waits for the results, and
        // failures will be seen with the first real kernel.
        let _ = thread::Builder::new().name("rxla-warm-up".to_owned()).spawn(|| {
            let compiler = Compiler::host()?;
            let texts = compiler.texts(&sample(compiler.target().vector_bits()))?;
            let threads = Options::default().threads;
            start(compiler.machine_target(), texts, Output::Object, threads).map(drop)
        });
    });
}

fn sample(vector_bits: u32) -> Module {
    let mut module = text::parse(SAMPLE).expect("the sample is kernel IR");
    for function in &mut module.functions {
        pipeline(function, &schedule::Target { vector_bits, copies: schedule::Copies::Few });
        maths::expand(function);
        schedule::simplify(function);
    }
    module
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_compile() {
        for vector_bits in [128, 256, 512] {
            rxla_kernel::verify(&sample(vector_bits)).unwrap_or_else(|found| panic!("{found:?}"));
        }
        let compiler = Compiler::host().unwrap();
        let texts = compiler.texts(&sample(compiler.target().vector_bits())).unwrap();
        let count = texts.len();
        assert_eq!(count, 3);
        let target = compiler.machine_target();
        let compiled = start(target, texts, Output::Object, 2).unwrap();
        assert_eq!(compiled.iter().filter(|(_, object)| object.is_ok()).count(), count);
    }
}
