//! Typed `u32` ids over a growing arena. Ids are never reused, so an id names one thing for the
//! life of its arena.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// An index into an [`Arena<T>`]; two id types never mix.
pub struct Id<T>(u32, PhantomData<fn() -> T>);

impl<T> Id<T> {
    /// The id with the given position. Only sensible for a position the arena has.
    pub fn from_index(index: usize) -> Self {
        Id(u32::try_from(index).expect("arena holds more than 2^32 items"), PhantomData)
    }

    /// The position in the arena.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The default id names nothing: no arena grows so far. It stands where a real id is yet to come.
impl<T> Default for Id<T> {
    fn default() -> Self {
        Id(u32::MAX, PhantomData)
    }
}

impl<T> Clone for Id<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Id<T> {}
impl<T> PartialEq for Id<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}
impl<T> Eq for Id<T> {}
impl<T> PartialOrd for Id<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<T> Ord for Id<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.cmp(&other.0)
    }
}
impl<T> Hash for Id<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}
impl<T> fmt::Debug for Id<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// A growing list addressed by [`Id`].
#[derive(Clone, Debug)]
pub struct Arena<T>(Vec<T>);

impl<T> Default for Arena<T> {
    fn default() -> Self {
        Arena(Vec::new())
    }
}

impl<T> Arena<T> {
    pub fn push(&mut self, item: T) -> Id<T> {
        let id = self.next_id();
        self.0.push(item);
        id
    }

    /// The id that the next [`Arena::push`] will return.
    pub fn next_id(&self) -> Id<T> {
        Id::from_index(self.0.len())
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn get(&self, id: Id<T>) -> Option<&T> {
        self.0.get(id.index())
    }

    pub fn ids(&self) -> impl DoubleEndedIterator<Item = Id<T>> + ExactSizeIterator + use<T> {
        (0..self.0.len()).map(Id::from_index)
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (Id<T>, &T)> {
        self.0.iter().enumerate().map(|(index, item)| (Id::from_index(index), item))
    }

    pub fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = (Id<T>, &mut T)> {
        self.0.iter_mut().enumerate().map(|(index, item)| (Id::from_index(index), item))
    }
}

impl<T> Index<Id<T>> for Arena<T> {
    type Output = T;
    fn index(&self, id: Id<T>) -> &T {
        &self.0[id.index()]
    }
}

impl<T> IndexMut<Id<T>> for Arena<T> {
    fn index_mut(&mut self, id: Id<T>) -> &mut T {
        &mut self.0[id.index()]
    }
}

/// Facts attached to the items of an arena: every id has a value, the default until it is set.
#[derive(Clone, Debug)]
pub struct SecondaryMap<K, V> {
    values: Vec<V>,
    default: V,
    key: PhantomData<fn() -> K>,
}

impl<K, V: Clone + Default> Default for SecondaryMap<K, V> {
    fn default() -> Self {
        Self::with_default(V::default())
    }
}

impl<K, V: Clone> SecondaryMap<K, V> {
    pub fn with_default(default: V) -> Self {
        SecondaryMap { values: Vec::new(), default, key: PhantomData }
    }
}

impl<K, V> Index<Id<K>> for SecondaryMap<K, V> {
    type Output = V;
    fn index(&self, id: Id<K>) -> &V {
        self.values.get(id.index()).unwrap_or(&self.default)
    }
}

impl<K, V: Clone> IndexMut<Id<K>> for SecondaryMap<K, V> {
    fn index_mut(&mut self, id: Id<K>) -> &mut V {
        if id.index() >= self.values.len() {
            self.values.resize(id.index() + 1, self.default.clone());
        }
        &mut self.values[id.index()]
    }
}
