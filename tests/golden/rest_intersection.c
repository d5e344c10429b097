/* Computes
 *   m[i] min= A[i,j] * B[i,j]
 * with
 *   A: csr f32, indices i32
 *   B: csr f32, indices i32
 *   m: dense f32
 * by
 *   par i in A {
 *     work c: reg f32 {
 *       for j merge A, B rest {
 *         c min= A[i,j] * B[i,j]
 *       }
 *     } then {
 *       m[i] = c
 *     }
 *   }
 */
#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE float sc_min_f32(float a, float b)
{
    const float r = a < b ? a : b;
    return a >= a ? r : a;
}
SC_INLINE sc_i64 sc_max_i64(sc_i64 a, sc_i64 b)
{
    return a > b ? a : b;
}
static sc_i64 sc_search_i32(const int *crd, sc_i64 lo, sc_i64 hi, sc_i64 x)
{
    sc_i64 at = lo, step = 1;
    for (; at < hi && crd[at] < x; step += step) {
        lo = at + 1;
        at += step;
    }
    if (at < hi) hi = at;
    while (lo < hi) {
        const sc_i64 mid = lo + (hi - lo) / 2;
        if (crd[mid] < x)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}
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
SC_INLINE sc_i64 sc_extract_i64(sc_i64 x, sc_i64 bits)
{
#ifdef __BMI2__
    return (sc_i64)__builtin_ia32_pext_di((unsigned long long)x, (unsigned long long)bits);
#else
    sc_i64 r = 0;
    for (int k = 0; bits; bits &= bits - 1)
        r |= (x >> __builtin_ctzll((unsigned long long)bits) & 1) << k++;
    return r;
#endif
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
    const sc_i64 j_dim = call->dim[1];
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const int *restrict const B_pos1 = call->view[1].level[1].pos;
    const int *restrict const B_crd1 = call->view[1].level[1].crd;
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const B_val = call->view[1].val;
    float *restrict const m_val = call->view[2].val;
    (void)lane;

    /* par i in A */
    for (sc_i64 i = begin; i < end; i++) {
        /* work c: reg f32 */
        float c = __builtin_inff();
        /* for j merge A, B rest */
        const sc_i64 A_lo = (sc_i64)A_pos1[i];
        const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
        sc_i64 pA = A_lo;
        const sc_i64 B_lo = (sc_i64)B_pos1[i];
        const sc_i64 B_hi = (sc_i64)B_pos1[i + 1];
        sc_i64 pB = B_lo;
        sc_i64 seen = 0;
        const sc_i64 A_size = A_hi - A_lo;
        const sc_i64 B_size = B_hi - B_lo;
        if ((A_size > B_size * 24) | (B_size > A_size * 24)) {
            /* one is much longer: both jump */
            while ((pA < A_hi) && (pB < B_hi)) {
                const sc_i64 j_A = (sc_i64)A_crd1[pA];
                const sc_i64 j_B = (sc_i64)B_crd1[pB];
                const sc_i64 j = sc_max_i64(j_A, j_B);
                if ((j_A == j) && (j_B == j)) {
                    seen = seen + 1;
                    /* c min= A[i,j] * B[i,j] */
                    c = sc_min_f32(c, A_val[pA] * B_val[pB]);
                }
                const sc_i64 beyond = j + (sc_i64)(j_A == j_B);
                pA = sc_search_i32(A_crd1, pA, A_hi, beyond);
                pB = sc_search_i32(B_crd1, pB, B_hi, beyond);
            }
        } else {
            /* a vector of each at a time: the bits say who has the coordinates, in their order */
            while ((pA < A_hi) && (pB < B_hi)) {
                const sc_i64 met = sc_meet_i32(A_crd1, pA, A_hi, B_crd1, pB, B_hi);
                const sc_i64 in_A = met & 4294967295;
                const sc_i64 in_B = (met >> 32) & 4294967295;
                const sc_i64 both = in_A & in_B;
                if (both != 0) {
                    sc_i64 hits_A = sc_extract_i64(both, in_A);
                    sc_i64 hits_B = sc_extract_i64(both, in_B);
                    while (hits_A != 0) {
                        const sc_i64 A_at = pA + (sc_i64)__builtin_ctzll((unsigned long long)hits_A);
                        const sc_i64 B_at = pB + (sc_i64)__builtin_ctzll((unsigned long long)hits_B);
                        seen = seen + 1;
                        /* c min= A[i,j] * B[i,j] */
                        c = sc_min_f32(c, A_val[A_at] * B_val[B_at]);
                        hits_A = hits_A & (hits_A - 1);
                        hits_B = hits_B & (hits_B - 1);
                    }
                }
                pA = pA + sc_ones_i64(in_A);
                pB = pB + sc_ones_i64(in_B);
            }
        }
        /* the coordinates of j that were not visited, at once */
        const sc_i64 left = j_dim - seen;
        if (left > 0) {
            /* c min= 0 */
            c = sc_min_f32(c, 0.0f);
        }
        /* m[i] = c */
        m_val[i] = c;
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
