/* put.c: appends statements to the block that is being filled, and declares their locals. */
#include "private.h"

Stmt *lower_put(Low *l, StmtOp op)
{
    Stmt *s = NEW(l->p, Stmt);
    s->op = op;
    *l->tail = s;
    l->tail = &s->next;
    return s;
}

void lower_remark(Low *l, const char *text)
{
    if (!l->e.again) lower_put(l, S_NOTE)->text = text;
}

void lower_note(Low *l, const Nest *n) { lower_remark(l, l->e.again ? "" : nest_line(l->p, n)); }

static Local *fresh(Low *l, const char *stem, Type type, bool mutable)
{
    if (l->nlocal++ == MAXLOCAL)
        fail(l->p, SC_ENOTIMPL, -1, "the kernel needs more than %d locals: split the expression", MAXLOCAL);
    return local_new(l->p, stem, type, mutable);
}

Local *lower_declare(Low *l, const char *stem, Val *v, bool mutable)
{
    Stmt *s = lower_put(l, S_LET);
    s->local = fresh(l, stem, v->type, mutable);
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
    s->local = fresh(l, stem, I64, false);
    s->a = lo;
    s->b = hi;
    s->step = step;
    *outer = l->tail;
    l->tail = &s->body;
    return s;
}

Stmt **lower_block(Low *l)
{
    Stmt *s = lower_put(l, S_IF), **outer = l->tail;
    s->a = val_const(l->p, (Type){SC_BOOL, 1}, 1);
    l->tail = &s->body;
    return outer;
}

/* The type that both are promoted to: a float in memory may be infinite, which no integer can be. */
static Type combined(Type memory, Type value)
{
    const sc_dtype wide = sc_dtype_promote((sc_dtype)memory.dtype, (sc_dtype)value.dtype);
    return (Type){(uint8_t)sc_dtype_computed(wide), value.lanes};
}

void lower_store(Low *l, const Address *a, Val *at, Op op, Val *v)
{
    Val *stride = v->type.lanes > 1 ? a->stride : NULL;
    if (op != O_CONST) {
        Val *old = val_load(l->p, a->buf, v->type.lanes, at, stride);
        const Type type = combined(old->type, v->type);
        if (!type_same(old->type, type)) old = lower_let(l, "old", val_cast(l->p, type, old));
        v = val_op(l->p, op, old, val_cast(l->p, type, v));
    }
    Stmt *s = lower_put(l, S_STORE);
    s->buf = a->buf;
    s->a = at;
    s->b = val_cast(l->p, (Type){(uint8_t)a->buf->dtype, v->type.lanes}, v);
    s->c = stride;
}
