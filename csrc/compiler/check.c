/* check.c: what an expression means, and whether we can run it.
 *
 * requires: parse_program. sets: extents of variables and results, dimvar of
 * tensors, O_REDUCE nodes on the right sides, var.fold. Every "not supported" of
 * an expression is raised here and none later: `check_supported` holds the list
 * for expressions without a nest; with one, the nest decides.
 *
 * Einstein summation ("="): an index that is not on the left is summed in the
 * smallest product that contains all its uses, where a product is a maximal
 * chain of * and /, or a single tensor. So relu(A[i,j] * B[j,k] + b[k]) sums
 * over j inside of relu. An index whose uses lie in several terms has no such
 * product and is refused; "+=" sums the whole right side. */
#include <string.h>

#include "ir.h"

static bool is_sparse(const Tensor *t) { return t->role == T_IN && !sc_format_is_dense(&t->format); }

static const char *user_dtype(sc_dtype t)
{
    static const char *const name[] = {"bool", "int16", "int32", "int64", "float32", "float64"};
    return t < SC_NDTYPE ? name[t] : "an unknown type";
}

static void each_access(Prog *p, Expr *e, void (*f)(Prog *, Expr *))
{
    if (e->op == O_ACCESS) f(p, e);
    for (int k = 0; k < 2; k++)
        if (e->kid[k]) each_access(p, e->kid[k], f);
}

/* ---- extents ---- */
static _Noreturn void fail_extent(Prog *p, const Expr *e, int d)
{
    const int v = e->ix[d].var;
    for (int t = 0; t < p->ntensor; t++)
        for (int k = 0; k < p->tensor[t]->ndim; k++)
            if (p->tensor[t]->dimvar[k] == v && p->tensor[t]->extent[k] == p->var[v].extent)
                fail(p, SC_EVALUE, e->pos,
                     "index %s is dimension %d of %s, of extent %lld, and dimension %d of %s, of extent "
                     "%lld; they "
                     "must agree",
                     p->var[v].name, k, p->tensor[t]->name, (long long)p->var[v].extent, d, e->tensor->name,
                     (long long)e->tensor->extent[d]);
    fail(p, SC_EVALUE, e->pos, "index %s has the extents %lld and %lld; they must agree", p->var[v].name,
         (long long)p->var[v].extent, (long long)e->tensor->extent[d]);
}

static void bind_access(Prog *p, Expr *e)
{
    Tensor *t = e->tensor;
    for (int d = 0; d < t->ndim; d++) {
        Var *v = &p->var[e->ix[d].var];
        if (v->extent < 0) v->extent = t->extent[d];
        if (v->extent != t->extent[d]) fail_extent(p, e, d);
        if (t->dimvar[d] < 0) t->dimvar[d] = e->ix[d].var;
    }
}

static void bind_result(Prog *p, const Assign *a)
{
    Tensor *t = a->lhs->tensor;
    const uint32_t vars = expr_vars(a->rhs);
    int64_t size = 8;
    for (int d = 0; d < t->ndim; d++) {
        const int v = a->lhs->ix[d].var;
        if (!(vars >> v & 1))
            fail(p, SC_EVALUE, a->lhs->pos,
                 "index %s of %s is not used on the right, so its extent is unknown; remove "
                 "it",
                 p->var[v].name, t->name);
        t->dimvar[d] = v;
        t->extent[d] = p->var[v].extent;
        if (!sc_mul(size, sc_max(t->extent[d], 1), &size))
            fail(p, SC_EVALUE, a->lhs->pos, "%s has more than 2^60 elements", t->name);
    }
}

static void check_blocks(Prog *p, const Tensor *t)
{
    for (int l = 0; l < t->format.nlevel; l++) {
        const sc_levelspec *s = &t->format.level[l];
        if (s->part != SC_WHOLE && t->extent[s->dim] % s->block)
            fail(p, SC_EVALUE, -1,
                 "%s: dimension %d has extent %lld, which is no multiple of its block of %d; pad the tensor "
                 "or choose "
                 "another block",
                 t->name, s->dim, (long long)t->extent[s->dim], s->block);
    }
}

/* ---- accesses to sparse operands ---- */
static void check_access(Prog *p, Expr *e)
{
    const Tensor *t = e->tensor;
    if (!is_sparse(t) || p->meaning) return;
    for (int d = 0; d < t->ndim; d++) {
        for (int k = 0; k < d; k++)
            if (e->ix[d].var == e->ix[k].var)
                fail(p, SC_ENOTIMPL, e->pos,
                     "%s is sparse and has index %s twice; its diagonal is not supported, use %s.to_dense()",
                     t->name, p->var[e->ix[d].var].name, t->name);
        if (e->ix[d].var != t->dimvar[d])
            fail(p, SC_ENOTIMPL, e->pos,
                 "the sparse operand %s is used with different indices; pass it a second time under another "
                 "name",
                 t->name);
    }
}

static bool is_used(const Expr *e, const Tensor *t)
{
    if (e->op == O_ACCESS && e->tensor == t) return true;
    return (e->kid[0] && is_used(e->kid[0], t)) || (e->kid[1] && is_used(e->kid[1], t));
}

static void check_operand(Prog *p, const Tensor *t)
{
    bool used = false;
    for (int a = 0; a < p->nassign; a++) used |= is_used(p->assign[a].rhs, t);
    if (!used)
        fail(p, SC_EVALUE, -1, "operand %s is not used in the expression; remove it or use it", t->name);
    if (is_sparse(t) && t->itype != SC_I32 && t->itype != SC_I64)
        fail(p, SC_ETYPE, -1, "%s has indices of type %s, expected int32 or int64", t->name,
             user_dtype(t->itype));
    check_blocks(p, t);
}

/* ---- division ---- */
typedef struct {
    bool known;
    double value;
} Missing;

/* The value of e where no sparse operand has an entry, if it is a constant. */
static Missing value_missing(const Expr *e)
{
    if (e->op == O_CONST) return (Missing){true, e->c};
    if (e->op == O_ACCESS) return (Missing){is_sparse(e->tensor), 0};
    if (e->op == O_REDUCE) return (Missing){false, 0};
    Missing a = value_missing(e->kid[0]), b = {true, 0};
    if (e->kid[1]) b = value_missing(e->kid[1]);
    if (e->op == O_STORED) return a;
    if (e->op == O_MUL && ((a.known && a.value == 0) || (b.known && b.value == 0))) return (Missing){true, 0};
    if (!a.known || !b.known) return (Missing){false, 0};
    return (Missing){true, op_eval(e->op, a.value, b.value)};
}

static const Expr *first_sparse(const Expr *e)
{
    if (e->op == O_ACCESS) return is_sparse(e->tensor) ? e : NULL;
    const Expr *found = e->kid[0] ? first_sparse(e->kid[0]) : NULL;
    return found || !e->kid[1] ? found : first_sparse(e->kid[1]);
}

/* Whether e is a product with tensor t as a factor. */
static bool has_factor(const Expr *e, const Tensor *t)
{
    if (e->op == O_ACCESS) return e->tensor == t;
    if (e->op == O_MUL) return has_factor(e->kid[0], t) || has_factor(e->kid[1], t);
    return (e->op == O_DIV || e->op == O_NEG || e->op == O_STORED) && has_factor(e->kid[0], t);
}

static void check_division(Prog *p, const Expr *e)
{
    for (int k = 0; k < 2; k++)
        if (e->kid[k]) check_division(p, e->kid[k]);
    if (e->op != O_DIV || p->skip) return;
    const Missing m = value_missing(e->kid[1]);
    const Expr *by = first_sparse(e->kid[1]);
    if (!by || !m.known || m.value != 0 || has_factor(e->kid[0], by->tensor)) return;
    fail(p, SC_EVALUE, e->pos,
         "division by %s, which is zero where %s has no entry; multiply the numerator by %s, add a constant "
         "to the "
         "divisor, or evaluate with implicit=\"skip\"",
         by->tensor->name, by->tensor->name, by->tensor->name);
}

/* ---- Einstein summation ---- */
typedef struct {
    Prog *p;
    uint32_t bound;       /* on the left, or summed already */
    int total[SC_MAXVAR]; /* uses on the right */
} Sums;

static void count_uses(const Expr *e, int *n)
{
    for (int d = 0; e->op == O_ACCESS && d < e->tensor->ndim; d++) n[e->ix[d].var]++;
    for (int k = 0; k < 2; k++)
        if (e->kid[k]) count_uses(e->kid[k], n);
}

static Expr *reduce_over(Prog *p, Op op, uint32_t vars, Expr *e)
{
    if (!vars) return e;
    Expr *r = expr_new(p, O_REDUCE, e, NULL);
    r->reduce = op;
    r->vars = vars;
    return r;
}

/* e is a whole product: sums what is used nowhere else. */
static Expr *close_product(Sums *s, Expr *e)
{
    int uses[SC_MAXVAR] = {0};
    uint32_t vars = 0;
    count_uses(e, uses);
    for (int v = 0; v < s->p->nvar; v++)
        if (uses[v] && uses[v] == s->total[v]) vars |= 1u << v;
    vars &= ~s->bound;
    s->bound |= vars;
    return reduce_over(s->p, O_ADD, vars, e);
}

static Expr *sum_products(Sums *s, Expr *e, bool factor)
{
    if (e->op == O_CONST) return e;
    if (e->op == O_ACCESS) return factor ? e : close_product(s, e);
    const bool product = e->op == O_MUL || e->op == O_DIV;
    Expr *a = sum_products(s, e->kid[0], product);
    Expr *b = e->kid[1] ? sum_products(s, e->kid[1], product) : NULL;
    if (a != e->kid[0] || b != e->kid[1]) {
        const int pos = e->pos;
        e = expr_new(s->p, e->op, a, b);
        e->pos = pos;
    }
    return product && !factor ? close_product(s, e) : e;
}

static Expr *explicit_sums(Prog *p, const Assign *a)
{
    const uint32_t left = expr_vars(a->lhs), right = expr_vars(a->rhs);
    if (a->reduce != O_CONST) return reduce_over(p, a->reduce, right & ~left, a->rhs);
    Sums s = {.p = p, .bound = left};
    count_uses(a->rhs, s.total);
    Expr *e = sum_products(&s, a->rhs, false);
    for (int v = 0; v < p->nvar; v++)
        if ((right & ~s.bound) >> v & 1)
            fail(p, SC_EVALUE, a->rhs->pos,
                 "index %s is not on the left and is used in several terms; write += to sum the whole right "
                 "side over "
                 "it, or give each term an index of its own",
                 p->var[v].name);
    return e;
}

/* ---- what runs without a nest ---- */
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
    const Expr *e = s->reduces && is_used(s->reduce, s->first->tensor) ? s->reduce : NULL;
    if (s->reduces && !e) return "the sum must contain the sparse operand";
    if (!e && a->rhs->op == O_REDUCE) e = a->rhs;
    const Expr *body = e ? e->kid[0] : a->rhs;
    if (!has_factor(body, s->first->tensor)) return "the sparse operand must be a factor of a product";
    if (e && e->reduce != O_ADD && !p->skip)
        return "max= and min= over a sparse operand count its missing entries; use implicit=\"skip\"";
    if (p->skip && e && e != a->rhs) return "implicit=\"skip\" takes one reduction and nothing around it";
    return NULL;
}

/* The reason why a program has no automatic nest, or null. */
static const char *why_not(const Prog *p)
{
    const Assign *a = &p->assign[0];
    Shape s = {0};
    if (p->nassign > 1) return "there must be one assignment";
    look(a->rhs, &s, false);
    if (!sc_format_is_dense(&a->lhs->tensor->format) || a->lhs->tensor->like)
        return "the result must be dense";
    if (s.sparse > 1) return "at most one sparse operand may occur, once";
    if (s.reduces > 1 || s.nested) return "there may be one sum over one product";
    return s.sparse ? why_not_product(p, a, &s) : NULL;
}

static void check_supported(Prog *p)
{
    const char *why = why_not(p);
    Shape s = {0};
    if (!why) return;
    for (int a = 0; a < p->nassign; a++) look(p->assign[a].rhs, &s, false);
    fail(p, SC_ENOTIMPL, s.first ? s.first->pos : p->assign[0].rhs->pos,
         "not supported without a schedule: %s. Supported are one dense result, one sparse operand in one "
         "sum of "
         "products with dense factors, and element-wise functions of that sum and dense operands%s%s%s",
         why, s.first ? "; use " : "", s.first ? s.first->tensor->name : "",
         s.first ? ".to_dense() or pass a schedule" : "; split the expression or pass a schedule");
}

/* ---- extents that become constants ---- */
/* Marks in *inner the indices that run at stride 1 somewhere, in *sparse those of sparse tensors. */
static void look_access(const Expr *e, uint32_t *inner, uint32_t *sparse)
{
    const Tensor *t = e->tensor;
    const bool dense = t->role == T_IN ? !is_sparse(t) : sc_format_is_dense(&t->format) && !t->like;
    for (int d = 0; d < t->ndim; d++) {
        if (!dense) *sparse |= 1u << e->ix[d].var;
        if (dense && d == t->unit) *inner |= 1u << e->ix[d].var;
    }
}

static void look_expr(const Expr *e, uint32_t *inner, uint32_t *sparse)
{
    if (e->op == O_ACCESS) look_access(e, inner, sparse);
    for (int k = 0; k < 2; k++)
        if (e->kid[k]) look_expr(e->kid[k], inner, sparse);
}

static void choose_folds(Prog *p)
{
    uint32_t inner = 0, sparse = 0;
    int n = 0;
    for (int a = 0; a < p->nassign; a++) {
        look_access(p->assign[a].lhs, &inner, &sparse);
        look_expr(p->assign[a].rhs, &inner, &sparse);
    }
    for (int v = 0; v < p->nvar && !p->nofold; v++)
        if (n < 8 && p->var[v].extent <= 512 && (inner & ~sparse) >> v & 1) {
            p->var[v].fold = true;
            n++;
        }
}

void check(Prog *p)
{
    if (!p->nin) fail(p, SC_EVALUE, -1, "expected at least one operand, got none");
    for (int a = 0; a < p->nassign; a++) {
        each_access(p, p->assign[a].rhs, bind_access);
        bind_result(p, &p->assign[a]);
    }
    for (int k = 0; k < p->nin; k++) check_operand(p, p->tensor[k]);
    for (int a = 0; a < p->nassign; a++) {
        each_access(p, p->assign[a].rhs, check_access);
        p->assign[a].rhs = explicit_sums(p, &p->assign[a]);
        check_division(p, p->assign[a].rhs);
    }
    if (!p->nest && !p->meaning) check_supported(p);
    choose_folds(p);
}
