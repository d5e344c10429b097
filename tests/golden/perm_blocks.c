/* Computes
 *   C[i,j] = A[j,i] - B
 * with
 *   A: dense(0/14), compressed(1), dense(0%14) f32, indices i64
 *   B: dense f32
 *   C: dense f32
 * by
 *   par i {
 *     for j/14 {
 *       for i merge A {
 *         vec j%14 {
 *           C[i,j] = A[j,i] - B
 *         }
 *       }
 *     }
 *   }
 */
#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE sc_i64 sc_min_i64(sc_i64 a, sc_i64 b)
{
    return a < b ? a : b;
}
static sc_i64 sc_search_i64(const sc_i64 *crd, sc_i64 lo, sc_i64 hi, sc_i64 x)
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
    const sc_i64 C_stride0 = call->view[2].stride[0];
    const sc_i64 *restrict const A_pos1 = call->view[0].level[1].pos;
    const sc_i64 *restrict const A_crd1 = call->view[0].level[1].crd;
    const float *restrict const A_val = call->view[0].val;
    const sc_i64 *restrict const A_perm = call->view[0].perm;
    const float *restrict const B_val = call->view[1].val;
    float *restrict const C_val = call->view[2].val;
    (void)lane;

    /* par i */
    for (sc_i64 i = begin; i < end; i++) {
        /* for j/14 */
        if (j_dim >= 14) {
            for (sc_i64 j_block = 0; j_block < j_dim; j_block += 14) {
                const sc_i64 at = sc_min_i64(j_block, j_dim - 14);
                /* for i merge A */
                const sc_i64 A_lo = A_pos1[at / 14];
                const sc_i64 A_hi = A_pos1[at / 14 + 1];
                const sc_i64 A_at = sc_search_i64(A_crd1, A_lo, A_hi, i);
                const _Bool in_A = (A_at < A_hi) && (A_crd1[A_at] == i);
                if (in_A) {
                    /* vec j%14 { C[i,j] = A[j,i] - B } */
                    for (sc_i64 j_in = 0; j_in < 14; j_in++) {
                        /* C[i,j] = A[j,i] - B */
                        C_val[i * C_stride0 + (at + j_in)] = A_val[A_perm[A_at * 14 + j_in]] - B_val[0];
                    }
                } else {
                    /* vec j%14 { C[i,j] = A[j,i] - B } */
                    for (sc_i64 j_in = 0; j_in < 14; j_in++) {
                        /* C[i,j] = -B */
                        C_val[i * C_stride0 + (at + j_in)] = -B_val[0];
                    }
                }
            }
        } else {
            const sc_i64 rest = j_dim % 14;
            const sc_i64 full = j_dim - rest;
            /* the rest, in powers of two */
            if ((rest & 8) != 0) {
                const sc_i64 j_block = full + (rest & -16);
                const sc_i64 A_lo = A_pos1[j_block / 14];
                const sc_i64 A_hi = A_pos1[j_block / 14 + 1];
                const sc_i64 A_at = sc_search_i64(A_crd1, A_lo, A_hi, i);
                const _Bool in_A = (A_at < A_hi) && (A_crd1[A_at] == i);
                if (in_A) {
                    for (sc_i64 j_in = 0; j_in < 8; j_in++) {
                        C_val[i * C_stride0 + (j_block + j_in)] = A_val[A_perm[A_at * 14 + j_in]] - B_val[0];
                    }
                } else {
                    for (sc_i64 j_in = 0; j_in < 8; j_in++) {
                        C_val[i * C_stride0 + (j_block + j_in)] = -B_val[0];
                    }
                }
            }
            if ((rest & 4) != 0) {
                const sc_i64 j_block = full + (rest & -8);
                const sc_i64 A_lo = A_pos1[j_block / 14];
                const sc_i64 A_hi = A_pos1[j_block / 14 + 1];
                const sc_i64 A_at = sc_search_i64(A_crd1, A_lo, A_hi, i);
                const _Bool in_A = (A_at < A_hi) && (A_crd1[A_at] == i);
                if (in_A) {
                    for (sc_i64 j_in = 0; j_in < 4; j_in++) {
                        C_val[i * C_stride0 + (j_block + j_in)] = A_val[A_perm[A_at * 14 + j_in]] - B_val[0];
                    }
                } else {
                    for (sc_i64 j_in = 0; j_in < 4; j_in++) {
                        C_val[i * C_stride0 + (j_block + j_in)] = -B_val[0];
                    }
                }
            }
            if ((rest & 2) != 0) {
                const sc_i64 j_block = full + (rest & -4);
                const sc_i64 A_lo = A_pos1[j_block / 14];
                const sc_i64 A_hi = A_pos1[j_block / 14 + 1];
                const sc_i64 A_at = sc_search_i64(A_crd1, A_lo, A_hi, i);
                const _Bool in_A = (A_at < A_hi) && (A_crd1[A_at] == i);
                if (in_A) {
                    for (sc_i64 j_in = 0; j_in < 2; j_in++) {
                        C_val[i * C_stride0 + (j_block + j_in)] = A_val[A_perm[A_at * 14 + j_in]] - B_val[0];
                    }
                } else {
                    for (sc_i64 j_in = 0; j_in < 2; j_in++) {
                        C_val[i * C_stride0 + (j_block + j_in)] = -B_val[0];
                    }
                }
            }
            if ((rest & 1) != 0) {
                const sc_i64 j_block = full + (rest & -2);
                const sc_i64 A_lo = A_pos1[j_block / 14];
                const sc_i64 A_hi = A_pos1[j_block / 14 + 1];
                const sc_i64 A_at = sc_search_i64(A_crd1, A_lo, A_hi, i);
                const _Bool in_A = (A_at < A_hi) && (A_crd1[A_at] == i);
                if (in_A) {
                    for (sc_i64 j_in = 0; j_in < 1; j_in++) {
                        C_val[i * C_stride0 + (j_block + j_in)] = A_val[A_perm[A_at * 14 + j_in]] - B_val[0];
                    }
                } else {
                    for (sc_i64 j_in = 0; j_in < 1; j_in++) {
                        C_val[i * C_stride0 + (j_block + j_in)] = -B_val[0];
                    }
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
    1, {body}};
