/* oracle.h: the meaning of an expression, for tests.
 *
 * Evaluates a checked program over coordinates, in double precision, without
 * nests, levels or statements: what every other way to run is compared with. */
#ifndef SC_ORACLE_H
#define SC_ORACLE_H

#include "../compiler/nest/nest.h"

/* Elements of result r: the product of its extents. */
int64_t sc_oracle_size(const Prog *, int r);

/* requires: check(p); `in` holds the operands of p, complete and valid, with the extents
 * that p was checked for. out[r] takes the elements of result r in row-major order; has[r], where has and
 * has[r] are not null, whether each is present: not the sum of nothing but missing terms. */
int sc_oracle_run(const Prog *, const sc_tensor *in, double *const *out, uint8_t *const *has, sc_err *);
#endif
