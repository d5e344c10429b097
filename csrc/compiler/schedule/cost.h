/* cost.h: shared by cost.c and cost_access.c. */
#ifndef SC_SCHEDULE_COST_H
#define SC_SCHEDULE_COST_H
#include "../nest/place.h"
#include "private.h"

typedef struct {
    Index ix;
    double trips;     /* how often its body runs, in all */
    bool gathered;    /* its coordinates are those of stored entries, gone through again and again */
    bool vec, cut;    /* cut: into tiles of positions, that a loop inside runs over */
    double turns;     /* of the body, each time the loop is reached */
    const Tensor *in; /* whose entries it runs over, or null */
    double side;      /* turns, where the loop is unrolled and they stand side by side; else 1 */
    double lanes;     /* turns that are computed at once, though what they read comes one by one; else 1 */
    bool batch;       /* its rows are summed in batches */
    bool words;       /* lanes of words of bits */
} Loop;

typedef struct { /* at a place of the nest; copied at every loop */
    double trips;
    int nloop;
    Loop loop[MAXLOOP];
    Place known;
    int tile[MAXTENSOR];     /* positions in a tile of the next level, 0: no tile around */
    double tilt[SC_MAXVAR];  /* of an index: the spreads of tensors whose entries led to its coordinate */
    uint32_t led;            /* indices that have such entries */
    uint8_t with[SC_MAXVAR]; /* 1 + the index that decides this one, of the same entry; 0: none */
} Spot;

typedef struct {
    Prog *p;
    Machine m;
    double time;
    bool turns;    /* squares are copied, through registers */
    double shared; /* of it, inside the parallel loop */
    bool assembles;
    int gathers;               /* workspaces that store what is written to them */
    double written[MAXTENSOR]; /* workspaces: how often written, in all */
    double entries[MAXTENSOR]; /* workspaces: entries in one filling */
} Cost;

static inline double extent(const Cost *c, Index ix) { return (double)schedule_extent(c->p, ix); }

static inline double lanes(const Cost *c) { return c->p->vector_bytes / (double)sc_dtype_size(c->p->type); }

/* ---- cost_access.c ---- */
bool cost_depends(const Spot *, const Expr *access, int var);
/* How many blocks of the index the loops around have cut apart: each visits its share of the entries. */
double cost_blocks_around(const Cost *, const Spot *, Index);
double cost_work_bytes(const Cost *, const Tensor *work);
/* What an access in a region of so many bytes costs, in accesses to the first cache. */
double cost_by_size(const Cost *, double bytes);
/* Of all that there are; kind: what one costs in the first cache. */
double cost_access(const Cost *, const Spot *, const Expr *, bool read, double kind);
#endif
