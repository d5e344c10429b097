/* Rounds each operation. */
/* Computes
 *   y[i] max= A[i,j] * X[i,f] * Z[j,f]
 * with
 *   A: csr f32, indices i32
 *   X: dense f32
 *   Z: dense f32
 *   y: dense f32
 * by
 *   par i in A {
 *     work v[f]: reg f32 {
 *       for j in A unroll 2 {
 *         vec f {
 *           v[f] max= A[i,j] * X[i,f] * Z[j,f]
 *         }
 *       }
 *     } then {
 *       work c: reg f32 {
 *         vec f {
 *           c max= v[f]
 *         }
 *       } then {
 *         y[i] = c
 *       }
 *     }
 *   }
 * because
 *   loops over A follow its storage order
 *   f is the vector: it runs at stride 1 in most operands
 */
typedef int i32x4 __attribute__((vector_size(16)));
typedef int i32x8 __attribute__((vector_size(32)));
typedef int i32x16 __attribute__((vector_size(64)));
typedef float f32x4 __attribute__((vector_size(16)));
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
SC_INLINE f32x16 sc_max_f32x16(f32x16 a, f32x16 b)
{
    i32x16 m = (i32x16)(a > b) | (i32x16)(a != a);
    return (f32x16)((m & (i32x16)a) | (~m & (i32x16)b));
}
SC_INLINE f32x8 sc_max_f32x8(f32x8 a, f32x8 b)
{
    i32x8 m = (i32x8)(a > b) | (i32x8)(a != a);
    return (f32x8)((m & (i32x8)a) | (~m & (i32x8)b));
}
SC_INLINE f32x4 sc_max_f32x4(f32x4 a, f32x4 b)
{
    i32x4 m = (i32x4)(a > b) | (i32x4)(a != a);
    return (f32x4)((m & (i32x4)a) | (~m & (i32x4)b));
}
SC_INLINE float sc_max_f32(float a, float b)
{
    const float r = a > b ? a : b;
    return a >= a ? r : a;
}
SC_INLINE float sc_hmax_f32x16(f32x16 v)
{
    f32x8 v8 = sc_max_f32x8((f32x8){v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7]},
                            (f32x8){v[8], v[9], v[10], v[11], v[12], v[13], v[14], v[15]});
    f32x4 v4 = sc_max_f32x4((f32x4){v8[0], v8[1], v8[2], v8[3]}, (f32x4){v8[4], v8[5], v8[6], v8[7]});
    f32x4 v2 = sc_max_f32x4(v4, (f32x4){v4[2], v4[3], v4[0], v4[1]});
    f32x4 v1 = sc_max_f32x4(v2, (f32x4){v2[1], v2[2], v2[3], v2[0]});
    return v1[0];
}
SC_INLINE float sc_hmax_f32x8(f32x8 v)
{
    f32x4 v4 = sc_max_f32x4((f32x4){v[0], v[1], v[2], v[3]}, (f32x4){v[4], v[5], v[6], v[7]});
    f32x4 v2 = sc_max_f32x4(v4, (f32x4){v4[2], v4[3], v4[0], v4[1]});
    f32x4 v1 = sc_max_f32x4(v2, (f32x4){v2[1], v2[2], v2[3], v2[0]});
    return v1[0];
}
SC_INLINE sc_i64 sc_pair_i32(const int *p) { return (sc_i64)(unsigned)p[0] | (sc_i64)p[1] << 32; }

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 X_stride0 = call->view[1].stride[0];
    const sc_i64 Z_stride0 = call->view[2].stride[0];
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const X_val = call->view[1].val;
    const float *restrict const Z_val = call->view[2].val;
    float *restrict const y_val = call->view[3].val;
    (void)lane;

    /* par i in A */
    for (sc_i64 i = begin; i < end; i++) {
        /* work v[f]: reg f32 */
        f32x16 v = sc_splat_f32x16(-__builtin_inff());
        f32x16 v_1 = sc_splat_f32x16(-__builtin_inff());
        f32x8 v_2 = sc_splat_f32x8(-__builtin_inff());
        /* for j in A unroll 2 */
        const sc_i64 A_lo = (sc_i64)A_pos1[i];
        const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
        const sc_i64 count = A_hi - A_lo;
        const sc_i64 whole = A_lo + (count - count % 2);
        f32x16 v_3 = sc_splat_f32x16(-__builtin_inff());
        f32x16 v_4 = sc_splat_f32x16(-__builtin_inff());
        f32x8 v_5 = sc_splat_f32x8(-__builtin_inff());
        for (sc_i64 p = A_lo; p < whole; p += 2) {
            const sc_i64 jj = sc_pair_i32(&A_crd1[p]);
            const sc_i64 j = jj & 4294967295;
            /* vec f { v[f] max= A[i,j] * X[i,f] * Z[j,f] } */
            const float a = A_val[p];
            const sc_i64 X_at = i * X_stride0;
            const sc_i64 Z_at = j * Z_stride0;
            v = sc_max_f32x16(v, sc_splat_f32x16(a) * sc_load_f32x16(&X_val[X_at]) *
                              sc_load_f32x16(&Z_val[Z_at]));
            v_1 = sc_max_f32x16(v_1,
                                sc_splat_f32x16(a) * sc_load_f32x16(&X_val[X_at + 16]) *
                                sc_load_f32x16(&Z_val[Z_at + 16]));
            v_2 = sc_max_f32x8(v_2, sc_splat_f32x8(a) * sc_load_f32x8(&X_val[X_at + 32]) *
                               sc_load_f32x8(&Z_val[Z_at + 32]));
            const sc_i64 j_1 = jj >> 32;
            const float a_1 = A_val[p + 1];
            const sc_i64 X_at_1 = i * X_stride0;
            const sc_i64 Z_at_1 = j_1 * Z_stride0;
            v_3 = sc_max_f32x16(v_3,
                                sc_splat_f32x16(a_1) * sc_load_f32x16(&X_val[X_at_1]) *
                                sc_load_f32x16(&Z_val[Z_at_1]));
            v_4 = sc_max_f32x16(v_4,
                                sc_splat_f32x16(a_1) * sc_load_f32x16(&X_val[X_at_1 + 16]) *
                                sc_load_f32x16(&Z_val[Z_at_1 + 16]));
            v_5 = sc_max_f32x8(v_5, sc_splat_f32x8(a_1) * sc_load_f32x8(&X_val[X_at_1 + 32]) *
                               sc_load_f32x8(&Z_val[Z_at_1 + 32]));
        }
        v = sc_max_f32x16(v, v_3);
        v_1 = sc_max_f32x16(v_1, v_4);
        v_2 = sc_max_f32x8(v_2, v_5);
        for (sc_i64 p = whole; p < A_hi; p++) {
            const sc_i64 j = (sc_i64)A_crd1[p];
            const float a = A_val[p];
            const sc_i64 X_at = i * X_stride0;
            const sc_i64 Z_at = j * Z_stride0;
            v = sc_max_f32x16(v, sc_splat_f32x16(a) * sc_load_f32x16(&X_val[X_at]) *
                              sc_load_f32x16(&Z_val[Z_at]));
            v_1 = sc_max_f32x16(v_1,
                                sc_splat_f32x16(a) * sc_load_f32x16(&X_val[X_at + 16]) *
                                sc_load_f32x16(&Z_val[Z_at + 16]));
            v_2 = sc_max_f32x8(v_2, sc_splat_f32x8(a) * sc_load_f32x8(&X_val[X_at + 32]) *
                               sc_load_f32x8(&Z_val[Z_at + 32]));
        }
        /* work c: reg f32 */
        float c = -__builtin_inff();
        /* vec f { c max= v[f] } */
        c = sc_max_f32(c, sc_max_f32(sc_hmax_f32x16(sc_max_f32x16(v, v_1)), sc_hmax_f32x8(v_2)));
        /* y[i] = c */
        y_val[i] = c;
    }
    return 0;
}

static int part(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 X_stride0 = call->view[1].stride[0];
    const sc_i64 Z_stride0 = call->view[2].stride[0];
    const sc_i64 unit = lane->cursor[0];
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const X_val = call->view[1].val;
    const float *restrict const Z_val = call->view[2].val;
    float *restrict const v_carry = lane->partial;

    /* par i in A */
    /* work v[f]: reg f32 */
    f32x16 v = sc_splat_f32x16(-__builtin_inff());
    f32x16 v_1 = sc_splat_f32x16(-__builtin_inff());
    f32x8 v_2 = sc_splat_f32x8(-__builtin_inff());
    /* for j in A unroll 2 */
    const sc_i64 count = end - begin;
    const sc_i64 whole = begin + (count - count % 2);
    f32x16 v_3 = sc_splat_f32x16(-__builtin_inff());
    f32x16 v_4 = sc_splat_f32x16(-__builtin_inff());
    f32x8 v_5 = sc_splat_f32x8(-__builtin_inff());
    for (sc_i64 p = begin; p < whole; p += 2) {
        const sc_i64 jj = sc_pair_i32(&A_crd1[p]);
        const sc_i64 j = jj & 4294967295;
        /* vec f { v[f] max= A[i,j] * X[i,f] * Z[j,f] } */
        const float a = A_val[p];
        const sc_i64 X_at = unit * X_stride0;
        const sc_i64 Z_at = j * Z_stride0;
        v = sc_max_f32x16(v,
                          sc_splat_f32x16(a) * sc_load_f32x16(&X_val[X_at]) * sc_load_f32x16(&Z_val[Z_at]));
        v_1 = sc_max_f32x16(v_1, sc_splat_f32x16(a) * sc_load_f32x16(&X_val[X_at + 16]) *
                            sc_load_f32x16(&Z_val[Z_at + 16]));
        v_2 = sc_max_f32x8(v_2, sc_splat_f32x8(a) * sc_load_f32x8(&X_val[X_at + 32]) *
                           sc_load_f32x8(&Z_val[Z_at + 32]));
        const sc_i64 j_1 = jj >> 32;
        const float a_1 = A_val[p + 1];
        const sc_i64 X_at_1 = unit * X_stride0;
        const sc_i64 Z_at_1 = j_1 * Z_stride0;
        v_3 = sc_max_f32x16(v_3, sc_splat_f32x16(a_1) * sc_load_f32x16(&X_val[X_at_1]) *
                            sc_load_f32x16(&Z_val[Z_at_1]));
        v_4 = sc_max_f32x16(v_4, sc_splat_f32x16(a_1) * sc_load_f32x16(&X_val[X_at_1 + 16]) *
                            sc_load_f32x16(&Z_val[Z_at_1 + 16]));
        v_5 = sc_max_f32x8(v_5, sc_splat_f32x8(a_1) * sc_load_f32x8(&X_val[X_at_1 + 32]) *
                           sc_load_f32x8(&Z_val[Z_at_1 + 32]));
    }
    v = sc_max_f32x16(v, v_3);
    v_1 = sc_max_f32x16(v_1, v_4);
    v_2 = sc_max_f32x8(v_2, v_5);
    for (sc_i64 p = whole; p < end; p++) {
        const sc_i64 j = (sc_i64)A_crd1[p];
        const float a = A_val[p];
        const sc_i64 X_at = unit * X_stride0;
        const sc_i64 Z_at = j * Z_stride0;
        v = sc_max_f32x16(v,
                          sc_splat_f32x16(a) * sc_load_f32x16(&X_val[X_at]) * sc_load_f32x16(&Z_val[Z_at]));
        v_1 = sc_max_f32x16(v_1, sc_splat_f32x16(a) * sc_load_f32x16(&X_val[X_at + 16]) *
                            sc_load_f32x16(&Z_val[Z_at + 16]));
        v_2 = sc_max_f32x8(v_2, sc_splat_f32x8(a) * sc_load_f32x8(&X_val[X_at + 32]) *
                           sc_load_f32x8(&Z_val[Z_at + 32]));
    }
    sc_store_f32x16(v_carry, v);
    sc_store_f32x16(&v_carry[16], v_1);
    sc_store_f32x8(&v_carry[32], v_2);
    return 0;
}

static int finish(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 carried = lane->cursor[1];
    float *restrict const y_val = call->view[3].val;
    float *restrict const v_carry = lane->partial;
    (void)end;

    /* par i in A */
    /* work v[f]: reg f32 */
    f32x16 v = sc_splat_f32x16(-__builtin_inff());
    f32x16 v_1 = sc_splat_f32x16(-__builtin_inff());
    f32x8 v_2 = sc_splat_f32x8(-__builtin_inff());
    for (sc_i64 slot = 0; slot < carried; slot++) {
        const sc_i64 at = slot * 40;
        v = sc_max_f32x16(v, sc_load_f32x16(&v_carry[at]));
        v_1 = sc_max_f32x16(v_1, sc_load_f32x16(&v_carry[at + 16]));
        v_2 = sc_max_f32x8(v_2, sc_load_f32x8(&v_carry[at + 32]));
    }
    /* work c: reg f32 */
    float c = -__builtin_inff();
    /* vec f { c max= v[f] } */
    c = sc_max_f32(c, sc_max_f32(sc_hmax_f32x16(sc_max_f32x16(v, v_1)), sc_hmax_f32x8(v_2)));
    /* y[i] = c */
    y_val[begin] = c;
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
