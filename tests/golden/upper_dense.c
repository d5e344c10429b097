/* Computes
 *   Y[i,k,r] = T[i,k,l] * U[l,r]
 * with
 *   T: csf f32, indices i64
 *   U: dense f32
 *   Y: compressed(0), compressed(1), dense(2) f32, indices i64
 * by
 *   par i in T {
 *     for k in T {
 *       work c[r]: reg f32 {
 *         for l in T unroll 2 {
 *           vec r {
 *             c[r] += T[i,k,l] * U[l,r]
 *           }
 *         }
 *       } then {
 *         vec r {
 *           Y[i,k,r] = c[r]
 *         }
 *       }
 *     }
 *   }
 * because
 *   loops over T follow its storage order
 *   r is the vector: it runs at stride 1 in most operands
 */
typedef int i32x8 __attribute__((vector_size(32)));
typedef int i32x16 __attribute__((vector_size(64)));
typedef float f32x8 __attribute__((vector_size(32)));
typedef float f32x8u __attribute__((vector_size(32), aligned(4), may_alias));
typedef float f32x16 __attribute__((vector_size(64)));
typedef float f32x16u __attribute__((vector_size(64), aligned(4), may_alias));

#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE f32x16 sc_splat_f32x16(float x) { return (f32x16){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x}; }
SC_INLINE f32x8 sc_splat_f32x8(float x) { return (f32x8){x, x, x, x, x, x, x, x}; }
SC_INLINE f32x16 sc_load_f32x16(const float *p) { return *(const f32x16u *)p; }
SC_INLINE f32x8 sc_load_f32x8(const float *p) { return *(const f32x8u *)p; }
SC_INLINE void sc_store_f32x16(float *p, f32x16 x) { *(f32x16u *)p = x; }
SC_INLINE void sc_store_f32x8(float *p, f32x8 x) { *(f32x8u *)p = x; }

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 U_stride0 = call->view[1].stride[0];
    const sc_i64 *restrict const T_pos1 = call->view[0].level[1].pos;
    const sc_i64 *restrict const T_pos2 = call->view[0].level[2].pos;
    const sc_i64 *restrict const T_crd2 = call->view[0].level[2].crd;
    const float *restrict const T_val = call->view[0].val;
    const float *restrict const U_val = call->view[1].val;
    float *restrict const Y_val = call->view[2].val;
    (void)lane;

    /* par i in T */
    for (sc_i64 p = begin; p < end; p++) {
        /* for k in T */
        const sc_i64 T_lo = T_pos1[p];
        const sc_i64 T_hi = T_pos1[p + 1];
        for (sc_i64 p_1 = T_lo; p_1 < T_hi; p_1++) {
            /* work c[r]: reg f32 */
            f32x16 c = (f32x16){0};
            f32x8 c_1 = (f32x8){0};
            /* for l in T unroll 2 */
            const sc_i64 T_lo_1 = T_pos2[p_1];
            const sc_i64 T_hi_1 = T_pos2[p_1 + 1];
            const sc_i64 count = T_hi_1 - T_lo_1;
            const sc_i64 whole = T_lo_1 + (count - count % 2);
            f32x16 c_2 = (f32x16){0};
            f32x8 c_3 = (f32x8){0};
            for (sc_i64 p_2 = T_lo_1; p_2 < whole; p_2 += 2) {
                const sc_i64 l = T_crd2[p_2];
                /* vec r { c[r] += T[i,k,l] * U[l,r] } */
                const float t = T_val[p_2];
                const sc_i64 U_at = l * U_stride0;
                c = c + sc_splat_f32x16(t) * sc_load_f32x16(&U_val[U_at]);
                c_1 = c_1 + sc_splat_f32x8(t) * sc_load_f32x8(&U_val[U_at + 16]);
                const sc_i64 l_1 = T_crd2[p_2 + 1];
                const float t_1 = T_val[p_2 + 1];
                const sc_i64 U_at_1 = l_1 * U_stride0;
                c_2 = c_2 + sc_splat_f32x16(t_1) * sc_load_f32x16(&U_val[U_at_1]);
                c_3 = c_3 + sc_splat_f32x8(t_1) * sc_load_f32x8(&U_val[U_at_1 + 16]);
            }
            c = c + c_2;
            c_1 = c_1 + c_3;
            for (sc_i64 p_2 = whole; p_2 < T_hi_1; p_2++) {
                const sc_i64 l = T_crd2[p_2];
                const float t = T_val[p_2];
                const sc_i64 U_at = l * U_stride0;
                c = c + sc_splat_f32x16(t) * sc_load_f32x16(&U_val[U_at]);
                c_1 = c_1 + sc_splat_f32x8(t) * sc_load_f32x8(&U_val[U_at + 16]);
            }
            /* vec r { Y[i,k,r] = c[r] } */
            const sc_i64 Y_at = p_1 * 24;
            sc_store_f32x16(&Y_val[Y_at], c);
            sc_store_f32x8(&Y_val[Y_at + 16], c_1);
        }
    }
    return 0;
}

static int part(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 U_stride0 = call->view[1].stride[0];
    const sc_i64 *restrict const T_pos2 = call->view[0].level[2].pos;
    const sc_i64 *restrict const T_crd2 = call->view[0].level[2].crd;
    const float *restrict const T_val = call->view[0].val;
    const float *restrict const U_val = call->view[1].val;
    float *restrict const Y_val = call->view[2].val;
    (void)lane;

    /* par i in T */
    /* for k in T */
    for (sc_i64 p = begin; p < end; p++) {
        /* work c[r]: reg f32 */
        f32x16 c = (f32x16){0};
        f32x8 c_1 = (f32x8){0};
        /* for l in T unroll 2 */
        const sc_i64 T_lo = T_pos2[p];
        const sc_i64 T_hi = T_pos2[p + 1];
        const sc_i64 count = T_hi - T_lo;
        const sc_i64 whole = T_lo + (count - count % 2);
        f32x16 c_2 = (f32x16){0};
        f32x8 c_3 = (f32x8){0};
        for (sc_i64 p_1 = T_lo; p_1 < whole; p_1 += 2) {
            const sc_i64 l = T_crd2[p_1];
            /* vec r { c[r] += T[i,k,l] * U[l,r] } */
            const float t = T_val[p_1];
            const sc_i64 U_at = l * U_stride0;
            c = c + sc_splat_f32x16(t) * sc_load_f32x16(&U_val[U_at]);
            c_1 = c_1 + sc_splat_f32x8(t) * sc_load_f32x8(&U_val[U_at + 16]);
            const sc_i64 l_1 = T_crd2[p_1 + 1];
            const float t_1 = T_val[p_1 + 1];
            const sc_i64 U_at_1 = l_1 * U_stride0;
            c_2 = c_2 + sc_splat_f32x16(t_1) * sc_load_f32x16(&U_val[U_at_1]);
            c_3 = c_3 + sc_splat_f32x8(t_1) * sc_load_f32x8(&U_val[U_at_1 + 16]);
        }
        c = c + c_2;
        c_1 = c_1 + c_3;
        for (sc_i64 p_1 = whole; p_1 < T_hi; p_1++) {
            const sc_i64 l = T_crd2[p_1];
            const float t = T_val[p_1];
            const sc_i64 U_at = l * U_stride0;
            c = c + sc_splat_f32x16(t) * sc_load_f32x16(&U_val[U_at]);
            c_1 = c_1 + sc_splat_f32x8(t) * sc_load_f32x8(&U_val[U_at + 16]);
        }
        /* vec r { Y[i,k,r] = c[r] } */
        const sc_i64 Y_at = p * 24;
        sc_store_f32x16(&Y_val[Y_at], c);
        sc_store_f32x8(&Y_val[Y_at + 16], c_1);
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
