/* Computes
 *   Y[i,k] = T[i,k,l] * v[l]
 * with
 *   T: csf f32, indices i32
 *   v: dense f32
 *   Y: dcsr f32, indices i32
 * by
 *   par i in T {
 *     for k in T {
 *       work c: reg f32 {
 *         for l in T unroll 4 {
 *           c += T[i,k,l] * v[l]
 *         }
 *       } then {
 *         Y[i,k] = c
 *       }
 *     }
 *   }
 * because
 *   loops over T follow its storage order
 */
#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE sc_i64 sc_pair_i32(const int *p) { return (sc_i64)(unsigned)p[0] | (sc_i64)p[1] << 32; }

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const int *restrict const T_pos1 = call->view[0].level[1].pos;
    const int *restrict const T_pos2 = call->view[0].level[2].pos;
    const int *restrict const T_crd2 = call->view[0].level[2].crd;
    const float *restrict const T_val = call->view[0].val;
    const float *restrict const v_val = call->view[1].val;
    float *restrict const Y_val = call->view[2].val;
    (void)lane;

    /* par i in T */
    for (sc_i64 p = begin; p < end; p++) {
        /* for k in T */
        const sc_i64 T_lo = (sc_i64)T_pos1[p];
        const sc_i64 T_hi = (sc_i64)T_pos1[p + 1];
        for (sc_i64 p_1 = T_lo; p_1 < T_hi; p_1++) {
            /* work c: reg f32 */
            float c = 0.0f;
            /* for l in T unroll 4 */
            const sc_i64 T_lo_1 = (sc_i64)T_pos2[p_1];
            const sc_i64 T_hi_1 = (sc_i64)T_pos2[p_1 + 1];
            const sc_i64 count = T_hi_1 - T_lo_1;
            const sc_i64 whole = T_lo_1 + (count - count % 4);
            float c_1 = 0.0f;
            float c_2 = 0.0f;
            float c_3 = 0.0f;
            for (sc_i64 p_2 = T_lo_1; p_2 < whole; p_2 += 4) {
                const sc_i64 ll = sc_pair_i32(&T_crd2[p_2]);
                const sc_i64 l = ll & 4294967295;
                /* c += T[i,k,l] * v[l] */
                c = c + T_val[p_2] * v_val[l];
                const sc_i64 l_1 = ll >> 32;
                c_1 = c_1 + T_val[p_2 + 1] * v_val[l_1];
                const sc_i64 ll_1 = sc_pair_i32(&T_crd2[p_2 + 2]);
                const sc_i64 l_2 = ll_1 & 4294967295;
                c_2 = c_2 + T_val[p_2 + 2] * v_val[l_2];
                const sc_i64 l_3 = ll_1 >> 32;
                c_3 = c_3 + T_val[p_2 + 3] * v_val[l_3];
            }
            c = c + c_1;
            c = c + c_2;
            c = c + c_3;
            for (sc_i64 p_2 = whole; p_2 < T_hi_1; p_2++) {
                const sc_i64 l = (sc_i64)T_crd2[p_2];
                c = c + T_val[p_2] * v_val[l];
            }
            /* Y[i,k] = c */
            Y_val[p_1] = c;
        }
    }
    return 0;
}

static int part(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const int *restrict const T_pos2 = call->view[0].level[2].pos;
    const int *restrict const T_crd2 = call->view[0].level[2].crd;
    const float *restrict const T_val = call->view[0].val;
    const float *restrict const v_val = call->view[1].val;
    float *restrict const Y_val = call->view[2].val;
    (void)lane;

    /* par i in T */
    /* for k in T */
    for (sc_i64 p = begin; p < end; p++) {
        /* work c: reg f32 */
        float c = 0.0f;
        /* for l in T unroll 4 */
        const sc_i64 T_lo = (sc_i64)T_pos2[p];
        const sc_i64 T_hi = (sc_i64)T_pos2[p + 1];
        const sc_i64 count = T_hi - T_lo;
        const sc_i64 whole = T_lo + (count - count % 4);
        float c_1 = 0.0f;
        float c_2 = 0.0f;
        float c_3 = 0.0f;
        for (sc_i64 p_1 = T_lo; p_1 < whole; p_1 += 4) {
            const sc_i64 ll = sc_pair_i32(&T_crd2[p_1]);
            const sc_i64 l = ll & 4294967295;
            /* c += T[i,k,l] * v[l] */
            c = c + T_val[p_1] * v_val[l];
            const sc_i64 l_1 = ll >> 32;
            c_1 = c_1 + T_val[p_1 + 1] * v_val[l_1];
            const sc_i64 ll_1 = sc_pair_i32(&T_crd2[p_1 + 2]);
            const sc_i64 l_2 = ll_1 & 4294967295;
            c_2 = c_2 + T_val[p_1 + 2] * v_val[l_2];
            const sc_i64 l_3 = ll_1 >> 32;
            c_3 = c_3 + T_val[p_1 + 3] * v_val[l_3];
        }
        c = c + c_1;
        c = c + c_2;
        c = c + c_3;
        for (sc_i64 p_1 = whole; p_1 < T_hi; p_1++) {
            const sc_i64 l = (sc_i64)T_crd2[p_1];
            c = c + T_val[p_1] * v_val[l];
        }
        /* Y[i,k] = c */
        Y_val[p] = c;
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
