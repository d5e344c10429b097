/* oracle.c: evaluates index notation over coordinate maps.
 *
 * A tensor is a function from a coordinate to a Term: a number, and whether it
 * is there at all. Sparse operands become sorted lists of row-major keys; what
 * is not in the list is absent. An absent number is zero in sums and functions
 * and makes a product absent, whatever the other factor is. What comes down to the constant 0 is absent. An expression is
 * evaluated by recursion at every coordinate of its result, a reduction by
 * running over its indices; the only shortcut is that a partial coordinate
 * where a factor is known to be absent is not refined.
 *
 * In skip mode a point counts only where all sparse operands below it are
 * stored; a result with no such point keeps the identity of its reduction. */
#include "oracle.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    double v;
    bool has, fixed; /* fixed: a constant, or what constants make of what is missing */
} Term;

typedef struct {
    int64_t key;
    double v;
} Stored;

typedef struct {         /* of one tensor */
    const sc_tensor *in; /* dense operand, read in place */
    Stored *entry;       /* sparse operand, sorted by key */
    int64_t n, cap;
    double *val; /* result */
    uint8_t *has;
} Map;

typedef struct {
    const Prog *p;
    sc_err *err;
    Map map[SC_MAXOP];     /* operands, then results */
    int64_t at[SC_MAXVAR]; /* the coordinate */
    uint32_t bound;        /* variables that have one */
    bool hit;              /* skip mode: all that was asked so far is stored */
} Oracle;

static int64_t size_of(const Tensor *t)
{
    int64_t n = 1;
    for (int d = 0; d < t->ndim; d++)
        if (!sc_mul(n, t->extent[d], &n)) return INT64_MAX;
    return n;
}

int64_t sc_oracle_size(const Prog *p, int r) { return prog_result(p, r) ? size_of(prog_result(p, r)) : 0; }

static double value_at(const sc_tensor *t, int64_t i) { return sc_number_get(t->dtype, t->view.val, i); }

/* ---- sparse operands as lists ---- */
static bool push(Map *m, int64_t key, double v)
{
    if (m->n == m->cap) {
        int64_t cap = m->cap ? 2 * m->cap : 64;
        Stored *e = sc_realloc(m->entry, (size_t)cap * sizeof *e);
        if (!e) return false;
        m->entry = e;
        m->cap = cap;
    }
    m->entry[m->n++] = (Stored){key, v};
    return true;
}

static bool collect(Map *m, const Tensor *, int level, int64_t pos, int64_t *coord);

/* One coordinate of a level: what is stored below. A block that hangs over the end holds nothing there. */
static bool descend(Map *m, const Tensor *t, int level, int64_t c, int64_t pos, int64_t *coord)
{
    const sc_levelspec *s = &m->in->format.level[level];
    const int64_t before = coord[s->dim];
    coord[s->dim] += s->part == SC_DIV ? c * s->block : c;
    bool ok = coord[s->dim] >= t->extent[s->dim] || collect(m, t, level + 1, pos, coord);
    coord[s->dim] = before;
    return ok;
}

/* The row `pos` of its slice: the diagonals that have it. */
static bool collect_slice(Map *m, const Tensor *t, int level, int64_t pos, int64_t *coord)
{
    const sc_tensor *in = m->in;
    const sc_level *l = &in->view.level[level];
    const int64_t width = in->format.level[level].width, row = pos % width;
    const int64_t hi = sc_index(l->pos, in->itype, pos / width + 1);
    for (int64_t q = sc_index(l->pos, in->itype, pos / width); q < hi; q++) {
        const int64_t offset = sc_index(l->crd, in->itype, 2 * q),
                      bits = sc_index(l->crd, in->itype, 2 * q + 1);
        if (bits >> row & 1 && !descend(m, t, level, pos + offset, q * width + row, coord)) return false;
    }
    return true;
}

/* The row `pos` where its window has it. */
static bool collect_sorted(Map *m, const Tensor *t, int level, int64_t pos, int64_t *coord)
{
    const sc_tensor *in = m->in;
    const sc_level *l = &in->view.level[level];
    const sc_levelspec *s = &in->format.level[level];
    const int64_t width = s->width, step = width + 1, at = pos / s->block * sc_window_step(s);
    const int64_t place = sc_index(l->pos, in->itype, at + s->block / width + 1 + pos % s->block);
    const int64_t k = place % width, hi = sc_index(l->pos, in->itype, at + place / width + 1);
    for (int64_t q = sc_index(l->pos, in->itype, at + place / width); q < hi; q++) {
        const int64_t c = sc_index(l->crd, in->itype, q * step + 1 + k);
        if (!(sc_index(l->crd, in->itype, q * step) >> k & 1)) break;
        if (!descend(m, t, level, c, q * width + k, coord)) return false;
    }
    return true;
}

/* The set bits of the words below `pos`. */
static bool collect_words(Map *m, const Tensor *t, int level, int64_t pos, int64_t *coord)
{
    const sc_tensor *in = m->in;
    const sc_level *l = &in->view.level[level];
    const int64_t first = pos * sc_words(l->size), end = first + sc_words(l->size);
    for (int64_t w = first; w < end; w++) {
        int64_t q = sc_index(l->pos, in->itype, w);
        for (uint32_t bits = sc_word(l->crd, in->itype, w); bits; bits &= bits - 1, q++)
            if (!descend(m, t, level, (w - first) * SC_WORD + __builtin_ctz(bits), q, coord)) return false;
    }
    return true;
}

/* Where the first of `size` coordinates below position pos lies, and how far apart they lie. */
static void planes(const sc_tensor *t, int level, int64_t pos, int64_t size, int64_t *first, int64_t *step)
{
    const sc_level *up = &t->view.level[level - 1];
    int64_t f = 0;
    while (sc_index(up->pos, t->itype, f + 1) <= pos) f++;
    const int64_t lo = sc_index(up->pos, t->itype, f);
    *step = sc_index(up->pos, t->itype, f + 1) - lo;
    *first = lo * size + pos - lo;
}

static bool collect(Map *m, const Tensor *t, int level, int64_t pos, int64_t *coord)
{
    const sc_tensor *in = m->in;
    if (level == in->format.nlevel) {
        int64_t key = 0;
        for (int d = 0; d < t->ndim; d++) key = key * t->extent[d] + coord[d];
        return push(m, key, value_at(in, pos));
    }
    const sc_levelspec *s = &in->format.level[level];
    const sc_level *l = &in->view.level[level];
    const int64_t n = t->extent[s->dim];
    int64_t lo = pos, hi = pos + 1;
    if (!sc_kind_of(s)->crd) {
        const int64_t size = s->part == SC_DIV   ? (n + s->block - 1) / s->block
                             : s->part == SC_MOD ? s->block
                                                 : n;
        int64_t first = pos * size, step = 1;
        if (sc_kind_of(s)->planar) planes(in, level, pos, size, &first, &step);
        for (int64_t c = 0; c < size; c++)
            if (!descend(m, t, level, c, first + c * step, coord)) return false;
        return true;
    }
    if (sc_kind_of(s)->sorted) return collect_sorted(m, t, level, pos, coord);
    if (sc_kind_of(s)->sliced) return collect_slice(m, t, level, pos, coord);
    if (sc_kind_of(s)->words) return collect_words(m, t, level, pos, coord);
    if (sc_kind_of(s)->pos) lo = sc_index(l->pos, in->itype, pos), hi = sc_index(l->pos, in->itype, pos + 1);
    if (sc_kind_of(s)->padded) lo = pos * s->width, hi = lo + s->width;
    for (int64_t q = lo; q < hi; q++) {
        const int64_t c = sc_index(l->crd, in->itype, q);
        if (c >= 0 && !descend(m, t, level, c, q, coord)) return false;
    }
    return true;
}

static int by_key(const void *a, const void *b)
{
    const int64_t x = ((const Stored *)a)->key, y = ((const Stored *)b)->key;
    return (x > y) - (x < y);
}

/* Sorts; entries of one coordinate are added. */
static void finish_list(Map *m)
{
    int64_t n = 0;
    if (m->n) qsort(m->entry, (size_t)m->n, sizeof *m->entry, by_key);
    for (int64_t k = 0; k < m->n; k++)
        if (n && m->entry[n - 1].key == m->entry[k].key)
            m->entry[n - 1].v += m->entry[k].v;
        else
            m->entry[n++] = m->entry[k];
    m->n = n;
}

static Term find_entry(const Map *m, int64_t key)
{
    int64_t lo = 0, hi = m->n;
    while (lo < hi) {
        const int64_t mid = lo + (hi - lo) / 2;
        if (m->entry[mid].key < key)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo < m->n && m->entry[lo].key == key) return (Term){m->entry[lo].v, true, false};
    return (Term){0, false, true};
}

/* ---- expressions ---- */
static Term access_value(const Oracle *o, const Expr *e)
{
    const Tensor *t = e->tensor;
    int64_t key = 0, offset = 0;
    const Map *m = &o->map[t->arg];
    for (int d = 0; d < t->ndim; d++) {
        key = key * t->extent[d] + o->at[e->ix[d].var];
        if (m->in) offset += o->at[e->ix[d].var] * m->in->view.stride[d];
    }
    if (tensor_is_sparse(t)) return find_entry(m, key);
    if (m->in) return (Term){value_at(m->in, offset), true, false};
    return (Term){m->val[key], true, false};
}

/* Whether a sparse factor of the product e, at indices that are bound, is absent. */
static bool is_void(const Oracle *o, const Expr *e)
{
    if (e->op == O_ACCESS)
        return tensor_is_sparse(e->tensor) && !(expr_vars(e) & ~o->bound) && !access_value(o, e).has;
    if (e->op == O_MUL) return is_void(o, e->kid[0]) || is_void(o, e->kid[1]);
    return (e->op == O_DIV || e->op == O_NEG || e->op == O_STORED) && is_void(o, e->kid[0]);
}

static bool has_sparse(const Expr *e)
{
    if (e->op == O_ACCESS) return tensor_is_sparse(e->tensor);
    return (e->kid[0] && has_sparse(e->kid[0])) || (e->kid[1] && has_sparse(e->kid[1]));
}

static Term evaluate(Oracle *, const Expr *);

typedef struct {
    const Expr *e; /* O_REDUCE */
    Term sum;
    bool hit; /* skip mode: some point counted */
} Reduction;

static void add_point(Oracle *o, Reduction *r)
{
    const bool outer = o->hit, skip = o->p->skip;
    o->hit = true;
    const Term t = evaluate(o, r->e->kid[0]);
    const bool here = o->hit;
    o->hit = outer;
    if (skip && !here) return;
    r->hit = true;
    if (r->e->reduce == O_ADD && !t.has) return;
    r->sum.v = op_eval(r->e->reduce, r->sum.v, t.v);
    r->sum.has |= t.has || r->sum.v != 0;
    r->sum.fixed &= !r->sum.has;
}

/* Runs over the variables `left`, those of sparse operands first. */
static void reduce_over(Oracle *o, Reduction *r, uint32_t left, uint32_t first)
{
    if (r->e->reduce == O_ADD && is_void(o, r->e->kid[0])) return;
    if (!left) {
        add_point(o, r);
        return;
    }
    const int v = __builtin_ctz(left & first ? left & first : left);
    o->bound |= 1u << v;
    for (o->at[v] = 0; o->at[v] < o->p->var[v].extent; o->at[v]++)
        reduce_over(o, r, left & ~(1u << v), first);
    o->bound &= ~(1u << v);
}

static uint32_t sparse_vars(const Expr *e)
{
    if (e->op == O_ACCESS) return tensor_is_sparse(e->tensor) ? expr_vars(e) : 0;
    return (e->kid[0] ? sparse_vars(e->kid[0]) : 0) | (e->kid[1] ? sparse_vars(e->kid[1]) : 0);
}

static Term evaluate_reduce(Oracle *o, const Expr *e)
{
    Reduction r = {.e = e, .sum = {op_identity(e->reduce), false, true}};
    reduce_over(o, &r, e->vars, sparse_vars(e));
    if (o->p->skip && !r.hit && has_sparse(e)) o->hit = false;
    return r.sum;
}

static Term evaluate(Oracle *o, const Expr *e)
{
    if (e->op == O_CONST) return (Term){e->c, e->c != 0, true};
    if (e->op == O_REDUCE) return evaluate_reduce(o, e);
    if (e->op == O_ACCESS) {
        const Term t = access_value(o, e);
        if (tensor_is_sparse(e->tensor)) o->hit &= t.has;
        return t;
    }
    const Term a = evaluate(o, e->kid[0]), b = e->kid[1] ? evaluate(o, e->kid[1]) : (Term){0, false, true};
    if (e->op == O_STORED) {
        const bool has = a.has || !tensor_is_sparse(e->kid[0]->tensor);
        return (Term){has, has, !has};
    }
    const Term missing = {0, false, true};
    if (e->op == O_MUL && !(a.has && b.has)) return missing;
    if (e->op == O_DIV && !a.has) return missing;
    const double v = op_eval(e->op, a.v, b.v);
    if (a.fixed && b.fixed) return (Term){v, v != 0, true};
    return (Term){v, a.has || b.has || v != 0, false};
}

/* ---- assignments ---- */
static void assign_at(Oracle *o, const Assign *a, Map *m, int64_t key)
{
    o->hit = true;
    Term t = evaluate(o, a->rhs);
    if (o->p->skip && !o->hit) t = (Term){op_identity(a->reduce), false, false};
    m->val[key] = t.v;
    m->has[key] = t.has;
}

static void assign_over(Oracle *o, const Assign *a, Map *m, int d, int64_t key)
{
    if (d == a->lhs->tensor->ndim) {
        assign_at(o, a, m, key);
        return;
    }
    const int v = a->lhs->ix[d].var;
    const int64_t n = a->lhs->tensor->extent[d];
    o->bound |= 1u << v;
    for (o->at[v] = 0; o->at[v] < n; o->at[v]++) assign_over(o, a, m, d + 1, key * n + o->at[v]);
    o->bound &= ~(1u << v);
}

static int open_operand(Map *m, const Tensor *t, const sc_tensor *in, sc_err *err)
{
    int64_t coord[SC_MAXDIM] = {0};
    m->in = in;
    if (!tensor_is_sparse(t)) return SC_OK;
    if (size_of(t) > INT64_MAX / 16)
        return sc_error(err, SC_EVALUE, "%s is too large for the oracle", t->name);
    if (!collect(m, t, 0, 0, coord)) return sc_error(err, SC_ENOMEM, "out of memory");
    finish_list(m);
    return SC_OK;
}

static int open_result(Map *m, const Tensor *t, sc_err *err)
{
    const int64_t n = size_of(t);
    if (n > INT64_MAX / 16) return sc_error(err, SC_EVALUE, "%s is too large for the oracle", t->name);
    m->val = sc_malloc((size_t)n * sizeof *m->val);
    m->has = sc_malloc((size_t)n);
    return m->val && m->has ? SC_OK : sc_error(err, SC_ENOMEM, "out of memory");
}

static int run(Oracle *o, const sc_tensor *in)
{
    const Prog *p = o->p;
    for (int k = 0; k < p->nin; k++)
        if (open_operand(&o->map[k], p->tensor[k], &in[k], o->err)) return o->err->code;
    for (int a = 0; a < p->nassign; a++) {
        const Tensor *t = p->assign[a].lhs->tensor;
        if (open_result(&o->map[t->arg], t, o->err)) return o->err->code;
        assign_over(o, &p->assign[a], &o->map[t->arg], 0, 0);
    }
    return SC_OK;
}

int sc_oracle_run(const Prog *p, const sc_tensor *in, double *const *out, uint8_t *const *has, sc_err *err)
{
    Oracle *o = sc_malloc(sizeof *o);
    if (!o) return sc_error(err, SC_ENOMEM, "out of memory");
    *o = (Oracle){.p = p, .err = err};
    const int rc = run(o, in);
    for (int r = 0; !rc && r < p->nout; r++) {
        const Map *m = &o->map[p->nin + r];
        const size_t n = (size_t)sc_oracle_size(p, r);
        memcpy(out[r], m->val, n * sizeof *m->val);
        if (has && has[r]) memcpy(has[r], m->has, n);
    }
    for (int k = 0; k < p->nin + p->nout; k++) {
        free(o->map[k].entry);
        free(o->map[k].val);
        free(o->map[k].has);
    }
    free(o);
    return rc;
}
