/* where.c: which entries a result has that is computed dense and delivered sparse.
 *
 * requires  formats of all results. sets: Tensor.where
 *
 * The structure of a sparse result follows from what operands store, never from values: a zero that comes out of
 * stored numbers is an entry, and has a gradient. Kernels that write all coordinates do not say which these are, so
 * others are put behind them, which compute a second result of truth values (expr/covered.c). The conversion reads
 * entries off that one. */
#include <stdio.h>
#include <string.h>

#include "private.h"

/* The values of a covered result do not say which entries it has; nor do those of a maximum in skip mode, which is
 * infinite where no point counts. */
static bool is_unknown(const Prog *p, const Tensor *t)
{
    const sc_format *ask = &p->ask[t->arg - p->nin];
    const bool told = t->covered || op_identity(t->empty) != 0;
    return told && sc_format_is_dense(&t->format) && ask->nlevel && !sc_format_is_dense(ask);
}

static Tensor *new_where(Prog *p, const Tensor *of)
{
    char name[sizeof of->name];
    snprintf(name, sizeof name, "%.20s_where", of->name);
    for (uint8_t k = 2; prog_tensor(p, name); k++) snprintf(name, sizeof name, "%.20s_where%d", of->name, k);
    if (p->nin + p->draft.nmade == SC_MAXOP)
        fail(p, SC_ENOTIMPL, -1,
             "expected at most %d operands and results, got %d, one more for the structure of %s; split the "
             "expression",
             SC_MAXOP, p->nin + p->draft.nmade, of->name);
    Tensor *t = prog_add(p, name, T_OUT, -1);
    t->arg = p->nin + p->draft.nmade++;
    t->ndim = of->ndim;
    memcpy(t->dimvar, of->dimvar, sizeof t->dimvar);
    memcpy(t->extent, of->extent, sizeof t->extent);
    t->dtype = SC_BOOL;
    t->empty = O_CONST;
    expr_make_dense(p, t);
    return t;
}

static Nest *add(Prog *p, Expr *where, Expr *term)
{
    const Assign a = {where, O_ADD, term};
    Wish *stay = NEW(p, Wish);
    stay->converts = true;
    Search *s = search_new(p, &a, stay);
    return search_count(s) ? search_nest(s, 0) : NULL;
}

/* Where no loops are found for a product, because coordinates repeat, one of its factors takes its place, which has
 * entries at more coordinates; in the end a 1, which has all. */
static Nest *add_term(Prog *p, Expr *where, Expr *term)
{
    Part factor[MAXFACTOR];
    const int count = expr_factors(p, term, factor);
    Nest *n = add(p, where, term);
    for (int k = 0; k < count && !n; k++) n = add(p, where, factor[k].e);
    return n ? n : add(p, where, expr_const(p, 1));
}

/* n, and behind it one kernel a term: they add to what is true already, so each visits no more than its operands. */
static Nest *add_where(Prog *p, const Assign *a, Nest *n)
{
    Part term[MAXFACTOR];
    Tensor *t = a->lhs->tensor->where = new_where(p, a->lhs->tensor);
    const int count = expr_terms(p, expr_entries(p, a->rhs), term);
    for (int k = 0; k < count; k++) {
        Nest *more = add_term(p, expr_access(p, t, a->lhs->ix), term[k].e);
        if (!more) fail(p, SC_EINTERNAL, -1, "no loops say where %s has entries", t->name);
        n = nest_seq(p, 2, (Nest *[]){n, more});
    }
    sc_text_add(&p->draft.why, "%s is computed dense; which entries it has is computed beside\n",
                a->lhs->tensor->name);
    return n;
}

Nest *schedule_where(Prog *p, Nest *n)
{
    for (int a = 0; a < p->nassign; a++)
        if (is_unknown(p, p->assign[a].lhs->tensor)) n = add_where(p, &p->assign[a], n);
    return n;
}
