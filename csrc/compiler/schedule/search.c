/* search.c: which nests there are for an assignment, and the cheapest.
 *
 * A candidate is an order of the indices and a set of operands that are converted
 * first, so that their levels follow that order. Up to six indices all orders are
 * tried; beyond, one is improved by moving single indices. Each candidate is
 * built (absence decides its loops) and costed by walking what was built, so that
 * the search knows nothing of either. The nests of product.c and
 * gather.c are candidates too, and win near ties: they have tiles and
 * panels that the builder lacks. Other near ties go to fewer conversions, then to
 * the first order. Costs count in steps, so that all candidates stand in one
 * order: the best of all is also the best of any part of them that it is in. Same
 * input, same choice. */
#include <math.h>
#include <string.h>

#include "private.h"

#define TIE 1.02        /* a step of scores: those in one step are equal, and the first order wins */
#define PRODUCT_TIE 1.3 /* what a nest must gain over the one with register tiles and panels */
#define PLAIN_TIE 1.06  /* the same over one that has no tiles, and shares out the same index among threads */
#define TURNED_TIE 1.3  /* what transposing matrices as a whole must gain, but for cuts */
#define BLOCKS 8        /* how many times faster whole blocks are converted than single entries */
#define CONVERT_TIE 1.3 /* what a nest of converted operands must gain over one that takes them as they are */
#define CALLS 16        /* calls that share the time of a conversion */
#define COMPARE .1      /* nanoseconds that it takes to see that a value is what it was */
#define OFTEN 256       /* calls that share that of an operand known to be multiplied often */
#define OFTEN_TIE 1.05  /* what converting such an operand must gain */

static const struct {
    Nest *(*nest)(Prog *, const Assign *, sc_format *to, sc_text *why);
    const char *name;
    bool often; /* it takes the layouts of an operand that is multiplied often */
    double tie; /* what it must gain over the others where it takes none */
} special[] = {{product_nest, "in storage order, tiled", true, 1},
               {schedule_packed, "in storage order, tiled, packed", false, 1},
               {schedule_turned, "in storage order, tiled, dense operands transposed", true, TURNED_TIE},
               {schedule_gather, "rows gathered into tiles", false, 1},
               {schedule_outer, "outer products in tiles", false, 1}};

typedef struct {
    Order order;
    uint32_t converted; /* operands */
    int form;
    int special; /* whose nest it is: 0, of schedule_build(), or special[special - 1] */
    int split;   /* form whose inner sum is computed first, as a whole; 0: none */
    sc_format
        to; /* of a sparse operand that is multiplied often, read without a permutation; nlevel 0: none */
    double cost; /* -1: there is no such nest */
    bool tiles;  /* the nest has tiles, or sums outside of registers */
    int par;     /* 1 + the index that threads share, 0: none */
    int rank;    /* the smallest is the best */
} Candidate;

typedef struct { /* an assignment in two: t = the inner sum; and the rest, reading t */
    Tensor *t;
    Search *first, *rest;
} Split;

struct Search {
    Prog *p;
    Assign a;
    const Wish *wish;
    Version form[MAXFORM];
    Split split[MAXFORM];
    int nform, now;                   /* now: the form of the candidates being tried */
    uint32_t converted;               /* of the candidates being tried */
    sc_format wants[SC_LEN(special)]; /* what a special nest asks of the sparse operand */
    Candidate best[MAXBEST];
    int nbest, ntrial;
    int par; /* Candidate.par of the best one of special[], where that has no tiles; else 0 */
    /* Of the first that was not built, or that is not as it was asked for. */
    char why_not[WHY], not_asked[WHY];
};

/* ---- one candidate ---- */
static sc_format target(const Search *s, const Candidate *c, int operand)
{
    return c->to.nlevel ? c->to
           : c->special ? s->wants[c->special - 1]
                        : order_format(s->p->tensor[operand], &c->order);
}

static void convert_all(Search *s, const Candidate *c)
{
    for (int k = 0; k < s->p->nin; k++) {
        if (!in(c->converted, k)) continue;
        const sc_format to = target(s, c, k);
        cost_convert(s->p, s->p->tensor[k], &to);
        s->p->tensor[k]->perm = !c->to.nlevel; /* cuts have values of their own */
    }
}

/* Whether values stay where they are, in the order that they have. */
static bool keeps_order(const sc_format *f)
{
    bool keeps = false;
    for (int l = 0; l < f->nlevel; l++)
        keeps |= sc_kind_of(&f->level[l])->words || sc_kind_of(&f->level[l])->planar;
    return keeps;
}

static double conversion_cost(const Search *s, const Candidate *c)
{
    double sum = 0;
    for (int k = 0; k < s->p->nin; k++) {
        if (!in(c->converted, k)) continue;
        const sc_format to = target(s, c, k);
        if (c->to.nlevel && !keeps_order(&c->to)) sum += cost_positions(s->p, s->p->tensor[k]) * COMPARE;
        const bool blocks = to.nlevel && to.level[to.nlevel - 1].part == SC_MOD;
        sum += cost_positions(s->p, s->p->tensor[k]) * cost_conversion(s->p) /
                   (c->to.nlevel ? OFTEN : CALLS) / (blocks && !c->to.nlevel ? BLOCKS : 1) +
               1000;
    }
    return sum;
}

/* The cost times what a candidate must gain over others, in steps of TIE. */
static int rank(const Search *s, const Candidate *c)
{
    const double convert = c->to.nlevel ? OFTEN_TIE : c->converted ? CONVERT_TIE : 1;
    const double tie = s->par && c->par == s->par ? PLAIN_TIE : PRODUCT_TIE;
    const double own = c->special && !c->to.nlevel ? special[c->special - 1].tie : 1;
    const double score = c->cost * (c->special ? own : tie) * convert;
    return (int)lround(log(score) / log(TIE));
}

static void keep(Search *s, Candidate c)
{
    if (c.cost < 0) return;
    int k = s->nbest < MAXBEST ? s->nbest++ : MAXBEST;
    c.rank = rank(s, &c);
    while (k > 0 && c.rank < s->best[k - 1].rank) {
        if (k < MAXBEST) s->best[k] = s->best[k - 1];
        k--;
    }
    if (k < MAXBEST) s->best[k] = c;
}

/* Settles the format of a result that had none. */
static Nest *construct(Search *s, const Candidate *c, sc_text *why)
{
    const int k = c->special - 1;
    char reason[WHY] = "";
    s->p->draft.wish = s->wish;
    if (c->special) return schedule_narrow(s->p, &s->a, special[k].nest(s->p, &s->a, &s->wants[k], why));
    const Assign a = {s->a.lhs, s->a.reduce, s->form[c->form].rhs};
    const bool first = !*s->why_not; /* others are not asked why */
    Nest *n = schedule_build(s->p, &a, &c->order, first ? reason : s->why_not);
    if (!n && first) memcpy(s->why_not, reason, WHY);
    return schedule_narrow(s->p, &s->a, n);
}

static void look(const Nest *n, void *ctx)
{
    Candidate *c = ctx;
    if (n->op == N_LOOP && n->kind == L_PAR) c->par = 1 + n->ix.var;
    c->tiles |=
        n->op == N_LOOP ? n->by || n->ix.part != SC_WHOLE : n->op == N_WORK && n->work->place != W_REG;
}

static double cost_built(Search *s, Candidate *c)
{
    char reason[WHY] = "";
    Nest *n = construct(s, c, NULL);
    if (n && !wish_allows(s->p, s->wish, n, reason)) {
        if (!*s->not_asked && (!c->special || wish_is_begun(s->p, s->wish, n)))
            memcpy(s->not_asked, reason, WHY);
        n = NULL;
    }
    const double cost = n ? cost_nest(s->p, n) : -1;
    c->tiles = false, c->par = 0;
    if (n) nest_walk(n, look, c);
    return cost;
}

typedef struct {
    Search *s;
    Candidate *c;
    const Mark *before;
    double cost; /* -1: there is no such nest */
} Costing;

static void cost_tried(void *ctx)
{
    Costing *x = ctx;
    x->before = prog_mark(x->s->p);
    convert_all(x->s, x->c);
    x->cost = cost_built(x->s, x->c);
}

/* Builds, costs and forgets; -1: there is no such nest. */
static double cost_of(Search *s, Candidate *c)
{
    Prog *p = s->p;
    const sc_arena arena = p->arena;
    const double conversion = conversion_cost(s, c);
    Costing x = {s, c, NULL, -1};
    sc_err dropped = {0};
    p->arena = (sc_arena){.nomem = arena.nomem, .ctx = arena.ctx};
    const int rc = prog_try(p, cost_tried, &x, &dropped);
    if (x.before) prog_rewind(p, x.before);
    sc_arena_free(&p->arena);
    p->arena = arena;
    if (rc == SC_ENOMEM) fail(p, SC_ENOMEM, -1, "out of memory while compiling");
    return x.cost < 0 ? -1 : x.cost + conversion;
}

static Candidate in_order(Search *s, const Order *o)
{
    Candidate c = {.order = *o, .converted = s->converted, .form = s->now, .cost = -1};
    if (s->ntrial++ < MAXTRIAL && wish_orders(s->wish, o)) c.cost = cost_of(s, &c);
    return c;
}

/* ---- orders ---- */
/* The size of the blocks that an operand stores variable v in, 0: none. */
static int block_of(const Search *s, int v)
{
    for (int k = 0; k < s->p->nin; k++) {
        const Tensor *t = s->p->tensor[k];
        for (int l = 0; !in(s->converted, k) && l < t->format.nlevel; l++)
            if (t->dimvar[t->format.level[l].dim] == v && t->format.level[l].part)
                return t->format.level[l].block;
    }
    return 0;
}

static Order all_loops(const Search *s)
{
    const Version *f = &s->form[s->now];
    Order o = {.inner = {f->inner[0], f->inner[1]}};
    const uint32_t used = expr_vars(s->a.lhs) | expr_vars(s->a.rhs);
    for (int v = 0; v < s->p->nvar; v++) {
        const int block = block_of(s, v);
        if (!in(used, v) || o.n + 2 > MAXORDER) continue;
        o.loop[o.n++] = (Index){.var = (uint8_t)v, .part = block ? SC_DIV : SC_WHOLE, .block = block};
        if (block) o.loop[o.n++] = (Index){.var = (uint8_t)v, .part = SC_MOD, .block = block};
    }
    return o;
}

static bool fits(const Tensor *t, const Order *o) { return order_follows(t, o) && !source_may_repeat(t); }

/* Loops around its first level bring coordinates that are searched for there, and converted it has them all. */
static bool is_searched(const Tensor *t, const Order *o)
{
    const sc_format to = order_format(t, o);
    if (!sc_kind_of(&t->format.level[0])->crd || sc_kind_of(&to.level[0])->crd) return false;
    return o->loop[0].var != tensor_level_index(t, 0).var;
}

/* No operand is converted that fits the order as it is, unless its rows are searched for in it. */
static bool all_gain(const Search *s, const Order *o)
{
    for (int k = 0; k < s->p->nin; k++) {
        const Tensor *t = s->p->tensor[k];
        bool blocks = false;
        for (int l = 0; l < t->format.nlevel; l++) blocks |= t->format.level[l].part != SC_WHOLE;
        if (in(s->converted, k) && fits(t, o) && !blocks && !is_searched(t, o)) return false;
    }
    return true;
}

/* Where operands are converted, the others must fit the order as they are; else they may also be searched. */
static bool is_sensible(const Search *s, const Order *o)
{
    for (int k = 0; k < s->p->nin && s->converted; k++) {
        const Tensor *t = s->p->tensor[k];
        if (in(s->converted, k) || sc_format_is_dense(&t->format) || !expr_reads(s->a.rhs, t)) continue;
        if (!fits(t, o)) return false;
    }
    return all_gain(s, o);
}

static void permute(Search *s, const Order *all, Order *o, uint32_t taken)
{
    if (o->n == all->n) {
        if (is_sensible(s, o)) keep(s, in_order(s, o));
        return;
    }
    for (int k = 0; k < all->n; k++) {
        if (in(taken, k) || (all->loop[k].part == SC_MOD && !in(taken, k - 1))) continue;
        o->loop[o->n++] = all->loop[k];
        permute(s, all, o, taken | 1u << k);
        o->n--;
    }
}

/* ---- many indices: one order, improved ---- */
static void climb(Search *s, const Order *all)
{
    Order o = order_natural(s->p, all);
    double best = -1;
    for (bool better = true; better;) {
        better = false;
        for (int from = 0; from < o.n; from++)
            for (int to = 0; to < o.n; to++) {
                const Order moved = order_moved(&o, from, to);
                if (!order_legal(&moved) || !all_gain(s, &moved)) continue;
                const Candidate c = in_order(s, &moved);
                if (c.cost < 0 || (best >= 0 && c.cost >= best)) continue;
                best = c.cost;
                o = moved;
                better = true;
                keep(s, c);
            }
    }
}

/* ---- conversions and special nests ---- */
static bool keeps(const Search *s) { return s->p->keeps || s->wish->converts; }

/* The sparse operands that may be converted: they occur once, in this assignment only. */
static uint32_t convertible(const Search *s)
{
    const Prog *p = s->p;
    uint32_t set = 0;
    for (int k = 0; k < p->nin; k++) {
        int uses = 0;
        for (int t = 0; t < p->ntensor; t++) uses += p->tensor[t]->role == T_IN && p->tensor[t]->arg == k;
        for (int a = 0; a < p->nassign; a++)
            uses += p->nassign > 1 && expr_reads(p->assign[a].rhs, p->tensor[k]);
        if (p->nassign > 1) uses--;
        if (!expr_reads(s->a.rhs, p->tensor[k])) continue;
        const Tensor *x = p->tensor[k];
        bool twice = tensor_gives_upper(p, k);
        for (int d = 0; d < x->ndim; d++)
            for (int q = 0; q < d; q++) twice |= x->dimvar[d] == x->dimvar[q];
        if (uses == 1 && !twice && !sc_format_is_dense(&x->format) && !in(p->settled, k) && !keeps(s))
            set |= 1u << k;
    }
    return set;
}

static int sparse_operand(const Expr *e)
{
    if (e->op == O_ACCESS) return source_is_sparse(e->tensor) ? e->tensor->arg : -1;
    const int k = e->kid[0] ? sparse_operand(e->kid[0]) : -1;
    return k >= 0 || !e->kid[1] ? k : sparse_operand(e->kid[1]);
}

/* The nest of a candidate on the layouts of an operand that is multiplied often. */
static void consider_often(Search *s, int operand, Candidate c)
{
    const Tensor *t = s->p->tensor[operand];
    const sc_format from = c.converted ? target(s, &c, operand) : t->format, wanted = s->wants[c.special - 1];
    sc_format to[MAXLAYOUT];
    const int n = often_formats(s->p, &s->a, t, &from, !c.converted, to);
    c.converted = 1u << operand;
    for (int k = 0; k < n; k++) {
        c.to = to[k];
        c.cost = cost_of(s, &c);
        keep(s, c);
    }
    s->wants[c.special - 1] = wanted;
}

/* The nest that special k has for the operand as it is, or converted to what that asks for; -1: it stays as it is. */
static void consider_as(Search *s, int k, int operand, bool convert)
{
    Candidate c = {.special = k + 1, .order = all_loops(s), .converted = convert ? 1u << operand : 0};
    c.cost = cost_of(s, &c);
    if (c.cost < 0) return;
    keep(s, c);
    if (special[k].often && operand >= 0 && s->p->tensor[operand]->often.many) consider_often(s, operand, c);
}

static void consider_special(Search *s, int k)
{
    int operand = sparse_operand(s->a.rhs);
    if (operand >= 0 && !in(convertible(s), operand)) operand = -1;
    consider_as(s, k, operand, false);
    if (operand >= 0 && s->wants[k].nlevel) consider_as(s, k, operand, true);
}

/* The sums inside of sums are those that were asked for. */
static bool wishes_form(const Search *s, int form)
{
    const Wish *w = s->wish;
    const uint32_t *taken = s->form[form].taken;
    return !w->ninner || (w->inner[0] == taken[0] && w->inner[1] == taken[1]);
}

/* The subset of `can` behind this one, counting up through those of at most two, and all of it last. */
static uint32_t next_subset(uint32_t set, uint32_t can)
{
    if (__builtin_popcount(set) < 2) return (set - can) & can;
    const uint32_t next = ((set | ~can) + (set & -set)) & can;
    return next > set ? next : can;
}

/* Whoever asks for a form is told why it is not built. */
static bool is_hopeless(const Search *s, const Version *f)
{ return !s->wish->ninner && form_is_hopeless(f, s->converted); }

static void consider_all(Search *s)
{
    const uint32_t can = convertible(s);
    for (uint32_t set = 0;; set = next_subset(set, can)) {
        s->converted = set;
        for (s->now = 0; s->now < s->nform; s->now++) {
            if (!wishes_form(s, s->now) || is_hopeless(s, &s->form[s->now])) continue;
            Order all = all_loops(s), o = all;
            o.n = 0;
            if (all.n <= MAXPERMUTED)
                permute(s, &all, &o, 0);
            else
                climb(s, &all);
        }
        if (set == can) return;
    }
}

/* ---- an intermediate of its own ---- */
static Search *find(Prog *, const Assign *, const Wish *);

/* A dense sum that was split off, computed first and as a whole: work t { t = sum } then { .. t .. }. */
static void consider_split(Search *s, int form)
{
    Prog *p = s->p;
    const Version *f = &s->form[form];
    Split *x = &s->split[form];
    const int mark = p->ntensor;
    Expr *sum = (Expr *)f->inner[0];
    double bytes = (double)sc_dtype_size(p->type);
    x->t = work_new(p, "t", W_SHARED);
    for (int v = 0; v < p->nvar; v++)
        if (in(expr_free(sum), v) && x->t->ndim < SC_MAXDIM) {
            work_slot(x->t, index_whole(v));
            bytes *= (double)p->var[v].extent;
        }
    if (bytes <= MAXINTERMEDIATE) {
        Expr *read = work_access(p, x->t);
        Wish *first = NEW(p, Wish), *rest = NEW(p, Wish);
        first->converts = s->wish->converts;
        *rest = *s->wish;
        rest->first = 0;
        x->first = find(p, &(Assign){read, O_CONST, sum}, first);
        x->rest = find(p, &(Assign){s->a.lhs, s->a.reduce, expr_replace(p, f->rhs, sum, read)}, rest);
        Candidate c = {.split = form, .converted = 0};
        if (x->first->nbest && x->rest->nbest) {
            const Candidate *a = &x->first->best[0], *b = &x->rest->best[0];
            c.cost = a->cost + b->cost;
            c.special = a->special && b->special ? a->special : 0;
            c.converted = a->converted | b->converted;
            keep(s, c);
        }
    }
    p->ntensor = mark;
}

/* ---- the nests ---- */
Nest *search_nest(Search *s, int k)
{
    Prog *p = s->p;
    const Candidate *c = &s->best[k];
    if (c->split) {
        const Split *x = &s->split[c->split];
        work_add(p, x->t, "t");
        Nest *first = search_nest(x->first, 0), *rest = first ? search_nest(x->rest, 0) : NULL;
        return rest ? schedule_before_rest(p, first, x->t, rest) : NULL;
    }
    convert_all(s, c);
    Nest *n = construct(s, c, &p->draft.why);
    for (int t = 0; n && t < p->nin; t++)
        if (in(c->converted, t)) p->draft.convert[t] = p->tensor[t]->format, p->draft.converts = true;
    return n;
}

void search_explain(const Search *s, int chosen)
{
    Prog *p = s->p;
    char text[200];
    sc_text_add(&p->draft.orders, "%s: %d loop orders considered, the cheapest:\n", s->a.lhs->tensor->name,
                s->ntrial);
    for (int k = 0; k < s->nbest; k++) {
        const Candidate *c = &s->best[k];
        if (k >= MAXSHOWN && k != chosen) continue;
        sc_text_add(&p->draft.orders, "  %s %9.1f us ", k == chosen ? "*" : " ", c->cost / 1000);
        if (c->split) {
            sc_text_add(&p->draft.orders, " first ");
            expr_print(p, s->form[c->split].inner[0], &p->draft.orders);
        } else if (c->special)
            sc_text_add(&p->draft.orders, " %s", special[c->special - 1].name);
        for (int i = 0; !c->special && !c->split && i < c->order.n; i++) {
            const Index ix = c->order.loop[i];
            sc_text_add(&p->draft.orders, " %s", p->var[ix.var].name);
            if (ix.part) sc_text_add(&p->draft.orders, "%c%d", ix.part == SC_DIV ? '/' : '%', ix.block);
        }
        if (c->form) {
            sc_text_add(&p->draft.orders, ": ");
            expr_print(p, s->form[c->form].rhs, &p->draft.orders);
        }
        for (int t = 0; t < p->nin; t++) {
            if (!in(c->converted, t) || c->split) continue;
            const sc_format to = target(s, c, t);
            sc_format_print(&to, text, sizeof text);
            sc_text_add(&p->draft.orders, ", %s converted to %s", p->tensor[t]->name, text);
        }
        sc_text_add(&p->draft.orders, "\n");
    }
}

/* ---- the search ---- */
static Search *find(Prog *p, const Assign *a, const Wish *wish)
{
    Search *s = NEW(p, Search);
    *s = (Search){.p = p, .a = *a, .wish = wish};
    s->nform = forms_find(p, a->rhs, s->form);
    if (wish->first) return s;
    for (int k = 0; wishes_form(s, 0) && k < SC_LEN(special); k++) consider_special(s, k);
    if (s->nbest && !s->best[0].tiles && !s->best[0].converted) s->par = s->best[0].par;
    consider_all(s);
    return s;
}

Search *search_new(Prog *p, const Assign *a, const Wish *wish)
{
    Search *s = find(p, a, wish);
    for (int k = 1; k < s->nform && (s->nbest || wish->first); k++)
        if (s->form[k].inner[0] && !s->form[k].inner[1] && !sums_nothing(p, s->form[k].inner[0]) &&
            sparse_operand(s->form[k].inner[0]) < 0 && (!wish->first || wish->first == s->form[k].taken[0]))
            consider_split(s, k);
    return s;
}

void search_print(const Search *s, int k, const Nest *n, sc_text *out)
{
    const Candidate *c = &s->best[k];
    const Version *f = &s->form[c->form];
    if (c->split) {
        wish_vars_print(s->p, "first", s->form[c->split].taken[0], out);
        sc_text_add(out, " ");
        while (n->op == N_WORK && n->work != s->split[c->split].t) n = n->then;
        search_print(s->split[c->split].rest, 0, n->op == N_WORK ? n->then : n, out);
        return;
    }
    wish_print(s->p, c->special ? NULL : &c->order, n, out);
    if (s->nform > 1)
        for (int q = 0; q < 2 && (!q || f->taken[q]); q++) wish_vars_print(s->p, "inner", f->taken[q], out);
}

int search_count(const Search *s) { return s->nbest; }
double search_cost(const Search *s, int k) { return s->best[k].cost; }
const char *search_why(const Search *s)
{ return *s->not_asked ? s->not_asked : *s->why_not ? s->why_not : NULL; }
