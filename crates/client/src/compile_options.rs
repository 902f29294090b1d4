//! How a program is to be compiled: what frameworks send beside it.

use std::collections::BTreeMap;
use std::sync::Arc;

use rxla_base::{Error, Result};
use rxla_flags::{Flags, Mistake};
use rxla_hlo::{DeviceAssignment, Shape};

/// Options of one compilation. [`Default`] is one replica of one partition on the first device.
#[derive(Clone, PartialEq, Debug)]
pub struct CompileOptions {
    pub replicas: usize,
    pub partitions: usize,
    /// Which devices run; without it the first `replicas × partitions` ones.
    pub device_assignment: Option<DeviceAssignment>,
    /// One tuple holds all arguments.
    pub tupled_arguments: bool,
    /// Whether the partitioner runs on programs with more than one partition.
    pub spmd_partitioning: bool,
    /// Whether the executable may run on any device (chosen by the caller at each execution).
    pub portable: bool,
    /// Shapes with layouts that the caller wants parameters and result to have.
    pub argument_layouts: Option<Vec<Shape>>,
    pub result_layout: Option<Shape>,
    /// Per parameter and per result: whether the partitioner may choose its sharding.
    pub propagate_sharding_to_parameters: Vec<bool>,
    pub propagate_sharding_to_output: Vec<bool>,
    /// `compiler_options` of frameworks: names and values as text.
    pub overrides: BTreeMap<String, String>,
    /// The client's flags with `overrides` in them; the client sees to that.
    pub flags: Arc<Flags>,
}

impl Default for CompileOptions {
    fn default() -> CompileOptions {
        CompileOptions {
            replicas: 1,
            partitions: 1,
            device_assignment: None,
            tupled_arguments: false,
            spmd_partitioning: false,
            portable: false,
            argument_layouts: None,
            result_layout: None,
            propagate_sharding_to_parameters: Vec::new(),
            propagate_sharding_to_output: Vec::new(),
            overrides: BTreeMap::new(),
            flags: Arc::default(),
        }
    }
}

/// These flags with what `overrides` say.
pub(crate) fn overridden(
    flags: &Arc<Flags>,
    overrides: &BTreeMap<String, String>,
) -> Result<Arc<Flags>> {
    let mut flags = Arc::clone(flags);
    for (name, value) in overrides {
        let found = Arc::make_mut(&mut flags).set(name, value);
        found.map_err(|mistake| match mistake {
            Mistake::Value { value_type, wanted } => Error::invalid_argument(format!(
                "compile option `{name}`: '{value}' is not a valid {value_type} value; it takes {wanted}"
            )),
            Mistake::Unknown(_) | Mistake::NoFlag => {
                Error::invalid_argument(format!("No such compile option: '{name}'"))
            }
        })?;
    }
    Ok(flags)
}

/// A device of a program: which copy and which part of it the device runs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LogicalDevice {
    pub replica: usize,
    pub partition: usize,
    /// Position among the client's devices.
    pub device: usize,
}

impl CompileOptions {
    /// The devices of the program, replica by replica and in them partition by partition, which is
    /// the order of argument lists at execution.
    pub fn logical_devices(&self, device_count: usize) -> Result<Vec<LogicalDevice>> {
        let (replicas, partitions) = (self.replicas, self.partitions);
        let needed = replicas
            .checked_mul(partitions)
            .filter(|&needed| needed > 0)
            .ok_or_else(|| too_many(replicas, partitions, device_count))?;
        if needed > device_count {
            return Err(too_many(replicas, partitions, device_count));
        }
        if let Some(assignment) = &self.device_assignment {
            let fits = assignment.devices.len() == partitions
                && assignment.devices.iter().all(|devices| devices.len() == replicas);
            if !fits {
                return Err(Error::invalid_argument(format!(
                    "the device assignment is for {} replicas of {} partitions, the program has \
                     {replicas} of {partitions}",
                    assignment.replica_count, assignment.computation_count
                )));
            }
        }
        let mut devices = Vec::with_capacity(needed);
        for replica in 0..replicas {
            for partition in 0..partitions {
                let device = match &self.device_assignment {
                    None => replica * partitions + partition,
                    Some(assignment) => {
                        let id = assignment.devices[partition][replica];
                        usize::try_from(id).ok().filter(|&id| id < device_count).ok_or_else(
                            || {
                                Error::invalid_argument(format!(
                                    "the device assignment names device {id}, but there are \
                                     {device_count}"
                                ))
                            },
                        )?
                    }
                };
                devices.push(LogicalDevice { replica, partition, device });
            }
        }
        Ok(devices)
    }
}

fn too_many(replicas: usize, partitions: usize, device_count: usize) -> Error {
    Error::invalid_argument(format!(
        "the program wants {replicas} replicas of {partitions} partitions, but there are \
         {device_count} devices; ask for more when the client is made"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_listed_replica_by_replica() {
        let options = CompileOptions {
            replicas: 2,
            partitions: 2,
            device_assignment: Some(DeviceAssignment {
                replica_count: 2,
                computation_count: 2,
                devices: vec![vec![3, 1], vec![2, 0]],
            }),
            ..CompileOptions::default()
        };
        let devices: Vec<_> =
            options.logical_devices(4).unwrap().iter().map(|logical| logical.device).collect();
        assert_eq!(devices, [3, 2, 1, 0]);
        let portable = CompileOptions { portable: true, replicas: 1 << 60, ..options.clone() };
        assert!(portable.logical_devices(4).is_err());
        let message = options.logical_devices(3).unwrap_err().message;
        assert!(message.starts_with("the program wants 2 replicas of 2 partitions"), "{message}");
    }
}
