//! MLIR in memory: a [`Module`] of operations in arenas, with [`Type`]s, [`Attribute`]s and
//! [`Location`]s as plain immutable values that are cheap to clone.
//!
//! Only the dialects that a StableHLO program can hold are modelled with types of their own
//! (builtin, func, stablehlo, chlo, sdy, quant); what belongs to any other dialect is kept as its
//! text. Values are canonical where MLIR makes them so: attributes of an operation and entries of
//! a dictionary are sorted by name, and a dense constant with equal elements is a splat. Therefore
//! two modules that MLIR would print alike compare alike here, whichever reader made them.
//!
//! Readers bound the nesting of everything they build by [`MAX_DEPTH`], so code that walks these
//! values may recurse.

mod attribute;
mod byte_string;
mod compare;
mod defaults;
mod dense;
mod enums;
mod inherent;
mod location;
mod module;
mod sdy;
mod stablehlo;
mod types;

pub use attribute::{Attribute, NamedAttribute, SymbolRef, dictionary};
pub use byte_string::ByteString;
pub use compare::{CompareLocations, difference};
pub use defaults::drop_defaults;
pub use dense::{DenseArray, DenseElements, DenseResource, DenseStrings};
pub use enums::{
    ComparisonDirection, ComparisonType, CustomCallApiVersion, EnumAttribute, EnumDialect,
    EnumValue, FftType, Precision, ResultAccuracyMode, RngAlgorithm, RngDistribution, Transpose,
};
pub use inherent::{InherentAttribute, attribute_kind, inherent_attributes};
pub use location::{Location, LocationKind};
pub use module::{
    AttributeKind, Attributes, Block, BlockId, Module, OpId, Operation, OperationAttribute, Region,
    RegionId, Resource, ResourceValue, Value, ValueDef, ValueId,
};
pub use sdy::{
    AllToAllParam, AxisToPropagationDetails, DimensionSharding, EdgeNodeType, EdgeValueRef,
    OpShardingRule, PropagationDirection, PropagationOneStep, ReductionOp, SdyAttribute, SdyMesh,
    TensorSharding,
};
pub use stablehlo::{
    AxisRef, ConvDimensionNumbers, DotAlgorithm, DotDimensionNumbers, GatherDimensionNumbers, Mesh,
    MeshAxis, OutputOperandAlias, RaggedDotDimensionNumbers, ReplicaGroupMeshAxes, ResultAccuracy,
    ScatterDimensionNumbers, SubAxisInfo,
};
pub use types::{
    DYNAMIC, Float, FunctionType, MemRefType, Opaque, QuantizedType, Signedness, SubChannelType,
    TensorType, Type, UniformType, VectorType,
};

/// How deep attributes, types, locations and regions may nest.
pub const MAX_DEPTH: usize = 256;
