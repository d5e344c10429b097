/* lower_result.c: sparse results that the nest assembles: entries are counted in one entry of the kernel and
 * appended in another. */
#include "lower.h"

void append(Low *l, const Nest *n, const Tensor *t)
{
    Prog *p = l->p;
    Val *q = val_local(p, l->cursor);
    if (l->mode != COUNT) {
        int level = t->format.nlevel - 1;
        Address val = {.buf = tensor_buf(l, B_VAL, t, 0)}, crd = {.buf = tensor_buf(l, B_CRD, t, level)};
        Val *v = val_cast(p, (Type){(uint8_t)t->dtype, 1}, value(l, n->eval.rhs));
        store(l, &crd, q, O_CONST,
              val_cast(p, (Type){(uint8_t)t->itype, 1}, index_val(l, level_index(t, level))));
        store(l, &val, q, O_CONST, v);
    }
    set(l, l->cursor, val_op(p, O_ADD, q, val_int(p, 1)));
}

static void finish_unit(Low *l, const Nest *n, Val *unit, const Tensor *out)
{
    Prog *p = l->p;
    Buf *count = module_buf(p, B_COUNT, out->arg - p->nin, 0, SC_I64, true,
                            sc_arena_printf(&p->arena, "%s_count", out->name));
    if (l->mode == COUNT)
        l->cursor = mut(l, "n", val_int(p, 0));
    else
        l->cursor = mut(l, "q", val_load(p, count, 1, unit, NULL));
    body(l, n->body);
    if (l->mode != COUNT) return;
    Stmt *s = put(l, S_STORE);
    s->buf = count;
    s->a = unit;
    s->b = val_local(p, l->cursor);
}

static void find_assembled(const Nest *n, void *ctx)
{
    if (n->op == N_EVAL && assembled(n->eval.lhs->tensor)) *(const Tensor **)ctx = n->eval.lhs->tensor;
}

void unit_body(Low *l, const Nest *n, Val *unit)
{
    const Tensor *out = NULL;
    nest_walk(n->body, find_assembled, (void *)&out);
    if (out)
        finish_unit(l, n, unit, out);
    else
        body(l, n->body);
}
