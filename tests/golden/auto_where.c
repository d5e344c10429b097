/* Computes
 *   R[i,j] = A[i,j] + B[i,i] * B[j,j]
 * with
 *   A: csr f64, indices i32
 *   B: csr f64, indices i32
 *   R: dense f64
 *   B_1: csr f64, indices i32
 *   R_where: dense bool
 * by
 *   par i in A {
 *     for i merge B {
 *       for j {
 *         for j merge A, B_1 {
 *           R[i,j] = A[i,j] + B[i,i] * B_1[j,j]
 *         }
 *       }
 *     }
 *   }
 * because
 *   R is computed dense; which entries it has is computed beside
 */
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

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 j_dim = call->dim[1];
    const sc_i64 R_stride0 = call->view[2].stride[0];
    const int *restrict const B_pos1 = call->view[1].level[1].pos;
    const int *restrict const B_crd1 = call->view[1].level[1].crd;
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const double *restrict const A_val = call->view[0].val;
    const double *restrict const B_val = call->view[1].val;
    double *restrict const R_val = call->view[2].val;
    (void)lane;

    /* par i in A */
    for (sc_i64 i = begin; i < end; i++) {
        /* for i merge B */
        const sc_i64 B_lo = (sc_i64)B_pos1[i];
        const sc_i64 B_hi = (sc_i64)B_pos1[i + 1];
        const sc_i64 B_at = sc_search_i32(B_crd1, B_lo, B_hi, i);
        const _Bool in_B = (B_at < B_hi) && ((sc_i64)B_crd1[B_at] == i);
        if (in_B) {
            /* for j */
            const sc_i64 A_lo = (sc_i64)A_pos1[i];
            const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
            sc_i64 pA = A_lo;
            for (sc_i64 j = 0; j < j_dim; j++) {
                /* for j merge A, B_1 */
                while ((pA < A_hi) && ((sc_i64)A_crd1[pA] < j)) {
                    pA = pA + 1;
                }
                const _Bool in_A = (pA < A_hi) && ((sc_i64)A_crd1[pA] == j);
                const sc_i64 B_1_lo = (sc_i64)B_pos1[j];
                const sc_i64 B_1_hi = (sc_i64)B_pos1[j + 1];
                const sc_i64 B_1_at = sc_search_i32(B_crd1, B_1_lo, B_1_hi, j);
                const _Bool in_B_1 = (B_1_at < B_1_hi) && ((sc_i64)B_crd1[B_1_at] == j);
                if (in_A && in_B_1) {
                    /* R[i,j] = A[i,j] + B[i,i] * B_1[j,j] */
                    R_val[i * R_stride0 + j] = A_val[pA] + B_val[B_at] * B_val[B_1_at];
                } else if (in_B_1) {
                    /* R[i,j] = B[i,i] * B_1[j,j] */
                    R_val[i * R_stride0 + j] = B_val[B_at] * B_val[B_1_at];
                } else if (in_A) {
                    /* R[i,j] = A[i,j] */
                    R_val[i * R_stride0 + j] = A_val[pA];
                }
            }
        } else {
            /* for j */
            const sc_i64 A_lo = (sc_i64)A_pos1[i];
            const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
            sc_i64 pA = A_lo;
            for (sc_i64 j = 0; j < j_dim; j++) {
                /* for j merge A, B_1 */
                while ((pA < A_hi) && ((sc_i64)A_crd1[pA] < j)) {
                    pA = pA + 1;
                }
                const _Bool in_A = (pA < A_hi) && ((sc_i64)A_crd1[pA] == j);
                const sc_i64 B_1_lo = (sc_i64)B_pos1[j];
                const sc_i64 B_1_hi = (sc_i64)B_pos1[j + 1];
                const sc_i64 B_1_at = sc_search_i32(B_crd1, B_1_lo, B_1_hi, j);
                const _Bool in_B_1 = (B_1_at < B_1_hi) && ((sc_i64)B_crd1[B_1_at] == j);
                if (in_A && in_B_1) {
                    /* R[i,j] = A[i,j] */
                    R_val[i * R_stride0 + j] = A_val[pA];
                } else if (in_A) {
                    /* R[i,j] = A[i,j] */
                    R_val[i * R_stride0 + j] = A_val[pA];
                }
            }
        }
    }
    return 0;
}

static int body_1(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 R_where_stride0 = call->view[3].stride[0];
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    signed char *restrict const R_where_val = call->view[3].val;
    (void)lane;

    /* par i in A */
    for (sc_i64 i = begin; i < end; i++) {
        /* for j in A */
        const sc_i64 A_lo = (sc_i64)A_pos1[i];
        const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
        for (sc_i64 p = A_lo; p < A_hi; p++) {
            const sc_i64 j = (sc_i64)A_crd1[p];
            /* R_where[i,j] += stored(A[i,j]) */
            const sc_i64 R_where_at = i * R_where_stride0 + j;
            const double old = (double)(R_where_val[R_where_at] != 0);
            R_where_val[R_where_at] = old + 1.0 != 0.0;
        }
    }
    return 0;
}

static int part(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 R_where_stride0 = call->view[3].stride[0];
    const sc_i64 unit = lane->cursor[0];
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    signed char *restrict const R_where_val = call->view[3].val;

    /* par i in A */
    /* for j in A */
    for (sc_i64 p = begin; p < end; p++) {
        const sc_i64 j = (sc_i64)A_crd1[p];
        /* R_where[i,j] += stored(A[i,j]) */
        const sc_i64 R_where_at = unit * R_where_stride0 + j;
        const double old = (double)(R_where_val[R_where_at] != 0);
        R_where_val[R_where_at] = old + 1.0 != 0.0;
    }
    return 0;
}

static int body_2(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 j_dim = call->dim[1];
    const sc_i64 R_where_stride0 = call->view[3].stride[0];
    const int *restrict const B_pos1 = call->view[1].level[1].pos;
    const int *restrict const B_crd1 = call->view[1].level[1].crd;
    signed char *restrict const R_where_val = call->view[3].val;
    (void)lane;

    /* par i in B */
    for (sc_i64 i = begin; i < end; i++) {
        /* for i in B */
        const sc_i64 B_lo = (sc_i64)B_pos1[i];
        const sc_i64 B_hi = (sc_i64)B_pos1[i + 1];
        const sc_i64 B_at = sc_search_i32(B_crd1, B_lo, B_hi, i);
        if ((B_at < B_hi) && ((sc_i64)B_crd1[B_at] == i)) {
            /* for j */
            for (sc_i64 j = 0; j < j_dim; j++) {
                /* for j in B_1 */
                const sc_i64 B_1_lo = (sc_i64)B_pos1[j];
                const sc_i64 B_1_hi = (sc_i64)B_pos1[j + 1];
                const sc_i64 B_1_at = sc_search_i32(B_crd1, B_1_lo, B_1_hi, j);
                if ((B_1_at < B_1_hi) && ((sc_i64)B_crd1[B_1_at] == j)) {
                    /* R_where[i,j] += stored(B[i,i]) * stored(B_1[j,j]) */
                    const sc_i64 R_where_at = i * R_where_stride0 + j;
                    const double old = (double)(R_where_val[R_where_at] != 0);
                    R_where_val[R_where_at] = old + 1.0 != 0.0;
                }
            }
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
    4, {body, body_1, part, body_2}};
