/* Computes
 *   C[i,k] = A[i,j] * B[j,k]
 * with
 *   A: csr f32, indices i32
 *   B: dense f32
 *   C: dense f32
 * by
 *   par i in A {
 *     work c[k]: reg f32 {
 *       for j in A ahead 4 {
 *         vec k {
 *           c[k] += A[i,j] * B[j,k]
 *         }
 *       }
 *     } then {
 *       vec k {
 *         C[i,k] = c[k]
 *       }
 *     }
 *   }
 */
typedef int i32x16 __attribute__((vector_size(64)));
typedef float f32x16 __attribute__((vector_size(64)));
typedef float f32x16u __attribute__((vector_size(64), aligned(4), may_alias));

#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE f32x16 sc_splat_f32x16(float x) { return (f32x16){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x}; }
SC_INLINE f32x16 sc_load_f32x16(const float *p) { return *(const f32x16u *)p; }
SC_INLINE void sc_store_f32x16(float *p, f32x16 x) { *(f32x16u *)p = x; }
SC_INLINE sc_i64 sc_min_i64(sc_i64 a, sc_i64 b)
{
    return a < b ? a : b;
}

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 A_npos1 = call->view[0].level[1].npos;
    const sc_i64 B_stride0 = call->view[1].stride[0];
    const sc_i64 C_stride0 = call->view[2].stride[0];
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const float *restrict const B_val = call->view[1].val;
    const int *restrict const A_perm = call->view[0].perm;
    const float *restrict const A_val = call->view[0].val;
    float *restrict const C_val = call->view[2].val;
    (void)lane;

    /* par i in A */
    for (sc_i64 i = begin; i < end; i++) {
        /* work c[k]: reg f32 */
        f32x16 c = (f32x16){0};
        /* for j in A ahead 4 */
        const sc_i64 A_lo = (sc_i64)A_pos1[i];
        const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
        for (sc_i64 p = A_lo; p < A_hi; p += 2) {
            const sc_i64 j = (sc_i64)A_crd1[p];
            const sc_i64 ahead = (sc_i64)A_crd1[sc_min_i64(p + 4, A_npos1 - 1)];
            const sc_i64 row = ahead * B_stride0;
            __builtin_prefetch(&B_val[row]);
            const sc_i64 value = (sc_i64)A_perm[sc_min_i64(p + 4, A_npos1 - 1)];
            __builtin_prefetch(&A_val[value]);
            /* vec k { c[k] += A[i,j] * B[j,k] } */
            const float a = A_val[(sc_i64)A_perm[p]];
            const sc_i64 B_at = j * B_stride0;
            c = c + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at]);
            if (p + 1 < A_hi) {
                const sc_i64 j_1 = (sc_i64)A_crd1[p + 1];
                const sc_i64 ahead_1 = (sc_i64)A_crd1[sc_min_i64(p + 5, A_npos1 - 1)];
                const sc_i64 row_1 = ahead_1 * B_stride0;
                __builtin_prefetch(&B_val[row_1]);
                const sc_i64 value_1 = (sc_i64)A_perm[sc_min_i64(p + 5, A_npos1 - 1)];
                __builtin_prefetch(&A_val[value_1]);
                const float a_1 = A_val[(sc_i64)A_perm[p + 1]];
                const sc_i64 B_at_1 = j_1 * B_stride0;
                c = c + sc_splat_f32x16(a_1) * sc_load_f32x16(&B_val[B_at_1]);
            }
        }
        /* vec k { C[i,k] = c[k] } */
        const sc_i64 C_at = i * C_stride0;
        sc_store_f32x16(&C_val[C_at], c);
    }
    return 0;
}

static int part(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 A_npos1 = call->view[0].level[1].npos;
    const sc_i64 B_stride0 = call->view[1].stride[0];
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const float *restrict const B_val = call->view[1].val;
    const int *restrict const A_perm = call->view[0].perm;
    const float *restrict const A_val = call->view[0].val;
    float *restrict const c_carry = lane->partial;

    /* par i in A */
    /* work c[k]: reg f32 */
    f32x16 c = (f32x16){0};
    /* for j in A ahead 4 */
    for (sc_i64 p = begin; p < end; p += 2) {
        const sc_i64 j = (sc_i64)A_crd1[p];
        const sc_i64 ahead = (sc_i64)A_crd1[sc_min_i64(p + 4, A_npos1 - 1)];
        const sc_i64 row = ahead * B_stride0;
        __builtin_prefetch(&B_val[row]);
        const sc_i64 value = (sc_i64)A_perm[sc_min_i64(p + 4, A_npos1 - 1)];
        __builtin_prefetch(&A_val[value]);
        /* vec k { c[k] += A[i,j] * B[j,k] } */
        const float a = A_val[(sc_i64)A_perm[p]];
        const sc_i64 B_at = j * B_stride0;
        c = c + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at]);
        if (p + 1 < end) {
            const sc_i64 j_1 = (sc_i64)A_crd1[p + 1];
            const sc_i64 ahead_1 = (sc_i64)A_crd1[sc_min_i64(p + 5, A_npos1 - 1)];
            const sc_i64 row_1 = ahead_1 * B_stride0;
            __builtin_prefetch(&B_val[row_1]);
            const sc_i64 value_1 = (sc_i64)A_perm[sc_min_i64(p + 5, A_npos1 - 1)];
            __builtin_prefetch(&A_val[value_1]);
            const float a_1 = A_val[(sc_i64)A_perm[p + 1]];
            const sc_i64 B_at_1 = j_1 * B_stride0;
            c = c + sc_splat_f32x16(a_1) * sc_load_f32x16(&B_val[B_at_1]);
        }
    }
    sc_store_f32x16(c_carry, c);
    return 0;
}

static int finish(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 C_stride0 = call->view[2].stride[0];
    const sc_i64 carried = lane->cursor[1];
    float *restrict const C_val = call->view[2].val;
    float *restrict const c_carry = lane->partial;
    (void)end;

    /* par i in A */
    /* work c[k]: reg f32 */
    f32x16 c = (f32x16){0};
    for (sc_i64 slot = 0; slot < carried; slot++) {
        const sc_i64 at = slot * 16;
        c = c + sc_load_f32x16(&c_carry[at]);
    }
    /* vec k { C[i,k] = c[k] } */
    const sc_i64 C_at = begin * C_stride0;
    sc_store_f32x16(&C_val[C_at], c);
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
