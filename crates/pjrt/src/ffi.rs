// bindgen 0.73.2: bindgen bindings.h --no-doc-comments --no-layout-tests --default-enum-style consts --no-prepend-enum-name --allowlist-item "PJRT_.*|PLUGIN_.*|XLA_FFI_.*" --blocklist-item XLA_FFI_GetApi --rust-edition 2024 --rust-target 1.85 --use-core --disable-header-comment -- -x c++ -std=c++17 -I$XLA
pub const PJRT_API_MAJOR: u32 = 0;
pub const PJRT_API_MINOR: u32 = 112;
pub const PJRT_API_LAYOUTS_EXTENSION_VERSION: u32 = 4;
pub const PJRT_API_SHARDINGS_EXTENSION_VERSION: u32 = 1;
pub const PJRT_API_FFI_EXTENSION_VERSION: u32 = 3;
pub const PLUGIN_PROFILER_VERSION: u32 = 1;
pub const PJRT_API_PROFILER_EXTENSION_VERSION: u32 = 1;
pub const PJRT_API_MEMORY_DESCRIPTIONS_EXTENSION_VERSION: u32 = 1;
pub const XLA_FFI_API_MAJOR: u32 = 0;
pub const XLA_FFI_API_MINOR: u32 = 3;
pub const PJRT_Extension_Type_Gpu_Custom_Call: PJRT_Extension_Type = 0;
pub const PJRT_Extension_Type_Profiler: PJRT_Extension_Type = 1;
pub const PJRT_Extension_Type_Custom_Partitioner: PJRT_Extension_Type = 2;
pub const PJRT_Extension_Type_Stream: PJRT_Extension_Type = 3;
pub const PJRT_Extension_Type_Layouts: PJRT_Extension_Type = 4;
pub const PJRT_Extension_Type_FFI: PJRT_Extension_Type = 5;
pub const PJRT_Extension_Type_MemoryDescriptions: PJRT_Extension_Type = 6;
pub const PJRT_Extension_Type_Triton: PJRT_Extension_Type = 7;
pub const PJRT_Extension_Type_RawBuffer: PJRT_Extension_Type = 8;
pub const PJRT_Extension_Type_PhaseCompile: PJRT_Extension_Type = 9;
pub const PJRT_Extension_Type_Example: PJRT_Extension_Type = 10;
pub const PJRT_Extension_Type_Unknown: PJRT_Extension_Type = 11;
pub const PJRT_Extension_Type_CrossHostTransfers: PJRT_Extension_Type = 12;
pub const PJRT_Extension_Type_ExecutableMetadata: PJRT_Extension_Type = 13;
pub const PJRT_Extension_Type_Callback: PJRT_Extension_Type = 14;
pub const PJRT_Extension_Type_HostAllocator: PJRT_Extension_Type = 15;
pub const PJRT_Extension_Type_TpuTopology: PJRT_Extension_Type = 16;
pub const PJRT_Extension_Type_TpuExecutable: PJRT_Extension_Type = 17;
pub const PJRT_Extension_Type_Megascale: PJRT_Extension_Type = 18;
pub const PJRT_Extension_Type_Shardings: PJRT_Extension_Type = 19;
pub const PJRT_Extension_Type_AbiVersion: PJRT_Extension_Type = 20;
pub const PJRT_Extension_Type_Collectives: PJRT_Extension_Type = 21;
pub const PJRT_Extension_Type_MultiSlice: PJRT_Extension_Type = 22;
pub const PJRT_Extension_Type_HostMemoryAllocator: PJRT_Extension_Type = 23;
pub const PJRT_Extension_Type_XlaTransform: PJRT_Extension_Type = 24;
pub type PJRT_Extension_Type = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Extension_Base {
    pub struct_size: usize,
    pub type_: PJRT_Extension_Type,
    pub next: *mut PJRT_Extension_Base,
}
pub const PJRT_Extension_Base_STRUCT_SIZE: _bindgen_ty_1 = 24;
pub type _bindgen_ty_1 = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Api_Version {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub major_version: ::core::ffi::c_int,
    pub minor_version: ::core::ffi::c_int,
}
pub const PJRT_Api_Version_STRUCT_SIZE: _bindgen_ty_2 = 24;
pub type _bindgen_ty_2 = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Error_Destroy_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub error: *mut PJRT_Error,
}
pub const PJRT_Error_Destroy_Args_STRUCT_SIZE: _bindgen_ty_3 = 24;
pub type _bindgen_ty_3 = ::core::ffi::c_uint;
pub type PJRT_Error_Destroy =
    ::core::option::Option<unsafe extern "C" fn(args: *mut PJRT_Error_Destroy_Args)>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Error_Message_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub error: *const PJRT_Error,
    pub message: *const ::core::ffi::c_char,
    pub message_size: usize,
}
pub const PJRT_Error_Message_Args_STRUCT_SIZE: _bindgen_ty_4 = 40;
pub type _bindgen_ty_4 = ::core::ffi::c_uint;
pub type PJRT_Error_Message =
    ::core::option::Option<unsafe extern "C" fn(args: *mut PJRT_Error_Message_Args)>;
pub const PJRT_Error_Code_OK: PJRT_Error_Code = 0;
pub const PJRT_Error_Code_CANCELLED: PJRT_Error_Code = 1;
pub const PJRT_Error_Code_UNKNOWN: PJRT_Error_Code = 2;
pub const PJRT_Error_Code_INVALID_ARGUMENT: PJRT_Error_Code = 3;
pub const PJRT_Error_Code_DEADLINE_EXCEEDED: PJRT_Error_Code = 4;
pub const PJRT_Error_Code_NOT_FOUND: PJRT_Error_Code = 5;
pub const PJRT_Error_Code_ALREADY_EXISTS: PJRT_Error_Code = 6;
pub const PJRT_Error_Code_PERMISSION_DENIED: PJRT_Error_Code = 7;
pub const PJRT_Error_Code_RESOURCE_EXHAUSTED: PJRT_Error_Code = 8;
pub const PJRT_Error_Code_FAILED_PRECONDITION: PJRT_Error_Code = 9;
pub const PJRT_Error_Code_ABORTED: PJRT_Error_Code = 10;
pub const PJRT_Error_Code_OUT_OF_RANGE: PJRT_Error_Code = 11;
pub const PJRT_Error_Code_UNIMPLEMENTED: PJRT_Error_Code = 12;
pub const PJRT_Error_Code_INTERNAL: PJRT_Error_Code = 13;
pub const PJRT_Error_Code_UNAVAILABLE: PJRT_Error_Code = 14;
pub const PJRT_Error_Code_DATA_LOSS: PJRT_Error_Code = 15;
pub const PJRT_Error_Code_UNAUTHENTICATED: PJRT_Error_Code = 16;
pub type PJRT_Error_Code = ::core::ffi::c_uint;
pub type PJRT_Error_PayloadVisitor = ::core::option::Option<
    unsafe extern "C" fn(
        key: *const ::core::ffi::c_char,
        key_size: usize,
        value: *const ::core::ffi::c_char,
        value_size: usize,
        user_arg: *mut ::core::ffi::c_void,
    ),
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Error_FunctionTable {
    pub struct_size: usize,
    pub instance_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub destroy: ::core::option::Option<unsafe extern "C" fn(error: *mut PJRT_Error)>,
    pub message: ::core::option::Option<
        unsafe extern "C" fn(
            error: *const PJRT_Error,
            message: *mut *const ::core::ffi::c_char,
            message_size: *mut usize,
        ),
    >,
    pub get_code:
        ::core::option::Option<unsafe extern "C" fn(error: *const PJRT_Error) -> PJRT_Error_Code>,
    pub for_each_payload: ::core::option::Option<
        unsafe extern "C" fn(
            error: *const PJRT_Error,
            visitor: PJRT_Error_PayloadVisitor,
            user_arg: *mut ::core::ffi::c_void,
        ),
    >,
}
pub const PJRT_Error_FunctionTable_STRUCT_SIZE: _bindgen_ty_5 = 56;
pub type _bindgen_ty_5 = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Error {
    pub vtable: *const PJRT_Error_FunctionTable,
}
pub const PJRT_Error_STRUCT_SIZE: _bindgen_ty_6 = 8;
pub type _bindgen_ty_6 = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Error_GetCode_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub error: *const PJRT_Error,
    pub code: PJRT_Error_Code,
}
pub const PJRT_Error_GetCode_Args_STRUCT_SIZE: _bindgen_ty_7 = 28;
pub type _bindgen_ty_7 = ::core::ffi::c_uint;
pub type PJRT_Error_GetCode = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Error_GetCode_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Error_ForEachPayload_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub error: *const PJRT_Error,
    pub visitor: PJRT_Error_PayloadVisitor,
    pub user_arg: *mut ::core::ffi::c_void,
}
pub const PJRT_Error_ForEachPayload_Args_STRUCT_SIZE: _bindgen_ty_8 = 40;
pub type _bindgen_ty_8 = ::core::ffi::c_uint;
pub type PJRT_Error_ForEachPayload = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Error_ForEachPayload_Args) -> *mut PJRT_Error,
>;
pub type PJRT_CallbackError = ::core::option::Option<
    unsafe extern "C" fn(
        code: PJRT_Error_Code,
        message: *const ::core::ffi::c_char,
        message_size: usize,
    ) -> *mut PJRT_Error,
>;
pub const PJRT_NamedValue_kString: PJRT_NamedValue_Type = 0;
pub const PJRT_NamedValue_kInt64: PJRT_NamedValue_Type = 1;
pub const PJRT_NamedValue_kInt64List: PJRT_NamedValue_Type = 2;
pub const PJRT_NamedValue_kFloat: PJRT_NamedValue_Type = 3;
pub const PJRT_NamedValue_kBool: PJRT_NamedValue_Type = 4;
pub type PJRT_NamedValue_Type = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct PJRT_NamedValue {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub name: *const ::core::ffi::c_char,
    pub name_size: usize,
    pub type_: PJRT_NamedValue_Type,
    pub __bindgen_anon_1: PJRT_NamedValue__bindgen_ty_1,
    pub value_size: usize,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub union PJRT_NamedValue__bindgen_ty_1 {
    pub string_value: *const ::core::ffi::c_char,
    pub int64_value: i64,
    pub int64_array_value: *const i64,
    pub float_value: f32,
    pub bool_value: bool,
}
pub const PJRT_NamedValue_STRUCT_SIZE: _bindgen_ty_9 = 56;
pub type _bindgen_ty_9 = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Plugin_Initialize_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
}
pub const PJRT_Plugin_Initialize_Args_STRUCT_SIZE: _bindgen_ty_10 = 16;
pub type _bindgen_ty_10 = ::core::ffi::c_uint;
pub type PJRT_Plugin_Initialize = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Plugin_Initialize_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Plugin_Attributes_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub attributes: *const PJRT_NamedValue,
    pub num_attributes: usize,
}
pub const PJRT_Plugin_Attributes_Args_STRUCT_SIZE: _bindgen_ty_11 = 32;
pub type _bindgen_ty_11 = ::core::ffi::c_uint;
pub type PJRT_Plugin_Attributes = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Plugin_Attributes_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug)]
pub struct PJRT_Event {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Event_Destroy_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub event: *mut PJRT_Event,
}
pub const PJRT_Event_Destroy_Args_STRUCT_SIZE: _bindgen_ty_12 = 24;
pub type _bindgen_ty_12 = ::core::ffi::c_uint;
pub type PJRT_Event_Destroy = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Event_Destroy_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Event_IsReady_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub event: *mut PJRT_Event,
    pub is_ready: bool,
}
pub const PJRT_Event_IsReady_Args_STRUCT_SIZE: _bindgen_ty_13 = 25;
pub type _bindgen_ty_13 = ::core::ffi::c_uint;
pub type PJRT_Event_IsReady = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Event_IsReady_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Event_Error_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub event: *mut PJRT_Event,
}
pub const PJRT_Event_Error_Args_STRUCT_SIZE: _bindgen_ty_14 = 24;
pub type _bindgen_ty_14 = ::core::ffi::c_uint;
pub type PJRT_Event_Error = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Event_Error_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Event_Await_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub event: *mut PJRT_Event,
}
pub const PJRT_Event_Await_Args_STRUCT_SIZE: _bindgen_ty_15 = 24;
pub type _bindgen_ty_15 = ::core::ffi::c_uint;
pub type PJRT_Event_Await = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Event_Await_Args) -> *mut PJRT_Error,
>;
pub type PJRT_Event_OnReadyCallback = ::core::option::Option<
    unsafe extern "C" fn(error: *mut PJRT_Error, user_arg: *mut ::core::ffi::c_void),
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Event_OnReady_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub event: *mut PJRT_Event,
    pub callback: PJRT_Event_OnReadyCallback,
    pub user_arg: *mut ::core::ffi::c_void,
}
pub const PJRT_Event_OnReady_Args_STRUCT_SIZE: _bindgen_ty_16 = 40;
pub type _bindgen_ty_16 = ::core::ffi::c_uint;
pub type PJRT_Event_OnReady = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Event_OnReady_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Event_Create_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub event: *mut PJRT_Event,
}
pub const PJRT_Event_Create_Args_STRUCT_SIZE: _bindgen_ty_17 = 24;
pub type _bindgen_ty_17 = ::core::ffi::c_uint;
pub type PJRT_Event_Create = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Event_Create_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Event_Set_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub event: *mut PJRT_Event,
    pub error_code: PJRT_Error_Code,
    pub error_message: *const ::core::ffi::c_char,
    pub error_message_size: usize,
}
pub const PJRT_Event_Set_Args_STRUCT_SIZE: _bindgen_ty_18 = 48;
pub type _bindgen_ty_18 = ::core::ffi::c_uint;
pub type PJRT_Event_Set =
    ::core::option::Option<unsafe extern "C" fn(args: *mut PJRT_Event_Set_Args) -> *mut PJRT_Error>;
#[repr(C)]
#[derive(Debug)]
pub struct PJRT_Client {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug)]
pub struct PJRT_Device {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Memory_FunctionTable {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub instance_struct_size: usize,
    pub get_user_data: ::core::option::Option<
        unsafe extern "C" fn(
            memory: *mut PJRT_Memory,
            key: *const ::core::ffi::c_void,
        ) -> *mut ::core::ffi::c_void,
    >,
    pub set_user_data: ::core::option::Option<
        unsafe extern "C" fn(
            memory: *mut PJRT_Memory,
            key: *const ::core::ffi::c_void,
            data: *mut ::core::ffi::c_void,
            dtor: ::core::option::Option<unsafe extern "C" fn(arg1: *mut ::core::ffi::c_void)>,
        ),
    >,
}
pub const PJRT_Memory_FunctionTable_STRUCT_SIZE: _bindgen_ty_19 = 40;
pub type _bindgen_ty_19 = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Memory {
    pub vtable: *const PJRT_Memory_FunctionTable,
}
pub const PJRT_Memory_STRUCT_SIZE: _bindgen_ty_20 = 8;
pub type _bindgen_ty_20 = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Debug)]
pub struct PJRT_DeviceDescription {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug)]
pub struct PJRT_TopologyDescription {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug)]
pub struct PJRT_Executable {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug)]
pub struct PJRT_LoadedExecutable {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug)]
pub struct PJRT_Buffer {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug)]
pub struct PJRT_FulfillAliasBufferCallback {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug)]
pub struct PJRT_AsyncHostToDeviceTransferManager {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug)]
pub struct PJRT_PhaseCompiler {
    _unused: [u8; 0],
}
pub type PJRT_KeyValueGetCallback_ValueDeleter =
    ::core::option::Option<unsafe extern "C" fn(value: *mut ::core::ffi::c_char)>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_KeyValueGetCallback_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub key: *const ::core::ffi::c_char,
    pub key_size: usize,
    pub timeout_in_ms: ::core::ffi::c_int,
    pub callback_error: *mut PJRT_CallbackError,
    pub user_arg: *mut ::core::ffi::c_void,
    pub value: *mut ::core::ffi::c_char,
    pub value_size: usize,
    pub value_deleter_callback: PJRT_KeyValueGetCallback_ValueDeleter,
}
pub const PJRT_KeyValueGetCallback_Args_STRUCT_SIZE: _bindgen_ty_21 = 80;
pub type _bindgen_ty_21 = ::core::ffi::c_uint;
pub type PJRT_KeyValueGetCallback = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_KeyValueGetCallback_Args) -> *mut PJRT_Error,
>;
pub type PJRT_KeyValueTryGetCallback_ValueDeleter =
    ::core::option::Option<unsafe extern "C" fn(value: *mut ::core::ffi::c_char)>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_KeyValueTryGetCallback_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub key: *const ::core::ffi::c_char,
    pub key_size: usize,
    pub callback_error: *mut PJRT_CallbackError,
    pub user_arg: *mut ::core::ffi::c_void,
    pub value: *mut ::core::ffi::c_char,
    pub value_size: usize,
    pub value_deleter_callback: PJRT_KeyValueTryGetCallback_ValueDeleter,
}
pub const PJRT_KeyValueTryGetCallback_Args_STRUCT_SIZE: _bindgen_ty_22 = 72;
pub type _bindgen_ty_22 = ::core::ffi::c_uint;
pub type PJRT_KeyValueTryGetCallback = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_KeyValueTryGetCallback_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_KeyValuePutCallback_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub key: *const ::core::ffi::c_char,
    pub key_size: usize,
    pub value: *const ::core::ffi::c_char,
    pub value_size: usize,
    pub callback_error: *mut PJRT_CallbackError,
    pub user_arg: *mut ::core::ffi::c_void,
}
pub const PJRT_KeyValuePutCallback_Args_STRUCT_SIZE: _bindgen_ty_23 = 64;
pub type _bindgen_ty_23 = ::core::ffi::c_uint;
pub type PJRT_KeyValuePutCallback = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_KeyValuePutCallback_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Client_Create_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub create_options: *const PJRT_NamedValue,
    pub num_options: usize,
    pub kv_get_callback: PJRT_KeyValueGetCallback,
    pub kv_get_user_arg: *mut ::core::ffi::c_void,
    pub kv_put_callback: PJRT_KeyValuePutCallback,
    pub kv_put_user_arg: *mut ::core::ffi::c_void,
    pub client: *mut PJRT_Client,
    pub kv_try_get_callback: PJRT_KeyValueTryGetCallback,
    pub kv_try_get_user_arg: *mut ::core::ffi::c_void,
}
pub const PJRT_Client_Create_Args_STRUCT_SIZE: _bindgen_ty_24 = 88;
pub type _bindgen_ty_24 = ::core::ffi::c_uint;
pub type PJRT_Client_Create = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Client_Create_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Client_Destroy_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
}
pub const PJRT_Client_Destroy_Args_STRUCT_SIZE: _bindgen_ty_25 = 24;
pub type _bindgen_ty_25 = ::core::ffi::c_uint;
pub type PJRT_Client_Destroy = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Client_Destroy_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Client_PlatformName_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub platform_name: *const ::core::ffi::c_char,
    pub platform_name_size: usize,
}
pub const PJRT_Client_PlatformName_Args_STRUCT_SIZE: _bindgen_ty_26 = 40;
pub type _bindgen_ty_26 = ::core::ffi::c_uint;
pub type PJRT_Client_PlatformName = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Client_PlatformName_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Client_ProcessIndex_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub process_index: ::core::ffi::c_int,
}
pub const PJRT_Client_ProcessIndex_Args_STRUCT_SIZE: _bindgen_ty_27 = 28;
pub type _bindgen_ty_27 = ::core::ffi::c_uint;
pub type PJRT_Client_ProcessIndex = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Client_ProcessIndex_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Client_PlatformVersion_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub platform_version: *const ::core::ffi::c_char,
    pub platform_version_size: usize,
}
pub const PJRT_Client_PlatformVersion_Args_STRUCT_SIZE: _bindgen_ty_28 = 40;
pub type _bindgen_ty_28 = ::core::ffi::c_uint;
pub type PJRT_Client_PlatformVersion = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Client_PlatformVersion_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Client_TopologyDescription_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub topology: *mut PJRT_TopologyDescription,
}
pub const PJRT_Client_TopologyDescription_Args_STRUCT_SIZE: _bindgen_ty_29 = 32;
pub type _bindgen_ty_29 = ::core::ffi::c_uint;
pub type PJRT_Client_TopologyDescription = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Client_TopologyDescription_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Client_Devices_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub devices: *const *mut PJRT_Device,
    pub num_devices: usize,
}
pub const PJRT_Client_Devices_Args_STRUCT_SIZE: _bindgen_ty_30 = 40;
pub type _bindgen_ty_30 = ::core::ffi::c_uint;
pub type PJRT_Client_Devices = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Client_Devices_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Client_AddressableDevices_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub addressable_devices: *const *mut PJRT_Device,
    pub num_addressable_devices: usize,
}
pub const PJRT_Client_AddressableDevices_Args_STRUCT_SIZE: _bindgen_ty_31 = 40;
pub type _bindgen_ty_31 = ::core::ffi::c_uint;
pub type PJRT_Client_AddressableDevices = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Client_AddressableDevices_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Client_LookupDevice_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub id: ::core::ffi::c_int,
    pub device: *mut PJRT_Device,
}
pub const PJRT_Client_LookupDevice_Args_STRUCT_SIZE: _bindgen_ty_32 = 40;
pub type _bindgen_ty_32 = ::core::ffi::c_uint;
pub type PJRT_Client_LookupDevice = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Client_LookupDevice_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Client_LookupAddressableDevice_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub local_hardware_id: ::core::ffi::c_int,
    pub addressable_device: *mut PJRT_Device,
}
pub const PJRT_Client_LookupAddressableDevice_Args_STRUCT_SIZE: _bindgen_ty_33 = 40;
pub type _bindgen_ty_33 = ::core::ffi::c_uint;
pub type PJRT_Client_LookupAddressableDevice = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Client_LookupAddressableDevice_Args) -> *mut PJRT_Error,
>;
pub const PJRT_ProcessState_kUnspecified: PJRT_ProcessState = 0;
pub const PJRT_ProcessState_kUninitialized: PJRT_ProcessState = 1;
pub const PJRT_ProcessState_kDisconnected: PJRT_ProcessState = 2;
pub const PJRT_ProcessState_kConnected: PJRT_ProcessState = 3;
pub const PJRT_ProcessState_kError: PJRT_ProcessState = 4;
pub type PJRT_ProcessState = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_ProcessInfo {
    pub struct_size: usize,
    pub task_id: ::core::ffi::c_int,
    pub incarnation_id: u64,
    pub state: PJRT_ProcessState,
    pub error_code: ::core::ffi::c_int,
    pub error_message: *const ::core::ffi::c_char,
    pub error_message_size: usize,
}
pub const PJRT_ProcessInfo_STRUCT_SIZE: _bindgen_ty_34 = 48;
pub type _bindgen_ty_34 = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Client_UpdateGlobalProcessInfo_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub process_infos: *mut PJRT_ProcessInfo,
    pub num_process_infos: usize,
}
pub const PJRT_Client_UpdateGlobalProcessInfo_Args_STRUCT_SIZE: _bindgen_ty_35 = 40;
pub type _bindgen_ty_35 = ::core::ffi::c_uint;
pub type PJRT_Client_UpdateGlobalProcessInfo = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Client_UpdateGlobalProcessInfo_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Client_AddressableMemories_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub addressable_memories: *const *mut PJRT_Memory,
    pub num_addressable_memories: usize,
}
pub const PJRT_Client_AddressableMemories_Args_STRUCT_SIZE: _bindgen_ty_36 = 40;
pub type _bindgen_ty_36 = ::core::ffi::c_uint;
pub type PJRT_Client_AddressableMemories = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Client_AddressableMemories_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Program {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub code: *mut ::core::ffi::c_char,
    pub code_size: usize,
    pub format: *const ::core::ffi::c_char,
    pub format_size: usize,
}
pub const PJRT_Program_STRUCT_SIZE: _bindgen_ty_37 = 48;
pub type _bindgen_ty_37 = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Client_Compile_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub program: *const PJRT_Program,
    pub compile_options: *const ::core::ffi::c_char,
    pub compile_options_size: usize,
    pub executable: *mut PJRT_LoadedExecutable,
}
pub const PJRT_Client_Compile_Args_STRUCT_SIZE: _bindgen_ty_38 = 56;
pub type _bindgen_ty_38 = ::core::ffi::c_uint;
pub type PJRT_Client_Compile = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Client_Compile_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Client_Load_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub executable: *mut PJRT_Executable,
    pub compile_options: *const ::core::ffi::c_char,
    pub compile_options_size: usize,
    pub loaded_executable: *mut PJRT_LoadedExecutable,
}
pub const PJRT_Client_Load_Args_STRUCT_SIZE: _bindgen_ty_39 = 56;
pub type _bindgen_ty_39 = ::core::ffi::c_uint;
pub type PJRT_Client_Load = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Client_Load_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Client_DefaultDeviceAssignment_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub num_replicas: ::core::ffi::c_int,
    pub num_partitions: ::core::ffi::c_int,
    pub default_assignment_size: usize,
    pub default_assignment: *mut ::core::ffi::c_int,
}
pub const PJRT_Client_DefaultDeviceAssignment_Args_STRUCT_SIZE: _bindgen_ty_40 = 48;
pub type _bindgen_ty_40 = ::core::ffi::c_uint;
pub type PJRT_Client_DefaultDeviceAssignment = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Client_DefaultDeviceAssignment_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Client_DmaMap_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub data: *mut ::core::ffi::c_void,
    pub size: usize,
}
pub const PJRT_Client_DmaMap_Args_STRUCT_SIZE: _bindgen_ty_41 = 40;
pub type _bindgen_ty_41 = ::core::ffi::c_uint;
pub type PJRT_Client_DmaMap = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Client_DmaMap_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Client_DmaUnmap_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub data: *mut ::core::ffi::c_void,
}
pub const PJRT_Client_DmaUnmap_Args_STRUCT_SIZE: _bindgen_ty_42 = 32;
pub type _bindgen_ty_42 = ::core::ffi::c_uint;
pub type PJRT_Client_DmaUnmap = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Client_DmaUnmap_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_AsyncHostToDeviceTransferManager_Destroy_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub transfer_manager: *mut PJRT_AsyncHostToDeviceTransferManager,
}
pub const PJRT_AsyncHostToDeviceTransferManager_Destroy_Args_STRUCT_SIZE: _bindgen_ty_43 = 24;
pub type _bindgen_ty_43 = ::core::ffi::c_uint;
pub type PJRT_AsyncHostToDeviceTransferManager_Destroy = ::core::option::Option<
    unsafe extern "C" fn(
        args: *mut PJRT_AsyncHostToDeviceTransferManager_Destroy_Args,
    ) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_AsyncHostToDeviceTransferManager_TransferData_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub transfer_manager: *mut PJRT_AsyncHostToDeviceTransferManager,
    pub buffer_index: ::core::ffi::c_int,
    pub data: *const ::core::ffi::c_void,
    pub offset: i64,
    pub transfer_size: i64,
    pub is_last_transfer: bool,
    pub done_with_h2d_transfer: *mut PJRT_Event,
}
pub const PJRT_AsyncHostToDeviceTransferManager_TransferData_Args_STRUCT_SIZE: _bindgen_ty_44 = 72;
pub type _bindgen_ty_44 = ::core::ffi::c_uint;
pub type PJRT_AsyncHostToDeviceTransferManager_TransferData = ::core::option::Option<
    unsafe extern "C" fn(
        args: *mut PJRT_AsyncHostToDeviceTransferManager_TransferData_Args,
    ) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub transfer_manager: *mut PJRT_AsyncHostToDeviceTransferManager,
    pub buffer_index: ::core::ffi::c_int,
    pub buffer_out: *mut PJRT_Buffer,
}
pub const PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args_STRUCT_SIZE: _bindgen_ty_45 =
    40;
pub type _bindgen_ty_45 = ::core::ffi::c_uint;
pub type PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer = ::core::option::Option<
    unsafe extern "C" fn(
        args: *mut PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args,
    ) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_AsyncHostToDeviceTransferManager_Device_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub transfer_manager: *mut PJRT_AsyncHostToDeviceTransferManager,
    pub device_out: *mut PJRT_Device,
}
pub const PJRT_AsyncHostToDeviceTransferManager_Device_Args_STRUCT_SIZE: _bindgen_ty_46 = 32;
pub type _bindgen_ty_46 = ::core::ffi::c_uint;
pub type PJRT_AsyncHostToDeviceTransferManager_Device = ::core::option::Option<
    unsafe extern "C" fn(
        args: *mut PJRT_AsyncHostToDeviceTransferManager_Device_Args,
    ) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub transfer_manager: *mut PJRT_AsyncHostToDeviceTransferManager,
    pub buffer_count: usize,
}
pub const PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args_STRUCT_SIZE: _bindgen_ty_47 = 32;
pub type _bindgen_ty_47 = ::core::ffi::c_uint;
pub type PJRT_AsyncHostToDeviceTransferManager_BufferCount = ::core::option::Option<
    unsafe extern "C" fn(
        args: *mut PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args,
    ) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub transfer_manager: *mut PJRT_AsyncHostToDeviceTransferManager,
    pub buffer_index: ::core::ffi::c_int,
    pub buffer_size: usize,
}
pub const PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args_STRUCT_SIZE: _bindgen_ty_48 = 40;
pub type _bindgen_ty_48 = ::core::ffi::c_uint;
pub type PJRT_AsyncHostToDeviceTransferManager_BufferSize = ::core::option::Option<
    unsafe extern "C" fn(
        args: *mut PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args,
    ) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub transfer_manager: *mut PJRT_AsyncHostToDeviceTransferManager,
    pub buffer_index: ::core::ffi::c_int,
    pub error_code: PJRT_Error_Code,
    pub error_message: *const ::core::ffi::c_char,
    pub error_message_size: usize,
}
pub const PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args_STRUCT_SIZE: _bindgen_ty_49 =
    48;
pub type _bindgen_ty_49 = ::core::ffi::c_uint;
pub type PJRT_AsyncHostToDeviceTransferManager_SetBufferError = ::core::option::Option<
    unsafe extern "C" fn(
        args: *mut PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args,
    ) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub transfer_manager: *mut PJRT_AsyncHostToDeviceTransferManager,
    pub transfer_metadata: *const PJRT_NamedValue,
    pub num_metadata: usize,
}
pub const PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args_STRUCT_SIZE: _bindgen_ty_50 = 40;
pub type _bindgen_ty_50 = ::core::ffi::c_uint;
pub type PJRT_AsyncHostToDeviceTransferManager_AddMetadata = ::core::option::Option<
    unsafe extern "C" fn(
        args: *mut PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args,
    ) -> *mut PJRT_Error,
>;
pub const PJRT_Buffer_Type_INVALID: PJRT_Buffer_Type = 0;
pub const PJRT_Buffer_Type_PRED: PJRT_Buffer_Type = 1;
pub const PJRT_Buffer_Type_S8: PJRT_Buffer_Type = 2;
pub const PJRT_Buffer_Type_S16: PJRT_Buffer_Type = 3;
pub const PJRT_Buffer_Type_S32: PJRT_Buffer_Type = 4;
pub const PJRT_Buffer_Type_S64: PJRT_Buffer_Type = 5;
pub const PJRT_Buffer_Type_U8: PJRT_Buffer_Type = 6;
pub const PJRT_Buffer_Type_U16: PJRT_Buffer_Type = 7;
pub const PJRT_Buffer_Type_U32: PJRT_Buffer_Type = 8;
pub const PJRT_Buffer_Type_U64: PJRT_Buffer_Type = 9;
pub const PJRT_Buffer_Type_F16: PJRT_Buffer_Type = 10;
pub const PJRT_Buffer_Type_F32: PJRT_Buffer_Type = 11;
pub const PJRT_Buffer_Type_F64: PJRT_Buffer_Type = 12;
pub const PJRT_Buffer_Type_BF16: PJRT_Buffer_Type = 13;
pub const PJRT_Buffer_Type_C64: PJRT_Buffer_Type = 14;
pub const PJRT_Buffer_Type_C128: PJRT_Buffer_Type = 15;
pub const PJRT_Buffer_Type_F8E5M2: PJRT_Buffer_Type = 16;
pub const PJRT_Buffer_Type_F8E4M3FN: PJRT_Buffer_Type = 17;
pub const PJRT_Buffer_Type_F8E4M3B11FNUZ: PJRT_Buffer_Type = 18;
pub const PJRT_Buffer_Type_F8E5M2FNUZ: PJRT_Buffer_Type = 19;
pub const PJRT_Buffer_Type_F8E4M3FNUZ: PJRT_Buffer_Type = 20;
pub const PJRT_Buffer_Type_S4: PJRT_Buffer_Type = 21;
pub const PJRT_Buffer_Type_U4: PJRT_Buffer_Type = 22;
pub const PJRT_Buffer_Type_TOKEN: PJRT_Buffer_Type = 23;
pub const PJRT_Buffer_Type_S2: PJRT_Buffer_Type = 24;
pub const PJRT_Buffer_Type_U2: PJRT_Buffer_Type = 25;
pub const PJRT_Buffer_Type_F8E4M3: PJRT_Buffer_Type = 26;
pub const PJRT_Buffer_Type_F8E3M4: PJRT_Buffer_Type = 27;
pub const PJRT_Buffer_Type_F8E8M0FNU: PJRT_Buffer_Type = 28;
pub const PJRT_Buffer_Type_F4E2M1FN: PJRT_Buffer_Type = 29;
pub const PJRT_Buffer_Type_S1: PJRT_Buffer_Type = 30;
pub const PJRT_Buffer_Type_U1: PJRT_Buffer_Type = 31;
pub type PJRT_Buffer_Type = ::core::ffi::c_uint;
pub const PJRT_HostBufferSemantics_kImmutableOnlyDuringCall: PJRT_HostBufferSemantics = 0;
pub const PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes: PJRT_HostBufferSemantics = 1;
pub const PJRT_HostBufferSemantics_kImmutableZeroCopy: PJRT_HostBufferSemantics = 2;
pub const PJRT_HostBufferSemantics_kMutableZeroCopy: PJRT_HostBufferSemantics = 3;
pub type PJRT_HostBufferSemantics = ::core::ffi::c_uint;
pub const PJRT_Buffer_MemoryLayout_Type_Tiled: PJRT_Buffer_MemoryLayout_Type = 0;
pub const PJRT_Buffer_MemoryLayout_Type_Strides: PJRT_Buffer_MemoryLayout_Type = 1;
pub type PJRT_Buffer_MemoryLayout_Type = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Buffer_MemoryLayout_Tiled {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub minor_to_major: *const i64,
    pub minor_to_major_size: usize,
    pub tile_dims: *const i64,
    pub tile_dim_sizes: *const usize,
    pub num_tiles: usize,
}
pub const PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE: _bindgen_ty_51 = 56;
pub type _bindgen_ty_51 = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Buffer_MemoryLayout_Strides {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub byte_strides: *const i64,
    pub num_byte_strides: usize,
}
pub const PJRT_Buffer_MemoryLayout_Strides_STRUCT_SIZE: _bindgen_ty_52 = 32;
pub type _bindgen_ty_52 = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct PJRT_Buffer_MemoryLayout {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub __bindgen_anon_1: PJRT_Buffer_MemoryLayout__bindgen_ty_1,
    pub type_: PJRT_Buffer_MemoryLayout_Type,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub union PJRT_Buffer_MemoryLayout__bindgen_ty_1 {
    pub tiled: PJRT_Buffer_MemoryLayout_Tiled,
    pub strides: PJRT_Buffer_MemoryLayout_Strides,
}
pub const PJRT_Buffer_MemoryLayout_STRUCT_SIZE: _bindgen_ty_53 = 76;
pub type _bindgen_ty_53 = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub transfer_manager: *mut PJRT_AsyncHostToDeviceTransferManager,
    pub buffer_index: ::core::ffi::c_int,
    pub data: *const ::core::ffi::c_void,
    pub shape_dims: *const i64,
    pub shape_num_dims: usize,
    pub shape_element_type: PJRT_Buffer_Type,
    pub shape_layout: *mut PJRT_Buffer_MemoryLayout,
    pub done_with_h2d_transfer: *mut PJRT_Event,
}
pub const PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args_STRUCT_SIZE: _bindgen_ty_54 =
    80;
pub type _bindgen_ty_54 = ::core::ffi::c_uint;
pub type PJRT_AsyncHostToDeviceTransferManager_TransferLiteral = ::core::option::Option<
    unsafe extern "C" fn(
        args: *mut PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args,
    ) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Client_CreateUninitializedBuffer_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub shape_dims: *const i64,
    pub shape_num_dims: usize,
    pub shape_element_type: PJRT_Buffer_Type,
    pub shape_layout: *mut PJRT_Buffer_MemoryLayout,
    pub device: *mut PJRT_Device,
    pub memory: *mut PJRT_Memory,
    pub buffer: *mut PJRT_Buffer,
}
pub const PJRT_Client_CreateUninitializedBuffer_Args_STRUCT_SIZE: _bindgen_ty_55 = 80;
pub type _bindgen_ty_55 = ::core::ffi::c_uint;
pub type PJRT_Client_CreateUninitializedBuffer = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Client_CreateUninitializedBuffer_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Client_CreateErrorBuffer_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub error_code: PJRT_Error_Code,
    pub error_message: *const ::core::ffi::c_char,
    pub error_message_size: usize,
    pub shape_dims: *const i64,
    pub shape_num_dims: usize,
    pub shape_element_type: PJRT_Buffer_Type,
    pub shape_layout: *mut PJRT_Buffer_MemoryLayout,
    pub memory: *mut PJRT_Memory,
    pub buffer: *mut PJRT_Buffer,
    pub payload: *const PJRT_NamedValue,
    pub num_payload: usize,
}
pub const PJRT_Client_CreateErrorBuffer_Args_STRUCT_SIZE: _bindgen_ty_56 = 112;
pub type _bindgen_ty_56 = ::core::ffi::c_uint;
pub type PJRT_Client_CreateErrorBuffer = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Client_CreateErrorBuffer_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Client_CreateAliasBuffer_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub memory: *mut PJRT_Memory,
    pub shape_dims: *const i64,
    pub shape_num_dims: usize,
    pub shape_element_type: PJRT_Buffer_Type,
    pub shape_layout: *mut PJRT_Buffer_MemoryLayout,
    pub alias_buffer: *mut PJRT_Buffer,
    pub fulfill_alias_buffer_cb: *mut PJRT_FulfillAliasBufferCallback,
}
pub const PJRT_Client_CreateAliasBuffer_Args_STRUCT_SIZE: _bindgen_ty_57 = 80;
pub type _bindgen_ty_57 = ::core::ffi::c_uint;
pub type PJRT_Client_CreateAliasBuffer = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Client_CreateAliasBuffer_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Client_FulfillAliasBuffer_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub buffer: *mut PJRT_Buffer,
    pub status_code: PJRT_Error_Code,
    pub error_message: *const ::core::ffi::c_char,
    pub error_message_size: usize,
    pub fulfill_alias_buffer_cb: *mut PJRT_FulfillAliasBufferCallback,
}
pub const PJRT_Client_FulfillAliasBuffer_Args_STRUCT_SIZE: _bindgen_ty_58 = 64;
pub type _bindgen_ty_58 = ::core::ffi::c_uint;
pub type PJRT_Client_FulfillAliasBuffer = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Client_FulfillAliasBuffer_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Client_BufferFromHostBuffer_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub data: *const ::core::ffi::c_void,
    pub type_: PJRT_Buffer_Type,
    pub dims: *const i64,
    pub num_dims: usize,
    pub byte_strides: *const i64,
    pub num_byte_strides: usize,
    pub host_buffer_semantics: PJRT_HostBufferSemantics,
    pub device: *mut PJRT_Device,
    pub memory: *mut PJRT_Memory,
    pub device_layout: *mut PJRT_Buffer_MemoryLayout,
    pub done_with_host_buffer: *mut PJRT_Event,
    pub buffer: *mut PJRT_Buffer,
}
pub const PJRT_Client_BufferFromHostBuffer_Args_STRUCT_SIZE: _bindgen_ty_59 = 120;
pub type _bindgen_ty_59 = ::core::ffi::c_uint;
pub type PJRT_Client_BufferFromHostBuffer = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Client_BufferFromHostBuffer_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Client_CreateViewOfDeviceBuffer_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub device_buffer_ptr: *mut ::core::ffi::c_void,
    pub dims: *const i64,
    pub num_dims: usize,
    pub element_type: PJRT_Buffer_Type,
    pub layout: *mut PJRT_Buffer_MemoryLayout,
    pub device: *mut PJRT_Device,
    pub on_delete_callback: ::core::option::Option<
        unsafe extern "C" fn(
            device_buffer_ptr: *mut ::core::ffi::c_void,
            user_arg: *mut ::core::ffi::c_void,
        ),
    >,
    pub on_delete_callback_arg: *mut ::core::ffi::c_void,
    pub stream: isize,
    pub buffer: *mut PJRT_Buffer,
    pub memory: *mut PJRT_Memory,
}
pub const PJRT_Client_CreateViewOfDeviceBuffer_Args_STRUCT_SIZE: _bindgen_ty_60 = 112;
pub type _bindgen_ty_60 = ::core::ffi::c_uint;
pub type PJRT_Client_CreateViewOfDeviceBuffer = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Client_CreateViewOfDeviceBuffer_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_ShapeSpec {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub dims: *const i64,
    pub num_dims: usize,
    pub element_type: PJRT_Buffer_Type,
}
pub const PJRT_ShapeSpec_STRUCT_SIZE: _bindgen_ty_61 = 36;
pub type _bindgen_ty_61 = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Client_CreateBuffersForAsyncHostToDevice_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub shape_specs: *mut PJRT_ShapeSpec,
    pub num_shape_specs: usize,
    pub device_layouts: *mut *mut PJRT_Buffer_MemoryLayout,
    pub num_device_layouts: usize,
    pub memory: *mut PJRT_Memory,
    pub transfer_manager: *mut PJRT_AsyncHostToDeviceTransferManager,
}
pub const PJRT_Client_CreateBuffersForAsyncHostToDevice_Args_STRUCT_SIZE: _bindgen_ty_62 = 72;
pub type _bindgen_ty_62 = ::core::ffi::c_uint;
pub type PJRT_Client_CreateBuffersForAsyncHostToDevice = ::core::option::Option<
    unsafe extern "C" fn(
        args: *mut PJRT_Client_CreateBuffersForAsyncHostToDevice_Args,
    ) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_DeviceDescription_Id_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub device_description: *mut PJRT_DeviceDescription,
    pub id: ::core::ffi::c_int,
}
pub const PJRT_DeviceDescription_Id_Args_STRUCT_SIZE: _bindgen_ty_63 = 28;
pub type _bindgen_ty_63 = ::core::ffi::c_uint;
pub type PJRT_DeviceDescription_Id = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_DeviceDescription_Id_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_DeviceDescription_ProcessIndex_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub device_description: *mut PJRT_DeviceDescription,
    pub process_index: ::core::ffi::c_int,
}
pub const PJRT_DeviceDescription_ProcessIndex_Args_STRUCT_SIZE: _bindgen_ty_64 = 28;
pub type _bindgen_ty_64 = ::core::ffi::c_uint;
pub type PJRT_DeviceDescription_ProcessIndex = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_DeviceDescription_ProcessIndex_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_DeviceDescription_Attributes_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub device_description: *mut PJRT_DeviceDescription,
    pub num_attributes: usize,
    pub attributes: *const PJRT_NamedValue,
}
pub const PJRT_DeviceDescription_Attributes_Args_STRUCT_SIZE: _bindgen_ty_65 = 40;
pub type _bindgen_ty_65 = ::core::ffi::c_uint;
pub type PJRT_DeviceDescription_Attributes = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_DeviceDescription_Attributes_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_DeviceDescription_Kind_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub device_description: *mut PJRT_DeviceDescription,
    pub device_kind: *const ::core::ffi::c_char,
    pub device_kind_size: usize,
}
pub const PJRT_DeviceDescription_Kind_Args_STRUCT_SIZE: _bindgen_ty_66 = 40;
pub type _bindgen_ty_66 = ::core::ffi::c_uint;
pub type PJRT_DeviceDescription_Kind = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_DeviceDescription_Kind_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_DeviceDescription_DebugString_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub device_description: *mut PJRT_DeviceDescription,
    pub debug_string: *const ::core::ffi::c_char,
    pub debug_string_size: usize,
}
pub const PJRT_DeviceDescription_DebugString_Args_STRUCT_SIZE: _bindgen_ty_67 = 40;
pub type _bindgen_ty_67 = ::core::ffi::c_uint;
pub type PJRT_DeviceDescription_DebugString = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_DeviceDescription_DebugString_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_DeviceDescription_ToString_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub device_description: *mut PJRT_DeviceDescription,
    pub to_string: *const ::core::ffi::c_char,
    pub to_string_size: usize,
}
pub const PJRT_DeviceDescription_ToString_Args_STRUCT_SIZE: _bindgen_ty_68 = 40;
pub type _bindgen_ty_68 = ::core::ffi::c_uint;
pub type PJRT_DeviceDescription_ToString = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_DeviceDescription_ToString_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Device_GetDescription_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub device: *mut PJRT_Device,
    pub device_description: *mut PJRT_DeviceDescription,
}
pub const PJRT_Device_GetDescription_Args_STRUCT_SIZE: _bindgen_ty_69 = 32;
pub type _bindgen_ty_69 = ::core::ffi::c_uint;
pub type PJRT_Device_GetDescription = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Device_GetDescription_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Device_IsAddressable_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub device: *mut PJRT_Device,
    pub is_addressable: bool,
}
pub const PJRT_Device_IsAddressable_Args_STRUCT_SIZE: _bindgen_ty_70 = 25;
pub type _bindgen_ty_70 = ::core::ffi::c_uint;
pub type PJRT_Device_IsAddressable = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Device_IsAddressable_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Device_LocalHardwareId_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub device: *mut PJRT_Device,
    pub local_hardware_id: ::core::ffi::c_int,
}
pub const PJRT_Device_LocalHardwareId_Args_STRUCT_SIZE: _bindgen_ty_71 = 28;
pub type _bindgen_ty_71 = ::core::ffi::c_uint;
pub type PJRT_Device_LocalHardwareId = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Device_LocalHardwareId_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Device_AddressableMemories_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub device: *mut PJRT_Device,
    pub memories: *const *mut PJRT_Memory,
    pub num_memories: usize,
}
pub const PJRT_Device_AddressableMemories_Args_STRUCT_SIZE: _bindgen_ty_72 = 40;
pub type _bindgen_ty_72 = ::core::ffi::c_uint;
pub type PJRT_Device_AddressableMemories = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Device_AddressableMemories_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Device_DefaultMemory_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub device: *mut PJRT_Device,
    pub memory: *mut PJRT_Memory,
}
pub const PJRT_Device_DefaultMemory_Args_STRUCT_SIZE: _bindgen_ty_73 = 32;
pub type _bindgen_ty_73 = ::core::ffi::c_uint;
pub type PJRT_Device_DefaultMemory = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Device_DefaultMemory_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Device_MemoryStats_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub device: *mut PJRT_Device,
    pub bytes_in_use: i64,
    pub peak_bytes_in_use: i64,
    pub peak_bytes_in_use_is_set: bool,
    pub num_allocs: i64,
    pub num_allocs_is_set: bool,
    pub largest_alloc_size: i64,
    pub largest_alloc_size_is_set: bool,
    pub bytes_limit: i64,
    pub bytes_limit_is_set: bool,
    pub bytes_reserved: i64,
    pub bytes_reserved_is_set: bool,
    pub peak_bytes_reserved: i64,
    pub peak_bytes_reserved_is_set: bool,
    pub bytes_reservable_limit: i64,
    pub bytes_reservable_limit_is_set: bool,
    pub largest_free_block_bytes: i64,
    pub largest_free_block_bytes_is_set: bool,
    pub pool_bytes: i64,
    pub pool_bytes_is_set: bool,
    pub peak_pool_bytes: i64,
    pub peak_pool_bytes_is_set: bool,
}
pub const PJRT_Device_MemoryStats_Args_STRUCT_SIZE: _bindgen_ty_74 = 185;
pub type _bindgen_ty_74 = ::core::ffi::c_uint;
pub type PJRT_Device_MemoryStats = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Device_MemoryStats_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Device_ClearMemoryStats_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub device: *mut PJRT_Device,
}
pub const PJRT_Device_ClearMemoryStats_Args_STRUCT_SIZE: _bindgen_ty_75 = 24;
pub type _bindgen_ty_75 = ::core::ffi::c_uint;
pub type PJRT_Device_ClearMemoryStats = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Device_ClearMemoryStats_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Device_PoisonExecution_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub device: *mut PJRT_Device,
    pub launch_id: i32,
    pub error_code: PJRT_Error_Code,
    pub error_message: *const ::core::ffi::c_char,
    pub error_message_size: usize,
    pub poisoned: bool,
    pub payload: *const PJRT_NamedValue,
    pub num_payload: usize,
}
pub const PJRT_Device_PoisonExecution_Args_STRUCT_SIZE: _bindgen_ty_76 = 72;
pub type _bindgen_ty_76 = ::core::ffi::c_uint;
pub type PJRT_Device_PoisonExecution = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Device_PoisonExecution_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug)]
pub struct PJRT_Device_Attributes {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Device_GetAttributes_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub device: *mut PJRT_Device,
    pub attributes: *const PJRT_NamedValue,
    pub num_attributes: usize,
    pub device_attributes: *mut PJRT_Device_Attributes,
    pub attributes_deleter: ::core::option::Option<
        unsafe extern "C" fn(device_attributes: *mut PJRT_Device_Attributes),
    >,
}
pub const PJRT_Device_GetAttributes_Args_STRUCT_SIZE: _bindgen_ty_77 = 56;
pub type _bindgen_ty_77 = ::core::ffi::c_uint;
pub type PJRT_Device_GetAttributes = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Device_GetAttributes_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug)]
pub struct PJRT_AsyncTrackingEvent {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Device_CreateAsyncTrackingEvent_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub device: *mut PJRT_Device,
    pub description: *const ::core::ffi::c_char,
    pub description_size: usize,
    pub event: *mut PJRT_AsyncTrackingEvent,
}
pub const PJRT_Device_CreateAsyncTrackingEvent_Args_STRUCT_SIZE: _bindgen_ty_78 = 48;
pub type _bindgen_ty_78 = ::core::ffi::c_uint;
pub type PJRT_Device_CreateAsyncTrackingEvent = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Device_CreateAsyncTrackingEvent_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_AsyncTrackingEvent_Destroy_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub event: *mut PJRT_AsyncTrackingEvent,
}
pub const PJRT_AsyncTrackingEvent_Destroy_Args_STRUCT_SIZE: _bindgen_ty_79 = 24;
pub type _bindgen_ty_79 = ::core::ffi::c_uint;
pub type PJRT_AsyncTrackingEvent_Destroy = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_AsyncTrackingEvent_Destroy_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Memory_Id_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub memory: *mut PJRT_Memory,
    pub id: ::core::ffi::c_int,
}
pub const PJRT_Memory_Id_Args_STRUCT_SIZE: _bindgen_ty_80 = 28;
pub type _bindgen_ty_80 = ::core::ffi::c_uint;
pub type PJRT_Memory_Id =
    ::core::option::Option<unsafe extern "C" fn(args: *mut PJRT_Memory_Id_Args) -> *mut PJRT_Error>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Memory_Kind_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub memory: *mut PJRT_Memory,
    pub kind: *const ::core::ffi::c_char,
    pub kind_size: usize,
}
pub const PJRT_Memory_Kind_Args_STRUCT_SIZE: _bindgen_ty_81 = 40;
pub type _bindgen_ty_81 = ::core::ffi::c_uint;
pub type PJRT_Memory_Kind = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Memory_Kind_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Memory_Kind_Id_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub memory: *mut PJRT_Memory,
    pub kind_id: ::core::ffi::c_int,
}
pub const PJRT_Memory_Kind_Id_Args_STRUCT_SIZE: _bindgen_ty_82 = 28;
pub type _bindgen_ty_82 = ::core::ffi::c_uint;
pub type PJRT_Memory_Kind_Id = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Memory_Kind_Id_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Memory_DebugString_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub memory: *mut PJRT_Memory,
    pub debug_string: *const ::core::ffi::c_char,
    pub debug_string_size: usize,
}
pub const PJRT_Memory_DebugString_Args_STRUCT_SIZE: _bindgen_ty_83 = 40;
pub type _bindgen_ty_83 = ::core::ffi::c_uint;
pub type PJRT_Memory_DebugString = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Memory_DebugString_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Memory_ToString_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub memory: *mut PJRT_Memory,
    pub to_string: *const ::core::ffi::c_char,
    pub to_string_size: usize,
}
pub const PJRT_Memory_ToString_Args_STRUCT_SIZE: _bindgen_ty_84 = 40;
pub type _bindgen_ty_84 = ::core::ffi::c_uint;
pub type PJRT_Memory_ToString = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Memory_ToString_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Memory_AddressableByDevices_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub memory: *mut PJRT_Memory,
    pub devices: *const *mut PJRT_Device,
    pub num_devices: usize,
}
pub const PJRT_Memory_AddressableByDevices_Args_STRUCT_SIZE: _bindgen_ty_85 = 40;
pub type _bindgen_ty_85 = ::core::ffi::c_uint;
pub type PJRT_Memory_AddressableByDevices = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Memory_AddressableByDevices_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug)]
pub struct PJRT_ExecuteContext {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_ExecuteContext_Create_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub context: *mut PJRT_ExecuteContext,
}
pub const PJRT_ExecuteContext_Create_Args_STRUCT_SIZE: _bindgen_ty_86 = 24;
pub type _bindgen_ty_86 = ::core::ffi::c_uint;
pub type PJRT_ExecuteContext_Create = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_ExecuteContext_Create_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_ExecuteContext_Destroy_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub context: *mut PJRT_ExecuteContext,
}
pub const PJRT_ExecuteContext_Destroy_Args_STRUCT_SIZE: _bindgen_ty_87 = 24;
pub type _bindgen_ty_87 = ::core::ffi::c_uint;
pub type PJRT_ExecuteContext_Destroy = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_ExecuteContext_Destroy_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Executable_Destroy_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_Executable,
}
pub const PJRT_Executable_Destroy_Args_STRUCT_SIZE: _bindgen_ty_88 = 24;
pub type _bindgen_ty_88 = ::core::ffi::c_uint;
pub type PJRT_Executable_Destroy = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Executable_Destroy_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_LoadedExecutable_Destroy_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_LoadedExecutable,
}
pub const PJRT_LoadedExecutable_Destroy_Args_STRUCT_SIZE: _bindgen_ty_89 = 24;
pub type _bindgen_ty_89 = ::core::ffi::c_uint;
pub type PJRT_LoadedExecutable_Destroy = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_LoadedExecutable_Destroy_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_LoadedExecutable_GetExecutable_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub loaded_executable: *mut PJRT_LoadedExecutable,
    pub executable: *mut PJRT_Executable,
}
pub const PJRT_LoadedExecutable_GetExecutable_Args_STRUCT_SIZE: _bindgen_ty_90 = 32;
pub type _bindgen_ty_90 = ::core::ffi::c_uint;
pub type PJRT_LoadedExecutable_GetExecutable = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_LoadedExecutable_GetExecutable_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug)]
pub struct PJRT_DeviceAssignmentSerialized {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_LoadedExecutable_GetDeviceAssignment_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_LoadedExecutable,
    pub serialized_bytes: *const ::core::ffi::c_char,
    pub serialized_bytes_size: usize,
    pub serialized_device_assignment: *mut PJRT_DeviceAssignmentSerialized,
    pub serialized_device_assignment_deleter:
        ::core::option::Option<unsafe extern "C" fn(da: *mut PJRT_DeviceAssignmentSerialized)>,
}
pub const PJRT_LoadedExecutable_GetDeviceAssignment_Args_STRUCT_SIZE: _bindgen_ty_91 = 56;
pub type _bindgen_ty_91 = ::core::ffi::c_uint;
pub type PJRT_LoadedExecutable_GetDeviceAssignment = ::core::option::Option<
    unsafe extern "C" fn(
        args: *mut PJRT_LoadedExecutable_GetDeviceAssignment_Args,
    ) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Executable_Name_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_Executable,
    pub executable_name: *const ::core::ffi::c_char,
    pub executable_name_size: usize,
}
pub const PJRT_Executable_Name_Args_STRUCT_SIZE: _bindgen_ty_92 = 40;
pub type _bindgen_ty_92 = ::core::ffi::c_uint;
pub type PJRT_Executable_Name = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Executable_Name_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Executable_NumReplicas_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_Executable,
    pub num_replicas: usize,
}
pub const PJRT_Executable_NumReplicas_Args_STRUCT_SIZE: _bindgen_ty_93 = 32;
pub type _bindgen_ty_93 = ::core::ffi::c_uint;
pub type PJRT_Executable_NumReplicas = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Executable_NumReplicas_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Executable_NumPartitions_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_Executable,
    pub num_partitions: usize,
}
pub const PJRT_Executable_NumPartitions_Args_STRUCT_SIZE: _bindgen_ty_94 = 32;
pub type _bindgen_ty_94 = ::core::ffi::c_uint;
pub type PJRT_Executable_NumPartitions = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Executable_NumPartitions_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_LogicalDeviceIds {
    pub replica: ::core::ffi::c_int,
    pub partition: ::core::ffi::c_int,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_LoadedExecutable_AddressableDevices_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_LoadedExecutable,
    pub addressable_devices: *const *mut PJRT_Device,
    pub num_addressable_devices: usize,
}
pub const PJRT_LoadedExecutable_AddressableDevices_Args_STRUCT_SIZE: _bindgen_ty_95 = 40;
pub type _bindgen_ty_95 = ::core::ffi::c_uint;
pub type PJRT_LoadedExecutable_AddressableDevices = ::core::option::Option<
    unsafe extern "C" fn(
        args: *mut PJRT_LoadedExecutable_AddressableDevices_Args,
    ) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_LoadedExecutable,
    pub addressable_device_logical_ids: *mut PJRT_LogicalDeviceIds,
    pub num_addressable_device_logical_ids: usize,
}
pub const PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args_STRUCT_SIZE: _bindgen_ty_96 = 40;
pub type _bindgen_ty_96 = ::core::ffi::c_uint;
pub type PJRT_LoadedExecutable_AddressableDeviceLogicalIds = ::core::option::Option<
    unsafe extern "C" fn(
        args: *mut PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args,
    ) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Executable_OptimizedProgram_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_Executable,
    pub program: *mut PJRT_Program,
}
pub const PJRT_Executable_OptimizedProgram_Args_STRUCT_SIZE: _bindgen_ty_97 = 32;
pub type _bindgen_ty_97 = ::core::ffi::c_uint;
pub type PJRT_Executable_OptimizedProgram = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Executable_OptimizedProgram_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_LoadedExecutable_Delete_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_LoadedExecutable,
}
pub const PJRT_LoadedExecutable_Delete_Args_STRUCT_SIZE: _bindgen_ty_98 = 24;
pub type _bindgen_ty_98 = ::core::ffi::c_uint;
pub type PJRT_LoadedExecutable_Delete = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_LoadedExecutable_Delete_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_LoadedExecutable_IsDeleted_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_LoadedExecutable,
    pub is_deleted: bool,
}
pub const PJRT_LoadedExecutable_IsDeleted_Args_STRUCT_SIZE: _bindgen_ty_99 = 25;
pub type _bindgen_ty_99 = ::core::ffi::c_uint;
pub type PJRT_LoadedExecutable_IsDeleted = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_LoadedExecutable_IsDeleted_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Chunk {
    pub data: *mut ::core::ffi::c_void,
    pub size: usize,
    pub deleter: ::core::option::Option<
        unsafe extern "C" fn(data: *mut ::core::ffi::c_void, deleter_arg: *mut ::core::ffi::c_void),
    >,
    pub deleter_arg: *mut ::core::ffi::c_void,
}
#[repr(C)]
#[derive(Debug)]
pub struct PJRT_CopyToDeviceStream {
    _unused: [u8; 0],
}
pub type PJRT_SendCallback = ::core::option::Option<
    unsafe extern "C" fn(
        chunk: *mut PJRT_Chunk,
        callback_error: *mut PJRT_CallbackError,
        total_size_in_bytes: usize,
        done: bool,
        user_arg: *mut ::core::ffi::c_void,
    ) -> *mut PJRT_Error,
>;
pub type PJRT_RecvCallback = ::core::option::Option<
    unsafe extern "C" fn(stream: *mut PJRT_CopyToDeviceStream, user_arg: *mut ::core::ffi::c_void),
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_SendCallbackInfo {
    pub channel_id: i64,
    pub user_arg: *mut ::core::ffi::c_void,
    pub send_callback: PJRT_SendCallback,
}
pub const PJRT_SendCallbackInfo_STRUCT_SIZE: _bindgen_ty_100 = 24;
pub type _bindgen_ty_100 = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_RecvCallbackInfo {
    pub channel_id: i64,
    pub user_arg: *mut ::core::ffi::c_void,
    pub recv_callback: PJRT_RecvCallback,
}
pub const PJRT_RecvCallbackInfo_STRUCT_SIZE: _bindgen_ty_101 = 24;
pub type _bindgen_ty_101 = ::core::ffi::c_uint;
pub type PJRT_HloOutputCallback = ::core::option::Option<
    unsafe extern "C" fn(
        replica_id: i64,
        partition_id: i64,
        data: *const ::core::ffi::c_void,
        shape_dims: *const i64,
        shape_num_dims: usize,
        shape_element_type: PJRT_Buffer_Type,
        operand_index: i64,
        user_arg: *mut ::core::ffi::c_void,
    ),
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_HloOutputCallbackInfo {
    pub user_arg: *mut ::core::ffi::c_void,
    pub callback: PJRT_HloOutputCallback,
    pub callback_id: i64,
    pub num_operands: usize,
}
pub const PJRT_HloOutputCallbackInfo_STRUCT_SIZE: _bindgen_ty_102 = 32;
pub type _bindgen_ty_102 = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Debug)]
pub struct PJRT_MultiSlice_Config {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_ExecuteOptions {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub send_callbacks: *mut *mut PJRT_SendCallbackInfo,
    pub recv_callbacks: *mut *mut PJRT_RecvCallbackInfo,
    pub num_send_ops: usize,
    pub num_recv_ops: usize,
    pub launch_id: ::core::ffi::c_int,
    pub non_donatable_input_indices: *const i64,
    pub num_non_donatable_input_indices: usize,
    pub context: *mut PJRT_ExecuteContext,
    pub call_location: *const ::core::ffi::c_char,
    pub num_tasks: usize,
    pub task_ids: *mut ::core::ffi::c_int,
    pub incarnation_ids: *mut i64,
    pub multi_slice_config: *mut PJRT_MultiSlice_Config,
    pub use_major_to_minor_data_layout_for_callbacks: bool,
    pub hlo_output_callbacks: *mut PJRT_HloOutputCallbackInfo,
    pub num_hlo_output_callbacks: usize,
}
pub const PJRT_ExecuteOptions_STRUCT_SIZE: _bindgen_ty_103 = 144;
pub type _bindgen_ty_103 = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_LoadedExecutable_Execute_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_LoadedExecutable,
    pub options: *mut PJRT_ExecuteOptions,
    pub argument_lists: *const *const *mut PJRT_Buffer,
    pub num_devices: usize,
    pub num_args: usize,
    pub output_lists: *const *mut *mut PJRT_Buffer,
    pub device_complete_events: *mut *mut PJRT_Event,
    pub execute_device: *mut PJRT_Device,
}
pub const PJRT_LoadedExecutable_Execute_Args_STRUCT_SIZE: _bindgen_ty_104 = 80;
pub type _bindgen_ty_104 = ::core::ffi::c_uint;
pub type PJRT_LoadedExecutable_Execute = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_LoadedExecutable_Execute_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Executable_NumOutputs_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_Executable,
    pub num_outputs: usize,
}
pub const PJRT_Executable_NumOutputs_Args_STRUCT_SIZE: _bindgen_ty_105 = 32;
pub type _bindgen_ty_105 = ::core::ffi::c_uint;
pub type PJRT_Executable_NumOutputs = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Executable_NumOutputs_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Executable_SizeOfGeneratedCodeInBytes_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_Executable,
    pub size_in_bytes: i64,
}
pub const PJRT_Executable_SizeOfGeneratedCodeInBytes_Args_STRUCT_SIZE: _bindgen_ty_106 = 32;
pub type _bindgen_ty_106 = ::core::ffi::c_uint;
pub type PJRT_Executable_SizeOfGeneratedCodeInBytes = ::core::option::Option<
    unsafe extern "C" fn(
        args: *mut PJRT_Executable_SizeOfGeneratedCodeInBytes_Args,
    ) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Executable_Fingerprint_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_Executable,
    pub executable_fingerprint: *const ::core::ffi::c_char,
    pub executable_fingerprint_size: usize,
}
pub const PJRT_Executable_Fingerprint_Args_STRUCT_SIZE: _bindgen_ty_107 = 40;
pub type _bindgen_ty_107 = ::core::ffi::c_uint;
pub type PJRT_Executable_Fingerprint = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Executable_Fingerprint_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Executable_GetCostAnalysis_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_Executable,
    pub num_properties: usize,
    pub properties: *const PJRT_NamedValue,
}
pub const PJRT_Executable_GetCostAnalysis_Args_STRUCT_SIZE: _bindgen_ty_108 = 40;
pub type _bindgen_ty_108 = ::core::ffi::c_uint;
pub type PJRT_Executable_GetCostAnalysis = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Executable_GetCostAnalysis_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Executable_GetCompiledMemoryStats_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_Executable,
    pub generated_code_size_in_bytes: i64,
    pub argument_size_in_bytes: i64,
    pub output_size_in_bytes: i64,
    pub alias_size_in_bytes: i64,
    pub temp_size_in_bytes: i64,
    pub host_generated_code_size_in_bytes: i64,
    pub host_argument_size_in_bytes: i64,
    pub host_output_size_in_bytes: i64,
    pub host_alias_size_in_bytes: i64,
    pub host_temp_size_in_bytes: i64,
    pub peak_memory_in_bytes: i64,
    pub total_size_in_bytes: i64,
    pub total_allocation_bytes: i64,
    pub indefinite_allocations: i64,
    pub peak_unpadded_heap_bytes: i64,
}
pub const PJRT_Executable_GetCompiledMemoryStats_Args_STRUCT_SIZE: _bindgen_ty_109 = 144;
pub type _bindgen_ty_109 = ::core::ffi::c_uint;
pub type PJRT_Executable_GetCompiledMemoryStats = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Executable_GetCompiledMemoryStats_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Executable_OutputElementTypes_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_Executable,
    pub output_types: *mut PJRT_Buffer_Type,
    pub num_output_types: usize,
}
pub const PJRT_Executable_OutputElementTypes_Args_STRUCT_SIZE: _bindgen_ty_110 = 40;
pub type _bindgen_ty_110 = ::core::ffi::c_uint;
pub type PJRT_Executable_OutputElementTypes = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Executable_OutputElementTypes_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Executable_OutputDimensions_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_Executable,
    pub num_outputs: usize,
    pub dims: *const i64,
    pub dim_sizes: *const usize,
}
pub const PJRT_Executable_OutputDimensions_Args_STRUCT_SIZE: _bindgen_ty_111 = 48;
pub type _bindgen_ty_111 = ::core::ffi::c_uint;
pub type PJRT_Executable_OutputDimensions = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Executable_OutputDimensions_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Executable_ParameterMemoryKinds_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_Executable,
    pub num_parameters: usize,
    pub memory_kinds: *const *const ::core::ffi::c_char,
    pub memory_kind_sizes: *const usize,
}
pub const PJRT_Executable_ParameterMemoryKinds_Args_STRUCT_SIZE: _bindgen_ty_112 = 48;
pub type _bindgen_ty_112 = ::core::ffi::c_uint;
pub type PJRT_Executable_ParameterMemoryKinds = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Executable_ParameterMemoryKinds_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Executable_OutputMemoryKinds_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_Executable,
    pub num_outputs: usize,
    pub memory_kinds: *const *const ::core::ffi::c_char,
    pub memory_kind_sizes: *const usize,
}
pub const PJRT_Executable_OutputMemoryKinds_Args_STRUCT_SIZE: _bindgen_ty_113 = 48;
pub type _bindgen_ty_113 = ::core::ffi::c_uint;
pub type PJRT_Executable_OutputMemoryKinds = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Executable_OutputMemoryKinds_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug)]
pub struct PJRT_SerializedExecutable {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug)]
pub struct PJRT_SerializedCompileOptions {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Executable_Serialize_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *const PJRT_Executable,
    pub serialized_bytes: *const ::core::ffi::c_char,
    pub serialized_bytes_size: usize,
    pub serialized_executable: *mut PJRT_SerializedExecutable,
    pub serialized_executable_deleter:
        ::core::option::Option<unsafe extern "C" fn(exec: *mut PJRT_SerializedExecutable)>,
}
pub const PJRT_Executable_Serialize_Args_STRUCT_SIZE: _bindgen_ty_114 = 56;
pub type _bindgen_ty_114 = ::core::ffi::c_uint;
pub type PJRT_Executable_Serialize = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Executable_Serialize_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Executable_GetCompileOptions_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_Executable,
    pub serialized_bytes: *const ::core::ffi::c_char,
    pub serialized_bytes_size: usize,
    pub serialized_compile_options: *mut PJRT_SerializedCompileOptions,
    pub serialized_compile_options_deleter:
        ::core::option::Option<unsafe extern "C" fn(options: *mut PJRT_SerializedCompileOptions)>,
}
pub const PJRT_Executable_GetCompileOptions_Args_STRUCT_SIZE: _bindgen_ty_115 = 56;
pub type _bindgen_ty_115 = ::core::ffi::c_uint;
pub type PJRT_Executable_GetCompileOptions = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Executable_GetCompileOptions_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_LoadOptions {
    pub struct_size: usize,
    pub computation_origin: *const i32,
    pub computation_origin_size: usize,
    pub multi_slice_config: *mut PJRT_MultiSlice_Config,
}
pub const PJRT_LoadOptions_STRUCT_SIZE: _bindgen_ty_116 = 32;
pub type _bindgen_ty_116 = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Executable_DeserializeAndLoad_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub serialized_executable: *const ::core::ffi::c_char,
    pub serialized_executable_size: usize,
    pub loaded_executable: *mut PJRT_LoadedExecutable,
    pub overridden_serialized_compile_options: *const ::core::ffi::c_char,
    pub overridden_serialized_compile_options_size: usize,
    pub load_options: *mut PJRT_LoadOptions,
}
pub const PJRT_Executable_DeserializeAndLoad_Args_STRUCT_SIZE: _bindgen_ty_117 = 72;
pub type _bindgen_ty_117 = ::core::ffi::c_uint;
pub type PJRT_Executable_DeserializeAndLoad = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Executable_DeserializeAndLoad_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_LoadedExecutable_Fingerprint_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_LoadedExecutable,
    pub executable_fingerprint: *const ::core::ffi::c_char,
    pub executable_fingerprint_size: usize,
}
pub const PJRT_LoadedExecutable_Fingerprint_Args_STRUCT_SIZE: _bindgen_ty_118 = 40;
pub type _bindgen_ty_118 = ::core::ffi::c_uint;
pub type PJRT_LoadedExecutable_Fingerprint = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_LoadedExecutable_Fingerprint_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Buffer_Destroy_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_Buffer,
}
pub const PJRT_Buffer_Destroy_Args_STRUCT_SIZE: _bindgen_ty_119 = 24;
pub type _bindgen_ty_119 = ::core::ffi::c_uint;
pub type PJRT_Buffer_Destroy = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Buffer_Destroy_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Buffer_ElementType_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_Buffer,
    pub type_: PJRT_Buffer_Type,
}
pub const PJRT_Buffer_ElementType_Args_STRUCT_SIZE: _bindgen_ty_120 = 28;
pub type _bindgen_ty_120 = ::core::ffi::c_uint;
pub type PJRT_Buffer_ElementType = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Buffer_ElementType_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Buffer_Dimensions_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_Buffer,
    pub dims: *const i64,
    pub num_dims: usize,
}
pub const PJRT_Buffer_Dimensions_Args_STRUCT_SIZE: _bindgen_ty_121 = 40;
pub type _bindgen_ty_121 = ::core::ffi::c_uint;
pub type PJRT_Buffer_Dimensions = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Buffer_Dimensions_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Buffer_UnpaddedDimensions_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_Buffer,
    pub unpadded_dims: *const i64,
    pub num_dims: usize,
}
pub const PJRT_Buffer_UnpaddedDimensions_Args_STRUCT_SIZE: _bindgen_ty_122 = 40;
pub type _bindgen_ty_122 = ::core::ffi::c_uint;
pub type PJRT_Buffer_UnpaddedDimensions = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Buffer_UnpaddedDimensions_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Buffer_DynamicDimensionIndices_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_Buffer,
    pub dynamic_dim_indices: *const usize,
    pub num_dynamic_dims: usize,
}
pub const PJRT_Buffer_DynamicDimensionIndices_Args_STRUCT_SIZE: _bindgen_ty_123 = 40;
pub type _bindgen_ty_123 = ::core::ffi::c_uint;
pub type PJRT_Buffer_DynamicDimensionIndices = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Buffer_DynamicDimensionIndices_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct PJRT_Buffer_GetMemoryLayout_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_Buffer,
    pub layout: PJRT_Buffer_MemoryLayout,
}
pub const PJRT_Buffer_GetMemoryLayout_Args_STRUCT_SIZE: _bindgen_ty_124 = 104;
pub type _bindgen_ty_124 = ::core::ffi::c_uint;
pub type PJRT_Buffer_GetMemoryLayout = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Buffer_GetMemoryLayout_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Buffer_ToHostBuffer_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub src: *mut PJRT_Buffer,
    pub host_layout: *mut PJRT_Buffer_MemoryLayout,
    pub dst: *mut ::core::ffi::c_void,
    pub dst_size: usize,
    pub event: *mut PJRT_Event,
}
pub const PJRT_Buffer_ToHostBuffer_Args_STRUCT_SIZE: _bindgen_ty_125 = 56;
pub type _bindgen_ty_125 = ::core::ffi::c_uint;
pub type PJRT_Buffer_ToHostBuffer = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Buffer_ToHostBuffer_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Buffer_OnDeviceSizeInBytes_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_Buffer,
    pub on_device_size_in_bytes: usize,
}
pub const PJRT_Buffer_OnDeviceSizeInBytes_Args_STRUCT_SIZE: _bindgen_ty_126 = 32;
pub type _bindgen_ty_126 = ::core::ffi::c_uint;
pub type PJRT_Buffer_OnDeviceSizeInBytes = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Buffer_OnDeviceSizeInBytes_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Buffer_Delete_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_Buffer,
}
pub const PJRT_Buffer_Delete_Args_STRUCT_SIZE: _bindgen_ty_127 = 24;
pub type _bindgen_ty_127 = ::core::ffi::c_uint;
pub type PJRT_Buffer_Delete = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Buffer_Delete_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Buffer_IsDeleted_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_Buffer,
    pub is_deleted: bool,
}
pub const PJRT_Buffer_IsDeleted_Args_STRUCT_SIZE: _bindgen_ty_128 = 25;
pub type _bindgen_ty_128 = ::core::ffi::c_uint;
pub type PJRT_Buffer_IsDeleted = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Buffer_IsDeleted_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Buffer_CopyRawToHost_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_Buffer,
    pub dst: *mut ::core::ffi::c_void,
    pub offset: i64,
    pub transfer_size: i64,
    pub event: *mut PJRT_Event,
}
pub const PJRT_Buffer_CopyRawToHost_Args_STRUCT_SIZE: _bindgen_ty_129 = 56;
pub type _bindgen_ty_129 = ::core::ffi::c_uint;
pub type PJRT_Buffer_CopyRawToHost = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Buffer_CopyRawToHost_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Buffer_CopyRawToHostFuture_Callback_Args {
    pub struct_size: usize,
    pub callback_data: *mut ::core::ffi::c_void,
    pub error_code: PJRT_Error_Code,
    pub error_message: *const ::core::ffi::c_char,
    pub error_message_size: usize,
    pub dst: *mut ::core::ffi::c_void,
}
pub const PJRT_Buffer_CopyRawToHostFuture_Callback_Args_STRUCT_SIZE: _bindgen_ty_130 = 48;
pub type _bindgen_ty_130 = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Buffer_CopyRawToHostFuture_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_Buffer,
    pub offset: i64,
    pub transfer_size: i64,
    pub event: *mut PJRT_Event,
    pub callback_data: *mut ::core::ffi::c_void,
    pub future_ready_callback: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Buffer_CopyRawToHostFuture_Callback_Args),
    >,
}
pub const PJRT_Buffer_CopyRawToHostFuture_Args_STRUCT_SIZE: _bindgen_ty_131 = 64;
pub type _bindgen_ty_131 = ::core::ffi::c_uint;
pub type PJRT_Buffer_CopyRawToHostFuture = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Buffer_CopyRawToHostFuture_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Buffer_CopyToDevice_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_Buffer,
    pub dst_device: *mut PJRT_Device,
    pub dst_buffer: *mut PJRT_Buffer,
}
pub const PJRT_Buffer_CopyToDevice_Args_STRUCT_SIZE: _bindgen_ty_132 = 40;
pub type _bindgen_ty_132 = ::core::ffi::c_uint;
pub type PJRT_Buffer_CopyToDevice = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Buffer_CopyToDevice_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Buffer_CopyToMemory_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_Buffer,
    pub dst_memory: *mut PJRT_Memory,
    pub dst_buffer: *mut PJRT_Buffer,
}
pub const PJRT_Buffer_CopyToMemory_Args_STRUCT_SIZE: _bindgen_ty_133 = 40;
pub type _bindgen_ty_133 = ::core::ffi::c_uint;
pub type PJRT_Buffer_CopyToMemory = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Buffer_CopyToMemory_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Buffer_Bitcast_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_Buffer,
    pub element_type: PJRT_Buffer_Type,
    pub dims: *const i64,
    pub num_dims: usize,
    pub device_layout: *mut PJRT_Buffer_MemoryLayout,
    pub out_buffer: *mut PJRT_Buffer,
}
pub const PJRT_Buffer_Bitcast_Args_STRUCT_SIZE: _bindgen_ty_134 = 64;
pub type _bindgen_ty_134 = ::core::ffi::c_uint;
pub type PJRT_Buffer_Bitcast = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Buffer_Bitcast_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Buffer_IsOnCpu_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_Buffer,
    pub is_on_cpu: bool,
}
pub const PJRT_Buffer_IsOnCpu_Args_STRUCT_SIZE: _bindgen_ty_135 = 25;
pub type _bindgen_ty_135 = ::core::ffi::c_uint;
pub type PJRT_Buffer_IsOnCpu = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Buffer_IsOnCpu_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Buffer_Device_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_Buffer,
    pub device: *mut PJRT_Device,
}
pub const PJRT_Buffer_Device_Args_STRUCT_SIZE: _bindgen_ty_136 = 32;
pub type _bindgen_ty_136 = ::core::ffi::c_uint;
pub type PJRT_Buffer_Device = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Buffer_Device_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Buffer_Memory_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_Buffer,
    pub memory: *mut PJRT_Memory,
}
pub const PJRT_Buffer_Memory_Args_STRUCT_SIZE: _bindgen_ty_137 = 32;
pub type _bindgen_ty_137 = ::core::ffi::c_uint;
pub type PJRT_Buffer_Memory = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Buffer_Memory_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Buffer_ReadyEvent_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_Buffer,
    pub event: *mut PJRT_Event,
}
pub const PJRT_Buffer_ReadyEvent_Args_STRUCT_SIZE: _bindgen_ty_138 = 32;
pub type _bindgen_ty_138 = ::core::ffi::c_uint;
pub type PJRT_Buffer_ReadyEvent = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Buffer_ReadyEvent_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Buffer_UnsafePointer_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_Buffer,
    pub buffer_pointer: usize,
}
pub const PJRT_Buffer_UnsafePointer_Args_STRUCT_SIZE: _bindgen_ty_139 = 32;
pub type _bindgen_ty_139 = ::core::ffi::c_uint;
pub type PJRT_Buffer_UnsafePointer = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Buffer_UnsafePointer_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Buffer_IncreaseExternalReferenceCount_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_Buffer,
}
pub const PJRT_Buffer_IncreaseExternalReferenceCount_Args_STRUCT_SIZE: _bindgen_ty_140 = 24;
pub type _bindgen_ty_140 = ::core::ffi::c_uint;
pub type PJRT_Buffer_IncreaseExternalReferenceCount = ::core::option::Option<
    unsafe extern "C" fn(
        args: *mut PJRT_Buffer_IncreaseExternalReferenceCount_Args,
    ) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Buffer_DecreaseExternalReferenceCount_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_Buffer,
}
pub const PJRT_Buffer_DecreaseExternalReferenceCount_Args_STRUCT_SIZE: _bindgen_ty_141 = 24;
pub type _bindgen_ty_141 = ::core::ffi::c_uint;
pub type PJRT_Buffer_DecreaseExternalReferenceCount = ::core::option::Option<
    unsafe extern "C" fn(
        args: *mut PJRT_Buffer_DecreaseExternalReferenceCount_Args,
    ) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_Buffer,
    pub device_memory_ptr: *mut ::core::ffi::c_void,
}
pub const PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args_STRUCT_SIZE: _bindgen_ty_142 = 32;
pub type _bindgen_ty_142 = ::core::ffi::c_uint;
pub type PJRT_Buffer_OpaqueDeviceMemoryDataPointer = ::core::option::Option<
    unsafe extern "C" fn(
        args: *mut PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args,
    ) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Buffer_DonateWithControlDependency_Callback_Args {
    pub struct_size: usize,
    pub callback_data: *mut ::core::ffi::c_void,
    pub error_code: PJRT_Error_Code,
    pub error_message: *const ::core::ffi::c_char,
    pub error_message_size: usize,
}
pub const PJRT_Buffer_DonateWithControlDependency_Callback_Args_STRUCT_SIZE: _bindgen_ty_143 = 40;
pub type _bindgen_ty_143 = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Buffer_DonateWithControlDependency_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_Buffer,
    pub callback_data: *mut ::core::ffi::c_void,
    pub dependency_ready_callback: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Buffer_DonateWithControlDependency_Callback_Args),
    >,
    pub out_buffer: *mut PJRT_Buffer,
}
pub const PJRT_Buffer_DonateWithControlDependency_Args_STRUCT_SIZE: _bindgen_ty_144 = 48;
pub type _bindgen_ty_144 = ::core::ffi::c_uint;
pub type PJRT_Buffer_DonateWithControlDependency = ::core::option::Option<
    unsafe extern "C" fn(
        args: *mut PJRT_Buffer_DonateWithControlDependency_Args,
    ) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_CopyToDeviceStream_Destroy_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub stream: *mut PJRT_CopyToDeviceStream,
}
pub const PJRT_CopyToDeviceStream_Destroy_Args_STRUCT_SIZE: _bindgen_ty_145 = 24;
pub type _bindgen_ty_145 = ::core::ffi::c_uint;
pub type PJRT_CopyToDeviceStream_Destroy = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_CopyToDeviceStream_Destroy_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_CopyToDeviceStream_AddChunk_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub stream: *mut PJRT_CopyToDeviceStream,
    pub chunk: *mut PJRT_Chunk,
    pub transfer_complete: *mut PJRT_Event,
}
pub const PJRT_CopyToDeviceStream_AddChunk_Args_STRUCT_SIZE: _bindgen_ty_146 = 40;
pub type _bindgen_ty_146 = ::core::ffi::c_uint;
pub type PJRT_CopyToDeviceStream_AddChunk = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_CopyToDeviceStream_AddChunk_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_CopyToDeviceStream_TotalBytes_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub stream: *mut PJRT_CopyToDeviceStream,
    pub total_bytes: i64,
}
pub const PJRT_CopyToDeviceStream_TotalBytes_Args_STRUCT_SIZE: _bindgen_ty_147 = 32;
pub type _bindgen_ty_147 = ::core::ffi::c_uint;
pub type PJRT_CopyToDeviceStream_TotalBytes = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_CopyToDeviceStream_TotalBytes_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_CopyToDeviceStream_GranuleSize_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub stream: *mut PJRT_CopyToDeviceStream,
    pub granule_size_in_bytes: i64,
}
pub const PJRT_CopyToDeviceStream_GranuleSize_Args_STRUCT_SIZE: _bindgen_ty_148 = 32;
pub type _bindgen_ty_148 = ::core::ffi::c_uint;
pub type PJRT_CopyToDeviceStream_GranuleSize = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_CopyToDeviceStream_GranuleSize_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_CopyToDeviceStream_CurrentBytes_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub stream: *mut PJRT_CopyToDeviceStream,
    pub current_bytes: i64,
}
pub const PJRT_CopyToDeviceStream_CurrentBytes_Args_STRUCT_SIZE: _bindgen_ty_149 = 32;
pub type _bindgen_ty_149 = ::core::ffi::c_uint;
pub type PJRT_CopyToDeviceStream_CurrentBytes = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_CopyToDeviceStream_CurrentBytes_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_TopologyDescription_Create_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub topology_name: *const ::core::ffi::c_char,
    pub topology_name_size: usize,
    pub create_options: *const PJRT_NamedValue,
    pub num_options: usize,
    pub topology: *mut PJRT_TopologyDescription,
}
pub const PJRT_TopologyDescription_Create_Args_STRUCT_SIZE: _bindgen_ty_150 = 56;
pub type _bindgen_ty_150 = ::core::ffi::c_uint;
pub type PJRT_TopologyDescription_Create = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_TopologyDescription_Create_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_TopologyDescription_Destroy_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub topology: *mut PJRT_TopologyDescription,
}
pub const PJRT_TopologyDescription_Destroy_Args_STRUCT_SIZE: _bindgen_ty_151 = 24;
pub type _bindgen_ty_151 = ::core::ffi::c_uint;
pub type PJRT_TopologyDescription_Destroy = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_TopologyDescription_Destroy_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_TopologyDescription_PlatformVersion_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub topology: *mut PJRT_TopologyDescription,
    pub platform_version: *const ::core::ffi::c_char,
    pub platform_version_size: usize,
}
pub const PJRT_TopologyDescription_PlatformVersion_Args_STRUCT_SIZE: _bindgen_ty_152 = 40;
pub type _bindgen_ty_152 = ::core::ffi::c_uint;
pub type PJRT_TopologyDescription_PlatformVersion = ::core::option::Option<
    unsafe extern "C" fn(
        args: *mut PJRT_TopologyDescription_PlatformVersion_Args,
    ) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_TopologyDescription_PlatformName_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub topology: *const PJRT_TopologyDescription,
    pub platform_name: *const ::core::ffi::c_char,
    pub platform_name_size: usize,
}
pub const PJRT_TopologyDescription_PlatformName_Args_STRUCT_SIZE: _bindgen_ty_153 = 40;
pub type _bindgen_ty_153 = ::core::ffi::c_uint;
pub type PJRT_TopologyDescription_PlatformName = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_TopologyDescription_PlatformName_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_TopologyDescription_GetDeviceDescriptions_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub topology: *const PJRT_TopologyDescription,
    pub descriptions: *const *mut PJRT_DeviceDescription,
    pub num_descriptions: usize,
}
pub const PJRT_TopologyDescription_GetDeviceDescriptions_Args_STRUCT_SIZE: _bindgen_ty_154 = 40;
pub type _bindgen_ty_154 = ::core::ffi::c_uint;
pub type PJRT_TopologyDescription_GetDeviceDescriptions = ::core::option::Option<
    unsafe extern "C" fn(
        args: *mut PJRT_TopologyDescription_GetDeviceDescriptions_Args,
    ) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug)]
pub struct PJRT_SerializedTopology {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_TopologyDescription_Serialize_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub topology: *mut PJRT_TopologyDescription,
    pub serialized_bytes: *const ::core::ffi::c_char,
    pub serialized_bytes_size: usize,
    pub serialized_topology: *mut PJRT_SerializedTopology,
    pub serialized_topology_deleter: ::core::option::Option<
        unsafe extern "C" fn(serialized_topology: *mut PJRT_SerializedTopology),
    >,
}
pub const PJRT_TopologyDescription_Serialize_Args_STRUCT_SIZE: _bindgen_ty_155 = 56;
pub type _bindgen_ty_155 = ::core::ffi::c_uint;
pub type PJRT_TopologyDescription_Serialize = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_TopologyDescription_Serialize_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_TopologyDescription_Deserialize_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub serialized_topology: *const ::core::ffi::c_char,
    pub serialized_topology_size: usize,
    pub topology: *mut PJRT_TopologyDescription,
}
pub const PJRT_TopologyDescription_Deserialize_Args_STRUCT_SIZE: _bindgen_ty_156 = 40;
pub type _bindgen_ty_156 = ::core::ffi::c_uint;
pub type PJRT_TopologyDescription_Deserialize = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_TopologyDescription_Deserialize_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_TopologyDescription_Attributes_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub topology: *mut PJRT_TopologyDescription,
    pub attributes: *const PJRT_NamedValue,
    pub num_attributes: usize,
}
pub const PJRT_TopologyDescription_Attributes_Args_STRUCT_SIZE: _bindgen_ty_157 = 40;
pub type _bindgen_ty_157 = ::core::ffi::c_uint;
pub type PJRT_TopologyDescription_Attributes = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_TopologyDescription_Attributes_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_TopologyDescription_Fingerprint_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub topology: *const PJRT_TopologyDescription,
    pub fingerprint: u64,
}
pub const PJRT_TopologyDescription_Fingerprint_Args_STRUCT_SIZE: _bindgen_ty_158 = 32;
pub type _bindgen_ty_158 = ::core::ffi::c_uint;
pub type PJRT_TopologyDescription_Fingerprint = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_TopologyDescription_Fingerprint_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub topology: *const PJRT_TopologyDescription,
    pub memory_space_kind_id: ::core::ffi::c_int,
    pub dims: *const i64,
    pub num_dims: usize,
    pub element_type: PJRT_Buffer_Type,
    pub layout: *const PJRT_Buffer_MemoryLayout,
    pub serialized_shape: *const ::core::ffi::c_char,
    pub serialized_shape_size: usize,
    pub serialized_shape_deleter:
        ::core::option::Option<unsafe extern "C" fn(arg1: *const ::core::ffi::c_char)>,
}
pub const PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args_STRUCT_SIZE:
    _bindgen_ty_159 = 88;
pub type _bindgen_ty_159 = ::core::ffi::c_uint;
pub type PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace = ::core::option::Option<
    unsafe extern "C" fn(
        args: *mut PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args,
    ) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_TopologyDescription_GetMemorySpaceKindIds_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub topology: *const PJRT_TopologyDescription,
    pub memory_space_kind_ids: *const ::core::ffi::c_int,
    pub num_memory_space_kind_ids: usize,
}
pub const PJRT_TopologyDescription_GetMemorySpaceKindIds_Args_STRUCT_SIZE: _bindgen_ty_160 = 40;
pub type _bindgen_ty_160 = ::core::ffi::c_uint;
pub type PJRT_TopologyDescription_GetMemorySpaceKindIds = ::core::option::Option<
    unsafe extern "C" fn(
        args: *mut PJRT_TopologyDescription_GetMemorySpaceKindIds_Args,
    ) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Compile_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub topology: *const PJRT_TopologyDescription,
    pub program: *const PJRT_Program,
    pub compile_options: *const ::core::ffi::c_char,
    pub compile_options_size: usize,
    pub client: *mut PJRT_Client,
    pub executable: *mut PJRT_Executable,
}
pub const PJRT_Compile_Args_STRUCT_SIZE: _bindgen_ty_161 = 64;
pub type _bindgen_ty_161 = ::core::ffi::c_uint;
pub type PJRT_Compile =
    ::core::option::Option<unsafe extern "C" fn(args: *mut PJRT_Compile_Args) -> *mut PJRT_Error>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Api {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub pjrt_api_version: PJRT_Api_Version,
    pub PJRT_Error_Destroy: PJRT_Error_Destroy,
    pub PJRT_Error_Message: PJRT_Error_Message,
    pub PJRT_Error_GetCode: PJRT_Error_GetCode,
    pub PJRT_Plugin_Initialize: PJRT_Plugin_Initialize,
    pub PJRT_Plugin_Attributes: PJRT_Plugin_Attributes,
    pub PJRT_Event_Destroy: PJRT_Event_Destroy,
    pub PJRT_Event_IsReady: PJRT_Event_IsReady,
    pub PJRT_Event_Error: PJRT_Event_Error,
    pub PJRT_Event_Await: PJRT_Event_Await,
    pub PJRT_Event_OnReady: PJRT_Event_OnReady,
    pub PJRT_Client_Create: PJRT_Client_Create,
    pub PJRT_Client_Destroy: PJRT_Client_Destroy,
    pub PJRT_Client_PlatformName: PJRT_Client_PlatformName,
    pub PJRT_Client_ProcessIndex: PJRT_Client_ProcessIndex,
    pub PJRT_Client_PlatformVersion: PJRT_Client_PlatformVersion,
    pub PJRT_Client_Devices: PJRT_Client_Devices,
    pub PJRT_Client_AddressableDevices: PJRT_Client_AddressableDevices,
    pub PJRT_Client_LookupDevice: PJRT_Client_LookupDevice,
    pub PJRT_Client_LookupAddressableDevice: PJRT_Client_LookupAddressableDevice,
    pub PJRT_Client_AddressableMemories: PJRT_Client_AddressableMemories,
    pub PJRT_Client_Compile: PJRT_Client_Compile,
    pub PJRT_Client_DefaultDeviceAssignment: PJRT_Client_DefaultDeviceAssignment,
    pub PJRT_Client_BufferFromHostBuffer: PJRT_Client_BufferFromHostBuffer,
    pub PJRT_DeviceDescription_Id: PJRT_DeviceDescription_Id,
    pub PJRT_DeviceDescription_ProcessIndex: PJRT_DeviceDescription_ProcessIndex,
    pub PJRT_DeviceDescription_Attributes: PJRT_DeviceDescription_Attributes,
    pub PJRT_DeviceDescription_Kind: PJRT_DeviceDescription_Kind,
    pub PJRT_DeviceDescription_DebugString: PJRT_DeviceDescription_DebugString,
    pub PJRT_DeviceDescription_ToString: PJRT_DeviceDescription_ToString,
    pub PJRT_Device_GetDescription: PJRT_Device_GetDescription,
    pub PJRT_Device_IsAddressable: PJRT_Device_IsAddressable,
    pub PJRT_Device_LocalHardwareId: PJRT_Device_LocalHardwareId,
    pub PJRT_Device_AddressableMemories: PJRT_Device_AddressableMemories,
    pub PJRT_Device_DefaultMemory: PJRT_Device_DefaultMemory,
    pub PJRT_Device_MemoryStats: PJRT_Device_MemoryStats,
    pub PJRT_Memory_Id: PJRT_Memory_Id,
    pub PJRT_Memory_Kind: PJRT_Memory_Kind,
    pub PJRT_Memory_DebugString: PJRT_Memory_DebugString,
    pub PJRT_Memory_ToString: PJRT_Memory_ToString,
    pub PJRT_Memory_AddressableByDevices: PJRT_Memory_AddressableByDevices,
    pub PJRT_Executable_Destroy: PJRT_Executable_Destroy,
    pub PJRT_Executable_Name: PJRT_Executable_Name,
    pub PJRT_Executable_NumReplicas: PJRT_Executable_NumReplicas,
    pub PJRT_Executable_NumPartitions: PJRT_Executable_NumPartitions,
    pub PJRT_Executable_NumOutputs: PJRT_Executable_NumOutputs,
    pub PJRT_Executable_SizeOfGeneratedCodeInBytes: PJRT_Executable_SizeOfGeneratedCodeInBytes,
    pub PJRT_Executable_GetCostAnalysis: PJRT_Executable_GetCostAnalysis,
    pub PJRT_Executable_OutputMemoryKinds: PJRT_Executable_OutputMemoryKinds,
    pub PJRT_Executable_OptimizedProgram: PJRT_Executable_OptimizedProgram,
    pub PJRT_Executable_Serialize: PJRT_Executable_Serialize,
    pub PJRT_LoadedExecutable_Destroy: PJRT_LoadedExecutable_Destroy,
    pub PJRT_LoadedExecutable_GetExecutable: PJRT_LoadedExecutable_GetExecutable,
    pub PJRT_LoadedExecutable_AddressableDevices: PJRT_LoadedExecutable_AddressableDevices,
    pub PJRT_LoadedExecutable_Delete: PJRT_LoadedExecutable_Delete,
    pub PJRT_LoadedExecutable_IsDeleted: PJRT_LoadedExecutable_IsDeleted,
    pub PJRT_LoadedExecutable_Execute: PJRT_LoadedExecutable_Execute,
    pub PJRT_Executable_DeserializeAndLoad: PJRT_Executable_DeserializeAndLoad,
    pub PJRT_LoadedExecutable_Fingerprint: PJRT_LoadedExecutable_Fingerprint,
    pub PJRT_Buffer_Destroy: PJRT_Buffer_Destroy,
    pub PJRT_Buffer_ElementType: PJRT_Buffer_ElementType,
    pub PJRT_Buffer_Dimensions: PJRT_Buffer_Dimensions,
    pub PJRT_Buffer_UnpaddedDimensions: PJRT_Buffer_UnpaddedDimensions,
    pub PJRT_Buffer_DynamicDimensionIndices: PJRT_Buffer_DynamicDimensionIndices,
    pub PJRT_Buffer_GetMemoryLayout: PJRT_Buffer_GetMemoryLayout,
    pub PJRT_Buffer_OnDeviceSizeInBytes: PJRT_Buffer_OnDeviceSizeInBytes,
    pub PJRT_Buffer_Device: PJRT_Buffer_Device,
    pub PJRT_Buffer_Memory: PJRT_Buffer_Memory,
    pub PJRT_Buffer_Delete: PJRT_Buffer_Delete,
    pub PJRT_Buffer_IsDeleted: PJRT_Buffer_IsDeleted,
    pub PJRT_Buffer_CopyToDevice: PJRT_Buffer_CopyToDevice,
    pub PJRT_Buffer_ToHostBuffer: PJRT_Buffer_ToHostBuffer,
    pub PJRT_Buffer_IsOnCpu: PJRT_Buffer_IsOnCpu,
    pub PJRT_Buffer_ReadyEvent: PJRT_Buffer_ReadyEvent,
    pub PJRT_Buffer_UnsafePointer: PJRT_Buffer_UnsafePointer,
    pub PJRT_Buffer_IncreaseExternalReferenceCount: PJRT_Buffer_IncreaseExternalReferenceCount,
    pub PJRT_Buffer_DecreaseExternalReferenceCount: PJRT_Buffer_DecreaseExternalReferenceCount,
    pub PJRT_Buffer_OpaqueDeviceMemoryDataPointer: PJRT_Buffer_OpaqueDeviceMemoryDataPointer,
    pub PJRT_CopyToDeviceStream_Destroy: PJRT_CopyToDeviceStream_Destroy,
    pub PJRT_CopyToDeviceStream_AddChunk: PJRT_CopyToDeviceStream_AddChunk,
    pub PJRT_CopyToDeviceStream_TotalBytes: PJRT_CopyToDeviceStream_TotalBytes,
    pub PJRT_CopyToDeviceStream_GranuleSize: PJRT_CopyToDeviceStream_GranuleSize,
    pub PJRT_CopyToDeviceStream_CurrentBytes: PJRT_CopyToDeviceStream_CurrentBytes,
    pub PJRT_TopologyDescription_Create: PJRT_TopologyDescription_Create,
    pub PJRT_TopologyDescription_Destroy: PJRT_TopologyDescription_Destroy,
    pub PJRT_TopologyDescription_PlatformName: PJRT_TopologyDescription_PlatformName,
    pub PJRT_TopologyDescription_PlatformVersion: PJRT_TopologyDescription_PlatformVersion,
    pub PJRT_TopologyDescription_GetDeviceDescriptions:
        PJRT_TopologyDescription_GetDeviceDescriptions,
    pub PJRT_TopologyDescription_Serialize: PJRT_TopologyDescription_Serialize,
    pub PJRT_TopologyDescription_Attributes: PJRT_TopologyDescription_Attributes,
    pub PJRT_Compile: PJRT_Compile,
    pub PJRT_Executable_OutputElementTypes: PJRT_Executable_OutputElementTypes,
    pub PJRT_Executable_OutputDimensions: PJRT_Executable_OutputDimensions,
    pub PJRT_Buffer_CopyToMemory: PJRT_Buffer_CopyToMemory,
    pub PJRT_Client_CreateViewOfDeviceBuffer: PJRT_Client_CreateViewOfDeviceBuffer,
    pub PJRT_Executable_Fingerprint: PJRT_Executable_Fingerprint,
    pub PJRT_Client_TopologyDescription: PJRT_Client_TopologyDescription,
    pub PJRT_Executable_GetCompiledMemoryStats: PJRT_Executable_GetCompiledMemoryStats,
    pub PJRT_Memory_Kind_Id: PJRT_Memory_Kind_Id,
    pub PJRT_ExecuteContext_Create: PJRT_ExecuteContext_Create,
    pub PJRT_ExecuteContext_Destroy: PJRT_ExecuteContext_Destroy,
    pub PJRT_Buffer_CopyRawToHost: PJRT_Buffer_CopyRawToHost,
    pub PJRT_AsyncHostToDeviceTransferManager_Destroy:
        PJRT_AsyncHostToDeviceTransferManager_Destroy,
    pub PJRT_AsyncHostToDeviceTransferManager_TransferData:
        PJRT_AsyncHostToDeviceTransferManager_TransferData,
    pub PJRT_Client_CreateBuffersForAsyncHostToDevice:
        PJRT_Client_CreateBuffersForAsyncHostToDevice,
    pub PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer:
        PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer,
    pub PJRT_AsyncHostToDeviceTransferManager_Device: PJRT_AsyncHostToDeviceTransferManager_Device,
    pub PJRT_AsyncHostToDeviceTransferManager_BufferCount:
        PJRT_AsyncHostToDeviceTransferManager_BufferCount,
    pub PJRT_AsyncHostToDeviceTransferManager_BufferSize:
        PJRT_AsyncHostToDeviceTransferManager_BufferSize,
    pub PJRT_AsyncHostToDeviceTransferManager_SetBufferError:
        PJRT_AsyncHostToDeviceTransferManager_SetBufferError,
    pub PJRT_AsyncHostToDeviceTransferManager_AddMetadata:
        PJRT_AsyncHostToDeviceTransferManager_AddMetadata,
    pub PJRT_Client_DmaMap: PJRT_Client_DmaMap,
    pub PJRT_Client_DmaUnmap: PJRT_Client_DmaUnmap,
    pub PJRT_Client_CreateUninitializedBuffer: PJRT_Client_CreateUninitializedBuffer,
    pub PJRT_Client_UpdateGlobalProcessInfo: PJRT_Client_UpdateGlobalProcessInfo,
    pub PJRT_TopologyDescription_Deserialize: PJRT_TopologyDescription_Deserialize,
    pub PJRT_Client_CreateAliasBuffer: PJRT_Client_CreateAliasBuffer,
    pub PJRT_Client_FulfillAliasBuffer: PJRT_Client_FulfillAliasBuffer,
    pub PJRT_LoadedExecutable_GetDeviceAssignment: PJRT_LoadedExecutable_GetDeviceAssignment,
    pub PJRT_Client_CreateErrorBuffer: PJRT_Client_CreateErrorBuffer,
    pub PJRT_AsyncHostToDeviceTransferManager_TransferLiteral:
        PJRT_AsyncHostToDeviceTransferManager_TransferLiteral,
    pub PJRT_Buffer_CopyRawToHostFuture: PJRT_Buffer_CopyRawToHostFuture,
    pub PJRT_Device_PoisonExecution: PJRT_Device_PoisonExecution,
    pub PJRT_Device_CreateAsyncTrackingEvent: PJRT_Device_CreateAsyncTrackingEvent,
    pub PJRT_AsyncTrackingEvent_Destroy: PJRT_AsyncTrackingEvent_Destroy,
    pub PJRT_Executable_GetCompileOptions: PJRT_Executable_GetCompileOptions,
    pub PJRT_Buffer_DonateWithControlDependency: PJRT_Buffer_DonateWithControlDependency,
    pub PJRT_Event_Create: PJRT_Event_Create,
    pub PJRT_Event_Set: PJRT_Event_Set,
    pub PJRT_Device_GetAttributes: PJRT_Device_GetAttributes,
    pub PJRT_Client_Load: PJRT_Client_Load,
    pub PJRT_LoadedExecutable_AddressableDeviceLogicalIds:
        PJRT_LoadedExecutable_AddressableDeviceLogicalIds,
    pub PJRT_Buffer_Bitcast: PJRT_Buffer_Bitcast,
    pub PJRT_Error_ForEachPayload: PJRT_Error_ForEachPayload,
    pub PJRT_TopologyDescription_Fingerprint: PJRT_TopologyDescription_Fingerprint,
    pub PJRT_Executable_ParameterMemoryKinds: PJRT_Executable_ParameterMemoryKinds,
    pub PJRT_Device_ClearMemoryStats: PJRT_Device_ClearMemoryStats,
    pub PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace:
        PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace,
    pub PJRT_TopologyDescription_GetMemorySpaceKindIds:
        PJRT_TopologyDescription_GetMemorySpaceKindIds,
}
pub const PJRT_Api_STRUCT_SIZE: _bindgen_ty_162 = 1144;
pub type _bindgen_ty_162 = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Debug)]
pub struct PJRT_Layouts_MemoryLayout {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug)]
pub struct PJRT_Layouts_SerializedLayout {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Layouts_MemoryLayout_Destroy_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub layout: *mut PJRT_Layouts_MemoryLayout,
}
pub const PJRT_Layouts_MemoryLayout_Destroy_Args_STRUCT_SIZE: _bindgen_ty_163 = 24;
pub type _bindgen_ty_163 = ::core::ffi::c_uint;
pub type PJRT_Layouts_MemoryLayout_Destroy = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Layouts_MemoryLayout_Destroy_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Layouts_MemoryLayout_Serialize_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub layout: *mut PJRT_Layouts_MemoryLayout,
    pub serialized_bytes: *const ::core::ffi::c_char,
    pub serialized_bytes_size: usize,
    pub serialized_layout: *mut PJRT_Layouts_SerializedLayout,
    pub serialized_layout_deleter:
        ::core::option::Option<unsafe extern "C" fn(s_layout: *mut PJRT_Layouts_SerializedLayout)>,
}
pub const PJRT_Layouts_MemoryLayout_Serialize_Args_STRUCT_SIZE: _bindgen_ty_164 = 56;
pub type _bindgen_ty_164 = ::core::ffi::c_uint;
pub type PJRT_Layouts_MemoryLayout_Serialize = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Layouts_MemoryLayout_Serialize_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_Buffer,
    pub layout: *mut PJRT_Layouts_MemoryLayout,
}
pub const PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args_STRUCT_SIZE: _bindgen_ty_165 = 32;
pub type _bindgen_ty_165 = ::core::ffi::c_uint;
pub type PJRT_Layouts_PJRT_Buffer_MemoryLayout = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub type_: PJRT_Buffer_Type,
    pub dims: *const i64,
    pub num_dims: usize,
    pub layout: *mut PJRT_Layouts_MemoryLayout,
}
pub const PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args_STRUCT_SIZE: _bindgen_ty_166 = 56;
pub type _bindgen_ty_166 = ::core::ffi::c_uint;
pub type PJRT_Layouts_PJRT_Client_GetDefaultLayout = ::core::option::Option<
    unsafe extern "C" fn(
        args: *mut PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args,
    ) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub topology_description: *mut PJRT_TopologyDescription,
    pub type_: PJRT_Buffer_Type,
    pub dims: *const i64,
    pub num_dims: usize,
    pub layout: *mut PJRT_Layouts_MemoryLayout,
}
pub const PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args_STRUCT_SIZE: _bindgen_ty_167 = 56;
pub type _bindgen_ty_167 = ::core::ffi::c_uint;
pub type PJRT_Layouts_PJRT_Topology_GetDefaultLayout = ::core::option::Option<
    unsafe extern "C" fn(
        args: *mut PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args,
    ) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_Executable,
    pub num_outputs: usize,
    pub layouts: *mut *mut PJRT_Layouts_MemoryLayout,
}
pub const PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args_STRUCT_SIZE: _bindgen_ty_168 = 40;
pub type _bindgen_ty_168 = ::core::ffi::c_uint;
pub type PJRT_Layouts_PJRT_Executable_GetOutputLayouts = ::core::option::Option<
    unsafe extern "C" fn(
        args: *mut PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args,
    ) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_Executable,
    pub num_parameters: usize,
    pub layouts: *mut *mut PJRT_Layouts_MemoryLayout,
}
pub const PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args_STRUCT_SIZE: _bindgen_ty_169 = 40;
pub type _bindgen_ty_169 = ::core::ffi::c_uint;
pub type PJRT_Layouts_PJRT_Executable_GetParameterLayouts = ::core::option::Option<
    unsafe extern "C" fn(
        args: *mut PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args,
    ) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Layouts_Extension {
    pub base: PJRT_Extension_Base,
    pub PJRT_Layouts_MemoryLayout_Destroy: PJRT_Layouts_MemoryLayout_Destroy,
    pub PJRT_Layouts_MemoryLayout_Serialize: PJRT_Layouts_MemoryLayout_Serialize,
    pub PJRT_Layouts_PJRT_Client_GetDefaultLayout: PJRT_Layouts_PJRT_Client_GetDefaultLayout,
    pub PJRT_Layouts_PJRT_Buffer_MemoryLayout: PJRT_Layouts_PJRT_Buffer_MemoryLayout,
    pub PJRT_Layouts_PJRT_Topology_GetDefaultLayout: PJRT_Layouts_PJRT_Topology_GetDefaultLayout,
    pub PJRT_Layouts_PJRT_Executable_GetOutputLayouts:
        PJRT_Layouts_PJRT_Executable_GetOutputLayouts,
    pub PJRT_Layouts_PJRT_Executable_GetParameterLayouts:
        PJRT_Layouts_PJRT_Executable_GetParameterLayouts,
}
pub const PJRT_Layouts_Extension_STRUCT_SIZE: _bindgen_ty_170 = 80;
pub type _bindgen_ty_170 = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Shardings_PJRT_Executable_ParameterShardings_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_Executable,
    pub num_parameters: usize,
    pub shardings: *const *const ::core::ffi::c_char,
    pub sharding_sizes: *const usize,
}
pub const PJRT_Shardings_PJRT_Executable_ParameterShardings_Args_STRUCT_SIZE: _bindgen_ty_171 = 48;
pub type _bindgen_ty_171 = ::core::ffi::c_uint;
pub type PJRT_Shardings_PJRT_Executable_ParameterShardings = ::core::option::Option<
    unsafe extern "C" fn(
        args: *mut PJRT_Shardings_PJRT_Executable_ParameterShardings_Args,
    ) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Shardings_PJRT_Executable_OutputShardings_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_Executable,
    pub num_outputs: usize,
    pub shardings: *const *const ::core::ffi::c_char,
    pub sharding_sizes: *const usize,
}
pub const PJRT_Shardings_PJRT_Executable_OutputShardings_Args_STRUCT_SIZE: _bindgen_ty_172 = 48;
pub type _bindgen_ty_172 = ::core::ffi::c_uint;
pub type PJRT_Shardings_PJRT_Executable_OutputShardings = ::core::option::Option<
    unsafe extern "C" fn(
        args: *mut PJRT_Shardings_PJRT_Executable_OutputShardings_Args,
    ) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Shardings_Extension {
    pub base: PJRT_Extension_Base,
    pub PJRT_Shardings_PJRT_Executable_ParameterShardings:
        PJRT_Shardings_PJRT_Executable_ParameterShardings,
    pub PJRT_Shardings_PJRT_Executable_OutputShardings:
        PJRT_Shardings_PJRT_Executable_OutputShardings,
}
pub const PJRT_Shardings_Extension_STRUCT_SIZE: _bindgen_ty_173 = 40;
pub type _bindgen_ty_173 = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_FFI_Type_Info {
    pub deleter: ::core::option::Option<unsafe extern "C" fn(object: *mut ::core::ffi::c_void)>,
    pub serialize: ::core::option::Option<unsafe extern "C" fn()>,
    pub deserialize: ::core::option::Option<unsafe extern "C" fn()>,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_FFI_Type_Register_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub type_name: *const ::core::ffi::c_char,
    pub type_name_size: usize,
    pub type_id: i64,
    pub type_info: *mut PJRT_FFI_Type_Info,
}
pub const PJRT_FFI_Type_Register_Args_STRUCT_SIZE: _bindgen_ty_174 = 48;
pub type _bindgen_ty_174 = ::core::ffi::c_uint;
pub type PJRT_FFI_Type_Register = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_FFI_Type_Register_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_FFI_UserData {
    pub type_id: i64,
    pub data: *mut ::core::ffi::c_void,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_FFI_UserData_Add_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub context: *mut PJRT_ExecuteContext,
    pub user_data: PJRT_FFI_UserData,
}
pub const PJRT_FFI_UserData_Add_Args_STRUCT_SIZE: _bindgen_ty_175 = 40;
pub type _bindgen_ty_175 = ::core::ffi::c_uint;
pub type PJRT_FFI_UserData_Add = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_FFI_UserData_Add_Args) -> *mut PJRT_Error,
>;
pub const PJRT_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE: PJRT_FFI_Handler_TraitsBits = 1;
pub type PJRT_FFI_Handler_TraitsBits = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_FFI_Register_Handler_Args {
    pub struct_size: usize,
    pub target_name: *const ::core::ffi::c_char,
    pub target_name_size: usize,
    pub handler: *mut ::core::ffi::c_void,
    pub platform_name: *const ::core::ffi::c_char,
    pub platform_name_size: usize,
    pub traits: PJRT_FFI_Handler_TraitsBits,
}
pub const PJRT_FFI_Register_Handler_Args_STRUCT_SIZE: _bindgen_ty_176 = 52;
pub type _bindgen_ty_176 = ::core::ffi::c_uint;
pub type PJRT_FFI_Register_Handler = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_FFI_Register_Handler_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_FFI_Extension {
    pub base: PJRT_Extension_Base,
    pub type_register: PJRT_FFI_Type_Register,
    pub user_data_add: PJRT_FFI_UserData_Add,
    pub register_handler: PJRT_FFI_Register_Handler,
}
pub type PJRT_FFI = PJRT_FFI_Extension;
pub const PJRT_FFI_Extension_STRUCT_SIZE: _bindgen_ty_177 = 48;
pub type _bindgen_ty_177 = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Debug)]
pub struct PLUGIN_Profiler {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug)]
pub struct PLUGIN_Profiler_Error {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PLUGIN_Profiler_Error_Destroy_Args {
    pub struct_size: usize,
    pub priv_: *mut ::core::ffi::c_void,
    pub error: *mut PLUGIN_Profiler_Error,
}
pub const PLUGIN_Profiler_Error_Destroy_Args_STRUCT_SIZE: _bindgen_ty_178 = 24;
pub type _bindgen_ty_178 = ::core::ffi::c_uint;
pub type PLUGIN_Profiler_Error_Destroy =
    ::core::option::Option<unsafe extern "C" fn(args: *mut PLUGIN_Profiler_Error_Destroy_Args)>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PLUGIN_Profiler_Error_Message_Args {
    pub struct_size: usize,
    pub priv_: *mut ::core::ffi::c_void,
    pub error: *const PLUGIN_Profiler_Error,
    pub message: *const ::core::ffi::c_char,
    pub message_size: usize,
}
pub const PLUGIN_Profiler_Error_Message_Args_STRUCT_SIZE: _bindgen_ty_179 = 40;
pub type _bindgen_ty_179 = ::core::ffi::c_uint;
pub type PLUGIN_Profiler_Error_Message =
    ::core::option::Option<unsafe extern "C" fn(args: *mut PLUGIN_Profiler_Error_Message_Args)>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PLUGIN_Profiler_Error_GetCode_Args {
    pub struct_size: usize,
    pub priv_: *mut ::core::ffi::c_void,
    pub error: *const PLUGIN_Profiler_Error,
    pub code: ::core::ffi::c_int,
}
pub const PLUGIN_Profiler_Error_GetCode_Args_STRUCT_SIZE: _bindgen_ty_180 = 28;
pub type _bindgen_ty_180 = ::core::ffi::c_uint;
pub type PLUGIN_Profiler_Error_GetCode = ::core::option::Option<
    unsafe extern "C" fn(
        args: *mut PLUGIN_Profiler_Error_GetCode_Args,
    ) -> *mut PLUGIN_Profiler_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PLUGIN_Profiler_Create_Args {
    pub struct_size: usize,
    pub options: *const ::core::ffi::c_char,
    pub options_size: usize,
    pub profiler: *mut PLUGIN_Profiler,
}
pub const PLUGIN_Profiler_Create_Args_STRUCT_SIZE: _bindgen_ty_181 = 32;
pub type _bindgen_ty_181 = ::core::ffi::c_uint;
pub type PLUGIN_Profiler_Create = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PLUGIN_Profiler_Create_Args) -> *mut PLUGIN_Profiler_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PLUGIN_Profiler_Destroy_Args {
    pub struct_size: usize,
    pub profiler: *mut PLUGIN_Profiler,
}
pub const PLUGIN_Profiler_Destroy_Args_STRUCT_SIZE: _bindgen_ty_182 = 16;
pub type _bindgen_ty_182 = ::core::ffi::c_uint;
pub type PLUGIN_Profiler_Destroy = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PLUGIN_Profiler_Destroy_Args) -> *mut PLUGIN_Profiler_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PLUGIN_Profiler_Start_Args {
    pub struct_size: usize,
    pub profiler: *mut PLUGIN_Profiler,
}
pub const PLUGIN_Profiler_Start_Args_STRUCT_SIZE: _bindgen_ty_183 = 16;
pub type _bindgen_ty_183 = ::core::ffi::c_uint;
pub type PLUGIN_Profiler_Start = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PLUGIN_Profiler_Start_Args) -> *mut PLUGIN_Profiler_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PLUGIN_Profiler_Stop_Args {
    pub struct_size: usize,
    pub profiler: *mut PLUGIN_Profiler,
}
pub const PLUGIN_Profiler_Stop_Args_STRUCT_SIZE: _bindgen_ty_184 = 16;
pub type _bindgen_ty_184 = ::core::ffi::c_uint;
pub type PLUGIN_Profiler_Stop = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PLUGIN_Profiler_Stop_Args) -> *mut PLUGIN_Profiler_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PLUGIN_Profiler_CollectData_Args {
    pub struct_size: usize,
    pub profiler: *mut PLUGIN_Profiler,
    pub buffer: *mut u8,
    pub buffer_size_in_bytes: usize,
}
pub const PLUGIN_Profiler_CollectData_Args_STRUCT_SIZE: _bindgen_ty_185 = 32;
pub type _bindgen_ty_185 = ::core::ffi::c_uint;
pub type PLUGIN_Profiler_CollectData = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PLUGIN_Profiler_CollectData_Args) -> *mut PLUGIN_Profiler_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PLUGIN_Profiler_Api {
    pub struct_size: usize,
    pub priv_: *mut ::core::ffi::c_void,
    pub error_destroy: PLUGIN_Profiler_Error_Destroy,
    pub error_message: PLUGIN_Profiler_Error_Message,
    pub error_get_code: PLUGIN_Profiler_Error_GetCode,
    pub create: PLUGIN_Profiler_Create,
    pub destroy: PLUGIN_Profiler_Destroy,
    pub start: PLUGIN_Profiler_Start,
    pub stop: PLUGIN_Profiler_Stop,
    pub collect_data: PLUGIN_Profiler_CollectData,
}
pub const PLUGIN_Profiler_Api_STRUCT_SIZE: _bindgen_ty_186 = 80;
pub type _bindgen_ty_186 = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Profiler_Extension {
    pub base: PJRT_Extension_Base,
    pub profiler_api: *mut PLUGIN_Profiler_Api,
    pub traceme_context_id: i64,
}
pub const PJRT_Profiler_Extension_STRUCT_SIZE: _bindgen_ty_187 = 40;
pub type _bindgen_ty_187 = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Debug)]
pub struct PJRT_MemoryDescription {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_DeviceDescription_MemoryDescriptions_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub device_description: *mut PJRT_DeviceDescription,
    pub memory_descriptions: *const *const PJRT_MemoryDescription,
    pub num_memory_descriptions: usize,
    pub default_memory_index: usize,
}
pub const PJRT_DeviceDescription_MemoryDescriptions_Args_STRUCT_SIZE: _bindgen_ty_188 = 48;
pub type _bindgen_ty_188 = ::core::ffi::c_uint;
pub type PJRT_DeviceDescription_MemoryDescriptions = ::core::option::Option<
    unsafe extern "C" fn(
        args: *mut PJRT_DeviceDescription_MemoryDescriptions_Args,
    ) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_MemoryDescription_Kind_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub memory_description: *const PJRT_MemoryDescription,
    pub kind: *const ::core::ffi::c_char,
    pub kind_size: usize,
    pub kind_id: ::core::ffi::c_int,
}
pub const PJRT_MemoryDescription_Kind_Args_STRUCT_SIZE: _bindgen_ty_189 = 44;
pub type _bindgen_ty_189 = ::core::ffi::c_uint;
pub type PJRT_MemoryDescription_Kind = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_MemoryDescription_Kind_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_MemoryDescriptions_Extension {
    pub base: PJRT_Extension_Base,
    pub PJRT_DeviceDescription_MemoryDescriptions: PJRT_DeviceDescription_MemoryDescriptions,
    pub PJRT_MemoryDescription_Kind: PJRT_MemoryDescription_Kind,
}
pub const PJRT_MemoryDescriptions_Extension_STRUCT_SIZE: _bindgen_ty_190 = 40;
pub type _bindgen_ty_190 = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Debug)]
pub struct XLA_FFI_InternalApi {
    _unused: [u8; 0],
}
pub const XLA_FFI_Extension_Metadata: XLA_FFI_Extension_Type = 1;
pub type XLA_FFI_Extension_Type = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_Extension_Base {
    pub struct_size: usize,
    pub type_: XLA_FFI_Extension_Type,
    pub next: *mut XLA_FFI_Extension_Base,
}
pub const XLA_FFI_Extension_Base_STRUCT_SIZE: _bindgen_ty_191 = 24;
pub type _bindgen_ty_191 = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_Api_Version {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_Extension_Base,
    pub major_version: ::core::ffi::c_int,
    pub minor_version: ::core::ffi::c_int,
}
pub const XLA_FFI_Api_Version_STRUCT_SIZE: _bindgen_ty_192 = 24;
pub type _bindgen_ty_192 = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Debug)]
pub struct XLA_FFI_Error {
    _unused: [u8; 0],
}
pub const XLA_FFI_Error_Code_OK: XLA_FFI_Error_Code = 0;
pub const XLA_FFI_Error_Code_CANCELLED: XLA_FFI_Error_Code = 1;
pub const XLA_FFI_Error_Code_UNKNOWN: XLA_FFI_Error_Code = 2;
pub const XLA_FFI_Error_Code_INVALID_ARGUMENT: XLA_FFI_Error_Code = 3;
pub const XLA_FFI_Error_Code_DEADLINE_EXCEEDED: XLA_FFI_Error_Code = 4;
pub const XLA_FFI_Error_Code_NOT_FOUND: XLA_FFI_Error_Code = 5;
pub const XLA_FFI_Error_Code_ALREADY_EXISTS: XLA_FFI_Error_Code = 6;
pub const XLA_FFI_Error_Code_PERMISSION_DENIED: XLA_FFI_Error_Code = 7;
pub const XLA_FFI_Error_Code_RESOURCE_EXHAUSTED: XLA_FFI_Error_Code = 8;
pub const XLA_FFI_Error_Code_FAILED_PRECONDITION: XLA_FFI_Error_Code = 9;
pub const XLA_FFI_Error_Code_ABORTED: XLA_FFI_Error_Code = 10;
pub const XLA_FFI_Error_Code_OUT_OF_RANGE: XLA_FFI_Error_Code = 11;
pub const XLA_FFI_Error_Code_UNIMPLEMENTED: XLA_FFI_Error_Code = 12;
pub const XLA_FFI_Error_Code_INTERNAL: XLA_FFI_Error_Code = 13;
pub const XLA_FFI_Error_Code_UNAVAILABLE: XLA_FFI_Error_Code = 14;
pub const XLA_FFI_Error_Code_DATA_LOSS: XLA_FFI_Error_Code = 15;
pub const XLA_FFI_Error_Code_UNAUTHENTICATED: XLA_FFI_Error_Code = 16;
pub type XLA_FFI_Error_Code = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_Error_Create_Args {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_Extension_Base,
    pub message: *const ::core::ffi::c_char,
    pub errc: XLA_FFI_Error_Code,
}
pub const XLA_FFI_Error_Create_Args_STRUCT_SIZE: _bindgen_ty_193 = 28;
pub type _bindgen_ty_193 = ::core::ffi::c_uint;
pub type XLA_FFI_Error_Create = ::core::option::Option<
    unsafe extern "C" fn(args: *mut XLA_FFI_Error_Create_Args) -> *mut XLA_FFI_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_Error_GetMessage_Args {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_Extension_Base,
    pub error: *mut XLA_FFI_Error,
    pub message: *const ::core::ffi::c_char,
}
pub const XLA_FFI_Error_GetMessage_Args_STRUCT_SIZE: _bindgen_ty_194 = 32;
pub type _bindgen_ty_194 = ::core::ffi::c_uint;
pub type XLA_FFI_Error_GetMessage =
    ::core::option::Option<unsafe extern "C" fn(args: *mut XLA_FFI_Error_GetMessage_Args)>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_Error_Destroy_Args {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_Extension_Base,
    pub error: *mut XLA_FFI_Error,
}
pub const XLA_FFI_Error_Destroy_Args_STRUCT_SIZE: _bindgen_ty_195 = 24;
pub type _bindgen_ty_195 = ::core::ffi::c_uint;
pub type XLA_FFI_Error_Destroy =
    ::core::option::Option<unsafe extern "C" fn(args: *mut XLA_FFI_Error_Destroy_Args)>;
pub const XLA_FFI_DataType_INVALID: XLA_FFI_DataType = 0;
pub const XLA_FFI_DataType_PRED: XLA_FFI_DataType = 1;
pub const XLA_FFI_DataType_S1: XLA_FFI_DataType = 30;
pub const XLA_FFI_DataType_S2: XLA_FFI_DataType = 26;
pub const XLA_FFI_DataType_S4: XLA_FFI_DataType = 21;
pub const XLA_FFI_DataType_S8: XLA_FFI_DataType = 2;
pub const XLA_FFI_DataType_S16: XLA_FFI_DataType = 3;
pub const XLA_FFI_DataType_S32: XLA_FFI_DataType = 4;
pub const XLA_FFI_DataType_S64: XLA_FFI_DataType = 5;
pub const XLA_FFI_DataType_U1: XLA_FFI_DataType = 31;
pub const XLA_FFI_DataType_U2: XLA_FFI_DataType = 27;
pub const XLA_FFI_DataType_U4: XLA_FFI_DataType = 22;
pub const XLA_FFI_DataType_U8: XLA_FFI_DataType = 6;
pub const XLA_FFI_DataType_U16: XLA_FFI_DataType = 7;
pub const XLA_FFI_DataType_U32: XLA_FFI_DataType = 8;
pub const XLA_FFI_DataType_U64: XLA_FFI_DataType = 9;
pub const XLA_FFI_DataType_F16: XLA_FFI_DataType = 10;
pub const XLA_FFI_DataType_F32: XLA_FFI_DataType = 11;
pub const XLA_FFI_DataType_F64: XLA_FFI_DataType = 12;
pub const XLA_FFI_DataType_BF16: XLA_FFI_DataType = 16;
pub const XLA_FFI_DataType_C64: XLA_FFI_DataType = 15;
pub const XLA_FFI_DataType_C128: XLA_FFI_DataType = 18;
pub const XLA_FFI_DataType_TOKEN: XLA_FFI_DataType = 17;
pub const XLA_FFI_DataType_F8E5M2: XLA_FFI_DataType = 19;
pub const XLA_FFI_DataType_F8E3M4: XLA_FFI_DataType = 29;
pub const XLA_FFI_DataType_F8E4M3: XLA_FFI_DataType = 28;
pub const XLA_FFI_DataType_F8E4M3FN: XLA_FFI_DataType = 20;
pub const XLA_FFI_DataType_F8E4M3B11FNUZ: XLA_FFI_DataType = 23;
pub const XLA_FFI_DataType_F8E5M2FNUZ: XLA_FFI_DataType = 24;
pub const XLA_FFI_DataType_F8E4M3FNUZ: XLA_FFI_DataType = 25;
pub const XLA_FFI_DataType_F4E2M1FN: XLA_FFI_DataType = 32;
pub const XLA_FFI_DataType_F8E8M0FNU: XLA_FFI_DataType = 33;
pub type XLA_FFI_DataType = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_Buffer {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_Extension_Base,
    pub dtype: XLA_FFI_DataType,
    pub data: *mut ::core::ffi::c_void,
    pub rank: i64,
    pub dims: *mut i64,
}
pub const XLA_FFI_Buffer_STRUCT_SIZE: _bindgen_ty_196 = 48;
pub type _bindgen_ty_196 = ::core::ffi::c_uint;
pub const XLA_FFI_ArgType_BUFFER: XLA_FFI_ArgType = 1;
pub type XLA_FFI_ArgType = ::core::ffi::c_uint;
pub const XLA_FFI_RetType_BUFFER: XLA_FFI_RetType = 1;
pub type XLA_FFI_RetType = ::core::ffi::c_uint;
pub const XLA_FFI_AttrType_ARRAY: XLA_FFI_AttrType = 1;
pub const XLA_FFI_AttrType_DICTIONARY: XLA_FFI_AttrType = 2;
pub const XLA_FFI_AttrType_SCALAR: XLA_FFI_AttrType = 3;
pub const XLA_FFI_AttrType_STRING: XLA_FFI_AttrType = 4;
pub type XLA_FFI_AttrType = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Debug)]
pub struct XLA_FFI_ExecutionContext {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_ByteSpan {
    pub ptr: *const ::core::ffi::c_char,
    pub len: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_Scalar {
    pub dtype: XLA_FFI_DataType,
    pub value: *mut ::core::ffi::c_void,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_Array {
    pub dtype: XLA_FFI_DataType,
    pub size: usize,
    pub data: *mut ::core::ffi::c_void,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_TypeId {
    pub type_id: i64,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_TypeInfo {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_Extension_Base,
    pub deleter: ::core::option::Option<unsafe extern "C" fn(object: *mut ::core::ffi::c_void)>,
}
pub const XLA_FFI_TypeInfo_STRUCT_SIZE: _bindgen_ty_197 = 24;
pub type _bindgen_ty_197 = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Debug)]
pub struct XLA_FFI_Future {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_Future_Create_Args {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_Extension_Base,
    pub future: *mut XLA_FFI_Future,
}
pub const XLA_FFI_Future_Create_Args_STRUCT_SIZE: _bindgen_ty_198 = 16;
pub type _bindgen_ty_198 = ::core::ffi::c_uint;
pub type XLA_FFI_Future_Create = ::core::option::Option<
    unsafe extern "C" fn(args: *mut XLA_FFI_Future_Create_Args) -> *mut XLA_FFI_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_Future_SetAvailable_Args {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_Extension_Base,
    pub future: *mut XLA_FFI_Future,
}
pub const XLA_FFI_Future_SetAvailable_Args_STRUCT_SIZE: _bindgen_ty_199 = 24;
pub type _bindgen_ty_199 = ::core::ffi::c_uint;
pub type XLA_FFI_Future_SetAvailable = ::core::option::Option<
    unsafe extern "C" fn(args: *mut XLA_FFI_Future_SetAvailable_Args) -> *mut XLA_FFI_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_Future_SetError_Args {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_Extension_Base,
    pub future: *mut XLA_FFI_Future,
    pub error: *mut XLA_FFI_Error,
}
pub const XLA_FFI_Future_SetError_Args_STRUCT_SIZE: _bindgen_ty_200 = 32;
pub type _bindgen_ty_200 = ::core::ffi::c_uint;
pub type XLA_FFI_Future_SetError = ::core::option::Option<
    unsafe extern "C" fn(args: *mut XLA_FFI_Future_SetError_Args) -> *mut XLA_FFI_Error,
>;
pub const XLA_FFI_ExecutionStage_INSTANTIATE: XLA_FFI_ExecutionStage = 0;
pub const XLA_FFI_ExecutionStage_PREPARE: XLA_FFI_ExecutionStage = 1;
pub const XLA_FFI_ExecutionStage_INITIALIZE: XLA_FFI_ExecutionStage = 2;
pub const XLA_FFI_ExecutionStage_EXECUTE: XLA_FFI_ExecutionStage = 3;
pub type XLA_FFI_ExecutionStage = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_Args {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_Extension_Base,
    pub size: i64,
    pub types: *mut XLA_FFI_ArgType,
    pub args: *mut *mut ::core::ffi::c_void,
}
pub const XLA_FFI_Args_STRUCT_SIZE: _bindgen_ty_201 = 40;
pub type _bindgen_ty_201 = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_Rets {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_Extension_Base,
    pub size: i64,
    pub types: *mut XLA_FFI_RetType,
    pub rets: *mut *mut ::core::ffi::c_void,
}
pub const XLA_FFI_Rets_STRUCT_SIZE: _bindgen_ty_202 = 40;
pub type _bindgen_ty_202 = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_Attrs {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_Extension_Base,
    pub size: i64,
    pub types: *mut XLA_FFI_AttrType,
    pub names: *mut *mut XLA_FFI_ByteSpan,
    pub attrs: *mut *mut ::core::ffi::c_void,
}
pub const XLA_FFI_Attrs_STRUCT_SIZE: _bindgen_ty_203 = 48;
pub type _bindgen_ty_203 = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_CallFrame {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_Extension_Base,
    pub api: *const XLA_FFI_Api,
    pub ctx: *mut XLA_FFI_ExecutionContext,
    pub stage: XLA_FFI_ExecutionStage,
    pub args: XLA_FFI_Args,
    pub rets: XLA_FFI_Rets,
    pub attrs: XLA_FFI_Attrs,
    pub future: *mut XLA_FFI_Future,
}
pub const XLA_FFI_CallFrame_STRUCT_SIZE: _bindgen_ty_204 = 168;
pub type _bindgen_ty_204 = ::core::ffi::c_uint;
pub type XLA_FFI_Handler = ::core::option::Option<
    unsafe extern "C" fn(call_frame: *mut XLA_FFI_CallFrame) -> *mut XLA_FFI_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_Handler_Bundle {
    pub instantiate: XLA_FFI_Handler,
    pub prepare: XLA_FFI_Handler,
    pub initialize: XLA_FFI_Handler,
    pub execute: XLA_FFI_Handler,
}
pub const XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE: XLA_FFI_Handler_TraitsBits = 1;
pub type XLA_FFI_Handler_TraitsBits = ::core::ffi::c_uint;
pub type XLA_FFI_Handler_Traits = u32;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_Handler_Register_Args {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_Extension_Base,
    pub name: XLA_FFI_ByteSpan,
    pub platform: XLA_FFI_ByteSpan,
    pub bundle: XLA_FFI_Handler_Bundle,
    pub traits: XLA_FFI_Handler_Traits,
}
pub const XLA_FFI_Handler_Register_Args_STRUCT_SIZE: _bindgen_ty_205 = 84;
pub type _bindgen_ty_205 = ::core::ffi::c_uint;
pub type XLA_FFI_Handler_Register = ::core::option::Option<
    unsafe extern "C" fn(args: *mut XLA_FFI_Handler_Register_Args) -> *mut XLA_FFI_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_Type_Register_Args {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_Extension_Base,
    pub name: XLA_FFI_ByteSpan,
    pub type_id: *mut XLA_FFI_TypeId,
    pub type_info: *const XLA_FFI_TypeInfo,
}
pub const XLA_FFI_Type_Register_Args_STRUCT_SIZE: _bindgen_ty_206 = 40;
pub type _bindgen_ty_206 = ::core::ffi::c_uint;
pub type XLA_FFI_Type_Register = ::core::option::Option<
    unsafe extern "C" fn(args: *mut XLA_FFI_Type_Register_Args) -> *mut XLA_FFI_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_ExecutionContext_Get_Args {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_Extension_Base,
    pub ctx: *mut XLA_FFI_ExecutionContext,
    pub type_id: *mut XLA_FFI_TypeId,
    pub data: *mut ::core::ffi::c_void,
}
pub const XLA_FFI_ExecutionContext_Get_Args_STRUCT_SIZE: _bindgen_ty_207 = 40;
pub type _bindgen_ty_207 = ::core::ffi::c_uint;
pub type XLA_FFI_ExecutionContext_Get = ::core::option::Option<
    unsafe extern "C" fn(args: *mut XLA_FFI_ExecutionContext_Get_Args) -> *mut XLA_FFI_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_State_Set_Args {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_Extension_Base,
    pub ctx: *mut XLA_FFI_ExecutionContext,
    pub stage: XLA_FFI_ExecutionStage,
    pub type_id: *mut XLA_FFI_TypeId,
    pub state: *mut ::core::ffi::c_void,
}
pub const XLA_FFI_State_Set_Args_STRUCT_SIZE: _bindgen_ty_208 = 48;
pub type _bindgen_ty_208 = ::core::ffi::c_uint;
pub type XLA_FFI_State_Set = ::core::option::Option<
    unsafe extern "C" fn(args: *mut XLA_FFI_State_Set_Args) -> *mut XLA_FFI_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_State_Get_Args {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_Extension_Base,
    pub ctx: *mut XLA_FFI_ExecutionContext,
    pub stage: XLA_FFI_ExecutionStage,
    pub type_id: *mut XLA_FFI_TypeId,
    pub state: *mut ::core::ffi::c_void,
}
pub const XLA_FFI_State_Get_Args_STRUCT_SIZE: _bindgen_ty_209 = 48;
pub type _bindgen_ty_209 = ::core::ffi::c_uint;
pub type XLA_FFI_State_Get = ::core::option::Option<
    unsafe extern "C" fn(args: *mut XLA_FFI_State_Get_Args) -> *mut XLA_FFI_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_Stream_Get_Args {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_Extension_Base,
    pub ctx: *mut XLA_FFI_ExecutionContext,
    pub stream: *mut ::core::ffi::c_void,
}
pub const XLA_FFI_Stream_Get_Args_STRUCT_SIZE: _bindgen_ty_210 = 32;
pub type _bindgen_ty_210 = ::core::ffi::c_uint;
pub type XLA_FFI_Stream_Get = ::core::option::Option<
    unsafe extern "C" fn(args: *mut XLA_FFI_Stream_Get_Args) -> *mut XLA_FFI_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_DeviceMemory_Allocate_Args {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_Extension_Base,
    pub ctx: *mut XLA_FFI_ExecutionContext,
    pub size: usize,
    pub alignment: usize,
    pub data: *mut ::core::ffi::c_void,
}
pub const XLA_FFI_DeviceMemory_Allocate_Args_STRUCT_SIZE: _bindgen_ty_211 = 48;
pub type _bindgen_ty_211 = ::core::ffi::c_uint;
pub type XLA_FFI_DeviceMemory_Allocate = ::core::option::Option<
    unsafe extern "C" fn(args: *mut XLA_FFI_DeviceMemory_Allocate_Args) -> *mut XLA_FFI_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_DeviceMemory_Free_Args {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_Extension_Base,
    pub ctx: *mut XLA_FFI_ExecutionContext,
    pub size: usize,
    pub data: *mut ::core::ffi::c_void,
}
pub const XLA_FFI_DeviceMemory_Free_Args_STRUCT_SIZE: _bindgen_ty_212 = 40;
pub type _bindgen_ty_212 = ::core::ffi::c_uint;
pub type XLA_FFI_DeviceMemory_Free = ::core::option::Option<
    unsafe extern "C" fn(args: *mut XLA_FFI_DeviceMemory_Free_Args) -> *mut XLA_FFI_Error,
>;
pub type XLA_FFI_Task =
    ::core::option::Option<unsafe extern "C" fn(data: *mut ::core::ffi::c_void)>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_ThreadPool_Schedule_Args {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_Extension_Base,
    pub ctx: *mut XLA_FFI_ExecutionContext,
    pub task: XLA_FFI_Task,
    pub data: *mut ::core::ffi::c_void,
}
pub const XLA_FFI_ThreadPool_Schedule_Args_STRUCT_SIZE: _bindgen_ty_213 = 40;
pub type _bindgen_ty_213 = ::core::ffi::c_uint;
pub type XLA_FFI_ThreadPool_Schedule = ::core::option::Option<
    unsafe extern "C" fn(args: *mut XLA_FFI_ThreadPool_Schedule_Args) -> *mut XLA_FFI_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_ThreadPool_NumThreads_Args {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_Extension_Base,
    pub ctx: *mut XLA_FFI_ExecutionContext,
    pub num_threads: *mut i64,
}
pub const XLA_FFI_ThreadPool_NumThreads_Args_STRUCT_SIZE: _bindgen_ty_214 = 32;
pub type _bindgen_ty_214 = ::core::ffi::c_uint;
pub type XLA_FFI_ThreadPool_NumThreads = ::core::option::Option<
    unsafe extern "C" fn(args: *mut XLA_FFI_ThreadPool_NumThreads_Args) -> *mut XLA_FFI_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_RunId_Get_Args {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_Extension_Base,
    pub ctx: *mut XLA_FFI_ExecutionContext,
    pub run_id: i64,
}
pub const XLA_FFI_RunId_Get_Args_STRUCT_SIZE: _bindgen_ty_215 = 32;
pub type _bindgen_ty_215 = ::core::ffi::c_uint;
pub type XLA_FFI_RunId_Get = ::core::option::Option<
    unsafe extern "C" fn(args: *mut XLA_FFI_RunId_Get_Args) -> *mut XLA_FFI_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_DeviceOrdinal_Get_Args {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_Extension_Base,
    pub ctx: *mut XLA_FFI_ExecutionContext,
    pub device_ordinal: i32,
}
pub const XLA_FFI_DeviceOrdinal_Get_Args_STRUCT_SIZE: _bindgen_ty_216 = 28;
pub type _bindgen_ty_216 = ::core::ffi::c_uint;
pub type XLA_FFI_DeviceOrdinal_Get = ::core::option::Option<
    unsafe extern "C" fn(args: *mut XLA_FFI_DeviceOrdinal_Get_Args) -> *mut XLA_FFI_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_Metadata {
    pub struct_size: usize,
    pub api_version: XLA_FFI_Api_Version,
    pub traits: XLA_FFI_Handler_Traits,
    pub state_type_id: XLA_FFI_TypeId,
}
pub const XLA_FFI_Metadata_STRUCT_SIZE: _bindgen_ty_217 = 36;
pub type _bindgen_ty_217 = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_Metadata_Extension {
    pub extension_base: XLA_FFI_Extension_Base,
    pub metadata: *mut XLA_FFI_Metadata,
}
pub const XLA_FFI_Metadata_Extension_STRUCT_SIZE: _bindgen_ty_218 = 32;
pub type _bindgen_ty_218 = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_Api {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_Extension_Base,
    pub api_version: XLA_FFI_Api_Version,
    pub internal_api: *const XLA_FFI_InternalApi,
    pub XLA_FFI_Error_Create: XLA_FFI_Error_Create,
    pub XLA_FFI_Error_GetMessage: XLA_FFI_Error_GetMessage,
    pub XLA_FFI_Error_Destroy: XLA_FFI_Error_Destroy,
    pub XLA_FFI_Handler_Register: XLA_FFI_Handler_Register,
    pub XLA_FFI_Stream_Get: XLA_FFI_Stream_Get,
    pub XLA_FFI_Type_Register: XLA_FFI_Type_Register,
    pub XLA_FFI_ExecutionContext_Get: XLA_FFI_ExecutionContext_Get,
    pub XLA_FFI_State_Set: XLA_FFI_State_Set,
    pub XLA_FFI_State_Get: XLA_FFI_State_Get,
    pub XLA_FFI_DeviceMemory_Allocate: XLA_FFI_DeviceMemory_Allocate,
    pub XLA_FFI_DeviceMemory_Free: XLA_FFI_DeviceMemory_Free,
    pub XLA_FFI_ThreadPool_Schedule: XLA_FFI_ThreadPool_Schedule,
    pub XLA_FFI_ThreadPool_NumThreads: XLA_FFI_ThreadPool_NumThreads,
    pub XLA_FFI_Future_Create: XLA_FFI_Future_Create,
    pub XLA_FFI_Future_SetAvailable: XLA_FFI_Future_SetAvailable,
    pub XLA_FFI_Future_SetError: XLA_FFI_Future_SetError,
    pub XLA_FFI_RunId_Get: XLA_FFI_RunId_Get,
    pub XLA_FFI_DeviceOrdinal_Get: XLA_FFI_DeviceOrdinal_Get,
}
pub const XLA_FFI_Api_STRUCT_SIZE: _bindgen_ty_219 = 192;
pub type _bindgen_ty_219 = ::core::ffi::c_uint;
