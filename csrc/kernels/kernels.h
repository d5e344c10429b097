/* kernels.h: what the files of kernels/ share.
 *
 * Work is cut into lanes. How many lanes is decided once, from the amount of
 * work, before any thread starts; which thread then runs which lane never
 * changes a result. A body that needs several passes keeps its cut between
 * them, because the cut depends on nothing but (n, number of lanes). */
#ifndef SC_KERNELS_H
#define SC_KERNELS_H

#include "../base.h"

#define SC_MAXLANE 256
#ifndef SC_LANE_WORK
#define SC_LANE_WORK 16384 /* multiply-adds, or elements moved, that pay for a lane */
#endif
#define SC_LANE_TEAM 32 /* in a team of so many threads; of a larger one all are woken and waited for */
#define SC_INLINE static inline __attribute__((always_inline))

/* ---- team.c ---- */
/* Lanes worth starting for this much work, at least 1. */
int sc_team_lanes(double work);
/* body(arg, lane, begin, end) for n items cut evenly into nlane ranges. */
typedef void sc_range(void *arg, int lane, int64_t begin, int64_t end);
void sc_parallel_ranges(int nlane, int64_t n, sc_range *, void *arg);
/* The same for long work, of so many steps in all: the range of a lane comes in pieces, one after the other, and between
 * them the caller's thread asks whether to go on. SC_ESTOP: some were left out. */
int sc_parallel_pieces(int nlane, double work, int64_t n, sc_range *, void *arg)
    __attribute__((warn_unused_result));
/* The least bad item of n, or -1, where body says the first one from begin to end, or -1; of so much work. */
typedef int64_t sc_bad_item(const void *arg, int64_t begin, int64_t end);
int sc_first_bad(const void *arg, int64_t n, double work, sc_bad_item *, int64_t *bad, sc_err *);
/* Where lane `lane` of nlane begins among n items. */
SC_INLINE int64_t sc_split_even(int64_t n, int lane, int nlane)
{
    int64_t each = n / nlane, rest = n % nlane;
    return each * lane + sc_min(lane, rest);
}
/* The first u in [0, n] whose weight before it reaches target. before(ctx, u)
 * is the weight of all units ahead of u: monotone, before(ctx, 0) = 0. */
typedef int64_t sc_before(const void *ctx, int64_t u);
int64_t sc_split_find(sc_before *, const void *ctx, int64_t n, int64_t target);
/* The last p in [0, n) with pos[p] <= q: the fibre that holds position q < pos[n]. */
int64_t sc_split_fibre(const void *pos, sc_dtype itype, int64_t n, int64_t q);
/* Where lane `lane` of nlane begins among n rows that are cut by their entries. */
int64_t sc_split_rows(const void *pos, sc_dtype itype, int64_t n, int lane, int nlane);

/* ---- stop.c ---- */
typedef struct {
    int64_t next; /* when to ask again; 0: never asked */
} sc_pulse;
/* Whether the call should end; cheap, asks 25 times a second, for the first time after that long. For the thread that was
 * called alone, which has done this share of its part. */
bool sc_pulse_stopped(sc_pulse *, double share);

/* ---- progress.c ---- */
/* Around what is to be told of; within another one nothing. */
void sc_progress_begin(void);
void sc_progress_end(void);
/* Tells, if it is time to. Whether the call should end. */
bool sc_progress_tell(int64_t now, double share);

/* ---- fill.c ---- */
/* n elements of dtype := value, in parallel; value saturates in integers. */
void sc_fill(void *p, sc_dtype dtype, int64_t n, double value);
/* The same of a dense tensor, its elements where they are. */
void sc_fill_view(const sc_view *, int ndim, sc_dtype dtype, double value);
/* The same as the first on the calling thread. */
void sc_fill_serial(void *p, sc_dtype dtype, int64_t n, double value);
/* Asks for huge pages under memory about to be written, if it is large. */
#define SC_HUGE_PAGE ((size_t)2 << 20)
void sc_fill_advise(void *p, size_t size);

/* ---- levels and index arrays ---- */
/* Coordinates that a level can hold; its view's size is the same except for ell. */
SC_INLINE int64_t sc_level_extent(const sc_levelspec *s, const int64_t *dim)
{
    if (s->part == SC_MOD) return s->block;
    return s->part == SC_DIV ? dim[s->dim] / s->block + (dim[s->dim] % s->block != 0) : dim[s->dim];
}
SC_INLINE int64_t sc_level_size(const sc_levelspec *s, const int64_t *dim)
{ return sc_kind_of(s)->padded ? s->width : sc_level_extent(s, dim); }

/* The first position in [lo, hi) whose coordinate is not less; in few, counting is faster than a search. */
SC_INLINE int64_t sc_seek(const void *crd, sc_dtype itype, int64_t lo, int64_t hi, int64_t coord)
{
    while (hi - lo > 16) {
        const int64_t mid = lo + (hi - lo) / 2;
        if (sc_index(crd, itype, mid) < coord)
            lo = mid + 1;
        else
            hi = mid;
    }
    int64_t n = 0;
    for (int64_t p = lo; p < hi; p++) n += sc_index(crd, itype, p) < coord;
    return lo + n;
}

/* Whether all rows are there, each a list of entries in order. */
SC_INLINE bool sc_is_csr(const sc_tensor *t)
{
    const sc_levelspec *s = t->format.level;
    return t->format.ndim == 2 && t->format.nlevel == 2 && !sc_kind_of(&s[0])->crd &&
           sc_kind_of(&s[1])->pos && s[1].unique && s[0].part == SC_WHOLE && s[1].part == SC_WHOLE;
}

/* validate_sell.c: whether a level of sorted slices below so many positions is well formed. */
int sc_validate_sell(const sc_tensor *, int level, int64_t above, sc_err *);

/* One of the steps from k * step on, each k another one of its own: what repeats is not mistaken for all. */
SC_INLINE int64_t sc_sample(int64_t k, int64_t step)
{
    const uint64_t mixed = (uint64_t)(k + 1) * 0x9e3779b97f4a7c15u >> 33;
    return k * step + (int64_t)(mixed % (uint64_t)step);
}

SC_INLINE void sc_index_put(void *p, sc_dtype t, int64_t i, int64_t v)
{
    if (t == SC_I64)
        ((int64_t *)p)[i] = v;
    else
        ((int32_t *)p)[i] = (int32_t)v;
}

/* Values as bits, whatever their type. */
typedef uint16_t __attribute__((may_alias)) sc_bits16;
typedef uint32_t __attribute__((may_alias)) sc_bits32;
typedef uint64_t __attribute__((may_alias)) sc_bits64;

/* Copies one value of `size` bytes; with a constant size it is one load and one store. */
SC_INLINE void sc_value_move(void *to, int64_t i, const void *from, int64_t j, size_t size)
{
    switch (size) {
    case 1: ((uint8_t *)to)[i] = ((const uint8_t *)from)[j]; break;
    case 2: ((sc_bits16 *)to)[i] = ((const sc_bits16 *)from)[j]; break;
    case 4: ((sc_bits32 *)to)[i] = ((const sc_bits32 *)from)[j]; break;
    default: ((sc_bits64 *)to)[i] = ((const sc_bits64 *)from)[j]; break;
    }
}

/* CALL(constant) for the index type or value size at hand, so that an inlined
 * body is compiled once for each. */
#define SC_BY_INDEX(itype, CALL, ...)                                                                        \
    do {                                                                                                     \
        if ((itype) == SC_I64)                                                                               \
            CALL(SC_I64, ##__VA_ARGS__);                                                                     \
        else                                                                                                 \
            CALL(SC_I32, ##__VA_ARGS__);                                                                     \
    } while (0)
#define SC_BY_SIZE(size, CALL)                                                                               \
    do {                                                                                                     \
        switch (size) {                                                                                      \
        case 1: CALL(1); break;                                                                              \
        case 2: CALL(2); break;                                                                              \
        case 4: CALL(4); break;                                                                              \
        default: CALL(8); break;                                                                             \
        }                                                                                                    \
    } while (0)
#define SC_BY_INDEX_AND_SIZE(itype, size, CALL)                                                              \
    do {                                                                                                     \
        switch (size) {                                                                                      \
        case 1: SC_BY_INDEX(itype, CALL, 1); break;                                                          \
        case 2: SC_BY_INDEX(itype, CALL, 2); break;                                                          \
        case 4: SC_BY_INDEX(itype, CALL, 4); break;                                                          \
        default: SC_BY_INDEX(itype, CALL, 8); break;                                                         \
        }                                                                                                    \
    } while (0)

#endif
