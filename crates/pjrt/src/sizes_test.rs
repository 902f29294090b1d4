//! Struct sizes against figures measured at real clients, so that a change of the generated
//! bindings that breaks the ABI is seen.

use crate::abi::end_of;
use crate::ffi;

#[test]
fn sizes_are_those_of_version_0_112() {
    assert_eq!(size_of::<ffi::PJRT_Api>(), 1144);
    assert_eq!((ffi::PJRT_API_MAJOR, ffi::PJRT_API_MINOR), (0, 112));
    // The framework passes the end of the last field, which may be less than the size.
    assert_eq!(end_of!(ffi::PJRT_Buffer_IsDeleted_Args, is_deleted), 25);
    assert_eq!(size_of::<ffi::PJRT_Buffer_IsDeleted_Args>(), 32);
    assert_eq!(end_of!(ffi::PJRT_Device_MemoryStats_Args, peak_pool_bytes_is_set), 185);
    assert_eq!(ffi::PJRT_Device_MemoryStats_Args_STRUCT_SIZE, 185);
    assert_eq!(size_of::<ffi::PJRT_Profiler_Extension>(), 40);
    assert_eq!(ffi::XLA_FFI_CallFrame_STRUCT_SIZE, 168);
}

#[test]
fn older_clients_have_the_fields_that_entries_ask_for() {
    // PJRT 0.75 (PyTorch/XLA 2.9) and 0.90 (TensorFlow 2.21).
    assert_eq!(end_of!(ffi::PJRT_ExecuteOptions, context), 80);
    assert_eq!(
        end_of!(ffi::PJRT_Executable_GetCompiledMemoryStats_Args, peak_memory_in_bytes),
        112
    );
    assert!(
        end_of!(ffi::PJRT_Executable_GetCompiledMemoryStats_Args, host_temp_size_in_bytes) <= 112
    );
    assert_eq!(
        end_of!(
            ffi::PJRT_Executable_DeserializeAndLoad_Args,
            overridden_serialized_compile_options_size
        ),
        64
    );
    assert_eq!(end_of!(ffi::PJRT_Client_CreateErrorBuffer_Args, buffer), 96);
    assert_eq!(end_of!(ffi::PJRT_Device_PoisonExecution_Args, poisoned), 49);
}
