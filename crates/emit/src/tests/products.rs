//! Products in blocks, of every form and with every kind of remainder. Numbers are small and whole,
//! so that no order of the sums shows.

use rxla_hlo::text::{ParseOptions, parse};
use rxla_hlo::{ArrayLiteral, Literal, Op};

use super::{EXACT, Random, check_on, one};

/// Compares a product with the interpreter; says whether it is written in blocks.
fn check(result: &str, lhs: &str, rhs: &str, numbers: &str) -> bool {
    let text = one(result, &format!("dot {numbers}"), &[lhs, rhs]);
    let module = parse(&text, &ParseOptions::default()).expect("it parses").module;
    assert!(rxla_hlo::verify(&module).is_empty(), "{text}");
    let root = module[module.entry()].root();
    assert!(matches!(module[root].op, Op::Dot(_)));
    let mut random = Random(7);
    let operands: Vec<Literal> = (0..2)
        .map(|number| {
            let shape = module.operand_shape(root, number).as_array().expect("an array");
            let count = shape.element_count().expect("a size");
            let values: Vec<f64> = (0..count).map(|_| (random.bits() % 9) as f64 - 4.0).collect();
            let array = ArrayLiteral::from_values(shape.dims.iter().copied(), &values);
            Literal::Array(array.convert(shape.element_type).expect("small"))
        })
        .collect();
    check_on(&module, root, operands, EXACT);
    crate::product::of(&module, root).is_some()
}

const PLAIN: &str = "lhs_contracting_dims={1}, rhs_contracting_dims={0}";
const TURNED_RIGHT: &str = "lhs_contracting_dims={1}, rhs_contracting_dims={1}";
const TURNED_LEFT: &str = "lhs_contracting_dims={0}, rhs_contracting_dims={0}";

#[test]
fn lanes_along_columns() {
    for rows in [1, 2, 3, 4, 6, 7, 9] {
        for (sum, columns) in [(33, 40), (3, 129), (2, 8)] {
            let (m, k, n) = (rows, sum, columns);
            let blocks = check(
                &format!("f32[{m},{n}]"),
                &format!("f32[{m},{k}]"),
                &format!("f32[{k},{n}]"),
                PLAIN,
            );
            assert_eq!(blocks, m * k * n >= 48);
        }
    }
    assert!(check("f64[5,24]", "f64[9,5]", "f64[9,24]", TURNED_LEFT));
}

#[test]
fn lanes_along_the_sum() {
    assert!(check("f32[4,32]", "f32[4,128]", "f32[32,128]", TURNED_RIGHT));
    assert!(check("f32[9,7]", "f32[9,37]", "f32[7,37]", TURNED_RIGHT));
    assert!(check("f64[1,5]", "f64[1,65]", "f64[5,65]", TURNED_RIGHT));
    assert!(check("f32[]", "f32[300]", "f32[300]", TURNED_LEFT));
    assert!(check("f32[4]", "f32[4,40]", "f32[40]", PLAIN));
    assert!(!check("f32[4]", "f32[4,9]", "f32[9]", PLAIN));
}

#[test]
fn a_few_columns() {
    for few in 2..=4 {
        for (m, k) in [(64, 64), (37, 21), (8, 35)] {
            let f = |a: i32, b: i32| format!("f32[{a},{b}]");
            assert!(check(&f(m, few), &f(m, k), &f(k, few), PLAIN), "{m} {k} {few}");
            assert!(check(&f(m, few), &f(k, m), &f(k, few), TURNED_LEFT), "{m} {k} {few}");
            assert!(check(
                &f(few, m),
                &f(k, few),
                &f(m, k),
                "lhs_contracting_dims={0}, rhs_contracting_dims={1}"
            ));
            assert!(check(
                &f(m, few),
                &f(k, m),
                &f(few, k),
                "lhs_contracting_dims={0}, rhs_contracting_dims={1}"
            ));
        }
    }
    let batches = "lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={1}";
    assert!(check("f64[5,30,2]", "f64[5,30,16]", "f64[5,16,2]", batches));
}

#[test]
fn matrices_times_vectors() {
    assert!(check("f32[20]", "f32[20,30]", "f32[30]", PLAIN));
    assert!(check("f32[20]", "f32[30,20]", "f32[30]", TURNED_LEFT));
    assert!(check("f32[20]", "f32[30]", "f32[30,20]", TURNED_LEFT));
}

#[test]
fn batches_and_several_dimensions() {
    let batches = "lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={1}";
    assert!(check("f32[5,3,16]", "f32[5,3,11]", "f32[5,11,16]", batches));
    let several = "lhs_contracting_dims={1,2}, rhs_contracting_dims={0,1}";
    assert!(check("f32[6,2,8]", "f32[6,3,5]", "f32[3,5,2,8]", several));
    // Where steps are uneven, nothing is said here.
    let uneven = "lhs_contracting_dims={2,1}, rhs_contracting_dims={0,1}";
    assert!(!check("f32[4,16]", "f32[4,3,5]", "f32[5,3,16]", uneven));
}
