/* simplify.c: drops what has no effect, then numbers the locals.
 *
 * requires  a verified module
 * sets      Local.slot, Entry.nlocal
 *
 * Loads have no effects, so a local that nobody reads goes, and with it what
 * only it read; so do assignments to such a local, loops and branches without
 * statements, and branches whose condition is a constant. While it works slot
 * counts the uses of a local; in the end it is the offset of the local in the
 * executor's frame, in cells of one lane, reused by blocks that do not overlap. */
#include "stmt.h"

typedef struct {
    bool changed;
    int top, high; /* numbering: next free unit, most ever used */
} Pass;

/* ---- uses ---- */
static void uses_reset(Stmt *s)
{
    for (; s; s = s->next) {
        if (s->op == S_LET || s->op == S_FOR) s->local->slot = 0;
        uses_reset(s->body);
        uses_reset(s->other);
    }
}

static void uses_value(const Val *v)
{
    if (!v) return;
    if (v->op == O_VAR) v->local->slot++;
    for (int k = 0; k < 3; k++) uses_value(v->kid[k]);
}

static void uses_count(const Stmt *s)
{
    for (; s; s = s->next) {
        int before = s->op == S_SET ? s->local->slot : 0;
        uses_value(s->a);
        if (s->op == S_SET) s->local->slot = before; /* what only feeds itself is not used */
        if (s->op == S_UNITE) s->local->slot++;
        uses_value(s->b);
        uses_value(s->c);
        uses_count(s->body);
        uses_count(s->other);
    }
}

/* ---- dropping ---- */
static bool only_notes(const Stmt *s)
{
    while (s && s->op == S_NOTE) s = s->next;
    return !s;
}

static bool empty_range(const Stmt *s)
{
    if (only_notes(s->body)) return true;
    return s->a->op == O_CONST && s->b->op == O_CONST && s->a->i >= s->b->i;
}

static bool useless(const Stmt *s)
{
    switch (s->op) {
    case S_LET:
    case S_SET: return s->local->slot == 0;
    case S_FOR: return empty_range(s);
    case S_IF: return only_notes(s->body) && only_notes(s->other);
    case S_WHILE: return val_is_int(s->a, 0);
    case S_NOTE: return !s->next; /* what it was about is gone */
    default: return false;
    }
}

/* A branch on a constant becomes the statements of the side taken, unless they declare something. */
static Stmt *taken(Stmt *s)
{
    if (s->op != S_IF || s->a->op != O_CONST) return s;
    Stmt *side = s->a->i ? s->body : s->other, *last = side;
    if (!side) return s->next;
    for (const Stmt *t = side; t; t = t->next)
        if (t->op == S_LET || t->op == S_RETURN) return s;
    while (last->next) last = last->next;
    last->next = s->next;
    return side;
}

static void drop(Pass *pass, Stmt **at)
{
    while (*at) {
        Stmt *s = *at, *next = taken(s);
        if (useless(s)) next = s->next;
        if (next != s) {
            *at = next;
            pass->changed = true;
            continue;
        }
        drop(pass, &s->body);
        drop(pass, &s->other);
        at = &s->next;
    }
}

/* ---- numbering ---- */
static void place(Pass *pass, Local *l)
{
    l->slot = pass->top;
    pass->top += l->type.lanes;
    if (pass->top > pass->high) pass->high = pass->top;
}

static void number(Pass *pass, Stmt *s)
{
    int top = pass->top;
    for (; s; s = s->next) {
        int inner = pass->top;
        if (s->op == S_LET || s->op == S_FOR) place(pass, s->local);
        number(pass, s->body);
        number(pass, s->other);
        if (s->op == S_FOR) pass->top = inner;
    }
    pass->top = top;
}

void stmt_simplify(Prog *p, Module *m)
{
    (void)p;
    for (int k = 0; k < m->nentry; k++) {
        Entry *e = &m->entry[k];
        Pass pass = {.changed = true};
        while (pass.changed) {
            pass.changed = false;
            uses_reset(e->body);
            uses_count(e->body);
            drop(&pass, &e->body);
        }
        number(&pass, e->body);
        e->nlocal = pass.high;
    }
}
