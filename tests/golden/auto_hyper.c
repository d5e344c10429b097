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
#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE sc_i64 sc_min_i64(sc_i64 a, sc_i64 b)
{
    return a < b ? a : b;
}
SC_INLINE sc_i64 sc_shl_i64(sc_i64 x, sc_i64 n) { return (sc_i64)((__UINT64_TYPE__)x << n); }

static int count(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 k_dim = call->dim[1];
    const sc_i64 l_dim = call->dim[2];
    sc_i64 *restrict const w_bits = lane->scratch;
    sc_i64 *restrict const w_words = (void *)((char *)lane->scratch + ((k_dim * 8 * ((l_dim + 63) / 64) + 63) & -64));
    sc_i64 *restrict const w_crd0 = (void *)((char *)lane->scratch + (((k_dim * 8 * ((l_dim + 63) / 64) + 63) & -64) + ((k_dim * 8 * ((l_dim + 4095) / 4096) + 63) & -64)));
    sc_i64 *restrict const w_crd1 = (void *)((char *)lane->scratch + (((k_dim * 8 * ((l_dim + 63) / 64) + 63) & -64) + ((k_dim * 8 * ((l_dim + 4095) / 4096) + 63) & -64) + ((k_dim * 8 * l_dim + 63) & -64)));
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
    for (sc_i64 i = begin; i < end; i++) {
        const sc_i64 A_lo = (sc_i64)A_pos1[i];
        const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
        sc_i64 pA = A_lo;
        const sc_i64 B_lo = (sc_i64)B_pos0[0];
        const sc_i64 B_hi = (sc_i64)B_pos0[1];
        sc_i64 pB = B_lo;
        while ((pA < A_hi) && (pB < B_hi)) {
            const sc_i64 j_A = (sc_i64)A_crd1[pA];
            const sc_i64 j_B = (sc_i64)B_crd0[pB];
            const sc_i64 j = sc_min_i64(j_A, j_B);
            if ((j_A == j) && (j_B == j)) {
                const sc_i64 B_lo_1 = (sc_i64)B_pos1[pB];
                const sc_i64 B_hi_1 = (sc_i64)B_pos1[pB + 1];
                for (sc_i64 p = B_lo_1; p < B_hi_1; p++) {
                    const sc_i64 k = (sc_i64)B_crd1[p];
                    const sc_i64 B_lo_2 = (sc_i64)B_pos2[p];
                    const sc_i64 B_hi_2 = (sc_i64)B_pos2[p + 1];
                    for (sc_i64 p_1 = B_lo_2; p_1 < B_hi_2; p_1++) {
                        const sc_i64 l = (sc_i64)B_crd2[p_1];
                        const sc_i64 at = k * l_dim + l;
                        const sc_i64 word = at >> 6;
                        const sc_i64 bit = sc_shl_i64(1, at & 63);
                        const sc_i64 old = w_bits[word];
                        w_bits[word] = old | bit;
                        w_words[word >> 6] = w_words[word >> 6] | (sc_shl_i64(1, word & 63));
                    }
                }
            }
            pA = pA + (sc_i64)(j_A == j);
            pB = pB + (sc_i64)(j_B == j);
        }
        sc_i64 w_n = 0;
        for (sc_i64 s = 0; s < (k_dim * l_dim + 4095) / 4096; s++) {
            sc_i64 left = w_words[s];
            w_words[s] = 0;
            while (left != 0) {
                const sc_i64 word_1 = s * 64 + (sc_i64)__builtin_ctzll((unsigned long long)left);
                left = left & (left - 1);
                sc_i64 rest = w_bits[word_1];
                w_bits[word_1] = 0;
                while (rest != 0) {
                    const sc_i64 at_1 = word_1 * 64 + (sc_i64)__builtin_ctzll((unsigned long long)rest);
                    rest = rest & (rest - 1);
                    const sc_i64 above = at_1 / l_dim;
                    w_crd1[w_n] = at_1 - above * l_dim;
                    w_crd0[w_n] = above;
                    w_n = w_n + 1;
                }
            }
        }
        sc_i64 p_2 = 0;
        while (p_2 < w_n) {
            const sc_i64 first = p_2;
            const sc_i64 k_1 = w_crd0[first];
            p_2 = first + 1;
            while ((p_2 < w_n) && (w_crd0[p_2] == k_1)) {
                p_2 = p_2 + 1;
            }
            const sc_i64 last = p_2;
            const sc_i64 first_1 = C_next2;
            for (sc_i64 p_3 = first; p_3 < last; p_3++) {
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
    sc_i64 *restrict const w_bits_1 = (void *)((char *)lane->scratch + ((k_dim * 4 * l_dim + 63) & -64));
    sc_i64 *restrict const w_words_1 = (void *)((char *)lane->scratch + (((k_dim * 4 * l_dim + 63) & -64) + ((k_dim * 8 * ((l_dim + 63) / 64) + 63) & -64)));
    sc_i64 *restrict const w_crd0_1 = (void *)((char *)lane->scratch + (((k_dim * 4 * l_dim + 63) & -64) + ((k_dim * 8 * ((l_dim + 63) / 64) + 63) & -64) + ((k_dim * 8 * ((l_dim + 4095) / 4096) + 63) & -64)));
    sc_i64 *restrict const w_crd1_1 = (void *)((char *)lane->scratch + (((k_dim * 4 * l_dim + 63) & -64) + ((k_dim * 8 * ((l_dim + 63) / 64) + 63) & -64) + ((k_dim * 8 * ((l_dim + 4095) / 4096) + 63) & -64) + ((k_dim * 8 * l_dim + 63) & -64)));
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const B_val = call->view[1].val;
    float *restrict const C_val = call->view[2].val;
    int *restrict const C_crd2 = (int *)call->view[2].level[2].crd;
    int *restrict const C_crd1 = (int *)call->view[2].level[1].crd;
    int *restrict const C_pos2 = (int *)call->view[2].level[2].pos;
    int *restrict const C_pos1 = (int *)call->view[2].level[1].pos;

    sc_i64 C_next1 = cursors[0];
    sc_i64 C_next2 = cursors[1];
    for (sc_i64 i = begin; i < end; i++) {
        const sc_i64 A_lo = (sc_i64)A_pos1[i];
        const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
        sc_i64 pA = A_lo;
        const sc_i64 B_lo = (sc_i64)B_pos0[0];
        const sc_i64 B_hi = (sc_i64)B_pos0[1];
        sc_i64 pB = B_lo;
        while ((pA < A_hi) && (pB < B_hi)) {
            const sc_i64 j_A = (sc_i64)A_crd1[pA];
            const sc_i64 j_B = (sc_i64)B_crd0[pB];
            const sc_i64 j = sc_min_i64(j_A, j_B);
            if ((j_A == j) && (j_B == j)) {
                const sc_i64 B_lo_1 = (sc_i64)B_pos1[pB];
                const sc_i64 B_hi_1 = (sc_i64)B_pos1[pB + 1];
                for (sc_i64 p = B_lo_1; p < B_hi_1; p++) {
                    const sc_i64 k = (sc_i64)B_crd1[p];
                    const sc_i64 B_lo_2 = (sc_i64)B_pos2[p];
                    const sc_i64 B_hi_2 = (sc_i64)B_pos2[p + 1];
                    for (sc_i64 p_1 = B_lo_2; p_1 < B_hi_2; p_1++) {
                        const sc_i64 l = (sc_i64)B_crd2[p_1];
                        const sc_i64 at = k * l_dim + l;
                        const float v = A_val[pA] * B_val[p_1];
                        const sc_i64 word = at >> 6;
                        const sc_i64 bit = sc_shl_i64(1, at & 63);
                        const sc_i64 old = w_bits_1[word];
                        w_bits_1[word] = old | bit;
                        w_words_1[word >> 6] = w_words_1[word >> 6] | (sc_shl_i64(1, word & 63));
                        w_lane[at] = w_lane[at] + v;
                    }
                }
            }
            pA = pA + (sc_i64)(j_A == j);
            pB = pB + (sc_i64)(j_B == j);
        }
        sc_i64 w_n = 0;
        for (sc_i64 s = 0; s < (k_dim * l_dim + 4095) / 4096; s++) {
            sc_i64 left = w_words_1[s];
            w_words_1[s] = 0;
            while (left != 0) {
                const sc_i64 word_1 = s * 64 + (sc_i64)__builtin_ctzll((unsigned long long)left);
                left = left & (left - 1);
                sc_i64 rest = w_bits_1[word_1];
                w_bits_1[word_1] = 0;
                while (rest != 0) {
                    const sc_i64 at_1 = word_1 * 64 + (sc_i64)__builtin_ctzll((unsigned long long)rest);
                    rest = rest & (rest - 1);
                    const sc_i64 above = at_1 / l_dim;
                    w_crd1_1[w_n] = at_1 - above * l_dim;
                    w_crd0_1[w_n] = above;
                    w_n = w_n + 1;
                }
            }
        }
        sc_i64 p_2 = 0;
        while (p_2 < w_n) {
            const sc_i64 first = p_2;
            const sc_i64 k_1 = w_crd0_1[first];
            p_2 = first + 1;
            while ((p_2 < w_n) && (w_crd0_1[p_2] == k_1)) {
                p_2 = p_2 + 1;
            }
            const sc_i64 last = p_2;
            const sc_i64 first_1 = C_next2;
            for (sc_i64 p_3 = first; p_3 < last; p_3++) {
                const sc_i64 l_1 = w_crd1_1[p_3];
                C_crd2[C_next2] = (int)l_1;
                C_val[C_next2] = w_lane[l_1 + k_1 * l_dim];
                C_next2 = C_next2 + 1;
            }
            if (C_next2 != first_1) {
                C_crd1[C_next1] = (int)k_1;
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
__attribute__((visibility("default"))) const sc_object SC_OBJECT = {2, sizeof(sc_object), SC_KEY, 2, {count, body}};
