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
    const sc_i64 v_last_at = (l_dim * 8 + 63) & -64;
    sc_i64 *restrict const v_last = (void *)((char *)lane->scratch + v_last_at);
    const sc_i64 w_bits_at = v_last_at + 64;
    sc_i64 *restrict const w_bits = (void *)((char *)lane->scratch + w_bits_at);
    const sc_i64 w_words_at = v_last_at + (((k_dim + 63) / 64 * 8 + 63) & -64) + 64;
    sc_i64 *restrict const w_words = (void *)((char *)lane->scratch + w_words_at);
    const sc_i64 w_crd0_at =
        v_last_at + (((k_dim + 63) / 64 * 8 + 63) & -64) + (((k_dim + 4095) / 4096 * 8 + 63) & -64) + 64;
    sc_i64 *restrict const w_crd0 = (void *)((char *)lane->scratch + w_crd0_at);
    sc_i64 *restrict const cursors = lane->cursor;
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const int *restrict const B_pos1 = call->view[1].level[1].pos;
    const int *restrict const B_crd1 = call->view[1].level[1].crd;
    const int *restrict const D_pos1 = call->view[2].level[1].pos;
    const int *restrict const D_crd1 = call->view[2].level[1].crd;

    sc_i64 v_tag = v_last[0];
    sc_i64 C_next1 = cursors[0];
    /* par i in A */
    for (sc_i64 i = begin; i < end; i++) {
        /* work v[l]: lane bitmap f32 */
        v_tag = v_tag + 1;
        sc_i64 v_n = 0;
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
                w_words[word >> 6] = w_words[word >> 6] | (sc_shl_i64(1, word & 63));
            }
        }
        sc_i64 w_n = 0;
        for (sc_i64 s = 0; s < (k_dim + 4095) / 4096; s++) {
            sc_i64 left = w_words[s];
            w_words[s] = 0;
            while (left != 0) {
                const sc_i64 word = s * 64 + (sc_i64)__builtin_ctzll((unsigned long long)left);
                left = left & (left - 1);
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
        /* for k in w */
        for (sc_i64 p = 0, sc_end = w_n; p < sc_end; p++) {
            const sc_i64 k = w_crd0[p];
            /* for l in D */
            const sc_i64 D_lo = (sc_i64)D_pos1[k];
            const sc_i64 D_hi = (sc_i64)D_pos1[k + 1];
            for (sc_i64 p_1 = D_lo; p_1 < D_hi; p_1++) {
                const sc_i64 l = (sc_i64)D_crd1[p_1];
                /* v[l] += w[k] * D[k,l] */
                v_n = v_n + (sc_i64)(v_mark[l] != v_tag);
                v_mark[l] = v_tag;
            }
        }
        /* for l in v */
        /* C[i,l] = v[l] */
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
    const sc_i64 v_bits_at = (l_dim * 4 + 63) & -64;
    sc_i64 *restrict const v_bits = (void *)((char *)lane->scratch + v_bits_at);
    const sc_i64 v_words_at = v_bits_at + (((l_dim + 63) / 64 * 8 + 63) & -64);
    sc_i64 *restrict const v_words = (void *)((char *)lane->scratch + v_words_at);
    const sc_i64 w_lane_at = v_words_at + (((l_dim + 4095) / 4096 * 8 + 63) & -64);
    float *restrict const w_lane = (void *)((char *)lane->scratch + w_lane_at);
    const sc_i64 w_bits_1_at = w_lane_at + ((k_dim * 4 + 63) & -64);
    sc_i64 *restrict const w_bits_1 = (void *)((char *)lane->scratch + w_bits_1_at);
    const sc_i64 w_words_1_at = w_bits_1_at + (((k_dim + 63) / 64 * 8 + 63) & -64);
    sc_i64 *restrict const w_words_1 = (void *)((char *)lane->scratch + w_words_1_at);
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const B_val = call->view[1].val;
    const float *restrict const D_val = call->view[2].val;
    float *restrict const C_val = call->view[3].val;
    int *restrict const C_crd1 = (int *)call->view[3].level[1].crd;
    int *restrict const C_pos1 = (int *)call->view[3].level[1].pos;

    sc_i64 C_next1 = cursors[0];
    /* par i in A */
    for (sc_i64 i = begin; i < end; i++) {
        /* work v[l]: lane bitmap f32 */
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
                const float v = A_val[p] * B_val[p_1];
                const sc_i64 word = k >> 6;
                const sc_i64 bit = sc_shl_i64(1, k & 63);
                const sc_i64 old = w_bits_1[word];
                w_bits_1[word] = old | bit;
                w_words_1[word >> 6] = w_words_1[word >> 6] | (sc_shl_i64(1, word & 63));
                w_lane[k] = w_lane[k] + v;
            }
        }
        /* for k in w */
        for (sc_i64 s = 0; s < (k_dim + 4095) / 4096; s++) {
            sc_i64 left = w_words_1[s];
            w_words_1[s] = 0;
            while (left != 0) {
                const sc_i64 word = s * 64 + (sc_i64)__builtin_ctzll((unsigned long long)left);
                left = left & (left - 1);
                sc_i64 rest = w_bits_1[word];
                w_bits_1[word] = 0;
                while (rest != 0) {
                    const sc_i64 k = word * 64 + (sc_i64)__builtin_ctzll((unsigned long long)rest);
                    rest = rest & (rest - 1);
                    /* for l in D */
                    const sc_i64 D_lo = (sc_i64)D_pos1[k];
                    const sc_i64 D_hi = (sc_i64)D_pos1[k + 1];
                    for (sc_i64 p = D_lo; p < D_hi; p++) {
                        const sc_i64 l = (sc_i64)D_crd1[p];
                        /* v[l] += w[k] * D[k,l] */
                        const float v = w_lane[k] * D_val[p];
                        const sc_i64 word_1 = l >> 6;
                        const sc_i64 bit = sc_shl_i64(1, l & 63);
                        const sc_i64 old = v_bits[word_1];
                        v_bits[word_1] = old | bit;
                        v_words[word_1 >> 6] = v_words[word_1 >> 6] | (sc_shl_i64(1, word_1 & 63));
                        v_lane[l] = v_lane[l] + v;
                    }
                    w_lane[k] = 0.0f;
                }
            }
        }
        /* for l in v */
        for (sc_i64 s = 0; s < (l_dim + 4095) / 4096; s++) {
            sc_i64 left = v_words[s];
            v_words[s] = 0;
            while (left != 0) {
                const sc_i64 word = s * 64 + (sc_i64)__builtin_ctzll((unsigned long long)left);
                left = left & (left - 1);
                sc_i64 rest = v_bits[word];
                v_bits[word] = 0;
                while (rest != 0) {
                    const sc_i64 l = word * 64 + (sc_i64)__builtin_ctzll((unsigned long long)rest);
                    rest = rest & (rest - 1);
                    /* C[i,l] = v[l] */
                    C_crd1[C_next1] = (int)l;
                    C_val[C_next1] = v_lane[l];
                    C_next1 = C_next1 + 1;
                    v_lane[l] = 0.0f;
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
__attribute__((visibility("default"))) const sc_object SC_OBJECT = {3, sizeof(sc_object), SC_KEY,
    2, {count, body}};
