/* kron.c: the Kronecker product of two csr matrices, from tensors. */
#include "bind.h"

#include "../kron.h"
#include "../watch.h"

static int read_factor(const sc_state *s, PyObject *x, sc_kron *t, sc_factor *f)
{
    PyObject *array[3];
    long long columns;
    sc_borrowed b[3];
    if (!PyArg_ParseTuple(x, "OOOL", &array[0], &array[1], &array[2], &columns) ||
        sc_bind_read_csr(s, array, b))
        return -1;
    const bool same = f == &t->a || (b[0].t.dtype == t->itype && b[2].t.dtype == t->dtype);
    if (!same || columns < 0)
        return sc_bind_refuse("expected (pos, crd, values, columns) of one index type and one type");
    if (!b[2].computes) return sc_bind_refuse("expected values of a type that is computed with");
    t->itype = b[0].t.dtype, t->dtype = b[2].t.dtype;
    *f = (sc_factor){b[0].t.view.val, b[1].t.view.val, b[2].t.view.val, b[0].n - 1, columns};
    return 0;
}

/* (pos, crd, values), of so many rows and entries */
static PyObject *made(const sc_state *s, sc_kron *t, int64_t rows, int64_t n)
{
    sc_sink sink = {.dl = s->dl};
    t->pos = sc_sink_alloc(&sink, SC_POS, 1, t->itype, rows + 1);
    t->crd = sc_sink_alloc(&sink, SC_CRD, 1, t->itype, n);
    t->val = sc_sink_alloc(&sink, SC_VAL, 1, t->dtype, n);
    if (!t->pos || !t->crd || !t->val) {
        sc_sink_clear(&sink);
        return sc_dense_nomem(t->dtype, 1, &n);
    }
    Py_BEGIN_ALLOW_THREADS;
    sc_kron_make(t);
    Py_END_ALLOW_THREADS;
    PyObject *r = PyTuple_New(3);
    sc_bind_put(&r, 0, sc_sink_take(&sink, t->pos, rows + 1));
    sc_bind_put(&r, 1, sc_sink_take(&sink, t->crd, n));
    sc_bind_put(&r, 2, sc_sink_take(&sink, t->val, n));
    sc_sink_clear(&sink);
    return r;
}

static PyObject *watched(const sc_state *s, sc_kron *t, int64_t rows, int64_t n)
{
    if (!sc_is_watched()) return made(s, t, rows, n);
    sc_span span;
    char what[140];
    snprintf(what, sizeof what, "kron\tcsr %lldx%lld, %lldx%lld %s", (long long)t->a.rows,
             (long long)t->a.columns, (long long)t->b.rows, (long long)t->b.columns, sc_dtype_name(t->dtype));
    sc_span_begin(&span, what, NULL, 0);
    PyObject *r = made(s, t, rows, n);
    const int64_t index = (int64_t)sc_dtype_size(t->itype);
    span.bytes = rows * index + n * (index + (int64_t)sc_dtype_size(t->dtype));
    sc_span_end(&span, "library", NULL, 0, r);
    return r;
}

static PyObject *module_kron(PyObject *module, PyObject *args)
{
    const sc_state *s = PyModule_GetState(module);
    PyObject *a, *b;
    sc_kron t = {0};
    int64_t rows, columns, n;
    if (!PyArg_ParseTuple(args, "O!O!", &PyTuple_Type, &a, &PyTuple_Type, &b)) return NULL;
    if (read_factor(s, a, &t, &t.a) || read_factor(s, b, &t, &t.b)) return NULL;
    const bool fits = sc_mul(t.a.rows, t.b.rows, &rows) && sc_mul(t.a.columns, t.b.columns, &columns) &&
                      sc_mul(sc_index(t.a.pos, t.itype, t.a.rows), sc_index(t.b.pos, t.itype, t.b.rows), &n);
    if (!fits || (t.itype == SC_I32 && sc_max(sc_max(rows, columns), n) >= INT32_MAX))
        return sc_bind_refuse("expected an index type that holds the extents and entries"), NULL;
    return watched(s, &t, rows, n);
}

PyMethodDef sc_kron_methods[] = {
    {"kron", module_kron, METH_VARARGS,
     "kron((pos, crd, values, columns), the same) -> (pos, crd, values) of the Kronecker product of csr"},
    {NULL, NULL, 0, NULL},
};
