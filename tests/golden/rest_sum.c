/* Computes
 *   s += exp(T[i,j,k])
 * with
 *   T: csf f32, indices i32
 *   s: dense f32
 * by
 *   work w: private f32 {
 *     par i merge T rest {
 *       work c: reg f32 {
 *         for j in T rest {
 *           for k in T rest unroll 4 {
 *             c += exp(T[i,j,k])
 *           }
 *         }
 *       } then {
 *         w += c
 *       }
 *     }
 *   } then {
 *     s = w
 *   }
 */
typedef int i32x4 __attribute__((vector_size(16)));
typedef float f32x4 __attribute__((vector_size(16)));

#define SC_INLINE static inline __attribute__((always_inline))
static sc_i64 sc_search_i32(const int *crd, sc_i64 lo, sc_i64 hi, sc_i64 x)
{
    sc_i64 at = lo, step = 1;
    for (; at < hi && crd[at] < x; step += step) {
        lo = at + 1;
        at += step;
    }
    if (at < hi) hi = at;
    while (lo < hi) {
        const sc_i64 mid = lo + (hi - lo) / 2;
        if (crd[mid] < x)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
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
    const sc_i64 k_dim = call->dim[2];
    const sc_i64 j_dim = call->dim[1];
    const int *restrict const T_pos0 = call->view[0].level[0].pos;
    const int *restrict const T_crd0 = call->view[0].level[0].crd;
    const int *restrict const T_pos1 = call->view[0].level[1].pos;
    const int *restrict const T_pos2 = call->view[0].level[2].pos;
    const float *restrict const T_val = call->view[0].val;
    float *restrict const w_copy = lane->partial;

    /* work w: private f32 */
    /* par i merge T rest */
    const sc_i64 T_lo = (sc_i64)T_pos0[0];
    const sc_i64 T_hi = (sc_i64)T_pos0[1];
    const sc_i64 T_lo_1 = sc_search_i32(T_crd0, T_lo, T_hi, begin);
    const sc_i64 T_hi_1 = sc_search_i32(T_crd0, T_lo_1, T_hi, end);
    sc_i64 seen = 0;
    for (sc_i64 p = T_lo_1; p < T_hi_1; p++) {
        /* work c: reg f32 */
        float c = 0.0f;
        /* for j in T rest */
        const sc_i64 T_lo_2 = (sc_i64)T_pos1[p];
        const sc_i64 T_hi_2 = (sc_i64)T_pos1[p + 1];
        for (sc_i64 p_1 = T_lo_2; p_1 < T_hi_2; p_1++) {
            /* for k in T rest unroll 4 */
            const sc_i64 T_lo_3 = (sc_i64)T_pos2[p_1];
            const sc_i64 T_hi_3 = (sc_i64)T_pos2[p_1 + 1];
            const sc_i64 count = T_hi_3 - T_lo_3;
            const sc_i64 whole = T_lo_3 + (count - count % 4);
            float c_1 = 0.0f;
            float c_2 = 0.0f;
            float c_3 = 0.0f;
            for (sc_i64 p_2 = T_lo_3; p_2 < whole; p_2 += 4) {
                /* c += exp(T[i,j,k]) */
                c = c + sc_exp_f32(T_val[p_2]);
                c_1 = c_1 + sc_exp_f32(T_val[p_2 + 1]);
                c_2 = c_2 + sc_exp_f32(T_val[p_2 + 2]);
                c_3 = c_3 + sc_exp_f32(T_val[p_2 + 3]);
            }
            c = c + c_1;
            c = c + c_2;
            c = c + c_3;
            for (sc_i64 p_2 = whole; p_2 < T_hi_3; p_2++) {
                c = c + sc_exp_f32(T_val[p_2]);
            }
            /* the coordinates of k that were not visited, at once */
            const sc_i64 left = k_dim - (T_hi_3 - T_lo_3);
            if (left > 0) {
                /* c += 1 */
                c = c + (float)left;
            }
        }
        /* the coordinates of j that were not visited, at once */
        const sc_i64 left = j_dim - (T_hi_2 - T_lo_2);
        if (left > 0) {
            /* all coordinates of k at once */
            if (k_dim > 0) {
                /* c += 1 */
                c = c + (float)k_dim * (float)left;
            }
        }
        /* w += c */
        w_copy[0] = w_copy[0] + c;
    }
    seen = seen + (T_hi_1 - T_lo_1);
    /* the coordinates of i that were not visited, at once */
    const sc_i64 left = end - begin - seen;
    if (left > 0) {
        /* work c: reg f32 */
        float c = 0.0f;
        /* all coordinates of j at once */
        if (j_dim > 0) {
            /* all coordinates of k at once */
            if (k_dim > 0) {
                /* c += 1 */
                c = c + (float)k_dim * (float)j_dim;
            }
        }
        /* w += c */
        w_copy[0] = w_copy[0] + c * (float)left;
    }
    return 0;
}

static int body_1(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 copies = call->copies[0];
    float *restrict const w_copy_1 = call->shared[0];
    float *restrict const s_val = call->view[1].val;
    (void)lane;
    (void)begin;
    (void)end;

    /* s = w */
    float w = 0.0f;
    for (sc_i64 copy = 0; copy < copies; copy++) {
        w = w + w_copy_1[copy];
    }
    s_val[0] = w;
    return 0;
}

#ifndef SC_KEY
#define SC_KEY ""
#endif
#ifndef SC_OBJECT
#define SC_OBJECT sc_kernels
#endif
__attribute__((visibility("default"))) const sc_object SC_OBJECT = {4, sizeof(sc_object), SC_KEY,
    2, {body, body_1}};
