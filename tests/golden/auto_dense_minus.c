/* Computes
 *   C[i,j] = X[i,j] - A[i,j]
 * with
 *   A: csr f32, indices i32
 *   X: dense f32
 *   C: dense f32
 * by
 *   par i in A {
 *     vec j {
 *       C[i,j] = X[i,j]
 *     }
 *     for j in A {
 *       C[i,j] = X[i,j] - A[i,j]
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

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 X_stride0 = call->view[1].stride[0];
    const sc_i64 C_stride0 = call->view[2].stride[0];
    const sc_i64 j_dim = call->dim[1];
    const float *restrict const X_val = call->view[1].val;
    float *restrict const C_val = call->view[2].val;
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const float *restrict const A_val = call->view[0].val;
    (void)lane;

    /* par i in A */
    for (sc_i64 i = begin; i < end; i++) {
        /* vec j { C[i,j] = X[i,j] } */
        const sc_i64 X_at = i * X_stride0;
        const sc_i64 C_at = i * C_stride0;
        const sc_i64 rest = j_dim % 16;
        const sc_i64 full = j_dim - rest;
        for (sc_i64 j = 0; j < full; j += 16) {
            sc_store_f32x16(&C_val[C_at + j], sc_load_f32x16(&X_val[X_at + j]));
        }
        if ((rest & 8) != 0) {
            const sc_i64 j = full + (rest & -16);
            sc_store_f32x8(&C_val[C_at + j], sc_load_f32x8(&X_val[X_at + j]));
        }
        if ((rest & 4) != 0) {
            const sc_i64 j = full + (rest & -8);
            sc_store_f32x4(&C_val[C_at + j], sc_load_f32x4(&X_val[X_at + j]));
        }
        if ((rest & 2) != 0) {
            const sc_i64 j = full + (rest & -4);
            sc_store_f32x2(&C_val[C_at + j], sc_load_f32x2(&X_val[X_at + j]));
        }
        if ((rest & 1) != 0) {
            const sc_i64 j = full + (rest & -2);
            C_val[C_at + j] = X_val[X_at + j];
        }
        /* for j in A */
        const sc_i64 A_lo = (sc_i64)A_pos1[i];
        const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
        for (sc_i64 p = A_lo; p < A_hi; p++) {
            const sc_i64 j = (sc_i64)A_crd1[p];
            /* C[i,j] = X[i,j] - A[i,j] */
            C_val[i * C_stride0 + j] = X_val[i * X_stride0 + j] - A_val[p];
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
    1, {body}};
