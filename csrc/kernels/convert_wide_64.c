/* convert_wide_64.c: conversions in vectors of 64 bytes, for AVX-512. */
#include "convert_wide_vectors.h"

#if defined(__x86_64__)
#include <immintrin.h>
#define WIDE __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,popcnt")))

/* ---- where coordinates change ---- */
WIDE static int64_t change_i32(sc_changing *c, const int32_t *crd, int64_t begin, int64_t end, uint32_t *out)
{
    __m512i signs = _mm512_setzero_si512(),
            at = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    int64_t i = begin;
    for (; i + 16 <= end; i += 16) {
        __m512i a = _mm512_loadu_si512(crd + i), b = _mm512_loadu_si512(crd + i + 1);
        __mmask16 k = _mm512_cmpneq_epi32_mask(a, b);
        signs = _mm512_or_si512(signs, _mm512_or_si512(b, _mm512_sub_epi32(b, a)));
        _mm512_storeu_si512(out + c->n, _mm512_maskz_compress_epi32(k, at));
        at = _mm512_add_epi32(at, _mm512_set1_epi32(16));
        c->n += __builtin_popcount(k);
    }
    if (_mm512_movepi32_mask(signs)) c->signs = UINT64_MAX;
    if (i > begin) c->here = crd[i];
    return i;
}

WIDE static int64_t change_i64(sc_changing *c, const int64_t *crd, int64_t begin, int64_t end, uint32_t *out)
{
    __m512i signs = _mm512_setzero_si512(),
            at = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    int64_t i = begin;
    for (; i + 16 <= end; i += 16) {
        __m512i a = _mm512_loadu_si512(crd + i), b = _mm512_loadu_si512(crd + i + 1);
        __m512i d = _mm512_loadu_si512(crd + i + 8), e = _mm512_loadu_si512(crd + i + 9);
        __mmask16 k = _mm512_kunpackb(_mm512_cmpneq_epi64_mask(d, e), _mm512_cmpneq_epi64_mask(a, b));
        signs = _mm512_or_si512(signs, _mm512_or_si512(b, _mm512_sub_epi64(b, a)));
        signs = _mm512_or_si512(signs, _mm512_or_si512(e, _mm512_sub_epi64(e, d)));
        _mm512_storeu_si512(out + c->n, _mm512_maskz_compress_epi32(k, at));
        at = _mm512_add_epi32(at, _mm512_set1_epi32(16));
        c->n += __builtin_popcount(k);
    }
    if (_mm512_movepi64_mask(signs)) c->signs = UINT64_MAX;
    if (i > begin) c->here = crd[i];
    return i;
}
WIDE static int64_t change(sc_changing *c, const void *crd, sc_dtype itype, int64_t begin, int64_t end,
                           uint32_t *out)
{ return itype == SC_I64 ? change_i64(c, crd, begin, end, out) : change_i32(c, crd, begin, end, out); }

/* ---- indices from distances ---- */
WIDE static int put(void *out, sc_dtype itype, int64_t at, int64_t base, const uint32_t *distance, int n)
{
    int k = 0;
    for (; k + 8 <= n; k += 8) {
        __m256i d = _mm256_loadu_si256((const __m256i_u *)(distance + k));
        if (itype == SC_I64)
            _mm512_storeu_si512((int64_t *)out + at + k,
                                _mm512_add_epi64(_mm512_cvtepu32_epi64(d), _mm512_set1_epi64(base)));
        else
            _mm256_storeu_si256((__m256i_u *)((int32_t *)out + at + k),
                                _mm256_add_epi32(d, _mm256_set1_epi32((int)base)));
    }
    return k;
}

/* ---- what is not zero ---- */
WIDE static uint64_t mark_wide(const void *val, size_t size, __m512i mask)
{
    const char *p = val;
    uint64_t word = 0;
    switch (size) {
    case 1: return _mm512_test_epi8_mask(_mm512_loadu_si512(p), mask);
    case 2:
        for (int k = 0; k < 2; k++)
            word |= (uint64_t)_mm512_test_epi16_mask(_mm512_loadu_si512(p + 64 * k), mask) << 32 * k;
        return word;
    case 4:
        for (int k = 0; k < 4; k++)
            word |= (uint64_t)_mm512_test_epi32_mask(_mm512_loadu_si512(p + 64 * k), mask) << 16 * k;
        return word;
    default:
        for (int k = 0; k < 8; k++)
            word |= (uint64_t)_mm512_test_epi64_mask(_mm512_loadu_si512(p + 64 * k), mask) << 8 * k;
        return word;
    }
}

WIDE static __m512i splat(size_t size, uint64_t mask)
{
    return size == 1   ? _mm512_set1_epi8((char)mask)
           : size == 2 ? _mm512_set1_epi16((short)mask)
           : size == 4 ? _mm512_set1_epi32((int)mask)
                       : _mm512_set1_epi64((long long)mask);
}

WIDE static int64_t mark_words(const void *val, size_t size, uint64_t mask, int64_t n, uint64_t *bits)
{
    int64_t count = 0;
    __m512i m = splat(size, mask);
#define RUN(s)                                                                                               \
    for (int64_t j = 0; j + 64 <= n; j += 64)                                                                \
    count += __builtin_popcountll(bits[j / 64] = mark_wide((const char *)val + (size_t)j * (s), s, m))
    SC_BY_SIZE(size, RUN);
#undef RUN
    return count;
}

/* ---- picking what is marked ---- */
/* 16 values at `at`; whole vectors are written, as there is room. */
WIDE SC_INLINE void pick_16(sc_picking *x, const void *val, size_t size, sc_dtype itype, int64_t at,
                            __m512i lane, __mmask16 k)
{
    __m512i j = _mm512_maskz_compress_epi32(k, lane);
    if (itype == SC_I32)
        _mm512_storeu_si512((int32_t *)x->crd + x->k, _mm512_add_epi32(j, _mm512_set1_epi32((int)at)));
    else {
        __m512i base = _mm512_set1_epi64(at);
        int64_t *to = (int64_t *)x->crd + x->k;
        _mm512_storeu_si512(to, _mm512_add_epi64(_mm512_cvtepu32_epi64(_mm512_castsi512_si256(j)), base));
        _mm512_storeu_si512(to + 8,
                            _mm512_add_epi64(_mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64(j, 1)), base));
    }
    if (size == 4)
        _mm512_storeu_si512((sc_bits32 *)x->val + x->k,
                            _mm512_maskz_compress_epi32(k, _mm512_loadu_si512((const sc_bits32 *)val + at)));
    else {
        const sc_bits64 *from = (const sc_bits64 *)val + at;
        sc_bits64 *to = (sc_bits64 *)x->val + x->k;
        __mmask8 low = (__mmask8)k, high = (__mmask8)(k >> 8);
        _mm512_storeu_si512(to, _mm512_maskz_compress_epi64(low, _mm512_loadu_si512(from)));
        to += __builtin_popcount(low);
        _mm512_storeu_si512(to, _mm512_maskz_compress_epi64(high, _mm512_loadu_si512(from + 8)));
    }
    x->k += __builtin_popcount(k);
}

/* Words of 64 values each, as long as vectors fit in front of the end; returns how many values were done. */
WIDE SC_INLINE int64_t pick_words(sc_picking *x, const void *val, size_t size, sc_dtype itype, int64_t n,
                                  const uint64_t *bits)
{
    const __m512i lane = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    int64_t j = 0;
    for (; j + 64 <= n && x->k + 80 <= x->end; j += 64) {
        uint64_t word = bits[j / 64];
        if (!word) continue;
        if (__builtin_popcountll(word) <= 4) {
            sc_pick_word(x, val, size, itype, j, word);
            continue;
        }
        for (int q = 0; q < 4; q++)
            pick_16(x, val, size, itype, j + 16 * q, lane, (__mmask16)(word >> 16 * q));
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
/* The place of a key is the number of smaller ones: nothing to predict. */
WIDE SC_INLINE void rank_sort(uint64_t *a, int64_t n, int vectors)
{
    __m512i key[SC_WIDE_SORT / 8], place[SC_WIDE_SORT / 8];
    const __m512i one = _mm512_set1_epi64(1);
    for (int v = 0; v < vectors; v++) {
        int64_t left = sc_min(sc_max(n - 8 * v, 0), 8);
        key[v] = _mm512_maskz_loadu_epi64((__mmask8)((1 << left) - 1), a + 8 * v);
        place[v] = _mm512_setzero_si512();
    }
    for (int64_t j = 0; j < n; j++) {
        const __m512i x = _mm512_set1_epi64((long long)a[j]);
        for (int v = 0; v < vectors; v++)
            place[v] = _mm512_mask_add_epi64(place[v], _mm512_cmplt_epu64_mask(x, key[v]), place[v], one);
    }
    uint64_t keys[SC_WIDE_SORT], places[SC_WIDE_SORT];
    for (int v = 0; v < vectors; v++) {
        _mm512_storeu_si512(keys + 8 * v, key[v]);
        _mm512_storeu_si512(places + 8 * v, place[v]);
    }
    for (int64_t i = 0; i < n; i++) a[places[i]] = keys[i];
}

WIDE static void sort(uint64_t *a, int64_t n)
{
    if (n <= 8)
        rank_sort(a, n, 1);
    else if (n <= 16)
        rank_sort(a, n, 2);
    else
        rank_sort(a, n, 4);
}

const sc_wide sc_wide_64 = {change, put, mark_words, pick, sort};
#endif
