/* level.c: stored levels, one at a time: walked, cut into tiles, looked up.
 *
 * A loop over a tensor counts positions of its next level and loads the
 * coordinate; a level whose coordinates repeat is walked in runs of equal ones,
 * and the level below iterates the run. Where the coordinate is known already,
 * it is searched instead. A search under a loop that visits the same index in
 * ascending order goes on from where the one before it ended: the cursor stands
 * in front of that loop. */
#include "private.h"

static Val *less(Low *l, Val *a, Val *b) { return val_op(l->p, O_LT, a, b); }
static Val *both(Low *l, Val *a, Val *b) { return val_op(l->p, O_AND, a, b); }

/* ---- fibres ---- */
static void compressed_range(Low *l, Fibre *f)
{
    Prog *p = l->p;
    Buf *pos = lower_buf(l, B_POS, f->t, lower_level(l, f->t));
    Val *at = lower_position(l, f->t);
    f->lo = lower_let(l, sc_arena_printf(&p->arena, "%s_lo", f->t->name), lower_load_index(l, pos, at));
    f->hi = lower_let(l, sc_arena_printf(&p->arena, "%s_hi", f->t->name),
                      lower_load_index(l, pos, plus(l, at, num(l, 1))));
    lower_where(l, f->t)->first = f->lo;
    lower_where(l, f->t)->beyond = f->hi;
}

/* Positions of the next level, padding among them. */
static void fibre_range(Low *l, Fibre *f)
{
    const Where *w = lower_where(l, f->t);
    const sc_levelspec *s = &f->t->format.level[lower_level(l, f->t)];
    if (w->tile_lo || w->lo) {
        f->lo = w->tile_lo ? w->tile_lo : w->lo;
        f->hi = w->tile_lo ? w->tile_hi : w->hi;
    } else if (f->t->role == T_WORK) {
        sparse_range(l, f->t, &f->lo, &f->hi);
    } else if (sc_kind_of(s)->pos) {
        compressed_range(l, f);
    } else if (sc_kind_of(s)->sliced) {
        (sc_kind_of(s)->sorted ? sell_range : slices_range)(l, f);
    } else if (sc_kind_of(s)->words) {
        words_range(l, f);
    } else {
        Val *width = num(l, sc_kind_of(s)->padded ? s->width : 1);
        f->one = sc_kind_of(s)->one;
        f->unique |= f->one; /* one position repeats nothing */
        f->lo = lower_let(l, "lo", val_op(l->p, O_MUL, lower_position(l, f->t), width));
        f->hi = plus(l, f->lo, width);
    }
}

static Fibre padded_fibre(Low *l, const Tensor *t)
{
    const Where *w = lower_where(l, t);
    if (w->fibre) return *w->fibre;
    const int level = lower_level(l, t);
    Fibre f = {.t = t, .unique = t->format.level[level].unique};
    fibre_range(l, &f);
    f.crd = lower_buf(l, B_CRD, t, level);
    return f;
}

/* Padding, coordinates of -1, stands at the end. */
static void drop_padding(Low *l, Fibre *f)
{
    Prog *p = l->p;
    Local *end = lower_mut(l, sc_arena_printf(&p->arena, "%s_end", f->t->name), f->hi);
    Val *hi = val_local(p, end), *before = val_op(p, O_SUB, hi, num(l, 1));
    Stmt *loop = lower_put(l, S_WHILE), **outer = l->tail;
    loop->a = both(l, less(l, f->lo, hi), less(l, lower_load_index(l, f->crd, before), num(l, 0)));
    l->tail = &loop->body;
    lower_set(l, end, before);
    l->tail = outer;
    f->hi = hi;
}

Fibre level_fibre(Low *l, const Tensor *t)
{
    const Where *w = lower_where(l, t);
    const sc_kind *is = sc_kind_of(&t->format.level[lower_level(l, t)]);
    if (sc_kind_walked(is))
        fail(l->p, SC_EVALUE, -1,
             "the %s of %s are walked by a loop 'in' it alone, nothing is looked up there",
             is->words    ? "bit masks"
             : is->sorted ? "sorted rows"
                          : "diagonals",
             t->name);
    const bool padded = sc_kind_of(&t->format.level[lower_level(l, t)])->padded && !w->fibre;
    Fibre f = padded_fibre(l, t);
    if (padded) drop_padding(l, &f);
    return f;
}

/* ---- loops over positions ---- */
static void position_tiles(Low *l, const Nest *n, const Fibre *f)
{
    Stmt **outer;
    Stmt *s = lower_for(l, "tile", f->lo, f->hi, n->by, &outer);
    Where *w = lower_where(l, f->t);
    w->tile_lo = val_local(l->p, s->local);
    w->tile_hi = lower_let(l, "tile_end", val_op(l->p, O_MIN, plus(l, w->tile_lo, num(l, n->by)), f->hi));
    if (n->ahead && !counting(l)) ahead_fetch(l, n, w->tile_lo);
    lower_body(l, n->body);
    l->tail = outer;
}

static void at_coordinate(Low *l, const Nest *n, const Fibre *f, Val *pos, Val *coord, Val *slot)
{
    ahead_planes(l, f->t, pos);
    level_enter(l, f->t, pos, NULL);
    lower_bind(l, n->ix, lower_let(l, lower_index_name(l, n->ix), coord));
    if (slot) l->e.coord[n->ix.var].slot = slot;
    if (n->ahead && !counting(l)) ahead_fetch(l, n, pos);
    lower_body(l, n->body);
}

void level_at_position(Low *l, const Nest *n, const Fibre *f, Val *pos, Val *slot)
{ at_coordinate(l, n, f, pos, lower_load_index(l, f->crd, pos), slot); }

typedef struct {
    const Nest *loop;
    bool elsewhere; /* something is written that has no slot #i */
} Slots;

static void find_elsewhere(const Nest *n, void *ctx)
{
    Slots *s = ctx;
    if (n->op != N_EVAL) return;
    const Tensor *t = n->eval.lhs->tensor;
    if (t->role != T_WORK || !work_has_slot(t, s->loop->ix.var)) s->elsewhere = true;
}

/* All positions of a tile side by side, so that #i is a constant in each. Where all that is written has a slot #i, a
 * tile that is not full computes its last position again, into slots that nobody reads; else the missing positions are
 * left out. */
static void whole_tile(Low *l, const Nest *n, const Fibre *f)
{
    Prog *p = l->p;
    const Env *save = lower_keep(l);
    Val *first = lower_where(l, f->t)->tile_lo, *last = val_op(p, O_SUB, f->hi, num(l, 1));
    Slots s = {.loop = n};
    nest_walk(n->body, find_elsewhere, &s);
    for (int u = 0; u < n->unroll; u++) {
        Val *at = plus(l, first, num(l, u));
        Stmt **outer = l->tail;
        l->e.again |= u > 0;
        if (u && s.elsewhere) {
            Stmt *there = lower_put(l, S_IF);
            there->a = less(l, at, f->hi);
            outer = l->tail;
            l->tail = &there->body;
        }
        level_at_position(l, n, f, u && !s.elsewhere ? lower_let(l, "p", val_op(p, O_MIN, at, last)) : at,
                          num(l, u));
        if (u && s.elsewhere) l->tail = outer;
        lower_back(l, save);
    }
}

#define SMALL 2 /* vectors that an entry adds, at most */

/* Whether all that an entry does is to add little to registers. */
static bool small_sum(Low *l, const Nest *n)
{
    const Nest *in = n->body;
    if (in->op == N_LOOP && in->kind == L_VEC) {
        const int64_t extent = lower_const_extent(l, &in->ix);
        if (extent < 0 || extent * (int64_t)sc_dtype_size(l->p->type) > SMALL * l->p->vector_bytes)
            return false;
        in = in->body;
    }
    return in->op == N_EVAL && in->eval.lhs->tensor->role == T_WORK && in->eval.lhs->tensor->place == W_REG;
}

/* Two positions a turn, with a test of the end between them: the branches that a row takes then lie apart. Where they
 * share one cache line of code, some processors do not learn from earlier ones, and mispredict the end of every row. */
static void in_pairs(Low *l, const Nest *n, const Fibre *f)
{
    const Env *save = lower_keep(l);
    Stmt **outer;
    Val *at = val_local(l->p, lower_for(l, "p", f->lo, f->hi, 2, &outer)->local),
        *next = plus(l, at, num(l, 1));
    level_at_position(l, n, f, at, NULL);
    lower_back(l, save);
    Stmt *more = lower_put(l, S_IF);
    more->a = less(l, next, f->hi);
    l->tail = &more->body;
    l->e.again = true;
    level_at_position(l, n, f, next, NULL);
    lower_back(l, save);
    l->tail = outer;
}

/* The coordinates of a turn that takes n positions. Two of 32 bits are loaded at once: processors have few loads a
 * cycle, and a sum waits for those of coordinates, entries and what they meet. */
static Val *turn_coordinate(Low *l, const Nest *n, const Fibre *f, Val *at, int u, Val **pair)
{
    Prog *p = l->p;
    if (f->crd->dtype != SC_I32 || n->unroll % 2) return lower_load_index(l, f->crd, plus(l, at, num(l, u)));
    if (u % 2) return val_op(p, O_SHR, *pair, num(l, 32));
    const char *name = lower_index_name(l, n->ix);
    *pair = lower_let(l, sc_arena_printf(&p->arena, "%s%s", name, name),
                      val_pair(p, f->crd, plus(l, at, num(l, u))));
    return val_op(p, O_AND, *pair, num(l, 0xffffffff));
}

static void positions(Low *l, const Nest *n, const Fibre *f)
{
    if (n->unroll > 1 && lower_where(l, f->t)->tile_lo) {
        whole_tile(l, n, f);
        return;
    }
    if (n->unroll <= 1 && !lower_where(l, f->t)->tile_lo && small_sum(l, n)) {
        in_pairs(l, n, f);
        return;
    }
    Stmt **outer;
    Val *from = f->lo;
    if (n->unroll > 1) {
        const Env *save = lower_keep(l);
        Val *count = lower_let(l, "count", val_op(l->p, O_SUB, f->hi, f->lo));
        Val *whole = val_op(l->p, O_SUB, count, val_op(l->p, O_MOD, count, num(l, n->unroll)));
        from = lower_let(l, "whole", plus(l, f->lo, whole));
        register_open_copies(l, n);
        Stmt *s = lower_for(l, "p", f->lo, from, n->unroll, &outer);
        Val *at = val_local(l->p, s->local), *pair = NULL;
        for (int u = 0; u < n->unroll; u++) {
            lower_back(l, save);
            l->e.copy = u;
            l->e.again |= u > 0;
            Val *coord = turn_coordinate(l, n, f, at, u, &pair);
            at_coordinate(l, n, f, plus(l, at, num(l, u)), coord, NULL);
        }
        l->tail = outer;
        lower_back(l, save);
        l->e.again = true;
        register_close_copies(l, n);
    }
    Val *first = lower_where(l, f->t)->tile_lo;
    Val *at = val_local(l->p, lower_for(l, "p", from, f->hi, 1, &outer)->local);
    level_at_position(l, n, f, at, first ? val_op(l->p, O_SUB, at, first) : NULL);
    l->tail = outer;
}

/* The present value of a variable that will change. */
static Val *snapshot(Low *l, const char *stem, Local *x)
{ return val_local(l->p, lower_declare(l, stem, val_local(l->p, x), false)); }

/* Each run of equal coordinates is one visit of the body. Returns how many they were, where there is a rest. */
static Val *runs(Low *l, const Nest *n, const Fibre *f)
{
    Prog *p = l->p;
    Local *seen = n->rest ? lower_mut(l, "seen", num(l, 0)) : NULL;
    Local *q = lower_mut(l, "p", f->lo);
    Stmt *loop = lower_put(l, S_WHILE), **outer = l->tail;
    loop->a = less(l, val_local(p, q), f->hi);
    l->tail = &loop->body;
    Val *first = snapshot(l, "first", q);
    Val *c = lower_let(l, lower_index_name(l, n->ix), lower_load_index(l, f->crd, first));
    lower_set(l, q, plus(l, first, num(l, 1)));
    Stmt *run = lower_put(l, S_WHILE), **after = l->tail;
    Val *same = val_op(p, O_EQ, lower_load_index(l, f->crd, val_local(p, q)), c);
    run->a = both(l, less(l, val_local(p, q), f->hi), same);
    l->tail = &run->body;
    lower_set(l, q, plus(l, val_local(p, q), num(l, 1)));
    l->tail = after;
    level_enter(l, f->t, first, snapshot(l, "last", q));
    lower_bind(l, n->ix, c);
    if (seen) lower_set(l, seen, plus(l, val_local(p, seen), num(l, 1)));
    lower_body(l, n->body);
    l->tail = outer;
    return seen ? val_local(p, seen) : NULL;
}

static bool is_words(Low *l, const Tensor *t)
{ return sc_kind_of(&t->format.level[lower_level(l, t)])->words; }

static Val *length(Low *l, const Fibre *f)
{ return is_words(l, f->t) ? words_length(l, f) : val_op(l->p, O_SUB, f->hi, f->lo); }

Val *level_walk(Low *l, const Nest *n, const Fibre *f)
{
    if (!f->unique && !lower_where(l, f->t)->tile_lo) return runs(l, n, f);
    Val *all = length(l, f); /* inside of the loop the level is another one */
    positions(l, n, f);      /* in a tile each is taken by itself */
    return all;
}

Val *level_stored(Low *l, const Tensor *t)
{
    const Fibre f = padded_fibre(l, t);
    return length(l, &f);
}

Stmt **level_unless_padding(Low *l, Val *coord)
{
    Stmt *s = lower_put(l, S_IF), **outer = l->tail;
    s->a = val_op(l->p, O_GE, coord, num(l, 0));
    l->tail = &s->body;
    return outer;
}

static Val *ell_loop(Low *l, const Nest *n, const Fibre *f)
{
    Stmt **outer;
    Local *seen = n->rest ? lower_mut(l, "seen", num(l, 0)) : NULL;
    Val *p = val_local(l->p, lower_for(l, "p", f->lo, f->hi, 1, &outer)->local);
    Val *c = lower_let(l, lower_index_name(l, n->ix), lower_load_index(l, f->crd, p)),
        *first = lower_where(l, f->t)->tile_lo;
    level_unless_padding(l, c);
    if (seen) lower_set(l, seen, plus(l, val_local(l->p, seen), num(l, 1)));
    level_enter(l, f->t, p, NULL);
    lower_bind(l, n->ix, c);
    if (first) l->e.coord[n->ix.var].slot = val_op(l->p, O_SUB, p, first);
    lower_body(l, n->body);
    l->tail = outer;
    return seen ? val_local(l->p, seen) : NULL;
}

/* ---- lookups ---- */
/* The first position whose coordinate is not less. */
static Val *seek(Low *l, const Fibre *f, Val *coord)
{
    Prog *p = l->p;
    const Where *w = lower_where(l, f->t);
    if (f->one) return f->lo;
    if (!w->cursor)
        return lower_let(l, sc_arena_printf(&p->arena, "%s_at", f->t->name),
                         val_search(p, f->crd, f->lo, f->hi, coord));
    Val *at = val_local(p, w->cursor);
    if (!w->steps) {
        lower_set(l, w->cursor, val_search(p, f->crd, at, f->hi, coord));
        return at;
    }
    Stmt *loop = lower_put(l, S_WHILE), **outer = l->tail;
    loop->a = both(l, less(l, at, f->hi), less(l, lower_load_index(l, f->crd, at), coord));
    l->tail = &loop->body;
    lower_set(l, w->cursor, plus(l, at, num(l, 1)));
    l->tail = outer;
    return at;
}

Found level_look_up(Low *l, const Fibre *f, Val *coord)
{
    Prog *p = l->p;
    Found at = {.pos = seek(l, f, coord)};
    Val *same = val_op(p, O_EQ, lower_load_index(l, f->crd, at.pos), coord);
    at.here = f->one ? same : both(l, less(l, at.pos, f->hi), same);
    if (f->unique) return at;
    Val *beyond = val_search(p, f->crd, at.pos, f->hi, plus(l, coord, num(l, 1)));
    at.end = lower_let(l, sc_arena_printf(&p->arena, "%s_end", f->t->name), beyond);
    at.here = less(l, at.pos, at.end);
    return at;
}

static void lookup_in(Low *l, const Nest *n)
{
    Fibre f = level_fibre(l, n->in);
    Found at = level_look_up(l, &f, lower_index(l, n->ix));
    Stmt *s = lower_put(l, S_IF), **outer = l->tail;
    s->a = at.here;
    l->tail = &s->body;
    level_enter(l, f.t, at.pos, at.end);
    lower_resolve(l);
    lower_body(l, n->body);
    l->tail = outer;
}

/* ---- cursors ---- */
typedef struct {
    Low *l;
    const Nest *loop;
    Val *from;
} Open;

/* Whether the next level of t is over an index that the loop makes known, visited in ascending order. */
static bool moves_along(Low *l, const Nest *loop, const Tensor *t)
{
    const Where *w = lower_where(l, t);
    const int level = lower_level(l, t);
    if (t->role != T_IN || level == t->format.nlevel || w->cursor || w->tile_lo) return false;
    if (tensor_bit(l->p, t) & l->e.absent || !sc_kind_of(&t->format.level[level])->crd) return false;
    for (int k = 0; k < loop->nmerge; k++)
        if (loop->merge[k] == t) return false;
    const Index at = tensor_level_index(t, level), by = loop->ix;
    if (loop->in == t || at.var != by.var || lower_index(l, at)) return false;
    return by.part == SC_WHOLE ? at.part != SC_MOD : by.part == SC_MOD || index_same(at, by);
}

static void open_cursor(Low *l, const Open *o, const Tensor *t)
{
    Prog *p = l->p;
    Where *w = lower_where(l, t);
    const Index at = tensor_level_index(t, lower_level(l, t));
    Fibre f = level_fibre(l, t), *kept = NEW(p, Fibre);
    if (f.one) return;
    Val *start = f.lo;
    if (o->from) {
        Val *first = at.part == SC_DIV ? val_op(p, O_DIV, o->from, num(l, at.block)) : o->from;
        start = val_search(p, f.crd, f.lo, f.hi, first);
    }
    *kept = f;
    w->fibre = kept;
    w->cursor = lower_mut(l, sc_arena_printf(&p->arena, "p%s", t->name), start);
    w->steps = !o->loop->in && !o->loop->nmerge;
}

static void find_lookup(const Nest *n, void *ctx)
{
    const Open *o = ctx;
    if (n->op != N_LOOP || n == o->loop) return;
    for (int k = 0; k < n->nmerge + (n->in != NULL); k++) {
        const Tensor *t = n->in ? n->in : n->merge[k];
        if (moves_along(o->l, o->loop, t)) open_cursor(o->l, o, t);
    }
}

void level_open_cursors(Low *l, const Nest *loop, Val *from)
{
    Open o = {l, loop, from};
    nest_walk(loop->body, find_lookup, &o);
}

/* ---- one level of one tensor ---- */
/* The loop takes the entries straight from the bitmap. */
static void lower_direct(Low *l, const Nest *n)
{
    Stmt **outer;
    if (counting(l)) { /* as many as there are, at once */
        lower_times(l, n, sparse_count(l, n->in));
        return;
    }
    if (list_copy(l, n)) return;
    Val *k = sparse_bits(l, n->in, l->p->var[n->ix.var].name, &outer);
    l->e.known.level[n->in->id] = 1;
    lower_bind(l, n->ix, k);
    lower_body(l, n->body);
    sparse_clear(l, n->in, k);
    l->tail = outer;
}

/* The loop over entries: how many coordinates it visited. */
static Val *entries(Low *l, const Nest *n, const Fibre *f)
{
    const sc_kind *is = sc_kind_of(&f->t->format.level[lower_level(l, f->t)]);
    if (n->kind == L_FOR && is->pos && !is->padded && list_fills(l, n, f)) {
        list_fill(l, n, f);
        return length(l, f);
    }
    if (n->kind == L_VEC || is->words) {
        Val *all = length(l, f);
        (!is->words ? lower_vec : n->kind == L_VEC ? words_vec : words_loop)(l, n, f);
        return all;
    }
    if (is->sliced) return (is->sorted ? sell_loop : slices_loop)(l, n, f);
    if (is->padded) return ell_loop(l, n, f);
    if (!f->one || !f->unique) return level_walk(l, n, f);
    level_at_position(l, n, f, f->lo, NULL);
    return num(l, 1);
}

/* The positions of a heavy unit that the entry `part` is called for. */
static Fibre piece(Low *l, const Tensor *t)
{
    Fibre f = {.t = t, .crd = lower_buf(l, B_CRD, t, 1), .unique = true};
    f.lo = val_param(l->p, module_param(l->p, P_BEGIN, 0, 0, "begin"));
    f.hi = val_param(l->p, module_param(l->p, P_END, 0, 0, "end"));
    return f;
}

/* Inside of a loop over blocks of its index, a level is visited where its coordinates lie in the block. */
static void stay_in_block(Low *l, const Nest *n, Fibre *f)
{
    Prog *p = l->p;
    const Coord *c = &l->e.coord[n->ix.var];
    if (n->ix.part != SC_WHOLE || !c->base || lower_where(l, f->t)->tile_lo) return;
    f->lo = lower_let(l, "first", val_search(p, f->crd, f->lo, f->hi, c->base));
    f->hi = lower_let(l, "beyond", val_search(p, f->crd, f->lo, f->hi, plus(l, c->base, c->modext)));
}

void lower_times(Low *l, const Nest *n, Val *turns)
{
    l->times = turns;
    lower_body(l, n->body);
    l->times = NULL;
}

void level_loop(Low *l, const Nest *n)
{
    const Tensor *t = n->in;
    if (sparse_direct(l, n)) {
        lower_direct(l, n);
        return;
    }
    if (lower_index(l, n->ix)) {
        lookup_in(l, n);
        return;
    }
    const bool cut = t == l->split && lower_level(l, t) == 1;
    if (cut && l->mode == FINISH) return; /* the entry `part` has run it */
    const Env *save = lower_keep(l);
    Fibre f = cut ? piece(l, t) : padded_fibre(l, t);
    if (n->by || n->ix.part != SC_WHOLE || l->e.coord[n->ix.var].base) slices_refuse_tiles(l, t);
    stay_in_block(l, n, &f);
    if (n->by) {
        position_tiles(l, n, &f);
        return;
    }
    Val *visited = length(l, &f);
    if (l->looking && lanes_only_fills(n->body))
        span_fibre(l, &f);
    else if (l->mode == MOST && lanes_only_fills(n->body))
        lower_times(l, n, visited);
    else if (batch_wanted(l, n))
        batch_lower(l, n, f.lo, f.hi);
    else
        visited = entries(l, n, &f);
    lower_back(l, save);
    if (!cut) rest_of(l, n, visited);
}
