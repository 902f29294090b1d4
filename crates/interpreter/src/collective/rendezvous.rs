//! Where devices meet.

/// The devices of a run and what they have to say to each other.
pub(crate) struct Collectives {
    pub(crate) replica_count: usize,
    pub(crate) partition_count: usize,
}

impl Collectives {
    pub(crate) fn new(replica_count: usize, partition_count: usize) -> Collectives {
        Collectives { replica_count, partition_count }
    }
}
