/* stop.c: Ctrl-C while the library works.
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

void sc_stop_connect(void) { sc_stop_install(interrupted); }
