//! The function table of the PJRT C API and the symbol that frameworks look up.

use std::ptr;
use std::sync::OnceLock;

use crate::ffi;
use crate::plugin::{PJRT_Plugin_Attributes, PJRT_Plugin_Initialize};
use crate::{
    buffer, client, custom_partitioner, description, error, event, executable, host, layouts,
    loaded, memory, profiler, raw_copy, shardings, transfer, xla_ffi, xla_transform,
};

/// The table, made once and living as long as the library.
struct Api(*const ffi::PJRT_Api);

// SAFETY: the table is not changed after it is made.
unsafe impl Send for Api {}
// SAFETY: as above.
unsafe impl Sync for Api {}

/// What frameworks look up by name when they load the plugin.
#[unsafe(no_mangle)]
pub extern "C" fn GetPjrtApi() -> *const ffi::PJRT_Api {
    static API: OnceLock<Api> = OnceLock::new();
    API.get_or_init(|| Api(Box::leak(Box::new(table(extensions()))))).0
}

/// The chain of extensions, whose links live as long as the library.
fn extensions() -> *mut ffi::PJRT_Extension_Base {
    let mut next = ptr::null_mut();
    next = ptr::from_mut(Box::leak(Box::new(description::extension(next)))).cast();
    next = ptr::from_mut(Box::leak(Box::new(profiler::extension(next)))).cast();
    next = ptr::from_mut(Box::leak(Box::new(xla_ffi::extension(next)))).cast();
    next = ptr::from_mut(Box::leak(Box::new(custom_partitioner::extension(next)))).cast();
    next = ptr::from_mut(Box::leak(Box::new(xla_transform::extension(next)))).cast();
    next = ptr::from_mut(Box::leak(Box::new(shardings::extension(next)))).cast();
    ptr::from_mut(Box::leak(Box::new(layouts::extension(next)))).cast()
}

fn table(extension_start: *mut ffi::PJRT_Extension_Base) -> ffi::PJRT_Api {
    ffi::PJRT_Api {
        struct_size: size_of::<ffi::PJRT_Api>(),
        extension_start,
        pjrt_api_version: ffi::PJRT_Api_Version {
            struct_size: size_of::<ffi::PJRT_Api_Version>(),
            extension_start: ptr::null_mut(),
            major_version: ffi::PJRT_API_MAJOR as i32,
            minor_version: ffi::PJRT_API_MINOR as i32,
        },
        PJRT_Error_Destroy: Some(error::PJRT_Error_Destroy),
        PJRT_Error_Message: Some(error::PJRT_Error_Message),
        PJRT_Error_GetCode: Some(error::PJRT_Error_GetCode),
        PJRT_Plugin_Initialize: Some(PJRT_Plugin_Initialize),
        PJRT_Plugin_Attributes: Some(PJRT_Plugin_Attributes),
        PJRT_Event_Destroy: Some(event::PJRT_Event_Destroy),
        PJRT_Event_IsReady: Some(event::PJRT_Event_IsReady),
        PJRT_Event_Error: Some(event::PJRT_Event_Error),
        PJRT_Event_Await: Some(event::PJRT_Event_Await),
        PJRT_Event_OnReady: Some(event::PJRT_Event_OnReady),
        PJRT_Client_Create: Some(client::PJRT_Client_Create),
        PJRT_Client_Destroy: Some(client::PJRT_Client_Destroy),
        PJRT_Client_PlatformName: Some(client::PJRT_Client_PlatformName),
        PJRT_Client_ProcessIndex: Some(client::PJRT_Client_ProcessIndex),
        PJRT_Client_PlatformVersion: Some(client::PJRT_Client_PlatformVersion),
        PJRT_Client_Devices: Some(client::PJRT_Client_Devices),
        PJRT_Client_AddressableDevices: Some(client::PJRT_Client_AddressableDevices),
        PJRT_Client_LookupDevice: Some(client::PJRT_Client_LookupDevice),
        PJRT_Client_LookupAddressableDevice: Some(client::PJRT_Client_LookupAddressableDevice),
        PJRT_Client_AddressableMemories: Some(client::PJRT_Client_AddressableMemories),
        PJRT_Client_Compile: Some(loaded::PJRT_Client_Compile),
        PJRT_Client_DefaultDeviceAssignment: Some(client::PJRT_Client_DefaultDeviceAssignment),
        PJRT_Client_BufferFromHostBuffer: Some(buffer::PJRT_Client_BufferFromHostBuffer),
        PJRT_DeviceDescription_Id: Some(description::PJRT_DeviceDescription_Id),
        PJRT_DeviceDescription_ProcessIndex: Some(description::PJRT_DeviceDescription_ProcessIndex),
        PJRT_DeviceDescription_Attributes: Some(description::PJRT_DeviceDescription_Attributes),
        PJRT_DeviceDescription_Kind: Some(description::PJRT_DeviceDescription_Kind),
        PJRT_DeviceDescription_DebugString: Some(description::PJRT_DeviceDescription_DebugString),
        PJRT_DeviceDescription_ToString: Some(description::PJRT_DeviceDescription_ToString),
        PJRT_Device_GetDescription: Some(client::PJRT_Device_GetDescription),
        PJRT_Device_IsAddressable: Some(client::PJRT_Device_IsAddressable),
        PJRT_Device_LocalHardwareId: Some(client::PJRT_Device_LocalHardwareId),
        PJRT_Device_AddressableMemories: Some(client::PJRT_Device_AddressableMemories),
        PJRT_Device_DefaultMemory: Some(client::PJRT_Device_DefaultMemory),
        PJRT_Device_MemoryStats: Some(client::PJRT_Device_MemoryStats),
        PJRT_Memory_Id: Some(memory::PJRT_Memory_Id),
        PJRT_Memory_Kind: Some(memory::PJRT_Memory_Kind),
        PJRT_Memory_DebugString: Some(memory::PJRT_Memory_DebugString),
        PJRT_Memory_ToString: Some(memory::PJRT_Memory_ToString),
        PJRT_Memory_AddressableByDevices: Some(memory::PJRT_Memory_AddressableByDevices),
        PJRT_Executable_Destroy: Some(executable::PJRT_Executable_Destroy),
        PJRT_Executable_Name: Some(executable::PJRT_Executable_Name),
        PJRT_Executable_NumReplicas: Some(executable::PJRT_Executable_NumReplicas),
        PJRT_Executable_NumPartitions: Some(executable::PJRT_Executable_NumPartitions),
        PJRT_Executable_NumOutputs: Some(executable::PJRT_Executable_NumOutputs),
        PJRT_Executable_SizeOfGeneratedCodeInBytes: Some(
            executable::PJRT_Executable_SizeOfGeneratedCodeInBytes,
        ),
        PJRT_Executable_GetCostAnalysis: Some(executable::PJRT_Executable_GetCostAnalysis),
        PJRT_Executable_OutputMemoryKinds: Some(executable::PJRT_Executable_OutputMemoryKinds),
        PJRT_Executable_OptimizedProgram: Some(executable::PJRT_Executable_OptimizedProgram),
        PJRT_Executable_Serialize: Some(executable::PJRT_Executable_Serialize),
        PJRT_LoadedExecutable_Destroy: Some(loaded::PJRT_LoadedExecutable_Destroy),
        PJRT_LoadedExecutable_GetExecutable: Some(loaded::PJRT_LoadedExecutable_GetExecutable),
        PJRT_LoadedExecutable_AddressableDevices: Some(
            loaded::PJRT_LoadedExecutable_AddressableDevices,
        ),
        PJRT_LoadedExecutable_Delete: Some(loaded::PJRT_LoadedExecutable_Delete),
        PJRT_LoadedExecutable_IsDeleted: Some(loaded::PJRT_LoadedExecutable_IsDeleted),
        PJRT_LoadedExecutable_Execute: Some(loaded::PJRT_LoadedExecutable_Execute),
        PJRT_Executable_DeserializeAndLoad: Some(loaded::PJRT_Executable_DeserializeAndLoad),
        PJRT_LoadedExecutable_Fingerprint: Some(loaded::PJRT_LoadedExecutable_Fingerprint),
        PJRT_Buffer_Destroy: Some(buffer::PJRT_Buffer_Destroy),
        PJRT_Buffer_ElementType: Some(buffer::PJRT_Buffer_ElementType),
        PJRT_Buffer_Dimensions: Some(buffer::PJRT_Buffer_Dimensions),
        PJRT_Buffer_UnpaddedDimensions: Some(buffer::PJRT_Buffer_UnpaddedDimensions),
        PJRT_Buffer_DynamicDimensionIndices: Some(buffer::PJRT_Buffer_DynamicDimensionIndices),
        PJRT_Buffer_GetMemoryLayout: Some(buffer::PJRT_Buffer_GetMemoryLayout),
        PJRT_Buffer_OnDeviceSizeInBytes: Some(buffer::PJRT_Buffer_OnDeviceSizeInBytes),
        PJRT_Buffer_Device: Some(buffer::PJRT_Buffer_Device),
        PJRT_Buffer_Memory: Some(buffer::PJRT_Buffer_Memory),
        PJRT_Buffer_Delete: Some(buffer::PJRT_Buffer_Delete),
        PJRT_Buffer_IsDeleted: Some(buffer::PJRT_Buffer_IsDeleted),
        PJRT_Buffer_CopyToDevice: Some(buffer::PJRT_Buffer_CopyToDevice),
        PJRT_Buffer_ToHostBuffer: Some(buffer::PJRT_Buffer_ToHostBuffer),
        PJRT_Buffer_IsOnCpu: Some(buffer::PJRT_Buffer_IsOnCpu),
        PJRT_Buffer_ReadyEvent: Some(buffer::PJRT_Buffer_ReadyEvent),
        PJRT_Buffer_UnsafePointer: Some(buffer::PJRT_Buffer_UnsafePointer),
        PJRT_Buffer_IncreaseExternalReferenceCount: Some(
            buffer::PJRT_Buffer_IncreaseExternalReferenceCount,
        ),
        PJRT_Buffer_DecreaseExternalReferenceCount: Some(
            buffer::PJRT_Buffer_DecreaseExternalReferenceCount,
        ),
        PJRT_Buffer_OpaqueDeviceMemoryDataPointer: Some(
            buffer::PJRT_Buffer_OpaqueDeviceMemoryDataPointer,
        ),
        PJRT_CopyToDeviceStream_Destroy: Some(host::PJRT_CopyToDeviceStream_Destroy),
        PJRT_CopyToDeviceStream_AddChunk: Some(host::PJRT_CopyToDeviceStream_AddChunk),
        PJRT_CopyToDeviceStream_TotalBytes: Some(host::PJRT_CopyToDeviceStream_TotalBytes),
        PJRT_CopyToDeviceStream_GranuleSize: Some(host::PJRT_CopyToDeviceStream_GranuleSize),
        PJRT_CopyToDeviceStream_CurrentBytes: Some(host::PJRT_CopyToDeviceStream_CurrentBytes),
        PJRT_TopologyDescription_Create: Some(description::PJRT_TopologyDescription_Create),
        PJRT_TopologyDescription_Destroy: Some(description::PJRT_TopologyDescription_Destroy),
        PJRT_TopologyDescription_PlatformName: Some(
            description::PJRT_TopologyDescription_PlatformName,
        ),
        PJRT_TopologyDescription_PlatformVersion: Some(
            description::PJRT_TopologyDescription_PlatformVersion,
        ),
        PJRT_TopologyDescription_GetDeviceDescriptions: Some(
            description::PJRT_TopologyDescription_GetDeviceDescriptions,
        ),
        PJRT_TopologyDescription_Serialize: Some(description::PJRT_TopologyDescription_Serialize),
        PJRT_TopologyDescription_Attributes: Some(description::PJRT_TopologyDescription_Attributes),
        PJRT_Compile: Some(executable::PJRT_Compile),
        PJRT_Executable_OutputElementTypes: Some(executable::PJRT_Executable_OutputElementTypes),
        PJRT_Executable_OutputDimensions: Some(executable::PJRT_Executable_OutputDimensions),
        PJRT_Buffer_CopyToMemory: Some(buffer::PJRT_Buffer_CopyToMemory),
        PJRT_Client_CreateViewOfDeviceBuffer: Some(buffer::PJRT_Client_CreateViewOfDeviceBuffer),
        PJRT_Executable_Fingerprint: Some(executable::PJRT_Executable_Fingerprint),
        PJRT_Client_TopologyDescription: Some(client::PJRT_Client_TopologyDescription),
        PJRT_Executable_GetCompiledMemoryStats: Some(
            executable::PJRT_Executable_GetCompiledMemoryStats,
        ),
        PJRT_Memory_Kind_Id: Some(memory::PJRT_Memory_Kind_Id),
        PJRT_ExecuteContext_Create: Some(xla_ffi::PJRT_ExecuteContext_Create),
        PJRT_ExecuteContext_Destroy: Some(xla_ffi::PJRT_ExecuteContext_Destroy),
        PJRT_Buffer_CopyRawToHost: Some(raw_copy::PJRT_Buffer_CopyRawToHost),
        PJRT_AsyncHostToDeviceTransferManager_Destroy: Some(
            transfer::PJRT_AsyncHostToDeviceTransferManager_Destroy,
        ),
        PJRT_AsyncHostToDeviceTransferManager_TransferData: Some(
            transfer::PJRT_AsyncHostToDeviceTransferManager_TransferData,
        ),
        PJRT_Client_CreateBuffersForAsyncHostToDevice: Some(
            transfer::PJRT_Client_CreateBuffersForAsyncHostToDevice,
        ),
        PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer: Some(
            transfer::PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer,
        ),
        PJRT_AsyncHostToDeviceTransferManager_Device: Some(
            transfer::PJRT_AsyncHostToDeviceTransferManager_Device,
        ),
        PJRT_AsyncHostToDeviceTransferManager_BufferCount: Some(
            transfer::PJRT_AsyncHostToDeviceTransferManager_BufferCount,
        ),
        PJRT_AsyncHostToDeviceTransferManager_BufferSize: Some(
            transfer::PJRT_AsyncHostToDeviceTransferManager_BufferSize,
        ),
        PJRT_AsyncHostToDeviceTransferManager_SetBufferError: Some(
            transfer::PJRT_AsyncHostToDeviceTransferManager_SetBufferError,
        ),
        PJRT_AsyncHostToDeviceTransferManager_AddMetadata: Some(
            transfer::PJRT_AsyncHostToDeviceTransferManager_AddMetadata,
        ),
        PJRT_Client_DmaMap: Some(client::PJRT_Client_DmaMap),
        PJRT_Client_DmaUnmap: Some(client::PJRT_Client_DmaUnmap),
        PJRT_Client_CreateUninitializedBuffer: Some(buffer::PJRT_Client_CreateUninitializedBuffer),
        PJRT_Client_UpdateGlobalProcessInfo: Some(client::PJRT_Client_UpdateGlobalProcessInfo),
        PJRT_TopologyDescription_Deserialize: Some(
            description::PJRT_TopologyDescription_Deserialize,
        ),
        PJRT_Client_CreateAliasBuffer: Some(transfer::PJRT_Client_CreateAliasBuffer),
        PJRT_Client_FulfillAliasBuffer: Some(transfer::PJRT_Client_FulfillAliasBuffer),
        PJRT_LoadedExecutable_GetDeviceAssignment: Some(
            loaded::PJRT_LoadedExecutable_GetDeviceAssignment,
        ),
        PJRT_Client_CreateErrorBuffer: Some(buffer::PJRT_Client_CreateErrorBuffer),
        PJRT_AsyncHostToDeviceTransferManager_TransferLiteral: Some(
            transfer::PJRT_AsyncHostToDeviceTransferManager_TransferLiteral,
        ),
        PJRT_Buffer_CopyRawToHostFuture: Some(raw_copy::PJRT_Buffer_CopyRawToHostFuture),
        PJRT_Device_PoisonExecution: Some(client::PJRT_Device_PoisonExecution),
        PJRT_Device_CreateAsyncTrackingEvent: Some(client::PJRT_Device_CreateAsyncTrackingEvent),
        PJRT_AsyncTrackingEvent_Destroy: Some(client::PJRT_AsyncTrackingEvent_Destroy),
        PJRT_Executable_GetCompileOptions: Some(executable::PJRT_Executable_GetCompileOptions),
        PJRT_Buffer_DonateWithControlDependency: Some(
            transfer::PJRT_Buffer_DonateWithControlDependency,
        ),
        PJRT_Event_Create: Some(event::PJRT_Event_Create),
        PJRT_Event_Set: Some(event::PJRT_Event_Set),
        PJRT_Device_GetAttributes: Some(client::PJRT_Device_GetAttributes),
        PJRT_Client_Load: Some(loaded::PJRT_Client_Load),
        PJRT_LoadedExecutable_AddressableDeviceLogicalIds: Some(
            loaded::PJRT_LoadedExecutable_AddressableDeviceLogicalIds,
        ),
        PJRT_Buffer_Bitcast: Some(buffer::PJRT_Buffer_Bitcast),
        PJRT_Error_ForEachPayload: Some(error::PJRT_Error_ForEachPayload),
        PJRT_TopologyDescription_Fingerprint: Some(
            description::PJRT_TopologyDescription_Fingerprint,
        ),
        PJRT_Executable_ParameterMemoryKinds: Some(
            executable::PJRT_Executable_ParameterMemoryKinds,
        ),
        PJRT_Device_ClearMemoryStats: Some(client::PJRT_Device_ClearMemoryStats),
        PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace: Some(
            transfer::PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace,
        ),
        PJRT_TopologyDescription_GetMemorySpaceKindIds: Some(
            description::PJRT_TopologyDescription_GetMemorySpaceKindIds,
        ),
    }
}
