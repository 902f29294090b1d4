//! Products against the plainest sums in f64 or i64.

#[path = "dot_images_test.rs"]
mod images;
#[path = "dot_kept_test.rs"]
mod kept;
#[path = "dot_near_test.rs"]
mod near;

use std::sync::Arc;

use super::*;
use crate::element::{Load, Store, with_element};
use crate::gemm::sets;
use crate::pool::Pool;

/// Small integers, so that sums are exact in every type.
fn number(seed: &mut u64) -> f64 {
    *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    ((*seed >> 60) as i64 - 8) as f64
}

/// Integers wrap.
fn write(element: Element, values: &[f64]) -> Vec<u8> {
    fn bytes<S: Store<f64> + Store<i64>>(element: Element, values: &[f64]) -> Vec<u8> {
        let store = |&value: &f64| match element.is_integer() {
            true => <S as Store<i64>>::store(value as i64),
            false => <S as Store<f64>>::store(value),
        };
        let cast: Vec<S> = values.iter().map(store).collect();
        // SAFETY: numbers have no padding.
        unsafe { std::slice::from_raw_parts(cast.as_ptr().cast(), size_of_val(&cast[..])) }.to_vec()
    }
    with_element!(element, S => bytes::<S>(element, values))
}

fn read(element: Element, bytes: &[u8]) -> Vec<f64> {
    fn values<S: Load<f64>>(bytes: &[u8]) -> Vec<f64> {
        bytes
            .chunks_exact(size_of::<S>())
            // SAFETY: as many bytes as the number has.
            .map(|chunk| unsafe { chunk.as_ptr().cast::<S>().read_unaligned() }.load())
            .collect()
    }
    with_element!(element, S => values::<S>(bytes))
}

/// Places of a tensor: its dimensions in an order of memory, as strides in the order given.
fn strides(sizes: &[usize], order: &[usize]) -> Vec<isize> {
    let mut strides = vec![0; sizes.len()];
    let mut stride = 1;
    for &dim in order.iter().rev() {
        strides[dim] = stride as isize;
        stride *= sizes[dim];
    }
    strides
}

fn check(elements: [Element; 3], sizes: [usize; 4], orders: [&[usize]; 3], context: &Context) {
    let [batch, m, n, k] = sizes;
    let (l, r, o) = (
        strides(&[batch, m, k], orders[0]),
        strides(&[batch, k, n], orders[1]),
        strides(&[batch, m, n], orders[2]),
    );
    let dot = Dot {
        // All numbers here are those of bf16.
        rounded: (m + n + k).is_multiple_of(2),
        left: elements[0],
        right: elements[1],
        result: elements[2],
        batch: vec![BatchDim { size: batch, strides: [l[0], r[0], o[0]] }],
        rows: vec![Dim { size: m, strides: [l[1], o[1]] }],
        columns: vec![Dim { size: n, strides: [r[2], o[2]] }],
        summed: vec![Dim { size: k, strides: [l[2], r[1]] }],
    };
    let parts = if elements[2].is_complex() { 2 } else { 1 };
    let mut seed = (m * 7 + n * 5 + k) as u64;
    let mut numbers = |element: Element, count: usize| -> Vec<f64> {
        let unsigned = element.is_integer() && read(element, &write(element, &[-1.0]))[0] > 0.0;
        let value = |value: f64| if unsigned { value.abs() } else { value };
        (0..count).map(|_| value(number(&mut seed))).collect()
    };
    let left = numbers(elements[0], batch * m * k * parts);
    let right = numbers(elements[1], batch * k * n * parts);
    let mut wanted = vec![0.0; batch * m * n * parts];
    let at = |s: &[isize], x: usize, y: usize, z: usize| {
        (x as isize * s[0] + y as isize * s[1] + z as isize * s[2]) as usize * parts
    };
    for b in 0..batch {
        for i in 0..m {
            for j in 0..n {
                for p in 0..k {
                    let (x, y, z) = (at(&l, b, i, p), at(&r, b, p, j), at(&o, b, i, j));
                    if parts == 1 {
                        wanted[z] += left[x] * right[y];
                    } else {
                        wanted[z] += left[x] * right[y] - left[x + 1] * right[y + 1];
                        wanted[z + 1] += left[x] * right[y + 1] + left[x + 1] * right[y];
                    }
                }
            }
        }
    }
    let (left, right) = (write(elements[0], &left), write(elements[1], &right));
    let mut result = write(elements[2], &vec![77.0; wanted.len()]);
    let code = dot.encode().unwrap();
    // SAFETY: buffers are as large as the description says.
    let status = unsafe {
        rxla_dot(
            context.as_ptr(),
            left.as_ptr(),
            right.as_ptr(),
            result.as_mut_ptr(),
            code.as_ptr(),
        )
    };
    assert_eq!(status, 0);
    let wanted = read(elements[2], &write(elements[2], &wanted));
    assert_eq!(read(elements[2], &result), wanted, "{elements:?} {sizes:?} {orders:?}");
    // The same bits where an operand stays packed, which the second time it is.
    let mut code = code;
    let context = Context::keeping(context.pool.clone(), Arc::default());
    for sides in [[true, false], [false, true], [true; 2], [true; 2]] {
        code[KEPT] = keep(sides, true, 0);
        let mut again = write(elements[2], &vec![77.0; wanted.len()]);
        // SAFETY: as above.
        let status = unsafe {
            let (left, right) = (left.as_ptr(), right.as_ptr());
            rxla_dot(context.as_ptr(), left, right, again.as_mut_ptr(), code.as_ptr())
        };
        assert_eq!((status, &again), (0, &result), "{elements:?} {sizes:?} {orders:?} {sides:?}");
    }
}

#[test]
fn singles_are_rounded_to_bf16_where_that_is_faster() {
    let size = 32;
    let near_one = 1.0 + 1.0 / 512.0;
    let dims = |strides| vec![Dim { size, strides }];
    for rounded in [false, true] {
        let dot = Dot {
            left: Element::F32,
            right: Element::F32,
            result: Element::F32,
            rounded,
            batch: Vec::new(),
            rows: dims([32, 32]),
            columns: dims([1, 1]),
            summed: dims([1, 32]),
        };
        let operand = vec![near_one as f32; size * size];
        let mut result = operand.clone();
        let (code, from) = (dot.encode().unwrap(), operand.as_ptr().cast());
        let (context, into) = (Context::default(), result.as_mut_ptr().cast());
        // SAFETY: buffers are as large as the description says.
        let status = unsafe { rxla_dot(context.as_ptr(), from, from, into, code.as_ptr()) };
        assert_eq!(status, 0);
        let exact = size as f64 * near_one * near_one;
        let wanted = if rounded && sets::has_fast_bf16() { size as f64 } else { exact };
        for value in result {
            assert!((f64::from(value) - wanted).abs() < 1e-4, "{value} {wanted} {rounded}");
        }
    }
}

fn contexts() -> [Context; 2] {
    [Context::default(), Context::new(Some(Arc::clone(&Pool::with_threads(3))))]
}

const ROW: &[usize] = &[0, 1, 2];
const COLUMN: &[usize] = &[0, 2, 1];
const BATCH_LAST: &[usize] = &[1, 2, 0];

#[test]
fn all_sizes_and_layouts() {
    use Element::F32;
    let sizes = [
        [1, 1, 1, 1],
        [1, 12, 32, 7],
        [1, 13, 33, 400],
        [1, 5, 100, 801],
        [1, 60, 70, 50],
        [1, 1, 700, 65],
        [1, 700, 1, 65],
        [1, 1, 1, 1000],
        [7, 16, 16, 16],
        [3, 100, 65, 30],
        [2, 0, 3, 4],
        [2, 3, 4, 0],
        [0, 3, 4, 5],
        [1, 200, 100, 64],
        [1, 3, 2100, 9],
    ];
    for context in contexts() {
        for sizes in sizes {
            for left in [ROW, COLUMN, BATCH_LAST] {
                for right in [ROW, COLUMN, BATCH_LAST] {
                    check([F32; 3], sizes, [left, right, ROW], &context);
                }
            }
            check([F32; 3], sizes, [ROW, COLUMN, COLUMN], &context);
            check([F32; 3], sizes, [ROW, ROW, BATCH_LAST], &context);
        }
    }
}

#[test]
fn all_types() {
    use Element::*;
    let types = [
        [F64; 3],
        [C64; 3],
        [C128; 3],
        [F16; 3],
        [BF16; 3],
        [BF16, BF16, F32],
        [F16, F16, F32],
        [I8, I8, I32],
        [U8, U8, I32],
        [I8, U8, I32],
        [I8; 3],
        [U8; 3],
        [I16; 3],
        [I32; 3],
        [U32; 3],
        [I64; 3],
        [U64; 3],
        [BF16, F32, F32],
        [I8, BF16, F32],
        [F32, F32, F64],
    ];
    let [_, context] = contexts();
    for elements in types {
        for sizes in [[1, 20, 35, 27], [3, 7, 5, 9], [1, 1, 90, 31], [1, 90, 1, 31]] {
            for right in [ROW, COLUMN] {
                check(elements, sizes, [ROW, right, ROW], &context);
            }
            check(elements, sizes, [COLUMN, ROW, COLUMN], &context);
        }
    }
}

#[test]
fn several_dimensions_on_each_axis() {
    // bhqd,hdm->bqm with sizes 2, 3, 4, 5, 6: two dimensions in rows and in the sum.
    let (b, h, q, d, m) = (2, 3, 4, 5, 6);
    let dot = Dot {
        rounded: false,
        left: Element::F64,
        right: Element::F64,
        result: Element::F64,
        batch: vec![],
        rows: vec![
            Dim { size: b, strides: [(h * q * d) as isize, (q * m) as isize] },
            Dim { size: q, strides: [d as isize, m as isize] },
        ],
        columns: vec![Dim { size: m, strides: [1, 1] }],
        summed: vec![
            Dim { size: h, strides: [(q * d) as isize, (d * m) as isize] },
            Dim { size: d, strides: [1, m as isize] },
        ],
    };
    let mut seed = 3;
    let left: Vec<f64> = (0..b * h * q * d).map(|_| number(&mut seed)).collect();
    let right: Vec<f64> = (0..h * d * m).map(|_| number(&mut seed)).collect();
    let mut result = vec![0.0; b * q * m];
    let context = Context::default();
    let code = dot.encode().unwrap();
    // SAFETY: buffers are as large as the description says.
    let status = unsafe {
        rxla_dot(
            context.as_ptr(),
            left.as_ptr().cast(),
            right.as_ptr().cast(),
            result.as_mut_ptr().cast(),
            code.as_ptr(),
        )
    };
    assert_eq!(status, 0);
    for i in 0..b {
        for j in 0..q {
            for l in 0..m {
                let mut sum = 0.0;
                for x in 0..h {
                    for y in 0..d {
                        sum += left[((i * h + x) * q + j) * d + y] * right[(x * d + y) * m + l];
                    }
                }
                assert_eq!(result[(i * q + j) * m + l], sum);
            }
        }
    }
}

/// A matrix of which some columns at a time lie together, and panels that no tile fills.
#[test]
fn columns_in_panels() {
    let (m, k) = (16, 150);
    sets::forced::each(|| {
        for (panels, width) in [(3, 32), (2, 7)] {
            let n = panels * width;
            let dot = Dot {
                rounded: false,
                left: Element::F32,
                right: Element::F32,
                result: Element::F32,
                batch: vec![],
                rows: vec![Dim { size: m, strides: [k as isize, n as isize] }],
                columns: vec![
                    Dim { size: panels, strides: [(k * width) as isize, width as isize] },
                    Dim { size: width, strides: [1, 1] },
                ],
                summed: vec![Dim { size: k, strides: [1, width as isize] }],
            };
            let mut seed = 5;
            let left: Vec<f32> = (0..m * k).map(|_| number(&mut seed) as f32).collect();
            let right: Vec<f32> = (0..k * n).map(|_| number(&mut seed) as f32).collect();
            let mut result = vec![0.0_f32; m * n];
            let (to, [a, b]) =
                (result.as_mut_ptr().cast(), [&left, &right].map(|v| v.as_ptr().cast()));
            for context in contexts() {
                // SAFETY: buffers are as large as the description says.
                unsafe { run::<Any>(&context, &dot, None, a, b, to) }.unwrap();
                for (place, &value) in result.iter().enumerate() {
                    let (i, panel, j) = (place / n, place % n / width, place % width);
                    let at = |step: usize| right[(panel * k + step) * width + j];
                    let sum: f32 = (0..k).map(|step| left[i * k + step] * at(step)).sum();
                    assert_eq!(value, sum, "{place}, panels of {width}");
                }
            }
        }
    });
}

#[test]
fn bits_do_not_depend_on_threads() {
    for sizes in [[61, 133, 1000], [61, 301, 500], [33, 40, 2000]] {
        bits_of(sizes);
    }
}

fn bits_of([m, n, k]: [usize; 3]) {
    let values =
        |count: usize| -> Vec<f32> { (0..count).map(|i| (i as f32 * 0.7).sin()).collect() };
    let (left, right) = (values(m * k), values(k * n));
    let dot = Dot {
        rounded: false,
        left: Element::F32,
        right: Element::F32,
        result: Element::F32,
        batch: vec![],
        rows: vec![Dim { size: m, strides: [k as isize, n as isize] }],
        columns: vec![Dim { size: n, strides: [1, 1] }],
        summed: vec![Dim { size: k, strides: [1, n as isize] }],
    };
    let results: Vec<Vec<u32>> = [1, 2, 5]
        .into_iter()
        .map(|threads| {
            let context = Context::new(Some(Pool::with_threads(threads)));
            let mut result = vec![0.0_f32; m * n];
            // SAFETY: buffers are as large as the description says.
            unsafe {
                run::<Any>(
                    &context,
                    &dot,
                    None,
                    left.as_ptr().cast(),
                    right.as_ptr().cast(),
                    result.as_mut_ptr().cast(),
                )
            }
            .unwrap();
            result.into_iter().map(f32::to_bits).collect()
        })
        .collect();
    assert!(results.windows(2).all(|pair| pair[0] == pair[1]));
}

/// What of a product is zero: one of the operands, from some step or line on.
#[derive(Clone, Copy, Debug)]
struct Zeros {
    side: usize,
    steps: bool,
    from: usize,
    /// Whether the other operand has something infinite there.
    infinite: bool,
    steps_first: bool,
}

fn ending_in_zeros<S: Copy + Store<f64> + Load<f64>>(element: Element, zeros: Zeros) {
    let sizes = [if zeros.steps { 20 } else { 140 }, 24];
    let sizes = if zeros.side == 0 { sizes } else { [sizes[1], sizes[0]] };
    let k = if zeros.steps { 140 } else { 40 };
    let mut seed = zeros.from as u64;
    let cast = <S as Store<f64>>::store;
    let strides = sizes.map(|lines| if zeros.steps_first { [1, lines] } else { [k, 1] });
    let mut data = [0, 1].map(|side| vec![cast(0.0); sizes[side] * k]);
    for side in [0, 1] {
        for line in 0..sizes[side] {
            for step in 0..k {
                let at = if zeros.steps { step } else { line };
                let zero = side == zeros.side && at >= zeros.from;
                let infinite = side != zeros.side && zeros.infinite && (line, step) == (5, k - 1);
                let value = match (zero, infinite) {
                    // Zeros of both signs.
                    (true, _) => [0.0, -0.0][(line + step) % 2],
                    (_, true) => f64::INFINITY,
                    _ => number(&mut seed),
                };
                data[side][line * strides[side][0] + step * strides[side][1]] = cast(value);
            }
        }
    }
    let dim = |size: usize, strides: [usize; 2]| Dim {
        size,
        strides: strides.map(|stride| stride as isize),
    };
    let [m, n] = sizes;
    let dot = Dot {
        rounded: false,
        left: element,
        right: element,
        result: Element::F64,
        batch: vec![BatchDim { size: 1, strides: [0; 3] }],
        rows: vec![dim(m, [strides[0][0], n])],
        columns: vec![dim(n, [strides[1][0], 1])],
        summed: vec![dim(k, [strides[0][1], strides[1][1]])],
    };
    let [left, right] = [data[0].as_ptr().cast(), data[1].as_ptr().cast()];
    let mut result = vec![1.0_f64; m * n];
    let place = result.as_mut_ptr().cast();
    // SAFETY: the buffers are those that the description tells of.
    let less = unsafe { zeros::without_zeros(&dot, left, right, place) };
    let used = zeros.from.next_multiple_of(64);
    assert_eq!(less.is_some(), used < 140 && !zeros.infinite, "{element:?}, {zeros:?}");
    // If all is zero it is steps that go.
    if let Some(less) = less.filter(|_| zeros.from > 0) {
        let dims = [[&less.rows, &less.columns][zeros.side], &less.summed];
        assert_eq!(dims[usize::from(zeros.steps)][0].size, used, "{element:?}, {zeros:?}");
    }
    // SAFETY: as above.
    unsafe { run::<Any>(&Context::default(), &dot, None, left, right, place) }.unwrap();
    let value = |side: usize, line: usize, step: usize| {
        data[side][line * strides[side][0] + step * strides[side][1]].load()
    };
    for r in 0..m {
        for c in 0..n {
            let wanted: f64 = (0..k).map(|step| value(0, r, step) * value(1, c, step)).sum();
            let found = result[r * n + c];
            let same = found == wanted || (found.is_nan() && wanted.is_nan());
            assert!(same, "{element:?}, {zeros:?}: {found}, not {wanted}");
        }
    }
}

#[test]
fn zeros_at_the_end_are_left_out() {
    for from in [0, 1, 63, 64, 65, 128, 129, 140] {
        for choice in 0..16 {
            let [a, b, c, d] = [1, 2, 4, 8].map(|bit| choice & bit != 0);
            let side = usize::from(a);
            let zeros = Zeros { side, steps: b, from, infinite: c, steps_first: d };
            ending_in_zeros::<f32>(Element::F32, zeros);
            ending_in_zeros::<f64>(Element::F64, zeros);
            ending_in_zeros::<half::f16>(Element::F16, zeros);
            ending_in_zeros::<half::bf16>(Element::BF16, zeros);
        }
    }
}

#[test]
fn mixtures_that_make_no_sense_are_errors() {
    let dot = |left, right, result| Dot {
        rounded: false,
        left,
        right,
        result,
        batch: vec![],
        rows: vec![],
        columns: vec![],
        summed: vec![],
    };
    assert!(dot(Element::C64, Element::F32, Element::C64).encode().is_err());
    assert!(dot(Element::F32, Element::F32, Element::I32).encode().is_err());
    assert!(dot(Element::F32, Element::F32, Element::F32).encode().is_ok());
}

/// Shapes around the edges of tiles, blocks of k and turned blocks, in all layouts, with every set of
/// instructions that the processor has.
#[test]
fn random_shapes_with_every_set() {
    use Element::*;
    let types = [
        [F32; 3],
        [F64; 3],
        [C64; 3],
        [BF16; 3],
        [BF16, BF16, F32],
        [F16; 3],
        [I8, I8, I32],
        [U8, I8, I32],
        [I16; 3],
        [I32; 3],
        [I64; 3],
    ];
    let mut state = 5_u64;
    let mut draw = |list: &[usize]| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        list[(state >> 33) as usize % list.len()]
    };
    for elements in types {
        for _ in 0..12 {
            let sizes = [
                draw(&[1, 1, 1, 2, 3]),
                draw(&[1, 2, 5, 11, 12, 13, 24, 31, 49, 70]),
                draw(&[1, 2, 7, 15, 16, 17, 32, 33, 64, 65, 100]),
                draw(&[1, 2, 3, 4, 5, 15, 16, 17, 31, 33, 63, 64, 66, 97]),
            ];
            let mut order = || [ROW, ROW, COLUMN, COLUMN, BATCH_LAST][draw(&[0, 1, 2, 3, 4])];
            let orders = [order(), order(), order()];
            sets::forced::each(|| check(elements, sizes, orders, &Context::default()));
        }
    }
    // Several blocks of k, of each kind of value.
    for elements in [[F32; 3], [F64; 3], [BF16, BF16, F32], [I8, I8, I32], [U8, U8, I32]] {
        for orders in [[ROW, ROW, ROW], [COLUMN, COLUMN, COLUMN]] {
            let sizes = [1, 14, 35, 3200 + elements[0].byte_width()];
            sets::forced::each(|| check(elements, sizes, orders, &Context::default()));
        }
    }
}

/// Products so large that threads pack for each other: several blocks of k, and columns in several
/// parts.
#[test]
fn large_products_on_threads() {
    use Element::*;
    let [_, context] = contexts();
    for elements in [[F32; 3], [F64; 3], [C64; 3], [BF16, BF16, F32], [I8, I8, I32], [I64; 3]] {
        let sizes = [1, 61, 165, 820];
        check(elements, sizes, [ROW, ROW, ROW], &context);
        check(elements, sizes, [COLUMN, COLUMN, ROW], &context);
        check(elements, sizes, [ROW, COLUMN, COLUMN], &context);
    }
    check([F32; 3], [1, 300, 150, 100], [ROW, ROW, ROW], &context);
}

/// Long sums of few rows and columns, which are cut into shares.
#[test]
fn long_sums() {
    let quads = [Element::I8, Element::I8, Element::I32];
    for context in contexts() {
        for elements in [[Element::F32; 3], [Element::C64; 3], quads] {
            for sizes in [[1, 5, 7, 2000], [1, 60, 33, 1543], [2, 13, 40, 900]] {
                for orders in [[ROW; 3], [COLUMN, ROW, COLUMN], [ROW, ROW, BATCH_LAST]] {
                    check(elements, sizes, orders, &context);
                }
            }
        }
    }
}

/// Products with enough columns: those that kernels pack on the way, and others; several blocks of k, in several parts,
/// rows in several parts, a last strip that fills no tile.
#[test]
fn wide_products_in_strips() {
    use Element::*;
    for context in &contexts() {
        for elements in [[F32; 3], [F64; 3], [C64; 3], [BF16, BF16, F32], [I8, I8, I32], [I64; 3]] {
            let sizes = [1, 61, 301, 420];
            check(elements, sizes, [ROW, ROW, ROW], context);
            check(elements, sizes, [COLUMN, COLUMN, COLUMN], context);
        }
        check([BF16; 3], [2, 52, 260, 100], [ROW, ROW, ROW], context);
        for sizes in [[1, 20, 293, 1540], [1, 110, 258, 600], [1, 500, 260, 40]] {
            for left in [ROW, COLUMN] {
                check([F32; 3], sizes, [left, ROW, ROW], context);
                check([F32; 3], sizes, [left, COLUMN, ROW], context);
            }
            check([I32; 3], sizes, [ROW, ROW, ROW], context);
        }
    }
}

/// Products with vectors: chunks of k, strips of columns, and what is left over of both.
#[test]
fn matrices_and_vectors_with_every_set() {
    use Element::*;
    for elements in [[F32; 3], [F64; 3], [BF16; 3], [BF16, F32, F32], [I8, I8, I32], [I64; 3]] {
        for sizes in
            [[1, 1, 1, 5], [1, 1, 1100, 1030], [1, 1030, 1, 130], [2, 1, 67, 3], [1, 5, 1, 1]]
        {
            for right in [ROW, COLUMN] {
                sets::forced::each(|| {
                    check(elements, sizes, [ROW, right, ROW], &Context::default());
                    check(elements, sizes, [COLUMN, right, ROW], &Context::default());
                });
            }
        }
    }
}

/// Matrices that are read where they are, with one vector and with some; lines that do not fill squares.
#[test]
fn some_vectors() {
    use Element::*;
    let test = || {
        for context in &contexts() {
            for (few, lines, k) in [
                (1, 21, 130),
                (2, 64, 64),
                (3, 70, 81),
                (4, 5, 1000),
                (8, 67, 200),
                (16, 90, 65),
                (17, 90, 65),
                (3, 1100, 70),
            ] {
                for [left, right, result] in [[F32; 3], [BF16, BF16, F32], [BF16; 3], [F64; 3]] {
                    let elements = [left, right, result];
                    for orders in [[ROW, COLUMN, ROW], [ROW, COLUMN, COLUMN], [ROW, ROW, ROW]] {
                        check(elements, [1, few, lines, k], orders, context);
                        check(elements, [2, lines, few, k], orders, context);
                    }
                }
                for elements in [[I8, I8, I32], [I32; 3], [F16, F16, F32]] {
                    check(elements, [1, few, lines, k], [ROW, COLUMN, ROW], context);
                }
            }
        }
    };
    sets::forced::each(test);
}

/// Bytes and words of all values, with few rows or many, in sums that wrap.
#[test]
fn small_integers_of_all_values() {
    use Element::*;
    let mut seed = 9_u64;
    let mut byte = || {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 40) as u8
    };
    let number = |element: Element, bytes: &[u8], place: usize| match element {
        I8 => i32::from(bytes[place] as i8),
        U8 => i32::from(bytes[place]),
        _ => i32::from(i16::from_le_bytes([bytes[2 * place], bytes[2 * place + 1]])),
    };
    let types =
        [[I8, I8], [U8, I8], [I8, U8], [U8, U8], [I16, I8], [I8, I16], [U8, I16], [I16, I16]];
    for [left, right] in types {
        for [m, n, k] in [[4, 70, 66], [5, 64, 130], [70, 3, 98], [8, 65, 67], [33, 40, 51]] {
            for [own_columns, result_columns] in
                [[true, true], [true, false], [false, true], [false, false]]
            {
                let a: Vec<u8> = (0..m * k * left.byte_width()).map(|_| byte()).collect();
                let b: Vec<u8> = (0..n * k * right.byte_width()).map(|_| byte()).collect();
                // The right operand by lines of `k`, or by rows of `n`.
                let [n_stride, k_stride] = if own_columns { [k, 1] } else { [1, n] };
                let [row, column] = if result_columns { [n, 1] } else { [1, m] };
                let stride = |a: usize, b: usize| [a as isize, b as isize];
                let dot = Dot {
                    rounded: false,
                    left,
                    right,
                    result: I32,
                    batch: vec![],
                    rows: vec![Dim { size: m, strides: stride(k, row) }],
                    columns: vec![Dim { size: n, strides: stride(n_stride, column) }],
                    summed: vec![Dim { size: k, strides: stride(1, k_stride) }],
                };
                let mut result = vec![7_i32; m * n];
                // SAFETY: buffers are as large as the description says.
                unsafe {
                    let result = result.as_mut_ptr().cast();
                    run::<Any>(&Context::default(), &dot, None, a.as_ptr(), b.as_ptr(), result)
                }
                .unwrap();
                for i in 0..m {
                    for j in 0..n {
                        let wanted = (0..k).fold(0_i32, |sum, p| {
                            let x = number(left, &a, i * k + p);
                            let y = number(right, &b, j * n_stride + p * k_stride);
                            sum.wrapping_add(x.wrapping_mul(y))
                        });
                        let found = result[i * row + j * column];
                        assert_eq!(found, wanted, "{left:?} {right:?} {m} {n} {k} {i} {j}");
                    }
                }
            }
        }
    }
}
