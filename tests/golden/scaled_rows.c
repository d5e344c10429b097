/* Computes
 *   C[i,j] = A[i,j] * d[i]
 * with
 *   A: csr f32, indices i32
 *   d: dense f32
 *   C: csr f32, indices i32
 * by
 *   par i in A {
 *     vec j in A {
 *       C[i,j] = A[i,j] * d[i]
 *     }
 *   }
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
SC_INLINE f32x16 sc_splat_f32x16(float x) { return (f32x16){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x}; }
SC_INLINE f32x8 sc_splat_f32x8(float x) { return (f32x8){x, x, x, x, x, x, x, x}; }
SC_INLINE f32x4 sc_splat_f32x4(float x) { return (f32x4){x, x, x, x}; }
SC_INLINE f32x2 sc_splat_f32x2(float x) { return (f32x2){x, x}; }
SC_INLINE f32x16 sc_load_f32x16(const float *p) { return *(const f32x16u *)p; }
SC_INLINE f32x8 sc_load_f32x8(const float *p) { return *(const f32x8u *)p; }
SC_INLINE f32x4 sc_load_f32x4(const float *p) { return *(const f32x4u *)p; }
SC_INLINE f32x2 sc_load_f32x2(const float *p) { return *(const f32x2u *)p; }
SC_INLINE void sc_store_f32x16(float *p, f32x16 x) { *(f32x16u *)p = x; }
SC_INLINE void sc_store_f32x8(float *p, f32x8 x) { *(f32x8u *)p = x; }
SC_INLINE void sc_store_f32x4(float *p, f32x4 x) { *(f32x4u *)p = x; }
SC_INLINE void sc_store_f32x2(float *p, f32x2 x) { *(f32x2u *)p = x; }

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const d_val = call->view[1].val;
    float *restrict const C_val = call->view[2].val;
    (void)lane;

    /* par i in A */
    for (sc_i64 i = begin; i < end; i++) {
        const sc_i64 A_lo = (sc_i64)A_pos1[i];
        const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
        /* vec j in A { C[i,j] = A[i,j] * d[i] } */
        const float d = d_val[i];
        const sc_i64 count = A_hi - A_lo;
        const sc_i64 rest = count % 16;
        const sc_i64 full = count - rest;
        for (sc_i64 j = 0; j < full; j += 16) {
            sc_store_f32x16(&C_val[A_lo + j], sc_load_f32x16(&A_val[A_lo + j]) * sc_splat_f32x16(d));
        }
        if ((rest & 8) != 0) {
            const sc_i64 j = full + (rest & -16);
            sc_store_f32x8(&C_val[A_lo + j], sc_load_f32x8(&A_val[A_lo + j]) * sc_splat_f32x8(d));
        }
        if ((rest & 4) != 0) {
            const sc_i64 j = full + (rest & -8);
            sc_store_f32x4(&C_val[A_lo + j], sc_load_f32x4(&A_val[A_lo + j]) * sc_splat_f32x4(d));
        }
        if ((rest & 2) != 0) {
            const sc_i64 j = full + (rest & -4);
            sc_store_f32x2(&C_val[A_lo + j], sc_load_f32x2(&A_val[A_lo + j]) * sc_splat_f32x2(d));
        }
        if ((rest & 1) != 0) {
            const sc_i64 j = full + (rest & -2);
            C_val[A_lo + j] = A_val[A_lo + j] * d;
        }
    }
    return 0;
}

static int part(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 unit = lane->cursor[0];
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const d_val = call->view[1].val;
    float *restrict const C_val = call->view[2].val;

    /* par i in A */
    /* vec j in A { C[i,j] = A[i,j] * d[i] } */
    const float d = d_val[unit];
    const sc_i64 count = end - begin;
    const sc_i64 rest = count % 16;
    const sc_i64 full = count - rest;
    for (sc_i64 j = 0; j < full; j += 16) {
        sc_store_f32x16(&C_val[begin + j], sc_load_f32x16(&A_val[begin + j]) * sc_splat_f32x16(d));
    }
    if ((rest & 8) != 0) {
        const sc_i64 j = full + (rest & -16);
        sc_store_f32x8(&C_val[begin + j], sc_load_f32x8(&A_val[begin + j]) * sc_splat_f32x8(d));
    }
    if ((rest & 4) != 0) {
        const sc_i64 j = full + (rest & -8);
        sc_store_f32x4(&C_val[begin + j], sc_load_f32x4(&A_val[begin + j]) * sc_splat_f32x4(d));
    }
    if ((rest & 2) != 0) {
        const sc_i64 j = full + (rest & -4);
        sc_store_f32x2(&C_val[begin + j], sc_load_f32x2(&A_val[begin + j]) * sc_splat_f32x2(d));
    }
    if ((rest & 1) != 0) {
        const sc_i64 j = full + (rest & -2);
        C_val[begin + j] = A_val[begin + j] * d;
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
