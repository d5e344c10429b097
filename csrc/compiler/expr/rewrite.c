/* rewrite.c: expressions as equal expressions.
 *
 * requires  check. Nothing is changed in place; what stays the same is shared.
 *
 * A product is looked at as its list of factors, a sum as its list of terms, and
 * put together again from a part of the list: that is how a factor leaves a sum
 * that it does not depend on (distributivity), and how one sum over several
 * indices becomes sums inside of sums. For max and min the terms of a sum take
 * the place of the factors of a product. Equal means equal for finite values and
 * up to rounding: a factor that left a sum multiplies it even where nothing was
 * summed. */
#include <math.h>
#include <string.h>

#include "expr.h"

/* ---- what an expression uses ---- */
uint32_t expr_free(const Expr *e)
{
    uint32_t vars = 0;
    if (e->op == O_ACCESS) return expr_vars(e);
    for (int k = 0; k < 2; k++)
        if (e->kid[k]) vars |= expr_free(e->kid[k]);
    return e->op == O_REDUCE ? vars & ~e->vars : vars;
}

static bool same_access(const Expr *a, const Expr *b)
{
    bool same = a->tensor == b->tensor;
    for (int d = 0; same && d < a->tensor->ndim; d++) same = index_same(a->ix[d], b->ix[d]);
    return same;
}

bool expr_equal(const Expr *a, const Expr *b)
{
    if (a == b) return true;
    if (!a || !b || a->op != b->op) return false;
    if (a->op == O_CONST) return a->c == b->c || (isnan(a->c) && isnan(b->c));
    if (a->op == O_ACCESS) return same_access(a, b);
    if (a->op == O_REDUCE && (a->reduce != b->reduce || a->vars != b->vars)) return false;
    return expr_equal(a->kid[0], b->kid[0]) && expr_equal(a->kid[1], b->kid[1]);
}

static bool is_access(const Expr *e, const void *t) { return e->op == O_ACCESS && e->tensor == t; }

bool expr_reads(const Expr *e, const Tensor *t) { return expr_any(e, is_access, t); }

Expr *expr_find(Expr *e, const Tensor *t)
{
    if (is_access(e, t)) return e;
    Expr *at = e->kid[0] ? expr_find(e->kid[0], t) : NULL;
    return at || !e->kid[1] ? at : expr_find(e->kid[1], t);
}

bool expr_sure(const Expr *e)
{
    if (e->op == O_CONST) return e->c != 0;
    if (e->op == O_ACCESS) return sc_format_is_dense(&e->tensor->format);
    const bool a = expr_sure(e->kid[0]), b = !e->kid[1] || expr_sure(e->kid[1]);
    return e->op == O_DIV ? a : a && b;
}

/* ---- construction ---- */
Expr *expr_reduce(Prog *p, Op op, uint32_t vars, Expr *e)
{
    if (!vars) return e;
    Expr *r = expr_new(p, O_REDUCE, e, NULL);
    r->reduce = op;
    r->vars = vars;
    return r;
}

Expr *expr_with_kids(Prog *p, Expr *e, Expr *a, Expr *b)
{
    if (a == e->kid[0] && b == e->kid[1]) return e;
    Expr *n = expr_new(p, e->op, a, b);
    n->reduce = e->reduce;
    n->vars = e->vars;
    n->pos = e->pos;
    return n;
}

Expr *expr_replace(Prog *p, Expr *e, const Expr *old, Expr *by)
{
    if (e == old) return by;
    if (e->op == O_CONST || e->op == O_ACCESS) return e;
    Expr *a = expr_replace(p, e->kid[0], old, by);
    return expr_with_kids(p, e, a, e->kid[1] ? expr_replace(p, e->kid[1], old, by) : NULL);
}

Expr *expr_reading(Prog *p, Expr *e, const Tensor *old, Tensor *t)
{
    if (e->op == O_ACCESS && e->tensor == old) {
        Expr *n = expr_access(p, t, e->ix);
        n->pos = e->pos;
        return n;
    }
    if (!e->kid[0]) return e;
    Expr *a = expr_reading(p, e->kid[0], old, t);
    return expr_with_kids(p, e, a, e->kid[1] ? expr_reading(p, e->kid[1], old, t) : NULL);
}

static Expr *negated(Prog *p, Expr *e)
{
    if (e->op == O_CONST) return expr_const(p, -e->c);
    return e->op == O_NEG ? e->kid[0] : expr_new(p, O_NEG, e, NULL);
}

/* ---- products and sums as lists ---- */
static bool in_chain(const Expr *e, bool product)
{
    if (product) return e->op == O_MUL || e->op == O_DIV || e->op == O_NEG;
    return e->op == O_ADD || e->op == O_SUB;
}

/* Appends the parts of e; n counts on when the list is full. */
static int parts_of(Prog *p, Expr *e, bool product, bool under, Part *out, int n)
{
    if (!in_chain(e, product)) {
        if (n < MAXFACTOR) out[n] = (Part){e, under};
        return n + 1;
    }
    if (e->op == O_NEG) {
        if (n < MAXFACTOR) out[n] = (Part){expr_const(p, -1), false};
        return parts_of(p, e->kid[0], product, under, out, n + 1);
    }
    n = parts_of(p, e->kid[0], product, under, out, n);
    return parts_of(p, e->kid[1], product, under != (e->op == O_DIV || e->op == O_SUB), out, n);
}

/* The two of its first operator where there are too many, each of which has fewer. */
static int parts(Prog *p, Expr *e, bool product, Part *out)
{
    const int n = parts_of(p, e, product, false, out, 0);
    if (n <= MAXFACTOR) return n;
    const bool negative = e->op == O_NEG;
    out[0] = (Part){negative ? expr_const(p, -1) : e->kid[0], false};
    out[1] = (Part){e->kid[negative ? 0 : 1], e->op == O_DIV || e->op == O_SUB};
    return 2;
}

/* What is not `under` in order, then what is. */
static Expr *whole(Prog *p, int n, const Part *part, bool product)
{
    Expr *e = NULL;
    for (int k = 0; k < n; k++)
        if (!part[k].under) e = e ? expr_new(p, product ? O_MUL : O_ADD, e, part[k].e) : part[k].e;
    for (int k = 0; k < n; k++) {
        if (!part[k].under) continue;
        if (!e && !product)
            e = negated(p, part[k].e);
        else
            e = expr_new(p, product ? O_DIV : O_SUB, e ? e : expr_const(p, 1), part[k].e);
    }
    return e ? e : expr_const(p, product);
}

int expr_factors(Prog *p, Expr *e, Part *out) { return parts(p, e, true, out); }
int expr_terms(Prog *p, Expr *e, Part *out) { return parts(p, e, false, out); }
Expr *expr_product(Prog *p, int n, const Part *part) { return whole(p, n, part, true); }
Expr *expr_sum(Prog *p, int n, const Part *part) { return whole(p, n, part, false); }

Expr *expr_take_out(Prog *p, Expr *e, uint32_t vars, Expr **rest)
{
    Part all[MAXFACTOR], part[2][MAXFACTOR];
    const int total = expr_factors(p, e, all);
    int n[2] = {0, 0};
    for (int k = 0; k < total; k++) {
        const bool stays = all[k].under || (expr_vars(all[k].e) & vars) != 0;
        part[stays][n[stays]++] = all[k];
    }
    if (!n[0] || !n[1]) return NULL;
    *rest = expr_product(p, n[1], part[1]);
    return expr_product(p, n[0], part[0]);
}

/* ---- simplification ---- */
static bool is_const(const Expr *e, double c) { return e->op == O_CONST && e->c == c; }

/* Constants are computed with in doubles, but integers as kernels do it; false: they are left to these. */
static bool folds(const Prog *p, Op op, double a, double b, double *out)
{
    if (p->type == SC_I32 || p->type == SC_I64) return op_eval_in(p->type, op, a, b, out);
    *out = op_eval(op, a, b);
    return isfinite(*out);
}

/* The constant factors of a product become one, in front. */
static Expr *simplify_product(Prog *p, Expr *e)
{
    Part part[MAXFACTOR];
    double c = 1;
    int rest = 0, nconst = 0;
    const int n = expr_factors(p, e, part);
    const bool tidy = part[0].e->op == O_CONST && e->op != O_NEG && part[0].e == e->kid[0];
    for (int k = 0; k < n; k++) {
        if (part[k].e->op != O_CONST || (part[k].under && part[k].e->c != 1))
            part[rest++] = part[k];
        else if (nconst++, !folds(p, O_MUL, c, part[k].e->c, &c))
            return e;
    }
    if (c == 0) return expr_const(p, 0);
    if (!nconst || (nconst == 1 && tidy && c != 1 && c != -1)) return e;
    if (c == 1 || c == -1) {
        Expr *x = expr_product(p, rest, part);
        return c < 0 ? negated(p, x) : x;
    }
    memmove(part + 1, part, (size_t)rest * sizeof *part);
    part[0] = (Part){expr_const(p, c), false};
    return expr_product(p, rest + 1, part);
}

static Expr *simplify_sum(Prog *p, Expr *e)
{
    Expr *a = e->kid[0], *b = e->kid[1];
    if (is_const(b, 0)) return a;
    if (is_const(a, 0)) return e->op == O_ADD ? b : negated(p, b);
    if (b->op != O_NEG) return e;
    return expr_new(p, e->op == O_ADD ? O_SUB : O_ADD, a, b->kid[0]);
}

static Expr *fold(Prog *p, Expr *e)
{
    if (e->kid[0]->op != O_CONST || (e->kid[1] && e->kid[1]->op != O_CONST)) return e;
    double c;
    return folds(p, e->op, e->kid[0]->c, e->kid[1] ? e->kid[1]->c : 0, &c) ? expr_const(p, c) : e;
}

Expr *expr_simplify(Prog *p, Expr *e)
{
    if (e->op == O_CONST || e->op == O_ACCESS) return e;
    Expr *a = expr_simplify(p, e->kid[0]);
    e = expr_with_kids(p, e, a, e->kid[1] ? expr_simplify(p, e->kid[1]) : NULL);
    if (e->op == O_REDUCE) return e->reduce == O_ADD && is_const(a, 0) ? a : e;
    if ((e = fold(p, e))->op == O_CONST) return e;
    if (e->op == O_ADD || e->op == O_SUB) return simplify_sum(p, e);
    if (e->op == O_MUL || e->op == O_DIV || e->op == O_NEG) return simplify_product(p, e);
    if ((e->op == O_MAX || e->op == O_MIN) && expr_equal(e->kid[0], e->kid[1])) return e->kid[0];
    return e;
}

/* ---- reductions ---- */
static bool reduces_products(const Expr *r) { return r->reduce == O_ADD; }

Expr *expr_contract(Prog *p, Expr *r, uint32_t inner)
{
    Part part[MAXFACTOR], out[MAXFACTOR], in[MAXFACTOR];
    int nout = 0, nin = 0;
    if (r->op != O_REDUCE || !inner || inner & ~r->vars || r->reduce == O_MUL) return r;
    const int n = parts(p, r->kid[0], reduces_products(r), part);
    for (int k = 0; k < n; k++)
        if (expr_free(part[k].e) & inner)
            in[nin++] = part[k];
        else
            out[nout++] = part[k];
    if (!nin || (!nout && inner == r->vars)) return r;
    Expr *sum = expr_reduce(p, r->reduce, inner, whole(p, nin, in, reduces_products(r)));
    /* behind what multiplies, in front of what divides: whole() puts it there */
    if (nout == MAXFACTOR) return r;
    out[nout++] = (Part){sum, false};
    return expr_reduce(p, r->reduce, r->vars & ~inner, whole(p, nout, out, reduces_products(r)));
}

/* A reduction of the same kind among the parts of r, whose indices nothing else uses; or -1. */
static int nested(const Expr *r, int n, const Part *part)
{
    for (int k = 0; k < n; k++) {
        const Expr *e = part[k].e;
        bool alone = e->op == O_REDUCE && e->reduce == r->reduce && !part[k].under && !(e->vars & r->vars);
        for (int j = 0; alone && j < n; j++)
            if (j != k) alone = !(expr_vars(part[j].e) & e->vars);
        if (alone) return k;
    }
    return -1;
}

Expr *expr_flatten(Prog *p, Expr *r)
{
    Part part[MAXFACTOR];
    if (r->op != O_REDUCE) return r;
    for (;;) {
        const int n = parts(p, r->kid[0], reduces_products(r), part), k = nested(r, n, part);
        if (k < 0) return r;
        const uint32_t vars = r->vars | part[k].e->vars;
        part[k].e = part[k].e->kid[0];
        Expr *body = whole(p, n, part, reduces_products(r));
        body = whole(p, parts(p, body, reduces_products(r), part), part, reduces_products(r));
        r = expr_reduce(p, r->reduce, vars, body);
    }
}

Expr *expr_hoist(Prog *p, Expr *e)
{
    if (e->op == O_CONST || e->op == O_ACCESS) return e;
    Expr *a = expr_hoist(p, e->kid[0]);
    e = expr_with_kids(p, e, a, e->kid[1] ? expr_hoist(p, e->kid[1]) : NULL);
    if (e->op != O_REDUCE) return e;
    Expr *out = expr_contract(p, e, e->vars);
    return out == e || expr_sure(e->kid[0]) ? out : e;
}

/* ---- zeros ---- */
/* 1 wherever e has a value: what says so stays, and so do all indices. */
static Expr *presence(Prog *p, Expr *e)
{
    if (e->op == O_STORED) return e;
    if (e->op == O_ACCESS) return expr_new(p, O_STORED, e, NULL);
    if (e->op == O_CONST) return expr_const(p, 1);
    Expr *a = presence(p, e->kid[0]), *b = e->kid[1] ? presence(p, e->kid[1]) : expr_const(p, 1);
    if (e->op == O_REDUCE) return a->op == O_CONST ? a : expr_with_kids(p, e, a, NULL);
    if (a->op == O_CONST) return b;
    return b->op == O_CONST ? a : expr_new(p, O_MUL, a, b);
}

static bool has_zero(Prog *p, Expr *e)
{
    Part part[MAXFACTOR];
    const int n = expr_factors(p, e, part);
    bool zero = false;
    for (int k = 0; k < n && (e->op == O_MUL || e->op == O_DIV); k++)
        zero |= is_const(part[k].e, 0) && !part[k].under;
    return zero;
}

Expr *expr_zeros(Prog *p, Expr *e)
{
    if (e->op == O_CONST || e->op == O_ACCESS || e->op == O_STORED) return e;
    Expr *a = expr_zeros(p, e->kid[0]);
    e = expr_with_kids(p, e, a, e->kid[1] ? expr_zeros(p, e->kid[1]) : NULL);
    if (e->op != O_REDUCE) e = fold(p, e);
    if (!has_zero(p, e)) return e;
    Expr *where = presence(p, e);
    return where->op == O_CONST ? expr_const(p, 0) : expr_new(p, O_MUL, expr_const(p, 0), where);
}
