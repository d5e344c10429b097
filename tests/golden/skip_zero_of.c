/* Computes
 *   C[k] max= A[k]
 *   S = abs(0) * C[k]
 * with
 *   A: coo f64, indices i32
 *   C: dense f64
 *   S: dense f64
 * by
 *   par k in A {
 *     C[k] = A[k]
 *   }
 *   work w: private f64 {
 *     work c: reg f64 {
 *       vec k {
 *         c += 0 * stored(C[k])
 *       }
 *     } then {
 *       w += c
 *     }
 *   } then {
 *     S = w
 *   }
 * because
 *   loops over A follow its storage order
 *   k is the vector: it runs at stride 1 in most operands
 *   sums scatter over a small result: every thread has a copy, added up in order
 */
typedef sc_i64 i64x2 __attribute__((vector_size(16)));
typedef sc_i64 i64x4 __attribute__((vector_size(32)));
typedef sc_i64 i64x8 __attribute__((vector_size(64)));
typedef double f64x2 __attribute__((vector_size(16)));
typedef double f64x4 __attribute__((vector_size(32)));
typedef double f64x8 __attribute__((vector_size(64)));

#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE double sc_hadd_f64x8(f64x8 v)
{
    f64x4 v4 = (f64x4){v[0], v[1], v[2], v[3]} + (f64x4){v[4], v[5], v[6], v[7]};
    f64x2 v2 = (f64x2){v4[0], v4[1]} + (f64x2){v4[2], v4[3]};
    return v2[0] + v2[1];
}
SC_INLINE double sc_hadd_f64x4(f64x4 v)
{
    f64x2 v2 = (f64x2){v[0], v[1]} + (f64x2){v[2], v[3]};
    return v2[0] + v2[1];
}
SC_INLINE double sc_hadd_f64x2(f64x2 v)
{
    return v[0] + v[1];
}

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const int *restrict const A_crd0 = call->view[0].level[0].crd;
    const double *restrict const A_val = call->view[0].val;
    double *restrict const C_val = call->view[1].val;
    (void)lane;

    /* par k in A */
    for (sc_i64 p = begin; p < end; p++) {
        const sc_i64 k = (sc_i64)A_crd0[p];
        /* C[k] = A[k] */
        C_val[k] = A_val[p];
    }
    return 0;
}

static int body_1(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 k_dim = call->dim[0];
    double *restrict const w_copy = lane->partial;
    (void)begin;
    (void)end;

    /* work w: private f64 */
    /* work c: reg f64 */
    double c = 0.0;
    /* vec k { c += 0 * stored(C[k]) } */
    f64x8 sum = (f64x8){0};
    const sc_i64 rest = k_dim % 8;
    const sc_i64 full = k_dim - rest;
    for (sc_i64 k = 0; k < full; k += 8) {
        sum = sum + (f64x8){0};
    }
    c = c + sc_hadd_f64x8(sum);
    if ((rest & 4) != 0) {
        c = c + sc_hadd_f64x4((f64x4){0});
    }
    if ((rest & 2) != 0) {
        c = c + sc_hadd_f64x2((f64x2){0});
    }
    if ((rest & 1) != 0) {
        c = c + 0.0;
    }
    /* w += c */
    w_copy[0] = w_copy[0] + c;
    return 0;
}

static int body_2(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 copies = call->copies[0];
    double *restrict const w_copy_1 = call->shared[0];
    double *restrict const S_val = call->view[2].val;
    (void)lane;
    (void)begin;
    (void)end;

    /* S = w */
    double w = 0.0;
    for (sc_i64 copy = 0; copy < copies; copy++) {
        w = w + w_copy_1[copy];
    }
    S_val[0] = w;
    return 0;
}

#ifndef SC_KEY
#define SC_KEY ""
#endif
#ifndef SC_OBJECT
#define SC_OBJECT sc_kernels
#endif
__attribute__((visibility("default"))) const sc_object SC_OBJECT = {4, sizeof(sc_object), SC_KEY,
    3, {body, body_1, body_2}};
