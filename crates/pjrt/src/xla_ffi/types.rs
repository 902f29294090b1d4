//! Type ids: how handlers and frameworks tell apart the opaque data they pass through us.

use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};

use rustc_hash::FxHashMap;
use rxla::{Error, Result};

use crate::raw::Raw;

/// A number that stands for a C++ type.
pub(crate) type TypeId = i64;

pub(crate) type Deleter = unsafe extern "C" fn(*mut c_void);

/// Frameworks number the types of their own registry from 1; ours start where theirs never get.
const FIRST: TypeId = 1 << 32;

#[derive(Default)]
struct Types {
    ids: FxHashMap<String, TypeId>,
    deleters: FxHashMap<TypeId, Deleter>,
}

static TYPES: Mutex<Option<Types>> = Mutex::new(None);

/// Registers a type. `given` 0 asks for an id; another is kept, and must be the one of an earlier
/// registration if there was one.
pub(crate) fn register(name: &str, given: TypeId, deleter: Option<Deleter>) -> Result<TypeId> {
    let mut types = TYPES.lock().unwrap_or_else(PoisonError::into_inner);
    let types = types.get_or_insert_default();
    let id = match (types.ids.get(name), given) {
        (Some(&id), 0) => id,
        (Some(&id), given) if id == given => id,
        (Some(&id), given) => {
            return Err(Error::invalid_argument(format!(
                "the type `{name}` has id {id} and cannot be registered with {given}"
            )));
        }
        (None, 0) => FIRST + types.ids.len() as TypeId,
        (None, given) => given,
    };
    types.ids.insert(name.to_owned(), id);
    if let Some(deleter) = deleter {
        types.deleters.insert(id, deleter);
    }
    Ok(id)
}

/// Frees an object of a registered type; of an unknown one nothing is known to free.
pub(crate) fn delete(id: TypeId, object: Raw<c_void>) {
    let deleter = {
        let types = TYPES.lock().unwrap_or_else(PoisonError::into_inner);
        types.as_ref().and_then(|types| types.deleters.get(&id).copied())
    };
    if let Some(deleter) = deleter
        && !object.0.is_null()
    {
        // SAFETY: the type was registered with the function that frees its objects.
        unsafe { deleter(object.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_its_id() {
        let id = register("test type", 0, None).unwrap();
        assert!(id >= FIRST);
        assert_eq!(register("test type", 0, None).unwrap(), id);
        assert_eq!(register("test type", id, None).unwrap(), id);
        assert!(register("test type", 5, None).is_err());
        assert_eq!(register("other test type", 77, None).unwrap(), 77);
    }
}
