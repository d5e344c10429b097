/* ranked.c: the order of the numbers along the rows or the columns of a csr matrix, from tensors. */
#include "bind.h"

#include "../ranked.h"
#include "../watch.h"

static int read_matrix(const sc_state *s, PyObject *const *x, sc_ranked *r)
{
    sc_borrowed b[3];
    if (sc_bind_read_csr(s, x, b)) return -1;
    r->itype = b[0].t.dtype, r->dtype = b[2].t.dtype, r->rows = b[0].n - 1;
    if (r->columns < 0) return sc_bind_refuse("expected no fewer than 0 columns");
    if (r->dtype != SC_F32 && r->dtype != SC_F64 && r->dtype != SC_I32 && r->dtype != SC_I64)
        return sc_bind_refuse("expected values of float32, float64, int32 or int64");
    r->pos = b[0].t.view.val, r->crd = b[1].t.view.val, r->val = b[2].t.view.val;
    return 0;
}

typedef struct {
    sc_ranked r;
    int64_t n, low, high; /* of results */
    enum { PLACES, ROWS, COLUMNS } of;
} asked;

static int compute(const asked *a, sc_err *e)
{
    if (!a->n) return 0;
    if (a->of == PLACES) return sc_ranked_rows(&a->r, a->low, a->high, e);
    if (a->of == COLUMNS) return sc_extreme_columns(&a->r, e);
    sc_extreme_rows(&a->r);
    return 0;
}

/* (where, values) */
static PyObject *found(const sc_state *s, asked *a)
{
    sc_sink sink = {.dl = s->dl};
    sc_err e = {0};
    int rc;
    a->r.at = sc_sink_alloc(&sink, SC_CRD, 1, SC_I64, a->n);
    a->r.out = sc_sink_alloc(&sink, SC_VAL, 1, a->r.dtype, a->n);
    if (!a->r.at || !a->r.out) {
        sc_sink_clear(&sink);
        return sc_dense_nomem(SC_I64, 1, &a->n);
    }
    Py_BEGIN_ALLOW_THREADS;
    rc = compute(a, &e);
    Py_END_ALLOW_THREADS;
    PyObject *r = rc ? sc_bind_raise(s, &e) : PyTuple_New(2);
    if (!rc) {
        sc_bind_put(&r, 0, sc_sink_take(&sink, a->r.at, a->n));
        sc_bind_put(&r, 1, sc_sink_take(&sink, a->r.out, a->n));
    }
    sc_sink_clear(&sink);
    return r;
}

static PyObject *watched(const sc_state *s, asked *a, const char *name)
{
    if (!sc_is_watched()) return found(s, a);
    sc_span span;
    char what[100];
    snprintf(what, sizeof what, "%s\tcsr %lldx%lld %s", name, (long long)a->r.rows, (long long)a->r.columns,
             sc_dtype_name(a->r.dtype));
    sc_span_begin(&span, what, NULL, 0);
    PyObject *r = found(s, a);
    const int64_t size = (int64_t)sc_dtype_size(a->r.dtype), index = (int64_t)sc_dtype_size(a->r.itype);
    span.bytes =
        sc_index(a->r.pos, a->r.itype, a->r.rows) * (size + index) + a->r.rows * index + a->n * (size + 8);
    sc_span_end(&span, "library", NULL, 0, r);
    return r;
}

static PyObject *module_ranked(PyObject *module, PyObject *args)
{
    const sc_state *s = PyModule_GetState(module);
    PyObject *x[3];
    long long columns, low, high;
    int smallest;
    if (!PyArg_ParseTuple(args, "OOOLLLp", &x[0], &x[1], &x[2], &columns, &low, &high, &smallest))
        return NULL;
    asked a = {.r = {.columns = columns, .smallest = smallest}, .low = low, .high = high, .of = PLACES};
    if (read_matrix(s, x, &a.r)) return NULL;
    if (low < 0 || high < low || high > columns || !sc_mul(a.r.rows, high - low, &a.n))
        return sc_bind_refuse("expected 0 <= low <= high <= columns"), NULL;
    return watched(s, &a, "ranked");
}

static PyObject *module_extremes(PyObject *module, PyObject *args)
{
    const sc_state *s = PyModule_GetState(module);
    PyObject *x[3];
    long long columns;
    int smallest, of_columns;
    if (!PyArg_ParseTuple(args, "OOOLpp", &x[0], &x[1], &x[2], &columns, &of_columns, &smallest)) return NULL;
    asked a = {.r = {.columns = columns, .smallest = smallest}, .of = of_columns ? COLUMNS : ROWS};
    if (read_matrix(s, x, &a.r)) return NULL;
    a.n = of_columns ? columns : a.r.rows;
    const int64_t each = of_columns ? a.r.rows : columns;
    if (a.n && (each < 1 || (of_columns && each > SC_RANKED_ROWS)))
        return sc_bind_refuse("expected numbers along the dimension, and no more rows than 2^32"), NULL;
    return watched(s, &a, "extremes");
}

PyMethodDef sc_ranked_methods[] = {
    {"ranked", module_ranked, METH_VARARGS,
     "ranked(pos, crd, values, columns, low, high, smallest) -> (columns, values), [rows * (high - low)]: "
     "what "
     "is at these places in the order of each row of csr, the largest first unless smallest"},
    {"extremes", module_extremes, METH_VARARGS,
     "extremes(pos, crd, values, columns, of_columns, smallest) -> (where, values): the first of the largest "
     "or the smallest of each row, or column, NaN where there is one"},
    {NULL, NULL, 0, NULL},
};
