/* Computes
 *   C[i,k] = M[i,k] * A[i,j] * B[j,k]
 * with
 *   M: csr f32, indices i32
 *   A: csr f32, indices i32
 *   B: csr f32, indices i32
 *   C: csr f32, indices i32
 * by
 *   par i in M {
 *     work w[k]: lane bitmap f32 {
 *       for j in A {
 *         for k in B {
 *           w[k] += A[i,j] * B[j,k]
 *         }
 *       }
 *     } then {
 *       for k in M {
 *         for k in w {
 *           C[i,k] = M[i,k] * w[k]
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
    const sc_i64 k_dim = call->dim[1];
    float *restrict const w_lane = lane->scratch;
    const sc_i64 w_bits_at = (k_dim * 4 + 63) & -64;
    sc_i64 *restrict const w_bits = (void *)((char *)lane->scratch + w_bits_at);
    const sc_i64 w_filled_at = w_bits_at + (((k_dim + 63) / 64 * 8 + 63) & -64);
    signed char *restrict const w_filled = (void *)((char *)lane->scratch + w_filled_at);
    const sc_i64 w_crd0_at = w_filled_at + (((k_dim + 63) / 64 + 63) & -64);
    sc_i64 *restrict const w_crd0 = (void *)((char *)lane->scratch + w_crd0_at);
    const int *restrict const A_pos1 = call->view[1].level[1].pos;
    const int *restrict const A_crd1 = call->view[1].level[1].crd;
    const float *restrict const A_val = call->view[1].val;
    const int *restrict const B_pos1 = call->view[2].level[1].pos;
    const int *restrict const B_crd1 = call->view[2].level[1].crd;
    const float *restrict const B_val = call->view[2].val;
    const int *restrict const M_pos1 = call->view[0].level[1].pos;
    const int *restrict const M_crd1 = call->view[0].level[1].crd;
    const float *restrict const M_val = call->view[0].val;
    float *restrict const C_val = call->view[3].val;

    /* par i in M */
    for (sc_i64 i = begin; i < end; i++) {
        /* work w[k]: lane bitmap f32 */
        /* for j in A */
        const sc_i64 A_lo = (sc_i64)A_pos1[i];
        const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
        for (sc_i64 p = A_lo; p < A_hi; p++) {
            const sc_i64 j = (sc_i64)A_crd1[p];
            /* for k in B */
            const float a = A_val[p];
            const sc_i64 B_lo = (sc_i64)B_pos1[j];
            const sc_i64 B_hi = (sc_i64)B_pos1[j + 1];
            for (sc_i64 p_1 = B_lo; p_1 < B_hi; p_1++) {
                const sc_i64 k = (sc_i64)B_crd1[p_1];
                /* w[k] += A[i,j] * B[j,k] */
                const float v = a * B_val[p_1];
                const sc_i64 word = k >> 6;
                const sc_i64 bit = sc_shl_i64(1, k & 63);
                const sc_i64 old = w_bits[word];
                w_bits[word] = old | bit;
                w_filled[word] = 1;
                w_lane[k] = w_lane[k] + v;
            }
        }
        sc_i64 w_n = 0;
        for (sc_i64 s = 0; s < (k_dim + 4095) / 4096; s++) {
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
                    w_crd0[w_n] = at;
                    w_n = w_n + 1;
                }
            }
        }
        /* for k in M */
        const sc_i64 M_lo = (sc_i64)M_pos1[i];
        const sc_i64 M_hi = (sc_i64)M_pos1[i + 1];
        for (sc_i64 p = M_lo; p < M_hi; p++) {
            const sc_i64 k = (sc_i64)M_crd1[p];
            /* for k in w */
            const float m = M_val[p];
            const sc_i64 w_at = sc_search_i64(w_crd0, 0, w_n, k);
            if ((w_at < w_n) && (w_crd0[w_at] == k)) {
                /* C[i,k] = M[i,k] * w[k] */
                C_val[p] = m * w_lane[k];
            }
        }
        for (sc_i64 x = 0, sc_end = w_n; x < sc_end; x++) {
            w_lane[w_crd0[x]] = 0.0f;
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
