/* Rounds each operation. */
/* Computes
 *   C[i,k] max= A[i,j] * B[j,k]
 * with
 *   A: csr f32, indices i32
 *   B: csr f32, indices i32
 *   C: csr f32, indices i32
 * by
 *   par i in A {
 *     work w[k]: lane hash f32 {
 *       for j in A {
 *         for k in B {
 *           w[k] max= A[i,j] * B[j,k]
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
SC_INLINE sc_i64 sc_min_i64(sc_i64 a, sc_i64 b)
{
    return a < b ? a : b;
}
SC_INLINE float sc_max_f32(float a, float b)
{
    const float r = a > b ? a : b;
    return a >= a ? r : a;
}
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
    sc_i64 *restrict const w_table = lane->scratch;
    const sc_i64 w_used_at = slots * 8;
    sc_i64 *restrict const w_used = (void *)((char *)lane->scratch + w_used_at);
    sc_i64 *restrict const cursors = lane->cursor;
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const int *restrict const B_pos1 = call->view[1].level[1].pos;
    const int *restrict const B_crd1 = call->view[1].level[1].crd;

    sc_i64 C_next1 = cursors[0];
    /* par i in A */
    for (sc_i64 i = begin; i < end; i++) {
        /* work w[k]: lane hash f32 */
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
                /* w[k] max= A[i,j] * B[j,k] */
                const sc_i64 tag = k + 1;
                sc_i64 slot = ((k * -7046029254386353131) >> 32) & (slots - 1);
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
        /* for k in w */
        /* C[i,k] = w[k] */
        C_next1 = C_next1 + w_n;
        for (sc_i64 x = 0, sc_end = w_n; x < sc_end; x++) {
            w_table[w_used[x]] = 0;
        }
    }
    cursors[0] = C_next1;
    return 0;
}

static int most(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 k_dim = call->dim[1];
    sc_i64 *restrict const cursors = lane->cursor;
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const int *restrict const B_pos1 = call->view[1].level[1].pos;

    sc_i64 C_next1 = cursors[0];
    /* par i in A */
    for (sc_i64 i = begin; i < end; i++) {
        /* work w[k]: lane hash f32 */
        sc_i64 w_n = 0;
        /* for j in A */
        const sc_i64 A_lo = (sc_i64)A_pos1[i];
        const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
        for (sc_i64 p = A_lo; p < A_hi; p++) {
            const sc_i64 j = (sc_i64)A_crd1[p];
            /* for k in B */
            const sc_i64 B_lo = (sc_i64)B_pos1[j];
            const sc_i64 B_hi = (sc_i64)B_pos1[j + 1];
            /* w[k] max= A[i,j] * B[j,k] */
            w_n = w_n + (B_hi - B_lo);
        }
        /* for k in w */
        /* C[i,k] = w[k] */
        C_next1 = C_next1 + sc_min_i64(w_n, k_dim);
    }
    cursors[0] = C_next1;
    return 0;
}

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 slots = lane->slots;
    sc_i64 *restrict const cursors = lane->cursor;
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const int *restrict const B_pos1 = call->view[1].level[1].pos;
    const int *restrict const B_crd1 = call->view[1].level[1].crd;
    sc_i64 *restrict const w_table_1 = lane->scratch;
    const sc_i64 w_used_1_at = slots * 8;
    sc_i64 *restrict const w_used_1 = (void *)((char *)lane->scratch + w_used_1_at);
    const sc_i64 w_lane_at = w_used_1_at + slots * 8;
    float *restrict const w_lane = (void *)((char *)lane->scratch + w_lane_at);
    const sc_i64 w_key_at = w_lane_at + slots * 4;
    sc_i64 *restrict const w_key = (void *)((char *)lane->scratch + w_key_at);
    const sc_i64 w_spare_at = w_key_at + slots * 8;
    sc_i64 *restrict const w_spare = (void *)((char *)lane->scratch + w_spare_at);
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const B_val = call->view[1].val;
    float *restrict const C_val = call->view[2].val;
    int *restrict const C_crd1 = (int *)call->view[2].level[1].crd;
    int *restrict const C_pos1 = (int *)call->view[2].level[1].pos;

    sc_i64 C_next1 = cursors[0];
    /* par i in A */
    for (sc_i64 i = begin; i < end; i++) {
        /* work w[k]: lane hash f32 */
        sc_i64 w_n = 0;
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
                /* w[k] max= A[i,j] * B[j,k] */
                const float v = a * B_val[p_1];
                const sc_i64 tag = k + 1;
                sc_i64 slot = ((k * -7046029254386353131) >> 32) & (slots - 1);
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
                    w_lane[slot] = sc_max_f32(w_lane[slot], v);
                }
            }
        }
        for (sc_i64 x = 0, sc_end = w_n; x < sc_end; x++) {
            w_key[x] = w_table_1[w_used_1[x]] - 1;
        }
        sc_sort_i64(w_key, w_spare, w_n);
        /* for k in w */
        for (sc_i64 p = 0, sc_end = w_n; p < sc_end; p++) {
            const sc_i64 k = w_key[p];
            /* C[i,k] = w[k] */
            const sc_i64 tag = k + 1;
            sc_i64 slot = ((k * -7046029254386353131) >> 32) & (slots - 1);
            while (w_table_1[slot] != tag) {
                slot = (slot + 1) & (slots - 1);
            }
            C_crd1[C_next1] = (int)k;
            C_val[C_next1] = w_lane[slot];
            C_next1 = C_next1 + 1;
        }
        for (sc_i64 x = 0, sc_end = w_n; x < sc_end; x++) {
            w_table_1[w_used_1[x]] = 0;
        }
        C_pos1[i + 1] = (int)C_next1;
    }
    cursors[0] = C_next1;
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
