//! Kernels that are emitted, run by the kernel IR's evaluator, and compared with the interpreter.

mod elementwise;
mod keeps;
mod masks;
mod movement;
mod products;
mod random;
mod reductions;
mod registers;
mod windows;

use rxla_hlo::literal::{Tolerance, compare};
use rxla_hlo::op::{Fusion, FusionKind};
use rxla_hlo::text::{ParseOptions, parse};
use rxla_hlo::{ArrayLiteral, ElementType, InstructionId, Literal, Module, Shape};
use rxla_interpreter::Options;
use rxla_kernel::evaluate::{Memory, evaluate_alone};
use rxla_kernel::{Builder, Linkage, Type};

use crate::{Destination, Part, Source};

/// A fixed sequence of numbers that look random.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let x = self.0 ^ (self.0 >> 33);
        x.wrapping_mul(0xff51_afd7_ed55_8ccd) ^ (x >> 29)
    }
}

/// Values that are ordinary for the type, with a special one now and then.
pub(super) fn literal(random: &mut Random, shape: &Shape) -> Literal {
    let shape = shape.as_array().expect("an array").without_layout();
    let count = shape.element_count().expect("a size");
    let ty = shape.element_type;
    let values: Vec<f64> = (0..count)
        .map(|_| {
            let bits = random.bits();
            let special = [0.0, -0.0, 1.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 0.5];
            if ty.is_float() || ty.is_complex() {
                match bits % 16 {
                    // NaN and infinities of complex numbers have parts that are nobody's business.
                    0 if ty.is_complex() => special[(bits >> 8) as usize % 4],
                    0 => special[(bits >> 8) as usize % 8],
                    _ => ((bits >> 11) as f64 / (1u64 << 53) as f64 - 0.5) * 8.0,
                }
            } else {
                match bits % 8 {
                    0 => ((bits >> 8) % 3) as f64 - 1.0,
                    1 => (bits >> 8) as f64,
                    _ => ((bits >> 8) % 41) as f64 - 20.0,
                }
            }
        })
        .collect();
    let whole: Vec<i64> = values.iter().map(|&x| x as i64).collect();
    let dims = shape.dims.iter().copied();
    let array = if ty.is_float() || ty.is_complex() {
        ArrayLiteral::from_values(dims, &values).convert(ty)
    } else {
        ArrayLiteral::from_values(dims, &whole).convert(ty)
    };
    Literal::Array(array.expect("small"))
}

/// The module with its entry computation as one fusion, and that fusion.
pub(super) fn fused(text: &str) -> (Module, InstructionId) {
    let parsed = parse(text, &ParseOptions::default())
        .unwrap_or_else(|findings| panic!("{findings:?}\n{text}"));
    let mut module = parsed.module;
    let findings = rxla_hlo::verify(&module);
    assert!(findings.is_empty(), "{findings:?}\n{text}");
    let calls = module.entry();
    let program = module.program_shape(calls);
    let entry = module.add_computation("entry");
    let operands: Vec<InstructionId> = program
        .parameters
        .iter()
        .map(|(name, shape)| module.add_parameter(entry, name, shape.clone()))
        .collect();
    let op = Fusion { kind: FusionKind::Loop, calls, ..Fusion::default() };
    let id = module.add_instruction(entry, "fusion", op.into(), program.result, &operands);
    module.set_root(id);
    module.set_entry(entry);
    (module, id)
}

/// The kernel of a program of two operands and a result, as text.
pub(super) fn kernel(text: &str) -> String {
    let (module, id) = fused(text);
    let mut builder = Builder::new("kernel", Linkage::Kernel, None);
    let sources = [0, 1].map(|_| Source::Memory(builder.buffer_parameter(1)));
    let destination = Destination::Memory(builder.buffer_parameter(1));
    crate::emit(&mut builder, &module, id, &sources, &[destination], Part::All).unwrap();
    rxla_kernel::Module { functions: vec![builder.finish()] }.to_string()
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Pieces {
    One,
    Several(i64),
    /// In one, with results in the memory of operands wherever that is allowed.
    InPlace,
}

/// Runs an instruction whose operands are arrays in memory.
pub(super) fn run(
    module: &Module,
    id: InstructionId,
    operands: &[Literal],
    pieces: Pieces,
) -> Vec<Literal> {
    let mut builder = Builder::new("kernel", Linkage::Kernel, None);
    let sources: Vec<Source> =
        operands.iter().map(|_| Source::Memory(builder.buffer_parameter(1))).collect();
    let shapes: Vec<Shape> =
        module[id].shape.leaves().into_iter().map(|(_, shape)| shape.clone()).collect();
    let mut shared: Vec<Option<usize>> = vec![None; shapes.len()];
    for result in 0..shapes.len() {
        let allowed = |&operand: &usize| {
            !shared.contains(&Some(operand)) && crate::in_place(module, id, operand, result)
        };
        if pieces == Pieces::InPlace {
            shared[result] = (0..operands.len()).find(allowed);
        }
    }
    let destinations: Vec<Destination> = shared
        .iter()
        .map(|shared| match shared {
            Some(operand) => match sources[*operand] {
                Source::Memory(address) => Destination::Memory(address),
                Source::Register(_) => unreachable!("all operands are in memory"),
            },
            None => Destination::Memory(builder.buffer_parameter(1)),
        })
        .collect();
    let part = match pieces {
        Pieces::One | Pieces::InPlace => Part::All,
        Pieces::Several(_) => {
            Part::Range(builder.parameter(Type::I64), builder.parameter(Type::I64))
        }
    };
    crate::emit(&mut builder, module, id, &sources, &destinations, part)
        .unwrap_or_else(|error| panic!("{error}"));
    let kernel = rxla_kernel::Module { functions: vec![builder.finish()] };
    rxla_kernel::verify(&kernel).unwrap_or_else(|findings| panic!("{findings:?}\n{kernel}"));
    let mut memory = Memory::default();
    let mut arguments: Vec<u64> =
        operands.iter().map(|operand| memory.add(operand.array().bytes().to_vec())).collect();
    let mut results = Vec::new();
    for (shape, shared) in shapes.iter().zip(&shared) {
        match shared {
            Some(operand) => results.push(arguments[*operand]),
            None => {
                results.push(memory.add(vec![0xaa; shape.byte_size().expect("a size")]));
                arguments.extend(results.last());
            }
        }
    }
    let mut evaluate = |arguments: &[u64]| {
        evaluate_alone(&kernel, rxla_kernel::FunctionId(0), arguments, &mut memory)
            .unwrap_or_else(|error| panic!("{error}\n{kernel}"));
    };
    match pieces {
        Pieces::One | Pieces::InPlace => evaluate(&arguments),
        Pieces::Several(count) => {
            let extent = crate::extent(module, id, crate::Updates::Copied);
            // The last piece first: order must not matter.
            for piece in (0..count).rev() {
                let range = [extent * piece / count, extent * (piece + 1) / count];
                let range = range.map(|bound| bound as u64);
                evaluate(&[&arguments[..], &range].concat());
            }
        }
    }
    let take = |(shape, address): (&Shape, u64)| {
        let shape = shape.as_array().expect("an array").without_layout();
        let bytes = rxla_hlo::literal::Bytes::copy_of(memory.region(address)).expect("small");
        Literal::Array(ArrayLiteral::from_bytes(&shape, bytes).expect("bytes of the shape"))
    };
    shapes.iter().zip(results).map(take).collect()
}

pub(super) fn leaves(literal: Literal) -> Vec<Literal> {
    match literal {
        Literal::Tuple(parts) => parts.into_iter().flat_map(leaves).collect(),
        other => vec![other],
    }
}

pub(super) const EXACT: Tolerance = Tolerance::EXACT;

/// Compares a program, as one fusion, with the interpreter.
pub(super) fn check_within(text: &str, tolerance: Tolerance) {
    let (module, id) = fused(text);
    let mut random = Random(text.len() as u64);
    let operands: Vec<Literal> = module[id]
        .operands()
        .iter()
        .map(|&operand| literal(&mut random, &module[operand].shape))
        .collect();
    check_on(&module, id, operands, tolerance);
}

pub(super) fn check_on(
    module: &Module,
    id: InstructionId,
    operands: Vec<Literal>,
    tolerance: Tolerance,
) {
    let expected = rxla_interpreter::evaluate(module, operands.clone(), &Options::default())
        .unwrap_or_else(|error| panic!("{error}"));
    let expected = leaves(expected);
    let whole = run(module, id, &operands, Pieces::One);
    for (expected, actual) in expected.iter().zip(&whole) {
        if let Err(difference) = compare(expected, actual, tolerance) {
            let text = rxla_hlo::text::print(module, &Default::default());
            panic!("{difference:?}\n{text}");
        }
    }
    let in_place = run(module, id, &operands, Pieces::InPlace);
    for (whole, in_place) in whole.iter().zip(&in_place) {
        assert_eq!(whole.array().bytes(), in_place.array().bytes(), "in place");
    }
    if crate::extent(module, id, crate::Updates::Copied) > 1 {
        for count in [1, 3] {
            let pieces = run(module, id, &operands, Pieces::Several(count));
            for (whole, pieces) in whole.iter().zip(&pieces) {
                assert_eq!(whole.array().bytes(), pieces.array().bytes(), "in {count} pieces");
            }
        }
    }
}

pub(super) fn check(text: &str) {
    check_within(text, EXACT);
}

/// A program of one instruction: `op` with `shapes` of its operands, and the result's.
pub(super) fn one(result: &str, op: &str, operands: &[&str]) -> String {
    let mut text = "HloModule test\n\nENTRY main {\n".to_owned();
    for (number, shape) in operands.iter().enumerate() {
        text += &format!("  p{number} = {shape} parameter({number})\n");
    }
    let names: Vec<String> = (0..operands.len()).map(|number| format!("p{number}")).collect();
    let (name, attributes) = op.split_once(' ').map_or((op, ""), |(name, rest)| (name, rest));
    text += &format!("  ROOT r = {result} {name}({})", names.join(", "));
    if !attributes.is_empty() {
        text += &format!(", {attributes}");
    }
    text + "\n}\n"
}

/// The types that numbers are of.
pub(super) const NUMBERS: [ElementType; 18] = [
    ElementType::S2,
    ElementType::S4,
    ElementType::S8,
    ElementType::S16,
    ElementType::S32,
    ElementType::S64,
    ElementType::U2,
    ElementType::U4,
    ElementType::U8,
    ElementType::U16,
    ElementType::U32,
    ElementType::U64,
    ElementType::F16,
    ElementType::Bf16,
    ElementType::F32,
    ElementType::F64,
    ElementType::C64,
    ElementType::C128,
];
