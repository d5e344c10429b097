/* torch_abi.h: the functions of torch's stable C interface that we call.
 *
 * torch's own header is C++ text around plain C symbols. The list below is what
 * we use of it; the symbols are found at run time in the libtorch_cpu that is
 * loaded. A test compiles the list against torch's header. */
#ifndef SC_BIND_TORCH_ABI_H
#define SC_BIND_TORCH_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef SC_TORCH_TYPES
typedef int32_t AOTITorchError; /* 0: success */
typedef uint64_t StableIValue;
typedef struct AtenTensorOpaque *AtenTensorHandle;
typedef struct TorchLibraryOpaque *TorchLibraryHandle;
typedef struct StableListOpaque *StableListHandle;
typedef struct StringOpaque *StringHandle;
typedef struct IValueMapOpaque *IValueMapHandle;
typedef struct C10IValueOpaque *C10IValueHandle;
typedef struct AtenRecordFunctionOpaque *AtenRecordFunctionHandle;
#endif

/* The release whose stack conventions our kernels follow. */
#define SC_TORCH_BUILD (((uint64_t)2 << 56) | ((uint64_t)10 << 48))

/* clang-format off */
#define SC_TORCH_FUNCTIONS(X)                                                                                \
    X(AOTITorchError, aoti_torch_get_dim, (AtenTensorHandle, int64_t *))                                     \
    X(AOTITorchError, aoti_torch_get_sizes, (AtenTensorHandle, int64_t **))                                  \
    X(AOTITorchError, aoti_torch_get_strides, (AtenTensorHandle, int64_t **))                                \
    X(AOTITorchError, aoti_torch_get_dtype, (AtenTensorHandle, int32_t *))                                   \
    X(AOTITorchError, aoti_torch_get_device_type, (AtenTensorHandle, int32_t *))                             \
    X(AOTITorchError, torch_get_const_data_ptr, (AtenTensorHandle, const void **))                           \
    X(AOTITorchError, aoti_torch_get_data_ptr, (AtenTensorHandle, void **))                                  \
    X(AOTITorchError, aoti_torch_empty_strided, (int64_t, const int64_t *, const int64_t *, int32_t, int32_t, int32_t, AtenTensorHandle *)) \
    X(AOTITorchError, aoti_torch_delete_tensor_object, (AtenTensorHandle))                                   \
    X(AOTITorchError, aoti_torch_create_tensor_from_blob, (void *, int64_t, const int64_t *, const int64_t *, int64_t, int32_t, int32_t, int32_t, AtenTensorHandle *)) \
    X(AOTITorchError, aoti_torch_copy_, (AtenTensorHandle, AtenTensorHandle, int32_t))                       \
    X(AOTITorchError, aoti_torch_cpu_mm_out, (AtenTensorHandle, AtenTensorHandle, AtenTensorHandle))         \
    X(AOTITorchError, aoti_torch_cpu_bmm_out, (AtenTensorHandle, AtenTensorHandle, AtenTensorHandle))        \
    X(AOTITorchError, torch_new_list_reserve_size, (size_t, StableListHandle *))                             \
    X(AOTITorchError, torch_list_push_back, (StableListHandle, StableIValue))                                \
    X(AOTITorchError, torch_list_size, (StableListHandle, size_t *))                                         \
    X(AOTITorchError, torch_list_get_item, (StableListHandle, size_t, StableIValue *))                       \
    X(AOTITorchError, torch_delete_list, (StableListHandle))                                                 \
    X(AOTITorchError, torch_string_length, (StringHandle, size_t *))                                         \
    X(AOTITorchError, torch_string_c_str, (StringHandle, const char **))                                     \
    X(AOTITorchError, torch_delete_string, (StringHandle))                                                   \
    X(AOTITorchError, aoti_torch_library_init_fragment, (const char *, const char *, uint32_t, TorchLibraryHandle *)) \
    X(AOTITorchError, aoti_torch_library_init_impl, (const char *, const char *, const char *, uint32_t, TorchLibraryHandle *)) \
    X(AOTITorchError, aoti_torch_library_def, (TorchLibraryHandle, const char *))                            \
    X(AOTITorchError, torch_library_impl, (TorchLibraryHandle, const char *, void (*)(StableIValue *, uint64_t, uint64_t), uint64_t)) \
    X(void, aoti_torch_check, (bool, const char *, const char *, uint32_t, const char *))                    \
    X(bool, aoti_torch_grad_mode_is_enabled, (void))                                                         \
    X(int32_t, aoti_torch_device_type_cpu, (void))                                                           \
    X(int32_t, aoti_torch_dtype_bool, (void))                                                                \
    X(int32_t, aoti_torch_dtype_int16, (void))                                                               \
    X(int32_t, aoti_torch_dtype_int32, (void))                                                               \
    X(int32_t, aoti_torch_dtype_int64, (void))                                                               \
    X(int32_t, aoti_torch_dtype_float16, (void))                                                             \
    X(int32_t, aoti_torch_dtype_bfloat16, (void))                                                            \
    X(int32_t, aoti_torch_dtype_float32, (void))                                                             \
    X(int32_t, aoti_torch_dtype_float64, (void))

/* Those that later releases added, and those of oneDNN: null where this torch lacks them. */
#define SC_TORCH_LATER(X)                                                                                    \
    X(AOTITorchError, aoti_torch_cpu__linear_pointwise, (AtenTensorHandle, AtenTensorHandle, AtenTensorHandle *, const char *, const double **, int64_t, const char **, AtenTensorHandle *)) \
    X(AOTITorchError, aoti_record_function_start, (const char *, IValueMapHandle, const C10IValueHandle *, uint64_t, AtenRecordFunctionHandle *)) \
    X(AOTITorchError, aoti_record_function_end, (AtenRecordFunctionHandle))                                  \
    X(AOTITorchError, torch_from_blob, (void *, int64_t, const int64_t *, const int64_t *, int64_t, int32_t, int32_t, int32_t, AtenTensorHandle *, int32_t, const uint8_t *, int64_t, void (*)(void *, void *), void *)) /* 2.11 */
/* clang-format on */

#define SC_TORCH_MEMBER(ret, name, args) ret(*name) args;
typedef struct {
    SC_TORCH_FUNCTIONS(SC_TORCH_MEMBER)
    SC_TORCH_LATER(SC_TORCH_MEMBER)
} sc_torch_functions;

#endif
