/* work.c: workspaces.
 *
 * A register workspace is a set of locals, one for every combination of its
 * slots: constants of unrolled loops, and the pieces of a vector loop. A lane
 * workspace is a part of the thread's scratch (sparse.c says where).
 * Private and shared ones belong to the plan (lower.c); here they are buffers. */
#include "private.h"

#include <string.h>

/* ---- carry slots of a split unit ---- */
static Val *carry_index(Low *l, const Reg *r)
{
    Prog *p = l->p;
    Val *at = val_int(p, 0);
    for (int d = 0; d < r->work->ndim; d++) {
        Index ix = r->work->slot[d];
        const Coord *c = &l->e.coord[ix.var];
        Val *key = val_int(p, r->key[d]), *extent = lower_slot_extent(l, &ix);
        if (ix.part == SC_MOD && c->inner) { /* a tile inside the unit: its place in the whole extent */
            key = val_op(p, O_ADD, key, c->base);
            extent = lower_dim(l, ix.var);
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
        n = val_op(l->p, O_MUL, n, tiled ? lower_dim(l, ix.var) : lower_slot_extent(l, &ix));
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
        Stmt *s = lower_put(l, S_STORE);
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
    Stmt *s = lower_for(l, "slot", val_int(p, 0), pieces_, 1, &outer);
    Val *base = lower_let(l, "at", val_op(p, O_MUL, val_local(p, s->local), carry_extent(l, n->work)));
    for (int i = 0; i < l->nreg; i++) {
        Reg *r = &l->reg[i];
        if (r->work != n->work) continue;
        Val *v = val_load(p, b, r->lanes, val_op(p, O_ADD, base, carry_index(l, r)), NULL);
        lower_set(l, r->local, val_op(p, op, val_local(p, r->local), v));
    }
    l->tail = outer;
}

/* ---- workspaces in memory ---- */
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
    Nest *read = work_clears(p, n);
    if (read) {
        lower_body(l, read);
        return;
    }
    Stmt **outer;
    Stmt *s = lower_for(l, "x", val_int(p, 0), work_elements(l, n->work), 1, &outer),
         *store = lower_put(l, S_STORE);
    store->buf = work_buf(l, n->work);
    store->a = val_local(p, s->local);
    store->b = val_const(p, (Type){(uint8_t)n->work->dtype, 1}, op == O_CONST ? 0 : op_identity(op));
    l->tail = outer;
}

/* The block behind "then", with these tensors absent. */
static void read_without(Low *l, const Nest *n, uint64_t absent)
{
    const uint64_t before = l->e.absent;
    l->e.absent = absent;
    lower_body(l, n->then);
    l->e.absent = before;
}

/* Where nothing fills the workspace, it is absent there. */
static void read_block(Low *l, const Nest *n) { read_without(l, n, work_absent(l->p, n, l->e.absent)); }

/* The workspace is not filled, as nothing that is left reads it (rest_skips). */
static void unfilled(Low *l, const Nest *n)
{ read_without(l, n, work_absent(l->p, n, l->e.absent) | tensor_bit(l->p, n->work)); }

static void fill_and_read(Low *l, const Nest *n)
{
    sparse_open(l, n->work);
    lower_body(l, n->body);
    sparse_read(l, n->work);
    read_block(l, n);
    sparse_close(l, n->work);
}

/* Runs what fills a workspace without a value, and notes what is written. */
static void look_ahead(Low *l, const Nest *n)
{
    Lane *a = span_look(l, n);
    const bool again = l->e.again;
    l->looking = a;
    l->e.again = a->counted = true;
    lower_body(l, n->body);
    l->e.again = again;
    a->counted = false;
    l->looking = NULL;
}

/* In the ways from this one on, each where it is preferred; the last one is left for everything else. */
static void in_its_way(Low *l, const Nest *n, int k)
{
    static const struct {
        Way way;
        const char *text;
    } ways[] = {
        {W_LIST, "few far apart, or in order: a list"}, {W_BYTES, "close together"}, {W_BITS, "far apart"}};
    Lane *a = lane_of(l, n->work);
    Val *here = ways[k].way == W_BITS ? NULL : span_prefers(l, a, ways[k].way);
    Stmt *test = here ? lower_put(l, S_IF) : NULL, **outer = l->tail;
    const bool again = l->e.again;
    if (test) test->a = here, l->tail = &test->body;
    lower_remark(l, ways[k].text);
    a->way = ways[k].way;
    l->e.again |= k > 0;
    fill_and_read(l, n);
    l->e.again = again;
    a->way = W_BITS;
    if (!test) return;
    l->tail = &test->other;
    in_its_way(l, n, k + 1);
    l->tail = outer;
}

static void lower_gathered(Low *l, const Nest *n)
{
    if (counting(l) && !results_need(l, n->then)) return;
    lower_note(l, n);
    if (!lane_of(l, n->work)->spans) {
        fill_and_read(l, n);
        return;
    }
    look_ahead(l, n);
    in_its_way(l, n, span_lists(l, lane_of(l, n->work)) ? 0 : 1);
}

/* ---- sums that go on ---- */
/* The evaluation of work c { c += .. } then { C += c }, C in memory, of one type with c and an element for each of c;
 * else null. */
static const Assign *goes_on(const Nest *n)
{
    const Nest *e = n->then;
    uint32_t loops = 0;
    for (; e->op == N_LOOP && !e->in && !e->nmerge; e = e->body) loops |= 1u << e->ix.var;
    if (e->op != N_EVAL || n->work->place != W_REG) return NULL;
    const Assign *a = &e->eval;
    if (loops & ~expr_vars(a->rhs)) return NULL;
    const Tensor *t = a->lhs->tensor;
    const bool memory = t->role == T_OUT ? sc_format_is_dense(&t->format) && !t->like
                                         : t->place == W_SHARED && !tensor_gathers(t);
    const bool same = a->reduce != O_CONST && a->reduce == work_reduce(n->body, n->work);
    return memory && same && a->rhs->op == O_ACCESS && a->rhs->tensor == n->work && t->dtype == n->work->dtype
               ? a
               : NULL;
}

/* The registers begin with what is in memory, so the terms of a sum that is left and taken up again are added one
 * by one, in the order of the visits. */
static void go_on(Low *l, const Nest *n, const Assign *a)
{
    lower_body(l, nest_around(l->p, n->then, a->rhs, a->lhs));
    lower_body(l, n->body);
    lower_body(l, nest_around(l->p, n->then, a->lhs, a->rhs));
}

/* The rest of a loop whose entries were summed elsewhere: with those of other rows, or in the pieces of a unit. */
static void entries_rest(Low *l, const Nest *loop, bool summed)
{
    if (loop->rest) rest_of(l, loop, summed ? l->e.batch->count : level_stored(l, loop->in));
}

void lower_work(Low *l, const Nest *n)
{
    const Tensor *w = n->work;
    int nreg = l->nreg;
    if (rest_skips(l, n)) {
        unfilled(l, n);
        return;
    }
    if (tensor_gathers(w)) {
        lower_gathered(l, n);
        return;
    }
    if (counting(l)) { /* its values do not decide what results store */
        lower_body(l, n->body);
        read_block(l, n);
        return;
    }
    const bool summed = l->e.batch && l->e.batch->work == w;
    lower_note(l, n);
    if (summed)
        register_open(l, w, l->e.batch->sum);
    else if (w->place == W_REG)
        register_open_all(l, n);
    else if (w->place == W_LANE)
        clear_lane(l, n);
    else
        fail(l->p, SC_EVALUE, -1, "workspace %s is %s, so it must stand at the top of the nest", w->name,
             w->place == W_PRIVATE ? "private" : "shared");
    const bool carried = n == l->carried;
    const Assign *on =
        carried || l->e.rest ? NULL : goes_on(n); /* a rest multiplies the sum, not what is in memory */
    if (on) {
        go_on(l, n, on);
        l->nreg = nreg;
        return;
    }
    if (carried && l->mode == FINISH)
        load_carry(l, n);
    else if (!summed)
        lower_body(l, n->body);
    if (summed || (carried && l->mode == FINISH)) entries_rest(l, n->body, summed);
    if (carried && l->mode == PART)
        store_carry(l, w);
    else
        read_block(l, n);
    l->nreg = nreg;
}
