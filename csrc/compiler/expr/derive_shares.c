/* derive_shares.c: sums of gradients that have factors in common.
 *
 * Each access to a tensor adds a sum of products to its gradient. Where such sums have a sparse factor in common, with
 * all else that they share, it is taken out of them: sum(M * x * a) + sum(M * x * b) is sum(M * x * (a + b)), and an
 * index that one of them sums alone is summed inside. So the entries of M are visited once. What the gradients to
 * several tensors sum in this way, along different dimensions, is computed once. */
#include <string.h>

#include "derive.h"

#define SIMPLE 3 /* factors that are not worth a temporary */

/* The product under a sum, and what it is summed over. */
static Expr *body_of(Expr *e, uint32_t *vars)
{
    const bool sum = e->op == O_REDUCE && e->reduce == O_ADD;
    *vars = sum ? e->vars : 0;
    return sum ? e->kid[0] : e;
}

/* Moves what is in both lists from both. */
static int take_common(Expr **a, int *na, Expr **b, int *nb, Expr **common)
{
    int n = 0, kept = 0;
    for (int k = 0; k < *na; k++) {
        int q = 0;
        while (q < *nb && !expr_equal(a[k], b[q])) q++;
        if (q == *nb) {
            a[kept++] = a[k];
            continue;
        }
        common[n++] = a[k];
        for (--*nb; q < *nb; q++) b[q] = b[q + 1];
    }
    *na = kept;
    return n;
}

static bool is_sparse(const Fraction *m)
{
    bool any = false;
    for (int k = 0; k < m->nover; k++) any |= expr_any(m->over[k], derive_reads_sparse, NULL);
    for (int k = 0; k < m->nunder; k++) any |= expr_any(m->under[k], derive_reads_sparse, NULL);
    return any;
}

static int factors(const Fraction *m) { return m->nover + m->nunder; }

static Fraction product_of(Derive *d, Expr *e)
{
    Fraction m = {.c = 1};
    derive_flatten(d, &m, e, false);
    return m;
}

/* Takes what is in both out of both. */
static Fraction common(Fraction *m, Fraction *n)
{
    Fraction both = {.c = 1};
    both.nover = take_common(m->over, &m->nover, n->over, &n->nover, both.over);
    both.nunder = take_common(m->under, &m->nunder, n->under, &n->nunder, both.under);
    return both;
}

/* The sum of two sums as one, or null. */
static Expr *merged(Derive *d, Expr *a, Expr *b, bool inside)
{
    uint32_t over_a, over_b;
    Expr *x = body_of(a, &over_a), *y = body_of(b, &over_b);
    const uint32_t scope = expr_free(x) | expr_free(y);
    if (inside ? (over_a & ~over_b) && (over_b & ~over_a) : over_a != over_b) return NULL;
    Fraction m = product_of(d, x), n = product_of(d, y), both = common(&m, &n);
    if (!is_sparse(&both) || is_sparse(&m) || is_sparse(&n) || both.nover == MAXFRACTION) return NULL;
    if (over_a == over_b && !factors(&m) && !factors(&n)) {
        both.c = m.c + n.c;
    } else {
        Expr *left = derive_sum(d, derive_rebuild(d->p, &m), over_a & ~over_b, scope);
        Expr *right = derive_sum(d, derive_rebuild(d->p, &n), over_b & ~over_a, scope);
        both.over[both.nover++] = expr_new(d->p, O_ADD, left, right);
    }
    return derive_sum(d, derive_rebuild(d->p, &both), over_a & over_b, scope);
}

static bool merge_pair(Derive *d, const Tensor *to, bool inside)
{
    for (int k = 0; k < d->nshare; k++)
        for (int q = k + 1; q < d->nshare && d->share[k].to == to; q++) {
            if (d->share[q].to != to || !expr_equal(d->share[k].at, d->share[q].at)) continue;
            Expr *one = merged(d, d->share[k].value, d->share[q].value, inside);
            if (!one) continue;
            d->share[k].value = one;
            d->share[q].to = NULL; /* it stays where it is: lines point at others */
            return true;
        }
    return false;
}

void derive_merge(Derive *d, const Tensor *to)
{
    if (!d->apart) return;
    for (int inside = 0; inside < 2; inside++)
        while (merge_pair(d, to, inside)) continue;
}

/* ---- gradients to several tensors ---- */
static bool takes_long(const Expr *e, const void *unused)
{
    (void)unused;
    return e->op == O_REDUCE || op_info(e->op)->work == W_SERIES;
}

static bool is_costly(Derive *d, Expr *body)
{
    const Fraction m = product_of(d, body);
    return factors(&m) > SIMPLE || expr_any(body, takes_long, NULL);
}

/* a is *ratio times b. */
static bool is_multiple(Derive *d, Expr *a, Expr *b, double *ratio)
{
    Fraction m = product_of(d, a), n = product_of(d, b);
    (void)common(&m, &n);
    *ratio = m.c / n.c;
    return !factors(&m) && !factors(&n) && n.c != 0;
}

/* The others of these sums that are of the same product, or of a multiple, are from here on of a temporary; null: no
 * other is. */
static Expr *share_body(Derive *d, int k, Expr *body)
{
    Expr *temp = NULL;
    for (int q = k + 1; q < d->nshare; q++) {
        uint32_t over;
        double ratio;
        Share *s = &d->share[q];
        Expr *other = s->to ? body_of(s->value, &over) : NULL;
        if (!other || !over || !is_multiple(d, other, body, &ratio)) continue;
        if (!temp) temp = derive_temporary(d, "t", body);
        Expr *part = ratio == 1 ? temp : expr_new(d->p, O_MUL, expr_const(d->p, ratio), temp);
        s->value = derive_sum(d, part, over, expr_free(body));
    }
    return temp;
}

static bool reads(const Line *l, const Tensor *t)
{
    bool any = false;
    for (int k = 0; k < l->n; k++) any |= expr_reads(l->share[k]->value, t);
    return any;
}

/* The last line, a temporary, goes in front of the first that reads it: the adjoint of what an assignment makes stands
 * there since before. What the temporary reads, that line read itself. */
static void move_ahead(Derive *d)
{
    const int last = d->nline - 1;
    const Line temp = d->line[last];
    int at = 0;
    while (at < last && !reads(&d->line[at], temp.t)) at++;
    memmove(&d->line[at + 1], &d->line[at], (size_t)(last - at) * sizeof temp);
    d->line[at] = temp;
}

void derive_share(Derive *d)
{
    for (int k = 0; k < d->nshare; k++)
        if (d->share[k].to) derive_merge(d, d->share[k].to);
    for (int k = 0; d->apart && k < d->nshare; k++) {
        uint32_t vars = 0;
        Expr *body = d->share[k].to ? body_of(d->share[k].value, &vars) : NULL;
        if (!body || !vars || !derive_covered(body) || !is_costly(d, body)) continue;
        Expr *temp = share_body(d, k, body);
        if (!temp) continue;
        d->share[k].value = derive_sum(d, temp, vars, expr_free(body));
        move_ahead(d);
    }
}
