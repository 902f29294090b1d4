//! The attribute structs, one per op. Field names are HLO text's attribute names and fields stand
//! in the order in which text prints them; the printer, the parser, the list of called computations
//! and structural comparison all read these lists through [`AttributeVisitor`] and
//! [`AttributeFiller`].

use std::sync::Arc;

use super::attribute_types::*;
use super::kinds::*;
use crate::{ComputationId, Dims, Literal, Shape};

/// Whether text must give the attribute. An optional one is not printed while it has its default.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Presence {
    Required,
    Optional,
    /// Text may leave it out, but it is printed always, as XLA does.
    Printed,
    /// Not an attribute in text: it is written some other way (a literal, a parameter number).
    NotInText,
}

/// A type of attribute. How it is printed and parsed is in `text`.
pub trait Attribute: Clone + PartialEq + std::fmt::Debug + crate::text::AttributeText {
    fn each_computation(&self, _f: &mut dyn FnMut(ComputationId)) {}
    fn map_computations(&mut self, _f: &mut dyn FnMut(ComputationId) -> ComputationId) {}
    /// Whether it may be left out of text.
    fn is_default(&self) -> bool;
}

/// Reads the attributes of an op one by one.
pub trait AttributeVisitor {
    fn attribute<T: Attribute>(&mut self, name: &'static str, presence: Presence, value: &T);
}

/// Writes the attributes of an op one by one.
pub trait AttributeFiller {
    type Error;
    fn attribute<T: Attribute>(
        &mut self,
        name: &'static str,
        presence: Presence,
        value: &mut T,
    ) -> Result<(), Self::Error>;
}

macro_rules! attributes {
    ($($(#[$doc:meta])* $name:ident { $($(#[$fdoc:meta])* $presence:ident $field:ident $(as $text:literal)?: $t:ty,)* })+) => { $(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Debug, Default)]
        pub struct $name { $($(#[$fdoc])* pub $field: $t,)* }

        impl $name {
            #[allow(unused_variables, reason = "ops without attributes visit nothing")]
            pub fn visit(&self, visitor: &mut impl AttributeVisitor) {
                $(visitor.attribute(attributes!(@name $field $($text)?), Presence::$presence, &self.$field);)*
            }

            #[allow(unused_variables, reason = "ops without attributes fill nothing")]
            pub fn fill<F: AttributeFiller>(&mut self, filler: &mut F) -> Result<(), F::Error> {
                $(filler.attribute(attributes!(@name $field $($text)?), Presence::$presence, &mut self.$field)?;)*
                Ok(())
            }
        }
    )+ };
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $text:literal) => { $text };
}

/// `abs`, `cosine`, … with the accuracy asked of a transcendental.
#[derive(Clone, PartialEq, Debug)]
pub struct Unary {
    pub kind: UnaryKind,
    pub result_accuracy: Option<ResultAccuracy>,
}

impl Unary {
    pub fn visit(&self, visitor: &mut impl AttributeVisitor) {
        visitor.attribute("result_accuracy", Presence::Optional, &self.result_accuracy);
    }

    pub fn fill<F: AttributeFiller>(&mut self, filler: &mut F) -> Result<(), F::Error> {
        filler.attribute("result_accuracy", Presence::Optional, &mut self.result_accuracy)
    }
}

/// `add`, `power`, …
#[derive(Clone, PartialEq, Debug)]
pub struct Binary {
    pub kind: BinaryKind,
}

attributes! {
    AddDependency {}
    AfterAll {}
    AllGather {
        Optional channel_id: Option<i64>,
        Printed replica_groups: ReplicaGroups,
        Optional constrain_layout: bool,
        /// The one dimension along which parts are joined.
        Required dimensions: Dims,
        Optional use_global_device_ids: bool,
    }
    AllGatherStart {
        Optional channel_id: Option<i64>,
        Printed replica_groups: ReplicaGroups,
        Optional constrain_layout: bool,
        Required dimensions: Dims,
        Optional use_global_device_ids: bool,
    }
    AllGatherDone {}
    AllReduce {
        Optional channel_id: Option<i64>,
        Printed replica_groups: ReplicaGroups,
        Optional constrain_layout: bool,
        Optional use_global_device_ids: bool,
        Optional mode: Option<CollectiveGroupMode>,
        Required to_apply: ComputationId,
    }
    AllReduceStart {
        Optional channel_id: Option<i64>,
        Printed replica_groups: ReplicaGroups,
        Optional constrain_layout: bool,
        Optional use_global_device_ids: bool,
        Optional mode: Option<CollectiveGroupMode>,
        Required to_apply: ComputationId,
    }
    AllReduceDone {}
    AllToAll {
        Optional channel_id: Option<i64>,
        Printed replica_groups: ReplicaGroups,
        Optional constrain_layout: bool,
        /// Given for the array form; the tuple form has one operand per participant.
        Optional dimensions: Dims,
    }
    AsyncStart {
        Optional async_execution_thread: String,
        Optional output_to_operand_aliasing: Vec<OutputOperandAlias>,
        Required calls: ComputationId,
    }
    AsyncUpdate {}
    AsyncDone {}
    BatchNormGrad {
        Required epsilon: f32,
        Required feature_index: i64,
    }
    BatchNormInference {
        Required epsilon: f32,
        Required feature_index: i64,
    }
    BatchNormTraining {
        Required epsilon: f32,
        Required feature_index: i64,
    }
    Bitcast {}
    BitcastConvert {}
    Broadcast {
        /// Where operand dimension `i` lies in the result.
        Required dimensions: Dims,
    }
    Call {
        Required to_apply: ComputationId,
        Optional is_composite: bool,
    }
    Cholesky {
        Optional lower: bool,
    }
    Clamp {}
    CollectiveBroadcast {
        Optional channel_id: Option<i64>,
        Printed replica_groups: ReplicaGroups,
        /// The root is an operand rather than the first of each group.
        Optional has_dynamic_root: bool,
    }
    CollectivePermute {
        Optional channel_id: Option<i64>,
        Required source_target_pairs: Vec<(i64, i64)>,
        Optional slice_sizes: Vec<Dims>,
    }
    CollectivePermuteStart {
        Optional channel_id: Option<i64>,
        Required source_target_pairs: Vec<(i64, i64)>,
        Optional slice_sizes: Vec<Dims>,
    }
    CollectivePermuteDone {}
    Concatenate {
        /// The one dimension along which operands are joined.
        Required dimensions: Dims,
    }
    Conditional {
        /// Branches by index; the form with a `pred` has the true computation first.
        Required branch_computations: Vec<ComputationId>,
    }
    Convert {}
    Convolution {
        Optional window: Window,
        Required dim_labels: ConvolutionDimensions,
        Optional feature_group_count: GroupCount,
        Optional batch_group_count: GroupCount,
        Optional convolution_kind: Option<ConvolutionKind>,
        Optional operand_precision: Vec<Precision>,
        Optional algorithm: Option<DotAlgorithm>,
        Optional sparsity_config: Option<SparsityConfig>,
    }
    /// Named with a tail so as not to be mistaken for the trait.
    Copy_ {}
    CopyStart {
        Optional cross_program_prefetch_index: Option<i64>,
    }
    CopyDone {}
    CustomCall {
        Optional window: Option<Window>,
        Optional dim_labels: Option<ConvolutionDimensions>,
        Optional feature_group_count: GroupCount,
        Optional batch_group_count: GroupCount,
        Optional operand_precision: Vec<Precision>,
        Optional padding_type: Option<PaddingType>,
        Required custom_call_target: String,
        /// One per operand when the call fixes layouts.
        Optional operand_layout_constraints: Option<Vec<Shape>>,
        Optional custom_call_has_side_effect: bool,
        Optional literal: Option<Arc<Literal>>,
        Optional output_to_operand_aliasing: Vec<OutputOperandAlias>,
        Optional schedule: Option<CustomCallSchedule>,
        Optional api_version: Option<CustomCallApiVersion>,
        Optional to_apply: Option<ComputationId>,
        Optional called_computations: Vec<ComputationId>,
    }
    DynamicReshape {}
    Domain {
        Required domain: Option<DomainMetadata>,
    }
    Dot {
        Optional lhs_batch_dims: Dims,
        Printed lhs_contracting_dims: Dims,
        Optional rhs_batch_dims: Dims,
        Printed rhs_contracting_dims: Dims,
        Optional operand_precision: Vec<Precision>,
        Optional algorithm: Option<DotAlgorithm>,
    }
    DynamicSlice {
        Required dynamic_slice_sizes: Dims,
    }
    DynamicUpdateSlice {}
    Fft {
        Required fft_type: FftType,
        Required fft_length: Dims,
    }
    Fusion {
        Required kind: FusionKind,
        Optional output_to_operand_aliasing: Vec<OutputOperandAlias>,
        Required calls: ComputationId,
    }
    Gather {
        Required offset_dims: Dims,
        Required collapsed_slice_dims: Dims,
        Required start_index_map: Dims,
        Optional operand_batching_dims: Dims,
        Optional start_indices_batching_dims: Dims,
        Required index_vector_dim: i64,
        Required slice_sizes: Dims,
        Optional indices_are_sorted: bool,
    }
    GetDimensionSize {
        /// The one dimension asked for.
        Required dimensions: Dims,
    }
    GetTupleElement {
        Required index: i64,
    }
    Infeed {
        Optional infeed_config: Vec<u8>,
    }
    Iota {
        Required iota_dimension: i64,
    }
    Map {
        Printed dimensions: Dims,
        Required to_apply: ComputationId,
    }
    OptimizationBarrier {}
    Outfeed {
        Optional outfeed_shape: Option<Shape>,
        Optional outfeed_config: Vec<u8>,
    }
    Pad {
        Required padding: Vec<PaddingDimension>,
    }
    Parameter {
        NotInText number: i64,
    }
    PartitionId {}
    RaggedAllToAll {
        Optional channel_id: Option<i64>,
        Printed replica_groups: ReplicaGroups,
        Optional dimensions: Dims,
    }
    RaggedDot {
        Optional lhs_batch_dims: Dims,
        Printed lhs_contracting_dims: Dims,
        Optional rhs_batch_dims: Dims,
        Printed rhs_contracting_dims: Dims,
        Optional lhs_ragged_dims: Dims,
        Optional rhs_group_dims: Dims,
        Optional operand_precision: Vec<Precision>,
        Optional algorithm: Option<DotAlgorithm>,
    }
    Recv {
        Optional channel_id: Option<i64>,
        Optional is_host_transfer: bool,
    }
    RecvDone {
        Optional channel_id: Option<i64>,
        Optional is_host_transfer: bool,
    }
    Reduce {
        Required dimensions: Dims,
        Required to_apply: ComputationId,
    }
    ReducePrecision {
        Required exponent_bits: i64,
        Required mantissa_bits: i64,
    }
    ReduceScatter {
        Optional channel_id: Option<i64>,
        Printed replica_groups: ReplicaGroups,
        Optional constrain_layout: bool,
        Optional use_global_device_ids: bool,
        Optional mode: Option<CollectiveGroupMode>,
        Required dimensions: Dims,
        Required to_apply: ComputationId,
    }
    ReduceWindow {
        Optional window: Window,
        Required to_apply: ComputationId,
    }
    ReplicaId {}
    Reshape {
        Optional inferred_dimension: Option<i64>,
    }
    Reverse {
        Required dimensions: Dims,
    }
    Rng {
        Required distribution: RandomDistribution,
    }
    RngBitGenerator {
        Required algorithm: RandomAlgorithm,
    }
    RngGetAndUpdateState {
        Required delta: i64,
    }
    ScaledDot {
        Optional lhs_batch_dims: Dims,
        Printed lhs_contracting_dims: Dims,
        Optional rhs_batch_dims: Dims,
        Printed rhs_contracting_dims: Dims,
        Optional operand_precision: Vec<Precision>,
        Optional algorithm: Option<DotAlgorithm>,
    }
    Scan {
        Required dimensions: Dims,
        Required num_carries: i64,
        Optional is_reverse: bool,
        Optional is_associative: Option<bool>,
        Required to_apply: ComputationId,
    }
    Scatter {
        Required update_window_dims: Dims,
        Required inserted_window_dims: Dims,
        Required scatter_dims_to_operand_dims: Dims,
        Optional input_batching_dims: Dims,
        Optional scatter_indices_batching_dims: Dims,
        Required index_vector_dim: i64,
        Optional indices_are_sorted: bool,
        Optional unique_indices: bool,
        Required to_apply: ComputationId,
    }
    Select {}
    SelectAndScatter {
        Optional window: Window,
        Required select: ComputationId,
        Required scatter: ComputationId,
    }
    Send {
        Optional channel_id: Option<i64>,
        Optional is_host_transfer: bool,
    }
    SendDone {
        Optional channel_id: Option<i64>,
        Optional is_host_transfer: bool,
    }
    SetDimensionSize {
        /// The one dimension that is set.
        Required dimensions: Dims,
    }
    Slice {
        Required slice: Vec<SliceDimension>,
    }
    Sort {
        Required dimensions: Dims,
        Optional is_stable: bool,
        Required to_apply: ComputationId,
    }
    StochasticConvert {}
    TopK {
        Required k: i64,
        Printed largest: Largest,
        Optional is_stable: bool,
    }
    Transpose {
        /// Result dimension `i` is operand dimension `dimensions[i]`.
        Required dimensions: Dims,
    }
    TriangularSolve {
        Optional left_side: bool,
        Optional lower: bool,
        Optional unit_diagonal: bool,
        Printed transpose_a: TransposeKind,
    }
    Tuple {}
    While {
        Required condition: ComputationId,
        Required body: ComputationId,
    }
}

/// `constant(…)`: the literal is shared, since clones of modules and rewrites copy ops.
#[derive(Clone, PartialEq, Debug)]
pub struct Constant {
    pub literal: Arc<Literal>,
}

impl Default for Constant {
    fn default() -> Self {
        Constant { literal: Arc::new(Literal::Tuple(Vec::new())) }
    }
}

impl Constant {
    pub fn visit(&self, visitor: &mut impl AttributeVisitor) {
        visitor.attribute("literal", Presence::NotInText, &Some(self.literal.clone()));
    }

    pub fn fill<F: AttributeFiller>(&mut self, filler: &mut F) -> Result<(), F::Error> {
        let mut literal = Some(self.literal.clone());
        filler.attribute("literal", Presence::NotInText, &mut literal)?;
        if let Some(literal) = literal {
            self.literal = literal;
        }
        Ok(())
    }
}

/// `direction=LT, type=TOTALORDER`.
#[derive(Clone, PartialEq, Debug)]
pub struct Compare {
    pub direction: ComparisonDirection,
    /// Left out when it is the element type's own.
    pub comparison_type: Option<ComparisonType>,
}

impl Default for Compare {
    fn default() -> Self {
        Compare { direction: ComparisonDirection::Eq, comparison_type: None }
    }
}

impl Compare {
    pub fn visit(&self, visitor: &mut impl AttributeVisitor) {
        visitor.attribute("direction", Presence::Required, &self.direction);
        visitor.attribute("type", Presence::Optional, &self.comparison_type);
    }

    pub fn fill<F: AttributeFiller>(&mut self, filler: &mut F) -> Result<(), F::Error> {
        filler.attribute("direction", Presence::Required, &mut self.direction)?;
        filler.attribute("type", Presence::Optional, &mut self.comparison_type)
    }
}

/// A count of groups that is 1 unless given.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct GroupCount(pub i64);

impl Default for GroupCount {
    fn default() -> Self {
        GroupCount(1)
    }
}

/// Whether `topk` takes the largest elements, as it does unless told otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Largest(pub bool);

impl Default for Largest {
    fn default() -> Self {
        Largest(true)
    }
}

macro_rules! plain_attributes {
    ($($t:ty),+ $(,)?) => { $(impl Attribute for $t {
        fn is_default(&self) -> bool { *self == <$t>::default() }
    })+ };
}
plain_attributes! {
    bool, i64, f32, String, Dims, Vec<u8>, Vec<Dims>, Vec<(i64, i64)>, Option<i64>, Option<bool>,
    GroupCount, Largest,
    Window, Option<Window>, ConvolutionDimensions, Option<ConvolutionDimensions>,
    ReplicaGroups, Vec<OutputOperandAlias>, Vec<PaddingDimension>, Vec<SliceDimension>,
    Option<ResultAccuracy>, Option<DomainMetadata>, Option<SparsityConfig>,
    Option<Shape>, Option<Vec<Shape>>, Option<Arc<Literal>>,
    Vec<Precision>, Option<DotAlgorithm>, Option<ConvolutionKind>, Option<PaddingType>,
    Option<CustomCallSchedule>, Option<CustomCallApiVersion>, Option<CollectiveGroupMode>,
    ComparisonDirection, Option<ComparisonType>, FftType, FusionKind, RandomDistribution,
    RandomAlgorithm, TransposeKind,
}

macro_rules! computation_attributes {
    ($($t:ty),+ $(,)?) => { $(impl Attribute for $t {
        fn each_computation(&self, f: &mut dyn FnMut(ComputationId)) {
            self.iter().copied().for_each(f);
        }
        fn map_computations(&mut self, f: &mut dyn FnMut(ComputationId) -> ComputationId) {
            self.iter_mut().for_each(|computation| *computation = f(*computation));
        }
        fn is_default(&self) -> bool { *self == <$t>::default() }
    })+ };
}
computation_attributes! { Option<ComputationId>, Vec<ComputationId> }

impl Attribute for ComputationId {
    fn each_computation(&self, f: &mut dyn FnMut(ComputationId)) {
        f(*self);
    }
    fn map_computations(&mut self, f: &mut dyn FnMut(ComputationId) -> ComputationId) {
        *self = f(*self);
    }
    fn is_default(&self) -> bool {
        false
    }
}
