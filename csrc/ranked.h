/* ranked.h: the order of the numbers along the rows or the columns of a csr matrix, where a missing one is zero. */
#ifndef SC_RANKED_H
#define SC_RANKED_H

#include "scorch.h"

typedef struct {
    sc_dtype itype, dtype; /* SC_F32, SC_F64, SC_I32 or SC_I64 */
    const void *pos, *crd; /* coordinates ascend in each row, each once */
    const void *val;
    int64_t rows, columns;
    bool smallest; /* the order begins with the smallest number */
    int64_t *at;   /* of the result: columns, or rows of columns */
    void *out;     /* the numbers there */
} sc_ranked;

/* Writes at and out [rows, high - low], what is at the places from low to high in the order of each row, 0 <= low <= high <=
 * columns. NaN is larger than any number; of equal ones, zeros among them, the first comes first. */
int sc_ranked_rows(const sc_ranked *, int64_t low, int64_t high, sc_err *);
/* Writes at and out, [rows] or [columns], the first in the order along each row, or each column, which has one at
 * least; but where there is NaN, NaN. Columns: of no more rows than SC_RANKED_ROWS. */
#define SC_RANKED_ROWS ((int64_t)UINT32_MAX)
void sc_extreme_rows(const sc_ranked *);
int sc_extreme_columns(const sc_ranked *, sc_err *);

#endif
