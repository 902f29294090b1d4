//! The printer: text grows in one string, by subject in the files of this folder.

mod computation;
mod instruction;
mod literal;
mod metadata;
mod module;
mod options;
mod shape;
mod sharding;

use std::fmt::Write;

pub use self::instruction::print_instruction;
pub use self::module::print;
pub use self::options::{PrintOptions, PrintOrder, Subcomputations};
pub use self::shape::{print_program_shape, print_shape};
use super::escape::escape;
use super::number::print_number;
use crate::{Dims, Module};

/// Text being made. Shapes and the like print without a module, names do not.
pub struct Printer<'m> {
    out: String,
    module: Option<&'m Module>,
    options: PrintOptions,
    /// Whether what is printed stands inside of a computation's braces.
    is_nested: bool,
    names: computation::CanonicalNames,
}

impl<'m> Printer<'m> {
    pub(super) fn new(module: Option<&'m Module>, options: &PrintOptions) -> Printer<'m> {
        Printer {
            out: String::new(),
            module,
            options: options.clone(),
            is_nested: false,
            names: computation::CanonicalNames::default(),
        }
    }

    pub(super) fn finish(self) -> String {
        self.out
    }

    fn module(&self) -> &'m Module {
        self.module.expect("names are printed only of a module")
    }

    pub(super) fn push(&mut self, text: &str) {
        self.out.push_str(text);
    }

    pub(super) fn integer(&mut self, value: i64) {
        // Writing to a string cannot fail.
        let _ = write!(self.out, "{value}");
    }

    /// A number with six digits, as C++ streams print it.
    pub(super) fn number(&mut self, value: f64) {
        print_number(value, &mut self.out);
    }

    pub(super) fn quoted(&mut self, text: &[u8]) {
        self.out.push('"');
        escape(text, &mut self.out);
        self.out.push('"');
    }

    pub(super) fn joined<T>(
        &mut self,
        items: &[T],
        separator: &str,
        mut item: impl FnMut(&mut Self, &T),
    ) {
        for (index, value) in items.iter().enumerate() {
            if index > 0 {
                self.push(separator);
            }
            item(self, value);
        }
    }

    pub(super) fn braced<T>(
        &mut self,
        items: &[T],
        separator: &str,
        item: impl FnMut(&mut Self, &T),
    ) {
        self.push("{");
        self.joined(items, separator, item);
        self.push("}");
    }

    /// Items with XLA's comment at every fifth, which helps people count.
    pub(super) fn annotated<T>(&mut self, items: &[T], mut item: impl FnMut(&mut Self, &T)) {
        for (index, value) in items.iter().enumerate() {
            if index > 0 {
                self.push(", ");
                if index % 5 == 0 {
                    let _ = write!(self.out, "/*index={index}*/");
                }
            }
            item(self, value);
        }
    }

    /// `{1,2,3}`.
    pub(super) fn integers(&mut self, list: &[i64]) {
        self.braced(list, ",", |printer, &value| printer.integer(value));
    }

    pub(super) fn squared_integers(&mut self, list: &[i64]) {
        self.push("[");
        self.joined(list, ",", |printer, &value| printer.integer(value));
        self.push("]");
    }

    /// `[4,2]T(1,0)`; a single dimension needs no order.
    pub(super) fn iota_order(&mut self, reshape: &Dims, transpose: &Dims) {
        self.squared_integers(reshape);
        if reshape.len() > 1 {
            self.push("T(");
            self.joined(transpose, ",", |printer, &value| printer.integer(value));
            self.push(")");
        }
    }

    /// `b01f`: two letters and the numbers of spatial dimensions at their places.
    pub(super) fn labels(
        &mut self,
        first: char,
        first_at: i64,
        second: char,
        second_at: i64,
        spatial: &Dims,
    ) {
        let places = || spatial.iter().copied().chain([first_at, second_at]);
        // Nothing that reads labels takes more than two digits of dimensions.
        let length = places().max().unwrap_or(0).clamp(0, 99) + 1;
        for place in 0..length {
            if place == first_at {
                self.out.push(first);
            } else if place == second_at {
                self.out.push(second);
            } else if let Some(number) = spatial.iter().position(|&at| at == place) {
                self.integer(number as i64);
            } else {
                self.out.push('?');
            }
        }
    }
}
