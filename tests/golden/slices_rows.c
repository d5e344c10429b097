/* Computes
 *   C[i,k] = A[i,j] * B[j,k]
 * with
 *   A: dia(8) f32, indices i32
 *   B: dense f32
 *   C: dense f32
 * by
 *   par i in A {
 *     work c[k]: reg f32 {
 *       for j in A {
 *         vec k {
 *           c[k] += A[i,j] * B[j,k]
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
typedef int i32x16 __attribute__((vector_size(64)));
typedef float f32x16 __attribute__((vector_size(64)));
typedef float f32x16u __attribute__((vector_size(64), aligned(4), may_alias));

#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE f32x16 sc_splat_f32x16(float x) { return (f32x16){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x}; }
SC_INLINE f32x16 sc_load_f32x16(const float *p) { return *(const f32x16u *)p; }
SC_INLINE void sc_store_f32x16(float *p, f32x16 x) { *(f32x16u *)p = x; }
SC_INLINE sc_i64 sc_shl_i64(sc_i64 x, sc_i64 n) { return (sc_i64)((__UINT64_TYPE__)x << n); }

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 B_stride0 = call->view[1].stride[0];
    const sc_i64 C_stride0 = call->view[2].stride[0];
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const B_val = call->view[1].val;
    float *restrict const C_val = call->view[2].val;
    (void)lane;

    /* par i in A */
    for (sc_i64 i = begin; i < end; i++) {
        /* work c[k]: reg f32 */
        f32x16 c = (f32x16){0};
        /* for j in A */
        const sc_i64 slice = i / 8;
        const sc_i64 A_lo = (sc_i64)A_pos1[slice];
        const sc_i64 A_hi = (sc_i64)A_pos1[slice + 1];
        const sc_i64 row = i % 8;
        const sc_i64 mine = sc_shl_i64(1, row);
        for (sc_i64 q = A_lo; q < A_hi; q++) {
            if (((sc_i64)A_crd1[q * 2 + 1] & mine) != 0) {
                const sc_i64 j = (sc_i64)A_crd1[q * 2] + i;
                const sc_i64 p = q * 8 + row;
                /* vec k { c[k] += A[i,j] * B[j,k] } */
                const float a = A_val[p];
                const sc_i64 B_at = j * B_stride0;
                c = c + sc_splat_f32x16(a) * sc_load_f32x16(&B_val[B_at]);
            }
        }
        /* vec k { C[i,k] = c[k] } */
        const sc_i64 C_at = i * C_stride0;
        sc_store_f32x16(&C_val[C_at], c);
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
