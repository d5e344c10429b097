/* Computes
 *   s[j] = A[i,j]
 * with
 *   A: csr f32, indices i32
 *   s: dense f32
 * by
 *   work w[j]: private f32 {
 *     par i in A {
 *       for j in A {
 *         w[j] += A[i,j]
 *       }
 *     }
 *   } then {
 *     par j/256 {
 *       vec j%256 {
 *         s[j] = w[j]
 *       }
 *     }
 *   }
 * because
 *   loops over A follow its storage order
 *   sums scatter over a small result: every thread has a copy, added up in order
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
SC_INLINE sc_i64 sc_min_i64(sc_i64 a, sc_i64 b)
{
    return a < b ? a : b;
}

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const float *restrict const A_val = call->view[0].val;
    float *restrict const w_copy = lane->partial;

    /* work w[j]: private f32 */
    /* par i in A */
    for (sc_i64 i = begin; i < end; i++) {
        /* for j in A */
        const sc_i64 A_lo = (sc_i64)A_pos1[i];
        const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
        for (sc_i64 p = A_lo; p < A_hi; p++) {
            const sc_i64 j = (sc_i64)A_crd1[p];
            /* w[j] += A[i,j] */
            w_copy[j] = w_copy[j] + A_val[p];
        }
    }
    return 0;
}

static int body_1(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 j_dim = call->dim[0];
    const sc_i64 copies = call->copies[0];
    float *restrict const w_copy_1 = call->shared[0];
    float *restrict const s_val = call->view[1].val;
    (void)lane;

    /* par j/256 */
    for (sc_i64 j_block = begin; j_block < end; j_block++) {
        const sc_i64 size = sc_min_i64(256, j_dim - j_block * 256);
        /* vec j%256 { s[j] = w[j] } */
        const sc_i64 w_at = j_block * 256;
        const sc_i64 s_at = j_block * 256;
        const sc_i64 rest = size % 16;
        const sc_i64 full = size - rest;
        for (sc_i64 j = 0; j < full; j += 16) {
            f32x16 w = (f32x16){0};
            for (sc_i64 copy = 0; copy < copies; copy++) {
                w = w + sc_load_f32x16(&w_copy_1[copy * j_dim + (w_at + j)]);
            }
            sc_store_f32x16(&s_val[s_at + j], w);
        }
        if ((rest & 8) != 0) {
            const sc_i64 j = full + (rest & -16);
            f32x8 w = (f32x8){0};
            for (sc_i64 copy = 0; copy < copies; copy++) {
                w = w + sc_load_f32x8(&w_copy_1[copy * j_dim + (w_at + j)]);
            }
            sc_store_f32x8(&s_val[s_at + j], w);
        }
        if ((rest & 4) != 0) {
            const sc_i64 j = full + (rest & -8);
            f32x4 w = (f32x4){0};
            for (sc_i64 copy = 0; copy < copies; copy++) {
                w = w + sc_load_f32x4(&w_copy_1[copy * j_dim + (w_at + j)]);
            }
            sc_store_f32x4(&s_val[s_at + j], w);
        }
        if ((rest & 2) != 0) {
            const sc_i64 j = full + (rest & -4);
            f32x2 w = (f32x2){0};
            for (sc_i64 copy = 0; copy < copies; copy++) {
                w = w + sc_load_f32x2(&w_copy_1[copy * j_dim + (w_at + j)]);
            }
            sc_store_f32x2(&s_val[s_at + j], w);
        }
        if ((rest & 1) != 0) {
            const sc_i64 j = full + (rest & -2);
            float w = 0.0f;
            for (sc_i64 copy = 0; copy < copies; copy++) {
                w = w + w_copy_1[copy * j_dim + (w_at + j)];
            }
            s_val[s_at + j] = w;
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
    2, {body, body_1}};
