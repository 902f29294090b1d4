//! Compiled objects and programs on disk: one file for each, named by its key.
//!
//! A file is written under a name of its own and renamed when it is whole, so that no reader sees
//! half of one; whatever a reader finds wrong with a file (another key, length or checksum than the
//! header says) makes it compile anew and replace the file. A writer that dies leaves a temporary
//! file, which eviction removes in time.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
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
    /// Bytes written since the directory was last looked through; it is at the first write, and
    /// then each time another sixteenth of the bound was written.
    written: Arc<AtomicU64>,
}

impl DiskCache {
    /// A cache in `directory` (made when needed) of up to about `bound` bytes.
    pub fn new(directory: impl Into<PathBuf>, bound: u64) -> DiskCache {
        let written = Arc::new(AtomicU64::new(u64::MAX));
        DiskCache { directory: directory.into(), bound, written }
    }

    /// What was put there, whole and unchanged, or nothing.
    pub fn get(&self, key: &Key) -> Option<Vec<u8>> {
        let mut bytes = fs::read(self.path(key)).ok()?;
        let object = check(&bytes, key)?;
        let start = bytes.len() - object.len();
        bytes.drain(..start);
        Some(bytes)
    }

    pub fn put(&self, key: &Key, object: &[u8]) {
        if object.len() as u64 > self.bound {
            return;
        }
        let path = self.path(key);
        let Some(directory) = path.parent() else {
            return;
        };
        if create_private(directory).is_err() {
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
        let before = self.written.load(Ordering::Relaxed);
        let after = before.saturating_add(bytes);
        if after >= self.bound / 16 {
            self.written.store(0, Ordering::Relaxed);
            self.evict(SystemTime::now());
        } else {
            self.written.store(after, Ordering::Relaxed);
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

/// Makes directories that others cannot write to: what lies in them will be run.
fn create_private(directory: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory that goes away with the test.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Scratch {
            let name = format!("rxla-disk-cache-{name}-{}", std::process::id());
            Scratch(std::env::temp_dir().join(name))
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn key(number: u8) -> Key {
        Key(*blake3::hash(&[number]).as_bytes())
    }

    #[test]
    fn objects_come_back_under_their_keys_only() {
        let scratch = Scratch::new("keys");
        let cache = DiskCache::new(&scratch.0, 1 << 20);
        assert_eq!(cache.get(&key(1)), None);
        cache.put(&key(1), b"one");
        cache.put(&key(2), b"");
        assert_eq!(cache.get(&key(1)).as_deref(), Some(&b"one"[..]));
        assert_eq!(cache.get(&key(2)).as_deref(), Some(&b""[..]));
        // A file under another's name.
        fs::create_dir_all(cache.path(&key(3)).parent().unwrap()).unwrap();
        fs::copy(cache.path(&key(1)), cache.path(&key(3))).unwrap();
        assert_eq!(cache.get(&key(3)), None);
    }

    #[test]
    fn any_damage_is_seen_and_repaired() {
        let scratch = Scratch::new("damage");
        let cache = DiskCache::new(&scratch.0, 1 << 20);
        let object: Vec<u8> = (0..200).collect();
        cache.put(&key(1), &object);
        let path = cache.path(&key(1));
        let whole = fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x10;
            fs::write(&path, &damaged).unwrap();
            assert_eq!(cache.get(&key(1)), None, "byte {at} flipped");
            fs::write(&path, &whole[..at]).unwrap();
            assert_eq!(cache.get(&key(1)), None, "cut at {at}");
        }
        fs::write(&path, [&whole[..], b"x"].concat()).unwrap();
        assert_eq!(cache.get(&key(1)), None);
        cache.put(&key(1), &object);
        assert_eq!(cache.get(&key(1)), Some(object));
    }

    #[test]
    fn the_oldest_go_when_there_is_too_much() {
        let scratch = Scratch::new("bound");
        let cache = DiskCache::new(&scratch.0, 10_000);
        let start = SystemTime::now() - Duration::from_secs(1000);
        for number in 0..30 {
            cache.put(&key(number), &[number; 1000]);
            let file = fs::File::options().write(true).open(cache.path(&key(number))).unwrap();
            file.set_modified(start + Duration::from_secs(u64::from(number))).unwrap();
        }
        let kept: Vec<u8> = (0..30).filter(|&number| cache.get(&key(number)).is_some()).collect();
        assert!(kept.len() >= 6 && kept.len() <= 10, "{kept:?}");
        assert_eq!(kept, (30 - kept.len() as u8..30).collect::<Vec<u8>>());
        cache.put(&key(99), &[0; 20_000]);
        assert_eq!(cache.get(&key(99)), None, "larger than the bound");
    }

    #[test]
    fn abandoned_files_go_and_foreign_ones_stay() {
        let scratch = Scratch::new("abandoned");
        let cache = DiskCache::new(&scratch.0, 1 << 20);
        cache.put(&key(1), b"one");
        let beside = |name: &str| cache.path(&key(1)).with_file_name(name);
        for name in ["dead.1.2.tmp", "notes.txt"] {
            fs::write(beside(name), b"?").unwrap();
        }
        cache.evict(SystemTime::now());
        assert!(beside("dead.1.2.tmp").exists(), "it may be a writer at work");
        cache.evict(SystemTime::now() + 2 * ABANDONED);
        assert!(!beside("dead.1.2.tmp").exists());
        assert!(beside("notes.txt").exists());
        assert!(cache.get(&key(1)).is_some());
    }

    /// No directory, no rights, no space: the compiler goes on without.
    #[test]
    fn what_cannot_be_written_is_not_kept() {
        let cache = DiskCache::new("/dev/null/cache", 1 << 20);
        cache.put(&key(1), b"one");
        assert_eq!(cache.get(&key(1)), None);
    }
}
