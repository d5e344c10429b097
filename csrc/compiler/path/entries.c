/* entries.c: where the entries of sparse tensors make what is stored of an expression. */
#include "private.h"

bool path_is_product(const Expr *e)
{
    if (e->op == O_ACCESS) return true;
    if (e->op == O_REDUCE) return e->reduce == O_ADD && path_is_product(e->kid[0]);
    return e->op == O_MUL && path_is_product(e->kid[0]) && path_is_product(e->kid[1]);
}

bool path_has_sparse(const Expr *e)
{
    if (e->op == O_ACCESS) return !sc_format_is_dense(&e->tensor->format);
    return (e->kid[0] && path_has_sparse(e->kid[0])) || (e->kid[1] && path_has_sparse(e->kid[1]));
}

/* Indices of the sparse operands of a product, or of all terms of a sum; of other expressions those that its operands of
 * the program cover. */
static uint32_t covered_by(const Prog *p, const Expr *e, bool plain)
{
    uint32_t vars = 0;
    if (e->op == O_ADD || e->op == O_SUB) return path_covered(p, e->kid[0]) & path_covered(p, e->kid[1]);
    if (!plain) return expr_covered(p, e);
    if (e->op == O_ACCESS) return sc_format_is_dense(&e->tensor->format) ? 0 : expr_vars(e);
    for (int k = 0; k < 2; k++)
        if (e->kid[k]) vars |= covered_by(p, e->kid[k], plain);
    return vars;
}

uint32_t path_covered(const Prog *p, const Expr *e) { return covered_by(p, e, path_is_product(e)); }
