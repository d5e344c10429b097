/* loop.c: loops of the nest: what is bound where, dense loops and their tiles, the parallel loop. Loops
 * over stored levels are in level.c, over several at once in merge.c. */
#include "private.h"

/* ---- dense loops ---- */
static void unrolled(Low *l, const Nest *n, int64_t extent)
{
    const Env *save = lower_keep(l);
    for (int64_t i = 0; i < extent; i++) {
        l->e.again |= i > 0;
        lower_bind(l, n->ix, num(l, i));
        lower_body(l, n->body);
        lower_back(l, save);
    }
}

typedef struct {
    Low *l;
    Index ix;
    int vectors;
    bool found;
} FindVec;

static bool is_vec(const Nest *n, Index ix)
{ return n->op == N_LOOP && n->kind == L_VEC && n->ix.var == ix.var && n->ix.part == SC_MOD; }

/* Vectors along the tile, but for those of squares, which have a way of their own where it is whole. */
static void find_vec(const Nest *n, void *ctx)
{
    FindVec *f = ctx;
    f->vectors += is_vec(n, f->ix);
    if (n->op == N_LOOP && is_vec(n->body, f->ix) && turn_applies(f->l, n)) f->vectors--;
}

static void tile(Low *l, const Nest *n, Val *base, Val *extent)
{
    Coord *c = &l->e.coord[n->ix.var];
    c->base = base;
    c->modext = extent;
    c->inner = l->unit;
    c->div = val_op(l->p, O_DIV, base, num(l, n->ix.block));
    place_bind(&l->e.known, n->ix);
    lower_resolve(l);
    lower_body(l, n->body);
}

/* A partial tile of an extent known at run time: cut into tiles of 2^k, so that vectors have constant lengths. */
static void powers_of_two(Low *l, const Nest *n, Val *extent)
{
    Prog *p = l->p;
    const Env *save = lower_keep(l);
    int64_t b = n->ix.block;
    Val *rest = lower_let(l, "rest", val_op(p, O_MOD, extent, num(l, b)));
    Val *full = lower_let(l, "full", val_op(p, O_SUB, extent, rest));
    int64_t largest = 1;
    lower_remark(l, "the rest, in powers of two");
    while (2 * largest < b) largest *= 2;
    for (int64_t part = largest; part; part /= 2) {
        Stmt *s = lower_put(l, S_IF), **outer = l->tail;
        s->a = val_op(p, O_NE, val_op(p, O_AND, rest, num(l, part)), num(l, 0));
        l->tail = &s->body;
        Val *before = val_op(p, O_AND, rest, num(l, ~(2 * part - 1)));
        l->e.again = true;
        tile(l, n, lower_let(l, lower_index_name(l, n->ix), plus(l, full, before)), num(l, part));
        lower_back(l, save);
        l->tail = outer;
    }
}

static void each_tile(Low *l, const Nest *n, Val *end, Val *last)
{
    const Env *save = lower_keep(l);
    Stmt **outer;
    int64_t b = n->ix.block;
    Val *at = val_local(l->p, lower_for(l, lower_index_name(l, n->ix), num(l, 0), end, b, &outer)->local);
    if (last) at = lower_let(l, "at", val_op(l->p, O_MIN, at, last));
    tile(l, n, at, num(l, b));
    lower_back(l, save);
    l->tail = outer;
}

static void find_registers(const Nest *n, void *ctx)
{
    FindVec *f = ctx;
    for (int d = 0; n->op == N_WORK && n->work->place == W_REG && d < n->work->ndim; d++)
        if (n->work->slot[d].var == f->ix.var && n->work->slot[d].part == SC_MOD) f->found = true;
}

/* Tiles of an extent known at run time. Without vectors and registers inside the last one is just shorter. Where writing twice
 * is harmless the last one overlaps the one before it; else, and in an extent of less than a tile, it is cut. */
static void runtime_tiles(Low *l, const Nest *n, Val *extent)
{
    Prog *p = l->p;
    int64_t b = n->ix.block;
    FindVec f = {.l = l, .ix = n->ix};
    nest_walk(n->body, find_vec, &f);
    nest_walk(n->body, find_registers, &f);
    if (!f.vectors && !f.found) {
        Stmt **outer;
        Val *at = val_local(p, lower_for(l, lower_index_name(l, n->ix), num(l, 0), extent, b, &outer)->local);
        tile(l, n, at, lower_let(l, "size", val_op(p, O_MIN, num(l, b), val_op(p, O_SUB, extent, at))));
        l->tail = outer;
    } else if (register_adds_along(n->body, n->ix.var)) {
        each_tile(l, n, val_op(p, O_SUB, extent, val_op(p, O_MOD, extent, num(l, b))), NULL);
        powers_of_two(l, n, extent);
    } else {
        Stmt *s = lower_put(l, S_IF), **outer = l->tail;
        s->a = val_op(p, O_GE, extent, num(l, b));
        l->tail = &s->body;
        each_tile(l, n, extent, val_op(p, O_SUB, extent, num(l, b)));
        l->tail = &s->other;
        powers_of_two(l, n, extent);
        l->tail = outer;
    }
}

/* The tiles of a block that a tensor's level has opened. */
static void tiles_of_block(Low *l, const Nest *n)
{
    Coord *c = &l->e.coord[n->ix.var];
    Val *base = c->base;
    Stmt **outer;
    c->outer = l->e.known.block[n->ix.var];
    Stmt *s = lower_for(l, lower_index_name(l, n->ix), num(l, 0), num(l, c->outer), n->ix.block, &outer);
    c->within = val_local(l->p, s->local);
    tile(l, n, plus(l, base, c->within), num(l, n->ix.block));
    l->tail = outer;
}

static void tiles(Low *l, const Nest *n)
{
    if (l->e.coord[n->ix.var].div) {
        tiles_of_block(l, n);
        return;
    }
    Index whole = {.var = n->ix.var};
    Val *extent = lower_slot_extent(l, &whole);
    int64_t b = n->ix.block, known = lower_const_extent(l, &whole);
    if (known < 0) {
        runtime_tiles(l, n, extent);
        return;
    }
    const Env *save = lower_keep(l);
    if (known >= 2 * b)
        each_tile(l, n, num(l, known / b * b), NULL);
    else if (known >= b)
        tile(l, n, num(l, 0), num(l, b));
    lower_back(l, save);
    if (known % b) tile(l, n, num(l, known / b * b), num(l, known % b));
}

/* Blocks of a tensor's level divide the extent evenly (expr/check.c), so their last one is whole. */
static void in_order(Low *l, const Nest *n)
{
    int64_t extent = lower_const_extent(l, &n->ix);
    if (n->unroll && extent >= 0 && extent <= n->unroll) { /* less in a partial tile */
        unrolled(l, n, extent);
        return;
    }
    Val *hi = n->ix.part == SC_MOD ? l->e.coord[n->ix.var].modext : lower_slot_extent(l, &n->ix);
    if (batch_wanted(l, n)) {
        batch_lower(l, n, num(l, 0), hi);
        return;
    }
    if (l->mode == MOST && lanes_only_fills(n->body)) {
        lower_times(l, n, hi);
        return;
    }
    Stmt **outer;
    Stmt *s = lower_for(l, lower_index_name(l, n->ix), num(l, 0), hi, 1, &outer);
    lower_bind(l, n->ix, val_local(l->p, s->local));
    lower_body(l, n->body);
    l->tail = outer;
}

static void dense_loop(Low *l, const Nest *n) { turn_lower(l, n, in_order); }

/* ---- the parallel loop ---- */
/* Units are positions of the first level of a tensor. */
static void par_positions(Low *l, const Nest *n, Val *lo, Val *hi)
{
    Prog *p = l->p;
    const Tensor *t = n->in;
    Stmt **outer = NULL, **inner = NULL;
    Val *unit = hi ? val_local(p, lower_for(l, "p", lo, hi, 1, &outer)->local) : lo;
    Val *c = lower_let(l, lower_index_name(l, n->ix), lower_load_index(l, lower_buf(l, B_CRD, t, 0), unit));
    if (sc_kind_of(&t->format.level[0])->padded) inner = level_unless_padding(l, c);
    level_enter(l, t, unit, NULL);
    lower_bind(l, n->ix, c);
    lower_body(l, n->body);
    if (inner) l->tail = inner;
    if (outer) l->tail = outer;
}

/* The last block of an index may be short; registers need constant sizes, so there it is cut into 2^k. */
static void par_block(Low *l, const Nest *n)
{
    Prog *p = l->p;
    Coord *c = &l->e.coord[n->ix.var];
    Val *extent = lower_dim(l, n->ix.var), *left = val_op(p, O_SUB, extent, c->base);
    FindVec f = {.ix = n->ix};
    nest_walk(n->body, find_registers, &f);
    if (!f.found) {
        c->modext = lower_let(l, "size", val_op(p, O_MIN, c->modext, left));
        lower_body(l, n->body);
        return;
    }
    const Env *save = lower_keep(l);
    bool even = extent->op == O_CONST && extent->i % n->ix.block == 0;
    Stmt *s = even ? NULL : lower_put(l, S_IF), **outer = l->tail;
    if (s) s->a = val_op(p, O_GE, left, num(l, n->ix.block)), l->tail = &s->body;
    lower_body(l, n->body);
    lower_back(l, save);
    if (!s) return;
    l->tail = &s->other;
    powers_of_two(l, n, extent);
    l->tail = outer;
}

static void par_dense(Low *l, const Nest *n, Val *lo, Val *hi)
{
    Prog *p = l->p;
    Stmt **outer = NULL;
    if (hi && n->ix.part == SC_WHOLE) level_open_cursors(l, n, lo);
    if (hi && batch_wanted(l, n)) {
        batch_lower(l, n, lo, hi);
        return;
    }
    Val *unit = hi ? val_local(p, lower_for(l, lower_index_name(l, n->ix), lo, hi, 1, &outer)->local) : lo;
    lower_bind(l, n->ix, unit);
    if (!n->in && n->ix.part == SC_DIV)
        par_block(l, n);
    else
        lower_body(l, n->body);
    if (outer) l->tail = outer;
}

static void par_loop(Low *l, const Nest *n)
{
    Prog *p = l->p;
    Val *lo = val_param(p, module_param(p, P_BEGIN, 0, 0, "begin"));
    Val *hi = val_param(p, module_param(p, P_END, 0, 0, "end"));
    const Tensor *t = n->in;
    l->unit = true;
    if (l->mode == PART)
        hi = NULL, lo = val_param(p, module_param(p, P_CURSOR, 0, 0, "unit"));
    else if (l->mode == FINISH)
        hi = NULL;
    if (n->nmerge)
        lower_merge(l, n);
    else if (!t || !sc_kind_of(&t->format.level[lower_level(l, t)])->crd)
        par_dense(l, n, lo, hi);
    else if (hi && batch_wanted(l, n))
        batch_lower(l, n, lo, hi);
    else if (hi && !t->format.level[0].unique)
        level_walk(l, n, &(Fibre){.t = t, .crd = lower_buf(l, B_CRD, t, 0), .lo = lo, .hi = hi});
    else
        par_positions(l, n, lo, hi);
    l->unit = false;
}

static bool is_lookup(Low *l, const Nest *n) { return (n->in || n->nmerge) && lower_index(l, n->ix); }

static void for_loop(Low *l, const Nest *n)
{
    const bool stored = n->in && sc_kind_of(&n->in->format.level[lower_level(l, n->in)])->crd;
    const bool cut = n->by || (n->ix.part == SC_DIV && !n->in && !n->nmerge);
    if (!cut && !is_lookup(l, n)) level_open_cursors(l, n, NULL);
    if (n->nmerge) {
        lower_merge(l, n);
        return;
    }
    const int nmemo = l->nmemo;
    lower_known(l, n->body);
    if (stored)
        level_loop(l, n);
    else if (cut)
        tiles(l, n);
    else
        dense_loop(l, n);
    l->nmemo = nmemo;
}

/* Whether a tensor has its values behind a permutation along ix: no vector can load those of neighbouring positions. */
static bool scattered(const Expr *e, Index ix)
{
    const Tensor *t = e->op == O_ACCESS ? e->tensor : NULL;
    if (t && t->perm && t->format.nlevel) return index_same(tensor_level_index(t, t->format.nlevel - 1), ix);
    return (e->kid[0] && scattered(e->kid[0], ix)) || (e->kid[1] && scattered(e->kid[1], ix));
}

typedef struct {
    Index ix;
    bool found;
} FindScattered;

static void find_scattered(const Nest *n, void *ctx)
{
    FindScattered *f = ctx;
    if (n->op == N_EVAL && scattered(n->eval.rhs, f->ix)) f->found = true;
}

static void vec_loop(Low *l, const Nest *n)
{
    FindScattered f = {.ix = n->ix};
    if (n->in) {
        level_loop(l, n);
        return;
    }
    nest_walk(n->body, find_scattered, &f);
    if (!f.found)
        lower_vec(l, n, NULL);
    else if (!counting(l))
        lower_note(l, n), dense_loop(l, n);
}

static void lower_loop(Low *l, const Nest *n)
{
    if (n->in && tensor_bit(l->p, n->in) & l->e.absent) {
        rest_of(l, n, num(l, 0));
        return;
    }
    if (rest_loop(l, n)) return;
    const Env *save = lower_keep(l);
    if (n->kind != L_VEC) lower_note(l, n);
    if (n->kind == L_PAR)
        par_loop(l, n);
    else if (n->kind == L_VEC)
        vec_loop(l, n);
    else
        for_loop(l, n);
    lower_back(l, save);
}

void lower_body(Low *l, const Nest *n)
{
    if (counting(l) && !results_need(l, n)) return;
    fibres_open(l, n);
    switch (n->op) {
    case N_SEQ:
        for (int i = 0; i < n->n; i++) lower_body(l, n->kid[i]);
        break;
    case N_LOOP: lower_loop(l, n); break;
    case N_WORK: lower_work(l, n); break;
    case N_EVAL: lower_eval(l, n); break;
    }
    fibres_close(l, n);
}
