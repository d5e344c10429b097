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
 *       for j in A unroll 2 {
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
 *   par i {
 *     d[i] = m[i] + 1
 *   }
 * because
 *   loops over A follow its storage order
 *   k is the vector: it runs at stride 1 in most operands
 *   loops over A follow its storage order
 */
typedef int i32x4 __attribute__((vector_size(16)));
typedef int i32x8 __attribute__((vector_size(32)));
typedef int i32x16 __attribute__((vector_size(64)));
typedef float f32x4 __attribute__((vector_size(16)));
typedef float f32x4u __attribute__((vector_size(16), aligned(4), may_alias));
typedef float f32x8 __attribute__((vector_size(32)));
typedef float f32x16 __attribute__((vector_size(64)));
typedef float f32x16u __attribute__((vector_size(64), aligned(4), may_alias));

#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE f32x16 sc_splat_f32x16(float x) { return (f32x16){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x}; }
SC_INLINE f32x4 sc_splat_f32x4(float x) { return (f32x4){x, x, x, x}; }
SC_INLINE f32x16 sc_load_f32x16(const float *p) { return *(const f32x16u *)p; }
SC_INLINE f32x4 sc_load_f32x4(const float *p) { return *(const f32x4u *)p; }
SC_INLINE void sc_store_f32x4(float *p, f32x4 x) { *(f32x4u *)p = x; }
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
SC_INLINE f32x8 sc_min_f32x8(f32x8 a, f32x8 b)
{
    i32x8 m = (i32x8)(a < b) | (i32x8)(a != a);
    return (f32x8)((m & (i32x8)a) | (~m & (i32x8)b));
}
SC_INLINE f32x4 sc_min_f32x4(f32x4 a, f32x4 b)
{
    i32x4 m = (i32x4)(a < b) | (i32x4)(a != a);
    return (f32x4)((m & (i32x4)a) | (~m & (i32x4)b));
}
SC_INLINE float sc_min_f32(float a, float b)
{
    return a < b || a != a ? a : b;
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
SC_INLINE float sc_hmin_f32x16(f32x16 v)
{
    f32x8 v8 = sc_min_f32x8((f32x8){v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7]}, (f32x8){v[8], v[9], v[10], v[11], v[12], v[13], v[14], v[15]});
    f32x4 v4 = sc_min_f32x4((f32x4){v8[0], v8[1], v8[2], v8[3]}, (f32x4){v8[4], v8[5], v8[6], v8[7]});
    f32x4 v2 = sc_min_f32x4(v4, (f32x4){v4[2], v4[3], v4[0], v4[1]});
    f32x4 v1 = sc_min_f32x4(v2, (f32x4){v2[1], v2[2], v2[3], v2[0]});
    return v1[0];
}

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

    for (sc_i64 p = begin; p < end; p++) {
        const sc_i64 i = (sc_i64)A_crd0[p];
        f32x4 c = sc_splat_f32x4(-__builtin_inff());
        const sc_i64 A_lo = (sc_i64)A_pos1[p];
        const sc_i64 A_hi = (sc_i64)A_pos1[p + 1];
        const sc_i64 whole = A_lo + (A_hi - A_lo - (A_hi - A_lo) % 2);
        f32x4 c_1 = sc_splat_f32x4(-__builtin_inff());
        for (sc_i64 p_1 = A_lo; p_1 < whole; p_1 += 2) {
            const sc_i64 j = (sc_i64)A_crd1[p_1];
            const float a = A_val[p_1];
            const sc_i64 B_at = j * B_stride0;
            c = sc_max_f32x4(c, sc_splat_f32x4(a) * sc_load_f32x4(&B_val[B_at]));
            const sc_i64 j_1 = (sc_i64)A_crd1[p_1 + 1];
            const float a_1 = A_val[p_1 + 1];
            const sc_i64 B_at_1 = j_1 * B_stride0;
            c_1 = sc_max_f32x4(c_1, sc_splat_f32x4(a_1) * sc_load_f32x4(&B_val[B_at_1]));
        }
        c = sc_max_f32x4(c, c_1);
        for (sc_i64 p_2 = whole; p_2 < A_hi; p_2++) {
            const sc_i64 j_2 = (sc_i64)A_crd1[p_2];
            const float a_2 = A_val[p_2];
            const sc_i64 B_at_2 = j_2 * B_stride0;
            c = sc_max_f32x4(c, sc_splat_f32x4(a_2) * sc_load_f32x4(&B_val[B_at_2]));
        }
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

    f32x4 c = sc_splat_f32x4(-__builtin_inff());
    const sc_i64 whole = begin + (end - begin - (end - begin) % 2);
    f32x4 c_1 = sc_splat_f32x4(-__builtin_inff());
    for (sc_i64 p = begin; p < whole; p += 2) {
        const sc_i64 j = (sc_i64)A_crd1[p];
        const float a = A_val[p];
        const sc_i64 B_at = j * B_stride0;
        c = sc_max_f32x4(c, sc_splat_f32x4(a) * sc_load_f32x4(&B_val[B_at]));
        const sc_i64 j_1 = (sc_i64)A_crd1[p + 1];
        const float a_1 = A_val[p + 1];
        const sc_i64 B_at_1 = j_1 * B_stride0;
        c_1 = sc_max_f32x4(c_1, sc_splat_f32x4(a_1) * sc_load_f32x4(&B_val[B_at_1]));
    }
    c = sc_max_f32x4(c, c_1);
    for (sc_i64 p_1 = whole; p_1 < end; p_1++) {
        const sc_i64 j_2 = (sc_i64)A_crd1[p_1];
        const float a_2 = A_val[p_1];
        const sc_i64 B_at_2 = j_2 * B_stride0;
        c = sc_max_f32x4(c, sc_splat_f32x4(a_2) * sc_load_f32x4(&B_val[B_at_2]));
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

    const sc_i64 i = (sc_i64)A_crd0[begin];
    f32x4 c = sc_splat_f32x4(-__builtin_inff());
    for (sc_i64 slot = 0; slot < carried; slot++) {
        const sc_i64 at = slot * 4;
        c = sc_max_f32x4(c, sc_load_f32x4(&c_carry[at]));
    }
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

    sc_i64 from = begin;
    while (from < end) {
        const sc_i64 A_first = (sc_i64)A_pos1[from];
        sc_i64 to = sc_min_i64(from + 64, end);
        while (4096 < (sc_i64)A_pos1[to] - A_first) {
            to = from + (to - from) / 2;
        }
        const sc_i64 A_last = (sc_i64)A_pos1[to];
        const sc_i64 whole = A_last - (A_last - A_first) % 8;
        for (sc_i64 p = A_first; p < whole; p += 8) {
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
        for (sc_i64 p_1 = whole; p_1 < A_last; p_1++) {
            const float term_8 = A_val[p_1];
            ca_terms[p_1 - A_first] = term_8;
        }
        for (sc_i64 p_2 = from, sc_end = to; p_2 < sc_end; p_2++) {
            const sc_i64 i = (sc_i64)A_crd0[p_2];
            const sc_i64 at = (sc_i64)A_pos1[p_2] - A_first;
            const sc_i64 count = (sc_i64)A_pos1[p_2 + 1] - (sc_i64)A_pos1[p_2];
            f32x16 sum = sc_select_f32x16(sc_first_i32x16(count), sc_load_f32x16(&ca_terms[at]), sc_splat_f32x16(__builtin_inff()));
            for (sc_i64 q = 16; q < count; q += 16) {
                sum = sc_min_f32x16(sum, sc_select_f32x16(sc_first_i32x16(count - q), sc_load_f32x16(&ca_terms[at + q]), sc_splat_f32x16(__builtin_inff())));
            }
            float ca = sc_hmin_f32x16(sum);
            m_val[i] = ca;
        }
        if (to == from) {
            const sc_i64 i_1 = (sc_i64)A_crd0[from];
            float ca_1 = __builtin_inff();
            const sc_i64 A_lo = (sc_i64)A_pos1[from];
            const sc_i64 A_hi = (sc_i64)A_pos1[from + 1];
            const sc_i64 whole_1 = A_lo + (A_hi - A_lo - (A_hi - A_lo) % 4);
            float ca_2 = __builtin_inff();
            float ca_3 = __builtin_inff();
            float ca_4 = __builtin_inff();
            for (sc_i64 p_3 = A_lo; p_3 < whole_1; p_3 += 4) {
                ca_1 = sc_min_f32(ca_1, A_val[p_3]);
                ca_2 = sc_min_f32(ca_2, A_val[p_3 + 1]);
                ca_3 = sc_min_f32(ca_3, A_val[p_3 + 2]);
                ca_4 = sc_min_f32(ca_4, A_val[p_3 + 3]);
            }
            ca_1 = sc_min_f32(ca_1, ca_2);
            ca_1 = sc_min_f32(ca_1, ca_3);
            ca_1 = sc_min_f32(ca_1, ca_4);
            for (sc_i64 p_4 = whole_1; p_4 < A_hi; p_4++) {
                ca_1 = sc_min_f32(ca_1, A_val[p_4]);
            }
            m_val[i_1] = ca_1;
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

    float ca = __builtin_inff();
    const sc_i64 whole = begin + (end - begin - (end - begin) % 4);
    float ca_1 = __builtin_inff();
    float ca_2 = __builtin_inff();
    float ca_3 = __builtin_inff();
    for (sc_i64 p = begin; p < whole; p += 4) {
        ca = sc_min_f32(ca, A_val[p]);
        ca_1 = sc_min_f32(ca_1, A_val[p + 1]);
        ca_2 = sc_min_f32(ca_2, A_val[p + 2]);
        ca_3 = sc_min_f32(ca_3, A_val[p + 3]);
    }
    ca = sc_min_f32(ca, ca_1);
    ca = sc_min_f32(ca, ca_2);
    ca = sc_min_f32(ca, ca_3);
    for (sc_i64 p_1 = whole; p_1 < end; p_1++) {
        ca = sc_min_f32(ca, A_val[p_1]);
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

    const sc_i64 i = (sc_i64)A_crd0[begin];
    float ca = __builtin_inff();
    for (sc_i64 slot = 0; slot < carried; slot++) {
        ca = sc_min_f32(ca, c_carry[slot]);
    }
    m_val[i] = ca;
    return 0;
}

static int body_2(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    float *restrict const m_val = call->view[3].val;
    float *restrict const d_val = call->view[4].val;
    (void)lane;

    for (sc_i64 i = begin; i < end; i++) {
        d_val[i] = m_val[i] + 1.0f;
    }
    return 0;
}

#ifndef SC_KEY
#define SC_KEY ""
#endif
#ifndef SC_OBJECT
#define SC_OBJECT sc_kernels
#endif
__attribute__((visibility("default"))) const sc_object SC_OBJECT = {2, sizeof(sc_object), SC_KEY, 7, {body, part, finish, body_1, part_1, finish_1, body_2}};
