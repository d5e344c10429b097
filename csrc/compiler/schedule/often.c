/* often.c: layouts of a sparse operand that is multiplied often, which pay for many products only.
 *
 * Cuts and slices, of diagonals or of sorted rows, have values of their own. Words of bits and full blocks read the values
 * of csr where they are. What else a matrix must have for a layout is counted by the caller, and stands in `often`. */
#include <string.h>

#include "private.h"

#define SMALLCUT 64  /* coordinates in a cut: from this size .. */
#define LARGECUT 128 /* .. to this, by doubling */
#define FEWSUMS 4    /* of a row of bits, where a quarter of all places have entries */
#define SORTED 32    /* bytes of the vectors, or more, for which rows are sorted by length */
#define FEWROWS 8    /* of a block, whose sums stand in registers, a vector each */

/* Where a format has dense levels over indices of the result, then a compressed one that is summed: *to is that format
 * in cuts of about so many coordinates, which divide the extent. The rows that a cut reads fit a near cache. */
static bool in_cuts(const Prog *p, const Assign *a, const Tensor *t, const sc_format *from, int about,
                    sc_format *to)
{
    const int last = from->nlevel - 1;
    if (last < 1 || last + 1 == SC_MAXLEVEL || a->lhs->tensor->dtype != p->type) return false;
    for (int k = 0; k <= last; k++) {
        const sc_levelspec *v = &from->level[k];
        const bool kept = in(expr_vars(a->lhs), t->dimvar[v->dim]);
        if (v->part != SC_WHOLE || kept != (k < last) || !v->unique) return false;
        if (k < last ? sc_kind_of(v)->crd : !sc_kind_of(v)->pos) return false;
    }
    const sc_levelspec end = from->level[last];
    const int64_t n = p->var[t->dimvar[end.dim]].extent;
    int block = about;
    while (n % block) block--;
    if (2 * block <= about || 2 * block > n) return false;
    *to = *from;
    to->nlevel++;
    memcpy(to->level + 1, from->level, (size_t)last * sizeof *to->level);
    to->level[0] =
        (sc_levelspec){.kind = SC_DENSE, .unique = 1, .dim = end.dim, .part = SC_DIV, .block = block};
    to->level[last + 1] = end;
    to->level[last + 1].part = SC_MOD;
    to->level[last + 1].block = block;
    return true;
}

/* Rows that have enough entries on diagonals of a slice. */
static bool in_slices(const Tensor *t, sc_format *to)
{
    const int last = t->format.nlevel - 1;
    if (!t->often.diagonal || last < 1) return false;
    *to = t->format;
    to->level[last].kind = SC_DIAGONALS;
    to->level[last].width = SC_SLICE;
    return true;
}

/* Rows that are about as long as others near them: a slice has a lane for each. */
static bool in_sorted(const Prog *p, const Tensor *t, sc_format *to)
{
    const int last = t->format.nlevel - 1;
    if (!t->often.window || last < 1 || p->vector_bytes < SORTED) return false;
    *to = t->format;
    to->level[last].kind = SC_SELL;
    to->level[last].width = p->vector_bytes / (int)sizeof(float);
    to->level[last].block = t->often.window;
    return true;
}

/* Sums of a row that share what is read of it: columns of what it is multiplied with. */
static double sums_beside(const Prog *p, const Assign *a, const Tensor *t)
{
    uint32_t stored = 0;
    double sums = 1;
    for (int d = 0; d < t->ndim; d++) stored |= 1u << t->dimvar[d];
    for (int v = 0; v < p->nvar; v++)
        if (in(expr_vars(a->lhs) & ~stored, v)) sums *= (double)schedule_bucket(p->var[v].extent);
    return sums;
}

/* So many places have entries that bits take less time than coordinates: with some sums beside each other; with more, or
 * one, they take longer. */
static bool in_words(const Prog *p, const Tensor *t, double sums, sc_format *to)
{
    const int last = t->format.nlevel - 1, full = t->often.full;
    const sc_levelspec *v = &t->format.level[last];
    if (last < 1 || !sc_kind_of(v)->pos || !v->unique || v->part != SC_WHOLE || p->vector_bytes != 64 ||
        t->perm || sc_dtype_size(t->dtype) < 4)
        return false;
    *to = t->format;
    to->level[last].kind = SC_BITMASK;
    return full > 1 ? sums <= MAXBESIDE : full && sums > 1 && sums <= FEWSUMS;
}

/* A side of smaller blocks in those of side n, if there are any: registers hold few sums. */
static int smaller(int n)
{
    int side = FEWROWS;
    while (n % side) side--;
    return side > 1 ? side : n;
}

/* Full blocks of csr. Where rows of the result lie across, as those of F.linear, a block of it should be whole lines. */
static bool in_blocks(const Assign *a, const Tensor *t, double sums, sc_format *to)
{
    int side[] = {t->often.rows, t->often.columns};
    if (t->perm || side[0] <= (sums > 1 ? 1 : 2)) return false;
    const bool across = expr_unit_var(a->lhs) == t->dimvar[t->format.level[0].dim];
    for (int k = 0; k < 2 && !across; k++) side[k] = smaller(side[k]);
    *to = t->format;
    to->nlevel = 4;
    for (int l = 0; l < 4; l++) {
        to->level[l] = t->format.level[l % 2];
        to->level[l].part = l < 2 ? SC_DIV : SC_MOD;
        to->level[l].block = side[l % 2];
    }
    to->level[2].kind = SC_PLANAR;
    to->level[3].kind = SC_DENSE;
    return true;
}

int often_formats(const Prog *p, const Assign *a, const Tensor *t, const sc_format *from, bool as_given,
                  sc_format *to)
{
    const int cut = t->often.cut, first = cut > 1 ? cut : SMALLCUT, last = cut > 1 ? cut : LARGECUT;
    const double sums = sums_beside(p, a, t);
    int n = 0;
    for (int about = first; cut && about <= last; about *= 2) n += in_cuts(p, a, t, from, about, &to[n]);
    if (!as_given) {
        if (cut) to[n++] = *from; /* with values of its own too */
        return n;
    }
    n += in_slices(t, &to[n]);
    n += in_sorted(p, t, &to[n]);
    n += in_words(p, t, sums, &to[n]);
    return n + in_blocks(a, t, sums, &to[n]);
}
