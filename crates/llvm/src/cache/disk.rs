//! Compiled objects on disk: one file for each, named by its key.
//!
//! A file is written under a name of its own and renamed when it is whole, so that no reader sees
//! half of one; whatever a reader finds wrong with a file (another key, length or checksum than the
//! header says) makes it compile anew and replace the file. A writer that dies leaves a temporary
//! file, which eviction removes in time.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use super::Key;

const MAGIC: &[u8; 8] = b"rxlaobj1";
/// Magic, key, checksum of the object, length of the object.
const HEADER_BYTES: usize = 8 + 32 + 32 + 8;
const SUFFIX: &str = "obj";
const TEMPORARY: &str = "tmp";
/// No writer takes that long.
const ABANDONED: Duration = Duration::from_secs(3600);

/// A directory of compiled objects, bounded in size. Errors of the file system are never errors of
/// the compiler: what cannot be read is compiled, what cannot be written is not kept.
#[derive(Clone, Debug)]
pub struct DiskCache {
    directory: PathBuf,
    bound: u64,
}

/// Bytes written since the directory was last looked through; it is at the first write, and then
/// each time another sixteenth of the bound was written.
static WRITTEN: AtomicU64 = AtomicU64::new(u64::MAX);

impl DiskCache {
    /// A cache in `directory` (made when needed) of up to about `bound` bytes.
    pub fn new(directory: impl Into<PathBuf>, bound: u64) -> DiskCache {
        DiskCache { directory: directory.into(), bound }
    }

    pub(crate) fn get(&self, key: &Key) -> Option<Vec<u8>> {
        let mut bytes = fs::read(self.path(key)).ok()?;
        let object = check(&bytes, key)?;
        let start = bytes.len() - object.len();
        bytes.drain(..start);
        Some(bytes)
    }

    pub(crate) fn put(&self, key: &Key, object: &[u8]) {
        if object.len() as u64 > self.bound {
            return;
        }
        let path = self.path(key);
        let Some(directory) = path.parent() else {
            return;
        };
        if fs::create_dir_all(directory).is_err() {
            return;
        }
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let unique = (std::process::id(), COUNTER.fetch_add(1, Ordering::Relaxed));
        let temporary =
            directory.join(format!("{}.{}.{}.{TEMPORARY}", key.hex(), unique.0, unique.1));
        if write_whole(&temporary, key, object)
            .and_then(|()| fs::rename(&temporary, &path))
            .is_err()
        {
            let _ = fs::remove_file(&temporary);
        }
        self.count(object.len() as u64);
    }

    /// Directories of 256 keep listings short.
    fn path(&self, key: &Key) -> PathBuf {
        let name = key.hex();
        self.directory.join(&name[..2]).join(format!("{name}.{SUFFIX}"))
    }

    fn count(&self, bytes: u64) {
        let before = WRITTEN.load(Ordering::Relaxed);
        let after = before.saturating_add(bytes);
        if after >= self.bound / 16 {
            WRITTEN.store(0, Ordering::Relaxed);
            self.evict(SystemTime::now());
        } else {
            WRITTEN.store(after, Ordering::Relaxed);
        }
    }

    /// Removes abandoned temporary files, and the oldest objects until three quarters of the bound
    /// are left, if there is more than the bound.
    fn evict(&self, now: SystemTime) {
        let mut objects = Vec::new();
        let mut total = 0;
        for (path, metadata) in self.files() {
            let time = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            let extension = path.extension().and_then(|extension| extension.to_str());
            match extension {
                Some(SUFFIX) => {
                    total += metadata.len();
                    objects.push((time, metadata.len(), path));
                }
                Some(TEMPORARY) if now.duration_since(time).is_ok_and(|age| age > ABANDONED) => {
                    let _ = fs::remove_file(path);
                }
                // Not ours, or being written.
                _ => {}
            }
        }
        if total <= self.bound {
            return;
        }
        objects.sort();
        for (_, length, path) in objects {
            if total <= self.bound / 4 * 3 {
                break;
            }
            if fs::remove_file(path).is_ok() {
                total -= length;
            }
        }
    }

    fn files(&self) -> impl Iterator<Item = (PathBuf, fs::Metadata)> {
        let list = |path: &Path| fs::read_dir(path).into_iter().flatten().filter_map(Result::ok);
        let directories = list(&self.directory).filter(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            name.len() == 2 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
        });
        directories.flat_map(move |directory| list(&directory.path())).filter_map(|entry| {
            let metadata = entry.metadata().ok()?;
            metadata.is_file().then(|| (entry.path(), metadata))
        })
    }
}

fn write_whole(path: &Path, key: &Key, object: &[u8]) -> std::io::Result<()> {
    let mut bytes = Vec::with_capacity(HEADER_BYTES + object.len());
    bytes.extend(MAGIC);
    bytes.extend(key.0);
    bytes.extend(blake3::hash(object).as_bytes());
    bytes.extend((object.len() as u64).to_le_bytes());
    bytes.extend(object);
    fs::OpenOptions::new().write(true).create_new(true).open(path)?.write_all(&bytes)
}

/// The object in a file, if the file is what its name says.
fn check<'a>(bytes: &'a [u8], key: &Key) -> Option<&'a [u8]> {
    let (header, object) = bytes.split_at_checked(HEADER_BYTES)?;
    let whole = header[..8] == *MAGIC
        && header[8..40] == key.0
        && header[40..72] == *blake3::hash(object).as_bytes()
        && header[72..80] == (object.len() as u64).to_le_bytes();
    whole.then_some(object)
}
