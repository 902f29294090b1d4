//! Memory in regions with checked bounds. An address holds the region's number in its upper bits
//! and the distance from the region's start in the lower ones, so arithmetic on addresses is
//! arithmetic, and what strays out of its region is caught.

use rxla_base::{Error, Result};

use crate::types::Scalar;

/// Bits of an address that count bytes.
const OFFSET_BITS: u32 = 40;

#[derive(Clone, Debug, Default)]
pub struct Memory {
    regions: Vec<Vec<u8>>,
}

impl Memory {
    /// A region with these bytes; its address.
    pub fn add(&mut self, bytes: Vec<u8>) -> u64 {
        assert!(bytes.len() < 1 << (OFFSET_BITS - 1), "regions are small");
        self.regions.push(bytes);
        // Region 0 stays free, as null.
        (self.regions.len() as u64) << OFFSET_BITS
    }

    /// The bytes of the region that an address lies in.
    pub fn region(&self, address: u64) -> &[u8] {
        &self.regions[(address >> OFFSET_BITS) as usize - 1]
    }

    /// The bytes of the region that an address lies in.
    pub fn region_mut(&mut self, address: u64) -> &mut [u8] {
        &mut self.regions[(address >> OFFSET_BITS) as usize - 1]
    }

    pub(super) fn drop_regions_from(&mut self, count: usize) {
        self.regions.truncate(count);
    }

    pub(super) fn region_count(&self) -> usize {
        self.regions.len()
    }

    /// The bytes at an address, which must all lie in one region.
    pub fn bytes(&mut self, address: u64, count: usize) -> Result<&mut [u8]> {
        let region = (address >> OFFSET_BITS) as usize;
        let start = (address & ((1 << OFFSET_BITS) - 1)) as usize;
        let outside = || {
            Error::internal(format!(
                "access to {count} bytes at {start} of region {region} is outside"
            ))
        };
        let bytes = region.checked_sub(1).and_then(|index| self.regions.get_mut(index));
        bytes.and_then(|bytes| bytes.get_mut(start..start + count)).ok_or_else(outside)
    }

    pub(super) fn load(&mut self, scalar: Scalar, base: u64, index: i64) -> Result<u64> {
        let width = scalar.byte_width();
        let address = base.wrapping_add((index as u64).wrapping_mul(width as u64));
        let mut bits = [0; 8];
        bits[..width].copy_from_slice(self.bytes(address, width)?);
        let bits = u64::from_le_bytes(bits);
        Ok(if scalar == Scalar::I1 { bits & 1 } else { bits })
    }

    pub(super) fn store(&mut self, scalar: Scalar, base: u64, index: i64, bits: u64) -> Result<()> {
        let width = scalar.byte_width();
        let address = base.wrapping_add((index as u64).wrapping_mul(width as u64));
        self.bytes(address, width)?.copy_from_slice(&bits.to_le_bytes()[..width]);
        Ok(())
    }
}
