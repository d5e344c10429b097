/* Computes
 *   C[i] = A[i,j] * x[j]
 * with
 *   A: csr f32, indices i32
 *   x: dense f32
 *   C: dense f32
 * by
 *   par i in A {
 *     work c: reg f32 {
 *       vec j in A {
 *         c += A[i,j] * x[j]
 *       }
 *     } then {
 *       C[i] = c
 *     }
 *   }
 */
typedef int i32x4 __attribute__((vector_size(16)));
typedef int i32x8 __attribute__((vector_size(32)));
typedef float f32x4 __attribute__((vector_size(16)));
typedef float f32x4u __attribute__((vector_size(16), aligned(4), may_alias));
typedef float f32x8 __attribute__((vector_size(32)));
typedef float f32x8u __attribute__((vector_size(32), aligned(4), may_alias));

#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE f32x8 sc_load_f32x8(const float *p) { return *(const f32x8u *)p; }
SC_INLINE f32x4 sc_load_f32x4(const float *p) { return *(const f32x4u *)p; }
SC_INLINE float sc_hadd_f32x8(f32x8 v)
{
    f32x4 v4 = (f32x4){v[0], v[1], v[2], v[3]} + (f32x4){v[4], v[5], v[6], v[7]};
    f32x4 v2 = v4 + (f32x4){v4[2], v4[3], v4[0], v4[1]};
    f32x4 v1 = v2 + (f32x4){v2[1], v2[2], v2[3], v2[0]};
    return v1[0];
}
SC_INLINE float sc_hadd_f32x4(f32x4 v)
{
    f32x4 v2 = v + (f32x4){v[2], v[3], v[0], v[1]};
    f32x4 v1 = v2 + (f32x4){v2[1], v2[2], v2[3], v2[0]};
    return v1[0];
}
SC_INLINE sc_i64 sc_pair_i32(const int *p) { return (sc_i64)(unsigned)p[0] | (sc_i64)p[1] << 32; }
SC_INLINE f32x8 sc_pick_f32x8(const float *p, sc_i64 s, const int *c)
{
    const sc_i64 c0 = sc_pair_i32(c + 0);
    const sc_i64 c2 = sc_pair_i32(c + 2);
    const sc_i64 c4 = sc_pair_i32(c + 4);
    const sc_i64 c6 = sc_pair_i32(c + 6);
    return (f32x8){p[(c0 & 0xffffffff) * s], p[(c0 >> 32) * s], p[(c2 & 0xffffffff) * s], p[(c2 >> 32) * s],
                   p[(c4 & 0xffffffff) * s], p[(c4 >> 32) * s], p[(c6 & 0xffffffff) * s], p[(c6 >> 32) * s]};
}
SC_INLINE f32x4 sc_pick_f32x4(const float *p, sc_i64 s, const int *c)
{
    const sc_i64 c0 = sc_pair_i32(c + 0);
    const sc_i64 c2 = sc_pair_i32(c + 2);
    return (f32x4){p[(c0 & 0xffffffff) * s], p[(c0 >> 32) * s], p[(c2 & 0xffffffff) * s], p[(c2 >> 32) * s]};
}

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const x_val = call->view[1].val;
    float *restrict const C_val = call->view[2].val;
    (void)lane;

    /* par i in A */
    for (sc_i64 i = begin; i < end; i++) {
        /* work c: reg f32 */
        float c = 0.0f;
        const sc_i64 A_lo = (sc_i64)A_pos1[i];
        const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
        /* vec j in A { c += A[i,j] * x[j] } */
        const sc_i64 count = A_hi - A_lo;
        f32x8 sum = (f32x8){0};
        f32x8 sum_1 = (f32x8){0};
        const sc_i64 rest = count % 16;
        const sc_i64 full = count - rest;
        for (sc_i64 j = 0; j < full; j += 16) {
            sum = sum + sc_load_f32x8(&A_val[A_lo + j]) * sc_pick_f32x8(x_val, 1, &A_crd1[A_lo + j]);
            sum_1 =
                sum_1 + sc_load_f32x8(&A_val[A_lo + j + 8]) * sc_pick_f32x8(x_val, 1, &A_crd1[A_lo + j + 8]);
        }
        if ((rest & 8) != 0) {
            const sc_i64 j = full + (rest & -16);
            sum = sum + sc_load_f32x8(&A_val[A_lo + j]) * sc_pick_f32x8(x_val, 1, &A_crd1[A_lo + j]);
        }
        sum = sum + sum_1;
        c = c + sc_hadd_f32x8(sum);
        if ((rest & 4) != 0) {
            const sc_i64 j = full + (rest & -8);
            c = c +
                sc_hadd_f32x4(sc_load_f32x4(&A_val[A_lo + j]) * sc_pick_f32x4(x_val, 1, &A_crd1[A_lo + j]));
        }
        for (sc_i64 j = full + (rest & -4); j < count; j++) {
            c = c + A_val[A_lo + j] * x_val[(sc_i64)A_crd1[A_lo + j]];
        }
        /* C[i] = c */
        C_val[i] = c;
    }
    return 0;
}

static int part(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const x_val = call->view[1].val;
    float *restrict const c_carry = lane->partial;

    /* par i in A */
    /* work c: reg f32 */
    float c = 0.0f;
    /* vec j in A { c += A[i,j] * x[j] } */
    const sc_i64 count = end - begin;
    f32x8 sum = (f32x8){0};
    f32x8 sum_1 = (f32x8){0};
    const sc_i64 rest = count % 16;
    const sc_i64 full = count - rest;
    for (sc_i64 j = 0; j < full; j += 16) {
        sum = sum + sc_load_f32x8(&A_val[begin + j]) * sc_pick_f32x8(x_val, 1, &A_crd1[begin + j]);
        sum_1 =
            sum_1 + sc_load_f32x8(&A_val[begin + j + 8]) * sc_pick_f32x8(x_val, 1, &A_crd1[begin + j + 8]);
    }
    if ((rest & 8) != 0) {
        const sc_i64 j = full + (rest & -16);
        sum = sum + sc_load_f32x8(&A_val[begin + j]) * sc_pick_f32x8(x_val, 1, &A_crd1[begin + j]);
    }
    sum = sum + sum_1;
    c = c + sc_hadd_f32x8(sum);
    if ((rest & 4) != 0) {
        const sc_i64 j = full + (rest & -8);
        c = c + sc_hadd_f32x4(sc_load_f32x4(&A_val[begin + j]) * sc_pick_f32x4(x_val, 1, &A_crd1[begin + j]));
    }
    for (sc_i64 j = full + (rest & -4); j < count; j++) {
        c = c + A_val[begin + j] * x_val[(sc_i64)A_crd1[begin + j]];
    }
    c_carry[0] = c;
    return 0;
}

static int finish(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 carried = lane->cursor[1];
    float *restrict const C_val = call->view[2].val;
    float *restrict const c_carry = lane->partial;
    (void)end;

    /* par i in A */
    /* work c: reg f32 */
    float c = 0.0f;
    for (sc_i64 slot = 0; slot < carried; slot++) {
        c = c + c_carry[slot];
    }
    /* C[i] = c */
    C_val[begin] = c;
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
