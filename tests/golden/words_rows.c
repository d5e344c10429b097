/* Computes
 *   C[i,k] = A[i,j] * B[j,k]
 * with
 *   A: bitmask f32, indices i32
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

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 j_dim = call->dim[2];
    const sc_i64 B_stride0 = call->view[1].stride[0];
    const sc_i64 C_stride0 = call->view[2].stride[0];
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const B_val = call->view[1].val;
    float *restrict const C_val = call->view[2].val;
    (void)lane;

    /* par i in A */
    for (sc_i64 i = begin; i < end; i++) {
        /* work c[k]: reg f32 */
        f32x16 c = (f32x16){0};
        /* for j in A */
        const sc_i64 words = (j_dim + 31) / 32;
        const sc_i64 lo = i * words;
        for (sc_i64 w = lo; w < lo + words; w++) {
            const sc_i64 first = (sc_i64)A_pos1[w];
            sc_i64 bits = (sc_i64)A_crd1[w] & 4294967295;
            sc_i64 p = first;
            while (bits != 0) {
                const sc_i64 j = (w - lo) * 32 + (sc_i64)__builtin_ctzll((unsigned long long)bits);
                const sc_i64 here = p;
                bits = bits & (bits - 1);
                p = here + 1;
                /* vec k { c[k] += A[i,j] * B[j,k] } */
                const float a = A_val[here];
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
