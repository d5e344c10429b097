/* drive.c: walks plans.
 *
 * A call of a small product is a few hundred nanoseconds, so the walk keeps to
 * the stack: views are copied once (kernels index them as one array), counts
 * and workspaces exist only in plans that ask for them. Steps run in order, each
 * one over before the next begins; the first error ends the walk. */
#include <string.h>

#include "drive.h"

/* ---- FILL ---- */
typedef struct {
    const sc_view *view;
    int order[SC_MAXDIM]; /* dimensions of more than one coordinate, by falling stride */
    int n;
    sc_dtype dtype;
    double value;
} strided;

static void order_dims(strided *f, int ndim)
{
    for (int d = 0; d < ndim; d++) {
        int k = f->n;
        if (f->view->dim[d] == 1) continue;
        for (; k > 0 && f->view->stride[f->order[k - 1]] < f->view->stride[d]; k--)
            f->order[k] = f->order[k - 1];
        f->order[k] = d;
        f->n++;
    }
}

/* Elements of the innermost dimensions that lie side by side; *n counts the
 * dimensions left outside. */
static int64_t run_length(const strided *f, int *n)
{
    int64_t run = 1;
    for (*n = f->n; *n > 0 && f->view->stride[f->order[*n - 1]] == run; (*n)--)
        run *= f->view->dim[f->order[*n - 1]];
    return run;
}

static void fill_runs(void *arg, int lane, int64_t begin, int64_t end)
{
    const strided *f = arg;
    int n;
    int64_t run = run_length(f, &n), size = (int64_t)sc_dtype_size(f->dtype);
    (void)lane;
    for (int64_t r = begin; r < end; r++) {
        int64_t at = 0, rest = r;
        for (int k = n - 1; k >= 0; k--) {
            int d = f->order[k];
            at += rest % f->view->dim[d] * f->view->stride[d];
            rest /= f->view->dim[d];
        }
        sc_fill_serial((char *)f->view->val + at * size, f->dtype, run, f->value);
    }
}

static int fill_result(sc_drive *d, const sc_step *s)
{
    int t = d->plan->nin + s->out, n;
    const sc_format *format = &d->tensor[t].format;
    strided f = {.view = &d->view[t], .dtype = d->tensor[t].dtype, .value = s->fill};
    if (!sc_format_is_dense(format)) {
        sc_fill(f.view->val, f.dtype, f.view->nval, s->fill);
        return SC_OK;
    }
    order_dims(&f, format->ndim);
    int64_t run = run_length(&f, &n), runs = 1;
    for (int k = 0; k < n; k++) runs *= f.view->dim[f.order[k]];
    if (run == 0 || runs == 0) return SC_OK;
    if (runs == 1)
        sc_fill(f.view->val, f.dtype, run, s->fill);
    else
        sc_parallel_ranges(sc_team_lanes((double)run * (double)runs / 4), runs, fill_runs, &f);
    return SC_OK;
}

static int fill_shared(sc_drive *d, const sc_step *s)
{
    int64_t n;
    int rc = sc_size_bytes(&s->shared, d->dim, &n, d->err);
    if (rc) return rc;
    sc_work_give(d->shared);
    d->shared = d->call.shared = sc_work_take((size_t)n);
    d->call.nlane = 1;
    if (!d->shared)
        return sc_error(d->err, SC_ENOMEM, "out of memory: a shared workspace of %lld bytes", (long long)n);
    sc_fill(d->shared, s->dtype, n / (int64_t)sc_dtype_size(s->dtype), s->fill);
    return SC_OK;
}

/* ---- sparse results ---- */
/* Fills in sizes, and positions where they follow from those above. Returns the
 * positions of the levels above `level`. */
static int64_t complete(sc_drive *d, int t, int level)
{
    const sc_format *f = &d->tensor[t].format;
    sc_view *v = &d->view[t];
    int64_t n = 1, parent = 1;
    for (int l = 0; l < f->nlevel; l++) {
        if (l == level) parent = n;
        v->level[l].size = sc_level_size(&f->level[l], v->dim);
        if (f->level[l].kind == SC_DENSE || f->level[l].kind == SC_ELL)
            v->level[l].npos = n * v->level[l].size;
        else if (f->level[l].kind == SC_SINGLETON)
            v->level[l].npos = n;
        n = v->level[l].npos;
    }
    return parent;
}

/* Where units are counted: steps from `at` up to the next KERNEL say SCAN. */
static int provide_counts(sc_drive *d, int at)
{
    for (int k = at + 1; k < d->plan->nstep && d->plan->step[k].op != SC_STEP_KERNEL; k++) {
        const sc_step *s = &d->plan->step[k];
        sc_units u;
        int64_t size;
        if (s->op != SC_STEP_SCAN) continue;
        sc_units_init(&u, &d->plan->step[at], d->tensor, d->dim);
        sc_work_give(d->count[s->out]);
        d->count[s->out] = NULL;
        if (sc_mul(u.n + 1, sizeof(int64_t), &size)) d->count[s->out] = sc_work_take((size_t)size);
        if (!d->count[s->out])
            return sc_error(d->err, SC_ENOMEM, "out of memory: counts of %lld units", (long long)u.n);
        sc_fill(d->count[s->out], SC_I64, u.n + 1, 0);
    }
    return SC_OK;
}

typedef struct {
    int64_t *count;
    void *pos;
    sc_dtype itype;
    int64_t sum[SC_MAXLANE + 1];
} scanning;

static void scan_sum(void *arg, int lane, int64_t begin, int64_t end)
{
    scanning *s = arg;
    int64_t n = 0;
    for (int64_t i = begin; i < end; i++) n += s->count[i];
    s->sum[lane] = n;
}

static void scan_write(void *arg, int lane, int64_t begin, int64_t end)
{
    scanning *s = arg;
    int64_t n = s->sum[lane];
    for (int64_t i = begin; i < end; i++) {
        int64_t c = s->count[i];
        s->count[i] = n;
        if (s->pos) sc_index_put(s->pos, s->itype, i, n);
        n += c;
    }
}

/* Exclusive prefix sums of n counts, into count[0..n] and pos[0..n]. */
static int64_t scan(int64_t *count, void *pos, sc_dtype itype, int64_t n)
{
    scanning s = {.count = count, .pos = pos, .itype = itype};
    int lanes = sc_team_lanes((double)n);
    int64_t total = 0;
    sc_parallel_ranges(lanes, n, scan_sum, &s);
    for (int t = 0; t < lanes; t++) {
        int64_t here = s.sum[t];
        s.sum[t] = total;
        total += here;
    }
    sc_parallel_ranges(lanes, n, scan_write, &s);
    count[n] = total;
    if (pos) sc_index_put(pos, itype, n, total);
    return total;
}

static int scan_result(sc_drive *d, const sc_step *s)
{
    int t = d->plan->nin + s->out;
    sc_tensor *r = &d->tensor[t];
    sc_level *level = &d->view[t].level[s->level];
    int64_t parent = complete(d, t, s->level), n = d->nunit;
    if (s->level > 0 && parent != n)
        return sc_error(d->err, SC_EINTERNAL, "plan counts %lld units for a level below %lld positions",
                        (long long)n, (long long)parent);
    if (!level->pos) level->pos = d->alloc(d->ctx[s->out], SC_POS, s->level, r->itype, parent + 1);
    if (!level->pos)
        return sc_error(d->err, SC_ENOMEM, "out of memory: result's pos of %lld entries",
                        (long long)parent + 1);
    bool root = s->level == 0; /* one fibre for all units */
    level->npos = scan(d->count[s->out], root ? NULL : (void *)(uintptr_t)level->pos, r->itype, n);
    if (r->itype == SC_I32 && level->npos > INT32_MAX)
        return sc_error(d->err, SC_EVALUE,
                        "the result stores %lld entries, more than int32 indices count: ask for int64",
                        (long long)level->npos);
    if (root) {
        sc_index_put((void *)(uintptr_t)level->pos, r->itype, 0, 0);
        sc_index_put((void *)(uintptr_t)level->pos, r->itype, 1, level->npos);
    }
    r->view = d->view[t];
    return SC_OK;
}

/* crd of the level and of the singletons below it, then values. */
static int alloc_result(sc_drive *d, const sc_step *s)
{
    int t = d->plan->nin + s->out, l = s->level;
    sc_tensor *r = &d->tensor[t];
    sc_view *v = &d->view[t];
    int64_t n = v->level[l].npos;
    complete(d, t, l);
    do {
        v->level[l].crd = d->alloc(d->ctx[s->out], SC_CRD, l, r->itype, n);
        if (!v->level[l].crd && n)
            return sc_error(d->err, SC_ENOMEM, "out of memory: result's crd of %lld entries", (long long)n);
    } while (++l < r->format.nlevel && r->format.level[l].kind == SC_SINGLETON);
    v->nval = v->level[r->format.nlevel - 1].npos;
    v->val = d->alloc(d->ctx[s->out], SC_VAL, -1, r->dtype, v->nval);
    if (!v->val && v->nval)
        return sc_error(d->err, SC_ENOMEM, "out of memory: %lld values of the result", (long long)v->nval);
    if (v->val) sc_fill_advise(v->val, (size_t)v->nval * sc_dtype_size(r->dtype));
    r->view = *v;
    return SC_OK;
}

/* ---- the walk ---- */
static int run_step(sc_drive *d, int k)
{
    const sc_step *s = &d->plan->step[k];
    int rc;
    switch (s->op) {
    case SC_STEP_FILL: return s->out < 0 ? fill_shared(d, s) : fill_result(d, s);
    case SC_STEP_KERNEL: rc = provide_counts(d, k); return rc ? rc : sc_drive_kernel(d, s);
    case SC_STEP_SCAN: return scan_result(d, s);
    case SC_STEP_ALLOC: return alloc_result(d, s);
    default: return sc_error(d->err, SC_EINTERNAL, "plan step %d has unknown operation %d", k, s->op);
    }
}

/* Results that were just allocated get huge pages before anything is written. */
static void advise(const sc_drive *d)
{
    for (int r = 0; r < d->plan->nout; r++) {
        const sc_tensor *t = &d->tensor[d->plan->nin + r];
        int64_t n = (int64_t)sc_dtype_size(t->dtype);
        if (!t->view.val || !sc_format_is_dense(&t->format)) continue;
        for (int k = 0; k < t->format.ndim; k++) {
            if (t->view.dim[k] > 1 && t->view.stride[k] <= 0) n = 0;
            if (!sc_mul(n, t->view.dim[k], &n)) n = 0;
        }
        sc_fill_advise(t->view.val, (size_t)n);
    }
}

int sc_plan_run(const sc_plan *plan, sc_kernel *const *entry, const void *self, sc_tensor *tensors,
                const int64_t *dim, const double *scalar, sc_alloc *alloc, void *const *ctx, sc_err *e)
{
    sc_drive d;
    int n = plan->nin + plan->nout, rc = SC_OK;
    if (n > SC_MAXOP)
        return sc_error(e, SC_EINTERNAL, "plan has %d operands and results, at most %d fit", n, SC_MAXOP);
    d.plan = plan;
    d.entry = entry;
    d.tensor = tensors;
    d.alloc = alloc;
    d.ctx = ctx;
    d.err = e;
    d.dim = dim;
    d.nunit = 0;
    d.shared = NULL;
    memset(d.count, 0, sizeof d.count);
    for (int k = 0; k < n; k++) d.view[k] = tensors[k].view;
    d.call = (sc_call){.abi = SC_ABI,
                       .size = sizeof(sc_call),
                       .view = d.view,
                       .dim = dim,
                       .scalar = scalar,
                       .count = d.count,
                       .self = self,
                       .nlane = 1};
    advise(&d);
    for (int k = 0; k < plan->nstep && !rc; k++) rc = run_step(&d, k);
    for (int r = 0; r < plan->nout; r++) sc_work_give(d.count[r]);
    sc_work_give(d.shared);
    return rc;
}
