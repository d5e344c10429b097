/* Computes
 *   s[i] = x[i,k] * y[i,k]
 * with
 *   x: dense f32
 *   y: dense f32
 *   s: dense f32
 * by
 *   par i {
 *     work c: reg f32 {
 *       vec k {
 *         c += x[i,k] * y[i,k]
 *       }
 *     } then {
 *       s[i] = c
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
SC_INLINE f32x16 sc_load_f32x16(const float *p) { return *(const f32x16u *)p; }
SC_INLINE f32x8 sc_load_f32x8(const float *p) { return *(const f32x8u *)p; }
SC_INLINE f32x4 sc_load_f32x4(const float *p) { return *(const f32x4u *)p; }
SC_INLINE f32x2 sc_load_f32x2(const float *p) { return *(const f32x2u *)p; }
SC_INLINE float sc_hadd_f32x16(f32x16 v)
{
    f32x8 v8 = (f32x8){v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7]} +
        (f32x8){v[8], v[9], v[10], v[11], v[12], v[13], v[14], v[15]};
    f32x4 v4 = (f32x4){v8[0], v8[1], v8[2], v8[3]} + (f32x4){v8[4], v8[5], v8[6], v8[7]};
    f32x4 v2 = v4 + (f32x4){v4[2], v4[3], v4[0], v4[1]};
    f32x4 v1 = v2 + (f32x4){v2[1], v2[2], v2[3], v2[0]};
    return v1[0];
}
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
SC_INLINE float sc_hadd_f32x2(f32x2 v)
{
    return v[0] + v[1];
}

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 x_stride0 = call->view[0].stride[0];
    const sc_i64 y_stride0 = call->view[1].stride[0];
    const sc_i64 k_dim = call->dim[1];
    const float *restrict const x_val = call->view[0].val;
    const float *restrict const y_val = call->view[1].val;
    float *restrict const s_val = call->view[2].val;
    (void)lane;

    /* par i */
    for (sc_i64 i = begin; i < end; i++) {
        /* work c: reg f32 */
        float c = 0.0f;
        /* vec k { c += x[i,k] * y[i,k] } */
        const sc_i64 x_at = i * x_stride0;
        const sc_i64 y_at = i * y_stride0;
        f32x16 sum = (f32x16){0};
        f32x16 sum_1 = (f32x16){0};
        f32x16 sum_2 = (f32x16){0};
        f32x16 sum_3 = (f32x16){0};
        const sc_i64 rest = k_dim % 64;
        const sc_i64 full = k_dim - rest;
        for (sc_i64 k = 0; k < full; k += 64) {
            sum = sum + sc_load_f32x16(&x_val[x_at + k]) * sc_load_f32x16(&y_val[y_at + k]);
            sum_1 = sum_1 + sc_load_f32x16(&x_val[x_at + k + 16]) * sc_load_f32x16(&y_val[y_at + k + 16]);
            sum_2 = sum_2 + sc_load_f32x16(&x_val[x_at + k + 32]) * sc_load_f32x16(&y_val[y_at + k + 32]);
            sum_3 = sum_3 + sc_load_f32x16(&x_val[x_at + k + 48]) * sc_load_f32x16(&y_val[y_at + k + 48]);
        }
        if ((rest & 32) != 0) {
            const sc_i64 k = full + (rest & -64);
            sum = sum + sc_load_f32x16(&x_val[x_at + k]) * sc_load_f32x16(&y_val[y_at + k]);
            sum_1 = sum_1 + sc_load_f32x16(&x_val[x_at + k + 16]) * sc_load_f32x16(&y_val[y_at + k + 16]);
        }
        if ((rest & 16) != 0) {
            const sc_i64 k = full + (rest & -32);
            sum = sum + sc_load_f32x16(&x_val[x_at + k]) * sc_load_f32x16(&y_val[y_at + k]);
        }
        sum = sum + sum_1;
        sum = sum + sum_2;
        sum = sum + sum_3;
        c = c + sc_hadd_f32x16(sum);
        if ((rest & 8) != 0) {
            const sc_i64 k = full + (rest & -16);
            c = c + sc_hadd_f32x8(sc_load_f32x8(&x_val[x_at + k]) * sc_load_f32x8(&y_val[y_at + k]));
        }
        if ((rest & 4) != 0) {
            const sc_i64 k = full + (rest & -8);
            c = c + sc_hadd_f32x4(sc_load_f32x4(&x_val[x_at + k]) * sc_load_f32x4(&y_val[y_at + k]));
        }
        if ((rest & 2) != 0) {
            const sc_i64 k = full + (rest & -4);
            c = c + sc_hadd_f32x2(sc_load_f32x2(&x_val[x_at + k]) * sc_load_f32x2(&y_val[y_at + k]));
        }
        if ((rest & 1) != 0) {
            const sc_i64 k = full + (rest & -2);
            c = c + x_val[x_at + k] * y_val[y_at + k];
        }
        /* s[i] = c */
        s_val[i] = c;
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
