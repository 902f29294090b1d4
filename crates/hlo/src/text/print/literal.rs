//! Literals on one line, with XLA's spaces.

use std::fmt::Write;

use super::Printer;
use crate::{ArrayLiteral, Literal};

/// Pairs of braces with nothing in them that are written one by one.
const MOST_EMPTY_BRACES: i64 = 1 << 16;

impl Printer<'_> {
    /// A literal whose shape is known to the reader.
    pub(super) fn literal(&mut self, literal: &Literal) {
        self.literal_with(literal, &|_, _| {});
    }

    /// A literal that says its shape, as the attribute `literal=` does.
    pub(in crate::text) fn shaped_literal(&mut self, literal: &Literal) {
        self.literal_with(literal, &|printer, array| {
            // Without a layout, braces of integers would be read as one.
            let shape = crate::Shape::from(array.shape().clone()).with_default_layout();
            printer.shape_with_layout(&shape);
            printer.push(" ");
        });
    }

    pub(in crate::text) fn elements(&mut self, array: &ArrayLiteral) {
        // An array without elements may have dimensions of any size before the one of size 0, and
        // its braces would fill the memory. There is nothing in them that could be left out.
        let outer = array.dims().iter().take_while(|&&size| size != 0);
        let braces = outer.fold(1i64, |product, &size| product.saturating_mul(size));
        if array.is_empty() && braces > MOST_EMPTY_BRACES {
            return self.push("{...}");
        }
        self.dimension(array, 0, 0, &mut 0);
    }

    fn literal_with(&mut self, literal: &Literal, before: &dyn Fn(&mut Self, &ArrayLiteral)) {
        match literal {
            Literal::Array(array) => {
                before(self, array);
                self.elements(array);
            }
            Literal::Tuple(elements) => {
                self.push("( ");
                self.joined(elements, ", ", |printer, e| printer.literal_with(e, before));
                self.push(" )");
            }
            Literal::Token => self.push("token"),
        }
    }

    /// The elements below dimension `dimension`; `entry` is which entry of the one above this is.
    fn dimension(&mut self, array: &ArrayLiteral, dimension: usize, entry: i64, next: &mut usize) {
        let rank = array.dims().len();
        let Some(&size) = array.dims().get(dimension) else {
            array.print_element(*next, &mut self.out);
            *next += 1;
            return;
        };
        let is_innermost = dimension + 1 == rank;
        self.push("{");
        let space = if rank == 1 {
            ""
        } else if is_innermost {
            if size <= 1 { "" } else { " " }
        } else {
            if rank > 3 && dimension > 0 {
                let _ = write!(self.out, " /*i{}={entry}*/", dimension - 1);
            }
            if rank > 3 && dimension > 0 && size == 0 { "" } else { " " }
        };
        self.push(space);
        for index in 0..size {
            if index > 0 {
                self.push(", ");
            }
            self.dimension(array, dimension + 1, index, next);
        }
        let space = match (rank, is_innermost) {
            (1, _) => "",
            (_, true) if size <= 1 => "",
            _ => " ",
        };
        self.push(space);
        self.push("}");
    }
}
