//! The op table: every opcode of HLO, its attributes and its number of operands.
//!
//! [`Op`] is a closed enum of structs with public fields. Elementwise functions without
//! attributes of their own are folded into [`Op::Unary`] and [`Op::Binary`]. Custom calls are the
//! extension point. Matches on `Op` have no `_` arm: a new op is a row here and then the arms the
//! compiler asks for.

mod attribute_types;
mod groups;
mod kinds;
mod structs;

pub use attribute_types::*;
pub use groups::Participants;
pub use kinds::*;
pub use structs::*;

use smallvec::SmallVec;

use crate::ComputationId;

/// How many operands an op takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arity {
    Exactly(usize),
    AtLeast(usize),
}

macro_rules! ops {
    ($($(#[$doc:meta])* $variant:ident($attributes:ty) = $name:literal / $arity:expr;)+) => {
        /// What an instruction computes, with its attributes.
        #[derive(Clone, PartialEq, Debug)]
        pub enum Op {
            Unary(Unary),
            Binary(Binary),
            $($(#[$doc])* $variant($attributes),)+
        }

        $(impl From<$attributes> for Op {
            fn from(attributes: $attributes) -> Op { Op::$variant(attributes) }
        })+

        impl Op {
            /// The opcode as HLO text spells it.
            pub fn name(&self) -> &'static str {
                match self {
                    Op::Unary(unary) => unary.kind.name(),
                    Op::Binary(binary) => binary.kind.name(),
                    $(Op::$variant(_) => $name,)+
                }
            }

            /// The op with this opcode and default attributes, to be filled in.
            pub fn from_name(name: &str) -> Option<Op> {
                if let Some(kind) = UnaryKind::from_name(name) {
                    return Some(Op::unary(kind));
                }
                if let Some(kind) = BinaryKind::from_name(name) {
                    return Some(Op::binary(kind));
                }
                match name {
                    $($name => Some(Op::$variant(<$attributes>::default())),)+
                    _ => None,
                }
            }

            pub fn arity(&self) -> Arity {
                match self {
                    Op::Unary(_) => Arity::Exactly(1),
                    Op::Binary(_) => Arity::Exactly(2),
                    $(Op::$variant(_) => $arity,)+
                }
            }

            /// Shows each attribute, in the order in which text prints them.
            pub fn visit(&self, visitor: &mut impl AttributeVisitor) {
                match self {
                    Op::Unary(unary) => unary.visit(visitor),
                    Op::Binary(_) => {}
                    $(Op::$variant(attributes) => attributes.visit(visitor),)+
                }
            }

            /// Lets `filler` set each attribute.
            pub fn fill<F: AttributeFiller>(&mut self, filler: &mut F) -> Result<(), F::Error> {
                match self {
                    Op::Unary(unary) => unary.fill(filler),
                    Op::Binary(_) => Ok(()),
                    $(Op::$variant(attributes) => attributes.fill(filler),)+
                }
            }

            /// Every opcode, in text form.
            pub fn all_names() -> Vec<&'static str> {
                let mut names: Vec<&'static str> = vec![$($name,)+];
                names.extend(UnaryKind::ALL.iter().map(|kind| kind.name()));
                names.extend(BinaryKind::ALL.iter().map(|kind| kind.name()));
                names.sort_unstable();
                names
            }
        }
    };
}

use Arity::{AtLeast, Exactly};

ops! {
    AddDependency(AddDependency) = "add-dependency" / Exactly(2);
    AfterAll(AfterAll) = "after-all" / AtLeast(0);
    AllGather(AllGather) = "all-gather" / AtLeast(1);
    AllGatherStart(AllGatherStart) = "all-gather-start" / AtLeast(1);
    AllGatherDone(AllGatherDone) = "all-gather-done" / Exactly(1);
    AllReduce(AllReduce) = "all-reduce" / AtLeast(1);
    AllReduceStart(AllReduceStart) = "all-reduce-start" / AtLeast(1);
    AllReduceDone(AllReduceDone) = "all-reduce-done" / Exactly(1);
    AllToAll(AllToAll) = "all-to-all" / AtLeast(1);
    AsyncStart(AsyncStart) = "async-start" / AtLeast(0);
    AsyncUpdate(AsyncUpdate) = "async-update" / Exactly(1);
    AsyncDone(AsyncDone) = "async-done" / Exactly(1);
    BatchNormGrad(BatchNormGrad) = "batch-norm-grad" / Exactly(5);
    BatchNormInference(BatchNormInference) = "batch-norm-inference" / Exactly(5);
    BatchNormTraining(BatchNormTraining) = "batch-norm-training" / Exactly(3);
    /// A reinterpretation of the same bytes under another layout; made by compilers only.
    Bitcast(Bitcast) = "bitcast" / Exactly(1);
    BitcastConvert(BitcastConvert) = "bitcast-convert" / Exactly(1);
    Broadcast(Broadcast) = "broadcast" / Exactly(1);
    Call(Call) = "call" / AtLeast(0);
    Cholesky(Cholesky) = "cholesky" / Exactly(1);
    Clamp(Clamp) = "clamp" / Exactly(3);
    CollectiveBroadcast(CollectiveBroadcast) = "collective-broadcast" / AtLeast(1);
    CollectivePermute(CollectivePermute) = "collective-permute" / AtLeast(1);
    CollectivePermuteStart(CollectivePermuteStart) = "collective-permute-start" / AtLeast(1);
    CollectivePermuteDone(CollectivePermuteDone) = "collective-permute-done" / Exactly(1);
    Compare(Compare) = "compare" / Exactly(2);
    Concatenate(Concatenate) = "concatenate" / AtLeast(1);
    Conditional(Conditional) = "conditional" / AtLeast(2);
    Constant(Constant) = "constant" / Exactly(0);
    Convert(Convert) = "convert" / Exactly(1);
    Convolution(Box<Convolution>) = "convolution" / Exactly(2);
    Copy(Copy_) = "copy" / Exactly(1);
    CopyStart(CopyStart) = "copy-start" / Exactly(1);
    CopyDone(CopyDone) = "copy-done" / Exactly(1);
    CustomCall(Box<CustomCall>) = "custom-call" / AtLeast(0);
    Domain(Domain) = "domain" / Exactly(1);
    Dot(Box<Dot>) = "dot" / Exactly(2);
    DynamicReshape(DynamicReshape) = "dynamic-reshape" / AtLeast(1);
    DynamicSlice(DynamicSlice) = "dynamic-slice" / AtLeast(1);
    DynamicUpdateSlice(DynamicUpdateSlice) = "dynamic-update-slice" / AtLeast(2);
    Fft(Fft) = "fft" / Exactly(1);
    Fusion(Fusion) = "fusion" / AtLeast(0);
    Gather(Box<Gather>) = "gather" / Exactly(2);
    GetDimensionSize(GetDimensionSize) = "get-dimension-size" / Exactly(1);
    GetTupleElement(GetTupleElement) = "get-tuple-element" / Exactly(1);
    Infeed(Infeed) = "infeed" / Exactly(1);
    Iota(Iota) = "iota" / Exactly(0);
    Map(Map) = "map" / AtLeast(1);
    OptimizationBarrier(OptimizationBarrier) = "opt-barrier" / Exactly(1);
    Outfeed(Outfeed) = "outfeed" / Exactly(2);
    Pad(Pad) = "pad" / Exactly(2);
    Parameter(Parameter) = "parameter" / Exactly(0);
    PartitionId(PartitionId) = "partition-id" / Exactly(0);
    RaggedAllToAll(RaggedAllToAll) = "ragged-all-to-all" / Exactly(6);
    RaggedDot(Box<RaggedDot>) = "ragged-dot" / Exactly(3);
    Recv(Recv) = "recv" / Exactly(1);
    RecvDone(RecvDone) = "recv-done" / Exactly(1);
    Reduce(Reduce) = "reduce" / AtLeast(2);
    ReducePrecision(ReducePrecision) = "reduce-precision" / Exactly(1);
    ReduceScatter(ReduceScatter) = "reduce-scatter" / AtLeast(1);
    ReduceWindow(ReduceWindow) = "reduce-window" / AtLeast(2);
    ReplicaId(ReplicaId) = "replica-id" / Exactly(0);
    Reshape(Reshape) = "reshape" / Exactly(1);
    Reverse(Reverse) = "reverse" / Exactly(1);
    Rng(Rng) = "rng" / AtLeast(0);
    RngBitGenerator(RngBitGenerator) = "rng-bit-generator" / Exactly(1);
    RngGetAndUpdateState(RngGetAndUpdateState) = "rng-get-and-update-state" / Exactly(0);
    ScaledDot(Box<ScaledDot>) = "scaled-dot" / Exactly(4);
    Scan(Scan) = "scan" / AtLeast(0);
    Scatter(Box<Scatter>) = "scatter" / AtLeast(3);
    Select(Select) = "select" / Exactly(3);
    SelectAndScatter(SelectAndScatter) = "select-and-scatter" / Exactly(3);
    Send(Send) = "send" / Exactly(2);
    SendDone(SendDone) = "send-done" / Exactly(1);
    SetDimensionSize(SetDimensionSize) = "set-dimension-size" / Exactly(2);
    Slice(Slice) = "slice" / Exactly(1);
    Sort(Sort) = "sort" / AtLeast(1);
    StochasticConvert(StochasticConvert) = "stochastic-convert" / Exactly(2);
    TopK(TopK) = "topk" / Exactly(1);
    Transpose(Transpose) = "transpose" / Exactly(1);
    TriangularSolve(TriangularSolve) = "triangular-solve" / Exactly(2);
    Tuple(Tuple) = "tuple" / AtLeast(0);
    While(While) = "while" / Exactly(1);
}

const _: () = assert!(size_of::<Op>() <= 168, "box the large attribute structs");

impl Op {
    pub fn unary(kind: UnaryKind) -> Op {
        Op::Unary(Unary { kind, result_accuracy: None })
    }

    pub fn binary(kind: BinaryKind) -> Op {
        Op::Binary(Binary { kind })
    }

    pub fn compare(direction: ComparisonDirection) -> Op {
        Op::Compare(Compare { direction, comparison_type: None })
    }

    pub fn tuple() -> Op {
        Op::Tuple(Tuple {})
    }

    pub fn get_tuple_element(index: i64) -> Op {
        Op::GetTupleElement(GetTupleElement { index })
    }

    pub fn broadcast(dimensions: impl IntoIterator<Item = i64>) -> Op {
        Op::Broadcast(Broadcast { dimensions: dimensions.into_iter().collect() })
    }

    pub fn constant(literal: impl Into<crate::Literal>) -> Op {
        Op::Constant(Constant { literal: std::sync::Arc::new(literal.into()) })
    }

    pub fn parameter(number: i64) -> Op {
        Op::Parameter(Parameter { number })
    }

    /// The computations this op calls, in the order of its attributes.
    pub fn called_computations(&self) -> SmallVec<[ComputationId; 2]> {
        struct Collect(SmallVec<[ComputationId; 2]>);
        impl AttributeVisitor for Collect {
            fn attribute<T: Attribute>(&mut self, _: &'static str, _: Presence, value: &T) {
                value.each_computation(&mut |computation| self.0.push(computation));
            }
        }
        let mut collect = Collect(SmallVec::new());
        self.visit(&mut collect);
        collect.0
    }

    /// Replaces every called computation by what `f` gives for it.
    pub fn map_computations(&mut self, f: &mut dyn FnMut(ComputationId) -> ComputationId) {
        struct Replace<'a>(&'a mut dyn FnMut(ComputationId) -> ComputationId);
        impl AttributeFiller for Replace<'_> {
            type Error = std::convert::Infallible;
            fn attribute<T: Attribute>(
                &mut self,
                _: &'static str,
                _: Presence,
                value: &mut T,
            ) -> Result<(), Self::Error> {
                value.map_computations(self.0);
                Ok(())
            }
        }
        let Ok(()) = self.fill(&mut Replace(f));
    }

    /// Whether the op computes each output element from the same element of its operands.
    pub fn is_elementwise(&self) -> bool {
        matches!(
            self,
            Op::Unary(_)
                | Op::Binary(_)
                | Op::Clamp(_)
                | Op::Compare(_)
                | Op::Convert(_)
                | Op::Copy(_)
                | Op::Map(_)
                | Op::ReducePrecision(_)
                | Op::Select(_)
                | Op::StochasticConvert(_)
        )
    }

    /// Whether operands 0 and 1 may be exchanged (XLA's set).
    pub fn is_commutative(&self) -> bool {
        use BinaryKind::{Add, And, Maximum, Minimum, Mulhi, Multiply, Or, Xor};
        matches!(
            self,
            Op::Binary(Binary {
                kind: Add | And | Maximum | Minimum | Mulhi | Multiply | Or | Xor
            })
        )
    }

    /// Whether devices exchange values in the op, all those of a group at once.
    pub fn is_collective(&self) -> bool {
        matches!(
            self,
            Op::AllGather(_)
                | Op::AllGatherStart(_)
                | Op::AllReduce(_)
                | Op::AllReduceStart(_)
                | Op::AllToAll(_)
                | Op::CollectiveBroadcast(_)
                | Op::CollectivePermute(_)
                | Op::CollectivePermuteStart(_)
                | Op::RaggedAllToAll(_)
                | Op::ReduceScatter(_)
        )
    }

    /// Whether the op does something besides computing its result, or gives another result each
    /// time, so that it may be neither removed, merged nor reordered freely.
    pub fn has_side_effect(&self) -> bool {
        match self {
            Op::CustomCall(call) => call.custom_call_has_side_effect,
            Op::AllGatherStart(_)
            | Op::AllGatherDone(_)
            | Op::AllReduceStart(_)
            | Op::AllReduceDone(_)
            | Op::CollectivePermuteStart(_)
            | Op::CollectivePermuteDone(_)
            | Op::Infeed(_)
            | Op::Outfeed(_)
            | Op::Recv(_)
            | Op::RecvDone(_)
            | Op::Rng(_)
            | Op::RngGetAndUpdateState(_)
            | Op::Send(_)
            | Op::SendDone(_) => true,
            Op::AllGather(_)
            | Op::AllReduce(_)
            | Op::AllToAll(_)
            | Op::CollectiveBroadcast(_)
            | Op::CollectivePermute(_)
            | Op::RaggedAllToAll(_)
            | Op::ReduceScatter(_) => self.channel_id().is_some(),
            Op::Unary(_)
            | Op::Binary(_)
            | Op::AddDependency(_)
            | Op::AfterAll(_)
            | Op::AsyncStart(_)
            | Op::AsyncUpdate(_)
            | Op::AsyncDone(_)
            | Op::BatchNormGrad(_)
            | Op::BatchNormInference(_)
            | Op::BatchNormTraining(_)
            | Op::Bitcast(_)
            | Op::BitcastConvert(_)
            | Op::Broadcast(_)
            | Op::Call(_)
            | Op::Cholesky(_)
            | Op::Clamp(_)
            | Op::Compare(_)
            | Op::Concatenate(_)
            | Op::Conditional(_)
            | Op::Constant(_)
            | Op::Convert(_)
            | Op::Convolution(_)
            | Op::Copy(_)
            | Op::CopyStart(_)
            | Op::CopyDone(_)
            | Op::Domain(_)
            | Op::Dot(_)
            | Op::DynamicReshape(_)
            | Op::DynamicSlice(_)
            | Op::DynamicUpdateSlice(_)
            | Op::Fft(_)
            | Op::Fusion(_)
            | Op::Gather(_)
            | Op::GetDimensionSize(_)
            | Op::GetTupleElement(_)
            | Op::Iota(_)
            | Op::Map(_)
            | Op::OptimizationBarrier(_)
            | Op::Pad(_)
            | Op::Parameter(_)
            | Op::PartitionId(_)
            | Op::RaggedDot(_)
            | Op::Reduce(_)
            | Op::ReducePrecision(_)
            | Op::ReduceWindow(_)
            | Op::ReplicaId(_)
            | Op::Reshape(_)
            | Op::Reverse(_)
            | Op::RngBitGenerator(_)
            | Op::ScaledDot(_)
            | Op::Scan(_)
            | Op::Scatter(_)
            | Op::Select(_)
            | Op::SelectAndScatter(_)
            | Op::SetDimensionSize(_)
            | Op::Slice(_)
            | Op::Sort(_)
            | Op::StochasticConvert(_)
            | Op::TopK(_)
            | Op::Transpose(_)
            | Op::TriangularSolve(_)
            | Op::Tuple(_)
            | Op::While(_) => false,
        }
    }
}
