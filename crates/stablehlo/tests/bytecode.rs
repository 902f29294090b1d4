//! Reads the programs in `tests/stablehlo/bytecode`, which jaxlib wrote, and compares what is in them
//! with `operations.txt`, which lists what jaxlib finds there.

use std::collections::BTreeMap;
use std::path::PathBuf;

use rxla_stablehlo::mlir::{
    AttributeKind, CompareLocations, Module, OpId, difference, inherent_attributes,
};
use rxla_stablehlo::{bytecode, vhlo};

fn directory() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../../tests/stablehlo/bytecode"].iter().collect()
}

fn read(name: &str) -> Module {
    let bytes = std::fs::read(directory().join(name)).unwrap();
    let mut read = bytecode::read(&bytes, bytecode::TextParsers::default())
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    vhlo::upgrade(&mut read.module).unwrap_or_else(|error| panic!("{name}: {error}"));
    read.module
}

fn walk(module: &Module, op: OpId, visit: &mut impl FnMut(OpId)) {
    visit(op);
    for &region in &module.operations[op].regions {
        for &block in &module.regions[region].blocks {
            for &inner in &module.blocks[block].operations {
                assert_eq!(module.operations[inner].parent, Some(block));
                walk(module, inner, visit);
            }
        }
    }
}

#[test]
fn operations_are_those_that_jaxlib_finds() {
    let expected = std::fs::read_to_string(directory().join("operations.txt")).unwrap();
    for line in expected.lines() {
        let (name, operations) = line.split_once(": ").unwrap();
        let module = read(name);
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        walk(&module, module.root, &mut |op| {
            *counts.entry(module.operations[op].name.to_string()).or_default() += 1;
        });
        let counts: Vec<String> =
            counts.iter().map(|(name, count)| format!("{count} {name}")).collect();
        assert_eq!(counts.join(", "), operations, "{name}");
    }
    let files = std::fs::read_dir(directory()).unwrap();
    let programs = files
        .filter(|file| file.as_ref().unwrap().path().extension().is_some_and(|e| e == "mlirbc"))
        .count();
    assert_eq!(programs, expected.lines().count());
}

#[test]
fn attributes_are_sorted_into_inherent_and_discardable() {
    for line in std::fs::read_to_string(directory().join("operations.txt")).unwrap().lines() {
        let (name, _) = line.split_once(": ").unwrap();
        let module = read(name);
        walk(&module, module.root, &mut |op| {
            let operation = &module.operations[op];
            let Some(declared) = inherent_attributes(&operation.name) else { return };
            for declared in declared {
                let found = operation.attributes.get(declared.name).is_some();
                assert!(found || declared.optional, "{name}: {} {}", operation.name, declared.name);
            }
            for attribute in &operation.attributes {
                // Dialects put their name before attributes of others' operations.
                if attribute.name.to_string_lossy().contains('.') {
                    let name = &attribute.name;
                    assert_eq!(attribute.kind, AttributeKind::Discardable, "{name}");
                }
            }
        });
    }
}

#[test]
fn every_prefix_of_a_program_is_refused() {
    let bytes = std::fs::read(directory().join("all_gather.v0_20_0.mlirbc")).unwrap();
    assert!(bytecode::read(&bytes, bytecode::TextParsers::default()).is_ok());
    for length in 0..bytes.len() {
        let outcome = bytecode::read(&bytes[..length], bytecode::TextParsers::default());
        assert!(outcome.is_err(), "the first {length} bytes are accepted");
    }
}

#[test]
fn what_is_written_reads_back_the_same() {
    let mut written = 0;
    for line in std::fs::read_to_string(directory().join("operations.txt")).unwrap().lines() {
        let (name, _) = line.split_once(": ").unwrap();
        // Programs without versions may spell out defaults, which versioned ones leave out.
        let is_plain = name.ends_with(".plain.mlirbc");
        let module = read(name);
        for minor in [17, 20, 0] {
            let version = vhlo::Version::new(1, minor);
            let outcome = if is_plain {
                bytecode::write(&module, "test", bytecode::VERSION)
            } else {
                bytecode::portable_artifact(&module, version)
            };
            let bytes = match outcome {
                Ok(bytes) => bytes,
                // Newer than the version asked for.
                Err(_) if minor == 0 => continue,
                Err(error) => panic!("{name} at {version}: {error}"),
            };
            let mut again = bytecode::read(&bytes, bytecode::TextParsers::default())
                .unwrap_or_else(|error| panic!("{name} at {version}: {error}"))
                .module;
            vhlo::upgrade(&mut again).unwrap();
            assert_eq!(difference(&module, &again, CompareLocations::Yes), None, "{name}");
            written += 1;
        }
    }
    assert!(written > 100);
}
