/* convert_way.c: conversions of matrices in two steps, by way of rows that are all there.
 *
 * Formats of two dimensions have short ways from rows and to rows, and rows of one order one to those of the other. So
 * what has no short way of its own goes by way of such rows where these are short; the list of entries takes five to
 * twenty times as long. What is in between lies in memory that is given back. */
#include <string.h>

#include "convert.h"

enum { TAKES = 4 }; /* pos, crd and values of rows, and perm */

typedef struct {
    void *taken[TAKES];
} between;

static void *take(void *ctx, int what, int level, sc_dtype t, int64_t n)
{
    between *x = ctx;
    const int at = what == SC_POS ? 0 : what == SC_VAL ? 1 : level < 0 ? 2 : 3;
    return x->taken[at] = sc_work_take((size_t)sc_max(n, 1) * sc_dtype_size(t));
}

typedef struct {
    int64_t *perm;
    const int64_t *first;
} leading;

static void lead_range(void *arg, int lane, int64_t begin, int64_t end)
{
    const leading *x = arg;
    (void)lane;
    for (int64_t i = begin; i < end; i++)
        if (x->perm[i] >= 0) x->perm[i] = x->first[x->perm[i]];
}

void sc_convert_lead(int64_t *perm, int64_t n, const int64_t *first)
{ sc_parallel_ranges(sc_team_lanes((double)n), n, lead_range, &(leading){perm, first}); }

sc_format sc_convert_rows(int dim)
{
    sc_format f = {.ndim = 2, .nlevel = 2};
    f.level[0] = (sc_levelspec){.kind = SC_DENSE, .unique = 1, .dim = (uint8_t)dim};
    f.level[1] = (sc_levelspec){.kind = SC_COMPRESSED, .unique = 1, .dim = (uint8_t)!dim};
    return f;
}

int sc_convert_by_way(const sc_conversion *c, const sc_format *way, int (*convert)(const sc_conversion *))
{
    between x = {0};
    int64_t *first = NULL;
    sc_tensor rows = {.format = *way, .dtype = c->from->dtype, .itype = c->to->itype};
    sc_conversion to_rows = *c, from_rows = *c;
    memcpy(rows.view.dim, c->from->view.dim, sizeof rows.view.dim);
    to_rows.to = &rows, to_rows.alloc = take, to_rows.ctx = &x, to_rows.perm = c->perm ? &first : NULL;
    int rc = convert(&to_rows);
    from_rows.from = &rows, from_rows.lent = from_rows.passing = true;
    if (!first) from_rows.perm = NULL; /* entries were added up */
    if (!rc) rc = convert(&from_rows);
    if (!rc && first && *c->perm) sc_convert_lead(*c->perm, c->to->view.nval, first);
    for (int k = 0; k < TAKES; k++) sc_work_give(x.taken[k]);
    return rc;
}
