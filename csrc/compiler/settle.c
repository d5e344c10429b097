/* settle.c: a program -> nest.
 *
 * requires  check, infer
 * sets      p->nest, formats of results that had none; p->convert, p->converts; p->why; p->module and p->plan
 *
 * Every assignment becomes its own kernels, one of those that schedule/search.c
 * found, in the order of the program. A temporary becomes a shared workspace,
 * filled before what reads it. What was composed is lowered at once, and where
 * that refuses it the next best is taken: a user never meets a nest that does not
 * work. The same enumeration lists all nests, as the stage "orders". */
#include "settle.h"

#include <stdlib.h>
#include <string.h>

#include "lower/lower.h"
#include "schedule/schedule.h"
#include "stmt/stmt.h"

#define MAXTRIES 120
#define MAXLISTED 40

typedef struct { /* one assignment */
    Assign a;
    const Wish *wish;
    Tensor *w; /* takes the place of a temporary */
    Search *search;
} Piece;

typedef struct {
    Prog *p;
    int n;
    Piece part[SC_LEN(((Prog *)0)->assign)];
    sc_err refused; /* why the last composition was */
} Program;

/* ---- lowering ---- */
void lower_nest(Prog *p)
{
    Nest *own = p->nest;
    p->nest = schedule_where(p, own);
    nest_verify(p, p->nest);
    lower(p);
    p->nest = own;
    stmt_verify(p, p->module);
    stmt_simplify(p, p->module);
    stmt_name(p, p->module);
    stmt_verify(p, p->module);
}

/* ---- trying ---- */
typedef struct {
    Prog prog;
    Tensor tensor[MAXTENSOR];
} Saved;

static Saved *save(Prog *p)
{
    Saved *s = NEW(p, Saved);
    s->prog = *p;
    for (int k = 0; k < p->ntensor; k++) s->tensor[k] = *p->tensor[k];
    return s;
}

static void cut(sc_text *t, size_t n)
{
    if (t->s) t->s[t->n = n] = 0;
}

/* But for memory and, where cut, what was said. */
static void restore(Prog *p, const Saved *s, bool silent)
{
    const Prog now = *p;
    *p = s->prog;
    p->arena = now.arena;
    p->why = now.why;
    p->orders = now.orders;
    p->chosen = now.chosen;
    p->err = now.err;
    p->escape = now.escape;
    for (int k = 0; k < p->ntensor; k++) *p->tensor[k] = s->tensor[k];
    if (silent) cut(&p->why, s->prog.why.n), cut(&p->orders, s->prog.orders.n);
}

typedef struct {
    Prog *p;
    Nest *n;
} Lowering;

static void lower_tried(void *ctx)
{
    const Lowering *x = ctx;
    schedule_ahead(x->p, x->n);
    schedule_batch(x->n);
    x->p->nest = x->n;
    lower_nest(x->p);
}

static bool lowers(Prog *p, Nest *n, sc_err *refused)
{
    const int rc = prog_try(p, lower_tried, &(Lowering){p, n}, refused);
    if (rc == SC_ENOMEM) fail(p, SC_ENOMEM, -1, "out of memory while compiling");
    return rc == SC_OK;
}

/* ---- composing ---- */
/* The candidates of these ranks as one nest; null where one of them cannot be built. */
static Nest *compose(const Program *g, const int *rank)
{
    Prog *p = g->p;
    Nest *n[SC_LEN(g->part)], *rest = NULL;
    for (int k = 0; k < g->n; k++)
        if (!(n[k] = search_nest(g->part[k].search, rank[k]))) return NULL;
    cut(&p->chosen, 0);
    for (int k = 0; k < g->n; k++) {
        sc_text_add(&p->chosen, k ? "; " : "");
        search_print(g->part[k].search, rank[k], n[k], &p->chosen);
        if (!k) wishes_finish(p, g->part[k].wish, &p->chosen);
    }
    for (int k = g->n - 1; k >= 0; k--) {
        Tensor *w = g->part[k].w;
        Nest *one = rest ? schedule_fuse(p, n[k], w ? w : g->part[k].a.lhs->tensor, rest) : n[k];
        if (!one) one = w ? schedule_before_rest(p, n[k], w, rest) : nest_seq(p, 2, (Nest *[]){n[k], rest});
        rest = one;
    }
    return rest;
}

/* The ranks of turn t: the best of all, then one assignment after the other with its next, then all of them.
 * False where there is none; *end where no later one has. */
static bool ranks(const Program *g, int t, int *rank, bool *end)
{
    const int r = t ? (t - 1) / (g->n + 1) + 1 : 0, who = t ? (t - 1) % (g->n + 1) : g->n;
    bool any = false, fits = true;
    for (int k = 0; k < g->n; k++) {
        const int count = search_count(g->part[k].search);
        rank[k] = who == k || who == g->n ? r : 0;
        if (who == g->n && rank[k] >= count) rank[k] = count - 1;
        any |= r < count;
        fits &= rank[k] >= 0 && rank[k] < count;
    }
    *end = !any;
    return any && fits && !(t && g->n == 1 && who == 1);
}

static double cost_of(const Program *g, const int *rank)
{
    double sum = 0;
    for (int k = 0; k < g->n; k++) sum += search_cost(g->part[k].search, rank[k]);
    return sum;
}

/* Composes and lowers; where that fails *p is as before. */
static Nest *try(Program *g, const Saved *before, const int *rank)
{
    Nest *n = compose(g, rank);
    if (n && lowers(g->p, n, &g->refused)) return n;
    restore(g->p, before, true);
    return NULL;
}

/* Operands in other formats: the program is compiled again with these, and lowered then. */
static void ask_conversion(Prog *p, const Saved *before, Nest *n)
{
    sc_format to[SC_MAXOP];
    memcpy(to, p->convert, sizeof to);
    restore(p, before, false);
    memcpy(p->convert, to, sizeof to);
    p->converts = true;
    p->nest = n;
}

static bool settle(Program *g)
{
    Prog *p = g->p;
    const Saved *before = save(p);
    int rank[SC_LEN(g->part)];
    bool end = false;
    for (int t = 0; t < MAXTRIES && !end; t++) {
        Nest *n = ranks(g, t, rank, &end) ? try(g, before, rank) : NULL;
        if (!n) continue;
        for (int k = 0; k < g->n; k++) search_explain(g->part[k].search, rank[k]);
        if (p->converts) ask_conversion(p, before, n);
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
static void make_dense(Program *g, Piece *x)
{
    if (!is_open(x->a.lhs->tensor) && !tensor_shares_upper(x->a.lhs->tensor)) return;
    x->a.lhs->tensor->like = NULL;
    expr_result_format(g->p, x->a.lhs->tensor, "dense");
    x->search = search_new(g->p, &x->a, x->wish);
}

/* Operands that say where there is a value, and indices that are reduced, stay. */
static Expr *simplified(Prog *p, const Assign *a)
{
    Expr *e = expr_simplify(p, a->rhs);
    const uint32_t lost = expr_vars(a->rhs) & ~expr_vars(e) & ~expr_vars(a->lhs);
    Tensor *like = a->lhs->tensor->like;
    if (p->skip || (e->op != O_CONST && lost)) return expr_zeros(p, a->rhs);
    if (e->op != O_CONST || !like) return e;
    if (a->lhs->tensor->shared < like->format.nlevel) return a->rhs;
    return expr_new(p, O_MUL, expr_stored_access(p, like), e);
}

/* Nothing is legal as it was asked for, though other nests are. */
static void refuse(Prog *p, const Piece *x, const char *why)
{
    Search *s = search_new(p, &x->a, NEW(p, Wish));
    if (!search_count(s)) return;
    Nest *n = search_nest(s, 0);
    cut(&p->chosen, 0);
    sc_text_add(&p->chosen, "%s", n ? "" : "nothing");
    if (n) search_print(s, 0, n, &p->chosen);
    fail(p, SC_EVALUE, -1, "schedule: no loops for %s are as '%s' asks: %s; chosen without it: %s",
         x->a.lhs->tensor->name, p->wishes, why ? why : "none of those considered are in this order",
         p->chosen.s);
}

static Program *take_apart(Prog *p, const Wish *wishes)
{
    Program *g = NEW(p, Program);
    Assign assign[SC_LEN(p->assign)];
    memcpy(assign, p->assign, sizeof assign);
    *g = (Program){.p = p, .n = p->nassign};
    for (int k = 0; k < g->n; k++) {
        Piece *x = &g->part[k];
        Tensor *t = assign[k].lhs->tensor;
        x->a = assign[k];
        x->wish = &wishes[k];
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
        Piece *x = &g->part[k];
        x->search = search_new(p, &x->a, x->wish);
        if (search_count(x->search)) continue;
        if (p->wishes) refuse(p, x, search_why(x->search));
        make_dense(g, x);
    }
    return g;
}

/* Blocks that fit no loops, and coordinates that repeat where they must not, are converted away: levels in the
 * order that they have, without both. Returns whether there were any. */
static bool make_plain(Prog *p)
{
    bool any = false;
    for (int k = 0; k < p->nin; k++) {
        const Tensor *t = p->tensor[k];
        bool odd = source_may_repeat(t);
        if (!source_is_sparse(t)) continue;
        for (int l = 0; l < t->format.nlevel; l++) odd |= t->format.level[l].part != SC_WHOLE;
        if (!odd) continue;
        sc_format f = {.ndim = t->ndim};
        for (int l = 0; l < t->format.nlevel; l++)
            if (t->format.level[l].part != SC_MOD) schedule_plain_level(&f, t, t->format.level[l].dim);
        p->convert[k] = f;
        p->converts = any = true;
    }
    return any;
}

/* Nobody asked for the loops that were refused: what is said of them, without where. */
static void fail_unasked(Program *g)
{
    static const char asked[] = "schedule: ";
    const char *why = g->refused.code ? g->refused.msg : NULL;
    for (int k = 0; k < g->n && !why; k++) why = search_why(g->part[k].search);
    if (!why) why = "every order reads an operand across its levels";
    if (!strncmp(why, asked, sizeof asked - 1)) why += sizeof asked - 1;
    fail(g->p, SC_ENOTIMPL, -1,
         "no loops compute %s from these formats and into this one: %.*s; convert an operand to another "
         "format, or ask "
         "for another result",
         g->part[0].a.lhs->tensor->name, (int)strcspn(why, "\n"), why);
}

void schedule(Prog *p)
{
    p->unscheduled = save(p);
    const Wish *wishes = wishes_parse(p);
    if (wishes_convert(p, wishes)) {
        p->nest = nest_seq(p, 0, NULL);
        return;
    }
    Program *g = take_apart(p, wishes);
    if (settle(g)) return;
    for (int k = 0; k < g->n; k++) make_dense(g, &g->part[k]);
    if (settle(g)) return;
    if (p->wishes && g->refused.code)
        for (int k = 0; k < g->n; k++) refuse(p, &g->part[k], g->refused.msg);
    p->nest = nest_seq(p, 0, NULL);
    if (!p->keeps && make_plain(p)) return;
    fail_unasked(g);
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

static void print_candidate(const Prog *p, double cost, const Nest *n, sc_text *out)
{
    char format[200];
    const char *between = " converts ";
    sc_text_add(out, "-- cost %.0f", cost);
    for (int k = 0; k < p->nin; k++) {
        if (!p->convert[k].nlevel) continue;
        sc_format_print(&p->convert[k], format, sizeof format);
        sc_text_add(out, "%s%d to %s", between, k, format);
        between = "; ";
    }
    sc_text_add(out, "\n");
    nest_print(p, n, out);
}

static int list(Program *g, Listed *found)
{
    const Saved *before = save(g->p);
    int rank[SC_LEN(g->part)], n = 0;
    bool end = false;
    for (int t = 0; t < MAXTRIES && !end && n < MAXLISTED; t++) {
        Nest *nest = ranks(g, t, rank, &end) ? try(g, before, rank) : NULL;
        if (!nest) continue;
        found[n] = (Listed){cost_of(g, rank), t, {0}};
        print_candidate(g->p, found[n].cost, nest, &found[n].text);
        restore(g->p, before, true);
        if (found[n].text.failed) fail(g->p, SC_ENOMEM, -1, "out of memory while printing");
        bool seen = false;
        for (int k = 0; k < n; k++) seen |= !strcmp(found[k].text.s, found[n].text.s);
        if (seen)
            sc_text_free(&found[n].text);
        else
            n++;
    }
    return n;
}

typedef struct {
    Prog *p;
    Listed *found;
    sc_text *out;
} Listing;

static void list_all(void *ctx)
{
    const Listing *x = ctx;
    Prog *p = x->p;
    Listed *found = x->found;
    restore(p, p->unscheduled, false);
    Program *g = take_apart(p, wishes_parse(p));
    int n = list(g, found);
    for (int k = 0; k < g->n && !n; k++) make_dense(g, &g->part[k]);
    if (!n) n = list(g, found);
    if (n) qsort(found + 1, (size_t)n - 1, sizeof *found, by_cost);
    for (int k = 0; k < n; k++) sc_text_addn(x->out, found[k].text.s, found[k].text.n);
}

/* What was said of the program is said again as it was, though memory may have run out meanwhile. */
static void say_again(Prog *p, const Saved *now, const char *chosen)
{
    cut(&p->why, now->prog.why.n), cut(&p->orders, now->prog.orders.n), cut(&p->chosen, 0);
    p->why.failed = p->orders.failed = p->chosen.failed = false;
    sc_text_add(&p->chosen, "%s", chosen);
}

/* Schedules the program again. It is used by others: whatever happens, it is as before in the end. */
void orders_print(Prog *p, sc_text *out)
{
    if (!p->unscheduled) {
        print_candidate(p, cost_nest(p, p->nest), p->nest, out);
        return;
    }
    const Saved *now = save(p);
    const char *chosen = sc_arena_printf(&p->arena, "%s", p->chosen.n ? p->chosen.s : "");
    Listed *found = sc_arena_get(&p->arena, MAXLISTED * sizeof *found);
    sc_err why = {0};
    const int rc = prog_try(p, list_all, &(Listing){p, found, out}, &why);
    restore(p, now, false);
    say_again(p, now, chosen);
    for (int k = 0; k < MAXLISTED; k++) sc_text_free(&found[k].text);
    if (rc) fail(p, rc, -1, "%s", why.msg);
}
