/* Computes
 *   m[i] max= A[i,j]
 * with
 *   A: dcsr f32, indices i32
 *   m: coo f32, indices i32
 * by
 *   par i in A {
 *     work c: reg f32 {
 *       for j {
 *         for j merge A {
 *           c max= A[i,j]
 *         }
 *       }
 *     } then {
 *       m[i] = c
 *     }
 *   }
 */
#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE float sc_max_f32(float a, float b)
{
    return a > b || a != a ? a : b;
}

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 j_dim = call->dim[1];
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const float *restrict const A_val = call->view[0].val;
    float *restrict const m_val = call->view[1].val;
    (void)lane;

    /* par i in A */
    for (sc_i64 p = begin; p < end; p++) {
        /* work c: reg f32 */
        float c = -__builtin_inff();
        /* for j */
        const sc_i64 A_lo = (sc_i64)A_pos1[p];
        const sc_i64 A_hi = (sc_i64)A_pos1[p + 1];
        sc_i64 pA = A_lo;
        for (sc_i64 j = 0; j < j_dim; j++) {
            /* for j merge A */
            while ((pA < A_hi) && ((sc_i64)A_crd1[pA] < j)) {
                pA = pA + 1;
            }
            const _Bool in_A = (pA < A_hi) && ((sc_i64)A_crd1[pA] == j);
            if (in_A) {
                /* c max= A[i,j] */
                c = sc_max_f32(c, A_val[pA]);
            } else {
                /* c max= 0 */
                c = sc_max_f32(c, 0.0f);
            }
        }
        /* m[i] = c */
        m_val[p] = c;
    }
    return 0;
}

#ifndef SC_KEY
#define SC_KEY ""
#endif
#ifndef SC_OBJECT
#define SC_OBJECT sc_kernels
#endif
__attribute__((visibility("default"))) const sc_object SC_OBJECT = {2, sizeof(sc_object), SC_KEY,
    1, {body}};
