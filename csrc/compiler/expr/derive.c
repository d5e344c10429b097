/* derive.c: the gradient of a program, as another program.
 *
 * requires: check, infer. Reverse mode on index notation. The adjoint of an
 * expression is a product: the gradient of the result, times the derivatives of
 * what lies between. It is carried from the roots to the leaves; at an access it
 * becomes a share of the gradient of that tensor, summed over every index that is
 * in scope there and that the access lacks. Assignments are walked from the last
 * to the first, so that a temporary has all its shares when its own turn comes.
 *
 *   sums          the adjoint is the same at every point
 *   max=, min=    shared evenly among the points that attain the extremum; NaN where it is, which none attains
 *   max, min      half to each side where they are equal
 *   relu, abs     0 at 0;  comparisons and stored() have no gradient
 *   skip          every sparse operand of an assignment must be stored where the point counts
 *
 * An adjoint below a sum is used at many points: where it is more than a product
 * of accesses it gets a temporary, and so does what stands beside it; beside
 * something sparse, only where that is stored. Such temporaries are sparse where
 * the gradient program may be taken apart (path/apart.c); elsewhere what would be
 * sparse is computed again. The adjoint of a sparse result has its structure. A
 * gradient to a sparse operand is multiplied by stored(), its structure is asked
 * for (derive_write.c).
 *
 * The text must mean what the tree says: "=" sums an index in the smallest
 * product with all its uses. An index that a product lacks, or hides in one
 * function, gets factors that are 1 and show it (`show`). */
#include "derive.h"

#include <stdio.h>
#include <string.h>

/* ---- looking at expressions ---- */
/* Whether a gradient to e, or to what it was computed from, is wanted. */
static bool is_wanted(const Expr *e, const void *x)
{
    const Derive *d = x;
    if (e->op != O_ACCESS) return false;
    if (e->tensor->role == T_IN) return e->tensor->arg >= 0 && d->wanted >> e->tensor->arg & 1;
    for (int a = 0; a < d->p->nassign; a++)
        if (d->p->assign[a].lhs->tensor == e->tensor) return d->active >> a & 1;
    return false;
}

/* ---- temporaries ---- */
/* A sparse factor of the product that has these indices, of the program where it can be, so that what is computed at its
 * entries is the same wherever it stands; or null. */
static const Expr *mask_over(const Expr *e, uint32_t vars)
{
    if (e->op == O_DIV || e->op == O_NEG) return mask_over(e->kid[0], vars);
    if (e->op == O_MUL) {
        const Expr *a = mask_over(e->kid[0], vars), *b = mask_over(e->kid[1], vars);
        return !a || (b && a->tensor->role == T_WORK && b->tensor->role != T_WORK) ? b : a;
    }
    const Expr *at = e->op == O_STORED ? e->kid[0] : e;
    return at->op == O_ACCESS && derive_sparse(at->tensor) && expr_free(at) == vars ? at : NULL;
}

/* e, a factor beside `around`, where it is used more than once, or where a sum would be: from a temporary if that can be.
 * What stands beside something sparse is computed only there. */
static Expr *once(Derive *d, Expr *e, Expr *around)
{
    if (!expr_has(e, O_REDUCE)) return e;
    if (e->op == O_MUL && d->apart) {
        Expr *a = once(d, e->kid[0], derive_times(d->p, around, e->kid[1]));
        return derive_times(d->p, a, once(d, e->kid[1], derive_times(d->p, around, a)));
    }
    const Expr *mask = d->apart && !derive_covered(e) ? mask_over(around, expr_free(e)) : NULL;
    if (mask) e = derive_prefix(d->p, derive_stored(d, mask), e);
    for (int k = 0; k < d->nonce; k++)
        if (expr_equal(d->once[k].e, e)) return d->once[k].temp;
    if ((derive_covered(e) && !d->apart) || d->nonce == SC_LEN(d->once)) return e;
    Expr *temp = derive_temporary(d, "t", e);
    d->once[d->nonce].e = e;
    d->once[d->nonce++].temp = temp;
    return temp;
}

/* The adjoint of a sum. */
static Expr *settle(Derive *d, Expr *adj)
{
    Fraction m = {.c = 1};
    bool plain = true;
    derive_flatten(d, &m, adj, false);
    for (int k = 0; k < m.nover; k++) plain &= m.over[k]->op == O_ACCESS || m.over[k]->op == O_STORED;
    for (int k = 0; k < m.nunder; k++) plain &= m.under[k]->op == O_ACCESS;
    if ((plain && m.nover + m.nunder <= 3) || (derive_covered(adj) && !d->apart)) return adj;
    adj = derive_rebuild(d->p, &m);
    return derive_temporary(d, "t", adj);
}

/* ---- walking ---- */
typedef struct {
    Derive *d;
    const Assign *a;
    uint32_t scope;
    Expr *adj; /* of the right side */
} Walk;

static void walk(Walk *, Expr *, Expr *adj);

static Expr *binary(Walk *w, Op op, Expr *a, Expr *b) { return expr_new(w->d->p, op, a, b); }
static Expr *number(Walk *w, double c) { return expr_const(w->d->p, c); }

/* Whether values can be read from the result: it is stored in the type of the operands. */
static bool keeps_values(const Walk *w) { return w->a->lhs->tensor->dtype == w->d->p->tensor[0]->dtype; }

/* The value of e, beside its adjoint; from the result where e is all of it. */
static Expr *value_of(Walk *w, Expr *e, Expr *adj)
{
    const bool sparse = derive_sparse(w->a->lhs->tensor);
    if (e == w->a->rhs && (!sparse || expr_has(e, O_REDUCE)) && keeps_values(w)) return w->a->lhs;
    return once(w->d, e, adj);
}

static bool has_access(const Expr *e, const void *at)
{
    const Expr *x = at;
    if (e->op != O_ACCESS || e->tensor->arg != x->tensor->arg || e->tensor->role != x->tensor->role)
        return false;
    for (int k = 0; k < e->tensor->ndim; k++)
        if (e->ix[k].var != x->ix[k].var) return false;
    return true;
}

/* Skip mode: a point counts where all sparse operands are stored, those too whose factor is gone. */
static Expr *count_where(Walk *w, const Expr *e, Expr *value)
{
    if (e->op == O_ACCESS && e->tensor->role == T_IN && derive_sparse(e->tensor) &&
        !expr_any(value, has_access, e)) {
        if (expr_free(e) & ~w->scope)
            fail(w->d->p, SC_ENOTIMPL, e->pos,
                 "no gradient of implicit=\"skip\" where %s is inside of a sum of its own; use two calls",
                 e->tensor->name);
        value = derive_prefix(w->d->p, derive_stored(w->d, e), value);
    }
    for (int k = 0; k < 2; k++)
        if (e->kid[k]) value = count_where(w, e->kid[k], value);
    return value;
}

static void walk_access(Walk *w, Expr *e, Expr *adj)
{
    Derive *d = w->d;
    Expr *value = derive_tidy(d, adj);
    if (d->p->skip) value = count_where(w, w->a->rhs, value);
    if (d->nshare == MAXSHARE)
        fail(d->p, SC_ENOTIMPL, e->pos, "the gradient has more than %d terms; split the expression",
             MAXSHARE);
    value = derive_sum(d, value, w->scope & ~expr_free(e), w->scope);
    d->share[d->nshare++] = (Share){derive_operand(d, e->tensor), e, value, false};
}

/* The terms of an extremum as they are compared with it: two kernels round what they compute as each finds best, so terms
 * that are computed are stored, if that can be. */
static Expr *terms_of(Walk *w, Expr *e)
{
    Expr *body = e->kid[0];
    const bool stored = body->op == O_ACCESS || w->d->p->skip || (derive_covered(body) && !w->d->apart);
    return stored ? body : derive_temporary(w->d, "v", body);
}

/* The extremum e, the right side of its assignment, of these terms: the result holds it where they are operands. */
static Expr *attained(Walk *w, Expr *e, Expr *terms)
{
    if (e->kid[0]->op == O_ACCESS) return w->a->lhs;
    return derive_assign(w->d, derive_tensor(w->d, "m", false), expr_free(e), e->reduce, terms);
}

/* A sum inside of others has one value for all points around that it does not depend on: its adjoint is summed over
 * them, once. Not where it is sparse, and not where points are counted. */
static Expr *gather(Walk *w, const Expr *e, Expr *adj)
{
    Derive *d = w->d;
    const uint32_t around = w->scope & ~expr_free(e);
    if (!around || d->p->skip) return adj;
    Expr *sum = derive_sum(d, derive_tidy(d, adj), around, w->scope);
    if (derive_covered(sum) && !d->apart) return adj;
    w->scope = expr_free(e);
    return derive_temporary(d, "t", sum);
}

static void walk_reduce(Walk *w, Expr *e, Expr *adj)
{
    Derive *d = w->d;
    Expr *body = e->kid[0];
    const uint32_t outer = w->scope;
    adj = gather(w, e, adj);
    w->scope |= e->vars;
    if (e->reduce == O_ADD) {
        walk(w, body, body->op == O_ACCESS ? adj : settle(d, adj));
    } else {
        Expr *terms = terms_of(w, e), *hit = binary(w, O_EQ, terms, attained(w, e, terms));
        Expr *n = derive_assign(d, derive_tensor(d, "n", false), expr_free(e), O_ADD, hit);
        walk(w, body, binary(w, O_DIV, binary(w, O_MUL, adj, hit), n));
    }
    w->scope = outer;
}

static void walk_extremum(Walk *w, Expr *e, Expr *adj)
{
    Expr *a = once(w->d, e->kid[0], adj), *b = once(w->d, e->kid[1], adj);
    Expr *tie = binary(w, O_MUL, number(w, 0.5), binary(w, O_EQ, a, b));
    Expr *left = binary(w, O_ADD, binary(w, e->op == O_MAX ? O_GT : O_LT, a, b), tie);
    Expr *right = binary(w, O_ADD, binary(w, e->op == O_MAX ? O_LT : O_GT, a, b), tie);
    walk(w, e->kid[0], binary(w, O_MUL, adj, left));
    walk(w, e->kid[1], binary(w, O_MUL, adj, right));
}

/* num / by. A temporary that stands beside something sparse is zero where it has no entry, and so is what it is beside:
 * the quotient is that of its entries. */
static Expr *quotient(Walk *w, Expr *num, Expr *by)
{
    Fraction m = {.c = 1};
    derive_flatten(w->d, &m, by, false);
    for (int k = 0; k < m.nover; k++)
        if (m.over[k]->op == O_ACCESS && m.over[k]->tensor->role != T_IN && derive_sparse(m.over[k]->tensor))
            num = binary(w, O_MUL, num, derive_stored(w->d, m.over[k]));
    return binary(w, O_DIV, num, by);
}

/* The adjoint of a factor: the other one is needed only where this one has entries. */
static Expr *beside(Walk *w, Expr *e, int k, Expr *adj)
{ return binary(w, O_MUL, adj, once(w->d, e->kid[1 - k], binary(w, O_MUL, adj, e->kid[k]))); }

static void walk_division(Walk *w, Expr *e, Expr *adj)
{
    Expr *by = once(w->d, e->kid[1], binary(w, O_MUL, adj, e->kid[0])), *to = quotient(w, adj, by);
    walk(w, e->kid[0], to);
    if (!expr_any(e->kid[1], is_wanted, w->d)) return;
    Expr *num = binary(w, O_MUL, to, once(w->d, e->kid[0], to));
    walk(w, e->kid[1], expr_new(w->d->p, O_NEG, binary(w, O_DIV, num, by), NULL));
}

/* The derivative of a unary function at its argument. */
static Expr *slope(Walk *w, Expr *e, Expr *adj)
{
    Expr *x = e->kid[0], *zero = number(w, 0), *y;
    switch (e->op) {
    case O_RELU: return binary(w, O_GT, value_of(w, e, adj), zero);
    case O_ABS:
        x = once(w->d, x, adj);
        return binary(w, O_SUB, binary(w, O_GT, x, zero), binary(w, O_LT, x, zero));
    case O_SQRT: return quotient(w, number(w, 0.5), value_of(w, e, adj));
    case O_EXP: return value_of(w, e, adj);
    case O_LOG: return quotient(w, number(w, 1), once(w->d, x, adj));
    case O_TANH: y = value_of(w, e, adj); return binary(w, O_SUB, number(w, 1), binary(w, O_MUL, y, y));
    case O_SIGMOID: y = value_of(w, e, adj); return binary(w, O_MUL, y, binary(w, O_SUB, number(w, 1), y));
    default: fail(w->d->p, SC_EINTERNAL, e->pos, "%s has no derivative", op_info(e->op)->text);
    }
}

/* Whether the right side is e times other factors, and its value can be read. */
static bool is_factor(const Walk *w, const Expr *e)
{
    Fraction m = {.c = 1};
    if (!w->d->apart || !keeps_values(w)) return false;
    derive_flatten(w->d, &m, w->a->rhs, false);
    for (int k = 0; k < m.nover; k++)
        if (m.over[k] == e) return true;
    return false;
}

static void walk(Walk *w, Expr *e, Expr *adj)
{
    if (!expr_any(e, is_wanted, w->d)) return;
    Expr *minus = expr_new(w->d->p, O_NEG, adj, NULL);
    switch (e->op) {
    case O_CONST:
    case O_STORED:
    case O_LT:
    case O_LE:
    case O_GT:
    case O_GE:
    case O_EQ:
    case O_NE: return;
    case O_ACCESS: walk_access(w, e, adj); return;
    case O_REDUCE: walk_reduce(w, e, adj); return;
    case O_ADD:
    case O_SUB:
        walk(w, e->kid[0], adj);
        walk(w, e->kid[1], e->op == O_ADD ? adj : minus);
        return;
    case O_NEG: walk(w, e->kid[0], minus); return;
    case O_MUL:
        for (int k = 0; k < 2; k++)
            if (expr_any(e->kid[k], is_wanted, w->d)) walk(w, e->kid[k], beside(w, e, k, adj));
        return;
    case O_DIV: walk_division(w, e, adj); return;
    case O_MAX:
    case O_MIN: walk_extremum(w, e, adj); return;
    default:
        if (e->op == O_EXP && is_factor(w, e)) /* the other factors, times this one, are the result */
            walk(w, e->kid[0], binary(w, O_MUL, w->adj, w->a->lhs));
        else
            walk(w, e->kid[0], binary(w, O_MUL, adj, slope(w, e, adj)));
    }
}

/* ---- gradients of tensors ---- */
/* The pairs of dimensions that an access has one index for. */
static uint32_t diagonal(const Expr *at)
{
    uint32_t pairs = 0;
    for (int i = 0, pair = 0; i < at->tensor->ndim; i++)
        for (int j = 0; j < i; j++, pair++) pairs |= (uint32_t)(at->ix[i].var == at->ix[j].var) << pair;
    return pairs;
}

/* Whether a share is on a diagonal that another one of the same tensor is not on. */
static bool is_off(const Derive *d, const Share *s)
{
    bool any = false;
    for (int k = 0; k < d->nshare; k++)
        any |= d->share[k].to == s->to && diagonal(s->at) & ~diagonal(d->share[k].at);
    return any;
}

/* A share from a temporary of its own, which is like a sparse tensor or, null, dense. */
static void take_out(Derive *d, Share *s, Tensor *like)
{
    Tensor *t = derive_tensor(d, "t", false);
    Line *l = derive_line(d, t, O_CONST, -1);
    l->share[l->n++] = derive_new_share(d, s->to, s->at, s->value);
    l->like = like;
    if (like) t->format = like->format;
    t->ndim = s->to->ndim;
    *s = (Share){s->to, s->at, derive_access(d, t, s->at->ix), true};
}

/* How many sparse tensors e reads in another order of dimensions than `at`. */
static int crossed(const Expr *e, const Expr *at)
{
    int n = 0, last = -1;
    bool crosses = false;
    for (int k = 0; k < 2; k++)
        if (e->kid[k]) n += crossed(e->kid[k], at);
    if (!derive_reads_sparse(e, NULL)) return n;
    for (int i = 0; i < e->tensor->ndim; i++)
        for (int j = 0; j < at->tensor->ndim; j++) {
            if (at->ix[j].var != e->ix[i].var) continue;
            crosses |= j <= last;
            last = j;
        }
    return n + crosses;
}

/* Whether the n shares of a sparse tensor are each computed by itself and then added: one kernel of all would merge
 * many tensors that it reads in different orders of their dimensions. */
static bool go_apart(const Derive *d, const Tensor *t, int n)
{
    int all = 0;
    for (int k = 0; k < d->nshare; k++)
        if (d->share[k].to == t) all += crossed(d->share[k].value, d->share[k].at);
    const bool fits = d->nline + n + d->p->nin + 2 * d->p->nout < SC_MAXOP;
    return d->apart && !d->p->skip && derive_sparse(t) && n > 1 && all > MAXCROSSED && fits;
}

/* In skip mode a point of a line counts where all that is sparse in it is stored, which differs among the shares: those
 * that have a sparse factor, a sum or a diagonal come from temporaries. */
static void stand_alone(Derive *d, Share *s)
{
    if (expr_has(s->value, O_REDUCE) || expr_any(s->value, derive_reads_sparse, NULL))
        s->value = derive_temporary(d, "t", s->value);
    if (is_off(d, s)) take_out(d, s, NULL);
}

/* The sum of the shares of t, as the line that assigns it; null where there are none. */
static Line *collect(Derive *d, Tensor *t, int of)
{
    uint32_t has = 0;
    int n = 0;
    derive_merge(d, t);
    for (int k = 0; k < d->nshare; k++) n += d->share[k].to == t;
    if (!n) return NULL;
    for (int k = 0; d->p->skip && n > 1 && k < d->nshare; k++)
        if (d->share[k].to == t) stand_alone(d, &d->share[k]);
    const bool apart = go_apart(d, t, n);
    for (int k = 0; apart && k < d->nshare; k++)
        if (d->share[k].to == t) take_out(d, &d->share[k], t);
    Tensor *g = derive_tensor(d, t->name, true);
    Line *l = derive_line(d, g, O_CONST, of);
    for (int k = 0; k < d->nshare; k++) {
        Share *s = &d->share[k];
        if (s->to != t) continue;
        l->share[l->n++] = s;
        for (int i = 0; i < t->ndim; i++) {
            bool again = false; /* a diagonal: both dimensions are those of the identity */
            for (int j = 0; j < t->ndim; j++) again |= j != i && s->at->ix[j].var == s->at->ix[i].var;
            if (again || expr_free(s->value) >> s->at->ix[i].var & 1) has |= 1u << i;
        }
    }
    const uint32_t all = (1u << t->ndim) - 1;
    l->like = of < 0 && d->p->apart && derive_sparse(t) ? t : NULL;
    if (l->like) g->format = t->format;
    l->has = l->like || (of >= 0 && derive_sparse(t)) ? all : has;
    for (int i = 0; i < t->ndim; i++) g->ndim += (int)(l->has >> i & 1);
    return l;
}

/* The adjoint of a left side, or null: the gradient of the result, and what later assignments that read it add. */
static Expr *incoming(Derive *d, Expr *lhs)
{
    Tensor *t = lhs->tensor;
    const int r = t->arg - d->p->nin;
    Expr *own = d->given >> r & 1 ? derive_access(d, d->grad[r], lhs->ix) : NULL;
    bool read = false;
    for (int k = 0; k < d->nshare; k++) read |= d->share[k].to == t;
    if (!read) return own;
    if (own) {
        if (d->nshare == MAXSHARE)
            fail(d->p, SC_ENOTIMPL, -1, "the gradient has more than %d terms", MAXSHARE);
        d->share[d->nshare++] = (Share){t, lhs, own, false};
    }
    const Line *l = collect(d, t, -1);
    Index ix[SC_MAXDIM] = {0};
    int n = 0;
    for (int i = 0; i < t->ndim; i++)
        if (l->has >> i & 1) ix[n++] = lhs->ix[i];
    return derive_access(d, l->t, ix);
}

void expr_derive(Prog *p, uint32_t wanted, uint32_t given, sc_gradient *out)
{
    Derive *d = NEW(p, Derive);
    d->p = p;
    d->wanted = wanted;
    d->given = given;
    d->apart = prog_has_one_type(p); /* so that each step computes in the type of the whole (path/apart.c) */
    for (int a = 0; a < p->nassign; a++)
        if (expr_any(p->assign[a].rhs, is_wanted, d)) d->active |= 1u << a;
    for (int r = 0; r < p->nout; r++) {
        Tensor *t = prog_result(p, r);
        if (p->ask[r].nlevel) t->format = p->ask[r];
        Tensor *g = derive_tensor(d, t->name, true);
        g->role = T_OUT; /* not T_WORK: it may be sparse */
        g->ndim = t->ndim;
        g->format = t->format;
        d->grad[r] = g;
    }
    for (int a = p->nassign; a-- > 0;) {
        if (!(d->active >> a & 1)) continue;
        Expr *adj = incoming(d, p->assign[a].lhs);
        Walk w = {d, &p->assign[a], expr_free(p->assign[a].lhs), adj};
        if (adj) walk(&w, p->assign[a].rhs, adj);
    }
    derive_share(d);
    for (int k = 0; k < p->nin; k++)
        if (wanted >> k & 1) collect(d, p->tensor[k], k);
    derive_write(d, out);
}
