/* Computes
 *   C[i,k] = A[i,j] * B[j,k]
 * with
 *   A: csr f32, indices i32
 *   B: dense f32
 *   C: dense f32
 * by
 *   par i in A {
 *     work c[k]: reg f32 {
 *       for j in A unroll 4 {
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
 * because
 *   loops over A follow its storage order
 *   k is the vector: it runs at stride 1 in most operands
 */
typedef int i32x4 __attribute__((vector_size(16)));
typedef float f32x4 __attribute__((vector_size(16)));
typedef float f32x4u __attribute__((vector_size(16), aligned(4), may_alias));

#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE f32x4 sc_splat_f32x4(float x) { return (f32x4){x, x, x, x}; }
SC_INLINE f32x4 sc_load_f32x4(const float *p) { return *(const f32x4u *)p; }
SC_INLINE void sc_store_f32x4(float *p, f32x4 x) { *(f32x4u *)p = x; }
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

    /* par i in A */
    for (sc_i64 i = begin; i < end; i++) {
        /* work c[k]: reg f32 */
        f32x4 c = (f32x4){0};
        f32x4 c_1 = (f32x4){0};
        /* for j in A unroll 4 */
        const sc_i64 A_lo = (sc_i64)A_pos1[i];
        const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
        const sc_i64 count = A_hi - A_lo;
        const sc_i64 whole = A_lo + (count - count % 4);
        f32x4 c_2 = (f32x4){0};
        f32x4 c_3 = (f32x4){0};
        f32x4 c_4 = (f32x4){0};
        f32x4 c_5 = (f32x4){0};
        f32x4 c_6 = (f32x4){0};
        f32x4 c_7 = (f32x4){0};
        for (sc_i64 p = A_lo; p < whole; p += 4) {
            const sc_i64 jj = sc_pair_i32(&A_crd1[p]);
            const sc_i64 j = jj & 4294967295;
            /* vec k { c[k] += A[i,j] * B[j,k] } */
            const float a = A_val[p];
            const sc_i64 B_at = j * B_stride0;
            c = c + sc_splat_f32x4(a) * sc_load_f32x4(&B_val[B_at]);
            c_1 = c_1 + sc_splat_f32x4(a) * sc_load_f32x4(&B_val[B_at + 3]);
            const sc_i64 j_1 = jj >> 32;
            const float a_1 = A_val[p + 1];
            const sc_i64 B_at_1 = j_1 * B_stride0;
            c_2 = c_2 + sc_splat_f32x4(a_1) * sc_load_f32x4(&B_val[B_at_1]);
            c_5 = c_5 + sc_splat_f32x4(a_1) * sc_load_f32x4(&B_val[B_at_1 + 3]);
            const sc_i64 jj_1 = sc_pair_i32(&A_crd1[p + 2]);
            const sc_i64 j_2 = jj_1 & 4294967295;
            const float a_2 = A_val[p + 2];
            const sc_i64 B_at_2 = j_2 * B_stride0;
            c_3 = c_3 + sc_splat_f32x4(a_2) * sc_load_f32x4(&B_val[B_at_2]);
            c_6 = c_6 + sc_splat_f32x4(a_2) * sc_load_f32x4(&B_val[B_at_2 + 3]);
            const sc_i64 j_3 = jj_1 >> 32;
            const float a_3 = A_val[p + 3];
            const sc_i64 B_at_3 = j_3 * B_stride0;
            c_4 = c_4 + sc_splat_f32x4(a_3) * sc_load_f32x4(&B_val[B_at_3]);
            c_7 = c_7 + sc_splat_f32x4(a_3) * sc_load_f32x4(&B_val[B_at_3 + 3]);
        }
        c = c + c_2;
        c = c + c_3;
        c = c + c_4;
        c_1 = c_1 + c_5;
        c_1 = c_1 + c_6;
        c_1 = c_1 + c_7;
        for (sc_i64 p = whole; p < A_hi; p++) {
            const sc_i64 j = (sc_i64)A_crd1[p];
            const float a = A_val[p];
            const sc_i64 B_at = j * B_stride0;
            c = c + sc_splat_f32x4(a) * sc_load_f32x4(&B_val[B_at]);
            c_1 = c_1 + sc_splat_f32x4(a) * sc_load_f32x4(&B_val[B_at + 3]);
        }
        /* vec k { C[i,k] = c[k] } */
        const sc_i64 C_at = i * C_stride0;
        sc_store_f32x4(&C_val[C_at], c);
        sc_store_f32x4(&C_val[C_at + 3], c_1);
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
    f32x4 c = (f32x4){0};
    f32x4 c_1 = (f32x4){0};
    /* for j in A unroll 4 */
    const sc_i64 count = end - begin;
    const sc_i64 whole = begin + (count - count % 4);
    f32x4 c_2 = (f32x4){0};
    f32x4 c_3 = (f32x4){0};
    f32x4 c_4 = (f32x4){0};
    f32x4 c_5 = (f32x4){0};
    f32x4 c_6 = (f32x4){0};
    f32x4 c_7 = (f32x4){0};
    for (sc_i64 p = begin; p < whole; p += 4) {
        const sc_i64 jj = sc_pair_i32(&A_crd1[p]);
        const sc_i64 j = jj & 4294967295;
        /* vec k { c[k] += A[i,j] * B[j,k] } */
        const float a = A_val[p];
        const sc_i64 B_at = j * B_stride0;
        c = c + sc_splat_f32x4(a) * sc_load_f32x4(&B_val[B_at]);
        c_1 = c_1 + sc_splat_f32x4(a) * sc_load_f32x4(&B_val[B_at + 3]);
        const sc_i64 j_1 = jj >> 32;
        const float a_1 = A_val[p + 1];
        const sc_i64 B_at_1 = j_1 * B_stride0;
        c_2 = c_2 + sc_splat_f32x4(a_1) * sc_load_f32x4(&B_val[B_at_1]);
        c_5 = c_5 + sc_splat_f32x4(a_1) * sc_load_f32x4(&B_val[B_at_1 + 3]);
        const sc_i64 jj_1 = sc_pair_i32(&A_crd1[p + 2]);
        const sc_i64 j_2 = jj_1 & 4294967295;
        const float a_2 = A_val[p + 2];
        const sc_i64 B_at_2 = j_2 * B_stride0;
        c_3 = c_3 + sc_splat_f32x4(a_2) * sc_load_f32x4(&B_val[B_at_2]);
        c_6 = c_6 + sc_splat_f32x4(a_2) * sc_load_f32x4(&B_val[B_at_2 + 3]);
        const sc_i64 j_3 = jj_1 >> 32;
        const float a_3 = A_val[p + 3];
        const sc_i64 B_at_3 = j_3 * B_stride0;
        c_4 = c_4 + sc_splat_f32x4(a_3) * sc_load_f32x4(&B_val[B_at_3]);
        c_7 = c_7 + sc_splat_f32x4(a_3) * sc_load_f32x4(&B_val[B_at_3 + 3]);
    }
    c = c + c_2;
    c = c + c_3;
    c = c + c_4;
    c_1 = c_1 + c_5;
    c_1 = c_1 + c_6;
    c_1 = c_1 + c_7;
    for (sc_i64 p = whole; p < end; p++) {
        const sc_i64 j = (sc_i64)A_crd1[p];
        const float a = A_val[p];
        const sc_i64 B_at = j * B_stride0;
        c = c + sc_splat_f32x4(a) * sc_load_f32x4(&B_val[B_at]);
        c_1 = c_1 + sc_splat_f32x4(a) * sc_load_f32x4(&B_val[B_at + 3]);
    }
    sc_store_f32x4(c_carry, c);
    sc_store_f32x4(&c_carry[3], c_1);
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
    f32x4 c = (f32x4){0};
    f32x4 c_1 = (f32x4){0};
    for (sc_i64 slot = 0; slot < carried; slot++) {
        const sc_i64 at = slot * 7;
        c = c + sc_load_f32x4(&c_carry[at]);
        c_1 = c_1 + sc_load_f32x4(&c_carry[at + 3]);
    }
    /* vec k { C[i,k] = c[k] } */
    const sc_i64 C_at = begin * C_stride0;
    sc_store_f32x4(&C_val[C_at], c);
    sc_store_f32x4(&C_val[C_at + 3], c_1);
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
