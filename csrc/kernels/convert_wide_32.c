/* convert_wide_32.c: conversions in vectors of 32 bytes, for AVX2.
 *
 * There are no masks: lanes that are kept come together four at a time, by a table of what four bits say. */
#include "convert_wide_vectors.h"

#if defined(__x86_64__)
#include <immintrin.h>
#define WIDE __attribute__((target("avx2,popcnt")))

/* The bytes of lanes of four bytes whose bits are set, then anything. */
static const uint8_t together[16][16] = {
#define A 0, 1, 2, 3
#define B 4, 5, 6, 7
#define C 8, 9, 10, 11
#define D 12, 13, 14, 15
    {A, A, A, A}, {A, A, A, A}, {B, A, A, A}, {A, B, A, A}, {C, A, A, A}, {A, C, A, A},
    {B, C, A, A}, {A, B, C, A}, {D, A, A, A}, {A, D, A, A}, {B, D, A, A}, {A, B, D, A},
    {C, D, A, A}, {A, C, D, A}, {B, C, D, A}, {A, B, C, D},
#undef A
#undef B
#undef C
#undef D
};
/* The halves of lanes of eight bytes. */
static const uint8_t halves[16][8] = {
#define A 0, 1
#define B 2, 3
#define C 4, 5
#define D 6, 7
    {A, A, A, A}, {A, A, A, A}, {B, A, A, A}, {A, B, A, A}, {C, A, A, A}, {A, C, A, A},
    {B, C, A, A}, {A, B, C, A}, {D, A, A, A}, {A, D, A, A}, {B, D, A, A}, {A, B, D, A},
    {C, D, A, A}, {A, C, D, A}, {B, C, D, A}, {A, B, C, D},
#undef A
#undef B
#undef C
#undef D
};

WIDE SC_INLINE __m128i together_32(__m128i x, unsigned four)
{ return _mm_shuffle_epi8(x, _mm_loadu_si128((const __m128i_u *)together[four])); }

WIDE SC_INLINE __m256i together_64(__m256i x, unsigned four)
{
    const __m128i half = _mm_loadl_epi64((const __m128i_u *)halves[four]);
    return _mm256_permutevar8x32_epi32(x, _mm256_cvtepu8_epi32(half));
}

WIDE SC_INLINE __m256i load(const void *p) { return _mm256_loadu_si256((const __m256i_u *)p); }

/* ---- where coordinates change ---- */
/* The four distances at `at` that are in `four`. */
WIDE SC_INLINE void keep(sc_changing *c, uint32_t *out, __m128i at, unsigned four)
{
    _mm_storeu_si128((__m128i_u *)(out + c->n), together_32(at, four));
    c->n += __builtin_popcount(four);
}

WIDE static int64_t change_i32(sc_changing *c, const int32_t *crd, int64_t begin, int64_t end, uint32_t *out)
{
    __m256i signs = _mm256_setzero_si256();
    __m128i at = _mm_set_epi32(3, 2, 1, 0);
    int64_t i = begin;
    for (; i + 8 <= end; i += 8) {
        const __m256i a = load(crd + i), b = load(crd + i + 1);
        const unsigned same = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(a, b)));
        signs = _mm256_or_si256(signs, _mm256_or_si256(b, _mm256_sub_epi32(b, a)));
        keep(c, out, at, ~same & 15);
        at = _mm_add_epi32(at, _mm_set1_epi32(4));
        keep(c, out, at, ~same >> 4 & 15);
        at = _mm_add_epi32(at, _mm_set1_epi32(4));
    }
    if (_mm256_movemask_ps(_mm256_castsi256_ps(signs))) c->signs = UINT64_MAX;
    if (i > begin) c->here = crd[i];
    return i;
}

WIDE static int64_t change_i64(sc_changing *c, const int64_t *crd, int64_t begin, int64_t end, uint32_t *out)
{
    __m256i signs = _mm256_setzero_si256();
    __m128i at = _mm_set_epi32(3, 2, 1, 0);
    int64_t i = begin;
    for (; i + 4 <= end; i += 4) {
        const __m256i a = load(crd + i), b = load(crd + i + 1);
        const unsigned same = (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(a, b)));
        signs = _mm256_or_si256(signs, _mm256_or_si256(b, _mm256_sub_epi64(b, a)));
        keep(c, out, at, ~same & 15);
        at = _mm_add_epi32(at, _mm_set1_epi32(4));
    }
    if (_mm256_movemask_pd(_mm256_castsi256_pd(signs))) c->signs = UINT64_MAX;
    if (i > begin) c->here = crd[i];
    return i;
}

WIDE static int64_t change(sc_changing *c, const void *crd, sc_dtype itype, int64_t begin, int64_t end,
                           uint32_t *out)
{ return itype == SC_I64 ? change_i64(c, crd, begin, end, out) : change_i32(c, crd, begin, end, out); }

/* ---- what is not zero ---- */
WIDE SC_INLINE __m256i zeros(const char *p, size_t size, __m256i mask)
{
    const __m256i x = _mm256_and_si256(load(p), mask), none = _mm256_setzero_si256();
    return size == 1   ? _mm256_cmpeq_epi8(x, none)
           : size == 2 ? _mm256_cmpeq_epi16(x, none)
           : size == 4 ? _mm256_cmpeq_epi32(x, none)
                       : _mm256_cmpeq_epi64(x, none);
}

/* Of two vectors of 16 lanes. */
WIDE SC_INLINE unsigned zeros_16(const char *p, __m256i mask)
{
    const __m256i two = _mm256_packs_epi16(zeros(p, 2, mask), zeros(p + 32, 2, mask));
    return (unsigned)_mm256_movemask_epi8(_mm256_permute4x64_epi64(two, 0xd8));
}

WIDE SC_INLINE uint64_t zero_word(const char *p, size_t size, __m256i mask)
{
    uint64_t word = 0;
    for (int k = 0; k < 2 && size == 1; k++)
        word |= (uint64_t)(unsigned)_mm256_movemask_epi8(zeros(p + 32 * k, 1, mask)) << 32 * k;
    for (int k = 0; k < 2 && size == 2; k++) word |= (uint64_t)zeros_16(p + 64 * k, mask) << 32 * k;
    for (int k = 0; k < 8 && size == 4; k++)
        word |= (uint64_t)(unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(zeros(p + 32 * k, 4, mask)))
                << 8 * k;
    for (int k = 0; k < 16 && size == 8; k++)
        word |= (uint64_t)(unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(zeros(p + 32 * k, 8, mask)))
                << 4 * k;
    return word;
}

WIDE static __m256i splat(size_t size, uint64_t mask)
{
    return size == 1   ? _mm256_set1_epi8((char)mask)
           : size == 2 ? _mm256_set1_epi16((short)mask)
           : size == 4 ? _mm256_set1_epi32((int)mask)
                       : _mm256_set1_epi64x((long long)mask);
}

WIDE static int64_t mark(const void *val, size_t size, uint64_t mask, int64_t n, uint64_t *bits)
{
    int64_t count = 0;
    const __m256i m = splat(size, mask);
#define RUN(s)                                                                                               \
    for (int64_t j = 0; j + 64 <= n; j += 64)                                                                \
    count += __builtin_popcountll(bits[j / 64] = ~zero_word((const char *)val + (size_t)j * (s), s, m))
    SC_BY_SIZE(size, RUN);
#undef RUN
    return count;
}

/* ---- picking what is marked ---- */
/* 4 values at `at`; whole vectors are written, as there is room. */
WIDE SC_INLINE void pick_4(sc_picking *x, const void *val, size_t size, sc_dtype itype, int64_t at,
                           unsigned four)
{
    const __m128i j = together_32(_mm_set_epi32(3, 2, 1, 0), four);
    if (itype == SC_I32)
        _mm_storeu_si128((__m128i_u *)((int32_t *)x->crd + x->k), _mm_add_epi32(j, _mm_set1_epi32((int)at)));
    else
        _mm256_storeu_si256((__m256i_u *)((int64_t *)x->crd + x->k),
                            _mm256_add_epi64(_mm256_cvtepu32_epi64(j), _mm256_set1_epi64x(at)));
    if (size == 4) {
        const __m128i v = _mm_loadu_si128((const __m128i_u *)((const sc_bits32 *)val + at));
        _mm_storeu_si128((__m128i_u *)((sc_bits32 *)x->val + x->k), together_32(v, four));
    } else {
        const __m256i v = load((const sc_bits64 *)val + at);
        _mm256_storeu_si256((__m256i_u *)((sc_bits64 *)x->val + x->k), together_64(v, four));
    }
    x->k += __builtin_popcount(four);
}

/* Words of 64 values each, as long as vectors fit in front of the end; returns how many values were done. */
WIDE SC_INLINE int64_t pick_words(sc_picking *x, const void *val, size_t size, sc_dtype itype, int64_t n,
                                  const uint64_t *bits)
{
    enum { FEW = 12 };
    int64_t j = 0;
    for (; j + 64 <= n && x->k + 68 <= x->end; j += 64) {
        const uint64_t word = bits[j / 64];
        if (__builtin_popcountll(word) <= FEW)
            sc_pick_word(x, val, size, itype, j, word);
        else
            for (int q = 0; q < 64; q += 4) pick_4(x, val, size, itype, j + q, word >> q & 15);
    }
    return j;
}

WIDE static int64_t pick(sc_picking *x, const void *val, size_t size, sc_dtype itype, int64_t n,
                         const uint64_t *bits)
{
    if (size == 4)
        return itype == SC_I32 ? pick_words(x, val, 4, SC_I32, n, bits)
                               : pick_words(x, val, 4, SC_I64, n, bits);
    return itype == SC_I32 ? pick_words(x, val, 8, SC_I32, n, bits) : pick_words(x, val, 8, SC_I64, n, bits);
}

/* ---- sorting a few keys ---- */
/* The place of a key is the number of smaller ones: nothing to predict. Comparisons take the highest bit as a sign. */
WIDE SC_INLINE void rank_sort(uint64_t *a, int64_t n, int vectors)
{
    __m256i key[SC_WIDE_SORT / 4], place[SC_WIDE_SORT / 4];
    uint64_t keys[SC_WIDE_SORT], places[SC_WIDE_SORT];
    for (int64_t i = 0; i < 4 * vectors; i++) keys[i] = i < n ? a[i] ^ 1ull << 63 : 0;
    for (int v = 0; v < vectors; v++) key[v] = load(keys + 4 * v), place[v] = _mm256_setzero_si256();
    for (int64_t j = 0; j < n; j++) {
        const __m256i x = _mm256_set1_epi64x((long long)keys[j]);
        for (int v = 0; v < vectors; v++)
            place[v] = _mm256_sub_epi64(place[v], _mm256_cmpgt_epi64(key[v], x));
    }
    for (int v = 0; v < vectors; v++) _mm256_storeu_si256((__m256i_u *)(places + 4 * v), place[v]);
    for (int64_t i = 0; i < n; i++) a[places[i]] = keys[i] ^ 1ull << 63;
}

WIDE static void sort(uint64_t *a, int64_t n)
{
    if (n <= 8)
        rank_sort(a, n, 2);
    else if (n <= 16)
        rank_sort(a, n, 4);
    else
        rank_sort(a, n, 8);
}

const sc_wide sc_wide_32 = {change, NULL, mark, pick, sort};
#endif
