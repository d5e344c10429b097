/* Computes
 *   C[i,k] = X[i,j] * Y[j,k]
 * with
 *   X: dense f32
 *   Y: dense f32
 *   C: dense f32
 * by
 *   par i {
 *     work c[k]: reg f32 {
 *       for j {
 *         vec k {
 *           c[k] += X[i,j] * Y[j,k]
 *         }
 *       }
 *     } then {
 *       vec k {
 *         C[i,k] = c[k]
 *       }
 *     }
 *   }
 * because
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

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 X_stride0 = call->view[0].stride[0];
    const sc_i64 Y_stride0 = call->view[1].stride[0];
    const sc_i64 C_stride0 = call->view[2].stride[0];
    const float *restrict const X_val = call->view[0].val;
    const float *restrict const Y_val = call->view[1].val;
    float *restrict const C_val = call->view[2].val;
    (void)lane;

    /* par i */
    for (sc_i64 i = begin; i < end; i++) {
        /* work c[k]: reg f32 */
        f32x16 c = (f32x16){0};
        f32x16 c_1 = (f32x16){0};
        f32x16 c_2 = (f32x16){0};
        f32x2 c_3 = (f32x2){0};
        /* for j */
        for (sc_i64 j = 0; j < 20; j++) {
            /* vec k { c[k] += X[i,j] * Y[j,k] } */
            const float x = X_val[i * X_stride0 + j];
            const sc_i64 Y_at = j * Y_stride0;
            c = c + sc_splat_f32x16(x) * sc_load_f32x16(&Y_val[Y_at]);
            c_1 = c_1 + sc_splat_f32x16(x) * sc_load_f32x16(&Y_val[Y_at + 16]);
            c_2 = c_2 + sc_splat_f32x16(x) * sc_load_f32x16(&Y_val[Y_at + 32]);
            c_3 = c_3 + sc_splat_f32x2(x) * sc_load_f32x2(&Y_val[Y_at + 48]);
        }
        /* vec k { C[i,k] = c[k] } */
        const sc_i64 C_at = i * C_stride0;
        sc_store_f32x16(&C_val[C_at], c);
        sc_store_f32x16(&C_val[C_at + 16], c_1);
        sc_store_f32x16(&C_val[C_at + 32], c_2);
        sc_store_f32x2(&C_val[C_at + 48], c_3);
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
