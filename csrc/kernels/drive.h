/* drive.h: what the driver's files share. drive.c walks the plan, drive_units.c
 * says what units are and weigh, drive_lanes.c runs one KERNEL step on its
 * lanes, drive_result.c allocates sparse results, drive_append.c gives kernels
 * room that make them before their size is known. */
#ifndef SC_DRIVE_H
#define SC_DRIVE_H

#include <stdatomic.h>

#include "../plan.h"
#include "kernels.h"

/* Units of a step: positions of a level, or plain coordinates (t is null). */
typedef struct {
    const sc_tensor *t;
    int level;
    int64_t n;
    int64_t each;     /* leaves of a unit where all are alike, else 0 */
    int64_t window;   /* units that are best not divided, 0 where there are none */
    const void *snap; /* coordinates that a cut must not divide, or null */
    const void *crd;  /* coordinates that are handed out for the units, or null */
    int64_t end;      /* where the last range ends: n, or the extent of the coordinates */
} sc_units;

/* The ranges of units that the kernels of a sparse result run over. */
typedef struct {
    int64_t *cut;    /* n + 1 */
    int64_t *cursor; /* n + 1 rows of ncursor: counts, after ALLOC places */
    int32_t *order;  /* n: which chunk is taken first, and so on; appended ones are taken as they lie */
    int n, ncursor, block;
    /* where kernels append */
    bool appends;
    bool bounded;      /* so many as an entry of the kernel said, not as operands store */
    int out;           /* the result */
    int64_t most;      /* entries it has room for */
    int64_t largest;   /* entries that a chunk has, at most */
    sc_view to;        /* the arrays that kernels append to */
    void *room;        /* of the lanes, or null: the only lane appends to the result itself */
    int64_t share;     /* entries in the room of a lane */
    atomic_int placed; /* chunks whose place in the result is known */
} sc_chunks;

/* One run of a plan. */
typedef struct {
    const sc_plan *plan;
    sc_kernel *const *entry;
    sc_tensor *tensor;
    sc_alloc *alloc;
    void *const *ctx; /* of alloc, per result */
    sc_err *err;
    const int64_t *dim;
    sc_call call;
    sc_chunks chunks; /* of the results being assembled; cut is a workspace */
    int64_t slots;    /* that hash tables needed so far */
    sc_view view[SC_MAXOP];
} sc_drive;

void sc_units_init(sc_units *, const sc_step *, const sc_tensor *, const int64_t *dim);
/* Weight of the units ahead of u: their stored leaves, and a constant each. */
int64_t sc_units_before(const void *units, int64_t u);
/* Stored leaves ahead of position p of a level. */
int64_t sc_leaves_before(const sc_tensor *, int level, int64_t p);
/* The first unit from `from` on that at least target is ahead of; the number of units where there is none. */
int64_t sc_units_find(const sc_units *, int64_t from, int64_t target);
/* The nlane + 1 positions between which lanes work: as even as whole units allow. */
void sc_units_deal(const sc_units *, int64_t total, int nlane, int64_t *cut);
/* The position where a part of [begin, end) begins, shared out by weight. */
int64_t sc_units_part(const sc_units *, int64_t begin, int64_t end, int part, int parts);
/* What kernels get for a position: itself, or its coordinate. */
int64_t sc_units_edge(const sc_units *, int64_t p);
/* k / n of total, rounded down, without overflow. */
SC_INLINE int64_t sc_share(int64_t total, int k, int n) { return total / n * k + total % n * k / n; }
/* Whether no unit is known to weigh more. */
bool sc_units_within(const sc_units *, int64_t weight);
/* First position, one level below, of unit u; -1 where a unit cannot be cut. */
int64_t sc_units_child(const sc_units *, int64_t u);

/* sc_size: bytes checked against overflow, and a work estimate that cannot overflow. */
int sc_size_bytes(const sc_size *, const int64_t *dim, int64_t *out, sc_err *);
double sc_size_work(const sc_size *, const int64_t *dim);

int sc_drive_kernel(sc_drive *, const sc_step *);
/* drive_result.c */
int sc_chunks_cut(sc_drive *, const sc_step *, const sc_units *, int64_t total, int nlane);
int sc_drive_alloc(sc_drive *, const sc_step *);
/* The pos of a compressed level below `parent` positions. */
int sc_drive_pos(sc_drive *, int out, int level, int64_t parent);
/* Memory of the result; asks for huge pages. */
/* SC_EVALUE where the index type of the result does not count n entries. */
int sc_drive_countable(const sc_drive *, int out, int64_t n);
void *sc_drive_array(sc_drive *, int out, int what, int level, sc_dtype, int64_t n);
/* drive_append.c: before the kernel, whose chunks are cut; behind every chunk, in order, with the cursors as the
 * kernel left them; and when all are there. */
/* With bounds of all chunks as their last cursors: whether the kernel is to append at once, without counting. */
bool sc_append_bounded(sc_drive *, const sc_step *counts);
int sc_append_open(sc_drive *, const sc_step *, int nlane);
void sc_append_place(sc_drive *, int chunk, const sc_lane *);
int sc_append_close(sc_drive *);
void sc_append_begin(const sc_chunks *, int chunk, sc_lane *); /* the cursors that the chunk begins with */
SC_INLINE bool sc_step_bounds(const sc_step *s) { return s->most && s->entry == s->most; }
/* The step that makes what is appended. */
SC_INLINE bool sc_step_appends(const sc_drive *d, const sc_step *s)
{ return s->nbound || (s->ncursor && !s->counts && d->chunks.bounded); }

#endif
