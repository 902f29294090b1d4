//! Kernels inside loops of others, with scalars in registers.

use rxla_hlo::literal::compare;
use rxla_hlo::{ArrayLiteral, Literal};
use rxla_interpreter::Options;
use rxla_kernel::evaluate::{Memory, evaluate_alone};
use rxla_kernel::{Builder, FunctionId, Linkage, LoopKind, Type};

use super::{EXACT, fused};
use crate::{Destination, Element, Part, Source, emit, in_place};

/// Three steps of a loop whose body is one fusion: a scalar is carried in a register, an array is
/// rewritten in place, a row of another is set.
#[test]
fn loops_of_fusions() {
    let (module, id) = fused(
        "HloModule test
         sum {
           a = s32[] parameter(0)
           b = s32[] parameter(1)
           ROOT r = s32[] add(a, b)
         }
         ENTRY main {
           x = s32[] parameter(0)
           p = s32[20] parameter(1)
           q = s32[5,20] parameter(2)
           xb = s32[20] broadcast(x), dimensions={}
           next = s32[20] add(p, xb)
           zero = s32[] constant(0)
           total = s32[] reduce(next, zero), dimensions={0}, to_apply=sum
           row = s32[1,20] reshape(next)
           rows = s32[5,20] dynamic-update-slice(q, row, x, zero)
           ROOT r = (s32[], s32[20], s32[5,20]) tuple(total, next, rows)
         }",
    );
    let array = |dims: &[i64], f: fn(i32) -> i32| -> Literal {
        let count: i64 = dims.iter().product();
        let values: Vec<i32> = (0..count as i32).map(f).collect();
        ArrayLiteral::from_values(dims.iter().copied(), &values).into()
    };
    let start = vec![array(&[], |_| 3), array(&[20], |i| i % 7 - 3), array(&[5, 20], |i| 100 + i)];
    assert!(in_place(&module, id, 2, 2));

    let mut expected = start.clone();
    for _ in 0..3 {
        let next = rxla_interpreter::evaluate(&module, expected, &Options::default());
        expected = super::leaves(next.expect("it runs"));
    }

    let mut builder = Builder::new("kernel", Linkage::Kernel, None);
    let [x, p, q] = [(); 3].map(|()| builder.buffer_parameter(4));
    let zero = builder.index(0);
    let three = builder.index(3);
    let first = builder.load(Type::I32, x, zero);
    let last =
        builder.for_loop(LoopKind::Sequential, (zero, three, 1), &[first], |b, _, carried| {
            let sources =
                [Source::Register(Element::One(carried[0])), Source::Memory(p), Source::Memory(q)];
            // The array that the others are computed from is rewritten by a copy of its own: results go
            // to another place first.
            let next = b.alloca(80, 64);
            let destinations =
                [Destination::Register, Destination::Memory(next), Destination::Memory(q)];
            let elements =
                emit(b, &module, id, &sources, &destinations, Part::All).expect("emitted");
            let bounds = (b.index(0), b.index(20), 1);
            b.for_loop(LoopKind::Vector, bounds, &[], |b, i, _| {
                let value = b.load(Type::I32, next, i);
                b.store(p, i, value);
                Vec::new()
            });
            assert_eq!((elements[1], elements[2]), (None, None));
            match elements[0] {
                Some(Element::One(total)) => vec![total],
                other => panic!("a register was asked for, not {other:?}"),
            }
        });
    builder.store(x, zero, last[0]);
    let kernel = rxla_kernel::Module { functions: vec![builder.finish()] };
    rxla_kernel::verify(&kernel).unwrap_or_else(|findings| panic!("{findings:?}\n{kernel}"));

    let mut memory = Memory::default();
    let addresses: Vec<u64> =
        start.iter().map(|array| memory.add(array.array().bytes().to_vec())).collect();
    evaluate_alone(&kernel, FunctionId(0), &addresses, &mut memory)
        .unwrap_or_else(|error| panic!("{error}\n{kernel}"));
    for (expected, address) in expected.iter().zip(addresses) {
        let shape = expected.array().shape().without_layout();
        let bytes = rxla_hlo::literal::Bytes::copy_of(memory.region(address)).expect("small");
        let actual = ArrayLiteral::from_bytes(&shape, bytes).expect("bytes of the shape");
        if let Err(difference) = compare(expected, &actual.into(), EXACT) {
            panic!("{difference:?}\n{kernel}");
        }
    }
}
