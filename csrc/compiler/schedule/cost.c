/* cost.c: what running a nest takes, in nanoseconds of a typical machine, or of this one where it was measured
 * (p->speeds).
 *
 * The nest is walked from outside in, with the number of times that every place
 * is reached. Loops over stored entries take their counts from the statistics of
 * the operands (positions of each level); where those are unknown an operand
 * holds one entry in a hundred. Extents count in powers of two, so that the next
 * batch finds the same nest. What accesses take is in cost_access.c. Everything is
 * rough, and it need not be better: costs are only compared with each other, and
 * near ties are broken by rule. */
#include <math.h>
#include <string.h>

#include "cost.h"

#define NOTE 4.0  /* bytes of a position that is noted */
#define LOOK 2.0  /* times `meet`: to look at what was noted, met or not */
#define WORDS 2.0 /* to spread entries to the lanes of their bits, in turns of a loop over entries */
#define SORTED                                                                                               \
    3.0 /* entries at a time where rows that are about as long have a lane each and no ends of their own */

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

/* Entries of a fibre of t at coordinates that other entries have led to. Where most fibres are empty and nobody counted the
 * others, those may be full. */
static double fibre_met(const Cost *c, const Spot *at, const Tensor *t, int level)
{
    const double e = extent(c, tensor_level_index(t, level)), even = fibre(c, t, level);
    if (!level) return fmin(e, even);
    const double met = even * exp(tensor_spread(t) * at->tilt[above(t, level)]);
    const bool uncounted = even < 1 && t->turned && in(at->led, above(t, level));
    return fmin(e, uncounted ? fmax(met, fmin(UNCOUNTED, positions(c, t, level))) : met);
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
    at->led |= 1u << above(t, level) | 1u << tensor_level_index(t, level).var;
}

/* ---- loops ---- */
static double search_time(const Cost *c, double fibre_size)
{ return c->m.search + c->m.halving * log2(fibre_size + 1); }

static void advance(const Cost *c, Spot *s)
{
    for (int k = 0; k < c->p->ntensor; k++)
        place_advance(&s->known, c->p->tensor[k], c->p->tensor[k]->format.nlevel);
}

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

/* Entries that are added up at once: those of a diagonal, of a slice whose positions count padding too. What sorted rows
 * multiply is read one by one. */
static double in_step(const Cost *c, const Tensor *t, int level)
{
    const sc_levelspec *s = &t->format.level[level];
    const double all = fmin(s->width, c->p->vector_bytes / (double)sc_dtype_size(c->p->type));
    const int shared = t->often.diagonal;
    if (sc_kind_of(s)->sorted) return fmin(all, SORTED);
    return !sc_kind_of(s)->sliced ? 1 : shared ? all * shared / s->width : all;
}

/* Turns of a loop in one tensor. side: over the entries of a tile, which the loop over tiles has found. */
static double turns_in(Cost *c, Spot *at, const Nest *n, bool side)
{
    const int id = prog_id(c->p, n->in), level = at->known.level[id];
    if (level == source_levels(n->in)) return 1;
    const double all = fibre_met(c, at, n->in, level) / cost_blocks_around(c, at, n->ix),
                 e = extent(c, n->ix);
    const double f = at->tile[id] ? fmin(all, at->tile[id]) : all;
    if (n->by) {
        at->tile[id] = n->by;
        c->time += at->trips * (f * c->m.entry + c->m.leave);
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
    if (!side) c->time += at->trips * (batch ? steps * c->m.dense : turns * c->m.entry + c->m.leave);
    return turns;
}

/* A row that stays is noted once and the entries of the other one are looked up (lower/noted.c), if it has many. */
static double noted_time(const Cost *c, const Spot *at, const Nest *n, double f, double g)
{
    const Loop *around = at->nloop ? &at->loop[at->nloop - 1] : NULL;
    const int row = around ? nest_row_stays(c->p, n, around->ix.var) : -1;
    const double stays = row ? g : f, other = row ? f : g;
    if (row < 0 || stays < ROW_LONGER * other) return INFINITY;
    const double far = cost_by_size(c, NOTE * extent(c, n->ix));
    return LOOK * c->m.meet * far * other + c->m.entry * stays / fmax(1, around->turns);
}

/* An intersection of two: they are gone through together, by vectors where the machine has them for it, unless one is
 * much longer and no loop over entries stands inside: then both jump (lower/merge.c). Where lengths differ much, a long
 * one mostly meets a short one. */
static double intersection_time(const Cost *c, const Spot *at, const Nest *n, double f, double g,
                                double small)
{
    enum { FAR = 24, FIRST = 16 }; /* the first vectors are compared at once */
    const double large = fmax(f, g);
    bool vectors = c->p->vector_bytes == 64;
    for (int k = 0; k < 2; k++) {
        const Tensor *t = n->merge[k];
        vectors &= t->role == T_IN && t->format.level[at->known.level[prog_id(c->p, t)] - 1].unique;
    }
    if (!nest_has_sources(n->body) && large > FAR * small)
        return small * search_time(c, large / fmax(1, small));
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

/* The shorter of fibres that have to meet, plain[k] long, or met[k] where other entries have led there: where one is long
 * for its kind, the others mostly are not. */
static double shortest(int n, const double *plain, const double *met)
{
    double longest = 0;
    for (int k = 0; k < n; k++) {
        double least = met[k];
        for (int q = 0; q < n; q++)
            if (q != k) least = fmin(least, plain[q]);
        longest = fmax(longest, least);
    }
    return longest;
}

static double turns_merge(Cost *c, Spot *at, const Nest *n)
{
    const double e = extent(c, n->ix);
    const bool bound = place_knows(&at->known, n->ix);
    double all = 1, none = 1, steps = 0, f[MAXMERGE], plain[MAXMERGE], met[MAXMERGE];
    int needed = 0;
    for (int k = 0; k < n->nmerge; k++) {
        const Tensor *t = n->merge[k];
        const int level = at->known.level[prog_id(c->p, t)]++;
        f[k] = fibre_met(c, at, t, level);
        if (!nest_alive(c->p, n->body, tensor_bit(c->p, t))) {
            plain[needed] = fibre(c, t, level), met[needed++] = f[k];
            all *= share_met(c, at, t, level, f[k]);
        }
        none *= 1 - fmin(1, f[k] / e);
        steps += bound ? search_time(c, f[k]) : c->m.step * f[k];
        lean(at, t, level);
    }
    const double small = shortest(needed, plain, met);
    const bool vectors = !bound && !needed && blends(c, at, n);
    const bool both = !bound && n->nmerge == 2 && needed == 2;
    if (both) steps = fmin(noted_time(c, at, n, f[0], f[1]), intersection_time(c, at, n, f[0], f[1], small));
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

/* Where a unit is a sum over its entries, one that is heavy is shared out too. */
static bool is_cut(const Nest *n)
{
    const Nest *sum = n->body->op == N_WORK ? n->body->body : NULL;
    return n->nmerge || (n->in && sum && sum->op == N_LOOP && sum->in == n->in);
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
                         : n->in   ? turns_in(c, &at, n, side)
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
            .in = n->in,
            .side = side ? turns : 1,
            .lanes = picked,
            .batch = batch_suits(n, bound_around(outer)),
            .words = over_words(n),
        };
    advance(c, &at);
    walk(c, &at, n->body);
    if (n->kind != L_PAR) return;
    const double threads = prog_threads(c->p);
    const double spent = (c->time - before) / (is_cut(n) ? threads : fmin(threads, fmax(1, turns)));
    c->time = before + spent;
    c->shared += spent;
}

/* Whether the next turn of loop k finds another e: a workspace has been written in between. */
static bool changes(const Spot *at, const Expr *e, int k)
{
    if (e->op == O_ACCESS) return e->tensor->role == T_WORK || cost_depends(at, e, at->loop[k].ix.var);
    return (e->kid[0] && changes(at, e->kid[0], k)) || (e->kid[1] && changes(at, e->kid[1], k));
}

/* How often e is computed: in front of vectors that leave it as it is, and what takes long in front of all such loops. */
static double times_computed(const Spot *at, const Expr *e)
{
    const bool simple = op_info(e->op)->work == W_SIMPLE;
    int k = at->nloop - 1;
    while (k >= 0 && !(simple && !at->loop[k].vec) && !changes(at, e, k)) k--;
    return k < 0 ? 1 : at->loop[k].trips / at->loop[k].lanes;
}

/* fused: the value is added to a sum, so a product costs nothing beside it (a multiply-add). */
static double read_time(const Cost *c, const Spot *at, const Expr *e, bool fused)
{
    if (e->op == O_CONST) return 0;
    if (e->op == O_ACCESS) return cost_access(c, at, e, true, c->m.load);
    static const double flops[] = {[W_SIMPLE] = 1, [W_SLOW] = 5, [W_SERIES] = 20};
    double t = fused && e->op == O_MUL ? 0 : times_computed(at, e) * c->m.flop * flops[op_info(e->op)->work];
    for (int k = 0; k < 2; k++)
        if (e->kid[k]) t += read_time(c, at, e->kid[k], false);
    return t;
}

/* Two loops over tiles copy numbers that lie along one of them to where they lie along the other (lower/turn.c). */
static bool turns_squares(const Spot *at, const Assign *a)
{
    const Loop *vec = at->loop + at->nloop - 1, *row = vec - 1;
    if (at->nloop < 2 || a->reduce != O_CONST || a->rhs->op != O_ACCESS || !vec->vec) return false;
    const int from = expr_runs_along(a->rhs), to = expr_runs_along(a->lhs);
    const int r = row->ix.var, v = vec->ix.var;
    return row->ix.part == SC_MOD && vec->ix.part == SC_MOD && r != v &&
           (from == r ? to == v : from == v && to == r);
}

static void walk_eval(Cost *c, const Spot *at, const Assign *a)
{
    const Tensor *t = a->lhs->tensor;
    const int id = prog_id(c->p, t);
    c->turns = turns_squares(at, a);
    c->time += read_time(c, at, a->rhs, a->reduce == O_ADD);
    c->written[id] += at->trips;
    if (t->role == T_WORK && t->place == W_REG)
        c->time += at->trips * c->m.flop;
    else if (t->role == T_WORK && tensor_gathers(t))
        c->time += at->trips * (t->hash ? c->m.slot : c->m.bit) * cost_by_size(c, 8 * elements(c, t));
    else if (t->role == T_OUT &&
             (t->like || !sc_format_is_dense(&t->format) || (t->ndim && !t->format.nlevel))) {
        c->time += at->trips * c->m.append;
        c->assembles |= !t->like;
    } else
        c->time += cost_access(c, at, a->lhs, false, a->reduce == O_CONST ? c->m.store : c->m.update);
}

/* ---- workspaces ---- */
static void walk_work(Cost *c, const Spot *at, const Nest *n)
{
    const Tensor *t = n->work;
    const int id = prog_id(c->p, t);
    const double bytes = cost_work_bytes(c, t);
    c->gathers += tensor_gathers(t);
    walk(c, at, n->body);
    const bool cleared = t->place == W_LANE && work_reduce(n->body, t) != O_CONST && !tensor_gathers(t);
    const Nest *read = cleared ? work_clears(c->p, n) : NULL;
    if (read)
        walk(c, at, read);
    else if (cleared)
        c->time += at->trips * bytes / c->m.clear;
    if (tensor_gathers(t)) {
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
#define MEMORY 4. /* threads that keep memory busy */

/* What stands around the parallel loop is done by every thread, all of which read the same at once. */
static double crowded(const Cost *c) { return 1 + .25 * log2(fmax(1, prog_threads(c->p) / MEMORY)); }

/* What is read from one workspace into another has no bound that could be had without running the kernel. */
static double kernel_cost(Cost *c, const Nest *n)
{
    Spot at = {.trips = 1};
    c->time = c->shared = 0;
    c->assembles = false;
    c->gathers = 0;
    advance(c, &at);
    walk(c, &at, n);
    double time = c->time;
    if (c->shared > 0) time = c->shared + (time - c->shared) * crowded(c);
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
    /* every thread clears its copy; then they are added up, by all threads. What is shared, and larger than near caches,
     * is written and read once more by way of the last one */
    const double bytes = cost_work_bytes(c, n->work);
    const bool crowds =
        n->work->place == W_PRIVATE && bytes > PROG_NEAR; /* copies, in no cache of their own */
    const double clear = bytes / c->m.clear * (crowds ? fmax(1, prog_threads(c->p) / MEMORY) : 1);
    sum = kernel_cost(c, n->body) + clear;
    if (n->work->place == W_PRIVATE || bytes > PROG_NEAR) sum += clear;
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
    return bytes > FRESH ? QUICK * bytes / c->m.clear : bytes / c->m.clear / QUICK / prog_threads(c->p);
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
    t->turned = true;
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
        t->positions[l] = (uint8_t)ceil(log2(fmax(1, positions(&c, t, l) * fmin(1, share))));
    }
}

double cost_conversion(const Prog *p) { return machine_of(p).convert; }
