/* prog.c: what every pass may call: memory, generated names, and the way out. */
#include <stdio.h>
#include <string.h>

#include "ir.h"

void *prog_bytes(Prog *p, size_t n) { return sc_arena_get(&p->arena, n); }

sc_text prog_text(Prog *p) { return (sc_text){.arena = &p->arena}; }

struct Mark {
    Draft draft;
    int ntensor;
    struct {
        Tensor *at, was; /* another may have taken its place since */
    } tensor[];
};

const Mark *prog_mark(Prog *p)
{
    Mark *k = prog_bytes(p, sizeof *k + (size_t)p->ntensor * sizeof *k->tensor);
    k->draft = p->draft;
    k->ntensor = p->ntensor;
    for (int t = 0; t < k->ntensor; t++) {
        k->tensor[t].at = p->tensor[t];
        k->tensor[t].was = *p->tensor[t];
    }
    return k;
}

void prog_rewind(Prog *p, const Mark *k)
{
    p->draft = k->draft;
    p->ntensor = k->ntensor;
    for (int t = 0; t < k->ntensor; t++) {
        p->tensor[t] = k->tensor[t].at;
        *p->tensor[t] = k->tensor[t].was;
    }
}

/* Names that begin so belong to C and to the core, whatever follows. */
static bool begins_reserved(const char *s) { return !strncmp(s, "sc_", 3) || !strncmp(s, "__", 2); }

/* "_1" may follow, so these two begin like them as well. */
const char *name_stem(Prog *p, const char *s)
{
    const bool reserved = begins_reserved(s) || !strcmp(s, "sc") || !strcmp(s, "_");
    return reserved ? sc_arena_printf(&p->arena, "v_%s", s) : s;
}

/* C's words, and those that emit itself uses. */
bool name_reserved(const char *s)
{
    static const char *const words[] = {
        "auto",   "break",    "case",     "char",     "const", "continue", "default", "do",     "double",
        "else",   "enum",     "extern",   "float",    "for",   "goto",     "if",      "inline", "int",
        "long",   "register", "restrict", "return",   "short", "signed",   "sizeof",  "static", "struct",
        "switch", "typedef",  "union",    "unsigned", "void",  "volatile", "while",   "asm",    "typeof",
        "call",   "lane",     "begin",    "end",      "bool",  "let",      "mut",     "buf",    "par",
        "entry",  "sort",     "unite",    "put",      "i16",   "i32",      "i64",     "f32",    "f64",
        "inf",    "nan",      "unix",     "linux"};
    for (int i = 0; i < SC_LEN(words); i++)
        if (!strcmp(s, words[i])) return true;
    return begins_reserved(s);
}

Module *prog_module(Prog *p)
{
    if (!p->draft.module) p->draft.module = NEW(p, Module);
    return p->draft.module;
}

static bool is_declared(const Module *m, const char *s)
{
    for (int k = 0; k < m->nbuf; k++)
        if (!strcmp(m->buf[k]->name, s)) return true;
    for (int k = 0; k < m->nparam; k++)
        if (!strcmp(m->param[k]->name, s)) return true;
    for (int k = 0; k < m->nentry; k++)
        if (!strcmp(m->entry[k].name, s)) return true;
    return false;
}

const char *name_fresh(Prog *p, const char *stem)
{
    const Module *m = prog_module(p);
    const char *s = stem = sc_arena_printf(&p->arena, "%s", name_stem(p, stem));
    for (int k = 1; name_reserved(s) || is_declared(m, s); k++)
        s = sc_arena_printf(&p->arena, "%s_%d", stem, k);
    return s;
}

#define AROUND 100 /* what is shown of a long line, before the caret and behind it */

static bool is_inside(char c)
{ return ((unsigned char)c & 0xc0) == 0x80; } /* of a character of several bytes */

/* The line of the source that holds pos, with a caret under it. */
static void show_caret(const Prog *p, int pos, char *out, size_t size)
{
    const char *s = p->source;
    int len = (int)strlen(s), from, to, column = 0;
    if (pos > len) pos = len;
    for (from = pos; from > 0 && s[from - 1] != '\n';) from--;
    for (to = pos; s[to] && s[to] != '\n';) to++;
    const char *before = pos - from > AROUND ? ".. " : "", *behind = to - pos > AROUND ? " .." : "";
    if (*before) from = pos - AROUND;
    if (*behind) to = pos + AROUND;
    while (from < pos && is_inside(s[from])) from++;
    while (to > pos && is_inside(s[to])) to--;
    for (int k = from; k < pos; k++) column += !is_inside(s[k]);
    snprintf(out, size, "\n  %s%.*s%s\n  %*s^", before, to - from, s + from, behind,
             column + (int)strlen(before), "");
}

void fail(Prog *p, int code, int pos, const char *fmt, ...)
{
    char msg[600], caret[400] = "";
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(msg, sizeof msg, fmt, ap);
    va_end(ap);
    if (pos >= 0 && p->source) show_caret(p, pos, caret, sizeof caret);
    sc_error(p->err, code, "%s%s", msg, caret);
    if (p->err) p->err->pos = pos;
    longjmp(*p->escape, 1);
}

int prog_try(Prog *p, void (*body)(void *), void *ctx, sc_err *err)
{
    jmp_buf escape, *outer = p->escape;
    sc_err *before = p->err;
    volatile bool through = false;
    p->escape = &escape;
    p->err = err;
    if (!setjmp(escape)) {
        body(ctx);
        through = true;
    }
    p->escape = outer;
    p->err = before;
    return through ? SC_OK : err->code;
}

void prog_check_name(Prog *p, const char *name, size_t size, int pos)
{
    static const char *const reserved[] = {"for", "par", "vec", "work", "in", "merge"};
    if (strlen(name) >= size)
        fail(p, SC_EVALUE, pos, "the name %.40s is too long; use at most %d characters", name, (int)size - 1);
    for (int i = 0; i < SC_LEN(reserved); i++)
        if (strcmp(name, reserved[i]) == 0)
            fail(p, SC_EVALUE, pos,
                 "%s is a word of schedules and cannot name a tensor or an index; rename it", name);
}

int prog_var(Prog *p, const char *name, bool add)
{
    for (int v = 0; v < p->nvar; v++)
        if (strcmp(p->var[v].name, name) == 0) return v;
    if (!add) return -1;
    prog_check_name(p, name, sizeof p->var[0].name, -1);
    if (p->nvar == SC_MAXVAR)
        fail(p, SC_ENOTIMPL, -1,
             "expected at most %d index variables, got one more, %s; split the expression", SC_MAXVAR, name);
    snprintf(p->var[p->nvar].name, sizeof p->var[0].name, "%s", name);
    p->var[p->nvar].extent = -1;
    return p->nvar++;
}

Tensor *prog_tensor(Prog *p, const char *name)
{
    for (int t = 0; t < p->ntensor; t++)
        if (strcmp(p->tensor[t]->name, name) == 0) return p->tensor[t];
    return NULL;
}

bool prog_has_one_type(const Prog *p)
{
    bool one = p->type == p->result_type && !p->skip;
    for (int k = 0; k < p->nin; k++) one &= p->tensor[k]->dtype == p->type;
    return one;
}

Tensor *prog_result(const Prog *p, int r)
{
    for (int t = 0; t < p->ntensor; t++)
        if (p->tensor[t]->role == T_OUT && p->tensor[t]->arg == p->nin + r) return p->tensor[t];
    return NULL;
}

int prog_id(const Prog *p, const Tensor *t)
{
    if (t->id < p->ntensor && p->tensor[t->id] == t) return t->id;
    fail((Prog *)p, SC_EINTERNAL, -1, "tensor %s is not in the program", t->name);
}

Tensor *prog_keep(Prog *p, Tensor *t)
{
    t->id = p->ntensor;
    return p->tensor[p->ntensor++] = t;
}

Tensor *prog_add(Prog *p, const char *name, Role role, int pos)
{
    prog_check_name(p, name, sizeof p->tensor[0]->name, pos);
    if (prog_tensor(p, name)) fail(p, SC_EVALUE, pos, "there are two tensors %s; rename one", name);
    if (p->ntensor == SC_LEN(p->tensor))
        fail(p, SC_ENOTIMPL, pos, "expected at most %d operands and results, got one more, %s",
             SC_LEN(p->tensor), name);
    Tensor *t = NEW(p, Tensor);
    snprintf(t->name, sizeof t->name, "%s", name);
    t->role = role;
    t->arg = -1;
    for (int d = 0; d < SC_MAXDIM; d++) t->dimvar[d] = -1;
    return prog_keep(p, t);
}
