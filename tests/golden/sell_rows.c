/* Computes
 *   C[i,k] = A[i,j] * X[j,k]
 * with
 *   A: sell(4,16) f64, indices i32
 *   X: dense f64
 *   C: dense f64
 * by
 *   par i in A {
 *     work c[k]: reg f64 {
 *       for j in A {
 *         vec k {
 *           c[k] += A[i,j] * X[j,k]
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
typedef sc_i64 i64x8 __attribute__((vector_size(64)));
typedef double f64x8 __attribute__((vector_size(64)));
typedef double f64x8u __attribute__((vector_size(64), aligned(8), may_alias));

#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE f64x8 sc_splat_f64x8(double x) { return (f64x8){x, x, x, x, x, x, x, x}; }
SC_INLINE f64x8 sc_load_f64x8(const double *p) { return *(const f64x8u *)p; }
SC_INLINE void sc_store_f64x8(double *p, f64x8 x) { *(f64x8u *)p = x; }
SC_INLINE sc_i64 sc_shl_i64(sc_i64 x, sc_i64 n) { return (sc_i64)((__UINT64_TYPE__)x << n); }

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 X_stride0 = call->view[1].stride[0];
    const sc_i64 C_stride0 = call->view[2].stride[0];
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const double *restrict const A_val = call->view[0].val;
    const double *restrict const X_val = call->view[1].val;
    double *restrict const C_val = call->view[2].val;
    (void)lane;

    /* par i in A */
    for (sc_i64 i = begin; i < end; i++) {
        /* work c[k]: reg f64 */
        f64x8 c = (f64x8){0};
        double c_1 = 0.0;
        /* for j in A */
        const sc_i64 window = i / 16 * 21;
        const sc_i64 place = (sc_i64)A_pos1[window + i % 16 + 5];
        const sc_i64 A_lo = (sc_i64)A_pos1[window + place / 4];
        const sc_i64 A_hi = (sc_i64)A_pos1[window + place / 4 + 1];
        const sc_i64 row = place % 4;
        const sc_i64 mine = sc_shl_i64(1, row);
        for (sc_i64 q = A_lo; q < A_hi; q++) {
            if (((sc_i64)A_crd1[q * 5] & mine) != 0) {
                const sc_i64 j = (sc_i64)A_crd1[q * 5 + row + 1];
                const sc_i64 p = q * 4 + row;
                /* vec k { c[k] += A[i,j] * X[j,k] } */
                const double a = A_val[p];
                const sc_i64 X_at = j * X_stride0;
                c = c + sc_splat_f64x8(a) * sc_load_f64x8(&X_val[X_at]);
                c_1 = c_1 + a * X_val[X_at + 8];
            }
        }
        /* vec k { C[i,k] = c[k] } */
        const sc_i64 C_at = i * C_stride0;
        sc_store_f64x8(&C_val[C_at], c);
        C_val[C_at + 8] = c_1;
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
