/* Rounds each operation. */
/* Computes
 *   C[i,k] max= A[i,j] * B[j,k]
 *   m[i] min= A[i,j]
 *   d[i] = m[i] + 1
 * with
 *   A: dcsr f32, indices i32
 *   B: dense f32
 *   C: dense f32
 *   m: dense f32
 *   d: dense f32
 * by
 *   par i in A {
 *     work c[k]: reg f32 {
 *       for j in A unroll 4 {
 *         vec k {
 *           c[k] max= A[i,j] * B[j,k]
 *         }
 *       }
 *     } then {
 *       vec k {
 *         C[i,k] = c[k]
 *       }
 *     }
 *   }
 *   par i in A batch 64 {
 *     work ca: reg f32 {
 *       for j in A unroll 4 {
 *         ca min= A[i,j]
 *       }
 *     } then {
 *       m[i] = ca
 *     }
 *   }
 *   par i/256 {
 *     vec i%256 {
 *       d[i] = m[i] + 1
 *     }
 *   }
 * because
 *   loops over A follow its storage order
 *   k is the vector: it runs at stride 1 in most operands
 *   loops over A follow its storage order
 */
typedef int i32x2 __attribute__((vector_size(8)));
typedef int i32x4 __attribute__((vector_size(16)));
typedef int i32x8 __attribute__((vector_size(32)));
typedef int i32x16 __attribute__((vector_size(64)));
typedef float f32x2 __attribute__((vector_size(8)));
typedef float f32x2u __attribute__((vector_size(8), aligned(4), may_alias));
typedef float f32x4 __attribute__((vector_size(16)));
typedef float f32x4u __attribute__((vector_size(16), aligned(4), may_alias));
typedef float f32x8 __attribute__((vector_size(32)));
typedef float f32x8u __attribute__((vector_size(32), aligned(4), may_alias));
typedef float f32x16 __attribute__((vector_size(64)));
typedef float f32x16u __attribute__((vector_size(64), aligned(4), may_alias));

#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE f32x16 sc_splat_f32x16(float x) { return (f32x16){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x}; }
SC_INLINE f32x8 sc_splat_f32x8(float x) { return (f32x8){x, x, x, x, x, x, x, x}; }
SC_INLINE f32x4 sc_splat_f32x4(float x) { return (f32x4){x, x, x, x}; }
SC_INLINE f32x2 sc_splat_f32x2(float x) { return (f32x2){x, x}; }
SC_INLINE f32x16 sc_load_f32x16(const float *p) { return *(const f32x16u *)p; }
SC_INLINE f32x8 sc_load_f32x8(const float *p) { return *(const f32x8u *)p; }
SC_INLINE f32x4 sc_load_f32x4(const float *p) { return *(const f32x4u *)p; }
SC_INLINE f32x2 sc_load_f32x2(const float *p) { return *(const f32x2u *)p; }
SC_INLINE void sc_store_f32x16(float *p, f32x16 x) { *(f32x16u *)p = x; }
SC_INLINE void sc_store_f32x8(float *p, f32x8 x) { *(f32x8u *)p = x; }
SC_INLINE void sc_store_f32x4(float *p, f32x4 x) { *(f32x4u *)p = x; }
SC_INLINE void sc_store_f32x2(float *p, f32x2 x) { *(f32x2u *)p = x; }
SC_INLINE f32x16 sc_select_f32x16(i32x16 m, f32x16 a, f32x16 b)
{
    return (f32x16)((m & (i32x16)a) | (~m & (i32x16)b));
}
SC_INLINE sc_i64 sc_min_i64(sc_i64 a, sc_i64 b)
{
    return a < b ? a : b;
}
SC_INLINE f32x16 sc_min_f32x16(f32x16 a, f32x16 b)
{
    i32x16 m = (i32x16)(a < b) | (i32x16)(a != a);
    return (f32x16)((m & (i32x16)a) | (~m & (i32x16)b));
}
SC_INLINE float sc_min_f32(float a, float b)
{
    const float r = a < b ? a : b;
    return a >= a ? r : a;
}
SC_INLINE f32x4 sc_max_f32x4(f32x4 a, f32x4 b)
{
    i32x4 m = (i32x4)(a > b) | (i32x4)(a != a);
    return (f32x4)((m & (i32x4)a) | (~m & (i32x4)b));
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
SC_INLINE sc_i64 sc_pair_i32(const int *p) { return (sc_i64)(unsigned)p[0] | (sc_i64)p[1] << 32; }

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 B_stride0 = call->view[1].stride[0];
    const sc_i64 C_stride0 = call->view[2].stride[0];
    const int *restrict const A_crd0 = call->view[0].level[0].crd;
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const B_val = call->view[1].val;
    float *restrict const C_val = call->view[2].val;
    (void)lane;

    /* par i in A */
    for (sc_i64 p = begin; p < end; p++) {
        const sc_i64 i = (sc_i64)A_crd0[p];
        /* work c[k]: reg f32 */
        f32x4 c = sc_splat_f32x4(-__builtin_inff());
        /* for j in A unroll 4 */
        const sc_i64 A_lo = (sc_i64)A_pos1[p];
        const sc_i64 A_hi = (sc_i64)A_pos1[p + 1];
        const sc_i64 count = A_hi - A_lo;
        const sc_i64 whole = A_lo + (count - count % 4);
        f32x4 c_1 = sc_splat_f32x4(-__builtin_inff());
        f32x4 c_2 = sc_splat_f32x4(-__builtin_inff());
        f32x4 c_3 = sc_splat_f32x4(-__builtin_inff());
        for (sc_i64 p_1 = A_lo; p_1 < whole; p_1 += 4) {
            const sc_i64 jj = sc_pair_i32(&A_crd1[p_1]);
            const sc_i64 j = jj & 4294967295;
            /* vec k { c[k] max= A[i,j] * B[j,k] } */
            const float a = A_val[p_1];
            const sc_i64 B_at = j * B_stride0;
            c = sc_max_f32x4(c, sc_splat_f32x4(a) * sc_load_f32x4(&B_val[B_at]));
            const sc_i64 j_1 = jj >> 32;
            const float a_1 = A_val[p_1 + 1];
            const sc_i64 B_at_1 = j_1 * B_stride0;
            c_1 = sc_max_f32x4(c_1, sc_splat_f32x4(a_1) * sc_load_f32x4(&B_val[B_at_1]));
            const sc_i64 jj_1 = sc_pair_i32(&A_crd1[p_1 + 2]);
            const sc_i64 j_2 = jj_1 & 4294967295;
            const float a_2 = A_val[p_1 + 2];
            const sc_i64 B_at_2 = j_2 * B_stride0;
            c_2 = sc_max_f32x4(c_2, sc_splat_f32x4(a_2) * sc_load_f32x4(&B_val[B_at_2]));
            const sc_i64 j_3 = jj_1 >> 32;
            const float a_3 = A_val[p_1 + 3];
            const sc_i64 B_at_3 = j_3 * B_stride0;
            c_3 = sc_max_f32x4(c_3, sc_splat_f32x4(a_3) * sc_load_f32x4(&B_val[B_at_3]));
        }
        c = sc_max_f32x4(c, c_1);
        c = sc_max_f32x4(c, c_2);
        c = sc_max_f32x4(c, c_3);
        for (sc_i64 p_1 = whole; p_1 < A_hi; p_1++) {
            const sc_i64 j = (sc_i64)A_crd1[p_1];
            const float a = A_val[p_1];
            const sc_i64 B_at = j * B_stride0;
            c = sc_max_f32x4(c, sc_splat_f32x4(a) * sc_load_f32x4(&B_val[B_at]));
        }
        /* vec k { C[i,k] = c[k] } */
        const sc_i64 C_at = i * C_stride0;
        sc_store_f32x4(&C_val[C_at], c);
    }
    return 0;
}

static int part(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 B_stride0 = call->view[1].stride[0];
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const B_val = call->view[1].val;
    float *restrict const c_carry = lane->partial;

    /* par i in A */
    /* work c[k]: reg f32 */
    f32x4 c = sc_splat_f32x4(-__builtin_inff());
    /* for j in A unroll 4 */
    const sc_i64 count = end - begin;
    const sc_i64 whole = begin + (count - count % 4);
    f32x4 c_1 = sc_splat_f32x4(-__builtin_inff());
    f32x4 c_2 = sc_splat_f32x4(-__builtin_inff());
    f32x4 c_3 = sc_splat_f32x4(-__builtin_inff());
    for (sc_i64 p = begin; p < whole; p += 4) {
        const sc_i64 jj = sc_pair_i32(&A_crd1[p]);
        const sc_i64 j = jj & 4294967295;
        /* vec k { c[k] max= A[i,j] * B[j,k] } */
        const float a = A_val[p];
        const sc_i64 B_at = j * B_stride0;
        c = sc_max_f32x4(c, sc_splat_f32x4(a) * sc_load_f32x4(&B_val[B_at]));
        const sc_i64 j_1 = jj >> 32;
        const float a_1 = A_val[p + 1];
        const sc_i64 B_at_1 = j_1 * B_stride0;
        c_1 = sc_max_f32x4(c_1, sc_splat_f32x4(a_1) * sc_load_f32x4(&B_val[B_at_1]));
        const sc_i64 jj_1 = sc_pair_i32(&A_crd1[p + 2]);
        const sc_i64 j_2 = jj_1 & 4294967295;
        const float a_2 = A_val[p + 2];
        const sc_i64 B_at_2 = j_2 * B_stride0;
        c_2 = sc_max_f32x4(c_2, sc_splat_f32x4(a_2) * sc_load_f32x4(&B_val[B_at_2]));
        const sc_i64 j_3 = jj_1 >> 32;
        const float a_3 = A_val[p + 3];
        const sc_i64 B_at_3 = j_3 * B_stride0;
        c_3 = sc_max_f32x4(c_3, sc_splat_f32x4(a_3) * sc_load_f32x4(&B_val[B_at_3]));
    }
    c = sc_max_f32x4(c, c_1);
    c = sc_max_f32x4(c, c_2);
    c = sc_max_f32x4(c, c_3);
    for (sc_i64 p = whole; p < end; p++) {
        const sc_i64 j = (sc_i64)A_crd1[p];
        const float a = A_val[p];
        const sc_i64 B_at = j * B_stride0;
        c = sc_max_f32x4(c, sc_splat_f32x4(a) * sc_load_f32x4(&B_val[B_at]));
    }
    sc_store_f32x4(c_carry, c);
    return 0;
}

static int finish(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 C_stride0 = call->view[2].stride[0];
    const sc_i64 carried = lane->cursor[1];
    const int *restrict const A_crd0 = call->view[0].level[0].crd;
    float *restrict const C_val = call->view[2].val;
    float *restrict const c_carry = lane->partial;
    (void)end;

    /* par i in A */
    const sc_i64 i = (sc_i64)A_crd0[begin];
    /* work c[k]: reg f32 */
    f32x4 c = sc_splat_f32x4(-__builtin_inff());
    for (sc_i64 slot = 0; slot < carried; slot++) {
        const sc_i64 at = slot * 4;
        c = sc_max_f32x4(c, sc_load_f32x4(&c_carry[at]));
    }
    /* vec k { C[i,k] = c[k] } */
    const sc_i64 C_at = i * C_stride0;
    sc_store_f32x4(&C_val[C_at], c);
    return 0;
}

static int body_1(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const int *restrict const A_crd0 = call->view[0].level[0].crd;
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const float *restrict const A_val = call->view[0].val;
    float *restrict const ca_terms = lane->scratch;
    float *restrict const m_val = call->view[3].val;

    /* par i in A batch 64 */
    sc_i64 from = begin;
    while (from < end) {
        const sc_i64 A_first = (sc_i64)A_pos1[from];
        sc_i64 to = sc_min_i64(from + 64, end);
        while (4096 < (sc_i64)A_pos1[to] - A_first) {
            to = from + (to - from) / 2;
        }
        const sc_i64 A_last = (sc_i64)A_pos1[to];
        const sc_i64 whole = A_last - (A_last - A_first) % 8;
        /* what the entries of all units add */
        for (sc_i64 p = A_first; p < whole; p += 8) {
            /* ca min= A[i,j] */
            const float term = A_val[p];
            const float term_1 = A_val[p + 1];
            const float term_2 = A_val[p + 2];
            const float term_3 = A_val[p + 3];
            const float term_4 = A_val[p + 4];
            const float term_5 = A_val[p + 5];
            const float term_6 = A_val[p + 6];
            const float term_7 = A_val[p + 7];
            ca_terms[p - A_first] = term;
            ca_terms[p - A_first + 1] = term_1;
            ca_terms[p - A_first + 2] = term_2;
            ca_terms[p - A_first + 3] = term_3;
            ca_terms[p - A_first + 4] = term_4;
            ca_terms[p - A_first + 5] = term_5;
            ca_terms[p - A_first + 6] = term_6;
            ca_terms[p - A_first + 7] = term_7;
        }
        for (sc_i64 p = whole; p < A_last; p++) {
            const float term = A_val[p];
            ca_terms[p - A_first] = term;
        }
        const sc_i64 whole_1 = to - (to - from) % 4;
        /* 4 units at a time, each in a vector */
        for (sc_i64 p = from; p < whole_1; p += 4) {
            const sc_i64 i = (sc_i64)A_crd0[p];
            const sc_i64 at = (sc_i64)A_pos1[p] - A_first;
            const int count = A_pos1[p + 1] - A_pos1[p];
            f32x16 sum = sc_select_f32x16(sc_first_i32x16((sc_i64)count), sc_load_f32x16(&ca_terms[at]),
                                          sc_splat_f32x16(__builtin_inff()));
            for (sc_i64 q = 16; q < (sc_i64)count; q += 16) {
                sum = sc_min_f32x16(sum,
                                    sc_select_f32x16(sc_first_i32x16((sc_i64)count - q),
                                                     sc_load_f32x16(&ca_terms[at + q]),
                                                     sc_splat_f32x16(__builtin_inff())));
            }
            const sc_i64 i_1 = (sc_i64)A_crd0[p + 1];
            const sc_i64 at_1 = (sc_i64)A_pos1[p + 1] - A_first;
            const int count_1 = A_pos1[p + 2] - A_pos1[p + 1];
            f32x16 sum_1 = sc_select_f32x16(sc_first_i32x16((sc_i64)count_1), sc_load_f32x16(&ca_terms[at_1]),
                                            sc_splat_f32x16(__builtin_inff()));
            for (sc_i64 q = 16; q < (sc_i64)count_1; q += 16) {
                sum_1 = sc_min_f32x16(sum_1,
                                      sc_select_f32x16(sc_first_i32x16((sc_i64)count_1 - q),
                                                       sc_load_f32x16(&ca_terms[at_1 + q]),
                                                       sc_splat_f32x16(__builtin_inff())));
            }
            const sc_i64 i_2 = (sc_i64)A_crd0[p + 2];
            const sc_i64 at_2 = (sc_i64)A_pos1[p + 2] - A_first;
            const int count_2 = A_pos1[p + 3] - A_pos1[p + 2];
            f32x16 sum_2 = sc_select_f32x16(sc_first_i32x16((sc_i64)count_2), sc_load_f32x16(&ca_terms[at_2]),
                                            sc_splat_f32x16(__builtin_inff()));
            for (sc_i64 q = 16; q < (sc_i64)count_2; q += 16) {
                sum_2 = sc_min_f32x16(sum_2,
                                      sc_select_f32x16(sc_first_i32x16((sc_i64)count_2 - q),
                                                       sc_load_f32x16(&ca_terms[at_2 + q]),
                                                       sc_splat_f32x16(__builtin_inff())));
            }
            const sc_i64 i_3 = (sc_i64)A_crd0[p + 3];
            const sc_i64 at_3 = (sc_i64)A_pos1[p + 3] - A_first;
            const int count_3 = A_pos1[p + 4] - A_pos1[p + 3];
            f32x16 sum_3 = sc_select_f32x16(sc_first_i32x16((sc_i64)count_3), sc_load_f32x16(&ca_terms[at_3]),
                                            sc_splat_f32x16(__builtin_inff()));
            for (sc_i64 q = 16; q < (sc_i64)count_3; q += 16) {
                sum_3 = sc_min_f32x16(sum_3,
                                      sc_select_f32x16(sc_first_i32x16((sc_i64)count_3 - q),
                                                       sc_load_f32x16(&ca_terms[at_3 + q]),
                                                       sc_splat_f32x16(__builtin_inff())));
            }
            const f32x16 pairs = sc_min_f32x16(sc_even_f32x16(sum, sum_1), sc_odd_f32x16(sum, sum_1));
            const f32x16 pairs_1 = sc_min_f32x16(sc_even_f32x16(sum_2, sum_3), sc_odd_f32x16(sum_2, sum_3));
            const f32x16 pairs_2 =
                sc_min_f32x16(sc_even_f32x16(pairs, pairs_1), sc_odd_f32x16(pairs, pairs_1));
            const f32x16 pairs_3 =
                sc_min_f32x16(sc_even_f32x16(pairs_2, pairs_2), sc_odd_f32x16(pairs_2, pairs_2));
            const f32x16 pairs_4 =
                sc_min_f32x16(sc_even_f32x16(pairs_3, pairs_3), sc_odd_f32x16(pairs_3, pairs_3));
            {
                /* work ca: reg f32 */
                float ca = pairs_4[0];
                /* m[i] = ca */
                m_val[i] = ca;
            }
            {
                float ca = pairs_4[1];
                m_val[i_1] = ca;
            }
            {
                float ca = pairs_4[2];
                m_val[i_2] = ca;
            }
            {
                float ca = pairs_4[3];
                m_val[i_3] = ca;
            }
        }
        for (sc_i64 p = whole_1, sc_end = to; p < sc_end; p++) {
            const sc_i64 i = (sc_i64)A_crd0[p];
            const sc_i64 at = (sc_i64)A_pos1[p] - A_first;
            const int count = A_pos1[p + 1] - A_pos1[p];
            f32x16 sum = sc_select_f32x16(sc_first_i32x16((sc_i64)count), sc_load_f32x16(&ca_terms[at]),
                                          sc_splat_f32x16(__builtin_inff()));
            for (sc_i64 q = 16; q < (sc_i64)count; q += 16) {
                sum = sc_min_f32x16(sum,
                                    sc_select_f32x16(sc_first_i32x16((sc_i64)count - q),
                                                     sc_load_f32x16(&ca_terms[at + q]),
                                                     sc_splat_f32x16(__builtin_inff())));
            }
            const f32x16 pairs = sc_min_f32x16(sc_even_f32x16(sum, sum), sc_odd_f32x16(sum, sum));
            const f32x16 pairs_1 = sc_min_f32x16(sc_even_f32x16(pairs, pairs), sc_odd_f32x16(pairs, pairs));
            const f32x16 pairs_2 =
                sc_min_f32x16(sc_even_f32x16(pairs_1, pairs_1), sc_odd_f32x16(pairs_1, pairs_1));
            const f32x16 pairs_3 =
                sc_min_f32x16(sc_even_f32x16(pairs_2, pairs_2), sc_odd_f32x16(pairs_2, pairs_2));
            {
                float ca = pairs_3[0];
                m_val[i] = ca;
            }
        }
        if (to == from) {
            /* a unit of too many entries, alone */
            const sc_i64 i = (sc_i64)A_crd0[from];
            /* work ca: reg f32 */
            float ca = __builtin_inff();
            /* for j in A unroll 4 */
            const sc_i64 A_lo = (sc_i64)A_pos1[from];
            const sc_i64 A_hi = (sc_i64)A_pos1[from + 1];
            const sc_i64 count = A_hi - A_lo;
            const sc_i64 whole_2 = A_lo + (count - count % 4);
            float ca_1 = __builtin_inff();
            float ca_2 = __builtin_inff();
            float ca_3 = __builtin_inff();
            for (sc_i64 p = A_lo; p < whole_2; p += 4) {
                /* ca min= A[i,j] */
                ca = sc_min_f32(ca, A_val[p]);
                ca_1 = sc_min_f32(ca_1, A_val[p + 1]);
                ca_2 = sc_min_f32(ca_2, A_val[p + 2]);
                ca_3 = sc_min_f32(ca_3, A_val[p + 3]);
            }
            ca = sc_min_f32(ca, ca_1);
            ca = sc_min_f32(ca, ca_2);
            ca = sc_min_f32(ca, ca_3);
            for (sc_i64 p = whole_2; p < A_hi; p++) {
                ca = sc_min_f32(ca, A_val[p]);
            }
            /* m[i] = ca */
            m_val[i] = ca;
            to = from + 1;
        }
        from = to;
    }
    return 0;
}

static int part_1(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const float *restrict const A_val = call->view[0].val;
    float *restrict const c_carry = lane->partial;

    /* par i in A batch 64 */
    /* work ca: reg f32 */
    float ca = __builtin_inff();
    /* for j in A unroll 4 */
    const sc_i64 count = end - begin;
    const sc_i64 whole = begin + (count - count % 4);
    float ca_1 = __builtin_inff();
    float ca_2 = __builtin_inff();
    float ca_3 = __builtin_inff();
    for (sc_i64 p = begin; p < whole; p += 4) {
        /* ca min= A[i,j] */
        ca = sc_min_f32(ca, A_val[p]);
        ca_1 = sc_min_f32(ca_1, A_val[p + 1]);
        ca_2 = sc_min_f32(ca_2, A_val[p + 2]);
        ca_3 = sc_min_f32(ca_3, A_val[p + 3]);
    }
    ca = sc_min_f32(ca, ca_1);
    ca = sc_min_f32(ca, ca_2);
    ca = sc_min_f32(ca, ca_3);
    for (sc_i64 p = whole; p < end; p++) {
        ca = sc_min_f32(ca, A_val[p]);
    }
    c_carry[0] = ca;
    return 0;
}

static int finish_1(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 carried = lane->cursor[1];
    const int *restrict const A_crd0 = call->view[0].level[0].crd;
    float *restrict const c_carry = lane->partial;
    float *restrict const m_val = call->view[3].val;
    (void)end;

    /* par i in A batch 64 */
    const sc_i64 i = (sc_i64)A_crd0[begin];
    /* work ca: reg f32 */
    float ca = __builtin_inff();
    for (sc_i64 slot = 0; slot < carried; slot++) {
        ca = sc_min_f32(ca, c_carry[slot]);
    }
    /* m[i] = ca */
    m_val[i] = ca;
    return 0;
}

static int body_2(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 i_dim = call->dim[0];
    float *restrict const m_val = call->view[3].val;
    float *restrict const d_val = call->view[4].val;
    (void)lane;

    /* par i/256 */
    for (sc_i64 i_block = begin; i_block < end; i_block++) {
        const sc_i64 size = sc_min_i64(256, i_dim - i_block * 256);
        /* vec i%256 { d[i] = m[i] + 1 } */
        const sc_i64 m_at = i_block * 256;
        const sc_i64 d_at = i_block * 256;
        const sc_i64 rest = size % 16;
        const sc_i64 full = size - rest;
        for (sc_i64 i = 0; i < full; i += 16) {
            sc_store_f32x16(&d_val[d_at + i], sc_load_f32x16(&m_val[m_at + i]) + sc_splat_f32x16(1.0f));
        }
        if ((rest & 8) != 0) {
            const sc_i64 i = full + (rest & -16);
            sc_store_f32x8(&d_val[d_at + i], sc_load_f32x8(&m_val[m_at + i]) + sc_splat_f32x8(1.0f));
        }
        if ((rest & 4) != 0) {
            const sc_i64 i = full + (rest & -8);
            sc_store_f32x4(&d_val[d_at + i], sc_load_f32x4(&m_val[m_at + i]) + sc_splat_f32x4(1.0f));
        }
        if ((rest & 2) != 0) {
            const sc_i64 i = full + (rest & -4);
            sc_store_f32x2(&d_val[d_at + i], sc_load_f32x2(&m_val[m_at + i]) + sc_splat_f32x2(1.0f));
        }
        if ((rest & 1) != 0) {
            const sc_i64 i = full + (rest & -2);
            d_val[d_at + i] = m_val[m_at + i] + 1.0f;
        }
    }
    return 0;
}

#ifndef SC_KEY
#define SC_KEY ""
#endif
#ifndef SC_OBJECT
#define SC_OBJECT sc_kernels
#endif
__attribute__((visibility("default"))) const sc_object SC_OBJECT = {4, sizeof(sc_object), SC_KEY,
    7, {body, part, finish, body_1, part_1, finish_1, body_2}};
