/* watch.c: what scorch.profile asks of the core, and spans as torch.profiler shows them. */
#include "torch_call.h"

#include "../watch.h"

static void *begin(const char *name)
{
    AtenRecordFunctionHandle mark = NULL;
    return sc_torch.aoti_record_function_start(name, NULL, NULL, 0, &mark) ? NULL : mark;
}

static void end(void *mark) { sc_torch.aoti_record_function_end(mark); }

/* Programs are no operators of torch, so nothing of torch would show them. */
void sc_watch_connect(void)
{
    static const sc_profiler torchs = {begin, end};
    if (sc_torch.aoti_record_function_start && sc_torch.aoti_record_function_end) sc_watch_profiler(&torchs);
}

static PyObject *set(PyObject *args, int what)
{
    int on;
    if (!PyArg_ParseTuple(args, "p", &on)) return NULL;
    sc_watch_set(what, on);
    Py_RETURN_NONE;
}

static PyObject *watch(PyObject *module, PyObject *args)
{
    (void)module;
    return set(args, SC_WATCH_COUNT);
}

static PyObject *mark(PyObject *module, PyObject *args)
{
    (void)module;
    return set(args, SC_WATCH_MARK);
}

static PyObject *watched(PyObject *module, PyObject *unused)
{
    sc_text t = {0};
    const sc_err e = {0};
    (void)unused;
    sc_watch_print(&t);
    return sc_bind_text(PyModule_GetState(module), &t, &e);
}

PyMethodDef sc_watch_methods[] = {
    {"watch", watch, METH_VARARGS,
     "watch(on): calls and times of programs are counted; off: they are forgotten"},
    {"mark", mark, METH_VARARGS, "mark(on): programs are shown to torch.profiler"},
    {"watched", watched, METH_NOARGS, "watched() -> what was counted, as csrc/watch.h says"},
    {NULL, NULL, 0, NULL},
};
