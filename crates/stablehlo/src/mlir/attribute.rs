//! [`Attribute`]: builtin attributes and the typed ones of StableHLO, CHLO and Shardy.

use std::sync::Arc;

use super::stablehlo as attrs;
use super::{
    ByteString, DenseArray, DenseElements, DenseResource, DenseStrings, EnumAttribute, Float,
    Location, Opaque, SdyAttribute, Type,
};

/// An attribute. Clones share their parts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Attribute {
    Unit,
    /// `true` or `false`, which in MLIR is an `i1` integer.
    Bool(bool),
    /// An integer of at most 64 bits, never of type `i1` (that is [`Attribute::Bool`]). The value
    /// is sign-extended for signless and signed types and for `index`, zero-extended for
    /// unsigned ones; a `ui64` above `i64::MAX` therefore shows as negative.
    Integer {
        ty: Type,
        value: i64,
    },
    /// A float of at most 64 bits, as the bits of its own format.
    Float {
        ty: Float,
        bits: u64,
    },
    String(ByteString),
    /// A string with a type other than none: `"text" : type`.
    TypedString(Arc<(ByteString, Type)>),
    SymbolRef(Arc<SymbolRef>),
    Type(Type),
    Array(Arc<[Attribute]>),
    /// Sorted by name, without duplicates; make it with [`dictionary`].
    Dictionary(Arc<[NamedAttribute]>),
    DenseElements(Arc<DenseElements>),
    DenseStrings(Arc<DenseStrings>),
    DenseArray(DenseArray),
    DenseResource(Arc<DenseResource>),
    /// A location used as an attribute.
    Location(Location),

    /// `#stablehlo<comparison_direction EQ>` and its kin, also CHLO's.
    Enum(EnumAttribute),
    ScatterDimensionNumbers(Arc<attrs::ScatterDimensionNumbers>),
    GatherDimensionNumbers(Arc<attrs::GatherDimensionNumbers>),
    DotDimensionNumbers(Arc<attrs::DotDimensionNumbers>),
    DotAlgorithm(Arc<attrs::DotAlgorithm>),
    ConvDimensionNumbers(Arc<attrs::ConvDimensionNumbers>),
    /// CHLO's `#chlo.ragged_dot<…>`.
    RaggedDotDimensionNumbers(Arc<attrs::RaggedDotDimensionNumbers>),
    OutputOperandAlias(Arc<attrs::OutputOperandAlias>),
    /// `#stablehlo.channel_handle<handle = 1, type = 2>`.
    ChannelHandle {
        handle: i64,
        ty: i64,
    },
    /// `#stablehlo.bounds<?, 4>`: sizes that dynamic dimensions cannot exceed,
    /// [`super::DYNAMIC`] where there is no bound.
    TypeExtensions(Arc<[i64]>),
    ResultAccuracy(Arc<attrs::ResultAccuracy>),
    ReplicaGroupMeshAxes(Arc<attrs::ReplicaGroupMeshAxes>),
    /// `#stablehlo.mesh<…>`.
    Mesh(Arc<attrs::Mesh>),
    MeshAxis(Arc<attrs::MeshAxis>),
    AxisRef(Arc<attrs::AxisRef>),
    SubAxisInfo(attrs::SubAxisInfo),

    /// Shardy's.
    Sdy(Arc<SdyAttribute>),

    /// Any other attribute, as text.
    Opaque(Arc<Opaque>),
}

/// An entry of a dictionary.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NamedAttribute {
    pub name: ByteString,
    pub value: Attribute,
}

/// `@root` or `@root::@nested::…`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SymbolRef {
    pub root: ByteString,
    pub nested: Vec<ByteString>,
}

/// A dictionary attribute: sorts the entries and, of entries with the same name, keeps the last.
pub fn dictionary(mut entries: Vec<NamedAttribute>) -> Attribute {
    // Stable, so the last of equal names is the last given.
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    let mut kept: Vec<NamedAttribute> = Vec::with_capacity(entries.len());
    for entry in entries {
        match kept.last_mut() {
            Some(last) if last.name == entry.name => *last = entry,
            _ => kept.push(entry),
        }
    }
    Attribute::Dictionary(kept.into())
}

impl Attribute {
    /// `value : i64`.
    pub fn i64(value: i64) -> Attribute {
        Attribute::Integer { ty: Type::I64, value }
    }

    /// `value : i32`.
    pub fn i32(value: i32) -> Attribute {
        Attribute::Integer { ty: Type::I32, value: value.into() }
    }

    pub fn f32(value: f32) -> Attribute {
        Attribute::Float { ty: Float::F32, bits: value.to_bits().into() }
    }

    pub fn f64(value: f64) -> Attribute {
        Attribute::Float { ty: Float::F64, bits: value.to_bits() }
    }

    pub fn string(text: impl Into<ByteString>) -> Attribute {
        Attribute::String(text.into())
    }

    /// `@name`.
    pub fn symbol(name: impl Into<ByteString>) -> Attribute {
        Attribute::SymbolRef(Arc::new(SymbolRef { root: name.into(), nested: Vec::new() }))
    }

    pub fn array(items: Vec<Attribute>) -> Attribute {
        Attribute::Array(items.into())
    }

    /// `array<i64: …>`.
    pub fn i64_array(values: impl Into<Arc<[i64]>>) -> Attribute {
        Attribute::DenseArray(DenseArray::I64(values.into()))
    }

    /// `array<i1: …>`.
    pub fn bool_array(values: impl Into<Arc<[bool]>>) -> Attribute {
        Attribute::DenseArray(DenseArray::I1(values.into()))
    }

    pub fn opaque(dialect: impl Into<ByteString>, text: impl Into<ByteString>) -> Attribute {
        Attribute::Opaque(Arc::new(Opaque { dialect: dialect.into(), text: text.into() }))
    }

    pub fn sdy(attribute: SdyAttribute) -> Attribute {
        Attribute::Sdy(Arc::new(attribute))
    }

    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Attribute::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// The value of an integer of any type but `i1`.
    pub fn as_integer(&self) -> Option<i64> {
        match self {
            Attribute::Integer { value, .. } => Some(*value),
            _ => None,
        }
    }

    pub fn as_string(&self) -> Option<&ByteString> {
        match self {
            Attribute::String(text) => Some(text),
            _ => None,
        }
    }

    /// The string, if it is one and is UTF-8.
    pub fn as_str(&self) -> Option<&str> {
        self.as_string()?.as_str()
    }

    pub fn as_type(&self) -> Option<&Type> {
        match self {
            Attribute::Type(ty) => Some(ty),
            _ => None,
        }
    }

    pub fn as_array(&self) -> Option<&[Attribute]> {
        match self {
            Attribute::Array(items) => Some(items),
            _ => None,
        }
    }

    pub fn as_dictionary(&self) -> Option<&[NamedAttribute]> {
        match self {
            Attribute::Dictionary(entries) => Some(entries),
            _ => None,
        }
    }

    /// The entry of a dictionary with this name.
    pub fn entry(&self, name: &str) -> Option<&Attribute> {
        let entries = self.as_dictionary()?;
        let at =
            entries.binary_search_by(|entry| entry.name.as_bytes().cmp(name.as_bytes())).ok()?;
        Some(&entries[at].value)
    }

    /// The name in `@name`, without nested names.
    pub fn as_flat_symbol(&self) -> Option<&ByteString> {
        match self {
            Attribute::SymbolRef(symbol) if symbol.nested.is_empty() => Some(&symbol.root),
            _ => None,
        }
    }

    /// The numbers in `array<i64: …>`.
    pub fn as_i64_array(&self) -> Option<&[i64]> {
        match self {
            Attribute::DenseArray(DenseArray::I64(values)) => Some(values),
            _ => None,
        }
    }

    /// The truth values in `array<i1: …>`.
    pub fn as_bool_array(&self) -> Option<&[bool]> {
        match self {
            Attribute::DenseArray(DenseArray::I1(values)) => Some(values),
            _ => None,
        }
    }

    pub fn as_dense_elements(&self) -> Option<&DenseElements> {
        match self {
            Attribute::DenseElements(elements) => Some(elements),
            _ => None,
        }
    }
}
