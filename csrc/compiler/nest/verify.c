/* verify.c: whether a nest can be run, and safely.
 *
 * requires: check and infer; a nest by a user or by the scheduler. The walk
 * keeps what is known at a place: which loop binds every index, how many levels
 * of every tensor are resolved, which workspaces are being filled or read. Legal
 * is what rests on that alone:
 *
 * - levels: a level is resolved when the one above it is and its own loop runs,
 *   or, for a dense level, when its coordinate is known. Nothing else is asked of
 *   the loop order.
 * - indices: an index is bound once; i%N inside of i/N, tiles of a level's blocks
 *   inside of the blocks, and the entries of a compressed level that lie in a
 *   block. A loop in a tensor over a bound index looks its coordinate up.
 * - absence: what a loop in a tensor, or a merge, does not visit needs no value, or has the one that the item in front
 *   of it assigns everywhere.
 * - parallel: at most one par loop in a kernel; without one the kernel runs on
 *   one thread. What threads share is written inside par, and told apart by its
 *   index.
 * - workspaces: filled in the first block, by one kind of assignment, and read in
 *   the second.
 * - results: a sparse result that the nest assembles is appended in the order of
 *   its levels.
 *
 * That a nest computes what the expression says is not proved here. */
#include "verify.h"

/* ---- indices ---- */
/* A loop over the entries of a level, in order, inside of a dense loop over blocks of its index: those of the block. */
static bool visits_block(const NestVerifier *v, const Scene *s, const Nest *n)
{
    const Nest *div = s->by[n->ix.var][SC_DIV];
    if (n->ix.part != SC_WHOLE || !n->in || !verify_operand(n->in) || !div || div->in || div->nmerge)
        return false;
    return sc_kind_of(&n->in->format.level[s->known.level[prog_id(v->p, n->in)]])->pos;
}

static void bind_index(NestVerifier *v, Scene *s, const Nest *n)
{
    Prog *p = v->p;
    const Index ix = n->ix;
    const Nest **by = s->by[ix.var], *whole = by[SC_WHOLE], *div = by[SC_DIV], *mod = by[SC_MOD];
    const bool finer =
        ix.part == SC_DIV && !n->in && !n->nmerge && div && div->in && div->ix.block % ix.block == 0;
    const bool inside = ix.part == SC_MOD || finer || visits_block(v, s, n);
    const Nest *clash = whole ? whole : mod ? mod : inside ? NULL : div;
    if (clash)
        fail(p, SC_EVALUE, -1,
             "schedule: '%s' binds an index that '%s' around it binds already; remove one of the two",
             verify_loop(p, n), verify_loop(p, clash));
    if (ix.part == SC_MOD && (!div || div->ix.block != ix.block))
        fail(p, SC_EVALUE, -1, "schedule: '%s' needs a loop over %s/%d around it", verify_loop(p, n),
             p->var[ix.var].name, ix.block);
    place_bind(&s->known, ix);
    by[ix.part] = n;
}

/* The index is known by a vec loop over another part of it (of i, i/N and i%N): no vector enters a level over it. */
static bool parts_a_vector(const Scene *s, Index ix)
{
    const Nest *by = verify_binder(s, ix);
    return by && by->kind == L_VEC && !index_same(by->ix, ix);
}

static void advance(NestVerifier *v, Scene *s)
{
    for (int k = 0; k < v->p->ntensor; k++) {
        const Tensor *t = v->p->tensor[k];
        uint8_t *l = &s->known.level[k];
        while (verify_operand(t) && place_descends(&s->known, t, *l) &&
               !parts_a_vector(s, tensor_level_index(t, *l)))
            ++*l;
    }
}

/* ---- loops ---- */
/* Requires that t is a sparse operand, or a sparse workspace that is read, whose next level is over the index of the
 * loop. Returns its id. */
static int check_source(NestVerifier *v, const Scene *s, const Nest *n, const Tensor *t)
{
    Prog *p = v->p;
    const int k = prog_id(p, t), l = s->known.level[k];
    if (!verify_operand(t) && !(tensor_gathers(t) && v->use[k].scope == READING))
        fail(p, SC_EVALUE, -1,
             "schedule: '%s': a loop runs in a sparse operand, or in a bitmap or hash workspace inside the "
             "block "
             "after 'then'",
             verify_loop(p, n));
    if (verify_dense(t))
        fail(p, SC_EVALUE, -1, "schedule: '%s': %s is dense; leave its name out", verify_loop(p, n), t->name);
    if (l == t->format.nlevel)
        fail(p, SC_EVALUE, -1, "schedule: '%s': all levels of %s are bound already; leave its name out",
             verify_loop(p, n), t->name);
    if (!index_same(tensor_level_index(t, l), n->ix))
        fail(p, SC_EVALUE, -1, "schedule: '%s': %s must come first, by a loop over it", verify_loop(p, n),
             verify_level(p, t, l));
    if (place_below_runs(t, l))
        fail(
            p, SC_ENOTIMPL, -1,
            "schedule: '%s': %s stands below a nonunique level, where only singleton levels can be iterated; "
            "convert %s",
            verify_loop(p, n), verify_level(p, t, l), t->name);
    return k;
}

/* The index of the loop becomes known; where it is, the loop looks up. */
static void bind_or_look_up(NestVerifier *v, Scene *s, const Nest *n)
{
    if (!verify_binder(s, n->ix)) {
        bind_index(v, s, n);
        return;
    }
    if (n->kind == L_PAR || n->by || n->unroll)
        fail(v->p, SC_EVALUE, -1,
             "schedule: '%s': %s is known here, so the loop looks one entry up; it takes neither par nor by "
             "nor unroll",
             verify_loop(v->p, n), verify_index(v->p, n->ix));
}

static void enter_tensor(NestVerifier *v, Scene *s, const Nest *n)
{
    Prog *p = v->p;
    const int k = check_source(v, s, n, n->in);
    const bool dense = !sc_kind_of(&n->in->format.level[s->known.level[k]])->crd;
    if (n->kind == L_PAR && !dense && s->known.level[k])
        fail(p, SC_ENOTIMPL, -1, "schedule: '%s': par runs over a dense level or the first level of a tensor",
             verify_loop(p, n));
    if (n->by && (dense || s->of[k].tile || n->kind == L_PAR))
        fail(p, SC_EVALUE, -1,
             "schedule: '%s by %d': by cuts the positions of a level that is not dense, once, and not in a "
             "par loop",
             verify_loop(p, n), n->by);
    if (n->by) {
        s->of[k].tile = n;
        return;
    }
    if (s->of[k].tile && n->unroll && n->unroll != s->of[k].tile->by)
        fail(p, SC_EVALUE, -1,
             "schedule: '%s unroll %d': in tiles of %d positions, unroll takes all of them: %d",
             verify_loop(p, n), n->unroll, s->of[k].tile->by, s->of[k].tile->by);
    if (s->of[k].tile) {
        place_bind(&s->known, (Index){.var = n->ix.var, .slot = 1});
        s->by[n->ix.var][SLOT] = n;
    }
    s->of[k].tile = NULL;
    bind_or_look_up(v, s, n);
    s->known.level[k]++;
}

static void check_merged(NestVerifier *v, const Scene *s, const Nest *n, int m)
{
    Prog *p = v->p;
    const Tensor *t = n->merge[m];
    const int k = check_source(v, s, n, t);
    if (!sc_kind_of(&t->format.level[s->known.level[k]])->crd)
        fail(p, SC_EVALUE, -1, "schedule: '%s': %s has every coordinate; leave %s out", verify_loop(p, n),
             verify_level(p, t, s->known.level[k]), t->name);
    if (s->of[k].tile || n->by || n->unroll)
        fail(p, SC_EVALUE, -1, "schedule: '%s': merged levels have neither by nor unroll", verify_loop(p, n));
    for (int q = 0; q < m; q++)
        if (n->merge[q] == t)
            fail(p, SC_EVALUE, -1, "schedule: '%s' merges %s twice", verify_loop(p, n), t->name);
}

static void enter_merge(NestVerifier *v, Scene *s, const Nest *n)
{
    Prog *p = v->p;
    for (int m = 0; m < n->nmerge; m++) check_merged(v, s, n, m);
    bind_or_look_up(v, s, n);
    for (int m = 0; m < n->nmerge; m++) {
        s->of[prog_id(p, n->merge[m])].merged = true;
        s->known.level[prog_id(p, n->merge[m])]++;
    }
}

/* With what has a slot for each position of the loop and is filled from those tensors alone. */
static uint64_t with_slots(const NestVerifier *v, const Nest *n, uint64_t absent)
{
    for (int k = 0; k < v->p->ntensor; k++)
        if (v->use[k].scope == READING && loop_has_slot(n, v->p->tensor[k]))
            absent = work_absent(v->p, v->use[k].work, absent);
    return absent;
}

/* A loop in a tensor, or a merge, leaves out coordinates: nothing may be left to do there, or, with `rest`, the same at
 * each of them. */
static void check_visits(NestVerifier *v, const Scene *outer, const Nest *n)
{
    Prog *p = v->p;
    const char *i = verify_index(p, n->ix);
    uint64_t all = 0;
    if (n->in && sc_kind_of(&n->in->format.level[outer->known.level[prog_id(p, n->in)]])->crd && !n->by)
        all = tensor_bit(p, n->in);
    for (int m = 0; m < n->nmerge && !verify_binder(outer, n->ix); m++) all |= tensor_bit(p, n->merge[m]);
    if (n->in) all = with_slots(v, n, all);
    if (!all || !loop_misses(p, n, all, outer->given)) return;
    if (n->rest && nest_repeats(p, n->body, n->ix.var, all)) return;
    if (n->rest)
        fail(p, SC_EVALUE, -1,
             "schedule: '%s rest': what stands inside is not the same at every %s that is not visited, or "
             "goes into "
             "no reduction around; leave out rest, and visit every %s",
             verify_loop(p, n), i, i);
    if (n->in)
        fail(p, SC_EVALUE, -1,
             "schedule: '%s': what stands inside has a value where %s has no entry; visit every %s and merge "
             "%s there, as in 'for %s { for %s merge %s {..} }'",
             verify_loop(p, n), n->in->name, i, n->in->name, i, i, n->in->name);
    fail(
        p, SC_EVALUE, -1,
        "schedule: index %s is merged, but the result has values where no operand is stored; visit every %s, "
        "as in 'for %s { %s {..} }'",
        i, i, i, verify_loop(p, n));
}

/* What a vec loop holds; over words of bits also a loop that is unrolled. */
static bool only_evals(const Nest *vec)
{
    const Nest *n = vec->body;
    if (n->op == N_LOOP && n->unroll && nest_over_words(vec)) n = n->body;
    for (int k = 0; k < n->n; k++)
        if (n->kid[k]->op != N_EVAL) return false;
    return n->op == N_EVAL || n->op == N_SEQ;
}

static void check_head(Prog *p, const Nest *n)
{
    const char *loop = verify_loop(p, n);
    const bool source = n->in || n->nmerge;
    if (n->kind == L_VEC && (n->nmerge || n->by || n->unroll || n->ix.part == SC_DIV))
        fail(p, SC_EVALUE, -1, "schedule: '%s': a vec loop is over i or i%%N, without merge, by and unroll",
             loop);
    if (n->kind == L_VEC && !only_evals(n))
        fail(p, SC_EVALUE, -1, "schedule: '%s': a vec loop is innermost; only evaluations stand in it", loop);
    if (n->by && !n->in)
        fail(p, SC_EVALUE, -1, "schedule: '%s by %d': by cuts a loop in a tensor; cut a dense one as %s/%d",
             loop, n->by, p->var[n->ix.var].name, n->by);
    if (n->ahead && (!n->in || n->kind != L_FOR || n->in->role == T_WORK))
        fail(p, SC_EVALUE, -1, "schedule: '%s ahead %d': ahead goes with 'for .. in' an operand", loop,
             n->ahead);
    if (n->unroll && (n->kind == L_PAR || n->by))
        fail(p, SC_EVALUE, -1, "schedule: '%s': unroll goes with neither par nor by", loop);
    if (n->unroll && !source && verify_extent(p, n->ix) != n->unroll)
        fail(p, SC_EVALUE, -1,
             "schedule: '%s unroll %d': a dense loop is unrolled when its extent is that constant", loop,
             n->unroll);
}

static void check_rest(NestVerifier *v, const Scene *outer, const Nest *n)
{
    Prog *p = v->p;
    if (!n->rest) return;
    const bool dense = n->in && !sc_kind_of(&n->in->format.level[outer->known.level[prog_id(p, n->in)]])->crd;
    if (dense || n->by || verify_binder(outer, n->ix) || (n->in && n->kind == L_PAR) ||
        visits_block(v, outer, n))
        fail(
            p, SC_EVALUE, -1,
            "schedule: '%s rest': rest goes with a loop that visits stored entries, without by, and with par "
            "where it merges",
            verify_loop(p, n));
}

static void check_batch(NestVerifier *v, const Scene *s, const Nest *n)
{
    const char *why = n->batch ? nest_batch_refused(n) : NULL;
    if (n->batch && !why && verify_binder(s, n->body->body->ix)) why = "its entries are looked up";
    if (why) fail(v->p, SC_EVALUE, -1, "schedule: '%s batch %d': %s", verify_loop(v->p, n), n->batch, why);
}

static void check_vector(NestVerifier *v, const Scene *s, const Nest *n)
{
    if (n->kind != L_VEC || !n->in) return;
    const char *why = nest_vector_refused(n);
    if (!why && verify_binder(s, n->ix)) why = "its entries are looked up";
    if (why) fail(v->p, SC_EVALUE, -1, "schedule: '%s': %s", verify_loop(v->p, n), why);
}

static void walk(NestVerifier *, const Scene *, const Nest *);

static void walk_loop(NestVerifier *v, const Scene *outer, const Nest *n)
{
    Scene s = *outer;
    check_head(v->p, n);
    if (s.nloop == MAXLOOP) fail(v->p, SC_EVALUE, -1, "schedule: more than %d loops in each other", MAXLOOP);
    s.loop[s.nloop++] = n;
    if (n->kind == L_PAR && s.par)
        fail(v->p, SC_EVALUE, -1, "schedule: '%s' stands inside of '%s'; a kernel has one par loop",
             verify_loop(v->p, n), verify_loop(v->p, s.par));
    if (n->kind == L_PAR) s.par = n;
    if (n->nmerge)
        enter_merge(v, &s, n);
    else if (n->in)
        enter_tensor(v, &s, n);
    else
        bind_index(v, &s, n);
    check_batch(v, &s, n);
    check_vector(v, outer, n);
    check_rest(v, outer, n);
    advance(v, &s);
    walk(v, &s, n->body);
    check_visits(v, outer, n);
}

/* ---- blocks ---- */
typedef void Visit(NestVerifier *, const Scene *, const Nest *);

static void walk_blocks(NestVerifier *v, const Scene *s, const Nest *n, Visit *fill, Visit *read)
{
    const int k = prog_id(v->p, n->work);
    verify_workspace(v, s, n->work);
    v->use[k].depth = s->nloop;
    v->use[k].work = n;
    v->use[k].scope = FILLING;
    fill(v, s, n->body);
    if (!v->use[k].writes) fail(v->p, SC_EVALUE, -1, "schedule: nothing fills workspace %s", n->work->name);
    v->use[k].scope = READING;
    read(v, s, n->then);
    v->use[k].scope = CLOSED;
}

static void walk_work(NestVerifier *v, const Scene *s, const Nest *n)
{
    if (n->work->place == W_PRIVATE || n->work->place == W_SHARED)
        fail(v->p, SC_EVALUE, -1,
             "schedule: workspace %s is for all threads and must stand at the top of the nest",
             n->work->name);
    if (!s->par && nest_pars(n->body))
        fail(v->p, SC_EVALUE, -1,
             "schedule: workspace %s belongs to one thread, so no par loop can fill it; make it private or "
             "shared",
             n->work->name);
    walk_blocks(v, s, n, walk, walk);
}

/* What an item assigns at every coordinate, or null. */
static const Assign *given_by(const Nest *n)
{
    while (n->op == N_LOOP && verify_counts(n) && !n->by) n = n->body;
    return n->op == N_EVAL && n->eval.reduce == O_CONST ? &n->eval : NULL;
}

static void walk_items(NestVerifier *v, const Scene *s, const Nest *n, Visit *visit)
{
    Scene behind = *s;
    for (int k = 0; k < n->n; k++) {
        visit(v, &behind, n->kid[k]);
        behind.given = given_by(n->kid[k]);
    }
}

static void walk(NestVerifier *v, const Scene *s, const Nest *n)
{
    switch (n->op) {
    case N_LOOP: walk_loop(v, s, n); break;
    case N_WORK: walk_work(v, s, n); break;
    case N_EVAL: verify_eval(v, s, &n->eval); break;
    case N_SEQ: walk_items(v, s, n, walk); break;
    }
}

static void walk_kernel(NestVerifier *v, const Scene *s, const Nest *n)
{
    const int pars = nest_pars(n);
    v->kernel = n;
    v->nkernel++;
    v->serial = pars == 0;
    v->nlane = 0;
    if (pars > 1)
        fail(v->p, SC_EVALUE, -1,
             "schedule: a kernel has %d par loops, expected at most 1; the others must be for or vec", pars);
    walk(v, s, n);
}

/* Kernels are the items at the top and those of the second block of a private or shared workspace; its
 * first block is one kernel. */
static void walk_top(NestVerifier *v, const Scene *s, const Nest *n)
{
    if (n->op == N_SEQ)
        walk_items(v, s, n, walk_top);
    else if (n->op == N_WORK && (n->work->place == W_PRIVATE || n->work->place == W_SHARED))
        walk_blocks(v, s, n, walk_kernel, walk_top);
    else
        walk_kernel(v, s, n);
}

/* The offset in bytes of every element of a dense result must be an int64. */
static void check_extent(Prog *p, const Tensor *t)
{
    int64_t size = 8;
    for (int d = 0; t->role == T_OUT && verify_dense(t) && d < t->ndim; d++)
        if (!sc_mul(size, sc_max(t->extent[d], 1), &size))
            fail(p, SC_EVALUE, -1, "%s is computed dense, and has more than 2^60 elements", t->name);
}

void nest_verify(Prog *p, const Nest *n)
{
    NestVerifier v = {.p = p};
    Scene s = {0};
    if (n->op == N_SEQ && !n->n) fail(p, SC_EVALUE, -1, "schedule: the nest is empty");
    advance(&v, &s);
    walk_top(&v, &s, n);
    for (int k = 0; k < p->ntensor; k++) check_extent(p, p->tensor[k]);
    for (int k = 0; k < p->ntensor; k++)
        if (p->tensor[k]->role == T_OUT && !v.use[k].writes)
            fail(p, SC_EVALUE, -1, "schedule: result %s is never assigned", p->tensor[k]->name);
}
