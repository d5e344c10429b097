/* select.h: rows and columns of a csr matrix, as the library offers them. */
#ifndef SC_SELECT_H
#define SC_SELECT_H

#include "scorch.h"

/* Which coordinates of a dimension are taken, in the order of the result: n of them, list[i] where there is a list, else
 * first + i * step, where a step below zero is for rows only. A list may repeat. */
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
    int triangle; /* nor where this is not 0: -1 takes columns up to row + diagonal, 1 those from there on */
    int64_t diagonal; /* from -rows to columns */
    void *out_pos;    /* [row.n + 1], of itype */
    void *out_crd, *out_val;
    struct sc_columns *list; /* the work of the functions below; null at first */
    int64_t stored;          /* entries of the matrix */
} sc_selection;

/* Writes out_pos, and how many entries there will be to *n. SC_EVALUE where itype cannot count them, or where a list
 * holds what is no coordinate. */
int sc_select_count(sc_selection *, int64_t *n, sc_err *);
/* Writes out_crd, ascending in each row, and out_val, which have room for so many. */
int sc_select_fill(const sc_selection *, sc_err *);
void sc_select_close(sc_selection *);

/* Entries that are named one by one, or those of a diagonal. */
typedef struct {
    sc_dtype itype;
    const void *pos, *crd; /* coordinates ascend in each row */
    int64_t rows, n;
    const int64_t *row, *column; /* [n], or null: the diagonal from here on: */
    int64_t first_row, first_column;
    /* [n], of the entry at this row and column, -1: there is none, of a diagonal -1 less the place that it would come
     * before; or null, and */
    int64_t *place;
    const void *val;
    size_t size; /* bytes of a value */
    void *out;   /* [n], the value there, or zero */
} sc_sought;

/* Writes place, or out. SC_EVALUE where a row is none. */
int sc_select_find(const sc_sought *, sc_err *);

/* ---- marked.c ---- */
/* How many of n bytes are not 0; which: as many. */
int64_t sc_marked_count(const uint8_t *mask, int64_t n);
void sc_marked_list(const uint8_t *mask, int64_t n, int64_t count, int64_t *list);

/* ---- merged.c ---- */
typedef struct {
    const int64_t *key; /* [n], ascending, each once */
    int64_t n, *place;  /* [n] */
} sc_keys;

/* Writes where the keys of both are among those of either; how many there are together. */
int64_t sc_merge(const sc_keys *, const sc_keys *);

/* ---- reshaped.c ---- */
/* A matrix of columns and its entries in another shape with as many places, neither without any. */
typedef struct {
    sc_dtype itype;
    const void *pos, *crd; /* coordinates ascend in each row */
    int64_t rows, columns, new_rows, new_columns;
    void *out_pos, *out_crd; /* [new_rows + 1], and as many as crd */
} sc_reshaped;
void sc_reshape(const sc_reshaped *);

/* ---- joined.c ---- */
typedef struct {
    const void *pos, *crd, *val;
    int64_t rows, first; /* column 0 is column `first` of the result */
} sc_side;

/* Matrices of as many rows one beside the other, or one below the other. */
typedef struct {
    sc_dtype itype;     /* of all of them */
    size_t size;        /* bytes of a value: 1, 2, 4 or 8 */
    bool below, valued; /* not valued: structures alone */
    const sc_side *side;
    int n;
    int64_t rows;  /* of the result */
    void *out_pos; /* [rows + 1] */
    void *out_crd, *out_val;
} sc_joined;

/* Writes out_pos, and how many entries there will be to *n. SC_EVALUE where itype cannot count them. */
int sc_joined_count(sc_joined *, int64_t *n, sc_err *);
/* Writes out_crd, and out_val where there are values; they have room for so many. */
void sc_joined_fill(const sc_joined *);

#endif
