/* Computes
 *   C[i] = A[i,j] * B[i,j]
 * with
 *   A: dense(0/2), compressed(1/4), planar(0%2), dense(1%4) f32, indices i32
 *   B: csr f32, indices i32
 *   C: dense f32
 * by
 *   par i/2 in A {
 *     for j/4 in A {
 *       for i%2 {
 *         work c: reg f32 {
 *           for j%4 {
 *             for j in B {
 *               c += A[i,j] * B[i,j]
 *             }
 *           }
 *         } then {
 *           C[i] += c
 *         }
 *       }
 *     }
 *   }
 */
static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    float *restrict const C_val = call->view[2].val;
    const int *restrict const B_pos1 = call->view[1].level[1].pos;
    const int *restrict const B_crd1 = call->view[1].level[1].crd;
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const B_val = call->view[1].val;
    (void)lane;

    /* par i/2 in A */
    for (sc_i64 i_block = begin; i_block < end; i_block++) {
        /* for j/4 in A */
        const sc_i64 A_lo = (sc_i64)A_pos1[i_block];
        const sc_i64 A_hi = (sc_i64)A_pos1[i_block + 1];
        for (sc_i64 p = A_lo; p < A_hi; p++) {
            const sc_i64 j_block = (sc_i64)A_crd1[p];
            /* for i%2 */
            for (sc_i64 i_in = 0; i_in < 2; i_in++) {
                /* work c: reg f32 */
                float c = 0.0f;
                /* c = C[i] */
                c = C_val[i_block * 2 + i_in];
                /* for j%4 */
                const sc_i64 B_lo = (sc_i64)B_pos1[i_block * 2 + i_in];
                const sc_i64 B_hi = (sc_i64)B_pos1[i_block * 2 + i_in + 1];
                sc_i64 pB = B_lo;
                for (sc_i64 j_in = 0; j_in < 4; j_in++) {
                    /* for j in B */
                    while ((pB < B_hi) && ((sc_i64)B_crd1[pB] < j_block * 4 + j_in)) {
                        pB = pB + 1;
                    }
                    if ((pB < B_hi) && ((sc_i64)B_crd1[pB] == j_block * 4 + j_in)) {
                        /* c += A[i,j] * B[i,j] */
                        const sc_i64 A_at = (A_lo * 2 + (i_in * (A_hi - A_lo) + (p - A_lo))) * 4 + j_in;
                        c = c + A_val[A_at] * B_val[pB];
                    }
                }
                /* C[i] = c */
                C_val[i_block * 2 + i_in] = c;
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
