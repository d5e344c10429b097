/* call.c: one run of a program: extents are read off the operands and checked
 * against the code, results that share a structure take it, the plan goes to
 * the driver, and a result that was asked for in another format than the kernels
 * write is converted. What the kernels write then is memory of the caller's
 * too: where both formats have an array in common, it is not copied. */
#include "run.h"

#include <string.h>

/* The extents of all index variables; operands must agree with each other and with what was folded. */
static int extents(const sc_program *p, const sc_tensor *in, int64_t *dim, sc_err *err)
{
    for (int v = 0; v < p->nvar; v++) {
        const sc_index_of *x = &p->var[v];
        dim[v] = in[x->operand].view.dim[x->dim];
        if (x->fold >= 0 && dim[v] != x->fold)
            return sc_error(err, SC_EVALUE,
                            "index %s has extent %lld, but this program was compiled for %lld", x->name,
                            (long long)dim[v], (long long)x->fold);
    }
    for (int k = 0; k < p->nin; k++)
        for (int d = 0; d < p->in[k].format.ndim; d++)
            for (uint32_t rest = p->in[k].index[d]; rest; rest &= rest - 1) {
                int64_t want = dim[__builtin_ctz(rest)];
                if (in[k].view.dim[d] != want)
                    return sc_error(err, SC_EVALUE, "dimension %d of %s: expected extent %lld, got %lld", d,
                                    p->in[k].name, (long long)want, (long long)in[k].view.dim[d]);
            }
    return SC_OK;
}

/* Strides of a tensor without elements do not matter. */
static int strides(const sc_tensor *t, int unit, const char *name, sc_err *err)
{
    if (unit < 0 || t->view.dim[unit] <= 1 || t->view.stride[unit] == 1) return SC_OK;
    for (int d = 0; d < t->format.ndim; d++)
        if (!t->view.dim[d]) return SC_OK;
    return sc_error(err, SC_EVALUE, "%s: expected stride 1 in dimension %d, got %lld", name, unit,
                    (long long)t->view.stride[unit]);
}

/* ---- results ---- */
/* A result with levels of an operand: their arrays, and values of its own. Kernels pass over padding: it is zero. */
int sc_share(const sc_made *t, const sc_tensor *structure, const int64_t *dim, sc_tensor *out,
             sc_alloc *alloc, void *ctx, sc_err *err)
{
    *out = (sc_tensor){.format = t->format, .dtype = t->dtype, .itype = structure->itype};
    sc_view *v = &out->view;
    memcpy(v->dim, dim, sizeof v->dim);
    memcpy(v->level, structure->view.level, (size_t)t->shared * sizeof *v->level);
    v->nval = v->level[t->shared - 1].npos;
    for (int l = t->shared; l < t->format.nlevel; l++) {
        v->level[l].size = dim[t->format.level[l].dim];
        if (!sc_mul(v->nval, v->level[l].size, &v->nval))
            return sc_error(err, SC_EVALUE, "%s has more than 2^63 values", t->name);
        v->level[l].npos = v->nval;
    }
    v->val = alloc(ctx, SC_VAL, -1, t->dtype, v->nval);
    if (!v->val) return sc_error(err, SC_ENOMEM, "out of memory for %lld values", (long long)v->nval);
    for (int l = 0; l < t->shared; l++)
        if (sc_kind_of(&t->format.level[l])->padded)
            memset(v->val, 0, (size_t)v->nval * sc_dtype_size(t->dtype));
    return SC_OK;
}

int sc_make_dense(sc_tensor *t, sc_alloc *alloc, void *ctx, sc_err *err)
{
    int64_t n = 1;
    for (int l = t->format.nlevel; l-- > 0;) {
        int d = t->format.level[l].dim;
        t->view.stride[d] = n;
        t->view.level[l].size = t->view.dim[d];
        if (!sc_mul(n, t->view.dim[d], &n))
            return sc_error(err, SC_EVALUE,
                            "a dense tensor on the way to a result has more than 2^63 elements");
    }
    t->view.nval = n;
    t->view.val = alloc(ctx, SC_VAL, -1, t->dtype, n);
    return t->view.val ? SC_OK : sc_error(err, SC_ENOMEM, "out of memory for %lld values", (long long)n);
}

/* A result that stays inside: dense, in memory that goes back after the run. */
static void *take(void *ctx, int what, int level, sc_dtype dtype, int64_t n)
{
    (void)ctx, (void)what, (void)level;
    return sc_work_take((size_t)n * sc_dtype_size(dtype));
}

static int prepare_inside(const sc_made *made, const int64_t *dim, sc_tensor *t, sc_err *err)
{
    *t = (sc_tensor){.format = made->format, .dtype = made->dtype};
    for (int d = 0; d < made->format.ndim; d++) t->view.dim[d] = dim[made->dimvar[d]];
    return sc_make_dense(t, take, NULL, err);
}

/* Result r as the kernels write it. */
static int prepare(const sc_program *p, int r, const sc_tensor *in, const sc_tensor *out, sc_tensor *t,
                   sc_alloc *alloc, void *ctx, sc_err *err)
{
    const sc_made *made = &p->made[r];
    *t = *out;
    t->format = made->format;
    t->dtype = made->dtype;
    t->itype = p->result[r].spec.itype;
    if (made->like >= 0) return sc_share(made, &in[made->like], out->view.dim, t, alloc, ctx, err);
    if (!p->result[r].converts) return strides(t, made->unit, "the result", err);
    t->view = (sc_view){0};
    memcpy(t->view.dim, out->view.dim, sizeof t->view.dim);
    return sc_format_is_dense(&t->format) ? sc_make_dense(t, alloc, ctx, err) : SC_OK;
}

/* What to do where there is no room for a result that is dense before it is made sparse, or for what is beside it. */
static int advised(const sc_program *p, sc_err *err)
{
    for (int r = 0; r < p->nout && err->code == SC_ENOMEM; r++) {
        if (!sc_format_is_dense(&p->made[r].format) || sc_format_is_dense(&p->result[r].spec.format))
            continue;
        const sc_err e = *err;
        *err = (sc_err){0};
        return sc_error(err, e.code, "%s: %s is computed dense before it is made sparse%s", e.msg,
                        p->made[r].name,
                        p->result[r].fill ? ", as vectors of max= and min= are: "
                                            "number the coordinates that occur anew, so that there are fewer"
                                          : "; of max= and min= to a matrix, implicit=\"skip\" with format= "
                                            "leaves missing entries out and needs no dense tensor");
    }
    return err->code;
}

/* Where the caller wants a dense result. */
static void *given(void *ctx, int what, int level, sc_dtype dtype, int64_t n)
{
    static char nothing[64];
    (void)what, (void)level, (void)dtype, (void)n;
    return ctx ? ctx : nothing;
}

/* Result r as it is delivered, from what the kernels wrote. */
static int deliver(const sc_program *p, int r, const sc_tensor *tensor, sc_tensor *out, sc_alloc *alloc,
                   void *ctx, sc_err *err)
{
    const sc_tensor *made = &tensor[p->nin + r];
    const int where = p->made[r].where;
    if (!p->result[r].converts) {
        *out = *made;
        return SC_OK;
    }
    sc_tensor to = {.format = p->result[r].spec.format, .itype = p->result[r].spec.itype};
    bool dense = sc_format_is_dense(&to.format);
    int rc = dense ? sc_convert(made, &to, given, out->view.val, NULL, err)
                   : sc_convert_where(made, where >= 0 ? tensor[where].view.val : NULL, p->result[r].fill,
                                      &to, alloc, ctx, err);
    if (!rc) *out = to;
    return rc;
}

static int check_operand(const sc_program *p, int k, const sc_tensor *t, sc_err *err)
{
    const sc_operand *o = &p->in[k];
    if (!sc_program_reads(p, k, t))
        return sc_error(err, SC_EINTERNAL, "operand %s is not in the layout that the program was made for",
                        o->name);
    return strides(t, o->unit, o->name, err);
}

int sc_whole_run(const sc_program *p, const sc_tensor *in, sc_tensor *out, sc_alloc *alloc, void *const *ctx,
                 sc_err *err)
{
    int64_t dim[SC_MAXVAR];
    sc_tensor tensor[SC_MAXOP];
    if (p->asks) return sc_error(err, SC_EINTERNAL, "this program asks for a conversion first");
    if (extents(p, in, dim, err)) return err->code;
    for (int k = 0; k < p->nin; k++) {
        if (check_operand(p, k, &in[k], err)) return err->code;
        tensor[k] = in[k];
    }
    for (int r = 0; r < p->nout; r++)
        if (prepare(p, r, in, &out[r], &tensor[p->nin + r], alloc, ctx ? ctx[r] : NULL, err))
            return advised(p, err);
    int rc = SC_OK, made = p->nout;
    for (; made < p->nmade && !rc; made++)
        if ((rc = prepare_inside(&p->made[made], dim, &tensor[p->nin + made], err))) advised(p, err);
    atomic_fetch_add_explicit(&sc_this_process.runs[p->way], 1, memory_order_relaxed);
    if (!rc) rc = sc_plan_run(&p->plan, p->entry, p->self, tensor, dim, alloc, ctx, err);
    for (int r = 0; r < p->nout && !rc; r++)
        rc = deliver(p, r, tensor, &out[r], alloc, ctx ? ctx[r] : NULL, err);
    while (made-- > p->nout) sc_work_give(tensor[p->nin + made].view.val);
    return rc;
}
