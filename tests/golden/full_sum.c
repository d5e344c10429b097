/* Computes
 *   s = A[i,j]
 * with
 *   A: csr f64, indices i32
 *   s: dense f64
 * by
 *   work w: private f64 {
 *     par i in A batch 64 {
 *       work c: reg f64 {
 *         for j in A unroll 4 {
 *           c += A[i,j]
 *         }
 *       } then {
 *         w += c
 *       }
 *     }
 *   } then {
 *     s = w
 *   }
 * because
 *   loops over A follow its storage order
 *   sums scatter over a small result: every thread has a copy, added up in order
 */
typedef sc_i64 i64x8 __attribute__((vector_size(64)));
typedef double f64x8 __attribute__((vector_size(64)));
typedef double f64x8u __attribute__((vector_size(64), aligned(8), may_alias));

#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE f64x8 sc_load_f64x8(const double *p) { return *(const f64x8u *)p; }
SC_INLINE f64x8 sc_select_f64x8(i64x8 m, f64x8 a, f64x8 b)
{
    return (f64x8)((m & (i64x8)a) | (~m & (i64x8)b));
}
SC_INLINE sc_i64 sc_min_i64(sc_i64 a, sc_i64 b)
{
    return a < b ? a : b;
}
SC_INLINE i64x8 sc_first_i64x8(sc_i64 n)
{
    return (i64x8)((i64x8){0, 1, 2, 3, 4, 5, 6, 7} < (sc_i64)n);
}
SC_INLINE f64x8 sc_even_f64x8(f64x8 a, f64x8 b)
{
    return (f64x8){a[0], a[2], a[4], a[6], b[0], b[2], b[4], b[6]};
}
SC_INLINE f64x8 sc_odd_f64x8(f64x8 a, f64x8 b)
{
    return (f64x8){a[1], a[3], a[5], a[7], b[1], b[3], b[5], b[7]};
}

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    double *restrict const c_terms = lane->scratch;
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const double *restrict const A_val = call->view[0].val;
    double *restrict const w_copy = lane->partial;

    /* work w: private f64 */
    /* par i in A batch 64 */
    sc_i64 from = begin;
    while (from < end) {
        const sc_i64 A_first = (sc_i64)A_pos1[from];
        sc_i64 to = sc_min_i64(from + 64, end);
        while (2048 < (sc_i64)A_pos1[to] - A_first) {
            to = from + (to - from) / 2;
        }
        const sc_i64 A_last = (sc_i64)A_pos1[to];
        const sc_i64 whole = A_last - (A_last - A_first) % 8;
        /* what the entries of all units add */
        for (sc_i64 p = A_first; p < whole; p += 8) {
            /* c += A[i,j] */
            const double term = A_val[p];
            const double term_1 = A_val[p + 1];
            const double term_2 = A_val[p + 2];
            const double term_3 = A_val[p + 3];
            const double term_4 = A_val[p + 4];
            const double term_5 = A_val[p + 5];
            const double term_6 = A_val[p + 6];
            const double term_7 = A_val[p + 7];
            c_terms[p - A_first] = term;
            c_terms[p - A_first + 1] = term_1;
            c_terms[p - A_first + 2] = term_2;
            c_terms[p - A_first + 3] = term_3;
            c_terms[p - A_first + 4] = term_4;
            c_terms[p - A_first + 5] = term_5;
            c_terms[p - A_first + 6] = term_6;
            c_terms[p - A_first + 7] = term_7;
        }
        for (sc_i64 p = whole; p < A_last; p++) {
            const double term = A_val[p];
            c_terms[p - A_first] = term;
        }
        const sc_i64 whole_1 = to - (to - from) % 4;
        /* 4 units at a time, each in a vector */
        for (sc_i64 i = from; i < whole_1; i += 4) {
            const sc_i64 at = (sc_i64)A_pos1[i] - A_first;
            const int count = A_pos1[i + 1] - A_pos1[i];
            f64x8 sum =
                sc_select_f64x8(sc_first_i64x8((sc_i64)count), sc_load_f64x8(&c_terms[at]), (f64x8){0});
            for (sc_i64 q = 8; q < (sc_i64)count; q += 8) {
                sum = sum + sc_select_f64x8(sc_first_i64x8((sc_i64)count - q),
                                            sc_load_f64x8(&c_terms[at + q]), (f64x8){0});
            }
            const sc_i64 at_1 = (sc_i64)A_pos1[i + 1] - A_first;
            const int count_1 = A_pos1[i + 2] - A_pos1[i + 1];
            f64x8 sum_1 =
                sc_select_f64x8(sc_first_i64x8((sc_i64)count_1), sc_load_f64x8(&c_terms[at_1]), (f64x8){0});
            for (sc_i64 q = 8; q < (sc_i64)count_1; q += 8) {
                sum_1 = sum_1 + sc_select_f64x8(sc_first_i64x8((sc_i64)count_1 - q),
                                                sc_load_f64x8(&c_terms[at_1 + q]), (f64x8){0});
            }
            const sc_i64 at_2 = (sc_i64)A_pos1[i + 2] - A_first;
            const int count_2 = A_pos1[i + 3] - A_pos1[i + 2];
            f64x8 sum_2 =
                sc_select_f64x8(sc_first_i64x8((sc_i64)count_2), sc_load_f64x8(&c_terms[at_2]), (f64x8){0});
            for (sc_i64 q = 8; q < (sc_i64)count_2; q += 8) {
                sum_2 = sum_2 + sc_select_f64x8(sc_first_i64x8((sc_i64)count_2 - q),
                                                sc_load_f64x8(&c_terms[at_2 + q]), (f64x8){0});
            }
            const sc_i64 at_3 = (sc_i64)A_pos1[i + 3] - A_first;
            const int count_3 = A_pos1[i + 4] - A_pos1[i + 3];
            f64x8 sum_3 =
                sc_select_f64x8(sc_first_i64x8((sc_i64)count_3), sc_load_f64x8(&c_terms[at_3]), (f64x8){0});
            for (sc_i64 q = 8; q < (sc_i64)count_3; q += 8) {
                sum_3 = sum_3 + sc_select_f64x8(sc_first_i64x8((sc_i64)count_3 - q),
                                                sc_load_f64x8(&c_terms[at_3 + q]), (f64x8){0});
            }
            const f64x8 pairs = sc_even_f64x8(sum, sum_1) + sc_odd_f64x8(sum, sum_1);
            const f64x8 pairs_1 = sc_even_f64x8(sum_2, sum_3) + sc_odd_f64x8(sum_2, sum_3);
            const f64x8 pairs_2 = sc_even_f64x8(pairs, pairs_1) + sc_odd_f64x8(pairs, pairs_1);
            const f64x8 pairs_3 = sc_even_f64x8(pairs_2, pairs_2) + sc_odd_f64x8(pairs_2, pairs_2);
            {
                /* work c: reg f64 */
                double c = pairs_3[0];
                /* w += c */
                w_copy[0] = w_copy[0] + c;
            }
            {
                double c = pairs_3[1];
                w_copy[0] = w_copy[0] + c;
            }
            {
                double c = pairs_3[2];
                w_copy[0] = w_copy[0] + c;
            }
            {
                double c = pairs_3[3];
                w_copy[0] = w_copy[0] + c;
            }
        }
        for (sc_i64 i = whole_1, sc_end = to; i < sc_end; i++) {
            const sc_i64 at = (sc_i64)A_pos1[i] - A_first;
            const int count = A_pos1[i + 1] - A_pos1[i];
            f64x8 sum =
                sc_select_f64x8(sc_first_i64x8((sc_i64)count), sc_load_f64x8(&c_terms[at]), (f64x8){0});
            for (sc_i64 q = 8; q < (sc_i64)count; q += 8) {
                sum = sum + sc_select_f64x8(sc_first_i64x8((sc_i64)count - q),
                                            sc_load_f64x8(&c_terms[at + q]), (f64x8){0});
            }
            const f64x8 pairs = sc_even_f64x8(sum, sum) + sc_odd_f64x8(sum, sum);
            const f64x8 pairs_1 = sc_even_f64x8(pairs, pairs) + sc_odd_f64x8(pairs, pairs);
            const f64x8 pairs_2 = sc_even_f64x8(pairs_1, pairs_1) + sc_odd_f64x8(pairs_1, pairs_1);
            {
                double c = pairs_2[0];
                w_copy[0] = w_copy[0] + c;
            }
        }
        if (to == from) {
            /* a unit of too many entries, alone */
            /* work c: reg f64 */
            double c = 0.0;
            /* for j in A unroll 4 */
            const sc_i64 A_lo = (sc_i64)A_pos1[from];
            const sc_i64 A_hi = (sc_i64)A_pos1[from + 1];
            const sc_i64 count = A_hi - A_lo;
            const sc_i64 whole_2 = A_lo + (count - count % 4);
            double c_1 = 0.0;
            double c_2 = 0.0;
            double c_3 = 0.0;
            for (sc_i64 p = A_lo; p < whole_2; p += 4) {
                /* c += A[i,j] */
                c = c + A_val[p];
                c_1 = c_1 + A_val[p + 1];
                c_2 = c_2 + A_val[p + 2];
                c_3 = c_3 + A_val[p + 3];
            }
            c = c + c_1;
            c = c + c_2;
            c = c + c_3;
            for (sc_i64 p = whole_2; p < A_hi; p++) {
                c = c + A_val[p];
            }
            /* w += c */
            w_copy[0] = w_copy[0] + c;
            to = from + 1;
        }
        from = to;
    }
    return 0;
}

static int body_1(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 copies = call->copies[0];
    double *restrict const w_copy_1 = call->shared[0];
    double *restrict const s_val = call->view[1].val;
    (void)lane;
    (void)begin;
    (void)end;

    /* s = w */
    double w = 0.0;
    for (sc_i64 copy = 0; copy < copies; copy++) {
        w = w + w_copy_1[copy];
    }
    s_val[0] = w;
    return 0;
}

#ifndef SC_KEY
#define SC_KEY ""
#endif
#ifndef SC_OBJECT
#define SC_OBJECT sc_kernels
#endif
__attribute__((visibility("default"))) const sc_object SC_OBJECT = {4, sizeof(sc_object), SC_KEY,
    2, {body, body_1}};
