/* Computes
 *   c[i] = a[i] + b[i]
 * with
 *   a: coo f32, indices i32
 *   b: coo f32, indices i32
 *   c: coo f32, indices i32
 * by
 *   par i merge a, b {
 *     c[i] = a[i] + b[i]
 *   }
 */
#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE sc_i64 sc_min_i64(sc_i64 a, sc_i64 b)
{
    return a < b ? a : b;
}
static sc_i64 sc_search_i32(const int *crd, sc_i64 lo, sc_i64 hi, sc_i64 x)
{
    sc_i64 at = lo, step = 1;
    for (; at < hi && crd[at] < x; step += step) {
        lo = at + 1;
        at += step;
    }
    if (at < hi) hi = at;
    while (lo < hi) {
        const sc_i64 mid = lo + (hi - lo) / 2;
        if (crd[mid] < x)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    sc_i64 *restrict const cursors = lane->cursor;
    const int *restrict const a_pos0 = call->view[0].level[0].pos;
    const int *restrict const a_crd0 = call->view[0].level[0].crd;
    const int *restrict const b_pos0 = call->view[1].level[0].pos;
    const int *restrict const b_crd0 = call->view[1].level[0].crd;
    float *restrict const c_val = call->view[2].val;
    const float *restrict const a_val = call->view[0].val;
    const float *restrict const b_val = call->view[1].val;
    int *restrict const c_crd0 = (int *)call->view[2].level[0].crd;

    sc_i64 c_next0 = cursors[0];
    const sc_i64 a_lo = (sc_i64)a_pos0[0];
    const sc_i64 a_hi = (sc_i64)a_pos0[1];
    const sc_i64 a_lo_1 = sc_search_i32(a_crd0, a_lo, a_hi, begin);
    const sc_i64 a_hi_1 = sc_search_i32(a_crd0, a_lo_1, a_hi, end);
    sc_i64 pa = a_lo_1;
    const sc_i64 b_lo = (sc_i64)b_pos0[0];
    const sc_i64 b_hi = (sc_i64)b_pos0[1];
    const sc_i64 b_lo_1 = sc_search_i32(b_crd0, b_lo, b_hi, begin);
    const sc_i64 b_hi_1 = sc_search_i32(b_crd0, b_lo_1, b_hi, end);
    sc_i64 pb = b_lo_1;
    while ((pa < a_hi_1) && (pb < b_hi_1)) {
        const sc_i64 i_a = (sc_i64)a_crd0[pa];
        const sc_i64 i_b = (sc_i64)b_crd0[pb];
        const sc_i64 i = sc_min_i64(i_a, i_b);
        if ((i_a == i) && (i_b == i)) {
            c_crd0[c_next0] = (int)i;
            c_val[c_next0] = a_val[pa] + b_val[pb];
            c_next0 = c_next0 + 1;
        } else if (i_b == i) {
            c_crd0[c_next0] = (int)i;
            c_val[c_next0] = b_val[pb];
            c_next0 = c_next0 + 1;
        } else {
            c_crd0[c_next0] = (int)i;
            c_val[c_next0] = a_val[pa];
            c_next0 = c_next0 + 1;
        }
        pa = pa + (sc_i64)(i_a == i);
        pb = pb + (sc_i64)(i_b == i);
    }
    for (sc_i64 p = pb; p < b_hi_1; p++) {
        const sc_i64 i_1 = (sc_i64)b_crd0[p];
        c_crd0[c_next0] = (int)i_1;
        c_val[c_next0] = b_val[p];
        c_next0 = c_next0 + 1;
    }
    for (sc_i64 p_1 = pa; p_1 < a_hi_1; p_1++) {
        const sc_i64 i_2 = (sc_i64)a_crd0[p_1];
        c_crd0[c_next0] = (int)i_2;
        c_val[c_next0] = a_val[p_1];
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
__attribute__((visibility("default"))) const sc_object SC_OBJECT = {2, sizeof(sc_object), SC_KEY, 1, {body}};
