/* again.c: plain eager calls, and expressions over operands like those of an earlier one.
 *
 * What program an expression is depends on its operands' formats, not on the operands: Python finds it once and keeps it
 * in a dictionary (functions/expressions.py), by the expression, the names and of each operand the format and the number
 * of dimensions. A call that is in it needs no more of Python. */
#include "bind.h"

enum { MOST = 16 };

/* Whether nothing but plain eager arithmetic happens to these objects; -1 with an exception. Of SparseTensors the caller
 * knows that. */
static int plain_object(const sc_state *s, PyObject *x)
{
    PyTypeObject *type = Py_TYPE(x);
    if (type == s->core_type || type == s->sparse.type || x == Py_None) return 1;
    if ((PyObject *)type != s->tensor_type && (PyObject *)type != s->parameter_type) return 0;
    int grad = sc_bind_needs_grad(s, x);
    return grad < 0 ? -1 : !grad;
}

static int plain(const sc_state *s, PyObject *operands, PyObject *out)
{
    int yes = sc_bind_plain(s);
    for (Py_ssize_t k = 0; yes == 1 && k < PyTuple_Size(operands); k++)
        yes = plain_object(s, PyTuple_GetItem(operands, k));
    if (!PyTuple_Check(out)) return yes == 1 ? plain_object(s, out) : yes;
    for (Py_ssize_t k = 0; yes == 1 && k < PyTuple_Size(out); k++)
        yes = plain_object(s, PyTuple_GetItem(out, k));
    return yes;
}

static PyObject *run_plain(PyObject *module, PyObject *program, PyObject *operands, PyObject *out)
{
    int yes = plain(PyModule_GetState(module), operands, out);
    if (yes < 0) return NULL;
    return yes ? sc_bind_run(module, program, operands, out) : Py_NewRef(Py_NotImplemented);
}

static PyObject *evaluate(PyObject *module, PyObject *args)
{
    PyObject *program, *operands, *out;
    if (!PyArg_ParseTuple(args, "UO!O", &program, &PyTuple_Type, &operands, &out)) return NULL;
    return run_plain(module, program, operands, out);
}

/* ---- what was called before ---- */
/* The core of a SparseTensor, which is made for one that a plain call has made; borrowed, or null. */
static PyObject *core_in(const sc_state *s, PyObject *x, PyObject *facts)
{
    PyObject *core = PyDict_GetItemWithError(facts, s->name.core);
    if (core || PyErr_Occurred() || Py_TYPE(x) != s->sparse.type || sc_bind_plain(s) != 1) return core;
    Py_XDECREF((PyObject *)sc_bind_core(s, x));
    return PyErr_Occurred() ? NULL : PyDict_GetItemWithError(facts, s->name.core);
}

/* An operand that has a core or is plain, and its place in the key; null: more than that goes on. */
static PyObject *look_at(const sc_state *s, PyObject *x, PyObject *key, Py_ssize_t at)
{
    PyObject *type = (PyObject *)Py_TYPE(x), *core, *format;
    if (type == s->tensor_type || type == s->parameter_type) {
        PyTuple_SetItem(key, at, Py_NewRef(Py_None));
        PyTuple_SetItem(key, at + 1, Py_NewRef(Py_None));
        return x;
    }
    PyObject *facts = sc_bind_facts(x);
    if (!facts) return NULL;
    core = core_in(s, x, facts);
    format = core ? PyDict_GetItemWithError(facts, s->name.format) : NULL;
    PyObject *ndim = format ? PyDict_GetItemWithError(facts, s->name.ndim) : NULL;
    if (!ndim || Py_TYPE(core) != s->core_type) return NULL;
    PyTuple_SetItem(key, at, Py_NewRef(format));
    PyTuple_SetItem(key, at + 1, Py_NewRef(ndim));
    return x;
}

/* The operands of the program, those that go in again behind them; *program is borrowed. Null: not known, or an error. */
static PyObject *look_up(const sc_state *s, PyObject *const *args, PyObject **program)
{
    PyObject *known = args[0], *operands = args[3], *given[MOST];
    const Py_ssize_t n = PyTuple_Size(operands);
    PyObject *key = n < 0 || n > MOST ? NULL : PyTuple_New(2 + 2 * n);
    if (!key) return NULL;
    PyTuple_SetItem(key, 0, Py_NewRef(args[1]));
    PyTuple_SetItem(key, 1, Py_NewRef(args[2]));
    for (Py_ssize_t k = 0; k < n; k++)
        if (!(given[k] = look_at(s, PyTuple_GetItem(operands, k), key, 2 + 2 * k)))
            return Py_DECREF(key), NULL;
    PyObject *found = PyDict_GetItemWithError(known, key), *all = NULL;
    Py_DECREF(key);
    PyObject *again = found ? PyTuple_GetItem(found, 1) : NULL;
    const Py_ssize_t more = again ? PyTuple_Size(again) : -1;
    if (more < 0 || !(all = PyTuple_New(n + more))) return NULL;
    *program = PyTuple_GetItem(found, 0);
    for (Py_ssize_t k = 0; k < n; k++) PyTuple_SetItem(all, k, Py_NewRef(given[k]));
    for (Py_ssize_t k = 0; k < more; k++)
        PyTuple_SetItem(all, n + k, Py_NewRef(given[PyLong_AsLong(PyTuple_GetItem(again, k))]));
    return all;
}

static PyObject *evaluate_again(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    PyObject *program = NULL, *result = NULL;
    if (n != 4 || !PyDict_Check(args[0]) || !PyTuple_Check(args[3]))
        return PyErr_Format(PyExc_TypeError, "expected evaluate_again(known, expression, names, operands)");
    PyObject *operands = look_up(PyModule_GetState(module), args, &program);
    if (operands) {
        Py_INCREF(program);
        result = run_plain(module, program, operands, Py_None);
        Py_DECREF(program);
        Py_DECREF(operands);
        return result;
    }
    if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_AttributeError)) PyErr_Clear(); /* it is no tensor */
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_NotImplemented);
}

PyMethodDef sc_again_methods[] = {
    {"evaluate", evaluate, METH_VARARGS,
     "evaluate(program, operands, out) -> list of results, or NotImplemented: more than plain eager goes on"},
    {"evaluate_again", (PyCFunction)(void (*)(void))evaluate_again, METH_FASTCALL,
     "evaluate_again(known, expression, names, operands) -> list of results, or NotImplemented; "
     "known: {(expression, names, format, ndim, ..): (program, operands that go in again)}"},
    {NULL, NULL, 0, NULL},
};
