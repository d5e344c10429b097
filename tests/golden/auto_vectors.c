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
SC_INLINE sc_i64 sc_select_i64(_Bool m, sc_i64 a, sc_i64 b)
{
    return b ^ ((a ^ b) & -(sc_i64)m);
}
SC_INLINE float sc_select_f32(_Bool m, float a, float b)
{
    union { float f; int i; } x = {a}, y = {b};
    y.i ^= (x.i ^ y.i) & -(int)m;
    return y.f;
}
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
    if ((pa < a_hi_1) && (pb < b_hi_1)) {
        sc_i64 i_a = (sc_i64)a_crd0[pa];
        sc_i64 i_b = (sc_i64)b_crd0[pb];
        while ((pa + 1 < a_hi_1) && (pb + 1 < b_hi_1)) {
            const sc_i64 i = sc_min_i64(i_a, i_b);
            const _Bool in_a = i_a == i;
            const sc_i64 then = (sc_i64)a_crd0[pa + 1];
            const _Bool in_b = i_b == i;
            const sc_i64 then_1 = (sc_i64)b_crd0[pb + 1];
            const float term = a_val[pa];
            const float term_1 = b_val[pb];
            c_crd0[c_next0] = (int)i;
            c_val[c_next0] = sc_select_f32(in_a, term, -0.0f) + sc_select_f32(in_b, term_1, -0.0f);
            c_next0 = c_next0 + 1;
            pa = pa + (sc_i64)in_a;
            pb = pb + (sc_i64)in_b;
            i_a = sc_select_i64(in_a, then, i_a);
            i_b = sc_select_i64(in_b, then_1, i_b);
        }
    }
    while ((pa < a_hi_1) && (pb < b_hi_1)) {
        const sc_i64 i_a_1 = (sc_i64)a_crd0[pa];
        const sc_i64 i_b_1 = (sc_i64)b_crd0[pb];
        const sc_i64 i_1 = sc_min_i64(i_a_1, i_b_1);
        const float term_2 = a_val[pa];
        const float term_3 = b_val[pb];
        c_crd0[c_next0] = (int)i_1;
        c_val[c_next0] = sc_select_f32(i_a_1 == i_1, term_2, -0.0f) + sc_select_f32(i_b_1 == i_1, term_3, -0.0f);
        c_next0 = c_next0 + 1;
        pa = pa + (sc_i64)(i_a_1 == i_1);
        pb = pb + (sc_i64)(i_b_1 == i_1);
    }
    for (sc_i64 p = pb; p < b_hi_1; p++) {
        const sc_i64 i_2 = (sc_i64)b_crd0[p];
        c_crd0[c_next0] = (int)i_2;
        c_val[c_next0] = b_val[p];
        c_next0 = c_next0 + 1;
    }
    for (sc_i64 p_1 = pa; p_1 < a_hi_1; p_1++) {
        const sc_i64 i_3 = (sc_i64)a_crd0[p_1];
        c_crd0[c_next0] = (int)i_3;
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
