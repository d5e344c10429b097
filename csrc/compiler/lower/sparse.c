/* sparse.c: lane workspaces that store what was written.
 *
 * A bitmap has a value for every coordinate, a bit that says whether it was written, and a byte for every word of those
 * that is not zero, so that reading and clearing cost what was written. All are set without a branch, which would be
 * mispredicted often. A hash table has slots, found by open addressing from the linear coordinate plus one, and a list
 * of those in use; it is at most half full, or the kernel asks for a larger one.
 *
 * What was filled is read as a tensor of coordinates in order: arrays of coordinates, one a level, and their number.
 * One loop over one index needs no such array: it takes the bits one by one. Where entries are only counted, a loop
 * that appends one for each coordinate is not run at all; then marks take the place of a bitmap. The mark of a
 * coordinate is the number of the filling that wrote it last, so nothing is cleared. */
#include "private.h"

/* Opens while (v != 0); returns the tail behind it. */
static Stmt **while_bits(Low *l, Val *v)
{
    Stmt *loop = lower_put(l, S_WHILE), **outer = l->tail;
    loop->a = val_op(l->p, O_NE, v, num(l, 0));
    l->tail = &loop->body;
    return outer;
}

/* ---- places ---- */
/* An array of one element a slot. */
static Buf *slots(Low *l, const Tensor *w, const char *what, sc_dtype type)
{
    Val *n = val_param(l->p, module_param(l->p, P_SLOTS, 0, 0, "slots"));
    Buf *b = lane_buf(l, w, what, type, l->scratch);
    l->step->hash += (int32_t)sc_dtype_size(type);
    l->scratch = plus(l, l->scratch, times(l, n, num(l, (int64_t)sc_dtype_size(type))));
    return b;
}

/* So many bytes for every `each` elements along the last index. */
static sc_size parts(const Tensor *w, int bytes, int each)
{
    sc_size s = work_size(w);
    s.bytes = bytes;
    s.div[s.n - 1] = each;
    return s;
}

/* A word for every `each` elements. */
static sc_size words(const Tensor *w, int each) { return parts(w, 8, each); }

static void place_bitmap(Low *l, Lane *a)
{
    const Tensor *w = a->work;
    bool cleared = a->reduce == O_ADD;
    if (counting(l) && a->direct) {
        a->mark = lane_array(l, w, "mark", SC_I64, words(w, 1), true);
        a->last = lane_array(l, w, "last", SC_I64, (sc_size){.bytes = 8}, true);
        a->tag = lower_mut(l, sc_arena_printf(&l->p->arena, "%s_tag", w->name), load(l, a->last, num(l, 0)));
        return;
    }
    if (a->spans) span_place(l, a);
    if (!counting(l)) a->val = lane_array(l, w, "lane", w->dtype, work_size(w), cleared);
    a->bits = lane_array(l, w, "bits", SC_I64, words(w, 64), true);
    a->filled = lane_array(l, w, "filled", SC_BOOL, parts(w, 1, 64), true);
    for (int d = 0; d < w->ndim && !a->direct; d++)
        a->crd[d] = lane_array(l, w, sc_arena_printf(&l->p->arena, "crd%d", d), SC_I64, words(w, 1), false);
}

static void place_table(Low *l, Lane *a)
{
    const Tensor *w = a->work;
    a->table = slots(l, w, "table", SC_I64);
    a->used = slots(l, w, "used", SC_I64);
    if (!counting(l)) a->val = slots(l, w, "lane", w->dtype);
    if (a->direct) return;
    a->key = slots(l, w, "key", SC_I64);
    a->spare = slots(l, w, "spare", SC_I64);
    for (int d = 0; d < w->ndim; d++)
        a->crd[d] = w->ndim == 1 ? a->key : slots(l, w, sc_arena_printf(&l->p->arena, "crd%d", d), SC_I64);
}

/* ---- who reads it ---- */
typedef struct {
    const Tensor *w;
    const Nest *loop;
    int uses;
} WorkReaders;

static void find_loops(const Nest *n, WorkReaders *r, bool inside)
{
    bool here = n->op == N_LOOP && n->in == r->w;
    for (int k = 0; k < n->nmerge; k++)
        if (n->merge[k] == r->w) r->uses++;
    if (here && !inside && !n->by && !n->unroll) r->loop = n;
    r->uses += here;
    for (int k = 0; k < n->n; k++) find_loops(n->kid[k], r, inside);
    if (n->body) find_loops(n->body, r, inside || n->op == N_LOOP);
    if (n->then) find_loops(n->then, r, inside);
}

bool lanes_only_fills(const Nest *n)
{
    for (int k = 0; n->op == N_SEQ && k < n->n; k++)
        if (!lanes_only_fills(n->kid[k])) return false;
    const Tensor *t = n->op == N_EVAL ? n->eval.lhs->tensor : NULL;
    return n->op == N_SEQ ? n->n > 0 : t && (tensor_gathers(t) || tensor_assembled(t));
}

/* Below the loop stand only assignments: where entries are counted it appends one for each of its coordinates. */
static bool appends(const Nest *loop)
{
    const Nest *n = loop->body;
    for (int k = 0; k < n->n; k++)
        if (n->kid[k]->op != N_EVAL || tensor_gathers(n->kid[k]->eval.lhs->tensor)) return false;
    return n->op == N_SEQ || (n->op == N_EVAL && !tensor_gathers(n->eval.lhs->tensor));
}

/* The loop behind "then" that takes the entries as they come, run exactly once, or null. */
static const Nest *direct_loop(Low *l, const Nest *n)
{
    WorkReaders r = {.w = n->work};
    find_loops(n->then, &r, false);
    if (!r.loop || r.loop->rest || r.uses != 1 || n->work->ndim != 1) return NULL;
    if (counting(l)) return appends(r.loop) && results_need(l, r.loop) ? r.loop : NULL;
    return n->work->bitmap ? r.loop : NULL;
}

static Lane *add_lane(Low *l, const Tensor *w)
{
    if (l->nlane == SC_MAXWORK)
        fail(l->p, SC_ENOTIMPL, -1, "a kernel of the nest has more than %d lane workspaces", SC_MAXWORK);
    Lane *a = &l->lane[l->nlane++];
    *a = (Lane){.work = w};
    return a;
}

static void place(Low *l, const Nest *n)
{
    for (int i = 0; i < l->nlane; i++)
        if (l->lane[i].work == n->work) return;
    Lane *a = add_lane(l, n->work);
    a->reduce = work_reduce(n->body, n->work);
    if (tensor_gathers(n->work)) a->direct = direct_loop(l, n);
    a->spans = !counting(l) && a->direct && span_applies(l, n);
    if (l->mode == MOST) return; /* its entries are not told apart */
    if (n->work->hash)
        place_table(l, a);
    else if (n->work->bitmap)
        place_bitmap(l, a);
    else
        a->val = lane_array(l, n->work, "lane", n->work->dtype, work_size(n->work), false);
}

static void place_terms(Low *l, const Nest *loop)
{
    const Tensor *w = loop->body->work;
    if (l->mode == BODY)
        add_lane(l, w)->val = lane_array(l, w, "terms", w->dtype, batch_size(l, loop), false);
}

static void place_fixed(const Nest *n, void *l)
{
    if (n->op == N_LOOP && n->batch) place_terms(l, n);
    if (n->op == N_WORK && n->work->place == W_LANE && !n->work->hash) place(l, n);
}

static void place_tables(const Nest *n, void *l)
{
    if (n->op == N_WORK && n->work->hash) place(l, n);
}

static void find_unbounded(const Nest *n, void *ctx)
{
    Low *l = ctx;
    if (n->op == N_LOOP && n->rest) l->unbounded = true;
    if (n->op == N_WORK && tensor_gathers(n->work) && !direct_loop(l, n)) l->unbounded = true;
}

static void find_fills(const Nest *n, void *found)
{
    if (n->op == N_LOOP && !n->nmerge && n->kind == L_FOR && lanes_only_fills(n->body)) *(bool *)found = true;
}

bool lanes_bound(Low *l)
{
    bool fills = false;
    l->mode = MOST;
    l->unbounded = false;
    nest_walk(l->kernel, find_unbounded, l);
    nest_walk(l->kernel, find_fills, &fills);
    return fills && !l->unbounded;
}

void lanes_place(Low *l)
{
    nest_walk(l->kernel, place_fixed, l);
    nest_walk(l->kernel, place_tables, l);
}

void lanes_close(Low *l)
{
    for (int i = 0; i < l->nlane; i++)
        if (l->lane[i].mark) keep(l, l->lane[i].last, num(l, 0), now(l, l->lane[i].tag));
}

/* ---- coordinates ---- */
static Val *linear(Low *l, const Expr *access)
{
    Val *at = num(l, 0);
    for (int d = 0; d < access->tensor->ndim; d++)
        at = plus(l, times(l, at, lower_slot_extent(l, &access->tensor->slot[d])),
                  lower_index(l, access->ix[d]));
    return at;
}

/* The same from the arrays of coordinates, at position p. */
static Val *linear_at(Low *l, const Lane *a, Val *p)
{
    Val *at = num(l, 0);
    for (int d = 0; d < a->work->ndim; d++)
        at = plus(l, times(l, at, lower_slot_extent(l, &a->work->slot[d])), load(l, a->crd[d], p));
    return at;
}

/* crd[..][p] := key, taken apart from the last index up. */
static void keep_coordinates(Low *l, const Lane *a, Val *p, Val *key)
{
    for (int d = a->work->ndim - 1; d >= 0; d--) {
        Val *extent = lower_slot_extent(l, &a->work->slot[d]);
        Val *above = d ? lower_let(l, "above", val_op(l->p, O_DIV, key, extent)) : NULL;
        keep(l, a->crd[d], p, d ? val_op(l->p, O_SUB, key, times(l, above, extent)) : key);
        key = above;
    }
}

/* ---- filling ---- */
static void bitmap_store(Low *l, const Lane *a, Val *k, Op op, Val *v)
{
    Prog *p = l->p;
    Val *word = lower_let(l, "word", val_op(p, O_SHR, k, num(l, 6)));
    Val *bit = lower_let(l, "bit", val_op(p, O_SHL, num(l, 1), val_op(p, O_AND, k, num(l, 63))));
    Val *old = lower_let(l, "old", load(l, a->bits, word));
    keep(l, a->bits, word, val_op(p, O_OR, old, bit));
    keep(l, a->filled, word, val_const(p, (Type){SC_BOOL, 1}, 1));
    if (!v) return;
    if (op != O_CONST) {
        Val *both = val_op(p, op, load(l, a->val, k), v);
        Val *fresh_ = val_op(p, O_EQ, val_op(p, O_AND, old, bit), num(l, 0));
        v = op == O_ADD ? both : val_select(p, fresh_, v, both); /* sums start from what is cleared */
    }
    keep(l, a->val, k, v);
}

/* The first slot that a key may be in, as a variable; *mask: the number of the last slot of the table. */
static Local *first_slot(Low *l, Val *key, Val **mask)
{
    Prog *p = l->p;
    *mask = val_op(p, O_SUB, val_param(p, module_param(p, P_SLOTS, 0, 0, "slots")), num(l, 1));
    Val *mixed = val_op(p, O_SHR, times(l, key, num(l, -7046029254386353131)), num(l, 32));
    return lower_mut(l, "slot", val_op(p, O_AND, mixed, *mask));
}

static void next_slot(Low *l, Local *slot, Val *mask)
{ lower_set(l, slot, val_op(l->p, O_AND, plus(l, now(l, slot), num(l, 1)), mask)); }

/* A new key: takes the slot, unless the table is half full. */
static void take_slot(Low *l, const Lane *a, Local *slot, Val *tag)
{
    Prog *p = l->p;
    Stmt *full = lower_put(l, S_IF), **outer = l->tail;
    Val *half = val_op(p, O_SHR, val_param(p, module_param(p, P_SLOTS, 0, 0, "slots")), num(l, 1));
    full->a = val_op(p, O_GE, now(l, a->n), half);
    l->tail = &full->body;
    lower_put(l, S_RETURN)->step = SC_EGROW;
    l->tail = outer;
    keep(l, a->table, now(l, slot), tag);
    keep(l, a->used, now(l, a->n), now(l, slot));
    lower_set(l, a->n, plus(l, now(l, a->n), num(l, 1)));
}

static void table_store(Low *l, const Lane *a, Val *key, Op op, Val *v)
{
    Prog *p = l->p;
    Val *mask, *tag = lower_let(l, "tag", plus(l, key, num(l, 1)));
    Local *slot = first_slot(l, key, &mask);
    Val *here = load(l, a->table, now(l, slot));
    Stmt *probe = lower_put(l, S_WHILE), **outer = l->tail;
    probe->a = val_op(p, O_AND, val_op(p, O_NE, here, num(l, 0)), val_op(p, O_NE, here, tag));
    l->tail = &probe->body;
    next_slot(l, slot, mask);
    l->tail = outer;
    Stmt *empty = lower_put(l, S_IF);
    outer = l->tail;
    empty->a = val_op(p, O_EQ, here, num(l, 0));
    l->tail = &empty->body;
    take_slot(l, a, slot, tag);
    if (v) keep(l, a->val, now(l, slot), v);
    l->tail = &empty->other;
    if (v) keep(l, a->val, now(l, slot), op == O_CONST ? v : val_op(p, op, load(l, a->val, now(l, slot)), v));
    l->tail = outer;
}

static void count_mark(Low *l, const Lane *a, Val *k)
{
    Val *fresh_ = val_op(l->p, O_NE, load(l, a->mark, k), now(l, a->tag));
    lower_set(l, a->n, plus(l, now(l, a->n), val_cast(l->p, I64, fresh_)));
    keep(l, a->mark, k, now(l, a->tag));
}

void sparse_store(Low *l, const Expr *lhs, Op op, Val *v)
{
    const Lane *a = lane_of(l, lhs->tensor);
    if (l->mode == MOST) {
        lower_set(l, a->n, plus(l, now(l, a->n), l->times ? l->times : num(l, 1)));
        return;
    }
    Val *key = lower_let(l, "at", linear(l, lhs));
    if (v) v = lower_let(l, "v", v);
    if (a->work->hash)
        table_store(l, a, key, op, v);
    else if (a->mark)
        count_mark(l, a, key);
    else if (a->way != W_BITS)
        span_store(l, a, key, op, v);
    else
        bitmap_store(l, a, key, op, v);
}

/* The slot of a key that is in the table. */
Val *sparse_slot(Low *l, const Expr *access)
{
    const Lane *a = lane_of(l, access->tensor);
    Val *mask, *key = lower_let(l, "at", linear(l, access)),
               *tag = lower_let(l, "tag", plus(l, key, num(l, 1)));
    Local *slot = first_slot(l, key, &mask);
    Stmt *probe = lower_put(l, S_WHILE), **outer = l->tail;
    probe->a = val_op(l->p, O_NE, load(l, a->table, now(l, slot)), tag);
    l->tail = &probe->body;
    next_slot(l, slot, mask);
    l->tail = outer;
    return now(l, slot);
}

/* ---- reading ---- */
/* Opens loops over the words that have bits, in order, and clears what says so. *outer: the tail behind them. */
static Val *open_words(Low *l, const Lane *a, Stmt ***outer)
{
    Prog *p = l->p;
    Val *n = val_op(p, O_DIV, plus(l, work_elements(l, a->work), num(l, 4095)), num(l, 4096)),
        *first = num(l, 0);
    if (a->spans) {
        first = val_op(p, O_SHR, now(l, a->span.first), num(l, 12));
        n = plus(l, val_op(p, O_SHR, now(l, a->span.last), num(l, 12)), num(l, 1));
    }
    Val *s = val_local(p, lower_for(l, "s", first, n, 1, outer)->local);
    Val *base = times(l, s, num(l, 64));
    Local *left = lower_mut(l, "left", val_marks(p, a->filled, base));
    while_bits(l, now(l, left));
    Val *word = lower_let(l, "word", plus(l, base, val_op(p, O_CTZ, now(l, left), NULL)));
    lower_set(l, left, val_op(p, O_AND, now(l, left), val_op(p, O_SUB, now(l, left), num(l, 1))));
    keep(l, a->filled, word, val_const(p, (Type){SC_BOOL, 1}, 0));
    return word;
}

/* Opens a loop over the coordinates whose bits a word has, and clears the word. */
static Val *open_bits(Low *l, const Lane *a, Val *word, const char *name)
{
    Prog *p = l->p;
    Local *rest = lower_mut(l, "rest", load(l, a->bits, word));
    keep(l, a->bits, word, num(l, 0));
    while_bits(l, now(l, rest));
    Val *k = lower_let(l, name, plus(l, times(l, word, num(l, 64)), val_op(p, O_CTZ, now(l, rest), NULL)));
    lower_set(l, rest, val_op(p, O_AND, now(l, rest), val_op(p, O_SUB, now(l, rest), num(l, 1))));
    return k;
}

static void list_bitmap(Low *l, Lane *a)
{
    Stmt **outer;
    a->n = lower_mut(l, sc_arena_printf(&l->p->arena, "%s_n", a->work->name), num(l, 0));
    Val *word = open_words(l, a, &outer);
    keep_coordinates(l, a, now(l, a->n), open_bits(l, a, word, "at"));
    lower_set(l, a->n, plus(l, now(l, a->n), num(l, 1)));
    l->tail = outer;
}

static void list_table(Low *l, const Lane *a)
{
    Prog *p = l->p;
    Stmt **outer;
    Val *i = val_local(p, lower_for(l, "x", num(l, 0), now(l, a->n), 1, &outer)->local);
    keep(l, a->key, i, val_op(p, O_SUB, load(l, a->table, load(l, a->used, i)), num(l, 1)));
    l->tail = outer;
    Stmt *sort = lower_put(l, S_SORT);
    sort->buf = a->key;
    sort->spare = a->spare;
    sort->a = now(l, a->n);
    if (a->work->ndim == 1) return;
    i = val_local(p, lower_for(l, "x", num(l, 0), now(l, a->n), 1, &outer)->local);
    keep_coordinates(l, a, i, lower_let(l, "at", load(l, a->key, i)));
    l->tail = outer;
}

void sparse_open(Low *l, const Tensor *w)
{
    Lane *a = lane_of(l, w);
    a->counted = true;
    if (a->mark) lower_set(l, a->tag, plus(l, now(l, a->tag), num(l, 1)));
    if (w->hash || a->mark || a->way == W_LIST || l->mode == MOST)
        a->n = lower_mut(l, sc_arena_printf(&l->p->arena, "%s_n", w->name), num(l, 0));
}

void sparse_read(Low *l, const Tensor *w)
{
    Lane *a = lane_of(l, w);
    a->counted = false;
    if (a->way == W_LIST) span_read(l, a);
    if (a->direct) return;
    if (w->hash)
        list_table(l, a);
    else
        list_bitmap(l, a);
}

/* Clears the values, or slots of the hash table, of the entries that are listed. */
void sparse_close(Low *l, const Tensor *w)
{
    const Lane *a = lane_of(l, w);
    Stmt **outer;
    bool sums = w->bitmap && !a->direct && a->reduce == O_ADD && !counting(l);
    if ((!sums && !w->hash) || l->mode == MOST) return;
    Val *i = val_local(l->p, lower_for(l, "x", num(l, 0), now(l, a->n), 1, &outer)->local);
    if (sums)
        keep(l, a->val, linear_at(l, a, i), val_const(l->p, (Type){(uint8_t)w->dtype, 1}, 0));
    else
        keep(l, a->table, load(l, a->used, i), num(l, 0));
    l->tail = outer;
}

bool sparse_direct(Low *l, const Nest *loop)
{ return loop->in && tensor_gathers(loop->in) && lane_of(l, loop->in)->direct == loop; }

Val *sparse_count(Low *l, const Tensor *w)
{
    Val *n = now(l, lane_of(l, w)->n);
    return l->mode == MOST ? val_op(l->p, O_MIN, n, work_elements(l, w)) : n;
}

Val *sparse_bits(Low *l, const Tensor *w, const char *name, Stmt ***outer)
{
    Lane *a = lane_of(l, w);
    return a->way != W_BITS ? span_open(l, a, name, outer) : open_bits(l, a, open_words(l, a, outer), name);
}

void sparse_clear(Low *l, const Tensor *w, Val *k)
{
    Lane *a = lane_of(l, w);
    if (a->way == W_LIST) {
        a->at = NULL;
        return;
    }
    if (a->way == W_BYTES) keep(l, a->bytes, k, val_const(l->p, (Type){SC_BOOL, 1}, 0));
    if (a->reduce == O_ADD) keep(l, a->val, k, val_const(l->p, (Type){(uint8_t)w->dtype, 1}, 0));
}

void sparse_range(Low *l, const Tensor *w, Val **lo, Val **hi)
{
    *lo = num(l, 0);
    *hi = lower_let(l, sc_arena_printf(&l->p->arena, "%s_hi", w->name), sparse_count(l, w));
}
