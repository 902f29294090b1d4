//! The HLO IR.

mod element_type;
mod layout;
pub mod literal;
pub mod native;
mod shape;

pub use element_type::{ElementType, TypeClass};
pub use layout::{DimLevel, DimLevelKind, Layout, SplitConfig, Tile};
pub use literal::{ArrayLiteral, Literal};
pub use shape::{ArrayShape, Dims, ProgramShape, Shape};
