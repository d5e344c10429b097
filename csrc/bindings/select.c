/* select.c: rows, columns and entries of a csr matrix, from tensors. */
#include "bind.h"

#include "../select.h"
#include "../watch.h"

#include <string.h>

/* None: all. (n, first, step): a range. A vector of int64: a list. */
static int read_taken(const sc_state *s, PyObject *x, int64_t extent, sc_taken *t, bool *every)
{
    sc_borrowed b;
    *t = (sc_taken){.n = extent, .step = 1};
    *every = x == Py_None;
    if (*every) return 0;
    if (PyTuple_Check(x)) {
        long long n, first, step;
        if (!PyArg_ParseTuple(x, "LLL", &n, &first, &step)) return -1;
        const bool inside = n >= 0 && step > 0 && first >= 0 &&
                            (!n || (first < extent && n - 1 <= (extent - 1 - first) / step));
        if (!inside) return sc_bind_refuse("expected a range inside of the dimension");
        *t = (sc_taken){.n = n, .first = first, .step = step};
        return 0;
    }
    if (sc_bind_read(s, x, &b)) return -1;
    if (b.t.format.ndim != 1 || b.t.dtype != SC_I64 || !b.contiguous)
        return sc_bind_refuse("expected a contiguous vector of int64");
    *t = (sc_taken){.n = b.n, .list = b.t.view.val, .step = 1};
    return 0;
}

static int read_matrix(const sc_state *s, PyObject *const *x, sc_selection *out)
{
    sc_borrowed pos, crd, val;
    if (sc_bind_read_vector(s, x[0], &pos) || sc_bind_read_vector(s, x[1], &crd) ||
        sc_bind_read_vector(s, x[2], &val))
        return -1;
    if ((pos.t.dtype != SC_I32 && pos.t.dtype != SC_I64) || pos.t.dtype != crd.t.dtype)
        return sc_bind_refuse("expected pos and crd of int32, or both of int64");
    out->itype = pos.t.dtype;
    out->rows = pos.n - 1;
    if (out->rows < 0 || crd.n != val.n)
        return sc_bind_refuse("expected pos of rows + 1, crd and values alike");
    out->pos = pos.t.view.val, out->crd = crd.t.view.val, out->val = val.t.view.val;
    out->size = sc_dtype_size(val.t.dtype);
    return (int)val.t.dtype;
}

/* (pos, crd, values) of what t takes, of entries; bytes: of all arrays, read and written. */
static PyObject *selected(const sc_state *s, sc_selection *t, sc_dtype type, int64_t *bytes)
{
    const size_t index = sc_dtype_size(t->itype);
    sc_sink sink = {.dl = s->dl};
    sc_err e = {0};
    int64_t n = 0;
    t->out_pos = sc_sink_alloc(&sink, SC_POS, 1, t->itype, t->row.n + 1);
    if (!t->out_pos) return sc_dense_nomem(t->itype, 1, &t->row.n);
    int rc;
    Py_BEGIN_ALLOW_THREADS;
    rc = sc_select_count(t, &n, &e);
    Py_END_ALLOW_THREADS;
    if (!rc) {
        t->out_crd = sc_sink_alloc(&sink, SC_CRD, 1, t->itype, n);
        t->out_val = sc_sink_alloc(&sink, SC_VAL, 1, type, n);
        if (!t->out_crd || !t->out_val)
            rc = sc_error(&e, SC_ENOMEM, "out of memory for %lld entries", (long long)n);
    }
    if (!rc) {
        Py_BEGIN_ALLOW_THREADS;
        rc = sc_select_fill(t, &e);
        Py_END_ALLOW_THREADS;
    }
    sc_select_close(t);
    *bytes = 2 * (n * (int64_t)(t->size + index) + t->row.n * (int64_t)index);
    PyObject *r = rc ? sc_bind_raise(s, &e) : PyTuple_New(3);
    if (!rc) {
        sc_bind_put(&r, 0, sc_sink_take(&sink, t->out_pos, t->row.n + 1));
        sc_bind_put(&r, 1, sc_sink_take(&sink, t->out_crd, n));
        sc_bind_put(&r, 2, sc_sink_take(&sink, t->out_val, n));
    }
    sc_sink_clear(&sink);
    return r;
}

static PyObject *watched(const sc_state *s, sc_selection *t, sc_dtype type)
{
    sc_span span;
    char what[100];
    snprintf(what, sizeof what, "submatrix\tcsr %lldx%lld %s", (long long)t->rows, (long long)t->columns,
             sc_dtype_name(type));
    sc_span_begin(&span, what, NULL, 0);
    PyObject *r = selected(s, t, type, &span.bytes);
    sc_span_end(&span, "library", NULL, 0, r);
    return r;
}

/* select(pos, crd, values, rows, columns, extent) -> (pos, crd, values) of the rows and columns that are taken */
static PyObject *module_select(PyObject *module, PyObject *args)
{
    const sc_state *s = PyModule_GetState(module);
    PyObject *x[5];
    long long extent;
    sc_selection t = {0};
    int64_t bytes = 0;
    bool every_row;
    if (!PyArg_ParseTuple(args, "OOOOOL", &x[0], &x[1], &x[2], &x[3], &x[4], &extent)) return NULL;
    t.columns = extent;
    const int type = read_matrix(s, x, &t);
    if (type < 0 || read_taken(s, x[3], t.rows, &t.row, &every_row) ||
        read_taken(s, x[4], extent, &t.column, &t.every_column))
        return NULL;
    return sc_is_watched() ? watched(s, &t, (sc_dtype)type) : selected(s, &t, (sc_dtype)type, &bytes);
}

/* ---- consecutive rows ---- */
#define REBASE(type)                                                                                         \
    static void rebase_##type(type *restrict to, const type *restrict from, int64_t n)                       \
    {                                                                                                        \
        for (int64_t i = 0; i < n; i++) to[i] = from[i] - from[0];                                           \
    }
REBASE(int32_t)
REBASE(int64_t)

/* rows(pos, start, stop) -> (their pos, where they begin and end in crd and values) */
static PyObject *module_rows(PyObject *module, PyObject *args)
{
    const sc_state *s = PyModule_GetState(module);
    PyObject *x;
    long long start, stop;
    sc_borrowed b;
    if (!PyArg_ParseTuple(args, "OLL", &x, &start, &stop) || sc_bind_read_vector(s, x, &b)) return NULL;
    const bool wide = b.t.dtype == SC_I64;
    if ((!wide && b.t.dtype != SC_I32) || start < 0 || stop < start || stop >= b.n)
        return sc_bind_refuse("expected pos of int32 or int64, and rows inside of it"), NULL;
    const int64_t n = stop - start + 1;
    sc_dl_managed *m = sc_dense_alloc(s->dl, b.t.dtype, 1, &n);
    if (!m) return sc_dense_nomem(b.t.dtype, 1, &n);
    const int64_t *at = b.t.view.val;
    const int32_t *near = b.t.view.val;
    if (wide)
        rebase_int64_t(m->tensor.data, at + start, n);
    else
        rebase_int32_t(m->tensor.data, near + start, n);
    PyObject *pos = sc_dense_object(s->dl, m);
    return pos ? Py_BuildValue("(NLL)", pos, (long long)(wide ? at[start] : near[start]),
                               (long long)(wide ? at[stop] : near[stop]))
               : NULL;
}

/* inside(list, extent) -> the list, those below zero counted from the end */
static PyObject *module_inside(PyObject *module, PyObject *args)
{
    const sc_state *s = PyModule_GetState(module);
    PyObject *x;
    long long extent;
    sc_borrowed b;
    bool below = false;
    if (!PyArg_ParseTuple(args, "OL", &x, &extent) || sc_bind_read(s, x, &b)) return NULL;
    if (b.t.format.ndim != 1 || b.t.dtype != SC_I64 || !b.contiguous)
        return sc_bind_refuse("expected a contiguous vector of int64"), NULL;
    const int64_t *list = b.t.view.val;
    for (int64_t i = 0; i < b.n; i++) {
        below |= list[i] < 0;
        if (list[i] < -extent || list[i] >= extent)
            return PyErr_Format(PyExc_IndexError, "index %lld is out of range for an extent of %lld",
                                (long long)list[i], extent);
    }
    if (!below) return Py_NewRef(x);
    sc_dl_managed *m = sc_dense_alloc(s->dl, SC_I64, 1, &b.n);
    if (!m) return sc_dense_nomem(SC_I64, 1, &b.n);
    for (int64_t i = 0; i < b.n; i++) ((int64_t *)m->tensor.data)[i] = list[i] + (list[i] < 0 ? extent : 0);
    return sc_dense_object(s->dl, m);
}

/* ---- entries ---- */
static int read_sought(const sc_state *s, PyObject *const *x, sc_sought *out)
{
    sc_borrowed pos, crd, row, column;
    if (sc_bind_read_vector(s, x[0], &pos) || sc_bind_read_vector(s, x[1], &crd) ||
        sc_bind_read_vector(s, x[2], &row) || sc_bind_read_vector(s, x[3], &column))
        return -1;
    const sc_dtype type = pos.t.dtype;
    if ((type != SC_I32 && type != SC_I64) || type != crd.t.dtype || pos.n < 1)
        return sc_bind_refuse("expected pos and crd of int32, or both of int64");
    if (row.t.dtype != SC_I64 || column.t.dtype != SC_I64 || row.n != column.n)
        return sc_bind_refuse("expected as many rows as columns, of int64");
    *out = (sc_sought){.itype = type,
                       .pos = pos.t.view.val,
                       .crd = crd.t.view.val,
                       .rows = pos.n - 1,
                       .n = row.n,
                       .row = row.t.view.val,
                       .column = column.t.view.val};
    return 0;
}

/* sought(pos, crd, rows, columns) -> the place of each of these entries, -1 where there is none */
static PyObject *module_sought(PyObject *module, PyObject *args)
{
    const sc_state *s = PyModule_GetState(module);
    PyObject *x[4];
    sc_sought t;
    sc_err e = {0};
    if (!PyArg_ParseTuple(args, "OOOO", &x[0], &x[1], &x[2], &x[3]) || read_sought(s, x, &t)) return NULL;
    sc_dl_managed *m = sc_dense_alloc(s->dl, SC_I64, 1, &t.n);
    if (!m) return sc_dense_nomem(SC_I64, 1, &t.n);
    t.place = m->tensor.data;
    int rc;
    Py_BEGIN_ALLOW_THREADS;
    rc = sc_select_find(&t, &e);
    Py_END_ALLOW_THREADS;
    PyObject *place = sc_dense_object(s->dl, m);
    if (!rc) return place;
    Py_XDECREF(place);
    return sc_bind_raise(s, &e);
}

PyMethodDef sc_select_methods[] = {
    {"inside", module_inside, METH_VARARGS,
     "inside(list, extent) -> the list, those below zero counted from the end"},
    {"rows", module_rows, METH_VARARGS,
     "rows(pos, start, stop) -> (their pos, the place of their first entry, that behind their last one)"},
    {"select", module_select, METH_VARARGS,
     "select(pos, crd, values, rows, columns, extent) -> (pos, crd, values): rows and columns are None, "
     "(n, first, step) or a vector of int64; extent: of the columns"},
    {"sought", module_sought, METH_VARARGS,
     "sought(pos, crd, rows, columns) -> the place of each of these entries, -1 where there is none; rows "
     "and "
     "columns are vectors of int64"},
    {NULL, NULL, 0, NULL},
};
