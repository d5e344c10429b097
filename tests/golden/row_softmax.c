/* Computes
 *   m[i] max= A[i,j]
 *   s[i] += exp(A[i,j] - m[i])
 *   C[i,j] = exp(A[i,j] - m[i]) / s[i]
 * with
 *   A: csr f32, indices i32
 *   m: dense f32
 *   s: dense f32
 *   C: csr f32, indices i32
 * by
 *   par i in A {
 *     work mx: reg f32 {
 *       for j in A {
 *         mx max= A[i,j]
 *       }
 *     } then {
 *       m[i] = mx
 *       work z: reg f32 {
 *         for j in A {
 *           z += exp(A[i,j] - mx)
 *         }
 *       } then {
 *         s[i] = z
 *         for j in A {
 *           C[i,j] = exp(A[i,j] - mx) / z
 *         }
 *       }
 *     }
 *   }
 */
typedef int i32x4 __attribute__((vector_size(16)));
typedef float f32x4 __attribute__((vector_size(16)));

#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE float sc_max_f32(float a, float b)
{
    const float r = a > b ? a : b;
    return a >= a ? r : a;
}
static inline f32x4 sc_exp_f32x4(f32x4 x)
{
    /* x = n ln 2 + r; the scale 2^n comes in two factors, so that denormals round once */
    const f32x4 top = (f32x4){0} + 89.0f, bottom = (f32x4){0} + -104.0f, magic = (f32x4){0} + 12582912.0f;
    const i32x4 high = (i32x4)(x > top), low = (i32x4)(x < bottom);
    x = (f32x4)((high & (i32x4)top) | (~high & (i32x4)x));
    x = (f32x4)((low & (i32x4)bottom) | (~low & (i32x4)x));
    const f32x4 t = x * 1.44269502f + magic, n = t - magic;
    const f32x4 r = x - n * 0.693359375f - n * -0.000212194442f;
    f32x4 p = r * 0.00138145953f + 0.00836871658f;
    p = p * r + 0.041668389f;
    p = p * r + 0.166665211f;
    p = p * r + 0.49999994f;
    const f32x4 e = 1.0f + (r + r * r * p);
    const i32x4 k = (i32x4)t - (i32x4)magic, half = k >> 1;
    return e * (f32x4)((half + 127) << 23) * (f32x4)((k - half + 127) << 23);
}
static inline float sc_exp_f32(float x) { return sc_exp_f32x4((f32x4){x, x, x, x})[0]; }

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const float *restrict const A_val = call->view[0].val;
    float *restrict const m_val = call->view[1].val;
    float *restrict const s_val = call->view[2].val;
    float *restrict const C_val = call->view[3].val;
    (void)lane;

    /* par i in A */
    for (sc_i64 i = begin; i < end; i++) {
        /* work mx: reg f32 */
        float mx = -__builtin_inff();
        /* for j in A */
        const sc_i64 A_lo = (sc_i64)A_pos1[i];
        const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
        for (sc_i64 p = A_lo; p < A_hi; p += 2) {
            /* mx max= A[i,j] */
            mx = sc_max_f32(mx, A_val[p]);
            if (p + 1 < A_hi) {
                mx = sc_max_f32(mx, A_val[p + 1]);
            }
        }
        /* m[i] = mx */
        m_val[i] = mx;
        /* work z: reg f32 */
        float z = 0.0f;
        /* for j in A */
        const sc_i64 A_lo_1 = (sc_i64)A_pos1[i];
        const sc_i64 A_hi_1 = (sc_i64)A_pos1[i + 1];
        for (sc_i64 p = A_lo_1; p < A_hi_1; p += 2) {
            /* z += exp(A[i,j] - mx) */
            z = z + sc_exp_f32(A_val[p] - mx);
            if (p + 1 < A_hi_1) {
                z = z + sc_exp_f32(A_val[p + 1] - mx);
            }
        }
        /* s[i] = z */
        s_val[i] = z;
        /* for j in A */
        const sc_i64 A_lo_2 = (sc_i64)A_pos1[i];
        const sc_i64 A_hi_2 = (sc_i64)A_pos1[i + 1];
        for (sc_i64 p = A_lo_2; p < A_hi_2; p++) {
            /* C[i,j] = exp(A[i,j] - mx) / z */
            C_val[p] = sc_exp_f32(A_val[p] - mx) / z;
        }
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
