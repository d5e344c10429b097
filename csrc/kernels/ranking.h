/* ranking.h: numbers as integers in an order of their own, and the first of them.
 *
 * Keys compare as the numbers do that they are made of, the larger the earlier: NaN is the largest number and the two zeros
 * are one. A buffer takes keys as they come, and when it is full shrinks to the k largest; the smallest of these is from then on
 * the bar that a key has to pass. Of n in no order about k log(n / k) do. What stays keeps its order, so the first of
 * equal keys stay. */
#ifndef SC_RANKING_H
#define SC_RANKING_H

#include <string.h>

#include "kernels.h"

#define SC_RANK_FEW 32 /* as many keys fit at least, beside k, before a buffer shrinks */

/* ---- numbers as integers ---- */
SC_INLINE uint64_t sc_key_f32(float x, bool smallest)
{
    uint32_t bits;
    x += 0.0F; /* of -0 */
    memcpy(&bits, &x, sizeof bits);
    if (x != x) bits = 0x7fffffff;
    bits ^= bits >> 31 ? 0xffffffff : 0x80000000;
    return smallest ? ~bits : bits;
}

SC_INLINE uint64_t sc_key_f64(double x, bool smallest)
{
    uint64_t bits;
    x += 0.0;
    memcpy(&bits, &x, sizeof bits);
    if (x != x) bits = 0x7fffffffffffffff;
    bits ^= bits >> 63 ? 0xffffffffffffffff : 0x8000000000000000;
    return smallest ? ~bits : bits;
}

SC_INLINE uint64_t sc_key_i64(int64_t x, bool smallest)
{
    const uint64_t bits = (uint64_t)x ^ 0x8000000000000000;
    return smallest ? ~bits : bits;
}

/* Of element i, of one of these types or int32. */
SC_INLINE uint64_t sc_key(const void *val, sc_dtype t, int64_t i, bool smallest)
{
    switch (t) {
    case SC_F32: return sc_key_f32(((const float *)val)[i], smallest);
    case SC_F64: return sc_key_f64(((const double *)val)[i], smallest);
    case SC_I32: return sc_key_i64(((const int32_t *)val)[i], smallest);
    default: return sc_key_i64(((const int64_t *)val)[i], smallest);
    }
}

/* The key of zero. */
SC_INLINE uint64_t sc_key_zero(sc_dtype t, bool smallest)
{ return t == SC_F32 ? sc_key_f32(0, smallest) : sc_key_i64(0, smallest); }

/* CALL(constant) for a type that has keys. */
#define SC_BY_KEYED(dtype, CALL)                                                                             \
    do {                                                                                                     \
        switch (dtype) {                                                                                     \
        case SC_F32: CALL(SC_F32); break;                                                                    \
        case SC_F64: CALL(SC_F64); break;                                                                    \
        case SC_I32: CALL(SC_I32); break;                                                                    \
        default: CALL(SC_I64); break;                                                                        \
        }                                                                                                    \
    } while (0)

/* ---- buffers (ranking.c) ---- */
typedef struct {
    uint64_t *key, *scratch; /* [most] */
    int64_t *at;             /* [most], where each comes from */
    int64_t n, most, k;      /* k < most */
    uint64_t bar;            /* keys up to it fail, once there is one */
    bool barred;
} sc_ranking;

/* The bytes of a buffer, and a buffer in so many. */
SC_INLINE size_t sc_ranking_size(int64_t most) { return (size_t)most * (3 * sizeof(int64_t)) + 64; }
SC_INLINE sc_ranking sc_ranking_in(void *memory, int64_t most, int64_t k)
{
    uint64_t *key = memory;
    return (sc_ranking){
        .key = key, .scratch = key + most, .at = (int64_t *)(key + 2 * most), .most = most, .k = k};
}
/* Keeps the k largest, of equal ones the first; the smallest of them is the bar. */
void sc_ranking_shrink(sc_ranking *);
/* Puts what is there in order, the largest first, equal ones as they are. */
void sc_ranking_sort(sc_ranking *);

#endif
