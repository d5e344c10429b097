/* verify_say.c: parts of a nest as text for messages, and what the verifier asks of tensors and indices. */
#include "verify.h"

const char *verify_index(Prog *p, Index ix)
{
    const char *name = p->var[ix.var].name;
    if (ix.part == SC_WHOLE) return sc_arena_printf(&p->arena, "%s%s", ix.slot ? "#" : "", name);
    return sc_arena_printf(&p->arena, "%s%c%d", name, ix.part == SC_DIV ? '/' : '%', ix.block);
}

const char *verify_loop(Prog *p, const Nest *n)
{
    static const char *const kind[] = {"for", "par", "vec"};
    const char *s = sc_arena_printf(&p->arena, "%s %s%s%s", kind[n->kind], verify_index(p, n->ix),
                                    n->in ? " in " : "", n->in ? n->in->name : "");
    for (int k = 0; k < n->nmerge; k++)
        s = sc_arena_printf(&p->arena, "%s%s %s", s, k ? "," : " merge", n->merge[k]->name);
    return s;
}

const char *verify_expr(Prog *p, const Expr *e)
{
    sc_text t = prog_text(p);
    expr_print(p, e, &t);
    return t.s;
}

const char *verify_level(Prog *p, const Tensor *t, int l)
{
    const sc_levelspec *s = &t->format.level[l];
    return sc_arena_printf(&p->arena, "level %d of %s, %s over %s,", l, t->name, sc_kind_of(s)->name,
                           verify_index(p, tensor_level_index(t, l)));
}

bool verify_operand(const Tensor *t) { return t->role == T_IN; }

bool verify_dense(const Tensor *t) { return sc_format_is_dense(&t->format); }

const Nest *verify_binder(const Scene *s, Index ix)
{
    const Nest *const *by = s->by[ix.var], *div = by[SC_DIV];
    if (!place_knows(&s->known, ix)) return NULL;
    if (ix.slot) return by[SLOT];
    return ix.part == SC_DIV && div && div->ix.block == ix.block ? div
           : by[SC_WHOLE]                                        ? by[SC_WHOLE]
                                                                 : by[SC_MOD];
}

int64_t verify_extent(const Prog *p, Index ix)
{
    const Var *v = &p->var[ix.var];
    if (ix.part == SC_MOD) return ix.block;
    if (!v->fold || ix.slot) return -1;
    return ix.part == SC_DIV ? (v->extent + ix.block - 1) / ix.block : v->extent;
}
