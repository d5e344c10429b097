/* convert.c: any format to any format; checks, and the choice of the way.
 *
 * Every pair of formats has a way, through a sorted list of entries. A few
 * pairs of two-dimensional formats have a shorter one, listed in `shortcut`,
 * others one in two or three of these steps (convert_way.c);
 * dense tensors of more dimensions are matrices first (convert_fold.c), and
 * dense levels at the end move as a whole (convert_tail.c).
 * Both keep the same promises: at most one allocation for each array of the
 * result, of its exact size, and nothing written outside it. Arrays that would
 * be copies of the source's are the source's. */
#include <string.h>

#include "../watch.h"
#include "convert.h"

/* ---- checks ---- */
static int check_level(const sc_tensor *t, int l, const char *which, sc_err *e)
{
    const sc_levelspec *s = &t->format.level[l];
    int64_t extent = t->view.dim[s->dim];
    if (s->part != SC_WHOLE && extent % s->block)
        return sc_error(e, SC_EVALUE,
                        "%s: dimension %d of extent %lld is not a multiple of its block %d; pad it", which,
                        s->dim, (long long)extent, s->block);
    if (sc_kind_of(s)->crd && t->itype == SC_I32 && sc_level_extent(s, t->view.dim) > (int64_t)INT32_MAX + 1)
        return sc_error(e, SC_EVALUE,
                        "%s: extent %lld of dimension %d exceeds what i32 indices reach: use i64", which,
                        (long long)extent, s->dim);
    return SC_OK;
}

static int check(const sc_tensor *from, const sc_tensor *to, sc_err *e)
{
    if (from->format.ndim != to->format.ndim)
        return sc_error(e, SC_EVALUE, "expected a target format of %d dimensions, got %d", from->format.ndim,
                        to->format.ndim);
    if (!sc_format_is_dense(&to->format) && to->itype != SC_I32 && to->itype != SC_I64)
        return sc_error(e, SC_ETYPE, "expected an index type of i32 or i64 for the target, got type %d",
                        (int)to->itype);
    for (int l = 0, rc; l < from->format.nlevel; l++)
        if ((rc = check_level(from, l, "source", e))) return rc;
    for (int l = 0, rc; l < to->format.nlevel; l++)
        if ((rc = check_level(to, l, "target", e))) return rc;
    return SC_OK;
}

/* ---- the choice ---- */
typedef int way(const sc_conversion *);

static bool unique(const sc_format *f)
{
    for (int l = 0; l < f->nlevel; l++)
        if (!f->level[l].unique) return false;
    return true;
}

/* Two levels of these kinds over whole dimensions. */
static bool pair(const sc_format *f, sc_level_kind outer, sc_level_kind inner)
{
    return f->ndim == 2 && f->nlevel == 2 && f->level[0].kind == outer && f->level[1].kind == inner &&
           f->level[0].part == SC_WHOLE && f->level[1].part == SC_WHOLE;
}

static bool csr(const sc_format *f) { return pair(f, SC_DENSE, SC_COMPRESSED) && unique(f); }

static bool dcsr(const sc_format *f) { return pair(f, SC_COMPRESSED, SC_COMPRESSED) && unique(f); }

/* Rows that are all there, or those with entries. */
static bool by_rows(const sc_format *f) { return csr(f) || dcsr(f); }

static bool coo(const sc_format *f) { return pair(f, SC_COMPRESSED, SC_SINGLETON) && !f->level[0].unique; }

/* (dense, compressed) over blocks of dense tiles. */
static bool bsr(const sc_format *f)
{
    const sc_levelspec *s = f->level;
    return f->ndim == 2 && f->nlevel == 4 && unique(f) && s[0].kind == SC_DENSE && sc_kind_of(&s[1])->pos &&
           s[2].kind == SC_DENSE && s[3].kind == SC_DENSE && s[0].part == SC_DIV && s[1].part == SC_DIV &&
           s[2].part == SC_MOD && s[3].part == SC_MOD;
}

/* Entries, rows and columns that sc_deal can number. */
static bool fits(const sc_tensor *t)
{ return t->view.nval <= UINT32_MAX && t->view.dim[0] <= UINT32_MAX && t->view.dim[1] <= UINT32_MAX; }

/* Marking blocks looks at a word for each 2^18 of them in every row of blocks. */
static bool marks(const sc_tensor *from, const sc_format *to)
{
    double rows = (double)from->view.dim[to->level[0].dim] / to->level[0].block;
    double blocks = (double)from->view.dim[to->level[1].dim] / to->level[1].block;
    double n = 4 * (double)from->view.nval + 65536;
    return blocks <= n && rows * (blocks / (1 << 18)) <= n;
}

static way *shortcut(const sc_tensor *source, const sc_format *to)
{
    const sc_format *from = &source->format;
    bool dense = sc_format_is_dense(from), to_dense = sc_format_is_dense(to);
    bool order = from->nlevel && to->nlevel && from->level[0].dim == to->level[0].dim;
    if (dense && to_dense) return sc_convert_dense_copy;
    if (!dense && sc_format_equal(from, to) && unique(from)) return sc_convert_same;
    if (dense && csr(to)) return sc_convert_dense_csr;
    if (csr(from) && to_dense) return sc_convert_csr_dense;
    if (csr(from) && csr(to) && !order && fits(source)) return sc_convert_csr_transpose;
    if (csr(from) && dcsr(to) && order) return sc_convert_csr_dcsr;
    if (dcsr(from) && csr(to) && order) return sc_convert_dcsr_csr;
    if (by_rows(from) && coo(to) && order) return sc_convert_csr_coo;
    if (dense && coo(to)) return sc_convert_dense_coo;
    if (coo(from) && from->level[1].unique && to_dense) return sc_convert_coo_dense;
    if (csr(from) && bsr(to) && order && marks(source, to)) return sc_convert_csr_bsr;
    if (bsr(from) && csr(to) && order) return sc_convert_bsr_csr;
    if (dense && bsr(to)) return sc_convert_dense_bsr;
    if (bsr(from) && to_dense) return sc_convert_bsr_dense;
    if (coo(from) && csr(to) && fits(source)) return sc_convert_coo_csr;
    if (unique(from) && sc_convert_is_list(from, to)) return sc_convert_list_words;
    if (unique(from) && sc_convert_is_list(to, from)) return sc_convert_words_list;
    return NULL;
}

/* Whether rows of this dimension, all of them, are not many more than the entries. */
static bool dense_rows(const sc_tensor *t, int dim) { return t->view.dim[dim] <= 4 * t->view.nval + 65536; }

static bool repeats(const sc_format *f) { return !f->level[f->nlevel - 1].unique; }

/* Rows from which a short way leads to the target, and to which short ways lead from the source; false: there are none,
 * or the target stores entries of one place that rows would add up. */
static bool by_way(const sc_tensor *from, const sc_format *to, sc_format *rows)
{
    const bool across = csr(to);
    sc_format unused;
    if (to->ndim != 2 || sc_format_is_dense(&from->format) || sc_format_is_dense(to)) return false;
    if (across && csr(&from->format)) return false;
    if (repeats(&from->format) && repeats(to)) return false;
    const int dim = (across ? &from->format : to)->level[0].dim;
    sc_tensor between = *from;
    between.format = *rows = sc_convert_rows(dim);
    if (!dense_rows(from, dim) || !shortcut(&between, to)) return false;
    return shortcut(from, rows) || (!across && by_way(from, rows, &unused));
}

static int long_way(const sc_conversion *c)
{
    sc_list s = {0};
    int rc = sc_format_is_dense(&c->from->format) ? sc_list_dense(c, &s) : sc_list_sparse(c, &s);
    bool scatter = sc_format_is_dense(&c->to->format) && unique(&c->from->format);
    if (scatter)
        s.distinct = true; /* every entry has a place of its own: no order needed */
    else if (!rc)
        rc = sc_list_sort(c, &s);
    if (!rc) rc = sc_list_pack(c, &s);
    sc_list_free(&s);
    return rc;
}

static void dense_strides(sc_tensor *t)
{
    int64_t stride = 1;
    for (int l = t->format.nlevel - 1; l >= 0; l--) {
        int d = t->format.level[l].dim;
        t->view.stride[d] = stride;
        stride *= sc_max(t->view.dim[d], 1);
    }
}

static int prepare(const sc_tensor *from, sc_tensor *to, sc_err *e)
{
    to->dtype = from->dtype;
    memset(&to->view, 0, sizeof to->view);
    memcpy(to->view.dim, from->view.dim, sizeof to->view.dim);
    int rc = check(from, to, e);
    if (rc || !sc_format_is_dense(&to->format)) return rc;
    int64_t n = (int64_t)sc_dtype_size(from->dtype);
    for (int d = 0; d < to->format.ndim; d++)
        if (!sc_mul(n, sc_max(to->view.dim[d], 1), &n))
            return sc_error(e, SC_EVALUE, "a dense tensor of this shape has more than 2^63 bytes");
    dense_strides(to);
    return SC_OK;
}

static int convert(const sc_conversion *c)
{
    /* from a dense tensor to a sparse one, the short ways take what is not zero */
    const bool all = c->whole && sc_format_is_dense(&c->from->format) && !sc_format_is_dense(&c->to->format);
    sc_format rows;
    if (c->fill != 0) return long_way(c);
    way *short_way = c->where || all ? NULL : shortcut(c->from, &c->to->format);
    if (!short_way && by_way(c->from, &c->to->format, &rows)) return sc_convert_by_way(c, &rows, convert);
    if (!short_way && !c->where && !all && sc_convert_folds(c)) return sc_convert_fold(c, long_way);
    if (!short_way && unique(&c->from->format) && sc_convert_has_tail(c)) return sc_convert_tail(c, convert);
    return short_way ? short_way(c) : long_way(c);
}

/* A source whose values lie elsewhere: they are put in place first, and the
 * resulting perm is led back to where they were. */
static int convert_through(sc_conversion *c)
{
    sc_tensor t = *c->from;
    int64_t n = t.view.nval, *at = sc_convert_take(c, n, sizeof *at);
    void *val = sc_convert_take(c, n, sc_dtype_size(t.dtype));
    int rc = at && val ? SC_OK : SC_ENOMEM;
    if (!rc) {
        sc_convert_narrow(at, SC_I64, t.view.perm, t.itype, n);
        sc_gather_values(val, t.view.val, at, SC_I64, n, t.dtype);
        t.view.val = val;
        t.view.perm = NULL;
        c->from = &t;
        c->lent = true;
        rc = convert(c);
    }
    if (!rc && c->perm && *c->perm) sc_convert_lead(*c->perm, c->to->view.nval, at);
    sc_work_give(at);
    sc_work_give(val);
    return rc;
}

static int converted(sc_conversion *c)
{
    if (c->perm) *c->perm = NULL;
    int rc = prepare(c->from, c->to, c->err);
    if (rc) return rc;
    rc = c->from->view.perm && !sc_format_is_dense(&c->from->format) ? convert_through(c) : convert(c);
    return rc == SC_ESTOP ? sc_error(c->err, SC_ESTOP, "interrupted while a tensor is converted") : rc;
}

static int told(sc_conversion *c)
{
    sc_progress_begin();
    const int rc = converted(c);
    sc_progress_end();
    return rc;
}

static int start(sc_conversion *c)
{
    sc_span span;
    const sc_tensor *from = c->from; /* which conversions through another tensor change */
    if (!sc_is_watched()) return told(c);
    sc_span_begin(&span, "convert", from, 1);
    const int rc = told(c);
    sc_span_end(&span, "conversion", c->to, 1, !rc);
    return rc;
}

int sc_convert(const sc_tensor *from, sc_tensor *to, sc_alloc *alloc, void *ctx, int64_t **perm, sc_err *e)
{
    return start(
        &(sc_conversion){.from = from, .to = to, .alloc = alloc, .ctx = ctx, .perm = perm, .err = e});
}

int sc_convert_layout(const sc_tensor *from, sc_tensor *to, sc_alloc *alloc, void *ctx, int64_t **perm,
                      sc_err *e)
{
    return start(&(sc_conversion){
        .from = from, .to = to, .alloc = alloc, .ctx = ctx, .perm = perm, .err = e, .whole = true});
}

int sc_convert_few(const sc_tensor *from, int64_t most, sc_tensor *to, sc_alloc *alloc, void *ctx, bool *over,
                   sc_err *e)
{
    *over = false;
    return start(&(sc_conversion){
        .from = from, .to = to, .alloc = alloc, .ctx = ctx, .err = e, .most = most, .over = over});
}

int sc_convert_where(const sc_tensor *from, const uint8_t *where, double fill, sc_tensor *to, sc_alloc *alloc,
                     void *ctx, sc_err *e)
{
    return start(&(sc_conversion){
        .from = from, .to = to, .alloc = alloc, .ctx = ctx, .err = e, .where = where, .fill = fill});
}
