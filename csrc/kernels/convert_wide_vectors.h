/* convert_wide_vectors.h: what the files of vectors and convert_wide.c share. */
#ifndef SC_CONVERT_WIDE_VECTORS_H
#define SC_CONVERT_WIDE_VECTORS_H

#include "convert_wide.h"

typedef struct {
    int64_t here; /* the coordinate looked at last */
    uint64_t signs;
    int n;
} sc_changing;

typedef struct {
    void *crd, *val;
    int64_t k, end;
} sc_picking;

/* What vectors of one width do; each takes what fills its vectors and says where it stopped, and plain C does the rest. */
typedef struct {
    /* the entries of [begin, end): how far it went */
    int64_t (*change)(sc_changing *, const void *crd, sc_dtype itype, int64_t begin, int64_t end,
                      uint32_t *out);
    /* how many were put; may be null */
    int (*put)(void *out, sc_dtype itype, int64_t at, int64_t base, const uint32_t *distance, int n);
    /* words of 64 whole values, those bits that are in the mask: how many are not zero */
    int64_t (*mark)(const void *val, size_t size, uint64_t mask, int64_t n, uint64_t *bits);
    /* values of 4 or 8 bytes: how many were done */
    int64_t (*pick)(sc_picking *, const void *val, size_t size, sc_dtype itype, int64_t n,
                    const uint64_t *bits);
    void (*sort)(uint64_t *key, int64_t n);
} sc_wide;

#if defined(__x86_64__)
extern const sc_wide sc_wide_32, sc_wide_64;
#endif

SC_INLINE void sc_pick_word(sc_picking *x, const void *val, size_t size, sc_dtype itype, int64_t at,
                            uint64_t word)
{
    for (; word; word &= word - 1, x->k++) {
        int64_t j = at + __builtin_ctzll(word);
        sc_index_put(x->crd, itype, x->k, j);
        sc_value_move(x->val, x->k, val, j, size);
    }
}

#endif
