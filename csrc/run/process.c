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

bool sc_dense_takes(sc_dtype t)
{
    if (!sc_this_process.multiply) return false;
    return t == SC_F32 || t == SC_F64 || (t == SC_BF16 && sc_target_dots(&sc_this_process.target));
}
