/* library.c: which steps a library computes, and what they cost: products of two dense tensors.
 *
 * Slabs (slabs.h) are dense tensors too, where all else has the coordinates that they list: what is dense and has that
 * index is gathered before, or scattered behind. */
#include <math.h>
#include <string.h>

#include "../../slabs.h"
#include "private.h"

/* Nanoseconds: a call of the library, one that packs bf16, each of a batch; by one thread, a multiply-add of four bytes
 * where vectors have 64, four bytes copied to another place, and four of a bf16 matrix packed; four bytes of pages that
 * come from the system. */
static const double called = 6000, packed = 12000, batched = 500, multiplied = .025, copied = .6, turned = .4,
                    paged = 1.5;
enum { VECTOR = 64, FRESH = 16 << 20 /* bytes from which on memory is not kept */ };

typedef struct {
    const Expr *x, *y, *out;
    const Tensor *slabs; /* what one of them is, or is like; or null */
    const Expr *list;    /* a sparse matrix that lists rows, or null */
    bool pattern;        /* of which the values are no factors */
    int listed;          /* the index of slabs, or of the rows that are listed, */
    int each;            /* for each of this other index of the list */
    uint32_t kept;       /* the indices of the result */
    const Expr *order;   /* the larger operand */
} Factors;

/* Where the CPU has no products of pairs of bf16, libraries take one number after the other. */
static bool has_library(const Prog *p, sc_dtype t)
{
    if (t == SC_BF16) return p->multiplies && p->dots && p->type == SC_F32;
    return p->multiplies && t == p->type && (t == SC_F32 || t == SC_F64);
}

/* Values of one type, as they lie, each at indices of its own. */
static bool is_operand(const Expr *e, sc_dtype type)
{
    const Tensor *t = e->tensor;
    return (sc_format_is_dense(&t->format) || sc_format_is_slabs(&t->format)) && t->dtype == type &&
           !t->perm && __builtin_popcount(expr_vars(e)) == t->ndim;
}

static bool is_slabs(const Tensor *t) { return sc_format_is_slabs(&t->format); }

/* A matrix that lists rows. */
static bool is_list(const Expr *e, sc_dtype type)
{
    const Tensor *t = e->tensor;
    return (type == SC_BF16 || type == SC_F32) && t->role == T_IN && tensor_is_sparse(t) && !is_slabs(t) &&
           t->ndim == 2 && t->dtype == type && e->ix[0].var != e->ix[1].var;
}

static int holders(const Factors *f, int var)
{ return (expr_dim_of(f->x, var) >= 0) + (expr_dim_of(f->y, var) >= 0) + (int)in(f->kept, var); }

/* One index of the list is a row of two of the tensors, the first of their dimensions; the other chooses a matrix of the
 * third. */
static bool find_rows(Factors *f)
{
    const int first = f->list->ix[0].var, second = f->list->ix[1].var, n = holders(f, first);
    f->listed = n == 2 ? first : second, f->each = n == 2 ? second : first;
    if (holders(f, f->listed) != 2 || holders(f, f->each) != 1) return false;
    for (int k = 0; k < 2; k++) {
        const Expr *e = k ? f->y : f->x;
        const int row = expr_dim_of(e, f->listed);
        if (row > 0 || (row < 0) != (expr_dim_of(e, f->each) >= 0)) return false;
    }
    return in(f->kept, f->listed) != in(f->kept, f->each);
}

/* A sum of the product of two such operands, perhaps where slabs have entries, or of what a matrix lists. */
static bool read_factors(Prog *p, const Expr *sum, sc_dtype type, Factors *f)
{
    Part part[MAXFACTOR];
    f->listed = f->each = -1;
    f->kept = expr_free(sum);
    if (!has_library(p, type) || !path_is_sum(sum)) return false;
    const int n = expr_factors(p, sum->kid[0], part);
    for (int k = 0; k < n; k++) {
        const Expr *e = part[k].e, *access = e->op == O_STORED ? e->kid[0] : e;
        if (part[k].under || access->op != O_ACCESS) return false;
        if (!f->list && is_list(access, type)) {
            f->list = access, f->pattern = e->op == O_STORED;
            continue;
        }
        if (!is_operand(access, type)) return false;
        if (is_slabs(access->tensor) ? f->slabs != NULL : e->op == O_STORED) return false;
        if (is_slabs(access->tensor)) f->slabs = access->tensor;
        if (e->op == O_STORED) continue;
        if (f->y) return false;
        *(f->x ? &f->y : &f->x) = e;
    }
    if (f->slabs) f->listed = tensor_level_index(f->slabs, 0).var;
    return f->y && (!f->list || (!f->slabs && find_rows(f)));
}

bool library_multiplies(Prog *p, const Expr *e, sc_dtype type)
{
    Factors f = {0};
    return read_factors(p, e, type, &f) && !f.slabs && !f.list;
}

bool library_may_multiply(Prog *p, const Expr *e)
{
    Factors f = {0};
    return read_factors(p, e, p->result_type, &f);
}

/* ---- the step ---- */
static int operand(const Step *s, const Tensor *t)
{
    int q = 0;
    while (strcmp(s->request.in[q].name, t->name)) q++;
    return q;
}

/* The result has the structure of the slabs, whose values no operand has. */
static bool is_beside(const Factors *f)
{ return f->slabs && f->x->tensor != f->slabs && f->y->tensor != f->slabs; }

/* The dimension of a dense tensor over the index that is listed. */
static int8_t listed(const Factors *f, const Expr *e)
{
    const bool dense = e == f->out ? !is_beside(f) : !is_slabs(e->tensor);
    return (int8_t)(f->listed >= 0 && dense ? expr_dim_of(e, f->listed) : -1);
}

static int8_t each_of(const Factors *f, const Expr *e)
{ return (int8_t)(f->each < 0 ? -1 : expr_dim_of(e, f->each)); }

/* The result is dense, or as the slabs are that it says it is like. */
static bool fits_result(const Factors *f, const Step *s, int like)
{
    if (!is_beside(f)) return sc_format_is_dense(&s->request.ask[0]) && like < 0;
    return like >= 0 && operand(s, f->slabs) == like;
}

/* The product of all groups of indices; false: it is none of matrices. */
static bool group(const Factors *f, const Expr *sum, Dense *d)
{
    bool rows = false, columns = false;
    for (int i = 0; i < f->x->tensor->ndim; i++) {
        const int var = f->x->ix[i].var, other = expr_dim_of(f->y, var);
        if (!in(sum->vars, var) || var == f->each) continue;
        if (other < 0) return false;
        d->sum_a[d->nsum] = (uint8_t)i, d->sum_b[d->nsum++] = (uint8_t)other;
    }
    for (int i = 0; i < f->out->tensor->ndim; i++) {
        d->in_a[i] = (int8_t)expr_dim_of(f->x, f->out->ix[i].var);
        d->in_b[i] = (int8_t)expr_dim_of(f->y, f->out->ix[i].var);
        if (f->out->ix[i].var == f->each) continue;
        rows |= d->in_b[i] < 0, columns |= d->in_a[i] < 0;
    }
    const uint32_t summed = f->each < 0 ? sum->vars : sum->vars & ~(1u << f->each);
    return rows && columns && d->nsum == __builtin_popcount(summed);
}

static Dense dense_of(const Factors *f, const Step *s, const Expr *sum)
{
    Dense d = {.slabs = -1, .list = -1};
    if (!group(f, sum, &d)) return d;
    d.is = true;
    d.a = (uint8_t)operand(s, f->x->tensor), d.b = (uint8_t)operand(s, f->y->tensor);
    if (f->slabs) d.slabs = (int8_t)operand(s, f->slabs);
    d.listed_a = listed(f, f->x), d.listed_b = listed(f, f->y), d.listed_out = listed(f, f->out);
    d.each_a = each_of(f, f->x), d.each_b = each_of(f, f->y), d.each_out = each_of(f, f->out);
    if (!f->list) return d;
    d.is = d.listed_out <= 0;
    d.list = (int8_t)operand(s, f->list->tensor), d.each_list = each_of(f, f->list);
    d.pattern = f->pattern, d.scaled = d.listed_a < 0;
    return d;
}

/* ---- costs ---- */
/* Cells over these indices, of those that slabs list as many as these are. */
static double cells(const Prog *p, const Factors *f, uint32_t vars)
{
    const double n = tree_cells(p, vars);
    if (f->listed < 0 || !in(vars, f->listed)) return n;
    const double all = tree_cells(p, 1u << f->listed);
    return n / all * fmin(all, exp2(f->slabs->positions[0]));
}

/* Which of the tensors have an index: a group is one axis of a matrix, or of a batch of them, where its indices lie side
 * by side and in one order, that of the result, or, of sums, that of the larger operand. */
static int group_of(const Factors *f, int var)
{
    return (expr_dim_of(f->x, var) >= 0) | (expr_dim_of(f->y, var) >= 0) << 1 |
           (expr_dim_of(f->out, var) >= 0) << 2;
}

static int place_of(const Factors *f, int var)
{
    const int kept = expr_dim_of(f->out, var);
    return kept >= 0 ? kept : expr_dim_of(f->order, var);
}

/* Nanoseconds, by one thread, of copying four bytes to where groups are axes, and of what has slabs' index to or from
 * where they have it. */
static double copy_cost(const Prog *p, const Factors *f, const Expr *t)
{
    const double n = copied * cells(p, f, expr_vars(t));
    int met = 0;
    bool apart = false;
    for (int i = 0; i < t->tensor->ndim; i++) {
        const int g = group_of(f, t->ix[i].var), before = i ? t->ix[i - 1].var : -1;
        const bool same = i && group_of(f, before) == g;
        apart |= same ? place_of(f, before) > place_of(f, t->ix[i].var) : met >> g & 1;
        met |= 1 << g;
    }
    return (apart ? n : 0) + (listed(f, t) >= 0 ? n : 0);
}

/* Of what a scattered result has elsewhere. */
static double clear_cost(const Prog *p, const Factors *f)
{ return listed(f, f->out) < 0 ? 0 : copied / 4 * tree_cells(p, expr_vars(f->out)); }

/* Of what is made anew and is large: the result, and the product where it lies in another order. */
static double fresh_cost(const Prog *p, const Factors *f)
{
    const double four = cells(p, f, expr_vars(f->out)) * (double)sc_dtype_size(f->out->tensor->dtype) / 4;
    return 4 * four <= FRESH ? 0 : paged * four * (copy_cost(p, f, f->out) > 0 ? 2 : 1);
}

/* Rows of the result that are shorter than a vector take as long as one of 20 elements, by libraries that were timed. */
static double dense_cost(const Prog *p, Factors *f, const Expr *sum)
{
    enum { SHORT = 16, AS_LONG = 20 };
    const Tensor *out = f->out->tensor;
    f->order = cells(p, f, expr_vars(f->x)) >= cells(p, f, expr_vars(f->y)) ? f->x : f->y;
    const int last = group_of(f, f->out->ix[out->ndim - 1].var);
    uint32_t batch = 0, row = 0;
    for (int i = 0; i < out->ndim; i++) {
        const int g = group_of(f, f->out->ix[i].var);
        if (g == 7) batch |= 1u << f->out->ix[i].var;
        if (g == last) row |= 1u << f->out->ix[i].var;
    }
    const double four = (double)sc_dtype_size(out->dtype) / 4 / prog_threads(p), wide = cells(p, f, row),
                 products = batch ? batched * cells(p, f, batch) : 0,
                 each = multiplied * VECTOR / fmax(p->vector_bytes, 16);
    return (out->dtype == SC_BF16 ? packed : called) + products + fresh_cost(p, f) +
           four *
               (copy_cost(p, f, f->x) + copy_cost(p, f, f->y) + copy_cost(p, f, f->out) + clear_cost(p, f) +
                each * cells(p, f, expr_vars(sum)) * (wide < SHORT ? AS_LONG / wide : 1));
}

/* Of a product for each of what the list has in one dimension, all of them of the rows that it has entries for. The
 * matrices that these stand beside are read once, as by nests, and packed where they are of bf16. In float32 tiles of
 * gathered rows are as fast where many rows share a matrix, and always where the library is not. Nor may what is gathered
 * be too large. */
static double listed_cost(const Prog *p, const Factors *f)
{
    enum { MANY = 16, LARGE = 1 << 29 };
    const double entries = tree_size(p, f->list).entries, n = tree_cells(p, 1u << f->each),
                 mul = multiplied * VECTOR / fmax(p->vector_bytes, 16);
    const bool half = p->result_type == SC_BF16;
    if (!half && (!p->swift || (!in(f->kept, f->each) && entries > MANY * n))) return INFINITY;
    double moved = 0, packs = 0;
    for (int k = 0; k < 3; k++) {
        const uint32_t vars = k == 2 ? f->kept : expr_vars(k ? f->y : f->x);
        if (half && k < 2 && !in(vars, f->listed)) packs += tree_cells(p, vars);
        if (in(vars, f->listed)) moved += entries * tree_cells(p, vars & ~(1u << f->listed));
        if (k == 2 && in(vars, f->each)) moved += tree_cells(p, vars);
    }
    const uint32_t all = expr_vars(f->x) | expr_vars(f->y) | f->kept,
                   listed = 1u << f->listed | 1u << f->each;
    if (moved > LARGE) return INFINITY;
    const double madds = entries * tree_cells(p, all & ~listed);
    return (half ? packed : called) * n + (double)sc_dtype_size(p->result_type) / 4 / prog_threads(p) *
                                              (copied * moved + turned * packs + mul * madds);
}

void library_choose(Prog *p, Step *s, const Assign *a, int like)
{
    Factors f = {.out = a->lhs};
    if (!read_factors(p, a->rhs, a->lhs->tensor->dtype, &f) || !fits_result(&f, s, like)) return;
    s->dense = dense_of(&f, s, a->rhs);
    if (!s->dense.is) return;
    const double cost = f.list ? listed_cost(p, &f) : dense_cost(p, &f, a->rhs);
    s->dense.is = cost < s->cost;
    if (s->dense.is) s->cost = cost;
}
