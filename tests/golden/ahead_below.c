/* Computes
 *   C[i,h,f] = A[i,j,h] * B[j,h,f]
 * with
 *   A: dense(0), compressed(1), dense(2) f32, indices i32
 *   B: dense f32
 *   C: dense f32
 * by
 *   par i in A {
 *     for h {
 *       work c[f]: reg f32 {
 *         for j in A ahead 4 {
 *           vec f {
 *             c[f] += A[i,j,h] * B[j,h,f]
 *           }
 *         }
 *       } then {
 *         vec f {
 *           C[i,h,f] = c[f]
 *         }
 *       }
 *     }
 *   }
 */
typedef int i32x8 __attribute__((vector_size(32)));
typedef float f32x8 __attribute__((vector_size(32)));
typedef float f32x8u __attribute__((vector_size(32), aligned(4), may_alias));

#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE f32x8 sc_splat_f32x8(float x) { return (f32x8){x, x, x, x, x, x, x, x}; }
SC_INLINE f32x8 sc_load_f32x8(const float *p) { return *(const f32x8u *)p; }
SC_INLINE void sc_store_f32x8(float *p, f32x8 x) { *(f32x8u *)p = x; }
SC_INLINE sc_i64 sc_min_i64(sc_i64 a, sc_i64 b)
{
    return a < b ? a : b;
}

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 h_dim = call->dim[1];
    const sc_i64 A_npos1 = call->view[0].level[1].npos;
    const sc_i64 B_stride0 = call->view[1].stride[0];
    const sc_i64 B_stride1 = call->view[1].stride[1];
    const sc_i64 C_stride0 = call->view[2].stride[0];
    const sc_i64 C_stride1 = call->view[2].stride[1];
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const float *restrict const B_val = call->view[1].val;
    const float *restrict const A_val = call->view[0].val;
    float *restrict const C_val = call->view[2].val;
    (void)lane;

    /* par i in A */
    for (sc_i64 i = begin; i < end; i++) {
        /* for h */
        for (sc_i64 h = 0; h < h_dim; h++) {
            /* work c[f]: reg f32 */
            f32x8 c = (f32x8){0};
            /* for j in A ahead 4 */
            const sc_i64 A_lo = (sc_i64)A_pos1[i];
            const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
            for (sc_i64 p = A_lo; p < A_hi; p += 2) {
                const sc_i64 j = (sc_i64)A_crd1[p];
                const sc_i64 ahead = (sc_i64)A_crd1[sc_min_i64(p + 4, A_npos1 - 1)];
                const sc_i64 row = ahead * B_stride0 + h * B_stride1;
                __builtin_prefetch(&B_val[row]);
                /* vec f { c[f] += A[i,j,h] * B[j,h,f] } */
                const float a = A_val[p * h_dim + h];
                const sc_i64 B_at = j * B_stride0 + h * B_stride1;
                c = c + sc_splat_f32x8(a) * sc_load_f32x8(&B_val[B_at]);
                if (p + 1 < A_hi) {
                    const sc_i64 j_1 = (sc_i64)A_crd1[p + 1];
                    const sc_i64 ahead_1 = (sc_i64)A_crd1[sc_min_i64(p + 5, A_npos1 - 1)];
                    const sc_i64 row_1 = ahead_1 * B_stride0 + h * B_stride1;
                    __builtin_prefetch(&B_val[row_1]);
                    const float a_1 = A_val[(p + 1) * h_dim + h];
                    const sc_i64 B_at_1 = j_1 * B_stride0 + h * B_stride1;
                    c = c + sc_splat_f32x8(a_1) * sc_load_f32x8(&B_val[B_at_1]);
                }
            }
            /* vec f { C[i,h,f] = c[f] } */
            const sc_i64 C_at = i * C_stride0 + h * C_stride1;
            sc_store_f32x8(&C_val[C_at], c);
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
