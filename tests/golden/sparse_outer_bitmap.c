/* Computes
 *   C[i,k] = A[i,j] * B[j,k]
 * with
 *   A: csc f32, indices i32
 *   B: csr f32, indices i32
 *   C: dcsr f32, indices i32
 * by
 *   work w[i,k]: lane bitmap f32 {
 *     for j {
 *       for i in A {
 *         for k in B {
 *           w[i,k] += A[i,j] * B[j,k]
 *         }
 *       }
 *     }
 *   } then {
 *     for i in w {
 *       for k in w {
 *         C[i,k] = w[i,k]
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
    const sc_i64 i_dim = call->dim[0];
    const sc_i64 k_dim = call->dim[1];
    const sc_i64 j_dim = call->dim[2];
    sc_i64 *restrict const w_bits = lane->scratch;
    const sc_i64 w_filled_at = (i_dim * 8 * ((k_dim + 63) / 64) + 63) & -64;
    signed char *restrict const w_filled = (void *)((char *)lane->scratch + w_filled_at);
    const sc_i64 w_crd0_at = w_filled_at + ((i_dim * ((k_dim + 63) / 64) + 63) & -64);
    sc_i64 *restrict const w_crd0 = (void *)((char *)lane->scratch + w_crd0_at);
    const sc_i64 w_crd1_at = w_crd0_at + ((i_dim * 8 * k_dim + 63) & -64);
    sc_i64 *restrict const w_crd1 = (void *)((char *)lane->scratch + w_crd1_at);
    sc_i64 *restrict const cursors = lane->cursor;
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const int *restrict const B_pos1 = call->view[1].level[1].pos;
    const int *restrict const B_crd1 = call->view[1].level[1].crd;
    (void)begin;
    (void)end;

    sc_i64 C_next0 = cursors[0];
    sc_i64 C_next1 = cursors[1];
    /* work w[i,k]: lane bitmap f32 */
    /* for j */
    for (sc_i64 j = 0; j < j_dim; j++) {
        /* for i in A */
        const sc_i64 A_lo = (sc_i64)A_pos1[j];
        const sc_i64 A_hi = (sc_i64)A_pos1[j + 1];
        for (sc_i64 p = A_lo; p < A_hi; p++) {
            const sc_i64 i = (sc_i64)A_crd1[p];
            /* for k in B */
            const sc_i64 B_lo = (sc_i64)B_pos1[j];
            const sc_i64 B_hi = (sc_i64)B_pos1[j + 1];
            for (sc_i64 p_1 = B_lo; p_1 < B_hi; p_1++) {
                const sc_i64 k = (sc_i64)B_crd1[p_1];
                /* w[i,k] += A[i,j] * B[j,k] */
                const sc_i64 at = i * k_dim + k;
                const sc_i64 word = at >> 6;
                const sc_i64 bit = sc_shl_i64(1, at & 63);
                const sc_i64 old = w_bits[word];
                w_bits[word] = old | bit;
                w_filled[word] = 1;
            }
        }
    }
    sc_i64 w_n = 0;
    for (sc_i64 s = 0; s < (i_dim * k_dim + 4095) / 4096; s++) {
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
                const sc_i64 above = at / k_dim;
                w_crd1[w_n] = at - above * k_dim;
                w_crd0[w_n] = above;
                w_n = w_n + 1;
            }
        }
    }
    /* for i in w */
    sc_i64 p = 0;
    while (p < w_n) {
        const sc_i64 first = p;
        const sc_i64 i = w_crd0[first];
        p = first + 1;
        while ((p < w_n) && (w_crd0[p] == i)) {
            p = p + 1;
        }
        const sc_i64 last = p;
        const sc_i64 first_1 = C_next1;
        /* for k in w */
        for (sc_i64 p_1 = first; p_1 < last; p_1++) {
            /* C[i,k] = w[i,k] */
            C_next1 = C_next1 + 1;
        }
        if (C_next1 != first_1) {
            C_next0 = C_next0 + 1;
        }
    }
    cursors[0] = C_next0;
    cursors[1] = C_next1;
    return 0;
}

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 i_dim = call->dim[0];
    const sc_i64 k_dim = call->dim[1];
    const sc_i64 j_dim = call->dim[2];
    sc_i64 *restrict const cursors = lane->cursor;
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const int *restrict const B_pos1 = call->view[1].level[1].pos;
    const int *restrict const B_crd1 = call->view[1].level[1].crd;
    float *restrict const w_lane = lane->scratch;
    const sc_i64 w_bits_1_at = (i_dim * 4 * k_dim + 63) & -64;
    sc_i64 *restrict const w_bits_1 = (void *)((char *)lane->scratch + w_bits_1_at);
    const sc_i64 w_filled_1_at = w_bits_1_at + ((i_dim * 8 * ((k_dim + 63) / 64) + 63) & -64);
    signed char *restrict const w_filled_1 = (void *)((char *)lane->scratch + w_filled_1_at);
    const sc_i64 w_crd0_1_at = w_filled_1_at + ((i_dim * ((k_dim + 63) / 64) + 63) & -64);
    sc_i64 *restrict const w_crd0_1 = (void *)((char *)lane->scratch + w_crd0_1_at);
    const sc_i64 w_crd1_1_at = w_crd0_1_at + ((i_dim * 8 * k_dim + 63) & -64);
    sc_i64 *restrict const w_crd1_1 = (void *)((char *)lane->scratch + w_crd1_1_at);
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const B_val = call->view[1].val;
    float *restrict const C_val = call->view[2].val;
    int *restrict const C_crd1 = (int *)call->view[2].level[1].crd;
    int *restrict const C_crd0 = (int *)call->view[2].level[0].crd;
    int *restrict const C_pos1 = (int *)call->view[2].level[1].pos;
    (void)begin;
    (void)end;

    sc_i64 C_next0 = cursors[0];
    sc_i64 C_next1 = cursors[1];
    /* work w[i,k]: lane bitmap f32 */
    /* for j */
    for (sc_i64 j = 0; j < j_dim; j++) {
        /* for i in A */
        const sc_i64 A_lo = (sc_i64)A_pos1[j];
        const sc_i64 A_hi = (sc_i64)A_pos1[j + 1];
        for (sc_i64 p = A_lo; p < A_hi; p++) {
            const sc_i64 i = (sc_i64)A_crd1[p];
            /* for k in B */
            const float a = A_val[p];
            const sc_i64 B_lo = (sc_i64)B_pos1[j];
            const sc_i64 B_hi = (sc_i64)B_pos1[j + 1];
            for (sc_i64 p_1 = B_lo; p_1 < B_hi; p_1++) {
                const sc_i64 k = (sc_i64)B_crd1[p_1];
                /* w[i,k] += A[i,j] * B[j,k] */
                const sc_i64 at = i * k_dim + k;
                const float v = a * B_val[p_1];
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
    for (sc_i64 s = 0; s < (i_dim * k_dim + 4095) / 4096; s++) {
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
                const sc_i64 above = at / k_dim;
                w_crd1_1[w_n] = at - above * k_dim;
                w_crd0_1[w_n] = above;
                w_n = w_n + 1;
            }
        }
    }
    /* for i in w */
    sc_i64 p = 0;
    while (p < w_n) {
        const sc_i64 first = p;
        const sc_i64 i = w_crd0_1[first];
        p = first + 1;
        while ((p < w_n) && (w_crd0_1[p] == i)) {
            p = p + 1;
        }
        const sc_i64 last = p;
        const sc_i64 first_1 = C_next1;
        /* for k in w */
        for (sc_i64 p_1 = first; p_1 < last; p_1++) {
            const sc_i64 k = w_crd1_1[p_1];
            /* C[i,k] = w[i,k] */
            C_crd1[C_next1] = (int)k;
            C_val[C_next1] = w_lane[i * k_dim + k];
            C_next1 = C_next1 + 1;
        }
        if (C_next1 != first_1) {
            C_crd0[C_next0] = (int)i;
            C_pos1[C_next0 + 1] = (int)C_next1;
            C_next0 = C_next0 + 1;
        }
    }
    for (sc_i64 x = 0, sc_end = w_n; x < sc_end; x++) {
        w_lane[w_crd0_1[x] * k_dim + w_crd1_1[x]] = 0.0f;
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
