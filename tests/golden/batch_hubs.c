/* Computes
 *   y[i] = A[i,j] * x[j]
 * with
 *   A: csr f64, indices i32
 *   x: dense f64
 *   y: dense f64
 * by
 *   par i in A batch 64 {
 *     work c: reg f64 {
 *       vec j in A {
 *         c += A[i,j] * x[j]
 *       }
 *     } then {
 *       y[i] = c
 *     }
 *   }
 * because
 *   loops over A follow its storage order
 */
typedef sc_i64 i64x2 __attribute__((vector_size(16)));
typedef sc_i64 i64x4 __attribute__((vector_size(32)));
typedef sc_i64 i64x8 __attribute__((vector_size(64)));
typedef double f64x2 __attribute__((vector_size(16)));
typedef double f64x2u __attribute__((vector_size(16), aligned(8), may_alias));
typedef double f64x4 __attribute__((vector_size(32)));
typedef double f64x4u __attribute__((vector_size(32), aligned(8), may_alias));
typedef double f64x8 __attribute__((vector_size(64)));
typedef double f64x8u __attribute__((vector_size(64), aligned(8), may_alias));

#define SC_INLINE static inline __attribute__((always_inline))
SC_INLINE f64x8 sc_load_f64x8(const double *p) { return *(const f64x8u *)p; }
SC_INLINE f64x4 sc_load_f64x4(const double *p) { return *(const f64x4u *)p; }
SC_INLINE f64x2 sc_load_f64x2(const double *p) { return *(const f64x2u *)p; }
SC_INLINE void sc_store_f64x4(double *p, f64x4 x) { *(f64x4u *)p = x; }
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
SC_INLINE double sc_hadd_f64x4(f64x4 v)
{
    f64x2 v2 = (f64x2){v[0], v[1]} + (f64x2){v[2], v[3]};
    return v2[0] + v2[1];
}
SC_INLINE double sc_hadd_f64x2(f64x2 v)
{
    return v[0] + v[1];
}
SC_INLINE f64x8 sc_even_f64x8(f64x8 a, f64x8 b)
{
    return (f64x8){a[0], a[2], a[4], a[6], b[0], b[2], b[4], b[6]};
}
SC_INLINE f64x8 sc_odd_f64x8(f64x8 a, f64x8 b)
{
    return (f64x8){a[1], a[3], a[5], a[7], b[1], b[3], b[5], b[7]};
}
SC_INLINE sc_i64 sc_pair_i32(const int *p) { return (sc_i64)(unsigned)p[0] | (sc_i64)p[1] << 32; }
SC_INLINE f64x4 sc_pick_f64x4(const double *p, sc_i64 s, const int *c)
{
    const sc_i64 c0 = sc_pair_i32(c + 0);
    const sc_i64 c2 = sc_pair_i32(c + 2);
    return (f64x4){p[(c0 & 0xffffffff) * s], p[(c0 >> 32) * s], p[(c2 & 0xffffffff) * s], p[(c2 >> 32) * s]};
}
SC_INLINE f64x2 sc_pick_f64x2(const double *p, sc_i64 s, const int *c)
{
    const sc_i64 c0 = sc_pair_i32(c + 0);
    return (f64x2){p[(c0 & 0xffffffff) * s], p[(c0 >> 32) * s]};
}

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    double *restrict const c_terms = lane->scratch;
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const double *restrict const A_val = call->view[0].val;
    const double *restrict const x_val = call->view[1].val;
    double *restrict const y_val = call->view[2].val;

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
            /* c += A[i,j] * x[j] */
            const f64x4 term = sc_load_f64x4(&A_val[p]) * sc_pick_f64x4(x_val, 1, &A_crd1[p]);
            const f64x4 term_1 = sc_load_f64x4(&A_val[p + 4]) * sc_pick_f64x4(x_val, 1, &A_crd1[p + 4]);
            sc_store_f64x4(&c_terms[p - A_first], term);
            sc_store_f64x4(&c_terms[p - A_first + 4], term_1);
        }
        for (sc_i64 p = whole; p < A_last; p++) {
            const sc_i64 j = (sc_i64)A_crd1[p];
            const double term = A_val[p] * x_val[j];
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
                /* y[i] = c */
                y_val[i] = c;
            }
            {
                double c = pairs_3[1];
                y_val[i + 1] = c;
            }
            {
                double c = pairs_3[2];
                y_val[i + 2] = c;
            }
            {
                double c = pairs_3[3];
                y_val[i + 3] = c;
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
                y_val[i] = c;
            }
        }
        if (to == from) {
            /* a unit of too many entries, alone */
            /* work c: reg f64 */
            double c = 0.0;
            const sc_i64 A_lo = (sc_i64)A_pos1[from];
            const sc_i64 A_hi = (sc_i64)A_pos1[from + 1];
            /* vec j in A { c += A[i,j] * x[j] } */
            const sc_i64 count = A_hi - A_lo;
            f64x4 sum = (f64x4){0};
            f64x4 sum_1 = (f64x4){0};
            const sc_i64 rest = count % 8;
            const sc_i64 full = count - rest;
            for (sc_i64 j = 0; j < full; j += 8) {
                sum = sum + sc_load_f64x4(&A_val[A_lo + j]) * sc_pick_f64x4(x_val, 1, &A_crd1[A_lo + j]);
                sum_1 = sum_1 +
                    sc_load_f64x4(&A_val[A_lo + j + 4]) * sc_pick_f64x4(x_val, 1, &A_crd1[A_lo + j + 4]);
            }
            if ((rest & 4) != 0) {
                const sc_i64 j = full + (rest & -8);
                sum = sum + sc_load_f64x4(&A_val[A_lo + j]) * sc_pick_f64x4(x_val, 1, &A_crd1[A_lo + j]);
            }
            sum = sum + sum_1;
            c = c + sc_hadd_f64x4(sum);
            if ((rest & 2) != 0) {
                const sc_i64 j = full + (rest & -4);
                c = c + sc_hadd_f64x2(sc_load_f64x2(&A_val[A_lo + j]) *
                                      sc_pick_f64x2(x_val, 1, &A_crd1[A_lo + j]));
            }
            for (sc_i64 j = full + (rest & -2); j < count; j++) {
                c = c + A_val[A_lo + j] * x_val[(sc_i64)A_crd1[A_lo + j]];
            }
            /* y[i] = c */
            y_val[from] = c;
            to = from + 1;
        }
        from = to;
    }
    return 0;
}

static int part(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const double *restrict const A_val = call->view[0].val;
    const double *restrict const x_val = call->view[1].val;
    double *restrict const c_carry = lane->partial;

    /* par i in A batch 64 */
    /* work c: reg f64 */
    double c = 0.0;
    /* vec j in A { c += A[i,j] * x[j] } */
    const sc_i64 count = end - begin;
    f64x4 sum = (f64x4){0};
    f64x4 sum_1 = (f64x4){0};
    const sc_i64 rest = count % 8;
    const sc_i64 full = count - rest;
    for (sc_i64 j = 0; j < full; j += 8) {
        sum = sum + sc_load_f64x4(&A_val[begin + j]) * sc_pick_f64x4(x_val, 1, &A_crd1[begin + j]);
        sum_1 =
            sum_1 + sc_load_f64x4(&A_val[begin + j + 4]) * sc_pick_f64x4(x_val, 1, &A_crd1[begin + j + 4]);
    }
    if ((rest & 4) != 0) {
        const sc_i64 j = full + (rest & -8);
        sum = sum + sc_load_f64x4(&A_val[begin + j]) * sc_pick_f64x4(x_val, 1, &A_crd1[begin + j]);
    }
    sum = sum + sum_1;
    c = c + sc_hadd_f64x4(sum);
    if ((rest & 2) != 0) {
        const sc_i64 j = full + (rest & -4);
        c = c + sc_hadd_f64x2(sc_load_f64x2(&A_val[begin + j]) * sc_pick_f64x2(x_val, 1, &A_crd1[begin + j]));
    }
    for (sc_i64 j = full + (rest & -2); j < count; j++) {
        c = c + A_val[begin + j] * x_val[(sc_i64)A_crd1[begin + j]];
    }
    c_carry[0] = c;
    return 0;
}

static int finish(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 carried = lane->cursor[1];
    double *restrict const y_val = call->view[2].val;
    double *restrict const c_carry = lane->partial;
    (void)end;

    /* par i in A batch 64 */
    /* work c: reg f64 */
    double c = 0.0;
    for (sc_i64 slot = 0; slot < carried; slot++) {
        c = c + c_carry[slot];
    }
    /* y[i] = c */
    y_val[begin] = c;
    return 0;
}

#ifndef SC_KEY
#define SC_KEY ""
#endif
#ifndef SC_OBJECT
#define SC_OBJECT sc_kernels
#endif
__attribute__((visibility("default"))) const sc_object SC_OBJECT = {4, sizeof(sc_object), SC_KEY,
    3, {body, part, finish}};
