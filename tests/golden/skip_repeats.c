/* Computes
 *   C[i,j] max= A[i,j]
 * with
 *   A: coo f32, indices i32
 *   C: dense f32
 * by
 *   par i in A {
 *     for j in A {
 *       C[i,j] max= A[i,j]
 *     }
 *   }
 */
#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE float sc_max_f32(float a, float b)
{
    const float r = a > b ? a : b;
    return a >= a ? r : a;
}

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 C_stride0 = call->view[1].stride[0];
    const int *restrict const A_crd0 = call->view[0].level[0].crd;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const float *restrict const A_val = call->view[0].val;
    float *restrict const C_val = call->view[1].val;
    (void)lane;

    /* par i in A */
    sc_i64 p = begin;
    while (p < end) {
        const sc_i64 first = p;
        const sc_i64 i = (sc_i64)A_crd0[first];
        p = first + 1;
        while ((p < end) && ((sc_i64)A_crd0[p] == i)) {
            p = p + 1;
        }
        const sc_i64 last = p;
        /* for j in A */
        for (sc_i64 p_1 = first; p_1 < last; p_1++) {
            const sc_i64 j = (sc_i64)A_crd1[p_1];
            /* C[i,j] max= A[i,j] */
            const sc_i64 C_at = i * C_stride0 + j;
            C_val[C_at] = sc_max_f32(C_val[C_at], A_val[p_1]);
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
