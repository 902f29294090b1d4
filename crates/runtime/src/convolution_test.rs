//! Convolutions against the sum over all taps, place by place.

use super::*;
use crate::gemm::sets;
use crate::pool::Pool;

/// What a case varies; the rest follows.
#[derive(Clone, Debug)]
struct Case {
    images: usize,
    features: usize,
    outputs: usize,
    feature_groups: usize,
    batch_groups: usize,
    /// Input, kernel, stride, low and high padding, dilation of operand and window, reversed.
    spatial: Vec<(usize, usize, usize, isize, isize, usize, usize, bool)>,
    /// Whether features come last in operand and result.
    features_last: bool,
}

fn dense(sizes: &[usize], order: &[usize]) -> Vec<isize> {
    let mut strides = vec![0; sizes.len()];
    let mut stride = 1;
    for &dim in order.iter().rev() {
        strides[dim] = stride;
        stride *= sizes[dim] as isize;
    }
    strides
}

fn build(case: &Case, element: Element) -> (Convolution, [usize; 3]) {
    let rank = case.spatial.len();
    let input: Vec<usize> = case.spatial.iter().map(|dim| dim.0).collect();
    let kernel: Vec<usize> = case.spatial.iter().map(|dim| dim.1).collect();
    let output: Vec<usize> = case
        .spatial
        .iter()
        .map(|&(input, kernel, stride, low, high, left, right, _)| {
            let dilated = if input == 0 { 0 } else { (input - 1) * left + 1 } as isize;
            let window = ((kernel - 1) * right + 1) as isize;
            let room = dilated + low + high - window;
            if room < 0 { 0 } else { room as usize / stride + 1 }
        })
        .collect();
    let order: Vec<usize> = match case.features_last {
        true => std::iter::once(0).chain(2..2 + rank).chain([1]).collect(),
        false => (0..2 + rank).collect(),
    };
    let sizes = |a: usize, b: usize, space: &[usize]| [&[a, b], space].concat();
    let left_sizes = sizes(case.images, case.features, &input);
    let right_sizes = sizes(case.features / case.feature_groups, case.outputs, &kernel);
    let result_sizes = sizes(case.images / case.batch_groups, case.outputs, &output);
    let left = dense(&left_sizes, &order);
    // The window's features go last, as is usual, or first.
    let right_order: Vec<usize> = match case.features_last {
        true => (2..2 + rank).chain([0, 1]).collect(),
        false => [1, 0].into_iter().chain(2..2 + rank).collect(),
    };
    let right = dense(&right_sizes, &right_order);
    let result = dense(&result_sizes, &order);
    let mut right_start = 0;
    let spatial = (0..rank)
        .map(|i| {
            let (input, kernel, stride, pad_low, _, left_dilation, right_dilation, reversed) =
                case.spatial[i];
            if reversed {
                right_start += (kernel as isize - 1) * right[2 + i];
            }
            Spatial {
                input,
                kernel,
                output: output[i],
                stride,
                pad_low,
                left_dilation,
                right_dilation,
                left_stride: left[2 + i],
                right_stride: if reversed { -right[2 + i] } else { right[2 + i] },
                result_stride: result[2 + i],
            }
        })
        .collect();
    let convolution = Convolution {
        left: element,
        right: element,
        result: element,
        images: case.images,
        image_strides: [left[0], result[0]],
        features: case.features,
        left_feature_stride: left[1],
        right_feature_stride: right[0],
        outputs: case.outputs,
        output_strides: [right[1], result[1]],
        feature_groups: case.feature_groups,
        batch_groups: case.batch_groups,
        right_start,
        spatial,
        method: Method::Fastest,
    };
    let count = |sizes: &[usize]| sizes.iter().product();
    (convolution, [count(&left_sizes), count(&right_sizes), count(&result_sizes)])
}

/// The definition: every place, every tap.
fn plain(c: &Convolution, left: &[f32], right: &[f32], count: usize) -> Vec<f32> {
    let mut result = vec![0.0; count];
    let images = c.images / c.batch_groups;
    let features = c.features / c.feature_groups;
    let per_group = c.outputs / c.feature_groups.max(c.batch_groups);
    let outputs: Vec<usize> = c.spatial.iter().map(|dim| dim.output).collect();
    let kernels: Vec<usize> = c.spatial.iter().map(|dim| dim.kernel).collect();
    let unravel = |mut index: usize, sizes: &[usize]| {
        let mut at = vec![0; sizes.len()];
        for i in (0..sizes.len()).rev() {
            at[i] = index % sizes[i];
            index /= sizes[i];
        }
        at
    };
    for image in 0..images {
        for output in 0..c.outputs {
            let group = output / per_group;
            for place in 0..outputs.iter().product() {
                let place = unravel(place, &outputs);
                let mut sum = 0.0;
                for feature in 0..features {
                    'taps: for tap in 0..kernels.iter().product() {
                        let tap = unravel(tap, &kernels);
                        let left_image =
                            if c.batch_groups > 1 { group * images + image } else { image };
                        let left_feature =
                            if c.feature_groups > 1 { group * features + feature } else { feature };
                        let mut x = left_image as isize * c.image_strides[0]
                            + left_feature as isize * c.left_feature_stride;
                        let mut y = c.right_start
                            + feature as isize * c.right_feature_stride
                            + output as isize * c.output_strides[0];
                        for (i, dim) in c.spatial.iter().enumerate() {
                            let at = (place[i] * dim.stride + tap[i] * dim.right_dilation) as isize
                                - dim.pad_low;
                            let dilation = dim.left_dilation as isize;
                            if at < 0 || at % dilation != 0 || at / dilation >= dim.input as isize {
                                continue 'taps;
                            }
                            x += at / dilation * dim.left_stride;
                            y += tap[i] as isize * dim.right_stride;
                        }
                        sum += left[x as usize] * right[y as usize];
                    }
                }
                let mut z =
                    image as isize * c.image_strides[1] + output as isize * c.output_strides[1];
                for (i, dim) in c.spatial.iter().enumerate() {
                    z += place[i] as isize * dim.result_stride;
                }
                result[z as usize] = sum;
            }
        }
    }
    result
}

/// Small integers: sums are exact in any order.
fn numbers(count: usize, seed: u32) -> Vec<f32> {
    (0..count as u32)
        .map(|i| ((i.wrapping_mul(2654435761).wrapping_add(seed) >> 13) % 7) as f32 - 3.0)
        .collect()
}

/// Runs a convolution of arrays that are as large as it says.
fn run<T>(c: &Convolution, context: &Context, left: &[T], right: &[T], result: &mut [T]) {
    let code = c.encode().unwrap();
    // SAFETY: buffers are as large as the description says.
    let status = unsafe {
        rxla_convolution(
            context.as_ptr(),
            left.as_ptr().cast(),
            right.as_ptr().cast(),
            result.as_mut_ptr().cast(),
            code.as_ptr(),
        )
    };
    assert_eq!(status, 0);
}

fn check(case: &Case, context: &Context) {
    let (convolution, [left_count, right_count, result_count]) = build(case, Element::F32);
    let (left, right) = (numbers(left_count, 1), numbers(right_count, 2));
    let wanted = plain(&convolution, &left, &right, result_count);
    let mut result = vec![7.0_f32; result_count];
    // Windows of three by three, or results.
    let dims = &convolution.spatial;
    let may_round = dims.len() == 2
        && convolution.feature_groups == 1
        && dims.iter().all(|dim| dim.stride == 1 && dim.left_dilation == 1)
        && (dims.iter().all(|dim| dim.kernel == 3) || dims.iter().all(|dim| dim.output == 3));
    for method in [Method::Direct, Method::Fastest] {
        result.fill(7.0);
        let convolution = Convolution { method, ..convolution.clone() };
        run(&convolution, context, &left, &right, &mut result);
        // What shares products at points that are not whole numbers is rounded; all else is exact.
        let most = if method == Method::Fastest && may_round { 0.01 } else { 0.0 };
        let near = result.iter().zip(&wanted).all(|(a, b)| (a - b).abs() <= most);
        assert!(near, "{case:?} {method:?}");
    }
    // Halves hold these numbers and sums too, if those are small.
    let halves = |values: &[f32]| -> Vec<half::bf16> {
        values.iter().map(|&value| half::bf16::from_f32(value)).collect()
    };
    let (left, right) = (halves(&left), halves(&right));
    let mut result = halves(&result);
    let (convolution, _) = build(case, Element::BF16);
    run(&convolution, context, &left, &right, &mut result);
    assert_eq!(result, halves(&wanted), "{case:?}");
}

fn case() -> Case {
    Case {
        images: 2,
        features: 3,
        outputs: 5,
        feature_groups: 1,
        batch_groups: 1,
        spatial: vec![(9, 3, 1, 1, 1, 1, 1, false), (11, 3, 1, 1, 1, 1, 1, false)],
        features_last: true,
    }
}

#[test]
fn windows_of_every_kind() {
    let contexts = [Context::default(), Context::new(Some(Pool::with_threads(3)))];
    let spatial = [
        (9, 3, 1, 1, 1, 1, 1, false),
        (9, 3, 2, 0, 1, 1, 1, false),
        (10, 1, 1, 0, 0, 1, 1, false),
        (10, 1, 2, 0, 0, 1, 1, false),
        (10, 4, 1, -2, -1, 1, 1, false),
        (10, 3, 1, 2, 2, 1, 2, true),
        (7, 3, 1, 2, 2, 2, 1, true),
        (7, 4, 1, 0, 5, 3, 1, false),
        (5, 1, 1, 1, 0, 3, 1, false),
        (5, 3, 2, 1, 1, 2, 1, false),
        (5, 3, 1, 1, 1, 2, 2, false),
        (0, 2, 1, 3, 0, 1, 1, false),
        (4, 6, 1, 0, 0, 1, 1, false),
    ];
    for context in &contexts {
        for first in spatial {
            for second in spatial {
                for features_last in [true, false] {
                    check(&Case { spatial: vec![first, second], features_last, ..case() }, context);
                }
            }
        }
    }
}

/// Zeros between elements count where a tap is infinite.
#[test]
fn zeros_times_infinity() {
    let context = Context::new(Some(Pool::with_threads(3)));
    let spatial = vec![(4, 3, 1, 1, 1, 2, 1, false), (3, 3, 1, 2, 2, 3, 1, true)];
    for (features, outputs, feature_groups) in [(3, 5, 1), (16, 32, 1), (6, 6, 3)] {
        for features_last in [true, false] {
            let sizes = Case { features, outputs, feature_groups, features_last, ..case() };
            let case = Case { spatial: spatial.clone(), ..sizes };
            let (c, [left_count, right_count, result_count]) = build(&case, Element::F32);
            let (left, mut right) = (numbers(left_count, 1), numbers(right_count, 2));
            right[right_count / 2] = f32::INFINITY;
            let mut result = vec![7.0_f32; result_count];
            run(&c, &context, &left, &right, &mut result);
            // The same, written out.
            let dilated = |dim: &(usize, usize, usize, isize, isize, usize, usize, bool)| {
                ((dim.0 - 1) * dim.5 + 1, dim.1, dim.2, dim.3, dim.4, 1, dim.6, dim.7)
            };
            let whole = Case { spatial: case.spatial.iter().map(dilated).collect(), ..case };
            let (whole, [whole_count, ..]) = build(&whole, Element::F32);
            let mut filled = vec![0.0_f32; whole_count];
            for (image, feature, row, column) in (0..2).flat_map(|image| {
                (0..features).flat_map(move |feature| {
                    (0..4).flat_map(move |row| {
                        (0..3).map(move |column| (image, feature, row, column))
                    })
                })
            }) {
                let place = |c: &Convolution, row: usize, column: usize| {
                    (image as isize * c.image_strides[0]
                        + feature as isize * c.left_feature_stride
                        + row as isize * c.spatial[0].left_stride
                        + column as isize * c.spatial[1].left_stride) as usize
                };
                filled[place(&whole, 2 * row, 3 * column)] = left[place(&c, row, column)];
            }
            let mut wanted = vec![7.0_f32; result_count];
            run(&whole, &context, &filled, &right, &mut wanted);
            let same = |(a, b): (&f32, &f32)| a == b || (a.is_nan() && b.is_nan());
            assert!(result.iter().zip(&wanted).all(same), "{features} {features_last}");
            assert!(result.iter().any(|value| value.is_nan()));
        }
    }
}

/// One feature and one output: windows that overlap in memory, many or few, short or long.
#[test]
fn signals() {
    let contexts = [Context::default(), Context::new(Some(Pool::with_threads(3)))];
    for context in &contexts {
        for (length, kernel) in [(4, 2), (9, 3), (40, 5), (200, 7), (300, 260), (1000, 64)] {
            for (stride, reversed) in [(1, false), (1, true), (2, false), (3, true)] {
                let spatial = vec![(length, kernel, stride, 2, 1, 1, 1, reversed)];
                check(&Case { features: 1, outputs: 1, spatial, ..case() }, context);
            }
        }
    }
}

#[test]
fn shared_products() {
    let contexts = [Context::default(), Context::new(Some(Pool::with_threads(3)))];
    // Windows of three, and results of three, with more and fewer lanes than a vector or a panel has.
    for (features, outputs) in [(1, 1), (16, 32), (17, 33), (5, 40), (40, 5)] {
        for (input, kernel, low, high) in
            [(8, 3, 1, 1), (9, 3, 0, 2), (1, 3, 1, 1), (9, 7, 0, 0), (8, 8, 1, 1), (3, 2, 0, 1)]
        {
            for features_last in [true, false] {
                let spatial = vec![
                    (input, kernel, 1, low, high, 1, 1, false),
                    (input, kernel, 1, low, high, 1, 1, kernel == 7),
                ];
                let case = Case { images: 21, features, outputs, spatial, features_last, ..case() };
                contexts.iter().for_each(|context| check(&case, context));
                if kernel == 3 {
                    // Taps that are apart.
                    let spatial = vec![
                        (input, 3, 1, low + 1, high + 3, 1, 2, false),
                        (input, 3, 1, low + 4, high + 3, 1, 3, true),
                    ];
                    check(&Case { images: 2, spatial, ..case }, &contexts[1]);
                }
            }
        }
    }
}

/// Groups of fewer and more outputs than a vector has, one after the other in rows of products.
#[test]
fn shared_products_of_groups() {
    sets::forced::each(|| {
        for (features, outputs, groups) in
            [(4, 4, 8), (8, 8, 4), (7, 5, 3), (15, 3, 2), (9, 40, 4), (16, 16, 2), (33, 20, 3)]
        {
            for features_last in [true, false] {
                let case = Case {
                    images: 3,
                    features: features * groups,
                    outputs: outputs * groups,
                    feature_groups: groups,
                    spatial: vec![(9, 3, 1, 1, 1, 1, 1, false), (7, 3, 1, 1, 1, 1, 1, true)],
                    features_last,
                    ..case()
                };
                check(&case, &Context::default());
            }
        }
    });
}

#[test]
fn values_that_are_not_finite_stay_in_their_windows() {
    for spatial in [vec![(9, 3, 1, 1, 1, 1, 1, false); 2], vec![(9, 7, 1, 0, 0, 1, 1, false); 2]] {
        let case = Case { spatial, ..case() };
        let (convolution, [left_count, right_count, result_count]) = build(&case, Element::F32);
        for odd in [f32::INFINITY, f32::NAN, f32::MAX] {
            let (mut left, right) = (numbers(left_count, 1), numbers(right_count, 2));
            left[left_count / 2] = odd;
            let wanted = plain(&convolution, &left, &right, result_count);
            let mut result = vec![7.0_f32; result_count];
            run(&convolution, &Context::default(), &left, &right, &mut result);
            let finite = |values: &[f32]| values.iter().filter(|value| value.is_finite()).count();
            assert_eq!(finite(&result), finite(&wanted), "{odd}");
            if !odd.is_finite() {
                let kinds = |values: &[f32]| -> Vec<f32> {
                    values.iter().map(|value| if value.is_nan() { 9e9 } else { *value }).collect()
                };
                assert_eq!(kinds(&result), kinds(&wanted), "{odd}");
            }
        }
    }
}

#[test]
fn ranks_and_groups() {
    let context = Context::new(Some(Pool::with_threads(2)));
    let window = (6, 3, 1, 1, 1, 1, 1, false);
    for features_last in [true, false] {
        for rank in 0..4 {
            let spatial = vec![window; rank];
            check(&Case { spatial: spatial.clone(), features_last, ..case() }, &context);
            // As many outputs as features, as wide as groups that there is code for.
            for features in [1, 2, 4, 8, 16] {
                let spatial = spatial.clone();
                let square = Case { features, outputs: features, spatial, features_last, ..case() };
                check(&square, &context);
            }
        }
        let groups = [
            (6, 6, 6, 1),
            (6, 12, 3, 1),
            (12, 12, 12, 1),
            (3, 8, 1, 4),
            (70, 70, 70, 1),
            (2, 140, 2, 1),
        ];
        for (features, outputs, feature_groups, batch_groups) in groups {
            let images = 2 * batch_groups;
            for window in [window, (6, 3, 2, 0, 1, 1, 1, false), (5, 3, 1, 2, 1, 2, 1, false)] {
                let spatial = vec![window; 2];
                let grouped = Case {
                    images,
                    features,
                    outputs,
                    feature_groups,
                    batch_groups,
                    spatial,
                    features_last,
                };
                check(&grouped, &context);
            }
        }
        // The gradient of a convolution of each channel on its own: channels as images.
        let spatial = vec![(8, 6, 1, 1, 1, 1, 1, false); 2];
        let grouped = Case {
            images: 20,
            features: 3,
            outputs: 20,
            feature_groups: 1,
            batch_groups: 20,
            spatial,
            features_last,
        };
        check(&grouped, &context);
    }
}

/// Windows that leave the operand on all sides, that leave some of it out, and that are apart.
const ODD_WINDOWS: [(usize, usize, usize, isize, isize, usize, usize, bool); 6] = [
    (7, 3, 1, 1, 1, 1, 1, false),
    (8, 3, 2, 0, 1, 1, 1, true),
    (5, 2, 1, 4, 3, 1, 1, false),
    (9, 3, 1, -2, -1, 1, 2, false),
    (4, 3, 1, 2, 1, 2, 1, false),
    (1, 3, 1, 1, 1, 1, 1, false),
];

#[test]
fn groups_of_every_width() {
    sets::forced::each(|| {
        for outputs in [1, 2, 4, 5, 8, 9, 16, 20, 33] {
            for (features, groups) in [(1, 3), (2, 2), (9, 2), (3, 1), (20, 1)] {
                for window in ODD_WINDOWS {
                    let case = Case {
                        images: 2,
                        features: features * groups,
                        outputs: outputs * groups,
                        feature_groups: groups,
                        spatial: vec![(6, 3, 1, 1, 1, 1, 1, false), window],
                        ..case()
                    };
                    check(&case, &Context::default());
                    let planes = Case { features_last: false, ..case };
                    check(&planes, &Context::default());
                    check(&Case { spatial: vec![window], ..planes }, &Context::default());
                }
            }
        }
    });
}

#[test]
fn each_feature_on_its_own() {
    sets::forced::each(|| {
        for features in [2, 4, 8, 15, 16, 17, 64, 70, 131] {
            for first in ODD_WINDOWS {
                for second in ODD_WINDOWS {
                    let case = Case {
                        images: 1,
                        features,
                        outputs: features,
                        feature_groups: features,
                        spatial: vec![first, second],
                        ..case()
                    };
                    check(&case, &Context::default());
                }
            }
        }
    });
}

#[test]
fn threads_do_not_show_in_results() {
    for (feature_groups, features, outputs) in [(1, 40, 70), (6, 24, 48), (48, 48, 48)] {
        let spatial = vec![(19, 3, 2, 1, 1, 1, 1, false); 2];
        let case = Case { features, outputs, feature_groups, spatial, ..case() };
        let (convolution, [left, right, count]) = build(&case, Element::F32);
        let values = |count: usize| -> Vec<f32> {
            (0..count).map(|i| ((i * 37 % 101) as f32 - 50.0) / 7.0).collect()
        };
        let (left, right) = (values(left), values(right));
        let results = [1, 2, 3, 8].map(|threads| {
            let context = Context::new(Some(Pool::with_threads(threads)));
            let mut result = vec![7.0_f32; count];
            run(&convolution, &context, &left, &right, &mut result);
            result.into_iter().map(f32::to_bits).collect::<Vec<_>>()
        });
        assert!(results.iter().all(|result| *result == results[0]), "{case:?}");
    }
}

#[test]
fn groups_that_do_not_divide_are_errors() {
    for (features, outputs, feature_groups, batch_groups) in
        [(3, 4, 2, 1), (4, 3, 2, 1), (4, 4, 2, 2), (4, 4, 1, 0)]
    {
        let (convolution, _) = build(&case(), Element::F32);
        let wrong = Convolution { features, outputs, feature_groups, batch_groups, ..convolution };
        assert!(wrong.encode().is_err());
    }
}
