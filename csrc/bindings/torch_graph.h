/* torch_graph.h: a call that a graph makes, whoever hands it over. */
#ifndef SC_BIND_TORCH_GRAPH_H
#define SC_BIND_TORCH_GRAPH_H

#include "torch_call.h"

/* What is known of the bytes of an operand tensor. */
typedef struct {
    sc_digest digest;
    bool known;
} sc_bytes;

typedef struct {
    const char *text; /* the program string */
    size_t length, noperand, nsize;
    sc_tensor *operand; /* the operand tensors, looked at */
    int64_t *size;      /* extents of sparse operands */
    sc_bytes *bytes;    /* of the operand tensors; what is found is noted here */
    /* Memory for the one dense result, whatever is inferred; null memory: there is none. No such function: `give` gets
     * the arrays of all results, in order, and owns those for which it returns 0. */
    void *(*room)(void *ctx, sc_dtype, int ndim, const int64_t *dim);
    int (*give)(void *ctx, AtenTensorHandle);
    void *ctx;
} sc_graph_call;
/* Room for so many operands and sizes, which sc_work_give(call.operand) gives back; false: there is none. */
bool sc_graph_open(sc_graph_call *, size_t noperand, size_t nsize);
int sc_graph_run(const sc_graph_call *, sc_err *);

#endif
