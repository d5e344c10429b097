/* inline.c: "tmp" results that are read once become part of what reads them.
 *
 * A temporary names a part of a computation; where the loops should go through it is found by the compiler. So a
 * product that is a factor of one other product joins it, and the order of contraction is that of all factors
 * (path/). What is read elementwise, at the indices of what reads it, is computed there. Other temporaries are
 * results like all, numbered behind those that are returned: what is read several times is computed once, and so is
 * what would be computed once for each entry of something else.
 *
 * Runs on what was parsed, where sums are those of "=" and "+=". Schedules speak of the assignments that are
 * left. Nothing is replaced where implicit="skip" makes a value depend on the assignment that it stands in. */
#include <stdio.h>
#include <string.h>

#include "expr.h"

/* ---- looking ---- */
static int count_accesses(const Expr *e, const Tensor *t)
{
    if (e->op == O_ACCESS) return !t || e->tensor == t;
    return (e->kid[0] ? count_accesses(e->kid[0], t) : 0) + (e->kid[1] ? count_accesses(e->kid[1], t) : 0);
}

static bool is_product(const Expr *e)
{
    if (e->op == O_MUL) return is_product(e->kid[0]) && is_product(e->kid[1]);
    return e->op == O_ACCESS || e->op == O_CONST;
}

static bool adds(const Assign *a) { return a->reduce == O_CONST || a->reduce == O_ADD; }

/* Whether a sum in place of the access to t stays inside of what the access is an argument of. */
static bool takes_sum(const Expr *e, const Tensor *t)
{
    if (e->op == O_STORED) return false;
    if (e->op == O_DIV && expr_reads(e->kid[1], t)) return false;
    for (int k = 0; k < 2; k++)
        if (e->kid[k] && expr_reads(e->kid[k], t)) return takes_sum(e->kid[k], t);
    return true;
}

static uint32_t summed(const Assign *a) { return expr_vars(a->rhs) & ~expr_vars(a->lhs); }

/* Whether what t is made of may stand in place of the access to it in `reader`. */
static bool may_join(const Assign *maker, const Assign *reader)
{
    const Tensor *t = maker->lhs->tensor;
    const Expr *at = expr_find(reader->rhs, t);
    if (!adds(maker) || !adds(reader) || (summed(maker) && !is_product(maker->rhs))) return false;
    if (is_product(maker->rhs) && is_product(reader->rhs))
        return count_accesses(maker->rhs, NULL) + count_accesses(reader->rhs, NULL) <= MAXFACTORS + 1;
    return reader->reduce == O_CONST && !summed(reader) && expr_vars(at) == expr_vars(reader->lhs) &&
           takes_sum(reader->rhs, t);
}

/* ---- replacing ---- */
typedef struct {
    Prog *p;
    int8_t of[SC_MAXVAR]; /* the index that takes the place of each */
} Renaming;

static Expr *renamed(const Renaming *r, const Expr *e)
{
    Expr *x = NEW(r->p, Expr);
    *x = *e;
    for (int d = 0; e->op == O_ACCESS && d < e->tensor->ndim; d++)
        x->ix[d].var = (uint8_t)r->of[e->ix[d].var];
    for (int k = 0; k < 2; k++)
        if (e->kid[k]) x->kid[k] = renamed(r, e->kid[k]);
    return x;
}

static int another_var(Prog *p, int v)
{
    char name[sizeof p->var[0].name];
    int k = 0;
    do snprintf(name, sizeof name, "%.10s_%d", p->var[v].name, ++k);
    while (prog_var(p, name, false) >= 0 || prog_tensor(p, name));
    return prog_var(p, name, true);
}

/* Indices of the left side become those of the access, summed ones stay or become new. */
static bool find_names(Prog *p, const Assign *maker, const Assign *reader, Renaming *r)
{
    const Expr *at = expr_find(reader->rhs, maker->lhs->tensor);
    const uint32_t taken = expr_vars(reader->rhs) | expr_vars(reader->lhs), own = summed(maker);
    if (p->nvar + __builtin_popcount(own & taken) > SC_MAXVAR) return false;
    for (int v = 0; v < SC_MAXVAR; v++) r->of[v] = (int8_t)v;
    for (int v = 0; v < SC_MAXVAR; v++)
        if (own & taken & 1u << v) r->of[v] = (int8_t)another_var(p, v);
    for (int d = 0; d < maker->lhs->tensor->ndim; d++) r->of[maker->lhs->ix[d].var] = (int8_t)at->ix[d].var;
    return true;
}

static void forget(Prog *p, int a)
{
    const Tensor *t = p->assign[a].lhs->tensor;
    memmove(&p->assign[a], &p->assign[a + 1], (size_t)(--p->nassign - a) * sizeof *p->assign);
    p->ntensor--;
    for (int k = t->id; k < p->ntensor; k++) {
        p->tensor[k] = p->tensor[k + 1];
        p->tensor[k]->id = k;
    }
}

static bool join(Prog *p, int a)
{
    const Tensor *t = p->assign[a].lhs->tensor;
    const Assign maker = p->assign[a];
    Renaming r = {.p = p};
    Assign *reader = NULL;
    int reads = 0;
    for (int b = 0; b < p->nassign; b++) {
        const int n = count_accesses(p->assign[b].rhs, t);
        if (n) reader = &p->assign[b];
        reads += n;
    }
    if (!reads)
        fail(p, SC_EVALUE, maker.lhs->pos, "tmp %s is not read; remove it, or tmp to return it", t->name);
    if (reads > 1 || reader <= &p->assign[a] || !may_join(&maker, reader) ||
        !find_names(p, &maker, reader, &r))
        return false;
    reader->rhs = expr_replace(p, reader->rhs, expr_find(reader->rhs, t), renamed(&r, maker.rhs));
    forget(p, a);
    return true;
}

/* Indices that only temporaries had go. */
static void drop_vars(Prog *p)
{
    Renaming r = {.p = p};
    uint32_t used = 0;
    int n = 0;
    for (int a = 0; a < p->nassign; a++) used |= expr_vars(p->assign[a].lhs) | expr_vars(p->assign[a].rhs);
    for (int v = 0; v < p->nvar; v++) {
        if (!(used >> v & 1)) continue;
        r.of[v] = (int8_t)n;
        p->var[n++] = p->var[v];
    }
    p->nvar = n;
    for (int a = 0; a < p->nassign; a++) {
        p->assign[a].lhs = renamed(&r, p->assign[a].lhs);
        p->assign[a].rhs = renamed(&r, p->assign[a].rhs);
    }
}

void expr_inline(Prog *p)
{
    bool any = false, visible = false;
    for (int a = 0; a < p->nassign; a++) visible |= !p->assign[a].lhs->tensor->hidden;
    if (!visible) fail(p, SC_EVALUE, -1, "every result is a tmp; expected one that is returned");
    for (int a = 0; a < p->nassign;)
        if (p->assign[a].lhs->tensor->hidden && !p->skip && join(p, a))
            any = true, a = 0;
        else
            a++;
    if (any) drop_vars(p);
}
