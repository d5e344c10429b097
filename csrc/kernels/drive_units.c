/* drive_units.c: what a unit is, what it weighs, where ranges are cut.
 *
 * The stored leaves ahead of a unit follow from descending the levels below it:
 * a compressed level is asked for pos, and so is one of bit masks, every other level multiplies. So the
 * weight ahead of a unit is a prefix sum that is never stored, and cutting a
 * range is a binary search over it. Where a heavy unit makes the shares of lanes uneven, the least weight is searched
 * that lanes can take one after the other: others then take what the lane of the heavy one leaves. */
#include "drive.h"

#define UNIT_COST 4  /* leaves' worth of an empty unit */
#define TOLERANCE 16 /* a lane may have this part more than the mean without another look */

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
    const sc_levelspec *below = s->level + 1 < t->format.nlevel ? &t->format.level[s->level + 1] : NULL;
    if (below && sc_kind_of(below)->sorted) u->window = below->block;
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
    const sc_levelspec *spec = &t->format.level[l];
    const int64_t width = spec->width;
    if (sc_kind_of(spec)->sorted) { /* those of a window as many together */
        const int64_t slices = spec->block / width, at = p / spec->block * sc_window_step(spec),
                      rows = p % spec->block;
        if (!rows) return at ? sc_index(v->pos, t->itype, at - spec->block - 1) * width : 0;
        const int64_t before = sc_index(v->pos, t->itype, at);
        return before * width + rows * (sc_index(v->pos, t->itype, at + slices) - before) / slices;
    }
    const int64_t s = p / width, rows = p % width;
    const int64_t first = sc_index(v->pos, t->itype, s);
    return first * width + (rows ? rows * (sc_index(v->pos, t->itype, s + 1) - first) : 0);
}

int64_t sc_leaves_before(const sc_tensor *t, int level, int64_t p)
{
    for (int l = level + 1; l < t->format.nlevel; l++) {
        const sc_level *v = &t->view.level[l];
        const sc_kind *is = sc_kind_of(&t->format.level[l]);
        p = is->pos      ? sc_index(v->pos, t->itype, p)
            : is->words  ? sc_index(v->pos, t->itype, p * sc_words(v->size))
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

bool sc_units_within(const sc_units *u, int64_t weight)
{
    return u->t && u->t->rows.most && u->level == u->t->format.nlevel - 2 &&
           u->t->rows.most + UNIT_COST <= weight;
}

int64_t sc_units_child(const sc_units *u, int64_t unit)
{
    int l = u->level + 1;
    if (!u->t || u->snap || l >= u->t->format.nlevel) return -1;
    const sc_level *v = &u->t->view.level[l];
    const sc_kind *is = sc_kind_of(&u->t->format.level[l]);
    if (is->one || sc_kind_walked(is)) return -1; /* positions that are not cut anywhere */
    return is->pos ? sc_index(v->pos, u->t->itype, unit) : unit * v->size;
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

/* Where a cut lies that leaves at least target ahead of it. */
static int64_t cut_at(const sc_units *u, int64_t from, int64_t target)
{
    const int64_t p = sc_units_find(u, from, target);
    if (u->window) return sc_min((p + u->window / 2) / u->window * u->window, u->n);
    return u->snap && p > 0 && p < u->n ? run_end(u, p) : p;
}

int64_t sc_units_edge(const sc_units *u, int64_t p)
{
    if (p <= 0 || p >= u->n) return p <= 0 ? 0 : u->end;
    return u->crd ? sc_index(u->crd, u->t->itype, p) : p;
}

int64_t sc_units_part(const sc_units *u, int64_t begin, int64_t end, int part, int parts)
{
    if (part <= 0 || part >= parts) return part <= 0 ? begin : end;
    const int64_t ahead = sc_units_before(u, begin), all = sc_units_before(u, end) - ahead;
    return sc_min(cut_at(u, begin, ahead + sc_share(all, part, parts)), end);
}

/* Lanes one after the other take as many units as weigh no more than `most`, and at least one; whether that is all. */
static bool fill_lanes(const sc_units *u, int64_t most, int nlane, int64_t *cut)
{
    int64_t p = 0;
    for (int t = 0; t < nlane; t++) {
        cut[t] = p;
        if (p < u->n) p = sc_max(sc_units_find(u, p, sc_units_before(u, p) + most + 1) - 1, p + 1);
    }
    cut[nlane] = u->n;
    return p >= u->n;
}

static int64_t heaviest(const sc_units *u, const int64_t *cut, int nlane)
{
    int64_t most = 0;
    for (int t = 0; t < nlane; t++)
        most = sc_max(most, sc_units_before(u, cut[t + 1]) - sc_units_before(u, cut[t]));
    return most;
}

void sc_units_deal(const sc_units *u, int64_t total, int nlane, int64_t *cut)
{
    for (int t = 0; t <= nlane; t++)
        cut[t] = t == nlane ? u->n : t ? cut_at(u, 0, sc_share(total, t, nlane)) : 0;
    if (u->snap || u->window || !u->t || nlane < 2) return;
    int64_t low = total / nlane, high = heaviest(u, cut, nlane);
    if (high - low <= low / TOLERANCE) return;
    while (high - low > low / (4 * TOLERANCE) + 1) {
        const int64_t most = low + (high - low) / 2;
        *(fill_lanes(u, most, nlane, cut) ? &high : &low) = most;
    }
    fill_lanes(u, high, nlane, cut);
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
