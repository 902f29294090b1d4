//! Products with windows over images.

use super::*;

/// A window that goes over an image, alone: rows of all lengths, read one after the other or every second.
#[test]
fn windows_over_images() {
    use Element::*;
    let shapes = [
        [3, 4, 1],
        [2, 5, 2],
        [5, 7, 1],
        [4, 8, 2],
        [3, 15, 1],
        [2, 64, 2],
        [3, 70, 1],
        [1, 130, 2],
    ];
    for context in contexts() {
        for [element, result] in [[F32, F32], [F64, F64], [BF16, F32], [I8, I32], [U8, I32]] {
            for [height, width, step] in shapes {
                for [rows, columns] in [[3, 3], [1, 2], [2, 5]] {
                    let line = (width - 1) * step + columns;
                    let lines = (height - 1) * step + rows;
                    let mut seed = (height * width + rows) as u64;
                    let unsigned = element == U8;
                    let mut numbers = |count: usize| -> Vec<f64> {
                        let value = |value: f64| if unsigned { value.abs() } else { value };
                        (0..count).map(|_| value(number(&mut seed))).collect()
                    };
                    let (image, window) = (numbers(lines * line), numbers(rows * columns));
                    let dim = |size, image: usize, other: usize| Dim {
                        size,
                        strides: [image as isize, other as isize],
                    };
                    let dot = Dot {
                        rounded: false,
                        left: element,
                        right: element,
                        result,
                        batch: vec![],
                        rows: vec![dim(height, step * line, width), dim(width, step, 1)],
                        columns: vec![],
                        summed: vec![dim(rows, line, columns), dim(columns, 1, 1)],
                    };
                    let [left, right] = [&image, &window].map(|values| write(element, values));
                    let mut found = write(result, &vec![7.0; height * width]);
                    // SAFETY: buffers are as large as the description says.
                    unsafe {
                        let found = found.as_mut_ptr();
                        run::<Any>(&context, &dot, None, left.as_ptr(), right.as_ptr(), found)
                    }
                    .unwrap();
                    let found = read(result, &found);
                    for (place, &found) in found.iter().enumerate() {
                        let start = place / width * step * line + place % width * step;
                        let wanted: f64 = (0..rows * columns)
                            .map(|tap| {
                                image[start + tap / columns * line + tap % columns] * window[tap]
                            })
                            .sum();
                        assert_eq!(found, wanted, "{element:?} {height} {width} {step} {place}");
                    }
                }
            }
        }
    }
}
