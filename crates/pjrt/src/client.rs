//! `PJRT_Client` and `PJRT_Device`.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rxla::flags::Flags;
use rxla::{Client, ClientOptions, CodeCache, Device, Error, MemoryKind, Result};

use crate::abi::{self, entry};
use crate::description::{self, TOPOLOGIES, TopologyObject};
use crate::environment;
use crate::ffi;
use crate::handle::Table;
use crate::memory::{self, MEMORIES, MemoryObject};
use crate::named_value::{self, NamedValues, Value};
use crate::raw::Raw;
use crate::slab::Share;

/// What a `PJRT_Client*` points to. It owns the handles of devices, memories and topology.
pub(crate) struct ClientObject {
    pub(crate) client: Client,
    version: String,
    devices: Vec<Raw<ffi::PJRT_Device>>,
    memories: Vec<Raw<ffi::PJRT_Memory>>,
    topology: Raw<ffi::PJRT_TopologyDescription>,
}

/// What a `PJRT_Device*` points to.
pub(crate) struct DeviceObject {
    pub(crate) device: Arc<Device>,
    description: Raw<ffi::PJRT_DeviceDescription>,
    memories: Vec<Raw<ffi::PJRT_Memory>>,
    attributes: NamedValues,
}

pub(crate) static CLIENTS: Table<ffi::PJRT_Client, ClientObject> = Table::new("PJRT_Client");
pub(crate) static DEVICES: Table<ffi::PJRT_Device, DeviceObject> = Table::new("PJRT_Device");

impl ClientObject {
    fn new(options: ClientOptions) -> Result<ClientObject> {
        let client = Client::new(options)?;
        let topology = TopologyObject::new(client.platform(), client.devices().len())?;
        let descriptions = topology.descriptions().to_vec();
        let topology = Raw(TOPOLOGIES.insert(topology));
        let mut devices = Vec::new();
        let mut memories = Vec::new();
        for (device, description) in client.devices().iter().zip(descriptions) {
            let given: Vec<(_, Share<MemoryObject>)> =
                device.memories.iter().map(memory::give).collect::<Result<_>>()?;
            let handles: Vec<_> = given.iter().map(|(handle, _)| Raw(*handle)).collect();
            memories.extend_from_slice(&handles);
            let handle = DEVICES.insert(DeviceObject {
                device: Arc::clone(device),
                description,
                memories: handles,
                attributes: NamedValues::new(Vec::new()),
            });
            for (_, object) in given {
                // Just made, so nobody has set it.
                let _ = object.devices.set([Raw(handle)]);
            }
            devices.push(Raw(handle));
        }
        let version = description::platform_version();
        Ok(ClientObject { client, version, devices, memories, topology })
    }

    pub(crate) fn device(&self, index: usize) -> Raw<ffi::PJRT_Device> {
        self.devices[index]
    }

    pub(crate) fn memory(&self, memory: &rxla::Memory) -> Raw<ffi::PJRT_Memory> {
        self.memories[memory.device * MemoryKind::ALL.len() + memory.kind.number()]
    }
}

impl Drop for ClientObject {
    fn drop(&mut self) {
        for memory in &self.memories {
            let _ = MEMORIES.destroy(memory.0);
        }
        for device in &self.devices {
            let _ = DEVICES.destroy(device.0);
        }
        let _ = TOPOLOGIES.destroy(self.topology.0);
    }
}

/// The platform name: an option, else the variable `RXLA_PLATFORM_NAME`, else our own.
pub(crate) fn platform_name(options: &BTreeMap<String, Value>) -> Result<String> {
    match options.get("platform_name") {
        Some(Value::String(name)) if !name.is_empty() => Ok(name.clone()),
        Some(other) => Err(Error::invalid_argument(format!(
            "the option `platform_name` is {other:?}; it takes a name"
        ))),
        None => Ok(std::env::var("RXLA_PLATFORM_NAME").unwrap_or_else(|_| "rxla".to_owned())),
    }
}

/// The device count: an option, else the variable `RXLA_NUM_DEVICES`, else the flag by which
/// frameworks ask XLA for host devices, else one.
pub(crate) fn device_count(options: &BTreeMap<String, Value>, flags: &Flags) -> Result<usize> {
    if let Some(count) = description::device_count(options)? {
        return Ok(count);
    }
    let (name, text) = match std::env::var("RXLA_NUM_DEVICES") {
        Ok(text) => ("RXLA_NUM_DEVICES", text),
        Err(_) => {
            let count = flags.xla_force_host_platform_device_count;
            ("--xla_force_host_platform_device_count", count.to_string())
        }
    };
    text.parse().ok().filter(|count| (1..=description::MOST_DEVICES).contains(count)).ok_or_else(
        || {
            Error::invalid_argument(format!(
                "`{name}` is `{text}`; it takes a number from 1 to {}",
                description::MOST_DEVICES
            ))
        },
    )
}

/// Where all clients of this process keep compiled code: in the folder that `RXLA_CACHE_DIR` names, nowhere if that is empty,
/// and where such things are kept if it is not there.
pub(crate) fn code_cache() -> Option<&'static CodeCache> {
    const BOUND: u64 = 1 << 30;
    static CACHE: OnceLock<Option<CodeCache>> = OnceLock::new();
    CACHE.get_or_init(|| Some(CodeCache::new(cache_directory()?, BOUND))).as_ref()
}

fn cache_directory() -> Option<PathBuf> {
    match std::env::var_os("RXLA_CACHE_DIR") {
        Some(named) if named.is_empty() => None,
        Some(named) => Some(PathBuf::from(named)),
        None => match std::env::var_os("XDG_CACHE_HOME").filter(|folder| !folder.is_empty()) {
            Some(folder) => Some(PathBuf::from(folder).join("rxla")),
            None => Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache/rxla")),
        },
    }
}

/// What runs programs: an option, else the variable `RXLA_BACKEND`, else what is usual.
fn backend(options: &BTreeMap<String, Value>) -> Result<Option<String>> {
    match options.get("backend") {
        Some(Value::String(name)) => Ok(Some(name.clone())),
        Some(other) => Err(Error::invalid_argument(format!(
            "the option `backend` is {other:?}; it takes a name"
        ))),
        None => Ok(std::env::var("RXLA_BACKEND").ok().filter(|name| !name.is_empty())),
    }
}

/// How long devices wait for each other: an option, else the variable `RXLA_MEETING_TIMEOUT`, in
/// seconds.
fn meeting_timeout(options: &BTreeMap<String, Value>) -> Result<Option<Duration>> {
    let variable = || std::env::var("RXLA_MEETING_TIMEOUT").ok().filter(|text| !text.is_empty());
    let (shown, seconds) = match options.get("meeting_timeout") {
        Some(given) => {
            (format!("{given:?}"), given.number().and_then(|seconds| u64::try_from(seconds).ok()))
        }
        None => match variable() {
            Some(text) => (text.clone(), text.parse().ok()),
            None => return Ok(None),
        },
    };
    match seconds {
        Some(seconds) if seconds > 0 => Ok(Some(Duration::from_secs(seconds))),
        Some(_) | None => Err(Error::invalid_argument(format!(
            "the option `meeting_timeout` is {shown}; it takes a number of seconds"
        ))),
    }
}

/// What we do not know is for somebody else: frameworks pass options of their own.
fn client_options(options: &BTreeMap<String, Value>) -> Result<ClientOptions> {
    let flags = environment::flags();
    let mut client = ClientOptions {
        platform: platform_name(options)?,
        device_count: device_count(options, &flags)?,
        flags,
        memory_limit: physical_memory().unwrap_or(u64::MAX / 2),
        ..ClientOptions::default()
    };
    let backend = backend(options)?;
    client.backends =
        rxla::backends(backend.as_deref().unwrap_or(rxla::USUAL), code_cache().cloned())?;
    if let Some(timeout) = meeting_timeout(options)? {
        client.meeting_timeout = timeout;
    }
    if let Some(given) = options.get("memory_limit") {
        client.memory_limit = match given.number() {
            Some(limit) if limit > 0 => limit.unsigned_abs(),
            _ => {
                return Err(Error::invalid_argument(format!(
                    "the option `memory_limit` is {given:?}; it takes a number of bytes"
                )));
            }
        };
    }
    Ok(client)
}

/// The machine's memory, where the system tells.
fn physical_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

entry! {
    /// The key-value callbacks are for several processes, which we have not: they are not touched,
    /// since a framework without them leaves them unset.
    fn PJRT_Client_Create(args: PJRT_Client_Create_Args since client) {
        // SAFETY: the caller passes a list of that size.
        let options =
            unsafe { named_value::read(args.create_options, args.num_options, "create_options") }?;
        args.client = CLIENTS.insert(ClientObject::new(client_options(&options)?)?);
        environment::watch_exit();
        Ok(())
    }

    fn PJRT_Client_Destroy(args: PJRT_Client_Destroy_Args) {
        if !args.client.is_null() {
            CLIENTS.get(args.client)?.client.stop();
        }
        environment::write_trace();
        CLIENTS.destroy(args.client)
    }

    fn PJRT_Client_PlatformName(args: PJRT_Client_PlatformName_Args) {
        let client = CLIENTS.get(args.client)?;
        (args.platform_name, args.platform_name_size) = abi::out_text(client.client.platform());
        Ok(())
    }

    fn PJRT_Client_ProcessIndex(args: PJRT_Client_ProcessIndex_Args) {
        CLIENTS.get(args.client)?;
        args.process_index = 0;
        Ok(())
    }

    fn PJRT_Client_PlatformVersion(args: PJRT_Client_PlatformVersion_Args) {
        let client = CLIENTS.get(args.client)?;
        (args.platform_version, args.platform_version_size) = abi::out_text(&client.version);
        Ok(())
    }

    fn PJRT_Client_TopologyDescription(args: PJRT_Client_TopologyDescription_Args) {
        args.topology = CLIENTS.get(args.client)?.topology.0;
        Ok(())
    }

    fn PJRT_Client_Devices(args: PJRT_Client_Devices_Args) {
        let client = CLIENTS.get(args.client)?;
        args.devices = Raw::array(&client.devices);
        args.num_devices = client.devices.len();
        Ok(())
    }

    fn PJRT_Client_AddressableDevices(args: PJRT_Client_AddressableDevices_Args) {
        let client = CLIENTS.get(args.client)?;
        args.addressable_devices = Raw::array(&client.devices);
        args.num_addressable_devices = client.devices.len();
        Ok(())
    }

    fn PJRT_Client_LookupDevice(args: PJRT_Client_LookupDevice_Args) {
        args.device = lookup(&*CLIENTS.get(args.client)?, args.id)?;
        Ok(())
    }

    fn PJRT_Client_LookupAddressableDevice(args: PJRT_Client_LookupAddressableDevice_Args) {
        args.addressable_device = lookup(&*CLIENTS.get(args.client)?, args.local_hardware_id)?;
        Ok(())
    }

    fn PJRT_Client_UpdateGlobalProcessInfo(args: PJRT_Client_UpdateGlobalProcessInfo_Args) {
        CLIENTS.get(args.client)?;
        Ok(())
    }

    fn PJRT_Client_AddressableMemories(args: PJRT_Client_AddressableMemories_Args) {
        let client = CLIENTS.get(args.client)?;
        args.addressable_memories = Raw::array(&client.memories);
        args.num_addressable_memories = client.memories.len();
        Ok(())
    }

    fn PJRT_Client_DefaultDeviceAssignment(args: PJRT_Client_DefaultDeviceAssignment_Args) {
        let client = CLIENTS.get(args.client)?;
        let positive = |number: i32| usize::try_from(number).ok().filter(|&number| number > 0);
        let needed = positive(args.num_replicas)
            .zip(positive(args.num_partitions))
            .and_then(|(replicas, partitions)| replicas.checked_mul(partitions))
            .filter(|&needed| needed <= client.devices.len())
            .ok_or_else(|| {
                Error::invalid_argument(format!(
                    "no assignment of {} replicas of {} partitions to {} devices",
                    args.num_replicas, args.num_partitions, client.devices.len()
                ))
            })?;
        if args.default_assignment.is_null() || args.default_assignment_size < needed {
            return Err(Error::invalid_argument(format!(
                "the default assignment takes {needed} places, {} are given",
                args.default_assignment_size
            )));
        }
        for index in 0..needed {
            // SAFETY: the caller passes as many places as it says, and that is enough.
            unsafe { args.default_assignment.add(index).write(abi::int(index)?) }
        }
        Ok(())
    }

    /// Host memory needs no mapping to be copied from.
    fn PJRT_Client_DmaMap(args: PJRT_Client_DmaMap_Args) {
        CLIENTS.get(args.client)?;
        Ok(())
    }

    fn PJRT_Client_DmaUnmap(args: PJRT_Client_DmaUnmap_Args) {
        CLIENTS.get(args.client)?;
        Ok(())
    }

    fn PJRT_Device_GetDescription(args: PJRT_Device_GetDescription_Args) {
        args.device_description = DEVICES.get(args.device)?.description.0;
        Ok(())
    }

    fn PJRT_Device_IsAddressable(args: PJRT_Device_IsAddressable_Args) {
        DEVICES.get(args.device)?;
        args.is_addressable = true;
        Ok(())
    }

    fn PJRT_Device_LocalHardwareId(args: PJRT_Device_LocalHardwareId_Args) {
        args.local_hardware_id = abi::int(DEVICES.get(args.device)?.device.local_id)?;
        Ok(())
    }

    fn PJRT_Device_AddressableMemories(args: PJRT_Device_AddressableMemories_Args) {
        let device = DEVICES.get(args.device)?;
        args.memories = Raw::array(&device.memories);
        args.num_memories = device.memories.len();
        Ok(())
    }

    fn PJRT_Device_DefaultMemory(args: PJRT_Device_DefaultMemory_Args) {
        args.memory = DEVICES.get(args.device)?.memories[MemoryKind::Device.number()].0;
        Ok(())
    }

    fn PJRT_Device_MemoryStats(args: PJRT_Device_MemoryStats_Args since bytes_in_use) {
        let stats = DEVICES.get(args.device)?.device.usage.stats();
        let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        args.bytes_in_use = signed(stats.bytes_in_use);
        (args.peak_bytes_in_use, args.peak_bytes_in_use_is_set) =
            (signed(stats.peak_bytes_in_use), true);
        (args.num_allocs, args.num_allocs_is_set) = (signed(stats.allocations), true);
        (args.largest_alloc_size, args.largest_alloc_size_is_set) =
            (signed(stats.largest_allocation), true);
        (args.bytes_limit, args.bytes_limit_is_set) = (signed(stats.bytes_limit), true);
        args.bytes_reserved_is_set = false;
        args.peak_bytes_reserved_is_set = false;
        args.bytes_reservable_limit_is_set = false;
        args.largest_free_block_bytes_is_set = false;
        args.pool_bytes_is_set = false;
        args.peak_pool_bytes_is_set = false;
        Ok(())
    }

    fn PJRT_Device_ClearMemoryStats(args: PJRT_Device_ClearMemoryStats_Args) {
        DEVICES.get(args.device)?.device.usage.reset_peak();
        Ok(())
    }

    /// Executions finish before they return, so none is under way to be poisoned.
    fn PJRT_Device_PoisonExecution(args: PJRT_Device_PoisonExecution_Args since poisoned) {
        DEVICES.get(args.device)?;
        args.poisoned = false;
        Ok(())
    }

    fn PJRT_Device_GetAttributes(args: PJRT_Device_GetAttributes_Args) {
        let device = DEVICES.get(args.device)?;
        args.attributes = device.attributes.as_ptr();
        args.num_attributes = device.attributes.len();
        args.device_attributes = args.device.cast();
        args.attributes_deleter = Some(keep_attributes);
        Ok(())
    }

    fn PJRT_Device_CreateAsyncTrackingEvent(args: PJRT_Device_CreateAsyncTrackingEvent_Args) {
        DEVICES.get(args.device)?;
        args.event = TRACKING.insert(());
        Ok(())
    }

    fn PJRT_AsyncTrackingEvent_Destroy(args: PJRT_AsyncTrackingEvent_Destroy_Args) {
        TRACKING.destroy(args.event)
    }
}

/// Names of things under way, for traces we do not take yet.
static TRACKING: Table<ffi::PJRT_AsyncTrackingEvent, ()> = Table::new("PJRT_AsyncTrackingEvent");

/// The attributes are the device's own.
unsafe extern "C" fn keep_attributes(_attributes: *mut ffi::PJRT_Device_Attributes) {}

fn lookup(client: &ClientObject, id: i32) -> Result<*mut ffi::PJRT_Device> {
    usize::try_from(id)
        .ok()
        .and_then(|id| client.devices.get(id))
        .map(|device| device.0)
        .ok_or_else(|| {
            Error::invalid_argument(format!(
                "there is no device {id}; this client has {} devices",
                client.devices.len()
            ))
        })
}

/// The memory that a call names: by memory, else by device.
pub(crate) fn target_memory(
    client: &ClientObject,
    memory: *mut ffi::PJRT_Memory,
    device: *mut ffi::PJRT_Device,
) -> Result<rxla::Memory> {
    if let Some(memory) = MEMORIES.get_optional(memory)? {
        return Ok(memory.memory.clone());
    }
    let device = match DEVICES.get_optional(device)? {
        Some(device) => Arc::clone(&device.device),
        None => Arc::clone(&client.client.devices()[0]),
    };
    Ok(device.default_memory().clone())
}

/// Something that a callback of the caller takes back.
pub(crate) type UserArg = Raw<c_void>;
