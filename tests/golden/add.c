/* Computes
 *   C[i,j] = A[i,j] + B[i,j]
 * with
 *   A: csr f32, indices i32
 *   B: csr f32, indices i32
 *   C: csr f32, indices i32
 * by
 *   par i {
 *     for j merge A, B {
 *       C[i,j] = A[i,j] + B[i,j]
 *     }
 *   }
 */
typedef int i32x16 __attribute__((vector_size(64)));
typedef int i32x16u __attribute__((vector_size(64), aligned(4), may_alias));
typedef float f32x16 __attribute__((vector_size(64)));
typedef float f32x16u __attribute__((vector_size(64), aligned(4), may_alias));

#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE void sc_store_i32x16(int *p, i32x16 x) { *(i32x16u *)p = x; }
SC_INLINE void sc_store_f32x16(float *p, f32x16 x) { *(f32x16u *)p = x; }
#if defined(__AVX512F__) && defined(__BMI2__)
typedef unsigned u32x16 __attribute__((vector_size(64), may_alias));
/* The larger of two in the lanes of k, the smaller in the others. */
SC_INLINE u32x16 sc_order_u32x16(u32x16 v, u32x16 w, unsigned short k)
{
    u32x16 r;
    __asm__("vpminud %2, %1, %0\n\tvpmaxud %2, %1, %0%{%3%}" : "=&v"(r) : "v"(v), "v"(w), "Yk"(k));
    return r;
}
SC_INLINE unsigned sc_equal_u32x16(u32x16 v, u32x16 w)
{
    unsigned short k;
    __asm__("vpcmpequd %2, %1, %0" : "=Yk"(k) : "v"(v), "v"(w));
    return k;
}
SC_INLINE unsigned sc_upto_u32x16(u32x16 v, u32x16 w)
{
    unsigned short k;
    __asm__("vpcmpleud %2, %1, %0" : "=Yk"(k) : "v"(v), "v"(w));
    return k;
}
/* Twice the first n numbers, then the largest one. */
SC_INLINE u32x16 sc_doubled_u32x16(const int *p, sc_i64 n)
{
    const unsigned short k = (unsigned short)((1u << (n < 16 ? n : 16)) - 1);
    u32x16 v, r = ~(u32x16){0};
    __asm__("vmovdqu32 %1, %0%{%2%}%{z%}" : "=v"(v) : "m"(*(const u32x16 *)p), "Yk"(k));
    __asm__("vpaddd %1, %1, %0%{%2%}" : "+v"(r) : "v"(v), "Yk"(k));
    return r;
}
#endif
SC_INLINE sc_i64 sc_meet_i32(const int *a, sc_i64 lo, sc_i64 hi, const int *b, sc_i64 from, sc_i64 to)
{
#if defined(__AVX512F__) && defined(__BMI2__)
    const sc_i64 n = hi - lo, m = to - from;
    const u32x16 one = (u32x16){0} + 1, v = sc_doubled_u32x16(a + lo, n),
        w = sc_doubled_u32x16(b + from, m) | one;
    const u32x16 back = __builtin_shufflevector(w, w, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    u32x16 x = sc_order_u32x16(v, back, 0), y = sc_order_u32x16(v, back, (1u << 16) - 1);
    x = sc_order_u32x16(x, __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6,
                                                   7), 0xff00);
    y = sc_order_u32x16(y, __builtin_shufflevector(y, y, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6,
                                                   7), 0xff00);
    x = sc_order_u32x16(x, __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10,
                                                   11), 0xf0f0);
    y = sc_order_u32x16(y, __builtin_shufflevector(y, y, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10,
                                                   11), 0xf0f0);
    x = sc_order_u32x16(x, __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12,
                                                   13), 0xcccc);
    y = sc_order_u32x16(y, __builtin_shufflevector(y, y, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12,
                                                   13), 0xcccc);
    x = sc_order_u32x16(x, __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15,
                                                   14), 0xaaaa);
    y = sc_order_u32x16(y, __builtin_shufflevector(y, y, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15,
                                                   14), 0xaaaa);
    const u32x16 left = __builtin_shufflevector(x, x, 31, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14),
        above = __builtin_shufflevector(y, x, 31, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14);
    unsigned in = (unsigned)((1ull << (n + m < 2 * 16 ? n + m : 2 * 16)) - 1);
    if (n > 16 || m > 16) {
        unsigned last = ~(unsigned)0;
        if (n > 16) last = (unsigned)a[lo + 15] * 2 + 1;
        if (m > 16 && (unsigned)b[from + 15] * 2 + 1 < last) last = (unsigned)b[from + 15] * 2 + 1;
        const u32x16 most = (u32x16){0} + last;
        in = sc_upto_u32x16(x, most) | sc_upto_u32x16(y, most) << 16;
    }
    const unsigned odd = in & (sc_equal_u32x16(x & one, one) | sc_equal_u32x16(y & one, one) << 16);
    const unsigned again = in & (sc_equal_u32x16(x ^ left, one) | sc_equal_u32x16(y ^ above, one) << 16);
    unsigned in_a = in & ~odd, in_b = odd;
    if (again) {
        in_a = __builtin_ia32_pext_si(in_a, in & ~again);
        in_b = __builtin_ia32_pext_si(odd | again >> 1, in & ~again);
    }
    return (sc_i64)((unsigned long long)in_b << 32 | in_a);
#else
    sc_i64 in_a = 0, in_b = 0;
    for (int k = 0; k < 16 && (lo < hi || from < to); k++) {
        const _Bool x = from == to || (lo < hi && a[lo] <= b[from]);
        const _Bool y = lo == hi || (from < to && b[from] <= a[lo]);
        in_a |= (sc_i64)x << k;
        in_b |= (sc_i64)y << (k + 32);
        lo += x;
        from += y;
    }
    return in_a | in_b;
#endif
}
SC_INLINE i32x16 sc_spread_i32x16(const int *p, sc_i64 bits, int fill)
{
    i32x16 r = (i32x16){0} + fill;
#if defined(__AVX512F__) && defined(__AVX512VL__)
    __asm__("vpexpandd %1, %0%{%2%}" : "+v"(r) : "m"(*(const i32x16u *)p), "Yk"((unsigned short)bits));
#else
    for (int k = 0; k < 16; k++)
        if (bits >> k & 1) r[k] = *p++;
#endif
    return r;
}
SC_INLINE f32x16 sc_spread_f32x16(const float *p, sc_i64 bits, float fill)
{
    f32x16 r = (f32x16){0} + fill;
#if defined(__AVX512F__) && defined(__AVX512VL__)
    __asm__("vexpandps %1, %0%{%2%}" : "+v"(r) : "m"(*(const f32x16u *)p), "Yk"((unsigned short)bits));
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
    sc_i64 *restrict const cursors = lane->cursor;
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const int *restrict const B_pos1 = call->view[1].level[1].pos;
    const int *restrict const B_crd1 = call->view[1].level[1].crd;
    int *restrict const C_crd1 = (int *)call->view[2].level[1].crd;
    float *restrict const C_val = call->view[2].val;
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const B_val = call->view[1].val;
    int *restrict const C_pos1 = (int *)call->view[2].level[1].pos;

    sc_i64 C_next1 = cursors[0];
    /* par i */
    for (sc_i64 i = begin; i < end; i++) {
        /* for j merge A, B */
        const sc_i64 A_lo = (sc_i64)A_pos1[i];
        const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
        sc_i64 pA = A_lo;
        const sc_i64 B_lo = (sc_i64)B_pos1[i];
        const sc_i64 B_hi = (sc_i64)B_pos1[i + 1];
        sc_i64 pB = B_lo;
        /* a vector of each at a time: the bits say who has the coordinates, in their order */
        while ((pA < A_hi) | (pB < B_hi)) {
            const sc_i64 met = sc_meet_i32(A_crd1, pA, A_hi, B_crd1, pB, B_hi);
            const sc_i64 in_A = met & 4294967295;
            const sc_i64 in_B = (met >> 32) & 4294967295;
            const sc_i64 n = sc_ones_i64(in_A | in_B);
            /* C[i,j] = A[i,j] + B[i,j] */
            sc_store_i32x16(&C_crd1[C_next1],
                            sc_spread_i32x16(&A_crd1[pA], in_A, 0) | sc_spread_i32x16(&B_crd1[pB], in_B, 0));
            sc_store_f32x16(&C_val[C_next1],
                            sc_spread_f32x16(&A_val[pA], in_A, -0.0f) +
                            sc_spread_f32x16(&B_val[pB], in_B, -0.0f));
            if (n > 16) {
                const sc_i64 from = pA + sc_ones_i64(in_A & 65535);
                const sc_i64 from_1 = pB + sc_ones_i64(in_B & 65535);
                sc_store_i32x16(&C_crd1[C_next1 + 16],
                                sc_spread_i32x16(&A_crd1[from], in_A >> 16, 0) |
                                sc_spread_i32x16(&B_crd1[from_1], in_B >> 16, 0));
                sc_store_f32x16(&C_val[C_next1 + 16],
                                sc_spread_f32x16(&A_val[from], in_A >> 16, -0.0f) +
                                sc_spread_f32x16(&B_val[from_1], in_B >> 16, -0.0f));
            }
            C_next1 = C_next1 + n;
            pA = pA + sc_ones_i64(in_A);
            pB = pB + sc_ones_i64(in_B);
        }
        C_pos1[i + 1] = (int)C_next1;
    }
    cursors[0] = C_next1;
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
