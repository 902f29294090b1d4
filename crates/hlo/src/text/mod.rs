//! HLO text: printing and parsing.

/// How an attribute's value is written after `name=`.
pub trait AttributeText: Sized {}

impl<T> AttributeText for T {}
