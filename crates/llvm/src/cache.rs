//! Compiled objects, found again by the content of what they were compiled from.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

mod disk;
pub use disk::DiskCache;

/// What names a compiled object or program: a hash of what it was compiled from, the target and the
/// compiler.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Key(pub [u8; 32]);

impl Key {
    pub(crate) fn hex(&self) -> String {
        blake3::Hash::from_bytes(self.0).to_hex().to_string()
    }
}

/// Objects in memory: the oldest go first when the bound is reached.
pub struct Cache {
    bound: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    objects: FxHashMap<Key, Arc<[u8]>>,
    order: VecDeque<Key>,
    bytes: usize,
}

impl Cache {
    pub const fn new(bound: usize) -> Cache {
        let state = State {
            objects: FxHashMap::with_hasher(rustc_hash::FxBuildHasher),
            order: VecDeque::new(),
            bytes: 0,
        };
        Cache { bound, state: Mutex::new(state) }
    }

    pub(crate) fn get(&self, key: &Key) -> Option<Arc<[u8]>> {
        self.lock().objects.get(key).cloned()
    }

    pub(crate) fn put(&self, key: Key, object: Arc<[u8]>) {
        let mut state = self.lock();
        if object.len() > self.bound || state.objects.contains_key(&key) {
            return;
        }
        state.bytes += object.len();
        state.objects.insert(key, object);
        state.order.push_back(key);
        while state.bytes > self.bound {
            let Some(oldest) = state.order.pop_front() else {
                break;
            };
            if let Some(object) = state.objects.remove(&oldest) {
                state.bytes -= object.len();
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
