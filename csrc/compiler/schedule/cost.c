/* cost.c: what running a nest takes, in nanoseconds of a typical machine, or of this one where it was measured
 * (p->speeds).
 *
 * The nest is walked from outside in, with the number of times that every place
 * is reached. Loops over stored entries take their counts from the statistics of
 * the operands (positions of each level); where those are unknown an operand
 * holds one entry in a hundred. Extents count in powers of two, so that the next
 * batch finds the same nest. An access costs what its innermost loop makes of it:
 * along the unit stride, across it, or scattered over a region whose size says
 * which cache answers. Everything is rough, and it need not be better: costs are
 * only compared with each other, and near ties are broken by rule. */
#include <math.h>
#include <string.h>

#include "../nest/place.h"
#include "private.h"

#define LINE 64   /* bytes */
#define WORDS 2.0 /* to spread entries to the lanes of their bits, in turns of a loop over entries */

typedef struct {
    Index ix;
    double trips;  /* how often its body runs, in all */
    bool gathered; /* its coordinates are those of stored entries, gone through again and again */
    bool vec, cut; /* cut: into tiles of positions, that a loop inside runs over */
    double turns;  /* of the body, each time the loop is reached */
    double side;   /* turns, where the loop is unrolled and they stand side by side; else 1 */
    double lanes;  /* turns that are computed at once, though what they read comes one by one; else 1 */
    bool batch;    /* its rows are summed in batches */
    bool words;    /* lanes of words of bits */
} Loop;

typedef struct { /* at a place of the nest; copied at every loop */
    double trips;
    int nloop;
    Loop loop[MAXLOOP];
    Place known;
    int tile[MAXTENSOR];     /* positions in a tile of the next level, 0: no tile around */
    double tilt[SC_MAXVAR];  /* of an index: the spreads of tensors whose entries led to its coordinate */
    uint8_t with[SC_MAXVAR]; /* 1 + the index that decides this one, of the same entry; 0: none */
} Spot;

typedef struct {
    Prog *p;
    Machine m;
    double time;
    double shared; /* of it, inside the parallel loop */
    bool assembles;
    int gathers;               /* workspaces that store what is written to them */
    double written[MAXTENSOR]; /* workspaces: how often written, in all */
    double entries[MAXTENSOR]; /* workspaces: entries in one filling */
} Cost;

static double extent(const Cost *c, Index ix) { return (double)schedule_extent(c->p, ix); }

/* ---- statistics ---- */
static double elements(const Cost *c, const Tensor *t)
{
    double n = 1;
    for (int d = 0; d < t->ndim; d++) n *= extent(c, index_whole(t->dimvar[d]));
    return n;
}

/* How many of n cells have an entry, where entries fall into them at random. */
static double distinct(double n, double entries) { return n * -expm1(-entries / n); }

static double positions(const Cost *c, const Tensor *t, int level)
{
    if (level < 0) return 1;
    if (t->role != T_IN) return c->entries[prog_id(c->p, t)];
    const double above = positions(c, t, level - 1), n = extent(c, tensor_level_index(t, level));
    if (!sc_kind_of(&t->format.level[level])->crd) return above * n;
    if (t->positions[level]) return fmin(above * n, ldexp(.75, t->positions[level])); /* it was rounded up */
    if (sc_kind_of(&t->format.level[level])->padded && !sc_kind_of(&t->format.level[level])->sliced)
        return above * t->format.level[level].width;
    double blocks = 1;
    for (int l = level + 1; l < t->format.nlevel; l++)
        if (!sc_kind_of(&t->format.level[l])->crd) blocks *= extent(c, tensor_level_index(t, l));
    const int leaves = t->positions[t->format.nlevel - 1];
    if (leaves) return fmax(1, distinct(above * n, ldexp(.75, leaves) / blocks));
    return fmin(above * n, fmax(1, elements(c, t) / blocks / 100));
}

static double fibre(const Cost *c, const Tensor *t, int level)
{ return positions(c, t, level) / fmax(1, positions(c, t, level - 1)); }

/* The index of the level in front, whose coordinate has the fibre; -1: there is none. */
static int above(const Tensor *t, int level) { return level ? tensor_level_index(t, level - 1).var : -1; }

/* Entries of a fibre of t at coordinates that other entries have led to. */
static double fibre_met(const Cost *c, const Spot *at, const Tensor *t, int level)
{
    const double tilt = level ? at->tilt[above(t, level)] : 0;
    return fmin(extent(c, tensor_level_index(t, level)), fibre(c, t, level) * exp(tensor_spread(t) * tilt));
}

/* The share of such coordinates of its index that have an entry there. */
static double share_met(const Cost *c, const Spot *at, const Tensor *t, int level, double fibre_size)
{
    const Index ix = tensor_level_index(t, level);
    return fmin(1, fibre_size / extent(c, ix) * exp(tensor_spread(t) * at->tilt[ix.var]));
}

/* An entry of this level has been chosen. */
static void lean(Spot *at, const Tensor *t, int level)
{
    if (!level || !source_kind(t, level)->crd) return;
    at->tilt[above(t, level)] += tensor_spread(t);
    at->tilt[tensor_level_index(t, level).var] += tensor_spread(t);
}

/* ---- loops ---- */
static double search_time(const Cost *c, double fibre_size)
{ return c->m.search + c->m.halving * log2(fibre_size + 1); }

static void advance(const Cost *c, Spot *s)
{
    for (int k = 0; k < c->p->ntensor; k++)
        place_advance(&s->known, c->p->tensor[k], c->p->tensor[k]->format.nlevel);
}

/* How many blocks of the index the loops around have cut apart: each visits its share of the entries. */
static double blocks_around(const Cost *c, const Spot *at, Index ix)
{
    double blocks = 1;
    for (int k = 0; k < at->nloop && ix.part == SC_WHOLE; k++)
        if (at->loop[k].ix.var == ix.var && at->loop[k].ix.part == SC_DIV)
            blocks *= extent(c, at->loop[k].ix);
    return blocks;
}

static double lanes(const Cost *c) { return c->p->vector_bytes / (double)sc_dtype_size(c->p->type); }

/* Its turns are lanes that lie side by side. */
static bool over_words(const Nest *n) { return n->kind == L_VEC && nest_over_words(n); }

/* Entries of a vector whose coordinates pick what is read; 1 where the loop is none such. */
static double picked_lanes(const Cost *c, const Nest *n, uint32_t bound)
{
    const bool picks = n->in && !over_words(n) && vector_suits(n, bound) && nest_vector_picks(n);
    return picks ? (double)prog_picked_lanes(c->p) : 1;
}

static uint32_t bound_around(const Spot *at)
{
    uint32_t bound = 0;
    for (int k = 0; k < at->nloop; k++) bound |= 1u << at->loop[k].ix.var;
    return bound;
}

/* Entries that are added up at once: those of a diagonal, of a slice whose positions count padding too. */
static double in_step(const Cost *c, const Tensor *t, int level)
{
    const sc_levelspec *s = &t->format.level[level];
    const double all = fmin(s->width, c->p->vector_bytes / (double)sc_dtype_size(c->p->type));
    const int shared = t->often.diagonal;
    return !sc_kind_of(s)->sliced ? 1 : shared ? all * shared / s->width : all;
}

/* Turns of a loop in one tensor. */
static double turns_in(Cost *c, Spot *at, const Nest *n)
{
    const int id = prog_id(c->p, n->in), level = at->known.level[id];
    if (level == source_levels(n->in)) return 1;
    const double all = fibre_met(c, at, n->in, level) / blocks_around(c, at, n->ix), e = extent(c, n->ix);
    const double f = at->tile[id] ? fmin(all, at->tile[id]) : all;
    if (n->by) {
        at->tile[id] = n->by;
        return fmax(1, f / n->by);
    }
    const double share = share_met(c, at, n->in, level, f);
    at->tile[id] = 0;
    at->known.level[id]++;
    lean(at, n->in, level);
    if (!source_kind(n->in, level)->crd) {
        c->time += at->trips * e * c->m.dense;
        return e;
    }
    if (place_knows(&at->known, n->ix)) {
        c->time += at->trips * search_time(c, f);
        return share;
    }
    if (over_words(n)) { /* all lanes, whether there are entries in them or not */
        c->time += at->trips * (ceil(e / lanes(c)) * WORDS * c->m.entry + c->m.leave);
        return ceil(e / lanes(c));
    }
    const bool batch =
        at->nloop && at->loop[at->nloop - 1].batch; /* one loop over the entries of many rows */
    const bool vector =
        vector_suits(n, bound_around(at)) && !nest_vector_picks(n); /* what is picked comes one by one */
    const double steps = batch ? f / in_step(c, n->in, level) : f;
    const double turns = vector ? fmax(1, f / lanes(c)) : steps;
    c->time += at->trips * (batch ? steps * c->m.dense : turns * c->m.entry + c->m.leave);
    return turns;
}

/* An intersection of two: they are gone through together, by vectors where the machine has them for it, unless one is
 * much longer. Then both jump (lower/merge.c). Where lengths differ much, a long one mostly meets a short one. */
static double intersection_time(const Cost *c, const Nest *n, double f, double g, double small)
{
    enum { FAR = 24, FIRST = 16 }; /* the first vectors are compared at once */
    const double large = fmax(f, g);
    bool vectors = c->p->vector_bytes == 64;
    for (int k = 0; k < 2; k++) vectors &= n->merge[k]->role == T_IN;
    if (large > FAR * small) return small * search_time(c, large / fmax(1, small));
    return vectors ? c->m.meet * fmax(f + g - FIRST, FIRST) : c->m.step * (f + g);
}

/* A union of two that appends a vector of entries at a time (lower/blend.c); at: inside. */
static bool blends(const Cost *c, const Spot *at, const Nest *n)
{
    if (c->p->vector_bytes != 64 || n->nmerge != 2 || n->body->op != N_EVAL) return false;
    const Tensor *r = n->body->eval.lhs->tensor;
    for (int k = 0; k < 2; k++) {
        const Tensor *t = n->merge[k];
        if (t->role != T_IN || t->perm || at->known.level[prog_id(c->p, t)] != t->format.nlevel) return false;
        if (t->itype != r->itype || sc_dtype_size(t->dtype) < 4) return false;
    }
    return tensor_assembled(r) && sc_dtype_size(r->dtype) >= 4;
}

/* What is greater than the last of the other vector waits for the next turn: of two that are as long a turn takes less
 * than both. */
static double blend_time(const Cost *c, const Nest *n, double f, double g)
{
    enum { TURN = 12, BOTH = 23, ONE = 16 }; /* times `meet`; coordinates of 32 bits in a turn */
    const double wide = (double)sc_dtype_size(n->merge[0]->itype) / 4;
    return c->m.meet * TURN * (.5 + wide * fmax((f + g) / BOTH, fmax(f, g) / ONE));
}

static double turns_merge(Cost *c, Spot *at, const Nest *n)
{
    const double e = extent(c, n->ix);
    const bool bound = place_knows(&at->known, n->ix);
    double all = 1, none = 1, steps = 0, small = INFINITY, f[MAXMERGE];
    int needed = 0;
    for (int k = 0; k < n->nmerge; k++) {
        const Tensor *t = n->merge[k];
        const int level = at->known.level[prog_id(c->p, t)]++;
        f[k] = fibre_met(c, at, t, level);
        if (!nest_alive(c->p, n->body, tensor_bit(c->p, t))) {
            needed++;
            small = fmin(small, fibre(c, t, level));
            all *= share_met(c, at, t, level, f[k]);
        }
        none *= 1 - fmin(1, f[k] / e);
        steps += bound ? search_time(c, f[k]) : c->m.step * f[k];
        lean(at, t, level);
    }
    const bool vectors = !bound && !needed && blends(c, at, n);
    if (!bound && n->nmerge == 2 && needed == 2) steps = intersection_time(c, n, f[0], f[1], small);
    if (vectors) steps = blend_time(c, n, f[0], f[1]);
    c->time += at->trips * steps;
    if (bound) return all;
    if (vectors) return e * (1 - none) / lanes(c);
    return needed > 1 ? fmin(e * all, small) : all < 1 ? e * all : e * (1 - none);
}

/* Its turns are those of vectors that lie side by side. */
static bool is_vector(const Nest *n) { return n->kind == L_VEC || vector_in_blocks(n); }

static double turns_dense(Cost *c, const Spot *at, const Nest *n)
{
    double e = extent(c, n->ix);
    for (int k = 0; k < at->nloop && n->ix.part == SC_DIV; k++) /* tiles of a block */
        if (at->loop[k].ix.var == n->ix.var) e = (double)at->loop[k].ix.block / n->ix.block;
    if (at->nloop && at->loop[at->nloop - 1].words) e = fmin(e, extent(c, index_whole(n->ix.var)));
    if (is_vector(n)) e = e > lanes(c) ? e / lanes(c) : 1;
    if (n->kind != L_VEC && !n->unroll) c->time += at->trips * e * c->m.dense;
    return e;
}

static void walk(Cost *, const Spot *, const Nest *);

/* A vec loop that sums over its index: the lanes are added up in the end. */
static bool sums_lanes(const Nest *n)
{
    return n->kind == L_VEC && n->body->op == N_EVAL && n->body->eval.reduce != O_CONST &&
           !in(expr_vars(n->body->eval.lhs), n->ix.var);
}

/* The loop over the one position below each of those that stand side by side is none: each has its coordinate. */
static bool walk_beside(Cost *c, Spot at, const Nest *n)
{
    const Loop *above = at.nloop ? &at.loop[at.nloop - 1] : NULL;
    const int id = n->in ? prog_id(c->p, n->in) : 0, level = at.known.level[id];
    if (!n->in || !above || above->side == 1 || level == source_levels(n->in)) return false;
    if (!source_kind(n->in, level)->one) return false;
    at.known.level[id]++;
    at.with[n->ix.var] = 1 + above->ix.var;
    place_bind(&at.known, n->ix);
    advance(c, &at);
    walk(c, &at, n->body);
    return true;
}

static void walk_loop(Cost *c, const Spot *outer, const Nest *n)
{
    Spot at = *outer;
    if (walk_beside(c, at, n)) return;
    const bool sparse = n->nmerge || (n->in && at.known.level[prog_id(c->p, n->in)] < source_levels(n->in) &&
                                      source_kind(n->in, at.known.level[prog_id(c->p, n->in)])->crd);
    c->time += at.trips * (n->kind == L_VEC || n->unroll ? 0 : c->m.enter);
    c->time += sums_lanes(n) ? at.trips * c->m.lanes : 0;
    const double before = c->time;
    const bool side = n->unroll && (!n->in || at.tile[prog_id(c->p, n->in)]);
    const double turns = n->nmerge ? turns_merge(c, &at, n)
                         : n->in   ? turns_in(c, &at, n)
                                   : turns_dense(c, &at, n);
    at.trips *= turns;
    const bool cut = n->by != 0;
    const double picked = picked_lanes(c, n, bound_around(outer));
    if (!cut) place_bind(&at.known, n->ix);
    if (at.nloop < MAXLOOP)
        at.loop[at.nloop++] = (Loop){
            .ix = n->ix,
            .trips = at.trips,
            .gathered = sparse && outer->nloop > 0 && !cut && !over_words(n),
            .vec = is_vector(n),
            .cut = cut,
            .turns = turns,
            .side = side ? turns : 1,
            .lanes = picked,
            .batch = batch_suits(n, bound_around(outer)),
            .words = over_words(n),
        };
    advance(c, &at);
    walk(c, &at, n->body);
    if (n->kind == L_PAR) c->shared += c->time - before;
}

/* ---- accesses ---- */
static bool depends(const Spot *at, const Expr *e, int var)
{
    for (int d = 0; d < e->tensor->ndim; d++)
        if (e->ix[d].var == var || at->with[e->ix[d].var] == 1 + var) return true;
    return false;
}

static double work_bytes(const Cost *c, const Tensor *t)
{
    double n = (double)sc_dtype_size(t->dtype);
    for (int d = 0; d < t->ndim; d++) n *= extent(c, t->slot[d]);
    return n;
}

/* Bytes from an element to the next that is met inside of loop j. What lies a page apart falls into few sets of a cache,
 * so it is no better further apart. */
static double apart(const Cost *c, const Spot *at, const Expr *e, int j)
{
    enum { PAGE = 4096 };
    const double size = (double)sc_dtype_size(e->tensor->dtype);
    const int along = expr_runs_along(e);
    while (++j < at->nloop)
        if (at->loop[j].ix.var == along) return size;
    return along < 0 ? size : fmin(PAGE, size * extent(c, index_whole(along)));
}

/* Bytes that an access spans inside of loop j, -1: in all. */
static double region(const Cost *c, const Spot *at, const Expr *e, int j)
{
    const Tensor *t = e->tensor;
    double bytes = apart(c, at, e, j);
    while (++j < at->nloop)
        if (!at->loop[j].cut && depends(at, e, at->loop[j].ix.var)) bytes *= extent(c, at->loop[j].ix);
    return t->role == T_WORK ? fmin(bytes, work_bytes(c, t)) : bytes;
}

/* What an access in a region of so many bytes costs, in accesses to the first cache. A cache answers as large a part of
 * the accesses as it holds of the region; half of the larger caches is taken by data that streams through. */
static double by_size(const Cost *c, double bytes)
{
    static const int64_t typical[] = {32 << 10, 1 << 20, 16 << 20};
    double factor = c->m.factor[0], missed = 1;
    for (int k = 0; k < 3; k++) {
        const double cache = (double)(c->p->cache[k] ? c->p->cache[k] : typical[k]) / (k ? 2 : 1);
        if (bytes <= cache) break;
        missed = fmin(missed, 1 - cache / bytes);
        factor += missed * (c->m.factor[k + 1] - c->m.factor[k]);
    }
    return factor;
}

/* What an access that loop k moves costs, in accesses to the first cache. A loop around that it does not depend on
 * reads the same region in every turn: all but the first find it in the cache that holds the region. What no such loop
 * reads again comes from where the whole tensor is. */
static double distance(const Cost *c, const Spot *at, const Expr *e, int k)
{
    double share = 1, sum = 0;
    for (int j = k - 1; j >= 0; j--) {
        const Loop *l = &at->loop[j];
        if (depends(at, e, l->ix.var) || l->side > 1 || l->turns <= 1) continue;
        sum += share * (1 - 1 / l->turns) * by_size(c, region(c, at, e, j));
        share /= l->turns;
    }
    return sum + share * by_size(c, region(c, at, e, -1));
}

/* The innermost loop that an access depends on, -1: none. side: even where its turns stand side by side, each as a
 * stream of its own. */
static int varies_at(const Spot *at, const Expr *e, bool side)
{
    int k = at->nloop - 1;
    while (k >= 0 && !(depends(at, e, at->loop[k].ix.var) && (side || at->loop[k].side == 1))) k--;
    return k;
}

/* Turns side by side share what is the same for all of them. */
static double times_read(const Spot *at, const Expr *e, int k)
{
    double trips = at->loop[k].trips;
    for (int j = 0; j < k; j++)
        if (!depends(at, e, at->loop[j].ix.var)) trips /= at->loop[j].side;
    return trips;
}

/* Loop k moves across lines, and the next one that moves at all goes along them: a line is loaded once. */
static bool shares_lines(const Spot *at, const Expr *e, int k)
{
    const int var = at->loop[k].ix.var;
    while (--k >= 0)
        if (at->loop[k].ix.var != var && depends(at, e, at->loop[k].ix.var))
            return expr_runs_along(e) == at->loop[k].ix.var;
    return false;
}

static double access_time(const Cost *c, const Spot *at, const Expr *e, bool read, double kind)
{
    const int inner = varies_at(at, e, true), outer = varies_at(at, e, false), k = outer < 0 ? inner : outer;
    const double trips = inner < 0 ? 1 : read ? times_read(at, e, inner) : at->loop[inner].trips;
    if (e->tensor->role == T_WORK && e->tensor->place == W_REG) return 0;
    if (source_is_sparse(e->tensor) || (e->tensor->role == T_IN && e->tensor->like)) return trips * kind;
    const bool along = k >= 0 && expr_runs_along(e) == at->loop[k].ix.var;
    double each = kind;
    if (k >= 0 && !along) each = at->loop[k].vec ? lanes(c) * c->m.across : fmax(kind, c->m.across);
    if (k >= 0 && along && at->loop[k].gathered) each = fmax(kind, c->m.across);
    double far = distance(c, at, e, k);
    if (along && inner != k && !at->loop[k].vec) /* scalars of streams side by side: a line brings many */
        far = 1 + (far - 1) * (double)sc_dtype_size(e->tensor->dtype) / LINE;
    const double first = k >= 0 && !along && shares_lines(at, e, k) ? each + kind * (far - 1) : each * far;
    const double side = inner >= 0 && expr_runs_along(e) == at->loop[inner].ix.var ? at->loop[inner].side : 1;
    return trips * (first + (side - 1) * kind) / side; /* side by side in one line */
}

/* Whether the next turn of loop k finds another e: a workspace has been written in between. */
static bool changes(const Spot *at, const Expr *e, int k)
{
    if (e->op == O_ACCESS) return e->tensor->role == T_WORK || depends(at, e, at->loop[k].ix.var);
    return (e->kid[0] && changes(at, e->kid[0], k)) || (e->kid[1] && changes(at, e->kid[1], k));
}

/* How often e is computed: what takes long, in front of the loops that leave it as it is. */
static double times_computed(const Spot *at, const Expr *e)
{
    int k = at->nloop - 1;
    while (k >= 0 && op_info(e->op)->work != W_SIMPLE && !changes(at, e, k)) k--;
    return k < 0 ? 1 : at->loop[k].trips / at->loop[k].lanes;
}

/* fused: the value is added to a sum, so a product costs nothing beside it (a multiply-add). */
static double read_time(const Cost *c, const Spot *at, const Expr *e, bool fused)
{
    if (e->op == O_CONST) return 0;
    if (e->op == O_ACCESS) return access_time(c, at, e, true, c->m.load);
    static const double flops[] = {[W_SIMPLE] = 1, [W_SLOW] = 5, [W_SERIES] = 20};
    double t = fused && e->op == O_MUL ? 0 : times_computed(at, e) * c->m.flop * flops[op_info(e->op)->work];
    for (int k = 0; k < 2; k++)
        if (e->kid[k]) t += read_time(c, at, e->kid[k], false);
    return t;
}

static void walk_eval(Cost *c, const Spot *at, const Assign *a)
{
    const Tensor *t = a->lhs->tensor;
    const int id = prog_id(c->p, t);
    c->time += read_time(c, at, a->rhs, a->reduce == O_ADD);
    c->written[id] += at->trips;
    if (t->role == T_WORK && t->place == W_REG)
        c->time += at->trips * c->m.flop;
    else if (t->role == T_WORK && (t->bitmap || t->hash))
        c->time += at->trips * (t->hash ? c->m.slot : c->m.bit) * by_size(c, 8 * elements(c, t));
    else if (t->role == T_OUT &&
             (t->like || !sc_format_is_dense(&t->format) || (t->ndim && !t->format.nlevel))) {
        c->time += at->trips * c->m.append;
        c->assembles |= !t->like;
    } else
        c->time += access_time(c, at, a->lhs, false, a->reduce == O_CONST ? c->m.store : c->m.update);
}

/* ---- workspaces ---- */
static void walk_work(Cost *c, const Spot *at, const Nest *n)
{
    const Tensor *t = n->work;
    const int id = prog_id(c->p, t);
    const double bytes = work_bytes(c, t);
    c->gathers += tensor_gathers(t);
    walk(c, at, n->body);
    const bool cleared = t->place == W_LANE && work_reduce(n->body, t) != O_CONST;
    if (cleared && !t->bitmap && !t->hash) c->time += at->trips * bytes / c->m.clear;
    if (t->bitmap || t->hash) {
        const double n_elements = elements(c, t), writes = c->written[id] / fmax(1, at->trips);
        const double found = distinct(n_elements, writes);
        c->entries[id] = found;
        c->time += at->trips * found * fmin(c->m.sort * log2(found + 2), 1 + n_elements / (64 * found + 1));
    }
    Spot then = *at;
    then.known.level[id] = 0;
    walk(c, &then, n->then);
}

static void walk(Cost *c, const Spot *at, const Nest *n)
{
    switch (n->op) {
    case N_LOOP: walk_loop(c, at, n); break;
    case N_WORK: walk_work(c, at, n); break;
    case N_EVAL: walk_eval(c, at, &n->eval); break;
    case N_SEQ:
        for (int k = 0; k < n->n; k++) walk(c, at, n->kid[k]);
        break;
    }
}

/* ---- kernels ---- */
static double threads(const Cost *c) { return c->p->threads ? c->p->threads : 4; }

/* What is read from one workspace into another has no bound that could be had without running the kernel. */
static double kernel_cost(Cost *c, const Nest *n)
{
    Spot at = {.trips = 1};
    c->time = c->shared = 0;
    c->assembles = false;
    c->gathers = 0;
    advance(c, &at);
    walk(c, &at, n);
    const double time =
        c->time - c->shared + c->shared / threads(c); /* what stands around is done by every thread */
    return c->m.start + (c->shared > 0 ? c->m.team : 0) +
           time * (c->assembles && c->gathers > 1 ? c->m.twice : 1);
}

static double top_cost(Cost *c, const Nest *n)
{
    double sum = 0;
    if (n->op == N_SEQ) {
        for (int k = 0; k < n->n; k++) sum += top_cost(c, n->kid[k]);
        return sum;
    }
    if (n->op != N_WORK || (n->work->place != W_PRIVATE && n->work->place != W_SHARED))
        return kernel_cost(c, n);
    /* every thread clears its copy; then they are added up, by all threads */
    const double clear = work_bytes(c, n->work) / c->m.clear;
    sum = kernel_cost(c, n->body) + clear;
    if (n->work->place == W_PRIVATE) sum += clear;
    return sum + top_cost(c, n->then);
}

/* A result that is delivered in another format than it is made in. */
static double delivery(const Cost *c, const Tensor *t)
{
    const sc_format *ask = t->role == T_OUT ? &c->p->ask[t->arg - c->p->nin] : NULL;
    if (!ask || !ask->nlevel || !t->format.nlevel || sc_format_equal(ask, &t->format)) return 0;
    const double made = sc_format_is_dense(&t->format) ? elements(c, t) : c->written[prog_id(c->p, t)];
    return made * c->m.convert;
}

/* A dense result that is added to is filled with zeros first. Where it is large its pages come from the system. */
static double fill(const Cost *c, const Nest *n, const Tensor *t)
{
    enum { FRESH = 32 << 20, QUICK = 4 /* times clearing what is scattered */ };
    if (t->role != T_OUT || t->like || !sc_format_is_dense(&t->format)) return 0;
    if (work_reduce(n, t) == O_CONST) return 0;
    const double bytes = elements(c, t) * (double)sc_dtype_size(t->dtype);
    return bytes > FRESH ? QUICK * bytes / c->m.clear : bytes / c->m.clear / QUICK / threads(c);
}

double cost_nest(Prog *p, const Nest *n)
{
    Cost c = {.p = p, .m = machine_of(p)};
    double sum = top_cost(&c, n);
    for (int k = 0; k < p->ntensor; k++) sum += delivery(&c, p->tensor[k]) + fill(&c, n, p->tensor[k]);
    return sum;
}

double cost_positions(Prog *p, const Tensor *t)
{
    const Cost c = {.p = p};
    return positions(&c, t, t->format.nlevel - 1);
}

void cost_convert(Prog *p, Tensor *t, const sc_format *to)
{
    const Cost c = {.p = p};
    const Tensor from = *t;
    const int last = to->nlevel - 1;
    t->format = *to;
    memset(t->positions, 0, sizeof t->positions);
    if (!from.format.nlevel) return;
    const int end = from.format.nlevel - 1, below = (int)sc_min(last, end),
              tail = (int)sc_min(below, sc_min(sc_format_dense_tail(to), sc_format_dense_tail(&from.format)));
    for (int k = 0; k <= tail; k++) t->positions[last - k] = from.positions[end - k];
    for (int l = 0; l < last - tail && l < end; l++) {
        Tensor guess = from;
        if (!from.positions[l] || !sc_kind_of(&to->level[l])->crd) continue;
        guess.positions[l] = 0;
        const double share = positions(&c, &from, l) / positions(&c, &guess, l);
        t->positions[l] = (uint8_t)lround(log2(fmax(1, positions(&c, t, l) * fmin(1, share))));
    }
}

double cost_conversion(const Prog *p) { return machine_of(p).convert; }
