/* dlpack.c: borrows tensor memory and allocates results.
 *
 * Both directions go through torch's exchange table: a look at a tensor costs
 * a tenth of a microsecond, and a result is memory of ours that a tensor takes
 * over, which is a third of a microsecond less than to ask torch for it. That of
 * large ones is kept for the next (kernels/work.c). Looking is not safe for every
 * object that has the type: a tensor of a functorch level raises (the table
 * does that), a meta tensor has no memory, a negative view shows the wrong
 * sign. Those are refused here; what has a tangent or needs a gradient is the
 * caller's question, because only the caller knows whether it matters. */
#include "bind.h"

#include <string.h>

#define CAPSULE "dlpack_exchange_api"
#define ALIGN ((size_t)64)

int sc_bind_connect(sc_state *s, PyObject *capsule)
{
    const sc_dl_header *h = PyCapsule_GetPointer(capsule, CAPSULE);
    if (!h) return -1;
    while (h && h->version.major != 1) h = h->prev;
    if (!h) {
        PyErr_SetString(PyExc_ImportError,
                        "scorch needs version 1 of the DLPack exchange interface; this torch "
                        "offers another one: install a torch that scorch supports");
        return -1;
    }
    s->dl = (const sc_dl_api *)(const void *)h;
    return 0;
}

static bool native(sc_dl_dtype d, sc_dtype *out)
{
    static const struct {
        uint8_t code, bits;
        sc_dtype t;
    } table[] = {
        {SC_DL_FLOAT, 32, SC_F32}, {SC_DL_FLOAT, 64, SC_F64},   {SC_DL_INT, 32, SC_I32},
        {SC_DL_INT, 64, SC_I64},   {SC_DL_BOOL, 8, SC_BOOL},    {SC_DL_INT, 16, SC_I16},
        {SC_DL_FLOAT, 16, SC_F16}, {SC_DL_BFLOAT, 16, SC_BF16},
    };
    for (int i = 0; i < SC_LEN(table); i++)
        if (table[i].code == d.code && table[i].bits == d.bits && d.lanes == 1)
            return *out = table[i].t, true;
    return false;
}

/* A type of the same size, for values that are only stored. */
static bool stored(sc_dl_dtype d, sc_dtype *out)
{
    const bool float8 = d.code >= SC_DL_FLOAT8 && d.code < SC_DL_FLOAT8_END;
    if (d.lanes != 1 || (d.code != SC_DL_INT && d.code != SC_DL_UINT && !float8)) return false;
    *out = d.bits == 8 ? SC_BOOL : d.bits == 16 ? SC_I16 : d.bits == 32 ? SC_I32 : SC_I64;
    return d.bits == 8 || d.bits == 16 || d.bits == 32 || d.bits == 64;
}

static int refuse_type(const sc_state *s, PyObject *x)
{
    (void)s;
    PyErr_Format(PyExc_TypeError, "expected a torch.Tensor, and no subclass of it, got %R",
                 (PyObject *)Py_TYPE(x));
    return -1;
}

static bool has(PyObject *x, const char *attribute)
{
    PyObject *found = x ? PyObject_GetAttrString(x, attribute) : NULL;
    const bool yes = found == Py_True;
    Py_XDECREF(found);
    return yes;
}

/* What torch does not show: replaces its exception, which carries a C++ stack, by one that says what came. */
static int refuse_hidden(PyObject *x)
{
    if (PyErr_ExceptionMatches(PyExc_MemoryError)) return -1;
    PyErr_Clear();
    PyObject *type = PyObject_GetAttrString(x, "dtype"), *device = PyObject_GetAttrString(x, "device");
    const char *why = has(type, "is_complex") ? "complex numbers are not supported"
                      : has(x, "is_nested") ? "nested tensors hold several: pad them, or take them one by one"
                      : has(x, "is_quantized") ? "call .dequantize() first"
                      : has(x, "is_meta")      ? "there are no numbers on it: make or load it on the CPU"
                      : !has(x, "is_cpu") ? "call .cpu() first"
                                          : "its memory cannot be reached, or not be written: inside of a "
                                            "transform of torch.func make SparseTensors of captured tensors";
    if (type && device && !PyErr_Occurred())
        PyErr_Format(PyExc_TypeError,
                     "expected a tensor of a real type with memory on the CPU, got one of %S on %S: %s", type,
                     device, why);
    Py_XDECREF(type);
    Py_XDECREF(device);
    return -1;
}

static int describe(const sc_dl_tensor *d, sc_borrowed *out)
{
    sc_view *v = &out->t.view;
    if (d->ndim > SC_MAXDIM) {
        PyErr_Format(
            PyExc_NotImplementedError,
            "expected tensors of at most %d dimensions, got %d: join some (flatten), or split the expression",
            SC_MAXDIM, (int)d->ndim);
        return -1;
    }
    out->n = 1;
    out->contiguous = true;
    for (int i = d->ndim - 1; i >= 0; i--) {
        v->dim[i] = d->shape[i];
        v->stride[i] = d->strides ? d->strides[i] : out->n;
        if (d->shape[i] != 1 && v->stride[i] != out->n) out->contiguous = false;
        out->n *= d->shape[i];
    }
    if (out->n == 0) out->contiguous = true;
    v->val = d->data ? (char *)d->data + d->byte_offset : NULL;
    v->nval = out->n;
    out->t.format.ndim = out->t.format.nlevel = d->ndim;
    for (int i = 0; i < d->ndim; i++) {
        out->t.format.level[i] = (sc_levelspec){.kind = SC_DENSE, .unique = 1, .dim = (uint8_t)i};
        v->level[i] = (sc_level){.size = d->shape[i]};
    }
    out->t.itype = SC_I64;
    return 0;
}

static int is_negative(const sc_state *s, PyObject *x)
{
    PyObject *r = PyObject_CallMethodObjArgs(x, s->name.is_neg, NULL);
    if (!r) return -1;
    int yes = r == Py_True;
    Py_DECREF(r);
    return yes;
}

int sc_bind_borrow(const sc_state *s, PyObject *x, sc_borrowed *out)
{
    PyObject *type = (PyObject *)Py_TYPE(x);
    if (type != s->tensor_type && type != s->parameter_type) return refuse_type(s, x);
    sc_dl_tensor d;
    if (s->dl->borrow(x, &d)) return refuse_hidden(x);
    if (d.device.type != SC_DL_CPU) {
        PyErr_SetString(PyExc_ValueError,
                        "expected a tensor on the CPU, got another device: call .cpu() first");
        return -1;
    }
    memset(&out->t, 0, sizeof out->t);
    if (describe(&d, out)) return -1;
    if (!out->t.view.val && out->n) {
        PyErr_SetString(PyExc_TypeError,
                        "expected a tensor with memory, got one without (meta or fake tensor)");
        return -1;
    }
    out->computes = native(d.dtype, &out->t.dtype);
    if (!out->computes && !stored(d.dtype, &out->t.dtype)) {
        PyErr_SetString(PyExc_TypeError,
                        "expected a real type of 8 to 64 bits that has a zero (complex tensors are not "
                        "supported)");
        return -1;
    }
    int neg = out->computes && d.dtype.code != SC_DL_BOOL ? is_negative(s, x) : 0;
    if (neg > 0) PyErr_SetString(PyExc_ValueError, "got a negative view: call .resolve_neg() first");
    return neg ? -1 : 0;
}

PyObject *sc_bind_readable(const sc_state *s, PyObject *x)
{
    PyObject *type = (PyObject *)Py_TYPE(x);
    sc_dl_tensor d;
    if (type != s->tensor_type && type != s->parameter_type) return refuse_type(s, x), NULL;
    if (!s->dl->borrow(x, &d)) return Py_NewRef(x);
    PyErr_Clear();
    PyObject *twin = PyObject_CallFunctionObjArgs(s->readable, x, NULL);
    if (!twin || twin != Py_None) return twin;
    Py_DECREF(twin);
    return refuse_hidden(x), NULL;
}

int sc_bind_read(const sc_state *s, PyObject *x, sc_borrowed *out)
{
    PyObject *seen = sc_bind_readable(s, x);
    int rc = seen ? sc_bind_borrow(s, seen, out) : -1;
    Py_XDECREF(seen);
    return rc;
}

int sc_bind_refuse(const char *what)
{
    PyErr_SetString(PyExc_ValueError, what);
    return -1;
}

int sc_bind_read_vector(const sc_state *s, PyObject *x, sc_borrowed *out)
{
    if (sc_bind_read(s, x, out)) return -1;
    return out->t.format.ndim != 1 || !out->contiguous ? sc_bind_refuse("expected contiguous vectors") : 0;
}

int sc_bind_read_csr(const sc_state *s, PyObject *const *x, sc_borrowed out[3])
{
    for (int i = 0; i < 3; i++)
        if (sc_bind_read_vector(s, x[i], &out[i])) return -1;
    const sc_dtype index = out[0].t.dtype;
    if ((index != SC_I32 && index != SC_I64) || index != out[1].t.dtype)
        return sc_bind_refuse("expected pos and crd of int32, or both of int64");
    if (out[0].n < 1 || out[1].n != out[2].n)
        return sc_bind_refuse("expected pos of rows + 1, crd and values alike");
    return 0;
}

int64_t sc_bind_version(const sc_state *s, PyObject *x)
{
    PyObject *v = PyObject_GetAttr(x, s->name.version);
    int64_t n = v ? PyLong_AsLongLong(v) : -1;
    Py_XDECREF(v);
    if (PyErr_Occurred()) PyErr_Clear();
    return n;
}

/* ---- results ---- */
static sc_dl_dtype dl_dtype(sc_dtype t)
{
    uint8_t code = t == SC_BOOL   ? SC_DL_BOOL
                   : t == SC_BF16 ? SC_DL_BFLOAT
                   : t >= SC_F16  ? SC_DL_FLOAT
                                  : SC_DL_INT;
    return (sc_dl_dtype){code, (uint8_t)(8 * sc_dtype_size(t)), 1};
}

/* A tensor and, behind it, its memory, unless that is kept when it is freed. */
typedef struct {
    sc_dl_managed m;
    int64_t shape[SC_MAXDIM], stride[SC_MAXDIM];
} dense_result;

static void free_result(sc_dl_managed *m) { free(m); }

static void free_large(sc_dl_managed *m)
{
    sc_work_give(m->tensor.data);
    free(m);
}

static dense_result *take(int64_t bytes)
{
    const bool large = bytes >= SC_LARGE_RESULT;
    dense_result *r = sc_malloc(sizeof *r + (large ? 0 : ALIGN + (size_t)bytes));
    if (!r) return NULL;
    void *data = large ? sc_work_take((size_t)bytes)
                       : (void *)(((uintptr_t)(r + 1) + ALIGN - 1) & ~(uintptr_t)(ALIGN - 1));
    if (!data) return free(r), NULL;
    r->m = (sc_dl_managed){.deleter = large ? free_large : free_result, .tensor.data = data};
    return r;
}

void sc_bind_contiguous(sc_tensor *t)
{
    t->view.nval = 1;
    for (int i = t->format.ndim - 1; i >= 0; i--) {
        t->view.stride[i] = t->view.nval;
        t->view.level[i].size = t->view.dim[i];
        t->view.nval *= t->view.dim[i];
    }
}

sc_dl_managed *sc_dense_alloc(const sc_dl_api *dl, sc_dtype t, int ndim, const int64_t *dim)
{
    int64_t n = 1, bytes, stride[SC_MAXDIM] = {0};
    bool empty = false;
    for (int i = ndim - 1; i >= 0; i--) {
        stride[i] = n;
        empty |= dim[i] == 0;
        if (!sc_mul(n, sc_max(dim[i], 1), &n)) return NULL;
    }
    if (!sc_mul(n, (int64_t)sc_dtype_size(t), &bytes)) return NULL;
    dense_result *r = take(empty ? 0 : bytes);
    if (!r) return NULL;
    for (int i = 0; i < ndim; i++) r->shape[i] = dim[i];
    memcpy(r->stride, stride, sizeof stride);
    r->m.version = dl->header.version;
    r->m.tensor.device.type = SC_DL_CPU;
    r->m.tensor.dtype = dl_dtype(t);
    r->m.tensor.ndim = ndim;
    r->m.tensor.shape = r->shape;
    r->m.tensor.strides = r->stride;
    return &r->m;
}

PyObject *sc_dense_object(const sc_dl_api *dl, sc_dl_managed *m)
{
    void *object = NULL;
    if (!dl->object(m, &object)) return object;
    /* The memory is there, so what failed is room for the object, of which torch says RuntimeError. */
    if (PyErr_ExceptionMatches(PyExc_RuntimeError)) PyErr_NoMemory();
    return NULL;
}

PyObject *sc_dense_nomem(sc_dtype t, int ndim, const int64_t *dim)
{
    double bytes = (double)sc_dtype_size(t);
    for (int i = 0; i < ndim; i++) bytes *= (double)dim[i];
    char text[64];
    snprintf(text, sizeof text, "%.3g GB", bytes / 1e9);
    return PyErr_Format(PyExc_MemoryError,
                        "out of memory: a dense result of %s; format= asks for a sparse one", text);
}

void *sc_sink_alloc(void *ctx, int what, int level, sc_dtype t, int64_t n)
{
    sc_sink *s = ctx;
    (void)what, (void)level;
    if (s->n == SC_MAXARRAY || !(s->array[s->n] = sc_dense_alloc(s->dl, t, 1, &n))) return NULL;
    return s->array[s->n++]->tensor.data;
}

PyObject *sc_sink_take(sc_sink *s, const void *p, int64_t n)
{
    for (int i = 0; p && i < s->n; i++) {
        if (!s->array[i] || s->array[i]->tensor.data != p) continue;
        sc_dl_managed *taken = s->array[i];
        s->array[i] = NULL;
        taken->tensor.shape[0] = n;
        return sc_dense_object(s->dl, taken);
    }
    return NULL;
}

void sc_sink_clear(sc_sink *s)
{
    for (int i = 0; i < s->n; i++)
        if (s->array[i]) s->array[i]->deleter(s->array[i]);
    s->n = 0;
}
