/* env.c: what is known at a place of the nest: coordinates, positions, extents, buffers. */
#include <stddef.h>
#include <string.h>

#include "private.h"

static size_t kept_size(const Low *l)
{ return offsetof(Env, where) + (size_t)l->p->ntensor * sizeof l->e.where[0]; }

const Env *lower_keep(Low *l) { return sc_arena_copy(&l->p->arena, &l->e, kept_size(l)); }

void lower_back(Low *l, const Env *kept) { memcpy(&l->e, kept, kept_size(l)); }

Where *lower_where(Low *l, const Tensor *t) { return &l->e.where[prog_id(l->p, t->like ? t->like : t)]; }

int lower_level(Low *l, const Tensor *t) { return l->e.known.level[prog_id(l->p, t->like ? t->like : t)]; }

Val *lower_position(Low *l, const Tensor *t) { return lower_where(l, t)->pos[lower_level(l, t)]; }

Val *lower_dim(Low *l, int var)
{
    const Var *v = &l->p->var[var];
    if (v->fold) return val_int(l->p, v->extent);
    return val_param(l->p,
                     module_param(l->p, P_DIM, var, 0, sc_arena_printf(&l->p->arena, "%s_dim", v->name)));
}

int64_t lower_const_extent(Low *l, const Index *ix)
{
    const Coord *c = &l->e.coord[ix->var];
    if (ix->slot) return ix->block;
    if (ix->part == SC_MOD) {
        if (!c->modext) return ix->block;
        return c->modext->op == O_CONST ? c->modext->i : -1;
    }
    if (!l->p->var[ix->var].fold) return -1;
    int64_t n = l->p->var[ix->var].extent;
    return ix->part == SC_DIV ? (n + ix->block - 1) / ix->block : n;
}

Val *lower_slot_extent(Low *l, const Index *ix)
{
    Prog *p = l->p;
    if (ix->slot || ix->part == SC_MOD) return val_int(p, ix->block);
    Val *n = lower_dim(l, ix->var);
    if (ix->part == SC_WHOLE) return n;
    return val_op(p, O_DIV, val_op(p, O_ADD, n, val_int(p, ix->block - 1)), val_int(p, ix->block));
}

Buf *lower_buf(Low *l, BufOrigin origin, const Tensor *t, int level)
{
    static const char *const what[] = {"pos", "crd", "val", "perm"};
    if (t->role == T_WORK) return lane_of(l, t)->crd[level];
    const Tensor *owner = origin == B_VAL || !t->like ? t : t->like;
    bool leveled = origin == B_POS || origin == B_CRD;
    char *name = leveled ? sc_arena_printf(&l->p->arena, "%s_%s%d", owner->name, what[origin], level)
                         : sc_arena_printf(&l->p->arena, "%s_%s", owner->name, what[origin]);
    sc_dtype type = origin == B_VAL ? owner->dtype : owner->itype;
    bool written = owner->role == T_OUT && origin != B_POS;
    return module_buf(l->p, origin, owner->arg, leveled ? level : 0, type, written, name);
}

void lower_size_times(sc_size *s, Index ix)
{
    if (ix.slot || ix.part == SC_MOD) {
        s->bytes *= ix.block;
        return;
    }
    s->div[s->n] = ix.part == SC_DIV ? ix.block : 1;
    s->var[s->n++] = ix.var;
}

sc_size work_size(const Tensor *w)
{
    sc_size s = {.bytes = (int64_t)sc_dtype_size(w->dtype)};
    for (int i = 0; i < w->ndim; i++) lower_size_times(&s, w->slot[i]);
    return s;
}

const char *lower_index_name(Low *l, Index ix)
{
    const char *name = l->p->var[ix.var].name;
    if (ix.part == SC_WHOLE) return name;
    return sc_arena_printf(&l->p->arena, "%s%s", name, ix.part == SC_DIV ? "_block" : "_in");
}

static Val *level_size(Low *l, const Tensor *t, int level)
{
    Index ix = tensor_level_index(t, level);
    return lower_slot_extent(l, &ix);
}

static Val *dense_position(Low *l, const Tensor *t, int level)
{
    Val *first = times(l, lower_where(l, t)->pos[level], level_size(l, t, level));
    return plus(l, first, lower_index(l, tensor_level_index(t, level)));
}

/* Of a planar level: the coordinates of a fibre lie one after the other. */
static Val *planar_position(Low *l, const Tensor *t, int level)
{
    const Where *w = lower_where(l, t);
    Val *lo = w->first, *hi = w->beyond, *at = w->pos[level - 1];
    if (!lo) {
        Buf *pos = lower_buf(l, B_POS, t, level - 1);
        lo = lower_load_index(l, pos, at), hi = lower_load_index(l, pos, plus(l, at, num(l, 1)));
    }
    Val *before = times(l, lower_index(l, tensor_level_index(t, level)), val_op(l->p, O_SUB, hi, lo));
    Val *within = plus(l, before, val_op(l->p, O_SUB, w->pos[level], lo));
    return plus(l, times(l, lo, level_size(l, t, level)), within);
}

void lower_resolve(Low *l)
{
    for (int i = 0; i < l->p->ntensor; i++) {
        const Tensor *t = l->p->tensor[i];
        Where *w = &l->e.where[i];
        uint8_t *n = &l->e.known.level[i];
        if (t->like || sc_format_is_dense(&t->format)) continue;
        while (!w->lo && place_descends(&l->e.known, t, *n)) {
            w->pos[*n + 1] = sc_kind_of(&t->format.level[*n])->planar ? planar_position(l, t, *n)
                                                                      : dense_position(l, t, *n);
            ++*n;
        }
    }
}

static void bind_coord(Low *l, Index ix, Val *v)
{
    Coord *c = &l->e.coord[ix.var];
    place_bind(&l->e.known, ix);
    if (ix.part == SC_WHOLE) {
        c->whole = v;
    } else if (ix.part == SC_DIV) {
        c->div = v;
        c->base = times(l, v, num(l, ix.block));
        c->modext = num(l, ix.block);
    } else {
        c->mod = v;
        c->whole = plus(l, c->base, v);
    }
}

void lower_bind(Low *l, Index ix, Val *v)
{
    bind_coord(l, ix, v);
    lower_resolve(l);
}

Val *lower_index(Low *l, Index ix)
{
    const Coord *c = &l->e.coord[ix.var];
    if (ix.slot) return c->slot;
    if (ix.part == SC_WHOLE) return c->whole;
    Val *part = l->e.known.block[ix.var] != ix.block ? NULL : ix.part == SC_DIV ? c->div : c->mod;
    if (c->within && c->mod && ix.part == SC_MOD && ix.block == c->outer) part = plus(l, c->within, c->mod);
    if (part || !c->whole) return part;
    return val_op(l->p, ix.part == SC_DIV ? O_DIV : O_MOD, c->whole, val_int(l->p, ix.block));
}

/* Elements of a workspace over its slots from one on. */
static Val *elements_from(Low *l, const Tensor *w, int slot)
{
    Val *n = num(l, 1);
    for (int k = slot; k < w->ndim; k++) n = times(l, n, lower_slot_extent(l, &w->slot[k]));
    return n;
}

Val *work_elements(Low *l, const Tensor *w) { return elements_from(l, w, 0); }

Val *lower_stride(Low *l, const Tensor *t, int d)
{
    if (t->role == T_WORK) return elements_from(l, t, d + 1);
    if (t->unit == d) return num(l, 1);
    const char *name = sc_arena_printf(&l->p->arena, "%s_stride%d", t->name, d);
    return val_param(l->p, module_param(l->p, P_STRIDE, t->arg, d, name));
}

Val *lower_load_index(Low *l, Buf *b, Val *at) { return val_cast(l->p, I64, val_load(l->p, b, 1, at, NULL)); }

void level_enter(Low *l, const Tensor *t, Val *first, Val *last)
{
    Where *w = lower_where(l, t);
    w->pos[lower_level(l, t) + 1] = first;
    l->e.known.level[prog_id(l->p, t->like ? t->like : t)]++;
    w->lo = last ? first : NULL;
    w->hi = last;
    w->tile_lo = w->tile_hi = NULL;
    w->cursor = NULL;
    w->fibre = NULL;
}

int work_shared_slot(Low *l, const Tensor *w)
{
    for (int k = 0; k < l->nshared; k++)
        if (l->shared[k].work == w) return k;
    fail(l->p, SC_EINTERNAL, -1, "workspace %s has no place", w->name);
}

Buf *work_buf(Low *l, const Tensor *w)
{
    if (w->place == W_LANE) return lane_of(l, w)->val;
    bool inside = w == l->filling;
    return module_buf(l->p, inside ? B_PARTIAL : B_SHARED, inside ? 0 : work_shared_slot(l, w), 0, w->dtype,
                      true, sc_arena_printf(&l->p->arena, "%s_copy", w->name));
}

Lane *lane_of(Low *l, const Tensor *w)
{
    for (int i = 0; i < l->nlane; i++)
        if (l->lane[i].work == w) return &l->lane[i];
    fail(l->p, SC_EINTERNAL, -1, "lane workspace %s has no place", w->name);
}

#define TERMS_BYTES (16 << 10) /* leaves room for operands in the first cache */

int64_t batch_most_terms(const Tensor *w) { return TERMS_BYTES / (int64_t)sc_dtype_size(w->dtype); }

/* A vector may be loaded from the last term on. */
sc_size batch_size(const Low *l, const Nest *loop)
{
    const sc_format *f = &loop->in->format;
    const sc_levelspec *s = &f->level[f->nlevel - 1];
    const int64_t window = sc_kind_of(s)->sorted ? s->block * (int64_t)sc_dtype_size(l->p->type) : 0;
    return (sc_size){.bytes = sc_max(TERMS_BYTES, window) + l->p->vector_bytes};
}

typedef struct {
    const Low *l;
    bool any;
} Need;

static void find_need(const Nest *n, void *ctx)
{
    Need *need = ctx;
    if (n->op != N_EVAL) return;
    const Tensor *t = n->eval.lhs->tensor;
    if (tensor_assembled(t)) need->any = true;
    for (int i = 0; i < need->l->nlane; i++)
        if (need->l->lane[i].work == t && need->l->lane[i].counted) need->any = true;
}

bool results_need(const Low *l, const Nest *n)
{
    Need need = {.l = l};
    nest_walk(n, find_need, &need);
    return need.any;
}

/* ---- memory of a lane ---- */
static Val *size_val(Low *l, const sc_size *s)
{
    Val *n = num(l, s->bytes);
    for (int k = 0; k < s->n; k++) {
        Val *up = plus(l, lower_dim(l, s->var[k]), num(l, s->div[k] - 1));
        n = times(l, n, val_op(l->p, O_DIV, up, num(l, s->div[k])));
    }
    return n;
}

Buf *lane_buf(Low *l, const Tensor *w, const char *what, sc_dtype type, Val *offset)
{
    int id = (int)(l->step - l->p->draft.plan.step) * 1000 + l->nplace++;
    Buf *b =
        module_buf(l->p, B_SCRATCH, id, 0, type, true, sc_arena_printf(&l->p->arena, "%s_%s", w->name, what));
    b->offset = offset;
    return b;
}

/* An array of the lane, in the order of sc_step.scratch. */
Buf *lane_array(Low *l, const Tensor *w, const char *what, sc_dtype type, sc_size size, bool clean)
{
    sc_step *s = l->step;
    Buf *b = lane_buf(l, w, what, type, l->scratch);
    if (s->nscratch == SC_MAXWORK)
        fail(l->p, SC_ENOTIMPL, -1, "a kernel of the nest has more than %d lane workspaces", SC_MAXWORK);
    if (clean) s->clean |= (uint16_t)(1u << s->nscratch);
    s->scratch[s->nscratch++] = size;
    Val *up = val_op(l->p, O_AND, plus(l, size_val(l, &size), num(l, 63)), num(l, ~63));
    l->scratch = plus(l, l->scratch, up);
    return b;
}
