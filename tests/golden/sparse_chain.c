/* Computes
 *   C[i,l] = A[i,j] * B[j,k] * D[k,l]
 * with
 *   A: csr f32, indices i32
 *   B: csr f32, indices i32
 *   D: csr f32, indices i32
 *   C: csr f32, indices i32
 * by
 *   par i in A {
 *     work v[l]: lane bitmap f32 {
 *       work w[k]: lane bitmap f32 {
 *         for j in A {
 *           for k in B {
 *             w[k] += A[i,j] * B[j,k]
 *           }
 *         }
 *       } then {
 *         for k in w {
 *           for l in D {
 *             v[l] += w[k] * D[k,l]
 *           }
 *         }
 *       }
 *     } then {
 *       for l in v {
 *         C[i,l] = v[l]
 *       }
 *     }
 *   }
 */
#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE sc_i64 sc_shl_i64(sc_i64 x, sc_i64 n) { return (sc_i64)((__UINT64_TYPE__)x << n); }

static int count(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 l_dim = call->dim[1];
    const sc_i64 k_dim = call->dim[3];
    sc_i64 *restrict const v_mark = lane->scratch;
    sc_i64 *restrict const v_last = (void *)((char *)lane->scratch + ((l_dim * 8 + 63) & -64));
    sc_i64 *restrict const w_bits = (void *)((char *)lane->scratch + (((l_dim * 8 + 63) & -64) + 64));
    sc_i64 *restrict const w_words = (void *)((char *)lane->scratch + (((l_dim * 8 + 63) & -64) + (((k_dim + 63) / 64 * 8 + 63) & -64) + 64));
    sc_i64 *restrict const w_crd0 = (void *)((char *)lane->scratch + (((l_dim * 8 + 63) & -64) + (((k_dim + 63) / 64 * 8 + 63) & -64) + (((k_dim + 4095) / 4096 * 8 + 63) & -64) + 64));
    sc_i64 *restrict const cursors = lane->cursor;
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const int *restrict const B_pos1 = call->view[1].level[1].pos;
    const int *restrict const B_crd1 = call->view[1].level[1].crd;
    const int *restrict const D_pos1 = call->view[2].level[1].pos;
    const int *restrict const D_crd1 = call->view[2].level[1].crd;

    sc_i64 v_tag = v_last[0];
    sc_i64 C_next1 = cursors[0];
    for (sc_i64 i = begin; i < end; i++) {
        v_tag = v_tag + 1;
        sc_i64 v_n = 0;
        const sc_i64 A_lo = (sc_i64)A_pos1[i];
        const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
        for (sc_i64 p = A_lo; p < A_hi; p++) {
            const sc_i64 j = (sc_i64)A_crd1[p];
            const sc_i64 B_lo = (sc_i64)B_pos1[j];
            const sc_i64 B_hi = (sc_i64)B_pos1[j + 1];
            for (sc_i64 p_1 = B_lo; p_1 < B_hi; p_1++) {
                const sc_i64 k = (sc_i64)B_crd1[p_1];
                const sc_i64 word = k >> 6;
                const sc_i64 bit = sc_shl_i64(1, k & 63);
                const sc_i64 old = w_bits[word];
                w_bits[word] = old | bit;
                w_words[word >> 6] = w_words[word >> 6] | (sc_shl_i64(1, word & 63));
            }
        }
        sc_i64 w_n = 0;
        for (sc_i64 s = 0; s < (k_dim + 4095) / 4096; s++) {
            sc_i64 left = w_words[s];
            w_words[s] = 0;
            while (left != 0) {
                const sc_i64 word_1 = s * 64 + (sc_i64)__builtin_ctzll((unsigned long long)left);
                left = left & (left - 1);
                sc_i64 rest = w_bits[word_1];
                w_bits[word_1] = 0;
                while (rest != 0) {
                    const sc_i64 at = word_1 * 64 + (sc_i64)__builtin_ctzll((unsigned long long)rest);
                    rest = rest & (rest - 1);
                    w_crd0[w_n] = at;
                    w_n = w_n + 1;
                }
            }
        }
        for (sc_i64 p_2 = 0, sc_end = w_n; p_2 < sc_end; p_2++) {
            const sc_i64 k_1 = w_crd0[p_2];
            const sc_i64 D_lo = (sc_i64)D_pos1[k_1];
            const sc_i64 D_hi = (sc_i64)D_pos1[k_1 + 1];
            for (sc_i64 p_3 = D_lo; p_3 < D_hi; p_3++) {
                const sc_i64 l = (sc_i64)D_crd1[p_3];
                v_n = v_n + (sc_i64)(v_mark[l] != v_tag);
                v_mark[l] = v_tag;
            }
        }
        C_next1 = C_next1 + v_n;
    }
    cursors[0] = C_next1;
    v_last[0] = v_tag;
    return 0;
}

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 l_dim = call->dim[1];
    const sc_i64 k_dim = call->dim[3];
    sc_i64 *restrict const cursors = lane->cursor;
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const int *restrict const B_pos1 = call->view[1].level[1].pos;
    const int *restrict const B_crd1 = call->view[1].level[1].crd;
    const int *restrict const D_pos1 = call->view[2].level[1].pos;
    const int *restrict const D_crd1 = call->view[2].level[1].crd;
    float *restrict const v_lane = lane->scratch;
    sc_i64 *restrict const v_bits = (void *)((char *)lane->scratch + ((l_dim * 4 + 63) & -64));
    sc_i64 *restrict const v_words = (void *)((char *)lane->scratch + (((l_dim * 4 + 63) & -64) + (((l_dim + 63) / 64 * 8 + 63) & -64)));
    float *restrict const w_lane = (void *)((char *)lane->scratch + (((l_dim * 4 + 63) & -64) + (((l_dim + 63) / 64 * 8 + 63) & -64) + (((l_dim + 4095) / 4096 * 8 + 63) & -64)));
    sc_i64 *restrict const w_bits_1 = (void *)((char *)lane->scratch + (((l_dim * 4 + 63) & -64) + (((l_dim + 63) / 64 * 8 + 63) & -64) + (((l_dim + 4095) / 4096 * 8 + 63) & -64) + ((k_dim * 4 + 63) & -64)));
    sc_i64 *restrict const w_words_1 = (void *)((char *)lane->scratch + (((l_dim * 4 + 63) & -64) + (((l_dim + 63) / 64 * 8 + 63) & -64) + (((l_dim + 4095) / 4096 * 8 + 63) & -64) + ((k_dim * 4 + 63) & -64) + (((k_dim + 63) / 64 * 8 + 63) & -64)));
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const B_val = call->view[1].val;
    const float *restrict const D_val = call->view[2].val;
    float *restrict const C_val = call->view[3].val;
    int *restrict const C_crd1 = (int *)call->view[3].level[1].crd;
    int *restrict const C_pos1 = (int *)call->view[3].level[1].pos;

    sc_i64 C_next1 = cursors[0];
    for (sc_i64 i = begin; i < end; i++) {
        const sc_i64 A_lo = (sc_i64)A_pos1[i];
        const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
        for (sc_i64 p = A_lo; p < A_hi; p++) {
            const sc_i64 j = (sc_i64)A_crd1[p];
            const sc_i64 B_lo = (sc_i64)B_pos1[j];
            const sc_i64 B_hi = (sc_i64)B_pos1[j + 1];
            for (sc_i64 p_1 = B_lo; p_1 < B_hi; p_1++) {
                const sc_i64 k = (sc_i64)B_crd1[p_1];
                const float v = A_val[p] * B_val[p_1];
                const sc_i64 word = k >> 6;
                const sc_i64 bit = sc_shl_i64(1, k & 63);
                const sc_i64 old = w_bits_1[word];
                w_bits_1[word] = old | bit;
                w_words_1[word >> 6] = w_words_1[word >> 6] | (sc_shl_i64(1, word & 63));
                w_lane[k] = w_lane[k] + v;
            }
        }
        for (sc_i64 s = 0; s < (k_dim + 4095) / 4096; s++) {
            sc_i64 left = w_words_1[s];
            w_words_1[s] = 0;
            while (left != 0) {
                const sc_i64 word_1 = s * 64 + (sc_i64)__builtin_ctzll((unsigned long long)left);
                left = left & (left - 1);
                sc_i64 rest = w_bits_1[word_1];
                w_bits_1[word_1] = 0;
                while (rest != 0) {
                    const sc_i64 k_1 = word_1 * 64 + (sc_i64)__builtin_ctzll((unsigned long long)rest);
                    rest = rest & (rest - 1);
                    const sc_i64 D_lo = (sc_i64)D_pos1[k_1];
                    const sc_i64 D_hi = (sc_i64)D_pos1[k_1 + 1];
                    for (sc_i64 p_2 = D_lo; p_2 < D_hi; p_2++) {
                        const sc_i64 l = (sc_i64)D_crd1[p_2];
                        const float v_1 = w_lane[k_1] * D_val[p_2];
                        const sc_i64 word_2 = l >> 6;
                        const sc_i64 bit_1 = sc_shl_i64(1, l & 63);
                        const sc_i64 old_1 = v_bits[word_2];
                        v_bits[word_2] = old_1 | bit_1;
                        v_words[word_2 >> 6] = v_words[word_2 >> 6] | (sc_shl_i64(1, word_2 & 63));
                        v_lane[l] = v_lane[l] + v_1;
                    }
                    w_lane[k_1] = 0.0f;
                }
            }
        }
        for (sc_i64 s_1 = 0; s_1 < (l_dim + 4095) / 4096; s_1++) {
            sc_i64 left_1 = v_words[s_1];
            v_words[s_1] = 0;
            while (left_1 != 0) {
                const sc_i64 word_3 = s_1 * 64 + (sc_i64)__builtin_ctzll((unsigned long long)left_1);
                left_1 = left_1 & (left_1 - 1);
                sc_i64 rest_1 = v_bits[word_3];
                v_bits[word_3] = 0;
                while (rest_1 != 0) {
                    const sc_i64 l_1 = word_3 * 64 + (sc_i64)__builtin_ctzll((unsigned long long)rest_1);
                    rest_1 = rest_1 & (rest_1 - 1);
                    C_crd1[C_next1] = (int)l_1;
                    C_val[C_next1] = v_lane[l_1];
                    C_next1 = C_next1 + 1;
                    v_lane[l_1] = 0.0f;
                }
            }
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
__attribute__((visibility("default"))) const sc_object SC_OBJECT = {3, sizeof(sc_object), SC_KEY, 2, {count, body}};
