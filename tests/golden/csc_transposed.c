/* Computes
 *   C[j,k] = A[i,j] * B[i,k]
 * with
 *   A: csc f32, indices i32
 *   B: dense f32
 *   C: dense f32
 * by
 *   par j in A {
 *     work c[k]: reg f32 {
 *       for i in A unroll 4 {
 *         vec k {
 *           c[k] += A[i,j] * B[i,k]
 *         }
 *       }
 *     } then {
 *       vec k {
 *         C[j,k] = c[k]
 *       }
 *     }
 *   }
 * because
 *   loops over A follow its storage order
 *   k is the vector: it runs at stride 1 in most operands
 */
typedef int i32x16 __attribute__((vector_size(64)));
typedef float f32x16 __attribute__((vector_size(64)));
typedef float f32x16u __attribute__((vector_size(64), aligned(4), may_alias));

#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE f32x16 sc_splat_f32x16(float x) { return (f32x16){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x}; }
SC_INLINE f32x16 sc_load_f32x16(const float *p) { return *(const f32x16u *)p; }
SC_INLINE void sc_store_f32x16(float *p, f32x16 x) { *(f32x16u *)p = x; }
SC_INLINE sc_i64 sc_pair_i32(const int *p) { return (sc_i64)(unsigned)p[0] | (sc_i64)p[1] << 32; }

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 B_stride0 = call->view[1].stride[0];
    const sc_i64 C_stride0 = call->view[2].stride[0];
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const B_val = call->view[1].val;
    float *restrict const C_val = call->view[2].val;
    (void)lane;

    /* par j in A */
    for (sc_i64 j = begin; j < end; j++) {
        /* work c[k]: reg f32 */
        f32x16 c = (f32x16){0};
        /* for i in A unroll 4 */
        const sc_i64 A_lo = (sc_i64)A_pos1[j];
        const sc_i64 A_hi = (sc_i64)A_pos1[j + 1];
        const sc_i64 count = A_hi - A_lo;
        const sc_i64 whole = A_lo + (count - count % 4);
        f32x16 c_1 = (f32x16){0};
        f32x16 c_2 = (f32x16){0};
        f32x16 c_3 = (f32x16){0};
        for (sc_i64 p = A_lo; p < whole; p += 4) {
            const sc_i64 ii = sc_pair_i32(&A_crd1[p]);
            const sc_i64 i = ii & 4294967295;
            /* vec k { c[k] += A[i,j] * B[i,k] } */
            const float a = A_val[p];
            const sc_i64 B_at = i * B_stride0;
            c = c + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at]);
            const sc_i64 i_1 = ii >> 32;
            const float a_1 = A_val[p + 1];
            const sc_i64 B_at_1 = i_1 * B_stride0;
            c_1 = c_1 + sc_splat_f32x16(a_1) * sc_load_f32x16(&B_val[B_at_1]);
            const sc_i64 ii_1 = sc_pair_i32(&A_crd1[p + 2]);
            const sc_i64 i_2 = ii_1 & 4294967295;
            const float a_2 = A_val[p + 2];
            const sc_i64 B_at_2 = i_2 * B_stride0;
            c_2 = c_2 + sc_splat_f32x16(a_2) * sc_load_f32x16(&B_val[B_at_2]);
            const sc_i64 i_3 = ii_1 >> 32;
            const float a_3 = A_val[p + 3];
            const sc_i64 B_at_3 = i_3 * B_stride0;
            c_3 = c_3 + sc_splat_f32x16(a_3) * sc_load_f32x16(&B_val[B_at_3]);
        }
        c = c + c_1;
        c = c + c_2;
        c = c + c_3;
        for (sc_i64 p = whole; p < A_hi; p++) {
            const sc_i64 i = (sc_i64)A_crd1[p];
            const float a = A_val[p];
            const sc_i64 B_at = i * B_stride0;
            c = c + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at]);
        }
        /* vec k { C[j,k] = c[k] } */
        const sc_i64 C_at = j * C_stride0;
        sc_store_f32x16(&C_val[C_at], c);
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

    /* par j in A */
    /* work c[k]: reg f32 */
    f32x16 c = (f32x16){0};
    /* for i in A unroll 4 */
    const sc_i64 count = end - begin;
    const sc_i64 whole = begin + (count - count % 4);
    f32x16 c_1 = (f32x16){0};
    f32x16 c_2 = (f32x16){0};
    f32x16 c_3 = (f32x16){0};
    for (sc_i64 p = begin; p < whole; p += 4) {
        const sc_i64 ii = sc_pair_i32(&A_crd1[p]);
        const sc_i64 i = ii & 4294967295;
        /* vec k { c[k] += A[i,j] * B[i,k] } */
        const float a = A_val[p];
        const sc_i64 B_at = i * B_stride0;
        c = c + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at]);
        const sc_i64 i_1 = ii >> 32;
        const float a_1 = A_val[p + 1];
        const sc_i64 B_at_1 = i_1 * B_stride0;
        c_1 = c_1 + sc_splat_f32x16(a_1) * sc_load_f32x16(&B_val[B_at_1]);
        const sc_i64 ii_1 = sc_pair_i32(&A_crd1[p + 2]);
        const sc_i64 i_2 = ii_1 & 4294967295;
        const float a_2 = A_val[p + 2];
        const sc_i64 B_at_2 = i_2 * B_stride0;
        c_2 = c_2 + sc_splat_f32x16(a_2) * sc_load_f32x16(&B_val[B_at_2]);
        const sc_i64 i_3 = ii_1 >> 32;
        const float a_3 = A_val[p + 3];
        const sc_i64 B_at_3 = i_3 * B_stride0;
        c_3 = c_3 + sc_splat_f32x16(a_3) * sc_load_f32x16(&B_val[B_at_3]);
    }
    c = c + c_1;
    c = c + c_2;
    c = c + c_3;
    for (sc_i64 p = whole; p < end; p++) {
        const sc_i64 i = (sc_i64)A_crd1[p];
        const float a = A_val[p];
        const sc_i64 B_at = i * B_stride0;
        c = c + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at]);
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

    /* par j in A */
    /* work c[k]: reg f32 */
    f32x16 c = (f32x16){0};
    for (sc_i64 slot = 0; slot < carried; slot++) {
        const sc_i64 at = slot * 16;
        c = c + sc_load_f32x16(&c_carry[at]);
    }
    /* vec k { C[j,k] = c[k] } */
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
