/* Computes
 *   C[i,j] = A[i,j] * x[i]
 * with
 *   A: sell(4,16) f32, indices i32
 *   x: dense f32
 *   C: csr f32, indices i32
 * by
 *   par i {
 *     for j in A {
 *       C[i,j] = A[i,j] * x[i]
 *     }
 *   }
 */
#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE sc_i64 sc_shl_i64(sc_i64 x, sc_i64 n) { return (sc_i64)((__UINT64_TYPE__)x << n); }

static int count(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    sc_i64 *restrict const cursors = lane->cursor;
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;

    sc_i64 C_next1 = cursors[0];
    /* par i */
    for (sc_i64 i = begin; i < end; i++) {
        /* for j in A */
        const sc_i64 window = i / 16 * 21;
        const sc_i64 place = (sc_i64)A_pos1[window + i % 16 + 5];
        const sc_i64 A_lo = (sc_i64)A_pos1[window + place / 4];
        const sc_i64 A_hi = (sc_i64)A_pos1[window + place / 4 + 1];
        const sc_i64 row = place % 4;
        const sc_i64 mine = sc_shl_i64(1, row);
        for (sc_i64 q = A_lo; q < A_hi; q++) {
            if (((sc_i64)A_crd1[q * 5] & mine) != 0) {
                /* C[i,j] = A[i,j] * x[i] */
                C_next1 = C_next1 + 1;
            }
        }
    }
    cursors[0] = C_next1;
    return 0;
}

static int most(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    sc_i64 *restrict const cursors = lane->cursor;
    const int *restrict const A_pos1 = call->view[0].level[1].pos;

    sc_i64 C_next1 = cursors[0];
    /* par i */
    for (sc_i64 i = begin; i < end; i++) {
        /* for j in A */
        const sc_i64 window = i / 16 * 21;
        const sc_i64 place = (sc_i64)A_pos1[window + i % 16 + 5];
        const sc_i64 A_lo = (sc_i64)A_pos1[window + place / 4];
        const sc_i64 A_hi = (sc_i64)A_pos1[window + place / 4 + 1];
        /* C[i,j] = A[i,j] * x[i] */
        C_next1 = C_next1 + (A_hi - A_lo);
    }
    cursors[0] = C_next1;
    return 0;
}

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    sc_i64 *restrict const cursors = lane->cursor;
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const float *restrict const x_val = call->view[1].val;
    float *restrict const C_val = call->view[2].val;
    const float *restrict const A_val = call->view[0].val;
    int *restrict const C_crd1 = (int *)call->view[2].level[1].crd;
    int *restrict const C_pos1 = (int *)call->view[2].level[1].pos;

    sc_i64 C_next1 = cursors[0];
    /* par i */
    for (sc_i64 i = begin; i < end; i++) {
        /* for j in A */
        const float x = x_val[i];
        const sc_i64 window = i / 16 * 21;
        const sc_i64 place = (sc_i64)A_pos1[window + i % 16 + 5];
        const sc_i64 A_lo = (sc_i64)A_pos1[window + place / 4];
        const sc_i64 A_hi = (sc_i64)A_pos1[window + place / 4 + 1];
        const sc_i64 row = place % 4;
        const sc_i64 mine = sc_shl_i64(1, row);
        for (sc_i64 q = A_lo; q < A_hi; q++) {
            if (((sc_i64)A_crd1[q * 5] & mine) != 0) {
                const sc_i64 j = (sc_i64)A_crd1[q * 5 + row + 1];
                const sc_i64 p = q * 4 + row;
                /* C[i,j] = A[i,j] * x[i] */
                C_crd1[C_next1] = (int)j;
                C_val[C_next1] = A_val[p] * x;
                C_next1 = C_next1 + 1;
            }
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
