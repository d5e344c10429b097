/* panel.c: products of a sparse operand that read a dense one from a packed panel.
 *
 * requires  what classify() of product.c found
 *
 * A panel is a tile of the dense operand, copied to the thread's own memory, and read once for every entry. Two
 * things make one:
 *
 * - F.linear(x, W) and x @ A: nothing runs along the one dense index n at stride 1, so no vector is at hand. A tile
 *   of x, transposed, makes one; blocks of the result are transposed back as they are stored.
 * - Rows that are long, or many: entries choose them in any order, and the caches hold a tile of each row only where
 *   the tiles are copied together.
 *
 * Where the sparse operand is stored cut along what is summed, dense(j/N), .., compressed(j%N), the panel has the N
 * rows of one cut; sums are added to the result one cut after the other. */
#include <string.h>

#include "product.h"

#define PANEL_ELEMENTS (256 * 1024)
#define PANEL_VECTORS 8 /* of a row: as many sums are in registers */
#define MOMENT 1e9      /* multiply-adds */
#define NEAR 1024       /* bytes that a processor prefetches ahead */
#define MANY_A_ROW 256 /* entries that choose a row of the panel: they take far longer than it does to pack */
/* Panels of FEW to MANY columns are packed row by row, so that whole lines are stored. Of more rows, which often lie a
 * power of two apart, the first level of caches would hold no line for long. */
enum { STRIP = 16, FEW = 8, MANY = 16 };

/* ---- what is packed ---- */
static int uses(const Expr *e, int v, Expr **found)
{
    int n = 0;
    if (e->op == O_ACCESS && in(expr_vars(e), v)) {
        *found = (Expr *)e;
        n = 1;
    }
    for (int k = 0; k < 2; k++)
        if (e->kid[k]) n += uses(e->kid[k], v, found);
    return n;
}

/* The index of a matrix along which it does not have stride 1. */
static int row_var(const Expr *e) { return e->ix[1 - e->tensor->unit].var; }

/* Whether the index of the first level is also that of a dense level inside the blocks. */
static bool blocked(const Sched *s, Index root)
{
    for (int k = s->nmain; k < s->a->format.nlevel; k++)
        if (tensor_level_index(s->a, k).var == root.var) return true;
    return false;
}

/* Nothing runs along the one dense index at stride 1: a tile of what is read is transposed. */
static bool choose_transposed(Sched *s)
{
    if (s->cut || s->last_kept != 0) return false;
    Index root = tensor_level_index(s->a, 0);
    uint32_t free = s->kept & ~s->stored;
    if (sc_kind_of(&s->a->format.level[0])->crd || expr_unit_var(s->lhs) != root.var) return false;
    if (root.part != SC_WHOLE && !blocked(s, root)) return false;
    if (__builtin_popcount(free) != 1) return false;
    int v = __builtin_ctz(free);
    Expr *x = NULL;
    if (uses(s->product, v, &x) != 1 || x->tensor->ndim != 2 || expr_unit_var(x) < 0 || expr_unit_var(x) == v)
        return false;
    int64_t n = s->p->var[v].extent, rows = schedule_bucket(s->p->var[expr_unit_var(x)].extent);
    if (n < 2) return false;
    s->vec = v;
    s->packed = x;
    s->tile = schedule_register_tile(s->p, v, product_slots(s));
    for (s->tile = s->tile && s->tile < 128 ? s->tile : 128;
         s->tile > n || (s->tile > STRIP && s->tile * rows > PANEL_ELEMENTS);)
        s->tile /= 2;
    const bool asked = s->p->draft.wish && s->p->draft.wish->tile[v],
               fits = n <= STRIP || n * rows <= PANEL_ELEMENTS;
    const int less = s->tile / 4 * 3; /* where as many of these hold all rows */
    if (!asked && s->tile < n && less >= STRIP && less % STRIP == 0 && (n - 1) / less == (n - 1) / s->tile)
        s->tile = less;
    if (s->p->var[v].fold && prog_few_rows(n) && fits && !asked) s->tile = (int)n;
    return true;
}

/* The factors whose rows, along the vector, the entries of the sparse operand choose. */
static int gathered(const Sched *s, const Expr *e, Expr **found)
{
    int n = 0;
    if (e->op == O_ACCESS && e->tensor->ndim == 2 && expr_unit_var(e) == s->vec) {
        n = in(s->stored & ~s->kept, row_var(e));
        if (n) *found = (Expr *)e;
    }
    for (int k = 0; k < 2; k++)
        if (e->kid[k]) n += gathered(s, e->kid[k], found);
    return n;
}

/* The elements of a panel: as many as a near cache holds, or where entries choose rows that no cache has, a thread's
 * part of the last one. Entries are gone through for each tile, which is not done by way of a permutation. */
static int64_t room(const Sched *s, int rows)
{
    const int64_t size = (int64_t)sc_dtype_size(s->p->type),
                  row = schedule_bucket(s->p->var[s->vec].extent) * size;
    if (s->cut || s->a->perm || !schedule_is_far(s->p, s->a, rows, (double)row)) return PANEL_ELEMENTS;
    return sc_max(PANEL_ELEMENTS, machine_cache(s->p, 2) / prog_threads(s->p) / size);
}

/* Rows at stride 1 that are wider than a tile. */
static bool choose_straight(Sched *s)
{
    Expr *x = NULL;
    const int lanes = s->p->vector_bytes / (int)sc_dtype_size(s->p->type);
    if (!in(s->kept, s->vec) || s->lhs->tensor->like || s->nmain < s->a->format.nlevel ||
        gathered(s, s->product, &x) != 1)
        return false;
    const int64_t rows = s->cut ? s->cut : schedule_bucket(s->p->var[row_var(x)].extent),
                  most = room(s, row_var(x));
    int tile = PANEL_VECTORS * lanes;
    if (!s->p->var[s->vec].fold && tile > 64) tile = 64;
    while (tile > PANEL_VECTORS / 2 * lanes && tile * rows > most / 2) tile /= 2;
    while (most > PANEL_ELEMENTS && tile > lanes && tile * rows > most) tile /= 2;
    if (tile * rows > most || s->p->var[s->vec].extent <= tile) return false;
    s->packed = x;
    s->tile = tile;
    return true;
}

bool panel_choose(Sched *s, bool ask)
{
    if (!s->a || s->last_kept < 0) return false;
    return s->vec < 0 ? choose_transposed(s) : (ask || s->cut) && choose_straight(s);
}

int panel_cut(const Sched *s)
{
    if (s->lhs->tensor->dtype != s->p->type) return 0; /* each cut would round */
    const sc_format *f = &s->a->format;
    const int last = f->nlevel - 1;
    const Index top = tensor_level_index(s->a, 0), end = tensor_level_index(s->a, last);
    if (last < 2 || s->lhs->tensor->like || top.part != SC_DIV || end.part != SC_MOD || top.var != end.var ||
        in(s->kept, top.var))
        return 0;
    if (sc_kind_of(&f->level[0])->crd || !sc_kind_of(&f->level[last])->pos || !f->level[last].unique)
        return 0;
    for (int k = 1; k < last; k++)
        if (sc_kind_of(&f->level[k])->crd || f->level[k].part != SC_WHOLE ||
            !in(s->kept, tensor_level_index(s->a, k).var))
            return 0;
    return top.block;
}

/* ---- nests ---- */
static Index block(int v, sc_part part, int size)
{ return (Index){.var = (uint8_t)v, .part = (uint8_t)part, .block = size}; }

Nest *panel_cuts(Sched *s, Nest *body)
{ return s->cut ? nest_loop(s->p, L_FOR, tensor_level_index(s->a, 0), NULL, body) : body; }

/* The product, reading the panel. */
static Tensor *panel_new(Sched *s, Index row)
{
    Tensor *t = s->panel = work_new(s->p, "t", W_LANE);
    work_slot(t, row);
    work_slot(t, product_vec(s));
    if (product_dots(s, s->packed)) t->dtype = SC_BF16;
    s->product = expr_replace(s->p, s->product, s->packed, work_access(s->p, t));
    return t;
}

/* Whether the tiles of the result keep the threads of a machine equally busy, each for a moment only: a call that is to
 * be stopped ends behind one. Each of them goes through all entries then: where these do not fit the last cache, only if
 * packing takes a part of what they do. Where sums are added to rows of the result, threads that are near each other in
 * them would take each other's lines as they prefetch. */
static bool tiles_suit(const Sched *s)
{
    const int64_t columns = s->p->var[s->vec].extent, tiles = columns / s->tile, threads = prog_threads(s->p),
                  size = (int64_t)sc_dtype_size(s->p->type);
    const double entries = cost_positions(s->p, s->a),
                 rows = (double)schedule_bucket(s->p->var[s->panel->slot[0].var].extent),
                 bytes = entries * (double)(sc_dtype_size(s->a->dtype) + sizeof(int32_t));
    if (entries * s->tile > MOMENT) return false;
    if (s->cut ? columns / threads * size < NEAR
               : bytes > 2 * (double)machine_cache(s->p, 2) && entries > MANY_A_ROW * rows)
        return false;
    return tiles >= threads && (tiles % threads == 0 || tiles >= 4 * threads);
}

/* Threads share the tiles where they can, so that each is packed once; else the rows. */
static Nest *shared(Sched *s, Nest *rows, Nest *tile)
{
    Nest *all = nest_loop(s->p, L_FOR, block(s->vec, SC_DIV, s->tile), NULL, tile);
    if (rows->op == N_LOOP && rows->kind == L_PAR && tiles_suit(s)) rows->kind = L_FOR, all->kind = L_PAR;
    return all;
}

/* for n/T { work t { t[i, n%T] = x[n,i] } then { par o/16 { work y { for o%16: y[o%16, n%T] = the sum } then
 * { C[n,o] = y } } } }; with blocks of R rows, par o/R in A and the sum is of all of them. */
static Nest *transposed(Sched *s)
{
    Prog *p = s->p;
    int i = expr_unit_var(s->packed), o = tensor_level_index(s->a, 0).var;
    Index tile = product_vec(s), root = tensor_level_index(s->a, 0), strip = block(o, SC_MOD, STRIP);
    const bool blocks = root.part != SC_WHOLE;
    if (blocks) strip.block = root.block;
    Tensor *t = panel_new(s, index_whole(i)), *y = s->through = work_new(s->p, "y", W_LANE);
    work_slot(y, strip);
    work_slot(y, tile);
    const Expr *beside = expr_replace(p, s->rhs, s->sum, expr_const(p, 0));
    s->whole = !in(expr_vars(beside), s->vec);
    Nest *pack = nest_eval(p, work_access(p, t), O_CONST, s->packed);
    if (s->tile >= FEW && s->tile <= MANY)
        pack = nest_loop(p, L_FOR, block(i, SC_MOD, STRIP), NULL, nest_loop(p, L_VEC, tile, NULL, pack));
    else
        pack = nest_loop(p, L_FOR, tile, NULL, nest_loop(p, L_VEC, block(i, SC_MOD, STRIP), NULL, pack));
    pack = nest_loop(p, L_FOR, block(i, SC_DIV, STRIP), NULL, pack);
    Nest *sum = product_sum(s, 1, O_CONST);
    if (!blocks) sum = nest_loop(p, L_FOR, strip, NULL, sum);
    Expr *result = work_access(p, y);
    if (!s->whole) result = expr_replace(p, s->rhs, s->sum, result);
    Nest *store = nest_loop(p, L_VEC, strip, NULL, nest_eval(p, s->lhs, O_CONST, result));
    Nest *rows = nest_work(p, y, sum, nest_loop(p, L_FOR, tile, NULL, store));
    rows = nest_loop(p, L_PAR, block(o, SC_DIV, strip.block), blocks ? s->a : NULL, rows);
    return shared(s, rows, nest_work(p, t, pack, rows));
}

/* for k/T { for j/N { work t { t[j%N, k%T] = B[j,k] } then { par i { the sum over j%N in A } } } }; without cuts
 * the panel has all rows. */
static Nest *straight(Sched *s)
{
    Prog *p = s->p;
    const int j = row_var(s->packed);
    const Index row = s->cut ? block(j, SC_MOD, s->cut) : index_whole(j);
    Tensor *t = panel_new(s, row);
    Nest *pack =
        nest_loop(p, L_VEC, product_vec(s), NULL, nest_eval(p, work_access(p, t), O_CONST, s->packed));
    Nest *rows = product_rows(s);
    return shared(s, rows, panel_cuts(s, nest_work(p, t, nest_loop(p, L_FOR, row, NULL, pack), rows)));
}

bool panel_straight(const Sched *s) { return expr_unit_var(s->packed) == s->vec; }

Nest *panel_nest(Sched *s) { return panel_straight(s) ? straight(s) : transposed(s); }
