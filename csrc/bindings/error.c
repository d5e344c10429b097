/* error.c: results of the core as objects and exceptions of Python. */
#include "bind.h"

#include <stdatomic.h>
#include <string.h>

PyObject *sc_bind_raise(const sc_state *s, const sc_err *e)
{
    PyObject *type;
    if (e->code == SC_ESTOP && PyErr_Occurred()) return NULL;
    switch (e->code) {
    case SC_EVALUE: type = PyExc_ValueError; break;
    case SC_ETYPE: type = PyExc_TypeError; break;
    case SC_ENOMEM: type = PyExc_MemoryError; break;
    case SC_ENOTIMPL: type = PyExc_NotImplementedError; break;
    case SC_ECOMPILE: type = s->compile_error; break;
    case SC_ESTOP: type = PyExc_KeyboardInterrupt; break;
    default:
        return PyErr_Format(PyExc_RuntimeError, "internal error of scorch, please report it: %s", e->msg);
    }
    /* A compiler may have said anything, and what it said may have been cut in the middle of a letter. */
    PyObject *text = PyUnicode_DecodeUTF8(e->msg, (Py_ssize_t)strlen(e->msg), "replace");
    if (text) PyErr_SetObject(type, text);
    Py_XDECREF(text);
    return NULL;
}

void sc_bind_put(PyObject **tuple, Py_ssize_t at, PyObject *item)
{
    if (!*tuple)
        Py_XDECREF(item);
    else if (!item || PyTuple_SetItem(*tuple, at, item))
        Py_CLEAR(*tuple);
}

PyObject *sc_bind_shape(const int64_t *dim, int n)
{
    PyObject *shape = PyTuple_New(n);
    for (int i = 0; shape && i < n; i++) sc_bind_put(&shape, i, PyLong_FromLongLong(dim[i]));
    return shape;
}

int sc_bind_warn(const sc_program *p)
{
    static atomic_bool warned;
    if (sc_program_way(p) != SC_WAY_EXECUTOR || atomic_exchange(&warned, true)) return 0;
    return PyErr_WarnFormat(
        PyExc_RuntimeWarning, 2,
        "scorch: an expression runs in the interpreter, tens to hundreds of times slower than "
        "compiled code, because it could not be compiled: %s; scorch.stats() counts such calls",
        sc_program_why(p));
}

PyObject *sc_bind_text(const sc_state *s, sc_text *t, const sc_err *e)
{
    PyObject *r = e->code     ? sc_bind_raise(s, e)
                  : t->failed ? PyErr_NoMemory()
                              : PyUnicode_DecodeUTF8(t->s ? t->s : "", (Py_ssize_t)t->n, "replace");
    sc_text_free(t);
    return r;
}
