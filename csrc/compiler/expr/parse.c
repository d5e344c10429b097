/* parse.c: the text of an expression becomes p->var, p->tensor and p->assign.
 *
 * Two spellings, one result: an einsum string is a product of its operands in
 * order. Which of the two a text is follows from whether it has a '='. Operands
 * are declared before; every left side is a result. Nothing is known about
 * extents here: check.c judges what parses.
 *
 * Both recursion and the length of chains draw on one budget of operators, so
 * that no text can make a later walk over the tree run out of stack. */
#include <stdio.h>
#include <string.h>

#include "expr.h"

typedef struct {
    Lexer *lx;
    int left;     /* operators and parentheses that may still come */
    bool declare; /* an unknown index is a new variable, and indices have no parts */
} Parser;

/* ---- names ---- */
static void check_letters(Prog *p, const char *name)
{
    for (const char *s = name; *s; s++)
        if (!((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || *s == '_' ||
              (s > name && *s >= '0' && *s <= '9')))
            fail(p, SC_EVALUE, -1, "operand names are letters, digits and _, got \"%.40s\"", name);
}

void prog_declare(Prog *p, const sc_spec *spec, const int64_t *dim)
{
    char name[sizeof spec->name];
    snprintf(name, sizeof name, "%.*s", (int)sizeof name - 1, spec->name);
    if (!name[0]) snprintf(name, sizeof name, "%c", 'A' + p->nin % 26);
    check_letters(p, name);
    if (p->nin == SC_MAXOP)
        fail(p, SC_ENOTIMPL, -1, "expected at most %d operands, got one more, %s", SC_MAXOP, name);
    Tensor *t = prog_add(p, name, T_IN, -1);
    t->arg = p->nin++;
    t->ndim = spec->format.ndim;
    t->format = spec->format;
    t->dtype = spec->dtype;
    t->itype = spec->itype;
    t->unit = spec->unit;
    t->perm = spec->perm;
    t->often = spec->often;
    t->twin = spec->twin;
    t->even = spec->even;
    t->skew = spec->skew;
    memcpy(t->positions, spec->positions, sizeof t->positions);
    for (int d = 0; d < t->ndim; d++) {
        t->extent[d] = dim[d];
        if (dim[d] < 0)
            fail(p, SC_EVALUE, -1, "%s: the extent of dimension %d is %lld, expected 0 or more", name, d,
                 (long long)dim[d]);
    }
}

static _Noreturn void fail_unknown(Prog *p, const char *name, int pos)
{
    char list[512];
    size_t n = 0;
    list[0] = 0;
    for (int t = 0; t < p->ntensor && n < sizeof list - 40; t++)
        if (p->tensor[t]->role != T_OUT)
            n += (size_t)snprintf(list + n, sizeof list - n, "%s%s", n ? ", " : "", p->tensor[t]->name);
    fail(p, SC_EVALUE, pos, "unknown tensor %s; the tensors here are: %s", name, n ? list : "none");
}

/* ---- accesses ---- */
/* index := var | var "/" N | var "%" N | "#" var        parts and "#" in nests only */
static Index parse_index(Parser *ps)
{
    Lexer *lx = ps->lx;
    Prog *p = lx->prog;
    Index ix = {0};
    int pos = lx->pos;
    if (!ps->declare && lex_accept(lx, "#")) ix.slot = 1;
    const char *name = lex_name(lx, "an index name");
    int v = prog_var(p, name, false);
    if (v < 0 && !ps->declare) fail(p, SC_EVALUE, pos, "unknown index %s", name);
    if (v < 0) prog_check_name(p, name, sizeof p->var[0].name, pos);
    if (v < 0) v = prog_var(p, name, true);
    ix.var = (uint8_t)v;
    if (ix.slot || (!lex_is(lx, "/") && !lex_is(lx, "%"))) return ix;
    if (ps->declare)
        fail(p, SC_ENOTIMPL, lx->pos, "an index is a plain name; arithmetic on %s is not supported", name);
    ix.part = lex_is(lx, "/") ? SC_DIV : SC_MOD;
    lex_next(lx);
    pos = lx->pos;
    int64_t block = lex_int(lx, "the size of the pieces, a number");
    if (block < 1 || block > INT32_MAX)
        fail(p, SC_EVALUE, pos, "the size of the pieces of %s must be 1 to %d, got %lld", name, INT32_MAX,
             (long long)block);
    ix.block = (int32_t)block;
    return ix;
}

/* [ "[" index { "," index } "]" ]: how many */
static int parse_indices(Parser *ps, const char *name, Index *ix)
{
    Lexer *lx = ps->lx;
    int n = 0;
    if (!lex_accept(lx, "[")) return 0;
    if (lex_accept(lx, "]")) return 0;
    do {
        if (n == SC_MAXDIM)
            fail(lx->prog, SC_ENOTIMPL, lx->pos, "expected at most %d indices, got one more for %s",
                 SC_MAXDIM, name);
        ix[n++] = parse_index(ps);
    } while (lex_accept(lx, ","));
    lex_expect(lx, "]", sc_arena_printf(&lx->prog->arena, "or ',' after an index of %s", name));
    return n;
}

/* The access to a tensor that has n dimensions, or will have. */
static Expr *access_of(Prog *p, Tensor *t, int n, const Index *ix, int pos)
{
    if (t->ndim != n)
        fail(p, SC_EVALUE, pos, "%s has %d dimension%s, got %d ind%s", t->name, t->ndim,
             t->ndim == 1 ? "" : "s", n, n == 1 ? "ex" : "ices");
    Expr *e = expr_access(p, t, ix);
    e->pos = pos;
    return e;
}

/* access := NAME [ "[" index { "," index } "]" ] */
static Expr *parse_access_in(Parser *ps)
{
    Prog *p = ps->lx->prog;
    int pos = ps->lx->pos;
    Index ix[SC_MAXDIM];
    const char *name = lex_name(ps->lx, "a tensor, a number, a function or '('");
    Tensor *t = prog_tensor(p, name);
    if (!t) fail_unknown(p, name, pos);
    int n = parse_indices(ps, name, ix);
    Expr *e = access_of(p, t, n, ix, pos);
    if (!ps->declare) name_access(p, e);
    return e;
}

/* ---- expressions ---- */
static Expr *parse_compare(Parser *);

static void spend(Parser *ps)
{
    if (ps->left-- > 0) return;
    fail(ps->lx->prog, SC_ENOTIMPL, ps->lx->pos,
         "an expression may have at most %d operators and parentheses; split it into assignments", MAXNODE);
}

static Op find_function(const Lexer *lx)
{
    for (int op = 0; op < O_LAST_E; op++)
        if (op_info((Op)op)->form == F_CALL && lex_is(lx, op_info((Op)op)->text)) return (Op)op;
    return lex_is(lx, "neg") ? O_NEG : O_LAST_E;
}

static _Noreturn void fail_function(Lexer *lx)
{
    char list[256];
    size_t n = 0;
    for (int op = 0; op < O_LAST_E; op++)
        if (op_info((Op)op)->form == F_CALL && n < sizeof list - 32)
            n += (size_t)snprintf(list + n, sizeof list - n, " %s", op_info((Op)op)->text);
    fail(lx->prog, SC_EVALUE, lx->pos, "unknown function %.*s; the functions are:%s neg",
         lx->len < 40 ? lx->len : 40, lx->text + lx->pos, list);
}

/* Minus a number is a number. */
static Expr *negate(Prog *p, Expr *e)
{ return e->op == O_CONST ? expr_const(p, -e->c) : expr_new(p, O_NEG, e, NULL); }

/* call := FUNCTION "(" expr { "," expr } ")" */
static Expr *parse_call(Parser *ps)
{
    Lexer *lx = ps->lx;
    Prog *p = lx->prog;
    Op op = find_function(lx);
    int pos = lx->pos, n = 0;
    if (op == O_LAST_E) fail_function(lx);
    const char *name = lex_name(lx, "a function");
    const int arity = op_info(op)->arity;
    Expr *kid[2] = {NULL, NULL};
    spend(ps);
    lex_expect(lx, "(", "after the name of a function");
    do {
        if (n == arity)
            fail(p, SC_EVALUE, lx->pos, "%s takes %d argument%s, got more", name, arity,
                 arity > 1 ? "s" : "");
        kid[n++] = parse_compare(ps);
    } while (lex_accept(lx, ","));
    if (n < arity) fail(p, SC_EVALUE, lx->pos, "%s takes %d arguments, got %d", name, arity, n);
    lex_expect(lx, ")", "after the arguments of a function");
    if (op == O_STORED && kid[0]->op != O_ACCESS)
        fail(p, SC_EVALUE, pos, "stored() takes a tensor at its indices, such as stored(A[i,j])");
    Expr *e = op == O_NEG ? negate(p, kid[0]) : expr_new(p, op, kid[0], kid[1]);
    e->pos = pos;
    return e;
}

static bool at_call(const Lexer *lx)
{
    const char *s = lx->text + lx->at;
    while (*s == ' ' || *s == '\t') s++;
    return lx->kind == K_NAME && *s == '(';
}

/* primary := NUMBER | "(" expr ")" | call | access */
static Expr *parse_primary(Parser *ps)
{
    Lexer *lx = ps->lx;
    Expr *e;
    if (lx->kind == K_NUMBER) {
        e = expr_const(lx->prog, lx->number);
        e->pos = lx->pos;
        lex_next(lx);
        return e;
    }
    if (at_call(lx)) return parse_call(ps);
    if (!lex_accept(lx, "(")) return parse_access_in(ps);
    spend(ps);
    e = parse_compare(ps);
    lex_expect(lx, ")", "to close a parenthesis, or an operator");
    return e;
}

/* unary := "-" unary | primary */
static Expr *parse_unary(Parser *ps)
{
    Lexer *lx = ps->lx;
    int pos = lx->pos;
    if (!lex_accept(lx, "-")) return parse_primary(ps);
    spend(ps);
    Expr *e = negate(lx->prog, parse_unary(ps));
    e->pos = pos;
    return e;
}

/* left { op right }, for the operators first..last of ops.h */
static Expr *parse_chain(Parser *ps, Op first, Op last, Expr *(*side)(Parser *))
{
    Lexer *lx = ps->lx;
    Expr *e = side(ps);
    for (;;) {
        Op op = first;
        while (op <= last && !(lx->kind == K_PUNCT && lex_is(lx, op_info(op)->text))) op++;
        if (op > last) return e;
        int pos = lx->pos;
        spend(ps);
        lex_next(lx);
        e = expr_new(lx->prog, op, e, side(ps));
        e->pos = pos;
    }
}

/* term := unary { ("*" | "/") unary } */
static Expr *parse_term(Parser *ps) { return parse_chain(ps, O_MUL, O_DIV, parse_unary); }

/* sum := term { ("+" | "-") term } */
static Expr *parse_sum(Parser *ps) { return parse_chain(ps, O_ADD, O_SUB, parse_term); }

/* expr := sum { ("<" | "<=" | ">" | ">=" | "==" | "!=") sum } */
static Expr *parse_compare(Parser *ps) { return parse_chain(ps, O_LT, O_NE, parse_sum); }

Expr *parse_expr(Lexer *lx) { return parse_compare(&(Parser){lx, MAXNODE, false}); }
Expr *parse_access(Lexer *lx) { return parse_access_in(&(Parser){lx, MAXNODE, false}); }

/* ---- assignments ---- */
static Tensor *new_result(Prog *p, const char *name, int ndim, int pos)
{
    Tensor *t = prog_add(p, name, T_OUT, pos);
    t->ndim = ndim;
    t->dtype = SC_NDTYPE; /* until infer */
    t->unit = ndim - 1;
    return t;
}

static bool is_assigned(const Prog *p, const Tensor *t)
{
    for (int a = 0; a < p->nassign; a++)
        if (p->assign[a].lhs->tensor == t) return true;
    return false;
}

static Expr *parse_left(Parser *ps)
{
    Lexer *lx = ps->lx;
    Prog *p = lx->prog;
    int pos = lx->pos;
    Index ix[SC_MAXDIM];
    const char *name = lex_name(lx, "an assignment, such as C[i,k] = A[i,j] * B[j,k]");
    Tensor *t = prog_tensor(p, name);
    if (t && t->role == T_IN)
        fail(p, SC_EVALUE, pos, "%s is an operand and cannot be assigned; use another name on the left",
             name);
    if (t && is_assigned(p, t)) fail(p, SC_EVALUE, pos, "%s is assigned twice; use another name", name);
    int n = parse_indices(ps, name, ix);
    for (int d = 0; d < n; d++)
        for (int e = 0; e < d; e++)
            if (ix[d].var == ix[e].var)
                fail(p, SC_ENOTIMPL, pos,
                     "index %s occurs twice on the left; a result that is only a diagonal is "
                     "not supported",
                     p->var[ix[d].var].name);
    if (!t) t = new_result(p, name, n, pos);
    return access_of(p, t, n, ix, pos);
}

/* "=" | "+=" | "max=" | "min=" */
static Op parse_reduce(Lexer *lx)
{
    if (lex_accept(lx, "=")) return O_CONST;
    if (lex_accept(lx, "+=")) return O_ADD;
    Op op = lex_is(lx, "max") ? O_MAX : lex_is(lx, "min") ? O_MIN : O_CONST;
    if (op == O_CONST) lex_fail(lx, "=, +=, max= or min=");
    lex_next(lx);
    lex_expect(lx, "=", "after max or min");
    return op;
}

/* "tmp" in front of a name; a tensor may have this name as well. */
static bool parse_tmp(Lexer *lx)
{
    Lexer next = *lx;
    if (lx->kind != K_NAME || !lex_accept(&next, "tmp") || next.kind != K_NAME) return false;
    Lexer behind = next;
    lex_next(&behind);
    const bool reduces =
        (lex_is(&next, "max") || lex_is(&next, "min")) && behind.kind == K_PUNCT && lex_is(&behind, "=");
    if (reduces) return false;
    *lx = next;
    return true;
}

/* assign := ["tmp"] access ("=" | "+=" | "max=" | "min=") expr */
static void parse_assign(Lexer *lx)
{
    Prog *p = lx->prog;
    Parser ps = {lx, MAXNODE, true};
    if (p->nassign == SC_LEN(p->assign))
        fail(p, SC_ENOTIMPL, lx->pos, "expected at most %d assignments, got one more", SC_LEN(p->assign));
    const bool hidden = parse_tmp(lx);
    Assign a = {.lhs = parse_left(&ps)};
    a.lhs->tensor->hidden = hidden;
    a.reduce = parse_reduce(lx);
    a.rhs = parse_compare(&ps);
    p->assign[p->nassign++] = a;
}

/* Whether the current token is the first of its line. */
static bool at_new_line(const Lexer *lx)
{
    for (int i = lx->pos; i > 0; i--) {
        if (lx->text[i - 1] == '\n') return true;
        if (!strchr(" \t\r", lx->text[i - 1])) return false;
    }
    return true;
}

/* program := assign { (";" | a new line) assign } */
static void parse_index_notation(Prog *p, const char *text)
{
    Lexer lx;
    lex_open(&lx, p, text, 0);
    do {
        parse_assign(&lx);
        bool more = lex_accept(&lx, ";");
        if (lx.kind == K_END) return;
        if (!more && !at_new_line(&lx)) lex_fail(&lx, "an operator, ';' or the end");
    } while (true);
}

/* ---- einsum ---- */
static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

static _Noreturn void fail_letter(Prog *p, int at)
{ fail(p, SC_EVALUE, at, "expected a letter, ',' or '->' in an einsum string"); }

/* Before operands are counted by their commas: that nothing stands in the place of one. */
static void einsum_characters(Prog *p, const char *text)
{
    for (int at = 0; text[at]; at++) {
        if (text[at] == '.')
            fail(p, SC_ENOTIMPL, at, "'...' is not supported; write a letter for every dimension");
        if (!is_letter(text[at]) && !strchr(",-> \t\r\n", text[at])) fail_letter(p, at);
    }
}

/* operand := { LETTER }: how many, up to ',' or "->" or the end */
static int einsum_operand(Prog *p, const char *text, int *at, Index *ix)
{
    int n = 0;
    for (; text[*at] && text[*at] != ',' && text[*at] != '-'; (*at)++) {
        char name[2] = {text[*at], 0};
        if (strchr(" \t\r\n", name[0])) continue;
        if (!is_letter(name[0])) fail_letter(p, *at);
        if (n == SC_MAXDIM) fail(p, SC_ENOTIMPL, *at, "expected at most %d indices an operand", SC_MAXDIM);
        ix[n++] = (Index){.var = (uint8_t)prog_var(p, name, true)};
    }
    return n;
}

static int einsum_count(const char *text)
{
    int n = 1;
    for (const char *s = text; *s && *s != '-'; s++) n += *s == ',';
    return n;
}

/* Without "->" the result has the indices that occur once, in alphabetical order. */
static int einsum_implicit(const Prog *p, const int *uses, Index *ix)
{
    int n = 0;
    for (int c = 'A'; c <= 'z' && n < SC_MAXDIM; c++)
        for (int v = 0; v < p->nvar; v++)
            if (p->var[v].name[0] == c && uses[v] == 1) ix[n++] = (Index){.var = (uint8_t)v};
    return n;
}

static int einsum_output(Prog *p, const char *text, int *at, const int *uses, Index *ix)
{
    if (text[*at] != '-') return einsum_implicit(p, uses, ix);
    if (text[*at + 1] != '>') fail(p, SC_EVALUE, *at, "expected '->' before the indices of the result");
    *at += 2;
    int start = *at, n = einsum_operand(p, text, at, ix);
    if (text[*at]) fail(p, SC_EVALUE, *at, "expected the end after the indices of the result");
    for (int d = 0; d < n; d++) {
        const char *name = p->var[ix[d].var].name;
        if (!uses[ix[d].var])
            fail(p, SC_EVALUE, start, "index %s of the result is in no operand; remove it", name);
        for (int e = 0; e < d; e++)
            if (ix[d].var == ix[e].var)
                fail(p, SC_ENOTIMPL, start, "index %s occurs twice in the result, expected once", name);
    }
    return n;
}

static void result_name(const Prog *p, char *name, size_t size)
{
    snprintf(name, size, "out");
    for (int k = 1; prog_tensor((Prog *)p, name); k++) snprintf(name, size, "out_%d", k);
}

/* einsum := operand { "," operand } [ "->" operand ] */
static void parse_einsum(Prog *p, const char *text)
{
    einsum_characters(p, text);
    int at = 0, uses[SC_MAXVAR] = {0}, n = einsum_count(text);
    Index ix[SC_MAXDIM];
    char name[32];
    Expr *rhs = NULL;
    if (n != p->nin)
        fail(p, SC_EVALUE, 0, "the einsum string is for %d operand%s, got %d", n, n == 1 ? "" : "s", p->nin);
    for (int k = 0; k < n; k++, at += k < n) {
        int start = at + (int)strspn(text + at, " \t\r\n"), ndim = einsum_operand(p, text, &at, ix);
        for (int d = 0; d < ndim; d++) uses[ix[d].var]++;
        Expr *e = access_of(p, p->tensor[k], ndim, ix, start);
        rhs = rhs ? expr_new(p, O_MUL, rhs, e) : e;
    }
    int start = at, ndim = einsum_output(p, text, &at, uses, ix);
    result_name(p, name, sizeof name);
    Expr *lhs = access_of(p, new_result(p, name, ndim, start), ndim, ix, start);
    p->assign[p->nassign++] = (Assign){lhs, O_CONST, rhs};
}

/* ---- programs ---- */
void parse_program(Prog *p, const char *text)
{
    text = sc_arena_printf(&p->arena, "%s", text);
    if (!p->source) p->source = text;
    if (!text[strspn(text, " \t\r\n;")])
        fail(p, SC_EVALUE, -1,
             "the expression is empty; expected \"ij,jk->ik\" or \"C[i,k] = A[i,j] * B[j,k]\"");
    if (strpbrk(text, "=["))
        parse_index_notation(p, text);
    else
        parse_einsum(p, text);
    expr_inline(p);
    name_results(p);
    name_aliases(p);
}
