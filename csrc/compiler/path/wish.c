/* wish.c: what a user says of steps.
 *
 *   wish := path | step { ";" step }
 *   path := "path" "(" [node { node }] ")"      node := NAME | "(" node node { node } ")"
 *   step := NAME ":" directives                 where index { "|" index } is the one that the step has
 *
 * Names are those of operands, with _1, _2 and so on where one is read at several tuples of indices. A product takes
 * the order that names its factors; without a name the program stays one step. Directives are a schedule (schedule/text.c)
 * of the step that reads the operand. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "private.h"

/* ---- steps ---- */
/* What follows a name and a colon; null: the text does not begin so. */
static const char *behind_name(const char *text)
{
    int n = 0;
    sscanf(text, " %*[A-Za-z0-9_] :%n", &n);
    return n ? text + n : NULL;
}

bool path_asks_steps(const char *asked) { return asked && behind_name(asked); }

void wish_steps(Planner *pl, const char *asked)
{
    Prog *p = pl->p;
    for (const char *at = asked; at[strspn(at, " ")];) {
        char name[sizeof p->tensor[0]->name] = "";
        sscanf(at, " %31[A-Za-z0-9_]", name);
        const char *said = behind_name(at);
        const Tensor *t = said ? prog_tensor(p, name) : NULL;
        if (!t || t->role != T_IN || pl->nwish == SC_MAXOP)
            fail(p, SC_EVALUE, -1,
                 "schedule: expected the name of an operand and a colon in front of directives, as in A: "
                 "tile(k: 32), got '%.40s'",
                 at);
        said += strspn(said, " ");
        const int n = (int)strcspn(said, ";");
        pl->wish[pl->nwish++] = (StepWish){t->name, sc_arena_printf(&p->arena, "%.*s", n, said)};
        at = said + n + (said[n] == ';');
    }
}

static bool has_index(const Prog *p, uint32_t vars, const char *name, int len)
{
    bool any = false;
    for (int v = 0; v < p->nvar; v++)
        any |= (vars >> v & 1) && !strncmp(p->var[v].name, name, (size_t)len) && !p->var[v].name[len];
    return any;
}

const char *wish_of_step(Prog *p, uint32_t vars, const char *asked)
{
    if (!strchr(asked, '|')) return asked;
    sc_text out = prog_text(p);
    while (*asked) {
        const char *name = asked;
        int len = lex_name_length(asked);
        for (asked += len ? len : 1; len && *asked == '|';) {
            const int n = lex_name_length(++asked);
            if (has_index(p, vars, asked, n)) name = asked, len = n;
            asked += n;
        }
        sc_text_addn(&out, name, len ? (size_t)len : 1);
    }
    return out.s;
}

/* ---- orders of contraction ---- */
static int factor_named(const Product *x, Expr *const *factor, const char *name, int len)
{
    for (int k = 0; k < x->n; k++) {
        const char *own = factor[k]->op == O_ACCESS ? factor[k]->tensor->name : "";
        if ((int)strlen(own) == len && !strncmp(own, name, (size_t)len)) return k;
    }
    return -1;
}

typedef struct {
    const Product *x;
    Expr *const *factor;
    Lexer lx;
    uint32_t seen;
    bool strange; /* a name that is no factor, or that comes again */
} PathReader;

static Tree *read_leaf(PathReader *r, uint32_t *inside)
{
    const int pos = r->lx.pos, len = r->lx.len;
    lex_name(&r->lx, "the name of an operand, or (");
    const int k = factor_named(r->x, r->factor, r->lx.text + pos, len);
    r->strange |= k < 0 || r->seen >> k & 1;
    if (r->strange) return NULL;
    Tree *t = NEW(r->x->p, Tree);
    *t = (Tree){.leaf = k, .size = r->x->factor[k]};
    r->seen |= 1u << k;
    *inside |= 1u << k;
    return t;
}

/* Sparse where nearly all of a dense one would be zero, or where a sparse result must know what is stored. */
static void guess_size(const PathReader *r, Tree *t, uint32_t kept)
{
    Size *in[MAXFACTORS], dense;
    uint32_t held = 0;
    for (int k = 0; k < t->n; k++) in[k] = &t->kid[k]->size;
    for (int k = 0; k < t->n; k++) held |= in[k]->sparse ? in[k]->vars : 0;
    const bool may = !(kept & ~held) && __builtin_popcount(kept) > 1;
    tree_node_cost(r->x, t->n, in, kept, false, &dense);
    tree_node_cost(r->x, t->n, in, kept, may, &t->size);
    if (may && !r->x->sparse && t->size.entries * 8 > dense.entries) t->size = dense;
}

static Tree *read_node(PathReader *r, uint32_t *inside)
{
    if (!lex_is(&r->lx, "(")) return read_leaf(r, inside);
    Tree *t = NEW(r->x->p, Tree);
    *t = (Tree){.leaf = -1};
    uint32_t own = 0;
    lex_next(&r->lx);
    while (!lex_accept(&r->lx, ")")) {
        Tree *kid = read_node(r, &own);
        if (t->n == MAXFACTORS || !kid)
            r->strange = true;
        else
            t->kid[t->n++] = kid;
    }
    r->strange |= t->n < 2;
    if (!r->strange) guess_size(r, t, tree_kept(r->x, own));
    *inside |= own;
    return t;
}

Tree *wish_tree(const Product *x, Expr *const *factor, const char *asked)
{
    PathReader r = {.x = x, .factor = factor};
    const char *source = x->p->source;
    uint32_t inside = 0;
    Tree *t = NULL;
    x->p->source = asked;
    lex_open(&r.lx, x->p, asked, 0);
    while (!t && r.lx.kind != K_END) {
        lex_expect(&r.lx, "path", "before each order of contraction");
        inside = r.seen = r.strange = 0;
        t = read_node(&r, &inside);
        if (r.strange || inside != (1u << x->n) - 1) t = NULL;
    }
    x->p->source = source;
    return t;
}

void tree_print(const Tree *t, Expr *const *factor, sc_text *out)
{
    if (t->leaf >= 0) {
        sc_text_add(out, "%s", factor[t->leaf]->op == O_ACCESS ? factor[t->leaf]->tensor->name : "?");
        return;
    }
    sc_text_add(out, "(");
    for (int k = 0; k < t->n; k++) {
        if (k) sc_text_add(out, " ");
        tree_print(t->kid[k], factor, out);
    }
    sc_text_add(out, ")");
}

/* ---- the plan ---- */
static void print_size(const Step *s, sc_text *out)
{
    char format[200];
    for (int k = 0; k < s->n; k++) {
        sc_format_print(&s->made[k].format, format, sizeof format);
        sc_text_add(out, "%s%s", k ? ", " : "  ", format);
    }
    if (s->result[0] < 0 && s->entries > 0 && !sc_format_is_dense(&s->made[0].format))
        sc_text_add(out, ", about %.3g entries", s->entries);
}

void path_print(const Path *path, sc_text *out)
{
    double bytes = 0;
    for (int k = 0; k < path->n; k++) {
        const Step *s = path->step[k];
        sc_text_add(out, "%s\n  ->", s->request.text);
        print_size(s, out);
        sc_text_add(out, ", %.1f us%s%s", s->cost / 1000, s->dense.is ? ", by the dense library" : "",
                    s->holes ? ", where it is finite" : "");
        if (s->request.schedule) sc_text_add(out, ", as asked: %s", s->request.schedule);
        sc_text_add(out, "\n");
        bytes += s->bytes;
    }
    if (bytes > 0) sc_text_add(out, "temporaries: about %.0f KB\n", ceil(bytes / 1024));
    if (*path->next) sc_text_add(out, "next best: %s\n", path->next);
}
