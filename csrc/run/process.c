/* process.c: what is one of a kind in this process. */
#include "run.h"

#include <pthread.h>

sc_process sc_this_process;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void start(void)
{
    sc_this_process.mode = SC_JIT_AUTO;
    sc_target_host(&sc_this_process.target);
}

void sc_process_start(void) { pthread_once(&once, start); }

int sc_vector_bytes(void)
{
    sc_process_start();
    return sc_this_process.target.vector_bytes;
}

void sc_dense_install(sc_dense_multiply *f, bool swift)
{ sc_this_process.multiply = f, sc_this_process.swift = swift; }
