/* forms.c: sums inside of sums: the ways to write the right side of an assignment, which differ in what is summed
 * before the rest is multiplied with it. */
#include "build.h"

/* The O_REDUCE nodes of e, outermost first. */
static int reduces(Expr *e, Expr **out, int n)
{
    if (e->op == O_REDUCE && n < MAXFORM) out[n++] = e;
    for (int k = 0; k < 2; k++)
        if (e->kid[k]) n = reduces(e->kid[k], out, n);
    return n;
}

static int sparse_operands(const Expr *e)
{
    if (e->op == O_ACCESS) return tensor_is_sparse(e->tensor);
    return (e->kid[0] ? sparse_operands(e->kid[0]) : 0) + (e->kid[1] ? sparse_operands(e->kid[1]) : 0);
}

/* A sparse product that others, as sparse, are multiplied with afterwards. One that is gathered at their entries alone
 * takes a merge at each of its own. */
static bool filters(const Expr *sum, const Expr *all)
{
    const int inside = sparse_operands(sum);
    return inside > 1 && inside < sparse_operands(all);
}

/* Every way to split one sum of a form in two, and to multiply behind it. */
static int add_forms(Prog *p, Version *form, int n, int from, int depth)
{
    Expr *r[MAXFORM], *parts[MAXFORM];
    const Version base = form[from];
    const int nr = reduces(base.rhs, r, 0);
    for (int k = 0; k < nr; k++)
        for (uint32_t inner = r[k]->vars; inner; inner = (inner - 1) & r[k]->vars) {
            Expr *split = r[k]->reduce == O_ADD ? expr_contract(p, r[k], inner) : r[k];
            if (split == r[k] || n == MAXFORM) continue;
            const int m = reduces(split, parts, 0);
            Expr *sum = m > 1 ? parts[1] : inner == r[k]->vars ? parts[0] : NULL;
            if (inner == r[k]->vars && !filters(sum, split)) continue;
            Version f = base;
            f.rhs = expr_replace(p, base.rhs, r[k], split);
            f.inner[depth] = sum;
            f.taken[depth] = inner;
            bool seen = false;
            for (int q = 0; q < n; q++) seen |= expr_equal(form[q].rhs, f.rhs);
            if (!seen) form[n++] = f;
        }
    return n;
}

int forms_find(Prog *p, Expr *rhs, Version *form)
{
    form[0] = (Version){.rhs = rhs};
    if (p->skip) return 1;
    const int once = add_forms(p, form, 1, 0, 0);
    int n = once;
    for (int k = 1; k < once; k++) n = add_forms(p, form, n, k, 1);
    return n;
}

static bool is_factor(const Expr *e, const Expr *part)
{
    for (int k = 0; k < 2; k++)
        if (e->kid[k] && ((e->kid[k] == part && e->op != O_REDUCE) || is_factor(e->kid[k], part)))
            return true;
    return false;
}

/* A factor that has no term where it is read (build_has_terms), since all coordinates that its operands store are
 * summed over. What becomes of converted operands is not known. */
static bool lacks_terms(const Expr *sum, uint32_t converted)
{
    const Sources src = build_sources(sum);
    for (int k = 0; k < src.n; k++) {
        const Tensor *t = src.at[k].t;
        if (t->role == T_IN && in(converted, t->arg)) return false;
        for (int l = 0; l < source_levels(t); l++)
            if (source_kind(t, l)->crd && !in(sum->vars, source_index(t, l).var)) return false;
    }
    return src.n > 0;
}

bool form_is_hopeless(const Version *f, uint32_t converted)
{
    for (int q = 0; q < 2; q++)
        if (f->inner[q] && is_factor(f->rhs, f->inner[q]) && lacks_terms(f->inner[q], converted)) return true;
    return false;
}
