/* product.c: expression -> nest, for a product of at most one sparse operand
 * with dense ones.
 *
 * requires  one reduction at most, its sparse operand a factor (product_fits); a dense result
 *
 * The sparse operand is walked in storage order. Where all levels that the
 * result keeps come before those that are summed, the result is owned: every
 * thread writes its own part, sums live in registers. Else the sums scatter: into
 * a private copy for every thread when the result is small, and otherwise the
 * operand is to be converted first, so that the result is owned. Dense indices are
 * free: one becomes the vector, the others loops inside. Extents steer choices in
 * powers of two only, so that a new batch does not make a new kernel. What the
 * general builder lacks is here: sums of blocks in registers, packed panels. */
#include <string.h>

#include "product.h"

#define PRIVATE_BYTES (64 * 1024)

/* ---- what kind of expression ---- */
static void find(Sched *s, const Expr *e)
{
    if (e->op == O_REDUCE) s->sum = e;
    if (e->op == O_ACCESS && tensor_is_sparse(e->tensor)) s->a = e->tensor;
    for (int k = 0; k < 2; k++)
        if (e->kid[k]) find(s, e->kid[k]);
}

/* Accesses that run along v at stride 1; the result counts double, since it is written. */
static int unit_uses(const Expr *e, int v, int weight)
{
    int n = 0;
    if (e->op == O_ACCESS && sc_format_is_dense(&e->tensor->format) && e->tensor->unit >= 0)
        n = e->ix[e->tensor->unit].var == v ? weight : 0;
    for (int k = 0; k < 2; k++)
        if (e->kid[k]) n += unit_uses(e->kid[k], v, weight);
    return n;
}

static void choose_vector(Sched *s)
{
    int best = 0;
    s->vec = -1;
    for (int v = 0; v < s->p->nvar; v++) {
        if (!in(s->all, v) || in(s->stored, v)) continue;
        int uses = unit_uses(s->rhs, v, 1) + (in(s->kept, v) ? unit_uses(s->lhs, v, 2) : 0);
        if (uses > best) best = uses, s->vec = v;
    }
    /* without a sparse operand the outermost index of the result is the parallel one */
    if (!s->a && s->vec >= 0 && s->lhs->tensor->ndim && s->lhs->ix[0].var == s->vec) s->vec = -1;
}

static void classify(Sched *s)
{
    const Tensor *a = s->a;
    s->kept = expr_vars(s->lhs);
    s->all = s->kept | expr_vars(s->rhs);
    s->last_kept = -1;
    s->owned = true;
    if (a) {
        for (int d = 0; d < a->ndim; d++) s->stored |= 1u << a->dimvar[d];
        s->nmain = a->format.nlevel;
        while (s->nmain > 0 && a->format.level[s->nmain - 1].part == SC_MOD &&
               !sc_kind_of(&a->format.level[s->nmain - 1])->crd)
            s->nmain--;
    }
    for (int k = 0; k < s->nmain; k++)
        if (in(s->kept, tensor_level_index(a, k).var)) s->last_kept = k;
    choose_vector(s);
    s->cut = a && s->vec >= 0 && in(s->kept, s->vec) ? panel_cut(s) : 0;
    for (int k = s->cut ? 1 : 0; k < s->last_kept; k++)
        if (!in(s->kept, tensor_level_index(a, k).var)) s->owned = false;
    if (a ? s->last_kept < 0 : !s->lhs->tensor->ndim) s->owned = false;
}

/* ---- building ---- */
static Nest *owned(Sched *s)
{
    if (product_over_words(s)) return product_words(s);
    return s->packed ? panel_nest(s) : panel_cuts(s, product_rows(s));
}

/* Nothing is summed inside of the levels in front of `first`. */
static bool adds_entries(const Sched *s, int first)
{
    const bool kept = s->vec < 0 || in(s->kept, s->vec);
    return s->a && first == s->nmain && kept && !(s->all & ~s->stored & ~s->kept);
}

/* Every entry is added to memory. Factors that vary along the vector, but not with the innermost level, are multiplied
 * once around it, in registers. */
static Nest *added(Sched *s, const ProductStep *step, int n)
{
    Prog *p = s->p;
    product_tile(s, 1);
    const Op reduce = s->sum->reduce;
    Expr *by = reduce == O_ADD && s->vec >= 0 && n == s->nmain && n > 1 && !s->tile
                   ? expr_take_out(p, s->product, 1u << tensor_level_index(s->a, n - 1).var, &s->product)
                   : NULL;
    Tensor *c = by && in(expr_vars(by), s->vec) ? product_accumulator(s) : NULL;
    if (by) s->product = expr_new(p, O_MUL, s->product, c ? work_access(p, c) : by);
    Nest *body = product_tiled(
        s,
        product_vec_loop(s, product_write(s, schedule_scalars_first(p, reduce, s->product, s->vec), reduce)));
    if (!c) return product_wrap(s, step, n, body);
    body = product_wrap(s, step + n - 1, 1, body);
    Nest *fill = product_vec_loop(
        s, nest_eval(p, work_access(p, c), O_ADD, schedule_scalars_first(p, O_ADD, by, s->vec)));
    return product_wrap(s, step, n - 1, nest_work(p, c, fill, body));
}

/* Sums are added to memory: loops over what is summed stand outside of those over what is kept. */
static Nest *scattered(Sched *s)
{
    ProductStep step[MAXPRODUCTSTEP];
    int first = s->last_kept + 1 > 1 ? s->last_kept + 1 : 1, n;
    bool blocks = s->a && s->nmain < s->a->format.nlevel;
    if (!blocks) {
        n = s->a ? product_levels(s, 0, first, step, 0) : product_first_loop(s, step);
        n = product_dense_loops(s, true, step, n);
        if (adds_entries(s, first)) return added(s, step, n);
        return product_wrap(s, step, n, product_sum(s, first, s->sum->reduce));
    }
    n = product_levels(s, 0, s->nmain, step, 0);
    n = product_block_loops(s, step, n);
    n = product_dense_loops(s, true, step, n);
    n = product_dense_loops(s, false, step, n);
    Expr *to = work_access(s->p, s->through);
    Expr *term = schedule_scalars_first(s->p, s->sum->reduce, s->product, s->vec);
    return product_wrap(s, step, n, product_vec_loop(s, nest_eval(s->p, to, s->sum->reduce, term)));
}

/* No sum: every stored entry is written once (or added, where coordinates may repeat). */
static Nest *elementwise(Sched *s)
{
    ProductStep step[MAXPRODUCTSTEP];
    Op store = O_CONST;
    for (int k = 0; k < s->nmain; k++)
        if (!s->a->format.level[k].unique) store = O_ADD;
    if (store == O_ADD && op_identity(s->lhs->tensor->empty) != 0) return NULL;
    int n = s->a ? product_levels(s, 0, s->nmain, step, 0) : product_first_loop(s, step);
    n = product_block_loops(s, step, n);
    n = product_dense_loops(s, true, step, n);
    Expr *value = schedule_scalars_first(s->p, store, s->rhs, s->vec);
    return product_wrap(s, step, n, product_vec_loop(s, nest_eval(s->p, s->lhs, store, value)));
}

/* ---- a result through a workspace of its shape ---- */
/* work w { f } then { par over the result, its last index as a vector: C = ... w ... } */
static Nest *through(Sched *s, Storage place, Nest *f(Sched *))
{
    Prog *p = s->p;
    Tensor *w = work_new(s->p, "w", place);
    ProductStep step[MAXPRODUCTSTEP];
    int n = 0, ndim = s->lhs->tensor->ndim;
    for (int d = 0; d < ndim; d++) work_slot(w, s->lhs->ix[d]);
    s->through = w;
    Nest *body = f(s);
    for (int d = 0; d < ndim; d++)
        n = product_step(step, n, index_whole(s->lhs->ix[d].var), NULL,
                         !d              ? L_PAR
                         : d == ndim - 1 ? L_VEC
                                         : L_FOR);
    Expr *out = expr_replace(p, s->rhs, s->sum, work_access(p, w));
    return nest_work(p, w, body, product_wrap(s, step, n, nest_eval(p, s->lhs, O_CONST, out)));
}

/* Every coordinate of the result is visited, or every one that it stores. */
static bool covers(const Sched *s)
{
    for (int k = 0; s->a && !s->lhs->tensor->like && k <= s->last_kept; k++)
        if (sc_kind_of(&s->a->format.level[k])->crd) return false;
    return true;
}

/* ---- conversion ---- */
/* The sparse operand with its kept dimensions first; dense blocks stay as they are. One that ends in dense levels is left
 * to orders of loops, which can enter these by coordinate. */
static void convert(Sched *s, sc_format *f)
{
    const Tensor *a = s->a;
    *f = (sc_format){.ndim = a->ndim};
    if (sc_format_dense_tail(&a->format)) return;
    for (int pass = 0; pass < 2; pass++)
        for (int k = 0, d = 0; d < a->ndim; d++) {
            if (in(s->kept, a->dimvar[d]) == (pass == 1)) continue;
            for (k = 0; a->format.level[k].dim != d || a->format.level[k].part == SC_MOD;) k++;
            schedule_plain_level(f, a, d);
            if (s->nmain == a->format.nlevel) continue;
            sc_levelspec *to = &f->level[f->nlevel - 1];
            to->part = a->format.level[k].part;
            to->block = a->format.level[k].block;
        }
    for (int k = s->nmain; k < a->format.nlevel; k++) f->level[f->nlevel++] = a->format.level[k];
}

static void explain(const Sched *s, sc_text *why)
{
    if (s->a) sc_text_add(why, "loops over %s follow its storage order\n", s->a->name);
    if (s->cut) sc_text_add(why, "sums are added to the result one cut of %s after the other\n", s->a->name);
    if (s->panel)
        sc_text_add(why, "%s is the vector, %s: tiles of %d are packed first\n", s->p->var[s->vec].name,
                    panel_straight(s) ? "in rows that entries choose"
                                      : "though nothing runs along it at stride 1",
                    s->tile);
    else if (s->vec >= 0)
        sc_text_add(why, "%s is the vector: it runs at stride 1 in most operands%s\n", s->p->var[s->vec].name,
                    s->tile ? ", tiled so that a tile of sums fits the registers" : "");
    if (s->through && s->through->place != W_LANE)
        sc_text_add(why,
                    s->through->place == W_PRIVATE
                        ? "sums scatter over a small result: every thread has a copy, added up in order\n"
                        : "rows without entries need their value too: sums go through a workspace\n");
}

/* ---- which expressions ---- */
typedef struct {
    int sparse, reduces; /* accesses to sparse operands, O_REDUCE nodes */
    const Expr *first, *reduce;
    bool nested;
} ExprShape;

static void look(const Expr *e, ExprShape *s, bool inside)
{
    if (e->op == O_ACCESS && source_is_sparse(e->tensor)) {
        s->sparse++;
        s->first = e;
    }
    if (e->op == O_REDUCE) {
        s->reduces++;
        s->reduce = e;
        s->nested |= inside;
    }
    for (int k = 0; k < 2; k++)
        if (e->kid[k]) look(e->kid[k], s, inside || e->op == O_REDUCE);
}

static bool has_factor(const Expr *e, const Expr *f)
{
    if (e->op == O_ACCESS) return e == f;
    if (e->op == O_MUL) return has_factor(e->kid[0], f) || has_factor(e->kid[1], f);
    return (e->op == O_DIV || e->op == O_NEG) && has_factor(e->kid[0], f);
}

static bool is_node(const Expr *e, const void *node) { return e == node; }

/* One reduction at most, its sparse operand a factor; a dense result, or one that shares upper levels. */
bool product_fits(Prog *p, const Assign *a)
{
    const Tensor *t = a->lhs->tensor;
    ExprShape s = {0};
    look(a->rhs, &s, false);
    if (!t->format.nlevel && t->ndim) return false;
    if (s.sparse > 1 || s.reduces > 1 || s.nested) return false;
    if (!sc_format_is_dense(&t->format) &&
        !(tensor_shares_upper(t) && s.sparse && s.first->tensor == t->like))
        return false;
    if (!s.sparse) return true;
    for (int d = 0; d < s.first->tensor->ndim; d++)
        for (int k = 0; k < d; k++)
            if (s.first->ix[d].var == s.first->ix[k].var) return false;
    if (s.reduces && !expr_any(s.reduce, is_node, s.first)) return false;
    if (!has_factor(s.reduces ? s.reduce->kid[0] : a->rhs, s.first)) return false;
    if (!s.reduces) return true;
    return p->skip ? s.reduce == a->rhs : s.reduce->reduce == O_ADD;
}

static Nest *product(Prog *p, const Assign *a, bool packed, sc_format *to, sc_text *why)
{
    if (!product_fits(p, a)) return NULL;
    Sched *s = NEW(p, Sched);
    Nest *n = NULL;
    *s = (Sched){.p = p, .lhs = a->lhs, .rhs = a->rhs};
    find(s, s->rhs);
    s->product = s->sum ? s->sum->kid[0] : s->rhs;
    classify(s);
    const bool direct = s->rhs == s->sum || (covers(s) && !s->cut);
    const bool words = product_over_words(s);
    if (words && packed) return NULL;
    const bool panel = !words && s->sum && s->owned && (direct || s->cut) && panel_choose(s, packed);
    if (packed && (!panel || s->cut || !panel_straight(s))) return NULL;
    if (!s->sum)
        n = elementwise(s);
    else if (s->lhs->tensor->like && !(s->owned && direct))
        n = NULL; /* sums scatter over entries */
    else if (s->owned)
        n = direct ? owned(s) : through(s, W_SHARED, owned);
    else {
        const bool turns = s->a && s->last_kept >= 0;
        if (!turns || schedule_bytes(p, s->lhs, s->lhs->tensor->dtype) <= PRIVATE_BYTES)
            n = through(s, W_PRIVATE, scattered);
        if (turns) convert(s, to);
    }
    if (n && why) explain(s, why);
    return n;
}

Nest *product_nest(Prog *p, const Assign *a, sc_format *to, sc_text *why)
{ return product(p, a, false, to, why); }

Nest *schedule_packed(Prog *p, const Assign *a, sc_format *to, sc_text *why)
{ return product(p, a, true, to, why); }
