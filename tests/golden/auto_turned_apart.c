/* Computes
 *   C[i,k] = A[i,j] * X[j,k]
 * with
 *   A: csr f32, indices i32
 *   X: dense f32
 *   C: dense f32
 * by
 *   work t[j,k]: shared f32 {
 *     par j/16 {
 *       for k/16 {
 *         for j%16 {
 *           vec k%16 {
 *             t[j,k] = X[j,k]
 *           }
 *         }
 *       }
 *     }
 *   } then {
 *     par i in A {
 *       work c[k]: reg f32 {
 *         for j in A {
 *           vec k {
 *             c[k] += A[i,j] * t[j,k]
 *           }
 *         }
 *       } then {
 *         vec k {
 *           C[i,k] = c[k]
 *         }
 *       }
 *     }
 *   }
 * because
 *   loops over A follow its storage order
 *   k is the vector: it runs at stride 1 in most operands
 *   matrices that do not lie along k are copied first, to where they do
 */
typedef int i32x16 __attribute__((vector_size(64)));
typedef float f32x16 __attribute__((vector_size(64)));
typedef float f32x16u __attribute__((vector_size(64), aligned(4), may_alias));

#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE f32x16 sc_splat_f32x16(float x) { return (f32x16){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x}; }
SC_INLINE f32x16 sc_load_f32x16(const float *p) { return *(const f32x16u *)p; }
SC_INLINE void sc_store_f32x16(float *p, f32x16 x) { *(f32x16u *)p = x; }
SC_INLINE f32x16 sc_gather_f32x16(const float *p, sc_i64 s)
{
    return (f32x16){p[0], p[s], p[2 * s], p[3 * s], p[4 * s], p[5 * s], p[6 * s], p[7 * s], p[8 * s],
                    p[9 * s], p[10 * s], p[11 * s], p[12 * s], p[13 * s], p[14 * s], p[15 * s]};
}
SC_INLINE sc_i64 sc_min_i64(sc_i64 a, sc_i64 b)
{
    return a < b ? a : b;
}

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 j_dim = call->dim[2];
    const sc_i64 X_stride0 = call->view[1].stride[0];
    const sc_i64 X_stride1 = call->view[1].stride[1];
    const float *restrict const X_val = call->view[1].val;
    float *restrict const t_copy = call->shared[0];
    (void)lane;

    /* work t[j,k]: shared f32 */
    /* par j/16 */
    for (sc_i64 j_block = begin; j_block < end; j_block++) {
        const sc_i64 size = sc_min_i64(16, j_dim - j_block * 16);
        /* for k/16 */
        for (sc_i64 k_block = 0; k_block < 96; k_block += 16) {
            /* for j%16 */
            for (sc_i64 j_in = 0; j_in < size; j_in++) {
                /* vec k%16 { t[j,k] = X[j,k] } */
                const sc_i64 X_at = (j_block * 16 + j_in) * X_stride0 + k_block * X_stride1;
                const sc_i64 t_at = (j_block * 16 + j_in) * 96 + k_block;
                sc_store_f32x16(&t_copy[t_at], sc_gather_f32x16(&X_val[X_at], X_stride1));
            }
        }
    }
    return 0;
}

static int body_1(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 C_stride0 = call->view[2].stride[0];
    float *restrict const t_copy = call->shared[0];
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const float *restrict const A_val = call->view[0].val;
    float *restrict const C_val = call->view[2].val;
    (void)lane;

    /* par i in A */
    for (sc_i64 i = begin; i < end; i++) {
        /* work c[k]: reg f32 */
        f32x16 c = (f32x16){0};
        f32x16 c_1 = (f32x16){0};
        f32x16 c_2 = (f32x16){0};
        f32x16 c_3 = (f32x16){0};
        f32x16 c_4 = (f32x16){0};
        f32x16 c_5 = (f32x16){0};
        /* for j in A */
        const sc_i64 A_lo = (sc_i64)A_pos1[i];
        const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
        for (sc_i64 p = A_lo; p < A_hi; p++) {
            const sc_i64 j = (sc_i64)A_crd1[p];
            /* vec k { c[k] += A[i,j] * t[j,k] } */
            const float a = A_val[p];
            const sc_i64 t_at = j * 96;
            c = c + sc_splat_f32x16(a) * sc_load_f32x16(&t_copy[t_at]);
            c_1 = c_1 + sc_splat_f32x16(a) * sc_load_f32x16(&t_copy[t_at + 16]);
            c_2 = c_2 + sc_splat_f32x16(a) * sc_load_f32x16(&t_copy[t_at + 32]);
            c_3 = c_3 + sc_splat_f32x16(a) * sc_load_f32x16(&t_copy[t_at + 48]);
            c_4 = c_4 + sc_splat_f32x16(a) * sc_load_f32x16(&t_copy[t_at + 64]);
            c_5 = c_5 + sc_splat_f32x16(a) * sc_load_f32x16(&t_copy[t_at + 80]);
        }
        /* vec k { C[i,k] = c[k] } */
        const sc_i64 C_at = i * C_stride0;
        sc_store_f32x16(&C_val[C_at], c);
        sc_store_f32x16(&C_val[C_at + 16], c_1);
        sc_store_f32x16(&C_val[C_at + 32], c_2);
        sc_store_f32x16(&C_val[C_at + 48], c_3);
        sc_store_f32x16(&C_val[C_at + 64], c_4);
        sc_store_f32x16(&C_val[C_at + 80], c_5);
    }
    return 0;
}

static int part(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    float *restrict const t_copy = call->shared[0];
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const float *restrict const A_val = call->view[0].val;
    float *restrict const c_carry = lane->partial;

    /* par i in A */
    /* work c[k]: reg f32 */
    f32x16 c = (f32x16){0};
    f32x16 c_1 = (f32x16){0};
    f32x16 c_2 = (f32x16){0};
    f32x16 c_3 = (f32x16){0};
    f32x16 c_4 = (f32x16){0};
    f32x16 c_5 = (f32x16){0};
    /* for j in A */
    for (sc_i64 p = begin; p < end; p++) {
        const sc_i64 j = (sc_i64)A_crd1[p];
        /* vec k { c[k] += A[i,j] * t[j,k] } */
        const float a = A_val[p];
        const sc_i64 t_at = j * 96;
        c = c + sc_splat_f32x16(a) * sc_load_f32x16(&t_copy[t_at]);
        c_1 = c_1 + sc_splat_f32x16(a) * sc_load_f32x16(&t_copy[t_at + 16]);
        c_2 = c_2 + sc_splat_f32x16(a) * sc_load_f32x16(&t_copy[t_at + 32]);
        c_3 = c_3 + sc_splat_f32x16(a) * sc_load_f32x16(&t_copy[t_at + 48]);
        c_4 = c_4 + sc_splat_f32x16(a) * sc_load_f32x16(&t_copy[t_at + 64]);
        c_5 = c_5 + sc_splat_f32x16(a) * sc_load_f32x16(&t_copy[t_at + 80]);
    }
    sc_store_f32x16(c_carry, c);
    sc_store_f32x16(&c_carry[16], c_1);
    sc_store_f32x16(&c_carry[32], c_2);
    sc_store_f32x16(&c_carry[48], c_3);
    sc_store_f32x16(&c_carry[64], c_4);
    sc_store_f32x16(&c_carry[80], c_5);
    return 0;
}

static int finish(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 C_stride0 = call->view[2].stride[0];
    const sc_i64 carried = lane->cursor[1];
    float *restrict const C_val = call->view[2].val;
    float *restrict const c_carry = lane->partial;
    (void)end;

    /* par i in A */
    /* work c[k]: reg f32 */
    f32x16 c = (f32x16){0};
    f32x16 c_1 = (f32x16){0};
    f32x16 c_2 = (f32x16){0};
    f32x16 c_3 = (f32x16){0};
    f32x16 c_4 = (f32x16){0};
    f32x16 c_5 = (f32x16){0};
    for (sc_i64 slot = 0; slot < carried; slot++) {
        const sc_i64 at = slot * 96;
        c = c + sc_load_f32x16(&c_carry[at]);
        c_1 = c_1 + sc_load_f32x16(&c_carry[at + 16]);
        c_2 = c_2 + sc_load_f32x16(&c_carry[at + 32]);
        c_3 = c_3 + sc_load_f32x16(&c_carry[at + 48]);
        c_4 = c_4 + sc_load_f32x16(&c_carry[at + 64]);
        c_5 = c_5 + sc_load_f32x16(&c_carry[at + 80]);
    }
    /* vec k { C[i,k] = c[k] } */
    const sc_i64 C_at = begin * C_stride0;
    sc_store_f32x16(&C_val[C_at], c);
    sc_store_f32x16(&C_val[C_at + 16], c_1);
    sc_store_f32x16(&C_val[C_at + 32], c_2);
    sc_store_f32x16(&C_val[C_at + 48], c_3);
    sc_store_f32x16(&C_val[C_at + 64], c_4);
    sc_store_f32x16(&C_val[C_at + 80], c_5);
    return 0;
}

#ifndef SC_KEY
#define SC_KEY ""
#endif
#ifndef SC_OBJECT
#define SC_OBJECT sc_kernels
#endif
__attribute__((visibility("default"))) const sc_object SC_OBJECT = {4, sizeof(sc_object), SC_KEY,
    4, {body, body_1, part, finish}};
