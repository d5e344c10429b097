/* stmt.c: statements as text.
 *
 * The grammar stands in ir.h. Numbers carry their type in their spelling: 3 is
 * an i64, 3.0 an f64, every other constant is written as a conversion, f32(3.0)
 * or f32x8(3.0), which folds when it is read. Operators bind as in C, with
 * parentheses wherever a reader might hesitate. */
#include "stmt.h"

#include <ctype.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- types, numbers, precedence ---- */
void type_print(sc_text *out, Type t)
{
    sc_text_add(out, "%s", sc_dtype_name((sc_dtype)t.dtype));
    if (t.lanes > 1) sc_text_add(out, "x%d", t.lanes);
}

const char *type_text(Prog *p, Type t)
{
    const char *name = sc_dtype_name((sc_dtype)t.dtype);
    return t.lanes == 1 ? name : sc_arena_printf(&p->arena, "%sx%d", name, t.lanes);
}

bool type_named(const char *s, Type *out)
{
    for (int t = 0; t < SC_NDTYPE; t++) {
        const char *name = sc_dtype_name((sc_dtype)t);
        size_t n = strlen(name);
        if (strncmp(s, name, n) != 0) continue;
        int lanes = s[n] == 'x' && isdigit((unsigned char)s[n + 1]) ? atoi(s + n + 1) : 1;
        if (lanes == 1 ? s[n] != 0 : (lanes < 1 || lanes > 64)) continue;
        if (out) *out = (Type){(uint8_t)t, (uint8_t)lanes};
        return true;
    }
    return !out && strncmp(s, "i8x", 3) == 0;
}

void number_print(sc_text *out, sc_dtype t, double x)
{
    char buf[40] = "";
    if (x != x || x - x != 0) {
        sc_text_add(out, "%s", x != x ? "nan" : x < 0 ? "-inf" : "inf");
        return;
    }
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(buf, sizeof buf, "%.*g", digits, x);
        double y = strtod(buf, NULL);
        if (t == SC_F32 ? (float)y == (float)x : y == x) break;
    }
    for (char *c = buf; *c; c++)
        if (*c == localeconv()->decimal_point[0]) *c = '.';
    sc_text_add(out, strpbrk(buf, ".e") ? "%s" : "%s.0", buf);
}

int op_precedence(Op op)
{
    switch (op) {
    case O_MUL:
    case O_DIV:
    case O_MOD: return 6;
    case O_ADD:
    case O_SUB: return 5;
    case O_SHL:
    case O_SHR: return 4;
    case O_AND: return 2;
    case O_OR: return 1;
    default: return op_compares(op) ? 3 : 0;
    }
}

bool op_infix(Op op) { return op_info(op)->form == F_INFIX; }

bool val_parens(Op parent, const Val *kid, bool right)
{
    if (!op_infix(kid->op)) return false;
    int above = op_precedence(parent), below = op_precedence(kid->op);
    if (below == above) return right || above == 3 || above == 4;
    return below < above || below < 5 || above == 4 || above < 3;
}

/* ---- printing ---- */
static void val_print(const Val *, sc_text *);

static void kid_print(const Val *v, int k, sc_text *out)
{
    bool parens = val_parens(v->op, v->kid[k], k == 1);
    sc_text_add(out, parens ? "(" : "");
    val_print(v->kid[k], out);
    sc_text_add(out, parens ? ")" : "");
}

static void const_print(const Val *v, sc_text *out)
{
    bool bare = v->type.lanes == 1 && (v->type.dtype == SC_I64 || v->type.dtype == SC_F64);
    if (!bare) {
        type_print(out, v->type);
        sc_text_add(out, "(");
    }
    if (type_is_float(v->type))
        number_print(out, (sc_dtype)v->type.dtype, v->f);
    else
        sc_text_add(out, "%lld", (long long)v->i);
    sc_text_add(out, bare ? "" : ")");
}

/* NAME "[" val [";" lanes [":" val]] "]" */
static void place_print(const Buf *b, const Val *index, int lanes, const Val *stride, sc_text *out)
{
    sc_text_add(out, "%s[", b->name);
    val_print(index, out);
    if (lanes > 1) sc_text_add(out, "; %d", lanes);
    if (stride) {
        sc_text_add(out, " : ");
        val_print(stride, out);
    }
    sc_text_add(out, "]");
}

static void args_print(const Val *v, bool follow, sc_text *out)
{
    for (int k = 0; k < 3 && v->kid[k]; k++) {
        if (k || follow) sc_text_add(out, ", ");
        val_print(v->kid[k], out);
    }
    sc_text_add(out, ")");
}

static void call_print(const char *name, const Val *v, sc_text *out)
{
    sc_text_add(out, "%s(", name);
    args_print(v, false, out);
}

static void val_print(const Val *v, sc_text *out)
{
    switch (v->op) {
    case O_CONST: const_print(v, out); return;
    case O_VAR: sc_text_add(out, "%s", v->local->name); return;
    case O_PARAM: sc_text_add(out, "%s", v->param->name); return;
    case O_LOAD: place_print(v->buf, v->kid[0], v->type.lanes, v->kid[1], out); return;
    case O_CAST:
        type_print(out, v->type);
        call_print("", v, out);
        return;
    case O_HRED:
        call_print(v->reduce == O_ADD ? "hadd" : v->reduce == O_MAX ? "hmax" : "hmin", v, out);
        return;
    case O_LANE:
        sc_text_add(out, "lane(");
        val_print(v->kid[0], out);
        sc_text_add(out, "; %lld)", (long long)v->i);
        return;
    case O_FIRST:
    case O_BITS:
        sc_text_add(out, "%s(", op_info(v->op)->text);
        val_print(v->kid[0], out);
        sc_text_add(out, "; %d)", v->type.lanes);
        return;
    case O_MARKS:
        sc_text_add(out, "marks(%s", v->buf->name);
        args_print(v, true, out);
        return;
    case O_SEARCH:
        sc_text_add(out, "search(%s", v->buf->name);
        args_print(v, true, out);
        return;
    case O_PART:
        sc_text_add(out, "%s[", v->buf->name);
        val_print(v->kid[0], out);
        sc_text_add(out, " : ");
        val_print(v->kid[1], out);
        sc_text_add(out, "]");
        return;
    case O_PAIR:
        sc_text_add(out, "pair(%s", v->buf->name);
        args_print(v, true, out);
        return;
    case O_PICK:
        sc_text_add(out, "pick(");
        place_print(v->buf, v->kid[0], v->type.lanes, v->kid[1], out);
        sc_text_add(out, ", ");
        place_print(v->kid[2]->buf, v->kid[2]->kid[0], 1, NULL, out);
        sc_text_add(out, ")");
        return;
    case O_DOT:
    case O_MASKED:
    case O_EXPAND:
    case O_SPREAD:
        sc_text_add(out, "%s(", op_info(v->op)->text);
        place_print(v->buf, v->kid[0], v->op == O_DOT ? 1 : v->type.lanes, NULL, out);
        for (int k = 1; k < op_info(v->op)->arity; k++) {
            sc_text_add(out, ", ");
            val_print(v->kid[k], out);
        }
        sc_text_add(out, ")");
        return;
    default: break;
    }
    const OpInfo *op = op_info(v->op);
    if (op->form == F_CALL) {
        call_print(op->text, v, out);
    } else if (op->form == F_PREFIX) {
        bool parens = op_infix(v->kid[0]->op) || v->kid[0]->op == O_CONST;
        sc_text_add(out, parens ? "%s(" : "%s", op->text);
        val_print(v->kid[0], out);
        sc_text_add(out, parens ? ")" : "");
    } else {
        kid_print(v, 0, out);
        sc_text_add(out, " %s ", op->text);
        kid_print(v, 1, out);
    }
}

static void block_print(const Stmt *, int depth, sc_text *);

static void line(sc_text *out, int depth, const char *word)
{ sc_text_add(out, "%*s%s", 4 * depth, "", word); }

static void let_print(const Stmt *s, sc_text *out)
{
    sc_text_add(out, "%s %s: ", s->local->mut ? "mut" : "let", s->local->name);
    type_print(out, s->local->type);
    sc_text_add(out, " = ");
    val_print(s->a, out);
    sc_text_add(out, "\n");
}

static void head_print(const Stmt *s, int depth, sc_text *out)
{
    if (s->op == S_FOR) {
        sc_text_add(out, "for %s = ", s->local->name);
        val_print(s->a, out);
        sc_text_add(out, ", ");
        val_print(s->b, out);
        if (s->step != 1) sc_text_add(out, ", %lld", (long long)s->step);
    } else {
        sc_text_add(out, s->op == S_IF ? "if " : "while ");
        val_print(s->a, out);
    }
    sc_text_add(out, " {\n");
    block_print(s->body, depth + 1, out);
    if (s->other && stmt_only_if(s->other)) {
        line(out, depth, "} else ");
        head_print(s->other, depth, out);
        return;
    }
    if (s->other) {
        line(out, depth, "} else {\n");
        block_print(s->other, depth + 1, out);
    }
    line(out, depth, "}\n");
}

static void block_print(const Stmt *s, int depth, sc_text *out)
{
    for (; s; s = s->next) {
        line(out, depth, "");
        switch (s->op) {
        case S_LET: let_print(s, out); break;
        case S_SET:
        case S_STORE:
        case S_TURN:
            if (s->op == S_TURN) sc_text_add(out, "turn ");
            if (s->op == S_SET)
                sc_text_add(out, "%s", s->local->name);
            else
                place_print(s->buf, s->a, s->b->type.lanes, s->c, out);
            sc_text_add(out, " = ");
            val_print(s->op == S_SET ? s->a : s->b, out);
            sc_text_add(out, "\n");
            break;
        case S_PUT:
            sc_text_add(out, "put ");
            place_print(s->buf, s->a, s->b->type.lanes, NULL, out);
            sc_text_add(out, ", ");
            val_print(s->c, out);
            sc_text_add(out, " = ");
            val_print(s->b, out);
            sc_text_add(out, "\n");
            break;
        case S_RETURN: sc_text_add(out, "return %lld\n", (long long)s->step); break;
        case S_SORT:
            sc_text_add(out, "sort %s, %s, ", s->buf->name, s->spare->name);
            val_print(s->a, out);
            sc_text_add(out, "\n");
            break;
        case S_UNITE:
            sc_text_add(out, "unite %s, %s, %s, ", s->buf->name, s->spare->name, s->local->name);
            val_print(s->a, out);
            sc_text_add(out, "\n");
            break;
        case S_FETCH:
            sc_text_add(out, "fetch ");
            place_print(s->buf, s->a, 1, NULL, out);
            sc_text_add(out, "\n");
            break;
        case S_NOTE: sc_text_add(out, *s->text ? "# %s\n" : "#%s\n", s->text); break;
        default: head_print(s, depth, out);
        }
    }
}

/* Spelling, and how many integers follow. */
const OriginWord buf_words[] = {{"pos", 2},    {"crd", 2},     {"val", 1},     {"perm", 1},
                                {"shared", 1}, {"cursors", 0}, {"scratch", 0}, {"partial", 0}};
const OriginWord param_words[] = {{"dim", 1},    {"stride", 2}, {"npos", 2},  {"size", 2},  {"nval", 1},
                                  {"cursor", 1}, {"copies", 1}, {"slots", 0}, {"begin", 0}, {"end", 0}};

bool buf_names_offset(const Buf *b)
{ return b->offset && b->offset->op != O_CONST && b->offset->op != O_PARAM; }

static void param_print(const Param *q, sc_text *out)
{
    sc_text_add(out, "par %s: i64 = %s", q->name, param_words[q->origin].word);
    if (param_words[q->origin].args > 0) sc_text_add(out, " %d", q->a);
    if (param_words[q->origin].args > 1) sc_text_add(out, " %d", q->b);
    sc_text_add(out, "\n");
}

static void buf_print(const Buf *b, sc_text *out)
{
    sc_text_add(out, "buf %s: %s%s = %s", b->name, sc_dtype_name(b->dtype), b->mut ? " mut" : "",
                buf_words[b->origin].word);
    if (buf_words[b->origin].args > 0) sc_text_add(out, " %d", b->arg);
    if (buf_words[b->origin].args > 1) sc_text_add(out, " %d", b->level);
    if (buf_words[b->origin].args == 0) {
        sc_text_add(out, " ");
        if (b->offset)
            val_print(b->offset, out);
        else
            sc_text_add(out, "0");
    }
    sc_text_add(out, "\n");
}

void stmt_print(const Prog *p, const Module *m, sc_text *out)
{
    (void)p;
    for (int k = 0; k < m->nparam; k++) param_print(m->param[k], out);
    for (int k = 0; k < m->nbuf; k++) buf_print(m->buf[k], out);
    for (int k = 0; k < m->nentry; k++) {
        sc_text_add(out, "%sentry %s {\n", m->nbuf + m->nparam + k ? "\n" : "", m->entry[k].name);
        block_print(m->entry[k].body, 1, out);
        sc_text_add(out, "}\n");
    }
}
