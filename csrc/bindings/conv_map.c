/* conv_map.c: kernel maps of sparse convolutions, from a tensor of coordinates. */
#include "bind.h"

#include "../convolution.h"

/* A tuple of one number an axis. */
static int read_axes(PyObject *tuple, int naxis, int64_t *out)
{
    if (PyTuple_Size(tuple) != naxis)
        return PyErr_Occurred() ? -1 : (PyErr_SetString(PyExc_ValueError, "expected one number an axis"), -1);
    for (int a = 0; a < naxis; a++) {
        out[a] = PyLong_AsLongLong(PyTuple_GetItem(tuple, a));
        if (out[a] == -1 && PyErr_Occurred()) return -1;
    }
    return 0;
}

static int read_sites(const sc_state *s, PyObject *x, sc_conv_map *m)
{
    sc_borrowed b;
    if (sc_bind_read(s, x, &b)) return -1;
    const int64_t *dim = b.t.view.dim;
    if (b.t.format.ndim != 2 || b.t.dtype != SC_I64 || !b.contiguous || dim[1] < 1 || dim[1] > SC_MAXDIM) {
        PyErr_Format(PyExc_ValueError, "expected contiguous int64 sites [n, 1 to %d]", SC_MAXDIM);
        return -1;
    }
    m->n = dim[0], m->naxis = (int)dim[1], m->site = b.t.view.val;
    return 0;
}

static PyObject *packed(const sc_conv_map *m, sc_sink *sink)
{
    PyObject *all = PyTuple_New(4);
    sc_bind_put(&all, 0, sc_sink_take(sink, m->pos, m->nout + 1));
    sc_bind_put(&all, 1, sc_sink_take(sink, m->offset, m->nnz));
    sc_bind_put(&all, 2, sc_sink_take(sink, m->input, m->nnz));
    sc_bind_put(&all, 3,
                m->out == m->site ? Py_NewRef(Py_None) : sc_sink_take(sink, m->out, m->nout * m->naxis));
    return all;
}

/* conv_map(sites, size, stride, dilation) -> (pos, offset, input, output sites or None) */
static PyObject *module_conv_map(PyObject *module, PyObject *args)
{
    const sc_state *s = PyModule_GetState(module);
    PyObject *sites, *size, *stride, *dilation;
    sc_conv_map m = {0};
    sc_err e = {0};
    sc_sink sink = {.dl = s->dl};
    int rc;
    if (!PyArg_ParseTuple(args, "OO!O!O!", &sites, &PyTuple_Type, &size, &PyTuple_Type, &stride,
                          &PyTuple_Type, &dilation))
        return NULL;
    if (read_sites(s, sites, &m) || read_axes(size, m.naxis, m.size) ||
        read_axes(stride, m.naxis, m.stride) || read_axes(dilation, m.naxis, m.dilation))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    rc = sc_conv_map_make(&m, sc_sink_alloc, &sink, &e);
    Py_END_ALLOW_THREADS;
    PyObject *r = rc ? sc_bind_raise(s, &e) : packed(&m, &sink);
    sc_sink_clear(&sink);
    return r;
}

PyMethodDef sc_conv_map_methods[] = {
    {"conv_map", module_conv_map, METH_VARARGS,
     "conv_map(sites, size, stride, dilation) -> (pos, offset, input, output sites or None)"},
    {NULL, NULL, 0, NULL},
};
