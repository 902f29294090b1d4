//! Every module of the repository's test files is the same under other names and in another order.

use std::path::{Path, PathBuf};

use rxla_diff::{Detail, Details, show};
use rxla_hlo::text::{ParseOptions, parse};
use rxla_hlo::{ComputationId, InstructionId, Module};

fn files(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("readable") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            files(&path, out);
        } else if path.extension().is_some_and(|extension| extension == "hlo") {
            out.push(path);
        }
    }
}

/// Numbers that look like none in particular.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

/// Another order in which operands stand before users.
fn order(module: &Module, computation: ComputationId, random: &mut Random) -> Vec<InstructionId> {
    let mut left = module.post_order(computation);
    let mut order = Vec::new();
    while !left.is_empty() {
        let ready: Vec<usize> = (0..left.len())
            .filter(|&place| {
                let instruction = &module[left[place]];
                let before =
                    instruction.operands().iter().chain(instruction.control_predecessors());
                before.into_iter().all(|operand| order.contains(operand))
            })
            .collect();
        order.push(left.remove(ready[random.below(ready.len())]));
    }
    order
}

fn other_names_and_order(module: &mut Module, random: &mut Random) {
    for computation in module.computations().to_vec() {
        let order = order(module, computation, random);
        module.set_instruction_order(computation, order);
    }
    let mut all: Vec<InstructionId> = module.instruction_ids().collect();
    for number in 0..all.len() {
        let id = all.swap_remove(random.below(all.len()));
        module.rename_instruction(id, &format!("other.{number}"));
    }
}

#[test]
fn other_names_and_another_order_are_no_difference() {
    let mut paths = Vec::new();
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/hlo"), &mut paths);
    let mut random = Random(1);
    let mut compared = 0;
    for path in paths {
        let text = std::fs::read_to_string(&path).expect("readable");
        // Some files are to be wrong.
        let Ok(parsed) = parse(&text, &ParseOptions::default()) else { continue };
        let mut other = parsed.module.clone();
        other_names_and_order(&mut other, &mut random);
        let (said, difference) =
            show(&parsed.module, &other, Details::Meaning, Detail::Instructions);
        assert!(difference.is_none(), "{}\n{said}", path.display());
        compared += 1;
    }
    assert!(compared > 50, "{compared}");
}
