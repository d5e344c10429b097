/* Computes
 *   y[i,f] = G[j,f] * A[i,j] / c[i] / d[j]
 * with
 *   A: csr f32, indices i32
 *   G: dense f32
 *   c: dense f32
 *   d: dense f32
 *   y: dense f32
 * by
 *   par i in A {
 *     work ca[f]: reg f32 {
 *       for j in A {
 *         vec f {
 *           ca[f] += A[i,j] / c[i] / d[j] * G[j,f]
 *         }
 *       }
 *     } then {
 *       vec f {
 *         y[i,f] = ca[f]
 *       }
 *     }
 *   }
 * because
 *   loops over A follow its storage order
 *   f is the vector: it runs at stride 1 in most operands
 */
typedef int i32x8 __attribute__((vector_size(32)));
typedef int i32x16 __attribute__((vector_size(64)));
typedef float f32x8 __attribute__((vector_size(32)));
typedef float f32x8u __attribute__((vector_size(32), aligned(4), may_alias));
typedef float f32x16 __attribute__((vector_size(64)));
typedef float f32x16u __attribute__((vector_size(64), aligned(4), may_alias));

#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE f32x16 sc_splat_f32x16(float x) { return (f32x16){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x}; }
SC_INLINE f32x8 sc_splat_f32x8(float x) { return (f32x8){x, x, x, x, x, x, x, x}; }
SC_INLINE f32x16 sc_load_f32x16(const float *p) { return *(const f32x16u *)p; }
SC_INLINE f32x8 sc_load_f32x8(const float *p) { return *(const f32x8u *)p; }
SC_INLINE void sc_store_f32x16(float *p, f32x16 x) { *(f32x16u *)p = x; }
SC_INLINE void sc_store_f32x8(float *p, f32x8 x) { *(f32x8u *)p = x; }

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 G_stride0 = call->view[1].stride[0];
    const sc_i64 y_stride0 = call->view[4].stride[0];
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const c_val = call->view[2].val;
    const float *restrict const d_val = call->view[3].val;
    const float *restrict const G_val = call->view[1].val;
    float *restrict const y_val = call->view[4].val;
    (void)lane;

    /* par i in A */
    for (sc_i64 i = begin; i < end; i++) {
        /* work ca[f]: reg f32 */
        f32x16 ca = (f32x16){0};
        f32x16 ca_1 = (f32x16){0};
        f32x8 ca_2 = (f32x8){0};
        /* for j in A */
        const sc_i64 A_lo = (sc_i64)A_pos1[i];
        const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
        for (sc_i64 p = A_lo; p < A_hi; p++) {
            const sc_i64 j = (sc_i64)A_crd1[p];
            /* vec f { ca[f] += A[i,j] / c[i] / d[j] * G[j,f] } */
            const float a = A_val[p];
            const float c = c_val[i];
            const float factor = a / c;
            const float d = d_val[j];
            const float factor_1 = factor / d;
            const sc_i64 G_at = j * G_stride0;
            ca = ca + sc_splat_f32x16(factor_1) * sc_load_f32x16(&G_val[G_at]);
            ca_1 = ca_1 + sc_splat_f32x16(factor_1) * sc_load_f32x16(&G_val[G_at + 16]);
            ca_2 = ca_2 + sc_splat_f32x8(factor_1) * sc_load_f32x8(&G_val[G_at + 32]);
        }
        /* vec f { y[i,f] = ca[f] } */
        const sc_i64 y_at = i * y_stride0;
        sc_store_f32x16(&y_val[y_at], ca);
        sc_store_f32x16(&y_val[y_at + 16], ca_1);
        sc_store_f32x8(&y_val[y_at + 32], ca_2);
    }
    return 0;
}

static int part(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 G_stride0 = call->view[1].stride[0];
    const sc_i64 unit = lane->cursor[0];
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const c_val = call->view[2].val;
    const float *restrict const d_val = call->view[3].val;
    const float *restrict const G_val = call->view[1].val;
    float *restrict const ca_carry = lane->partial;

    /* par i in A */
    /* work ca[f]: reg f32 */
    f32x16 ca = (f32x16){0};
    f32x16 ca_1 = (f32x16){0};
    f32x8 ca_2 = (f32x8){0};
    /* for j in A */
    for (sc_i64 p = begin; p < end; p++) {
        const sc_i64 j = (sc_i64)A_crd1[p];
        /* vec f { ca[f] += A[i,j] / c[i] / d[j] * G[j,f] } */
        const float a = A_val[p];
        const float c = c_val[unit];
        const float factor = a / c;
        const float d = d_val[j];
        const float factor_1 = factor / d;
        const sc_i64 G_at = j * G_stride0;
        ca = ca + sc_splat_f32x16(factor_1) * sc_load_f32x16(&G_val[G_at]);
        ca_1 = ca_1 + sc_splat_f32x16(factor_1) * sc_load_f32x16(&G_val[G_at + 16]);
        ca_2 = ca_2 + sc_splat_f32x8(factor_1) * sc_load_f32x8(&G_val[G_at + 32]);
    }
    sc_store_f32x16(ca_carry, ca);
    sc_store_f32x16(&ca_carry[16], ca_1);
    sc_store_f32x8(&ca_carry[32], ca_2);
    return 0;
}

static int finish(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 y_stride0 = call->view[4].stride[0];
    const sc_i64 carried = lane->cursor[1];
    float *restrict const y_val = call->view[4].val;
    float *restrict const ca_carry = lane->partial;
    (void)end;

    /* par i in A */
    /* work ca[f]: reg f32 */
    f32x16 ca = (f32x16){0};
    f32x16 ca_1 = (f32x16){0};
    f32x8 ca_2 = (f32x8){0};
    for (sc_i64 slot = 0; slot < carried; slot++) {
        const sc_i64 at = slot * 40;
        ca = ca + sc_load_f32x16(&ca_carry[at]);
        ca_1 = ca_1 + sc_load_f32x16(&ca_carry[at + 16]);
        ca_2 = ca_2 + sc_load_f32x8(&ca_carry[at + 32]);
    }
    /* vec f { y[i,f] = ca[f] } */
    const sc_i64 y_at = begin * y_stride0;
    sc_store_f32x16(&y_val[y_at], ca);
    sc_store_f32x16(&y_val[y_at + 16], ca_1);
    sc_store_f32x8(&y_val[y_at + 32], ca_2);
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
