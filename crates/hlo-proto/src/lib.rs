//! XLA's protos, and conversions between them and the IR of `rxla-hlo`.
//!
//! [`from_proto`] and [`to_proto`] turn an `HloModuleProto` into a [`rxla_hlo::Module`] and back;
//! [`read_module`] takes bytes of any kind (text, modules, snapshots) and tells by content what
//! they are. [`shape`], [`literal`] and [`sharding`] convert the parts that stand in other
//! messages, such as compile options. The messages themselves are in [`mod@proto`].

mod attributes;
mod config;
pub mod literal;
pub mod metadata;
mod module_from_proto;
mod module_to_proto;
mod op_from_proto;
mod op_to_proto;
mod order;
pub mod proto;
mod read;
pub mod shape;
pub mod sharding;

pub use config::{apply_config, from_proto_with_config, to_proto_with_config};
pub use module_from_proto::from_proto;
pub use module_to_proto::to_proto;
pub use prost::{DecodeError, Message};
pub use read::{Format, Read, decode, read_module, read_module_with, sniff};
