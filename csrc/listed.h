/* listed.h: a sparse matrix of bfloat16 or float32, dense(0), compressed(1) in either order of its dimensions, lists rows of dense
 * tensors, of their first dimension: each entry that of its coordinate, which its value scales. */
#ifndef SC_LISTED_H
#define SC_LISTED_H

#include "base.h"

/* Its entries as slabs that list coordinates (slabs.h). */
sc_tensor sc_listed_rows(const sc_tensor *matrix);
/* Row k of these, one for each entry, *= the value of entry k. */
void sc_listed_scale(const sc_tensor *matrix, const sc_view *rows);
/* Each row of the result := the sum in float32 of the rows of the entries that list it. False: memory ran out. */
bool sc_listed_sum(const sc_tensor *matrix, const sc_view *rows, const sc_view *out, int ndim);
/* The first row from k on, before `end`, that holds an infinity or NaN of bfloat16; else `end`. */
int64_t sc_listed_infinite(const sc_view *rows, int64_t k, int64_t end);
/* A dense tensor := 0. */
void sc_listed_clear(const sc_view *, int ndim, sc_dtype);

#endif
