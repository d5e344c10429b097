/* Computes
 *   y[i] += relu(X[i,j] - A[i,j]) * v[j]
 * with
 *   A: csr f32, indices i32
 *   X: dense f32
 *   v: dense f32
 *   y: dense f32
 * by
 *   par i in A {
 *     work c: reg f32 {
 *       work w[j]: lane f32 {
 *         vec j {
 *           w[j] = X[i,j]
 *         }
 *         for j in A {
 *           w[j] = X[i,j] - A[i,j]
 *         }
 *       } then {
 *         vec j {
 *           c += relu(w[j]) * v[j]
 *         }
 *       }
 *     } then {
 *       y[i] = c
 *     }
 *   }
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
SC_INLINE f32x16 sc_load_f32x16(const float *p) { return *(const f32x16u *)p; }
SC_INLINE f32x8 sc_load_f32x8(const float *p) { return *(const f32x8u *)p; }
SC_INLINE f32x4 sc_load_f32x4(const float *p) { return *(const f32x4u *)p; }
SC_INLINE f32x2 sc_load_f32x2(const float *p) { return *(const f32x2u *)p; }
SC_INLINE void sc_store_f32x16(float *p, f32x16 x) { *(f32x16u *)p = x; }
SC_INLINE void sc_store_f32x8(float *p, f32x8 x) { *(f32x8u *)p = x; }
SC_INLINE void sc_store_f32x4(float *p, f32x4 x) { *(f32x4u *)p = x; }
SC_INLINE void sc_store_f32x2(float *p, f32x2 x) { *(f32x2u *)p = x; }
SC_INLINE f32x16 sc_relu_f32x16(f32x16 x) { return (f32x16)(~(i32x16)(x <= (f32x16){0}) & (i32x16)x); }
SC_INLINE f32x8 sc_relu_f32x8(f32x8 x) { return (f32x8)(~(i32x8)(x <= (f32x8){0}) & (i32x8)x); }
SC_INLINE f32x4 sc_relu_f32x4(f32x4 x) { return (f32x4)(~(i32x4)(x <= (f32x4){0}) & (i32x4)x); }
SC_INLINE f32x2 sc_relu_f32x2(f32x2 x) { return (f32x2)(~(i32x2)(x <= (f32x2){0}) & (i32x2)x); }
SC_INLINE float sc_relu_f32(float x) { return x <= 0 ? 0 : x; }
SC_INLINE float sc_hadd_f32x16(f32x16 v)
{
    f32x8 v8 = (f32x8){v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7]} +
        (f32x8){v[8], v[9], v[10], v[11], v[12], v[13], v[14], v[15]};
    f32x4 v4 = (f32x4){v8[0], v8[1], v8[2], v8[3]} + (f32x4){v8[4], v8[5], v8[6], v8[7]};
    f32x4 v2 = v4 + (f32x4){v4[2], v4[3], v4[0], v4[1]};
    f32x4 v1 = v2 + (f32x4){v2[1], v2[2], v2[3], v2[0]};
    return v1[0];
}
SC_INLINE float sc_hadd_f32x8(f32x8 v)
{
    f32x4 v4 = (f32x4){v[0], v[1], v[2], v[3]} + (f32x4){v[4], v[5], v[6], v[7]};
    f32x4 v2 = v4 + (f32x4){v4[2], v4[3], v4[0], v4[1]};
    f32x4 v1 = v2 + (f32x4){v2[1], v2[2], v2[3], v2[0]};
    return v1[0];
}
SC_INLINE float sc_hadd_f32x4(f32x4 v)
{
    f32x4 v2 = v + (f32x4){v[2], v[3], v[0], v[1]};
    f32x4 v1 = v2 + (f32x4){v2[1], v2[2], v2[3], v2[0]};
    return v1[0];
}
SC_INLINE float sc_hadd_f32x2(f32x2 v)
{
    return v[0] + v[1];
}

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 j_dim = call->dim[1];
    const sc_i64 X_stride0 = call->view[1].stride[0];
    float *restrict const w_lane = lane->scratch;
    const float *restrict const X_val = call->view[1].val;
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const v_val = call->view[2].val;
    float *restrict const y_val = call->view[3].val;

    /* par i in A */
    for (sc_i64 i = begin; i < end; i++) {
        /* work c: reg f32 */
        float c = 0.0f;
        /* work w[j]: lane f32 */
        /* vec j { w[j] = X[i,j] } */
        const sc_i64 X_at = i * X_stride0;
        const sc_i64 rest = j_dim % 16;
        const sc_i64 full = j_dim - rest;
        for (sc_i64 j = 0; j < full; j += 16) {
            sc_store_f32x16(&w_lane[j], sc_load_f32x16(&X_val[X_at + j]));
        }
        if ((rest & 8) != 0) {
            const sc_i64 j = full + (rest & -16);
            sc_store_f32x8(&w_lane[j], sc_load_f32x8(&X_val[X_at + j]));
        }
        if ((rest & 4) != 0) {
            const sc_i64 j = full + (rest & -8);
            sc_store_f32x4(&w_lane[j], sc_load_f32x4(&X_val[X_at + j]));
        }
        if ((rest & 2) != 0) {
            const sc_i64 j = full + (rest & -4);
            sc_store_f32x2(&w_lane[j], sc_load_f32x2(&X_val[X_at + j]));
        }
        if ((rest & 1) != 0) {
            const sc_i64 j = full + (rest & -2);
            w_lane[j] = X_val[X_at + j];
        }
        /* for j in A */
        const sc_i64 A_lo = (sc_i64)A_pos1[i];
        const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
        for (sc_i64 p = A_lo; p < A_hi; p++) {
            const sc_i64 j = (sc_i64)A_crd1[p];
            /* w[j] = X[i,j] - A[i,j] */
            w_lane[j] = X_val[i * X_stride0 + j] - A_val[p];
        }
        /* vec j { c += relu(w[j]) * v[j] } */
        f32x16 sum = (f32x16){0};
        const sc_i64 rest_1 = j_dim % 16;
        const sc_i64 full_1 = j_dim - rest_1;
        for (sc_i64 j = 0; j < full_1; j += 16) {
            sum = sum + sc_relu_f32x16(sc_load_f32x16(&w_lane[j])) * sc_load_f32x16(&v_val[j]);
        }
        c = c + sc_hadd_f32x16(sum);
        if ((rest_1 & 8) != 0) {
            const sc_i64 j = full_1 + (rest_1 & -16);
            c = c + sc_hadd_f32x8(sc_relu_f32x8(sc_load_f32x8(&w_lane[j])) * sc_load_f32x8(&v_val[j]));
        }
        if ((rest_1 & 4) != 0) {
            const sc_i64 j = full_1 + (rest_1 & -8);
            c = c + sc_hadd_f32x4(sc_relu_f32x4(sc_load_f32x4(&w_lane[j])) * sc_load_f32x4(&v_val[j]));
        }
        if ((rest_1 & 2) != 0) {
            const sc_i64 j = full_1 + (rest_1 & -4);
            c = c + sc_hadd_f32x2(sc_relu_f32x2(sc_load_f32x2(&w_lane[j])) * sc_load_f32x2(&v_val[j]));
        }
        if ((rest_1 & 1) != 0) {
            const sc_i64 j = full_1 + (rest_1 & -2);
            c = c + sc_relu_f32(w_lane[j]) * v_val[j];
        }
        /* y[i] = c */
        y_val[i] = c;
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
    1, {body}};
