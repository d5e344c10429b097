/* values.c: eager calls on stored values alone, and SparseTensors with the structure of another one.
 *
 * A function that leaves zero zero computes on a vector of values, and its result differs from its operand in nothing
 * else. For a small tensor the objects around that take far longer than the arithmetic, so it is one call here: whether
 * nothing but plain eager arithmetic goes on, the function of torch, and the new object, whose facts are those of the
 * old one. What is unusual is left to Python. */
#include "bind.h"

PyObject *sc_bind_facts(PyObject *x)
{
    PyObject *facts = PyObject_GenericGetDict(x, NULL);
    Py_XDECREF(facts); /* the object has it */
    return facts;
}

sc_core *sc_bind_core(const sc_state *s, PyObject *x)
{
    if (Py_TYPE(x) == s->core_type) return (sc_core *)Py_NewRef(x);
    if (!s->sparse.type || !PyType_IsSubtype(Py_TYPE(x), s->sparse.type)) return NULL;
    PyObject *facts = sc_bind_facts(x), *core = facts ? PyDict_GetItemWithError(facts, s->name.core) : NULL;
    if (core) return (sc_core *)Py_NewRef(core);
    return PyErr_Occurred() ? NULL : (sc_core *)PyObject_CallFunctionObjArgs(s->sparse.core_of, x, NULL);
}

static bool yes(PyObject *r)
{
    const bool is = r == Py_True;
    Py_XDECREF(r);
    return is;
}

/* ---- new objects ---- */
/* Whether tensors of this type and on the device of values are what torch makes where it is told of neither. */
static bool is_default(const sc_state *s, PyObject *dtype, PyObject *values)
{
    PyObject *type = PyObject_CallNoArgs(s->sparse.default_type), *device = NULL, *on_cpu = NULL;
    if (type == dtype) device = PyObject_CallNoArgs(s->sparse.default_device);
    if (device && PyUnicode_Check(device) && !PyUnicode_CompareWithASCIIString(device, "cpu"))
        on_cpu = PyObject_GetAttr(values, s->name.is_cpu);
    const bool same = on_cpu == Py_True;
    Py_XDECREF(on_cpu);
    Py_XDECREF(device);
    Py_XDECREF(type);
    return same;
}

/* The same, where torch is told of both. */
static PyObject *made_as(const sc_state *s, PyObject *shape, PyObject *dtype, PyObject *values)
{
    PyObject *device = PyObject_GetAttr(values, s->name.device),
             *args = device ? PyTuple_Pack(2, s->sparse.type, shape) : NULL,
             *options = args ? PyDict_New() : NULL, *made = NULL;
    if (options && !PyDict_SetItem(options, s->name.dtype, dtype) &&
        !PyDict_SetItem(options, s->name.device, device))
        made = PyObject_Call(s->sparse.make, args, options);
    Py_XDECREF(options);
    Py_XDECREF(args);
    Py_XDECREF(device);
    return made;
}

/* A tensor of the class without memory, of a shape, and of the type and device of values. torch looks each of its
 * options up, a quarter of what it takes. */
static PyObject *wrapper(const sc_state *s, PyObject *shape, PyObject *values)
{
    PyObject *dtype = PyObject_GetAttr(values, s->name.dtype), *made = NULL;
    if (dtype && is_default(s, dtype, values))
        made = PyObject_CallFunctionObjArgs(s->sparse.make, s->sparse.type, shape, NULL);
    else if (dtype && !PyErr_Occurred())
        made = made_as(s, shape, dtype, values);
    PyObject *sealed = made ? PyObject_CallFunctionObjArgs(s->sparse.seal, made, NULL) : NULL;
    if (!sealed) Py_CLEAR(made);
    Py_XDECREF(sealed);
    Py_XDECREF(dtype);
    return made;
}

static int copy_fact(PyObject *to, PyObject *from, PyObject *name)
{
    PyObject *x = PyDict_GetItemWithError(from, name);
    return x ? PyDict_SetItem(to, name, x) : PyErr_Occurred() ? -1 : 0;
}

/* What is known of the structure: a core that has it, or that the library made it. */
static int copy_origin(const sc_state *s, PyObject *to, PyObject *from)
{
    PyObject *core = PyDict_GetItemWithError(from, s->name.core);
    if (core && (PyObject *)Py_TYPE(core) == (PyObject *)s->core_type)
        return PyDict_SetItem(to, s->name.origin, (PyObject *)sc_core_root((sc_core *)core));
    return copy_fact(to, from, s->name.origin) || copy_fact(to, from, s->name.made) ? -1 : 0;
}

/* Format, shape and arrays of a tensor, but not its values, nor what would hold them. */
static int copy_structure(const sc_state *s, PyObject *to, PyObject *from, PyObject *names)
{
    int bad = copy_fact(to, from, s->name.format) || copy_fact(to, from, s->name.names) ||
              copy_fact(to, from, s->name.ndim) || copy_fact(to, from, s->name.shape);
    for (Py_ssize_t i = 0; !bad && i < PyTuple_Size(names) - 1; i++)
        bad = copy_fact(to, from, PyTuple_GetItem(names, i));
    return bad;
}

/* A SparseTensor of these facts, those of another one, with values of its own. */
static PyObject *of_facts(const sc_state *s, PyObject *own, PyObject *values)
{
    PyObject *names = own ? PyDict_GetItemWithError(own, s->name.names) : NULL,
             *shape = names ? PyDict_GetItemWithError(own, s->name.shape) : NULL,
             *made = shape ? wrapper(s, shape, values) : NULL, *facts = made ? sc_bind_facts(made) : NULL;
    int bad = !facts || copy_structure(s, facts, own, names);
    if (!bad) bad = PyDict_SetItem(facts, s->name.values, values) || copy_origin(s, facts, own);
    if (bad) Py_CLEAR(made);
    if (!made && !PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "expected a SparseTensor");
    return made;
}

static bool is_tensor(const sc_state *s, PyObject *x)
{ return x && (PyObject *)Py_TYPE(x) == s->tensor_type; }

/* What is derived from a structure is kept with the core of the tensor that it came with, which is made for that. */
static int need_core(const sc_state *s, PyObject *a, PyObject *own, PyObject *values)
{
    if (PyDict_GetItemWithError(own, s->name.core) || PyDict_GetItemWithError(own, s->name.origin)) return 0;
    if (!is_tensor(s, values) || !is_tensor(s, PyDict_GetItemWithError(own, s->name.values))) return 0;
    PyObject *core = PyObject_CallFunctionObjArgs(s->sparse.core_of, a, NULL);
    Py_XDECREF(core);
    return core ? 0 : -1;
}

PyObject *sc_bind_like(const sc_state *s, PyObject *a, PyObject *values)
{
    PyObject *own = sc_bind_facts(a);
    if (own && need_core(s, a, own, values)) return NULL;
    return of_facts(s, own, values);
}

/* ---- values alone ---- */
PyObject *sc_bind_values(const sc_state *s, PyObject *a)
{
    PyObject *own = sc_bind_facts(a), *values = own ? PyDict_GetItemWithError(own, s->name.values) : NULL;
    if (!values && !PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "expected a SparseTensor");
    return values;
}

/* Whether a format, a key of s->sparse.single, stores each entry once and nothing else. */
static bool is_single(const sc_state *s, PyObject *format)
{
    PyObject *known = PyDict_GetItemWithError(s->sparse.single, format);
    if (known || PyErr_Occurred()) return known == Py_True;
    return yes(PyObject_GetItem(s->sparse.single, format));
}

PyObject *sc_values_alone(const sc_state *s, PyObject *a, bool *recorded)
{
    PyObject *own = Py_TYPE(a) == s->sparse.type && !s->validate ? sc_bind_facts(a) : NULL,
             *text = own ? PyDict_GetItemWithError(own, s->name.format) : NULL,
             *values = text ? PyDict_GetItemWithError(own, s->name.values) : NULL;
    if (!values || !is_single(s, text)) return NULL;
    if (*recorded || !sc_torch_grad_enabled()) return values;
    PyObject *answer = PyObject_CallFunctionObjArgs(s->sparse.recorded, a, values, NULL);
    *recorded = answer == Py_True;
    Py_XDECREF(answer);
    return answer ? values : NULL;
}

bool sc_values_share(const sc_state *s, PyObject *one, PyObject *other)
{
    if (one == other) return true;
    PyObject *names = one && other ? PyDict_GetItemWithError(one, s->name.names) : NULL;
    PyObject *const same[] = {s->name.format, s->name.shape};
    for (int i = 0; names && i < SC_LEN(same); i++) {
        PyObject *x = PyDict_GetItemWithError(one, same[i]), *y = PyDict_GetItemWithError(other, same[i]);
        if (!x || !y || PyObject_RichCompareBool(x, y, Py_EQ) != 1) return false;
    }
    for (Py_ssize_t i = 0; names && i < PyTuple_Size(names) - 1; i++) {
        PyObject *name = PyTuple_GetItem(names, i);
        if (PyDict_GetItemWithError(one, name) != PyDict_GetItemWithError(other, name)) return false;
    }
    return names;
}

static PyObject *plain_values(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    const sc_state *s = PyModule_GetState(module);
    if (n < 1 || n > 2) return PyErr_Format(PyExc_TypeError, "expected plain_values(a[, structure])");
    PyObject *a = args[0], *values = NULL;
    bool recorded = false;
    if (Py_TYPE(a) == s->sparse.type && sc_bind_plain(s) == 1) values = sc_values_alone(s, a, &recorded);
    if (values && n == 2 && !sc_values_share(s, args[1], sc_bind_facts(a))) values = NULL;
    if (values && !recorded) return Py_NewRef(values);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

/* Whether an array of values that torch made can be held as it is. */
static bool is_vector(const sc_state *s, PyObject *values)
{
    sc_dl_tensor d;
    if (!is_tensor(s, values)) return false;
    if (s->dl->borrow(values, &d)) return PyErr_Clear(), false; /* of a type that it does not have */
    return d.ndim == 1 && (!d.strides || d.shape[0] < 2 || d.strides[0] == 1);
}

/* The structure of a with values that were computed from its own. */
static PyObject *renewed(const sc_state *s, PyObject *a, PyObject *old, PyObject *values)
{
    if (values != old && is_vector(s, values)) return sc_bind_like(s, a, values);
    return PyErr_Occurred() ? NULL : PyObject_CallMethodObjArgs(a, s->name.with_values, values, NULL);
}

PyObject *sc_values_applied(const sc_state *s, PyObject *f, PyObject *a, PyObject *x, PyObject *y)
{
    Py_INCREF(x);
    PyObject *values = PyObject_CallFunctionObjArgs(f, x, y, NULL), *made = NULL;
    if (values) made = renewed(s, a, x, values);
    Py_XDECREF(values);
    Py_DECREF(x);
    return made;
}

/* ---- what Python sees ---- */
static PyObject *like(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    const sc_state *s = PyModule_GetState(module);
    if (n == 2 && PyDict_CheckExact(args[0])) return of_facts(s, args[0], args[1]);
    if (n != 2 || !PyType_IsSubtype(Py_TYPE(args[0]), s->sparse.type))
        return PyErr_Format(PyExc_TypeError, "expected like(SparseTensor or its structure, values)");
    return sc_bind_like(s, args[0], args[1]);
}

PyObject *sc_bind_structure(const sc_state *s, PyObject *a)
{
    PyObject *own = PyType_IsSubtype(Py_TYPE(a), s->sparse.type) ? sc_bind_facts(a) : NULL,
             *names = own ? PyDict_GetItemWithError(own, s->name.names) : NULL,
             *made = names ? PyDict_New() : NULL;
    int bad = made && Py_TYPE(a) == s->sparse.type &&
              need_core(s, a, own, PyDict_GetItemWithError(own, s->name.values));
    if (made && !bad) bad = copy_structure(s, made, own, names) || copy_origin(s, made, own);
    if (bad) Py_CLEAR(made);
    if (!made && !PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "expected a SparseTensor");
    return made;
}

static PyObject *structure(PyObject *module, PyObject *a)
{ return sc_bind_structure(PyModule_GetState(module), a); }

static PyObject *adopt(PyObject *module, PyObject *args)
{
    sc_state *s = PyModule_GetState(module);
    PyObject *type, *make, *seal, *default_type, *default_device, *recorded, *record, *core_of, *single;
    if (!PyArg_ParseTuple(args, "O!OOOOOOOO!", &PyType_Type, &type, &make, &seal, &default_type,
                          &default_device, &recorded, &record, &core_of, &PyDict_Type, &single))
        return NULL;
    if (s->sparse.type) Py_RETURN_NONE;
    s->sparse.make = Py_NewRef(make);
    s->sparse.seal = Py_NewRef(seal);
    s->sparse.default_type = Py_NewRef(default_type);
    s->sparse.default_device = Py_NewRef(default_device);
    s->sparse.recorded = Py_NewRef(recorded);
    s->sparse.record = Py_NewRef(record);
    s->sparse.core_of = Py_NewRef(core_of);
    s->sparse.single = Py_NewRef(single);
    s->sparse.type = (PyTypeObject *)Py_NewRef(type);
    Py_RETURN_NONE;
}

PyMethodDef sc_values_methods[] = {
    {"adopt", adopt, METH_VARARGS,
     "adopt(SparseTensor, make, seal, default_type, default_device, any_requires_grad, record, core_of, "
     "single): the class, and what makes its "
     "objects; record(f, a[, b]) is on_values where an operand requires a gradient; single[format]: whether "
     "it "
     "stores each entry once and nothing else"},
    {"plain_values", (PyCFunction)(void (*)(void))plain_values, METH_FASTCALL,
     "plain_values(a[, structure]) -> values of a SparseTensor, of this structure, that an eager call may "
     "compute with alone, or None"},
    {"like", (PyCFunction)(void (*)(void))like, METH_FASTCALL,
     "like(a or structure(a), values) -> SparseTensor with the structure of a"},
    {"structure", structure, METH_O,
     "structure(a) -> dict of format, shape and arrays of a SparseTensor, and what is known of them, without "
     "its values"},
    {NULL, NULL, 0, NULL},
};
