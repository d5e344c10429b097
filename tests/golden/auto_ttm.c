/* Computes
 *   C[i,j,l] = A[i,j,k] * B[k,l]
 * with
 *   A: csf f32, indices i32
 *   B: csr f32, indices i32
 *   C: csf f32, indices i32
 * by
 *   par i in A {
 *     for j in A {
 *       work w[l]: lane bitmap f32 {
 *         for k in A {
 *           for l in B {
 *             w[l] += A[i,j,k] * B[k,l]
 *           }
 *         }
 *       } then {
 *         for l in w {
 *           C[i,j,l] = w[l]
 *         }
 *       }
 *     }
 *   }
 */
typedef signed char i8x64 __attribute__((vector_size(64)));
typedef signed char i8x64u __attribute__((vector_size(64), aligned(1), may_alias));
typedef int i32x16 __attribute__((vector_size(64)));
typedef int i32x16u __attribute__((vector_size(64), aligned(4), may_alias));
typedef float f32x16 __attribute__((vector_size(64)));
typedef float f32x16u __attribute__((vector_size(64), aligned(4), may_alias));

#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE f32x16 sc_splat_f32x16(float x) { return (f32x16){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x}; }
SC_INLINE i32x16 sc_load_i32x16(const int *p) { return *(const i32x16u *)p; }
SC_INLINE f32x16 sc_load_f32x16(const float *p) { return *(const f32x16u *)p; }
SC_INLINE void sc_store_i32x16(int *p, i32x16 x) { *(i32x16u *)p = x; }
SC_INLINE void sc_store_f32x16(float *p, f32x16 x) { *(f32x16u *)p = x; }
SC_INLINE sc_i64 sc_select_i64(_Bool m, sc_i64 a, sc_i64 b)
{
    return b ^ ((a ^ b) & -(sc_i64)m);
}
SC_INLINE sc_i64 sc_min_i64(sc_i64 a, sc_i64 b)
{
    return a < b ? a : b;
}
SC_INLINE sc_i64 sc_max_i64(sc_i64 a, sc_i64 b)
{
    return a > b ? a : b;
}
SC_INLINE sc_i64 sc_shl_i64(sc_i64 x, sc_i64 n) { return (sc_i64)((__UINT64_TYPE__)x << n); }
#ifdef __AVX512F__
typedef int sc_keys __attribute__((vector_size(64), may_alias));
SC_INLINE sc_keys sc_low(sc_keys v, sc_keys w)
{
    __asm__("vpminsd %1, %0, %0" : "+v"(v) : "v"(w));
    return v;
}
SC_INLINE sc_keys sc_high(sc_keys v, sc_keys w)
{
    __asm__("vpmaxsd %1, %0, %0" : "+v"(v) : "v"(w));
    return v;
}
/* The larger of two in the lanes of k, the smaller in the others. */
SC_INLINE sc_keys sc_either(sc_keys v, sc_keys w, unsigned short k)
{
    sc_keys r;
    __asm__("vpminsd %2, %1, %0\n\tvpmaxsd %2, %1, %0%{%3%}" : "=&v"(r) : "v"(v), "v"(w), "Yk"(k));
    return r;
}
SC_INLINE sc_keys sc_halves(sc_keys v)
{
    v = sc_either(v, __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7),
                  0xff00);
    v = sc_either(v, __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11),
                  0xf0f0);
    v = sc_either(v, __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13),
                  0xcccc);
    v = sc_either(v, __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14),
                  0xaaaa);
    return v;
}
SC_INLINE sc_keys sc_lanes(sc_keys v)
{
    v = sc_either(v, __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14),
                  0xaaaa);
    v = sc_either(v, __builtin_shufflevector(v, v, 3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12),
                  0xcccc);
    v = sc_either(v, __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14),
                  0xaaaa);
    v = sc_either(v, __builtin_shufflevector(v, v, 7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8),
                  0xf0f0);
    v = sc_either(v, __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13),
                  0xcccc);
    v = sc_either(v, __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14),
                  0xaaaa);
    v = sc_either(v, __builtin_shufflevector(v, v, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0),
                  0xff00);
    v = sc_either(v, __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11),
                  0xf0f0);
    v = sc_either(v, __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13),
                  0xcccc);
    v = sc_either(v, __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14),
                  0xaaaa);
    return v;
}
/* v[0 .. s) and v[s .. 2 s) are sorted; so is all of it then. */
SC_INLINE void sc_join(sc_keys *v, int s)
{
    for (int a = 0; a < s; a++) {
        const sc_keys x = v[a], y = v[2 * s - 1 - a];
        const sc_keys back =
            __builtin_shufflevector(y, y, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
        const sc_keys most = sc_high(x, back);
        v[a] = sc_low(x, back);
        v[2 * s - 1 - a] =
            __builtin_shufflevector(most, most, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    }
    for (int d = s / 2; d; d /= 2)
        for (int a = 0; a < 2 * s; a++) {
            if (a & d) continue;
            const sc_keys x = v[a], y = v[a + d];
            v[a] = sc_low(x, y);
            v[a + d] = sc_high(x, y);
        }
    for (int a = 0; a < 2 * s; a++) v[a] = sc_halves(v[a]);
}
SC_INLINE void sc_network(sc_keys *v, int n)
{
    for (int a = 0; a < n; a++) v[a] = sc_lanes(v[a]);
    for (int s = 1; s < n; s *= 2)
        for (int a = 0; a < n; a += 2 * s) sc_join(v + a, s);
}
static void sc_sort_few(int *key, sc_i64 n)
{
    sc_keys v[16];
    int *at = (int *)v, m = 1;
    while (16 * m < n) m *= 2;
    for (int k = (int)n & ~15; k < 16 * m; k++) at[k] = 0x7fffffff;
    __builtin_memcpy(at, key, (unsigned long)n * sizeof *key);
    if (m == 1) sc_network(v, 1);
    if (m == 2) sc_network(v, 2);
    if (m == 4) sc_network(v, 4);
    if (m > 4) sc_network(v, m);
    __builtin_memcpy(key, at, (unsigned long)n * sizeof *key);
}
#endif
static __attribute__((unused)) void sc_sort_i32(int *key, int *spare, sc_i64 n)
{
    int *from = key, *to = spare, used = 0;
#ifdef __AVX512F__
    if (n <= 256) {
        sc_sort_few(key, n);
        return;
    }
#endif
    for (sc_i64 i = 1; i < n && n < 32; i++) {
        int x = key[i];
        sc_i64 k = i;
        for (; k > 0 && key[k - 1] > x; k--) key[k] = key[k - 1];
        key[k] = x;
    }
    if (n < 32) return;
    for (sc_i64 i = 0; i < n; i++) used |= key[i];
    for (int shift = 0; shift < 31 && used >> shift; shift += 8) {
        sc_i64 at[257] = {0};
        for (sc_i64 i = 0; i < n; i++) at[(from[i] >> shift & 255) + 1]++;
        for (int d = 0; d < 255; d++) at[d + 1] += at[d];
        for (sc_i64 i = 0; i < n; i++) to[at[from[i] >> shift & 255]++] = from[i];
        int *swap = from;
        from = to;
        to = swap;
    }
    for (sc_i64 i = 0; i < n && from != key; i++) key[i] = from[i];
}
#ifdef __AVX512F__
typedef float sc_terms __attribute__((vector_size(64), may_alias));
typedef int sc_loose __attribute__((vector_size(64), aligned(4), may_alias));
typedef float sc_loose_terms __attribute__((vector_size(64), aligned(4), may_alias));
SC_INLINE unsigned sc_equal(sc_keys v, sc_keys w)
{
    unsigned short k;
    __asm__("vpcmpeqd %2, %1, %0" : "=Yk"(k) : "v"(v), "v"(w));
    return k;
}
/* Lanes at[k] of v and, from 16 on, of w. */
SC_INLINE sc_keys sc_of_two(sc_keys v, sc_keys at, sc_keys w)
{
    __asm__("vpermt2d %2, %1, %0" : "+v"(v) : "v"(at), "v"(w));
    return v;
}
SC_INLINE sc_terms sc_term_of_two(sc_terms v, sc_keys at, sc_terms w)
{
    __asm__("vpermt2ps %2, %1, %0" : "+v"(v) : "v"(at), "v"(w));
    return v;
}
SC_INLINE sc_terms sc_by_place(const float *term, sc_keys place, int m)
{
    const sc_loose_terms *t = (const void *)term;
    sc_terms r = sc_term_of_two(t[0], place, t[m > 1]);
    for (int b = 2; b < m; b += 2) {
        const sc_terms x = sc_term_of_two(t[b], place, t[b + 1]);
        const unsigned short here = sc_equal(place >> 5, (sc_keys){0} + b / 2);
        __asm__("vmovaps %1, %0%{%2%}" : "+v"(r) : "v"(x), "Yk"(here));
    }
    return r;
}
/* The lanes of k, side by side. */
SC_INLINE void sc_keep(int *key, float *term, sc_keys v, sc_terms x, unsigned short k)
{
    __asm__("vpcompressd %0, %0%{%1%}%{z%}" : "+v"(v) : "Yk"(k));
    __asm__("vcompressps %0, %0%{%1%}%{z%}" : "+v"(x) : "Yk"(k));
    *(sc_loose *)key = v;
    *(sc_loose_terms *)term = x;
}
SC_INLINE sc_i64 sc_unite_few(int *key, float *term, sc_i64 n, sc_i64 most, int m)
{
    const sc_keys lane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    sc_keys v[17];
    sc_terms x[17];
    sc_i64 at = 0;
    for (int a = 0; a < m; a++) {
        const sc_keys place = lane + 16 * a;
        const sc_keys k = ((const sc_loose *)key)[a] << 8 | place;
        const sc_keys in = place < (sc_keys){0} + (int)n;
        v[a] = (k & in) | (~in & 0x7fffffff);
    }
    sc_network(v, m);
    for (int a = 0; a < m; a++) {
        x[a] = sc_by_place(term, v[a] & 255, m);
        v[a] >>= 8;
    }
    v[m] = (sc_keys){0} - 1;
    x[m] = (sc_terms){0};
    for (int a = 0; a < m; a++) {
        const sc_keys before = sc_of_two(a ? v[a - 1] : v[m], lane + 15, v[a]);
        unsigned first = ~sc_equal(v[a], before) & 0xffff;
        sc_terms sum = x[a];
        if (n < 16 * a + 16) first &= n > 16 * a ? (1u << (n - 16 * a)) - 1 : 0;
        for (int d = 1; d < most; d++) {
            const int b = m > 4 ? a + d / 16 : a, c = m > 4 ? d % 16 : d;
            if (b == m) break;
            const unsigned short same = first & sc_equal(v[a], sc_of_two(v[b], lane + c, v[b + 1]));
            const sc_terms more = sc_term_of_two(x[b], lane + c, x[b + 1]);
            if (most > 5 && !same) break;
            __asm__("vaddps %1, %0, %0%{%2%}" : "+v"(sum) : "v"(more), "Yk"(same));
        }
        sc_keep(key + at, term + at, v[a], sum, (unsigned short)first);
        at += __builtin_popcount(first);
    }
    return at;
}
#endif
static __attribute__((noinline)) sc_i64 sc_unite_f32x16(int *key, float *value, sc_i64 n, sc_i64 most)
{
#ifdef __AVX512F__
    if (n <= 16) return sc_unite_few(key, value, n, most, 1);
    if (n <= 32 && most <= 17) return sc_unite_few(key, value, n, most, 2);
    if (n <= 64 && most <= 17) return sc_unite_few(key, value, n, most, 4);
    return sc_unite_few(key, value, n, most, n <= 128 ? 8 : 16);
#else
    int spare[256];
    int before = -1;
    float term[256], sum = 0;
    sc_i64 at = -1;
    (void)most;
    for (sc_i64 i = 0; i < n; i++) {
        term[i] = value[i];
        key[i] = key[i] << 8 | (int)i;
    }
    sc_sort_i32(key, spare, n);
    for (sc_i64 i = 0; i < n; i++) {
        const int k = key[i] >> 8;
        const float v = term[key[i] & 255];
        at += k != before;
        sum = k != before ? v : sum + v;
        key[at] = before = k;
        value[at] = sum;
    }
    return at + 1;
#endif
}
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
SC_INLINE i32x16 sc_masked_i32x16(const int *p, sc_i64 bits)
{
    i32x16 r = {0};
#if defined(__AVX512F__) && defined(__AVX512VL__)
    __asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(r) : "m"(*(const i32x16u *)p), "Yk"((unsigned short)bits));
#elif defined(__AVX2__)
    const i32x16 bit = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768},
        in = (bit & (int)bits) != 0;
    __asm__("vmaskmovps %1, %2, %0" : "=x"(r) : "m"(*(const i32x16u *)p), "x"(in));
#else
    if ((bits & 65535) == 65535)
        r = *(const i32x16u *)p;
    else
        for (int k = 0; k < 16; k++) r[k] = bits >> k & 1 ? p[k] : 0;
#endif
    return r;
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
SC_INLINE void sc_put_i32x16(int *p, sc_i64 bits, i32x16 x)
{
#if defined(__AVX512F__) && defined(__AVX512VL__)
    __asm__("vmovups %1, %0%{%2%}" : "+m"(*(i32x16u *)p) : "v"(x), "Yk"((unsigned short)bits));
#else
    for (int k = 0; k < 16; k++)
        if (bits >> k & 1) p[k] = x[k];
#endif
}
SC_INLINE void sc_put_f32x16(float *p, sc_i64 bits, f32x16 x)
{
#if defined(__AVX512F__) && defined(__AVX512VL__)
    __asm__("vmovups %1, %0%{%2%}" : "+m"(*(f32x16u *)p) : "v"(x), "Yk"((unsigned short)bits));
#else
    for (int k = 0; k < 16; k++)
        if (bits >> k & 1) p[k] = x[k];
#endif
}

static int count(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 l_dim = call->dim[2];
    sc_i64 *restrict const w_mark = lane->scratch;
    const sc_i64 w_last_at = (l_dim * 8 + 63) & -64;
    sc_i64 *restrict const w_last = (void *)((char *)lane->scratch + w_last_at);
    sc_i64 *restrict const cursors = lane->cursor;
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_pos2 = call->view[0].level[2].pos;
    const int *restrict const A_crd2 = call->view[0].level[2].crd;
    const int *restrict const B_pos1 = call->view[1].level[1].pos;
    const int *restrict const B_crd1 = call->view[1].level[1].crd;

    sc_i64 w_tag = w_last[0];
    sc_i64 C_next0 = cursors[0];
    sc_i64 C_next1 = cursors[1];
    sc_i64 C_next2 = cursors[2];
    /* par i in A */
    for (sc_i64 p = begin; p < end; p++) {
        const sc_i64 first = C_next1;
        /* for j in A */
        const sc_i64 A_lo = (sc_i64)A_pos1[p];
        const sc_i64 A_hi = (sc_i64)A_pos1[p + 1];
        for (sc_i64 p_1 = A_lo; p_1 < A_hi; p_1++) {
            const sc_i64 first_1 = C_next2;
            /* work w[l]: lane bitmap f32 */
            w_tag = w_tag + 1;
            sc_i64 w_n = 0;
            /* for k in A */
            const sc_i64 A_lo_1 = (sc_i64)A_pos2[p_1];
            const sc_i64 A_hi_1 = (sc_i64)A_pos2[p_1 + 1];
            for (sc_i64 p_2 = A_lo_1; p_2 < A_hi_1; p_2++) {
                const sc_i64 k = (sc_i64)A_crd2[p_2];
                /* for l in B */
                const sc_i64 B_lo = (sc_i64)B_pos1[k];
                const sc_i64 B_hi = (sc_i64)B_pos1[k + 1];
                for (sc_i64 p_3 = B_lo; p_3 < B_hi; p_3++) {
                    const sc_i64 l = (sc_i64)B_crd1[p_3];
                    /* w[l] += A[i,j,k] * B[k,l] */
                    w_n = w_n + (sc_i64)(w_mark[l] != w_tag);
                    w_mark[l] = w_tag;
                }
            }
            /* for l in w */
            /* C[i,j,l] = w[l] */
            C_next2 = C_next2 + w_n;
            if (C_next2 != first_1) {
                C_next1 = C_next1 + 1;
            }
        }
        if (C_next1 != first) {
            C_next0 = C_next0 + 1;
        }
    }
    cursors[0] = C_next0;
    cursors[1] = C_next1;
    cursors[2] = C_next2;
    w_last[0] = w_tag;
    return 0;
}

static int most(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 l_dim = call->dim[2];
    sc_i64 *restrict const cursors = lane->cursor;
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_pos2 = call->view[0].level[2].pos;
    const int *restrict const A_crd2 = call->view[0].level[2].crd;
    const int *restrict const B_pos1 = call->view[1].level[1].pos;

    sc_i64 C_next0 = cursors[0];
    sc_i64 C_next1 = cursors[1];
    sc_i64 C_next2 = cursors[2];
    /* par i in A */
    for (sc_i64 p = begin; p < end; p++) {
        const sc_i64 first = C_next1;
        /* for j in A */
        const sc_i64 A_lo = (sc_i64)A_pos1[p];
        const sc_i64 A_hi = (sc_i64)A_pos1[p + 1];
        for (sc_i64 p_1 = A_lo; p_1 < A_hi; p_1++) {
            const sc_i64 first_1 = C_next2;
            /* work w[l]: lane bitmap f32 */
            sc_i64 w_n = 0;
            /* for k in A */
            const sc_i64 A_lo_1 = (sc_i64)A_pos2[p_1];
            const sc_i64 A_hi_1 = (sc_i64)A_pos2[p_1 + 1];
            for (sc_i64 p_2 = A_lo_1; p_2 < A_hi_1; p_2++) {
                const sc_i64 k = (sc_i64)A_crd2[p_2];
                /* for l in B */
                const sc_i64 B_lo = (sc_i64)B_pos1[k];
                const sc_i64 B_hi = (sc_i64)B_pos1[k + 1];
                /* w[l] += A[i,j,k] * B[k,l] */
                w_n = w_n + (B_hi - B_lo);
            }
            /* for l in w */
            /* C[i,j,l] = w[l] */
            C_next2 = C_next2 + sc_min_i64(w_n, l_dim);
            if (C_next2 != first_1) {
                C_next1 = C_next1 + 1;
            }
        }
        if (C_next1 != first) {
            C_next0 = C_next0 + 1;
        }
    }
    cursors[0] = C_next0;
    cursors[1] = C_next1;
    cursors[2] = C_next2;
    return 0;
}

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 l_dim = call->dim[2];
    sc_i64 *restrict const cursors = lane->cursor;
    const int *restrict const A_crd0 = call->view[0].level[0].crd;
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const int *restrict const A_pos2 = call->view[0].level[2].pos;
    const int *restrict const A_crd2 = call->view[0].level[2].crd;
    const int *restrict const B_pos1 = call->view[1].level[1].pos;
    const int *restrict const B_crd1 = call->view[1].level[1].crd;
    int *restrict const w_key = lane->scratch;
    float *restrict const w_terms = (void *)((char *)lane->scratch + 1088);
    signed char *restrict const w_bytes = (void *)((char *)lane->scratch + 2176);
    const sc_i64 w_lane_at = ((l_dim + 63) & -64) + 2176;
    float *restrict const w_lane = (void *)((char *)lane->scratch + w_lane_at);
    const sc_i64 w_bits_at = ((l_dim + 63) & -64) + ((l_dim * 4 + 63) & -64) + 2176;
    sc_i64 *restrict const w_bits = (void *)((char *)lane->scratch + w_bits_at);
    const sc_i64 w_filled_at =
        ((l_dim + 63) & -64) + ((l_dim * 4 + 63) & -64) + (((l_dim + 63) / 64 * 8 + 63) & -64) + 2176;
    signed char *restrict const w_filled = (void *)((char *)lane->scratch + w_filled_at);
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const B_val = call->view[1].val;
    int *restrict const C_crd2 = (int *)call->view[2].level[2].crd;
    float *restrict const C_val = call->view[2].val;
    int *restrict const C_crd1 = (int *)call->view[2].level[1].crd;
    int *restrict const C_pos2 = (int *)call->view[2].level[2].pos;
    int *restrict const C_crd0 = (int *)call->view[2].level[0].crd;
    int *restrict const C_pos1 = (int *)call->view[2].level[1].pos;

    sc_i64 C_next0 = cursors[0];
    sc_i64 C_next1 = cursors[1];
    sc_i64 C_next2 = cursors[2];
    /* par i in A */
    for (sc_i64 p = begin; p < end; p++) {
        const sc_i64 i = (sc_i64)A_crd0[p];
        const sc_i64 first = C_next1;
        /* for j in A */
        const sc_i64 A_lo = (sc_i64)A_pos1[p];
        const sc_i64 A_hi = (sc_i64)A_pos1[p + 1];
        for (sc_i64 p_1 = A_lo; p_1 < A_hi; p_1++) {
            const sc_i64 j = (sc_i64)A_crd1[p_1];
            const sc_i64 first_1 = C_next2;
            /* work w[l]: lane bitmap f32 */
            sc_i64 terms = 0;
            sc_i64 first_2 = l_dim;
            sc_i64 last = -1;
            sc_i64 runs = 0;
            /* how much is written, and from where to where */
            const sc_i64 A_lo_1 = (sc_i64)A_pos2[p_1];
            const sc_i64 A_hi_1 = (sc_i64)A_pos2[p_1 + 1];
            for (sc_i64 p_2 = A_lo_1; p_2 < A_hi_1; p_2++) {
                const sc_i64 k = (sc_i64)A_crd2[p_2];
                const sc_i64 B_lo = (sc_i64)B_pos1[k];
                const sc_i64 B_hi = (sc_i64)B_pos1[k + 1];
                if (B_lo < B_hi) {
                    terms = terms + (B_hi - B_lo);
                    runs = runs + 1;
                    first_2 = sc_min_i64(first_2, (sc_i64)B_crd1[B_lo]);
                    last = sc_max_i64(last, (sc_i64)B_crd1[B_hi - 1]);
                }
            }
            if ((terms <= 256) && ((last - first_2 > terms * 200) | (runs == 1))) {
                /* few far apart, or in order: a list */
                sc_i64 w_n = 0;
                /* for k in A */
                const sc_i64 A_lo_2 = (sc_i64)A_pos2[p_1];
                const sc_i64 A_hi_2 = (sc_i64)A_pos2[p_1 + 1];
                for (sc_i64 p_2 = A_lo_2; p_2 < A_hi_2; p_2++) {
                    const sc_i64 k = (sc_i64)A_crd2[p_2];
                    /* for l in B */
                    const float a = A_val[p_2];
                    const sc_i64 B_lo = (sc_i64)B_pos1[k];
                    const sc_i64 B_hi = (sc_i64)B_pos1[k + 1];
                    for (sc_i64 p_3 = B_lo; p_3 < B_hi; p_3 += 16) {
                        /* w[l] += A[i,j,k] * B[k,l] */
                        const sc_i64 some = sc_min_i64(B_hi - p_3, 16);
                        const sc_i64 bits = (sc_shl_i64(1, some)) - 1;
                        sc_store_i32x16(&w_key[w_n], sc_masked_i32x16(&B_crd1[p_3], bits));
                        sc_store_f32x16(&w_terms[w_n],
                                        sc_splat_f32x16(a) * sc_masked_f32x16(&B_val[p_3], bits));
                        w_n = w_n + some;
                    }
                }
                if (runs > 1) {
                    w_n = sc_unite_f32x16(w_key, w_terms, w_n, runs);
                }
                /* for l in w */
                for (sc_i64 x = 0, sc_end = w_n; x < sc_end; x += 16) {
                    /* C[i,j,l] = w[l] */
                    const sc_i64 some = sc_min_i64(w_n - x, 16);
                    const sc_i64 bits = (sc_shl_i64(1, some)) - 1;
                    sc_put_i32x16(&C_crd2[C_next2], bits, sc_load_i32x16(&w_key[x]));
                    sc_put_f32x16(&C_val[C_next2], bits, sc_load_f32x16(&w_terms[x]));
                    C_next2 = C_next2 + some;
                }
            } else if (last - first_2 <= terms * sc_select_i64(terms <= 64, 64, 32)) {
                /* close together */
                const sc_i64 A_lo_2 = (sc_i64)A_pos2[p_1];
                const sc_i64 A_hi_2 = (sc_i64)A_pos2[p_1 + 1];
                for (sc_i64 p_2 = A_lo_2; p_2 < A_hi_2; p_2++) {
                    const sc_i64 k = (sc_i64)A_crd2[p_2];
                    const float a = A_val[p_2];
                    const sc_i64 B_lo = (sc_i64)B_pos1[k];
                    const sc_i64 B_hi = (sc_i64)B_pos1[k + 1];
                    for (sc_i64 p_3 = B_lo; p_3 < B_hi; p_3++) {
                        const sc_i64 l = (sc_i64)B_crd1[p_3];
                        const float v = a * B_val[p_3];
                        w_lane[l] = w_lane[l] + v;
                        w_bytes[l] = 1;
                    }
                }
                for (sc_i64 word = first_2 >> 6, sc_end = (last >> 6) + 1; word < sc_end; word++) {
                    const sc_i64 base = word * 64;
                    sc_i64 rest = sc_marks_i8x64(&w_bytes[base]);
                    while (rest != 0) {
                        const sc_i64 l = base + (sc_i64)__builtin_ctzll((unsigned long long)rest);
                        rest = rest & (rest - 1);
                        C_crd2[C_next2] = (int)l;
                        C_val[C_next2] = w_lane[l];
                        C_next2 = C_next2 + 1;
                        w_bytes[l] = 0;
                        w_lane[l] = 0.0f;
                    }
                }
            } else {
                /* far apart */
                const sc_i64 A_lo_2 = (sc_i64)A_pos2[p_1];
                const sc_i64 A_hi_2 = (sc_i64)A_pos2[p_1 + 1];
                for (sc_i64 p_2 = A_lo_2; p_2 < A_hi_2; p_2++) {
                    const sc_i64 k = (sc_i64)A_crd2[p_2];
                    const float a = A_val[p_2];
                    const sc_i64 B_lo = (sc_i64)B_pos1[k];
                    const sc_i64 B_hi = (sc_i64)B_pos1[k + 1];
                    for (sc_i64 p_3 = B_lo; p_3 < B_hi; p_3++) {
                        const sc_i64 l = (sc_i64)B_crd1[p_3];
                        const float v = a * B_val[p_3];
                        const sc_i64 word = l >> 6;
                        const sc_i64 bit = sc_shl_i64(1, l & 63);
                        const sc_i64 old = w_bits[word];
                        w_bits[word] = old | bit;
                        w_filled[word] = 1;
                        w_lane[l] = w_lane[l] + v;
                    }
                }
                for (sc_i64 s = first_2 >> 12, sc_end = (last >> 12) + 1; s < sc_end; s++) {
                    sc_i64 left = sc_marks_i8x64(&w_filled[s * 64]);
                    while (left != 0) {
                        const sc_i64 word = s * 64 + (sc_i64)__builtin_ctzll((unsigned long long)left);
                        left = left & (left - 1);
                        w_filled[word] = 0;
                        sc_i64 rest = w_bits[word];
                        w_bits[word] = 0;
                        while (rest != 0) {
                            const sc_i64 l = word * 64 + (sc_i64)__builtin_ctzll((unsigned long long)rest);
                            rest = rest & (rest - 1);
                            C_crd2[C_next2] = (int)l;
                            C_val[C_next2] = w_lane[l];
                            C_next2 = C_next2 + 1;
                            w_lane[l] = 0.0f;
                        }
                    }
                }
            }
            if (C_next2 != first_1) {
                C_crd1[C_next1] = (int)j;
                C_pos2[C_next1 + 1] = (int)C_next2;
                C_next1 = C_next1 + 1;
            }
        }
        if (C_next1 != first) {
            C_crd0[C_next0] = (int)i;
            C_pos1[C_next0 + 1] = (int)C_next1;
            C_next0 = C_next0 + 1;
        }
    }
    cursors[0] = C_next0;
    cursors[1] = C_next1;
    cursors[2] = C_next2;
    return 0;
}

#ifndef SC_KEY
#define SC_KEY ""
#endif
#ifndef SC_OBJECT
#define SC_OBJECT sc_kernels
#endif
__attribute__((visibility("default"))) const sc_object SC_OBJECT = {4, sizeof(sc_object), SC_KEY,
    3, {count, most, body}};
