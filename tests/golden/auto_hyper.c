/* Computes
 *   C[i,k,l] = A[i,j] * B[j,k,l]
 * with
 *   A: csr f32, indices i32
 *   B: csf f32, indices i32
 *   C: dense(0), compressed(1), compressed(2) f32, indices i32
 * by
 *   par i in A {
 *     work w[k,l]: lane bitmap f32 {
 *       for j merge A, B {
 *         for k in B {
 *           for l in B {
 *             w[k,l] += A[i,j] * B[j,k,l]
 *           }
 *         }
 *       }
 *     } then {
 *       for k in w {
 *         for l in w {
 *           C[i,k,l] = w[k,l]
 *         }
 *       }
 *     }
 *   }
 */
typedef signed char i8x64 __attribute__((vector_size(64)));
typedef signed char i8x64u __attribute__((vector_size(64), aligned(1), may_alias));

#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE sc_i64 sc_shl_i64(sc_i64 x, sc_i64 n) { return (sc_i64)((__UINT64_TYPE__)x << n); }
SC_INLINE sc_i64 sc_marks_i8x64(const signed char *p)
{
#ifdef __AVX512BW__
    const i8x64 v = *(const i8x64u *)p;
    unsigned long long k;
    __asm__("vptestmb %1, %1, %0" : "=Yk"(k) : "v"(v));
    return (sc_i64)k;
#else
    unsigned long long r = 0, x;
    for (int k = 0; k < 8; k++) {
        __builtin_memcpy(&x, p + 8 * k, 8);
        r |= (x * 0x0102040810204080ull >> 56) << 8 * k;
    }
    return (sc_i64)r;
#endif
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

static int count(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 k_dim = call->dim[1];
    const sc_i64 l_dim = call->dim[2];
    sc_i64 *restrict const w_bits = lane->scratch;
    const sc_i64 w_filled_at = (k_dim * 8 * ((l_dim + 63) / 64) + 63) & -64;
    signed char *restrict const w_filled = (void *)((char *)lane->scratch + w_filled_at);
    const sc_i64 w_crd0_at = w_filled_at + ((k_dim * ((l_dim + 63) / 64) + 63) & -64);
    sc_i64 *restrict const w_crd0 = (void *)((char *)lane->scratch + w_crd0_at);
    const sc_i64 w_crd1_at = w_crd0_at + ((k_dim * 8 * l_dim + 63) & -64);
    sc_i64 *restrict const w_crd1 = (void *)((char *)lane->scratch + w_crd1_at);
    sc_i64 *restrict const cursors = lane->cursor;
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const int *restrict const B_pos0 = call->view[1].level[0].pos;
    const int *restrict const B_crd0 = call->view[1].level[0].crd;
    const int *restrict const B_pos1 = call->view[1].level[1].pos;
    const int *restrict const B_crd1 = call->view[1].level[1].crd;
    const int *restrict const B_pos2 = call->view[1].level[2].pos;
    const int *restrict const B_crd2 = call->view[1].level[2].crd;

    sc_i64 C_next1 = cursors[0];
    sc_i64 C_next2 = cursors[1];
    /* par i in A */
    for (sc_i64 i = begin; i < end; i++) {
        /* work w[k,l]: lane bitmap f32 */
        /* for j merge A, B */
        const sc_i64 A_lo = (sc_i64)A_pos1[i];
        const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
        sc_i64 pA = A_lo;
        const sc_i64 B_lo = (sc_i64)B_pos0[0];
        const sc_i64 B_hi = (sc_i64)B_pos0[1];
        sc_i64 pB = B_lo;
        /* a vector of each at a time: the bits say who has the coordinates, in their order */
        while ((pA < A_hi) && (pB < B_hi)) {
            const sc_i64 met = sc_meet_i32(A_crd1, pA, A_hi, B_crd0, pB, B_hi);
            const sc_i64 in_A = met & 4294967295;
            const sc_i64 in_B = (met >> 32) & 4294967295;
            const sc_i64 both = in_A & in_B;
            if (both != 0) {
                sc_i64 hits_A = sc_extract_i64(both, in_A);
                sc_i64 hits_B = sc_extract_i64(both, in_B);
                while (hits_A != 0) {
                    const sc_i64 B_at = pB + (sc_i64)__builtin_ctzll((unsigned long long)hits_B);
                    /* for k in B */
                    const sc_i64 B_lo_1 = (sc_i64)B_pos1[B_at];
                    const sc_i64 B_hi_1 = (sc_i64)B_pos1[B_at + 1];
                    for (sc_i64 p = B_lo_1; p < B_hi_1; p++) {
                        const sc_i64 k = (sc_i64)B_crd1[p];
                        /* for l in B */
                        const sc_i64 B_lo_2 = (sc_i64)B_pos2[p];
                        const sc_i64 B_hi_2 = (sc_i64)B_pos2[p + 1];
                        for (sc_i64 p_1 = B_lo_2; p_1 < B_hi_2; p_1++) {
                            const sc_i64 l = (sc_i64)B_crd2[p_1];
                            /* w[k,l] += A[i,j] * B[j,k,l] */
                            const sc_i64 at = k * l_dim + l;
                            const sc_i64 word = at >> 6;
                            const sc_i64 bit = sc_shl_i64(1, at & 63);
                            const sc_i64 old = w_bits[word];
                            w_bits[word] = old | bit;
                            w_filled[word] = 1;
                        }
                    }
                    hits_A = hits_A & (hits_A - 1);
                    hits_B = hits_B & (hits_B - 1);
                }
            }
            pA = pA + sc_ones_i64(in_A);
            pB = pB + sc_ones_i64(in_B);
        }
        sc_i64 w_n = 0;
        for (sc_i64 s = 0; s < (k_dim * l_dim + 4095) / 4096; s++) {
            sc_i64 left = sc_marks_i8x64(&w_filled[s * 64]);
            while (left != 0) {
                const sc_i64 word = s * 64 + (sc_i64)__builtin_ctzll((unsigned long long)left);
                left = left & (left - 1);
                w_filled[word] = 0;
                sc_i64 rest = w_bits[word];
                w_bits[word] = 0;
                while (rest != 0) {
                    const sc_i64 at = word * 64 + (sc_i64)__builtin_ctzll((unsigned long long)rest);
                    rest = rest & (rest - 1);
                    const sc_i64 above = at / l_dim;
                    w_crd1[w_n] = at - above * l_dim;
                    w_crd0[w_n] = above;
                    w_n = w_n + 1;
                }
            }
        }
        /* for k in w */
        sc_i64 p = 0;
        while (p < w_n) {
            const sc_i64 first = p;
            const sc_i64 k = w_crd0[first];
            p = first + 1;
            while ((p < w_n) && (w_crd0[p] == k)) {
                p = p + 1;
            }
            const sc_i64 last = p;
            const sc_i64 first_1 = C_next2;
            /* for l in w */
            for (sc_i64 p_1 = first; p_1 < last; p_1++) {
                /* C[i,k,l] = w[k,l] */
                C_next2 = C_next2 + 1;
            }
            if (C_next2 != first_1) {
                C_next1 = C_next1 + 1;
            }
        }
    }
    cursors[0] = C_next1;
    cursors[1] = C_next2;
    return 0;
}

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 k_dim = call->dim[1];
    const sc_i64 l_dim = call->dim[2];
    sc_i64 *restrict const cursors = lane->cursor;
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const int *restrict const B_pos0 = call->view[1].level[0].pos;
    const int *restrict const B_crd0 = call->view[1].level[0].crd;
    const int *restrict const B_pos1 = call->view[1].level[1].pos;
    const int *restrict const B_crd1 = call->view[1].level[1].crd;
    const int *restrict const B_pos2 = call->view[1].level[2].pos;
    const int *restrict const B_crd2 = call->view[1].level[2].crd;
    float *restrict const w_lane = lane->scratch;
    const sc_i64 w_bits_1_at = (k_dim * 4 * l_dim + 63) & -64;
    sc_i64 *restrict const w_bits_1 = (void *)((char *)lane->scratch + w_bits_1_at);
    const sc_i64 w_filled_1_at = w_bits_1_at + ((k_dim * 8 * ((l_dim + 63) / 64) + 63) & -64);
    signed char *restrict const w_filled_1 = (void *)((char *)lane->scratch + w_filled_1_at);
    const sc_i64 w_crd0_1_at = w_filled_1_at + ((k_dim * ((l_dim + 63) / 64) + 63) & -64);
    sc_i64 *restrict const w_crd0_1 = (void *)((char *)lane->scratch + w_crd0_1_at);
    const sc_i64 w_crd1_1_at = w_crd0_1_at + ((k_dim * 8 * l_dim + 63) & -64);
    sc_i64 *restrict const w_crd1_1 = (void *)((char *)lane->scratch + w_crd1_1_at);
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const B_val = call->view[1].val;
    float *restrict const C_val = call->view[2].val;
    int *restrict const C_crd2 = (int *)call->view[2].level[2].crd;
    int *restrict const C_crd1 = (int *)call->view[2].level[1].crd;
    int *restrict const C_pos2 = (int *)call->view[2].level[2].pos;
    int *restrict const C_pos1 = (int *)call->view[2].level[1].pos;

    sc_i64 C_next1 = cursors[0];
    sc_i64 C_next2 = cursors[1];
    /* par i in A */
    for (sc_i64 i = begin; i < end; i++) {
        /* work w[k,l]: lane bitmap f32 */
        /* for j merge A, B */
        const sc_i64 A_lo = (sc_i64)A_pos1[i];
        const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
        sc_i64 pA = A_lo;
        const sc_i64 B_lo = (sc_i64)B_pos0[0];
        const sc_i64 B_hi = (sc_i64)B_pos0[1];
        sc_i64 pB = B_lo;
        /* a vector of each at a time: the bits say who has the coordinates, in their order */
        while ((pA < A_hi) && (pB < B_hi)) {
            const sc_i64 met = sc_meet_i32(A_crd1, pA, A_hi, B_crd0, pB, B_hi);
            const sc_i64 in_A = met & 4294967295;
            const sc_i64 in_B = (met >> 32) & 4294967295;
            const sc_i64 both = in_A & in_B;
            if (both != 0) {
                sc_i64 hits_A = sc_extract_i64(both, in_A);
                sc_i64 hits_B = sc_extract_i64(both, in_B);
                while (hits_A != 0) {
                    const sc_i64 A_at = pA + (sc_i64)__builtin_ctzll((unsigned long long)hits_A);
                    const sc_i64 B_at = pB + (sc_i64)__builtin_ctzll((unsigned long long)hits_B);
                    /* for k in B */
                    const sc_i64 B_lo_1 = (sc_i64)B_pos1[B_at];
                    const sc_i64 B_hi_1 = (sc_i64)B_pos1[B_at + 1];
                    for (sc_i64 p = B_lo_1; p < B_hi_1; p++) {
                        const sc_i64 k = (sc_i64)B_crd1[p];
                        /* for l in B */
                        const float a = A_val[A_at];
                        const sc_i64 B_lo_2 = (sc_i64)B_pos2[p];
                        const sc_i64 B_hi_2 = (sc_i64)B_pos2[p + 1];
                        for (sc_i64 p_1 = B_lo_2; p_1 < B_hi_2; p_1++) {
                            const sc_i64 l = (sc_i64)B_crd2[p_1];
                            /* w[k,l] += A[i,j] * B[j,k,l] */
                            const sc_i64 at = k * l_dim + l;
                            const float v = a * B_val[p_1];
                            const sc_i64 word = at >> 6;
                            const sc_i64 bit = sc_shl_i64(1, at & 63);
                            const sc_i64 old = w_bits_1[word];
                            w_bits_1[word] = old | bit;
                            w_filled_1[word] = 1;
                            w_lane[at] = w_lane[at] + v;
                        }
                    }
                    hits_A = hits_A & (hits_A - 1);
                    hits_B = hits_B & (hits_B - 1);
                }
            }
            pA = pA + sc_ones_i64(in_A);
            pB = pB + sc_ones_i64(in_B);
        }
        sc_i64 w_n = 0;
        for (sc_i64 s = 0; s < (k_dim * l_dim + 4095) / 4096; s++) {
            sc_i64 left = sc_marks_i8x64(&w_filled_1[s * 64]);
            while (left != 0) {
                const sc_i64 word = s * 64 + (sc_i64)__builtin_ctzll((unsigned long long)left);
                left = left & (left - 1);
                w_filled_1[word] = 0;
                sc_i64 rest = w_bits_1[word];
                w_bits_1[word] = 0;
                while (rest != 0) {
                    const sc_i64 at = word * 64 + (sc_i64)__builtin_ctzll((unsigned long long)rest);
                    rest = rest & (rest - 1);
                    const sc_i64 above = at / l_dim;
                    w_crd1_1[w_n] = at - above * l_dim;
                    w_crd0_1[w_n] = above;
                    w_n = w_n + 1;
                }
            }
        }
        /* for k in w */
        sc_i64 p = 0;
        while (p < w_n) {
            const sc_i64 first = p;
            const sc_i64 k = w_crd0_1[first];
            p = first + 1;
            while ((p < w_n) && (w_crd0_1[p] == k)) {
                p = p + 1;
            }
            const sc_i64 last = p;
            const sc_i64 first_1 = C_next2;
            /* for l in w */
            for (sc_i64 p_1 = first; p_1 < last; p_1++) {
                const sc_i64 l = w_crd1_1[p_1];
                /* C[i,k,l] = w[k,l] */
                C_crd2[C_next2] = (int)l;
                C_val[C_next2] = w_lane[k * l_dim + l];
                C_next2 = C_next2 + 1;
            }
            if (C_next2 != first_1) {
                C_crd1[C_next1] = (int)k;
                C_pos2[C_next1 + 1] = (int)C_next2;
                C_next1 = C_next1 + 1;
            }
        }
        for (sc_i64 x = 0, sc_end = w_n; x < sc_end; x++) {
            w_lane[w_crd0_1[x] * l_dim + w_crd1_1[x]] = 0.0f;
        }
        C_pos1[i + 1] = (int)C_next1;
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
    2, {count, body}};
