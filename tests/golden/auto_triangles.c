/* Computes
 *   s = A[i,j] * A[j,k] * A[i,k]
 * with
 *   A: csr f32, indices i32
 *   s: dense f32
 *   A_1: csr f32, indices i32
 *   A_2: csr f32, indices i32
 * by
 *   work w: private f32 {
 *     work wa[j,k]: lane bitmap f32 {
 *       for i {
 *         for j in A {
 *           for k in A_2 {
 *             wa[j,k] += A[i,j] * A_2[i,k]
 *           }
 *         }
 *       }
 *     } then {
 *       work c: reg f32 {
 *         for j in wa {
 *           for k merge A_1, wa {
 *             c += A_1[j,k] * wa[j,k]
 *           }
 *         }
 *       } then {
 *         w += c
 *       }
 *     }
 *   } then {
 *     s = w
 *   }
 */
typedef signed char i8x64 __attribute__((vector_size(64)));
typedef signed char i8x64u __attribute__((vector_size(64), aligned(1), may_alias));

#define SC_INLINE static inline __attribute__((always_inline))
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
static sc_i64 sc_search_i64(const sc_i64 *crd, sc_i64 lo, sc_i64 hi, sc_i64 x)
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

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 j_dim = call->dim[1];
    const sc_i64 k_dim = call->dim[2];
    const sc_i64 i_dim = call->dim[0];
    float *restrict const wa_lane = lane->scratch;
    const sc_i64 wa_bits_at = (j_dim * 4 * k_dim + 63) & -64;
    sc_i64 *restrict const wa_bits = (void *)((char *)lane->scratch + wa_bits_at);
    const sc_i64 wa_filled_at = wa_bits_at + ((j_dim * 8 * ((k_dim + 63) / 64) + 63) & -64);
    signed char *restrict const wa_filled = (void *)((char *)lane->scratch + wa_filled_at);
    const sc_i64 wa_crd0_at = wa_filled_at + ((j_dim * ((k_dim + 63) / 64) + 63) & -64);
    sc_i64 *restrict const wa_crd0 = (void *)((char *)lane->scratch + wa_crd0_at);
    const sc_i64 wa_crd1_at = wa_crd0_at + ((j_dim * 8 * k_dim + 63) & -64);
    sc_i64 *restrict const wa_crd1 = (void *)((char *)lane->scratch + wa_crd1_at);
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const float *restrict const A_val = call->view[0].val;
    float *restrict const w_copy = lane->partial;
    (void)begin;
    (void)end;

    /* work w: private f32 */
    /* work wa[j,k]: lane bitmap f32 */
    /* for i */
    for (sc_i64 i = 0; i < i_dim; i++) {
        /* for j in A */
        const sc_i64 A_lo = (sc_i64)A_pos1[i];
        const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
        for (sc_i64 p = A_lo; p < A_hi; p++) {
            const sc_i64 j = (sc_i64)A_crd1[p];
            /* for k in A_2 */
            const float a = A_val[p];
            const sc_i64 A_2_lo = (sc_i64)A_pos1[i];
            const sc_i64 A_2_hi = (sc_i64)A_pos1[i + 1];
            for (sc_i64 p_1 = A_2_lo; p_1 < A_2_hi; p_1++) {
                const sc_i64 k = (sc_i64)A_crd1[p_1];
                /* wa[j,k] += A[i,j] * A_2[i,k] */
                const sc_i64 at = j * k_dim + k;
                const float v = a * A_val[p_1];
                const sc_i64 word = at >> 6;
                const sc_i64 bit = sc_shl_i64(1, at & 63);
                const sc_i64 old = wa_bits[word];
                wa_bits[word] = old | bit;
                wa_filled[word] = 1;
                wa_lane[at] = wa_lane[at] + v;
            }
        }
    }
    sc_i64 wa_n = 0;
    for (sc_i64 s = 0; s < (j_dim * k_dim + 4095) / 4096; s++) {
        sc_i64 left = sc_marks_i8x64(&wa_filled[s * 64]);
        while (left != 0) {
            const sc_i64 word = s * 64 + (sc_i64)__builtin_ctzll((unsigned long long)left);
            left = left & (left - 1);
            wa_filled[word] = 0;
            sc_i64 rest = wa_bits[word];
            wa_bits[word] = 0;
            while (rest != 0) {
                const sc_i64 at = word * 64 + (sc_i64)__builtin_ctzll((unsigned long long)rest);
                rest = rest & (rest - 1);
                const sc_i64 above = at / k_dim;
                wa_crd1[wa_n] = at - above * k_dim;
                wa_crd0[wa_n] = above;
                wa_n = wa_n + 1;
            }
        }
    }
    /* work c: reg f32 */
    float c = 0.0f;
    /* for j in wa */
    sc_i64 p = 0;
    while (p < wa_n) {
        const sc_i64 first = p;
        const sc_i64 j = wa_crd0[first];
        p = first + 1;
        while ((p < wa_n) && (wa_crd0[p] == j)) {
            p = p + 1;
        }
        const sc_i64 last = p;
        /* for k merge A_1, wa */
        const sc_i64 A_1_lo = (sc_i64)A_pos1[j];
        const sc_i64 A_1_hi = (sc_i64)A_pos1[j + 1];
        sc_i64 pA_1 = A_1_lo;
        sc_i64 pwa = first;
        const sc_i64 A_1_size = A_1_hi - A_1_lo;
        const sc_i64 wa_size = last - first;
        if ((A_1_size > wa_size * 12) | (wa_size > A_1_size * 12)) {
            /* one is much longer: both jump */
            while ((pA_1 < A_1_hi) && (pwa < last)) {
                const sc_i64 k_A_1 = (sc_i64)A_crd1[pA_1];
                const sc_i64 k_wa = wa_crd1[pwa];
                const sc_i64 k = sc_max_i64(k_A_1, k_wa);
                if ((k_A_1 == k) && (k_wa == k)) {
                    /* c += A_1[j,k] * wa[j,k] */
                    c = c + A_val[pA_1] * wa_lane[j * k_dim + k];
                }
                const sc_i64 beyond = k + (sc_i64)(k_A_1 == k_wa);
                pA_1 = sc_search_i32(A_crd1, pA_1, A_1_hi, beyond);
                pwa = sc_search_i64(wa_crd1, pwa, last, beyond);
            }
        } else {
            if ((pA_1 < A_1_hi) && (pwa < last)) {
                /* while both have one more entry: it is loaded ahead */
                sc_i64 k_A_1 = (sc_i64)A_crd1[pA_1];
                sc_i64 k_wa = wa_crd1[pwa];
                while ((pA_1 + 1 < A_1_hi) && (pwa + 1 < last)) {
                    const sc_i64 k = sc_min_i64(k_A_1, k_wa);
                    const _Bool in_A_1 = k_A_1 == k;
                    const sc_i64 then = (sc_i64)A_crd1[pA_1 + 1];
                    const _Bool in_wa = k_wa == k;
                    const sc_i64 then_1 = wa_crd1[pwa + 1];
                    if (in_A_1 && in_wa) {
                        /* c += A_1[j,k] * wa[j,k] */
                        c = c + A_val[pA_1] * wa_lane[j * k_dim + k];
                    }
                    pA_1 = pA_1 + (sc_i64)in_A_1;
                    pwa = pwa + (sc_i64)in_wa;
                    k_A_1 = sc_select_i64(in_A_1, then, k_A_1);
                    k_wa = sc_select_i64(in_wa, then_1, k_wa);
                }
            }
            while ((pA_1 < A_1_hi) && (pwa < last)) {
                const sc_i64 k_A_1 = (sc_i64)A_crd1[pA_1];
                const sc_i64 k_wa = wa_crd1[pwa];
                const sc_i64 k = sc_min_i64(k_A_1, k_wa);
                if ((k_A_1 == k) && (k_wa == k)) {
                    /* c += A_1[j,k] * wa[j,k] */
                    c = c + A_val[pA_1] * wa_lane[j * k_dim + k];
                }
                pA_1 = pA_1 + (sc_i64)(k_A_1 == k);
                pwa = pwa + (sc_i64)(k_wa == k);
            }
        }
    }
    /* w += c */
    w_copy[0] = w_copy[0] + c;
    for (sc_i64 x = 0, sc_end = wa_n; x < sc_end; x++) {
        wa_lane[wa_crd0[x] * k_dim + wa_crd1[x]] = 0.0f;
    }
    return 0;
}

static int body_1(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 copies = call->copies[0];
    float *restrict const w_copy_1 = call->shared[0];
    float *restrict const s_val = call->view[1].val;
    (void)lane;
    (void)begin;
    (void)end;

    /* s = w */
    float w = 0.0f;
    for (sc_i64 copy = 0; copy < copies; copy++) {
        w = w + w_copy_1[copy];
    }
    s_val[0] = w;
    return 0;
}

#ifndef SC_KEY
#define SC_KEY ""
#endif
#ifndef SC_OBJECT
#define SC_OBJECT sc_kernels
#endif
__attribute__((visibility("default"))) const sc_object SC_OBJECT = {4, sizeof(sc_object), SC_KEY,
    2, {body, body_1}};
