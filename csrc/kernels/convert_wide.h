/* convert_wide.h: inner loops of conversions that gain by vectors with masks.
 *
 * Each has a version in plain C, one for AVX2 and one for AVX-512, of which the
 * widest that the CPU has is taken. All give the same. */
#ifndef SC_CONVERT_WIDE_H
#define SC_CONVERT_WIDE_H

#include "kernels.h"

#define SC_WIDE_BLOCK 512
#define SC_WIDE_SORT 32

/* The entries of [begin, end), at most SC_WIDE_BLOCK, whose coordinate is not that of the next one, as distances from
 * begin in out, which has room for 16 more; their number, or -1 where a coordinate falls or is not in [0, extent).
 * The entry at `end` is looked at. */
int sc_wide_changes(const void *crd, sc_dtype itype, int64_t extent, int64_t begin, int64_t end,
                    uint32_t *out);
/* out[at + k] := base + distance[k] for n indices. */
void sc_wide_put(void *out, sc_dtype itype, int64_t at, int64_t base, const uint32_t *distance, int n);
/* How many of n values are not zero (-0.0 is); bit j of word w tells it of value 64 w + j. */
int64_t sc_wide_mark(const void *val, sc_dtype, int64_t n, uint64_t *bits);
/* Writes the numbers and values of the n that are marked to crd and out, from place k on and nowhere from `end` on;
 * returns the next place. */
int64_t sc_wide_pick(const void *val, size_t size, int64_t n, const uint64_t *bits, sc_dtype itype, void *crd,
                     void *out, int64_t k, int64_t end);
/* Sorts n keys, at most SC_WIDE_SORT, no two alike. */
void sc_wide_sort(uint64_t *key, int64_t n);
/* n sorted keys, in key or in spare, by merging runs that sc_wide_sort made; no two alike. */
uint64_t *sc_wide_sort_all(uint64_t *key, uint64_t *spare, int64_t n);
/* For tests: the widest vectors that may be taken, 64, 32 or 0. */
void sc_wide_allow(int vector_bytes);

#endif
