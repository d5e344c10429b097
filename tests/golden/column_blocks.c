/* Computes
 *   C[i,k] = A[i,j] * B[j,k]
 * with
 *   A: dense(1/64), dense(0), compressed(1%64) f32, indices i32
 *   B: dense f32
 *   C: dense f32
 * by
 *   for k/64 {
 *     for j/64 in A {
 *       work p[j%64,k%64]: lane f32 {
 *         for j%64 {
 *           vec k%64 {
 *             p[j%64,k%64] = B[j,k]
 *           }
 *         }
 *       } then {
 *         par i in A {
 *           work c[k%64]: reg f32 {
 *             for j%64 in A {
 *               vec k%64 {
 *                 c[k%64] += A[i,j] * p[j%64,k%64]
 *               }
 *             }
 *           } then {
 *             vec k%64 {
 *               C[i,k] += c[k%64]
 *             }
 *           }
 *         }
 *       }
 *     }
 *   }
 */
typedef int i32x16 __attribute__((vector_size(64)));
typedef float f32x16 __attribute__((vector_size(64)));
typedef float f32x16u __attribute__((vector_size(64), aligned(4), may_alias));

#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE f32x16 sc_splat_f32x16(float x) { return (f32x16){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x}; }
SC_INLINE f32x16 sc_load_f32x16(const float *p) { return *(const f32x16u *)p; }
SC_INLINE void sc_store_f32x16(float *p, f32x16 x) { *(f32x16u *)p = x; }

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 j_dim = call->dim[2];
    const sc_i64 B_stride0 = call->view[1].stride[0];
    const sc_i64 i_dim = call->dim[0];
    const sc_i64 C_stride0 = call->view[2].stride[0];
    float *restrict const p_lane = lane->scratch;
    const float *restrict const B_val = call->view[1].val;
    float *restrict const C_val = call->view[2].val;
    const int *restrict const A_pos2 = call->view[0].level[2].pos;
    const int *restrict const A_crd2 = call->view[0].level[2].crd;
    const float *restrict const A_val = call->view[0].val;

    /* for k/64 */
    for (sc_i64 k_block = 0; k_block < 128; k_block += 64) {
        /* for j/64 in A */
        for (sc_i64 j_block = 0; j_block < (j_dim + 63) / 64; j_block++) {
            /* work p[j%64,k%64]: lane f32 */
            /* for j%64 */
            for (sc_i64 j_in = 0; j_in < 64; j_in++) {
                /* vec k%64 { p[j%64,k%64] = B[j,k] } */
                const sc_i64 B_at = (j_block * 64 + j_in) * B_stride0 + k_block;
                const sc_i64 p_at = j_in * 64;
                sc_store_f32x16(&p_lane[p_at], sc_load_f32x16(&B_val[B_at]));
                sc_store_f32x16(&p_lane[p_at + 16], sc_load_f32x16(&B_val[B_at + 16]));
                sc_store_f32x16(&p_lane[p_at + 32], sc_load_f32x16(&B_val[B_at + 32]));
                sc_store_f32x16(&p_lane[p_at + 48], sc_load_f32x16(&B_val[B_at + 48]));
            }
            /* par i in A */
            for (sc_i64 i = begin; i < end; i++) {
                /* work c[k%64]: reg f32 */
                f32x16 c = (f32x16){0};
                f32x16 c_1 = (f32x16){0};
                f32x16 c_2 = (f32x16){0};
                f32x16 c_3 = (f32x16){0};
                /* vec k%64 { c[k%64] = C[i,k] } */
                const sc_i64 C_at = i * C_stride0 + k_block;
                c = sc_load_f32x16(&C_val[C_at]);
                c_1 = sc_load_f32x16(&C_val[C_at + 16]);
                c_2 = sc_load_f32x16(&C_val[C_at + 32]);
                c_3 = sc_load_f32x16(&C_val[C_at + 48]);
                /* for j%64 in A */
                const sc_i64 A_lo = (sc_i64)A_pos2[j_block * i_dim + i];
                const sc_i64 A_hi = (sc_i64)A_pos2[j_block * i_dim + i + 1];
                for (sc_i64 p = A_lo; p < A_hi; p++) {
                    const sc_i64 j_in = (sc_i64)A_crd2[p];
                    /* vec k%64 { c[k%64] += A[i,j] * p[j%64,k%64] } */
                    const float a = A_val[p];
                    const sc_i64 p_at = j_in * 64;
                    c = c + sc_splat_f32x16(a) * sc_load_f32x16(&p_lane[p_at]);
                    c_1 = c_1 + sc_splat_f32x16(a) * sc_load_f32x16(&p_lane[p_at + 16]);
                    c_2 = c_2 + sc_splat_f32x16(a) * sc_load_f32x16(&p_lane[p_at + 32]);
                    c_3 = c_3 + sc_splat_f32x16(a) * sc_load_f32x16(&p_lane[p_at + 48]);
                }
                /* vec k%64 { C[i,k] = c[k%64] } */
                const sc_i64 C_at_1 = i * C_stride0 + k_block;
                sc_store_f32x16(&C_val[C_at_1], c);
                sc_store_f32x16(&C_val[C_at_1 + 16], c_1);
                sc_store_f32x16(&C_val[C_at_1 + 32], c_2);
                sc_store_f32x16(&C_val[C_at_1 + 48], c_3);
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
