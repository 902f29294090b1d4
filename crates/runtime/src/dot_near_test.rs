//! Products that are read where they are.

use super::*;

/// Blocks of k are added to each other, and threads share what is near.
#[test]
fn small_products_of_long_sums() {
    use Element::{F32, F64};
    sets::forced::each(|| {
        for element in [F32, F64] {
            for sizes in [[1, 3, 5, 1090], [2, 2, 8, 1020], [1, 2, 16, 511], [1, 13, 24, 50]] {
                for (left, right) in [(ROW, ROW), (COLUMN, ROW), (ROW, COLUMN), (BATCH_LAST, ROW)] {
                    for context in contexts() {
                        check([element; 3], sizes, [left, right, ROW], &context);
                    }
                }
            }
        }
    });
}

#[test]
fn few_rows_and_columns_with_every_set() {
    use Element::{C64, C128, F32, F64, I32};
    sets::forced::each(|| {
        for (element, k) in [(F32, 16), (F64, 33), (C64, 100), (C128, 17), (I32, 40)] {
            for (m, n) in (1..=4).flat_map(|m| (1..=4).map(move |n| (m, n))) {
                for orders in [[ROW, ROW, ROW], [COLUMN, COLUMN, ROW], [COLUMN, ROW, COLUMN]] {
                    check([element; 3], [1, m, n, k], orders, &Context::default());
                }
            }
        }
    });
}

/// The matrix goes by some steps at a time, a stretch of columns after the other; what is rounded is whole.
#[test]
fn a_few_rows_with_matrices_that_go_by() {
    use Element::{BF16, F32, F64, I32};
    sets::forced::each(|| {
        for types in [[F32; 3], [F64; 3], [I32; 3], [F32, F32, BF16]] {
            for sizes in [[1, 5, 40, 300], [1, 7, 1100, 70], [1, 2, 50, 1100], [1, 48, 200, 33]] {
                for orders in [[ROW, ROW, ROW], [COLUMN, ROW, COLUMN]] {
                    for context in contexts() {
                        check(types, sizes, orders, &context);
                    }
                }
            }
        }
    });
}
