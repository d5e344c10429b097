/* Computes
 *   M[i,r] = B[i,j,k] * C[j,r] * D[k,r]
 * with
 *   B: csf f32, indices i32
 *   C: dense f32
 *   D: dense f32
 *   M: dense f32
 * by
 *   par i in B {
 *     work c[r]: reg f32 {
 *       for j in B {
 *         for k in B unroll 4 {
 *           vec r {
 *             c[r] += B[i,j,k] * (C[j,r] * D[k,r])
 *           }
 *         }
 *       }
 *     } then {
 *       vec r {
 *         M[i,r] = c[r]
 *       }
 *     }
 *   }
 * because
 *   loops over B follow its storage order
 *   r is the vector: it runs at stride 1 in most operands
 */
typedef int i32x16 __attribute__((vector_size(64)));
typedef float f32x16 __attribute__((vector_size(64)));
typedef float f32x16u __attribute__((vector_size(64), aligned(4), may_alias));

#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE f32x16 sc_splat_f32x16(float x) { return (f32x16){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x}; }
SC_INLINE f32x16 sc_load_f32x16(const float *p) { return *(const f32x16u *)p; }
SC_INLINE void sc_store_f32x16(float *p, f32x16 x) { *(f32x16u *)p = x; }
SC_INLINE sc_i64 sc_pair_i32(const int *p) { return (sc_i64)(unsigned)p[0] | (sc_i64)p[1] << 32; }

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 C_stride0 = call->view[1].stride[0];
    const sc_i64 D_stride0 = call->view[2].stride[0];
    const sc_i64 M_stride0 = call->view[3].stride[0];
    const int *restrict const B_crd0 = call->view[0].level[0].crd;
    const int *restrict const B_pos1 = call->view[0].level[1].pos;
    const int *restrict const B_crd1 = call->view[0].level[1].crd;
    const int *restrict const B_pos2 = call->view[0].level[2].pos;
    const int *restrict const B_crd2 = call->view[0].level[2].crd;
    const float *restrict const B_val = call->view[0].val;
    const float *restrict const C_val = call->view[1].val;
    const float *restrict const D_val = call->view[2].val;
    float *restrict const M_val = call->view[3].val;
    (void)lane;

    /* par i in B */
    for (sc_i64 p = begin; p < end; p++) {
        const sc_i64 i = (sc_i64)B_crd0[p];
        /* work c[r]: reg f32 */
        f32x16 c = (f32x16){0};
        /* for j in B */
        const sc_i64 B_lo = (sc_i64)B_pos1[p];
        const sc_i64 B_hi = (sc_i64)B_pos1[p + 1];
        for (sc_i64 p_1 = B_lo; p_1 < B_hi; p_1++) {
            const sc_i64 j = (sc_i64)B_crd1[p_1];
            /* for k in B unroll 4 */
            const sc_i64 B_lo_1 = (sc_i64)B_pos2[p_1];
            const sc_i64 B_hi_1 = (sc_i64)B_pos2[p_1 + 1];
            const sc_i64 count = B_hi_1 - B_lo_1;
            const sc_i64 whole = B_lo_1 + (count - count % 4);
            f32x16 c_1 = (f32x16){0};
            f32x16 c_2 = (f32x16){0};
            f32x16 c_3 = (f32x16){0};
            for (sc_i64 p_2 = B_lo_1; p_2 < whole; p_2 += 4) {
                const sc_i64 kk = sc_pair_i32(&B_crd2[p_2]);
                const sc_i64 k = kk & 4294967295;
                /* vec r { c[r] += B[i,j,k] * (C[j,r] * D[k,r]) } */
                const float b = B_val[p_2];
                const sc_i64 C_at = j * C_stride0;
                const sc_i64 D_at = k * D_stride0;
                c = c + sc_splat_f32x16(b) * (sc_load_f32x16(&C_val[C_at]) * sc_load_f32x16(&D_val[D_at]));
                const sc_i64 k_1 = kk >> 32;
                const float b_1 = B_val[p_2 + 1];
                const sc_i64 C_at_1 = j * C_stride0;
                const sc_i64 D_at_1 = k_1 * D_stride0;
                c_1 = c_1 +
                    sc_splat_f32x16(b_1) * (sc_load_f32x16(&C_val[C_at_1]) * sc_load_f32x16(&D_val[D_at_1]));
                const sc_i64 kk_1 = sc_pair_i32(&B_crd2[p_2 + 2]);
                const sc_i64 k_2 = kk_1 & 4294967295;
                const float b_2 = B_val[p_2 + 2];
                const sc_i64 C_at_2 = j * C_stride0;
                const sc_i64 D_at_2 = k_2 * D_stride0;
                c_2 = c_2 +
                    sc_splat_f32x16(b_2) * (sc_load_f32x16(&C_val[C_at_2]) * sc_load_f32x16(&D_val[D_at_2]));
                const sc_i64 k_3 = kk_1 >> 32;
                const float b_3 = B_val[p_2 + 3];
                const sc_i64 C_at_3 = j * C_stride0;
                const sc_i64 D_at_3 = k_3 * D_stride0;
                c_3 = c_3 +
                    sc_splat_f32x16(b_3) * (sc_load_f32x16(&C_val[C_at_3]) * sc_load_f32x16(&D_val[D_at_3]));
            }
            c = c + c_1;
            c = c + c_2;
            c = c + c_3;
            for (sc_i64 p_2 = whole; p_2 < B_hi_1; p_2++) {
                const sc_i64 k = (sc_i64)B_crd2[p_2];
                const float b = B_val[p_2];
                const sc_i64 C_at = j * C_stride0;
                const sc_i64 D_at = k * D_stride0;
                c = c + sc_splat_f32x16(b) * (sc_load_f32x16(&C_val[C_at]) * sc_load_f32x16(&D_val[D_at]));
            }
        }
        /* vec r { M[i,r] = c[r] } */
        const sc_i64 M_at = i * M_stride0;
        sc_store_f32x16(&M_val[M_at], c);
    }
    return 0;
}

static int part(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 C_stride0 = call->view[1].stride[0];
    const sc_i64 D_stride0 = call->view[2].stride[0];
    const int *restrict const B_crd1 = call->view[0].level[1].crd;
    const int *restrict const B_pos2 = call->view[0].level[2].pos;
    const int *restrict const B_crd2 = call->view[0].level[2].crd;
    const float *restrict const B_val = call->view[0].val;
    const float *restrict const C_val = call->view[1].val;
    const float *restrict const D_val = call->view[2].val;
    float *restrict const c_carry = lane->partial;

    /* par i in B */
    /* work c[r]: reg f32 */
    f32x16 c = (f32x16){0};
    /* for j in B */
    for (sc_i64 p = begin; p < end; p++) {
        const sc_i64 j = (sc_i64)B_crd1[p];
        /* for k in B unroll 4 */
        const sc_i64 B_lo = (sc_i64)B_pos2[p];
        const sc_i64 B_hi = (sc_i64)B_pos2[p + 1];
        const sc_i64 count = B_hi - B_lo;
        const sc_i64 whole = B_lo + (count - count % 4);
        f32x16 c_1 = (f32x16){0};
        f32x16 c_2 = (f32x16){0};
        f32x16 c_3 = (f32x16){0};
        for (sc_i64 p_1 = B_lo; p_1 < whole; p_1 += 4) {
            const sc_i64 kk = sc_pair_i32(&B_crd2[p_1]);
            const sc_i64 k = kk & 4294967295;
            /* vec r { c[r] += B[i,j,k] * (C[j,r] * D[k,r]) } */
            const float b = B_val[p_1];
            const sc_i64 C_at = j * C_stride0;
            const sc_i64 D_at = k * D_stride0;
            c = c + sc_splat_f32x16(b) * (sc_load_f32x16(&C_val[C_at]) * sc_load_f32x16(&D_val[D_at]));
            const sc_i64 k_1 = kk >> 32;
            const float b_1 = B_val[p_1 + 1];
            const sc_i64 C_at_1 = j * C_stride0;
            const sc_i64 D_at_1 = k_1 * D_stride0;
            c_1 = c_1 +
                sc_splat_f32x16(b_1) * (sc_load_f32x16(&C_val[C_at_1]) * sc_load_f32x16(&D_val[D_at_1]));
            const sc_i64 kk_1 = sc_pair_i32(&B_crd2[p_1 + 2]);
            const sc_i64 k_2 = kk_1 & 4294967295;
            const float b_2 = B_val[p_1 + 2];
            const sc_i64 C_at_2 = j * C_stride0;
            const sc_i64 D_at_2 = k_2 * D_stride0;
            c_2 = c_2 +
                sc_splat_f32x16(b_2) * (sc_load_f32x16(&C_val[C_at_2]) * sc_load_f32x16(&D_val[D_at_2]));
            const sc_i64 k_3 = kk_1 >> 32;
            const float b_3 = B_val[p_1 + 3];
            const sc_i64 C_at_3 = j * C_stride0;
            const sc_i64 D_at_3 = k_3 * D_stride0;
            c_3 = c_3 +
                sc_splat_f32x16(b_3) * (sc_load_f32x16(&C_val[C_at_3]) * sc_load_f32x16(&D_val[D_at_3]));
        }
        c = c + c_1;
        c = c + c_2;
        c = c + c_3;
        for (sc_i64 p_1 = whole; p_1 < B_hi; p_1++) {
            const sc_i64 k = (sc_i64)B_crd2[p_1];
            const float b = B_val[p_1];
            const sc_i64 C_at = j * C_stride0;
            const sc_i64 D_at = k * D_stride0;
            c = c + sc_splat_f32x16(b) * (sc_load_f32x16(&C_val[C_at]) * sc_load_f32x16(&D_val[D_at]));
        }
    }
    sc_store_f32x16(c_carry, c);
    return 0;
}

static int finish(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 M_stride0 = call->view[3].stride[0];
    const sc_i64 carried = lane->cursor[1];
    const int *restrict const B_crd0 = call->view[0].level[0].crd;
    float *restrict const M_val = call->view[3].val;
    float *restrict const c_carry = lane->partial;
    (void)end;

    /* par i in B */
    const sc_i64 i = (sc_i64)B_crd0[begin];
    /* work c[r]: reg f32 */
    f32x16 c = (f32x16){0};
    for (sc_i64 slot = 0; slot < carried; slot++) {
        const sc_i64 at = slot * 16;
        c = c + sc_load_f32x16(&c_carry[at]);
    }
    /* vec r { M[i,r] = c[r] } */
    const sc_i64 M_at = i * M_stride0;
    sc_store_f32x16(&M_val[M_at], c);
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
