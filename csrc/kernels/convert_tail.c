/* convert_tail.c: tensors whose last levels are dense, to formats that end in the same ones.
 *
 * The values below an entry of the levels above stay together, in their order. So the levels above are converted alone,
 * with the numbers of their entries for values, and what lies below follows as a whole. */
#include <string.h>

#include "convert.h"

typedef struct {
    const sc_conversion *c;
    int levels;         /* how many there are below */
    int64_t width;      /* values below an entry */
    int64_t *number;    /* of the entries of the source, from one on */
    void *taken;        /* memory of the numbers of the result */
    const int64_t *was; /* those numbers; 0: no entry */
    void *val;
    int64_t *perm;
} tail;

/* How many levels two formats end in, dense and alike; neither is dense. */
static int shared(const sc_format *a, const sc_format *b)
{
    const int most = (int)sc_min(sc_format_dense_tail(a), sc_format_dense_tail(b));
    int n = 0;
    while (n < most && a->level[a->nlevel - 1 - n].dim == b->level[b->nlevel - 1 - n].dim) n++;
    return n;
}

bool sc_convert_has_tail(const sc_conversion *c)
{
    const sc_format *f = &c->from->format, *to = &c->to->format;
    if (sc_format_is_dense(f) || sc_format_is_dense(to) || !c->from->view.nval) return false;
    return shared(f, to) > 0;
}

/* The dimensions that are not below, renumbered. */
static void above(const tail *x, const sc_tensor *t, sc_tensor *top)
{
    int new[SC_MAXDIM] = {0};
    const int n = t->format.nlevel - x->levels;
    bool below[SC_MAXDIM] = {false};
    *top = (sc_tensor){.format = {.nlevel = n}, .dtype = SC_I64, .itype = t->itype};
    for (int l = n; l < t->format.nlevel; l++) below[t->format.level[l].dim] = true;
    for (int d = 0; d < t->format.ndim; d++) {
        if (below[d]) continue;
        new[d] = top->format.ndim++;
        top->view.dim[new[d]] = t->view.dim[d];
    }
    for (int l = 0; l < n; l++) {
        top->format.level[l] = t->format.level[l];
        top->format.level[l].dim = (uint8_t)new[t->format.level[l].dim];
        top->view.level[l] = t->view.level[l];
    }
}

static void *take(void *ctx, int what, int level, sc_dtype t, int64_t n)
{
    tail *x = ctx;
    if (what != SC_VAL) return x->c->alloc(x->c->ctx, what, level, t, n);
    return x->taken = sc_work_take((size_t)sc_max(n, 1) * sc_dtype_size(t));
}

static void count_range(void *arg, int lane, int64_t begin, int64_t end)
{
    int64_t *number = arg;
    (void)lane;
    for (int64_t i = begin; i < end; i++) number[i] = i + 1;
}

static void move_range(void *arg, int lane, int64_t begin, int64_t end)
{
    const tail *x = arg;
    const size_t bytes = (size_t)x->width * sc_dtype_size(x->c->from->dtype);
    const char *from = x->c->from->view.val;
    (void)lane;
    for (int64_t i = begin; i < end; i++) {
        const int64_t k = x->was[i] - 1;
        char *to = (char *)x->val + (size_t)i * bytes;
        if (k < 0)
            memset(to, 0, bytes);
        else
            memcpy(to, from + (size_t)k * bytes, bytes);
        for (int64_t w = 0; x->perm && w < x->width; w++)
            x->perm[i * x->width + w] = k < 0 ? -1 : k * x->width + w;
    }
}

/* The levels of the result, and the values below its entries. */
static int put(tail *x, const sc_tensor *top)
{
    const sc_conversion *c = x->c;
    const int n = top->format.nlevel;
    int64_t npos = top->view.nval;
    memcpy(c->to->view.level, top->view.level, (size_t)n * sizeof *top->view.level);
    for (int l = n; l < c->to->format.nlevel; l++) {
        const int64_t size = c->to->view.dim[c->to->format.level[l].dim];
        c->to->view.level[l] = (sc_level){.size = size, .npos = npos *= size};
    }
    int rc = sc_convert_val(c, npos, &x->val);
    if (rc || (rc = sc_convert_perm(c, npos, &x->perm))) return rc;
    x->was = top->view.val;
    sc_parallel_ranges(sc_team_lanes((double)npos), top->view.nval, move_range, x);
    return SC_OK;
}

static int converted(tail *x, int (*convert)(const sc_conversion *))
{
    sc_conversion c = *x->c;
    sc_tensor from, to;
    above(x, x->c->from, &from);
    above(x, x->c->to, &to);
    from.view.nval = x->c->from->view.nval / x->width;
    from.view.val = x->number = sc_convert_take(&c, from.view.nval, sizeof *x->number);
    if (!x->number) return SC_ENOMEM;
    sc_parallel_ranges(sc_team_lanes((double)from.view.nval / 4), from.view.nval, count_range, x->number);
    c.from = &from, c.to = &to, c.alloc = take, c.ctx = x, c.perm = NULL, c.lent = false;
    const int rc = convert(&c);
    return rc ? rc : put(x, &to);
}

int sc_convert_tail(const sc_conversion *c, int (*convert)(const sc_conversion *))
{
    tail x = {.c = c, .levels = shared(&c->from->format, &c->to->format), .width = 1};
    for (int l = c->from->format.nlevel - x.levels; l < c->from->format.nlevel; l++)
        x.width *= c->from->view.dim[c->from->format.level[l].dim];
    const int rc = converted(&x, convert);
    sc_work_give(x.number);
    sc_work_give(x.taken);
    return rc;
}
