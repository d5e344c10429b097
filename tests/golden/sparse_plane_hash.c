/* Computes
 *   C[i,j,l] = A[i,j,k] * B[k,l]
 * with
 *   A: csf f32, indices i32
 *   B: csr f32, indices i32
 *   C: csf f32, indices i32
 * by
 *   par i in A {
 *     work w[j,l]: lane hash f32 {
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
#define SC_INLINE static inline __attribute__((always_inline))
static __attribute__((unused)) void sc_sort_i64(sc_i64 *key, sc_i64 *spare, sc_i64 n)
{
    sc_i64 *from = key, *to = spare, used = 0;
    for (sc_i64 i = 1; i < n && n < 32; i++) {
        sc_i64 x = key[i];
        sc_i64 k = i;
        for (; k > 0 && key[k - 1] > x; k--) key[k] = key[k - 1];
        key[k] = x;
    }
    if (n < 32) return;
    for (sc_i64 i = 0; i < n; i++) used |= key[i];
    for (int shift = 0; shift < 63 && used >> shift; shift += 8) {
        sc_i64 at[257] = {0};
        for (sc_i64 i = 0; i < n; i++) at[(from[i] >> shift & 255) + 1]++;
        for (int d = 0; d < 255; d++) at[d + 1] += at[d];
        for (sc_i64 i = 0; i < n; i++) to[at[from[i] >> shift & 255]++] = from[i];
        sc_i64 *swap = from;
        from = to;
        to = swap;
    }
    for (sc_i64 i = 0; i < n && from != key; i++) key[i] = from[i];
}

static int count(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 slots = lane->slots;
    const sc_i64 l_dim = call->dim[2];
    sc_i64 *restrict const w_table = lane->scratch;
    const sc_i64 w_used_at = slots * 8;
    sc_i64 *restrict const w_used = (void *)((char *)lane->scratch + w_used_at);
    const sc_i64 w_key_at = w_used_at + slots * 8;
    sc_i64 *restrict const w_key = (void *)((char *)lane->scratch + w_key_at);
    const sc_i64 w_spare_at = w_key_at + slots * 8;
    sc_i64 *restrict const w_spare = (void *)((char *)lane->scratch + w_spare_at);
    const sc_i64 w_crd0_at = w_spare_at + slots * 8;
    sc_i64 *restrict const w_crd0 = (void *)((char *)lane->scratch + w_crd0_at);
    const sc_i64 w_crd1_at = w_crd0_at + slots * 8;
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
        /* work w[j,l]: lane hash f32 */
        sc_i64 w_n = 0;
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
                    const sc_i64 tag = at + 1;
                    sc_i64 slot = ((at * -7046029254386353131) >> 32) & (slots - 1);
                    while ((w_table[slot] != 0) && (w_table[slot] != tag)) {
                        slot = (slot + 1) & (slots - 1);
                    }
                    if (w_table[slot] == 0) {
                        if (w_n >= (slots >> 1)) {
                            return 8;
                        }
                        w_table[slot] = tag;
                        w_used[w_n] = slot;
                        w_n = w_n + 1;
                    }
                }
            }
        }
        for (sc_i64 x = 0, sc_end = w_n; x < sc_end; x++) {
            w_key[x] = w_table[w_used[x]] - 1;
        }
        sc_sort_i64(w_key, w_spare, w_n);
        for (sc_i64 x = 0, sc_end = w_n; x < sc_end; x++) {
            const sc_i64 at = w_key[x];
            const sc_i64 above = at / l_dim;
            w_crd1[x] = at - above * l_dim;
            w_crd0[x] = above;
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
        for (sc_i64 x = 0, sc_end = w_n; x < sc_end; x++) {
            w_table[w_used[x]] = 0;
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
    const sc_i64 slots = lane->slots;
    const sc_i64 l_dim = call->dim[2];
    sc_i64 *restrict const cursors = lane->cursor;
    const int *restrict const A_crd0 = call->view[0].level[0].crd;
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const int *restrict const A_pos2 = call->view[0].level[2].pos;
    const int *restrict const A_crd2 = call->view[0].level[2].crd;
    const int *restrict const B_pos1 = call->view[1].level[1].pos;
    const int *restrict const B_crd1 = call->view[1].level[1].crd;
    sc_i64 *restrict const w_table_1 = lane->scratch;
    const sc_i64 w_used_1_at = slots * 8;
    sc_i64 *restrict const w_used_1 = (void *)((char *)lane->scratch + w_used_1_at);
    const sc_i64 w_lane_at = w_used_1_at + slots * 8;
    float *restrict const w_lane = (void *)((char *)lane->scratch + w_lane_at);
    const sc_i64 w_key_1_at = w_lane_at + slots * 4;
    sc_i64 *restrict const w_key_1 = (void *)((char *)lane->scratch + w_key_1_at);
    const sc_i64 w_spare_1_at = w_key_1_at + slots * 8;
    sc_i64 *restrict const w_spare_1 = (void *)((char *)lane->scratch + w_spare_1_at);
    const sc_i64 w_crd0_1_at = w_spare_1_at + slots * 8;
    sc_i64 *restrict const w_crd0_1 = (void *)((char *)lane->scratch + w_crd0_1_at);
    const sc_i64 w_crd1_1_at = w_crd0_1_at + slots * 8;
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
        /* work w[j,l]: lane hash f32 */
        sc_i64 w_n = 0;
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
                    const sc_i64 tag = at + 1;
                    sc_i64 slot = ((at * -7046029254386353131) >> 32) & (slots - 1);
                    while ((w_table_1[slot] != 0) && (w_table_1[slot] != tag)) {
                        slot = (slot + 1) & (slots - 1);
                    }
                    if (w_table_1[slot] == 0) {
                        if (w_n >= (slots >> 1)) {
                            return 8;
                        }
                        w_table_1[slot] = tag;
                        w_used_1[w_n] = slot;
                        w_n = w_n + 1;
                        w_lane[slot] = v;
                    } else {
                        w_lane[slot] = w_lane[slot] + v;
                    }
                }
            }
        }
        for (sc_i64 x = 0, sc_end = w_n; x < sc_end; x++) {
            w_key_1[x] = w_table_1[w_used_1[x]] - 1;
        }
        sc_sort_i64(w_key_1, w_spare_1, w_n);
        for (sc_i64 x = 0, sc_end = w_n; x < sc_end; x++) {
            const sc_i64 at = w_key_1[x];
            const sc_i64 above = at / l_dim;
            w_crd1_1[x] = at - above * l_dim;
            w_crd0_1[x] = above;
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
                const sc_i64 at = j * l_dim + l;
                const sc_i64 tag = at + 1;
                sc_i64 slot = ((at * -7046029254386353131) >> 32) & (slots - 1);
                while (w_table_1[slot] != tag) {
                    slot = (slot + 1) & (slots - 1);
                }
                C_crd2[C_next2] = (int)l;
                C_val[C_next2] = w_lane[slot];
                C_next2 = C_next2 + 1;
            }
            if (C_next2 != first_2) {
                C_crd1[C_next1] = (int)j;
                C_pos2[C_next1 + 1] = (int)C_next2;
                C_next1 = C_next1 + 1;
            }
        }
        for (sc_i64 x = 0, sc_end = w_n; x < sc_end; x++) {
            w_table_1[w_used_1[x]] = 0;
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
