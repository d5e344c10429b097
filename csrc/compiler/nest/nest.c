/* nest.c: nests as text, and their constructors.
 *
 * A nest is what a schedule text parses to and what the scheduler builds; both
 * print the same way, and printing and parsing is the identity. A sequence of
 * one item is that item, so the text has no second form. Indices and tensors
 * of the program are known before; workspaces are declared where they stand.
 * Nothing is judged here: verify.c does that. */
#include <string.h>

#include "nest.h"

/* ---- constructors ---- */
static Nest *nest_new(Prog *p, NestOp op)
{
    Nest *n = NEW(p, Nest);
    n->op = op;
    return n;
}

Nest *nest_seq(Prog *p, int n, Nest *const *kid)
{
    if (n == 1) return kid[0];
    Nest *s = nest_new(p, N_SEQ);
    s->n = n;
    s->kid = prog_bytes(p, (size_t)n * sizeof *kid);
    if (n) memcpy(s->kid, kid, (size_t)n * sizeof *kid);
    return s;
}

Nest *nest_loop(Prog *p, LoopKind kind, Index ix, Tensor *in, Nest *body)
{
    Nest *n = nest_new(p, N_LOOP);
    n->kind = kind;
    n->ix = ix;
    n->in = in;
    n->body = body;
    return n;
}

/* What a sparse workspace is when it was filled: coordinates in lexicographic order. */
static void gathered_format(Tensor *w)
{
    w->itype = SC_I64;
    w->format = (sc_format){.ndim = w->ndim, .nlevel = w->ndim};
    for (int k = 0; k < w->ndim; k++)
        w->format.level[k] = (sc_levelspec){.kind = k ? SC_SINGLETON : SC_COMPRESSED,
                                            .unique = k + 1 == w->ndim,
                                            .dim = (uint8_t)k,
                                            .part = SC_WHOLE};
}

Nest *nest_work(Prog *p, Tensor *work, Nest *producer, Nest *consumer)
{
    Nest *n = nest_new(p, N_WORK);
    if (tensor_gathers(work)) gathered_format(work);
    n->work = work;
    n->body = producer;
    n->then = consumer;
    return n;
}

Nest *nest_eval(Prog *p, Expr *lhs, Op reduce, Expr *rhs)
{
    Nest *n = nest_new(p, N_EVAL);
    n->eval = (Assign){lhs, reduce, rhs};
    return n;
}

int nest_pars(const Nest *n)
{
    int count = n->op == N_LOOP && n->kind == L_PAR;
    for (int k = 0; k < n->n; k++) count += nest_pars(n->kid[k]);
    return count + (n->body ? nest_pars(n->body) : 0) + (n->then ? nest_pars(n->then) : 0);
}

void nest_walk(const Nest *n, void (*f)(const Nest *, void *), void *ctx)
{
    f(n, ctx);
    if (n->body) nest_walk(n->body, f, ctx);
    if (n->then) nest_walk(n->then, f, ctx);
    for (int i = 0; i < n->n; i++) nest_walk(n->kid[i], f, ctx);
}

static void find_source(const Nest *n, void *ctx)
{
    if (n->op == N_LOOP && (n->in || n->nmerge)) *(bool *)ctx = true;
}

bool nest_has_sources(const Nest *n)
{
    bool any = false;
    nest_walk(n, find_source, &any);
    return any;
}

typedef struct {
    const Tensor *work;
    Op op;
} Reduce;

static void find_reduce(const Nest *n, void *ctx)
{
    Reduce *r = ctx;
    if (n->op == N_EVAL && n->eval.lhs->tensor == r->work && n->eval.reduce != O_CONST)
        r->op = n->eval.reduce;
}

Op work_reduce(const Nest *producer, const Tensor *work)
{
    Reduce r = {.work = work, .op = O_CONST};
    nest_walk(producer, find_reduce, &r);
    return r.op;
}

Nest *nest_around(Prog *p, const Nest *n, Expr *lhs, Expr *rhs)
{
    if (n->op == N_EVAL) return nest_eval(p, lhs, O_CONST, rhs);
    Nest *loop = nest_loop(p, n->in ? L_FOR : n->kind, n->ix, n->in, nest_around(p, n->body, lhs, rhs));
    if (!n->in) loop->unroll = n->unroll;
    return loop;
}

Nest *work_clears(Prog *p, const Nest *n)
{
    const Tensor *w = n->work;
    const Op op = work_reduce(n->body, w);
    double bytes = (double)sc_dtype_size(w->dtype);
    uint32_t entries = 0;
    const Nest *e = n->then;
    for (; e->op == N_LOOP; e = e->body) {
        if (!e->in || e->in->role != T_IN || e->rest || e->by || e->batch || e->ix.part != SC_WHOLE)
            return NULL;
        entries |= 1u << e->ix.var;
    }
    for (int d = 0; d < w->ndim; d++) {
        if (w->slot[d].part != SC_WHOLE || !(entries >> w->slot[d].var & 1)) return NULL;
        bytes *= (double)p->var[w->slot[d].var].extent;
    }
    const bool dense = w->ndim && w->place == W_LANE && !tensor_gathers(w) && op != O_CONST;
    Expr *read = dense && e->op == N_EVAL && bytes <= WORK_SCATTERED ? expr_find(e->eval.rhs, w) : NULL;
    return read ? nest_around(p, n->then, read, expr_const(p, op_identity(op))) : NULL;
}

bool nest_runs_along(const Nest *n)
{ return n->op == N_LOOP && !n->in && !n->nmerge && n->ix.part != SC_DIV; }

uint32_t nest_binds(const Nest *loop)
{
    const Tensor *t = loop->in;
    int l = 0;
    while (tensor_level_index(t, l).var != loop->ix.var) l++;
    uint32_t vars = 1u << loop->ix.var;
    while (++l < t->format.nlevel && sc_kind_of(&t->format.level[l])->one)
        vars |= 1u << tensor_level_index(t, l).var;
    return vars;
}

int expr_runs_along(const Expr *e)
{
    const Tensor *t = e->tensor;
    const int unit = t->role == T_WORK ? t->ndim - 1 : t->unit;
    return unit < 0 ? -1 : e->ix[unit].var;
}

bool expr_reads_row(const Expr *e, uint32_t by, int along)
{
    const Tensor *t = e->op == O_ACCESS ? e->tensor : NULL;
    if (!t || expr_runs_along(e) != along) return false;
    if (t->role == T_WORK ? t->place != W_LANE || tensor_gathers(t)
                          : t->role != T_IN || !sc_format_is_dense(&t->format))
        return false;
    for (int d = 0; d < t->ndim; d++)
        if (e->ix[d].var != along && (by >> e->ix[d].var & 1)) return true;
    return false;
}

/* ---- parsing ---- */
static Nest *parse_items(Lexer *, int depth);

static Nest *parse_block(Lexer *lx, int depth, const char *where)
{
    lex_expect(lx, "{", where);
    Nest *n = parse_items(lx, depth + 1);
    lex_expect(lx, "}", "or another item of the nest");
    return n;
}

int parse_count(Lexer *lx, const char *what)
{
    int pos = lx->pos;
    int64_t n = lex_int(lx, what);
    if (n < 1 || n > 65536)
        fail(lx->prog, SC_EVALUE, pos, "expected %s from 1 to 65536, got %lld", what, (long long)n);
    return (int)n;
}

Index parse_slot(Lexer *lx)
{
    Prog *p = lx->prog;
    Index ix = {.slot = lex_accept(lx, "#")};
    int pos = lx->pos;
    const char *name = lex_name(lx, "an index");
    int v = prog_var(p, name, false);
    if (v < 0) fail(p, SC_EVALUE, pos, "%s is no index of the expression", name);
    ix.var = (uint8_t)v;
    if (ix.slot) return ix;
    ix.part = lex_accept(lx, "/") ? SC_DIV : lex_accept(lx, "%") ? SC_MOD : SC_WHOLE;
    if (ix.part != SC_WHOLE) ix.block = parse_count(lx, "the size of the pieces");
    return ix;
}

static Tensor *parse_source(Lexer *lx)
{
    int pos = lx->pos;
    const char *name = lex_name(lx, "the tensor to iterate");
    Tensor *t = prog_tensor(lx->prog, name);
    if (!t)
        fail(lx->prog, SC_EVALUE, pos, "%s is no tensor of the expression and no workspace around this loop",
             name);
    return t;
}

/* loop := ("for" | "par" | "vec") index [source ["rest"]] ["by" N] ["unroll" N] ["ahead" N] ["batch" N] "{" nest "}"
 * source := "in" TENSOR | "merge" TENSOR { "," TENSOR } */
static Nest *parse_loop(Lexer *lx, LoopKind kind, int depth)
{
    Nest *n = nest_loop(lx->prog, kind, parse_slot(lx), NULL, NULL);
    if (n->ix.slot)
        fail(lx->prog, SC_EVALUE, lx->pos, "a loop runs over an index, not over the slots of a tile");
    if (lex_accept(lx, "in")) {
        n->in = parse_source(lx);
    } else if (lex_accept(lx, "merge")) {
        do {
            if (n->nmerge == MAXMERGE)
                fail(lx->prog, SC_ENOTIMPL, lx->pos, "a loop merges at most %d tensors", MAXMERGE);
            n->merge[n->nmerge++] = parse_source(lx);
        } while (lex_accept(lx, ","));
    }
    n->rest = (n->in || n->nmerge) && lex_accept(lx, "rest");
    if (lex_accept(lx, "by")) n->by = parse_count(lx, "the length of a tile");
    if (lex_accept(lx, "unroll")) n->unroll = parse_count(lx, "the number of copies");
    if (lex_accept(lx, "ahead")) n->ahead = parse_count(lx, "a number of positions");
    if (lex_accept(lx, "batch")) n->batch = parse_count(lx, "a number of turns");
    n->body = parse_block(lx, depth, "after the head of a loop");
    return n;
}

static Storage parse_place(Lexer *lx)
{
    static const char *const place[] = {"reg", "lane", "private", "shared"};
    for (int k = 0; k < SC_LEN(place); k++)
        if (lex_accept(lx, place[k])) return (Storage)k;
    lex_fail(lx, "the place of the workspace: reg, lane, private or shared");
}

static sc_dtype parse_dtype(Lexer *lx)
{
    for (int t = 0; t < SC_NDTYPE; t++)
        if (lex_accept(lx, sc_dtype_name((sc_dtype)t))) return (sc_dtype)t;
    lex_fail(lx, "the type of the workspace, f32 or f64");
}

/* head := NAME ["[" slot { "," slot } "]"] ":" place ["bitmap" | "hash"] dtype */
static Tensor *parse_work_head(Lexer *lx)
{
    Prog *p = lx->prog;
    int pos = lx->pos;
    Tensor *t = prog_add(p, lex_name(lx, "the name of the workspace"), T_WORK, pos);
    if (lex_accept(lx, "[")) do {
            if (t->ndim == SC_MAXDIM)
                fail(p, SC_ENOTIMPL, lx->pos, "a workspace has at most %d dimensions", SC_MAXDIM);
            t->slot[t->ndim] = parse_slot(lx);
            t->dimvar[t->ndim] = t->slot[t->ndim].var;
            t->ndim++;
        } while (lex_accept(lx, ","));
    if (t->ndim) lex_expect(lx, "]", "or ',' after a dimension of the workspace");
    lex_expect(lx, ":", "before the place of the workspace");
    t->place = parse_place(lx);
    t->bitmap = lex_accept(lx, "bitmap");
    t->hash = !t->bitmap && lex_accept(lx, "hash");
    t->dtype = parse_dtype(lx);
    t->unit = t->ndim - 1;
    return t;
}

/* work := "work" head "{" nest "}" "then" "{" nest "}" */
static Nest *parse_work(Lexer *lx, int depth)
{
    Tensor *t = parse_work_head(lx);
    Nest *producer = parse_block(lx, depth, "before what fills the workspace");
    lex_expect(lx, "then", "and what reads the workspace");
    return nest_work(lx->prog, t, producer, parse_block(lx, depth, "before what reads the workspace"));
}

/* eval := access ("=" | "+=" | "max=" | "min=") expr */
static Nest *parse_eval(Lexer *lx)
{
    if (lx->kind != K_NAME) lex_fail(lx, "for, par, vec, work or an assignment");
    Expr *lhs = parse_access(lx);
    Op op = lex_is(lx, "=") ? O_CONST : lex_is(lx, "+=") ? O_ADD : lex_is(lx, "max") ? O_MAX : O_MIN;
    if (op == O_MIN && !lex_is(lx, "min")) lex_fail(lx, "=, +=, max= or min=");
    lex_next(lx);
    if (op == O_MAX || op == O_MIN) lex_expect(lx, "=", "after max or min");
    /* zeros are missing, whoever wrote them */
    return nest_eval(lx->prog, lhs, op, expr_zeros(lx->prog, parse_expr(lx)));
}

/* item := loop | work | eval */
static Nest *parse_item(Lexer *lx, int depth)
{
    if (lex_accept(lx, "for")) return parse_loop(lx, L_FOR, depth);
    if (lex_accept(lx, "par")) return parse_loop(lx, L_PAR, depth);
    if (lex_accept(lx, "vec")) return parse_loop(lx, L_VEC, depth);
    if (lex_accept(lx, "work")) return parse_work(lx, depth);
    return parse_eval(lx);
}

/* nest := { item } */
static Nest *parse_items(Lexer *lx, int depth)
{
    Nest *kid[MAXITEM];
    int n = 0;
    if (depth > MAXNEST) fail(lx->prog, SC_EVALUE, lx->pos, "a nest may be at most %d deep", MAXNEST);
    while (lx->kind != K_END && !lex_is(lx, "}")) {
        if (n == MAXITEM) fail(lx->prog, SC_EVALUE, lx->pos, "expected at most %d items in a row", MAXITEM);
        kid[n++] = parse_item(lx, depth);
    }
    return nest_seq(lx->prog, n, kid);
}

/* The evaluations of a schedule text have no place in p->source. */
static void forget_expr(Expr *e)
{
    e->pos = -1;
    for (int k = 0; k < 2; k++)
        if (e->kid[k]) forget_expr(e->kid[k]);
}

static void forget_places(Nest *n)
{
    for (int k = 0; k < n->n; k++) forget_places(n->kid[k]);
    if (n->body) forget_places(n->body);
    if (n->then) forget_places(n->then);
    if (n->op != N_EVAL) return;
    forget_expr(n->eval.lhs);
    forget_expr(n->eval.rhs);
}

/* With `end`, text is p->source or a copy of it. */
Nest *nest_parse(Prog *p, const char *text, int at, int *end)
{
    const char *source = p->source;
    Lexer lx;
    p->source = text = sc_arena_printf(&p->arena, "%s", text);
    lex_open(&lx, p, text, at);
    Nest *n = parse_items(&lx, 0);
    if (end)
        *end = lx.pos;
    else if (lx.kind != K_END)
        lex_fail(&lx, "the end of the nest");
    else
        forget_places(n);
    p->source = source;
    return n;
}

/* ---- printing ---- */
void index_print(const Prog *p, Index ix, sc_text *out)
{
    sc_text_add(out, "%s%s", ix.slot ? "#" : "", p->var[ix.var].name);
    if (ix.part != SC_WHOLE) sc_text_add(out, "%c%d", ix.part == SC_DIV ? '/' : '%', ix.block);
}

static void print_items(const Prog *, const Nest *, int depth, sc_text *);

static void print_block(const Prog *p, const Nest *n, int depth, sc_text *out)
{
    sc_text_add(out, " {\n");
    print_items(p, n, depth + 1, out);
    sc_text_add(out, "%*s}", 2 * depth, "");
}

static void print_loop(const Prog *p, const Nest *n, sc_text *out)
{
    static const char *const kind[] = {"for", "par", "vec"};
    sc_text_add(out, "%s ", kind[n->kind]);
    index_print(p, n->ix, out);
    if (n->in) sc_text_add(out, " in %s", n->in->name);
    for (int k = 0; k < n->nmerge; k++) sc_text_add(out, "%s %s", k ? "," : " merge", n->merge[k]->name);
    if (n->rest) sc_text_add(out, " rest");
    if (n->by) sc_text_add(out, " by %d", n->by);
    if (n->unroll) sc_text_add(out, " unroll %d", n->unroll);
    if (n->ahead) sc_text_add(out, " ahead %d", n->ahead);
    if (n->batch) sc_text_add(out, " batch %d", n->batch);
}

static void print_work(const Prog *p, const Nest *n, sc_text *out)
{
    static const char *const place[] = {"reg", "lane", "private", "shared"};
    const Tensor *t = n->work;
    sc_text_add(out, "work %s", t->name);
    for (int d = 0; d < t->ndim; d++) {
        sc_text_add(out, d ? "," : "[");
        index_print(p, t->slot[d], out);
    }
    sc_text_add(out, "%s: %s%s %s", t->ndim ? "]" : "", place[t->place],
                t->bitmap ? " bitmap"
                : t->hash ? " hash"
                          : "",
                sc_dtype_name(t->dtype));
}

static void print_eval(const Prog *p, const Assign *a, sc_text *out)
{
    expr_print(p, a->lhs, out);
    sc_text_add(out, " %s= ", a->reduce == O_CONST ? "" : op_info(a->reduce)->text);
    expr_print(p, a->rhs, out);
}

static void print_line(const Prog *p, const Nest *n, sc_text *out)
{
    if (n->op == N_LOOP)
        print_loop(p, n, out);
    else if (n->op == N_WORK)
        print_work(p, n, out);
    else
        print_eval(p, &n->eval, out);
}

static void print_items(const Prog *p, const Nest *n, int depth, sc_text *out)
{
    if (n->op == N_SEQ) {
        for (int k = 0; k < n->n; k++) print_items(p, n->kid[k], depth, out);
        return;
    }
    sc_text_add(out, "%*s", 2 * depth, "");
    print_line(p, n, out);
    if (n->body) print_block(p, n->body, depth, out);
    sc_text_add(out, n->then ? " then" : "");
    if (n->then) print_block(p, n->then, depth, out);
    sc_text_add(out, "\n");
}

const char *nest_line(Prog *p, const Nest *n)
{
    sc_text line = prog_text(p);
    const bool whole = n->op == N_LOOP && n->kind == L_VEC && n->body->op == N_EVAL;
    print_line(p, n, &line);
    if (whole) {
        sc_text_add(&line, " { ");
        print_line(p, n->body, &line);
        sc_text_add(&line, " }");
    }
    return line.s;
}

void nest_print(const Prog *p, const Nest *n, sc_text *out) { print_items(p, n, 0, out); }
