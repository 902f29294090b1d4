//! `PJRT_Executable`: what is known of a compiled program, in arrays that C can look at.

use std::ffi::c_char;
use std::hash::{DefaultHasher, Hasher};
use std::sync::{Arc, OnceLock};

use rxla::hlo::Shape;
use rxla::{Error, Executable, MemoryKind};
use rxla_hlo_proto::Message;

use crate::abi::{self, entry};
use crate::client::CLIENTS;
use crate::description::TOPOLOGIES;
use crate::ffi;
use crate::handle::Table;
use crate::layouts::LayoutObject;
use crate::named_value::{NamedValues, Value};
use crate::program::Source;
use crate::raw::Raw;
use crate::shape;
use crate::shardings::SerializedShardings;

/// A compiled program with the source it came from, shared by all handles on it.
pub(crate) struct Compiled {
    pub(crate) executable: Arc<Executable>,
    pub(crate) source: Source,
    pub(crate) fingerprint: String,
}

impl Compiled {
    pub(crate) fn new(executable: Executable, source: Source) -> Arc<Compiled> {
        // Two hashes with different beginnings make the collisions of one harmless.
        let hash = |seed: u64| {
            let mut hasher = DefaultHasher::new();
            hasher.write_u64(seed);
            hasher.write(source.format.as_bytes());
            hasher.write(&source.options);
            hasher.write(&source.code);
            hasher.finish()
        };
        let fingerprint =
            format!("rxla-{}-{:016x}{:016x}", env!("CARGO_PKG_VERSION"), hash(0), hash(1));
        Arc::new(Compiled { executable: Arc::new(executable), source, fingerprint })
    }
}

/// What a `PJRT_Executable*` points to.
pub(crate) struct ExecutableObject {
    pub(crate) compiled: Arc<Compiled>,
    output_types: Vec<ffi::PJRT_Buffer_Type>,
    output_dims: Vec<i64>,
    output_ranks: Vec<usize>,
    output_memories: Names,
    parameter_memories: Names,
    pub(crate) output_layouts: Vec<Raw<ffi::PJRT_Layouts_MemoryLayout>>,
    pub(crate) parameter_layouts: Vec<Raw<ffi::PJRT_Layouts_MemoryLayout>>,
    pub(crate) shardings: OnceLock<SerializedShardings>,
    costs: OnceLock<NamedValues>,
    optimized: OnceLock<Optimized>,
}

/// The program that `OptimizedProgram` answers with.
struct Optimized {
    format: &'static str,
    code: Vec<u8>,
}

/// Parallel arrays of strings and their sizes.
struct Names {
    data: Vec<Raw<c_char>>,
    sizes: Vec<usize>,
}

impl Names {
    fn new(kinds: impl Iterator<Item = MemoryKind>) -> Names {
        let (data, sizes) = kinds
            .map(|kind| (Raw(kind.name().as_ptr().cast_mut().cast()), kind.name().len()))
            .unzip();
        Names { data, sizes }
    }
}

pub(crate) static EXECUTABLES: Table<ffi::PJRT_Executable, ExecutableObject> =
    Table::new("PJRT_Executable");

/// Hands out a new handle on a compiled program.
pub(crate) fn give(compiled: Arc<Compiled>) -> *mut ffi::PJRT_Executable {
    let signature = compiled.executable.signature();
    let shapes = || signature.outputs.iter().map(|output| &output.shape);
    let dims = |shape: &Shape| shape.as_array().map(|array| array.dims.clone()).unwrap_or_default();
    EXECUTABLES.insert(ExecutableObject {
        output_types: shapes().map(shape::type_number).collect(),
        output_dims: shapes().flat_map(|shape| dims(shape).to_vec()).collect(),
        output_ranks: shapes().map(|shape| dims(shape).len()).collect(),
        output_memories: Names::new(signature.outputs.iter().map(|output| output.memory)),
        parameter_memories: Names::new(signature.parameters.iter().map(|p| p.memory)),
        output_layouts: shapes().map(LayoutObject::give).collect(),
        parameter_layouts: signature
            .parameters
            .iter()
            .map(|parameter| LayoutObject::give(&parameter.shape))
            .collect(),
        shardings: OnceLock::new(),
        costs: OnceLock::new(),
        optimized: OnceLock::new(),
        compiled,
    })
}

impl Drop for ExecutableObject {
    fn drop(&mut self) {
        for layout in self.output_layouts.iter().chain(&self.parameter_layouts) {
            LayoutObject::destroy(*layout);
        }
    }
}

impl ExecutableObject {
    fn optimized(&self) -> &Optimized {
        self.optimized.get_or_init(|| {
            let module = self.compiled.executable.module();
            let source = &self.compiled.source;
            match rxla_hlo_proto::to_proto_with_config(module) {
                Ok(proto) => Optimized { format: "hlo_with_config", code: proto.encode_to_vec() },
                // What has no proto is shown as it came.
                Err(_) if source.format == "hlo" => {
                    // `HloModuleProtoWithConfig`: the module is field 1.
                    let mut writer = crate::wire::Writer::default();
                    writer.bytes(1, &source.code);
                    Optimized { format: "hlo_with_config", code: writer.0 }
                }
                Err(_) if source.format == "mlir" => {
                    Optimized { format: "mlir", code: source.code.to_vec() }
                }
                Err(_) => Optimized { format: "hlo_with_config", code: source.code.to_vec() },
            }
        })
    }
}

entry! {
    fn PJRT_Executable_Destroy(args: PJRT_Executable_Destroy_Args) {
        EXECUTABLES.destroy(args.executable)
    }

    fn PJRT_Executable_Name(args: PJRT_Executable_Name_Args) {
        let object = EXECUTABLES.get(args.executable)?;
        (args.executable_name, args.executable_name_size) =
            abi::out_text(object.compiled.executable.name());
        Ok(())
    }

    fn PJRT_Executable_NumReplicas(args: PJRT_Executable_NumReplicas_Args) {
        args.num_replicas = EXECUTABLES.get(args.executable)?.compiled.executable.options().replicas;
        Ok(())
    }

    fn PJRT_Executable_NumPartitions(args: PJRT_Executable_NumPartitions_Args) {
        args.num_partitions =
            EXECUTABLES.get(args.executable)?.compiled.executable.options().partitions;
        Ok(())
    }

    fn PJRT_Executable_NumOutputs(args: PJRT_Executable_NumOutputs_Args) {
        args.num_outputs = EXECUTABLES.get(args.executable)?.output_types.len();
        Ok(())
    }

    fn PJRT_Executable_SizeOfGeneratedCodeInBytes(
        args: PJRT_Executable_SizeOfGeneratedCodeInBytes_Args
    ) {
        let object = EXECUTABLES.get(args.executable)?;
        args.size_in_bytes = signed(object.compiled.executable.code_size());
        Ok(())
    }

    fn PJRT_Executable_GetCostAnalysis(args: PJRT_Executable_GetCostAnalysis_Args) {
        let object = EXECUTABLES.get(args.executable)?;
        let costs = object.costs.get_or_init(|| {
            let costs = rxla::costs(object.compiled.executable.module());
            NamedValues::new(
                costs.into_iter().map(|(name, value)| (name, Value::Float(value as f32))).collect(),
            )
        });
        args.properties = costs.as_ptr();
        args.num_properties = costs.len();
        Ok(())
    }

    fn PJRT_Executable_OutputMemoryKinds(args: PJRT_Executable_OutputMemoryKinds_Args) {
        let object = EXECUTABLES.get(args.executable)?;
        args.num_outputs = object.output_memories.data.len();
        args.memory_kinds = Raw::array(&object.output_memories.data).cast();
        args.memory_kind_sizes = object.output_memories.sizes.as_ptr();
        Ok(())
    }

    fn PJRT_Executable_ParameterMemoryKinds(args: PJRT_Executable_ParameterMemoryKinds_Args) {
        let object = EXECUTABLES.get(args.executable)?;
        args.num_parameters = object.parameter_memories.data.len();
        args.memory_kinds = Raw::array(&object.parameter_memories.data).cast();
        args.memory_kind_sizes = object.parameter_memories.sizes.as_ptr();
        Ok(())
    }

    /// Called twice: with `code` null for the size, then to be copied to.
    fn PJRT_Executable_OptimizedProgram(args: PJRT_Executable_OptimizedProgram_Args) {
        let object = EXECUTABLES.get(args.executable)?;
        let optimized = object.optimized();
        // SAFETY: the caller passes a program struct to be filled in.
        let given = unsafe { abi::versioned(args.program.cast_const(), "program") }?
            .ok_or_else(|| Error::invalid_argument("`program` is null"))?;
        if given.struct_size < size_of::<ffi::PJRT_Program>() {
            return Err(Error::invalid_argument(format!(
                "`program` has `struct_size` {}", given.struct_size
            )));
        }
        let program = args.program;
        let (format, format_size) = abi::out_text(optimized.format);
        if !given.code.is_null() {
            if given.code_size < optimized.code.len() {
                return Err(Error::invalid_argument(format!(
                    "the program takes {} bytes, {} are given", optimized.code.len(), given.code_size
                )));
            }
            // SAFETY: the caller passes `code_size` bytes to write to.
            unsafe {
                std::ptr::copy_nonoverlapping(
                    optimized.code.as_ptr(),
                    given.code.cast::<u8>(),
                    optimized.code.len(),
                );
            }
        }
        // SAFETY: a whole program struct of the caller's, checked above.
        unsafe {
            (*program).code_size = optimized.code.len();
            (*program).format = format;
            (*program).format_size = format_size;
        }
        Ok(())
    }

    fn PJRT_Executable_Serialize(args: PJRT_Executable_Serialize_Args) {
        let object = EXECUTABLES.get(args.executable)?;
        (args.serialized_bytes, args.serialized_bytes_size, args.serialized_executable) =
            abi::out_bytes(object.compiled.source.serialize());
        args.serialized_executable_deleter =
            Some(abi::free_bytes::<ffi::PJRT_SerializedExecutable>);
        Ok(())
    }

    fn PJRT_Executable_OutputElementTypes(args: PJRT_Executable_OutputElementTypes_Args) {
        let object = EXECUTABLES.get(args.executable)?;
        args.output_types = object.output_types.as_ptr().cast_mut();
        args.num_output_types = object.output_types.len();
        Ok(())
    }

    fn PJRT_Executable_OutputDimensions(args: PJRT_Executable_OutputDimensions_Args) {
        let object = EXECUTABLES.get(args.executable)?;
        args.num_outputs = object.output_ranks.len();
        args.dims = object.output_dims.as_ptr();
        args.dim_sizes = object.output_ranks.as_ptr();
        Ok(())
    }

    fn PJRT_Executable_Fingerprint(args: PJRT_Executable_Fingerprint_Args) {
        let object = EXECUTABLES.get(args.executable)?;
        (args.executable_fingerprint, args.executable_fingerprint_size) =
            abi::out_text(&object.compiled.fingerprint);
        Ok(())
    }

    fn PJRT_Executable_GetCompiledMemoryStats(
        args: PJRT_Executable_GetCompiledMemoryStats_Args since host_temp_size_in_bytes
    ) {
        let memory = EXECUTABLES.get(args.executable)?.compiled.executable.memory();
        args.generated_code_size_in_bytes = signed(memory.code);
        args.argument_size_in_bytes = signed(memory.arguments);
        args.output_size_in_bytes = signed(memory.outputs);
        args.alias_size_in_bytes = signed(memory.aliased);
        args.temp_size_in_bytes = signed(memory.temporaries);
        args.host_generated_code_size_in_bytes = 0;
        args.host_argument_size_in_bytes = 0;
        args.host_output_size_in_bytes = 0;
        args.host_alias_size_in_bytes = 0;
        args.host_temp_size_in_bytes = 0;
        let total = memory.arguments.saturating_add(memory.outputs).saturating_sub(memory.aliased);
        let total = total.saturating_add(memory.temporaries);
        args.peak_memory_in_bytes = signed(total);
        args.total_size_in_bytes = signed(total);
        args.total_allocation_bytes = signed(total);
        args.indefinite_allocations = 0;
        args.peak_unpadded_heap_bytes = signed(total);
        Ok(())
    }

    fn PJRT_Executable_GetCompileOptions(args: PJRT_Executable_GetCompileOptions_Args) {
        let object = EXECUTABLES.get(args.executable)?;
        (args.serialized_bytes, args.serialized_bytes_size, args.serialized_compile_options) =
            abi::out_bytes(object.compiled.source.options.clone());
        args.serialized_compile_options_deleter =
            Some(abi::free_bytes::<ffi::PJRT_SerializedCompileOptions>);
        Ok(())
    }

    /// Compiles for a topology, that is without devices to run on.
    fn PJRT_Compile(args: PJRT_Compile_Args) {
        TOPOLOGIES.get(args.topology)?;
        // SAFETY: the caller passes a program and options of these sizes.
        let source = unsafe {
            Source::read(args.program, args.compile_options, args.compile_options_size)
        }?;
        let (program, options) = source.parse()?;
        let client = match CLIENTS.get_optional(args.client)? {
            Some(client) => client.client.clone(),
            None => rxla::Client::cpu()?,
        };
        let executable = client.compile_source(program, options)?;
        args.executable = give(Compiled::new(executable, source));
        Ok(())
    }
}

pub(crate) fn signed(size: u64) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}
