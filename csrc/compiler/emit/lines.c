/* lines.c: long lines of C text become several.
 *
 * A line is broken at the place that binds least: in the fewest brackets, there
 * at a comma rather than at an operator, at a sum rather than at a product, and
 * of equal places at the last one that fits. What follows stands below what its
 * bracket holds, or is indented once more where there is none; the rest is broken
 * in the same way. Strings and directives stay whole, and comments break at
 * spaces. */
#include "private.h"

#include <string.h>

#define WIDTH 110
#define FAR (WIDTH * 3 / 5) /* what is in a bracket beyond is indented less */

typedef struct {
    int depth, open[MAXOPEN]; /* columns behind the brackets that are open */
    bool string;
} Inside;

typedef struct {
    const char *s;
    int n, indent;
    int from, column; /* what is left begins at s[from] and stands at this column */
    Inside in;        /* the brackets and the string that are open there */
    sc_text *out;
} SourceLine;

/* ---- places ---- */
#define BRACKET 1000
/* How strongly the text that ends before s[at] holds both sides together; 0: no place for a break. Behind a bracket is
 * one where there is no other. */
static int strength(const char *s, int at)
{
    static const struct {
        const char *end;
        int strength;
    } place[] = {{",", 1},   {";", 1},   {" ?", 2},  {" :", 2},  {" ||", 3}, {" &&", 4},
                 {" |", 5},  {" ^", 5},  {" &", 6},  {" ==", 7}, {" !=", 7}, {" <", 8},
                 {" >", 8},  {" <=", 8}, {" >=", 8}, {" <<", 9}, {" >>", 9}, {" +", 10},
                 {" -", 10}, {" *", 11}, {" /", 11}, {" %", 11}, {" =", 9}};
    if (s[at] != ' ') return s[at - 1] == '(' && s[at] != ')' ? BRACKET : 0;
    for (int k = 0; k < SC_LEN(place); k++) {
        const int n = (int)strlen(place[k].end);
        if (at >= n && !memcmp(s + at - n, place[k].end, (size_t)n)) return place[k].strength;
    }
    return 0;
}

/* Past s[at], which stands at this column. */
static void pass(Inside *in, const char *s, int at, int column)
{
    if (s[at] == '"' && (!in->string || s[at - 1] != '\\')) in->string = !in->string;
    if (in->string) return;
    if (strchr("([{", s[at]) && in->depth++ < MAXOPEN) in->open[in->depth - 1] = column + 1;
    if (strchr(")]}", s[at]) && in->depth > 0) in->depth--;
}

/* The column of what follows a break here. */
static int below(const SourceLine *l, const Inside *in)
{
    if (!in->depth || in->depth > MAXOPEN) return l->indent + 4;
    const int column = in->open[in->depth - 1];
    return column > FAR ? l->indent + 8 : column;
}

/* What a break at s[at] costs. A short piece in front is as bad as a bracket more, unless it makes the rest fit. */
static int cost(const SourceLine *l, const Inside *in, int at)
{
    const int column = l->column + at - l->from, length = l->n - at - 1;
    const bool fits = below(l, in) + length <= WIDTH;
    const int bare = in->depth * 16 + strength(l->s, at);
    return bare + (!fits && column - l->column < (WIDTH - l->column) / 3 ? 24 : 0);
}

/* Where to break what is left, or -1: the cheapest place that fits, or the first one at all. */
static int best(const SourceLine *l)
{
    Inside in = l->in;
    int found = -1, least = 0;
    for (int i = l->from; i < l->n; i++) {
        const int column = l->column + i - l->from;
        if (column > WIDTH && found >= 0) break;
        if (i > l->from && !in.string && strength(l->s, i)) {
            const int c = cost(l, &in, i);
            if (found < 0 || c <= least) found = i, least = c;
        }
        pass(&in, l->s, i, column);
    }
    return found;
}

/* ---- lines ---- */
static void break_at(SourceLine *l, int at)
{
    sc_text_addn(l->out, l->s + l->from, (size_t)(at - l->from));
    for (int i = l->from; i < at; i++) pass(&l->in, l->s, i, l->column + i - l->from);
    l->column = l->s[at] == ' ' ? below(l, &l->in) : (l->from ? l->column : l->indent) + 4;
    if (l->in.depth && l->in.depth <= MAXOPEN) l->in.open[l->in.depth - 1] = l->column;
    l->from = at + (l->s[at] == ' ');
    sc_text_add(l->out, "\n%*s", l->column, "");
}

static void wrap_code(SourceLine *l)
{
    while (l->column + l->n - l->from > WIDTH) {
        const int at = best(l);
        if (at < 0) break;
        break_at(l, at);
    }
    sc_text_addn(l->out, l->s + l->from, (size_t)(l->n - l->from));
}

/* Further lines begin with a star below the first one. */
static void wrap_comment(SourceLine *l)
{
    const int star = (int)(strchr(l->s, '*') - l->s), text = star + 1 + (int)strspn(l->s + star + 1, " ");
    while (l->column + l->n - l->from > WIDTH) {
        int at = l->from + WIDTH - l->column;
        while (at > l->from && (l->s[at] != ' ' || at <= text)) at--;
        if (at <= l->from) break; /* nothing fits behind a star so far to the right */
        sc_text_addn(l->out, l->s + l->from, (size_t)(at - l->from));
        sc_text_add(l->out, "\n%*s*%*s", star, "", text + 3 - star, "");
        l->from = at + 1;
        l->column = text + 4;
    }
    sc_text_addn(l->out, l->s + l->from, (size_t)(l->n - l->from));
}

static void wrap(const char *s, int n, sc_text *out)
{
    SourceLine l = {.s = s, .n = n, .indent = (int)strspn(s, " "), .out = out};
    const char *first = s + l.indent;
    if (n <= WIDTH || *first == '#')
        sc_text_addn(out, s, (size_t)n);
    else if (*first == '*' || !strncmp(first, "/*", 2))
        wrap_comment(&l);
    else
        wrap_code(&l);
    sc_text_add(out, "\n");
}

void lines_wrap(const sc_text *text, sc_text *out)
{
    const char *s = text->s;
    while (s && *s) {
        const char *end = strchr(s, '\n');
        const int n = end ? (int)(end - s) : (int)strlen(s);
        wrap(s, n, out);
        s += n + (end != NULL);
    }
    out->failed |= text->failed;
}
