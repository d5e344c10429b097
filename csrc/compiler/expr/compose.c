/* compose.c: an expression over composed operands, which are sums of parts, as one over the parts.
 *
 * requires  check, infer, with every composed operand as one sparse tensor. The outcome is text: parts are operands of
 * their own there, and what compiles it knows nothing of composed ones.
 *
 * A sum is linear in an access where the access is a factor of each of its terms once. Then the sum over A is that over
 * the first part of A plus that over the second one and so on: a term for each part, which has loops of its own. Sums
 * over several composed operands multiply out, as long as there are few terms. Indices of sums are named anew in each
 * term, since an index of two terms is summed in neither. A result with the structure of a composed operand that its
 * right side is linear in has the same parts, and each has an assignment. Every other access stays: that operand is
 * wanted whole. So are those of which one has all indices of the other, as in A[i,k] * A[k,i]: all parts of one would be
 * merged with all of the other. So is what makes a sparse result with another structure, where sums of sums would be merged. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expr.h"

typedef struct {
    Prog *p;
    const uint8_t *parts; /* how many each operand has */
    Tensor *part[SC_MAXOP][SC_MAXPARTS];
    int origin[SC_MAXVAR]; /* the index that each was named after */
    uint32_t used, given;  /* indices of the assignment that is being written; those that a sum has by now */
    int made;              /* indices */
    bool whole[SC_MAXOP];  /* operands that are read as they are */
    sc_text text;
    sc_composed *out;
} Composer;

static bool is_part(const Composer *c, const Tensor *t)
{
    bool any = false;
    for (int n = 0; t->role == T_IN && n < c->parts[t->arg]; n++) any |= t == c->part[t->arg][n];
    return any;
}

/* How many parts the operand has that e reads as a whole; 0: it is not composed. */
static int count_parts(const Composer *c, const Expr *e)
{
    const bool whole = e->op == O_ACCESS && e->tensor->role == T_IN && !is_part(c, e->tensor);
    return whole ? c->parts[e->tensor->arg] : 0;
}

/* ---- is it linear ---- */
enum { MIXED = -1, FREE, LINEAR }; /* of no such access; a product with one such access in each term */

static int degree_of_sum(int a, int b) { return a == b ? a : MIXED; }
static int degree_of_product(int a, int b) { return a < 0 || b < 0 || a + b > 1 ? MIXED : a + b; }

static int degree(const Expr *e, const Tensor *t)
{
    if (e->op == O_ACCESS) return e->tensor == t ? LINEAR : FREE;
    if (e->op == O_CONST) return FREE;
    const int a = degree(e->kid[0], t), b = e->kid[1] ? degree(e->kid[1], t) : FREE;
    switch (e->op) {
    case O_ADD:
    case O_SUB: return degree_of_sum(a, b);
    case O_MUL: return degree_of_product(a, b);
    case O_DIV: return b == FREE ? a : MIXED;
    case O_NEG: return a;
    case O_REDUCE: return e->reduce == O_ADD || a == FREE ? a : MIXED;
    default: return a == FREE && b == FREE ? FREE : MIXED;
    }
}

/* ---- names ---- */
static bool is_taken(const Composer *c, const char *name)
{
    if (prog_tensor(c->p, name) || prog_var(c->p, name, false) >= 0) return true;
    for (int k = 0; k < c->p->nin; k++)
        for (int n = 0; n < c->parts[k]; n++)
            if (c->part[k][n] && !strcmp(c->part[k][n]->name, name)) return true;
    return false;
}

/* A tensor like t by a name of its own. */
static Tensor *renamed_tensor(Composer *c, const Tensor *t, int n)
{
    Tensor *x = NEW(c->p, Tensor);
    *x = *t;
    x->alias = NULL;
    do snprintf(x->name, sizeof x->name, "%.18s_%d", t->name, n++ & 0xffff);
    while (is_taken(c, x->name));
    return x;
}

static Tensor *part_of(Composer *c, const Tensor *t, int n)
{
    Tensor **x = &c->part[t->arg][n];
    if (!*x) *x = renamed_tensor(c, c->p->tensor[t->arg], n);
    return *x;
}

/* An index of the same extent that no sum of the assignment has. */
static int another_index(Composer *c, int v)
{
    char name[sizeof c->p->var[0].name];
    for (int k = 0; k < c->p->nvar; k++)
        if (c->origin[k] == c->origin[v] && !(c->used >> k & 1)) return k;
    do snprintf(name, sizeof name, "%.16s_%d", c->p->var[c->origin[v]].name, ++c->made & 0xffff);
    while (is_taken(c, name));
    const int k = prog_var(c->p, name, true);
    c->origin[k] = c->origin[v];
    return k;
}

typedef struct {
    int8_t of[SC_MAXVAR]; /* the index in the place of each */
} Naming;

/* e with an index of its own for every index of every sum, and aliases as the operands that they are. */
static Expr *named(Composer *c, const Expr *e, Naming names)
{
    Expr *n = NEW(c->p, Expr);
    *n = *e;
    if (e->op == O_ACCESS && e->tensor->alias) n->tensor = e->tensor->alias;
    for (int d = 0; e->op == O_ACCESS && d < e->tensor->ndim; d++)
        n->ix[d].var = (uint8_t)names.of[e->ix[d].var];
    for (int v = 0; e->op == O_REDUCE && v < SC_MAXVAR; v++) {
        if (!(e->vars >> v & 1)) continue;
        names.of[v] = (int8_t)(c->given >> v & 1 ? another_index(c, v) : v);
        c->given |= 1u << names.of[v], c->used |= 1u << names.of[v];
        n->vars = (n->vars & ~(1u << v)) | 1u << names.of[v];
    }
    for (int k = 0; k < 2; k++)
        if (e->kid[k]) n->kid[k] = named(c, e->kid[k], names);
    return n;
}

/* ---- sums ---- */
/* Something runs over all coordinates of what e comes to, so that steps can add to it. */
static bool is_dense(const Prog *p, const Expr *e)
{
    const uint32_t kept = expr_free(e);
    return __builtin_popcount(kept) < 2 || (kept & ~expr_covered(p, e));
}

/* Whether e reads a composed operand that has all indices of the access `at`, or none but those. */
static bool meets(const Composer *c, const Expr *at, const Expr *e)
{
    const uint32_t a = expr_free(at), b = expr_free(e);
    if (count_parts(c, e) && e->tensor != at->tensor && (!(a & ~b) || !(b & ~a))) return true;
    return (e->kid[0] && meets(c, at, e->kid[0])) || (e->kid[1] && meets(c, at, e->kid[1]));
}

/* A composed operand that the sum is linear in, of at most so many parts; null where there is none. */
static const Tensor *find_linear(const Composer *c, const Expr *sum, const Expr *e, int most)
{
    const int n = count_parts(c, e);
    if (n && n <= most && degree(sum, e->tensor) == LINEAR && !meets(c, e, sum)) return e->tensor;
    for (int k = 0; k < 2; k++) {
        const Tensor *t = e->kid[k] ? find_linear(c, sum, e->kid[k], most) : NULL;
        if (t) return t;
    }
    return NULL;
}

/* The sum as at most so many sums over parts. */
static Expr *multiply_out(Composer *c, Expr *sum, int most)
{
    const Tensor *t = find_linear(c, sum, sum, most);
    Expr *e = NULL;
    if (!t) return sum;
    const int n = c->parts[t->arg];
    for (int k = 0; k < n; k++) {
        Expr *term = multiply_out(c, expr_reading(c->p, sum, t, part_of(c, t, k)), most / n);
        e = e ? expr_new(c->p, O_ADD, e, term) : term;
    }
    return e;
}

/* The innermost sums first: they are part of others. */
static Expr *spread(Composer *c, Expr *e)
{
    if (!e->kid[0]) return e;
    Expr *a = spread(c, e->kid[0]), *b = e->kid[1] ? spread(c, e->kid[1]) : NULL;
    e = expr_with_kids(c->p, e, a, b);
    const bool sums = e->op == O_REDUCE && e->reduce == O_ADD && is_dense(c->p, e);
    return sums ? multiply_out(c, e, SC_MAXPARTS) : e;
}

/* ---- assignments ---- */
static bool is_product(const Expr *e)
{
    if (e->op == O_MUL || e->op == O_NEG || e->op == O_REDUCE)
        return is_product(e->kid[0]) && (!e->kid[1] || is_product(e->kid[1]));
    return e->op == O_ACCESS || e->op == O_CONST;
}

static bool is_read(const Prog *p, const Tensor *t)
{
    bool any = false;
    for (int a = 0; a < p->nassign; a++) any |= expr_reads(p->assign[a].rhs, t);
    return any;
}

/* The composed operand whose parts the result has too; null where it has not. */
static const Tensor *shared_parts(const Composer *c, const Assign *a)
{
    const Tensor *t = a->lhs->tensor, *like = tensor_shares_all(t) ? t->like : NULL;
    if (!like || !c->parts[like->arg] || is_read(c->p, t) || t->hidden) return NULL;
    return degree(a->rhs, like) == LINEAR ? like : NULL;
}

static void find_whole(Composer *c, const Expr *e)
{
    if (count_parts(c, e)) c->whole[e->tensor->arg] = true;
    for (int k = 0; k < 2; k++)
        if (e->kid[k]) find_whole(c, e->kid[k]);
}

static void write(Composer *c, const Expr *lhs, Op reduce, const Expr *rhs)
{
    Naming own;
    for (int v = 0; v < SC_MAXVAR; v++) own.of[v] = (int8_t)v;
    c->used = expr_vars(lhs) | expr_vars(rhs), c->given = 0;
    find_whole(c, rhs);
    sc_text_add(&c->text, "%s%s", c->text.n ? "; " : "", lhs->tensor->hidden ? "tmp " : "");
    expr_print(c->p, lhs, &c->text);
    sc_text_add(&c->text, " %s= ", reduce == O_CONST ? "" : op_info(reduce)->text);
    expr_print(c->p, named(c, rhs, own), &c->text);
}

/* An assignment for each part. */
static void write_each_part(Composer *c, const Assign *a, const Tensor *like)
{
    for (int k = 0; k < c->parts[like->arg]; k++) {
        const Tensor *t = a->lhs->tensor;
        Expr *lhs = expr_reading(c->p, a->lhs, t, renamed_tensor(c, t, k));
        write(c, lhs, a->reduce, expr_reading(c->p, a->rhs, like, part_of(c, like, k)));
    }
}

static int result_of(const Prog *p, const Assign *a) { return a->lhs->tensor->arg - p->nin; }

static void note_results(Composer *c, const Assign *a, const Tensor *like)
{
    const int parts = like ? c->parts[like->arg] : 0;
    for (int k = 0; k < (parts ? parts : 1) && !a->lhs->tensor->hidden; k++) {
        if (c->out->nout == SC_MAXOP)
            fail(c->p, SC_ENOTIMPL, -1, "expected at most %d results, parts included, got more", SC_MAXOP);
        c->out->out[c->out->nout].result = (uint8_t)result_of(c->p, a);
        c->out->out[c->out->nout].like = (int8_t)(like ? like->arg : -1);
        c->out->out[c->out->nout++].part = (int8_t)(like ? k : -1);
    }
}

static void write_assign(Composer *c, const Assign *a)
{
    const Tensor *like = shared_parts(c, a);
    note_results(c, a, like);
    if (like) {
        write_each_part(c, a, like);
        return;
    }
    /* What "+=" sums as a whole is summed term by term where all of it is one product. */
    const bool may = a->reduce == O_CONST || (a->reduce == O_ADD && is_product(a->rhs));
    Expr *rhs = may ? spread(c, a->rhs) : a->rhs;
    write(c, a->lhs, rhs == a->rhs ? a->reduce : O_CONST, rhs);
}

/* ---- what the text has for operands ---- */
static void note_operand(Composer *c, const char *name, int operand, int part)
{
    sc_composed *o = c->out;
    if (o->nin == SC_MAXOP)
        fail(c->p, SC_ENOTIMPL, -1, "expected at most %d operands, parts included, got more", SC_MAXOP);
    snprintf(o->in[o->nin].name, sizeof o->in[o->nin].name, "%s", name);
    o->in[o->nin].operand = (uint8_t)operand;
    o->in[o->nin++].part = (int8_t)part;
}

static void note_operands(Composer *c, int operand)
{
    if (c->whole[operand] || !c->parts[operand]) note_operand(c, c->p->tensor[operand]->name, operand, -1);
    for (int n = 0; n < c->parts[operand]; n++)
        if (c->part[operand][n]) note_operand(c, c->part[operand][n]->name, operand, n);
}

/* Indices that stand in the place of another one. */
static void note_indices(Composer *c)
{
    for (int v = 0; v < c->p->nvar; v++) {
        if (c->origin[v] == v) continue;
        const int k = c->out->nindex++;
        snprintf(c->out->index[k].name, sizeof c->out->index[k].name, "%s", c->p->var[v].name);
        snprintf(c->out->index[k].of, sizeof c->out->index[k].of, "%s", c->p->var[c->origin[v]].name);
    }
}

void expr_compose(Prog *p, const uint8_t *parts, sc_composed *out)
{
    Composer *c = NEW(p, Composer);
    memset(out, 0, sizeof *out);
    *c = (Composer){.p = p, .parts = parts, .text = prog_text(p), .out = out};
    for (int v = 0; v < SC_MAXVAR; v++) c->origin[v] = v;
    for (int a = 0; a < p->nassign; a++) write_assign(c, &p->assign[a]);
    for (int k = 0; k < p->nin; k++) note_operands(c, k);
    note_indices(c);
    out->text = sc_malloc(c->text.n + 1);
    if (!out->text) fail(p, SC_ENOMEM, -1, "out of memory while composing");
    memcpy(out->text, c->text.s, c->text.n + 1);
}
