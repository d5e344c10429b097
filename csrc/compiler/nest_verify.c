/* nest_verify.c: whether a nest can be run, and safely.
 *
 * requires: check and infer; a nest by a user or by the scheduler. The walk
 * keeps what is known at a place: which loop binds every index, how many levels
 * of every tensor are resolved, which workspaces are being filled or read. Legal
 * is what rests on that alone:
 *
 * - levels: a level is resolved when the one above it is and its own loop runs,
 *   or, for a dense level, when its coordinate is known. Nothing else is asked of
 *   the loop order.
 * - indices: an index is bound once; i%N inside of i/N.
 * - parallel: at most one par loop in a kernel; without one the kernel runs on
 *   one thread. What threads share is written inside par, and told apart by its
 *   index.
 * - workspaces: filled in the first block, by one kind of assignment, and read in
 *   the second.
 * - results: a sparse result that the nest assembles is appended in the order of
 *   its levels.
 *
 * That a nest computes what the expression says is not proved here. */
#include <string.h>

#include "ir.h"

#define MAXTENSOR (2 * SC_MAXOP)
#define MAXLOOP 80

typedef struct { /* at a place of the nest; copied at every loop */
    struct {
        const Nest *whole, *div, *mod, *slot; /* the loops that bind i, i/N, i%N and #i */
    } var[SC_MAXVAR];
    struct {
        int n;            /* levels resolved */
        const Nest *tile; /* the loop over tiles of level n */
        bool merged;
    } at[MAXTENSOR];
    const Nest *par, *loop[MAXLOOP];
    int nloop;
} State;

typedef enum { CLOSED, FILLING, READING } Scope;

typedef struct {
    Prog *p;
    struct {
        Scope scope;
        int depth; /* loops around the workspace */
        int writes;
        Op reduce;
    } use[MAXTENSOR];
    int nlane;   /* lane workspaces of the kernel */
    bool serial; /* the kernel has no par loop */
} Verifier;

/* ---- describing ---- */
static int id_of(const Prog *p, const Tensor *t)
{
    for (int k = 0; k < p->ntensor; k++)
        if (p->tensor[k] == t) return k;
    fail((Prog *)p, SC_EINTERNAL, -1, "the nest names a tensor %s that is not in the program", t->name);
}

static const char *show_index(Prog *p, Index ix)
{
    const char *name = p->var[ix.var].name;
    if (ix.part == SC_WHOLE) return sc_arena_printf(&p->arena, "%s%s", ix.slot ? "#" : "", name);
    return sc_arena_printf(&p->arena, "%s%c%d", name, ix.part == SC_DIV ? '/' : '%', ix.block);
}

static const char *show_loop(Prog *p, const Nest *n)
{
    static const char *const kind[] = {"for", "par", "vec"};
    return sc_arena_printf(&p->arena, "%s %s%s%s", kind[n->kind], show_index(p, n->ix), n->in ? " in " : "",
                           n->in ? n->in->name : "");
}

static const char *show_expr(Prog *p, const Expr *e)
{
    sc_text t = {0};
    expr_print(p, e, &t);
    if (t.failed) sc_text_free(&t);
    const char *s = t.s ? sc_arena_copy(&p->arena, t.s, t.n + 1) : "an expression";
    sc_text_free(&t);
    return s;
}

static const char *show_level(Prog *p, const Tensor *t, int l)
{
    static const char *const kind[] = {"dense", "compressed", "singleton", "ell"};
    const sc_levelspec *s = &t->format.level[l];
    return sc_arena_printf(&p->arena, "level %d of %s, %s over %s,", l, t->name, kind[s->kind],
                           show_index(p, level_index(t, l)));
}

/* ---- indices ---- */
static bool is_operand(const Tensor *t) { return t->role == T_IN; }
static bool is_dense(const Tensor *t) { return sc_format_is_dense(&t->format); }

/* The loop that makes ix known, or null. i is known by i, or by i/N and i%N. */
static const Nest *binder(const State *s, Index ix)
{
    const Nest *whole = s->var[ix.var].whole, *div = s->var[ix.var].div, *mod = s->var[ix.var].mod;
    if (ix.slot) return s->var[ix.var].slot;
    if (whole) return whole;
    if (ix.part == SC_DIV) return div && div->ix.block == ix.block ? div : NULL;
    if (ix.part == SC_MOD) return mod && mod->ix.block == ix.block ? mod : NULL;
    return div && mod && div->ix.block == mod->ix.block ? mod : NULL;
}

static int64_t const_extent(const Prog *p, Index ix)
{
    const Var *v = &p->var[ix.var];
    if (ix.part == SC_MOD) return ix.block;
    if (!v->fold || ix.slot) return -1;
    return ix.part == SC_DIV ? (v->extent + ix.block - 1) / ix.block : v->extent;
}

static void bind_index(Verifier *v, State *s, const Nest *n)
{
    Prog *p = v->p;
    const Index ix = n->ix;
    const Nest *whole = s->var[ix.var].whole, *div = s->var[ix.var].div, *mod = s->var[ix.var].mod;
    const Nest *clash = whole ? whole : mod ? mod : ix.part == SC_MOD ? NULL : div;
    if (clash)
        fail(p, SC_EVALUE, -1,
             "schedule: '%s' binds an index that '%s' around it binds already; remove one of the two",
             show_loop(p, n), show_loop(p, clash));
    if (ix.part == SC_MOD && (!div || div->ix.block != ix.block))
        fail(p, SC_EVALUE, -1, "schedule: '%s' needs a loop over %s/%d around it", show_loop(p, n),
             p->var[ix.var].name, ix.block);
    if (ix.part == SC_WHOLE) s->var[ix.var].whole = n;
    if (ix.part == SC_DIV) s->var[ix.var].div = n;
    if (ix.part == SC_MOD) s->var[ix.var].mod = n;
}

/* Dense levels resolve by themselves once their coordinates are known. */
static void advance(Verifier *v, State *s)
{
    for (int k = 0; k < v->p->ntensor; k++) {
        const Tensor *t = v->p->tensor[k];
        while (is_operand(t) && s->at[k].n < t->format.nlevel && !s->at[k].tile &&
               t->format.level[s->at[k].n].kind == SC_DENSE && binder(s, level_index(t, s->at[k].n)))
            s->at[k].n++;
    }
}

/* ---- loops ---- */
/* requires of a source: a sparse operand whose next level is over the index of the loop. returns its id */
static int check_source(Verifier *v, const State *s, const Nest *n, const Tensor *t)
{
    Prog *p = v->p;
    const int k = id_of(p, t), l = s->at[k].n;
    if (!is_operand(t))
        fail(p, SC_EVALUE, -1,
             "schedule: '%s': %s is no operand; a loop runs in a sparse operand or a bitmap workspace",
             show_loop(p, n), t->name);
    if (is_dense(t))
        fail(p, SC_EVALUE, -1, "schedule: '%s': %s is dense; leave its name out", show_loop(p, n), t->name);
    if (l == t->format.nlevel)
        fail(p, SC_EVALUE, -1, "schedule: '%s': all levels of %s are bound already", show_loop(p, n),
             t->name);
    if (!same_index(level_index(t, l), n->ix))
        fail(p, SC_EVALUE, -1, "schedule: '%s': %s must come first, by a loop over it", show_loop(p, n),
             show_level(p, t, l));
    return k;
}

static void enter_bitmap(Verifier *v, State *s, const Nest *n)
{
    Prog *p = v->p;
    const int k = id_of(p, n->in);
    if (!n->in->bitmap || v->use[k].scope != READING)
        fail(p, SC_EVALUE, -1,
             "schedule: '%s': a loop runs in a bitmap workspace, inside the block after 'then'",
             show_loop(p, n));
    if (!same_index(n->in->slot[0], n->ix))
        fail(p, SC_EVALUE, -1, "schedule: '%s': %s is over %s", show_loop(p, n), n->in->name,
             show_index(p, n->in->slot[0]));
    if (n->by || n->unroll)
        fail(p, SC_EVALUE, -1, "schedule: '%s': a loop in a bitmap has neither by nor unroll",
             show_loop(p, n));
    s->at[k].n = 1;
    bind_index(v, s, n);
}

static void enter_tensor(Verifier *v, State *s, const Nest *n)
{
    Prog *p = v->p;
    const int k = check_source(v, s, n, n->in), kind = n->in->format.level[s->at[k].n].kind;
    const bool dense = kind == SC_DENSE;
    if (n->kind == L_PAR && !dense && s->at[k].n)
        fail(p, SC_ENOTIMPL, -1, "schedule: '%s': par runs over a dense level or the first level of a tensor",
             show_loop(p, n));
    if (n->by && (dense || s->at[k].tile || n->kind == L_PAR))
        fail(p, SC_EVALUE, -1,
             "schedule: '%s by %d': by cuts the positions of a level that is not dense, once, and not in a "
             "par loop",
             show_loop(p, n), n->by);
    if (n->by) {
        s->at[k].tile = n;
        return;
    }
    if (s->at[k].tile) s->var[n->ix.var].slot = n;
    s->at[k].tile = NULL;
    bind_index(v, s, n);
    s->at[k].n++;
}

static void enter_merge(Verifier *v, State *s, const Nest *n)
{
    Prog *p = v->p;
    if (n->nmerge < 2)
        fail(p, SC_EVALUE, -1, "schedule: '%s merge': needs two tensors; use in", show_loop(p, n));
    for (int m = 0; m < n->nmerge; m++) {
        const Tensor *t = n->merge[m];
        const int k = check_source(v, s, n, t);
        const sc_levelspec *l = &t->format.level[s->at[k].n];
        if (l->kind != SC_COMPRESSED || !l->unique)
            fail(p, SC_ENOTIMPL, -1,
                 "schedule: '%s': %s is not compressed and unique, so it cannot be merged; convert %s, or "
                 "leave a dense "
                 "one out",
                 show_loop(p, n), show_level(p, t, s->at[k].n), t->name);
        if (s->at[k].tile || n->by || n->unroll)
            fail(p, SC_EVALUE, -1, "schedule: '%s': merged levels have neither by nor unroll",
                 show_loop(p, n));
        for (int q = 0; q < m; q++)
            if (n->merge[q] == t)
                fail(p, SC_EVALUE, -1, "schedule: '%s' merges %s twice", show_loop(p, n), t->name);
        s->at[k].merged = true;
    }
    bind_index(v, s, n);
    for (int m = 0; m < n->nmerge; m++) s->at[id_of(p, n->merge[m])].n++;
}

static bool only_evals(const Nest *n)
{
    for (int k = 0; k < n->n; k++)
        if (n->kid[k]->op != N_EVAL) return false;
    return n->op == N_EVAL || n->op == N_SEQ;
}

static void check_head(Prog *p, const Nest *n)
{
    const char *loop = show_loop(p, n);
    const bool source = n->in || n->nmerge;
    if (n->kind == L_VEC && (source || n->by || n->unroll || n->ix.part == SC_DIV))
        fail(p, SC_EVALUE, -1,
             "schedule: '%s': a vec loop is over i or i%%N, without in, merge, by and unroll", loop);
    if (n->kind == L_VEC && !only_evals(n->body))
        fail(p, SC_EVALUE, -1, "schedule: '%s': a vec loop is innermost; only evaluations stand in it", loop);
    if (n->by && !n->in)
        fail(p, SC_EVALUE, -1, "schedule: '%s by %d': by cuts a loop in a tensor; cut a dense one as %s/%d",
             loop, n->by, p->var[n->ix.var].name, n->by);
    if (n->unroll && (n->kind == L_PAR || n->by))
        fail(p, SC_EVALUE, -1, "schedule: '%s': unroll goes with neither par nor by", loop);
    if (n->unroll && !source && const_extent(p, n->ix) != n->unroll)
        fail(p, SC_EVALUE, -1,
             "schedule: '%s unroll %d': a dense loop is unrolled when its extent is that constant", loop,
             n->unroll);
}

static void walk(Verifier *, const State *, const Nest *);

static void walk_loop(Verifier *v, const State *outer, const Nest *n)
{
    State s = *outer;
    check_head(v->p, n);
    if (s.nloop == MAXLOOP) fail(v->p, SC_EVALUE, -1, "schedule: more than %d loops in each other", MAXLOOP);
    s.loop[s.nloop++] = n;
    if (n->kind == L_PAR && s.par)
        fail(v->p, SC_EVALUE, -1, "schedule: '%s' stands inside of '%s'; a kernel has one par loop",
             show_loop(v->p, n), show_loop(v->p, s.par));
    if (n->kind == L_PAR) s.par = n;
    if (n->nmerge && n->kind == L_PAR)
        fail(v->p, SC_ENOTIMPL, -1, "schedule: '%s merge': a merged loop cannot be par", show_loop(v->p, n));
    if (n->nmerge)
        enter_merge(v, &s, n);
    else if (n->in && n->in->role == T_WORK)
        enter_bitmap(v, &s, n);
    else if (n->in)
        enter_tensor(v, &s, n);
    else
        bind_index(v, &s, n);
    advance(v, &s);
    walk(v, &s, n->body);
}

/* ---- evaluations ---- */
static void check_known(Verifier *v, const State *s, const Expr *e, Index ix)
{
    if (binder(s, ix)) return;
    fail(v->p, SC_EVALUE, e->pos, "schedule: %s needs index %s, which no loop around it binds",
         show_expr(v->p, e), show_index(v->p, ix));
}

static void check_plain(Verifier *v, const State *s, const Expr *e)
{
    const Tensor *t = e->tensor;
    for (int d = 0; d < t->ndim; d++) {
        const Index ix = e->ix[d];
        if (ix.part != SC_WHOLE || ix.slot)
            fail(v->p, SC_EVALUE, e->pos, "schedule: %s: only workspaces take parts of an index; write %s",
                 show_expr(v->p, e), v->p->var[ix.var].name);
        if (v->p->var[ix.var].extent != t->extent[d])
            fail(v->p, SC_EVALUE, e->pos,
                 "schedule: %s: dimension %d of %s has extent %lld and index %s %lld", show_expr(v->p, e), d,
                 t->name, (long long)t->extent[d], v->p->var[ix.var].name,
                 (long long)v->p->var[ix.var].extent);
        if ((t->role != T_IN || !is_dense(t)) && ix.var != t->dimvar[d])
            fail(v->p, SC_EVALUE, e->pos, "schedule: %s: the expression has index %s in dimension %d of %s",
                 show_expr(v->p, e), v->p->var[t->dimvar[d]].name, d, t->name);
        check_known(v, s, e, ix);
    }
}

static void check_resolved(Verifier *v, const State *s, const Expr *e, const Tensor *t)
{
    const int n = s->at[id_of(v->p, t)].n;
    if (n == t->format.nlevel) return;
    fail(v->p, SC_EVALUE, e->pos, "schedule: %s stands where %s has no loop; put it inside 'for %s in %s'",
         show_expr(v->p, e), show_level(v->p, t, n), show_index(v->p, level_index(t, n)), t->name);
}

/* Registers have no address: every slot is a constant of an unrolled or vector loop inside. */
static void check_register(Verifier *v, const State *s, const Expr *e)
{
    const int depth = v->use[id_of(v->p, e->tensor)].depth;
    for (int d = 0; d < e->tensor->ndim; d++) {
        const Nest *by = binder(s, e->ix[d]);
        bool inside = false;
        for (int k = depth; k < s->nloop; k++) inside |= s->loop[k] == by;
        if (!inside || (by->kind != L_VEC && (!by->unroll || by->in)))
            fail(v->p, SC_EVALUE, e->pos,
                 "schedule: %s: %s is in registers, so a vec or unrolled loop over %s must stand "
                 "inside of its block",
                 show_expr(v->p, e), e->tensor->name, show_index(v->p, e->ix[d]));
    }
}

static void check_work(Verifier *v, const State *s, const Expr *e, Scope scope)
{
    Prog *p = v->p;
    const Tensor *t = e->tensor;
    const int k = id_of(p, t);
    for (int a = 0; a < p->nassign; a++)
        if (p->assign[a].lhs->tensor == t)
            fail(p, SC_EVALUE, e->pos,
                 "schedule: %s is a temporary of the expression; compute it in a workspace", t->name);
    if (v->use[k].scope != scope)
        fail(p, SC_EVALUE, e->pos, "schedule: workspace %s is %s", t->name,
             v->use[k].scope == CLOSED ? "used outside of its blocks"
             : scope == READING        ? "read where it is being filled; read it after 'then'"
                                       : "written after 'then'; write it in its first block");
    for (int d = 0; d < t->ndim; d++) {
        if (!same_index(e->ix[d], t->slot[d]))
            fail(p, SC_EVALUE, e->pos, "schedule: %s: dimension %d of workspace %s is %s", show_expr(p, e), d,
                 t->name, show_index(p, t->slot[d]));
        check_known(v, s, e, e->ix[d]);
    }
    if (t->place == W_REG) check_register(v, s, e);
    if (t->bitmap && scope == READING && !s->at[k].n)
        fail(p, SC_EVALUE, e->pos, "schedule: a bitmap workspace is read inside 'for %s in %s'",
             show_index(p, t->slot[0]), t->name);
}

static void check_reads(Verifier *v, const State *s, const Expr *e)
{
    for (int k = 0; k < 2; k++)
        if (e->kid[k]) check_reads(v, s, e->kid[k]);
    if (e->op == O_REDUCE) fail(v->p, SC_EINTERNAL, -1, "schedule: a reduction inside an evaluation");
    if (e->op != O_ACCESS) return;
    if (e->tensor->role == T_OUT)
        fail(v->p, SC_EVALUE, e->pos, "schedule: %s is a result and cannot be read; use a workspace",
             e->tensor->name);
    if (e->tensor->role == T_WORK) {
        check_work(v, s, e, READING);
        return;
    }
    check_plain(v, s, e);
    if (!is_dense(e->tensor)) check_resolved(v, s, e, e->tensor);
}

/* A result that is appended to: the loops around are exactly its levels, in order. */
static void check_append(Verifier *v, const State *s, const Assign *a)
{
    const Tensor *t = a->lhs->tensor;
    const sc_levelspec *l = t->format.level;
    if (t->format.nlevel != 2 || l[0].kind != SC_DENSE || l[0].dim || l[0].part ||
        l[1].kind != SC_COMPRESSED || !l[1].unique || l[1].part)
        fail(v->p, SC_ENOTIMPL, -1, "%s: the format of a sparse result is csr, or 'like' that of an operand",
             t->name);
    bool order = s->nloop == 2 && s->loop[0] == s->par && s->loop[1]->kind == L_FOR && !s->loop[1]->unroll;
    for (int k = 0; order && k < 2; k++)
        order = same_index(s->loop[k]->ix, level_index(t, k)) && !s->loop[k]->by;
    if (!order)
        fail(v->p, SC_EVALUE, a->lhs->pos,
             "schedule: %s is assembled in order, so it is assigned inside 'par %s' and 'for %s' and no "
             "other loop",
             show_expr(v->p, a->lhs), v->p->var[t->dimvar[0]].name, v->p->var[t->dimvar[1]].name);
    if (a->reduce != O_CONST)
        fail(v->p, SC_EVALUE, a->lhs->pos,
             "schedule: %s is assembled, each entry once; use = and a workspace", show_expr(v->p, a->lhs));
    if (v->use[id_of(v->p, t)].writes)
        fail(v->p, SC_EVALUE, a->lhs->pos,
             "schedule: %s is assembled in one place, but the nest assigns it in two", t->name);
}

/* What all threads share is written inside par, at an index that par tells apart. */
static void check_race(Verifier *v, const State *s, const Expr *lhs)
{
    Prog *p = v->p;
    const Tensor *t = lhs->tensor;
    if (t->role == T_WORK && (t->place == W_REG || t->place == W_LANE)) return;
    if (v->serial) return;
    if (!s->par)
        fail(p, SC_EVALUE, lhs->pos, "schedule: %s is assigned outside of the par loop, by every thread",
             show_expr(p, lhs));
    if (t->role == T_WORK && t->place == W_PRIVATE) return;
    for (int d = 0; d < t->ndim; d++) {
        const Index ix = lhs->ix[d];
        if (ix.var == s->par->ix.var && (ix.part == SC_WHOLE || same_index(ix, s->par->ix))) return;
    }
    fail(p, SC_EVALUE, lhs->pos,
         "schedule: threads of '%s' would write the same elements of %s; make an index of %s "
         "parallel, or gather in a private workspace",
         show_loop(p, s->par), show_expr(p, lhs), t->name);
}

static void walk_eval(Verifier *v, const State *s, const Assign *a)
{
    Prog *p = v->p;
    Tensor *t = a->lhs->tensor;
    const int k = id_of(p, t);
    if (a->lhs->op != O_ACCESS || t->role == T_IN)
        fail(p, SC_EVALUE, a->lhs->pos, "schedule: %s is an operand and cannot be assigned", t->name);
    if (t->role == T_WORK)
        check_work(v, s, a->lhs, FILLING);
    else
        check_plain(v, s, a->lhs);
    check_race(v, s, a->lhs);
    if (t->like) {
        check_resolved(v, s, a->lhs, t->like);
        if (s->at[id_of(p, t->like)].merged)
            fail(p, SC_EVALUE, a->lhs->pos,
                 "schedule: %s has the structure of %s, so %s must be iterated, not merged", t->name,
                 t->like->name, t->like->name);
    }
    if (assembled(t)) check_append(v, s, a);
    if (v->use[k].writes++ && v->use[k].reduce != a->reduce)
        fail(p, SC_EVALUE, a->lhs->pos,
             "schedule: %s is assigned by = and by a reduction, or by two; use one", t->name);
    if (t->role == T_WORK && t->place == W_PRIVATE && a->reduce == O_CONST)
        fail(p, SC_EVALUE, a->lhs->pos,
             "schedule: the copies of private workspace %s are reduced; fill it by +=, max= "
             "or min=",
             t->name);
    v->use[k].reduce = a->reduce;
    check_reads(v, s, a->rhs);
}

/* ---- workspaces ---- */
static int count_par(const Nest *n)
{
    int count = n->op == N_LOOP && n->kind == L_PAR;
    for (int k = 0; k < n->n; k++) count += count_par(n->kid[k]);
    return count + (n->body ? count_par(n->body) : 0) + (n->then ? count_par(n->then) : 0);
}

static void check_slots(Verifier *v, const State *s, const Tensor *t)
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
        if (t->place == W_REG && const_extent(p, ix) < 0)
            fail(p, SC_EVALUE, -1,
                 "schedule: workspace %s is in registers, but the extent of %s is no constant; cut it, as in "
                 "%s%%16",
                 t->name, show_index(p, ix), p->var[ix.var].name);
        for (int k = 0; k < d; k++)
            if (t->slot[k].var == ix.var && (same_index(t->slot[k], ix) || ix.part == SC_WHOLE))
                fail(p, SC_EVALUE, -1, "schedule: workspace %s has index %s twice", t->name,
                     p->var[ix.var].name);
    }
}

static void check_declared(Verifier *v, const State *s, const Tensor *t)
{
    Prog *p = v->p;
    if (t->role != T_WORK || v->use[id_of(p, t)].scope != CLOSED)
        fail(p, SC_EINTERNAL, -1, "schedule: workspace %s is opened twice", t->name);
    if (t->dtype != SC_F32 && t->dtype != SC_F64)
        fail(p, SC_EVALUE, -1, "schedule: workspace %s is %s; expected f32 or f64", t->name,
             sc_dtype_name(t->dtype));
    if (t->bitmap && (t->place != W_LANE || t->ndim != 1 || t->slot[0].part != SC_WHOLE || t->slot[0].slot))
        fail(p, SC_EVALUE, -1, "schedule: workspace %s: a bitmap is for lane workspaces over one whole index",
             t->name);
    if (t->place == W_LANE && ++v->nlane > SC_MAXWORK)
        fail(p, SC_ENOTIMPL, -1, "schedule: a kernel has at most %d lane workspaces", SC_MAXWORK);
    check_slots(v, s, t);
}

typedef void Walk(Verifier *, const State *, const Nest *);

static void walk_blocks(Verifier *v, const State *s, const Nest *n, Walk *fill, Walk *read)
{
    const int k = id_of(v->p, n->work);
    check_declared(v, s, n->work);
    v->use[k].depth = s->nloop;
    v->use[k].scope = FILLING;
    fill(v, s, n->body);
    if (!v->use[k].writes) fail(v->p, SC_EVALUE, -1, "schedule: nothing fills workspace %s", n->work->name);
    v->use[k].scope = READING;
    read(v, s, n->then);
    v->use[k].scope = CLOSED;
}

static void walk_work(Verifier *v, const State *s, const Nest *n)
{
    if (n->work->place == W_PRIVATE || n->work->place == W_SHARED)
        fail(v->p, SC_EVALUE, -1,
             "schedule: workspace %s is for all threads and must stand at the top of the nest",
             n->work->name);
    if (!s->par && count_par(n->body))
        fail(v->p, SC_EVALUE, -1,
             "schedule: workspace %s belongs to one thread, so no par loop can fill it; make it private or "
             "shared",
             n->work->name);
    walk_blocks(v, s, n, walk, walk);
}

static void walk(Verifier *v, const State *s, const Nest *n)
{
    switch (n->op) {
    case N_LOOP: walk_loop(v, s, n); break;
    case N_WORK: walk_work(v, s, n); break;
    case N_EVAL: walk_eval(v, s, &n->eval); break;
    case N_SEQ:
        for (int k = 0; k < n->n; k++) walk(v, s, n->kid[k]);
        break;
    }
}

static void walk_kernel(Verifier *v, const State *s, const Nest *n)
{
    const int pars = count_par(n);
    v->serial = pars == 0;
    v->nlane = 0;
    if (pars > 1)
        fail(v->p, SC_EVALUE, -1,
             "schedule: a kernel has %d par loops, expected at most 1; the others must be for or vec", pars);
    walk(v, s, n);
}

/* Kernels are the items at the top and those of the second block of a private or shared workspace; its
 * first block is one kernel. */
static void walk_top(Verifier *v, const State *s, const Nest *n)
{
    if (n->op == N_SEQ)
        for (int k = 0; k < n->n; k++) walk_top(v, s, n->kid[k]);
    else if (n->op == N_WORK && (n->work->place == W_PRIVATE || n->work->place == W_SHARED))
        walk_blocks(v, s, n, walk_kernel, walk_top);
    else
        walk_kernel(v, s, n);
}

void nest_verify(Prog *p, const Nest *n)
{
    Verifier v = {.p = p};
    State s = {0};
    if (n->op == N_SEQ && !n->n) fail(p, SC_EVALUE, -1, "schedule: the nest is empty");
    advance(&v, &s);
    walk_top(&v, &s, n);
    for (int k = 0; k < p->ntensor; k++)
        if (p->tensor[k]->role == T_OUT && !v.use[k].writes)
            fail(p, SC_EVALUE, -1, "schedule: result %s is never assigned", p->tensor[k]->name);
}
