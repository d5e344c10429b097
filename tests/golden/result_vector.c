/* Computes
 *   c[i] = a[i] * b[i] + 2 * a[i]
 * with
 *   a: coo f64, indices i64
 *   b: coo f64, indices i64
 *   c: coo f64, indices i64
 * by
 *   for i merge a, b {
 *     c[i] = a[i] * b[i] + 2 * a[i]
 *   }
 */
#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE sc_i64 sc_select_i64(_Bool m, sc_i64 a, sc_i64 b)
{
    return b ^ ((a ^ b) & -(sc_i64)m);
}
SC_INLINE sc_i64 sc_min_i64(sc_i64 a, sc_i64 b)
{
    return a < b ? a : b;
}

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    sc_i64 *restrict const cursors = lane->cursor;
    const sc_i64 *restrict const a_pos0 = call->view[0].level[0].pos;
    const sc_i64 *restrict const a_crd0 = call->view[0].level[0].crd;
    const sc_i64 *restrict const b_pos0 = call->view[1].level[0].pos;
    const sc_i64 *restrict const b_crd0 = call->view[1].level[0].crd;
    double *restrict const c_val = call->view[2].val;
    const double *restrict const a_val = call->view[0].val;
    const double *restrict const b_val = call->view[1].val;
    sc_i64 *restrict const c_crd0 = (sc_i64 *)call->view[2].level[0].crd;
    (void)begin;
    (void)end;

    sc_i64 c_next0 = cursors[0];
    /* for i merge a, b */
    const sc_i64 a_lo = a_pos0[0];
    const sc_i64 a_hi = a_pos0[1];
    sc_i64 pa = a_lo;
    const sc_i64 b_lo = b_pos0[0];
    const sc_i64 b_hi = b_pos0[1];
    sc_i64 pb = b_lo;
    if ((pa < a_hi) && (pb < b_hi)) {
        /* while both have one more entry: it is loaded ahead */
        sc_i64 i_a = a_crd0[pa];
        sc_i64 i_b = b_crd0[pb];
        while ((pa + 1 < a_hi) && (pb + 1 < b_hi)) {
            const sc_i64 i = sc_min_i64(i_a, i_b);
            const _Bool in_a = i_a == i;
            const sc_i64 then = a_crd0[pa + 1];
            const _Bool in_b = i_b == i;
            const sc_i64 then_1 = b_crd0[pb + 1];
            if (in_a && in_b) {
                /* c[i] = a[i] * b[i] + 2 * a[i] */
                c_crd0[c_next0] = i;
                c_val[c_next0] = a_val[pa] * b_val[pb] + 2.0 * a_val[pa];
                c_next0 = c_next0 + 1;
            } else if (in_a) {
                /* c[i] = 2 * a[i] */
                c_crd0[c_next0] = i;
                c_val[c_next0] = 2.0 * a_val[pa];
                c_next0 = c_next0 + 1;
            }
            pa = pa + (sc_i64)in_a;
            pb = pb + (sc_i64)in_b;
            i_a = sc_select_i64(in_a, then, i_a);
            i_b = sc_select_i64(in_b, then_1, i_b);
        }
    }
    while ((pa < a_hi) && (pb < b_hi)) {
        const sc_i64 i_a = a_crd0[pa];
        const sc_i64 i_b = b_crd0[pb];
        const sc_i64 i = sc_min_i64(i_a, i_b);
        if ((i_a == i) && (i_b == i)) {
            /* c[i] = a[i] * b[i] + 2 * a[i] */
            c_crd0[c_next0] = i;
            c_val[c_next0] = a_val[pa] * b_val[pb] + 2.0 * a_val[pa];
            c_next0 = c_next0 + 1;
        } else if (i_a == i) {
            /* c[i] = 2 * a[i] */
            c_crd0[c_next0] = i;
            c_val[c_next0] = 2.0 * a_val[pa];
            c_next0 = c_next0 + 1;
        }
        pa = pa + (sc_i64)(i_a == i);
        pb = pb + (sc_i64)(i_b == i);
    }
    /* the rest of a */
    for (sc_i64 p = pa; p < a_hi; p++) {
        const sc_i64 i = a_crd0[p];
        /* c[i] = 2 * a[i] */
        c_crd0[c_next0] = i;
        c_val[c_next0] = 2.0 * a_val[p];
        c_next0 = c_next0 + 1;
    }
    cursors[0] = c_next0;
    return 0;
}

#ifndef SC_KEY
#define SC_KEY ""
#endif
#ifndef SC_OBJECT
#define SC_OBJECT sc_kernels
#endif
__attribute__((visibility("default"))) const sc_object SC_OBJECT = {4, sizeof(sc_object), SC_KEY,
    1, {body}};
