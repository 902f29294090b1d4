//! The HLO IR.

mod builder;
mod element_type;
mod infer;
mod layout;
pub mod literal;
mod metadata;
mod module;
pub mod native;
pub mod op;
mod shape;
mod sharding;
pub mod small_float;
pub mod text;
pub mod verify;

pub use element_type::{ElementType, TypeClass};
pub use infer::infer;
pub use layout::{DimLevel, DimLevelKind, Layout, SplitConfig, Tile};
pub use literal::{ArrayLiteral, Literal};
pub use metadata::*;
pub use module::*;
pub use op::{BinaryKind, Op, UnaryKind};
pub use shape::{ArrayShape, Dims, ProgramShape, Shape};
pub use sharding::*;
pub use verify::{verify, verify_with_spans};
