/* names.c: gives locals the names that they have in the text.
 *
 * requires  a verified and simplified module
 * sets      Local.name
 *
 * Before, a local is called after what it holds, as others may be. In the text a
 * name lives in the block that declares it, and none inside of the block may be
 * the same. So a local keeps its name where that is free, and else the first
 * number behind it that is: c, c_1, c_2. Blocks side by side begin anew. The
 * names of arrays, parameters and entries are taken everywhere. */
#include "stmt.h"

#include <string.h>

typedef struct Given Given;
struct Given { /* a local that is visible */
    const char *stem, *name;
    int number;
    Given *outer;
};
typedef struct {
    Prog *p;
    const char *fixed[2 * SC_LEN(((Module *)0)->buf) + SC_LEN(((Module *)0)->param) + SC_MAXENTRY];
    int nfixed; /* names of the module */
    Given *scope;
} Namer;

static void fix(Namer *n, const char *name) { n->fixed[n->nfixed++] = name; }

static bool taken(const Namer *n, const char *s)
{
    for (const Given *g = n->scope; g; g = g->outer)
        if (!strcmp(g->name, s)) return true;
    for (int k = 0; k < n->nfixed; k++)
        if (!strcmp(n->fixed[k], s)) return true;
    return name_reserved(s);
}

/* The last number that a visible local of this stem was given, or -1. */
static int last_number(const Namer *n, const char *stem)
{
    for (const Given *g = n->scope; g; g = g->outer)
        if (!strcmp(g->stem, stem)) return g->number;
    return -1;
}

static void give(Namer *n, Local *l)
{
    Given *g = NEW(n->p, Given);
    const char *stem = l->name;
    int k = last_number(n, stem) + 1;
    while (taken(n, l->name = k ? sc_arena_printf(&n->p->arena, "%s_%d", stem, k) : stem)) k++;
    *g = (Given){.stem = stem, .name = l->name, .number = k, .outer = n->scope};
    n->scope = g;
}

static void name_block(Namer *n, const Stmt *s)
{
    Given *outer = n->scope;
    for (; s; s = s->next) {
        Given *here = n->scope;
        if (s->op == S_LET || s->op == S_FOR) give(n, s->local);
        name_block(n, s->body);
        name_block(n, s->other);
        if (s->op == S_FOR) n->scope = here;
    }
    n->scope = outer;
}

void stmt_name(Prog *p, Module *m)
{
    Namer n = {.p = p};
    for (int k = 0; k < m->nbuf; k++) {
        const Buf *b = m->buf[k];
        fix(&n, b->name);
        if (buf_names_offset(b)) fix(&n, sc_arena_printf(&p->arena, "%s_at", b->name));
    }
    for (int k = 0; k < m->nparam; k++) fix(&n, m->param[k]->name);
    for (int k = 0; k < m->nentry; k++) fix(&n, m->entry[k].name);
    for (int k = 0; k < m->nentry; k++) name_block(&n, m->entry[k].body);
}
