/* call.c: one run of a program: extents are read off the operands and checked
 * against the code, results that share a structure take it, and the plan goes to
 * the driver. */
#include "run.h"

#include <string.h>

static const char *operand_name(const sc_program *p, int k) { return p->prog->tensor[k]->name; }

/* The extents of all index variables; operands must agree with each other and with what was folded. */
static int extents(const sc_program *p, const sc_tensor *in, int64_t *dim, sc_err *err)
{
    const Prog *g = p->prog;
    for (int v = 0; v < g->nvar; v++) {
        dim[v] = in[p->extent[v].operand].view.dim[p->extent[v].dim];
        if (g->var[v].fold && dim[v] != g->var[v].extent)
            return sc_error(err, SC_EVALUE,
                            "index %s has extent %lld, but this program was compiled for %lld",
                            g->var[v].name, (long long)dim[v], (long long)g->var[v].extent);
    }
    for (int k = 0; k < g->nin; k++)
        for (int d = 0; d < g->tensor[k]->ndim; d++)
            if (in[k].view.dim[d] != dim[g->tensor[k]->dimvar[d]])
                return sc_error(err, SC_EVALUE, "dimension %d of %s: expected extent %lld, got %lld", d,
                                operand_name(p, k), (long long)dim[g->tensor[k]->dimvar[d]],
                                (long long)in[k].view.dim[d]);
    return SC_OK;
}

static int strides(const sc_program *p, const sc_tensor *t, int unit, const char *name, sc_err *err)
{
    (void)p;
    if (unit < 0 || t->view.dim[unit] <= 1 || t->view.stride[unit] == 1) return SC_OK;
    return sc_error(err, SC_EVALUE, "%s: expected stride 1 in dimension %d, got %lld", name, unit,
                    (long long)t->view.stride[unit]);
}

/* A result with the structure of an operand: its arrays, and values of its own. */
static int share(const sc_program *p, int r, const sc_tensor *like, sc_tensor *out, sc_alloc *alloc,
                 void *ctx, sc_err *err)
{
    sc_dtype type = p->result[r].dtype;
    void *val = out->view.val;
    *out = *like;
    out->dtype = type;
    out->view.val = val ? val : alloc(ctx, SC_VAL, r, type, like->view.nval);
    return out->view.val
               ? SC_OK
               : sc_error(err, SC_ENOMEM, "out of memory for %lld values", (long long)like->view.nval);
}

int sc_program_run(const sc_program *p, const sc_tensor *in, sc_tensor *out, sc_alloc *alloc, void *ctx,
                   sc_err *err)
{
    const Prog *g = p->prog;
    int64_t dim[SC_MAXVAR];
    sc_tensor tensor[SC_MAXOP];
    if (g->converts) return sc_error(err, SC_EINTERNAL, "this program asks for a conversion first");
    if (extents(p, in, dim, err)) return err->code;
    for (int k = 0; k < g->nin; k++) {
        if (strides(p, &in[k], g->tensor[k]->unit, operand_name(p, k), err)) return err->code;
        tensor[k] = in[k];
    }
    for (int r = 0; r < g->nout; r++) {
        sc_tensor *t = &tensor[g->nin + r];
        if (p->like[r] >= 0 && share(p, r, &in[p->like[r]], &out[r], alloc, ctx, err)) return err->code;
        if (strides(p, &out[r], p->result[r].unit, "the result", err)) return err->code;
        *t = out[r];
        t->format = p->result[r].format;
        t->dtype = p->result[r].dtype;
        t->itype = p->result[r].itype;
    }
    atomic_fetch_add_explicit(&sc_this_process.runs[p->way], 1, memory_order_relaxed);
    int rc = sc_plan_run(&g->plan, p->entry, p->self, tensor, dim, NULL, alloc, ctx, err);
    for (int r = 0; r < g->nout; r++) out[r] = tensor[g->nin + r];
    return rc;
}
