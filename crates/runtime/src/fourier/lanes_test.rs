//! Lines side by side, against transforms done one by one in f64.

use super::tests::numbers;
use super::*;
use crate::gemm::sets::forced;
use crate::pool::Pool;

type C = Complex<f64>;

/// Many factors, each radix, the largest, parts of several sizes, and lengths without steps.
const LENGTHS: [usize; 25] = [
    1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 15, 16, 30, 31, 47, 49, 53, 62, 64, 128, 210, 500, 625, 1024,
    1155,
];

fn run<A, B: Clone + Default>(
    context: &Context,
    kind: Kind,
    batch: usize,
    lengths: &[usize],
    operand: &[A],
    count: usize,
) -> Vec<B> {
    let wide = size_of::<A>().max(size_of::<B>()) == 16;
    let precision = if wide { Precision::F64 } else { Precision::F32 };
    let code = Transform { kind, precision, batch, lengths: lengths.to_vec() }.encode().unwrap();
    let mut result = vec![B::default(); count];
    let (from, into) = (operand.as_ptr().cast(), result.as_mut_ptr().cast());
    // SAFETY: the tests pass buffers as large as the description says.
    assert_eq!(unsafe { rxla_fft(context.as_ptr(), from, into, code.as_ptr()) }, 0);
    result
}

fn narrow(values: &[C]) -> Vec<Complex<f32>> {
    values.iter().map(|value| Complex::new(value.re as f32, value.im as f32)).collect()
}

fn widen(values: &[Complex<f32>]) -> Vec<C> {
    values.iter().map(|value| C::new(value.re.into(), value.im.into())).collect()
}

/// One by one, by rustfft.
fn wanted(values: &[C], length: usize, direction: FftDirection) -> Vec<C> {
    let mut values = values.to_vec();
    let plan = <f64 as rxla_fourier::Real>::plan(length, direction);
    values.chunks_mut(length).for_each(|line| plan.process(line));
    values
}

/// The root of the mean of squared differences, beside that of the values.
fn error(result: &[C], wanted: &[C]) -> f64 {
    assert_eq!(result.len(), wanted.len());
    let squares = |values: &mut dyn Iterator<Item = C>| values.map(|v| v.norm_sqr()).sum::<f64>();
    let difference = squares(&mut result.iter().zip(wanted).map(|(a, b)| a - b));
    (difference / squares(&mut wanted.iter().copied())).sqrt()
}

#[test]
fn lines_of_all_lengths_kinds_and_sets() {
    forced::each(|| {
        let alone = Context::default();
        for length in LENGTHS {
            let (lines, half) = (37, length / 2 + 1);
            let values = numbers(lines * length);
            let count = values.len();
            let exact = wanted(&values, length, FftDirection::Forward);
            let forward: Vec<C> = run(&alone, Kind::Forward, lines, &[length], &values, count);
            assert!(error(&forward, &exact) < 1e-15, "{length}");
            let back: Vec<C> = run(&alone, Kind::Inverse, lines, &[length], &exact, count);
            assert!(error(&back, &values) < 1e-15, "{length}");
            let single: Vec<Complex<f32>> =
                run(&alone, Kind::Forward, lines, &[length], &narrow(&values), count);
            assert!(error(&widen(&single), &exact) < 5e-7, "{length}");

            let reals: Vec<f64> = values.iter().map(|value| value.re).collect();
            let complex: Vec<C> = reals.iter().map(|&value| value.into()).collect();
            let exact = wanted(&complex, length, FftDirection::Forward);
            let first: Vec<C> =
                exact.chunks(length).flat_map(|line| line[..half].to_vec()).collect();
            let result: Vec<C> =
                run(&alone, Kind::RealForward, lines, &[length], &reals, lines * half);
            assert!(error(&result, &first) < 1e-15, "{length}");
            // What would make the result complex does not count.
            let mut marked = first.clone();
            for line in marked.chunks_mut(half) {
                line[0].im = 3.0;
                if length % 2 == 0 {
                    line[half - 1].im = f64::NAN;
                }
            }
            let back: Vec<f64> = run(&alone, Kind::RealInverse, lines, &[length], &marked, count);
            let back: Vec<C> = back.iter().map(|&value| value.into()).collect();
            assert!(error(&back, &complex) < 1e-15, "{length}");
        }
    });
}

#[test]
fn columns_are_transformed_as_lines_are() {
    forced::each(|| {
        let alone = Context::default();
        for (batch, length, inner) in [(2, 12, 21), (1, 64, 16), (3, 7, 40), (1, 1, 19)] {
            // The last dimension is of length one for whoever turned the columns to lines.
            let values = numbers(batch * length * inner);
            let turned = |values: &[C], [rows, columns]: [usize; 2]| -> Vec<C> {
                let place = |block: usize, i: usize, j: usize| (block * rows + i) * columns + j;
                (0..batch * rows * columns)
                    .map(|at| {
                        let (block, rest) = (at / (rows * columns), at % (rows * columns));
                        values[place(block, rest % rows, rest / rows)]
                    })
                    .collect()
            };
            let lines = turned(&values, [length, inner]);
            let along = wanted(&lines, length, FftDirection::Forward);
            let exact = wanted(&turned(&along, [inner, length]), inner, FftDirection::Forward);
            let result: Vec<C> =
                run(&alone, Kind::Forward, batch, &[length, inner], &values, values.len());
            assert!(error(&result, &exact) < 1e-15, "{batch} {length} {inner}");
        }
    });
}

#[test]
fn a_line_gives_the_same_bits_wherever_it_is_and_whoever_runs() {
    for length in [30, 53, 128, 1000] {
        for kind in [Kind::Forward, Kind::Inverse] {
            let line = narrow(&numbers(length));
            let lines: Vec<_> = (0..53).flat_map(|_| line.clone()).collect();
            let mut results = Vec::new();
            for threads in [1, 2, 4] {
                let context = Context::new(Some(Pool::with_threads(threads)));
                let result: Vec<Complex<f32>> =
                    run(&context, kind, 53, &[length], &lines, lines.len());
                assert!(result.chunks(length).all(|line| line == &result[..length]));
                results.push(result);
            }
            assert!(results.iter().all(|result| *result == results[0]));
        }
    }
}

#[test]
fn what_is_not_a_number_stays_in_its_line() {
    let (lines, length) = (40, 15);
    let mut values: Vec<f32> = (0..lines * length).map(|i| (i as f32).sin()).collect();
    values[17 * length + 3] = f32::NAN;
    let half = length / 2 + 1;
    let alone = Context::default();
    let result: Vec<Complex<f32>> =
        run(&alone, Kind::RealForward, lines, &[length], &values, lines * half);
    for (i, line) in result.chunks(half).enumerate() {
        assert_eq!(line.iter().all(|value| value.is_nan()), i == 17);
        assert!(i == 17 || line.iter().all(|value| value.is_finite()));
    }
}

#[test]
fn single_precision_is_no_worse_than_one_by_one() {
    for length in [64, 500, 625, 1000, 1024, 1155, 4096] {
        let values = numbers(16 * length);
        let exact = wanted(&widen(&narrow(&values)), length, FftDirection::Forward);
        let mut one_by_one = narrow(&values);
        let plan = <f32 as rxla_fourier::Real>::plan(length, FftDirection::Forward);
        one_by_one.chunks_mut(length).for_each(|line| plan.process(line));
        let together: Vec<Complex<f32>> =
            run(&Context::default(), Kind::Forward, 16, &[length], &narrow(&values), values.len());
        let (together, alone) =
            (error(&widen(&together), &exact), error(&widen(&one_by_one), &exact));
        assert!(together < 1.2 * alone, "{length}: {together:e}, {alone:e}");
    }
}
