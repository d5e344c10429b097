/* drive.c: walks plans.
 *
 * A call of a small product is a few hundred nanoseconds, so the walk keeps to
 * the stack: views are copied once (kernels index them as one array), chunks
 * and workspaces exist only in plans that ask for them. Steps run in order, each
 * one over before the next begins; the first error ends the walk. */
#include <string.h>

#include "drive.h"

#define SLOTS 256 /* of a hash table at first */

/* ---- FILL ---- */
static int fill_result(sc_drive *d, const sc_step *s)
{
    const int t = d->plan->nin + s->out;
    const sc_format *format = &d->tensor[t].format;
    const sc_view *view = &d->view[t];
    const sc_dtype dtype = d->tensor[t].dtype;
    if (sc_format_is_dense(format))
        sc_fill_view(view, format->ndim, dtype, s->fill);
    else
        sc_fill(view->val, dtype, view->nval, s->fill);
    return SC_OK;
}

static int fill_shared(sc_drive *d, const sc_step *s)
{
    int64_t n;
    int rc = sc_size_bytes(&s->shared, d->dim, &n, d->err);
    if (rc) return rc;
    void **w = &d->call.shared[s->slot];
    sc_work_give(*w);
    *w = sc_work_take((size_t)n);
    d->call.copies[s->slot] = 1;
    if (!*w)
        return sc_error(d->err, SC_ENOMEM, "out of memory: a shared workspace of %lld bytes", (long long)n);
    if (!s->bare) sc_fill(*w, s->dtype, n / (int64_t)sc_dtype_size(s->dtype), s->fill);
    return SC_OK;
}

/* ---- the walk ---- */
static int run_step(sc_drive *d, const sc_step *s)
{
    switch (s->op) {
    case SC_STEP_FILL: return s->out < 0 ? fill_shared(d, s) : fill_result(d, s);
    case SC_STEP_KERNEL: return sc_drive_kernel(d, s);
    case SC_STEP_ALLOC: return sc_drive_alloc(d, s);
    default: return sc_error(d->err, SC_EINTERNAL, "a step of the plan has unknown operation %d", s->op);
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
                const int64_t *dim, sc_alloc *alloc, void *const *ctx, sc_err *e)
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
    d.chunks = (sc_chunks){.n = 0};
    d.slots = SLOTS;
    for (int k = 0; k < n; k++) d.view[k] = tensors[k].view;
    d.call = (sc_call){.abi = SC_ABI, .size = sizeof(sc_call), .view = d.view, .dim = dim, .self = self};
    advise(&d);
    for (int k = 0; k < plan->nstep && !rc; k++) rc = run_step(&d, &plan->step[k]);
    sc_work_give(d.chunks.cut);
    sc_work_give(d.chunks.room);
    for (int k = 0; k < SC_MAXSHARED; k++) sc_work_give(d.call.shared[k]);
    return rc;
}
