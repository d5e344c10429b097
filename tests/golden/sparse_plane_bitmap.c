/* Computes
 *   C[i,j,l] = A[i,j,k] * B[k,l]
 * with
 *   A: csf f32, indices i32
 *   B: csr f32, indices i32
 *   C: csf f32, indices i32
 * by
 *   par i in A {
 *     work w[j,l]: lane bitmap f32 {
 *       for j in A {
 *         for k in A {
 *           for l in B {
 *             w[j,l] += A[i,j,k] * B[k,l]
 *           }
 *         }
 *       }
 *     } then {
 *       for j in w {
 *         for l in w {
 *           C[i,j,l] = w[j,l]
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

static int count(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 j_dim = call->dim[1];
    const sc_i64 l_dim = call->dim[2];
    sc_i64 *restrict const w_bits = lane->scratch;
    const sc_i64 w_filled_at = (j_dim * 8 * ((l_dim + 63) / 64) + 63) & -64;
    signed char *restrict const w_filled = (void *)((char *)lane->scratch + w_filled_at);
    const sc_i64 w_crd0_at = w_filled_at + ((j_dim * ((l_dim + 63) / 64) + 63) & -64);
    sc_i64 *restrict const w_crd0 = (void *)((char *)lane->scratch + w_crd0_at);
    const sc_i64 w_crd1_at = w_crd0_at + ((j_dim * 8 * l_dim + 63) & -64);
    sc_i64 *restrict const w_crd1 = (void *)((char *)lane->scratch + w_crd1_at);
    sc_i64 *restrict const cursors = lane->cursor;
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const int *restrict const A_pos2 = call->view[0].level[2].pos;
    const int *restrict const A_crd2 = call->view[0].level[2].crd;
    const int *restrict const B_pos1 = call->view[1].level[1].pos;
    const int *restrict const B_crd1 = call->view[1].level[1].crd;

    sc_i64 C_next0 = cursors[0];
    sc_i64 C_next1 = cursors[1];
    sc_i64 C_next2 = cursors[2];
    /* par i in A */
    for (sc_i64 p = begin; p < end; p++) {
        const sc_i64 first = C_next1;
        /* work w[j,l]: lane bitmap f32 */
        /* for j in A */
        const sc_i64 A_lo = (sc_i64)A_pos1[p];
        const sc_i64 A_hi = (sc_i64)A_pos1[p + 1];
        for (sc_i64 p_1 = A_lo; p_1 < A_hi; p_1++) {
            const sc_i64 j = (sc_i64)A_crd1[p_1];
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
                    /* w[j,l] += A[i,j,k] * B[k,l] */
                    const sc_i64 at = j * l_dim + l;
                    const sc_i64 word = at >> 6;
                    const sc_i64 bit = sc_shl_i64(1, at & 63);
                    const sc_i64 old = w_bits[word];
                    w_bits[word] = old | bit;
                    w_filled[word] = 1;
                }
            }
        }
        sc_i64 w_n = 0;
        for (sc_i64 s = 0; s < (j_dim * l_dim + 4095) / 4096; s++) {
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
        /* for j in w */
        sc_i64 p_1 = 0;
        while (p_1 < w_n) {
            const sc_i64 first_1 = p_1;
            const sc_i64 j = w_crd0[first_1];
            p_1 = first_1 + 1;
            while ((p_1 < w_n) && (w_crd0[p_1] == j)) {
                p_1 = p_1 + 1;
            }
            const sc_i64 last = p_1;
            const sc_i64 first_2 = C_next2;
            /* for l in w */
            for (sc_i64 p_2 = first_1; p_2 < last; p_2++) {
                /* C[i,j,l] = w[j,l] */
                C_next2 = C_next2 + 1;
            }
            if (C_next2 != first_2) {
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
    const sc_i64 j_dim = call->dim[1];
    const sc_i64 l_dim = call->dim[2];
    sc_i64 *restrict const cursors = lane->cursor;
    const int *restrict const A_crd0 = call->view[0].level[0].crd;
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const int *restrict const A_pos2 = call->view[0].level[2].pos;
    const int *restrict const A_crd2 = call->view[0].level[2].crd;
    const int *restrict const B_pos1 = call->view[1].level[1].pos;
    const int *restrict const B_crd1 = call->view[1].level[1].crd;
    float *restrict const w_lane = lane->scratch;
    const sc_i64 w_bits_1_at = (j_dim * 4 * l_dim + 63) & -64;
    sc_i64 *restrict const w_bits_1 = (void *)((char *)lane->scratch + w_bits_1_at);
    const sc_i64 w_filled_1_at = w_bits_1_at + ((j_dim * 8 * ((l_dim + 63) / 64) + 63) & -64);
    signed char *restrict const w_filled_1 = (void *)((char *)lane->scratch + w_filled_1_at);
    const sc_i64 w_crd0_1_at = w_filled_1_at + ((j_dim * ((l_dim + 63) / 64) + 63) & -64);
    sc_i64 *restrict const w_crd0_1 = (void *)((char *)lane->scratch + w_crd0_1_at);
    const sc_i64 w_crd1_1_at = w_crd0_1_at + ((j_dim * 8 * l_dim + 63) & -64);
    sc_i64 *restrict const w_crd1_1 = (void *)((char *)lane->scratch + w_crd1_1_at);
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const B_val = call->view[1].val;
    float *restrict const C_val = call->view[2].val;
    int *restrict const C_crd2 = (int *)call->view[2].level[2].crd;
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
        /* work w[j,l]: lane bitmap f32 */
        /* for j in A */
        const sc_i64 A_lo = (sc_i64)A_pos1[p];
        const sc_i64 A_hi = (sc_i64)A_pos1[p + 1];
        for (sc_i64 p_1 = A_lo; p_1 < A_hi; p_1++) {
            const sc_i64 j = (sc_i64)A_crd1[p_1];
            /* for k in A */
            const sc_i64 A_lo_1 = (sc_i64)A_pos2[p_1];
            const sc_i64 A_hi_1 = (sc_i64)A_pos2[p_1 + 1];
            for (sc_i64 p_2 = A_lo_1; p_2 < A_hi_1; p_2++) {
                const sc_i64 k = (sc_i64)A_crd2[p_2];
                /* for l in B */
                const float a = A_val[p_2];
                const sc_i64 B_lo = (sc_i64)B_pos1[k];
                const sc_i64 B_hi = (sc_i64)B_pos1[k + 1];
                for (sc_i64 p_3 = B_lo; p_3 < B_hi; p_3++) {
                    const sc_i64 l = (sc_i64)B_crd1[p_3];
                    /* w[j,l] += A[i,j,k] * B[k,l] */
                    const sc_i64 at = j * l_dim + l;
                    const float v = a * B_val[p_3];
                    const sc_i64 word = at >> 6;
                    const sc_i64 bit = sc_shl_i64(1, at & 63);
                    const sc_i64 old = w_bits_1[word];
                    w_bits_1[word] = old | bit;
                    w_filled_1[word] = 1;
                    w_lane[at] = w_lane[at] + v;
                }
            }
        }
        sc_i64 w_n = 0;
        for (sc_i64 s = 0; s < (j_dim * l_dim + 4095) / 4096; s++) {
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
        /* for j in w */
        sc_i64 p_1 = 0;
        while (p_1 < w_n) {
            const sc_i64 first_1 = p_1;
            const sc_i64 j = w_crd0_1[first_1];
            p_1 = first_1 + 1;
            while ((p_1 < w_n) && (w_crd0_1[p_1] == j)) {
                p_1 = p_1 + 1;
            }
            const sc_i64 last = p_1;
            const sc_i64 first_2 = C_next2;
            /* for l in w */
            for (sc_i64 p_2 = first_1; p_2 < last; p_2++) {
                const sc_i64 l = w_crd1_1[p_2];
                /* C[i,j,l] = w[j,l] */
                C_crd2[C_next2] = (int)l;
                C_val[C_next2] = w_lane[j * l_dim + l];
                C_next2 = C_next2 + 1;
            }
            if (C_next2 != first_2) {
                C_crd1[C_next1] = (int)j;
                C_pos2[C_next1 + 1] = (int)C_next2;
                C_next1 = C_next1 + 1;
            }
        }
        for (sc_i64 x = 0, sc_end = w_n; x < sc_end; x++) {
            w_lane[w_crd0_1[x] * l_dim + w_crd1_1[x]] = 0.0f;
        }
        if (C_next1 != first) {
            C_crd0[C_next0] = (int)i;
            C_pos1[C_next0 + 1] = (int)C_next1;
            C_next0 = C_next0 + 1;
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
    2, {count, body}};
