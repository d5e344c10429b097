/* ahead.c: prefetches rows of dense operands.
 *
 * A loop over positions reads, at every coordinate, a row of a dense operand. Where the operand is larger than the
 * caches each row is a wait for memory, unless it is prefetched. The position ahead is the last one of the level at
 * most, so only addresses of the operand are prefetched. */
#include "private.h"

#define LINE 64 /* bytes of a cache line */

typedef struct {
    Low *l;
    int var;    /* the index of the loop */
    Val *coord; /* its coordinate ahead, once something needs it */
    const Expr *seen[8];
    int n;
    Index along; /* of the vector loop */
    Buf *crd;
    Val *pos;
} Ahead;

/* Where the piece of the row starts that the vector loop runs over. */
static Val *start(const Ahead *a, const Expr *e)
{
    Low *l = a->l;
    const Tensor *t = e->tensor;
    Val *at = num(l, 0);
    for (int d = 0; d < t->ndim; d++) {
        const Coord *c = &l->e.coord[e->ix[d].var];
        Val *x = d == t->unit             ? (a->along.part == SC_MOD ? c->base : num(l, 0))
                 : e->ix[d].var == a->var ? a->coord
                                          : lower_index(l, e->ix[d]);
        if (!x) return NULL;
        at = plus(l, at, times(l, x, lower_stride(l, t, d)));
    }
    return at;
}

static void prefetch(Ahead *a, const Expr *e)
{
    for (int k = 0; k < 2; k++)
        if (e->kid[k]) prefetch(a, e->kid[k]);
    if (!expr_reads_row(e, a->var, a->along.var) || a->n == SC_LEN(a->seen)) return;
    for (int k = 0; k < a->n; k++)
        if (a->seen[k]->tensor == e->tensor) return;
    a->seen[a->n++] = e;
    Low *l = a->l;
    int64_t extent = lower_const_extent(l, &a->along), each = LINE / (int64_t)sc_dtype_size(e->tensor->dtype);
    if (extent < 0) return;
    if (!a->coord) a->coord = lower_let(l, "ahead", lower_load_index(l, a->crd, a->pos));
    Val *at = start(a, e);
    if (!at) return;
    at = lower_let(l, "row", at);
    for (int64_t k = 0; k * each < extent && k < MAXLINES; k++) {
        Stmt *s = lower_put(l, S_FETCH);
        s->buf = lower_buf(l, B_VAL, e->tensor, 0);
        s->a = plus(l, at, num(l, k * each));
    }
}

static void look(const Nest *n, void *ctx)
{
    Ahead *a = ctx;
    if (n->op != N_LOOP || n->kind != L_VEC) return;
    a->along = n->ix;
    if (n->body->op == N_EVAL) prefetch(a, n->body->eval.rhs);
    for (int k = 0; k < n->body->n; k++)
        if (n->body->kid[k]->op == N_EVAL) prefetch(a, n->body->kid[k]->eval.rhs);
}

void ahead_fetch(Low *l, const Nest *n, Buf *crd, Val *pos)
{
    if (n->ix.part != SC_WHOLE) return;
    Prog *p = l->p;
    int level = lower_level(l, n->in) - 1;
    const char *name = sc_arena_printf(&p->arena, "%s_npos%d", n->in->name, level);
    Val *last = val_op(p, O_SUB, val_param(p, module_param(p, P_NPOS, n->in->arg, level, name)), num(l, 1));
    Ahead a = {.l = l, .var = n->ix.var, .crd = crd};
    a.pos = val_op(p, O_MIN, plus(l, pos, num(l, n->ahead)), last);
    nest_walk(n->body, look, &a);
}
