//! Operands that stay packed.

use std::sync::Arc;

use super::*;
use crate::context::rxla_forget;

#[test]
fn what_stays_packed_is_forgotten_when_a_loop_begins() {
    const SIZE: usize = 64;
    let dims = |size, strides| vec![Dim { size, strides }];
    let dot = Dot {
        left: Element::F32,
        right: Element::F32,
        result: Element::F32,
        rounded: false,
        batch: Vec::new(),
        rows: dims(SIZE, [SIZE as isize; 2]),
        columns: dims(SIZE, [1, 1]),
        summed: dims(SIZE, [1, SIZE as isize]),
    };
    let mut code = dot.encode().unwrap();
    code[KEPT] = keep([false, true], false, 3);
    let context = Context::keeping(None, Arc::default());
    let left = vec![1.0_f32; SIZE * SIZE];
    let mut right = vec![1.0_f32; SIZE * SIZE];
    let multiply = |right: &[f32], shown: usize| {
        let mut code = code.clone();
        code[SHOWN] = shown as i64;
        let mut result = vec![7.0_f32; SIZE * SIZE];
        // SAFETY: buffers are as large as the description says.
        let status = unsafe {
            let (left, right) = (left.as_ptr().cast(), right.as_ptr().cast());
            let into = result.as_mut_ptr().cast();
            rxla_dot(context.as_ptr(), left, right, into, code.as_ptr())
        };
        assert_eq!(status, 0);
        assert!(result.chunks(SIZE).all(|row| row == &result[..SIZE]));
        result.truncate(SIZE);
        result
    };
    let row = |value: f32, shown: usize| {
        (0..SIZE).map(|column| if column < shown { value } else { 0.0 }).collect::<Vec<_>>()
    };
    // More columns are shown each time, and then fewer.
    for shown in [17, 40, SIZE, 5] {
        assert_eq!(multiply(&right, shown), row(64.0, shown));
    }
    right.fill(2.0);
    // It is believed not to have changed, which shows that it is kept.
    assert_eq!(multiply(&right, SIZE), row(64.0, SIZE));
    // SAFETY: it is a context.
    unsafe { rxla_forget(context.as_ptr(), 3) };
    assert_eq!(multiply(&right, SIZE), row(128.0, SIZE));
}
