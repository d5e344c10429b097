/* Computes
 *   C[i,k] = A[i,j] * B[j,k] + D[i,k]
 * with
 *   A: csr f32, indices i32
 *   B: csr f32, indices i32
 *   D: csr f32, indices i32
 *   C: csr f32, indices i32
 * by
 *   par i in A {
 *     work w[k]: lane bitmap f32 {
 *       for j in A {
 *         for k in B {
 *           w[k] += A[i,j] * B[j,k]
 *         }
 *       }
 *     } then {
 *       for k merge w, D {
 *         C[i,k] = w[k] + D[i,k]
 *       }
 *     }
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

static int count(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 k_dim = call->dim[1];
    sc_i64 *restrict const w_bits = lane->scratch;
    const sc_i64 w_filled_at = ((k_dim + 63) / 64 * 8 + 63) & -64;
    signed char *restrict const w_filled = (void *)((char *)lane->scratch + w_filled_at);
    const sc_i64 w_crd0_at = w_filled_at + (((k_dim + 63) / 64 + 63) & -64);
    sc_i64 *restrict const w_crd0 = (void *)((char *)lane->scratch + w_crd0_at);
    sc_i64 *restrict const cursors = lane->cursor;
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const int *restrict const B_pos1 = call->view[1].level[1].pos;
    const int *restrict const B_crd1 = call->view[1].level[1].crd;
    const int *restrict const D_pos1 = call->view[2].level[1].pos;
    const int *restrict const D_crd1 = call->view[2].level[1].crd;

    sc_i64 C_next1 = cursors[0];
    /* par i in A */
    for (sc_i64 i = begin; i < end; i++) {
        /* work w[k]: lane bitmap f32 */
        /* for j in A */
        const sc_i64 A_lo = (sc_i64)A_pos1[i];
        const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
        for (sc_i64 p = A_lo; p < A_hi; p++) {
            const sc_i64 j = (sc_i64)A_crd1[p];
            /* for k in B */
            const sc_i64 B_lo = (sc_i64)B_pos1[j];
            const sc_i64 B_hi = (sc_i64)B_pos1[j + 1];
            for (sc_i64 p_1 = B_lo; p_1 < B_hi; p_1++) {
                const sc_i64 k = (sc_i64)B_crd1[p_1];
                /* w[k] += A[i,j] * B[j,k] */
                const sc_i64 word = k >> 6;
                const sc_i64 bit = sc_shl_i64(1, k & 63);
                const sc_i64 old = w_bits[word];
                w_bits[word] = old | bit;
                w_filled[word] = 1;
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
        /* for k merge w, D */
        sc_i64 pw = 0;
        const sc_i64 D_lo = (sc_i64)D_pos1[i];
        const sc_i64 D_hi = (sc_i64)D_pos1[i + 1];
        sc_i64 pD = D_lo;
        if ((pw < w_n) && (pD < D_hi)) {
            /* while both have one more entry: it is loaded ahead */
            sc_i64 k_w = w_crd0[pw];
            sc_i64 k_D = (sc_i64)D_crd1[pD];
            while ((pw + 1 < w_n) && (pD + 1 < D_hi)) {
                const sc_i64 k = sc_min_i64(k_w, k_D);
                const _Bool in_w = k_w == k;
                const sc_i64 then = w_crd0[pw + 1];
                const _Bool in_D = k_D == k;
                const sc_i64 then_1 = (sc_i64)D_crd1[pD + 1];
                if (in_w && in_D) {
                    /* C[i,k] = w[k] + D[i,k] */
                    C_next1 = C_next1 + 1;
                } else if (in_D) {
                    /* C[i,k] = D[i,k] */
                    C_next1 = C_next1 + 1;
                } else {
                    /* C[i,k] = w[k] */
                    C_next1 = C_next1 + 1;
                }
                pw = pw + (sc_i64)in_w;
                pD = pD + (sc_i64)in_D;
                k_w = sc_select_i64(in_w, then, k_w);
                k_D = sc_select_i64(in_D, then_1, k_D);
            }
        }
        while ((pw < w_n) && (pD < D_hi)) {
            const sc_i64 k_w = w_crd0[pw];
            const sc_i64 k_D = (sc_i64)D_crd1[pD];
            const sc_i64 k = sc_min_i64(k_w, k_D);
            if ((k_w == k) && (k_D == k)) {
                /* C[i,k] = w[k] + D[i,k] */
                C_next1 = C_next1 + 1;
            } else if (k_D == k) {
                /* C[i,k] = D[i,k] */
                C_next1 = C_next1 + 1;
            } else {
                /* C[i,k] = w[k] */
                C_next1 = C_next1 + 1;
            }
            pw = pw + (sc_i64)(k_w == k);
            pD = pD + (sc_i64)(k_D == k);
        }
        /* the rest of D */
        for (sc_i64 p = pD; p < D_hi; p++) {
            /* C[i,k] = D[i,k] */
            C_next1 = C_next1 + 1;
        }
        /* the rest of w */
        for (sc_i64 p = pw, sc_end = w_n; p < sc_end; p++) {
            /* C[i,k] = w[k] */
            C_next1 = C_next1 + 1;
        }
    }
    cursors[0] = C_next1;
    return 0;
}

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 k_dim = call->dim[1];
    sc_i64 *restrict const cursors = lane->cursor;
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const int *restrict const B_pos1 = call->view[1].level[1].pos;
    const int *restrict const B_crd1 = call->view[1].level[1].crd;
    const int *restrict const D_pos1 = call->view[2].level[1].pos;
    const int *restrict const D_crd1 = call->view[2].level[1].crd;
    float *restrict const w_lane = lane->scratch;
    const sc_i64 w_bits_1_at = (k_dim * 4 + 63) & -64;
    sc_i64 *restrict const w_bits_1 = (void *)((char *)lane->scratch + w_bits_1_at);
    const sc_i64 w_filled_1_at = w_bits_1_at + (((k_dim + 63) / 64 * 8 + 63) & -64);
    signed char *restrict const w_filled_1 = (void *)((char *)lane->scratch + w_filled_1_at);
    const sc_i64 w_crd0_1_at = w_filled_1_at + (((k_dim + 63) / 64 + 63) & -64);
    sc_i64 *restrict const w_crd0_1 = (void *)((char *)lane->scratch + w_crd0_1_at);
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const B_val = call->view[1].val;
    float *restrict const C_val = call->view[3].val;
    const float *restrict const D_val = call->view[2].val;
    int *restrict const C_crd1 = (int *)call->view[3].level[1].crd;
    int *restrict const C_pos1 = (int *)call->view[3].level[1].pos;

    sc_i64 C_next1 = cursors[0];
    /* par i in A */
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
                const sc_i64 old = w_bits_1[word];
                w_bits_1[word] = old | bit;
                w_filled_1[word] = 1;
                w_lane[k] = w_lane[k] + v;
            }
        }
        sc_i64 w_n = 0;
        for (sc_i64 s = 0; s < (k_dim + 4095) / 4096; s++) {
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
                    w_crd0_1[w_n] = at;
                    w_n = w_n + 1;
                }
            }
        }
        /* for k merge w, D */
        sc_i64 pw = 0;
        const sc_i64 D_lo = (sc_i64)D_pos1[i];
        const sc_i64 D_hi = (sc_i64)D_pos1[i + 1];
        sc_i64 pD = D_lo;
        if ((pw < w_n) && (pD < D_hi)) {
            /* while both have one more entry: it is loaded ahead */
            sc_i64 k_w = w_crd0_1[pw];
            sc_i64 k_D = (sc_i64)D_crd1[pD];
            while ((pw + 1 < w_n) && (pD + 1 < D_hi)) {
                const sc_i64 k = sc_min_i64(k_w, k_D);
                const _Bool in_w = k_w == k;
                const sc_i64 then = w_crd0_1[pw + 1];
                const _Bool in_D = k_D == k;
                const sc_i64 then_1 = (sc_i64)D_crd1[pD + 1];
                if (in_w && in_D) {
                    /* C[i,k] = w[k] + D[i,k] */
                    C_crd1[C_next1] = (int)k;
                    C_val[C_next1] = w_lane[k] + D_val[pD];
                    C_next1 = C_next1 + 1;
                } else if (in_D) {
                    /* C[i,k] = D[i,k] */
                    C_crd1[C_next1] = (int)k;
                    C_val[C_next1] = D_val[pD];
                    C_next1 = C_next1 + 1;
                } else {
                    /* C[i,k] = w[k] */
                    C_crd1[C_next1] = (int)k;
                    C_val[C_next1] = w_lane[k];
                    C_next1 = C_next1 + 1;
                }
                pw = pw + (sc_i64)in_w;
                pD = pD + (sc_i64)in_D;
                k_w = sc_select_i64(in_w, then, k_w);
                k_D = sc_select_i64(in_D, then_1, k_D);
            }
        }
        while ((pw < w_n) && (pD < D_hi)) {
            const sc_i64 k_w = w_crd0_1[pw];
            const sc_i64 k_D = (sc_i64)D_crd1[pD];
            const sc_i64 k = sc_min_i64(k_w, k_D);
            if ((k_w == k) && (k_D == k)) {
                /* C[i,k] = w[k] + D[i,k] */
                C_crd1[C_next1] = (int)k;
                C_val[C_next1] = w_lane[k] + D_val[pD];
                C_next1 = C_next1 + 1;
            } else if (k_D == k) {
                /* C[i,k] = D[i,k] */
                C_crd1[C_next1] = (int)k;
                C_val[C_next1] = D_val[pD];
                C_next1 = C_next1 + 1;
            } else {
                /* C[i,k] = w[k] */
                C_crd1[C_next1] = (int)k;
                C_val[C_next1] = w_lane[k];
                C_next1 = C_next1 + 1;
            }
            pw = pw + (sc_i64)(k_w == k);
            pD = pD + (sc_i64)(k_D == k);
        }
        /* the rest of D */
        for (sc_i64 p = pD; p < D_hi; p++) {
            const sc_i64 k = (sc_i64)D_crd1[p];
            /* C[i,k] = D[i,k] */
            C_crd1[C_next1] = (int)k;
            C_val[C_next1] = D_val[p];
            C_next1 = C_next1 + 1;
        }
        /* the rest of w */
        for (sc_i64 p = pw, sc_end = w_n; p < sc_end; p++) {
            const sc_i64 k = w_crd0_1[p];
            /* C[i,k] = w[k] */
            C_crd1[C_next1] = (int)k;
            C_val[C_next1] = w_lane[k];
            C_next1 = C_next1 + 1;
        }
        for (sc_i64 x = 0, sc_end = w_n; x < sc_end; x++) {
            w_lane[w_crd0_1[x]] = 0.0f;
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
