/* Computes
 *   C[n,o] = x[n,i] * W[o,i]
 * with
 *   x: dense bf16
 *   W: csr bf16, indices i32
 *   C: dense bf16
 * by
 *   for n/32 {
 *     work t[i,n%32]: lane bf16 {
 *       for i/16 {
 *         for n%32 {
 *           vec i%16 {
 *             t[i,n%32] = x[n,i]
 *           }
 *         }
 *       }
 *     } then {
 *       par o/16 {
 *         work y[o%16,n%32]: lane f32 {
 *           for o%16 {
 *             work c[n%32]: reg f32 {
 *               for i in W unroll 2 {
 *                 vec n%32 {
 *                   c[n%32] += W[o,i] * t[i,n%32]
 *                 }
 *               }
 *             } then {
 *               vec n%32 {
 *                 y[o%16,n%32] = c[n%32]
 *               }
 *             }
 *           }
 *         } then {
 *           for n%32 {
 *             vec o%16 {
 *               C[n,o] = y[o%16,n%32]
 *             }
 *           }
 *         }
 *       }
 *     }
 *   }
 * because
 *   loops over W follow its storage order
 *   n is the vector, though nothing runs along it at stride 1: tiles of 32 are packed first
 */
typedef short i16x2 __attribute__((vector_size(4)));
typedef short i16x4 __attribute__((vector_size(8)));
typedef short i16x8 __attribute__((vector_size(16)));
typedef short i16x16 __attribute__((vector_size(32)));
typedef int i32x2 __attribute__((vector_size(8)));
typedef int i32x4 __attribute__((vector_size(16)));
typedef int i32x8 __attribute__((vector_size(32)));
typedef int i32x16 __attribute__((vector_size(64)));
typedef unsigned short bf16x2 __attribute__((vector_size(4)));
typedef unsigned short bf16x2u __attribute__((vector_size(4), aligned(2), may_alias));
typedef unsigned short bf16x4 __attribute__((vector_size(8)));
typedef unsigned short bf16x4u __attribute__((vector_size(8), aligned(2), may_alias));
typedef unsigned short bf16x8 __attribute__((vector_size(16)));
typedef unsigned short bf16x8u __attribute__((vector_size(16), aligned(2), may_alias));
typedef unsigned short bf16x16 __attribute__((vector_size(32)));
typedef unsigned short bf16x16u __attribute__((vector_size(32), aligned(2), may_alias));
typedef unsigned short bf16x32 __attribute__((vector_size(64)));
typedef float f32x2 __attribute__((vector_size(8)));
typedef float f32x2u __attribute__((vector_size(8), aligned(4), may_alias));
typedef float f32x4 __attribute__((vector_size(16)));
typedef float f32x4u __attribute__((vector_size(16), aligned(4), may_alias));
typedef float f32x8 __attribute__((vector_size(32)));
typedef float f32x8u __attribute__((vector_size(32), aligned(4), may_alias));
typedef float f32x16 __attribute__((vector_size(64)));
typedef float f32x16u __attribute__((vector_size(64), aligned(4), may_alias));

#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE bf16x16 sc_load_bf16x16(const unsigned short *p) { return *(const bf16x16u *)p; }
SC_INLINE bf16x8 sc_load_bf16x8(const unsigned short *p) { return *(const bf16x8u *)p; }
SC_INLINE bf16x4 sc_load_bf16x4(const unsigned short *p) { return *(const bf16x4u *)p; }
SC_INLINE bf16x2 sc_load_bf16x2(const unsigned short *p) { return *(const bf16x2u *)p; }
SC_INLINE void sc_store_bf16x16(unsigned short *p, bf16x16 x) { *(bf16x16u *)p = x; }
SC_INLINE void sc_store_bf16x8(unsigned short *p, bf16x8 x) { *(bf16x8u *)p = x; }
SC_INLINE void sc_store_bf16x4(unsigned short *p, bf16x4 x) { *(bf16x4u *)p = x; }
SC_INLINE void sc_store_bf16x2(unsigned short *p, bf16x2 x) { *(bf16x2u *)p = x; }
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
SC_INLINE void sc_scatter_bf16x16(unsigned short *p, sc_i64 s, bf16x16 x)
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
SC_INLINE void sc_scatter_bf16x8(unsigned short *p, sc_i64 s, bf16x8 x)
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
SC_INLINE void sc_scatter_bf16x4(unsigned short *p, sc_i64 s, bf16x4 x)
{
    p[0] = x[0];
    p[1 * s] = x[1];
    p[2 * s] = x[2];
    p[3 * s] = x[3];
}
SC_INLINE void sc_scatter_bf16x2(unsigned short *p, sc_i64 s, bf16x2 x)
{
    p[0] = x[0];
    p[1 * s] = x[1];
}
SC_INLINE void sc_exchange1_bf16x16(bf16x16 *v, bf16x16 *w)
{
    const bf16x16 x = v[0], y = w[0];
    v[0] = (bf16x16){x[0], y[0], x[2], y[2], x[4], y[4], x[6], y[6], x[8], y[8], x[10], y[10], x[12], y[12],
                     x[14], y[14]};
    w[0] = (bf16x16){x[1], y[1], x[3], y[3], x[5], y[5], x[7], y[7], x[9], y[9], x[11], y[11], x[13], y[13],
                     x[15], y[15]};
}
SC_INLINE void sc_exchange2_bf16x16(bf16x16 *v, bf16x16 *w)
{
    const bf16x16 x = v[0], y = w[0];
    v[0] = (bf16x16){x[0], x[1], y[0], y[1], x[4], x[5], y[4], y[5], x[8], x[9], y[8], y[9], x[12], x[13],
                     y[12], y[13]};
    w[0] = (bf16x16){x[2], x[3], y[2], y[3], x[6], x[7], y[6], y[7], x[10], x[11], y[10], y[11], x[14], x[15],
                     y[14], y[15]};
}
SC_INLINE void sc_exchange4_bf16x16(bf16x16 *v, bf16x16 *w)
{
    const bf16x16 x = v[0], y = w[0];
    v[0] = (bf16x16){x[0], x[1], x[2], x[3], y[0], y[1], y[2], y[3], x[8], x[9], x[10], x[11], y[8], y[9],
                     y[10], y[11]};
    w[0] = (bf16x16){x[4], x[5], x[6], x[7], y[4], y[5], y[6], y[7], x[12], x[13], x[14], x[15], y[12], y[13],
                     y[14], y[15]};
}
SC_INLINE void sc_exchange8_bf16x16(bf16x16 *v, bf16x16 *w)
{
    const bf16x16 x = v[0], y = w[0];
    v[0] = (bf16x16){x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7], y[0], y[1], y[2], y[3], y[4], y[5], y[6],
                     y[7]};
    w[0] = (bf16x16){x[8], x[9], x[10], x[11], x[12], x[13], x[14], x[15], y[8], y[9], y[10], y[11], y[12],
                     y[13], y[14], y[15]};
}
SC_INLINE void sc_turn_bf16x16(unsigned short *to, sc_i64 s, const unsigned short *from, sc_i64 t)
{
    bf16x16 v[16];
    v[0] = sc_load_bf16x16(from);
    v[1] = sc_load_bf16x16(from + 1 * t);
    v[2] = sc_load_bf16x16(from + 2 * t);
    v[3] = sc_load_bf16x16(from + 3 * t);
    v[4] = sc_load_bf16x16(from + 4 * t);
    v[5] = sc_load_bf16x16(from + 5 * t);
    v[6] = sc_load_bf16x16(from + 6 * t);
    v[7] = sc_load_bf16x16(from + 7 * t);
    v[8] = sc_load_bf16x16(from + 8 * t);
    v[9] = sc_load_bf16x16(from + 9 * t);
    v[10] = sc_load_bf16x16(from + 10 * t);
    v[11] = sc_load_bf16x16(from + 11 * t);
    v[12] = sc_load_bf16x16(from + 12 * t);
    v[13] = sc_load_bf16x16(from + 13 * t);
    v[14] = sc_load_bf16x16(from + 14 * t);
    v[15] = sc_load_bf16x16(from + 15 * t);
    sc_exchange1_bf16x16(&v[0], &v[1]);
    sc_exchange1_bf16x16(&v[2], &v[3]);
    sc_exchange1_bf16x16(&v[4], &v[5]);
    sc_exchange1_bf16x16(&v[6], &v[7]);
    sc_exchange1_bf16x16(&v[8], &v[9]);
    sc_exchange1_bf16x16(&v[10], &v[11]);
    sc_exchange1_bf16x16(&v[12], &v[13]);
    sc_exchange1_bf16x16(&v[14], &v[15]);
    sc_exchange2_bf16x16(&v[0], &v[2]);
    sc_exchange2_bf16x16(&v[1], &v[3]);
    sc_exchange2_bf16x16(&v[4], &v[6]);
    sc_exchange2_bf16x16(&v[5], &v[7]);
    sc_exchange2_bf16x16(&v[8], &v[10]);
    sc_exchange2_bf16x16(&v[9], &v[11]);
    sc_exchange2_bf16x16(&v[12], &v[14]);
    sc_exchange2_bf16x16(&v[13], &v[15]);
    sc_exchange4_bf16x16(&v[0], &v[4]);
    sc_exchange4_bf16x16(&v[1], &v[5]);
    sc_exchange4_bf16x16(&v[2], &v[6]);
    sc_exchange4_bf16x16(&v[3], &v[7]);
    sc_exchange4_bf16x16(&v[8], &v[12]);
    sc_exchange4_bf16x16(&v[9], &v[13]);
    sc_exchange4_bf16x16(&v[10], &v[14]);
    sc_exchange4_bf16x16(&v[11], &v[15]);
    sc_exchange8_bf16x16(&v[0], &v[8]);
    sc_exchange8_bf16x16(&v[1], &v[9]);
    sc_exchange8_bf16x16(&v[2], &v[10]);
    sc_exchange8_bf16x16(&v[3], &v[11]);
    sc_exchange8_bf16x16(&v[4], &v[12]);
    sc_exchange8_bf16x16(&v[5], &v[13]);
    sc_exchange8_bf16x16(&v[6], &v[14]);
    sc_exchange8_bf16x16(&v[7], &v[15]);
    sc_store_bf16x16(to, v[0]);
    sc_store_bf16x16(to + 1 * s, v[1]);
    sc_store_bf16x16(to + 2 * s, v[2]);
    sc_store_bf16x16(to + 3 * s, v[3]);
    sc_store_bf16x16(to + 4 * s, v[4]);
    sc_store_bf16x16(to + 5 * s, v[5]);
    sc_store_bf16x16(to + 6 * s, v[6]);
    sc_store_bf16x16(to + 7 * s, v[7]);
    sc_store_bf16x16(to + 8 * s, v[8]);
    sc_store_bf16x16(to + 9 * s, v[9]);
    sc_store_bf16x16(to + 10 * s, v[10]);
    sc_store_bf16x16(to + 11 * s, v[11]);
    sc_store_bf16x16(to + 12 * s, v[12]);
    sc_store_bf16x16(to + 13 * s, v[13]);
    sc_store_bf16x16(to + 14 * s, v[14]);
    sc_store_bf16x16(to + 15 * s, v[15]);
}
SC_INLINE void sc_exchange1_bf16x8(bf16x8 *v, bf16x8 *w)
{
    const bf16x8 x = v[0], y = w[0];
    v[0] = (bf16x8){x[0], y[0], x[2], y[2], x[4], y[4], x[6], y[6]};
    w[0] = (bf16x8){x[1], y[1], x[3], y[3], x[5], y[5], x[7], y[7]};
}
SC_INLINE void sc_exchange2_bf16x8(bf16x8 *v, bf16x8 *w)
{
    const bf16x8 x = v[0], y = w[0];
    v[0] = (bf16x8){x[0], x[1], y[0], y[1], x[4], x[5], y[4], y[5]};
    w[0] = (bf16x8){x[2], x[3], y[2], y[3], x[6], x[7], y[6], y[7]};
}
SC_INLINE void sc_exchange4_bf16x8(bf16x8 *v, bf16x8 *w)
{
    const bf16x8 x = v[0], y = w[0];
    v[0] = (bf16x8){x[0], x[1], x[2], x[3], y[0], y[1], y[2], y[3]};
    w[0] = (bf16x8){x[4], x[5], x[6], x[7], y[4], y[5], y[6], y[7]};
}
SC_INLINE void sc_turn_bf16x8(unsigned short *to, sc_i64 s, const unsigned short *from, sc_i64 t)
{
    bf16x8 v[8];
    v[0] = sc_load_bf16x8(from);
    v[1] = sc_load_bf16x8(from + 1 * t);
    v[2] = sc_load_bf16x8(from + 2 * t);
    v[3] = sc_load_bf16x8(from + 3 * t);
    v[4] = sc_load_bf16x8(from + 4 * t);
    v[5] = sc_load_bf16x8(from + 5 * t);
    v[6] = sc_load_bf16x8(from + 6 * t);
    v[7] = sc_load_bf16x8(from + 7 * t);
    sc_exchange1_bf16x8(&v[0], &v[1]);
    sc_exchange1_bf16x8(&v[2], &v[3]);
    sc_exchange1_bf16x8(&v[4], &v[5]);
    sc_exchange1_bf16x8(&v[6], &v[7]);
    sc_exchange2_bf16x8(&v[0], &v[2]);
    sc_exchange2_bf16x8(&v[1], &v[3]);
    sc_exchange2_bf16x8(&v[4], &v[6]);
    sc_exchange2_bf16x8(&v[5], &v[7]);
    sc_exchange4_bf16x8(&v[0], &v[4]);
    sc_exchange4_bf16x8(&v[1], &v[5]);
    sc_exchange4_bf16x8(&v[2], &v[6]);
    sc_exchange4_bf16x8(&v[3], &v[7]);
    sc_store_bf16x8(to, v[0]);
    sc_store_bf16x8(to + 1 * s, v[1]);
    sc_store_bf16x8(to + 2 * s, v[2]);
    sc_store_bf16x8(to + 3 * s, v[3]);
    sc_store_bf16x8(to + 4 * s, v[4]);
    sc_store_bf16x8(to + 5 * s, v[5]);
    sc_store_bf16x8(to + 6 * s, v[6]);
    sc_store_bf16x8(to + 7 * s, v[7]);
}
SC_INLINE void sc_exchange1_bf16x4(bf16x4 *v, bf16x4 *w)
{
    const bf16x4 x = v[0], y = w[0];
    v[0] = (bf16x4){x[0], y[0], x[2], y[2]};
    w[0] = (bf16x4){x[1], y[1], x[3], y[3]};
}
SC_INLINE void sc_exchange2_bf16x4(bf16x4 *v, bf16x4 *w)
{
    const bf16x4 x = v[0], y = w[0];
    v[0] = (bf16x4){x[0], x[1], y[0], y[1]};
    w[0] = (bf16x4){x[2], x[3], y[2], y[3]};
}
SC_INLINE void sc_turn_bf16x4(unsigned short *to, sc_i64 s, const unsigned short *from, sc_i64 t)
{
    bf16x4 v[4];
    v[0] = sc_load_bf16x4(from);
    v[1] = sc_load_bf16x4(from + 1 * t);
    v[2] = sc_load_bf16x4(from + 2 * t);
    v[3] = sc_load_bf16x4(from + 3 * t);
    sc_exchange1_bf16x4(&v[0], &v[1]);
    sc_exchange1_bf16x4(&v[2], &v[3]);
    sc_exchange2_bf16x4(&v[0], &v[2]);
    sc_exchange2_bf16x4(&v[1], &v[3]);
    sc_store_bf16x4(to, v[0]);
    sc_store_bf16x4(to + 1 * s, v[1]);
    sc_store_bf16x4(to + 2 * s, v[2]);
    sc_store_bf16x4(to + 3 * s, v[3]);
}
SC_INLINE sc_i64 sc_min_i64(sc_i64 a, sc_i64 b)
{
    return a < b ? a : b;
}
SC_INLINE f32x16 sc_from_bf16_f32x16(bf16x16 x)
{
#if defined(__AVX512F__) && !defined(__clang__)
    typedef short half __attribute__((vector_size(32)));
    return (f32x16)(__builtin_ia32_pmovzxwd512_mask((half)x, (i32x16){0}, -1) << 16);
#endif
    return (f32x16)(__builtin_convertvector(x, i32x16) << 16);
}
SC_INLINE f32x8 sc_from_bf16_f32x8(bf16x8 x)
{
#if defined(__AVX2__) && !defined(__clang__)
    typedef short half __attribute__((vector_size(16)));
    return (f32x8)(__builtin_ia32_pmovzxwd256((half)x) << 16);
#endif
    return (f32x8)(__builtin_convertvector(x, i32x8) << 16);
}
SC_INLINE f32x4 sc_from_bf16_f32x4(bf16x4 x)
{
    return (f32x4)(__builtin_convertvector(x, i32x4) << 16);
}
SC_INLINE f32x2 sc_from_bf16_f32x2(bf16x2 x)
{
    return (f32x2)(__builtin_convertvector(x, i32x2) << 16);
}
SC_INLINE float sc_from_bf16_f32(unsigned short x)
{
    union { unsigned i; float f; } v;
    v.i = (unsigned)x << 16;
    return v.f;
}
SC_INLINE bf16x16 sc_to_bf16_f32x16(f32x16 x)
{
    const i32x16 b = (i32x16)x, nan = (i32x16)(x != x);
    const i32x16 r = (~nan & (b + 0x7fff + (b >> 16 & 1)) >> 16) | (nan & 0x7fc0);
    return __builtin_convertvector(r, bf16x16);
}
SC_INLINE bf16x8 sc_to_bf16_f32x8(f32x8 x)
{
    const i32x8 b = (i32x8)x, nan = (i32x8)(x != x);
    const i32x8 r = (~nan & (b + 0x7fff + (b >> 16 & 1)) >> 16) | (nan & 0x7fc0);
    return __builtin_convertvector(r, bf16x8);
}
SC_INLINE bf16x4 sc_to_bf16_f32x4(f32x4 x)
{
    const i32x4 b = (i32x4)x, nan = (i32x4)(x != x);
    const i32x4 r = (~nan & (b + 0x7fff + (b >> 16 & 1)) >> 16) | (nan & 0x7fc0);
    return __builtin_convertvector(r, bf16x4);
}
SC_INLINE bf16x2 sc_to_bf16_f32x2(f32x2 x)
{
    const i32x2 b = (i32x2)x, nan = (i32x2)(x != x);
    const i32x2 r = (~nan & (b + 0x7fff + (b >> 16 & 1)) >> 16) | (nan & 0x7fc0);
    return __builtin_convertvector(r, bf16x2);
}
SC_INLINE unsigned short sc_to_bf16_f32(float x)
{
    union { unsigned i; float f; } v;
    v.f = x;
    if (x != x) return 0x7fc0;
    return (unsigned short)((v.i + 0x7fff + (v.i >> 16 & 1)) >> 16);
}
SC_INLINE f32x16 sc_wide_f32x16(unsigned short x)
{
    return (f32x16)((i32x16)(bf16x32){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x,
                                      x, x, x, x, x, x, x, x} << 16);
}
SC_INLINE f32x8 sc_wide_f32x8(unsigned short x)
{
    return (f32x8)((i32x8)(bf16x16){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x} << 16);
}
SC_INLINE f32x4 sc_wide_f32x4(unsigned short x)
{
    return (f32x4)((i32x4)(bf16x8){x, x, x, x, x, x, x, x} << 16);
}
SC_INLINE f32x2 sc_wide_f32x2(unsigned short x)
{
    return (f32x2)((i32x2)(bf16x4){x, x, x, x} << 16);
}
SC_INLINE sc_i64 sc_pair_i32(const int *p) { return (sc_i64)(unsigned)p[0] | (sc_i64)p[1] << 32; }
SC_INLINE f32x16 sc_dot_f32x16(f32x16 sum, const unsigned short *pair, bf16x16 x, bf16x16 y)
{
#if __GNUC__ >= 12 && !defined(__clang__) && defined(__AVX512BW__) && defined(__AVX512VL__)
    const i32x16 two = (i32x16)__builtin_shufflevector(x, y, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22,
                                                       7, 23, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29,
                                                       14, 30, 15, 31);
    int both;
    __builtin_memcpy(&both, pair, sizeof both);
    __asm__("vdpbf16ps %1, %2, %0" : "+v"(sum) : "v"(two), "v"((i32x16){0} + both));
    return sum;
#else
    return sum + sc_wide_f32x16(pair[0]) * sc_from_bf16_f32x16(x) +
        sc_wide_f32x16(pair[1]) * sc_from_bf16_f32x16(y);
#endif
}
SC_INLINE f32x8 sc_dot_f32x8(f32x8 sum, const unsigned short *pair, bf16x8 x, bf16x8 y)
{
#if __GNUC__ >= 12 && !defined(__clang__) && defined(__AVX512BW__) && defined(__AVX512VL__)
    const i32x8 two =
        (i32x8)__builtin_shufflevector(x, y, 0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15);
    int both;
    __builtin_memcpy(&both, pair, sizeof both);
    __asm__("vdpbf16ps %1, %2, %0" : "+v"(sum) : "v"(two), "v"((i32x8){0} + both));
    return sum;
#else
    return sum + sc_wide_f32x8(pair[0]) * sc_from_bf16_f32x8(x) +
        sc_wide_f32x8(pair[1]) * sc_from_bf16_f32x8(y);
#endif
}
SC_INLINE f32x4 sc_dot_f32x4(f32x4 sum, const unsigned short *pair, bf16x4 x, bf16x4 y)
{
#if __GNUC__ >= 12 && !defined(__clang__) && defined(__AVX512BW__) && defined(__AVX512VL__)
    const i32x4 two = (i32x4)__builtin_shufflevector(x, y, 0, 4, 1, 5, 2, 6, 3, 7);
    int both;
    __builtin_memcpy(&both, pair, sizeof both);
    __asm__("vdpbf16ps %1, %2, %0" : "+v"(sum) : "v"(two), "v"((i32x4){0} + both));
    return sum;
#elif defined(__aarch64__) && __GNUC__ >= 12 && !defined(__clang__)
    const i32x4 two = (i32x4)__builtin_shufflevector(x, y, 0, 4, 1, 5, 2, 6, 3, 7);
    int both;
    __builtin_memcpy(&both, pair, sizeof both);
    __asm__(".arch_extension bf16\n\tbfdot %0.4s, %1.8h, %2.8h" : "+w"(sum) : "w"(two),
            "w"((i32x4){0} + both));
    return sum;
#else
    return sum + sc_wide_f32x4(pair[0]) * sc_from_bf16_f32x4(x) +
        sc_wide_f32x4(pair[1]) * sc_from_bf16_f32x4(y);
#endif
}

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 i_dim = call->dim[2];
    const sc_i64 n_dim = call->dim[0];
    const sc_i64 x_stride0 = call->view[0].stride[0];
    const sc_i64 o_dim = call->dim[1];
    const sc_i64 C_stride0 = call->view[2].stride[0];
    unsigned short *restrict const t_lane = lane->scratch;
    const sc_i64 y_lane_at = (i_dim * 64 + 63) & -64;
    float *restrict const y_lane = (void *)((char *)lane->scratch + y_lane_at);
    const unsigned short *restrict const x_val = call->view[0].val;
    const int *restrict const W_pos1 = call->view[1].level[1].pos;
    const int *restrict const W_crd1 = call->view[1].level[1].crd;
    const unsigned short *restrict const W_val = call->view[1].val;
    unsigned short *restrict const C_val = call->view[2].val;

    /* for n/32 */
    if (n_dim >= 32) {
        for (sc_i64 n_block = 0; n_block < n_dim; n_block += 32) {
            const sc_i64 at = sc_min_i64(n_block, n_dim - 32);
            /* work t[i,n%32]: lane bf16 */
            /* for i/16 */
            for (sc_i64 i_block = 0; i_block < i_dim; i_block += 16) {
                const sc_i64 size = sc_min_i64(16, i_dim - i_block);
                /* for n%32 */
                if (size == 16) {
                    for (sc_i64 n_in = 0; n_in < 32; n_in += 16) {
                        /* vec i%16 { t[i,n%32] = x[n,i] } */
                        const sc_i64 t_at = i_block * 32 + n_in;
                        const sc_i64 x_at = (at + n_in) * x_stride0 + i_block;
                        sc_turn_bf16x16(&t_lane[t_at], 32, &x_val[x_at], x_stride0);
                    }
                } else {
                    for (sc_i64 n_in = 0; n_in < 32; n_in++) {
                        const sc_i64 x_at = (at + n_in) * x_stride0 + i_block;
                        const sc_i64 t_at = i_block * 32 + n_in;
                        const sc_i64 rest = size % 16;
                        const sc_i64 full = size - rest;
                        for (sc_i64 i = 0; i < full; i += 16) {
                            sc_scatter_bf16x16(&t_lane[t_at + i * 32], 32, sc_load_bf16x16(&x_val[x_at + i]));
                        }
                        if ((rest & 8) != 0) {
                            const sc_i64 i = full + (rest & -16);
                            sc_scatter_bf16x8(&t_lane[t_at + i * 32], 32, sc_load_bf16x8(&x_val[x_at + i]));
                        }
                        if ((rest & 4) != 0) {
                            const sc_i64 i = full + (rest & -8);
                            sc_scatter_bf16x4(&t_lane[t_at + i * 32], 32, sc_load_bf16x4(&x_val[x_at + i]));
                        }
                        if ((rest & 2) != 0) {
                            const sc_i64 i = full + (rest & -4);
                            sc_scatter_bf16x2(&t_lane[t_at + i * 32], 32, sc_load_bf16x2(&x_val[x_at + i]));
                        }
                        if ((rest & 1) != 0) {
                            const sc_i64 i = full + (rest & -2);
                            t_lane[t_at + i * 32] = x_val[x_at + i];
                        }
                    }
                }
            }
            /* par o/16 */
            for (sc_i64 o_block = begin; o_block < end; o_block++) {
                const sc_i64 size = sc_min_i64(16, o_dim - o_block * 16);
                /* work y[o%16,n%32]: lane f32 */
                /* for o%16 */
                for (sc_i64 o_in = 0; o_in < size; o_in++) {
                    /* work c[n%32]: reg f32 */
                    f32x16 c = (f32x16){0};
                    f32x16 c_1 = (f32x16){0};
                    /* for i in W unroll 2 */
                    const sc_i64 W_lo = (sc_i64)W_pos1[o_block * 16 + o_in];
                    const sc_i64 W_hi = (sc_i64)W_pos1[o_block * 16 + o_in + 1];
                    const sc_i64 count = W_hi - W_lo;
                    const sc_i64 whole = W_lo + (count - count % 2);
                    for (sc_i64 p = W_lo; p < whole; p += 2) {
                        const sc_i64 ii = sc_pair_i32(&W_crd1[p]);
                        const sc_i64 i = ii & 4294967295;
                        /* vec n%32 { c[n%32] += W[o,i] * t[i,n%32] } */
                        const sc_i64 t_at = i * 32;
                        const sc_i64 i_1 = ii >> 32;
                        const sc_i64 t_at_1 = i_1 * 32;
                        c = sc_dot_f32x16(c, &W_val[p], sc_load_bf16x16(&t_lane[t_at]),
                                          sc_load_bf16x16(&t_lane[t_at_1]));
                        c_1 = sc_dot_f32x16(c_1, &W_val[p], sc_load_bf16x16(&t_lane[t_at + 16]),
                                            sc_load_bf16x16(&t_lane[t_at_1 + 16]));
                    }
                    for (sc_i64 p = whole; p < W_hi; p++) {
                        const sc_i64 i = (sc_i64)W_crd1[p];
                        const unsigned short w = W_val[p];
                        const sc_i64 t_at = i * 32;
                        c = c + sc_wide_f32x16(w) * sc_from_bf16_f32x16(sc_load_bf16x16(&t_lane[t_at]));
                        c_1 = c_1 +
                            sc_wide_f32x16(w) * sc_from_bf16_f32x16(sc_load_bf16x16(&t_lane[t_at + 16]));
                    }
                    /* vec n%32 { y[o%16,n%32] = c[n%32] } */
                    const sc_i64 y_at = o_in * 32;
                    sc_store_f32x16(&y_lane[y_at], c);
                    sc_store_f32x16(&y_lane[y_at + 16], c_1);
                }
                /* for n%32 */
                for (sc_i64 n_in = 0; n_in < 32; n_in++) {
                    /* vec o%16 { C[n,o] = y[o%16,n%32] } */
                    const sc_i64 C_at = (at + n_in) * C_stride0 + o_block * 16;
                    const sc_i64 rest = size % 16;
                    const sc_i64 full = size - rest;
                    for (sc_i64 o = 0; o < full; o += 16) {
                        sc_store_bf16x16(&C_val[C_at + o],
                                         sc_to_bf16_f32x16(sc_gather_f32x16(&y_lane[n_in + o * 32], 32)));
                    }
                    if ((rest & 8) != 0) {
                        const sc_i64 o = full + (rest & -16);
                        sc_store_bf16x8(&C_val[C_at + o],
                                        sc_to_bf16_f32x8(sc_gather_f32x8(&y_lane[n_in + o * 32], 32)));
                    }
                    if ((rest & 4) != 0) {
                        const sc_i64 o = full + (rest & -8);
                        sc_store_bf16x4(&C_val[C_at + o],
                                        sc_to_bf16_f32x4(sc_gather_f32x4(&y_lane[n_in + o * 32], 32)));
                    }
                    if ((rest & 2) != 0) {
                        const sc_i64 o = full + (rest & -4);
                        sc_store_bf16x2(&C_val[C_at + o],
                                        sc_to_bf16_f32x2(sc_gather_f32x2(&y_lane[n_in + o * 32], 32)));
                    }
                    if ((rest & 1) != 0) {
                        const sc_i64 o = full + (rest & -2);
                        C_val[C_at + o] = sc_to_bf16_f32(y_lane[n_in + o * 32]);
                    }
                }
            }
        }
    } else {
        const sc_i64 rest = n_dim % 32;
        const sc_i64 full = n_dim - rest;
        /* the rest, in powers of two */
        if ((rest & 16) != 0) {
            const sc_i64 n_block = full + (rest & -32);
            for (sc_i64 i_block = 0; i_block < i_dim; i_block += 16) {
                const sc_i64 size = sc_min_i64(16, i_dim - i_block);
                if (size == 16) {
                    const sc_i64 t_at = i_block * 32;
                    const sc_i64 x_at = n_block * x_stride0 + i_block;
                    sc_turn_bf16x16(&t_lane[t_at], 32, &x_val[x_at], x_stride0);
                } else {
                    for (sc_i64 n_in = 0; n_in < 16; n_in++) {
                        const sc_i64 x_at = (n_block + n_in) * x_stride0 + i_block;
                        const sc_i64 t_at = i_block * 32 + n_in;
                        const sc_i64 rest_1 = size % 16;
                        const sc_i64 full_1 = size - rest_1;
                        for (sc_i64 i = 0; i < full_1; i += 16) {
                            sc_scatter_bf16x16(&t_lane[t_at + i * 32], 32, sc_load_bf16x16(&x_val[x_at + i]));
                        }
                        if ((rest_1 & 8) != 0) {
                            const sc_i64 i = full_1 + (rest_1 & -16);
                            sc_scatter_bf16x8(&t_lane[t_at + i * 32], 32, sc_load_bf16x8(&x_val[x_at + i]));
                        }
                        if ((rest_1 & 4) != 0) {
                            const sc_i64 i = full_1 + (rest_1 & -8);
                            sc_scatter_bf16x4(&t_lane[t_at + i * 32], 32, sc_load_bf16x4(&x_val[x_at + i]));
                        }
                        if ((rest_1 & 2) != 0) {
                            const sc_i64 i = full_1 + (rest_1 & -4);
                            sc_scatter_bf16x2(&t_lane[t_at + i * 32], 32, sc_load_bf16x2(&x_val[x_at + i]));
                        }
                        if ((rest_1 & 1) != 0) {
                            const sc_i64 i = full_1 + (rest_1 & -2);
                            t_lane[t_at + i * 32] = x_val[x_at + i];
                        }
                    }
                }
            }
            for (sc_i64 o_block = begin; o_block < end; o_block++) {
                const sc_i64 size = sc_min_i64(16, o_dim - o_block * 16);
                for (sc_i64 o_in = 0; o_in < size; o_in++) {
                    f32x16 c = (f32x16){0};
                    const sc_i64 W_lo = (sc_i64)W_pos1[o_block * 16 + o_in];
                    const sc_i64 W_hi = (sc_i64)W_pos1[o_block * 16 + o_in + 1];
                    const sc_i64 count = W_hi - W_lo;
                    const sc_i64 whole = W_lo + (count - count % 2);
                    for (sc_i64 p = W_lo; p < whole; p += 2) {
                        const sc_i64 ii = sc_pair_i32(&W_crd1[p]);
                        const sc_i64 i = ii & 4294967295;
                        const sc_i64 t_at = i * 32;
                        const sc_i64 i_1 = ii >> 32;
                        const sc_i64 t_at_1 = i_1 * 32;
                        c = sc_dot_f32x16(c, &W_val[p], sc_load_bf16x16(&t_lane[t_at]),
                                          sc_load_bf16x16(&t_lane[t_at_1]));
                    }
                    for (sc_i64 p = whole; p < W_hi; p++) {
                        const sc_i64 i = (sc_i64)W_crd1[p];
                        const unsigned short w = W_val[p];
                        const sc_i64 t_at = i * 32;
                        c = c + sc_wide_f32x16(w) * sc_from_bf16_f32x16(sc_load_bf16x16(&t_lane[t_at]));
                    }
                    const sc_i64 y_at = o_in * 32;
                    sc_store_f32x16(&y_lane[y_at], c);
                }
                for (sc_i64 n_in = 0; n_in < 16; n_in++) {
                    const sc_i64 C_at = (n_block + n_in) * C_stride0 + o_block * 16;
                    const sc_i64 rest_1 = size % 16;
                    const sc_i64 full_1 = size - rest_1;
                    for (sc_i64 o = 0; o < full_1; o += 16) {
                        sc_store_bf16x16(&C_val[C_at + o],
                                         sc_to_bf16_f32x16(sc_gather_f32x16(&y_lane[n_in + o * 32], 32)));
                    }
                    if ((rest_1 & 8) != 0) {
                        const sc_i64 o = full_1 + (rest_1 & -16);
                        sc_store_bf16x8(&C_val[C_at + o],
                                        sc_to_bf16_f32x8(sc_gather_f32x8(&y_lane[n_in + o * 32], 32)));
                    }
                    if ((rest_1 & 4) != 0) {
                        const sc_i64 o = full_1 + (rest_1 & -8);
                        sc_store_bf16x4(&C_val[C_at + o],
                                        sc_to_bf16_f32x4(sc_gather_f32x4(&y_lane[n_in + o * 32], 32)));
                    }
                    if ((rest_1 & 2) != 0) {
                        const sc_i64 o = full_1 + (rest_1 & -4);
                        sc_store_bf16x2(&C_val[C_at + o],
                                        sc_to_bf16_f32x2(sc_gather_f32x2(&y_lane[n_in + o * 32], 32)));
                    }
                    if ((rest_1 & 1) != 0) {
                        const sc_i64 o = full_1 + (rest_1 & -2);
                        C_val[C_at + o] = sc_to_bf16_f32(y_lane[n_in + o * 32]);
                    }
                }
            }
        }
        if ((rest & 8) != 0) {
            const sc_i64 n_block = full + (rest & -16);
            for (sc_i64 i_block = 0; i_block < i_dim; i_block += 16) {
                const sc_i64 size = sc_min_i64(16, i_dim - i_block);
                if (size == 16) {
                    const sc_i64 t_at = i_block * 32;
                    const sc_i64 x_at = n_block * x_stride0 + i_block;
                    for (sc_i64 i_in = 0; i_in < 16; i_in += 8) {
                        sc_turn_bf16x8(&t_lane[t_at + i_in * 32], 32, &x_val[x_at + i_in], x_stride0);
                    }
                } else {
                    for (sc_i64 n_in = 0; n_in < 8; n_in++) {
                        const sc_i64 x_at = (n_block + n_in) * x_stride0 + i_block;
                        const sc_i64 t_at = i_block * 32 + n_in;
                        const sc_i64 rest_1 = size % 16;
                        const sc_i64 full_1 = size - rest_1;
                        for (sc_i64 i = 0; i < full_1; i += 16) {
                            sc_scatter_bf16x16(&t_lane[t_at + i * 32], 32, sc_load_bf16x16(&x_val[x_at + i]));
                        }
                        if ((rest_1 & 8) != 0) {
                            const sc_i64 i = full_1 + (rest_1 & -16);
                            sc_scatter_bf16x8(&t_lane[t_at + i * 32], 32, sc_load_bf16x8(&x_val[x_at + i]));
                        }
                        if ((rest_1 & 4) != 0) {
                            const sc_i64 i = full_1 + (rest_1 & -8);
                            sc_scatter_bf16x4(&t_lane[t_at + i * 32], 32, sc_load_bf16x4(&x_val[x_at + i]));
                        }
                        if ((rest_1 & 2) != 0) {
                            const sc_i64 i = full_1 + (rest_1 & -4);
                            sc_scatter_bf16x2(&t_lane[t_at + i * 32], 32, sc_load_bf16x2(&x_val[x_at + i]));
                        }
                        if ((rest_1 & 1) != 0) {
                            const sc_i64 i = full_1 + (rest_1 & -2);
                            t_lane[t_at + i * 32] = x_val[x_at + i];
                        }
                    }
                }
            }
            for (sc_i64 o_block = begin; o_block < end; o_block++) {
                const sc_i64 size = sc_min_i64(16, o_dim - o_block * 16);
                for (sc_i64 o_in = 0; o_in < size; o_in++) {
                    f32x8 c = (f32x8){0};
                    const sc_i64 W_lo = (sc_i64)W_pos1[o_block * 16 + o_in];
                    const sc_i64 W_hi = (sc_i64)W_pos1[o_block * 16 + o_in + 1];
                    const sc_i64 count = W_hi - W_lo;
                    const sc_i64 whole = W_lo + (count - count % 2);
                    for (sc_i64 p = W_lo; p < whole; p += 2) {
                        const sc_i64 ii = sc_pair_i32(&W_crd1[p]);
                        const sc_i64 i = ii & 4294967295;
                        const sc_i64 t_at = i * 32;
                        const sc_i64 i_1 = ii >> 32;
                        const sc_i64 t_at_1 = i_1 * 32;
                        c = sc_dot_f32x8(c, &W_val[p], sc_load_bf16x8(&t_lane[t_at]),
                                         sc_load_bf16x8(&t_lane[t_at_1]));
                    }
                    for (sc_i64 p = whole; p < W_hi; p++) {
                        const sc_i64 i = (sc_i64)W_crd1[p];
                        const unsigned short w = W_val[p];
                        const sc_i64 t_at = i * 32;
                        c = c + sc_wide_f32x8(w) * sc_from_bf16_f32x8(sc_load_bf16x8(&t_lane[t_at]));
                    }
                    const sc_i64 y_at = o_in * 32;
                    sc_store_f32x8(&y_lane[y_at], c);
                }
                for (sc_i64 n_in = 0; n_in < 8; n_in++) {
                    const sc_i64 C_at = (n_block + n_in) * C_stride0 + o_block * 16;
                    const sc_i64 rest_1 = size % 16;
                    const sc_i64 full_1 = size - rest_1;
                    for (sc_i64 o = 0; o < full_1; o += 16) {
                        sc_store_bf16x16(&C_val[C_at + o],
                                         sc_to_bf16_f32x16(sc_gather_f32x16(&y_lane[n_in + o * 32], 32)));
                    }
                    if ((rest_1 & 8) != 0) {
                        const sc_i64 o = full_1 + (rest_1 & -16);
                        sc_store_bf16x8(&C_val[C_at + o],
                                        sc_to_bf16_f32x8(sc_gather_f32x8(&y_lane[n_in + o * 32], 32)));
                    }
                    if ((rest_1 & 4) != 0) {
                        const sc_i64 o = full_1 + (rest_1 & -8);
                        sc_store_bf16x4(&C_val[C_at + o],
                                        sc_to_bf16_f32x4(sc_gather_f32x4(&y_lane[n_in + o * 32], 32)));
                    }
                    if ((rest_1 & 2) != 0) {
                        const sc_i64 o = full_1 + (rest_1 & -4);
                        sc_store_bf16x2(&C_val[C_at + o],
                                        sc_to_bf16_f32x2(sc_gather_f32x2(&y_lane[n_in + o * 32], 32)));
                    }
                    if ((rest_1 & 1) != 0) {
                        const sc_i64 o = full_1 + (rest_1 & -2);
                        C_val[C_at + o] = sc_to_bf16_f32(y_lane[n_in + o * 32]);
                    }
                }
            }
        }
        if ((rest & 4) != 0) {
            const sc_i64 n_block = full + (rest & -8);
            for (sc_i64 i_block = 0; i_block < i_dim; i_block += 16) {
                const sc_i64 size = sc_min_i64(16, i_dim - i_block);
                if (size == 16) {
                    const sc_i64 t_at = i_block * 32;
                    const sc_i64 x_at = n_block * x_stride0 + i_block;
                    for (sc_i64 i_in = 0; i_in < 16; i_in += 4) {
                        sc_turn_bf16x4(&t_lane[t_at + i_in * 32], 32, &x_val[x_at + i_in], x_stride0);
                    }
                } else {
                    for (sc_i64 n_in = 0; n_in < 4; n_in++) {
                        const sc_i64 x_at = (n_block + n_in) * x_stride0 + i_block;
                        const sc_i64 t_at = i_block * 32 + n_in;
                        const sc_i64 rest_1 = size % 16;
                        const sc_i64 full_1 = size - rest_1;
                        for (sc_i64 i = 0; i < full_1; i += 16) {
                            sc_scatter_bf16x16(&t_lane[t_at + i * 32], 32, sc_load_bf16x16(&x_val[x_at + i]));
                        }
                        if ((rest_1 & 8) != 0) {
                            const sc_i64 i = full_1 + (rest_1 & -16);
                            sc_scatter_bf16x8(&t_lane[t_at + i * 32], 32, sc_load_bf16x8(&x_val[x_at + i]));
                        }
                        if ((rest_1 & 4) != 0) {
                            const sc_i64 i = full_1 + (rest_1 & -8);
                            sc_scatter_bf16x4(&t_lane[t_at + i * 32], 32, sc_load_bf16x4(&x_val[x_at + i]));
                        }
                        if ((rest_1 & 2) != 0) {
                            const sc_i64 i = full_1 + (rest_1 & -4);
                            sc_scatter_bf16x2(&t_lane[t_at + i * 32], 32, sc_load_bf16x2(&x_val[x_at + i]));
                        }
                        if ((rest_1 & 1) != 0) {
                            const sc_i64 i = full_1 + (rest_1 & -2);
                            t_lane[t_at + i * 32] = x_val[x_at + i];
                        }
                    }
                }
            }
            for (sc_i64 o_block = begin; o_block < end; o_block++) {
                const sc_i64 size = sc_min_i64(16, o_dim - o_block * 16);
                for (sc_i64 o_in = 0; o_in < size; o_in++) {
                    f32x4 c = (f32x4){0};
                    const sc_i64 W_lo = (sc_i64)W_pos1[o_block * 16 + o_in];
                    const sc_i64 W_hi = (sc_i64)W_pos1[o_block * 16 + o_in + 1];
                    const sc_i64 count = W_hi - W_lo;
                    const sc_i64 whole = W_lo + (count - count % 2);
                    for (sc_i64 p = W_lo; p < whole; p += 2) {
                        const sc_i64 ii = sc_pair_i32(&W_crd1[p]);
                        const sc_i64 i = ii & 4294967295;
                        const sc_i64 t_at = i * 32;
                        const sc_i64 i_1 = ii >> 32;
                        const sc_i64 t_at_1 = i_1 * 32;
                        c = sc_dot_f32x4(c, &W_val[p], sc_load_bf16x4(&t_lane[t_at]),
                                         sc_load_bf16x4(&t_lane[t_at_1]));
                    }
                    for (sc_i64 p = whole; p < W_hi; p++) {
                        const sc_i64 i = (sc_i64)W_crd1[p];
                        const unsigned short w = W_val[p];
                        const sc_i64 t_at = i * 32;
                        c = c + sc_wide_f32x4(w) * sc_from_bf16_f32x4(sc_load_bf16x4(&t_lane[t_at]));
                    }
                    const sc_i64 y_at = o_in * 32;
                    sc_store_f32x4(&y_lane[y_at], c);
                }
                for (sc_i64 n_in = 0; n_in < 4; n_in++) {
                    const sc_i64 C_at = (n_block + n_in) * C_stride0 + o_block * 16;
                    const sc_i64 rest_1 = size % 16;
                    const sc_i64 full_1 = size - rest_1;
                    for (sc_i64 o = 0; o < full_1; o += 16) {
                        sc_store_bf16x16(&C_val[C_at + o],
                                         sc_to_bf16_f32x16(sc_gather_f32x16(&y_lane[n_in + o * 32], 32)));
                    }
                    if ((rest_1 & 8) != 0) {
                        const sc_i64 o = full_1 + (rest_1 & -16);
                        sc_store_bf16x8(&C_val[C_at + o],
                                        sc_to_bf16_f32x8(sc_gather_f32x8(&y_lane[n_in + o * 32], 32)));
                    }
                    if ((rest_1 & 4) != 0) {
                        const sc_i64 o = full_1 + (rest_1 & -8);
                        sc_store_bf16x4(&C_val[C_at + o],
                                        sc_to_bf16_f32x4(sc_gather_f32x4(&y_lane[n_in + o * 32], 32)));
                    }
                    if ((rest_1 & 2) != 0) {
                        const sc_i64 o = full_1 + (rest_1 & -4);
                        sc_store_bf16x2(&C_val[C_at + o],
                                        sc_to_bf16_f32x2(sc_gather_f32x2(&y_lane[n_in + o * 32], 32)));
                    }
                    if ((rest_1 & 1) != 0) {
                        const sc_i64 o = full_1 + (rest_1 & -2);
                        C_val[C_at + o] = sc_to_bf16_f32(y_lane[n_in + o * 32]);
                    }
                }
            }
        }
        if ((rest & 2) != 0) {
            const sc_i64 n_block = full + (rest & -4);
            for (sc_i64 i_block = 0; i_block < i_dim; i_block += 16) {
                const sc_i64 size = sc_min_i64(16, i_dim - i_block);
                for (sc_i64 n_in = 0; n_in < 2; n_in++) {
                    const sc_i64 x_at = (n_block + n_in) * x_stride0 + i_block;
                    const sc_i64 t_at = i_block * 32 + n_in;
                    const sc_i64 rest_1 = size % 16;
                    const sc_i64 full_1 = size - rest_1;
                    for (sc_i64 i = 0; i < full_1; i += 16) {
                        sc_scatter_bf16x16(&t_lane[t_at + i * 32], 32, sc_load_bf16x16(&x_val[x_at + i]));
                    }
                    if ((rest_1 & 8) != 0) {
                        const sc_i64 i = full_1 + (rest_1 & -16);
                        sc_scatter_bf16x8(&t_lane[t_at + i * 32], 32, sc_load_bf16x8(&x_val[x_at + i]));
                    }
                    if ((rest_1 & 4) != 0) {
                        const sc_i64 i = full_1 + (rest_1 & -8);
                        sc_scatter_bf16x4(&t_lane[t_at + i * 32], 32, sc_load_bf16x4(&x_val[x_at + i]));
                    }
                    if ((rest_1 & 2) != 0) {
                        const sc_i64 i = full_1 + (rest_1 & -4);
                        sc_scatter_bf16x2(&t_lane[t_at + i * 32], 32, sc_load_bf16x2(&x_val[x_at + i]));
                    }
                    if ((rest_1 & 1) != 0) {
                        const sc_i64 i = full_1 + (rest_1 & -2);
                        t_lane[t_at + i * 32] = x_val[x_at + i];
                    }
                }
            }
            for (sc_i64 o_block = begin; o_block < end; o_block++) {
                const sc_i64 size = sc_min_i64(16, o_dim - o_block * 16);
                for (sc_i64 o_in = 0; o_in < size; o_in++) {
                    f32x2 c = (f32x2){0};
                    const sc_i64 W_lo = (sc_i64)W_pos1[o_block * 16 + o_in];
                    const sc_i64 W_hi = (sc_i64)W_pos1[o_block * 16 + o_in + 1];
                    const sc_i64 count = W_hi - W_lo;
                    const sc_i64 whole = W_lo + (count - count % 2);
                    f32x2 c_1 = (f32x2){0};
                    for (sc_i64 p = W_lo; p < whole; p += 2) {
                        const sc_i64 ii = sc_pair_i32(&W_crd1[p]);
                        const sc_i64 i = ii & 4294967295;
                        const unsigned short w = W_val[p];
                        const sc_i64 t_at = i * 32;
                        c = c + sc_wide_f32x2(w) * sc_from_bf16_f32x2(sc_load_bf16x2(&t_lane[t_at]));
                        const sc_i64 i_1 = ii >> 32;
                        const unsigned short w_1 = W_val[p + 1];
                        const sc_i64 t_at_1 = i_1 * 32;
                        c_1 = c_1 + sc_wide_f32x2(w_1) * sc_from_bf16_f32x2(sc_load_bf16x2(&t_lane[t_at_1]));
                    }
                    c = c + c_1;
                    for (sc_i64 p = whole; p < W_hi; p++) {
                        const sc_i64 i = (sc_i64)W_crd1[p];
                        const unsigned short w = W_val[p];
                        const sc_i64 t_at = i * 32;
                        c = c + sc_wide_f32x2(w) * sc_from_bf16_f32x2(sc_load_bf16x2(&t_lane[t_at]));
                    }
                    const sc_i64 y_at = o_in * 32;
                    sc_store_f32x2(&y_lane[y_at], c);
                }
                for (sc_i64 n_in = 0; n_in < 2; n_in++) {
                    const sc_i64 C_at = (n_block + n_in) * C_stride0 + o_block * 16;
                    const sc_i64 rest_1 = size % 16;
                    const sc_i64 full_1 = size - rest_1;
                    for (sc_i64 o = 0; o < full_1; o += 16) {
                        sc_store_bf16x16(&C_val[C_at + o],
                                         sc_to_bf16_f32x16(sc_gather_f32x16(&y_lane[n_in + o * 32], 32)));
                    }
                    if ((rest_1 & 8) != 0) {
                        const sc_i64 o = full_1 + (rest_1 & -16);
                        sc_store_bf16x8(&C_val[C_at + o],
                                        sc_to_bf16_f32x8(sc_gather_f32x8(&y_lane[n_in + o * 32], 32)));
                    }
                    if ((rest_1 & 4) != 0) {
                        const sc_i64 o = full_1 + (rest_1 & -8);
                        sc_store_bf16x4(&C_val[C_at + o],
                                        sc_to_bf16_f32x4(sc_gather_f32x4(&y_lane[n_in + o * 32], 32)));
                    }
                    if ((rest_1 & 2) != 0) {
                        const sc_i64 o = full_1 + (rest_1 & -4);
                        sc_store_bf16x2(&C_val[C_at + o],
                                        sc_to_bf16_f32x2(sc_gather_f32x2(&y_lane[n_in + o * 32], 32)));
                    }
                    if ((rest_1 & 1) != 0) {
                        const sc_i64 o = full_1 + (rest_1 & -2);
                        C_val[C_at + o] = sc_to_bf16_f32(y_lane[n_in + o * 32]);
                    }
                }
            }
        }
        if ((rest & 1) != 0) {
            const sc_i64 n_block = full + (rest & -2);
            for (sc_i64 i_block = 0; i_block < i_dim; i_block += 16) {
                const sc_i64 size = sc_min_i64(16, i_dim - i_block);
                for (sc_i64 n_in = 0; n_in < 1; n_in++) {
                    const sc_i64 x_at = (n_block + n_in) * x_stride0 + i_block;
                    const sc_i64 t_at = i_block * 32 + n_in;
                    const sc_i64 rest_1 = size % 16;
                    const sc_i64 full_1 = size - rest_1;
                    for (sc_i64 i = 0; i < full_1; i += 16) {
                        sc_scatter_bf16x16(&t_lane[t_at + i * 32], 32, sc_load_bf16x16(&x_val[x_at + i]));
                    }
                    if ((rest_1 & 8) != 0) {
                        const sc_i64 i = full_1 + (rest_1 & -16);
                        sc_scatter_bf16x8(&t_lane[t_at + i * 32], 32, sc_load_bf16x8(&x_val[x_at + i]));
                    }
                    if ((rest_1 & 4) != 0) {
                        const sc_i64 i = full_1 + (rest_1 & -8);
                        sc_scatter_bf16x4(&t_lane[t_at + i * 32], 32, sc_load_bf16x4(&x_val[x_at + i]));
                    }
                    if ((rest_1 & 2) != 0) {
                        const sc_i64 i = full_1 + (rest_1 & -4);
                        sc_scatter_bf16x2(&t_lane[t_at + i * 32], 32, sc_load_bf16x2(&x_val[x_at + i]));
                    }
                    if ((rest_1 & 1) != 0) {
                        const sc_i64 i = full_1 + (rest_1 & -2);
                        t_lane[t_at + i * 32] = x_val[x_at + i];
                    }
                }
            }
            for (sc_i64 o_block = begin; o_block < end; o_block++) {
                const sc_i64 size = sc_min_i64(16, o_dim - o_block * 16);
                for (sc_i64 o_in = 0; o_in < size; o_in++) {
                    float c = 0.0f;
                    const sc_i64 W_lo = (sc_i64)W_pos1[o_block * 16 + o_in];
                    const sc_i64 W_hi = (sc_i64)W_pos1[o_block * 16 + o_in + 1];
                    const sc_i64 count = W_hi - W_lo;
                    const sc_i64 whole = W_lo + (count - count % 2);
                    float c_1 = 0.0f;
                    for (sc_i64 p = W_lo; p < whole; p += 2) {
                        const sc_i64 ii = sc_pair_i32(&W_crd1[p]);
                        const sc_i64 i = ii & 4294967295;
                        const unsigned short w = W_val[p];
                        const sc_i64 t_at = i * 32;
                        c = c + sc_from_bf16_f32(w) * sc_from_bf16_f32(t_lane[t_at]);
                        const sc_i64 i_1 = ii >> 32;
                        const unsigned short w_1 = W_val[p + 1];
                        const sc_i64 t_at_1 = i_1 * 32;
                        c_1 = c_1 + sc_from_bf16_f32(w_1) * sc_from_bf16_f32(t_lane[t_at_1]);
                    }
                    c = c + c_1;
                    for (sc_i64 p = whole; p < W_hi; p++) {
                        const sc_i64 i = (sc_i64)W_crd1[p];
                        const unsigned short w = W_val[p];
                        const sc_i64 t_at = i * 32;
                        c = c + sc_from_bf16_f32(w) * sc_from_bf16_f32(t_lane[t_at]);
                    }
                    const sc_i64 y_at = o_in * 32;
                    y_lane[y_at] = c;
                }
                for (sc_i64 n_in = 0; n_in < 1; n_in++) {
                    const sc_i64 C_at = (n_block + n_in) * C_stride0 + o_block * 16;
                    const sc_i64 rest_1 = size % 16;
                    const sc_i64 full_1 = size - rest_1;
                    for (sc_i64 o = 0; o < full_1; o += 16) {
                        sc_store_bf16x16(&C_val[C_at + o],
                                         sc_to_bf16_f32x16(sc_gather_f32x16(&y_lane[n_in + o * 32], 32)));
                    }
                    if ((rest_1 & 8) != 0) {
                        const sc_i64 o = full_1 + (rest_1 & -16);
                        sc_store_bf16x8(&C_val[C_at + o],
                                        sc_to_bf16_f32x8(sc_gather_f32x8(&y_lane[n_in + o * 32], 32)));
                    }
                    if ((rest_1 & 4) != 0) {
                        const sc_i64 o = full_1 + (rest_1 & -8);
                        sc_store_bf16x4(&C_val[C_at + o],
                                        sc_to_bf16_f32x4(sc_gather_f32x4(&y_lane[n_in + o * 32], 32)));
                    }
                    if ((rest_1 & 2) != 0) {
                        const sc_i64 o = full_1 + (rest_1 & -4);
                        sc_store_bf16x2(&C_val[C_at + o],
                                        sc_to_bf16_f32x2(sc_gather_f32x2(&y_lane[n_in + o * 32], 32)));
                    }
                    if ((rest_1 & 1) != 0) {
                        const sc_i64 o = full_1 + (rest_1 & -2);
                        C_val[C_at + o] = sc_to_bf16_f32(y_lane[n_in + o * 32]);
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
