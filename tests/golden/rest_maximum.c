/* Computes
 *   m[i] max= S[i,j]
 * with
 *   S: csr f32, indices i32
 *   m: dense f32
 * by
 *   par i in S batch 64 {
 *     work c: reg f32 {
 *       for j in S rest unroll 4 {
 *         c max= S[i,j]
 *       }
 *     } then {
 *       m[i] = c
 *     }
 *   }
 */
typedef int i32x16 __attribute__((vector_size(64)));
typedef float f32x16 __attribute__((vector_size(64)));
typedef float f32x16u __attribute__((vector_size(64), aligned(4), may_alias));

#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE f32x16 sc_splat_f32x16(float x) { return (f32x16){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x}; }
SC_INLINE f32x16 sc_load_f32x16(const float *p) { return *(const f32x16u *)p; }
SC_INLINE f32x16 sc_select_f32x16(i32x16 m, f32x16 a, f32x16 b)
{
    return (f32x16)((m & (i32x16)a) | (~m & (i32x16)b));
}
SC_INLINE sc_i64 sc_min_i64(sc_i64 a, sc_i64 b)
{
    return a < b ? a : b;
}
SC_INLINE f32x16 sc_max_f32x16(f32x16 a, f32x16 b)
{
    i32x16 m = (i32x16)(a > b) | (i32x16)(a != a);
    return (f32x16)((m & (i32x16)a) | (~m & (i32x16)b));
}
SC_INLINE float sc_max_f32(float a, float b)
{
    const float r = a > b ? a : b;
    return a >= a ? r : a;
}
SC_INLINE i32x16 sc_first_i32x16(sc_i64 n)
{
    return (i32x16)((i32x16){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15} < (int)n);
}
SC_INLINE f32x16 sc_even_f32x16(f32x16 a, f32x16 b)
{
    return (f32x16){a[0], a[2], a[4], a[6], a[8], a[10], a[12], a[14], b[0], b[2], b[4], b[6], b[8], b[10],
                    b[12], b[14]};
}
SC_INLINE f32x16 sc_odd_f32x16(f32x16 a, f32x16 b)
{
    return (f32x16){a[1], a[3], a[5], a[7], a[9], a[11], a[13], a[15], b[1], b[3], b[5], b[7], b[9], b[11],
                    b[13], b[15]};
}

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 j_dim = call->dim[1];
    float *restrict const c_terms = lane->scratch;
    const int *restrict const S_pos1 = call->view[0].level[1].pos;
    const float *restrict const S_val = call->view[0].val;
    float *restrict const m_val = call->view[1].val;

    /* par i in S batch 64 */
    sc_i64 from = begin;
    while (from < end) {
        const sc_i64 S_first = (sc_i64)S_pos1[from];
        sc_i64 to = sc_min_i64(from + 64, end);
        while (4096 < (sc_i64)S_pos1[to] - S_first) {
            to = from + (to - from) / 2;
        }
        const sc_i64 S_last = (sc_i64)S_pos1[to];
        const sc_i64 whole = S_last - (S_last - S_first) % 8;
        /* what the entries of all units add */
        for (sc_i64 p = S_first; p < whole; p += 8) {
            /* c max= S[i,j] */
            const float term = S_val[p];
            const float term_1 = S_val[p + 1];
            const float term_2 = S_val[p + 2];
            const float term_3 = S_val[p + 3];
            const float term_4 = S_val[p + 4];
            const float term_5 = S_val[p + 5];
            const float term_6 = S_val[p + 6];
            const float term_7 = S_val[p + 7];
            c_terms[p - S_first] = term;
            c_terms[p - S_first + 1] = term_1;
            c_terms[p - S_first + 2] = term_2;
            c_terms[p - S_first + 3] = term_3;
            c_terms[p - S_first + 4] = term_4;
            c_terms[p - S_first + 5] = term_5;
            c_terms[p - S_first + 6] = term_6;
            c_terms[p - S_first + 7] = term_7;
        }
        for (sc_i64 p = whole; p < S_last; p++) {
            const float term = S_val[p];
            c_terms[p - S_first] = term;
        }
        const sc_i64 whole_1 = to - (to - from) % 4;
        /* 4 units at a time, each in a vector */
        for (sc_i64 i = from; i < whole_1; i += 4) {
            const sc_i64 at = (sc_i64)S_pos1[i] - S_first;
            const int count = S_pos1[i + 1] - S_pos1[i];
            f32x16 sum = sc_select_f32x16(sc_first_i32x16((sc_i64)count), sc_load_f32x16(&c_terms[at]),
                                          sc_splat_f32x16(-__builtin_inff()));
            for (sc_i64 q = 16; q < (sc_i64)count; q += 16) {
                sum = sc_max_f32x16(sum,
                                    sc_select_f32x16(sc_first_i32x16((sc_i64)count - q),
                                                     sc_load_f32x16(&c_terms[at + q]),
                                                     sc_splat_f32x16(-__builtin_inff())));
            }
            const sc_i64 at_1 = (sc_i64)S_pos1[i + 1] - S_first;
            const int count_1 = S_pos1[i + 2] - S_pos1[i + 1];
            f32x16 sum_1 = sc_select_f32x16(sc_first_i32x16((sc_i64)count_1), sc_load_f32x16(&c_terms[at_1]),
                                            sc_splat_f32x16(-__builtin_inff()));
            for (sc_i64 q = 16; q < (sc_i64)count_1; q += 16) {
                sum_1 = sc_max_f32x16(sum_1,
                                      sc_select_f32x16(sc_first_i32x16((sc_i64)count_1 - q),
                                                       sc_load_f32x16(&c_terms[at_1 + q]),
                                                       sc_splat_f32x16(-__builtin_inff())));
            }
            const sc_i64 at_2 = (sc_i64)S_pos1[i + 2] - S_first;
            const int count_2 = S_pos1[i + 3] - S_pos1[i + 2];
            f32x16 sum_2 = sc_select_f32x16(sc_first_i32x16((sc_i64)count_2), sc_load_f32x16(&c_terms[at_2]),
                                            sc_splat_f32x16(-__builtin_inff()));
            for (sc_i64 q = 16; q < (sc_i64)count_2; q += 16) {
                sum_2 = sc_max_f32x16(sum_2,
                                      sc_select_f32x16(sc_first_i32x16((sc_i64)count_2 - q),
                                                       sc_load_f32x16(&c_terms[at_2 + q]),
                                                       sc_splat_f32x16(-__builtin_inff())));
            }
            const sc_i64 at_3 = (sc_i64)S_pos1[i + 3] - S_first;
            const int count_3 = S_pos1[i + 4] - S_pos1[i + 3];
            f32x16 sum_3 = sc_select_f32x16(sc_first_i32x16((sc_i64)count_3), sc_load_f32x16(&c_terms[at_3]),
                                            sc_splat_f32x16(-__builtin_inff()));
            for (sc_i64 q = 16; q < (sc_i64)count_3; q += 16) {
                sum_3 = sc_max_f32x16(sum_3,
                                      sc_select_f32x16(sc_first_i32x16((sc_i64)count_3 - q),
                                                       sc_load_f32x16(&c_terms[at_3 + q]),
                                                       sc_splat_f32x16(-__builtin_inff())));
            }
            const f32x16 pairs = sc_max_f32x16(sc_even_f32x16(sum, sum_1), sc_odd_f32x16(sum, sum_1));
            const f32x16 pairs_1 = sc_max_f32x16(sc_even_f32x16(sum_2, sum_3), sc_odd_f32x16(sum_2, sum_3));
            const f32x16 pairs_2 =
                sc_max_f32x16(sc_even_f32x16(pairs, pairs_1), sc_odd_f32x16(pairs, pairs_1));
            const f32x16 pairs_3 =
                sc_max_f32x16(sc_even_f32x16(pairs_2, pairs_2), sc_odd_f32x16(pairs_2, pairs_2));
            const f32x16 pairs_4 =
                sc_max_f32x16(sc_even_f32x16(pairs_3, pairs_3), sc_odd_f32x16(pairs_3, pairs_3));
            {
                /* work c: reg f32 */
                float c = pairs_4[0];
                /* the coordinates of j that were not visited, at once */
                const sc_i64 left = j_dim - (sc_i64)count;
                if (left > 0) {
                    /* c max= 0 */
                    c = sc_max_f32(c, 0.0f);
                }
                /* m[i] = c */
                m_val[i] = c;
            }
            {
                float c = pairs_4[1];
                const sc_i64 left = j_dim - (sc_i64)count_1;
                if (left > 0) {
                    c = sc_max_f32(c, 0.0f);
                }
                m_val[i + 1] = c;
            }
            {
                float c = pairs_4[2];
                const sc_i64 left = j_dim - (sc_i64)count_2;
                if (left > 0) {
                    c = sc_max_f32(c, 0.0f);
                }
                m_val[i + 2] = c;
            }
            {
                float c = pairs_4[3];
                const sc_i64 left = j_dim - (sc_i64)count_3;
                if (left > 0) {
                    c = sc_max_f32(c, 0.0f);
                }
                m_val[i + 3] = c;
            }
        }
        for (sc_i64 i = whole_1, sc_end = to; i < sc_end; i++) {
            const sc_i64 at = (sc_i64)S_pos1[i] - S_first;
            const int count = S_pos1[i + 1] - S_pos1[i];
            f32x16 sum = sc_select_f32x16(sc_first_i32x16((sc_i64)count), sc_load_f32x16(&c_terms[at]),
                                          sc_splat_f32x16(-__builtin_inff()));
            for (sc_i64 q = 16; q < (sc_i64)count; q += 16) {
                sum = sc_max_f32x16(sum,
                                    sc_select_f32x16(sc_first_i32x16((sc_i64)count - q),
                                                     sc_load_f32x16(&c_terms[at + q]),
                                                     sc_splat_f32x16(-__builtin_inff())));
            }
            const f32x16 pairs = sc_max_f32x16(sc_even_f32x16(sum, sum), sc_odd_f32x16(sum, sum));
            const f32x16 pairs_1 = sc_max_f32x16(sc_even_f32x16(pairs, pairs), sc_odd_f32x16(pairs, pairs));
            const f32x16 pairs_2 =
                sc_max_f32x16(sc_even_f32x16(pairs_1, pairs_1), sc_odd_f32x16(pairs_1, pairs_1));
            const f32x16 pairs_3 =
                sc_max_f32x16(sc_even_f32x16(pairs_2, pairs_2), sc_odd_f32x16(pairs_2, pairs_2));
            {
                float c = pairs_3[0];
                const sc_i64 left = j_dim - (sc_i64)count;
                if (left > 0) {
                    c = sc_max_f32(c, 0.0f);
                }
                m_val[i] = c;
            }
        }
        if (to == from) {
            /* a unit of too many entries, alone */
            /* work c: reg f32 */
            float c = -__builtin_inff();
            /* for j in S rest unroll 4 */
            const sc_i64 S_lo = (sc_i64)S_pos1[from];
            const sc_i64 S_hi = (sc_i64)S_pos1[from + 1];
            const sc_i64 count = S_hi - S_lo;
            const sc_i64 whole_2 = S_lo + (count - count % 4);
            float c_1 = -__builtin_inff();
            float c_2 = -__builtin_inff();
            float c_3 = -__builtin_inff();
            for (sc_i64 p = S_lo; p < whole_2; p += 4) {
                /* c max= S[i,j] */
                c = sc_max_f32(c, S_val[p]);
                c_1 = sc_max_f32(c_1, S_val[p + 1]);
                c_2 = sc_max_f32(c_2, S_val[p + 2]);
                c_3 = sc_max_f32(c_3, S_val[p + 3]);
            }
            c = sc_max_f32(c, c_1);
            c = sc_max_f32(c, c_2);
            c = sc_max_f32(c, c_3);
            for (sc_i64 p = whole_2; p < S_hi; p++) {
                c = sc_max_f32(c, S_val[p]);
            }
            /* the coordinates of j that were not visited, at once */
            const sc_i64 left = j_dim - (S_hi - S_lo);
            if (left > 0) {
                /* c max= 0 */
                c = sc_max_f32(c, 0.0f);
            }
            /* m[i] = c */
            m_val[from] = c;
            to = from + 1;
        }
        from = to;
    }
    return 0;
}

static int part(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const float *restrict const S_val = call->view[0].val;
    float *restrict const c_carry = lane->partial;

    /* par i in S batch 64 */
    /* work c: reg f32 */
    float c = -__builtin_inff();
    /* for j in S rest unroll 4 */
    const sc_i64 count = end - begin;
    const sc_i64 whole = begin + (count - count % 4);
    float c_1 = -__builtin_inff();
    float c_2 = -__builtin_inff();
    float c_3 = -__builtin_inff();
    for (sc_i64 p = begin; p < whole; p += 4) {
        /* c max= S[i,j] */
        c = sc_max_f32(c, S_val[p]);
        c_1 = sc_max_f32(c_1, S_val[p + 1]);
        c_2 = sc_max_f32(c_2, S_val[p + 2]);
        c_3 = sc_max_f32(c_3, S_val[p + 3]);
    }
    c = sc_max_f32(c, c_1);
    c = sc_max_f32(c, c_2);
    c = sc_max_f32(c, c_3);
    for (sc_i64 p = whole; p < end; p++) {
        c = sc_max_f32(c, S_val[p]);
    }
    c_carry[0] = c;
    return 0;
}

static int finish(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 j_dim = call->dim[1];
    const sc_i64 carried = lane->cursor[1];
    const int *restrict const S_pos1 = call->view[0].level[1].pos;
    float *restrict const m_val = call->view[1].val;
    float *restrict const c_carry = lane->partial;
    (void)end;

    /* par i in S batch 64 */
    /* work c: reg f32 */
    float c = -__builtin_inff();
    for (sc_i64 slot = 0; slot < carried; slot++) {
        c = sc_max_f32(c, c_carry[slot]);
    }
    const sc_i64 S_lo = (sc_i64)S_pos1[begin];
    const sc_i64 S_hi = (sc_i64)S_pos1[begin + 1];
    /* the coordinates of j that were not visited, at once */
    const sc_i64 left = j_dim - (S_hi - S_lo);
    if (left > 0) {
        /* c max= 0 */
        c = sc_max_f32(c, 0.0f);
    }
    /* m[i] = c */
    m_val[begin] = c;
    return 0;
}

#ifndef SC_KEY
#define SC_KEY ""
#endif
#ifndef SC_OBJECT
#define SC_OBJECT sc_kernels
#endif
__attribute__((visibility("default"))) const sc_object SC_OBJECT = {4, sizeof(sc_object), SC_KEY,
    3, {body, part, finish}};
