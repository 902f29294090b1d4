//! Lists of attributes for operations that are made here.

use rxla_hlo::FrontendAttributes;

use crate::mlir::{
    Attribute, AttributeKind, Attributes, EnumAttribute, EnumValue, NamedAttribute, dictionary,
};

/// Declared attributes under construction.
#[derive(Default)]
pub(super) struct Declared(pub Attributes);

impl Declared {
    pub(super) fn new() -> Declared {
        Declared::default()
    }

    #[must_use]
    pub(super) fn with(mut self, name: &'static str, value: Attribute) -> Declared {
        self.0.set(AttributeKind::Inherent, name, value);
        self
    }

    #[must_use]
    pub(super) fn maybe(self, name: &'static str, value: Option<Attribute>) -> Declared {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    #[must_use]
    pub(super) fn dims(self, name: &'static str, values: &[i64]) -> Declared {
        self.with(name, Attribute::i64_array(values))
    }

    #[must_use]
    pub(super) fn integer(self, name: &'static str, value: i64) -> Declared {
        self.with(name, Attribute::i64(value))
    }

    #[must_use]
    pub(super) fn bool(self, name: &'static str, value: bool) -> Declared {
        self.with(name, Attribute::Bool(value))
    }

    #[must_use]
    pub(super) fn enumeration(self, name: &'static str, value: EnumValue) -> Declared {
        self.with(name, Attribute::Enum(EnumAttribute::stablehlo(value)))
    }
}

/// Key and value pairs as a dictionary of strings.
pub(super) fn string_dictionary(pairs: &FrontendAttributes) -> Attribute {
    let entry = |(name, value): (&String, &String)| NamedAttribute {
        name: name.as_str().into(),
        value: Attribute::string(value.as_str()),
    };
    dictionary(pairs.iter().map(entry).collect())
}
