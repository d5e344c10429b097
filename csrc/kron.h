/* kron.h: the Kronecker product of two csr matrices, as the library offers it. */
#ifndef SC_KRON_H
#define SC_KRON_H

#include "scorch.h"

typedef struct {
    const void *pos, *crd, *val; /* of the index type and dtype of all */
    int64_t rows, columns;
} sc_factor;

typedef struct {
    sc_dtype itype, dtype; /* a type that is computed in, or of 16 bits */
    sc_factor a, b;
    void *pos, *crd,
        *val; /* of the result, room for a.rows * b.rows + 1, and the products of their entries */
} sc_kron;

/* Row (i, k) has a[i, j] * b[k, l] at column (j, l). */
void sc_kron_make(const sc_kron *);

#endif
