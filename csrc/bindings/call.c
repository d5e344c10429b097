/* call.c: runs a program on Python objects.
 *
 * A call is looked at once (every operand becomes a borrowed view), resolved, given room for its results and run without
 * the interpreter lock. */
#include "call.h"

#include <string.h>

/* ---- results ---- */
typedef struct {
    int n;
    sc_tensor t[SC_MAXOP];
    sc_sink sink[SC_MAXOP];
    PyObject *object[SC_MAXOP]; /* of dense results */
} results;

/* From the first element of a dense tensor to behind its last one. */
static int64_t reach(const sc_tensor *t)
{
    int64_t last = 0;
    for (int i = 0; i < t->format.ndim; i++) last += (t->view.dim[i] - 1) * t->view.stride[i];
    return t->view.nval > 0 ? (last + 1) * (int64_t)sc_dtype_size(t->dtype) : 0;
}

/* out may not lie over an operand, or over another out: results are written while operands are read. */
static bool overlaps(const call *c, const results *r, int n, const sc_borrowed *b)
{
    const int64_t bytes = b->n * (int64_t)sc_dtype_size(b->t.dtype);
    bool over = false;
    for (int k = 0; k < c->nin; k++)
        over |= c->core[k] ? sc_core_overlaps(c->core[k], b->t.view.val, bytes)
                           : sc_bind_overlap(b->t.view.val, bytes, c->in[k].view.val, reach(&c->in[k]));
    for (int k = 0; k < n; k++)
        over |= r->object[k] && sc_bind_overlap(b->t.view.val, bytes, r->t[k].view.val, reach(&r->t[k]));
    return over;
}

/* What out is to be, and what it is. */
static int not_out(const sc_spec *spec, const int64_t *dim, const sc_borrowed *b)
{
    sc_text want = {0}, got = {0};
    for (int d = 0; d < spec->format.ndim; d++) sc_text_add(&want, d ? ", %lld" : "%lld", (long long)dim[d]);
    for (int d = 0; d < b->t.format.ndim; d++)
        sc_text_add(&got, d ? ", %lld" : "%lld", (long long)b->t.view.dim[d]);
    PyErr_Format(PyExc_ValueError,
                 "out: expected a contiguous tensor of shape (%s) and type %s, got %s(%s) of %s",
                 want.s ? want.s : "", sc_dtype_name(spec->dtype), b->contiguous ? "" : "a strided one of ",
                 got.s ? got.s : "", sc_dtype_name(b->t.dtype));
    sc_text_free(&want);
    sc_text_free(&got);
    return -1;
}

static int place_dense(const call *c, results *r, int k, PyObject *out)
{
    sc_tensor *t = &r->t[k];
    const sc_spec *spec = sc_program_result(c->program, k);
    sc_borrowed b;
    if (!out) {
        sc_dl_managed *m = sc_dense_alloc(c->s->dl, spec->dtype, spec->format.ndim, t->view.dim);
        if (!m) return sc_dense_nomem(spec->dtype, spec->format.ndim, t->view.dim), -1;
        out = r->object[k] = sc_dense_object(c->s->dl, m);
    } else {
        r->object[k] = Py_NewRef(out);
    }
    if (!out || sc_bind_borrow(c->s, out, &b)) return -1;
    if (b.t.format.ndim != spec->format.ndim || b.t.dtype != spec->dtype || !b.contiguous ||
        memcmp(b.t.view.dim, t->view.dim, sizeof(int64_t) * (size_t)spec->format.ndim))
        return not_out(spec, t->view.dim, &b);
    if (overlaps(c, r, k, &b)) {
        PyErr_SetString(
            PyExc_ValueError,
            "out: expected memory apart from the operands and other results, got one that overlaps");
        return -1;
    }
    b.t.format = spec->format;
    *t = b.t;
    return 0;
}

/* What takes result k, or null; out is null, a tensor, or a tuple with one entry (which may be None) a result. */
static int out_of(PyObject *out, int k, int n, PyObject **one)
{
    const bool several = out && PyTuple_Check(out);
    if (out && (several ? PyTuple_Size(out) : 1) != n) {
        PyErr_Format(
            PyExc_ValueError,
            "out: expected a tuple of %d tensors, one a result (None where it is to be made), got %zd", n,
            several ? PyTuple_Size(out) : 1);
        return -1;
    }
    *one = several ? PyTuple_GetItem(out, k) : out;
    if (*one == Py_None) *one = NULL;
    return 0;
}

static int place(const call *c, results *r, PyObject *out)
{
    const int nreturned = sc_program_nreturned(c->program);
    for (int k = 0; k < r->n; k++) {
        PyObject *one;
        const sc_spec *spec = sc_program_result(c->program, k);
        sc_tensor *t = &r->t[k];
        t->format = spec->format;
        t->dtype = spec->dtype;
        t->itype = spec->itype;
        sc_program_shape(c->program, k, c->in, t->view.dim);
        if (out_of(k < nreturned ? out : NULL, k, nreturned, &one)) return -1;
        if (sc_format_is_dense(&spec->format)) {
            if (place_dense(c, r, k, one)) return -1;
        } else if (one) {
            PyErr_SetString(PyExc_ValueError,
                            "out: expected a dense result, and this one is sparse: ask for format=\"dense\"");
            return -1;
        }
    }
    return 0;
}

static int64_t work(const call *c)
{
    int64_t n = 1;
    for (int k = 0; k < c->nin; k++) n = sc_max(n, c->in[k].view.nval);
    return n;
}

static int run(call *c, results *r)
{
    sc_err e = {0};
    void *sink[SC_MAXOP];
    for (int k = 0; k < r->n; k++) sink[k] = &r->sink[k];
    int rc;
    if (work(c) < 256) {
        rc = sc_program_run(c->program, c->in, r->t, sc_sink_alloc, sink, &e);
    } else {
        Py_BEGIN_ALLOW_THREADS;
        rc = sc_program_run(c->program, c->in, r->t, sc_sink_alloc, sink, &e);
        Py_END_ALLOW_THREADS;
    }
    if (rc) return sc_bind_raise(c->s, &e), -1;
    for (int k = 0; k < r->n; k++)
        if (sc_call_put_back(c, k, &r->t[k], &r->sink[k])) return -1;
    return 0;
}

/* Result k, a sparse one: a SparseTensor where it has the structure of one that was given, else what makes one. */
static PyObject *sparse_result(call *c, results *r, int k, sc_core *const *from, int nfrom)
{
    for (int j = 0; j < c->nin; j++)
        if (c->given[j] && sc_core_has(c->core[j], &r->t[k])) {
            PyObject *values = sc_core_values(&r->t[k], &r->sink[k], from, nfrom),
                     *made = values ? sc_bind_like(c->s, c->given[j], values) : NULL;
            Py_XDECREF(values);
            return made;
        }
    return sc_core_pack(&r->t[k], &r->sink[k], from, nfrom);
}

static PyObject *collect(call *c, results *r)
{
    sc_core *from[2 * SC_MAXOP]; /* whose arrays results may share: operands, as given and in other layouts */
    const int n = c->nin + c->nextra;
    PyObject *list = PyList_New(0);
    for (int k = 0; k < n; k++) {
        from[2 * k] = c->core[k];
        from[2 * k + 1] = c->core[k] || k >= c->nin ? (sc_core *)c->temp[k] : NULL;
    }
    for (int k = 0; list && k < sc_program_nreturned(c->program); k++) {
        PyObject *x = r->object[k];
        r->object[k] = NULL;
        if (!x) x = sparse_result(c, r, k, from, 2 * n);
        if (!x || PyList_Append(list, x)) Py_CLEAR(list);
        Py_XDECREF(x);
    }
    return list;
}

/* Room for so many results; only these are cleared, because the whole would cost more than a small call. */
static results *new_results(const sc_dl_api *dl, int n)
{
    results *r = sc_work_take(sizeof *r);
    if (!r) return NULL;
    r->n = n;
    memset(r->t, 0, (size_t)n * sizeof *r->t);
    memset(r->object, 0, (size_t)n * sizeof *r->object);
    for (int k = 0; k < n; k++) r->sink[k].dl = dl, r->sink[k].n = 0;
    return r;
}

/* Operands in the other layouts that steps of the program read. */
static int load_extra(call *c)
{
    const sc_format *f;
    for (int k; (f = sc_program_extra(c->program, c->nextra, &k)); c->nextra++) {
        const int at = c->nin + c->nextra;
        if (at == SC_MAXOP || !c->core[k])
            return PyErr_SetString(PyExc_RuntimeError, "internal error: no room for a layout"), -1;
        sc_core *d = sc_core_derive(c->s, c->core[k], f);
        if (!d) return -1;
        sc_call_hold(c, at, (PyObject *)d);
        c->in[at] = *sc_core_counted(d);
    }
    return 0;
}

static PyObject *evaluate(call *c, PyObject *out)
{
    results *r = new_results(c->s->dl, sc_program_nresult(c->program));
    if (!r) return PyErr_NoMemory();
    sc_call_count(c);
    PyObject *list = load_extra(c) || place(c, r, out) || run(c, r) ? NULL : collect(c, r);
    for (int k = 0; k < r->n; k++) Py_XDECREF(r->object[k]), sc_sink_clear(&r->sink[k]);
    sc_work_give(r);
    return list;
}

static PyObject *describe_results(call *c)
{
    PyObject *list = PyList_New(0);
    for (int k = 0; list && k < sc_program_nresult(c->program); k++) {
        const sc_spec *spec = sc_program_result(c->program, k);
        int64_t dim[SC_MAXDIM];
        char text[512];
        sc_program_shape(c->program, k, c->in, dim);
        sc_format_print(&spec->format, text, sizeof text);
        PyObject *shape = sc_bind_shape(dim, spec->format.ndim);
        PyObject *x = shape ? Py_BuildValue("(sNss)", text, shape, sc_dtype_name(spec->dtype),
                                            sc_dtype_name(spec->itype))
                            : NULL;
        if (!x || PyList_Append(list, x)) Py_CLEAR(list);
        Py_XDECREF(x);
    }
    return list;
}

/* Operands are written as they are loaded; the rest starts empty. */
static call *new_call(const sc_state *s)
{
    call *c = sc_work_take(sizeof *c);
    if (!c) return NULL;
    c->s = s;
    c->template = NULL;
    c->nin = c->nextra = 0;
    c->request = NULL;
    c->program = NULL;
    memset(c->core, 0, sizeof c->core);
    memset(c->given, 0, sizeof c->given);
    memset(c->temp, 0, sizeof c->temp);
    return c;
}

static PyObject *with_call(PyObject *module, PyObject *text, PyObject *operands, int ready(call *),
                           PyObject *(*body)(call *, PyObject *), PyObject *arg)
{
    call *c = new_call(PyModule_GetState(module));
    if (!c) return PyErr_NoMemory();
    PyObject *r = sc_call_load(c, text, operands) || ready(c) ? NULL : body(c, arg);
    sc_call_unload(c);
    sc_work_give(c);
    return r;
}

/* ---- what Python sees ---- */
static PyObject *take_stage(call *c, PyObject *stage)
{
    sc_err e = {0};
    sc_text said = {0};
    char *text = NULL;
    const char *name = PyUnicode_AsUTF8AndSize(stage, NULL);
    if (!name) return NULL;
    int rc;
    Py_BEGIN_ALLOW_THREADS;
    rc = sc_program_text(c->request, name, &text, &e);
    Py_END_ALLOW_THREADS;
    if (!rc && !strcmp(name, "explain"))
        sc_bind_said(c->request, &c->template->request, c->in, c->core, &said);
    sc_text_add(&said, "%s", text ? text : "");
    free(text);
    return sc_bind_text(c->s, &said, &e);
}

static PyObject *take_way(call *c, PyObject *unused)
{
    static const char *const name[] = {"bundle", "jit", "executor"};
    (void)unused;
    return PyUnicode_FromString(name[sc_program_way(c->program)]);
}

static PyObject *take_results(call *c, PyObject *unused)
{
    (void)unused;
    return describe_results(c);
}

PyObject *sc_bind_run(PyObject *module, PyObject *text, PyObject *operands, PyObject *out)
{ return with_call(module, text, operands, sc_call_resolve, evaluate, out == Py_None ? NULL : out); }

static PyObject *program_run(PyObject *module, PyObject *args)
{
    PyObject *text, *operands, *out = Py_None;
    if (!PyArg_ParseTuple(args, "UO!|O", &text, &PyTuple_Type, &operands, &out)) return NULL;
    return sc_bind_run(module, text, operands, out);
}

static PyObject *program_text(PyObject *module, PyObject *args)
{
    PyObject *text, *operands, *stage;
    if (!PyArg_ParseTuple(args, "UO!U", &text, &PyTuple_Type, &operands, &stage)) return NULL;
    const bool given =
        !PyUnicode_CompareWithASCIIString(stage, "orders"); /* of operands as they were given */
    return with_call(module, text, operands, given ? sc_call_ask : sc_call_look_up, take_stage, stage);
}

static PyObject *program_way(PyObject *module, PyObject *args)
{
    PyObject *text, *operands;
    if (!PyArg_ParseTuple(args, "UO!", &text, &PyTuple_Type, &operands)) return NULL;
    return with_call(module, text, operands, sc_call_resolve, take_way, NULL);
}

static PyObject *program_results(PyObject *module, PyObject *args)
{
    PyObject *text, *operands;
    if (!PyArg_ParseTuple(args, "UO!", &text, &PyTuple_Type, &operands)) return NULL;
    return with_call(module, text, operands, sc_call_resolve, take_results, NULL);
}

PyMethodDef sc_call_methods[] = {
    {"run", program_run, METH_VARARGS, "run(program, operands, out=None) -> list of results"},
    {"text", program_text, METH_VARARGS, "text(program, operands, stage) -> str"},
    {"way", program_way, METH_VARARGS, "way(program, operands) -> 'bundle', 'jit' or 'executor'"},
    {"results", program_results, METH_VARARGS,
     "results(program, operands) -> [(format, shape, dtype, itype)]"},
    {NULL, NULL, 0, NULL},
};
