/* covered.c: where an expression is surely missing, because an operand has no entry there.
 *
 * requires  check. A missing number is zero, and makes a product missing. The constant 0 is missing everywhere.
 * Substitution decides, as in nest/absent.c: with zeros for what is missing, an expression may come down to a constant,
 * 0 > 2 or relu(0 - 1) or exp(0), and is missing itself where that is 0. Four questions follow: along which indices
 * absence reaches (the result may be sparse in them), where entries are then, whether one operand alone decides it,
 * and whether a divisor is zero because something is missing. */
#include "expr.h"

#define EVERY 0xffffffffu

/* ---- the constant that an expression comes down to ---- */
typedef struct {
    /* Off the coordinates that are stored along these: 0, nothing of the kind; EVERY: everywhere. */
    uint32_t vars;
    double value;
} Default;

/* What a function of two such has where both are constant. */
static Default both(const Prog *p, const Expr *e, Default a, Default b)
{
    Default d = {.vars = a.vars & b.vars};
    if (d.vars && !op_eval_in(p->type, e->op, a.value, b.value, &d.value)) d.vars = 0;
    return d;
}

static Default without(const Prog *p, const Expr *e, Default a, Default b)
{
    const bool no_a = a.vars && a.value == 0, no_b = b.vars && b.value == 0;
    if (e->op == O_MUL && (no_a || no_b)) return (Default){(no_a ? a.vars : 0) | (no_b ? b.vars : 0), 0};
    if (e->op == O_REDUCE) return no_a ? (Default){a.vars & ~e->vars, 0} : (Default){0, 0};
    if ((e->op == O_DIV || e->op == O_STORED) && no_a) return a;
    return both(p, e, a, b);
}

/* Where nothing of t is stored; null: of any operand. */
static Default default_of(const Prog *p, const Expr *e, const Tensor *t)
{
    const Default number = {EVERY, e->op == O_CONST ? e->c : 0};
    if (e->op == O_CONST) return number;
    if (e->op == O_ACCESS) {
        const bool gone = tensor_is_sparse(e->tensor) && (!t || e->tensor == t);
        return (Default){gone ? t ? EVERY : expr_vars(e) : 0, 0};
    }
    return without(p, e, default_of(p, e->kid[0], t), e->kid[1] ? default_of(p, e->kid[1], t) : number);
}

uint32_t expr_covered(const Prog *p, const Expr *e)
{
    const Default d = default_of(p, e, NULL);
    return d.value == 0 ? d.vars : 0;
}

bool expr_kills(const Prog *p, const Expr *e, const Tensor *t)
{
    const Default d = default_of(p, e, t);
    return d.vars && d.value == 0;
}

/* ---- where the entries are ---- */
static Expr *any_of(Prog *p, Expr *a, Expr *b)
{
    if (!a || !b) return a ? a : b;
    return a->op == O_CONST ? a : b->op == O_CONST ? b : expr_new(p, O_ADD, a, b);
}

static Expr *all_of(Prog *p, Expr *a, Expr *b)
{
    if (!a || !b) return NULL;
    return a->op == O_CONST ? b : b->op == O_CONST ? a : expr_new(p, O_MUL, a, b);
}

/* Above zero where e is not its default; null: nowhere. */
static Expr *differs(Prog *p, Expr *e)
{
    if (e->op == O_CONST) return p->skip ? expr_const(p, 1) : NULL;
    if (e->op == O_ACCESS)
        return tensor_is_sparse(e->tensor) ? expr_new(p, O_STORED, e, NULL) : expr_const(p, 1);
    if (!p->skip && !default_of(p, e, NULL).vars) return expr_const(p, 1);
    Expr *a = differs(p, e->kid[0]), *b = e->kid[1] ? differs(p, e->kid[1]) : NULL;
    if (e->op == O_REDUCE) return a ? expr_reduce(p, O_ADD, e->vars & expr_vars(a), a) : NULL;
    if (p->skip) return e->kid[1] ? all_of(p, a, b) : a;
    const bool left = e->op == O_MUL && expr_covered(p, e->kid[0]),
               right = e->op == O_MUL && expr_covered(p, e->kid[1]);
    if (left && right) return all_of(p, a, b);
    if (left || (e->op == O_DIV && expr_covered(p, e->kid[0]))) return a;
    return right ? b : any_of(p, a, b);
}

Expr *expr_entries(Prog *p, Expr *e)
{
    Expr *d = differs(p, e);
    return d ? d : expr_const(p, 0);
}

/* ---- division ---- */
typedef struct {
    bool known;
    double value;
} Missing;

/* The value of e where no sparse operand has an entry, if it is a constant. */
static Missing value_missing(const Prog *p, const Expr *e)
{
    if (e->op == O_CONST) return (Missing){true, e->c};
    if (e->op == O_ACCESS) return (Missing){tensor_is_sparse(e->tensor), 0};
    if (e->op == O_REDUCE) return (Missing){false, 0};
    Missing a = value_missing(p, e->kid[0]), b = {true, 0};
    if (e->op == O_STORED) return a;
    if (e->kid[1]) b = value_missing(p, e->kid[1]);
    if (e->op == O_MUL && ((a.known && a.value == 0) || (b.known && b.value == 0))) return (Missing){true, 0};
    if (!a.known || !b.known) return (Missing){false, 0};
    a.known = op_eval_in(p->type, e->op, a.value, b.value, &a.value);
    return a;
}

/* An access whose missing entry makes e zero while `above` is present, or null. */
static const Expr *zero_without(const Prog *p, const Expr *e, const Expr *above)
{
    if (e->op == O_CONST || e->op == O_REDUCE) return NULL;
    if (e->op == O_ACCESS) return tensor_is_sparse(e->tensor) && !expr_kills(p, above, e->tensor) ? e : NULL;
    const Missing m = value_missing(p, e);
    const Expr *a = zero_without(p, e->kid[0], above);
    if (e->op == O_DIV) return a;
    const Expr *b = e->kid[1] ? zero_without(p, e->kid[1], above) : NULL;
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

void expr_check_division(Prog *p, const Expr *e)
{
    for (int k = 0; k < 2; k++)
        if (e->kid[k]) expr_check_division(p, e->kid[k]);
    if (e->op != O_DIV || p->skip) return;
    const Expr *by = zero_without(p, e->kid[1], e->kid[0]);
    if (!by) return;
    const char *what = access_text(p, by);
    fail(p, SC_EVALUE, e->pos,
         "division by %s, which is zero where it has no entry; multiply the numerator by stored(%s), add a "
         "constant to the divisor, or evaluate with implicit=\"skip\"",
         what, what);
}
