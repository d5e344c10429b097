/* lower_merge.c: co-iteration.
 *
 * A merge advances positions of several tensors together. Which of them are
 * present at a coordinate makes a case; what a case computes is the expression
 * with the absent ones replaced by zero, and cases that compute nothing vanish.
 * That is the whole lattice: there is no rule for any operator. */
#include "lower.h"
typedef struct {
    Low *l;
    bool any;
} Alive;

static bool is_zero(const Expr *e) { return e->op == O_CONST && e->c == 0; }

static void alive(const Nest *n, void *ctx)
{
    Alive *a = ctx;
    if (n->op != N_EVAL) return;
    Expr *e = expr_absent(a->l->p, n->eval.rhs, &a->l->e, a->l);
    Op op = n->eval.reduce;
    bool drops = e->op == O_CONST && (op == O_CONST ? is_zero(e) : e->c == op_identity(op));
    if (!drops) a->any = true;
}

static void set_absent(Low *l, const Nest *n, unsigned present)
{
    for (int i = 0; i < n->nmerge; i++) where(l, n->merge[i])->absent = !(present >> i & 1);
}

static bool point_alive(Low *l, const Nest *n, unsigned present)
{
    Alive a = {.l = l};
    set_absent(l, n, present);
    nest_walk(n->body, alive, &a);
    return a.any;
}

typedef struct {
    Local *p[6];
    Val *end[6], *crd[6], *here;
} Merge;

static Val *all_inside(Low *l, const Nest *n, const Merge *m, unsigned set_)
{
    Val *v = NULL;
    for (int i = 0; i < n->nmerge; i++) {
        if (!(set_ >> i & 1)) continue;
        Val *in = val_op(l->p, O_LT, val_local(l->p, m->p[i]), m->end[i]);
        v = v ? val_op(l->p, O_AND, v, in) : in;
    }
    return v;
}

static void merge_case(Low *l, const Nest *n, const Merge *m, unsigned set_, Val *c)
{
    Env save = l->e;
    set_absent(l, n, set_);
    for (int i = 0; i < n->nmerge; i++) {
        if (!(set_ >> i & 1)) continue;
        Where *w = where(l, n->merge[i]);
        w->pos[++w->n] = val_local(l->p, m->p[i]);
    }
    bind(l, n->ix, c);
    body(l, n->body);
    l->e = save;
}

/* Some case inside `set` does something. */
static bool useful(const bool *point, unsigned set_)
{
    for (unsigned sub = set_; sub; sub = (sub - 1) & set_)
        if (point[sub]) return true;
    return false;
}

/* All of `sub` are at this coordinate. */
static Val *case_test(Low *l, const Nest *n, const Merge *m, unsigned sub)
{
    Val *test = NULL;
    for (int i = 0; i < n->nmerge; i++) {
        if (!(sub >> i & 1)) continue;
        Val *here = val_op(l->p, O_EQ, m->crd[i], m->here);
        test = test ? val_op(l->p, O_AND, test, here) : here;
    }
    return test;
}

/* if all of a larger subset are at this coordinate ... else if ... Larger subsets come first; one that does
 * nothing still needs its empty case in front of a smaller one that does. */
static void merge_cases(Low *l, const Nest *n, const Merge *m, unsigned set_, const bool *point)
{
    bool all = true;
    for (unsigned sub = set_; sub; sub = (sub - 1) & set_) all &= useful(point, sub);
    unsigned left = (1u << __builtin_popcount(set_)) - 1;
    Stmt **after = NULL; /* where the walk goes on behind the whole chain */
    for (int size = n->nmerge; size; size--)
        for (unsigned sub = set_; sub; sub = (sub - 1) & set_) {
            if (__builtin_popcount(sub) != size) continue;
            left--;
            if (!useful(point, sub)) continue;
            if (all && !left) { /* nothing else remains */
                merge_case(l, n, m, sub, m->here);
                continue;
            }
            Stmt *s = put(l, S_IF);
            if (!after) after = l->tail;
            s->a = case_test(l, n, m, sub);
            l->tail = &s->body;
            if (point[sub]) merge_case(l, n, m, sub, m->here);
            l->tail = &s->other;
        }
    if (after) l->tail = after;
}

/* One loop of the merge: while all of `set` have entries left. */
static void merge_loop(Low *l, const Nest *n, Merge *m, unsigned set_, const bool *point)
{
    Prog *p = l->p;
    Stmt *loop = put(l, S_WHILE), **outer = l->tail;
    loop->a = all_inside(l, n, m, set_);
    l->tail = &loop->body;
    Val *c = NULL;
    const char *name = p->var[n->ix.var].name;
    for (int i = 0; i < n->nmerge; i++) {
        if (!(set_ >> i & 1)) continue;
        Buf *crd = tensor_buf(l, B_CRD, n->merge[i], where(l, n->merge[i])->n);
        const char *stem = sc_arena_printf(&p->arena, "%s_%s", name, n->merge[i]->name);
        m->crd[i] = let(l, stem, load_index(l, crd, val_local(p, m->p[i])));
        c = c ? val_op(p, O_MIN, c, m->crd[i]) : m->crd[i];
    }
    m->here = let(l, name, c);
    merge_cases(l, n, m, set_, point);
    for (int i = 0; i < n->nmerge; i++) {
        if (!(set_ >> i & 1)) continue;
        bool alone = set_ == 1u << i;
        Val *step = alone ? val_int(p, 1) : val_cast(p, I64, val_op(p, O_EQ, m->crd[i], m->here));
        set(l, m->p[i], val_op(p, O_ADD, val_local(p, m->p[i]), step));
    }
    l->tail = outer;
}

void lower_merge(Low *l, const Nest *n)
{
    bool point[64];
    Merge m;
    unsigned all = (1u << n->nmerge) - 1;
    for (unsigned s = 1; s <= all; s++) point[s] = point_alive(l, n, s);
    if (point_alive(l, n, 0))
        fail(l->p, SC_ENOTIMPL, -1,
             "index %s is merged, but the result has values where no operand is stored: convert one operand "
             "to dense",
             l->p->var[n->ix.var].name);
    set_absent(l, n, all);
    for (int i = 0; i < n->nmerge; i++) {
        Val *lo, *hi;
        range_of(l, n->merge[i], &lo, &hi);
        m.p[i] = mut(l, sc_arena_printf(&l->p->arena, "p%s", n->merge[i]->name), lo);
        m.end[i] = hi;
    }
    for (int size = n->nmerge; size; size--)
        for (unsigned s = all; s; s--)
            if (__builtin_popcount(s) == size && useful(point, s)) merge_loop(l, n, &m, s, point);
}
