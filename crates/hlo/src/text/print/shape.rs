//! Shapes and layouts.

use std::fmt::Write;

use super::{PrintOptions, Printer};
use crate::{ArrayShape, DimLevelKind, Layout, ProgramShape, Shape, Tile};

/// A shape with its layouts, such as `(f32[2,3]{1,0}, token[])`.
pub fn print_shape(shape: &Shape) -> String {
    let mut printer = Printer::new(None, &PrintOptions::default());
    printer.shape_with_layout(shape);
    printer.finish()
}

/// The shape of a computation, such as `(a: f32[2]) -> f32[]`, without layouts.
pub fn print_program_shape(shape: &ProgramShape) -> String {
    let mut printer = Printer::new(None, &PrintOptions::default());
    printer.program_shape(shape);
    printer.finish()
}

impl Printer<'_> {
    /// A shape as the options ask for it.
    pub(super) fn shape(&mut self, shape: &Shape) {
        if self.options.layouts { self.shape_with_layout(shape) } else { self.bare_shape(shape) }
    }

    pub(in crate::text) fn shape_with_layout(&mut self, shape: &Shape) {
        match shape {
            Shape::Array(array) => self.array_with_layout(array),
            Shape::Buffer(array) => {
                self.push("b(");
                self.array_with_layout(array);
                self.push(")");
            }
            Shape::Tuple(elements) => {
                self.push("(");
                self.annotated(elements, |printer, element| printer.shape_with_layout(element));
                self.push(")");
            }
            Shape::Token => self.push("token[]"),
            Shape::Opaque => self.push("opaque[]"),
        }
    }

    pub(super) fn bare_shape(&mut self, shape: &Shape) {
        match shape {
            Shape::Tuple(elements) => {
                self.push("(");
                self.annotated(elements, |printer, element| printer.bare_shape(element));
                self.push(")");
            }
            Shape::Array(_) | Shape::Buffer(_) | Shape::Token | Shape::Opaque => {
                let _ = write!(self.out, "{shape}");
            }
        }
    }

    fn array_with_layout(&mut self, array: &ArrayShape) {
        let _ = write!(self.out, "{array}");
        let Some(layout) = &array.layout else { return };
        let start = self.out.len();
        self.layout(layout);
        // XLA does not print the empty layout of a scalar.
        if array.rank() == 0 && &self.out[start..] == "{}" {
            self.out.truncate(start);
        }
    }

    pub(in crate::text) fn layout(&mut self, layout: &Layout) {
        self.push("{");
        self.joined(&layout.minor_to_major, ",", |printer, &dimension| printer.integer(dimension));
        let colon = self.out.len();
        self.layout_attributes(layout);
        if self.out.len() > colon {
            self.out.insert(colon, ':');
        }
        self.push("}");
    }

    fn layout_attributes(&mut self, layout: &Layout) {
        if !layout.dim_level_types.is_empty() {
            self.push("D(");
            self.joined(&layout.dim_level_types, ",", |printer, level| {
                printer.push(match level.kind {
                    DimLevelKind::Dense => "D",
                    DimLevelKind::Compressed => "C",
                    DimLevelKind::Singleton => "S",
                    DimLevelKind::LooseCompressed => "H",
                });
                if level.not_unique {
                    printer.push("+");
                }
                if level.not_ordered {
                    printer.push("~");
                }
            });
            self.push(")");
        }
        if !layout.tiles.is_empty() {
            self.push("T");
            for tile in &layout.tiles {
                self.push("(");
                self.joined(&tile.dimensions, ",", |printer, &size| {
                    if size == Tile::COMBINE { printer.push("*") } else { printer.integer(size) }
                });
                self.push(")");
            }
        }
        if layout.tail_padding_alignment_in_elements != 1 {
            let _ = write!(self.out, "L({})", layout.tail_padding_alignment_in_elements);
        }
        if let Some(element_type) = layout.index_type {
            let _ = write!(self.out, "#({element_type})");
        }
        if let Some(element_type) = layout.pointer_type {
            let _ = write!(self.out, "*({element_type})");
        }
        if layout.element_size_in_bits != 0 {
            let _ = write!(self.out, "E({})", layout.element_size_in_bits);
        }
        if layout.memory_space != 0 {
            let _ = write!(self.out, "S({})", layout.memory_space);
        }
        if !layout.split_configs.is_empty() {
            self.push("SC");
            for split in &layout.split_configs {
                let _ = write!(self.out, "({}:", split.dimension);
                self.joined(&split.split_indices, ",", |printer, &index| printer.integer(index));
                self.push(")");
            }
        }
        if let Some(physical) = &layout.physical_shape {
            self.push("P(");
            self.shape_with_layout(physical);
            self.push(")");
        }
        if layout.dynamic_shape_metadata_prefix_bytes > 0 {
            let _ = write!(self.out, "M({})", layout.dynamic_shape_metadata_prefix_bytes);
        }
    }

    pub(super) fn program_shape(&mut self, shape: &ProgramShape) {
        self.push("(");
        self.joined(&shape.parameters, ", ", |printer, (name, shape)| {
            let name = printer.without_id(name).to_owned();
            printer.push(if name.is_empty() { "(unknown)" } else { &name });
            printer.push(": ");
            printer.bare_shape(shape);
        });
        self.push(") -> ");
        self.bare_shape(&shape.result);
    }
}
