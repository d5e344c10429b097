/* Computes
 *   Y[r,k,l] = T[i,k,l] * x[i,r]
 * with
 *   T: compressed(1), compressed(0), dense(2) f64, indices i32
 *   x: dense f32
 *   Y: compressed(1), dense(0), dense(2) f64, indices i32
 * by
 *   par k in T {
 *     for l {
 *       work c[r]: reg f64 {
 *         for i in T {
 *           vec r {
 *             c[r] += T[i,k,l] * x[i,r]
 *           }
 *         }
 *       } then {
 *         vec r {
 *           Y[r,k,l] = c[r]
 *         }
 *       }
 *     }
 *   }
 */
typedef int i32x8 __attribute__((vector_size(32)));
typedef sc_i64 i64x8 __attribute__((vector_size(64)));
typedef float f32x8 __attribute__((vector_size(32)));
typedef float f32x8u __attribute__((vector_size(32), aligned(4), may_alias));
typedef double f64x8 __attribute__((vector_size(64)));

#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE f64x8 sc_splat_f64x8(double x) { return (f64x8){x, x, x, x, x, x, x, x}; }
SC_INLINE f32x8 sc_load_f32x8(const float *p) { return *(const f32x8u *)p; }
SC_INLINE void sc_scatter_f64x8(double *p, sc_i64 s, f64x8 x)
{
    p[0] = x[0];
    p[1 * s] = x[1];
    p[2 * s] = x[2];
    p[3 * s] = x[3];
    p[4 * s] = x[4];
    p[5 * s] = x[5];
    p[6 * s] = x[6];
    p[7 * s] = x[7];
}

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 l_dim = call->dim[2];
    const sc_i64 x_stride0 = call->view[1].stride[0];
    const int *restrict const T_pos1 = call->view[0].level[1].pos;
    const int *restrict const T_crd1 = call->view[0].level[1].crd;
    const double *restrict const T_val = call->view[0].val;
    const float *restrict const x_val = call->view[1].val;
    double *restrict const Y_val = call->view[2].val;
    (void)lane;

    /* par k in T */
    for (sc_i64 p = begin; p < end; p++) {
        /* for l */
        for (sc_i64 l = 0; l < l_dim; l++) {
            /* work c[r]: reg f64 */
            f64x8 c = (f64x8){0};
            f64x8 c_1 = (f64x8){0};
            f64x8 c_2 = (f64x8){0};
            f64x8 c_3 = (f64x8){0};
            f64x8 c_4 = (f64x8){0};
            /* for i in T */
            const sc_i64 T_lo = (sc_i64)T_pos1[p];
            const sc_i64 T_hi = (sc_i64)T_pos1[p + 1];
            for (sc_i64 p_1 = T_lo; p_1 < T_hi; p_1++) {
                const sc_i64 i = (sc_i64)T_crd1[p_1];
                /* vec r { c[r] += T[i,k,l] * x[i,r] } */
                const double t = T_val[p_1 * l_dim + l];
                const sc_i64 x_at = i * x_stride0;
                c = c + sc_splat_f64x8(t) * __builtin_convertvector(sc_load_f32x8(&x_val[x_at]), f64x8);
                c_1 =
                    c_1 + sc_splat_f64x8(t) * __builtin_convertvector(sc_load_f32x8(&x_val[x_at + 8]), f64x8);
                c_2 = c_2 +
                    sc_splat_f64x8(t) * __builtin_convertvector(sc_load_f32x8(&x_val[x_at + 16]), f64x8);
                c_3 = c_3 +
                    sc_splat_f64x8(t) * __builtin_convertvector(sc_load_f32x8(&x_val[x_at + 24]), f64x8);
                c_4 = c_4 +
                    sc_splat_f64x8(t) * __builtin_convertvector(sc_load_f32x8(&x_val[x_at + 32]), f64x8);
            }
            /* vec r { Y[r,k,l] = c[r] } */
            const sc_i64 Y_at = p * 40 * l_dim + l;
            sc_scatter_f64x8(&Y_val[Y_at], l_dim, c);
            sc_scatter_f64x8(&Y_val[Y_at + l_dim * 8], l_dim, c_1);
            sc_scatter_f64x8(&Y_val[Y_at + l_dim * 16], l_dim, c_2);
            sc_scatter_f64x8(&Y_val[Y_at + l_dim * 24], l_dim, c_3);
            sc_scatter_f64x8(&Y_val[Y_at + l_dim * 32], l_dim, c_4);
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
