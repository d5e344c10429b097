/* stop.c: Ctrl-C while the library works, and how far it is.
 *
 * Python notes a signal and answers it when its main thread runs bytecode next, which a long call keeps it from. So long
 * work asks here now and then: Python's handlers run, and where one raises, the work ends with SC_ESTOP and the
 * exception that is set already is what the caller sees. In any other thread there is nothing to answer. */
#include "bind.h"

static bool interrupted(void)
{
    const PyGILState_STATE held = PyGILState_Ensure();
    const bool yes = PyErr_CheckSignals() < 0;
    PyGILState_Release(held);
    return yes;
}

void sc_stop_again(void)
{
    const PyGILState_STATE held = PyGILState_Ensure();
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    if (type) PyThreadState_SetAsyncExc(PyThread_get_thread_ident(), type);
    Py_XDECREF(type), Py_XDECREF(value), Py_XDECREF(trace);
    PyGILState_Release(held);
}

#define LONG 2000000000 /* nanoseconds until progress is shown */

/* Shown by scorch.tools.progress, which is imported then. What goes wrong there is nobody's concern, but Ctrl-C is: it
 * ends the call, and after its end it is put off until Python's main thread runs. An exception that ends the call waits. */
static bool show(int step, double share, int64_t ns)
{
    const PyGILState_STATE held = PyGILState_Ensure();
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *room = PyImport_ImportModule("scorch.tools.progress");
    PyObject *done = room ? PyObject_CallMethod(room, "show", "idd", step, share, (double)ns / 1e9) : NULL;
    const bool ends = !done && !PyErr_ExceptionMatches(PyExc_Exception), stops = ends && step;
    if (ends && !step) PyErr_SetInterrupt();
    if (!stops) PyErr_Restore(type, value, trace);
    Py_XDECREF(done);
    Py_XDECREF(room);
    PyGILState_Release(held);
    return stops;
}

void sc_stop_connect(void)
{
    sc_stop_install(interrupted);
    sc_progress_install(show, LONG);
}
