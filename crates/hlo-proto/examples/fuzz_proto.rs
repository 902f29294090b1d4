//! Reads mutated protos until the time is over; a panic is a finding.
//!
//! `cargo run -p rxla-hlo-proto --example fuzz_proto -- --seconds 60 [SEED FILES…]`. Without files
//! it starts from a module of its own. Every module that is read is verified, printed, and taken
//! through a proto and back. The bytes of a finding are written to `fuzz_proto.finding`.

#![allow(clippy::print_stdout, reason = "a program for the terminal")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use rxla_hlo::text::{ParseOptions, PrintOptions, parse, print};
use rxla_hlo_proto::{Message, read_module, to_proto, to_proto_with_config};

const OWN: &str = r#"HloModule own, replica_count=2
add { x = f32[] parameter(0) y = f32[] parameter(1) ROOT s = f32[] add(x, y) }
gt { x = f32[] parameter(0) y = f32[] parameter(1) ROOT s = pred[] compare(x, y), direction=GT }
fused { p = f32[4,6] parameter(0) ROOT n = f32[4,6] negate(p) }
c { p = (f32[4,6], s32[]) parameter(0) ROOT t = pred[] constant(false) }
b { p = (f32[4,6], s32[]) parameter(0) ROOT t = (f32[4,6], s32[]) copy(p) }
ENTRY e {
  a = f32[4,6] parameter(0), sharding={devices=[2,1]<=[2]}
  i = s32[2,1] parameter(1)
  z = f32[] constant(0)
  k = s4[3] constant({1, -2, 3})
  r = f32[6] reduce(a, z), dimensions={0}, to_apply=add
  w = f32[2,3] reduce-window(a, z), window={size=2x2 stride=2x2}, to_apply=add
  d = f32[4,4] dot(a, a), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  g = f32[2,6] gather(a, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,6}
  u = f32[4,6] scatter(a, i, g), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add
  s = f32[4,6] sort(a), dimensions={1}, to_apply=gt
  f = f32[4,6] fusion(a), kind=kLoop, calls=fused
  one = s32[] constant(1)
  t = (f32[4,6], s32[]) tuple(a, one)
  l = (f32[4,6], s32[]) while(t), condition=c, body=b
  v = f32[4,6,1] reshape(a)
  cv = f32[4,6,1] convolution(v, fl), window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f
  ar = f32[4,6] all-reduce(a), replica_groups={{0,1}}, to_apply=add
  ft = c64[4,4] fft(a), fft_type=RFFT, fft_length={6}
  cc = f32[2] custom-call(a), custom_call_target="f", backend_config={"a":1}
  p = f32[6,6] pad(a, z), padding=1_1x0_0
  ROOT o = (f32[4,6], f32[6]) tuple(f, r)
}
"#;

/// xorshift: repeatable, which is all that is asked of it.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

fn mutate(bytes: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len());
        match random.below(9) {
            0 if !bytes.is_empty() => bytes[at] ^= 1 << random.below(8),
            1 if !bytes.is_empty() => bytes[at] = random.next() as u8,
            2 => bytes.insert(at, random.next() as u8),
            3 if !bytes.is_empty() => {
                bytes.remove(at);
            }
            4 => bytes.truncate(at),
            5 if !bytes.is_empty() => {
                // A piece again: ids twice, fields twice.
                let end = at + random.below((bytes.len() - at).min(64));
                let piece = bytes[at..end].to_vec();
                let to = random.below(bytes.len());
                bytes.splice(to..to, piece);
            }
            6 if !other.is_empty() => {
                let from = random.below(other.len());
                let end = from + random.below((other.len() - from).min(200));
                bytes.splice(at..at, other[from..end].iter().copied());
            }
            7 if bytes.len() > at + 10 => {
                // A huge varint.
                let huge = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
                bytes.splice(at..at + 1, huge);
            }
            _ if bytes.len() > at => bytes[at] = bytes[at].wrapping_add(1),
            _ => {}
        }
    }
}

fn exercise(bytes: &[u8]) -> bool {
    let Ok(read) = read_module(bytes) else { return false };
    let findings = rxla_hlo::verify(&read.module);
    let text = print(&read.module, &PrintOptions::complete());
    if let Ok(proto) = to_proto_with_config(&read.module) {
        _ = rxla_hlo_proto::from_proto_with_config(&proto);
    }
    findings.is_empty() && parse(&text, &ParseOptions::default()).is_ok()
}

fn main() {
    let mut seconds = 10;
    let mut files = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        if argument == "--seconds" {
            seconds = arguments.next().and_then(|value| value.parse().ok()).unwrap_or(seconds);
        } else {
            files.push(argument);
        }
    }
    let mut seeds: Vec<Vec<u8>> = files
        .iter()
        .filter_map(|file| std::fs::read(file).ok())
        .filter(|bytes| bytes.len() < 20_000)
        .collect();
    let own = OWN.replace("convolution(v, fl)", "convolution(v, kernel)");
    let own = own.replace(
        "  z = f32[] constant(0)\n",
        "  z = f32[] constant(0)\n  kernel = f32[3,1,1] constant({{{1}},{{2}},{{3}}})\n",
    );
    let module = parse(&own, &ParseOptions::default()).expect("the own module parses").module;
    seeds.push(to_proto(&module).expect("the own module has a proto").encode_to_vec());
    seeds.push(to_proto_with_config(&module).expect("and one with configuration").encode_to_vec());
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let end = Instant::now() + Duration::from_secs(seconds);
    let (mut runs, mut valid) = (0u64, 0u64);
    while Instant::now() < end {
        let mut bytes = seeds[random.below(seeds.len())].clone();
        let other = seeds[random.below(seeds.len())].clone();
        mutate(&mut bytes, &other, &mut random);
        match catch_unwind(AssertUnwindSafe(|| exercise(&bytes))) {
            Ok(is_valid) => valid += u64::from(is_valid),
            Err(_) => {
                _ = std::fs::write("fuzz_proto.finding", &bytes);
                println!("a panic after {runs} runs; the bytes are in fuzz_proto.finding");
                std::process::exit(1);
            }
        }
        runs += 1;
    }
    println!("{runs} runs in {seconds} seconds, {valid} of them modules without findings");
}
