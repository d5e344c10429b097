/* lower_blend.c: two tensors merged without a branch for every case.
 *
 * Where the coordinate of one tensor is not that of this step, its term counts as the zero that changes no sum: an
 * expression has the same value with that zero as with the tensor absent, when terms reach its root only through
 * sums, maxima and the like, and through products with finite numbers. A term is the largest part that is absent
 * with its tensor. It is computed from the entry that the tensor has next and then chosen or not, so an infinite or
 * NaN value is never multiplied by zero. */
#include "lower.h"

#include <math.h>

static unsigned read_by(const Blend *b, const Expr *e)
{ return (expr_reads(e, b->t[0]) ? 1u : 0) | (expr_reads(e, b->t[1]) ? 2u : 0); }

static bool is_term(Low *l, const Blend *b, const Expr *e)
{
    const unsigned in = read_by(b, e);
    return (in == 1 || in == 2) && !expr_absent(l->p, (Expr *)e, tensor_bit(l->p, b->t[in - 1]));
}

static bool is_factor(const Expr *e) { return e->op == O_CONST && isfinite(e->c) && e->c != 0; }

/* What is cheap, and harmless where the result is not used. */
static bool is_short(const Low *l, const Expr *e)
{
    if (e->op >= O_SQRT && e->op <= O_SIGMOID) return false;
    if (e->op == O_DIV && l->p->type < SC_F16) return false;
    return (!e->kid[0] || is_short(l, e->kid[0])) && (!e->kid[1] || is_short(l, e->kid[1]));
}

bool blends(Low *l, const Blend *b, const Expr *e)
{
    if (l->p->type == SC_BOOL || l->p->type == SC_I16 || !is_short(l, e)) return false;
    if (!read_by(b, e) || is_term(l, b, e)) return true;
    switch (e->op) {
    case O_ADD:
    case O_SUB:
    case O_MIN:
    case O_MAX: return blends(l, b, e->kid[0]) && blends(l, b, e->kid[1]);
    case O_MUL:
        return (is_factor(e->kid[0]) && blends(l, b, e->kid[1])) ||
               (is_factor(e->kid[1]) && blends(l, b, e->kid[0]));
    case O_DIV: return is_factor(e->kid[1]) && blends(l, b, e->kid[0]);
    case O_NEG:
    case O_RELU:
    case O_ABS: return blends(l, b, e->kid[0]);
    default: return false;
    }
}

/* What changes nothing, not the sign of a zero, as part k of an operation; else zero as it is where nothing is stored. */
static double zero_of(Op op, int k) { return op == O_ADD || (op == O_SUB && !k) ? -0.0 : 0.0; }

static Val *chosen(Low *l, const Blend *b, const Expr *e, double zero)
{
    Prog *p = l->p;
    if (!read_by(b, e)) return value(l, e);
    if (is_term(l, b, e)) {
        Val *v = let(l, "term", value(l, e));
        return val_select(p, b->here[read_by(b, e) - 1], v, val_const(p, v->type, zero));
    }
    Val *kid[2] = {NULL};
    for (int k = 0; k < 2 && e->kid[k]; k++) kid[k] = chosen(l, b, e->kid[k], zero_of(e->op, k));
    return val_op(p, e->op, kid[0], kid[1]);
}

Val *blended(Low *l, const Expr *e)
{
    const Blend *b = l->e.blend;
    l->e.blend = NULL;
    Val *v = chosen(l, b, e, 0.0);
    l->e.blend = b;
    return v;
}
