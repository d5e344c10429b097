/* product.h: shared by product.c, product_sum.c and panel.c. */
#ifndef SC_SCHEDULE_PRODUCT_H
#define SC_SCHEDULE_PRODUCT_H

#include "private.h"

typedef struct {
    Index ix;
    Tensor *in;
    LoopKind kind;
    int unroll;
} ProductStep;

typedef struct {
    Prog *p;
    Expr *lhs, *rhs;
    const Expr *sum;            /* the O_REDUCE node, or null */
    Expr *product;              /* what is summed, or the right side */
    Tensor *a;                  /* the sparse operand, or null */
    uint32_t kept, stored, all; /* variables of the result, of the sparse operand, of both sides */
    int vec;                    /* the vector variable, -1: none */
    int tile;                   /* of the vector variable, 0: none */
    int nmain;                  /* levels of a in front of its dense blocks */
    int last_kept;              /* last of those whose variable is kept, -1: none */
    int rows[SC_MAXLEVEL];      /* of a kept level inside dense blocks: rows summed at a time */
    bool owned;
    int cut; /* a is stored in panels of so many coordinates of what is summed, one after the other; 0: not */
    Expr *packed;    /* a dense factor that is packed first */
    Tensor *panel;   /* the workspace that it is packed into, a tile of the vector at a time */
    Tensor *through; /* the workspace that takes the sums instead of the result */
    bool whole;      /* it takes the values of the result, which are then only copied */
} Sched;

/* ---- product_sum.c ---- */
int product_first_loop(Sched *,
                       ProductStep *); /* over the result, where nothing is sparse; the number of steps */
/* Adds loops over levels of the sparse operand behind n steps. */
int product_levels(Sched *, int from, int to, ProductStep *, int n);
int product_dense_loops(Sched *, bool kept, ProductStep *, int n); /* over what it has no level of */
int product_block_loops(Sched *, ProductStep *, int n);            /* over its dense blocks */
void product_tile(Sched *, int slots); /* chooses it, for so many sums at a time */
Nest *product_tiled(Sched *, Nest *body);
Nest *product_vec_loop(Sched *, Nest *body);
Nest *product_write(Sched *, Expr *sum, Op store);
Tensor *product_accumulator(Sched *);
int product_step(ProductStep *, int n, Index, Tensor *, LoopKind);
Nest *product_wrap(Sched *, const ProductStep *, int n, Nest *body);
bool product_over_words(
    const Sched *); /* what is summed are words of bits, and all that is read lies along them */
Nest *product_words(Sched *);
/* Loops down to the last level that the result keeps, then the sum in registers. */
Nest *product_rows(Sched *);
/* work c { c += product over the levels from `first` } then { target op= c } */
Nest *product_sum(Sched *, int first, Op store);
Index product_vec(const Sched *); /* the vector, or its part inside a tile */
/* Whether the target adds products of entries and numbers of x two at a time. */
bool product_dots(const Sched *, const Expr *x);
int product_slots(Sched *); /* sums of a dense block that are made at a time */

/* ---- panel.c ---- */
/* N, where a is stored dense(j/N), dense levels of the result, compressed(j%N); else 0. */
int panel_cut(const Sched *);
/* Whether a dense factor is packed; chooses the vector, its tile and what is packed. Where the vector runs at
 * stride 1, and a is not cut, only if asked. */
bool panel_choose(Sched *, bool ask);
bool panel_straight(const Sched *); /* what is packed runs along the vector */
Nest *panel_nest(Sched *);
Nest *panel_cuts(Sched *, Nest *); /* around what adds up one cut */
#endif
