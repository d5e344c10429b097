/* build.h: shared by build.c, which builds nests loop by loop, and sums.c, which says where a sum is taken. */
#ifndef SC_SCHEDULE_BUILD_H
#define SC_SCHEDULE_BUILD_H

#include "../nest/place.h"
#include "private.h"

typedef struct { /* at a place of the nest; copied at every loop */
    Place known;
    int cut, by; /* variable cut into tiles of `by` for the registers; by 0: none */
    int nloop;
    bool par; /* the parallel loop is around, or there will be none */
} State;

typedef struct {
    Prog *p;
    const Order *order;
    const Tensor *layout; /* the result whose levels follow the loops, or null */
    sc_format made;       /* the levels that `layout` has so far */
    bool dense_so_far;    /* all levels of `made` are dense */
    uint32_t covered;     /* indices along which `layout` is missing where nothing is stored */
    char *why;            /* WHY bytes */
} Build;

typedef struct {
    Tensor *t;
    int levels;   /* that loops pass: all of what is read; those that the result shares with an operand */
    bool outside; /* it is read outside of all reductions, at least once */
} Source;

typedef struct {
    int n;
    Source at[MAXTENSOR];
} Sources;

typedef struct {
    Index left[SC_MAXDIM]; /* indices that a sum depends on and no loop binds yet, in the order of loops */
    int n;
} Left;

/* ---- sums.c: what is known of tensors at a place ---- */
Sources build_sources(const Expr *); /* sparse operands and workspaces that are read */
/* The size of the blocks or tiles in which loops run over var; 0: there are none. */
int build_block(const Build *, const State *, int var);
bool build_dead_without(const Build *, const Assign *, int n, Tensor *const *);
bool build_repeats_without(const Build *, const Assign *, int var, int n, Tensor *const *t);
bool build_runs_along(const Expr *, int var); /* something is read at stride 1 along it */
bool build_shares(const Tensor *);            /* among threads */
/* ---- sums.c: where sums are taken; body: what is summed, left: what the sum depends on ---- */
Left build_left(const Build *, const State *, uint32_t vars);
bool build_may_lack_terms(const Build *, const State *, const Assign *, const Expr *body, uint32_t vars);
bool build_fits_registers(const Build *, const State *, const Assign *, const Expr *body, const Left *);
bool build_goes_straight(const Build *, const State *, const Assign *, const Expr *body, const Left *);
/* Makes a workspace of the lane sparse where only what is written to it counts: a bitmap, or a hash table where a
 * bitmap would be large. */
void build_choose_kind(const Build *, const Assign *use, Tensor *w, const Expr *body, const Left *);
bool build_has_terms(const Build *, const State *, const Expr *reduce, const Assign *use, const Tensor *w,
                     const Left *);
/* The right side that reads a sum from its workspace, for a result like an operand: with stored(operand) as a factor
 * where nothing else restricts it to the entries of the operand. Null where that cannot be said. */
Expr *build_at_entries(const Build *, const Assign *, const Left *, Expr *rhs);
/* The factors of a dense sum that are known where its loops begin, to multiply it once behind them; *rest: the others.
 * Null where there are none, or that saves nothing. */
Expr *build_known_factors(const Build *, const State *, const Expr *reduce, const Left *, Expr **rest);
#endif
