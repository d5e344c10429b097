/* settle.c: a program -> nest.
 *
 * requires  check, infer
 * sets      the draft: nest, module and plan, or formats that operands are to have; formats of results that had none
 *
 * Every assignment becomes its own kernels, one of those that schedule/search.c
 * found, in the order of the program. A temporary becomes a shared workspace,
 * filled before what reads it. What was composed is lowered at once, and where
 * that refuses it the next best is taken: a user never meets a nest that does not
 * work. The same enumeration lists all nests, as the stage "orders". */
#include "settle.h"

#include <math.h>

#include <stdlib.h>
#include <string.h>

#include "lower/lower.h"
#include "schedule/schedule.h"
#include "stmt/stmt.h"

typedef struct { /* one assignment */
    Assign a;
    const Wish *wish;
    Tensor *w; /* takes the place of a temporary */
    Search *search;
} Task;

typedef struct Choices {
    Prog *p;
    const Wish *wishes; /* one for each assignment */
    int n;              /* 0: nothing was searched, as these ask that operands are converted first */
    Task task[SC_LEN(((Prog *)0)->assign)];
    const Mark *before; /* the program as it was before the first composition */
    sc_err refused;     /* why the last composition was */
} Choices;

/* ---- lowering ---- */
void lower_nest(Prog *p)
{
    Draft *d = &p->draft;
    Nest *own = d->nest;
    d->nest = schedule_where(p, own);
    nest_verify(p, d->nest);
    lower(p);
    d->nest = own;
    stmt_verify(p, d->module);
    if (p->dots) stmt_dots(p, d->module);
    stmt_simplify(p, d->module);
    stmt_name(p, d->module);
    stmt_verify(p, d->module);
}

/* ---- trying ---- */
typedef struct {
    Prog *p;
    Nest *n;
} Lowering;

static void lower_tried(void *ctx)
{
    const Lowering *x = ctx;
    schedule_ahead(x->p, x->n);
    schedule_batch(x->n);
    schedule_vector(x->p, x->n);
    schedule_factors(x->p, x->n);
    x->p->draft.nest = schedule_widen(x->p, schedule_across(x->p, x->n));
    lower_nest(x->p);
}

static bool lowers(Prog *p, Nest *n, sc_err *refused)
{
    const int rc = prog_try(p, lower_tried, &(Lowering){p, n}, refused);
    if (rc == SC_ENOMEM) fail(p, SC_ENOMEM, -1, "out of memory while compiling");
    if (rc == SC_EINTERNAL && SC_STRICT) fail(p, rc, -1, "%s", refused->msg);
    return rc == SC_OK;
}

/* ---- composing ---- */
/* The candidates of these ranks as one nest; null where one of them cannot be built. */
static Nest *compose(const Choices *g, const int *rank)
{
    Prog *p = g->p;
    Nest *n[SC_LEN(g->task)], *rest = NULL;
    for (int k = 0; k < g->n; k++)
        if (!(n[k] = search_nest(g->task[k].search, rank[k]))) return NULL;
    for (int k = 0; k < g->n; k++) {
        sc_text_add(&p->draft.chosen, k ? "; " : "");
        search_print(g->task[k].search, rank[k], n[k], &p->draft.chosen);
        if (!k) wishes_finish(p, g->task[k].wish, &p->draft.chosen);
    }
    for (int k = g->n - 1; k >= 0; k--) {
        Tensor *w = g->task[k].w;
        Nest *one = rest ? schedule_fuse(p, n[k], w ? w : g->task[k].a.lhs->tensor, rest) : n[k];
        if (!one) one = w ? schedule_before_rest(p, n[k], w, rest) : nest_seq(p, 2, (Nest *[]){n[k], rest});
        rest = one;
    }
    return rest;
}

/* The ranks of turn t. First every assignment has its best candidate, rank 0. Then, for each rank r from 1 on, one
 * assignment after the other has rank r beside the best of the others, and in the end all have it, or their last.
 * False where turn t has no ranks; *end where no later one has any. */
static bool ranks(const Choices *g, int t, int *rank, bool *end)
{
    const int r = t ? (t - 1) / (g->n + 1) + 1 : 0, who = t ? (t - 1) % (g->n + 1) : g->n;
    bool any = false, fits = true;
    for (int k = 0; k < g->n; k++) {
        const int count = search_count(g->task[k].search);
        rank[k] = who == k || who == g->n ? r : 0;
        if (who == g->n && rank[k] >= count) rank[k] = count - 1;
        any |= r < count;
        fits &= rank[k] >= 0 && rank[k] < count;
    }
    *end = !any;
    return any && fits && !(t && g->n == 1 && who == 1);
}

static double cost_of(const Choices *g, const int *rank)
{
    double sum = 0;
    for (int k = 0; k < g->n; k++) sum += search_cost(g->task[k].search, rank[k]);
    return sum;
}

/* Composes and lowers; where that fails *p is as before. */
static Nest *try(Choices *g, const int *rank)
{
    Nest *n = compose(g, rank);
    if (n && lowers(g->p, n, &g->refused)) return g->p->draft.nest;
    prog_rewind(g->p, g->before);
    return NULL;
}

/* Operands in other formats: the program is compiled again with these, and lowered then. What is said of the choice
 * stays, what it was tried on does not. */
static void ask_conversion(Choices *g)
{
    Draft *d = &g->p->draft;
    const Draft tried = *d;
    prog_rewind(g->p, g->before);
    d->nest = tried.nest;
    d->converts = true;
    memcpy(d->convert, tried.convert, sizeof d->convert);
    d->why = tried.why, d->orders = tried.orders, d->chosen = tried.chosen;
}

static bool settle(Choices *g)
{
    int rank[SC_LEN(g->task)];
    bool end = false;
    g->before = prog_mark(g->p);
    for (int t = 0; t < MAXTRIES && !end; t++) {
        if (!ranks(g, t, rank, &end) || !try(g, rank)) continue;
        for (int k = 0; k < g->n; k++) search_explain(g->task[k].search, rank[k]);
        if (g->p->draft.converts) ask_conversion(g);
        return true;
    }
    return false;
}

/* ---- the program ---- */
static Tensor *workspace_for(Prog *p, const Expr *lhs)
{
    Tensor *w = work_new(p, lhs->tensor->name, W_SHARED);
    w->empty = lhs->tensor->empty;
    for (int d = 0; d < lhs->tensor->ndim; d++) work_slot(w, lhs->ix[d]);
    return w;
}

static bool is_open(const Tensor *t) { return t->role == T_OUT && t->ndim && !t->format.nlevel; }

/* A result that no nest can assemble, or write where its entries are, is computed dense, and delivered as asked. */
static void make_dense(Choices *g, Task *x)
{
    if (!is_open(x->a.lhs->tensor) && !tensor_shares_upper(x->a.lhs->tensor)) return;
    x->a.lhs->tensor->like = NULL;
    expr_make_dense(g->p, x->a.lhs->tensor);
    x->search = search_new(g->p, &x->a, x->wish);
}

/* The indices of reductions that nothing inside of them has. */
static uint32_t unread(const Expr *e)
{
    uint32_t vars = e->op == O_REDUCE ? e->vars & ~expr_free(e->kid[0]) : 0;
    for (int k = 0; k < 2; k++)
        if (e->kid[k]) vars |= unread(e->kid[k]);
    return vars;
}

/* Operands that say where there is a value, and indices that are reduced, stay. A sum that is 0 is gone with its
 * indices. */
static Expr *simplified(Prog *p, const Assign *a)
{
    Expr *e = expr_simplify(p, a->rhs);
    Tensor *like = a->lhs->tensor->like;
    if (p->skip || unread(e) & expr_vars(a->rhs)) return expr_zeros(p, a->rhs);
    if (e->op != O_CONST || !like) return e;
    if (a->lhs->tensor->shared < like->format.nlevel) return a->rhs;
    return expr_new(p, O_MUL, expr_stored_access(p, like), e);
}

static Search *unasked(Prog *p, const Task *x) { return search_new(p, &x->a, NEW(p, Wish)); }

/* Fails where there are nests for the assignment, though none as the user asked for. */
static void refuse(Prog *p, const Task *x, const char *why)
{
    Search *s = unasked(p, x);
    if (!search_count(s)) return;
    Nest *n = search_nest(s, 0);
    sc_text *chosen = &p->draft.chosen;
    sc_text_add(chosen, "%s", n ? "" : "nothing");
    if (n) search_print(s, 0, n, chosen);
    fail(p, SC_EVALUE, -1, "schedule: no loops for %s are as '%s' asks: %s; chosen without it: %s",
         x->a.lhs->tensor->name, p->wishes, why ? why : "none of those considered are in this order",
         chosen->s);
}

static void take_apart(Choices *g)
{
    Prog *p = g->p;
    Assign assign[SC_LEN(p->assign)];
    memcpy(assign, p->assign, sizeof assign);
    g->n = p->nassign;
    for (int k = 0; k < g->n; k++) {
        Task *x = &g->task[k];
        Tensor *t = assign[k].lhs->tensor;
        x->a = assign[k];
        x->wish = &g->wishes[k];
        x->a.rhs = expr_twins(p, &x->a);
        x->a.rhs = simplified(p, &x->a);
        /* += of what has nothing to sum is =, but where skipped points keep the identity */
        if (x->a.rhs->op == O_REDUCE || x->a.reduce == O_ADD || !p->skip) x->a.reduce = O_CONST;
        if (t->role == T_WORK) {
            x->w = workspace_for(p, x->a.lhs);
            x->a.lhs = work_access(p, x->w);
            for (int q = k + 1; q < g->n; q++) assign[q].rhs = expr_reading(p, assign[q].rhs, t, x->w);
        }
    }
    for (int k = 0; k < g->n; k++) {
        Task *x = &g->task[k];
        x->search = search_new(p, &x->a, x->wish);
        if (search_count(x->search)) continue;
        if (!p->wishes || !search_count(unasked(p, x))) make_dense(g, x);
    }
}

/* Blocks and diagonals that fit no loops, and coordinates that repeat where they must not, are converted away: levels in
 * the order that they have, without these. Returns whether there were any. */
static bool make_plain(Prog *p)
{
    bool any = false;
    for (int k = 0; k < p->nin; k++) {
        const Tensor *t = p->tensor[k];
        bool odd = source_may_repeat(t);
        if (!source_is_sparse(t)) continue;
        for (int l = 0; l < t->format.nlevel; l++)
            odd |= t->format.level[l].part != SC_WHOLE || sc_kind_walked(sc_kind_of(&t->format.level[l]));
        if (!odd) continue;
        sc_format f = {.ndim = t->ndim};
        for (int l = 0; l < t->format.nlevel; l++)
            if (t->format.level[l].part != SC_MOD) schedule_plain_level(&f, t, t->format.level[l].dim);
        p->draft.convert[k] = f;
        p->draft.converts = any = true;
    }
    return any;
}

/* Fails with the reason of a refusal. As no user asked for those loops, it is given without its prefix and the source
 * line below it. */
static void fail_unasked(Choices *g)
{
    static const char asked[] = "schedule: ";
    const char *why = g->refused.code ? g->refused.msg : NULL;
    for (int k = 0; k < g->n && !why; k++) why = search_why(g->task[k].search);
    if (!why) why = "every order reads an operand across its levels";
    if (!strncmp(why, asked, sizeof asked - 1)) why += sizeof asked - 1;
    fail(g->p, SC_ENOTIMPL, -1,
         "no loops compute %s from these formats and into this one: %.*s; convert an operand to another "
         "format, or ask "
         "for another result",
         g->task[0].a.lhs->tensor->name, (int)strcspn(why, "\n"), why);
}

/* Whether there are loops that make the results as they are to be, if nobody asks for others. */
static bool settles_unasked(const Choices *g)
{
    Choices free = *g;
    const Mark *before = prog_mark(g->p);
    for (int k = 0; k < g->n; k++) {
        free.task[k].search = unasked(g->p, &g->task[k]);
        if (!search_count(free.task[k].search)) return false;
    }
    const bool settled = settle(&free);
    prog_rewind(g->p, before);
    return settled;
}

void schedule(Prog *p)
{
    Choices *g = p->choices = NEW(p, Choices);
    g->p = p;
    g->wishes = wishes_parse(p);
    p->draft.nest = nest_seq(p, 0, NULL);
    if (wishes_convert(p, g->wishes)) {
        g->before = prog_mark(p);
        return;
    }
    take_apart(g);
    if (settle(g)) return;
    const bool heeds = p->wishes && settles_unasked(g);
    for (int k = 0; k < g->n && !heeds; k++) make_dense(g, &g->task[k]);
    if (!heeds && settle(g)) return;
    for (int k = 0; k < g->n && p->wishes; k++) {
        const bool any = search_count(g->task[k].search) > 0;
        if (!any || g->refused.code)
            refuse(p, &g->task[k], any ? g->refused.msg : search_why(g->task[k].search));
    }
    if (!p->keeps && make_plain(p)) return;
    fail_unasked(g);
}

double schedule_cost(Prog *p)
{
    Choices *g = NEW(p, Choices);
    int rank[SC_LEN(g->task)] = {0};
    g->p = p;
    g->wishes = wishes_parse(p);
    take_apart(g);
    for (int k = 0; k < g->n; k++)
        if (!search_count(g->task[k].search)) return INFINITY;
    return cost_of(g, rank);
}

/* ---- the stage "orders" ---- */
typedef struct {
    double cost;
    int turn;
    sc_text text;
} Listed;

static int by_cost(const void *a, const void *b)
{
    const Listed *x = a, *y = b;
    return x->cost != y->cost ? (x->cost < y->cost ? -1 : 1) : (x->turn > y->turn) - (x->turn < y->turn);
}

/* With the operands that it converts, and the results that it computes dense though others are delivered. */
static void print_candidate(const Prog *p, double cost, const Nest *n, sc_text *out)
{
    char format[200];
    const char *between = " converts ";
    sc_text_add(out, "-- cost %.0f", cost);
    for (int k = 0; k < p->nin; k++) {
        if (!p->draft.convert[k].nlevel) continue;
        sc_format_print(&p->draft.convert[k], format, sizeof format);
        sc_text_add(out, "%s%d to %s", between, k, format);
        between = "; ";
    }
    for (int k = 0; k < p->nassign; k++) {
        const Tensor *t = p->assign[k].lhs->tensor;
        if (t->role == T_OUT && !sc_format_is_dense(&p->ask[t->arg - p->nin]) &&
            sc_format_is_dense(&t->format))
            sc_text_add(out, " dense %s", t->name);
    }
    sc_text_add(out, "\n");
    nest_print(p, n, out);
}

static int list(Choices *g, Listed *found)
{
    int rank[SC_LEN(g->task)], n = 0;
    bool end = false;
    for (int t = 0; t < MAXTRIES && !end && n < MAXLISTED; t++) {
        Nest *nest = ranks(g, t, rank, &end) ? try(g, rank) : NULL;
        if (!nest) continue;
        found[n] = (Listed){cost_of(g, rank), t, prog_text(g->p)};
        print_candidate(g->p, found[n].cost, nest, &found[n].text);
        prog_rewind(g->p, g->before);
        bool seen = false;
        for (int k = 0; k < n; k++) seen |= !strcmp(found[k].text.s, found[n].text.s);
        n += !seen;
    }
    return n;
}

/* Searches what there will be to choose from once operands are converted as a schedule text asks. */
static void search_converted(Choices *g)
{
    Prog *p = g->p;
    for (int k = 0; k < p->nin; k++) {
        if (!p->draft.convert[k].nlevel) continue;
        cost_convert(p, p->tensor[k], &p->draft.convert[k]);
        p->tensor[k]->perm = true;
    }
    take_apart(g);
    g->before = prog_mark(p);
}

typedef struct {
    Choices *g;
    sc_text *out;
} Listing;

/* Composes and lowers what settle() chose from, from where it began. */
static void list_all(void *ctx)
{
    const Listing *x = ctx;
    Listed found[MAXLISTED];
    prog_rewind(x->g->p, x->g->before);
    if (!x->g->n) search_converted(x->g);
    const int n = list(x->g, found);
    if (n) qsort(found + 1, (size_t)n - 1, sizeof *found, by_cost);
    for (int k = 0; k < n; k++) sc_text_addn(x->out, found[k].text.s, found[k].text.n);
}

/* Whatever happens, the program is as before in the end. */
void orders_print(Prog *p, sc_text *out)
{
    if (!p->choices) {
        print_candidate(p, cost_nest(p, p->draft.nest), p->draft.nest, out);
        return;
    }
    sc_err why = {0};
    const Mark *now = prog_mark(p);
    const int rc = prog_try(p, list_all, &(Listing){p->choices, out}, &why);
    prog_rewind(p, now);
    if (rc) fail(p, rc, -1, "%s", why.msg);
}
