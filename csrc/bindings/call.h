/* call.h: one call on Python objects, of its operands (resolve.c) and its results (call.c). Functions return -1 with an
 * exception. */
#ifndef SC_BIND_CALL_H
#define SC_BIND_CALL_H

#include "bind.h"

typedef struct {
    const sc_state *s;
    sc_template *template;
    int nin, nextra;     /* operands; those in other layouts behind them */
    sc_request *request; /* made when the program must be looked for */
    sc_program *program; /* held for the call */
    uint64_t handle;
    sc_tensor in[SC_MAXOP];
    sc_core *core[SC_MAXOP];   /* of sparse operands */
    PyObject *given[SC_MAXOP]; /* SparseTensors that were given for them, borrowed; null: cores were */
    PyObject *temp[SC_MAXOP];
} call;

int sc_call_load(call *, PyObject *text, PyObject *operands);
/* Finds the program and puts operands in the layouts that it reads: what a call like it found, or by a request. */
int sc_call_resolve(call *);
int sc_call_look_up(call *);                  /* by a request */
int sc_call_ask(call *);                      /* the request of the operands as they are */
void sc_call_hold(call *, int k, PyObject *); /* until the call ends */
/* A result that is like operand k, in the order of the operand as it was given. */
int sc_call_put_back(const call *, int r, sc_tensor *, sc_sink *);
void sc_call_count(const call *); /* the products of sparse operands */
void sc_call_unload(call *);

#endif
