/* absent.c: what is left of a nest where tensors have no entry.
 *
 * An entry that is not stored is absent: zero in sums and functions, and a
 * product with it is absent too, whatever the other factor is. Substituting
 * absence into the evaluations tells which of them still do something; every
 * question about co-iteration is answered by that, and there is no rule for any
 * operator. A workspace is absent where nothing that fills it is left. */
#include "nest.h"

/* ---- expressions ---- */
static Expr *folded(Prog *p, Expr *e, Expr *a, Expr *b)
{
    double v;
    if (!op_eval_in(p->type, e->op, a ? a->c : 0, b ? b->c : 0, &v))
        return expr_with_kids(p, e, a ? a : expr_const(p, 0), e->kid[1] && !b ? expr_const(p, 0) : b);
    return v == 0 ? NULL : expr_const(p, v);
}

static bool constant(const Expr *e) { return !e || e->op == O_CONST; }

static Expr *unary_absent(Prog *p, Expr *e, Expr *a)
{
    if (!a && (e->op == O_STORED || e->op == O_REDUCE)) return NULL;
    return constant(a) && e->op != O_REDUCE ? folded(p, e, a, NULL) : expr_with_kids(p, e, a, NULL);
}

static Expr *binary_absent(Prog *p, Expr *e, Expr *a, Expr *b)
{
    if (a && b) return constant(a) && constant(b) ? folded(p, e, a, b) : expr_with_kids(p, e, a, b);
    switch (e->op) {
    case O_MUL: return NULL;
    case O_DIV: return a && !(constant(a) && a->c == 0) ? expr_with_kids(p, e, a, expr_const(p, 0)) : NULL;
    case O_ADD: return a ? a : b;
    default: break;
    }
    if (constant(a) && constant(b)) return folded(p, e, a, b);
    if (e->op == O_SUB) return a ? a : expr_new(p, O_NEG, b, NULL);
    return expr_with_kids(p, e, a ? a : expr_const(p, 0), b ? b : expr_const(p, 0));
}

uint64_t tensor_bit(const Prog *p, const Tensor *t)
{
    const bool there = t->id < p->ntensor && p->tensor[t->id] == t;
    return there ? (uint64_t)1 << t->id : 0;
}

Expr *expr_absent(Prog *p, Expr *e, uint64_t absent)
{
    if (e->op == O_CONST) return e->c == 0 ? NULL : e; /* 0 is absent everywhere */
    if (e->op == O_ACCESS) return tensor_bit(p, e->tensor) & absent ? NULL : e;
    Expr *a = expr_absent(p, e->kid[0], absent);
    return e->kid[1] ? binary_absent(p, e, a, expr_absent(p, e->kid[1], absent)) : unary_absent(p, e, a);
}

/* Whether one of the tensors is read; without `sums`, outside of reductions. */
static bool names(const Prog *p, const Expr *e, uint64_t absent, bool sums)
{
    if (e->op == O_ACCESS) return tensor_bit(p, e->tensor) & absent;
    if (e->op == O_REDUCE && !sums) return false;
    return (e->kid[0] && names(p, e->kid[0], absent, sums)) ||
           (e->kid[1] && names(p, e->kid[1], absent, sums));
}

Expr *expr_beside(Prog *p, Expr *e, uint64_t absent)
{
    for (int k = 0; k < 2; k++) {
        Expr *in = e->kid[k], *other = e->kid[!k];
        if (!in || (other && names(p, other, absent, true))) continue;
        if (names(p, in, absent, true) && expr_absent(p, in, absent)) return expr_beside(p, in, absent);
    }
    return e;
}

/* The right side with the tensors absent; null where it is what the target starts from, which is 0 for "=". */
static Expr *without(Prog *p, const Assign *a, uint64_t absent)
{
    Expr *e = expr_absent(p, a->rhs, absent);
    if (!e) e = expr_const(p, 0);
    return e->op == O_CONST && e->c == op_identity(a->reduce) ? NULL : e;
}

Expr *eval_absent(Prog *p, const Assign *a, uint64_t absent)
{
    if (!absent || !names(p, a->rhs, absent, true)) return a->rhs;
    if (p->skip) return NULL;
    return without(p, a, absent);
}

bool assign_dead(Prog *p, const Assign *a, uint64_t absent)
{
    const bool whole = a->reduce == O_CONST && a->rhs->op == O_REDUCE;
    const Op op = whole ? a->rhs->reduce : a->reduce;
    const Expr *term = a->rhs;
    while (op == O_ADD && term->op == O_REDUCE) term = term->kid[0];
    if (p->skip && names(p, term, absent, false)) return true;
    if (whole && op != O_ADD) return false;
    return !without(p, a, absent);
}

bool assign_repeats(Prog *p, const Assign *a, int var, uint64_t absent)
{
    if (p->skip || a->reduce == O_CONST || expr_vars(a->lhs) >> var & 1) return false;
    const Expr *e = without(p, a, absent);
    return !e || !(expr_vars(e) >> var & 1);
}

/* ---- nests ---- */
typedef struct {
    Prog *p;
    const Tensor *target; /* only what assigns this counts; null: whatever is seen outside of the nest */
    uint64_t inner;       /* workspaces opened inside */
    /* Not null: a loop that leaves out coordinates. At those, assignments to workspaces at its index do not count, and
     * results that share a level over it have no entry. */
    const Nest *missing;
    const Assign *given; /* what has been assigned everywhere in front of it, or null */
} EffectSearch;

static bool enters(const Prog *p, const Nest *n, uint64_t absent)
{
    if (n->in && !n->rest) return !(tensor_bit(p, n->in) & absent);
    return true; /* a merge may be a lookup, which runs for no tensor at all too */
}

static bool alive(EffectSearch *, const Nest *, uint64_t absent);

/* The workspace has a slot for each position of the loop; where that is the one below a position of the level above,
 * a slot of that level's index is one. */
bool loop_has_slot(const Nest *loop, const Tensor *work)
{
    bool slot = work_has_slot(work, loop->ix.var);
    for (int k = nest_loop_level(loop); k > 0 && sc_kind_of(&loop->in->format.level[k])->one; k--)
        slot |= work_has_slot(work, tensor_level_index(loop->in, k - 1).var);
    return slot;
}

/* A workspace is filled for the coordinates that are visited, and read at those only: it has a slot of them, or is
 * assigned there. */
static bool fills_visited(const EffectSearch *s, const Assign *a)
{
    const Tensor *t = a->lhs->tensor;
    if (!s->missing || t->role != T_WORK) return false;
    return loop_has_slot(s->missing, t) ||
           (a->reduce == O_CONST && expr_vars(a->lhs) >> s->missing->ix.var & 1);
}

/* Of products, the same factors. */
static bool same_value(Prog *p, Expr *a, Expr *b)
{
    Part x[MAXFACTOR], y[MAXFACTOR];
    const int n = expr_factors(p, a, x);
    bool same = n && n == expr_factors(p, b, y);
    for (int k = 0; k < n && same; k++) {
        int q = k;
        while (q < n && !(x[k].under == y[q].under && expr_equal(x[k].e, y[q].e))) q++;
        same = q < n;
        if (same) y[q] = y[k];
    }
    return same || expr_equal(a, b);
}

static bool is_given(const EffectSearch *s, const Assign *a, uint64_t absent)
{
    if (!s->given || a->reduce != O_CONST || !expr_equal(a->lhs, s->given->lhs)) return false;
    Expr *left = eval_absent(s->p, a, absent);
    return left && same_value(s->p, left, s->given->rhs);
}

static bool work_alive(EffectSearch *s, const Nest *n, uint64_t absent)
{
    s->inner |= tensor_bit(s->p, n->work);
    const bool first = alive(s, n->body, absent);
    return alive(s, n->then, work_absent(s->p, n, absent)) || first;
}

static bool alive(EffectSearch *s, const Nest *n, uint64_t absent)
{
    const Tensor *t;
    switch (n->op) {
    case N_SEQ:
        for (int k = 0; k < n->n; k++)
            if (alive(s, n->kid[k], absent)) return true;
        return false;
    case N_LOOP: return enters(s->p, n, absent) && alive(s, n->body, absent);
    case N_WORK: return work_alive(s, n, absent);
    case N_EVAL:
        t = n->eval.lhs->tensor;
        if (fills_visited(s, &n->eval)) return false;
        if (s->missing && tensor_shares_index(t, s->missing->ix.var) && tensor_bit(s->p, t->like) & absent)
            return false;
        if (s->target ? t != s->target : tensor_bit(s->p, t) & s->inner) return false;
        return !is_given(s, &n->eval, absent) && eval_absent(s->p, &n->eval, absent);
    }
    return true;
}

bool nest_alive(Prog *p, const Nest *n, uint64_t absent)
{
    EffectSearch s = {.p = p};
    return alive(&s, n, absent);
}

bool loop_misses(Prog *p, const Nest *n, uint64_t absent, const Assign *given)
{
    EffectSearch s = {.p = p, .missing = n, .given = given};
    return alive(&s, n->body, absent);
}

uint64_t work_absent(Prog *p, const Nest *n, uint64_t absent)
{
    EffectSearch s = {.p = p, .target = n->work};
    const Op op = work_reduce(n->body, n->work);
    const bool zero = op == O_CONST || op == O_ADD || p->skip;
    return zero && !alive(&s, n->body, absent) ? absent | tensor_bit(p, n->work) : absent;
}

/* ---- what is the same at many coordinates ---- */
bool nest_needs(Prog *p, const Nest *n, const Tensor *t, uint64_t absent)
{
    if (n->op == N_EVAL) {
        const Expr *e = eval_absent(p, &n->eval, absent);
        return e && expr_reads(e, t);
    }
    if (n->op == N_LOOP) return enters(p, n, absent) && nest_needs(p, n->body, t, absent);
    for (int k = 0; k < n->n; k++)
        if (nest_needs(p, n->kid[k], t, absent)) return true;
    if (n->op != N_WORK) return false;
    return nest_needs(p, n->body, t, absent) || nest_needs(p, n->then, t, work_absent(p, n, absent));
}

typedef struct {
    Prog *p;
    int var;
    uint64_t inner; /* workspaces opened inside */
} Repeat;

static bool eval_repeats(const Repeat *r, const Assign *a, uint64_t absent)
{
    const Expr *e = eval_absent(r->p, a, absent);
    if (tensor_assembled(a->lhs->tensor)) return false;
    if (!e) return true;
    if ((expr_vars(a->lhs) | expr_vars(e)) >> r->var & 1) return false;
    return a->reduce != O_CONST || tensor_bit(r->p, a->lhs->tensor) & r->inner;
}

static bool repeats(Repeat *r, const Nest *n, uint64_t absent)
{
    switch (n->op) {
    case N_SEQ:
        for (int k = 0; k < n->n; k++)
            if (!repeats(r, n->kid[k], absent)) return false;
        return true;
    case N_LOOP: return !enters(r->p, n, absent) || repeats(r, n->body, absent);
    case N_WORK: {
        const uint64_t then = work_absent(r->p, n, absent);
        r->inner |= tensor_bit(r->p, n->work);
        if (nest_needs(r->p, n->then, n->work, then) && !repeats(r, n->body, absent)) return false;
        return repeats(r, n->then, then);
    }
    case N_EVAL: return eval_repeats(r, &n->eval, absent);
    }
    return false;
}

bool nest_repeats(Prog *p, const Nest *n, int var, uint64_t absent)
{
    Repeat r = {.p = p, .var = var};
    return repeats(&r, n, absent);
}

bool nest_alike(Prog *p, const Nest *n, uint64_t absent, uint64_t other)
{
    switch (n->op) {
    case N_SEQ:
        for (int k = 0; k < n->n; k++)
            if (!nest_alike(p, n->kid[k], absent, other)) return false;
        return true;
    case N_LOOP: return enters(p, n, absent) == enters(p, n, other) && nest_alike(p, n->body, absent, other);
    case N_WORK:
        return nest_alike(p, n->body, absent, other) &&
               nest_alike(p, n->then, work_absent(p, n, absent), work_absent(p, n, other));
    case N_EVAL: {
        const Expr *a = eval_absent(p, &n->eval, absent), *b = eval_absent(p, &n->eval, other);
        return a && b ? expr_equal(a, b) : a == b;
    }
    }
    return false;
}
