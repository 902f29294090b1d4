//! Transformations of modules that others register: they see every program as it goes to the
//! backends, after it was divided over devices, and may put another one in its place.
//!
//! XLA has two stages for them, before and after it schedules a module. Here both come before the
//! backend's own passes, one after the other.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use rxla_base::Result;
use rxla_hlo::Module;

/// XLA's stages, in their order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Stage {
    BeforeScheduling,
    AfterScheduling,
}

pub trait Transform: Send + Sync {
    /// What the module becomes, `None` if it stays.
    fn transform(&self, module: &Module) -> Result<Option<Module>>;
}

struct Entry {
    stage: Stage,
    name: String,
    transform: Arc<dyn Transform>,
}

static REGISTERED: RwLock<Vec<Entry>> = RwLock::new(Vec::new());

/// Registers a transformation behind those of its stage; it takes the place of one of the same name.
pub fn register(stage: Stage, name: &str, transform: Arc<dyn Transform>) {
    let mut entries = REGISTERED.write().unwrap_or_else(PoisonError::into_inner);
    let entry = Entry { stage, name: name.to_owned(), transform };
    let replaced = match entries.iter_mut().find(|e| e.stage == stage && e.name == name) {
        Some(before) => Some(std::mem::replace(before, entry)),
        None => {
            let place = entries.partition_point(|e| e.stage <= stage);
            entries.insert(place, entry);
            None
        }
    };
    // Its owner is told without the lock.
    drop(entries);
    drop(replaced);
}

/// Forgets a transformation. Whether there was one of that name.
pub fn clear(stage: Stage, name: &str) -> bool {
    let mut entries = REGISTERED.write().unwrap_or_else(PoisonError::into_inner);
    let place = entries.iter().position(|e| e.stage == stage && e.name == name);
    let removed = place.map(|place| entries.remove(place));
    drop(entries);
    removed.is_some()
}

fn entries() -> RwLockReadGuard<'static, Vec<Entry>> {
    REGISTERED.read().unwrap_or_else(PoisonError::into_inner)
}

/// Whether programs are not what their sources say.
pub(crate) fn any() -> bool {
    !entries().is_empty()
}

/// Lets all that are registered transform the module. What the client has made of its configuration
/// stays.
pub(crate) fn apply(module: &mut Arc<Module>) -> Result<()> {
    let registered: Vec<_> = entries().iter().map(|e| Arc::clone(&e.transform)).collect();
    for transform in registered {
        if let Some(mut transformed) = transform.transform(module)? {
            transformed.config = module.config.clone();
            transformed.phase = module.phase;
            *module = Arc::new(transformed);
        }
    }
    Ok(())
}
