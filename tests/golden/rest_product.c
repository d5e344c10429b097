/* Computes
 *   R[i,k] max= A[i,j] * B[j,k]
 * with
 *   A: csr f32, indices i32
 *   B: dense f32
 *   R: dense f32
 * by
 *   par i in A {
 *     work c[k]: reg f32 {
 *       for j in A rest unroll 4 {
 *         vec k {
 *           c[k] max= A[i,j] * B[j,k]
 *         }
 *       }
 *     } then {
 *       vec k {
 *         R[i,k] = c[k]
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
SC_INLINE f32x16 sc_max_f32x16(f32x16 a, f32x16 b)
{
    i32x16 m = (i32x16)(a > b) | (i32x16)(a != a);
    return (f32x16)((m & (i32x16)a) | (~m & (i32x16)b));
}
SC_INLINE sc_i64 sc_pair_i32(const int *p) { return (sc_i64)(unsigned)p[0] | (sc_i64)p[1] << 32; }

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 B_stride0 = call->view[1].stride[0];
    const sc_i64 j_dim = call->dim[2];
    const sc_i64 R_stride0 = call->view[2].stride[0];
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const B_val = call->view[1].val;
    float *restrict const R_val = call->view[2].val;
    (void)lane;

    /* par i in A */
    for (sc_i64 i = begin; i < end; i++) {
        /* work c[k]: reg f32 */
        f32x16 c = sc_splat_f32x16(-__builtin_inff());
        /* for j in A rest unroll 4 */
        const sc_i64 A_lo = (sc_i64)A_pos1[i];
        const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
        const sc_i64 count = A_hi - A_lo;
        const sc_i64 whole = A_lo + (count - count % 4);
        f32x16 c_1 = sc_splat_f32x16(-__builtin_inff());
        f32x16 c_2 = sc_splat_f32x16(-__builtin_inff());
        f32x16 c_3 = sc_splat_f32x16(-__builtin_inff());
        for (sc_i64 p = A_lo; p < whole; p += 4) {
            const sc_i64 jj = sc_pair_i32(&A_crd1[p]);
            const sc_i64 j = jj & 4294967295;
            /* vec k { c[k] max= A[i,j] * B[j,k] } */
            const float a = A_val[p];
            const sc_i64 B_at = j * B_stride0;
            c = sc_max_f32x16(c, sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at]));
            const sc_i64 j_1 = jj >> 32;
            const float a_1 = A_val[p + 1];
            const sc_i64 B_at_1 = j_1 * B_stride0;
            c_1 = sc_max_f32x16(c_1, sc_splat_f32x16(a_1) * sc_load_f32x16(&B_val[B_at_1]));
            const sc_i64 jj_1 = sc_pair_i32(&A_crd1[p + 2]);
            const sc_i64 j_2 = jj_1 & 4294967295;
            const float a_2 = A_val[p + 2];
            const sc_i64 B_at_2 = j_2 * B_stride0;
            c_2 = sc_max_f32x16(c_2, sc_splat_f32x16(a_2) * sc_load_f32x16(&B_val[B_at_2]));
            const sc_i64 j_3 = jj_1 >> 32;
            const float a_3 = A_val[p + 3];
            const sc_i64 B_at_3 = j_3 * B_stride0;
            c_3 = sc_max_f32x16(c_3, sc_splat_f32x16(a_3) * sc_load_f32x16(&B_val[B_at_3]));
        }
        c = sc_max_f32x16(c, c_1);
        c = sc_max_f32x16(c, c_2);
        c = sc_max_f32x16(c, c_3);
        for (sc_i64 p = whole; p < A_hi; p++) {
            const sc_i64 j = (sc_i64)A_crd1[p];
            const float a = A_val[p];
            const sc_i64 B_at = j * B_stride0;
            c = sc_max_f32x16(c, sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at]));
        }
        /* the coordinates of j that were not visited, at once */
        const sc_i64 left = j_dim - (A_hi - A_lo);
        if (left > 0) {
            /* vec k { c[k] max= 0 } */
            c = sc_max_f32x16(c, (f32x16){0});
        }
        /* vec k { R[i,k] = c[k] } */
        const sc_i64 R_at = i * R_stride0;
        sc_store_f32x16(&R_val[R_at], c);
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
    f32x16 c = sc_splat_f32x16(-__builtin_inff());
    /* for j in A rest unroll 4 */
    const sc_i64 count = end - begin;
    const sc_i64 whole = begin + (count - count % 4);
    f32x16 c_1 = sc_splat_f32x16(-__builtin_inff());
    f32x16 c_2 = sc_splat_f32x16(-__builtin_inff());
    f32x16 c_3 = sc_splat_f32x16(-__builtin_inff());
    for (sc_i64 p = begin; p < whole; p += 4) {
        const sc_i64 jj = sc_pair_i32(&A_crd1[p]);
        const sc_i64 j = jj & 4294967295;
        /* vec k { c[k] max= A[i,j] * B[j,k] } */
        const float a = A_val[p];
        const sc_i64 B_at = j * B_stride0;
        c = sc_max_f32x16(c, sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at]));
        const sc_i64 j_1 = jj >> 32;
        const float a_1 = A_val[p + 1];
        const sc_i64 B_at_1 = j_1 * B_stride0;
        c_1 = sc_max_f32x16(c_1, sc_splat_f32x16(a_1) * sc_load_f32x16(&B_val[B_at_1]));
        const sc_i64 jj_1 = sc_pair_i32(&A_crd1[p + 2]);
        const sc_i64 j_2 = jj_1 & 4294967295;
        const float a_2 = A_val[p + 2];
        const sc_i64 B_at_2 = j_2 * B_stride0;
        c_2 = sc_max_f32x16(c_2, sc_splat_f32x16(a_2) * sc_load_f32x16(&B_val[B_at_2]));
        const sc_i64 j_3 = jj_1 >> 32;
        const float a_3 = A_val[p + 3];
        const sc_i64 B_at_3 = j_3 * B_stride0;
        c_3 = sc_max_f32x16(c_3, sc_splat_f32x16(a_3) * sc_load_f32x16(&B_val[B_at_3]));
    }
    c = sc_max_f32x16(c, c_1);
    c = sc_max_f32x16(c, c_2);
    c = sc_max_f32x16(c, c_3);
    for (sc_i64 p = whole; p < end; p++) {
        const sc_i64 j = (sc_i64)A_crd1[p];
        const float a = A_val[p];
        const sc_i64 B_at = j * B_stride0;
        c = sc_max_f32x16(c, sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at]));
    }
    sc_store_f32x16(c_carry, c);
    return 0;
}

static int finish(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 j_dim = call->dim[2];
    const sc_i64 R_stride0 = call->view[2].stride[0];
    const sc_i64 carried = lane->cursor[1];
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    float *restrict const R_val = call->view[2].val;
    float *restrict const c_carry = lane->partial;
    (void)end;

    /* par i in A */
    /* work c[k]: reg f32 */
    f32x16 c = sc_splat_f32x16(-__builtin_inff());
    for (sc_i64 slot = 0; slot < carried; slot++) {
        const sc_i64 at = slot * 16;
        c = sc_max_f32x16(c, sc_load_f32x16(&c_carry[at]));
    }
    const sc_i64 A_lo = (sc_i64)A_pos1[begin];
    const sc_i64 A_hi = (sc_i64)A_pos1[begin + 1];
    /* the coordinates of j that were not visited, at once */
    const sc_i64 left = j_dim - (A_hi - A_lo);
    if (left > 0) {
        /* vec k { c[k] max= 0 } */
        c = sc_max_f32x16(c, (f32x16){0});
    }
    /* vec k { R[i,k] = c[k] } */
    const sc_i64 R_at = begin * R_stride0;
    sc_store_f32x16(&R_val[R_at], c);
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
