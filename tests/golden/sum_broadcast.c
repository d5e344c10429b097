/* Computes
 *   C[i,j] = A[i,r] - 0 * B[i,j]
 * with
 *   A: bsr(2,2) f32, indices i32
 *   B: dense f32
 *   C: dense f32
 * by
 *   par i/2 in A {
 *     for r/2 in A {
 *       for i%2 {
 *         work c: reg f32 {
 *           for r%2 {
 *             c += A[i,r]
 *           }
 *         } then {
 *           for j {
 *             C[i,j] += c
 *           }
 *         }
 *       }
 *     }
 *   }
 */
static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 C_stride0 = call->view[2].stride[0];
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const float *restrict const A_val = call->view[0].val;
    float *restrict const C_val = call->view[2].val;
    (void)lane;

    /* par i/2 in A */
    for (sc_i64 i_block = begin; i_block < end; i_block++) {
        /* for r/2 in A */
        const sc_i64 A_lo = (sc_i64)A_pos1[i_block];
        const sc_i64 A_hi = (sc_i64)A_pos1[i_block + 1];
        for (sc_i64 p = A_lo; p < A_hi; p++) {
            /* for i%2 */
            for (sc_i64 i_in = 0; i_in < 2; i_in++) {
                /* work c: reg f32 */
                float c = 0.0f;
                /* for r%2 */
                for (sc_i64 r_in = 0; r_in < 2; r_in++) {
                    /* c += A[i,r] */
                    const sc_i64 A_at = (p * 2 + i_in) * 2 + r_in;
                    c = c + A_val[A_at];
                }
                /* for j */
                for (sc_i64 j = 0; j < 5; j++) {
                    /* C[i,j] += c */
                    const sc_i64 C_at = (i_block * 2 + i_in) * C_stride0 + j;
                    C_val[C_at] = C_val[C_at] + c;
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
