/* work.c: workspaces.
 *
 * A register workspace is a set of locals, one for every combination of its
 * slots: constants of unrolled loops, and the pieces of a vector loop. A lane
 * workspace is a part of the thread's scratch (sparse.c says where).
 * Private and shared ones belong to the plan (lower.c); here they are buffers. */
#include "private.h"

#include <string.h>

/* ---- pieces of a vector extent ---- */
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

bool adds_along(const Nest *n, int var)
{
    Overlap o = {.var = var};
    nest_walk(n, find_adds, &o);
    return o.adds;
}

/* Full vectors, then the rest: one piece when it is a power of two; two that overlap where writing a lane
 * twice is harmless (7 = 4 + 4, the second from 3); else exact powers of two. */
int pieces_of(Low *l, sc_dtype type, int64_t n, int var, Piece *out)
{
    int lanes = l->p->vector_bytes / (int)sc_dtype_size(type), k = 0, off = 0;
    bool adds = adds_along(l->kernel, var);
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

/* ---- registers ---- */
typedef struct {
    Index ix;
    bool vec;
} SlotVec;

static void find_slot_vec(const Nest *n, void *ctx)
{
    SlotVec *s = ctx;
    if (n->op == N_LOOP && n->kind == L_VEC && same_index(n->ix, s->ix)) s->vec = true;
}

typedef struct {
    int n;
    int64_t extent[SC_MAXDIM];
    bool vec[SC_MAXDIM];
} Shape;

static void add_register(Low *l, const Tensor *w, const int *key, int lanes, int copy, Val *init)
{
    if (l->nreg == MAXREG)
        fail(l->p, SC_ENOTIMPL, -1,
             "the nest keeps more than %d vectors in registers: tile the loops around %s", MAXREG, w->name);
    Reg *r = &l->reg[l->nreg++];
    *r = (Reg){.work = (Tensor *)w, .lanes = lanes, .copy = copy};
    memcpy(r->key, key, sizeof r->key);
    r->local = mut(l, w->name, init);
}

void reg_open(Low *l, const Tensor *w, Val *init)
{
    const int key[SC_MAXDIM] = {0};
    add_register(l, w, key, 1, 0, init);
}

static void add_slots(Low *l, const Tensor *w, const Shape *s, int d, int *key, int lanes, double init)
{
    if (d == s->n) {
        add_register(l, w, key, lanes, 0, val_const(l->p, (Type){(uint8_t)w->dtype, (uint8_t)lanes}, init));
        return;
    }
    Piece piece[MAXREG];
    int n = s->vec[d] ? pieces_of(l, w->dtype, s->extent[d], w->slot[d].var, piece) : (int)s->extent[d];
    for (int i = 0; i < n; i++) {
        key[d] = s->vec[d] ? piece[i].off : i;
        add_slots(l, w, s, d + 1, key, s->vec[d] ? piece[i].lanes : lanes, init);
    }
}

static void open_registers(Low *l, const Nest *n)
{
    const Tensor *w = n->work;
    Shape s = {.n = w->ndim};
    for (int d = 0; d < w->ndim; d++) {
        SlotVec v = {.ix = w->slot[d]};
        nest_walk(n, find_slot_vec, &v);
        s.vec[d] = v.vec;
        s.extent[d] = const_extent(l, &w->slot[d]);
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
        if (l->e.vec.on && same_index(access->ix[d], l->e.vec.ix)) {
            key[d] = l->e.vec.off;
            continue;
        }
        Val *v = index_val(l, access->ix[d]);
        if (!v || v->op != O_CONST) return false;
        key[d] = (int)v->i;
    }
    return true;
}

Reg *reg_find(Low *l, const Tensor *w, const Expr *access, int copy)
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

/* ---- copies of registers in an unrolled loop over positions ---- */
typedef struct {
    Tensor *inner[16]; /* workspaces opened inside the loop */
    int n;
} Inner;

static void find_inner(const Nest *n, void *ctx)
{
    Inner *in = ctx;
    if (n->op == N_WORK && in->n < SC_LEN(in->inner)) in->inner[in->n++] = n->work;
}

static bool accumulates(const Nest *loop, const Tensor *w)
{
    Inner in = {.n = 0};
    nest_walk(loop, find_inner, &in);
    for (int i = 0; i < in.n; i++)
        if (in.inner[i] == w) return false;
    return work_reduce(loop, w) != O_CONST;
}

void copies_open(Low *l, const Nest *loop)
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
void copies_close(Low *l, const Nest *loop)
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
                set(l, l->reg[k].local, sum);
            }
    }
    l->nreg = n;
}

/* ---- carry slots of a split unit ---- */
static Val *carry_index(Low *l, const Reg *r)
{
    Prog *p = l->p;
    Val *at = val_int(p, 0);
    for (int d = 0; d < r->work->ndim; d++) {
        Index ix = r->work->slot[d];
        const Coord *c = &l->e.coord[ix.var];
        Val *key = val_int(p, r->key[d]), *extent = slot_extent(l, &ix);
        if (ix.part == SC_MOD && c->inner) { /* a tile inside the unit: its place in the whole extent */
            key = val_op(p, O_ADD, key, c->base);
            extent = dim_val(l, ix.var);
        }
        at = val_op(p, O_ADD, val_op(p, O_MUL, at, extent), key);
    }
    return at;
}

static Val *carry_extent(Low *l, const Tensor *w)
{
    Val *n = val_int(l->p, 1);
    for (int d = 0; d < w->ndim; d++) {
        Index ix = w->slot[d];
        bool tiled = ix.part == SC_MOD && l->e.coord[ix.var].inner;
        n = val_op(l->p, O_MUL, n, tiled ? dim_val(l, ix.var) : slot_extent(l, &ix));
    }
    return n;
}

static Buf *carry_buf(Low *l, const Tensor *w)
{
    return module_buf(l->p, B_PARTIAL, 0, 0, w->dtype, true,
                      sc_arena_printf(&l->p->arena, "%s_carry", w->name));
}

static void store_carry(Low *l, const Tensor *w)
{
    Buf *b = carry_buf(l, w);
    for (int i = 0; i < l->nreg; i++) {
        if (l->reg[i].work != w) continue;
        Stmt *s = put(l, S_STORE);
        s->buf = b;
        s->a = carry_index(l, &l->reg[i]);
        s->b = val_local(l->p, l->reg[i].local);
    }
}

static void load_carry(Low *l, const Nest *n)
{
    Prog *p = l->p;
    Buf *b = carry_buf(l, n->work);
    Op op = work_reduce(n->body, n->work);
    Stmt **outer;
    Val *pieces_ = val_param(p, module_param(p, P_CURSOR, 1, 0, "carried"));
    Stmt *s = begin_for(l, "slot", val_int(p, 0), pieces_, 1, &outer);
    Val *base = let(l, "at", val_op(p, O_MUL, val_local(p, s->local), carry_extent(l, n->work)));
    for (int i = 0; i < l->nreg; i++) {
        Reg *r = &l->reg[i];
        if (r->work != n->work) continue;
        Val *v = val_load(p, b, r->lanes, val_op(p, O_ADD, base, carry_index(l, r)), NULL);
        set(l, r->local, val_op(p, op, val_local(p, r->local), v));
    }
    l->tail = outer;
}

/* ---- workspaces in memory ---- */
Val *work_elements(Low *l, const Tensor *w)
{
    Val *n = val_int(l->p, 1);
    for (int d = 0; d < w->ndim; d++) n = val_op(l->p, O_MUL, n, slot_extent(l, &w->slot[d]));
    return n;
}

int shared_slot(Low *l, const Tensor *w)
{
    for (int k = 0; k < l->nshared; k++)
        if (l->shared[k].work == w) return k;
    fail(l->p, SC_EINTERNAL, -1, "workspace %s has no place", w->name);
}

Buf *work_buf(Low *l, const Tensor *w)
{
    if (w->place == W_LANE) return lane_of(l, w)->val;
    bool inside = w == l->filling;
    return module_buf(l->p, inside ? B_PARTIAL : B_SHARED, inside ? 0 : shared_slot(l, w), 0, w->dtype, true,
                      sc_arena_printf(&l->p->arena, "%s_copy", w->name));
}

static void find_merge(const Nest *n, void *ctx)
{
    if (n->op == N_LOOP && n->nmerge) *(bool *)ctx = true;
}

static void clear_lane(Low *l, const Nest *n)
{
    Op op = work_reduce(n->body, n->work);
    bool drops = op != O_CONST; /* cases of a merge may assign nothing */
    nest_walk(n->body, find_merge, &drops);
    if (!drops) return;
    Prog *p = l->p;
    Stmt **outer;
    Stmt *s = begin_for(l, "x", val_int(p, 0), work_elements(l, n->work), 1, &outer),
         *store = put(l, S_STORE);
    store->buf = work_buf(l, n->work);
    store->a = val_local(p, s->local);
    store->b = val_const(p, (Type){(uint8_t)n->work->dtype, 1}, op == O_CONST ? 0 : op_identity(op));
    l->tail = outer;
}

/* The second block; where nothing fills the workspace, it is absent there. */
static void read_block(Low *l, const Nest *n)
{
    const uint64_t absent = l->e.absent;
    l->e.absent = work_absent(l->p, n, absent);
    body(l, n->then);
    l->e.absent = absent;
}

static void lower_gathered(Low *l, const Nest *n)
{
    if (l->mode == COUNT && !results_need(l, n->then)) return;
    sparse_open(l, n->work);
    body(l, n->body);
    sparse_read(l, n->work);
    read_block(l, n);
    sparse_close(l, n->work);
}

/* ---- sums that go on ---- */
/* The evaluation of work c { c += .. } then { C += c }, C in memory and of one type with c; else null. */
static const Assign *goes_on(const Nest *n)
{
    const Nest *e = n->then;
    while (e->op == N_LOOP && !e->in && !e->nmerge) e = e->body;
    if (e->op != N_EVAL || n->work->place != W_REG) return NULL;
    const Assign *a = &e->eval;
    const Tensor *t = a->lhs->tensor;
    const bool memory =
        t->role == T_OUT ? sc_format_is_dense(&t->format) && !t->like : t->place == W_SHARED && !gathers(t);
    const bool same = a->reduce != O_CONST && a->reduce == work_reduce(n->body, n->work);
    return memory && same && a->rhs->op == O_ACCESS && a->rhs->tensor == n->work && t->dtype == n->work->dtype
               ? a
               : NULL;
}

/* The loops of n around another evaluation. */
static Nest *around(Prog *p, const Nest *n, Expr *lhs, Expr *rhs)
{
    if (n->op == N_EVAL) return nest_eval(p, lhs, O_CONST, rhs);
    Nest *loop = nest_loop(p, n->kind, n->ix, NULL, around(p, n->body, lhs, rhs));
    loop->unroll = n->unroll;
    return loop;
}

/* The registers begin with what is in memory, so the terms of a sum that is left and taken up again are added one
 * by one, in the order of the visits. */
static void go_on(Low *l, const Nest *n, const Assign *a)
{
    body(l, around(l->p, n->then, a->rhs, a->lhs));
    body(l, n->body);
    body(l, around(l->p, n->then, a->lhs, a->rhs));
}

void lower_work(Low *l, const Nest *n)
{
    const Tensor *w = n->work;
    int nreg = l->nreg;
    if (gathers(w)) {
        lower_gathered(l, n);
        return;
    }
    if (l->mode == COUNT) { /* its values decide nothing */
        body(l, n->body);
        read_block(l, n);
        return;
    }
    const bool summed = l->e.batch && l->e.batch->work == w;
    if (summed)
        reg_open(l, w, l->e.batch->sum);
    else if (w->place == W_REG)
        open_registers(l, n);
    else if (w->place == W_LANE)
        clear_lane(l, n);
    else
        fail(l->p, SC_EVALUE, -1, "workspace %s is %s, so it must stand at the top of the nest", w->name,
             w->place == W_PRIVATE ? "private" : "shared");
    const bool carried = n == l->carried;
    const Assign *on = carried ? NULL : goes_on(n);
    if (on) {
        go_on(l, n, on);
        l->nreg = nreg;
        return;
    }
    if (carried && l->mode == FINISH)
        load_carry(l, n);
    else if (!summed)
        body(l, n->body);
    if (carried && l->mode == PART)
        store_carry(l, w);
    else
        read_block(l, n);
    l->nreg = nreg;
}
