/* verify_eval.c: evaluations and workspaces of a nest: indices known, levels resolved, nothing shared
 * written by two threads. */
#include "verify.h"

/* ---- evaluations ---- */
static void check_known(NestVerifier *v, const Scene *s, const Expr *e, Index ix)
{
    if (verify_binder(s, ix)) return;
    fail(v->p, SC_EVALUE, e->pos, "schedule: %s needs index %s, which no loop around it binds",
         verify_expr(v->p, e), verify_index(v->p, ix));
}

/* Dense tensors may be read at any indices; results and sparse operands are accessed at those of the expression. */
static void check_plain(NestVerifier *v, const Scene *s, const Expr *e, bool written)
{
    const Tensor *t = e->tensor;
    for (int d = 0; d < t->ndim; d++) {
        const Index ix = e->ix[d];
        if (ix.part != SC_WHOLE || ix.slot)
            fail(v->p, SC_EVALUE, e->pos, "schedule: %s: only workspaces take parts of an index; write %s",
                 verify_expr(v->p, e), v->p->var[ix.var].name);
        if (v->p->var[ix.var].extent != t->extent[d])
            fail(v->p, SC_EVALUE, e->pos,
                 "schedule: %s: dimension %d of %s has extent %lld and index %s %lld", verify_expr(v->p, e),
                 d, t->name, (long long)t->extent[d], v->p->var[ix.var].name,
                 (long long)v->p->var[ix.var].extent);
        if ((written || !verify_dense(t)) && ix.var != t->dimvar[d])
            fail(v->p, SC_EVALUE, e->pos, "schedule: %s: the expression has index %s in dimension %d of %s",
                 verify_expr(v->p, e), v->p->var[t->dimvar[d]].name, d, t->name);
        check_known(v, s, e, ix);
    }
}

static void check_resolved(NestVerifier *v, const Scene *s, const Expr *e, const Tensor *t, int levels)
{
    const int n = s->known.level[prog_id(v->p, t)];
    if (n >= levels) return;
    fail(v->p, SC_EVALUE, e->pos, "schedule: %s stands where %s has no loop; put it inside 'for %s in %s'",
         verify_expr(v->p, e), verify_level(v->p, t, n), verify_index(v->p, tensor_level_index(t, n)),
         t->name);
}

/* Registers have no address: every slot is a constant of an unrolled or vector loop inside. */
static void check_register(NestVerifier *v, const Scene *s, const Expr *e)
{
    const int depth = v->use[prog_id(v->p, e->tensor)].depth;
    for (int d = 0; d < e->tensor->ndim; d++) {
        const Nest *by = verify_binder(s, e->ix[d]);
        bool inside = false;
        for (int k = depth; k < s->nloop; k++) inside |= s->loop[k] == by;
        const bool constant = by->kind == L_VEC || (by->unroll && (!by->in || e->ix[d].slot));
        if (!inside || !constant)
            fail(v->p, SC_EVALUE, e->pos,
                 "schedule: %s: %s is in registers, so a vec or unrolled loop over %s must stand "
                 "inside of its block",
                 verify_expr(v->p, e), e->tensor->name, verify_index(v->p, e->ix[d]));
    }
}

/* One coordinate after the other goes into a bitmap or hash table. */
static void check_scalar(NestVerifier *v, const Scene *s, const Expr *e)
{
    for (int d = 0; d < e->tensor->ndim; d++)
        if (verify_binder(s, e->ix[d])->kind == L_VEC)
            fail(v->p, SC_EVALUE, e->pos, "schedule: %s: a vec loop cannot fill workspace %s, a %s",
                 verify_expr(v->p, e), e->tensor->name, e->tensor->hash ? "hash table" : "bitmap");
}

/* What has addresses may be read at another whole index than it was filled at. */
static bool reads_elsewhere(const Prog *p, const Tensor *t, Scope scope, int d, Index ix)
{
    return scope == READING && t->place != W_REG && !tensor_gathers(t) && !ix.slot && ix.part == SC_WHOLE &&
           t->slot[d].part == SC_WHOLE && !t->slot[d].slot &&
           p->var[ix.var].extent == p->var[t->slot[d].var].extent;
}

static void check_work(NestVerifier *v, const Scene *s, const Expr *e, Scope scope)
{
    Prog *p = v->p;
    const Tensor *t = e->tensor;
    const int k = prog_id(p, t);
    if (v->use[k].scope != scope)
        fail(p, SC_EVALUE, e->pos, "schedule: workspace %s is %s", t->name,
             v->use[k].scope == CLOSED ? "used outside of its blocks"
             : scope == READING        ? "read where it is being filled; read it after 'then'"
                                       : "written after 'then'; write it in its first block");
    for (int d = 0; d < t->ndim; d++) {
        if (!index_same(e->ix[d], t->slot[d]) && !reads_elsewhere(p, t, scope, d, e->ix[d]))
            fail(p, SC_EVALUE, e->pos,
                 "schedule: %s: dimension %d of workspace %s is over %s; write that index", verify_expr(p, e),
                 d, t->name, verify_index(p, t->slot[d]));
        check_known(v, s, e, e->ix[d]);
    }
    if (t->place == W_REG) check_register(v, s, e);
    if (tensor_gathers(t) && scope == READING) check_resolved(v, s, e, t, t->format.nlevel);
    if (tensor_gathers(t) && scope == FILLING) check_scalar(v, s, e);
}

/* A dense result that an earlier kernel assigned. */
static void check_result(NestVerifier *v, const Tensor *t, const Expr *e)
{
    const int k = prog_id(v->p, t);
    if (!verify_dense(t) || t->like)
        fail(v->p, SC_EVALUE, e->pos, "schedule: %s is a sparse result and cannot be read; use a workspace",
             t->name);
    if (!v->use[k].writes || v->use[k].kernel == v->nkernel)
        fail(v->p, SC_EVALUE, e->pos,
             "schedule: %s is read in the kernel that assigns it, or before; read it in a later item of the "
             "nest",
             t->name);
}

static void check_reads(NestVerifier *v, const Scene *s, const Expr *e)
{
    for (int k = 0; k < 2; k++)
        if (e->kid[k]) check_reads(v, s, e->kid[k]);
    if (e->op == O_REDUCE) fail(v->p, SC_EINTERNAL, -1, "schedule: a reduction inside an evaluation");
    if (e->op != O_ACCESS) return;
    if (e->tensor->role == T_OUT) check_result(v, e->tensor, e);
    if (e->tensor->role == T_WORK) {
        check_work(v, s, e, READING);
        return;
    }
    check_plain(v, s, e, false);
    const Tensor *walked = e->tensor->like ? e->tensor->like : e->tensor;
    if (!verify_dense(e->tensor)) check_resolved(v, s, e, walked, walked->format.nlevel);
}

/* Requires that an assembled result has dense levels, then compressed unique ones. */
static void check_levels(Prog *p, const Tensor *t)
{
    bool stored = false;
    for (int k = 0; k < t->format.nlevel; k++) {
        const sc_levelspec *l = &t->format.level[k];
        const bool fits =
            l->part == SC_WHOLE && (!sc_kind_of(l)->crd ? !stored : sc_kind_of(l)->pos && l->unique);
        if (!fits || (k + 1 == t->format.nlevel && !sc_kind_of(l)->crd))
            fail(p, SC_ENOTIMPL, -1,
                 "%s: %s cannot be assembled; a sparse result has dense levels, then compressed ones, or the "
                 "structure of an operand",
                 t->name, verify_level(p, t, k));
        stored |= sc_kind_of(l)->pos;
    }
}

/* A loop that looks up, or cuts into tiles, an index that a loop around it runs over. */
static bool repeats(const Scene *s, int k)
{
    for (int i = 0; i < k; i++)
        if (s->loop[i]->ix.var == s->loop[k]->ix.var && !s->loop[i]->by) return true;
    return s->loop[k]->by > 0;
}

bool verify_counts(const Nest *loop)
{
    if (!loop->in) return !loop->nmerge;
    for (int k = 0; k < loop->in->format.nlevel; k++)
        if (index_same(tensor_level_index(loop->in, k), loop->ix))
            return !sc_kind_of(&loop->in->format.level[k])->crd;
    return false;
}

static _Noreturn void fail_order(NestVerifier *v, const Nest *loop, const Assign *a, const char *want)
{
    fail(v->p, SC_EVALUE, a->lhs->pos, "schedule: %s is assembled in order, but '%s' stands where %s",
         verify_expr(v->p, a->lhs), verify_loop(v->p, loop), want);
}

/* The loops around are over the levels of the result, in order; lookups may stand between them, but not around a
 * dense level: every position of it has its fibre. */
static void check_order(NestVerifier *v, const Scene *s, const Assign *a)
{
    Prog *p = v->p;
    const Tensor *t = a->lhs->tensor;
    int level = 0;
    for (int k = 0; k < s->nloop; k++) {
        const Nest *loop = s->loop[k];
        const bool dense = level < t->format.nlevel && !sc_kind_of(&t->format.level[level])->crd;
        if (repeats(s, k) && !dense) continue;
        if (level == t->format.nlevel)
            fail_order(v, loop, a, "every entry has been reached; sum in a workspace and assign behind it");
        const char *want =
            sc_arena_printf(&p->arena, "the loop over %s is expected", verify_level(p, t, level));
        if (!index_same(loop->ix, tensor_level_index(t, level))) fail_order(v, loop, a, want);
        if (dense && !verify_counts(loop))
            fail_order(v, loop, a, "a dense level needs a loop over all its coordinates");
        if (loop->kind == L_PAR && level)
            fail_order(v, loop, a, "only the loop over the first level can be par");
        level++;
    }
    if (level < t->format.nlevel)
        fail(p, SC_EVALUE, a->lhs->pos, "schedule: %s is assembled, and %s has no loop",
             verify_expr(p, a->lhs), verify_level(p, t, level));
}

/* The assignment appends an entry to a sparse result. */
static void check_append(NestVerifier *v, const Scene *s, const Assign *a)
{
    const Tensor *t = a->lhs->tensor;
    check_levels(v->p, t);
    check_order(v, s, a);
    if (a->reduce != O_CONST)
        fail(v->p, SC_EVALUE, a->lhs->pos,
             "schedule: %s is assembled, each entry once; use = and a workspace", verify_expr(v->p, a->lhs));
    if (v->use[prog_id(v->p, t)].writes)
        fail(v->p, SC_EVALUE, a->lhs->pos,
             "schedule: %s is assembled in one place, but the nest assigns it in two", t->name);
}

/* What all threads share is written inside par, at an index that par tells apart. */
static void check_race(NestVerifier *v, const Scene *s, const Expr *lhs)
{
    Prog *p = v->p;
    const Tensor *t = lhs->tensor;
    if (t->role == T_WORK && (t->place == W_REG || t->place == W_LANE)) return;
    if (v->serial) return;
    if (!s->par)
        fail(p, SC_EVALUE, lhs->pos, "schedule: %s is assigned outside of the par loop, by every thread",
             verify_expr(p, lhs));
    if (t->role == T_WORK && t->place == W_PRIVATE) return;
    for (int d = 0; d < t->ndim; d++) {
        const Index ix = lhs->ix[d];
        if (ix.var == s->par->ix.var && (ix.part == SC_WHOLE || index_same(ix, s->par->ix))) return;
    }
    fail(p, SC_EVALUE, lhs->pos,
         "schedule: threads of '%s' would write the same elements of %s; make an index of %s "
         "parallel, or gather in a private workspace",
         verify_loop(p, s->par), verify_expr(p, lhs), t->name);
}

static bool has_hash(const Nest *n)
{
    bool any = n->op == N_WORK && n->work->hash;
    for (int k = 0; k < n->n; k++) any |= has_hash(n->kid[k]);
    return any || (n->body && has_hash(n->body)) || (n->then && has_hash(n->then));
}

/* A range of units whose hash table was full is computed again. */
static void check_again(NestVerifier *v, const Assign *a)
{
    const Tensor *t = a->lhs->tensor;
    if (a->reduce == O_CONST || (t->role == T_WORK && (t->place == W_REG || t->place == W_LANE))) return;
    if (has_hash(v->kernel))
        fail(v->p, SC_EVALUE, a->lhs->pos,
             "schedule: %s is added to in a kernel with a hash workspace, which may run twice; use a bitmap, "
             "or sum "
             "in a workspace inside",
             verify_expr(v->p, a->lhs));
}

/* A result that shares the levels of an operand: every entry of it is assigned, and nothing else. */
static void check_like(NestVerifier *v, const Scene *s, const Assign *a)
{
    Prog *p = v->p;
    const Tensor *t = a->lhs->tensor, *x = t->like;
    const int n = s->known.level[prog_id(p, x)];
    check_resolved(v, s, a->lhs, x, t->shared);
    if (s->of[prog_id(p, x)].merged && eval_absent(p, a, tensor_bit(p, x)))
        fail(p, SC_EVALUE, a->lhs->pos,
             "schedule: %s has the structure of %s, but a value where %s is merged and has no entry; "
             "iterate "
             "%s",
             t->name, x->name, x->name, x->name);
    for (int l = t->shared; a->reduce == O_CONST && l < n; l++)
        if (sc_kind_of(&x->format.level[l])->crd)
            fail(p, SC_EVALUE, a->lhs->pos,
                 "schedule: %s has an entry where %s has none, and is assigned by = inside of it; sum in a "
                 "workspace, or by +=",
                 verify_expr(p, a->lhs), verify_level(p, x, l));
}

/* Of the lanes of a vector, = has none to choose. */
static void check_lanes(NestVerifier *v, const Scene *s, const Assign *a)
{
    const Nest *loop = s->nloop ? s->loop[s->nloop - 1] : NULL;
    if (!loop || loop->kind != L_VEC || a->reduce != O_CONST) return;
    for (int d = 0; d < a->lhs->tensor->ndim; d++) {
        const Index ix = a->lhs->ix[d];
        if (ix.var == loop->ix.var && ix.part != SC_DIV && !ix.slot) return;
    }
    fail(v->p, SC_EVALUE, a->lhs->pos,
         "schedule: %s is one number for all of '%s'; reduce by +=, max= or min=", verify_expr(v->p, a->lhs),
         verify_loop(v->p, loop));
}

void verify_eval(NestVerifier *v, const Scene *s, const Assign *a)
{
    Prog *p = v->p;
    Tensor *t = a->lhs->tensor;
    const int k = prog_id(p, t);
    if (a->lhs->op != O_ACCESS || t->role == T_IN)
        fail(p, SC_EVALUE, a->lhs->pos, "schedule: %s is an operand and cannot be assigned", t->name);
    if (t->role == T_OUT && t->format.nlevel < t->ndim)
        fail(p, SC_EINTERNAL, -1, "schedule: result %s has no format", t->name);
    if (t->role == T_WORK)
        check_work(v, s, a->lhs, FILLING);
    else
        check_plain(v, s, a->lhs, true);
    if (t->role == T_WORK && t->dtype != p->type &&
        (a->rhs->op != O_ACCESS || a->rhs->tensor->dtype != t->dtype || a->reduce != O_CONST))
        fail(p, SC_EVALUE, a->lhs->pos, "schedule: workspace %s is %s; it takes copies of %s operands alone",
             t->name, sc_dtype_name(t->dtype), sc_dtype_name(t->dtype));
    check_race(v, s, a->lhs);
    check_again(v, a);
    check_lanes(v, s, a);
    if (t->like) check_like(v, s, a);
    if (tensor_assembled(t)) check_append(v, s, a);
    if (v->use[k].writes++ && v->use[k].reduce != a->reduce)
        fail(p, SC_EVALUE, a->lhs->pos,
             "schedule: %s is assigned by = and by a reduction, or by two; use one", t->name);
    if (t->role == T_WORK && t->place == W_PRIVATE && a->reduce == O_CONST)
        fail(p, SC_EVALUE, a->lhs->pos,
             "schedule: the copies of private workspace %s are reduced; fill it by +=, max= "
             "or min=",
             t->name);
    v->use[k].reduce = a->reduce;
    v->use[k].kernel = v->nkernel;
    check_reads(v, s, a->rhs);
}

/* ---- workspaces ---- */
static void check_slots(NestVerifier *v, const Scene *s, const Tensor *t)
{
    Prog *p = v->p;
    for (int d = 0; d < t->ndim; d++) {
        const Index ix = t->slot[d];
        bool tiled = false;
        for (int k = 0; k < s->nloop; k++) tiled |= s->loop[k]->by && s->loop[k]->ix.var == ix.var;
        if (ix.slot && !tiled)
            fail(p, SC_EVALUE, -1,
                 "schedule: dimension #%s of workspace %s needs a loop over %s with 'by' around it",
                 p->var[ix.var].name, t->name, p->var[ix.var].name);
        if (t->place == W_REG && !ix.slot && verify_extent(p, ix) < 0)
            fail(p, SC_EVALUE, -1,
                 "schedule: workspace %s is in registers, but the extent of %s is no constant; cut it, as in "
                 "%s%%16",
                 t->name, verify_index(p, ix), p->var[ix.var].name);
        for (int k = 0; k < d; k++)
            if (t->slot[k].var == ix.var && (index_same(t->slot[k], ix) || ix.part == SC_WHOLE))
                fail(p, SC_EVALUE, -1, "schedule: workspace %s has index %s twice", t->name,
                     p->var[ix.var].name);
    }
}

static void check_gathered(Prog *p, const Tensor *t)
{
    const char *kind = t->hash ? "hash" : "bitmap";
    bool whole = t->place == W_LANE && t->ndim > 0;
    int64_t size = 4;
    for (int d = 0; d < t->ndim; d++) whole &= t->slot[d].part == SC_WHOLE && !t->slot[d].slot;
    if (!whole)
        fail(p, SC_EVALUE, -1, "schedule: workspace %s: %s is for lane workspaces over whole indices",
             t->name, kind);
    for (int d = 0; d < t->ndim; d++)
        if (!sc_mul(size, sc_max(p->var[t->slot[d].var].extent, 1), &size))
            fail(p, SC_EVALUE, -1, "schedule: workspace %s has more than 2^61 coordinates", t->name);
}

void verify_workspace(NestVerifier *v, const Scene *s, const Tensor *t)
{
    Prog *p = v->p;
    if (t->role != T_WORK || v->use[prog_id(p, t)].scope != CLOSED)
        fail(p, SC_EINTERNAL, -1, "schedule: workspace %s is opened twice", t->name);
    if (t->dtype != v->p->type && !(t->dtype == SC_BF16 && p->type == SC_F32 && t->place == W_LANE))
        fail(p, SC_EVALUE, -1, "schedule: workspace %s is %s; expected %s, what is computed in here", t->name,
             sc_dtype_name(t->dtype), sc_dtype_name(p->type));
    if (tensor_gathers(t)) check_gathered(p, t);
    if (t->place == W_LANE && ++v->nlane > SC_MAXWORK)
        fail(p, SC_ENOTIMPL, -1, "schedule: a kernel has at most %d lane workspaces", SC_MAXWORK);
    check_slots(v, s, t);
}
