/* build.c: an assignment and an order of its indices -> nest.
 *
 * One recursion, outermost loop first. At every place the next index of the
 * order that is still needed decides. If the left side has it, a loop over it
 * goes around all that is left. If only sums have it, the sum is opened here:
 *   work w[indices of the left side that are left] { w += what is summed } then { the assignment, reading w }
 * unless the sum can go straight to where it is stored. What a loop runs over
 * follows from absence alone: tensors whose next level is over its index,
 * restricted to those without which nothing is left to do. Tensors that come
 * late, their index bound already, are looked up as soon as they can be.
 *
 * What does not work out (an entry stored everywhere, coordinates that repeat
 * where they must not, levels in blocks against plain ones) gives no nest, and the
 * search turns to another order or format. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "build.h"

static Nest *SC_PRINTF(2, 3) none(Build *b, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    if (!*b->why) vsnprintf(b->why, WHY, fmt, args);
    va_end(args);
    return NULL;
}

static Nest *repeats(Build *b, const Tensor *t)
{
    return none(
        b,
        "coordinates of %s may repeat, so it is neither searched nor merged, and its entries are only added",
        t->name);
}

static Nest *out_of_order(Build *b, const Assign *a, Index ix)
{
    return none(b, "%s is sparse and made in order, and a loop over %s would come back to its entries",
                a->lhs->tensor->name, b->p->var[ix.var].name);
}

/* The sparse tensors that are read, and the operand whose structure the result has. */
static Sources sources_for(const Assign *a)
{
    Sources s = build_sources(a->rhs);
    Tensor *like = a->lhs->tensor->like;
    bool seen = !like;
    for (int k = 0; k < s.n; k++) seen |= s.at[k].t == like;
    if (!seen) s.at[s.n++] = (Source){.t = like, .levels = a->lhs->tensor->shared};
    return s;
}

/* Entries that repeat add up: right only where the value is a product with the entry in it, or, of truth values, with
 * whether it is stored. */
static bool is_linear(const Expr *e, const Tensor *t, bool truth)
{
    if (e->op == O_ACCESS) return e->tensor == t;
    if (e->op == O_NEG || e->op == O_DIV || (e->op == O_STORED && truth))
        return is_linear(e->kid[0], t, truth);
    if (e->op == O_REDUCE) return e->reduce == O_ADD && is_linear(e->kid[0], t, truth);
    return e->op == O_MUL && (is_linear(e->kid[0], t, truth) || is_linear(e->kid[1], t, truth));
}

/* ---- indices ---- */
static void bind(State *s, Index ix)
{
    place_bind(&s->known, ix);
    s->nloop++;
}

static bool next_index(const Build *b, const State *s, const Assign *a, Index *ix)
{
    const uint32_t used = expr_vars(a->lhs) | expr_vars(a->rhs);
    for (int k = 0; k < b->order->n; k++) {
        *ix = b->order->loop[k];
        if (!in(used, ix->var) || place_knows(&s->known, *ix)) continue;
        if (s->by && s->cut == ix->var) *ix = (Index){.var = ix->var, .part = SC_MOD, .block = s->by};
        return true;
    }
    return false;
}

static void advance(State *s, const Sources *src)
{
    for (int k = 0; k < src->n; k++) place_advance(&s->known, src->at[k].t, src->at[k].levels);
}

/* ---- the recursion ---- */
static Nest *nest_of(Build *, State, Assign);

static Nest *eval(Build *b, const State *s, const Assign *a, const Sources *src)
{
    Op op = a->reduce;
    for (int k = 0; k < src->n; k++) {
        Tensor *t = src->at[k].t;
        if (s->known.level[prog_id(b->p, t)] < src->at[k].levels)
            return none(b, "%s has levels in blocks, which do not go with these loops", t->name);
        if (!source_may_repeat(t)) continue;
        const bool truth = a->lhs->tensor->dtype == SC_BOOL;
        if ((op != O_CONST && op != O_ADD) || !is_linear(a->rhs, t, truth) || a->lhs->tensor == b->layout)
            return repeats(b, t);
        op = O_ADD;
    }
    return nest_eval(b->p, a->lhs, op, a->rhs);
}

static Nest *merge_loop(Build *b, Index ix, int n, Tensor *const *t, Nest *body)
{
    if (!body) return NULL;
    Nest *loop = nest_loop(b->p, L_FOR, ix, NULL, body);
    if (n > MAXMERGE) return none(b, "more than %d tensors are merged", MAXMERGE);
    loop->nmerge = n;
    memcpy(loop->merge, t, (size_t)n * sizeof *t);
    return loop;
}

static Nest *looped(Build *b, LoopKind kind, Index ix, Tensor *t, Nest *body)
{ return body ? nest_loop(b->p, kind, ix, t, body) : NULL; }

/* Tensors whose next level is over an index that is bound: `in` where nothing is left without the entry, one
 * merge of the others. What only sums read waits for them. *done: there was such a tensor. */
static Nest *look_up(Build *b, State s, const Assign *a, const Sources *src, bool *done)
{
    Tensor *late[MAXTENSOR];
    Index at = {0};
    int n = 0;
    *done = true;
    for (int k = 0; k < src->n; k++) {
        Tensor *t = src->at[k].t;
        const int id = prog_id(b->p, t), l = s.known.level[id];
        if (l >= src->at[k].levels || !place_knows(&s.known, source_index(t, l))) continue;
        const Index ix = source_index(t, l);
        if (ix.part != SC_WHOLE)
            return none(b, "level %d of %s would be searched, and it is in blocks", l, t->name);
        if (a->lhs->tensor->like == t || build_dead_without(b, a, 1, &t)) {
            s.known.level[id]++;
            return looped(b, L_FOR, ix, t, nest_of(b, s, *a));
        }
        if (!src->at[k].outside || (n && !index_same(ix, at))) continue;
        at = ix;
        late[n++] = t;
    }
    *done = n > 0;
    for (int k = 0; k < n; k++) {
        if (source_may_repeat(late[k])) return repeats(b, late[k]);
        s.known.level[prog_id(b->p, late[k])]++;
    }
    return n ? merge_loop(b, at, n, late, nest_of(b, s, *a)) : NULL;
}

/* What a fresh loop over ix runs in: the number of tensors, 0 for a dense loop. *rest: what is left without all of
 * them is the same everywhere. */
static int choose_sources(Build *b, const State *s, const Assign *a, const Sources *src, Index ix,
                          Tensor **out, bool *rest)
{
    Tensor *next[MAXTENSOR], *optional[MAXTENSOR];
    int n = 0, needed = 0, left = 0;
    *rest = false;
    for (int k = 0; k < src->n; k++) {
        Tensor *t = src->at[k].t;
        const int l = s->known.level[prog_id(b->p, t)];
        if (l >= src->at[k].levels || !source_kind(t, l)->crd || !index_same(source_index(t, l), ix))
            continue;
        next[n++] = t;
        if (a->lhs->tensor->like == t) {
            *out = t;
            return 1;
        }
        if (build_dead_without(b, a, 1, &t))
            out[needed++] = t;
        else if (src->at[k].outside)
            optional[left++] = t;
    }
    if (needed && b->p->skip) return 1;
    if (needed) {
        memcpy(out + needed, optional, (size_t)left * sizeof *out);
        return needed + left;
    }
    if (!n) return 0;
    const bool dead = build_dead_without(b, a, n, next);
    *rest = !dead && build_repeats_without(b, a, ix.var, n, next);
    if (!dead && !*rest) return 0;
    memcpy(out, next, (size_t)n * sizeof *out);
    return n;
}

/* A loop over the result's own index adds a level to its format. */
static bool add_level(Build *b, const Assign *a, Index ix, bool dense)
{
    sc_format *f = &b->made;
    const bool compressed = !(dense && b->dense_so_far);
    if (ix.part != SC_WHOLE || (dense && compressed)) return false;
    b->dense_so_far &= dense;
    int d = 0;
    while (a->lhs->ix[d].var != ix.var) d++;
    f->ndim = a->lhs->tensor->ndim;
    f->level[f->nlevel++] =
        (sc_levelspec){.kind = compressed ? SC_COMPRESSED : SC_DENSE, .unique = 1, .dim = (uint8_t)d};
    return f->nlevel < f->ndim || compressed;
}

static bool is_vector(const Build *b, const State *inside, const Assign *a)
{
    Index ix;
    State s = *inside;
    const Sources src = sources_for(a);
    if (a->rhs->op == O_REDUCE || a->lhs->tensor == b->layout || next_index(b, &s, a, &ix)) return false;
    advance(&s, &src);
    for (int k = 0; k < src.n; k++) {
        const Tensor *t = src.at[k].t;
        const int before = inside->known.level[prog_id(b->p, t)], now = s.known.level[prog_id(b->p, t)];
        if (now < src.at[k].levels || (now > before && (now > before + 1 || t->perm))) return false;
    }
    return true;
}

static int positions_at_a_time(const Build *b, const Assign *a, const Tensor *t, int level, const Nest *body)
{
    const bool vec = body->op == N_LOOP && body->kind == L_VEC;
    if (a->lhs->tensor->place != W_REG || a->lhs->tensor->role != T_WORK || t->role != T_IN) return 0;
    if (body->op != N_EVAL && !vec) return 0;
    const Var *x = vec && a->lhs->tensor->ndim ? &b->p->var[body->ix.var] : NULL;
    return source_unroll(b->p, t, level, !x ? 1 : x->fold ? x->extent : 0);
}

/* The operand that a dense parallel loop is balanced by. */
static Tensor *weighs(const Build *b, const State *s, const Sources *src, Index ix)
{
    for (int k = 0; k < src->n; k++) {
        Tensor *t = src->at[k].t;
        if (t->role == T_IN && !s->known.level[prog_id(b->p, t)] && !source_kind(t, 0)->crd &&
            index_same(source_index(t, 0), ix))
            return t;
    }
    return NULL;
}

/* A loop over ix in n tensors, a dense one where that is 0. */
static Nest *loop_in(Build *b, State s, Assign a, const Sources *src, Index ix, int n, Tensor *const *t,
                     bool rest)
{
    const bool own = in(expr_vars(a.lhs), ix.var), fresh = !s.par && build_shares(a.lhs->tensor);
    bool par = fresh && (own || a.lhs->tensor->place == W_PRIVATE);
    const bool every = !n && tensor_gathers(a.lhs->tensor) && in(b->covered, ix.var);
    if (own && (every || (a.lhs->tensor == b->layout && !add_level(b, &a, ix, !n))))
        return none(b, "%s is sparse, and every coordinate of %s would be stored", b->layout->name,
                    b->p->var[ix.var].name);
    const int level = n == 1 ? s.known.level[prog_id(b->p, t[0])] : 0;
    Tensor *first = par && !n ? weighs(b, &s, src, ix) : NULL;
    for (int k = 0; k < n; k++) {
        if (n > 1 && source_may_repeat(t[k])) return repeats(b, t[k]);
        if (s.known.level[prog_id(b->p, t[k])]++) par = false;
    }
    if (fresh && own && !par && a.lhs->tensor == b->layout) return out_of_order(b, &a, ix);
    bind(&s, ix);
    s.par |= par;
    if (!par && !n && is_vector(b, &s, &a) &&
        (build_runs_along(a.rhs, ix.var) || build_runs_along(a.lhs, ix.var))) {
        a.rhs = schedule_scalars_first(b->p, a.reduce, a.rhs, ix.var);
        return looped(b, L_VEC, ix, NULL, nest_of(b, s, a));
    }
    Nest *body = nest_of(b, s, a);
    if (!body) return NULL;
    if (n > 1 || (rest && par)) {
        body = merge_loop(b, ix, n, t, body);
        if (!body) return NULL;
        if (par) body->kind = L_PAR;
        body->rest = rest;
        return body;
    }
    body = looped(b, par ? L_PAR : L_FOR, ix, n ? t[0] : first, body);
    body->rest = rest;
    if (n && !par) body->unroll = positions_at_a_time(b, &a, t[0], level, body->body);
    return body;
}

/* ---- a value everywhere, and another where entries are stored ---- */
typedef struct {
    int n;
    Tensor *t[MAXMERGE]; /* all that the loop would look up */
    uint64_t set;
    Expr *part; /* of the right side, the smallest that is something without their entries */
} Beside;

static bool may_lack(const Expr *e, const void *unused)
{
    (void)unused;
    return e->op == O_ACCESS && (e->tensor->role == T_WORK || !sc_format_is_dense(&e->tensor->format));
}

/* Whether there is something, and nothing of it can be absent: else nothing may be assigned where it is, and nobody fills a
 * workspace. */
static bool is_everywhere(const Expr *e) { return e && !expr_any(e, may_lack, NULL); }

static bool find_beside(Build *b, const State *s, const Assign *a, const Sources *src, Index ix, Beside *x)
{
    *x = (Beside){0};
    for (int k = 0; k < src->n; k++) {
        Tensor *t = src->at[k].t;
        const int l = s->known.level[prog_id(b->p, t)];
        if (l >= src->at[k].levels) continue;
        if (!source_kind(t, l)->crd || !index_same(source_index(t, l), ix) || x->n == MAXMERGE) return false;
        x->set |= tensor_bit(b->p, t);
        x->t[x->n++] = t;
    }
    if (!x->n || b->p->skip || a->lhs->tensor->like || expr_has(a->rhs, O_REDUCE)) return false;
    if (!expr_absent(b->p, a->rhs, x->set)) return false;
    x->part = expr_beside(b->p, a->rhs, x->set);
    return is_everywhere(expr_absent(b->p, x->part, x->set));
}

/* work w { what has another value at entries } then { the assignment, reading w } */
static Nest *beside_in_work(Build *b, const State *s, Assign a, Index ix, const Beside *x)
{
    for (int v = 0; v < b->p->nvar; v++)
        if (in(expr_vars(x->part), v) && v != ix.var && !place_knows(&s->known, index_whole(v))) return NULL;
    if (!s->par || ix.part != SC_WHOLE) return NULL;
    Tensor *w = work_new(b->p, "w", W_LANE);
    work_slot(w, ix);
    Expr *slot = work_access(b->p, w);
    Nest *fill = nest_of(b, *s, (Assign){slot, O_CONST, x->part});
    a.rhs = expr_replace(b->p, a.rhs, x->part, slot);
    Nest *use = fill ? nest_of(b, *s, a) : NULL;
    return use ? nest_work(b->p, w, fill, use) : NULL;
}

/* What is left without entries is assigned everywhere, by vectors, and what has entries is assigned behind it. */
static Nest *beside_dense(Build *b, const State *s, Assign a, const Sources *src, Index ix, const Beside *x)
{
    const Tensor *to = a.lhs->tensor;
    if (a.reduce != O_CONST || !in(expr_vars(a.lhs), ix.var)) return beside_in_work(b, s, a, ix, x);
    Expr *left = expr_absent(b->p, a.rhs, x->set);
    if (!is_everywhere(left)) return NULL;
    const bool work = to->role == T_WORK;
    if (work ? to->place == W_REG || tensor_gathers(to) : to == b->layout || !sc_format_is_dense(&to->format))
        return NULL;
    Nest *item[] = {nest_of(b, *s, (Assign){a.lhs, O_CONST, left}), NULL};
    if (item[0]) item[1] = loop_in(b, *s, a, src, ix, x->n, x->t, false);
    return item[1] ? nest_seq(b->p, 2, item) : NULL;
}

static Nest *loop(Build *b, State s, Assign a, const Sources *src, Index ix)
{
    Tensor *t[MAXTENSOR];
    Beside x;
    bool rest;
    const int n = choose_sources(b, &s, &a, src, ix, t, &rest);
    Nest *two = !n && find_beside(b, &s, &a, src, ix, &x) ? beside_dense(b, &s, a, src, ix, &x) : NULL;
    return two ? two : loop_in(b, s, a, src, ix, n, t, rest);
}

/* ---- sums ---- */
/* work w { w op= body } then { lhs = ... w ... }; r: the O_REDUCE node, null where the assignment itself sums */
static Nest *sum(Build *b, State s, Assign a, const Sources *src, Expr *r, Index ix)
{
    Prog *p = b->p;
    const bool copies =
        a.lhs->tensor->role == T_WORK && a.lhs->tensor->place == W_PRIVATE; /* filled by one kernel */
    const bool whole = !r || r == a.rhs, top = !s.nloop && !s.par && !copies;
    const Op op = r ? r->reduce : a.reduce;
    Expr *body = r ? r->kid[0] : a.rhs;
    const Left left = build_left(b, &s, r ? expr_free(r) : expr_vars(a.lhs) & expr_free(body));
    if (whole && (a.reduce == op || a.reduce == O_CONST) && build_goes_straight(b, &s, &a, body, &left)) {
        const Assign straight = {a.lhs, op, body};
        s.par |= top;
        return r ? nest_of(b, s, straight) : loop(b, s, straight, src, ix);
    }
    const bool reg = !top && build_fits_registers(b, &s, &a, body, &left);
    const int tile = reg && left.n ? schedule_register_tile(p, left.left[0].var, 1) : 0;
    Index slot = left.left[0], outer = slot;
    if (tile) {
        slot.part = SC_MOD, outer.part = SC_DIV, slot.block = outer.block = tile;
        s.cut = slot.var, s.by = tile;
        bind(&s, outer);
    }
    Tensor *w = work_new(p, reg ? "c" : "w", top ? W_PRIVATE : reg ? W_REG : W_LANE);
    for (int k = 0; k < left.n; k++) work_slot(w, k ? left.left[k] : slot);
    Expr *by = r ? build_known_factors(b, &s, r, &left, &body) : NULL;
    const Assign fill = {work_access(p, w), op, body};
    Expr *value = by ? expr_new(p, O_MUL, by, fill.lhs) : fill.lhs;
    Expr *after = whole ? value : expr_replace(p, a.rhs, r, value);
    const Assign use = {a.lhs, a.reduce, build_at_entries(b, &a, &left, after)};
    if (!use.rhs) return none(b, "entries of %s are not known where its sum is", a.lhs->tensor->name);
    if (w->place == W_LANE) build_choose_kind(b, &use, w, body, &left);
    if (r && !whole && !build_has_terms(b, &s, r, &use, w, &left))
        return none(b, "a sum that is taken first might have no term");
    if (top && a.lhs->tensor == b->layout) return out_of_order(b, &a, ix);
    s.par |= !top;
    Nest *first = nest_of(b, s, fill), *then = first ? nest_of(b, s, use) : NULL;
    if (!then) return NULL;
    Nest *n = nest_work(p, w, first, then);
    return tile ? nest_loop(p, L_FOR, outer, NULL, n) : n;
}

static Expr *reduce_over(Expr *e, int v)
{
    if (e->op == O_REDUCE && in(expr_vars(e), v)) return e;
    Expr *found = e->kid[0] ? reduce_over(e->kid[0], v) : NULL;
    return found || !e->kid[1] ? found : reduce_over(e->kid[1], v);
}

/* An assembled result has no entry where its sum has no term: the sums along its last index go through a workspace,
 * which says where there are terms. */
static bool sums_apart(const Build *b, const State *s, const Assign *a, Index ix)
{
    const Expr *r = a->rhs;
    if (a->lhs->tensor != b->layout || r->op != O_REDUCE || r->reduce != O_ADD || ix.part != SC_WHOLE ||
        !s->nloop)
        return false;
    return build_left(b, s, expr_vars(a->lhs)).n == 1 && build_may_lack_terms(b, s, a, r->kid[0], r->vars);
}

static Nest *nest_of(Build *b, State s, Assign a)
{
    Index ix;
    bool done;
    const Sources src = sources_for(&a);
    advance(&s, &src);
    Nest *n = look_up(b, s, &a, &src, &done);
    if (done) return n;
    if (!next_index(b, &s, &a, &ix)) return eval(b, &s, &a, &src);
    if (in(expr_vars(a.lhs), ix.var))
        return sums_apart(b, &s, &a, ix) ? sum(b, s, a, &src, a.rhs, ix) : loop(b, s, a, &src, ix);
    Expr *r = in(expr_free(a.rhs), ix.var) ? NULL : reduce_over(a.rhs, ix.var);
    return sum(b, s, a, &src, r, ix);
}

Nest *schedule_build(Prog *p, const Assign *a, const Order *order, char why[WHY])
{
    Tensor *t = a->lhs->tensor;
    Build b = {.p = p, .order = order, .dense_so_far = true, .why = why};
    *why = 0;
    if (t->role == T_OUT && t->ndim && !t->format.nlevel) b.layout = t, b.covered = expr_covered(p, a->rhs);
    const State top = {0};
    Nest *n = nest_of(&b, top, *a);
    if (!n || !b.layout) return n;
    if (b.made.nlevel < t->ndim)
        return none(&b, "%s is sparse, and not all of its indices have loops that make it in order", t->name);
    t->format = b.made;
    return n;
}
