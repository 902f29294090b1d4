//! Sorts against the standard library's stable one.

use super::*;
use crate::pool::Pool;

fn contexts() -> [Context; 2] {
    [Context::default(), Context::new(Some(Pool::with_threads(3)))]
}

fn bits(count: usize, seed: u64) -> Vec<u64> {
    (0..count as u64)
        .map(|i| (i + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23))
        .collect()
}

/// Floats with many equal ones, both zeros, infinities and several NaN.
fn floats(count: usize) -> Vec<f32> {
    let special = [0.0, -0.0, f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e-40, -1e-40];
    let nan = f32::from_bits(0x7fc0_1234);
    let value = |bits: u64| match bits >> 60 {
        0 => special[(bits & 7) as usize],
        1 => nan,
        _ => (bits & 0x3ff) as f32 - 512.0,
    };
    bits(count, 5).into_iter().map(value).collect()
}

fn moved(elements: &[Element]) -> Vec<(Element, Role)> {
    elements.iter().map(|&element| (element, Role::Moved)).collect()
}

unsafe fn sort<A: Copy, B: Copy>(
    sort: &Sort,
    context: &Context,
    less: Option<Less>,
    first: &[A],
    second: &[B],
) -> (Vec<A>, Vec<B>) {
    let (mut a, mut b) = (first.to_vec(), second.to_vec());
    let operands = [first.as_ptr().cast::<u8>(), second.as_ptr().cast()];
    let results = [a.as_mut_ptr().cast::<u8>(), b.as_mut_ptr().cast()];
    let code = sort.encode().unwrap();
    let run = |operands: [*const u8; 2], results: [*mut u8; 2]| {
        // SAFETY: the caller passes buffers as large as the description says.
        let status = unsafe {
            rxla_sort(
                context.as_ptr(),
                operands.as_ptr(),
                results.as_ptr(),
                less,
                std::ptr::null(),
                code.as_ptr(),
            )
        };
        assert_eq!(status, 0);
    };
    run(operands, results);
    let (mut c, mut d) = (first.to_vec(), second.to_vec());
    let places = [c.as_mut_ptr().cast::<u8>(), d.as_mut_ptr().cast()];
    run(places.map(<*mut u8>::cast_const), places);
    assert_eq!((bytes(&a), bytes(&b)), (bytes(&c), bytes(&d)), "where it is: {sort:?}");
    (a, b)
}

fn bytes<T>(values: &[T]) -> &[u8] {
    // SAFETY: numbers without padding.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

/// Sorts each line of a tensor of shape `[outer, length, inner]` stably.
fn wanted<T: Copy>(
    shape: [usize; 3],
    values: &[T],
    order: impl Fn(usize, usize) -> std::cmp::Ordering,
) -> Vec<T> {
    let [outer, length, inner] = shape;
    let mut result = values.to_vec();
    for o in 0..outer {
        for i in 0..inner {
            let at = |place: usize| (o * length + place) * inner + i;
            let mut places: Vec<usize> = (0..length).collect();
            places.sort_by(|&a, &b| order(at(a), at(b)));
            for (place, from) in places.into_iter().enumerate() {
                result[at(place)] = values[at(from)];
            }
        }
    }
    result
}

const NOTHING: &[u8] = &[];

const SHAPES: [[usize; 3]; 8] = [
    [1, 1, 1],
    [5, 7, 1],
    [700, 9, 1],
    [3, 40, 37],
    [1, 3000, 1],
    [1, 1500, 3],
    [0, 4, 4],
    [2, 0, 2],
];

#[test]
fn numbers_alone_and_with_what_moves_along() {
    for context in &contexts() {
        for shape in SHAPES {
            let count = shape.iter().product();
            let values = floats(count);
            let along: Vec<u16> = (0..count).map(|i| i as u16).collect();
            for order in [FloatOrder::Total, FloatOrder::Value] {
                for direction in [Direction::Ascending, Direction::Descending] {
                    let compare = |a: usize, b: usize| {
                        let (a, b) = (values[a], values[b]);
                        let ordering = match order {
                            FloatOrder::Total => a.total_cmp(&b),
                            FloatOrder::Value => match (a.is_nan(), b.is_nan()) {
                                (false, false) => a.partial_cmp(&b).unwrap(),
                                (a, b) => a.cmp(&b),
                            },
                        };
                        if direction == Direction::Ascending {
                            ordering
                        } else {
                            ordering.reverse()
                        }
                    };
                    let keys = vec![SortKey { operand: 0, order, direction }];
                    let [outer, length, inner] = shape;
                    let alone =
                        Sort { outer, length, inner, operands: moved(&[Element::F32]), keys };
                    let bits =
                        |values: Vec<f32>| values.into_iter().map(f32::to_bits).collect::<Vec<_>>();
                    let right = bits(wanted(shape, &values, compare));
                    // SAFETY: buffers are as large as the shape.
                    let (result, _) =
                        unsafe { sort::<f32, u8>(&alone, context, None, &values, &[]) };
                    assert_eq!(bits(result), right, "{alone:?}");
                    let both = Sort { operands: moved(&[Element::F32, Element::U16]), ..alone };
                    // SAFETY: as above.
                    let (first, second) = unsafe { sort(&both, context, None, &values, &along) };
                    assert_eq!(bits(first), right, "{both:?}");
                    assert_eq!(second, wanted(shape, &along, compare), "{both:?}");
                }
            }
        }
    }
}

#[test]
fn integers_of_every_width() {
    let context = Context::default();
    macro_rules! check {
        ($type:ty, $element:ident) => {
            let values: Vec<$type> =
                bits(5000, 1).into_iter().map(|bits| (bits >> 7) as $type).collect();
            for direction in [Direction::Ascending, Direction::Descending] {
                let keys = vec![SortKey { operand: 0, order: FloatOrder::Total, direction }];
                let alone = Sort {
                    outer: 2,
                    length: 2500,
                    inner: 1,
                    operands: moved(&[Element::$element]),
                    keys,
                };
                // SAFETY: buffers are as large as the shape.
                let (result, _) = unsafe { sort(&alone, &context, None, &values, NOTHING) };
                let right = wanted([2, 2500, 1], &values, |a, b| match direction {
                    Direction::Ascending => values[a].cmp(&values[b]),
                    Direction::Descending => values[b].cmp(&values[a]),
                });
                assert_eq!(result, right);
            }
        };
    }
    check!(i8, I8);
    check!(i16, I16);
    check!(i32, I32);
    check!(i64, I64);
    check!(u8, U8);
    check!(u16, U16);
    check!(u32, U32);
    check!(u64, U64);
}

#[test]
fn several_keys() {
    let context = Context::default();
    for (narrow, length) in [(true, 2000), (false, 2000), (false, 50)] {
        let first: Vec<u64> = bits(length, 3).into_iter().map(|bits| bits >> 62).collect();
        let second: Vec<i64> =
            bits(length, 9).into_iter().map(|bits| (bits >> 61) as i64 - 4).collect();
        let key = |operand, direction| SortKey { operand, order: FloatOrder::Total, direction };
        let keys = vec![key(0, Direction::Descending), key(1, Direction::Ascending)];
        let compare = |a: usize, b: usize| (first[b], second[a]).cmp(&(first[a], second[b]));
        let right =
            (wanted([1, length, 1], &first, compare), wanted([1, length, 1], &second, compare));
        let description =
            |operands| Sort { outer: 1, length, inner: 1, operands, keys: keys.clone() };
        if narrow {
            let small: Vec<u8> = first.iter().map(|&value| value as u8).collect();
            let also: Vec<i16> = second.iter().map(|&value| value as i16).collect();
            let both = description(moved(&[Element::U8, Element::I16]));
            // SAFETY: buffers are as large as the shape.
            let (a, b) = unsafe { sort(&both, &context, None, &small, &also) };
            assert_eq!(a.into_iter().map(u64::from).collect::<Vec<_>>(), right.0);
            assert_eq!(b.into_iter().map(i64::from).collect::<Vec<_>>(), right.1);
        } else {
            let both = description(moved(&[Element::U64, Element::I64]));
            // SAFETY: as above.
            assert_eq!(unsafe { sort(&both, &context, None, &first, &second) }, right);
        }
    }
}

#[test]
fn a_function_may_compare() {
    /// By the first operand's last digit, descending.
    unsafe extern "C" fn less(_: *const c_void, arguments: *const *const u8) -> i8 {
        // SAFETY: two operands, the first of which is u32.
        let (a, b) = unsafe { (*(*arguments).cast::<u32>(), *(*arguments.add(1)).cast::<u32>()) };
        i8::from(a % 10 > b % 10)
    }
    for context in &contexts() {
        for shape in SHAPES {
            let count = shape.iter().product();
            let values: Vec<u32> =
                bits(count, 2).into_iter().map(|bits| (bits >> 40) as u32).collect();
            let along: Vec<f64> = values.iter().map(|&value| f64::from(value) / 3.0).collect();
            let [outer, length, inner] = shape;
            let operands = moved(&[Element::U32, Element::F64]);
            let description = Sort { outer, length, inner, operands, keys: vec![] };
            let compare = |a: usize, b: usize| (values[b] % 10).cmp(&(values[a] % 10));
            let right = (wanted(shape, &values, compare), wanted(shape, &along, compare));
            // SAFETY: buffers are as large as the shape, and the function reads what is there.
            assert_eq!(unsafe { sort(&description, context, Some(less), &values, &along) }, right);
        }
    }
}

#[test]
fn the_first_of_each_line() {
    for context in &contexts() {
        for (lines, length, count) in
            [(1, 1, 1), (3, 1000, 10), (2, 100, 100), (4, 5000, 1), (2, 10, 0), (1, 3000, 700)]
        {
            let values = floats(lines * length);
            for which in [Direction::Ascending, Direction::Descending] {
                let code =
                    TopK { element: Element::F32, lines, length, count, which }.encode().unwrap();
                let mut best = vec![0.0_f32; lines * count];
                let mut places = vec![0_i32; lines * count];
                // SAFETY: buffers are as large as the description says.
                let status = unsafe {
                    rxla_topk(
                        context.as_ptr(),
                        values.as_ptr().cast(),
                        best.as_mut_ptr().cast(),
                        places.as_mut_ptr(),
                        code.as_ptr(),
                    )
                };
                assert_eq!(status, 0);
                for line in 0..lines {
                    let values = &values[line * length..][..length];
                    let mut order: Vec<i32> = (0..length as i32).collect();
                    order.sort_by(|&a, &b| {
                        let ordering = values[a as usize].total_cmp(&values[b as usize]);
                        if which == Direction::Ascending { ordering } else { ordering.reverse() }
                    });
                    assert_eq!(places[line * count..][..count], order[..count]);
                    let found = best[line * count..][..count].iter().map(|value| value.to_bits());
                    assert!(
                        found.eq(order[..count]
                            .iter()
                            .map(|&place| values[place as usize].to_bits()))
                    );
                }
            }
        }
    }
    assert!(
        TopK { element: Element::F32, lines: 1, length: 2, count: 3, which: Direction::Ascending }
            .encode()
            .is_err()
    );
}
