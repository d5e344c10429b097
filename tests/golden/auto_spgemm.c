/* Computes
 *   C[i,k] = A[i,j] * B[j,k]
 * with
 *   A: csr f32, indices i32
 *   B: csr f32, indices i32
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
 *       for k in w {
 *         C[i,k] = w[k]
 *       }
 *     }
 *   }
 */
#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE sc_i64 sc_shl_i64(sc_i64 x, sc_i64 n) { return (sc_i64)((__UINT64_TYPE__)x << n); }

static int count(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 k_dim = call->dim[1];
    sc_i64 *restrict const w_mark = lane->scratch;
    const sc_i64 w_last_at = (k_dim * 8 + 63) & -64;
    sc_i64 *restrict const w_last = (void *)((char *)lane->scratch + w_last_at);
    sc_i64 *restrict const cursors = lane->cursor;
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const int *restrict const B_pos1 = call->view[1].level[1].pos;
    const int *restrict const B_crd1 = call->view[1].level[1].crd;

    sc_i64 w_tag = w_last[0];
    sc_i64 C_next1 = cursors[0];
    /* par i in A */
    for (sc_i64 i = begin; i < end; i++) {
        /* work w[k]: lane bitmap f32 */
        w_tag = w_tag + 1;
        sc_i64 w_n = 0;
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
                w_n = w_n + (sc_i64)(w_mark[k] != w_tag);
                w_mark[k] = w_tag;
            }
        }
        /* for k in w */
        /* C[i,k] = w[k] */
        C_next1 = C_next1 + w_n;
    }
    cursors[0] = C_next1;
    w_last[0] = w_tag;
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
    float *restrict const w_lane = lane->scratch;
    const sc_i64 w_bits_at = (k_dim * 4 + 63) & -64;
    sc_i64 *restrict const w_bits = (void *)((char *)lane->scratch + w_bits_at);
    const sc_i64 w_words_at = w_bits_at + (((k_dim + 63) / 64 * 8 + 63) & -64);
    sc_i64 *restrict const w_words = (void *)((char *)lane->scratch + w_words_at);
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const B_val = call->view[1].val;
    float *restrict const C_val = call->view[2].val;
    int *restrict const C_crd1 = (int *)call->view[2].level[1].crd;
    int *restrict const C_pos1 = (int *)call->view[2].level[1].pos;

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
                const float v = A_val[p] * B_val[p_1];
                const sc_i64 word = k >> 6;
                const sc_i64 bit = sc_shl_i64(1, k & 63);
                const sc_i64 old = w_bits[word];
                w_bits[word] = old | bit;
                w_words[word >> 6] = w_words[word >> 6] | (sc_shl_i64(1, word & 63));
                w_lane[k] = w_lane[k] + v;
            }
        }
        /* for k in w */
        for (sc_i64 s = 0; s < (k_dim + 4095) / 4096; s++) {
            sc_i64 left = w_words[s];
            w_words[s] = 0;
            while (left != 0) {
                const sc_i64 word = s * 64 + (sc_i64)__builtin_ctzll((unsigned long long)left);
                left = left & (left - 1);
                sc_i64 rest = w_bits[word];
                w_bits[word] = 0;
                while (rest != 0) {
                    const sc_i64 k = word * 64 + (sc_i64)__builtin_ctzll((unsigned long long)rest);
                    rest = rest & (rest - 1);
                    /* C[i,k] = w[k] */
                    C_crd1[C_next1] = (int)k;
                    C_val[C_next1] = w_lane[k];
                    C_next1 = C_next1 + 1;
                    w_lane[k] = 0.0f;
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
