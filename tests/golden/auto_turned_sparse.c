/* Computes
 *   R[i,j] = (A[i,j] + B[i,j]) * E[n,j]
 * with
 *   A: csr f64, indices i32
 *   B: csr f64, indices i32
 *   E: dense f64
 *   R: csr f64, indices i32
 * by
 *   work t[j,n]: shared f64 {
 *     par j/16 {
 *       for n/16 {
 *         for j%16 {
 *           vec n%16 {
 *             t[j,n] = E[n,j]
 *           }
 *         }
 *       }
 *     }
 *   } then {
 *     par i in A {
 *       for j merge A, B {
 *         work c: reg f64 {
 *           vec n {
 *             c += t[j,n]
 *           }
 *         } then {
 *           R[i,j] = (A[i,j] + B[i,j]) * c
 *         }
 *       }
 *     }
 *   }
 * because
 *   matrices that do not lie along n are copied first, to where they do
 */
typedef sc_i64 i64x8 __attribute__((vector_size(64)));
typedef double f64x2 __attribute__((vector_size(16)));
typedef double f64x4 __attribute__((vector_size(32)));
typedef double f64x8 __attribute__((vector_size(64)));
typedef double f64x8u __attribute__((vector_size(64), aligned(8), may_alias));

#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE f64x8 sc_load_f64x8(const double *p) { return *(const f64x8u *)p; }
SC_INLINE void sc_store_f64x8(double *p, f64x8 x) { *(f64x8u *)p = x; }
SC_INLINE f64x8 sc_gather_f64x8(const double *p, sc_i64 s)
{
    return (f64x8){p[0], p[s], p[2 * s], p[3 * s], p[4 * s], p[5 * s], p[6 * s], p[7 * s]};
}
SC_INLINE void sc_exchange1_f64x8(f64x8 *v, f64x8 *w)
{
    const f64x8 x = v[0], y = w[0];
    v[0] = (f64x8){x[0], y[0], x[2], y[2], x[4], y[4], x[6], y[6]};
    w[0] = (f64x8){x[1], y[1], x[3], y[3], x[5], y[5], x[7], y[7]};
}
SC_INLINE void sc_exchange2_f64x8(f64x8 *v, f64x8 *w)
{
    const f64x8 x = v[0], y = w[0];
    v[0] = (f64x8){x[0], x[1], y[0], y[1], x[4], x[5], y[4], y[5]};
    w[0] = (f64x8){x[2], x[3], y[2], y[3], x[6], x[7], y[6], y[7]};
}
SC_INLINE void sc_exchange4_f64x8(f64x8 *v, f64x8 *w)
{
    const f64x8 x = v[0], y = w[0];
    v[0] = (f64x8){x[0], x[1], x[2], x[3], y[0], y[1], y[2], y[3]};
    w[0] = (f64x8){x[4], x[5], x[6], x[7], y[4], y[5], y[6], y[7]};
}
SC_INLINE void sc_turn_f64x8(double *to, sc_i64 s, const double *from, sc_i64 t)
{
    f64x8 v[8];
    v[0] = sc_load_f64x8(from);
    v[1] = sc_load_f64x8(from + 1 * t);
    v[2] = sc_load_f64x8(from + 2 * t);
    v[3] = sc_load_f64x8(from + 3 * t);
    v[4] = sc_load_f64x8(from + 4 * t);
    v[5] = sc_load_f64x8(from + 5 * t);
    v[6] = sc_load_f64x8(from + 6 * t);
    v[7] = sc_load_f64x8(from + 7 * t);
    sc_exchange1_f64x8(&v[0], &v[1]);
    sc_exchange1_f64x8(&v[2], &v[3]);
    sc_exchange1_f64x8(&v[4], &v[5]);
    sc_exchange1_f64x8(&v[6], &v[7]);
    sc_exchange2_f64x8(&v[0], &v[2]);
    sc_exchange2_f64x8(&v[1], &v[3]);
    sc_exchange2_f64x8(&v[4], &v[6]);
    sc_exchange2_f64x8(&v[5], &v[7]);
    sc_exchange4_f64x8(&v[0], &v[4]);
    sc_exchange4_f64x8(&v[1], &v[5]);
    sc_exchange4_f64x8(&v[2], &v[6]);
    sc_exchange4_f64x8(&v[3], &v[7]);
    sc_store_f64x8(to, v[0]);
    sc_store_f64x8(to + 1 * s, v[1]);
    sc_store_f64x8(to + 2 * s, v[2]);
    sc_store_f64x8(to + 3 * s, v[3]);
    sc_store_f64x8(to + 4 * s, v[4]);
    sc_store_f64x8(to + 5 * s, v[5]);
    sc_store_f64x8(to + 6 * s, v[6]);
    sc_store_f64x8(to + 7 * s, v[7]);
}
SC_INLINE sc_i64 sc_min_i64(sc_i64 a, sc_i64 b)
{
    return a < b ? a : b;
}
SC_INLINE double sc_hadd_f64x8(f64x8 v)
{
    f64x4 v4 = (f64x4){v[0], v[1], v[2], v[3]} + (f64x4){v[4], v[5], v[6], v[7]};
    f64x2 v2 = (f64x2){v4[0], v4[1]} + (f64x2){v4[2], v4[3]};
    return v2[0] + v2[1];
}

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 j_dim = call->dim[1];
    const sc_i64 E_stride0 = call->view[2].stride[0];
    double *restrict const t_copy = call->shared[0];
    const double *restrict const E_val = call->view[2].val;
    (void)lane;

    /* work t[j,n]: shared f64 */
    /* par j/16 */
    for (sc_i64 j_block = begin; j_block < end; j_block++) {
        const sc_i64 size = sc_min_i64(16, j_dim - j_block * 16);
        /* for n/16 */
        for (sc_i64 n_block = 0; n_block < 64; n_block += 16) {
            /* for j%16 */
            if (size == 16) {
                for (sc_i64 j_in = 0; j_in < 16; j_in += 8) {
                    /* vec n%16 { t[j,n] = E[n,j] } */
                    const sc_i64 t_at = (j_block * 16 + j_in) * 64 + n_block;
                    const sc_i64 E_at = n_block * E_stride0 + (j_block * 16 + j_in);
                    for (sc_i64 n_in = 0; n_in < 16; n_in += 8) {
                        sc_turn_f64x8(&t_copy[t_at + n_in], 64, &E_val[E_at + n_in * E_stride0], E_stride0);
                    }
                }
            } else {
                for (sc_i64 j_in = 0; j_in < size; j_in++) {
                    const sc_i64 E_at = n_block * E_stride0 + (j_block * 16 + j_in);
                    const sc_i64 t_at = (j_block * 16 + j_in) * 64 + n_block;
                    sc_store_f64x8(&t_copy[t_at], sc_gather_f64x8(&E_val[E_at], E_stride0));
                    sc_store_f64x8(&t_copy[t_at + 8],
                                   sc_gather_f64x8(&E_val[E_at + E_stride0 * 8], E_stride0));
                }
            }
        }
    }
    return 0;
}

static int body_1(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    double *restrict const t_copy = call->shared[0];
    sc_i64 *restrict const cursors = lane->cursor;
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const int *restrict const B_pos1 = call->view[1].level[1].pos;
    const int *restrict const B_crd1 = call->view[1].level[1].crd;
    double *restrict const R_val = call->view[3].val;
    const double *restrict const A_val = call->view[0].val;
    const double *restrict const B_val = call->view[1].val;
    int *restrict const R_crd1 = (int *)call->view[3].level[1].crd;
    int *restrict const R_pos1 = (int *)call->view[3].level[1].pos;

    sc_i64 R_next1 = cursors[0];
    /* par i in A */
    for (sc_i64 i = begin; i < end; i++) {
        /* for j merge A, B */
        const sc_i64 A_lo = (sc_i64)A_pos1[i];
        const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
        sc_i64 pA = A_lo;
        const sc_i64 B_lo = (sc_i64)B_pos1[i];
        const sc_i64 B_hi = (sc_i64)B_pos1[i + 1];
        sc_i64 pB = B_lo;
        while ((pA < A_hi) && (pB < B_hi)) {
            const sc_i64 j_A = (sc_i64)A_crd1[pA];
            const sc_i64 j_B = (sc_i64)B_crd1[pB];
            const sc_i64 j = sc_min_i64(j_A, j_B);
            if ((j_A == j) && (j_B == j)) {
                /* work c: reg f64 */
                double c = 0.0;
                /* vec n { c += t[j,n] } */
                const sc_i64 t_at = j * 64;
                c = c + sc_hadd_f64x8(sc_load_f64x8(&t_copy[t_at]) + sc_load_f64x8(&t_copy[t_at + 8]) +
                                      sc_load_f64x8(&t_copy[t_at + 16]) + sc_load_f64x8(&t_copy[t_at + 24]) +
                                      sc_load_f64x8(&t_copy[t_at + 32]) + sc_load_f64x8(&t_copy[t_at + 40]) +
                                      sc_load_f64x8(&t_copy[t_at + 48]) + sc_load_f64x8(&t_copy[t_at + 56]));
                /* R[i,j] = (A[i,j] + B[i,j]) * c */
                R_crd1[R_next1] = (int)j;
                R_val[R_next1] = (A_val[pA] + B_val[pB]) * c;
                R_next1 = R_next1 + 1;
            } else if (j_B == j) {
                /* work c: reg f64 */
                double c = 0.0;
                /* vec n { c += t[j,n] } */
                const sc_i64 t_at = j * 64;
                c = c + sc_hadd_f64x8(sc_load_f64x8(&t_copy[t_at]) + sc_load_f64x8(&t_copy[t_at + 8]) +
                                      sc_load_f64x8(&t_copy[t_at + 16]) + sc_load_f64x8(&t_copy[t_at + 24]) +
                                      sc_load_f64x8(&t_copy[t_at + 32]) + sc_load_f64x8(&t_copy[t_at + 40]) +
                                      sc_load_f64x8(&t_copy[t_at + 48]) + sc_load_f64x8(&t_copy[t_at + 56]));
                /* R[i,j] = B[i,j] * c */
                R_crd1[R_next1] = (int)j;
                R_val[R_next1] = B_val[pB] * c;
                R_next1 = R_next1 + 1;
            } else {
                /* work c: reg f64 */
                double c = 0.0;
                /* vec n { c += t[j,n] } */
                const sc_i64 t_at = j * 64;
                c = c + sc_hadd_f64x8(sc_load_f64x8(&t_copy[t_at]) + sc_load_f64x8(&t_copy[t_at + 8]) +
                                      sc_load_f64x8(&t_copy[t_at + 16]) + sc_load_f64x8(&t_copy[t_at + 24]) +
                                      sc_load_f64x8(&t_copy[t_at + 32]) + sc_load_f64x8(&t_copy[t_at + 40]) +
                                      sc_load_f64x8(&t_copy[t_at + 48]) + sc_load_f64x8(&t_copy[t_at + 56]));
                /* R[i,j] = A[i,j] * c */
                R_crd1[R_next1] = (int)j;
                R_val[R_next1] = A_val[pA] * c;
                R_next1 = R_next1 + 1;
            }
            pA = pA + (sc_i64)(j_A == j);
            pB = pB + (sc_i64)(j_B == j);
        }
        /* the rest of B */
        for (sc_i64 p = pB; p < B_hi; p++) {
            const sc_i64 j = (sc_i64)B_crd1[p];
            /* work c: reg f64 */
            double c = 0.0;
            /* vec n { c += t[j,n] } */
            const sc_i64 t_at = j * 64;
            c = c + sc_hadd_f64x8(sc_load_f64x8(&t_copy[t_at]) + sc_load_f64x8(&t_copy[t_at + 8]) +
                                  sc_load_f64x8(&t_copy[t_at + 16]) + sc_load_f64x8(&t_copy[t_at + 24]) +
                                  sc_load_f64x8(&t_copy[t_at + 32]) + sc_load_f64x8(&t_copy[t_at + 40]) +
                                  sc_load_f64x8(&t_copy[t_at + 48]) + sc_load_f64x8(&t_copy[t_at + 56]));
            /* R[i,j] = B[i,j] * c */
            R_crd1[R_next1] = (int)j;
            R_val[R_next1] = B_val[p] * c;
            R_next1 = R_next1 + 1;
        }
        /* the rest of A */
        for (sc_i64 p = pA; p < A_hi; p++) {
            const sc_i64 j = (sc_i64)A_crd1[p];
            /* work c: reg f64 */
            double c = 0.0;
            /* vec n { c += t[j,n] } */
            const sc_i64 t_at = j * 64;
            c = c + sc_hadd_f64x8(sc_load_f64x8(&t_copy[t_at]) + sc_load_f64x8(&t_copy[t_at + 8]) +
                                  sc_load_f64x8(&t_copy[t_at + 16]) + sc_load_f64x8(&t_copy[t_at + 24]) +
                                  sc_load_f64x8(&t_copy[t_at + 32]) + sc_load_f64x8(&t_copy[t_at + 40]) +
                                  sc_load_f64x8(&t_copy[t_at + 48]) + sc_load_f64x8(&t_copy[t_at + 56]));
            /* R[i,j] = A[i,j] * c */
            R_crd1[R_next1] = (int)j;
            R_val[R_next1] = A_val[p] * c;
            R_next1 = R_next1 + 1;
        }
        R_pos1[i + 1] = (int)R_next1;
    }
    cursors[0] = R_next1;
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
