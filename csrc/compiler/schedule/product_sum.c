/* product_sum.c: the rows of a product: how its sum is tiled, unrolled and kept in registers. */
#include "product.h"

#define UNROLLED 32 /* products of one vector each that unrolled columns of a block have at most */

void product_tile(Sched *s, int slots)
{
    if (s->vec >= 0 && in(s->kept, s->vec) && !s->panel)
        s->tile = schedule_register_tile(s->p, s->vec, slots);
}

Nest *product_wrap(Sched *s, const ProductStep *step, int n, Nest *body)
{
    while (n-- > 0) {
        Nest *loop = nest_loop(s->p, step[n].kind, step[n].ix, step[n].in, body);
        loop->unroll = step[n].unroll;
        body = loop;
    }
    return body;
}

Index product_vec(const Sched *s)
{
    Index ix = index_whole(s->vec);
    if (s->tile) ix.part = SC_MOD, ix.block = s->tile;
    return ix;
}

Nest *product_vec_loop(Sched *s, Nest *body)
{ return s->vec < 0 ? body : nest_loop(s->p, L_VEC, product_vec(s), NULL, body); }

int product_step(ProductStep *step, int n, Index ix, Tensor *t, LoopKind kind)
{
    step[n] = (ProductStep){.ix = ix, .in = t, .kind = kind};
    return n + 1;
}

int product_levels(Sched *s, int from, int to, ProductStep *step, int n)
{
    for (int k = from; k < to; k++)
        n = product_step(step, n, tensor_level_index(s->a, k), s->a, k ? L_FOR : L_PAR);
    return n;
}

/* Loops over the levels that the result keeps; below a cut these are dense and entered by coordinate. */
static int kept_levels(Sched *s, ProductStep *step)
{
    if (!s->cut) return product_levels(s, 0, s->last_kept + 1, step, 0);
    int n = 0;
    for (int k = 1; k <= s->last_kept; k++)
        n = product_step(step, n, tensor_level_index(s->a, k), NULL, k > 1 ? L_FOR : L_PAR);
    return n;
}

/* Dense indices that are neither the vector nor stored: the kept ones, or the summed ones. */
int product_dense_loops(Sched *s, bool kept, ProductStep *step, int n)
{
    for (int v = 0; v < s->p->nvar; v++)
        if (in(s->all & ~s->stored, v) && v != s->vec && in(s->kept, v) == kept)
            n = product_step(step, n, index_whole(v), NULL, L_FOR);
    return n;
}

/* The most rows that divide a block and whose sums fit the registers, two vectors each; all rows where those would be
 * few and sums of one vector each fit. */
static int rows_of(int block, int room)
{
    int rows = block < room ? block : room;
    while (block % rows) rows--;
    return 2 * rows < room && block <= 3 * room ? block : rows;
}

int product_slots(Sched *s)
{
    int slots = 1, room = prog_vector_regs(s->p) == 32 ? 8 : 4;
    for (int k = s->a ? s->a->format.nlevel - 1 : -1; k >= s->nmain && s->a; k--) {
        Index ix = tensor_level_index(s->a, k);
        if (!in(s->kept, ix.var)) continue;
        s->rows[k] = rows_of(ix.block, room / slots > 1 ? room / slots : 1);
        slots *= s->rows[k];
    }
    return slots;
}

static Index rows_index(const Sched *s, int k)
{
    Index ix = tensor_level_index(s->a, k);
    if (s->rows[k]) ix.block = s->rows[k];
    return ix;
}

int product_block_loops(Sched *s, ProductStep *step, int n)
{
    for (int k = s->nmain; s->a && k < s->a->format.nlevel; k++)
        n = product_step(step, n, tensor_level_index(s->a, k), NULL, L_FOR);
    return n;
}

/* The rows that are summed at a time. */
static int row_loops(Sched *s, ProductStep *step, int n)
{
    for (int k = s->nmain; s->a && k < s->a->format.nlevel; k++) {
        if (!s->rows[k]) continue;
        n = product_step(step, n, rows_index(s, k), NULL, L_FOR);
        step[n - 1].unroll = s->rows[k];
    }
    return n;
}

/* Loops over groups of rows, around. */
static int group_loops(Sched *s, ProductStep *step)
{
    int n = 0;
    for (int k = s->nmain; s->a && k < s->a->format.nlevel; k++) {
        Index ix = rows_index(s, k);
        if (!s->rows[k] || s->rows[k] == tensor_level_index(s->a, k).block) continue;
        ix.part = SC_DIV;
        n = product_step(step, n, ix, NULL, L_FOR);
    }
    return n;
}

/* The summed columns of a block: unrolled where that is little code. */
static int column_loops(Sched *s, int slots, ProductStep *step, int n)
{
    for (int k = s->nmain; s->a && k < s->a->format.nlevel; k++) {
        Index ix = tensor_level_index(s->a, k);
        if (in(s->kept, ix.var)) continue;
        n = product_step(step, n, ix, NULL, L_FOR);
        if (slots * ix.block <= UNROLLED) slots *= step[n - 1].unroll = ix.block;
    }
    return n;
}

bool product_dots(const Sched *s, const Expr *x)
{
    return s->p->dots && s->a->dtype == SC_BF16 && x->op == O_ACCESS && x->tensor->dtype == SC_BF16 &&
           !s->a->perm && s->product->op == O_MUL && s->p->type == SC_F32;
}

static bool dots(const Sched *s)
{
    return s->product->op == O_MUL &&
           (product_dots(s, s->product->kid[0]) || product_dots(s, s->product->kid[1]));
}

static void unroll_positions(Sched *s, ProductStep *last)
{
    const bool vec = s->vec >= 0 && in(s->kept, s->vec);
    if (!last->in || last->kind == L_PAR) return;
    const Var *x = vec ? &s->p->var[s->vec] : NULL;
    const int64_t wide = !vec ? 1 : s->tile ? s->tile : x->fold ? x->extent : 0;
    const int64_t most =
        2 * s->p->vector_bytes / (int64_t)sc_dtype_size(s->p->type); /* two at a time are a turn */
    const int64_t each = dots(s) && wide > most ? most : wide, vector = most / 2;
    const int slots = vec ? product_slots(s) : 1; /* of a block, with vectors each */
    last->unroll = source_unroll(s->p, s->a, s->nmain - 1,
                                 slots > 1 ? (each + vector - 1) / vector * vector * slots : each);
}

/* Where a finished sum goes: into the result with what is around it, or into a workspace of its shape. */
Nest *product_write(Sched *s, Expr *sum, Op store)
{
    Expr *to = s->through ? work_access(s->p, s->through) : s->lhs;
    if (!s->through || s->whole) sum = expr_replace(s->p, s->rhs, s->sum, sum);
    return nest_eval(s->p, to, store, sum);
}

/* The registers that sum up, with one slot for every kept index inside a dense block. */
Tensor *product_accumulator(Sched *s)
{
    Tensor *c = work_new(s->p, "c", W_REG);
    for (int k = s->nmain; s->a && k < s->a->format.nlevel; k++)
        if (s->rows[k]) work_slot(c, rows_index(s, k));
    if (s->vec >= 0 && in(s->kept, s->vec)) work_slot(c, product_vec(s));
    return c;
}

/* The factors that vary with none of the indices of a sum, which runs over entries below one that was just found: they
 * multiply the sum once. Null where there are none. */
static Expr *multiplier(Sched *s, int first)
{
    uint32_t vars = s->all & ~s->stored & ~s->kept;
    if (!s->a || s->panel || s->nmain < s->a->format.nlevel || s->sum->reduce != O_ADD) return NULL;
    if (!first || first >= s->nmain || !sc_kind_of(&s->a->format.level[first - 1])->crd) return NULL;
    for (int k = first; k < s->nmain; k++) vars |= 1u << tensor_level_index(s->a, k).var;
    return expr_take_out(s->p, s->product, vars, &s->product);
}

Nest *product_tiled(Sched *s, Nest *body)
{
    if (!s->tile || s->panel) return body;
    return nest_loop(s->p, L_FOR, (Index){.var = (uint8_t)s->vec, .part = SC_DIV, .block = s->tile}, NULL,
                     body);
}

/* work c { c += product over the levels from `first` and the dense summed indices } then { target op= c } */
Nest *product_sum(Sched *s, int first, Op store)
{
    Prog *p = s->p;
    ProductStep step[MAXPRODUCTSTEP];
    const int slots = product_slots(s);
    product_tile(s, slots);
    Tensor *c = product_accumulator(s);
    Expr *sum = work_access(p, c), *by = multiplier(s, first);
    if (by) sum = expr_new(p, O_MUL, by, sum);
    int n = product_levels(s, first, s->nmain, step, 0);
    if (n) unroll_positions(s, &step[n - 1]);
    n = column_loops(s, slots, step, n);
    n = row_loops(s, step, n);
    n = product_dense_loops(s, false, step, n);
    const Op reduce = s->sum->reduce;
    Expr *term = schedule_scalars_first(p, reduce, s->product, s->vec);
    Nest *body = product_wrap(s, step, n, product_vec_loop(s, nest_eval(p, work_access(p, c), reduce, term)));
    Nest *out = product_write(s, sum, store);
    if (s->vec >= 0 && in(s->kept, s->vec)) out = product_vec_loop(s, out);
    n = row_loops(s, step, 0);
    body = nest_work(p, c, body, product_wrap(s, step, n, out));
    n = group_loops(s, step);
    return product_tiled(s, product_wrap(s, step, n, body));
}

/* ---- bit masks ---- */
bool product_over_words(const Sched *s)
{
    const Tensor *a = s->a;
    const int last = a && s->p->vector_bytes == 64 ? a->format.nlevel - 1 : -1;
    return s->sum && last > 0 && sc_kind_of(&a->format.level[last])->words && s->owned &&
           s->last_kept == last - 1 && expr_has_lanes(s->product, tensor_level_index(a, last).var, a);
}

/* The innermost of the indices that only dense operands have, and the result. */
static int shared_by(const Sched *s)
{
    int last = -1;
    for (int v = 0; v < s->p->nvar; v++)
        if (in(s->all & s->kept & ~s->stored, v)) last = v;
    return last;
}

/* for v/8 { work c[v%8] { vec j in a { for v%8 unroll 8 { c[v%8] += product } } } then { for v%8 { target = c[v%8] } } } */
Nest *product_words(Sched *s)
{
    Prog *p = s->p;
    ProductStep step[MAXPRODUCTSTEP];
    const int last = s->a->format.nlevel - 1, v = s->vec = shared_by(s);
    const Index tiles = {.var = (uint8_t)v, .part = SC_DIV, .block = MAXBESIDE};
    Index one = tiles;
    one.part = SC_MOD;
    Tensor *c = work_new(p, "c", W_REG);
    if (v >= 0) work_slot(c, one);
    Expr *sum = work_access(p, c), *by = multiplier(s, last);
    if (by) sum = expr_new(p, O_MUL, by, sum);
    Nest *term = nest_eval(p, work_access(p, c), s->sum->reduce, s->product),
         *out = product_write(s, sum, O_CONST);
    if (v >= 0) term = nest_loop(p, L_FOR, one, NULL, term), term->unroll = MAXBESIDE;
    if (v >= 0) out = nest_loop(p, L_FOR, one, NULL, out), out->unroll = MAXBESIDE;
    int n = product_dense_loops(s, false, step, 0);
    term = nest_loop(p, L_VEC, tensor_level_index(s->a, last), s->a, term);
    out = nest_work(p, c, product_wrap(s, step, n, term), out);
    n = product_dense_loops(s, true, step, product_levels(s, 0, last, step, 0));
    if (v >= 0) n = product_step(step, n, tiles, NULL, L_FOR);
    return product_wrap(s, step, n, out);
}

/* The parallel loop of an expression without a sparse operand. */
int product_first_loop(Sched *s, ProductStep *step)
{
    int v = s->lhs->tensor->ndim ? s->lhs->ix[0].var : -1;
    for (int k = 0; v < 0 && k < s->p->nvar; k++)
        if (in(s->all, k) && k != s->vec) v = k;
    if (v < 0) return 0;
    s->stored |= 1u << v;
    return product_step(step, 0, index_whole(v), NULL, L_PAR);
}

Nest *product_rows(Sched *s)
{
    ProductStep step[MAXPRODUCTSTEP];
    int n = s->a ? kept_levels(s, step) : product_first_loop(s, step);
    n = product_dense_loops(s, true, step, n);
    return product_wrap(s, step, n, product_sum(s, s->last_kept + 1, s->cut ? O_ADD : O_CONST));
}
