/* values_node.c: calls on stored values alone, and what autograd records of them.
 *
 * Where a derivative is known, a call is one node of torch's for Python (tensor/derivatives.py). Its forward pass is a
 * function here: what it keeps is put on the node without code of Python between, which took as long as the arithmetic. */
#include "bind.h"

/* ---- what is recorded ---- */
enum { OF_ONE, BY_NUMBER, OF_TWO }; /* kinds of derivatives */

/* The derivative of f, borrowed; null: none is known, or an exception. b: as of on_values, or null. */
static PyObject *derivative_of(const sc_state *s, PyObject *f, PyObject *b)
{
    const int kind = !b ? OF_ONE : Py_TYPE(b) == s->sparse.type ? OF_TWO : BY_NUMBER;
    PyObject *table = s->sparse.derivatives[kind];
    return table ? PyDict_GetItemWithError(table, f) : NULL;
}

static PyObject *recorded_as(const sc_state *s, PyObject *f, PyObject *a, PyObject *b)
{
    PyObject *d = derivative_of(s, f, b);
    if (d) return PyObject_CallFunctionObjArgs(s->sparse.node, a, b ? b : Py_None, f, d, NULL);
    return PyErr_Occurred() ? NULL : PyObject_CallFunctionObjArgs(s->sparse.record, f, a, b, NULL);
}

/* Tensors for torch to keep, with the values for their versions: both operands, or the first one. */
static int keep(const sc_state *s, PyObject *node, PyObject *a, PyObject *x, PyObject *b, PyObject *y)
{
    PyObject *kept = b ? PyTuple_Pack(4, a, x, b, y) : PyTuple_Pack(2, a, x);
    const int bad = !kept || PyObject_SetAttr(node, s->name.to_save, kept);
    Py_XDECREF(kept);
    return bad ? -1 : 0;
}

static int64_t length(const sc_state *s, PyObject *values)
{
    sc_dl_tensor d;
    if (!s->dl->borrow(values, &d)) return d.shape[0];
    PyErr_Clear(); /* of a type that it does not have */
    return PyObject_Size(values);
}

/* node.facts = (derivative, structure, number or None, how many values, whether both operands are one) */
static int note(const sc_state *s, PyObject *node, PyObject *a, PyObject *x, PyObject *number, PyObject *d,
                bool twice)
{
    const int64_t n = length(s, x);
    if (n < 0) return -1;
    PyObject *structure = sc_bind_structure(s, a), *count = PyLong_FromLongLong(n);
    PyObject *facts =
        structure && count ? PyTuple_Pack(5, d, structure, number, count, twice ? Py_True : Py_False) : NULL;
    const int bad = !facts || PyObject_SetAttr(node, s->name.facts, facts) ||
                    PyObject_SetAttr(node, s->name.materialize_grads, Py_False);
    Py_XDECREF(facts);
    Py_XDECREF(count);
    Py_XDECREF(structure);
    return bad ? -1 : 0;
}

/* forward(node, a, b, f, derivative): f(values[, number or values]) in the structure of a; operands were looked at. */
static PyObject *forward(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    const sc_state *s = PyModule_GetState(module);
    if (n != 5 || Py_TYPE(args[1]) != s->sparse.type || !PyTuple_Check(args[4]))
        return PyErr_Format(PyExc_TypeError, "expected forward(node, a, b, f, derivative)");
    PyObject *a = args[1], *b = args[2], *d = args[4], *x = sc_bind_values(s, a), *y = NULL;
    const bool pair = Py_TYPE(b) == s->sparse.type;
    if (x && b != Py_None) y = pair ? sc_bind_values(s, b) : b;
    if (!x || (pair && !y)) return NULL;
    const bool reads = PyTuple_GetItem(d, 0) == Py_True;
    if (note(s, args[0], a, x, pair || !y ? Py_None : b, d, a == b)) return NULL;
    if (reads && keep(s, args[0], a, x, pair ? b : NULL, y)) return NULL;
    return sc_values_applied(s, args[3], a, x, y);
}

/* read(node, a): its values, for a function of torch to read; node.facts is the structure. */
static PyObject *read_values(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    const sc_state *s = PyModule_GetState(module);
    if (n != 2 || Py_TYPE(args[1]) != s->sparse.type)
        return PyErr_Format(PyExc_TypeError, "expected read(node, a)");
    PyObject *x = sc_bind_values(s, args[1]), *structure = x ? sc_bind_structure(s, args[1]) : NULL;
    const int bad = !structure || PyObject_SetAttr(args[0], s->name.facts, structure) ||
                    PyObject_SetAttr(args[0], s->name.materialize_grads, Py_False);
    Py_XDECREF(structure);
    return bad ? NULL : PyObject_CallMethodObjArgs(x, s->name.detach, NULL);
}

static PyObject *read_by(const sc_state *s, PyObject *f, PyObject *a)
{
    PyObject *values = PyObject_CallFunctionObjArgs(s->sparse.read, a, NULL),
             *made = values ? PyObject_CallFunctionObjArgs(f, values, NULL) : NULL;
    Py_XDECREF(values);
    return made;
}

/* ---- calls ---- */
enum { NUMBERS = 1, PAIRS = 2 };

/* What b is beside the values of a: a number, or values of the same structure; borrowed, null as in `alone`. */
static PyObject *second(const sc_state *s, PyObject *a, PyObject *b, long takes, bool *recorded)
{
    if (PyLong_CheckExact(b) || PyFloat_CheckExact(b)) return takes & NUMBERS ? b : NULL;
    if (!(takes & PAIRS) || Py_TYPE(b) != s->sparse.type ||
        !sc_values_share(s, sc_bind_facts(a), sc_bind_facts(b)))
        return NULL;
    return sc_values_alone(s, b, recorded);
}

static PyObject *on_values(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    const sc_state *s = PyModule_GetState(module);
    if (n != 2 && n != 4) return PyErr_Format(PyExc_TypeError, "expected on_values(f, a[, b, takes])");
    PyObject *a = args[1], *b = n == 4 ? args[2] : NULL, *x = NULL, *y = NULL;
    bool recorded = false;
    if (Py_TYPE(a) == s->sparse.type && sc_bind_plain(s) == 1) x = sc_values_alone(s, a, &recorded);
    if (x && b) y = second(s, a, b, PyLong_AsLong(args[3]), &recorded);
    if (!x || (b && !y)) return PyErr_Occurred() ? NULL : Py_NewRef(Py_NotImplemented);
    if (recorded) return recorded_as(s, args[0], a, b);
    return sc_values_applied(s, args[0], a, x, y);
}

/* Whether values are of a half type, which torch rounds on the way where it adds up many. */
static bool are_halves(const sc_state *s, PyObject *values)
{
    sc_dl_tensor d;
    if (s->dl->borrow(values, &d)) return PyErr_Clear(), true; /* of a type that it does not have */
    return d.dtype.bits == 16 && d.dtype.code != SC_DL_INT;
}

static PyObject *of_values(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    const sc_state *s = PyModule_GetState(module);
    if (n != 2) return PyErr_Format(PyExc_TypeError, "expected of_values(f, a)");
    PyObject *a = args[1], *x = NULL;
    bool recorded = false;
    if (Py_TYPE(a) == s->sparse.type && sc_bind_plain(s) == 1) x = sc_values_alone(s, a, &recorded);
    if (!x || are_halves(s, x)) return PyErr_Occurred() ? NULL : Py_NewRef(Py_NotImplemented);
    if (recorded) return read_by(s, args[0], a);
    Py_INCREF(x);
    PyObject *made = PyObject_CallFunctionObjArgs(args[0], x, NULL);
    Py_DECREF(x);
    return made;
}

static PyObject *differentiate(PyObject *module, PyObject *args)
{
    sc_state *s = PyModule_GetState(module);
    PyObject *node, *read, *table[SC_LEN(s->sparse.derivatives)];
    if (!PyArg_ParseTuple(args, "OOO!O!O!", &node, &read, &PyDict_Type, &table[OF_ONE], &PyDict_Type,
                          &table[BY_NUMBER], &PyDict_Type, &table[OF_TWO]))
        return NULL;
    if (s->sparse.node) Py_RETURN_NONE;
    s->sparse.node = Py_NewRef(node);
    s->sparse.read = Py_NewRef(read);
    for (int i = 0; i < SC_LEN(table); i++) s->sparse.derivatives[i] = Py_NewRef(table[i]);
    Py_RETURN_NONE;
}

PyMethodDef sc_values_node_methods[] = {
    {"on_values", (PyCFunction)(void (*)(void))on_values, METH_FASTCALL,
     "on_values(f, a[, b, takes]) -> SparseTensor of f(values[, number or values]), or NotImplemented: more "
     "goes on; takes: 1 numbers, 2 SparseTensors of the same arrays"},
    {"of_values", (PyCFunction)(void (*)(void))of_values, METH_FASTCALL,
     "of_values(f, a) -> f(values), which is no SparseTensor, or NotImplemented: more goes on"},
    {"differentiate", differentiate, METH_VARARGS,
     "differentiate(node, read, of_one, by_number, of_two): derivatives by functions, and what records a "
     "call: node(a, b, f, derivative), whose forward pass is `forward`, and read(a), whose is `read`"},
    {"read", (PyCFunction)(void (*)(void))read_values, METH_FASTCALL,
     "read(node, a) -> values of a SparseTensor; leaves its structure with the node"},
    {"forward", (PyCFunction)(void (*)(void))forward, METH_FASTCALL,
     "forward(node, a, b, f, derivative) -> SparseTensor of f(values[, number or values]); leaves its facts "
     "with the node"},
    {NULL, NULL, 0, NULL},
};
