/* tree.c: the orders of contraction of one product.
 *
 * A product of factors, summed over the indices that nothing else has, may be taken factor by factor: every subset of
 * the factors has a sum of its own, over the indices that are not needed outside of it. Dynamic programming over the
 * subsets keeps the cheapest way to each, once as a dense tensor and once as a sparse one. A node joins two parts; a
 * sparse factor and two others (a sampled product); or all of its factors at once. What a node takes is a
 * rough estimate from sizes, which assumes that entries fall anywhere, but more where others do: it decides what is
 * looked at, the scheduler decides what is taken. */
#include <math.h>
#include <string.h>

#include "private.h"

/* ---- sizes ---- */
double tree_cells(const Prog *p, uint32_t vars)
{
    double n = 1;
    for (int v = 0; v < p->nvar; v++)
        if (in(vars, v)) n *= fmax(1, (double)p->var[v].extent);
    return n;
}

/* How many of n cells have an entry, where entries fall into them at random. */
static double distinct(double n, double entries) { return n * -expm1(-entries / n); }

static double entries_of(const Tensor *t)
{
    double n = 1;
    for (int d = 0; d < t->ndim; d++) n *= fmax(1, (double)t->extent[d]);
    const int known = t->format.nlevel ? t->positions[t->format.nlevel - 1] : 0;
    return known ? fmin(n, ldexp(.75, known)) : fmax(1, n / 100);
}

static double sum_of_entries(const Expr *e)
{
    if (e->op == O_ACCESS) return sc_format_is_dense(&e->tensor->format) ? 0 : entries_of(e->tensor);
    return (e->kid[0] ? sum_of_entries(e->kid[0]) : 0) + (e->kid[1] ? sum_of_entries(e->kid[1]) : 0);
}

static double spread_of(const Expr *e)
{
    if (e->op == O_ACCESS) return tensor_spread(e->tensor);
    return fmax(e->kid[0] ? spread_of(e->kid[0]) : 0, e->kid[1] ? spread_of(e->kid[1]) : 0);
}

Size tree_size(const Prog *p, const Expr *e)
{
    Size s = {.vars = expr_free(e)};
    s.sparse = path_has_sparse(e) && s.vars && !(s.vars & ~path_covered(p, e));
    if (s.sparse && e->op == O_ACCESS) s.twin = e->tensor->twin ? e->tensor->twin : e->tensor->arg + 1;
    s.spread = s.sparse ? spread_of(e) : 0;
    if (s.sparse && e->op == O_ACCESS) s.rows = 1u << tensor_level_index(e->tensor, 0).var;
    s.entries = s.sparse ? fmin(tree_cells(p, s.vars), sum_of_entries(e)) : tree_cells(p, s.vars);
    return s;
}

/* Times in nanoseconds: a multiply-add in a dense product, in vectors at an entry, and of single numbers; an entry that
 * is walked, merged with another, appended; an element that is read, or written; a step that is started. */
static const double dense_flop = .06, vector_flop = .12, number_flop = 1, walked = .6, met = 6, appended = 6,
                    read = .1, written = .4, started = 2000;

/* Its entries are those of one in front. */
static bool is_met(Size *const *part, int k)
{
    bool again = false;
    for (int q = 0; q < k; q++)
        again |= part[k]->twin && part[q]->twin == part[k]->twin && part[q]->vars == part[k]->vars;
    return again;
}

/* Entries of the next sparse part for one of those in front: of what is held of its indices it has few coordinates, but
 * those that others have, and some that nobody counted may have many. tilt: of each index, the spreads of what is held. */
static double entries_met(const Prog *p, const Size *s, uint32_t held, double *tilt)
{
    const uint32_t by = s->vars & held;
    double each = s->entries / tree_cells(p, by), together = 0;
    for (int v = 0; v < p->nvar; v++) {
        if (!in(s->vars, v)) continue;
        together += s->spread * tilt[v];
        tilt[v] += s->spread;
    }
    const bool uncounted = s->rows && by && !(by & s->rows);
    const double even = each * exp(together);
    return fmin(uncounted ? fmax(even, fmin(UNCOUNTED, s->entries)) : even, tree_cells(p, s->vars & ~held));
}

double tree_node_cost(const Product *x, int n, Size *const *part, uint32_t kept, bool sparse, Size *out)
{
    const Prog *p = x->p;
    uint32_t all = 0, held = 0;
    double join = 1, most = 1, time = started, spread = 0, tilt[SC_MAXVAR] = {0};
    int nsparse = 0;
    for (int k = 0; k < n; k++) {
        const Size *s = part[k];
        all |= s->vars;
        if (!s->sparse) time += s->entries * read;
        if (!s->sparse) continue;
        if (is_met(part, k)) continue;
        join *= entries_met(p, s, held, tilt);
        spread = fmax(spread, s->spread);
        most = fmax(most, join);
        held |= s->vars;
        nsparse++;
    }
    const double row = tree_cells(p, all & ~held), pattern = nsparse ? tree_cells(p, kept & held) : 1;
    out->vars = kept;
    out->sparse = sparse;
    out->spread = sparse ? spread : 0;
    out->entries = (sparse ? fmax(1, distinct(pattern, join)) : pattern) * tree_cells(p, kept & ~held);
    time += most * row * (!nsparse ? dense_flop : row >= 8 ? vector_flop : number_flop);
    time += nsparse ? most * (nsparse > 1 ? met : walked) : 0;
    return time + out->entries * (sparse ? appended : written);
}

double tree_entries(Prog *p, Expr *e)
{
    Part part[MAXFACTOR];
    Size factor[MAXFACTORS], *at[MAXFACTORS], out;
    const int n = path_is_sum(e) ? expr_factors(p, e->kid[0], part) : 0;
    if (!n || n > MAXFACTORS) return sum_of_entries(e);
    for (int k = 0; k < n; k++) factor[k] = tree_size(p, part[k].e), at[k] = &factor[k];
    tree_node_cost(&(Product){.p = p}, n, at, expr_free(e), true, &out);
    return out.entries;
}

uint32_t tree_kept(const Product *x, uint32_t inside)
{
    uint32_t mine = 0, others = x->kept;
    for (int k = 0; k < x->n; k++) *(in(inside, k) ? &mine : &others) |= x->factor[k].vars;
    return mine & others;
}

/* ---- subsets ---- */
typedef struct {
    const Product *x;
    CostedTree best[1 << MAXFACTORS][2]; /* of each subset: dense, sparse; infinite where there is none */
    CostedTree root[MAXTREES], flat;
    int nroot;
    double room; /* elements of a dense temporary, at most */
    /* the node that is being looked at */
    uint32_t subset;
    bool is_root;
} TreeSearch;

static void keep_root(TreeSearch *s, double cost, Tree *tree)
{
    int k = s->nroot < MAXTREES ? s->nroot++ : MAXTREES;
    while (k > 0 && cost < s->root[k - 1].cost) {
        if (k < MAXTREES) s->root[k] = s->root[k - 1];
        k--;
    }
    if (k < MAXTREES) s->root[k] = (CostedTree){cost, tree};
    if (tree->n == s->x->n) s->flat = (CostedTree){cost, tree};
}

static Tree *tree_of(TreeSearch *s, int n, CostedTree *const *part, Size size)
{
    Tree *t = NEW(s->x->p, Tree);
    *t = (Tree){.leaf = -1, .size = size, .n = n};
    for (int k = 0; k < n; k++) {
        t->kid[k] = part[k]->tree;
        t->holes |= !size.sparse && (t->kid[k]->size.sparse || t->kid[k]->holes);
    }
    return t;
}

/* The parts, each in one of its forms, as a node of this form. */
static void consider_forms(TreeSearch *s, int n, CostedTree *const *part, bool sparse)
{
    Size *in_size[MAXFACTORS], out;
    uint32_t held = 0;
    double cost = 0;
    const uint32_t kept = tree_kept(s->x, s->subset);
    for (int k = 0; k < n; k++) {
        in_size[k] = &part[k]->tree->size;
        cost += part[k]->cost;
        if (in_size[k]->sparse) held |= in_size[k]->vars;
        if (s->is_root && sparse && part[k]->tree->holes) return; /* it would not say what is stored */
    }
    if (!s->is_root && sparse && (kept & ~held || __builtin_popcount(kept) < 2)) return;
    if (!s->is_root && !sparse && tree_cells(s->x->p, kept) > s->room) return;
    cost += tree_node_cost(s->x, n, in_size, kept, sparse, &out);
    if (!s->is_root) cost /= fmax(1, s->x->takers[s->subset]);
    if (!s->is_root && s->x->made[s->subset]) cost = 0;
    CostedTree *b = &s->best[s->subset][sparse];
    const bool better =
        s->is_root ? s->nroot < MAXTREES || cost < s->root[MAXTREES - 1].cost : cost < b->cost;
    if (!better) return;
    Tree *t = tree_of(s, n, part, out);
    if (s->is_root)
        keep_root(s, cost, t);
    else
        *b = (CostedTree){cost, t};
}

static void consider(TreeSearch *s, int n, const uint32_t *set)
{
    bool has_like = s->x->like < 0;
    for (int k = 0; k < n && !has_like; k++) has_like = set[k] == 1u << s->x->like;
    if (s->is_root && !has_like) return;
    for (uint32_t forms = 0; forms < 1u << n; forms++) {
        CostedTree *part[MAXFACTORS];
        bool all = true;
        for (int k = 0; k < n; k++) {
            part[k] = &s->best[set[k]][in(forms, k)];
            all &= isfinite(part[k]->cost) != 0;
        }
        if (!all) continue;
        if (s->is_root)
            consider_forms(s, n, part, s->x->sparse);
        else
            for (int sparse = 0; sparse < 2; sparse++) consider_forms(s, n, part, sparse);
    }
}

/* All factors of the subset at once: always of the whole, else where one of them is sparse at most. */
static void consider_flat(TreeSearch *s)
{
    uint32_t set[MAXFACTORS];
    int n = 0, nsparse = 0;
    for (int k = 0; k < s->x->n; k++) {
        if (!in(s->subset, k)) continue;
        set[n++] = 1u << k;
        nsparse += s->x->factor[k].sparse;
    }
    if (n > 2 && (s->is_root || nsparse < 2)) consider(s, n, set);
}

/* One of the parts is a sparse factor in front of f: then the same three were considered with that one first. */
static bool comes_again(const TreeSearch *s, int f, uint32_t a, uint32_t b)
{
    bool again = false;
    for (int k = 0; k < f; k++) again |= s->x->factor[k].sparse && (a == 1u << k || b == 1u << k);
    return again;
}

static void consider_splits(TreeSearch *s)
{
    const uint32_t all = s->subset, lowest = all & -all;
    for (uint32_t a = (all - 1) & all; a; a = (a - 1) & all) {
        if (a & lowest) consider(s, 2, (uint32_t[]){a, all & ~a});
    }
    for (int f = 0; f < s->x->n; f++) {
        const uint32_t rest = all & ~(1u << f), first = rest & -rest;
        if (!in(all, f) || !s->x->factor[f].sparse || __builtin_popcount(rest) < 2) continue;
        for (uint32_t a = (rest - 1) & rest; a; a = (a - 1) & rest)
            if (a & first && !comes_again(s, f, a, rest & ~a) && (__builtin_popcount(all) > 3 || !s->is_root))
                consider(s, 3, (uint32_t[]){1u << f, a, rest & ~a});
    }
}

static void leaves(TreeSearch *s)
{
    for (int set = 0; set < 1 << s->x->n; set++) s->best[set][0].cost = s->best[set][1].cost = INFINITY;
    for (int k = 0; k < s->x->n; k++) {
        Tree *t = NEW(s->x->p, Tree);
        *t = (Tree){.leaf = k, .size = s->x->factor[k]};
        s->best[1 << k][s->x->factor[k].sparse] = (CostedTree){0, t};
    }
}

/* The largest dense temporary: MAXCELLS, or as large as the largest dense tensor of the product. */
static double room_for(const Product *x)
{
    double most = fmax(MAXCELLS, x->sparse ? 0 : tree_cells(x->p, x->kept));
    for (int k = 0; k < x->n; k++)
        if (!x->factor[k].sparse) most = fmax(most, x->factor[k].entries);
    return most;
}

int tree_search(const Product *x, CostedTree *out, CostedTree *flat)
{
    TreeSearch *s = NEW(x->p, TreeSearch);
    const uint32_t all = (1u << x->n) - 1;
    s->x = x;
    s->room = room_for(x);
    leaves(s);
    for (s->subset = 1; s->subset <= all; s->subset++) {
        if (__builtin_popcount(s->subset) < 2) continue;
        s->is_root = s->subset == all;
        consider_flat(s);
        consider_splits(s);
    }
    for (int k = 0; k < s->nroot; k++) out[k] = s->root[k];
    *flat = s->flat;
    return s->nroot;
}
