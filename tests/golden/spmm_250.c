/* Computes
 *   C[i,k] = A[i,j] * B[j,k]
 * with
 *   A: csr f32, indices i64
 *   B: dense f32
 *   C: dense f32
 * by
 *   par i in A {
 *     work c[k]: reg f32 {
 *       for j in A {
 *         vec k {
 *           c[k] += A[i,j] * B[j,k]
 *         }
 *       }
 *     } then {
 *       vec k {
 *         C[i,k] = c[k]
 *       }
 *     }
 *   }
 * because
 *   loops over A follow its storage order
 *   k is the vector: it runs at stride 1 in most operands
 */
typedef int i32x2 __attribute__((vector_size(8)));
typedef int i32x8 __attribute__((vector_size(32)));
typedef int i32x16 __attribute__((vector_size(64)));
typedef float f32x2 __attribute__((vector_size(8)));
typedef float f32x2u __attribute__((vector_size(8), aligned(4), may_alias));
typedef float f32x8 __attribute__((vector_size(32)));
typedef float f32x8u __attribute__((vector_size(32), aligned(4), may_alias));
typedef float f32x16 __attribute__((vector_size(64)));
typedef float f32x16u __attribute__((vector_size(64), aligned(4), may_alias));

#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE f32x16 sc_splat_f32x16(float x) { return (f32x16){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x}; }
SC_INLINE f32x8 sc_splat_f32x8(float x) { return (f32x8){x, x, x, x, x, x, x, x}; }
SC_INLINE f32x2 sc_splat_f32x2(float x) { return (f32x2){x, x}; }
SC_INLINE f32x16 sc_load_f32x16(const float *p) { return *(const f32x16u *)p; }
SC_INLINE f32x8 sc_load_f32x8(const float *p) { return *(const f32x8u *)p; }
SC_INLINE f32x2 sc_load_f32x2(const float *p) { return *(const f32x2u *)p; }
SC_INLINE void sc_store_f32x16(float *p, f32x16 x) { *(f32x16u *)p = x; }
SC_INLINE void sc_store_f32x8(float *p, f32x8 x) { *(f32x8u *)p = x; }
SC_INLINE void sc_store_f32x2(float *p, f32x2 x) { *(f32x2u *)p = x; }

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 B_stride0 = call->view[1].stride[0];
    const sc_i64 C_stride0 = call->view[2].stride[0];
    const sc_i64 *restrict const A_pos1 = call->view[0].level[1].pos;
    const sc_i64 *restrict const A_crd1 = call->view[0].level[1].crd;
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const B_val = call->view[1].val;
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
        f32x16 c_6 = (f32x16){0};
        f32x16 c_7 = (f32x16){0};
        f32x16 c_8 = (f32x16){0};
        f32x16 c_9 = (f32x16){0};
        f32x16 c_10 = (f32x16){0};
        f32x16 c_11 = (f32x16){0};
        f32x16 c_12 = (f32x16){0};
        f32x16 c_13 = (f32x16){0};
        f32x16 c_14 = (f32x16){0};
        f32x8 c_15 = (f32x8){0};
        f32x2 c_16 = (f32x2){0};
        /* for j in A */
        const sc_i64 A_lo = A_pos1[i];
        const sc_i64 A_hi = A_pos1[i + 1];
        for (sc_i64 p = A_lo; p < A_hi; p++) {
            const sc_i64 j = A_crd1[p];
            /* vec k { c[k] += A[i,j] * B[j,k] } */
            const float a = A_val[p];
            const sc_i64 B_at = j * B_stride0;
            c = c + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at]);
            c_1 = c_1 + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at + 16]);
            c_2 = c_2 + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at + 32]);
            c_3 = c_3 + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at + 48]);
            c_4 = c_4 + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at + 64]);
            c_5 = c_5 + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at + 80]);
            c_6 = c_6 + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at + 96]);
            c_7 = c_7 + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at + 112]);
            c_8 = c_8 + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at + 128]);
            c_9 = c_9 + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at + 144]);
            c_10 = c_10 + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at + 160]);
            c_11 = c_11 + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at + 176]);
            c_12 = c_12 + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at + 192]);
            c_13 = c_13 + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at + 208]);
            c_14 = c_14 + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at + 224]);
            c_15 = c_15 + sc_splat_f32x8(a) * sc_load_f32x8(&B_val[B_at + 240]);
            c_16 = c_16 + sc_splat_f32x2(a) * sc_load_f32x2(&B_val[B_at + 248]);
        }
        /* vec k { C[i,k] = c[k] } */
        const sc_i64 C_at = i * C_stride0;
        sc_store_f32x16(&C_val[C_at], c);
        sc_store_f32x16(&C_val[C_at + 16], c_1);
        sc_store_f32x16(&C_val[C_at + 32], c_2);
        sc_store_f32x16(&C_val[C_at + 48], c_3);
        sc_store_f32x16(&C_val[C_at + 64], c_4);
        sc_store_f32x16(&C_val[C_at + 80], c_5);
        sc_store_f32x16(&C_val[C_at + 96], c_6);
        sc_store_f32x16(&C_val[C_at + 112], c_7);
        sc_store_f32x16(&C_val[C_at + 128], c_8);
        sc_store_f32x16(&C_val[C_at + 144], c_9);
        sc_store_f32x16(&C_val[C_at + 160], c_10);
        sc_store_f32x16(&C_val[C_at + 176], c_11);
        sc_store_f32x16(&C_val[C_at + 192], c_12);
        sc_store_f32x16(&C_val[C_at + 208], c_13);
        sc_store_f32x16(&C_val[C_at + 224], c_14);
        sc_store_f32x8(&C_val[C_at + 240], c_15);
        sc_store_f32x2(&C_val[C_at + 248], c_16);
    }
    return 0;
}

static int part(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 B_stride0 = call->view[1].stride[0];
    const sc_i64 *restrict const A_crd1 = call->view[0].level[1].crd;
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const B_val = call->view[1].val;
    float *restrict const c_carry = lane->partial;

    /* par i in A */
    /* work c[k]: reg f32 */
    f32x16 c = (f32x16){0};
    f32x16 c_1 = (f32x16){0};
    f32x16 c_2 = (f32x16){0};
    f32x16 c_3 = (f32x16){0};
    f32x16 c_4 = (f32x16){0};
    f32x16 c_5 = (f32x16){0};
    f32x16 c_6 = (f32x16){0};
    f32x16 c_7 = (f32x16){0};
    f32x16 c_8 = (f32x16){0};
    f32x16 c_9 = (f32x16){0};
    f32x16 c_10 = (f32x16){0};
    f32x16 c_11 = (f32x16){0};
    f32x16 c_12 = (f32x16){0};
    f32x16 c_13 = (f32x16){0};
    f32x16 c_14 = (f32x16){0};
    f32x8 c_15 = (f32x8){0};
    f32x2 c_16 = (f32x2){0};
    /* for j in A */
    for (sc_i64 p = begin; p < end; p++) {
        const sc_i64 j = A_crd1[p];
        /* vec k { c[k] += A[i,j] * B[j,k] } */
        const float a = A_val[p];
        const sc_i64 B_at = j * B_stride0;
        c = c + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at]);
        c_1 = c_1 + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at + 16]);
        c_2 = c_2 + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at + 32]);
        c_3 = c_3 + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at + 48]);
        c_4 = c_4 + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at + 64]);
        c_5 = c_5 + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at + 80]);
        c_6 = c_6 + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at + 96]);
        c_7 = c_7 + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at + 112]);
        c_8 = c_8 + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at + 128]);
        c_9 = c_9 + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at + 144]);
        c_10 = c_10 + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at + 160]);
        c_11 = c_11 + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at + 176]);
        c_12 = c_12 + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at + 192]);
        c_13 = c_13 + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at + 208]);
        c_14 = c_14 + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at + 224]);
        c_15 = c_15 + sc_splat_f32x8(a) * sc_load_f32x8(&B_val[B_at + 240]);
        c_16 = c_16 + sc_splat_f32x2(a) * sc_load_f32x2(&B_val[B_at + 248]);
    }
    sc_store_f32x16(c_carry, c);
    sc_store_f32x16(&c_carry[16], c_1);
    sc_store_f32x16(&c_carry[32], c_2);
    sc_store_f32x16(&c_carry[48], c_3);
    sc_store_f32x16(&c_carry[64], c_4);
    sc_store_f32x16(&c_carry[80], c_5);
    sc_store_f32x16(&c_carry[96], c_6);
    sc_store_f32x16(&c_carry[112], c_7);
    sc_store_f32x16(&c_carry[128], c_8);
    sc_store_f32x16(&c_carry[144], c_9);
    sc_store_f32x16(&c_carry[160], c_10);
    sc_store_f32x16(&c_carry[176], c_11);
    sc_store_f32x16(&c_carry[192], c_12);
    sc_store_f32x16(&c_carry[208], c_13);
    sc_store_f32x16(&c_carry[224], c_14);
    sc_store_f32x8(&c_carry[240], c_15);
    sc_store_f32x2(&c_carry[248], c_16);
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
    f32x16 c_6 = (f32x16){0};
    f32x16 c_7 = (f32x16){0};
    f32x16 c_8 = (f32x16){0};
    f32x16 c_9 = (f32x16){0};
    f32x16 c_10 = (f32x16){0};
    f32x16 c_11 = (f32x16){0};
    f32x16 c_12 = (f32x16){0};
    f32x16 c_13 = (f32x16){0};
    f32x16 c_14 = (f32x16){0};
    f32x8 c_15 = (f32x8){0};
    f32x2 c_16 = (f32x2){0};
    for (sc_i64 slot = 0; slot < carried; slot++) {
        const sc_i64 at = slot * 250;
        c = c + sc_load_f32x16(&c_carry[at]);
        c_1 = c_1 + sc_load_f32x16(&c_carry[at + 16]);
        c_2 = c_2 + sc_load_f32x16(&c_carry[at + 32]);
        c_3 = c_3 + sc_load_f32x16(&c_carry[at + 48]);
        c_4 = c_4 + sc_load_f32x16(&c_carry[at + 64]);
        c_5 = c_5 + sc_load_f32x16(&c_carry[at + 80]);
        c_6 = c_6 + sc_load_f32x16(&c_carry[at + 96]);
        c_7 = c_7 + sc_load_f32x16(&c_carry[at + 112]);
        c_8 = c_8 + sc_load_f32x16(&c_carry[at + 128]);
        c_9 = c_9 + sc_load_f32x16(&c_carry[at + 144]);
        c_10 = c_10 + sc_load_f32x16(&c_carry[at + 160]);
        c_11 = c_11 + sc_load_f32x16(&c_carry[at + 176]);
        c_12 = c_12 + sc_load_f32x16(&c_carry[at + 192]);
        c_13 = c_13 + sc_load_f32x16(&c_carry[at + 208]);
        c_14 = c_14 + sc_load_f32x16(&c_carry[at + 224]);
        c_15 = c_15 + sc_load_f32x8(&c_carry[at + 240]);
        c_16 = c_16 + sc_load_f32x2(&c_carry[at + 248]);
    }
    /* vec k { C[i,k] = c[k] } */
    const sc_i64 C_at = begin * C_stride0;
    sc_store_f32x16(&C_val[C_at], c);
    sc_store_f32x16(&C_val[C_at + 16], c_1);
    sc_store_f32x16(&C_val[C_at + 32], c_2);
    sc_store_f32x16(&C_val[C_at + 48], c_3);
    sc_store_f32x16(&C_val[C_at + 64], c_4);
    sc_store_f32x16(&C_val[C_at + 80], c_5);
    sc_store_f32x16(&C_val[C_at + 96], c_6);
    sc_store_f32x16(&C_val[C_at + 112], c_7);
    sc_store_f32x16(&C_val[C_at + 128], c_8);
    sc_store_f32x16(&C_val[C_at + 144], c_9);
    sc_store_f32x16(&C_val[C_at + 160], c_10);
    sc_store_f32x16(&C_val[C_at + 176], c_11);
    sc_store_f32x16(&C_val[C_at + 192], c_12);
    sc_store_f32x16(&C_val[C_at + 208], c_13);
    sc_store_f32x16(&C_val[C_at + 224], c_14);
    sc_store_f32x8(&C_val[C_at + 240], c_15);
    sc_store_f32x2(&C_val[C_at + 248], c_16);
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
