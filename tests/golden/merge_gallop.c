/* Computes
 *   C[i] = a[j] * B[i,j]
 * with
 *   a: coo f32, indices i32
 *   B: csr f32, indices i32
 *   C: dense f32
 * by
 *   par i {
 *     for j merge a, B {
 *       C[i] += a[j] * B[i,j]
 *     }
 *   }
 */
#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE sc_i64 sc_select_i64(_Bool m, sc_i64 a, sc_i64 b)
{
    return b ^ ((a ^ b) & -(sc_i64)m);
}
SC_INLINE sc_i64 sc_min_i64(sc_i64 a, sc_i64 b)
{
    return a < b ? a : b;
}
SC_INLINE sc_i64 sc_max_i64(sc_i64 a, sc_i64 b)
{
    return a > b ? a : b;
}
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
    const int *restrict const a_pos0 = call->view[0].level[0].pos;
    const int *restrict const a_crd0 = call->view[0].level[0].crd;
    const int *restrict const B_pos1 = call->view[1].level[1].pos;
    const int *restrict const B_crd1 = call->view[1].level[1].crd;
    const float *restrict const a_val = call->view[0].val;
    const float *restrict const B_val = call->view[1].val;
    float *restrict const C_val = call->view[2].val;
    (void)lane;

    for (sc_i64 i = begin; i < end; i++) {
        const sc_i64 a_lo = (sc_i64)a_pos0[0];
        const sc_i64 a_hi = (sc_i64)a_pos0[1];
        sc_i64 pa = a_lo;
        const sc_i64 B_lo = (sc_i64)B_pos1[i];
        const sc_i64 B_hi = (sc_i64)B_pos1[i + 1];
        sc_i64 pB = B_lo;
        const sc_i64 a_size = a_hi - a_lo;
        const sc_i64 B_size = B_hi - B_lo;
        if ((a_size > B_size * 8) | (B_size > a_size * 8)) {
            while ((pa < a_hi) && (pB < B_hi)) {
                const sc_i64 j_a = (sc_i64)a_crd0[pa];
                const sc_i64 j_B = (sc_i64)B_crd1[pB];
                const sc_i64 j = sc_max_i64(j_a, j_B);
                if ((j_a == j) && (j_B == j)) {
                    C_val[i] = C_val[i] + a_val[pa] * B_val[pB];
                }
                const sc_i64 beyond = j + (sc_i64)(j_a == j_B);
                pa = sc_search_i32(a_crd0, pa, a_hi, beyond);
                pB = sc_search_i32(B_crd1, pB, B_hi, beyond);
            }
        } else {
            if ((pa < a_hi) && (pB < B_hi)) {
                sc_i64 j_a_1 = (sc_i64)a_crd0[pa];
                sc_i64 j_B_1 = (sc_i64)B_crd1[pB];
                while ((pa + 1 < a_hi) && (pB + 1 < B_hi)) {
                    const sc_i64 j_1 = sc_min_i64(j_a_1, j_B_1);
                    const _Bool in_a = j_a_1 == j_1;
                    const sc_i64 then = (sc_i64)a_crd0[pa + 1];
                    const _Bool in_B = j_B_1 == j_1;
                    const sc_i64 then_1 = (sc_i64)B_crd1[pB + 1];
                    if (in_a && in_B) {
                        C_val[i] = C_val[i] + a_val[pa] * B_val[pB];
                    }
                    pa = pa + (sc_i64)in_a;
                    pB = pB + (sc_i64)in_B;
                    j_a_1 = sc_select_i64(in_a, then, j_a_1);
                    j_B_1 = sc_select_i64(in_B, then_1, j_B_1);
                }
            }
            while ((pa < a_hi) && (pB < B_hi)) {
                const sc_i64 j_a_2 = (sc_i64)a_crd0[pa];
                const sc_i64 j_B_2 = (sc_i64)B_crd1[pB];
                const sc_i64 j_2 = sc_min_i64(j_a_2, j_B_2);
                if ((j_a_2 == j_2) && (j_B_2 == j_2)) {
                    C_val[i] = C_val[i] + a_val[pa] * B_val[pB];
                }
                pa = pa + (sc_i64)(j_a_2 == j_2);
                pB = pB + (sc_i64)(j_B_2 == j_2);
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
__attribute__((visibility("default"))) const sc_object SC_OBJECT = {2, sizeof(sc_object), SC_KEY, 1, {body}};
