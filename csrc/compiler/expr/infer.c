/* infer.c: formats and types of results.
 *
 * requires  check. sets: p->type, what is computed in; dtype, itype, like, unit
 * and format of results, p->ask.
 *
 * Types promote as in torch. 16 bit floats are computed with in f32; integers stay
 * integers unless the expression divides, has a fraction or calls a function of
 * reals, and truth values count as i64.
 *
 * A result is sparse where nothing but zeros can lie outside of what operands
 * store: all its indices are covered (covered.c). A vector is dense all the same
 * unless every sparse operand is one, a number always, and so is what a later
 * assignment of the same nest reads (path/apart.c). What is delivered, p->ask:
 *   what was asked for;
 *   else dense, where the result is not sparse;
 *   else the structure of an operand whose pattern is the result's;
 *   else the common format of the sparse operands, if they have the result's rank;
 *   else csr for matrices, if an operand has a dense level too, and csf for the rest.
 * What the kernels make, Tensor.format, may differ and is converted at the end.
 * It is dense where the result is not sparse, or asked to be dense; else the
 * structure of the operand; else what a user's nest assembles; else open, for
 * the scheduler to say. */
#include <math.h>

#include "expr.h"

static sc_format format_of(Prog *p, const char *text, int ndim)
{
    sc_format f = {0};
    sc_err err = {0};
    if (sc_format_parse(&f, text, ndim, &err)) fail(p, err.code, -1, "%s", err.msg);
    return f;
}

static void settle(Tensor *t, const sc_format *f)
{
    t->format = *f;
    t->unit = sc_format_is_dense(f) ? t->ndim - 1 : -1;
}

void expr_make_dense(Prog *p, Tensor *t)
{
    const sc_format f = format_of(p, "dense", t->ndim);
    settle(t, &f);
}

/* ---- which results are sparse ---- */
/* Calls f on every access to a sparse operand in e; below: inside of a reduction. */
static void each_sparse(const Expr *e, bool below, void (*f)(void *, const Tensor *, bool), void *ctx)
{
    if (e->op == O_ACCESS && tensor_is_sparse(e->tensor)) f(ctx, e->tensor, below);
    for (int k = 0; k < 2; k++)
        if (e->kid[k]) each_sparse(e->kid[k], below || e->op == O_REDUCE, f, ctx);
}

static void add_vars(void *ctx, const Tensor *t, bool below)
{
    (void)below;
    for (int d = 0; d < t->ndim; d++) *(uint32_t *)ctx |= 1u << t->dimvar[d];
}

/* A maximum or minimum over no coordinate is infinite. */
static bool has_empty(const Prog *p, const Expr *e)
{
    if (p->unsized) return false;
    for (int v = 0; e->op == O_REDUCE && e->reduce != O_ADD && v < p->nvar; v++)
        if (e->vars >> v & 1 && !p->var[v].extent) return true;
    return (e->kid[0] && has_empty(p, e->kid[0])) || (e->kid[1] && has_empty(p, e->kid[1]));
}

/* With implicit="skip" a maximum is infinite where nothing is stored; asked to be sparse, it stores none of those. */
static uint32_t covered(const Prog *p, const Assign *a, bool asked)
{
    uint32_t vars = 0;
    if (!p->skip) return has_empty(p, a->rhs) ? 0 : expr_covered(p, a->rhs);
    if (!asked && (a->reduce == O_MAX || a->reduce == O_MIN)) return 0;
    each_sparse(a->rhs, false, add_vars, &vars);
    return vars;
}

static bool read_later(const Prog *p, const Tensor *t)
{
    for (int a = 0; a < p->nassign; a++)
        if (expr_reads(p->assign[a].rhs, t)) return true;
    return false;
}

typedef struct {
    const Tensor *first;
    bool agree, vectors, any;
    bool rows; /* one has a dense level: its extents can be afforded */
} Operands;

static void add_operand(void *ctx, const Tensor *t, bool below)
{
    Operands *o = ctx;
    (void)below;
    o->any = true;
    o->vectors &= t->ndim == 1;
    if (!o->first) o->first = t;
    for (int l = 0; l < t->format.nlevel; l++) o->rows |= !sc_kind_of(&t->format.level[l])->crd;
    o->agree &= sc_format_equal(&o->first->format, &t->format);
}

static Operands operands_of(const Assign *a)
{
    Operands o = {.agree = true, .vectors = true};
    each_sparse(a->rhs, false, add_operand, &o);
    return o;
}

/* Whether what stands below a position of the level above has a fixed number of places. */
static bool has_slots(const sc_format *f, int l)
{
    if (!sc_kind_of(&f->level[l])->one) return sc_kind_of(&f->level[l])->padded;
    const sc_levelspec *above = &f->level[l - 1]; /* a singleton level never comes first */
    return above->unique || !sc_kind_of(above)->crd || sc_kind_of(above)->padded;
}

/* Blocks divide the extents, and no level has a number of slots that the result may exceed. */
static bool takes_any(const sc_format *f, const Tensor *t)
{
    for (int l = 0; l < f->nlevel; l++) {
        const sc_levelspec *s = &f->level[l];
        if (has_slots(f, l) || (s->part != SC_WHOLE && t->extent[s->dim] % s->block)) return false;
    }
    return true;
}

/* ---- the pattern of an operand ---- */
typedef struct {
    Tensor *of; /* whose structure the result has; null: none */
    int levels; /* the first ones of it */
    sc_format format;
} Pattern;

typedef struct {
    const Tensor *mask;
    bool alone, twins, only; /* no other sparse operand outside of reductions; none but twins; none at all */
} Mask;

static void look_for_others(void *ctx, const Tensor *t, bool below)
{
    Mask *m = ctx;
    m->alone &= below || t == m->mask;
    m->twins &= below || tensor_is_twin(t, m->mask);
    m->only &= t == m->mask;
}

static bool has_indices(const Tensor *t, const Expr *lhs)
{
    bool same = t->ndim == lhs->tensor->ndim;
    for (int d = 0; same && d < t->ndim; d++) same = t->dimvar[d] == lhs->ix[d].var;
    return same;
}

/* The operand without whose entries nothing is left: k counts them. */
static Tensor *next_mask(const Prog *p, const Assign *a, int *k, Mask *m)
{
    while (*k < p->ntensor) {
        Tensor *t = p->tensor[(*k)++];
        *m = (Mask){t, true, true, true};
        if (!tensor_is_sparse(t) || !expr_kills(p, a->rhs, t)) continue;
        each_sparse(a->rhs, false, look_for_others, m);
        return t;
    }
    return NULL;
}

/* An operand at the indices of the result. Where others have its structure, the format is what it is where they do not. */
static Pattern whole_pattern(const Prog *p, const Assign *a)
{
    Mask m;
    int k = 0;
    for (Tensor *t; (t = next_mask(p, a, &k, &m));) {
        if (!has_indices(t, a->lhs) || !sc_format_is_unique(&t->format)) continue;
        if (m.alone || (m.twins && takes_any(&t->format, a->lhs->tensor)))
            return (Pattern){t, t->format.nlevel, t->format};
    }
    return (Pattern){0};
}

/* The first n levels of t, if they tell stored coordinates of the result apart, and dense ones of its other indices. */
static bool upper_levels(const Tensor *t, int n, const Expr *lhs, sc_format *f)
{
    uint32_t seen = 0;
    bool stored = false;
    *f = (sc_format){.ndim = lhs->tensor->ndim};
    for (int l = 0; l < n; l++) {
        sc_levelspec s = t->format.level[l];
        const int d = expr_dim_of(lhs, t->dimvar[s.dim]);
        if (d < 0 || seen >> d & 1 || s.part != SC_WHOLE || has_slots(&t->format, l)) return false;
        if (sc_kind_of(&s)->words && f->ndim > n) return false; /* nothing stands below */
        seen |= 1u << d;
        stored |= sc_kind_of(&s)->crd;
        s.dim = (uint8_t)d;
        f->level[f->nlevel++] = s;
    }
    for (int d = 0; d < f->ndim; d++)
        if (!(seen >> d & 1))
            f->level[f->nlevel++] = (sc_levelspec){.kind = SC_DENSE, .unique = 1, .dim = (uint8_t)d};
    return stored && f->nlevel <= SC_MAXLEVEL && sc_format_is_unique(f);
}

/* Whether f, whose first n levels are an operand's, is the format asked for but for the order of dense levels. */
static bool is_asked(const sc_format *f, int n, const sc_format *ask)
{
    sc_format g = *ask;
    if (f->ndim != g.ndim || f->nlevel != g.nlevel) return false;
    for (int l = n; l < g.nlevel; l++)
        if (sc_kind_of(&g.level[l])->crd || g.level[l].part != SC_WHOLE) return false;
    g.nlevel = n;
    sc_format head = *f;
    head.nlevel = n;
    return sc_format_equal(&head, &g);
}

/* The first levels of the only sparse operand: those of the format asked for, else as many as the result has indices
 * of. Where they do not cover the result it is sparse by two of them: rows of a dense matrix stay one. */
static Pattern upper_pattern(const Prog *p, const Assign *a, const sc_format *ask, bool covered)
{
    Mask m;
    Pattern found = {0};
    int k = 0;
    if (has_empty(p, a->rhs)) return found;
    for (Tensor *t; (t = next_mask(p, a, &k, &m));)
        for (int n = t->format.nlevel; m.only && n > 0; n--) {
            sc_format f;
            if (!upper_levels(t, n, a->lhs, &f)) continue;
            if (is_asked(&f, n, ask)) return (Pattern){t, n, *ask};
            const bool fits = covered ? n == f.ndim && n < t->format.nlevel : n > 1;
            if (fits && !found.of) found = (Pattern){t, n, f};
        }
    return found;
}

/* ---- the format that is delivered ---- */
static sc_format delivered(Prog *p, const Assign *a)
{
    const Tensor *t = a->lhs->tensor;
    const Operands o = operands_of(a);
    if (o.agree && o.first->ndim == t->ndim && takes_any(&o.first->format, t)) return o.first->format;
    return format_of(p, t->ndim == 2 && o.rows ? "csr" : "csf", t->ndim);
}

/* ---- what a user's nest assembles ---- */
typedef struct {
    const Tensor *t;
    const Nest *path[MAXNEST], *found[MAXNEST]; /* loops around; around the one evaluation of t */
    int depth, nfound, times;
    Op reduce;
} EvalSearch;

static void search(EvalSearch *s, const Nest *n)
{
    if (n->op == N_EVAL && n->eval.lhs->tensor == s->t && !s->times++) {
        s->nfound = s->depth;
        s->reduce = n->eval.reduce;
        for (int k = 0; k < s->depth; k++) s->found[k] = s->path[k];
    }
    if (n->op == N_LOOP) s->path[s->depth++] = n;
    if (n->body) search(s, n->body);
    if (n->then) search(s, n->then);
    for (int k = 0; k < n->n; k++) search(s, n->kid[k]);
    if (n->op == N_LOOP) s->depth--;
}

/* Whether the loop runs over all coordinates: a dense one, or along a dense level. */
static bool runs_over_all(const Nest *n)
{
    if (n->nmerge) return false;
    if (!n->in) return true;
    for (int l = 0; l < n->in->format.nlevel; l++)
        if (!sc_kind_of(&n->in->format.level[l])->crd && index_same(tensor_level_index(n->in, l), n->ix))
            return true;
    return false;
}

/* The levels that the loops around the evaluation make: dense where a loop runs over all coordinates in front of
 * the others, then compressed. False where a dense result is what it fills. */
static bool levels_of(const EvalSearch *s, const Expr *lhs, sc_format *f)
{
    uint32_t seen = 0;
    bool all = true;
    *f = (sc_format){.ndim = s->t->ndim};
    if (s->times != 1 || s->reduce != O_CONST) return false;
    for (int k = 0; k < s->nfound; k++) {
        const Nest *n = s->found[k];
        const int d = expr_dim_of(lhs, n->ix.var);
        if (d < 0 || n->ix.part != SC_WHOLE || n->kind == L_VEC || n->by || n->unroll) return false;
        if (seen >> d & 1) continue; /* a lookup */
        seen |= 1u << d;
        all = runs_over_all(n);
        const bool dense = all && (!f->nlevel || !sc_kind_of(&f->level[f->nlevel - 1])->crd);
        f->level[f->nlevel++] =
            (sc_levelspec){.kind = dense ? SC_DENSE : SC_COMPRESSED, .unique = 1, .dim = (uint8_t)d};
    }
    return f->nlevel == s->t->ndim && !all;
}

/* Vectors are stored where every coordinate has a place. */
static bool writes_vectors(const EvalSearch *s, const Expr *lhs)
{
    for (int k = 0; k < s->nfound; k++)
        if (s->found[k]->kind == L_VEC && expr_dim_of(lhs, s->found[k]->ix.var) >= 0) return true;
    return false;
}

static bool assembles(const sc_format *f)
{
    int l = 0;
    while (l < f->nlevel && !sc_kind_of(&f->level[l])->crd && f->level[l].part == SC_WHOLE) l++;
    if (l == f->nlevel) return false;
    while (l < f->nlevel && sc_kind_of(&f->level[l])->pos && f->level[l].unique &&
           f->level[l].part == SC_WHOLE)
        l++;
    return l == f->nlevel;
}

/* Whether the nest walks every level of the pattern around the evaluation. */
static bool follows(const EvalSearch *s, const Pattern *pattern)
{
    const Tensor *mask = pattern->of;
    int walked = 0, need = 0;
    for (int l = 0; l < pattern->levels; l++) need += sc_kind_of(&mask->format.level[l])->crd;
    for (int k = 0; k < s->nfound; k++) {
        const Nest *n = s->found[k];
        for (int m = 0; m < n->nmerge; m++)
            if (n->merge[m] == mask) return false;
        if (n->in != mask) continue;
        for (int l = 0; l < pattern->levels; l++)
            walked +=
                sc_kind_of(&mask->format.level[l])->crd && index_same(tensor_level_index(mask, l), n->ix);
    }
    return walked >= need;
}

/* Whether loops that make the levels of f can assemble g: a dense level needs all coordinates. */
static bool makes(const sc_format *f, const sc_format *g)
{
    for (int l = 0; l < f->nlevel; l++) {
        const bool stored = sc_kind_of(&f->level[l])->crd && !sc_kind_of(&g->level[l])->crd;
        if (f->level[l].dim != g->level[l].dim || stored) return false;
    }
    return true;
}

static void settle_like(Tensor *t, const Pattern *pattern)
{
    t->like = pattern->of;
    t->shared = pattern->levels;
    t->itype = pattern->of->itype;
    settle(t, &pattern->format);
}

static void settle_by_nest(Prog *p, const Assign *a, bool asked, const Pattern *pattern)
{
    Tensor *t = a->lhs->tensor;
    const sc_format *ask = &p->ask[t->arg - p->nin];
    EvalSearch s = {.t = t};
    sc_format f;
    search(&s, p->draft.nest);
    const bool known = levels_of(&s, a->lhs, &f), can = asked && assembles(ask);
    const bool like = pattern->of && follows(&s, pattern);
    if (can && known && makes(&f, ask) && !(like && sc_format_equal(ask, &pattern->format))) {
        settle(t, ask);
    } else if (like) {
        settle_like(t, pattern);
    } else if (known) {
        settle(t, &f);
    } else if (can && !writes_vectors(&s, a->lhs)) {
        settle(t, ask);
    } else {
        expr_make_dense(p, t);
    }
}

/* ---- types ---- */
/* Whether e makes reals of integers. */
static bool is_real(const Expr *e)
{
    const OpInfo *op = op_info(e->op);
    if (e->op == O_DIV || (op->reals && !op->integers) || (e->op == O_CONST && !op_is_whole(e->c)))
        return true;
    return (e->kid[0] && is_real(e->kid[0])) || (e->kid[1] && is_real(e->kid[1]));
}

/* Scalars without dimensions take part in promotion only among their kind, as in torch. */
static sc_dtype promoted(const Prog *p)
{
    sc_dtype t = SC_BOOL;
    bool any = false;
    for (int pass = 0; pass < 2; pass++)
        for (int k = 0; k < p->nin; k++) {
            const Tensor *x = p->tensor[k];
            bool floats = x->dtype >= SC_F16;
            if ((x->ndim == 0) != pass || (pass && any && (t >= SC_F16 || !floats))) continue;
            t = any ? sc_dtype_promote(t, x->dtype) : x->dtype;
            any = true;
        }
    return t;
}

/* Constants are numbers of what is computed in. */
static void check_constants(Prog *p, const Expr *e)
{
    const bool wide = e->op == O_CONST && isfinite(e->c) && (e->c < INT32_MIN || e->c > INT32_MAX);
    if (wide && p->type == SC_I32)
        fail(
            p, SC_EVALUE, e->pos,
            "%.0f is no number of int32, which is computed in: convert an operand to int64, or to a floating "
            "point type",
            e->c);
    for (int k = 0; k < 2; k++)
        if (e->kid[k]) check_constants(p, e->kid[k]);
}

static void infer_types(Prog *p)
{
    sc_dtype t = promoted(p);
    bool real = false;
    for (int a = 0; a < p->nassign; a++) real |= is_real(p->assign[a].rhs);
    if (real && t < SC_F16) t = SC_F32;
    p->type = sc_dtype_computed(t);
    p->result_type = p->narrow ? p->narrow : t < SC_F16 ? p->type : t;
    for (int a = 0; a < p->nassign; a++) check_constants(p, p->assign[a].rhs);
}

/* ---- one result ---- */
static void infer_index_type(const Prog *p, Tensor *t)
{
    if (t->itype == SC_I32 || t->itype == SC_I64) return;
    t->itype = SC_I32;
    for (int k = 0; k < p->nin; k++)
        if (tensor_is_sparse(p->tensor[k]) && p->tensor[k]->itype == SC_I64) t->itype = SC_I64;
}

/* The access to operand t at the indices of the result. */
static void infer_like(Prog *p, const Assign *a, Tensor *t)
{
    Tensor *r = a->lhs->tensor;
    if (sc_format_is_dense(&t->format))
        fail(p, SC_EVALUE, a->lhs->pos, "%s is to have the structure of %s, which is dense; ask for a format",
             r->name, t->name);
    for (int k = 0; k < p->ntensor; k++) {
        Tensor *x = p->tensor[k];
        if (x->role != T_IN || x->arg != t->arg || !has_indices(x, a->lhs)) continue;
        settle_like(r, &(Pattern){x, x->format.nlevel, x->format});
        return;
    }
    fail(p, SC_EVALUE, a->lhs->pos,
         "%s has the structure of %s, so %s must be read at the indices of %s in the same order", r->name,
         t->name, t->name, r->name);
}

/* Of what is computed dense. */
static void check_size(Prog *p, const Assign *a)
{
    const Tensor *t = a->lhs->tensor;
    int64_t size = 8;
    for (int d = 0; d < t->ndim; d++)
        if (!sc_mul(size, sc_max(t->extent[d], 1), &size))
            fail(p, SC_EVALUE, a->lhs->pos,
                 "%s is dense, since it may have a value where no operand has an entry or is asked to be, "
                 "and has "
                 "more than 2^60 elements",
                 t->name);
}

static void infer_result(Prog *p, const Assign *a)
{
    Tensor *t = a->lhs->tensor;
    Pattern pattern = {0};
    const int r = t->arg - p->nin;
    sc_format *ask = &p->ask[r];
    const bool asked = ask->nlevel > 0;
    const bool wants_dense = asked && sc_format_is_dense(ask);
    const Operands o = operands_of(a);
    const uint32_t vars = expr_vars(a->lhs);
    if (t->dtype == SC_NDTYPE) t->dtype = p->wide >> r & 1 ? p->type : p->result_type;
    infer_index_type(p, t);
    if (asked) p->asked |= 1u << r;
    if (p->ask_like[r] && !read_later(p, t)) {
        infer_like(p, a, p->tensor[p->ask_like[r] - 1]);
        if (!asked) *ask = t->format;
        return;
    }
    t->covered = t->ndim && o.any && !(vars & ~covered(p, a, asked));
    const bool may = t->ndim && o.any && !read_later(p, t) && !wants_dense;
    bool sparse = may && t->covered && (asked || t->ndim > 1 || o.vectors);
    if (sparse && !p->skip) pattern = whole_pattern(p, a);
    if (!pattern.of && may && !p->skip && (sparse || t->ndim > 1)) pattern = upper_pattern(p, a, ask, sparse);
    sparse |= pattern.of != NULL;
    t->covered |= sparse;
    if (!asked)
        *ask = pattern.of ? pattern.format : sparse ? delivered(p, a) : format_of(p, "dense", t->ndim);
    if (!sparse) {
        check_size(p, a);
        expr_make_dense(p, t);
    } else if (p->draft.nest) {
        settle_by_nest(p, a, asked, &pattern);
    } else if (pattern.of) {
        settle_like(t, &pattern);
    } else {
        t->format = (sc_format){.ndim = t->ndim};
        t->unit = -1;
    }
}

static void check_ask(Prog *p, const Tensor *t)
{
    const sc_format *ask = &p->ask[t->arg - p->nin];
    if (!ask->nlevel) return;
    if (ask->ndim != t->ndim)
        fail(p, SC_EVALUE, -1, "the format asked for %s has %d dimensions, but the result has %d", t->name,
             ask->ndim, t->ndim);
    for (int l = 0; l < ask->nlevel; l++) {
        const sc_levelspec *s = &ask->level[l];
        if (s->part != SC_WHOLE && t->extent[s->dim] % s->block)
            fail(p, SC_EVALUE, -1,
                 "the format asked for %s has blocks of %d in dimension %d, which do not divide its "
                 "extent, %lld",
                 t->name, s->block, s->dim, (long long)t->extent[s->dim]);
    }
}

void expr_infer(Prog *p)
{
    infer_types(p);
    for (int a = 0; a < p->nassign; a++) {
        p->assign[a].lhs->tensor->empty = p->skip ? p->assign[a].reduce : O_CONST;
        check_ask(p, p->assign[a].lhs->tensor);
        infer_result(p, &p->assign[a]);
    }
}
