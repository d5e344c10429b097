/* lower_loop.c: loops of the nest.
 *
 * A dense loop counts coordinates. A loop over a tensor counts positions of its
 * next level and loads the coordinate; a level whose coordinates repeat is
 * walked in segments of equal coordinate. */
#include "lower.h"

static const char *index_name(Low *l, Index ix)
{
    const char *name = l->p->var[ix.var].name;
    if (ix.part == SC_WHOLE) return name;
    return sc_arena_printf(&l->p->arena, "%s%s", name, ix.part == SC_DIV ? "_block" : "_in");
}

static Val *plus(Low *l, Val *a, Val *b) { return val_op(l->p, O_ADD, a, b); }
static Val *times(Low *l, Val *a, Val *b) { return val_op(l->p, O_MUL, a, b); }
static Val *num(Low *l, int64_t i) { return val_int(l->p, i); }

Val *load_index(Low *l, Buf *b, Val *at) { return val_cast(l->p, I64, val_load(l->p, b, 1, at, NULL)); }

static Val *level_size(Low *l, const Tensor *t, int level)
{
    Index ix = level_index(t, level);
    return slot_extent(l, &ix);
}

/* Every tensor walks down its dense levels as far as coordinates are known. */
static void resolve(Low *l)
{
    for (int i = 0; i < l->p->ntensor; i++) {
        const Tensor *t = l->p->tensor[i];
        Where *w = &l->e.where[i];
        if (t->role == T_WORK || t->like || sc_format_is_dense(&t->format)) continue;
        while (w->n < t->format.nlevel && t->format.level[w->n].kind == SC_DENSE && !w->lo) {
            Val *c = index_val(l, level_index(t, w->n));
            if (!c) break;
            w->pos[w->n + 1] = plus(l, times(l, w->pos[w->n], level_size(l, t, w->n)), c);
            w->n++;
        }
    }
}

static void bind_coord(Low *l, Index ix, Val *v)
{
    Coord *c = &l->e.coord[ix.var];
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

void bind(Low *l, Index ix, Val *v)
{
    bind_coord(l, ix, v);
    resolve(l);
}

static void bind_pos(Low *l, const Tensor *t, Index ix, Val *pos)
{
    Where *w = where(l, t);
    int level = w->n;
    w->pos[level + 1] = pos;
    w->n = level + 1;
    w->tile_lo = w->tile_hi = NULL;
    bind(l, ix, let(l, index_name(l, ix), load_index(l, tensor_buf(l, B_CRD, t, level), pos)));
}

/* ---- dense loops ---- */
static void unrolled(Low *l, const Nest *n, int64_t extent)
{
    Env save = l->e;
    for (int64_t i = 0; i < extent; i++) {
        bind(l, n->ix, num(l, i));
        body(l, n->body);
        l->e = save;
    }
}

typedef struct {
    Index ix;
    bool found;
} FindVec;

static void find_vec(const Nest *n, void *ctx)
{
    FindVec *f = ctx;
    if (n->op == N_LOOP && n->kind == L_VEC && n->ix.var == f->ix.var && n->ix.part == SC_MOD)
        f->found = true;
}

static void tile(Low *l, const Nest *n, Val *base, Val *extent)
{
    Coord *c = &l->e.coord[n->ix.var];
    c->base = base;
    c->modext = extent;
    c->inner = l->unit;
    c->div = val_op(l->p, O_DIV, base, num(l, n->ix.block));
    resolve(l);
    body(l, n->body);
}

/* A partial tile of an extent known at run time: as constant tiles of 2^k, so that vectors stay typed values. */
static void powers_of_two(Low *l, const Nest *n, Val *extent)
{
    Prog *p = l->p;
    Env save = l->e;
    int64_t b = n->ix.block;
    Val *rest = let(l, "rest", val_op(p, O_MOD, extent, num(l, b)));
    Val *full = let(l, "full", val_op(p, O_SUB, extent, rest));
    for (int64_t part = b / 2; part; part /= 2) {
        Stmt *s = put(l, S_IF), **outer = l->tail;
        s->a = val_op(p, O_NE, val_op(p, O_AND, rest, num(l, part)), num(l, 0));
        l->tail = &s->body;
        Val *before = val_op(p, O_AND, rest, num(l, ~(2 * part - 1)));
        tile(l, n, let(l, index_name(l, n->ix), plus(l, full, before)), num(l, part));
        l->e = save;
        l->tail = outer;
    }
}

static void each_tile(Low *l, const Nest *n, Val *end, Val *last)
{
    Env save = l->e;
    Stmt **outer;
    int64_t b = n->ix.block;
    Val *at = val_local(l->p, begin_for(l, index_name(l, n->ix), num(l, 0), end, b, &outer)->local);
    if (last) at = let(l, "at", val_op(l->p, O_MIN, at, last));
    tile(l, n, at, num(l, b));
    l->e = save;
    l->tail = outer;
}

/* Tiles of an extent known at run time. Without vectors inside the last one is just shorter. Where writing twice
 * is harmless the last one overlaps the one before it; else, and in an extent of less than a tile, it is cut. */
static void runtime_tiles(Low *l, const Nest *n, Val *extent)
{
    Prog *p = l->p;
    int64_t b = n->ix.block;
    FindVec f = {.ix = n->ix};
    nest_walk(n->body, find_vec, &f);
    if (!f.found) {
        Stmt **outer;
        Val *at = val_local(p, begin_for(l, index_name(l, n->ix), num(l, 0), extent, b, &outer)->local);
        tile(l, n, at, let(l, "size", val_op(p, O_MIN, num(l, b), val_op(p, O_SUB, extent, at))));
        l->tail = outer;
    } else if (adds_along(n->body, n->ix.var)) {
        each_tile(l, n, val_op(p, O_SUB, extent, val_op(p, O_MOD, extent, num(l, b))), NULL);
        powers_of_two(l, n, extent);
    } else {
        Stmt *s = put(l, S_IF), **outer = l->tail;
        s->a = val_op(p, O_GE, extent, num(l, b));
        l->tail = &s->body;
        each_tile(l, n, extent, val_op(p, O_SUB, extent, num(l, b)));
        l->tail = &s->other;
        powers_of_two(l, n, extent);
        l->tail = outer;
    }
}

static void tiles(Low *l, const Nest *n)
{
    Index whole = {.var = n->ix.var};
    Val *extent = slot_extent(l, &whole);
    int64_t b = n->ix.block, known = const_extent(l, &whole);
    if (known < 0) {
        runtime_tiles(l, n, extent);
        return;
    }
    Env save = l->e;
    if (known >= 2 * b)
        each_tile(l, n, num(l, known / b * b), NULL);
    else if (known >= b)
        tile(l, n, num(l, 0), num(l, b));
    l->e = save;
    if (known % b) tile(l, n, num(l, known / b * b), num(l, known % b));
}

/* Blocks of a tensor's level divide the extent evenly (check.c), so their last one is whole. */
static void dense_loop(Low *l, const Nest *n)
{
    int64_t extent = const_extent(l, &n->ix);
    if (n->unroll && extent == n->unroll) {
        unrolled(l, n, extent);
        return;
    }
    Val *hi = n->ix.part == SC_MOD ? l->e.coord[n->ix.var].modext : slot_extent(l, &n->ix);
    Stmt **outer;
    Stmt *s = begin_for(l, index_name(l, n->ix), num(l, 0), hi, 1, &outer);
    bind(l, n->ix, val_local(l->p, s->local));
    body(l, n->body);
    l->tail = outer;
}

/* ---- loops over positions ---- */
static void position_tiles(Low *l, const Nest *n, Val *lo, Val *hi)
{
    Stmt **outer;
    Stmt *s = begin_for(l, "tile", lo, hi, n->by, &outer);
    Where *w = where(l, n->in);
    w->tile_lo = val_local(l->p, s->local);
    w->tile_hi = let(l, "tile_end", val_op(l->p, O_MIN, plus(l, w->tile_lo, num(l, n->by)), hi));
    body(l, n->body);
    l->tail = outer;
}

static void positions(Low *l, const Nest *n, Val *lo, Val *hi)
{
    Env save = l->e;
    Stmt **outer;
    Val *from = lo;
    if (n->unroll > 1) {
        Val *count = val_op(l->p, O_SUB, hi, lo);
        Val *whole = val_op(l->p, O_SUB, count, val_op(l->p, O_MOD, count, num(l, n->unroll)));
        from = let(l, "whole", plus(l, lo, whole));
        copies_open(l, n);
        Stmt *s = begin_for(l, "p", lo, from, n->unroll, &outer);
        for (int u = 0; u < n->unroll; u++) {
            l->e = save;
            l->e.copy = u;
            bind_pos(l, n->in, n->ix, plus(l, val_local(l->p, s->local), num(l, u)));
            body(l, n->body);
        }
        l->tail = outer;
        l->e = save;
        copies_close(l, n);
    }
    Stmt *s = begin_for(l, "p", from, hi, 1, &outer);
    Where *w = where(l, n->in);
    Val *first = w->tile_lo;
    bind_pos(l, n->in, n->ix, val_local(l->p, s->local));
    if (first) l->e.coord[n->ix.var].slot = val_op(l->p, O_SUB, val_local(l->p, s->local), first);
    body(l, n->body);
    l->tail = outer;
}

/* The value now of a local that moves on. */
static Val *snapshot(Low *l, const char *stem, Local *x)
{ return val_local(l->p, declare(l, stem, val_local(l->p, x), false)); }

/* [lo, hi) in runs of equal coordinate: each run is one visit of the body. */
static void segments(Low *l, const Nest *n, Val *lo, Val *hi)
{
    Prog *p = l->p;
    const Tensor *t = n->in;
    Where *w = where(l, t);
    Buf *crd = tensor_buf(l, B_CRD, t, w->n);
    Local *q = mut(l, "p", lo);
    Stmt *loop = put(l, S_WHILE), **outer = l->tail;
    loop->a = val_op(p, O_LT, val_local(p, q), hi);
    l->tail = &loop->body;
    w->lo = snapshot(l, "first", q);
    Val *c = let(l, index_name(l, n->ix), load_index(l, crd, w->lo));
    set(l, q, plus(l, w->lo, num(l, 1)));
    Stmt *run = put(l, S_WHILE), **after = l->tail;
    Val *same = val_op(p, O_EQ, load_index(l, crd, val_local(p, q)), c);
    run->a = val_op(p, O_AND, val_op(p, O_LT, val_local(p, q), hi), same);
    l->tail = &run->body;
    set(l, q, plus(l, val_local(p, q), num(l, 1)));
    l->tail = after;
    w->hi = snapshot(l, "last", q);
    w->pos[++w->n] = w->lo;
    bind(l, n->ix, c);
    body(l, n->body);
    l->tail = outer;
}

/* Positions of the tensor's next level under where it stands. */
void range_of(Low *l, const Tensor *t, Val **lo, Val **hi)
{
    Where *w = where(l, t);
    Prog *p = l->p;
    if (w->tile_lo) {
        *lo = w->tile_lo;
        *hi = w->tile_hi;
    } else if (w->lo) {
        *lo = w->lo;
        *hi = w->hi;
    } else if (t->role == T_WORK) {
        sparse_range(l, t, lo, hi);
    } else if (t->format.level[w->n].kind == SC_COMPRESSED) {
        Buf *pos = tensor_buf(l, B_POS, t, w->n);
        *lo = let(l, sc_arena_printf(&p->arena, "%s_lo", t->name), load_index(l, pos, w->pos[w->n]));
        *hi = let(l, sc_arena_printf(&p->arena, "%s_hi", t->name),
                  load_index(l, pos, plus(l, w->pos[w->n], num(l, 1))));
    } else {
        const sc_levelspec *s = &t->format.level[w->n];
        Val *width = num(l, s->kind == SC_ELL ? s->width : 1);
        *lo = let(l, "lo", times(l, w->pos[w->n], width));
        *hi = plus(l, *lo, width);
    }
}

static void ell_loop(Low *l, const Nest *n, Val *lo, Val *hi)
{
    Stmt **outer;
    Stmt *s = begin_for(l, "p", lo, hi, 1, &outer);
    Where *w = where(l, n->in);
    Val *p = val_local(l->p, s->local);
    Val *c = let(l, index_name(l, n->ix), load_index(l, tensor_buf(l, B_CRD, n->in, w->n), p));
    Stmt *test = put(l, S_IF);
    test->a = val_op(l->p, O_GE, c, num(l, 0)); /* padding is -1 */
    l->tail = &test->body;
    w->pos[++w->n] = p;
    bind(l, n->ix, c);
    body(l, n->body);
    l->tail = outer;
}

static void stored_loop(Low *l, const Nest *n)
{
    const Tensor *t = n->in;
    Where *w = where(l, t);
    const sc_levelspec *s = &t->format.level[w->n];
    Val *lo, *hi;
    if (t == l->split && w->n == 1) {
        if (l->mode == FINISH) return; /* its producer was run by the parts */
        lo = val_param(l->p, module_param(l->p, P_BEGIN, 0, 0, "begin"));
        hi = val_param(l->p, module_param(l->p, P_END, 0, 0, "end"));
    } else {
        range_of(l, t, &lo, &hi);
    }
    if (n->by)
        position_tiles(l, n, lo, hi);
    else if (!s->unique)
        segments(l, n, lo, hi);
    else if (s->kind == SC_ELL)
        ell_loop(l, n, lo, hi);
    else if (s->kind == SC_SINGLETON && !w->lo)
        bind_pos(l, t, n->ix, w->pos[w->n]), body(l, n->body);
    else {
        w->lo = w->hi = NULL;
        positions(l, n, lo, hi);
    }
}

/* ---- the parallel loop ---- */
static void par_loop(Low *l, const Nest *n)
{
    Prog *p = l->p;
    Val *lo = val_param(p, module_param(p, P_BEGIN, 0, 0, "begin"));
    Val *hi = val_param(p, module_param(p, P_END, 0, 0, "end"));
    const Tensor *t = n->in;
    bool stored = t && t->role == T_IN && t->format.level[where(l, t)->n].kind != SC_DENSE;
    l->unit = true;
    if (l->mode == PART)
        hi = NULL, lo = val_param(p, module_param(p, P_CURSOR, 0, 0, "unit"));
    else if (l->mode == FINISH)
        hi = NULL;
    if (stored && !t->format.level[0].unique) {
        segments(l, n, lo, hi);
        l->unit = false;
        return;
    }
    Stmt **outer = NULL;
    Val *unit = lo;
    if (hi) unit = val_local(p, begin_for(l, stored ? "p" : index_name(l, n->ix), lo, hi, 1, &outer)->local);
    if (stored)
        bind_pos(l, t, n->ix, unit);
    else
        bind(l, n->ix, unit);
    if (!t && n->ix.part == SC_DIV) { /* the last block of an index may be short */
        Coord *c = &l->e.coord[n->ix.var];
        Val *left = val_op(p, O_SUB, dim_val(l, n->ix.var), c->base);
        c->modext = let(l, "size", val_op(p, O_MIN, c->modext, left));
    }
    body(l, n->body);
    if (outer) l->tail = outer;
    l->unit = false;
}

void lower_loop(Low *l, const Nest *n)
{
    Env save = l->e;
    if (n->kind == L_PAR)
        par_loop(l, n);
    else if (n->kind == L_VEC)
        lower_vec(l, n);
    else if (n->nmerge)
        lower_merge(l, n);
    else if (sparse_direct(l, n))
        lower_direct(l, n);
    else if (n->in && n->in->format.level[where(l, n->in)->n].kind != SC_DENSE)
        stored_loop(l, n);
    else if (n->ix.part == SC_DIV && !n->in)
        tiles(l, n);
    else
        dense_loop(l, n);
    l->e = save;
}
