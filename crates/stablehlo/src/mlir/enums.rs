//! StableHLO's and CHLO's enumerations, with the names and numbers that text and VHLO share.

macro_rules! enums {
    ($($(#[$doc:meta])* $name:ident $kind:literal { $($case:ident $spelling:literal $number:literal,)* })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
            pub enum $name { $($case = $number,)* }

            impl $name {
                pub const ALL: &[$name] = &[$($name::$case,)*];

                /// The spelling in text.
                pub fn name(self) -> &'static str {
                    match self { $($name::$case => $spelling,)* }
                }

                pub fn from_name(name: &str) -> Option<$name> {
                    match name { $($spelling => Some($name::$case),)* _ => None }
                }

                /// The number in bytecode.
                pub fn number(self) -> u32 {
                    self as u32
                }

                pub fn from_number(number: u64) -> Option<$name> {
                    match number { $($number => Some($name::$case),)* _ => None }
                }
            }
        )*

        /// A value of any of the enumerations.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum EnumValue { $($name($name),)* }

        impl EnumValue {
            /// The enumeration's name in text, such as `comparison_direction`.
            pub fn kind(self) -> &'static str {
                match self { $(EnumValue::$name(_) => $kind,)* }
            }

            /// The value's name, such as `EQ`.
            pub fn name(self) -> &'static str {
                match self { $(EnumValue::$name(value) => value.name(),)* }
            }

            /// Whether there is an enumeration of this name.
            pub fn is_kind(kind: &str) -> bool {
                [$($kind,)*].contains(&kind)
            }

            /// The names of an enumeration's values.
            pub fn names(kind: &str) -> &'static [&'static str] {
                match kind { $($kind => &[$($spelling,)*],)* _ => &[] }
            }

            pub fn from_names(kind: &str, name: &str) -> Option<EnumValue> {
                match kind {
                    $($kind => $name::from_name(name).map(EnumValue::$name),)*
                    _ => None,
                }
            }
        }
    };
}

enums! {
    ComparisonDirection "comparison_direction" {
        Eq "EQ" 0, Ne "NE" 1, Ge "GE" 2, Gt "GT" 3, Le "LE" 4, Lt "LT" 5,
    }
    ComparisonType "comparison_type" {
        NoType "NOTYPE" 0, Float "FLOAT" 1, TotalOrder "TOTALORDER" 2, Signed "SIGNED" 3,
        Unsigned "UNSIGNED" 4,
    }
    Precision "precision" {
        Default "DEFAULT" 0, High "HIGH" 1, Highest "HIGHEST" 2,
    }
    FftType "fft_type" {
        Fft "FFT" 0, Ifft "IFFT" 1, Rfft "RFFT" 2, Irfft "IRFFT" 3,
    }
    Transpose "transpose" {
        Invalid "TRANSPOSE_INVALID" 0, NoTranspose "NO_TRANSPOSE" 1, Transpose "TRANSPOSE" 2,
        Adjoint "ADJOINT" 3,
    }
    RngAlgorithm "rng_algorithm" {
        Default "DEFAULT" 0, ThreeFry "THREE_FRY" 1, Philox "PHILOX" 2,
    }
    RngDistribution "rng_distribution" {
        Uniform "UNIFORM" 1, Normal "NORMAL" 2,
    }
    ResultAccuracyMode "result_accuracy_mode" {
        Default "DEFAULT" 0, Highest "HIGHEST" 1, Tolerance "TOLERANCE" 2,
    }
    /// In StableHLO an `i32` integer attribute, an enumeration only in VHLO.
    CustomCallApiVersion "api_version" {
        Unspecified "API_VERSION_UNSPECIFIED" 0, Original "API_VERSION_ORIGINAL" 1,
        StatusReturning "API_VERSION_STATUS_RETURNING" 2,
        StatusReturningUnified "API_VERSION_STATUS_RETURNING_UNIFIED" 3,
        TypedFfi "API_VERSION_TYPED_FFI" 4,
    }
}

/// The dialect that an enumeration belongs to; CHLO has its own comparison and precision ones.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum EnumDialect {
    Stablehlo,
    Chlo,
}

/// `#stablehlo<comparison_direction EQ>`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct EnumAttribute {
    pub dialect: EnumDialect,
    pub value: EnumValue,
}

impl EnumDialect {
    pub fn name(self) -> &'static str {
        match self {
            EnumDialect::Stablehlo => "stablehlo",
            EnumDialect::Chlo => "chlo",
        }
    }
}

impl EnumAttribute {
    /// An attribute of the dialect `stablehlo`.
    pub fn stablehlo(value: EnumValue) -> EnumAttribute {
        EnumAttribute { dialect: EnumDialect::Stablehlo, value }
    }
}
