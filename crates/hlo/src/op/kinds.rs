//! The named alternatives that attributes choose between, with their spellings in HLO text and
//! their numbers in XLA's protos.

/// Lists enums whose values have a text name and a proto number.
macro_rules! named_enums {
    ($($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal / $number:literal),+ $(,)? })+) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum $name { $($(#[$vdoc])* $variant,)+ }

        impl $name {
            pub const ALL: &[$name] = &[$($name::$variant,)+];

            /// The spelling in HLO text.
            pub const fn name(self) -> &'static str {
                match self { $($name::$variant => $text,)+ }
            }

            pub fn from_name(name: &str) -> Option<$name> {
                match name { $($text => Some($name::$variant),)+ _ => None }
            }

            pub const fn proto_number(self) -> i32 {
                match self { $($name::$variant => $number,)+ }
            }

            pub const fn from_proto_number(number: i32) -> Option<$name> {
                match number { $($number => Some($name::$variant),)+ _ => None }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    )+ };
}

/// What a required attribute holds until a reader has filled it, and what protos mean by 0.
macro_rules! defaults {
    ($($name:ident = $variant:ident),+ $(,)?) => { $(
        impl Default for $name {
            fn default() -> Self { $name::$variant }
        }
    )+ };
}
defaults! {
    ComparisonDirection = Eq, FftType = Fft, FusionKind = Loop, RandomDistribution = Uniform,
    RandomAlgorithm = Default, TransposeKind = NoTranspose,
}

named_enums! {
    /// Elementwise functions of one operand whose only attribute is `result_accuracy`. The proto
    /// says them by name; the numbers here only count them.
    UnaryKind {
        Abs = "abs" / 0, Acos = "acos" / 1, Acosh = "acosh" / 2, Asin = "asin" / 3,
        Asinh = "asinh" / 4, Atanh = "atanh" / 5, Cbrt = "cbrt" / 6, Ceil = "ceil" / 7,
        Cos = "cosine" / 8, Cosh = "cosh" / 9, CountLeadingZeros = "count-leading-zeros" / 10,
        Erf = "erf" / 11, Exp = "exponential" / 12, Expm1 = "exponential-minus-one" / 13,
        Floor = "floor" / 14, Imag = "imag" / 15, IsFinite = "is-finite" / 16, Log = "log" / 17,
        Log1p = "log-plus-one" / 18, Logistic = "logistic" / 19, Negate = "negate" / 20,
        Not = "not" / 21, PopulationCount = "popcnt" / 22, Real = "real" / 23,
        RoundNearestAfz = "round-nearest-afz" / 24, RoundNearestEven = "round-nearest-even" / 25,
        Rsqrt = "rsqrt" / 26, Sign = "sign" / 27, Sin = "sine" / 28, Sinh = "sinh" / 29,
        Sqrt = "sqrt" / 30, Tan = "tan" / 31, Tanh = "tanh" / 32,
    }
    /// Elementwise functions of two operands without attributes.
    BinaryKind {
        Add = "add" / 0, And = "and" / 1, Atan2 = "atan2" / 2, Complex = "complex" / 3,
        Divide = "divide" / 4, Maximum = "maximum" / 5, Minimum = "minimum" / 6,
        Mulhi = "mulhi" / 7, Multiply = "multiply" / 8, Or = "or" / 9, Power = "power" / 10,
        Remainder = "remainder" / 11, ShiftLeft = "shift-left" / 12,
        ShiftRightArithmetic = "shift-right-arithmetic" / 13,
        ShiftRightLogical = "shift-right-logical" / 14, Subtract = "subtract" / 15,
        Xor = "xor" / 16,
    }
    ComparisonDirection {
        Eq = "EQ" / 0, Ne = "NE" / 1, Ge = "GE" / 2, Gt = "GT" / 3, Le = "LE" / 4, Lt = "LT" / 5,
    }
    ComparisonType {
        Float = "FLOAT" / 0,
        /// IEEE 754 totalOrder: -NaN < -inf < … < -0 < +0 < … < inf < NaN.
        TotalOrder = "TOTALORDER" / 1,
        Signed = "SIGNED" / 2, Unsigned = "UNSIGNED" / 3,
    }
    FftType { Fft = "FFT" / 0, Ifft = "IFFT" / 1, Rfft = "RFFT" / 2, Irfft = "IRFFT" / 3 }
    /// What triangular-solve does with its matrix first.
    TransposeKind {
        NoTranspose = "NO_TRANSPOSE" / 1, Transpose = "TRANSPOSE" / 2, Adjoint = "ADJOINT" / 3,
    }
    RandomDistribution { Uniform = "rng_uniform" / 1, Normal = "rng_normal" / 2 }
    RandomAlgorithm {
        Default = "rng_default" / 0, ThreeFry = "rng_three_fry" / 1, Philox = "rng_philox" / 2,
    }
    Precision { Default = "default" / 0, High = "high" / 1, Highest = "highest" / 2 }
    /// Input, accumulation and number of passes asked of a dot.
    DotAlgorithm {
        Unset = "dot_unset" / 0,
        AnyF8AnyF8F32 = "dot_any_f8_any_f8_f32" / 1,
        AnyF8AnyF8F32FastAccum = "dot_any_f8_any_f8_f32_fast_accum" / 2,
        F16F16F16 = "dot_f16_f16_f16" / 3, F16F16F32 = "dot_f16_f16_f32" / 4,
        Bf16Bf16Bf16 = "dot_bf16_bf16_bf16" / 5, Bf16Bf16F32 = "dot_bf16_bf16_f32" / 6,
        Bf16Bf16F32X3 = "dot_bf16_bf16_f32_x3" / 7, Bf16Bf16F32X6 = "dot_bf16_bf16_f32_x6" / 8,
        Bf16Bf16F32X9 = "dot_bf16_bf16_f32_x9" / 13,
        Tf32Tf32F32 = "dot_tf32_tf32_f32" / 9, Tf32Tf32F32X3 = "dot_tf32_tf32_f32_x3" / 10,
        F32F32F32 = "dot_f32_f32_f32" / 11, F64F64F64 = "dot_f64_f64_f64" / 12,
    }
    /// Fusions are numbered only for hashing; the proto says the name.
    FusionKind {
        Loop = "kLoop" / 0, Input = "kInput" / 1, Output = "kOutput" / 2, Custom = "kCustom" / 3,
    }
    CustomCallSchedule {
        None = "SCHEDULE_NONE" / 0, Latest = "SCHEDULE_LATEST" / 1,
        Earliest = "SCHEDULE_EARLIEST" / 2,
    }
    CustomCallApiVersion {
        Unspecified = "API_VERSION_UNSPECIFIED" / 0, Original = "API_VERSION_ORIGINAL" / 1,
        StatusReturning = "API_VERSION_STATUS_RETURNING" / 2,
        StatusReturningUnified = "API_VERSION_STATUS_RETURNING_UNIFIED" / 3,
        TypedFfi = "API_VERSION_TYPED_FFI" / 4,
    }
    PaddingType {
        Invalid = "PADDING_INVALID" / 0, Valid = "PADDING_VALID" / 1, Same = "PADDING_SAME" / 2,
    }
    ConvolutionKind { Unset = "unset" / 0, Fprop = "fprop" / 1, Dgrad = "dgrad" / 2, Wgrad = "wgrad" / 3 }
    /// How replica groups of a collective are read.
    CollectiveGroupMode {
        CrossReplica = "cross_replica" / 1, CrossPartition = "cross_partition" / 2,
        CrossReplicaAndPartition = "cross_replica_and_partition" / 3,
        FlattenedId = "flattened_id" / 4,
    }
}

impl ComparisonType {
    /// How an element type compares when nothing is said.
    pub const fn of(element_type: crate::ElementType) -> ComparisonType {
        match element_type.class() {
            crate::TypeClass::Signed => ComparisonType::Signed,
            crate::TypeClass::Pred | crate::TypeClass::Unsigned => ComparisonType::Unsigned,
            crate::TypeClass::Float | crate::TypeClass::Complex => ComparisonType::Float,
        }
    }
}
