/* list.c: lists of coordinates and values, filled and read a vector at a time.
 *
 * A bitmap workspace whose entries lie far apart is a list (span.c). The loop over a fibre that fills it may write whole
 * vectors, lanes behind its end too, which are written again: nothing in the value but the fibre's own entries may depend
 * on the coordinate. The loop that takes the entries may store them as they stand there, if it does nothing else. */
#include "private.h"

/* How many entries of so many lanes there are from `at` on, and a bit for each. */
static Val *some_of(Low *l, Val *at, Val *end, int lanes)
{ return lower_let(l, "some", val_op(l->p, O_MIN, val_op(l->p, O_SUB, end, at), num(l, lanes))); }

static Val *bits_of(Low *l, Val *some)
{
    Val *beyond = val_op(l->p, O_SHL, num(l, 1), some);
    return lower_let(l, "bits", val_op(l->p, O_SUB, beyond, num(l, 1)));
}

/* ---- filling ---- */
static bool reads_besides(const Expr *e, const Tensor *t, int var)
{
    if (e->op == O_ACCESS) return (expr_vars(e) >> var & 1) && e->tensor != t;
    return (e->kid[0] && reads_besides(e->kid[0], t, var)) || (e->kid[1] && reads_besides(e->kid[1], t, var));
}

bool list_fills(Low *l, const Nest *n, const Fibre *f)
{
    const Tensor *w = n->body->op == N_EVAL ? n->body->eval.lhs->tensor : NULL;
    if (!w || !tensor_gathers(w) || counting(l) || lane_of(l, w)->way != W_LIST) return false;
    const Expr *rhs = eval_absent(l->p, &n->body->eval, l->e.absent);
    const Tensor *t = f->t;
    return rhs && !t->perm && t->itype == SC_I32 && sc_dtype_size(t->dtype) >= 4 && f->unique &&
           lower_level(l, t) == t->format.nlevel - 1 && !reads_besides(rhs, t, n->ix.var);
}

/* As many entries at a time as a vector holds; lanes behind the last one are written, and then written again. */
void list_fill(Low *l, const Nest *n, const Fibre *f)
{
    Prog *p = l->p;
    Lane *a = lane_of(l, n->body->eval.lhs->tensor);
    const Expr *rhs = eval_absent(p, &n->body->eval, l->e.absent);
    const Vec save = l->e.vec;
    const int nmemo = l->nmemo;
    Vec *v = &l->e.vec;
    Stmt **outer;
    *v = (Vec){.on = true,
               .ix = n->ix,
               .fibre = f,
               .lanes = p->vector_bytes / (int)sc_dtype_size(p->type),
               .entry = num(l, 0)};
    lower_hoist(l, rhs);
    Val *at = val_local(p, lower_for(l, "p", f->lo, f->hi, v->lanes, &outer)->local);
    lower_note(l, n->body);
    Val *some = some_of(l, at, f->hi, v->lanes);
    v->bits = bits_of(l, some);
    v->entry = val_masked(p, lower_buf(l, B_VAL, f->t, 0), v->lanes, at, v->bits);
    Val *x = lower_value(l, rhs);
    keep(l, a->key, now(l, a->n), val_masked(p, f->crd, v->lanes, at, v->bits));
    keep(l, a->terms, now(l, a->n), val_cast(p, (Type){x->type.dtype, (uint8_t)v->lanes}, x));
    lower_set(l, a->n, plus(l, now(l, a->n), some));
    l->tail = outer;
    l->nmemo = nmemo;
    l->e.vec = save;
}

/* ---- reading ---- */
/* The loop over a list that appends what stands there. */
static bool copies(Low *l, const Nest *n, const Lane *a)
{
    const Assign *e = n->body->op == N_EVAL ? &n->body->eval : NULL;
    if (!e || a->way != W_LIST || !tensor_assembled(e->lhs->tensor)) return false;
    const Expr *rhs = eval_absent(l->p, e, l->e.absent);
    const Tensor *r = e->lhs->tensor;
    return rhs && rhs->op == O_ACCESS && rhs->tensor == a->work && r->itype == SC_I32 &&
           sc_dtype_size(r->dtype) >= 4 && index_same(tensor_level_index(r, r->format.nlevel - 1), n->ix);
}

bool list_copy(Low *l, const Nest *n)
{
    Prog *p = l->p;
    Lane *a = lane_of(l, n->in);
    if (!copies(l, n, a)) return false;
    const Tensor *r = n->body->eval.lhs->tensor;
    const sc_dtype widest =
        sc_dtype_size(r->dtype) > sc_dtype_size(a->work->dtype) ? r->dtype : a->work->dtype;
    const int lanes = p->vector_bytes / (int)sc_dtype_size(widest);
    Stmt **outer;
    Val *x = val_local(p, lower_for(l, "x", num(l, 0), now(l, a->n), lanes, &outer)->local);
    lower_note(l, n->body);
    Val *some = some_of(l, x, now(l, a->n), lanes);
    Val *v = val_cast(p, (Type){(uint8_t)r->dtype, (uint8_t)lanes}, val_load(p, a->terms, lanes, x, NULL));
    result_append_some(l, r, bits_of(l, some), val_load(p, a->key, lanes, x, NULL), v);
    result_append_count(l, r, some);
    l->tail = outer;
    return true;
}
