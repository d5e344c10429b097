/* Computes
 *   y[b,i] = A[i,j] * x[b,j]
 * with
 *   x: dense f32
 *   A: bitmask f32, indices i32
 *   y: dense f32
 * by
 *   par i in A {
 *     for b/8 {
 *       work c[b%8]: reg f32 {
 *         vec j in A {
 *           for b%8 unroll 8 {
 *             c[b%8] += A[i,j] * x[b,j]
 *           }
 *         }
 *       } then {
 *         for b%8 unroll 8 {
 *           y[b,i] = c[b%8]
 *         }
 *       }
 *     }
 *   }
 */
typedef int i32x16 __attribute__((vector_size(64)));
typedef float f32x4 __attribute__((vector_size(16)));
typedef float f32x8 __attribute__((vector_size(32)));
typedef float f32x16 __attribute__((vector_size(64)));
typedef float f32x16u __attribute__((vector_size(64), aligned(4), may_alias));

#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE sc_i64 sc_min_i64(sc_i64 a, sc_i64 b)
{
    return a < b ? a : b;
}
SC_INLINE float sc_hadd_f32x16(f32x16 v)
{
    f32x8 v8 = (f32x8){v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7]} +
        (f32x8){v[8], v[9], v[10], v[11], v[12], v[13], v[14], v[15]};
    f32x4 v4 = (f32x4){v8[0], v8[1], v8[2], v8[3]} + (f32x4){v8[4], v8[5], v8[6], v8[7]};
    f32x4 v2 = v4 + (f32x4){v4[2], v4[3], v4[0], v4[1]};
    f32x4 v1 = v2 + (f32x4){v2[1], v2[2], v2[3], v2[0]};
    return v1[0];
}
SC_INLINE f32x16 sc_masked_f32x16(const float *p, sc_i64 bits)
{
    f32x16 r = {0};
#if defined(__AVX512F__) && defined(__AVX512VL__)
    __asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(r) : "m"(*(const f32x16u *)p), "Yk"((unsigned short)bits));
#elif defined(__AVX2__)
    const i32x16 bit = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768},
        in = (bit & (int)bits) != 0;
    __asm__("vmaskmovps %1, %2, %0" : "=x"(r) : "m"(*(const f32x16u *)p), "x"(in));
#else
    if ((bits & 65535) == 65535)
        r = *(const f32x16u *)p;
    else
        for (int k = 0; k < 16; k++) r[k] = bits >> k & 1 ? p[k] : 0;
#endif
    return r;
}
SC_INLINE f32x16 sc_expand_f32x16(const float *p, sc_i64 bits)
{
    f32x16 r = {0};
#if defined(__AVX512F__) && defined(__AVX512VL__)
    if (((__UINTPTR_TYPE__)p & 4095) - 1 < 4096 - sizeof r) {
        __asm__("vmovups %1, %0" : "=v"(r) : "m"(*(const f32x16u *)p));
        __asm__("vexpandps %0, %0%{%1%}%{z%}" : "+v"(r) : "Yk"((unsigned short)bits));
    } else {
        __asm__("vexpandps %1, %0%{%2%}" : "+v"(r) : "m"(*(const f32x16u *)p), "Yk"((unsigned short)bits));
    }
#else
    for (int k = 0; k < 16; k++)
        if (bits >> k & 1) r[k] = *p++;
#endif
    return r;
}
SC_INLINE sc_i64 sc_ones_i64(sc_i64 bits)
{
    __UINT64_TYPE__ x = (__UINT64_TYPE__)bits;
#if defined(__x86_64__) && !defined(__POPCNT__)
    x -= x >> 1 & 0x5555555555555555;
    x = (x & 0x3333333333333333) + (x >> 2 & 0x3333333333333333);
    return (sc_i64)(((x + (x >> 4)) & 0x0f0f0f0f0f0f0f0f) * 0x0101010101010101 >> 56);
#else
    return __builtin_popcountll(x);
#endif
}

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 j_dim = call->dim[2];
    const sc_i64 x_stride0 = call->view[0].stride[0];
    const sc_i64 A_npos1 = call->view[1].level[1].npos;
    const sc_i64 y_stride0 = call->view[2].stride[0];
    const int *restrict const A_crd1 = call->view[1].level[1].crd;
    const int *restrict const A_pos1 = call->view[1].level[1].pos;
    const float *restrict const x_val = call->view[0].val;
    const float *restrict const A_val = call->view[1].val;
    float *restrict const y_val = call->view[2].val;
    (void)lane;

    /* par i in A */
    for (sc_i64 i = begin; i < end; i++) {
        /* for b/8 */
        /* work c[b%8]: reg f32 */
        float c = 0.0f;
        float c_1 = 0.0f;
        float c_2 = 0.0f;
        float c_3 = 0.0f;
        float c_4 = 0.0f;
        float c_5 = 0.0f;
        float c_6 = 0.0f;
        float c_7 = 0.0f;
        const sc_i64 words = (j_dim + 31) / 32;
        const sc_i64 lo = i * words;
        /* vec j in A */
        f32x16 sum = (f32x16){0};
        f32x16 sum_1 = (f32x16){0};
        const sc_i64 x_at = x_stride0 * 2;
        f32x16 sum_2 = (f32x16){0};
        const sc_i64 x_at_1 = x_stride0 * 3;
        f32x16 sum_3 = (f32x16){0};
        const sc_i64 x_at_2 = x_stride0 * 4;
        f32x16 sum_4 = (f32x16){0};
        const sc_i64 x_at_3 = x_stride0 * 5;
        f32x16 sum_5 = (f32x16){0};
        const sc_i64 x_at_4 = x_stride0 * 6;
        f32x16 sum_6 = (f32x16){0};
        const sc_i64 x_at_5 = x_stride0 * 7;
        f32x16 sum_7 = (f32x16){0};
        for (sc_i64 w = lo; w < lo + words; w++) {
            const sc_i64 first = (sc_i64)A_pos1[w];
            const sc_i64 word = (sc_i64)A_crd1[w] & 4294967295;
            const sc_i64 j = (w - lo) * 32;
            __builtin_prefetch(&A_val[sc_min_i64(first + 768, A_npos1 - 1)]);
            const sc_i64 bits = word & 65535;
            const f32x16 entry_1 = sc_expand_f32x16(&A_val[first], bits);
            /* for b%8 unroll 8 */
            /* c[b%8] += A[i,j] * x[b,j] */
            sum = sum + entry_1 * sc_masked_f32x16(&x_val[j], bits);
            sum_1 = sum_1 + entry_1 * sc_masked_f32x16(&x_val[x_stride0 + j], bits);
            sum_2 = sum_2 + entry_1 * sc_masked_f32x16(&x_val[x_at + j], bits);
            sum_3 = sum_3 + entry_1 * sc_masked_f32x16(&x_val[x_at_1 + j], bits);
            sum_4 = sum_4 + entry_1 * sc_masked_f32x16(&x_val[x_at_2 + j], bits);
            sum_5 = sum_5 + entry_1 * sc_masked_f32x16(&x_val[x_at_3 + j], bits);
            sum_6 = sum_6 + entry_1 * sc_masked_f32x16(&x_val[x_at_4 + j], bits);
            sum_7 = sum_7 + entry_1 * sc_masked_f32x16(&x_val[x_at_5 + j], bits);
            const sc_i64 bits_1 = (word >> 16) & 65535;
            const f32x16 entry_2 = sc_expand_f32x16(&A_val[first + sc_ones_i64(word & 65535)], bits_1);
            sum = sum + entry_2 * sc_masked_f32x16(&x_val[j + 16], bits_1);
            sum_1 = sum_1 + entry_2 * sc_masked_f32x16(&x_val[x_stride0 + j + 16], bits_1);
            sum_2 = sum_2 + entry_2 * sc_masked_f32x16(&x_val[x_at + j + 16], bits_1);
            sum_3 = sum_3 + entry_2 * sc_masked_f32x16(&x_val[x_at_1 + j + 16], bits_1);
            sum_4 = sum_4 + entry_2 * sc_masked_f32x16(&x_val[x_at_2 + j + 16], bits_1);
            sum_5 = sum_5 + entry_2 * sc_masked_f32x16(&x_val[x_at_3 + j + 16], bits_1);
            sum_6 = sum_6 + entry_2 * sc_masked_f32x16(&x_val[x_at_4 + j + 16], bits_1);
            sum_7 = sum_7 + entry_2 * sc_masked_f32x16(&x_val[x_at_5 + j + 16], bits_1);
        }
        c = c + sc_hadd_f32x16(sum);
        c_1 = c_1 + sc_hadd_f32x16(sum_1);
        c_2 = c_2 + sc_hadd_f32x16(sum_2);
        c_3 = c_3 + sc_hadd_f32x16(sum_3);
        c_4 = c_4 + sc_hadd_f32x16(sum_4);
        c_5 = c_5 + sc_hadd_f32x16(sum_5);
        c_6 = c_6 + sc_hadd_f32x16(sum_6);
        c_7 = c_7 + sc_hadd_f32x16(sum_7);
        /* for b%8 unroll 8 */
        /* y[b,i] = c[b%8] */
        y_val[i] = c;
        y_val[y_stride0 + i] = c_1;
        y_val[y_stride0 * 2 + i] = c_2;
        y_val[y_stride0 * 3 + i] = c_3;
        y_val[y_stride0 * 4 + i] = c_4;
        y_val[y_stride0 * 5 + i] = c_5;
        y_val[y_stride0 * 6 + i] = c_6;
        y_val[y_stride0 * 7 + i] = c_7;
        /* work c[b%8]: reg f32 */
        float c_8 = 0.0f;
        float c_9 = 0.0f;
        float c_10 = 0.0f;
        float c_11 = 0.0f;
        const sc_i64 words_1 = (j_dim + 31) / 32;
        const sc_i64 lo_1 = i * words_1;
        /* vec j in A */
        const sc_i64 x_at_6 = x_stride0 * 8;
        f32x16 sum_8 = (f32x16){0};
        f32x16 sum_9 = (f32x16){0};
        const sc_i64 x_at_7 = x_stride0 * 9;
        f32x16 sum_10 = (f32x16){0};
        f32x16 sum_11 = (f32x16){0};
        const sc_i64 x_at_8 = x_stride0 * 10;
        f32x16 sum_12 = (f32x16){0};
        f32x16 sum_13 = (f32x16){0};
        const sc_i64 x_at_9 = x_stride0 * 11;
        f32x16 sum_14 = (f32x16){0};
        f32x16 sum_15 = (f32x16){0};
        for (sc_i64 w = lo_1; w < lo_1 + words_1; w++) {
            const sc_i64 first = (sc_i64)A_pos1[w];
            const sc_i64 word = (sc_i64)A_crd1[w] & 4294967295;
            const sc_i64 j = (w - lo_1) * 32;
            __builtin_prefetch(&A_val[sc_min_i64(first + 768, A_npos1 - 1)]);
            const sc_i64 bits = word & 65535;
            const f32x16 entry_1 = sc_expand_f32x16(&A_val[first], bits);
            /* for b%8 unroll 8 */
            /* c[b%8] += A[i,j] * x[b,j] */
            sum_8 = sum_8 + entry_1 * sc_masked_f32x16(&x_val[x_at_6 + j], bits);
            sum_10 = sum_10 + entry_1 * sc_masked_f32x16(&x_val[x_at_7 + j], bits);
            sum_12 = sum_12 + entry_1 * sc_masked_f32x16(&x_val[x_at_8 + j], bits);
            sum_14 = sum_14 + entry_1 * sc_masked_f32x16(&x_val[x_at_9 + j], bits);
            const sc_i64 bits_1 = (word >> 16) & 65535;
            const f32x16 entry_2 = sc_expand_f32x16(&A_val[first + sc_ones_i64(word & 65535)], bits_1);
            sum_9 = sum_9 + entry_2 * sc_masked_f32x16(&x_val[x_at_6 + j + 16], bits_1);
            sum_11 = sum_11 + entry_2 * sc_masked_f32x16(&x_val[x_at_7 + j + 16], bits_1);
            sum_13 = sum_13 + entry_2 * sc_masked_f32x16(&x_val[x_at_8 + j + 16], bits_1);
            sum_15 = sum_15 + entry_2 * sc_masked_f32x16(&x_val[x_at_9 + j + 16], bits_1);
        }
        c_8 = c_8 + sc_hadd_f32x16(sum_8 + sum_9);
        c_9 = c_9 + sc_hadd_f32x16(sum_10 + sum_11);
        c_10 = c_10 + sc_hadd_f32x16(sum_12 + sum_13);
        c_11 = c_11 + sc_hadd_f32x16(sum_14 + sum_15);
        /* for b%8 unroll 8 */
        /* y[b,i] = c[b%8] */
        y_val[y_stride0 * 8 + i] = c_8;
        y_val[y_stride0 * 9 + i] = c_9;
        y_val[y_stride0 * 10 + i] = c_10;
        y_val[y_stride0 * 11 + i] = c_11;
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
