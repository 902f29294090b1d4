//! Loops that are run block by block, all steps of one before the next: the values are those of the loop as
//! it stands.

use rxla_hlo::{ElementType, Literal};

use crate::attention::{agrees_and_repeats, values};
use crate::module;

const RECORD: &str = include_str!("../../../../tests/hlo/passes/while-loop-row-tiling/record.hlo");
const PARTS: &str = include_str!("../../../../tests/hlo/passes/while-loop-row-tiling/parts.hlo");
const HISTORY: &str =
    include_str!("../../../../tests/hlo/passes/while-loop-row-tiling/history.hlo");
const UNTIL: &str = include_str!("../../../../tests/hlo/passes/while-loop-row-tiling/until.hlo");
const UNTIL_SQUARE: &str =
    include_str!("../../../../tests/hlo/passes/while-loop-row-tiling/until_square.hlo");

/// Compares a program with the interpreter, and with itself.
fn check(text: &str) {
    let module = module(text);
    let parameters = module[module.entry()].parameters().iter().enumerate();
    let inputs: Vec<Literal> = parameters
        .map(|(number, &parameter)| {
            let shape = module[parameter].shape.as_array().unwrap();
            let values = values(&shape.dims, number as u32 + 1);
            match shape.element_type {
                ElementType::F64 => {
                    let values: Vec<f64> = values.into_iter().map(f64::from).collect();
                    Literal::from_values(shape.dims.clone(), &values)
                }
                _ => Literal::from_values(shape.dims.clone(), &values),
            }
        })
        .collect();
    agrees_and_repeats(&module, inputs);
}

#[test]
fn what_steps_read_and_leave_lies_where_it_is() {
    check(RECORD);
}

#[test]
fn rows_of_many_forms_come_about_each_by_itself() {
    check(PARTS);
}

#[test]
fn steps_read_what_they_have_written() {
    check(HISTORY);
    // So they do by an instruction that only reads.
    let (written, read) = ("dynamic-slice(h, n", "dynamic-slice(again, n");
    let again = "again = f64[20,736] get-tuple-element(state), index=1\n  zero =";
    let other = HISTORY.replace(written, read).replacen("zero =", again, 1);
    assert_ne!(other, HISTORY);
    check(&other.replace("dynamic-slice(h, before", "dynamic-slice(again, before"));
}

#[test]
fn rows_go_on_until_each_is_done() {
    check(UNTIL);
    check(UNTIL_SQUARE);
    // What is asked for in another form, and no row that goes on.
    let other = UNTIL.replacen("dimensions={0}, to_apply=any", "dimensions={0,1}, to_apply=any", 1);
    let other = other.replacen("pred[] reduce(goes,", "pred[] reduce(parts,", 1);
    let parts = "parts = pred[40,100] reshape(goes)\n  never =";
    let other = other.replacen("never =", parts, 1);
    assert!(other.contains("pred[] reduce(parts, never), dimensions={0,1}"));
    check(&other);
    let other = UNTIL.replace("constant(9)", "constant(-1)");
    assert_ne!(other, UNTIL);
    check(&other);
}
