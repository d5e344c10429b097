/* Computes
 *   Y[n,i] = X[n,j] * A[i,j] + b[i]
 * with
 *   X: dense f32
 *   A: csr f32, indices i32
 *   b: dense f32
 *   Y: dense f32
 * by
 *   par n/64 {
 *     work t[j,n%64]: lane f32 {
 *       for j/16 {
 *         for n%64 {
 *           vec j%16 {
 *             t[j,n%64] = X[n,j]
 *           }
 *         }
 *       }
 *     } then {
 *       for i/16 {
 *         work y[i%16,n%64]: lane f32 {
 *           for i%16 {
 *             work c[n%64]: reg f32 {
 *               for j in A {
 *                 vec n%64 {
 *                   c[n%64] += A[i,j] * t[j,n%64]
 *                 }
 *               }
 *             } then {
 *               vec n%64 {
 *                 y[i%16,n%64] = c[n%64] + b[i]
 *               }
 *             }
 *           }
 *         } then {
 *           for n%64 {
 *             vec i%16 {
 *               Y[n,i] = y[i%16,n%64]
 *             }
 *           }
 *         }
 *       }
 *     }
 *   }
 * because
 *   loops over A follow its storage order
 *   n is the vector, though nothing runs along it at stride 1: tiles of 64 are packed first
 */
typedef int i32x2 __attribute__((vector_size(8)));
typedef int i32x4 __attribute__((vector_size(16)));
typedef int i32x8 __attribute__((vector_size(32)));
typedef int i32x16 __attribute__((vector_size(64)));
typedef float f32x2 __attribute__((vector_size(8)));
typedef float f32x2u __attribute__((vector_size(8), aligned(4), may_alias));
typedef float f32x4 __attribute__((vector_size(16)));
typedef float f32x4u __attribute__((vector_size(16), aligned(4), may_alias));
typedef float f32x8 __attribute__((vector_size(32)));
typedef float f32x8u __attribute__((vector_size(32), aligned(4), may_alias));
typedef float f32x16 __attribute__((vector_size(64)));
typedef float f32x16u __attribute__((vector_size(64), aligned(4), may_alias));

#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE f32x16 sc_splat_f32x16(float x) { return (f32x16){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x}; }
SC_INLINE f32x8 sc_splat_f32x8(float x) { return (f32x8){x, x, x, x, x, x, x, x}; }
SC_INLINE f32x4 sc_splat_f32x4(float x) { return (f32x4){x, x, x, x}; }
SC_INLINE f32x2 sc_splat_f32x2(float x) { return (f32x2){x, x}; }
SC_INLINE f32x16 sc_load_f32x16(const float *p) { return *(const f32x16u *)p; }
SC_INLINE f32x8 sc_load_f32x8(const float *p) { return *(const f32x8u *)p; }
SC_INLINE f32x4 sc_load_f32x4(const float *p) { return *(const f32x4u *)p; }
SC_INLINE f32x2 sc_load_f32x2(const float *p) { return *(const f32x2u *)p; }
SC_INLINE void sc_store_f32x16(float *p, f32x16 x) { *(f32x16u *)p = x; }
SC_INLINE void sc_store_f32x8(float *p, f32x8 x) { *(f32x8u *)p = x; }
SC_INLINE void sc_store_f32x4(float *p, f32x4 x) { *(f32x4u *)p = x; }
SC_INLINE void sc_store_f32x2(float *p, f32x2 x) { *(f32x2u *)p = x; }
SC_INLINE f32x16 sc_gather_f32x16(const float *p, sc_i64 s)
{
    return (f32x16){p[0], p[s], p[2 * s], p[3 * s], p[4 * s], p[5 * s], p[6 * s], p[7 * s], p[8 * s],
                    p[9 * s], p[10 * s], p[11 * s], p[12 * s], p[13 * s], p[14 * s], p[15 * s]};
}
SC_INLINE f32x8 sc_gather_f32x8(const float *p, sc_i64 s)
{
    return (f32x8){p[0], p[s], p[2 * s], p[3 * s], p[4 * s], p[5 * s], p[6 * s], p[7 * s]};
}
SC_INLINE f32x4 sc_gather_f32x4(const float *p, sc_i64 s)
{
    return (f32x4){p[0], p[s], p[2 * s], p[3 * s]};
}
SC_INLINE f32x2 sc_gather_f32x2(const float *p, sc_i64 s)
{
    return (f32x2){p[0], p[s]};
}
SC_INLINE void sc_scatter_f32x16(float *p, sc_i64 s, f32x16 x)
{
    p[0] = x[0];
    p[1 * s] = x[1];
    p[2 * s] = x[2];
    p[3 * s] = x[3];
    p[4 * s] = x[4];
    p[5 * s] = x[5];
    p[6 * s] = x[6];
    p[7 * s] = x[7];
    p[8 * s] = x[8];
    p[9 * s] = x[9];
    p[10 * s] = x[10];
    p[11 * s] = x[11];
    p[12 * s] = x[12];
    p[13 * s] = x[13];
    p[14 * s] = x[14];
    p[15 * s] = x[15];
}
SC_INLINE void sc_scatter_f32x8(float *p, sc_i64 s, f32x8 x)
{
    p[0] = x[0];
    p[1 * s] = x[1];
    p[2 * s] = x[2];
    p[3 * s] = x[3];
    p[4 * s] = x[4];
    p[5 * s] = x[5];
    p[6 * s] = x[6];
    p[7 * s] = x[7];
}
SC_INLINE void sc_scatter_f32x4(float *p, sc_i64 s, f32x4 x)
{
    p[0] = x[0];
    p[1 * s] = x[1];
    p[2 * s] = x[2];
    p[3 * s] = x[3];
}
SC_INLINE void sc_scatter_f32x2(float *p, sc_i64 s, f32x2 x)
{
    p[0] = x[0];
    p[1 * s] = x[1];
}
SC_INLINE void sc_exchange1_f32x16(f32x16 *v, f32x16 *w)
{
    const f32x16 x = v[0], y = w[0];
    v[0] = (f32x16){x[0], y[0], x[2], y[2], x[4], y[4], x[6], y[6], x[8], y[8], x[10], y[10], x[12], y[12],
                    x[14], y[14]};
    w[0] = (f32x16){x[1], y[1], x[3], y[3], x[5], y[5], x[7], y[7], x[9], y[9], x[11], y[11], x[13], y[13],
                    x[15], y[15]};
}
SC_INLINE void sc_exchange2_f32x16(f32x16 *v, f32x16 *w)
{
    const f32x16 x = v[0], y = w[0];
    v[0] = (f32x16){x[0], x[1], y[0], y[1], x[4], x[5], y[4], y[5], x[8], x[9], y[8], y[9], x[12], x[13],
                    y[12], y[13]};
    w[0] = (f32x16){x[2], x[3], y[2], y[3], x[6], x[7], y[6], y[7], x[10], x[11], y[10], y[11], x[14], x[15],
                    y[14], y[15]};
}
SC_INLINE void sc_exchange4_f32x16(f32x16 *v, f32x16 *w)
{
    const f32x16 x = v[0], y = w[0];
    v[0] = (f32x16){x[0], x[1], x[2], x[3], y[0], y[1], y[2], y[3], x[8], x[9], x[10], x[11], y[8], y[9],
                    y[10], y[11]};
    w[0] = (f32x16){x[4], x[5], x[6], x[7], y[4], y[5], y[6], y[7], x[12], x[13], x[14], x[15], y[12], y[13],
                    y[14], y[15]};
}
SC_INLINE void sc_exchange8_f32x16(f32x16 *v, f32x16 *w)
{
    const f32x16 x = v[0], y = w[0];
    v[0] = (f32x16){x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7], y[0], y[1], y[2], y[3], y[4], y[5], y[6],
                    y[7]};
    w[0] = (f32x16){x[8], x[9], x[10], x[11], x[12], x[13], x[14], x[15], y[8], y[9], y[10], y[11], y[12],
                    y[13], y[14], y[15]};
}
SC_INLINE void sc_turn_f32x16(float *to, sc_i64 s, const float *from, sc_i64 t)
{
    f32x16 v[16];
    v[0] = sc_load_f32x16(from);
    v[1] = sc_load_f32x16(from + 1 * t);
    v[2] = sc_load_f32x16(from + 2 * t);
    v[3] = sc_load_f32x16(from + 3 * t);
    v[4] = sc_load_f32x16(from + 4 * t);
    v[5] = sc_load_f32x16(from + 5 * t);
    v[6] = sc_load_f32x16(from + 6 * t);
    v[7] = sc_load_f32x16(from + 7 * t);
    v[8] = sc_load_f32x16(from + 8 * t);
    v[9] = sc_load_f32x16(from + 9 * t);
    v[10] = sc_load_f32x16(from + 10 * t);
    v[11] = sc_load_f32x16(from + 11 * t);
    v[12] = sc_load_f32x16(from + 12 * t);
    v[13] = sc_load_f32x16(from + 13 * t);
    v[14] = sc_load_f32x16(from + 14 * t);
    v[15] = sc_load_f32x16(from + 15 * t);
    sc_exchange1_f32x16(&v[0], &v[1]);
    sc_exchange1_f32x16(&v[2], &v[3]);
    sc_exchange1_f32x16(&v[4], &v[5]);
    sc_exchange1_f32x16(&v[6], &v[7]);
    sc_exchange1_f32x16(&v[8], &v[9]);
    sc_exchange1_f32x16(&v[10], &v[11]);
    sc_exchange1_f32x16(&v[12], &v[13]);
    sc_exchange1_f32x16(&v[14], &v[15]);
    sc_exchange2_f32x16(&v[0], &v[2]);
    sc_exchange2_f32x16(&v[1], &v[3]);
    sc_exchange2_f32x16(&v[4], &v[6]);
    sc_exchange2_f32x16(&v[5], &v[7]);
    sc_exchange2_f32x16(&v[8], &v[10]);
    sc_exchange2_f32x16(&v[9], &v[11]);
    sc_exchange2_f32x16(&v[12], &v[14]);
    sc_exchange2_f32x16(&v[13], &v[15]);
    sc_exchange4_f32x16(&v[0], &v[4]);
    sc_exchange4_f32x16(&v[1], &v[5]);
    sc_exchange4_f32x16(&v[2], &v[6]);
    sc_exchange4_f32x16(&v[3], &v[7]);
    sc_exchange4_f32x16(&v[8], &v[12]);
    sc_exchange4_f32x16(&v[9], &v[13]);
    sc_exchange4_f32x16(&v[10], &v[14]);
    sc_exchange4_f32x16(&v[11], &v[15]);
    sc_exchange8_f32x16(&v[0], &v[8]);
    sc_exchange8_f32x16(&v[1], &v[9]);
    sc_exchange8_f32x16(&v[2], &v[10]);
    sc_exchange8_f32x16(&v[3], &v[11]);
    sc_exchange8_f32x16(&v[4], &v[12]);
    sc_exchange8_f32x16(&v[5], &v[13]);
    sc_exchange8_f32x16(&v[6], &v[14]);
    sc_exchange8_f32x16(&v[7], &v[15]);
    sc_store_f32x16(to, v[0]);
    sc_store_f32x16(to + 1 * s, v[1]);
    sc_store_f32x16(to + 2 * s, v[2]);
    sc_store_f32x16(to + 3 * s, v[3]);
    sc_store_f32x16(to + 4 * s, v[4]);
    sc_store_f32x16(to + 5 * s, v[5]);
    sc_store_f32x16(to + 6 * s, v[6]);
    sc_store_f32x16(to + 7 * s, v[7]);
    sc_store_f32x16(to + 8 * s, v[8]);
    sc_store_f32x16(to + 9 * s, v[9]);
    sc_store_f32x16(to + 10 * s, v[10]);
    sc_store_f32x16(to + 11 * s, v[11]);
    sc_store_f32x16(to + 12 * s, v[12]);
    sc_store_f32x16(to + 13 * s, v[13]);
    sc_store_f32x16(to + 14 * s, v[14]);
    sc_store_f32x16(to + 15 * s, v[15]);
}
SC_INLINE void sc_exchange1_f32x8(f32x8 *v, f32x8 *w)
{
    const f32x8 x = v[0], y = w[0];
    v[0] = (f32x8){x[0], y[0], x[2], y[2], x[4], y[4], x[6], y[6]};
    w[0] = (f32x8){x[1], y[1], x[3], y[3], x[5], y[5], x[7], y[7]};
}
SC_INLINE void sc_exchange2_f32x8(f32x8 *v, f32x8 *w)
{
    const f32x8 x = v[0], y = w[0];
    v[0] = (f32x8){x[0], x[1], y[0], y[1], x[4], x[5], y[4], y[5]};
    w[0] = (f32x8){x[2], x[3], y[2], y[3], x[6], x[7], y[6], y[7]};
}
SC_INLINE void sc_exchange4_f32x8(f32x8 *v, f32x8 *w)
{
    const f32x8 x = v[0], y = w[0];
    v[0] = (f32x8){x[0], x[1], x[2], x[3], y[0], y[1], y[2], y[3]};
    w[0] = (f32x8){x[4], x[5], x[6], x[7], y[4], y[5], y[6], y[7]};
}
SC_INLINE void sc_turn_f32x8(float *to, sc_i64 s, const float *from, sc_i64 t)
{
    f32x8 v[8];
    v[0] = sc_load_f32x8(from);
    v[1] = sc_load_f32x8(from + 1 * t);
    v[2] = sc_load_f32x8(from + 2 * t);
    v[3] = sc_load_f32x8(from + 3 * t);
    v[4] = sc_load_f32x8(from + 4 * t);
    v[5] = sc_load_f32x8(from + 5 * t);
    v[6] = sc_load_f32x8(from + 6 * t);
    v[7] = sc_load_f32x8(from + 7 * t);
    sc_exchange1_f32x8(&v[0], &v[1]);
    sc_exchange1_f32x8(&v[2], &v[3]);
    sc_exchange1_f32x8(&v[4], &v[5]);
    sc_exchange1_f32x8(&v[6], &v[7]);
    sc_exchange2_f32x8(&v[0], &v[2]);
    sc_exchange2_f32x8(&v[1], &v[3]);
    sc_exchange2_f32x8(&v[4], &v[6]);
    sc_exchange2_f32x8(&v[5], &v[7]);
    sc_exchange4_f32x8(&v[0], &v[4]);
    sc_exchange4_f32x8(&v[1], &v[5]);
    sc_exchange4_f32x8(&v[2], &v[6]);
    sc_exchange4_f32x8(&v[3], &v[7]);
    sc_store_f32x8(to, v[0]);
    sc_store_f32x8(to + 1 * s, v[1]);
    sc_store_f32x8(to + 2 * s, v[2]);
    sc_store_f32x8(to + 3 * s, v[3]);
    sc_store_f32x8(to + 4 * s, v[4]);
    sc_store_f32x8(to + 5 * s, v[5]);
    sc_store_f32x8(to + 6 * s, v[6]);
    sc_store_f32x8(to + 7 * s, v[7]);
}
SC_INLINE void sc_exchange1_f32x4(f32x4 *v, f32x4 *w)
{
    const f32x4 x = v[0], y = w[0];
    v[0] = (f32x4){x[0], y[0], x[2], y[2]};
    w[0] = (f32x4){x[1], y[1], x[3], y[3]};
}
SC_INLINE void sc_exchange2_f32x4(f32x4 *v, f32x4 *w)
{
    const f32x4 x = v[0], y = w[0];
    v[0] = (f32x4){x[0], x[1], y[0], y[1]};
    w[0] = (f32x4){x[2], x[3], y[2], y[3]};
}
SC_INLINE void sc_turn_f32x4(float *to, sc_i64 s, const float *from, sc_i64 t)
{
    f32x4 v[4];
    v[0] = sc_load_f32x4(from);
    v[1] = sc_load_f32x4(from + 1 * t);
    v[2] = sc_load_f32x4(from + 2 * t);
    v[3] = sc_load_f32x4(from + 3 * t);
    sc_exchange1_f32x4(&v[0], &v[1]);
    sc_exchange1_f32x4(&v[2], &v[3]);
    sc_exchange2_f32x4(&v[0], &v[2]);
    sc_exchange2_f32x4(&v[1], &v[3]);
    sc_store_f32x4(to, v[0]);
    sc_store_f32x4(to + 1 * s, v[1]);
    sc_store_f32x4(to + 2 * s, v[2]);
    sc_store_f32x4(to + 3 * s, v[3]);
}
SC_INLINE sc_i64 sc_min_i64(sc_i64 a, sc_i64 b)
{
    return a < b ? a : b;
}

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 j_dim = call->dim[2];
    const sc_i64 n_dim = call->dim[0];
    const sc_i64 X_stride0 = call->view[0].stride[0];
    const sc_i64 i_dim = call->dim[1];
    const sc_i64 Y_stride0 = call->view[3].stride[0];
    float *restrict const t_lane = lane->scratch;
    const sc_i64 y_lane_at = (j_dim * 256 + 63) & -64;
    float *restrict const y_lane = (void *)((char *)lane->scratch + y_lane_at);
    const float *restrict const X_val = call->view[0].val;
    const int *restrict const A_pos1 = call->view[1].level[1].pos;
    const int *restrict const A_crd1 = call->view[1].level[1].crd;
    const float *restrict const A_val = call->view[1].val;
    const float *restrict const b_val = call->view[2].val;
    float *restrict const Y_val = call->view[3].val;

    /* par n/64 */
    for (sc_i64 n_block = begin; n_block < end; n_block++) {
        if (n_dim - n_block * 64 >= 64) {
            /* work t[j,n%64]: lane f32 */
            /* for j/16 */
            for (sc_i64 j_block = 0; j_block < j_dim; j_block += 16) {
                const sc_i64 size = sc_min_i64(16, j_dim - j_block);
                /* for n%64 */
                if (size == 16) {
                    for (sc_i64 n_in = 0; n_in < 64; n_in += 16) {
                        /* vec j%16 { t[j,n%64] = X[n,j] } */
                        const sc_i64 t_at = j_block * 64 + n_in;
                        const sc_i64 X_at = (n_block * 64 + n_in) * X_stride0 + j_block;
                        sc_turn_f32x16(&t_lane[t_at], 64, &X_val[X_at], X_stride0);
                    }
                } else {
                    for (sc_i64 n_in = 0; n_in < 64; n_in++) {
                        const sc_i64 X_at = (n_block * 64 + n_in) * X_stride0 + j_block;
                        const sc_i64 t_at = j_block * 64 + n_in;
                        const sc_i64 rest = size % 16;
                        const sc_i64 full = size - rest;
                        for (sc_i64 j = 0; j < full; j += 16) {
                            sc_scatter_f32x16(&t_lane[t_at + j * 64], 64, sc_load_f32x16(&X_val[X_at + j]));
                        }
                        if ((rest & 8) != 0) {
                            const sc_i64 j = full + (rest & -16);
                            sc_scatter_f32x8(&t_lane[t_at + j * 64], 64, sc_load_f32x8(&X_val[X_at + j]));
                        }
                        if ((rest & 4) != 0) {
                            const sc_i64 j = full + (rest & -8);
                            sc_scatter_f32x4(&t_lane[t_at + j * 64], 64, sc_load_f32x4(&X_val[X_at + j]));
                        }
                        if ((rest & 2) != 0) {
                            const sc_i64 j = full + (rest & -4);
                            sc_scatter_f32x2(&t_lane[t_at + j * 64], 64, sc_load_f32x2(&X_val[X_at + j]));
                        }
                        if ((rest & 1) != 0) {
                            const sc_i64 j = full + (rest & -2);
                            t_lane[t_at + j * 64] = X_val[X_at + j];
                        }
                    }
                }
            }
            /* for i/16 */
            for (sc_i64 i_block = 0; i_block < i_dim; i_block += 16) {
                const sc_i64 size = sc_min_i64(16, i_dim - i_block);
                /* work y[i%16,n%64]: lane f32 */
                /* for i%16 */
                for (sc_i64 i_in = 0; i_in < size; i_in++) {
                    /* work c[n%64]: reg f32 */
                    f32x16 c = (f32x16){0};
                    f32x16 c_1 = (f32x16){0};
                    f32x16 c_2 = (f32x16){0};
                    f32x16 c_3 = (f32x16){0};
                    /* for j in A */
                    const sc_i64 A_lo = (sc_i64)A_pos1[i_block + i_in];
                    const sc_i64 A_hi = (sc_i64)A_pos1[i_block + i_in + 1];
                    for (sc_i64 p = A_lo; p < A_hi; p++) {
                        const sc_i64 j = (sc_i64)A_crd1[p];
                        /* vec n%64 { c[n%64] += A[i,j] * t[j,n%64] } */
                        const float a = A_val[p];
                        const sc_i64 t_at = j * 64;
                        c = c + sc_splat_f32x16(a) * sc_load_f32x16(&t_lane[t_at]);
                        c_1 = c_1 + sc_splat_f32x16(a) * sc_load_f32x16(&t_lane[t_at + 16]);
                        c_2 = c_2 + sc_splat_f32x16(a) * sc_load_f32x16(&t_lane[t_at + 32]);
                        c_3 = c_3 + sc_splat_f32x16(a) * sc_load_f32x16(&t_lane[t_at + 48]);
                    }
                    /* vec n%64 { y[i%16,n%64] = c[n%64] + b[i] } */
                    const float b = b_val[i_block + i_in];
                    const sc_i64 y_at = i_in * 64;
                    sc_store_f32x16(&y_lane[y_at], c + sc_splat_f32x16(b));
                    sc_store_f32x16(&y_lane[y_at + 16], c_1 + sc_splat_f32x16(b));
                    sc_store_f32x16(&y_lane[y_at + 32], c_2 + sc_splat_f32x16(b));
                    sc_store_f32x16(&y_lane[y_at + 48], c_3 + sc_splat_f32x16(b));
                }
                /* for n%64 */
                if (size == 16) {
                    for (sc_i64 n_in = 0; n_in < 64; n_in += 16) {
                        /* vec i%16 { Y[n,i] = y[i%16,n%64] } */
                        const sc_i64 Y_at = (n_block * 64 + n_in) * Y_stride0 + i_block;
                        sc_turn_f32x16(&Y_val[Y_at], Y_stride0, &y_lane[n_in], 64);
                    }
                } else {
                    for (sc_i64 n_in = 0; n_in < 64; n_in++) {
                        const sc_i64 Y_at = (n_block * 64 + n_in) * Y_stride0 + i_block;
                        const sc_i64 rest = size % 16;
                        const sc_i64 full = size - rest;
                        for (sc_i64 i = 0; i < full; i += 16) {
                            sc_store_f32x16(&Y_val[Y_at + i], sc_gather_f32x16(&y_lane[n_in + i * 64], 64));
                        }
                        if ((rest & 8) != 0) {
                            const sc_i64 i = full + (rest & -16);
                            sc_store_f32x8(&Y_val[Y_at + i], sc_gather_f32x8(&y_lane[n_in + i * 64], 64));
                        }
                        if ((rest & 4) != 0) {
                            const sc_i64 i = full + (rest & -8);
                            sc_store_f32x4(&Y_val[Y_at + i], sc_gather_f32x4(&y_lane[n_in + i * 64], 64));
                        }
                        if ((rest & 2) != 0) {
                            const sc_i64 i = full + (rest & -4);
                            sc_store_f32x2(&Y_val[Y_at + i], sc_gather_f32x2(&y_lane[n_in + i * 64], 64));
                        }
                        if ((rest & 1) != 0) {
                            const sc_i64 i = full + (rest & -2);
                            Y_val[Y_at + i] = y_lane[n_in + i * 64];
                        }
                    }
                }
            }
        } else {
            const sc_i64 rest = n_dim % 64;
            const sc_i64 full = n_dim - rest;
            /* the rest, in powers of two */
            if ((rest & 32) != 0) {
                const sc_i64 n_block_1 = full + (rest & -64);
                for (sc_i64 j_block = 0; j_block < j_dim; j_block += 16) {
                    const sc_i64 size = sc_min_i64(16, j_dim - j_block);
                    if (size == 16) {
                        for (sc_i64 n_in = 0; n_in < 32; n_in += 16) {
                            const sc_i64 t_at = j_block * 64 + n_in;
                            const sc_i64 X_at = (n_block_1 + n_in) * X_stride0 + j_block;
                            sc_turn_f32x16(&t_lane[t_at], 64, &X_val[X_at], X_stride0);
                        }
                    } else {
                        for (sc_i64 n_in = 0; n_in < 32; n_in++) {
                            const sc_i64 X_at = (n_block_1 + n_in) * X_stride0 + j_block;
                            const sc_i64 t_at = j_block * 64 + n_in;
                            const sc_i64 rest_1 = size % 16;
                            const sc_i64 full_1 = size - rest_1;
                            for (sc_i64 j = 0; j < full_1; j += 16) {
                                sc_scatter_f32x16(&t_lane[t_at + j * 64], 64,
                                                  sc_load_f32x16(&X_val[X_at + j]));
                            }
                            if ((rest_1 & 8) != 0) {
                                const sc_i64 j = full_1 + (rest_1 & -16);
                                sc_scatter_f32x8(&t_lane[t_at + j * 64], 64, sc_load_f32x8(&X_val[X_at + j]));
                            }
                            if ((rest_1 & 4) != 0) {
                                const sc_i64 j = full_1 + (rest_1 & -8);
                                sc_scatter_f32x4(&t_lane[t_at + j * 64], 64, sc_load_f32x4(&X_val[X_at + j]));
                            }
                            if ((rest_1 & 2) != 0) {
                                const sc_i64 j = full_1 + (rest_1 & -4);
                                sc_scatter_f32x2(&t_lane[t_at + j * 64], 64, sc_load_f32x2(&X_val[X_at + j]));
                            }
                            if ((rest_1 & 1) != 0) {
                                const sc_i64 j = full_1 + (rest_1 & -2);
                                t_lane[t_at + j * 64] = X_val[X_at + j];
                            }
                        }
                    }
                }
                for (sc_i64 i_block = 0; i_block < i_dim; i_block += 16) {
                    const sc_i64 size = sc_min_i64(16, i_dim - i_block);
                    for (sc_i64 i_in = 0; i_in < size; i_in++) {
                        f32x16 c = (f32x16){0};
                        f32x16 c_1 = (f32x16){0};
                        const sc_i64 A_lo = (sc_i64)A_pos1[i_block + i_in];
                        const sc_i64 A_hi = (sc_i64)A_pos1[i_block + i_in + 1];
                        for (sc_i64 p = A_lo; p < A_hi; p += 2) {
                            const sc_i64 j = (sc_i64)A_crd1[p];
                            const float a = A_val[p];
                            const sc_i64 t_at = j * 64;
                            c = c + sc_splat_f32x16(a) * sc_load_f32x16(&t_lane[t_at]);
                            c_1 = c_1 + sc_splat_f32x16(a) * sc_load_f32x16(&t_lane[t_at + 16]);
                            if (p + 1 < A_hi) {
                                const sc_i64 j_1 = (sc_i64)A_crd1[p + 1];
                                const float a_1 = A_val[p + 1];
                                const sc_i64 t_at_1 = j_1 * 64;
                                c = c + sc_splat_f32x16(a_1) * sc_load_f32x16(&t_lane[t_at_1]);
                                c_1 = c_1 + sc_splat_f32x16(a_1) * sc_load_f32x16(&t_lane[t_at_1 + 16]);
                            }
                        }
                        const float b = b_val[i_block + i_in];
                        const sc_i64 y_at = i_in * 64;
                        sc_store_f32x16(&y_lane[y_at], c + sc_splat_f32x16(b));
                        sc_store_f32x16(&y_lane[y_at + 16], c_1 + sc_splat_f32x16(b));
                    }
                    if (size == 16) {
                        for (sc_i64 n_in = 0; n_in < 32; n_in += 16) {
                            const sc_i64 Y_at = (n_block_1 + n_in) * Y_stride0 + i_block;
                            sc_turn_f32x16(&Y_val[Y_at], Y_stride0, &y_lane[n_in], 64);
                        }
                    } else {
                        for (sc_i64 n_in = 0; n_in < 32; n_in++) {
                            const sc_i64 Y_at = (n_block_1 + n_in) * Y_stride0 + i_block;
                            const sc_i64 rest_1 = size % 16;
                            const sc_i64 full_1 = size - rest_1;
                            for (sc_i64 i = 0; i < full_1; i += 16) {
                                sc_store_f32x16(&Y_val[Y_at + i],
                                                sc_gather_f32x16(&y_lane[n_in + i * 64], 64));
                            }
                            if ((rest_1 & 8) != 0) {
                                const sc_i64 i = full_1 + (rest_1 & -16);
                                sc_store_f32x8(&Y_val[Y_at + i], sc_gather_f32x8(&y_lane[n_in + i * 64], 64));
                            }
                            if ((rest_1 & 4) != 0) {
                                const sc_i64 i = full_1 + (rest_1 & -8);
                                sc_store_f32x4(&Y_val[Y_at + i], sc_gather_f32x4(&y_lane[n_in + i * 64], 64));
                            }
                            if ((rest_1 & 2) != 0) {
                                const sc_i64 i = full_1 + (rest_1 & -4);
                                sc_store_f32x2(&Y_val[Y_at + i], sc_gather_f32x2(&y_lane[n_in + i * 64], 64));
                            }
                            if ((rest_1 & 1) != 0) {
                                const sc_i64 i = full_1 + (rest_1 & -2);
                                Y_val[Y_at + i] = y_lane[n_in + i * 64];
                            }
                        }
                    }
                }
            }
            if ((rest & 16) != 0) {
                const sc_i64 n_block_1 = full + (rest & -32);
                for (sc_i64 j_block = 0; j_block < j_dim; j_block += 16) {
                    const sc_i64 size = sc_min_i64(16, j_dim - j_block);
                    if (size == 16) {
                        const sc_i64 t_at = j_block * 64;
                        const sc_i64 X_at = n_block_1 * X_stride0 + j_block;
                        sc_turn_f32x16(&t_lane[t_at], 64, &X_val[X_at], X_stride0);
                    } else {
                        for (sc_i64 n_in = 0; n_in < 16; n_in++) {
                            const sc_i64 X_at = (n_block_1 + n_in) * X_stride0 + j_block;
                            const sc_i64 t_at = j_block * 64 + n_in;
                            const sc_i64 rest_1 = size % 16;
                            const sc_i64 full_1 = size - rest_1;
                            for (sc_i64 j = 0; j < full_1; j += 16) {
                                sc_scatter_f32x16(&t_lane[t_at + j * 64], 64,
                                                  sc_load_f32x16(&X_val[X_at + j]));
                            }
                            if ((rest_1 & 8) != 0) {
                                const sc_i64 j = full_1 + (rest_1 & -16);
                                sc_scatter_f32x8(&t_lane[t_at + j * 64], 64, sc_load_f32x8(&X_val[X_at + j]));
                            }
                            if ((rest_1 & 4) != 0) {
                                const sc_i64 j = full_1 + (rest_1 & -8);
                                sc_scatter_f32x4(&t_lane[t_at + j * 64], 64, sc_load_f32x4(&X_val[X_at + j]));
                            }
                            if ((rest_1 & 2) != 0) {
                                const sc_i64 j = full_1 + (rest_1 & -4);
                                sc_scatter_f32x2(&t_lane[t_at + j * 64], 64, sc_load_f32x2(&X_val[X_at + j]));
                            }
                            if ((rest_1 & 1) != 0) {
                                const sc_i64 j = full_1 + (rest_1 & -2);
                                t_lane[t_at + j * 64] = X_val[X_at + j];
                            }
                        }
                    }
                }
                for (sc_i64 i_block = 0; i_block < i_dim; i_block += 16) {
                    const sc_i64 size = sc_min_i64(16, i_dim - i_block);
                    for (sc_i64 i_in = 0; i_in < size; i_in++) {
                        f32x16 c = (f32x16){0};
                        const sc_i64 A_lo = (sc_i64)A_pos1[i_block + i_in];
                        const sc_i64 A_hi = (sc_i64)A_pos1[i_block + i_in + 1];
                        for (sc_i64 p = A_lo; p < A_hi; p += 2) {
                            const sc_i64 j = (sc_i64)A_crd1[p];
                            const float a = A_val[p];
                            const sc_i64 t_at = j * 64;
                            c = c + sc_splat_f32x16(a) * sc_load_f32x16(&t_lane[t_at]);
                            if (p + 1 < A_hi) {
                                const sc_i64 j_1 = (sc_i64)A_crd1[p + 1];
                                const float a_1 = A_val[p + 1];
                                const sc_i64 t_at_1 = j_1 * 64;
                                c = c + sc_splat_f32x16(a_1) * sc_load_f32x16(&t_lane[t_at_1]);
                            }
                        }
                        const float b = b_val[i_block + i_in];
                        const sc_i64 y_at = i_in * 64;
                        sc_store_f32x16(&y_lane[y_at], c + sc_splat_f32x16(b));
                    }
                    if (size == 16) {
                        const sc_i64 Y_at = n_block_1 * Y_stride0 + i_block;
                        sc_turn_f32x16(&Y_val[Y_at], Y_stride0, y_lane, 64);
                    } else {
                        for (sc_i64 n_in = 0; n_in < 16; n_in++) {
                            const sc_i64 Y_at = (n_block_1 + n_in) * Y_stride0 + i_block;
                            const sc_i64 rest_1 = size % 16;
                            const sc_i64 full_1 = size - rest_1;
                            for (sc_i64 i = 0; i < full_1; i += 16) {
                                sc_store_f32x16(&Y_val[Y_at + i],
                                                sc_gather_f32x16(&y_lane[n_in + i * 64], 64));
                            }
                            if ((rest_1 & 8) != 0) {
                                const sc_i64 i = full_1 + (rest_1 & -16);
                                sc_store_f32x8(&Y_val[Y_at + i], sc_gather_f32x8(&y_lane[n_in + i * 64], 64));
                            }
                            if ((rest_1 & 4) != 0) {
                                const sc_i64 i = full_1 + (rest_1 & -8);
                                sc_store_f32x4(&Y_val[Y_at + i], sc_gather_f32x4(&y_lane[n_in + i * 64], 64));
                            }
                            if ((rest_1 & 2) != 0) {
                                const sc_i64 i = full_1 + (rest_1 & -4);
                                sc_store_f32x2(&Y_val[Y_at + i], sc_gather_f32x2(&y_lane[n_in + i * 64], 64));
                            }
                            if ((rest_1 & 1) != 0) {
                                const sc_i64 i = full_1 + (rest_1 & -2);
                                Y_val[Y_at + i] = y_lane[n_in + i * 64];
                            }
                        }
                    }
                }
            }
            if ((rest & 8) != 0) {
                const sc_i64 n_block_1 = full + (rest & -16);
                for (sc_i64 j_block = 0; j_block < j_dim; j_block += 16) {
                    const sc_i64 size = sc_min_i64(16, j_dim - j_block);
                    if (size == 16) {
                        const sc_i64 t_at = j_block * 64;
                        const sc_i64 X_at = n_block_1 * X_stride0 + j_block;
                        for (sc_i64 j_in = 0; j_in < 16; j_in += 8) {
                            sc_turn_f32x8(&t_lane[t_at + j_in * 64], 64, &X_val[X_at + j_in], X_stride0);
                        }
                    } else {
                        for (sc_i64 n_in = 0; n_in < 8; n_in++) {
                            const sc_i64 X_at = (n_block_1 + n_in) * X_stride0 + j_block;
                            const sc_i64 t_at = j_block * 64 + n_in;
                            const sc_i64 rest_1 = size % 16;
                            const sc_i64 full_1 = size - rest_1;
                            for (sc_i64 j = 0; j < full_1; j += 16) {
                                sc_scatter_f32x16(&t_lane[t_at + j * 64], 64,
                                                  sc_load_f32x16(&X_val[X_at + j]));
                            }
                            if ((rest_1 & 8) != 0) {
                                const sc_i64 j = full_1 + (rest_1 & -16);
                                sc_scatter_f32x8(&t_lane[t_at + j * 64], 64, sc_load_f32x8(&X_val[X_at + j]));
                            }
                            if ((rest_1 & 4) != 0) {
                                const sc_i64 j = full_1 + (rest_1 & -8);
                                sc_scatter_f32x4(&t_lane[t_at + j * 64], 64, sc_load_f32x4(&X_val[X_at + j]));
                            }
                            if ((rest_1 & 2) != 0) {
                                const sc_i64 j = full_1 + (rest_1 & -4);
                                sc_scatter_f32x2(&t_lane[t_at + j * 64], 64, sc_load_f32x2(&X_val[X_at + j]));
                            }
                            if ((rest_1 & 1) != 0) {
                                const sc_i64 j = full_1 + (rest_1 & -2);
                                t_lane[t_at + j * 64] = X_val[X_at + j];
                            }
                        }
                    }
                }
                for (sc_i64 i_block = 0; i_block < i_dim; i_block += 16) {
                    const sc_i64 size = sc_min_i64(16, i_dim - i_block);
                    for (sc_i64 i_in = 0; i_in < size; i_in++) {
                        f32x8 c = (f32x8){0};
                        const sc_i64 A_lo = (sc_i64)A_pos1[i_block + i_in];
                        const sc_i64 A_hi = (sc_i64)A_pos1[i_block + i_in + 1];
                        for (sc_i64 p = A_lo; p < A_hi; p += 2) {
                            const sc_i64 j = (sc_i64)A_crd1[p];
                            const float a = A_val[p];
                            const sc_i64 t_at = j * 64;
                            c = c + sc_splat_f32x8(a) * sc_load_f32x8(&t_lane[t_at]);
                            if (p + 1 < A_hi) {
                                const sc_i64 j_1 = (sc_i64)A_crd1[p + 1];
                                const float a_1 = A_val[p + 1];
                                const sc_i64 t_at_1 = j_1 * 64;
                                c = c + sc_splat_f32x8(a_1) * sc_load_f32x8(&t_lane[t_at_1]);
                            }
                        }
                        const float b = b_val[i_block + i_in];
                        const sc_i64 y_at = i_in * 64;
                        sc_store_f32x8(&y_lane[y_at], c + sc_splat_f32x8(b));
                    }
                    if (size == 16) {
                        const sc_i64 Y_at = n_block_1 * Y_stride0 + i_block;
                        for (sc_i64 i_in = 0; i_in < 16; i_in += 8) {
                            sc_turn_f32x8(&Y_val[Y_at + i_in], Y_stride0, &y_lane[i_in * 64], 64);
                        }
                    } else {
                        for (sc_i64 n_in = 0; n_in < 8; n_in++) {
                            const sc_i64 Y_at = (n_block_1 + n_in) * Y_stride0 + i_block;
                            const sc_i64 rest_1 = size % 16;
                            const sc_i64 full_1 = size - rest_1;
                            for (sc_i64 i = 0; i < full_1; i += 16) {
                                sc_store_f32x16(&Y_val[Y_at + i],
                                                sc_gather_f32x16(&y_lane[n_in + i * 64], 64));
                            }
                            if ((rest_1 & 8) != 0) {
                                const sc_i64 i = full_1 + (rest_1 & -16);
                                sc_store_f32x8(&Y_val[Y_at + i], sc_gather_f32x8(&y_lane[n_in + i * 64], 64));
                            }
                            if ((rest_1 & 4) != 0) {
                                const sc_i64 i = full_1 + (rest_1 & -8);
                                sc_store_f32x4(&Y_val[Y_at + i], sc_gather_f32x4(&y_lane[n_in + i * 64], 64));
                            }
                            if ((rest_1 & 2) != 0) {
                                const sc_i64 i = full_1 + (rest_1 & -4);
                                sc_store_f32x2(&Y_val[Y_at + i], sc_gather_f32x2(&y_lane[n_in + i * 64], 64));
                            }
                            if ((rest_1 & 1) != 0) {
                                const sc_i64 i = full_1 + (rest_1 & -2);
                                Y_val[Y_at + i] = y_lane[n_in + i * 64];
                            }
                        }
                    }
                }
            }
            if ((rest & 4) != 0) {
                const sc_i64 n_block_1 = full + (rest & -8);
                for (sc_i64 j_block = 0; j_block < j_dim; j_block += 16) {
                    const sc_i64 size = sc_min_i64(16, j_dim - j_block);
                    if (size == 16) {
                        const sc_i64 t_at = j_block * 64;
                        const sc_i64 X_at = n_block_1 * X_stride0 + j_block;
                        for (sc_i64 j_in = 0; j_in < 16; j_in += 4) {
                            sc_turn_f32x4(&t_lane[t_at + j_in * 64], 64, &X_val[X_at + j_in], X_stride0);
                        }
                    } else {
                        for (sc_i64 n_in = 0; n_in < 4; n_in++) {
                            const sc_i64 X_at = (n_block_1 + n_in) * X_stride0 + j_block;
                            const sc_i64 t_at = j_block * 64 + n_in;
                            const sc_i64 rest_1 = size % 16;
                            const sc_i64 full_1 = size - rest_1;
                            for (sc_i64 j = 0; j < full_1; j += 16) {
                                sc_scatter_f32x16(&t_lane[t_at + j * 64], 64,
                                                  sc_load_f32x16(&X_val[X_at + j]));
                            }
                            if ((rest_1 & 8) != 0) {
                                const sc_i64 j = full_1 + (rest_1 & -16);
                                sc_scatter_f32x8(&t_lane[t_at + j * 64], 64, sc_load_f32x8(&X_val[X_at + j]));
                            }
                            if ((rest_1 & 4) != 0) {
                                const sc_i64 j = full_1 + (rest_1 & -8);
                                sc_scatter_f32x4(&t_lane[t_at + j * 64], 64, sc_load_f32x4(&X_val[X_at + j]));
                            }
                            if ((rest_1 & 2) != 0) {
                                const sc_i64 j = full_1 + (rest_1 & -4);
                                sc_scatter_f32x2(&t_lane[t_at + j * 64], 64, sc_load_f32x2(&X_val[X_at + j]));
                            }
                            if ((rest_1 & 1) != 0) {
                                const sc_i64 j = full_1 + (rest_1 & -2);
                                t_lane[t_at + j * 64] = X_val[X_at + j];
                            }
                        }
                    }
                }
                for (sc_i64 i_block = 0; i_block < i_dim; i_block += 16) {
                    const sc_i64 size = sc_min_i64(16, i_dim - i_block);
                    for (sc_i64 i_in = 0; i_in < size; i_in++) {
                        f32x4 c = (f32x4){0};
                        const sc_i64 A_lo = (sc_i64)A_pos1[i_block + i_in];
                        const sc_i64 A_hi = (sc_i64)A_pos1[i_block + i_in + 1];
                        for (sc_i64 p = A_lo; p < A_hi; p += 2) {
                            const sc_i64 j = (sc_i64)A_crd1[p];
                            const float a = A_val[p];
                            const sc_i64 t_at = j * 64;
                            c = c + sc_splat_f32x4(a) * sc_load_f32x4(&t_lane[t_at]);
                            if (p + 1 < A_hi) {
                                const sc_i64 j_1 = (sc_i64)A_crd1[p + 1];
                                const float a_1 = A_val[p + 1];
                                const sc_i64 t_at_1 = j_1 * 64;
                                c = c + sc_splat_f32x4(a_1) * sc_load_f32x4(&t_lane[t_at_1]);
                            }
                        }
                        const float b = b_val[i_block + i_in];
                        const sc_i64 y_at = i_in * 64;
                        sc_store_f32x4(&y_lane[y_at], c + sc_splat_f32x4(b));
                    }
                    if (size == 16) {
                        const sc_i64 Y_at = n_block_1 * Y_stride0 + i_block;
                        for (sc_i64 i_in = 0; i_in < 16; i_in += 4) {
                            sc_turn_f32x4(&Y_val[Y_at + i_in], Y_stride0, &y_lane[i_in * 64], 64);
                        }
                    } else {
                        for (sc_i64 n_in = 0; n_in < 4; n_in++) {
                            const sc_i64 Y_at = (n_block_1 + n_in) * Y_stride0 + i_block;
                            const sc_i64 rest_1 = size % 16;
                            const sc_i64 full_1 = size - rest_1;
                            for (sc_i64 i = 0; i < full_1; i += 16) {
                                sc_store_f32x16(&Y_val[Y_at + i],
                                                sc_gather_f32x16(&y_lane[n_in + i * 64], 64));
                            }
                            if ((rest_1 & 8) != 0) {
                                const sc_i64 i = full_1 + (rest_1 & -16);
                                sc_store_f32x8(&Y_val[Y_at + i], sc_gather_f32x8(&y_lane[n_in + i * 64], 64));
                            }
                            if ((rest_1 & 4) != 0) {
                                const sc_i64 i = full_1 + (rest_1 & -8);
                                sc_store_f32x4(&Y_val[Y_at + i], sc_gather_f32x4(&y_lane[n_in + i * 64], 64));
                            }
                            if ((rest_1 & 2) != 0) {
                                const sc_i64 i = full_1 + (rest_1 & -4);
                                sc_store_f32x2(&Y_val[Y_at + i], sc_gather_f32x2(&y_lane[n_in + i * 64], 64));
                            }
                            if ((rest_1 & 1) != 0) {
                                const sc_i64 i = full_1 + (rest_1 & -2);
                                Y_val[Y_at + i] = y_lane[n_in + i * 64];
                            }
                        }
                    }
                }
            }
            if ((rest & 2) != 0) {
                const sc_i64 n_block_1 = full + (rest & -4);
                for (sc_i64 j_block = 0; j_block < j_dim; j_block += 16) {
                    const sc_i64 size = sc_min_i64(16, j_dim - j_block);
                    for (sc_i64 n_in = 0; n_in < 2; n_in++) {
                        const sc_i64 X_at = (n_block_1 + n_in) * X_stride0 + j_block;
                        const sc_i64 t_at = j_block * 64 + n_in;
                        const sc_i64 rest_1 = size % 16;
                        const sc_i64 full_1 = size - rest_1;
                        for (sc_i64 j = 0; j < full_1; j += 16) {
                            sc_scatter_f32x16(&t_lane[t_at + j * 64], 64, sc_load_f32x16(&X_val[X_at + j]));
                        }
                        if ((rest_1 & 8) != 0) {
                            const sc_i64 j = full_1 + (rest_1 & -16);
                            sc_scatter_f32x8(&t_lane[t_at + j * 64], 64, sc_load_f32x8(&X_val[X_at + j]));
                        }
                        if ((rest_1 & 4) != 0) {
                            const sc_i64 j = full_1 + (rest_1 & -8);
                            sc_scatter_f32x4(&t_lane[t_at + j * 64], 64, sc_load_f32x4(&X_val[X_at + j]));
                        }
                        if ((rest_1 & 2) != 0) {
                            const sc_i64 j = full_1 + (rest_1 & -4);
                            sc_scatter_f32x2(&t_lane[t_at + j * 64], 64, sc_load_f32x2(&X_val[X_at + j]));
                        }
                        if ((rest_1 & 1) != 0) {
                            const sc_i64 j = full_1 + (rest_1 & -2);
                            t_lane[t_at + j * 64] = X_val[X_at + j];
                        }
                    }
                }
                for (sc_i64 i_block = 0; i_block < i_dim; i_block += 16) {
                    const sc_i64 size = sc_min_i64(16, i_dim - i_block);
                    for (sc_i64 i_in = 0; i_in < size; i_in++) {
                        f32x2 c = (f32x2){0};
                        const sc_i64 A_lo = (sc_i64)A_pos1[i_block + i_in];
                        const sc_i64 A_hi = (sc_i64)A_pos1[i_block + i_in + 1];
                        for (sc_i64 p = A_lo; p < A_hi; p += 2) {
                            const sc_i64 j = (sc_i64)A_crd1[p];
                            const float a = A_val[p];
                            const sc_i64 t_at = j * 64;
                            c = c + sc_splat_f32x2(a) * sc_load_f32x2(&t_lane[t_at]);
                            if (p + 1 < A_hi) {
                                const sc_i64 j_1 = (sc_i64)A_crd1[p + 1];
                                const float a_1 = A_val[p + 1];
                                const sc_i64 t_at_1 = j_1 * 64;
                                c = c + sc_splat_f32x2(a_1) * sc_load_f32x2(&t_lane[t_at_1]);
                            }
                        }
                        const float b = b_val[i_block + i_in];
                        const sc_i64 y_at = i_in * 64;
                        sc_store_f32x2(&y_lane[y_at], c + sc_splat_f32x2(b));
                    }
                    for (sc_i64 n_in = 0; n_in < 2; n_in++) {
                        const sc_i64 Y_at = (n_block_1 + n_in) * Y_stride0 + i_block;
                        const sc_i64 rest_1 = size % 16;
                        const sc_i64 full_1 = size - rest_1;
                        for (sc_i64 i = 0; i < full_1; i += 16) {
                            sc_store_f32x16(&Y_val[Y_at + i], sc_gather_f32x16(&y_lane[n_in + i * 64], 64));
                        }
                        if ((rest_1 & 8) != 0) {
                            const sc_i64 i = full_1 + (rest_1 & -16);
                            sc_store_f32x8(&Y_val[Y_at + i], sc_gather_f32x8(&y_lane[n_in + i * 64], 64));
                        }
                        if ((rest_1 & 4) != 0) {
                            const sc_i64 i = full_1 + (rest_1 & -8);
                            sc_store_f32x4(&Y_val[Y_at + i], sc_gather_f32x4(&y_lane[n_in + i * 64], 64));
                        }
                        if ((rest_1 & 2) != 0) {
                            const sc_i64 i = full_1 + (rest_1 & -4);
                            sc_store_f32x2(&Y_val[Y_at + i], sc_gather_f32x2(&y_lane[n_in + i * 64], 64));
                        }
                        if ((rest_1 & 1) != 0) {
                            const sc_i64 i = full_1 + (rest_1 & -2);
                            Y_val[Y_at + i] = y_lane[n_in + i * 64];
                        }
                    }
                }
            }
            if ((rest & 1) != 0) {
                const sc_i64 n_block_1 = full + (rest & -2);
                for (sc_i64 j_block = 0; j_block < j_dim; j_block += 16) {
                    const sc_i64 size = sc_min_i64(16, j_dim - j_block);
                    for (sc_i64 n_in = 0; n_in < 1; n_in++) {
                        const sc_i64 X_at = (n_block_1 + n_in) * X_stride0 + j_block;
                        const sc_i64 t_at = j_block * 64 + n_in;
                        const sc_i64 rest_1 = size % 16;
                        const sc_i64 full_1 = size - rest_1;
                        for (sc_i64 j = 0; j < full_1; j += 16) {
                            sc_scatter_f32x16(&t_lane[t_at + j * 64], 64, sc_load_f32x16(&X_val[X_at + j]));
                        }
                        if ((rest_1 & 8) != 0) {
                            const sc_i64 j = full_1 + (rest_1 & -16);
                            sc_scatter_f32x8(&t_lane[t_at + j * 64], 64, sc_load_f32x8(&X_val[X_at + j]));
                        }
                        if ((rest_1 & 4) != 0) {
                            const sc_i64 j = full_1 + (rest_1 & -8);
                            sc_scatter_f32x4(&t_lane[t_at + j * 64], 64, sc_load_f32x4(&X_val[X_at + j]));
                        }
                        if ((rest_1 & 2) != 0) {
                            const sc_i64 j = full_1 + (rest_1 & -4);
                            sc_scatter_f32x2(&t_lane[t_at + j * 64], 64, sc_load_f32x2(&X_val[X_at + j]));
                        }
                        if ((rest_1 & 1) != 0) {
                            const sc_i64 j = full_1 + (rest_1 & -2);
                            t_lane[t_at + j * 64] = X_val[X_at + j];
                        }
                    }
                }
                for (sc_i64 i_block = 0; i_block < i_dim; i_block += 16) {
                    const sc_i64 size = sc_min_i64(16, i_dim - i_block);
                    for (sc_i64 i_in = 0; i_in < size; i_in++) {
                        float c = 0.0f;
                        const sc_i64 A_lo = (sc_i64)A_pos1[i_block + i_in];
                        const sc_i64 A_hi = (sc_i64)A_pos1[i_block + i_in + 1];
                        for (sc_i64 p = A_lo; p < A_hi; p += 2) {
                            const sc_i64 j = (sc_i64)A_crd1[p];
                            const float a = A_val[p];
                            const sc_i64 t_at = j * 64;
                            c = c + a * t_lane[t_at];
                            if (p + 1 < A_hi) {
                                const sc_i64 j_1 = (sc_i64)A_crd1[p + 1];
                                const float a_1 = A_val[p + 1];
                                const sc_i64 t_at_1 = j_1 * 64;
                                c = c + a_1 * t_lane[t_at_1];
                            }
                        }
                        const float b = b_val[i_block + i_in];
                        const sc_i64 y_at = i_in * 64;
                        y_lane[y_at] = c + b;
                    }
                    for (sc_i64 n_in = 0; n_in < 1; n_in++) {
                        const sc_i64 Y_at = (n_block_1 + n_in) * Y_stride0 + i_block;
                        const sc_i64 rest_1 = size % 16;
                        const sc_i64 full_1 = size - rest_1;
                        for (sc_i64 i = 0; i < full_1; i += 16) {
                            sc_store_f32x16(&Y_val[Y_at + i], sc_gather_f32x16(&y_lane[n_in + i * 64], 64));
                        }
                        if ((rest_1 & 8) != 0) {
                            const sc_i64 i = full_1 + (rest_1 & -16);
                            sc_store_f32x8(&Y_val[Y_at + i], sc_gather_f32x8(&y_lane[n_in + i * 64], 64));
                        }
                        if ((rest_1 & 4) != 0) {
                            const sc_i64 i = full_1 + (rest_1 & -8);
                            sc_store_f32x4(&Y_val[Y_at + i], sc_gather_f32x4(&y_lane[n_in + i * 64], 64));
                        }
                        if ((rest_1 & 2) != 0) {
                            const sc_i64 i = full_1 + (rest_1 & -4);
                            sc_store_f32x2(&Y_val[Y_at + i], sc_gather_f32x2(&y_lane[n_in + i * 64], 64));
                        }
                        if ((rest_1 & 1) != 0) {
                            const sc_i64 i = full_1 + (rest_1 & -2);
                            Y_val[Y_at + i] = y_lane[n_in + i * 64];
                        }
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
