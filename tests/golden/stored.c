/* Computes
 *   D[i,j] = stored(A[i,j]) * G[i,k] * B[j,k]
 * with
 *   A: csr f32, indices i32
 *   G: dense f32
 *   B: dense f32
 *   D: csr f32, indices i32
 * by
 *   par i in A {
 *     for j in A {
 *       work s: reg f32 {
 *         vec k {
 *           s += G[i,k] * B[j,k]
 *         }
 *       } then {
 *         D[i,j] = stored(A[i,j]) * s
 *       }
 *     }
 *   }
 */
typedef int i32x16 __attribute__((vector_size(64)));
typedef float f32x4 __attribute__((vector_size(16)));
typedef float f32x8 __attribute__((vector_size(32)));
typedef float f32x16 __attribute__((vector_size(64)));
typedef float f32x16u __attribute__((vector_size(64), aligned(4), may_alias));

#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE f32x16 sc_load_f32x16(const float *p) { return *(const f32x16u *)p; }
SC_INLINE float sc_hadd_f32x16(f32x16 v)
{
    f32x8 v8 = (f32x8){v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7]} +
        (f32x8){v[8], v[9], v[10], v[11], v[12], v[13], v[14], v[15]};
    f32x4 v4 = (f32x4){v8[0], v8[1], v8[2], v8[3]} + (f32x4){v8[4], v8[5], v8[6], v8[7]};
    f32x4 v2 = v4 + (f32x4){v4[2], v4[3], v4[0], v4[1]};
    f32x4 v1 = v2 + (f32x4){v2[1], v2[2], v2[3], v2[0]};
    return v1[0];
}

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 G_stride0 = call->view[1].stride[0];
    const sc_i64 B_stride0 = call->view[2].stride[0];
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const float *restrict const G_val = call->view[1].val;
    const float *restrict const B_val = call->view[2].val;
    float *restrict const D_val = call->view[3].val;
    (void)lane;

    /* par i in A */
    for (sc_i64 i = begin; i < end; i++) {
        /* for j in A */
        const sc_i64 A_lo = (sc_i64)A_pos1[i];
        const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
        for (sc_i64 p = A_lo; p < A_hi; p++) {
            const sc_i64 j = (sc_i64)A_crd1[p];
            /* work s: reg f32 */
            float s = 0.0f;
            /* vec k { s += G[i,k] * B[j,k] } */
            const sc_i64 G_at = i * G_stride0;
            const sc_i64 B_at = j * B_stride0;
            s = s + sc_hadd_f32x16(sc_load_f32x16(&G_val[G_at]) * sc_load_f32x16(&B_val[B_at]) +
                                   sc_load_f32x16(&G_val[G_at + 16]) * sc_load_f32x16(&B_val[B_at + 16]));
            /* D[i,j] = stored(A[i,j]) * s */
            D_val[p] = s;
        }
    }
    return 0;
}

static int part(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 G_stride0 = call->view[1].stride[0];
    const sc_i64 B_stride0 = call->view[2].stride[0];
    const sc_i64 unit = lane->cursor[0];
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const float *restrict const G_val = call->view[1].val;
    const float *restrict const B_val = call->view[2].val;
    float *restrict const D_val = call->view[3].val;

    /* par i in A */
    /* for j in A */
    for (sc_i64 p = begin; p < end; p++) {
        const sc_i64 j = (sc_i64)A_crd1[p];
        /* work s: reg f32 */
        float s = 0.0f;
        /* vec k { s += G[i,k] * B[j,k] } */
        const sc_i64 G_at = unit * G_stride0;
        const sc_i64 B_at = j * B_stride0;
        s = s + sc_hadd_f32x16(sc_load_f32x16(&G_val[G_at]) * sc_load_f32x16(&B_val[B_at]) +
                               sc_load_f32x16(&G_val[G_at + 16]) * sc_load_f32x16(&B_val[B_at + 16]));
        /* D[i,j] = stored(A[i,j]) * s */
        D_val[p] = s;
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
    2, {body, part}};
