/* sums.c: where a sum is taken, and what is known of tensors where that is decided.
 *
 * In registers, where it is a number or a vector over the innermost index; in the result itself; or in a workspace of
 * the lane, which is dense, a bitmap or a hash table. A sum that no entry takes part in must not pass for a zero where
 * the result is sparse, or where it multiplies. */
#include "build.h"

#define COPY_BYTES (8 << 20)                 /* of a private copy; larger results are summed by one thread */
#define APART_BYTES (16 << 10)               /* of sums that are taken side by side and then put apart */
#define BITMAP_EXTENT (8 * 1024 * 1024 / 24) /* a lane's bitmap workspace stays below 8 MB */

/* ---- tensors ---- */
static void collect(const Expr *e, bool inside, Sources *s)
{
    if (e->op == O_ACCESS && source_is_sparse(e->tensor)) {
        int k = 0;
        while (k < s->n && s->at[k].t != e->tensor) k++;
        if (k == s->n) s->at[s->n++] = (Source){.t = e->tensor, .levels = source_levels(e->tensor)};
        s->at[k].outside |= !inside;
    }
    for (int k = 0; k < 2; k++)
        if (e->kid[k]) collect(e->kid[k], inside || e->op == O_REDUCE, s);
}

Sources build_sources(const Expr *e)
{
    Sources s;
    s.n = 0;
    collect(e, false, &s);
    return s;
}

/* ---- indices ---- */
int build_block(const Build *b, const State *s, int v)
{
    for (int k = 0; k < b->order->n; k++)
        if (b->order->loop[k].var == v && b->order->loop[k].part) return b->order->loop[k].block;
    return s->cut == v ? s->by : 0;
}

static uint64_t all_of(const Prog *p, int n, Tensor *const *t)
{
    uint64_t set = 0;
    for (int k = 0; k < n; k++) set |= tensor_bit(p, t[k]);
    return set;
}

bool build_dead_without(const Build *b, const Assign *a, int n, Tensor *const *t)
{ return assign_dead(b->p, a, all_of(b->p, n, t)); }

bool build_repeats_without(const Build *b, const Assign *a, int var, int n, Tensor *const *t)
{ return assign_repeats(b->p, a, var, all_of(b->p, n, t)); }

bool build_runs_along(const Expr *e, int v)
{
    if (e->op == O_ACCESS) {
        const Tensor *t = e->tensor;
        if (t->role == T_WORK && t->unit < 0) return t->ndim && t->dimvar[t->ndim - 1] == v;
        return sc_format_is_dense(&t->format) && t->unit >= 0 && e->ix[t->unit].var == v;
    }
    return (e->kid[0] && build_runs_along(e->kid[0], v)) || (e->kid[1] && build_runs_along(e->kid[1], v));
}

bool build_shares(const Tensor *t)
{ return t->role == T_OUT || t->place == W_SHARED || t->place == W_PRIVATE; }

/* ---- sums ---- */
Left build_left(const Build *b, const State *s, uint32_t vars)
{
    Left left = {.n = 0};
    for (int k = 0; k < b->order->n; k++) {
        const Index ix = b->order->loop[k];
        if (!in(vars, ix.var) || place_knows(&s->known, index_whole(ix.var))) continue;
        bool seen = false;
        for (int q = 0; q < left.n; q++) seen |= left.left[q].var == ix.var;
        if (!seen && left.n < SC_MAXDIM) left.left[left.n++] = index_whole(ix.var);
    }
    return left;
}

/* A loop over v will run in stored entries. */
static bool walks(const Build *b, const State *s, const Expr *e, int v)
{
    const Sources src = build_sources(e);
    for (int k = 0; k < src.n; k++)
        for (int l = s->known.level[prog_id(b->p, src.at[k].t)]; l < source_levels(src.at[k].t); l++)
            if (source_index(src.at[k].t, l).var == v) return true;
    return false;
}

/* Registers take a sum that is a number, or a vector over the innermost index. */
bool build_fits_registers(const Build *b, const State *s, const Assign *a, const Expr *body, const Left *left)
{
    if (!left->n) return true;
    const int v = left->left[0].var;
    if (left->n > 1 || s->by || build_block(b, s, v) || a->lhs->tensor == b->layout) return false;
    if (tensor_shares_index(a->lhs->tensor, v)) return false;
    if (!build_runs_along(body, v) && !build_runs_along(a->lhs, v)) return false;
    const uint32_t used = expr_vars(a->lhs) | expr_vars(a->rhs);
    bool after = false;
    for (int k = 0; k < b->order->n; k++) {
        const Index ix = b->order->loop[k];
        if (after && in(used, ix.var) && !place_knows(&s->known, ix)) return false;
        after |= ix.var == v;
    }
    return !walks(b, s, a->rhs, v);
}

static bool is_large(const Build *b, const Tensor *t)
{
    double bytes = (double)sc_dtype_size(t->dtype);
    for (int d = 0; d < t->ndim; d++) bytes *= (double)b->p->var[t->dimvar[d]].extent;
    return bytes > COPY_BYTES;
}

/* The elements of the result that a sum goes to lie apart, each in a cache line of its own and often all in one set of
 * the cache, and they are few: side by side they stay in the first cache. */
static bool lie_apart(const Build *b, const State *s, const Assign *a, const Left *left)
{
    const Tensor *t = a->lhs->tensor;
    double bytes = (double)sc_dtype_size(t->dtype);
    uint32_t vars = 0;
    for (int k = 0; k < left->n; k++) {
        const int v = left->left[k].var;
        if (walks(b, s, a->rhs, v)) return false;
        bytes *= (double)schedule_bucket(b->p->var[v].extent);
        vars |= 1u << v;
    }
    bool apart = false;
    for (int d = t->ndim - left->n; d < t->ndim; d++) apart |= d < 0 || !in(vars, a->lhs->ix[d].var);
    return apart && bytes <= APART_BYTES && build_shares(t) && a->reduce == O_CONST;
}

/* How many operands' entries sums of e over vars meet, or look for at coordinates that are known; *found: an entry of one
 * was just found, which has others below. */
static int entries_met(const Build *b, const State *s, const Assign *a, const Expr *e, uint32_t vars,
                       bool *found)
{
    const Sources src = build_sources(e);
    int met = 0;
    for (int k = 0; k < src.n; k++) {
        Tensor *t = src.at[k].t;
        const int known = s->known.level[prog_id(b->p, t)];
        bool sums = false;
        for (int l = known; l < src.at[k].levels; l++) {
            const Index ix = source_index(t, l);
            sums |= source_kind(t, l)->crd && (in(vars, ix.var) || place_knows(&s->known, ix));
        }
        if (!sums || !build_dead_without(b, a, 1, &t)) continue;
        met++;
        *found |= known && source_kind(t, known - 1)->crd;
    }
    return met;
}

/* Sums of e over vars meet the entries of several operands, and may have none. */
bool build_may_lack_terms(const Build *b, const State *s, const Assign *a, const Expr *e, uint32_t vars)
{
    bool found = false;
    return entries_met(b, s, a, e, vars, &found) > 1;
}

/* As above, or those of one operand, in a fibre that may be empty. */
static bool may_be_empty(const Build *b, const State *s, const Assign *a, const Expr *e, uint32_t vars)
{
    bool found = false;
    const int met = entries_met(b, s, a, e, vars, &found);
    return met > 1 || (met && !found);
}

/* The sum can be added to where it is stored. */
bool build_goes_straight(const Build *b, const State *s, const Assign *a, const Expr *body, const Left *left)
{
    const Tensor *t = a->lhs->tensor;
    if (t->role == T_WORK && t->place == W_REG) return true;
    if (t == b->layout || t->like) return false;
    if (tensor_gathers(t) && may_be_empty(b, s, a, body, expr_vars(body) & ~expr_vars(a->lhs))) return true;
    if (!s->nloop && !s->par) return (t->role == T_WORK && t->place == W_PRIVATE) || is_large(b, t);
    return !build_fits_registers(b, s, a, body, left) && !lie_apart(b, s, a, left);
}

/* The sum has terms only where operands store the last index that is left, and what reads it does nothing elsewhere. A
 * result like an operand is read at entries alone: only a sum that is a factor there need say where it has terms. */
static bool is_sparse_sum(const Build *b, const Assign *use, Tensor *w, const Expr *body, const Left *left)
{
    Tensor *over[MAXTENSOR];
    int n = 0;
    const Sources src = build_sources(body);
    if (use->lhs->tensor->like && !b->order->inner[0]) return false;
    for (int k = 0; k < src.n; k++)
        for (int l = 0; l < source_levels(src.at[k].t); l++)
            if (source_index(src.at[k].t, l).var == left->left[left->n - 1].var &&
                source_kind(src.at[k].t, l)->crd) {
                over[n++] = src.at[k].t;
                break;
            }
    w->bitmap = true;
    const Assign fill = {use->lhs, O_ADD, (Expr *)body};
    const bool sparse = n && build_dead_without(b, &fill, n, over) && build_dead_without(b, use, 1, &w);
    w->bitmap = false;
    return sparse;
}

/* What reads the sum multiplies it by nothing but whether operands store an entry: a zero where it has no term is right. */
static bool is_masked(const Expr *e, const Tensor *w)
{
    if (e->op == O_MUL) return is_masked(e->kid[0], w) && is_masked(e->kid[1], w);
    return e->op == O_STORED || (e->op == O_ACCESS && e->tensor == w);
}

static bool zero_will_do(const Assign *use, const Tensor *w)
{ return use->lhs->tensor->like && is_masked(use->rhs, w); }

void build_choose_kind(const Build *b, const Assign *use, Tensor *w, const Expr *body, const Left *left)
{
    double extent = 1;
    if (!left->n || (use->lhs->tensor != b->layout && !is_sparse_sum(b, use, w, body, left))) return;
    for (int k = 0; k < left->n; k++) extent *= (double)b->p->var[left->left[k].var].extent;
    const double bytes = extent * (double)sc_dtype_size(w->dtype);
    if (zero_will_do(use, w) && bytes <= WORK_SCATTERED) return;
    w->bitmap = extent <= BITMAP_EXTENT;
    w->hash = !w->bitmap;
}

/* A sum that was split off is a factor, and a factor without a term makes the product absent: no zero may stand
 * for it. It has terms where it is read if it is dense and not over an empty extent, if its workspace says what was
 * written, or if an entry of its only operand was just found. */
bool build_has_terms(const Build *b, const State *s, const Expr *r, const Assign *use, const Tensor *w,
                     const Left *left)
{
    if (r != b->order->inner[0] && r != b->order->inner[1]) return true;
    const Sources src = build_sources(r);
    if (tensor_gathers(w) || zero_will_do(use, w)) return true;
    if (!src.n) return !sums_nothing(b->p, r);
    const Tensor *t = src.at[0].t;
    const int l = s->known.level[prog_id(b->p, t)];
    for (int k = 0; k < left->n; k++)
        for (int q = l; q < source_levels(t); q++)
            if (source_index(t, q).var == left->left[k].var) return false;
    return src.n == 1 && l > 0 && source_kind(t, l - 1)->crd;
}

Expr *build_at_entries(const Build *b, const Assign *a, const Left *left, Expr *rhs)
{
    Tensor *like = a->lhs->tensor->like;
    const Assign use = {a->lhs, a->reduce, rhs};
    bool any = false;
    for (int k = 0; k < left->n; k++) any |= tensor_shares_index(a->lhs->tensor, left->left[k].var);
    if (!any || build_dead_without(b, &use, 1, &like)) return rhs;
    if (a->lhs->tensor->shared < like->format.nlevel) return NULL;
    return expr_new(b->p, O_MUL, expr_stored_access(b->p, like), rhs);
}

Expr *build_known_factors(const Build *b, const State *s, const Expr *r, const Left *left, Expr **rest)
{
    uint32_t vars = r->vars;
    if (sums_a_vector(b->p, r)) return NULL;
    for (int k = 0; k < left->n; k++) vars |= 1u << left->left[k].var;
    Expr *body, *by = r->reduce == O_ADD ? expr_take_out(b->p, r->kid[0], vars, &body) : NULL;
    if (!by || build_sources(body).n || sums_nothing(b->p, r)) return NULL;
    const Sources src = build_sources(by);
    for (int k = 0; k < src.n; k++)
        if (s->known.level[prog_id(b->p, src.at[k].t)] < src.at[k].levels) return NULL;
    *rest = body;
    return by;
}
