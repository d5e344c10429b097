/* Computes
 *   C[l,i,k] = A[i,j] * Y[l,j,k]
 * with
 *   A: csr f32, indices i32
 *   Y: dense f32
 *   C: dense f32
 * by
 *   par i in A {
 *     for l {
 *       work c[k]: reg f32 {
 *         for j in A unroll 2 {
 *           vec k {
 *             c[k] += A[i,j] * Y[l,j,k]
 *           }
 *         }
 *       } then {
 *         vec k {
 *           C[l,i,k] = c[k]
 *         }
 *       }
 *     }
 *   }
 * because
 *   loops over A follow its storage order
 *   k is the vector: it runs at stride 1 in most operands
 */
typedef int i32x2 __attribute__((vector_size(8)));
typedef int i32x16 __attribute__((vector_size(64)));
typedef float f32x2 __attribute__((vector_size(8)));
typedef float f32x2u __attribute__((vector_size(8), aligned(4), may_alias));
typedef float f32x16 __attribute__((vector_size(64)));
typedef float f32x16u __attribute__((vector_size(64), aligned(4), may_alias));

#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE f32x16 sc_splat_f32x16(float x) { return (f32x16){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x}; }
SC_INLINE f32x2 sc_splat_f32x2(float x) { return (f32x2){x, x}; }
SC_INLINE f32x16 sc_load_f32x16(const float *p) { return *(const f32x16u *)p; }
SC_INLINE f32x2 sc_load_f32x2(const float *p) { return *(const f32x2u *)p; }
SC_INLINE void sc_store_f32x16(float *p, f32x16 x) { *(f32x16u *)p = x; }
SC_INLINE void sc_store_f32x2(float *p, f32x2 x) { *(f32x2u *)p = x; }
SC_INLINE sc_i64 sc_pair_i32(const int *p) { return (sc_i64)(unsigned)p[0] | (sc_i64)p[1] << 32; }

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 l_dim = call->dim[0];
    const sc_i64 Y_stride0 = call->view[1].stride[0];
    const sc_i64 Y_stride1 = call->view[1].stride[1];
    const sc_i64 C_stride0 = call->view[2].stride[0];
    const sc_i64 C_stride1 = call->view[2].stride[1];
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const Y_val = call->view[1].val;
    float *restrict const C_val = call->view[2].val;
    (void)lane;

    /* par i in A */
    for (sc_i64 i = begin; i < end; i++) {
        /* for l */
        for (sc_i64 l = 0; l < l_dim; l++) {
            /* work c[k]: reg f32 */
            f32x16 c = (f32x16){0};
            f32x2 c_1 = (f32x2){0};
            float c_2 = 0.0f;
            /* for j in A unroll 2 */
            const sc_i64 A_lo = (sc_i64)A_pos1[i];
            const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
            const sc_i64 count = A_hi - A_lo;
            const sc_i64 whole = A_lo + (count - count % 2);
            f32x16 c_3 = (f32x16){0};
            f32x2 c_4 = (f32x2){0};
            float c_5 = 0.0f;
            for (sc_i64 p = A_lo; p < whole; p += 2) {
                const sc_i64 jj = sc_pair_i32(&A_crd1[p]);
                const sc_i64 j = jj & 4294967295;
                /* vec k { c[k] += A[i,j] * Y[l,j,k] } */
                const float a = A_val[p];
                const sc_i64 Y_at = l * Y_stride0 + j * Y_stride1;
                c = c + sc_splat_f32x16(a) * sc_load_f32x16(&Y_val[Y_at]);
                c_1 = c_1 + sc_splat_f32x2(a) * sc_load_f32x2(&Y_val[Y_at + 16]);
                c_2 = c_2 + a * Y_val[Y_at + 18];
                const sc_i64 j_1 = jj >> 32;
                const float a_1 = A_val[p + 1];
                const sc_i64 Y_at_1 = l * Y_stride0 + j_1 * Y_stride1;
                c_3 = c_3 + sc_splat_f32x16(a_1) * sc_load_f32x16(&Y_val[Y_at_1]);
                c_4 = c_4 + sc_splat_f32x2(a_1) * sc_load_f32x2(&Y_val[Y_at_1 + 16]);
                c_5 = c_5 + a_1 * Y_val[Y_at_1 + 18];
            }
            c = c + c_3;
            c_1 = c_1 + c_4;
            c_2 = c_2 + c_5;
            for (sc_i64 p = whole; p < A_hi; p++) {
                const sc_i64 j = (sc_i64)A_crd1[p];
                const float a = A_val[p];
                const sc_i64 Y_at = l * Y_stride0 + j * Y_stride1;
                c = c + sc_splat_f32x16(a) * sc_load_f32x16(&Y_val[Y_at]);
                c_1 = c_1 + sc_splat_f32x2(a) * sc_load_f32x2(&Y_val[Y_at + 16]);
                c_2 = c_2 + a * Y_val[Y_at + 18];
            }
            /* vec k { C[l,i,k] = c[k] } */
            const sc_i64 C_at = l * C_stride0 + i * C_stride1;
            sc_store_f32x16(&C_val[C_at], c);
            sc_store_f32x2(&C_val[C_at + 16], c_1);
            C_val[C_at + 18] = c_2;
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
