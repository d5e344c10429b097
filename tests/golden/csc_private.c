/* Computes
 *   C[i,k] = A[i,j] * B[j,k]
 * with
 *   A: csc f32, indices i32
 *   B: dense f32
 *   C: dense f32
 * by
 *   work w[i,k]: private f32 {
 *     par j in A {
 *       work c[k]: reg f32 {
 *         vec k {
 *           c[k] += B[j,k]
 *         }
 *       } then {
 *         for i in A {
 *           vec k {
 *             w[i,k] += A[i,j] * c[k]
 *           }
 *         }
 *       }
 *     }
 *   } then {
 *     par i {
 *       vec k {
 *         C[i,k] = w[i,k]
 *       }
 *     }
 *   }
 * because
 *   loops over A follow its storage order
 *   k is the vector: it runs at stride 1 in most operands
 *   sums scatter over a small result: every thread has a copy, added up in order
 */
typedef int i32x16 __attribute__((vector_size(64)));
typedef float f32x16 __attribute__((vector_size(64)));
typedef float f32x16u __attribute__((vector_size(64), aligned(4), may_alias));

#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE f32x16 sc_splat_f32x16(float x) { return (f32x16){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x}; }
SC_INLINE f32x16 sc_load_f32x16(const float *p) { return *(const f32x16u *)p; }
SC_INLINE void sc_store_f32x16(float *p, f32x16 x) { *(f32x16u *)p = x; }

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 B_stride0 = call->view[1].stride[0];
    const float *restrict const B_val = call->view[1].val;
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const float *restrict const A_val = call->view[0].val;
    float *restrict const w_copy = lane->partial;

    /* work w[i,k]: private f32 */
    /* par j in A */
    for (sc_i64 j = begin; j < end; j++) {
        /* work c[k]: reg f32 */
        f32x16 c = (f32x16){0};
        /* vec k { c[k] += B[j,k] } */
        const sc_i64 B_at = j * B_stride0;
        c = c + sc_load_f32x16(&B_val[B_at]);
        /* for i in A */
        const sc_i64 A_lo = (sc_i64)A_pos1[j];
        const sc_i64 A_hi = (sc_i64)A_pos1[j + 1];
        for (sc_i64 p = A_lo; p < A_hi; p++) {
            const sc_i64 i = (sc_i64)A_crd1[p];
            /* vec k { w[i,k] += A[i,j] * c[k] } */
            const float a = A_val[p];
            const sc_i64 w_at = i * 16;
            sc_store_f32x16(&w_copy[w_at], sc_load_f32x16(&w_copy[w_at]) + sc_splat_f32x16(a) * c);
        }
    }
    return 0;
}

static int body_1(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 C_stride0 = call->view[2].stride[0];
    const sc_i64 i_dim = call->dim[0];
    const sc_i64 copies = call->copies[0];
    float *restrict const w_copy_1 = call->shared[0];
    float *restrict const C_val = call->view[2].val;
    (void)lane;

    /* par i */
    for (sc_i64 i = begin; i < end; i++) {
        /* vec k { C[i,k] = w[i,k] } */
        const sc_i64 w_at = i * 16;
        const sc_i64 C_at = i * C_stride0;
        f32x16 w = (f32x16){0};
        for (sc_i64 copy = 0; copy < copies; copy++) {
            w = w + sc_load_f32x16(&w_copy_1[copy * (i_dim * 16) + w_at]);
        }
        sc_store_f32x16(&C_val[C_at], w);
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
