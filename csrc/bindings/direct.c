/* direct.c: what the wrappers that inductor writes in Python call in place of scorch::run.
 *
 * torch's way from Python to an operator takes as long as a small product: arguments become values of its own, lists
 * of them, and handles. Nothing is differentiated or traced below a wrapper, so it may call without that. What is no
 * plain tensor returns NotImplemented and goes the long way. */
#include "torch_graph.h"

/* ---- what arrays hold ---- */
/* Arrays of structure come again with each call. To read all of their bytes takes longer than a look at who they are and
 * at torch's count of what was written to them, as cores look. Graphs of inductor write to memory of their own uncounted,
 * so what they make is read. */
enum { FEW = 1 << 14 }; /* bytes of an array that are read in no time */

static sc_digested *digested_at(sc_state *s, const PyObject *x)
{ return &s->digested[((uintptr_t)x >> 4) * 0x9e3779b97f4a7c15u >> 58]; }

static bool may_recall(const sc_state *s, const sc_tensor *t)
{
    const bool index = t->dtype == SC_I32 || t->dtype == SC_I64;
    return index && !s->validate && t->view.nval * (int64_t)sc_dtype_size(t->dtype) >= FEW;
}

static bool recall(sc_state *s, PyObject *x, const sc_tensor *t, int64_t version, sc_bytes *b)
{
    const sc_digested *p = digested_at(s, x);
    if (!p->weak || PyWeakref_GetObject(p->weak) != x) return false;
    const bool same = p->data == t->view.val && p->n == t->view.nval && p->version == version;
    if (same) *b = (sc_bytes){p->digest, true};
    return same;
}

/* version: before the bytes were read. torch swaps no tensor that something refers to, weakly or not. */
static void keep(sc_state *s, PyObject *x, const sc_tensor *t, int64_t version, sc_digest digest)
{
    sc_digested *p = digested_at(s, x);
    PyObject *swaps = PyObject_CallNoArgs(s->swaps), *weak = NULL, *old = p->weak;
    if (swaps == Py_False) weak = PyWeakref_NewRef(x, NULL);
    Py_XDECREF(swaps);
    if (!weak) PyErr_Clear();
    *p = (sc_digested){weak, t->view.val, version, t->view.nval, digest};
    Py_XDECREF(old);
}

void sc_bind_forget(sc_state *s)
{
    for (int i = 0; i < SC_NDIGESTED; i++) Py_CLEAR(s->digested[i].weak);
}

/* ---- a call ---- */
typedef struct {
    const sc_dl_api *dl;
    sc_dl_managed *made;
} destination;

static void *room(void *ctx, sc_dtype t, int ndim, const int64_t *dim)
{
    destination *d = ctx;
    d->made = sc_dense_alloc(d->dl, t, ndim, dim);
    return d->made ? d->made->tensor.data : NULL;
}

/* The operands, looked at; 0: one is not plain, -1: an exception. */
static int look_at(const sc_state *s, PyObject *operands, sc_tensor *to)
{
    for (Py_ssize_t i = 0; i < PyTuple_Size(operands); i++) {
        sc_borrowed b;
        if (sc_bind_borrow(s, PyTuple_GetItem(operands, i), &b)) return PyErr_Clear(), 0;
        if (!b.computes) return 0;
        to[i] = b.t;
    }
    return 1;
}

static int read_sizes(PyObject *sizes, int64_t *to)
{
    for (Py_ssize_t i = 0; i < PyTuple_Size(sizes); i++) {
        to[i] = PyLong_AsLongLong(PyTuple_GetItem(sizes, i));
        if (to[i] == -1 && PyErr_Occurred()) return -1;
    }
    return 0;
}

static PyObject *run(const sc_state *s, sc_graph_call *g)
{
    destination d = {.dl = s->dl};
    sc_err e = {0};
    g->room = room, g->ctx = &d;
    Py_BEGIN_ALLOW_THREADS;
    sc_graph_run(g, &e);
    Py_END_ALLOW_THREADS;
    if (!e.code) return sc_dense_object(s->dl, d.made);
    if (d.made) d.made->deleter(d.made);
    return sc_bind_raise(s, &e);
}

/* The same, with what is known of arrays and what turns out. given: operands, as bits, that graphs are given and leave as
 * they are. */
static PyObject *run_knowing(sc_state *s, PyObject *operands, uint64_t given, sc_graph_call *g)
{
    enum { MOST = 64 }; /* arrays that are looked at */
    const size_t n = g->noperand < MOST ? g->noperand : MOST;
    int64_t version[MOST];
    for (size_t i = 0; i < n; i++) {
        PyObject *x = PyTuple_GetItem(operands, (Py_ssize_t)i);
        version[i] = -1;
        if (!(given >> i & 1) || !may_recall(s, &g->operand[i])) continue;
        const int64_t now = sc_bind_version(s, x);
        if (!recall(s, x, &g->operand[i], now, &g->bytes[i])) version[i] = now;
    }
    PyObject *y = run(s, g);
    for (size_t i = 0; i < n && y; i++)
        if (version[i] >= 0 && g->bytes[i].known)
            keep(s, PyTuple_GetItem(operands, (Py_ssize_t)i), &g->operand[i], version[i], g->bytes[i].digest);
    return y;
}

/* direct(program, operands, sizes, given) -> tensor or NotImplemented */
static PyObject *direct(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    sc_state *s = PyModule_GetState(module);
    sc_graph_call g = {.text = NULL};
    Py_ssize_t length;
    if (n != 4 || !PyTuple_Check(args[1]) || !PyTuple_Check(args[2]))
        return PyErr_Format(PyExc_TypeError, "expected direct(program, operands, sizes, given)");
    const uint64_t given = PyLong_AsUnsignedLongLong(args[3]);
    if (PyErr_Occurred()) return NULL;
    if (!(g.text = PyUnicode_AsUTF8AndSize(args[0], &length))) return NULL;
    g.length = (size_t)length;
    if (!sc_graph_open(&g, (size_t)PyTuple_Size(args[1]), (size_t)PyTuple_Size(args[2])))
        return PyErr_NoMemory();
    const int plain = read_sizes(args[2], g.size) ? -1 : look_at(s, args[1], g.operand);
    PyObject *y = plain > 0 ? run_knowing(s, args[1], given, &g)
                  : plain   ? NULL
                            : Py_NewRef(Py_NotImplemented);
    sc_work_give(g.operand);
    return y;
}

PyMethodDef sc_direct_methods[] = {
    {"direct", (PyCFunction)(void (*)(void))direct, METH_FASTCALL,
     "direct(program, operands, sizes, given) -> tensor or NotImplemented: scorch::run without torch "
     "between; "
     "given: operands, as bits, that nobody writes to but as torch counts it"},
    {NULL, NULL, 0, NULL},
};
