//! Random kernels give the same before and after each schedule.

use super::{Copies, Target, pipeline, simplify, unroll, vectorize};
use crate::evaluate::{Memory, evaluate_alone};
use crate::ir::{Function, FunctionId, Module};
use crate::random::{Argument, Maths, Options, Sample, same_elements, sample};
use crate::text::parse;
use crate::verify;

/// The buffers after a run.
fn run(module: &Module, arguments: &[Argument]) -> Vec<Vec<u8>> {
    let mut memory = Memory::default();
    let mut addresses = Vec::new();
    let bits: Vec<u64> = arguments
        .iter()
        .map(|argument| match argument {
            Argument::Buffer(_, bytes) => {
                addresses.push(memory.add(bytes.clone()));
                addresses[addresses.len() - 1]
            }
            Argument::Scalar(_, bits) => *bits,
        })
        .collect();
    let result = evaluate_alone(module, FunctionId(0), &bits, &mut memory);
    result.unwrap_or_else(|error| panic!("{error}\n{module}"));
    addresses.iter().map(|&address| memory.region(address).to_vec()).collect()
}

fn check(seeds: std::ops::Range<u64>, schedules: &[(&str, &dyn Fn(&mut Function))]) {
    for seed in seeds {
        let options = Options { maths: Maths::With, size: 12 + (seed % 40) as u32 };
        let Sample { module, arguments } = sample(seed, &options);
        verify(&module).unwrap_or_else(|findings| panic!("{findings:?}\n{module}"));
        let text = module.to_string();
        let again = parse(&text).unwrap_or_else(|finding| panic!("{finding:?}\n{text}"));
        assert_eq!(again.to_string(), text);
        let before = run(&module, &arguments);
        for (name, schedule) in schedules {
            let mut changed = module.clone();
            schedule(&mut changed.functions[0]);
            verify(&changed).unwrap_or_else(|findings| {
                panic!("{findings:?}\nseed {seed}, {name}\n{module}{changed}")
            });
            let after = run(&changed, &arguments);
            let scalars = arguments.iter().filter_map(|argument| match argument {
                Argument::Buffer(scalar, _) => Some(*scalar),
                Argument::Scalar(..) => None,
            });
            for ((scalar, before), after) in scalars.zip(&before).zip(&after) {
                let same = same_elements(scalar, before, after);
                assert!(same, "seed {seed}, {name}, {}\n{module}\n{changed}", scalar.name());
            }
        }
    }
}

fn check_all(seeds: std::ops::Range<u64>) {
    let lanes = |vector_bits| {
        move |function: &mut Function| {
            vectorize(function, &Target { vector_bits, copies: Copies::Many })
        }
    };
    let all = |vector_bits| {
        move |function: &mut Function| {
            pipeline(function, &Target { vector_bits, copies: Copies::Many })
        }
    };
    check(
        seeds,
        &[
            ("simplify", &simplify),
            ("unroll", &unroll),
            ("vectorize 128", &lanes(128)),
            ("vectorize 512", &lanes(512)),
            ("pipeline 128", &all(128)),
            ("pipeline 256", &all(256)),
        ],
    );
}

#[test]
fn random_kernels_keep_their_results() {
    check_all(0..200);
}

#[test]
#[ignore = "minutes"]
fn many_random_kernels_keep_their_results() {
    check_all(0..50_000);
}

/// The test above says something only if loops are run in lanes.
#[test]
fn random_kernels_have_loops_that_run_in_lanes() {
    let in_lanes = |seed: &u64| {
        let mut module = sample(*seed, &Options { maths: Maths::Without, size: 30 }).module;
        let before = module.to_string().matches("for ").count();
        vectorize(&mut module.functions[0], &Target { vector_bits: 256, copies: Copies::Many });
        module.to_string().matches("for ").count() > before
    };
    assert!((0..100).filter(in_lanes).count() > 50);
}
