// The headers of PJRT C API 0.112 and XLA FFI 0.3 that `src/ffi.rs` is generated from; paths are relative
// to a checkout of openxla/xla at 5a9e73cbd92530cac2ac36f4736a774b2412afe2 (jaxlib 0.10.2).
#include "xla/pjrt/c/pjrt_c_api.h"
#include "xla/pjrt/c/pjrt_c_api_layouts_extension.h"
#include "xla/pjrt/c/pjrt_c_api_shardings_extension.h"
#include "xla/pjrt/c/pjrt_c_api_ffi_extension.h"
#include "xla/pjrt/c/pjrt_c_api_profiler_extension.h"
#include "xla/pjrt/c/pjrt_c_api_memory_descriptions_extension.h"
#include "xla/ffi/api/c_api.h"
