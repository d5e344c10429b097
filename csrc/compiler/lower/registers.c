/* registers.c: workspaces in registers, and the copies of them that unrolled loops sum in. */
#include "private.h"

#include <string.h>

typedef struct {
    int var;
    bool adds; /* some evaluation adds into memory, or reduces, along the variable, or names its block */
} Overlap;

static bool uses_block(const Expr *e, int var)
{
    for (int d = 0; e->op == O_ACCESS && d < e->tensor->ndim; d++)
        if (e->ix[d].var == var && e->ix[d].part == SC_DIV) return true;
    return (e->kid[0] && uses_block(e->kid[0], var)) || (e->kid[1] && uses_block(e->kid[1], var));
}

static void find_adds(const Nest *n, void *ctx)
{
    Overlap *o = ctx;
    if (n->op != N_EVAL) return;
    if (uses_block(n->eval.lhs, o->var) || uses_block(n->eval.rhs, o->var)) o->adds = true;
    if (n->eval.reduce == O_CONST) return;
    const Tensor *t = n->eval.lhs->tensor;
    bool over = expr_vars(n->eval.lhs) >> o->var & 1, used = expr_vars(n->eval.rhs) >> o->var & 1;
    if ((over && !(t->role == T_WORK && t->place == W_REG)) || (used && !over)) o->adds = true;
}

bool register_adds_along(const Nest *n, int var)
{
    Overlap o = {.var = var};
    nest_walk(n, find_adds, &o);
    return o.adds;
}

/* Full vectors, then the rest: one piece when it is a power of two; two that overlap where writing a lane
 * twice is harmless (7 = 4 + 4, the second from 3); else exact powers of two. */
int register_pieces(Low *l, sc_dtype type, int64_t n, int var, Piece *out)
{
    int lanes = l->p->vector_bytes / (int)sc_dtype_size(type), k = 0, off = 0;
    bool adds = register_adds_along(l->kernel, var);
    for (; off + lanes <= n && k < MAXREG; off += lanes) out[k++] = (Piece){off, lanes};
    int rest = (int)n - off;
    if (!rest || k == MAXREG) return k;
    int up = 1;
    while (up < rest) up *= 2;
    if (!adds && up > rest && __builtin_popcount((unsigned)rest) > 2) {
        if (up <= n)
            out[k++] = (Piece){(int)n - up, up};
        else {
            out[k++] = (Piece){off, up / 2};
            out[k++] = (Piece){(int)n - up / 2, up / 2};
        }
        return k;
    }
    for (int b = up; b; b /= 2)
        if (rest & b) {
            out[k++] = (Piece){off, b};
            off += b;
        }
    return k;
}

typedef struct {
    Index ix;
    bool vec;
} SlotVec;

static void find_slot_vec(const Nest *n, void *ctx)
{
    SlotVec *s = ctx;
    if (n->op == N_LOOP && n->kind == L_VEC && index_same(n->ix, s->ix)) s->vec = true;
}

typedef struct {
    int n;
    int64_t extent[SC_MAXDIM];
    bool vec[SC_MAXDIM];
} SlotShape;

static void add_register(Low *l, const Tensor *w, const int *key, int lanes, int copy, Val *init)
{
    if (l->nreg == MAXREG)
        fail(l->p, SC_ENOTIMPL, -1,
             "the nest keeps more than %d vectors in registers: tile the loops around %s", MAXREG, w->name);
    Reg *r = &l->reg[l->nreg++];
    *r = (Reg){.work = (Tensor *)w, .lanes = lanes, .copy = copy};
    memcpy(r->key, key, sizeof r->key);
    r->local = lower_mut(l, w->name, init);
}

void register_open(Low *l, const Tensor *w, Val *init)
{
    const int key[SC_MAXDIM] = {0};
    add_register(l, w, key, 1, 0, init);
}

static void add_slots(Low *l, const Tensor *w, const SlotShape *s, int d, int *key, int lanes, double init)
{
    if (d == s->n) {
        add_register(l, w, key, lanes, 0, val_const(l->p, (Type){(uint8_t)w->dtype, (uint8_t)lanes}, init));
        return;
    }
    Piece piece[MAXREG];
    int n = s->vec[d] ? register_pieces(l, w->dtype, s->extent[d], w->slot[d].var, piece) : (int)s->extent[d];
    for (int i = 0; i < n; i++) {
        key[d] = s->vec[d] ? piece[i].off : i;
        add_slots(l, w, s, d + 1, key, s->vec[d] ? piece[i].lanes : lanes, init);
    }
}

void register_open_all(Low *l, const Nest *n)
{
    const Tensor *w = n->work;
    SlotShape s = {.n = w->ndim};
    for (int d = 0; d < w->ndim; d++) {
        SlotVec v = {.ix = w->slot[d]};
        nest_walk(n, find_slot_vec, &v);
        s.vec[d] = v.vec;
        s.extent[d] = lower_const_extent(l, &w->slot[d]);
        if (s.extent[d] < 0 || s.extent[d] > 4096)
            fail(l->p, SC_EVALUE, -1,
                 "register workspace %s needs a small constant extent for each index: tile %s", w->name,
                 l->p->var[w->slot[d].var].name);
    }
    int key[SC_MAXDIM] = {0};
    Op op = work_reduce(n->body, w);
    add_slots(l, w, &s, 0, key, 1, op == O_CONST ? 0 : op_identity(op));
}

static bool key_of(Low *l, const Expr *access, int *key)
{
    memset(key, 0, SC_MAXDIM * sizeof *key);
    for (int d = 0; d < access->tensor->ndim; d++) {
        if (l->e.vec.on && index_same(access->ix[d], l->e.vec.ix)) {
            key[d] = l->e.vec.off;
            continue;
        }
        Val *v = lower_index(l, access->ix[d]);
        if (!v || v->op != O_CONST) return false;
        key[d] = (int)v->i;
    }
    return true;
}

Reg *register_find(Low *l, const Tensor *w, const Expr *access, int copy)
{
    int key[SC_MAXDIM];
    if (key_of(l, access, key))
        for (int c = copy; c >= 0;
             c = c ? 0 : -1) /* what an unrolled loop does not accumulate has one copy */
            for (int i = l->nreg; i-- > 0;)
                if (l->reg[i].work == w && l->reg[i].copy == c && !memcmp(l->reg[i].key, key, sizeof key))
                    return &l->reg[i];
    fail(l->p, SC_EVALUE, access->pos,
         "register workspace %s is indexed by a loop that is neither vec nor unrolled", w->name);
}

typedef struct {
    const Tensor *w;
    bool opened; /* inside the loop */
} Inner;

static void find_inner(const Nest *n, void *ctx)
{
    Inner *in = ctx;
    in->opened |= n->op == N_WORK && n->work == in->w;
}

static bool accumulates(const Nest *loop, const Tensor *w)
{
    Inner in = {.w = w};
    nest_walk(loop, find_inner, &in);
    return !in.opened && work_reduce(loop, w) != O_CONST;
}

void register_open_copies(Low *l, const Nest *loop)
{
    int n = l->nreg;
    for (int i = 0; i < n; i++) {
        Reg r = l->reg[i];
        if (r.copy || !accumulates(loop, r.work)) continue;
        double init = op_identity(work_reduce(loop, r.work));
        for (int u = 1; u < loop->unroll; u++)
            add_register(l, r.work, r.key, r.lanes, u, val_const(l->p, r.local->type, init));
    }
}

/* Copies are added up in order: c = (c0 + c1) + c2 ... */
void register_close_copies(Low *l, const Nest *loop)
{
    int n = 0;
    for (int i = 0; i < l->nreg; i++) {
        Reg *r = &l->reg[i];
        if (!r->copy || !accumulates(loop, r->work)) {
            l->reg[n++] = *r;
            continue;
        }
        for (int k = 0; k < n; k++)
            if (!l->reg[k].copy && l->reg[k].work == r->work &&
                !memcmp(l->reg[k].key, r->key, sizeof r->key)) {
                Val *sum = val_op(l->p, work_reduce(loop, r->work), val_local(l->p, l->reg[k].local),
                                  val_local(l->p, r->local));
                lower_set(l, l->reg[k].local, sum);
            }
    }
    l->nreg = n;
}
