/* text.c: what a user asks of the scheduler, and what it chose, in the same words.
 *
 *   text := wish { ";" wish }                 one for every assignment; ";" may be missing at the end
 *   wish := { "order" "(" index { "," index } ")"
 *           | "parallel" "(" [var] ")"
 *           | "inner" "(" var { "," var } ")" | "inner" "(" ")" | "first" "(" var { "," var } ")"
 *           | ("tile" | "gather" | "block") "(" var ":" N { "," var ":" N } ")"
 *           | "convert" "(" [NAME ":" format { "," NAME ":" format }] ")" | "ahead" "(" N ")" }
 *
 * A wish is a condition on nests: of those that the search considers, the cheapest that meets it is taken. Only tile,
 * gather, block, convert and ahead change what is considered. The conditions are judged by the loops around what is computed: around
 * what is summed where something is, else around all assignments. So copies into panels and results, and whatever
 * other nests will be considered one day, need no word of their own. */
#include <stdio.h>
#include <string.h>

#include "private.h"

/* ---- parsing ---- */
static int parse_var(Lexer *lx)
{
    const int pos = lx->pos;
    const char *name = lex_name(lx, "an index of the expression");
    const int v = prog_var(lx->prog, name, false);
    if (v < 0) fail(lx->prog, SC_EVALUE, pos, "%s is no index of the expression", name);
    return v;
}

static uint32_t parse_vars(Lexer *lx)
{
    uint32_t set = 0;
    do set |= 1u << parse_var(lx);
    while (lex_accept(lx, ","));
    return set;
}

static void parse_order(Lexer *lx, Wish *w)
{
    do {
        const int pos = lx->pos;
        const Index ix = parse_slot(lx);
        if (ix.slot) fail(lx->prog, SC_EVALUE, pos, "expected a loop, such as i, i/4 or i%%4, got a slot");
        for (int k = 0; k < w->norder; k++)
            if (index_same(w->order[k], ix))
                fail(lx->prog, SC_EVALUE, pos, "every loop stands once in an order");
        if (w->norder == MAXORDER) fail(lx->prog, SC_EVALUE, pos, "an order has at most %d loops", MAXORDER);
        w->order[w->norder++] = ix;
    } while (lex_accept(lx, ","));
}

/* A number for each of some indices. */
static void parse_sizes(Lexer *lx, int *size, const char *what, int most)
{
    do {
        const int at = lx->pos, v = parse_var(lx);
        if (size[v]) fail(lx->prog, SC_EVALUE, at, "%s stands once", lx->prog->var[v].name);
        lex_expect(lx, ":", sc_arena_printf(&lx->prog->arena, "and %s", what));
        const int pos = lx->pos;
        size[v] = parse_count(lx, what);
        if (most && (size[v] < 2 || size[v] > most))
            fail(lx->prog, SC_EVALUE, pos, "expected %s from 2 to %d, got %d", what, most, size[v]);
    } while (lex_accept(lx, ","));
}

static void parse_convert(Lexer *lx, Wish *w)
{
    Prog *p = lx->prog;
    w->converts = true;
    if (lex_is(lx, ")")) return;
    do {
        const int pos = lx->pos;
        const Tensor *t = prog_tensor(p, lex_name(lx, "the name of an operand"));
        sc_format f;
        sc_err err = {0};
        if (!t || t->role != T_IN || t->alias) fail(p, SC_EVALUE, pos, "expected the name of an operand");
        if (sc_format_is_dense(&t->format))
            fail(p, SC_EVALUE, pos, "%s is dense, and only sparse operands are converted", t->name);
        lex_expect(lx, ":", "and a format");
        if (sc_format_parse(&f, lex_format(lx), t->ndim, &err)) fail(p, err.code, pos, "%s", err.msg);
        if (sc_format_is_dense(&f))
            fail(p, SC_EVALUE, pos, "a sparse operand stays sparse: missing entries are not zeros");
        if (w->format[t->arg].nlevel) fail(p, SC_EVALUE, pos, "%s stands once", t->name);
        w->format[t->arg] = f;
    } while (lex_accept(lx, ","));
}

static void parse_ahead(Lexer *lx, Wish *w)
{
    const int pos = lx->pos;
    const int64_t n = lex_int(lx, "a number of entries");
    if (n > MAXAHEAD) fail(lx->prog, SC_EVALUE, pos, "expected at most %d entries ahead", MAXAHEAD);
    w->ahead = 1 + (int)n;
}

enum { ORDER, PARALLEL, INNER, FIRST, TILE, GATHER, BLOCK, CONVERT, AHEAD, NWORD };
static const char *const words[NWORD] = {"order",  "parallel", "inner",   "first", "tile",
                                         "gather", "block",    "convert", "ahead"};

static int parse_word(Lexer *lx)
{
    static const char all[] = "order, parallel, inner, first, tile, gather, block, convert or ahead";
    const int pos = lx->pos;
    const char *name = lex_name(lx, all);
    int word = 0;
    while (word < NWORD && strcmp(name, words[word])) word++;
    if (word == NWORD) fail(lx->prog, SC_EVALUE, pos, "expected %s, got '%s'", all, name);
    return word;
}

/* `said`: how often each word stood before. */
static void parse_directive(Lexer *lx, Wish *w, int said[NWORD])
{
    Prog *p = lx->prog;
    const int pos = lx->pos, word = parse_word(lx);
    if (++said[word] > (word == INNER ? SC_LEN(w->inner) : 1))
        fail(p, SC_EVALUE, pos, "%s stands %s in a schedule", words[word],
             word == INNER ? "twice at most" : "once");
    lex_expect(lx, "(", sc_arena_printf(&p->arena, "after %s", words[word]));
    switch (word) {
    case ORDER: parse_order(lx, w); break;
    case PARALLEL: w->parallel = lex_is(lx, ")") ? SERIAL : 1 + parse_var(lx); break;
    case INNER: w->inner[w->ninner++] = lex_is(lx, ")") ? 0 : parse_vars(lx); break;
    case FIRST: w->first = parse_vars(lx); break;
    case TILE: parse_sizes(lx, w->tile, "the size of a tile", 0); break;
    case GATHER: parse_sizes(lx, w->gather, "a number of entries", MAXGATHER); break;
    case BLOCK: parse_sizes(lx, w->block, "a number of coordinates", 0); break;
    case CONVERT: parse_convert(lx, w); break;
    case AHEAD: parse_ahead(lx, w); break;
    }
    lex_expect(lx, ")", sc_arena_printf(&p->arena, "at the end of %s", words[word]));
}

bool wishes_text(Prog *p, const char *text)
{
    Lexer lx;
    const char *source = p->source;
    p->source = text;
    lex_open(&lx, p, text, 0);
    const bool name = lx.kind == K_NAME, end = lx.kind == K_END || lex_is(&lx, ";");
    if (name) lex_next(&lx);
    p->source = source;
    return end || (name && lex_is(&lx, "("));
}

const Wish *wishes_parse(Prog *p)
{
    Wish *w = prog_bytes(p, (size_t)p->nassign * sizeof *w);
    if (!p->wishes) return w;
    Lexer lx;
    int n = 0;
    const char *source = p->source;
    p->source = p->wishes;
    lex_open(&lx, p, p->wishes, 0);
    for (bool more = lx.kind != K_END; more; more = lex_accept(&lx, ";") && lx.kind != K_END) {
        if (n == p->nassign)
            fail(p, SC_EVALUE, lx.pos, "expected one part for each of %d assignments", p->nassign);
        int said[NWORD] = {0};
        while (lx.kind != K_END && !lex_is(&lx, ";")) parse_directive(&lx, &w[n], said);
        n++;
    }
    if (n > 1 || p->nassign > 1) {
        if (n != p->nassign)
            fail(p, SC_EVALUE, lx.pos, "expected %d parts, one an assignment, separated by ';', got %d",
                 p->nassign, n);
    }
    p->source = source;
    return w;
}

bool wishes_convert(Prog *p, const Wish *w)
{
    for (int a = 0; a < p->nassign; a++) {
        if (w[a].converts) p->keeps = true;
        if (w[a].ahead) p->ahead = w[a].ahead;
        for (int k = 0; k < p->nin; k++) {
            const sc_format *f = &w[a].format[k];
            if (!f->nlevel || in(p->settled, k) || sc_format_equal(f, &p->tensor[k]->format)) continue;
            p->draft.convert[k] = *f;
            p->draft.converts = true;
        }
    }
    return p->draft.converts;
}

/* ---- the loops around what is computed ---- */
typedef struct {
    const Nest *loop[MAXLOOP];
    int n;
} LoopStack;

typedef struct {
    const Prog *p;
    const Wish *w;
    bool sums, fits;
    Wish made; /* order and parallel, as they are */
    bool any;  /* an assignment was visited */
    bool torn; /* not all of those visited have the same parallel index */
} Look;

static bool has_sums(const Nest *n)
{
    bool found = n->op == N_EVAL && n->eval.reduce != O_CONST;
    if (n->body) found |= has_sums(n->body);
    if (n->then) found |= has_sums(n->then);
    for (int k = 0; k < n->n; k++) found |= has_sums(n->kid[k]);
    return found;
}

/* The place of a loop of the order, -1: there is none. An index without a part is its innermost loop. */
static int place_in(const LoopStack *path, Index ix)
{
    int k = path->n - 1;
    while (k >= 0 && !(ix.part ? index_same(path->loop[k]->ix, ix) : path->loop[k]->ix.var == ix.var)) k--;
    return k;
}

static bool ordered(const Wish *w, const LoopStack *path)
{
    for (int a = 0; a < w->norder; a++)
        for (int b = a + 1; b < w->norder; b++) {
            const int x = place_in(path, w->order[a]), y = place_in(path, w->order[b]);
            if (x >= 0 && y >= 0 && x > y) return false;
        }
    return true;
}

static int parallel_of(const LoopStack *path)
{
    for (int k = 0; k < path->n; k++)
        if (path->loop[k]->kind == L_PAR) return 1 + path->loop[k]->ix.var;
    return SERIAL;
}

static bool in_blocks(const Prog *p, int v)
{
    for (int k = 0; k < p->nin; k++)
        for (int l = 0; l < p->tensor[k]->format.nlevel; l++)
            if (tensor_level_index(p->tensor[k], l).var == v && p->tensor[k]->format.level[l].part)
                return true;
    return false;
}

/* Adds the loops of a path to the order, each behind the one around it; tiles are no loops of their own. */
static void join_order(const Prog *p, Wish *w, const LoopStack *path)
{
    int at = 0;
    for (int k = 0; k < path->n; k++) {
        Index ix = path->loop[k]->ix;
        int q = 0;
        if (!in_blocks(p, ix.var)) ix = index_whole(ix.var);
        if (place_in(path, ix) != k) continue;
        while (q < w->norder && !index_same(w->order[q], ix)) q++;
        if (q == w->norder) {
            if (q == MAXORDER) return;
            memmove(w->order + at + 1, w->order + at, (size_t)(w->norder++ - at) * sizeof ix);
            w->order[q = at] = ix;
        }
        at = q + 1;
    }
}

static void visit(Look *l, const LoopStack *path)
{
    const int parallel = parallel_of(path);
    if (l->w) {
        l->fits &= ordered(l->w, path) && (!l->w->parallel || l->w->parallel == parallel);
        return;
    }
    join_order(l->p, &l->made, path);
    l->torn |= l->any && parallel != l->made.parallel;
    l->made.parallel = parallel;
    l->any = true;
}

/* A loop in tensors over an index that is bound: it only looks the coordinate up. */
static bool looks_up(const LoopStack *path, const Nest *n)
{
    bool bound = false;
    for (int k = 0; k < path->n; k++) {
        const Nest *by = path->loop[k];
        bound |= by->ix.var == n->ix.var && by->ix.part != SC_DIV && !by->by;
    }
    return bound && n->ix.part == SC_WHOLE && (n->in || n->nmerge);
}

static void walk(Look *l, const Nest *n, LoopStack *path)
{
    const bool loop = n->op == N_LOOP && path->n < MAXLOOP && !looks_up(path, n);
    if (loop) path->loop[path->n++] = n;
    if (n->op == N_EVAL && (!l->sums || n->eval.reduce != O_CONST)) visit(l, path);
    if (n->body) walk(l, n->body, path);
    if (loop) path->n--;
    if (n->then) walk(l, n->then, path);
    for (int k = 0; k < n->n; k++) walk(l, n->kid[k], path);
}

static Look look_at(const Prog *p, const Wish *w, const Nest *n)
{
    Look l = {.p = p, .w = w, .fits = true, .sums = has_sums(n)};
    LoopStack path = {.n = 0};
    walk(&l, n, &path);
    return l;
}

static bool has_loop(const Nest *n, Index ix)
{
    if (n->op == N_LOOP && index_same(n->ix, ix)) return true;
    bool found = n->body && has_loop(n->body, ix);
    found |= n->then && has_loop(n->then, ix);
    for (int k = 0; k < n->n; k++) found |= has_loop(n->kid[k], ix);
    return found;
}

/* ---- numbers of a nest ---- */
/* A loop in a tensor over what the loop around has in blocks: it visits the entries of a block. */
static bool visits(const Nest *n, int v)
{
    if (n->op == N_LOOP && n->in && n->ix.var == v && n->ix.part == SC_WHOLE) return true;
    bool found = (n->body && visits(n->body, v)) || (n->then && visits(n->then, v));
    for (int k = 0; k < n->n; k++) found |= visits(n->kid[k], v);
    return found;
}

/* gather and block, as they are. */
static void find_sizes(const Nest *n, void *ctx)
{
    Wish *w = ctx;
    if (n->op != N_LOOP) return;
    if (n->by) w->gather[n->ix.var] = n->by;
    if (n->kind == L_PAR && !n->in && n->ix.part == SC_DIV && visits(n->body, n->ix.var))
        w->block[n->ix.var] = n->ix.block;
}

/* ---- printing ---- */
static void print_sizes(const Prog *p, const char *word, const int *size, sc_text *out)
{
    int n = 0;
    for (int v = 0; v < p->nvar; v++) {
        if (!size[v]) continue;
        sc_text_add(out, "%s%s%s: %d", n ? ", " : word, n ? "" : "(", p->var[v].name, size[v]);
        n++;
    }
    sc_text_add(out, n ? ")" : "");
}

static void print_order(const Prog *p, const Wish *w, sc_text *out)
{
    for (int k = 0; k < w->norder; k++) {
        sc_text_add(out, k ? ", " : "order(");
        index_print(p, w->order[k], out);
    }
    sc_text_add(out, w->norder ? ")" : "");
}

void wish_print(const Prog *p, const Order *o, const Nest *n, sc_text *out)
{
    Look l = look_at(p, NULL, n);
    Wish check = {.norder = o ? o->n : l.made.norder};
    memcpy(check.order, o ? o->loop : l.made.order, sizeof check.order);
    if (look_at(p, &check, n).fits) print_order(p, &check, out);
    if (l.torn) return;
    sc_text_add(out, "%sparallel(%s)", check.norder ? " " : "",
                l.made.parallel == SERIAL ? "" : p->var[l.made.parallel - 1].name);
    nest_walk(n, find_sizes, &l.made);
    print_sizes(p, " gather", l.made.gather, out);
    print_sizes(p, " block", l.made.block, out);
}

void wish_vars_print(const Prog *p, const char *word, uint32_t vars, sc_text *out)
{
    sc_text_add(out, " %s(", word);
    for (int v = 0, n = 0; v < p->nvar; v++)
        if (in(vars, v)) sc_text_add(out, "%s%s", n++ ? ", " : "", p->var[v].name);
    sc_text_add(out, ")");
}

/* Of the whole program: formats that operands were converted to, and what was asked in numbers. */
void wishes_finish(const Prog *p, const Wish *w, sc_text *out)
{
    char format[400];
    bool any = false;
    for (int k = 0; k < p->nin; k++) {
        if (!in(p->settled, k)) continue;
        sc_format_print(&p->tensor[k]->format, format, sizeof format);
        const char *quote = strchr(format, ' ') ? "\"" : "";
        sc_text_add(out, "%s%s: %s%s%s", any ? ", " : " convert(", p->tensor[k]->name, quote, format, quote);
        any = true;
    }
    if (any || p->keeps) sc_text_add(out, any ? ")" : " convert()");
    print_sizes(p, " tile", w->tile, out);
    if (p->ahead) sc_text_add(out, " ahead(%d)", p->ahead - 1);
}

/* ---- judging ---- */
bool wish_orders(const Wish *w, const Order *o)
{
    Nest loop[MAXORDER];
    LoopStack path = {.n = o->n};
    for (int k = 0; k < o->n; k++) loop[k].ix = o->loop[k], path.loop[k] = &loop[k];
    return ordered(w, &path);
}

/* Whether gather and block are what was asked for. */
static bool has_sizes(const Prog *p, const Wish *w, const Nest *n, char why[WHY])
{
    Wish made = {0};
    nest_walk(n, find_sizes, &made);
    for (int v = 0; v < p->nvar; v++) {
        const bool gather = w->gather[v] && w->gather[v] != made.gather[v];
        if (!gather && (!w->block[v] || w->block[v] == made.block[v])) continue;
        snprintf(why, WHY,
                 gather ? "entries over %s do not route rows through a dense matrix, so none are gathered"
                        : "entries over %s do not lie in blocks of rows that threads could share",
                 p->var[v].name);
        return false;
    }
    return true;
}

bool wish_is_begun(const Prog *p, const Wish *w, const Nest *n)
{
    Wish made = {0};
    bool any = false;
    nest_walk(n, find_sizes, &made);
    for (int v = 0; v < p->nvar; v++)
        any |=
            (w->gather[v] && w->gather[v] == made.gather[v]) || (w->block[v] && w->block[v] == made.block[v]);
    return any;
}

bool wish_allows(const Prog *p, const Wish *w, const Nest *n, char why[WHY])
{
    sc_text made = {0};
    bool fits = look_at(p, w, n).fits;
    if (!fits) {
        wish_print(p, NULL, n, &made);
        snprintf(why, WHY, "the loops would be %s", made.s ? made.s : "others");
        sc_text_free(&made);
    }
    for (int k = 0; fits && k < w->norder; k++)
        if (w->order[k].part && !has_loop(n, w->order[k])) {
            fits = false;
            snprintf(why, WHY, "there is no loop over %s%c%d", p->var[w->order[k].var].name,
                     w->order[k].part == SC_DIV ? '/' : '%', w->order[k].block);
        }
    for (int v = 0; fits && v < p->nvar; v++)
        if (w->tile[v] && !has_loop(n, (Index){.var = (uint8_t)v, .part = SC_DIV, .block = w->tile[v]})) {
            fits = false;
            snprintf(why, WHY, "sums over %s are not kept in registers, so nothing is tiled", p->var[v].name);
        }
    return fits && has_sizes(p, w, n, why);
}
