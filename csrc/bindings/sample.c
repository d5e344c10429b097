/* sample.c: how much of a dense matrix is not zero, for who chooses how to multiply it.
 *
 * Products are chosen in each call, and some take a few microseconds: whether operands are plain, fit and lie along rows
 * or columns is seen here at once. */
#include "bind.h"

enum {
    STEP = 16,   /* one row of so many is looked at, */
    FEW = 8,     /* but at least so many, */
    ENOUGH = 256 /* and hardly more than these */
};

static PyObject *counted(const sc_tensor *x, int64_t step)
{
    sc_census c;
    Py_BEGIN_ALLOW_THREADS;
    sc_census_take(x, step, &c);
    Py_END_ALLOW_THREADS;
    return Py_BuildValue("(LLL)", (long long)c.seen, (long long)c.rows, (long long)c.values);
}

static int64_t step_of(int64_t rows) { return sc_max(sc_max(1, sc_min(STEP, rows / FEW)), rows / ENOUGH); }

/* census(matrix, step) -> (rows seen, rows that are not zero, values that are not) */
static PyObject *module_census(PyObject *module, PyObject *args)
{
    PyObject *x;
    long long step;
    sc_borrowed b;
    if (!PyArg_ParseTuple(args, "OL", &x, &step) || sc_bind_read(PyModule_GetState(module), x, &b))
        return NULL;
    if (b.t.format.ndim != 2) return PyErr_Format(PyExc_ValueError, "expected a matrix");
    return counted(&b.t, step ? step : step_of(b.t.view.dim[0]));
}

/* Whether nothing but plain arithmetic on these goes on, whose derivatives nobody asks for. */
static int is_alone(const sc_state *s, PyObject *x, PyObject *w)
{
    if (!sc_bind_is_tensor(s, x) || !sc_bind_is_tensor(s, w)) return 0;
    const int plain = sc_bind_plain(s);
    if (plain != 1) return plain;
    int grad = sc_bind_needs_grad(s, x);
    if (!grad) grad = sc_bind_needs_grad(s, w);
    return grad < 0 ? -1 : !grad;
}

static bool lies_along(const sc_view *v, int d)
{ return (v->stride[d] == 1 || v->dim[d] == 1) && v->stride[!d] >= v->dim[d]; }

static bool fit(const sc_borrowed *x, const sc_borrowed *w)
{
    const sc_view *a = &x->t.view, *b = &w->t.view;
    return x->t.format.ndim == 2 && w->t.format.ndim == 2 && x->computes && x->t.dtype == w->t.dtype &&
           a->dim[1] == b->dim[0] && lies_along(a, 1) && (lies_along(b, 1) || lies_along(b, 0));
}

/* glance(x, w, short, read) -> (rows seen, not zero, values not zero) of x [m, k] before x @ w [k, n], no rows where
 * mkn + read * kn < short; None where operands are not plain ones that fit, or a gradient is asked for. */
static PyObject *glance(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    const sc_state *s = PyModule_GetState(module);
    if (n != 4) return PyErr_Format(PyExc_TypeError, "expected glance(x, w, short, read)");
    const double limit = PyFloat_AsDouble(args[2]), read = PyFloat_AsDouble(args[3]);
    if (PyErr_Occurred()) return NULL;
    const int alone = is_alone(s, args[0], args[1]);
    if (alone < 0) return NULL;
    sc_borrowed x, w;
    if (!alone || sc_bind_borrow(s, args[0], &x) || sc_bind_borrow(s, args[1], &w) || !fit(&x, &w)) {
        PyErr_Clear();
        return Py_NewRef(Py_None);
    }
    if (!x.n || (double)w.n * ((double)x.t.view.dim[0] + read) < limit)
        return Py_BuildValue("(iii)", 0, 0, 0);
    return counted(&x.t, step_of(x.t.view.dim[0]));
}

PyMethodDef sc_sample_methods[] = {
    {"census", module_census, METH_VARARGS,
     "census(matrix, step) -> (rows seen, not zero, values not zero); step 0: as glance"},
    {"glance", (PyCFunction)(void (*)(void))glance, METH_FASTCALL,
     "glance(x, w, short, read) -> (rows seen, not zero, values not zero), or None"},
    {NULL, NULL, 0, NULL},
};
