/* limits.c: which expressions schedule.c finds a nest for.
 *
 * requires  infer, no nest. sets: results that infer left open are dense. */
#include "ir.h"

typedef struct {
    int sparse, reduces; /* accesses to sparse operands, O_REDUCE nodes */
    const Expr *first;   /* an access to a sparse operand */
    const Expr *reduce;
    bool nested;
} Shape;

static void look(const Expr *e, Shape *s, bool inside)
{
    if (e->op == O_ACCESS && is_sparse(e->tensor)) {
        s->sparse++;
        s->first = e;
    }
    if (e->op == O_REDUCE) {
        s->reduces++;
        s->reduce = e;
        s->nested |= inside;
    }
    for (int k = 0; k < 2; k++)
        if (e->kid[k]) look(e->kid[k], s, inside || e->op == O_REDUCE);
}

/* Whether the sparse operand t is a factor of every term below this reduction, or of the right side. */
static const char *why_not_product(const Prog *p, const Assign *a, const Shape *s)
{
    const Expr *e = s->reduces && expr_reads(s->reduce, s->first->tensor) ? s->reduce : NULL;
    if (s->reduces && !e) return "the sum must contain the sparse operand";
    if (!e && a->rhs->op == O_REDUCE) e = a->rhs;
    const Expr *body = e ? e->kid[0] : a->rhs;
    if (!expr_kills(body, s->first->tensor)) return "the sparse operand must be a factor of a product";
    if (e && e->reduce != O_ADD && !p->skip)
        return "max= and min= over a sparse operand count its missing entries; use implicit=\"skip\"";
    return NULL;
}

/* The reason why a program has no automatic nest, or null. */
static const char *why_not(const Prog *p)
{
    const Assign *a = &p->assign[0];
    Shape s = {0};
    if (p->nassign > 1) return "there must be one assignment";
    look(a->rhs, &s, false);
    if (s.sparse > 1) return "at most one sparse operand may occur, once";
    if (s.reduces > 1 || s.nested) return "there may be one sum over one product";
    return s.sparse ? why_not_product(p, a, &s) : NULL;
}

void check_scheduled(Prog *p)
{
    const char *why = why_not(p);
    Shape s = {0};
    for (int r = 0; r < p->nout; r++) {
        Tensor *t = prog_result(p, r);
        if (!t->format.nlevel) result_format(p, t, "dense");
    }
    if (!why) return;
    for (int a = 0; a < p->nassign; a++) look(p->assign[a].rhs, &s, false);
    fail(p, SC_ENOTIMPL, s.first ? s.first->pos : p->assign[0].rhs->pos,
         "not supported without a schedule: %s. Supported are one dense result, one sparse operand in one "
         "sum of "
         "products with dense factors, and element-wise functions of that sum and dense operands%s%s%s",
         why, s.first ? "; use " : "", s.first ? s.first->tensor->name : "",
         s.first ? ".to_dense() or pass a schedule" : "; split the expression or pass a schedule");
}
