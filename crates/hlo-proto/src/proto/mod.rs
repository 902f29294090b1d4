//! The messages, field by field as XLA numbers them. Enums are their numbers (both are varints on
//! the wire); messages that nothing here reads are the bytes they came as. Unknown fields are
//! skipped when reading.

mod attributes;
mod compile_options;
mod config;
mod instruction;
mod literal;
mod metadata;
mod module;
mod shape;
mod sharding;

pub use attributes::*;
pub use compile_options::*;
pub use config::*;
pub use instruction::*;
pub use literal::*;
pub use metadata::*;
pub use module::*;
pub use shape::*;
pub use sharding::*;
