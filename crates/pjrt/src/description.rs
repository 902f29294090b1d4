//! `PJRT_DeviceDescription` and `PJRT_TopologyDescription`: what is known of devices without a
//! client, and the memory descriptions extension that tells their memories.

use std::collections::BTreeMap;
use std::hash::Hasher;

use rustc_hash::FxHasher;
use rxla::{Error, MemoryKind, Result};

use crate::abi::{self, entry};
use crate::environment;
use crate::ffi;
use crate::handle::Table;
use crate::named_value::{self, NamedValues, Value};
use crate::raw::Raw;

/// What a `PJRT_DeviceDescription*` points to.
pub(crate) struct DescriptionObject {
    id: i32,
    kind: String,
    debug_string: String,
    text: String,
    attributes: NamedValues,
    memories: Vec<Raw<ffi::PJRT_MemoryDescription>>,
}

/// What a `PJRT_MemoryDescription*` points to.
pub(crate) struct MemoryDescription {
    kind: MemoryKind,
}

/// What a `PJRT_TopologyDescription*` points to.
pub(crate) struct TopologyObject {
    pub(crate) platform_name: String,
    platform_version: String,
    devices: usize,
    descriptions: Vec<Raw<ffi::PJRT_DeviceDescription>>,
    attributes: NamedValues,
    memory_kinds: [i32; MemoryKind::ALL.len()],
}

pub(crate) static DESCRIPTIONS: Table<ffi::PJRT_DeviceDescription, DescriptionObject> =
    Table::new("PJRT_DeviceDescription");
static MEMORY_DESCRIPTIONS: Table<ffi::PJRT_MemoryDescription, MemoryDescription> =
    Table::new("PJRT_MemoryDescription");
pub(crate) static TOPOLOGIES: Table<ffi::PJRT_TopologyDescription, TopologyObject> =
    Table::new("PJRT_TopologyDescription");

/// The version every client of ours reports.
pub(crate) fn platform_version() -> String {
    format!("rxla {}", env!("CARGO_PKG_VERSION"))
}

fn describe(platform: &str, id: usize) -> Result<Raw<ffi::PJRT_DeviceDescription>> {
    let memories = MemoryKind::ALL
        .into_iter()
        .map(|kind| Raw(MEMORY_DESCRIPTIONS.insert(MemoryDescription { kind })))
        .collect();
    // Frameworks print `CpuDevice(id=0)` for XLA's own; ours follows the platform's name.
    let title: String = match platform.chars().next() {
        Some(first) => first.to_uppercase().chain(platform.chars().skip(1)).collect(),
        None => String::new(),
    };
    Ok(Raw(DESCRIPTIONS.insert(DescriptionObject {
        id: abi::int(id)?,
        kind: platform.to_owned(),
        debug_string: format!("{platform}:{id}"),
        text: format!("{title}Device(id={id})"),
        attributes: NamedValues::new(Vec::new()),
        memories,
    })))
}

impl TopologyObject {
    pub(crate) fn new(platform_name: &str, devices: usize) -> Result<TopologyObject> {
        Ok(TopologyObject {
            platform_name: platform_name.to_owned(),
            platform_version: platform_version(),
            devices,
            descriptions: (0..devices)
                .map(|id| describe(platform_name, id))
                .collect::<Result<_>>()?,
            attributes: NamedValues::new(Vec::new()),
            memory_kinds: MemoryKind::ALL.map(|kind| kind.number() as i32),
        })
    }

    pub(crate) fn descriptions(&self) -> &[Raw<ffi::PJRT_DeviceDescription>] {
        &self.descriptions
    }

    /// The text that [`TopologyObject::parse`] reads.
    fn serialize(&self) -> String {
        format!("rxla-topology 1 {} {}", self.devices, self.platform_name)
    }

    fn parse(text: &str) -> Option<(usize, &str)> {
        let rest = text.strip_prefix("rxla-topology 1 ")?;
        let (devices, platform) = rest.split_once(' ')?;
        Some((devices.parse().ok()?, platform))
    }

    fn fingerprint(&self) -> u64 {
        let mut hasher = FxHasher::default();
        hasher.write(self.serialize().as_bytes());
        hasher.write(self.platform_version.as_bytes());
        hasher.finish()
    }
}

impl Drop for TopologyObject {
    fn drop(&mut self) {
        for description in &self.descriptions {
            // Ours since `new`; nobody else destroys descriptions.
            let _ = DESCRIPTIONS.destroy(description.0);
        }
    }
}

impl Drop for DescriptionObject {
    fn drop(&mut self) {
        for memory in &self.memories {
            let _ = MEMORY_DESCRIPTIONS.destroy(memory.0);
        }
    }
}

/// More virtual devices than any test asks for.
pub(crate) const MOST_DEVICES: usize = 4096;

/// The device count among create options, checked.
pub(crate) fn device_count(options: &BTreeMap<String, Value>) -> Result<Option<usize>> {
    let Some(given) = options.get("num_devices") else { return Ok(None) };
    match given.number() {
        Some(count) if (1..=MOST_DEVICES as i64).contains(&count) => Ok(Some(count as usize)),
        _ => Err(Error::invalid_argument(format!(
            "the option `num_devices` is {given:?}; it takes a number from 1 to {MOST_DEVICES}"
        ))),
    }
}

entry! {
    fn PJRT_DeviceDescription_Id(args: PJRT_DeviceDescription_Id_Args) {
        args.id = DESCRIPTIONS.get(args.device_description)?.id;
        Ok(())
    }

    fn PJRT_DeviceDescription_ProcessIndex(args: PJRT_DeviceDescription_ProcessIndex_Args) {
        DESCRIPTIONS.get(args.device_description)?;
        args.process_index = 0;
        Ok(())
    }

    fn PJRT_DeviceDescription_Attributes(args: PJRT_DeviceDescription_Attributes_Args) {
        let description = DESCRIPTIONS.get(args.device_description)?;
        args.attributes = description.attributes.as_ptr();
        args.num_attributes = description.attributes.len();
        Ok(())
    }

    fn PJRT_DeviceDescription_Kind(args: PJRT_DeviceDescription_Kind_Args) {
        let description = DESCRIPTIONS.get(args.device_description)?;
        (args.device_kind, args.device_kind_size) = abi::out_text(&description.kind);
        Ok(())
    }

    fn PJRT_DeviceDescription_DebugString(args: PJRT_DeviceDescription_DebugString_Args) {
        let description = DESCRIPTIONS.get(args.device_description)?;
        (args.debug_string, args.debug_string_size) = abi::out_text(&description.debug_string);
        Ok(())
    }

    fn PJRT_DeviceDescription_ToString(args: PJRT_DeviceDescription_ToString_Args) {
        let description = DESCRIPTIONS.get(args.device_description)?;
        (args.to_string, args.to_string_size) = abi::out_text(&description.text);
        Ok(())
    }

    fn PJRT_DeviceDescription_MemoryDescriptions(
        args: PJRT_DeviceDescription_MemoryDescriptions_Args
    ) {
        let description = DESCRIPTIONS.get(args.device_description)?;
        args.memory_descriptions = Raw::array(&description.memories).cast();
        args.num_memory_descriptions = description.memories.len();
        args.default_memory_index = MemoryKind::Device.number();
        Ok(())
    }

    fn PJRT_MemoryDescription_Kind(args: PJRT_MemoryDescription_Kind_Args) {
        let kind = MEMORY_DESCRIPTIONS.get(args.memory_description)?.kind;
        (args.kind, args.kind_size) = abi::out_text(kind.name());
        args.kind_id = kind.number() as i32;
        Ok(())
    }

    /// A topology by name: any name describes virtual CPU devices, as many as a client would have.
    fn PJRT_TopologyDescription_Create(args: PJRT_TopologyDescription_Create_Args) {
        // SAFETY: the caller passes strings and lists of these sizes.
        let options = unsafe {
            abi::text(args.topology_name, args.topology_name_size, "topology_name")?;
            named_value::read(args.create_options, args.num_options, "create_options")?
        };
        let devices = crate::client::device_count(&options, &environment::flags())?;
        let platform = crate::client::platform_name(&options)?;
        args.topology = TOPOLOGIES.insert(TopologyObject::new(&platform, devices)?);
        Ok(())
    }

    fn PJRT_TopologyDescription_Destroy(args: PJRT_TopologyDescription_Destroy_Args) {
        TOPOLOGIES.destroy(args.topology)
    }

    fn PJRT_TopologyDescription_PlatformName(args: PJRT_TopologyDescription_PlatformName_Args) {
        let topology = TOPOLOGIES.get(args.topology)?;
        (args.platform_name, args.platform_name_size) = abi::out_text(&topology.platform_name);
        Ok(())
    }

    fn PJRT_TopologyDescription_PlatformVersion(
        args: PJRT_TopologyDescription_PlatformVersion_Args
    ) {
        let topology = TOPOLOGIES.get(args.topology)?;
        (args.platform_version, args.platform_version_size) =
            abi::out_text(&topology.platform_version);
        Ok(())
    }

    fn PJRT_TopologyDescription_GetDeviceDescriptions(
        args: PJRT_TopologyDescription_GetDeviceDescriptions_Args
    ) {
        let topology = TOPOLOGIES.get(args.topology)?;
        args.descriptions = Raw::array(&topology.descriptions);
        args.num_descriptions = topology.descriptions.len();
        Ok(())
    }

    fn PJRT_TopologyDescription_Serialize(args: PJRT_TopologyDescription_Serialize_Args) {
        let bytes = TOPOLOGIES.get(args.topology)?.serialize().into_bytes();
        (args.serialized_bytes, args.serialized_bytes_size, args.serialized_topology) =
            abi::out_bytes(bytes);
        args.serialized_topology_deleter = Some(abi::free_bytes::<ffi::PJRT_SerializedTopology>);
        Ok(())
    }

    fn PJRT_TopologyDescription_Deserialize(args: PJRT_TopologyDescription_Deserialize_Args) {
        // SAFETY: the caller passes a string of that size.
        let text = unsafe {
            abi::text(args.serialized_topology, args.serialized_topology_size, "serialized_topology")
        }?;
        let (devices, platform) = TopologyObject::parse(text)
            .filter(|(devices, _)| (1..=MOST_DEVICES).contains(devices))
            .ok_or_else(|| Error::invalid_argument("these bytes are no serialized topology of rxla"))?;
        args.topology = TOPOLOGIES.insert(TopologyObject::new(platform, devices)?);
        Ok(())
    }

    fn PJRT_TopologyDescription_Attributes(args: PJRT_TopologyDescription_Attributes_Args) {
        let topology = TOPOLOGIES.get(args.topology)?;
        args.attributes = topology.attributes.as_ptr();
        args.num_attributes = topology.attributes.len();
        Ok(())
    }

    fn PJRT_TopologyDescription_Fingerprint(args: PJRT_TopologyDescription_Fingerprint_Args) {
        args.fingerprint = TOPOLOGIES.get(args.topology)?.fingerprint();
        Ok(())
    }

    fn PJRT_TopologyDescription_GetMemorySpaceKindIds(
        args: PJRT_TopologyDescription_GetMemorySpaceKindIds_Args
    ) {
        let topology = TOPOLOGIES.get(args.topology)?;
        args.memory_space_kind_ids = topology.memory_kinds.as_ptr();
        args.num_memory_space_kind_ids = topology.memory_kinds.len();
        Ok(())
    }
}

/// The memory descriptions extension, to be chained to `next`.
pub(crate) fn extension(
    next: *mut ffi::PJRT_Extension_Base,
) -> ffi::PJRT_MemoryDescriptions_Extension {
    ffi::PJRT_MemoryDescriptions_Extension {
        base: ffi::PJRT_Extension_Base {
            struct_size: size_of::<ffi::PJRT_MemoryDescriptions_Extension>(),
            type_: ffi::PJRT_Extension_Type_MemoryDescriptions,
            next,
        },
        PJRT_DeviceDescription_MemoryDescriptions: Some(PJRT_DeviceDescription_MemoryDescriptions),
        PJRT_MemoryDescription_Kind: Some(PJRT_MemoryDescription_Kind),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_counts_are_numbers_also_as_text() {
        let count = |given| device_count(&BTreeMap::from([("num_devices".to_owned(), given)]));
        let text = |text: &str| Value::String(text.to_owned());
        assert_eq!(count(Value::Int(3)).ok(), Some(Some(3)));
        // As JAX passes what its flag `jax_pjrt_client_create_options` says.
        assert_eq!(count(text("8")).ok(), Some(Some(8)));
        for wrong in [Value::Int(0), text("0"), text("many"), text(""), Value::Float(2.0)] {
            let error = count(wrong).expect_err("not a count").to_string();
            assert!(error.contains("`num_devices`") && error.contains("from 1 to 4096"), "{error}");
        }
    }
}
