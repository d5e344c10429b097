/* sampling.c: neighbours of nodes, from tensors. */
#include "bind.h"

#include "../sampling.h"
#include "../watch.h"

/* pos, crd, weights or None */
static int read_graph(const sc_state *s, PyObject *const *x, sc_sampled *out)
{
    sc_borrowed pos, crd, weight;
    if (sc_bind_read_vector(s, x[0], &pos) || sc_bind_read_vector(s, x[1], &crd)) return -1;
    if ((pos.t.dtype != SC_I32 && pos.t.dtype != SC_I64) || pos.t.dtype != crd.t.dtype || pos.n < 1)
        return sc_bind_refuse("expected pos and crd of int32, or both of int64");
    out->itype = pos.t.dtype, out->rows = pos.n - 1;
    out->pos = pos.t.view.val, out->crd = crd.t.view.val;
    if (x[2] == Py_None) return 0;
    if (sc_bind_read_vector(s, x[2], &weight)) return -1;
    if (weight.n != crd.n || (weight.t.dtype != SC_F32 && weight.t.dtype != SC_F64))
        return sc_bind_refuse("expected a weight of float32 or float64 an entry");
    out->weight = weight.t.view.val, out->wtype = weight.t.dtype;
    return 0;
}

/* The last hop: (begin, pos, crd, entries, times or None, nodes so far) */
static PyObject *take_hop(const sc_state *s, const sc_sampling *m, const sc_hop *h, bool counts)
{
    sc_sink sink = {.dl = s->dl};
    int32_t *pos = sc_sink_alloc(&sink, SC_POS, 1, SC_I32, h->rows + 1);
    int32_t *crd = sc_sink_alloc(&sink, SC_CRD, 1, SC_I32, h->entries);
    int64_t *entry = sc_sink_alloc(&sink, SC_VAL, 1, SC_I64, h->entries);
    int32_t *times = counts ? sc_sink_alloc(&sink, SC_VAL, 2, SC_I32, h->entries) : NULL;
    PyObject *r = NULL;
    if (!pos || !crd || !entry || (counts && !times)) {
        sc_dense_nomem(SC_I64, 1, &h->entries);
    } else if ((r = PyTuple_New(6))) {
        Py_BEGIN_ALLOW_THREADS;
        sc_sampling_fill(m, pos, crd, entry, times);
        Py_END_ALLOW_THREADS;
        sc_bind_put(&r, 0, PyLong_FromLongLong(h->begin));
        sc_bind_put(&r, 1, sc_sink_take(&sink, pos, h->rows + 1));
        sc_bind_put(&r, 2, sc_sink_take(&sink, crd, h->entries));
        sc_bind_put(&r, 3, sc_sink_take(&sink, entry, h->entries));
        sc_bind_put(&r, 4, counts ? sc_sink_take(&sink, times, h->entries) : Py_NewRef(Py_None));
        sc_bind_put(&r, 5, PyLong_FromLongLong(h->nodes));
    }
    sc_sink_clear(&sink);
    return r;
}

static PyObject *take_nodes(const sc_state *s, const sc_sampling *m, int64_t n)
{
    sc_dl_managed *d = sc_dense_alloc(s->dl, SC_I64, 1, &n);
    if (!d) return sc_dense_nomem(SC_I64, 1, &n);
    sc_sampling_nodes(m, d->tensor.data);
    return sc_dense_object(s->dl, d);
}

/* All hops, then the nodes. bytes: of the entries that were drawn, read and written. */
static PyObject *take_all(const sc_state *s, sc_sampling *m, PyObject *fanouts, int64_t nodes, bool counts,
                          int64_t *bytes)
{
    const Py_ssize_t n = PyTuple_Size(fanouts);
    PyObject *r = n < 0 ? NULL : PyTuple_New(n + 1);
    for (Py_ssize_t i = 0; r && i < n; i++) {
        const long long fanout = PyLong_AsLongLong(PyTuple_GetItem(fanouts, i));
        sc_hop hop;
        sc_err e = {0};
        int rc = 0;
        if (fanout == -1 && PyErr_Occurred()) {
            Py_CLEAR(r);
            break;
        }
        Py_BEGIN_ALLOW_THREADS;
        rc = sc_sampling_hop(m, fanout, &hop, &e);
        Py_END_ALLOW_THREADS;
        if (rc) {
            Py_CLEAR(r);
            return sc_bind_raise(s, &e);
        }
        nodes = hop.nodes;
        *bytes += hop.entries * (int64_t)(2 * sizeof(int32_t) + sizeof(int64_t));
        sc_bind_put(&r, i, take_hop(s, m, &hop, counts));
    }
    sc_bind_put(&r, n, r ? take_nodes(s, m, nodes) : NULL);
    return r;
}

static PyObject *drawn(const sc_state *s, const sc_sampled *from, const sc_borrowed *seeds, PyObject *fanouts,
                       int64_t *bytes)
{
    sc_sampling *m = NULL;
    sc_err e = {0};
    int rc;
    Py_BEGIN_ALLOW_THREADS;
    rc = sc_sampling_open(&m, from, seeds->t.view.val, seeds->n, &e);
    Py_END_ALLOW_THREADS;
    const bool counts = from->replace && !from->fresh;
    PyObject *r = rc ? sc_bind_raise(s, &e) : take_all(s, m, fanouts, seeds->n, counts, bytes);
    sc_sampling_close(m);
    return r;
}

static PyObject *watched(const sc_state *s, const sc_sampled *from, const sc_borrowed *seeds,
                         PyObject *fanouts)
{
    sc_span span;
    char what[80];
    const long long n = from->rows;
    snprintf(what, sizeof what, "sample_neighbors\tcsr %lldx%lld", n, n);
    sc_span_begin(&span, what, NULL, 0);
    PyObject *r = drawn(s, from, seeds, fanouts, &span.bytes);
    sc_span_end(&span, "library", NULL, 0, r);
    return r;
}

/* sample(pos, crd, weights, seeds, fanouts, replace, fresh, random) */
static PyObject *module_sample(PyObject *module, PyObject *args)
{
    const sc_state *s = PyModule_GetState(module);
    PyObject *x[5];
    int replace, fresh;
    long long random;
    sc_borrowed seeds;
    sc_sampled from = {0};
    int64_t bytes = 0;
    if (!PyArg_ParseTuple(args, "OOOOO!ppL", &x[0], &x[1], &x[2], &x[3], &PyTuple_Type, &x[4], &replace,
                          &fresh, &random))
        return NULL;
    if (read_graph(s, x, &from) || sc_bind_read_vector(s, x[3], &seeds)) return NULL;
    if (seeds.t.dtype != SC_I64) return sc_bind_refuse("expected seeds of int64"), NULL;
    from.replace = replace, from.fresh = fresh, from.random = (uint64_t)random;
    return sc_is_watched() ? watched(s, &from, &seeds, x[4]) : drawn(s, &from, &seeds, x[4], &bytes);
}

PyMethodDef sc_sampling_methods[] = {
    {"sample", module_sample, METH_VARARGS,
     "sample(pos, crd, weights, seeds, fanouts, replace, fresh, random) -> ((begin, pos, crd, entries, "
     "times, nodes) of each hop ..., nodes)"},
    {NULL, NULL, 0, NULL},
};
