/* absence.c: what an expression is where tensors have no entry.
 *
 * An absent entry is zero and annihilates products. So the value of an
 * expression with some tensors absent is either a known number or depends on
 * what is there; nothing else is asked. A loop runs over the entries of a tensor
 * alone when its absence leaves nothing to do, and this is the only rule: there
 * is none for any operator. */
#include "schedule.h"

typedef struct {
    bool known;
    double value;
} Known;

static bool is_gone(const Absent *gone, const Tensor *t)
{
    for (int k = 0; k < gone->n; k++)
        if (gone->t[k] == t) return true;
    return false;
}

static Known number(double v) { return (Known){true, v}; }

static Known known_value(const Expr *e, const Absent *gone)
{
    const Known unknown = {false, 0};
    if (e->op == O_CONST) return number(e->c);
    if (e->op == O_ACCESS) return is_gone(gone, e->tensor) ? number(0) : unknown;
    const Known a = known_value(e->kid[0], gone);
    if (e->op == O_REDUCE) return a.known && a.value == 0 ? a : unknown;
    if (e->op == O_STORED) return a;
    const Known b = e->kid[1] ? known_value(e->kid[1], gone) : number(0);
    if (e->op == O_MUL && ((a.known && a.value == 0) || (b.known && b.value == 0))) return number(0);
    if (e->op == O_DIV && a.known && a.value == 0) return number(0);
    return a.known && b.known ? number(op_eval(e->op, a.value, b.value)) : unknown;
}

/* A sparse operand outside of reductions has no entry, so the point does not count. */
static bool is_skipped(const Expr *e, const Absent *gone)
{
    if (e->op == O_ACCESS) return is_gone(gone, e->tensor);
    if (e->op == O_REDUCE || e->op == O_CONST) return false;
    return is_skipped(e->kid[0], gone) || (e->kid[1] && is_skipped(e->kid[1], gone));
}

static bool reduce_skipped(const Expr *e, const Absent *gone)
{ return e->op == O_REDUCE ? reduce_skipped(e->kid[0], gone) : is_skipped(e, gone); }

/* A reduction that is all of the right side may be gathered where it is stored, from its identity on. */
bool assign_dead(const Prog *p, const Assign *a, const Absent *gone)
{
    const bool whole = a->reduce == O_CONST && a->rhs->op == O_REDUCE;
    const Op op = whole ? a->rhs->reduce : a->reduce;
    if (p->skip && (is_skipped(a->rhs, gone) || (op == O_ADD && reduce_skipped(a->rhs, gone)))) return true;
    if (whole && op != O_ADD) return false;
    const Known v = known_value(a->rhs, gone);
    return v.known && v.value == (a->reduce == O_CONST ? 0 : op_identity(a->reduce));
}

bool nest_dead(const Prog *p, const Nest *n, Absent *gone)
{
    bool dead = true;
    switch (n->op) {
    case N_LOOP: return nest_dead(p, n->body, gone);
    case N_EVAL: return assign_dead(p, &n->eval, gone);
    case N_SEQ:
        for (int k = 0; k < n->n; k++) dead &= nest_dead(p, n->kid[k], gone);
        return dead;
    case N_WORK:
        if (nest_dead(p, n->body, gone) && gone->n < MAXTENSOR) gone->t[gone->n++] = n->work;
        return nest_dead(p, n->then, gone);
    }
    return false;
}
