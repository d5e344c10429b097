/* derive_write.c: the assignments of a gradient program as text, its operands and results as a request.
 *
 * The trees of derive.c use the index variables of the forward program, with
 * explicit sums that may shadow each other. Text has no shadowing and shows no
 * sums: "=" sums an index where all its uses are. So every sum of an assignment
 * gets index names of its own. Names are shared between assignments, but only
 * between variables that run over one dimension of a tensor (`kin`), because a
 * name has one extent. */
#include "derive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    Derive *d;
    Prog *out;                       /* holds the index names of the text */
    int kin[SC_MAXVAR];              /* forward variables of one extent have one number */
    int of[SC_MAXVAR];               /* the kin of an index name */
    int first[MAXTENSOR][SC_MAXDIM]; /* 1 + a variable that a dimension is read at, or 0 */
    uint32_t used;                   /* names of the current assignment */
    /* What is needed: lines of d, operands, results and their gradients. */
    uint32_t line, operand, result, grad;
    bool dense; /* temporaries are, whatever they could be */
    struct {
        Tensor *t;
        int operand, dim, kin;
    } eye[SC_MAXOP];
    int neye;
    sc_text text;
} Writer;

/* ---- index names ---- */
static void join(Writer *w, int a, int b)
{
    const int from = w->kin[b], to = w->kin[a];
    for (int v = 0; v < SC_MAXVAR; v++)
        if (w->kin[v] == from) w->kin[v] = to;
}

/* Dimension by dimension, the variables of all accesses to one tensor. */
static void join_access(Writer *w, const Expr *e)
{
    const Prog *p = w->d->p;
    if (e->op == O_ACCESS) {
        const Tensor *t = derive_operand(w->d, e->tensor);
        int k = 0;
        while (p->tensor[k] != t) k++;
        for (int i = 0; i < t->ndim; i++) {
            if (w->first[k][i]) join(w, w->first[k][i] - 1, e->ix[i].var);
            w->first[k][i] = e->ix[i].var + 1;
        }
    }
    for (int k = 0; k < 2; k++)
        if (e->kid[k]) join_access(w, e->kid[k]);
}

static void find_kin(Writer *w)
{
    for (int v = 0; v < SC_MAXVAR; v++) w->kin[v] = v;
    for (int a = 0; a < w->d->p->nassign; a++) {
        join_access(w, w->d->p->assign[a].lhs);
        join_access(w, w->d->p->assign[a].rhs);
    }
}

static int new_name(Writer *w, int v, const char *name)
{
    const int o = prog_var(w->out, name, true);
    w->of[o] = w->kin[v];
    return o;
}

/* An index name for forward variable v that this assignment does not use yet. */
static int pick(Writer *w, int v)
{
    const Prog *p = w->d->p;
    char name[48];
    int o = prog_var(w->out, p->var[v].name, false);
    if (o < 0) o = new_name(w, v, p->var[v].name);
    for (int k = 0; w->used >> o & 1 && k < w->out->nvar; k++)
        if (w->of[k] == w->kin[v] && !(w->used >> k & 1)) o = k;
    for (int n = 1; w->used >> o & 1; n++) {
        snprintf(name, sizeof name, "%.16s%d", p->var[v].name, n);
        bool taken = prog_var(w->out, name, false) >= 0;
        for (int k = 0; k < p->nvar; k++) taken |= !strcmp(p->var[k].name, name);
        if (!taken) o = new_name(w, v, name);
    }
    w->used |= 1u << o;
    return o;
}

/* ---- trees with new names ---- */
typedef struct {
    int8_t of[SC_MAXVAR]; /* the name of a forward variable, or -1 */
} Names;

static Expr *renamed(Writer *w, const Expr *e, Names names)
{
    Prog *p = w->d->p;
    if (e->op == O_REDUCE) {
        for (int v = 0; v < p->nvar; v++)
            if (e->vars >> v & 1) names.of[v] = (int8_t)pick(w, v);
        return renamed(w, e->kid[0], names);
    }
    Expr *r = NEW(p, Expr);
    *r = *e;
    r->pos = -1;
    if (e->op == O_ACCESS) {
        r->tensor = derive_operand(w->d, e->tensor);
        for (int i = 0; i < e->tensor->ndim; i++) r->ix[i].var = (uint8_t)names.of[e->ix[i].var];
    }
    for (int k = 0; k < 2; k++)
        if (e->kid[k]) r->kid[k] = renamed(w, e->kid[k], names);
    if (e->op == O_DIV && e->kid[1]->op == O_REDUCE) /* else it would divide what is summed */
        r->kid[1] = expr_new(p, O_ADD, r->kid[1], expr_const(p, 0));
    return r;
}

static Expr *access_to(Writer *w, Tensor *t, int n, const int *name)
{
    Expr *e = expr_new(w->d->p, O_ACCESS, NULL, NULL);
    e->tensor = t;
    for (int i = 0; i < n; i++) e->ix[i].var = (uint8_t)name[i];
    return e;
}

/* The operand with a dimension that v runs over, and that dimension. What an assignment has on the left it has on the
 * right, so there is one also where v is an index of results. */
static const Tensor *ranged_over(const Writer *w, int v, int *dim)
{
    const Prog *p = w->d->p;
    for (int k = 0; k < p->nin; k++)
        for (int i = 0; i < p->tensor[k]->ndim; i++)
            if (w->first[k][i] && w->kin[w->first[k][i] - 1] == w->kin[v]) return *dim = i, p->tensor[k];
    fail(w->d->p, SC_EINTERNAL, -1, "no operand has index %s", p->var[v].name);
}

/* The identity matrix over the extent of v. */
static Tensor *identity(Writer *w, int v)
{
    Derive *d = w->d;
    int dim = 0;
    for (int k = 0; k < w->neye; k++)
        if (w->eye[k].kin == w->kin[v]) return w->eye[k].t;
    const Tensor *t = ranged_over(w, v, &dim);
    Tensor *eye = NEW(d->p, Tensor);
    do snprintf(eye->name, sizeof eye->name, "eye%d", ++d->count);
    while (prog_tensor(d->p, eye->name));
    eye->role = T_IN;
    eye->arg = -1;
    eye->ndim = 2;
    eye->extent[0] = eye->extent[1] = t->extent[dim];
    sc_err err = {0};
    if (sc_format_parse(&eye->format, "csr", 2, &err)) fail(d->p, SC_EINTERNAL, -1, "%s", err.msg);
    if (w->neye == SC_MAXOP) fail(d->p, SC_ENOTIMPL, -1, "a gradient needs too many identity matrices");
    w->eye[w->neye].kin = w->kin[v];
    w->eye[w->neye].operand = t->arg;
    w->eye[w->neye].dim = dim;
    return w->eye[w->neye++].t = eye;
}

/* One share of a line whose left side has these names: on a diagonal, times identities. */
static Expr *write_share(Writer *w, const Share *s, const int *left)
{
    Names names;
    Expr *eyes = NULL;
    if (s->whole) return access_to(w, s->value->tensor, s->to->ndim, left);
    memset(&names, -1, sizeof names);
    for (int i = 0; i < s->to->ndim; i++) {
        const int v = s->at->ix[i].var;
        if (names.of[v] < 0) {
            names.of[v] = (int8_t)left[i];
            continue;
        }
        Expr *eye = access_to(w, identity(w, v), 2, (int[]){names.of[v], left[i]});
        eyes = eyes ? expr_new(w->d->p, O_MUL, eyes, eye) : eye;
    }
    for (int v = 0; v < w->d->p->nvar; v++) /* of "+=": summed because the left side lacks it */
        if (expr_free(s->value) >> v & 1 && names.of[v] < 0) names.of[v] = (int8_t)pick(w, v);
    Expr *e = renamed(w, s->value, names);
    return eyes ? derive_prefix(w->d->p, eyes, e) : e;
}

/* Whether e is a product with this access, index names included. */
static bool has_factor(const Expr *e, const Expr *at)
{
    if (e->op == O_MUL) return has_factor(e->kid[0], at) || has_factor(e->kid[1], at);
    if (e->op == O_DIV || e->op == O_NEG || e->op == O_STORED) return has_factor(e->kid[0], at);
    bool same = e->op == O_ACCESS && e->tensor == at->tensor;
    for (int i = 0; same && i < at->tensor->ndim; i++) same = e->ix[i].var == at->ix[i].var;
    return same;
}

static void print(Writer *w, const Expr *lhs, Op reduce, const Expr *rhs)
{
    sc_text_add(&w->text, "%s", w->text.n ? "; " : "");
    expr_print(w->out, lhs, &w->text);
    sc_text_add(&w->text, " %s= ", reduce == O_CONST ? "" : op_info(reduce)->text);
    expr_print(w->out, rhs, &w->text);
}

/* e where the access is stored. */
static Expr *write_stored(Writer *w, Expr *at, Expr *e)
{
    if (has_factor(e, at)) return e;
    return derive_prefix(w->d->p, expr_new(w->d->p, O_STORED, at, NULL), e);
}

static void write_line(Writer *w, const Line *l)
{
    Prog *p = w->d->p;
    const Share *s = l->share[0];
    int left[SC_MAXDIM], kept[SC_MAXDIM], n = 0;
    Expr *e = NULL;
    w->used = 0;
    for (int i = 0; i < s->to->ndim; i++) {
        left[i] = pick(w, s->at->ix[i].var);
        if (l->has >> i & 1) kept[n++] = left[i];
    }
    Expr *at = (l->of >= 0 || l->like) && derive_sparse(s->to) ? access_to(w, s->to, n, kept) : NULL;
    bool divides = false;
    for (int k = 0; k < l->n; k++) divides |= expr_has(l->share[k]->value, O_DIV);
    for (int k = 0; k < l->n; k++) { /* a divisor that may be missing needs the pattern in its own product */
        Expr *term = write_share(w, l->share[k], left);
        if (at && divides) term = write_stored(w, at, term);
        e = e ? expr_new(p, O_ADD, e, term) : term;
    }
    if (at && !divides) e = write_stored(w, at, e);
    print(w, access_to(w, l->t, n, kept), l->reduce, e);
}

/* ---- what is needed ---- */
static void need(Writer *w, const Expr *);

static void need_tensor(Writer *w, const Tensor *t)
{
    Derive *d = w->d;
    for (int r = 0; r < d->p->nout; r++) {
        if (d->grad[r] == t) w->grad |= 1u << r;
        if (prog_result(d->p, r) == t) w->result |= 1u << r;
    }
    if (t->role == T_IN) w->operand |= 1u << t->arg;
    if (t->role != T_WORK) return;
    for (int l = 0; l < d->nline; l++)
        if (d->line[l].t == t && !(w->line >> l & 1)) {
            w->line |= 1u << l;
            if (d->line[l].like) need_tensor(w, d->line[l].like);
            for (int k = 0; k < d->line[l].n; k++) need(w, d->line[l].share[k]->value);
        }
}

static void need(Writer *w, const Expr *e)
{
    if (e->op == O_ACCESS) need_tensor(w, e->tensor);
    for (int k = 0; k < 2; k++)
        if (e->kid[k]) need(w, e->kid[k]);
}

/* ---- the request ---- */
static int add_operand(Writer *w, sc_gradient *g, const Tensor *t, const char *name, sc_origin from,
                       int index, int dim)
{
    sc_request *rq = &g->request;
    const int k = rq->nin++;
    if (k == SC_MAXOP)
        fail(w->d->p, SC_ENOTIMPL, -1, "a gradient program has more than %d operands; split the expression",
             SC_MAXOP);
    sc_spec *s = &rq->in[k];
    memcpy(s->name, name, sizeof s->name);
    s->format = t->format;
    s->dtype = t->dtype;
    s->itype = t->itype;
    s->unit = sc_format_is_dense(&t->format) ? t->ndim - 1 : -1;
    memcpy(rq->dim[k], t->extent, sizeof rq->dim[k]);
    g->source[k].from = (uint8_t)from;
    g->source[k].index = (uint8_t)index;
    g->source[k].dim = (uint8_t)dim;
    return k;
}

static void add_operands(Writer *w, sc_gradient *g)
{
    Derive *d = w->d;
    Prog *p = d->p;
    for (int k = 0; k < p->nin; k++)
        if (w->operand >> k & 1) add_operand(w, g, p->tensor[k], p->tensor[k]->name, SC_FROM_OPERAND, k, 0);
    for (int r = 0; r < p->nout; r++)
        if (w->result >> r & 1)
            add_operand(w, g, prog_result(p, r), prog_result(p, r)->name, SC_FROM_RESULT, r, 0);
    for (int r = 0; r < p->nout; r++)
        if (w->grad >> r & 1) add_operand(w, g, prog_result(p, r), d->grad[r]->name, SC_FROM_GRADIENT, r, 0);
    for (int k = 0; k < w->neye; k++) {
        Tensor *t = w->eye[k].t;
        t->dtype = p->tensor[0]->dtype;
        t->itype = SC_I64;
        add_operand(w, g, t, t->name, SC_FROM_IDENTITY, w->eye[k].operand, w->eye[k].dim);
    }
}

/* Result `number` has the structure of this operand. */
static void ask_like(sc_gradient *g, int number, sc_origin from, int index)
{
    for (int k = 0; k < g->request.nin; k++)
        if (g->source[k].from == from && g->source[k].index == index)
            g->request.ask_like[number] = (int8_t)(k + 1);
}

static bool is_sparse_temporary(const Expr *e, const void *unused)
{
    (void)unused;
    return e->op == O_ACCESS && e->tensor->role == T_WORK && derive_sparse(e->tensor);
}

/* A gradient with the structure of an operand, some of whose terms read sparse temporaries: there may be no loops that
 * meet the entries of these along with the other terms, so temporaries are dense. */
static bool mixes_terms(const Writer *w)
{
    const Derive *d = w->d;
    for (int l = 0; l < d->nline; l++) {
        const Line *x = &d->line[l];
        int n = 0;
        if (!(w->line >> l & 1) || x->of < 0 || !derive_sparse(d->p->tensor[x->of])) continue;
        for (int k = 0; k < x->n; k++) n += expr_any(x->share[k]->value, is_sparse_temporary, NULL);
        if (n && n < x->n) return true;
    }
    return false;
}

/* Result `number` of the program: a temporary, or a gradient. */
static void add_result(Writer *w, sc_gradient *g, const Line *l, int number)
{
    sc_request *rq = &g->request;
    sc_err err = {0};
    if (rq->nin + number >= SC_MAXOP)
        fail(w->d->p, SC_ENOTIMPL, -1,
             "a gradient program has more than %d operands and assignments; split the expression", SC_MAXOP);
    rq->nask = number + 1;
    if (l->of < 0) rq->wide |= 1u << number;
    if (l->of >= 0) {
        const Tensor *t = w->d->p->tensor[l->of];
        const int r = g->nresult++;
        memcpy(g->result[r].name, l->t->name, sizeof g->result[r].name);
        g->result[r].number = (uint8_t)number;
        g->result[r].operand = (uint8_t)l->of;
        g->result[r].lacks = (uint8_t)(~l->has & ((1u << t->ndim) - 1));
        if (!sc_format_is_dense(&t->format)) ask_like(g, number, SC_FROM_OPERAND, l->of);
    }
    const bool sparse = l->of < 0 && derive_sparse(l->t) && !w->dense;
    if (l->like && sparse && l->like->role == T_IN) ask_like(g, number, SC_FROM_OPERAND, l->like->arg);
    if (l->like && sparse && l->like->role != T_IN)
        ask_like(g, number, SC_FROM_RESULT, l->like->arg - w->d->p->nin);
    if (!rq->ask_like[number] && !sparse && sc_format_parse(&rq->ask[number], "dense", l->t->ndim, &err))
        fail(w->d->p, err.code, -1, "%s", err.msg);
}

/* The text as who asked for the gradients owns it. */
static const char *text_of(const Writer *w)
{
    char *s = sc_malloc(w->text.n + 1);
    if (!s) fail(w->d->p, SC_ENOMEM, -1, "out of memory");
    if (w->text.n) memcpy(s, w->text.s, w->text.n);
    s[w->text.n] = 0;
    return s;
}

void derive_write(Derive *d, sc_gradient *g)
{
    Writer *w = NEW(d->p, Writer);
    w->d = d;
    w->text = prog_text(d->p);
    w->out = NEW(d->p, Prog);
    w->out->err = d->p->err;
    w->out->escape = d->p->escape;
    find_kin(w);
    for (int l = 0; l < d->nline; l++) {
        if (d->line[l].of < 0) continue;
        need_tensor(w, d->line[l].t);
        if (derive_sparse(d->p->tensor[d->line[l].of])) w->operand |= 1u << d->line[l].of;
    }
    for (int l = 0; l < d->nline; l++)
        if (w->line >> l & 1) write_line(w, &d->line[l]);
    w->dense = mixes_terms(w);
    memset(g, 0, sizeof *g);
    g->request.skip = d->p->skip;
    g->request.nofold = d->p->nofold;
    add_operands(w, g);
    for (int l = 0, number = 0; l < d->nline; l++)
        if (w->line >> l & 1) add_result(w, g, &d->line[l], number++);
    g->request.text = text_of(w);
}
