/* drive_units.c: what a unit is, what it weighs, where ranges are cut.
 *
 * The stored leaves ahead of a unit follow from descending the levels below it:
 * a compressed level is asked for pos, every other level multiplies. So the
 * weight ahead of a unit is a prefix sum that is never stored, and cutting a
 * range is a binary search over it. */
#include "drive.h"

#define UNIT_COST 4 /* leaves' worth of an empty unit */

static int64_t ceil_div(int64_t n, int64_t d) { return d > 1 ? n / d + (n % d != 0) : n; }

/* A strided tensor: units are coordinates of a dimension, all alike. */
static void dense_units(sc_units *u, const sc_tensor *t, int level)
{
    int d = level < t->format.nlevel ? t->format.level[level].dim : 0;
    u->n = t->format.nlevel ? t->view.dim[d] : 1;
    u->each = 1;
    for (int l = 0; l < t->format.nlevel; l++)
        if (l != level && !sc_mul(u->each, sc_max(t->view.dim[t->format.level[l].dim], 1), &u->each))
            u->each = INT32_MAX;
}

static void stored_units(sc_units *u, const sc_step *s, const sc_tensor *t)
{
    const sc_level *v = &t->view.level[s->level];
    bool dense_root = s->level == 0 && !sc_kind_of(&t->format.level[0])->crd;
    u->t = t;
    u->each = 0;
    u->n = dense_root ? v->size : v->npos;
    if (s->snap && v->crd) u->snap = v->crd;
    if (s->coords) u->crd = v->crd;
}

void sc_units_init(sc_units *u, const sc_step *s, const sc_tensor *tensor, const int64_t *dim)
{
    *u = (sc_units){.level = s->level, .each = 1};
    const sc_tensor *t = s->arg < 0 ? NULL : &tensor[s->arg];
    if (!t)
        u->n = s->var < 0 ? 1 : ceil_div(dim[s->var], s->block);
    else if (sc_format_is_dense(&t->format))
        dense_units(u, t, s->level);
    else
        stored_units(u, s, t);
    u->end = s->coords ? sc_level_size(&t->format.level[0], t->view.dim) : u->n;
}

/* Rows of a slice have as many positions each. */
static int64_t slice_leaves(const sc_tensor *t, int l, int64_t p)
{
    const sc_level *v = &t->view.level[l];
    const int64_t width = t->format.level[l].width, s = p / width, rows = p % width;
    const int64_t first = sc_index(v->pos, t->itype, s);
    return first * width + (rows ? rows * (sc_index(v->pos, t->itype, s + 1) - first) : 0);
}

int64_t sc_leaves_before(const sc_tensor *t, int level, int64_t p)
{
    for (int l = level + 1; l < t->format.nlevel; l++) {
        const sc_level *v = &t->view.level[l];
        const sc_kind *is = sc_kind_of(&t->format.level[l]);
        p = is->pos      ? sc_index(v->pos, t->itype, p)
            : is->sliced ? slice_leaves(t, l, p)
            : is->one    ? p
                         : p * v->size;
    }
    return p;
}

int64_t sc_units_before(const void *units, int64_t unit)
{
    const sc_units *u = units;
    return u->t ? sc_leaves_before(u->t, u->level, unit) + UNIT_COST * unit : u->each * unit;
}

int64_t sc_units_find(const sc_units *u, int64_t from, int64_t target)
{
    const int below = u->level + 1;
    const bool rows = u->t && below == u->t->format.nlevel - 1 && sc_kind_of(&u->t->format.level[below])->pos;
    const void *pos = rows ? u->t->view.level[below].pos : NULL;
    for (int64_t n = u->n - from; n > 0;) {
        const int64_t half = n / 2, mid = from + half;
        const int64_t before =
            pos ? sc_index(pos, u->t->itype, mid) + UNIT_COST * mid : sc_units_before(u, mid);
        const bool less = before < target;
        from = less ? mid + 1 : from;
        n = less ? n - half - 1 : half;
    }
    return from;
}

int64_t sc_units_child(const sc_units *u, int64_t unit)
{
    int l = u->level + 1;
    if (!u->t || u->snap || l >= u->t->format.nlevel) return -1;
    const sc_level *v = &u->t->view.level[l];
    const sc_kind *is = sc_kind_of(&u->t->format.level[l]);
    return is->pos ? sc_index(v->pos, u->t->itype, unit) : is->one || is->sliced ? -1 : unit * v->size;
}

/* The first position from p on whose coordinate differs from that of p - 1:
 * doubling steps, then halving ones, in sorted coordinates. */
static int64_t run_end(const sc_units *u, int64_t p)
{
    int64_t c = sc_index(u->snap, u->t->itype, p - 1), step = 1, lo = p - 1, hi;
    while (lo + step < u->n && sc_index(u->snap, u->t->itype, lo + step) == c) {
        lo += step;
        step *= 2;
    }
    hi = sc_min(lo + step, u->n);
    while (hi - lo > 1) {
        int64_t mid = lo + (hi - lo) / 2;
        if (sc_index(u->snap, u->t->itype, mid) == c)
            lo = mid;
        else
            hi = mid;
    }
    return hi;
}

int64_t sc_units_cut(const sc_units *u, int64_t total, int lane, int nlane)
{
    if (lane <= 0) return 0;
    if (lane >= nlane) return u->end;
    int64_t p = sc_units_find(u, 0, sc_share(total, lane, nlane));
    if (p <= 0 || p >= u->n) return p <= 0 ? 0 : u->end;
    if (u->crd) return sc_index(u->crd, u->t->itype, p);
    return u->snap ? run_end(u, p) : p;
}

/* ---- sizes ---- */
int sc_size_bytes(const sc_size *s, const int64_t *dim, int64_t *out, sc_err *e)
{
    int64_t n = s->bytes;
    for (int k = 0; k < s->n; k++)
        if (!sc_mul(n, ceil_div(dim[s->var[k]], s->div[k]), &n))
            return sc_error(
                e, SC_EVALUE,
                "a workspace of this expression overflows: more than 2^63 bytes for extents this large");
    *out = n;
    return SC_OK;
}

double sc_size_work(const sc_size *s, const int64_t *dim)
{
    double n = s->bytes > 0 ? (double)s->bytes : 1;
    for (int k = 0; k < s->n; k++) n *= (double)ceil_div(dim[s->var[k]], s->div[k]);
    return n;
}
