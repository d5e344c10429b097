/* derive_parts.c: what the files that make gradients ask of expressions, and make of them: products, sums,
 * temporaries. */
#include "derive.h"

#include <stdio.h>
#include <string.h>

bool derive_sparse(const Tensor *t) { return !sc_format_is_dense(&t->format); }

Tensor *derive_operand(Derive *d, Tensor *t)
{ return t->role == T_IN && t->arg >= 0 && t->arg < d->p->nin ? d->p->tensor[t->arg] : t; }

/* factor * product, in front of its first factor. */
Expr *derive_prefix(Prog *p, Expr *factor, Expr *e)
{
    if (e->op == O_REDUCE || e->op == O_MUL || e->op == O_DIV) {
        Expr *copy = NEW(p, Expr);
        *copy = *e;
        copy->kid[0] = derive_prefix(p, factor, e->kid[0]);
        return copy;
    }
    return expr_new(p, O_MUL, factor, e);
}

/* Indices for which e is surely zero where nothing is stored. */
static uint32_t covered(const Expr *e)
{
    if (e->op == O_CONST) return e->c == 0 ? UINT32_MAX : 0;
    if (e->op == O_ACCESS) return derive_sparse(e->tensor) ? expr_free(e) : 0;
    const uint32_t a = covered(e->kid[0]), b = e->kid[1] ? covered(e->kid[1]) : UINT32_MAX;
    if (e->op == O_REDUCE) return e->reduce == O_ADD ? a & ~e->vars : 0;
    if (e->op == O_MUL) return a | b;
    if (e->op == O_DIV) return a;
    return op_info(e->op)->zero == 0 ? a & b : 0;
}

bool derive_covered(const Expr *e) { return expr_free(e) && !(expr_free(e) & ~covered(e)); }

bool derive_reads_sparse(const Expr *e, const void *unused)
{
    (void)unused;
    return e->op == O_ACCESS && derive_sparse(e->tensor);
}

/* ---- products ---- */
void derive_flatten(Derive *d, Fraction *m, Expr *e, bool under)
{
    if (e->op == O_NEG) {
        m->c = -m->c;
        derive_flatten(d, m, e->kid[0], under);
    } else if (e->op == O_MUL || e->op == O_DIV) {
        derive_flatten(d, m, e->kid[0], under);
        derive_flatten(d, m, e->kid[1], under != (e->op == O_DIV));
    } else if (e->op == O_CONST && (!under || e->c != 0)) {
        m->c = under ? m->c / e->c : m->c * e->c;
    } else {
        if ((under ? m->nunder : m->nover) == MAXFRACTION)
            fail(d->p, SC_ENOTIMPL, -1, "a gradient has more than %d factors; split the expression",
                 MAXFRACTION);
        if (under)
            m->under[m->nunder++] = e;
        else
            m->over[m->nover++] = e;
    }
}

Expr *derive_times(Prog *p, Expr *a, Expr *b) { return a ? expr_new(p, O_MUL, a, b) : b; }

/* Constant, factors, divisors: so that a divisor finds its factor in the numerator. */
Expr *derive_rebuild(Prog *p, const Fraction *m)
{
    Expr *e = m->c == 1 || m->c == -1 ? NULL : expr_const(p, m->c);
    for (int k = 0; k < m->nover; k++)
        e = derive_times(p, e, !k && m->c == -1 ? expr_new(p, O_NEG, m->over[k], NULL) : m->over[k]);
    if (!e) e = expr_const(p, m->c);
    for (int k = 0; k < m->nunder; k++) e = expr_new(p, O_DIV, e, m->under[k]);
    return e;
}

Expr *derive_tidy(Derive *d, Expr *e)
{
    Fraction m = {.c = 1};
    derive_flatten(d, &m, e, false);
    return derive_rebuild(d->p, &m);
}

/* ---- sums ---- */
Expr *derive_access(Derive *d, Tensor *t, const Index *ix)
{
    Expr *e = expr_new(d->p, O_ACCESS, NULL, NULL);
    e->tensor = t;
    memcpy(e->ix, ix, sizeof e->ix);
    return e;
}

Expr *derive_stored(Derive *d, const Expr *at)
{ return expr_new(d->p, O_STORED, derive_access(d, at->tensor, at->ix), NULL); }

/* 1 at every coordinate of an access. */
static Expr *one(Derive *d, const Expr *at)
{
    Expr *e = derive_stored(d, at);
    return derive_sparse(at->tensor) ? expr_new(d->p, O_GE, e, expr_const(d->p, 0)) : e;
}

/* An access in e with index v, whose indices are all among vars. */
static const Expr *find_access(const Expr *e, int v, uint32_t vars)
{
    if (e->op == O_ACCESS) return (expr_free(e) >> v & 1) && !(expr_free(e) & ~vars) ? e : NULL;
    const Expr *at = e->kid[0] ? find_access(e->kid[0], v, vars) : NULL;
    return at || !e->kid[1] ? at : find_access(e->kid[1], v, vars);
}

/* e with factors that make v an index of the product itself. */
static Expr *show(Derive *d, Expr *e, int v, uint32_t scope)
{
    Fraction m = {.c = 1};
    int uses = 0;
    const Expr *at = NULL;
    derive_flatten(d, &m, e, false);
    for (int k = 0; k < m.nover + m.nunder; k++) {
        const Expr *f = k < m.nover ? m.over[k] : m.under[k - m.nover];
        if (!(expr_free(f) >> v & 1)) continue;
        if (f->op == O_ACCESS) return e;
        if (!at) at = find_access(f, v, scope);
        uses++;
    }
    if (uses > 1) return e;
    for (int a = 0; !at && a < d->p->nassign; a++) at = find_access(d->p->assign[a].rhs, v, scope);
    if (!at)
        fail(d->p, SC_ENOTIMPL, -1,
             "the gradient sums over index %s in a way that index notation cannot say; split the expression "
             "into assignments",
             d->p->var[v].name);
    e = derive_prefix(d->p, one(d, at), e);
    return uses ? e : derive_prefix(d->p, one(d, at), e);
}

/* The sum of the product e over vars, all of which are in scope. */
Expr *derive_sum(Derive *d, Expr *e, uint32_t vars, uint32_t scope)
{
    for (int v = 0; v < d->p->nvar; v++)
        if (vars >> v & 1) e = show(d, e, v, scope);
    if (!vars) return e;
    Expr *r = expr_new(d->p, O_REDUCE, e, NULL);
    r->reduce = O_ADD;
    r->vars = vars;
    return r;
}

/* ---- temporaries ---- */
Line *derive_line(Derive *d, Tensor *t, Op reduce, int of)
{
    if (d->nline == MAXLINE)
        fail(d->p, SC_ENOTIMPL, -1, "a gradient program has at most %d assignments; split the expression",
             MAXLINE);
    Line *l = &d->line[d->nline++];
    *l = (Line){.t = t, .reduce = reduce, .of = of, .has = UINT32_MAX};
    return l;
}

static bool name_taken(const Derive *d, const char *name)
{
    for (int t = 0; t < d->p->ntensor; t++)
        if (!strcmp(d->p->tensor[t]->name, name)) return true;
    for (int l = 0; l < d->nline; l++)
        if (!strcmp(d->line[l].t->name, name)) return true;
    for (int r = 0; r < SC_MAXOP; r++)
        if (d->grad[r] && !strcmp(d->grad[r]->name, name)) return true;
    return false;
}

/* A dense tensor called stem_grad, or stem and a number. */
Tensor *derive_tensor(Derive *d, const char *stem, bool grad)
{
    Tensor *t = NEW(d->p, Tensor);
    if (grad && strlen(stem) + 6 <= sizeof t->name) snprintf(t->name, sizeof t->name, "%.26s_grad", stem);
    while (!t->name[0] || name_taken(d, t->name))
        snprintf(t->name, sizeof t->name, "%.8s%d", grad ? "grad" : stem, ++d->count);
    t->role = T_WORK;
    t->arg = -1;
    return t;
}

Share *derive_new_share(Derive *d, Tensor *to, Expr *at, Expr *value)
{
    Share *s = NEW(d->p, Share);
    *s = (Share){to, at, value, false};
    return s;
}

/* What later lines read of a temporary that is sparse, whichever format it will have. */
static sc_format some_sparse_format(Derive *d, int ndim)
{
    sc_format f;
    sc_err err = {0};
    if (sc_format_parse(&f, "coo", ndim, &err)) fail(d->p, SC_EINTERNAL, -1, "%s", err.msg);
    return f;
}

/* t[vars] <reduce> value, ahead of what follows; the access to it. */
Expr *derive_assign(Derive *d, Tensor *t, uint32_t vars, Op reduce, Expr *value)
{
    Index ix[SC_MAXDIM] = {0};
    for (int v = 0; v < d->p->nvar; v++)
        if (vars >> v & 1) {
            if (t->ndim == SC_MAXDIM)
                fail(d->p, SC_ENOTIMPL, -1, "a temporary of the gradient has more than %d dimensions",
                     SC_MAXDIM);
            ix[t->ndim++].var = (uint8_t)v;
        }
    Expr *at = derive_access(d, t, ix);
    Line *l = derive_line(d, t, reduce, -1);
    l->share[l->n++] = derive_new_share(d, t, at, value);
    if (d->apart && reduce == O_CONST && t->ndim > 1 && derive_covered(value))
        t->format = some_sparse_format(d, t->ndim);
    return at;
}

Expr *derive_temporary(Derive *d, const char *stem, Expr *e)
{ return derive_assign(d, derive_tensor(d, stem, false), expr_free(e), O_CONST, e); }
