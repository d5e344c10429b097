/* topk.h: the k largest numbers of every row, as the library offers them. */
#ifndef SC_TOPK_H
#define SC_TOPK_H

#include "scorch.h"

typedef struct {
    sc_dtype dtype;           /* SC_F32 or SC_F64 */
    const void *x;            /* [rows, columns], row-major */
    int64_t rows, columns, k; /* 0 <= k <= columns */
    bool smallest;            /* the k smallest ones instead */
    sc_dtype itype;
    void *crd, *val; /* [rows, k] the columns, ascending in each row, and the numbers there */
} sc_topk;

/* Writes crd and val. NaN is larger than any number, and of equal ones those of the first columns are taken. */
int sc_topk_rows(const sc_topk *, sc_err *);

#endif
