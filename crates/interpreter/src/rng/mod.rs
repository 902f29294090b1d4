//! Random numbers: `rng`, `rng-bit-generator` and `rng-get-and-update-state`.

use crate::options::DeviceId;

/// The random state that belongs to a device.
pub(crate) struct DeviceRandom {
    state: u128,
}

impl DeviceRandom {
    pub(crate) fn new(seed: u64, device: DeviceId) -> DeviceRandom {
        let device = ((device.replica as u128) << 32) + device.partition as u128;
        DeviceRandom { state: (device << 64) + u128::from(seed) }
    }
}
