/* base.h: arena, text buffers, checked arithmetic and the error path. */
#ifndef SC_BASE_H
#define SC_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scorch.h"

#if defined(__GNUC__)
#define SC_PRINTF(a, b) __attribute__((format(printf, a, b)))
#else
#define SC_PRINTF(a, b)
#endif

#define SC_LEN(a) ((int)(sizeof(a) / sizeof((a)[0])))

/* Fills *e unless it already holds an error, and returns its code. */
int sc_error(sc_err *e, int code, const char *fmt, ...) SC_PRINTF(3, 4);
int64_t sc_now(void); /* nanoseconds of a clock that only goes forward */

/* ---- arena: zeroed memory, freed all at once ---- */
typedef struct sc_chunk sc_chunk;
typedef struct {
    sc_chunk *head;
    size_t used, total;       /* bytes of the current chunk; bytes taken in all */
    void (*nomem)(void *ctx); /* called when memory runs out; must not return */
    void *ctx;
} sc_arena;
void *sc_arena_get(sc_arena *, size_t size); /* zeroed, 16-byte aligned */
void *sc_arena_copy(sc_arena *, const void *, size_t size);
char *sc_arena_printf(sc_arena *, const char *fmt, ...) SC_PRINTF(2, 3);
void sc_arena_free(sc_arena *);

/* Tests make n requests for memory fail, the first-th from now on (1 is the next) and those behind it; n 0: none.
 * Returns how many have failed since the call before. Every malloc of the library goes through the four below; what
 * gets its memory elsewhere asks sc_alloc_fails first.
 *
 * SC_PLAIN_MEMORY, defined by builds with sanitizers: the pieces of an arena and the blocks that work.c would keep are
 * allocations of their own, of their exact size, freed when they are given back, and new memory is poisoned. So
 * overruns, uses after the end and values that nobody set are seen. And what others get around, a candidate that turns
 * out to be ill, is an error there. */
#define SC_POISON 0xFF /* no number, and no position */
#if defined(SC_PLAIN_MEMORY)
#define SC_STRICT true
#else
#define SC_STRICT false
#endif
long sc_fail_alloc(long first, long n);
bool sc_alloc_fails(void);
bool sc_fits(double bytes); /* whether the system has so much memory left */
void *sc_malloc(size_t size);
void *sc_malloc_aligned(size_t align, size_t size); /* align: a power of two */
void *sc_zalloc(size_t size);                       /* zeroed */
void *sc_realloc(void *, size_t size);

/* ---- growing text ---- */
typedef struct {
    char *s; /* always terminated once something was written */
    size_t n, cap;
    bool failed;
    sc_arena *arena; /* where it lies, and is never freed; null: in memory of its own */
} sc_text;
void sc_text_add(sc_text *, const char *fmt, ...) SC_PRINTF(2, 3);
void sc_text_addn(sc_text *, const char *s, size_t n);
void sc_text_free(sc_text *);

/* ---- of tuning, as text ---- */
/* The schedule that is tried is kept, for this process and those to come, or why not for those; gain 0: none is. */
int sc_tuned_keep(const sc_request *, double gain, sc_text *unsaved, sc_err *);
int sc_tuned_class(const sc_request *, sc_text *, sc_err *); /* what a choice holds for, a line a fact */
void sc_tuned_schedule(const sc_request *, sc_text *);       /* what is used for it, or nothing */
void sc_tuned_said(const sc_request *, sc_text *);           /* the same, as explain begins with it */
int sc_tuned_list(sc_text *, sc_err *);                      /* name and file of each, a 0 behind it */
/* A stage of a request compiled as it says, without code. */
int sc_request_text(const sc_request *, const char *stage, sc_text *, sc_err *);

/* ---- kinds of levels (format.c): the one table of what they are ---- */
typedef struct {
    const char *name;
    bool crd;    /* stores coordinates; a kind that does not has all of them, found by arithmetic */
    bool pos;    /* stores where the positions below one above begin; results are assembled in such levels */
    bool one;    /* has one position below one above: it alone may follow a level whose coordinates repeat */
    bool padded; /* some positions have no entry; `width` is part of the format */
    /* `width` positions above, a slice, share a list of diagonals: coordinate less position above. Each diagonal has a
     * position for every row of the slice, and bits that say which of them are entries: crd holds both, pos where the
     * diagonals of a slice begin. Else a padded kind has `width` positions below one above, those without an entry at
     * the end, coordinate -1. */
    bool sliced;
    /* The rows of a slice have lengths in common, no diagonals: each `block` positions above, a window, are put in order by
     * how many entries they have, most first, and sliced in that order; a slice has as many columns of slots as its first
     * row has entries. Of every window pos holds where the columns of its slices begin and where the last one's end, then
     * the place in that order of each of its rows; the last window is filled up by rows without entries. crd holds, for
     * every column, bits that say which rows of the slice have it, the first ones, and a coordinate for each row, 0 for the
     * others. */
    bool sorted;
    /* A bit for every coordinate, in words of SC_WORD bits: the positions below one above are those of its set bits, in
     * order. crd holds the words, pos where the positions of each word begin. */
    bool words;
    bool repeats; /* coordinates may be stored more than once: nonunique */
    /* All coordinates, of each of the positions that a compressed level above has for a fibre: first those of coordinate
     * 0, side by side, then those of coordinate 1. So rows of blocks lie as the rows of csr do. */
    bool planar;
} sc_kind;
#define SC_WORD 32
#define SC_NKIND (SC_SELL + 1)
extern const sc_kind sc_kinds[SC_NKIND];
bool sc_slices_fit(const sc_levelspec *);  /* so many rows can be a slice */
#define SC_WINDOW 4096                     /* rows that can be sorted together, at most */
bool sc_window_fits(const sc_levelspec *); /* so many are, where any are */
static inline const sc_kind *sc_kind_of(const sc_levelspec *s) { return &sc_kinds[s->kind]; }
/* Entries are found by walking over all of a position: nothing is looked up, cut or merged. */
static inline bool sc_kind_walked(const sc_kind *is) { return is->sliced || is->words; }
static inline bool sc_kind_has_pos(const sc_kind *is) { return is->pos || sc_kind_walked(is); }
/* Elements of the arrays of a level, for so many positions above it and of its own. */
static inline int64_t sc_slices(const sc_levelspec *s, int64_t above)
{ return above / s->width + (above % s->width != 0); }
/* Of sorted rows: windows, and the elements of pos that each has. */
static inline int64_t sc_windows(const sc_levelspec *s, int64_t above)
{ return above / s->block + (above % s->block != 0); }
static inline int64_t sc_window_step(const sc_levelspec *s) { return s->block / s->width + 1 + s->block; }
static inline int64_t sc_words(int64_t size) { return size / SC_WORD + (size % SC_WORD != 0); }
static inline int64_t sc_pos_length(const sc_levelspec *s, int64_t size, int64_t above)
{
    const sc_kind *is = sc_kind_of(s);
    if (is->sorted) return sc_windows(s, above) * sc_window_step(s);
    return (is->sliced ? sc_slices(s, above) : is->words ? above * sc_words(size) : above) + 1;
}
static inline int64_t sc_crd_length(const sc_levelspec *s, int64_t size, int64_t above, int64_t npos)
{
    const sc_kind *is = sc_kind_of(s);
    if (is->sorted) return npos / s->width * (s->width + 1);
    return is->sliced ? npos / s->width * 2 : is->words ? above * sc_words(size) : npos;
}

/* ---- checked size arithmetic: false on overflow ---- */
bool sc_mul(int64_t a, int64_t b, int64_t *out);
bool sc_add(int64_t a, int64_t b, int64_t *out);

static inline bool sc_digest_equal(sc_digest a, sc_digest b) { return a.low == b.low && a.high == b.high; }
static inline int64_t sc_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t sc_max(int64_t a, int64_t b) { return a > b ? a : b; }

uint8_t sc_log2_up(int64_t n); /* statistics: log2, rounded up, at least 1; 0 stands for unknown */

/* The first operand with the structure of operand k. */
static inline int sc_request_root(const sc_request *rq, int k)
{ return rq->in[k].twin ? rq->in[k].twin - 1 : k; }

/* SHA-256, as 64 hexadecimal digits. */
void sc_sha256(const void *data, size_t n, char hex[65]);

/* Reads element i of an index array. */
static inline int64_t sc_index(const void *p, sc_dtype t, int64_t i)
{
    return t == SC_I64   ? ((const int64_t *)p)[i]
           : t == SC_I32 ? ((const int32_t *)p)[i]
                         : ((const int16_t *)p)[i];
}
/* Word w of a level of bit masks. */
static inline uint32_t sc_word(const void *crd, sc_dtype t, int64_t w)
{ return (uint32_t)sc_index(crd, t, w); }
/* ---- numbers (dtype.c) ---- */
float sc_half_get(sc_dtype, uint16_t);
uint16_t sc_half_put(sc_dtype, float);                   /* to nearest, ties to even; NaN stays NaN */
double sc_number_get(sc_dtype, const void *, int64_t i); /* element i; i64 beyond 2^53 is rounded */
void sc_number_put(sc_dtype, void *, int64_t i, double); /* integers saturate, NaN becomes 0 */
double sc_number_as(sc_dtype, double);                   /* what becomes of it in an array of the type */
sc_dtype sc_dtype_promote(sc_dtype, sc_dtype);
sc_dtype sc_dtype_computed(sc_dtype); /* the type that sums of such numbers are made in */

#endif
