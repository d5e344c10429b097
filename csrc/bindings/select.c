/* select.c: rows, columns and entries of a csr matrix, from tensors. */
#include "bind.h"

#include "../select.h"
#include "../watch.h"

#include <string.h>

static int read_range(PyObject *x, int64_t extent, sc_taken *t)
{
    long long n, first, step;
    if (!PyArg_ParseTuple(x, "LLL", &n, &first, &step)) return -1;
    const int64_t room = step > 0 ? extent - 1 - first : first, each = step > 0 ? step : -step;
    const bool inside = n >= 0 && step && step > -extent - 1 && first >= 0 &&
                        (!n || (first < extent && n - 1 <= room / each));
    if (!inside) return sc_bind_refuse("expected a range inside of the dimension");
    *t = (sc_taken){.n = n, .first = first, .step = step};
    return 0;
}

/* None: all. (n, first, step): a range. A vector of int64: a list. */
static int read_taken(const sc_state *s, PyObject *x, int64_t extent, sc_taken *t, bool *every)
{
    sc_borrowed b;
    *t = (sc_taken){.n = extent, .step = 1};
    *every = x == Py_None;
    if (*every) return 0;
    if (PyTuple_Check(x)) return read_range(x, extent, t);
    if (sc_bind_read(s, x, &b)) return -1;
    if (b.t.format.ndim != 1 || b.t.dtype != SC_I64 || !b.contiguous)
        return sc_bind_refuse("expected a contiguous vector of int64");
    *t = (sc_taken){.n = b.n, .list = b.t.view.val, .step = 1};
    return 0;
}

/* The same of columns, which ascend; (-1 or 1, diagonal): a triangle. */
static int read_columns(const sc_state *s, PyObject *x, sc_selection *t)
{
    if (!PyTuple_Check(x) || PyTuple_Size(x) != 2) {
        if (read_taken(s, x, t->columns, &t->column, &t->every_column)) return -1;
        return t->column.step > 0 ? 0 : sc_bind_refuse("expected a range of columns that ascend");
    }
    long long diagonal;
    if (!PyArg_ParseTuple(x, "iL", &t->triangle, &diagonal)) return -1;
    t->diagonal = sc_max(-t->rows, sc_min(diagonal, t->columns));
    return t->triangle == -1 || t->triangle == 1 ? 0 : sc_bind_refuse("expected a triangle, -1 or 1");
}

static int read_matrix(const sc_state *s, PyObject *const *x, sc_selection *out)
{
    sc_borrowed b[3];
    if (sc_bind_read_csr(s, x, b)) return -1;
    out->itype = b[0].t.dtype;
    out->rows = b[0].n - 1;
    out->pos = b[0].t.view.val, out->crd = b[1].t.view.val, out->val = b[2].t.view.val;
    out->size = sc_dtype_size(b[2].t.dtype);
    return (int)b[2].t.dtype;
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
    if (type < 0 || read_taken(s, x[3], t.rows, &t.row, &every_row) || read_columns(s, x[4], &t)) return NULL;
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

/* Where a mask is true. */
static PyObject *marked(const sc_state *s, const sc_borrowed *mask)
{
    const int64_t n = sc_marked_count(mask->t.view.val, mask->n);
    sc_dl_managed *m = sc_dense_alloc(s->dl, SC_I64, 1, &n);
    if (!m) return sc_dense_nomem(SC_I64, 1, &n);
    sc_marked_list(mask->t.view.val, mask->n, n, m->tensor.data);
    return sc_dense_object(s->dl, m);
}

/* inside(list or mask, extent[, wraps]) -> the coordinates that are named; wraps: those below zero count from the end */
static PyObject *module_inside(PyObject *module, PyObject *args)
{
    const sc_state *s = PyModule_GetState(module);
    PyObject *x;
    long long extent;
    sc_borrowed b;
    bool below = false;
    int wraps = 1;
    if (!PyArg_ParseTuple(args, "OL|p", &x, &extent, &wraps) || sc_bind_read(s, x, &b)) return NULL;
    if (b.t.format.ndim != 1 || (b.t.dtype != SC_I64 && b.t.dtype != SC_BOOL) || !b.contiguous)
        return sc_bind_refuse("expected a contiguous vector of int64 or bool"), NULL;
    if (b.t.dtype == SC_BOOL && b.n != extent)
        return PyErr_Format(PyExc_IndexError, "a mask of %lld for an extent of %lld", (long long)b.n, extent);
    if (b.t.dtype == SC_BOOL) return marked(s, &b);
    const int64_t *list = b.t.view.val;
    for (int64_t i = 0; i < b.n; i++) {
        below |= list[i] < 0;
        if (list[i] < (wraps ? -extent : 0) || list[i] >= extent)
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
static int are_csr(const sc_borrowed *pos, const sc_borrowed *crd, sc_sought *out)
{
    out->itype = pos->t.dtype, out->pos = pos->t.view.val, out->crd = crd->t.view.val, out->rows = pos->n - 1;
    if ((out->itype != SC_I32 && out->itype != SC_I64) || out->itype != crd->t.dtype || pos->n < 1)
        return sc_bind_refuse("expected pos and crd of int32, or both of int64");
    return 0;
}

static int read_sought(const sc_state *s, PyObject *const *x, sc_sought *out)
{
    sc_borrowed pos, crd, row, column;
    if (sc_bind_read_vector(s, x[0], &pos) || sc_bind_read_vector(s, x[1], &crd) ||
        sc_bind_read_vector(s, x[2], &row) || sc_bind_read_vector(s, x[3], &column))
        return -1;
    if (row.t.dtype != SC_I64 || column.t.dtype != SC_I64 || row.n != column.n)
        return sc_bind_refuse("expected as many rows as columns, of int64");
    *out = (sc_sought){.n = row.n, .row = row.t.view.val, .column = column.t.view.val};
    return are_csr(&pos, &crd, out);
}

/* The values at what is sought, zero where there is none; without values, their places, or below zero. */
static PyObject *found(const sc_state *s, sc_sought *t, PyObject *values)
{
    sc_borrowed val = {0};
    sc_err e = {0};
    if (values != Py_None && sc_bind_read_vector(s, values, &val)) return NULL;
    const sc_dtype type = values == Py_None ? SC_I64 : val.t.dtype;
    sc_dl_managed *m = sc_dense_alloc(s->dl, type, 1, &t->n);
    if (!m) return sc_dense_nomem(type, 1, &t->n);
    if (values == Py_None)
        t->place = m->tensor.data;
    else
        t->val = val.t.view.val, t->size = sc_dtype_size(type), t->out = m->tensor.data;
    int rc;
    Py_BEGIN_ALLOW_THREADS;
    rc = sc_select_find(t, &e);
    Py_END_ALLOW_THREADS;
    PyObject *made = sc_dense_object(s->dl, m);
    if (!rc) return made;
    Py_XDECREF(made);
    return sc_bind_raise(s, &e);
}

/* sought(pos, crd, rows, columns, values) -> what was found there */
static PyObject *module_sought(PyObject *module, PyObject *args)
{
    const sc_state *s = PyModule_GetState(module);
    PyObject *x[4], *values = Py_None;
    sc_sought t;
    if (!PyArg_ParseTuple(args, "OOOO|O", &x[0], &x[1], &x[2], &x[3], &values) || read_sought(s, x, &t))
        return NULL;
    return found(s, &t, values);
}

/* diagonal(pos, crd, row, column, n, values) -> what was found from there on along the diagonal */
static PyObject *module_diagonal(PyObject *module, PyObject *args)
{
    const sc_state *s = PyModule_GetState(module);
    PyObject *x[2], *values = Py_None;
    long long row, column, n;
    sc_borrowed pos, crd;
    if (!PyArg_ParseTuple(args, "OOLLL|O", &x[0], &x[1], &row, &column, &n, &values) ||
        sc_bind_read_vector(s, x[0], &pos) || sc_bind_read_vector(s, x[1], &crd))
        return NULL;
    sc_sought t = {.first_row = row, .first_column = column, .n = n};
    if (n < 0) return sc_bind_refuse("expected no negative number of entries"), NULL;
    return are_csr(&pos, &crd, &t) ? NULL : found(s, &t, values);
}

/* place(pos, crd, row, column) -> where the entry is, -1: there is none */
static PyObject *module_place(PyObject *module, PyObject *args)
{
    const sc_state *s = PyModule_GetState(module);
    PyObject *x[2];
    long long row, column;
    sc_borrowed pos, crd;
    int64_t at;
    sc_err e = {0};
    if (!PyArg_ParseTuple(args, "OOLL", &x[0], &x[1], &row, &column) || sc_bind_read_vector(s, x[0], &pos) ||
        sc_bind_read_vector(s, x[1], &crd))
        return NULL;
    const int64_t rows[] = {row}, columns[] = {column};
    sc_sought t = {.row = rows, .column = columns, .n = 1, .place = &at};
    if (are_csr(&pos, &crd, &t) || sc_select_find(&t, &e)) return e.code ? sc_bind_raise(s, &e) : NULL;
    return PyLong_FromLongLong(at);
}

/* merged(keys, keys) -> (the place of each of the first among all, of each of the second, how many there are) */
static PyObject *module_merged(PyObject *module, PyObject *args)
{
    const sc_state *s = PyModule_GetState(module);
    PyObject *x[2], *made[2] = {NULL, NULL};
    sc_keys k[2];
    if (!PyArg_ParseTuple(args, "OO", &x[0], &x[1])) return NULL;
    for (int i = 0; i < 2; i++) {
        sc_borrowed b;
        sc_dl_managed *m = NULL;
        if (sc_bind_read_vector(s, x[i], &b) ||
            (b.t.dtype != SC_I64 && sc_bind_refuse("expected two vectors of int64")))
            return Py_XDECREF(made[0]), NULL;
        if (!(m = sc_dense_alloc(s->dl, SC_I64, 1, &b.n)))
            return Py_XDECREF(made[0]), sc_dense_nomem(SC_I64, 1, &b.n);
        k[i] = (sc_keys){b.t.view.val, b.n, m->tensor.data};
        if (!(made[i] = sc_dense_object(s->dl, m))) return Py_XDECREF(made[0]), NULL;
    }
    int64_t n;
    Py_BEGIN_ALLOW_THREADS;
    n = sc_merge(&k[0], &k[1]);
    Py_END_ALLOW_THREADS;
    return Py_BuildValue("(NNL)", made[0], made[1], (long long)n);
}

/* ---- another shape ---- */
static PyObject *module_reshaped(PyObject *module, PyObject *args)
{
    const sc_state *s = PyModule_GetState(module);
    PyObject *x[2];
    long long columns, rows, wide;
    sc_selection m = {0};
    sc_sink sink = {.dl = s->dl};
    if (!PyArg_ParseTuple(args, "OOLLL", &x[0], &x[1], &columns, &rows, &wide)) return NULL;
    PyObject *array[] = {x[0], x[1], x[1]};
    if (read_matrix(s, array, &m) < 0) return NULL;
    int64_t places, same;
    if (m.rows < 1 || columns < 1 || rows < 1 || wide < 1 || !sc_mul(m.rows, columns, &places) ||
        !sc_mul(rows, wide, &same) || places != same)
        return sc_bind_refuse("expected two shapes with as many places"), NULL;
    sc_reshaped r = {m.itype, m.pos, m.crd, m.rows, columns, rows, wide, NULL, NULL};
    const int64_t n = sc_index(m.pos, m.itype, m.rows);
    r.out_pos = sc_sink_alloc(&sink, SC_POS, 1, m.itype, rows + 1);
    r.out_crd = sc_sink_alloc(&sink, SC_CRD, 1, m.itype, n);
    if (!r.out_pos || !r.out_crd) return sc_sink_clear(&sink), sc_dense_nomem(m.itype, 1, &n);
    Py_BEGIN_ALLOW_THREADS;
    sc_reshape(&r);
    Py_END_ALLOW_THREADS;
    PyObject *made = PyTuple_New(2);
    sc_bind_put(&made, 0, sc_sink_take(&sink, r.out_pos, rows + 1));
    sc_bind_put(&made, 1, sc_sink_take(&sink, r.out_crd, n));
    sc_sink_clear(&sink);
    return made;
}

/* ---- several matrices ---- */
/* What side k of a tuple (pos, crd, values or None, its first column) has; all are of one type. */
static int read_side(const sc_state *s, PyObject *x, int k, sc_joined *j, sc_side *side, sc_dtype *type)
{
    PyObject *array[3];
    long long first;
    sc_selection m = {0};
    if (!PyArg_ParseTuple(x, "OOOL", &array[0], &array[1], &array[2], &first)) return -1;
    const bool valued = array[2] != Py_None;
    if (!valued) array[2] = array[1];
    const int read = read_matrix(s, array, &m);
    if (read < 0) return -1;
    if (k && (m.itype != j->itype || (!j->below && m.rows != j->rows) || (sc_dtype)read != *type ||
              valued != j->valued))
        return sc_bind_refuse("expected as many rows, and arrays of one type");
    *side = (sc_side){m.pos, m.crd, m.val, m.rows, first};
    j->valued = valued;
    j->itype = m.itype, j->size = m.size, *type = (sc_dtype)read;
    j->rows = j->below ? j->rows + m.rows : m.rows;
    return 0;
}

static PyObject *joined(const sc_state *s, sc_joined *j, sc_dtype type)
{
    sc_sink sink = {.dl = s->dl};
    sc_err e = {0};
    int64_t n = 0;
    j->out_pos = sc_sink_alloc(&sink, SC_POS, 1, j->itype, j->rows + 1);
    int rc = j->out_pos ? sc_joined_count(j, &n, &e) : SC_ENOMEM;
    if (!rc) {
        j->out_crd = sc_sink_alloc(&sink, SC_CRD, 1, j->itype, n);
        if (j->valued) j->out_val = sc_sink_alloc(&sink, SC_VAL, 1, type, n);
        rc = j->out_crd && (j->out_val || !j->valued) ? 0 : SC_ENOMEM;
    }
    if (rc == SC_ENOMEM) sc_error(&e, SC_ENOMEM, "out of memory for %lld entries", (long long)n);
    if (rc) return sc_sink_clear(&sink), sc_bind_raise(s, &e);
    Py_BEGIN_ALLOW_THREADS;
    sc_joined_fill(j);
    Py_END_ALLOW_THREADS;
    PyObject *r = PyTuple_New(3);
    sc_bind_put(&r, 0, sc_sink_take(&sink, j->out_pos, j->rows + 1));
    sc_bind_put(&r, 1, sc_sink_take(&sink, j->out_crd, n));
    sc_bind_put(&r, 2, j->valued ? sc_sink_take(&sink, j->out_val, n) : Py_NewRef(Py_None));
    sc_sink_clear(&sink);
    return r;
}

static PyObject *module_joined(PyObject *module, PyObject *args)
{
    const sc_state *s = PyModule_GetState(module);
    PyObject *sides;
    int below;
    sc_dtype type = SC_F32;
    if (!PyArg_ParseTuple(args, "Op", &sides, &below)) return NULL;
    if (!PyList_Check(sides) || !PyList_Size(sides))
        return sc_bind_refuse("expected a list of matrices"), NULL;
    sc_joined j = {.below = below, .n = (int)PyList_Size(sides)};
    sc_side *side = PyMem_Calloc((size_t)j.n, sizeof *side);
    if (!side) return PyErr_NoMemory();
    j.side = side;
    int rc = 0;
    for (int k = 0; k < j.n && !rc; k++) rc = read_side(s, PyList_GetItem(sides, k), k, &j, &side[k], &type);
    PyObject *r = rc ? NULL : joined(s, &j, type);
    PyMem_Free(side);
    return r;
}

PyMethodDef sc_select_methods[] = {
    {"inside", module_inside, METH_VARARGS,
     "inside(list or mask, extent[, wraps]) -> the coordinates that are named; wraps: those below zero count "
     "from the end"},
    {"joined", module_joined, METH_VARARGS,
     "joined(list of (pos, crd, values or None, first column), below) -> (pos, crd, values): beside or "
     "below"},
    {"diagonal", module_diagonal, METH_VARARGS,
     "diagonal(pos, crd, row, column, n, values) -> n values from there on along the diagonal, zero where "
     "there is none; without values, their places, or -1 less the place that one would come before"},
    {"merged", module_merged, METH_VARARGS,
     "merged(keys, keys) -> (where each of the first is among all, where each of the second is, how many "
     "there are); keys are vectors of int64, ascending"},
    {"place", module_place, METH_VARARGS,
     "place(pos, crd, row, column) -> where the entry is, -1: there is none"},
    {"reshaped", module_reshaped, METH_VARARGS,
     "reshaped(pos, crd, columns, new rows, new columns) -> (pos, crd) of the same entries in another shape"},
    {"rows", module_rows, METH_VARARGS,
     "rows(pos, start, stop) -> (their pos, the place of their first entry, that behind their last one)"},
    {"select", module_select, METH_VARARGS,
     "select(pos, crd, values, rows, columns, extent) -> (pos, crd, values): rows and columns are None, "
     "(n, first, step) or a vector of int64, columns a triangle too, (-1 or 1, diagonal); extent: of the "
     "columns"},
    {"sought", module_sought, METH_VARARGS,
     "sought(pos, crd, rows, columns, values) -> the values there, zero where there is none; without values, "
     "their places, or -1; rows and columns are vectors of int64"},
    {NULL, NULL, 0, NULL},
};
