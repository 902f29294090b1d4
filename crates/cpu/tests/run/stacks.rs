//! Products that read matrices out of stacks of them, and write them there: whole layers, every other row, shapes
//! that are another view of the same places and such that are not.

use rxla_cpu::{Options, compile, optimize};
use rxla_hlo::literal::Tolerance;
use rxla_hlo::{ElementType, Literal};

use crate::{agrees, module};

/// Compares with the interpreter, for all places; so many products are to read or write parts in place.
fn check(body: &str, in_place: usize) {
    let module = module(&format!("HloModule stacks\n\nENTRY e {{\n{body}\n}}"));
    let mut optimized = (*module).clone();
    optimize(&mut optimized).unwrap();
    let text = optimized.to_string();
    assert_eq!(text.matches("kind=kOutput").count(), in_place, "{text}");
    let executable = compile(&module, &Options::default()).unwrap();
    for place in [0, 1, 4, 5, 100, -1, i32::MIN] {
        let inputs: Vec<Literal> = module[module.entry()]
            .parameters()
            .iter()
            .map(|&parameter| {
                let shape = module[parameter].shape.as_array().unwrap();
                if shape.element_type == ElementType::S32 {
                    return Literal::from_values([], &[place]);
                }
                let count = shape.element_count().unwrap();
                let wave: Vec<f32> = (0..count).map(|i| (i as f32 * 0.37).sin() / 8.0).collect();
                Literal::from_values(shape.dims.clone(), &wave)
            })
            .collect();
        agrees(&module, &executable, inputs, Tolerance::within(1e-5, 1e-4));
    }
}

#[test]
fn layers_are_read_and_written_in_place() {
    check(
        "x = f32[40,96] parameter(0)
         w = f32[6,96,80] parameter(1)
         i = s32[] parameter(2)
         out = f32[6,40,80] parameter(3)
         zero = s32[] constant(0)
         part = f32[1,96,80] dynamic-slice(w, i, zero, zero), dynamic_slice_sizes={1,96,80}
         layer = f32[96,80] reshape(part)
         product = f32[40,80] dot(x, layer), lhs_contracting_dims={1}, rhs_contracting_dims={0}
         new = f32[1,40,80] reshape(product)
         ROOT updated = f32[6,40,80] dynamic-update-slice(out, new, i, zero, zero)",
        1,
    );
    check(
        "x = f32[40,96] parameter(0)
         w = f32[3,96,80] parameter(1)
         first = f32[1,96,80] slice(w), slice={[0:1], [0:96], [0:80]}
         layer.0 = f32[96,80] reshape(first)
         up = f32[40,80] dot(x, layer.0), lhs_contracting_dims={1}, rhs_contracting_dims={0}
         last = f32[1,96,80] slice(w), slice={[2:3], [0:96], [0:80]}
         layer.1 = f32[96,80] reshape(last)
         ROOT down = f32[40,96] dot(up, layer.1), lhs_contracting_dims={1}, rhs_contracting_dims={1}",
        2,
    );
}

#[test]
fn other_views_of_the_same_places() {
    // Heads are split and joined, rows and columns left out.
    check(
        "x = f32[40,96] parameter(0)
         w = f32[6,96,160] parameter(1)
         i = s32[] parameter(2)
         zero = s32[] constant(0)
         part = f32[1,96,80] dynamic-slice(w, i, zero, i), dynamic_slice_sizes={1,96,80}
         heads = f32[8,12,5,16] reshape(part)
         y = f32[40,8,12] reshape(x)
         ROOT product = f32[40,5,16] dot(y, heads), lhs_contracting_dims={1,2}, rhs_contracting_dims={0,1}",
        1,
    );
    check(
        "x = f32[40,48] parameter(0)
         w = f32[6,96,160] parameter(1)
         part = f32[1,48,80] slice(w), slice={[4:5], [1:96:2], [0:80]}
         layer = f32[48,80] reshape(part)
         ROOT product = f32[40,80] dot(x, layer), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
        1,
    );
    // Rows of 80 in lines of 160 are not rows of 60.
    check(
        "x = f32[40,128] parameter(0)
         w = f32[6,96,160] parameter(1)
         part = f32[1,96,80] slice(w), slice={[4:5], [0:96], [0:80]}
         layer = f32[128,60] reshape(part)
         ROOT product = f32[40,60] dot(x, layer), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
        0,
    );
}

#[test]
fn what_is_overwritten_is_copied_before() {
    // The second product needs what took the first layer's place.
    check(
        "x = f32[40,96] parameter(0)
         w = f32[6,96,96] parameter(1)
         i = s32[] parameter(2)
         zero = s32[] constant(0)
         part = f32[1,96,96] dynamic-slice(w, i, zero, zero), dynamic_slice_sizes={1,96,96}
         layer = f32[96,96] reshape(part)
         gram = f32[96,96] dot(layer, layer), lhs_contracting_dims={0}, rhs_contracting_dims={0}
         new = f32[1,96,96] reshape(gram)
         updated = f32[6,96,96] dynamic-update-slice(w, new, i, zero, zero)
         other = f32[1,96,96] slice(updated), slice={[1:2], [0:96], [0:96]}
         next = f32[96,96] reshape(other)
         y = f32[40,96] dot(x, next), lhs_contracting_dims={1}, rhs_contracting_dims={0}
         z = f32[40,96] dot(y, layer), lhs_contracting_dims={1}, rhs_contracting_dims={0}
         ROOT both = (f32[40,96], f32[6,96,96]) tuple(z, updated)",
        2,
    );
}

#[test]
fn what_is_computed_for_a_slice_is_computed_for_it_alone() {
    check(
        "x = f32[40,96] parameter(0)
         w = f32[6,96,80] parameter(1)
         waves = f32[6,96,80] sine(w)
         part = f32[1,96,80] slice(waves), slice={[4:5], [0:96], [0:80]}
         layer = f32[96,80] reshape(part)
         ROOT product = f32[40,80] dot(x, layer), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
        0,
    );
}
