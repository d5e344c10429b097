/* lower.c: nest -> statements and a plan.
 *
 * requires  a verified nest
 * sets      p->draft.module, p->draft.plan
 *
 * The nest is cut into kernels: the items of a top-level sequence, and the
 * producer and consumer of a top-level private or shared workspace. Each kernel
 * becomes one entry, and more where its plan needs them: count, most and fill for a
 * sparse result of unknown size; part, made from the same nest, where a heavy
 * unit may be split, and finish where its pieces are summed. */
#include "private.h"

#include <string.h>

/* ---- entries ---- */
static void env_reset(Low *l)
{
    memset(&l->e, 0, sizeof l->e);
    l->nreg = l->nmemo = l->nlane = l->nplace = l->nlocal = l->nnoted = 0;
    l->scratch = val_int(l->p, 0);
    l->step->nscratch = l->step->hash = l->step->clean = 0;
    for (int i = 0; i < l->p->ntensor; i++) l->e.where[i].pos[0] = val_int(l->p, 0);
}

static int entry(Low *l, const char *name, Mode mode)
{
    Module *m = l->m;
    if (m->nentry == SC_MAXENTRY)
        fail(l->p, SC_ENOTIMPL, -1, "the nest needs more than %d kernels: split the program", SC_MAXENTRY);
    const int number = m->nentry;
    Entry *e = &m->entry[number];
    e->name = name_fresh(l->p, name);
    m->nentry++;
    l->mode = mode;
    l->tail = &e->body;
    env_reset(l);
    lanes_place(l);
    noted_place(l);
    results_open(l);
    if (l->fills) lower_note(l, l->fills);
    lower_body(l, l->kernel);
    results_close(l);
    lanes_close(l);
    return number;
}

/* ---- plan ---- */
static sc_step *step(Low *l, sc_step_op op)
{
    sc_plan *plan = &l->p->draft.plan;
    if (plan->nstep == SC_MAXSTEP)
        fail(l->p, SC_ENOTIMPL, -1, "the plan needs more than %d steps: split the program", SC_MAXSTEP);
    sc_step *s = &plan->step[plan->nstep++];
    s->op = (uint8_t)op;
    s->arg = s->out = -1;
    s->block = 1;
    return s;
}

typedef struct {
    const Nest *par;
    uint32_t bound;    /* variables bound by loops over stored coordinates */
    uint32_t dense;    /* variables at all of whose coordinates a unit assigns */
    uint32_t assigned; /* dense results, and those like an operand, by arg */
    uint32_t whole;    /* which of them have been assigned everywhere */
    uint32_t fill;     /* which of them must be filled first */
    const Prog *p;
    uint64_t sources; /* tensors that loops run over */
    Op op[SC_MAXOP];
    const Tensor *work; /* a shared workspace */
    bool work_misses;   /* `work` is added to, or not written everywhere: it is filled first */
} Facts;

static void note_facts(const Nest *n, Facts *f)
{
    if (n->op == N_LOOP && n->kind == L_PAR) f->par = n;
    if (n->op == N_LOOP && (n->nmerge || n->in)) {
        bool stored = n->nmerge > 0;
        for (int k = 0; n->in && k < n->in->format.nlevel; k++) {
            const sc_levelspec *s = &n->in->format.level[k];
            if (n->in->dimvar[s->dim] == n->ix.var && sc_kind_of(s)->crd) stored = true;
        }
        if (stored) f->bound |= 1u << n->ix.var;
        if (stored && n->in) f->sources |= tensor_bit(f->p, n->in);
        for (int k = 0; k < n->nmerge; k++) f->sources |= tensor_bit(f->p, n->merge[k]);
    }
    if (n->op != N_EVAL) return;
    const Tensor *t = n->eval.lhs->tensor;
    const bool reduces = n->eval.reduce != O_CONST, scattered = expr_vars(n->eval.lhs) & f->bound;
    const bool row = t->role == T_WORK && t->place == W_LANE && f->par && f->par->ix.part == SC_WHOLE;
    if (!reduces && !scattered && !t->like && (row || t->role == T_OUT)) f->dense |= expr_vars(n->eval.lhs);
    if (t == f->work) f->work_misses |= reduces || scattered;
    if (t->role != T_OUT || tensor_assembled(t)) return;
    f->assigned |= 1u << t->arg;
    const bool misses = t->like ? f->sources & ~tensor_bit(f->p, t->like) : scattered;
    if (!reduces && !misses) f->whole |= 1u << t->arg;
    if (reduces || (misses && !in(f->whole, t->arg))) {
        f->fill |= 1u << t->arg;
        f->op[t->arg] = reduces ? n->eval.reduce : t->empty;
    }
}

/* What loops do not visit, neither do those inside; what fills a workspace does not decide where it is read. */
static void facts(const Nest *n, Facts *f)
{
    const uint32_t bound = f->bound;
    const uint64_t sources = f->sources;
    note_facts(n, f);
    if (n->body) facts(n->body, f);
    if (n->then) facts(n->then, f);
    for (int k = 0; k < n->n; k++) facts(n->kid[k], f);
    f->bound = bound;
    f->sources = sources;
}

/* Units of the parallel loop: the positions of an operand's level 0 where there is one, which is returned. */
static const Tensor *units(Low *l, sc_step *s, const Nest *par, uint32_t dense)
{
    Prog *p = l->p;
    Tensor *t = par->nmerge ? par->merge[0] : par->in;
    s->var = par->ix.var;
    s->block = par->ix.part == SC_DIV ? par->ix.block : 1;
    for (int i = 0; !t && i < p->nin; i++) { /* balance by any operand stored by rows of this index */
        Tensor *o = p->tensor[i];
        const sc_levelspec *v = &o->format.level[0];
        bool rows = !sc_format_is_dense(&o->format) && !sc_kind_of(v)->crd && v->part == SC_WHOLE;
        if (rows && par->ix.part == SC_WHOLE && o->dimvar[v->dim] == par->ix.var) t = o;
    }
    if (!t || t->role != T_IN || sc_format_is_dense(&t->format)) return NULL;
    const sc_levelspec *v = &t->format.level[0];
    if (t->dimvar[v->dim] != par->ix.var || v->part != par->ix.part) return NULL;
    if (!sc_kind_of(v)->crd && !weigh_by_entries(t, par->ix.var, dense)) return NULL;
    if (par->nmerge && sc_kind_of(v)->padded) return NULL; /* its padding has no coordinate to cut at */
    s->arg = (int16_t)t->arg;
    s->coords = par->nmerge > 0;
    s->snap = !v->unique && !s->coords;
    return t;
}

typedef struct {
    const Tensor *t;
    bool used;
} Uses;

static void find_uses(const Nest *n, void *ctx)
{
    Uses *u = ctx;
    if (n->op == N_LOOP && n->in == u->t) u->used = true;
    for (int k = 0; k < n->nmerge; k++)
        if (n->merge[k] == u->t) u->used = true;
    if (n->op == N_EVAL && (expr_reads(n->eval.rhs, u->t) || n->eval.lhs->tensor->like == u->t))
        u->used = true;
}

static bool has_slot(const Tensor *w, int var)
{
    for (int d = 0; d < w->ndim; d++)
        if (w->slot[d].var == var && w->slot[d].part == SC_MOD) return true;
    return false;
}

/* Whether a heavy unit can be cut along level 1 of the parallel operand at all. */
static bool has_pieces(const Low *l, const Nest *par, const sc_step *s)
{
    if (l->kernel != par || s->arg < 0 || s->snap || !par->in || par->in->arg != s->arg) return false;
    const Tensor *t = par->in;
    return t->format.nlevel >= 2 && sc_kind_of(&t->format.level[1])->pos && t->format.level[1].unique;
}

/* A loop over the entries of level 1 of the parallel operand, and no lookup in it. */
static bool walks_pieces(const Nest *par, const Nest *n)
{ return n->op == N_LOOP && n->in == par->in && n->ix.var != par->ix.var && !n->by; }

/* The register workspace through which a heavy unit can be split: alone below the parallel loop (tiles of one
 * of its indices may lie between), filled by one loop over level 1 of the parallel operand. */
static const Nest *sum_of_pieces(const Nest *par)
{
    const Nest *n = par->body;
    if (n->op == N_LOOP && n->kind == L_FOR && !n->in && !n->nmerge && n->ix.part == SC_DIV) {
        int tiled = n->ix.var; /* its tiles lie side by side in a carry slot */
        n = n->body;
        if (tiled == par->ix.var || n->op != N_WORK || !has_slot(n->work, tiled)) return NULL;
    }
    if (n->op != N_WORK || n->work->place != W_REG || !walks_pieces(par, n->body)) return NULL;
    Uses after = {.t = par->in};
    nest_walk(n->then, find_uses, &after); /* what follows must not need the unit's positions again */
    return work_reduce(n->body, n->work) == O_CONST || after.used ? NULL : n;
}

typedef struct {
    int var;
    bool elsewhere;
} Writes;

static void find_writes(const Nest *n, void *ctx)
{
    Writes *w = ctx;
    if (n->op != N_EVAL) return;
    const Tensor *t = n->eval.lhs->tensor;
    const bool own = t->role == T_WORK && (t->place == W_REG || t->place == W_LANE);
    if (!own && !(expr_vars(n->eval.lhs) >> w->var & 1)) w->elsewhere = true;
}

/* Below the parallel loop there is nothing but one over level 1 of its operand, whose turns each write what is
 * theirs. */
static bool turns_apart(const Nest *par)
{
    const Nest *n = par->body;
    if (!walks_pieces(par, n) || n->batch) return false;
    Writes w = {.var = n->ix.var};
    nest_walk(n->body, find_writes, &w);
    return !w.elsewhere;
}

static sc_size carry_size(const Tensor *w, const Nest *par)
{
    sc_size size = work_size(w);
    for (int i = 0; i < w->ndim; i++) { /* a tile of registers inside the unit: slots for its whole extent */
        if (w->slot[i].part != SC_MOD || w->slot[i].var == par->ix.var) continue;
        size.bytes /= w->slot[i].block;
        lower_size_times(&size, (Index){.var = w->slot[i].var});
    }
    return size;
}

/* Heavy units are cut into pieces; work: the workspace that is summed over them (sum_of_pieces), or null. */
static void split_entries(Low *l, sc_step *s, const Nest *par, const Nest *work)
{
    l->split = par->in;
    l->carried = work;
    s->strategy = SC_SPLIT;
    s->partial = work ? carry_size(work->work, par) : (sc_size){0};
    sc_step keep = *s;
    const int part = entry(l, "part", PART), finish = work ? entry(l, "finish", FINISH) : 0;
    *s = keep;
    s->part = (uint8_t)part;
    s->finish = (uint8_t)finish;
    l->split = NULL;
    l->carried = NULL;
}

static void alloc_steps(Low *l)
{
    for (int c = 0; c < l->ncursor; c++) {
        if (c && l->cursor[c].result == l->cursor[c - 1].result) continue;
        sc_step *s = step(l, SC_STEP_ALLOC);
        s->out = (int16_t)(l->cursor[c].result->arg - l->p->nin);
        s->cursor = (uint8_t)c;
    }
}

/* The entry that counts, over the units of `fill`, and the allocation of what it counted. True: counting can be left
 * out where the entry that bounds the count finds little. */
static bool count_steps(Low *l, const sc_step *fill)
{
    sc_step *s = step(l, SC_STEP_KERNEL);
    *s = *fill;
    s->counts = 1;
    l->step = s;
    s->entry = (uint8_t)entry(l, "count", COUNT);
    if (results_alone(l) && lanes_bound(l)) {
        const sc_step keep = *s;
        const int most = entry(l, "most", MOST);
        *s = keep;
        s->most = (uint8_t)most;
    }
    alloc_steps(l);
    return s->most;
}

static void fill_steps(Low *l, const Facts *f)
{
    for (int i = 0; i < l->p->draft.nmade; i++) {
        if (!((f->fill & ~l->assigned) >> (l->p->nin + i) & 1)) continue;
        sc_step *s = step(l, SC_STEP_FILL);
        s->out = (int16_t)i;
        s->dtype = (uint8_t)prog_result(l->p, i)->dtype;
        s->fill = op_identity(f->op[l->p->nin + i]);
    }
}

static void kernel(Low *l, const Nest *n, const Tensor *private)
{
    Facts f = {.p = l->p};
    facts(n, &f);
    fill_steps(l, &f);
    l->assigned |= f.assigned;
    l->kernel = n;
    l->filling = private;
    sc_step base = {.op = SC_STEP_KERNEL, .arg = -1, .out = -1, .var = -1, .block = 1, .strategy = SC_SERIAL};
    const Tensor *t = NULL;
    if (f.par) {
        base.strategy = SC_OWN;
        t = units(l, &base, f.par, f.dense);
    }
    for (int k = 0; f.par && k < l->nshared; k++)
        if (l->shared[k].work->place == W_PRIVATE && nest_needs(l->p, n, l->shared[k].work, 0))
            base.sums = (uint8_t)(k + 1);
    weigh_step(l, &base, t, f.dense);
    base.ncursor = (uint8_t)results_find(l, &base);
    l->leaves = base.nbound > 0 || (base.ncursor && count_steps(l, &base));
    sc_step *s = step(l, SC_STEP_KERNEL);
    *s = base;
    l->step = s;
    if (private) {
        s->strategy = SC_PRIVATE;
        s->slot = (uint8_t)work_shared_slot(l, private);
        s->partial = work_size(private);
        s->dtype = (uint8_t)private->dtype;
        s->fill = op_identity(work_reduce(n, private));
    }
    l->slack = base.nbound > 0;
    s->entry = (uint8_t)entry(l, "body", BODY);
    l->slack = l->leaves = false;
    if (base.nbound) alloc_steps(l);
    if (private || !f.par || base.ncursor || !has_pieces(l, f.par, s)) return;
    const Nest *work = sum_of_pieces(f.par);
    if (work || turns_apart(f.par)) split_entries(l, s, f.par, work);
}

static void top(Low *l, const Nest *n)
{
    if (n->op == N_SEQ) {
        for (int i = 0; i < n->n; i++) top(l, n->kid[i]);
        return;
    }
    if (n->op != N_WORK || (n->work->place != W_PRIVATE && n->work->place != W_SHARED)) {
        kernel(l, n, NULL);
        return;
    }
    Tensor *w = n->work;
    Op op = work_reduce(n->body, w);
    int slot = l->nshared++;
    if (slot == SC_MAXSHARED)
        fail(l->p, SC_ENOTIMPL, -1, "the nest has more than %d private and shared workspaces at once",
             SC_MAXSHARED);
    l->shared[slot].work = w;
    l->shared[slot].reduce = op;
    if (w->place == W_SHARED) {
        sc_step *s = step(l, SC_STEP_FILL);
        s->slot = (uint8_t)slot;
        s->shared = work_size(w);
        s->dtype = (uint8_t)w->dtype;
        s->fill = op_identity(op == O_CONST ? w->empty : op);
        Facts f = {.p = l->p, .work = w};
        facts(n->body, &f);
        s->bare = !f.work_misses && !tensor_gathers(w);
    }
    l->fills = n;
    kernel(l, n->body, w->place == W_PRIVATE ? w : NULL);
    l->fills = NULL;
    top(l, n->then);
    l->nshared--;
}

/* "#i" in a workspace has as many values as the tile of i around it has positions. */
static void size_slots(const Nest *n, void *ctx)
{
    int *by = ctx;
    if (n->op == N_LOOP && n->by) by[n->ix.var] = n->by;
    if (n->op != N_WORK) return;
    for (int d = 0; d < n->work->ndim; d++)
        if (n->work->slot[d].slot) n->work->slot[d].block = by[n->work->slot[d].var];
}

void lower(Prog *p)
{
    Low *l = NEW(p, Low);
    int by[SC_MAXVAR] = {0};
    nest_walk(p->draft.nest, size_slots, by);
    l->p = p;
    l->m = p->draft.module = NEW(p, Module);
    p->draft.plan = (sc_plan){.nin = p->nin, .nout = p->draft.nmade, .nvar = p->nvar};
    p->draft.plan.step = prog_bytes(p, SC_MAXSTEP * sizeof(sc_step));
    top(l, p->draft.nest);
}
