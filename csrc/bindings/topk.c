/* topk.c: the k largest numbers of every row of a plain matrix, from a tensor. */
#include "bind.h"

#include "../topk.h"
#include "../watch.h"

static int read_rows(const sc_state *s, PyObject *x, sc_topk *t)
{
    sc_borrowed b;
    if (sc_bind_read(s, x, &b)) return -1;
    const int64_t *dim = b.t.view.dim;
    if (b.t.format.ndim != 2 || (b.t.dtype != SC_F32 && b.t.dtype != SC_F64) || !b.contiguous) {
        PyErr_SetString(PyExc_ValueError, "expected a contiguous matrix of float32 or float64");
        return -1;
    }
    if (t->k < 0 || t->k > dim[1]) {
        PyErr_Format(PyExc_ValueError, "expected 0 <= k <= %lld, the columns, got %lld", (long long)dim[1],
                     (long long)t->k);
        return -1;
    }
    t->rows = dim[0], t->columns = dim[1];
    t->dtype = b.t.dtype, t->x = b.t.view.val;
    if (t->itype == SC_I32 && sc_max(t->columns, t->rows * t->k) >= INT32_MAX) {
        PyErr_SetString(PyExc_ValueError, "expected int64 indices for so many columns or results");
        return -1;
    }
    return 0;
}

static PyObject *taken(const sc_state *s, sc_topk *t)
{
    const int64_t n = t->rows * t->k;
    sc_sink sink = {.dl = s->dl};
    sc_err e = {0};
    int rc;
    t->crd = sc_sink_alloc(&sink, SC_CRD, 1, t->itype, n);
    t->val = sc_sink_alloc(&sink, SC_VAL, 1, t->dtype, n);
    if (!t->crd || !t->val) {
        sc_sink_clear(&sink);
        return sc_dense_nomem(t->dtype, 1, &n);
    }
    Py_BEGIN_ALLOW_THREADS;
    rc = sc_topk_rows(t, &e);
    Py_END_ALLOW_THREADS;
    PyObject *r = rc ? sc_bind_raise(s, &e) : PyTuple_New(2);
    if (!rc) {
        sc_bind_put(&r, 0, sc_sink_take(&sink, t->crd, n));
        sc_bind_put(&r, 1, sc_sink_take(&sink, t->val, n));
    }
    sc_sink_clear(&sink);
    return r;
}

static PyObject *watched(const sc_state *s, sc_topk *t)
{
    sc_span span;
    char what[100];
    const int64_t size = (int64_t)sc_dtype_size(t->dtype), entry = size + (int64_t)sc_dtype_size(t->itype);
    snprintf(what, sizeof what, "topk\tdense %lldx%lld %s", (long long)t->rows, (long long)t->columns,
             sc_dtype_name(t->dtype));
    sc_span_begin(&span, what, NULL, 0);
    PyObject *r = taken(s, t);
    span.bytes = t->rows * (t->columns * size + t->k * entry);
    sc_span_end(&span, "library", NULL, 0, r);
    return r;
}

/* topk(x, k, smallest, wide) -> (columns [rows * k], int64 if wide, values [rows * k]) */
static PyObject *module_topk(PyObject *module, PyObject *args)
{
    const sc_state *s = PyModule_GetState(module);
    PyObject *x;
    long long k;
    int smallest, wide;
    if (!PyArg_ParseTuple(args, "OLpp", &x, &k, &smallest, &wide)) return NULL;
    sc_topk t = {.k = k, .smallest = smallest, .itype = wide ? SC_I64 : SC_I32};
    if (read_rows(s, x, &t)) return NULL;
    return sc_is_watched() ? watched(s, &t) : taken(s, &t);
}

PyMethodDef sc_topk_methods[] = {
    {"topk", module_topk, METH_VARARGS,
     "topk(x, k, smallest, wide) -> (columns [rows * k], values [rows * k])"},
    {NULL, NULL, 0, NULL},
};
