/* plan.c: assignments -> steps.
 *
 * requires  check, infer. A program stays one step unless that was found to take longer. What is taken apart:
 *
 *   a sum of a product of three factors or more   into temporaries, in an order of contraction that tree.c finds
 *   a factor that has a sum inside                computed first, as a whole, instead of once for every turn around it
 *   a sparse factor that alone has an index       summed over it first, so that entries which meet are not multiplied out
 *   terms that are sums of products               computed first but for one, which adds them where it is written; of
 *                                                 a sparse result all, which are merged
 *   a sum over more sparse operands than merge    some terms at a time (crowd.c)
 *   a function of what is gathered at entries     of values that are gathered first, all of them (sampled.c)
 *   a function of dense operands                  computed first, where entries would ask for it again (pointwise.c)
 *   results over one sparse operand               each by itself, where they want it in several layouts
 *
 * Each of the few ways that are left is told to the scheduler, and its costs decide. Sums are taken apart only where +
 * and * distribute, so steps compute what one step does. A temporary that is dense has zeros where the program has
 * no term; they make a NaN of an infinity that the program never meets, so a step says which operands are such
 * (`holes`), and who runs it looks whether all stays finite. */
#include <math.h>
#include <stdio.h>

#include "private.h"

#define WHOLE_TIE 1.1 /* what steps must gain over one nest, but for functions that are taken first */
#define INSIDE_TIE .3 /* the same of a factor that is summed first: more may meet than is known */
#define FAR 20        /* one nest of more than so many times the least rough cost is not looked at */
#define CLOSE 1.2 /* where one nest is the least, others of more than so many times that are not looked at */
#define NEAR 4    /* an order of contraction of more than so many times the least is not looked at */

/* ---- one product ---- */
typedef struct {
    Planner *pl;
    Product x;
    Part part[MAXFACTOR];
    bool turned;
    bool many;   /* more than two factors have indices: what is formed first may be rounded (step.c) */
    double most; /* what all steps of the path may take until the tree is out of question */
} Taken;

/* The factor of a node, with steps for all that is inside; false where one has none, or they take too long. */
static bool take_node(Taken *t, const Tree *node, Part *out);

/* The product of the kids of a node, summed but for what is kept. */
static Expr *take_kids(Taken *t, const Tree *node, uint32_t kept)
{
    Part part[MAXFACTORS];
    uint32_t vars = 0;
    for (int k = 0; k < node->n; k++)
        if (!take_node(t, node->kid[k], &part[k])) return NULL;
    for (int k = 0; k < node->n; k++) vars |= expr_free(part[k].e);
    return expr_reduce(t->pl->p, O_ADD, vars & ~kept, expr_product(t->pl->p, node->n, part));
}

static bool take_node(Taken *t, const Tree *node, Part *out)
{
    if (node->leaf >= 0) {
        *out = t->part[node->leaf];
        return true;
    }
    Expr *e = take_kids(t, node, node->size.vars);
    t->pl->factor = t->many;
    if (e) e = taken_first(t->pl, e, node->size.vars, node->size.sparse, t->turned, node->size.entries);
    t->pl->factor = false;
    *out = (Part){e, false};
    return e && t->pl->path->cost <= t->most;
}

static bool is_flat(const Tree *t)
{
    for (int k = 0; k < t->n; k++)
        if (t->kid[k]->leaf < 0) return false;
    return true;
}

typedef struct {
    double cost; /* nanoseconds */
    const Tree *tree;
    bool turned;
} Costed;

typedef struct {
    Costed best, next; /* of two trees; null where there is none */
} Cheapest;

static const char *tree_text(const Taken *t, const Tree *tree)
{
    Expr *factor[MAXFACTORS];
    sc_text text = prog_text(t->pl->p);
    for (int k = 0; k < t->x.n; k++) factor[k] = t->part[k].e;
    sc_text_add(&text, "path");
    tree_print(tree, factor, &text);
    return text.s;
}

static void note_tree(Taken *t, const Tree *tree)
{
    Planner *pl = t->pl;
    pl->tree = sc_arena_printf(&pl->p->arena, "%s%s%s", pl->tree, *pl->tree ? " " : "", tree_text(t, tree));
}

static void note_next(Taken *t, const Cheapest *c)
{
    Planner *pl = t->pl;
    if (!c->next.tree) return;
    const char *tree = is_flat(c->next.tree) ? "one step" : tree_text(t, c->next.tree);
    pl->next = sc_arena_printf(&pl->p->arena, "%s%s%s, %.1f us more", pl->next, *pl->next ? "; " : "", tree,
                               (c->next.cost - c->best.cost) / 1000);
}

/* One nest wins near ties with the steps of another tree. */
static bool is_cheaper(const Costed *a, const Costed *b)
{
    if (!b->tree) return true;
    return a->cost * (is_flat(a->tree) ? 1 : WHOLE_TIE) < b->cost * (is_flat(b->tree) ? 1 : WHOLE_TIE);
}

static void compare(Cheapest *c, Costed x)
{
    if (is_cheaper(&x, &c->best)) {
        if (c->best.tree != x.tree) c->next = c->best;
        c->best = x;
    } else if (x.tree != c->best.tree && is_cheaper(&x, &c->next)) {
        c->next = x;
    }
}

/* Asks what the assignment, or the sum by itself, costs by this tree, with dense temporaries turned or not (taken.c). */
static void look_closely(Taken *t, const Tree *tree, bool turned, const Assign *a, int result, Cheapest *c)
{
    Planner *pl = t->pl;
    const Point m = step_mark(pl);
    t->turned = turned;
    t->most = c->next.tree ? m.cost + c->next.cost : INFINITY;
    Expr *sum = take_kids(t, tree, t->x.kept);
    const bool fits = sum && (a ? step_add(pl, 1, &(Assign){a->lhs, a->reduce, sum}, &result)
                                : taken_first(pl, sum, t->x.kept, false, false, 0) != NULL);
    const double cost = pl->path->cost - m.cost;
    step_rewind(pl, m);
    if (fits) compare(c, (Costed){cost, tree, turned});
}

/* The sum by the cheapest tree, as the scheduler says. Null: it stays as it is, which wins near ties. */
static Expr *take_cheapest(Taken *t, int n, const CostedTree *found, const Tree *flat, const Assign *a,
                           int result)
{
    Cheapest c = {0};
    if (flat) look_closely(t, flat, false, a, result, &c);
    for (int k = 0; k < n; k++)
        for (int turned = 0; turned < 2; turned++)
            if (!is_flat(found[k].tree) && found[k].cost <= NEAR * found[0].cost)
                look_closely(t, found[k].tree, turned, a, result, &c);
    if (!c.best.tree || is_flat(c.best.tree)) return NULL;
    t->turned = c.best.turned;
    t->most = INFINITY;
    note_tree(t, c.best.tree);
    note_next(t, &c);
    return take_kids(t, c.best.tree, t->x.kept);
}

static int like_factor(const Taken *t, const Assign *a)
{
    const Tensor *like = a ? a->lhs->tensor->like : NULL;
    for (int k = 0; like && k < t->x.n; k++)
        if (t->part[k].e->op == O_ACCESS && t->part[k].e->tensor == like) return k;
    return -1;
}

/* A sum of a product, in the cheapest order; a: the assignment whose right side it is, or null. */
static Expr *take_product(Planner *pl, Expr *e, const Assign *a, int result, const char *asked)
{
    CostedTree tree[MAXTREES], flat;
    Expr *factor[MAXFACTORS];
    Taken *t = NEW(pl->p, Taken);
    *t = (Taken){.pl = pl, .most = INFINITY};
    t->x = (Product){.p = pl->p, .kept = expr_free(e)};
    t->x.n = expr_factors(pl->p, e->kid[0], t->part);
    if (t->x.n < 3 || t->x.n > MAXFACTORS) return e;
    int indexed = 0;
    for (int k = 0; k < t->x.n; k++) {
        factor[k] = t->part[k].e;
        indexed += expr_free(factor[k]) != 0;
        t->x.factor[k] = tree_size(pl->p, factor[k]);
        if (expr_has(factor[k], O_REDUCE)) return e;
    }
    t->many = indexed > 2;
    t->x.sparse = a && !sc_format_is_dense(&pl->p->ask[result]);
    t->x.like = like_factor(t, a);
    if (t->x.sparse && a->lhs->tensor->like && t->x.like < 0) return e;
    if (asked) {
        const Tree *own = wish_tree(&t->x, factor, asked);
        pl->heard |= own != NULL;
        if (!own || is_flat(own)) return e;
        note_tree(t, own);
        Expr *sum = take_kids(t, own, t->x.kept);
        return sum ? sum : e;
    }
    common_find(pl, &t->x, t->part, e);
    const int n = tree_search(&t->x, tree, &flat);
    if (!n || (is_flat(tree[0].tree) && (n == 1 || tree[1].cost > CLOSE * tree[0].cost))) return e;
    const double far = __builtin_popcount(expr_vars(e)) <= MAXWHOLE ? FAR : CLOSE;
    const bool whole = flat.cost <= far * tree[0].cost;
    if (!whole) flat.tree = NULL;
    Expr *sum = take_cheapest(t, n, tree, flat.tree, a, result);
    return sum ? sum : e;
}

/* ---- functions ---- */
/* e, with those of dense operands computed first. */
static Expr *take_pointwise(Planner *pl, Expr *e)
{
    for (Expr *f = pointwise_find(pl->p, e); f; f = pointwise_find(pl->p, e)) {
        Expr *t = taken_first(pl, f, expr_vars(f), false, false, 0);
        if (!t) break;
        e = expr_replace(pl->p, e, f, t);
    }
    return e;
}

/* How often f stands in e. */
static int count(const Expr *e, const Expr *f)
{
    if (expr_equal(e, f)) return 1;
    return (e->kid[0] ? count(e->kid[0], f) : 0) + (e->kid[1] ? count(e->kid[1], f) : 0);
}

/* The step t = stored(m) * e, in the structure of m, whose cost so many share; null where there is none. */
static Expr *take_sampled(Planner *pl, const Expr *m, Expr *e, int takers)
{
    Prog *p = pl->p;
    Expr *there = expr_new(p, O_STORED, expr_access(p, m->tensor, m->ix), NULL);
    Expr *value = path_is_sum(e) ? expr_reduce(p, O_ADD, e->vars, expr_new(p, O_MUL, there, e->kid[0]))
                                 : expr_new(p, O_MUL, there, e);
    Expr *taken = taken_find(pl, value);
    if (taken) return taken;
    Tensor *t = step_temporary(pl, m->ix, m->tensor->ndim, true, tree_size(p, m).entries);
    return taken_as(pl, t, m->ix, value, takers);
}

/* e, with functions beside sparse factors computed first, and their arguments before them (sampled.c). */
static Expr *take_functions(Planner *pl, Expr *e)
{
    Part part[MAXFACTOR];
    Prog *p = pl->p;
    if (e->op == O_CONST || e->op == O_ACCESS || e->op == O_STORED) return e;
    if (e->op != O_MUL && e->op != O_DIV) {
        Expr *a = take_functions(pl, e->kid[0]);
        return expr_with_kids(p, e, a, e->kid[1] ? take_functions(pl, e->kid[1]) : NULL);
    }
    const int n = expr_factors(p, e, part);
    const Sampled s = sampled_find(n, part);
    if (s.factor < 0) return e;
    Expr **f = &part[s.factor].e;
    int takers = 0;
    for (int a = 0; a < p->nassign; a++) takers += count(p->assign[a].rhs, *f);
    takers = takers ? takers : 1;
    Expr *of = take_sampled(pl, s.m, s.of, takers);
    Expr *all = of ? take_sampled(pl, s.m, expr_replace(p, *f, s.of, of), takers) : NULL;
    if (!all) return e;
    *f = all;
    return expr_product(p, n, part);
}

/* ---- one right side ---- */
static Expr *take_apart(Planner *, Expr *, const Assign *, int result, const char *asked);

/* sum((a + b) * x) as sum(a * x) + sum(b * x), where a and b are sparse: then the loops of each sum run in one operand.
 * The sum as it is, where there is no such factor. */
static Expr *distribute(Planner *pl, Expr *e)
{
    Part part[MAXFACTOR], term[MAXFACTOR];
    Prog *p = pl->p;
    const int n = expr_factors(p, e->kid[0], part);
    for (int k = 0; k < n; k++) {
        if (part[k].under || (part[k].e->op != O_ADD && part[k].e->op != O_SUB)) continue;
        const uint32_t vars = expr_free(part[k].e);
        const int m = expr_terms(p, part[k].e, term);
        bool all = m > 1 && n > 1;
        for (int q = 0; q < m; q++)
            all &= term[q].e->op == O_ACCESS && path_has_sparse(term[q].e) && expr_free(term[q].e) == vars;
        for (int q = 0; q < m && all; q++) {
            part[k].e = term[q].e;
            term[q].e = expr_reduce(p, O_ADD, e->vars, expr_product(p, n, part));
        }
        if (all) return expr_sum(p, m, term);
    }
    return e;
}

/* Indices of a sum that the sparse factor k alone has, where it meets entries of another, or shares nothing. */
static uint32_t own_indices(const Prog *p, uint32_t summed, int n, const Part *part, int k)
{
    uint32_t others = 0;
    bool met = false;
    const Size s = tree_size(p, part[k].e);
    for (int q = 0; q < n; q++) {
        if (q == k) continue;
        others |= expr_free(part[q].e);
        met |= path_has_sparse(part[q].e) && expr_free(part[q].e) & s.vars;
    }
    met |= n > 1 && !(s.vars & ~summed) && !(s.vars & others);
    const uint32_t own = s.vars & summed & ~others, kept = s.vars & ~own;
    return s.sparse && met && tree_cells(p, kept) <= MAXCELLS ? own : 0;
}

/* A sum of a product with what is summed over indices that one sparse factor alone has written around that factor. */
static Expr *sums_inside(Prog *p, Expr *e)
{
    Part part[MAXFACTOR];
    if (!path_is_sum(e) || !path_is_product(e)) return e;
    uint32_t left = e->vars;
    const int n = expr_factors(p, e->kid[0], part);
    for (int k = 0; k < n; k++) {
        const uint32_t own = own_indices(p, e->vars, n, part, k);
        part[k].e = expr_reduce(p, O_ADD, own, part[k].e);
        left &= ~own;
    }
    return left == e->vars ? e : expr_reduce(p, O_ADD, left, expr_product(p, n, part));
}

/* Whether that is done: a sparse result must say where there is a term. */
static bool has_sums_inside(Prog *p, const Assign *a)
{
    return sc_format_is_dense(&p->ask[path_result(p, (int)(a - p->assign))]) &&
           sums_inside(p, a->rhs) != a->rhs;
}

/* The sum or product, after the factors that have a sum inside are computed first. */
static Expr *take_factors(Planner *pl, Expr *e, const char *asked)
{
    Part part[MAXFACTOR];
    const bool sum = path_is_sum(e);
    const int n = expr_factors(pl->p, sum ? e->kid[0] : e, part);
    bool any = false;
    for (int k = 0; k < n; k++) {
        if (!expr_has(part[k].e, O_REDUCE)) continue;
        Expr *f = take_apart(pl, part[k].e, NULL, -1, asked);
        Expr *t = taken_first(pl, f, expr_free(f), false, false, 0);
        if (t) part[k].e = t, any = true;
    }
    if (!any) return e;
    Expr *body = expr_product(pl->p, n, part);
    return sum ? expr_reduce(pl->p, O_ADD, e->vars, body) : body;
}

/* A sum of a product that by itself is sparse, of all indices of a sparse result. */
static bool is_sparse_sum(const Prog *p, const Expr *e, uint32_t kept)
{
    const Size s = tree_size(p, e);
    return path_is_sum(e) && s.sparse && s.vars == kept;
}

static bool has_sparse_term(Prog *p, Expr *e)
{
    Part part[MAXFACTOR];
    const int n = e->op == O_ADD || e->op == O_SUB ? expr_terms(p, e, part) : 0;
    bool any = false;
    for (int k = 0; k < n; k++) any |= is_sparse_sum(p, part[k].e, expr_free(e));
    return any;
}

/* The terms of a sparse result that are such sums computed first: what they make and the other terms are merged, which
 * takes less than to merge while a sum is held in a workspace. */
static Expr *take_sparse_terms(Planner *pl, Expr *e)
{
    Part part[MAXFACTOR];
    const int n = expr_terms(pl->p, e, part);
    const uint32_t kept = expr_free(e);
    for (int k = 0; k < n; k++) {
        if (!is_sparse_sum(pl->p, part[k].e, kept)) continue;
        Expr *t = taken_first(pl, part[k].e, kept, true, false, tree_entries(pl->p, part[k].e));
        if (t) part[k].e = t;
    }
    return expr_sum(pl->p, n, part);
}

/* All terms that are sums of products computed first, but for one that adds the others. */
static Expr *take_terms(Planner *pl, Expr *e, const Assign *a, int result, const char *asked)
{
    Part part[MAXFACTOR];
    const int n = expr_terms(pl->p, e, part);
    for (int k = 0; k < n; k++)
        if (expr_has(part[k].e, O_REDUCE)) part[k].e = take_apart(pl, part[k].e, NULL, -1, asked);
    return terms_first(pl, n, part, asked ? NULL : a, result);
}

static Expr *take_apart(Planner *pl, Expr *e, const Assign *a, int result, const char *asked)
{
    if (a && !asked && crowd_is(pl->p, e)) return crowd_take(pl, e);
    if (!expr_has(e, O_REDUCE)) return e;
    if (path_is_sum(e)) {
        const bool dense = a && sc_format_is_dense(&pl->p->ask[result]);
        Expr *terms = dense ? distribute(pl, e) : e;
        if (terms != e) return take_terms(pl, terms, a, result, asked);
        e = expr_flatten(pl->p, e);
        if (dense && !asked) e = sums_inside(pl->p, e);
        e = take_factors(pl, e, asked);
        return path_is_sum(e) ? take_product(pl, e, a, result, asked) : e;
    }
    if (e->op == O_REDUCE) return e;
    if (a && !asked && !sc_format_is_dense(&pl->p->ask[result]) && has_sparse_term(pl->p, e))
        return take_sparse_terms(pl, e);
    if (e->op == O_ADD || e->op == O_SUB) return take_terms(pl, e, a, result, asked);
    Expr *x = take_apart(pl, e->kid[0], NULL, -1, asked);
    return expr_with_kids(pl->p, e, x, e->kid[1] ? take_apart(pl, e->kid[1], NULL, -1, asked) : NULL);
}

/* ---- the program ---- */
/* Whether e has what is_rich() looks for; *sums counts the sums of products that were seen so far. */
static bool has_more(Prog *p, Expr *e, int *sums)
{
    Part part[MAXFACTOR];
    if (library_may_multiply(p, e)) return true;
    if (e->op == O_STORED) return false;
    if ((e->op == O_MUL || e->op == O_DIV) && sampled_find(expr_factors(p, e, part), part).factor >= 0)
        return true;
    if (path_is_sum(e)) {
        const int n = expr_factors(p, e->kid[0], part);
        if (n > 2 || expr_has(e->kid[0], O_REDUCE)) return true;
        if (n == 2 && path_has_sparse(e) && (expr_has(e, O_ADD) || expr_has(e, O_SUB))) return true;
        return ++*sums > 1 && path_has_sparse(e);
    }
    return (e->kid[0] && has_more(p, e->kid[0], sums)) || (e->kid[1] && has_more(p, e->kid[1], sums));
}

/* Several steps may be better than one nest: for a sum of three factors, sums inside of sums, several sums, a sum of
 * sparse operands that distributes, a dense product that a library takes, or a function or a sum that is computed first. */
static bool is_rich(Prog *p, const Assign *a)
{
    int sums = 0;
    return has_more(p, a->rhs, &sums) || crowd_is(p, a->rhs) || pointwise_find(p, a->rhs) ||
           has_sparse_term(p, a->rhs) || has_sums_inside(p, a);
}

/* Adds the steps of an assignment and its temporaries; false where it is best taken in one step with others. */
static bool take_assign(Planner *pl, const Assign *a, int result, const char *asked)
{
    const Point m = step_mark(pl);
    pl->lhs = a->lhs;
    Expr *first = asked ? a->rhs : take_pointwise(pl, a->rhs),
         *entries = asked ? first : take_functions(pl, first);
    Expr *e = take_apart(pl, entries, a, result, asked);
    const bool any = e != a->rhs;
    if (!any && library_may_multiply(pl->p, a->rhs) && step_add(pl, 1, a, &result) &&
        pl->path->step[m.n]->dense.is)
        return true;
    if (!any) step_rewind(pl, m);
    if (any && step_add(pl, 1, &(Assign){a->lhs, a->reduce, e}, &result)) {
        const double steps = pl->path->cost - m.cost;
        const Point end = step_mark(pl);
        double whole = -1;
        const bool inside = has_sums_inside(pl->p, a);
        const bool compared =
            entries == a->rhs && path_is_sum(a->rhs) && !expr_has(a->rhs->kid[0], O_REDUCE) && !inside;
        if (!asked && !pl->nwish && !compared && __builtin_popcount(expr_vars(a->rhs)) <= MAXNESTED &&
            step_add(pl, 1, a, &result)) {
            whole = pl->path->cost - end.cost;
            step_rewind(pl, end);
        }
        const double tie = inside       ? INSIDE_TIE
                           : e == first ? 1
                                        : terms_tie(pl->p, a, result, end.n - m.n, WHOLE_TIE);
        if (whole < 0 || steps * tie < whole) return true;
    }
    step_rewind(pl, m);
    return false;
}

/* "path()", with blanks anywhere. */
static bool is_one_step(const char *asked)
{
    int n = 0;
    sscanf(asked, " path ( ) %n", &n);
    return n && !asked[n];
}

static _Noreturn void refuse(Prog *p, const char *asked)
{
    fail(p, SC_EVALUE, -1,
         "schedule: %s is no order of contraction of a sum here: expected every factor of a product of three "
         "or more "
         "once, as in path((A B) C), or path() for one step",
         asked);
}

/* Every step that a user speaks of is there. */
static void check_wishes(const Planner *pl, bool all)
{
    for (int w = 0; w < pl->nwish; w++) {
        const StepWish *x = &pl->wish[w];
        bool heard = false;
        for (int k = 0; all && k < pl->path->n; k++) heard |= step_heeds(pl->path->step[k], x->operand);
        if (!heard && pl->refused) fail(pl->p, SC_EVALUE, -1, "%s", pl->refused);
        if (!heard)
            fail(pl->p, SC_EVALUE, -1,
                 "schedule: expected an operand that a step reads and no other operand with a schedule, got "
                 "%s: explain says without a schedule which steps there are",
                 x->operand);
    }
}

/* A sparse operand that both read. */
static bool share_sparse(const Prog *p, const Expr *a, const Expr *b)
{
    bool any = false;
    for (int k = 0; k < p->nin; k++)
        any |= !sc_format_is_dense(&p->tensor[k]->format) && expr_reads(a, p->tensor[k]) &&
               expr_reads(b, p->tensor[k]);
    return any;
}

/* Several assignments over the same sparse operand: each may want it in a layout of its own, and one step has one layout
 * of it. */
static bool may_go_apart(const Prog *p, int from, int to)
{
    bool shared = false;
    for (int a = from; a < to; a++)
        for (int b = a + 1; b < to; b++) shared |= share_sparse(p, p->assign[a].rhs, p->assign[b].rhs);
    return shared;
}

/* Assignments as one step, or each as a step where that is cheaper. */
static bool add_range(Planner *pl, int from, int to, bool plans)
{
    if (!plans || !may_go_apart(pl->p, from, to)) return step_add_range(pl, from, to);
    const Point m = step_mark(pl);
    const double whole = step_add_range(pl, from, to) ? pl->path->cost - m.cost : INFINITY;
    step_rewind(pl, m);
    bool each = true;
    for (int a = from; a < to; a++) each = each && step_add_range(pl, a, a + 1);
    if (each && (pl->path->cost - m.cost) * WHOLE_TIE < whole) return true;
    step_rewind(pl, m);
    return step_add_range(pl, from, to);
}

/* All assignments as steps; plans: sums are taken apart where that pays. False where there is nothing to take apart, or
 * the scheduler has no nest for a step. */
static bool take_all(Planner *pl, bool plans, const char *asked)
{
    const Prog *p = pl->p;
    int from = 0;
    for (int a = 0; a < p->nassign; a++) {
        const bool cut = in(p->apart, a);
        if (cut && !add_range(pl, from, a, plans)) return false;
        if (cut) from = a;
        const Point m = step_mark(pl);
        if (!plans || !is_rich(pl->p, &p->assign[a])) continue;
        if (!add_range(pl, from, a, plans)) return false;
        if (take_assign(pl, &p->assign[a], path_result(p, a), asked))
            from = a + 1;
        else
            step_rewind(pl, m);
    }
    return add_range(pl, from, p->nassign, plans) && (from || pl->path->n > 1);
}

const Path *path_find(Prog *p, const char *asked, const Costs *costs)
{
    Planner *pl = NEW(p, Planner);
    const bool steps = path_asks_steps(asked);
    bool rich = false, whole = asked && is_one_step(asked);
    for (int a = 0; a < p->nassign; a++) rich |= is_rich(p, &p->assign[a]);
    const bool apart = !asked && may_go_apart(p, 0, p->nassign);
    if (steps && (!rich || p->skip))
        fail(p, SC_EVALUE, -1, "schedule: expected a program in steps, got one of one nest: leave out '%s'",
             asked);
    if (!rich && asked && !whole) refuse(p, asked);
    if (p->skip || (!p->apart && (whole || !(rich || apart)))) return NULL;
    *pl = (Planner){.p = p, .costs = costs, .path = NEW(p, Path), .tree = "", .next = ""};
    pl->path->nvalue = p->nin;
    const Point start = step_mark(pl);
    for (int a = 0; a < p->nassign; a++) common_collect(pl, p->assign[a].rhs);
    if (steps) wish_steps(pl, asked);
    bool all = take_all(pl, !whole, steps ? NULL : asked);
    check_wishes(pl, all);
    if (asked && !steps && !whole && !pl->heard) refuse(p, asked);
    if (!all && p->apart) {
        step_rewind(pl, start);
        pl->must = true;
        all = take_all(pl, false, NULL);
    }
    if (!all && p->apart && pl->stays) { /* one nest, which converts the operand and puts the result back */
        p->apart = 0;
        path_check_whole(p);
        return NULL;
    }
    if (!all && p->apart)
        fail(p, SC_ENOTIMPL, -1,
             "a program that reads its sparse results takes more than %d steps, or tensors", MAXPATHSTEP);
    if (!all) return NULL;
    pl->path->tree = pl->tree;
    pl->path->next = pl->next;
    return pl->path;
}
