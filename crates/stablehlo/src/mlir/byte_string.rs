//! [`ByteString`]: MLIR's strings, which may hold any bytes.

use std::fmt;
use std::sync::Arc;

/// An immutable string of any bytes, nearly always UTF-8. Backend configurations of custom calls
/// are the usual exception.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ByteString(Arc<[u8]>);

impl ByteString {
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The string, if it is UTF-8.
    pub fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }

    /// The string with U+FFFD for what is not UTF-8.
    pub fn to_string_lossy(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.0)
    }
}

impl From<&str> for ByteString {
    fn from(text: &str) -> Self {
        ByteString(text.as_bytes().into())
    }
}
impl From<String> for ByteString {
    fn from(text: String) -> Self {
        ByteString(text.into_bytes().into())
    }
}
impl From<&[u8]> for ByteString {
    fn from(bytes: &[u8]) -> Self {
        ByteString(bytes.into())
    }
}
impl From<Vec<u8>> for ByteString {
    fn from(bytes: Vec<u8>) -> Self {
        ByteString(bytes.into())
    }
}
impl PartialEq<str> for ByteString {
    fn eq(&self, other: &str) -> bool {
        &*self.0 == other.as_bytes()
    }
}
impl PartialEq<&str> for ByteString {
    fn eq(&self, other: &&str) -> bool {
        &*self.0 == other.as_bytes()
    }
}
impl fmt::Debug for ByteString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_string_lossy(), f)
    }
}
impl fmt::Display for ByteString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.to_string_lossy(), f)
    }
}
