/* private.h: shared by the files of this folder.
 *
 * search.c   which orders and rewritings there are, and the cheapest
 * order.c    orders of loops
 * build.c    an assignment and an order of its indices -> nest
 * forms.c    ... how its right side may be written
 * sums.c     ... where its sums are taken
 * text.c     what a user asks for, and what was chosen, as text
 * fuse.c     kernels in a row over the same rows, as one
 * ahead.c    which loops prefetch rows
 * batch.c    which loops take their rows in batches
 * vector.c   ... and which a vector of entries at a time
 * factors.c  what vector loops leave as it is, first
 * across.c   which sums are taken across vectors once, not at every entry
 * widen.c    16 bit floats that vectors pick, as f32
 * parts.c    what builders share
 * product.c  one sparse operand times dense ones: the nest with register tiles
 * product_sum.c ... and how its sums are tiled and unrolled
 * panel.c    ... and with packed panels
 * often.c    layouts of an operand that is multiplied often
 * turn.c     ... and with dense operands that are transposed first
 * gather.c   rows that the entries of a sparse operand route through dense matrices
 * narrow.c   sums of 16 bit floats, which are not rounded until they are stored
 * where.c    which entries a result has that is computed dense and delivered sparse
 * cost.c     what running a nest takes; cost_access.c: its accesses
 * machine.c  what operations take */
#ifndef SC_SCHEDULE_PRIVATE_H
#define SC_SCHEDULE_PRIVATE_H

#include "schedule.h"

/* ---- parts.c ---- */
/* Whether entries of t choose rows of so many bytes by index v that have left the last cache when they are chosen again. Of
 * what was converted the same is assumed in the other order. */
bool schedule_is_far(const Prog *, const Tensor *t, int v, double row);
int64_t schedule_bucket(int64_t n);           /* n rounded up to a power of two */
int64_t schedule_extent(const Prog *, Index); /* of what an index counts: i, tiles of it or places in one */
/* All elements of what is accessed as this type; INT64_MAX where they are too many to count. */
int64_t schedule_bytes(const Prog *, const Expr *access, sc_dtype);
int source_levels(const Tensor *);
const sc_kind *source_kind(const Tensor *, int level);
Index source_index(const Tensor *, int level);
void work_add(Prog *, Tensor *w, const char *name); /* into p->tensor, under a free name */
Index index_whole(int var);
/* Writes and reads of a tensor become those of a workspace. */
void schedule_rename(Prog *, Nest *, const Tensor *, Tensor *work);
int expr_unit_var(const Expr *access); /* the index along which a tensor has stride 1, -1: none */
/* How many positions of a level a loop takes at a time that sums into registers, 0: one. Few accumulators leave the
 * adder waiting: as many positions as make four sums of a vector each, where one brings `wide` numbers side by side
 * (0: an unknown number). */
int source_unroll(const Prog *, const Tensor *, int level, int64_t wide);
bool sums_nothing(const Prog *, const Expr *sum);  /* over an index of extent 0 */
bool sums_a_vector(const Prog *, const Expr *sum); /* over no more elements than a vector has */
/* Elements of a register tile over variable v, where `slots` sums are made at a time; 0 where all of v fits. */
int schedule_register_tile(const Prog *, int v, int slots);
/* Factors that do not vary under the vector loop come first, if this is summed: the terms of a maximum or minimum are
 * computed as written, to the last bit as elsewhere (derive.c compares them). */
Expr *schedule_scalars_first(Prog *, Op reduce, Expr *, int vec);

/* ---- build.c ---- */
typedef struct {
    int n;
    Index loop[MAXORDER]; /* outermost first; i/N before i%N */
    const Expr *inner[2]; /* sums that were split off others: absent where they have no term */
} Order;
/* A result that has no format yet gets the one that this nest assembles. Null: no nest in this order; *why then says
 * the reason. */
Nest *schedule_build(Prog *, const Assign *, const Order *, char why[WHY]);

/* ---- text.c ---- */
bool wish_allows(const Prog *, const Wish *, const Nest *, char why[WHY]);
bool wish_is_begun(const Prog *, const Wish *, const Nest *); /* a gather or a block is as it was asked for */
void wish_vars_print(const Prog *, const char *word, uint32_t vars, sc_text *);
bool wish_orders(const Wish *, const Order *);
/* Order and parallel loop of a nest; where it was built in an order, that one. */
void wish_print(const Prog *, const Order *, const Nest *, sc_text *);

/* ---- forms.c ---- */
typedef struct { /* a right side, and what was split off its sums */
    Expr *rhs;
    const Expr *inner[2];
    uint32_t taken[2]; /* the indices of those sums */
} Version;
/* Up to MAXFORM ways to write it, the first as it is; returns how many. */
int forms_find(Prog *, Expr *rhs, Version *);
/* No order of loops makes a nest of it while these operands, as bits, are converted. */
bool form_is_hopeless(const Version *, uint32_t converted);

/* ---- order.c ---- */
/* Every level that cannot be entered by coordinate comes after those above it. */
bool order_follows(const Tensor *, const Order *);
sc_format order_format(const Tensor *, const Order *); /* levels in the order of the loops */
Order order_natural(const Prog *, const Order *all);   /* levels of operands from the first to the last */
bool order_legal(const Order *);                       /* blocks come before what is inside of them */
Order order_moved(const Order *, int from, int to);

/* ---- product.c ---- */
bool product_fits(Prog *, const Assign *);
/* Null: there is none; where one would be if the sparse operand were converted first, *to is the format. Adds to *why,
 * if not null. */
Nest *product_nest(Prog *, const Assign *, sc_format *to, sc_text *why);
/* The same, with a panel of rows that entries choose; null where there is none. */
Nest *schedule_packed(Prog *, const Assign *, sc_format *to, sc_text *why);

/* ---- often.c ---- */
/* The layouts worth a look for a sparse operand that is multiplied often, where `from` is one that its nest takes: at most
 * MAXLAYOUT. as_given: that is its own. */
int often_formats(const Prog *, const Assign *, const Tensor *, const sc_format *from, bool as_given,
                  sc_format *to);

/* ---- turn.c ---- */
/* As product_nest, with dense operands that are transposed first; null where none has to be. */
Nest *schedule_turned(Prog *, const Assign *, sc_format *to, sc_text *why);

/* ---- narrow.c ---- */
/* The nest, or one whose sums are not kept as 16 bit floats in memory; null where there is none. */
Nest *schedule_narrow(Prog *, const Assign *, Nest *);

/* ---- gather.c ---- */
Nest *schedule_outer(Prog *, const Assign *, sc_format *to, sc_text *why);  /* as product_nest */
Nest *schedule_gather(Prog *, const Assign *, sc_format *to, sc_text *why); /* as product_nest */

/* ---- batch.c, vector.c ---- */
bool batch_suits(const Nest *loop, uint32_t bound);  /* it will take its rows in batches */
bool vector_suits(const Nest *loop, uint32_t bound); /* it will take a vector of entries at a time */
bool vector_in_blocks(const Nest *loop); /* a parallel loop will take vectors of its coordinates */

/* ---- machine.c ---- */
/* Nanoseconds, where nothing else is said. */
typedef struct {
    double flop, load, store, update; /* a vector or a number, in the first cache */
    double factor[4];                 /* of an access that L1, L2, L3 or the memory answers */
    double across;                    /* a load that is not along the unit stride */
    double enter, dense, entry, step; /* a loop; its turn: dense, stored entry, step of a merge */
    double leave;                     /* a loop over stored entries, whose end is mispredicted */
    double meet;                      /* the same, where a vector of each is compared */
    double search, halving;           /* of a coordinate in a fibre; a halving, often mispredicted */
    double lanes;                     /* adding up the lanes of a vector */
    double bit, slot, sort;           /* insertion into a bitmap and a hash workspace; sorting, per halving */
    double clear;                     /* bytes a nanosecond */
    double append;                    /* an entry of a sparse result */
    double twice;                     /* factor: a kernel that is run to count entries, then again to fill */
    double convert;                   /* an entry of a result into the format that is asked */
    double start, team;               /* of a kernel, of threads */
} Machine;

Machine machine_of(const Prog *);
/* Bytes of the first, second or third cache, 0 to 2; of the larger ones half is left beside data that streams through. */
int64_t machine_cache(const Prog *, int level);

/* ---- cost.c ---- */
double cost_conversion(const Prog *);          /* of an entry of an operand or result into another format */
double cost_positions(Prog *, const Tensor *); /* entries stored, as far as known */
#endif
