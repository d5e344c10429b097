/* gradient.c: program strings taken apart, their gradients, and composed operands as their parts.
 *
 * What is asked here follows from the text, the formats and the ranks alone, so
 * it is asked once for a program string and kept by the caller: extents are
 * given as 0, and where types are not given they are float64. */
#include "bind.h"

#include <string.h>

static sc_template *template_of(const sc_state *s, PyObject *text)
{
    sc_err e = {0};
    Py_ssize_t len;
    const char *words = PyUnicode_AsUTF8AndSize(text, &len);
    sc_template *t = words ? sc_template_get(words, (size_t)len, &e) : NULL;
    if (!t && words) sc_bind_raise(s, &e);
    return t;
}

/* The request of a program string for operands of these ranks, and of these types, or null. */
static int request_of(const sc_state *s, const sc_template *t, PyObject *ranks, PyObject *types,
                      sc_request *rq)
{
    sc_err e = {0};
    sc_request_copy(rq, &t->request);
    if (PyTuple_Size(ranks) != rq->nin || (types && PyTuple_Size(types) != rq->nin))
        return PyErr_Format(PyExc_ValueError, "the program has %d operands, got %zd", rq->nin,
                            PyTuple_Size(ranks)),
               -1;
    for (int k = 0; k < rq->nin; k++) {
        const long ndim = PyLong_AsLong(PyTuple_GetItem(ranks, k));
        if (PyErr_Occurred()) return -1;
        const char *type = types ? PyUnicode_AsUTF8AndSize(PyTuple_GetItem(types, k), NULL) : NULL;
        if (types && !type) return -1;
        sc_dtype dtype = SC_F64;
        for (int d = 0; type && d < SC_NDTYPE; d++)
            if (!strcmp(sc_dtype_name((sc_dtype)d), type)) dtype = (sc_dtype)d;
        if (sc_template_operand(t, k, (int)ndim, dtype, rq, &e)) return sc_bind_raise(s, &e), -1;
    }
    return 0;
}

/* ---- what a program gives ---- */
static PyObject *outcome(const sc_outcome *o)
{
    char text[512];
    sc_format_print(&o->spec.format, text, sizeof text);
    PyObject *shape = PyTuple_New(o->spec.format.ndim);
    for (int d = 0; shape && d < o->spec.format.ndim; d++)
        sc_bind_put(&shape, d, Py_BuildValue("(ii)", (int)o->extent[d].operand, (int)o->extent[d].dim));
    if (!shape) return NULL;
    return Py_BuildValue("(ssiNs)", text, sc_dtype_name(o->spec.dtype), o->like, shape,
                         sc_dtype_name(o->spec.itype));
}

static PyObject *outcomes(const sc_state *s, const sc_template *t, PyObject *ranks, PyObject *types)
{
    sc_request rq;
    sc_outcome out[SC_MAXOP];
    sc_err e = {0};
    int n;
    if (request_of(s, t, ranks, types, &rq)) return NULL;
    if (sc_outcomes(&rq, &n, out, &e)) return sc_bind_raise(s, &e);
    PyObject *list = PyTuple_New(n);
    for (int r = 0; list && r < n; r++) sc_bind_put(&list, r, outcome(&out[r]));
    return list;
}

static PyObject *describe(PyObject *module, PyObject *args)
{
    const sc_state *s = PyModule_GetState(module);
    PyObject *text, *ranks, *types = NULL;
    if (!PyArg_ParseTuple(args, "UO!|O!", &text, &PyTuple_Type, &ranks, &PyTuple_Type, &types)) return NULL;
    sc_template *t = template_of(s, text);
    PyObject *r = t ? outcomes(s, t, ranks, types) : NULL;
    sc_template_put(t);
    return r;
}

/* ---- program strings of gradients ---- */
static PyObject *program_string(const sc_request *rq)
{
    sc_text t = {0};
    char format[512];
    sc_text_add(&t, "%s", rq->text);
    for (int k = 0; k < rq->nin; k++) {
        sc_text_add(&t, "\t%s:", rq->in[k].name);
        sc_format_print(&rq->in[k].format, format, sizeof format);
        if (sc_format_is_dense(&rq->in[k].format))
            sc_text_add(&t, ":");
        else
            sc_text_add(&t, "%d:%s", rq->in[k].format.ndim, format);
    }
    if (rq->skip) sc_text_add(&t, "\t!skip");
    for (int r = 0; r < rq->nask; r++) {
        sc_format_print(&rq->ask[r], format, sizeof format);
        if (rq->ask_like[r])
            sc_text_add(&t, "\t!ask\t!like %d %d", r, rq->ask_like[r] - 1);
        else
            sc_text_add(&t, "\t!ask %d:%s", rq->ask[r].ndim, format);
        if (rq->wide >> r & 1) sc_text_add(&t, "\t!wide %d", r);
    }
    PyObject *s = t.failed ? PyErr_NoMemory() : PyUnicode_FromString(t.s);
    sc_text_free(&t);
    return s;
}

static PyObject *pack(const sc_gradient *g)
{
    static const char *const name[] = {"operand", "result", "gradient", "identity"};
    PyObject *text = program_string(&g->request);
    PyObject *sources = PyTuple_New(g->request.nin), *results = PyTuple_New(g->nresult);
    for (int k = 0; sources && k < g->request.nin; k++)
        sc_bind_put(
            &sources, k,
            Py_BuildValue("(sii)", name[g->source[k].from], (int)g->source[k].index, (int)g->source[k].dim));
    for (int r = 0; results && r < g->nresult; r++)
        sc_bind_put(&results, r,
                    Py_BuildValue("(iii)", (int)g->result[r].operand, (int)g->result[r].lacks,
                                  (int)g->result[r].number));
    if (text && sources && results) return Py_BuildValue("(NNN)", text, sources, results);
    Py_XDECREF(text);
    Py_XDECREF(sources);
    Py_XDECREF(results);
    return NULL;
}

static PyObject *gradient_of(const sc_state *s, const sc_template *t, PyObject *ranks, unsigned wanted,
                             unsigned given)
{
    sc_request rq;
    sc_gradient g;
    sc_err e = {0};
    if (request_of(s, t, ranks, NULL, &rq)) return NULL;
    if (sc_gradient_make(&rq, wanted, given, &g, &e)) return sc_bind_raise(s, &e);
    PyObject *r = pack(&g);
    sc_gradient_free(&g);
    return r;
}

static PyObject *gradient(PyObject *module, PyObject *args)
{
    const sc_state *s = PyModule_GetState(module);
    PyObject *text, *ranks;
    unsigned int wanted, given;
    if (!PyArg_ParseTuple(args, "UO!II", &text, &PyTuple_Type, &ranks, &wanted, &given)) return NULL;
    sc_template *t = template_of(s, text);
    PyObject *r = t ? gradient_of(s, t, ranks, wanted, given) : NULL;
    sc_template_put(t);
    return r;
}

/* ---- composed operands ---- */
static PyObject *pack_composed(const sc_composed *c)
{
    PyObject *in = PyTuple_New(c->nin), *out = PyTuple_New(c->nout), *index = PyTuple_New(c->nindex);
    for (int k = 0; in && k < c->nin; k++)
        sc_bind_put(&in, k, Py_BuildValue("(sii)", c->in[k].name, (int)c->in[k].operand, (int)c->in[k].part));
    for (int k = 0; out && k < c->nout; k++)
        sc_bind_put(&out, k,
                    Py_BuildValue("(iii)", (int)c->out[k].result, (int)c->out[k].part, (int)c->out[k].like));
    for (int k = 0; index && k < c->nindex; k++)
        sc_bind_put(&index, k, Py_BuildValue("(ss)", c->index[k].name, c->index[k].of));
    if (in && out && index) return Py_BuildValue("(sNNN)", c->text, in, out, index);
    Py_XDECREF(in);
    Py_XDECREF(out);
    Py_XDECREF(index);
    return NULL;
}

/* How many parts an operand has, as given. */
static int parts_of(PyObject *given, uint8_t *parts)
{
    const long n = PyLong_AsLong(given);
    if (n < 0 || n > SC_MAXPARTS)
        return PyErr_Format(PyExc_ValueError, "expected at most %d parts, got %ld", SC_MAXPARTS, n), -1;
    *parts = (uint8_t)n;
    return 0;
}

static PyObject *compose_parts(const sc_state *s, const sc_template *t, PyObject *ranks, PyObject *given)
{
    sc_request rq;
    sc_composed c = {0};
    sc_err e = {0};
    uint8_t parts[SC_MAXOP] = {0};
    if (request_of(s, t, ranks, NULL, &rq)) return NULL;
    if (PyTuple_Size(given) != rq.nin)
        return PyErr_Format(PyExc_ValueError, "expected the parts of %d operands, got %zd", rq.nin,
                            PyTuple_Size(given));
    for (int k = 0; k < rq.nin; k++)
        if (parts_of(PyTuple_GetItem(given, k), &parts[k])) return NULL;
    PyObject *r = NULL;
    if (sc_compose(&rq, parts, &c, &e))
        sc_bind_raise(s, &e);
    else
        r = pack_composed(&c);
    sc_composed_free(&c);
    return r;
}

static PyObject *compose(PyObject *module, PyObject *args)
{
    const sc_state *s = PyModule_GetState(module);
    PyObject *text, *ranks, *parts;
    if (!PyArg_ParseTuple(args, "UO!O!", &text, &PyTuple_Type, &ranks, &PyTuple_Type, &parts)) return NULL;
    sc_template *t = template_of(s, text);
    PyObject *r = t ? compose_parts(s, t, ranks, parts) : NULL;
    sc_template_put(t);
    return r;
}

PyMethodDef sc_gradient_methods[] = {
    {"compose", compose, METH_VARARGS,
     "compose(program, ranks, how many parts each operand has) -> (text, ((name, operand, part or -1), ...) "
     "an "
     "operand of the text each, ((result, part or -1, operand that it is like), ...) a result each, "
     "((index, the one that it was named after), ...))"},
    {"describe", describe, METH_VARARGS,
     "describe(program, ranks[, types]) -> ((format, dtype, like, ((operand, dim), ...), itype), ...), a "
     "result "
     "each; like: the operand whose structure it shares, or -1"},
    {"gradient", gradient, METH_VARARGS,
     "gradient(program, ranks, wanted, given) -> (program, ((origin, index, dim), ...) an operand each, "
     "((operand, missing dimensions, number of the result), ...) a gradient each)"},
    {NULL, NULL, 0, NULL},
};
