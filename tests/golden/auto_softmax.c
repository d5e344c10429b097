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
 *     work c: reg f32 {
 *       for j in A unroll 4 {
 *         c max= A[i,j]
 *       }
 *     } then {
 *       m[i] = c
 *       work ca: reg f32 {
 *         for j in A unroll 4 {
 *           ca += exp(A[i,j] - c)
 *         }
 *       } then {
 *         s[i] = ca
 *         for j in A {
 *           C[i,j] = exp(A[i,j] - c) / ca
 *         }
 *       }
 *     }
 *   }
 * because
 *   loops over A follow its storage order
 */
typedef int i32x4 __attribute__((vector_size(16)));
typedef float f32x4 __attribute__((vector_size(16)));

#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE float sc_max_f32(float a, float b)
{
    return a > b || a != a ? a : b;
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
    sc_i64 *restrict const cursors = lane->cursor;
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const float *restrict const A_val = call->view[0].val;
    float *restrict const m_val = call->view[1].val;
    float *restrict const s_val = call->view[2].val;
    float *restrict const C_val = call->view[3].val;
    int *restrict const C_crd1 = (int *)call->view[3].level[1].crd;
    int *restrict const C_pos1 = (int *)call->view[3].level[1].pos;

    sc_i64 C_next1 = cursors[0];
    for (sc_i64 i = begin; i < end; i++) {
        float c = -__builtin_inff();
        const sc_i64 A_lo = (sc_i64)A_pos1[i];
        const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
        const sc_i64 whole = A_lo + (A_hi - A_lo - (A_hi - A_lo) % 4);
        float c_1 = -__builtin_inff();
        float c_2 = -__builtin_inff();
        float c_3 = -__builtin_inff();
        for (sc_i64 p = A_lo; p < whole; p += 4) {
            c = sc_max_f32(c, A_val[p]);
            c_1 = sc_max_f32(c_1, A_val[p + 1]);
            c_2 = sc_max_f32(c_2, A_val[p + 2]);
            c_3 = sc_max_f32(c_3, A_val[p + 3]);
        }
        c = sc_max_f32(c, c_1);
        c = sc_max_f32(c, c_2);
        c = sc_max_f32(c, c_3);
        for (sc_i64 p_1 = whole; p_1 < A_hi; p_1++) {
            c = sc_max_f32(c, A_val[p_1]);
        }
        m_val[i] = c;
        float ca = 0.0f;
        const sc_i64 A_lo_1 = (sc_i64)A_pos1[i];
        const sc_i64 A_hi_1 = (sc_i64)A_pos1[i + 1];
        const sc_i64 whole_1 = A_lo_1 + (A_hi_1 - A_lo_1 - (A_hi_1 - A_lo_1) % 4);
        float ca_1 = 0.0f;
        float ca_2 = 0.0f;
        float ca_3 = 0.0f;
        for (sc_i64 p_2 = A_lo_1; p_2 < whole_1; p_2 += 4) {
            ca = ca + sc_exp_f32(A_val[p_2] - c);
            ca_1 = ca_1 + sc_exp_f32(A_val[p_2 + 1] - c);
            ca_2 = ca_2 + sc_exp_f32(A_val[p_2 + 2] - c);
            ca_3 = ca_3 + sc_exp_f32(A_val[p_2 + 3] - c);
        }
        ca = ca + ca_1;
        ca = ca + ca_2;
        ca = ca + ca_3;
        for (sc_i64 p_3 = whole_1; p_3 < A_hi_1; p_3++) {
            ca = ca + sc_exp_f32(A_val[p_3] - c);
        }
        s_val[i] = ca;
        const sc_i64 A_lo_2 = (sc_i64)A_pos1[i];
        const sc_i64 A_hi_2 = (sc_i64)A_pos1[i + 1];
        for (sc_i64 p_4 = A_lo_2; p_4 < A_hi_2; p_4++) {
            const sc_i64 j_10 = (sc_i64)A_crd1[p_4];
            C_crd1[C_next1] = (int)j_10;
            C_val[C_next1] = sc_exp_f32(A_val[p_4] - c) / ca;
            C_next1 = C_next1 + 1;
        }
        C_pos1[i + 1] = (int)C_next1;
    }
    cursors[0] = C_next1;
    return 0;
}

#ifndef SC_KEY
#define SC_KEY ""
#endif
#ifndef SC_OBJECT
#define SC_OBJECT sc_kernels
#endif
__attribute__((visibility("default"))) const sc_object SC_OBJECT = {2, sizeof(sc_object), SC_KEY, 1, {body}};
