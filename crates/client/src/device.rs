//! Devices and their memories: what a client enumerates. A virtual CPU device has three memories
//! over the same RAM, named as XLA:CPU names them, so that programs which ask for a kind find it.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rxla_base::{Error, Result};

use crate::queue::Queue;

/// Where a buffer may live. The order of the variants is the order of [`Device::memories`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MemoryKind {
    Device,
    PinnedHost,
    UnpinnedHost,
}

impl MemoryKind {
    pub const ALL: [MemoryKind; 3] =
        [MemoryKind::Device, MemoryKind::PinnedHost, MemoryKind::UnpinnedHost];

    /// The spelling of frameworks, such as `pinned_host`.
    pub const fn name(self) -> &'static str {
        match self {
            MemoryKind::Device => "device",
            MemoryKind::PinnedHost => "pinned_host",
            MemoryKind::UnpinnedHost => "unpinned_host",
        }
    }

    pub fn from_name(name: &str) -> Option<MemoryKind> {
        MemoryKind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// A stable number: the position in [`MemoryKind::ALL`].
    pub const fn number(self) -> usize {
        self as usize
    }
}

/// One memory of one device.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Memory {
    /// Unique in the client.
    pub id: usize,
    pub kind: MemoryKind,
    /// The device the memory belongs to, by position among the client's devices.
    pub device: usize,
}

impl Memory {
    /// Such as `PINNED_HOST_1`.
    pub fn label(&self) -> String {
        match self.kind {
            MemoryKind::Device => format!("CPU_DEVICE_{}", self.id),
            MemoryKind::PinnedHost => format!("PINNED_HOST_{}", self.id),
            MemoryKind::UnpinnedHost => format!("UNPINNED_HOST_{}", self.id),
        }
    }
}

/// A device that programs run on.
pub struct Device {
    /// Unique among all processes.
    pub id: usize,
    /// Unique in this process; for our devices also the position among the client's.
    pub local_id: usize,
    pub process_index: usize,
    pub kind: String,
    pub memories: Vec<Memory>,
    pub usage: Arc<MemoryUsage>,
    pub(crate) queue: Queue,
}

impl Device {
    pub(crate) fn new(id: usize, kind: &str, usage: Arc<MemoryUsage>) -> Device {
        let memories = MemoryKind::ALL
            .into_iter()
            .map(|kind| Memory { id: id * MemoryKind::ALL.len() + kind.number(), kind, device: id })
            .collect();
        Device {
            id,
            local_id: id,
            process_index: 0,
            kind: kind.to_owned(),
            memories,
            usage,
            queue: Queue::default(),
        }
    }

    pub fn default_memory(&self) -> &Memory {
        self.memory(MemoryKind::Device)
    }

    pub fn memory(&self, kind: MemoryKind) -> &Memory {
        &self.memories[kind.number()]
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({})", self.id)
    }
}

/// What the buffers of one device take.
#[derive(Debug)]
pub struct MemoryUsage {
    /// More than this is refused.
    limit: u64,
    in_use: AtomicU64,
    peak: AtomicU64,
    allocations: AtomicU64,
    largest: AtomicU64,
}

/// A reading of [`MemoryUsage`], in bytes but for the count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemoryStats {
    pub bytes_in_use: u64,
    pub peak_bytes_in_use: u64,
    pub allocations: u64,
    pub largest_allocation: u64,
    pub bytes_limit: u64,
}

impl MemoryUsage {
    pub(crate) fn new(limit: u64) -> MemoryUsage {
        MemoryUsage {
            limit,
            in_use: AtomicU64::new(0),
            peak: AtomicU64::new(0),
            allocations: AtomicU64::new(0),
            largest: AtomicU64::new(0),
        }
    }

    pub fn stats(&self) -> MemoryStats {
        MemoryStats {
            bytes_in_use: self.in_use.load(Ordering::Relaxed),
            peak_bytes_in_use: self.peak.load(Ordering::Relaxed),
            allocations: self.allocations.load(Ordering::Relaxed),
            largest_allocation: self.largest.load(Ordering::Relaxed),
            bytes_limit: self.limit,
        }
    }

    /// Forgets peak, count and largest; what is in use stays counted.
    pub fn reset_peak(&self) {
        self.peak.store(self.in_use.load(Ordering::Relaxed), Ordering::Relaxed);
        self.allocations.store(0, Ordering::Relaxed);
        self.largest.store(0, Ordering::Relaxed);
    }

    /// Counts `bytes` until the reservation is dropped.
    pub(crate) fn reserve(self: &Arc<Self>, bytes: u64) -> Result<Reservation> {
        let before = self.in_use.fetch_add(bytes, Ordering::Relaxed);
        let now = before.saturating_add(bytes);
        if now > self.limit {
            self.in_use.fetch_sub(bytes, Ordering::Relaxed);
            return Err(Error::resource_exhausted(format!(
                "out of memory: a buffer of {bytes} bytes does not fit beside {before} bytes in \
                 use; the device's limit is {} bytes",
                self.limit
            )));
        }
        // Records are rare, and looking is cheaper than writing.
        for (record, value) in [(&self.peak, now), (&self.largest, bytes)] {
            if value > record.load(Ordering::Relaxed) {
                record.fetch_max(value, Ordering::Relaxed);
            }
        }
        self.allocations.fetch_add(1, Ordering::Relaxed);
        Ok(Reservation { usage: Arc::clone(self), bytes })
    }
}

/// Bytes counted as in use while this lives.
#[derive(Debug)]
pub(crate) struct Reservation {
    usage: Arc<MemoryUsage>,
    bytes: u64,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.usage.in_use.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_counts_and_refuses() {
        let usage = Arc::new(MemoryUsage::new(100));
        let first = usage.reserve(60).unwrap();
        let error = usage.reserve(50).unwrap_err();
        assert_eq!(error.code, rxla_base::Code::ResourceExhausted);
        drop(first);
        let _second = usage.reserve(50).unwrap();
        let stats = usage.stats();
        assert_eq!((stats.bytes_in_use, stats.peak_bytes_in_use), (50, 60));
        assert_eq!((stats.allocations, stats.largest_allocation), (2, 60));
    }
}
