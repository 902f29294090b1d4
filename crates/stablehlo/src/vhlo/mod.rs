//! VHLO, the dialect in which StableHLO programs are stored so that older and newer programs read each
//! other: every operation carries a version in its name and all its attributes.
//!
//! [`upgrade()`] turns a module of any version since 0.9 into StableHLO, [`lower()`] goes the other way.

mod lower;
mod ops;
mod required;
mod upgrade;

use std::fmt;

pub(crate) use lower::is_versioned_value;
pub use lower::lower;
pub use ops::{VersionedOp, op_at_version, versioned_op};
pub use required::required_version;
pub use upgrade::upgrade;

/// A version of VHLO; patch numbers never matter.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Version {
    pub major: u16,
    pub minor: u16,
}

impl Version {
    /// The oldest that is read.
    pub const MINIMUM: Version = Version::new(0, 9);
    /// The newest that is read.
    pub const CURRENT: Version = Version::new(1, 20);

    pub const fn new(major: u16, minor: u16) -> Version {
        Version { major, minor }
    }

    /// The version of MLIR bytecode that programs of this version are stored in.
    pub fn bytecode_version(self) -> u64 {
        match (self.major, self.minor) {
            (0, ..10) => 0,
            (0, 10..12) => 1,
            (0, 12..14) => 3,
            (0, 14) => 4,
            _ => 6,
        }
    }

    /// Reads `1.17.0`, `1.17` or `StableHLO_v1.17.0`, as producers spell it.
    pub fn parse(text: &str) -> Option<Version> {
        let text = text.strip_prefix("StableHLO_v").unwrap_or(text);
        let mut parts = text.split('.');
        let major = parts.next()?.parse().ok()?;
        let minor = parts.next()?.parse().ok()?;
        if let Some(patch) = parts.next() {
            patch.parse::<u16>().ok()?;
        }
        parts.next().is_none().then_some(Version { major, minor })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.0", self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        assert_eq!(Version::parse("StableHLO_v1.13.7"), Some(Version::new(1, 13)));
        assert_eq!(Version::parse("1.17"), Some(Version::new(1, 17)));
        assert_eq!(Version::parse("1.17.x"), None);
        assert_eq!(Version::parse("MLIR23"), None);
    }
}
