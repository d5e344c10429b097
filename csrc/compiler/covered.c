/* covered.c: where an expression is surely absent, because an operand has no entry there.
 *
 * requires  check. An absent number is zero, and it makes a product absent. The
 * constant 0 is absent everywhere. A function f is absent with its arguments
 * where f(0) = 0, a sum where all its terms are. Three questions follow: along which indices absence reaches
 * (the result may be sparse in them), whether one operand alone decides it, and
 * whether a divisor is zero because something is missing. */
#include "ir.h"

#define EVERY 0xffffffffu

static bool keeps_zero(Op op) { return op < O_LAST_E && op_info(op)->zero == 0; }

uint32_t expr_covered(const Expr *e)
{
    switch (e->op) {
    case O_CONST: return e->c == 0 ? EVERY : 0;
    case O_ACCESS: return is_sparse(e->tensor) ? expr_vars(e) : 0;
    case O_REDUCE: return expr_covered(e->kid[0]) & ~e->vars;
    case O_MUL: return expr_covered(e->kid[0]) | expr_covered(e->kid[1]);
    case O_DIV: return expr_covered(e->kid[0]);
    default: break;
    }
    if (!keeps_zero(e->op)) return 0;
    const uint32_t vars = expr_covered(e->kid[0]);
    return e->kid[1] ? vars & expr_covered(e->kid[1]) : vars;
}

bool expr_kills(const Expr *e, const Tensor *t)
{
    switch (e->op) {
    case O_CONST: return e->c == 0;
    case O_ACCESS: return e->tensor == t && is_sparse(t);
    case O_MUL: return expr_kills(e->kid[0], t) || expr_kills(e->kid[1], t);
    case O_REDUCE:
    case O_DIV: return expr_kills(e->kid[0], t);
    default: break;
    }
    return keeps_zero(e->op) && expr_kills(e->kid[0], t) && (!e->kid[1] || expr_kills(e->kid[1], t));
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
    if (e->op == O_STORED) return a;
    if (e->kid[1]) b = value_missing(e->kid[1]);
    if (e->op == O_MUL && ((a.known && a.value == 0) || (b.known && b.value == 0))) return (Missing){true, 0};
    if (!a.known || !b.known) return (Missing){false, 0};
    return (Missing){true, op_eval(e->op, a.value, b.value)};
}

/* An access whose missing entry makes e zero while `above` is present, or null. */
static const Expr *zero_without(const Expr *e, const Expr *above)
{
    if (e->op == O_CONST || e->op == O_REDUCE) return NULL;
    if (e->op == O_ACCESS) return is_sparse(e->tensor) && !expr_kills(above, e->tensor) ? e : NULL;
    const Missing m = value_missing(e);
    const Expr *a = zero_without(e->kid[0], above);
    if (e->op == O_DIV) return a;
    const Expr *b = e->kid[1] ? zero_without(e->kid[1], above) : NULL;
    if (e->op == O_MUL) return a ? a : b;
    if (!m.known || m.value != 0) return NULL;
    const bool both =
        e->op == O_ADD || e->op == O_SUB; /* zero where both sides are missing, not where one is */
    if (e->kid[1] && both) return a && b ? a : NULL;
    return a ? a : b;
}

static const char *access_text(Prog *p, const Expr *e)
{
    const Tensor *t = e->tensor->alias ? e->tensor->alias : e->tensor;
    const char *text = t->name;
    for (int d = 0; d < t->ndim; d++)
        text = sc_arena_printf(&p->arena, "%s%s%s", text, d ? "," : "[", p->var[e->ix[d].var].name);
    return sc_arena_printf(&p->arena, "%s]", text);
}

void check_division(Prog *p, const Expr *e)
{
    for (int k = 0; k < 2; k++)
        if (e->kid[k]) check_division(p, e->kid[k]);
    if (e->op != O_DIV || p->skip) return;
    const Expr *by = zero_without(e->kid[1], e->kid[0]);
    if (!by) return;
    const char *what = access_text(p, by);
    fail(p, SC_EVALUE, e->pos,
         "division by %s, which is zero where it has no entry; multiply the numerator by it, add a constant "
         "to the "
         "divisor, or evaluate with implicit=\"skip\"",
         what);
}
