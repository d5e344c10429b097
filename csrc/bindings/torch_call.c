/* torch_call.c: handles of torch as tensors of the core, and errors of the core as exceptions of torch. */
#include "torch_call.h"

#include <dlfcn.h>
#include <string.h>

sc_torch_functions sc_torch;

#define torch sc_torch

/* std::__throw_bad_alloc() of the C++ library that torch is linked with; null: not found there. */
static void (*throw_no_memory)(void);

int sc_torch_find(void *lib, sc_err *e)
{
#define FIND(ret, name, args)                                                                                \
    if (!(*(void **)(&torch.name) = dlsym(lib, #name)))                                                      \
        return sc_error(e, SC_ENOTIMPL, "this torch lacks %s: install torch 2.10 or newer", #name);
    SC_TORCH_FUNCTIONS(FIND)
#undef FIND
#define FIND(ret, name, args) *(void **)(&torch.name) = dlsym(lib, #name);
    SC_TORCH_LATER(FIND)
#undef FIND
    *(void **)(&throw_no_memory) = dlsym(lib, "_ZSt17__throw_bad_allocv");
    return SC_OK;
}

static int32_t to_torch(sc_dtype t)
{
    switch (t) {
    case SC_BOOL: return torch.aoti_torch_dtype_bool();
    case SC_I16: return torch.aoti_torch_dtype_int16();
    case SC_I32: return torch.aoti_torch_dtype_int32();
    case SC_I64: return torch.aoti_torch_dtype_int64();
    case SC_F16: return torch.aoti_torch_dtype_float16();
    case SC_BF16: return torch.aoti_torch_dtype_bfloat16();
    case SC_F32: return torch.aoti_torch_dtype_float32();
    case SC_F64: return torch.aoti_torch_dtype_float64();
    case SC_NDTYPE: break;
    }
    return -1;
}

static bool from_torch(int32_t d, sc_dtype *out)
{
    for (int t = 0; t < SC_NDTYPE; t++)
        if (to_torch((sc_dtype)t) == d) return *out = (sc_dtype)t, true;
    return false;
}

static void give_back(void *data, void *ctx)
{
    (void)ctx;
    sc_work_give(data);
}

/* Over memory that is kept when the tensor is freed, as that of large eager results is. On the device "cpu" without a
 * number, which is that of the data. */
static AtenTensorHandle large(sc_dtype t, int64_t bytes, int ndim, const int64_t *dim, const int64_t *stride)
{
    const int32_t cpu = torch.aoti_torch_device_type_cpu(), strided = 0;
    AtenTensorHandle h = NULL;
    void *data = sc_work_take((size_t)bytes);
    if (data && torch.torch_from_blob(data, ndim, dim, stride, 0, to_torch(t), cpu, -1, &h, strided, NULL, 0,
                                      give_back, NULL))
        sc_work_give(data);
    return h;
}

AtenTensorHandle sc_torch_over(const void *data, int ndim, const int64_t *dim, const int64_t *stride,
                               sc_dtype t)
{
    AtenTensorHandle h = NULL;
    torch.aoti_torch_create_tensor_from_blob((void *)(uintptr_t)data, ndim, dim, stride, 0, to_torch(t),
                                             torch.aoti_torch_device_type_cpu(), 0, &h);
    return h;
}

AtenTensorHandle sc_torch_empty(sc_dtype t, int ndim, const int64_t *dim)
{
    int64_t stride[SC_MAXDIM] = {0}, n = 1, bytes;
    bool empty = false;
    for (int i = ndim - 1; i >= 0; i--) {
        stride[i] = n;
        empty |= dim[i] == 0;
        if (!sc_mul(n, sc_max(dim[i], 1), &n)) return NULL;
    }
    if (!sc_mul(n, (int64_t)sc_dtype_size(t), &bytes)) return NULL;
    if (torch.torch_from_blob && !empty && bytes >= SC_LARGE_RESULT)
        return large(t, bytes, ndim, dim, stride);
    AtenTensorHandle h = NULL;
    if (sc_alloc_fails() || torch.aoti_torch_empty_strided(ndim, dim, stride, to_torch(t),
                                                           torch.aoti_torch_device_type_cpu(), 0, &h))
        return NULL;
    return h;
}

void sc_torch_drop(AtenTensorHandle *h)
{
    if (*h) torch.aoti_torch_delete_tensor_object(*h);
    *h = NULL;
}

/* std::bad_alloc is what Python shows as MemoryError; the other exceptions that C can throw are a RuntimeError. A
 * signal that ended the work is given back to Python, which answers it in the code that the error passes. */
void sc_torch_throw(const sc_err *e)
{
    if (e->code == SC_ESTOP) sc_stop_again();
    if (e->code == SC_ENOMEM && throw_no_memory) throw_no_memory();
    torch.aoti_torch_check(false, __func__, "scorch", 0, e->msg);
}

int sc_torch_broken(sc_err *e) { return sc_error(e, SC_EINTERNAL, "torch's C interface reported an error"); }

int sc_torch_view(AtenTensorHandle h, sc_tensor *t, sc_err *e)
{
    int64_t ndim, *size, *stride;
    int32_t dtype, device;
    const void *data;
    if (torch.aoti_torch_get_dim(h, &ndim) || torch.aoti_torch_get_sizes(h, &size) ||
        torch.aoti_torch_get_strides(h, &stride) || torch.aoti_torch_get_dtype(h, &dtype) ||
        torch.aoti_torch_get_device_type(h, &device) || torch.torch_get_const_data_ptr(h, &data))
        return sc_torch_broken(e);
    if (ndim > SC_MAXDIM)
        return sc_error(e, SC_EVALUE, "expected at most %d dimensions, got %d", SC_MAXDIM, (int)ndim);
    if (device != torch.aoti_torch_device_type_cpu())
        return sc_error(e, SC_EVALUE, "expected tensors on the CPU");
    memset(t, 0, sizeof *t);
    if (!from_torch(dtype, &t->dtype))
        return sc_error(e, SC_ENOTIMPL,
                        "expected float32, float64, int32, int64 or bool tensors: cast with .to()");
    t->itype = SC_I64;
    t->format.ndim = t->format.nlevel = (int)ndim;
    t->view.nval = 1;
    for (int i = 0; i < ndim; i++) {
        t->format.level[i] = (sc_levelspec){.kind = SC_DENSE, .unique = 1, .dim = (uint8_t)i};
        t->view.dim[i] = t->view.level[i].size = size[i];
        t->view.stride[i] = stride[i];
        t->view.nval *= size[i];
    }
    if (!data && t->view.nval)
        return sc_error(e, SC_EVALUE, "expected tensors with memory, got one without: call .clone() first");
    t->view.val = (void *)(uintptr_t)data;
    return 0;
}
