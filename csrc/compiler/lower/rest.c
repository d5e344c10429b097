/* rest.c: coordinates that a loop does not visit, all at once.
 *
 * Where a loop over entries has a rest, its body is lowered once more behind it, with the operands that have no entry
 * there absent and the index without a coordinate. The verifier has checked that nothing which is left depends on it: a
 * maximum takes the value, a sum takes it times the number of coordinates, unless there are none. Every operand that is
 * stored along the index counts as absent, as nothing that is left reads it. Loops inside visit no coordinate either:
 * over entries that are all absent, or over an index that does not matter, they are done at once in the same way. */
#include "private.h"

/* The tensors that store coordinates along var: nothing that is left reads them. */
static uint64_t stored_along(const Prog *p, int var)
{
    uint64_t set = 0;
    for (int k = 0; k < p->ntensor; k++) {
        const Tensor *t = p->tensor[k];
        const bool stores = t->role == T_IN ? tensor_is_sparse(t) : tensor_gathers(t);
        for (int d = 0; stores && d < t->ndim; d++)
            if (t->dimvar[d] == var) set |= tensor_bit(p, t);
    }
    return set;
}

static Val *extent_of(Low *l, const Nest *n)
{
    Prog *p = l->p;
    if (n->kind != L_PAR) return lower_slot_extent(l, &n->ix);
    return val_op(p, O_SUB, val_param(p, module_param(p, P_END, 0, 0, "end")),
                  val_param(p, module_param(p, P_BEGIN, 0, 0, "begin")));
}

static void remark(Low *l, const Nest *n, const Val *visited)
{
    const char *form = val_is_int(visited, 0) ? "all coordinates of %s at once"
                                              : "the coordinates of %s that were not visited, at once";
    lower_remark(l, sc_arena_printf(&l->p->arena, form, lower_index_name(l, n->ix)));
}

static void at_once(Low *l, const Nest *n, Val *visited)
{
    Prog *p = l->p;
    const Env *save = lower_keep(l);
    l->e.absent |= stored_along(p, n->ix.var);
    l->e.blend = NULL;
    if (nest_alive(p, n->body, l->e.absent) && (!counting(l) || results_need(l, n->body))) {
        remark(l, n, visited);
        Val *left = lower_let(l, "left", val_op(p, O_SUB, extent_of(l, n), visited));
        Rest r = {.around = l->e.rest, .times = left};
        Stmt *some = lower_put(l, S_IF), **outer = l->tail;
        some->a = val_op(p, O_GT, left, num(l, 0));
        l->tail = &some->body;
        l->e.rest = &r;
        l->e.rests |= 1u << n->ix.var;
        lower_body(l, n->body);
        l->tail = outer;
    }
    lower_back(l, save);
}

void rest_of(Low *l, const Nest *n, Val *visited)
{
    if (n->rest) at_once(l, n, visited);
}

/* A loop over tiles has to run, as tiles may differ in length; blocks of a level do not. */
bool rest_loop(Low *l, const Nest *n)
{
    if (!l->e.rest || n->in || n->nmerge) return false;
    const bool known = l->e.rests >> n->ix.var & 1;
    if (!known && (n->ix.part != SC_WHOLE || !nest_repeats(l->p, n->body, n->ix.var, l->e.absent)))
        return false;
    at_once(l, n, num(l, 0));
    return true;
}

bool rest_skips(Low *l, const Nest *n)
{
    if (!l->e.rest) return false;
    l->e.rest->inner |= tensor_bit(l->p, n->work);
    return !nest_needs(l->p, n->then, n->work, work_absent(l->p, n, l->e.absent));
}
