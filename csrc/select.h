/* select.h: rows and columns of a csr matrix, as the library offers them. */
#ifndef SC_SELECT_H
#define SC_SELECT_H

#include "scorch.h"

/* Which coordinates of a dimension are taken, in the order of the result: n of them, list[i] where there is a list, else
 * first + i * step, step > 0. A list may repeat. */
typedef struct {
    int64_t n;
    const int64_t *list;
    int64_t first, step;
} sc_taken;

typedef struct {
    sc_dtype itype;
    const void *pos, *crd, *val; /* coordinates ascend in each row */
    size_t size;                 /* bytes of a value: 1, 2, 4 or 8 */
    int64_t rows, columns;
    sc_taken row, column;
    bool every_column; /* `column` does not count */
    void *out_pos;     /* [row.n + 1], of itype */
    void *out_crd, *out_val;
    struct sc_columns *list; /* the work of the functions below; null at first */
} sc_selection;

/* Writes out_pos, and how many entries there will be to *n. SC_EVALUE where itype cannot count them, or where a list
 * holds what is no coordinate. */
int sc_select_count(sc_selection *, int64_t *n, sc_err *);
/* Writes out_crd, ascending in each row, and out_val, which have room for so many. */
int sc_select_fill(const sc_selection *, sc_err *);
void sc_select_close(sc_selection *);

/* Entries that are named one by one. */
typedef struct {
    sc_dtype itype;
    const void *pos, *crd; /* coordinates ascend in each row */
    int64_t rows, n;
    const int64_t *row, *column; /* [n] */
    int64_t *place;              /* [n], of the entry at this row and column, -1: there is none */
} sc_sought;

/* Writes place. SC_EVALUE where a row is none. */
int sc_select_find(const sc_sought *, sc_err *);

#endif
