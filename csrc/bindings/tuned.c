/* tuned.c: what scorch/tools/tune.py asks of the core, by the numbers of noted requests. */
#include "bind.h"

#include <string.h>

static const sc_request *request_of(long k, sc_noted_kind *kind)
{
    if (k >= 0 && k < sc_noted_count()) return sc_noted((int)k, kind);
    PyErr_Format(PyExc_IndexError, "%ld requests are noted, got number %ld", (long)sc_noted_count(), k);
    return NULL;
}

static PyObject *note(PyObject *module, PyObject *args)
{
    int on, anew = 0;
    (void)module;
    if (!PyArg_ParseTuple(args, "p|p", &on, &anew)) return NULL;
    Py_BEGIN_ALLOW_THREADS;
    sc_note(on, anew);
    Py_END_ALLOW_THREADS;
    return PyLong_FromLong(sc_noted_count());
}

static PyObject *names_of(const sc_request *rq)
{
    PyObject *list = PyList_New(0);
    for (int k = 0; list && k < rq->nin; k++) {
        const char *own = rq->in[k].name;
        const bool sparse = !sc_format_is_dense(&rq->in[k].format);
        char format[400] = "";
        if (sparse) sc_format_print(&rq->in[k].format, format, sizeof format);
        PyObject *shape = sc_bind_shape(rq->dim[k], rq->in[k].format.ndim);
        const char letter[] = {(char)('A' + k), 0};
        PyObject *one =
            shape ? Py_BuildValue("(ssNi)", own[0] ? own : letter, format, shape, (int)(rq->settled >> k & 1))
                  : NULL;
        if (!one || PyList_Append(list, one)) Py_CLEAR(list);
        Py_XDECREF(one);
    }
    return list;
}

static PyObject *noted(PyObject *module, PyObject *number)
{
    static const char *const kinds[] = {"nest", "asks", "steps"};
    sc_noted_kind kind;
    sc_err e = {0};
    sc_text class = {0};
    const sc_request *rq = request_of(PyLong_AsLong(number), &kind);
    if (!rq || PyErr_Occurred()) return NULL;
    sc_tuned_class(rq, &class, &e);
    PyObject *about = sc_bind_text(PyModule_GetState(module), &class, &e),
             *names = about ? names_of(rq) : NULL;
    if (!names) return Py_XDECREF(about), NULL;
    return Py_BuildValue("(ssNN)", rq->text, kinds[kind], about, names);
}

/* The same, of operands that are multiplied often. */
static sc_request asked(const sc_request *rq, const char *schedule, int often)
{
    sc_request x = *rq;
    x.schedule = schedule;
    for (int k = 0; k < x.nin; k++)
        if (often && !sc_format_is_dense(&x.in[k].format) && !x.in[k].often.many)
            x.in[k].often = (sc_often){.many = true, .cut = 1};
    return x;
}

static PyObject *stage(PyObject *module, PyObject *args)
{
    long k;
    const char *schedule, *name;
    int often;
    sc_noted_kind kind;
    sc_text t = {0};
    sc_err e = {0};
    if (!PyArg_ParseTuple(args, "lzsp", &k, &schedule, &name, &often)) return NULL;
    const sc_request *rq = request_of(k, &kind);
    if (!rq) return NULL;
    const sc_request x = asked(rq, schedule, often);
    Py_BEGIN_ALLOW_THREADS;
    sc_request_text(&x, name, &t, &e);
    Py_END_ALLOW_THREADS;
    return sc_bind_text(PyModule_GetState(module), &t, &e);
}

static PyObject *often(PyObject *module, PyObject *number)
{
    sc_noted_kind kind;
    const long k = PyLong_AsLong(number);
    (void)module;
    if (PyErr_Occurred() || !request_of(k, &kind)) return NULL;
    const int at = sc_note_often((int)k);
    return at < 0 ? PyErr_NoMemory() : PyLong_FromLong(at);
}

static PyObject *path(PyObject *module, PyObject *number)
{
    sc_noted_kind kind;
    sc_err e = {0};
    sc_text t = {0};
    const sc_request *rq = request_of(PyLong_AsLong(number), &kind);
    if (!rq || PyErr_Occurred()) return NULL;
    char *text = NULL;
    Py_BEGIN_ALLOW_THREADS;
    sc_program_text(rq, "path", &text, &e);
    Py_END_ALLOW_THREADS;
    if (text) sc_text_add(&t, "%s", text);
    free(text);
    return sc_bind_text(PyModule_GetState(module), &t, &e);
}

/* Makes the program, with code; several threads may at once. */
static PyObject *make(PyObject *module, PyObject *args)
{
    long k;
    const char *schedule;
    sc_noted_kind kind;
    sc_program *p = NULL;
    sc_err e = {0};
    if (!PyArg_ParseTuple(args, "lz", &k, &schedule)) return NULL;
    const sc_request *rq = request_of(k, &kind);
    if (!rq) return NULL;
    const sc_request x = asked(rq, schedule, 0);
    Py_BEGIN_ALLOW_THREADS;
    sc_program_get(&x, &p, NULL, &e);
    sc_program_release(p);
    Py_END_ALLOW_THREADS;
    if (e.code) return sc_bind_raise(PyModule_GetState(module), &e);
    Py_RETURN_NONE;
}

static PyObject *try(PyObject *module, PyObject *args)
{
    long k;
    const char *schedule;
    sc_noted_kind kind;
    sc_err e = {0};
    int rc;
    if (!PyArg_ParseTuple(args, "lz", &k, &schedule)) return NULL;
    const sc_request *rq = request_of(k, &kind);
    if (!rq) return NULL;
    Py_BEGIN_ALLOW_THREADS;
    rc = sc_tuned_try(rq, schedule, &e);
    Py_END_ALLOW_THREADS;
    if (rc) return sc_bind_raise(PyModule_GetState(module), &e);
    Py_RETURN_NONE;
}

static PyObject *found(PyObject *module, PyObject *number)
{
    sc_noted_kind kind;
    sc_err e = {0};
    sc_text t = {0};
    const sc_request *rq = request_of(PyLong_AsLong(number), &kind);
    if (!rq || PyErr_Occurred()) return NULL;
    sc_tuned_schedule(rq, &t);
    if (!t.n) Py_RETURN_NONE;
    return sc_bind_text(PyModule_GetState(module), &t, &e);
}

static PyObject *untry(PyObject *module, PyObject *number)
{
    sc_noted_kind kind;
    const sc_request *rq = request_of(PyLong_AsLong(number), &kind);
    (void)module;
    if (!rq || PyErr_Occurred()) return NULL;
    sc_tuned_untry(rq);
    Py_RETURN_NONE;
}

static PyObject *keep(PyObject *module, PyObject *args)
{
    long k;
    double gain;
    sc_noted_kind kind;
    sc_text unsaved = {0};
    sc_err e = {0};
    if (!PyArg_ParseTuple(args, "ld", &k, &gain)) return NULL;
    const sc_request *rq = request_of(k, &kind);
    if (!rq) return NULL;
    if (!sc_tuned_keep(rq, gain, &unsaved, &e)) return sc_bind_text(PyModule_GetState(module), &unsaved, &e);
    sc_text_free(&unsaved);
    return sc_bind_raise(PyModule_GetState(module), &e);
}

static PyObject *count_as(PyObject *module, PyObject *number)
{
    const long how = PyLong_AsLong(number);
    (void)module;
    if (PyErr_Occurred()) return NULL;
    if (how < SC_COUNTS || how > SC_COUNTS_AS_NEW)
        return PyErr_Format(PyExc_ValueError, "count_as: expected 0, 1 or 2, got %ld", how);
    sc_count_as((sc_counting)how);
    Py_RETURN_NONE;
}

void sc_bind_said(const sc_request *now, const sc_request *rq, const sc_tensor *in, sc_core *const *core,
                  sc_text *t)
{
    sc_request given = *rq;
    sc_tensor as[SC_MAXOP];
    if (!now->settled) return;
    for (int k = 0; k < given.nin; k++) {
        as[k] = core[k] ? core[k]->t : in[k];
        sc_request_operand(&given, k, &as[k]);
        if (core[k]) given.in[k].often = sc_core_often(core[k]);
    }
    sc_request_twins(&given, as);
    sc_tuned_said(&given, t);
}

static PyObject *list(PyObject *module, PyObject *unused)
{
    sc_text t = {0};
    sc_err e = {0};
    (void)unused;
    sc_tuned_list(&t, &e);
    return sc_bind_text(PyModule_GetState(module), &t, &e);
}

static PyObject *clear(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyLong_FromLongLong(sc_tuned_clear());
}

PyMethodDef sc_tuned_methods[] = {
    {"note", note, METH_VARARGS, "note(on[, anew]) -> how many requests are noted; anew: forgets those"},
    {"noted", noted, METH_O,
     "noted(k) -> (text, \"nest\", \"asks\" or \"steps\", class, [(name, format, shape, settled), ..])"},
    {"noted_stage", stage, METH_VARARGS, "noted_stage(k, schedule, stage, often) -> text, without code"},
    {"noted_often", often, METH_O, "noted_often(k) -> the number of the same for operands used often"},
    {"noted_path", path, METH_O, "noted_path(k) -> the steps of the program"},
    {"noted_make", make, METH_VARARGS, "noted_make(k, schedule): its program is kept, compiled"},
    {"tuned_try", try, METH_VARARGS, "tuned_try(k, schedule): for all requests of this class"},
    {"tuned_schedule", found, METH_O, "tuned_schedule(k) -> what is used, None: what the scheduler chooses"},
    {"tuned_untry", untry, METH_O, "tuned_untry(k): as it was"},
    {"tuned_keep", keep, METH_VARARGS,
     "tuned_keep(k, gain) -> why others will not find it, or nothing: what is tried, for good; gain 0: none"},
    {"count_as", count_as, METH_O,
     "count_as(how): 0: products are counted; 1: none is, for now; 2: and no operand is used often"},
    {"tuned_list", list, METH_NOARGS, "tuned_list() -> name and text of each, a 0 behind it"},
    {"tuned_clear", clear, METH_NOARGS, "tuned_clear() -> how many files were removed"},
    {NULL, NULL, 0, NULL},
};
