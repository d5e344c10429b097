/* parse.c: statements read from text.
 *
 * Everything goes through the constructors of build.c, so that what stmt.c
 * printed is built again as it was. A name lives in the block that declares it
 * and may not be declared again inside. What is read is not verified here. */
#include "stmt.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Name Name;
struct Name {
    Local *local;
    Name *outer;
};
typedef struct {
    Lexer lx;
    Prog *p;
    Module *m;
    Name *scope;
    int depth;
} StmtReader;

static Val *read_val(StmtReader *, int min);
static Stmt *read_block(StmtReader *);

static _Noreturn void wrong(StmtReader *r, const char *what, const char *name)
{ fail(r->p, SC_EVALUE, r->lx.pos, what, name); }

static Local *find_local(const StmtReader *r, const char *name)
{
    for (const Name *n = r->scope; n; n = n->outer)
        if (!strcmp(n->local->name, name)) return n->local;
    return NULL;
}

static Param *find_param(const StmtReader *r, const char *name)
{
    for (int k = 0; k < r->m->nparam; k++)
        if (!strcmp(r->m->param[k]->name, name)) return r->m->param[k];
    return NULL;
}

static Buf *find_buf(const StmtReader *r, const char *name)
{
    for (int k = 0; k < r->m->nbuf; k++)
        if (!strcmp(r->m->buf[k]->name, name)) return r->m->buf[k];
    return NULL;
}

static void must_be_new(StmtReader *r, const char *name)
{
    if (find_local(r, name) || find_param(r, name) || find_buf(r, name))
        wrong(r, "'%s' is declared already: choose another name", name);
    if (type_named(name, NULL)) wrong(r, "'%s' is the name of a type: choose another name", name);
}

static void deeper(StmtReader *r)
{
    if (++r->depth > MAXDEPTH) wrong(r, "nested too deeply%s", "");
}

static Type read_type(StmtReader *r)
{
    Type t;
    const char *name = lex_name(&r->lx, "a type");
    if (!type_named(name, &t))
        wrong(r, "'%s' is not a type: expected bool, i16, i32, i64, f32 or f64, and lanes", name);
    return t;
}

static Val *read_number(StmtReader *r, bool minus)
{
    Lexer *lx = &r->lx;
    Val *v;
    if (lx->kind == K_NUMBER && lx->integer) {
        errno = 0;
        unsigned long long x = strtoull(lx->text + lx->pos, NULL, 10);
        if (errno || x > (unsigned long long)INT64_MAX + minus) wrong(r, "the number does not fit i64%s", "");
        v = val_int(r->p, (int64_t)(minus ? 0 - x : x));
    } else {
        double x = lx->kind == K_NUMBER ? lx->number : lex_is(lx, "nan") ? NAN : INFINITY;
        v = val_const(r->p, (Type){SC_F64, 1}, minus ? -x : x);
    }
    lex_next(lx);
    return v;
}

static bool at_number(const Lexer *lx)
{ return lx->kind == K_NUMBER || (lx->kind == K_NAME && (lex_is(lx, "inf") || lex_is(lx, "nan"))); }

/* Index, lanes and stride of a load or store, up to "]". */
static Val *read_place(StmtReader *r, int *lanes, Val **stride)
{
    Val *index = read_val(r, 1);
    *lanes = 1;
    *stride = NULL;
    if (lex_accept(&r->lx, ";")) {
        int64_t n = lex_int(&r->lx, "a number of lanes");
        *lanes = n >= 0 && n <= 64 ? (int)n : 0;
        if (lex_accept(&r->lx, ":")) *stride = read_val(r, 1);
    }
    lex_expect(&r->lx, "]", "after an index");
    return index;
}

static Val *read_args(StmtReader *r, Op op)
{
    Val *kid[3] = {0};
    for (int k = 0; k < op_info(op)->arity; k++) {
        if (k) lex_expect(&r->lx, ",", "between arguments");
        kid[k] = read_val(r, 1);
    }
    lex_expect(&r->lx, ")", "after arguments");
    return op == O_SELECT ? val_select(r->p, kid[0], kid[1], kid[2]) : val_op(r->p, op, kid[0], kid[1]);
}

static Val *read_search(StmtReader *r)
{
    const char *name = lex_name(&r->lx, "an index array");
    Val *kid[3];
    Buf *b = find_buf(r, name);
    if (!b) wrong(r, "'%s' is not a buffer", name);
    for (int k = 0; k < 3; k++) {
        lex_expect(&r->lx, ",", "between arguments");
        kid[k] = read_val(r, 1);
    }
    lex_expect(&r->lx, ")", "after arguments");
    return val_search(r->p, b, kid[0], kid[1], kid[2]);
}

/* name, at) */
static Buf *read_number_at(StmtReader *r, const char *what, Val **at)
{
    const char *name = lex_name(&r->lx, what);
    Buf *b = find_buf(r, name);
    if (!b) wrong(r, "'%s' is not a buffer", name);
    lex_expect(&r->lx, ",", "between arguments");
    *at = read_val(r, 1);
    lex_expect(&r->lx, ")", "after arguments");
    return b;
}

static Val *read_marks(StmtReader *r)
{
    Val *at;
    Buf *b = read_number_at(r, "an array of truth values", &at);
    return val_marks(r->p, b, at);
}

static Val *read_pair(StmtReader *r)
{
    Val *at;
    Buf *b = read_number_at(r, "an index array", &at);
    return val_pair(r->p, b, at);
}

static Val *read_first(StmtReader *r, Val *make(Prog *, int lanes, Val *))
{
    Val *n = read_val(r, 1);
    lex_expect(&r->lx, ";", "between the count and the lanes");
    int64_t lanes = lex_int(&r->lx, "a number of lanes");
    lex_expect(&r->lx, ")", "after the lanes");
    return make(r->p, lanes >= 0 && lanes <= 64 ? (int)lanes : 0, n);
}

static Val *read_lane(StmtReader *r)
{
    Val *v = read_val(r, 1);
    lex_expect(&r->lx, ";", "between the lanes and the number of one");
    int64_t lane = lex_int(&r->lx, "the number of a lane");
    lex_expect(&r->lx, ")", "after the number of a lane");
    return val_lane(r->p, v, lane >= 0 && lane < 64 ? (int)lane : -1);
}

static Buf *read_buffer(StmtReader *r)
{
    const char *name = lex_name(&r->lx, "a buffer");
    Buf *b = find_buf(r, name);
    if (!b) wrong(r, "'%s' is not a buffer", name);
    lex_expect(&r->lx, "[", "after the name of a buffer");
    return b;
}

static Val *read_meet(StmtReader *r)
{
    Val *part[2];
    for (int k = 0; k < 2; k++) {
        Buf *b = read_buffer(r);
        Val *from = read_val(r, 1);
        lex_expect(&r->lx, ":", "between the ends of a part");
        part[k] = val_part(r->p, b, from, read_val(r, 1));
        lex_expect(&r->lx, "]", "after a part");
        lex_expect(&r->lx, k ? ")" : ",", "after a part");
    }
    return val_meet(r->p, part[0], part[1]);
}

static Val *read_spread(StmtReader *r, bool dot)
{
    int lanes;
    Buf *b = read_buffer(r);
    Val *stride, *at = read_place(r, &lanes, &stride), *kid[2];
    for (int k = 0; k < 2; k++) {
        lex_expect(&r->lx, ",", "between arguments");
        kid[k] = read_val(r, 1);
    }
    lex_expect(&r->lx, ")", "after arguments");
    if (stride) wrong(r, "%s takes entries side by side", dot ? "dot" : "spread");
    if (dot) return val_dot(r->p, b, at, kid[0], kid[1]);
    return val_spread(r->p, b, lanes, at, kid[0], kid[1]);
}

static Val *read_masked(StmtReader *r, bool apart)
{
    int lanes;
    Buf *b = read_buffer(r);
    Val *stride, *at = read_place(r, &lanes, &stride);
    lex_expect(&r->lx, ",", "between arguments");
    Val *bits = read_val(r, 1);
    lex_expect(&r->lx, ")", "after arguments");
    if (stride) wrong(r, "%s takes lanes side by side", apart ? "masked" : "expand");
    return (apart ? val_masked : val_expand)(r->p, b, lanes, at, bits);
}

static Val *read_pick(StmtReader *r)
{
    int lanes, one;
    Buf *b = read_buffer(r);
    Val *stride, *none, *base = read_place(r, &lanes, &stride);
    lex_expect(&r->lx, ",", "between arguments");
    Buf *crd = read_buffer(r);
    Val *at = read_place(r, &one, &none);
    lex_expect(&r->lx, ")", "after arguments");
    if (one != 1) wrong(r, "pick takes as many coordinates as it has lanes%s", "");
    return val_pick(r->p, b, lanes, base, stride, val_load(r->p, crd, lanes, at, NULL));
}

static Val *read_call(StmtReader *r, const char *name)
{
    static const struct {
        const char *name;
        Op op;
    } hred[] = {{"hadd", O_ADD}, {"hmax", O_MAX}, {"hmin", O_MIN}};
    Type t;
    if (type_named(name, &t)) {
        Val *v = read_val(r, 1);
        lex_expect(&r->lx, ")", "after a conversion");
        return val_cast(r->p, t, v);
    }
    for (int k = 0; k < 3; k++) {
        if (strcmp(name, hred[k].name) != 0) continue;
        Val *v = read_val(r, 1);
        lex_expect(&r->lx, ")", "after a reduction");
        return val_hred(r->p, hred[k].op, v);
    }
    if (!strcmp(name, "search")) return read_search(r);
    if (!strcmp(name, "marks")) return read_marks(r);
    if (!strcmp(name, "first")) return read_first(r, val_first);
    if (!strcmp(name, "bits")) return read_first(r, val_bits);
    if (!strcmp(name, "masked")) return read_masked(r, true);
    if (!strcmp(name, "expand")) return read_masked(r, false);
    if (!strcmp(name, "pair")) return read_pair(r);
    if (!strcmp(name, "pick")) return read_pick(r);
    if (!strcmp(name, "lane")) return read_lane(r);
    if (!strcmp(name, "meet")) return read_meet(r);
    if (!strcmp(name, "spread")) return read_spread(r, false);
    if (!strcmp(name, "dot")) return read_spread(r, true);
    for (int op = 0; op < O_CONST; op++)
        if (op != O_LAST_E && op_info((Op)op)->form == F_CALL && !strcmp(name, op_info((Op)op)->text))
            return read_args(r, (Op)op);
    wrong(r, "'%s' is not a function", name);
}

static Val *read_name(StmtReader *r)
{
    const char *name = lex_name(&r->lx, "a value");
    if (lex_accept(&r->lx, "(")) return read_call(r, name);
    if (lex_accept(&r->lx, "[")) {
        int lanes;
        Buf *b = find_buf(r, name);
        if (!b) wrong(r, "'%s' is not a buffer", name);
        Val *stride, *index = read_place(r, &lanes, &stride);
        return val_load(r->p, b, lanes, index, stride);
    }
    Local *l = find_local(r, name);
    Param *q = l ? NULL : find_param(r, name);
    if (!l && !q) wrong(r, "'%s' is not declared here", name);
    return l ? val_local(r->p, l) : val_param(r->p, q);
}

static Val *read_unary(StmtReader *r)
{
    if (lex_accept(&r->lx, "(")) {
        Val *v = read_val(r, 1);
        lex_expect(&r->lx, ")", "after a value");
        return v;
    }
    if (lex_accept(&r->lx, "-"))
        return at_number(&r->lx) ? read_number(r, true) : val_op(r->p, O_NEG, read_unary(r), NULL);
    return at_number(&r->lx) ? read_number(r, false) : read_name(r);
}

/* Climbs precedences: the operators of at least `min` that follow a value. */
static Val *read_val(StmtReader *r, int min)
{
    deeper(r);
    Val *v = read_unary(r);
    for (int op = 0; op < O_CONST && r->lx.kind == K_PUNCT;) {
        bool here = op != O_LAST_E && op_infix((Op)op) && op_precedence((Op)op) >= min &&
                    lex_is(&r->lx, op_info((Op)op)->text);
        if (!here) {
            op++;
            continue;
        }
        lex_next(&r->lx);
        v = val_op(r->p, (Op)op, v, read_val(r, op_precedence((Op)op) + 1));
        op = 0;
    }
    r->depth--;
    return v;
}

static Stmt *stmt_new(StmtReader *r, StmtOp op)
{
    Stmt *s = NEW(r->p, Stmt);
    s->op = op;
    return s;
}

static Local *declare(StmtReader *r, const char *name, Type t, bool mut)
{
    Local *l = NEW(r->p, Local);
    Name *n = NEW(r->p, Name);
    *l = (Local){.name = name, .type = t, .mut = mut, .slot = -1};
    *n = (Name){l, r->scope};
    r->scope = n;
    return l;
}

static Stmt *read_let(StmtReader *r, bool mut)
{
    Stmt *s = stmt_new(r, S_LET);
    const char *name = lex_name(&r->lx, "the name of a local");
    must_be_new(r, name);
    lex_expect(&r->lx, ":", "after the name of a local");
    Type t = read_type(r);
    lex_expect(&r->lx, "=", "after the type of a local");
    s->a = read_val(r, 1);
    s->local = declare(r, name, t, mut);
    return s;
}

static Stmt *read_for(StmtReader *r)
{
    Stmt *s = stmt_new(r, S_FOR);
    Name *outer = r->scope;
    const char *name = lex_name(&r->lx, "the name of a counter");
    must_be_new(r, name);
    lex_expect(&r->lx, "=", "after the counter");
    s->a = read_val(r, 1);
    lex_expect(&r->lx, ",", "between the bounds of a loop");
    s->b = read_val(r, 1);
    s->step = lex_accept(&r->lx, ",") ? lex_int(&r->lx, "a step") : 1;
    s->local = declare(r, name, I64, false);
    s->body = read_block(r);
    r->scope = outer;
    return s;
}

static Stmt *read_test(StmtReader *r, StmtOp op)
{
    Stmt *s = stmt_new(r, op);
    s->a = read_val(r, 1);
    s->body = read_block(r);
    if (op != S_IF || !lex_accept(&r->lx, "else")) return s;
    deeper(r);
    s->other = lex_accept(&r->lx, "if") ? read_test(r, S_IF) : read_block(r);
    r->depth--;
    return s;
}

static Stmt *read_note(StmtReader *r)
{
    Stmt *s = stmt_new(r, S_NOTE);
    const char *from = r->lx.text + r->lx.pos + 1, *to = from + strcspn(from, "\n");
    r->lx.at = (int)(to - r->lx.text);
    while (*from == ' ') from++;
    while (to > from && (to[-1] == ' ' || to[-1] == '\r')) to--;
    s->text = sc_arena_printf(&r->p->arena, "%.*s", to > from ? (int)(to - from) : 0, from);
    lex_next(&r->lx);
    return s;
}

static Stmt *read_assign(StmtReader *r)
{
    const char *name = lex_name(&r->lx, "a statement");
    Stmt *s = stmt_new(r, S_SET);
    if (lex_accept(&r->lx, "[")) {
        int lanes;
        s->op = S_STORE;
        s->buf = find_buf(r, name);
        if (!s->buf) wrong(r, "'%s' is not a buffer", name);
        s->a = read_place(r, &lanes, &s->c);
        if (s->c && val_is_int(s->c, 1)) s->c = NULL;
        lex_expect(&r->lx, "=", "after the place of a store");
        s->b = read_val(r, 1);
        if (s->b->type.lanes != lanes)
            wrong(r, "a store to '%s' needs a value of as many lanes as it says", name);
        return s;
    }
    s->local = find_local(r, name);
    if (!s->local) wrong(r, "'%s' is not declared here", name);
    lex_expect(&r->lx, "=", "after the name of a local");
    s->a = read_val(r, 1);
    return s;
}

static Stmt *read_sort(StmtReader *r)
{
    Stmt *s = stmt_new(r, S_SORT);
    s->buf = find_buf(r, lex_name(&r->lx, "the array to sort"));
    lex_expect(&r->lx, ",", "after the array to sort");
    s->spare = find_buf(r, lex_name(&r->lx, "a second array"));
    lex_expect(&r->lx, ",", "after the second array");
    if (!s->buf || !s->spare) wrong(r, "sort takes two buffers and a number%s", "");
    s->a = read_val(r, 1);
    return s;
}

static Stmt *read_unite(StmtReader *r)
{
    Stmt *s = stmt_new(r, S_UNITE);
    s->buf = find_buf(r, lex_name(&r->lx, "an array of coordinates"));
    lex_expect(&r->lx, ",", "after the coordinates");
    s->spare = find_buf(r, lex_name(&r->lx, "an array of values"));
    lex_expect(&r->lx, ",", "after the values");
    s->local = find_local(r, lex_name(&r->lx, "a variable"));
    lex_expect(&r->lx, ",", "after the variable");
    if (!s->buf || !s->spare || !s->local) wrong(r, "unite takes two buffers, a variable and a number%s", "");
    s->a = read_val(r, 1);
    return s;
}

static Stmt *read_fetch(StmtReader *r)
{
    Stmt *s = stmt_new(r, S_FETCH);
    const char *name = lex_name(&r->lx, "an array");
    s->buf = find_buf(r, name);
    if (!s->buf) wrong(r, "'%s' is no buffer", name);
    lex_expect(&r->lx, "[", "after the name of a buffer");
    s->a = read_val(r, 1);
    lex_expect(&r->lx, "]", "after an address");
    return s;
}

static Stmt *read_put(StmtReader *r)
{
    Stmt *s = stmt_new(r, S_PUT);
    Val *stride;
    int lanes;
    s->buf = find_buf(r, lex_name(&r->lx, "an array"));
    lex_expect(&r->lx, "[", "after the name of a buffer");
    if (!s->buf) wrong(r, "put takes a buffer%s", "");
    s->a = read_place(r, &lanes, &stride);
    lex_expect(&r->lx, ",", "before the bits of lanes");
    s->c = read_val(r, 1);
    lex_expect(&r->lx, "=", "after the lanes of a store");
    s->b = read_val(r, 1);
    if (stride || s->b->type.lanes != lanes)
        wrong(r, "put takes as many lanes as it says, side by side%s", "");
    return s;
}

static Stmt *read_turn(StmtReader *r)
{
    Stmt *s = read_assign(r);
    if (s->op != S_STORE || s->b->op != O_LOAD) wrong(r, "turn takes two places%s", "");
    s->op = S_TURN;
    return s;
}

static Stmt *read_stmt(StmtReader *r)
{
    Lexer *lx = &r->lx;
    if (lex_is(lx, "#")) return read_note(r);
    if (lex_accept(lx, "let")) return read_let(r, false);
    if (lex_accept(lx, "mut")) return read_let(r, true);
    if (lex_accept(lx, "for")) return read_for(r);
    if (lex_accept(lx, "while")) return read_test(r, S_WHILE);
    if (lex_accept(lx, "if")) return read_test(r, S_IF);
    if (lex_accept(lx, "turn")) return read_turn(r);
    if (lex_accept(lx, "sort")) return read_sort(r);
    if (lex_accept(lx, "unite")) return read_unite(r);
    if (lex_accept(lx, "put")) return read_put(r);
    if (lex_accept(lx, "fetch")) return read_fetch(r);
    if (!lex_accept(lx, "return")) return read_assign(r);
    Stmt *s = stmt_new(r, S_RETURN);
    s->step = lex_int(lx, "a code");
    return s;
}

static Stmt *read_block(StmtReader *r)
{
    Name *outer = r->scope;
    Stmt *first = NULL, **tail = &first;
    deeper(r);
    lex_expect(&r->lx, "{", "before a block");
    while (!lex_accept(&r->lx, "}")) {
        *tail = read_stmt(r);
        tail = &(*tail)->next;
    }
    r->scope = outer;
    r->depth--;
    return first;
}

static int read_small(StmtReader *r)
{
    int64_t n = lex_int(&r->lx, "a number");
    if (n > SC_MAXOP * SC_MAXOP) wrong(r, "the number is too large%s", "");
    return (int)n;
}

static void read_param(StmtReader *r)
{
    Param *q = NEW(r->p, Param);
    q->name = lex_name(&r->lx, "the name of a parameter");
    must_be_new(r, q->name);
    lex_expect(&r->lx, ":", "after the name of a parameter");
    lex_expect(&r->lx, "i64", "as the type of a parameter");
    lex_expect(&r->lx, "=", "after the type of a parameter");
    int k = 0;
    while (k < N_PARAM_WORDS && !lex_is(&r->lx, param_words[k].word)) k++;
    if (k == N_PARAM_WORDS)
        wrong(r, "expected dim, stride, npos, size, nval, cursor, copies, slots, begin or end%s", "");
    lex_next(&r->lx);
    q->origin = (ParamOrigin)k;
    if (param_words[k].args > 0) q->a = read_small(r);
    if (param_words[k].args > 1) q->b = read_small(r);
    if (r->m->nparam == SC_LEN(r->m->param)) wrong(r, "too many parameters%s", "");
    r->m->param[r->m->nparam++] = q;
}

static void read_buf(StmtReader *r)
{
    Buf *b = NEW(r->p, Buf);
    b->name = lex_name(&r->lx, "the name of a buffer");
    must_be_new(r, b->name);
    lex_expect(&r->lx, ":", "after the name of a buffer");
    b->dtype = (sc_dtype)read_type(r).dtype;
    b->mut = lex_accept(&r->lx, "mut");
    lex_expect(&r->lx, "=", "after the type of a buffer");
    int k = 0;
    while (k < N_BUF_WORDS && !lex_is(&r->lx, buf_words[k].word)) k++;
    if (k == N_BUF_WORDS) wrong(r, "expected pos, crd, val, perm, shared, cursors, scratch or partial%s", "");
    lex_next(&r->lx);
    b->origin = (BufOrigin)k;
    b->arg = buf_words[k].args > 0 ? read_small(r) : r->m->nbuf;
    if (buf_words[k].args > 1) b->level = read_small(r);
    if (buf_words[k].args == 0) b->offset = read_val(r, 1);
    if (r->m->nbuf == SC_LEN(r->m->buf)) wrong(r, "too many buffers%s", "");
    r->m->buf[r->m->nbuf++] = b;
}

static void read_entry(StmtReader *r)
{
    if (r->m->nentry == SC_MAXENTRY) wrong(r, "too many entries%s", "");
    Entry *e = &r->m->entry[r->m->nentry++];
    e->name = lex_name(&r->lx, "the name of an entry");
    e->body = read_block(r);
}

Module *stmt_parse(Prog *p, const char *text)
{
    const char *source = p->source;
    StmtReader r = {.p = p, .m = NEW(p, Module)};
    p->source = text;
    lex_open(&r.lx, p, text, 0);
    while (r.lx.kind != K_END) {
        if (lex_accept(&r.lx, "par"))
            read_param(&r);
        else if (lex_accept(&r.lx, "buf"))
            read_buf(&r);
        else if (lex_accept(&r.lx, "entry"))
            read_entry(&r);
        else
            wrong(&r, "expected par, buf or entry%s", "");
    }
    p->source = source;
    return r.m;
}
