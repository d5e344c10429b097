/* Computes
 *   C[i,j] = A[i,j] * v[j]
 *   D[i,j] = 2 * A[i,j]
 *   s[i] = A[i,j]
 * with
 *   A: csr f32, indices i32
 *   v: dense f32
 *   C: dcsr f32, indices i32
 *   D: dcsr f32, indices i32
 *   s: dense f32
 * by
 *   par i in A {
 *     work c: reg f32 {
 *       for j in A {
 *         c += A[i,j]
 *       }
 *     } then {
 *       s[i] = c
 *     }
 *     for j in A {
 *       C[i,j] = A[i,j] * v[j]
 *       D[i,j] = 2 * A[i,j]
 *     }
 *   }
 */
static int count(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    sc_i64 *restrict const cursors = lane->cursor;
    const int *restrict const A_pos1 = call->view[0].level[1].pos;

    sc_i64 C_next0 = cursors[0];
    sc_i64 C_next1 = cursors[1];
    sc_i64 D_next0 = cursors[2];
    sc_i64 D_next1 = cursors[3];
    /* par i in A */
    for (sc_i64 i = begin; i < end; i++) {
        const sc_i64 first = C_next1;
        const sc_i64 first_1 = D_next1;
        /* for j in A */
        const sc_i64 A_lo = (sc_i64)A_pos1[i];
        const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
        for (sc_i64 p = A_lo; p < A_hi; p++) {
            /* C[i,j] = A[i,j] * v[j] */
            C_next1 = C_next1 + 1;
            /* D[i,j] = 2 * A[i,j] */
            D_next1 = D_next1 + 1;
        }
        if (C_next1 != first) {
            C_next0 = C_next0 + 1;
        }
        if (D_next1 != first_1) {
            D_next0 = D_next0 + 1;
        }
    }
    cursors[0] = C_next0;
    cursors[1] = C_next1;
    cursors[2] = D_next0;
    cursors[3] = D_next1;
    return 0;
}

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    sc_i64 *restrict const cursors = lane->cursor;
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const float *restrict const A_val = call->view[0].val;
    float *restrict const s_val = call->view[4].val;
    float *restrict const C_val = call->view[2].val;
    const float *restrict const v_val = call->view[1].val;
    int *restrict const C_crd1 = (int *)call->view[2].level[1].crd;
    float *restrict const D_val = call->view[3].val;
    int *restrict const D_crd1 = (int *)call->view[3].level[1].crd;
    int *restrict const C_crd0 = (int *)call->view[2].level[0].crd;
    int *restrict const C_pos1 = (int *)call->view[2].level[1].pos;
    int *restrict const D_crd0 = (int *)call->view[3].level[0].crd;
    int *restrict const D_pos1 = (int *)call->view[3].level[1].pos;

    sc_i64 C_next0 = cursors[0];
    sc_i64 C_next1 = cursors[1];
    sc_i64 D_next0 = cursors[2];
    sc_i64 D_next1 = cursors[3];
    /* par i in A */
    for (sc_i64 i = begin; i < end; i++) {
        const sc_i64 first = C_next1;
        const sc_i64 first_1 = D_next1;
        /* work c: reg f32 */
        float c = 0.0f;
        /* for j in A */
        const sc_i64 A_lo = (sc_i64)A_pos1[i];
        const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
        for (sc_i64 p = A_lo; p < A_hi; p += 2) {
            /* c += A[i,j] */
            c = c + A_val[p];
            if (p + 1 < A_hi) {
                c = c + A_val[p + 1];
            }
        }
        /* s[i] = c */
        s_val[i] = c;
        /* for j in A */
        const sc_i64 A_lo_1 = (sc_i64)A_pos1[i];
        const sc_i64 A_hi_1 = (sc_i64)A_pos1[i + 1];
        for (sc_i64 p = A_lo_1; p < A_hi_1; p++) {
            const sc_i64 j = (sc_i64)A_crd1[p];
            /* C[i,j] = A[i,j] * v[j] */
            C_crd1[C_next1] = (int)j;
            C_val[C_next1] = A_val[p] * v_val[j];
            C_next1 = C_next1 + 1;
            /* D[i,j] = 2 * A[i,j] */
            D_crd1[D_next1] = (int)j;
            D_val[D_next1] = 2.0f * A_val[p];
            D_next1 = D_next1 + 1;
        }
        if (C_next1 != first) {
            C_crd0[C_next0] = (int)i;
            C_pos1[C_next0 + 1] = (int)C_next1;
            C_next0 = C_next0 + 1;
        }
        if (D_next1 != first_1) {
            D_crd0[D_next0] = (int)i;
            D_pos1[D_next0 + 1] = (int)D_next1;
            D_next0 = D_next0 + 1;
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
