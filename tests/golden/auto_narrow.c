/* Computes
 *   C[i,k] = A[i,j] * x[j,k]
 * with
 *   A: csc bf16, indices i32
 *   x: dense bf16
 *   C: dense bf16
 * by
 *   work sum[i,k]: shared f32 {
 *     par k {
 *       for j {
 *         for i in A {
 *           sum[i,k] += A[i,j] * x[j,k]
 *         }
 *       }
 *     }
 *   } then {
 *     par i {
 *       vec k {
 *         C[i,k] = sum[i,k]
 *       }
 *     }
 *   }
 */
typedef short i16x2 __attribute__((vector_size(4)));
typedef int i32x2 __attribute__((vector_size(8)));
typedef unsigned short bf16x2 __attribute__((vector_size(4)));
typedef unsigned short bf16x2u __attribute__((vector_size(4), aligned(2), may_alias));
typedef float f32x2 __attribute__((vector_size(8)));
typedef float f32x2u __attribute__((vector_size(8), aligned(4), may_alias));

#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE f32x2 sc_load_f32x2(const float *p) { return *(const f32x2u *)p; }
SC_INLINE void sc_store_bf16x2(unsigned short *p, bf16x2 x) { *(bf16x2u *)p = x; }
SC_INLINE float sc_from_bf16_f32(unsigned short x)
{
    union { unsigned i; float f; } v;
    v.i = (unsigned)x << 16;
    return v.f;
}
SC_INLINE bf16x2 sc_to_bf16_f32x2(f32x2 x)
{
    const i32x2 b = (i32x2)x, nan = (i32x2)(x != x);
    const i32x2 r = (~nan & (b + 0x7fff + (b >> 16 & 1)) >> 16) | (nan & 0x7fc0);
    return __builtin_convertvector(r, bf16x2);
}

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 j_dim = call->dim[2];
    const sc_i64 x_stride0 = call->view[1].stride[0];
    const unsigned short *restrict const x_val = call->view[1].val;
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const unsigned short *restrict const A_val = call->view[0].val;
    float *restrict const sum_copy = call->shared[0];
    (void)lane;

    /* work sum[i,k]: shared f32 */
    /* par k */
    for (sc_i64 k = begin; k < end; k++) {
        /* for j */
        for (sc_i64 j = 0; j < j_dim; j++) {
            /* for i in A */
            const unsigned short x = x_val[j * x_stride0 + k];
            const sc_i64 A_lo = (sc_i64)A_pos1[j];
            const sc_i64 A_hi = (sc_i64)A_pos1[j + 1];
            for (sc_i64 p = A_lo; p < A_hi; p++) {
                const sc_i64 i = (sc_i64)A_crd1[p];
                /* sum[i,k] += A[i,j] * x[j,k] */
                const sc_i64 sum_at = i * 2 + k;
                sum_copy[sum_at] = sum_copy[sum_at] + sc_from_bf16_f32(A_val[p]) * sc_from_bf16_f32(x);
            }
        }
    }
    return 0;
}

static int body_1(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 C_stride0 = call->view[2].stride[0];
    float *restrict const sum_copy = call->shared[0];
    unsigned short *restrict const C_val = call->view[2].val;
    (void)lane;

    /* par i */
    for (sc_i64 i = begin; i < end; i++) {
        /* vec k { C[i,k] = sum[i,k] } */
        const sc_i64 sum_at = i * 2;
        const sc_i64 C_at = i * C_stride0;
        sc_store_bf16x2(&C_val[C_at], sc_to_bf16_f32x2(sc_load_f32x2(&sum_copy[sum_at])));
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
    2, {body, body_1}};
