/* Computes
 *   M[i,r] = B[i,j,k] * C[j,r] * D[k,r]
 * with
 *   B: csf f32, indices i32
 *   C: dense f32
 *   D: dense f32
 *   M: dense f32
 * by
 *   par i in B {
 *     work a[r]: reg f32 {
 *       for j in B {
 *         work t[r]: reg f32 {
 *           for k in B {
 *             vec r {
 *               t[r] += B[i,j,k] * D[k,r]
 *             }
 *           }
 *         } then {
 *           vec r {
 *             a[r] += t[r] * C[j,r]
 *           }
 *         }
 *       }
 *     } then {
 *       vec r {
 *         M[i,r] = a[r]
 *       }
 *     }
 *   }
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
    const sc_i64 D_stride0 = call->view[2].stride[0];
    const sc_i64 C_stride0 = call->view[1].stride[0];
    const sc_i64 M_stride0 = call->view[3].stride[0];
    const int *restrict const B_crd0 = call->view[0].level[0].crd;
    const int *restrict const B_pos1 = call->view[0].level[1].pos;
    const int *restrict const B_crd1 = call->view[0].level[1].crd;
    const int *restrict const B_pos2 = call->view[0].level[2].pos;
    const int *restrict const B_crd2 = call->view[0].level[2].crd;
    const float *restrict const B_val = call->view[0].val;
    const float *restrict const D_val = call->view[2].val;
    const float *restrict const C_val = call->view[1].val;
    float *restrict const M_val = call->view[3].val;
    (void)lane;

    /* par i in B */
    for (sc_i64 p = begin; p < end; p++) {
        const sc_i64 i = (sc_i64)B_crd0[p];
        /* work a[r]: reg f32 */
        f32x16 a = (f32x16){0};
        /* for j in B */
        const sc_i64 B_lo = (sc_i64)B_pos1[p];
        const sc_i64 B_hi = (sc_i64)B_pos1[p + 1];
        for (sc_i64 p_1 = B_lo; p_1 < B_hi; p_1++) {
            const sc_i64 j = (sc_i64)B_crd1[p_1];
            /* work t[r]: reg f32 */
            f32x16 t = (f32x16){0};
            /* for k in B */
            const sc_i64 B_lo_1 = (sc_i64)B_pos2[p_1];
            const sc_i64 B_hi_1 = (sc_i64)B_pos2[p_1 + 1];
            for (sc_i64 p_2 = B_lo_1; p_2 < B_hi_1; p_2 += 2) {
                const sc_i64 k = (sc_i64)B_crd2[p_2];
                /* vec r { t[r] += B[i,j,k] * D[k,r] } */
                const float b = B_val[p_2];
                const sc_i64 D_at = k * D_stride0;
                t = t + sc_splat_f32x16(b) * sc_load_f32x16(&D_val[D_at]);
                if (p_2 + 1 < B_hi_1) {
                    const sc_i64 k_1 = (sc_i64)B_crd2[p_2 + 1];
                    const float b_1 = B_val[p_2 + 1];
                    const sc_i64 D_at_1 = k_1 * D_stride0;
                    t = t + sc_splat_f32x16(b_1) * sc_load_f32x16(&D_val[D_at_1]);
                }
            }
            /* vec r { a[r] += t[r] * C[j,r] } */
            const sc_i64 C_at = j * C_stride0;
            a = a + t * sc_load_f32x16(&C_val[C_at]);
        }
        /* vec r { M[i,r] = a[r] } */
        const sc_i64 M_at = i * M_stride0;
        sc_store_f32x16(&M_val[M_at], a);
    }
    return 0;
}

static int part(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 D_stride0 = call->view[2].stride[0];
    const sc_i64 C_stride0 = call->view[1].stride[0];
    const int *restrict const B_crd1 = call->view[0].level[1].crd;
    const int *restrict const B_pos2 = call->view[0].level[2].pos;
    const int *restrict const B_crd2 = call->view[0].level[2].crd;
    const float *restrict const B_val = call->view[0].val;
    const float *restrict const D_val = call->view[2].val;
    const float *restrict const C_val = call->view[1].val;
    float *restrict const a_carry = lane->partial;

    /* par i in B */
    /* work a[r]: reg f32 */
    f32x16 a = (f32x16){0};
    /* for j in B */
    for (sc_i64 p = begin; p < end; p++) {
        const sc_i64 j = (sc_i64)B_crd1[p];
        /* work t[r]: reg f32 */
        f32x16 t = (f32x16){0};
        /* for k in B */
        const sc_i64 B_lo = (sc_i64)B_pos2[p];
        const sc_i64 B_hi = (sc_i64)B_pos2[p + 1];
        for (sc_i64 p_1 = B_lo; p_1 < B_hi; p_1 += 2) {
            const sc_i64 k = (sc_i64)B_crd2[p_1];
            /* vec r { t[r] += B[i,j,k] * D[k,r] } */
            const float b = B_val[p_1];
            const sc_i64 D_at = k * D_stride0;
            t = t + sc_splat_f32x16(b) * sc_load_f32x16(&D_val[D_at]);
            if (p_1 + 1 < B_hi) {
                const sc_i64 k_1 = (sc_i64)B_crd2[p_1 + 1];
                const float b_1 = B_val[p_1 + 1];
                const sc_i64 D_at_1 = k_1 * D_stride0;
                t = t + sc_splat_f32x16(b_1) * sc_load_f32x16(&D_val[D_at_1]);
            }
        }
        /* vec r { a[r] += t[r] * C[j,r] } */
        const sc_i64 C_at = j * C_stride0;
        a = a + t * sc_load_f32x16(&C_val[C_at]);
    }
    sc_store_f32x16(a_carry, a);
    return 0;
}

static int finish(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 M_stride0 = call->view[3].stride[0];
    const sc_i64 carried = lane->cursor[1];
    const int *restrict const B_crd0 = call->view[0].level[0].crd;
    float *restrict const M_val = call->view[3].val;
    float *restrict const a_carry = lane->partial;
    (void)end;

    /* par i in B */
    const sc_i64 i = (sc_i64)B_crd0[begin];
    /* work a[r]: reg f32 */
    f32x16 a = (f32x16){0};
    for (sc_i64 slot = 0; slot < carried; slot++) {
        const sc_i64 at = slot * 16;
        a = a + sc_load_f32x16(&a_carry[at]);
    }
    /* vec r { M[i,r] = a[r] } */
    const sc_i64 M_at = i * M_stride0;
    sc_store_f32x16(&M_val[M_at], a);
    return 0;
}

#ifndef SC_KEY
#define SC_KEY ""
#endif
#ifndef SC_OBJECT
#define SC_OBJECT sc_kernels
#endif
__attribute__((visibility("default"))) const sc_object SC_OBJECT = {4, sizeof(sc_object), SC_KEY,
    3, {body, part, finish}};
