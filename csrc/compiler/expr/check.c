/* check.c: what an expression means, and whether it has a meaning.
 *
 * requires: parse_program. sets: extents of variables and results, dimvar of
 * tensors, O_REDUCE nodes on the right sides, var.fold. What an expression can
 * not say is refused here and in infer.c, and nowhere behind.
 *
 * Einstein summation ("="): an index that is not on the left is summed in the
 * smallest product that contains all its uses, where a product is a maximal
 * chain of * and /, or a single tensor. So relu(A[i,j] * B[j,k] + b[k]) sums
 * over j inside of relu. An index whose uses lie in several terms of a sum, and
 * nowhere else, is summed there where all of them have it: each is summed for
 * itself, which is the sum of the sum, whatever product the sum is a factor of.
 * Else, without a product that contains all uses, it is refused, and "+=" sums the
 * whole right side. */
#include <string.h>

#include "expr.h"

static const char *user_dtype(sc_dtype t)
{
    static const char *const name[SC_NDTYPE] = {
        [SC_BOOL] = "bool",   [SC_I16] = "int16",     [SC_I32] = "int32",   [SC_I64] = "int64",
        [SC_F16] = "float16", [SC_BF16] = "bfloat16", [SC_F32] = "float32", [SC_F64] = "float64"};
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
        if (v->extent < 0) {
            const Var *from = t->role == T_IN ? NULL : &p->var[t->dimvar[d]]; /* of an earlier result */
            v->extent = t->extent[d];
            v->arg = from ? from->arg : t->arg;
            v->dim = from ? from->dim : d;
        }
        if (v->extent != t->extent[d]) fail_extent(p, e, d);
        if (t->dimvar[d] < 0) t->dimvar[d] = e->ix[d].var;
    }
}

static void bind_result(Prog *p, const Assign *a)
{
    Tensor *t = a->lhs->tensor;
    const uint32_t vars = expr_vars(a->rhs);
    for (int d = 0; d < t->ndim; d++) {
        const int v = a->lhs->ix[d].var;
        if (!(vars >> v & 1))
            fail(p, SC_EVALUE, a->lhs->pos,
                 "index %s of %s is not used on the right, so its extent is unknown; remove "
                 "it",
                 p->var[v].name, t->name);
        t->dimvar[d] = v;
        t->extent[d] = p->var[v].extent;
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

/* ---- operands ---- */
static bool reads_operand(const Expr *e, const void *arg)
{ return e->op == O_ACCESS && e->tensor->role == T_IN && e->tensor->arg == *(const int *)arg; }

static void check_operand(Prog *p, const Tensor *t)
{
    bool used = false;
    for (int a = 0; a < p->nassign; a++) used |= expr_any(p->assign[a].rhs, reads_operand, &t->arg);
    if (!used)
        fail(p, SC_EVALUE, -1, "operand %s is not used in the expression; remove it or use it", t->name);
    if (tensor_is_sparse(t) && t->itype != SC_I32 && t->itype != SC_I64)
        fail(p, SC_ETYPE, -1, "%s has indices of type %s, expected int32 or int64", t->name,
             user_dtype(t->itype));
    check_blocks(p, t);
}

/* ---- Einstein summation ---- */
typedef struct {
    Prog *p;
    uint32_t bound;       /* on the left, or summed already */
    uint32_t spread;      /* summed in each term of the sum that we are in */
    int total[SC_MAXVAR]; /* uses on the right */
} SumScope;

static bool in_product(const Expr *e) { return e->op == O_MUL || e->op == O_DIV; }
static bool in_sum(const Expr *e) { return e->op == O_ADD || e->op == O_SUB; }

/* Factors of the product e, or e itself, that have v; *plain: one is a tensor. */
static int factors_with(const Expr *e, int v, bool *plain)
{
    if (in_product(e)) return factors_with(e->kid[0], v, plain) + factors_with(e->kid[1], v, plain);
    const bool has = expr_vars(e) >> v & 1;
    *plain |= has && (e->op == O_ACCESS || e->op == O_STORED);
    return has;
}

/* v is summed in the product e itself, not in a factor of it. */
static bool sums_here(const Expr *e, int v)
{
    bool plain = false;
    const int n = factors_with(e, v, &plain);
    return n > 1 || plain;
}

/* Whether summing v where its products are comes to the sum of e over v. */
static bool is_sum_over(const Expr *e, int v)
{
    if (!(expr_vars(e) >> v & 1)) return false;
    if (sums_here(e, v)) return true;
    if (e->op == O_NEG) return is_sum_over(e->kid[0], v);
    if (in_sum(e)) return is_sum_over(e->kid[0], v) && is_sum_over(e->kid[1], v);
    if (e->op == O_DIV) return is_sum_over(e->kid[0], v);
    return e->op == O_MUL && (is_sum_over(e->kid[0], v) || is_sum_over(e->kid[1], v));
}

static void count_uses(const Expr *e, int *n)
{
    for (int d = 0; e->op == O_ACCESS && d < e->tensor->ndim; d++) n[e->ix[d].var]++;
    for (int k = 0; k < 2; k++)
        if (e->kid[k]) count_uses(e->kid[k], n);
}

/* Indices that e has, and nothing outside of it. */
static uint32_t used_here(const SumScope *s, const Expr *e)
{
    int uses[SC_MAXVAR] = {0};
    uint32_t vars = 0;
    count_uses(e, uses);
    for (int v = 0; v < s->p->nvar; v++)
        if (uses[v] && uses[v] == s->total[v]) vars |= 1u << v;
    return vars & ~s->bound;
}

/* Of what is summed in each term, what is summed in the whole product e, and so in nothing inside of it. */
static uint32_t summed_here(const SumScope *s, const Expr *e)
{
    uint32_t vars = 0;
    for (int v = 0; v < s->p->nvar; v++)
        if (s->spread >> v & 1 && sums_here(e, v)) vars |= 1u << v;
    return vars;
}

/* e is a whole product: sums what is used nowhere else, and what is summed in each term. */
static Expr *close_product(SumScope *s, Expr *e)
{
    const uint32_t vars = used_here(s, e) | summed_here(s, e);
    s->bound |= vars & ~s->spread;
    return expr_reduce(s->p, O_ADD, vars, e);
}

/* e is a whole sum: what all of its terms have, and nothing outside, is summed in each. */
static uint32_t spread_over(const SumScope *s, const Expr *e)
{
    uint32_t vars = used_here(s, e);
    for (int v = 0; v < s->p->nvar; v++)
        if (!is_sum_over(e, v)) vars &= ~(1u << v);
    return vars;
}

static Expr *sum_products(SumScope *s, Expr *e, Op above);

/* e with the sums inside of its operands made explicit. */
static Expr *sum_operands(SumScope *s, Expr *e)
{
    Expr *a = sum_products(s, e->kid[0], e->op);
    Expr *b = e->kid[1] ? sum_products(s, e->kid[1], e->op) : NULL;
    if (a == e->kid[0] && b == e->kid[1]) return e;
    const int pos = e->pos;
    e = expr_new(s->p, e->op, a, b);
    e->pos = pos;
    return e;
}

/* e is a whole product: what it is summed over by itself is not summed once more in sums and functions inside. */
static Expr *sum_whole(SumScope *s, Expr *e)
{
    const uint32_t here = summed_here(s, e);
    s->spread &= ~here;
    e = sum_operands(s, e);
    s->spread |= here;
    return close_product(s, e);
}

/* above: what e is an operand of; O_CONST: nothing. */
static Expr *sum_products(SumScope *s, Expr *e, Op above)
{
    const bool factor = above == O_MUL || above == O_DIV,
               term = above == O_ADD || above == O_SUB || above == O_NEG;
    if (e->op == O_CONST) return e;
    if (e->op == O_ACCESS || e->op == O_STORED) return factor ? e : close_product(s, e);
    if (in_product(e)) return factor ? sum_operands(s, e) : sum_whole(s, e);
    const bool whole = (in_sum(e) || e->op == O_NEG) && !factor && !term;
    const uint32_t spread = whole ? spread_over(s, e) & ~s->spread : 0;
    s->spread |= spread;
    e = sum_operands(s, e);
    s->spread &= ~spread;
    s->bound |= spread;
    return e;
}

Expr *expr_explicit(Prog *p, const Expr *lhs, Expr *rhs, uint32_t *unsummed)
{
    SumScope s = {.p = p, .bound = expr_vars(lhs)};
    count_uses(rhs, s.total);
    Expr *e = sum_products(&s, rhs, O_CONST);
    *unsummed = expr_vars(rhs) & ~s.bound;
    return e;
}

static Expr *explicit_sums(Prog *p, const Assign *a)
{
    uint32_t unsummed;
    if (a->reduce != O_CONST)
        return expr_reduce(p, a->reduce, expr_vars(a->rhs) & ~expr_vars(a->lhs), a->rhs);
    Expr *e = expr_explicit(p, a->lhs, a->rhs, &unsummed);
    for (int v = 0; v < p->nvar; v++)
        if (unsummed >> v & 1)
            fail(p, SC_EVALUE, a->rhs->pos,
                 "index %s is not on the left and is used in several terms; write += to sum the whole right "
                 "side over "
                 "it, or give each term an index of its own",
                 p->var[v].name);
    return e;
}

/* ---- implicit="skip" ---- */
/* A sum that no stored entry takes part in has no value that something around it could go on with. */
static void check_skip(Prog *p, const Expr *e)
{
    if (!p->skip || !expr_has(e->op == O_REDUCE ? e->kid[0] : e, O_REDUCE)) return;
    fail(p, SC_ENOTIMPL, e->pos,
         "implicit=\"skip\" takes one reduction of the whole right side; assign the sum to a result of its "
         "own and "
         "use that");
}

/* ---- extents that become constants ---- */
/* Marks in *inner the indices that run at stride 1 somewhere, in *sparse those of sparse tensors. */
static void look_access(const Expr *e, uint32_t *inner, uint32_t *sparse)
{
    const Tensor *t = e->tensor;
    const bool dense = t->role == T_IN ? !tensor_is_sparse(t) : sc_format_is_dense(&t->format) && !t->like;
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

/* The rows of dense matrices along which an index of a sparse tensor runs: they are packed (schedule/panel.c). */
static uint32_t packed_rows(const Expr *e, uint32_t sparse)
{
    const Tensor *t = e->op == O_ACCESS ? e->tensor : NULL;
    if (t && t->role == T_IN && t->ndim == 2 && t->unit >= 0 && !tensor_is_sparse(t))
        return sparse >> e->ix[t->unit].var & 1 ? 1u << e->ix[1 - t->unit].var : 0;
    return (e->kid[0] ? packed_rows(e->kid[0], sparse) : 0) |
           (e->kid[1] ? packed_rows(e->kid[1], sparse) : 0);
}

static bool in_kernel(const Prog *p, int v, uint32_t inner, uint32_t rows)
{
    const int64_t n = p->var[v].extent;
    return (inner >> v & 1 && n <= 512) || (rows >> v & 1 && prog_few_rows(n));
}

static void choose_folds(Prog *p)
{
    uint32_t inner = 0, sparse = 0, kept = 0, used = 0, rows = 0;
    int n = 0;
    for (int a = 0; a < p->nassign; a++) {
        look_access(p->assign[a].lhs, &inner, &sparse);
        look_expr(p->assign[a].rhs, &inner, &sparse);
        kept |= expr_vars(p->assign[a].lhs);
        used |= expr_vars(p->assign[a].rhs);
    }
    for (int a = 0; a < p->nassign; a++) rows |= packed_rows(p->assign[a].rhs, sparse);
    if (sparse)
        inner |= used & ~kept; /* matrices that are summed along it may be transposed (schedule/turn.c) */
    for (int v = 0; v < p->nvar && !p->nofold; v++)
        if (n < 8 && in_kernel(p, v, inner & ~sparse, rows & kept & ~sparse)) {
            p->var[v].fold = true;
            n++;
        }
}

static int depth(const Expr *e)
{
    const int a = e->kid[0] ? depth(e->kid[0]) : 0, b = e->kid[1] ? depth(e->kid[1]) : 0;
    return 1 + (a > b ? a : b);
}

void expr_check(Prog *p)
{
    if (!p->nin) fail(p, SC_EVALUE, -1, "expected at least one operand, got none");
    for (int a = 0; a < p->nassign; a++) {
        if (depth(p->assign[a].rhs) > MAXINSIDE)
            fail(p, SC_ENOTIMPL, -1,
                 "expected at most %d operators inside of each other (a sum of so many terms is that), got "
                 "more; split the right side of %s into assignments",
                 MAXINSIDE, p->assign[a].lhs->tensor->name);
        each_access(p, p->assign[a].rhs, bind_access);
        bind_result(p, &p->assign[a]);
    }
    for (int k = 0; k < p->nin; k++) check_operand(p, p->tensor[k]);
    for (int a = 0; a < p->nassign; a++) {
        p->assign[a].rhs = explicit_sums(p, &p->assign[a]);
        expr_check_division(p, p->assign[a].rhs);
        check_skip(p, p->assign[a].rhs);
    }
    choose_folds(p);
}
