/* put.c: statements as they are put down. */
#include "private.h"

Stmt *lower_put(Low *l, StmtOp op)
{
    Stmt *s = NEW(l->p, Stmt);
    s->op = op;
    *l->tail = s;
    l->tail = &s->next;
    return s;
}

Local *lower_declare(Low *l, const char *stem, Val *v, bool mutable)
{
    Stmt *s = lower_put(l, S_LET);
    s->local = local_new(l->p, stem, v->type, mutable);
    s->a = v;
    return s->local;
}

Val *lower_let(Low *l, const char *stem, Val *v)
{
    if (v->op == O_CONST || v->op == O_VAR || v->op == O_PARAM) return v;
    return val_local(l->p, lower_declare(l, stem, v, false));
}

Local *lower_mut(Low *l, const char *stem, Val *v) { return lower_declare(l, stem, v, true); }

void lower_set(Low *l, Local *x, Val *v)
{
    Stmt *s = lower_put(l, S_SET);
    s->local = x;
    s->a = v;
}

Stmt *lower_for(Low *l, const char *stem, Val *lo, Val *hi, int64_t step, Stmt ***outer)
{
    Stmt *s = lower_put(l, S_FOR);
    s->local = local_new(l->p, stem, I64, false);
    s->a = lo;
    s->b = hi;
    s->step = step;
    *outer = l->tail;
    l->tail = &s->body;
    return s;
}

void lower_store(Low *l, const Address *a, Val *at, Op op, Val *v)
{
    Stmt *s = lower_put(l, S_STORE);
    s->buf = a->buf;
    s->a = at;
    s->c = v->type.lanes > 1 ? a->stride : NULL;
    if (op != O_CONST) {
        Val *old = val_cast(l->p, v->type, val_load(l->p, a->buf, v->type.lanes, at, s->c));
        v = val_op(l->p, op, old, v);
    }
    s->b = val_cast(l->p, (Type){(uint8_t)a->buf->dtype, v->type.lanes}, v);
}
