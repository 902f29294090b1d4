//! Who divides custom calls over devices, by target: frameworks register them for the process, before
//! there is any client.

use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use rustc_hash::FxHashMap;
use rxla_base::{Error, Result};
use rxla_hlo::Sharding;
use rxla_spmd::CustomCalls;

pub use rxla_spmd::{Call, Divided, Partitioner};

/// What is registered of a target.
#[derive(Clone)]
pub enum Registration {
    /// It works on each of a batch alone.
    Batch,
    Partitioner(Arc<dyn Partitioner>),
}

/// Tells whoever wrote the configuration of an inspecting call how a value is spread.
pub type Inspector = fn(config: &str, sharding: &Sharding) -> Result<()>;

static REGISTERED: RwLock<Option<FxHashMap<String, Registration>>> = RwLock::new(None);
static INSPECTOR: OnceLock<Inspector> = OnceLock::new();

/// Registers a target; the last one to do so is asked.
pub fn register(target: &str, registration: Registration) {
    let mut registered = REGISTERED.write().unwrap_or_else(PoisonError::into_inner);
    registered.get_or_insert_default().insert(target.to_owned(), registration);
}

/// Says who inspects. Only the first one is kept.
pub fn set_inspector(inspector: Inspector) {
    _ = INSPECTOR.set(inspector);
}

/// All that are registered.
pub(crate) struct Registered;

impl Registered {
    /// No lock is held when partitioners run: they may compile programs themselves.
    fn find(target: &str) -> Option<Registration> {
        let registered = REGISTERED.read().unwrap_or_else(PoisonError::into_inner);
        registered.as_ref()?.get(target).cloned()
    }
}

impl CustomCalls for Registered {
    fn is_batch_partitionable(&self, target: &str) -> bool {
        matches!(Registered::find(target), Some(Registration::Batch))
    }

    fn partitioner(&self, target: &str) -> Option<Arc<dyn Partitioner>> {
        match Registered::find(target)? {
            Registration::Partitioner(partitioner) => Some(partitioner),
            Registration::Batch => None,
        }
    }

    fn inspect(&self, config: &str, sharding: &Sharding) -> Result<()> {
        let inspector = INSPECTOR.get().ok_or_else(|| {
            Error::unimplemented("`InspectSharding`: nobody takes the sharding here")
        })?;
        inspector(config, sharding)
    }
}
