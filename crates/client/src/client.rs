//! The client: devices, and programs compiled for them.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use rxla_base::{Error, Result};
use rxla_flags::Flags;
use rxla_hlo::literal::Bytes;
use rxla_hlo::{Literal, Module};

use crate::backend::Backend;
use crate::buffer::Buffer;
use crate::compile_options::{CompileOptions, overridden};
use crate::device::{Device, Memory, MemoryUsage};
use crate::executable::Executable;
use crate::format::{Format, ReadOptions, Source};
use crate::loaded::LoadedExecutable;
use crate::meeting::Meetings;

/// How a client is made.
#[derive(Clone)]
pub struct ClientOptions {
    /// What the devices call their platform.
    pub platform: String,
    /// Number of virtual CPU devices.
    pub device_count: usize,
    /// Bytes that the buffers of one device may take together.
    pub memory_limit: u64,
    /// How long devices that are run one at a time wait for each other.
    pub meeting_timeout: Duration,
    pub backends: Vec<Arc<dyn Backend>>,
    /// What every compilation starts from.
    pub flags: Arc<Flags>,
}

impl Default for ClientOptions {
    fn default() -> ClientOptions {
        ClientOptions {
            platform: "rxla".to_owned(),
            device_count: 1,
            memory_limit: u64::MAX,
            meeting_timeout: Duration::from_secs(300),
            backends: crate::backends::usual(),
            flags: Arc::default(),
        }
    }
}

struct Inner {
    platform: String,
    devices: Vec<Arc<Device>>,
    /// By falling priority.
    backends: Vec<Arc<dyn Backend>>,
    flags: Arc<Flags>,
    meetings: Meetings,
}

/// A set of devices of this process. Clones are the same client.
#[derive(Clone)]
pub struct Client(Arc<Inner>);

impl Client {
    /// A client with one CPU device.
    pub fn cpu() -> Result<Client> {
        Client::new(ClientOptions::default())
    }

    pub fn new(options: ClientOptions) -> Result<Client> {
        if options.device_count == 0 {
            return Err(Error::invalid_argument("a client needs at least one device"));
        }
        let devices = (0..options.device_count)
            .map(|id| {
                let usage = Arc::new(MemoryUsage::new(options.memory_limit));
                Arc::new(Device::new(id, &options.platform, usage))
            })
            .collect();
        let mut backends = options.backends;
        backends.sort_by_key(|backend| std::cmp::Reverse(backend.priority()));
        let meetings = Meetings::new(options.meeting_timeout);
        let ClientOptions { platform, flags, .. } = options;
        for backend in &backends {
            backend.configure(&flags);
        }
        Ok(Client(Arc::new(Inner { platform, devices, backends, flags, meetings })))
    }

    /// Where its devices meet if they are run one at a time.
    pub(crate) fn meetings(&self) -> &Meetings {
        &self.0.meetings
    }

    /// Forgets work that has not begun and waits for what has. Results that were still to come
    /// fail.
    pub fn stop(&self) {
        self.0.devices.iter().for_each(|device| device.queue.stop());
    }

    pub fn platform(&self) -> &str {
        &self.0.platform
    }

    pub fn devices(&self) -> &[Arc<Device>] {
        &self.0.devices
    }

    /// The backends by falling priority.
    pub fn backends(&self) -> &[Arc<dyn Backend>] {
        &self.0.backends
    }

    /// A buffer with this value in the first device's default memory.
    pub fn buffer(&self, literal: impl Into<Literal>) -> Result<Arc<Buffer>> {
        self.buffer_in(literal, self.0.devices[0].default_memory())
    }

    /// A buffer with this value in a memory of this client.
    pub fn buffer_in(&self, literal: impl Into<Literal>, memory: &Memory) -> Result<Arc<Buffer>> {
        let device = self.device_of(memory)?;
        Ok(Arc::new(Buffer::from_literal(literal.into(), device, memory)?))
    }

    /// A copy of bytes in memory that programs read best, for the contents of a buffer.
    pub fn copy_of(&self, bytes: &[u8]) -> Result<Bytes> {
        let Some(mut memory) = self.memory(bytes.len())? else { return Bytes::copy_of(bytes) };
        memory.make_mut().copy_from_slice(bytes);
        Ok(memory)
    }

    /// Zeros in such memory. It may have been used before: fresh memory from the system takes longer
    /// to touch than to copy.
    pub fn zeroed(&self, len: usize) -> Result<Bytes> {
        let Some(mut memory) = self.memory(len)? else { return Bytes::zeroed(len) };
        memory.make_mut().fill(0);
        Ok(memory)
    }

    fn memory(&self, len: usize) -> Result<Option<Bytes>> {
        let memory = self.0.backends.first().and_then(|backend| backend.memory(len));
        Ok(memory.transpose()?.map(Bytes::provided))
    }

    /// The device that a memory of this client belongs to.
    pub fn device_of(&self, memory: &Memory) -> Result<&Arc<Device>> {
        self.0.devices.get(memory.device).ok_or_else(|| {
            Error::invalid_argument(format!("`{}` is no memory of this client", memory.label()))
        })
    }

    /// Compiles a module without choosing devices.
    pub fn compile_only(
        &self,
        module: impl Into<Arc<Module>>,
        mut options: CompileOptions,
    ) -> Result<Executable> {
        options.flags = overridden(&self.0.flags, &options.overrides)?;
        Executable::compile(&self.0.backends, module.into(), options)
    }

    /// Reads a program and compiles it without choosing devices. A program that the backend has
    /// compiled before, in this process or an earlier one, may come from where it keeps them.
    pub fn compile_source(
        &self,
        source: Source,
        mut options: CompileOptions,
    ) -> Result<Executable> {
        options.flags = overridden(&self.0.flags, &options.overrides)?;
        Executable::compile_source(&self.0.backends, source, options)
    }

    /// Compiles a module for devices of this client.
    pub fn compile(
        &self,
        module: impl Into<Arc<Module>>,
        options: CompileOptions,
    ) -> Result<LoadedExecutable> {
        self.load(Arc::new(self.compile_only(module, options)?))
    }

    /// Reads a program and compiles it for this client's first devices.
    pub fn compile_bytes(&self, format: Format, program: &[u8]) -> Result<LoadedExecutable> {
        let source = Source { format, options: ReadOptions::default(), bytes: program.into() };
        self.load(Arc::new(self.compile_source(source, CompileOptions::default())?))
    }

    /// Binds an executable to the devices its options name.
    pub fn load(&self, executable: Arc<Executable>) -> Result<LoadedExecutable> {
        LoadedExecutable::new(self.clone(), executable)
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Client({}, {} devices)", self.0.platform, self.0.devices.len())
    }
}
