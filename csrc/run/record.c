/* record.c: a program as it is kept: what a run needs of it, without the compiler's trees.
 *
 * One block of memory with its arrays behind it; counted, since calls use a program that the table forgets. */
#include "run.h"

#include <stdlib.h>
#include <string.h>

void sc_prog_free(Prog *g)
{
    if (g) sc_compile_free(g);
    free(g);
}

/* Of a dense result that is delivered sparse: that of the sparse operands, the wider one. */
static sc_dtype index_type(const Prog *g)
{
    sc_dtype type = SC_I32;
    for (int k = 0; k < g->nin; k++)
        if (!sc_format_is_dense(&g->tensor[k]->format) && g->tensor[k]->itype == SC_I64) type = SC_I64;
    return type;
}

static void find_indices(sc_program *p, const Expr *e)
{
    for (int k = 0; k < 2; k++)
        if (e->kid[k]) find_indices(p, e->kid[k]);
    if (e->op != O_ACCESS || e->tensor->role != T_IN) return;
    for (int d = 0; d < e->tensor->ndim; d++) p->in[e->tensor->arg].index[d] |= 1u << e->ix[d].var;
}

static void describe_operands(sc_program *p, const Prog *g)
{
    for (int k = 0; k < g->nin; k++) {
        const Tensor *t = g->tensor[k];
        memcpy(p->in[k].name, t->name, sizeof p->in[k].name);
        p->in[k].format = t->format;
        p->in[k].convert = g->draft.convert[k];
        p->in[k].perm = t->perm;
        p->in[k].unit = t->unit;
    }
    for (int a = 0; a < g->nassign; a++) find_indices(p, g->assign[a].rhs);
    for (int v = 0; v < g->nvar; v++) {
        const Var *x = &g->var[v];
        memcpy(p->var[v].name, x->name, sizeof p->var[v].name);
        p->var[v].operand = x->arg;
        p->var[v].dim = x->dim;
        p->var[v].fold = x->fold ? x->extent : -1;
    }
}

sc_made sc_made_of(const Prog *g, int r)
{
    const Tensor *t = prog_result(g, r);
    sc_made m = {.format = t->format, .dtype = t->dtype, .unit = t->unit, .shared = t->shared};
    memcpy(m.name, t->name, sizeof m.name);
    memcpy(m.dimvar, t->dimvar, sizeof m.dimvar);
    m.like = t->like ? t->like->arg : -1;
    m.where = t->where ? t->where->arg : -1;
    return m;
}

double sc_fill_of(const Tensor *t, const sc_format *f)
{
    for (int l = 0; l < f->nlevel; l++)
        if (sc_kind_of(&f->level[l])->padded) return 0;
    return op_identity(t->empty);
}

static void describe_results(sc_program *p, const Prog *g)
{
    for (int r = 0; r < g->draft.nmade; r++) p->made[r] = sc_made_of(g, r);
    for (int r = 0; r < g->nout; r++) {
        const Tensor *t = prog_result(g, r);
        sc_spec *s = &p->result[r].spec;
        const bool converts = g->ask[r].nlevel && !sc_format_equal(&g->ask[r], &t->format);
        memcpy(s->name, t->name, sizeof s->name);
        s->format = converts ? g->ask[r] : t->format;
        s->dtype = t->dtype;
        s->itype = converts && sc_format_is_dense(&t->format) ? index_type(g) : t->itype;
        s->unit = !sc_format_is_dense(&s->format) ? -1 : converts ? t->ndim - 1 : t->unit;
        p->result[r].converts = converts;
        p->result[r].fill = sc_fill_of(t, &s->format);
        p->result[r].like = !converts && tensor_shares_all(t) ? t->like->arg : -1;
    }
}

/* A program and its arrays in one block, those with numbers of 64 bits first. */
sc_program *sc_program_describe(const Prog *g, const char *text, sc_err *err)
{
    const size_t in = (size_t)g->nin * sizeof(sc_operand), made = (size_t)g->draft.nmade * sizeof(sc_made),
                 result = (size_t)g->nout * sizeof(sc_delivered),
                 step = (size_t)g->draft.plan.nstep * sizeof(sc_step), length = strlen(text) + 1,
                 bytes = sizeof(sc_program) + in + made + result + step + length;
    sc_program *p = sc_zalloc(bytes);
    if (!p) return sc_error(err, SC_ENOMEM, "out of memory"), NULL;
    char *at = (char *)(p + 1);
    p->result = (sc_delivered *)(void *)at;
    p->step = (sc_step *)(void *)(at += result);
    p->in = (sc_operand *)(void *)(at += step);
    p->made = (sc_made *)(void *)(at += in);
    p->text = memcpy(at + made, text, length);
    p->refs = 1;
    p->bytes = (int64_t)bytes;
    p->nin = g->nin, p->nout = g->nout, p->nmade = g->draft.nmade, p->nvar = g->nvar;
    p->nhidden = g->nhidden;
    p->asks = g->draft.converts;
    p->plan = g->draft.plan;
    p->plan.step = p->step;
    if (step) memcpy(p->step, g->draft.plan.step, step);
    describe_operands(p, g);
    describe_results(p, g);
    atomic_fetch_add(&sc_this_process.program_bytes, p->bytes);
    return p;
}

sc_program *sc_program_retain(sc_program *p)
{
    atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
    return p;
}

void sc_steps_free(sc_steps *s)
{
    for (int k = 0; s && k < s->n; k++) {
        sc_resolved *r = s->step[k].resolved;
        sc_program_release(s->step[k].program);
        sc_program_release(r ? r->program : NULL);
        free(r);
    }
    if (!s) return;
    free(s->text);
    free(s->tree);
    free(s->said);
    free(s);
}

void sc_program_release(sc_program *p)
{
    if (!p || atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) > 1) return;
    atomic_fetch_sub(&sc_this_process.program_bytes, p->bytes);
    sc_jit_release(p->object);
    sc_prog_free(p->walked);
    sc_steps_free(p->steps);
    free(p);
}

int sc_program_nresult(const sc_program *p) { return p->nout; }

int sc_program_nreturned(const sc_program *p) { return p->nout - p->nhidden; }

const sc_spec *sc_program_result(const sc_program *p, int r) { return &p->result[r].spec; }

const sc_format *sc_program_operand(const sc_program *p, int k) { return &p->in[k].format; }

bool sc_program_reads(const sc_program *p, int k, const sc_tensor *t)
{ return sc_format_equal(&t->format, &p->in[k].format) && (t->view.perm != NULL) == p->in[k].perm; }

int sc_program_way(const sc_program *p) { return p->way; }

const char *sc_program_why(const sc_program *p) { return p->why ? p->why : ""; }

int sc_program_like(const sc_program *p, int r) { return p->result[r].like; }

const sc_format *sc_program_convert(const sc_program *p, int k)
{ return p->in[k].convert.nlevel ? &p->in[k].convert : NULL; }

void sc_program_shape(const sc_program *p, int r, const sc_tensor *in, int64_t *dim)
{
    const sc_made *m = &p->made[r];
    for (int d = 0; d < m->format.ndim; d++) {
        const sc_index_of *v = &p->var[m->dimvar[d]];
        dim[d] = in[v->operand].view.dim[v->dim];
    }
}
