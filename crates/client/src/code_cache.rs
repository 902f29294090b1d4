//! Where compiled code, and what else is dear to make, is kept for the next process.

use std::path::PathBuf;

#[cfg(feature = "cpu")]
use rxla_cpu::DiskCache;

/// A directory of compiled code, bounded in size. Clones are the same one.
#[derive(Clone, Debug)]
pub struct CodeCache {
    #[cfg(feature = "cpu")]
    pub(crate) disk: DiskCache,
}

#[cfg(feature = "cpu")]
impl CodeCache {
    /// A cache in a directory, made when needed, that takes up to `bound` bytes.
    pub fn new(directory: impl Into<PathBuf>, bound: u64) -> CodeCache {
        CodeCache { disk: DiskCache::new(directory, bound) }
    }

    /// What was kept under a name by this build of rxla.
    pub fn recall(&self, name: &[&[u8]]) -> Option<Vec<u8>> {
        self.disk.get(&rxla_cpu::program_key(name)?)
    }

    /// Keeps bytes under a name that says all that they depend on but for the build of rxla. Whoever
    /// reads them can do without.
    pub fn keep(&self, name: &[&[u8]], bytes: &[u8]) {
        if let Some(key) = rxla_cpu::program_key(name) {
            self.disk.put(&key, bytes);
        }
    }
}

/// Nothing is compiled, nothing is kept.
#[cfg(not(feature = "cpu"))]
impl CodeCache {
    pub fn new(_directory: impl Into<PathBuf>, _bound: u64) -> CodeCache {
        CodeCache {}
    }

    pub fn recall(&self, _name: &[&[u8]]) -> Option<Vec<u8>> {
        None
    }

    pub fn keep(&self, _name: &[&[u8]], _bytes: &[u8]) {}
}
