/* eval.c: evaluations, scalar or one vector piece at a time.
 *
 * Under a vector loop an expression is a vector where it depends on the loop's
 * index, else a scalar that is computed once in front of the pieces; the part of
 * an address that the index does not change is computed once too. */
#include "private.h"

#include <stdio.h>
#include <string.h>

/* ---- indices ---- */
static bool is_vec(const Low *l, Index ix)
{ return l->e.vec.on && ix.var == l->e.vec.ix.var && ix.part != SC_DIV && !ix.slot; }

/* Value of an index apart from what the pieces add to it. */
static Val *index_base(Low *l, const Expr *at, Index ix)
{
    if (is_vec(l, ix)) {
        const Coord *c = &l->e.coord[ix.var];
        if (c->within && ix.part == SC_MOD && ix.block == c->outer) return c->within;
        return ix.part == SC_WHOLE && l->e.vec.ix.part == SC_MOD ? c->base : val_int(l->p, 0);
    }
    Val *v = lower_index(l, ix);
    if (!v)
        fail(l->p, SC_EVALUE, at->pos, "index %s of %s is not bound here: put a loop over it around",
             l->p->var[ix.var].name, at->tensor->name);
    return v;
}

static bool depends(const Low *l, const Expr *e)
{
    if (!l->e.vec.on) return false;
    for (int d = 0; e->op == O_ACCESS && d < e->tensor->ndim; d++)
        if (is_vec(l, e->ix[d])) return true;
    return (e->kid[0] && depends(l, e->kid[0])) || (e->kid[1] && depends(l, e->kid[1]));
}

static Val *memo_find(Low *l, const Expr *e)
{
    for (int i = 0; i < l->nmemo; i++)
        if (l->memo[i].e == e) return l->memo[i].v;
    return NULL;
}

static Val *memo_add(Low *l, const Expr *e, Val *v)
{
    if (l->nmemo < MAXMEMO) {
        l->memo[l->nmemo].e = e;
        l->memo[l->nmemo++].v = v;
    }
    return v;
}

/* ---- addresses ---- */
static void add_term(Low *l, Address *a, const Expr *e, int d, Val *stride)
{
    a->base = plus(l, a->base, times(l, index_base(l, e, e->ix[d]), stride));
    if (is_vec(l, e->ix[d])) a->stride = a->stride ? plus(l, a->stride, stride) : stride;
}

static void strided_address(Low *l, const Expr *e, Address *a)
{
    const Tensor *t = e->tensor;
    for (int d = 0; d < t->ndim; d++) add_term(l, a, e, d, lower_stride(l, t, d));
}

Val *lower_value_place(Low *l, const Tensor *t, Val *pos)
{ return t->perm ? lower_load_index(l, lower_buf(l, B_PERM, t, 0), pos) : pos; }

/* The position of a stored entry; a dense last level may be the vector index, and a result's own levels follow those
 * that it shares. */
static void stored_address(Low *l, const Expr *e, Address *a)
{
    const Tensor *r = e->tensor, *t = r->like ? r->like : r;
    const Where *w = lower_where(l, t);
    const int n = r->like ? r->shared : t->format.nlevel, level = lower_level(l, t);
    Index ix = tensor_level_index(t, n - 1);
    if (level >= n) {
        a->base = r->role != T_IN ? w->pos[n] : lower_value_place(l, t, w->pos[n]);
    } else {
        const Fibre *f = l->e.vec.fibre;
        if (level != n - 1 || !is_vec(l, ix) || !index_same(ix, l->e.vec.ix) ||
            (sc_kind_of(&t->format.level[n - 1])->crd && (!f || f->t != t)))
            fail(l->p, SC_EVALUE, e->pos,
                 "the stored entry of %s is not known here: its level %d has no loop around", t->name, level);
        a->base = f ? f->lo : times(l, w->pos[n - 1], lower_slot_extent(l, &ix));
        a->stride = val_int(l->p, 1);
    }
    for (int k = n; r->like && k < r->format.nlevel; k++) {
        ix = tensor_level_index(r, k);
        Val *size = lower_slot_extent(l, &ix);
        a->base = times(l, a->base, size);
        if (a->stride) a->stride = times(l, a->stride, size);
        add_term(l, a, e, r->format.level[k].dim, val_int(l->p, 1));
    }
}

#define SHORT 3       /* operators of an address at most: one with more becomes a local */
#define SHORT_TWICE 1 /* the same of an address that stands in the text twice */

static int operators(const Val *v)
{
    int n = op_infix(v->op);
    for (int k = 0; k < 2; k++) n += v->kid[k] ? operators(v->kid[k]) : 0;
    return n;
}

static Val *base_let(Low *l, const Tensor *t, Val *base)
{ return lower_let(l, sc_arena_printf(&l->p->arena, "%s_at", t->name), base); }

Address lower_address(Low *l, const Expr *e, bool twice)
{
    const Tensor *t = e->tensor;
    Address a = {.base = val_int(l->p, 0)};
    if (t->role == T_WORK) {
        a.buf = work_buf(l, t);
        const Lane *lane = t->place == W_LANE ? lane_of(l, t) : NULL;
        if (lane && lane->at)
            a.buf = lane->terms, a.base = lane->at;
        else if (t->hash)
            a.base = sparse_slot(l, e);
        else
            strided_address(l, e, &a);
    } else {
        a.buf = lower_buf(l, B_VAL, t, 0);
        if (sc_format_is_dense(&t->format))
            strided_address(l, e, &a);
        else
            stored_address(l, e, &a);
    }
    if (a.stride && val_is_int(a.stride, 1)) a.stride = NULL;
    if (depends(l, e)) {
        Val *known = memo_find(l, e);
        a.base = known ? known : memo_add(l, e, base_let(l, t, a.base));
    } else if (operators(a.base) > (twice ? SHORT_TWICE : SHORT)) {
        a.base = base_let(l, t, a.base);
    }
    return a;
}

Val *lower_piece_at(Low *l, const Address *a)
{
    const Vec *v = &l->e.vec;
    Val *off = v->at ? plus(l, v->at, val_int(l->p, v->off)) : val_int(l->p, v->off);
    return plus(l, a->base, a->stride ? times(l, off, a->stride) : off);
}

/* ---- values ---- */
static Val *widen(Low *l, Val *v, int lanes)
{ return val_cast(l->p, (Type){v->type.dtype, (uint8_t)lanes}, v); }

/* Copies of a private workspace are summed, in lane order, where it is read. */
static Val *sum_copies(Low *l, const Expr *e, const Address *a, Val *at, int lanes)
{
    Prog *p = l->p;
    const Tensor *w = e->tensor;
    Val *size = work_elements(l, w);
    int slot = work_shared_slot(l, w);
    Op op = l->shared[slot].reduce;
    Type type = {(uint8_t)w->dtype, (uint8_t)lanes};
    Local *sum = lower_mut(l, w->name, val_const(p, type, op_identity(op)));
    Val *copies = val_param(p, module_param(p, P_COPIES, slot, 0, "copies"));
    Stmt **outer;
    Stmt *s = lower_for(l, "copy", val_int(p, 0), copies, 1, &outer);
    Val *from = plus(l, times(l, val_local(p, s->local), size), at);
    lower_set(l, sum, val_op(p, op, val_local(p, sum), val_load(p, a->buf, lanes, from, a->stride)));
    l->tail = outer;
    return val_local(p, sum);
}

/* Entries of one coordinate are one entry, their sum. */
static Val *sum_run(Low *l, const Tensor *t)
{
    Prog *p = l->p;
    const Where *w = lower_where(l, t);
    Stmt **outer;
    Type type = {(uint8_t)p->type, 1};
    Local *sum = lower_mut(l, t->name, val_const(p, type, 0));
    Stmt *s = lower_for(l, "q", w->lo, w->hi, 1, &outer);
    Val *v = val_load(p, lower_buf(l, B_VAL, t, 0), 1, lower_value_place(l, t, val_local(p, s->local)), NULL);
    lower_set(l, sum, val_op(p, O_ADD, val_local(p, sum), val_cast(p, type, v)));
    l->tail = outer;
    return val_local(p, sum);
}

/* A dense operand at the coordinates of the entries that a vector loop runs over. */
static Val *picked(Low *l, const Address *a)
{
    const Vec *v = &l->e.vec;
    Buf *crd = lower_buf(l, B_CRD, v->fibre->t, v->fibre->t->format.nlevel - 1);
    Val *at = plus(l, v->coords ? v->coords : v->fibre->lo, plus(l, v->at, val_int(l->p, v->off)));
    if (v->lanes > 1)
        return val_pick(l->p, a->buf, v->lanes, a->base, a->stride, val_load(l->p, crd, v->lanes, at, NULL));
    Val *c = lower_load_index(l, crd, at);
    return val_load(l->p, a->buf, 1, plus(l, a->base, a->stride ? times(l, c, a->stride) : c), NULL);
}

/* Entries of a word, which its loop has spread to their lanes. */
static bool is_spread(const Low *l, const Expr *e)
{ return l->e.vec.entry && e->tensor == l->e.vec.fibre->t; }

static Val *access_val(Low *l, const Expr *e)
{
    const Tensor *t = e->tensor;
    if (t->role == T_WORK && t->place == W_REG)
        return val_local(l->p, register_find(l, t, e, l->e.copy)->local);
    bool vec = depends(l, e);
    Val *lanes_of = l->e.spread ? spread_access(l, t) : NULL;
    if (lanes_of) return lanes_of;
    if (tensor_is_sparse(t) && lower_where(l, t)->lo && lower_level(l, t) == t->format.nlevel)
        return sum_run(l, t);
    if (is_spread(l, e))
        return val_cast(l->p, (Type){(uint8_t)l->p->type, (uint8_t)l->e.vec.lanes}, l->e.vec.entry);
    Address a = lower_address(l, e, false);
    int lanes = vec ? l->e.vec.lanes : 1;
    const Type type = {(uint8_t)l->p->type, (uint8_t)lanes};
    if (vec && l->e.vec.fibre && (!l->e.vec.bits || l->e.vec.coords) && nest_picks(e, l->e.vec.ix.var))
        return val_cast(l->p, type, picked(l, &a));
    Val *at = vec ? lower_piece_at(l, &a) : a.base;
    if (t->role == T_WORK && t->place == W_PRIVATE && t != l->filling) return sum_copies(l, e, &a, at, lanes);
    if (vec && l->e.vec.bits && t != l->e.vec.fibre->t)
        return val_cast(l->p, type, val_masked(l->p, a.buf, lanes, at, l->e.vec.bits));
    return val_cast(l->p, type, val_load(l->p, a.buf, lanes, at, vec ? a.stride : NULL));
}

static Val *operation(Low *l, const Expr *e)
{
    Prog *p = l->p;
    Val *a = lower_value(l, e->kid[0]), *b = e->kid[1] ? lower_value(l, e->kid[1]) : NULL;
    if (b && a->type.lanes != b->type.lanes) {
        if (a->type.lanes == 1)
            a = widen(l, a, b->type.lanes);
        else
            b = widen(l, b, a->type.lanes);
    }
    Val *v = val_op(p, e->op, a, b);
    return v->type.dtype == SC_BOOL && a->type.dtype != SC_BOOL ? val_cast(p, a->type, v) : v;
}

static const char *stem(Low *l, const Expr *e)
{
    if (e->op != O_ACCESS) return "factor";
    char *s = sc_arena_printf(&l->p->arena, "%s", e->tensor->name);
    for (char *c = s; *c; c++)
        if (*c >= 'A' && *c <= 'Z') *c = (char)(*c - 'A' + 'a');
    return s;
}

static bool in_register(const Expr *e)
{ return e->op == O_ACCESS && e->tensor->role == T_WORK && e->tensor->place == W_REG; }

/* A value that is computed once, in front of the pieces. A bf16 stays what it is: to fill the lanes of a vector with it
 * takes less than to make an f32 first. */
static Val *hoisted(Low *l, const char *stem, Val *v)
{
    const bool short_float = v->op == O_CAST && v->kid[0]->type.dtype == SC_BF16 && v->type.lanes == 1;
    return short_float ? val_cast(l->p, v->type, lower_let(l, stem, v->kid[0])) : lower_let(l, stem, v);
}

Val *lower_value(Low *l, const Expr *e)
{
    if (l->e.blend) return blend_value(l, e);
    if (e->op == O_CONST) return val_const(l->p, (Type){(uint8_t)l->p->type, 1}, e->c);
    if (e->op == O_STORED) return val_const(l->p, (Type){(uint8_t)l->p->type, 1}, 1);
    const bool once = !depends(l, e) && !in_register(e);
    Val *v = once ? memo_find(l, e) : NULL;
    if (v) return v;
    v = e->op == O_ACCESS ? access_val(l, e) : operation(l, e);
    return once && l->e.vec.on ? memo_add(l, e, hoisted(l, stem(l, e), v)) : v;
}

/* ---- stores ---- */
static void batch_term(Low *l, Val *v)
{
    Batch *b = l->e.batch;
    const Tensor *t = b->loop->in; /* dense levels below the entry may be resolved too */
    const Vec *vec = &l->e.vec;
    Val *entry = vec->on ? plus(l, vec->fibre->lo, val_int(l->p, vec->off))
                         : lower_where(l, t)->pos[nest_loop_level(b->loop) + 2];
    b->term[b->nterm].at = val_op(l->p, O_SUB, entry, b->first);
    b->term[b->nterm++].value = lower_let(l, "term", vec->on ? widen(l, v, vec->lanes) : v);
}

static void lower_append(Low *l, const Nest *n, const Tensor *t)
{
    Prog *p = l->p;
    int level = t->format.nlevel - 1;
    Local *next = result_cursor(l, t, level);
    Val *at = val_local(p, next);
    if (!counting(l)) {
        Address val = {.buf = lower_buf(l, B_VAL, t, 0)};
        Val *v = val_cast(p, (Type){(uint8_t)t->dtype, 1}, lower_value(l, n->eval.rhs));
        result_put_index(l, B_CRD, t, level, at, lower_index(l, tensor_level_index(t, level)));
        lower_store(l, &val, at, O_CONST, v);
    }
    lower_set(l, next, val_op(p, O_ADD, at, l->times ? l->times : val_int(p, 1)));
}

/* What a sum into the tensor takes for all coordinates of the rests around, given the value at one. */
static Val *times_rests(Low *l, const Tensor *t, Op op, Val *v)
{
    Prog *p = l->p;
    for (const Rest *r = l->e.rest; r && op == O_ADD; r = r->around) {
        if (tensor_bit(p, t) & r->inner) break;
        Val *times = val_cast(p, (Type){v->type.dtype, 1}, r->times);
        v = val_op(p, O_MUL, v, val_cast(p, v->type, times));
    }
    return v;
}

void lower_assign(Low *l, const Expr *lhs, Op op, Val *v)
{
    Prog *p = l->p;
    const Tensor *t = lhs->tensor;
    bool vec = depends(l, lhs);
    v = times_rests(l, t, op, v);
    if (vec) v = widen(l, v, l->e.vec.lanes);
    if (l->e.batch && l->e.batch->work == t && !l->e.batch->sum) {
        batch_term(l, v);
        return;
    }
    if (t->role == T_WORK && t->place == W_REG) {
        Local *r = register_find(l, t, lhs, l->e.copy)->local;
        lower_set(l, r, op == O_CONST ? v : val_op(p, op, val_local(p, r), v));
    } else if (tensor_gathers(t)) {
        sparse_store(l, lhs, op, v);
    } else {
        Address a = lower_address(l, lhs, op != O_CONST);
        lower_store(l, &a, vec ? lower_piece_at(l, &a) : a.base, op, v);
    }
}

void lower_eval(Low *l, const Nest *n)
{
    Nest copy = *n;
    const Tensor *t = n->eval.lhs->tensor;
    Op op = n->eval.reduce;
    copy.eval.rhs = eval_absent(l->p, &n->eval, l->e.absent);
    if (!copy.eval.rhs) return;
    const bool counts = tensor_assembled(t) || tensor_gathers(t);
    if ((!l->e.vec.on || l->e.vec.rows) && (!counting(l) || counts)) lower_note(l, &copy);
    if (tensor_assembled(t))
        lower_append(l, &copy, t);
    else if (counting(l) && counts)
        sparse_store(l, n->eval.lhs, op, NULL);
    else if (!counting(l))
        lower_assign(l, n->eval.lhs, op, lower_value(l, copy.eval.rhs));
}

/* ---- loops that store ---- */
/* Whether all that the value is made of can be read here. */
static bool known_here(Low *l, const Expr *e)
{
    if (e->op != O_ACCESS)
        return e->op != O_REDUCE && (!e->kid[0] || known_here(l, e->kid[0])) &&
               (!e->kid[1] || known_here(l, e->kid[1]));
    const Tensor *t = e->tensor;
    if (t->role != T_IN || tensor_bit(l->p, t) & l->e.absent) return false;
    if (!sc_format_is_dense(&t->format))
        return lower_level(l, t) == t->format.nlevel && !lower_where(l, t)->lo;
    for (int d = 0; d < t->ndim; d++)
        if (!lower_index(l, e->ix[d])) return false;
    return true;
}

static void read_known(Low *l, const Expr *e)
{
    if (e->op == O_CONST || e->op == O_STORED) return;
    if (known_here(l, e)) {
        memo_add(l, e, hoisted(l, stem(l, e), lower_value(l, e)));
        return;
    }
    for (int k = 0; k < 2; k++)
        if (e->kid[k]) read_known(l, e->kid[k]);
}

void lower_known(Low *l, const Nest *n)
{
    if (n->op == N_SEQ)
        for (int k = 0; k < n->n; k++) lower_known(l, n->kid[k]);
    else if (n->op == N_EVAL && !counting(l) && !in_register(n->eval.lhs))
        read_known(l, n->eval.rhs);
}

/* ---- vector loops ---- */
static void each_eval(Low *l, const Nest *n, void (*f)(Low *, const Nest *, void *), void *ctx)
{
    if (n->op == N_EVAL)
        f(l, n, ctx);
    else if (n->op == N_SEQ)
        for (int i = 0; i < n->n; i++) each_eval(l, n->kid[i], f, ctx);
    else
        fail(l->p, SC_EVALUE, -1, "a vec loop holds evaluations only");
}

void lower_hoist(Low *l, const Expr *e)
{
    if (e->op == O_CONST) return;
    if (!depends(l, e)) {
        lower_value(l, e);
        return;
    }
    if (e->op == O_ACCESS && !in_register(e) && !is_spread(l, e)) lower_address(l, e, false);
    for (int k = 0; k < 2; k++)
        if (e->kid[k]) lower_hoist(l, e->kid[k]);
}

static void hoist(Low *l, const Nest *n, void *ctx)
{
    (void)ctx;
    lower_hoist(l, n->eval.rhs);
    if (depends(l, n->eval.lhs) && !in_register(n->eval.lhs)) lower_address(l, n->eval.lhs, false);
}

/* The note of an evaluation that is one of several. */
static void vec_note(Low *l, const Nest *n)
{
    if (l->e.vec.several) lower_note(l, n);
}

typedef struct {
    int64_t extent;
    int var;
} Vector;

static void const_eval(Low *l, const Nest *n, void *ctx)
{
    const Vector *x = ctx;
    Piece piece[MAXREG];
    sc_dtype type = l->p->type;
    int k = register_pieces(l, type, x->extent, x->var, piece);
    bool over = depends(l, n->eval.lhs);
    Val *sum[65] = {NULL}, *total = NULL; /* partial sums by number of lanes */
    vec_note(l, n);
    for (int i = 0; i < k; i++) {
        l->e.vec.off = piece[i].off;
        l->e.vec.lanes = piece[i].lanes;
        if (over) {
            lower_eval(l, n);
            continue;
        }
        Val *v = widen(l, lower_value(l, n->eval.rhs), piece[i].lanes), **s = &sum[piece[i].lanes];
        *s = *s ? val_op(l->p, n->eval.reduce, *s, v) : v;
    }
    for (int i = 64; i && !over; i /= 2) {
        if (!sum[i]) continue;
        Val *h = val_hred(l->p, n->eval.reduce, sum[i]);
        total = total ? val_op(l->p, n->eval.reduce, total, h) : h;
    }
    if (total) lower_assign(l, n->eval.lhs, n->eval.reduce, total);
}

#define SUMS 4 /* side by side, at most */

/* A vector accumulator for each reduction of a loop whose extent is known at run time only. */
typedef struct {
    Local *sum[8];
    Op op[8];
    int n;
} PartialSums;

static void open_sum(Low *l, const Nest *n, void *ctx)
{
    PartialSums *s = ctx;
    if (depends(l, n->eval.lhs)) return;
    if (s->n == SC_LEN(s->sum))
        fail(l->p, SC_ENOTIMPL, -1, "a vec loop of run-time extent has at most %d reductions: split it",
             s->n);
    Type t = {(uint8_t)l->p->type, (uint8_t)l->e.vec.lanes};
    s->op[s->n] = n->eval.reduce;
    s->sum[s->n++] = lower_mut(l, "sum", val_const(l->p, t, op_identity(n->eval.reduce)));
}

static void close_sum(Low *l, const Nest *n, void *ctx)
{
    PartialSums *s = ctx;
    if (depends(l, n->eval.lhs)) return;
    lower_assign(l, n->eval.lhs, n->eval.reduce,
                 val_hred(l->p, n->eval.reduce, val_local(l->p, s->sum[s->n++])));
}

static void run_eval(Low *l, const Nest *n, void *ctx)
{
    PartialSums *s = ctx;
    if (s) vec_note(l, n);
    if (depends(l, n->eval.lhs)) {
        lower_eval(l, n);
        return;
    }
    Val *v = widen(l, lower_value(l, n->eval.rhs), l->e.vec.lanes);
    if (s) {
        Local *x = s->sum[s->n++];
        lower_set(l, x, val_op(l->p, n->eval.reduce, val_local(l->p, x), v));
    } else {
        lower_assign(l, n->eval.lhs, n->eval.reduce, val_hred(l->p, n->eval.reduce, v));
    }
}

/* The evaluations at a place of the loop: `copies` vectors side by side, with sums of their own, if any. */
static void run_piece(Low *l, const Nest *n, Val *at, int lanes, int copies, PartialSums *sums)
{
    Vec *v = &l->e.vec;
    v->at = at;
    v->lanes = lanes;
    for (int u = 0; u < copies; u++) {
        v->off = u * lanes;
        if (sums) sums[u].n = 0;
        each_eval(l, n->body, run_eval, sums ? &sums[u] : NULL);
    }
    v->off = 0;
}

/* What is left where a bit of `rest` is set: so many vectors more, behind those of the bits above. */
static void run_bit(Low *l, const Nest *n, Val *full, Val *rest, int lanes, int copies, PartialSums *sums)
{
    Prog *p = l->p;
    const int bit = lanes * copies;
    Stmt *tail = lower_put(l, S_IF), **outer = l->tail;
    tail->a = val_op(p, O_NE, val_op(p, O_AND, rest, val_int(p, bit)), val_int(p, 0));
    l->tail = &tail->body;
    Val *before = val_op(p, O_AND, rest, val_int(p, ~(2 * bit - 1)));
    Val *at = lower_let(l, p->var[n->ix.var].name, plus(l, full, before));
    run_piece(l, n, at, lanes, copies, sums);
    l->tail = outer;
}

/* The copies of a sum become one. */
static void join_sums(Low *l, PartialSums *sums, int copies)
{
    for (int u = 1; u < copies; u++)
        for (int k = 0; k < sums[u].n; k++) {
            Local *sum = sums[0].sum[k];
            Val *v = val_op(l->p, sums[0].op[k], val_local(l->p, sum), val_local(l->p, sums[u].sum[k]));
            lower_set(l, sum, v);
        }
}

/* Sums side by side hide what an addition takes: two where coordinates pick what is read, four of one that runs over
 * many vectors, which extents of one bucket do alike. */
static int copies_of(const Low *l, const Nest *n, bool picks, int lanes)
{
    enum { MANY = 16 };
    const bool sum = n->body->op == N_EVAL && !depends(l, n->body->eval.lhs);
    if (picks) return 2;
    const int64_t extent = l->e.vec.fibre || n->ix.part != SC_WHOLE ? 0 : l->p->var[n->ix.var].extent;
    return sum && extent > MANY * lanes ? SUMS : 1;
}

static void run_vec(Low *l, const Nest *n, Val *extent, bool picks)
{
    Prog *p = l->p;
    PartialSums sums[SUMS] = {{.n = 0}};
    const int lanes = picks ? prog_picked_lanes(p) : p->vector_bytes / (int)sc_dtype_size(p->type);
    const int copies = copies_of(l, n, picks, lanes);
    l->e.vec.lanes = lanes;
    for (int u = 0; u < copies; u++) each_eval(l, n->body, open_sum, &sums[u]);
    Val *rest = lower_let(l, "rest", val_op(p, O_MOD, extent, val_int(p, copies * lanes)));
    Val *full = lower_let(l, "full", val_op(p, O_SUB, extent, rest));
    Stmt **outer;
    const char *name = p->var[n->ix.var].name;
    Stmt *s = lower_for(l, name, val_int(p, 0), full, copies * lanes, &outer);
    run_piece(l, n, val_local(p, s->local), lanes, copies, sums);
    l->tail = outer;
    for (int c = copies / 2; c; c /= 2) run_bit(l, n, full, rest, lanes, c, sums);
    join_sums(l, sums, copies);
    sums[0].n = 0;
    l->e.vec.lanes = lanes;
    each_eval(l, n->body, close_sum, sums);
    const int least = picks ? lanes / 2 : 1;
    for (int b = lanes / 2; b >= least; b /= 2) run_bit(l, n, full, rest, b, 1, NULL);
    if (least == 1) return;
    Val *from = plus(l, full, val_op(p, O_AND, rest, val_int(p, ~(least - 1))));
    s = lower_for(l, name, from, extent, 1, &outer);
    run_piece(l, n, val_local(p, s->local), 1, 1, NULL);
    l->tail = outer;
}

/* The evaluations as they are left where tensors are absent. */
static Nest *present(Low *l, const Nest *n)
{
    if (n->op == N_EVAL) {
        Expr *rhs = eval_absent(l->p, &n->eval, l->e.absent);
        return rhs ? nest_eval(l->p, n->eval.lhs, n->eval.reduce, rhs) : nest_seq(l->p, 0, NULL);
    }
    Nest **kid = prog_bytes(l->p, (size_t)n->n * sizeof *kid);
    for (int k = 0; k < n->n; k++) kid[k] = present(l, n->kid[k]);
    return nest_seq(l->p, n->n, kid);
}

void lower_vec(Low *l, const Nest *loop, const Fibre *f)
{
    if (counting(l)) return;
    const Nest *n = nest_loop(l->p, L_VEC, loop->ix, loop->in, present(l, loop->body));
    Vec save = l->e.vec;
    int nmemo = l->nmemo;
    int64_t extent = f ? -1 : lower_const_extent(l, &n->ix);
    l->e.vec = (Vec){.on = true, .ix = n->ix, .several = n->body->op == N_SEQ, .fibre = f};
    lower_note(l, n);
    each_eval(l, n->body, hoist, NULL);
    Vector x = {extent, n->ix.var};
    if (extent >= 0)
        each_eval(l, n->body, const_eval, &x);
    else
        run_vec(l, n,
                f                      ? lower_let(l, "count", val_op(l->p, O_SUB, f->hi, f->lo))
                : n->ix.part == SC_MOD ? l->e.coord[n->ix.var].modext
                                       : lower_dim(l, n->ix.var),
                f && nest_vector_picks(loop));
    l->nmemo = nmemo;
    l->e.vec = save;
}
