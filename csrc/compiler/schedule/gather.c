/* gather.c: expression -> nest, for dense work that the entries of a sparse operand route.
 *
 * requires  a sum of one product with one sparse operand (product_fits); a dense result
 *
 * gathered: in Y[t,n] = G[t,e] * X[t,k] * W[e,k,n] every entry (t,e) multiplies a row of X by a dense matrix, which
 * all entries of one e share. Positions of the last level are taken TILE at a time: their rows are gathered into a
 * tile of registers, so that what is loaded of W serves all of them, and the finished rows are scattered (the
 * micro-tiles of PIT, Zheng et al., SOSP 2023). Threads share out the vector index: nothing is written by two of
 * them, and an uneven routing leaves none idle. A panel of W is packed first, unless its rows lie side by side or few
 * entries share it.
 *
 * An entry may read through another index than it writes through: Y[i,n] = M[r,i,j] * X[j,k] * W[r,k,n], where j is a
 * singleton below i. Then threads share out blocks of rows of the result, which stay in a cache while all r add to
 * them, and find the entries of a block by a search.
 *
 * outer: in W[e,k,n] = G[t,e] * X[t,k] * Y[t,n] every entry adds an outer product to a dense matrix. Tiles of that
 * matrix stay in registers, and threads share out its rows; or, where each e has many t, its columns, and rows of Y are
 * packed for all tiles. Where the result is small and there are many t, each of its tiles would read X and Y from
 * memory again: then threads share out blocks of t, whose rows stay in a cache, and add to copies of the result. */
#include <math.h>

#include "private.h"

#define TILE                                                                                                 \
    6 /* rows, where none were asked for: accumulators and operands fit 32 registers with four vectors each, 16 with two */
#define STRIP 64 /* elements at stride 1 that are transposed at a time */
#define BLOCK                                                                                                \
    1024 /* rows of the result that a thread adds to at a time: a tile of columns of them fits a cache */
#define NEAR 256 /* rows whose outer products are added at a time: those that one e takes fit a cache */
#define PANEL 96 /* rows of a panel, and of the result, from which on it pays to pack them */
#define COPY (16 << 20) /* bytes of a result, at most, that threads add to copies of */
#define MUCH (1 << 19)  /* of those: it leaves the cache between two times, so it is added to half as often */
#define TURNS 16        /* blocks that threads share out, at least, where there are as many rows */

typedef struct {
    Prog *p;
    const Assign *assign;
    Tensor *a; /* the sparse operand */
    Part factor[MAXFACTOR];
    int nfactor;
    uint32_t kept, stored, summed; /* indices of the result, of a, and dense ones that are summed */
    int rows, vec, width;          /* the gathered index; the vector, in tiles of width */
    uint32_t reads;                /* indices that an entry reads through and does not write through */
    Expr *shared;                  /* the factor that the rows share */
    Expr *product;                 /* what is summed */
} Gather;

/* How many entries are taken at a time, and how many rows of the result a thread has, where that was asked for. */
static int tile_rows(const Gather *g)
{
    const Wish *w = g->p->draft.wish;
    return w && w->gather[g->rows] ? w->gather[g->rows] : TILE;
}

/* Blocks of so many rows, or of as many as were asked for. */
static Index blocks_of(const Gather *g, int rows)
{
    const Wish *w = g->p->draft.wish;
    if (w && w->block[g->rows]) rows = w->block[g->rows];
    return (Index){.var = (uint8_t)g->rows, .part = SC_DIV, .block = rows};
}

static bool is_dense(const Expr *e) { return e->op == O_ACCESS && sc_format_is_dense(&e->tensor->format); }

/* ---- what kind of expression ---- */
/* The shared factor has stride 1 along the vector, or along an index that is summed: then it is transposed. */
static bool is_readable(const Gather *g)
{
    const int v = expr_unit_var(g->shared);
    return v == g->vec || (v >= 0 && in(g->summed, v));
}

/* The factor that is the same for all rows. */
static bool choose_shared(Gather *g)
{
    g->shared = NULL;
    for (int k = 0; k < g->nfactor; k++) {
        Expr *e = g->factor[k].e;
        if (!in(expr_vars(e), g->vec) || !(expr_vars(e) & g->summed)) continue;
        if (g->shared || g->factor[k].under || !is_dense(e)) return false;
        g->shared = e;
    }
    return g->shared && is_readable(g);
}

/* Whether all that is summed beside the shared factor is of the rows: without both there is nothing to gain. */
static bool is_routed(const Gather *g)
{
    bool each = false;
    for (int k = 0; k < g->nfactor; k++) {
        const uint32_t vars = expr_vars(g->factor[k].e);
        if (g->factor[k].e == g->shared || !(vars & g->summed)) continue;
        if (!(vars & (g->reads | 1u << g->rows))) return false;
        each = true;
    }
    return each;
}

/* The row index, and the vector along which the result is written. */
static bool choose_indices(Gather *g)
{
    if (!g->summed || g->vec < 0 || in(g->stored, g->vec) || !choose_shared(g)) return false;
    const uint32_t routed = g->stored & ~expr_vars(g->shared);
    g->reads = routed & ~g->kept;
    for (int d = 0; d < g->a->ndim; d++) {
        g->rows = g->a->dimvar[d];
        if (in(routed & g->kept, g->rows) && is_routed(g)) return true;
    }
    return false;
}

/* The result has two dense indices, its rows and the vector, and no factor has both. */
static bool choose_outer(Gather *g)
{
    const uint32_t dense = g->kept & ~g->stored;
    if (g->vec < 0 || !in(dense, g->vec)) return false;
    for (g->rows = 0; g->rows < g->p->nvar; g->rows++) {
        bool of_rows = false, of_vec = false, both = false;
        for (int k = 0; k < g->nfactor; k++) {
            const uint32_t vars = expr_vars(g->factor[k].e);
            both |= in(vars, g->rows) && in(vars, g->vec);
            of_rows |= in(vars, g->rows);
            of_vec |= in(vars, g->vec);
        }
        if (in(dense, g->rows) && g->rows != g->vec && of_rows && of_vec && !both) return true;
    }
    return false;
}

static bool takes(Prog *p, const Assign *a, Gather *g)
{
    Expr *sum = a->rhs;
    if (!product_fits(p, a)) return false;
    *g = (Gather){.p = p, .assign = a, .vec = expr_unit_var(a->lhs)};
    if (a->reduce != O_CONST || sum->op != O_REDUCE || sum->reduce != O_ADD || p->skip) return false;
    if (a->lhs->tensor->role == T_WORK && a->lhs->tensor->place == W_REG) return false;
    g->product = sum->kid[0];
    g->nfactor = expr_factors(p, g->product, g->factor);
    for (int k = 0; k < g->nfactor; k++) {
        const Expr *e = g->factor[k].e;
        if (e->op == O_ACCESS && source_is_sparse(e->tensor) && !g->factor[k].under) g->a = e->tensor;
    }
    if (!g->a || g->a->ndim < 2) return false;
    for (int d = 0; d < g->a->ndim; d++) g->stored |= 1u << g->a->dimvar[d];
    g->kept = expr_vars(a->lhs);
    g->summed = sum->vars & ~g->stored;
    return true;
}

/* ---- levels ---- */
/* Whole unique levels, those over `inner` behind all others, the last one compressed. */
static bool ends_in(const Tensor *a, uint32_t inner)
{
    const sc_format *f = &a->format;
    bool behind = false;
    for (int l = 0; l < f->nlevel; l++) {
        const bool now = in(inner, tensor_level_index(a, l).var);
        if (f->level[l].part != SC_WHOLE || !f->level[l].unique || (behind && !now)) return false;
        behind |= now;
    }
    return behind && f->nlevel > 1 && sc_kind_of(&f->level[f->nlevel - 1])->pos;
}

/* The level of the rows, where those of what an entry reads through stand below. */
static int row_level(const Gather *g, const sc_format *f)
{ return f->nlevel - 1 - __builtin_popcount(g->reads); }

/* Whole levels, that of the rows behind all others but one singleton for each index that an entry reads through. */
static bool ends_in_rows(const Gather *g)
{
    const sc_format *f = &g->a->format;
    const int at = row_level(g, f);
    if (!g->reads) return ends_in(g->a, 1u << g->rows);
    if (at < 1 || tensor_level_index(g->a, at).var != g->rows || !sc_kind_of(&f->level[at])->pos)
        return false;
    for (int l = 0; l < f->nlevel; l++) {
        const bool one = sc_kind_of(&f->level[l])->one;
        if (f->level[l].part != SC_WHOLE || one != (l > at)) return false;
        if (l != at && f->level[l].unique != (l < at || l + 1 == f->nlevel)) return false;
    }
    return true;
}

/* The levels of the other dimensions in their order, then those over `inner`. */
static void wanted(const Tensor *a, uint32_t inner, sc_format *f)
{
    *f = (sc_format){.ndim = a->ndim};
    for (int pass = 0; pass < 2; pass++)
        for (int d = 0; d < a->ndim; d++)
            if (in(inner, a->dimvar[d]) == (pass == 1)) schedule_plain_level(f, a, d);
}

/* The format that ends_in_rows() takes. */
static void wanted_rows(const Gather *g, sc_format *f)
{
    wanted(g->a, 1u << g->rows | g->reads, f);
    if (!g->reads) return;
    const int at = row_level(g, f);
    int l = at;
    for (int d = 0; d < g->a->ndim; d++) {
        const int v = g->a->dimvar[d];
        sc_levelspec s = {.dim = (uint8_t)d, .kind = SC_SINGLETON};
        if (v == g->rows) s.kind = SC_COMPRESSED, f->level[at] = s;
        if (in(g->reads, v)) f->level[++l] = s;
    }
    f->level[l].unique = 1;
}

/* ---- building ---- */
static int lanes_of(const Gather *g) { return g->p->vector_bytes / (int)sc_dtype_size(g->p->type); }
static int most_width(const Gather *g) { return lanes_of(g) * (prog_vector_regs(g->p) == 32 ? 4 : 2); }

/* Four vectors where there are 32 registers, two where there are 16, fewer where there are few columns, which threads
 * share out unless they share rows. */
static void choose_width(Gather *g, bool shares_rows)
{
    const Var *n = &g->p->var[g->vec];
    const int lanes = lanes_of(g), least = shares_rows ? 1 : 2;
    g->width = most_width(g);
    while (g->width > lanes && n->extent < least * g->width) g->width /= 2;
}

static Index columns(const Gather *g, sc_part part)
{ return (Index){.var = (uint8_t)g->vec, .part = (uint8_t)part, .block = g->width}; }

static Nest *along(const Gather *g, Expr *lhs, Op op, Expr *rhs)
{ return nest_loop(g->p, L_VEC, columns(g, SC_MOD), NULL, nest_eval(g->p, lhs, op, rhs)); }

static Nest *loops(Prog *p, uint32_t vars, Nest *body)
{
    for (int v = p->nvar - 1; v >= 0; v--)
        if (in(vars, v)) body = nest_loop(p, L_FOR, index_whole(v), NULL, body);
    return body;
}

static Nest *levels(Prog *p, Tensor *a, int from, int to, Nest *body)
{
    while (to-- > from) body = nest_loop(p, L_FOR, tensor_level_index(a, to), a, body);
    return body;
}

/* The product of the factors that have some of these indices, or of the others. */
static Expr *factors(const Gather *g, uint32_t vars, bool with)
{
    Part part[MAXFACTOR];
    int n = 0;
    for (int k = 0; k < g->nfactor; k++)
        if (((expr_vars(g->factor[k].e) & vars) != 0) == with) part[n++] = g->factor[k];
    return expr_product(g->p, n, part);
}

static Nest *each_row(const Gather *g, Nest *body)
{
    body = levels(g->p, g->a, row_level(g, &g->a->format) + 1, g->a->format.nlevel, body);
    Nest *n = nest_loop(g->p, L_FOR, index_whole(g->rows), g->a, body);
    n->unroll = tile_rows(g);
    return n;
}

/* for rows in A by TILE { work c { the sums over dense indices } then { result += the other factors * c } } */
static Nest *tile(const Gather *g, Expr *inside)
{
    Prog *p = g->p;
    Tensor *c = work_new(p, "c", W_REG);
    work_slot(c, (Index){.var = (uint8_t)g->rows, .slot = 1});
    work_slot(c, columns(g, SC_MOD));
    Expr *sum = work_access(p, c);
    Nest *fill = loops(p, g->summed,
                       each_row(g, along(g, sum, O_ADD, schedule_scalars_first(p, O_ADD, inside, g->vec))));
    Expr *out =
        schedule_scalars_first(p, O_ADD, expr_new(p, O_MUL, factors(g, g->summed, false), sum), g->vec);
    Nest *n = nest_work(p, c, fill, each_row(g, along(g, g->assign->lhs, O_ADD, out)));
    n = nest_loop(p, L_FOR, index_whole(g->rows), g->a, n);
    n->by = tile_rows(g);
    return n;
}

/* Entries for each combination of the indices that a has of these. */
static double entries_each(const Gather *g, uint32_t vars)
{
    double n = ldexp(1, g->a->positions[g->a->format.nlevel - 1]);
    for (int v = 0; v < g->p->nvar; v++)
        if (in(g->stored & vars, v)) n /= (double)schedule_bucket(g->p->var[v].extent);
    return n;
}

/* Whether a panel of the shared factor is packed: it has to be transposed, or several tiles read it and its rows lie
 * apart, each in a page of its own, in the same few sets of a near cache where they are a power of two apart. */
static bool packs(const Gather *g)
{
    if (expr_unit_var(g->shared) != g->vec) return true;
    return g->p->var[g->vec].extent > g->width && entries_each(g, expr_vars(g->shared)) > TILE;
}

/* work w { a panel of the shared factor, in the order that tiles read it in } then { the tiles } */
static Nest *packed_panel(const Gather *g, Expr *inside)
{
    Prog *p = g->p;
    Tensor *w = work_new(p, "w", W_LANE);
    const uint32_t across = expr_vars(g->shared) & g->summed;
    for (int v = 0; v < p->nvar; v++)
        if (in(across, v)) work_slot(w, index_whole(v));
    work_slot(w, columns(g, SC_MOD));
    Expr *panel = work_access(p, w);
    Index strip = {.var = (uint8_t)expr_unit_var(g->shared), .part = SC_MOD, .block = STRIP};
    Nest *pack = nest_eval(p, panel, O_CONST, g->shared);
    if (strip.var == g->vec) {
        pack = loops(p, across, nest_loop(p, L_VEC, columns(g, SC_MOD), NULL, pack));
    } else {
        pack = nest_loop(p, L_VEC, strip, NULL, pack);
        pack = nest_loop(p, L_FOR, columns(g, SC_MOD), NULL, pack);
        strip.part = SC_DIV;
        pack = loops(p, across & ~(1u << strip.var), nest_loop(p, L_FOR, strip, NULL, pack));
    }
    return nest_work(p, w, pack, tile(g, expr_replace(p, inside, g->shared, panel)));
}

/* Tiles of columns, and outside of them, where entries read elsewhere than they write, blocks of rows. */
static Nest *shared_out(const Gather *g, Nest *n)
{
    Prog *p = g->p;
    if (!g->reads) return nest_loop(p, L_PAR, columns(g, SC_DIV), NULL, n);
    int rows = BLOCK;
    while (rows > TILE * TILE && TURNS * rows > schedule_bucket(p->var[g->rows].extent)) rows /= 2;
    return nest_loop(p, L_PAR, blocks_of(g, rows), NULL, nest_loop(p, L_FOR, columns(g, SC_DIV), NULL, n));
}

Nest *schedule_gather(Prog *p, const Assign *a, sc_format *to, sc_text *why)
{
    Gather g;
    if (!takes(p, a, &g) || !choose_indices(&g)) return NULL;
    if (!ends_in_rows(&g)) {
        wanted_rows(&g, to);
        return NULL;
    }
    choose_width(&g, g.reads != 0);
    while (g.width > lanes_of(&g) && tile_rows(&g) * g.width > TILE * most_width(&g))
        g.width /= 2; /* registers */
    Expr *inside = factors(&g, g.summed, true);
    Nest *n = packs(&g) ? packed_panel(&g, inside) : tile(&g, inside);
    n = loops(p, g.kept & ~g.stored & ~(1u << g.vec), n);
    n = levels(p, g.a, 0, row_level(&g, &g.a->format), n);
    if (why)
        sc_text_add(
            why, "%d entries of %s at a time share what is read of %s: their rows are a tile in registers\n",
            tile_rows(&g), g.a->name, g.shared->tensor->name);
    return shared_out(&g, n);
}

/* ---- outer products ---- */
static Nest *rows_loop(const Gather *g, Nest *body)
{
    const Index ix = {.var = (uint8_t)g->rows, .part = SC_MOD, .block = TILE};
    Nest *n = nest_loop(g->p, L_FOR, ix, NULL, body);
    n->unroll = TILE;
    return n;
}

/* work c { the sum over the levels from `first` } then { to op= c } */
static Nest *accumulated(const Gather *g, int first, Expr *to, Op op)
{
    Prog *p = g->p;
    Tensor *c = work_new(p, "c", W_REG);
    work_slot(c, (Index){.var = (uint8_t)g->rows, .part = SC_MOD, .block = TILE});
    work_slot(c, columns(g, SC_MOD));
    Expr *sum = work_access(p, c), *product = schedule_scalars_first(p, O_ADD, g->product, g->vec);
    Nest *fill = loops(p, g->summed, rows_loop(g, along(g, sum, O_ADD, product)));
    fill = levels(p, g->a, first, g->a->format.nlevel, fill);
    return nest_work(p, c, fill, rows_loop(g, along(g, to, op, sum)));
}

static Nest *for_columns(const Gather *g, Nest *n)
{ return nest_loop(g->p, L_FOR, columns(g, SC_DIV), NULL, n); }

static Nest *tiles_of_rows(const Gather *g, LoopKind kind, Nest *n)
{ return nest_loop(g->p, kind, (Index){.var = (uint8_t)g->rows, .part = SC_DIV, .block = TILE}, NULL, n); }

/* Dense indices of the result beside those of a tile. */
static uint32_t beside(const Gather *g) { return g->kept & ~g->stored & ~(1u << g->vec) & ~(1u << g->rows); }

/* What the entries of the sparse operand sum over: by rows of their first index, where that pays. */
static bool choose_blocks(const Gather *g, Gather *by, int *near)
{
    const int64_t bytes = schedule_bytes(g->p, g->assign->lhs, g->p->type);
    const uint32_t summed = g->stored & ~g->kept;
    *by = *g;
    for (int d = g->a->ndim - 1; d >= 0; d--)
        if (in(summed, g->a->dimvar[d])) by->rows = g->a->dimvar[d];
    by->reads = summed & ~(1u << by->rows);
    if (!summed || bytes > COPY) return false;
    *near = bytes > MUCH ? 2 * NEAR : NEAR;
    return schedule_bucket(g->p->var[by->rows].extent) >= (int64_t)TURNS * *near;
}

/* work w: private { for blocks of t { the tiles, w += c } } then { result = w } */
static Nest *by_blocks(const Gather *g, const Gather *by, int near)
{
    Prog *p = g->p;
    const int first = row_level(by, &g->a->format);
    Tensor *w = work_new(p, "w", W_PRIVATE);
    for (int d = 0; d < g->assign->lhs->tensor->ndim; d++) work_slot(w, g->assign->lhs->ix[d]);
    Expr *sums = work_access(p, w);
    Nest *n = tiles_of_rows(g, L_FOR, for_columns(g, accumulated(g, first, sums, O_ADD)));
    n = levels(p, g->a, 0, first, loops(p, beside(g), n));
    n = nest_loop(p, L_PAR, blocks_of(by, near), NULL, n);
    Nest *all = nest_loop(p, L_VEC, index_whole(g->vec), NULL, nest_eval(p, g->assign->lhs, O_CONST, sums));
    all = loops(p, g->kept & ~(1u << g->vec), all);
    all->kind = L_PAR;
    return nest_work(p, w, n, all);
}

/* Whether a dense factor along the vector has rows that entries choose, and a panel of those of one fibre serves many
 * tiles. */
static bool panels_suit(const Gather *g, int first)
{
    const Tensor *a = g->a;
    const int last = a->format.nlevel - 1, v = tensor_level_index(a, last).var;
    if (first != last || !sc_kind_of(&a->format.level[last])->pos) return false;
    if (entries_each(g, g->kept) < PANEL || g->p->var[g->rows].extent < PANEL) return false;
    const Expr *found = NULL;
    for (int k = 0; k < g->nfactor; k++) {
        Expr *e = g->factor[k].e;
        if (!in(expr_vars(e), g->vec)) continue;
        if (found || g->factor[k].under || !is_dense(e) || expr_unit_var(e) != g->vec) return false;
        found = e;
    }
    return found && expr_vars(found) == (1u << v | 1u << g->vec);
}

/* for t in A by NEAR { work w { its rows of y, times what else all tiles share } then { the tiles, result += c } } */
static Nest *by_panels(const Gather *g, int first)
{
    Prog *p = g->p;
    const Index t = tensor_level_index(g->a, first);
    Tensor *w = work_new(p, "w", W_LANE);
    work_slot(w, (Index){.var = t.var, .slot = 1});
    work_slot(w, columns(g, SC_MOD));
    const uint32_t apart = 1u << g->rows | g->summed;
    Expr *panel = work_access(p, w),
         *shared = schedule_scalars_first(p, O_ADD, factors(g, apart, false), g->vec);
    Nest *pack = nest_loop(p, L_FOR, t, g->a, along(g, panel, O_CONST, shared));
    Gather inside = *g;
    inside.product = expr_new(p, O_MUL, factors(g, apart, true), panel);
    Nest *n =
        nest_work(p, w, pack, tiles_of_rows(g, L_FOR, accumulated(&inside, first, g->assign->lhs, O_ADD)));
    n = nest_loop(p, L_FOR, t, g->a, n);
    n->by = NEAR;
    return n;
}

Nest *schedule_outer(Prog *p, const Assign *a, sc_format *to, sc_text *why)
{
    Gather g, by;
    int near;
    if (!takes(p, a, &g) || !choose_outer(&g)) return NULL;
    const bool blocks = choose_blocks(&g, &by, &near);
    const uint32_t summed = g.stored & ~g.kept;
    if (blocks && !ends_in_rows(&by)) return wanted_rows(&by, to), NULL;
    if (!blocks && !ends_in(g.a, summed)) return wanted(g.a, summed, to), NULL;
    choose_width(&g, true);
    if (why)
        sc_text_add(why, "the sums over %s are tiles of %s and %s in registers%s\n", g.a->name,
                    p->var[g.rows].name, p->var[g.vec].name, blocks ? ", added up in copies" : "");
    if (blocks) return by_blocks(&g, &by, near);
    int first = 0;
    while (in(g.kept, tensor_level_index(g.a, first).var)) first++;
    if (panels_suit(&g, first)) {
        Nest *n = levels(p, g.a, 0, first, loops(p, beside(&g), by_panels(&g, first)));
        return nest_loop(p, L_PAR, columns(&g, SC_DIV), NULL, n);
    }
    Nest *n = levels(p, g.a, 0, first,
                     loops(p, beside(&g), for_columns(&g, accumulated(&g, first, a->lhs, O_CONST))));
    return tiles_of_rows(&g, L_PAR, n);
}
